/* sin, cos and tan of vectors: x is n times pi/2 and a rest, taken off in three
 * steps whose products are exact; by n % 4 the result is the sine or the cosine
 * of the rest, or less than that (Cody and Waite, "Software Manual for the
 * Elementary Functions", 1980).  Where a lane is too large for three steps, all
 * are left to libm:
 *
 *     y = the above
 *     if bound < |x| of any lane { y = MATH sin x }
 *
 * or, where there is none, to lower_math_far.c. */
#include "codegen/lower/lower_math.h"

typedef struct {
	double bound, half_pi[3];
} Reduction;

static const Reduction reductions[2] = {
    {1e5, {0x1.921fb6p0, -0x1.777a5cp-25, -0x1.ee59dap-50}},
    {1e9,
	{0x1.921fb54442d18p0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110}},
};

static const Reduction *reduction(Vectors m)
{
	return &reductions[m.type == DT_F64];
}

/* r - r^3/6 ... */
static int sine(Vectors m, int r, int s)
{
	int p = m.type == DT_F32
	    ? POLYNOMIAL(m, s, -1.95120199e-4, 8.33213702e-3, -1.66666538e-1)
	    : POLYNOMIAL(m, s, 1.5894600189991092e-10, -2.5050720328503558e-8,
		  2.7557313450872599e-6, -1.9841269829112707e-4,
		  8.3333333333215423e-3, -1.6666666666666630e-1);
	return math_product_sum(m, math_real(m, LOW_MUL, p, s), r, r);
}

/* 1 - s/2 + s^2/24 ..., s = r^2 */
static int cosine_of(Vectors m, int s)
{
	if (m.type == DT_F32)
		return POLYNOMIAL(m, s, 2.44294570e-5, -1.38872839e-3,
		    4.16666456e-2, -0.5, 1);
	int p = POLYNOMIAL(m, s, -1.1358626891399914e-11, 2.0875705722593375e-9,
	    -2.7557314244171915e-7, 2.4801587289207220e-5,
	    -1.3888888888873914e-3, 4.1666666666666602e-2, -0.5);
	return math_product_sum(m, p, s, math_number(m, 1));
}

/* Of so many quarters of a turn, and a rest. */
static int turned(Vectors m, int quarter, int r, bool cosine)
{
	int zero = math_integer(m, 0);
	if (cosine)
		quarter = math_whole(m, LOW_ADD, quarter, math_integer(m, 1));
	int s = math_real(m, LOW_MUL, r, r);
	int odd = math_whole(m, LOW_MOD, quarter, math_integer(m, 2));
	int y = math_choose(m, math_compare(m, LOW_EQ, odd, zero),
	    sine(m, r, s), cosine_of(m, s));
	int third = math_whole(m, LOW_MOD, quarter, math_integer(m, 4));
	int positive = math_compare(m, LOW_LT, third, math_integer(m, 2));
	return math_choose(m, positive, y, math_real(m, LOW_NEG, y, -1));
}

static int reduced(Vectors m, int x, bool cosine)
{
	const double *half_pi = reduction(m)->half_pi;
	Rounded n = math_rounded(m, x, 0x1.45f306dc9c883p-1); /* 2/pi */
	int r = x, quarter = math_rounded_integer(m, n);
	for (int i = 0; i < 3; i++)
		r = math_product_sum(m, n.real, math_number(m, -half_pi[i]), r);
	return turned(m, quarter, r, cosine);
}

/* Of the rest high + low: h + q = tan, or what -1 is divided by it. */
static int tangent(Vectors m, int quarter, int high, int low)
{
	int z = math_real(m, LOW_MUL, high, high), one = math_number(m, 1);
	int p = m.type == DT_F32
	    ? POLYNOMIAL(m, z, 0.00384315033, 0.00118530379, 0.00996215828,
		  0.0216211248, 0.0539944656, 0.133332312, 0.333333343)
	    : POLYNOMIAL(m, z, 3.9496181999391485e-06, -9.7453419245831946e-06,
		  1.9537104752420601e-05, -1.0197545095119892e-05,
		  2.7108804567065087e-05, 3.3928790121006251e-05,
		  9.87687906394128e-05, 0.00023866158662147648,
		  0.00059011273473692186, 0.001455823333667473,
		  0.0035921290225055845, 0.00886323547235803,
		  0.021869488538180697, 0.053968253968216612,
		  0.13333333333333361, 0.33333333333333331);
	int q = math_real(m, LOW_MUL, math_real(m, LOW_MUL, high, z), p);
	int near = math_real(m, LOW_ADD, high, q);
	int slope = math_product_sum(m, near, near, one);
	q = math_product_sum(m, low, slope, q);
	int h = math_real(m, LOW_ADD, high, q);
	q = math_real(m, LOW_ADD, math_real(m, LOW_SUB, high, h), q);
	int inverse = math_real(m, LOW_DIV, math_number(m, -1), h);
	int off = math_product_sum(m, h, inverse, one);
	off = math_product_sum(m, q, inverse, off);
	inverse = math_product_sum(m, inverse, off, inverse);
	int odd = math_whole(m, LOW_MOD, quarter, math_integer(m, 2));
	return math_choose(m,
	    math_compare(m, LOW_EQ, odd, math_integer(m, 0)), h, inverse);
}

/* high and *low are a - n b. */
static int product_taken(Vectors m, int a, int n, int b, int *low)
{
	int p = math_real(m, LOW_MUL, n, b), minus = math_real(m, LOW_NEG, p, -1);
	int rest = math_product_sum(m, n, b, minus);
	int high = math_real(m, LOW_SUB, a, p);
	int taken = math_real(m, LOW_SUB, high, a);
	int of_a = math_real(
	    m, LOW_SUB, a, math_real(m, LOW_SUB, high, taken));
	*low = math_real(
	    m, LOW_SUB, of_a, math_real(m, LOW_ADD, p, taken));
	*low = math_real(m, LOW_SUB, *low, rest);
	return high;
}

/* The first step is exact; what the second rounds away goes with the third. */
static int reduced_tangent(Vectors m, int x)
{
	const double *half_pi = reduction(m)->half_pi;
	Rounded n = math_rounded(m, x, 0x1.45f306dc9c883p-1); /* 2/pi */
	int first =
	    math_product_sum(m, n.real, math_number(m, -half_pi[0]), x);
	int low, high = product_taken(
	    m, first, n.real, math_number(m, half_pi[1]), &low);
	low = math_product_sum(m, n.real, math_number(m, -half_pi[2]), low);
	return tangent(m, math_rounded_integer(m, n), high, low);
}

/* y of |x|, as odd functions have it. */
static int odd_of(Vectors m, int x, int y)
{
	int zero = math_number(m, 0);
	y = math_choose(m, math_compare(m, LOW_LT, x, zero),
	    math_real(m, LOW_NEG, y, -1), y);
	return math_choose(m, math_compare(m, LOW_EQ, x, zero), x, y);
}

/* Any x, by libm or without it. */
static int far_from_zero(Vectors m, int x, Op function)
{
	if (m.l->machine->no_libm) {
		int quarter, low, r = math_far_turn(m, x, &quarter, &low);
		if (function == OP_COS)
			return turned(m, quarter, r, true);
		return odd_of(m, x, function == OP_SIN
			? turned(m, quarter, r, false)
			: tangent(m, quarter, r, low));
	}
	Key key = {.op = LOW_MATH,
	    .type = m.type,
	    .lanes = m.lanes,
	    .arg = {x, -1, -1},
	    .math = function};
	return emit_pure(m.l, &key, "far");
}

static int math_turn(Vectors m, int x, Op function)
{
	if (!m.l->machine->fma)
		return -1;
	int zero = math_compare(m, LOW_EQ, x, math_number(m, 0));
	int fast = function == OP_TAN ? reduced_tangent(m, x)
				      : reduced(m, x, function == OP_COS);
	if (function != OP_COS) /* -0 is -0 */
		fast = math_choose(m, zero, x, fast);
	int size = math_real(m, LOW_ABS, x, -1);
	int far = math_compare(
	    m, LOW_LT, math_number(m, reduction(m)->bound), size);
	int y = new_temp(m.l, m.type, m.lanes, op_name(function));
	emit_into(m.l, y, LOW_COPY, fast, -1, -1);
	Branch b;
	branch_begin(m.l, &b,
	    emit_op(m.l, LOW_ANY, DT_BOOL, 1, far, -1, -1, "far"));
	emit_into(m.l, y, LOW_COPY, far_from_zero(m, x, function), -1, -1);
	branch_end(m.l, &b);
	return y;
}

int math_sin(Vectors m, int x, bool cosine)
{
	return math_turn(m, x, cosine ? OP_COS : OP_SIN);
}

int math_tan(Vectors m, int x)
{
	return math_turn(m, x, OP_TAN);
}
