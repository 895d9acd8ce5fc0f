/* Every operator of workloads/, small: sizes that no tile divides. */
#ifndef TEST_COMMON_WORKLOADS_H
#define TEST_COMMON_WORKLOADS_H

#include "ir/ir.h"

int workload_count(void);
/* From one to the next: $EVERY, where kernels take long to compile, or 1. */
int workload_step(void);
/* Fails the test where it cannot be read. */
Program *workload_load(Arena *arena, int number);

#endif
