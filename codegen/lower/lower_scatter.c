/* A loop of which data says the one iteration that counts (ir/nest/nest_scatter.c) is
 * no loop.
 *
 *     for i for k  y[k] += if label[i] == k then v[i] else 0
 * -->
 *     for i { k = label[i]; if (0 <= k and k < K) y[k] += v[i] }
 *
 * The conditions of the step that say so, and those before them, hold inside of it. */
#include "codegen/lower/lower_internal.h"

/* Those before it that are not known to hold; NULL: none. */
static const Expr *asked_before(Lower *l, int stage, const Scatter *x)
{
	const StepConditions *c = step_conditions(l, stage);
	Expr *all = NULL;
	for (int i = c->settled; i < x->number; i++)
		all = all ? expr_binary(l->arena, OP_AND, all, c->parts.at[i])
			  : c->parts.at[i];
	return all;
}

/* Both ends at once: there is nothing that only one of them lets be read. */
static Value inside_axis(Lower *l, const Expr *inside)
{
	return value_and(l, eval(l, inside->arg[0]), eval(l, inside->arg[1]));
}

static void one_iteration(
    Lower *l, int stage, int pos, const Scatter *x, ScatterInside *inside)
{
	const Stage *s = &l->nest->stages.at[stage];
	int loop = s->loops[pos];
	bind(l, loop, (Binding){true, index_of(l, x->value)});
	int settled = step_settle(l, stage, x->number + 1), outer = l->stage;
	inside(l, stage, pos, PHASE_UPDATE);
	l->stage = outer;
	step_settle(l, stage, settled);
	unbind(l, loop);
}

/* Under the condition that there is one. */
static void if_inside(
    Lower *l, int stage, int pos, const Scatter *x, ScatterInside *inside)
{
	const Stage *s = &l->nest->stages.at[stage];
	const Expr *e = scatter_inside(l->arena, x, s->axes[x->axis].extent);
	Value some = inside_axis(l, e);
	int facts = l->facts.n;
	bool known;
	Branch b;
	if (value_is_bool(some, &known)) {
		if (known)
			one_iteration(l, stage, pos, x, inside);
		return;
	}
	branch_begin(l, &b, value_scalar(l, some));
	push_facts(l, e, true);
	one_iteration(l, stage, pos, x, inside);
	l->facts.n = facts;
	branch_end(l, &b);
}

static void if_asked(
    Lower *l, int stage, int pos, const Scatter *x, ScatterInside *inside)
{
	const Expr *before = asked_before(l, stage, x);
	Value some = before ? eval(l, before) : value_const(DT_BOOL, 0, 1);
	int facts = l->facts.n;
	bool known;
	Branch b;
	if (value_is_bool(some, &known)) {
		if (known)
			if_inside(l, stage, pos, x, inside);
		return;
	}
	branch_begin(l, &b, value_scalar(l, some));
	push_facts(l, before, true);
	if_inside(l, stage, pos, x, inside);
	l->facts.n = facts;
	branch_end(l, &b);
}

bool scatter_loop(
    Lower *l, int stage, int pos, Phase phase, ScatterInside *inside)
{
	int outer = l->stage;
	Scatter x;
	if (phase != PHASE_UPDATE ||
	    !nest_scatters(l->nest, l->arena, stage,
		l->nest->stages.at[stage].loops[pos],
		&step_conditions(l, stage)->parts, &x))
		return false;
	l->stage = stage;
	if_asked(l, stage, pos, &x, inside);
	l->stage = outer;
	return true;
}
