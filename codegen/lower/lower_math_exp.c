/* Functions that are made of powers of e or 2, of vectors of f32 and f64: exp,
 * exp2, expm1, sinh and cosh, sigmoid, tanh, and erf of f32.  With x = n log 2 + r
 *
 *     e^x = 2^n (1 + r + r^2 Q)
 *     e^x - 1 = 2 (2^(n-1) (r + r^2 Q) + (2^(n-1) - 1/2))
 *     cosh x = E + 1/(4E), sinh x = E - 1/(4E), E = e^|x|/2
 *     sigmoid x = 1/(1 + e^-x), tanh x = E/(1 + E), E = (e^2x - 1)/2
 *
 * where sinh of |x| below 1 is a polynomial, since the difference would lose what
 * matters.  Halves keep what is finite from passing by an infinite number. */
#include "codegen/lower/lower_math.h"

#include <math.h>

static int below(Vectors m, int a, int b)
{
	return math_compare(m, LOW_LT, a, b);
}

/* --- 2^n ------------------------------------------------------------------ */

/* 2^(n - bias) of the lowest bits n of an integer; a normal number. */
static int biased_power(Vectors m, int n)
{
	n = math_whole(m, LOW_MUL, n,
	    math_integer(m, INT64_C(1) << math_exponent_bits(m)));
	return math_real(m, LOW_BITS, n, -1);
}

/* Adding 1.5*2^23, of f64 1.5*2^52, rounds to an integer and leaves it in the
 * low bits, `more` than it is. */
static Rounded rounded(Vectors m, int x, double factor, int more)
{
	double half = m.type == DT_F32 ? 0x1.8p23 : 0x1.8p52;
	int shift = math_number(m, half + more);
	int t = math_product_sum(m, x, math_number(m, factor), shift);
	return (Rounded){
	    math_real(m, LOW_SUB, t, shift), math_whole(m, LOW_BITS, t, -1)};
}

/* Twice the bias more, so that half of the bits are a power of two's. */
Rounded math_rounded(Vectors m, int x, double factor)
{
	return rounded(m, x, factor, 2 * math_bias(m));
}

int math_rounded_integer(Vectors m, Rounded n)
{
	int64_t magic =
	    m.type == DT_F32 ? 0x4b400000 : INT64_C(0x4338000000000000);
	return math_whole(
	    m, LOW_SUB, n.bits, math_integer(m, magic + 2 * math_bias(m)));
}

bool math_has_scale(Vectors m)
{
	return m.l->machine->scale && math_fits_register(m);
}

static int scaled_where(Vectors m, int x, Rounded n, int mask)
{
	return emit_op(m.l, LOW_SCALE, m.type, m.lanes, x, n.real, mask, "m");
}

/* In two steps, both of normal numbers, without the instruction. */
int math_scaled(Vectors m, int x, Rounded n)
{
	if (math_has_scale(m))
		return scaled_where(m, x, n, -1);
	int first = math_whole(m, LOW_FLOORDIV, n.bits, math_integer(m, 2));
	int second = math_whole(m, LOW_SUB, n.bits, first);
	x = math_real(m, LOW_MUL, x, biased_power(m, first));
	return math_real(m, LOW_MUL, x, biased_power(m, second));
}

/* --- exp ------------------------------------------------------------------ */

/* x = n*log 2 + r; n.bits are `more`. */
static int remainder_of(Vectors m, int x, int more, Rounded *n)
{
	bool f32 = m.type == DT_F32;
	*n = rounded(m, x, 1.44269504088896341, more);
	int r = math_product_sum(m, n->real,
	    math_number(m, f32 ? -0.693359375 : -0x1.62e42feep-1), x);
	return math_product_sum(m, n->real,
	    math_number(m, f32 ? 2.12194440e-4 : -1.90821492927058770e-10), r);
}

int math_exp_of_small(Vectors m, int r)
{
	return m.type == DT_F32
	    ? POLYNOMIAL(m, r, 1.38825225e-3, 8.36654752e-3, 4.16672006e-2,
		  1.66665435e-1, 4.99999970e-1, 1, 1)
	    : POLYNOMIAL(m, r, 2.5000023940315812e-8, 2.7630306240356853e-7,
		  2.7557586783278443e-6, 2.4801492949750686e-5,
		  1.9841269505802478e-4, 1.3888888943759780e-3,
		  8.3333333334949609e-3, 4.1666666666529732e-2,
		  1.6666666666666410e-1, 5.0000000000000111e-1, 1, 1);
}

/* e^x = e^r 2^n.  What is 0 is not computed: CPUs take a hundred cycles for a
 * product that is too small, and more for one instruction that scales.  `low`:
 * x is at most 0, or NaN; or, of f32 and with that instruction, anything but
 * infinity: where r is far from 0 since x is so large, its polynomial, which is
 * of even degree, is still above 0. */
int math_exp_below(Vectors m, int x, bool low)
{
	bool f32 = m.type == DT_F32;
	Rounded n;
	int zero = math_number(m, 0);
	int none = below(m, x, math_number(m, f32 ? -104 : -746));
	if (!math_has_scale(m))
		x = math_choose(m, none, zero, x);
	if (!low)
		x = math_real(m, LOW_MIN, math_number(m, f32 ? 89 : 710), x);
	int lift = f32 ? 26 : 64; /* of a number at most 1: to a normal one */
	int r = remainder_of(
	    m, x, low ? math_bias(m) + lift : 2 * math_bias(m), &n);
	int p = math_exp_of_small(m, r);
	if (!math_has_scale(m) && low) {
		p = math_real(m, LOW_MUL, p, biased_power(m, n.bits));
		p = math_real(m, LOW_MUL, p, math_number(m, ldexp(1, -lift)));
		return math_choose(m, none, zero, p);
	}
	if (!math_has_scale(m))
		return math_choose(m, none, zero, math_scaled(m, p, n));
	int some = emit_op(m.l, LOW_NOT, DT_BOOL, m.lanes, none, -1, -1, "m");
	return scaled_where(m, p, n, some);
}

int math_exp(Vectors m, int x)
{
	return math_exp_below(m, x, false);
}

int math_exp_half(Vectors m, int x)
{
	Rounded n;
	int r = remainder_of(m, x, 2 * math_bias(m) - 1, &n);
	n.real = math_real(m, LOW_SUB, n.real, math_number(m, 1));
	return math_scaled(m, math_exp_of_small(m, r), n);
}

int math_expm1_parts(Vectors m, int x, int *r, int *half)
{
	Rounded n;
	*r = remainder_of(m, x, math_bias(m) - 1, &n);
	*half = biased_power(m, n.bits);
	return m.type == DT_F32
	    ? POLYNOMIAL(m, *r, 1.38825225e-3, 8.36654752e-3, 4.16672006e-2,
		  1.66665435e-1, 4.99999970e-1)
	    : POLYNOMIAL(m, *r, 2.5053679197958701e-8, 2.7626090730929855e-7,
		  2.7557407953640899e-6, 2.4801505148288171e-5,
		  1.9841269718457683e-4, 1.3888888931662196e-3,
		  8.3333333333898280e-3, 4.1666666666576486e-2,
		  1.6666666666666588e-1, 5.0000000000000056e-1);
}

int math_exp2(Vectors m, int x)
{
	bool f32 = m.type == DT_F32;
	int zero = math_number(m, 0);
	int none = below(m, x, math_number(m, f32 ? -150 : -1075));
	x = math_choose(m, none, zero, x);
	x = math_real(m, LOW_MIN, math_number(m, f32 ? 128 : 1024), x);
	Rounded n = math_rounded(m, x, 1);
	int r = math_real(m, LOW_SUB, x, n.real);
	int p = math_exp_of_small(
	    m, math_real(m, LOW_MUL, r, math_number(m, 0.69314718055994531)));
	return math_choose(m, none, zero, math_scaled(m, p, n));
}

int math_expm1(Vectors m, int x)
{
	bool f32 = m.type == DT_F32;
	int t = math_real(m, LOW_MAX, math_number(m, f32 ? -20 : -40), x);
	t = math_real(m, LOW_MIN, math_number(m, f32 ? 88.9 : 709.9), t);
	int r, power, q = math_expm1_parts(m, t, &r, &power);
	int y = math_product_sum(m, power, r,
	    math_real(m, LOW_SUB, power, math_number(m, 0.5)));
	q = math_real(m, LOW_MUL, q, math_real(m, LOW_MUL, r, r));
	y = math_product_sum(m, power, q, y);
	int tiny = below(m, math_real(m, LOW_ABS, x, -1),
	    math_number(m, f32 ? 0x1p-30 : 0x1p-60));
	return math_choose(m, tiny, x, math_real(m, LOW_ADD, y, y));
}

/* e^|x|/2, and a quarter of what 1 is divided by that. */
static int half_exp(Vectors m, int size, int *rest)
{
	int e = math_exp_half(m, math_real(m, LOW_MIN,
	    math_number(m, m.type == DT_F32 ? 90 : 712), size));
	*rest = math_real(m, LOW_DIV, math_number(m, 0.25), e);
	return e;
}

int math_cosh(Vectors m, int x)
{
	int rest, e = half_exp(m, math_real(m, LOW_ABS, x, -1), &rest);
	return math_real(m, LOW_ADD, e, rest);
}

int math_sinh(Vectors m, int x)
{
	int size = math_real(m, LOW_ABS, x, -1);
	int s = math_real(m, LOW_MUL, x, x);
	int rest, e = half_exp(m, size, &rest);
	int large =
	    math_with_sign_of(m, x, math_real(m, LOW_SUB, e, rest));
	int p = m.type == DT_F32
	    ? POLYNOMIAL(m, s, 2.80628024e-06, 0.000198381022, 0.00833333936,
		  0.166666672)
	    : POLYNOMIAL(m, s, 7.7461785930188273e-13, 1.6057679623801638e-10,
		  2.5052117695907823e-08, 2.7557319191381816e-06,
		  0.00019841269841324198, 0.0083333333333332985,
		  0.16666666666666666);
	int small = math_product_sum(
	    m, math_real(m, LOW_MUL, p, s), x, x);
	return math_choose(m, below(m, size, math_number(m, 1)), small, large);
}

/* --- sigmoid, tanh, erf --------------------------------------------------- */

/* The reciprocal of an ordinary positive number, off by 2^-13 at most. */
static int near_reciprocal(Vectors m, int x)
{
	if (!math_has_rsqrt(m))
		return math_real(m, LOW_DIV, math_number(m, 1), x);
	int root = math_real(m, LOW_RSQRT, x, -1);
	return math_real(m, LOW_MUL, root, root);
}

/* What 1 + e, e not below 0, is more than the sum. */
static int lost_of_sum(Vectors m, int e, int sum)
{
	int one = math_number(m, 1);
	return math_real(m, LOW_SUB, math_real(m, LOW_MIN, one, e),
	    math_real(m, LOW_SUB, sum, math_real(m, LOW_MAX, one, e)));
}

/* a/(1 + e): the product with about the reciprocal and a step of Newton's, by
 * what it leaves of a; 1 and e are multiplied one by one, so that what their sum
 * lost to rounding does not matter.  Where the reciprocal is an estimate, a
 * division of a vector takes twice as long as both.  Where products are rounded,
 * what was lost is made up for. */
static int quotient_by_one_and(Vectors m, int a, int e)
{
	int sum = math_real(m, LOW_ADD, math_number(m, 1), e);
	int r = near_reciprocal(m, sum), y;
	if (!m.l->machine->fma) {
		int less = math_real(m, LOW_MUL, r, lost_of_sum(m, e, sum));
		y = math_real(m, LOW_DIV, a, sum);
		return math_real(m, LOW_SUB, y, math_real(m, LOW_MUL, y, less));
	}
	y = math_real(m, LOW_MUL, a, r);
	int rest = math_product_sum(
	    m, math_real(m, LOW_NEG, y, -1), e, math_real(m, LOW_SUB, a, y));
	return math_product_sum(m, r, rest, y);
}

/* Of e = e^-|x|, which does not overflow: 1/(1 + e), or e/(1 + e) where x < 0. */
int math_sigmoid(Vectors m, int x)
{
	int e = math_real(m, LOW_NEG, math_real(m, LOW_ABS, x, -1), -1);
	e = math_exp_below(m, e, true);
	int negative = below(m, x, math_number(m, 0));
	return quotient_by_one_and(
	    m, math_choose(m, negative, e, math_number(m, 1)), e);
}

/* Q of (e^2r - 1)/2 = r + r^2 Q, |r| <= log 2 / 4, square = r^2 */
static int half_expm1_series(Vectors m, int r, int square)
{
	if (m.type == DT_F32) {
		int high = POLYNOMIAL(m, r, 0.0446264002, 0.133859413);
		int low = POLYNOMIAL(m, r, 0.333330366, 0.666661883);
		int q = math_product_sum(m, high, square, low);
		return math_product_sum(m, q, r, math_number(m, 1));
	}
	return POLYNOMIAL(m, r, 0x1p10 * 2.5053679197958701e-8,
	    0x1p9 * 2.7626090730929855e-7, 0x1p8 * 2.7557407953640899e-6,
	    0x1p7 * 2.4801505148288171e-5, 0x1p6 * 1.9841269718457683e-4,
	    0x1p5 * 1.3888888931662196e-3, 0x1p4 * 8.3333333333898280e-3,
	    0x1p3 * 4.1666666666576486e-2, 0x1p2 * 1.6666666666666588e-1,
	    2 * 5.0000000000000056e-1);
}

/* (e^2x - 1)/2 of 0 <= x <= 22 or NaN: with x = n log 2 / 2 + r it is
 * 2^n (r + r^2 Q) + (2^n - 1)/2.  Of f32 the rest is exact where n is 1, and
 * where it is more, what is added is large. */
static int half_expm1_of_twice(Vectors m, int x)
{
	bool f32 = m.type == DT_F32;
	Rounded n = rounded(m, x, 2.8853900817779268, math_bias(m));
	int r = math_product_sum(
	    m, n.real, math_number(m, f32 ? -0.34657359 : -0x1.62e42feep-2), x);
	if (!f32)
		r = math_product_sum(
		    m, n.real, math_number(m, -9.54107464635293850e-11), r);
	int power = math_has_scale(m)
	    ? scaled_where(m, math_number(m, 1), n, -1)
	    : biased_power(m, n.bits);
	int square = math_real(m, LOW_MUL, r, r);
	int p = math_product_sum(m, half_expm1_series(m, r, square), square, r);
	int rest = math_product_sum(
	    m, power, math_number(m, 0.5), math_number(m, -0.5));
	return math_product_sum(m, power, p, rest);
}

/* E/(1 + E), E = (e^2|x| - 1)/2 */
int math_tanh(Vectors m, int x)
{
	int size =
	    math_real(m, LOW_MIN, math_number(m, m.type == DT_F32 ? 10 : 22),
		math_real(m, LOW_ABS, x, -1));
	int e = half_expm1_of_twice(m, size);
	return math_with_sign_of(m, x, quotient_by_one_and(m, e, e));
}

int math_erf_f32(Vectors m, int x)
{
	int size = math_real(m, LOW_ABS, x, -1),
	    s = math_real(m, LOW_MUL, x, x);
	int high = POLYNOMIAL(m, size, -1.72853470e-5, 3.83197126e-4);
	int low = POLYNOMIAL(m, size, -3.88396438e-3, 2.42546219e-2);
	int r = math_product_sum(m, high, s, low);
	r = math_product_sum(m, r, size, math_number(m, -1.06777877e-1));
	r = math_product_sum(m, r, size, math_number(m, -6.34846687e-1));
	r = math_product_sum(m, r, size, math_number(m, -1.28717512e-1));
	r = math_product_sum(m, r, size, math_real(m, LOW_NEG, size, -1));
	r = math_real(
	    m, LOW_SUB, math_number(m, 1), math_exp_below(m, r, true));
	int large = math_with_sign_of(m, x, r);
	int p = POLYNOMIAL(m, s, -5.96761703e-4, 4.99119423e-3, -2.67681349e-2,
	    1.12819925e-1, -3.76125336e-1, 1.28379166e-1);
	p = math_product_sum(m, p, x, x);
	return math_choose(
	    m, below(m, math_number(m, 0.927734375), size), large, p);
}
