/* Vectors that lie in two lines.
 *
 *     for c for y unroll r, s        rows of data[c, y + r, x + s ..] for lanes of x
 *       vector x                     begin anywhere in a line
 *
 * Each is two accesses.  While both lines are still to come from the second cache, what
 * is behind it waits, too: rows of another channel are elsewhere, and no hardware sees
 * them coming.  Where they are asked for an iteration ahead (lower_prefetch.c) nothing
 * waits. */
#include <math.h>
#include <stdlib.h>

#include "lib/gcd.h"
#include "schedule/plan/cost.h"

/* Bytes that the vectors which an iteration of the loop reads of a row begin a multiple
 * of apart, up to a line. */
static int64_t alignment(
    const StageNow *w, const PlanAccess *a, int loop, int vector)
{
	uint32_t loops = access_now(w, a)->moves & ~(1u << vector);
	loops &= ~1u << loop;
	int64_t all = w->machine->line_bytes;
	while (loops) {
		int d = last_loop(&loops);
		all = gcd(all, llabs(access_now(w, a)->step[d]) * a->bytes);
	}
	return all;
}

/* The innermost loop of the reduction around the body that brings other lines; -1:
 * there is none, or a loop further in does. */
static int loop_of_rows(const StageNow *w, const PlanAccess *a, int body)
{
	for (int d = body - 1; d >= 0; d--)
		if (access_moves_now(w, a, d) &&
		    llabs(access_now(w, a)->step[d]) * a->bytes >=
			w->machine->line_bytes)
			return w->stage->loops[d].reduce ? d : -1;
	return -1;
}

/* Rows of lanes that an iteration of the loop reads, and how long each is. */
static double rows_inside(
    const StageNow *w, const PlanAccess *a, int loop, int vector, double *bytes)
{
	double elements[PLAN_DEPTH + 1];
	access_elements(w->stage, a, w->values, elements);
	*bytes = (double)w->extent[vector];
	for (int d = loop + 1; d < w->stage->nloops; d++)
		if (d != vector && a->dims[d] & a->dims[vector])
			*bytes += (double)((w->extent[d] - 1) *
			    llabs(access_now(w, a)->step[d]));
	double rows = max2(1, elements[loop + 1] / *bytes);
	*bytes *= a->bytes;
	return rows;
}

static double waits_of(const StageNow *w, const StageCost *c,
    const PlanAccess *a, int vector, double moved)
{
	double bytes, line = w->machine->line_bytes;
	int loop = loop_of_rows(w, a, c->body);
	if (loop < 0 || access_now(w, a)->step[vector] != 1)
		return 0;
	double even = (double)alignment(w, a, loop, vector);
	if (even >= (double)w->extent[vector] * a->bytes)
		return 0;
	double rows = rows_inside(w, a, loop, vector, &bytes);
	double over = (bytes - even) / line;
	double step = (double)llabs(access_now(w, a)->step[loop]) * a->bytes;
	bool asked =
	    step >= BODY_FAR_STEP && rows * (1 + ceil(over)) <= BODY_ASKED_MOST;
	if (asked || bytes > w->costs->short_row)
		return 0;
	/* what is near is seen coming, up to the end of a page */
	double far = 0;
	for (int d = loop; d < w->stage->nloops; d++)
		far = max2(
		    far, (double)llabs(access_now(w, a)->step[d]) * a->bytes);
	return moved / bytes * min2(1, over) * min2(1, far / w->costs->page) *
	    w->costs->split_wait;
}

double split_waits(
    const StageNow *w, const StageCost *c, const PlanAccess *a, double moved)
{
	const PlanStage *s = w->stage;
	double waits = 0;
	for (int v = c->body; v < s->nloops && !a->write && !a->by_data; v++)
		if (s->loops[v].kind == LOOP_VECTOR &&
		    access_moves_now(w, a, v))
			waits += waits_of(w, c, a, v, moved);
	return waits * c->density;
}
