/* Facts of a stage's body: what lowering makes of it, and what the model has to
 * know of that without lowering it.  Both ask with numbers, lowering with those of
 * the nest, the model with a candidate's; what a fact costs is the model's own. */
#ifndef IR_BODY_H
#define IR_BODY_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/loop.h"
#include "ir/machine.h"

/* Is a loop repeated in code, or a vector?  `limit`: it is where it has so many
 * iterations at most.  Bound loops are around what blocks share. */
static inline bool body_in_code(LoopKind kind, int64_t extent, int64_t limit)
{
	return kind == LOOP_UNROLL || kind == LOOP_VECTOR ||
	    (kind == LOOP_SERIAL && extent <= limit) ||
	    (extent == 1 && !loop_is_bound(kind));
}

/* A loop of a stage. */
typedef struct {
	int64_t extent;
	bool reduce; /* its iterations are steps of a reduction */
	bool code;   /* it is repeated in code, or a vector */
	bool vector;
	bool merged; /* its steps are one operation, an intrinsic's */
} BodyLoop;

/* body_sums.c: a reduction's results in temporaries over its loops. */
typedef struct {
	int results; /* of a stage, lanes counted once; 0: they are in memory */
	int copies;  /* partial results of each: steps that are repeated around
			lanes of steps sum for themselves */
	bool across; /* their lanes are steps */
} BodySums;

static inline BodySums body_sums_none(void)
{
	return (BodySums){.results = 1, .copies = 1};
}
/* The next loop inwards, from the first on over which they are to be kept; then,
 * of so many stages that share these loops, what is kept. */
void body_sums_loop(BodySums *sums, BodyLoop loop);
void body_sums_end(BodySums *sums, int stages);

/* Steps that are repeated in code inside of an iteration, with the next loop inwards
 * (of a loop that runs: many); so many of them, and it is tested before whether any of
 * them counts. */
enum { BODY_STEPS_TESTED = 16 };
static inline int64_t body_steps(int64_t steps, BodyLoop loop)
{
	if (loop.vector || steps >= BODY_STEPS_TESTED)
		return steps;
	return loop.code ? steps * loop.extent : BODY_STEPS_TESTED;
}

/* body_access.c: vectors of `bytes` long elements that are loaded whole, at most, for
 * one of so many lanes that lie apart, where they are not gathered. */
enum { BODY_LOADS_MOST = 8 };
int body_loads_most(const Machine *machine, int bytes, int lanes);

/* Of `there` vectors of neighbours, whose lanes are stored `step` elements apart:
 * the first so many are stored together, 1 as it is.  A row of each lane, or where
 * rows lie side by side (zipped) whole vectors. */
enum { BODY_ROWS_MOST = 16 };
/* Lines that an iteration asks for ahead at once; of more none are.  Rows of a
 * reduction's windows are asked for where the next step's lie so many bytes off: half
 * a page, to whose end the hardware sees them coming. */
enum { BODY_ASKED_MOST = 16, BODY_FAR_STEP = 2048 };
typedef struct {
	int n;
	bool zipped;
} BodyRows;
BodyRows body_rows(int there, int lanes, int64_t step, bool masked);

/* Of `left` vectors, whose lanes are partial results, the first so many become one
 * vector, in a tree; a power of two. */
static inline int body_horizontal(int left, int lanes)
{
	int together = 1;
	while (together * 2 <= left && together < lanes)
		together *= 2;
	return together;
}

/* body_threads.c: how threads of a block, `count` of them in a direction, combine
 * what they have: in a warp by exchanges, then by way of shared memory. */
typedef struct {
	int width;     /* so many by exchanges */
	int64_t parts; /* that are left then; 1: none go through memory */
	bool warps;    /* which each warp has again, for its exchanges */
} BodyThreads;
/* `exchanges`: threads that do, 0: none; `all`: threads of the block; `stride`: from
 * one of the direction to the next. */
BodyThreads body_threads(
    int exchanges, int64_t all, int64_t count, int64_t stride);

#endif
