/* What one definition costs, as language.md counts: operations on data 1,
 * everything that params and axes decide 0, of an `if` the dearer arm; padding
 * and all, whatever algorithm is used.
 *
 * Of a reduction whose extent depends on axes the points below it count,
 * exactly.  What one point of the outer axes costs is then a function of them.
 * Where it is a line over an interval of one axis its sum is known; where it is
 * none the interval is halved:
 *
 *     y[i < N] = sum[j < i + 1](x[j])     1, 2, 3 … N: N*(N + 1)/2 additions
 *
 * Axes that no extent depends on multiply. */
#include "ir/spec/spec.h"

/* Half a second. */
enum { STEPS_MAX = 1 << 23 };

typedef struct {
	Line flops;
	bool data; /* depends on what was read */
} Cost;

typedef struct {
	Arena *arena;
	const Axis *axes;
	Expr *const *limits; /* by axis: its extent; NULL where constant */
	bool *free; /* by axis: an extent depends on it */
	const Expr *body;
	Walk walk;
	Wide flops; /* of the points so far */
	int64_t steps;
	bool huge; /* past 64 bits: then the count is the greatest number */
} Count;

/* Keeps both ends within 64 bits, so that products fit. */
static Line kept(Count *c, Line a)
{
	if (a.begin <= INT64_MAX && line_end(&c->walk, a) <= INT64_MAX)
		return a;
	c->huge = true;
	return (Line){0, 0};
}

static bool times(Count *c, Line a, Line b, Line *out)
{
	*out = kept(c, (Line){a.begin * b.begin,
			   a.step ? a.step * b.begin : a.begin * b.step});
	return !a.step || !b.step;
}

static bool cost_of(Count *c, const Expr *e, Cost *out);

static bool cost_of_if(Count *c, const Expr *e, Cost *out)
{
	Cost condition, yes, no;
	if (!cost_of(c, e->arg[0], &condition) ||
	    !cost_of(c, e->arg[1], &yes) || !cost_of(c, e->arg[2], &no) ||
	    !line_greatest(&c->walk, yes.flops, no.flops, &out->flops))
		return false;
	out->flops.begin += condition.flops.begin;
	out->flops.step += condition.flops.step;
	out->flops = kept(c, out->flops);
	out->data = condition.data || yes.data || no.data;
	return true;
}

/* How many values an axis of a reduction takes. */
static bool extent_of(Count *c, int axis, Line *out)
{
	*out = (Line){c->axes[axis].extent, 0};
	return !c->limits[axis] ||
	    (line_of(&c->walk, c->limits[axis], out) &&
		line_greatest(&c->walk, *out, (Line){0, 0}, out));
}

/* Of the points of those axes of a reduction that no extent depends on. */
static bool cost_of_points(Count *c, const Expr *e, Cost *out)
{
	if (!cost_of(c, e->arg[0], out))
		return false;
	if (!out->data) {
		out->flops = (Line){0, 0};
		return true;
	}
	out->flops.begin += op_flops(OP_REDUCE);
	for (int i = 0; i < e->reduce.naxes; i++) {
		int axis = e->reduce.first_axis + i;
		Line extent;
		if (c->free[axis])
			continue;
		if (!extent_of(c, axis, &extent) ||
		    !times(c, out->flops, extent, &out->flops))
			return false;
	}
	return true;
}

static void add_line(Count *c, Line a, Wide *sum)
{
	Wide n = (Wide)c->walk.last - c->walk.first + 1;
	*sum += (a.begin + line_end(&c->walk, a)) * n / 2;
	c->huge |= *sum > INT64_MAX;
}

/* One more interval. */
static bool may_go_on(Count *c)
{
	return ++c->steps <= STEPS_MAX && !c->huge;
}

static void walk_to(Count *c, int axis, int64_t first, int64_t last)
{
	c->walk.axis = axis;
	c->walk.first = c->walk.point[axis] = first;
	c->walk.last = last;
}

/* The first axis of a reduction, from its axis `from` on, that an extent
 * depends on; naxes where there is none. */
static int next_free(const Count *c, const Expr *e, int from)
{
	while (from < e->reduce.naxes &&
	    !c->free[e->reduce.first_axis + from])
		from++;
	return from;
}

static bool sum_of(Count *c, const Expr *e, int k, Wide *sum, bool *data);

static bool sum_over(Count *c, const Expr *e, int k, int64_t first,
    int64_t last, Wide *sum, bool *data)
{
	int next = next_free(c, e, k + 1);
	Cost cost;
	if (!may_go_on(c))
		return false;
	walk_to(c, e->reduce.first_axis + k, first, last);
	if (next == e->reduce.naxes && cost_of_points(c, e, &cost)) {
		*data = cost.data;
		add_line(c, cost.flops, sum);
		return true;
	}
	if (first == last)
		return next < e->reduce.naxes &&
		    sum_of(c, e, next, sum, data);
	int64_t middle = first + (last - first) / 2;
	return sum_over(c, e, k, first, middle, sum, data) &&
	    sum_over(c, e, k, middle + 1, last, sum, data);
}

/* Over axis k of a reduction and those behind it, at one point of what is
 * around them. */
static bool sum_of(Count *c, const Expr *e, int k, Wide *sum, bool *data)
{
	Walk walk = c->walk;
	Line extent;
	if (!extent_of(c, e->reduce.first_axis + k, &extent))
		return false;
	bool fine = extent.begin <= 0 ||
	    sum_over(c, e, k, 0, (int64_t)extent.begin - 1, sum, data);
	c->walk = walk;
	return fine;
}

static bool cost_of_reduce(Count *c, const Expr *e, Cost *out)
{
	int k = next_free(c, e, 0);
	Wide sum = 0;
	if (k == e->reduce.naxes)
		return cost_of_points(c, e, out);
	*out = (Cost){.data = true};
	if (c->walk.first != c->walk.last ||
	    !sum_of(c, e, k, &sum, &out->data))
		return false;
	out->flops = kept(c, (Line){sum, 0});
	return true;
}

/* False where it is no line over the interval at hand. */
static bool cost_of(Count *c, const Expr *e, Cost *out)
{
	Cost sum = {{0, 0}, false};
	switch (e->op) {
	case OP_READ:
		*out = (Cost){{0, 0}, true};
		return true;
	case OP_IF:
		return cost_of_if(c, e, out);
	case OP_REDUCE:
		return cost_of_reduce(c, e, out);
	default:
		break;
	}
	for (int i = 0; i < e->narg; i++) {
		Cost part;
		if (!cost_of(c, e->arg[i], &part))
			return false;
		sum.flops.begin += part.flops.begin;
		sum.flops.step += part.flops.step;
		sum.data |= part.data;
	}
	if (sum.data)
		sum.flops.begin += op_flops(e->op);
	sum.flops = kept(c, sum.flops);
	*out = sum;
	return true;
}

/* --- the outer axes ---------------------------------------------------------- */

/* What the body costs over an interval of one axis. */
static Visit add_interval(Walk *walk, void *context)
{
	Count *c = context;
	Cost cost;
	(void)walk;
	if (!may_go_on(c))
		return VISIT_END;
	if (!cost_of(c, c->body, &cost))
		return VISIT_HALVE;
	add_line(c, cost.flops, &c->flops);
	return VISIT_NEXT;
}

bool flops_of_definition(Arena *arena, Definition *d, Expr *const *limits)
{
	Count c = {.arena = arena, .axes = d->axes, .limits = limits,
		.body = d->body};
	c.free = NEW_N(arena, bool, d->naxes);
	c.walk.point = NEW_N(arena, int64_t, d->naxes);
	for (int i = 0; i < d->naxes; i++)
		if (limits[i])
			expr_mark_axes(limits[i], c.free);
	if (!walk_axes(
		&c.walk, d->axes, d->nspatial, c.free, add_interval, &c) &&
	    !c.huge)
		return false;
	for (int i = 0; i < d->nspatial; i++)
		if (!c.free[i])
			c.flops = wide_min(
			    INT64_MAX, c.flops * d->axes[i].extent);
	d->flops = c.huge ? INT64_MAX : (int64_t)c.flops;
	return true;
}
