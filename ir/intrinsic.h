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
 * (PTX ISA, matrix fragments of mma.m16n8k*).
 *
 * A warpgroup's product is c[64, N] += a[64, terms] * b[terms, N] of its 128
 * threads, which have a warp's w = 0 .. 3, g and t:
 *
 *     of c  element v:          row 16*w + g + 8*(v / 2 % 2),
 *                               column 2*t + v % 2 + 8*(v / 4)
 *
 * a and b are read from shared memory, in lines of 128 bytes, chunks of 16 of which
 * lie as swizzle(128) has them: element (m, k) of a, (n, k) of b, is in line m or n
 * at k; or, where an operand lies across, in line k at m or n, of 64 of these, the
 * next 64 so many lines further (PTX ISA, shared memory layout of wgmma). */
#ifndef IR_INTRINSIC_H
#define IR_INTRINSIC_H

#include "ir/expr.h"
#include "ir/machine.h"
#include "ir/program.h"

typedef struct {
	const char *name;
	DType a, b, sum;
	int terms;
	int rows, columns; /* of a fragment; 0 */
	int capability;    /* 10*major + minor, that a GPU has at least; 0 */
	int warps;         /* that make it together; 0: one thread does */
} Intrinsic;

int intrinsic_find(const char *name); /* its number; -1 */
const Intrinsic *intrinsic_at(int number);
int intrinsic_count(void); /* that are no fragments: they have numbers below */
/* With these operands, in this order, no fragment; NULL. */
const Intrinsic *intrinsic_of(DType a, DType b);
/* Instructions that the machine takes for one, for each vector of sums; 0: it has
 * none that these numerics allow.  What rules and models ask. */
int intrinsic_instructions(
    const Intrinsic *in, const Machine *machine, Numerics numerics);
/* The fragment with these operands and terms; NULL. */
const Intrinsic *fragment_of(DType a, DType b, int terms);
/* The warpgroup's product with these operands; NULL. */
const Intrinsic *warpgroup_of(DType a, DType b);
enum { GROUP_WARPS = 4, GROUP_ROWS = 64, GROUP_MOST_COLUMNS = 128,
	GROUP_LINE = 128 }; /* bytes */
/* Elements of an operand in 4 bytes, and of a and b in a thread. */
int fragment_word(const Intrinsic *in);
int fragment_lanes(const Intrinsic *in, bool b);
bool fragment_rounds(const Intrinsic *in); /* f32 to tf32 */
/* An operand is loaded from shared memory by rows of so many bytes: of its steps, or
 * where these lie apart of rows or columns.  Elements from one to the next, where
 * rows (columns) lie `own` apart and steps `step`; 0: it does not lie in rows. */
enum { FRAGMENT_ROW = 16 };
int64_t fragment_row(const Intrinsic *in, int64_t own, int64_t step);
enum { FRAGMENT_SUMS = 4 }; /* of c in a thread */
/* That sums what the body of a sum gives, a product of two reads that are
 * converted; NULL. */
const Intrinsic *intrinsic_of_body(const Expr *body);
/* Does it sum what such a body gives, bytes as i16 too; or a read of integers that
 * is converted, which is its product with 1? */
bool intrinsic_sums(const Intrinsic *in, const Expr *body);
/* The reads of such a body; NULL: 1. */
void intrinsic_reads(
    const Intrinsic *in, const Expr *body, const Expr **a, const Expr **b);
/* May a fragment sum what the body gives?  A product of two reads, converted where
 * they are not of the sum's type. */
bool fragment_sums(const Intrinsic *in, const Expr *body);
const Expr *fragment_read(const Expr *body, int operand); /* of such a product */

#endif
