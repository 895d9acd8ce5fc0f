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
 * An operand of the product may be kept as it stands, and is one factor there:
 *
 *     sum[r]((x[i + r, c] - z) * (w[r, c] - v[c]))
 *       = sum[r](x[i + r, c] * (w[r, c] - v[c])) - z * sum[r](w[r, c])
 *         + R * z * v[c]
 *
 * What is added in a part of the steps alone, as the zero point inside of padding,
 * counts in these; what such a sum has further axes for is summed along these
 * first:
 *
 *     sum[c, r](if i + r < n then z * w[c, r, j] else 0)
 *       = z * sum[r](if i + r < n then s[r, j] else 0)   s[r, j] = sum[c](w[c, r, j])
 *
 * Integers wrap around, so both sides are the same to the bit. */
#include "ir/nest/nest.h"

#include <assert.h>

enum { TERMS_MOST = 16, FACTORS_MOST = 8 };

typedef struct {
	uint64_t times;
	int n;
	Expr *factors[FACTORS_MOST];
} ProductTerm;

typedef struct {
	int n;
	ProductTerm at[TERMS_MOST];
	bool fits;
} ProductTerms;

typedef struct {
	Arena *arena;
	DType type;
	const int64_t *extents;
	int nspatial, naxes;
} SumContext;

/* --- multiplied out ------------------------------------------------------------- */

static void push(ProductTerms *terms, ProductTerm t)
{
	terms->fits = terms->fits && terms->n < TERMS_MOST;
	if (terms->fits)
		terms->at[terms->n++] = t;
}

static ProductTerms only(Expr *factor)
{
	ProductTerms one = {.fits = true};
	push(&one, (ProductTerm){1, 1, {factor}});
	return one;
}

static ProductTerms product_of(const ProductTerms *a, const ProductTerms *b)
{
	ProductTerms all = {.fits = a->fits && b->fits};
	for (int i = 0; i < a->n; i++)
		for (int k = 0; k < b->n && all.fits; k++) {
			ProductTerm t = a->at[i];
			const ProductTerm *u = &b->at[k];
			t.times *= u->times;
			all.fits = t.n + u->n <= FACTORS_MOST;
			for (int f = 0; f < u->n && all.fits; f++)
				t.factors[t.n++] = u->factors[f];
			push(&all, t);
		}
	return all;
}

static ProductTerms sum_of(ProductTerms a, const ProductTerms *b, bool negative)
{
	a.fits = a.fits && b->fits;
	for (int i = 0; i < b->n; i++) {
		ProductTerm t = b->at[i];
		t.times = negative ? -t.times : t.times;
		push(&a, t);
	}
	return a;
}

static bool is_number(const Expr *e, int64_t n)
{
	return e->op == OP_INT && e->i == n;
}

/* 1 in a part of the points, and 0 in the others. */
static bool is_part(const Expr *e)
{
	return e->op == OP_IF && !expr_has_data(e->arg[0]) &&
	    ((is_number(e->arg[1], 1) && is_number(e->arg[2], 0)) ||
		(is_number(e->arg[1], 0) && is_number(e->arg[2], 1)));
}

static ProductTerms terms_of(Arena *arena, Expr *e);

/* What has no axes, and is added in a part of the points alone. */
static bool is_added_in_part(Arena *arena, Expr *e, ProductTerms *out)
{
	Expr *one = expr_int(arena, e->type, 1);
	int zero = is_number(e->arg[1], 0) ? 1 : 2;
	if (!is_number(e->arg[zero], 0) || expr_has_axes(e->arg[3 - zero]) ||
	    expr_has_data(e->arg[0]) || is_part(e))
		return false;
	ProductTerms part = {.fits = true};
	push(&part,
	    (ProductTerm){1, 1,
		{expr_if(arena, e->arg[0], zero == 1 ? e->arg[1] : one,
		    zero == 1 ? one : e->arg[2])}});
	ProductTerms all = terms_of(arena, e->arg[3 - zero]);
	*out = product_of(&part, &all);
	return true;
}

static ProductTerms terms_of(Arena *arena, Expr *e)
{
	ProductTerms out = {.fits = true}, a, b;
	if (e->op == OP_IF && is_added_in_part(arena, e, &out))
		return out;
	switch (e->op) {
	case OP_INT:
		push(&out, (ProductTerm){.times = (uint64_t)e->i});
		return out;
	case OP_NEG:
		a = terms_of(arena, e->arg[0]);
		return sum_of(out, &a, true);
	case OP_ADD:
	case OP_SUB:
		a = terms_of(arena, e->arg[0]);
		b = terms_of(arena, e->arg[1]);
		return sum_of(a, &b, e->op == OP_SUB);
	case OP_MUL:
		a = terms_of(arena, e->arg[0]);
		b = terms_of(arena, e->arg[1]);
		return product_of(&a, &b);
	default: return only(e);
	}
}

/* Of a product; of these two operands the first, or the second, is kept. */
static ProductTerms terms_of_product(Arena *arena, Expr *e, int kept)
{
	ProductTerms of[2];
	if (e->op != OP_MUL)
		return (ProductTerms){.fits = false};
	for (int i = 0; i < 2; i++)
		of[i] = kept == i + 1 ? only(e->arg[i])
				      : terms_of(arena, e->arg[i]);
	return product_of(&of[0], &of[1]);
}

/* With what was kept multiplied out. */
static ProductTerms opened(Arena *arena, const ProductTerm *t, Expr *kept)
{
	ProductTerms all = {.fits = true};
	push(&all, (ProductTerm){.times = t->times});
	for (int i = 0; i < t->n; i++) {
		ProductTerms f = t->factors[i] == kept ? terms_of(arena, kept)
						       : only(t->factors[i]);
		all = product_of(&all, &f);
	}
	return all;
}

/* --- what varies along what ------------------------------------------------------ */

/* Marks the axes of more than one value. */
static void mark_axes(const SumContext *s, const Expr *e, bool *axes)
{
	expr_mark_axes(e, axes);
	for (int a = 0; a < s->naxes; a++)
		axes[a] &= s->extents[a] > 1;
}

static bool is_moved(const SumContext *s, const Expr *e)
{
	bool *axes = NEW_N(s->arena, bool, s->naxes), moved = false;
	expr_mark_axes(e, axes);
	for (int a = s->nspatial; a < s->naxes; a++)
		moved |= axes[a];
	return moved;
}

/* The axes of its factors that the reduction moves; how many. */
static int moved_axes(const SumContext *s, const ProductTerm *t, bool *axes)
{
	int n = 0;
	for (int i = 0; i < t->n; i++)
		if (is_moved(s, t->factors[i]))
			mark_axes(s, t->factors[i], axes);
	for (int a = 0; a < s->naxes; a++)
		n += axes[a];
	return n;
}

/* But for those that tell the steps that count. */
static int moved_factors(const SumContext *s, const ProductTerm *t)
{
	int n = 0;
	for (int i = 0; i < t->n; i++)
		n += is_moved(s, t->factors[i]) && !is_part(t->factors[i]);
	return n;
}

/* Marks the terms that are the product. */
static void find_product(
    const SumContext *s, const ProductTerms *terms, bool *product)
{
	bool *axes = NEW_N(s->arena, bool, s->naxes);
	int all = 0, most = 0;
	for (int i = 0; i < terms->n; i++)
		all = moved_axes(s, &terms->at[i], axes);
	for (int i = 0; i < terms->n; i++) {
		const ProductTerm *t = &terms->at[i];
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
static Expr *number(const SumContext *s, uint64_t n)
{
	return expr_int(s->arena, s->type,
	    s->type == DT_I32 ? (int32_t)(uint32_t)n : (int64_t)n);
}

static Expr *times(const SumContext *s, Expr *a, Expr *b)
{
	return a ? expr_binary(s->arena, OP_MUL, a, b) : b;
}

static Expr *plus(const SumContext *s, Expr *a, Expr *b)
{
	return a ? expr_binary(s->arena, OP_ADD, a, b) : b;
}

/* The factors that are moved, or the others; NULL: there are none. */
static Expr *factors_of(const SumContext *s, const ProductTerm *t, bool moved)
{
	Expr *all = NULL;
	for (int i = 0; i < t->n; i++)
		if (is_moved(s, t->factors[i]) == moved)
			all = times(s, all, t->factors[i]);
	return all;
}

/* What so many times the sum of a term's moved factors is multiplied with; NULL:
 * 1. */
static Expr *multiple_of(const SumContext *s, const ProductTerm *t, uint64_t n)
{
	Expr *others = factors_of(s, t, false);
	n *= t->times;
	if (s->type == DT_I32)
		n = (uint64_t)(int64_t)(int32_t)(uint32_t)n;
	return n == 1 ? others : times(s, others, number(s, n));
}

/* The steps along other axes, which are all the same. */
static uint64_t same_steps(const SumContext *s, const bool *axes)
{
	uint64_t n = 1;
	for (int a = s->nspatial; a < s->naxes; a++)
		n *= axes[a] ? 1 : (uint64_t)s->extents[a];
	return n;
}

static Expr *one_if_none(const SumContext *s, Expr *e)
{
	return e ? e : number(s, 1);
}

/* Of the factors that are moved those that tell the steps that count, or the
 * others; NULL: there are none. */
static Expr *moved_of(const SumContext *s, const ProductTerm *t, bool part)
{
	Expr *all = NULL;
	for (int i = 0; i < t->n; i++)
		if (is_moved(s, t->factors[i]) &&
		    is_part(t->factors[i]) == part)
			all = times(s, all, t->factors[i]);
	return all;
}

/* Those of the axes that are spatial, or reduced, and among `first`, or not. */
static void add_axes(const SumContext *s, DistributedSum *sum, const bool *axes,
    bool spatial, const bool *first, bool among)
{
	for (int a = spatial ? 0 : s->nspatial;
	     a < (spatial ? s->nspatial : s->naxes); a++)
		if (axes[a] && first[a] == among)
			sum->axes[sum->naxes++] = a;
}

/* Elements of the sum before are along the axes that `where` has before others,
 * so that what lies side by side there lies so here. */
static void order_axes(const SumContext *s, DistributedSum *sum,
    const bool *axes, const bool *where)
{
	sum->axes = NEW_N(s->arena, int, s->naxes);
	add_axes(s, sum, axes, true, where, true);
	add_axes(s, sum, axes, true, where, false);
	sum->nspatial = sum->naxes;
	add_axes(s, sum, axes, false, where, true);
	add_axes(s, sum, axes, false, where, false);
}

/* What the steps that count do not depend on is summed first; its number, or -1
 * where that is nothing.  `axes` are of the element, and then of what is left. */
static int sum_first(const SumContext *s, Distribution *d, Expr *element,
    const bool *where, bool *axes)
{
	DistributedSum *sum = &d->sums[d->nsums];
	bool any = false;
	for (int a = s->nspatial; a < s->naxes; a++)
		any |= axes[a] && !where[a];
	if (!any)
		return -1;
	*sum = (DistributedSum){.element = element,
	    .of = -1,
	    .axes = NEW_N(s->arena, int, s->naxes)};
	add_axes(s, sum, axes, false, where, true);
	for (int a = 0; a < s->nspatial; a++)
		if (axes[a])
			sum->axes[sum->naxes++] = a;
	sum->nspatial = sum->naxes;
	add_axes(s, sum, axes, false, where, false);
	for (int a = s->nspatial; a < s->naxes; a++)
		axes[a] &= where[a];
	return d->nsums++;
}

static bool same(const Expr *a, const Expr *b)
{
	return a && b ? expr_equal(a, b) : a == b;
}

/* The sum that there is of such elements; NULL. */
static DistributedSum *sum_of_these(
    const Distribution *d, const Expr *element, const Expr *where)
{
	for (int i = 0; i < d->nsums; i++)
		if (d->sums[i].times && same(d->sums[i].element, element) &&
		    same(d->sums[i].where, where))
			return &d->sums[i];
	return NULL;
}

/* A sum apart, or more of one that there is. */
static void add_sum(const SumContext *s, const ProductTerm *t, Distribution *d)
{
	Expr *element = moved_of(s, t, false), *where = moved_of(s, t, true);
	bool *axes = NEW_N(s->arena, bool, s->naxes);
	bool *counted = NEW_N(s->arena, bool, s->naxes);
	moved_axes(s, t, axes);
	Expr *by = one_if_none(s, multiple_of(s, t, same_steps(s, axes)));
	if (!element && !where) {
		d->rest = plus(s, d->rest, by);
		return;
	}
	DistributedSum *sum = sum_of_these(d, element, where);
	if (sum) {
		sum->times = plus(s, sum->times, by);
		return;
	}
	int of = -1;
	if (where)
		mark_axes(s, where, counted);
	if (where && element) {
		bool *own = NEW_N(s->arena, bool, s->naxes);
		mark_axes(s, element, own);
		of = sum_first(s, d, element, counted, own);
		for (int a = s->nspatial; a < s->naxes; a++)
			axes[a] = counted[a] || own[a];
	}
	sum = &d->sums[d->nsums++];
	*sum = (DistributedSum){
	    .element = element, .where = where, .of = of, .times = by};
	order_axes(s, sum, axes, counted);
}

/* A term of the product as it was. */
static Expr *whole_term(const SumContext *s, const ProductTerm *t)
{
	Expr *all = NULL;
	for (int i = 0; i < t->n; i++)
		all = times(s, all, t->factors[i]);
	return t->times == 1 ? all : times(s, all, number(s, t->times));
}

/* Of one term alone what is not moved is taken out. */
static bool take_product(const SumContext *s, const ProductTerms *terms,
    const bool *product, Distribution *d)
{
	const ProductTerm *only = NULL;
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

/* Are its axes among the sum's? */
static bool is_within(
    const SumContext *s, const DistributedSum *sum, const Expr *e)
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
static void scale_sums(const SumContext *s, Distribution *d)
{
	for (int i = 0; i < d->nsums; i++) {
		DistributedSum *sum = &d->sums[i];
		if (!sum->times || sum->nspatial == s->nspatial ||
		    !is_within(s, sum, sum->times))
			continue;
		Expr *rest =
		    d->rest && is_within(s, sum, d->rest) ? d->rest : NULL;
		sum->scaled =
		    expr_has_data(sum->times) || (rest && expr_has_data(rest));
		if (!sum->scaled)
			continue;
		d->nscaled++;
		sum->addend = rest;
		d->rest = rest ? NULL : d->rest;
	}
}

bool distribution_find(Arena *arena, Expr *body, const int64_t *extents,
    int nspatial, int naxes, int kept, Distribution *d)
{
	const SumContext s = {arena, body->type, extents, nspatial, naxes};
	bool product[TERMS_MOST] = {false};
	*d = (Distribution){0};
	if (body->type != DT_I32 && body->type != DT_I64)
		return false;
	ProductTerms terms =
	    kept ? terms_of_product(arena, body, kept) : terms_of(arena, body);
	if (!terms.fits)
		return false;
	find_product(&s, &terms, product);
	ProductTerms apart = {.fits = true};
	for (int i = 0; i < terms.n; i++) {
		if (product[i])
			continue;
		ProductTerms open = opened(
		    arena, &terms.at[i], kept ? body->arg[kept - 1] : NULL);
		apart = sum_of(apart, &open, false);
	}
	if (!apart.fits || !take_product(&s, &terms, product, d))
		return false;
	d->sums = NEW_N(arena, DistributedSum, 2 * apart.n);
	for (int i = 0; i < apart.n; i++)
		add_sum(&s, &apart.at[i], d);
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

/* What the sum before made, over the block's axes. */
static Expr *read_sum(
    Arena *arena, DType type, const DistributedSum *sum, int buffer)
{
	Expr **index = NEW_N(arena, Expr *, sum->nspatial);
	for (int i = 0; i < sum->nspatial; i++)
		index[i] = expr_axis(arena, sum->axes[i]);
	return expr_read(arena, type, buffer, index, sum->nspatial);
}

/* The element in the steps that count, else 0. */
static Expr *counted(Arena *arena, Expr *where, Expr *e)
{
	if (!where || !e)
		return e ? e : where;
	if (where->op != OP_IF)
		return expr_binary(arena, OP_MUL, where, e);
	bool first = where->arg[1]->i != 0;
	return expr_if(arena, where->arg[0], first ? e : where->arg[1],
	    first ? where->arg[2] : e);
}

Expr *distribution_element(Arena *arena, const Distribution *d, int number,
    int naxes, const int *buffers)
{
	const DistributedSum *sum = &d->sums[number];
	Expr *e = sum->of < 0 ? sum->element
			      : read_sum(arena, d->product->type,
				    &d->sums[sum->of], buffers[sum->of + 1]);
	return over_axes(arena, sum, naxes, counted(arena, sum->where, e));
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
		if (!sum->times)
			continue;
		Expr *e = read_sum(arena, type, sum, buffers[i + 1]);
		whole = sum->scaled ? expr_binary(arena, OP_ADD, whole, e)
				    : add_multiple(arena, whole, e, sum->times);
	}
	return d->rest ? expr_binary(arena, OP_ADD, whole, d->rest) : whole;
}
