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

double plan_seconds(
    const Plan *plan, const Machine *machine, const int64_t *values)
{
	double sum = 0;
	if (machine->gpu)
		return launches_seconds(plan, machine, values);
	for (int i = 0; i < plan->nstages; i++) {
		StageCost c;
		if (plan->stages[i].ahead)
			continue;
		stage_cost(&plan->stages[i], machine, values, &c);
		sum += c.seconds;
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
	for (int d = s->nloops - 1;
	     d >= 0 && loop_in_code(&s->loops[d], values); d--)
		if (s->loops[d].kind != LOOP_VECTOR)
			copies *= (double)values[s->loops[d].extent];
	return copies;
}

/* Most are no candidates for this reason: it is asked with as little as tells. */
static bool is_large(
    const PlanStage *s, const Machine *machine, const int64_t *values)
{
	int most = machine->gpu ? GPU_OPERATIONS_MAX : BODY_OPERATIONS_MAX;
	double limit = most * group_work(s, values);
	double copies = copies_in_body(s, values);
	if (copies * s->flops <= limit)
		return false;
	if (s->dot) { /* of which a loop may be one operation */
		StageCost c;
		stage_body(s, machine, values, &c);
		copies = c.unrolled;
	}
	return copies * stage_density(s, values, 1).copies * s->flops > limit;
}

static Refusal stage_limits(const PlanStage *s, bool anchor,
    const Machine *machine, const int64_t *values)
{
	bool tile = s->reduce && s->accesses[0].scope == SCOPE_REG &&
	    machine->vector_registers;
	StageCost c;
	if (is_large(s, machine, values))
		return "the unrolled body is too large";
	if (!tile && !anchor)
		return NULL;
	stage_body(s, machine, values, &c);
	if (tile && c.registers > machine->vector_registers + REGISTERS_OVER)
		return "the register tile does not fit the registers";
	return anchor && c.padding > 2 ? "more than half of the work is padding"
				       : NULL;
}

Refusal plan_limits(
    const Plan *plan, const Machine *machine, const int64_t *values)
{
	for (int i = 0; i < plan->nstages; i++) {
		const PlanStage *s = &plan->stages[i];
		Refusal why = s->ahead /* it is not timed */
		    ? NULL
		    : stage_limits(s, i == plan->anchor, machine, values);
		if (why)
			return why;
	}
	return machine->gpu ? plan_launches(plan, machine, values) : NULL;
}
