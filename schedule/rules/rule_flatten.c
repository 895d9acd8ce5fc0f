/* Dimensions to where neighbours lie are one, for vectors along all of them: those
 * that reductions go over whole, of what that is made from, too, and those with a
 * few elements of each place, all made alike.
 *
 *     y[c] = sum[r < 7, s < 7](x[c, r, s])        y[c] = sum[s < 49](x[c, 0, s])
 *     y[j, c < 3] = x[j + 1, c]*m[c]              y[0, c] = x[0, c + 3]*m[c % 3] */
#include "schedule/rules/rules.h"

#include <assert.h>

/* Does all that goes over this dimension go over the next, and is reduced at last
 * and no output, or ends, with what is behind, in rows that are no whole vectors, of
 * two at most?  Sums would go over elements apart where their axes stand elsewhere. */
static bool is_flat(const Program *p, int lanes, Flat *f, int buffer, int dim)
{
	int last = p->buffers[buffer].ndim - 1, behind = last - 1 - dim;
	assert(dim >= 0 && behind >= 0);
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

void rule_flatten(RuleForm *f)
{
	int lanes = rule_lanes(f->machine, DT_F32);
	Flat *flat = edit_flat(f->nest);
	for (int i = 0; i < f->program->nbuffers; i++) {
		int ndim = f->program->buffers[i].ndim, dim = ndim - 2;
		while (dim >= 0 && is_flat(f->program, lanes, flat, i, dim))
			dim--;
		while (++dim < ndim - 1 &&
		    is_flat(f->program, lanes, flat, i, dim) &&
		    rule_rewrite(f, "flatten(%s, %d)\n",
			f->program->buffers[i].name, dim))
			flat = edit_flat(f->nest);
	}
}
