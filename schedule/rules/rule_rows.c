/* What leads from a product to the anchor, row by row (schedule/rows.c), is made
 * for each block of the anchor's rows, so that it stays in a cache.
 *
 *     for i for j s[i, j] = …            for i0
 *     for i for j m[i] max= s[i, j]        for i, j  s[i, j] = …     tiled
 *     for i0 for d0 …                -->   for i, j  m[i] max= s[i, j]
 *                                          for d0 …
 *
 * The products are tiled for themselves there (rule_tile_other). */
#include "schedule/rules/rules.h"

#include <assert.h>

/* Do all operands of a block move with an axis of the anchor? */
static bool moves_all(const Rules *r, int block, int axis)
{
	const RuleBlock *b = &r->blocks[block];
	assert(r->rows->moves[block]);
	for (int a = 0; a < r->program->blocks[block].nspatial; a++)
		vec_each (read, &b->reads)
			if (r->rows->moves[block][a] == axis && !read->uses[a])
				return false;
	return true;
}

static void find_batches(Rules *r)
{
	int anchor = r->tiled.block, naxes = r->program->blocks[anchor].naxes;
	r->batches = NEW_N(r->arena, bool, naxes);
	for (int a = 0; a < naxes; a++) {
		r->batches[a] = r->rows->axes[a] && moves_all(r, anchor, a);
		for (int i = 0; i < anchor && r->batches[a]; i++)
			if (r->rows->between[i] && rule_can_tile(r, i))
				r->batches[a] = moves_all(r, i, a);
	}
}

/* Those that all products before the anchor have in common with it. */
void rule_rows_join(Rules *r, Rows *rows)
{
	const Program *p = r->program;
	if (!rows)
		return;
	for (int a = 0; r->rows && a < p->blocks[r->tiled.block].naxes; a++)
		rows->axes[a] &= r->rows->axes[a];
	for (int b = 0; r->rows && b < p->nblocks; b++) {
		rows->between[b] |= r->rows->between[b];
		if (!rows->moves[b])
			rows->moves[b] = r->rows->moves[b];
	}
	r->rows = rows;
}

void rule_rows_choose(Rules *r)
{
	int anchor = r->tiled.block;
	for (int i = 0; i < anchor; i++)
		rule_rows_join(r, rule_can_tile(r, i)
			? rows_between(r->arena, r->program, i, anchor)
			: NULL);
	if (r->rows)
		find_batches(r);
}

void rule_rows(Rules *r, int i)
{
	RuleBlock *b = &r->blocks[i];
	if (!r->row_loop || !rule_rows_has(r, i) || b->inlined ||
	    (b->scheduled && b->host != i))
		return;
	assert(!b->output);
	b->host = r->blocks[r->tiled.block].host;
	if (!b->scheduled)
		b->moved_by = rule_movers(r, b);
	rule_put(r, "compute_at(%s, %s)\n%s", r->program->blocks[i].name,
	    r->row_loop, b->copies ? b->copies : "");
}
