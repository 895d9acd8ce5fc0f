#!/bin/bash
# Runs the tests of a tier: quick (make test) or long (make test-long).
#
# A test is a program under $BUILD/test/{unit,property,diff,fuzz} or a script
# test/{golden,error,e2e,diff,property}/*.sh.  It prints a line "ok NAME" or
# "not ok NAME why" for each case (cmocka does with TAP output), or exits 77 to
# be skipped.  TIER tells it which tier runs.  Each has a time limit.
set -u
tier=${1:-quick}
cd "$(dirname "$0")/../.." || exit
export BUILD=${BUILD:-build} TIER=$tier CMOCKA_MESSAGE_OUTPUT=TAP
export TUNEC=$PWD/$BUILD/tunec TUNEC_MODULES=$PWD/$BUILD LC_ALL=C
# Of workloads on devices every third, but in the long tier.  With sanitizers
# random programs are fewer: what they find is in all, and takes many times as long.
[ "$tier" = long ] || export EVERY=${EVERY:-3}
case ${VARIANT:-release} in
sanitize)
	export PAIRS=${PAIRS:-250} COMPOSITIONS=${COMPOSITIONS:-15}
	export SAMPLE=${SAMPLE:-10}
	;;
esac
# ASan's guess at thread-local memory that the loader allocated is wrong where
# libraries are opened and closed: LeakSanitizer then reads what is not there.
export ASAN_OPTIONS=intercept_tls_get_addr=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}
# In the quick tier compilers do not read what of a header nobody needs.
if [ "$tier" != long ]; then
	export SYSTEM_PATH=$PATH NARROW=$PWD/test/tools/narrow
	mkdir -p "$BUILD/test/cc"
	for cc in cc gcc clang-14; do
		command -v $cc >/dev/null &&
			ln -sf "$PWD/test/tools/cc.sh" "$BUILD/test/cc/$cc"
	done
	PATH=$PWD/$BUILD/test/cc:$PATH
fi
limit=1200
[ "$tier" = long ] && limit=7200
at_once=$(($(nproc) + 1)) # some wait more than they work
# Those look at the clock: nothing runs beside.
alone='unit/test_measure|e2e/tune\.sh'
# What takes the most seconds starts first, so that no core idles behind it.
longest='test_pairs test_growth test_emit_c limits names candidate trouble dots
	workloads hip bytes loops extending short registers test_math
	test_tasks test_blocks test_compositions test_winograd test_families test_hostile
	test_transfer test_fibers test_device test_space gpu products numerics
	test_llvm test_counts warnings hand opencl simulate'
passed=0 failed=0 skipped=0 first=() last=()
results=$(mktemp -d)
declare -A tests=() # those that run, by process
trap 'rm -rf "$results"' EXIT
trap 'for pid in "${!tests[@]}"; do pkill -P "$pid"; done; exit 130' INT TERM

try() { # TEST OUT
	timeout -k 5 "$limit" "$1" </dev/null >"$2" 2>&1
}

start() { # TEST: in the background
	(
		begin=$SECONDS out=$results/$BASHPID
		try "$1" "$out"
		rc=$?
		# Not the program's fault: threads of drivers end while
		# LeakSanitizer looks at their memory.
		if grep -q '^==.*LeakSanitizer has encountered a fatal' "$out"; then
			try "$1" "$out"
			rc=$?
		fi
		echo "$((SECONDS - begin))" >"$out.seconds"
		exit $rc
	) &
	tests[$!]=$1
}

finish() { # one that has ended: counts it, says how it went
	local pid rc ok bad out t
	wait -n -p pid
	rc=$? t=${tests[$pid]} out=$results/$pid
	unset "tests[$pid]"
	if [ $rc = 77 ]; then
		skipped=$((skipped + 1))
		echo "skip  $t: $(tail -n 1 "$out")"
		return
	fi
	ok=$(grep -c '^ok ' "$out")
	# cmocka says "not ok N # SKIP NAME" of a case that the machine lacks
	bad=$(grep '^not ok ' "$out" | grep -vc '^not ok [0-9]* # SKIP')
	[ $rc != 0 ] && [ "$bad" = 0 ] && bad=1
	[ $rc = 0 ] && [ "$ok" = 0 ] && [ "$bad" = 0 ] && ok=1
	passed=$((passed + ok)) failed=$((failed + bad))
	if [ "$bad" != 0 ]; then
		echo "FAIL  $t (exit $rc)"
		# what went wrong, and what was printed last
		{ grep -A3 '^not ok ' "$out" | head -n 60; tail -n 20 "$out"; } |
			sed 's/^/      /'
	else
		echo "ok    $t: $ok in $(cat "$out.seconds") s"
	fi
}

run() { # AT-ONCE TEST...
	local most=$1 t
	shift
	for t; do
		[ ${#tests[@]} -lt "$most" ] || finish
		start "$t"
	done
	while [ ${#tests[@]} != 0 ]; do
		finish
	done
}

shopt -s nullglob
all=()
for t in $longest '*'; do
	all+=("$BUILD"/test/{diff,property,unit,fuzz}/$t
		test/{golden,error,property,diff,e2e}/$t.sh)
done
declare -A seen=()
for t in "${all[@]}"; do
	[ -f "$t" ] && [ -x "$t" ] && [ -z "${seen[$t]:-}" ] || continue
	seen[$t]=1
	case $t in *.[od]) continue ;; esac
	[ -n "${ONLY:-}" ] && [[ $t != *$ONLY* ]] && continue
	if [[ $t =~ $alone ]]; then
		last+=("$t")
	else
		first+=("$t")
	fi
done
run "$at_once" "${first[@]}"
run 1 "${last[@]}"
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
