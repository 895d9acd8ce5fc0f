/* Running sums: a reduction over the first j + 1 of elements that j does not
 * move is one over the blocks of `size` before, and one within its block.
 *
 *     y[j] = sum[k](if k <= j then e(k) else 0)
 * -->
 *     w[j] = sum[t < 16](if t <= j % 16 then e(j//16*16 + t) else 0)
 *     p[b] = sum[c](if c < b then w[c*16 + 15] else 0)
 *     y[j] = w[j] + p[j // 16]
 *
 * Or each from the one before:
 *
 *     y[j] = e(j) + (if j > 0 then y[j - 1] else 0)
 *
 * Sums, products and extremes alike; for k < j the last element of each block
 * before is counted with it.  From behind, k >= j, likewise:
 *
 *     w[j] = sum[t < 16](if t >= j % 16 and j//16*16 + t < n
 *                        then e(j//16*16 + t) else 0)
 *     p[b] = sum[c](if c >= b then w[(c + 1)*16] else 0) */
#include "ir/linear.h"
#include "ir/nest/nest.h"

#include <assert.h>
#include <string.h>

/* of_j*j + of_k*k, and a constant */
typedef struct {
	int j, k;
	int64_t of_j, of_k;
} PrefixForm;

static bool add_axis(void *context, const Expr *e, int64_t times)
{
	PrefixForm *f = context;
	if (e->op != OP_AXIS || (e->id != f->j && e->id != f->k))
		return false;
	return linear_add(e->id == f->j ? &f->of_j : &f->of_k, times);
}

/* k <= j, or k < j; from behind k >= j, or k > j */
static bool is_triangle(const Expr *e, int j, int k, Prefix *p)
{
	PrefixForm f = {.j = j, .k = k};
	int64_t constant = 0, most; /* k - j, or j - k, is at most */
	if (op_kind(e->op) != OPKIND_COMPARE || e->op == OP_EQ ||
	    e->op == OP_NE || e->arg[0]->type != DT_INDEX)
		return false;
	int sign = e->op == OP_GT || e->op == OP_GE ? -1 : 1;
	if (!linear_walk(e->arg[0], sign, &constant, add_axis, &f) ||
	    !linear_walk(e->arg[1], -sign, &constant, add_axis, &f) ||
	    (f.of_k != 1 && f.of_k != -1) || f.of_j != -f.of_k)
		return false;
	most = -constant;
	most -= e->op == OP_LT || e->op == OP_GT;
	p->exclusive = most == -1;
	p->behind = f.of_k == -1;
	return most == 0 || most == -1;
}

/* The one of the conditions that all have to hold; NULL. */
static const Expr *find_triangle(const Expr *e, int j, int k, Prefix *p)
{
	if (e->op == OP_AND) {
		const Expr *left = find_triangle(e->arg[0], j, k, p);
		return left ? left : find_triangle(e->arg[1], j, k, p);
	}
	return is_triangle(e, j, k, p) ? e : NULL;
}

typedef struct {
	int axis, count;
} AxisCount;

static bool count_axis(Expr *e, void *context)
{
	AxisCount *c = context;
	c->count += e->op == OP_AXIS && e->id == c->axis;
	return true;
}

static int count_of(const Expr *e, int axis)
{
	AxisCount c = {axis, 0};
	expr_walk((Expr *)(uintptr_t)e, count_axis, &c);
	return c.count;
}

bool prefix_find(
    Arena *arena, Expr *body, ReduceOp op, int j, int k, Prefix *p)
{
	if (op == REDUCE_NONE || body->op != OP_IF ||
	    !expr_equal(body->arg[2], expr_identity(arena, op, body->type)))
		return false;
	*p = (Prefix){.op = op, .j = j, .k = k};
	p->triangle = find_triangle(body->arg[0], j, k, p);
	return p->triangle &&
	    count_of(body, j) == count_of(p->triangle, j);
}

bool prefix_fits(Prefix *p, int64_t size, int64_t nj, int64_t nk)
{
	p->count = size < 1 || nk < ((nj - 1) / size + 1) * size ? nk : 0;
	return size >= 2 && (nj - 1) / size >= 1 &&
	    (!p->behind		? nk >= nj - p->exclusive
		: p->exclusive ? nk == nj
			       : nk <= nj);
}

/* --- bodies ---------------------------------------------------------------------- */

typedef struct {
	const Prefix *p;
	Expr *holds;
} PrefixReplaced;

static Expr *replace(Arena *arena, Expr *e, void *context)
{
	const PrefixReplaced *r = context;
	(void)arena;
	if (expr_equal(e, r->p->triangle))
		return r->holds;
	for (int i = 0; i < 2 && e->op == OP_AND; i++)
		if (e->arg[i] == r->holds)
			return e->arg[1 - i];
	return e->op == OP_IF && e->arg[0] == r->holds ? e->arg[1] : e;
}

/* The body at another k, of those that count. */
static Expr *counted(
    Arena *arena, const Prefix *p, Expr *body, int naxes, Expr *k)
{
	Expr **values = NEW_N(arena, Expr *, naxes);
	PrefixReplaced r = {p, expr_int(arena, DT_BOOL, 1)};
	values[p->k] = k;
	body = expr_rewrite(arena, body, replace, &r);
	return expr_substitute_axes(arena, body, values, naxes);
}

/* The same, under another condition. */
static Expr *at(Arena *arena, const Prefix *p, Expr *body, int naxes, Expr *k,
    Expr *condition)
{
	return expr_if(arena, condition, counted(arena, p, body, naxes, k),
	    expr_identity(arena, p->op, body->type));
}

static Expr *number(Arena *arena, int64_t i)
{
	return expr_int(arena, DT_INDEX, i);
}

Expr *prefix_within(
    Arena *arena, const Prefix *p, Expr *body, int naxes, int64_t size)
{
	Expr *n = number(arena, size), *t = expr_axis(arena, p->k);
	Expr *j = expr_axis(arena, p->j);
	Expr *first = expr_binary(arena, OP_MUL,
	    expr_binary(arena, OP_FLOORDIV, j, n), n);
	Expr *k = expr_binary(arena, OP_ADD, first, t);
	Op op = p->behind ? p->exclusive ? OP_GT : OP_GE
	    : p->exclusive ? OP_LT : OP_LE;
	Expr *holds = expr_binary(
	    arena, op, t, expr_binary(arena, OP_MOD, j, n));
	if (p->behind && p->count)
		holds = expr_binary(arena, OP_AND, holds,
		    expr_binary(arena, OP_LT, k, number(arena, p->count)));
	return at(arena, p, body, naxes, k, holds);
}

/* As a reduction does, the element before what there is so far: a NaN is passed
 * over by max and min. */
static Expr *combined(Arena *arena, const Prefix *p, Expr *element, Expr *so_far)
{
	static const Op ops[] = {[REDUCE_SUM] = OP_ADD, [REDUCE_PROD] = OP_MUL,
	    [REDUCE_MAX] = OP_MAX, [REDUCE_MIN] = OP_MIN};
	return expr_binary(arena, ops[p->op], element, so_far);
}

static Expr *read_at(Arena *arena, const Prefix *p, DType type, int buffer,
    int nspatial, Expr *j)
{
	Expr **index = NEW_N(arena, Expr *, nspatial);
	for (int i = 0; i < nspatial; i++)
		index[i] = i == p->j ? j : expr_axis(arena, i);
	return expr_read(arena, type, buffer, index, nspatial);
}

Expr *prefix_before(Arena *arena, const Prefix *p, Expr *body, int naxes,
    int nspatial, int64_t size, int within)
{
	Expr *b = expr_axis(arena, p->j), *c = expr_axis(arena, p->k);
	Expr *last = expr_binary(arena, OP_ADD,
	    expr_binary(arena, OP_MUL, c, number(arena, size)),
	    number(arena, p->behind ? size : size - 1));
	Expr *sum = read_at(arena, p, body->type, within, nspatial, last);
	if (p->exclusive)
		sum = combined(arena, p,
		    at(arena, p, body, naxes, last,
			expr_int(arena, DT_BOOL, 1)), sum);
	return expr_if(arena,
	    expr_binary(arena, p->behind ? OP_GE : OP_LT, c, b), sum,
	    expr_identity(arena, p->op, body->type));
}

Expr *prefix_whole(Arena *arena, const Prefix *p, DType type, int nspatial,
    int64_t size, int within, int before)
{
	Expr *j = expr_axis(arena, p->j);
	return combined(arena, p,
	    read_at(arena, p, type, within, nspatial, j),
	    read_at(arena, p, type, before, nspatial,
		expr_binary(arena, OP_FLOORDIV, j, number(arena, size))));
}

/* --- element by element ----------------------------------------------------------- */

bool prefix_carries(const Prefix *p, int64_t nj, int64_t nk)
{
	return !p->behind && nj >= 2 && nk >= nj - p->exclusive;
}

static Expr *before_j(Arena *arena, const Prefix *p)
{
	return expr_binary(
	    arena, OP_SUB, expr_axis(arena, p->j), number(arena, 1));
}

static Expr *added_to(Arena *arena, const Prefix *p, Expr *body, int naxes)
{
	Expr *j = expr_axis(arena, p->j);
	if (!p->exclusive)
		return counted(arena, p, body, naxes, j);
	return at(arena, p, body, naxes, before_j(arena, p),
	    expr_binary(arena, OP_LT, number(arena, 0), j));
}

Expr *prefix_carried(Arena *arena, const Prefix *p, Expr *body, int naxes,
    int nspatial, int own)
{
	Expr *some = expr_binary(
	    arena, OP_LT, number(arena, 0), expr_axis(arena, p->j));
	Expr *last = read_at(
	    arena, p, body->type, own, nspatial, before_j(arena, p));
	Expr *none = expr_identity(arena, p->op, body->type);
	return combined(arena, p, added_to(arena, p, body, naxes),
	    expr_if(arena, some, last, none));
}

/* The first of what is combined. */
Expr *prefix_uncarried(const Expr *carried)
{
	assert(carried->narg == 2);
	return carried->arg[0];
}
