/* A short reduction in a chain of filters: it reads what another block computes,
 * or feeds another short one.  Lanes along the last axis, some rows and vectors
 * at once, the window repeated in code; what it reads is computed for its rows,
 * and is still in the nearest cache then.
 *
 *     for i for j for s  y[i, j] += w[s]*a[i, j + s]
 * -->
 *     for i0 for j0 unroll s unroll i1 unroll j1 vector jv   y[i, j] += …
 *
 * Where a chain of filters ends its rows and columns are made in blocks, small
 * enough that what the filters before it make for one stays in the nearest cache,
 * large enough that little of it is made twice:
 *
 *     for ib for jb for i0 for j0 …
 */
#include "schedule/rules/rules.h"

#include <assert.h>

enum {
	WINDOW_MOST = 32,
	SMALL_WINDOW = 9,
	UNROLL_MOST = 16,
	FILTER_LEAST = 3,
	COLUMNS_LEAST = 4, /* vectors of a block of columns */
	COLUMNS_MOST = 64
};

static bool is_short(const Block *b)
{
	return b->reduce != REDUCE_NONE && block_steps(b) <= WINDOW_MOST;
}

static bool is_filter(const Rules *r, int block)
{
	const Block *b = &r->program->blocks[block];
	return is_short(b) ||
	    (b->reduce == REDUCE_NONE &&
		r->blocks[block].flops >= FILTER_LEAST);
}

/* Does a filter make what it reads, or read what it makes? */
static bool is_in_chain(const Rules *r, const RuleBlock *b)
{
	vec_each (read, &b->reads)
		if (read->maker >= 0 && is_filter(r, read->maker))
			return true;
	for (int i = 0; i < b->consumers.n; i++)
		if (is_short(&r->program->blocks[b->consumers.at[i]]))
			return true;
	return rule_origin(r, b->block)->separated;
}

/* Side by side along the last axis, or the same for all elements. */
static bool reads_along(const Rules *r, const RuleBlock *b, int last)
{
	const Block *block = &r->program->blocks[b->block];
	vec_each (read, &b->reads) {
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
	return last >= 0 && is_short(b) && !rule_is_scan(r, i) &&
	    b->axes[last].extent >= rule_lanes(r->machine, b->body->type) &&
	    is_in_chain(r, &r->blocks[i]) &&
	    reads_along(r, &r->blocks[i], last);
}

void rule_window(Rules *r, int i)
{
	const char *name = r->program->blocks[i].name;
	if (!rule_is_open(r, i) || !rule_is_window(r, i))
		return;
	rule_lanes_in_space(r, i);
	r->blocks[i].scheduled = true;
	rule_place_fused(r, i);
	rule_put_fused(r, i, name, name, NULL);
}

/* Does another filter make what it reads, an element for each of its own? */
static bool reads_filter(const Rules *r, int block, int row, int last)
{
	const RuleBlock *b = &r->blocks[block];
	vec_each (read, &b->reads)
		if (read->maker >= 0 && read->uses[row] && read->uses[last] &&
		    is_filter(r, read->maker) && !rule_is_scan(r, read->maker))
			return true;
	return false;
}

const char *rule_columns(const Rules *r, int block, int last, int lanes)
{
	const Block *b = &r->program->blocks[block];
	assert(last >= 0 && lanes > 0);
	int row = rule_longer_axis(b, last);
	int64_t all = (b->axes[last].extent + lanes - 1) / lanes;
	const char *sizes = "";
	if (row < 0 || lanes < 2 || all < 2 * COLUMNS_LEAST ||
	    !r->blocks[block].output || r->blocks[block].host != block ||
	    !reads_filter(r, block, row, last))
		return "";
	for (int64_t n = COLUMNS_LEAST; n < all && n <= COLUMNS_MOST; n++)
		if (all % n == 0 || n == 8 || n == 16)
			sizes = rule_and_size(r, sizes, n);
	return rule_and_size(r, sizes, all);
}

/* Steps are repeated in code, so that rows share what they read; of a long loop some:
 * the names of all in their order, and what repeats them. */
static const char *put_steps(Rules *r, const Block *b, const char **order)
{
	const char *code = *order = "";
	bool small = block_steps(b) <= SMALL_WINDOW;
	for (int a = b->nspatial; a < b->naxes; a++) {
		bool long_axis = b->axes[a].extent > UNROLL_MOST;
		const char *loop = rule_loop(r, b->name, b, a);
		if (long_axis) {
			const char *const *s = rule_split(
			    r, b->name, b, a, "0 1", "? in tile([8, 16])");
			*order = rule_join(r, *order, s[0]);
			loop = s[1];
		}
		*order = rule_join(r, *order, loop);
		code = arena_printf(r->arena, "%sunroll(%s%s)\n", code, loop,
		    small || long_axis ? "" : ", limit=? in {1, 16}");
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
	bool own = r->blocks[block].host == block;
	lanes = last < 0 ? 0 : rule_filled(b, last, lanes);
	if (lanes < least)
		return false;
	const char *sizes = rule_columns(r, block, last, lanes);
	const char *few = "1, 2, 4, 8";
	RuleSplit v = rule_tiles(r, b, last, NULL, sizes, few, lanes);
	RuleSplit i = rule_tiles(r, b, row, NULL, *sizes ? few : "", few, 0);
	const char *order, *steps = put_steps(r, b, &order);
	rule_put(r, "reorder(%s, %s, %s, %s, %s, %s, %s, %s, %s)\n%s",
	    rule_loops(r, b->name, b, 0, last, row, -1), i.block, v.block,
	    i.outer, v.outer, order, i.unrolled, v.unrolled, v.lanes, steps);
	rule_vectors(r, rule_join(r, v.unrolled, i.unrolled), v.lanes, lanes);
	rule_put(r, "tail(%s, ? in {peel, mask})\n", b->name);
	int first = rule_first_axis(b, 0, row);
	if (own)
		rule_parallel(r,
		    first >= 0	   ? rule_loop(r, b->name, b, first)
			: row >= 0 ? i.place
				   : v.place);
	if (own && row >= 0)
		rule_add_place(r, block, i.place, row + 1, false);
	if (*sizes)
		rule_add_place(r, block, v.place, last + 1, true);
	return true;
}
