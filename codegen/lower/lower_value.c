/* Values while they are computed: a constant, or a temporary of some lanes.  What is
 * a constant already makes no code.
 *
 *     x >= 0 of an index   -->   true, where ranges and facts say so
 *                                LE 0, x
 */
#include "codegen/lower/lower_internal.h"

#include <assert.h>

Value value_const(DType type, double f, int64_t i)
{
	return (Value){.type = type, .lanes = 1, .temp = -1, .f = f, .i = i};
}

Value value_temp(DType type, int lanes, int temp)
{
	return (Value){.type = type, .lanes = lanes, .temp = temp};
}

bool value_is_bool(Value v, bool *value)
{
	*value = v.i != 0;
	return v.type == DT_BOOL && v.temp == -1;
}

bool value_is_unknown(Value v)
{
	return v.temp == VALUE_UNKNOWN;
}

Value value_bool(bool b)
{
	return value_const(DT_BOOL, 0, b);
}

Value value_unknown(void)
{
	return (Value){.type = DT_BOOL, .lanes = 1, .temp = VALUE_UNKNOWN};
}

int value_as(Lower *l, Value v, int lanes)
{
	if (v.temp == -1)
		return dtype_is_float(v.type)
		    ? const_float(l, v.type, lanes, v.f)
		    : const_int(l, v.type, lanes, v.i);
	assert(v.temp >= 0 && l->f->temps.at[v.temp].lanes == v.lanes);
	if (v.lanes == lanes)
		return v.temp;
	assert(v.lanes == 1);
	return emit_op(l, LOW_BROADCAST, v.type, lanes, v.temp, -1, -1, "all");
}

int value_scalar(Lower *l, Value v)
{
	assert(v.lanes == 1);
	return value_as(l, v, 1);
}

Value value_convert(Lower *l, Value v, DType type)
{
	if (v.type == type)
		return v;
	int temp = emit_op(l, LOW_CONVERT, type, v.lanes,
	    value_as(l, v, v.lanes), -1, -1, dtype_name(type));
	return value_temp(type, v.lanes, temp);
}

int value_lanes(Value a, Value b)
{
	return a.lanes > b.lanes ? a.lanes : b.lanes;
}

/* x*0, x*1, x + 0 and x - 0 of integers, as the taps of a filter have them. */
static bool is_identity(LowOpcode op, Value a, Value b, Value *value)
{
	bool number = b.temp == -1 && dtype_is_int(b.type);
	*value = op == LOW_MUL && b.i == 0 ? b : a;
	return number &&
	    (op == LOW_MUL ? b.i == 0 || b.i == 1
			   : (op == LOW_ADD || op == LOW_SUB) && b.i == 0);
}

Value value_binary(Lower *l, LowOpcode op, DType type, Value a, Value b)
{
	Value known;
	if (is_identity(op, a, b, &known) ||
	    (op != LOW_SUB && is_identity(op, b, a, &known))) {
		l->part->folded = true;
		return known;
	}
	int lanes = value_lanes(a, b);
	int temp = emit_op(l, op, type, lanes, value_as(l, a, lanes),
	    value_as(l, b, lanes), -1, "t");
	return value_temp(type, lanes, temp);
}

Value value_not(Lower *l, Value a)
{
	bool known;
	if (value_is_unknown(a))
		return a;
	if (value_is_bool(a, &known))
		return value_bool(!known);
	return value_temp(DT_BOOL, a.lanes,
	    emit_op(l, LOW_NOT, DT_BOOL, a.lanes, a.temp, -1, -1, "not"));
}

Value value_and(Lower *l, Value a, Value b)
{
	bool known;
	if (value_is_bool(a, &known))
		return known ? b : a;
	if (value_is_bool(b, &known))
		return known ? a : b;
	if (value_is_unknown(a) || value_is_unknown(b))
		return value_unknown();
	return value_binary(l, LOW_AND, DT_BOOL, a, b);
}

Value value_or(Lower *l, Value a, Value b)
{
	bool known;
	if (value_is_bool(a, &known))
		return known ? a : b;
	if (value_is_bool(b, &known))
		return known ? b : a;
	if (value_is_unknown(a) || value_is_unknown(b))
		return value_unknown();
	return value_binary(l, LOW_OR, DT_BOOL, a, b);
}

/* Lanes where base + step*lane >= 0, step not 0. */
static Value lanes_nonnegative(Lower *l, Index x, int64_t step)
{
	Index base = index_without(l, x, SYMBOL_LANE);
	bool falls = step < 0;
	assert(step && l->lanes > 1);
	int64_t size = falls ? -step : step;
	/* falls: lane < floor(base/size) + 1; else lane >= ceil(-base/size) */
	Index count = falls
	    ? index_add(l, index_floordiv(l, base, size), index_const(1), 1)
	    : index_floordiv(
		  l, index_add(l, index_const(size - 1), base, -1), size);
	int mask = emit_op(l, LOW_LANES_BELOW, DT_BOOL, l->lanes,
	    index_scalar(l, count), -1, -1, "lanes");
	Value v = value_temp(DT_BOOL, l->lanes, mask);
	return falls ? v : value_not(l, v);
}

Value value_nonnegative(Lower *l, Index x)
{
	if (index_nonnegative(l, x))
		return value_bool(true);
	if (index_negative(l, x))
		return value_bool(false);
	if (index_has_free(x) || l->silent)
		return value_unknown();
	if (x.vector < 0 && index_lane(x))
		return lanes_nonnegative(l, x, index_lane(x));
	x = index_reduced(l, x);
	int lanes = index_has_lanes(x) ? l->lanes : 1;
	int temp = lanes > 1 ? index_vector(l, x) : index_scalar(l, x);
	int zero = const_int(l, DT_INDEX, lanes, 0);
	return value_temp(DT_BOOL, lanes,
	    emit_op(l, LOW_LE, DT_BOOL, lanes, zero, temp, -1, "inside"));
}

Value value_counted(Lower *l, Value mask)
{
	assert(mask.type == DT_BOOL && mask.lanes == l->lanes);
	return l->mask.lanes ? value_and(l, l->mask, mask) : mask;
}

Value value_and_nonnegative(Lower *l, Value all, Index x)
{
	bool known;
	if (value_is_bool(all, &known) && !known)
		return all;
	Value also = value_nonnegative(l, x);
	fact_push(l, x);
	return value_and(l, all, also);
}
