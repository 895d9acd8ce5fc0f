/* Intrinsics as plain data (intrinsics.def). */
#ifndef IR_INTRINSIC_H
#define IR_INTRINSIC_H

#include "ir/expr.h"

typedef struct {
	const char *name;
	DType a, b, sum;
	int terms;
} Intrinsic;

int intrinsic_find(const char *name); /* its number; -1 */
const Intrinsic *intrinsic_at(int number);
int intrinsic_count(void);
/* With these operands, in this order; NULL. */
const Intrinsic *intrinsic_of(DType a, DType b);
/* That sums what the body of a sum gives, a product of two reads that are
 * converted; NULL. */
const Intrinsic *intrinsic_of_body(const Expr *body);

#endif
