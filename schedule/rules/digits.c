/* How a read moves through memory, whatever its dimensions are called: each
 * index as a sum of digits of axes.
 *
 *     w[o*16 + v, c // 16, c % 16]   v + 16*o | c // 16 | c % 16
 *
 * A dimension whose digits follow each other without gaps (the next one's
 * stride is the stride of the last times its values) can be taken apart again:
 * x0 % 16 is v and x0 // 16 is o, so packing can put them into any order.
 *
 * Where a read divides an axis, as c by 16, the axis is split there first: then
 * neither `//` nor `%` is left in a loop. */
#include "schedule/rules/rules.h"
#include "ir/linear.h"
#include "lib/gcd.h"

#include <assert.h>
#include <stdlib.h>

typedef struct {
	Arena *arena;
	const Block *block;
	RuleIndex *index;
} IndexDigits;

static bool constant_of(const Expr *e, int64_t *value)
{
	*value = e->i;
	return e->op == OP_INT;
}

static void add_digit(
    IndexDigits *d, int axis, int64_t below, int64_t count, int64_t stride)
{
	RuleDigit digit = {axis, below, count, stride};
	assert(axis < d->block->naxes && below > 0);
	if (count > 1)
		vec_push(d->arena, &d->index->digits, digit);
}

static int64_t ceil_div(int64_t a, int64_t b)
{
	return (a + b - 1) / b;
}

/* axis, axis // c, axis % c, axis // c % d */
static bool digit_of(
    const Block *block, const Expr *e, int *axis, int64_t *below, int64_t *count)
{
	int64_t most = INT64_MAX, by;
	if (e->op == OP_MOD) {
		if (!constant_of(e->arg[1], &most) || most < 1)
			return false;
		e = e->arg[0];
	}
	*below = 1;
	while (e->op == OP_FLOORDIV) {
		if (!constant_of(e->arg[1], &by) || by < 1 ||
		    *below > INT32_MAX / by)
			return false;
		*below *= by;
		e = e->arg[0];
	}
	if (e->op != OP_AXIS)
		return false;
	*axis = e->id;
	*count = ceil_div(block->axes[e->id].extent, *below);
	if (*count > most)
		*count = most;
	return true;
}

static bool add_term(void *context, const Expr *e, int64_t times)
{
	IndexDigits *d = context;
	int axis;
	int64_t below, count;
	bool regular = digit_of(d->block, e, &axis, &below, &count);
	if (regular)
		add_digit(d, axis, below, count, times);
	d->index->irregular |= !regular;
	return true;
}

static int by_stride(const void *a, const void *b)
{
	int64_t x = ((const RuleDigit *)a)->stride;
	int64_t y = ((const RuleDigit *)b)->stride;
	return (x > y) - (x < y);
}

/* The digits fill the dimension from 0 on, each value once. */
static bool is_radix(const RuleIndex *index)
{
	int64_t stride = 1;
	if (index->irregular || index->offset)
		return false;
	vec_each (d, &index->digits) {
		if (d->stride != stride)
			return false;
		stride *= d->count;
	}
	return true;
}

static bool is_spatial(const Block *block, const RuleIndex *index)
{
	for (int i = 0; i < index->digits.n; i++)
		if (index->digits.at[i].axis < block->nspatial)
			return true;
	return false;
}

static bool overlap(const RuleDigit *a, const RuleDigit *b)
{
	return a->axis == b->axis && a->below < b->below * b->count &&
	    b->below < a->below * a->count;
}

static bool digits_apart(const RuleRead *r)
{
	for (int d = 0; d < r->nindex; d++)
		for (int i = 0; i < r->dims[d].digits.n; i++)
			for (int e = 0; e <= d; e++)
				for (int k = 0; k < r->dims[e].digits.n; k++)
					if ((e < d || k < i) &&
					    overlap(&r->dims[d].digits.at[i],
						&r->dims[e].digits.at[k]))
						return false;
	return true;
}

/* Of each axis all steps, or those within a quotient. */
static void find_again(const Block *block, RuleRead *r)
{
	for (int a = 0; a < block->naxes; a++)
		r->reuse[a] = block->axes[a].extent;
	for (int d = 0; d < r->nindex; d++) {
		const RuleIndex *index = &r->dims[d];
		vec_each (t, &index->digits)
			if (t->below < r->reuse[t->axis])
				r->reuse[t->axis] = t->below;
		for (int a = 0; a < block->naxes && index->irregular; a++)
			if (expr_has_axis(r->index[d], a))
				r->reuse[a] = 1;
	}
}

void rule_digits(Arena *arena, const Block *block, RuleRead *r)
{
	r->dims = NEW_N(arena, RuleIndex, r->nindex);
	r->packable = true;
	for (int i = 0; i < r->nindex; i++) {
		RuleIndex *index = &r->dims[i];
		IndexDigits d = {arena, block, index};
		int64_t constant = 0;
		index->irregular |=
		    !linear_walk(r->index[i], 1, &constant, add_term, &d);
		index->offset = constant;
		if (index->digits.n)
			qsort(index->digits.at, (size_t)index->digits.n,
			    sizeof *index->digits.at, by_stride);
		index->radix = is_radix(index);
		index->spatial = is_spatial(block, index);
		r->packable &= !index->irregular &&
		    (index->radix || !index->spatial);
	}
	r->packable &= digits_apart(r);
	r->reuse = NEW_N(arena, int64_t, block->naxes);
	find_again(block, r);
}

int64_t rule_stride(
    const Program *program, const RuleRead *r, int axis, int64_t below)
{
	const Buffer *b = &program->buffers[r->buffer];
	int64_t sum = 0, stride = 1;
	assert(r->nindex == b->ndim && below > 0);
	for (int d = r->nindex - 1; d >= 0; d--) {
		const RuleIndex *index = &r->dims[d];
		vec_each (t, &index->digits)
			if (t->axis == axis && t->below <= below &&
			    below < t->below * t->count)
				sum += stride * t->stride * (below / t->below);
		stride *= b->shape[d];
	}
	return sum < 0 ? -sum : sum;
}

int rule_terms_dim(const RuleRead *r, int axis, int64_t below, int terms)
{
	int found = -1;
	assert(below > 0 && terms > 0);
	for (int d = 0; d < r->nindex; d++) {
		const RuleIndex *index = &r->dims[d];
		vec_each (t, &index->digits) {
			if (t->axis != axis || t->below > below ||
			    below >= t->below * t->count)
				continue;
			if (found >= 0 || t->below != below || t->stride != 1)
				return -1;
			found = d;
		}
	}
	if (found < 0 || r->dims[found].irregular || r->dims[found].offset)
		return -1;
	vec_each (t, &r->dims[found].digits)
		if ((t->axis != axis || t->below != below) && t->stride % terms)
			return -1;
	return found;
}

int rule_lanes_dim(const RuleRead *r, int axis)
{
	int found = -1;
	for (int d = 0; d < r->nindex; d++) {
		const RuleIndex *index = &r->dims[d];
		vec_each (t, &index->digits) {
			if (t->axis != axis)
				continue;
			if (found >= 0 || t->below != 1 || t->stride != 1 ||
			    index->irregular)
				return -1;
			found = d;
		}
	}
	return found;
}

/* --- where an axis is cut ----------------------------------------------------- */

static void add_cut(Arena *arena, RuleCuts *cuts, int64_t at, int64_t extent)
{
	if (at > 1 && at < extent)
		vec_push(arena, cuts, at);
}

static int by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

/* Of 4, 6 and 12 are kept 4 and 12: a split at one is at a multiple of the one
 * before. */
RuleCuts rule_cuts(
    Arena *arena, const Block *block, const RuleBlock *b, int axis)
{
	RuleCuts cuts = {0};
	assert(axis >= 0 && axis < block->naxes);
	int64_t extent = block->axes[axis].extent, last = 1;
	int n = 0;
	vec_each (r, &b->reads)
		for (int d = 0; d < r->nindex; d++)
			vec_each (t, &r->dims[d].digits) {
				if (t->axis != axis)
					continue;
				add_cut(arena, &cuts, t->below, extent);
				add_cut(arena, &cuts, t->below * t->count,
				    extent);
			}
	if (cuts.n)
		qsort(cuts.at, (size_t)cuts.n, sizeof *cuts.at, by_size);
	for (int i = 0; i < cuts.n; i++)
		if (cuts.at[i] > last && cuts.at[i] % last == 0)
			cuts.at[n++] = last = cuts.at[i];
	cuts.n = n;
	return cuts;
}

/* --- periods -------------------------------------------------------------------- */

int64_t rule_common_multiple(int64_t a, int64_t b)
{
	if (!a || !b)
		return 0;
	return linear_scale(&a, b / gcd(a, b)) ? a : 0;
}

/* The index at a + period is that at a, plus `by`. */
typedef struct {
	int64_t period, by;
} Period;

static Period scaled(Period p, int64_t times)
{
	if (!linear_scale(&p.period, times) || !linear_scale(&p.by, times) ||
	    p.period > INT32_MAX)
		return (Period){0};
	return p;
}

static Period period_of(const Expr *e, int axis);

/* A quotient begins anew where a multiple of the divisor has been added. */
static Period period_of_quotient(const Expr *e, int axis)
{
	Period p = period_of(e->arg[0], axis);
	int64_t by;
	if (!p.period || !constant_of(e->arg[1], &by) || by < 1)
		return (Period){0};
	p = scaled(p, by / gcd(p.by, by));
	p.by = e->op == OP_MOD ? 0 : p.by / by;
	return p;
}

typedef struct {
	int axis;
	Period sum;
} PeriodSum;

static bool add_period(void *context, const Expr *e, int64_t times)
{
	PeriodSum *to = context;
	Period p = {0}, *sum = &to->sum;
	if (e->op == OP_AXIS)
		p = (Period){1, e->id == to->axis};
	else if (e->op == OP_FLOORDIV || e->op == OP_MOD)
		p = period_of_quotient(e, to->axis);
	int64_t n = rule_common_multiple(sum->period, p.period);
	if (!n)
		return false;
	*sum = scaled(*sum, n / sum->period);
	p = scaled(p, n / p.period);
	return sum->period && p.period && linear_scale(&p.by, times) &&
	    linear_add(&sum->by, p.by);
}

static Period period_of(const Expr *e, int axis)
{
	PeriodSum to = {axis, {1, 0}};
	int64_t constant = 0;
	return linear_walk(e, 1, &constant, add_period, &to) ? to.sum
							     : (Period){0};
}

int64_t rule_period(const Expr *index, int axis)
{
	return period_of(index, axis).period;
}

int64_t rule_block_period(const RuleBlock *b, int axis)
{
	int64_t period = 1;
	vec_each (read, &b->reads)
		for (int d = 0; d < read->nindex && period; d++)
			period = rule_common_multiple(
			    period, rule_period(read->index[d], axis));
	return period;
}
