#!/bin/bash
# make bench [ONLY=substring]: the figures of the acceptance, measured.
#
# ONLY=peers is peers.sh, against libraries; ONLY=families is families.sh,
# operators against C; ONLY=cliffs is cliffs.sh, what was slow outside of the
# path of plain operators; ONLY=c is emitted.sh, emitted C beside its object;
# ONLY=gpu is gpu.sh; ONLY=networks is networks.sh, whole networks beside ONNX
# Runtime; ONLY=compositions is compositions.sh, programs of many layers;
# ONLY=search is search.sh, searches on tables of times; ONLY=live is live.sh,
# what few trials find; ONLY=model is model.sh, the analytic model by rows of
# what code costs; ONLY=growth is what files of many shapes take
# (SHAPE=name: that one alone).  Of the others a row for each: what, measured, wanted, verdict.  Measurements of kernels
# are those of bench_kernels (pinned, interleaved, medians, shares of the FMA peak
# of the same run); a run whose peak varied by more than 5 % is marked noisy.
# TIME=60s is what each tuning gets; stores and kernels are left in build/bench.
# One measurement at a time on a machine: all is under a lock.
set -u
cd "$(dirname "$0")/../.."
export BUILD=${BUILD:-build} LC_ALL=C
export TUNEC_MODULES=$PWD/$BUILD
unset TUNEC_DB TUNEC_TARGET TUNEC_MACHINE
exec 9>"$BUILD/.bench"
flock 9
programs=$BUILD/test/bench
tunec=$BUILD/tunec
work=$BUILD/bench
time=${TIME:-60s}
failed=0
mkdir -p "$work"
host=$($tunec target --print)
one=${host% -threads=*}' -threads=1'
two=${host% -threads=*}' -threads=2'
mm=workloads/matmul.yaml:square_1024
c6=workloads/conv2d.yaml:resnet18_c6

# row WHAT MEASURED UNIT at-least|at-most WANTED [NOTE]
row() {
	local verdict
	verdict=$(awk -v x="$2" -v how="$4" -v want="$5" 'BEGIN {
		if (x !~ /^[0-9.]+$/) print "not measured"
		else if (how == "at-least" ? x + 0 >= want : x + 0 <= want)
			print "ok"
		else print "MISSED" }')
	[ "$verdict" = ok ] || failed=1
	if [ "${table:-}" = markdown ]; then
		printf '| %s | %s %s | %s %s | %s | %s |\n' "$1" "$2" "$3" \
			"${4/-/ }" "$5" "$verdict" "${6:-}"
		return
	fi
	printf '%-52s %10s %-7s %-8s %8s  %s%s\n' "$1" "$2" "$3" "$4" "$5" \
		"$verdict" "${6:+ ($6)}"
}

# field FILE KEY: a number of one JSON object
field() {
	sed -n 's/.*"'"$2"'":\([0-9.e+-]*\).*/\1/p' "$1" | head -n 1
}

# side FILE NAME THREADS COLUMN: of what bench_kernels printed
side() {
	awk -v n="$2" -v t="$3" -v c="$4" '$1 == n && $2 == t {print $c}' "$1"
}

noisy() { # FILE THREADS
	awk -v t="$2" '$1 == "peak" && $2 == t && $4 > 5 {
		print "noisy: the peak varied by " $4 " %" }' "$1"
}

wanted() {
	[ -z "${ONLY:-}" ] || [ "$1" = "$ONLY" ] ||
		[[ $ONLY != c && $1 == *$ONLY* ]]
}

build() { # SPEC TARGET STEM [OPTION...]
	local spec=$1 target=$2 stem=$3
	shift 3
	$tunec build "$spec" --target "$target" -o "$work/$stem.so" \
		-o "$work/$stem.h" -o "$work/$stem.c" "$@"
}

# --- the measurements ---------------------------------------------------------

plans() {
	row 'plan evaluations of C6, one core' \
		"$($programs/bench_plans $c6)" '/s' at-least 500000
	local spec
	for spec in $mm $c6 workloads/attention.yaml:bert_base; do
		row "candidates of a GPU scored, one core: ${spec#*:}" \
			"$($programs/bench_plans $spec 'cuda -arch=sm_80')" \
			'/s' at-least 150000
	done
}

process() {
	row 'tunec check conv2d.yaml, median of 100' \
		"$($programs/bench_process -n 100 -e 0 \
			$tunec check workloads/conv2d.yaml)" ms at-most 5
	{
		printf 'tunec: 1\nname: p\ninputs: {x: f32[4]}\ncompute: |\n'
		printf '  y[i < 4] = '
		head -c 200000 /dev/zero | tr '\0' '('
		printf 'x[i]'
		head -c 200000 /dev/zero | tr '\0' ')'
		printf '\ndoc: '
		head -c 640000 /dev/zero | tr '\0' 'x'
		echo
	} >"$work/nested.yaml"
	{
		echo 'a0: &a0 [x, x, x, x, x, x, x, x, x]'
		for i in 1 2 3 4 5 6 7 8 9; do
			p="*a$((i - 1))"
			echo "a$i: &a$i [$p, $p, $p, $p, $p, $p, $p, $p, $p]"
		done
		echo 'tunec: 1'
	} >"$work/laughs.yaml"
	head -c 1000000 "$tunec" >"$work/binary.yaml"
	for f in nested laughs binary; do
		row "tunec check $f.yaml, refused" \
			"$($programs/bench_process -n 20 -e 1 \
				$tunec check "$work/$f.yaml")" ms at-most 100
	done
	many
}

# 100,000 trials of one operator: half of one trace, half each of its own.
many() {
	local spec=workloads/matmul.yaml:odd few many
	$tunec tune "$spec" --trials 3 --target "$one" --db "$work/few.jsonl" -q ||
		return
	awk '/"outcome":"ok"/ && !/"round":"final"/ {line = $0}
		END {
			split(line, id, /"id":"[^"]*"/)
			split(id[2], trace, /"trace":\[/)
			split(trace[2], time, /"time_s":[^,]*/)
			for (i = 0; i < 100000; i++)
				printf "%s\"id\":\"%016x\"%s\"trace\":[%s%s\"time_s\":%.9f%s\n",
					id[1], i, trace[1], i % 2 ? i "," : "",
					time[1], (1 + i % 977) / 1e6, time[2]
		}' "$work/few.jsonl" >"$work/many.jsonl"
	$tunec log import "$work/many.jsonl" --db "$work/many.db" -q || return
	for db in few many; do
		[ $db = many ] || $tunec log import "$work/few.jsonl" \
			--db "$work/few.db" -q
		eval $db="$($programs/bench_process -n 20 $tunec build -q "$spec" \
			--target "$one" -o "$work/many.c" --db "$work/$db.db")"
	done
	row 'tunec build from 100,000 trials' "$many" ms at-most 50
	row 'the same from three' "$few" ms at-most 50
	rm -f "$work"/many.* "$work"/few.*
}

hand() {
	local out=$work/hand.txt warn='-O2 -std=c11 -fopenmp -Wall -Wextra -Werror'
	build $mm "$one" hand --trace test/bench/matmul_hand.trace || return
	for cc in gcc clang-14; do
		command -v $cc >/dev/null || continue
		$cc $warn -fPIC -c -o "$work/hand-$cc.o" "$work/hand.c" &&
			gcc -shared -o "$work/hand-$cc.so" "$work/hand-$cc.o" -lm &&
			cp "$work/hand.h" "$work/hand-$cc.h"
	done
	$programs/bench_kernels $mm hand:1="$work/hand.so" \
		gcc:1="$work/hand-gcc.so" clang:1="$work/hand-clang-14.so" \
		openblas:1 >"$out" || return
	local llvm gcc clang note
	note=$(noisy "$out" 1)
	llvm=$(side "$out" hand 1 3)
	gcc=$(side "$out" gcc 1 3)
	clang=$(side "$out" clang 1 3)
	row 'product 1024^3 by hand, one core' "$(side "$out" hand 1 5)" \
		'% peak' at-least 70 "$note"
	row '  its C by gcc -O2, of the time of the LLVM object' \
		"$(awk "BEGIN {printf \"%.1f\", 100 * $gcc / $llvm}")" % \
		at-most 105 "$note"
	row '  its C by clang -O2, of the time of the LLVM object' \
		"$(awk "BEGIN {printf \"%.1f\", 100 * $clang / $llvm}")" % \
		at-most 105 "$note"
}

# tune SPEC TARGET STEM: leaves STEM.json (the result) and STEM.mem (MB, s)
tune() {
	rm -f "$work/$3.db"
	$programs/bench_process -m sh -c 'out=$1; shift; exec "$@" >"$out"' sh \
		"$work/$3.json" $tunec tune "$1" --target "$2" --time "$time" \
		--json --db "$work/$3.db" >"$work/$3.mem"
	build "$1" "$2" "$3" --frozen --db "$work/$3.db"
}

# tuned NAME SPEC SHARE-ONE SHARE-TWO
tuned() {
	local out=$work/$1.txt peer=
	tune "$2" "$one" "$1-1" || return
	tune "$2" "$two" "$1-2" || return
	[ "$1" = matmul ] && peer='openblas:1 openblas:2'
	# shellcheck disable=SC2086
	$programs/bench_kernels "$2" tuned:1="$work/$1-1.so" \
		tuned:2="$work/$1-2.so" $peer >"$out" || return
	local n1 n2 t1 t2
	n1=$(noisy "$out" 1) n2=$(noisy "$out" 2)
	t1=$(side "$out" tuned 1 3) t2=$(side "$out" tuned 2 3)
	row "$1 tuned $time, one core" "$(side "$out" tuned 1 5)" '% peak' \
		at-least "$3" "$n1"
	row "$1 tuned $time, two threads" "$(side "$out" tuned 2 5)" '% peak' \
		at-least "$4" "$n2"
	row "$1, two threads to one" \
		"$(awk "BEGIN {printf \"%.2f\", $t1 / $t2}")" x at-least 1.8 "$n2"
	if [ -n "$(side "$out" openblas 2 4)" ]; then
		row "$1, two threads, GFLOP/s; wanted: OpenBLAS's" \
			"$(side "$out" tuned 2 4)" GFLOP/s at-least \
			"$(side "$out" openblas 2 4)" "$n2"
	elif [ "$1" = matmul ]; then
		echo 'OpenBLAS is not installed: not compared'
	fi
	for i in 1 2; do
		row "$1, memory of the run, $i thread(s), PSS" \
			"$(cut -d' ' -f1 "$work/$1-$i.mem")" MB at-most 400
	done
}

conv() {
	tuned C6 $c6 70 69
	local ok s
	ok=$(field "$work/C6-2.json" ok)
	s=$(cut -d' ' -f2 "$work/C6-2.mem")
	row 'C6, ok trials over the wall time' \
		"$(awk "BEGIN {printf \"%.1f\", $ok / $s}")" '/s' at-least 20
	row 'C6, candidates scored by the annealing, one core' \
		"$(printf %.0f "$(field "$work/C6-2.json" scored_per_s)")" '/s' \
		at-least 100000
	row 'tunec build of C6 from a record, median of 20' \
		"$($programs/bench_process -n 20 -e 0 $tunec build $c6 \
			--target "$two" --frozen --db "$work/C6-2.db" \
			-o "$work/C6-again.o")" ms at-most 150
}

matmul() {
	tuned matmul $mm 78 58
}

# took SPEC STORE TARGET: seconds of the best record, now
took() {
	$tunec replay "$1" --db "$2" --target "$3" --measure --json |
		sed -n 's/.*"measured_s":\([0-9.e+-]*\).*/\1/p'
}

# OpenCL's kernels where this CPU is the device, beside our own; the best of three
# turns each.
devices() {
	local at=$work/device turn own=- ours what first
	what='C6 by OpenCL on this CPU, of our own kernel'
	if ! $tunec target --json | grep -q '"through":"opencl","type":"cpu"'
	then
		row "$what" - x at-least 0.4 'OpenCL has no CPU here'
		return
	fi
	rm -f "$at".*
	$tunec tune $c6 -q --target opencl --time "$time" --db "$at.jsonl" &&
		$tunec tune $c6 -q --target "$host" --time 20s \
			--db "$at.host.jsonl" || failed=1
	for turn in 1 2 3; do
		took $c6 "$at.jsonl" opencl >>"$at.ours"
		took $c6 "$at.host.jsonl" "$host" >>"$at.own"
	done
	ours=$(sort -g "$at.ours" | head -n 1)
	own=$(sort -g "$at.own" | head -n 1)
	first=$(sed -n '/"round":"search"/{s/.*"time_s":\([0-9.e+-]*\).*/\1/p;q}' \
		"$at.jsonl")
	row "$what" "$(awk -v a="$own" -v b="$ours" 'BEGIN {
		printf "%.2f", a / b}')" x at-least 0.4 "$(awk -v a="$own" \
		-v b="$ours" 'BEGIN {printf "%.3f and %.3f ms", b*1e3, a*1e3}')"
	row 'the same untuned, of tuned' "$(awk -v a="$ours" -v b="$first" \
		'BEGIN {printf "%.2f", a / b}')" x at-least 0.25
}

. test/bench/peers.sh
. test/bench/families.sh
. test/bench/cliffs.sh
. test/bench/emitted.sh
. test/bench/gpu.sh
. test/bench/networks.sh
. test/bench/compositions.sh
. test/bench/search.sh
. test/bench/live.sh
. test/bench/model.sh

growth() {
	make -s "$BUILD/test/property/test_growth" || exit
	TABLE=1 TUNEC=$PWD/$tunec "$BUILD/test/property/test_growth"
}

lscpu | sed -n 's/^Model name: */machine: /p'
printf 'target:  %s\ndate:    %s\n\n' "$host" "$(date -u +%F)"
[[ ${ONLY:-} =~ ^(peers|families|cliffs|c|gpu|networks|compositions|search|live|model|growth)$ ]] ||
	printf '%-52s %10s %-7s %8s %8s  %s\n' what measured '' '' wanted verdict
benches='plans process hand matmul conv peers devices'
benches="$benches cliffs families c gpu networks compositions search live model growth"
for m in $benches; do
	wanted $m && $m
done
exit $failed
