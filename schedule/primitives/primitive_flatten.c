/* flatten: two dimensions of an input become one, and with them the two loops
 * of each reduction over both.
 *
 *     y[i] = sum[r < 7, s < 7](x[i, r, s])         flatten(x, 1)
 *   ->
 *     y[i] = sum[r < 1, s < 49](x[i, r, s])
 *
 * Its elements lie where they did, row by row; the loop over all of them may be
 * split as one that a split of a fused loop must not leave.  Legal before
 * anything is scheduled of the blocks that read it, all of which go over both
 * dimensions whole (ir/nest/nest_flat.c).  It reorders a sum where another loop
 * of the reduction lies between. */
#include "schedule/internal.h"

#include <string.h>

static Refusal parameters(const Call *call, FlatBuffer *p)
{
	const Nest *nest = call->nest;
	int64_t dim;
	Refusal why = call_buffer(call, 0, &p->buffer);

	if (!why)
		why = call_int(call, 1, &dim);
	if (why)
		return why;
	const NestBuffer *b = &nest->buffers.at[p->buffer];
	if (dim < 0 || dim > b->ndim - 2)
		return "the buffer has no such dimension with one behind it";
	p->dim = (int)dim;
	p->shape = b->shape;
	return NULL;
}

static bool axes_of(
    const Nest *nest, int stage, const FlatBuffer *p, FlatAxes *axes)
{
	const Stage *s = &nest->stages.at[stage];
	int64_t *extents = NEW_N(nest->arena, int64_t, s->naxes);

	for (int a = 0; a < s->naxes; a++)
		extents[a] = s->axes[a].extent;
	return flat_find(s->body, p, extents, s->nspatial, axes);
}

Refusal flatten_legal(const Call *call)
{
	const Nest *nest = call->nest;
	FlatBuffer p;
	Refusal why = parameters(call, &p);

	if (why)
		return why;
	if (nest->buffers.at[p.buffer].writer >= 0)
		return "the buffer is no input";
	IntVec readers = edit_readers(nest, p.buffer);
	for (int i = 0; i < readers.n; i++) {
		int stage = readers.at[i];
		FlatAxes axes;
		if (!edit_is_pristine(nest, stage) ||
		    nest_is_sharing(nest, stage))
			return "a block that reads it is scheduled already";
		if (edit_is_exact(nest, stage))
			return "--numerics=exact keeps the order of a reduction";
		if (!axes_of(nest, stage, &p, &axes))
			return "a block that reads it does not reduce both "
			       "dimensions, whole and alone";
	}
	return NULL;
}

void flatten_apply(const Call *call)
{
	Nest *nest = call->nest;
	FlatBuffer p;

	parameters(call, &p);
	NestBuffer *b = &nest->buffers.at[p.buffer];
	IntVec readers = edit_readers(nest, p.buffer);
	int64_t all = p.shape[p.dim] * p.shape[p.dim + 1];
	for (int i = 0; i < readers.n; i++) {
		Stage *s = &nest->stages.at[readers.at[i]];
		FlatAxes axes;
		axes_of(nest, readers.at[i], &p, &axes);
		s->axes[axes.outer].extent = 1;
		s->axes[axes.inner].extent = all;
	}
	int64_t *shape = NEW_N(nest->arena, int64_t, b->ndim);
	memcpy(shape, b->shape, sizeof *shape * (size_t)b->ndim);
	shape[p.dim] = 1;
	shape[p.dim + 1] = all;
	b->shape = shape;
}
