#!/bin/bash
# What the emitted C keeps in registers stays there: gcc and clang put about as
# many vectors on the stack as LLVM's object does, whatever else they could carry
# from one iteration or piece of a loop to the next.
. "$(dirname "$0")/lib.sh"

# stack FILE: instructions that take a vector from the stack, or put one there
stack() {
	objdump -d --no-show-raw-insn "$1" | grep -c '[xyz]mm.*(%r[sb]p\|(%r[sb]p.*[xyz]mm'
}

# few SPEC MOST CPU: at most that many more than the object's
few() {
	local cc name=${1##*:} own
	ok "builds-$name" "$TUNEC" build -q "$root/workloads/$1" \
		--target "llvm -mcpu=$3 -threads=1" -o k.o -o k.c
	own=$(stack k.o)
	for cc in gcc clang-14; do
		command -v $cc >/dev/null || continue
		$cc -O2 -c k.c -o c.o
		ok "few-$name-$cc" test "$(stack c.o)" -le $((own + $2))
	done
}

[ "$(uname -m)" = x86_64 ] && command -v objdump gcc >/dev/null || {
	echo 'skip: not x86-64, or no objdump or gcc'
	exit 77
}
few conv2d.yaml:resnet18_c9 60 znver4 # three pieces read the same
few conv2d.yaml:resnet18_c2 150 znver4 # the next iteration reads the same
few batch_matmul.yaml:gmm_512x32 4 x86-64-v3 # rows have pointers, not indices
few conv2d.yaml:resnet18_c12 12 x86-64-v3 # sums under two `if`
few conv2d.yaml:resnet18_c3 20 x86-64-v3 # all registers are in use
