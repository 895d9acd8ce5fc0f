/* A plan: what a nest costs, as flat arrays of tape handles.
 *
 * A trace with open tile sizes is applied once with slots in their place; the
 * plan keeps of that nest what sampling, guards, features and the analytic
 * model ask about.  Filling in a candidate is evaluating the tape for its
 * slots; no program, no text and no allocation takes part.  The plan of a nest
 * with numbers is made by the same function and has constants for handles. */
#ifndef SCHEDULE_PLAN_H
#define SCHEDULE_PLAN_H

#include "ir/body/body.h"
#include "ir/intrinsic.h"
#include "schedule/schedule.h"

enum {
	PLAN_DIMS = 8,	 /* dimensions of a buffer that are looked at */
	PLAN_DEPTH = 24, /* loops around a body that are looked at */
	PLAN_ACCESSES = 16,
	PLAN_PARTS = 12,      /* digits of a layout */
	PLAN_CONDITIONS = 16, /* conditions of a step */
	PLAN_WORKS = 8,
	PLAN_MOVERS = 6, /* loops that move where an axis starts */
	DIRECTIONS = 3	 /* x, y, z of a GPU */
};

/* Which iterations of a loop run where its axis ends inside of its tile. */
typedef enum {
	RUNS_CLIPPED,      /* those in which something counts */
	RUNS_WHOLE,        /* all: padded, filled, or lanes of a vector */
	RUNS_WHOLE_IN_BODY /* all where it is unrolled */
} LoopRuns;

typedef struct {
	int var;
	Handle extent;
	/* how often it runs as a loop of the nest; of one that was split off a
	 * fused loop at its outermost digit, HANDLE_NONE at the others */
	Handle iterations;
	LoopKind kind;
	bool reduce;
	Handle unroll_limit; /* HANDLE_NONE: none */
	/* Iterations of this loop over the whole nest are the product over
	 * axes of `tiles`; -1: not part of a split axis. */
	int axis;       /* of the owning stage, numbered over the plan's path */
	Handle below;   /* values of the axis that one iteration covers */
	LoopRuns runs;
	bool peeled; /* what is left of its axis is made behind the whole tiles */
} PlanLoop;

/* An axis of a stage on the path: its loops cover `covered` of the block's
 * `length` values, from a multiple of `step` on that a loop above moves. */
typedef struct {
	Handle covered;
	/* loops that may move it, outermost first; none: it starts at 0, or
	 * never reaches the end.  The innermost whose step is not 0 does. */
	int nmovers;
	int mover[PLAN_MOVERS];
	Handle step[PLAN_MOVERS];
	Handle end;     /* above every value */
	int64_t length;
} PlanAxis;

/* A step of the loop is so many of a dimension's elements, each so far apart. */
typedef struct {
	int loop;
	Handle coef, stride;
} PlanTerm;

/* One read or write of a stage, seen from each loop around the body. */
typedef struct {
	int buffer;
	bool write;
	Scope scope;
	int bytes;                 /* of an element */
	int ndim;
	Handle held[PLAN_DIMS]; /* elements the buffer has in each dimension */
	uint8_t dims[PLAN_DEPTH];  /* bit k: coef[d][k] is one */
	uint32_t movers;	   /* bit d: some dimension moves with loop d */
	uint32_t by_data;          /* bit d: loop d moves it where data says */
	Handle elements;	   /* allocated, of a shared buffer; HANDLE_NONE */
	int swizzle;               /* of it, as the nest has it */
	Handle slots;              /* of it, filled ahead; HANDLE_NONE */
	Handle across[PLAN_DEPTH]; /* 1: the loop moves what is divided by more
				      than 1 by no multiple of that */
	uint32_t repeated;	   /* bit d: a few neighbours along loop d are
				      one element */
	bool predicated;	   /* only where the step counts */
	bool widened;		   /* what is read is made a wider type */
	uint32_t doubtful;	   /* bit d: that depends on slots */
	/* Reads of one buffer that differ by constants move over one region. */
	int like;                  /* the first of them */
	int likes;                 /* of that one: how many they are */
	int64_t reach[PLAN_DIMS];  /* of that one: how far they lie apart */
	int after;  /* so many loops around it are around another that was to
		       the buffer before it, in each of their iterations */
	int nparts;                /* of the buffer's layout */
	uint16_t parts_of[PLAN_DIMS]; /* bit p: part p is of the dimension */
	struct {
		int dim;
		Handle div, mod, stride; /* mod: HANDLE_NONE where there is none */
	} parts[PLAN_PARTS];
	/* settled: */
	bool needed;       /* of a GPU: the first in its launch of a buffer in
			      registers, or shared by threads */
	bool plain;        /* no part is of a quotient or a rest: */
	int nterms;        /* then a step of each loop moves it by the sum of */
	PlanTerm *terms;   /* the loop's terms */
	/* the last: it is long, and of few loops */
	Handle coef[PLAN_DEPTH][PLAN_DIMS]; /* |d index / d loop| */
} PlanAccess;

/* A condition without which a step of the reduction changes nothing, or an
 * element is used by nobody: a form over the loops that is at least 0, or a
 * multiple of `divisor`. */
typedef struct {
	Handle constant;
	Handle coef[PLAN_DEPTH]; /* HANDLE_NONE: 0 */
	uint32_t movers; /* bit d: coef[d] is one */
	int64_t divisor; /* 0: at least 0 */
	int64_t least;	 /* of the block's elements; INT64_MIN: not known */
	int opposite;    /* another that bounds the same form from above; -1 */
	bool own;        /* of the body: a branch where it stays open */
	bool element;    /* of an element, whatever its steps are */
} PlanCondition;

/* Operations of a body that move with the same loops: made once for all that the
 * others repeat. */
typedef struct {
	uint32_t movers; /* bit d: they move with loop d */
	double weight;   /* in multiplications */
	double splats;   /* results among them that others have in all lanes */
} PlanWork;

typedef struct {
	int stage;
	int nloops;       /* outermost first, through all places */
	int own;          /* first loop that is the stage's own */
	int common;       /* so many loops are around another stage, too */
	PlanLoop loops[PLAN_DEPTH];
	int naccesses;    /* the writes first */
	int nwrites;      /* one for each stage in these loops */
	PlanAccess *accesses;
	double flops;     /* of one evaluation of the body */
	int nworks;       /* the same by what moves them, steps of sums left
			     out; the last may hold more than it says */
	PlanWork works[PLAN_WORKS];
	double specials;  /* operations that a GPU's special unit begins */
	double branches;  /* `if`s in the body */
	int nconditions;
	PlanCondition *conditions;
	bool reduce, ahead;
	const Intrinsic *dot; /* that its innermost loop is; NULL: none */
	Numerics numerics;
	/* three of its loops, from this one on, are one of a warp (a row's, a
	 * column's, the steps); NULL: none */
	const Intrinsic *fragment;
	int fragment_loop;
	BodyTail tail;		/* sums, hosts: not known */
	int naxes;		/* of the stages on the path */
	int64_t points;         /* of the block: product of its extents */
	int64_t program_bytes;  /* of all that the program reads and writes */
	/* settled; bit d is of loop d: */
	uint32_t blocks, threads; /* of a GPU */
	uint32_t along[DIRECTIONS]; /* these two, by direction */
	uint32_t steps;    /* of the reduction */
	uint32_t repeated; /* copies of the body, or a vector */
	uint32_t vectors;  /* of these the latter */
	uint32_t peeled;   /* clipped, the rest made behind whole tiles */
	uint32_t limited;  /* so where that are not too many */
	uint32_t digits;   /* inner digits of a piece of a fused loop */
	uint32_t reads;    /* bit s: it reads what is in Scope s */
	int launch;       /* of a GPU: the first stage in its launch; -1: ahead */
	int next;         /* stage of that launch; -1 */
	/* of a copy: */
	uint64_t slots; /* tape_slots of all that it holds */
	uint64_t key;	/* of all that it holds, in all plans of one tape */
	PlanAxis axes[PLAN_DEPTH]; /* the last: it is long, and there are few */
} PlanStage;

/* A loop of so many iterations as a slot says, not all of which need be needed:
 * those outside of an axis that ends inside of them are not made. */
typedef struct {
	int slot;
	Handle below;	      /* values of its axis that one iteration covers */
	const PlanAxis *axis; /* NULL: nothing moves where it starts */
	int64_t length;	      /* of the axis */
} PlanRoom;

/* Values of a candidate, in the order in which they are asked for: most candidates
 * are refused before all are. */
typedef enum {
	VALUES_ROOMS,  /* of `rooms` */
	VALUES_GUARDS, /* of `guards` */
	VALUES_ENDS,   /* of axes */
	VALUES_ALL,
	VALUES_PARTS
} PlanValues;

/* What has a time of its own: of a CPU a stage, of a GPU a launch. */
typedef struct {
	int first; /* stage */
	int main;  /* of a launch the stage with most work */
	double work, most;
} PlanPart;

typedef struct {
	Arena *arena;
	Tape *tape;
	/* of a copy: such a part of the values, and what it is computed from, are
	 * before it */
	Handle behind[VALUES_PARTS];
	int nstages;
	PlanStage *stages; /* in nest order, all that run in the kernel */
	int anchor;        /* the stage with most arithmetic */
	int nguards;
	Guard *guards;
	int64_t program_flops, program_bytes;
	/* settled: on a CPU [0] and a GPU [1], that with most work first */
	int nparts[2];
	PlanPart *parts[2];
	int nrooms;
	PlanRoom *rooms;      /* of a copy, by slot */
	struct Shape *shapes; /* of stages, while a GPU's launch is looked at */
	struct PlanKnown
	    *known; /* of the candidate asked about last: known.c */
	struct StagesKnown *stages_known; /* of a copy: what it shares */
} Plan;

/* plan.c: of the machine it takes what operations cost. */
Plan *plan_record(Arena *arena, const Nest *nest, const Machine *machine);
/* settle.c: what follows from the plan alone, whatever its numbers are. */
void plan_settle(Plan *plan);
void plan_settle_rooms(Plan *plan);
/* plan_invariants.c: asserts what holds of every plan. */
void plan_assert_invariants(const Plan *plan);
/* plan.c: one that keeps nothing of the nest; on the way it needs `scratch`.  All of
 * one tape share what is known of stages, which is as old as that. */
Plan *plan_kept(Arena *arena, Arena *scratch, const Nest *nest,
    const Machine *machine, int nslots, struct StagesKnown *known);

/* features.c: one row; values[] is the tape evaluated for a candidate. */
void plan_features(
    const Plan *plan, const Machine *machine, const int64_t *values, float *row);
/* A row of STAGE_FEATURES of each stage with a time of its own, of a GPU of each
 * launch, that with most work first; how many, `most` at most. */
int plan_stage_features(const Plan *plan, const Machine *machine,
    const int64_t *values, int most, float *rows);

/* analytic.c: seconds by a model of registers, caches and cores. */
double plan_seconds(
    const Plan *plan, const Machine *machine, const int64_t *values);
/* What the search refuses beyond the guards: registers, code size. */
Refusal plan_limits(
    const Plan *plan, const Machine *machine, const int64_t *values);

/* launch.c: and what a GPU's launches ask for. */
Refusal plan_launches(
    const Plan *plan, const Machine *machine, const int64_t *values);

/* cost.c: what one stage costs, for both. */
typedef struct {
	int body;              /* loops[body..] are unrolled or vector */
	double body_runs;      /* how often that body runs, clipped */
	double lanes;
	double unrolled;       /* copies of the operation in the body */
	double operations;     /* vector operations a body */
	double steps;          /* of a reduction, as vectors: they wait for
				  each other */
	double loads, stores;  /* vector or scalar instructions a body */
	double instructions;   /* of the body, with the loop's own */
	double gathers;        /* loads and stores of less than a vector */
	double narrow;	       /* of these stores, as many as parts of a line
				  are stored whose rest comes later */
	double torn; /* cycles that a body's stores wait: rows in turn */
	double waits;	       /* seconds of these, in `seconds` */
	double conflicts;      /* loads that lie a multiple of a way apart */
	double accumulators;   /* registers carried through the innermost loop */
	double registers;      /* at least needed */
	double crowded;	       /* of these the sums, and a step's operands */
	double parallel;       /* iterations of parallel loops; 1: serial */
	double imbalance;      /* >= 1 */
	double results;        /* of a reduction kept in registers, over the run;
				  0: they are in memory */
	double partials;       /* elements that are combined to one of these */
	double padding;        /* work done / work wanted, >= 1 */
	double density;        /* of the steps, those that are made */
	double copies;         /* the same of the copies in one body */
	double traffic[3];     /* bytes into L1, L2, L3 over the run */
	double split;	       /* cycles that vectors in two lines wait */
	double cycles;         /* of one core, before threads */
	double seconds;
	double touched[PLAN_DEPTH + 1]; /* bytes from loop d inwards */
	double trips[PLAN_DEPTH + 1];   /* how often loop d's body starts */
} StageCost;
/* What the lowered form shows of one body (test/property/test_body.c), without
 * prices: vectors in instructions of as many lanes as one has of the results, what
 * is not wide or lies apart in elements.  Of a GPU's thread all in elements. */
typedef struct {
	double loads, stores; /* of neighbours, or of all between lanes */
	double splats;	      /* elements that all lanes read, or a scalar */
	double gathered, scattered; /* elements that lie apart */
	double sums;		    /* registers of a reduction's temporaries */
	double exchanges; /* shuffles of these, or exchanges of a warp */
	double steps;	  /* that are added to these, vectors */
	double masked;	  /* of stores and scattered, those under a mask */
	double products;  /* operations that are several steps: dot, mma */
	double matrices;  /* loads of a warp's operands by rows of 16 bytes */
} BodyCounts;
void stage_counts(const PlanStage *stage, const Machine *machine,
    const int64_t *values, BodyCounts *counts);

/* Those that are repeated in code, or vectors.  Digits of a piece of a fused loop
 * follow each other, and are repeated where the piece is. */
static inline uint32_t loops_in_code(
    const PlanStage *stage, const int64_t *values)
{
	uint32_t code = stage->repeated;
	int64_t n = 0;
	for (uint32_t rest = stage->limited; rest; rest &= rest - 1) {
		const PlanLoop *l = &stage->loops[__builtin_ctz(rest)];
		if (l->iterations != HANDLE_NONE)
			n = values[l->iterations];
		if (body_in_code(LOOP_SERIAL, n, values[l->unroll_limit]))
			code |= rest & -rest;
	}
	return code;
}
/* density.c: the parts of a stage's bodies, and of the copies in each body,
 * that may count; whether own conditions stay branches. */
typedef struct {
	double bodies, copies;
	bool open;
	bool bound; /* there may be fewer */
} StageDensity;
StageDensity stage_density(
    const PlanStage *stage, const int64_t *values, double padding);
/* Is a loop made of its whole tiles and the rest, each with code of its own?  Not where
 * one around it says how many there are. */
bool loop_is_split(const PlanStage *stage, const int64_t *values, int loop);
/* Of the copies alone. */
double stage_copies(const PlanStage *stage, const int64_t *values);
/* Does the loop move it at all? */
static inline bool access_moves(
    const PlanAccess *access, const int64_t *values, int loop)
{
	if (!(access->doubtful >> loop & 1))
		return access->movers >> loop & 1;
	for (int d = 0; d < access->ndim; d++)
		if (access->coef[loop][d] != HANDLE_NONE &&
		    values[access->coef[loop][d]])
			return true;
	return false;
}
/* Which of an axis's movers moves it; -1: none. */
static inline int axis_mover(const PlanAxis *axis, const int64_t *values)
{
	int i = axis->nmovers - 1;
	while (i >= 0 && !values[axis->step[i]])
		i--;
	return i;
}
/* How far one step of a loop moves the address, in elements: each digit of the
 * layout takes the part of the step that it shows. */
int64_t access_step(const PlanAccess *access, const int64_t *values, int loop);
/* elements[d]: how many of its buffer an access is to over loops d.., for d up
 * to nloops: the hull in each dimension, within what the buffer holds. */
void access_elements(const PlanStage *stage, const PlanAccess *access,
    const int64_t *values, double *elements);
void stage_cost(const PlanStage *stage, const Machine *machine,
    const int64_t *values, StageCost *cost);
/* Only what is known without memory: the body, trips, padding; the rest is 0. */
void stage_body(const PlanStage *stage, const Machine *machine,
    const int64_t *values, StageCost *cost);
/* What stage_body leaves to stage_cost. */
void stage_finish(const PlanStage *stage, const Machine *machine,
    const int64_t *values, StageCost *cost);

/* known.c: nothing is. */
typedef struct StagesKnown StagesKnown;
StagesKnown *stages_known_new(Arena *arena);
void known_begin(Plan *plan);
/* A candidate's slots of a copy, until the next call; the values that they give, up
 * to such a part. */
void plan_take_slots(const Plan *plan, const int64_t *slots);
const int64_t *plan_values(const Plan *plan, PlanValues upto);
/* What stage_cost and stage_body say, of such values most often no more than once;
 * it stays until the next call. */
const StageCost *plan_stage_cost(
    const Plan *plan, int stage, const Machine *machine, const int64_t *values);
const StageCost *plan_stage_body(
    const Plan *plan, int stage, const Machine *machine, const int64_t *values);

/* cost_gpu.c: one launch of a GPU, which all stages below one outermost bound loop
 * share. */
typedef struct {
	int first;              /* of its stages */
	double grid, threads;   /* blocks; threads of each */
	double registers;       /* of a thread, estimated; */
	double spilled;         /* more than it can have */
	double shared_bytes;    /* of a block */
	double resident;        /* blocks that a processor runs at once; 0: none */
	double occupancy;       /* threads of these, of those there could be */
	double waves;           /* turns of all processors, the last one whole */
	/* a block, in cycles of its processor: what each unit does */
	double issue, arithmetic, special, loading;
	double waiting;         /* of a thread, for what it loads and barriers */
	double ahead;           /* for what is loaded steps ahead, beside work */
	double chain;           /* of a thread, sum after sum */
	double barriers;
	/* bytes of the launch: sectors that warps ask for, those of them that
	 * are not in the first cache, and not in the second */
	double asked, from_l2, from_memory;
	double sectors;         /* that a warp asks for, mean */
	double turns;           /* of shared memory for a warp's access, mean */
	double seconds;
	const char *why;        /* resident 0: why not */
} LaunchCost;
/* The next launch that begins at stage `first` or later, in nest order, and its
 * cost; false: there is none. */
bool launch_next(const Plan *plan, const Machine *machine,
    const int64_t *values, int first, LaunchCost *cost);
/* Of a stage that is not done ahead. */
void launch_counts(const Plan *plan, const Machine *machine,
    const int64_t *values, int stage, BodyCounts *counts);

#endif
