/* One stage with a candidate's numbers filled in: what cost.c and traffic.c
 * share. */
#ifndef SCHEDULE_COST_H
#define SCHEDULE_COST_H

#include "ir/costs.h"
#include "schedule/plan/plan.h"

typedef struct {
	uint32_t moves; /* bit d: loop d moves it, in more than one iteration */
	int64_t step[PLAN_DEPTH]; /* elements by which a step of that does; 0 */
} AccessNow;

typedef struct {
	const PlanStage *stage;
	const Machine *machine;
	const MachineCosts *costs; /* the machine's */
	const int64_t *values;
	int64_t extent[PLAN_DEPTH];
	uint32_t runs; /* bit d: loop d has more than one iteration */
	uint32_t code; /* is repeated in code, or a vector */
	int merged;    /* steps of the innermost loop, which are one operation and
			  left out of the above; 0: none are */
	int nrunning;
	uint8_t running[PLAN_DEPTH]; /* these loops, outermost first */
	AccessNow at[PLAN_ACCESSES];
} StageNow;

static inline const AccessNow *access_now(
    const StageNow *now, const PlanAccess *access)
{
	return &now->at[access - now->stage->accesses];
}

static inline bool access_moves_now(
    const StageNow *now, const PlanAccess *access, int loop)
{
	return access_now(now, access)->moves >> loop & 1;
}

/* Takes the last loop out of `loops`. */
static inline int last_loop(uint32_t *loops)
{
	int d = 31 - __builtin_clz(*loops);
	*loops &= ~(1u << d);
	return d;
}

static inline double min2(double a, double b)
{
	return a < b ? a : b;
}

static inline double max2(double a, double b)
{
	return a > b ? a : b;
}

/* cost.c: the stage with a candidate's numbers; how often its loops start. */
void stage_now(const PlanStage *stage, const Machine *machine,
    const int64_t *values, StageNow *now);
void count_trips(const StageNow *now, StageCost *cost);
/* How far a step along one dimension moves the address, in elements. */
int64_t access_dim_step(
    const PlanAccess *access, const int64_t *values, int dim, int64_t step);

/* traffic.c: of so many copies along these loops of the body, the part that reads
 * what neither others do nor reads that move alike: (c + 1) % 3 and (c + 2) % 3 over
 * c are three elements. */
/* split.c: cycles in which the stage waits for vectors in two lines, of an access that
 * brings so many bytes from the second cache. */
double split_waits(const StageNow *now, const StageCost *c,
    const PlanAccess *access, double bytes);

double part_differing(const StageNow *now, const PlanAccess *access,
    uint32_t loops, double copies);

/* what all loops touch, and what moves between the caches; after
 * count_trips. */
void count_traffic(const StageNow *now, StageCost *cost);

#endif
