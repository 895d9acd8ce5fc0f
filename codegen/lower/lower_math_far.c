/* What needs more than one float holds, where there is no libm to leave it to:
 * sines of large numbers, powers and erf of f64.
 *
 * A large x is taken apart into digits of 24 bits, x = d5 2^120 + ... + d0, at
 * most two of which are not 0.  Each times 2^(24k) * 2/pi, of which whole fours
 * are left out, in three parts that make exact products in f64: their sum is the
 * number of quarters of a turn, and a rest (as Payne and Hanek, "Radian reduction
 * for trigonometric functions", 1983, by floats).  f64 has too many such parts:
 * there the digits of 2/pi that matter are chosen by x's exponent, and
 * multiplied as in school.
 *
 * A logarithm of f64 for a power has 2^-64 as its error: a sum of two f64, by
 * products whose rest a fused multiply-add gives (T. Dekker, "A floating-point
 * technique for extending the available precision", 1971). */
#include "codegen/lower/lower_math.h"

#include <assert.h>
#include <math.h>

static int converted(Vectors m, DType type, int x)
{
	return emit_op(m.l, LOW_CONVERT, type, m.lanes, x, -1, -1, "m");
}

static int whole_part(Vectors m, int x)
{
	Key key = {.op = LOW_MATH,
	    .type = m.type,
	    .lanes = m.lanes,
	    .arg = {x, -1, -1},
	    .math = OP_FLOOR};
	return emit_pure(m.l, &key, "m");
}

/* a - b */
static int less(Vectors m, int a, int b)
{
	return math_real(m, LOW_SUB, a, b);
}

/* --- two for one ------------------------------------------------------------- */

/* A sum of two, the second of which is less than the first's last place. */
typedef struct {
	int high, low;
} Pair;

/* a is 0, or at least as large as b. */
static Pair sum_of(Vectors m, int a, int b, int low)
{
	int high = math_real(m, LOW_ADD, a, b);
	int lost = math_real(m, LOW_ADD, less(m, a, high), b);
	return (Pair){high, math_real(m, LOW_ADD, lost, low)};
}

static int negative(Vectors m, int x)
{
	return math_real(m, LOW_NEG, x, -1);
}

static Pair product_of(Vectors m, Pair a, Pair b)
{
	int high = math_real(m, LOW_MUL, a.high, b.high);
	int low = math_product_sum(m, a.high, b.high, negative(m, high));
	low = math_product_sum(m, a.high, b.low, low);
	return (Pair){high, math_product_sum(m, a.low, b.high, low)};
}

static Pair constant(Vectors m, double high, double low)
{
	return (Pair){math_number(m, high), math_number(m, low)};
}

/* --- quarters of a turn ------------------------------------------------------ */

enum { DIGITS = 6, PARTS = 3 };

/* 2^(24k) * 2/pi, more or less a multiple of 4: 26 bits behind the point, 28
 * more, the rest. */
static const double turns[DIGITS][PARTS] = {
    {0x1.45f307p-1, -0x1.1b1bbecp-28, 0x1.29fc2757d1f53p-56},
    {-0x1.236378p-1, 0x1.529fc28p-28, -0x1.505c1596447e5p-57},
    {0x1.529fc4p-4, -0x1.8a82e0cp-28, 0x1.34ddc0db6295ap-56},
    {0x1.3abe9p-3, -0x1.596448p-29, 0x1.b6c52b3278872p-57},
    {0x1.f534ddcp+0, 0x1.b6c528p-33, 0x1.993c439041fe5p-56},
    {0x1.c0db628p+0, 0x1.5993c44p-28, -0x1.bef806ba71508p-58},
};

/* Of |x|; infinity leaves NaN. */
static void take_apart(Vectors d, int x, int digits[DIGITS])
{
	for (int k = DIGITS - 1; k > 0; k--) {
		int scaled = math_real(
		    d, LOW_MUL, x, math_number(d, ldexp(1, -24 * k)));
		digits[k] = whole_part(d, scaled);
		x = math_product_sum(
		    d, digits[k], math_number(d, -ldexp(1, 24 * k)), x);
	}
	digits[0] = x;
}

static int far_turn_f32(Vectors m, int x, int *quarter, int *low)
{
	Vectors d = {m.l, m.lanes, DT_F64};
	int digits[DIGITS], sums[PARTS];
	x = converted(d, DT_F64, math_real(m, LOW_ABS, x, -1));
	take_apart(d, x, digits);
	for (int i = 0; i < PARTS; i++) {
		sums[i] = math_number(d, 0);
		for (int k = 0; k < DIGITS; k++)
			sums[i] = math_product_sum(d, digits[k],
			    math_number(d, turns[k][i]), sums[i]);
	}
	Rounded n =
	    math_rounded(d, math_real(d, LOW_ADD, sums[0], sums[1]), 1);
	int rest = less(d, sums[0], n.real);
	rest = math_real(d, LOW_ADD, rest, sums[1]);
	rest = math_real(d, LOW_ADD, rest, sums[2]);
	*quarter = converted(m, DT_I32,
	    math_whole(d, LOW_MOD, math_rounded_integer(d, n),
		math_integer(d, 4)));
	rest = math_real(d, LOW_MUL, rest, math_number(d, 1.57079632679489662));
	int high = converted(m, DT_F32, rest);
	*low = converted(m, DT_F32, less(d, rest, converted(d, DT_F64, high)));
	return high;
}

/* --- of f64 ------------------------------------------------------------------ */

/* 2/pi, 24 bits each. */
static const int digits_of_turn[] = {
    0xa2f983, 0x6e4e44, 0x1529fc, 0x2757d1, 0xf534dd, 0xc0db62, 0x95993c,
    0x439041, 0xfe5163, 0xabdebb, 0xc561b7, 0x246e3a, 0x424dd2, 0xe00649,
    0x2eea09, 0xd1921c, 0xfe1deb, 0x1cb129, 0xa73ee8, 0x8235f5, 0x2ebb44,
    0x84e99c, 0x7026b4, 0x5f7e41, 0x3991d6, 0x398353, 0x39f49c, 0x845f8b,
    0xbdf928, 0x3b1ff8, 0x97ffde, 0x05980f, 0xef2f11, 0x8b5a0a, 0x6d1f6d,
    0x367ecf, 0x27cb09, 0xb74f46, 0x3f669e, 0x5fea2d, 0x7527ba, 0xc7ebe5,
    0xf17b3d, 0x0739f7, 0x8a5292, 0xea6bfb, 0x5fb11f, 0x8d5d08};

/* Those of 2/pi that x = 2^(24v) z needs, 2^24 <= z < 2^48, are BEFORE ahead of
 * the v-th and so on: those ahead of them make whole fours, those behind are too
 * small.  A sum of products of z's digits with them is a column. */
enum { COLUMNS = 7, OWN = 4, BEFORE = 3, WINDOW = COLUMNS + OWN - 1,
	MOST_SKIPPED = 41,
	STORED = sizeof digits_of_turn / sizeof *digits_of_turn };

static int stored(Vectors m, int i)
{
	return math_number(m, i < BEFORE || i >= STORED + BEFORE
		? 0 : digits_of_turn[i - BEFORE]);
}

/* The digits from `skipped` on, by the bits of that number, highest first. */
static void choose_digits(Vectors m, int skipped, int window[WINDOW])
{
	int all[WINDOW + 63];
	for (int i = 0; i < WINDOW + 63; i++)
		all[i] = stored(m, i);
	for (int bit = 32; bit; bit /= 2) {
		int b = math_whole(m, LOW_MOD,
		    math_whole(m, LOW_FLOORDIV, skipped, math_integer(m, bit)),
		    math_integer(m, 2));
		b = math_compare(m, LOW_EQ, b, math_integer(m, 1));
		for (int i = 0; i < WINDOW + bit - 1; i++)
			all[i] = math_choose(m, b, all[i + bit], all[i]);
	}
	for (int i = 0; i < WINDOW; i++)
		window[i] = all[i];
}

/* x without its last 24 bits before the point, which stay in *rest. */
static int upper(Vectors m, int x, int *rest)
{
	int high = whole_part(
	    m, math_real(m, LOW_MUL, x, math_number(m, 0x1p-24)));
	*rest = math_product_sum(m, high, math_number(m, -0x1p24), x);
	return high;
}

/* v of x = 2^(24v) z, and z's digits, the first of which counts 2^24: below
 * 2^24 v is 0. */
static int own_digits(Vectors m, int x, int own[OWN])
{
	int64_t one = INT64_C(1) << 52;
	int e = math_whole(m, LOW_FLOORDIV, math_whole(m, LOW_BITS, x, -1),
	    math_integer(m, one));
	int v = math_whole(m, LOW_FLOORDIV,
	    math_whole(m, LOW_SUB, e, math_integer(m, 1023 + 24)),
	    math_integer(m, 24));
	v = math_whole(m, LOW_MAX, math_integer(m, 0), v);
	v = math_whole(m, LOW_MIN, math_integer(m, MOST_SKIPPED), v);
	int power = math_whole(m, LOW_SUB, math_integer(m, 1023),
	    math_whole(m, LOW_MUL, v, math_integer(m, 24)));
	power = math_whole(m, LOW_MUL, power, math_integer(m, one));
	x = math_real(m, LOW_MUL, x, math_real(m, LOW_BITS, power, -1));
	own[0] = upper(m, x, &x);
	for (int i = 1; i < OWN - 1; i++) {
		own[i] = whole_part(m, x);
		x = math_real(m, LOW_MUL, less(m, x, own[i]),
		    math_number(m, 0x1p24));
	}
	own[OWN - 1] = x;
	return v;
}

/* 24 bits in each column, what is more in the one before it. */
static void carry(Vectors m, int columns[COLUMNS])
{
	for (int c = COLUMNS - 1; c > 0; c--) {
		int more = upper(m, columns[c], &columns[c]);
		columns[c - 1] =
		    math_real(m, LOW_ADD, columns[c - 1], more);
	}
}

/* The columns behind the point, times pi/2. */
static Pair rest_of(Vectors m, const int columns[COLUMNS], int up)
{
	int low = math_number(m, 0), high;
	for (int c = COLUMNS - 1; c > 3; c--)
		low = math_real(m, LOW_MUL,
		    math_real(m, LOW_ADD, low, columns[c]),
		    math_number(m, 0x1p-24));
	low = math_real(m, LOW_MUL, low, math_number(m, 0x1p-72));
	int middle = math_product_sum(m, columns[2], math_number(m, 0x1p24),
	    columns[3]);
	middle = math_real(m, LOW_MUL, middle, math_number(m, 0x1p-72));
	high = math_real(m, LOW_MUL, columns[1], math_number(m, 0x1p-24));
	high = math_choose(m, up, less(m, high, math_number(m, 1)), high);
	Pair turn = sum_of(m, high, middle, low);
	Pair r = product_of(m, turn,
	    constant(m, 0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54));
	return sum_of(m, r.high, r.low, math_number(m, 0));
}

static int far_turn_f64(Vectors m, int x, int *quarter, int *low)
{
	int own[OWN], window[WINDOW], columns[COLUMNS];
	int v = own_digits(m, math_real(m, LOW_ABS, x, -1), own);
	choose_digits(m, v, window);
	for (int c = 0; c < COLUMNS; c++) {
		columns[c] = math_number(m, 0);
		for (int i = 0; i < OWN; i++)
			columns[c] = math_product_sum(m, own[i],
			    window[OWN - 1 - i + c], columns[c]);
	}
	carry(m, columns);
	int up = math_compare(m, LOW_LT, math_number(m, 0x1p23 - 1),
	    columns[1]);
	int whole;
	upper(m, columns[0], &whole);
	Rounded n = math_rounded(m, whole, 1);
	*quarter = math_rounded_integer(m, n);
	*quarter = math_whole(m, LOW_ADD, *quarter,
	    emit_op(m.l, LOW_SELECT, DT_I64, m.lanes, up, math_integer(m, 1),
		math_integer(m, 0), "m"));
	Pair rest = rest_of(m, columns, up);
	*low = rest.low;
	return rest.high;
}

int math_far_turn(Vectors m, int x, int *quarter, int *low)
{
	assert(m.l->machine->fma);
	return m.type == DT_F32 ? far_turn_f32(m, x, quarter, low)
				: far_turn_f64(m, x, quarter, low);
}

/* --- powers of f64 ----------------------------------------------------------- */

/* f/(2 + f) */
static Pair ratio(Vectors m, int f)
{
	int two = math_number(m, 2), t = math_real(m, LOW_ADD, f, two);
	int lost = less(m, f, less(m, t, two));
	int s = math_real(m, LOW_DIV, f, t), minus = negative(m, s);
	int rest = math_product_sum(m, minus, t, f);
	rest = math_product_sum(m, minus, lost, rest);
	return (Pair){s, math_real(m, LOW_DIV, rest, t)};
}

/* log2 of x = 2^k (1 + f), 1 + f around 1 by a factor of sqrt 2: with s =
 * f/(2 + f), k + 2/log 2 * s (1 + s^2/3 + s^4/5 ...) */
static Pair log2_of(Vectors m, int x)
{
	Parts p = math_parts(m, x, 0x3fe6a09e667f3bcd);
	Pair s = ratio(m, p.fraction), z = product_of(m, s, s);
	int q = POLYNOMIAL(m, z.high, 0.05862885632289714, 0.05852994075885911,
	    0.06667406985750578, 0.07692297395878821, 0.09090909168496313,
	    0.1111111111082441, 0.1428571428571469, 0.2);
	int tail = math_real(
	    m, LOW_MUL, math_real(m, LOW_MUL, z.high, z.high), q);
	Pair third =
	    product_of(m, z, constant(m, 0x1.5555555555555p-2,
				 0x1.5555555555555p-56));
	Pair series = sum_of(m, third.high, tail, third.low);
	series = sum_of(m, math_number(m, 1), series.high, series.low);
	Pair y = product_of(m, product_of(m, s, series),
	    constant(m, 0x1.71547652b82fep+1, 0x1.777d0ffda0d24p-55));
	return sum_of(m, p.exponent, y.high, y.low);
}

int math_power_f64(Vectors m, int size, int y)
{
	int zero = math_number(m, 0), infinity = math_number(m, INFINITY);
	Pair l = log2_of(m, size);
	Pair w = product_of(m, (Pair){y, zero}, l);
	int most = math_number(m, 1100), least = math_number(m, -1100);
	int t = math_real(m, LOW_MIN, most, w.high);
	t = math_real(m, LOW_MAX, least, t);
	int inside = math_compare(m, LOW_EQ, t, w.high);
	Rounded n = math_rounded(m, t, 1);
	int rest = math_real(m, LOW_ADD, less(m, t, n.real),
	    math_choose(m, inside, w.low, zero));
	int p = math_exp_of_small(m,
	    math_real(m, LOW_MUL, rest, math_number(m, 0.69314718055994531)));
	p = math_scaled(m, p, n);
	int down = math_compare(m, LOW_LT, y, zero);
	p = math_choose(m, math_compare(m, LOW_EQ, size, zero),
	    math_choose(m, down, infinity, zero), p);
	return math_choose(m, math_compare(m, LOW_EQ, size, infinity),
	    math_choose(m, down, zero, infinity), p);
}

/* --- erf of f64 -------------------------------------------------------------- */

/* x + x P(x^2); beyond 0.85 1 - e^(-x^2) Q((|x| - 2)/(|x| + 2)), and 1 beyond
 * 6.  The polynomials interpolate at Chebyshev's points. */
int math_erf_f64(Vectors m, int x)
{
	int size = math_real(m, LOW_ABS, x, -1), two = math_number(m, 2);
	int s = math_real(m, LOW_MUL, x, x);
	int near = POLYNOMIAL(m, s, 1.0675693706713948e-08,
	    -1.5697115571004142e-07, 1.6399123262977372e-06,
	    -1.4921921653420798e-05, 0.00012055190337021296,
	    -0.0008548323506677763, 0.00522397757126982, -0.026866170640255645,
	    0.11283791670932594, -0.3761263890318335, 0.12837916709551256);
	near = math_product_sum(m, near, x, x);
	/* NaN stays: of it and 6 the minimum is the second */
	int a = math_real(m, LOW_MIN, math_number(m, 6), size);
	int t = math_real(m, LOW_DIV, less(m, a, two),
	    math_real(m, LOW_ADD, a, two));
	int q = POLYNOMIAL(m, t, -4.512949866725018e-07, -4.944708114188606e-07,
	    1.1775530757103139e-06, 3.773157758938236e-06,
	    1.3963599608491244e-06, -1.3965294589044413e-05,
	    -2.7580747498539236e-05, 2.752522569405997e-05,
	    0.0001743612573873204, 4.355561578074945e-05,
	    -0.0009819770315264798, -0.0008471432513544934,
	    0.006997461739336953, 0.0037328924043356316, -0.07897858101573378,
	    0.2416581942424664, -0.4271858474139584, 0.25539567631050575);
	int e = math_exp(m, negative(m, math_real(m, LOW_MUL, a, a)));
	int far = math_product_sum(m, negative(m, e), q, math_number(m, 1));
	far = math_choose(m, math_compare(m, LOW_LT, x, math_number(m, 0)),
	    negative(m, far), far);
	return math_choose(
	    m, math_compare(m, LOW_LT, math_number(m, 0.85), size), far, near);
}
