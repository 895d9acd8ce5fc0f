# make bench ONLY=search: searches and models side by side on tasks that are known
# whole (test/lab; docs/search.md).
#
#     MEASURE=1     measures the tables of tasks that have none of today's space, or
#                   FRESH=1 all: some twenty minutes, nothing may run beside it
#     TASK=c6       one task
#     SETTING=sa    one setting of test/lab/settings.txt, and random
#     SEEDS=5 TRIALS=300
#     QUICK=1       four tasks, 3 seeds, 128 trials
#
# Sourced by run.sh.

search_tables=test/lab/tables
search_program=$programs/bench_search

# search_make NAME SPEC GROUP: leaves the task's table
search_make() {
	local table=$search_tables/$1.json
	[ -z "${FRESH:-}" ] && "$search_program" run 1 1 \
		"$work/search.settings" "$table" >/dev/null 2>&1 && return
	"$search_program" make "$1" "$2" "$3" "$one" \
		"$(lscpu | sed -n 's/^Model name: *//p')" "$table" || failed=1
}

search() {
	local name spec group tables=() seeds=${SEEDS:-5} trials=${TRIALS:-300}
	local only=${TASK:-.}
	[ -n "${QUICK:-}" ] && only=${TASK:-'^(c6|matmul|softmax|depthwise)$'} &&
		seeds=${SEEDS:-3} trials=${TRIALS:-128}
	grep -E '^random|^#' test/lab/settings.txt >"$work/search.settings"
	grep -E "^${SETTING:-[a-z]}" test/lab/settings.txt | grep -v '^random' \
		>>"$work/search.settings"
	mkdir -p "$search_tables"
	while read -r name spec group; do
		[[ -n $name && $name != '#'* && $name =~ $only ]] || continue
		[ -z "${MEASURE:-}${FRESH:-}" ] ||
			search_make "$name" "$spec" "${group:--}"
		[ -f "$search_tables/$name.json" ] &&
			tables+=("$search_tables/$name.json")
	done <test/lab/tasks.txt
	if [ ${#tables[@]} = 0 ]; then
		echo 'no task was measured: make bench ONLY=search MEASURE=1'
		failed=1
		return
	fi
	"$search_program" run "$seeds" "$trials" "$work/search.settings" \
		"${tables[@]}" || failed=1
}
