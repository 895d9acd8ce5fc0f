/* The last axis of a block's results as two, its quotient and its remainder by a
 * number, and the dimension that it goes over likewise:
 *
 *     y[m] = x[m//2 + 1]*h[m % 2]      y[m, r] = x[m + 1]*h[r], r < 2
 *     y[m] = x[m*3//2]                 y[m, r] = x[m*3 + r*3//2]
 *     z[i] = y[i + 1]                  z[i] = y[(i + 1)//2, (i + 1) % 2]
 *
 * An element lies where it did. */
#include "ir/nest/nest.h"

#include <string.h>

const char unflatten_axis[] = "x0";

typedef struct {
	Expr *times, *rest; /* e = times*n + rest; NULL: 0 */
} QuotientParts;

static Expr *sum_of(Arena *arena, Expr *a, Expr *b)
{
	return !a ? b : !b ? a : expr_binary(arena, OP_ADD, a, b);
}

static Expr *by_number(Arena *arena, Op op, Expr *a, int64_t n)
{
	return expr_binary(arena, op, a, expr_int(arena, DT_INDEX, n));
}

static Expr *number_or_none(Arena *arena, int64_t i)
{
	return i ? expr_int(arena, DT_INDEX, i) : NULL;
}

static QuotientParts parts_of(Arena *arena, Expr *e, int64_t n)
{
	if (e->op == OP_INT) {
		int64_t rest = (e->i % n + n) % n;
		return (QuotientParts){number_or_none(arena, (e->i - rest) / n),
		    number_or_none(arena, rest)};
	}
	if (e->op == OP_ADD) {
		QuotientParts a = parts_of(arena, e->arg[0], n);
		QuotientParts b = parts_of(arena, e->arg[1], n);
		return (QuotientParts){sum_of(arena, a.times, b.times),
		    sum_of(arena, a.rest, b.rest)};
	}
	for (int i = 0; e->op == OP_MUL && i < 2; i++) {
		const Expr *by = e->arg[i];
		if (by->op != OP_INT)
			continue;
		if (by->i % n == 0)
			return (QuotientParts){by->i == n
				? e->arg[1 - i]
				: by_number(
				      arena, OP_MUL, e->arg[1 - i], by->i / n),
			    NULL};
		QuotientParts of = parts_of(arena, e->arg[1 - i], n);
		if (!of.times)
			break;
		of.times = by_number(arena, OP_MUL, of.times, by->i);
		if (of.rest)
			of.rest = by_number(arena, OP_MUL, of.rest, by->i);
		return of;
	}
	return (QuotientParts){NULL, e};
}

/* Is it one of 0 .. n - 1? */
static bool is_digit(const Expr *e, int64_t n, const int64_t *extents)
{
	return !e || (e->op == OP_AXIS && extents[e->id] <= n) ||
	    (e->op == OP_INT && e->i >= 0 && e->i < n);
}

/* e // n or e % n. */
static Expr *digit_of(
    Arena *arena, Op op, Expr *e, int64_t n, const int64_t *extents)
{
	QuotientParts p = parts_of(arena, e, n);
	bool whole = is_digit(p.rest, n, extents);
	Expr *low = whole ? p.rest : by_number(arena, op, p.rest, n);
	Expr *all = op == OP_MOD ? low
	    : whole ? p.times : sum_of(arena, p.times, low);
	return all ? all : expr_int(arena, DT_INDEX, 0);
}

typedef struct {
	int buffer; /* of a reader */
	int64_t n;
	const int64_t *extents;
} Unflatten;

static Expr *take_digits(Arena *arena, Expr *e, void *context)
{
	const Unflatten *u = context;
	return (e->op == OP_FLOORDIV || e->op == OP_MOD) &&
		e->type == DT_INDEX && e->arg[1]->op == OP_INT &&
		e->arg[1]->i > 0
	    ? digit_of(arena, e->op, e->arg[0], e->arg[1]->i, u->extents)
	    : e;
}

Expr *unflatten_body(Arena *arena, Expr *body, int axis, int64_t n,
    const int64_t *extents, int naxes)
{
	Unflatten u = {-1, n, extents};
	Expr **values = NEW_N(arena, Expr *, naxes);
	for (int a = axis + 1; a < naxes; a++)
		values[a] = expr_axis(arena, a + 1);
	values[axis] = expr_binary(arena, OP_ADD,
	    by_number(arena, OP_MUL, expr_axis(arena, axis), n),
	    expr_axis(arena, axis + 1));
	body = expr_substitute_axes(arena, body, values, naxes);
	return expr_rewrite(arena, body, take_digits, &u);
}

static Expr *read_digits(Arena *arena, Expr *e, void *context)
{
	const Unflatten *u = context;
	if (e->op != OP_READ || e->id != u->buffer)
		return e;
	int last = e->narg - 1;
	Expr **index = NEW_N(arena, Expr *, last + 2);
	memcpy(index, e->arg, sizeof *index * (size_t)last);
	index[last] = digit_of(
	    arena, OP_FLOORDIV, e->arg[last], u->n, u->extents);
	index[last + 1] =
	    digit_of(arena, OP_MOD, e->arg[last], u->n, u->extents);
	return expr_read(arena, e->type, u->buffer, index, last + 2);
}

Expr *unflatten_reader(Arena *arena, Expr *body, int buffer, int64_t n,
    const int64_t *extents)
{
	Unflatten u = {buffer, n, extents};
	return expr_rewrite(arena, body, read_digits, &u);
}

typedef struct {
	int axis;
	const int64_t *phases; /* by buffer */
	int64_t n, most;       /* 0: none will do */
	bool *apart;
} UnflattenSearch;

static void take_number(UnflattenSearch *x, int64_t n)
{
	int64_t all = x->n;
	while (all && all <= x->most && all % n)
		all += x->n;
	x->n = all <= x->most ? all : 0;
}

/* Of the axis, some times, and a number. */
static bool is_digit_of(const Expr *e, int axis)
{
	if (e->op != OP_FLOORDIV && e->op != OP_MOD)
		return false;
	const Expr *of = e->arg[0];
	while ((of->op == OP_ADD || of->op == OP_MUL) &&
	    (of->arg[0]->op == OP_INT || of->arg[1]->op == OP_INT))
		of = of->arg[of->arg[0]->op == OP_INT];
	return e->arg[1]->op == OP_INT && e->arg[1]->i > 0 &&
	    of->op == OP_AXIS && of->id == axis;
}

static bool reads_at(const Expr *e, int axis)
{
	const Expr *last = e->arg[e->narg - 1];
	return last->op == OP_AXIS && last->id == axis;
}

static bool look_at(Expr *e, void *context)
{
	UnflattenSearch *x = context;
	if (is_digit_of(e, x->axis)) {
		take_number(x, e->arg[1]->i);
		return false;
	}
	if (e->op == OP_AXIS && e->id == x->axis)
		x->n = 0;
	if (e->op != OP_READ || x->phases[e->id] == 1 || !reads_at(e, x->axis))
		return true;
	for (int i = 0; i < e->narg - 1; i++)
		expr_walk(e->arg[i], look_at, x);
	take_number(x, x->phases[e->id]);
	return false;
}

int64_t unflatten_find(
    Expr *body, int axis, const int64_t *phases, int64_t most)
{
	UnflattenSearch x = {
	    .axis = axis, .phases = phases, .n = 1, .most = most};
	expr_walk(body, look_at, &x);
	return x.n > 1 ? x.n : 1;
}

static bool look_apart(Expr *e, void *context)
{
	const UnflattenSearch *x = context;
	if (e->op == OP_READ && x->phases[e->id] > 1 &&
	    (x->phases[e->id] != x->n || !reads_at(e, x->axis)))
		x->apart[e->id] = true;
	return true;
}

void unflatten_mark_apart(
    Expr *body, int axis, int64_t n, const int64_t *phases, bool *apart)
{
	UnflattenSearch x = {
	    .axis = axis, .phases = phases, .n = n, .apart = apart};
	expr_walk(body, look_apart, &x);
}

int64_t *unflatten_shape(
    Arena *arena, const int64_t *shape, int ndim, int64_t n)
{
	int64_t *two = NEW_N(arena, int64_t, ndim + 1);
	memcpy(two, shape, sizeof *two * (size_t)ndim);
	two[ndim - 1] /= n;
	two[ndim] = n;
	return two;
}
