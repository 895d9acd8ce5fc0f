/* distribute: a sum of products one factor of which has an offset, as the sum of
 * the products without it and the sum of the other factor.
 *
 *     c[i, j] = sum[k]((i32(t[i, k]) - 128) * i32(b[k, j]))    p, s = distribute(c)
 *   ->
 *     p[i, j] = sum[k](i32(t[i, k]) * i32(b[k, j]))
 *     s[j] = sum[k](i32(b[k, j]))
 *     c[i, j] = p[i, j] + s[j] * -128
 *
 * s has the axes that the other factor has.  Integers wrap around, so the result
 * is the same; floats are refused.  Legal before anything of the block is
 * scheduled. */
#include "schedule/internal.h"

typedef struct {
	int stage;
	Distribution parts;
} Distribute;

static Refusal parameters(const Call *call, Distribute *p)
{
	const Nest *nest = call->nest;
	Refusal why = call_stage(call, 0, &p->stage);

	if (!why)
		why = call_outs(call, 2);
	if (why)
		return why;
	const Stage *s = &nest->stages.at[p->stage];
	int64_t *extents = NEW_N(nest->arena, int64_t, s->naxes);
	for (int a = 0; a < s->naxes; a++)
		extents[a] = s->axes[a].extent;
	return s->reduce == REDUCE_SUM &&
		distribution_find(nest->arena, s->body, extents, s->nspatial,
		    s->naxes, &p->parts)
	    ? NULL
	    : "the block is no sum of products with an offset of integers";
}

Refusal distribute_legal(const Call *call)
{
	const Nest *nest = call->nest;
	Distribute p;
	Refusal why = parameters(call, &p);

	if (why)
		return why;
	if (!edit_is_pristine(nest, p.stage))
		return "the block is scheduled already";
	if (!edit_is_identity_write(nest, p.stage))
		return "the block does not write at its axes";
	return NULL;
}

/* A block with so many axes of the old one's. */
static int add_part(Nest *nest, const Distribute *p, const char *name,
    const int *axes, int naxes, int nspatial, Expr *body)
{
	int number = edit_new_stage(nest, name, p->stage, false);
	Stage *s = &nest->stages.at[number];
	const Stage *old = &nest->stages.at[p->stage];
	NestBuffer like = nest->buffers.at[old->buffer];

	s->naxes = naxes;
	s->nspatial = s->nwrite = like.ndim = nspatial;
	s->reduce = naxes > nspatial ? REDUCE_SUM : REDUCE_NONE;
	s->axes = NEW_N(nest->arena, StageAxis, naxes);
	s->write = NEW_N(nest->arena, Expr *, nspatial);
	like.type = body->type;
	like.shape = NEW_N(nest->arena, int64_t, nspatial);
	for (int i = 0; i < naxes; i++) {
		const StageAxis *from = &old->axes[axes[i]];
		s->axes[i] = (StageAxis){.name = from->name,
		    .extent = from->extent, .reduce = from->reduce,
		    .region = HANDLE_NONE};
		if (i >= nspatial)
			continue;
		s->write[i] = expr_axis(nest->arena, i);
		like.shape[i] = from->extent;
	}
	s->buffer = edit_new_buffer(nest, name, &like, SCOPE_GLOBAL);
	nest->buffers.at[s->buffer].writer = number;
	nest_set_body(nest, number, body);
	edit_new_loops(nest, number);
	return s->buffer;
}

void distribute_apply(const Call *call)
{
	Nest *nest = call->nest;
	Distribute p;

	parameters(call, &p);
	int naxes = nest->stages.at[p.stage].naxes;
	int nspatial = nest->stages.at[p.stage].nspatial;
	int *all = NEW_N(nest->arena, int, naxes);
	for (int a = 0; a < naxes; a++)
		all[a] = a;
	int product = add_part(nest, &p, call->step->outs[0], all, naxes,
	    nspatial, p.parts.product);
	int other = add_part(nest, &p, call->step->outs[1], p.parts.axes,
	    p.parts.naxes, p.parts.nspatial,
	    distribution_other(nest->arena, &p.parts, naxes));
	edit_make_elementwise(nest, p.stage,
	    distribution_whole(
		nest->arena, &p.parts, nspatial, product, other));
}
