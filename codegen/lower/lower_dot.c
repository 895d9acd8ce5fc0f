/* Tensorized steps: the steps of a sum of products that an intrinsic takes, as
 * one DOT; here four of u8*i8.
 *
 *     for ki in 4   c[v] += i32(a[4*k + ki]) * i32(b[.., 4*v + ki])
 * -->
 *     x = load a[4*k] (4 of u8)             the same four for all lanes
 *     y = load b[..] (4 * lanes of i8)      four for each lane
 *     c = dot4(shuffle(x), y, c)
 *
 * A sum of one operand alone has 1 for the other; its lanes may be steps as well.
 * The four elements of a step lie side by side in both operands, and those of
 * all lanes behind one another or in the same place; every step
 * counts, and every lane, or what is read for the others lies in the buffers
 * and what becomes of them is nobody's.  Else nothing is emitted here, and the
 * loop is repeated: results of integers are the same to the bit, since sums of
 * i32 wrap around. */
#include "codegen/lower/lower_internal.h"

#include <assert.h>

enum { MOST_LANES = 64 }; /* of an operand */

/* Does a step that the loop `var` is in lie outside of the block? */
static bool all_counts(Lower *l, int stage, int var)
{
	const Stage *s = &l->nest->stages.at[stage];
	for (int a = 0; a < s->naxes; a++)
		for (End end = ABOVE; end <= BELOW; end++)
			if (axis_tested(l, stage, a, end) &&
			    axis_has_var(l, stage, a, var) &&
			    !index_nonnegative(
				l, slack_of_all(l, stage, a, end)))
				return false;
	return true;
}

static Index address_of(Lower *l, const Expr *read, int var, int step)
{
	bind_var(l, var, (Binding){true, index_const(step)});
	Index x = buffer_address(l, read->id, read->arg, read->narg);
	unbind(l, var);
	return x;
}

/* Where the elements of a step begin; false where they lie apart. */
static bool lies_together(
    Lower *l, const Expr *read, int terms, int var, Index *at)
{
	if (!read)
		return true;
	*at = address_of(l, read, var, 0);
	if (l->nest->buffers.at[read->id].scope == SCOPE_REG || at->vector >= 0)
		return false;
	for (int i = 1; i < terms; i++) {
		Index x = address_of(l, read, var, i);
		int64_t apart;
		if (x.vector >= 0 ||
		    !index_is_const(index_add(l, x, *at, -1), &apart) ||
		    apart != i)
			return false;
	}
	int64_t lane = index_lane(*at);
	return lane == 0 || lane == terms;
}

/* Are all lanes' elements there, also of lanes that do not count? */
static bool is_inside(Lower *l, const Expr *read, int terms, Index at)
{
	if (!read)
		return true;
	Index last = at;
	last.form.constant += terms - 1;
	return memory_inside(l, read->id, at) &&
	    memory_inside(l, read->id, last);
}

/* Elements of a read in the type that the intrinsic takes. */
static int widened(
    Lower *l, const Expr *read, int elements, int lanes, DType type)
{
	return value_as(l,
	    value_convert(l, value_temp(read->type, lanes, elements), type),
	    lanes);
}

static int operand(Lower *l, const Expr *read, DType type, int terms, Index at)
{
	int lanes = terms * l->lanes, *order;
	if (!read)
		return value_as(l, value_const(type, 1, 1), lanes);
	if (index_has_lanes(at) || l->lanes == 1)
		return widened(l, read,
		    load_run(
			l, read->id, lanes, index_without(l, at, SYMBOL_LANE)),
		    lanes, type);
	order = NEW_N(l->arena, int, lanes);
	for (int i = 0; i < lanes; i++)
		order[i] = i % terms;
	int few = load_run(l, read->id, terms, at);
	Key key = {.op = LOW_SHUFFLE,
	    .type = type,
	    .lanes = lanes,
	    .arg = {widened(l, read, few, terms, type), -1, -1},
	    .shuffle = order};
	return emit_pure(l, &key, "four");
}

bool dot_operands(Lower *l, bool masked, int *a, int *b)
{
	int stage = l->stage;
	const Stage *s = &l->nest->stages.at[stage];
	int var = s->tensor_loop;
	const Expr *x, *y;
	Index at_x = {0}, at_y = {0};
	bool some, constant, all, good;
	const Intrinsic *in = intrinsic_at(s->intrinsic);
	assert(loop_extent(l, var) == in->terms);
	intrinsic_reads(in, s->body, &x, &y);
	good = l->lanes * in->terms <= MOST_LANES &&
	    l->nest->buffers.at[s->buffer].type == in->sum &&
	    all_counts(l, stage, var);
	if (good) {
		bind_var(l, var, (Binding){true, index_const(0)});
		constant = value_is_bool(
		    tail_mask(l, stage, PHASE_UPDATE), &some);
		all = constant && l->mask.lanes <= 1;
		unbind(l, var);
		good = (some || !constant) &&
		    lies_together(l, x, in->terms, var, &at_x) &&
		    lies_together(l, y, in->terms, var, &at_y) &&
		    (all || (masked && is_inside(l, x, in->terms, at_x) &&
				is_inside(l, y, in->terms, at_y)));
	}
	if (good) {
		*a = operand(l, x, in->a, in->terms, at_x);
		*b = operand(l, y, in->b, in->terms, at_y);
	}
	return good;
}
