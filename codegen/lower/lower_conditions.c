/* The conditions under which a step of a reduction counts and an element is used, as
 * the nest says it (ir/nest/nest_predicate.c, nest_dead.c, nest_softmax.c), asked once a
 * stage.
 *
 *     c[y] += if 0 <= y and y < 8 then p[y] else 0   -->   0 <= y; y < 8; p[y]
 */
#include "codegen/lower/lower_internal.h"

#include <assert.h>

typedef struct {
	const Lower *l;
	int stage;
	IntVec vars;
} Roots;

static bool add_roots(Expr *e, void *context)
{
	Roots *r = context;
	if (e->op == OP_VAR)
		vec_push(r->l->arena, &r->vars, e->id);
	if (e->op != OP_AXIS)
		return true;
	const StageAxis *a = &r->l->nest->stages.at[r->stage].axes[e->id];
	vec_push(r->l->arena, &r->vars, a->var);
	if (a->start)
		expr_walk(a->start, add_roots, r);
	return true;
}

/* Each part of an `and` for itself: they do not all move at once. */
void condition_add(Lower *l, int stage, Expr *e, ConditionVec *all)
{
	Roots r = {.l = l, .stage = stage};
	if (e->op == OP_AND) {
		condition_add(l, stage, e->arg[0], all);
		condition_add(l, stage, e->arg[1], all);
		return;
	}
	expr_walk(e, add_roots, &r);
	Condition c = {
	    .expr = e, .vars = r.vars, .moved = NEW_N(l->arena, int, r.vars.n)};
	vec_push(l->arena, all, c);
}

/* The blocks of a GPU compute what they are told. */
static ExprVec live_of(Lower *l, int stage)
{
	return l->part->launched
	    ? (ExprVec){0}
	    : nest_live_conditions(l->nest, l->arena, stage);
}

static ConditionVec remembered(Lower *l, int stage, ExprVec conditions)
{
	ConditionVec all = {0};
	for (int i = 0; i < conditions.n; i++)
		condition_add(l, stage, conditions.at[i], &all);
	return all;
}

static Expr *as_one(Lower *l, const ExprVec *parts, int first)
{
	Expr *all = NULL;
	for (int i = first; i < parts->n; i++)
		all = all ? expr_binary(l->arena, OP_AND, all, parts->at[i])
			  : parts->at[i];
	return all;
}

Lower condition_asked(const Lower *l, int stage)
{
	Lower in = *l;
	in.stage = stage;
	in.clamp = NULL;
	in.silent = true;
	return in;
}

static StepConditions *conditions_of(Lower *l, int stage)
{
	const Stage *s = &l->nest->stages.at[stage];
	StepConditions *c = &l->part->steps[stage];
	if (c->known)
		return c;
	c->known = true;
	c->live = remembered(l, stage, live_of(l, stage));
	c->exponents = nest_softmax_exponents(l->nest, l->arena, stage);
	if (s->reduce == REDUCE_NONE)
		return c;
	c->parts = nest_step_conditions(l->nest, l->arena, stage, false);
	c->all = remembered(
	    l, stage, nest_step_conditions(l->nest, l->arena, stage, true));
	c->element = nest_step_element(l->nest, l->arena, stage);
	c->guarded = s->body;
	c->own = as_one(l, &c->parts, 0);
	if (c->own)
		condition_add(l, stage, c->own, &c->one);
	if (c->own && nest_step_relies(l->nest, l->arena, stage))
		c->guarded = expr_if(l->arena, c->own, c->element,
		    expr_identity(l->arena, s->reduce, c->element->type));
	return c;
}

const StepConditions *step_conditions(Lower *l, int stage)
{
	return conditions_of(l, stage);
}

bool step_has_conditions(Lower *l, int stage)
{
	return conditions_of(l, stage)->all.n > 0;
}

bool step_is_softmax_exponent(Lower *l, const Expr *exponent)
{
	return expr_set_find(
		   &conditions_of(l, l->stage)->exponents, exponent) >= 0;
}

const Expr *step_element(Lower *l, int stage)
{
	return conditions_of(l, stage)->element;
}

const Expr *step_guarded(Lower *l, int stage)
{
	return conditions_of(l, stage)->guarded;
}

const Expr *step_condition(Lower *l, int stage)
{
	return conditions_of(l, stage)->own;
}

int step_settle(Lower *l, int stage, int n)
{
	StepConditions *c = conditions_of(l, stage);
	int before = c->settled;
	assert(c->known && n >= 0 && n <= c->parts.n);
	c->settled = n;
	c->own = as_one(l, &c->parts, n);
	return before;
}
