/* Winograd's convolution (Lavin and Gray, 2016): m results of a filter of three
 * taps from m + 2 products, not 3*m.
 *
 *     y[o, j] = sum[c, s](d[c, j + s]*w[o, c, s])
 * -->
 *     u[o, c, i] = sum over s of G[i][s]*w[o, c, s]              i < m + 2
 *     v[c, t, i] = sum over k of B[i][k]*d[c, t*m + k]           a tile t
 *     p[o, t, i] = sum[c](u[o, c, i]*v[c, t, i])
 *     y[o, j] = sum over i of A[j % m][i]*p[o, j//m, i]
 *
 * and of two such pairs of axes one after the other, each in a block of its own.
 * A result is a product of polynomials at the points 0, 1, -1, 2, -2, 1/2, -1/2
 * and infinity.  The matrices stand in the bodies as numbers, a row for each
 * value of an axis (`if i == 0 then … else …`), and the rows of a point and its
 * opposite as sum and difference of the same two parts: who repeats the axis in
 * code decides the conditions and computes equal parts once.  All numbers but
 * those of G are sums of a few powers of 2; G is applied in f64. */
#include "ir/nest/nest.h"

#include <assert.h>

enum { POINTS_MOST = WINOGRAD_MOST + 1, TERMS_MOST = WINOGRAD_MOST + 2 };
enum { MORE_AXES = 4 }; /* that a part may have */

static const double points[POINTS_MOST] = {0, 1, -1, 2, -2, 0.5, -0.5};

/* --- the matrices ----------------------------------------------------------------- */

/* The polynomial with these roots, but for the point `but`: its coefficients. */
static void polynomial(int npoints, int but, double *c)
{
	int degree = 0;
	c[0] = 1;
	for (int i = 0; i < npoints; i++) {
		if (i == but)
			continue;
		c[++degree] = 0;
		for (int k = degree; k >= 0; k--)
			c[k] = (k ? c[k - 1] : 0) - points[i] * c[k];
	}
}

static double power(double x, int n)
{
	return n ? x * power(x, n - 1) : 1;
}

double winograd_input(int m, int i, int k)
{
	double c[TERMS_MOST] = {0};
	polynomial(m + 1, i, c);
	return c[k];
}

double winograd_weight(int m, int i, int k)
{
	double n = 1;
	if (i == m + 1)
		return k == WINOGRAD_TAPS - 1;
	for (int j = 0; j <= m; j++)
		n *= j == i ? 1 : points[i] - points[j];
	return power(points[i], k) / n;
}

double winograd_output(int m, int r, int i)
{
	return i == m + 1 ? r == m - 1 : power(points[i], r);
}

/* --- rows as expressions ------------------------------------------------------------ */

/* Terms of a row, by their number; sums so far: NULL is none. */
typedef struct {
	Arena *arena;
	Expr *of[TERMS_MOST];
} RowTerms;

static Expr *times(Arena *arena, double c, Expr *e)
{
	return c == 1 ? e
	    : expr_binary(arena, OP_MUL, expr_float(arena, e->type, c), e);
}

/* so_far + c*e; the first term's c is positive. */
static Expr *plus(Arena *arena, Expr *so_far, double c, Expr *e)
{
	if (!c)
		return so_far;
	if (!so_far)
		return times(arena, c, e);
	return expr_binary(arena, c < 0 ? OP_SUB : OP_ADD, so_far,
	    times(arena, c < 0 ? -c : c, e));
}

/* Every second of the coefficients, from the last of the parity, over `by`. */
static Expr *every_second(
    const RowTerms *t, const double *c, int last, double by)
{
	Expr *sum = NULL;
	for (int k = last; k >= 0; k -= 2)
		sum = plus(t->arena, sum, c[k] / by, t->of[k]);
	return sum;
}

/* Of 1 and -1, 2 and -2 .. both have the first's parts, of even and odd terms. */
static Expr *input_row(const RowTerms *t, int m, int i)
{
	double c[TERMS_MOST];
	bool paired = i && i <= m;
	int first = paired ? i - !(i % 2) : i;
	for (int k = 0; k < m + 2; k++)
		c[k] = winograd_input(m, first, k);
	if (!paired) /* an even one of 0, and an odd one of infinity */
		return every_second(t, c, m + (i > 0), 1);
	return plus(t->arena, every_second(t, c, m, 1), points[i],
	    every_second(t, c, m - 1, points[first]));
}

/* As the rows above are turned round. */
static Expr *weight_row(const RowTerms *t, int m, int i)
{
	Expr *sum = NULL;
	for (int k = 0; k < WINOGRAD_TAPS; k++) {
		double c = winograd_weight(m, i, k);
		if (c)
			sum = sum ? expr_binary(t->arena, OP_ADD, sum,
				  times(t->arena, c, t->of[k]))
				  : times(t->arena, c, t->of[k]);
	}
	return sum;
}

static Expr *output_row(const RowTerms *t, int m, int r)
{
	Expr *sum = r ? NULL : t->of[0];
	for (int i = 1; i < m; i += 2)
		sum = plus(t->arena, sum, winograd_output(m, r, i),
		    expr_binary(t->arena, r % 2 ? OP_SUB : OP_ADD, t->of[i],
			t->of[i + 1]));
	return r == m - 1 ? plus(t->arena, sum, 1, t->of[m + 1]) : sum;
}

/* if at == 0 then rows[0] else if at == 1 then … else rows[n - 1] */
static Expr *choice(Arena *arena, Expr *at, Expr *const *rows, int n)
{
	Expr *e = rows[n - 1];
	for (int i = n - 2; i >= 0; i--)
		e = expr_if(arena,
		    expr_binary(arena, OP_EQ, at, expr_int(arena, DT_INDEX, i)),
		    rows[i], e);
	return e;
}

static Expr *transformed(const RowTerms *t, int m, Expr *at, int n,
    Expr *(*row)(const RowTerms *t, int m, int i))
{
	Expr *rows[TERMS_MOST] = {0};
	assert(n <= TERMS_MOST);
	for (int i = 0; i < n; i++)
		rows[i] = row(t, m, i);
	return choice(t->arena, at, rows, n);
}

/* --- which products ------------------------------------------------------------------ */

/* All of f32, as it lies in memory, too. */
static bool is_of_f32(const Expr *e)
{
	if (e->type != DT_INDEX && e->type != DT_BOOL && e->type != DT_F32)
		return false;
	for (int i = 0; i < e->narg; i++)
		if (!is_of_f32(e->arg[i]))
			return false;
	return true;
}

/* The spatial axis with which the taps r move one factor, and not the other; -1. */
static int pair_of(const Winograd *w, const int64_t *extents, int r)
{
	SlidingWindow window;
	if (!expr_has_axis(w->weights, r))
		return -1;
	for (int y = 0; y < w->nspatial; y++)
		if (!expr_has_axis(w->weights, y) &&
		    window_find(
			w->data, y, extents[y], r, extents[r], &window) &&
		    window.step == 1 && window.apart == 1)
			return y;
	return -1;
}

/* The pair that an axis is the y, or the tap, of; -1. */
static int pair_with(const Winograd *w, const int *axes, int axis)
{
	for (int p = 0; p < w->npairs; p++)
		if (axes[p] == axis)
			return p;
	return -1;
}

/* The last two pairs; what is left over of the reduction are the channels. */
static void find_pairs(Winograd *w, const int64_t *extents)
{
	w->npairs = 0;
	for (int r = w->nspatial; r < w->naxes; r++) {
		int y = extents[r] == WINOGRAD_TAPS ? pair_of(w, extents, r) : -1;
		if (y < 0 || pair_with(w, w->y, y) >= 0)
			continue;
		if (w->npairs == 2) {
			w->y[0] = w->y[1];
			w->r[0] = w->r[1];
			w->extent[0] = w->extent[1];
			w->npairs--;
		}
		w->y[w->npairs] = y;
		w->r[w->npairs] = r;
		w->extent[w->npairs++] = extents[y];
	}
}

const char *winograd_find(Arena *arena, ReduceOp op, Expr *body,
    const int64_t *extents, int nspatial, int naxes, Winograd *w)
{
	if (op != REDUCE_SUM || body->op != OP_MUL)
		return "the block is no sum of products of two factors";
	if (!is_of_f32(body))
		return "not all of the product is f32 in memory, too";
	*w = (Winograd){.nspatial = nspatial, .naxes = naxes};
	for (int i = 0; i < 2 && !w->npairs; i++) {
		w->data = body->arg[i];
		w->weights = body->arg[1 - i];
		find_pairs(w, extents);
	}
	if (!w->npairs)
		return "no factor moves with an axis of the block and three taps "
		       "side by side that the other one has alone";
	w->extents = arena_memdup(
	    arena, extents, sizeof *extents * (size_t)naxes);
	return naxes - nspatial == w->npairs
	    ? "there are no channels: taps are all that is summed"
	    : NULL;
}

/* --- the blocks ------------------------------------------------------------------------ */

typedef WinogradRole Role;
static const Role of_one[] = {WINOGRAD_U, WINOGRAD_D, WINOGRAD_V, WINOGRAD_P};

typedef struct {
	Arena *arena;
	const Winograd *w;
	int m;
	const int *buffers; /* of the parts before */
	WinogradPart *part;
} Making;

int winograd_nparts(const Winograd *w)
{
	return w->npairs == 1 ? 4 : 7;
}

int winograd_number(const Winograd *w, WinogradRole role)
{
	if (w->npairs == 2)
		return role;
	for (int i = 0; i < winograd_nparts(w); i++)
		if (of_one[i] == role)
			return i;
	return -1;
}

/* A buffer of the parts before. */
static int buffer_of(const Making *k, Role role)
{
	return k->buffers[winograd_number(k->w, role)];
}

static int64_t tiles_of(const Making *k, int pair)
{
	return (k->w->extent[pair] - 1) / k->m + 1;
}

/* Another axis of the part; its value. */
static Expr *add_axis(Making *k, int64_t extent)
{
	WinogradPart *p = k->part;
	p->extents[p->naxes] = extent;
	return expr_axis(k->arena, p->naxes++);
}

int winograd_own(const Winograd *w, const Expr *factor, int *axes)
{
	int n = 0;
	for (int a = 0; a < w->naxes; a++)
		if (expr_has_axis(factor, a) && pair_with(w, w->y, a) < 0 &&
		    pair_with(w, w->r, a) < 0)
			axes[n++] = a;
	return n;
}

/* Those of a factor: values[] by axis of the block. */
static void add_own_axes(Making *k, const Expr *factor, Expr **values)
{
	int *axes = NEW_N(k->arena, int, k->w->naxes);
	int n = winograd_own(k->w, factor, axes);
	for (int i = 0; i < n; i++)
		values[axes[i]] = add_axis(k, k->w->extents[axes[i]]);
}

static Expr *number(const Making *k, int64_t i)
{
	return expr_int(k->arena, DT_INDEX, i);
}

static Expr *at_plus(const Making *k, Expr *tile, int step)
{
	Expr *e = expr_binary(k->arena, OP_MUL, number(k, k->m), tile);
	return step ? expr_binary(k->arena, OP_ADD, e, number(k, step)) : e;
}

/* The index of an element of what a part before made: its first n axes are
 * these. */
typedef struct {
	Expr **at;
	int n;
} Index;

static Index new_index(const Making *k)
{
	return (Index){NEW_N(k->arena, Expr *, k->w->naxes + MORE_AXES), 0};
}

static Expr *read_of(const Making *k, Role role, DType type, const Index *index)
{
	return expr_read(k->arena, type, buffer_of(k, role),
	    arena_memdup(k->arena, index->at,
		sizeof *index->at * (size_t)index->n),
	    index->n);
}

static void push(Index *index, Expr *e)
{
	index->at[index->n++] = e;
}

/* The part's own first axes. */
static Index first_axes(const Making *k, int n)
{
	Index index = new_index(k);
	for (int a = 0; a < n; a++)
		push(&index, expr_axis(k->arena, a));
	return index;
}

/* The weights with some of their taps as numbers or axes. */
static Expr *tapped(const Making *k, Expr **values, Expr *const *taps)
{
	for (int p = 0; p < k->w->npairs; p++)
		values[k->w->r[p]] = taps[p];
	return expr_cast(k->arena, DT_F64,
	    expr_substitute_axes(k->arena, (Expr *)(uintptr_t)k->w->weights,
		values, k->w->naxes));
}

/* [o, c, i, s]: of the first taps; the only ones: [o, c, i]. */
static void make_first_weights(Making *k)
{
	const Winograd *w = k->w;
	RowTerms t = {.arena = k->arena};
	Expr **values = NEW_N(k->arena, Expr *, w->naxes), *taps[2];
	add_own_axes(k, w->weights, values);
	Expr *at = add_axis(k, k->m + 2);
	if (w->npairs == 2)
		taps[1] = add_axis(k, WINOGRAD_TAPS);
	for (int i = 0; i < WINOGRAD_TAPS; i++) {
		taps[0] = number(k, i);
		t.of[i] = tapped(k, values, taps);
	}
	k->part->body = transformed(&t, k->m, at, k->m + 2, weight_row);
	if (w->npairs == 1)
		k->part->body = expr_cast(k->arena, DT_F32, k->part->body);
}

/* [o, c, i, j] from [o, c, i, s] */
static void make_second_weights(Making *k)
{
	RowTerms t = {.arena = k->arena};
	Expr **values = NEW_N(k->arena, Expr *, k->w->naxes);
	add_own_axes(k, k->w->weights, values);
	add_axis(k, k->m + 2);
	Index index = first_axes(k, k->part->naxes);
	Expr *at = add_axis(k, k->m + 2);
	for (int i = 0; i < WINOGRAD_TAPS; i++) {
		index.n = k->part->naxes - 1;
		push(&index, number(k, i));
		t.of[i] = read_of(k, WINOGRAD_U1, DT_F64, &index);
	}
	k->part->body = expr_cast(k->arena, DT_F32,
	    transformed(&t, k->m, at, k->m + 2, weight_row));
}

/* The data at whole tiles: [c, y, x], zeros behind the last taps. */
static void make_data(Making *k)
{
	const Winograd *w = k->w;
	Expr **values = NEW_N(k->arena, Expr *, w->naxes), *inside = NULL;
	add_own_axes(k, w->data, values);
	for (int p = 0; p < w->npairs; p++) {
		int64_t has = w->extent[p] + WINOGRAD_TAPS - 1;
		int64_t n = tiles_of(k, p) * k->m + 2;
		Expr *at = values[w->y[p]] = add_axis(k, n);
		values[w->r[p]] = number(k, 0);
		Expr *below = expr_binary(
		    k->arena, OP_LT, at, number(k, has));
		if (n > has)
			inside = inside
			    ? expr_binary(k->arena, OP_AND, inside, below)
			    : below;
	}
	Expr *e = window_folded(k->arena,
	    expr_substitute_axes(k->arena, (Expr *)(uintptr_t)w->data, values,
		w->naxes));
	k->part->body = inside
	    ? expr_if(k->arena, inside, e, expr_float(k->arena, DT_F32, 0))
	    : e;
}

/* Down the columns: [c, t, i, x] from [c, y, x]. */
static void make_first_input(Making *k)
{
	RowTerms t = {.arena = k->arena};
	Expr **values = NEW_N(k->arena, Expr *, k->w->naxes);
	add_own_axes(k, k->w->data, values);
	Index index = first_axes(k, k->part->naxes);
	int n = index.n;
	Expr *tile = add_axis(k, tiles_of(k, 0));
	Expr *at = add_axis(k, k->m + 2);
	Expr *x = add_axis(k, tiles_of(k, 1) * k->m + 2);
	for (int i = 0; i < k->m + 2; i++) {
		index.n = n;
		push(&index, at_plus(k, tile, i));
		push(&index, x);
		t.of[i] = read_of(k, WINOGRAD_D, DT_F32, &index);
	}
	k->part->body = transformed(&t, k->m, at, k->m + 2, input_row);
}

/* Along the rows: [c, t, u, i, j] from [c, t, i, x]; the only ones: [c, t, i]
 * from [c, x]. */
static void make_input(Making *k)
{
	bool two = k->w->npairs == 2;
	RowTerms t = {.arena = k->arena};
	Expr **values = NEW_N(k->arena, Expr *, k->w->naxes), *row = NULL;
	add_own_axes(k, k->w->data, values);
	if (two)
		add_axis(k, tiles_of(k, 0));
	Index index = first_axes(k, k->part->naxes);
	int n = index.n;
	Expr *tile = add_axis(k, tiles_of(k, k->w->npairs - 1));
	if (two)
		row = add_axis(k, k->m + 2);
	Expr *at = add_axis(k, k->m + 2);
	for (int i = 0; i < k->m + 2; i++) {
		index.n = n;
		if (row)
			push(&index, row);
		push(&index, at_plus(k, tile, i));
		t.of[i] = read_of(
		    k, two ? WINOGRAD_V1 : WINOGRAD_D, DT_F32, &index);
	}
	k->part->body = transformed(&t, k->m, at, k->m + 2, input_row);
}

/* The block's axes in their order, tiles for y, places in a tile behind the
 * spatial ones: values[] by axis of the block. */
static void add_result_axes(Making *k, Expr **values)
{
	const Winograd *w = k->w;
	for (int a = 0; a < w->nspatial; a++) {
		int pair = pair_with(w, w->y, a);
		values[a] = add_axis(
		    k, pair < 0 ? w->extents[a] : tiles_of(k, pair));
	}
}

/* The index of what add_own_axes gave axes. */
static Index own_index(const Making *k, const Expr *factor, Expr **values)
{
	Index index = new_index(k);
	int *axes = NEW_N(k->arena, int, k->w->naxes);
	int n = winograd_own(k->w, factor, axes);
	for (int i = 0; i < n; i++)
		push(&index, values[axes[i]]);
	return index;
}

/* [o, t, u, i, j], over the channels */
static void make_products(Making *k)
{
	const Winograd *w = k->w;
	Expr **values = NEW_N(k->arena, Expr *, w->naxes), *places[2];
	add_result_axes(k, values);
	for (int p = 0; p < w->npairs; p++)
		places[p] = add_axis(k, k->m + 2);
	k->part->nspatial = k->part->naxes;
	k->part->reduce = REDUCE_SUM;
	for (int a = w->nspatial; a < w->naxes; a++)
		if (pair_with(w, w->r, a) < 0)
			values[a] = add_axis(k, w->extents[a]);
	Index u = own_index(k, w->weights, values);
	Index v = own_index(k, w->data, values);
	for (int p = 0; p < w->npairs; p++)
		push(&v, values[w->y[p]]);
	for (int p = 0; p < w->npairs; p++) {
		push(&u, places[p]);
		push(&v, places[p]);
	}
	k->part->body = expr_binary(k->arena, OP_MUL,
	    read_of(k, WINOGRAD_U, DT_F32, &u), read_of(k, WINOGRAD_V, DT_F32, &v));
}

/* Down the columns: [o, t, u, p, j], p < m, from [o, t, u, i, j]. */
static void make_first_output(Making *k)
{
	RowTerms t = {.arena = k->arena};
	Expr **values = NEW_N(k->arena, Expr *, k->w->naxes);
	add_result_axes(k, values);
	Index index = first_axes(k, k->part->naxes);
	int n = index.n;
	Expr *at = add_axis(k, k->m), *column = add_axis(k, k->m + 2);
	for (int i = 0; i < k->m + 2; i++) {
		index.n = n;
		push(&index, number(k, i));
		push(&index, column);
		t.of[i] = read_of(k, WINOGRAD_P, DT_F32, &index);
	}
	k->part->body = transformed(&t, k->m, at, k->m, output_row);
}

WinogradPart winograd_part(
    Arena *arena, const Winograd *w, int m, int number, const int *buffers)
{
	WinogradPart part = {.reduce = REDUCE_NONE, .nspatial = -1};
	Making k = {arena, w, m, buffers, &part};
	const Role role = w->npairs == 1 ? of_one[number] : (Role)number;
	part.extents = NEW_N(arena, int64_t, w->naxes + MORE_AXES);
	switch (role) {
	case WINOGRAD_U1: make_first_weights(&k); break;
	case WINOGRAD_U:
		if (w->npairs == 1)
			make_first_weights(&k);
		else
			make_second_weights(&k);
		break;
	case WINOGRAD_D: make_data(&k); break;
	case WINOGRAD_V1: make_first_input(&k); break;
	case WINOGRAD_V: make_input(&k); break;
	case WINOGRAD_P: make_products(&k); break;
	case WINOGRAD_Y1: make_first_output(&k); break;
	}
	if (part.nspatial < 0)
		part.nspatial = part.naxes;
	return part;
}

Expr *winograd_whole(
    Arena *arena, const Winograd *w, int m, const int *buffers)
{
	Making k = {arena, w, m, buffers, NULL};
	RowTerms t = {.arena = arena};
	Expr *size = number(&k, m), *last = expr_axis(arena, w->y[w->npairs - 1]);
	Index index = new_index(&k);
	for (int a = 0; a < w->nspatial; a++) {
		Expr *axis = expr_axis(arena, a);
		push(&index, pair_with(w, w->y, a) < 0
			? axis
			: expr_binary(arena, OP_FLOORDIV, axis, size));
	}
	if (w->npairs == 2)
		push(&index, expr_binary(
			arena, OP_MOD, expr_axis(arena, w->y[0]), size));
	push(&index, NULL);
	for (int i = 0; i < m + 2; i++) {
		index.at[index.n - 1] = number(&k, i);
		t.of[i] = read_of(&k,
		    w->npairs == 2 ? WINOGRAD_Y1 : WINOGRAD_P, DT_F32, &index);
	}
	return transformed(&t, m, expr_binary(arena, OP_MOD, last, size), m,
	    output_row);
}
