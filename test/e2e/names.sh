#!/bin/bash
# Names that are something else in C, in the C library's headers, in emitted code,
# in OpenCL C or in CUDA C, as inputs, definitions, axes and params, in everything
# that is emitted: it compiles without a warning and computes what it should.  An
# operator with such a name is refused at its place.
. "$(dirname "$0")/lib.sh"
command -v gcc >/dev/null || {
	echo "there is no gcc"
	exit 77
}

macros='linux unix i386 M_PI M_PIf INFINITY NAN HUGE_VAL MAXFLOAT EOF NULL BUFSIZ
	FLT_MAX INT_MAX CHAR_BIT RAND_MAX I complex noreturn errno stdin assert
	isnan signbit INT8_C PRId64 PATH_MAX O_RDONLY __LINE__ __FILE__ __x86_64__
	__GNUC__ __cplusplus _OPENMP _Float16 si_addr NDEBUG'
library='main expf fmaf tanhf memcpy malloc printf index y0 gamma time
	omp_get_thread_num GOMP_parallel uint8_t size_t FILE cout std string'
own='f32x16 f32x16_u u8x64 F32X16 LOAD_F32X16 EXP_F32X16 TUNEC_FUNCTION TUNEC_X86
	TUNEC_FLOPS tunec_floordiv_i32 tunec_f16_to_f32 thread threads i t acc x
	data_at FLOPS SYMBOL _mm512_loadu_ps _mm256_fmadd_ps __m512 packed v_exp_'
device='kernel half global local constant uchar float4 get_global_id select
	convert_float vload4 as_float mad image2d_t sampler_t event_t read_only
	cl_khr_fp64 CLK_LOCAL_MEM_FENCE __kernel threadIdx blockDim warpSize dim3
	__shared__ __syncthreads __half __ldg CUdeviceptr CUstream cl_mem
	cl_command_queue stream queue quad uniform pipe'

# A third of the names each as inputs, definitions and axes, the first of them
# turned round by so many: in the quick tier each name is one of these.
operator() { # TURN NAME...
	printf '%s\n' "${@:2}" | awk -v turn="$1" '
	{ name[n++] = $0 }
	function at(role, k) { return name[(turn + role*third + k) % n] }
	END {
		split("f32 i32 f16 u8 const_f32 f64", type, " ")
		split("@;f32(@//3);@;f32(max(@, 3));-@;f32(@)", form, ";")
		third = int((n + 2)/3)
		printf "tunec: 1\nname: op_q\nparams: {N: 24}\ninputs:\n"
		for (k = 0; k < third; k++) {
			t = type[k % 6 + 1]
			sub("_", " ", t)
			printf "  %s: %s[N + 8]\n", at(0, k), t
		}
		printf "outputs: ["
		for (k = 0; k < third; k++)
			printf "%s%s", k ? ", " : "", at(1, k)
		printf "]\ncompute: |\n"
		for (k = 0; k < third; k++) {
			i = at(2, k % (n - 2*third)); r = at(2, (k + 1) % (n - 2*third))
			e = k ? form[k % 6 + 1] : "exp(@)"
			gsub("@", at(0, k) "[" i " + " r "]", e)
			printf "  %s[%s < N] = sum[%s < 5](%s)\n", at(1, k), i, r, e
		}
	}' >op.yaml
}

compilers=()
for cc in gcc clang-14; do
	command -v $cc >/dev/null && compilers+=("$cc")
done
strict='-Wall -Wextra -Werror -fopenmp'
compiles() { # FILE...: a compiler each in C11 and in what is usual
	local cc std=gnu11
	[ "${VARIANT:-}" != sanitize ] || return 0 # of cc it is nothing new
	for cc in "${compilers[@]}"; do
		# shellcheck disable=SC2086
		$cc -std=$std $strict -fsyntax-only "$@" || return 1
		std=c11
	done
}
computes() { # FILE...
	[ "${VARIANT:-}" != sanitize ] || return 0 # of cc it is nothing new
	# shellcheck disable=SC2086
	gcc -std=c11 -O0 $unclocked $strict "$@" -lm -o run && ./run
}
# Behind the headers that define the most names.
header='#include <math.h>\n#include <stdio.h>\n#include <errno.h>
#include <limits.h>\n#include <fcntl.h>\n#include <signal.h>\n#include <assert.h>\n'
includes() {
	[ "${VARIANT:-}" != sanitize ] || return 0 # of cc it is nothing new
	printf "$header#include <complex.h>\n#include \"op.h\"\n" >h.c
	printf "$header#include \"op.h\"\n" >h.cc
	compiles h.c && g++ -fsyntax-only -Wall -Wextra -Werror h.cc
}

b() { "$TUNEC" build -q op.yaml --db none.db "$@"; }
# shellcheck disable=SC2086
batch() { # NAME TURN NAME...
	local name=$1
	shift
	operator "$@"
	ok "$name-host" b -o op.c -o op.h --emit=main
	ok "$name-host-computes" computes op.c op_q_main.c
	command -v clang-14 >/dev/null && ok "$name-host-compiles" \
		clang-14 $strict -fsyntax-only op.c op_q_main.c
	ok "$name-header" includes
	ok "$name-c" b --target c -o op.c
	ok "$name-c-compiles" compiles op.c
	ok "$name-opencl" b --target 'opencl -device=gpu' -o op.cl -o op.c
	ok "$name-opencl-host-compiles" compiles op.c
	command -v clang-14 >/dev/null && ok "$name-opencl-compiles" clang-14 \
		-x cl -cl-std=CL2.0 -Xclang -finclude-default-header \
		-fsyntax-only -Wall -Wextra -Wno-unused-parameter -Werror op.cl
	ok "$name-cuda" b --target 'cuda -arch=sm_80' -o op.cu -o op.c
	ok "$name-cuda-host-compiles" compiles op.c
	[ "${TIER:-}" = long ] && command -v nvcc >/dev/null && ok "$name-cuda-compiles" \
		nvcc -arch=sm_80 -cubin -o /dev/null op.cu
}

# shellcheck disable=SC2206
all=($macros $library $own $device)
size=60
for ((from = 0; from < ${#all[@]}; from += size)); do
	some=("${all[@]:from:size}")
	for turned in 0 1 2; do
		its_turn 4 || continue
		batch "$from-$turned" $((turned * ((${#some[@]} + 2) / 3))) \
			"${some[@]}"
	done
done

# What is numbered behind such a name would be a macro, or a helper.
for name in X tunec; do
	printf 'tunec: 1\nname: op_q\ninputs: {%s: "f16[32]"}\ncompute: |
  y[i < 24] = sum[r < 5](%s[i + r])\n' $name $name >op.yaml
	ok "numbered-$name" timeout 20 "$TUNEC" build -q op.yaml --db none.db \
		-o op.c --emit=main --target 'llvm -mcpu=x86-64-v3 -threads=1'
	ok "numbered-$name-computes" computes op.c op_q_main.c
done

# All as params.
awk -v names="${all[*]}" 'BEGIN {
	n = split(names, name, " ")
	print "tunec: 1\nname: op_q\nparams:"
	for (k = 1; k <= n; k++)
		print "  " name[k] ": " 2 + k % 2
	print "inputs: {zin: \"f32[2]\"}\ncompute: |"
	printf "  zo[zi < 2] = zin[zi]"
	for (k = 1; k <= n; k++)
		printf " + %s", name[k]
	print ""
}' >op.yaml
ok params b -o op.c -o op.h --emit=main
ok params-compute computes op.c op_q_main.c
ok params-header includes

# Operators: refused where the name stands, or fine.
refuses() { # NAME CASE PLACE
	printf 'tunec: 1\nname: %s\ncompute: |\n  y[i < 9] = i\n%s' "$1" \
		"${2:+cases: {$2: {\}\}}" >n.yaml
	exits "operator-$1-$2" 1 "$TUNEC" check n.yaml
	ok "operator-$1-$2-where" has err "^n.yaml:$3: error: '$1${2:+_$2}' "
}
for name in linux unix M_PI EOF __LINE__ __x _X _mm512_loadu_ps _mm_mine f32x16 \
	LOAD_F32X16 TUNEC_FUNCTION tunec_x main expf memcpy I errno; do
	refuses $name '' 2:7
done
refuses M PI 5:9
refuses LOAD F32X16 5:9
for name in _conv kernel threadIdx FLOPS GEMM conv_f32x16 x; do
	printf 'tunec: 1\nname: %s\ninputs: {x: "const f32[64]"}\ncompute: |
  y[i < 64] = x[i]*x[63 - i]\n' $name >op.yaml
	ok "operator-$name" b -o op.c -o op.h --emit=main
	ok "operator-$name-computes" computes op.c "${name}_main.c"
done
ok operator-header includes
