/* The cost model's row: FEATURES floats, the same columns for every program.
 *
 * Two blocks for the two stages with most work (loops from the innermost
 * outwards, memory touched, instructions of the body, traffic), then sums over
 * all stages and relation features (Chen et al. 2018, appendix: the most bytes
 * moved among loops whose footprint is below a threshold).  Everything that
 * may be large is log2(1 + x). */
#include <math.h>
#include <string.h>

#include "schedule/plan/plan.h"

enum {
	LOOPS_SHOWN = 10,
	ACCESSES_SHOWN = 4,
	STAGES_SHOWN = 2,
	STAGE_COLUMNS = 78,
	THRESHOLDS = 10
};

/* log2(1 + x) to about 1e-3: the exponent, and a quadratic in the mantissa. */
static float log2_1p(double x)
{
	union {
		float f;
		uint32_t u;
	} v = {.f = (float)(x + 1)};
	int exponent = (int)(v.u >> 23) - 127;
	v.u = (v.u & 0x7fffff) | 0x3f800000;
	float m = v.f;
	return (float)exponent + (-0.33582878f * m + 2.0f) * m - 1.65871022f +
	    -0.00546f * (m - 1) * (2 - m);
}

static double handle_at(const int64_t *values, Handle h)
{
	return h == HANDLE_NONE ? 0 : (double)values[h];
}

static float *put_loops(const PlanStage *s, const int64_t *values,
    const StageCost *c, float *row)
{
	for (int i = 0; i < LOOPS_SHOWN; i++, row += 3) {
		int d = s->nloops - 1 - i;
		if (d < 0)
			continue;
		const PlanLoop *l = &s->loops[d];
		row[0] = log2_1p(handle_at(values, l->extent));
		row[1] = (float)l->kind + (l->reduce ? 8.0f : 0.0f);
		row[2] = log2_1p(c->touched[d]);
	}
	return row;
}

static float step_column(const PlanAccess *a, const int64_t *values, int loop)
{
	return loop < 0 ? 0 : log2_1p((double)access_step(a, values, loop));
}

static float *put_accesses(const PlanStage *s, const int64_t *values,
    const StageCost *c, float *row)
{
	for (int i = 0; i < ACCESSES_SHOWN; i++, row += 5) {
		if (i >= s->naccesses)
			continue;
		const PlanAccess *a = &s->accesses[i];
		int last = s->nloops - 1;
		int serial = c->body > 0 ? c->body - 1 : 0;
		row[0] = step_column(a, values, last);
		row[1] = step_column(a, values, last - 1);
		row[2] = step_column(a, values, s->nloops ? serial : -1);
		double held = a->bytes;
		for (int k = 0; k < a->ndim; k++)
			held *= handle_at(values, a->held[k]);
		row[3] = log2_1p(held);
		row[4] = (float)a->scope;
	}
	return row;
}

static void put_stage(const PlanStage *s, const int64_t *values,
    const StageCost *c, float *row)
{
	row = put_loops(s, values, c, row);
	row = put_accesses(s, values, c, row);
	const double logs[] = {c->body_runs, c->unrolled, c->operations,
	    c->loads, c->stores, c->gathers + c->conflicts, c->accumulators,
	    c->registers,
	    c->parallel, c->trips[s->nloops], c->traffic[0], c->traffic[1],
	    c->traffic[2], c->touched[0], c->touched[c->body],
	    c->cycles};
	int n = (int)(sizeof logs / sizeof *logs);
	for (int i = 0; i < n; i++)
		*row++ = log2_1p(logs[i]);
	*row++ = (float)c->lanes;
	*row++ = (float)c->imbalance;
	*row++ = (float)c->padding;
	*row++ = (float)(c->operations / (c->loads + 1));
	*row++ = (float)(c->operations /
	    (c->accumulators > 0 ? c->accumulators : 1));
	*row++ = (float)s->tail;
	*row++ = (float)s->nloops;
	*row++ = (float)s->ahead;
	*row++ = log2_1p(c->seconds * 1e9);
}

/* Most bytes moved through a loop whose footprint is below 2^(2t+4). */
static void put_relations(const PlanStage *s, const StageCost *c, float *row)
{
	for (int t = 0; t < THRESHOLDS; t++) {
		double limit = (double)(16ull << (2 * t)), most = 0;
		for (int d = 0; d <= s->nloops; d++)
			if (c->touched[d] < limit) {
				most = c->touched[d] * c->trips[d];
				break;
			}
		row[t] = log2_1p(most);
	}
}

/* The stages with most predicted time of the kernel come first: the anchor,
 * then the dearest of the others; -1: it is alone. */
static int second_stage(const Plan *plan, const StageCost *costs, int n)
{
	int best = -1;
	for (int i = 0; i < n; i++)
		if (i != plan->anchor && !plan->stages[i].ahead &&
		    (best < 0 || costs[i].seconds > costs[best].seconds))
			best = i;
	return best;
}

enum { STAGES_COSTED = 64 }; /* later ones are left out */

void plan_features(const Plan *plan, const Machine *machine,
    const int64_t *values, float *row)
{
	StageCost costs[STAGES_COSTED];
	double seconds = 0, others = 0, cycles = 0, regions = 0;
	double operations = 0, gathers = 0, traffic[3] = {0};
	int n = plan->nstages < STAGES_COSTED ? plan->nstages : STAGES_COSTED;

	memset(row, 0, FEATURES * sizeof *row);
	for (int i = 0; i < n; i++) {
		const PlanStage *s = &plan->stages[i];
		if (s->ahead && i != plan->anchor)
			continue;
		stage_cost(s, machine, values, &costs[i]);
		seconds += costs[i].seconds;
		cycles += costs[i].cycles;
		others += i == plan->anchor ? 0 : costs[i].seconds;
		regions += costs[i].parallel > 1;
		operations += costs[i].operations * costs[i].body_runs;
		gathers += costs[i].gathers * costs[i].body_runs;
		for (int k = 0; k < 3; k++)
			traffic[k] += costs[i].traffic[k];
	}
	int anchor = plan->anchor < n ? plan->anchor : 0;
	int second = second_stage(plan, costs, n);
	float *at = row;
	put_stage(&plan->stages[anchor], values, &costs[anchor], at);
	at += STAGE_COLUMNS;
	if (second >= 0)
		put_stage(&plan->stages[second], values, &costs[second], at);
	at += STAGE_COLUMNS;
	put_relations(&plan->stages[anchor], &costs[anchor], at);
	at += THRESHOLDS;
	const double logs[] = {seconds * 1e9, others * 1e9, cycles, operations,
	    gathers, traffic[0], traffic[1], traffic[2],
	    (double)plan->program_flops, (double)plan->program_bytes};
	for (int i = 0; i < (int)(sizeof logs / sizeof *logs); i++)
		*at++ = log2_1p(logs[i]);
	*at++ = (float)plan->nstages;
	*at++ = (float)regions;
	*at++ = (float)machine->threads;
	_Static_assert(STAGES_SHOWN * STAGE_COLUMNS + THRESHOLDS + 13 <=
		FEATURES, "the row is full");
	_Static_assert(LOOPS_SHOWN * 3 + ACCESSES_SHOWN * 5 + 25 <=
		STAGE_COLUMNS, "a stage's block is full");
}
