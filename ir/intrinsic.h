/* Intrinsics as plain data (intrinsics.def, fragments.def).
 *
 * A fragment is c[16, 8] += a[16, k] * b[k, 8] of the threads of a warp.  With
 * g = number / 4 and t = number % 4 of a thread in its warp, and E elements in 4
 * bytes of an operand, it has
 *
 *     of a  word w, element e:  row g + 8*(w % 2),  k = E*t + e + 4*E*(w / 2)
 *     of b  word w, element e:  column g,           k = E*t + e + 4*E*w
 *     of c  element v:          row g + 8*(v / 2),  column 2*t + v % 2
 *
 * (PTX ISA, matrix fragments of mma.m16n8k*). */
#ifndef IR_INTRINSIC_H
#define IR_INTRINSIC_H

#include "ir/expr.h"

typedef struct {
	const char *name;
	DType a, b, sum;
	int terms;
	int rows, columns; /* of a fragment; 0 */
	int capability;    /* 10*major + minor, that a GPU has at least; 0 */
} Intrinsic;

int intrinsic_find(const char *name); /* its number; -1 */
const Intrinsic *intrinsic_at(int number);
int intrinsic_count(void); /* that are no fragments: they have numbers below */
/* With these operands, in this order, no fragment; NULL. */
const Intrinsic *intrinsic_of(DType a, DType b);
/* The fragment with these operands and terms; NULL. */
const Intrinsic *fragment_of(DType a, DType b, int terms);
/* Elements of an operand in 4 bytes, and of a and b in a thread. */
int fragment_word(const Intrinsic *in);
int fragment_lanes(const Intrinsic *in, bool b);
bool fragment_rounds(const Intrinsic *in); /* f32 to tf32 */
enum { FRAGMENT_SUMS = 4 }; /* of c in a thread */
/* That sums what the body of a sum gives, a product of two reads that are
 * converted; NULL. */
const Intrinsic *intrinsic_of_body(const Expr *body);
/* May a fragment sum what the body gives?  A product of two reads, converted where
 * they are not of the sum's type. */
bool fragment_sums(const Intrinsic *in, const Expr *body);
const Expr *fragment_read(const Expr *body, int operand); /* of such a product */

#endif
