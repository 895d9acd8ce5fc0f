#!/bin/bash
# The readers of outside bytes with libFuzzer, as `make fuzz` builds them:
#
#     test/tools/fuzz.sh [SECONDS [READER...]]    600 seconds, all readers
#
# JOBS of them (2) at a time, each on one core.  A line for each: the inputs
# tried, the edges covered, what was found.  An input that crashes, leaks, takes
# 10 seconds or 2 GB is in build/fuzz/found, and ends its reader's run; what
# widened the coverage is in build/fuzz/corpus, where the next run begins.
set -u
cd "$(dirname "$0")/../.."
seconds=${1:-600}
[ $# = 0 ] || shift
out=build/fuzz
mkdir -p $out/found

# The seeds that are SQL, as the files that they make.
make_databases() {
	local sql
	mkdir -p $out/databases
	for sql in test/fuzz/corpus/sqlite/*.sql; do
		rm -f "$out/databases/$(basename "$sql" .sql).db"
		sqlite3 "$out/databases/$(basename "$sql" .sql).db" <"$sql" >/dev/null
	done
}

run() { # reader
	local seed seeds= dict= log=$out/$1.log rc tried edges found
	for seed in $($out/test/fuzz/fuzz_"$1" --seeds); do
		[ ! -d "$seed" ] || seeds="$seeds $seed"
	done
	[ "$1" = sqlite ] && seeds="$seeds $out/databases"
	[ -f test/fuzz/"$1".dict ] && dict=-dict=test/fuzz/$1.dict
	mkdir -p "$out/corpus/$1"
	# shellcheck disable=SC2086
	nice $out/test/fuzz/fuzz_"$1" -max_total_time="$seconds" -timeout=10 \
		-rss_limit_mb=2048 -print_final_stats=1 \
		-artifact_prefix="$out/found/$1-" $dict \
		"$out/corpus/$1" $seeds >"$log" 2>&1
	rc=$?
	tried=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
	edges=$(grep -o ' cov: [0-9]*' "$log" | tail -n 1)
	found=$(sed -n 's/.*Test unit written to //p' "$log")
	[ $rc = 0 ] && found=nothing
	echo "$1: ${tried:-0} inputs,${edges:- cov: 0}, found ${found:-exit $rc, see $log}"
	return $rc
}

make_databases
# shellcheck disable=SC2046
[ $# = 0 ] && set -- $(cd test/fuzz && ls fuzz_*.c | sed 's/fuzz_\(.*\)\.c/\1/')
export -f run
export out seconds
printf '%s\n' "$@" | xargs -P "${JOBS:-2}" -I{} bash -c 'run {}'
