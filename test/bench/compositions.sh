# make bench ONLY=compositions: programs of many layers, untuned, beside the sum of
# their layers built alone; one core.
#
#     N=1000    random ones, of seeds FIRST, FIRST + 1, …
#     FIRST=0
#     NAMED=0   without those of test/bench/compositions
#     FRESH=1   again, although the compiler has not changed since
#
# bench_compositions makes, builds and measures; each is built for a CUDA and an
# OpenCL GPU, too.  Several are built at once, and then measured one by one.  A
# program over 1.1, wrong, on plain loops or over 5 s to build has a row.  Rows stay
# in build/bench/compositions; a run that was cut off goes on.  Sourced by run.sh.

compositions=$work/compositions

# composition_build NAME: leaves NAME.built, "SECONDS PLAIN"
composition_build() {
	local at=$compositions/$1
	rm -f "$at.built" "$at.timed"
	"$programs/bench_compositions" build "$1" "$compositions" "$tunec" \
		"$one" 'cuda -arch=sm_90' 'opencl -device=gpu' \
		>"$at.now" 2>"$at.log" && mv "$at.now" "$at.built"
}

# composition_time NAME: leaves NAME.timed, "RATIO ALONE MS LAYERS WRONG"
composition_time() {
	local at=$compositions/$1 stem=$1
	[[ $1 == [0-9]* ]] && stem=op$1
	"$programs/bench_compositions" time "$1" "$compositions" \
		>"$at.now" 2>>"$at.log" && mv "$at.now" "$at.timed"
	rm -f "$compositions/$stem".{so,said} "$compositions/$stem"_[0-9]*
}

# The names that have no row of this compiler, built and measured, some at a time
compositions_measure() {
	export -f composition_build
	export compositions programs tunec one
	local names
	while read -r -a names; do
		printf '%s\n' "${names[@]}" | xargs -P "$(nproc)" -I{} \
			bash -c 'composition_build {}'
		for name in "${names[@]}"; do
			[ -e "$compositions/$name.built" ] &&
				composition_time "$name"
		done
	done
}

# "NAME RATIO ALONE MS LAYERS WRONG SECONDS PLAIN" of each name, or "NAME failed WHY"
compositions_rows() {
	local name at
	while read -r name; do
		at=$compositions/$name
		if [ -s "$at.built" ] && [ -s "$at.timed" ]; then
			echo "$name $(cat "$at.timed" "$at.built" | tr '\n' ' ')"
		else
			echo "$name failed $(tail -n 1 "$at.log")"
		fi
	done
}

compositions_table() {
	echo '| program | of its layers | of each alone | ms | layers | wrong | build, s | plain loops |'
	echo '| --- | --- | --- | --- | --- | --- | --- | --- |'
	awk -v all="$1" '
		$2 == "failed" {
			print "| " $1 " | failed: " substr($0, index($0, "failed") + 7) " | | | | | | |"
			next
		}
		all || $2 > 1.1 || $6 != "-" || $7 > 5 || $8 > 0 {
			printf "| %s | %s | %s | %s | %s | %s | %s | %s |\n",
				$1, $2, $3, $4, $5, $6, $7, $8
		}'
}

# composition_sum COLUMN: of the rows, the geometric mean of a column
composition_mean() {
	awk -v c="$1" '$2 != "failed" {s += log($c); n++}
		END {if (n) printf "%.3f", exp(s / n); else print "-"}' "$random"
}

composition_count() { # CONDITION
	awk "$1"' {n++} END {print n + 0}' "$random"
}

compositions() {
	local n=${N:-1000} first=${FIRST:-0} table='' now name
	local random=$compositions/random named=$compositions/named
	mkdir -p "$compositions"
	now=$(cat "$tunec" "$BUILD"/tunec-*.so "$programs/bench_compositions" \
		test/bench/compositions/*.yaml | cksum)
	[ -z "${FRESH:-}" ] && [ "$(cat "$compositions/key" 2>/dev/null)" = "$now" ] ||
		rm -f "$compositions"/*.{built,timed,log}
	echo "$now" >"$compositions/key"
	: >"$named.names"
	if [ "${NAMED:-1}" != 0 ]; then
		cp test/bench/compositions/*.yaml "$compositions"
		basename -s .yaml test/bench/compositions/*.yaml >"$named.names"
	fi
	seq "$first" $((first + n - 1)) >"$random.names"
	for name in $(cat "$named.names" "$random.names"); do
		[ -s "$compositions/$name.timed" ] || echo "$name"
	done | xargs -r -n 16 >"$compositions/wanted"
	compositions_measure <"$compositions/wanted"
	compositions_rows <"$named.names" >"$named"
	compositions_rows <"$random.names" >"$random"
	compositions_table 1 <"$named"
	echo
	compositions_table '' <"$random"
	echo
	table=markdown
	echo '| what | measured | wanted | verdict | |'
	echo '| --- | --- | --- | --- | --- |'
	row 'random compositions that could not be built' \
		"$(composition_count '$2 == "failed"')" '' at-most 0 "of $n"
	row 'with a group on plain loops, for the CPU or a GPU' \
		"$(composition_count '$2 != "failed" && $8 > 0')" '' at-most 0
	row 'wrong, of uniform inputs or with half of each zero' \
		"$(composition_count '$2 != "failed" && $6 != "-"')" '' at-most 0
	row 'over 5 s to build' "$(composition_count \
		'$2 != "failed" && $7 > 5')" '' at-most 0
	row 'time over that of the layers, geometric mean' \
		"$(composition_mean 2)" x at-most 0.97
	row 'over 1.2 of it' "$(composition_count \
		'$2 != "failed" && $2 > 1.2')" '' at-most 0
	row 'time over the sum of each layer alone, geometric mean' \
		"$(composition_mean 3)" x at-most 0.97
}
