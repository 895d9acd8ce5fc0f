#!/bin/bash
# Kernels of GPUs, without one: every workload as PTX, by LLVM alone; what ptxas
# says of it where there is one; what is refused.
. "$(dirname "$0")/lib.sh"
target='cuda -arch=sm_90'
ptx() { # SPEC ARCH: NAME.ptx and NAME.h for each case
	"$TUNEC" build -q "$1" --target "cuda -arch=$2" --emit=ptx,h --db none
}
for spec in "$workloads"/*.yaml; do
	name=$(basename "$spec" .yaml)
	ok "builds-$name" ptx "$spec" sm_90
done
ok all-cases-are-there [ "$(ls ./*.ptx | wc -l)" = 75 ]
ok entry has matmul_square_512.ptx '\.visible \.entry matmul_square_512_k0('
ok threads has matmul_square_512.ptx '\.reqntid [0-9]*, [0-9]*, 1$'
ok shares has matmul_square_512.ptx '\.shared .align 64 .b8 '
ok waits has matmul_square_512.ptx 'bar\.sync'
one_launch() { # NAME: reductions by rows in one kernel, no sum through memory
	[ "$(grep -c '\.entry' "$1.ptx")" = 1 ] && has "$1.ptx" 'shfl\.sync'
}
for name in softmax_sfm_256 softmax_sfm_2048 softmax_odd layer_norm_bert_128; do
	ok "one-launch-$name" one_launch $name
done
ok arch has matmul_square_512.ptx '^\.target sm_90$'
ok indices-in-32-bits sh -c "! grep -E '(div|rem|mul\.(lo|hi))\.[su]64' ./*.ptx"
ok header-has-launches has matmul_square_512.h \
	'^#define MATMUL_SQUARE_512_K0_GRID_X [1-9][0-9]*$'
ok host-packs has matmul_square_512.h 'void matmul_square_512_pack_b('

assembler=$(command -v ptxas || ls "$root"/build/venv/bin/ptxas 2>/dev/null)
case ${VARIANT:-release} in
sanitize) assembler= ;; # what it takes is the same
esac
if [ -n "$assembler" ]; then
	for f in *.ptx; do
		"$assembler" -arch=sm_90 -v "$f" -o k.cubin >said 2>&1 &&
			has said ' 0 bytes spill stores' ||
			echo "not ok assembles-$f: $(tail -n 2 said)"
	done
	echo 'ok assembles-all'
else
	echo '# ptxas is not here: what LLVM wrote is not assembled'
fi

for arch in sm_75 sm_80 sm_86 sm_87 sm_89 sm_90a; do
	ok "builds-for-$arch" ptx "$workloads/softmax.yaml:sfm_256" $arch
	ok "says-$arch" has softmax_sfm_256.ptx "^\.target $arch$"
done
ok ir sh -c "'$TUNEC' build -q '$workloads/matmul.yaml:odd' \
	--target '$target' -o - --emit=ll --db none | grep -q nvvm.annotations"
ok shown sh -c "'$TUNEC' show '$workloads/matmul.yaml:odd' \
	--target '$target' --stage=ptx --db none | grep -q 'entry matmul_odd_k0'"
ok cuda-c-is-shown sh -c "'$TUNEC' show '$workloads/matmul.yaml:odd' \
	--target '$target' --stage=c --db none | grep -q '__global__ void'"
for kind in cl:'opencl -device=gpu' cu:'cuda -arch=sm_80'; do
	for spec in "$workloads"/*.yaml; do
		ok "${kind%%:*}-of-$(basename "$spec" .yaml)" "$TUNEC" build -q \
			"$spec" --target "${kind#*:}" --emit=${kind%%:*},h --db none
	done
done
ok all-cl-are-there [ "$(ls ./*.cl | wc -l)" = 75 ]
ok all-cu-are-there [ "$(ls ./*.cu | wc -l)" = 75 ]
ok cu-includes-nothing sh -c '! grep -l "#include" ./*.cu'
exits no-opencl-for-cuda 1 "$TUNEC" show "$workloads/matmul.yaml:odd" \
	--target "$target" --stage=opencl --db none
exits no-ptx-for-opencl 1 "$TUNEC" build -q "$workloads/matmul.yaml:odd" \
	--target opencl --emit=ptx --db none
exits no-ir-for-opencl 1 "$TUNEC" show "$workloads/matmul.yaml:odd" \
	--target opencl --stage=llvm --db none
for kind in o so s main; do
	exits "no-$kind-for-a-gpu" 1 "$TUNEC" build -q \
		"$workloads/matmul.yaml:odd" --target "$target" --emit=$kind \
		--db none
done
printf 'tunec: 1\nname: p\ninputs: {x: "f64[64]"}\ncompute: |\n  y[i < 64] = pow(x[i], 3.3)\n' >p.yaml
ok functions-are-written-out "$TUNEC" build -q p.yaml --target "$target" \
	--emit=ptx --db none
exits no-libm-there 1 "$TUNEC" build -q p.yaml --target "$target" --emit=ptx \
	--numerics=exact --db none
ok function-is-named has err "no libm, and 'pow'"
exits no-ptx-for-a-cpu 1 "$TUNEC" build -q "$workloads/matmul.yaml:odd" \
	--target 'llvm -mcpu=x86-64' --emit=ptx --db none
exits unknown-arch 2 "$TUNEC" build -q "$workloads/matmul.yaml:odd" \
	--target 'cuda -arch=sm_61' --emit=ptx --db none
ok known-ones-are-named has err 'sm_75, sm_80'
