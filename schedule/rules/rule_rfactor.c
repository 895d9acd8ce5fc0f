/* A reduction without spatial axes worth a vector: partial results, one for
 * each lane, that are then combined in a fixed order.
 *
 *     for i for k s[i] += x[i, k]
 * -->
 *     parallel i
 *       for k0 vector k1   s_part[i, k1] += x[i, k0*lanes + k1]
 *       for k1             s[i] += s_part[i, k1]
 */
#include <string.h>

#include "schedule/rules/rules.h"

enum { CHUNKS = 8 }; /* for each thread */

/* The reduction axis whose neighbours lie side by side in some operand. */
static int contiguous_axis(const Rules *r, int i)
{
	const Block *block = &r->program->blocks[i];
	const RuleBlock *b = &r->blocks[i];
	for (int k = 0; k < b->reads.n; k++) {
		const RuleRead *read = &b->reads.at[k];
		int a = read->nindex
		    ? rule_axis_of(read->index[read->nindex - 1])
		    : -1;
		if (a >= block->nspatial)
			return a;
	}
	return block->nspatial;
}

/* Partial sums for the threads where there is nothing else to divide: a few for
 * each, of whole rows where there are rows. */
static const char *threads_part(Rules *r, const Block *block, int axis)
{
	const char *n = block->name, *k = block->axes[axis].name;
	const char *outer = rule_name(r, block, k, "_chunk");
	const char *inner = rule_name(r, block, k, "_rest");
	const char *part = rule_name(r, block, "chunks", "");
	int64_t chunks = r->machine->threads * CHUNKS;
	int64_t extent = block->axes[axis].extent;
	buf_printf(&r->text, "%s, %s = split(%s.%s, [_, %lld])\n%s = rfactor(%s)\n",
	    outer, inner, n, k, (long long)((extent + chunks - 1) / chunks),
	    part, outer);
	return part;
}

static int first_long_axis(const Block *block)
{
	int axis = block->nspatial;
	while (axis < block->naxes - 1 && block->axes[axis].extent == 1)
		axis++;
	return axis;
}

/* The lanes of the stage's reduction along an axis. */
static void lanes_part(Rules *r, const Block *block, const char *stage,
    const char *axis, int64_t extent, int lanes, const char *place)
{
	const char *outer = rule_name(r, block, axis, "0");
	const char *lane = rule_name(r, block, axis, "v");
	const char *part = rule_name(r, block, "part", "");
	int copies = extent >= 4 * lanes ? 4 : extent >= 2 * lanes ? 2 : 1;
	buf_printf(&r->text, "%s, %s = split(%s.%s, [_, %d])\n%s = rfactor(%s)\n",
	    outer, lane, stage, axis, copies * lanes, part, lane);
	if (place)
		buf_printf(&r->text, "compute_at(%s, %s)\n", part, place);
	/* One element of each axis of the stage is left at its place. */
	for (int a = 0; a < block->nspatial; a++)
		buf_printf(&r->text, "unroll(%s.%s)\n", part,
		    block->axes[a].name);
	if (place && !block->nspatial)
		buf_printf(&r->text, "unroll(%s.%s)\n", part,
		    strchr(place, '.') + 1);
	buf_printf(&r->text,
	    "%s_u, %s_v = split(%s.%s, [_, %d])\n"
	    "reorder(%s.%s, %s_u, %s_v)\nunroll(%s_u)\n"
	    "vectorize(%s_v, %d)\nset_scope(%s, reg)\nunroll(%s.%s)\n",
	    part, part, part, lane, lanes, part, outer, part, part, part, part,
	    lanes, part, stage, lane);
}

void rule_rfactor(Rules *r, int i)
{
	const Block *block = &r->program->blocks[i];
	DType type = r->program->buffers[block->buffer].type;
	int lanes = rule_lanes(r->machine, type);
	int axis = contiguous_axis(r, i);
	const char *stage = block->name, *k = block->axes[axis].name;
	const char *place = NULL;
	int64_t extent = block->axes[axis].extent;
	bool threads = r->machine->threads > 1;

	r->blocks[i].scheduled = true;
	if (block->nspatial) {
		place = arena_printf(r->arena, "%s.%s", stage,
		    block->axes[block->nspatial - 1].name);
		if (r->place_block < 0) {
			r->place_block = i;
			r->places[r->nplaces++] = arena_printf(r->arena,
			    "%s.%s", stage, block->axes[0].name);
		}
	} else if (threads && r->blocks[i].output) {
		int first = first_long_axis(block);
		if (first != axis && block->axes[first].extent > 1) {
			stage = threads_part(r, block, first);
			place = arena_printf(r->arena, "%s.%s", stage,
			    rule_name(r, block, block->axes[first].name,
				"_chunk"));
		}
	}
	if (lanes > 1 && extent >= lanes)
		lanes_part(r, block, stage, k, extent, lanes, place);
	if (threads && place)
		buf_printf(&r->text, "parallel(%s)\n",
		    block->nspatial ? arena_printf(r->arena, "%s.%s", stage,
					  block->axes[0].name)
				    : place);
}
