/* tile, by tunec 0.1.0
 * target: haswell
 * record: none
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined __x86_64__ && (__GNUC__ >= 8 || __clang_major__ >= 7) && \
    !defined TUNEC_GENERIC
#define TUNEC_X86 1
#include <immintrin.h>
#endif

/* The machine of each function; a*b + c is what it says. */
#if defined __clang__
#pragma STDC FP_CONTRACT OFF
#elif defined __GNUC__
/* gcc up to 13 would read past what an `if` guards. */
#if __GNUC__ < 14 && defined __AVX512VL__
#define TUNEC_OPTIMIZE \
	optimize("fp-contract=off", "no-predictive-commoning", \
	    "no-tree-coalesce-vars", "no-tree-reassoc", "no-tree-ter", \
	    "no-tree-slp-vectorize", "no-tree-loop-if-convert")
#else
#define TUNEC_OPTIMIZE optimize("fp-contract=off", "no-predictive-commoning", \
	    "no-tree-coalesce-vars", "no-tree-reassoc", "no-tree-ter", \
	    "no-tree-slp-vectorize")
#endif
#endif
#if __clang_major__ >= 13
#define TUNEC_TUNE ",tune=haswell"
#elif !defined __clang__
#define TUNEC_TUNE ",tune=skylake"
#else
#define TUNEC_TUNE
#endif
#if defined __clang__ && defined TUNEC_X86
#define TUNEC_FUNCTION \
	__attribute__((target("avx2,fma,f16c" TUNEC_TUNE), force_align_arg_pointer))
#elif defined TUNEC_X86
#define TUNEC_FUNCTION \
	__attribute__((target("avx2,fma,f16c" TUNEC_TUNE), TUNEC_OPTIMIZE))
#elif defined TUNEC_OPTIMIZE
#define TUNEC_FUNCTION __attribute__((TUNEC_OPTIMIZE))
#else
#define TUNEC_FUNCTION
#endif
#ifdef __GNUC__
#define TUNEC_HELPER static inline __attribute__((unused)) TUNEC_FUNCTION
#else
#define TUNEC_HELPER static inline TUNEC_FUNCTION
#endif

#ifdef _OPENMP
int omp_get_thread_num(void);
int omp_get_num_threads(void);
#define TUNEC_THREAD omp_get_thread_num()
#define TUNEC_THREADS omp_get_num_threads()
#else
#define TUNEC_THREAD 0
#define TUNEC_THREADS 1
#endif

typedef int32_t i32x8 __attribute__((vector_size(32)));
#define IOTA_I32X8 ((i32x8){0, 1, 2, 3, 4, 5, 6, 7})
#define I32X8(x) ((i32x8){x, x, x, x, x, x, x, x})

/* n, but at least 0 and at most lanes */
TUNEC_HELPER int8_t tunec_between(int64_t n, int8_t lanes)
{
	return n < 0 ? 0 : n > lanes ? lanes : (int8_t)n;
}

#define BELOW_I32X8(n) \
	((i32x8)(IOTA_I32X8 < I32X8(tunec_between(n, 8))))
typedef float f32x8 __attribute__((vector_size(32)));
typedef float f32x8_u
    __attribute__((vector_size(32), aligned(4), may_alias));
#define LOAD_F32X8(p) (*(const f32x8_u *)(p))
#ifdef TUNEC_X86
#define FMA_F32X8(a, b, c) \
	((f32x8)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#else
#define FMA_F32X8(a, b, c) \
	((a) * (b) + (c))
#endif
#define F32X8(x) ((f32x8){x, x, x, x, x, x, x, x})
#ifdef TUNEC_X86
#define LOAD_MASKED_F32X8(p, m) \
	((f32x8)_mm256_maskload_ps((const float *)(p), (__m256i)(m)))
#else
#define LOAD_MASKED_F32X8(p, m) \
	((f32x8){(m)[0] ? (p)[0] : 0, (m)[1] ? (p)[1] : 0, (m)[2] ? (p)[2] : 0, (m)[3] ? (p)[3] : 0, (m)[4] ? (p)[4] : 0, (m)[5] ? (p)[5] : 0, (m)[6] ? (p)[6] : 0, (m)[7] ? (p)[7] : 0})
#endif
typedef float f32x4 __attribute__((vector_size(16)));
#define SHUFFLE0_F32X4(a) \
	__builtin_shufflevector((a), (a), 0, 1, 2, 3)
#define STORE_F32X8(p, v) (*(f32x8_u *)(p) = (v))
typedef float f32x4_u
    __attribute__((vector_size(16), aligned(4), may_alias));
#define STORE_F32X4(p, v) (*(f32x4_u *)(p) = (v))
#if defined TUNEC_X86 && !defined __clang__
#define BEHIND_F32X4(p, v) \
	__extension__({ f32x4 tunec_v = (v); \
	__asm__("" : "+x"(tunec_v) \
	    : "m"(*(const f32x4_u *)(p))); tunec_v; })
#else
#define BEHIND_F32X4(p, v) \
	(v)
#endif

static TUNEC_FUNCTION void tunec_tile_region0(const float *x, float *y, const i32x8 *tunec_mask)
{
	int64_t thread = TUNEC_THREAD, threads = TUNEC_THREADS;
	i32x8 mask = *tunec_mask;
	for (int64_t i = thread*64/threads; i < (thread + 1)*64/threads; i++) {
		/* y.i, a row */
		f32x8 v = LOAD_F32X8(x + i*12);
		v = FMA_F32X8(v, F32X8(2.0f), v);
		f32x8 w = LOAD_MASKED_F32X8(&x[i*12 + 8], mask);
		w = FMA_F32X8(w, F32X8(2.0f), w);
		f32x4 w_1 = SHUFFLE0_F32X4(w);
		STORE_F32X8(y + i*12, v);
		STORE_F32X4(&y[i*12 + 8], BEHIND_F32X4(y + i*12, w_1));
	}
}

TUNEC_FUNCTION void tile(const float *x, float *y, void *workspace)
{
	(void)workspace;
	i32x8 mask = BELOW_I32X8(4);
#ifdef _OPENMP
#pragma omp parallel num_threads(2)
#endif
	tunec_tile_region0(x, y, &mask);
}
