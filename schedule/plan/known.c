/* What a plan knows for the candidate that was asked about last.  A search asks
 * several times about one, whether it is legal and then for its features, and next
 * about one that differs by a decision or two: quantities are evaluated, and stages
 * counted, again only if a slot has changed that they depend on. */
#include <string.h>

#include "schedule/plan/plan.h"

typedef enum { NOTHING, BODY, ALL } Known;

typedef struct {
	Known known;
	const Machine *machine;
	StageCost cost;
} StageKnown;

typedef struct PlanKnown {
	bool evaluated;
	int64_t *slots, *values;
	StageKnown stages[];
} PlanKnown;

void known_begin(Plan *plan)
{
	size_t stages = sizeof(StageKnown) * (size_t)plan->nstages;
	plan->known = arena_alloc(plan->arena, sizeof *plan->known + stages);
	memset(plan->known, 0, sizeof *plan->known + stages);
}

static void evaluate(const Plan *plan, const int64_t *slots)
{
	PlanKnown *k = plan->known;
	k->evaluated = true;
	k->slots = arena_memdup(plan->arena, slots,
	    sizeof *slots * (size_t)tape_nslots(plan->tape));
	k->values = NEW_N(plan->arena, int64_t, tape_size(plan->tape));
	tape_eval(plan->tape, slots, k->values);
}

const int64_t *plan_values(const Plan *plan, const int64_t *slots)
{
	PlanKnown *k = plan->known;
	uint64_t changed = 0;
	if (!k->evaluated)
		evaluate(plan, slots);
	for (int i = 0; i < tape_nslots(plan->tape); i++)
		if (k->slots[i] != slots[i]) {
			k->slots[i] = slots[i];
			changed |= tape_slot_bit(i);
		}
	if (changed)
		tape_eval_again(plan->tape, slots, changed, k->values);
	for (int i = 0; i < plan->nstages; i++)
		if (plan->stages[i].slots & changed)
			k->stages[i].known = NOTHING;
	return k->values;
}

/* Of other values than the plan's own nothing is remembered. */
static const StageCost *stage_known(const Plan *plan, int stage,
    const Machine *m, const int64_t *values, Known wanted)
{
	const PlanStage *s = &plan->stages[stage];
	StageKnown *k = &plan->known->stages[stage];
	bool own = values == plan->known->values;
	Known known = own && k->machine == m ? k->known : NOTHING;
	if (known == BODY && wanted == ALL)
		stage_finish(s, m, values, &k->cost);
	else if (known < wanted)
		(wanted == ALL ? stage_cost : stage_body)(
		    s, m, values, &k->cost);
	k->machine = m;
	k->known = !own ? NOTHING : known < wanted ? wanted : known;
	return &k->cost;
}

const StageCost *plan_stage_body(
    const Plan *plan, int stage, const Machine *machine, const int64_t *values)
{
	return stage_known(plan, stage, machine, values, BODY);
}

const StageCost *plan_stage_cost(
    const Plan *plan, int stage, const Machine *machine, const int64_t *values)
{
	return stage_known(plan, stage, machine, values, ALL);
}
