/* A part of a scan, a running sum (rule_prefix.c): lanes along the last axis, some rows
 * and vectors at once, the sum around them.
 *
 *     for i0 for j0 for x0 unroll i1 unroll j1 vector jv   w[i, j] += e(i, x0)
 *
 * Of a sum down the columns the result is made some columns at a time, so that
 * their parts stay in a cache:
 *
 *     for j0 { the parts; for i unroll j1 vector jv  y[i, j] = … }
 *
 * What is carried from row to row is made as it lies, some rows at once; for
 * threads in columns, unless other axes are shared among them.
 *
 *     for i0 for j0 unroll i1 unroll j1 vector jv  y[i, j] = y[i - 1, j] + …
 *
 * Where what reads it follows in these loops, a ring of rows is kept.
 */
#include "schedule/rules/rules.h"

#include <assert.h>

/* A whole one down columns that are worth vectors. */
static bool is_in_columns(const Rules *r, int block)
{
	const Block *b = &r->program->blocks[block];
	int last = rule_longer_axis(b, b->nspatial);
	int axis = rule_scan_whole(r, block);
	return axis >= 0 && last > axis &&
	    b->axes[last].extent >= rule_lanes(r->machine, b->body->type);
}

/* Where all that reads it is in its tiles, no more rows are kept than one has. */
static void put_ring(Rules *r, int block, int row, const char *rows)
{
	const Block *b = &r->program->blocks[block];
	const RuleBlock *info = &r->blocks[block];
	for (int i = 0; i < info->consumers.n; i++)
		if (r->blocks[info->consumers.at[i]].colocated_with != block)
			return;
	if (info->output)
		return;
	rule_put(r, "transform_layout(%s, [", b->name);
	for (int a = 0; a < b->nspatial; a++)
		rule_put(r, "%s%s%s, ", b->axes[a].name, a == row ? "%" : "",
		    a == row ? rows : "");
	rule_put(r, "])\n");
}

/* Threads share out other axes or, where there are none, columns. */
static void put_carried(Rules *r, int block)
{
	const Block *b = &r->program->blocks[block];
	int row = rule_carries(r, block), batch = rule_first_axis(b, 0, row);
	int last = rule_longer_axis(b, b->nspatial);
	int lanes = rule_filled(b, last, rule_lanes(r->machine, b->body->type));
	const char *few = "1, 2, 4, 8";
	RuleSplit i = rule_tiles(r, b, row, NULL, "", few, 0);
	RuleSplit j = rule_tiles(r, b, last, NULL, "", few, lanes);
	assert(last > row);
	if (batch < 0)
		batch = rule_first_axis(b, row + 1, last);
	bool columns = r->machine->threads > 1 && batch < 0;
	rule_put(r, "reorder(%s, %s, %s, %s, %s, %s)\n",
	    rule_loops(r, b->name, b, 0, b->nspatial, row, last),
	    columns ? j.outer : i.outer, columns ? i.outer : j.outer,
	    i.unrolled, j.unrolled, j.lanes);
	rule_vectors(r, rule_join(r, i.unrolled, j.unrolled), j.lanes, lanes);
	r->blocks[block].tile = columns ? i.outer : j.outer;
	put_ring(r, block, row, i.unrolled);
	rule_put(r, "tail(%s, ? in {peel, mask})\n", b->name);
	rule_parallel(r, columns ? j.outer : rule_loop(r, b->name, b, batch));
}

static void put_columns(Rules *r, int block)
{
	const Block *b = &r->program->blocks[block];
	int last = rule_longer_axis(b, b->nspatial);
	int lanes = rule_lanes(r->machine, b->body->type);
	RuleSplit v = rule_tiles(r, b, last, NULL, "", "1, 2, 4, 8", lanes);
	rule_put(r, "reorder(%s, %s, %s, %s)\n", v.outer,
	    rule_loops(r, b->name, b, 0, b->nspatial, last, -1), v.unrolled,
	    v.lanes);
	rule_vectors(r, v.unrolled, v.lanes, lanes);
	rule_put(r, "tail(%s, ? in {peel, mask})\n", b->name);
	if (r->blocks[block].host != block)
		return;
	rule_parallel(r, v.outer);
	rule_add_place(r, block, v.outer, -1, false);
}

void rule_scan(Rules *r, int block)
{
	if (!rule_is_open(r, block))
		return;
	if (rule_carries(r, block) >= 0)
		put_carried(r, block);
	else if (rule_is_scan(r, block))
		rule_lanes_in_space(r, block);
	else if (is_in_columns(r, block))
		put_columns(r, block);
	else
		return;
	r->blocks[block].scheduled = true;
}
