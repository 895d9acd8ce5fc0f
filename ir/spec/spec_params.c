/* Arithmetic on untyped numbers: integers are exact and fit 64 bits or are
 * refused, floats are computed in f64.  What no number comes of is refused with
 * a reason that reads on after "'EXPR' ". */
#include "ir/scalar.h"
#include "ir/spec/spec.h"

#include <assert.h>
#include <math.h>

static const char overflow[] = "is past 64 bits";
static const char not_number[] = "is not a number";

double number_double(Number a)
{
	return a.is_float ? a.f : (double)a.i;
}

static bool set_int(Wide x, Number *result, const char **why)
{
	*why = overflow;
	*result = (Number){.i = (int64_t)x};
	return wide_fits(x);
}

static bool set_float(double x, Number *result, const char **why)
{
	*why = not_number;
	*result = (Number){.is_float = true, .f = x};
	return !isnan(x);
}

bool number_unary(Op op, Number a, Number *result, const char **why)
{
	assert(op == OP_NEG);
	(void)op;
	return a.is_float ? set_float(-a.f, result, why)
			  : set_int(-(Wide)a.i, result, why);
}

/* // and %: floor; the divisor is a positive integer. */
static bool divide(Op op, Number a, Number b, Number *result, const char **why)
{
	if (a.is_float) {
		*why = "divides a float: '//' and '%' need integers";
		return false;
	}
	if (b.is_float || b.i <= 0) {
		*why = "needs a positive integer as divisor";
		return false;
	}
	Wide q = wide_floordiv(a.i, b.i);
	return set_int(
	    op == OP_FLOORDIV ? q : a.i - q * b.i, result, why);
}

static bool binary_float(
    Op op, double a, double b, Number *result, const char **why)
{
	double x = op == OP_ADD ? a + b
	    : op == OP_SUB      ? a - b
	    : op == OP_MUL      ? a * b
				: a / b;
	return set_float(x, result, why);
}

bool number_binary(Op op, Number a, Number b, Number *result, const char **why)
{
	if (op == OP_FLOORDIV || op == OP_MOD)
		return divide(op, a, b, result, why);
	if (op == OP_DIV || a.is_float || b.is_float)
		return binary_float(
		    op, number_double(a), number_double(b), result, why);
	switch (op) {
	case OP_ADD: return set_int((Wide)a.i + b.i, result, why);
	case OP_SUB: return set_int((Wide)a.i - b.i, result, why);
	default: return set_int((Wide)a.i * b.i, result, why);
	}
}

/* Integers and floats are compared exactly: -1, 0 or 1. */
static int order(Number a, Number b)
{
	if (!a.is_float && !b.is_float)
		return (a.i > b.i) - (a.i < b.i);
	if (a.is_float && b.is_float)
		return (a.f > b.f) - (a.f < b.f);
	if (a.is_float)
		return -order(b, a);
	if (b.f >= 0x1p63)
		return -1;
	if (b.f < -0x1p63)
		return 1;
	int64_t whole = (int64_t)b.f;
	double rest = b.f - (double)whole;
	if (a.i != whole)
		return a.i < whole ? -1 : 1;
	return (rest < 0) - (rest > 0);
}

bool number_compare(Op op, Number a, Number b)
{
	int o = order(a, b);
	switch (op) {
	case OP_LT: return o < 0;
	case OP_LE: return o <= 0;
	case OP_GT: return o > 0;
	case OP_GE: return o >= 0;
	case OP_EQ: return !o;
	default: assert(op == OP_NE); return o;
	}
}

/* min, max and clamp keep integers where all are, else give floats. */
static Number pick(Op op, Number a, Number b)
{
	bool first = op == OP_MAX ? order(a, b) > 0 : order(a, b) < 0;
	Number x = first ? a : b;
	if (a.is_float || b.is_float)
		x = (Number){.is_float = true, .f = number_double(x)};
	return x;
}

/* Of 64 bits; what a shift loses is an error. */
static bool bits(Op op, Number a, Number b, Number *result, const char **why)
{
	*why = "needs integers: cast it, as in i32(x)";
	if (a.is_float || (op_arity(op) > 1 && b.is_float))
		return false;
	if (op == OP_SHIFT_LEFT)
		return set_int(
		    (Wide)a.i * ((Wide)1 << (b.i & 63)), result, why);
	return set_int(scalar_bits(op, DT_I64, a.i, b.i), result, why);
}

bool number_call(Op op, const Number *args, Number *result, const char **why)
{
	Number a = args[0];
	switch (op) {
	case OP_MIN:
	case OP_MAX:
		*result = pick(op, a, args[1]);
		return true;
	case OP_CLAMP:
		*result = pick(OP_MIN, pick(OP_MAX, a, args[1]), args[2]);
		return true;
	case OP_ABS:
		return a.is_float
		    ? set_float(fabs(a.f), result, why)
		    : set_int(a.i < 0 ? -(Wide)a.i : a.i, result, why);
	default:
		if (op_kind(op) == OPKIND_BITS)
			return bits(op, a, op_arity(op) > 1 ? args[1] : a,
			    result, why);
		return set_float(scalar_math_f64(op, number_double(a),
				     op_arity(op) > 1 ? number_double(args[1]) : 0),
		    result, why);
	}
}

/* --- numbers that take a type ---------------------------------------------- */

static double rounded(DType type, Number a)
{
	double x = number_double(a);
	double odd = a.is_float ? a.f : scalar_sticky(DT_I64, a.i);
	switch (type) {
	case DT_F32: return a.is_float ? (double)(float)a.f : (double)(float)a.i;
	case DT_F16: return (double)f16_to_f32(f16_from_f64(odd));
	case DT_BF16: return (double)bf16_to_f32(bf16_from_f64(odd));
	default: return x;
	}
}

Number number_cast(DType type, Number a)
{
	if (dtype_is_float(type))
		return (Number){.is_float = true, .f = rounded(type, a)};
	return (Number){
	    .i = a.is_float ? scalar_from_float(type, a.f)
			    : scalar_wrap(type, a.i)};
}

Expr *number_take(Arena *arena, DType type, Number a, const char **why)
{
	*why = "does not fit";
	if (dtype_is_float(type)) {
		double x = rounded(type, a);
		bool infinite = a.is_float && isinf(a.f);
		if (isinf(x) && !infinite)
			return NULL;
		return expr_float(arena, type, x);
	}
	if (a.is_float) {
		*why = "is a float";
		return NULL;
	}
	if (!interval_holds(dtype_interval(type), interval_of(a.i)))
		return NULL;
	return expr_int(arena, type, a.i);
}
