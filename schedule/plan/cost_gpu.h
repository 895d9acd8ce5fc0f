/* What the files share that cost a GPU's launches: launch.c says which stages run
 * in which, warp.c what threads touch that run together, cost_fragment.c what those
 * of a warp's product do, region.c what many do, cost_gpu.c adds it up. */
#ifndef SCHEDULE_COST_GPU_H
#define SCHEDULE_COST_GPU_H

#include "schedule/plan/cost.h"

enum { WARP_MOST = 64, THREAD_LOOPS = 8, LANE_BOXES = 32 };

/* --- launch.c ---------------------------------------------------------------- */

/* How the loops of a stage run that do so more than once: one after another, in
 * the code of one body, or as blocks and threads. */
typedef struct Shape {
	uint32_t blocks, threads, code, serial;
	int64_t grid[DIRECTIONS], block[DIRECTIONS];
} Shape;

void launch_shape(
    const PlanStage *stage, const int64_t *values, Shape *shape);
double extents_of(
    const PlanStage *stage, const int64_t *values, uint32_t loops);

/* --- registers.c ------------------------------------------------------------- */

/* Of a thread: in settled ones all that it needs, would take, can have, is given. */
typedef struct {
	double need, wish, most, given;
	double sums;    /* that are made over loops of steps */
	double passed;  /* from loops to loops */
	bool exchanges; /* threads share out a sum: these loops stay apart */
	bool group;     /* some are sums of a warpgroup's products, which have to
			   stay where they are */
} Registers;

/* What a stage has in a buffer in registers; what it loads. */
void registers_hold(Registers *registers, const PlanStage *stage,
    const PlanAccess *access, const int64_t *values, const Shape *shape);
void registers_stage(Registers *registers, const PlanStage *stage,
    const Machine *machine, const int64_t *values, const Shape *shape);
/* Of a block with so many threads, after all its stages. */
void registers_settle(Registers *registers, const Machine *machine,
    double threads, double shared_bytes);

/* --- launch.c, what stages need ------------------------------------------------ */

/* What the stages of a launch need together. */
typedef struct {
	Shape shape;         /* in each direction that of the largest */
	double threads;      /* of a block */
	double shared_bytes;
	Registers registers;
	Refusal why;         /* it is too much; NULL */
} Needs;
/* Fills plan->shapes[i] of each stage i of the launch. */
Needs launch_needs(const Plan *plan, const Machine *machine,
    const int64_t *values, int first);

/* --- warp.c -------------------------------------------------------------------- */

/* Of each thread loop so many iterations from one on, in all combinations: a byte
 * for each loop. */
typedef struct {
	uint64_t from, count;
} LaneBox;

/* The lanes of a warp, idle ones left out: of each thread loop, those of x first,
 * of a direction the innermost. */
typedef struct {
	int nloops, loop[THREAD_LOOPS];
	int first[DIRECTIONS + 1]; /* of a direction's loops */
	int nboxes;
	LaneBox box[LANE_BOXES];
} Lanes;

void lanes_fill(const StageNow *now, const Shape *own, const Shape *launch,
    int warp, Lanes *lanes);

/* An access by all lanes at once: pieces of `width` bytes. */
typedef struct {
	double sectors, lines; /* of global memory */
	double turns;          /* of shared memory, for its banks */
} Touch;
Touch warp_touch(
    const StageNow *now, const PlanAccess *access, const Lanes *lanes, int width);

/* --- cost_fragment.c ------------------------------------------------------------ */

/* Bytes of a thread that one instruction loads of a fragment's operand, and the
 * turns it takes; `code`: loops that are repeated in a body.  0: it is loaded as
 * anything else. */
int matrix_width(const StageNow *now, const PlanAccess *access, uint32_t code,
    double *turns);
/* Of a warpgroup's product: the steps of a thread that are one, 1 where there is
 * none; its cycles from its beginning to its end; those that shared memory takes for
 * an operand. */
bool is_group(const PlanStage *stage);
double group_work(const PlanStage *stage, const int64_t *values);
double group_cycles(const StageNow *now, double rate);
double group_reading(const StageNow *now, const PlanAccess *access);

/* --- region.c ---------------------------------------------------------------- */

/* Loops that move an access, sorted by how far, in bytes. */
typedef struct {
	const PlanAccess *access;
	int n;
	int loop[PLAN_DEPTH + 1]; /* PLAN_DEPTH: reads that move alike */
	int64_t step[PLAN_DEPTH + 1];
	double held; /* bytes of its buffer */
} Digits;

void digits_fill(const StageNow *now, const PlanAccess *access, Digits *digits);
/* Bytes, in whole sectors, that an access touches while each of `loops` has taken
 * counts[loop] of its iterations. */
double region_bytes(const Digits *digits, uint32_t loops, const double *counts,
    int sector);

#endif
