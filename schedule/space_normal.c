/* Decisions that change nothing.  A loop outside of the innermost tile ends where
 * its axis does, so one with room for more is the one with just enough:
 *
 *     for x0 in 1  for x1 in 5  for x2 in 14     of an axis of 28
 *   ->
 *     for x0 in 1  for x1 in 2  for x2 in 14
 *
 * and where all tiles are whole no block has tails to be told how. */
#include "schedule/space.h"

#include <assert.h>
#include <string.h>

/* The iterations in which something counts; more than any where all are made. */
static int64_t iterations_needed(const PlanRoom *room, const int64_t *values)
{
	if (room->axis && axis_mover(room->axis, values) >= 0)
		return INT64_MAX;
	int64_t n = room->length, below = values[room->below];
	return n / below + (n % below > 0);
}

/* The first of a part's values that is no less; the last one, where none is. */
static int first_enough(const Part *part, int last, int64_t needed)
{
	int at = 0;
	assert(last < part->size);
	while (at < last && part->values[at].i < needed)
		at++;
	return at;
}

bool space_shrink_tiles(const Sketch *s, const Plan *plan, Candidate *c)
{
	const int64_t *values = plan_values(plan, VALUES_ROOMS);
	bool shrunk = false;
	for (int i = 0; i < plan->nrooms;) {
		int slot = plan->rooms[i].slot, p = s->slot_parts[slot];
		int64_t needed = 0;
		for (; i < plan->nrooms && plan->rooms[i].slot == slot; i++) {
			int64_t n = c->at[p]
			    ? iterations_needed(&plan->rooms[i], values)
			    : 0;
			needed = n > needed ? n : needed;
		}
		int at = first_enough(&s->parts[p], c->at[p], needed);
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

bool space_forget_tails(const Sketch *s, const Plan *plan, Candidate *c)
{
	bool told = false;
	for (int i = 0; i < s->nwords; i++)
		told |=
		    s->parts[s->word_parts[i]].tail && c->at[s->word_parts[i]];
	if (!told)
		return false;
	const int64_t *values = plan_values(plan, VALUES_ENDS);
	for (int i = 0; i < plan->nstages; i++)
		if (!tiles_are_whole(&plan->stages[i], values))
			return false;
	for (int p = 0; p < s->nparts; p++)
		if (s->parts[p].tail)
			c->at[p] = 0;
	return true;
}
