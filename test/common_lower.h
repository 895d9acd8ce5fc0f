/* Nests lowered, run and compared with what the program says. */
#ifndef TEST_COMMON_LOWER_H
#define TEST_COMMON_LOWER_H

#include "codegen/codegen.h"
#include "lib/rng.h"

/* Elements of every buffer of a program; the inputs are small integers, so
 * that sums of products are exact in any order. */
void **lowercheck_data(Arena *arena, const Program *program, Rng *rng);
/* Poisoned, aligned to 64 bytes. */
void *lowercheck_memory(Arena *arena, int64_t bytes);
/* What interp_run makes of it. */
void lowercheck_expect(const Program *program, void **data);

typedef void (*LowerCall)(void *context, const char *symbol,
    const LowFunction *f, void *const *args);

/* Packs, runs and compares the outputs with data's: relative where they are
 * floats.  Returns NULL or what is wrong.  `call` NULL: the interpreter of the
 * lowered form, with races checked; of a GPU launch by launch. */
const char *lowercheck_run(Arena *arena, const Lowered *lowered,
    void *const *data, double tolerance, LowerCall call, void *context);

/* f(args[0], args[1] …) of a C function. */
void lowercheck_call(void *function, void *const *args, int n);

#endif
