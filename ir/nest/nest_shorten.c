/* Integers in 32 bits whose values fit in 16 are computed in 16: the same values,
 * twice as many to a vector.
 *
 *     x, y in u8   u8((i32(x)*5 + i32(y)*3 + 4)//8)
 *       -->        u8((i16(x)*5 + i16(y)*3 + 4)//8)
 *
 * and     u8((i32(x)*250 + 127)//255)
 *   -->   u8(i16(u16(i16(x)*250 + 127)//255))
 *
 * What an expression never leaves comes from the types that are read, or from
 * what was computed there, and from the axes' extents, by intervals.  Sums and
 * products may wrap on the way to what fits; what is compared, divided or shifted to
 * the right does not, but for a 16th bit. */
#include "ir/nest/nest.h"

/* --- intervals ---------------------------------------------------------------- */

/* Of what is read, by buffer, and of axes. */
typedef struct {
	const Interval *buffers;
	const int64_t *extents;
} KnownRanges;

/* Where the type does not have all of them, it may be any of its values. */
static Interval wrapped(DType type, Interval r)
{
	Interval all = dtype_interval(type);
	return interval_holds(all, r) ? r : all;
}

/* Before it wraps. */
static Interval unwrapped(const Expr *e, const Interval *a)
{
	switch (e->op) {
	case OP_CAST: return a[0];
	case OP_NEG: return interval_scale(a[0], -1);
	case OP_ADD: return interval_add(a[0], a[1]);
	case OP_SUB: return interval_sub(a[0], a[1]);
	case OP_MUL: return interval_mul(a[0], a[1]);
	case OP_MIN: return interval_min(a[0], a[1]);
	case OP_MAX: return interval_max(a[0], a[1]);
	case OP_CLAMP: return interval_min(interval_max(a[0], a[1]), a[2]);
	case OP_ABS: return interval_abs(a[0]);
	case OP_IF: return interval_hull(a[1], a[2]);
	case OP_BIT_AND:
	case OP_BIT_OR:
	case OP_BIT_XOR:
	case OP_SHIFT_LEFT:
	case OP_SHIFT_RIGHT: return bits_interval(e->op, e->type, a[0], a[1]);
	case OP_FLOORDIV:
	case OP_MOD:
		if (e->arg[1]->op != OP_INT || e->arg[1]->i < 1)
			return dtype_interval(e->type);
		return e->op == OP_MOD ? interval_mod(a[0], e->arg[1]->i)
				       : interval_floordiv(a[0], e->arg[1]->i);
	default: return dtype_interval(e->type);
	}
}

/* What an integer never leaves. */
static Interval range_of(const Expr *e, const KnownRanges *of)
{
	Interval a[3] = {{0}};
	if (!dtype_is_int(e->type) && e->type != DT_INDEX)
		return dtype_interval(e->type);
	if (e->op == OP_INT)
		return interval_of(expr_int_value(e));
	if (e->op == OP_READ)
		return of->buffers[e->id];
	if (e->op == OP_AXIS)
		return (Interval){0, of->extents[e->id] - 1};
	for (int i = e->op == OP_IF; i < e->narg && i < 3; i++)
		a[i] = range_of(e->arg[i], of);
	return wrapped(e->type, unwrapped(e, a));
}

static Interval range_of_all(
    ReduceOp reduce, const Expr *body, int64_t steps, const KnownRanges *of)
{
	Interval e = range_of(body, of);
	if (reduce == REDUCE_NONE || reduce == REDUCE_MAX || reduce == REDUCE_MIN)
		return e;
	if (reduce != REDUCE_SUM || !dtype_is_int(body->type))
		return dtype_interval(body->type);
	return wrapped(body->type,
	    interval_hull(interval_of(0), interval_scale(e, steps)));
}

Interval shorten_range(ReduceOp reduce, const Expr *body, int64_t steps,
    const int64_t *extents, const Interval *of)
{
	return range_of_all(reduce, body, steps, &(KnownRanges){of, extents});
}

/* --- bodies -------------------------------------------------------------------- */

static const Interval i16 = {INT16_MIN, INT16_MAX};
static const Interval u16 = {0, UINT16_MAX};

bool shorten_is_word(DType type)
{
	return type == DT_I32 || type == DT_U32;
}

/* What it is in 16 bits. */
static DType half_of(DType word)
{
	return word == DT_I32 ? DT_I16 : DT_U16;
}

static bool holds(DType word, Interval r)
{
	return interval_holds(word == DT_I32 ? i16 : u16, r);
}

/* Which of two numbers divides by a shift? */
static bool is_power(const Expr *e)
{
	return e->op == OP_INT && e->i > 0 && !(e->i & (e->i - 1));
}

/* Is what is divided, or shifted to the right, one without a sign, or taken for one?
 * It may need the 16th bit, and quotients by no power of two have an instruction. */
static bool is_unsigned(const Expr *e, const KnownRanges *of)
{
	Interval a = range_of(e->arg[0], of);
	bool divides = e->op == OP_FLOORDIV || e->op == OP_MOD;
	return (divides || e->op == OP_SHIFT_RIGHT) && interval_holds(u16, a) &&
	    (e->type == DT_U32 || !interval_holds(i16, a) ||
		(divides && !is_power(e->arg[1])));
}

static bool fits(const Expr *e, const KnownRanges *of);
/* Are the low 16 bits right?  Sums and products may wrap on the way. */
static bool low_bits_fit(const Expr *e, const KnownRanges *of)
{
	if (!shorten_is_word(e->type))
		return fits(e, of);
	switch (e->op) {
	case OP_INT: return true;
	case OP_READ: return holds(e->type, of->buffers[e->id]);
	case OP_CAST:
		return e->arg[0]->type == DT_INDEX ||
		    low_bits_fit(e->arg[0], of);
	case OP_NEG: return low_bits_fit(e->arg[0], of);
	case OP_ADD:
	case OP_SUB:
	case OP_MUL:
	case OP_BIT_AND:
	case OP_BIT_OR:
	case OP_BIT_XOR:
		return low_bits_fit(e->arg[0], of) &&
		    low_bits_fit(e->arg[1], of);
	case OP_IF:
		return fits(e->arg[0], of) && low_bits_fit(e->arg[1], of) &&
		    low_bits_fit(e->arg[2], of);
	case OP_FLOORDIV:
	case OP_MOD:
		if (e->arg[1]->op != OP_INT || e->arg[1]->i < 1 ||
		    e->arg[1]->i > INT16_MAX)
			return false;
		if (is_unsigned(e, of) ||
		    (e->op == OP_MOD && is_power(e->arg[1])))
			return low_bits_fit(e->arg[0], of);
		return is_power(e->arg[1]) && fits(e->arg[0], of);
	case OP_SHIFT_LEFT:
	case OP_SHIFT_RIGHT:
		if (!interval_holds(
			(Interval){0, 15}, range_of(e->arg[1], of)) ||
		    !fits(e->arg[1], of))
			return false;
		return e->op == OP_SHIFT_LEFT || is_unsigned(e, of)
		    ? low_bits_fit(e->arg[0], of)
		    : fits(e->arg[0], of);
	case OP_MIN:
	case OP_MAX:
	case OP_CLAMP:
	case OP_ABS:
		for (int i = 0; i < e->narg; i++)
			if (!fits(e->arg[i], of))
				return false;
		return true;
	default: return false;
	}
}

/* Is all that it computes in 32 bits right in 16, and nothing in more? */
static bool fits(const Expr *e, const KnownRanges *of)
{
	if (e->type == DT_INDEX)
		return true;
	if (shorten_is_word(e->type))
		return low_bits_fit(e, of) && holds(e->type, range_of(e, of));
	if (e->type != DT_BOOL && !dtype_is_int(e->type))
		return false;
	if (dtype_bytes(e->type) > 2)
		return false;
	/* what is cast wraps */
	if (e->op == OP_CAST && e->type != DT_BOOL)
		return e->arg[0]->type == DT_INDEX ||
		    low_bits_fit(e->arg[0], of);
	for (int i = 0; e->op != OP_READ && i < e->narg; i++)
		if (!fits(e->arg[i], of))
			return false;
	return true;
}

static int64_t wrapped_number(DType type, int64_t n)
{
	uint16_t low = (uint16_t)(uint64_t)n;
	return type == DT_I16 ? (int16_t)low : low;
}

static Expr *shortened(Arena *arena, Expr *e, const KnownRanges *of)
{
	bool word = shorten_is_word(e->type);
	DType type = word ? half_of(e->type) : e->type;
	if (e->op == OP_READ)
		return expr_cast(arena, type, e);
	if (e->type == DT_INDEX || (!e->narg && !word))
		return e;
	if (e->op == OP_INT)
		return expr_int(arena, type, wrapped_number(type, e->i));
	if (e->op == OP_CAST)
		return expr_cast(arena, type, shortened(arena, e->arg[0], of));
	Expr *args[3];
	for (int i = 0; i < e->narg; i++)
		args[i] = shortened(arena, e->arg[i], of);
	if (e->type != DT_I32 || !is_unsigned(e, of))
		return expr_call(arena, e->op, type, args, e->narg);
	for (int i = 0; i < 2; i++)
		args[i] = expr_cast(arena, DT_U16, args[i]);
	return expr_cast(
	    arena, DT_I16, expr_call(arena, e->op, DT_U16, args, 2));
}

/* Does it have numbers of 32 bits that are not literals?  Or `computes`, and does
 * not only read or convert them. */
static bool has_words(const Expr *e, bool computes)
{
	bool found = shorten_is_word(e->type) && e->narg &&
	    !(computes && (e->op == OP_READ || e->op == OP_CAST));
	for (int i = 0; !found && e->op != OP_READ && i < e->narg; i++)
		found = has_words(e->arg[i], computes);
	return found;
}

bool shorten_is_move(ReduceOp reduce, const Expr *body)
{
	return reduce == REDUCE_NONE && !has_words(body, true);
}

Expr *shorten_body(Arena *arena, ReduceOp reduce, Expr *body, int64_t steps,
    const int64_t *extents, const Interval *buffers)
{
	const KnownRanges known = {buffers, extents}, *of = &known;
	Interval all = range_of_all(reduce, body, steps, of);
	if (!fits(body, of) || !has_words(body, false) ||
	    (shorten_is_word(body->type) && !holds(body->type, all)))
		return NULL;
	return shortened(arena, body, of);
}
