#!/bin/bash
# tunec log: what users type, on records written by hand.
. "$(dirname "$0")/lib.sh"
a=$(printf 'a%.0s' {1..64}) b=$(printf 'b%.0s' {1..64})

same() { # name, expected, found
	ok "$1" [ "$2" = "$3" ]
}
trial() { # minute, id, op, target, step, ms, round, more
	local outcome=ok time=$6 error=null
	case $6 in *[a-z]*) outcome=$6 time=null error='"it broke"' ;; esac
	printf '{"tunec":1,"kind":"trial","at":"2026-01-02T03:%s:00.000Z","id":"%s","op":"%s","op_text":"d0 = i0\\n","name":"conv2d","case":"c%s","target":"%s","trace":[["%s"]],"outcome":"%s","error":%s,"time_s":%s,"spread_s":null,"runs_s":[],"regime":{"cache":"warm","threads":1,"pinning":"none"},"round":"%s","verified":null,"machine":null,"by":null%s}\n' \
		"$1" "$2" "$3" "${3:0:1}" "$4" "$5" "$outcome" "$error" "$time" "$7" "${8:-}"
}
{
	echo '{"tunec":1,"kind":"run-start","at":"2026-01-02T03:00:00.000Z","id":"9999000000000000","ops":["'$a'"],"seed":1}'
	trial 05 1111000000000000 "$a" c s1 0.002 search ',"own":[1.50]'
	trial 02 2222000000000000 "$a" c s2 0.001 search
	trial 03 3333000000000000 "$b" c s3 0.004 search
	trial 04 4444000000000000 "$b" x s3 0.003 search
	trial 06 5555000000000000 "$a" c s4 crash search
	trial 07 5556000000000000 "$a" c s5 crash search
} >all.jsonl

for db in t.db t.jsonl; do
	exits "$db: import" 0 "$TUNEC" log import all.jsonl --db $db
	same "$db: import says" "$db: 7 imported, 0 were there" "$(cat out)"
	exits "$db: import again" 0 "$TUNEC" log import all.jsonl --db $db
	same "$db: import twice adds nothing" "$db: 0 imported, 7 were there" "$(cat out)"
	exits "$db: import of two files" 0 "$TUNEC" log import all.jsonl all.jsonl --db twice.$db
	same "$db: what both have is added once" "twice.$db: 7 imported, 7 were there" "$(cat out)"
	exits "$db: export" 0 "$TUNEC" log export --db $db
	ok "$db: export gives those lines" cmp -s out all.jsonl
	exits "$db: export -o" 0 "$TUNEC" log export --db $db -o e.jsonl
	ok "$db: export -o" cmp -s e.jsonl all.jsonl
	exits "$db: list" 0 "$TUNEC" log list --db $db --json
	same "$db: list is oldest first" "2222 3333 4444 1111 5555 5556" \
		"$(sed 's/.*"id":"\(....\).*/\1/' out | paste -sd' ')"
	exits "$db: list table" 0 "$TUNEC" log list --db $db
	same "$db: a head and six lines" 7 "$(wc -l <out)"
	exits "$db: outcome" 0 "$TUNEC" log list --outcome ok --db $db --json
	same "$db: --outcome ok" 4 "$(wc -l <out)"
	exits "$db: best" 0 "$TUNEC" log best --db $db --json
	same "$db: best per operator and target" "2222 3333 4444" \
		"$(sed 's/.*"id":"\(....\).*/\1/' out | sort | paste -sd' ')"
	exits "$db: best of a target" 0 "$TUNEC" log best --db $db --json --target c
	same "$db: best --target" "2222 3333" \
		"$(sed 's/.*"id":"\(....\).*/\1/' out | sort | paste -sd' ')"
	exits "$db: show" 0 "$TUNEC" log show 1111000000000000 --db $db --json
	same "$db: show --json is the line" "$(grep 1111000 all.jsonl)" "$(cat out)"
	exits "$db: show a beginning" 0 "$TUNEC" log show 1111 --db $db
	ok "$db: show has unknown keys" grep -q 'own *\[1.5\]' out
	exits "$db: show an ambiguous beginning" 1 "$TUNEC" log show 555 --db $db
	exits "$db: show what is not there" 1 "$TUNEC" log show 777 --db $db
	same "$db: says so" "tunec: error: no record with the id '777'" "$(cat err)"
	exits "$db: errors" 0 "$TUNEC" log errors --db $db
	ok "$db: errors are counted" has out '^crash: 2, first 5555000000000000'
	ok "$db: errors are told" has out 'it broke'
	ok "$db: errors are repeated by a command" has out \
		"tunec log show --db $db --trace 5555.*; tunec replay conv2d.yaml:ca --target c "
	ok "$db: one file at rest" [ "$(ls | grep -c "^$db")" = 1 ]
	TUNEC_DB=$db exits "$db: TUNEC_DB" 0 "$TUNEC" log list --json
	same "$db: TUNEC_DB is read" 6 "$(wc -l <out)"
done

exits 'readers create nothing' 0 "$TUNEC" log list --db none.db
exits 'readers create nothing' 0 "$TUNEC" log best --db none.jsonl
: >empty.jsonl
for verb in list best errors export 'import empty.jsonl'; do
	# shellcheck disable=SC2086
	exits "an empty store: $verb" 0 "$TUNEC" log $verb --db empty.jsonl
done
ok 'readers create nothing' [ ! -e none.db ]
ok 'readers create nothing' [ ! -e none.jsonl ]

trial 09 8888000000000000 "$a" c s9 0.0005 search >fast.jsonl
exits 'layers' 0 "$TUNEC" log best --db t.db --db fast.jsonl --target c --json
same 'the first layer gives the best' '2222 3333' "$(sed 's/.*"id":"\(....\).*/\1/' out | sort | paste -sd' ')"
exits 'layers reversed' 0 "$TUNEC" log best --db fast.jsonl --db t.db --target c --json
same 'and the other way round' '3333 8888' "$(sed 's/.*"id":"\(....\).*/\1/' out | sort | paste -sd' ')"

head -c -20 all.jsonl >torn.jsonl
exits 'torn' 0 "$TUNEC" log list --db torn.jsonl --json
same 'a torn last line is skipped' 5 "$(wc -l <out)"
ok 'and said so' grep -q 'torn.jsonl:7: torn last line' err
sed '3s/.*/<<<<<<< HEAD/' all.jsonl >damaged.jsonl
exits 'damaged' 0 "$TUNEC" log list --db damaged.jsonl --json
ok 'a damaged line is named' grep -q 'damaged.jsonl:3: damaged line' err
exits 'import refuses a damaged file' 1 "$TUNEC" log import damaged.jsonl --db new.db
ok 'import of a damaged file writes nothing' grep -q 'damaged.jsonl:3: ' err
ok 'import of a damaged file writes nothing' [ ! -e new.db ]
echo '{"tunec":7,"kind":"trial"}' >newer.jsonl
exits 'a newer format' 1 "$TUNEC" log list --db newer.jsonl
ok 'a newer format is refused' grep -q 'newer.jsonl:1: records of format 7' err
echo 'just a text' >text.db
exits 'no store' 1 "$TUNEC" log list --db text.db
ok 'what is no store is refused' grep -q 'text.db: not a store' err

exits 'unknown log verb' 2 "$TUNEC" log merge
exits 'no log verb' 2 "$TUNEC" log
exits 'unknown outcome' 2 "$TUNEC" log list --outcome fine
exits 'show without an id' 2 "$TUNEC" log show

# A full disk, as a limit on the size of files.
for i in $(seq 10 59); do trial $i "77$(printf '%014d' $i)" "$a" c t$i 0.002 search; done >many.jsonl
for db in f.db f.jsonl; do
	exits "$db: fill" 0 "$TUNEC" log import all.jsonl --db $db
	cp $db before
	(ulimit -f $(($(stat -c %s $db) / 1024 + 4)); "$TUNEC" log import many.jsonl --db $db >out 2>err)
	same "$db: a full disk is an error" 1 $?
	ok "$db: that names the store" grep -q "$db: " err
	exits "$db: readable afterwards" 0 "$TUNEC" log list --db $db --json
	grep -c kind out >n
	exits "$db: the lines" 0 "$TUNEC" log export --db $db
	head -n 7 out >first
	ok "$db: nothing is lost" cmp -s first all.jsonl
	exits "$db: goes on" 0 "$TUNEC" log import many.jsonl --db $db
	exits "$db: whole" 0 "$TUNEC" log list --db $db --json
	same "$db: and goes on later" 56 "$(wc -l <out)"
done
(ulimit -f 4; "$TUNEC" log export --db f.db -o e2.jsonl >out 2>err)
same 'export to a full disk fails' 1 $?
ok 'and writes nothing' [ ! -e e2.jsonl ]

# A database that several make at one moment is made once.
for i in {1..30}; do
	rm -f race.db*
	for k in 1 2 3; do
		"$TUNEC" log import all.jsonl --db race.db -q 2>>races &
	done
	wait
done
same 'several make a database at once' '' "$(sort races | uniq -c)"

# Many operators, and many lines that cannot be read: each line is gone over
# once.  (The second took 41 s and 5.4 GB when each damaged winner made all
# others be gone over again, the first a minute.)
lines() { # how many, operators, what the runs begin with
	awk -v n="$1" -v ops="$2" -v runs="$3" -v op="$a" 'BEGIN {
		for (i = 0; i < n; i++)
			printf "{\"tunec\":1,\"kind\":\"trial\",\"id\":\"%016x\",\"op\":\"%s%08x\",\"target\":\"c\",\"trace\":[[\"t%d\"]],\"outcome\":\"ok\",\"time_s\":%g,\"runs_s\":[%s%0900d]}\n",
				i, substr(op, 9), i % ops, i, 0.002 - i * 1e-7, runs, 0
	}'
}
lines 6000 6000 0. >ops.jsonl
exits 'many operators' 0 timeout 20 "$TUNEC" log best --db ops.jsonl --json
same 'each has its best' 6000 "$(wc -l <out)"
exits 'many operators, explained' 0 timeout 20 "$TUNEC" log explain \
	"$workloads/gemm_gelu.yaml" --db ops.jsonl
{ lines 1 1 0.; lines 8000 1 nope | sed 1d; } >bad.jsonl
for db in bad.jsonl bad.db; do
	[ $db = bad.jsonl ] || {
		head -n 1 bad.jsonl >one.jsonl
		"$TUNEC" log import one.jsonl --db bad.db >out
		sqlite3 bad.db "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL
			SELECT i + 1 FROM r WHERE i < 7999)
			INSERT INTO lines(op, target, kind, line) SELECT op, target,
			kind, replace(replace(line, '0.002', '0.0005'),
			'runs_s\":[0.', 'runs_s\":[nope') FROM lines, r"
	}
	exits "$db: damaged winners" 0 within 500000 timeout 20 "$TUNEC" \
		log best --db $db --json
	same "$db: the one that is whole is the best" 1 "$(wc -l <out)"
	ok "$db: they are counted" grep -q '7999 damaged lines' err
	same "$db: ten are named" 11 "$(grep -c damaged err)"
done
