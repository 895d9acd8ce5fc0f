/* Reductions in temporaries: where their results can be temporaries over the loops,
 * how these begin, and what they are together.
 *
 *     for k  c[i] += ...   -->   s0 = 0; s1 = 0
 *                                for k { s0 += ...; s1 += ... }
 *                                s0 + s1, across lanes
 */
#include "codegen/lower/lower_internal.h"

#include <assert.h>

/* Of the loops from `pos` on; each thread has its own of what they share out. */
BodySums sums_inside(const Lower *l, int stage, int pos)
{
	const Stage *s = &l->nest->stages.at[stage];
	bool threads = l->nest->buffers.at[s->buffer].scope == SCOPE_REG;
	BodySums sums = body_sums_none();
	for (int i = pos; i < s->nloops; i++)
		if (!threads ||
		    !loop_is_thread(l->nest->vars.at[s->loops[i]].kind))
			body_sums_loop(&sums, loop_body(l, s, s->loops[i]));
	body_sums_end(&sums, l->part->sharing[stage].n);
	return sums;
}

static bool read_below(const Lower *l, int stage, int pos, int buffer)
{
	IntVec below = {0};
	stages_below(l, stage, pos, &below);
	for (int i = 0; i < below.n; i++)
		if (expr_find_read(
			l->nest->stages.at[below.at[i]].body, buffer))
			return true;
	return false;
}

static bool sums_of(const Lower *l, int leader, int stage, int pos)
{
	const Stage *s = &l->nest->stages.at[stage];
	bool reg = l->nest->buffers.at[s->buffer].scope == SCOPE_REG;
	return !s->fill &&
	    (!reg || loop_lanes_reduce(l, s, pos) ||
		nest_reduces_across(l->nest, stage)) &&
	    !read_below(l, leader, pos, s->buffer);
}

/* Can the results be temporaries from here to the end of the reduction's
 * loops, and is there a loop for which that is worth while? */
bool sums_here(const Lower *l, int stage, int pos)
{
	const Stage *s = &l->nest->stages.at[stage];
	const IntVec *sharing = &l->part->sharing[stage];
	bool across = nest_reduces_across(l->nest, stage);
	if (l->sums || pos == s->nloops ||
	    (!across &&
		(pos < loop_init_position(l, s) ||
		    !l->nest->vars.at[s->loops[pos]].reduce)))
		return false;
	for (int i = 0; i < sharing->n; i++)
		if (!sums_of(l, stage, sharing->at[i], pos))
			return false;
	return sums_inside(l, stage, pos).results > 0;
}

/* Bits of a word are put together in each step: their sums need no lanes. */
void sums_start(Lower *l, int stage, int lanes, int *temps, int n)
{
	const Stage *s = &l->nest->stages.at[stage];
	DType type = l->nest->buffers.at[s->buffer].type;
	assert(l->sums && lanes > 0 && n > 0);
	for (int i = l->sums->pos; i < s->nloops && lanes > 1; i++)
		if (loop_is_vector(l, s->loops[i]) &&
		    l->nest->vars.at[s->loops[i]].reduce &&
		    bits_are_lanes(l, stage, s->loops[i]))
			lanes = 1;
	int identity = value_as(l, body_identity(l, s), lanes);
	for (int i = 0; i < n; i++) {
		temps[i] = new_temp(l, type, lanes, "sum");
		emit_into(l, temps[i], LOW_COPY, identity, -1, -1);
	}
}

/* Of the accumulators of each element: partial results in pairs, then lanes. */
void sums_total(Lower *l, int stage, const int *temps, Value *totals)
{
	const Stage *s = &l->nest->stages.at[stage];
	DType type = l->nest->buffers.at[s->buffer].type;
	int copies = l->sums->copies, lanes = l->f->temps.at[temps[0]].lanes;
	Value *v = NEW_N(l->arena, Value, copies);
	for (int r = 0; r < l->sums->results; r++) {
		for (int i = 0; i < copies; i++)
			v[i] = value_temp(type, lanes, temps[r * copies + i]);
		for (int n = copies; n > 1; n = (n + 1) / 2)
			for (int i = 0; i < n / 2; i++)
				v[i] = eval_combined(
				    l, s->reduce, v[i], v[n - 1 - i], -1);
		totals[r] = v[0];
	}
	if (lanes > 1)
		horizontal_all(l, s->reduce, totals, l->sums->results);
}
