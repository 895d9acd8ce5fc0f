/* The exponents of a softmax, which are not above 0: of what they are made the
 * greatest is taken off.
 *
 *     m[i]    = max over j of s[i, j]*c
 *     e[i, j] = exp(s[i, j]*c - m[i])
 *
 * The element of the maximum is matched with what it is taken off from: axes of
 * the reduction stand for any axis that is no longer.  Where the element is an
 * `if` whose other arm is -inf, its condition has to hold for the exponent, too:
 * around it, or for all elements of its stage that are used.  Rounding may leave
 * a little more than 0, a fused multiplication more; never infinity. */
#include "ir/nest/nest.h"

#include <math.h>

enum { COPIES_MOST = 4 }; /* of a maximum, one of another */

typedef struct {
	const Nest *nest;
	Arena *arena;
	const Stage *stage;
	ExprSet used; /* conditions that hold for all elements that are */
	ExprVec proven; /* exponents */
	ExprSet others;
} Exponents;

/* --- the maximum ---------------------------------------------------------------- */

typedef struct {
	const Stage *stage;
	Expr **values; /* of its axes, in the reader's; NULL: not known yet */
} Maximum;

/* What is read, in the reader's axes. */
static bool open_read(
    const Exponents *p, const Expr *read, Expr *const *index, Maximum *m)
{
	int writer = p->nest->buffers.at[read->id].writer;
	if (writer < 0)
		return false;
	const Stage *s = &p->nest->stages.at[writer];
	if (s->fill || s->carries >= 0 || s->intrinsic >= 0 || s->with >= 0)
		return false;
	*m = (Maximum){s, NEW_N(p->arena, Expr *, s->naxes + 1)};
	for (int d = 0; d < s->nwrite; d++) {
		if (s->write[d]->op != OP_AXIS)
			return false;
		m->values[s->write[d]->id] = index[d];
	}
	return true;
}

/* The reduction by max whose result is read, by way of copies. */
static bool find_maximum(const Exponents *p, const Expr *read, Maximum *m)
{
	Expr *const *index = read->arg;
	for (int i = 0; i < COPIES_MOST && read->op == OP_READ; i++) {
		if (!open_read(p, read, index, m))
			return false;
		const Stage *s = m->stage;
		if (s->reduce != REDUCE_NONE)
			return s->reduce == REDUCE_MAX;
		Expr **next = NEW_N(p->arena, Expr *, s->body->narg + 1);
		for (int d = 0; d < s->body->narg; d++)
			next[d] = expr_substitute_axes(
			    p->arena, s->body->arg[d], m->values, s->naxes);
		index = next;
		read = s->body;
	}
	return false;
}

/* --- its element -------------------------------------------------------------- */

static bool stands_for(const Exponents *p, Maximum *m, int axis, Expr *e)
{
	if (m->values[axis])
		return expr_equal(m->values[axis], e);
	if (e->op != OP_AXIS ||
	    p->stage->axes[e->id].extent > m->stage->axes[axis].extent)
		return false;
	m->values[axis] = e;
	return true;
}

static bool matches(
    const Exponents *p, Maximum *m, const Expr *element, Expr *e)
{
	if (element->op == OP_AXIS)
		return stands_for(p, m, element->id, e);
	if (element->op != e->op || element->type != e->type ||
	    element->narg != e->narg || element->id != e->id)
		return false;
	for (int i = 0; i < e->narg; i++)
		if (!matches(p, m, element->arg[i], e->arg[i]))
			return false;
	return e->narg || expr_equal(element, e);
}

/* Does the condition of an element hold where the exponent is? */
static bool is_under(
    const Exponents *p, const Maximum *m, Expr *condition, const ExprVec *under)
{
	ExprVec parts = {0};
	for (int a = 0; a < m->stage->naxes; a++)
		if (!m->values[a])
			return false;
	condition = expr_substitute_axes(
	    p->arena, condition, m->values, m->stage->naxes);
	nest_condition_parts(p->nest, p->arena, condition, true, &parts);
	ExprSet around = expr_set_of(p->arena, under);
	for (int i = 0; i < parts.n; i++)
		if (expr_set_find(&around, parts.at[i]) < 0 &&
		    expr_set_find(&p->used, parts.at[i]) < 0)
			return false;
	return parts.n > 0;
}

static bool is_least(const Expr *e)
{
	return e->op == OP_FLOAT && isinf(e->f) && e->f < 0;
}

/* Only what the conditions of `if`s on axes alone say is compared. */
static bool is_plain_condition(const Expr *e)
{
	return e->op == OP_AND
	    ? is_plain_condition(e->arg[0]) && is_plain_condition(e->arg[1])
	    : op_kind(e->op) == OPKIND_COMPARE && e->arg[0]->type == DT_INDEX;
}

static bool is_below(const Exponents *p, Expr *x, const ExprVec *under)
{
	Maximum m;
	if (x->op != OP_SUB || x->arg[1]->op != OP_READ ||
	    !find_maximum(p, x->arg[1], &m))
		return false;
	const Expr *element = m.stage->body;
	if (element->op != OP_IF)
		return matches(p, &m, element, x->arg[0]);
	return is_least(element->arg[2]) &&
	    is_plain_condition(element->arg[0]) &&
	    matches(p, &m, element->arg[1], x->arg[0]) &&
	    is_under(p, &m, element->arg[0], under);
}

/* --- all exponents -------------------------------------------------------------- */

static void find_exponents(Exponents *p, Expr *e, const ExprVec *under)
{
	if (e->op == OP_EXP && is_below(p, e->arg[0], under))
		vec_push(p->arena, &p->proven, e->arg[0]);
	else if (e->op == OP_EXP)
		expr_set_add(p->arena, &p->others, e->arg[0]);
	for (int i = 0; i < e->narg; i++) {
		ExprVec inside = *under;
		if (e->op == OP_IF && i)
			nest_condition_parts(
			    p->nest, p->arena, e->arg[0], i == 1, &inside);
		find_exponents(p, e->arg[i], &inside);
	}
}

static bool finds_exponent(Expr *e, void *any)
{
	*(bool *)any |= e->op == OP_EXP;
	return !*(bool *)any;
}

ExprSet nest_softmax_exponents(const Nest *nest, Arena *arena, int stage)
{
	Exponents p = {
	    .nest = nest, .arena = arena, .stage = &nest->stages.at[stage]};
	ExprVec none = {0};
	ExprSet all = {0};
	bool any = false;
	expr_walk(p.stage->body, finds_exponent, &any);
	if (!any)
		return all;
	ExprVec used = nest_live_conditions(nest, arena, stage);
	p.used = expr_set_of(arena, &used);
	find_exponents(&p, p.stage->body, &none);
	for (int i = 0; i < p.proven.n; i++)
		if (expr_set_find(&p.others, p.proven.at[i]) < 0)
			expr_set_add(arena, &all, p.proven.at[i]);
	return all;
}
