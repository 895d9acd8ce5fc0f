/* Every operator of workloads/, small: sizes that no tile divides. */
#ifndef TEST_COMMON_WORKLOADS_H
#define TEST_COMMON_WORKLOADS_H

#include "test/common_lower.h"
#include "test/common_schedule.h"

int workload_count(void);
/* From one to the next: $EVERY, where kernels take long to compile, or 1. */
int workload_step(void);
/* Fails the test where it cannot be read. */
Program *workload_load(Arena *arena, int number);

/* What is asked of a schedule; NULL: of none.  data as lowercheck_expect leaves
 * it. */
typedef void WorkloadCheck(Arena *arena, const Program *program,
    const Trace *trace, const Target *target, void *const *data);
/* Of so many random candidates for a target (the second number in the tier
 * `long`), and before them, if `plain`, of the program without a schedule. */
void workload_check(int number, const char *target, Rng *rng, int quick,
    int longer, bool plain, WorkloadCheck *check);

#endif
