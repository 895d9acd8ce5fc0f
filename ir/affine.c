/* Integer expressions as a constant and terms with coefficients on the tape. */
#include "ir/nest/nest.h"

#include <assert.h>

#include "ir/expr_set.h"

enum { FEW = 8 }; /* terms that are looked through */

typedef struct {
	Arena *arena;
	Tape *tape;
	VEC(AffineTerm) terms; /* coefficient 0 where they cancel out */
	ExprSet many;	       /* the same, where they are more than FEW */
	Handle constant;
} AffineSum;

static int sum_find(const AffineSum *sum, const Expr *term)
{
	int at = sum->terms.n - 1;
	if (at >= FEW)
		return expr_set_find(&sum->many, term);
	while (at >= 0 && !expr_equal(sum->terms.at[at].term, term))
		at--;
	return at;
}

static void sum_add(AffineSum *sum, const Expr *term, Handle coefficient)
{
	int at = sum_find(sum, term);
	if (at >= 0) {
		Handle *c = &sum->terms.at[at].coefficient;
		*c = tape_add(sum->tape, *c, coefficient);
		return;
	}
	vec_push(sum->arena, &sum->terms,
	    (AffineTerm){(Expr *)(uintptr_t)term, coefficient});
	while (sum->terms.n > FEW && sum->many.all.n < sum->terms.n)
		expr_set_add(sum->arena, &sum->many,
		    sum->terms.at[sum->many.all.n].term);
}

static Affine sum_result(const AffineSum *sum)
{
	Affine a = {sum->constant, 0, sum->terms.at};
	int64_t zero;
	for (int i = 0; i < sum->terms.n; i++) {
		AffineTerm t = sum->terms.at[i];
		if (!tape_is_const(sum->tape, t.coefficient, &zero) || zero)
			a.terms[a.n++] = t;
	}
	return a;
}

static void sum_affine(AffineSum *sum, Affine a, Handle scale)
{
	Tape *tape = sum->tape;
	sum->constant = tape_add(
	    tape, sum->constant, tape_mul(tape, scale, a.constant));
	for (int i = 0; i < a.n; i++)
		sum_add(sum, a.terms[i].term,
		    tape_mul(tape, scale, a.terms[i].coefficient));
}

/* Each side is taken apart once: the value of a loop that was split many times
 * is a product of a product of a product. */
static void sum_product(AffineSum *sum, const Expr *e, Handle scale)
{
	Affine a = affine_of(sum->arena, sum->tape, e->arg[0]);
	Affine b = affine_of(sum->arena, sum->tape, e->arg[1]);
	if (!a.n)
		sum_affine(sum, b, tape_mul(sum->tape, scale, a.constant));
	else if (!b.n)
		sum_affine(sum, a, tape_mul(sum->tape, scale, b.constant));
	else
		sum_add(sum, e, scale);
}

/* e // c and e % c: what c divides leaves the quotient. */
static void sum_quotient(AffineSum *sum, const Expr *e, Handle scale)
{
	Tape *tape = sum->tape;
	Affine a = affine_of(sum->arena, tape, e->arg[0]);
	Affine c = affine_of(sum->arena, tape, e->arg[1]);
	Affine rest = {a.constant, 0, NEW_N(sum->arena, AffineTerm, a.n)};
	bool quotient = e->op == OP_FLOORDIV;
	Handle q;
	assert(!c.n);
	for (int i = 0; i < a.n; i++)
		if (!tape_divides(tape, a.terms[i].coefficient, c.constant, &q))
			rest.terms[rest.n++] = a.terms[i];
		else if (quotient)
			sum_add(sum, a.terms[i].term, tape_mul(tape, scale, q));
	if (!rest.n) {
		q = quotient ? tape_floordiv(tape, rest.constant, c.constant)
			     : tape_mod(tape, rest.constant, c.constant);
		sum->constant =
		    tape_add(tape, sum->constant, tape_mul(tape, scale, q));
		return;
	}
	sum_add(sum,
	    expr_binary(sum->arena, e->op, affine_expr(sum->arena, tape, rest),
		e->arg[1]),
	    scale);
}

static void sum_expr(AffineSum *sum, const Expr *e, Handle scale)
{
	Tape *tape = sum->tape;
	Handle c;
	switch (e->op) {
	case OP_INT:
	case OP_TAPE:
		c = e->op == OP_INT ? tape_const(tape, e->i) : e->id;
		sum->constant =
		    tape_add(tape, sum->constant, tape_mul(tape, scale, c));
		return;
	case OP_ADD:
	case OP_SUB:
		sum_expr(sum, e->arg[0], scale);
		if (e->op == OP_SUB)
			scale = tape_sub(tape, tape_const(tape, 0), scale);
		sum_expr(sum, e->arg[1], scale);
		return;
	case OP_NEG:
		sum_expr(
		    sum, e->arg[0], tape_sub(tape, tape_const(tape, 0), scale));
		return;
	case OP_MUL:
		sum_product(sum, e, scale);
		return;
	case OP_FLOORDIV:
	case OP_MOD:
		sum_quotient(sum, e, scale);
		return;
	default: sum_add(sum, e, scale);
	}
}

Affine affine_of(Arena *arena, Tape *tape, const Expr *e)
{
	AffineSum sum = {
	    .arena = arena, .tape = tape, .constant = tape_const(tape, 0)};
	sum_expr(&sum, e, tape_const(tape, 1));
	return sum_result(&sum);
}

Expr *handle_expr(Arena *arena, const Tape *tape, Handle h)
{
	int64_t value;
	return tape_is_const(tape, h, &value) ? expr_int(arena, DT_INDEX, value)
					      : expr_tape(arena, h);
}

static Expr *affine_term_expr(Arena *arena, const Tape *tape, AffineTerm t)
{
	int64_t value;
	if (tape_is_const(tape, t.coefficient, &value) && value == 1)
		return t.term;
	return expr_binary(
	    arena, OP_MUL, t.term, handle_expr(arena, tape, t.coefficient));
}

/* Of more than these in halves, so that no walk goes deeper than it does through
 * what a spec may nest. */
enum { IN_A_ROW = 256 };

static Expr *terms_expr(
    Arena *arena, const Tape *tape, AffineTerm *terms, int n)
{
	if (n > IN_A_ROW) {
		Expr *a = terms_expr(arena, tape, terms, n / 2);
		Expr *b = terms_expr(arena, tape, terms + n / 2, n - n / 2);
		return expr_binary(arena, OP_ADD, a, b);
	}
	Expr *sum = affine_term_expr(arena, tape, terms[0]);
	for (int i = 1; i < n; i++)
		sum = expr_binary(arena, OP_ADD, sum,
		    affine_term_expr(arena, tape, terms[i]));
	return sum;
}

Expr *affine_expr(Arena *arena, const Tape *tape, Affine a)
{
	int64_t value;
	if (!a.n)
		return handle_expr(arena, tape, a.constant);
	Expr *sum = terms_expr(arena, tape, a.terms, a.n);
	if (tape_is_const(tape, a.constant, &value) && !value)
		return sum;
	return expr_binary(
	    arena, OP_ADD, sum, handle_expr(arena, tape, a.constant));
}
