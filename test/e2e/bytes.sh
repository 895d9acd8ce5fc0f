#!/bin/bash
# Sums of products of bytes and words by the instructions for them, wherever the
# channels lie: the default schedule for CPUs that need not be here has them, and
# where one is here, objects and C give what the plain loops do.
. "$(dirname "$0")/lib.sh"
command -v cc >/dev/null || {
	echo "there is no cc"
	exit 77
}

spec() { # NAME INPUTS <definitions
	printf 'tunec: 1\nname: %s\nparams: {C: 36, O: 40, S: 12, M: 50, G: 3}\n' \
		"$1" >spec.yaml
	printf 'inputs: {%s}\ncompute: |\n' "$2" >>spec.yaml
	sed 's/^/  /' >>spec.yaml
}

built() { # NAME CPU INSTRUCTION [OPTION]
	local target="llvm -mcpu=$2 -threads=1" here='' from
	"$TUNEC" target "$target" | grep -q '^runs here' &&
		here="-o $1.o -o $1.c -o $1.h --emit=main"
	ok "$1-$2" "$TUNEC" build -q spec.yaml --db none.db --target "$target" \
		${4-} -o $1.s $here
	ok "$1-$2-by-instruction" has $1.s "$3"
	[ "${VARIANT:-}" != sanitize ] || return 0 # of cc it is nothing new
	[ -z "$here" ] || cc -O0 $unclocked -c $1_main.c -o main.o
	for from in ${here:+o c}; do
		ok "$1-$2-compiles-$from" cc -O0 $1.$from main.o -lm -o run
		ok "$1-$2-computes-$from" ./run
	done
}
bytes() { # NAME INPUTS <definitions
	spec "$@"
	built $1 znver4 vpdpbusd
	its_turn 2 && built $1 haswell vpmaddwd
}

bytes nchw 'x: "u8[C, S, S]", w: "const i8[O, C, 3, 3]"' <<'END'
p[c < C, y < S + 2, x1 < S + 2] =
  if 1 <= y < S + 1 and 1 <= x1 < S + 1 then x[c, y - 1, x1 - 1] else u8(0)
z[o < O, y < S, x1 < S] = sum[c < C, r < 3, s < 3](p[c, y + r, x1 + s]*w[o, c, r, s])
END
bytes valid 'x: "u8[C, S, S]", w: "const i8[O, C, 5, 5]"' <<'END'
z[o < O, y < S - 4, x1 < S - 4] =
  sum[c < C, r < 5, s < 5](x[c, y + r, x1 + s]*w[o, c, r, s])
END
bytes strided 'x: "i8[C, S, S]", w: "const i8[O, C, 3, 3]"' <<'END'
p[c < C, y < S + 2, x1 < S + 2] =
  if 1 <= y < S + 1 and 1 <= x1 < S + 1 then x[c, y - 1, x1 - 1] else i8(0)
z[o < O, y < S//2, x1 < S//2] =
  sum[c < C, r < 3, s < 3](p[c, 2*y + r, 2*x1 + s]*w[o, c, r, s])
END
bytes pointwise 'x: "u8[C, S, S]", w: "const i8[O, C]"' <<'END'
z[o < O, y < S, x1 < S] = sum[c < C](x[c, y, x1]*w[o, c])
END
bytes grouped 'x: "u8[G*C, S, S]", w: "const i8[G*O, C, 3, 3]"' <<'END'
z[g < G, o < O, y < S - 2, x1 < S - 2] =
  sum[c < C, r < 3, s < 3](x[g*C + c, y + r, x1 + s]*w[g*O + o, c, r, s])
END
bytes line 'x: "u8[C, S*S]", w: "const i8[O, C, 3]"' <<'END'
z[o < O, t < S*S - 2] = sum[c < C, r < 3](x[c, t + r]*w[o, c, r])
END
bytes solid 'x: "u8[C, S, S, S]", w: "const i8[O, C, 3, 3, 3]"' <<'END'
z[o < O, a < S - 2, y < S - 2, x1 < S - 2] =
  sum[c < C, d < 3, r < 3, s < 3](x[c, a + d, y + r, x1 + s]*w[o, c, d, r, s])
END
bytes middle 'x: "u8[S, C, S]", w: "const i8[C, O, 3, 3]"' <<'END'
z[y < S - 2, o < O, x1 < S - 2] =
  sum[c < C, r < 3, s < 3](x[y + r, c, x1 + s]*w[c, o, r, s])
END
bytes rows 'x: "u8[M, C*S]", w: "i8[C*S]"' <<'END'
z[i < M] = sum[k < C*S](x[i, k]*w[k])
END
spec rows_i8 'x: "i8[M, C*S]", w: "i8[C*S]"' <<'END'
z[i < M] = sum[k < C*S](x[i, k]*w[k])
END
built rows_i8 znver4 vpdpwssd
built rows_i8 haswell vpmaddwd
ok rows_i8-c "$TUNEC" build -q spec.yaml --db none.db -o rows_i8.c \
	--target 'llvm -mcpu=znver4 -threads=1'
ok rows_i8-c-by-instruction has rows_i8.c dpwssd
bytes columns 'x: "u8[C, M]", w: "i8[C, O]"' <<'END'
z[i < M, j < O] = sum[k < C](x[k, i]*w[k, j])
END
bytes across 'x: "u8[C, M]", w: "i8[O, C]"' <<'END'
z[i < M, j < O] = sum[k < C](x[k, i]*w[j, k])
END
bytes rows 'x: "u8[M, C]", w: "i8[C, O]"' <<'END'
z[i < M, j < O] = sum[k < C](x[i, k]*w[k, j])
END

# zero points: of one operand and of both, scalars, of each channel, numbers; taken
# off before what pads it, and after
bytes point 'x: "u8[C, S, S]", zx: "u8[]", w: "const i8[O, C, 3, 3]"' <<'END'
p[c < C, y < S + 2, x1 < S + 2] =
  if 1 <= y < S + 1 and 1 <= x1 < S + 1 then x[c, y - 1, x1 - 1] - zx[] else 0
z[o < O, y < S, x1 < S] = sum[c < C, r < 3, s < 3](p[c, y + r, x1 + s]*w[o, c, r, s])
END
bytes points 'x: "u8[C, S, S]", zx: "u8[]", w: "const u8[O, C, 3, 3]", v: "const u8[O]"' <<'END'
p[c < C, y < S + 2, x1 < S + 2] =
  if 1 <= y < S + 1 and 1 <= x1 < S + 1 then x[c, y - 1, x1 - 1] else zx[]
z[o < O, y < S//2, x1 < S//2] = sum[c < C, r < 3, s < 3](
  (p[c, 2*y + r, 2*x1 + s] - zx[])*(w[o, c, r, s] - v[o]))
END
bytes inside 'x: "u8[C, S, S]", zx: "u8[]", w: "const i8[O, C, 3, 3]", v: "const i8[O]"' <<'END'
z[o < O, y < S, x1 < S] = sum[c < C, r < 3, s < 3](
  ((if 1 <= y + r < S + 1 and 1 <= x1 + s < S + 1 then x[c, y + r - 1, x1 + s - 1]
    else zx[]) - zx[])*(w[o, c, r, s] - v[o]))
END
bytes around 'x: "u8[C, S, S]", zx: "u8[]", w: "const i8[O, C, 3, 3]"' <<'END'
z[o < O, y < S, x1 < S] = sum[c < C, r < 3, s < 3](
  if 1 <= y + r < S + 1 and 1 <= x1 + s < S + 1
  then (i32(x[c, y + r - 1, x1 + s - 1]) - i32(zx[]))*i32(w[o, c, r, s]) else 0)
END
bytes numbers 'x: "i8[S, S, C]", w: "const i8[3, 3, C, O]"' <<'END'
p[y < S + 2, x1 < S + 2, c < C]: i16 =
  if 1 <= y < S + 1 and 1 <= x1 < S + 1 then x[y - 1, x1 - 1, c] + 5 else 0
z[y < S, x1 < S, o < O] = sum[c < C, r < 3, s < 3](
  i32(p[y + r, x1 + s, c])*(w[r, s, c, o] - 7))
END
# What zero points and padding take is no speed: a driver and a header count what
# tune shows, a product and a sum each.
operations=$((2*40*12*12*36*3*3))
ok numbers-driver-counts "$TUNEC" build -q spec.yaml --db none.db --emit=main \
	--target 'llvm -mcpu=znver4 -threads=1'
ok numbers-driver-counts-products has numbers_main.c "^#define TUNEC_FLOPS $operations.0$"
target='llvm -mcpu=haswell -threads=1'
if "$TUNEC" target "$target" | grep -q '^runs here'; then
	ok numbers-tunes "$TUNEC" tune -q spec.yaml --db numbers.jsonl --trials 1 \
		--target "$target"
	ok numbers-header "$TUNEC" build -q spec.yaml --db numbers.jsonl \
		-o numbers.h --target "$target"
	ok numbers-header-has-a-rate has numbers.h GFLOP/s
	awk -v operations=$operations '/GFLOP/ {
		sub(/.*measured: /, "")
		rate = operations/($1*($2 ~ /^us/ ? 1e-6 : 1e-3))*1e-9
		print ($3 > 0.99*rate && $3 < 1.01*rate) ? "right" : $0
	}' numbers.h >counted
	ok numbers-header-counts-products has counted '^right$'
fi
bytes point_rows 'x: "u8[M, C]", zx: "u8[]", w: "i8[O, C]", v: "i8[]"' <<'END'
z[i < M, j < O] = sum[k < C]((x[i, k] - zx[])*(w[j, k] - v[]))
END
bytes point_columns 'x: "i8[C, M]", zx: "i8[M]", w: "u8[C, O]", v: "u8[O]"' <<'END'
z[i < M, j < O] = sum[k < C]((x[k, i] - zx[i])*(w[k, j] - v[j])) + i*j
END

# pairs, under --numerics=fast
spec pairs 'x: "bf16[C, S, S]", w: "const bf16[O, C, 3, 3]"' <<'END'
z[o < O, y < S - 2, x1 < S - 2] =
  sum[c < C, r < 3, s < 3](x[c, y + r, x1 + s]*w[o, c, r, s])
END
built pairs znver4 vdpbf16ps --numerics=fast
