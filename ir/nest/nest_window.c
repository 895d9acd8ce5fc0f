/* Windows: what is reduced moves along a spatial axis j as along a reduction
 * axis s, and so is the same for many pairs of both.
 *
 *     y[i, j] = sum[r, s](x[i + r, j + s])
 * -->
 *     c[i, j] = sum[r](x[i + r, j])             j up to where j + s goes
 *     y[i, j] = sum[s](c[i, j + s])
 *
 * The elements may move with step*j + apart*s, where one of these is 1 and no
 * value in between is left out; then element (j, s) is that of (u, 0) or of
 * (0, u).  And: a reduction of a few steps, written out. */
#include "ir/nest/nest.h"
#include "ir/linear.h"
#include "lib/gcd.h"

#include <assert.h>

/* What of a j and an s an index is a multiple of; what else it has. */
typedef struct {
	int64_t of_j, of_s;
} WindowMoves;

typedef struct {
	int j, s;
	int64_t step, apart; /* 0: nothing moves so far */
	bool fits;
} WindowSearch;

static void visit(WindowSearch *w, const Expr *e);

/* Something that is no sum of others moves so: as all does. */
static void settle(WindowSearch *w, WindowMoves m)
{
	if (!m.of_j && !m.of_s)
		return;
	int64_t d = gcd(m.of_j, m.of_s);
	if (!w->step) {
		w->step = m.of_s < 0 ? -m.of_j / d : m.of_j / d;
		w->apart = m.of_s < 0 ? -m.of_s / d : m.of_s / d;
	}
	int64_t a, b;
	w->fits = w->fits && w->step > 0 && w->apart > 0 &&
	    !__builtin_mul_overflow(m.of_j, w->apart, &a) &&
	    !__builtin_mul_overflow(m.of_s, w->step, &b) && a == b;
}

typedef struct {
	WindowSearch *w;
	WindowMoves moves;
} WindowSum;

static bool add_term(void *context, const Expr *e, int64_t times)
{
	WindowSum *sum = context;
	int64_t *of = e->op != OP_AXIS ? NULL
	    : e->id == sum->w->j       ? &sum->moves.of_j
	    : e->id == sum->w->s       ? &sum->moves.of_s
				       : NULL;
	for (int i = 0; i < e->narg; i++)
		visit(sum->w, e->arg[i]);
	return !of || linear_add(of, times);
}

/* Of what an index is, or how far one is behind another. */
static void settle_index(WindowSearch *w, const Expr *e, const Expr *behind)
{
	WindowSum sum = {w, {0, 0}};
	int64_t constant = 0;
	w->fits &= linear_walk(e, 1, &constant, add_term, &sum);
	if (behind)
		w->fits &= linear_walk(behind, -1, &constant, add_term, &sum);
	if (w->fits)
		settle(w, sum.moves);
}

static void visit(WindowSearch *w, const Expr *e)
{
	if (e->type == DT_INDEX) {
		settle_index(w, e, NULL);
	} else if (e->narg == 2 && e->type == DT_BOOL && e->op != OP_READ &&
	    e->arg[0]->type == DT_INDEX && e->arg[1]->type == DT_INDEX) {
		settle_index(w, e->arg[0], e->arg[1]);
	} else {
		for (int i = 0; i < e->narg; i++)
			visit(w, e->arg[i]);
	}
}

bool window_find(const Expr *body, int j, int64_t nj, int s, int64_t ns,
    SlidingWindow *window)
{
	WindowSearch w = {.j = j, .s = s, .fits = true};
	int64_t a, b;
	visit(&w, body);
	if (!w.fits || !w.step || (w.step != 1 && w.apart != 1))
		return false;
	if (w.apart == 1 ? w.step > ns : w.apart > nj)
		return false;
	if (__builtin_mul_overflow(w.step, nj - 1, &a) ||
	    __builtin_mul_overflow(w.apart, ns - 1, &b) ||
	    __builtin_add_overflow(a, b, &a) || a == INT64_MAX)
		return false;
	*window = (SlidingWindow){j, s, w.step, w.apart, a + 1};
	return true;
}

/* Without 0 that is added, and products of numbers. */
static Expr *folded(Arena *arena, Expr *e, void *context)
{
	(void)context;
	if (e->type != DT_INDEX || e->narg != 2)
		return e;
	Expr *a = e->arg[0], *b = e->arg[1];
	if (e->op == OP_MUL && a->op == OP_INT && b->op == OP_INT)
		return expr_int(arena, DT_INDEX, a->i * b->i);
	if ((e->op == OP_ADD && a->op == OP_INT && !a->i) ||
	    (e->op == OP_MUL && a->op == OP_INT && a->i == 1))
		return b;
	if (b->op == OP_INT &&
	    (((e->op == OP_ADD || e->op == OP_SUB) && !b->i) ||
		(e->op == OP_MUL && b->i == 1)))
		return a;
	return e;
}

Expr *window_folded(Arena *arena, Expr *e)
{
	return expr_rewrite(arena, e, folded, NULL);
}

Expr *window_columns(Arena *arena, const SlidingWindow *w, Expr *body, int naxes)
{
	Expr **values = NEW_N(arena, Expr *, naxes);
	Expr *zero = expr_int(arena, DT_INDEX, 0);
	assert(w->step == 1 || w->apart == 1);
	for (int a = 0; a < naxes; a++)
		values[a] = expr_axis(arena, a > w->s ? a - 1 : a);
	Expr *u = values[w->j];
	values[w->j] = w->step == 1 ? u : zero;
	values[w->s] = w->step == 1 ? zero : u;
	return window_folded(
	    arena, expr_substitute_axes(arena, body, values, naxes));
}

Expr *window_across(Arena *arena, const SlidingWindow *w, DType type, int columns,
    int nspatial)
{
	Expr **index = NEW_N(arena, Expr *, nspatial);
	for (int a = 0; a < nspatial; a++)
		index[a] = expr_axis(arena, a);
	index[w->j] = expr_binary(arena, OP_ADD,
	    expr_binary(arena, OP_MUL, expr_int(arena, DT_INDEX, w->step),
		expr_axis(arena, w->j)),
	    expr_binary(arena, OP_MUL, expr_int(arena, DT_INDEX, w->apart),
		expr_axis(arena, nspatial)));
	return window_folded(
	    arena, expr_read(arena, type, columns, index, nspatial));
}

/* --- written out -------------------------------------------------------------- */

int64_t unfold_steps(const int64_t *extents, int n, int64_t most)
{
	int64_t steps = 1;
	for (int i = 0; i < n; i++)
		if (__builtin_mul_overflow(steps, extents[i], &steps) ||
		    steps > most)
			return 0;
	return steps;
}

/* Is the first element what the identity and it give?  0 and -0 give 0, -inf and
 * NaN give -inf; 1*e is e. */
static bool is_from_first(ReduceOp op, DType type, bool reduced)
{
	return dtype_is_int(type) || op == REDUCE_PROD || reduced;
}

/* As a reduction does, the element before what there is so far: a NaN is passed
 * over by max and min. */
Expr *unfold_body(Arena *arena, ReduceOp op, Expr *body, int nspatial,
    const int64_t *extents, int naxes, bool reduced)
{
	static const Op ops[] = {[REDUCE_SUM] = OP_ADD, [REDUCE_PROD] = OP_MUL,
	    [REDUCE_MAX] = OP_MAX, [REDUCE_MIN] = OP_MIN};
	Expr **values = NEW_N(arena, Expr *, naxes);
	Expr *so_far = is_from_first(op, body->type, reduced)
	    ? NULL
	    : expr_identity(arena, op, body->type);
	int64_t steps = unfold_steps(
	    extents + nspatial, naxes - nspatial, INT64_MAX);
	assert(steps >= 1 && op != REDUCE_NONE);
	for (int64_t i = 0; i < steps; i++) {
		int64_t rest = i;
		for (int a = naxes - 1; a >= nspatial; a--) {
			values[a] = expr_int(arena, DT_INDEX, rest % extents[a]);
			rest /= extents[a];
		}
		Expr *e = window_folded(
		    arena, expr_substitute_axes(arena, body, values, naxes));
		so_far = so_far ? expr_binary(arena, ops[op], e, so_far) : e;
	}
	return so_far;
}

Expr *unfold_axis(Arena *arena, Expr *body, int axis, int naxes)
{
	Expr **values = NEW_N(arena, Expr *, naxes);
	for (int a = 0; a < naxes; a++)
		values[a] = a == axis ? expr_int(arena, DT_INDEX, 0)
				      : expr_axis(arena, a - (a > axis));
	return window_folded(
	    arena, expr_substitute_axes(arena, body, values, naxes));
}
