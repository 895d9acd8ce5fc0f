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

Refusal plan_limits(
    const Plan *plan, const Machine *machine, const int64_t *values)
{
	int most = machine->gpu ? GPU_OPERATIONS_MAX : BODY_OPERATIONS_MAX;
	for (int i = 0; i < plan->nstages; i++) {
		const PlanStage *s = &plan->stages[i];
		StageCost c;
		if (s->ahead)
			continue; /* it is not timed */
		stage_body(s, machine, values, &c);
		if (c.unrolled * c.copies * s->flops >
		    most * group_work(s, values))
			return "the unrolled body is too large";
		if (s->reduce && s->accesses[0].scope == SCOPE_REG &&
		    machine->vector_registers &&
		    c.registers > machine->vector_registers + REGISTERS_OVER)
			return "the register tile does not fit the registers";
		if (i == plan->anchor && c.padding > 2)
			return "more than half of the work is padding";
	}
	return machine->gpu ? plan_launches(plan, machine, values) : NULL;
}
