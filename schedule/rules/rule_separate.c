/* Sums over windows, and greatest and least elements of windows, are made by
 * columns, then across these.
 *
 *     y[i, j] = sum[r, s](x[i + r, j + s])
 * -->
 *     y_c = separate(y.s)       y_c[i, j] = sum[r](x[i + r, j])
 *     unfold(y)                 y[i, j] = y_c[i, j] + y_c[i, j + 1] + …
 *
 * so that an element is used once for each row and not for each place of the
 * window; what is dear to compute is computed once.  Where the few steps across
 * are written out the block can be put where it is read. */
#include "schedule/rules/rules.h"

#include <assert.h>

enum {
	ACROSS_MOST = 16, /* steps that are written out */
	STRIDED =
	    2, /* and every n-th element of a row: a load more, a shuffle */
	TIMES_MOST = 16
};

/* Of what the window takes as it is; e is computed once: of what neighbouring
 * blocks of rows do not compute twice. */
static const double least_gain = 0.8, least_gain_alone = 0.7;

/* --- which ------------------------------------------------------------------------- */

/* Work by columns, of the work without.  Along the last axis, which has the lanes,
 * columns are read side by side. */
static double gain_of(const Block *b, const SlidingWindow *w, const RuleCost *c)
{
	double ns = (double)b->axes[w->s].extent, all = block_steps(b);
	double nj = (double)b->axes[w->j].extent;
	double cost = c->flops + c->reads + 1;
	double apart = w->step > 1 && w->j == b->nspatial - 1 ? STRIDED : 0;
	double columns = (double)w->extent * (all / ns * cost + 1);
	double across = nj * ns * (2 + apart);
	return (columns + across) / (nj * all * (cost + c->reads * apart));
}

/* The axes with most to gain; false: there is not enough. */
static bool choose(Arena *arena, const Block *b, SlidingWindow *best)
{
	const RuleCost cost = rule_cost(arena, b->body);
	double least = 1;
	for (int s = b->nspatial; s < b->naxes; s++)
		for (int j = 0; j < b->nspatial; j++) {
			SlidingWindow w;
			if (b->axes[j].extent < 2 ||
			    !window_find(b->body, j, b->axes[j].extent, s,
				b->axes[s].extent, &w))
				continue;
			double gain = gain_of(b, &w, &cost);
			if (gain > least)
				continue;
			least = gain;
			*best = w;
		}
	return least <= (b->naxes == b->nspatial + 1 ? least_gain_alone
						      : least_gain);
}

void rule_separate(RuleForm *f)
{
	int times = 0, before = f->program->nbuffers;
	for (int i = 0; i < f->program->nblocks && times < TIMES_MOST; i++) {
		const Block *b = &f->program->blocks[i];
		SlidingWindow w = {0};
		if (b->reduce == REDUCE_NONE ||
		    rule_keeps_order(f->program, b) ||
		    !choose(f->arena, b, &w) ||
		    !rule_rewrite(f, "%s = separate(%s.%s)\n",
			rule_new_name(f, b, "c"), b->name, b->axes[w.s].name))
			continue;
		times++;
		assert(i + 1 < f->program->nblocks);
		rule_made(f, f->program->blocks[i].buffer)->separated = true;
		b = &f->program->blocks[i + 1];
		if (b->buffer < before &&
		    b->axes[b->nspatial].extent <= ACROSS_MOST)
			rule_rewrite(f, "unfold(%s)\n", b->name);
		i--; /* the columns may be worth it, too */
	}
}
