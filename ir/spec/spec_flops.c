/* What one definition costs, as language.md counts: operations on data 1,
 * everything that params and axes decide 0, of an `if` the dearer arm; padding
 * and all, whatever algorithm is used. */
#include "ir/spec/spec.h"

typedef struct {
	Wide flops;
	bool data; /* depends on what was read */
} Cost;

static Wide at_most(Wide x)
{
	return wide_min(x, INT64_MAX);
}

static int op_flops(Op op)
{
	static const int flops[OP_COUNT] = {
#define OP(name, spelled, arity, kind, flops) flops,
#include "ir/ops.def"
#undef OP
	};
	return flops[op];
}

static Cost cost_of(const Axis *axes, const Expr *e);

static Cost cost_of_if(const Axis *axes, const Expr *e)
{
	Cost condition = cost_of(axes, e->arg[0]);
	Cost yes = cost_of(axes, e->arg[1]), no = cost_of(axes, e->arg[2]);
	Wide arm = wide_max(yes.flops, no.flops);
	return (Cost){at_most(condition.flops + arm),
		condition.data || yes.data || no.data};
}

static Cost cost_of_reduce(const Axis *axes, const Expr *e)
{
	Cost c = cost_of(axes, e->arg[0]);
	if (!c.data)
		return (Cost){0, false};
	c.flops += op_flops(OP_REDUCE);
	for (int i = 0; i < e->reduce.naxes; i++)
		c.flops = at_most(
		    c.flops * axes[e->reduce.first_axis + i].extent);
	return c;
}

static Cost cost_of(const Axis *axes, const Expr *e)
{
	Cost sum = {0, false};
	switch (e->op) {
	case OP_READ:
		return (Cost){0, true};
	case OP_IF:
		return cost_of_if(axes, e);
	case OP_REDUCE:
		return cost_of_reduce(axes, e);
	default:
		break;
	}
	for (int i = 0; i < e->narg; i++) {
		Cost c = cost_of(axes, e->arg[i]);
		sum.flops += c.flops;
		sum.data |= c.data;
	}
	if (sum.data)
		sum.flops += op_flops(e->op);
	sum.flops = at_most(sum.flops);
	return sum;
}

int64_t flops_of_definition(const Definition *d)
{
	Wide flops = cost_of(d->axes, d->body).flops;
	for (int i = 0; i < d->nspatial; i++)
		flops = at_most(flops * d->axes[i].extent);
	return (int64_t)flops;
}
