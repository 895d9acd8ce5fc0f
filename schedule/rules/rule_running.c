/* A part of a running sum (rule_prefix.c): lanes along the last axis, some rows
 * and vectors at once, the sum around them.
 *
 *     for i0 for j0 for x0 unroll i1 unroll j1 vector jv   w[i, j] += e(i, x0)
 *
 * Of a sum down the columns the result is made some columns at a time, so that
 * their parts stay in a cache:
 *
 *     for j0 { the parts; for i unroll j1 vector jv  y[i, j] = … }
 */
#include "schedule/rules/rules.h"

#include <stdarg.h>

static void put(Rules *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void put(Rules *r, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	buf_vprintf(&r->text, format, args);
	va_end(args);
}

/* A whole one down columns that are worth vectors. */
static bool is_in_columns(const Rules *r, int block)
{
	const Block *b = &r->program->blocks[block];
	int last = rule_longer_axis(b, b->nspatial);
	int axis = rule_running_whole(r, block);
	return axis >= 0 && last > axis &&
	    b->axes[last].extent >= rule_lanes(r->machine, b->body->type);
}

bool rule_running_applies(const Rules *r, int block)
{
	return rule_is_open(r, block) &&
	    (rule_is_running(r, block) || is_in_columns(r, block));
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
	put(r, "%s, %s, %s = split(%s.%s, ? in tile([1, 2, 4, 8], [%d]))\n",
	    v0, v1, vv, n, axis, lanes);
	put(r, "reorder(%s, ", v0);
	for (int a = 0; a < b->nspatial; a++)
		if (a != last)
			put(r, "%s.%s, ", n, b->axes[a].name);
	put(r, "%s, %s)\nunroll(%s)\nvectorize(%s, %d)\n", v1, vv, v1, vv,
	    lanes);
	put(r, "tail(%s, ? in {peel, mask})\n", n);
	if (home && r->machine->threads > 1)
		put(r, "parallel(%s)\n", v0);
	if (home)
		rule_add_place(r, block, v0, -1);
}

void rule_running(Rules *r, int block)
{
	if (rule_is_running(r, block))
		rule_lanes_in_space(r, block);
	else
		put_columns(r, block);
	r->blocks[block].scheduled = true;
}
