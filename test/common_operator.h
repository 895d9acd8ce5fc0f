/* Random operator files, for tests: texts in the language, every construct of
 * it.  Each definition carries a bound of what rounding may do to it, whatever
 * the order of sums and the functions of libm: values that are compared, or
 * become integers, have none. */
#ifndef TEST_COMMON_OPERATOR_H
#define TEST_COMMON_OPERATOR_H

#include "ir/program.h"
#include "lib/rng.h"

typedef struct {
	const char *name; /* of the definition */
	double error;     /* at most, in each element */
} OperatorError;
typedef VEC(OperatorError) OperatorErrors;

typedef struct {
	char *text;
	OperatorErrors errors;
} OperatorText;

/* An operator called `name`. */
void operator_random(
    Arena *arena, Rng *rng, const char *name, OperatorText *out);
/* The bound of a buffer; 0 where it is exact. */
double operator_error(const OperatorText *text, const char *buffer);
/* Values of inputs.  SMALL floats are multiples of 2^-OPERATOR_INPUT_BITS and of
 * at most this magnitude; SPECIAL ones may be infinite or NaN, too, and bounds
 * of errors still hold; ANY is for results that are equal bit for bit. */
enum { OPERATOR_INPUT_BOUND = 4, OPERATOR_INPUT_BITS = 3 };
typedef enum { OPERATOR_SMALL, OPERATOR_SPECIAL, OPERATOR_ANY } OperatorData;
void operator_fill(
    const Buffer *buffer, void *data, OperatorData kind, Rng *rng);

/* common_operator_count.c: in how many programs each construct is. */
enum { OPERATOR_EXTENTS = 7 };
extern const int operator_extents[OPERATOR_EXTENTS];

typedef struct {
	int programs;
	int op[OP_COUNT];    /* on values */
	int index[OP_COUNT]; /* in indices of reads */
	int type[DT_COUNT];  /* of buffers */
	int cast[DT_COUNT][DT_COUNT];
	int reduce[REDUCE_COUNT];
	int reduced[DT_COUNT];
	int extent[OPERATOR_EXTENTS];
	int nested, guarded, guarded_by_data, scalar_input, scalar, outputs;
	int output_read, unused, constant, strided;
	/* reads at data, and those that a condition on data proves; extents
	 * over outer axes; a buffer read at two places; 0 beside a read under a
	 * condition on axes, and one with % or // in it */
	int lookup, proven, varying, twice, padding, phases;
} OperatorCoverage;

void operator_count(OperatorCoverage *coverage, const Program *program);
void operator_coverage_print(const OperatorCoverage *coverage);
/* The first construct that no program had; NULL where there is none. */
const char *operator_coverage_gap(const OperatorCoverage *coverage);

#endif
