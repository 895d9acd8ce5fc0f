/* Functions of the lowered form made by hand, compiled and loaded, for tests.
 */
#ifndef TEST_COMMON_LOWERED_H
#define TEST_COMMON_LOWERED_H

#include "codegen/codegen.h"

LowFunction *lowtest_function(Arena *arena, const char *name);
/* A parameter and the buffer that is all of it. */
void lowtest_buffer(Arena *arena, LowFunction *f, const char *name, DType type,
    int64_t elements, bool written);
LowNode *lowtest_loop(Arena *arena, LowFunction *f, LowBody *body,
    LoopKind kind, int64_t extent, const char *name);
Lowered *lowtest_lowered(Arena *arena, LowFunction *f);
/* constant + coefficient * var */
LowAffine lowtest_at(
    Arena *arena, int var, int64_t coefficient, int64_t constant);

/* tunec-llvm.so; where the test was started by hand, that of $BUILD. */
const LlvmModule *lowtest_llvm(void);
/* Fails the test on an error. */
void lowtest_compile(
    const Target *target, Lowered **lowered, int n, LlvmKind kind, Buf *out);
/* Linked by the system's compiler, as a user's build does, and opened. */
void *lowtest_open(const Buf *object);

#endif
