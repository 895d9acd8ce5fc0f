#!/bin/bash
# show --stage=ir against the text beside each spec of test/golden/ir and of a
# few workloads; BLESS=1 renews them.
cd "$(dirname "$0")/../.." || exit 1
tmp=$(mktemp)
trap 'rm -f "$tmp"' EXIT
for f in test/golden/ir/*.yaml workloads/{conv2d,softmax,matmul_u8i8}.yaml; do
	name=$(basename "$f" .yaml)
	want=test/golden/ir/$name.txt
	case $name in
	conv2d) spec=$f:resnet18_c6 ;;
	*) spec=$f: ;;
	esac
	"$TUNEC" show --stage=ir "$spec" >"$tmp" 2>&1 || echo "exit $?" >>"$tmp"
	[ -n "${BLESS:-}" ] && cp "$tmp" "$want"
	if diff -u "$want" "$tmp"; then
		echo "ok show ir $name"
	else
		echo "not ok show ir $name"
	fi
done
