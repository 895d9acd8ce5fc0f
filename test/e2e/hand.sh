#!/bin/bash
# The matrix product by hand (test/bench/matmul_hand.trace) at 127x131x257, by
# each style of tail, through LLVM and through C: its driver compares it with the
# plain loop nest.
. "$(dirname "$0")/lib.sh"
trace=$root/test/bench/matmul_hand.trace
cp "$workloads/matmul.yaml" .
host=$("$TUNEC" target --print)
for target in "${host% -threads=*} -threads=1" \
	'llvm -mcpu=x86-64-v3 -threads=1'; do
	"$TUNEC" target "$target" | grep -qi 'runs here' || continue
	for style in pad mask peel guard; do
		name=$style-$(echo "$target" | sed 's/.*-mcpu=\([^ ]*\).*/\1/')
		sed "s/^tail(cw, pad)/tail(cw, $style)/" "$trace" >$style.trace
		ok "builds-$name" "$TUNEC" build matmul.yaml:odd --trace \
			$style.trace --target "$target" -o k.o --emit=c,h,main
		cp k_main.c matmul_odd_main.c 2>/dev/null
		cc -O1 $unclocked -c matmul_odd_main.c -o main.o 2>/dev/null
		ok "links-o-$name" cc -o run_o main.o k.o -fopenmp -lm
		ok "right-o-$name" ./run_o
		for cc in gcc clang-14; do
			command -v $cc >/dev/null || continue
			ok "compiles-$cc-$name" $cc -O2 -std=c11 -fopenmp -Wall \
				-Wextra -Werror -c k.c -o k_c.o
			ok "links-$cc-$name" cc -o run_c main.o k_c.o -fopenmp -lm
			ok "right-$cc-$name" ./run_c
		done
	done
done
