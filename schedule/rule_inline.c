/* Inline: a block that is cheap to compute again disappears into its readers.
 *
 *     s[i] = x[i] * 2        -->   y[i] = max(x[i] * 2, 0)
 *     y[i] = max(s[i], 0)
 *
 * Always right where the block has no reduction; worth it where it has no
 * branch and no function call, or one reader that reads each element once. */
#include "schedule/rules.h"

static bool read_once(const Rules *r, int reader, int buffer)
{
	const RuleBlock *b = &r->blocks[reader];
	const Block *block = &r->program->blocks[reader];
	for (int i = 0; i < b->nreads; i++) {
		const RuleRead *read = &b->reads[i];
		if (read->buffer != buffer)
			continue;
		if (!read->plain)
			return false;
		for (int a = 0; a < block->naxes; a++)
			if (block->axes[a].extent > 1 && !read->uses[a])
				return false;
	}
	return true;
}

static bool worth_inlining(const Rules *r, int i)
{
	const RuleBlock *b = &r->blocks[i];
	const Block *block = &r->program->blocks[i];
	if (block->reduce != REDUCE_NONE || b->output || !b->consumers.n)
		return false;
	if (b->consumers.n == 1 &&
	    read_once(r, b->consumers.at[0], block->buffer))
		return true;
	return !b->has_if && !b->has_math && b->flops <= 2;
}

void rule_inline(Rules *r)
{
	for (int i = 0; i < r->program->nblocks; i++) {
		if (!worth_inlining(r, i))
			continue;
		r->blocks[i].inlined = true;
		buf_printf(&r->text, "compute_inline(%s)\n",
		    r->program->blocks[i].name);
	}
}
