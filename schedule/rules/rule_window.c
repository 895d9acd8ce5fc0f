/* A short reduction in a chain of filters: it reads what another block computes,
 * or feeds another short one.  Lanes along the last axis, some rows and vectors
 * at once, the window repeated in code; what it reads is computed for its rows,
 * and is still in the nearest cache then.
 *
 *     for i for j for s  y[i, j] += w[s]*a[i, j + s]
 * -->
 *     for i0 for j0 unroll s unroll i1 unroll j1 vector jv   y[i, j] += …
 */
#include "schedule/rules/rules.h"

enum { WINDOW_MOST = 32, SMALL_WINDOW = 9, UNROLL_MOST = 16, FILTER_LEAST = 3 };

int rule_longer_axis(const Block *b, int below)
{
	int a = below - 1;
	while (a >= 0 && b->axes[a].extent == 1)
		a--;
	return a;
}

bool rule_is_short(const Block *b)
{
	return b->reduce != REDUCE_NONE && block_steps(b) <= WINDOW_MOST;
}

bool rule_is_filter(const Rules *r, int block)
{
	const Block *b = &r->program->blocks[block];
	return rule_is_short(b) || (b->reduce == REDUCE_NONE &&
				       r->blocks[block].flops >= FILTER_LEAST);
}

/* Does a filter make what it reads, or read what it makes? */
static bool is_in_chain(const Rules *r, const RuleBlock *b)
{
	for (int i = 0; i < b->reads.n; i++) {
		int from = r->program->buffers[b->reads.at[i].buffer].block;
		if (from >= 0 && rule_is_filter(r, from))
			return true;
	}
	for (int i = 0; i < b->consumers.n; i++)
		if (rule_is_short(&r->program->blocks[b->consumers.at[i]]))
			return true;
	return rule_is_separated(r, b->block);
}

/* Side by side along the last axis, or the same for all elements. */
static bool reads_along(const Rules *r, const RuleBlock *b, int last)
{
	const Block *block = &r->program->blocks[b->block];
	for (int i = 0; i < b->reads.n; i++) {
		const RuleRead *read = &b->reads.at[i];
		bool spatial = false;
		for (int a = 0; a < block->nspatial; a++)
			spatial |= read->uses[a];
		if (spatial && rule_stride(r->program, read, last, 1) != 1)
			return false;
	}
	return b->reads.n > 0;
}

bool rule_is_window(const Rules *r, int i)
{
	const Block *b = &r->program->blocks[i];
	int last = rule_longer_axis(b, b->nspatial);
	return last >= 0 && rule_is_short(b) && !rule_is_running(r, i) &&
	    b->axes[last].extent >= rule_lanes(r->machine, b->body->type) &&
	    is_in_chain(r, &r->blocks[i]) &&
	    reads_along(r, &r->blocks[i], last);
}

bool rule_window_applies(const Rules *r, int i)
{
	return rule_is_open(r, i) && rule_is_window(r, i);
}

void rule_window(Rules *r, int i)
{
	const char *name = r->program->blocks[i].name;
	rule_lanes_in_space(r, i);
	r->blocks[i].scheduled = true;
	rule_with_place(r, i);
	rule_put_with(r, i, name, name, NULL);
}

/* Steps are repeated in code, so that rows share what they read; of a long loop some:
 * the names of all in their order, and what repeats them. */
static const char *put_steps(Rules *r, const Block *b, const char **order)
{
	const char *code = *order = "";
	bool small = block_steps(b) <= SMALL_WINDOW;
	for (int a = b->nspatial; a < b->naxes; a++) {
		const char *name = b->axes[a].name,
			   *limit = ", limit=? in {1, 16}";
		const char *loop =
		    arena_printf(r->arena, "%s.%s", b->name, name);
		if (b->axes[a].extent > UNROLL_MOST) {
			const char *outer = rule_name(r, b, name, "0"),
				   *whole = loop;
			loop = rule_name(r, b, name, "1");
			buf_printf(&r->text,
			    "%s, %s = split(%s, ? in tile([8, 16]))\n", outer,
			    loop, whole);
			*order =
			    arena_printf(r->arena, "%s%s, ", *order, outer);
			limit = "";
		}
		*order = arena_printf(r->arena, "%s%s, ", *order, loop);
		code = arena_printf(r->arena, "%sunroll(%s%s)\n", code, loop,
		    small ? "" : limit);
	}
	return code;
}

bool rule_lanes_in_space(Rules *r, int block)
{
	const Block *b = &r->program->blocks[block];
	int last = rule_longer_axis(b, b->nspatial);
	int row = rule_longer_axis(b, last < 0 ? 0 : last);
	int lanes = rule_value_lanes(r, block, last);
	int least = rule_least_lanes(lanes);
	bool home = r->blocks[block].home == block;
	const char *n = b->name;
	while (last >= 0 && lanes > 1 && b->axes[last].extent * 2 <= lanes)
		lanes /= 2;
	if (last < 0 || lanes < least)
		return false;
	const char *sizes = rule_columns(r, block, last, lanes);
	RuleSplit v = rule_split(r, b, last, sizes);
	RuleSplit i = rule_split(r, b, row, sizes ? "1, 2, 4, 8" : NULL);
	buf_printf(&r->text, "%s, %s, %s = split(%s.%s, ? in tile(%s[1, 2, 4, 8], [%d]))\n",
	    v.outer, v.unrolled, v.lanes, n, b->axes[last].name, v.domain,
	    lanes);
	if (row >= 0)
		buf_printf(&r->text, "%s, %s = split(%s.%s, ? in tile(%s[1, 2, 4, 8]))\n",
		    i.outer, i.unrolled, n, b->axes[row].name, i.domain);
	const char *order, *steps = put_steps(r, b, &order);
	buf_printf(&r->text, "reorder(");
	for (int a = 0; a < last; a++)
		if (a != row)
			buf_printf(&r->text, "%s.%s, ", n, b->axes[a].name);
	if (sizes)
		buf_printf(&r->text, "%s, %s, %s, %s, ", i.place, v.place, i.inner, v.inner);
	else if (row >= 0)
		buf_printf(&r->text, "%s, %s, ", i.outer, v.outer);
	else
		buf_printf(&r->text, "%s, ", v.outer);
	buf_puts(&r->text, order);
	if (row >= 0)
		buf_printf(&r->text, "%s, ", i.unrolled);
	buf_printf(&r->text, "%s, %s)\n", v.unrolled, v.lanes);
	buf_puts(&r->text, steps);
	buf_printf(&r->text, "unroll(%s)\n", v.unrolled);
	if (row >= 0)
		buf_printf(&r->text, "unroll(%s)\n", i.unrolled);
	buf_printf(&r->text, "vectorize(%s, %d)\ntail(%s, ? in {peel, mask})\n", v.lanes,
	    lanes, n);
	const char *outer = row >= 0 ? i.place : v.place;
	for (int a = row - 1; a >= 0; a--)
		if (b->axes[a].extent > 1)
			outer =
			    arena_printf(r->arena, "%s.%s", n, b->axes[a].name);
	if (r->machine->threads > 1 && home)
		buf_printf(&r->text, "parallel(%s)\n", outer);
	if (home && row >= 0)
		rule_add_place(r, block, i.place, row + 1);
	if (sizes)
		rule_add_columns(r, block, v.place, last + 1);
	return true;
}
