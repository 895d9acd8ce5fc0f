/* An analytic model: the sum over stages of what stage_cost says.  It ranks
 * candidate 1, tells the search what cannot be good, and is a feature. */
#include <math.h>

#include "schedule/plan/cost_gpu.h"

/* Of a GPU, the sum over its launches. */
static double launches_seconds(
    const Plan *plan, const Machine *machine, const int64_t *values)
{
	LaunchCost c;
	double sum = 0;
	for (int i = 0; launch_next(plan, machine, values, i, &c);
	     i = c.first + 1)
		sum += c.seconds;
	return sum;
}

/* So small a part of what computes a tile hides the stores of the one before. */
enum { HIDES = 8 };

/* Seconds of the stage that computes in registers what this one stores; 0. */
static double computes_for(
    const Plan *plan, int stage, const Machine *machine, const int64_t *values)
{
	const PlanStage *s = &plan->stages[stage];
	double most = 0;
	for (int a = 0; a < s->naccesses; a++) {
		if (s->accesses[a].write || s->accesses[a].scope != SCOPE_REG)
			continue;
		for (int i = 0; i < stage; i++)
			if (plan->stages[i].accesses[0].buffer ==
			    s->accesses[a].buffer)
				most = fmax(most,
				    plan_stage_cost(plan, i, machine, values)
					->seconds);
	}
	return most;
}

double plan_seconds(
    const Plan *plan, const Machine *machine, const int64_t *values)
{
	double sum = 0;
	if (machine->gpu)
		return launches_seconds(plan, machine, values);
	for (int i = 0; i < plan->nstages; i++) {
		if (plan->stages[i].ahead)
			continue;
		const StageCost *c = plan_stage_cost(plan, i, machine, values);
		double seconds = c->seconds, waits = c->waits;
		if (waits > 0) /* the next tile is computed meanwhile */
			seconds -= fmin(waits,
			    computes_for(plan, i, machine, values) / HIDES);
		sum += seconds;
	}
	return sum;
}

enum {
	GPU_OPERATIONS_MAX = 2048, /* and code no longer fits its cache */
	REGISTERS_OVER = 2	   /* tolerated: compilers fold operands */
};

/* Copies of the operation in the innermost body, but for lanes: no fewer than
 * stage_body says. */
static double copies_in_body(const PlanStage *s, const int64_t *values)
{
	double copies = 1;
	uint32_t code = loops_in_code(s, values);
	for (int d = s->nloops - 1; d >= 0 && code >> d & 1; d--)
		if (!(s->vectors >> d & 1))
			copies *= (double)values[s->loops[d].extent];
	return copies;
}

/* Most are no candidates for this reason: it is asked with as little as tells. */
static bool is_large(
    const Plan *plan, int stage, const Machine *machine, const int64_t *values)
{
	const PlanStage *s = &plan->stages[stage];
	int most = machine->gpu ? GPU_OPERATIONS_MAX : BODY_OPERATIONS_MAX;
	double limit = most * group_work(s, values);
	double copies = copies_in_body(s, values);
	if (copies * s->flops <= limit)
		return false;
	if (s->dot) /* of which a loop may be one operation */
		copies =
		    plan_stage_body(plan, stage, machine, values)->unrolled;
	return copies * stage_copies(s, values) * s->flops > limit;
}

static Refusal stage_limits(
    const Plan *plan, int stage, const Machine *machine, const int64_t *values)
{
	const PlanStage *s = &plan->stages[stage];
	bool anchor = stage == plan->anchor;
	bool tile = s->reduce && s->accesses[0].scope == SCOPE_REG &&
	    machine->vector_registers;
	if (s->ahead)
		return NULL; /* it is not timed */
	if (is_large(plan, stage, machine, values))
		return "the unrolled body is too large";
	if (!tile && !anchor)
		return NULL;
	const StageCost *c = plan_stage_body(plan, stage, machine, values);
	if (tile && c->registers > machine->vector_registers + REGISTERS_OVER)
		return "the register tile does not fit the registers";
	return anchor && c->padding > 2
	    ? "more than half of the work is padding"
	    : NULL;
}

Refusal plan_limits(
    const Plan *plan, const Machine *machine, const int64_t *values)
{
	Refusal why = NULL;
	for (int i = 0; i < plan->nstages && !why; i++)
		why = stage_limits(plan, i, machine, values);
	if (why || !machine->gpu)
		return why;
	return plan_launches(plan, machine, values);
}
