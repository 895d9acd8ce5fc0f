/* Dimensions that reductions go over whole, to where neighbours lie, are one.
 *
 *     y[c] = sum[r < 7, s < 7](x[c, r, s])      flatten(x, 1)
 * -->
 *     y[c] = sum[s < 49](x[c, 0, s])
 *
 * so that vectors lie along 49 elements, not along 7; and what x is made from,
 * element by element.  The other rules see the program as it is then. */
#include "schedule/rules/rules.h"

static Flat *flat_of(Arena *arena, const Program *p)
{
	Flat *f = flat_new(arena, p->nblocks, p->nbuffers);
	for (int i = 0; i < p->nbuffers; i++)
		f->shapes[i] = p->buffers[i].shape;
	for (int i = 0; i < p->nblocks; i++) {
		const Block *b = &p->blocks[i];
		f->blocks[i] = (FlatBlock){
		    b->body, b->buffer, b->nspatial, block_extents(arena, b)};
	}
	return f;
}

/* Does all that goes over this dimension go over the next, and is reduced at
 * last? */
static bool is_flat(const Program *p, Flat *f, int buffer, int dim)
{
	bool reduced = false;
	if (!flat_close(f, buffer, dim))
		return false;
	for (int i = 0; i < p->nblocks; i++) {
		const Block *b = &p->blocks[i];
		bool reduces = f->axes[i].outer >= b->nspatial;
		bool touched = f->axes[i].outer >= 0;
		reduced |= reduces;
		if (reduces ? rule_keeps_order(p, b)
			    : touched &&
			    p->buffers[b->buffer].role == BUFFER_OUTPUT)
			return false;
	}
	return reduced;
}

static void make_flat(Arena *arena, Program *p, const Flat *f)
{
	for (int i = 0; i < p->nblocks; i++) {
		Block *b = &p->blocks[i];
		FlatAxes axes = f->axes[i];
		if (axes.outer < 0)
			continue;
		*b = rule_block_like(arena, b, b->name);
		b->axes[axes.inner].extent *= b->axes[axes.outer].extent;
		b->axes[axes.outer].extent = 1;
	}
	for (int i = 0; i < p->nbuffers; i++) {
		Buffer *x = &p->buffers[i];
		if (f->dim[i] >= 0)
			x->shape = flat_shape(arena, f, i, x->ndim);
	}
}

const Program *rule_flatten(Arena *arena, const Program *program, Buf *steps)
{
	Program *p = rule_copy_program(arena, program);
	Flat *f = flat_of(arena, p);
	for (int i = 0; i < p->nbuffers; i++) {
		int ndim = p->buffers[i].ndim, dim = ndim - 2;
		while (dim >= 0 && is_flat(p, f, i, dim))
			dim--;
		while (++dim < ndim - 1 && is_flat(p, f, i, dim)) {
			buf_printf(steps, "flatten(%s, %d)\n",
			    p->buffers[i].name, dim);
			make_flat(arena, p, f);
			f = flat_of(arena, p);
		}
	}
	return p;
}
