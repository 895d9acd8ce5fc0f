/* pow: by multiplications, roots and a reciprocal where the exponent is a few
 * quarters; of vectors of f32 as 2^(y log2 |x|), the product of which is taken in
 * f64, a vector of the machine's width at a time:
 *
 *     y = MATH pow x 3        ->     (x*x)*x
 *
 * What has no logarithm comes out as libm has it: |x| in {0, 1, inf, NaN}, and
 * x < 0, whose power has the sign of x where y is odd and none where y is no
 * integer. */
#include "codegen/lower/lower_math.h"

#include <assert.h>
#include <math.h>

/* --- of a number --------------------------------------------------------- */

static Value scalar_or_vector(Lower *l, LowOpcode op, Value a, int x, int y)
{
	return value_temp(
	    a.type, a.lanes, emit_op(l, op, a.type, a.lanes, x, y, -1, "m"));
}

/* The square root, but +0 of -0 and +inf of -inf. */
static Value root(Lower *l, Value x)
{
	int t = value_as(l, x, x.lanes);
	int zero = const_float(l, x.type, x.lanes, 0);
	int low = const_float(l, x.type, x.lanes, -INFINITY);
	int high = const_float(l, x.type, x.lanes, INFINITY);
	Key key = {.op = LOW_MATH,
	    .type = x.type,
	    .lanes = x.lanes,
	    .arg = {emit_op(l, LOW_ADD, x.type, x.lanes, t, zero, -1, "m"), -1,
		-1},
	    .math = OP_SQRT};
	int y = emit_pure(l, &key, "root");
	int is_low = emit_op(l, LOW_EQ, DT_BOOL, x.lanes, t, low, -1, "m");
	return value_temp(x.type, x.lanes,
	    emit_op(l, LOW_SELECT, x.type, x.lanes, is_low, high, y, "m"));
}

static Value reciprocal(Lower *l, Value x)
{
	return scalar_or_vector(l, LOW_DIV, x,
	    const_float(l, x.type, x.lanes, 1), value_as(l, x, x.lanes));
}

static Value of_two(Lower *l, LowOpcode op, Value x, Value y)
{
	return scalar_or_vector(
	    l, op, x, value_as(l, x, x.lanes), value_as(l, y, y.lanes));
}

static Value whole_power(Lower *l, Value x, int n)
{
	Value square = n > 1 ? of_two(l, LOW_MUL, x, x) : x;
	return n == 3 ? of_two(l, LOW_MUL, square, x)
	    : n == 4  ? of_two(l, LOW_MUL, square, square)
		      : square;
}

/* x to 1/4, 2/4 or 3/4. */
static Value root_power(Lower *l, Value x, int quarters)
{
	Value half = root(l, x);
	Value quarter = quarters == 2 ? half : root(l, half);
	return quarters == 3 ? of_two(l, LOW_MUL, half, quarter) : quarter;
}

/* A power of no whole number has no sign: |x| beside the root, which is NaN where
 * x is negative. */
static bool by_hand(Lower *l, Value x, double y, Value *power)
{
	PowerSteps s;
	if (!power_steps(y, &s))
		return false;
	if (!s.quarters) {
		x = s.inverse ? reciprocal(l, x) : x;
		*power = whole_power(l, x, s.whole);
		return true;
	}
	*power = root_power(l, x, s.quarters);
	if (s.inverse)
		*power = reciprocal(l, *power);
	if (s.whole) {
		int t = value_as(l, x, x.lanes);
		Value size = scalar_or_vector(l, LOW_ABS, x, t, -1);
		*power = of_two(l, s.inverse ? LOW_DIV : LOW_MUL, *power,
		    whole_power(l, size, s.whole));
	}
	return true;
}

/* --- parts of a vector --------------------------------------------------- */

static int lanes_from(Vectors m, int x, int first, int n)
{
	int *order = NEW_N(m.l->arena, int, n);
	for (int i = 0; i < n; i++)
		order[i] = first + i;
	Key key = {.op = LOW_SHUFFLE,
	    .type = m.type,
	    .lanes = n,
	    .arg = {x, -1, -1},
	    .shuffle = order};
	return n == m.lanes ? x : emit_pure(m.l, &key, "part");
}

/* Vectors of n lanes as one. */
static int joined(Vectors m, const int *parts, int count, int n)
{
	int list[64], *order;
	for (int i = 0; i < count; i++)
		list[i] = parts[i];
	for (; count > 1; count /= 2, n *= 2) {
		order = NEW_N(m.l->arena, int, 2 * n);
		for (int i = 0; i < 2 * n; i++)
			order[i] = i;
		for (int i = 0; i < count / 2; i++) {
			Key key = {.op = LOW_SHUFFLE,
			    .type = m.type,
			    .lanes = 2 * n,
			    .arg = {list[2 * i], list[2 * i + 1], -1},
			    .shuffle = order};
			list[i] = emit_pure(m.l, &key, "whole");
		}
	}
	return list[0];
}

static int converted(Vectors m, DType type, int x)
{
	return emit_op(m.l, LOW_CONVERT, type, m.lanes, x, -1, -1, "m");
}

/* --- 2^(y log2 x) -------------------------------------------------------- */

/* y (e + log2(1 + f)) as an integer and a rest of at most a half: out of range
 * it is so far that 2 to it is 0 or infinite. */
static void exponent_part(
    Vectors m, Parts p, int y, int first, int n, int *whole, int *rest)
{
	Vectors d = {m.l, n, DT_F64};
	int f = converted(d, DT_F64, lanes_from(m, p.fraction, first, n));
	int e = converted(d, DT_F64, lanes_from(m, p.exponent, first, n));
	int t = converted(d, DT_F64, lanes_from(m, y, first, n));
	int q = POLYNOMIAL(d, f, 0.077360323768427691, -0.14283056039682435,
	    0.14474859245896804, -0.14315830064375326, 0.15877006286110534,
	    -0.18030046621884757, 0.20617533382554926, -0.24045316973698688,
	    0.28853729430150499, -0.36067367477751905, 0.48089836138687736,
	    -0.72134752086896581, 1.4426950408687176);
	t = math_real(d, LOW_MUL, t, math_product_sum(d, f, q, e));
	t = math_real(d, LOW_MAX, t, math_number(d, -160));
	t = math_real(d, LOW_MIN, t, math_number(d, 160));
	Rounded r = math_rounded(d, t, 1);
	*whole = converted(d, DT_F32, r.real);
	*rest = converted(d, DT_F32, math_real(d, LOW_SUB, t, r.real));
}

static int power_of_size(Vectors m, int size, int y)
{
	int n = m.l->machine->vector_bytes / dtype_bytes(DT_F64);
	int whole[64], rest[64], count = 0;
	Parts p = math_parts(m, size, 0x3f3504f3);
	int zero = math_compare(m, LOW_EQ, size, math_number(m, 0));
	int huge = math_compare(m, LOW_EQ, size, math_number(m, INFINITY));
	p.exponent =
	    math_choose(m, zero, math_number(m, -INFINITY), p.exponent);
	p.exponent = math_choose(m, huge, math_number(m, INFINITY), p.exponent);
	p.fraction = math_choose(m, huge, math_number(m, 0), p.fraction);
	n = n < 2 ? 2 : n;
	n = n > m.lanes ? m.lanes : n;
	for (int i = 0; i < m.lanes; i += n, count++)
		exponent_part(m, p, y, i, n, &whole[count], &rest[count]);
	int g = joined(m, rest, count, n);
	Rounded e = math_rounded(m, joined(m, whole, count, n), 1);
	int q = POLYNOMIAL(m, g, 1.55946997e-4, 1.34066434e-3, 9.61769279e-3,
	    5.55031039e-2, 0.240226522, 0.693147242, 1);
	return math_scaled(m, q, e);
}

/* --- signs and numbers without a logarithm ------------------------------- */

/* Lanes where y is an integer, and an odd one: all beyond 2^24, of f64 2^53, are
 * even. */
typedef struct {
	int integer, odd;
} Parity;

static Parity parity_of(Vectors m, int y)
{
	int size = math_real(m, LOW_ABS, y, -1);
	bool f32 = m.type == DT_F32;
	size = math_real(
	    m, LOW_MIN, size, math_number(m, f32 ? 0x1p24 : 0x1p53));
	int whole = math_whole(m, LOW_CONVERT, size, -1);
	int back = math_real(m, LOW_CONVERT, whole, -1);
	int bit = math_whole(m, LOW_MOD, whole, math_integer(m, 2));
	int integer = math_compare(m, LOW_EQ, back, size);
	int odd = math_compare(m, LOW_EQ, bit, math_integer(m, 1));
	odd = emit_op(m.l, LOW_AND, DT_BOOL, m.lanes, odd, integer, -1, "m");
	return (Parity){integer, odd};
}

/* Of x with a sign, which -0 has, too. */
static int signed_power(Vectors m, int x, int y, int power)
{
	int zero = math_number(m, 0);
	Parity p = parity_of(m, y);
	int negative = math_compare(
	    m, LOW_LT, math_whole(m, LOW_BITS, x, -1), math_integer(m, 0));
	int none = emit_op(m.l, LOW_AND, DT_BOOL, m.lanes,
	    math_compare(m, LOW_LT, x, zero),
	    emit_op(m.l, LOW_NOT, DT_BOOL, m.lanes, p.integer, -1, -1, "m"), -1,
	    "m");
	int finite = math_compare(m, LOW_LT, math_number(m, -INFINITY), x);
	none = emit_op(m.l, LOW_AND, DT_BOOL, m.lanes, none, finite, -1, "m");
	int turned =
	    emit_op(m.l, LOW_AND, DT_BOOL, m.lanes, negative, p.odd, -1, "m");
	power = math_choose(m, turned, math_real(m, LOW_NEG, power, -1), power);
	return math_choose(m, none, math_number(m, NAN), power);
}

static int vector_pow(Vectors m, int x, int y)
{
	int one = math_number(m, 1), zero = math_number(m, 0);
	int size = math_real(m, LOW_ABS, x, -1);
	/* |log2 x| is at least 2^-24, of f64 2^-53: far beyond y does not
	 * matter. */
	double most = m.type == DT_F32 ? 0x1p33 : 0x1p66;
	int t = math_real(m, LOW_MAX, y, math_number(m, -most));
	t = math_real(m, LOW_MIN, t, math_number(m, most));
	int power = m.type == DT_F32 ? power_of_size(m, size, t)
				     : math_power_f64(m, size, t);
	power = signed_power(m, x, y, power);
	int sum = math_real(m, LOW_ADD, x, y);
	int known = emit_op(m.l, LOW_AND, DT_BOOL, m.lanes,
	    math_compare(m, LOW_EQ, x, x), math_compare(m, LOW_EQ, y, y), -1,
	    "m");
	power = math_choose(m, known, power, sum);
	int is_one = emit_op(m.l, LOW_OR, DT_BOOL, m.lanes,
	    math_compare(m, LOW_EQ, x, one), math_compare(m, LOW_EQ, y, zero),
	    -1, "m");
	return math_choose(m, is_one, one, power);
}

/* --- all ----------------------------------------------------------------- */

bool math_pow(Lower *l, Value x, Value y, Value *power)
{
	int lanes = x.lanes > y.lanes ? x.lanes : y.lanes;
	if (y.temp == -1 && by_hand(l, x, y.f, power))
		return true;
	bool known = x.type == DT_F32 ||
	    (x.type == DT_F64 && l->machine->no_libm);
	if (!math_is_own(l, lanes) || !known)
		return false;
	Vectors m = {l, lanes, x.type};
	*power = value_temp(x.type, lanes,
	    vector_pow(m, value_as(l, x, lanes), value_as(l, y, lanes)));
	return true;
}
