/* A part of a running sum (rule_prefix.c): lanes along the last axis, some rows
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
	int axis = rule_running_whole(r, block);
	return axis >= 0 && last > axis &&
	    b->axes[last].extent >= rule_lanes(r->machine, b->body->type);
}

/* Axes but the one that carries and the last; the first of these with something
 * to share. */
static int put_batches(Rules *r, const Block *b, int row, int last)
{
	int first = -1;
	for (int a = 0; a < b->nspatial; a++) {
		if (a == row || a == last)
			continue;
		buf_printf(&r->text, "%s.%s, ", b->name, b->axes[a].name);
		if (first < 0 && b->axes[a].extent > 1)
			first = a;
	}
	return first;
}

/* Where all that reads it is in its tiles, no more rows are kept than one has. */
static void put_ring(Rules *r, int block, int row, const char *rows)
{
	const Block *b = &r->program->blocks[block];
	const RuleBlock *info = &r->blocks[block];
	for (int i = 0; i < info->consumers.n; i++)
		if (r->blocks[info->consumers.at[i]].beside != block)
			return;
	if (info->output)
		return;
	buf_printf(&r->text, "transform_layout(%s, [", b->name);
	for (int a = 0; a < b->nspatial; a++)
		buf_printf(&r->text, "%s%s%s%s", a ? ", " : "", b->axes[a].name,
		    a == row ? "%" : "", a == row ? rows : "");
	buf_printf(&r->text, "])\n");
}

static void put_carried(Rules *r, int block)
{
	const Block *b = &r->program->blocks[block];
	int row = rule_carries(r, block);
	int last = rule_longer_axis(b, b->nspatial), batch;
	int lanes = rule_lanes(r->machine, b->body->type);
	bool threads = r->machine->threads > 1;
	RuleSplit i = rule_split(r, b, row, NULL);
	RuleSplit j = rule_split(r, b, last, NULL);
	assert(last > row);
	while (lanes > 1 && b->axes[last].extent * 2 <= lanes)
		lanes /= 2;
	buf_printf(&r->text, "%s, %s = split(%s.%s, ? in tile([1, 2, 4, 8]))\n", i.outer,
	    i.unrolled, b->name, b->axes[row].name);
	buf_printf(&r->text, "%s, %s, %s = split(%s.%s, ? in tile([1, 2, 4, 8], [%d]))\n",
	    j.outer, j.unrolled, j.lanes, b->name, b->axes[last].name, lanes);
	buf_printf(&r->text, "reorder(");
	batch = put_batches(r, b, row, last);
	bool columns = threads && batch < 0;
	buf_printf(&r->text, "%s, %s, %s, %s, %s)\n", columns ? j.outer : i.outer,
	    columns ? i.outer : j.outer, i.unrolled, j.unrolled, j.lanes);
	buf_printf(&r->text, "unroll(%s)\nunroll(%s)\nvectorize(%s, %d)\n", i.unrolled,
	    j.unrolled, j.lanes, lanes);
	r->blocks[block].tile = columns ? i.outer : j.outer;
	put_ring(r, block, row, i.unrolled);
	buf_printf(&r->text, "tail(%s, ? in {peel, mask})\n", b->name);
	if (columns)
		buf_printf(&r->text, "parallel(%s)\n", j.outer);
	else if (threads)
		buf_printf(&r->text, "parallel(%s.%s)\n", b->name, b->axes[batch].name);
}

bool rule_running_applies(const Rules *r, int block)
{
	return rule_is_open(r, block) &&
	    (rule_is_running(r, block) || is_in_columns(r, block) ||
		rule_carries(r, block) >= 0);
}

static void put_columns(Rules *r, int block)
{
	const Block *b = &r->program->blocks[block];
	int last = rule_longer_axis(b, b->nspatial);
	int lanes = rule_lanes(r->machine, b->body->type);
	const char *n = b->name, *axis = b->axes[last].name;
	const char *v0 = rule_name(r, b, axis, "0");
	const char *v1 = rule_name(r, b, axis, "1");
	const char *vv = rule_name(r, b, axis, "v");
	bool home = r->blocks[block].home == block;
	buf_printf(&r->text, "%s, %s, %s = split(%s.%s, ? in tile([1, 2, 4, 8], [%d]))\n",
	    v0, v1, vv, n, axis, lanes);
	buf_printf(&r->text, "reorder(%s, ", v0);
	for (int a = 0; a < b->nspatial; a++)
		if (a != last)
			buf_printf(&r->text, "%s.%s, ", n, b->axes[a].name);
	buf_printf(&r->text, "%s, %s)\nunroll(%s)\nvectorize(%s, %d)\n", v1, vv, v1, vv,
	    lanes);
	buf_printf(&r->text, "tail(%s, ? in {peel, mask})\n", n);
	if (home && r->machine->threads > 1)
		buf_printf(&r->text, "parallel(%s)\n", v0);
	if (home)
		rule_add_place(r, block, v0, -1);
}

void rule_running(Rules *r, int block)
{
	if (rule_carries(r, block) >= 0)
		put_carried(r, block);
	else if (rule_is_running(r, block))
		rule_lanes_in_space(r, block);
	else
		put_columns(r, block);
	r->blocks[block].scheduled = true;
}
