#!/bin/bash
# The operators of test/bench/cliffs are accepted, ResNet-18 by its script too,
# and each layer of it is there.
. "$(dirname "$0")/lib.sh"
bench=$root/test/bench/cliffs
for spec in "$bench"/*.yaml; do
	ok "accepts-$(basename "$spec" .yaml)" "$TUNEC" check "$spec"
done
ok net sh "$bench/resnet18.sh" net
cp said net.yaml
ok accepts-net "$TUNEC" check net.yaml
ok has-20-convolutions sh -c '[ "$(grep -c "^  c_.* = sum" net.yaml)" = 20 ]'
layers=$(sh "$bench/resnet18.sh" parts | awk '{n += $2} END {print n}')
ok has-22-layers [ "$layers" = 22 ]
for part in $(sh "$bench/resnet18.sh" parts | cut -d' ' -f1); do
	ok "accepts-${part##*/}" "$TUNEC" check "$root/$part"
done
exits live 0 sh "$bench/resnet18.sh" live
ok live-is-the-pool has out '^4014080$'
exits refuses-other-words 2 sh "$bench/resnet18.sh" nothing
