#!/bin/bash
# What a user names to be read: lines that are too long, files that are too large,
# pipes that nobody writes to.
. "$(dirname "$0")/lib.sh"

cat >mm.yaml <<'YAML'
tunec: 1
name: mm
inputs: {a: 'f32[31, 9]', b: 'const f32[9, 49]'}
compute: |
  c[i < 31, j < 49] = sum[k < 9](a[i, k] * b[k, j])
YAML
"$TUNEC" tune -q mm.yaml --trials 2 --db s.jsonl

# --- a line over 16 MiB is damaged, to every verb ----------------------------
# The fastest trial, with something more in it: were it read, it would be the best.
long() {
	printf '%s,"more":"' "$(grep '"round":"final"' s.jsonl | head -n 1 |
		sed 's/"time_s":[^,]*/"time_s":1e-9/; s/}$//')"
	head -c 17825792 /dev/zero | tr '\0' x
	printf '"}'
}
mark=$(sed -n 's/.*"kind":"run-end".*"id":"\([^"]*\)".*/\1/p' s.jsonl)
best=$("$TUNEC" log best --json --db s.jsonl | sed 's/.*"id":"\([^"]*\)".*/\1/')
{ head -n 2 s.jsonl; long; echo; sed 1,2d s.jsonl; } >long.jsonl
{ cat s.jsonl; long; } >last.jsonl
named() { has err "$1: damaged line skipped: a line over 16 MiB"; }
for db in long.jsonl:3 last.jsonl:$(($(wc -l <s.jsonl) + 1)); do
	for v in "list mm.yaml" "best mm.yaml" "export mm.yaml" "errors mm.yaml" \
		"explain mm.yaml" "show $mark"; do
		exits "$db-${v% *}" 0 "$TUNEC" log $v --db "${db%:*}"
		ok "$db-${v% *}-names-it" named "$db"
	done
	exits "$db-export-again" 0 "$TUNEC" log export --db "${db%:*}"
	ok "$db-export-leaves-it-out" cmp out s.jsonl
	exits "$db-build" 0 "$TUNEC" build --frozen mm.yaml --db "${db%:*}" -o k.h
	ok "$db-build-takes-the-others" has k.h "record: $best"
	ok "$db-build-names-it" named "$db"
	exits "$db-replay" 0 "$TUNEC" replay mm.yaml --db "${db%:*}"
	ok "$db-replay-names-it" named "$db"
	exits "$db-imported" 1 "$TUNEC" log import "${db%:*}" --db new.db
	ok "$db-imported-is-said" has err "$db: a line over 16 MiB"
	ok "$db-imported-writes-nothing" absent new.db
	cp "${db%:*}" c.jsonl
	exits "$db-written-behind" 0 "$TUNEC" tune mm.yaml --trials 3 --db c.jsonl
	ok "$db-tune-names-it" named "c.jsonl:${db#*:}"
	size=$(stat -c %s "${db%:*}")
	ok "$db-tune-keeps-it" cmp -n "$size" c.jsonl "${db%:*}"
	exits "$db-written-is-read" 0 "$TUNEC" log list --json --db c.jsonl
	ok "$db-written-is-there" [ "$(grep -c '"round":"search"' out)" = 3 ]
	exits "$db-measured" 0 "$TUNEC" tune -q mm.yaml --trials 2 --db sim.jsonl \
		--measure="replay:${db%:*}"
	rm -f c.jsonl sim.jsonl
done

# --- what nobody writes to, and what is no file -------------------------------
mkfifo p p.jsonl
ln -s p l.db
mkdir folder.jsonl
quick() { exits "$1" 1 timeout 20 "${@:3}" && ok "$1-says" has err "$2"; }
silent='nobody writes to this pipe'
quick spec-pipe "'p': $silent" "$TUNEC" check p
quick spec-pipe-case "'p': $silent" "$TUNEC" build p:c -o n.h
quick spec-folder 'Is a directory' "$TUNEC" check folder.jsonl
quick spec-endless 'larger than 1 MiB' "$TUNEC" check /dev/zero
quick trace-pipe "'p': $silent" "$TUNEC" build mm.yaml --trace p -o n.h
quick trace-endless 'a trace over 16 MiB' "$TUNEC" replay mm.yaml --trace /dev/zero
quick model-pipe 'p: not a model' "$TUNEC" build mm.yaml --transfer p -o n.h
quick transfer-pipe 'p: not a regular file' "$TUNEC" tune mm.yaml --trials 9 \
	--transfer p --db n.db
quick import-pipe "'p': $silent" "$TUNEC" log import p --db n.db
quick import-folder 'Is a directory' "$TUNEC" log import folder.jsonl --db n.db
truncate -s 2G large.jsonl
quick import-large 'large.jsonl: larger than 1 GiB' "$TUNEC" log import large.jsonl \
	--db n.db
rm large.jsonl
for db in p p.jsonl l.db /dev/null "$tmp"; do
	for v in "log list" "build mm.yaml -o n.h" "replay mm.yaml" \
		"tune mm.yaml --trials 1" "log import s.jsonl"; do
		quick "store-$db-${v%% *}" 'not a regular file' "$TUNEC" $v --db "$db"
	done
done
"$TUNEC" log import -q s.jsonl --db s.db
for end in -wal -shm -journal; do
	cp s.db n.db
	mkfifo n.db$end
	for v in "log list" "build mm.yaml -o n.h" "tune mm.yaml --trials 9"; do
		quick "beside$end-${v%% *}" "n.db$end: not a regular file" \
			"$TUNEC" $v --db n.db
	done
	rm n.db n.db$end
done
ok nothing-was-written absent n.h

# --- pipes that somebody writes to are read -----------------------------------
exits spec-of-a-process 0 "$TUNEC" check <(cat mm.yaml)
exits spec-of-a-slow-process 0 "$TUNEC" check <(sleep 1.5; cat mm.yaml)
(sleep 0.2; cat mm.yaml >p) &
exits spec-of-a-late-process 0 "$TUNEC" check p
wait
ok spec-of-standard-input sh -c 'cat mm.yaml | "$0" check -' "$TUNEC"
ok spec-of-its-file sh -c 'cat mm.yaml | "$0" check /dev/stdin' "$TUNEC"
"$TUNEC" show -q --stage=schedule mm.yaml --db s.jsonl >t.trace
exits trace-of-a-process 0 "$TUNEC" build mm.yaml --trace <(cat t.trace) -o k.h
"$TUNEC" log export -q --model some.model --db s.jsonl
exits model-of-a-process 0 "$TUNEC" build mm.yaml --transfer <(cat some.model) -o k.h
exits import-of-a-process 0 "$TUNEC" log import <(cat s.jsonl) --db n.db
ok import-of-standard-input sh -c 'cat s.jsonl | "$0" log import - --db n.jsonl' \
	"$TUNEC"

# --- no output is what is read, nor another output -----------------------------
b() { "$TUNEC" build -q "$@"; }
keeps() { # name, exit, file, what is said, command: the file is as before
	local name=$1 want=$2 file=$3 said=$4
	shift 4
	cp "$file" before
	exits "$name" "$want" "$@"
	ok "$name-says" has err "$said"
	ok "$name-keeps" cmp "$file" before
}
for f in spec.c spec.h spec.o spec.json; do
	cp mm.yaml $f
	keeps "spec-$f" 1 $f 'over the spec' b $f --db s.jsonl -o $f
done
ln -s spec.c soft.c
ln spec.c hard.c
mkdir -p below
for o in ./spec.c "$PWD/spec.c" below/../spec.c soft.c hard.c; do
	keeps "spec-as-${o##*/}" 1 spec.c 'over the spec, spec.c' b spec.c \
		--db s.jsonl -o "$o"
	ok "spec-as-${o##*/}-stays-a-link" [ soft.c -ef spec.c ] && [ hard.c -ef spec.c ]
done
keeps spec-through-a-link 1 spec.c 'over the spec, soft.c' b soft.c --db s.jsonl -o spec.c
keeps spec-by-rules 1 mm.yaml 'over the spec' b mm.yaml --db s.jsonl -o n.h -MF mm.yaml
cp mm.yaml n.h.d
keeps spec-by-a-rule 1 n.h.d 'over the spec' b n.h.d --db s.jsonl -o n.h -MD
cp mm.yaml mm_main.c
keeps spec-by-a-driver 1 mm_main.c 'over the spec' b mm_main.c --db s.jsonl --emit=main
cp mm.yaml mm.h
keeps spec-by-a-stem 1 mm.h 'over the spec' b mm.h --db s.jsonl -o mm.c --emit=h
ok nothing-of-several-is-written absent mm.c
cp t.trace t.s
keeps trace 1 t.s 'over the trace' b mm.yaml --trace t.s -o t.s
cp s.jsonl s.json
keeps store 1 s.jsonl 'over the store' b mm.yaml --db s.jsonl -o n.h -MF s.jsonl
keeps store-by-default 1 s.jsonl 'over the store' \
	env TUNEC_DB=s.jsonl "$TUNEC" build mm.yaml -o n.h -MF s.jsonl
keeps store-behind 1 s.db 'over the store, s.db' b mm.yaml --db s.jsonl --db s.db \
	-o n.h -MF ./s.db
ln -s s.db link.db
for end in -wal -journal -shm; do
	exits "store$end" 1 b mm.yaml --db link.db -o n.h -MF s.db$end
	ok "store$end-says" has err "over the store's, .*/s.db$end"
	ok "store$end-is-not-made" absent s.db$end
done
exits store-to-be 1 b mm.yaml --db to-be.jsonl -o n.h -MF to-be.jsonl
ok store-to-be-is-not-made absent to-be.jsonl
keeps export-store 1 s.jsonl 'over the store' "$TUNEC" log export --db s.jsonl -o s.jsonl
keeps export-spec 1 mm.yaml 'over the spec' "$TUNEC" log export mm.yaml --db s.jsonl \
	-o mm.yaml
keeps appended 1 s.jsonl 'over the store' sh -c '"$0" log export --db s.jsonl >>s.jsonl' \
	"$TUNEC"
for s in s.jsonl s.db; do
	ln -s $s "replayed-$s"
	ln $s "same-$s"
	for from in $s ./$s "replayed-$s" "same-$s"; do
		keeps "replayed-$from" 1 $s "'$s' would be written over the store, $from" \
			"$TUNEC" tune -q mm.yaml --trials 9 --measure "replay:$from" \
			--db $s
	done
	keeps "replayed-by-default-$s" 1 $s 'over the store' env TUNEC_DB=same-$s \
		"$TUNEC" tune -q mm.yaml --trials 9 --measure "replay:$s"
done
printf '/* old */\n' >one.c
ln one.c two.c
keeps twice 2 one.c "'two.c' is written twice, as 'one.c' too" b mm.yaml --db s.jsonl \
	-o one.c -o two.c
keeps twice-by-rules 2 one.c 'written twice' b mm.yaml --db s.jsonl -o one.c -MF one.c
exits twice-of-two-kinds 2 b mm.yaml --db s.jsonl -o mm_main.h -o twice_main.c \
	--symbol twice --emit=main
ok twice-of-two-kinds-says has err 'twice_main.c is written twice'
exits twice-alike 0 b mm.yaml --db s.jsonl -o u.c -o u.c -o u.h --emit=h
exits to-no-file 0 b mm.yaml --db s.jsonl -o - --emit=h
ok nothing-of-it-was-written absent n.h
