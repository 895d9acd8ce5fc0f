/* Functions that are made of powers of e or 2, of vectors of f32 and f64: exp2,
 * expm1, sinh and cosh.  With x = n log 2 + r
 *
 *     e^x - 1 = 2 (2^(n-1) (r + r^2 Q) + (2^(n-1) - 1/2))
 *     cosh x = E + 1/(4E), sinh x = E - 1/(4E), E = e^|x|/2
 *
 * where sinh of |x| below 1 is a polynomial, since the difference would lose what
 * matters.  Halves keep what is finite from passing by an infinite number. */
#include "codegen/lower/lower_math.h"

static int below(Vectors m, int a, int b)
{
	return math_compare(m, LOW_LT, a, b);
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
