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

for name in rows quantized relu norm running transmittance; do
	exits "tunes-$name" 0 "$TUNEC" tune $name.yaml --trials 3 --db $name.db
	ok "no-trial-of-$name-fails" has out ' 0 failed'
	exits "replays-$name" 0 "$TUNEC" replay $name.yaml --db $name.db
	exits "builds-$name" 0 "$TUNEC" build -q $name.yaml --db $name.db \
		-o $name.c --emit=main
	ok "compiles-$name" cc -O2 -fopenmp $name.c ${name}_main.c -lm -o $name
	ok "is-right-$name" ./$name
done
