/* What the parts of a space share.
 *
 *     space.c             sketches and their decisions, counted and numbered
 *     space_plans.c       candidates -> plans: what is legal
 *     space_normal.c      decisions that change nothing
 *     space_candidates.c  drawn, changed, found; features and predictions
 *     space_moves.c       moves of one kind, and from sketch to sketch
 *     space_narrow.c      a part of a space
 *     space_template.c    is a spec's template a schedule at all? */
#ifndef SCHEDULE_SPACE_H
#define SCHEDULE_SPACE_H

#include "schedule/internal.h"
#include "schedule/plan/plan.h"

typedef struct {
	int step, arg, part;
	int size;             /* positions */
	const TraceValue *values;
	int slot;             /* -1: structural */
	bool tail;            /* the style of a block's tails */
	int usual;            /* where a search begins */
} Part;

typedef struct {
	uint64_t key;
	int16_t *positions; /* of the structural parts, others 0 */
	Plan *plan;         /* NULL: refused */
	bool *used;	    /* parts that have an effect; NULL: all */
	bool alike;	    /* the others' positions change nothing */
	int64_t again;	    /* the work of recording the plan once more */
	Refusal why;
} PlanEntry;

typedef struct {
	const char *name;
	Trace *trace;
	const Trace *canonical;
	int nparts, nslots;
	int nsettled; /* parts that no candidate has room for */
	int nwords;   /* structural parts of more than one position */
	Part parts[CANDIDATE_PARTS];
	uint8_t word_parts[CANDIDATE_PARTS]; /* these */
	uint8_t slot_parts[CANDIDATE_PARTS]; /* that of each slot */
} Sketch;

enum {
	REFUSALS_KEPT = 64,
	STAGES_KEPT = 20000, /* of plans: some 100 MB */
	PLAN_WORK = 1000,    /* beside what its tape takes */
	NODES_WORK = 20,     /* and for each node of bodies past PLAN_NODES */
	PLAN_NODES = 4096,
	STAGE_WORK = 16 /* of a candidate that is asked about */
};

struct Space {
	Arena *arena;
	const Program *program;
	const Machine *machine;
	VEC(Sketch) sketches;
	Arena *plans;     /* what the table's entries hold */
	Tape *tape;	  /* that they are recorded on, one after another */
	StagesKnown *stages_known; /* of these plans */
	int stages_kept;  /* of those plans; a refusal counts as one */
	Lookup whys;      /* refusals, which outlive the plans */
	PlanEntry *table; /* open addressing; positions NULL: empty */
	int table_size, table_used;
	const PlanEntry *last; /* that was looked up; NULL */
	int last_sketch;
	int64_t plans_made; /* those forgotten and refused ones too */
	/* Counted, not timed, so that what is found is the same everywhere: what
	 * plans and candidates took, in operations of the tape; a search of its
	 * own ends there. */
	int64_t work, work_most;
	int64_t plan_work; /* of a plan, beside what its tape takes */
	SpaceCost *cost; /* NULL: the analytic time */
	void *cost_context;
	RefusalCount refusals[REFUSALS_KEPT];
	int nrefusals;
};

/* space.c: a trace as a sketch, its open decisions numbered. */
Sketch sketch_of(
    Arena *arena, const Program *program, const char *name, Trace *trace);
/* The trace with decisions taken from `at`; with `slots`, those that
 * are slots stay open. */
Trace *sketch_fill(
    Arena *arena, const Sketch *s, const int16_t *at, bool slots);

/* space_plans.c: none are kept yet; or any longer. */
void space_start_plans(Space *space);
void space_forget_plans(Space *space);
/* What the candidate's structural positions lead to. */
const PlanEntry *space_entry(Space *space, const Candidate *c);
/* The plan's tape, evaluated for the candidate. */
const int64_t *space_values(
    Space *space, const Plan *plan, const Candidate *c);
void space_refuse(Space *space, Refusal why); /* counts it */

/* space_normal.c: decisions that change nothing in a plan with the candidate's slots
 * are the first that does as much; were there any? */
bool space_shrink_tiles(const Sketch *s, const Plan *plan, Candidate *c);
bool space_forget_tails(const Sketch *s, const Plan *plan, Candidate *c);

#endif
