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
#include "ir/tape/tape_internal.h"

#include "lib/hash.h"
#include "lib/gcd.h"

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
	const TapeNode *d = tape_node(tape, h);
	if (d->kind != kind || d->value != value || d->n != n)
		return false;
	for (int i = 0; i < n; i++)
		if (tape_args(tape, h)[i].h != arg[i].h ||
		    tape_args(tape, h)[i].coefficient != arg[i].coefficient)
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
		const TapeNode *d = tape_node(tape, h);
		table_put(tape,
		    node_hash(d->kind, d->value, tape_args(tape, h), d->n), h);
	}
}

static int64_t sum_low(
    const Tape *tape, int64_t value, const TapeArg *arg, int n)
{
	int64_t low = value;
	for (int i = 0; i < n; i++) {
		int64_t l = tape_facts(tape, arg[i].h)->low, p;
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
		int64_t l = tape_facts(tape, arg[i].h)->low;
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
	int64_t l = tape_facts(tape, a)->low;
	if (tape_node(tape, b)->kind == TAPE_CONST && l != INT64_MIN)
		return ceil_div(l, tape_node(tape, b)->value);
	if (l >= 0)
		return l > 0;
	return poly_handle_nonnegative(tape, a) ? 0 : INT64_MIN;
}

static int64_t node_low(
    const Tape *tape, TapeKind kind, int64_t value, const TapeArg *arg, int n)
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
	int64_t a = tape_facts(tape, arg[0].h)->low,
		b = tape_facts(tape, arg[1].h)->low;
	return (kind == TAPE_MIN) == (a < b) ? a : b;
}

/* The same for the same quantity in every tape, whatever else that holds. */
static uint64_t node_key(
    const Tape *tape, TapeKind kind, int64_t value, const TapeArg *arg, int n)
{
	uint64_t key = hash_mix((uint64_t)kind * 31 + (uint64_t)value);
	for (int i = 0; i < n; i++) {
		uint64_t k = tape_facts(tape, arg[i].h)->key;
		uint64_t place = kind == TAPE_CEILDIV ? (uint64_t)i : 0;
		key += hash_mix(
		    k ^ hash_mix((uint64_t)arg[i].coefficient + place));
	}
	return key;
}

Handle tape_cons(
    Tape *tape, TapeKind kind, int64_t value, const TapeArg *arg, int n)
{
	uint64_t hash = node_hash(kind, value, arg, n);
	unsigned mask = (unsigned)tape->table_size - 1;
	for (unsigned i = (unsigned)hash & mask; tape->table[i];
	     i = (i + 1) & mask)
		if (node_is(tape, tape->table[i] - 1, kind, value, arg, n))
			return tape->table[i] - 1;
	TapeNode d = {kind, n, tape->args.n, value, 0};
	TapeFacts facts = {.key = node_key(tape, kind, value, arg, n),
	    .low = node_low(tape, kind, value, arg, n)};
	sample_node(tape, &d, arg, facts.sample);
	for (int i = 0; i < n; i++)
		vec_push(tape->arena, &tape->args, arg[i]);
	vec_push(tape->arena, &tape->nodes, d);
	vec_push(tape->arena, &tape->facts, facts);
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
	return tape_cons(tape, kind, 0, arg, 2);
}

Tape *tape_new(Arena *arena)
{
	Tape *tape = NEW(arena, Tape);
	tape->arena = arena;
	tape->memo = memo_new(arena);
	table_grow(tape);
	return tape;
}

Handle tape_const(Tape *tape, int64_t value)
{
	if (value < -1 || value >= SMALL - 1)
		return tape_cons(tape, TAPE_CONST, value, NULL, 0);
	int *small = &tape->small[value + 1];
	if (!*small)
		*small = tape_cons(tape, TAPE_CONST, value, NULL, 0) + 1;
	return *small - 1;
}

Handle tape_slot(Tape *tape, int slot)
{
	assert(slot >= 0);
	if (slot >= tape->nslots)
		tape->nslots = slot + 1;
	return tape_cons(tape, TAPE_SLOT, slot, NULL, 0);
}

int tape_slot_of(const Tape *tape, Handle h)
{
	const TapeNode *d = tape_node(tape, h);
	return d->kind == TAPE_SLOT ? (int)d->value : -1;
}

bool tape_is_const(const Tape *tape, Handle h, int64_t *value)
{
	const TapeNode *d = tape_node(tape, h);
	if (d->kind != TAPE_CONST)
		return false;
	if (value)
		*value = d->value;
	return true;
}

int64_t tape_value(const Tape *tape, Handle h)
{
	assert(tape_node(tape, h)->kind == TAPE_CONST);
	return tape_node(tape, h)->value;
}

int tape_size(const Tape *tape)
{
	return tape->nodes.n;
}

int64_t tape_work(const Tape *tape)
{
	return tape->work;
}

int64_t tape_asked(const Tape *tape)
{
	return tape->asked;
}

int tape_nslots(const Tape *tape)
{
	return tape->nslots;
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
	TapeArg arg[2] = {{a, 1}, {b, k}}, swapped[2] = {{b, k}, {a, 1}};
	return tape_cons(tape, TAPE_SUM, 0, a < b ? arg : swapped, 2);
}

static Handle add(Tape *tape, Handle a, Handle b)
{
	return add_times(tape, a, b, 1);
}

static Handle sub(Tape *tape, Handle a, Handle b)
{
	return a == b ? tape_const(tape, 0) : add_times(tape, a, b, -1);
}

static Handle mul(Tape *tape, Handle a, Handle b)
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
	if (!poly_differ_at_least(tape, &zero, rest, 0))
		return false;
	poly_copy(&sum, rest);
	poly_add_times(&sum, b, 1);
	return poly_differ_at_least(tape, &sum, &zero, 1);
}

/* 0 < rest <= b for certain */
static bool rounds_to_one(const Tape *tape, const Poly *rest, const Poly *b)
{
	Poly zero;
	poly_clear(&zero);
	return poly_differ_at_least(tape, rest, &zero, 1) &&
	       poly_differ_at_least(tape, b, rest, 0);
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

/* Slots by their numbers, before all others: an order that what else the tape holds
 * has no part in. */
static int factor_compare(const Tape *tape, Handle a, Handle b)
{
	int x = tape_slot_of(tape, a), y = tape_slot_of(tape, b);
	uint64_t j = x < 0 ? tape_facts(tape, a)->key : 0,
		 k = y < 0 ? tape_facts(tape, b)->key : 0;
	if ((x < 0) != (y < 0))
		return x < 0 ? 1 : -1;
	return x != y ? (x > y) - (x < y) : (j > k) - (j < k);
}

/* The factors of a term in that order. */
static void order_factors(const Tape *tape, const Term *t, Handle *factor)
{
	for (int i = 0, at; i < t->n; i++) {
		for (at = i; at &&
		     factor_compare(tape, factor[at - 1], t->factor[i]) > 0;
		     at--)
			factor[at] = factor[at - 1];
		factor[at] = t->factor[i];
	}
}

/* b = f*g, a = f*x + rest with -f < rest <= 0: ceildiv(x, g).  True and the
 * result for the first such factor f of b. */
static bool divide_common(Tape *tape, const Poly *a, const Poly *b, Handle *out)
{
	Handle factor[MAX_FACTORS];
	if (b->n != 1)
		return false;
	order_factors(tape, &b->term[0], factor);
	for (int i = 0; i < b->term[0].n; i++) {
		Poly f, x, rest, g;
		Term unit = term_unit(factor[i]), t;
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
	if (!inner || tape_node(tape, inner->factor[0])->kind != TAPE_CEILDIV)
		return false;
	poly_of(tape, &x, tape_args(tape, inner->factor[0])[0].h);
	poly_of(tape, &y, tape_args(tape, inner->factor[0])[1].h);
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

static Handle ceildiv(Tape *tape, Handle a, Handle b)
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

static Handle floordiv(Tape *tape, Handle a, Handle b)
{
	int64_t c;
	Handle one = tape_const(tape, 1);
	if (tape_is_const(tape, b, &c))
		return c == 1
			   ? a
			   : tape_ceildiv(tape,
				 tape_add(tape, a, tape_const(tape, 1 - c)), b);
	return tape_sub(
	    tape, tape_ceildiv(tape, tape_add(tape, a, one), b), one);
}

static Handle mod(Tape *tape, Handle a, Handle b)
{
	return tape_sub(tape, a, tape_mul(tape, b, tape_floordiv(tape, a, b)));
}

static Handle min_or_max(Tape *tape, TapeKind kind, Handle a, Handle b)
{
	Poly p, q;
	if (a == b)
		return a;
	poly_of(tape, &p, a);
	poly_of(tape, &q, b);
	if (!p.bad && !q.bad) {
		if (poly_differ_at_least(tape, &p, &q, 0))
			return kind == TAPE_MAX ? a : b;
		if (poly_differ_at_least(tape, &q, &p, 0))
			return kind == TAPE_MAX ? b : a;
	}
	return a < b ? cons_pair(tape, kind, a, b)
		     : cons_pair(tape, kind, b, a);
}

static Handle min(Tape *tape, Handle a, Handle b)
{
	return min_or_max(tape, TAPE_MIN, a, b);
}

static Handle max(Tape *tape, Handle a, Handle b)
{
	return min_or_max(tape, TAPE_MAX, a, b);
}

static Handle at_most(Tape *tape, Handle a, Handle b)
{
	Handle one = tape_const(tape, 1);
	Handle slack = tape_add(tape, tape_sub(tape, b, a), one);
	return tape_min(tape, one, tape_max(tape, tape_const(tape, 0), slack));
}

static Handle equal(Tape *tape, Handle a, Handle b)
{
	Handle one = tape_const(tape, 1);
	Handle distance =
	    tape_max(tape, tape_sub(tape, a, b), tape_sub(tape, b, a));
	return tape_sub(tape, one, tape_min(tape, one, distance));
}

static Handle multiple(Tape *tape, Handle a, Handle b)
{
	Handle rounded = tape_mul(tape, b, tape_ceildiv(tape, a, b));
	return tape_equal(tape, a, rounded);
}

/* --- each once ----------------------------------------------------------- */

static bool is_value(const Tape *tape, Handle h, int64_t value)
{
	return h == tape->small[value + 1] - 1;
}

/* Most questions are of 0 and 1; -1: it is none of these. */
static Handle at_once(const Tape *tape, TapeOp op, Handle a, Handle b)
{
	if (op == TAPE_OP_ADD)
		return is_value(tape, a, 0) ? b : is_value(tape, b, 0) ? a : -1;
	if (op == TAPE_OP_MUL)
		return is_value(tape, a, 1) || is_value(tape, b, 0) ? b
		    : is_value(tape, b, 1) || is_value(tape, a, 0)  ? a
								    : -1;
	return op == TAPE_OP_SUB && is_value(tape, b, 0) ? a : -1;
}

static Handle once(Tape *tape, TapeOp op, Handle a, Handle b)
{
	static Handle (*const make[])(Tape *, Handle, Handle) = {
	    [TAPE_OP_ADD] = add,
	    [TAPE_OP_SUB] = sub,
	    [TAPE_OP_MUL] = mul,
	    [TAPE_OP_FLOORDIV] = floordiv,
	    [TAPE_OP_CEILDIV] = ceildiv,
	    [TAPE_OP_MOD] = mod,
	    [TAPE_OP_MIN] = min,
	    [TAPE_OP_MAX] = max,
	    [TAPE_OP_AT_MOST] = at_most,
	    [TAPE_OP_EQUAL] = equal,
	    [TAPE_OP_MULTIPLE] = multiple};
	Handle h = at_once(tape, op, a, b);
	tape->work++;
	tape->asked += !tape->depth;
	if (h >= 0)
		return h;
	h = memo_result(tape->memo, op, a, b);
	if (h < 0) {
		tape->depth++;
		h = make[op](tape, a, b);
		tape->depth--;
		memo_keep_result(tape->memo, op, a, b, h);
	}
	return h;
}

Handle tape_add(Tape *tape, Handle a, Handle b)
{
	return once(tape, TAPE_OP_ADD, a, b);
}

Handle tape_sub(Tape *tape, Handle a, Handle b)
{
	return once(tape, TAPE_OP_SUB, a, b);
}

Handle tape_mul(Tape *tape, Handle a, Handle b)
{
	return once(tape, TAPE_OP_MUL, a, b);
}

Handle tape_floordiv(Tape *tape, Handle a, Handle b)
{
	return once(tape, TAPE_OP_FLOORDIV, a, b);
}

Handle tape_ceildiv(Tape *tape, Handle a, Handle b)
{
	return once(tape, TAPE_OP_CEILDIV, a, b);
}

Handle tape_mod(Tape *tape, Handle a, Handle b)
{
	return once(tape, TAPE_OP_MOD, a, b);
}

Handle tape_min(Tape *tape, Handle a, Handle b)
{
	return once(tape, TAPE_OP_MIN, a, b);
}

Handle tape_max(Tape *tape, Handle a, Handle b)
{
	return once(tape, TAPE_OP_MAX, a, b);
}

Handle tape_at_most(Tape *tape, Handle a, Handle b)
{
	return once(tape, TAPE_OP_AT_MOST, a, b);
}

Handle tape_equal(Tape *tape, Handle a, Handle b)
{
	return once(tape, TAPE_OP_EQUAL, a, b);
}

Handle tape_multiple(Tape *tape, Handle a, Handle b)
{
	return once(tape, TAPE_OP_MULTIPLE, a, b);
}
