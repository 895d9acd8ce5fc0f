/* Operations on enclosures: ends from the ends of the operands, then wider by what
 * rounding may add.
 *
 *     [0.9, 1.1] / [-1e-8, 3e-8]     any number, an infinity, NaN
 *     log([-1e-8, 3e-8])             [-inf, -17.3], or NaN
 *
 * Points, as inputs are, whose result the type can hold stay points: 1 / (a - a)
 * is infinite in any kernel.  An operation is off by 2 ulp at most, as functions
 * are; what is subnormal may be 0. */
#include "ir/enclosure.h"

#include <float.h>
#include <math.h>

#include "ir/scalar.h"

static double most(DType type)
{
	return type == DT_F64 ? DBL_MAX : type == DT_F16 ? 65504 : FLT_MAX;
}

static double least_normal(DType type)
{
	return type == DT_F64 ? 0x1p-1022 : type == DT_F16 ? 0x1p-14 : 0x1p-126;
}

/* Operands of products may have 10 bits under --numerics=fast. */
Rounding rounding_of(const Program *program, DType type)
{
	double ulp = dtype_epsilon(type);
	if (type == DT_F32 && program->numerics == NUMERICS_FAST)
		ulp = dtype_epsilon(DT_F16);
	return (Rounding){type, 2 * ulp};
}

Enclosure enclosure_of(double x)
{
	return isnan(x) ? (Enclosure){INFINITY, -INFINITY, true}
			: (Enclosure){x, x, false};
}

Enclosure enclosure_any(void)
{
	return (Enclosure){-INFINITY, INFINITY, true};
}

Enclosure enclosure_either(Enclosure a, Enclosure b)
{
	return (Enclosure){
	    fmin(a.low, b.low), fmax(a.high, b.high), a.nan || b.nan};
}

static bool is_empty(Enclosure a)
{
	return a.low > a.high;
}

bool enclosure_is_point(Enclosure a)
{
	return a.nan ? is_empty(a) : a.low == a.high;
}

bool enclosure_has(Enclosure a, double x)
{
	return isnan(x) ? a.nan : a.low <= x && x <= a.high;
}

double enclosure_size(Enclosure a)
{
	return is_empty(a) ? 0 : fmax(fabs(a.low), fabs(a.high));
}

static double number(Enclosure a)
{
	return a.nan ? NAN : a.low;
}

/* --- rounding ---------------------------------------------------------------- */

/* An end outward, and past what the type can hold. */
static double lower(double x, double error, DType type)
{
	double y = isinf(x) ? x : x - error;
	if (x != 0 && fabs(y) < least_normal(type))
		y = y < 0 ? -least_normal(type) : 0;
	return y < -most(type) ? -INFINITY : fmin(y, isinf(x) ? x : most(type));
}

static double higher(double x, double error, DType type)
{
	return -lower(-x, error, type);
}

/* A point that is no rounding's. */
static bool is_held(double x, DType type)
{
	Scalar held = scalar_convert(type, DT_F64, (Scalar){.d = x});
	return x == 0 ||
	    (type != DT_F64 && fabs(x) >= least_normal(type) &&
		scalar_convert(DT_F64, type, held).d == x);
}

static Enclosure wider(Enclosure a, Rounding r)
{
	if (is_empty(a))
		return a;
	return (Enclosure){lower(a.low, r.share * fabs(a.low), r.type),
	    higher(a.high, r.share * fabs(a.high), r.type), a.nan};
}

Enclosure enclosure_rounded(Enclosure a, Rounding r)
{
	return a.low == a.high && is_held(a.low, r.type) ? a : wider(a, r);
}

Enclosure enclosure_summed(Enclosure a, double size, double terms, Rounding r)
{
	double error = size * terms * r.share / 4;
	if (size > most(r.type))
		return enclosure_any();
	if (is_empty(a))
		return a;
	return (Enclosure){
	    lower(a.low, error, r.type), higher(a.high, error, r.type), a.nan};
}

/* --- arithmetic -------------------------------------------------------------- */

static bool has_infinity(Enclosure a)
{
	return isinf(enclosure_size(a));
}

static Enclosure of_corners(const double *x, int n, bool nan)
{
	Enclosure all = {INFINITY, -INFINITY, nan};
	for (int i = 0; i < n; i++)
		all = enclosure_either(all, enclosure_of(x[i]));
	return all;
}

static Enclosure negative(Enclosure a)
{
	return (Enclosure){-a.high, -a.low, a.nan};
}

static Enclosure sum(Enclosure a, Enclosure b)
{
	bool nan = a.nan || b.nan || (has_infinity(a) && has_infinity(b));
	double low = a.low + b.low, high = a.high + b.high;
	return (Enclosure){
	    isnan(low) ? -INFINITY : low, isnan(high) ? INFINITY : high, nan};
}

static Enclosure product(Enclosure a, Enclosure b)
{
	double x[] = {
	    a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
	bool nan = (has_infinity(a) && enclosure_has(b, 0)) ||
	    (has_infinity(b) && enclosure_has(a, 0));
	return of_corners(x, 4, nan || a.nan || b.nan);
}

static Enclosure quotient(Enclosure a, Enclosure b)
{
	if (enclosure_has(b, 0))
		return enclosure_any();
	double x[] = {
	    a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high};
	return of_corners(x, 4, a.nan || b.nan);
}

static Enclosure greater(Enclosure a, Enclosure b)
{
	if (a.nan || b.nan)
		return enclosure_either(a, b);
	return (Enclosure){fmax(a.low, b.low), fmax(a.high, b.high), false};
}

static Enclosure size_of(Enclosure a)
{
	double low = enclosure_has(a, 0) ? 0 : fmin(fabs(a.low), fabs(a.high));
	return (Enclosure){low, enclosure_size(a), a.nan};
}

/* --- functions --------------------------------------------------------------- */

static double of_number(Op op, double x)
{
	return scalar_math_f64(op, x, 0);
}

/* Rises or falls all the way; NaN outside of the domain. */
static Enclosure monotone(Op op, Enclosure a, double least, double greatest)
{
	bool nan = a.nan || a.low < least || a.high > greatest;
	a.low = fmax(a.low, least);
	a.high = fmin(a.high, greatest);
	if (is_empty(a))
		return (Enclosure){INFINITY, -INFINITY, true};
	double x[] = {of_number(op, a.low), of_number(op, a.high)};
	return of_corners(x, 2, nan);
}

/* Of a slope of 1 at most, between -1 and 1. */
static Enclosure wave(Op op, Enclosure a)
{
	double middle = a.low / 2 + a.high / 2, away = a.high - middle;
	if (!(away < 1))
		return (Enclosure){-1, 1, a.nan || has_infinity(a)};
	double x = of_number(op, middle);
	return (Enclosure){fmax(x - away, -1), fmin(x + away, 1), a.nan};
}

static Enclosure tangent(Enclosure a)
{
	const double pi = 3.14159265358979323846;
	if (!(a.high - a.low < 1) ||
	    floor(a.low / pi + 0.5) != floor(a.high / pi + 0.5))
		return enclosure_any();
	return monotone(OP_TAN, a, -INFINITY, INFINITY);
}

static Enclosure power(Enclosure a, Enclosure b)
{
	double x[] = {pow(a.low, b.low), pow(a.low, b.high), pow(a.high, b.low),
	    pow(a.high, b.high)};
	if (a.low > 0)
		return of_corners(x, 4, a.nan || b.nan);
	if (b.low != b.high || b.low < 0)
		return enclosure_any();
	double greatest = pow(enclosure_size(a), b.low);
	return (Enclosure){
	    -greatest, greatest, a.nan || b.nan || b.low != rint(b.low)};
}

static Enclosure angle(Enclosure y, Enclosure x)
{
	double corners[] = {atan2(y.low, x.low), atan2(y.low, x.high),
	    atan2(y.high, x.low), atan2(y.high, x.high)};
	if (x.low > 0)
		return of_corners(corners, 4, y.nan || x.nan);
	return (Enclosure){-4, 4, y.nan || x.nan};
}

static Enclosure function(Op op, Enclosure a, Enclosure b)
{
	switch (op) {
	case OP_POW: return power(a, b);
	case OP_ATAN2: return angle(a, b);
	case OP_SIN:
	case OP_COS: return wave(op, a);
	case OP_TAN: return tangent(a);
	case OP_COSH: return monotone(op, size_of(a), 0, INFINITY);
	case OP_ASIN:
	case OP_ACOS: return monotone(op, a, -1, 1);
	case OP_LOG1P: return monotone(op, a, -1, INFINITY);
	case OP_RSQRT: /* of -0 it is -inf */
		return enclosure_has(a, 0) ? enclosure_any()
					   : monotone(op, a, 0, INFINITY);
	case OP_LOG:
	case OP_LOG2:
	case OP_SQRT: return monotone(op, a, 0, INFINITY);
	case OP_EXP:
	case OP_EXP2:
	case OP_EXPM1:
	case OP_ATAN:
	case OP_SINH:
	case OP_TANH:
	case OP_SIGMOID:
	case OP_ERF:
	case OP_FLOOR:
	case OP_CEIL:
	case OP_ROUND:
	case OP_TRUNC: return monotone(op, a, -INFINITY, INFINITY);
	default: return enclosure_any(); /* nobody has looked at its slope */
	}
}

/* --- all of them ------------------------------------------------------------- */

static Enclosure of_points(Op op, double a, double b)
{
	switch (op) {
	case OP_ADD: return enclosure_of(a + b);
	case OP_SUB: return enclosure_of(a - b);
	case OP_MUL: return enclosure_of(a * b);
	case OP_DIV: return enclosure_of(a / b);
	case OP_MIN: return enclosure_of(a < b ? a : b);
	case OP_MAX: return enclosure_of(a > b ? a : b);
	case OP_NEG: return enclosure_of(-a);
	case OP_ABS: return enclosure_of(fabs(a));
	default: return enclosure_of(scalar_math_f64(op, a, b));
	}
}

static Enclosure of_ranges(Op op, Enclosure a, Enclosure b)
{
	switch (op) {
	case OP_ADD: return sum(a, b);
	case OP_SUB: return sum(a, negative(b));
	case OP_MUL: return product(a, b);
	case OP_DIV: return quotient(a, b);
	case OP_MIN: return negative(greater(negative(a), negative(b)));
	case OP_MAX: return greater(a, b);
	case OP_NEG: return negative(a);
	case OP_ABS: return size_of(a);
	default: return function(op, a, b);
	}
}

static bool is_exact(Op op)
{
	return op == OP_MIN || op == OP_MAX || op == OP_NEG || op == OP_ABS ||
	    op_kind(op) == OPKIND_ROUNDING;
}

Enclosure enclosure_op(
    Op op, Enclosure a, Enclosure b, Enclosure c, Rounding rounding)
{
	if (op == OP_CLAMP) {
		a = enclosure_op(OP_MAX, a, b, b, rounding);
		return enclosure_op(OP_MIN, a, c, c, rounding);
	}
	if (enclosure_is_point(a) && enclosure_is_point(b))
		a = of_points(op, number(a), number(b));
	else if ((is_empty(a) || is_empty(b)) && !is_exact(op))
		a = op == OP_POW ? enclosure_any() : enclosure_of(NAN);
	else
		a = of_ranges(op, a, b);
	if (is_exact(op))
		return a;
	return op_kind(op) == OPKIND_FUNCTION ? wider(a, rounding)
					      : enclosure_rounded(a, rounding);
}

void enclosure_compare(Op op, Enclosure a, Enclosure b, bool *yes, bool *no)
{
	if (op == OP_GT || op == OP_GE) {
		enclosure_compare(op == OP_GT ? OP_LT : OP_LE, b, a, yes, no);
		return;
	}
	bool either = a.nan || b.nan, none = is_empty(a) || is_empty(b);
	bool meet = !none && a.low <= b.high && b.low <= a.high;
	bool same = a.low == b.high && a.high == b.low;
	switch (op) {
	case OP_LT:
		*yes = !none && a.low < b.high;
		*no = either || a.high >= b.low;
		return;
	case OP_LE:
		*yes = !none && a.low <= b.high;
		*no = either || a.high > b.low;
		return;
	case OP_EQ:
		*yes = meet;
		*no = either || !same;
		return;
	default:
		assert(op == OP_NE);
		*yes = either || !same;
		*no = meet;
	}
}
