/* Lanes of a reduction to one value, in a tree:
 *
 *     sum: f32x8            a = shuffle sum [0 1 2 3]   b = shuffle sum [4 5 6 7]
 *                      -->  c = add a, b                two more steps like it
 *                           extract 0
 *
 * Each step halves the vector, so that the last ones are of one register. */
#include "codegen/lower/lower_internal.h"

#include <assert.h>

static Value half(Lower *l, Value v, bool second)
{
	int n = v.lanes / 2, *order = NEW_N(l->arena, int, n);
	for (int i = 0; i < n; i++)
		order[i] = second ? n + i : i;
	Key key = {.op = LOW_SHUFFLE,
	    .type = v.type,
	    .lanes = n,
	    .arg = {v.temp, -1, -1},
	    .shuffle = order};
	return value_temp(v.type, n, emit_pure(l, &key, "half"));
}

static Value lane(Lower *l, Value v, int64_t i)
{
	Key key = {.op = LOW_EXTRACT,
	    .type = v.type,
	    .lanes = 1,
	    .arg = {v.temp, -1, -1},
	    .i = i};
	return value_temp(v.type, 1, emit_pure(l, &key, "lane"));
}

Value across_lanes(Lower *l, ReduceOp op, Value v)
{
	assert(op != REDUCE_NONE && v.temp >= 0);
	assert(!(v.lanes & (v.lanes - 1))); /* halves of halves */
	while (v.lanes > 2)
		v = eval_combined(
		    l, op, half(l, v, false), half(l, v, true), -1);
	return v.lanes == 1
	    ? v
	    : eval_combined(l, op, lane(l, v, 0), lane(l, v, 1), -1);
}
