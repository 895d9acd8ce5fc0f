/* Indices as sums of terms with numbers. */
#include "ir/linear.h"

bool linear_add(int64_t *sum, int64_t n)
{
	return !__builtin_add_overflow(*sum, n, sum) && *sum != INT64_MIN;
}

bool linear_scale(int64_t *n, int64_t by)
{
	return !__builtin_mul_overflow(*n, by, n) && *n != INT64_MIN;
}

/* Of numbers alone. */
static bool is_number(const Expr *e, int64_t *value)
{
	int64_t other;
	*value = e->i;
	if (e->op == OP_INT)
		return *value != INT64_MIN;
	if (e->op == OP_NEG)
		return is_number(e->arg[0], value) && linear_scale(value, -1);
	if ((e->op != OP_ADD && e->op != OP_SUB && e->op != OP_MUL) ||
	    !is_number(e->arg[0], value) || !is_number(e->arg[1], &other))
		return false;
	return e->op == OP_MUL
	    ? linear_scale(value, other)
	    : linear_add(value, e->op == OP_SUB ? -other : other);
}

bool linear_walk(const Expr *e, int64_t times, int64_t *constant,
    LinearTerm *visit, void *context)
{
	int64_t by;
	switch (e->op) {
	case OP_INT:
		by = e->i;
		return linear_scale(&by, times) && linear_add(constant, by);
	case OP_NEG:
		return linear_walk(e->arg[0], -times, constant, visit, context);
	case OP_ADD:
	case OP_SUB:
		return linear_walk(
			   e->arg[0], times, constant, visit, context) &&
		    linear_walk(e->arg[1], e->op == OP_SUB ? -times : times,
			constant, visit, context);
	case OP_MUL:
		for (int i = 1; i >= 0; i--)
			if (is_number(e->arg[i], &by))
				return linear_scale(&by, times) &&
				    linear_walk(e->arg[1 - i], by, constant,
					visit, context);
		return visit(context, e, times);
	default: return visit(context, e, times);
	}
}
