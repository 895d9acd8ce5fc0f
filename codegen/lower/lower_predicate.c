/* Steps of a reduction that change nothing (ir/nest/nest_predicate.c) are not
 * made.
 *
 *     for y for r  c[y] += p[y + r] * w[r]   where 1 <= y + r < 8
 * -->
 *     for y for max(0, 1 - y) <= r < min(3, 8 - y)  c[y] += …
 *
 * A loop around the steps is narrowed to the iterations in which some step
 * inside of it may count; one that is repeated in code, and a single step, is
 * left out where none does.  What that does not settle is computed: what is
 * read there is 0.  What conditions are as indices is remembered while the
 * variables that they hang on do not move. */
#include "codegen/lower/lower_internal.h"

#include <assert.h>

/* --- conditions as indices -------------------------------------------------- */

/* The most that a form can be in what is left of the loops. */
static Index most(Lower *l, Index form)
{
	return index_extreme(l, form, true, true);
}

bool forms_never(Lower *l, const IndexVec *forms)
{
	for (int i = 0; i < forms->n; i++)
		if (index_negative(l, most(l, forms->at[i])))
			return true;
	return false;
}

static bool has_moved(const Lower *l, const Condition *c)
{
	for (int i = 0; i < c->vars.n; i++)
		if (c->moved[i] != l->part->moved[c->vars.at[i]])
			return true;
	return false;
}

static bool same(const IndexVec *a, const IndexVec *b)
{
	bool all = a->n == b->n;
	for (int i = 0; all && i < a->n; i++)
		all = low_affine_equal(a->at[i].form, b->at[i].form) &&
		    a->at[i].vector == b->at[i].vector;
	return all;
}

static void ask_forms(Lower *l, int stage, Condition *c)
{
	Lower in = condition_asked(l, stage);
	Asked asked = ask_begin(l);
	c->forms = (IndexVec){0};
	c->never_term.known = false;
	condition_forms(&in, c->expr, true, &c->forms);
	c->term = ask_end(l, asked, c->forms.at, c->forms.n);
	for (int i = 0; i < c->vars.n; i++)
		c->moved[i] = l->part->moved[c->vars.at[i]];
}

static void confirm(Lower *l, int stage, Condition *c)
{
	Condition was = *c;
	ask_forms(l, stage, c);
	assert(same(&was.forms, &c->forms));
	c->never_term = was.never_term;
}

static const IndexVec *condition_forms_of(Lower *l, int stage, Condition *c)
{
	if (!term_holds(l, &c->term) || has_moved(l, c))
		ask_forms(l, stage, c);
	else if (lower_asks_again)
		confirm(l, stage, c);
	return &c->forms;
}

static bool condition_never(Lower *l, int stage, Condition *c)
{
	const IndexVec *forms = condition_forms_of(l, stage, c);
	bool was = c->never;
	bool holds = c->term.known && term_holds(l, &c->never_term);
	if (holds && !lower_asks_again)
		return was;
	Asked asked = ask_begin(l);
	c->never = forms_never(l, forms);
	c->never_term = ask_end(l, asked, NULL, 0);
	assert(!holds || c->never == was);
	return c->never;
}

/* --- of a stage --------------------------------------------------------------- */

IndexVec step_forms_of(Lower *l, int stage, const ConditionVec *conditions)
{
	IndexVec all = {0};
	for (int i = 0; i < conditions->n; i++) {
		const IndexVec *forms =
		    condition_forms_of(l, stage, &conditions->at[i]);
		for (int k = 0; k < forms->n; k++)
			vec_push(l->arena, &all, forms->at[k]);
	}
	return all;
}

static IndexVec forms_of(Lower *l, int stage, bool own)
{
	const StepConditions *c = step_conditions(l, stage);
	return step_forms_of(l, stage, own ? &c->one : &c->all);
}

static IndexVec step_forms(Lower *l, int stage)
{
	return forms_of(l, stage, false);
}

static Index least(Lower *l, Index form)
{
	return index_extreme(l, form, false, true);
}

Value forms_some(Lower *l, const IndexVec *forms)
{
	Value some = value_const(DT_BOOL, 0, 1);
	Lower in = *l;
	for (int i = 0; i < forms->n; i++)
		some =
		    value_and_nonnegative(&in, some, most(&in, forms->at[i]));
	return some;
}

bool step_never(Lower *l, int stage)
{
	const ConditionVec *all = &step_conditions(l, stage)->all;
	for (int i = 0; i < all->n; i++)
		if (condition_never(l, stage, &all->at[i]))
			return true;
	return false;
}

/* rest + step*var >= 0 ends the loop, or begins it. */
static void limit_end(Lower *l, StepLimits *limits, Index rest, int64_t step)
{
	assert(step < 0);
	Index n = index_add(
	    l, index_floordiv(l, rest, -step), index_const(1), 1);
	limits->end =
	    limits->ends ? index_min(l, limits->end, n, false) : n;
	limits->ends = true;
}

/* At most at `most`; -1: anywhere. */
static void limit_first(Lower *l, StepLimits *limits, Index rest, int64_t step,
    int64_t most)
{
	assert(step > 0);
	Index n = index_floordiv(l,
	    index_add(l, index_const(step - 1), rest, -1), step);
	if (most >= 0)
		n = index_min(l, n, index_const(most), false);
	limits->first =
	    limits->begins ? index_min(l, limits->first, n, true) : n;
	limits->begins = true;
}

void step_limits_by(Lower *l, const IndexVec *forms, int var,
    StepLimits *limits, bool *moved)
{
	int symbol = SYMBOL_FREE - var;
	int64_t extent = loop_extent(l, var);
	assert(!l->part->vars[var].bound); /* else it is no symbol of theirs */
	for (int i = 0; i < forms->n; i++) {
		Index f = forms->at[i];
		int64_t step = index_coefficient(f, symbol);
		if (!step || index_nonnegative(l, least(l, f)))
			continue;
		Index rest = most(l, index_without(l, f, symbol));
		moved[i] = true;
		if (step < 0)
			limit_end(l, limits, rest, step);
		else
			limit_first(l, limits, rest, step, extent);
	}
}

void step_limits(Lower *l, int stage, int var, StepLimits *limits)
{
	IndexVec forms = step_forms(l, stage);
	bool *moved = NEW_N(l->arena, bool, forms.n);
	*limits = (StepLimits){.moved = moved};
	step_limits_by(l, &forms, var, limits, moved);
}

/* Besides `var` only what is repeated moves it, or lanes, and something does. */
static bool is_repeated_form(const Lower *l, Index f, int var)
{
	bool inside = f.vector >= 0;
	for (int i = 0; i < f.form.n; i++) {
		int symbol = f.form.terms[i].temp;
		int loop = SYMBOL_FREE - symbol;
		if (symbol > SYMBOL_FREE) {
			inside |= symbol == SYMBOL_LANE;
			continue;
		}
		if (loop == var)
			continue;
		if (loop >= l->nest->vars.n || !loop_at_compile_time(l, loop))
			return false;
		inside = true;
	}
	return inside;
}

bool step_whole_limits(Lower *l, int stage, int var, StepLimits *limits)
{
	IndexVec forms = forms_of(l, stage, true);
	int symbol = SYMBOL_FREE - var;
	*limits = (StepLimits){.moved = NEW_N(l->arena, bool, forms.n)};
	for (int i = 0; i < forms.n; i++) {
		Index f = forms.at[i];
		int64_t step = index_coefficient(f, symbol);
		if (!step || !is_repeated_form(l, f, var) ||
		    index_nonnegative(l, least(l, f)))
			continue;
		Index rest = least(l, index_without(l, f, symbol));
		limits->moved[i] = true;
		if (step < 0) {
			limits->end_form = limits->ends ? 0 : i + 1;
			limit_end(l, limits, rest, step);
		} else {
			limits->begin_form = limits->begins ? 0 : i + 1;
			limit_first(l, limits, rest, step, -1);
		}
	}
	return limits->begins || limits->ends;
}

Value step_every(Lower *l, int stage)
{
	IndexVec forms = forms_of(l, stage, true);
	Value every = value_const(DT_BOOL, 0, 1);
	Lower in = *l;
	for (int i = 0; i < forms.n; i++)
		if (is_repeated_form(l, forms.at[i], -1))
			every = value_and_nonnegative(
			    &in, every, least(&in, forms.at[i]));
	return every;
}

void step_every_facts(Lower *l, int stage)
{
	IndexVec forms = forms_of(l, stage, true);
	for (int i = 0; i < forms.n; i++)
		if (is_repeated_form(l, forms.at[i], -1))
			fact_push(l, least(l, forms.at[i]));
}

void step_facts(Lower *l, int stage, const StepLimits *limits)
{
	IndexVec forms = step_forms(l, stage);
	for (int i = 0; i < forms.n; i++)
		if (!limits || limits->moved[i])
			fact_push(l, most(l, forms.at[i]));
	if (limits && limits->fails) {
		forms = forms_of(l, stage, true);
		assert(limits->fails <= forms.n);
		fact_push(l, index_add(l, index_const(-1),
				 least(l, forms.at[limits->fails - 1]), -1));
	}
	if (limits && limits->within) {
		forms = forms_of(l, stage, true);
		for (int i = 0; i < forms.n; i++)
			if (limits->within->moved[i])
				fact_push(l, least(l, forms.at[i]));
	}
}

Value step_some(Lower *l, int stage)
{
	IndexVec forms = step_forms(l, stage);
	return forms_some(l, &forms);
}
