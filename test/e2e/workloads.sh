#!/bin/bash
# Every case of every workload that its plain loop nest does in a moment: built
# without a record, right through LLVM and through C, compared by its driver; a third
# of them in the quick tier.
. "$(dirname "$0")/lib.sh"
most=9000000 # operations
[ "${TIER:-quick}" = long ] && most=3000000000

right() { # SPEC:CASE
	rm -f ./*.c ./*.o ./*.h
	"$TUNEC" build -q "$1" -o k.o --emit=c,h,main 2>err || return 1
	[ "${VARIANT:-}" = sanitize ] && return # of cc it is nothing new
	main=$(echo *_main.c)
	[ -f k.h ] && cc -O0 $unclocked -c "$main" -o main.o 2>err &&
		cc -o run_o main.o k.o -fopenmp -lm 2>err && ./run_o >err 2>&1 ||
		return 2
	cc -O1 -std=c11 -fopenmp -Wall -Wextra -Werror -c k.c -o k_c.o 2>err &&
		cc -o run_c main.o k_c.o -fopenmp -lm 2>err && ./run_c >err 2>&1 ||
		return 3
}
for spec in "$workloads"/*.yaml; do
	"$TUNEC" check --json "$spec" |
		sed 's/.*"case": *"\([^"]*\)".*"flops": *\([0-9]*\), "bytes".*/\1 \2/' |
		sed "s|^|$spec:|"
done |
	while read -r case flops; do
		[ "$flops" -le $most ] && its_turn 3 || continue
		name=$(basename "$case")
		if right "$case"; then
			echo "ok right-${name/.yaml/}"
		else
			echo "not ok right-${name/.yaml/}: $? $(tail -n 2 err)"
		fi
	done
