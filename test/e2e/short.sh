#!/bin/bash
# Emitted C is short: the lines and bytes of all cases of all workloads, for four
# targets, functions only, are held to a budget; with -v what each workload takes.
# Half of what it was before, 181128 lines and 11224210 bytes, and what kernels
# take that are others since: bf16, products of bytes, transposed convolutions.
# With sanitizers one target: the lines are the same.
. "$(dirname "$0")/lib.sh"
most_lines=93200 most_bytes=5690000
targets=('llvm -mcpu=znver4 -threads=2' 'llvm -mcpu=haswell -threads=2'
	'llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1 -threads=2' c)
[ "${VARIANT:-release}" = release ] || targets=(c)
lines=0 bytes=0
for spec in "$workloads"/*.yaml; do
	for target in "${targets[@]}"; do
		"$TUNEC" check --json "$spec" |
			sed 's/.*"case": *"\([^"]*\)".*/\1/' |
			while read -r case; do
				"$TUNEC" build -q "$spec:$case" --db none \
					--target "$target" -o - --emit=c |
					sed -n '/^\(static \)\?TUNEC_FUNCTION /,$p'
			done
	done >all.c
	l=$(wc -l <all.c) b=$(wc -c <all.c)
	[ "${1:-}" = -v ] && echo "$(basename "$spec" .yaml) $l $b"
	lines=$((lines + l)) bytes=$((bytes + b))
done
for what in lines bytes; do
	most=most_$what
	if [ "${!what}" -gt 0 ] && [ "${!what}" -le "${!most}" ]; then
		echo "ok short-$what: ${!what} of ${!most}"
	else
		echo "not ok short-$what: ${!what}, at most ${!most}"
	fi
done
