/* A loop of which data says the one iteration that counts (ir/nest/nest_scatter.c) is
 * no loop.
 *
 *     for i for k  y[k] += if label[i] == k then v[i] else 0
 * -->
 *     for i { k = label[i]; if (0 <= k and k < K) y[k] += v[i] }
 *
 * The conditions of the step that say so, and those before them, hold inside of it. */
#include "codegen/lower/lower_internal.h"

#include <assert.h>

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

typedef struct {
	Lower *l;
	int stage, pos;
	Scatter x;
	ScatterInside *inside;
} Step;

static void one_iteration(const Step *t)
{
	Lower *l = t->l;
	int loop = l->nest->stages.at[t->stage].loops[t->pos];
	assert(!l->part->vars[loop].bound && l->stage == t->stage);
	bind_var(l, loop, (Binding){true, index_of(l, t->x.value)});
	int settled = step_settle(l, t->stage, t->x.number + 1);
	t->inside(l, t->stage, t->pos, PHASE_UPDATE);
	step_settle(l, t->stage, settled);
	unbind(l, loop);
}

/* Under a condition, which is a fact then. */
static void if_holds(
    const Step *t, const Expr *e, Value holds, void (*then)(const Step *))
{
	Lower *l = t->l, in = *l;
	Step inner = *t;
	bool known;
	Branch b;
	if (value_is_bool(holds, &known)) {
		if (known)
			then(t);
		return;
	}
	branch_begin(l, &b, value_scalar(l, holds));
	push_facts(&in, e, true);
	inner.l = &in;
	then(&inner);
	branch_end(l, &b);
}

/* If there is such an iteration. */
static void if_inside(const Step *t)
{
	const Stage *s = &t->l->nest->stages.at[t->stage];
	const Expr *e =
	    scatter_inside(t->l->arena, &t->x, s->axes[t->x.axis].extent);
	if_holds(t, e, inside_axis(t->l, e), one_iteration);
}

bool scatter_loop(
    Lower *l, int stage, int pos, Phase phase, ScatterInside *inside)
{
	Lower in = *l;
	Step t = {.l = &in, .stage = stage, .pos = pos, .inside = inside};
	if (phase != PHASE_UPDATE ||
	    !nest_scatters(l->nest, l->arena, stage,
		l->nest->stages.at[stage].loops[pos],
		&step_conditions(l, stage)->parts, &t.x))
		return false;
	in.stage = stage;
	const Expr *before = asked_before(l, stage, &t.x);
	if (before)
		if_holds(&t, before, eval(&in, before), if_inside);
	else
		if_inside(&t);
	return true;
}
