/* Axes that an expression has in one linear form alone are one axis: of
 *
 *     if 1 <= i + r and i + r < 9 then x[c, i + r - 1] else 0      i < 8, r < 3
 *
 * i and r, since with u = i + r it is
 *
 *     if 1 <= u and u < 9 then x[c, u - 1] else 0                  u < 10
 *
 * Only where that is fewer elements and each u is one of some i and r, so that
 * nothing is computed that was not before.  An axis of one value is 0. */
#include "ir/nest/nest.h"

#include <stdlib.h>

#include "ir/linear.h"
#include "lib/gcd.h"

enum { ROWS_MOST = 64 };
static const int64_t number_most = INT64_C(1) << 30;

typedef struct {
	Arena *arena;
	const int64_t *extents;
	int naxes, nrows;
	int64_t
	    *rows[ROWS_MOST]; /* of each form coefficients, and a constant */
	bool fits;
	int64_t *by;  /* an axis's coefficient in what is one */
	int *leader;  /* the first of the axes that are one */
	int *own;     /* the axis that a leader becomes */
	int64_t *low; /* the least value of its form */
} Forms;

typedef struct {
	const int64_t *extents;
	int64_t *row;
} FormRow;

static bool add_axis(void *context, const Expr *e, int64_t times)
{
	const FormRow *f = context;
	return e->op == OP_AXIS &&
	    (f->extents[e->id] == 1 || linear_add(&f->row[e->id], times));
}

static int64_t *row_of(const Forms *f, const Expr *e)
{
	if (e->type != DT_INDEX)
		return NULL;
	int64_t *row = NEW_N(f->arena, int64_t, f->naxes + 1);
	FormRow of = {f->extents, row};
	bool fits = linear_walk(e, 1, &row[f->naxes], add_axis, &of);
	for (int a = 0; a <= f->naxes; a++)
		fits &= llabs(row[a]) <= number_most;
	return fits ? row : NULL;
}

static void collect(Forms *f, const Expr *e)
{
	int64_t *row = row_of(f, e);
	if (!row) {
		for (int i = 0; i < e->narg; i++)
			collect(f, e->arg[i]);
		return;
	}
	f->fits = f->fits && f->nrows < ROWS_MOST;
	if (f->fits)
		f->rows[f->nrows++] = row;
}

/* --- which are one ---------------------------------------------------------------- */

static void join(Forms *f)
{
	for (int i = 0; i < f->nrows; i++) {
		int first = -1;
		for (int a = 0; a < f->naxes; a++) {
			if (!f->rows[i][a])
				continue;
			first = first < 0 ? f->leader[a] : first;
			int old = f->leader[a];
			for (int b = 0; b < f->naxes; b++)
				if (f->leader[b] == old)
					f->leader[b] = first;
		}
	}
}

/* Is each form with the leader's axes a multiple of one of them? */
static bool is_one_form(Forms *f, int leader)
{
	const int64_t *first = NULL;
	int64_t divisor = 0;
	for (int i = 0; i < f->nrows; i++) {
		const int64_t *row = f->rows[i];
		int64_t of = 0;
		for (int a = 0; a < f->naxes; a++)
			if (f->leader[a] == leader)
				of = gcd(of, llabs(row[a]));
		if (!of)
			continue;
		if (!first) {
			first = row;
			divisor = row[leader] < 0 ? -of : of;
		}
		for (int a = 0; a < f->naxes; a++)
			if (f->leader[a] == leader &&
			    row[a] * first[leader] != first[a] * row[leader])
				return false;
	}
	for (int a = 0; a < f->naxes && first; a++)
		if (f->leader[a] == leader)
			f->by[a] = first[a] / divisor;
	return first;
}

/* The values of the form; 0: some between the ends are none of its, or there are
 * as many as there are elements. */
static int64_t values_of(Forms *f, int leader)
{
	int64_t values = 1, elements = 1, step = 1;
	int naxes = 0, done = 0;
	f->low[leader] = 0;
	for (int a = 0; a < f->naxes; a++) {
		if (f->leader[a] != leader)
			continue;
		naxes++;
		elements *= f->extents[a];
		if (f->by[a] < 0)
			f->low[leader] += f->by[a] * (f->extents[a] - 1);
	}
	while (done < naxes) {
		int64_t next = INT64_MAX;
		for (int a = 0; a < f->naxes; a++) {
			int64_t by = llabs(f->by[a]);
			if (f->leader[a] != leader)
				continue;
			if (by == step) {
				values += by * (f->extents[a] - 1);
				done++;
			} else if (by > step && by < next) {
				next = by;
			}
		}
		if (done < naxes && next > values)
			return 0;
		step = next;
	}
	return values < elements ? values : 0;
}

/* --- as expressions --------------------------------------------------------------- */

static Expr *plus(Forms *f, Expr *sum, Expr *e, int64_t by)
{
	if (!by)
		return sum;
	if (llabs(by) != 1)
		e = expr_binary(f->arena, OP_MUL, e,
		    expr_int(f->arena, DT_INDEX, sum ? llabs(by) : by));
	else if (!sum && by < 0)
		e = expr_unary(f->arena, OP_NEG, e);
	return sum ? expr_binary(f->arena, by < 0 ? OP_SUB : OP_ADD, sum, e)
		   : e;
}

static Expr *plus_number(Forms *f, Expr *sum, int64_t n)
{
	if (sum && !n)
		return sum;
	Expr *e = expr_int(f->arena, DT_INDEX, sum ? llabs(n) : n);
	return sum ? expr_binary(f->arena, n < 0 ? OP_SUB : OP_ADD, sum, e) : e;
}

/* A form of the block's axes over the own ones. */
static Expr *over_own(Forms *f, const int64_t *row)
{
	Expr *sum = NULL;
	int64_t number = row[f->naxes];
	for (int a = 0; a < f->naxes; a++) {
		if (f->leader[a] != a || !row[a])
			continue;
		int64_t times = row[a] / f->by[a];
		sum = plus(f, sum, expr_axis(f->arena, f->own[a]), times);
		number += times * f->low[a];
	}
	return plus_number(f, sum, number);
}

static Expr *rewrite(Forms *f, Expr *e)
{
	const int64_t *row = row_of(f, e);
	if (row)
		return over_own(f, row);
	if (!e->narg)
		return e;
	Expr *new = arena_memdup(f->arena, e, sizeof *e);
	new->arg = NEW_N(f->arena, Expr *, e->narg);
	for (int i = 0; i < e->narg; i++)
		new->arg[i] = rewrite(f, e->arg[i]);
	return new;
}

static Expr *index_of(Forms *f, int leader)
{
	Expr *sum = NULL;
	for (int a = 0; a < f->naxes; a++)
		if (f->leader[a] == leader)
			sum = plus(f, sum, expr_axis(f->arena, a), f->by[a]);
	return plus_number(f, sum, -f->low[leader]);
}

static void part(Forms *f, int leader)
{
	for (int a = f->naxes - 1; a >= 0; a--)
		if (f->leader[a] == leader) {
			f->leader[a] = a;
			f->by[a] = 1;
			f->low[a] = 0;
		}
}

static bool has_several(const Forms *f, int leader)
{
	int n = 0;
	for (int a = 0; a < f->naxes; a++)
		n += f->leader[a] == leader;
	return n > 1;
}

static void begin(Forms *f, Expr *e, bool apart)
{
	for (int a = 0; a < f->naxes; a++) {
		f->leader[a] = a;
		f->by[a] = 1;
		f->own[a] = -1;
	}
	collect(f, e);
	if (f->fits && !apart)
		join(f);
}

int forms_find(Arena *arena, Expr **e, const int64_t *extents, int naxes,
    const int *order, int norder, bool apart, FactorAxis *axes)
{
	Forms f = {.arena = arena,
	    .extents = extents,
	    .naxes = naxes,
	    .fits = true,
	    .by = NEW_N(arena, int64_t, naxes),
	    .low = NEW_N(arena, int64_t, naxes),
	    .leader = NEW_N(arena, int, naxes),
	    .own = NEW_N(arena, int, naxes)};
	int n = 0;
	begin(&f, *e, apart);
	for (int i = 0; i < norder; i++) {
		int leader = f.leader[order[i]];
		int64_t values = extents[order[i]];
		if (has_several(&f, leader)) {
			values =
			    is_one_form(&f, leader) ? values_of(&f, leader) : 0;
			if (!values) {
				part(&f, leader);
				leader = order[i];
				values = extents[leader];
			}
		}
		if (f.own[leader] >= 0)
			continue;
		f.own[leader] = n;
		axes[n++] = (FactorAxis){leader, values, index_of(&f, leader)};
	}
	*e = rewrite(&f, *e);
	return n;
}
