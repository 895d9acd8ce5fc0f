/* Invariants of every plan: what features, cost and density index by without
 * asking.  Our own mistakes, so assertions; once for each plan that is
 * recorded. */
#include "schedule/plan/plan.h"

#include <assert.h>

static void assert_handle(const Plan *plan, Handle h)
{
	assert(h >= 0 && h < tape_size(plan->tape));
	(void)plan, (void)h;
}

static void assert_maybe_handle(const Plan *plan, Handle h)
{
	if (h != HANDLE_NONE)
		assert_handle(plan, h);
}

static void assert_loops(const Plan *plan, const PlanStage *s)
{
	assert(s->own >= 0 && s->own <= s->nloops && s->nloops <= PLAN_DEPTH);
	assert(s->common >= 0 && s->common <= s->nloops);
	for (int l = 0; l < s->nloops; l++) {
		const PlanLoop *loop = &s->loops[l];
		assert_handle(plan, loop->extent);
		assert_maybe_handle(plan, loop->unroll_limit);
		assert_maybe_handle(plan, loop->iterations);
		assert(loop->kind < LOOP_KINDS);
		assert(loop->axis >= -1 && loop->axis < s->naxes);
		if (loop->axis >= 0)
			assert_handle(plan, loop->below);
	}
}

/* What moves where an axis starts are loops around it, outermost first. */
static void assert_axes(const Plan *plan, const PlanStage *s)
{
	assert(s->naxes >= 0 && s->naxes <= PLAN_DEPTH);
	for (int a = 0; a < s->naxes; a++) {
		const PlanAxis *axis = &s->axes[a];
		assert_handle(plan, axis->covered);
		assert(axis->length >= 0);
		assert(axis->nmovers >= 0 && axis->nmovers <= PLAN_MOVERS);
		assert_maybe_handle(plan, axis->end);
		for (int i = 0; i < axis->nmovers; i++) {
			assert(axis->mover[i] >= 0 &&
			    axis->mover[i] < s->nloops);
			assert(s->loops[axis->mover[i]].axis >= 0);
			assert(!i || axis->mover[i - 1] <= axis->mover[i]);
			assert_handle(plan, axis->step[i]);
		}
	}
}

/* A loop that surely moves an access is none that may. */
static void assert_access(
    const Plan *plan, const PlanStage *s, const PlanAccess *a)
{
	uint32_t loops = (uint32_t)(((uint64_t)1 << s->nloops) - 1);
	assert(a->ndim >= 0 && a->ndim <= PLAN_DIMS && a->bytes > 0);
	assert(!(a->movers & a->doubtful));
	assert(!((a->movers | a->doubtful | a->by_data) & ~loops));
	assert(a->nparts >= 0 && a->nparts <= PLAN_PARTS);
	assert_maybe_handle(plan, a->elements);
	assert_maybe_handle(plan, a->slots);
	assert((a->scope == SCOPE_SHARED) == (a->elements != HANDLE_NONE));
	for (int l = 0; l < s->nloops; l++) {
		bool moves = (a->movers | a->doubtful) >> l & 1;
		assert(moves == (a->dims[l] != 0));
	}
	for (int d = 0; d < a->ndim; d++) {
		assert_handle(plan, a->held[d]);
		for (int l = 0; l < s->nloops; l++) {
			assert_maybe_handle(plan, a->coef[l][d]);
			assert((a->dims[l] >> d & 1) ==
			    (a->coef[l][d] != HANDLE_NONE));
		}
	}
	assert(a->after >= 0 && a->after <= s->nloops);
	for (int p = 0; p < a->nparts; p++) {
		assert(a->parts[p].dim >= 0 && a->parts[p].dim < a->ndim);
		assert_handle(plan, a->parts[p].div);
		assert_maybe_handle(plan, a->parts[p].mod);
		assert_handle(plan, a->parts[p].stride);
	}
	for (int t = 0; t < a->nterms; t++) {
		assert(a->terms[t].loop >= 0 && a->terms[t].loop < s->nloops);
		assert_handle(plan, a->terms[t].coef);
		assert_handle(plan, a->terms[t].stride);
	}
}

/* Writes come first, and each access is of one of those that it moves like. */
static void assert_accesses(const Plan *plan, const PlanStage *s)
{
	int likes = 0;
	assert(s->naccesses > 0 && s->naccesses <= PLAN_ACCESSES);
	assert(s->nwrites > 0 && s->nwrites <= s->naccesses);
	for (int i = 0; i < s->naccesses; i++) {
		const PlanAccess *a = &s->accesses[i];
		assert(a->write == (i < s->nwrites));
		assert(a->like >= 0 && a->like <= i);
		assert(s->accesses[a->like].likes > 0);
		likes += a->likes;
		assert_access(plan, s, a);
	}
	assert(likes == s->naccesses);
}

/* Two forms that bound each other do so both ways. */
static void assert_conditions(const Plan *plan, const PlanStage *s)
{
	assert(s->nconditions >= 0 && s->nconditions <= PLAN_CONDITIONS);
	for (int i = 0; i < s->nconditions; i++) {
		const PlanCondition *z = &s->conditions[i];
		assert_handle(plan, z->constant);
		assert(z->divisor >= 0);
		assert(z->opposite >= -1 && z->opposite < s->nconditions);
		assert(z->opposite < 0 ||
		    s->conditions[z->opposite].opposite == i);
		for (int l = 0; l < s->nloops; l++)
			assert_maybe_handle(plan, z->coef[l]);
	}
}

/* Kinds of loops exclude each other. */
static void assert_settled(const Plan *plan, const PlanStage *s)
{
	assert(!(s->blocks & s->threads));
	assert(!((s->blocks | s->threads) & (s->repeated | s->limited)));
	assert(!(s->vectors & ~s->repeated));
	assert((s->along[0] | s->along[1] | s->along[2]) ==
	    (s->blocks | s->threads));
	assert(s->ahead == (s->launch < 0));
	assert(s->next < plan->nstages);
}

/* That with most work first: columns of a row are by this order. */
static void assert_parts(const Plan *plan, bool gpu)
{
	assert(plan->nparts[gpu] <= plan->nstages);
	for (int i = 0; i < plan->nparts[gpu]; i++) {
		const PlanPart *p = &plan->parts[gpu][i];
		assert(!i || p->work <= p[-1].work);
		assert(p->main >= p->first && p->main < plan->nstages);
	}
}

static void assert_rooms(const Plan *plan)
{
	for (int i = 0; i < plan->nrooms; i++) {
		const PlanRoom *room = &plan->rooms[i];
		assert(room->slot >= 0 && room->slot < tape_nslots(plan->tape));
		assert(!i || room[-1].slot <= room->slot);
		assert_handle(plan, room->below);
	}
}

void plan_assert_invariants(const Plan *plan)
{
	assert(plan->nstages > 0);
	assert(plan->anchor >= 0 && plan->anchor < plan->nstages);
	for (int i = 0; i < plan->nstages; i++) {
		const PlanStage *s = &plan->stages[i];
		assert(s->stage >= 0 && s->points >= 0);
		assert(s->flops >= 0 && s->branches >= 0);
		assert_loops(plan, s);
		assert_axes(plan, s);
		assert_accesses(plan, s);
		assert_conditions(plan, s);
		assert_settled(plan, s);
	}
	for (int i = 0; i < plan->nguards; i++) {
		assert_handle(plan, plan->guards[i].value);
		assert(plan->guards[i].why);
	}
	assert_parts(plan, false);
	assert_parts(plan, true);
	assert_rooms(plan);
}
