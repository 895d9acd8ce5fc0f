/* Logarithms of vectors of f32 and f64: of x = 2^n (1 + f) they are
 *
 *     n log 2 + log(1 + f)
 *
 * the second with the minimax polynomial of N. Juffa's my_logf, or by a series of
 * f/(2 + f) in f64. */
#include "codegen/lower/lower_math.h"

#include <math.h>

static int below(Vectors m, int a, int b)
{
	return math_compare(m, LOW_LT, a, b);
}

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
	int64_t one = INT64_C(1) << math_exponent_bits(m);
	int e = math_whole(m, LOW_SUB, bits, math_integer(m, middle)), k;
	e = math_whole(
	    m, LOW_SUB, e, math_whole(m, LOW_MOD, e, math_integer(m, one)));
	if (f32) {
		k = math_real(m, LOW_CONVERT, e, -1);
	} else { /* few machines convert i64: exact in the low bits of 2^52 */
		k = math_whole(m, LOW_ADD, e, math_integer(m, one * 1023));
		k = math_whole(m, LOW_FLOORDIV, k, math_integer(m, one));
		k = math_whole(
		    m, LOW_ADD, k, math_integer(m, 0x4330000000000000));
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
	int even = POLYNOMIAL(
	    m, s, -0.130310059, -0.121484190, -0.166846052, -0.249996200);
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
	int s = math_real(
	    m, LOW_DIV, f, math_real(m, LOW_ADD, f, math_number(m, 2)));
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
	int low =
	    math_real(m, LOW_MUL, k, math_number(m, 1.90821492927058770e-10));
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
static int vector_log(Vectors m, int x, int (*of_parts)(Vectors m, Parts p))
{
	int64_t middle = log_middle(m);
	if (m.l->machine->gpu || !math_varies(m.l, x))
		return of_any(m, x, of_parts(m, math_parts(m, x, middle)));
	int y = new_temp(m.l, m.type, m.lanes, "log");
	int any = new_temp(m.l, m.type, m.lanes, "any");
	emit_into(m.l, y, LOW_COPY, of_parts(m, parts_of_normal(m, x, middle)),
	    -1, -1);
	Branch b;
	branch_begin(m.l, &b, is_special(m, x));
	emit_into(m.l, any, LOW_COPY, x, -1, -1); /* keeps the rest in here */
	emit_into(m.l, y, LOW_COPY,
	    of_any(m, any, of_parts(m, math_parts(m, any, middle))), -1, -1);
	branch_end(m.l, &b);
	return y;
}

int math_log(Vectors m, int x)
{
	return vector_log(m, x, log_of_parts);
}

int math_log2(Vectors m, int x)
{
	return vector_log(m, x, log2_of_parts);
}

/* Of u = 1 + x, and what that lost: it is added to the fraction.  u - 1 is exact
 * below 2^24, of f64 2^53, and 1 is little beyond; from 2^60 on it is nothing.
 * Where u is 1 it is x, as small as that is. */
int math_log1p(Vectors m, int x)
{
	int one = math_number(m, 1), u = math_real(m, LOW_ADD, one, x);
	int lost = math_real(m, LOW_SUB, x, math_real(m, LOW_SUB, u, one));
	Parts p = parts_of_normal(m, u, log_middle(m));
	int unit =
	    math_integer(m, (int64_t)math_bias(m) << math_exponent_bits(m));
	int scale =
	    math_real(m, LOW_BITS, math_whole(m, LOW_SUB, unit, p.bits), -1);
	int mended = math_product_sum(m, lost, scale, p.fraction);
	p.fraction = math_choose(
	    m, below(m, u, math_number(m, 0x1p60)), mended, p.fraction);
	int y = of_any(m, u, log_of_parts(m, p));
	return math_choose(m, math_compare(m, LOW_EQ, u, one), x, y);
}
