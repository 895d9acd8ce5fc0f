#!/bin/bash
# docs/extending.md and docs/search.md: their changes, applied to a copy of the
# sources as they stand there, give a function, a rule, an intrinsic, a search and a
# model that work.
. "$(dirname "$0")/lib.sh"
if [ "${VARIANT:-}" = sanitize ]; then
	echo "what it builds is a variant of its own"
	exit 77
fi
for tool in git make cc; do
	command -v $tool >/dev/null || {
		echo "there is no $tool"
		exit 77
	}
done

mkdir tree && cd tree || exit 1
cp -r "$root"/{cmd,codegen,ir,lib,schedule,tuner,Makefile} .
mkdir test && cp -r "$root"/test/unit "$root"/test/common* test
awk '/^```diff/ {on = 1; next} /^```/ {on = 0} on' \
	"$root/docs/extending.md" "$root/docs/search.md" >../changes
[ "$(grep -c '^+++ ' ../changes)" = 11 ] || echo "not ok eleven files are changed"
ok changes-apply git apply ../changes
new=build/debug
ok builds make -s "-j$(nproc)" VARIANT=debug FLAGS_debug='-O0 -g0' $new/tunec $new/tunec-llvm.so \
	$new/test/unit/test_interp $new/test/unit/test_search
ok interpreter-has-function $new/test/unit/test_interp
ok search-passes-its-tests $new/test/unit/test_search
export TUNEC=$PWD/$new/tunec TUNEC_MODULES=$PWD/$new
cd ..

cat >elu.yaml <<'END'
tunec: 1
name: elu
params: {N: 1000}
inputs: {x: "f32[N]"}
compute: |
  y[i < N] = copysign(hypot(x[i], 1), if x[i] > 0 then x[i] else cbrt(x[i]))
END
cat >rows.yaml <<'END'
tunec: 1
name: rows
params: {M: 64, K: 1000}
inputs: {a: "f32[M, K]", x: "f32[K]"}
compute: |
  y[i < M] = sum[k < K](a[i, k]*x[k])
END
cat >words.yaml <<'END'
tunec: 1
name: words
params: {M: 24, N: 48, K: 64}
inputs: {a: "i32[M, K]", b: "const i32[K, N]"}
compute: |
  c[i < M, j < N] = sum[k < K](i64(a[i, k])*i64(b[k, j]))
END

target='llvm -mcpu=haswell -threads=1'
"$TUNEC" space -v rows.yaml --target "$target" >space
ok rule-is-in-space has space '^    prefetch(y, a, y_i0, ? in {1, 2, 4})$'
"$TUNEC" show -q --stage=schedule words.yaml --target "$target" >schedule
ok rule-tiles-for-intrinsic has schedule 'tensorize(c_kq, dot2_i32)$'
"$TUNEC" show -q --stage=lowered words.yaml --target "$target" >lowered
ok intrinsic-is-lowered has lowered ' = dot '

ok search-and-model-tune "$TUNEC" tune rows.yaml --search=descent --model=split \
	--measure=simulate --trials 30 --target "$target" --db descent.jsonl
ok search-is-recorded has descent.jsonl '"search":"descent"'

# What is built is compared with the plain loops, in C of their own.
"$TUNEC" target "$target" | grep -q '^runs here' || exit 0
for spec in elu rows words; do
	ok "builds-$spec" "$TUNEC" build -q --db none.db $spec.yaml \
		--target "$target" -o $spec.c -o $spec.h -o $spec.o --emit=main
	for from in c o; do
		ok "compiles-$spec-$from" cc -O1 -march=haswell $spec.$from \
			${spec}_main.c -lm -o $spec-$from
		ok "computes-$spec-$from" ./$spec-$from
	done
done
for function in copysign cbrt hypot; do
	ok "$function-is-libms" has elu.c "${function}f("
done
ok prefetch-is-emitted has rows.c '__builtin_prefetch('
ok intrinsic-is-emitted has words.c 'mul_epi32('
