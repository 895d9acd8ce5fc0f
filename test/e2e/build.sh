#!/bin/bash
# tunec build: kinds, contents, refusals, all or none.
. "$(dirname "$0")/lib.sh"

cat >mm.yaml <<'YAML'
tunec: 1
name: mm
params: {M: 5, N: 17, K: 9}
inputs:
  a: 'f32[M, K]'
  b: 'const f32[K, N]'
compute: |
  c[i < M, j < N] = max(sum[k < K](a[i, k] * b[k, j]), 0)
cases:
  big: {M: 31, N: 49}
  small: {K: 1}
schedule: |
  plain:
    parallel(c.i)
YAML
cat >types.yaml <<'YAML'
tunec: 1
name: types
inputs:
  h: 'f16[20]'
  q: 'const u8[20]'
  m: 'bool[20]'
  s: 'f64[]'
compute: |
  half[i < 20] = f16(h[i] * 2 + 1)
  count[i < 20] = if m[i] then i32(q[i]) * 3 - 7 else i32(h[i] * 100) // 3
  total[] = sum[i < 20](f64(half[i]) * s[])
outputs: [half, count, total]
YAML
b() { "$TUNEC" build "$@"; }

# --- kinds
exits all-kinds 0 b mm.yaml:big -o k.c -o k.h -o k.o -o k.ll -o k.bc -o k.s -o k.so
ok one-warning-line [ "$(wc -l <err)" = 1 ]
ok says-default has err 'default schedule'
for k in c h o ll bc s so; do
	ok "writes-$k" test -s k.$k
done
exits fast 0 b -v --numerics=fast mm.yaml:big -o fast.c
ok fast-says-same has err "no convolution that Winograd's algorithm fits"
exits quiet 0 b -q mm.yaml:big -o k.c
ok quiet-says-nothing test ! -s err
ok library-has-symbols sh -c \
	'nm -D k.so | grep -q mm_big_pack_b && nm k.o | grep -q "T mm_big$"'
ok c-has-pack has k.c 'void mm_big_pack_b(const float \*b, void \*packed)'
ok header-signature has k.h \
	'^void mm_big(const float \*a, const void \*b, float \*c, void \*workspace);'
ok header-pack has k.h \
	'^void mm_big_pack_b(const float \*b, void \*packed);'
ok header-sizes sh -c \
	'grep -Eq "^#define MM_BIG_PACKED_B_BYTES [0-9]+$" k.h &&
	grep -Eq "^#define MM_BIG_WORKSPACE_BYTES [0-9]+$" k.h'
ok header-comment sh -c 'grep -q mm:big k.h && grep -q "target: llvm" k.h &&
	grep -q "record: none" k.h'
printf '#include "k.h"\n#include "k.h"\nint main() { return MM_BIG_WORKSPACE_BYTES < 0; }\n' >h.cc
cxx=c++
command -v c++ >/dev/null || cxx="clang-14 -x c++" # is installed without
ok header-in-c++ $cxx -Wall -Wextra -Werror -pedantic -c h.cc -o h.o
cp h.cc h.c
ok header-in-c cc -Wall -Wextra -Werror -pedantic -c h.c -o h.o

# --- right, through C and LLVM, by gcc and clang
for spec in mm.yaml:big mm.yaml:small mm.yaml: types.yaml; do
	name=$(echo $spec | tr -d .: | sed 's/yaml//')
	rm -f ./*_main.c
	exits "driver-$name" 0 b -q $spec -o r.c -o r.o --emit=main
	for cc in 'gcc -O2 -std=c11 -fopenmp' 'clang-14 -O1' \
		'gcc -O1 -fsanitize=address,undefined -fno-sanitize-recover=all'; do
		command -v ${cc%% *} >/dev/null || continue
		ok "c-right-$name-${cc%% *}" sh -c \
			"$cc -Wall -Wextra -Werror r.c *_main.c -lm -o r && ./r"
	done
	ok "o-right-$name" sh -c 'gcc r.o *_main.c -lm -fopenmp -o r && ./r'
	exits "c-target-$name" 0 b -q --target=c $spec -o p.c --emit=main
	ok "plain-$name" sh -c \
		'gcc -std=c11 -pedantic -Wall -Wextra -Werror p.c *_main.c -lm -o r && ./r'
	ok "plain-has-no-vectors-$name" lacks p.c 'vector_size\|immintrin'
done
b -q mm.yaml:big -o w.c --emit=main
sed 's/0\.0f/0.5f/' w.c >w2.c
sed 's/\(mm_big\)(const float \*a, const void \*b, float \*c, void \*workspace)$/\1(const float *a, const void *b, float *c, void *workspace) { (void)a; (void)b; (void)c; (void)workspace; } void unused_\1(const float *a, const void *b, float *c, void *workspace)/' w.c >w3.c
exits driver-finds-wrong 1 sh -c 'gcc w3.c mm_big_main.c -lm -o r && ./r'

# --- the same bytes
mkdir -p deep/er && cp mm.yaml deep/er
b -q mm.yaml:big -o one.c -o one.o -o one.h -o one.so -o one.ll
(cd deep/er && LC_ALL=C.UTF-8 TZ=Asia/Tokyo "$TUNEC" build -q mm.yaml:big \
	-o zwei.c -o zwei.o -o zwei.h -o zwei.so -o zwei.ll)
for k in c o h so ll; do
	ok "same-bytes-$k" cmp one.$k deep/er/zwei.$k
done
touch -d 2001-01-01 one.c
b -q mm.yaml:big -o one.c
ok untouched-if-equal [ "$(date -r one.c +%Y)" = 2001 ]

# --- several cases in one
exits several-cases 0 b -q mm.yaml types.yaml -o all.c -o all.o -o all.h
ok several-symbols sh -c 'nm all.o | grep -q "T mm_big$" &&
	nm all.o | grep -q "T mm_small$" && nm all.o | grep -q "T types$"'
ok several-compile gcc -O1 -Wall -Wextra -Werror -c all.c -o all2.o
b -q mm.yaml:big -o m1.c && b -q mm.yaml:small -o m2.c
ok link-together sh -c 'gcc -O1 -shared -fPIC m1.c m2.c -lm -o m.so'

# --- names that meet
cat >names.yaml <<'YAML'
tunec: 1
name: names
inputs:
  packed: 'const f32[4]'
  EOF: 'f32[4]'
  EOF_: 'f32[4]'
  uint16_t: 'f16[4]'
  UINT8_MAX: 'f32[4]'
  __FILE__: 'f32[4]'
compute: |
  int64_t[i < 4] = i64(packed[i] + EOF[i] * EOF_[i])
  c[i < 4] = f16(UINT8_MAX[i] + __FILE__[i]) + uint16_t[i]
outputs: [int64_t, c]
YAML
exits names 0 b -q names.yaml -o names.c -o names.h --emit=main
ok names-compile sh -c 'gcc -Wall -Wextra -Werror names.c names_main.c -lm -o r && ./r'
printf '#include <stdio.h>\n#include "names.h"\nint main() { return 0; }\n' >names2.cc
ok names-header-in-c++ $cxx -Wall -Wextra -Werror -pedantic -c names2.cc -o h.o
ok names-stay has names.h 'const float \*packed_, void \*packed'
for name in MM_BIG mm_big_pack_b; do
	sed "s/^name: mm/name: $name/" mm.yaml >meets.yaml
	exits meets-$name 1 b -q mm.yaml:big meets.yaml: -o meets.c -o meets.h
	ok meets-$name-is-said has err $name
	ok meets-$name-writes-nothing absent meets.h
done

# --- places
exits emit-list 0 b -q mm.yaml:big -o deep/x.o --emit=c,h,main
ok emit-beside sh -c 'test -s deep/x.c && test -s deep/x.h && test -s deep/mm_big_main.c'
(mkdir here && cd here && "$TUNEC" build -q ../mm.yaml:big --emit=c,main)
ok emit-here sh -c 'test -s here/mm_big.c && test -s here/mm_big_main.c'
(mkdir each && cd each && "$TUNEC" build -q ../mm.yaml ../types.yaml --emit=c,h,o)
ok emit-each-under-its-symbol [ "$(cd each && ls | paste -sd' ')" = \
	"mm_big.c mm_big.h mm_big.o mm_small.c mm_small.h mm_small.o types.c types.h types.o" ]
ok emit-each-is-its-own cmp each/mm_big.o one.o
ok emit-each-links sh -c 'gcc -shared each/*.o -lm -fopenmp -o each.so'
exits emit-of-nothing 2 b -q mm.yaml:big --emit=
b -q mm.yaml:big -o - --emit=c >std.c
ok standard-output cmp std.c one.c
"$TUNEC" build -q -o - --emit=c - <mm.yaml >std.c
ok standard-input has std.c 'mm_small'

# --- dependencies
exits depend 0 b -q mm.yaml:big -o dep.c -o dep.o -MD
ok depend-rule has dep.o.d '^dep.o: mm.yaml$'
touch log.jsonl
exits depend-file 0 b -q mm.yaml:big --db log.jsonl -o dep.c -o dep.o -MF all.d
ok depend-all sh -c 'grep -q "^dep.c: mm.yaml log.jsonl$" all.d &&
	grep -q "^dep.o: mm.yaml log.jsonl$" all.d'

# --- schedules
exits schedule 0 b mm.yaml:big --schedule plain -o s.c
ok schedule-no-warning test ! -s err
printf 'parallel(c.i)\n' >t.txt
exits trace 0 b mm.yaml:big --trace t.txt -o s2.c
exits trace-missing 1 b mm.yaml --trace none.txt -o t1.c
printf 'parallel(c.zz)\n' >bad.txt
exits trace-bad 1 b mm.yaml --trace bad.txt -o t1.c
exits schedule-unknown 1 b mm.yaml --schedule nope -o t1.c
ok schedule-names has err 'plain'
ok nothing-written absent t1.c
exits threads-none 0 b -q mm.yaml --threads=none \
	--target='llvm -mcpu=haswell -threads=2' -o nt.c
ok threads-none-no-openmp lacks nt.c 'omp '
for spec in mm.yaml:big types.yaml; do
	exits "avx512-added-$spec" 0 b -q $spec -o v.o \
		--target='llvm -mcpu=haswell -mattr=+avx512f -threads=2'
done
exits exact 0 b -q mm.yaml:big --numerics=exact -o e.c
ok exact-no-contraction has e.c 'fp-contract=off'
ok exact-no-fma lacks e.c 'FMA_'
exits define 0 b -q mm.yaml:big -D K=3 -o d.h
ok define-keeps-symbol has d.h 'mm_big(const float'

# --- records
op=$("$TUNEC" check --json mm.yaml:big |
	sed -n 's/.*"op": *"\([0-9a-f]*\)".*/\1/p')
host=$("$TUNEC" target --print)
other='llvm -mtriple=x86_64-pc-linux-gnu -mcpu=haswell -mattr= -threads=1'
third='llvm -mtriple=x86_64-pc-linux-gnu -mcpu=x86-64 -mattr= -threads=1'
record() { # id, target, seconds
	printf '{"tunec":1,"kind":"trial","at":"2026-01-01T00:00:00.000Z",'
	printf '"id":"%s","op":"%s","op_text":"","name":"mm","case":"big",' \
		"$1" "$op"
	printf '"target":"%s","trace":[{"step":"parallel","args":["d0.a0"]}],' "$2"
	printf '"outcome":"ok","error":null,"time_s":%s,"spread_s":0,' "$3"
	printf '"runs_s":[%s],"regime":{"cache":"warm","threads":1,' "$3"
	printf '"pinning":"none"},"round":"search","verified":null,'
	printf '"machine":null,"by":null}\n'
}
record 00000000000000aa "$host" 0.002 >a.jsonl
record 00000000000000bb "$host" 0.001 >b.jsonl
record 00000000000000cc "$other" 0.001 >c.jsonl
record 00000000000000dd "$third" 0.001 >d.jsonl
exits record 0 b --frozen mm.yaml:big --db a.jsonl -o rec.h
ok record-says-nothing test ! -s err
ok record-in-header sh -c 'grep -q 00000000000000aa rec.h &&
	grep -q "measured: 2 ms" rec.h'
exits layers 0 b mm.yaml:big --db none.jsonl --db a.jsonl --db b.jsonl -o rec.h
ok first-layer-counts has rec.h 00000000000000aa
ok reading-creates-nothing sh -c '[ ! -e none.jsonl ] && [ ! -e tunec.db ]'
exits environment-db 0 env TUNEC_DB=b.jsonl "$TUNEC" build mm.yaml:big -o rec.h
ok environment-db-is-read has rec.h 00000000000000bb
exits only-target 0 b mm.yaml:big --db c.jsonl -o rec.h
ok only-target-is-taken has rec.h 'mcpu=haswell'
ok only-target-is-said [ "$(wc -l <err)" = 1 ]
exits host-first 0 b mm.yaml:big --db c.jsonl --db a.jsonl -o rec.h
ok host-first-is-taken has rec.h 00000000000000aa
exits several-targets 3 b mm.yaml:big --db c.jsonl --db d.jsonl -o ns.h
ok several-targets-are-listed sh -c \
	'grep -q haswell err && grep -q mcpu=x86-64 err && [ ! -e ns.h ]'
exits target-option 0 b mm.yaml:big --target "$third" --db c.jsonl \
	--db d.jsonl -o rec.h
ok target-option-is-taken has rec.h 00000000000000dd
exits target-environment 0 env TUNEC_TARGET="$other" "$TUNEC" build \
	mm.yaml:big --db c.jsonl --db d.jsonl -o rec.h
ok target-environment-is-taken has rec.h 00000000000000cc
exits frozen-other-target 3 b --frozen mm.yaml:big --target "$third" \
	--db c.jsonl -o nf.h
exits trace-of-a-record 0 b -q mm.yaml:big --trace a.jsonl -o ta.c
exits trace-as-text 0 b -q mm.yaml:big --trace t.txt -o tt.c
ok traces-agree sh -c 'grep -v "^ \*" ta.c >ta && grep -v "^ \*" tt.c >tt &&
	cmp ta tt'
echo 'no line' >>a.jsonl
exits damaged-line 0 b mm.yaml:big --db a.jsonl -o rec.h
ok damaged-line-is-said has err 'a.jsonl'
head -c 3000 /dev/urandom >junk.db
exits no-store 1 b mm.yaml:big --db junk.db -o nj.h
ok no-store-writes-nothing absent nj.h

# --- refusals: the code, and nothing written
exits frozen 3 b --frozen mm.yaml -o n.c
exits no-output 2 b mm.yaml
exits unknown-suffix 2 b mm.yaml -o n.xyz
exits no-suffix 2 b mm.yaml -o n
exits unknown-emit 2 b mm.yaml -o n.c --emit=pdf
exits stdout-without-emit 2 b mm.yaml -o -
exits unknown-option 2 b mm.yaml -o n.c --frobnicate
exits bad-threads 2 b mm.yaml -o n.c --threads=3
exits both-traces 2 b mm.yaml -o n.c --trace t.txt --schedule plain
exits bad-target 2 b mm.yaml -o n.c --target 'llvm -foo=1'
exits bad-numerics 2 b mm.yaml -o n.c --numerics=sloppy
exits no-spec 2 b -o n.c
exits no-ptx-of-a-cpu 1 b mm.yaml -o n.c -o n.ptx
ok says-what-has-ptx has err "take 'cuda -arch=sm_90'"
for k in cu cl cubin; do
	exits "no-$k-of-a-cpu" 1 b mm.yaml -o n.c -o n.$k
	ok "says-what-has-$k" has err "gives no .$k; take '"
done
exits missing-file 1 b none.yaml -o n.c
exits missing-case 1 b mm.yaml:huge -o n.c
ok names-cases has err 'small'
exits c-target-object 1 b -q mm.yaml --target=c -o n.c -o n.o
exits no-llvm 1 env TUNEC_MODULES=/nonexistent "$TUNEC" build -q mm.yaml \
	-o n.c -o n.o
ok names-module has err 'tunec-llvm.so'
exits no-linker 1 env CC=/nonexistent/cc "$TUNEC" build -q mm.yaml \
	-o n.c -o n.so
exits bad-folder 1 b -q mm.yaml -o n.c -o none/n.h
ok refused-writes-nothing absent n.c

# --- stages
for s in schedule lowered c llvm asm; do
	exits "show-$s" 0 "$TUNEC" show -q --stage=$s mm.yaml:big
	ok "show-$s-prints" test -s out
done
exits show-space 0 "$TUNEC" show --stage=space mm.yaml:big
ok show-space-needs-no-record [ ! -s err ]
for s in ir space schedule c; do
	exits "show-json-$s" 0 "$TUNEC" show -q --json --stage=$s mm.yaml
	ok "show-json-$s-is-lines" [ "$(grep -c \
		'^{"name":"mm","case":"[a-z]*","stage":"'$s'",.*"text":".*"}$' out)" = 2 ]
done
exits show-ptx 1 "$TUNEC" show --stage=ptx mm.yaml
exits show-unknown 2 "$TUNEC" show --stage=frob mm.yaml
