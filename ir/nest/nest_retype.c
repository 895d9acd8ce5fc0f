/* A product whose one operand is kept in another type: exactly, or by an offset
 * that is taken off again.  Of i8
 *
 *     i32(x[k]) * i32(w[k])        as i16:  i32(t[k]) * i32(w[k])
 *                                  as u8:   (i32(t[k]) - 128) * i32(w[k])
 *
 * with t = i16(x), and t = u8(x + 128).  A sum of the latter is that of what
 * machines multiply, and one of the other operand alone (nest_distribute.c).
 * An operand may have something added, (i32(x[k]) - z) * i32(w[k]): it is the read
 * in it with the most indices. */
#include "ir/nest/nest.h"

#include <string.h>

/* Of what is added up the cast of a read with the most indices. */
static Expr *cast_in(Expr *e)
{
	if (e->op == OP_CAST && e->arg[0]->op == OP_READ)
		return e;
	if (e->op != OP_ADD && e->op != OP_SUB && e->op != OP_NEG)
		return NULL;
	Expr *best = NULL;
	for (int i = 0; i < e->narg; i++) {
		Expr *cast = cast_in(e->arg[i]);
		if (cast && (!best || cast->arg[0]->narg > best->arg[0]->narg))
			best = cast;
	}
	return best;
}

const Expr *retype_read(const Expr *body, int operand)
{
	const Expr *cast =
	    body->op == OP_MUL ? cast_in(body->arg[operand - 1]) : NULL;
	return cast ? cast->arg[0] : NULL;
}

static bool is_byte(DType type)
{
	return type == DT_I8 || type == DT_U8;
}

bool retype_find(const Expr *body, int operand, DType to, Retype *out)
{
	*out = (Retype){.operand = operand, .to = to};
	if (operand < 1 || operand > 2)
		return false;
	out->read = retype_read(body, operand);
	if (!out->read)
		return false;
	DType from = out->read->type;
	if (is_byte(from) && is_byte(to) && from != to) {
		out->offset = to == DT_U8 ? -128 : 128;
		return body->type == DT_I32;
	}
	if (is_byte(from))
		return to == DT_I16;
	return dtype_is_half(from) && to == DT_F32 && body->type == DT_F32;
}

Expr *retype_element(Arena *arena, const Retype *r, Expr *read)
{
	Expr *e = expr_cast(arena, r->to, read);
	return r->offset ? expr_binary(arena, OP_ADD, e,
			       expr_int(arena, r->to, r->to == DT_U8 ? 128 : -128))
			 : e;
}

typedef struct {
	const Expr *read;
	Expr *by;
} Exchange;

static Expr *exchange(Arena *arena, Expr *e, void *context)
{
	const Exchange *x = context;
	(void)arena;
	return e->op == OP_CAST && expr_equal(e->arg[0], x->read) ? x->by : e;
}

Expr *retype_product(Arena *arena, const Retype *r, Expr *body, int buffer)
{
	Expr *args[2] = {body->arg[0], body->arg[1]};
	Expr *e = expr_cast(arena, body->type,
	    expr_read(arena, r->to, buffer, r->read->arg, r->read->narg));
	if (r->offset)
		e = expr_binary(arena, OP_ADD, e,
		    expr_int(arena, body->type, r->offset));
	args[r->operand - 1] = expr_rewrite(
	    arena, args[r->operand - 1], exchange, &(Exchange){r->read, e});
	return expr_binary(arena, OP_MUL, args[0], args[1]);
}

bool retype_is_copy(const Expr *body)
{
	while (body->op == OP_CAST ||
	    (body->op == OP_ADD && body->arg[1]->op == OP_INT))
		body = body->arg[0];
	return body->op == OP_READ;
}
