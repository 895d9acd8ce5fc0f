# make bench ONLY=c: emitted C beside the object of the same schedule, by gcc and
# by clang 14 at -O2 -fopenmp; one core.
#
#     FILTER=conv2d    operators whose name contains this: conv2d.yaml:resnet18_c9
#     QUICK=1          the cases of workloads/ alone
#     ISA=v3           one target: host, v3 (AVX2)
#     FRESH=1          again, although neither the C nor the object has changed
#                      since the row was measured
#
# Every case of workloads/ and every operator of families/ as it is built without
# a record, for this machine and, where that has AVX-512, for AVX2.  A row is
# bench_families -s: the object and its C by both compilers, turn by turn, on the
# same buffers.  What is over 1.05 is measured again in three times as many turns.
# Several are built at once, and then measured one by one.  Sources, objects and
# rows stay in build/bench/c.  Sourced by run.sh.

emitted=$work/c

emitted_operators() {
	local f
	for f in workloads/*.yaml; do
		$tunec check --json "$f" |
			sed -n "s|^{\"name\": \"[^\"]*\", \"case\": \"\\([^\"]*\\)\".*|$f:\\1|p"
	done
	[ -n "${QUICK:-}" ] || printf '%s\n' test/bench/families/*/*.yaml
}

emitted_isas() {
	echo "host $one"
	[[ $one != *x86_64* ]] || ! grep -qw avx512f /proc/cpuinfo ||
		echo "v3 llvm -mcpu=x86-64-v3 -threads=1"
}

# emitted_build STEM SPEC TARGET: leaves STEM.so, STEM-gcc.so, STEM-clang-14.so, or
# STEM.failed: why not
emitted_build() {
	rm -f "$1.failed"
	emitted_compile "$2" "$3" "$1" || tail -n 1 "$1.log" >"$1.failed"
}

emitted_compile() { # SPEC TARGET STEM
	local cc
	$tunec build -q "$1" --target "$2" --db "$emitted/none" -o "$3.so" \
		-o "$3.h" -o "$3.c" >"$3.log" 2>&1 || return
	for cc in $emitted_compilers; do
		[ "$3-$cc.so" -nt "$3.c" ] && continue
		$cc -O2 -fopenmp -Wall -Wextra -Werror -fPIC -shared \
			-o "$3-$cc.so" "$3.c" -lm >"$3.log" 2>&1 || return
		cp "$3.h" "$3-$cc.h"
	done
}

# emitted_turns SPEC STEM TURNS: a line for each side, to STEM.row
emitted_turns() {
	local sides="object=$2.so" cc
	for cc in $emitted_compilers; do
		sides="$sides $cc=$2-$cc.so"
	done
	# shellcheck disable=SC2086
	$programs/bench_families -s -b "$3" "$1" $sides >"$2.row" 2>"$2.log"
}

emitted_row() { # STEM SPEC: leaves STEM.row, or says why not
	local now
	[ ! -e "$1.failed" ] || return
	now=$(cat "$1.c" "$1.so" | cksum)" $emitted_compilers"
	[ -z "${FRESH:-}" ] && [ -e "$1.row" ] &&
		[ "$(cat "$1.key" 2>/dev/null)" = "$now" ] && return
	rm -f "$1.key"
	emitted_turns "$2" "$1" 21 &&
		{ ! awk '$1 != "peak" && $3 > 1.05 {over = 1}
			END {exit !over}' "$1.row" ||
			emitted_turns "$2" "$1" 63; } || {
		tail -n 1 "$1.log" >"$1.failed"
		return
	}
	echo "$now" >"$1.key"
}

emitted_print() { # STEM SPEC: a row of the table
	local name=${2##*/} isa=${1##*-}
	if [ -e "$1.failed" ]; then
		echo "| $name | $isa | | | | failed: $(cat "$1.failed") |"
		return
	fi
	awk -v name="$name" -v isa="$isa" '
		$1 == "object" {us = $2 * 1e3}
		$1 == "gcc" {gcc = $3}
		$1 == "clang-14" {clang = $3}
		$1 != "peak" && $4 > 5 {
			note = note "noisy: " $1 " ±" $4 " %. "
		}
		END {
			printf "| %-34s | %-4s | %9.1f | %5s | %5s | %s |\n",
				name, isa, us, gcc, clang, note
		}' "$1.row"
}

# "STEM SPEC TARGET" of each row
emitted_rows() {
	local spec isa target name
	emitted_operators | grep -F -- "${FILTER:-}" | while read -r spec; do
		name=${spec##*/}
		emitted_isas | grep -- "^${ISA:-}" | while read -r isa target; do
			echo "$emitted/$(echo "$name" | tr ':' _ |
				sed 's/\.yaml//')-$isa $spec $target"
		done
	done
}

# Builds and measures the rows of stdin, sixteen at a time
emitted_measure() {
	export -f emitted_build emitted_compile
	export emitted emitted_compilers tunec
	local rows stem spec target
	while mapfile -t -n 16 rows && [ "${#rows[@]}" -gt 0 ]; do
		printf '%s\n' "${rows[@]}" | xargs -P "$(nproc)" -I{} bash -c \
			'read -r stem spec target <<<"{}"
			emitted_build "$stem" "$spec" "$target"'
		printf '%s\n' "${rows[@]}" | while read -r stem spec target; do
			emitted_row "$stem" "$spec" </dev/null
			emitted_print "$stem" "$spec"
		done
	done
}

# emitted_sum COLUMN NAME ROWS: rows of figures for one compiler
emitted_sum() {
	awk -F ' *\\| *' -v c="$1" '
		$c !~ /^[0-9.]+$/ {next}
		{
			n++
			sum += log($c)
			over += $c > 1.05
			if ($c > worst) {
				worst = $c
				name = $2 " " $3
			}
		}
		END {if (n) printf "%d %.3f %.3f %d %s\n",
			n, exp(sum / n), worst, over, name}' "$3" |
		while read -r n mean worst over name; do
			row "$2, geometric mean of $n" "$mean" x at-most 1.00
			row "$2, the slowest" "$worst" x at-most 1.05 "$name"
			row "$2, over 1.05" "$over" '' at-most 0
		done
}

c() {
	local emitted_compilers=gcc table=markdown
	local rows=$emitted/rows.md
	mkdir -p "$emitted"
	! command -v clang-14 >/dev/null || emitted_compilers='gcc clang-14'
	echo 'Times the object'\''s time on one core; the object in microseconds.'
	echo
	printf '| %-34s | %-4s | %9s | %5s | %5s | %s |\n' operator for \
		object gcc clang ''
	echo '| --- | --- | --- | --- | --- | --- |'
	emitted_rows | emitted_measure | tee "$rows"
	echo
	echo '| what | measured | wanted | verdict | |'
	echo '| --- | --- | --- | --- | --- |'
	emitted_sum 5 gcc "$rows"
	emitted_sum 6 'clang 14' "$rows"
	! grep -q '| failed' "$rows" || failed=1
}
