/* reorder: loops of one block in another order.
 *
 *     for c.i  for c.j  for c.k      reorder(c.k, c.i)
 *   ->
 *     for c.k  for c.j  for c.i
 *
 * The loops named take, in the order given, the positions that they hold
 * together; others stay.  A block computes each point on its own and a
 * reduction may be reassociated, so any order is legal, but what is attached
 * between loops has to keep the set of loops above it. */
#include "schedule/internal.h"

#include <assert.h>
#include <string.h>

#include "lib/sort.h"

typedef struct {
	int n, *loops;
	int stage, *order; /* all loops of the stage as they shall be */
} Reorder;

static Refusal new_order(const Nest *nest, Reorder *p)
{
	const Stage *s = &nest->stages.at[p->stage];
	int *positions = NEW_N(nest->arena, int, p->n);

	p->order = arena_memdup(
	    nest->arena, s->loops, sizeof(int) * (size_t)s->nloops);
	for (int i = 0; i < p->n; i++)
		positions[i] = nest_loop_position(nest, p->loops[i]);
	sort_ints(positions, p->n);
	for (int i = 0; i < p->n; i++) {
		if (i && positions[i] == positions[i - 1])
			return "a loop is named twice";
		p->order[positions[i]] = p->loops[i];
	}
	return NULL;
}

static Refusal parameters(const Call *call, Reorder *p)
{
	Refusal why = NULL;

	p->n = call->step->nargs;
	p->loops = NEW_N(call->nest->arena, int, p->n);
	for (int i = 0; i < p->n && !why; i++)
		why = call_loop(call, i, &p->loops[i]);
	for (int i = 0; i < p->n && !why; i++) {
		p->stage = call->nest->vars.at[p->loops[i]].stage;
		if (p->stage != call->nest->vars.at[p->loops[0]].stage)
			why = "the loops belong to different blocks";
	}
	return why ? why : new_order(call->nest, p);
}

static int position_in(const int *order, int loop)
{
	int i = 0;

	while (order[i] != loop)
		i++;
	return i;
}

/* Are the first n loops the same set before and after? */
static bool same_set(const Nest *nest, const Reorder *p, int n)
{
	const Stage *s = &nest->stages.at[p->stage];

	for (int i = 0; i < n; i++)
		if (position_in(p->order, s->loops[i]) >= n)
			return false;
	return true;
}

/* Under --numerics=exact sums are made in the order of the file. */
static bool keeps_reduction(const Nest *nest, const Reorder *p)
{
	const Stage *s = &nest->stages.at[p->stage];
	int at = 0;

	for (int i = 0; i < s->nloops; i++) {
		if (!nest->vars.at[s->loops[i]].reduce)
			continue;
		while (!nest->vars.at[p->order[at]].reduce)
			at++;
		if (p->order[at++] != s->loops[i])
			return false;
	}
	return true;
}

Refusal reorder_legal(const Call *call)
{
	const Nest *nest = call->nest;
	const Stage *s;
	Reorder p;
	Refusal why = parameters(call, &p);

	if (why)
		return why;
	s = &nest->stages.at[p.stage];
	if (edit_is_exact(nest, p.stage) && !keeps_reduction(nest, &p))
		return "exact numerics keep the order of reduction loops";
	for (int i = 0; i < s->nloops; i++) {
		int loop = s->loops[i];
		bool moved = p.order[i] != loop;
		if (moved && edit_is_sealed(nest, loop))
			return "a loop belongs to a block made by blockize";
		if (edit_has_attached(nest, loop) &&
		    (position_in(p.order, loop) != i ||
			!same_set(nest, &p, i + 1)))
			return "a block is placed between the loops";
		if (s->init_at == loop &&
		    (moved || !same_set(nest, &p, i)))
			return "the reduction starts between the loops";
	}
	return NULL;
}

void reorder_apply(const Call *call)
{
	Nest *nest = call->nest;
	Reorder p;

	parameters(call, &p);
	nest->stages.at[p.stage].loops = p.order;
	for (int i = 0; i < nest->stages.at[p.stage].nloops; i++)
		assert(nest_loop_position(nest, p.order[i]) == i);
}
