#!/bin/bash
# What a new user meets in the first hour: names of their own, facts for their
# build, what is printed when something is mistyped.
. "$(dirname "$0")/lib.sh"
b() { "$TUNEC" build -q --db none.db "$@"; }

cat >mm.yaml <<'YAML'
tunec: 1
name: mm
params: {M: 20, N: 33, K: 9}
inputs:
  a: 'f32[M, K]'
  b: 'const f32[K, N]'
  s: 'f32[]'
compute: |
  c[i < M, j < N] = s[] * sum[k < K](a[i, k] * b[k, j])
cases:
  big: {M: 31, N: 49}
  small: {K: 1}
YAML

# --- build --symbol, --prefix
exits symbol 0 b mm.yaml:big --symbol product -o p.o -o p.c -o p.h --emit=main
ok symbol-of-the-driver test -s product_main.c
ok symbol-of-functions sh -c 'nm p.o | grep -q "T product$" &&
	nm p.o | grep -q "T product_pack_b$" && ! nm p.o | grep -q mm_big'
ok symbol-of-macros sh -c 'grep -q "^#define PRODUCT_PACKED_B_BYTES " p.h &&
	grep -q "^#define PRODUCT_WORKSPACE_BYTES " p.h && ! grep -q MM_BIG p.h'
ok symbol-is-right sh -c 'gcc p.c product_main.c -lm -o p && ./p'
exits prefix 0 b mm.yaml --prefix net_ -o q.c -o q.h
ok prefix-of-all sh -c 'grep -q "^void net_mm_big(" q.h &&
	grep -q "^void net_mm_small_pack_b(" q.h &&
	grep -q "^#define NET_MM_SMALL_WORKSPACE_BYTES " q.h'
exits prefix-of-a-symbol 0 b mm.yaml:big --prefix net_ --symbol product -o q.h
ok prefix-comes-first has q.h '^void net_product('
exits prefix-of-files 0 b mm.yaml:big --prefix net_ --emit=h
ok prefix-names-files test -s net_mm_big.h
exits symbol-of-several 2 b mm.yaml --symbol product -o n.h
ok symbol-of-several-says has err 'prefix'
for name in 'a b' 9a a-b int class printf main ''; do
	exits "symbol-'$name'" 2 b mm.yaml:big --symbol "$name" -o n.h
done
exits prefix-no-name 2 b mm.yaml:big --prefix 9_ -o n.h
ok refused-names-write-nothing absent n.h

# --- build --json
exits json 0 b --json mm.yaml:big -o k.json -o k.h
ok json-is-printed cmp out k.json
ok json-is-a-line [ "$(wc -l <k.json)" = 1 ]
ok json-symbol has k.json '^{"name":"mm","case":"big","symbol":"mm_big",'
ok json-arguments has k.json '"arguments":\[{"name":"a","dtype":"f32","shape":\[31,9\],"const":false,"role":"input"},{"name":"b","dtype":"f32","shape":\[9,49\],"const":true,"role":"input","packed_bytes":[0-9]*},{"name":"s","dtype":"f32","shape":\[\],"const":false,"role":"input"},{"name":"c","dtype":"f32","shape":\[31,49\],"const":false,"role":"output"}\]'
number() { sed -n "s/.*\"$2\":\([0-9]*\).*/\1/p" "$1"; }
ok json-packed-bytes has k.h "PACKED_B_BYTES $(number k.json packed_bytes)\$"
ok json-workspace has k.h "WORKSPACE_BYTES $(number k.json workspace_bytes)\$"
ok json-target has k.json "\"target\":\"$("$TUNEC" target --print)\""
ok json-no-record has k.json '"record":null,"schedule":"none (default schedule)"'
exits json-of-several 0 b mm.yaml --prefix p_ -o k.json
ok json-lines [ "$(grep -c '^{"name":"mm",.*"symbol":"p_mm_' k.json)" = 2 ]
exits json-alone 0 b --json mm.yaml:big
ok json-alone-prints has out '"symbol":"mm_big"'
exits json-stream 0 b mm.yaml:big -o - --emit=json
ok json-stream-prints has out '"symbol":"mm_big"'
exits json-and-a-stream 2 b --json mm.yaml:big -o - --emit=c
"$TUNEC" tune -q mm.yaml:big --trials 2 --db j.jsonl
exits json-of-a-record 0 "$TUNEC" build --frozen --json mm.yaml:big --db j.jsonl
ok json-record sh -c 'grep -q "$(sed -n "s/.*\"record\":\"\([0-9a-f]\{16\}\)\".*/\1/p" out)" j.jsonl'

# --- show --stage=schedule prints what --trace takes, whichever schedule it is
again() { # name, SPEC, options: the same kernel by the trace that is shown
	local name=$1 spec=$2
	shift 2
	exits "shows-$name" 0 "$TUNEC" show -q --stage=schedule "$spec" "$@"
	cp out "$name.trace"
	"$TUNEC" build -q "$spec" "$@" -o - --emit=ll 2>&1 |
		sed '/^;/d; /^$/d' >"$name.by-record"
	"$TUNEC" build -q "$spec" "$@" --trace "$name.trace" -o - --emit=ll 2>&1 |
		sed '/^;/d; /^$/d' >"$name.by-trace"
	ok "shown-is-taken-$name" cmp "$name.by-record" "$name.by-trace"
	ok "shown-has-names-of-the-spec-$name" lacks "$name.trace" \
		'\<[lb][0-9][0-9]*\>'
}
cpu='llvm -mcpu=x86-64-v3 -threads=2'
for w in softmax.yaml:odd gemm_gelu.yaml attention.yaml:small \
	layer_norm.yaml:odd conv2d.yaml:resnet18_c6; do
	again "${w%.yaml*}" "$workloads/$w" --db none.db --target "$cpu"
done
again cuda "$workloads/gemm_gelu.yaml" --db none.db --target 'cuda -arch=sm_80'
cat >net.yaml <<'YAML'
tunec: 1
name: net
inputs: {x: 'f32[64, 64]', w: 'const f32[64, 64]', v: 'const f32[64, 48]'}
compute: |
  h[i < 64, j < 64] = sum[k < 64](x[i, k] * w[k, j])
  n[i < 64] = sum[j < 64](h[i, j] * h[i, j])
  y[i < 64, j < 48] = sum[k < 64](h[i, k] / sqrt(n[i] + 1) * v[k, j])
YAML
again net net.yaml --db none.db --target "$cpu"
again record mm.yaml:big --db j.jsonl
ok record-is-named has record.trace '^# mm:big, target .*, record: [0-9a-f]\{16\}$'
sed 's/^name: mm/name: other/; s/\[i\>/[row/g' mm.yaml >other.yaml
again renamed other.yaml:big --db j.jsonl
ok renamed-is-a-record has renamed.trace 'record: [0-9a-f]\{16\}$'
ok renamed-has-its-names has renamed.trace 'c_row0'
"$TUNEC" show -q --stage=schedule mm.yaml:big --db j.jsonl |
	"$TUNEC" build -q mm.yaml:big --trace - -o piped.h
ok shown-is-piped test -s piped.h

# Of plain loops it is comments alone; nothing at all is what a pipe that failed
# gives.
printf '[]' >plain.json
exits trace-of-plain-loops 0 "$TUNEC" show -q --stage=schedule mm.yaml:big \
	--trace plain.json
cp out plain.trace
ok plain-loops-are-comments lacks plain.trace '^[^#]'
exits shown-is-taken-plain 0 "$TUNEC" build -q mm.yaml:big --trace plain.trace \
	-o - --emit=h
for text in '' '\n' ' \t\r\n\n'; do
	# shellcheck disable=SC2059
	printf "$text" >empty.trace
	for v in "build -o n.c" "show --stage=lowered" replay; do
		exits "empty-${v%% *}" 1 "$TUNEC" $v mm.yaml:big --trace empty.trace
		ok "empty-${v%% *}-at" has err \
			'^empty.trace:1:1: error: there is no trace'
	done
done
exits empty-stream 1 "$TUNEC" build mm.yaml:big --trace - -o n.c
ok empty-stream-at has err '^<stdin>:1:1: error: there is no trace'
exits empty-frozen 1 "$TUNEC" build mm.yaml:big --trace - -o n.c --frozen
ok empty-writes-nothing absent n.c

# --- mistakes of a trace, and of a template, are told at their place
at() { # name, FILE:LINE:COLUMN, message: in err
	ok "$1-at" grep -q "^$2: error: ${3:-}" err
}
printf '# mine\nio, ii = split(c.i, [_, 4])\nparallel(c.q)\n' >bad.trace
for v in "build -o n.c" "show --stage=schedule" replay; do
	exits "trace-${v%% *}" 1 "$TUNEC" $v mm.yaml:big --trace bad.trace
	at "trace-${v%% *}" bad.trace:3:1 "there is no loop 'c.q'"
	ok "trace-${v%% *}-says-it-once" [ "$(grep -c error: err)" = 1 ]
done
printf 'io, ii = split(c.i, ? in tile(2, inner<=4))\n' >open.trace
exits trace-open 1 "$TUNEC" build mm.yaml:big --trace open.trace -o n.c
at trace-open open.trace:1:21 'the decision is open'
printf '[{"step": "parallel", "args": ["d0.a7"]}]' >bad.json
exits trace-json 1 "$TUNEC" build mm.yaml:big --trace bad.json -o n.c
ok trace-json-names-the-file has err 'bad.json: '
printf '[{"step": "paralel", "args": ["d0.a0"]}]' >bad.json
exits trace-json-step 1 "$TUNEC" build mm.yaml:big --trace bad.json -o n.c
ok trace-json-step-names-the-file has err 'bad.json: '
(cat mm.yaml; cat <<'YAML'
schedule: |
  good:
    io, ii = split(c.i, ? in tile(2, inner<=16))
    cw = cache_write(c, reg)
    compute_at(cw, ? in {root, io, ii})
    tail(c, ? in {pad, mask})
  gone:
    qo, qi = split(c.q, ? in tile(2, inner<=16))
  late:
    io, ii = split(c.i, ? in tile(2, inner<=16))
    cw = cache_write(c, reg)
    compute_at(cw, ? in {q0, q1})
  fixed:
    parallel(c.i)
    parallel(c.i)
YAML
) >templates.yaml
exits templates 1 "$TUNEC" check templates.yaml
at template-gone templates.yaml:20:5 "there is no loop 'c.q'"
at template-late templates.yaml:24:5 "there is no loop 'q"
at template-fixed templates.yaml:27:5
ok templates-each-once [ "$(grep -c error: err)" = 3 ]
sed '/gone:/,$d' templates.yaml >good.yaml
exits template-good 0 "$TUNEC" check good.yaml
exits template-by-name 1 "$TUNEC" build templates.yaml:big --schedule fixed -o n.c
at template-by-name templates.yaml:27:5

# --- --frozen: what was given and does not apply is as no record at all
"$TUNEC" show -q --stage=schedule mm.yaml:big --db none.db --target 'cuda -arch=sm_80' \
	>gpu.trace
frozen() { # name, exit, reason, options
	exits "frozen-$1" "$2" b --frozen mm.yaml:big --target host -o n.c -o n.h -MD \
		"${@:4}"
	ok "frozen-$1-says-why" has err "$3"
	ok "frozen-$1-writes-nothing" sh -c '! ls | grep -q "^n\."'
}
frozen trace 3 "bad.trace:3:1: error: there is no loop 'c.q'" --trace bad.trace
frozen open 3 'open.trace:1:21: error: the decision is open' --trace open.trace
frozen of-another-target 3 'which this target has not' --trace gpu.trace
echo '[{"step": "parallel", "args": ["d0.a7"]}]' >void.json
frozen json 3 "void.json: .*d0.a7" --trace void.json
frozen no-trace 1 'bad.json: ' --trace bad.json
frozen no-file 1 "'none.trace': No such file" --trace none.trace
exits frozen-schedule 3 b --frozen templates.yaml:big --schedule gone -o n.c
exits frozen-schedule-late 3 b --frozen templates.yaml:big --schedule fixed -o n.c
exits frozen-schedule-open 3 b --frozen good.yaml:big --schedule good -o n.c
exits frozen-no-schedule 1 b --frozen good.yaml:big --schedule none -o n.c
ok frozen-schedules-write-nothing absent n.c

# --- what is mistyped
exits verb 2 "$TUNEC" tnue mm.yaml
ok verb-is-asked has err "unknown verb 'tnue'; is it 'tune'?"
exits verb-like-none 2 "$TUNEC" frobnicate mm.yaml
ok verb-like-none-is-not-asked lacks err 'is it'
exits option 2 "$TUNEC" tune --trails=3 mm.yaml
ok option-is-asked has err "unknown option '--trails'; is it '--trials'?"
exits option-of-none 2 "$TUNEC" --verison
ok option-of-none-is-asked has err "is it '--version'?"
exits log-verb 2 "$TUNEC" log lsit
ok log-verb-is-asked has err "is it 'list'?"
sed 's/^params: .*/params: {rows: 20, N: 33, K: 9}/; s/\<M\>/rows/g' mm.yaml >param.yaml
exits param 1 "$TUNEC" check param.yaml: -D rwos=4
ok param-is-asked has err "'rwos' is no param of 'mm'; is it 'rows'?"
exits letter 1 "$TUNEC" check mm.yaml: -D Q=4
ok letter-is-like-none lacks err 'is it'
exits case 1 "$TUNEC" check mm.yaml:samll
ok case-is-asked has err "no case 'samll'; its cases are big, small; is it 'small'?"
exits case-like-none 1 "$TUNEC" check mm.yaml:other
ok case-like-none-is-not-asked lacks err 'is it'
exits stage 2 "$TUNEC" show mm.yaml --stage=lowred
ok stage-is-asked has err "is it 'lowered'?"
exits schedule 1 b good.yaml:big --schedule godo -o n.c
ok schedule-is-asked has err "no schedule 'godo' (good); is it 'good'?"
exits emit 2 b mm.yaml --emit=h,mian,c
ok emit-is-asked has err "unknown kind 'mian' of --emit; is it 'main'?"
exits emit-like-none 2 b mm.yaml --emit=text
ok emit-like-none-is-not-asked lacks err 'is it'

# --- stores that are not there
for v in "build -o n.h" replay "log list" "log best" "log explain" "log export" \
	"log errors" "show --stage=schedule"; do
	"$TUNEC" $v mm.yaml:big --db mistyped.db >out 2>err </dev/null
	ok "no-file-${v// /-}" [ "$(grep -c 'there is no file mistyped.db' err)" = 1 ]
	ok "makes-none-${v// /-}" absent mistyped.db
done
exits no-file-of-the-environment 0 env TUNEC_DB=mistyped.db "$TUNEC" build \
	mm.yaml:big -o n.h
ok no-file-of-the-environment-is-said has err 'there is no file mistyped.db'
exits no-file-at-all 0 "$TUNEC" build mm.yaml:big -o n.h
ok no-file-at-all-is-usual lacks err 'no file'
exits other-operator 3 "$TUNEC" build --frozen mm.yaml:small --db j.jsonl -o n.h
ok explain-is-named has err '`tunec log explain` says why'
exits other-operator-replayed 3 "$TUNEC" replay mm.yaml:small --db j.jsonl
ok replay-names-explain has err '`tunec log explain`'

# --- a pipe that is closed is no failure to speak of
closed() { # command: its reader has gone
	"$@" 2>err | true
	[ ! -s err ]
}
ok pipe-closed-is-silent closed "$TUNEC" space -v mm.yaml
ok pipe-closed-to-files closed "$TUNEC" build -q \
	"$workloads/matmul.yaml:square_1024" \
	--db none.db -o - --emit=c
ok pipe-closed-while-printing sh -c \
	'"$0" space -v "$1" 2>err | head -n 1 >out; [ ! -s err ]' \
	"$TUNEC" "$workloads/conv2d.yaml"
# Nobody reads when it begins: what it writes would fit into the pipe.
bash -c '{ sleep 1; exec "$0" space -v mm.yaml; } | true
	exit ${PIPESTATUS[0]}' "$TUNEC"
ok pipe-closed-is-its-signal [ $? = 141 ]
exits full-disk 1 sh -c '"$0" check mm.yaml >/dev/full' "$TUNEC"
ok full-disk-is-said has err 'cannot write standard output'

# --- the live line keeps to its window; ctrl-C says what it waits for
terminal() { # columns, seconds until ctrl-C, command: what it showed is in shown
	python3 "$root/test/e2e/terminal.py" "$@" >shown
}
if command -v python3 >/dev/null; then
	for columns in 30 81; do
		ok "live-$columns" terminal $columns 0 "$TUNEC" tune mm.yaml:big \
			--trials 8 --db "live$columns.jsonl"
		read -r _ widest _ lines <shown
		ok "live-$columns-fits" [ "$widest" -lt $columns ]
		ok "live-$columns-is-live" [ "$lines" -ge 3 ]
	done
	ok live-cuts has shown 'mm:big  [0-9]* trials'
	terminal 80 1.5 "$TUNEC" tune mm.yaml:big --time 30s --db stop.jsonl
	ok interrupted-exits [ $? = 130 ]
	ok interrupted-says has shown \
		'interrupted: a last measurement runs; a second ctrl-C stops it'
	ok interrupted-is-kept has stop.jsonl '"complete":false'
	ok interrupted-tells-the-best has shown 'mm:big: .*; interrupted'
	# Between two measurements the first has stopped it already.
	for _ in 1 2 3; do
		terminal 80 3+0.02 "$TUNEC" tune --db stop.jsonl --time 30s \
			"$workloads/matmul.yaml:square_1024" -D M=4096 -D N=4096
		code=$?
		lacks shown '; interrupted' && break
	done
	ok interrupted-twice-exits [ $code = 130 ]
	ok interrupted-twice-stops lacks shown '; interrupted'
fi
exits off-a-terminal 0 "$TUNEC" tune mm.yaml:big --trials 9 --db live30.jsonl
ok off-a-terminal-nothing-is-live [ ! -s err ]
ok time-is-told has out '^time: [0-9.]* s: search .*, features and predict .*, train .*, lower .*, compile .*, run .*, check .*, idle '
exits time-quiet 0 "$TUNEC" tune -q mm.yaml:big --trials 10 --db live30.jsonl
ok time-quiet-says-nothing [ ! -s out ]
exits time-covered 0 "$TUNEC" tune mm.yaml:big --trials 1 --db live30.jsonl
ok time-covered-says-none lacks out '^time'

# --- --version
exits version 0 "$TUNEC" --version
ok version-of-llvm has out '^LLVM [0-9]'

# --- a record for another number of threads is this machine's
host=$("$TUNEC" target --print)
threads=${host##*-threads=}
line() { # threads, id
	sed -n "s/\"target\":\"[^\"]*\"/\"target\":\"${host% -threads=*} -threads=$1\"/
		s/\"id\":\"[^\"]*\"/\"id\":\"00000000000000$2\"/
		s/\"measure\":\"[a-z]*\",*//
		/\"kind\":\"trial\"/{ /\"outcome\":\"ok\"/p; }" j.jsonl | head -n 1
}
line $((threads + 1)) 01 >threads.jsonl
exits threads-more 0 "$TUNEC" build --frozen mm.yaml:big --db threads.jsonl -o t.h
ok threads-are-said has err "records for $((threads + 1)) threads are used"
ok threads-in-one-line [ "$(wc -l <err)" = 1 ]
ok threads-are-of-the-record has t.h "record: 0000000000000001"
sed 's/mcpu=[^ ]*/mcpu=haswell/; s/"id":"[^"]*"/"id":"0000000000000003"/' \
	threads.jsonl >haswell.jsonl
cat haswell.jsonl >>threads.jsonl
line $((threads + 9)) 02 >>threads.jsonl
exits threads-of-several 0 "$TUNEC" build -q --frozen mm.yaml:big --db threads.jsonl \
	-o t.h
ok threads-nearest has t.h "record: 0000000000000001"
exits threads-replayed 0 "$TUNEC" replay mm.yaml:big --db threads.jsonl --require-run
ok threads-replayed-one has out '^1 replayed'
line "$threads" 04 >>threads.jsonl
exits threads-own-first 0 "$TUNEC" build --frozen mm.yaml:big --db threads.jsonl -o t.h
ok threads-own has t.h "record: 0000000000000004"
ok threads-own-says-nothing [ ! -s err ]
