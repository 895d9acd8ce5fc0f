/* Loop variables bound and let go, and what is remembered of them.
 *
 *     for y { for r { c_0 += p[y + r] ...; c_1 += p[y + r] ...; } }
 *
 * A body that is repeated in code asks the same of index algebra for each copy:
 * what `y + r` is, whether the row counts.  An answer is remembered with the
 * variables that it hung on; while none of them moved, it holds, as far as what it
 * names is still to be had here. */
#include "codegen/lower/lower_internal.h"

#include <assert.h>

bool lower_asks_again;

/* --- bindings ------------------------------------------------------------- */

static void add_mover(Lower *l, int leaf, int var)
{
	const Var *v = &l->nest->vars.at[leaf];
	if (v->how == VAR_LOOP)
		vec_push(l->arena, &l->movers[leaf], var);
	else if (v->how == VAR_FUSED)
		add_mover(l, v->fused, var);
	for (int i = 0; v->how == VAR_SPLIT && i < v->nchild; i++)
		add_mover(l, v->child[i], var);
}

void bind_begin(Lower *l)
{
	int n = l->nest->vars.n;
	if (!l->movers) {
		l->movers = NEW_N(l->arena, IntVec, n);
		l->moved = NEW_N(l->arena, int, n);
		l->values = NEW_N(l->arena, KnownValue, n);
		for (int i = 0; i < n; i++)
			add_mover(l, i, i);
	}
	l->moves++;
	for (int i = 0; i < n; i++) {
		l->vars[i] = (Binding){0};
		l->moved[i] = l->moves;
	}
}

Binding bind_var(Lower *l, int var, Binding binding)
{
	Binding was = l->vars[var];
	const IntVec *movers = &l->movers[var];
	assert(l->nest->vars.at[var].how == VAR_LOOP && movers->n > 0);
	l->vars[var] = binding;
	l->moves++;
	for (int i = 0; i < movers->n; i++)
		l->moved[movers->at[i]] = l->moves;
	return was;
}

void unbind(Lower *l, int var)
{
	bind_var(l, var, (Binding){0});
}

/* --- answers -------------------------------------------------------------- */

int fact_newest(const Lower *l)
{
	return l->facts.n ? l->facts.at[l->facts.n - 1].number : 0;
}

Asked ask_begin(const Lower *l)
{
	return (Asked){l->free_ranges.n, l->asked_facts};
}

static int deepest(const Lower *l, const Index *x, int n)
{
	int depth = 0;
	for (int i = 0; i < n; i++)
		for (int k = 0; k < x[i].form.n; k++) {
			int temp = x[i].form.terms[k].temp;
			if (temp >= 0 && l->temps.at[temp].depth > depth)
				depth = l->temps.at[temp].depth;
		}
	return depth;
}

/* Vectors of indices are code wherever they are added up. */
Term ask_end(const Lower *l, Asked asked, const Index *answer, int n)
{
	Term t = {.known = l->free_ranges.n == asked.unknowns};
	for (int i = 0; i < n; i++)
		t.known = t.known && answer[i].vector < 0;
	t.fact = l->asked_facts == asked.facts ? -1 : fact_newest(l);
	t.depth = deepest(l, answer, n);
	t.serial = l->open_serial[t.depth];
	t.fence = l->scope->fenced;
	return t;
}

bool term_holds(const Lower *l, const Term *t)
{
	return t->known && (t->fact < 0 || t->fact == fact_newest(l)) &&
	    l->open_serial[t->depth] == t->serial &&
	    l->scope->fenced == t->fence;
}

/* --- conditions ----------------------------------------------------------- */

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
	Condition c = {.expr = e,
	    .vars = r.vars,
	    .moved = NEW_N(l->arena, int, r.vars.n)};
	vec_push(l->arena, all, c);
}

static bool has_moved(const Lower *l, const Condition *c)
{
	for (int i = 0; i < c->vars.n; i++)
		if (c->moved[i] != l->moved[c->vars.at[i]])
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

/* No code comes of them.  Rows outside of the block are nobody's: nothing is
 * clamped. */
static void ask_forms(Lower *l, int stage, Condition *c)
{
	const bool *clamp = l->clamp;
	int outer = l->stage;
	Asked asked = ask_begin(l);
	c->forms = (IndexVec){0};
	c->never_term.known = false;
	l->clamp = NULL;
	l->stage = stage;
	l->silent++;
	condition_forms(l, c->expr, true, &c->forms);
	l->silent--;
	l->stage = outer;
	l->clamp = clamp;
	c->term = ask_end(l, asked, c->forms.at, c->forms.n);
	for (int i = 0; i < c->vars.n; i++)
		c->moved[i] = l->moved[c->vars.at[i]];
}

static void confirm(Lower *l, int stage, Condition *c)
{
	Condition was = *c;
	ask_forms(l, stage, c);
	assert(same(&was.forms, &c->forms));
	c->never_term = was.never_term;
}

const IndexVec *condition_forms_of(Lower *l, int stage, Condition *c)
{
	if (!term_holds(l, &c->term) || has_moved(l, c))
		ask_forms(l, stage, c);
	else if (lower_asks_again)
		confirm(l, stage, c);
	return &c->forms;
}

bool condition_never(Lower *l, int stage, Condition *c)
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
