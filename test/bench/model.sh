# make bench ONLY=model: how well the analytic model foresees what is fast here, by the
# table's row of this CPU, by the row that this machine is measured to have, and by one
# of another family; and what each number of a row is worth.  One thread.
#
#     QUICK=1         every eighth operator, 12 candidates in place of 24
#     N=24            random candidates of each, beside candidate 1 of each row
#     SPEC=conv2d     operators whose file and case contain this
#     ROWS="A B"      files in place of test/bench/rows/: rows of other families
#     FRESH=1         the machine's row and all candidates anew
#
# Operators are the cases of workloads/ and of test/bench/families.  A candidate is
# measured once, by tune: what it took is in build/bench/model, as is the machine's
# row, and a run that was cut off goes on.  Rows differ in what they foresee alone
# (bench_rows).  Sourced by run.sh.

model=$work/model

model_specs() {
	local f c
	for f in workloads/*.yaml test/bench/families/*/*.yaml; do
		c=$($tunec check -q --json "$f" 2>/dev/null |
			sed -n 's/.*"case": *"\([^"]*\)".*/\1/p')
		if [ -z "$c" ]; then
			echo "$f:"
		else
			echo "$c" | sed "s|^|$f:|"
		fi
	done | grep -F -- "${SPEC:-}"
}

# model_first SPEC STEM ROW: measures candidate 1 by a row where it is not the
# table's
model_first() {
	local at=$model/$2.$(basename "$3" .row) option=()
	[ "$3" = table ] || option=(--machine "$3")
	$tunec show -q --stage=schedule "$1" --target "$one" --db "$at.none" \
		"${option[@]}" >"$at.trace" 2>"$at.log" || return
	[ "$3" = table ] || cmp -s "$at.trace" "$model/$2.table.trace" ||
		$tunec tune -q "$1" --target "$one" --trace "$at.trace" \
			--db "$model/$2.jsonl" >"$at.log" 2>&1
}

# model_measure SPEC STEM N ROW...
model_measure() {
	local spec=$1 stem=$2 n=$3 row key
	shift 3
	key=$(cat "$tunec" "$BUILD"/tunec-*.so "${spec%%:*}" "$@" 2>/dev/null |
		cksum)"$n"
	[ -e "$model/$stem.jsonl" ] &&
		[ "$(cat "$model/$stem.key" 2>/dev/null)" = "$key" ] && return
	rm -f "$model/$stem".*
	$tunec tune -q "$spec" --target "$one" --search=random --model=none \
		--trials "$n" --db "$model/$stem.jsonl" \
		>"$model/$stem.log" 2>&1 || return
	for row in table "$@"; do
		model_first "$spec" "$stem" "$row"
	done
	echo "$key" >"$model/$stem.key"
}

model() {
	local n=${N:-24} every=1 i=0 spec stem stores=() rows=() row names=()
	[ -n "${QUICK:-}" ] && n=${N:-12} every=8
	mkdir -p "$model"
	[ -n "${FRESH:-}" ] && rm -f "$model"/*
	[ -e "$model/here.row" ] ||
		$tunec target --measure -o "$model/here.row" || return
	rows=("$model/here.row")
	for row in ${ROWS:-test/bench/rows/*.row}; do
		# foreseen by, though of other CPUs: it is asked what if
		sed "s/^cpu .*/$(grep '^cpu' "$model/here.row")/" "$row" \
			>"$model/$(basename "$row")"
		rows+=("$model/$(basename "$row")")
	done
	while read -r spec; do
		[ $((i++ % every)) = 0 ] || continue
		stem=$(echo "$spec" | sed 's|.*/\([^/]*/[^/]*\)$|\1|; s|\.yaml||; s|[/:]|_|g')
		model_measure "$spec" "$stem" "$n" "${rows[@]}"
		[ -e "$model/$stem.jsonl" ] && stores+=("$model/$stem.jsonl")
	done < <(model_specs)
	for row in "${rows[@]}"; do
		names+=("$(basename "$row" .row)=$row")
	done
	grep '^# measured' "$model/here.row"
	$programs/bench_rows table=table "${names[@]}" "${stores[@]}"
}
