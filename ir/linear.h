/* linear.c: what an index adds up in numbers, whatever its terms are.  With sizes that
 * are open, and their quotients folded, it is affine_of (ir/nest/nest.h).
 *
 *     4*(i + 1) - j//2 + 3      4 times i, -1 times j//2; 7 */
#ifndef IR_LINEAR_H
#define IR_LINEAR_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/expr.h"

/* A term that is no sum, difference, or multiple of another, and how often it is
 * there, which may be 0; the same one may come again.  False: enough. */
typedef bool LinearTerm(void *context, const Expr *term, int64_t times);
/* Adds `times` the constant part.  False: a visit said so, or a number does not
 * fit: all are from -INT64_MAX on, so that each has its opposite. */
bool linear_walk(const Expr *e, int64_t times, int64_t *constant,
    LinearTerm *visit, void *context);
/* Adds to it, multiplies it; false: that does not fit. */
bool linear_add(int64_t *sum, int64_t n);
bool linear_scale(int64_t *n, int64_t by);

#endif
