/* collapse: two axes of a block's results become one, whose loop may be split in
 * vectors that begin in one row and end in the next.
 *
 *     y[i < 36, c < 18] = f(x[i, c])                         collapse(y, 0)
 *   ->
 *     y[c//18, c%18] = f(x[c//18, c%18])                 i < 1, c < 648
 *
 * Buffers are what they were: where rows lie one behind the other, quotient and
 * remainder are one address.  Unlike a fused loop, which a split must not leave,
 * the axis ends where its elements do.  Legal before anything of the block is
 * scheduled. */
#include "schedule/internal.h"

typedef struct {
	int stage, axis; /* the outer one */
} Collapse;

static Refusal parameters(const Call *call, Collapse *p)
{
	int64_t axis;
	Refusal why = call_stage(call, 0, &p->stage);

	if (!why)
		why = call_int(call, 1, &axis);
	if (why)
		return why;
	p->axis = (int)axis;
	return axis < 0 ||
		axis >= call->nest->stages.at[p->stage].nspatial - 1
	    ? "the block has no such axis of its results with one behind it"
	    : NULL;
}

static Expr *collapsed(const Nest *nest, const Collapse *p, Expr *e)
{
	const Stage *s = &nest->stages.at[p->stage];

	return edit_collapsed(
	    nest->arena, e, p->axis, s->axes[p->axis + 1].extent, s->naxes);
}

Refusal collapse_legal(const Call *call)
{
	const Nest *nest = call->nest;
	Collapse p;
	Refusal why = parameters(call, &p);

	if (why)
		return why;
	const Stage *s = &nest->stages.at[p.stage];
	if (!edit_is_pristine(nest, p.stage) ||
	    nest_is_sharing(nest, p.stage) || s->carries >= 0)
		return "the block is scheduled already";
	if (s->is_copy)
		return "the block is a copy";
	return edit_body_replaceable(
	    nest, p.stage, collapsed(nest, &p, s->body));
}

void collapse_apply(const Call *call)
{
	Nest *nest = call->nest;
	Collapse p;

	parameters(call, &p);
	Stage *s = &nest->stages.at[p.stage];
	Expr **write = NEW_N(nest->arena, Expr *, s->nwrite);
	Expr *body = collapsed(nest, &p, s->body);

	for (int d = 0; d < s->nwrite; d++)
		write[d] = collapsed(nest, &p, s->write[d]);
	s->write = write;
	s->axes = arena_memdup(
	    nest->arena, s->axes, sizeof *s->axes * (size_t)s->naxes);
	s->axes[p.axis + 1].extent *= s->axes[p.axis].extent;
	s->axes[p.axis].extent = 1;
	nest_set_body(nest, p.stage, body);
}
