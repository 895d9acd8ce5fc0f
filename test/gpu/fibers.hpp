/* What CUDA C takes for granted, for a C++ compiler of a CPU: threads are fibers
 * (test/common_fibers.h). */
#include <immintrin.h>

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static
#define __align__(n) __attribute__((aligned(n)))
#define __restrict__ __restrict

extern "C" unsigned fibers_thread(int), fibers_block(int);
extern "C" void fibers_barrier(void);
extern "C" unsigned fibers_shuffle_xor(unsigned, unsigned);
#define __syncthreads fibers_barrier

/* What a launch gives its blocks; here, since copies go to what is near.  Where
 * nobody takes it, it is not there. */
alignas(1024) static unsigned char tunec_shared[227*1024];

struct Fiber {
	unsigned (*number)(int);
	struct Direction {
		unsigned (*number)(int);
		int direction;
		operator unsigned() const { return number(direction); }
	} x, y, z;
	explicit Fiber(unsigned (*f)(int))
	    : number(f), x{f, 0}, y{f, 1}, z{f, 2} {}
};
static const Fiber threadIdx(fibers_thread), blockIdx(fibers_block);

#define VECTOR(T, N) \
	struct alignas(sizeof(T)*2) N##2 { T x, y; }; \
	struct alignas(sizeof(T)*4) N##4 { T x, y, z, w; }; \
	static inline N##2 make_##N##2(T x, T y) { return {x, y}; } \
	static inline N##4 make_##N##4(T x, T y, T z, T w) { return {x, y, z, w}; }
VECTOR(double, double)
VECTOR(float, float)
VECTOR(long long, longlong)
VECTOR(int, int)
VECTOR(unsigned, uint)
VECTOR(short, short)
VECTOR(unsigned short, ushort)
VECTOR(signed char, char)
VECTOR(unsigned char, uchar)

template <class To, class From> static To bits_as(From from)
{
	To to;
	__builtin_memcpy(&to, &from, sizeof to);
	return to;
}
#define __float_as_int bits_as<int, float>
#define __float_as_uint bits_as<unsigned, float>
#define __int_as_float bits_as<float, int>
#define __uint_as_float bits_as<float, unsigned>
#define __double_as_longlong bits_as<long long, double>
#define __longlong_as_double bits_as<double, long long>
#define __fadd_rn(a, b) ((a) + (b))
#define __fsub_rn(a, b) ((a) - (b))
#define __fmul_rn(a, b) ((a) * (b))
#define __dadd_rn(a, b) ((a) + (b))
#define __dsub_rn(a, b) ((a) - (b))
#define __dmul_rn(a, b) ((a) * (b))

static inline unsigned __shfl_xor_sync(unsigned, unsigned x, int mask)
{
	return fibers_shuffle_xor(x, mask);
}
static inline int __shfl_xor_sync(unsigned, int x, int mask)
{
	return (int)fibers_shuffle_xor((unsigned)x, mask);
}
static inline float __shfl_xor_sync(unsigned, float x, int mask)
{
	return bits_as<float>(fibers_shuffle_xor(bits_as<unsigned>(x), mask));
}
template <class T> static T exchanged(T x, int mask)
{
	struct Halves { unsigned low, high; } h = bits_as<Halves>(x);
	h.low = fibers_shuffle_xor(h.low, mask);
	h.high = fibers_shuffle_xor(h.high, mask);
	return bits_as<T>(h);
}
static inline double __shfl_xor_sync(unsigned, double x, int mask)
{
	return exchanged(x, mask);
}
static inline long long __shfl_xor_sync(unsigned, long long x, int mask)
{
	return exchanged(x, mask);
}

#define FUNCTION(name) \
	static inline float name##f(float x) { return __builtin_##name##f(x); } \
	static inline double name(double x) { return __builtin_##name(x); }
FUNCTION(exp)
FUNCTION(log)
FUNCTION(sin)
FUNCTION(cos)
FUNCTION(sqrt)
FUNCTION(tanh)
FUNCTION(erf)
FUNCTION(floor)
FUNCTION(ceil)
FUNCTION(rint)
FUNCTION(fabs)
static inline float powf(float x, float y) { return __builtin_powf(x, y); }
static inline double pow(double x, double y) { return __builtin_pow(x, y); }
static inline float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }

/* Halves, by instructions of x86. */
static inline float tunec_f32_from_f16x1(unsigned short x)
{
	return _cvtsh_ss(x);
}
static inline unsigned short tunec_f16_from_f32x1(float x)
{
	return _cvtss_sh(x, 0);
}

/* Products of a warp, and their operands. */
extern "C" unsigned fibers_tf32(float x);
static inline float tunec_tf32(float x)
{
	return bits_as<float>(fibers_tf32(x));
}
extern "C" void fibers_matrix(unsigned *to, const void *row, int n, int transposed);
extern "C" void fibers_mma(const char *name, const unsigned *words, unsigned *sums);
#define tunec_matrix1(to, row) fibers_matrix(to, row, 1, 0)
#define tunec_matrix2(to, row) fibers_matrix(to, row, 2, 0)
#define tunec_matrix4(to, row) fibers_matrix(to, row, 4, 0)
#define tunec_matrix1t(to, row) fibers_matrix(to, row, 1, 1)
#define tunec_matrix2t(to, row) fibers_matrix(to, row, 2, 1)
#define tunec_matrix4t(to, row) fibers_matrix(to, row, 4, 1)
template <class Sum, class... Words> static void product(
    const char *name, Sum &d0, Sum &d1, Sum &d2, Sum &d3, Words... all)
{
	const unsigned words[] = {all...};
	Sum *const to[] = {&d0, &d1, &d2, &d3};
	unsigned sums[4];
	for (int v = 0; v < 4; v++)
		sums[v] = bits_as<unsigned>(*to[v]);
	fibers_mma(name, words, sums);
	for (int v = 0; v < 4; v++)
		*to[v] = bits_as<Sum>(sums[v]);
}
#define FRAGMENT(name, ...) \
	template <class Sum, class... Words> static inline void tunec_##name( \
	    Sum &d0, Sum &d1, Sum &d2, Sum &d3, Words... words) \
	{ product(#name, d0, d1, d2, d3, words...); }
#include "../../ir/fragments.def"
#undef FRAGMENT

/* Of a warpgroup: descriptors of each step follow from the first. */
extern "C" void fibers_wgmma(const char *name, void *sums, int n,
    const unsigned long long *tiles, int a_across, int b_across);
static inline unsigned long long tunec_tile(
    const void *first, unsigned long long layout)
{
	return layout | ((unsigned long long)first >> 4 & 0x3fff);
}
static inline void group_product(const char *name, void *sums, int n,
    unsigned long long a, unsigned long long b, bool a_across, bool b_across)
{
	unsigned long long tiles[8];
	for (int i = 0; i < 4; i++) {
		tiles[2 * i] = a + i * (a_across ? 16 * 128 : 32) / 16;
		tiles[2 * i + 1] = b + i * (b_across ? 16 * 128 : 32) / 16;
	}
	fibers_wgmma(name, sums, n, tiles, a_across, b_across);
}
#define GROUP_OF(name, n, ends, a, b) \
	static inline void tunec_##name##_n##n##ends(void *sums, \
	    unsigned long long x, unsigned long long y) \
	{ group_product(#name, sums, n, x, y, a, b); }
#define GROUPS(name, n) GROUP_OF(name, n, , false, false) \
	GROUP_OF(name, n, _a, true, false) GROUP_OF(name, n, _b, false, true) \
	GROUP_OF(name, n, _a_b, true, true)
#define WARPGROUP(name, ...) GROUPS(name, 8) GROUPS(name, 16) \
	GROUPS(name, 32) GROUPS(name, 64) GROUPS(name, 128)
#include "../../ir/warpgroups.def"
#undef WARPGROUP
#define tunec_fence() ((void)0)

/* Copies are made at once: nobody looks before the wait. */
#define COPY(n) \
	static inline void tunec_copy##n(void *to, const void *from) \
	{ __builtin_memcpy(to, from, n); }
COPY(4)
COPY(8)
COPY(16)
#define tunec_commit() ((void)0)
#define tunec_wait(n) ((void)0)

#define TUNEC_HOST
