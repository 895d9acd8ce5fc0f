/* unfold: a reduction of a few steps is written out and is none any more, so it
 * can be put where it is read.
 *
 *     y[i] = sum[s < 3](c[i + s])
 *   ->
 *     y[i] = c[i + 2] + (c[i + 1] + c[i])
 *
 * The order stays.  It begins with the reduction's identity unless that changes
 * no element: integers, products, or what is the result of such a reduction
 * itself.
 * Legal before anything of the block is scheduled. */
#include "schedule/internal.h"

enum { STEPS_MOST = 64 };

typedef struct {
	int stage;
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

static Refusal parameters(const Call *call, Unfold *p)
{
	const Nest *nest = call->nest;
	Refusal why = call_stage(call, 0, &p->stage);

	if (why)
		return why;
	const Stage *s = &nest->stages.at[p->stage];
	p->extents = NEW_N(nest->arena, int64_t, s->naxes);
	for (int a = 0; a < s->naxes; a++)
		p->extents[a] = s->axes[a].extent;
	p->reduced = is_reduced(nest, s);
	return NULL;
}

static Expr *body_of(const Nest *nest, const Unfold *p)
{
	const Stage *s = &nest->stages.at[p->stage];

	return unfold_body(nest->arena, s->reduce, s->body, s->nspatial,
	    p->extents, s->naxes, p->reduced);
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
	if (!unfold_steps(
		p.extents + s->nspatial, s->naxes - s->nspatial, STEPS_MOST) ||
	    !expr_size_within(body_of(nest, &p), UNFOLD_NODES_MAX))
		return "the body would be too large";
	return NULL;
}

void unfold_apply(const Call *call)
{
	Unfold p;

	parameters(call, &p);
	edit_make_elementwise(
	    call->nest, p.stage, body_of(call->nest, &p));
}
