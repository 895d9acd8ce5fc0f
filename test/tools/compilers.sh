#!/bin/bash
# PTX by LLVM and by NVRTC, of every workload: what ptxas makes of each.
#     test/tools/compilers.sh [ARCH] [SPEC...]
# A line for each launch: registers, bytes spilled, instructions, those of the
# loop with most arithmetic and how much of it is arithmetic; totals at the end.
# Needs ptxas, NVRTC and, for instructions, nvdisasm.
set -u
arch=${1:-sm_90}
shift
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD:-$root/build}
export TUNEC_MODULES=$build LC_ALL=C
specs=("$@")
[ $# -gt 0 ] || specs=("$root"/workloads/*.yaml)
tool() { # NAME: its path
	command -v "$1" || ls "$build/venv/bin/$1" \
		"$build"/venv/lib/python*/site-packages/nvidia/*/bin/"$1" \
		2>/dev/null | head -n 1
}
ptxas=$(tool ptxas) nvdisasm=$(tool nvdisasm)
[ -n "$ptxas" ] || { echo "ptxas is missing" >&2; exit 1; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# Of disassembly: instructions of each kernel, and of the innermost loop (from a
# label to a branch back to it) that has most multiply-adds.
loops() {
	awk '
	function close_kernel() {
		if (kernel != "")
			print kernel, n, loop_n + 0, loop_math + 0
	}
	/^\.text\./ {
		close_kernel()
		kernel = $1
		sub(/^\.text\./, "", kernel)
		sub(/:$/, "", kernel)
		n = math = loop_n = loop_math = 0
		delete at; delete math_at
	}
	/^\.L_x_[0-9]+:/ { sub(/:/, "", $1); at[$1] = n; math_at[$1] = math }
	/^ +\/\*[0-9a-f]+\*\// {
		n++
		if ($0 ~ / (FFMA|DFMA|HFMA2|IMAD|HMMA|IMMA|IDP|FMNMX|FADD|FMUL)/)
			math++
		if ($0 ~ / BRA/ && match($0, /\.L_x_[0-9]+/)) {
			label = substr($0, RSTART, RLENGTH)
			if (label in at && math - math_at[label] > loop_math) {
				loop_math = math - math_at[label]
				loop_n = n - at[label]
			}
		}
	}
	END { close_kernel() }'
}

# KERNEL registers spilled instructions loop arithmetic
measure() { # COMPILER
	mkdir "$tmp/$1"
	for spec in "${specs[@]}"; do
		(cd "$tmp/$1" && "$build/tunec" build -q "$spec" --emit=ptx \
			--target "cuda -arch=$arch -compiler=$1" --db none) ||
			echo "$spec by $1: failed" >&2
	done
	for f in "$tmp/$1"/*.ptx; do
		"$ptxas" -arch="$arch" -v "$f" -o "$tmp/k.cubin" 2>&1 |
			awk '/Compiling entry/ { split($0, q, "\047"); k = q[2] }
			/spill stores/ { spilled = $5 + $9 }
			/Used/ { match($0, /Used [0-9]+/)
				print k, substr($0, RSTART + 5, RLENGTH - 5), spilled }' |
			sort >"$tmp/said"
		if [ -n "$nvdisasm" ]; then
			"$nvdisasm" -c "$tmp/k.cubin" | loops | sort >"$tmp/sass"
		else
			awk '{ print $1, 0, 0, 0 }' "$tmp/said" >"$tmp/sass"
		fi
		join "$tmp/said" "$tmp/sass"
	done | sort >"$tmp/$1.txt"
}

measure llvm
measure nvrtc
printf '%-40s %22s   %22s\n' "$arch" 'LLVM' 'NVRTC'
printf '%-40s %s   %s\n' 'launch' 'regs spill instr  loop' 'regs spill instr  loop'
join "$tmp/llvm.txt" "$tmp/nvrtc.txt" | awk '
function side(i) {
	return sprintf("%4d %5d %5d %5d", $i, $(i + 1), $(i + 2), $(i + 3))
}
{
	printf "%-40s %s   %s\n", $1, side(2), side(7)
	for (i = 2; i <= 11; i++)
		sum[i] += $i
	fewer += $2 < $7; more += $2 > $7
}
END {
	printf "%-40s %4d %5d %5d %5d   %4d %5d %5d %5d\n", NR " launches",
		sum[2], sum[3], sum[4], sum[5], sum[7], sum[8], sum[9], sum[10]
	printf "registers: LLVM has fewer in %d, NVRTC in %d\n", fewer, more
}'
