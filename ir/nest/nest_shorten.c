/* Integers in 32 bits whose values fit in 16 are computed in 16: the same values,
 * twice as many to a vector.
 *
 *     x, y in u8   u8((i32(x)*5 + i32(y)*3 + 4)//8)
 *       -->        u8((i16(x)*5 + i16(y)*3 + 4)//8)
 *
 * and     u8((i32(x)*200 + 128)//256)
 *   -->   u8((i16(x)*200 + 128)//256 % 256)
 *
 * What an expression never leaves comes from the types that are read, or from
 * what was computed there, by intervals.  Sums and products may wrap on the way to
 * what fits; what is compared or divided does not, but for a 16th bit. */
#include "ir/nest/nest.h"

#include "lib/wide.h"

/* --- intervals ---------------------------------------------------------------- */

static ValueRange of_type(DType type)
{
	ValueRange r = {0, 1};
	if (dtype_is_int(type))
		dtype_range(type, &r.least, &r.most);
	else if (type != DT_BOOL)
		r = (ValueRange){INT64_MIN, INT64_MAX};
	return r;
}

static bool is_within(ValueRange a, ValueRange b)
{
	return b.least <= a.least && a.most <= b.most;
}

/* Where the type does not have all of them, it may be any of its values. */
static ValueRange wrapped(DType type, Wide least, Wide most)
{
	ValueRange all = of_type(type);
	return least < all.least || most > all.most
	    ? all : (ValueRange){(int64_t)least, (int64_t)most};
}

static ValueRange product(DType type, ValueRange a, ValueRange b)
{
	Wide p[4] = {(Wide)a.least * b.least, (Wide)a.least * b.most,
	    (Wide)a.most * b.least, (Wide)a.most * b.most};
	return wrapped(type,
	    wide_min(wide_min(p[0], p[1]), wide_min(p[2], p[3])),
	    wide_max(wide_max(p[0], p[1]), wide_max(p[2], p[3])));
}

static ValueRange least_of(ValueRange a, ValueRange b)
{
	return (ValueRange){a.least < b.least ? a.least : b.least,
	    a.most < b.most ? a.most : b.most};
}

static ValueRange greatest_of(ValueRange a, ValueRange b)
{
	return (ValueRange){a.least > b.least ? a.least : b.least,
	    a.most > b.most ? a.most : b.most};
}

static ValueRange hull(ValueRange a, ValueRange b)
{
	return (ValueRange){a.least < b.least ? a.least : b.least,
	    a.most > b.most ? a.most : b.most};
}

static ValueRange absolute(DType type, ValueRange a)
{
	ValueRange minus = wrapped(type, -(Wide)a.most, -(Wide)a.least);
	if (a.least >= 0)
		return a;
	return a.most <= 0 ? minus : greatest_of((ValueRange){0, 0}, hull(a, minus));
}

ValueRange shorten_range(const Expr *e, const ValueRange *of)
{
	ValueRange a[3] = {{0}};
	if (!dtype_is_int(e->type) && e->type != DT_INDEX)
		return of_type(e->type);
	if (e->op == OP_INT)
		return (ValueRange){e->i, e->i};
	if (e->op == OP_READ)
		return of[e->id];
	for (int i = e->op == OP_IF; i < e->narg && i < 3; i++)
		a[i] = shorten_range(e->arg[i], of);
	switch (e->op) {
	case OP_CAST: return wrapped(e->type, a[0].least, a[0].most);
	case OP_NEG: return wrapped(e->type, -(Wide)a[0].most, -(Wide)a[0].least);
	case OP_ADD:
		return wrapped(e->type, (Wide)a[0].least + a[1].least,
		    (Wide)a[0].most + a[1].most);
	case OP_SUB:
		return wrapped(e->type, (Wide)a[0].least - a[1].most,
		    (Wide)a[0].most - a[1].least);
	case OP_MUL: return product(e->type, a[0], a[1]);
	case OP_MIN: return least_of(a[0], a[1]);
	case OP_MAX: return greatest_of(a[0], a[1]);
	case OP_CLAMP: return least_of(greatest_of(a[0], a[1]), a[2]);
	case OP_ABS: return absolute(e->type, a[0]);
	case OP_IF: return hull(a[1], a[2]);
	case OP_FLOORDIV:
		if (a[1].least != a[1].most || a[1].least < 1)
			return of_type(e->type);
		return (ValueRange){
		    (int64_t)wide_floordiv(a[0].least, a[1].least),
		    (int64_t)wide_floordiv(a[0].most, a[1].least)};
	case OP_MOD:
		if (a[1].least != a[1].most || a[1].least < 1)
			return of_type(e->type);
		return (ValueRange){0, a[1].least - 1};
	default: return of_type(e->type);
	}
}

ValueRange shorten_block_range(
    ReduceOp reduce, const Expr *body, int64_t steps, const ValueRange *of)
{
	ValueRange e = shorten_range(body, of);
	if (reduce == REDUCE_NONE || reduce == REDUCE_MAX || reduce == REDUCE_MIN)
		return e;
	if (reduce != REDUCE_SUM || !dtype_is_int(body->type))
		return of_type(body->type);
	return wrapped(body->type, wide_min(0, (Wide)e.least * steps),
	    wide_max(0, (Wide)e.most * steps));
}

/* --- bodies -------------------------------------------------------------------- */

static const ValueRange i16 = {INT16_MIN, INT16_MAX};
static const ValueRange u16 = {0, UINT16_MAX};

/* Which of two numbers divides by a shift: others have no instruction. */
static bool is_power(const Expr *e)
{
	return e->op == OP_INT && e->i > 0 && !(e->i & (e->i - 1));
}

/* Does a quotient need the 16th bit of what is divided?  It comes back as a
 * sign, which a remainder takes off. */
static bool has_sixteen_bits(const Expr *e, const ValueRange *of)
{
	ValueRange a = shorten_range(e->arg[0], of);
	return e->op == OP_FLOORDIV && e->arg[1]->i >= 4 &&
	    !is_within(a, i16) && is_within(a, u16);
}

static bool fits(const Expr *e, const ValueRange *of);

/* Are the low 16 bits right?  Sums and products may wrap on the way. */
static bool low_bits_fit(const Expr *e, const ValueRange *of)
{
	if (e->type != DT_I32)
		return fits(e, of);
	switch (e->op) {
	case OP_INT: return true;
	case OP_READ: return is_within(of[e->id], i16);
	case OP_CAST:
		return e->arg[0]->type == DT_INDEX ||
		    low_bits_fit(e->arg[0], of);
	case OP_NEG: return low_bits_fit(e->arg[0], of);
	case OP_ADD:
	case OP_SUB:
	case OP_MUL:
		return low_bits_fit(e->arg[0], of) &&
		    low_bits_fit(e->arg[1], of);
	case OP_IF:
		return fits(e->arg[0], of) && low_bits_fit(e->arg[1], of) &&
		    low_bits_fit(e->arg[2], of);
	case OP_FLOORDIV:
	case OP_MOD:
		if (!is_power(e->arg[1]) || e->arg[1]->i > INT16_MAX)
			return false;
		if (e->op == OP_MOD || has_sixteen_bits(e, of))
			return low_bits_fit(e->arg[0], of);
		return fits(e->arg[0], of);
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
static bool fits(const Expr *e, const ValueRange *of)
{
	if (e->type == DT_INDEX)
		return true;
	if (e->type == DT_I32)
		return low_bits_fit(e, of) &&
		    is_within(shorten_range(e, of), i16);
	if (e->type != DT_BOOL && !dtype_is_int(e->type))
		return false;
	if (e->type == DT_I64)
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

static int64_t wrapped_number(int64_t n)
{
	return (int16_t)(uint16_t)(uint64_t)n;
}

static Expr *shortened(Arena *arena, Expr *e, const ValueRange *of)
{
	DType type = e->type == DT_I32 ? DT_I16 : e->type;
	if (e->op == OP_READ)
		return expr_cast(arena, type, e);
	if (e->type == DT_INDEX || (!e->narg && e->type != DT_I32))
		return e;
	if (e->op == OP_INT)
		return expr_int(arena, DT_I16, wrapped_number(e->i));
	if (e->op == OP_CAST)
		return expr_cast(arena, type, shortened(arena, e->arg[0], of));
	Expr *args[3];
	for (int i = 0; i < e->narg; i++)
		args[i] = shortened(arena, e->arg[i], of);
	Expr *all = expr_call(arena, e->op, type, args, e->narg);
	if (e->type == DT_I32 && e->op == OP_FLOORDIV &&
	    has_sixteen_bits(e, of))
		return expr_binary(arena, OP_MOD, all,
		    expr_int(arena, DT_I16, 65536 / e->arg[1]->i));
	return all;
}

/* Does it compute in 32 bits, and not only convert? */
static bool computes(const Expr *e)
{
	bool found = e->type == DT_I32 && e->narg && e->op != OP_READ &&
	    e->op != OP_CAST;
	for (int i = 0; !found && e->op != OP_READ && i < e->narg; i++)
		found = computes(e->arg[i]);
	return found;
}

Expr *shorten_body(Arena *arena, ReduceOp reduce, Expr *body, int64_t steps,
    const ValueRange *of)
{
	ValueRange all = shorten_block_range(reduce, body, steps, of);
	bool sums = reduce != REDUCE_NONE && body->type == DT_I32;
	if (!fits(body, of) || !(sums || computes(body)) ||
	    (body->type == DT_I32 && !is_within(all, i16)))
		return NULL;
	return shortened(arena, body, of);
}
