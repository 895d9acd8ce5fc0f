/* Where a chain of filters ends its rows and columns are made in blocks, small
 * enough that what the filters before it make for one stays in the nearest
 * cache, large enough that little of it is made twice.
 *
 *     for i0 for j0 unroll i1 unroll j1 vector jv
 * -->
 *     for i0 for jb for ib for j0 unroll i1 unroll j1 vector jv
 */
#include "schedule/rules/rules.h"

enum { LEAST = 4, MOST = 64 /* vectors */ };

/* Does another filter make what it reads, an element for each of its own? */
static bool reads_filter(const Rules *r, int block, int row, int last)
{
	const RuleBlock *b = &r->blocks[block];
	for (int i = 0; i < b->reads.n; i++) {
		const RuleRead *read = &b->reads.at[i];
		int from = r->program->buffers[read->buffer].block;
		if (from >= 0 && read->uses[row] && read->uses[last] &&
		    rule_is_filter(r, from) && !rule_is_running(r, from))
			return true;
	}
	return false;
}

const char *rule_columns(const Rules *r, int block, int last, int lanes)
{
	const Block *b = &r->program->blocks[block];
	int row = rule_longer_axis(b, last);
	int64_t all = (b->axes[last].extent + lanes - 1) / lanes;
	Buf sizes = {0};
	if (row < 0 || lanes < 2 || all < 2 * LEAST ||
	    !r->blocks[block].output ||
	    r->blocks[block].home != block ||
	    !reads_filter(r, block, row, last))
		return NULL;
	for (int64_t n = LEAST; n < all && n <= MOST; n++)
		if (all % n == 0 || n == 8 || n == 16)
			buf_printf(&sizes, "%lld, ", (long long)n);
	buf_printf(&sizes, "%lld", (long long)all);
	const char *text = arena_strdup(r->arena, buf_text(&sizes));
	buf_free(&sizes);
	return text;
}

RuleSplit rule_split(Rules *r, const Block *b, int axis, const char *sizes)
{
	RuleSplit s = {.domain = ""};
	if (axis < 0)
		return s;
	const char *name = b->axes[axis].name;
	s.outer = s.place = s.inner = rule_name(r, b, name, "0");
	s.unrolled = rule_name(r, b, name, "1");
	s.lanes = rule_name(r, b, name, "v");
	if (!sizes)
		return s;
	s.place = rule_name(r, b, name, "b");
	s.outer = arena_printf(r->arena, "%s, %s", s.place, s.inner);
	s.domain = arena_printf(r->arena, "[%s], ", sizes);
	return s;
}
