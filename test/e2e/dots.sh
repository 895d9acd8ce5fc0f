#!/bin/bash
# Sums of products of narrow elements: the extremes of their types, sums that wrap
# around, and what bf16 must keep (subnormals, infinities, NaN), by the default
# schedule, in objects and in C, for each of these targets that runs here; against
# plain loops.
. "$(dirname "$0")/lib.sh"
command -v cc >/dev/null || {
	echo "there is no cc"
	exit 77
}

spec() { # A B: dot.yaml
	cat >dot.yaml <<END
tunec: 1
name: dot
params: {M: 17, N: 37, K: 100}
inputs: {a: "$1[M, K]", b: "const $2[K, N]", d: "$2[K, N]"}
compute: |
  c[i < M, j < N] = sum[k < K](a[i, k]*b[k, j])
  e[i < M, j < N] = sum[k < K](a[i, k]*d[k, j])
outputs: [c, e]
END
}
ctype() {
	case $1 in
	u8) echo uint8_t ;;
	i8) echo int8_t ;;
	i16) echo int16_t ;;
	bf16) echo uint16_t ;;
	esac
}

# Both operands at their least and greatest, mixed, and at random.
cat >integers.c <<'END'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "dot.h"
void pack_in_c(const B *, void *);
void in_c(const A *, const void *, const B *, int32_t *, int32_t *, void *);
static A a[M * K];
static B b[K * N];
static int32_t c[M * N], e[M * N];
static uint32_t want[M * N];
static int64_t value(int kind, int64_t least, int64_t most, int i)
{
	return kind == 0 ? least : kind == 1 ? most
	    : kind == 2 ? (i % 3 ? least : most)
			: least + rand() % (most - least + 1);
}
static int wrong(const char *from, int kind)
{
	for (int i = 0; i < M * N; i++)
		if ((uint32_t)c[i] != want[i] || (uint32_t)e[i] != want[i]) {
			printf("%s, kind %d: %d is %d and %d, not %d\n", from,
			    kind, i, c[i], e[i], (int32_t)want[i]);
			return 1;
		}
	return 0;
}
int main(void)
{
	void *packed = aligned_alloc(64, (DOT_PACKED_B_BYTES + 127) / 64 * 64);
	void *other = aligned_alloc(64, (DOT_PACKED_B_BYTES + 127) / 64 * 64);
	void *work = aligned_alloc(64, (DOT_WORKSPACE_BYTES + 127) / 64 * 64);
	for (int kind = 0; kind < 16; kind++) {
		for (int i = 0; i < M * K; i++)
			a[i] = (A)value(kind % 4, A_LEAST, A_MOST, i);
		for (int i = 0; kind % 4 == 0 && i < K * N; i++)
			b[i] = (B)value(kind / 4, B_LEAST, B_MOST, i);
		for (int i = 0; i < M * N; i++)
			want[i] = 0;
		for (int k = 0; k < K; k++)
			for (int i = 0; i < M; i++)
				for (int j = 0; j < N; j++)
					want[i * N + j] += (uint32_t)(
					    a[i * K + k] * b[k * N + j]);
		dot_pack_b(b, packed);
		dot(a, packed, b, c, e, work);
		if (wrong("object", kind))
			return 1;
		pack_in_c(b, other);
		in_c(a, other, b, c, e, work);
		if (wrong("C", kind))
			return 1;
	}
	return 0;
}
END

# One product for each sum, but for zeros: exactly that of the plain loop.
cat >floats.c <<'END'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "dot.h"
void pack_in_c(const uint16_t *, void *);
void in_c(const uint16_t *, const void *, const uint16_t *, float *, float *, void *);
static uint16_t a[M * K], b[K * N];
static float c[M * N], e[M * N];
static float widened(uint16_t x)
{
	uint32_t bits = (uint32_t)x << 16;
	float f;
	memcpy(&f, &bits, sizeof f);
	return f;
}
/* A product that is no number's may be 0 of either sign: fused, or not. */
static int same(float x, float y)
{
	return (x != x && y != y) || x == y;
}
static int wrong(const char *from, int at)
{
	for (int i = 0; i < M * N; i++) {
		float x = widened(a[i / N * K + at]);
		float y = widened(b[at * N + i % N]), want = x * y;
		if (!same(c[i], want) || !same(e[i], want)) {
			printf("%s, %d: %a by %a is %a and %a\n", from, i, x, y,
			    c[i], e[i]);
			return 1;
		}
	}
	return 0;
}
int main(void)
{
	/* subnormals, the least and the greatest number, 2^127, inf, NaN */
	static const uint16_t some[] = {0x0001, 0x807f, 0x0080, 0x7f7f, 0x7f00,
	    0x7f80, 0xff80, 0x7fc0, 0x3f80, 0x4049, 0xc2f7, 0x2000};
	enum { SOME = sizeof some / sizeof *some };
	void *packed = aligned_alloc(64, (DOT_PACKED_B_BYTES + 127) / 64 * 64);
	void *work = aligned_alloc(64, (DOT_WORKSPACE_BYTES + 127) / 64 * 64);
	for (int at = 0; at < K; at += K / 3) {
		memset(a, 0, sizeof a);
		for (int i = 0; i < K * N; i++)
			b[i] = i / N == at ? some[(i + i / 7) % SOME] : 0x3f80;
		for (int i = 0; i < M; i++)
			a[i * K + at] = some[(i * 5) % SOME];
		dot_pack_b(b, packed);
		dot(a, packed, b, c, e, work);
		if (wrong("object", at))
			return 1;
		pack_in_c(b, packed);
		in_c(a, packed, b, c, e, work);
		if (wrong("C", at))
			return 1;
	}
	return 0;
}
END

limits() { # TYPE: least, greatest
	case $1 in
	u8) echo 0 255 ;;
	i8) echo -128 127 ;;
	i16) echo -32768 32767 ;;
	*) echo 0 0 ;;
	esac
}

run() { # A B K CPU FILE.c
	local target="llvm -mcpu=$4 -threads=1" id="$1-$2-$3-$4"
	"$TUNEC" target "$target" | grep -q '^runs here' || return
	spec $1 $2
	ok "$id-builds" "$TUNEC" build -q --db none.db -D K=$3 dot.yaml \
		--target "$target" -o dot.o -o dot.c -o dot.h
	[ "${VARIANT:-}" != sanitize ] || return 0 # of cc it is nothing new
	read -r a_least a_most <<<"$(limits $1)"
	read -r b_least b_most <<<"$(limits $2)"
	ok "$id-compiles" cc -O1 -std=gnu11 -Ddot=in_c -Ddot_pack_b=pack_in_c \
		-ffp-contract=off -c dot.c -o in_c.o
	ok "$id-links" cc -O1 -std=gnu11 -ffp-contract=off \
		-DM=17 -DN=37 -DK=$3 -DA=$(ctype $1) -DB=$(ctype $2) \
		-DA_LEAST=$a_least -DA_MOST=$a_most \
		-DB_LEAST=$b_least -DB_MOST=$b_most $5 dot.o in_c.o -lm -o run
	ok "$id-computes" ./run
}

for cpu in haswell skylake-avx512 znver4; do
	for types in 'u8 i8' 'i8 u8' 'i8 i8' 'u8 u8' 'i16 i16'; do
		run $types 103 $cpu integers.c
	done
	run bf16 bf16 103 $cpu floats.c
done
# 65,793 times 255 by -128 is the last sum that does not wrap
for types in 'u8 i8' 'i8 i8' 'u8 u8'; do
	run $types 65793 icelake-server integers.c
	run $types 65796 haswell integers.c
done
run i8 i8 140003 icelake-server integers.c

# What flushes is for --numerics=fast alone.
spec bf16 bf16
for numerics in default fast; do
	"$TUNEC" build -q --db none.db dot.yaml --numerics=$numerics \
		--target 'llvm -mcpu=znver4 -threads=1' -o $numerics.s -o $numerics.c
done
ok fast-uses-instruction has fast.s vdpbf16ps
ok fast-uses-it-in-c has fast.c dpbf16_ps
ok default-does-not lacks default.s dpbf16
ok default-does-not-in-c lacks default.c dpbf16

# A record of a CPU with instructions that this one lacks: they are named, and the
# schedule for this CPU is the default one, or with --frozen none.
one=$root/test/layouts/product_i8.yaml
far='llvm -mcpu=alderlake -mattr=+avxvnniint8 -threads=1'
"$TUNEC" target "$far" | grep -q 'lacks.*avxvnniint8' || exit 0
"$TUNEC" tune $one --trials 2 --measure simulate --db far.jsonl \
	--target "$far" >/dev/null 2>&1
sed -i 's/,"measure":"simulate"//' far.jsonl # as if measured there
exits far-record 0 "$TUNEC" build $one --db far.jsonl -o far.s
ok far-record-is-said has err 'which its records have; this CPU lacks .*avxvnniint8'
exits far-not-here 1 "$TUNEC" replay $one --db far.jsonl --require-run
ok far-not-here-is-said has err 'not run here: this CPU lacks .*avxvnniint8'
exits far-default 0 "$TUNEC" build $one --db far.jsonl -o here.s --target host
ok far-default-is-said has err 'no record for target .*the default schedule'
rm -f here.s
exits far-frozen 3 "$TUNEC" build $one --db far.jsonl -o here.s \
	--target host --frozen
ok far-frozen-writes-nothing absent here.s
