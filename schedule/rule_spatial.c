/* A block without reduction: vectors along its last axis, threads over its
 * first.
 *
 *     for i for j s[i, j] = …   -->   parallel i for j0 unroll j1 vector jv
 */
#include "schedule/rules.h"

#include <stdio.h>

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
		buf_printf(&r->text,
		    "%s, %s, %s = split(%s.%s, ? in tile([1, 2, 4, 8], [%d]))\n"
		    "unroll(%s)\nvectorize(%s, %d)\n"
		    "tail(%s, ? in {peel, mask})\n",
		    v0, v1, vv, n, axis, lanes, v1, vv, lanes, n);
	}
	if (r->machine->threads > 1 && (last > 0 || !split))
		buf_printf(&r->text, "parallel(%s.%s)\n", n,
		    block->axes[0].name);
	else if (r->machine->threads > 1)
		buf_printf(&r->text, "parallel(%s)\n",
		    rule_name(r, block, block->axes[0].name, "0"));
	if (r->place_block < 0) {
		r->place_block = i;
		if (last > 0 || !split)
			snprintf(r->places[r->nplaces++], RULE_NAME, "%s.%s", n,
			    block->axes[0].name);
	}
}
