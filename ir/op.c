/* The table of operations: what each is called and what kind it is. */
#include "ir/expr.h"

#include <assert.h>

static const struct {
	const char *name, *c;
	signed char arity, kind, flops, weight;
} ops[OP_COUNT] = {
#define OP(name, spelled, arity, kind, flops, weight)                          \
	{spelled, NULL, arity, OPKIND_##kind, flops, weight},
#define FUNCTION(name, spelled, arity, kind, weight, c)                        \
	{spelled, #c, arity, OPKIND_##kind, 1, weight},
#include "ir/ops.def"
#undef OP
};

const char *op_name(Op op)
{
	assert(op < OP_COUNT);
	return ops[op].name;
}

int op_arity(Op op)
{
	assert(op < OP_COUNT && op != OP_READ);
	return ops[op].arity;
}

OpKind op_kind(Op op)
{
	assert(op < OP_COUNT);
	return (OpKind)ops[op].kind;
}

int op_flops(Op op)
{
	assert(op < OP_COUNT);
	return ops[op].flops;
}

int op_weight(Op op)
{
	assert(op < OP_COUNT);
	return ops[op].weight;
}

bool op_is_function(Op op)
{
	return op_kind(op) == OPKIND_FUNCTION || op_kind(op) == OPKIND_ROUNDING;
}

const char *op_in_c(Op op)
{
	assert(op_is_function(op) && ops[op].c);
	return ops[op].c;
}

const char *reduce_name(ReduceOp op)
{
	switch (op) {
	case REDUCE_SUM: return "sum";
	case REDUCE_PROD: return "prod";
	case REDUCE_MAX: return "max";
	case REDUCE_MIN: return "min";
	case REDUCE_ARGMAX: return "argmax";
	case REDUCE_ARGMIN: return "argmin";
	case REDUCE_NONE:
	case REDUCE_COUNT: break;
	}
	return "";
}

/* With two of -2^k .. 2^k - 1 it is one of these, too. */
static Interval interval_of_two(Op op, Interval a, Interval b)
{
	Interval both = interval_hull(a, b);
	Wide all = 1;
	if (op == OP_BIT_AND && (a.lo >= 0 || b.lo >= 0))
		return (Interval){0,
		    a.lo < 0	   ? b.hi
			: b.lo < 0 ? a.hi
				   : wide_min(a.hi, b.hi)};
	while (all <= both.hi || -all > both.lo)
		all *= 2;
	return (Interval){both.lo < 0 ? -all : 0, all - 1};
}

Interval bits_interval(Op op, DType type, Interval a, Interval b)
{
	const Interval width = {0, 8 * dtype_bytes(type) - 1};
	if (op != OP_SHIFT_LEFT && op != OP_SHIFT_RIGHT)
		return interval_of_two(op, a, b);
	if (!interval_holds(width, b))
		b = b.lo == b.hi
		    ? interval_of((int64_t)b.lo & (int64_t)width.hi)
		    : width;
	Wide least = (Wide)1 << b.lo, most = (Wide)1 << b.hi;
	return op == OP_SHIFT_LEFT ? interval_mul(a, (Interval){least, most})
				   : interval_hull(interval_floordiv(a, least),
					 interval_floordiv(a, most));
}
