/* Enclosures: between what ends a float lies, however it was rounded and in
 * whatever order it was summed, and whether it may be NaN. */
#ifndef IR_ENCLOSURE_H
#define IR_ENCLOSURE_H

#include "ir/program.h"

typedef struct {
	double low, high; /* both included; no number where low > high */
	bool nan;
} Enclosure;

/* What an operation adds to what its operands bring. */
typedef struct {
	DType type;   /* that it is computed in */
	double share; /* of the result's size */
} Rounding;

/* enclosure_op.c */
Rounding rounding_of(const Program *program, DType type);
Enclosure enclosure_of(double x);
Enclosure enclosure_any(void);
Enclosure enclosure_either(Enclosure a, Enclosure b);
bool enclosure_is_point(Enclosure a);
bool enclosure_has(Enclosure a, double x);
/* The greatest that the number may be, without its sign. */
double enclosure_size(Enclosure a);
/* Of a result as computed without an error. */
Enclosure enclosure_rounded(Enclosure a, Rounding rounding);
/* A sum of so many terms, whose sizes have the sum `size`, in whatever order. */
Enclosure enclosure_summed(
    Enclosure a, double size, double terms, Rounding rounding);
/* Of an operation, rounded; what it does not look at is ignored. */
Enclosure enclosure_op(
    Op op, Enclosure a, Enclosure b, Enclosure c, Rounding rounding);
/* Of a comparison: may it hold, may it not? */
void enclosure_compare(Op op, Enclosure a, Enclosure b, bool *yes, bool *no);

/* enclosure.c: of one element of a buffer, from the inputs alone; an integer that
 * may be one or another may be any.  False: `stop` said so. */
bool enclosure_point(const Program *program, void *const *inputs, int buffer,
    int64_t at, Enclosure *out, bool (*stop)(void *context), void *context);

#endif
