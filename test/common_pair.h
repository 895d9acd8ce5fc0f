/* A random operator under a random schedule, lowered, and what is expected of
 * it.  A pair depends on its seed and the target alone. */
#ifndef TEST_COMMON_PAIR_H
#define TEST_COMMON_PAIR_H

#include "codegen/codegen.h"
#include "test/common_operator.h"
#include "test/common_schedule.h"

typedef enum {
	PAIR_RANDOM,  /* a random trace */
	PAIR_DEVICE,  /* one that may use what only a GPU has */
	PAIR_SAMPLED, /* a candidate of the space */
	PAIR_PLAIN,   /* candidate 0 */
	PAIR_EXACT    /* the same with --numerics=exact */
} PairKind;

typedef struct {
	int seed;
	PairKind kind;
	bool composed; /* of many layers: common_compose.h */
	OperatorText text;
	Program *program;
	Trace *trace;
	int ngroups;      /* whose candidates the trace joins; 0: none */
	Lowered *lowered; /* NULL: not lowered */
	const char *refused; /* why not; a limit that is known, or NULL */
	void **data;      /* inputs, and what is expected of the others */
	Coverage steps;   /* of its trace */
} Pair;

/* NULL, or what is wrong. */
const char *pair_make(
    Arena *arena, int seed, const Target *target, Pair *pair);
/* One of a known operator and schedule, that has to be lowered. */
const char *pair_read(Arena *arena, const char *text, const char *trace,
    const Target *target, Pair *pair);
/* A text that makes the failure plain. */
char *pair_show(Arena *arena, const Pair *pair);

/* Calls function `pack` of the pair (-1: the kernel); NULL, or what happened. */
typedef const char *PairCall(
    void *context, const Pair *pair, int pack, void **args, int n);
/* Which end of a buffer meets a page without access. */
typedef enum { PAIR_AT_END, PAIR_AT_START } PairPlace;
/* Packs, calls and compares, buffers between pages without access; NULL, or
 * what is wrong. */
const char *pair_run(Arena *arena, const Pair *pair, PairPlace place,
    PairCall *call, void *context);
/* Output i against what is expected. */
const char *pair_compare(
    Arena *arena, const Pair *pair, int i, const void *got);

/* By the interpreter of the lowered form, races watched. */
PairCall pair_call_lowered;
/* The same with vectors in parts of 16 bytes and long chains side by side: of a
 * CPU. */
PairCall pair_call_parts;

#endif
