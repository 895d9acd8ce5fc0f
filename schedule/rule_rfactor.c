/* A reduction without spatial axes worth a vector: partial results, one for
 * each lane, that are then combined in a fixed order.
 *
 *     for i for k s[i] += x[i, k]
 * -->
 *     parallel i
 *       for k0 vector k1   s_part[i, k1] += x[i, k0*lanes + k1]
 *       for k1             s[i] += s_part[i, k1]
 */
#include "schedule/rules.h"

#include <stdio.h>

/* The reduction axis whose neighbours lie side by side in some operand. */
static int contiguous_axis(const Rules *r, int i)
{
	const Block *block = &r->program->blocks[i];
	const RuleBlock *b = &r->blocks[i];
	for (int k = 0; k < b->nreads; k++) {
		const RuleRead *read = &b->reads[k];
		int a = read->nindex
		    ? rule_axis_of(read->index[read->nindex - 1])
		    : -1;
		if (a >= block->nspatial)
			return a;
	}
	return block->nspatial;
}

/* Partial sums for threads where there is nothing else to divide. */
static const char *threads_part(Rules *r, const Block *block, int axis)
{
	const char *n = block->name, *k = block->axes[axis].name;
	const char *outer = rule_name(r, block, k, "_thread");
	const char *inner = rule_name(r, block, k, "_rest");
	const char *part = rule_name(r, block, "threads", "");
	buf_printf(&r->text,
	    "%s, %s = split(%s.%s, ? in tile([1024, 4096, 16384, 65536]))\n"
	    "%s = rfactor(%s)\nparallel(%s.%s)\n",
	    outer, inner, n, k, part, outer, part, outer);
	return part;
}

void rule_rfactor(Rules *r, int i)
{
	const Block *block = &r->program->blocks[i];
	DType type = r->program->buffers[block->buffer].type;
	int lanes = rule_lanes(r->machine, type);
	int axis = contiguous_axis(r, i);
	const char *n = block->name, *k = block->axes[axis].name;
	bool at_root = r->place_block < 0;

	r->blocks[i].scheduled = true;
	if (!block->nspatial && block->axes[axis].extent > 100000 &&
	    r->machine->threads > 1) {
		threads_part(r, block, axis);
		return;
	}
	if (block->nspatial && r->machine->threads > 1)
		buf_printf(&r->text, "parallel(%s.%s)\n", n,
		    block->axes[0].name);
	if (block->nspatial && at_root) {
		r->place_block = i;
		snprintf(r->places[r->nplaces++], RULE_NAME, "%s.%s", n,
		    block->axes[0].name);
	}
	if (lanes <= 1 || block->axes[axis].extent < lanes)
		return;
	const char *outer = rule_name(r, block, k, "0");
	const char *lane = rule_name(r, block, k, "v");
	const char *part = rule_name(r, block, "part", "");
	buf_printf(&r->text, "%s, %s = split(%s.%s, ? in tile([%d, %d, %d]))\n",
	    outer, lane, n, k, lanes, 2 * lanes, 4 * lanes);
	buf_printf(&r->text, "%s = rfactor(%s)\n", part, lane);
	if (block->nspatial)
		buf_printf(&r->text, "compute_at(%s, %s.%s)\n", part, n,
		    block->axes[block->nspatial - 1].name);
	buf_printf(&r->text, "%s_u, %s_v = split(%s.%s, [_, %d])\n", part,
	    part, part, lane, lanes);
	buf_printf(&r->text,
	    "reorder(%s.%s, %s_u, %s_v)\nunroll(%s_u)\n"
	    "vectorize(%s_v, %d)\nset_scope(%s, reg)\n",
	    part, outer, part, part, part, part, lanes, part);
}
