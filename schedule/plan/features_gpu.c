/* The cost model's row for a GPU: FEATURES floats, the same columns for every
 * program.
 *
 * Two blocks for the launch of the anchor and the dearest of the others, then the
 * anchor's loops and accesses, then sums over all launches.  As for a CPU, what
 * may be large is log2(1 + x), in the first columns. */
#include <string.h>

#include "schedule/plan/cost_gpu.h"
#include "schedule/plan/features.h"

enum {
	LAUNCHES_SHOWN = 2,
	LOOPS_SHOWN = 14,
	ACCESSES_SHOWN = 4,
	LAUNCH_LOGS = 21,
	LAUNCH_PLAIN = 9,
	TOTALS = 8,
	STAGE_LOGS = LOOPS_SHOWN + 4 * ACCESSES_SHOWN,
	STAGE_PLAIN = LOOPS_SHOWN + ACCESSES_SHOWN
};

_Static_assert(LAUNCHES_SHOWN * LAUNCH_LOGS + STAGE_LOGS + TOTALS <= LOGS &&
	LOGS + LAUNCHES_SHOWN * LAUNCH_PLAIN + STAGE_PLAIN + 3 <= FEATURES,
    "the row is full");

/* Where the next column of each kind is. */
typedef struct {
	float *log, *plain;
} Columns;

static double part_of(double a, double b)
{
	return b > 0 ? a / b : 0;
}

static void put_launch(const LaunchCost *c, const Machine *m, Columns *at)
{
	double slots = c->resident * max2(1, m->processors);
	const double logs[LAUNCH_LOGS] = {c->grid, c->threads, c->registers,
	    c->spilled, c->shared_bytes, c->waves, c->issue, c->arithmetic,
	    c->special, c->loading, c->waiting, c->ahead, c->chain, c->barriers,
	    c->asked, c->from_l2, c->from_memory, c->grid * c->threads,
	    c->resident * c->threads, c->seconds * 1e9, part_of(c->grid, slots)};
	const double plain[LAUNCH_PLAIN] = {c->resident, c->occupancy,
	    c->sectors, c->turns, part_of(c->grid, c->waves * slots),
	    part_of(c->arithmetic, c->issue),
	    part_of(c->arithmetic, c->loading), part_of(c->from_l2, c->asked),
	    part_of(c->from_memory, c->from_l2)};
	for (int i = 0; i < LAUNCH_LOGS; i++)
		*at->log++ = (float)logs[i];
	for (int i = 0; i < LAUNCH_PLAIN; i++)
		*at->plain++ = (float)plain[i];
}

/* The innermost loop of a kind that runs; -1. */
static int innermost(uint32_t loops)
{
	return loops ? last_loop(&loops) : -1;
}

static float step_column(const PlanAccess *a, const int64_t *values, int loop)
{
	return loop < 0 ? 0 : (float)access_step(a, values, loop);
}

static void put_stage(const PlanStage *s, const int64_t *values, Columns *at)
{
	Shape shape;
	launch_shape(s, values, &shape);
	int thread = innermost(shape.threads), code = innermost(shape.code);
	int serial = innermost(shape.serial);
	for (int d = s->nloops - 1, i = 0; i < LOOPS_SHOWN && d >= 0; d--) {
		const PlanLoop *l = &s->loops[d];
		if (values[l->extent] < 2)
			continue;
		at->log[i] = (float)values[l->extent];
		at->plain[i++] = (float)l->kind + (l->reduce ? 16.0f : 0.0f);
	}
	at->log += LOOPS_SHOWN;
	at->plain += LOOPS_SHOWN;
	for (int i = 0; i < ACCESSES_SHOWN && i < s->naccesses; i++) {
		const PlanAccess *a = &s->accesses[i];
		double held = a->bytes;
		for (int k = 0; k < a->ndim; k++)
			held *= (double)values[a->held[k]];
		/* no thread moves within another one's registers */
		at->log[4 * i] = a->scope == SCOPE_REG
		    ? 0 : step_column(a, values, thread);
		at->log[4 * i + 1] = step_column(a, values, code);
		at->log[4 * i + 2] = step_column(a, values, serial);
		at->log[4 * i + 3] = (float)held;
		at->plain[i] = (float)a->scope;
	}
	at->log += 4 * ACCESSES_SHOWN;
	at->plain += ACCESSES_SHOWN;
}

void features_of_launches(const Plan *plan, const Machine *machine,
    const int64_t *values, float *row)
{
	LaunchCost c, shown[LAUNCHES_SHOWN] = {{0}};
	double seconds = 0, asked = 0, l2 = 0, memory = 0;
	int n = 0, anchor = plan->stages[plan->anchor].launch;
	memset(row, 0, FEATURES * sizeof *row);
	for (int i = 0; launch_next(plan, machine, values, i, &c);
	     i = c.first + 1) {
		if (!c.resident)
			c.seconds = 0; /* its needs say why */
		seconds += c.seconds;
		asked += c.asked;
		l2 += c.from_l2;
		memory += c.from_memory;
		n++;
		if (c.first == anchor)
			shown[0] = c;
		else if (c.seconds > shown[1].seconds)
			shown[1] = c;
	}
	Columns at = {row, row + LOGS};
	for (int i = 0; i < LAUNCHES_SHOWN; i++)
		put_launch(&shown[i], machine, &at);
	put_stage(&plan->stages[plan->anchor], values, &at);
	const double totals[TOTALS] = {seconds * 1e9,
	    (seconds - shown[0].seconds) * 1e9, asked, l2, memory,
	    (double)plan->program_flops, (double)plan->program_bytes,
	    (double)machine->processors};
	for (int i = 0; i < TOTALS; i++)
		*at.log++ = (float)totals[i];
	at.plain[0] = (float)plan->nstages;
	at.plain[1] = (float)n;
	at.plain[2] = (float)machine->fma_per_cycle;
	features_take_logs(row);
}
