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
