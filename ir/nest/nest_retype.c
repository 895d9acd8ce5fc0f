/* A product whose one operand is kept in another type: exactly, or by an offset
 * that is taken off again.  Of i8
 *
 *     i32(x[k]) * i32(w[k])        as i16:  i32(t[k]) * i32(w[k])
 *                                  as u8:   (i32(t[k]) - 128) * i32(w[k])
 *
 * with t = i16(x), and t = u8(x + 128).  A sum of the latter is the sum of what
 * machines multiply, and of the other operand alone, which is no product:
 *
 *     sum((i32(t[k]) - 128) * i32(w[k]))
 *       = sum(i32(t[k]) * i32(w[k])) + -128 * sum(i32(w[k]))
 *
 * Integers wrap around, so both are the same to the bit. */
#include "ir/nest/nest.h"

#include <string.h>

/* Of a cast of a read. */
static const Expr *read_of(const Expr *e)
{
	return e->op == OP_CAST && e->arg[0]->op == OP_READ ? e->arg[0] : NULL;
}

static bool is_byte(DType type)
{
	return type == DT_I8 || type == DT_U8;
}

bool retype_find(const Expr *body, int operand, DType to, Retype *out)
{
	*out = (Retype){.operand = operand, .to = to};
	if (body->op != OP_MUL || operand < 1 || operand > 2)
		return false;
	out->read = read_of(body->arg[operand - 1]);
	if (!out->read)
		return false;
	DType from = out->read->type;
	if (is_byte(from) && is_byte(to) && from != to) {
		out->offset = to == DT_U8 ? -128 : 128;
		return body->type == DT_I32;
	}
	if (is_byte(from))
		return to == DT_I16;
	return (from == DT_F16 || from == DT_BF16) && to == DT_F32 &&
	    body->type == DT_F32;
}

Expr *retype_element(Arena *arena, const Retype *r, Expr *read)
{
	Expr *e = expr_cast(arena, r->to, read);
	return r->offset ? expr_binary(arena, OP_ADD, e,
			       expr_int(arena, r->to, r->to == DT_U8 ? 128 : -128))
			 : e;
}

Expr *retype_product(Arena *arena, const Retype *r, Expr *body, int buffer)
{
	Expr *args[2] = {body->arg[0], body->arg[1]};
	Expr *e = expr_cast(arena, body->type,
	    expr_read(arena, r->to, buffer, r->read->arg, r->read->narg));
	if (r->offset)
		e = expr_binary(arena, OP_ADD, e,
		    expr_int(arena, body->type, r->offset));
	args[r->operand - 1] = e;
	return expr_binary(arena, OP_MUL, args[0], args[1]);
}

bool retype_is_copy(const Expr *body)
{
	while (body->op == OP_CAST ||
	    (body->op == OP_ADD && body->arg[1]->op == OP_INT))
		body = body->arg[0];
	return body->op == OP_READ;
}

/* --- the sum of both ---------------------------------------------------------- */

static bool has_axis(const Expr *e, int axis)
{
	if (e->op == OP_AXIS)
		return e->id == axis;
	for (int i = 0; i < e->narg; i++)
		if (has_axis(e->arg[i], axis))
			return true;
	return false;
}

static bool find_offset(Arena *arena, Expr *body, Distribution *d)
{
	for (int i = 0; i < 2 && body->op == OP_MUL; i++) {
		Expr *sum = body->arg[i], *others = body->arg[1 - i];
		if (sum->op != OP_ADD || sum->arg[1]->op != OP_INT)
			continue;
		d->other = others;
		d->times = sum->arg[1]->i;
		d->product = i
		    ? expr_binary(arena, OP_MUL, others, sum->arg[0])
		    : expr_binary(arena, OP_MUL, sum->arg[0], others);
		return true;
	}
	return false;
}

bool distribution_find(Arena *arena, Expr *body, const int64_t *extents,
    int nspatial, int naxes, Distribution *d)
{
	*d = (Distribution){.axes = NEW_N(arena, int, naxes)};
	if (body->type != DT_I32 || !find_offset(arena, body, d))
		return false;
	for (int a = 0; a < naxes; a++) {
		if (has_axis(d->other, a)) {
			d->axes[d->naxes++] = a;
			d->nspatial += a < nspatial;
		} else if (a >= nspatial &&
		    __builtin_mul_overflow(d->times, extents[a], &d->times)) {
			return false;
		}
	}
	return true;
}

Expr *distribution_other(Arena *arena, const Distribution *d, int naxes)
{
	Expr **values = NEW_N(arena, Expr *, naxes);
	for (int i = 0; i < d->naxes; i++)
		values[d->axes[i]] = expr_axis(arena, i);
	return expr_substitute_axes(arena, d->other, values, naxes);
}

Expr *distribution_whole(Arena *arena, const Distribution *d, int nspatial,
    int product, int other)
{
	Expr **all = NEW_N(arena, Expr *, nspatial);
	Expr **some = NEW_N(arena, Expr *, nspatial);
	for (int a = 0; a < nspatial; a++)
		all[a] = expr_axis(arena, a);
	for (int i = 0; i < d->nspatial; i++)
		some[i] = expr_axis(arena, d->axes[i]);
	Expr *times = expr_int(arena, DT_I32, (int32_t)d->times);
	return expr_binary(arena, OP_ADD,
	    expr_read(arena, DT_I32, product, all, nspatial),
	    expr_binary(arena, OP_MUL,
		expr_read(arena, DT_I32, other, some, d->nspatial), times));
}
