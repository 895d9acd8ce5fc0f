#!/bin/bash
# check: every workload is accepted, C6 has its counts, and an operator's key
# depends neither on names nor on the order of independent definitions.
cd "$(dirname "$0")/../.." || exit 1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
say() { # name, condition's exit status
	if [ "$2" = 0 ]; then echo "ok $1"; else echo "not ok $1"; fi
}
for f in workloads/*.yaml; do
	"$TUNEC" check -q "$f" >/dev/null 2>&1
	say "accepts $f" $?
done
"$TUNEC" check --json workloads/conv2d.yaml:resnet18_c6 |
	grep -q '"flops": 231211008}.*"flops": 200704}.*"flops": 231411712'
say "counts C6" $?
printf 'tunec: 1\nname: one\ninputs: {x: "f32[4]"}\ncompute: |
  a[i < 4] = x[i] + 1
  b[i < 4] = x[i] * 2
  c[i < 4] = a[i] - b[i]\n' >"$tmp/one.yaml"
printf 'tunec: 1\nname: two\ninputs: {y: "f32[4]"}\ncompute: |
  q[k < 4] = y[k] * 2
  p[k < 4] = y[k] + 1
  r[k < 4] = p[k] - q[k]\n' >"$tmp/two.yaml"
key() { "$TUNEC" check --json "$1" | sed 's/.*"op": "\([0-9a-f]*\)".*/\1/'; }
one=$(key "$tmp/one.yaml")
[ ${#one} = 64 ] && [ "$one" = "$(key "$tmp/two.yaml")" ]
say "key without names and order" $?
