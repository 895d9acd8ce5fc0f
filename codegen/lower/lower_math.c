/* Functions of vectors of f32 and f64, to 2 ulp and without a branch but for
 * the sine of large numbers:
 *
 *     y = MATH exp x        ->     a polynomial, times 2^n by SCALE, or by BITS
 *                                  where the machine does not have that
 *
 * NaN, infinities, -0 and denormals come out as libm has them.  Scalars and
 * what is not here are left to libm.  log and erf have the minimax polynomials
 * of N. Juffa's my_logf and my_erff, the other polynomials were fitted by Remez'
 * algorithm.
 * lower_math_far.c has what a GPU without libm needs beyond that;
 * lower_math_pow.c, lower_math_exp.c, lower_math_sin.c and lower_math_arc.c have
 * the functions named so or like it,
 * lower_math_divide.c has quotients; test/diff/test_math.c measures all. */
#include "codegen/lower/lower_math.h"

#include <math.h>

/* --- parts ---------------------------------------------------------------- */

int math_number(Vectors m, double value)
{
	return const_float(m.l, m.type, m.lanes,
	    m.type == DT_F32 ? (double)(float)value : value);
}

DType math_bits_type(Vectors m)
{
	return m.type == DT_F32 ? DT_I32 : DT_I64;
}

int math_integer(Vectors m, int64_t value)
{
	return const_int(m.l, math_bits_type(m), m.lanes, value);
}

int math_real(Vectors m, LowOpcode op, int a, int b)
{
	return emit_op(m.l, op, m.type, m.lanes, a, b, -1, "m");
}

int math_whole(Vectors m, LowOpcode op, int a, int b)
{
	return emit_op(m.l, op, math_bits_type(m), m.lanes, a, b, -1, "m");
}

int math_compare(Vectors m, LowOpcode op, int a, int b)
{
	return emit_op(m.l, op, DT_BOOL, m.lanes, a, b, -1, "m");
}

int math_choose(Vectors m, int condition, int yes, int no)
{
	return emit_op(
	    m.l, LOW_SELECT, m.type, m.lanes, condition, yes, no, "m");
}

int math_product_sum(Vectors m, int a, int b, int c)
{
	if (!m.l->machine->fma)
		return math_real(m, LOW_ADD, math_real(m, LOW_MUL, a, b), c);
	return emit_op(m.l, LOW_FMA, m.type, m.lanes, a, b, c, "m");
}

int math_polynomial(Vectors m, int x, int n, const double *c)
{
	int y = math_number(m, c[0]);
	for (int i = 1; i < n; i++)
		y = math_product_sum(m, y, x, math_number(m, c[i]));
	return y;
}

bool math_varies(const Lower *l, int x)
{
	const TempInfo *t = &l->temps.at[x];
	return t->mutable || t->depth >= l->scope->depth;
}

static int below(Vectors m, int a, int b)
{
	return math_compare(m, LOW_LT, a, b);
}

int math_with_sign_of(Vectors m, int x, int size)
{
	int bits = math_whole(m, LOW_BITS, x, -1);
	int rest = math_whole(m, LOW_BITS, math_real(m, LOW_ABS, x, -1), -1);
	int sign = math_whole(m, LOW_XOR, bits, rest);
	size = math_whole(m, LOW_BITS, size, -1);
	return math_real(m, LOW_BITS, math_whole(m, LOW_XOR, size, sign), -1);
}

/* --- exp ------------------------------------------------------------------ */

static int exponent_bits(Vectors m)
{
	return m.type == DT_F32 ? 23 : 52;
}

static int bias(Vectors m)
{
	return m.type == DT_F32 ? 127 : 1023;
}

/* 2^(n - bias) of the lowest bits n of an integer; a normal number. */
static int biased_power(Vectors m, int n)
{
	n = math_whole(m, LOW_MUL, n,
	    math_integer(m, INT64_C(1) << exponent_bits(m)));
	return math_real(m, LOW_BITS, n, -1);
}

/* Adding 1.5*2^23, of f64 1.5*2^52, rounds to an integer and leaves it in the
 * low bits, `more` than it is. */
static Rounded rounded(Vectors m, int x, double factor, int more)
{
	double half = m.type == DT_F32 ? 0x1.8p23 : 0x1.8p52;
	int shift = math_number(m, half + more);
	int t = math_product_sum(m, x, math_number(m, factor), shift);
	return (Rounded){math_real(m, LOW_SUB, t, shift),
	    math_whole(m, LOW_BITS, t, -1)};
}

/* Twice the bias more, so that half of the bits are a power of two's. */
Rounded math_rounded(Vectors m, int x, double factor)
{
	return rounded(m, x, factor, 2 * bias(m));
}

int math_rounded_integer(Vectors m, Rounded n)
{
	int64_t magic =
	    m.type == DT_F32 ? 0x4b400000 : INT64_C(0x4338000000000000);
	return math_whole(
	    m, LOW_SUB, n.bits, math_integer(m, magic + 2 * bias(m)));
}

/* Are they as long as those that the machine has instructions for? */
static bool fits_register(Vectors m)
{
	int bytes = m.lanes * dtype_bytes(m.type);
	return bytes >= 16 && bytes <= m.l->machine->vector_bytes;
}

static bool has_scale(Vectors m)
{
	return m.l->machine->scale && fits_register(m);
}

static int scaled_where(Vectors m, int x, Rounded n, int mask)
{
	return emit_op(
	    m.l, LOW_SCALE, m.type, m.lanes, x, n.real, mask, "m");
}

/* In two steps, both of normal numbers, without the instruction. */
int math_scaled(Vectors m, int x, Rounded n)
{
	if (has_scale(m))
		return scaled_where(m, x, n, -1);
	int first = math_whole(m, LOW_FLOORDIV, n.bits, math_integer(m, 2));
	int second = math_whole(m, LOW_SUB, n.bits, first);
	x = math_real(m, LOW_MUL, x, biased_power(m, first));
	return math_real(m, LOW_MUL, x, biased_power(m, second));
}

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
static int exp_below(Vectors m, int x, bool low)
{
	bool f32 = m.type == DT_F32;
	Rounded n;
	int zero = math_number(m, 0);
	int none = below(m, x, math_number(m, f32 ? -104 : -746));
	if (!has_scale(m))
		x = math_choose(m, none, zero, x);
	if (!low)
		x = math_real(m, LOW_MIN, math_number(m, f32 ? 89 : 710), x);
	int lift = f32 ? 26 : 64; /* of a number at most 1: to a normal one */
	int r = remainder_of(m, x, low ? bias(m) + lift : 2 * bias(m), &n);
	int p = math_exp_of_small(m, r);
	if (!has_scale(m) && low) {
		p = math_real(m, LOW_MUL, p, biased_power(m, n.bits));
		p = math_real(m, LOW_MUL, p, math_number(m, ldexp(1, -lift)));
		return math_choose(m, none, zero, p);
	}
	if (!has_scale(m))
		return math_choose(m, none, zero, math_scaled(m, p, n));
	int some = emit_op(
	    m.l, LOW_NOT, DT_BOOL, m.lanes, none, -1, -1, "m");
	return scaled_where(m, p, n, some);
}

int math_exp(Vectors m, int x)
{
	return exp_below(m, x, false);
}

int math_exp_half(Vectors m, int x)
{
	Rounded n;
	int r = remainder_of(m, x, 2 * bias(m) - 1, &n);
	n.real = math_real(m, LOW_SUB, n.real, math_number(m, 1));
	return math_scaled(m, math_exp_of_small(m, r), n);
}

int math_expm1_parts(Vectors m, int x, int *r, int *half)
{
	Rounded n;
	*r = remainder_of(m, x, bias(m) - 1, &n);
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

/* --- log ------------------------------------------------------------------ */

/* The logarithm of a positive number, to what any other has: 0 is -inf; below
 * it is none; inf and NaN stay. */
static int of_any(Vectors m, int x, int y)
{
	int zero = math_number(m, 0);
	int other = math_choose(m, below(m, x, zero), math_number(m, NAN), x);
	other = math_choose(m, math_compare(m, LOW_EQ, x, zero),
	    math_number(m, -INFINITY), other);
	int finite = below(m, x, math_number(m, INFINITY));
	return math_choose(
	    m, below(m, zero, x), math_choose(m, finite, y, other), other);
}

static Parts parts_of_normal(Vectors m, int x, int64_t middle)
{
	bool f32 = m.type == DT_F32;
	int bits = math_whole(m, LOW_BITS, x, -1);
	int64_t one = INT64_C(1) << exponent_bits(m);
	int e = math_whole(m, LOW_SUB, bits, math_integer(m, middle)), k;
	e = math_whole(m, LOW_SUB, e, math_whole(m, LOW_MOD, e, math_integer(m, one)));
	if (f32) {
		k = math_real(m, LOW_CONVERT, e, -1);
	} else { /* few machines convert i64: exact in the low bits of 2^52 */
		k = math_whole(m, LOW_ADD, e, math_integer(m, one * 1023));
		k = math_whole(m, LOW_FLOORDIV, k, math_integer(m, one));
		k = math_whole(m, LOW_ADD, k, math_integer(m, 0x4330000000000000));
		k = math_real(m, LOW_SUB, math_real(m, LOW_BITS, k, -1),
		    math_number(m, 0x1p52 + 1023));
	}
	int f = math_real(m, LOW_BITS, math_whole(m, LOW_SUB, bits, e), -1);
	return (Parts){k, math_real(m, LOW_SUB, f, math_number(m, 1)), e,
	    f32 ? 0x1p-23 : 1};
}

static double least_normal(Vectors m)
{
	return m.type == DT_F32 ? 0x1p-126 : 0x1p-1022;
}

Parts math_parts(Vectors m, int x, int64_t middle)
{
	bool f32 = m.type == DT_F32;
	int small = below(m, x, math_number(m, least_normal(m)));
	int a = math_choose(m, small,
	    math_real(m, LOW_MUL, x, math_number(m, f32 ? 0x1p23 : 0x1p52)), x);
	int lost = math_choose(
	    m, small, math_number(m, f32 ? -23 : -52), math_number(m, 0));
	Parts p = parts_of_normal(m, a, middle);
	int unit = math_number(m, p.unit);
	p.exponent = f32 ? math_product_sum(m, p.exponent, unit, lost)
			 : math_real(m, LOW_ADD, p.exponent, lost);
	p.unit = 1;
	return p;
}

/* y of log(1 + r) = r + r^2 y, 2/3 <= 1 + r < 4/3 */
static int log_series_f32(Vectors m, int r, int s)
{
	int even = POLYNOMIAL(m, s, -0.130310059, -0.121484190, -0.166846052,
	    -0.249996200);
	int odd = POLYNOMIAL(m, s, 0.140869141, 0.139814854, 0.200120345);
	int y = math_product_sum(m, odd, r, even);
	y = math_product_sum(m, y, r, math_number(m, 0.333331972));
	return math_product_sum(m, y, r, math_number(m, -0.5));
}

/* x = 2^e (1 + r) */
static int log_f32(Vectors m, Parts p)
{
	int r = p.fraction, s = math_real(m, LOW_MUL, r, r);
	int y = math_product_sum(m, log_series_f32(m, r, s), s, r);
	return math_product_sum(
	    m, p.exponent, math_number(m, 0.693147182 * p.unit), y);
}

/* s and R of log(1 + f) = f - (half - s R), half = f^2/2, 1 + f around 1 by a
 * factor of sqrt 2: s = f/(2 + f), R = half + z P(z), z = s^2 */
static int log_series_f64(Vectors m, int f, int half, int *ratio)
{
	int s = math_real(m, LOW_DIV, f, math_real(m, LOW_ADD, f, math_number(m, 2)));
	int z = math_real(m, LOW_MUL, s, s);
	int r = POLYNOMIAL(m, z, 0.14789527198334926, 0.15314757449000269,
	    0.18183533569212768, 0.22222199242010998, 0.28571428734855092,
	    0.39999999999455244, 0.66666666666667262);
	*ratio = s;
	return math_product_sum(m, r, z, half);
}

static int half_square(Vectors m, int f)
{
	return math_real(
	    m, LOW_MUL, math_real(m, LOW_MUL, f, f), math_number(m, 0.5));
}

/* x = 2^k (1 + f) */
static int log_f64(Vectors m, Parts p)
{
	int f = p.fraction, k = p.exponent, half = half_square(m, f), s;
	int r = log_series_f64(m, f, half, &s);
	int low = math_real(m, LOW_MUL, k, math_number(m, 1.90821492927058770e-10));
	low = math_product_sum(m, s, r, low);
	low = math_real(m, LOW_SUB, half, low);
	low = math_real(m, LOW_SUB, low, f);
	return math_product_sum(m, k, math_number(m, 0x1.62e42feep-1),
	    math_real(m, LOW_NEG, low, -1));
}

static int log_of_parts(Vectors m, Parts p)
{
	return m.type == DT_F32 ? log_f32(m, p) : log_f64(m, p);
}

/* k + (f + less)/log 2, as k + f, of which little is lost where it is small, and
 * 0.44 f + less/log 2 */
static int log2_of_parts(Vectors m, Parts p)
{
	const double inverse = 1.4426950408889634;
	int f = p.fraction, less, s, half;
	if (m.type == DT_F32) {
		s = math_real(m, LOW_MUL, f, f);
		less = math_real(m, LOW_MUL, log_series_f32(m, f, s), s);
	} else {
		half = half_square(m, f);
		less = log_series_f64(m, f, half, &s);
		less = math_real(m, LOW_MUL, s, less);
		less = math_real(m, LOW_SUB, less, half);
	}
	less = math_real(m, LOW_MUL, less, math_number(m, inverse));
	less = math_product_sum(m, f, math_number(m, inverse - 1), less);
	int y = math_product_sum(m, p.exponent, math_number(m, p.unit), f);
	return math_real(m, LOW_ADD, y, less);
}

/* Some lane is no number, infinite, or not above all denormal ones. */
static int is_special(Vectors m, int x)
{
	int normal = emit_op(m.l, LOW_AND, DT_BOOL, m.lanes,
	    math_compare(m, LOW_LE, math_number(m, least_normal(m)), x),
	    below(m, x, math_number(m, INFINITY)), -1, "m");
	int special =
	    emit_op(m.l, LOW_NOT, DT_BOOL, m.lanes, normal, -1, -1, "m");
	return emit_op(m.l, LOW_ANY, DT_BOOL, 1, special, -1, -1, "special");
}

static int64_t log_middle(Vectors m)
{
	return m.type == DT_F32 ? 0x3f2aaaab : INT64_C(0x3fe6a09e667f3bcd);
}

/* What is special is a third of the work, and rare: a CPU jumps over it.  Where
 * x does not vary there is no branch, which would not leave the loop. */
static int vector_log(
    Vectors m, int x, int (*of_parts)(Vectors m, Parts p))
{
	int64_t middle = log_middle(m);
	if (m.l->machine->gpu || !math_varies(m.l, x))
		return of_any(m, x, of_parts(m, math_parts(m, x, middle)));
	int y = new_temp(m.l, m.type, m.lanes, "log");
	int any = new_temp(m.l, m.type, m.lanes, "any");
	emit_into(m.l, y, LOW_COPY,
	    of_parts(m, parts_of_normal(m, x, middle)), -1, -1);
	Branch b;
	branch_begin(m.l, &b, is_special(m, x));
	emit_into(m.l, any, LOW_COPY, x, -1, -1); /* keeps the rest in here */
	emit_into(m.l, y, LOW_COPY,
	    of_any(m, any, of_parts(m, math_parts(m, any, middle))), -1, -1);
	branch_end(m.l, &b);
	return y;
}

/* Of u = 1 + x, and what that lost: it is added to the fraction.  u - 1 is exact
 * below 2^24, of f64 2^53, and 1 is little beyond; from 2^60 on it is nothing.
 * Where u is 1 it is x, as small as that is. */
static int vector_log1p(Vectors m, int x)
{
	int one = math_number(m, 1), u = math_real(m, LOW_ADD, one, x);
	int lost = math_real(m, LOW_SUB, x, math_real(m, LOW_SUB, u, one));
	Parts p = parts_of_normal(m, u, log_middle(m));
	int unit = math_integer(m, (int64_t)bias(m) << exponent_bits(m));
	int scale = math_real(
	    m, LOW_BITS, math_whole(m, LOW_SUB, unit, p.bits), -1);
	int mended = math_product_sum(m, lost, scale, p.fraction);
	p.fraction = math_choose(m,
	    below(m, u, math_number(m, 0x1p60)), mended, p.fraction);
	int y = of_any(m, u, log_of_parts(m, p));
	return math_choose(m, math_compare(m, LOW_EQ, u, one), x, y);
}

/* --- sigmoid, tanh, erf --------------------------------------------------- */

/* Reciprocal roots are estimated by an instruction. */
static bool has_rsqrt(Vectors m)
{
	return m.type == DT_F32 && m.l->machine->rsqrt &&
	    m.l->machine->fma && fits_register(m);
}

/* The reciprocal of an ordinary positive number, off by 2^-13 at most. */
static int near_reciprocal(Vectors m, int x)
{
	if (!has_rsqrt(m))
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
static int vector_sigmoid(Vectors m, int x)
{
	int e = math_real(m, LOW_NEG, math_real(m, LOW_ABS, x, -1), -1);
	e = exp_below(m, e, true);
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
	Rounded n = rounded(m, x, 2.8853900817779268, bias(m));
	int r = math_product_sum(
	    m, n.real, math_number(m, f32 ? -0.34657359 : -0x1.62e42feep-2), x);
	if (!f32)
		r = math_product_sum(
		    m, n.real, math_number(m, -9.54107464635293850e-11), r);
	int power = has_scale(m) ? scaled_where(m, math_number(m, 1), n, -1)
				 : biased_power(m, n.bits);
	int square = math_real(m, LOW_MUL, r, r);
	int p = math_product_sum(m, half_expm1_series(m, r, square), square, r);
	int rest = math_product_sum(
	    m, power, math_number(m, 0.5), math_number(m, -0.5));
	return math_product_sum(m, power, p, rest);
}

/* E/(1 + E), E = (e^2|x| - 1)/2 */
static int vector_tanh(Vectors m, int x)
{
	int size =
	    math_real(m, LOW_MIN, math_number(m, m.type == DT_F32 ? 10 : 22),
		math_real(m, LOW_ABS, x, -1));
	int e = half_expm1_of_twice(m, size);
	return math_with_sign_of(m, x, quotient_by_one_and(m, e, e));
}

static int vector_erf(Vectors m, int x)
{
	int size = math_real(m, LOW_ABS, x, -1), s = math_real(m, LOW_MUL, x, x);
	int high = POLYNOMIAL(m, size, -1.72853470e-5, 3.83197126e-4);
	int low = POLYNOMIAL(m, size, -3.88396438e-3, 2.42546219e-2);
	int r = math_product_sum(m, high, s, low);
	r = math_product_sum(m, r, size, math_number(m, -1.06777877e-1));
	r = math_product_sum(m, r, size, math_number(m, -6.34846687e-1));
	r = math_product_sum(m, r, size, math_number(m, -1.28717512e-1));
	r = math_product_sum(m, r, size, math_real(m, LOW_NEG, size, -1));
	r = math_real(m, LOW_SUB, math_number(m, 1), exp_below(m, r, true));
	int large = math_with_sign_of(m, x, r);
	int p = POLYNOMIAL(m, s, -5.96761703e-4, 4.99119423e-3, -2.67681349e-2,
	    1.12819925e-1, -3.76125336e-1, 1.28379166e-1);
	p = math_product_sum(m, p, x, x);
	return math_choose(
	    m, below(m, math_number(m, 0.927734375), size), large, p);
}

/* --- rsqrt ---------------------------------------------------------------- */

/* An estimate y and a step of Newton's, y + y/2*(1 - x*y*y), which is right to 1
 * ulp; of 0 and infinity, where that is NaN, the estimate.  A root and a
 * division of a vector take four times as long. */
static int vector_rsqrt(Vectors m, int x)
{
	if (!has_rsqrt(m))
		return -1;
	int y = math_real(m, LOW_RSQRT, x, -1);
	int minus = math_real(m, LOW_NEG, math_real(m, LOW_MUL, x, y), -1);
	int off = math_product_sum(m, minus, y, math_number(m, 1));
	int half = math_real(m, LOW_MUL, y, math_number(m, 0.5));
	return math_choose(m, math_compare(m, LOW_EQ, off, off),
	    math_product_sum(m, half, off, y), y);
}

/* --- all ------------------------------------------------------------------ */

/* A GPU has no libm. */
bool math_is_own(const Lower *l, int lanes)
{
	return lanes > 1 || l->machine->gpu;
}

int math_vector(Lower *l, Op function, DType type, int x, int y, int lanes,
    bool peak)
{
	Vectors m = {l, lanes, type};
	if (type != DT_F32 && type != DT_F64)
		return -1;
	switch (function) {
	case OP_EXP:
		return exp_below(m, x, peak && type == DT_F32 && has_scale(m));
	case OP_EXP2: return math_exp2(m, x);
	case OP_EXPM1: return math_expm1(m, x);
	case OP_SINH: return math_sinh(m, x);
	case OP_COSH: return math_cosh(m, x);
	case OP_LOG: return vector_log(m, x, log_of_parts);
	case OP_LOG2: return vector_log(m, x, log2_of_parts);
	case OP_LOG1P: return vector_log1p(m, x);
	case OP_TANH: return vector_tanh(m, x);
	case OP_SIGMOID: return vector_sigmoid(m, x);
	case OP_ERF:
		return type == DT_F32 ? vector_erf(m, x)
		    : l->machine->no_libm ? math_erf_f64(m, x) : -1;
	case OP_RSQRT: return vector_rsqrt(m, x);
	case OP_SIN: return math_sin(m, x, false);
	case OP_COS: return math_sin(m, x, true);
	case OP_TAN: return math_tan(m, x);
	case OP_ASIN: return math_asin(m, x);
	case OP_ACOS: return math_acos(m, x);
	case OP_ATAN: return math_atan(m, x);
	case OP_ATAN2: return math_atan2(m, x, y);
	default: return -1;
	}
}
