/* A sum of integers, multiplied out: what does not vary along the reduction is
 * taken out of it.
 *
 *     sum[k]((x[i, k] - z) * (w[k, j] - v[j]))
 *       = sum[k](x[i, k] * w[k, j]) - v[j] * sum[k](x[i, k])
 *         - z * sum[k](w[k, j]) + K * z * v[j]
 *
 * A term is a number, factors that the reduction moves, and others.  Those terms
 * with most moved factors of those whose moved factors have all axes are the
 * product; of the rest each is a sum over the axes that its moved factors have.
 * A sum is multiplied before it is added where that is less often:
 *
 *     t[j] = s[j] * -z + K * z * v[j]        s[j] = sum[k](w[k, j])
 *
 * Integers wrap around, so both sides are the same to the bit. */
#include "ir/nest/nest.h"

#include <assert.h>

enum { TERMS_MOST = 16, FACTORS_MOST = 8 };

typedef struct {
	uint64_t times;
	int n;
	Expr *factors[FACTORS_MOST];
} Term;

typedef struct {
	int n;
	Term at[TERMS_MOST];
	bool fits;
} Terms;

typedef struct {
	Arena *arena;
	DType type;
	const int64_t *extents;
	int nspatial, naxes;
} Sum;

/* --- multiplied out ------------------------------------------------------------- */

static void push(Terms *terms, Term t)
{
	terms->fits = terms->fits && terms->n < TERMS_MOST;
	if (terms->fits)
		terms->at[terms->n++] = t;
}

static Terms product_of(const Terms *a, const Terms *b)
{
	Terms all = {.fits = a->fits && b->fits};
	for (int i = 0; i < a->n; i++)
		for (int k = 0; k < b->n && all.fits; k++) {
			Term t = a->at[i];
			const Term *u = &b->at[k];
			t.times *= u->times;
			all.fits = t.n + u->n <= FACTORS_MOST;
			for (int f = 0; f < u->n && all.fits; f++)
				t.factors[t.n++] = u->factors[f];
			push(&all, t);
		}
	return all;
}

static Terms sum_of(Terms a, const Terms *b, bool negative)
{
	a.fits = a.fits && b->fits;
	for (int i = 0; i < b->n; i++) {
		Term t = b->at[i];
		t.times = negative ? -t.times : t.times;
		push(&a, t);
	}
	return a;
}

static Terms terms_of(Expr *e)
{
	Terms out = {.fits = true}, a, b;
	switch (e->op) {
	case OP_INT:
		push(&out, (Term){.times = (uint64_t)e->i});
		return out;
	case OP_NEG:
		a = terms_of(e->arg[0]);
		return sum_of(out, &a, true);
	case OP_ADD:
	case OP_SUB:
		a = terms_of(e->arg[0]);
		b = terms_of(e->arg[1]);
		return sum_of(a, &b, e->op == OP_SUB);
	case OP_MUL:
		a = terms_of(e->arg[0]);
		b = terms_of(e->arg[1]);
		return product_of(&a, &b);
	default:
		push(&out, (Term){1, 1, {e}});
		return out;
	}
}

/* --- what varies along what ------------------------------------------------------ */

/* Marks the axes of more than one value. */
static void mark_axes(const Sum *s, const Expr *e, bool *axes)
{
	expr_mark_axes(e, axes);
	for (int a = 0; a < s->naxes; a++)
		axes[a] &= s->extents[a] > 1;
}

static bool is_moved(const Sum *s, const Expr *e)
{
	bool *axes = NEW_N(s->arena, bool, s->naxes), moved = false;
	expr_mark_axes(e, axes);
	for (int a = s->nspatial; a < s->naxes; a++)
		moved |= axes[a];
	return moved;
}

/* The axes of its factors that the reduction moves; how many. */
static int moved_axes(const Sum *s, const Term *t, bool *axes)
{
	int n = 0;
	for (int i = 0; i < t->n; i++)
		if (is_moved(s, t->factors[i]))
			mark_axes(s, t->factors[i], axes);
	for (int a = 0; a < s->naxes; a++)
		n += axes[a];
	return n;
}

static int moved_factors(const Sum *s, const Term *t)
{
	int n = 0;
	for (int i = 0; i < t->n; i++)
		n += is_moved(s, t->factors[i]);
	return n;
}

/* Marks the terms that are the product. */
static void find_product(const Sum *s, const Terms *terms, bool *product)
{
	bool *axes = NEW_N(s->arena, bool, s->naxes);
	int all = 0, most = 0;
	for (int i = 0; i < terms->n; i++)
		all = moved_axes(s, &terms->at[i], axes);
	for (int i = 0; i < terms->n; i++) {
		const Term *t = &terms->at[i];
		int n = moved_factors(s, t);
		product[i] = n &&
		    moved_axes(s, t, NEW_N(s->arena, bool, s->naxes)) == all;
		most = product[i] && n > most ? n : most;
	}
	for (int i = 0; i < terms->n; i++)
		product[i] &= moved_factors(s, &terms->at[i]) == most;
}

/* --- as expressions ------------------------------------------------------------- */

/* The value of that many, as the type has it. */
static Expr *number(const Sum *s, uint64_t n)
{
	return expr_int(s->arena, s->type,
	    s->type == DT_I32 ? (int32_t)(uint32_t)n : (int64_t)n);
}

static Expr *times(const Sum *s, Expr *a, Expr *b)
{
	return a ? expr_binary(s->arena, OP_MUL, a, b) : b;
}

static Expr *plus(const Sum *s, Expr *a, Expr *b)
{
	return a ? expr_binary(s->arena, OP_ADD, a, b) : b;
}

/* The factors that are moved, or the others; NULL: there are none. */
static Expr *factors_of(const Sum *s, const Term *t, bool moved)
{
	Expr *all = NULL;
	for (int i = 0; i < t->n; i++)
		if (is_moved(s, t->factors[i]) == moved)
			all = times(s, all, t->factors[i]);
	return all;
}

/* What so many times the sum of a term's moved factors is multiplied with; NULL:
 * 1. */
static Expr *multiple_of(const Sum *s, const Term *t, uint64_t n)
{
	Expr *others = factors_of(s, t, false);
	n *= t->times;
	if (s->type == DT_I32)
		n = (uint64_t)(int64_t)(int32_t)(uint32_t)n;
	return n == 1 ? others : times(s, others, number(s, n));
}

/* The steps along other axes, which are all the same. */
static uint64_t same_steps(const Sum *s, const bool *axes)
{
	uint64_t n = 1;
	for (int a = s->nspatial; a < s->naxes; a++)
		n *= axes[a] ? 1 : (uint64_t)s->extents[a];
	return n;
}

static Expr *one_if_none(const Sum *s, Expr *e)
{
	return e ? e : number(s, 1);
}

/* A sum apart, or more of one that there is. */
static void add_sum(const Sum *s, const Term *t, Distribution *d)
{
	Expr *element = factors_of(s, t, true);
	bool *axes = NEW_N(s->arena, bool, s->naxes);
	moved_axes(s, t, axes);
	Expr *by = one_if_none(s, multiple_of(s, t, same_steps(s, axes)));
	if (!element) {
		d->rest = plus(s, d->rest, by);
		return;
	}
	for (int i = 0; i < d->nsums; i++)
		if (expr_equal(d->sums[i].element, element)) {
			d->sums[i].times = plus(s, d->sums[i].times, by);
			return;
		}
	DistributedSum *sum = &d->sums[d->nsums++];
	*sum = (DistributedSum){.element = element, .times = by,
	    .axes = NEW_N(s->arena, int, s->naxes)};
	for (int a = 0; a < s->naxes; a++)
		if (axes[a]) {
			sum->axes[sum->naxes++] = a;
			sum->nspatial += a < s->nspatial;
		}
}

/* A term of the product as it was. */
static Expr *whole_term(const Sum *s, const Term *t)
{
	Expr *all = NULL;
	for (int i = 0; i < t->n; i++)
		all = times(s, all, t->factors[i]);
	return t->times == 1 ? all : times(s, all, number(s, t->times));
}

/* Of one term alone what is not moved is taken out. */
static bool take_product(
    const Sum *s, const Terms *terms, const bool *product, Distribution *d)
{
	const Term *only = NULL;
	int n = 0;
	for (int i = 0; i < terms->n; i++) {
		if (!product[i])
			continue;
		only = &terms->at[i];
		d->product = plus(s, d->product, whole_term(s, only));
		n++;
	}
	if (n == 1) {
		d->product = factors_of(s, only, true);
		d->times = multiple_of(s, only, 1);
	}
	return n;
}

static bool has_data(const Expr *e)
{
	bool found = e->op == OP_READ;
	for (int i = 0; i < e->narg; i++)
		found |= has_data(e->arg[i]);
	return found;
}

/* Are its axes among the sum's? */
static bool is_within(const Sum *s, const DistributedSum *sum, const Expr *e)
{
	bool *axes = NEW_N(s->arena, bool, s->naxes);
	mark_axes(s, e, axes);
	for (int i = 0; i < sum->nspatial; i++)
		axes[sum->axes[i]] = false;
	for (int a = 0; a < s->naxes; a++)
		if (axes[a])
			return false;
	return true;
}

/* What is added besides goes with the first that has its axes. */
static void scale_sums(const Sum *s, Distribution *d)
{
	for (int i = 0; i < d->nsums; i++) {
		DistributedSum *sum = &d->sums[i];
		if (sum->nspatial == s->nspatial ||
		    !is_within(s, sum, sum->times))
			continue;
		Expr *rest =
		    d->rest && is_within(s, sum, d->rest) ? d->rest : NULL;
		sum->scaled = has_data(sum->times) || (rest && has_data(rest));
		if (!sum->scaled)
			continue;
		d->nscaled++;
		sum->addend = rest;
		d->rest = rest ? NULL : d->rest;
	}
}

bool distribution_find(Arena *arena, Expr *body, const int64_t *extents,
    int nspatial, int naxes, Distribution *d)
{
	const Sum s = {arena, body->type, extents, nspatial, naxes};
	bool product[TERMS_MOST] = {false};
	*d = (Distribution){0};
	if (body->type != DT_I32 && body->type != DT_I64)
		return false;
	Terms terms = terms_of(body);
	if (!terms.fits)
		return false;
	find_product(&s, &terms, product);
	d->sums = NEW_N(arena, DistributedSum, terms.n);
	if (!take_product(&s, &terms, product, d))
		return false;
	for (int i = 0; i < terms.n; i++)
		if (!product[i])
			add_sum(&s, &terms.at[i], d);
	scale_sums(&s, d);
	return d->nsums || d->rest || d->times;
}

/* Over the sum's axes. */
static Expr *over_axes(
    Arena *arena, const DistributedSum *sum, int naxes, Expr *e)
{
	Expr **values = NEW_N(arena, Expr *, naxes);
	for (int a = 0; a < naxes; a++)
		values[a] = expr_int(arena, DT_INDEX, 0); /* of one value */
	for (int i = 0; i < sum->naxes; i++)
		values[sum->axes[i]] = expr_axis(arena, i);
	return expr_substitute_axes(arena, e, values, naxes);
}

Expr *distribution_element(Arena *arena, const DistributedSum *sum, int naxes)
{
	return over_axes(arena, sum, naxes, sum->element);
}

/* So many times e is added, or taken off. */
static Expr *add_multiple(Arena *arena, Expr *to, Expr *e, Expr *by)
{
	bool negative =
	    by->op == OP_MUL && by->arg[1]->op == OP_INT && by->arg[1]->i == -1;
	if (negative)
		by = by->arg[0];
	if (by->op != OP_INT || by->i != 1)
		e = expr_binary(arena, OP_MUL, e, by);
	return expr_binary(arena, negative ? OP_SUB : OP_ADD, to, e);
}

Expr *distribution_scaled(
    Arena *arena, const DistributedSum *sum, int naxes, int buffer)
{
	DType type = sum->times->type;
	Expr **own = NEW_N(arena, Expr *, sum->nspatial);
	for (int i = 0; i < sum->nspatial; i++)
		own[i] = expr_axis(arena, i);
	Expr *e = expr_read(arena, type, buffer, own, sum->nspatial);
	Expr *times = over_axes(arena, sum, naxes, sum->times);
	return sum->addend
	    ? add_multiple(
		  arena, over_axes(arena, sum, naxes, sum->addend), e, times)
	    : expr_binary(arena, OP_MUL, e, times);
}

Expr *distribution_whole(
    Arena *arena, const Distribution *d, int nspatial, const int *buffers)
{
	DType type = d->product->type;
	Expr **all = NEW_N(arena, Expr *, nspatial);
	for (int a = 0; a < nspatial; a++)
		all[a] = expr_axis(arena, a);
	Expr *whole = expr_read(arena, type, buffers[0], all, nspatial);
	if (d->times)
		whole = expr_binary(arena, OP_MUL, whole, d->times);
	for (int i = 0; i < d->nsums; i++) {
		const DistributedSum *sum = &d->sums[i];
		Expr **some = NEW_N(arena, Expr *, nspatial);
		for (int k = 0; k < sum->nspatial; k++)
			some[k] = expr_axis(arena, sum->axes[k]);
		Expr *e =
		    expr_read(arena, type, buffers[i + 1], some, sum->nspatial);
		whole = sum->scaled ? expr_binary(arena, OP_ADD, whole, e)
				    : add_multiple(arena, whole, e, sum->times);
	}
	return d->rest ? expr_binary(arena, OP_ADD, whole, d->rest) : whole;
}
