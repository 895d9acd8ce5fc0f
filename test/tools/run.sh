#!/bin/bash
# Runs the tests of a tier: quick (make test) or long (make test-long).
#
# A test is a program under $BUILD/test/{unit,property,diff,fuzz} or a script
# test/{golden,error,e2e,diff,property}/*.sh.  It prints a line "ok NAME" or
# "not ok NAME why" for each case (cmocka does with TAP output), or exits 77 to
# be skipped.  TIER tells it which tier runs.  Each has a time limit.
set -u
tier=${1:-quick}
cd "$(dirname "$0")/../.."
export BUILD=${BUILD:-build} TIER=$tier CMOCKA_MESSAGE_OUTPUT=TAP
export TUNEC=$PWD/$BUILD/tunec TUNEC_MODULES=$PWD/$BUILD LC_ALL=C
# With sanitizers the pairs of test_pairs are fewer, since most of its time is
# that of compilers.
case ${VARIANT:-release} in
asan | ubsan) export PAIRS=${PAIRS:-400} ;;
esac
limit=600
[ "$tier" = long ] && limit=7200
passed=0 failed=0 skipped=0
out=$(mktemp)
trap 'rm -f "$out"' EXIT
for t in "$BUILD"/test/{unit,property,diff,fuzz}/* test/{golden,error,property,diff,e2e}/*.sh; do
	[ -f "$t" ] && [ -x "$t" ] || continue
	case $t in *.[od]) continue ;; esac
	[ -n "${ONLY:-}" ] && [[ $t != *$ONLY* ]] && continue
	start=$SECONDS
	timeout -k 5 "$limit" "$t" </dev/null >"$out" 2>&1
	rc=$?
	if [ $rc = 77 ]; then
		skipped=$((skipped + 1))
		echo "skip  $t: $(tail -n 1 "$out")"
		continue
	fi
	ok=$(grep -c '^ok ' "$out")
	bad=$(grep -c '^not ok ' "$out")
	[ $rc != 0 ] && [ "$bad" = 0 ] && bad=1
	[ $rc = 0 ] && [ "$ok" = 0 ] && [ "$bad" = 0 ] && ok=1
	passed=$((passed + ok)) failed=$((failed + bad))
	if [ "$bad" != 0 ]; then
		echo "FAIL  $t (exit $rc)"
		# what went wrong, and what was printed last
		{ grep -A3 '^not ok ' "$out" | head -n 60; tail -n 20 "$out"; } |
			sed 's/^/      /'
	else
		echo "ok    $t: $ok in $((SECONDS - start)) s"
	fi
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
