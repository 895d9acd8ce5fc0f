/* Decisions that change nothing.  A loop outside of the innermost tile ends where
 * its axis does, so one with room for more is the one with just enough:
 *
 *     for x0 in 1  for x1 in 5  for x2 in 14     of an axis of 28
 *   ->
 *     for x0 in 1  for x1 in 2  for x2 in 14
 *
 * and where all tiles are whole no block has tails to be told how. */
#include "schedule/space.h"

#include <string.h>

/* The iterations in which something counts; more than any where that is not
 * known, or all are made. */
static int64_t iterations_needed(
    const Plan *plan, const PlanRoom *room, const int64_t *values)
{
	const PlanStage *s = &plan->stages[room->stage];
	const PlanLoop *l = &s->loops[room->loop];
	if (room->all || axis_mover(&s->axes[l->axis], values) >= 0)
		return INT64_MAX;
	int64_t n = s->axes[l->axis].length, below = values[l->below];
	return n / below + (n % below > 0);
}

static void count_needed(
    const Plan *plan, const int64_t *values, int64_t *needed)
{
	for (int i = 0; i < plan->nrooms; i++) {
		const PlanRoom *room = &plan->rooms[i];
		int64_t n = iterations_needed(plan, room, values);
		if (n > needed[room->slot])
			needed[room->slot] = n;
	}
}

bool space_shrink_tiles(const Sketch *s, const Plan *plan,
    const int64_t *values, Candidate *c)
{
	int64_t needed[CANDIDATE_PARTS] = {0}; /* 0: it is of no loop */
	bool shrunk = false;
	count_needed(plan, values, needed);
	for (int p = 0; p < s->nparts; p++) {
		const Part *part = &s->parts[p];
		int at = 0;
		if (part->slot < 0 || !needed[part->slot])
			continue;
		while (at < c->at[p] &&
		       part->values[at].i < needed[part->slot])
			at++;
		shrunk |= at < c->at[p];
		c->at[p] = (int16_t)at;
	}
	return shrunk;
}

static bool tiles_are_whole(const PlanStage *s, const int64_t *values)
{
	for (int a = 0; a < s->naxes; a++)
		if (s->axes[a].end == HANDLE_NONE ||
		    values[s->axes[a].end] > s->axes[a].length)
			return false;
	return s->naxes < PLAN_DEPTH;
}

bool space_forget_tails(const Sketch *s, const Plan *plan,
    const int64_t *values, Candidate *c)
{
	bool forgot = false;
	for (int i = 0; i < plan->nstages; i++)
		if (!tiles_are_whole(&plan->stages[i], values))
			return false;
	for (int p = 0; p < s->nparts; p++) {
		forgot |= s->parts[p].tail && c->at[p];
		if (s->parts[p].tail)
			c->at[p] = 0;
	}
	return forgot;
}
