/* The plans behind a space.  The structural positions of a candidate name a
 * plan: looked up in a table, where a miss applies the trace once and keeps what
 * it costs.  Everything that is asked of a candidate after that reads the plan's
 * arrays. */
#include "schedule/space.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void space_refuse(Space *space, Refusal why)
{
	for (int i = 0; i < space->nrefusals; i++)
		if (space->refusals[i].why == why ||
		    !strcmp(space->refusals[i].why, why)) {
			space->refusals[i].count++;
			return;
		}
	if (space->nrefusals < REFUSALS_KEPT)
		space->refusals[space->nrefusals++] = (RefusalCount){why, 1};
}

int space_refusals(const Space *space, RefusalCount *out, int max)
{
	int n = space->nrefusals < max ? space->nrefusals : max;
	memcpy(out, space->refusals, sizeof *out * (size_t)n);
	return n;
}

/* Steps that a decision made void (of a block that is inlined) use nothing. */
static bool *parts_used(Space *space, const Sketch *s, const ApplyContext *c)
{
	bool *used = NEW_N(space->plans, bool, s->nparts), all = true;
	for (int p = 0; p < s->nparts; p++) {
		used[p] = !c->void_steps || !c->void_steps[s->parts[p].step];
		all &= used[p];
	}
	return all ? NULL : used;
}

static const char *keep_why(Space *space, const char *why)
{
	Lookup *l = &space->whys;
	int e = lookup_first(l, why, strlen(why));
	if (e >= 0)
		return l->entries.at[e].name;
	why = arena_strdup(space->arena, why);
	lookup_add(l, why, 0);
	return why;
}

void space_start_plans(Space *space)
{
	space->plans = arena_child(space->arena);
	space->tape = tape_new(space->plans);
	space->stages_known = stages_known_new(space->plans);
	space->stages_kept = 0;
}

void space_forget_plans(Space *space)
{
	arena_free(space->plans);
	space_start_plans(space);
	space->table_used = 0;
	space->last = NULL;
	memset(space->table, 0,
	    sizeof *space->table * (size_t)space->table_size);
}

static void record_plan(Space *space, const Sketch *s, PlanEntry *entry)
{
	Arena *scratch = arena_new();
	Trace *trace = sketch_fill(scratch, s, entry->positions, true);
	Nest *nest = nest_new(scratch, space->program, space->tape);
	ApplyContext context = {.machine = space->machine,
	    .use_slots = true,
	    .void_steps = NEW_N(scratch, bool, trace->steps.n)};
	int64_t before = tape_work(space->tape);
	int64_t asked = tape_asked(space->tape);
	int step;
	Refusal why;
	assert(!entry->plan && !entry->why);
	if (trace_apply(nest, trace, &context, &step, &why)) {
		assert(context.nslots == s->nslots);
		entry->plan = plan_kept(space->plans, scratch, nest,
		    space->machine, s->nslots, space->stages_known);
		space->stages_kept += entry->plan->nstages;
		entry->used = parts_used(space, s, &context);
		entry->alike = !context.decides_void;
		for (int i = 0; i < entry->plan->nguards; i++)
			entry->plan->guards[i].why =
			    keep_why(space, entry->plan->guards[i].why);
	} else {
		entry->why = keep_why(space, why);
		space->stages_kept++;
	}
	space->work += space->plan_work + tape_work(space->tape) - before;
	entry->again = space->plan_work + tape_asked(space->tape) - asked;
	arena_free(scratch);
}

static uint64_t structural_key(const Sketch *s, const Candidate *c)
{
	uint64_t h = hash_mix(c->sketch);
	for (int i = 0; i < s->nwords; i++)
		h = hash_mix(h ^ (uint64_t)c->at[s->word_parts[i]]);
	return h;
}

static bool same_structure(
    const Sketch *s, const Candidate *c, const PlanEntry *e)
{
	for (int i = 0; i < s->nwords; i++)
		if (e->positions[s->word_parts[i]] != c->at[s->word_parts[i]])
			return false;
	return true;
}

static PlanEntry *table_place(
    Space *space, const Sketch *s, const Candidate *c, uint64_t key)
{
	unsigned mask = (unsigned)space->table_size - 1;
	unsigned i = (unsigned)key & mask;
	for (;; i = (i + 1) & mask) {
		PlanEntry *e = &space->table[i];
		if (!e->positions)
			return e;
		if (e->key == key && same_structure(s, c, e))
			return e;
	}
}

static void table_grow(Space *space)
{
	PlanEntry *old = space->table;
	int n = space->table_size;
	assert(!(n & (n - 1)) && "the hash is masked");
	space->table_size *= 2;
	space->table = NEW_N(space->arena, PlanEntry, space->table_size);
	unsigned mask = (unsigned)space->table_size - 1;
	for (int i = 0; i < n; i++) {
		if (!old[i].positions)
			continue;
		unsigned at = (unsigned)old[i].key & mask;
		while (space->table[at].positions)
			at = (at + 1) & mask;
		space->table[at] = old[i];
	}
}

/* The same plan for other positions counts as if it were recorded. */
static void take_plan(Space *space, const PlanEntry *like, PlanEntry *entry)
{
	assert(like->plan && like->alike);
	entry->plan = like->plan;
	entry->used = like->used;
	entry->alike = like->alike;
	entry->again = like->again;
	space->stages_kept += like->plan->nstages;
	space->work += like->again;
}

static const PlanEntry *keep_last(
    Space *space, const Candidate *c, const PlanEntry *e)
{
	space->last = e;
	space->last_sketch = c->sketch;
	return e;
}

/* `like`: one of the same plan; NULL: none is known. */
static const PlanEntry *entry_of(
    Space *space, const Candidate *c, const PlanEntry *like)
{
	assert(c->sketch < space->sketches.n);
	const Sketch *s = &space->sketches.at[c->sketch];
	if (space->last && space->last_sketch == c->sketch &&
	    same_structure(s, c, space->last))
		return space->last;
	uint64_t key = structural_key(s, c);
	PlanEntry *e = table_place(space, s, c, key);
	if (e->positions)
		return keep_last(space, c, e);
	if (space->stages_kept > STAGES_KEPT) { /* they would not fit */
		space_forget_plans(space);
		like = NULL;
		e = table_place(space, s, c, key);
	}
	e->key = key;
	e->positions = NEW_N(space->plans, int16_t, s->nparts);
	for (int p = 0; p < s->nparts; p++)
		if (s->parts[p].slot < 0)
			e->positions[p] = c->at[p];
	if (like)
		take_plan(space, like, e);
	else
		record_plan(space, s, e);
	space->plans_made++;
	if (++space->table_used * 2 > space->table_size) {
		table_grow(space);
		e = table_place(space, s, c, key);
	}
	assert(space->table_used * 2 <= space->table_size);
	return keep_last(space, c, e);
}

const PlanEntry *space_entry(Space *space, const Candidate *c)
{
	return entry_of(space, c, NULL);
}

static void fill_plan(Space *space, const Plan *plan, const Candidate *c)
{
	const Sketch *s = &space->sketches.at[c->sketch];
	int64_t slots[CANDIDATE_PARTS];
	for (int i = 0; i < s->nslots; i++) {
		int p = s->slot_parts[i];
		slots[i] = s->parts[p].values[c->at[p]].i;
	}
	plan_take_slots(plan, slots);
}

/* The plan's tape, evaluated for a candidate; the values stay until the next call
 * for this plan. */
const int64_t *space_values(Space *space, const Plan *plan, const Candidate *c)
{
	fill_plan(space, plan, c);
	return plan_values(plan, VALUES_ALL);
}

static bool guards_hold(const Plan *plan, Refusal *why)
{
	const int64_t *values = plan_values(plan, VALUES_GUARDS);
	for (int i = 0; i < plan->nguards; i++)
		if (values[plan->guards[i].value] != 1) {
			*why = plan->guards[i].why;
			return false;
		}
	return true;
}

/* The plan of a candidate without the positions that only void steps use; NULL and
 * why. */
static const Plan *without_void(Space *space, Candidate *c, Refusal *why)
{
	const Sketch *s = &space->sketches.at[c->sketch];
	const PlanEntry *e = space_entry(space, c);
	bool moved = false;
	for (int p = 0; e->plan && e->used && p < s->nparts; p++)
		if (!e->used[p] && c->at[p]) {
			c->at[p] = 0;
			moved |= s->parts[p].slot < 0;
		}
	if (moved)
		e = entry_of(space, c, e->alike ? e : NULL);
	*why = e->why;
	return e->plan;
}

/* A candidate's plan, with its slots; NULL and why. */
static const Plan *fill(Space *space, Candidate *c, Refusal *why)
{
	const Plan *plan = without_void(space, c, why);
	if (plan)
		fill_plan(space, plan, c);
	return plan;
}

/* Another candidate in the place of this one, where it is legal.  Plans that are
 * looked up forget others. */
static const Plan *take_equal(Space *space, Candidate equal, Candidate *c)
{
	Refusal ignored;
	const Plan *plan = fill(space, &equal, &ignored);
	if (!plan || !guards_hold(plan, &ignored))
		return fill(space, c, &ignored);
	*c = equal;
	return plan;
}

/* The same, where no more than sizes differ: they have one plan. */
static void take_sizes(
    Space *space, const Plan *plan, const Candidate *equal, Candidate *c)
{
	Refusal ignored;
	assert(equal->sketch == c->sketch);
	fill_plan(space, plan, equal);
	if (guards_hold(plan, &ignored))
		*c = *equal;
	else
		fill_plan(space, plan, c);
}

/* What a candidate, which is normalized, leads to; NULL and why. */
static const Plan *normalize(Space *space, Candidate *c, Refusal *why)
{
	const Sketch *s = &space->sketches.at[c->sketch];
	const Plan *plan = fill(space, c, why);
	Candidate equal = *c;
	if (plan && space_shrink_tiles(s, plan, &equal)) {
		take_sizes(space, plan, &equal, c);
		equal = *c;
	}
	if (plan && space_forget_tails(s, plan, &equal))
		plan = take_equal(space, equal, c);
	return plan;
}

bool space_replays(Space *space, Candidate *c, Refusal *why)
{
	const Plan *plan = normalize(space, c, why);
	return plan && guards_hold(plan, why);
}

bool space_legal(Space *space, Candidate *c, Refusal *why)
{
	const Plan *plan = normalize(space, c, why);
	if (!plan)
		return false;
	space->work += STAGE_WORK * plan->nstages;
	if (!guards_hold(plan, why))
		return false;
	*why = plan_limits(plan, space->machine, plan_values(plan, VALUES_ALL));
	return !*why;
}
