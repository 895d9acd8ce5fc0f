#!/bin/bash
# What is built beside a GPU's kernels, and NVIDIA's tools where they are found:
# the host's .c against a libcuda of the tests' own, cubins, what is missing.
. "$(dirname "$0")/lib.sh"
target='cuda -arch=sm_90'
matmul=$workloads/matmul.yaml:square_512
strict='-std=c11 -O1 -Wall -Wextra -Werror'
build() { "$TUNEC" build -q "$@" --target "$target" --db none; }

ok library cc -std=c11 -D_GNU_SOURCE -fPIC -shared -o libcuda.so \
	"$root/test/e2e/fake_cuda.c"
ok host build "$matmul" -o matmul.c -o matmul.h
ok demo cc $strict -I. "$root/demo/cuda_matmul.c" matmul.c -o demo \
	-L. -lcuda -lm
export LD_LIBRARY_PATH=$tmp FAKE_CUDA_LOG=$tmp/log
./demo >out 2>&1 # nothing is computed there: the result is wrong
ok result-is-checked has out '^off by'
ok loaded-once [ "$(grep -c '^load$' log)" = 1 ]
macro() { awk -v m="MATMUL_SQUARE_512_K0_$1" '$2 == m { print $3 }' matmul.h; }
ok launches-are-the-header-s [ "$(sort -u log | grep -c "^matmul_square_512_k0 \
grid $(macro GRID_X) $(macro GRID_Y) $(macro GRID_Z) \
block $(macro BLOCK_X) $(macro BLOCK_Y) $(macro BLOCK_Z) shared 0$")" = 1 ]
ok each-call-launches [ "$(grep -c matmul_square_512_k0 log)" = 21 ]

# Every workload's host C and header, as C and as C++.
for spec in "$workloads"/*.yaml; do
	build "$spec" --emit=c,h >said 2>&1 || echo "not ok host-$spec"
done
for f in *_*.h; do
	echo "#include \"$f\"" >>all.cpp
done
cxx=c++
command -v c++ >/dev/null || cxx='clang-14 -x c++' # is installed without
ok headers-as-cxx $cxx -Wall -Wextra -Werror -fsyntax-only all.cpp
ok hosts-compile sh -c "for c in *_*.c; do
	cc $strict -fsyntax-only \$c || exit 1; done"

# Arguments: inputs, outputs and workspace in their order.
printf 'tunec: 1\nname: p\ninputs: {stream: "f32[64]", x: "f32[64]"}\ncompute: |\n  y[i < 64] = stream[i] + x[i]\n' >p.yaml
ok host-of-a-stream build p.yaml -o p.c -o p.h
ok order has p.h \
	'^int p(CUdeviceptr stream, CUdeviceptr x, CUdeviceptr y, CUdeviceptr workspace, CUstream stream_);$'
ok two-contexts-one-library lacks p.c cuModule
ok compiles cc $strict -c p.c

# More shared memory than a kernel can declare: its launch gives it, and is
# refused where the kernel was not allowed that on the device.
deep=$root/test/gpu/product_f16
ok host-of-a-deep-one build "$deep.yaml" --trace "${deep}_deep.trace" \
	--emit=c,h,ptx,cu
ok header-says-all has product_f16.h \
	'^#define PRODUCT_F16_K0_SHARED_BYTES 81920$'
ok header-says-what-a-launch-gives has product_f16.h \
	'^#define PRODUCT_F16_K0_DYNAMIC_BYTES 81920$'
ok header-of-others has matmul.h '_K0_DYNAMIC_BYTES 0$'
ok ptx-declares-none has product_f16.ptx \
	'^\.extern \.shared \.align 1024 \.b8 tunec_shared\[\];$'
ok cuda-c-declares-none has product_f16.cu \
	'^extern __shared__ __align__(1024) unsigned char tunec_shared\[\];$'
"$TUNEC" show "$deep.yaml" --stage=lowered --db none --target "$target" \
	--trace "${deep}_deep.trace" >lowered
ok shown-where has lowered \
	'b_s: f16\[20480\] dynamic shared + 40960 bytes, aligned 64'
cat >deep.c <<'E'
#include <stdlib.h>
#include "product_f16.h"
int main(int argc, char **argv)
{
	int a = 0, result = 0;
	CUdeviceptr at = (CUdeviceptr)(size_t)&a;
	for (int i = 1; i < argc && !result; i++) {
		setenv("FAKE_CUDA_CURRENT", argv[i], 1);
		result = product_f16(at, at, at, 0, NULL);
	}
	return result;
}
E
cc_deep() { # HOST.c PROGRAM
	cc $strict -D_GNU_SOURCE -I. deep.c "$1" -o "$2" -L. -lcuda
}
ok deep-compiles cc_deep product_f16.c deep
rm -f log
ok deep-is-launched ./deep 0 0 1 1 0
ok deep-with-its-bytes [ "$(grep -c 'k0 grid .* shared 81920$' log)" = 5 ]
ok deep-is-allowed-once-a-device [ "$(grep may log | tr '\n' ' ')" = \
	"product_f16_k0 may have 81920 on 0 product_f16_k0 may have 81920 on 1 " ]
sed 's/if (size\[6\])/if (0)/' product_f16.c >unasked.c
ok unasked-compiles cc_deep unasked.c unasked
exits deep-unasked-is-refused 1 ./unasked 0
sed 's/product_f16_k0/mean_f16_k0/g' product_f16.c >mean.c
ok mean-compiles cc_deep mean.c mean
exits deep-refusal-is-returned 1 ./mean 0
exits deep-beyond-the-card 1 "$TUNEC" build -q "$root/test/gpu/product_f32.yaml" \
	--trace "$root/test/gpu/product_f32_deep.trace" --emit=ptx --db none \
	--target 'cuda -arch=sm_75'
ok deep-beyond-is-said has err 'more shared memory than a block has'

# Variants have no virtual environment beside them.
[ ! -x "$root/build/venv/bin/ptxas" ] || PATH=$PATH:$root/build/venv/bin
assembler=$(command -v ptxas)
if [ -n "$assembler" ]; then
	ok cubin build "$matmul" -o k.cubin
	ok cubin-again build "$matmul" -o other.cubin
	ok cubin-has-no-name cmp k.cubin other.cubin
	ok cubin-is-elf has k.cubin '^.ELF'
else
	echo '# ptxas is not here: no cubin is made'
fi
printf '#!/bin/sh\necho "ptxas kernel.ptx, line 3; error   : no such thing" >&2\nexit 255\n' >ptxas
chmod +x ptxas
PATH=$tmp:$PATH exits refused-ptx 1 build "$matmul" -o k2.cubin
ok refusal-is-said has err 'ptxas: error   : no such thing'
ok nothing-is-written absent k2.cubin
rm ptxas
mkdir bin
for tool in sh cc; do ln -s "$(command -v $tool)" bin; done
mkdir -p away && cp "$TUNEC" away/tunec
PATH=$tmp/bin CUDA_HOME=$tmp exits no-ptxas 1 away/tunec build -q "$matmul" \
	--target "$target" --db none -o k3.cubin
ok says-how-to-get-it has err 'pip install nvidia-cuda-nvcc'
exits no-cubin-for-a-cpu 1 "$TUNEC" build -q "$matmul" \
	--target 'llvm -mcpu=x86-64' --emit=cubin --db none

# CUDA C through NVRTC.
nvrtc() { # OUTPUT...: of the product
	"$TUNEC" build -q "$matmul" --target "$target -compiler=nvrtc" \
		--db none "$@"
}
if nvrtc -o n.ptx 2>err; then
	ok nvrtc-has-the-kernel has n.ptx '\.entry matmul_square_512_k0('
	ok nvrtc-s-target has n.ptx '^\.target sm_90$'
	ok nvrtc-again nvrtc -o m.ptx
	ok nvrtc-same cmp n.ptx m.ptx
	ok nvrtc-host nvrtc -o nh.c
	ok nvrtc-host-compiles cc $strict -c nh.c
	ok nvrtc-shown sh -c "'$TUNEC' show '$matmul' --stage=ptx --db none \
		--target '$target -compiler=nvrtc' | grep -q NVVM"
	[ -z "$assembler" ] || ok nvrtc-cubin nvrtc -o n.cubin
	ok target-has-its-version sh -c "'$TUNEC' target |
		grep -qE 'NVRTC \([0-9]+\.[0-9]+, '"
else
	ok nvrtc-is-missing-says-so has err 'pip install nvidia-cuda-nvrtc'
	echo '# NVRTC is not here: no CUDA C is compiled by it'
fi
TUNEC_NVRTC=$tmp/libcuda.so exits no-nvrtc 1 nvrtc -o o.ptx
ok says-what-it-lacks has err 'lacks what is needed'
TUNEC_NVRTC=/nowhere.so exits nvrtc-nowhere 1 nvrtc -o o.ptx
ok says-where-it-looked has err '/nowhere.so'
ok nothing-by-nvrtc absent o.ptx
exits unknown-compiler 2 "$TUNEC" build -q "$matmul" -o o.ptx --db none \
	--target "$target -compiler=gcc"

# Tuning without a device: looked at, not measured.
exits looked-at 0 "$TUNEC" tune "$matmul" --target "$target" --trials 2 \
	--db none.db
ok says-nothing-was-measured has err 'nothing is measured'
ok ranks has out '^ *2 '
ok no-store absent none.db
exits looked-at-json 0 "$TUNEC" tune "$workloads/attention.yaml:small" \
	--target "$target" --trials 1 --json --db none.db
ok not-measured has out '"measured": *false'
[ -z "$assembler" ] || ok has-registers has out '"registers": *[1-9]'
PATH=$tmp/bin CUDA_HOME=$tmp exits looked-at-without-ptxas 0 away/tunec tune \
	"$matmul" --target "$target" --trials 1 --db none.db
ok says-ptxas-is-missing has err 'ptxas is missing'

# Tuning on a device: one whose kernels compute nothing, and one that is lost.
ln -s libcuda.so libcuda.so.1
ok device-is-listed sh -c "'$TUNEC' target | grep -q 'cuda gpu, Fake 0'"
rm -f log
exits wrong-results 1 "$TUNEC" tune "$matmul" --target "$target" --trials 2 \
	--db wrong.jsonl
ok wrong-is-said has err 'wrong: c\['
ok was-launched has log 'matmul_square_512_k0 grid'
ok wrong-is-stored has wrong.jsonl '"outcome":"wrong"'
printf 'tunec: 1\nname: sticky\ninputs: {x: "f32[64]"}\ncompute: |\n  y[i < 64] = x[i] + 1\n' >s.yaml
exits lost-device 1 "$TUNEC" tune s.yaml --target "$target" --trials 2 \
	--db lost.jsonl
ok loss-is-said has err 'ILLEGAL_ADDRESS'
ok loss-is-a-crash has lost.jsonl '"outcome":"crash"'
FAKE_CUDA_INIT=803 exits no-driver 0 "$TUNEC" tune "$matmul" \
	--target "$target" --trials 1 --db none.db
ok driver-s-trouble-is-said has err 'SYSTEM_DRIVER_MISMATCH'
