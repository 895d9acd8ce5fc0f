/* The products of test/gpu with the schedules beside them. */
#ifndef TEST_COMMON_PRODUCTS_H
#define TEST_COMMON_PRODUCTS_H

#include "ir/ir.h"
#include "lib/rng.h"
#include "schedule/schedule.h"

/* Of n x n elements; with --numerics=fast, which allows what default does. */
Program *product_load(Arena *arena, const char *name, const char *n);
/* Inputs by buffer, of f32 with fractions that tf32 does not hold. */
void **product_data(Arena *arena, const Program *p, Rng *rng);
/* The outputs of data[], by buffer; of inputs that are rounded to 11 digits first,
 * but stay as they are. */
void product_expect(const Program *p, bool rounded, void **data);
Trace *product_trace(Arena *arena, const char *name);

#endif
