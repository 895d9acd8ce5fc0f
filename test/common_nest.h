/* Nests changed by hand and run step by step, for tests. */
#ifndef TEST_COMMON_NEST_H
#define TEST_COMMON_NEST_H

#include "ir/nest/nest.h"

/* Loop -> children with the given factors as inner ones; out[0] is the
 * outermost. */
void edit_split(Nest *nest, const char *loop, int n, const Handle *factors,
    const char *const *names);
void edit_fuse(
    Nest *nest, const char *outer, const char *inner, const char *name);
void edit_order(Nest *nest, const char *stage, const char *const *loops);
/* A copy of what `reader` reads of a buffer; the stage. */
int edit_copy(Nest *nest, const char *reader, const char *buffer,
    const char *name, Scope scope);
/* The stage computes into a buffer of its own; it is `name` from now on, and
 * the old name copies it out. */
int edit_cache(Nest *nest, const char *stage, const char *name, Scope scope);
void edit_place(Nest *nest, const char *stage, const char *loop, bool after);
void edit_kind(Nest *nest, const char *loop, LoopKind kind);

/* Runs an inferred nest without slots with every access checked: below the
 * buffer's allocation, inside of what it holds, and written before.  Inputs are
 * small integers made of `seed`.  Returns the output's elements (the first
 * one's), or NULL and a message. */
double *nest_simulate(const Nest *nest, uint64_t seed, char *why, size_t size);

#endif
