/* flatten: two dimensions of a buffer become one, and with them the two loops of
 * each block that goes over both.
 *
 *     y[i] = sum[r < 7, s < 7](x[i, r, s])         flatten(x, 1)
 *   ->
 *     y[i] = sum[r < 1, s < 49](x[i, r, s])
 *
 * Its elements lie where they did, row by row; the loop over all of them may be
 * split as one that a split of a fused loop must not leave.  What such a block
 * writes along these loops, and reads besides along them, is flat as well, and so
 * on; what is read t rows of 3 further on is 3*t elements further on.  Legal before
 * anything is scheduled of all these blocks, which go over whole rows
 * (ir/nest/nest_flat.c).  It reorders a sum where another loop of the reduction
 * lies between. */
#include "schedule/internal.h"

#include <assert.h>

typedef struct {
	Flat *flat; /* blocks by their place in the nest's order */
	int buffer, dim;
} Flatten;

static Refusal parameters(const Call *call, Flatten *p)
{
	const Nest *nest = call->nest;
	int64_t dim;
	Refusal why = call_buffer(call, 0, &p->buffer);

	if (!why)
		why = call_int(call, 1, &dim);
	if (why)
		return why;
	if (dim < 0 || dim > nest->buffers.at[p->buffer].ndim - 2)
		return "the buffer has no such dimension with one behind it";
	p->dim = (int)dim;
	p->flat = edit_flat(nest);
	return flat_close(p->flat, p->buffer, p->dim)
	    ? NULL
	    : "a block does not go over both dimensions, whole and alone";
}

static Refusal stage_legal(const Nest *nest, int stage, FlatAxes axes)
{
	const Stage *s = &nest->stages.at[stage];

	if (!edit_is_pristine(nest, stage) || nest_is_sharing(nest, stage) ||
	    s->carries >= 0)
		return "a block that goes over them is scheduled already";
	if (axes.outer >= s->nspatial && edit_is_exact(nest, stage))
		return "exact numerics keep the order of a reduction";
	return edit_is_identity_write(nest, stage)
	    ? NULL
	    : "a block that goes over them does not write at its axes";
}

Refusal flatten_legal(const Call *call)
{
	const Nest *nest = call->nest;
	Flatten p;
	Refusal why = parameters(call, &p);

	for (int i = 0; !why && i < p.flat->nblocks; i++)
		if (p.flat->axes[i].outer >= 0)
			why = stage_legal(
			    nest, nest->order.at[i], p.flat->axes[i]);
	for (int b = 0; !why && b < p.flat->nbuffers; b++)
		if (p.flat->dim[b] >= 0 &&
		    !edit_has_plain_layout(&nest->buffers.at[b]))
			why = "a buffer has another layout already";
	return why;
}

void flatten_apply(const Call *call)
{
	Nest *nest = call->nest;
	Flatten p;

	parameters(call, &p);
	const Flat *f = p.flat;
	for (int i = 0; i < f->nblocks; i++) {
		Stage *s = &nest->stages.at[nest->order.at[i]];
		FlatAxes axes = f->axes[i];
		if (axes.outer < 0)
			continue;
		assert(axes.inner >= 0 && axes.inner != axes.outer &&
		    axes.inner < s->naxes);
		s->body = flat_body(nest->arena, f, i);
		s->axes[axes.inner].extent *= s->axes[axes.outer].extent;
		s->axes[axes.outer].extent = 1;
	}
	for (int b = 0; b < f->nbuffers; b++) {
		NestBuffer *x = &nest->buffers.at[b];
		x->shape = flat_shape(nest->arena, f, b, x->ndim);
	}
}
