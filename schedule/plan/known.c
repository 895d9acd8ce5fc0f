/* What is known of candidates that were asked about.  A search asks several times
 * about one, whether it is legal and then for its features, and next about one that
 * differs by a decision or two: quantities are evaluated again only if a slot has
 * changed that they depend on, and a stage is counted once for all plans that have
 * it and all candidates alike in the slots that it depends on. */
#include <assert.h>
#include <string.h>

#include "lib/hash.h"
#include "schedule/plan/plan.h"

typedef enum { NOTHING, BODY, ALL } Known;

/* The last that was counted of those whose keys lead to one place. */
typedef struct {
	uint64_t key; /* of the stage and its slots */
	Known known;
	const Machine *machine;
	StageCost cost;
} StageKnown;

enum { STAGES_KNOWN = 2048 };

struct StagesKnown {
	StageKnown at[STAGES_KNOWN];
};

typedef struct PlanKnown {
	int64_t *values; /* slots first; NULL: not evaluated yet */
	/* slots that changed since such a part was evaluated */
	uint64_t stale[VALUES_PARTS];
	StageKnown other; /* of values that are not these */
	struct {
		uint64_t slots; /* that it depends on */
		uint64_t key;	/* 0: not made yet */
	} stages[];
} PlanKnown;

StagesKnown *stages_known_new(Arena *arena)
{
	return NEW(arena, StagesKnown);
}

void known_begin(Plan *plan)
{
	PlanKnown *k = NULL;
	size_t stages = sizeof *k->stages * (size_t)plan->nstages;
	k = plan->known = arena_alloc(plan->arena, sizeof *k + stages);
	for (int i = 0; i < plan->nstages; i++)
		k->stages[i].slots = plan->stages[i].slots;
}

static void forget_keys(const Plan *plan, uint64_t changed)
{
	for (int i = 0; i < plan->nstages; i++)
		if (plan->known->stages[i].slots & changed)
			plan->known->stages[i].key = 0;
}

static void evaluate(const Plan *plan, const int64_t *slots)
{
	PlanKnown *k = plan->known;
	k->values = NEW_N(plan->arena, int64_t, tape_size(plan->tape));
	tape_eval(plan->tape, slots, k->values);
}

void plan_take_slots(const Plan *plan, const int64_t *slots)
{
	PlanKnown *k = plan->known;
	uint64_t changed = 0;
	if (!k->values)
		evaluate(plan, slots);
	int n = tape_nslots(plan->tape);
	for (int i = 0; i < n; i++)
		if (k->values[i] != slots[i]) {
			k->values[i] = slots[i];
			changed |= tape_slot_bit(i);
		}
	for (int part = 0; part < VALUES_PARTS; part++)
		k->stale[part] |= changed;
}

/* Parts for which the same slots have changed are one. */
const int64_t *plan_values(const Plan *plan, PlanValues upto)
{
	PlanKnown *k = plan->known;
	Handle first = 0, end;
	assert(k->values && upto < VALUES_PARTS);
	for (int part = 0; part <= (int)upto; part++, first = end) {
		uint64_t changed = k->stale[part];
		end = plan->behind[part];
		k->stale[part] = 0;
		if (part < (int)upto && changed == k->stale[part + 1])
			end = first;
		else if (changed && first < end)
			tape_eval_again(
			    plan->tape, changed, first, end, k->values);
		if (changed && part == VALUES_ALL)
			forget_keys(plan, changed);
	}
	return k->values;
}

/* Of a stage with its slots, never 0. */
static uint64_t key_of(const Plan *plan, int stage)
{
	const PlanStage *s = &plan->stages[stage];
	const int64_t *slots = plan->known->values;
	int n = tape_nslots(plan->tape);
	uint64_t key = s->key;
	for (uint64_t left = s->slots; left; left &= left - 1) {
		int i = __builtin_ctzll(left);
		for (int last = i;
		     i == last || (last == TAPE_SLOT_LAST && i < n); i++)
			key = hash_mix(key ^ (uint64_t)slots[i]);
	}
	return key | 1;
}

static StageKnown *stage_place(
    const Plan *plan, int stage, const int64_t *values)
{
	PlanKnown *k = plan->known;
	assert(!k->stale[VALUES_ALL] || values != k->values);
	if (values != k->values) {
		k->other.known = NOTHING;
		return &k->other;
	}
	uint64_t *key = &k->stages[stage].key;
	if (!*key)
		*key = key_of(plan, stage);
	StageKnown *place = &plan->stages_known->at[(*key >> 8) % STAGES_KNOWN];
	if (place->key != *key)
		place->known = NOTHING;
	place->key = *key;
	return place;
}

static const StageCost *stage_known(const Plan *plan, int stage,
    const Machine *m, const int64_t *values, Known wanted)
{
	assert(stage >= 0 && stage < plan->nstages);
	const PlanStage *s = &plan->stages[stage];
	StageKnown *k = stage_place(plan, stage, values);
	if (k->machine != m)
		k->known = NOTHING;
	if (k->known == BODY && wanted == ALL)
		stage_finish(s, m, values, &k->cost);
	else if (k->known < wanted)
		(wanted == ALL ? stage_cost : stage_body)(
		    s, m, values, &k->cost);
	k->machine = m;
	if (k->known < wanted)
		k->known = wanted;
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
