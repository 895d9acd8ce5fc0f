#!/bin/bash
# Programs of several products: shown and built group by group; a group's record
# is found in every program that contains it.
. "$(dirname "$0")/lib.sh"

# One layer, and a network that has it twice, then another.
cat >layer.yaml <<'END'
tunec: 1
name: layer
params: {M: 24, K: 32}
inputs: {in: "f32[M, K]", weight: "const f32[K, K]"}
compute: |
  c[i < M, j < K] = sum[k < K](in[i, k]*weight[k, j])
  out[i < M, j < K] = max(c[i, j], 0)
outputs: [out]
END
cat >net.yaml <<'END'
tunec: 1
name: net
params: {M: 24, K: 32, N: 40}
inputs: {x: "f32[M, K]", u: "const f32[K, K]", v: "const f32[K, K]", w: "const f32[K, N]"}
compute: |
  a[i < M, j < K] = sum[k < K](x[i, k]*u[k, j])
  ra[i < M, j < K] = max(a[i, j], 0)
  b[i < M, j < K] = sum[k < K](ra[i, k]*v[k, j])
  rb[i < M, j < K] = max(b[i, j], 0)
  top[j < K] = max[i < M](rb[i, j])
  y[i < M, j < N] = sum[k < K](rb[i, k]*w[k, j]) - top[j % K]
outputs: [y]
END

exits space-by-group 0 "$TUNEC" space net.yaml
ok three-products has out '^net: [0-9]* decision vectors in 4 groups'
ok equal-layers-are-one has out 'group b: as group a'
exits show-space-by-group 0 "$TUNEC" show --stage=space net.yaml
ok shown-by-group has out '^# group y~1'
exits samples 0 "$TUNEC" space net.yaml --sample 3 --json
ok samples-are-there has out '"samples":\[\['

exits no-record 0 "$TUNEC" build net.yaml --db none.jsonl -o net.o \
	--emit=h,main
ok no-record-is-said has err 'no record for target .*: the default schedule'
exits compiles 0 "${CC:-cc}" -O1 -fopenmp -I. net_main.c net.o -lm -o net
exits right 0 ./net

# The layer's record is the groups'.
exits tuned-layer 0 "$TUNEC" tune layer.yaml --trials 2 --db log.jsonl
exits frozen-names-what-is-missing 3 "$TUNEC" build net.yaml --frozen \
	--db log.jsonl -o frozen.o
ok missing-groups has err "no record of its groups 'top', 'y~1' for target"
ok nothing-written [ ! -e frozen.o ]
exits some-groups 0 "$TUNEC" build net.yaml --db log.jsonl -o some.h
ok some-groups-are-said has err "no record of its groups 'top', 'y~1'"
ok header-says-some has some.h 'record: those of some of its groups'

# A record that does not apply is as none, of its group alone: its axis is gone.
sed 's/d0\.a0/d0.a9/g' log.jsonl >void.jsonl
exits void-record 0 "$TUNEC" build net.yaml --db void.jsonl -o void.o --emit=h,main
ok void-record-says-why has err "record [0-9a-f]* of its group 'a' does not apply: .*a9"
ok no-plain-loops lacks err 'plain loops'
exits void-compiles 0 "${CC:-cc}" -O1 -fopenmp -I. net_main.c void.o -lm -o void
exits void-right 0 ./void
exits void-frozen 3 "$TUNEC" build layer.yaml --db void.jsonl --frozen -o f.o
ok void-frozen-says-why has err 'record [0-9a-f]* does not apply: .*a9'
ok void-frozen-writes-nothing absent f.o
printf 'parallel(c.q)\n' >void.trace
exits void-trace 3 "$TUNEC" build layer.yaml --trace void.trace --frozen -o f.o
ok void-trace-says-why has err 'c\.q'

# A schedule of the whole, as space draws it, is one that build takes.
"$TUNEC" space net.yaml --sample 1 --json --seed 4 |
	sed 's/.*"samples":\[\(.*\)\]}$/\1/' >sample.json
exits whole-trace 0 "$TUNEC" build net.yaml --trace sample.json -o net.o \
	--emit=h,main
exits whole-compiles 0 "${CC:-cc}" -O1 -fopenmp -I. net_main.c net.o -lm -o net
exits whole-right 0 ./net

# Temporaries that do not live together share memory: 24*40 of b~1 and ra ...
ok workspace-is-shared [ "$(sed -n 's/.*NET_WORKSPACE_BYTES \([0-9]*\)/\1/p' \
	net.h)" -lt 40000 ]

# Of a network of 40 layers what there is time for is measured, and kept.
{
	printf 'tunec: 1\nname: deep\ninputs:\n  r0: "f32[16, 32]"\n'
	for k in $(seq 40); do
		printf '  w%d: "const f32[%d, %d]"\n' $k $((31 + k)) $((32 + k))
	done
	echo 'compute: |'
	for k in $(seq 40); do
		printf '  c%d[i < 16, j < %d] = sum[k < %d](r%d[i, k]*w%d[k, j])\n' \
			$k $((32 + k)) $((31 + k)) $((k - 1)) $k
		printf '  r%d[i < 16, j < %d] = max(c%d[i, j], 0)\n' \
			$k $((32 + k)) $k
	done
} >deep.yaml
little_time() { # in which a slow machine has measured one
	for s in 1 2 4 8 16; do
		"$TUNEC" tune deep.yaml --time ${s}s --db deep.jsonl && return
	done
	return 1
}
exits little-time 0 little_time
ok little-time-is-said has err 'no time for candidate 1 of [0-9]* operators'
ok little-time-is-used has deep.jsonl '"outcome":"ok"'

# A group of many blocks: what a candidate has no room for is said.
{
	printf 'tunec: 1\nname: chain\ninputs: {y0: "f32[64, 96]"}\ncompute: |\n'
	for k in $(seq 48); do
		printf '  y%d[i < 64, j < 96] = exp(y%d[i, j])*y%d[i, 95 - j]\n' \
			$k $((k - 1)) $((k - 1))
	done
	printf 'outputs: [y48]\n'
} >chain.yaml
"$TUNEC" space chain.yaml --target 'llvm -mcpu=haswell -threads=1' >space
ok settled-decisions-are-said has space \
	'[0-9]* decisions, [0-9]* more are settled: a candidate has room for 128'
