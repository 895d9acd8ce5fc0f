#!/bin/bash
# tunec log: what users type, on records written by hand.
set -u
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 1
unset TUNEC_DB TUNEC_TARGET
a=$(printf 'a%.0s' {1..64}) b=$(printf 'b%.0s' {1..64})

ok() { echo "ok $1"; }
bad() { echo "not ok $1: $2"; }
same() { # name, expected, found
	if [ "$2" = "$3" ]; then ok "$1"; else bad "$1" "expected '$2', found '$3'"; fi
}
run() { # name, expected exit, words of tunec
	local name=$1 expected=$2
	shift 2
	"$TUNEC" "$@" >out 2>err
	local rc=$?
	[ $rc = "$expected" ] && return
	bad "$name" "exit $rc, not $expected: $(cat err)"
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
	run "$db: import" 0 log import all.jsonl --db $db
	same "$db: import says" "$db: 7 imported, 0 were there" "$(cat out)"
	run "$db: import again" 0 log import all.jsonl --db $db
	same "$db: import twice adds nothing" "$db: 0 imported, 7 were there" "$(cat out)"
	run "$db: export" 0 log export --db $db
	cmp -s out all.jsonl && ok "$db: export gives those lines" || bad "$db: export" "differs"
	run "$db: export -o" 0 log export --db $db -o e.jsonl
	cmp -s e.jsonl all.jsonl && ok "$db: export -o" || bad "$db: export -o" "differs"
	run "$db: list" 0 log list --db $db --json
	same "$db: list is oldest first" "2222 3333 4444 1111 5555 5556" \
		"$(sed 's/.*"id":"\(....\).*/\1/' out | paste -sd' ')"
	run "$db: list table" 0 log list --db $db
	same "$db: a head and six lines" 7 "$(wc -l <out)"
	run "$db: outcome" 0 log list --outcome ok --db $db --json
	same "$db: --outcome ok" 4 "$(wc -l <out)"
	run "$db: best" 0 log best --db $db --json
	same "$db: best per operator and target" "2222 3333 4444" \
		"$(sed 's/.*"id":"\(....\).*/\1/' out | sort | paste -sd' ')"
	run "$db: best of a target" 0 log best --db $db --json --target c
	same "$db: best --target" "2222 3333" \
		"$(sed 's/.*"id":"\(....\).*/\1/' out | sort | paste -sd' ')"
	run "$db: show" 0 log show 1111000000000000 --db $db --json
	same "$db: show --json is the line" "$(grep 1111000 all.jsonl)" "$(cat out)"
	run "$db: show a beginning" 0 log show 1111 --db $db
	grep -q 'own *\[1.5\]' out && ok "$db: show has unknown keys" || bad "$db: show" "$(cat out)"
	run "$db: show an ambiguous beginning" 1 log show 555 --db $db
	run "$db: show what is not there" 1 log show 777 --db $db
	same "$db: says so" "tunec: error: no record with the id '777'" "$(cat err)"
	run "$db: errors" 0 log errors --db $db
	grep -q '^crash: 2, first 5555000000000000' out && grep -q 'it broke' out &&
		grep -q 'tunec build' out && ok "$db: errors" || bad "$db: errors" "$(cat out)"
	[ "$(ls | grep -c "^$db")" = 1 ] && ok "$db: one file at rest" || bad "$db: at rest" "$(ls)"
	TUNEC_DB=$db run "$db: TUNEC_DB" 0 log list --json
	same "$db: TUNEC_DB is read" 6 "$(wc -l <out)"
done

run 'readers create nothing' 0 log list --db none.db
run 'readers create nothing' 0 log best --db none.jsonl
[ ! -e none.db ] && [ ! -e none.jsonl ] && ok 'readers create nothing' || bad 'readers create nothing' "$(ls)"

trial 09 8888000000000000 "$a" c s9 0.0005 search >fast.jsonl
run 'layers' 0 log best --db t.db --db fast.jsonl --target c --json
same 'the first layer gives the best' '2222 3333' "$(sed 's/.*"id":"\(....\).*/\1/' out | sort | paste -sd' ')"
run 'layers reversed' 0 log best --db fast.jsonl --db t.db --target c --json
same 'and the other way round' '3333 8888' "$(sed 's/.*"id":"\(....\).*/\1/' out | sort | paste -sd' ')"

head -c -20 all.jsonl >torn.jsonl
run 'torn' 0 log list --db torn.jsonl --json
same 'a torn last line is skipped' 5 "$(wc -l <out)"
grep -q 'torn.jsonl:7: torn last line' err && ok 'and said so' || bad 'and said so' "$(cat err)"
sed '3s/.*/<<<<<<< HEAD/' all.jsonl >damaged.jsonl
run 'damaged' 0 log list --db damaged.jsonl --json
grep -q 'damaged.jsonl:3: damaged line' err && ok 'a damaged line is named' || bad 'a damaged line' "$(cat err)"
run 'import refuses a damaged file' 1 log import damaged.jsonl --db new.db
grep -q 'damaged.jsonl:3: ' err && [ ! -e new.db ] && ok 'import of a damaged file writes nothing' ||
	bad 'import of a damaged file' "$(cat err)"
echo '{"tunec":7,"kind":"trial"}' >newer.jsonl
run 'a newer format' 1 log list --db newer.jsonl
grep -q 'newer.jsonl:1: records of format 7' err && ok 'a newer format is refused' || bad 'newer' "$(cat err)"
echo 'just a text' >text.db
run 'no store' 1 log list --db text.db
grep -q 'text.db: not a store' err && ok 'what is no store is refused' || bad 'no store' "$(cat err)"

run 'unknown log verb' 2 log merge
run 'no log verb' 2 log
run 'unknown outcome' 2 log list --outcome fine
run 'show without an id' 2 log show
ok 'usage'

# A full disk, as a limit on the size of files.
for i in $(seq 10 59); do trial $i "77$(printf '%014d' $i)" "$a" c t$i 0.002 search; done >many.jsonl
for db in f.db f.jsonl; do
	run "$db: fill" 0 log import all.jsonl --db $db
	cp $db before
	(ulimit -f $(($(stat -c %s $db) / 1024 + 4)); "$TUNEC" log import many.jsonl --db $db >out 2>err)
	same "$db: a full disk is an error" 1 $?
	grep -q "$db: " err && ok "$db: that names the store" || bad "$db: full disk" "$(cat err)"
	run "$db: readable afterwards" 0 log list --db $db --json
	grep -c kind out >n
	run "$db: the lines" 0 log export --db $db
	head -n 7 out | cmp -s - all.jsonl && ok "$db: nothing is lost" || bad "$db: nothing is lost" "$(wc -l <out) lines"
	run "$db: goes on" 0 log import many.jsonl --db $db
	run "$db: whole" 0 log list --db $db --json
	same "$db: and goes on later" 56 "$(wc -l <out)"
done
(ulimit -f 4; "$TUNEC" log export --db f.db -o e2.jsonl >out 2>err)
same 'export to a full disk fails' 1 $?
[ ! -e e2.jsonl ] && ok 'and writes nothing' || bad 'export to a full disk' "$(ls)"
