/* Facts of a stage's body: what lowering makes of it, and what the model has to
 * know of that without lowering it.  Both ask with numbers, lowering with those of
 * the nest, the model with a candidate's; what a fact costs is the model's own. */
#ifndef IR_BODY_H
#define IR_BODY_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/intrinsic.h"
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

/* How an iteration in which no step of a reduction counts is left out; `steps` are
 * inside of it. */
typedef enum {
	BODY_SKIP_NONE,	  /* it is not: a lane */
	BODY_SKIP_LIMITS, /* the loop begins behind it, or ends before it */
	BODY_SKIP_COPY, /* its copy is not made, if that is known by its number */
	BODY_SKIP_TEST /* or if not tested before it */
} BodySkip;
static inline BodySkip body_skip(BodyLoop loop, int64_t steps)
{
	if (loop.vector)
		return BODY_SKIP_NONE;
	if (!loop.code)
		return BODY_SKIP_LIMITS;
	return loop.reduce && steps >= BODY_STEPS_TESTED ? BODY_SKIP_TEST
							 : BODY_SKIP_COPY;
}

/* body_access.c: vectors of `bytes` long elements that are loaded whole, at most, for
 * one of so many lanes that lie apart, where they are not gathered. */
enum { BODY_LOADS_MOST = 8 };
int body_loads_most(const Machine *machine, int bytes, int lanes);

/* Lines that an iteration asks for ahead at once; of more none are.  Rows of a
 * reduction's windows are asked for where the next step's lie so many bytes off: half
 * a page, to whose end the hardware sees them coming. */
enum { BODY_ASKED_MOST = 16, BODY_FAR_STEP = 2048 };

/* Of `there` vectors of neighbours, whose lanes are stored `step` elements apart:
 * the first so many are stored together, 1 as it is.  A row of each lane, or where
 * rows lie side by side (zipped) whole vectors. */
enum { BODY_ROWS_MOST = 16 };
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

/* body_fragment.c: 2^digits matrices that one instruction loads of an operand, 2^own
 * of them a fragment's. */
typedef struct {
	int digits, own;
} BodyMatrices;
BodyMatrices body_matrices(const Intrinsic *in, bool b);
/* Is it whole rows? */
bool body_is_row(const Intrinsic *in, int64_t elements);
/* How many more digits there are along a loop around it, in code. */
int body_matrices_along(const BodyMatrices *matrices, int64_t extent);
enum { BODY_MATRIX_BYTES = 4 }; /* that a thread has of one */

/* body_tail.c: where a stage's tiles leave an axis. */
typedef struct {
	TailStyle style;
	bool fill;  /* outside of its block it has a value */
	bool reg;   /* its results are registers, */
	bool sums;  /* or temporaries of a reduction, */
	bool hosts; /* in whose loops others are placed */
} BodyTail;
/* Does it matter that an end of an axis (of its reduction) may be left?  Are rows
 * too many made, of what is read for one that there is?  If neither, they are left
 * out. */
bool body_tail_bounds(BodyTail tail, bool reduce);
bool body_tail_clamps(BodyTail tail);
bool body_tail_tests(BodyTail tail, bool reduce);
typedef enum {
	BODY_TILES_WHOLE,  /* all are made as if they were */
	BODY_TILES_ALIKE,  /* each may be partial: masks of lanes in all */
	BODY_TILES_TOLD,   /* the partial one has its own code, and masks */
	BODY_TILES_BY_LANE /* the same, its lanes one by one */
} BodyTiles;
BodyTiles body_tail_tiles(BodyTail tail);
/* Is a loop of an axis, the innermost or one in code, of the tile that is whole? */
static inline bool body_in_tile(bool innermost, bool code)
{
	return innermost || code;
}

/* Are a loop's whole tiles, where their number is known, a loop, and what is left
 * another?  Tiles lie `step` apart, the first ends `rest` before the axis does. */
static inline bool body_tail_splits(BodyTail tail)
{
	return tail.style == TAIL_PEEL;
}

static inline int64_t body_tail_whole(int64_t rest, int64_t step)
{
	return rest < 0 ? 0 : rest / step + 1;
}

#endif
