/* Loops cut where the condition of an `if` changes, or where an index does what
 * it did not: wraps around, is clamped.
 *
 *     for j  y[j] = if j <= i then f(j) else 0
 * -->
 *     for j < i + 1  y[j] = f(j)
 *     for i + 1 <= j  y[j] = 0
 *
 * A condition is a form that is at least 0.  Where vectors and loops that are
 * repeated in code move it, too, it holds for all of them, for none, or the
 * iteration is one between and tests.  Iterations keep their order.
 *
 * What stands before a loop is not asked in it: there is one for each arm. */
#include "codegen/lower/lower_internal.h"

#include <assert.h>

typedef struct {
	Lower *l;
	IndexVec forms;
	IntVec wraps; /* those that say where an index wraps around */
	IntVec bends; /* those of indices */
} Forms;

/* A form for each place, whatever is known there, so that they can be counted. */
static void add_form(Forms *f, Index form)
{
	vec_push(f->l->arena, &f->forms, form);
}

static void add_difference(Forms *f, const Expr *a, const Expr *b)
{
	Index x = index_of(f->l, a), y = index_of(f->l, b);
	bool apart = index_apart(f->l, x, y);
	add_form(f, apart ? index_const(0) : index_add(f->l, x, y, -1));
}

/* Where an index wraps around; which of the two comes first does not depend on
 * what is known here. */
static void add_wraps(Forms *f, const Expr *e)
{
	Index wraps[2];
	index_wraps(f->l, index_of(f->l, e->arg[0]),
	    index_divisor(f->l, e->arg[1]), wraps);
	for (int i = 0; i < 2; i++) {
		vec_push(f->l->arena, &f->wraps, f->forms.n);
		add_form(f, wraps[i]);
	}
}

/* Which of its two values an index takes. */
static void add_index_forms(Forms *f, const Expr *e)
{
	switch (e->op) {
	case OP_MIN:
	case OP_MAX: add_difference(f, e->arg[0], e->arg[1]); break;
	case OP_CLAMP:
		add_difference(f, e->arg[0], e->arg[1]);
		add_difference(f, e->arg[2], e->arg[0]);
		break;
	case OP_ABS: add_form(f, index_of(f->l, e->arg[0])); break;
	case OP_MOD: add_wraps(f, e); break;
	default: break;
	}
}

static bool bends(const Expr *e)
{
	return e->type == DT_INDEX &&
	    (e->op == OP_MIN || e->op == OP_MAX || e->op == OP_CLAMP ||
		e->op == OP_ABS || e->op == OP_MOD) &&
	    !expr_has_data(e);
}

static bool add_forms(Expr *e, void *context)
{
	Forms *f = context;
	if (e->op == OP_IF)
		condition_forms(f->l, e->arg[0], true, &f->forms);
	int from = f->forms.n;
	if (bends(e))
		add_index_forms(f, e);
	for (int i = from; i < f->forms.n; i++)
		vec_push(f->l->arena, &f->bends, i);
	return true;
}

/* Of a stage's body; no code comes of them. */
static Forms body_forms(
    Lower *l, int stage, bool (*add)(Expr *e, void *context))
{
	Lower asked = condition_asked(l, stage);
	Forms c = {.l = &asked};
	expr_walk(l->nest->stages.at[stage].body, add, &c);
	c.l = l;
	return c;
}

static Index most(Lower *l, Index form)
{
	return index_extreme(l, form, true, true);
}

static Index least(Lower *l, Index form)
{
	return index_extreme(l, form, false, true);
}

/* Besides the loop nothing moves it that runs inside. */
static bool is_simple(const Lower *l, Index f, int var)
{
	for (int i = 0; i < f.form.n; i++) {
		int loop = SYMBOL_FREE - f.form.terms[i].temp;
		if (loop < 0 || loop == var)
			continue;
		if (loop >= l->nest->vars.n || !loop_at_compile_time(l, loop))
			return false;
	}
	return f.vector < 0;
}

/* rest + step*var >= 0 from (step > 0) or before that number on. */
static Index boundary(Lower *l, Index rest, int64_t step)
{
	if (step < 0)
		return index_add(
		    l, index_floordiv(l, rest, -step), index_const(1), 1);
	return index_floordiv(
	    l, index_add(l, index_const(step - 1), rest, -1), step);
}

static bool is_among(const IntVec *forms, int form)
{
	for (int i = 0; i < forms->n; i++)
		if (forms->at[i] == form)
			return true;
	return false;
}

/* For a mask alone so few iterations are not worth code of their own. */
enum { CUT_LEAST = 4 };

bool loop_cut(Lower *l, int stage, int var, int from, LoopCut *cut)
{
	Forms body = body_forms(l, stage, add_forms);
	IndexVec forms = body.forms;
	int symbol = SYMBOL_FREE - var;
	bool few = loop_extent(l, var) < CUT_LEAST;
	assert(!l->part->vars[var].bound && from >= 0);
	for (int i = from; i < forms.n; i++) {
		Index f = forms.at[i];
		int64_t step = index_coefficient(f, symbol);
		if (!step || !is_simple(l, f, var) ||
		    index_nonnegative(l, least(l, f)) ||
		    index_negative(l, most(l, f)) ||
		    (few && !is_among(&body.bends, i)))
			continue;
		Index rest = index_without(l, f, symbol);
		Index all = boundary(l, least(l, rest), step);
		Index some = boundary(l, most(l, rest), step);
		*cut = (LoopCut){.form = i,
		    .rises = step > 0,
		    .wraps = is_among(&body.wraps, i),
		    .first = step > 0 ? some : all,
		    .second = step > 0 ? all : some};
		return true;
	}
	return false;
}

/* The form of a comparison alone, by which an arm is chosen. */
static bool add_comparison(Expr *e, void *context)
{
	Forms *f = context;
	if (e->op == OP_IF && op_kind(e->arg[0]->op) == OPKIND_COMPARE)
		condition_forms(f->l, e->arg[0], true, &f->forms);
	return true;
}

bool loop_decided(Lower *l, int stage, Index *form)
{
	IndexVec forms = body_forms(l, stage, add_comparison).forms;
	for (int i = 0; i < forms.n; i++) {
		*form = forms.at[i];
		if (!index_has_free(*form) && !index_has_lanes(*form) &&
		    !index_nonnegative(l, *form) && !index_negative(l, *form))
			return true;
	}
	return false;
}

void loop_cut_facts(Lower *l, int stage, const CutFact *facts)
{
	IndexVec forms = body_forms(l, stage, add_forms).forms;
	for (; facts; facts = facts->up) {
		assert(facts->form >= 0 && facts->form < forms.n);
		Index f = forms.at[facts->form];
		fact_push(l, facts->holds
			? least(l, f)
			: index_add(l, index_const(-1), most(l, f), -1));
	}
}
