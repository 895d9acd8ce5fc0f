#!/bin/bash
# Operators whose special values went wrong once, or for which right kernels were
# refused: they are tuned with no trial that failed, and what they are built as is
# compared by `replay` and by the driver of --emit=main.
. "$(dirname "$0")/lib.sh"
export TUNEC_DB=none

spec() { # name, inputs, definitions
	printf 'tunec: 1\nname: %s\ninputs: {%s}\ncompute: |\n%s\n' \
		"$1" "$2" "$3" >"$1.yaml"
}
spec rows "x: 'f32[8, 512]'" \
	'  n[i < 8] = sqrt(sum[j < 512](x[i, j]*x[i, j]))
  y[i < 8, j < 512] = x[i, j]/max(n[i], 1e-6)'
spec quantized "x: 'f32[64, 128]'" \
	'  m[i < 64] = max[j < 128](abs(x[i, j]))
  y[i < 64, j < 128] = i8(clamp(round(x[i, j]/max(m[i], 1e-12)*127), -127, 127))'
spec relu "x: 'f32[64, 128]', s: 'f32[64]'" \
	'  y[i < 64, j < 128] = max(x[i, j], 0)/s[i]'
spec norm "x: 'f32[64, 128]', g: 'f32[128]'" \
	'  m[i < 64] = sum[j < 128](x[i, j])/128
  v[i < 64] = sum[j < 128]((x[i, j] - m[i])*(x[i, j] - m[i]))/128
  y[i < 64, j < 128] = (x[i, j] - m[i])/sqrt(v[i] + 1e-12)*g[j]'
spec running "x: 'f32[16, 256]'" \
	'  p[b < 16, i < 256] = prod[j < i](x[b, j] + 0.5)'
spec transmittance "x: 'f32[16, 256]'" \
	'  p[b < 16, i < 256] = prod[j < i](exp(x[b, j]))'
# denominators and an argument that cancel
spec bilateral "x: 'f32[105, 167]', g: 'f32[5, 5]'" \
	'  d[i < 101, j < 163, r < 5, s < 5] = x[i + r, j + s] - x[i + 2, j + 2]
  w[i < 101, j < 163, r < 5, s < 5] = g[r, s]*exp(-20*d[i, j, r, s]*d[i, j, r, s])
  a[i < 101, j < 163] = sum[r < 5, s < 5](w[i, j, r, s]*x[i + r, j + s])
  b[i < 101, j < 163] = sum[r < 5, s < 5](w[i, j, r, s])
  y[i < 101, j < 163] = a[i, j]/b[i, j]'
spec ratio "a: 'f32[96, 96]', b: 'f32[96, 96]'" \
	'  p[i < 96] = sum[k < 96](a[i, k]) - sum[k < 96](b[i, k])
  q[i < 96] = sum[k < 96](a[k, i]) - sum[k < 96](b[k, i])
  y[i < 96, j < 96] = p[i]/q[j]'
spec reciprocal "a: 'f32[201, 65]', b: 'f32[165, 65]'" \
	'  y[i < 201, j < 165] = 1/sum[k < 65](a[i, k]*b[j, k])'
spec logarithm "a: 'f32[201, 65]', b: 'f32[165, 65]'" \
	'  y[i < 201, j < 165] = log(sum[k < 65](a[i, k]*b[j, k]))'
# a NaN that is open, 0 of the padding times infinity, and a max that hides it
spec clipped "x: 'f32[1, 16, 28, 28]', w: 'const f32[16, 16, 3, 3]', b: 'const f32[16]'" \
	'  p[n < 1, c < 16, y < 30, x0 < 30] =
    if 1 <= y < 29 and 1 <= x0 < 29 then x[n, c, y - 1, x0 - 1] else 0
  s[n < 1, o < 16, y < 28, x0 < 28] =
    sum[c < 16, r < 3, t < 3](p[n, c, y + r, x0 + t]*w[o, c, r, t])
  z[n < 1, o < 16, y < 28, x0 < 28] = max(s[n, o, y, x0] + b[o], 0)'

for name in rows quantized relu norm running transmittance bilateral ratio \
	reciprocal logarithm clipped; do
	its_turn 2 || continue
	exits "tunes-$name" 0 "$TUNEC" tune $name.yaml --trials 3 --db $name.db
	ok "no-trial-of-$name-fails" has out ' 0 failed'
	exits "replays-$name" 0 "$TUNEC" replay $name.yaml --db $name.db
	exits "builds-$name" 0 "$TUNEC" build -q $name.yaml --db $name.db \
		-o $name.c --emit=main
	ok "compiles-$name" cc -O2 $unclocked -fopenmp $name.c ${name}_main.c -lm -o $name
	ok "is-right-$name" ./$name
done

# A kernel that is off by a thousandth is found all the same.
spec reciprocal "a: 'f32[201, 65]', b: 'f32[165, 65]'" \
	'  y[i < 201, j < 165] = 1.001/sum[k < 65](a[i, k]*b[j, k])'
"$TUNEC" build -q reciprocal.yaml -o wrong.c
cc -O2 -fopenmp wrong.c reciprocal_main.c -lm -o wrong
exits finds-wrong 1 ./wrong
spec bilateral "x: 'f32[105, 167]', g: 'f32[5, 5]'" \
	'  d[i < 101, j < 163, r < 5, s < 5] = x[i + r, j + s] - x[i + 2, j + 2]
  w[i < 101, j < 163, r < 5, s < 5] = g[r, s]*exp(-20*d[i, j, r, s]*d[i, j, r, s])
  a[i < 101, j < 163] = sum[r < 5, s < 5](w[i, j, r, s]*x[i + r, j + s])
  b[i < 101, j < 163] = sum[r < 5, s < 4](w[i, j, r, s])
  y[i < 101, j < 163] = a[i, j]/b[i, j]'
"$TUNEC" build -q bilateral.yaml -o wrong.c
cc -O2 -fopenmp wrong.c bilateral_main.c -lm -o wrong
exits finds-forgotten 1 ./wrong

# Exact numerics have libm's functions whatever compilers know of their arguments.
spec powers "x: 'f32[64]', z: 'f64[64]'" \
	'  a[i < 64] = pow(x[i], 2.0)
  b[i < 64] = pow(2.0, z[i])
outputs: [a, b]'
"$TUNEC" build -q powers.yaml --numerics=exact --target c -o plain.c
"$TUNEC" build -q powers.yaml --numerics=exact -o vectors.c
for from in plain vectors; do
	for cc in gcc clang-14; do
		command -v $cc >/dev/null || continue
		ok "calls-libm-$from-$cc" sh -c "$cc -O2 -Wall -Wextra -Werror \
			-c $from.c -o powers.o && nm powers.o | grep -q 'U powf' &&
			nm powers.o | grep -q 'U pow\$'"
	done
done
