/* Dimensions to where neighbours lie are one, for vectors along all of them: those
 * that reductions go over whole, of what that is made from, too, and those with a
 * few elements of each place, all made alike.
 *
 *     y[c] = sum[r < 7, s < 7](x[c, r, s])        y[c] = sum[s < 49](x[c, 0, s])
 *     y[j, c < 3] = x[j + 1, c]*m[c]              y[0, c] = x[0, c + 3]*m[c % 3] */
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

/* Does all that goes over this dimension go over the next, and is reduced at last
 * and no output, or ends, with what is behind, in rows that are no whole vectors, of
 * two at most?  Sums would go over elements apart where their axes stand elsewhere. */
static bool is_flat(const Program *p, int lanes, Flat *f, int buffer, int dim)
{
	int last = p->buffers[buffer].ndim - 1, behind = last - 1 - dim;
	int64_t row = p->buffers[buffer].shape[last];
	bool flat = flat_close(f, buffer, dim), reduced = false, output = false;
	bool apart = false;
	bool ends = 1 < row && row < 2 * lanes && row % lanes != 0 &&
	    !(behind && f->again);
	for (int i = 0; i < p->nblocks && flat; i++) {
		const Block *b = &p->blocks[i];
		int outer = f->axes[i].outer, inner = f->axes[i].inner;
		flat &= outer < b->nspatial || !rule_keeps_order(p, b);
		reduced |= outer >= b->nspatial;
		ends &= outer < 0 ||
		    inner + behind ==
			(outer < b->nspatial ? b->nspatial : b->naxes) - 1;
		apart |= f->axes[i].apart;
		output |= f->dim[b->buffer] >= 0 &&
		    p->buffers[b->buffer].role == BUFFER_OUTPUT;
	}
	return flat && !f->far && !(apart && reduced) &&
	    (ends || (reduced && !output));
}

static void make_flat(Arena *arena, Program *p, const Flat *f)
{
	for (int i = 0; i < p->nblocks; i++) {
		Block *b = &p->blocks[i];
		FlatAxes axes = f->axes[i];
		if (axes.outer < 0)
			continue;
		*b = rule_block_like(arena, b, b->name);
		b->body = flat_body(arena, f, i);
		b->axes[axes.inner].extent *= b->axes[axes.outer].extent;
		b->axes[axes.outer].extent = 1;
	}
	for (int i = 0; i < p->nbuffers; i++)
		p->buffers[i].shape =
		    flat_shape(arena, f, i, p->buffers[i].ndim);
}

const Program *rule_flatten(
    Arena *arena, const Program *program, const Machine *m, Buf *steps)
{
	Program *p = rule_copy_program(arena, program);
	Flat *f = flat_of(arena, p);
	int lanes = rule_lanes(m, DT_F32);
	for (int i = 0; i < p->nbuffers; i++) {
		int ndim = p->buffers[i].ndim, dim = ndim - 2;
		while (dim >= 0 && is_flat(p, lanes, f, i, dim))
			dim--;
		while (++dim < ndim - 1 && is_flat(p, lanes, f, i, dim)) {
			buf_printf(steps, "flatten(%s, %d)\n",
			    p->buffers[i].name, dim);
			make_flat(arena, p, f);
			f = flat_of(arena, p);
		}
	}
	return p;
}
