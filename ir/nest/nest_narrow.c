/* A block of integers that are bytes but for what is added to all of them, kept as
 * these bytes:
 *
 *     p[i] = if 1 <= i then i32(x[i - 1]) - i32(z[]) else 0         x, z of u8
 *   ->
 *     p[i] = if 1 <= i then x[i - 1] else z[]
 *
 * and p[i] is i32(p[i]) - i32(z[]) to those who read it.  An arm that is a number
 * has to be one of the bytes' values then.  What is added under a condition has no
 * axes: it is read where the condition does not hold, too.
 *
 * Padded with 0, which sums of products leave out (nest_predicate.c), what pads
 * it is added where it pads:
 *
 *     p[i] = if 1 <= i then x[i - 1] else 0
 *
 * and p[i] is i32(p[i]) + (if 1 <= i then -i32(z[]) else 0). */
#include "ir/nest/nest.h"

#include <assert.h>

static bool is_byte(DType type)
{
	return type == DT_I8 || type == DT_U8;
}

/* a + b, numbers as one; of either NULL the other. */
static Expr *plus(Arena *arena, Expr *a, Expr *b)
{
	if (!a || !b)
		return a ? a : b;
	if (a->op == OP_INT && b->op == OP_INT)
		return expr_int(arena, DT_I32,
		    (int32_t)((uint32_t)a->i + (uint32_t)b->i));
	return expr_binary(arena, OP_ADD, a, b);
}

static Expr *minus(Arena *arena, Expr *a)
{
	return a->op == OP_INT ? expr_int(arena, DT_I32,
				     (int32_t)-(uint32_t)a->i)
			       : expr_unary(arena, OP_NEG, a);
}

static bool same(const Expr *a, const Expr *b)
{
	return a && b ? expr_equal(a, b) : a == b;
}

static bool split(Arena *arena, Expr *e, Narrow *n);

/* A value as a byte to which the offset is added; NULL: it is none. */
static Expr *as_byte(Arena *arena, Expr *e, const Narrow *like)
{
	const Expr *offset = like->offset;
	Narrow n;
	if (split(arena, e, &n) && n.type == like->type &&
	    same(n.offset, offset))
		return n.element;
	bool subtracted = offset && offset->op == OP_NEG &&
	    offset->arg[0]->op == OP_CAST &&
	    offset->arg[0]->arg[0]->type == like->type;
	if (expr_is_zero(e) && subtracted)
		return offset->arg[0]->arg[0];
	if (e->op != OP_INT || (offset && offset->op != OP_INT))
		return NULL;
	int64_t value = e->i - (offset ? offset->i : 0);
	return interval_holds(dtype_interval(like->type), interval_of(value))
	    ? expr_int(arena, like->type, value) : NULL;
}

static bool split_if(Arena *arena, Expr *e, Narrow *n)
{
	for (int i = 1; i <= 2; i++) {
		if (!split(arena, e->arg[i], n) ||
		    (n->offset && expr_has_axes(n->offset)))
			continue;
		Expr *other = as_byte(arena, e->arg[3 - i], n);
		if (!other)
			continue;
		n->element = i == 1
		    ? expr_if(arena, e->arg[0], n->element, other)
		    : expr_if(arena, e->arg[0], other, n->element);
		return true;
	}
	return false;
}

static bool split(Arena *arena, Expr *e, Narrow *n)
{
	*n = (Narrow){0};
	if (e->type != DT_I32)
		return false;
	if (e->op == OP_CAST && is_byte(e->arg[0]->type)) {
		n->element = e->arg[0];
		n->type = n->element->type;
		return true;
	}
	if (e->op == OP_IF)
		return split_if(arena, e, n);
	bool negative = e->op == OP_SUB;
	for (int i = 0; i < 2 && (e->op == OP_ADD || (negative && !i)); i++)
		if (split(arena, e->arg[i], n)) {
			Expr *other = e->arg[1 - i];
			n->offset = plus(arena, n->offset,
			    negative ? minus(arena, other) : other);
			return true;
		}
	return false;
}

/* Are all its values in i16? */
static bool fits_i16(const Narrow *n)
{
	Interval by = {0, 0}, element = dtype_interval(n->type);
	const Expr *e = n->offset;
	bool negative = e && e->op == OP_NEG;
	if (negative)
		e = e->arg[0];
	if (e && e->op == OP_CAST && is_byte(e->arg[0]->type))
		by = dtype_interval(e->arg[0]->type);
	else if (e && e->op == OP_INT)
		by = interval_of(e->i);
	else if (e)
		return false;
	return interval_holds(dtype_interval(DT_I16),
	    negative ? interval_sub(element, by) : interval_add(element, by));
}

bool narrow_find(Arena *arena, Expr *body, DType buffer, Narrow *n)
{
	bool stored = body->op == OP_CAST && body->type == DT_I16;
	if (!split(arena, stored ? body->arg[0] : body, n) ||
	    (stored && !fits_i16(n)))
		return false;
	n->from = buffer;
	return buffer == (stored ? DT_I16 : DT_I32);
}

/* Bytes that are padded with something else than 0, in that arm. */
static bool pads(const Expr *e, int *arm)
{
	if (e->op != OP_IF)
		return false;
	*arm = expr_has_axes(e->arg[2]) ? 1 : 2;
	return !expr_has_data(e->arg[0]) && expr_has_axes(e->arg[3 - *arm]) &&
	    !expr_has_axes(e->arg[*arm]) && !expr_is_zero(e->arg[*arm]);
}

/* What pads it, in i32. */
static Expr *padding_value(Arena *arena, Expr *pad)
{
	return pad->op == OP_INT ? expr_int(arena, DT_I32, pad->i)
				 : expr_cast(arena, DT_I32, pad);
}

/* Arm `arm` of the choice is `to`, the other `other`. */
static Expr *with_arms(
    Arena *arena, const Expr *e, int arm, Expr *to, Expr *other)
{
	return expr_if(
	    arena, e->arg[0], arm == 1 ? to : other, arm == 1 ? other : to);
}

bool narrow_find_zero(Arena *arena, Expr *body, DType buffer, Narrow *n)
{
	int arm;
	if (is_byte(buffer) && body->type == buffer)
		*n = (Narrow){.type = buffer, .from = buffer, .element = body};
	else if (!narrow_find(arena, body, buffer, n))
		return false;
	const Expr *e = n->element;
	if (!pads(e, &arm))
		return false;
	Expr *pad = padding_value(arena, e->arg[arm]);
	Expr *zero = expr_int(arena, DT_I32, 0);
	if (same(n->offset, minus(arena, pad))) /* nothing is left of both */
		n->offset = with_arms(arena, e, arm, zero, n->offset);
	else
		n->offset =
		    plus(arena, n->offset, with_arms(arena, e, arm, pad, zero));
	n->element = with_arms(
	    arena, e, arm, expr_int(arena, n->type, 0), e->arg[3 - arm]);
	return true;
}

typedef struct {
	const Narrow *narrow;
	int buffer;
} NarrowReader;

/* The value of the element that is read, of the bytes. */
static Expr *value_at(Arena *arena, const NarrowReader *r, const Expr *read)
{
	const Narrow *n = r->narrow;
	Expr *value = expr_cast(arena, DT_I32,
	    expr_read(arena, n->type, r->buffer, read->arg, read->narg));
	return n->offset
	    ? expr_binary(arena, OP_ADD, value,
		  expr_substitute_axes(arena, n->offset, read->arg, read->narg))
	    : value;
}

/* Is it such a value in the buffer's type, and back? */
static bool is_value_back(Arena *arena, const NarrowReader *r, const Expr *e)
{
	if (e->op != OP_CAST || e->type != DT_I32 || e->arg[0]->op != OP_CAST ||
	    e->arg[0]->type != r->narrow->from)
		return false;
	const Expr *value = e->arg[0]->arg[0];
	const Expr *read = expr_find_read(value, r->buffer);
	return read && expr_equal(value, value_at(arena, r, read));
}

/* The element as the buffer had it. */
static Expr *read_element(Arena *arena, Expr *e, void *context)
{
	const NarrowReader *r = context;
	if (is_value_back(arena, r, e))
		return e->arg[0]->arg[0];
	if (e->op != OP_READ || e->id != r->buffer)
		return e;
	return expr_cast(arena, r->narrow->from, value_at(arena, r, e));
}

Expr *narrow_reader(Arena *arena, const Narrow *n, int buffer, Expr *body)
{
	return expr_rewrite(
	    arena, body, read_element, &(NarrowReader){n, buffer});
}
