/* Dimensions to where neighbours lie are one, for vectors along all of them: those
 * that reductions go over whole, of what that is made from, too, and those with a
 * few elements of each place, all made alike.
 *
 *     y[c] = sum[r < 7, s < 7](x[c, r, s])        y[c] = sum[s < 49](x[c, 0, s])
 *     y[j, c < 3] = x[j + 1, c] - x[j, c]         y[0, c] = x[0, c + 3] - x[0, c]
 *
 * The other rules see the program as it is then. */
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

/* Does all that goes over this dimension go over the next, and is reduced at last,
 * or ends with a row that fills no vector? */
static bool is_flat(
    const Program *p, const Machine *m, Flat *f, int buffer, int dim)
{
	int64_t row = p->buffers[buffer].shape[dim + 1];
	bool flat = flat_close(f, buffer, dim), reduced = false, output = false;
	bool ends = 1 < row && row < rule_lanes(m, DT_F32);
	for (int i = 0; i < p->nblocks && flat; i++) {
		const Block *b = &p->blocks[i];
		FlatAxes axes = f->axes[i];
		flat &= axes.outer < b->nspatial || !rule_keeps_order(p, b);
		reduced |= axes.outer >= b->nspatial;
		ends &= axes.outer < 0 || axes.inner == b->nspatial - 1;
		output |= 0 <= axes.outer && axes.outer < b->nspatial &&
		    p->buffers[b->buffer].role == BUFFER_OUTPUT;
	}
	return flat && (reduced ? !output : ends);
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
	for (int i = 0; i < p->nbuffers; i++) {
		int ndim = p->buffers[i].ndim, dim = ndim - 2;
		while (dim >= 0 && is_flat(p, m, f, i, dim))
			dim--;
		while (++dim < ndim - 1 && is_flat(p, m, f, i, dim)) {
			buf_printf(steps, "flatten(%s, %d)\n",
			    p->buffers[i].name, dim);
			make_flat(arena, p, f);
			f = flat_of(arena, p);
		}
	}
	return p;
}
