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
		vec_push(l->arena, &l->part->movers[leaf], var);
	else if (v->how == VAR_FUSED)
		add_mover(l, v->fused, var);
	for (int i = 0; v->how == VAR_SPLIT && i < v->nchild; i++)
		add_mover(l, v->child[i], var);
}

void bind_begin(Lower *l)
{
	int n = l->nest->vars.n;
	if (!l->part->movers) {
		l->part->movers = NEW_N(l->arena, IntVec, n);
		l->part->moved = NEW_N(l->arena, int, n);
		l->part->values = NEW_N(l->arena, KnownValue, n);
		for (int i = 0; i < n; i++)
			add_mover(l, i, i);
	}
	l->part->moves++;
	for (int i = 0; i < n; i++) {
		l->part->vars[i] = (Binding){0};
		l->part->moved[i] = l->part->moves;
	}
}

Binding bind_var(Lower *l, int var, Binding binding)
{
	Binding was = l->part->vars[var];
	const IntVec *movers = &l->part->movers[var];
	assert(l->nest->vars.at[var].how == VAR_LOOP && movers->n > 0);
	l->part->vars[var] = binding;
	l->part->moves++;
	for (int i = 0; i < movers->n; i++)
		l->part->moved[movers->at[i]] = l->part->moves;
	return was;
}

void unbind(Lower *l, int var)
{
	bind_var(l, var, (Binding){0});
}

/* --- answers -------------------------------------------------------------- */

int fact_newest(const Lower *l)
{
	assert(l->facts <= l->part->facts.n);
	return l->facts ? l->part->facts.at[l->facts - 1].number : 0;
}

Asked ask_begin(const Lower *l)
{
	return (Asked){l->part->free_ranges.n, l->part->asked_facts};
}

static int deepest(const Lower *l, const Index *x, int n)
{
	int depth = 0;
	for (int i = 0; i < n; i++)
		for (int k = 0; k < x[i].form.n; k++) {
			int temp = x[i].form.terms[k].temp;
			if (temp >= 0 && l->part->temps.at[temp].depth > depth)
				depth = l->part->temps.at[temp].depth;
		}
	return depth;
}

/* Vectors of indices are code wherever they are added up. */
Term ask_end(const Lower *l, Asked asked, const Index *answer, int n)
{
	assert(asked.unknowns <= l->part->free_ranges.n);
	Term t = {.known = l->part->free_ranges.n == asked.unknowns};
	for (int i = 0; i < n; i++)
		t.known = t.known && answer[i].vector < 0;
	t.fact = l->part->asked_facts == asked.facts ? -1 : fact_newest(l);
	t.depth = deepest(l, answer, n);
	t.serial = l->part->open_serial[t.depth];
	t.fence = l->part->scope->fenced;
	return t;
}

bool term_holds(const Lower *l, const Term *t)
{
	return t->known && (t->fact < 0 || t->fact == fact_newest(l)) &&
	    l->part->open_serial[t->depth] == t->serial &&
	    l->part->scope->fenced == t->fence;
}
