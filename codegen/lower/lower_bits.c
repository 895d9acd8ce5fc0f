/* Lanes of a sum that are bits of one word, each under a condition of its own:
 *
 *     word += sum of the lanes of               t: boolx8
 *       (t ? 1 << (first + lane) : 0)     -->   b: u8 = bits t
 *                                               word += u32(b) << first
 *
 * Machines have an instruction for that, and the word needs no lanes.  Where the lanes
 * of several vectors would be its parts, each would be moved, put in its place and
 * added: three scalar operations, which is no less than for lanes two. */
#include "codegen/lower/lower_internal.h"

/* What sets a bit in a step, `1 << number`, if something does; else NULL. */
static const Expr *bit_of(const Expr *element)
{
	if (element->op != OP_IF || element->arg[2]->op != OP_INT ||
	    element->arg[2]->i)
		return NULL;
	const Expr *set = element->arg[1];
	while (set->op == OP_CAST && dtype_is_int(set->type))
		set = set->arg[0];
	return set->op == OP_SHIFT_LEFT && set->arg[0]->op == OP_INT &&
		set->arg[0]->i == 1 && set->arg[1]->op == OP_CAST &&
		set->arg[1]->arg[0]->type == DT_INDEX
	    ? set
	    : NULL;
}

/* As many bits as some integer has, which lie in one of the word's. */
static bool is_word(int lanes, DType type)
{
	return lanes >= 8 && lanes <= 8 * dtype_bytes(type);
}

/* What sets a bit if each lane sets the one behind that of the lane before it, the
 * first one always the same, whose number is a multiple of the lanes; else NULL. */
static const Expr *bit_in_order(
    Lower *l, const Expr *element, int lanes, int64_t *first)
{
	const Expr *bit = bit_of(element);
	int64_t least;
	if (!bit || l->machine->gpu || !is_word(lanes, bit->type))
		return NULL;
	Index number = index_of(l, bit->arg[1]->arg[0]);
	if (number.vector >= 0 || index_lane(number) != 1)
		return NULL;
	Index rest = index_without(l, number, SYMBOL_LANE);
	bool same =
	    index_is_const(index_extreme(l, rest, true, false), first) &&
	    index_is_const(index_extreme(l, rest, false, false), &least) &&
	    least == *first && least % lanes == 0;
	return same ? bit : NULL;
}

bool bits_are_lanes(Lower *l, int stage, int var)
{
	const Stage *s = &l->nest->stages.at[stage];
	int lanes = (int)loop_extent(l, var);
	int64_t first;
	if (s->reduce != REDUCE_SUM)
		return false;
	Lower in = *l;
	in.stage = stage;
	bind_var(l, var, (Binding){true, index_symbol(l, SYMBOL_LANE)});
	bool good = bit_in_order(&in, s->body, lanes, &first);
	unbind(l, var);
	return good;
}

bool bits_step(Lower *l, const Expr *element, Value *word)
{
	static const DType of_bytes[] = {
	    [1] = DT_U8, [2] = DT_U16, [4] = DT_U32, [8] = DT_U64};
	int lanes = l->lanes;
	int64_t first;
	const Expr *bit = bit_in_order(l, element, lanes, &first);
	if (!bit)
		return false;
	Value t = eval(l, element->arg[0]);
	if (t.lanes != lanes)
		return false;
	if (l->mask.lanes > 1)
		t = value_and(l, l->mask, t);
	DType type = of_bytes[lanes / 8];
	int mask = value_as(l, t, lanes);
	Value bits = value_temp(
	    type, 1, emit_op(l, LOW_BITS, type, 1, mask, -1, -1, "bits"));
	bits = value_convert(l, bits, bit->type);
	if (first % (8 * dtype_bytes(bit->type))) {
		Value by = value_const(bit->type, 0, first);
		bits.temp = emit_op(l, LOW_SHL, bit->type, 1, bits.temp,
		    value_scalar(l, by), -1, "bits");
	}
	*word = value_convert(l, bits, element->type);
	return true;
}
