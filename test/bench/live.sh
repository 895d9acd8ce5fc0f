# make bench ONLY=live: what a user gets. Every case of workloads/ and the operators of
# live.txt without a trial, after 16 and after 64 trials, as shares of the best that is
# known; one thread.
#
#     SPEC=conv2d   cases whose file and name contain this
#     BEST=20s      tunes the best known so long before, and after that keeps what is
#                   the fastest of all, in test/bench/live/CPU.jsonl
#     HOW=OPTIONS   of tune, in place of its defaults: HOW=--search=evolve
#     FRESH=1       again, although the compiler has not changed since
#     PART=layers   one part alone: cases; logs, what those of other files teach;
#                   layers, ResNet-18's in 30 s together; parts, programs of
#                   several products in 5 s beside these; groups, those of a
#                   network by two schedulers; time, how long --time is (ALL=1: of
#                   every case, and of twenty random programs; BESIDE=3: so many
#                   beside each other, which can only make them longer); speed,
#                   trials and candidates a second; many, N=20000 trials in one
#                   process
#
# All sides of a row are measured in one run, interleaved (bench_sides).  Rows, stores
# and kernels stay in build/bench/live; a run that was cut off goes on.  Sourced by
# run.sh.

live=$work/live
live_known=test/bench/live/$(echo "$one" | sed 's/.*-mcpu=\([^ ]*\).*/\1/').jsonl

live_specs() {
	local f c
	for f in workloads/*.yaml $(grep -v '^#' test/bench/live.txt); do
		for c in $($tunec check --json "$f" |
			sed -n 's/^{"name": "[^"]*", "case": "\([^"]*\)".*/\1:/p'); do
			echo "$f:${c%:}"
		done
	done
}

live_name() {
	echo "${1##*/}" | tr -c 'a-zA-Z0-9_\n' _
}

live_heads() {
	echo
	echo "| what$1 | measured | wanted | verdict | |"
	echo '| --- | --- | --- | --- | --- |'
}

# live_build SPEC STEM [OPTION...]
live_build() {
	local spec=$1 stem=$2
	shift 2
	$tunec build -q "$spec" --target "$one" -o "$stem.so" -o "$stem.h" "$@"
}

# live_best SPEC STEM: a store of the best known, tuned further
live_best() {
	local now
	now=$(cat "${1%:*}" "$tunec" "$BUILD"/tunec-*.so | cksum)"$BEST"
	[ "$(cat "$2.best.key" 2>/dev/null)" = "$now" ] && return
	[ ! -e "$live_known" ] || [ -e "$2.best.jsonl" ] ||
		$tunec log import -q --db "$2.best.jsonl" "$live_known" || return
	$tunec tune -q "$1" --target "$one" --time "$BEST" --more \
		--db "$2.best.jsonl" && echo "$now" >"$2.best.key"
}

# live_measure SPEC STEM: leaves STEM.row, "WITHOUT 16 64" as shares
live_measure() {
	local at=$2 n sides="first=$1@$2.first.so" db
	rm -f "$at.jsonl" "$at.row"
	live_build "$1" "$at.first" --db "$at.none" || return
	for n in 16 64; do
		# shellcheck disable=SC2086
		$tunec tune -q "$1" --target "$one" --trials $n \
			--db "$at.jsonl" ${HOW:-} >/dev/null &&
			live_build "$1" "$at.$n" --frozen --db "$at.jsonl" ||
			return
		sides="$sides t$n=$1@$at.$n.so"
	done
	for db in "$at.best.jsonl" "$live_known"; do
		[ -e "$db" ] && live_build "$1" "$at.best" --frozen \
			--db "$db" 2>/dev/null || continue
		sides="$sides best=$1@$at.best.so"
		break
	done
	# shellcheck disable=SC2086
	"$programs/bench_sides" -t 1 $sides >"$at.txt" || return
	awk '$1 == "first" || $1 == "best" || $1 ~ /^t[0-9]/ {
			ms[$1] = $2
			if (!least || $2 < least)
				least = $2
			if ($5 > noise)
				noise = $5
		}
		END {
			printf "%.3f %.3f %.3f %.4f %s\n", least / ms["first"],
				least / ms["t16"], least / ms["t64"], least,
				least == ms["best"] ? "-" : "better"
		}' "$at.txt" >"$at.row"
}

# Of all stores the best of each operator, to the known ones
live_keep() {
	local at
	mkdir -p "${live_known%/*}"
	rm -f "$live/all.db"
	for at in "$live_known" "$live"/*.jsonl; do
		[ ! -e "$at" ] || $tunec log import -q --db "$live/all.db" "$at"
	done
	$tunec log best --json --target "$one" --db "$live/all.db" \
		>"$live/known" && mv "$live/known" "$live_known"
}

# live_share COLUMN WHAT MEAN TENTH LEAST: of all rows
live_share() {
	local i=0 of wanted=("$3" "$4" "$5") shares
	shares=$(cut -d' ' -f"$1" "$live/rows" | sort -g | awk '
		{x[NR] = $1; s += log($1)}
		END {
			at = 1 + (NR - 1) / 10
			i = int(at)
			printf "%.3f %.3f %.3f", exp(s / NR),
				x[i] + (at - i) * (x[i + 1 > NR ? NR : i + 1] - x[i]),
				x[1]
		}')
	for of in 'geometric mean' 'tenth percentile' least; do
		row "$2, $of" "$(echo "$shares" | cut -d' ' -f$((i + 1)))" '' \
			at-least "${wanted[$i]}"
		i=$((i + 1))
	done
}

live_cases() {
	local spec at now
	live_specs | grep -F "${SPEC:-}" >"$live/specs"
	echo '| operator | without a trial | 16 trials | 64 trials | best, ms |'
	echo '| --- | --- | --- | --- | --- |'
	: >"$live/rows"
	while read -r spec <&3; do
		at=$live/$(live_name "$spec")
		[ -z "${BEST:-}" ] || live_best "$spec" "$at" || failed=1
		now=$(cat "${spec%:*}" "$tunec" "$BUILD"/tunec-*.so \
			"$at.best.key" 2>/dev/null | cksum)"${HOW:-}"
		[ -z "${FRESH:-}" ] && [ -s "$at.row" ] &&
			[ "$(cat "$at.key" 2>/dev/null)" = "$now" ] ||
			{ live_measure "$spec" "$at" && echo "$now" >"$at.key"; } ||
			{ failed=1; continue; }
		awk -v spec="${spec##*/}" '{
			printf "| %s | %s | %s | %s | %s |\n", spec, $1, $2, $3, $4
		}' "$at.row"
		cat "$at.row" >>"$live/rows"
	done 3<"$live/specs"
	[ -z "${BEST:-}" ] || live_keep
	live_heads ", of $(grep -c . "$live/rows")"
	live_share 1 'without a trial' 0.965 0.90 0.80
	live_share 2 '16 trials' 0.98 0.94 0.90
	live_share 3 '64 trials' 0.99 0.97 0.95
}

# What the logs of all other files teach, without a trial: live_logs_row SPEC STEM
# leaves STEM.logs, the share of the best.
live_logs_row() {
	local own db dbs=() model=$live/model.txt
	own=$(live_name "${1%:*}")
	if [ "$(cat "$model.of" 2>/dev/null)" != "$own" ]; then
		for db in "$live"/*_yaml_*.jsonl; do
			[[ ${db##*/} == "$own"* ]] || dbs+=(--db "$db")
		done
		$tunec log export -q --target "$one" "${dbs[@]}" \
			--model "$model" || return
		echo "$own" >"$model.of"
	fi
	live_build "$1" "$2.logs" --db "$2.none" --transfer "$model" &&
		live_build "$1" "$2.known" --frozen --db "$live_known" &&
		"$programs/bench_sides" -t 1 best="$1@$2.known.so" \
			logs="$1@$2.logs.so" >"$2.txt" &&
		awk '$1 == "logs" {print ($4 > 1 ? 1 / $4 : 1)}' "$2.txt" \
			>"$2.logs"
}

live_logs() {
	local spec at
	live_specs | grep -F "${SPEC:-}" >"$live/specs"
	: >"$live/rows"
	while read -r spec <&3; do
		at=$live/$(live_name "$spec")
		[ -z "${FRESH:-}" ] && [ "$at.logs" -nt "$live_known" ] &&
			[ -s "$at.logs" ] || live_logs_row "$spec" "$at" ||
			{ failed=1; continue; }
		cat "$at.logs" >>"$live/rows"
	done 3<"$live/specs"
	live_heads ", of $(grep -c . "$live/rows")"
	live_share 1 'without a trial, by the logs of other files' 0.98 0.93 0.85
}

# Twelve layers under one scheduler, each beside the best known.
live_layers() {
	local c at=$live/layers spec
	rm -f "$at".*
	: >"$live/rows"
	$tunec tune -q workloads/conv2d.yaml --target "$one" --time 30s \
		--db "$at.jsonl" >/dev/null || failed=1
	for c in 1 2 3 4 5 6 7 8 9 10 11 12; do
		spec=workloads/conv2d.yaml:resnet18_c$c
		live_build $spec "$at.$c" --frozen --db "$at.jsonl" &&
			live_build $spec "$at.$c.best" --frozen \
				--db "$live_known" &&
			"$programs/bench_sides" -t 1 best=$spec@$at.$c.best.so \
				layer=$spec@$at.$c.so >"$at.txt" &&
			awk '$1 == "layer" {
				printf "%.3f\n", ($4 > 1 ? 1 / $4 : 1)
			}' "$at.txt" >>"$live/rows"
	done
	live_heads ''
	live_share 1 "ResNet-18's layers, 30 s together" 0.97 0.92 0.92
}

# Beside their parts, as `make bench ONLY=cliffs` has them, each tuned for 5 s.
live_parts() {
	local time=5s threads=1 options='' why='' measured='' name
	local cliff_target=$one cliffs=$live/parts
	mkdir -p "$cliffs"
	live_heads ''
	for name in swiglu lstm inverted; do
		block $name
	done
	attention bert
}

# ResNet-18 by the gradient scheduler in a 1.3th of the time of equal shares.
live_groups() {
	local net=$live/net.yaml how sides=
	rm -f "$live"/net.*
	sh test/bench/cliffs/resnet18.sh net >"$net"
	for how in gradient:46 fixed:60; do
		$tunec tune -q "$net:" --target "$one" --time "${how#*:}s" \
			--scheduler "${how%:*}" --db "$live/net.${how%:*}.jsonl" \
			>/dev/null &&
			live_build "$net:" "$live/net.${how%:*}" --frozen \
				--db "$live/net.${how%:*}.jsonl" || failed=1
		sides="$sides ${how%:*}=$net:@$live/net.${how%:*}.so"
	done
	# shellcheck disable=SC2086
	"$programs/bench_sides" -t 1 $sides >"$live/net.txt" || failed=1
	live_heads ''
	row "ResNet-18's groups by gradient in 46 s, of equal shares in 60 s" \
		"$(awk '$1 == "fixed" {printf "%.3f", 1 / $4}' \
			"$live/net.txt")" x at-most 1.00 \
		"$(awk '{printf "%s %s ms ", $1, $2}' "$live/net.txt")"
}

# What is timed: six operators, or with ALL=1 every case and twenty random programs.
live_timed() {
	local n
	if [ -z "${ALL:-}" ]; then
		printf '%s\n' workloads/conv2d.yaml:resnet18_c6 \
			workloads/matmul.yaml:square_1024 \
			workloads/softmax.yaml:sfm_256 \
			workloads/attention.yaml:bert_base \
			test/bench/families/control/lstm.yaml: \
			workloads/sum_all.yaml
		return
	fi
	live_specs
	for n in $(seq 20); do
		"$programs/bench_compositions" build "$n" "$live" "$tunec" \
			"$one" >/dev/null && echo "$live/op$n.yaml"
	done
}

# live_time_run SPEC SECONDS STEM: leaves STEM.took, how long a run took that has so long
live_time_run() {
	local begin
	begin=$(date +%s.%N)
	$tunec tune -q "$1" --target "$one" --time "$2s" --db "$3.db" \
		>/dev/null &&
		date +%s.%N | awk -v begin="$begin" \
			'{printf "%.2f\n", $1 - begin}' >"$3.took"
}

# The longest of each time.
live_time() {
	local t spec n runs
	live_heads ''
	live_timed >"$live/timed"
	runs=$(grep -c . "$live/timed")
	for t in ${TIMES:-2 10}; do
		rm -f "$live"/time.*
		n=0
		while read -r spec <&3; do
			[ "$(jobs -rp | wc -l)" -lt "${BESIDE:-1}" ] || wait -n
			n=$((n + 1))
			live_time_run "$spec" "$t" "$live/time.$n" &
		done 3<"$live/timed"
		wait
		[ "$(cat "$live"/time.*.took | wc -l)" = "$runs" ] || failed=1
		row "--time $t, the longest of $runs runs" \
			"$(cat "$live"/time.*.took | sort -g | tail -n 1)" s \
			at-most "$(echo "$t" | awk '{print $1 * 1.05 + 0.3}')"
	done
}

# New code and candidates a second.
live_speed() {
	local time=30s why='' cliff_target=$one cliffs=$live/parts
	mkdir -p "$cliffs"
	live_heads ''
	trials
	row 'candidates of C6 scored, one core' \
		"$("$programs/bench_scored" $c6 |
			sed -n 's/.* s, \([0-9]*\) a second.*/\1/p')" /s \
		at-least 400000
}

# Memory of a run of many trials, simulated: all, and what a trial adds after the
# first thousand.
live_many() {
	local n mb kb
	live_heads ''
	rm -f "$live"/many.*
	for n in 1000 "${N:-20000}"; do
		"$programs/bench_process" -m $tunec tune -q $c6 --trials $n \
			--measure=simulate --target "$one" \
			--db "$live/many.$n.db" >"$live/many.$n.txt" || failed=1
	done
	mb=$(cut -d' ' -f1 "$live/many.$n.txt")
	kb=$(awk -v n="$n" -v mb="$mb" '{
		printf "%.2f", 1000 * (mb - $1) / (n - 1000)
	}' "$live/many.1000.txt")
	row "$n trials in one process, PSS" "$mb" MB at-most 500 \
		"$(cut -d' ' -f2 "$live/many.$n.txt") s"
	row '  of a trial after the first 1,000; wanted: a record' "$kb" kB \
		at-most "$(wc -c <"$live/many.$n.db" | awk -v n="$n" \
			'{printf "%.2f", $1 / n / 1000}')"
}

live() {
	local part table=markdown
	mkdir -p "$live"
	for part in cases logs layers parts groups time speed many; do
		[ "${PART:-$part}" != $part ] || live_$part
	done
}
