/* A block without reduction: vectors along its last axis, threads over its
 * first.
 *
 *     for i for j s[i, j] = …   -->   parallel i for j0 unroll j1 vector jv
 */
#include "schedule/rules/rules.h"

void rule_spatial(Rules *r, int i)
{
	const Block *block = &r->program->blocks[i];
	DType type = r->program->buffers[block->buffer].type;
	int lanes = rule_lanes(r->machine, type);
	int last = block->nspatial - 1;
	r->blocks[i].scheduled = true;
	if (last < 0)
		return;
	const char *n = block->name;
	int64_t extent = block->axes[last].extent;
	while (lanes > 1 && extent * 2 <= lanes)
		lanes /= 2;
	bool split = lanes > 1 && extent > 1;
	if (split) {
		const char *axis = block->axes[last].name;
		const char *v0 = rule_name(r, block, axis, "0");
		const char *v1 = rule_name(r, block, axis, "1");
		const char *vv = rule_name(r, block, axis, "v");
		int64_t tiles = (extent + lanes - 1) / lanes;
		const char *copies = tiles > 4 ? "1, 2, 4, 8"
		    : tiles > 2		       ? "1, 2, 4"
		    : tiles > 1		       ? "1, 2"
					       : "1";
		buf_printf(&r->text,
		    "%s, %s, %s = split(%s.%s, ? in tile([%s], [%d]))\n"
		    "unroll(%s)\nvectorize(%s, %d)\n"
		    "tail(%s, ? in {peel, mask})\n",
		    v0, v1, vv, n, axis, copies, lanes, v1, vv, lanes, n);
	}
	int first = 0;
	while (first < last && block->axes[first].extent == 1)
		first++;
	const char *outer = first == last && split
	    ? rule_name(r, block, block->axes[last].name, "0")
	    : arena_printf(r->arena, "%s.%s", n, block->axes[first].name);
	if (r->machine->threads > 1)
		buf_printf(&r->text, "parallel(%s)\n", outer);
	if (r->place_block < 0) {
		r->place_block = i;
		if (first < last)
			r->places[r->nplaces++] = outer;
	}
}
