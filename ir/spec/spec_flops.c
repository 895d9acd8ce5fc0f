/* What one definition costs, as language.md counts: operations on data 1,
 * everything that params and axes decide 0, of an `if` the dearer arm; padding
 * and all, whatever algorithm is used.
 *
 * Of a reduction whose extent depends on axes the points below it count,
 * exactly: the expression becomes a cost, of which no more is left than what
 * depends on such an extent, and spec_cost.c sums it.
 *
 *     y[i < N] = sum[j < i + 1](x[j]) + 1     1 + sum[j < i + 1](1), i < N */
#include "ir/spec/spec.h"

#include "lib/buf.h"

typedef struct {
	Arena *arena;
	const Definition *definition;
	Expr *const *limits; /* by axis: its extent; NULL where constant */
} Count;

/* --- axes that something depends on: numbers, ascending ------------------------ */

static bool has_axis(const IntVec *axes, int axis)
{
	for (int i = 0; i < axes->n; i++)
		if (axes->at[i] == axis)
			return true;
	return false;
}

static void add_axis(Arena *arena, IntVec *axes, int axis)
{
	if (!has_axis(axes, axis))
		vec_push(arena, axes, axis);
}

static void add_axes_of(Arena *arena, IntVec *axes, const Expr *e)
{
	if (e->op == OP_AXIS)
		add_axis(arena, axes, e->id);
	for (int i = 0; i < e->narg; i++)
		add_axes_of(arena, axes, e->arg[i]);
}

static void add_needs(Arena *arena, IntVec *axes, const Cost *cost, int but)
{
	for (const CostPart *p = cost->parts; p; p = p->next)
		for (int i = 0; i < p->needs.n; i++)
			if (p->needs.at[i] != but)
				add_axis(arena, axes, p->needs.at[i]);
}

static bool needs_axis(const Cost *cost, int axis)
{
	for (const CostPart *p = cost->parts; p; p = p->next)
		if (has_axis(&p->needs, axis))
			return true;
	return false;
}

/* --- periods ----------------------------------------------------------------- */

/* Of what repeats with both, or 1 where that is too long to be of use. */
static int64_t period_of_both(int64_t a, int64_t b)
{
	enum { PERIOD_MAX = 1 << 12 };
	int64_t x = a, y = b;
	if (b > PERIOD_MAX)
		return 1;
	while (y) {
		int64_t rest = x % y;
		x = y;
		y = rest;
	}
	return a / x * b > PERIOD_MAX ? 1 : a / x * b;
}

static int64_t period_of(const Expr *e)
{
	bool divides = e->op == OP_FLOORDIV || e->op == OP_MOD;
	int64_t period = divides ? e->arg[1]->i : 1;
	for (int i = 0; i < e->narg; i++)
		period = period_of_both(period, period_of(e->arg[i]));
	return period;
}

/* --- costs ------------------------------------------------------------------- */

static void add_part(Count *c, Cost *to, CostPart part)
{
	CostPart *p = arena_memdup(c->arena, &part, sizeof part);
	int64_t period = 1;
	for (int i = 0; i < 2; i++)
		if (part.cost[i].parts)
			period = period_of_both(period, part.cost[i].period);
	if (part.limit)
		period = period_of_both(period, period_of(part.limit));
	p->next = to->parts;
	to->period = to->parts ? period_of_both(to->period, period) : period;
	to->parts = p;
}

/* The sum of a cost over an axis. */
static Cost summed(Count *c, int axis, Cost point)
{
	const Expr *limit = c->limits[axis];
	int64_t extent = c->definition->axes[axis].extent;
	Cost sum = {0};
	if (!limit && !point.parts) {
		sum.fixed = interval_product(point.fixed, extent);
		return sum;
	}
	CostPart p = {.axis = axis,
	    .limit = limit,
	    .extent = extent,
	    .cost = {point},
	    .varies = needs_axis(&point, axis)};
	add_needs(c->arena, &p.others, &point, axis);
	for (int i = 0; i < p.others.n; i++)
		vec_push(c->arena, &p.needs, p.others.at[i]);
	if (limit)
		add_axes_of(c->arena, &p.needs, limit);
	add_part(c, &sum, p);
	return sum;
}

static void add_cost(Cost *to, Cost cost)
{
	CostPart **end = &cost.parts;
	to->fixed = interval_limited(to->fixed + cost.fixed);
	if (!cost.parts)
		return;
	to->period =
	    to->parts ? period_of_both(to->period, cost.period) : cost.period;
	while (*end)
		end = &(*end)->next;
	*end = to->parts;
	to->parts = cost.parts;
}

static bool add_cost_of(Count *c, const Expr *e, Cost *to);

static bool add_cost_of_if(Count *c, const Expr *e, Cost *to)
{
	CostPart p = {.axis = -1};
	bool data = add_cost_of(c, e->arg[0], to);
	for (int i = 0; i < 2; i++) {
		data |= add_cost_of(c, e->arg[i + 1], &p.cost[i]);
		add_needs(c->arena, &p.needs, &p.cost[i], -1);
	}
	if (p.cost[0].parts || p.cost[1].parts)
		add_part(c, to, p);
	else
		to->fixed += wide_max(p.cost[0].fixed, p.cost[1].fixed);
	return data;
}

static bool add_cost_of_reduce(Count *c, const Expr *e, Cost *to)
{
	Cost cost = {.fixed = op_flops(OP_REDUCE)};
	if (!add_cost_of(c, e->arg[0], &cost))
		return false;
	for (int i = e->reduce.naxes - 1; i >= 0; i--)
		cost = summed(c, e->reduce.first_axis + i, cost);
	add_cost(to, cost);
	return true;
}

/* Adds what a point costs; does it depend on what was read? */
static bool add_cost_of(Count *c, const Expr *e, Cost *to)
{
	bool data = e->op == OP_READ;
	if (e->op == OP_IF)
		return add_cost_of_if(c, e, to);
	if (e->op == OP_REDUCE)
		return add_cost_of_reduce(c, e, to);
	for (int i = 0; i < e->narg && e->op != OP_READ; i++)
		data |= add_cost_of(c, e->arg[i], to);
	if (data)
		to->fixed += op_flops(e->op);
	return data;
}

/* Over the definition's own axes, the longest innermost: the order is free, and
 * along that one most is summed at once. */
static Cost summed_outside(Count *c, Cost cost)
{
	const Definition *d = c->definition;
	IntVec axes = {0};
	add_needs(c->arena, &axes, &cost, -1);
	while (axes.n) {
		int longest = 0;
		for (int i = 1; i < axes.n; i++)
			if (d->axes[axes.at[i]].extent >
			    d->axes[axes.at[longest]].extent)
				longest = i;
		cost = summed(c, axes.at[longest], cost);
		axes.at[longest] = axes.at[--axes.n];
	}
	return cost;
}

/* --- what was summed before -------------------------------------------------- */

static void write_index(Buf *out, const Expr *e)
{
	int64_t number = e->op == OP_INT ? e->i : e->op == OP_AXIS ? e->id : 0;
	buf_printf(out, "%d:%lld(", (int)e->op, (long long)number);
	for (int i = 0; i < e->narg; i++)
		write_index(out, e->arg[i]);
	buf_putc(out, ')');
}

/* All that its sum depends on. */
static void write_cost(Buf *out, const Cost *cost)
{
	buf_printf(out, "%lld{", (long long)cost->fixed);
	for (const CostPart *p = cost->parts; p; p = p->next) {
		buf_printf(out, "%d<%lld", p->axis, (long long)p->extent);
		if (p->limit)
			write_index(out, p->limit);
		write_cost(out, &p->cost[0]);
		if (p->axis < 0)
			write_cost(out, &p->cost[1]);
	}
	buf_putc(out, '}');
}

/* The sum of a cost; false where the steps were too few. */
static bool sum_of(
    Arena *own, FlopsSums *sums, const Cost *cost, int naxes, int64_t *sum)
{
	Buf key = {0};
	if (!cost->parts)
		return cost_sum(own, cost, naxes, &sums->steps_left, sum);
	write_cost(&key, cost);
	int known = lookup_first(&sums->known, key.data, key.size);
	bool fine = known >= 0;
	if (fine) {
		*sum = sums->sums.at[sums->known.entries.at[known].number];
	} else if (cost_sum(own, cost, naxes, &sums->steps_left, sum)) {
		Arena *arena = sums->known.arena;
		lookup_add(
		    &sums->known, arena_strdup(arena, key.data), sums->sums.n);
		vec_push(arena, &sums->sums, *sum);
		fine = true;
	}
	buf_free(&key);
	return fine;
}

bool flops_of_definition(
    Arena *arena, Definition *d, Expr *const *limits, FlopsSums *sums)
{
	Arena *own = arena_child(arena);
	Count c = {own, d, limits};
	Cost cost = {0};
	IntVec axes = {0};
	add_cost_of(&c, d->body, &cost);
	add_needs(own, &axes, &cost, -1);
	cost = summed_outside(&c, cost);
	bool fine = sum_of(own, sums, &cost, d->naxes, &d->flops);
	for (int i = 0; i < d->nspatial; i++)
		if (!has_axis(&axes, i))
			d->flops = (int64_t)wide_min(
			    INT64_MAX, (Wide)d->flops * d->axes[i].extent);
	arena_free(own);
	return fine;
}
