/* Polynomials over the atoms of a tape, and what is known of their signs.
 *
 * Every atom has a lower bound from slots being at least 1.  With x = bound +
 * x' for each, a polynomial without negative coefficients is nonnegative; min,
 * max and ceildiv are replaced by what bounds them where that does not settle
 * it.  Each way of replacing them is another polynomial to ask; most are negative
 * for some of a few slots, which is seen at once (tape_sample.c). */
#include "ir/tape/tape_internal.h"

#include <stdlib.h>
#include <string.h>

#include "lib/hash.h"

/* --- polynomials --------------------------------------------------------- */

static uint64_t factor_key(Handle factor)
{
	return hash_mix((uint64_t)factor);
}

Term term_unit(Handle factor)
{
	return (Term){1, factor_key(factor), 1, {factor}};
}

bool monomial_equal(const Term *a, const Term *b)
{
	return a->key == b->key && a->n == b->n &&
	    !memcmp(a->factor, b->factor, sizeof(Handle) * (size_t)a->n);
}

/* By degree, then by factors: an order that products keep. */
int monomial_compare(const Term *a, const Term *b)
{
	if (a->n != b->n)
		return a->n < b->n ? -1 : 1;
	for (int i = 0; i < a->n; i++)
		if (a->factor[i] != b->factor[i])
			return a->factor[i] < b->factor[i] ? -1 : 1;
	return 0;
}

void poly_clear(Poly *p)
{
	p->n = 0;
	p->bad = false;
}

void term_copy(Term *to, const Term *from)
{
	to->coefficient = from->coefficient;
	to->key = from->key;
	to->n = from->n;
	memcpy(to->factor, from->factor, sizeof(Handle) * (size_t)from->n);
}

void poly_copy(Poly *to, const Poly *from)
{
	to->n = from->n;
	to->bad = from->bad;
	for (int i = 0; i < from->n; i++)
		term_copy(&to->term[i], &from->term[i]);
}

void poly_add_term(Poly *p, const Term *t)
{
	if (!t->coefficient)
		return;
	for (int i = 0; i < p->n; i++) {
		Term *q = &p->term[i];
		if (!monomial_equal(q, t))
			continue;
		if (__builtin_add_overflow(
			q->coefficient, t->coefficient, &q->coefficient))
			p->bad = true;
		if (!q->coefficient && i != --p->n)
			term_copy(q, &p->term[p->n]);
		return;
	}
	if (p->n == MAX_TERMS)
		p->bad = true;
	else
		term_copy(&p->term[p->n++], t);
}

void poly_add_const(Poly *p, int64_t value)
{
	Term t;
	t.coefficient = value;
	t.key = 0;
	t.n = 0;
	poly_add_term(p, &t);
}

/* a*b into out; false where there are too many factors. */
bool term_mul(Term *out, const Term *a, const Term *b)
{
	int i = 0, j = 0;
	if (a->n + b->n > MAX_FACTORS || __builtin_mul_overflow(a->coefficient,
					     b->coefficient, &out->coefficient))
		return false;
	out->key = a->key + b->key;
	out->n = a->n + b->n;
	for (int k = 0; k < out->n; k++)
		out->factor[k] =
		    j == b->n || (i < a->n && a->factor[i] <= b->factor[j])
			? a->factor[i++]
			: b->factor[j++];
	return true;
}

/* a/b where it is exact. */
bool term_div(Term *out, const Term *a, const Term *b)
{
	if (a->coefficient % b->coefficient || b->n > a->n)
		return false;
	out->coefficient = a->coefficient / b->coefficient;
	out->key = a->key - b->key;
	out->n = 0;
	int j = 0;
	for (int i = 0; i < a->n; i++)
		if (j < b->n && a->factor[i] == b->factor[j])
			j++;
		else
			out->factor[out->n++] = a->factor[i];
	return j == b->n;
}

/* p += a * t */
void poly_add_scaled(Poly *p, const Poly *a, const Term *t)
{
	Term product;
	p->bad |= a->bad;
	for (int i = 0; i < a->n && !p->bad; i++)
		if (term_mul(&product, &a->term[i], t))
			poly_add_term(p, &product);
		else
			p->bad = true;
}

void poly_add_times(Poly *p, const Poly *a, int64_t k)
{
	Term t;
	t.coefficient = k;
	t.key = 0;
	t.n = 0;
	poly_add_scaled(p, a, &t);
}

void poly_mul(Poly *out, const Poly *a, const Poly *b)
{
	poly_clear(out);
	for (int i = 0; i < b->n; i++)
		poly_add_scaled(out, a, &b->term[i]);
	out->bad |= b->bad;
}

void term_of(const Tape *tape, Term *t, Handle h, int64_t coefficient)
{
	const TapeNode *d = tape_node(tape, h);
	t->coefficient = coefficient;
	t->key = factor_key(h);
	t->n = 1;
	t->factor[0] = h;
	if (d->kind != TAPE_PRODUCT)
		return;
	t->key = 0;
	t->n = d->n;
	for (int i = 0; i < d->n; i++) {
		t->factor[i] = tape_args(tape, h)[i].h;
		t->key += factor_key(t->factor[i]);
	}
}

void poly_of(const Tape *tape, Poly *p, Handle h)
{
	const TapeNode *d = tape_node(tape, h);
	Term t;
	poly_clear(p);
	if (d->kind == TAPE_CONST || d->kind == TAPE_SUM)
		poly_add_const(p, d->value);
	if (d->kind == TAPE_CONST)
		return;
	if (d->kind != TAPE_SUM) {
		term_of(tape, &p->term[p->n++], h, 1);
		return;
	}
	for (int i = 0; i < d->n; i++) {
		term_of(tape, &t, tape_args(tape, h)[i].h,
		    tape_args(tape, h)[i].coefficient);
		if (p->n == MAX_TERMS) {
			p->bad = true;
			return;
		}
		term_copy(&p->term[p->n++], &t);
	}
}

static Handle monomial(Tape *tape, const Term *t)
{
	TapeArg arg[MAX_FACTORS];
	if (t->n == 1)
		return t->factor[0];
	for (int i = 0; i < t->n; i++)
		arg[i] = (TapeArg){t->factor[i], 1};
	return tape_cons(tape, TAPE_PRODUCT, 0, arg, t->n);
}

static int arg_compare(const void *a, const void *b)
{
	Handle x = ((const TapeArg *)a)->h, y = ((const TapeArg *)b)->h;
	return (x > y) - (x < y);
}

Handle poly_handle(Tape *tape, const Poly *p)
{
	TapeArg arg[MAX_TERMS];
	int64_t value = 0;
	int n = 0;
	assert(!p->bad);
	for (int i = 0; i < p->n; i++)
		if (p->term[i].n == 0)
			value = p->term[i].coefficient;
		else
			arg[n++] = (TapeArg){monomial(tape, &p->term[i]),
			    p->term[i].coefficient};
	if (!n)
		return tape_const(tape, value);
	if (n == 1 && arg[0].coefficient == 1 && !value)
		return arg[0].h;
	qsort(arg, (size_t)n, sizeof *arg, arg_compare);
	return tape_cons(tape, TAPE_SUM, value, arg, n);
}

/* --- signs --------------------------------------------------------------- */

static bool poly_nonnegative(const Tape *tape, const Poly *p, int depth);

static bool coefficients_nonnegative(const Poly *p)
{
	for (int i = 0; i < p->n; i++)
		if (p->term[i].coefficient < 0)
			return false;
	return !p->bad;
}

static bool atoms_nonnegative(const Tape *tape, const Poly *p)
{
	for (int i = 0; i < p->n; i++)
		for (int j = 0; j < p->term[i].n; j++)
			if (tape_facts(tape, p->term[i].factor[j])->low < 0)
				return false;
	return true;
}

/* Divides out the factors that all terms have. */
static void poly_primitive(Poly *out, const Poly *p)
{
	poly_copy(out, p);
	for (int i = 0; p->n && i < p->term[0].n; i++) {
		Term unit = term_unit(p->term[0].factor[i]), t;
		bool all = true;
		for (int j = 0; j < out->n && all; j++)
			all = term_div(&t, &out->term[j], &unit);
		for (int j = 0; j < out->n && all; j++) {
			term_div(&t, &out->term[j], &unit);
			term_copy(&out->term[j], &t);
		}
	}
}

/* Every atom x with a lower bound l is l + x', x' >= 0.  True if all
 * coefficients over the x' are nonnegative. */
static bool poly_plainly_nonnegative(const Tape *tape, const Poly *all)
{
	Poly out, shifted, primitive;
	const Poly *p = &primitive;
	if (all->bad || !atoms_nonnegative(tape, all))
		return false;
	if (coefficients_nonnegative(all))
		return true;
	poly_primitive(&primitive, all);
	poly_clear(&out);
	for (int i = 0; i < p->n; i++) {
		const Term *t = &p->term[i];
		poly_clear(&shifted);
		poly_add_const(&shifted, t->coefficient);
		for (int j = 0; j < t->n; j++) {
			int64_t low = tape_facts(tape, t->factor[j])->low;
			Poly factor, product;
			Term x = term_unit(t->factor[j]);
			poly_clear(&factor);
			poly_add_term(&factor, &x);
			poly_add_const(&factor, low);
			poly_mul(&product, &shifted, &factor);
			poly_copy(&shifted, &product);
		}
		poly_add_times(&out, &shifted, 1);
	}
	return coefficients_nonnegative(&out);
}

/* p = slope*x + rest; false where x is not linear. */
static bool poly_split(const Poly *p, Handle x, Poly *slope, Poly *rest)
{
	Term unit = term_unit(x), t;
	poly_clear(slope);
	poly_clear(rest);
	for (int i = 0; i < p->n; i++)
		if (!term_div(&t, &p->term[i], &unit))
			poly_add_term(rest, &p->term[i]);
		else if (term_div(&t, &t, &unit))
			return false;
		else {
			term_div(&t, &p->term[i], &unit);
			poly_add_term(slope, &t);
		}
	return true;
}

static bool substituted_nonnegative(const Tape *tape, const Poly *slope,
    const Poly *x, const Poly *rest, int depth)
{
	Poly p;
	poly_mul(&p, slope, x);
	poly_add_times(&p, rest, 1);
	return poly_nonnegative(tape, &p, depth);
}

/* min and max are one of their arguments, and bounded by each. */
static bool nonnegative_by_minmax(
    const Tape *tape, Handle x, const Poly *slope, const Poly *rest, int depth)
{
	Poly a, b, minus;
	poly_of(tape, &a, tape_args(tape, x)[0].h);
	poly_of(tape, &b, tape_args(tape, x)[1].h);
	bool for_a = substituted_nonnegative(tape, slope, &a, rest, depth);
	bool for_b = substituted_nonnegative(tape, slope, &b, rest, depth);
	if (for_a && for_b)
		return true;
	if (!for_a && !for_b)
		return false;
	poly_clear(&minus);
	poly_add_times(
	    &minus, slope, tape_node(tape, x)->kind == TAPE_MAX ? 1 : -1);
	return poly_nonnegative(tape, &minus, depth);
}

/* x = ceildiv(a, b): a <= b*x <= a + b - 1, and b*p is as p. */
static bool nonnegative_by_ceildiv(
    const Tape *tape, Handle x, const Poly *slope, const Poly *rest, int depth)
{
	Poly a, b, scaled, minus;
	poly_of(tape, &a, tape_args(tape, x)[0].h);
	poly_of(tape, &b, tape_args(tape, x)[1].h);
	poly_mul(&scaled, rest, &b);
	if (poly_nonnegative(tape, slope, depth))
		return substituted_nonnegative(tape, slope, &a, &scaled, depth);
	poly_clear(&minus);
	poly_add_times(&minus, slope, -1);
	if (!poly_nonnegative(tape, &minus, depth))
		return false;
	poly_add_times(&a, &b, 1);
	poly_add_const(&a, -1);
	return substituted_nonnegative(tape, slope, &a, &scaled, depth);
}

static bool nonnegative_by_atom(
    const Tape *tape, const Poly *p, Handle x, int depth)
{
	Poly slope, rest;
	TapeKind kind = tape_node(tape, x)->kind;
	if (kind != TAPE_CEILDIV && kind != TAPE_MIN && kind != TAPE_MAX)
		return false;
	if (!poly_split(p, x, &slope, &rest))
		return false;
	return kind == TAPE_CEILDIV
		   ? nonnegative_by_ceildiv(tape, x, &slope, &rest, depth)
		   : nonnegative_by_minmax(tape, x, &slope, &rest, depth);
}

static bool nonnegative_by_atoms(const Tape *tape, const Poly *p, int depth)
{
	Handle tried = INT32_MAX;
	while (depth > 0) { /* every atom once, newest first */
		Handle x = -1;
		for (int i = 0; i < p->n; i++)
			for (int j = 0; j < p->term[i].n; j++)
				if (p->term[i].factor[j] < tried &&
				    p->term[i].factor[j] > x)
					x = p->term[i].factor[j];
		if (x < 0)
			return false;
		if (nonnegative_by_atom(tape, p, x, depth - 1))
			return true;
		tried = x;
	}
	return false;
}

static bool poly_nonnegative(const Tape *tape, const Poly *p, int depth)
{
	if (p->bad)
		return false;
	if (p->n == 1 && p->term[0].n == 0)
		return p->term[0].coefficient >= 0;
	Sign *sign = memo_sign(tape->memo, p);
	if (sign->failed < 0 && sign->proven > SIGN_DEPTH) {
		if (sample_refutes(tape, p))
			sign->failed = SIGN_DEPTH;
		else if (poly_plainly_nonnegative(tape, p))
			sign->proven = 0;
	}
	if (depth >= sign->proven || depth <= sign->failed)
		return depth >= sign->proven;
	if (nonnegative_by_atoms(tape, p, depth))
		sign->proven = (int8_t)depth;
	else
		sign->failed = (int8_t)depth;
	return depth >= sign->proven;
}

bool poly_handle_nonnegative(const Tape *tape, Handle h)
{
	Poly p;
	if (tape_facts(tape, h)->low >= 0)
		return true;
	if (tape_node(tape, h)->kind == TAPE_CONST)
		return false;
	poly_of(tape, &p, h);
	return poly_nonnegative(tape, &p, SIGN_DEPTH);
}

bool tape_known_nonnegative(const Tape *tape, Handle h)
{
	return poly_handle_nonnegative(tape, h);
}

bool poly_differ_at_least(
    const Tape *tape, const Poly *a, const Poly *b, int64_t c)
{
	Poly p;
	poly_copy(&p, a);
	poly_add_times(&p, b, -1);
	poly_add_const(&p, -c);
	return poly_nonnegative(tape, &p, SIGN_DEPTH);
}
