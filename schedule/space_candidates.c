/* Candidates of a space: drawn, changed, found again from a trace; what is asked
 * of many at once. */
#include "schedule/space.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STRUCTURE_TRIES = 64, SLOT_TRIES = 64, MUTATE_TRIES = 64 };

static void draw(const Sketch *s, Rng *rng, int p, Candidate *c)
{
	c->at[p] = (int16_t)rng_below(rng, (uint64_t)s->parts[p].size);
}

static void draw_slots(const Sketch *s, Rng *rng, Candidate *c)
{
	for (int i = 0; i < s->nslots; i++)
		draw(s, rng, s->slot_parts[i], c);
}

static bool is_place(const Sketch *s, int p)
{
	return s->trace->steps.at[s->parts[p].step].primitive ==
	    PRIMITIVE_compute_at;
}

/* Readers come first in a sketch: the first few blocks that have a choice are where
 * their readers are, all others for themselves.  Of many that feed each other, of
 * which each may be where its reader is, few draws are legal. */
static void draw_places(const Sketch *s, Rng *rng, Candidate *c)
{
	int n = 0;
	for (int p = 0; p < s->nparts; p++)
		n += is_place(s, p);
	int follow = (int)rng_below(rng, (uint64_t)n + 1);
	for (int p = 0; p < s->nparts; p++)
		if (is_place(s, p) && follow-- <= 0)
			c->at[p] = 0;
		else if (is_place(s, p) && !c->at[p])
			c->at[p] = (int16_t)(s->parts[p].size - 1);
}

static bool may_work(const Space *space)
{
	return space->work < space->work_most;
}

/* A sketch and all that is no size, which is the first. */
static const Sketch *draw_structure(
    const Space *space, Rng *rng, bool together, Candidate *out)
{
	memset(out, 0, sizeof *out);
	out->sketch = (uint16_t)rng_below(rng, (uint64_t)space->sketches.n);
	const Sketch *s = &space->sketches.at[out->sketch];
	for (int p = 0; p < s->nparts; p++)
		if (s->parts[p].slot < 0)
			draw(s, rng, p, out);
	if (together)
		draw_places(s, rng, out);
	return s;
}

static bool sample_one(Space *space, Rng *rng, bool together, Candidate *out)
{
	Refusal why = NULL;
	const Sketch *s = draw_structure(space, rng, together, out);
	const PlanEntry *e = space_entry(space, out);
	if (!e->plan) {
		space_refuse(space, e->why);
		return false;
	}
	for (int k = 0; k < SLOT_TRIES && may_work(space); k++) {
		draw_slots(s, rng, out);
		if (space_legal(space, out, &why))
			return true;
		space_refuse(space, why);
		if (!s->nslots)
			break;
	}
	return false;
}

/* With the first of all sizes, the smallest: of many blocks, each of which has its
 * registers, few draws of all sizes fit. */
static bool sample_smallest(Space *space, Rng *rng, Candidate *out)
{
	for (int i = 0;
	     i < STRUCTURE_TRIES && space->sketches.n && may_work(space); i++) {
		Refusal why;
		draw_structure(space, rng, true, out);
		if (space_legal(space, out, &why))
			return true;
		space_refuse(space, why);
	}
	return false;
}

bool space_sample(Space *space, Rng *rng, Candidate *out)
{
	for (int i = 0;
	     i < 2 * STRUCTURE_TRIES && space->sketches.n && may_work(space);
	     i++)
		if (sample_one(space, rng, i >= STRUCTURE_TRIES, out))
			return true;
	return sample_smallest(space, rng, out);
}

/* Sizes are ordered, so half of the steps go to a neighbour; words are not. */
static void move_part(const Sketch *s, Rng *rng, int p, Candidate *c)
{
	int size = s->parts[p].size;
	assert(size > 1 && c->at[p] >= 0 && c->at[p] < size);
	uint64_t r = rng_below(rng, 4);
	if (s->parts[p].slot >= 0 && r < 2) {
		int at = c->at[p] + (r ? 1 : -1);
		if (at >= 0 && at < size) {
			c->at[p] = (int16_t)at;
			return;
		}
	}
	int step = 1 + (int)rng_below(rng, (uint64_t)size - 1);
	c->at[p] = (int16_t)((c->at[p] + step) % size);
}

bool space_mutate(Space *space, Rng *rng, const Candidate *from, Candidate *out)
{
	const Sketch *s = &space->sketches.at[from->sketch];
	int free_parts[CANDIDATE_PARTS], n = 0;
	Refusal why;
	for (int p = 0; p < s->nparts; p++)
		if (s->parts[p].size > 1)
			free_parts[n++] = p;
	for (int i = 0; i < MUTATE_TRIES && n && may_work(space); i++) {
		if (i % 4 == 0)
			*out = *from;
		move_part(s, rng, free_parts[rng_below(rng, (uint64_t)n)],
		    out);
		Candidate moved = *out;
		if (!space_legal(space, &moved, &why)) {
			space_refuse(space, why);
			continue;
		}
		*out = moved;
		if (memcmp(out->at, from->at, sizeof out->at))
			return true;
	}
	return false;
}

Trace *space_trace(Arena *arena, Space *space, const Candidate *c)
{
	assert(c->sketch < space->sketches.n);
	return sketch_fill(
	    arena, &space->sketches.at[c->sketch], c->at, false);
}

static bool words_equal(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool position_of(const Part *part, const Arg *open, const TraceValue *value,
    int16_t *position)
{
	const TraceValue *want = open->domain.kind == DOMAIN_TILE
	    ? value->kind == VALUE_LIST && value->n == open->domain.parts
		? &value->list[part->part]
		: NULL
	    : value;
	const TraceValue *values = open->domain.values[part->part];
	for (int i = 0; want && i < part->size; i++)
		if (value_equal(&values[i], want)) {
			*position = (int16_t)i;
			return true;
		}
	return false;
}

static bool sketch_matches(const Sketch *s, const Trace *trace, Candidate *out)
{
	const Trace *mine = s->canonical;
	int part = 0;
	if (mine->steps.n != trace->steps.n)
		return false;
	for (int i = 0; i < mine->steps.n; i++) {
		const Step *a = &mine->steps.at[i], *b = &trace->steps.at[i];
		if (a->primitive != b->primitive || a->nargs != b->nargs ||
		    a->nouts != b->nouts)
			return false;
		for (int k = 0; k < a->nargs; k++) {
			const Arg *x = &a->args[k], *y = &b->args[k];
			if (!words_equal(x->key, y->key))
				return false;
			if (!x->decision || !x->open) {
				if (!value_equal(&x->value, &y->value))
					return false;
				continue;
			}
			for (; part < s->nparts && s->parts[part].step == i &&
			     s->parts[part].arg == k;
			     part++)
				if (!position_of(&s->parts[part], x, &y->value,
					&out->at[part]))
					return false;
		}
	}
	assert(part == s->nparts);
	return true;
}

bool space_find(Space *space, const Trace *trace, Candidate *out)
{
	Arena *scratch = arena_new();
	const Trace *canonical =
	    trace_canonical(scratch, space->program, trace);
	bool found = false;
	for (int i = 0; i < space->sketches.n && !found; i++) {
		memset(out, 0, sizeof *out);
		out->sketch = (uint16_t)i;
		found = sketch_matches(&space->sketches.at[i], canonical, out);
	}
	arena_free(scratch);
	return found;
}

/* --- asked in batches --------------------------------------------------------------- */

uint64_t space_register_tile(Space *space, const Candidate *candidate)
{
	const Plan *plan = space_entry(space, candidate)->plan;
	assert(plan);
	const int64_t *values = space_values(space, plan, candidate);
	const PlanStage *s = &plan->stages[plan->anchor];
	uint64_t hash = candidate->sketch;
	const StageCost *c =
	    plan_stage_body(plan, plan->anchor, space->machine, values);
	for (int d = 0; d < s->nloops; d++) {
		const PlanLoop *l = &s->loops[d];
		if (d < c->body && !(s->threads >> d & 1))
			continue;
		int64_t tile[2] = {l->axis, values[l->extent]};
		if (!l->reduce && tile[1] > 1)
			hash = hash64(tile, sizeof tile, hash);
	}
	return hash;
}

void space_features(
    Space *space, const Candidate *candidates, int n, float *rows)
{
	for (int i = 0; i < n; i++) {
		const Plan *plan = space_entry(space, &candidates[i])->plan;
		assert(plan);
		plan_features(plan, space->machine,
		    space_values(space, plan, &candidates[i]),
		    rows + (size_t)i * FEATURES);
	}
}

int space_stage_features(
    Space *space, const Candidate *candidate, int most, float *rows)
{
	const Plan *plan = space_entry(space, candidate)->plan;
	assert(plan);
	return plan_stage_features(plan, space->machine,
	    space_values(space, plan, candidate), most, rows);
}

void space_analytic(
    Space *space, const Candidate *candidates, int n, double *seconds)
{
	for (int i = 0; i < n; i++) {
		const Plan *plan = space_entry(space, &candidates[i])->plan;
		assert(plan);
		seconds[i] = plan_seconds(plan, space->machine,
		    space_values(space, plan, &candidates[i]));
	}
}

enum {
	FIRST_SEED = 1,
	FIRST_KEPT = 16,
	FIRST_STEPS = 60,
	FIRST_BLOCKS = 8,
	FIRST_SMALL = 250, /* decision vectors that are all looked at */
	FIRST_WORK =
	    60 * 64,	     /* blocks that a kept one's single moves look at */
	GROUP_WORK = 6000000 /* about 0.25 s on one Zen 4 core */
};

static const double NEARLY = 0.25;

void space_rank_by(Space *space, SpaceCost *cost, void *context)
{
	space->cost = cost;
	space->cost_context = context;
}

static double cost_of(Space *space, const Candidate *c)
{
	double seconds;
	space_analytic(space, c, 1, &seconds);
	return seconds;
}

/* The best that were looked at, best first. */
typedef struct {
	int n;
	Candidate at[FIRST_KEPT];
	double cost[FIRST_KEPT];
} Kept;

static void keep(Space *space, const Candidate *c, Kept *kept)
{
	double seconds = cost_of(space, c);
	if (kept->n == FIRST_KEPT && seconds >= kept->cost[kept->n - 1])
		return;
	int at = kept->n < FIRST_KEPT ? kept->n++ : kept->n - 1;
	for (; at && kept->cost[at - 1] > seconds; at--) {
		kept->cost[at] = kept->cost[at - 1];
		kept->at[at] = kept->at[at - 1];
	}
	kept->cost[at] = seconds;
	kept->at[at] = *c;
}

/* What the rules guess, of each sketch where that is legal. */
static void keep_usual(Space *space, Kept *kept)
{
	Refusal why;
	for (int k = 0; k < space->sketches.n; k++) {
		const Sketch *s = &space->sketches.at[k];
		Candidate c = {.sketch = (uint16_t)k};
		for (int p = 0; p < s->nparts; p++)
			c.at[p] = (int16_t)s->parts[p].usual;
		if (space_legal(space, &c, &why))
			keep(space, &c, kept);
		else
			space_refuse(space, why);
	}
}

/* The least cost of a small space; of others, and where work is short, none is
 * known to be. */
static double least_cost(Space *space)
{
	int64_t size = space_size(space, FIRST_SMALL);
	double least = INFINITY;
	for (int64_t i = 0; i < size && may_work(space); i++) {
		Candidate c;
		if (space_at(space, i, &c))
			least = fmin(least, cost_of(space, &c));
	}
	return size >= 0 && may_work(space) ? least : -INFINITY;
}

static bool has_best(const Kept *kept, double least)
{
	return kept->n && kept->cost[0] <= least;
}

static void keep_samples(
    Space *space, Rng *rng, int tries, double least, Kept *kept)
{
	for (int i = 0; i < tries && may_work(space) && !has_best(kept, least);
	     i++) {
		Candidate c;
		if (space_sample(space, rng, &c))
			keep(space, &c, kept);
	}
}

/* Each by single moves until none of FIRST_STEPS in a row helps. */
static void improve(Space *space, Rng *rng, Kept *kept)
{
	int blocks = space->program->nblocks;
	assert(blocks > 0);
	int steps = blocks * FIRST_STEPS <= FIRST_WORK ? FIRST_STEPS
						       : FIRST_WORK / blocks;
	for (int i = 0; i < kept->n; i++)
		for (int idle = 0; idle < steps; idle++) {
			Candidate c;
			if (!space_mutate(space, rng, &kept->at[i], &c))
				break;
			double seconds = cost_of(space, &c);
			if (seconds >= kept->cost[i])
				continue;
			kept->at[i] = c;
			kept->cost[i] = seconds;
			idle = -1;
		}
}

/* Of what the analytic model thinks nearly as good as its best, what the other one
 * thinks best: further away that one knows little, and the least of many guesses is
 * the one that is furthest off. */
static int judged_best(Space *space, const Kept *kept, int best)
{
	double most = kept->cost[best] * (1 + NEARLY), least = INFINITY;
	for (int i = 0; i < kept->n; i++) {
		float row[FEATURES];
		if (kept->cost[i] > most)
			continue;
		space_features(space, &kept->at[i], 1, row);
		double cost =
		    space->cost(space->cost_context, row, kept->cost[i]);
		if (cost < least) {
			least = cost;
			best = i;
		}
	}
	return best;
}

/* The best of seeded samples, of a GPU of what the rules guess, too, each of the
 * best few improved by single moves; of a small space the first that none is
 * better than.  Where nearly every sample is of another structure the moves find
 * more in less time.  Launches that ask for more shared memory than a kernel
 * declares are looked at last, from the best of the others on: they are taken
 * where the model thinks them better. */
bool space_first_within(Space *space, int tries, int64_t work, Candidate *out)
{
	const Machine *machine = space->machine;
	Machine declared = *machine;
	Rng rng = rng_stream(FIRST_SEED, 0, 0);
	Kept kept;
	int blocks = space->program->nblocks, best = 0;
	assert(tries >= 0 && work >= 0);
	kept.n = 0;
	declared.block_shared_most = 0;
	space->machine = &declared;
	if (machine->gpu)
		keep_usual(space, &kept);
	/* A large program's samples cost more, and are each a new plan. */
	if (blocks > FIRST_BLOCKS)
		tries = tries * FIRST_BLOCKS / blocks * FIRST_BLOCKS / blocks + 1;
	space->work_most = space->work + work / 4 * 3;
	double least = least_cost(space);
	keep_samples(space, &rng, tries, least, &kept);
	space->work_most = space->work + work / 4;
	if (!kept.n && sample_smallest(space, &rng, out))
		keep(space, out, &kept);
	if (!has_best(&kept, least))
		improve(space, &rng, &kept);
	space->machine = machine;
	if (machine->block_shared_most > machine->block_shared)
		improve(space, &rng, &kept);
	space->work_most = INT64_MAX;
	for (int i = 1; i < kept.n; i++)
		if (kept.cost[i] < kept.cost[best])
			best = i;
	if (kept.n && space->cost)
		best = judged_best(space, &kept, best);
	if (kept.n)
		*out = kept.at[best];
	return kept.n > 0;
}

bool space_first(Space *space, int tries, Candidate *out)
{
	return space_first_within(space, tries, GROUP_WORK, out);
}
