#!/bin/bash
# What a tune takes over from other operators' records, and the model of them as a
# file.  Nothing is measured: simulated lines are given as measured ones.
. "$(dirname "$0")/lib.sh"
target='llvm -mcpu=x86-64-v3 -threads=1'
tune() {
	"$TUNEC" tune --target "$target" --measure=simulate "$@"
}
traces() { # store: a sum over what was tried of the case "new", in order
	sed -n '/"case":"new".*"round":"search"/s/.*"trace":\(.*\),"outcome".*/\1/p' "$1" |
		sha256sum
}
cat >mm.yaml <<'END'
tunec: 1
name: mm
params: {M: 96, N: 128, K: 64}
inputs: {a: "f32[M, K]", b: "const f32[K, N]"}
compute: |
  c[i < M, j < N] = sum[k < K](a[i, k]*b[k, j])
cases: {one: {}, two: {M: 192}, three: {K: 128}, four: {N: 256}, new: {M: 128, N: 192}}
END
exits logs-are-made 0 tune mm.yaml:one mm.yaml:two mm.yaml:three mm.yaml:four \
	--trials 160 --db logs.jsonl --transfer=auto
ok of-its-own-operators-nothing-is-said lacks err transfer:

# --- a tune ----------------------------------------------------------------------
for i in 1 2; do
	cp logs.jsonl auto$i.jsonl
	exits "tune-by-the-logs-$i" 0 tune mm.yaml:new --trials 20 --db auto$i.jsonl \
		--transfer=auto
done
ok one-line-says-so [ "$(grep -c '^tunec: transfer: [0-9]* records of 4 other' err)" = 1 ]
ok it-is-the-same-twice [ "$(traces auto1.jsonl)" = "$(traces auto2.jsonl)" ]
exits tune-by-a-named-store 0 tune mm.yaml:new --trials 20 --db own.jsonl \
	--transfer=logs.jsonl
ok it-is-what-auto-does [ "$(traces own.jsonl)" = "$(traces auto1.jsonl)" ]
cp err err_once
cp logs.jsonl copy.jsonl
exits tune-by-a-store-and-its-copy 0 tune mm.yaml:new --trials 20 --db twice.jsonl \
	--transfer=logs.jsonl --transfer=copy.jsonl
ok a-record-counts-once cmp err err_once
cp logs.jsonl off.jsonl
exits tune-without 0 tune mm.yaml:new --trials 20 --db off.jsonl --transfer=off
ok nothing-is-said lacks err transfer:
cp logs.jsonl default.jsonl
exits tune-by-default 0 tune mm.yaml:new --trials 20 --db default.jsonl
ok that-is-off [ "$(traces default.jsonl)" = "$(traces off.jsonl)" ]
exits tune-alone 0 tune mm.yaml:new --trials 20 --db alone.jsonl \
	--transfer=auto
ok alone-nothing-is-said lacks err transfer:
ok off-is-as-alone [ "$(traces alone.jsonl)" = "$(traces off.jsonl)" ]
ok logs-change-what-is-tried [ "$(traces own.jsonl)" != "$(traces alone.jsonl)" ]
exits no-such-file 1 tune mm.yaml:new --trials 20 --transfer=nowhere.jsonl
ok it-is-named has err 'there is no file nowhere.jsonl'

# --- a model in a file -------------------------------------------------------------
exits simulated-lines-teach-no-model 1 "$TUNEC" log export --model m --db logs.jsonl \
	--target "$target"
ok they-are-counted has err 'were measured in another way'
ok nothing-is-written absent m
exits a-model-or-rows 2 "$TUNEC" log export --model m --csv --db logs.jsonl
exits a-model-of-all 2 "$TUNEC" log export --model m mm.yaml --db logs.jsonl
exits a-model-has-its-file 2 "$TUNEC" log export --model m -o m.txt --db logs.jsonl
ok none-is-written absent m
sed 's/,"measure":"simulate"//' logs.jsonl >real.jsonl
for i in 1 2; do
	exits "export-$i" 0 "$TUNEC" log export --model m$i --db real.jsonl \
		--target "$target"
done
cp err err_export
ok the-same-logs-give-the-same-bytes cmp -s m1 m2
{ grep -v '"kind":"trial"' real.jsonl; grep '"kind":"trial"' real.jsonl | tac; } >turned.jsonl
exits of-lines-in-another-order 0 "$TUNEC" log export --model m3 --db turned.jsonl \
	--target "$target"
ok they-are-the-same cmp -s m1 m3
ok it-is-small [ "$(wc -c <m1)" -lt 16384 ]
for i in 1 2; do
	exits "build-by-the-model-without-xgboost-$i" 0 env TUNEC_MODULES=/nowhere "$TUNEC" \
		build mm.yaml:new --target "$target" --db none.db --transfer m1 -o b$i.c
done
ok it-is-the-same-kernel cmp -s b1.c b2.c
exits build-by-no-model 0 "$TUNEC" build mm.yaml:new --target "$target" --db none.db \
	-o b0.c
ok it-says-that-they-teach-nothing has err_export 'teach no more than the analytic'
ok so-it-is-the-same-schedule [ "$(sed 1,20d b0.c)" = "$(sed 1,20d b1.c)" ]
ok it-says-whose-schedule-it-is has b1.c 'none (default schedule by a model)'
exits a-rule-for-make 0 "$TUNEC" build mm.yaml:new --target "$target" --db none.db \
	--transfer m1 -o b3.c -MD
ok it-names-the-model has b3.c.d ' m1'
cp m1 m.c
exits not-over-the-model 1 "$TUNEC" build mm.yaml:new --target "$target" --db none.db \
	--transfer m.c -o m.c
ok it-is-still-there cmp -s m1 m.c
exits tune-by-the-model-without-xgboost 0 env TUNEC_MODULES=/nowhere "$TUNEC" tune \
	mm.yaml:new --target "$target" --measure=simulate --trials 16 --model=none \
	--transfer=m1 --db m.jsonl
exits of-another-kind-of-machine 1 "$TUNEC" build mm.yaml:new --target 'cuda -arch=sm_90' \
	--db none.db --transfer m1 -o b.ptx
ok it-says-which has err 'features cpu .*: this needs .* gpu'
head -c 50 m1 >cut
exits a-model-that-is-cut 1 "$TUNEC" build mm.yaml:new --target "$target" --db none.db \
	--transfer cut -o c.c
ok it-is-said has err 'cut: not a model, or damaged'

# --- what logs say that cannot be ----------------------------------------------------
model() { # store
	"$TUNEC" log export --model m4 --db "$1" --target "$target"
}
awk '/"kind":"trial"/ && !n++ { sub(/"time_s":[^,]*/, "\"time_s\":1e-12") } 1' \
	real.jsonl >fast.jsonl
exits a-time-that-nobody-measured 0 model fast.jsonl
ok it-is-left-out has err '; 1 are too fast to be true'
awk '/"kind":"trial"/ && n++ < 2 { sub(/"step":"[a-z_]*"/, "\"step\":\"novel\"") } 1' \
	real.jsonl >novel.jsonl
exits steps-that-there-are-not 0 model novel.jsonl
ok they-are-counted-as-unfit has err '; 2 fit no space'
sed 's/"op_text":"tunec 1/"op_text":"tunec 7/' real.jsonl >other.jsonl
exits operators-of-another-language 1 model other.jsonl
ok all-are-unfit has err 'transfer: 0 records of 0 other operators; [0-9]* fit no space'
sed 's/-mcpu=x86-64-v3/-mcpu=znver3/' real.jsonl >zen.jsonl
exits records-of-another-cpu-are-read 0 model zen.jsonl
