/* Scatter: of a reduction whose results data assigns each step is made for the one
 * that it is of (ir/nest/nest_scatter.c), in one pass; a sketch of its own beside
 * those that compare with each result, which is faster where there are few.
 *
 *     for i for k for d  y[k, d] += if label[i] == k then v[i, d] else 0
 * -->
 *     for d0 for i for k = label[i] unroll d1 vector dv  y[k, d] += v[i, d]
 *
 * Threads share out axes that are not assigned. Where there are too few of them, each
 * has a part of the reduction and results of its own (rule_split_reduction.c);
 * several, where of so few results the next one would be waited for. */
#include "schedule/rules/rules.h"

#include <string.h>

enum {
	WAIT = 128,	 /* results that are written in turn without waiting */
	PARTS = 4,	 /* of a thread, at most */
	PARTED_MOST = 16 /* blocks */
};

static ScatterAxes axes_of(
    Arena *arena, const Nest *nest, const Block *b, Expr *body)
{
	ExprVec all = nest_body_conditions(nest, arena, b->reduce, body);
	return scatter_axes(
	    arena, &all, block_extents(arena, b), b->nspatial, b->naxes);
}

/* --- parts ------------------------------------------------------------------------- */

/* The last axis, if its vectors can be in the loops of the steps; -1. */
static int vector_axis(const ScatterAxes *x, const Block *b)
{
	int last = rule_longer_axis(b, b->nspatial);
	return last < 0 || x->assigned[last] || x->outside[last] ? -1 : last;
}

/* No more than there are steps for each result. */
static int64_t parts_of(const ScatterAxes *x, const Block *b, const Machine *m)
{
	int last = vector_axis(x, b);
	double shared = 1, results = block_points(b, 0, b->nspatial);
	int64_t threads = m->threads > 1 ? m->threads : 1, each = 1;
	for (int a = 0; a < b->nspatial; a++)
		if (!x->assigned[a])
			shared *= (double)(a == last
			    ? b->axes[a].extent / rule_lanes(m, b->body->type)
			    : b->axes[a].extent);
	while (each < PARTS && results * (double)each < WAIT)
		each *= 2;
	if (shared < (double)threads)
		each *= threads;
	return results * (double)each <= block_steps(b) ? each : 1;
}

RuleForm *rule_scatter_form(const Rules *r)
{
	const Program *p = r->form->program;
	int threads = r->machine->threads > 1 ? r->machine->threads : 1;
	int times = 0;
	RuleForm *f = NULL; /* from the first such reduction on */
	for (int i = 0; i < p->nblocks && times < PARTED_MOST; i++) {
		const Block *b = &p->blocks[i];
		ScatterAxes x = axes_of(r->arena, r->plain, b, b->body);
		if (!x.n)
			continue;
		if (!f)
			f = rule_form_copy(r->form);
		int64_t parts = rule_keeps_order(p, b)
		    ? 1 : parts_of(&x, b, r->machine);
		bool made =
		    parts > 1 && rule_split_one_reduction(f, i, parts, threads);
		p = f->program;
		rule_made(f, p->blocks[i].buffer)->scattered = true;
		times += made;
		i += made;
	}
	return f;
}

/* --- loops ------------------------------------------------------------------------- */

/* Several steps, and those of several parts, are made at once: their results are
 * others mostly. */
void rule_scatter(Rules *r, int i)
{
	const Block *b = &r->program->blocks[i];
	if (!rule_origin(r, i)->scattered || !rule_is_open(r, i))
		return;
	ScatterAxes x = axes_of(r->arena, r->plain, b, r->bodies[i]);
	int last = vector_axis(&x, b), part = -1, steps = b->nspatial;
	int lanes = last < 0 ? 0 : rule_widest(r, b, last);
	bool threads = r->machine->threads > 1;
	const char *shared = "", *assigned = "", *others = "";
	for (int a = 0; a < b->nspatial; a++)
		if (x.outside[a] && b->axes[a].extent > 1)
			part = a;
	for (int a = b->nspatial; a < b->naxes; a++)
		if (b->axes[a].extent > 1)
			steps = a;
	for (int a = 0; a < b->nspatial; a++) {
		const char *loop = rule_loop(r, b->name, b, a);
		if (x.outside[a] && a != part)
			shared = rule_join(r, shared, loop);
		if (!x.assigned[a] && !x.outside[a] && a != last)
			others = rule_join(r, others, loop);
	}
	for (int a = 0; a < x.n; a++)
		assigned = rule_and(r, assigned, b->name, b, x.axes[a]);
	RuleSplit p = rule_tiles(r, b, part, NULL, "", "1, 2, 4", 0);
	RuleSplit k = rule_tiles(r, b, steps, NULL, "", "1, 2, 4, 8", 0);
	RuleSplit v = rule_tiles(r, b, last, NULL, "", "1, 2, 4, 8", lanes);
	shared = rule_join(r, shared, p.outer);
	shared = rule_join(r, shared, threads ? v.outer : "");
	rule_put(r, "reorder(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)\n", shared,
	    rule_loops(r, b->name, b, b->nspatial, b->naxes, steps, -1),
	    k.outer, k.unrolled, p.unrolled, assigned, others,
	    threads ? "" : v.outer, v.unrolled, v.lanes);
	rule_put(r, "each unroll(%s, %s)\n", k.unrolled, p.unrolled);
	rule_vectors(r, v.unrolled, v.lanes, lanes);
	rule_put(r, "tail(%s, ? in {peel, mask})\n", b->name);
	rule_parallel(r,
	    arena_printf(r->arena, "%.*s", (int)strcspn(shared, ","), shared));
	r->blocks[i].scheduled = true;
	rule_root(r, i);
}
