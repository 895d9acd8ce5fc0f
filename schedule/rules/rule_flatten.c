/* Dimensions that reductions go over whole, to where neighbours lie, are one.
 *
 *     y[c] = sum[r < 7, s < 7](x[c, r, s])      flatten(x, 1)
 * -->
 *     y[c] = sum[s < 49](x[c, 0, s])
 *
 * so that vectors lie along 49 elements, not along 7.  The other rules see the
 * program as it is then. */
#include "schedule/rules/rules.h"

#include <string.h>

static bool flat_axes(
    Arena *arena, const Block *b, const FlatBuffer *of, FlatAxes *axes)
{
	int64_t *extents = NEW_N(arena, int64_t, b->naxes + 1);
	for (int a = 0; a < b->naxes; a++)
		extents[a] = b->axes[a].extent;
	return flat_find(b->body, of, extents, b->nspatial, axes);
}

/* Do all that read it go over this dimension and the next? */
static bool is_flat(Arena *arena, const Program *p, const FlatBuffer *of)
{
	FlatAxes axes;
	int readers = 0;
	for (int i = 0; i < p->nblocks; i++) {
		const Block *b = &p->blocks[i];
		if (!expr_find_read(b->body, of->buffer))
			continue;
		readers++;
		if (rule_keeps_order(p, b) || !flat_axes(arena, b, of, &axes))
			return false;
	}
	return readers > 0;
}

static void make_flat(Arena *arena, Program *p, const FlatBuffer *of)
{
	Buffer *x = &p->buffers[of->buffer];
	int64_t all = of->shape[of->dim] * of->shape[of->dim + 1];
	for (int i = 0; i < p->nblocks; i++) {
		Block *b = &p->blocks[i];
		FlatAxes axes;
		if (!expr_find_read(b->body, of->buffer))
			continue;
		flat_axes(arena, b, of, &axes);
		*b = rule_block_like(arena, b, b->name);
		b->axes[axes.outer].extent = 1;
		b->axes[axes.inner].extent = all;
	}
	x->shape = arena_memdup(
	    arena, x->shape, sizeof *x->shape * (size_t)x->ndim);
	x->shape[of->dim] = 1;
	x->shape[of->dim + 1] = all;
}

const Program *rule_flatten(Arena *arena, const Program *program, Buf *steps)
{
	Program *p = rule_copy_program(arena, program);
	for (int i = 0; i < p->nbuffers; i++) {
		const Buffer *x = &p->buffers[i];
		FlatBuffer of = {i, x->ndim - 2, x->shape};
		while (x->role == BUFFER_INPUT && of.dim >= 0 &&
		    is_flat(arena, p, &of))
			of.dim--;
		while (x->role == BUFFER_INPUT && ++of.dim < x->ndim - 1) {
			of.shape = x->shape;
			buf_printf(steps, "flatten(%s, %d)\n", x->name, of.dim);
			make_flat(arena, p, &of);
		}
	}
	return p;
}
