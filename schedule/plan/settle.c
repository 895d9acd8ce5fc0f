/* What follows from a plan alone, whatever a candidate's numbers are: which loops
 * are what, which stages run in one launch of a GPU, which buffers that needs, and
 * along which loops an access moves by simple terms.  Settled once for each plan,
 * of which thousands of candidates are asked. */
#include "schedule/plan/cost_gpu.h"

#include <assert.h>

static void settle_loops(PlanStage *s)
{
	s->blocks = s->threads = s->steps = s->repeated = s->limited = 0;
	s->vectors = s->peeled = s->digits = 0;
	for (int k = 0; k < DIRECTIONS; k++)
		s->along[k] = 0;
	for (int d = 0; d < s->nloops; d++) {
		const PlanLoop *l = &s->loops[d];
		uint32_t bit = 1u << d;
		s->blocks |= loop_is_block(l->kind) ? bit : 0;
		s->threads |= loop_is_thread(l->kind) ? bit : 0;
		if (loop_is_bound(l->kind))
			s->along[loop_direction(l->kind)] |= bit;
		s->steps |= l->reduce ? bit : 0;
		if (l->kind == LOOP_UNROLL || l->kind == LOOP_VECTOR)
			s->repeated |= bit;
		if (l->kind == LOOP_VECTOR)
			s->vectors |= bit;
		if (l->kind == LOOP_SERIAL && l->peeled && l->axis >= 0 &&
		    l->runs == RUNS_CLIPPED)
			s->peeled |= bit;
		s->digits |= l->iterations == HANDLE_NONE ? bit : 0;
		if (l->kind == LOOP_SERIAL && l->unroll_limit != HANDLE_NONE)
			s->limited |= bit;
	}
}

/* --- launches ------------------------------------------------------------- */

/* The outermost bound loop; -1: one thread runs the stage. */
static int bound_loop(const PlanStage *s)
{
	uint32_t bound = s->blocks | s->threads;
	return bound ? s->loops[__builtin_ctz(bound)].var : -1;
}

/* A launch is all that is below one outermost bound loop, or what one thread does
 * between such. */
static void settle_launches(Plan *plan)
{
	int serial = -1;
	for (int i = 0; i < plan->nstages; i++) {
		PlanStage *s = &plan->stages[i];
		int loop = bound_loop(s);
		s->launch = s->ahead ? -1 : i;
		if (s->ahead)
			continue;
		for (int k = 0; k < i && loop >= 0; k++)
			if (!plan->stages[k].ahead &&
			    bound_loop(&plan->stages[k]) == loop) {
				s->launch = plan->stages[k].launch;
				break;
			}
		if (loop < 0 && serial >= 0)
			s->launch = serial;
		serial = loop < 0 ? s->launch : -1;
	}
}

/* Each stage knows the next one of its launch. */
static void settle_next(Plan *plan)
{
	int *last = NEW_N(plan->arena, int, plan->nstages); /* by launch */
	for (int i = 0; i < plan->nstages; i++) {
		PlanStage *s = &plan->stages[i];
		s->next = -1;
		if (s->ahead)
			continue;
		assert(s->launch <= i &&
		    plan->stages[s->launch].launch == s->launch);
		if (s->launch != i)
			plan->stages[last[s->launch]].next = i;
		last[s->launch] = i;
	}
}

/* Has the launch touched the buffer before the n-th access of stage i? */
static bool is_met(const Plan *plan, int i, int n)
{
	const PlanStage *s = &plan->stages[i];
	int buffer = s->accesses[n].buffer;
	for (int k = 0; k <= i; k++) {
		const PlanStage *before = &plan->stages[k];
		int count = k < i ? before->naccesses : n;
		for (int a = 0; a < count && before->launch == s->launch; a++)
			if (before->accesses[a].buffer == buffer)
				return true;
	}
	return false;
}

/* --- loops with room for more than there is -------------------------------- */

static bool is_innermost(const PlanStage *s, int loop)
{
	for (int d = loop + 1; d < s->nloops; d++)
		if (s->loops[d].axis == s->loops[loop].axis)
			return false;
	return true;
}

static bool makes_all(const PlanStage *s, int loop)
{
	const PlanLoop *l = &s->loops[loop];
	return s->nloops == PLAN_DEPTH || l->axis < 0 ||
	    l->kind == LOOP_VECTOR || l->runs != RUNS_CLIPPED ||
	    is_innermost(s, loop);
}

static PlanRoom room_of(const PlanStage *s, int loop, int slot)
{
	assert(s->loops[loop].axis >= 0 && "makes_all looked at the others");
	const PlanAxis *a = &s->axes[s->loops[loop].axis];
	return (PlanRoom){
	    slot, s->loops[loop].below, a->nmovers ? a : NULL, a->length};
}

/* By slot; none of a slot of which all iterations are made somewhere. */
void plan_settle_rooms(Plan *plan)
{
	PlanRoom *rooms =
	    NEW_N(plan->arena, PlanRoom, plan->nstages * PLAN_DEPTH);
	int nslots = tape_nslots(plan->tape), n = 0;
	bool *whole = NEW_N(plan->arena, bool, nslots);
	for (int i = 0; i < plan->nstages; i++)
		for (int d = 0; d < plan->stages[i].nloops; d++) {
			const PlanStage *s = &plan->stages[i];
			int slot = tape_slot_of(plan->tape, s->loops[d].extent);
			/* the stage whose own it is says */
			if (slot < 0 ||
			    (d < s->own && s->loops[d].runs == RUNS_CLIPPED))
				continue;
			whole[slot] |= makes_all(s, d);
			if (!whole[slot])
				rooms[n++] = room_of(s, d, slot);
		}
	plan->nrooms = 0;
	plan->rooms = NEW_N(plan->arena, PlanRoom, n);
	for (int slot = 0; slot < nslots; slot++)
		for (int i = 0; i < n && !whole[slot]; i++)
			if (rooms[i].slot == slot)
				plan->rooms[plan->nrooms++] = rooms[i];
}

/* --- accesses ------------------------------------------------------------- */

static bool is_plain(const Plan *plan, const PlanAccess *a)
{
	int64_t div;
	for (int p = 0; p < a->nparts; p++)
		if (a->parts[p].mod != HANDLE_NONE ||
		    !tape_is_const(plan->tape, a->parts[p].div, &div) || div > 1)
			return false;
	return !a->by_data;
}

static void settle_terms(const Plan *plan, const PlanStage *s, PlanAccess *a)
{
	PlanTerm terms[PLAN_DEPTH * PLAN_PARTS];
	a->plain = is_plain(plan, a);
	a->nterms = 0;
	for (int l = 0; a->plain && l < s->nloops; l++)
		for (int p = 0; p < a->nparts; p++) {
			Handle coef = a->coef[l][a->parts[p].dim];
			if (coef != HANDLE_NONE)
				terms[a->nterms++] = (PlanTerm){
				    l, coef, a->parts[p].stride};
		}
	a->terms = arena_memdup(
	    plan->arena, terms, sizeof *terms * (size_t)a->nterms);
}

static void settle_accesses(const Plan *plan, int stage)
{
	PlanStage *s = &plan->stages[stage];
	s->reads = 0;
	for (int i = 0; i < s->naccesses; i++) {
		PlanAccess *a = &s->accesses[i];
		bool own = a->scope == SCOPE_SHARED || a->scope == SCOPE_REG;
		a->needed = own && !is_met(plan, stage, i);
		s->reads |= a->write ? 0 : 1u << a->scope;
		settle_terms(plan, s, a);
	}
}

/* By what the plan alone says: columns of candidates of one plan are of the same
 * stages. */
static void settle_parts(Plan *plan, bool gpu)
{
	PlanPart *parts = NEW_N(plan->arena, PlanPart, plan->nstages);
	int n = 0;
	for (int i = 0; i < plan->nstages; i++) {
		const PlanStage *s = &plan->stages[i];
		int first = gpu ? s->launch : i, k = 0;
		PlanPart p = {.first = first, .main = i};
		double work = (s->flops + 1) * (double)s->points;
		if (first < 0 || (s->ahead && i != plan->anchor))
			continue;
		while (k < n && parts[k].first != first)
			k++;
		if (k < n)
			p = parts[k];
		else
			n++;
		p.work += work;
		if (work > p.most) {
			p.most = work;
			p.main = i;
		}
		for (; k && parts[k - 1].work < p.work; k--)
			parts[k] = parts[k - 1];
		parts[k] = p;
	}
	plan->parts[gpu] = parts;
	plan->nparts[gpu] = n;
}

void plan_settle(Plan *plan)
{
	for (int i = 0; i < plan->nstages; i++)
		settle_loops(&plan->stages[i]);
	settle_launches(plan);
	settle_next(plan);
	settle_parts(plan, false);
	settle_parts(plan, true);
	plan->shapes = NEW_N(plan->arena, Shape, plan->nstages);
	known_begin(plan);
	for (int i = 0; i < plan->nstages; i++)
		settle_accesses(plan, i);
}
