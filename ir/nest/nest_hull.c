/* Where an index can be while some loops stand still and the others run over
 * their full extents.  Conditions do not narrow it.
 *
 *     y*2 + r - 1, y fixed, r < 3:    outer 2*y, low -1, high 1
 *     (y + r) // 4, y fixed, r < 6:   outer (y // 4), low 0, high 2
 *
 * e // c spans at most ceildiv(span(e) - 1, c) + 1 elements, e % c its whole
 * range unless one quotient holds, and what c divides stays out of both: which
 * of these it is may depend on slots, so the tape chooses.  min, max, clamp and
 * abs never span more than what they are taken of.  What is read has no hull:
 * who asks takes the whole dimension. */
#include "ir/nest/nest.h"

#include <assert.h>

typedef struct {
	const Nest *nest;
	Arena *arena;
	Tape *tape;
	const bool *fixed;
} Hulls;

/* How many loops a variable is made of, and how many of them stand still. */
static void count_loops(const Hulls *h, int var, int *loops, int *still)
{
	const Var *v = &h->nest->vars.at[var];
	if (v->how == VAR_FUSED && !h->fixed[var]) {
		count_loops(h, v->fused, loops, still);
		return;
	}
	for (int i = 0; i < v->nchild; i++)
		count_loops(h, v->child[i], loops, still);
	if (v->how == VAR_SPLIT)
		return;
	++*loops;
	*still += h->fixed[var];
}

static bool var_stands_still(const Hulls *h, int var)
{
	int loops = 0, still = 0;
	count_loops(h, var, &loops, &still);
	return loops == still;
}

typedef struct {
	const Hulls *h;
	bool all, named; /* that of numbers alone has its ends */
} Standing;

static bool find_free(Expr *e, void *context)
{
	Standing *s = context;
	if (e->op == OP_AXIS || e->op == OP_READ || e->op == OP_CAST ||
	    (e->op == OP_VAR && !var_stands_still(s->h, e->id)))
		s->all = false;
	s->named |= !e->narg && e->op != OP_INT;
	return s->all;
}

static bool stands_still(const Hulls *h, Expr *e)
{
	Standing s = {h, true, false};
	expr_walk(e, find_free, &s);
	return s.all;
}

/* Not clamp(48, 0, 15), whose ends are numbers. */
static bool is_named_and_still(const Hulls *h, Expr *e)
{
	Standing s = {h, true, false};
	expr_walk(e, find_free, &s);
	return s.all && s.named;
}

static Hull interval(const Hulls *h, Handle low, Handle high)
{
	return (Hull){{tape_const(h->tape, 0), 0, NULL}, low, high, true};
}

static Hull unknown(const Hulls *h)
{
	Handle zero = tape_const(h->tape, 0);
	return (Hull){{zero, 0, NULL}, zero, zero, false};
}

static Hull standing(const Hulls *h, Expr *e)
{
	Hull hull = interval(h, tape_const(h->tape, 0), tape_const(h->tape, 0));
	hull.outer.n = 1;
	hull.outer.terms = NEW(h->arena, AffineTerm);
	hull.outer.terms[0] = (AffineTerm){e, tape_const(h->tape, 1)};
	return hull;
}

static bool same_term(const Affine *a, const AffineTerm *t)
{
	for (int i = 0; i < a->n; i++)
		if (a->terms[i].coefficient == t->coefficient &&
		    expr_equal(a->terms[i].term, t->term))
			return true;
	return false;
}

bool hull_same_outer(const Hull *a, const Hull *b)
{
	if (a->outer.n != b->outer.n)
		return false;
	for (int i = 0; i < a->outer.n; i++)
		if (!same_term(&b->outer, &a->outer.terms[i]))
			return false;
	return true;
}

/* The lower end as an expression. */
static Expr *bottom(const Hulls *h, const Hull *a)
{
	Affine sum = {a->low, a->outer.n, a->outer.terms};
	return affine_expr(h->arena, h->tape, sum);
}

/* The constant of a sum of outer terms goes to the ends. */
static void add_outer(const Hulls *h, Hull *to, const Affine *outer, Handle k)
{
	AffineTerm *terms = NEW_N(h->arena, AffineTerm, to->outer.n + outer->n);
	int n = to->outer.n;
	int64_t zero;
	for (int i = 0; i < n; i++)
		terms[i] = to->outer.terms[i];
	for (int i = 0; i < outer->n; i++) {
		Handle c = tape_mul(h->tape, outer->terms[i].coefficient, k);
		int j = 0;
		while (
		    j < n && !expr_equal(terms[j].term, outer->terms[i].term))
			j++;
		if (j == n)
			terms[n++] = (AffineTerm){outer->terms[i].term, c};
		else
			terms[j].coefficient =
			    tape_add(h->tape, terms[j].coefficient, c);
		if (tape_is_const(h->tape, terms[j].coefficient, &zero) &&
		    !zero)
			terms[j] = terms[--n];
	}
	to->outer.terms = terms;
	to->outer.n = n;
}

static void add_scaled(const Hulls *h, Hull *to, const Hull *t, Handle k)
{
	Tape *tape = h->tape;
	Handle a = tape_mul(tape, k, t->low), b = tape_mul(tape, k, t->high);
	Handle minus = tape_sub(tape, tape_const(tape, 0), k);
	to->known &= t->known;
	add_outer(h, to, &t->outer, k);
	if (tape_known_nonnegative(tape, k)) {
		to->low = tape_add(tape, to->low, a);
		to->high = tape_add(tape, to->high, b);
	} else if (tape_known_nonnegative(tape, minus)) {
		to->low = tape_add(tape, to->low, b);
		to->high = tape_add(tape, to->high, a);
	} else {
		to->low = tape_add(tape, to->low, tape_min(tape, a, b));
		to->high = tape_add(tape, to->high, tape_max(tape, a, b));
	}
}

static Hull hull_of(const Hulls *h, const Expr *e);
static Hull hull_of_affine(const Hulls *h, const Affine *a);

static Handle divisor(const Hulls *h, const Expr *e)
{
	Affine c = affine_of(h->arena, h->tape, e->arg[1]);
	assert(!c.n);
	return c.constant;
}

/* 1 where c divides what the loops that stand still add, else 0. */
static Handle aligned(const Hulls *h, const Affine *outer, Handle c)
{
	Handle zero = tape_const(h->tape, 0), all = tape_const(h->tape, 1);
	for (int i = 0; i < outer->n; i++)
		all = tape_mul(h->tape, all,
		    tape_equal(h->tape,
			tape_mod(h->tape, outer->terms[i].coefficient, c),
			zero));
	return all;
}

/* a where `which` is 1, b where it is 0. */
static Handle choose(const Hulls *h, Handle which, Handle a, Handle b)
{
	return tape_add(h->tape, b,
	    tape_mul(h->tape, which, tape_sub(h->tape, a, b)));
}

static Hull hull_floordiv(const Hulls *h, const Expr *e)
{
	Tape *tape = h->tape;
	Hull a = hull_of(h, e->arg[0]);
	Handle c = divisor(h, e);
	if (!a.known)
		return a;
	Handle first = tape_floordiv(tape, a.low, c);
	Handle last = tape_floordiv(tape, a.high, c);
	if (!a.outer.n)
		return interval(h, first, last);
	Hull q = standing(
	    h, expr_binary(h->arena, OP_FLOORDIV, bottom(h, &a), e->arg[1]));
	q.high = choose(h, aligned(h, &a.outer, c),
	    tape_sub(tape, last, first),
	    tape_ceildiv(tape, tape_sub(tape, a.high, a.low), c));
	return q;
}

/* The remainders of the ends where both have one quotient, else all.  What c
 * divides, and only that, adds nothing. */
static Hull hull_mod(const Hulls *h, const Expr *e)
{
	Tape *tape = h->tape;
	Handle c = divisor(h, e), one = tape_const(tape, 1);
	Handle zero = tape_const(tape, 0), last = tape_sub(tape, c, one);
	Affine a = affine_of(h->arena, tape, e->arg[0]);
	for (int i = 0; i < a.n; i++) {
		Handle *k = &a.terms[i].coefficient;
		*k = choose(h, tape_equal(tape, tape_mod(tape, *k, c), zero),
		    zero, *k);
	}
	Hull r = hull_of_affine(h, &a);
	if (!r.known)
		return interval(h, zero, last);
	Handle q = tape_floordiv(tape, r.low, c);
	Handle same = tape_mul(tape, aligned(h, &r.outer, c),
	    tape_equal(tape, tape_floordiv(tape, r.high, c), q));
	Handle base = tape_mul(tape, q, c);
	return interval(h, choose(h, same, tape_sub(tape, r.low, base), zero),
	    choose(h, same, tape_sub(tape, r.high, base), last));
}

static Handle span_of(const Hulls *h, const Hull *a)
{
	return tape_sub(h->tape, a->high, a->low);
}

/* min or max: monotone in both, so with one outer part the ends are those of
 * the ends; else it starts at min or max of the starts and spans no more than
 * the wider. */
static Hull hull_minmax(const Hulls *h, Op op, Expr *x, Expr *y)
{
	Tape *tape = h->tape;
	Hull a = hull_of(h, x), b = hull_of(h, y);
	Handle (*pick)(Tape *, Handle, Handle) =
	    op == OP_MIN ? tape_min : tape_max;
	if (!a.known || !b.known)
		return unknown(h);
	if (hull_same_outer(&a, &b)) {
		a.low = pick(tape, a.low, b.low);
		a.high = pick(tape, a.high, b.high);
		return a;
	}
	Expr *ends[2] = {bottom(h, &a), bottom(h, &b)};
	Hull q = standing(h, expr_call(h->arena, op, DT_INDEX, ends, 2));
	q.high = tape_max(tape, span_of(h, &a), span_of(h, &b));
	return q;
}

static Hull hull_clamp(const Hulls *h, const Expr *e)
{
	Expr *raised = expr_call(h->arena, OP_MAX, DT_INDEX, e->arg, 2);
	return hull_minmax(h, OP_MIN, raised, e->arg[2]);
}

static Hull hull_abs(const Hulls *h, const Expr *e)
{
	Tape *tape = h->tape;
	Hull a = hull_of(h, e->arg[0]);
	Handle zero = tape_const(tape, 0);
	if (!a.known)
		return a;
	if (!a.outer.n) {
		Handle minus_high = tape_sub(tape, zero, a.high);
		Handle minus_low = tape_sub(tape, zero, a.low);
		return interval(h,
		    tape_max(tape, zero, tape_max(tape, a.low, minus_high)),
		    tape_max(tape, minus_low, a.high));
	}
	Expr *low = bottom(h, &a);
	Expr *high = expr_binary(
	    h->arena, OP_ADD, low, handle_expr(h->arena, tape, span_of(h, &a)));
	Expr *ends[2] = {low, expr_unary(h->arena, OP_NEG, high)};
	ends[0] = expr_call(h->arena, OP_MAX, DT_INDEX, ends, 2);
	ends[1] = expr_int(h->arena, DT_INDEX, 0);
	Hull q = standing(h, expr_call(h->arena, OP_MAX, DT_INDEX, ends, 2));
	q.high = span_of(h, &a);
	return q;
}

static Hull hull_if(const Hulls *h, const Expr *e)
{
	Tape *tape = h->tape;
	Hull a = hull_of(h, e->arg[1]), b = hull_of(h, e->arg[2]);
	if (!a.known || !b.known)
		return unknown(h);
	if (hull_same_outer(&a, &b)) {
		a.low = tape_min(tape, a.low, b.low);
		a.high = tape_max(tape, a.high, b.high);
		return a;
	}
	if (!stands_still(h, e->arg[0]))
		return unknown(h);
	Hull q = standing(
	    h, expr_if(h->arena, e->arg[0], bottom(h, &a), bottom(h, &b)));
	q.high = tape_max(tape, span_of(h, &a), span_of(h, &b));
	return q;
}

/* A part of a fused loop of whose loops some stand still is what it is computed
 * as. */
static Hull hull_var(const Hulls *h, int var)
{
	const Var *v = &h->nest->vars.at[var];
	int loops = 0, still = 0;
	count_loops(h, var, &loops, &still);
	if (still)
		return hull_of(h, nest_var_value(h->nest, var));
	Handle all = v->how == VAR_FUSED ? nest_covered(h->nest, var) : v->extent;
	return interval(h, tape_const(h->tape, 0),
	    tape_sub(h->tape, all, tape_const(h->tape, 1)));
}

static Hull hull_term(const Hulls *h, Expr *e)
{
	if (is_named_and_still(h, e))
		return standing(h, e);
	switch (e->op) {
	case OP_VAR:
		return hull_var(h, e->id);
	case OP_FLOORDIV:
		return hull_floordiv(h, e);
	case OP_MOD:
		return hull_mod(h, e);
	case OP_MIN:
	case OP_MAX:
		return hull_minmax(h, e->op, e->arg[0], e->arg[1]);
	case OP_CLAMP:
		return hull_clamp(h, e);
	case OP_ABS:
		return hull_abs(h, e);
	case OP_IF:
		return hull_if(h, e);
	default:
		return unknown(h);
	}
}

static Hull hull_of_affine(const Hulls *h, const Affine *a)
{
	Hull sum = interval(h, a->constant, a->constant);
	for (int i = 0; i < a->n; i++) {
		Hull t = hull_term(h, a->terms[i].term);
		add_scaled(h, &sum, &t, a->terms[i].coefficient);
	}
	return sum;
}

static Hull hull_of(const Hulls *h, const Expr *e)
{
	Affine a = affine_of(h->arena, h->tape, e);
	return hull_of_affine(h, &a);
}

Hull nest_hull(const Nest *nest, const Expr *e, const bool *fixed)
{
	Hulls h = {nest, nest->arena, nest->tape, fixed};
	return hull_of(&h, e);
}

/* Loops that move an index, each with its step; false where it is moved by
 * anything else. */
static bool moving_terms(const Hulls *h, const Expr *e, Affine *out)
{
	*out = affine_of(h->arena, h->tape, e);
	int n = 0;
	for (int i = 0; i < out->n; i++) {
		AffineTerm t = out->terms[i];
		int loops = 0, still = 0;
		if (stands_still(h, t.term))
			continue;
		if (t.term->op != OP_VAR)
			return false;
		count_loops(h, t.term->id, &loops, &still);
		if (still)
			return false;
		out->terms[n++] = t;
	}
	out->n = n;
	return true;
}

/* The steps of the moving terms no longer than what the smaller ones span: the
 * next such term first, where none is known the last. */
static int next_dense(const Hulls *h, const Affine *a, Handle span)
{
	for (int i = 0; i < a->n; i++)
		if (tape_known_nonnegative(h->tape,
			tape_sub(h->tape, span, a->terms[i].coefficient)))
			return i;
	return a->n - 1;
}

Handle nest_hull_dense(const Nest *nest, const Expr *e, const bool *fixed)
{
	Hulls h = {nest, nest->arena, nest->tape, fixed};
	Tape *tape = nest->tape;
	Handle one = tape_const(tape, 1), span = one, dense = one;
	Affine a;
	if (!moving_terms(&h, e, &a))
		return tape_const(tape, 0);
	while (a.n) {
		int i = next_dense(&h, &a, span);
		Handle step = a.terms[i].coefficient;
		Handle extent = nest->vars.at[a.terms[i].term->id].extent;
		dense = tape_min(tape, dense,
		    tape_max(tape, tape_at_most(tape, step, span),
			tape_equal(tape, extent, one)));
		span = tape_add(tape, span,
		    tape_mul(tape, step, tape_sub(tape, extent, one)));
		a.terms[i] = a.terms[--a.n];
	}
	return dense;
}
