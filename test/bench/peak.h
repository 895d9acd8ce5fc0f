/* The most that one core can do: multiply-adds of registers alone.  chains()
 * does PEAK_STEPS times CHAINS of the widest ones and says how many operations
 * that was; chains_of() those of one instruction set. */
#ifndef TEST_BENCH_PEAK_H
#define TEST_BENCH_PEAK_H

#include "test/bench/object.h"

enum { PEAK_STEPS = 1000000, CHAINS = 12 };

#if defined __x86_64__
/* One statement, so that nothing but registers takes part. */
#define FMA(k) "vfmadd213ps %13, %12, %" #k "\n"
#define CHAIN(name, bytes, isa)                                                \
	__attribute__((target(isa), noinline)) static double name(void)        \
	{                                                                      \
		typedef float V __attribute__((vector_size(bytes)));           \
		V x = {0}, y = {0}, a = {0}, b = a, c = a, d = a, e = a;       \
		V f = a, g = a, h = a, i = a, j = a, k = a, l = a;             \
		x += 0.999999f;                                                \
		y += 1e-7f;                                                    \
		for (int n = 0; n < PEAK_STEPS; n++)                           \
			__asm__ volatile(FMA(0) FMA(1) FMA(2) FMA(3) FMA(4)    \
				FMA(5) FMA(6) FMA(7) FMA(8) FMA(9) FMA(10)     \
				    FMA(11)                                    \
			    : "+v"(a), "+v"(b), "+v"(c), "+v"(d), "+v"(e),     \
			    "+v"(f), "+v"(g), "+v"(h), "+v"(i), "+v"(j),       \
			    "+v"(k), "+v"(l)                                   \
			    : "v"(x), "v"(y));                                 \
		return 2.0 * PEAK_STEPS * CHAINS * (bytes / 4);                \
	}
CHAIN(chains_512, 64, "avx512f")
CHAIN(chains_256, 32, "avx2,fma")

/* Without multiply-add: a product, then a sum. */
__attribute__((noinline)) static double chains_sse(void)
{
	typedef float V __attribute__((vector_size(16)));
	V x = {0}, y = {0}, a[CHAINS] = {{0}};
	x += 0.999999f;
	y += 1e-7f;
	for (int n = 0; n < PEAK_STEPS; n++)
#pragma GCC unroll 12
		for (int k = 0; k < CHAINS; k++)
			__asm__ volatile("mulps %1, %0\naddps %2, %0\n"
			    : "+x"(a[k])
			    : "x"(x), "x"(y));
	return 8.0 * PEAK_STEPS * CHAINS;
}

static inline double chains_of(const char *isa)
{
	return !strcmp(isa, "sse") ? chains_sse()
	    : !strcmp(isa, "avx2") ? chains_256() : chains_512();
}

static inline double chains(void)
{
	if (__builtin_cpu_supports("avx512f"))
		return chains_512();
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return chains_256();
	die("peak", "this CPU has neither AVX-512 nor AVX2 with FMA");
	return 0;
}
#else
static inline double chains(void)
{
	typedef float V __attribute__((vector_size(16)));
	V x = {0.999999f, 0.999999f, 0.999999f, 0.999999f}, a[CHAINS] = {0};
	V y = {1e-7f, 1e-7f, 1e-7f, 1e-7f};
	for (int n = 0; n < PEAK_STEPS; n++)
		for (int k = 0; k < CHAINS; k++)
			a[k] = a[k] * x + y;
	for (int k = 1; k < CHAINS; k++)
		a[0] += a[k];
	volatile float sink = a[0][0];
	(void)sink;
	return 8.0 * PEAK_STEPS * CHAINS;
}

static inline double chains_of(const char *isa)
{
	(void)isa;
	return chains();
}
#endif

#endif
