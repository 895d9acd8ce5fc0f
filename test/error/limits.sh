#!/bin/bash
# Texts that are made to hurt: each is refused at once, with the right message.
# Each has a second of a processor, however busy the machine is: the largest
# takes about 0.1 s, with sanitizers 0.4.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
refused() { # name, pattern; the text on standard input
	cat >"$tmp/$1.yaml"
	(ulimit -t 1; exec timeout 20 "$TUNEC" check "$tmp/$1.yaml") \
		>"$tmp/out" 2>&1
	rc=$?
	if [ $rc = 1 ] && grep -q "$2" "$tmp/out"; then
		echo "ok $1"
	else
		echo "not ok $1 exits $rc: $(head -c 200 "$tmp/out")"
	fi
}
many() { # text, times
	head -c "$2" /dev/zero | sed "s/\x00/$1/g"
}
head='tunec: 1\nname: op\n'
{ printf "$head"'compute: |\n  y[] = '; many '(' 200000; printf '1\n'; } |
	refused nested-parentheses ':4:265: error: nested deeper than 256'
{ printf "$head"'compute: |\n  y[] = '; many '-' 200000; printf '1\n'; } |
	refused nested-signs 'nested deeper than 256'
{ printf "$head"'compute: |\n  y[] = 1'; many '+1' 200000; printf '\n'; } |
	refused long-sum 'more than 2000 operands'
{ printf "$head"'compute: |\n  y['; many 'i < 1, ' 100000; printf 'j < 1] = 1\n'; } |
	refused many-axes ':4:7173: error: more than 1024 axes'
{
	printf "$head"'compute: |\n  y[i < 4] = sum[k < 2](sum['
	many 'k < 1, ' 1023
	printf 'j < 1](1))\n'
} | refused many-axes-of-sums 'error: more than 1024 axes'
{
	printf "$head"'compute: |\n  d0[i < 8] = 1.5\n'
	for i in $(seq 258); do
		printf '  d%d[i < 8] = exp(d%d[i])\n' $i $((i - 1))
	done
	printf 'schedule: |\n  t:\n'
	for i in $(seq 258 -1 1); do
		printf '    compute_at(d%d, d%d.i)\n' $((i - 1)) $i
	done
} >"$tmp/at.yaml"
"$TUNEC" build -q --schedule=t --target c --db "$tmp/none" -o "$tmp/at.c" \
	"$tmp/at.yaml" >"$tmp/out" 2>&1
[ $? = 1 ] && grep -q "more than 256 blocks are at one another's loops" \
	"$tmp/out" &&
	echo "ok blocks-at-blocks" || echo "not ok blocks-at-blocks"
{ printf "$head"'params: '; many '[' 500000; } |
	refused nested-lists "'params' holds a mapping"
{
	printf "$head"'a: &a [x, x]\n'
	for i in b c d e f g h; do
		printf '%s: &%s [*a, *a, *a, *a, *a, *a, *a, *a]\n' $i $i
	done
} | refused billion-laughs 'anchors are not allowed'
head -c 100000 /bin/sh | refused binary 'error: the byte 0x'
{ printf "$head"'# '; many 'x' 1048576; } |
	refused too-large 'larger than 1 MiB'
{
	printf "$head"'params:\n'
	for i in $(seq 1100); do printf '  p%d: 1\n' $i; done
	printf 'cases:\n'
	for i in $(seq 1000); do printf '  c%d: {p%d: 2}\n' $i $i; done
	printf 'compute: |\n  y[i < p1] = 1.5\n'
} | refused cases-of-params \
	'1000 cases of 1101 params and definitions, more than 1,000,000 in all'
e=k
for _ in $(seq 60); do e="(if 0 < $e < 4 then 1 else 2)"; done
printf "$head"'compute: |\n  y[k < 4] = %s\n' "$e" |
	refused shared-middles 'the comparisons are too many'
"$TUNEC" check "$tmp/no-such-file" >"$tmp/out" 2>&1
[ $? = 1 ] && grep -q 'No such file' "$tmp/out" &&
	echo "ok no-such-file" || echo "not ok no-such-file"
"$TUNEC" check "$tmp" >"$tmp/out" 2>&1
[ $? = 1 ] && grep -q 'Is a directory' "$tmp/out" &&
	echo "ok folder" || echo "not ok folder"
