/* unfold: a reduction of a few steps is written out and is none any more, so it
 * can be put where it is read.
 *
 *     y[i] = sum[s < 3](c[i + s])
 *   ->
 *     y[i] = c[i + 2] + (c[i + 1] + c[i])
 *
 * The order stays.  It begins with the reduction's identity unless that changes
 * no element: integers, products, or what is the result of such a reduction
 * itself.  Of a loop, by itself:
 *
 *     y[i] = sum[k, s < 1](x[i + s, k])    unfold(y.s)    y[i] = sum[k](x[i, k])
 *
 * Legal before anything of the block is scheduled. */
#include "schedule/internal.h"

#include <assert.h>

enum { STEPS_MOST = 64 };

typedef struct {
	int stage;
	int axis;	  /* of the one loop; -1: all of the reduction's */
	int64_t *extents; /* by axis */
	bool reduced;	  /* each element is the result of such a reduction */
} Unfold;

/* Is each element what such a reduction gave? */
static bool is_reduced(const Nest *nest, const Stage *s)
{
	if (s->body->op != OP_READ)
		return false;
	const NestBuffer *from = &nest->buffers.at[s->body->id];
	const Stage *w =
	    from->writer < 0 ? NULL : &nest->stages.at[from->writer];
	return w && w->reduce == s->reduce && w->body->type == s->body->type &&
	    from->type == s->body->type && !w->fill;
}

static Refusal loop_parameter(const Call *call, Unfold *p)
{
	const Nest *nest = call->nest;
	int loop;
	Refusal why = call_loop(call, 0, &loop);

	if (why)
		return why;
	p->stage = nest->vars.at[loop].stage;
	p->axis = nest->vars.at[loop].axis;
	if (!nest->vars.at[loop].reduce)
		return "the loop is not a reduction loop";
	return p->axis < 0 ? "the block is scheduled already" : NULL;
}

static Refusal parameters(const Call *call, Unfold *p)
{
	const Nest *nest = call->nest;
	Refusal why = call_stage(call, 0, &p->stage);

	p->axis = -1;
	if (why)
		why = loop_parameter(call, p);
	if (why)
		return why;
	const Stage *s = &nest->stages.at[p->stage];
	p->extents = edit_extents(nest, p->stage);
	p->reduced = is_reduced(nest, s);
	return NULL;
}

static Expr *body_of(const Nest *nest, const Unfold *p)
{
	const Stage *s = &nest->stages.at[p->stage];

	return unfold_body(nest->arena, s->reduce, s->body, s->nspatial,
	    p->extents, s->naxes, p->reduced);
}

static Refusal whole_legal(const Nest *nest, const Unfold *p)
{
	const Stage *s = &nest->stages.at[p->stage];

	if (!unfold_steps(
		p->extents + s->nspatial, s->naxes - s->nspatial, STEPS_MOST) ||
	    !expr_size_within(body_of(nest, p), UNFOLD_NODES_MAX))
		return "the body would be too large";
	return NULL;
}

static Refusal loop_legal(const Stage *s, const Unfold *p)
{
	if (p->extents[p->axis] != 1)
		return "the loop has several steps";
	return s->naxes == s->nspatial + 1 ? "the reduction has no other loop"
					   : NULL;
}

Refusal unfold_legal(const Call *call)
{
	const Nest *nest = call->nest;
	Unfold p;
	Refusal why = parameters(call, &p);

	if (why)
		return why;
	const Stage *s = &nest->stages.at[p.stage];
	if (s->reduce == REDUCE_NONE)
		return "the block has no reduction";
	if (!edit_is_pristine(nest, p.stage))
		return "the block is scheduled already";
	if (!edit_is_identity_write(nest, p.stage))
		return "the block does not write at its axes";
	return p.axis < 0 ? whole_legal(nest, &p) : loop_legal(s, &p);
}

static void take_axis(Nest *nest, const Unfold *p)
{
	Stage *s = &nest->stages.at[p->stage];
	Expr *body = unfold_axis(nest->arena, s->body, p->axis, s->naxes);

	assert(s->axes[p->axis].extent == 1);
	edit_drop_axis(nest, p->stage, p->axis, body);
}

void unfold_apply(const Call *call)
{
	Unfold p;

	parameters(call, &p);
	if (p.axis < 0)
		edit_make_elementwise(
		    call->nest, p.stage, body_of(call->nest, &p));
	else
		take_axis(call->nest, &p);
}
