# make bench ONLY=search: searches and models side by side on tasks that are known
# whole (test/lab; docs/search.md).
#
#     MEASURE=1     measures the tables of tasks that have none of today's space, or
#                   FRESH=1 all: some twenty minutes, nothing may run beside it
#     TASK=c6       one task
#     SETTING=sa    those of test/lab/settings.txt that begin so, and random
#     SEARCH=evolve MODEL=linear HOW='batch=top ...'
#                   as tune does, but for these, and random
#     SETTINGS=FILE one that has others, for what is not compared each time
#     HELD=1        how well models order what they were not taught, without a search
#     SEEDS=5 TRIALS=300
#     QUICK=1       four tasks, 3 seeds, 128 trials
#
# Tables and what comes of them are printed; build/bench/search has a line for each
# setting and task (tasks.txt), and the curves of test/lab/charts.txt as SVG.  A run
# that was cut off goes on.
# Sourced by run.sh.

search_out=$work/search
search_tables=test/lab/tables
search_program=$programs/bench_search

# search_make NAME SPEC GROUP TARGET: leaves the task's table
search_make() {
	local table=$search_tables/$1.json
	[ -z "${FRESH:-}" ] && "$search_program" run 1 1 \
		"$work/search.settings" "$search_out" "$table" >/dev/null 2>&1 && return
	"$search_program" make "$1" "$2" "$3" "$4" \
		"$(lscpu | sed -n 's/^Model name: *//p')" "$table" || failed=1
}

# search_figure KIND SETTING [BESIDE] COLUMN: of tasks.txt
search_figure() {
	awk -v kind="$1" -v a="$2" -v b="${4:+$3}" -v name="${4:-$3}" '
		NR == 1 {
			for (i = 1; i <= NF; i++)
				if ($i == name)
					column = i
			next
		}
		{
			of[$1, $2] = $column
			if ($1 == b && kind == "hard" && $column < 64)
				next
			if ($1 == (b == "" ? a : b))
				task[n++] = $2
		}
		function sorted(i, j, x) {
			for (i = 1; i < n; i++)
				for (j = i; j && ratio[j - 1] > ratio[j]; j--) {
					x = ratio[j]
					ratio[j] = ratio[j - 1]
					ratio[j - 1] = x
				}
		}
		END {
			for (i = 0; i < n; i++) {
				x = of[a, task[i]]
				y = b == "" ? 1 : of[b, task[i]]
				ratio[i] = x / y
				sum += x / n
				logs += log(x > 0 ? x / y : 1) / n
				gap += 1 - x
				other_gap += 1 - y
				if (y - x > behind)
					behind = y - x
			}
			sorted()
			low = ratio[int((n - 1) / 2)]
			high = ratio[int(n / 2)]
			if (!n)
				print "-"
			else if (kind == "median" || kind == "hard")
				printf "%.2f", (low + high) / 2
			else if (kind == "most")
				printf "%.2f", ratio[n - 1]
			else if (kind == "mean")
				printf "%.2f", sum
			else if (kind == "share")
				printf "%.3f", exp(logs)
			else if (kind == "gap")
				printf "%.2f", other_gap ? gap / other_gap : 1
			else if (kind == "behind")
				printf "%.3f", behind
		}' "$search_out/tasks.txt"
}

# search_polish SETTING POLISHED TRIALS
search_polish() {
	row "$1 polished, gap at $3 trials, of that without" \
		"$(search_figure gap "$2" "$1" at_$3)" x at-most 0.60
	row "$1 polished, at most behind on a task at $3 trials" \
		"$(search_figure behind "$2" "$1" at_$3)" '' at-most 0.005
}

# What is wanted of them.
search_rows() {
	local s n table=markdown
	echo
	echo '| what | measured | wanted | verdict | |'
	echo '| --- | --- | --- | --- | --- |'
	for s in sa evolve; do
		row "$s, trials to 95 %, of random's, median" \
			"$(search_figure median $s random to_95)" x at-most 0.25
		row "$s, of random's, median of tasks where that is 64 or more" \
			"$(search_figure hard $s random to_95)" x at-most 0.25
		row "$s, of random's, on the worst task" \
			"$(search_figure most $s random to_95)" x at-most 1.00
		row "$s, of the genetic search's, median" \
			"$(search_figure median $s ga to_95)" x at-most 0.50
	done
	for s in sa_8 evolve_8; do
		row "$s (batches of 8), of random's, median" \
			"$(search_figure median $s random to_95)" x at-most 0.25
	done
	row 'tune, score P' "$(search_figure mean tune score)" '' at-least 0.70
	row 'rank, of regression at 128 trials' \
		"$(search_figure share sa regression at_128)" x at-least 0.99
	row 'a batch that covers, of the best alone at 128 trials' \
		"$(search_figure share cover top at_128)" x at-least 1.00
	for s in ei ucb; do
		row "$s, of the mean of four at 128 trials" \
			"$(search_figure share $s mean_4 at_128)" x at-least 1.00
	done
	row 'a model that is shown mixed columns, of tune at 64 trials' \
		"$(search_figure share mixed tune at_64)" x at-least 0.95
	for n in 32 64; do
		search_polish tune polished $n
		search_polish evolve_cover evolve_polish $n
	done
}

# search_by NAME WANTED LEARNERS TEACHERS WHAT: what logs are worth, in trials
search_by() {
	local t learners=() teachers=() table=markdown
	for t in $3; do learners+=("$search_tables/$t.json"); done
	for t in $4; do teachers+=("$search_tables/$t.json"); done
	mkdir -p "$search_out/$1"
	printf '\n%s\n\n' "$5"
	"$search_program" run "$seeds" "$trials" test/lab/transfer.txt \
		"$search_out/$1" "${learners[@]}" by "${teachers[@]}" || {
		failed=1
		return
	}
	echo
	echo '| what | measured | wanted | verdict | |'
	echo '| --- | --- | --- | --- | --- |'
	search_out=$search_out/$1
	row 'trials to 95 % of who knows nothing, of those by logs, median' \
		"$(search_figure median alone logs to_95)" x at-least "$2"
	row "the same of tune's" "$(search_figure median tune logs to_95)" x \
		at-least 1
	row 'trials to 99 % of who knows nothing, of those by logs, median' \
		"$(search_figure median alone logs to_99)" x at-least "$2"
	search_out=${search_out%/*}
}

# Curves of this program on these tables stay: a run that was cut off goes on.
search_kept() {
	local now
	now=$(cat "$search_program" "$BUILD"/tunec-*.so "$search_tables"/*.json |
		cksum)"${SIMULATE:-}"
	[ "$(cat "$search_out/kept/key" 2>/dev/null)" = "$now" ] && return
	rm -rf "$search_out/kept"
	mkdir "$search_out/kept"
	echo "$now" >"$search_out/kept/key"
}

search_logs() {
	local here='c1 c2 c5 c6' there='c1_avx2 c2_avx2 c5_avx2 c6_avx2'
	search_by layers 3 'c7 c8 c9' "$here" \
		'By the logs of C1, C2, C5 and C6: C7 to C9'
	search_by product 1.5 'matmul' "$here" 'By the same: a product of 1024'
	search_by machine 2 'c7 c8 c9' "$there" \
		'By those that were measured with AVX2: C7 to C9 with AVX-512'
}

search_steps() {
	printf '\nA dense layer of BERT by steps of its schedule\n\n'
	"$search_program" rules test/lab/rules.yaml "$one" || failed=1
}

search() {
	local name spec group cpu tables=() seeds=${SEEDS:-5} trials=${TRIALS:-300}
	local only=${TASK:-.}
	[ -n "${QUICK:-}" ] && only=${TASK:-'^(c6|matmul|softmax|depthwise)$'} &&
		seeds=${SEEDS:-3} trials=${TRIALS:-128}
	grep -E '^random|^#' test/lab/settings.txt >"$work/search.settings"
	[ -z "${HELD:-}" ] || sed -i /^random/d "$work/search.settings"
	if [ -n "${SEARCH:-}${MODEL:-}${HOW:-}" ]; then
		echo "asked search=${SEARCH:-sa} model=${MODEL:-xgboost}" \
			"first=analytic rows=12 ${HOW:-}" >>"$work/search.settings"
	elif ! grep -E "^${SETTING:-[a-z]}" "${SETTINGS:-test/lab/settings.txt}" |
		grep -v '^random' >>"$work/search.settings" &&
		[ "${SETTING:-}" != random ]; then
		echo "no setting of ${SETTINGS:-test/lab/settings.txt} begins with $SETTING"
		failed=1
		return
	fi
	mkdir -p "$search_tables" "$search_out"
	while read -r name spec group; do
		[[ -n $name && $name != '#'* && $name =~ $only ]] || continue
		[ -z "${MEASURE:-}${FRESH:-}" ] ||
			search_make "$name" "$spec" "${group:--}" "$one"
		[ -f "$search_tables/$name.json" ] &&
			tables+=("$search_tables/$name.json")
	done <test/lab/tasks.txt
	[ -z "${MEASURE:-}${FRESH:-}" ] ||
		while read -r name spec cpu; do
			[[ -n $name && $name != '#'* && $name =~ $only ]] &&
				search_make "$name" "$spec" - \
					"llvm -mcpu=$cpu -threads=1"
		done <test/lab/others.txt
	if [ ${#tables[@]} = 0 ]; then
		echo 'no task was measured: make bench ONLY=search MEASURE=1'
		failed=1
		return
	fi
	if [ -n "${HELD:-}" ]; then
		"$search_program" held "$seeds" "$work/search.settings" \
			"${tables[@]}" || failed=1
		return
	fi
	search_kept
	KEPT=$search_out/kept "$search_program" run "$seeds" "$trials" \
		"$work/search.settings" "$search_out" "${tables[@]}" || {
		failed=1
		return
	}
	[ -z "${TASK:-}${SETTING:-}${SETTINGS:-}${SEARCH:-}${MODEL:-}${HOW:-}" ] || return
	search_rows
	[ -z "${QUICK:-}" ] || return
	search_logs
	search_steps
}
