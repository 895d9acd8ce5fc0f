/* asin, acos, atan and atan2 of vectors of f32 and f64, without a branch: an odd
 * polynomial x + x^3 P(x^2) of |x| up to a half, interpolated at Chebyshev's
 * points.  What is larger is taken there first (Cody and Waite, "Software Manual
 * for the Elementary Functions", 1980):
 *
 *     asin x = pi/2 - 2 asin sqrt((1 - x)/2)
 *     atan x = pi/4 + atan((x - 1)/(x + 1)), pi/2 - atan(1/x)
 *
 * Multiples of pi/4 are sums of two numbers, the second of which is added to what
 * is small.  NaN, infinities, -0 and denormals come out as libm has them. */
#include "codegen/lower/lower_math.h"

#include <math.h>

static int add(Vectors m, int a, int b)
{
	return math_real(m, LOW_ADD, a, b);
}

static int less(Vectors m, int a, int b)
{
	return math_real(m, LOW_SUB, a, b);
}

static int times(Vectors m, int a, int b)
{
	return math_real(m, LOW_MUL, a, b);
}

static int below(Vectors m, int a, int b)
{
	return math_compare(m, LOW_LT, a, b);
}

/* n*pi/4 as the nearest float, and what is missing. */
static int quarters(Vectors m, int n, bool rest)
{
	static const double high[] = {0, 0x1.921fb54442d18p-1,
	    0x1.921fb54442d18p+0, 0x1.2d97c7f3321d2p+1, 0x1.921fb54442d18p+1};
	static const double low[] = {0, 0x1.1a62633145c07p-55,
	    0x1.1a62633145c07p-54, 0x1.a79394c9e8a0ap-54,
	    0x1.1a62633145c07p-53};
	double as_float = (double)(float)high[n];
	if (m.type == DT_F64)
		return math_number(m, rest ? low[n] : high[n]);
	return math_number(m, rest ? high[n] - as_float : as_float);
}

/* --- asin, acos ------------------------------------------------------------- */

/* Of |x| at most a half x itself, else the root: asin of it is what there is and
 * `more`. */
typedef struct {
	int small, root, more;
} Sine;

static Sine sine_of(Vectors m, int x, int signed_x)
{
	Sine s = {.small = math_compare(m, LOW_LE, x, math_number(m, 0.5))};
	int half = times(m, less(m, math_number(m, 1), x), math_number(m, 0.5));
	int z = math_choose(m, s.small, times(m, x, x), half);
	Key root = {.op = LOW_MATH,
	    .type = m.type,
	    .lanes = m.lanes,
	    .arg = {z, -1, -1},
	    .math = OP_SQRT};
	s.root = math_choose(m, s.small, signed_x, emit_pure(m.l, &root, "m"));
	int p = m.type == DT_F32
	    ? POLYNOMIAL(m, z, 0.0336908475, 0.0171492379, 0.0311006624,
		  0.0445994027, 0.0750009418, 0.166666657)
	    : POLYNOMIAL(m, z, 0.028757851367421566, -0.014851887071247204,
		  0.017400879442694021, 0.0054575067186403581,
		  0.010322814350185779, 0.011479177415184906,
		  0.013971212973552933, 0.017352392720869973,
		  0.022372172942149889, 0.030381944138531247,
		  0.044642857146355429, 0.074999999999984329,
		  0.16666666666666669);
	s.more = times(m, times(m, s.root, z), p);
	return s;
}

int math_asin(Vectors m, int x)
{
	int size = math_real(m, LOW_ABS, x, -1);
	Sine s = sine_of(m, size, size);
	int twice = add(m, s.more, s.more);
	int large = add(m, add(m, s.root, s.root),
	    less(m, twice, quarters(m, 2, true)));
	return math_with_sign_of(m, x,
	    math_choose(m, s.small, add(m, s.root, s.more),
		less(m, quarters(m, 2, false), large)));
}

int math_acos(Vectors m, int x)
{
	int high = quarters(m, 2, false), low = quarters(m, 2, true);
	Sine s = sine_of(m, math_real(m, LOW_ABS, x, -1), x);
	int small = less(m, high, less(m, s.root, less(m, low, s.more)));
	int positive = add(m, s.root, s.more);
	int negative =
	    less(m, high, add(m, s.root, less(m, s.more, low)));
	int half = math_choose(
	    m, below(m, x, math_number(m, 0)), negative, positive);
	/* of what is no number the comparison fails: it is in both */
	return math_choose(m, s.small, small, add(m, half, half));
}

/* --- atan ------------------------------------------------------------------- */

/* t^3 P(t^2), |t| at most a half */
static int beyond_first(Vectors m, int t)
{
	int z = times(m, t, t);
	int p = m.type == DT_F32
	    ? POLYNOMIAL(m, z, 0.0422568582, -0.0823550597, 0.110068806,
		  -0.142798007, 0.199998751, -0.333333343)
	    : POLYNOMIAL(m, z, -0.0092157920470898585, 0.025006503566489507,
		  -0.038066536720573661, 0.046280248685701533,
		  -0.052400995079947131, 0.058795784295824251,
		  -0.066664356772359476, 0.076922947125402846,
		  -0.090909086203225228, 0.11111111100917376,
		  -0.14285714285599188, 0.19999999999999488,
		  -0.33333333333333331);
	return times(m, times(m, t, z), p);
}

/* high + low + atan t, where high is 0 or larger than t */
static int added_to(Vectors m, int high, int low, int t)
{
	int sum = add(m, high, t), lost = add(m, less(m, high, sum), t);
	low = add(m, low, beyond_first(m, t));
	return add(m, sum, add(m, lost, low));
}

int math_atan(Vectors m, int x)
{
	int size = math_real(m, LOW_ABS, x, -1), one = math_number(m, 1);
	int middle = below(m, math_number(m, 0.5), size);
	int large = below(m, math_number(m, 2.414), size);
	int above = math_choose(m, middle, less(m, size, one), size);
	int under = math_choose(m, middle, add(m, size, one), one);
	above = math_choose(m, large, math_number(m, -1), above);
	under = math_choose(m, large, size, under);
	int base[2];
	for (int i = 0; i < 2; i++)
		base[i] = math_choose(m, large, quarters(m, 2, i),
		    math_choose(
			m, middle, quarters(m, 1, i), quarters(m, 0, i)));
	int t = math_real(m, LOW_DIV, above, under);
	return math_with_sign_of(m, x, added_to(m, base[0], base[1], t));
}

/* The lesser and the greater size: two that are infinite are equal, and a sum of
 * them stays finite. */
static void ordinary(Vectors m, int *less_one, int *greater)
{
	int one = math_number(m, 1), zero = math_number(m, 0);
	int infinite =
	    math_compare(m, LOW_EQ, *greater, math_number(m, INFINITY));
	int both = math_compare(m, LOW_EQ, *less_one, *greater);
	*less_one = math_choose(
	    m, infinite, math_choose(m, both, one, zero), *less_one);
	*greater = math_choose(m, infinite, one, *greater);
	int huge = below(
	    m, math_number(m, m.type == DT_F32 ? 0x1p120 : 0x1p1000), *greater);
	int scale = math_choose(m, huge, math_number(m, 0x1p-8), one);
	*less_one = times(m, *less_one, scale);
	*greater = times(m, *greater, scale);
}

/* Of y/x or x/y, whichever is at most 1, from the axis that is nearest. */
int math_atan2(Vectors m, int y, int x)
{
	int across = math_real(m, LOW_ABS, x, -1);
	int up = math_real(m, LOW_ABS, y, -1);
	int steep = below(m, across, up);
	int left = math_compare(m, LOW_LT, math_whole(m, LOW_BITS, x, -1),
	    math_integer(m, 0));
	int greater = math_choose(m, steep, up, across);
	int small = math_choose(m, steep, across, up);
	ordinary(m, &small, &greater);
	int middle =
	    below(m, times(m, greater, math_number(m, 0.5)), small);
	int above = math_choose(m, middle, less(m, small, greater), small);
	int under = math_choose(m, middle, add(m, small, greater), greater);
	int none = math_compare(m, LOW_EQ, under, math_number(m, 0));
	under = math_choose(m, none, math_number(m, 1), under);
	int t = math_real(m, LOW_DIV, above, under);
	int back = emit_op(m.l, LOW_NE, DT_BOOL, m.lanes, steep, left, -1, "m");
	t = math_choose(m, back, math_real(m, LOW_NEG, t, -1), t);
	int base[2];
	for (int i = 0; i < 2; i++) {
		int diagonal = math_choose(
		    m, left, quarters(m, 3, i), quarters(m, 1, i));
		int axis = math_choose(
		    m, left, quarters(m, 4, i), quarters(m, 0, i));
		axis = math_choose(m, steep, quarters(m, 2, i), axis);
		base[i] = math_choose(m, middle, diagonal, axis);
	}
	int angle =
	    math_with_sign_of(m, y, added_to(m, base[0], base[1], t));
	int known = emit_op(m.l, LOW_AND, DT_BOOL, m.lanes,
	    math_compare(m, LOW_EQ, x, x), math_compare(m, LOW_EQ, y, y), -1,
	    "m");
	return math_choose(m, known, angle, add(m, x, y));
}
