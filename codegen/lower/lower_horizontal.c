/* A horizontal reduction: its lanes to one value, in a tree:
 *
 *     sum: f32x8            a = shuffle sum [0 1 2 3]   b = shuffle sum [4 5 6 7]
 *                      -->  c = add a, b                two more steps like it
 *                           extract 0
 *
 * Each step halves the vector, so that the last ones are of one register.
 *
 * Several results at once, two vectors to one in each step, which takes a third
 * of the shuffles for eight of them; first inside of 16 bytes, as where
 * vectors are transposed:
 *
 *     p, q: f32x4           a = p0 q0 p1 q1   b = p2 q2 p3 q3
 *                      -->  c = add a, b      of p and q in turn
 *                           halves of c       vector p q
 *
 * The scalars that are lanes of one vector are stored together
 * (lower_merge.c). */
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

/* --- several at once -------------------------------------------------------- */

/* Blocks of `size` lanes of a and b in turn: of each segment of lanes the first
 * half, or the second. */
static Value in_turn(
    Lower *l, Value a, Value b, int size, int segment, bool second)
{
	int lanes = a.lanes, n = 0, *order = NEW_N(l->arena, int, lanes);
	for (int s = 0; s < lanes; s += segment)
		for (int k = 0; k < segment / 2; k += size)
			for (int i = 0; i < 2 * size; i++)
				order[n++] = (i < size ? 0 : lanes) + s +
				    (second ? segment / 2 : 0) + k + i % size;
	assert(n == lanes);
	Key key = {.op = LOW_SHUFFLE,
	    .type = a.type,
	    .lanes = lanes,
	    .arg = {a.temp, b.temp, -1},
	    .shuffle = order};
	return value_temp(a.type, lanes, emit_pure(l, &key, "turn"));
}

/* v: `n` vectors; one of n lanes, the result of each. */
static Value horizontal_together(Lower *l, ReduceOp op, Value *v, int n)
{
	enum { SEGMENT_BYTES = 16 };
	int lanes = v[0].lanes, segment = SEGMENT_BYTES / dtype_bytes(v[0].type);
	assert(n <= lanes && !(n & (n - 1)));
	for (int size = 1; size < n; size *= 2) {
		int within = size < segment && segment < lanes ? segment : lanes;
		for (int i = 0; i < n / size / 2; i++) {
			Value a = v[2 * i], b = v[2 * i + 1];
			v[i] = eval_combined(l, op,
			    in_turn(l, a, b, size, within, false),
			    in_turn(l, a, b, size, within, true), -1);
		}
	}
	while (v[0].lanes > n)
		v[0] = eval_combined(l, op, half(l, v[0], false),
		    half(l, v[0], true), -1);
	return v[0];
}

void horizontal_all(Lower *l, ReduceOp op, Value *v, int n)
{
	int lanes = n ? v[0].lanes : 1;
	for (int i = 0, together; i < n; i += together) {
		together = body_horizontal(n - i, lanes);
		if (together == 1) {
			v[i] = horizontal_lanes(l, op, v[i]);
			continue;
		}
		Value all = horizontal_together(l, op, v + i, together);
		for (int k = 0; k < together; k++)
			v[i + k] = lane(l, all, k);
	}
}

/* --- one ---------------------------------------------------------------------- */

Value horizontal_lanes(Lower *l, ReduceOp op, Value v)
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
