/* The bytes that many threads and steps touch, in whole sectors.
 *
 *     x[64*i + j], i in 8, j in 16     8 rows of 64 bytes: 16 sectors
 *     x[i + j]                         one row of 92 bytes: 3
 *
 * The loops that move an access, those that move it least first: a step within
 * what is touched so far makes that longer; one beyond it makes rows of it, and
 * a step within so many rows more of these. */
#include <assert.h>
#include <math.h>

#include "schedule/plan/cost_gpu.h"

static void insert(Digits *g, int loop, int64_t step)
{
	int i = g->n++;
	assert(i <= PLAN_DEPTH);
	for (; i && g->step[i - 1] > step; i--) {
		g->step[i] = g->step[i - 1];
		g->loop[i] = g->loop[i - 1];
	}
	g->step[i] = step;
	g->loop[i] = loop;
}

void digits_fill(const StageNow *now, const PlanAccess *a, Digits *g)
{
	const AccessNow *at = access_now(now, a);
	uint32_t loops = at->moves;
	g->access = a;
	g->n = 0;
	g->held = a->bytes;
	for (int k = 0; k < a->ndim; k++)
		g->held *= (double)now->values[a->held[k]];
	while (loops) {
		int d = last_loop(&loops);
		if (at->step[d])
			insert(g, d, at->step[d] * a->bytes);
	}
	int64_t reach = 0;
	for (int k = 0; k < a->ndim && a->likes > 1; k++)
		reach += access_dim_step(a, now->values, k, a->reach[k]);
	if (reach)
		insert(g, PLAN_DEPTH, reach * a->bytes / (a->likes - 1));
}

double region_bytes(
    const Digits *g, uint32_t loops, const double *counts, int sector)
{
	const PlanAccess *a = g->access;
	double row = a->bytes, rows = 1, level = 0, in_level = 1;
	for (int i = 0; i < g->n; i++) {
		int d = g->loop[i];
		if (d < PLAN_DEPTH && !(loops >> d & 1))
			continue;
		double n = d < PLAN_DEPTH ? counts[d] : a->likes;
		double step = (double)g->step[i];
		if (n <= 1)
			continue;
		if (d < PLAN_DEPTH && a->by_data >> d & 1) {
			rows *= n;
		} else if (step <= row || step < sector) {
			row += (n - 1) * step;
		} else if (level > 0 && step < level * in_level) {
			in_level += (n - 1) * step / level;
		} else {
			rows *= in_level;
			level = step;
			in_level = n;
		}
	}
	double bytes = ceil(row / sector) * sector * rows * in_level;
	double all = max2(g->held, sector);
	return min2(bytes, all);
}
