/* Factors of a product, by the axes that they have: of
 *
 *     (x[n, i] - m[i]) * s[i] * w[n, j]
 *
 * the first with all others that have no other axes is an element over n and i:
 *
 *     t[n, i] = (x[n, i] - m[i]) * s[i]        t[n, i] * w[n, j]
 *
 * Its axes are those of the block, or forms of them (nest_forms.c).
 *
 * Or a read whose index bends, of any body:
 *
 *     w[k] * x[clamp(i + k - 1, 0, 9)]       t[i + k] = x[clamp(i + k - 1, 0, 9)] */
#include "ir/nest/nest.h"

#include <assert.h>
#include <string.h>

enum { FACTORS_MOST = 16 };

typedef struct {
	Expr *at[FACTORS_MOST];
	int n;
	bool fits;
} Factors;

static void collect(Factors *f, Expr *e)
{
	if (e->op == OP_MUL) {
		collect(f, e->arg[0]);
		collect(f, e->arg[1]);
		return;
	}
	f->fits = f->fits && f->n < FACTORS_MOST;
	if (f->fits)
		f->at[f->n++] = e;
}

static bool is_within(const Expr *e, const bool *axes)
{
	if (e->op == OP_AXIS)
		return axes[e->id];
	for (int i = 0; i < e->narg; i++)
		if (!is_within(e->arg[i], axes))
			return false;
	return true;
}

/* The read with the most indices: its order is that of the element. */
static void find_read(const Expr *e, const Expr **best)
{
	if (e->op == OP_READ && (!*best || e->narg > (*best)->narg))
		*best = e;
	for (int i = 0; i < e->narg; i++)
		find_read(e->arg[i], best);
}

static int add_axes(int *order, int n, const Expr *e, bool *left)
{
	if (e->op == OP_AXIS && left[e->id]) {
		left[e->id] = false;
		order[n++] = e->id;
	}
	for (int i = 0; i < e->narg; i++)
		n = add_axes(order, n, e->arg[i], left);
	return n;
}

/* Those of more than one value, as the read has them, the others before; how
 * many. */
static int order_axes(Arena *arena, const Factor *f, const int64_t *extents,
    int naxes, int *order)
{
	const Expr *read = NULL;
	bool *left = NEW_N(arena, bool, naxes);
	bool *of_read = NEW_N(arena, bool, naxes);
	int n = 0;
	for (int a = 0; a < naxes; a++)
		left[a] = f->has[a] && extents[a] > 1;
	find_read(f->element, &read);
	if (read)
		expr_mark_axes(read, of_read);
	for (int a = 0; a < naxes; a++)
		if (left[a] && !of_read[a]) {
			left[a] = false;
			order[n++] = a;
		}
	return read ? add_axes(order, n, read, left) : n;
}

static Expr *times(Arena *arena, Expr *a, Expr *b)
{
	return a ? expr_binary(arena, OP_MUL, a, b) : b;
}

/* By fewer a remainder is a pattern of lanes; of an axis it is a digit. */
enum { WRAPS_LEAST = 16 };

static bool index_bends(const Expr *e)
{
	bool bends = e->op == OP_MIN || e->op == OP_MAX || e->op == OP_CLAMP ||
	    e->op == OP_ABS ||
	    (e->op == OP_MOD && e->arg[0]->op != OP_AXIS &&
		e->arg[1]->op == OP_INT && e->arg[1]->i >= WRAPS_LEAST);
	for (int i = 0; i < e->narg && !bends && e->op != OP_READ; i++)
		bends = index_bends(e->arg[i]);
	return bends;
}

bool read_bends(const Expr *read)
{
	return read->narg && index_bends(read->arg[read->narg - 1]);
}

static Expr *find_border(Expr *e)
{
	Expr *found = e->op == OP_READ && read_bends(e) ? e : NULL;
	for (int i = 0; i < e->narg && !found && e->op != OP_IF; i++)
		found = find_border(e->arg[i]);
	return found;
}

static bool find_element(Arena *arena, Expr *body, int number, Factor *out)
{
	Factors f = {.fits = true};
	if (!number) {
		out->border = out->element = find_border(body);
		out->others = body;
		out->together = 1;
		if (out->border)
			expr_mark_axes(out->border, out->has);
		return out->border;
	}
	collect(&f, body);
	if (!f.fits || f.n < 2 || number < 1 || number > f.n)
		return false;
	expr_mark_axes(f.at[number - 1], out->has);
	for (int i = 0; i < f.n; i++) {
		if (f.at[i]->type != body->type)
			return false;
		if (!is_within(f.at[i], out->has)) {
			out->others = times(arena, out->others, f.at[i]);
			continue;
		}
		out->together++;
		out->element = times(arena, out->element, f.at[i]);
	}
	return out->others;
}

bool factor_find(Arena *arena, Expr *body, const int64_t *extents, int naxes,
    int number, bool apart, Factor *out)
{
	*out = (Factor){.has = NEW_N(arena, bool, naxes)};
	if (!find_element(arena, body, number, out))
		return false;
	int *order = NEW_N(arena, int, naxes);
	int n = order_axes(arena, out, extents, naxes, order);
	out->axes = NEW_N(arena, FactorAxis, naxes);
	out->naxes = forms_find(
	    arena, &out->element, extents, naxes, order, n, apart, out->axes);
	out->is_window = out->naxes < n;
	return out->naxes;
}

typedef struct {
	const Expr *border;
	Expr *read;
} ReplacedBorder;

static Expr *replace_border(Arena *arena, Expr *e, void *context)
{
	const ReplacedBorder *r = context;
	(void)arena;
	return expr_equal(e, r->border) ? r->read : e;
}

Expr *factor_product(Arena *arena, const Factor *f, int buffer)
{
	Expr **index = NEW_N(arena, Expr *, f->naxes);
	for (int i = 0; i < f->naxes; i++)
		index[i] = f->axes[i].index;
	Expr *read =
	    expr_read(arena, f->element->type, buffer, index, f->naxes);
	ReplacedBorder r = {f->border, read};
	return f->border ? expr_rewrite(arena, f->others, replace_border, &r)
			 : times(arena, read, f->others);
}
