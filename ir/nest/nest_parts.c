/* Parts of a reduction: an axis is two, the first of the block telling the part.
 *
 *     s[j] = sum[i](a[i, j])      p[t, j] = sum[i](a[t*each + i, j])
 *                                 p[t, j] = sum[i](a[t + i*parts, j])
 *
 *                             s[j] = sum[t](p[t, j])
 *
 * What of it is past the axis's end is the reduction's identity. */
#include "ir/nest/nest.h"

static Expr *times(Arena *arena, int axis, int64_t step)
{
	Expr *e = expr_axis(arena, axis);
	return step == 1
	    ? e
	    : expr_binary(arena, OP_MUL, e, expr_int(arena, DT_INDEX, step));
}

Expr *parts_body(Arena *arena, Expr *body, ReduceOp reduce, int naxes, int axis,
    int64_t extent, int64_t part, int64_t rest)
{
	Expr **values = NEW_N(arena, Expr *, naxes);
	for (int a = 0; a < naxes; a++)
		values[a] = expr_axis(arena, a + 1);
	Expr *at[2] = {times(arena, 0, part), times(arena, axis + 1, rest)};
	bool within = rest > part;
	values[axis] = expr_binary(arena, OP_ADD, at[within], at[!within]);
	Expr *e = expr_substitute_axes(arena, body, values, naxes);
	int64_t step = within ? rest : part;
	return extent % step == 0
	    ? e
	    : expr_if(arena,
		  expr_binary(arena, OP_LT, values[axis],
		      expr_int(arena, DT_INDEX, extent)),
		  e, expr_identity(arena, reduce, body->type));
}

Expr *parts_read(Arena *arena, DType type, int buffer, int nspatial)
{
	Expr **index = NEW_N(arena, Expr *, nspatial + 1);
	index[0] = expr_axis(arena, nspatial);
	for (int a = 0; a < nspatial; a++)
		index[a + 1] = expr_axis(arena, a);
	return expr_read(arena, type, buffer, index, nspatial + 1);
}

int64_t parts_each(int64_t extent, int64_t most, int64_t step)
{
	for (int64_t k = most; k > most / 2; k -= step)
		if (extent % k == 0)
			return extent / k;
	return (extent + most - 1) / most;
}
