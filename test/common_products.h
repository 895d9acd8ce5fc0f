/* The products of test/gpu with the schedules beside them. */
#ifndef TEST_COMMON_PRODUCTS_H
#define TEST_COMMON_PRODUCTS_H

#include "ir/ir.h"
#include "schedule/schedule.h"

/* Of n x n elements. */
Program *product_load(Arena *arena, const char *name, const char *n,
    Numerics numerics);
Trace *product_trace(Arena *arena, const char *name);

#endif
