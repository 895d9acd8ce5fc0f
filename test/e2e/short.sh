#!/bin/bash
# Emitted C is short: the lines and bytes of all cases of all workloads, functions
# only, are held to a budget for each of four targets, one in the quick tier; with
# -v what each workload takes.  Half of what it was before, and what kernels take
# that are others since: bf16, products of bytes, transposed convolutions.
. "$(dirname "$0")/lib.sh"
budgets() { # lines, bytes, target
	cat <<-'END'
	37500 2290000 llvm -mcpu=haswell -threads=2
	29800 1810000 llvm -mcpu=znver4 -threads=2
	7900 470000 llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1 -threads=2
	6100 228000 c
	END
}
functions() { # SPEC TARGET: those of all its cases
	"$TUNEC" check --json "$1" | sed 's/.*"case": *"\([^"]*\)".*/\1/' |
		while read -r case; do
			"$TUNEC" build -q "$1:$case" --db none --target "$2" \
				-o - --emit=c |
				sed -n '/^\(static \)\?TUNEC_FUNCTION /,$p'
		done
}
while read -r most_lines most_bytes target; do
	its_turn 4 || continue
	name=${target#*-mcpu=} name=${name% *} lines=0 bytes=0
	for spec in "$workloads"/*.yaml; do
		functions "$spec" "$target" >all.c
		l=$(wc -l <all.c) b=$(wc -c <all.c)
		[ "${1:-}" = -v ] && echo "$name $(basename "$spec" .yaml) $l $b"
		lines=$((lines + l)) bytes=$((bytes + b))
	done
	for what in lines bytes; do
		most=most_$what
		if [ "${!what}" -gt 0 ] && [ "${!what}" -le "${!most}" ]; then
			echo "ok short-$name-$what: ${!what} of ${!most}"
		else
			echo "not ok short-$name-$what: ${!what}, at most ${!most}"
		fi
	done
done < <(budgets)
