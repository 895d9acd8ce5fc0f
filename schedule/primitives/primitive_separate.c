/* separate: a reduction over a window in two steps, the first without one of the
 * window's axes.
 *
 *     y[i, j] = sum[r, s](x[i + r, j + s])      c = separate(y.s)
 *   ->
 *     c[i, j] = sum[r](x[i + r, j])             j is longer by what s adds
 *     y[i, j] = sum[s](c[i, j + s])
 *
 * So n + n steps do what n*n did; where s is the only axis, c is the element,
 * which is computed once for all that have it.  Legal before anything of the
 * block is scheduled, where all that a spatial axis j moves in the element moves
 * with step*j + apart*s (ir/nest/nest_window.c).  The order of the reduction
 * changes, which --numerics=exact forbids for floats. */
#include "schedule/internal.h"

#include <assert.h>

typedef struct {
	int stage;
	SlidingWindow window;
} Separate;

static Refusal parameters(const Call *call, Separate *p)
{
	const Nest *nest = call->nest;
	int var;
	Refusal why = call_loop(call, 0, &var);

	if (!why)
		why = call_outs(call, 1);
	if (why)
		return why;
	p->stage = nest->vars.at[var].stage;
	const Stage *s = &nest->stages.at[p->stage];
	int axis = nest->vars.at[var].axis;
	if (!nest->vars.at[var].reduce)
		return "the loop is not a reduction loop";
	if (axis < 0 || !edit_is_pristine(nest, p->stage))
		return "the block is scheduled already";
	for (int j = 0; j < s->nspatial; j++)
		if (window_find(s->body, j, s->axes[j].extent, axis,
			s->axes[axis].extent, &p->window))
			return NULL;
	return "the elements do not move along the loop as along an axis of "
	       "the block";
}

Refusal separate_legal(const Call *call)
{
	Separate p;
	Refusal why = parameters(call, &p);

	if (why)
		return why;
	if (edit_is_exact(call->nest, p.stage))
		return "exact numerics keep the order of the reduction";
	if (!edit_is_identity_write(call->nest, p.stage))
		return "the block does not write at its axes";
	return NULL;
}

static int add_columns(Nest *nest, const Separate *p, const char *name)
{
	const Stage *old = &nest->stages.at[p->stage];
	const SlidingWindow *w = &p->window;
	StageAxis *axes = NEW_N(nest->arena, StageAxis, old->naxes);
	Expr *body = window_columns(nest->arena, w, old->body, old->naxes);
	int n = 0;

	for (int a = 0; a < old->naxes; a++)
		if (a != w->s)
			axes[n++] = old->axes[a];
	assert(n == old->naxes - 1 && w->j < old->nspatial);
	axes[w->j].extent = w->extent;
	int stage = edit_new_block(nest, p->stage, name, axes, n, old->nspatial,
	    old->reduce, body->type);
	nest_set_body(nest, stage, body);
	return stage;
}

static void reduce_across(Nest *nest, const Separate *p, int columns)
{
	Stage *s = &nest->stages.at[p->stage];
	StageAxis *axes = arena_memdup(
	    nest->arena, s->axes, sizeof *axes * (size_t)s->naxes);

	axes[s->nspatial] = axes[p->window.s];
	s->axes = axes;
	s->naxes = s->nspatial + 1;
	edit_remake(nest, p->stage,
	    window_across(nest->arena, &p->window, s->body->type,
		nest->stages.at[columns].buffer, s->nspatial));
}

void separate_apply(const Call *call)
{
	Separate p;

	parameters(call, &p);
	reduce_across(call->nest, &p,
	    add_columns(call->nest, &p, call->step->outs[0]));
}
