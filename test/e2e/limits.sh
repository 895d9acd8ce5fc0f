#!/bin/bash
# Specs that are as large, or grow as fast, as the language allows: each verb
# needs time in proportion, and less than a gigabyte.
. "$(dirname "$0")/lib.sh"
if [ "${VARIANT:-}" = sanitize ]; then
	echo "what ASan adds in time and memory is no bound of ours"
	exit 77
fi

many() { # count, printf format with numbers i, i-1, ...: a line for each
	awk -v n="$1" -v f="$2" 'BEGIN {
		parts = split(f, part, "@")
		for (k = 2; k <= parts; k++)
			if (part[k] ~ /^[12]/) {
				less[k] = substr(part[k], 1, 1) + 0
				part[k] = substr(part[k], 2)
			}
		for (i = 1; i <= n; i++) {
			s = "  " part[1]
			for (k = 2; k <= parts; k++)
				s = s (i > less[k] ? i - less[k] : 0) part[k]
			print s
		}
	}'
}
spec() { # definitions, count, extent: the first is d0, then those
	printf 'tunec: 1\nname: op\nparams: {N: %s}\n' "$3"
	printf "inputs:\n  x: 'f32[N]'\ncompute: |\n  d0[i < N] = x[i] + 1\n"
	many "$2" "$1"
}
bounded() { # seconds, command: under a gigabyte of addresses
	local seconds=$1
	shift
	within 1000000 timeout "$seconds" "$@" >/dev/null
}
verbs() { # name, spec, verbs: each at most 20 s
	local name=$1 file=$2 verb
	shift 2
	for verb; do
		case $verb in
		check | space) set -- "$verb" $file ;;
		build) set -- build $file -o out.c -o out.h ;;
		*) set -- show --stage="$verb" $file ;;
		esac
		[ $1 = check ] || set -- "$@" --target c
		[ $1 = check ] || [ $1 = space ] || set -- "$@" --db none.jsonl
		ok "$name-$verb" bounded 20 "$TUNEC" "$@"
	done
}
families="check space build" # which chooses a schedule, too

# What is read twice is copied twice: 2^24 times, were inlining not bounded.
spec 'd@[i < N] = d@1[i] * d@1[i]' 24 8 >double.yaml
spec 'd@[i < N] = d@1[i] + d@2[i]' 100 8 >fibonacci.yaml
spec 'd@[i < N] = if 1 <= i < N - 1 then d@1[i-1] + d@1[i] + d@1[i+1] else d@1[i]' \
	1000 8 >stencil.yaml
spec 'd@[i < N - 2*@] = d@1[i] + d@1[i+1] + d@1[i+2]' 24 64 >narrow.yaml
spec 'd@[i < N] = exp(d@1[i] + d@2[i])' 1000 8 >calls.yaml
spec 'd@[i < N] = sum[k < N](d@1[k]) + d@1[i]' 1000 8 >sums.yaml
for f in double fibonacci stencil narrow calls sums; do
	verbs $f $f.yaml $families
done
# What is beyond the schedules of a program has plain loops, which is said once.
spec 'd@[i < N] = d@1[i] + f32(argmax[k < N](d0[k]*(@ + i)))' 2900 8 >many.yaml
exits many-build 0 bounded 20 "$TUNEC" build many.yaml --target c \
	--db none.jsonl -o out.c
ok beyond-is-said has err 'groups are compiled as plain loops: more than 8192'
for i in $(seq 0 23); do echo "compute_inline(d$i)"; done >inline.tr
exits inline-trace 1 bounded 20 "$TUNEC" build double.yaml --target c \
	--trace inline.tr -o out.c
ok inline-trace-says has err 'inline.tr:[0-9]*:1: error: the body of a block that reads it would be too large'

# As many definitions as a chain of them can have in a file.
spec 'd@[i < N] = d@1[i] + 1' 10000 8 >chain1.yaml
spec 'd@[i < N] = d@1[i] + 1' 20000 8 >chain2.yaml
verbs chain chain2.yaml check ir space schedule lowered c space build
{
	spec 'd@[i < N] = x[i] + @' 15000 8
	awk 'BEGIN {
		for (g = 0; g < 15; g++) {
			printf "  s%d[i < N] = 0", g
			for (i = 1; i <= 1000; i++)
				printf " + d%d[i]", g * 1000 + i
			print ""
		}
		printf "  y[i < N] = 0"
		for (g = 0; g < 15; g++)
			printf " + s%d[i]", g
		print ""
	}'
} >wide.yaml
verbs wide wide.yaml check schedule build

# Tens of thousands of candidates, each with a plan of its own.
spec 'd@[i < N] = d@1[i] + d@2[i]' 32 8 >plans.yaml
ok plans-space bounded 60 "$TUNEC" space plans.yaml --target c

# As many cases.
cases() {
	printf 'tunec: 1\nname: op\nparams: {N: 8}\ninputs:\n'
	printf "  x: 'f32[N]'\ncases:\n"
	many "$1" 'c@: {N: 16}'
	printf 'compute: |\n  y[i < N] = x[i] + 1\n'
}
cases 15000 >cases1.yaml
cases 30000 >cases2.yaml
verbs cases cases2.yaml check ir space
ok case-by-name bounded 20 "$TUNEC" check cases2.yaml:c29999

# A chain of conditions is assumed again and again, each time one longer.
{
	spec 'd@[i < N] = d@1[i]' 1 8 | head -n 6
	awk 'BEGIN {
		printf "  y[i < N] = if 0 <= i"
		for (k = 0; k < 900; k++)
			printf " and -%d <= i + %d*(i//3) < 9999", k, k % 7
		print " then x[i] else 0"
	}'
} >conditions.yaml
verbs conditions conditions.yaml check schedule build

# Twice as much takes about twice the time.
seconds() { # command: user and system time, in hundredths
	local from
	from=$(awk '{print $16 + $17}' /proc/$$/stat)
	bounded 60 "$@" 2>/dev/null
	echo $(($(awk '{print $16 + $17}' /proc/$$/stat) - from))
}
linear() { # name, command with 1 for the half and 2 for the whole
	local name=$1 half whole
	shift
	half=$(seconds "${@//%/1}")
	whole=$(seconds "${@//%/2}")
	ok "linear-$name" [ "$whole" -le $((3 * half + 20)) ]
}
linear check "$TUNEC" check cases%.yaml
linear build "$TUNEC" build chain%.yaml --target c --db none.jsonl -o out.c

# And the kernel is right.
right() { # name, spec
	"$TUNEC" build $2 --target c --db none.jsonl -o k.c -o k.h --emit=main \
		2>err && cc -O1 -w k.c op_main.c -lm -o k && ./k >out
	ok "$1-right" has out 'op: ok'
	rm -f k k.c k.h op_main.c out
}
spec 'd@[i < N] = d@1[i] * d@1[i]' 6 8 >few.yaml
right double few.yaml
spec 'd@[i < N] = d@1[i] + 1' 300 8 >few.yaml
right chain few.yaml
spec 'd@[i < N] = d@1[i] + d@2[i]' 30 8 >few.yaml
right fibonacci few.yaml
right narrow narrow.yaml
spec 'd@[i < N] = sum[k < N](d@1[k]) + d@1[i]' 6 8 >few.yaml
right sums few.yaml
