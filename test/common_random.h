/* Random programs, for tests: every operation, dtype, reduction and form of
 * index.  Values stay small and are multiples of 1/16, so that sums are exact
 * in any order and results can be compared for equality; what functions of
 * libm give is rounded to an integer at once. */
#ifndef TEST_COMMON_RANDOM_H
#define TEST_COMMON_RANDOM_H

#include "ir/program.h"
#include "lib/rng.h"

enum { RANDOM_EXTENTS = 7 };

/* How many programs have it. */
typedef struct {
	int programs;
	int op[OP_COUNT];       /* on values */
	int index[OP_COUNT];    /* in indices and conditions on axes */
	int type[DT_COUNT];     /* of buffers */
	int reduce[REDUCE_MIN + 1];
	int extent[RANDOM_EXTENTS]; /* of axes */
	int guarded_read, scalar, several_outputs, output_read, unused_input;
	int constant_input;
} RandomCoverage;

extern const int random_extents[RANDOM_EXTENTS];

Program *random_program(
    Arena *arena, Rng *rng, const char *symbol, RandomCoverage *coverage);

#endif
