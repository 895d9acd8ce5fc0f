/* Programs made by hand, to schedule, and a machine to do it for. */
#ifndef TEST_COMMON_SCHEDULE_H
#define TEST_COMMON_SCHEDULE_H

#include "schedule/internal.h"

/* Two cores with AVX2. */
extern const Machine test_machine;

/*     p[i < 7, k < 16] = a[i, k] * 2            a f32[7, 16]
 *     c[i < 7, j < 20] = sum[k < 16](p[i, k] * b[k, j])    b const f32[16, 20]
 *     d[i < 7, j < 20] = c[i, j] + bias[j]      bias f32[20]
 *     out[j < 20, i < 7] = max(d[i, j], 0) */
Program *schedule_chain(Arena *arena);
/*     g[i < 8] = sum[k < 16](u[i, k] * v[k])    u u8[8, 16], v i8[16] */
Program *schedule_dot(Arena *arena);

/*     p[i < n + 2] = x[i] + x[i + 1]            x f32[n + 3]
 *     q[i < n + 1] = p[i] * p[i + 1]            an output
 *     s[j < 3] = sum[i < n + 1](q[i] * p[i + 1] + j)
 *     r[i < n, j < 3] = q[i] + q[i + 1] + p[i + 2] + s[2 - j] */
Program *schedule_stencil(Arena *arena, int n);

/* The steps of `text`; fails the test where it does not parse. */
Trace *schedule_steps(Arena *arena, const char *text);

/* common_generate.c: random schedules.  Counts are kept from call to call, and
 * the primitives that were accepted least are tried most. */
typedef struct {
	int64_t tried[PRIMITIVE_COUNT], accepted[PRIMITIVE_COUNT];
	int64_t finished[PRIMITIVE_COUNT]; /* in traces that schedule_nest takes */
	bool excluded[PRIMITIVE_COUNT];    /* never tried */
	bool device; /* a GPU's tiles among the steps */
} Coverage;

/* One of the programs made by hand, of small random extents. */
Program *schedule_random_program(Arena *arena, Rng *rng);

/* A trace of at most `most` steps (half as many on average) that schedule_nest
 * takes, made of random steps with random arguments. */
Trace *schedule_random(Arena *arena, const Program *program,
    const Machine *machine, Rng *rng, int most, Coverage *coverage);

/* The structure of a nest as text: everything that primitives change. */
char *schedule_dump(Arena *arena, const Nest *nest);

#endif
