/* Functions of vectors of f32, to 2 ulp and without a branch:
 *
 *     y = MATH exp x        ->     a polynomial, times 2^n by way of BITS
 *
 * NaN, infinities, -0 and denormals come out as libm has them.  Scalars and
 * what is not here are left to libm.  exp and tanh are those of the Cephes
 * library (S. Moshier); log and erf have the minimax polynomials of N. Juffa's
 * my_logf and my_erff.  test/diff/test_math.c measures them. */
#include "codegen/lower/lower_internal.h"

#include <math.h>

typedef struct {
	Lower *l;
	int lanes;
} Vectors;

static int number(Vectors m, double value)
{
	return const_float(m.l, DT_F32, m.lanes, (float)value);
}

static int integer(Vectors m, int64_t value)
{
	return const_int(m.l, DT_I32, m.lanes, value);
}

static int real(Vectors m, LowOpcode op, int a, int b)
{
	return emit_op(m.l, op, DT_F32, m.lanes, a, b, -1, "m");
}

static int whole(Vectors m, LowOpcode op, int a, int b)
{
	return emit_op(m.l, op, DT_I32, m.lanes, a, b, -1, "m");
}

static int below(Vectors m, int a, int b)
{
	return emit_op(m.l, LOW_LT, DT_BOOL, m.lanes, a, b, -1, "m");
}

static int choose(Vectors m, int condition, int yes, int no)
{
	return emit_op(
	    m.l, LOW_SELECT, DT_F32, m.lanes, condition, yes, no, "m");
}

static int product_sum(Vectors m, int a, int b, int c)
{
	if (!m.l->machine->fma)
		return real(m, LOW_ADD, real(m, LOW_MUL, a, b), c);
	return emit_op(m.l, LOW_FMA, DT_F32, m.lanes, a, b, c, "m");
}

/* c[0]*x^(n-1) + ... + c[n-1] */
static int polynomial(Vectors m, int x, int n, const double *c)
{
	int y = number(m, c[0]);
	for (int i = 1; i < n; i++)
		y = product_sum(m, y, x, number(m, c[i]));
	return y;
}

#define POLYNOMIAL(m, x, ...)                                                  \
	polynomial(m, x, sizeof((double[]){__VA_ARGS__}) / sizeof(double),     \
	    (double[]){__VA_ARGS__})

/* 2^n of integers -126 .. 127 */
static int power_of_two(Vectors m, int n)
{
	n = whole(m, LOW_ADD, n, integer(m, 127));
	n = whole(m, LOW_MUL, n, integer(m, 1 << 23));
	return real(m, LOW_BITS, n, -1);
}

/* x = n*log 2 + r; e^r 2^n, in two steps where 2^n is no normal number.
 * Adding 1.5*2^23 rounds to an integer, found in the low bits. */
static int vector_exp(Vectors m, int x)
{
	const double shift = 12582912; /* 0x4b400000 */
	x = real(m, LOW_MAX, number(m, -104), x);
	x = real(m, LOW_MIN, number(m, 89), x);
	int t = product_sum(
	    m, x, number(m, 1.44269504088896341), number(m, shift));
	int n = real(m, LOW_SUB, t, number(m, shift));
	int r = product_sum(m, n, number(m, -0.693359375), x);
	r = product_sum(m, n, number(m, 2.12194440e-4), r);
	int p = POLYNOMIAL(m, r, 1.9875691500e-4, 1.3981999507e-3,
	    8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1);
	p = product_sum(m, p, real(m, LOW_MUL, r, r), r);
	p = real(m, LOW_ADD, p, number(m, 1));
	int i = whole(m, LOW_BITS, t, -1);
	i = whole(m, LOW_SUB, i, integer(m, 0x4b400000));
	int first = whole(m, LOW_MAX, i, integer(m, -125));
	first = whole(m, LOW_MIN, first, integer(m, 127));
	int second = whole(m, LOW_SUB, i, first);
	p = real(m, LOW_MUL, p, power_of_two(m, first));
	return real(m, LOW_MUL, p, power_of_two(m, second));
}

/* x = 2^e (1 + r), 2/3 <= 1 + r < 4/3; denormals are scaled before. */
static int vector_log(Vectors m, int x)
{
	int zero = number(m, 0), small = below(m, x, number(m, 0x1p-126));
	int a = choose(
	    m, small, real(m, LOW_MUL, x, number(m, 0x1p23)), x);
	int bits = whole(m, LOW_BITS, a, -1);
	int e = whole(m, LOW_SUB, bits, integer(m, 0x3f2aaaab));
	e = whole(m, LOW_SUB, e, whole(m, LOW_MOD, e, integer(m, 1 << 23)));
	int r = real(m, LOW_BITS, whole(m, LOW_SUB, bits, e), -1);
	int f = real(m, LOW_CONVERT, e, -1);
	int exponent = product_sum(m, f, number(m, 0x1p-23),
	    choose(m, small, number(m, -23), zero));
	r = real(m, LOW_SUB, r, number(m, 1));
	int s = real(m, LOW_MUL, r, r);
	int even = POLYNOMIAL(m, s, -0.130310059, -0.121484190, -0.166846052,
	    -0.249996200);
	int odd = POLYNOMIAL(m, s, 0.140869141, 0.139814854, 0.200120345);
	int p = product_sum(m, odd, r, even);
	p = product_sum(m, p, r, number(m, 0.333331972));
	p = product_sum(m, p, r, number(m, -0.5));
	p = product_sum(m, p, s, r);
	p = product_sum(m, exponent, number(m, 0.693147182), p);
	/* 0 is -inf; below it is none; inf and NaN stay */
	int none = real(m, LOW_SUB, x, x);
	none = real(m, LOW_DIV, none, none);
	int other = choose(m, below(m, x, zero), none, real(m, LOW_ADD, x, x));
	int equal = emit_op(
	    m.l, LOW_EQ, DT_BOOL, m.lanes, x, zero, -1, "m");
	other = choose(m, equal, number(m, -INFINITY), other);
	int finite = below(m, x, number(m, INFINITY));
	return choose(
	    m, below(m, zero, x), choose(m, finite, p, other), other);
}

/* Of e = e^-|x|, which does not overflow: 1/(1 + e), or e/(1 + e) where x < 0.
 * What 1 + e lost to rounding is made up for to first order. */
static int vector_sigmoid(Vectors m, int x)
{
	int e = real(m, LOW_NEG, real(m, LOW_ABS, x, -1), -1);
	e = vector_exp(m, e);
	int one = number(m, 1), negative = below(m, x, number(m, 0));
	int sum = real(m, LOW_ADD, one, e);
	int lost = real(m, LOW_SUB, e, real(m, LOW_SUB, sum, one));
	int y = real(m, LOW_DIV, choose(m, negative, e, one), sum);
	int inverse = choose(m, negative, real(m, LOW_SUB, one, y), y);
	int less = real(m, LOW_MUL, real(m, LOW_MUL, y, lost), inverse);
	return real(m, LOW_SUB, y, less);
}

static int with_sign_of(Vectors m, int x, int size)
{
	return choose(m, below(m, x, number(m, 0)),
	    real(m, LOW_NEG, size, -1), size);
}

static int vector_tanh(Vectors m, int x)
{
	int size = real(m, LOW_ABS, x, -1), one = number(m, 1);
	int e = vector_exp(m, real(m, LOW_ADD, size, size));
	int large = real(m, LOW_DIV, number(m, 2), real(m, LOW_ADD, e, one));
	large = with_sign_of(m, x, real(m, LOW_SUB, one, large));
	int z = real(m, LOW_MUL, x, x);
	int p = POLYNOMIAL(m, z, -5.70498872745e-3, 2.06390887954e-2,
	    -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1, 1);
	return choose(m, below(m, size, number(m, 0.625)),
	    real(m, LOW_MUL, x, p), large);
}

static int vector_erf(Vectors m, int x)
{
	int size = real(m, LOW_ABS, x, -1), s = real(m, LOW_MUL, x, x);
	int high = POLYNOMIAL(m, size, -1.72853470e-5, 3.83197126e-4);
	int low = POLYNOMIAL(m, size, -3.88396438e-3, 2.42546219e-2);
	int r = product_sum(m, high, s, low);
	r = product_sum(m, r, size, number(m, -1.06777877e-1));
	r = product_sum(m, r, size, number(m, -6.34846687e-1));
	r = product_sum(m, r, size, number(m, -1.28717512e-1));
	r = product_sum(m, r, size, real(m, LOW_NEG, size, -1));
	r = real(m, LOW_SUB, number(m, 1), vector_exp(m, r));
	int large = with_sign_of(m, x, r);
	int p = POLYNOMIAL(m, s, -5.96761703e-4, 4.99119423e-3, -2.67681349e-2,
	    1.12819925e-1, -3.76125336e-1, 1.28379166e-1);
	p = product_sum(m, p, x, x);
	return choose(
	    m, below(m, number(m, 0.927734375), size), large, p);
}

int math_vector(Lower *l, Op function, int x, int lanes)
{
	Vectors m = {l, lanes};
	switch (function) {
	case OP_EXP: return vector_exp(m, x);
	case OP_LOG: return vector_log(m, x);
	case OP_TANH: return vector_tanh(m, x);
	case OP_SIGMOID: return vector_sigmoid(m, x);
	case OP_ERF: return vector_erf(m, x);
	default: return -1;
	}
}
