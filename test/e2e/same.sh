#!/bin/bash
# What must be the same: outputs in another folder, under another name, at
# another time; results on any number of threads; the key of a renamed operator.
. "$(dirname "$0")/lib.sh"
host=$("$TUNEC" target --print)
kinds='c h ll bc o s'

# --- outputs ---------------------------------------------------------------------
outputs() { # -o for each kind, under a stem
	for k in $kinds; do printf ' -o %s.%s' "$1" "$k"; done
}
mkdir -p deep/er
cp "$workloads/conv2d.yaml" .
cp conv2d.yaml deep/er
# shellcheck disable=SC2046
ok builds "$TUNEC" build conv2d.yaml:resnet18_c12 $(outputs one)
sleep 1.1
cd deep/er || exit 1
# shellcheck disable=SC2046
ok builds-elsewhere env TZ=Asia/Tokyo HOME=/ "$TUNEC" build \
	conv2d.yaml:resnet18_c12 $(outputs two)
cd ../..
for k in $kinds; do
	ok "same-bytes-$k" cmp one.$k deep/er/two.$k
done

# --- results, on any number of threads ------------------------------------------------
cat >run.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include "k.h"
static float *fill(size_t bytes)
{
	float *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
	for (size_t i = 0; i < bytes / 4; i++)
		p[i] = (float)((i * 2654435761u) % 1000003u) / 1000003.0f - .5f;
	return p;
}
int main(void)
{
	float *data = fill(4 * 512 * 49), *weight = fill(4 * 512 * 512 * 9);
	float *bias = fill(4 * 512), *out = fill(4 * 512 * 49);
	void *w = fill(CONV2D_RESNET18_C12_PACKED_WEIGHT_BYTES);
	void *b = fill(CONV2D_RESNET18_C12_PACKED_BIAS_BYTES);
	void *space = fill(CONV2D_RESNET18_C12_WORKSPACE_BYTES);
	conv2d_resnet18_c12_pack_weight(weight, w);
	conv2d_resnet18_c12_pack_bias(bias, b);
	conv2d_resnet18_c12(data, w, b, out, space);
	return fwrite(out, 4, 512 * 49, stdout) != 512 * 49;
}
END
ok builds-for-4-threads "$TUNEC" build conv2d.yaml:resnet18_c12 \
	--target "${host% -threads=*} -threads=4" -o k.o -o k.h -o k.c
ok links-o cc -O1 -o run_o run.c k.o -fopenmp -lm
ok links-c cc -O2 -o run_c run.c k.c -fopenmp -lm
for back in o c; do
	for n in 1 2 4; do
		OMP_DYNAMIC=false OMP_NUM_THREADS=$n ./run_$back >result_${back}_$n
		ok "same-results-$back-$n" cmp result_${back}_1 result_${back}_$n
	done
done
ok results-are-there test "$(stat -c %s result_o_1)" = $((4 * 512 * 49))

# --- the key -----------------------------------------------------------------------
cat >first.yaml <<'END'
tunec: 1
name: first
params: {M: 5, N: 6}
inputs: {a: "f32[M, N]", b: "const f32[N]"}
compute: |
  left[i < M] = sum[j < N](a[i, j] * b[j])
  right[i < M] = max[j < N](a[i, j])
  out[i < M] = left[i] + right[i]
END
cat >second.yaml <<'END'
tunec: 1
name: other_name
doc: the same with other words
inputs: {x: "f32[5, 6]", y: "const f32[6]"}
compute: |
  highest[row < 5] = max[column < 6](x[row, column])
  product[p < 5] = sum[q < 6](x[p, q] * y[q])
  result[r < 5] = product[r] + highest[r]
END
key() {
	"$TUNEC" check --json "$1" | sed 's/.*"op": *"\([0-9a-f]*\)".*/\1/'
}
ok key-is-sha256 [ "$(key first.yaml | wc -c)" = 65 ]
ok renamed-and-permuted-has-the-same-key \
	[ "$(key first.yaml)" = "$(key second.yaml)" ]
sed 's/left\[i\] + right/left[i] - right/' first.yaml >third.yaml
ok another-operator-has-another [ "$(key first.yaml)" != "$(key third.yaml)" ]
