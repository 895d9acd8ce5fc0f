/* The cost model's row: FEATURES floats, the same columns for every program.
 *
 * Two blocks for the two stages with most work (loops from the innermost
 * outwards, memory touched, instructions of the body, traffic), then sums over
 * all stages and relation features (Chen et al. 2018, appendix: the most bytes
 * moved among loops whose footprint is below a threshold).  Everything that
 * may be large is log2(1 + x): these columns come first, for all blocks. */
#include <math.h>
#include <string.h>

#include "schedule/plan/features.h"

enum {
	LOOPS_SHOWN = 10,
	ACCESSES_SHOWN = 4,
	STAGES_SHOWN = 2,
	THRESHOLDS = 10,
	TOTALS = 10,
	STAGE_LOGS = 2 * LOOPS_SHOWN + 4 * ACCESSES_SHOWN + 17,
	STAGE_PLAIN = LOOPS_SHOWN + ACCESSES_SHOWN + 8,
	PLAIN = STAGES_SHOWN * STAGE_PLAIN + 3
};

_Static_assert(STAGES_SHOWN * STAGE_LOGS + THRESHOLDS + TOTALS <= LOGS &&
	LOGS + PLAIN <= FEATURES, "the row is full");

typedef float Floats __attribute__((vector_size(16)));
typedef int32_t Ints __attribute__((vector_size(16)));

/* log2(1 + x) to about 1e-3 for x >= 0: the exponent, and a quadratic in the
 * mantissa. */
static Floats log2_1p(Floats x)
{
	union {
		Floats f;
		Ints i;
	} v = {.f = x + 1}, m;
	m.i = (v.i & 0x7fffff) | 0x3f800000;
	return __builtin_convertvector((v.i >> 23) - 127, Floats) +
	    (-0.33582878f * m.f + 2.0f) * m.f - 1.65871022f -
	    0.00546f * (m.f - 1) * (2 - m.f);
}

void features_take_logs(float *row)
{
	for (int i = 0; i < LOGS; i += 4) {
		Floats x;
		memcpy(&x, row + i, sizeof x);
		x = log2_1p(x);
		memcpy(row + i, &x, sizeof x);
	}
}

/* Where the next column of each kind is. */
typedef struct {
	float *log, *plain;
} Columns;

static double handle_at(const int64_t *values, Handle h)
{
	return h == HANDLE_NONE ? 0 : (double)values[h];
}

static void put_loops(const PlanStage *s, const int64_t *values,
    const StageCost *c, Columns *at)
{
	for (int i = 0; i < LOOPS_SHOWN && i < s->nloops; i++) {
		int d = s->nloops - 1 - i;
		const PlanLoop *l = &s->loops[d];
		at->log[2 * i] = (float)values[l->extent];
		at->log[2 * i + 1] = (float)c->touched[d];
		at->plain[i] = (float)l->kind + (l->reduce ? 8.0f : 0.0f);
	}
	at->log += 2 * LOOPS_SHOWN;
	at->plain += LOOPS_SHOWN;
}

static float step_column(const PlanAccess *a, const int64_t *values, int loop)
{
	return loop < 0 ? 0 : (float)access_step(a, values, loop);
}

static void put_accesses(const PlanStage *s, const int64_t *values,
    const StageCost *c, Columns *at)
{
	int last = s->nloops - 1;
	int serial = c->body > 0 ? c->body - 1 : 0;
	for (int i = 0; i < ACCESSES_SHOWN && i < s->naccesses; i++) {
		const PlanAccess *a = &s->accesses[i];
		float *log = at->log + 4 * i;
		double held = a->bytes;
		for (int k = 0; k < a->ndim; k++)
			held *= handle_at(values, a->held[k]);
		log[0] = step_column(a, values, last);
		log[1] = step_column(a, values, last - 1);
		log[2] = step_column(a, values, s->nloops ? serial : -1);
		log[3] = (float)held;
		at->plain[i] = (float)a->scope;
	}
	at->log += 4 * ACCESSES_SHOWN;
	at->plain += ACCESSES_SHOWN;
}

static void put_stage(const PlanStage *s, const int64_t *values,
    const StageCost *c, Columns at)
{
	put_loops(s, values, c, &at);
	put_accesses(s, values, c, &at);
	const double logs[] = {c->body_runs, c->unrolled, c->operations,
	    c->loads, c->stores, c->gathers + c->conflicts, c->accumulators,
	    c->registers, c->parallel, c->trips[s->nloops], c->traffic[0],
	    c->traffic[1], c->traffic[2], c->touched[0], c->touched[c->body],
	    c->cycles, c->seconds * 1e9};
	for (int i = 0; i < (int)(sizeof logs / sizeof *logs); i++)
		at.log[i] = (float)logs[i];
	const double plain[] = {c->lanes, c->imbalance, c->padding,
	    c->operations / (c->loads + 1),
	    c->operations / (c->accumulators > 0 ? c->accumulators : 1),
	    s->tail, s->nloops, s->ahead};
	for (int i = 0; i < (int)(sizeof plain / sizeof *plain); i++)
		at.plain[i] = (float)plain[i];
}

/* Most bytes moved through a loop whose footprint is below 2^(2t+4). */
static void put_relations(const PlanStage *s, const StageCost *c, float *log)
{
	for (int t = 0; t < THRESHOLDS; t++) {
		double limit = (double)(16ull << (2 * t)), most = 0;
		for (int d = 0; d <= s->nloops; d++)
			if (c->touched[d] < limit) {
				most = c->touched[d] * c->trips[d];
				break;
			}
		log[t] = (float)most;
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

	if (machine->gpu) {
		features_of_launches(plan, machine, values, row);
		return;
	}
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
	Columns at = {row, row + LOGS};
	put_stage(&plan->stages[anchor], values, &costs[anchor], at);
	at.log += STAGE_LOGS;
	at.plain += STAGE_PLAIN;
	if (second >= 0)
		put_stage(&plan->stages[second], values, &costs[second], at);
	at.log += STAGE_LOGS;
	at.plain += STAGE_PLAIN;
	put_relations(&plan->stages[anchor], &costs[anchor], at.log);
	at.log += THRESHOLDS;
	const double totals[TOTALS] = {seconds * 1e9, others * 1e9, cycles,
	    operations, gathers, traffic[0], traffic[1], traffic[2],
	    (double)plan->program_flops, (double)plan->program_bytes};
	for (int i = 0; i < TOTALS; i++)
		at.log[i] = (float)totals[i];
	at.plain[0] = (float)plan->nstages;
	at.plain[1] = (float)regions;
	at.plain[2] = (float)machine->threads;
	features_take_logs(row);
}
