/* The tape: hash-consed integer quantities in normal form.
 *
 * A quantity is a constant, an *atom* (slot, ceildiv, min, max), a product of
 * atoms, or a sum: a constant and products with integer coefficients.  Sums
 * are distributed over products, so equal polynomials have equal handles.
 * There is one division: floordiv(a, b) is ceildiv(a - b + 1, b) where b is a
 * constant and ceildiv(a + 1, b) - 1 where it is not.
 *
 * A polynomial that outgrows the limits below keeps a sum or a product as an
 * opaque factor: still right, but known equal to less. */
#include "ir/tape.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "lib/hash.h"
#include "lib/vec.h"

enum { MAX_TERMS = 48, MAX_FACTORS = 24, SIGN_DEPTH = 3 };

typedef enum {
	TAPE_CONST,   /* value */
	TAPE_SLOT,    /* value: its number */
	TAPE_PRODUCT, /* of its arguments, at least two, sorted */
	TAPE_SUM,     /* value + coefficient * argument, sorted by argument */
	TAPE_CEILDIV,
	TAPE_MIN,
	TAPE_MAX
} TapeKind;

typedef struct {
	Handle h;
	int64_t coefficient;
} TapeArg;

typedef struct {
	TapeKind kind;
	int first, n; /* arguments */
	int64_t value;
	int64_t low; /* known lower bound; INT64_MIN: none */
} TapeNode;

struct Tape {
	Arena *arena;
	VEC(TapeNode) nodes;
	VEC(TapeArg) args;
	int nslots;
	int *table; /* handle + 1; 0: empty */
	int table_size;
};

/* A monomial with its coefficient; factors sorted, none a product. */
typedef struct {
	int64_t coefficient;
	int n;
	Handle factor[MAX_FACTORS];
} Term;

/* `bad`: over a limit, or a coefficient overflowed. */
typedef struct {
	int n;
	bool bad;
	Term term[MAX_TERMS];
} Poly;

static const TapeNode *node(const Tape *tape, Handle h)
{
	assert(h >= 0 && h < tape->nodes.n);
	return &tape->nodes.at[h];
}

static const TapeArg *args(const Tape *tape, Handle h)
{
	return tape->args.at + node(tape, h)->first;
}

static int64_t wrap_add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t wrap_mul(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a * (uint64_t)b);
}

static int64_t ceil_div(int64_t a, int64_t b)
{
	int64_t q = a / b;
	return q + (a % b > 0);
}

/* --- nodes --------------------------------------------------------------- */

static uint64_t node_hash(
    TapeKind kind, int64_t value, const TapeArg *arg, int n)
{
	uint64_t h = hash_mix((uint64_t)kind * 31 + (uint64_t)value);
	for (int i = 0; i < n; i++)
		h = hash_mix(h ^ ((uint64_t)arg[i].h << 32) ^
		    (uint64_t)arg[i].coefficient);
	return h;
}

static bool node_is(const Tape *tape, Handle h, TapeKind kind, int64_t value,
    const TapeArg *arg, int n)
{
	const TapeNode *d = node(tape, h);
	if (d->kind != kind || d->value != value || d->n != n)
		return false;
	for (int i = 0; i < n; i++)
		if (args(tape, h)[i].h != arg[i].h ||
		    args(tape, h)[i].coefficient != arg[i].coefficient)
			return false;
	return true;
}

static void table_put(Tape *tape, uint64_t hash, Handle h)
{
	unsigned mask = (unsigned)tape->table_size - 1;
	unsigned i = (unsigned)hash & mask;
	while (tape->table[i])
		i = (i + 1) & mask;
	tape->table[i] = h + 1;
}

static void table_grow(Tape *tape)
{
	tape->table_size = tape->table_size ? tape->table_size * 2 : 256;
	tape->table = NEW_N(tape->arena, int, tape->table_size);
	for (Handle h = 0; h < tape->nodes.n; h++) {
		const TapeNode *d = node(tape, h);
		table_put(tape,
		    node_hash(d->kind, d->value, args(tape, h), d->n), h);
	}
}

static bool handle_nonnegative(const Tape *tape, Handle h);

static int64_t sum_low(const Tape *tape, int64_t value, const TapeArg *arg, int n)
{
	int64_t low = value;
	for (int i = 0; i < n; i++) {
		int64_t l = node(tape, arg[i].h)->low, p;
		if (l == INT64_MIN || arg[i].coefficient < 0 ||
		    __builtin_mul_overflow(l, arg[i].coefficient, &p) ||
		    __builtin_add_overflow(low, p, &low))
			return INT64_MIN;
	}
	return low;
}

static int64_t product_low(const Tape *tape, const TapeArg *arg, int n)
{
	int64_t low = 1;
	for (int i = 0; i < n; i++) {
		int64_t l = node(tape, arg[i].h)->low;
		if (l < 0)
			return INT64_MIN;
		if (__builtin_mul_overflow(l, low, &low))
			return 0;
	}
	return low;
}

/* a/b, b >= 1: at least 1 where a is, at least a/c where b is c. */
static int64_t ceildiv_low(const Tape *tape, Handle a, Handle b)
{
	int64_t l = node(tape, a)->low;
	if (node(tape, b)->kind == TAPE_CONST && l != INT64_MIN)
		return ceil_div(l, node(tape, b)->value);
	if (l >= 0)
		return l > 0;
	return handle_nonnegative(tape, a) ? 0 : INT64_MIN;
}

static int64_t node_low(const Tape *tape, TapeKind kind, int64_t value,
    const TapeArg *arg, int n)
{
	switch (kind) {
	case TAPE_CONST:
		return value;
	case TAPE_SLOT:
		return 1;
	case TAPE_PRODUCT:
		return product_low(tape, arg, n);
	case TAPE_SUM:
		return sum_low(tape, value, arg, n);
	case TAPE_CEILDIV:
		return ceildiv_low(tape, arg[0].h, arg[1].h);
	case TAPE_MIN:
	case TAPE_MAX:
		break;
	}
	int64_t a = node(tape, arg[0].h)->low, b = node(tape, arg[1].h)->low;
	return (kind == TAPE_MIN) == (a < b) ? a : b;
}

static Handle cons(
    Tape *tape, TapeKind kind, int64_t value, const TapeArg *arg, int n)
{
	uint64_t hash = node_hash(kind, value, arg, n);
	unsigned mask = (unsigned)tape->table_size - 1;
	for (unsigned i = (unsigned)hash & mask; tape->table[i];
	     i = (i + 1) & mask)
		if (node_is(tape, tape->table[i] - 1, kind, value, arg, n))
			return tape->table[i] - 1;
	TapeNode d = {kind, tape->args.n, n, value,
		node_low(tape, kind, value, arg, n)};
	for (int i = 0; i < n; i++)
		vec_push(tape->arena, &tape->args, arg[i]);
	vec_push(tape->arena, &tape->nodes, d);
	Handle h = tape->nodes.n - 1;
	if (tape->nodes.n * 2 > tape->table_size)
		table_grow(tape);
	else
		table_put(tape, hash, h);
	return h;
}

static Handle cons_pair(Tape *tape, TapeKind kind, Handle a, Handle b)
{
	TapeArg arg[2] = {{a, 1}, {b, 1}};
	return cons(tape, kind, 0, arg, 2);
}

Tape *tape_new(Arena *arena)
{
	Tape *tape = NEW(arena, Tape);
	tape->arena = arena;
	table_grow(tape);
	return tape;
}

Handle tape_const(Tape *tape, int64_t value)
{
	return cons(tape, TAPE_CONST, value, NULL, 0);
}

Handle tape_slot(Tape *tape, int slot)
{
	assert(slot >= 0);
	if (slot >= tape->nslots)
		tape->nslots = slot + 1;
	return cons(tape, TAPE_SLOT, slot, NULL, 0);
}

bool tape_is_const(const Tape *tape, Handle h, int64_t *value)
{
	const TapeNode *d = node(tape, h);
	if (d->kind != TAPE_CONST)
		return false;
	if (value)
		*value = d->value;
	return true;
}

int64_t tape_value(const Tape *tape, Handle h)
{
	assert(node(tape, h)->kind == TAPE_CONST);
	return node(tape, h)->value;
}

int tape_size(const Tape *tape)
{
	return tape->nodes.n;
}

int tape_nslots(const Tape *tape)
{
	return tape->nslots;
}

/* --- polynomials --------------------------------------------------------- */

/* By degree, then by factors: an order that products keep. */
static int monomial_compare(const Term *a, const Term *b)
{
	if (a->n != b->n)
		return a->n < b->n ? -1 : 1;
	for (int i = 0; i < a->n; i++)
		if (a->factor[i] != b->factor[i])
			return a->factor[i] < b->factor[i] ? -1 : 1;
	return 0;
}

static void poly_clear(Poly *p)
{
	p->n = 0;
	p->bad = false;
}

static void term_copy(Term *to, const Term *from)
{
	to->coefficient = from->coefficient;
	to->n = from->n;
	memcpy(to->factor, from->factor, sizeof(Handle) * (size_t)from->n);
}

static void poly_copy(Poly *to, const Poly *from)
{
	to->n = from->n;
	to->bad = from->bad;
	for (int i = 0; i < from->n; i++)
		term_copy(&to->term[i], &from->term[i]);
}

static void poly_add_term(Poly *p, const Term *t)
{
	if (!t->coefficient)
		return;
	for (int i = 0; i < p->n; i++) {
		Term *q = &p->term[i];
		if (monomial_compare(q, t))
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

static void poly_add_const(Poly *p, int64_t value)
{
	Term t;
	t.coefficient = value;
	t.n = 0;
	poly_add_term(p, &t);
}

/* a*b into out; false where there are too many factors. */
static bool term_mul(Term *out, const Term *a, const Term *b)
{
	int i = 0, j = 0;
	if (a->n + b->n > MAX_FACTORS ||
	    __builtin_mul_overflow(
		a->coefficient, b->coefficient, &out->coefficient))
		return false;
	out->n = a->n + b->n;
	for (int k = 0; k < out->n; k++)
		out->factor[k] = j == b->n ||
				(i < a->n && a->factor[i] <= b->factor[j])
		    ? a->factor[i++]
		    : b->factor[j++];
	return true;
}

/* a/b where it is exact. */
static bool term_div(Term *out, const Term *a, const Term *b)
{
	if (a->coefficient % b->coefficient || b->n > a->n)
		return false;
	out->coefficient = a->coefficient / b->coefficient;
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
static void poly_add_scaled(Poly *p, const Poly *a, const Term *t)
{
	Term product;
	p->bad |= a->bad;
	for (int i = 0; i < a->n && !p->bad; i++)
		if (term_mul(&product, &a->term[i], t))
			poly_add_term(p, &product);
		else
			p->bad = true;
}

static void poly_add_times(Poly *p, const Poly *a, int64_t k)
{
	Term t;
	t.coefficient = k;
	t.n = 0;
	poly_add_scaled(p, a, &t);
}

static void poly_mul(Poly *out, const Poly *a, const Poly *b)
{
	poly_clear(out);
	for (int i = 0; i < b->n; i++)
		poly_add_scaled(out, a, &b->term[i]);
	out->bad |= b->bad;
}

static void term_of(const Tape *tape, Term *t, Handle h, int64_t coefficient)
{
	const TapeNode *d = node(tape, h);
	t->coefficient = coefficient;
	t->n = 1;
	t->factor[0] = h;
	if (d->kind != TAPE_PRODUCT)
		return;
	t->n = d->n;
	for (int i = 0; i < d->n; i++)
		t->factor[i] = args(tape, h)[i].h;
}

static void poly_of(const Tape *tape, Poly *p, Handle h)
{
	const TapeNode *d = node(tape, h);
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
		term_of(tape, &t, args(tape, h)[i].h,
		    args(tape, h)[i].coefficient);
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
	return cons(tape, TAPE_PRODUCT, 0, arg, t->n);
}

static int arg_compare(const void *a, const void *b)
{
	Handle x = ((const TapeArg *)a)->h, y = ((const TapeArg *)b)->h;
	return (x > y) - (x < y);
}

static Handle poly_handle(Tape *tape, const Poly *p)
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
	return cons(tape, TAPE_SUM, value, arg, n);
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
			if (node(tape, p->term[i].factor[j])->low < 0)
				return false;
	return true;
}

/* Divides out the factors that all terms have. */
static void poly_primitive(Poly *out, const Poly *p)
{
	poly_copy(out, p);
	for (int i = 0; p->n && i < p->term[0].n; i++) {
		Term unit = {1, 1, {p->term[0].factor[i]}}, t;
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
			int64_t low = node(tape, t->factor[j])->low;
			Poly factor, product;
			Term x = {1, 1, {t->factor[j]}};
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
	Term unit = {1, 1, {x}}, t;
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
static bool nonnegative_by_minmax(const Tape *tape, Handle x,
    const Poly *slope, const Poly *rest, int depth)
{
	Poly a, b, minus;
	poly_of(tape, &a, args(tape, x)[0].h);
	poly_of(tape, &b, args(tape, x)[1].h);
	bool for_a = substituted_nonnegative(tape, slope, &a, rest, depth);
	bool for_b = substituted_nonnegative(tape, slope, &b, rest, depth);
	if (for_a && for_b)
		return true;
	if (!for_a && !for_b)
		return false;
	poly_clear(&minus);
	poly_add_times(&minus, slope, node(tape, x)->kind == TAPE_MAX ? 1 : -1);
	return poly_nonnegative(tape, &minus, depth);
}

/* x = ceildiv(a, b): a <= b*x <= a + b - 1, and b*p is as p. */
static bool nonnegative_by_ceildiv(const Tape *tape, Handle x,
    const Poly *slope, const Poly *rest, int depth)
{
	Poly a, b, scaled, minus;
	poly_of(tape, &a, args(tape, x)[0].h);
	poly_of(tape, &b, args(tape, x)[1].h);
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
	TapeKind kind = node(tape, x)->kind;
	if (kind != TAPE_CEILDIV && kind != TAPE_MIN && kind != TAPE_MAX)
		return false;
	if (!poly_split(p, x, &slope, &rest))
		return false;
	return kind == TAPE_CEILDIV
	    ? nonnegative_by_ceildiv(tape, x, &slope, &rest, depth)
	    : nonnegative_by_minmax(tape, x, &slope, &rest, depth);
}

static bool poly_nonnegative(const Tape *tape, const Poly *p, int depth)
{
	Handle tried = INT32_MAX;
	if (p->bad)
		return false;
	if (p->n == 1 && p->term[0].n == 0)
		return p->term[0].coefficient >= 0;
	if (poly_plainly_nonnegative(tape, p))
		return true;
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

static bool handle_nonnegative(const Tape *tape, Handle h)
{
	Poly p;
	if (node(tape, h)->low >= 0)
		return true;
	if (node(tape, h)->kind == TAPE_CONST)
		return false;
	poly_of(tape, &p, h);
	return poly_nonnegative(tape, &p, SIGN_DEPTH);
}

bool tape_known_nonnegative(const Tape *tape, Handle h)
{
	return handle_nonnegative(tape, h);
}

/* a - b >= c for certain */
static bool differ_at_least(
    const Tape *tape, const Poly *a, const Poly *b, int64_t c)
{
	Poly p;
	poly_copy(&p, a);
	poly_add_times(&p, b, -1);
	poly_add_const(&p, -c);
	return poly_nonnegative(tape, &p, SIGN_DEPTH);
}

/* --- arithmetic ---------------------------------------------------------- */

/* a + k*b, k 1 or -1 */
static Handle add_times(Tape *tape, Handle a, Handle b, int64_t k)
{
	int64_t x = 0, y;
	Poly p, q;
	bool a_const = tape_is_const(tape, a, &x);
	if (tape_is_const(tape, b, &y)) {
		if (a_const)
			return tape_const(tape, wrap_add(x, wrap_mul(k, y)));
		if (!y)
			return a;
	}
	if (a_const && !x && k == 1)
		return b;
	poly_of(tape, &p, a);
	poly_of(tape, &q, b);
	poly_add_times(&p, &q, k);
	if (!p.bad)
		return poly_handle(tape, &p);
	TapeArg arg[2] = {{a, 1}, {b, k}};
	qsort(arg, 2, sizeof *arg, arg_compare);
	return cons(tape, TAPE_SUM, 0, arg, 2);
}

Handle tape_add(Tape *tape, Handle a, Handle b)
{
	return add_times(tape, a, b, 1);
}

Handle tape_sub(Tape *tape, Handle a, Handle b)
{
	return a == b ? tape_const(tape, 0) : add_times(tape, a, b, -1);
}

Handle tape_mul(Tape *tape, Handle a, Handle b)
{
	int64_t x, y;
	Poly p, q, r;
	if (tape_is_const(tape, a, &x)) {
		if (tape_is_const(tape, b, &y))
			return tape_const(tape, wrap_mul(x, y));
		if (x == 1 || x == 0)
			return x ? b : a;
	} else if (tape_is_const(tape, b, &y) && (y == 1 || y == 0))
		return y ? a : b;
	poly_of(tape, &p, a);
	poly_of(tape, &q, b);
	poly_mul(&r, &p, &q);
	if (!r.bad)
		return poly_handle(tape, &r);
	return a < b ? cons_pair(tape, TAPE_PRODUCT, a, b)
		     : cons_pair(tape, TAPE_PRODUCT, b, a);
}

static const Term *poly_lead(const Poly *p)
{
	const Term *lead = &p->term[0];
	for (int i = 1; i < p->n; i++)
		if (monomial_compare(&p->term[i], lead) > 0)
			lead = &p->term[i];
	return lead;
}

/* Long division by the leading monomial. */
static bool poly_divide(const Poly *a, const Poly *b, Poly *q)
{
	Poly rest;
	poly_copy(&rest, a);
	poly_clear(q);
	for (int steps = 0; rest.n && steps < MAX_TERMS; steps++) {
		Term t, minus;
		if (!term_div(&t, poly_lead(&rest), poly_lead(b)))
			return false;
		poly_add_term(q, &t);
		term_copy(&minus, &t);
		minus.coefficient = -t.coefficient;
		poly_add_scaled(&rest, b, &minus);
		if (rest.bad || q->bad)
			return false;
	}
	return !rest.n;
}

bool tape_divides(Tape *tape, Handle a, Handle b, Handle *q)
{
	Poly p, d, quotient;
	if (a == b) {
		*q = tape_const(tape, 1);
		return true;
	}
	poly_of(tape, &p, a);
	poly_of(tape, &d, b);
	if (p.bad || d.bad || !d.n || !poly_divide(&p, &d, &quotient))
		return false;
	*q = poly_handle(tape, &quotient);
	return true;
}

/* --- division ------------------------------------------------------------ */

/* a = quotient*b + rest, moving what b divides term by term. */
static void poly_extract(
    const Poly *a, const Poly *b, Poly *quotient, Poly *rest)
{
	Poly minus;
	poly_copy(rest, a);
	poly_clear(quotient);
	if (b->n != 1) { /* a multiple of the whole, or nothing */
		if (poly_divide(a, b, quotient))
			poly_clear(rest);
		else
			poly_clear(quotient);
		return;
	}
	for (int i = 0; i < a->n; i++) {
		Term t;
		if (term_div(&t, &a->term[i], &b->term[0]))
			poly_add_term(quotient, &t);
	}
	poly_clear(&minus);
	poly_mul(&minus, quotient, b);
	poly_add_times(rest, &minus, -1);
}

/* -b < rest <= 0 for certain */
static bool rounds_to_zero(const Tape *tape, const Poly *rest, const Poly *b)
{
	Poly zero, sum;
	poly_clear(&zero);
	if (!differ_at_least(tape, &zero, rest, 0))
		return false;
	poly_copy(&sum, rest);
	poly_add_times(&sum, b, 1);
	return differ_at_least(tape, &sum, &zero, 1);
}

/* 0 < rest <= b for certain */
static bool rounds_to_one(const Tape *tape, const Poly *rest, const Poly *b)
{
	Poly zero;
	poly_clear(&zero);
	return differ_at_least(tape, rest, &zero, 1) &&
	    differ_at_least(tape, b, rest, 0);
}

static int64_t gcd(int64_t a, int64_t b)
{
	while (b) {
		int64_t t = a % b;
		a = b;
		b = t;
	}
	return a < 0 ? -a : a;
}

/* By a constant c: coefficients are reduced to 0 .. c-1, the constant to
 * -c+1 .. 0, what they have in common with c is divided out. */
static void reduce_by_constant(Poly *a, int64_t *c, Poly *quotient)
{
	Poly out;
	int64_t common = *c;
	poly_clear(quotient);
	poly_clear(&out);
	for (int i = 0; i < a->n; i++) {
		Term t;
		int64_t k = a->term[i].coefficient, q;
		if (a->term[i].n == 0)
			q = ceil_div(k, *c);
		else
			q = -ceil_div(-k, *c);
		term_copy(&t, &a->term[i]);
		t.coefficient = q;
		poly_add_term(quotient, &t);
		t.coefficient = k - q * *c;
		poly_add_term(&out, &t);
		if (t.n)
			common = gcd(common, t.coefficient);
	}
	*c /= common;
	poly_clear(a);
	for (int i = 0; i < out.n; i++) {
		Term *t = &out.term[i];
		t->coefficient = ceil_div(t->coefficient, common);
		poly_add_term(a, t);
	}
}

static Handle divide(Tape *tape, Poly *a, Poly *b);

/* b = f*g, a = f*x + rest with -f < rest <= 0: ceildiv(x, g).  True and the
 * result for the first such factor f of b. */
static bool divide_common(Tape *tape, const Poly *a, const Poly *b, Handle *out)
{
	if (b->n != 1)
		return false;
	for (int i = 0; i < b->term[0].n; i++) {
		Poly f, x, rest, g;
		Term unit = {1, 1, {b->term[0].factor[i]}}, t;
		poly_clear(&f);
		poly_add_term(&f, &unit);
		poly_extract(a, &f, &x, &rest);
		if (rest.bad || !x.n || !rounds_to_zero(tape, &rest, &f))
			continue;
		poly_clear(&g);
		term_div(&t, &b->term[0], &unit);
		poly_add_term(&g, &t);
		*out = divide(tape, &x, &g);
		return true;
	}
	return false;
}

/* ceildiv(ceildiv(x, y) + k, z) is ceildiv(x + k*y, y*z). */
static bool divide_nested(Tape *tape, const Poly *a, const Poly *b, Handle *out)
{
	const Term *inner = NULL;
	int64_t k = 0;
	Poly x, y, product;
	for (int i = 0; i < a->n; i++)
		if (a->term[i].n == 0)
			k = a->term[i].coefficient;
		else if (inner || a->term[i].n != 1 ||
		    a->term[i].coefficient != 1)
			return false;
		else
			inner = &a->term[i];
	if (!inner || node(tape, inner->factor[0])->kind != TAPE_CEILDIV)
		return false;
	poly_of(tape, &x, args(tape, inner->factor[0])[0].h);
	poly_of(tape, &y, args(tape, inner->factor[0])[1].h);
	poly_add_times(&x, &y, k);
	poly_mul(&product, &y, b);
	if (x.bad || product.bad)
		return false;
	*out = divide(tape, &x, &product);
	return true;
}

static Handle divide_rest(Tape *tape, Poly *rest, Poly *b)
{
	Handle out;
	if (!rest->n || rounds_to_zero(tape, rest, b))
		return tape_const(tape, 0);
	if (rounds_to_one(tape, rest, b))
		return tape_const(tape, 1);
	if (divide_common(tape, rest, b, &out) ||
	    divide_nested(tape, rest, b, &out))
		return out;
	Handle numerator = poly_handle(tape, rest);
	return cons_pair(tape, TAPE_CEILDIV, numerator, poly_handle(tape, b));
}

/* ceildiv(a, b); both are consumed. */
static Handle divide(Tape *tape, Poly *a, Poly *b)
{
	Poly quotient, rest;
	if (b->n == 1 && b->term[0].n == 0) {
		int64_t c = b->term[0].coefficient;
		assert(c >= 1);
		reduce_by_constant(a, &c, &quotient);
		poly_clear(b);
		poly_add_const(b, c);
		poly_copy(&rest, a);
	} else
		poly_extract(a, b, &quotient, &rest);
	assert(!quotient.bad && !rest.bad);
	Handle q = poly_handle(tape, &quotient);
	if (b->n == 1 && b->term[0].n == 0 && b->term[0].coefficient == 1)
		return tape_add(tape, q, poly_handle(tape, &rest));
	return tape_add(tape, q, divide_rest(tape, &rest, b));
}

Handle tape_ceildiv(Tape *tape, Handle a, Handle b)
{
	int64_t x, y;
	Poly p, d;
	if (tape_is_const(tape, b, &y)) {
		assert(y >= 1);
		if (y == 1)
			return a;
		if (tape_is_const(tape, a, &x))
			return tape_const(tape, ceil_div(x, y));
	}
	poly_of(tape, &p, a);
	poly_of(tape, &d, b);
	if (p.bad || d.bad)
		return cons_pair(tape, TAPE_CEILDIV, a, b);
	return divide(tape, &p, &d);
}

Handle tape_floordiv(Tape *tape, Handle a, Handle b)
{
	int64_t c;
	Handle one = tape_const(tape, 1);
	if (tape_is_const(tape, b, &c))
		return c == 1 ? a
			      : tape_ceildiv(tape,
				    tape_add(tape, a, tape_const(tape, 1 - c)),
				    b);
	return tape_sub(
	    tape, tape_ceildiv(tape, tape_add(tape, a, one), b), one);
}

Handle tape_mod(Tape *tape, Handle a, Handle b)
{
	return tape_sub(
	    tape, a, tape_mul(tape, b, tape_floordiv(tape, a, b)));
}

static Handle min_or_max(Tape *tape, TapeKind kind, Handle a, Handle b)
{
	Poly p, q;
	if (a == b)
		return a;
	poly_of(tape, &p, a);
	poly_of(tape, &q, b);
	if (!p.bad && !q.bad) {
		if (differ_at_least(tape, &p, &q, 0))
			return kind == TAPE_MAX ? a : b;
		if (differ_at_least(tape, &q, &p, 0))
			return kind == TAPE_MAX ? b : a;
	}
	return a < b ? cons_pair(tape, kind, a, b) : cons_pair(tape, kind, b, a);
}

Handle tape_min(Tape *tape, Handle a, Handle b)
{
	return min_or_max(tape, TAPE_MIN, a, b);
}

Handle tape_max(Tape *tape, Handle a, Handle b)
{
	return min_or_max(tape, TAPE_MAX, a, b);
}

Handle tape_at_most(Tape *tape, Handle a, Handle b)
{
	Handle one = tape_const(tape, 1);
	Handle slack = tape_add(tape, tape_sub(tape, b, a), one);
	return tape_min(
	    tape, one, tape_max(tape, tape_const(tape, 0), slack));
}

Handle tape_equal(Tape *tape, Handle a, Handle b)
{
	Handle one = tape_const(tape, 1);
	Handle distance =
	    tape_max(tape, tape_sub(tape, a, b), tape_sub(tape, b, a));
	return tape_sub(tape, one, tape_min(tape, one, distance));
}

Handle tape_multiple(Tape *tape, Handle a, Handle b)
{
	Handle rounded = tape_mul(tape, b, tape_ceildiv(tape, a, b));
	return tape_equal(tape, a, rounded);
}

/* --- evaluation ---------------------------------------------------------- */

static int64_t eval_node(
    const Tape *tape, Handle h, const int64_t *slots, const int64_t *values)
{
	const TapeNode *d = node(tape, h);
	const TapeArg *arg = args(tape, h);
	int64_t v = d->value, a, b;
	switch (d->kind) {
	case TAPE_CONST:
		return v;
	case TAPE_SLOT:
		return slots[v];
	case TAPE_PRODUCT:
		v = 1;
		for (int i = 0; i < d->n; i++)
			v = wrap_mul(v, values[arg[i].h]);
		return v;
	case TAPE_SUM:
		for (int i = 0; i < d->n; i++)
			v = wrap_add(v,
			    wrap_mul(arg[i].coefficient, values[arg[i].h]));
		return v;
	case TAPE_CEILDIV:
	case TAPE_MIN:
	case TAPE_MAX:
		break;
	}
	a = values[arg[0].h];
	b = values[arg[1].h];
	if (d->kind == TAPE_CEILDIV)
		return ceil_div(a, b);
	return (d->kind == TAPE_MIN) == (a < b) ? a : b;
}

void tape_eval(const Tape *tape, const int64_t *slots, int64_t *values)
{
	for (Handle h = 0; h < tape->nodes.n; h++)
		values[h] = eval_node(tape, h, slots, values);
}

static void fill(int n, int64_t *restrict out, int64_t value)
{
	for (int i = 0; i < n; i++)
		out[i] = value;
}

static void times(int n, int64_t *restrict out, const int64_t *restrict a)
{
	for (int i = 0; i < n; i++)
		out[i] = wrap_mul(out[i], a[i]);
}

static void add_scaled(
    int n, int64_t *restrict out, const int64_t *restrict a, int64_t k)
{
	if (k == 1)
		for (int i = 0; i < n; i++)
			out[i] = wrap_add(out[i], a[i]);
	else
		for (int i = 0; i < n; i++)
			out[i] = wrap_add(out[i], wrap_mul(k, a[i]));
}

static void least(int n, int64_t *restrict out, const int64_t *restrict a,
    const int64_t *restrict b)
{
	for (int i = 0; i < n; i++)
		out[i] = a[i] < b[i] ? a[i] : b[i];
}

static void greatest(int n, int64_t *restrict out, const int64_t *restrict a,
    const int64_t *restrict b)
{
	for (int i = 0; i < n; i++)
		out[i] = a[i] > b[i] ? a[i] : b[i];
}

/* Below 2^31 the quotient of doubles, truncated, is exact: it differs from an
 * integer by at least 1/b, its rounding error is less. */
static void ceildivs(int n, int64_t *restrict out, const int64_t *restrict a,
    const int64_t *restrict b)
{
	uint64_t all = 0;
	for (int i = 0; i < n; i++)
		all |= (uint64_t)a[i] | (uint64_t)b[i];
	if (all < (uint64_t)1 << 31)
		for (int i = 0; i < n; i++) {
			int32_t x = (int32_t)a[i], y = (int32_t)b[i];
			int32_t q = (int32_t)((double)x / (double)y);
			out[i] = q + (q * y < x);
		}
	else
		for (int i = 0; i < n; i++)
			out[i] = ceil_div(a[i], b[i]);
}

void tape_eval_batch(
    const Tape *tape, int n, const int64_t *slots, int64_t *values)
{
	for (Handle h = 0; h < tape->nodes.n; h++) {
		const TapeNode *d = node(tape, h);
		const TapeArg *arg = args(tape, h);
		int64_t *out = values + (size_t)h * (size_t)n;
#define ARG(i) (values + (size_t)arg[i].h * (size_t)n)
		switch (d->kind) {
		case TAPE_CONST:
			fill(n, out, d->value);
			break;
		case TAPE_SLOT:
			memcpy(out, slots + d->value * n,
			    sizeof *out * (size_t)n);
			break;
		case TAPE_PRODUCT:
			memcpy(out, ARG(0), sizeof *out * (size_t)n);
			for (int i = 1; i < d->n; i++)
				times(n, out, ARG(i));
			break;
		case TAPE_SUM:
			fill(n, out, d->value);
			for (int i = 0; i < d->n; i++)
				add_scaled(n, out, ARG(i), arg[i].coefficient);
			break;
		case TAPE_CEILDIV:
			ceildivs(n, out, ARG(0), ARG(1));
			break;
		case TAPE_MIN:
			least(n, out, ARG(0), ARG(1));
			break;
		case TAPE_MAX:
			greatest(n, out, ARG(0), ARG(1));
			break;
		}
#undef ARG
	}
}

/* --- text ---------------------------------------------------------------- */

static void print_sum(Buf *out, const Tape *tape, Handle h)
{
	const TapeNode *d = node(tape, h);
	const TapeArg *arg = args(tape, h);
	for (int i = 0; i < d->n; i++) {
		int64_t k = arg[i].coefficient;
		if (i)
			buf_puts(out, k < 0 ? " - " : " + ");
		else if (k < 0)
			buf_putc(out, '-');
		if (k != 1 && k != -1)
			buf_printf(out, "%lld*", k < 0 ? -(long long)k : k);
		tape_print(out, tape, arg[i].h);
	}
	if (d->value)
		buf_printf(out, " %c %lld", d->value < 0 ? '-' : '+',
		    d->value < 0 ? -(long long)d->value : d->value);
}

void tape_print(Buf *out, const Tape *tape, Handle h)
{
	static const char *const names[] = {
		[TAPE_CEILDIV] = "ceildiv", [TAPE_MIN] = "min",
		[TAPE_MAX] = "max"};
	const TapeNode *d = node(tape, h);
	const TapeArg *arg = args(tape, h);
	switch (d->kind) {
	case TAPE_CONST:
		buf_printf(out, "%lld", (long long)d->value);
		return;
	case TAPE_SLOT:
		buf_printf(out, "s%lld", (long long)d->value);
		return;
	case TAPE_SUM:
		print_sum(out, tape, h);
		return;
	case TAPE_PRODUCT:
	case TAPE_CEILDIV:
	case TAPE_MIN:
	case TAPE_MAX:
		break;
	}
	bool product = d->kind == TAPE_PRODUCT;
	if (!product)
		buf_printf(out, "%s(", names[d->kind]);
	for (int i = 0; i < d->n; i++) {
		if (i)
			buf_puts(out, product ? "*" : ", ");
		bool wrap = product && node(tape, arg[i].h)->kind == TAPE_SUM;
		if (wrap)
			buf_putc(out, '(');
		tape_print(out, tape, arg[i].h);
		if (wrap)
			buf_putc(out, ')');
	}
	if (!product)
		buf_putc(out, ')');
}

/* --- extraction ------------------------------------------------------------ */

Tape *tape_extract(
    Arena *arena, const Tape *tape, const bool *used, Handle *renamed)
{
	Tape *out = tape_new(arena);
	bool *reached = must_alloc((size_t)tape->nodes.n + 1);
	memcpy(reached, used, (size_t)tape->nodes.n);
	for (Handle h = tape->nodes.n - 1; h >= 0; h--)
		for (int i = 0; reached[h] && i < node(tape, h)->n; i++)
			reached[args(tape, h)[i].h] = true;
	for (Handle h = 0; h < tape->nodes.n; h++) {
		const TapeNode *d = node(tape, h);
		TapeArg arg[MAX_TERMS + MAX_FACTORS];
		renamed[h] = -1;
		if (!reached[h])
			continue;
		assert(d->n <= MAX_TERMS + MAX_FACTORS);
		for (int i = 0; i < d->n; i++) {
			arg[i] = args(tape, h)[i];
			arg[i].h = renamed[arg[i].h];
		}
		renamed[h] = cons(out, d->kind, d->value, arg, d->n);
	}
	out->nslots = tape->nslots;
	free(reached);
	return out;
}
