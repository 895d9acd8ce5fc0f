#!/bin/bash
# docs/extending.md and docs/search.md: their changes, applied to a copy of the
# sources as they stand there, give functions, rules, a rewrite, an intrinsic, a
# target, a search and a model that work.
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
[ "$(grep -c '^+++ ' ../changes)" = 18 ] || echo "not ok eighteen files are changed"
# What is added most often: few lines, and one folder beside its tests.
few() { # lines added, folders
	echo "$1 lines in $2"
	[ "$1" -gt 0 ] && [ "$1" -lt 100 ] && [ "$(wc -w <<<"$2")" = 1 ]
}
while IFS=: read -r name heading; do
	awk -v heading="## $heading" '/^## / {here = $0 == heading}
		/^```/ {on = here && /diff/; next} on' \
		"$root/docs/extending.md" >../change
	ok "$name-is-few-lines" few "$(grep -c '^+\($\|[^+]\)' ../change)" \
		"$(sed -n 's,^+++ b/\(.*\)/[^/]*$,\1,p' ../change |
			grep -v '^test\>' | sort -u | tr '\n' ' ')"
done <<'END'
function:A function of the language
rule:A rule
taking-rule:A rule that takes blocks
rewrite:A rewrite
target:A target
END
ok changes-apply git apply ../changes
new=build/debug
ok builds make -s "-j$(nproc)" VARIANT=debug FLAGS_debug='-O0 -g0' $new/tunec $new/tunec-llvm.so \
	$new/test/unit/test_{interp,search,primitives,target}
ok interpreter-has-function $new/test/unit/test_interp
ok search-passes-its-tests $new/test/unit/test_search
ok rewrite-passes-its-tests $new/test/unit/test_primitives
export TUNEC=$PWD/$new/tunec TUNEC_MODULES=$PWD/$new
CMOCKA_MESSAGE_OUTPUT=TAP $new/test/unit/test_target >../tables 2>&1
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
cat >total.yaml <<'END'
tunec: 1
name: total
params: {K: 1000}
inputs: {x: "f32[K]", w: "f32[K]"}
compute: |
  y[] = sum[k < K](x[k]*w[k])
END
cat >back.yaml <<'END'
tunec: 1
name: back
params: {M: 48, K: 1000}
inputs: {a: "f32[M, K]", x: "f32[K]"}
compute: |
  y[i < M] = sum[k < K](a[i, k]*x[k])
END
sed -n '/^    schedule: |$/,/^$/s/^    //p' "$root/docs/extending.md" >>back.yaml
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
sed -n '/tunec space -v total/,/^$/s/^    //p' "$root/docs/extending.md" |
	sed 1d >shown
"$TUNEC" space -v total.yaml --target "$target" >space
ok rule-takes-its-block diff shown space
"$TUNEC" space -v total.yaml --numerics=exact --target "$target" >space
ok rule-leaves-the-others lacks space vectorize
echo 'reverse(y.k)' >back.trace
"$TUNEC" show -q --stage=schedule back.yaml --trace back.trace --target "$target" \
	>schedule
ok rewrite-applies has schedule '^# .* += a\[i, 999 - k\] \* x\[999 - k\]'
exits rewrite-is-refused 1 "$TUNEC" build -q back.yaml --trace back.trace \
	--numerics=exact --target "$target" -o back.c
ok rewrite-says-why has err 'exact numerics keep the order'
"$TUNEC" show -q --stage=schedule words.yaml --target "$target" >schedule
ok rule-tiles-for-intrinsic has schedule 'tensorize(c_kq, dot2_i32)$'
"$TUNEC" show -q --stage=lowered words.yaml --target "$target" >lowered
ok intrinsic-is-lowered has lowered ' = dot '

ok search-and-model-tune "$TUNEC" tune rows.yaml --search=descent --model=split \
	--measure=simulate --trials 30 --target "$target" --db descent.jsonl
ok search-is-recorded has descent.jsonl '"search":"descent"'

# Features as LLVM has them; a CPU of the table is known without it.
named='llvm -mcpu=arrowlake -threads=1'
ok target-is-as-llvm-has-it has tables '^ok [0-9]* - test_tables'
"$TUNEC" target --row "$named" >row
ok target-costs-what-its-family-does has row 'family alderlake'
ok target-is-known env TUNEC_MODULES=none "$TUNEC" build -q --db none.db rows.yaml \
	--target "$named" -o named.c
ok target-is-built-for "$TUNEC" build -q --db none.db rows.yaml --target "$named" \
	-o named.o -o named.s
ok target-has-its-vectors has named.s ymm

# What is built is compared with the plain loops, in C of their own.
"$TUNEC" target "$target" | grep -q '^runs here' || exit 0
ok rewrite-is-measured "$TUNEC" tune -q back.yaml --schedule=backwards --trials 2 \
	--target "$target" --db back.jsonl
ok rewrite-is-recorded has back.jsonl '"step":"reverse"'
ok rewrite-replays "$TUNEC" replay back.yaml --db back.jsonl --require-run
"$TUNEC" show -q --stage=schedule back.yaml --target "$target" --db back.jsonl >schedule
ok rewrite-is-the-best has schedule '^reverse(y.k)$'
for spec in elu rows words total back; do
	ok "builds-$spec" "$TUNEC" build -q --db back.jsonl $spec.yaml \
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
