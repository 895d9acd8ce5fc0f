#!/bin/bash
# Records of Winograd's algorithm: what --numerics=fast tuned is built from the
# log alone, is right as an object and in C, and is nobody's without that option.
. "$(dirname "$0")/lib.sh"
host=$("$TUNEC" target --print)
target="${host% -threads=*} -threads=2"

cat >conv.yaml <<'END'
tunec: 1
name: conv
inputs: {x: "f32[32, 18, 18]", w: "const f32[64, 32, 3, 3]"}
compute: |
  y[o < 64, i < 16, j < 16] =
    sum[c < 32, r < 3, s < 3](x[c, i + r, j + s]*w[o, c, r, s])
END
built() { # STORE OPTION...
	"$TUNEC" build conv.yaml --target "$target" --frozen --db "$@"
}

exits tunes 0 "$TUNEC" tune conv.yaml --target "$target" --numerics=fast \
	--trials 12 --db all.jsonl
"$TUNEC" log export --db all.jsonl >all.txt 2>/dev/null
grep -v '"kind":"trial"' all.txt >one.jsonl
grep '"kind":"trial".*"outcome":"ok"' all.txt | grep '"step":"winograd"' |
	head -n 1 >>one.jsonl
ok has-a-record has one.jsonl '"step":"winograd"'

exits builds-from-it 0 built one.jsonl --numerics=fast -o k.o --emit=c,h,main
ok links cc -o run_o conv_main.c k.o -fopenmp -lm
ok right ./run_o
command -v cc >/dev/null && {
	ok compiles cc -O2 -std=c11 -fopenmp -Wall -Wextra -Werror -c k.c -o k_c.o
	ok links-c cc -o run_c conv_main.c k_c.o -fopenmp -lm
	ok right-c ./run_c
}
cp k.c first.c
exits builds-again 0 built one.jsonl --numerics=fast -o k.c
ok the-same cmp k.c first.c

exits not-without-fast 3 built one.jsonl -o no.o
ok says-why has err 'no record'
ok writes-nothing absent no.o
