/* Functions of one operation of the lowered form each, scalar and at several widths:
 * what tests give to the C emitter. */
#ifndef TEST_COMMON_LOWCASES_H
#define TEST_COMMON_LOWCASES_H

#include "codegen/codegen.h"

enum { LOWCASE_ELEMENTS = 256 };

typedef struct {
	LowFunction *f;
	const char *what;
	DType out;
} LowCase;

typedef VEC(LowCase) LowCaseVec;

/* Makes them, one after another. */
typedef struct {
	Arena *arena;
	LowCaseVec *cases;
	LowFunction *f;
	char name[128];
	int next_width;
} LowCaseMaker;

/* Parts of a function: begin, operands and operations, end. */
int lowcase_new_buffer(
    LowCaseMaker *m, const char *name, DType type, bool output);
LowNode *lowcase_op(
    LowCaseMaker *m, LowOpcode code, int dst, int a, int b, int c);
int lowcase_temp(LowCaseMaker *m, DType type, int lanes);
int lowcase_loaded(
    LowCaseMaker *m, const char *name, DType type, int lanes, int at);
void lowcase_begin(LowCaseMaker *m, const char *what);
int lowcase_result_buffer(LowCaseMaker *m, DType type);
void lowcase_finish(LowCaseMaker *m, DType out);
void lowcase_end(LowCaseMaker *m, int t);
const char *lowcase_label(
    LowCaseMaker *m, LowOpcode code, DType type, int lanes);
/* Whole ones. */
void lowcase_binary(LowCaseMaker *m, LowOpcode code, DType type, int lanes);
/* Two sums of products, with a number in all lanes before a vector and behind. */
void lowcase_sums_case(LowCaseMaker *m, DType type, int lanes);
/* What was clamped before, to what the integer holds and not quite. */
void lowcase_clamped_cases(LowCaseMaker *m, DType from, DType to, int lanes);
int lowcase_zeros(LowCaseMaker *m, DType type, int lanes);
/* Under a mask that is loaded, or of the lanes below a number, or the others. */
void lowcase_select_one(LowCaseMaker *m, DType type, int lanes, int below,
    bool zero_a, bool zero_b);
void lowcase_math_case(LowCaseMaker *m, Op math, DType type, int lanes);
void lowcase_memory_cases(LowCaseMaker *m, DType type, int lanes);
void lowcase_widened_cases(LowCaseMaker *m);
/* Bits of bytes that are made wide, read as often. */
void lowcase_wide_bits(LowCaseMaker *m, DType from, int lanes, int times);
void lowcase_byte_cases(LowCaseMaker *m);
void lowcase_all_cases(LowCaseMaker *m);
void lowcase_scalar_cases(LowCaseMaker *m);

#endif
