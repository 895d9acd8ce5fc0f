#!/bin/bash
# What is built for OpenCL: every workload's kernels, host C and header compile;
# the demo runs on the device that is here, and gives what plain loops give.
. "$(dirname "$0")/lib.sh"
strict='-std=c11 -O1 -Wall -Wextra -Werror'
target='opencl -device=gpu'
build() { "$TUNEC" build -q "$@" --db none; }

for spec in "$workloads"/*.yaml; do
	build "$spec" --target "$target" --emit=c,h >said 2>&1 ||
		echo "not ok host-$spec"
done
for f in *_*.h; do
	echo "#include \"$f\"" >>all.cpp
done
ok headers-as-cxx c++ -Wall -Wextra -Werror -fsyntax-only all.cpp
ok hosts-compile sh -c "for c in *_*.c; do
	cc $strict -fsyntax-only \$c || exit 1; done"

# Kernels, by another compiler than the device's: nothing is left unused.
for device in gpu cpu512; do
	for name in matmul:odd softmax:sfm_256 conv2d:resnet18_c6 \
		attention:small matmul_u8i8:odd depthwise:mobilenet_d1; do
		build "$workloads/${name%:*}.yaml:${name#*:}" -o k.cl \
			--target "opencl -device=$device" &&
			clang-14 -x cl -cl-std=CL1.2 -fsyntax-only -Wall -Wextra \
			-Xclang -finclude-default-header -Wno-unused-parameter \
			-Xclang -fdeclare-opencl-builtins -Werror k.cl >said 2>&1 ||
			echo "not ok compiles-$name-for-$device: $(head -n 1 said)"
	done
done
echo 'ok kernels-compile'

# Arguments: inputs, outputs and workspace in their order; hostile names.
printf 'tunec: 1\nname: p\ninputs: {queue: "f32[64]", kernel: "f32[64]", half: "f32[64]"}\ncompute: |\n  float4[i < 64] = queue[i] + kernel[i]*half[i]\n' >p.yaml
ok hostile-names build p.yaml --target "$target" -o p.c -o p.h -o p.cl
ok order has p.h \
	'^int p(cl_mem queue, cl_mem kernel, cl_mem half, cl_mem float4, cl_mem workspace, cl_command_queue queue_);$'
exits no-object 1 build p.yaml --target "$target" -o p.o
ok kinds-are-named has err '.cl, .c and .h'

export POCL_CACHE_DIR=$tmp POCL_KERNEL_CACHE=0
if ! "$TUNEC" target | grep -q '^ *opencl  *works'; then
	echo '# no device of OpenCL is here: nothing is run'
	exit 0
fi
for device in cpu cpu512 gpu; do
	ok "host-for-$device" build "$workloads/matmul.yaml:square_512" \
		--target "opencl -device=$device" -o matmul.c -o matmul.h
	ok "demo-for-$device" cc $strict -I. "$root/demo/opencl_matmul.c" \
		matmul.c -l:libOpenCL.so.1 -lm -o demo
	exits "runs-on-$device" 0 ./demo
	ok "is-right-on-$device" has out '^off by .*e-0[5-9]'
done
