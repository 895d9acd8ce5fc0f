#!/bin/bash
# The operators of test/bench/families: each is accepted and has its reference,
# and built without a record it computes what the reference does.
. "$(dirname "$0")/lib.sh"
bench=$root/test/bench/families
driver=$root/$BUILD/test/bench/bench_families
one=$("$TUNEC" target --print)
one="${one% -threads=*} -threads=1"
# a header alone is another library's
flags=
printf '#include <cblas.h>\nint main(void) { return 0; }\n' >blas.c
gcc -o blas blas.c -lopenblas 2>/dev/null && flags='-DHAVE_CBLAS -lopenblas'
for c in "$bench"/*.c; do
	family=$(basename "$c" .c)
	# shellcheck disable=SC2086
	if [ "$TIER" = long ]; then
		ok "compiles-$family" gcc -std=gnu11 -O3 -march=native \
			-ffast-math -Wall -Wextra -Werror -fPIC -shared \
			-o $family.so "$c" $flags -lm
	else
		ok "compiles-$family" gcc -std=gnu11 -fsyntax-only -Wall \
			-Wextra -Werror "$c" $flags
	fi
	for spec in "$bench/$family"/*.yaml; do
		name=$(basename "$spec" .yaml)
		ok "accepts-$name" "$TUNEC" check "$spec"
		ok "reference-$name" grep -q "^void $name(" "$c"
		[ "$TIER" = long ] || continue
		ok "builds-$name" "$TUNEC" build -q "$spec" --target "$one" \
			--db none.db -o kernel.so -o kernel.h
		"$driver" -b 1 "$spec" reference=./$family.so \
			untuned=./kernel.so >said 2>&1
		case $? in
		0 | 3) echo "ok equal-$name" ;;
		*) echo "not ok equal-$name: $(tail -n 1 said)" ;;
		esac
	done
done
