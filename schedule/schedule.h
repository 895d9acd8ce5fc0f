/* The face of schedule/: what may be done to a program.
 *
 *     trace.c       a schedule as a list of steps, text and JSON
 *     primitive_*.c one file a primitive: parameters, legal, apply
 *     apply.c       a trace applied to the plain nest
 *     apply_groups.c  a trace of groups: a nest for each part of the program
 *     plan.c        a trace applied once with open tile sizes: flat arrays
 *     features.c    the cost model's row, from a plan
 *     rules_*.c     traces with open decisions, written for a program
 *     space*.c      the set of all candidates; sampling, mutation, hash
 *     analytic.c    a model of registers, caches and cores: candidate 1 */
#ifndef SCHEDULE_SCHEDULE_H
#define SCHEDULE_SCHEDULE_H

#include "ir/ir.h"
#include "lib/rng.h"

/* --- traces ------------------------------------------------------------- */

typedef enum { VALUE_INT, VALUE_WORD, VALUE_LIST, VALUE_HOLE } ValueKind;

/* What stands in an argument: 16, c.i or pad, [_, 6], _ */
typedef struct TraceValue TraceValue;
struct TraceValue {
	ValueKind kind;
	int64_t i;        /* INT */
	const char *word; /* WORD: names of stages, loops, buffers; words; parts of
			     a layout as "j//16%4"; "lanes", "lanes*2" */
	int n;
	TraceValue *list;      /* LIST */
};

typedef enum { DOMAIN_TILE, DOMAIN_CHOICE } DomainKind;

/* tile(parts, inner<=16, inner in {…}): the first part is open (`_`: what is
 * left), each further part takes one value of its own list.  {pad, peel}: one
 * value of a list. */
typedef struct {
	DomainKind kind;
	int parts;     /* TILE: with the open one; CHOICE: 1 */
	int *nvalues;  /* a part; TILE: nvalues[0] is 1 */
	TraceValue **values; /* values[part][position] */
} Domain;

typedef struct {
	TraceValue value;   /* while open: where to begin, if `usual` */
	bool decision; /* written with ? */
	bool open;     /* a decision that is not taken */
	bool usual;    /* of an open one: the value is the rules' guess */
	Domain domain; /* of a decision */
	const char *key; /* "limit" in limit=16; NULL for positional */
	Span span;
} Arg;

typedef struct {
	int primitive; /* of primitives.def */
	int nouts;
	const char **outs;
	int nargs;
	Arg *args;
	Span span;
} Step;

typedef struct {
	VEC(Step) steps;
} Trace;

/* trace_text.c */
void trace_print(Buf *out, const Trace *trace); /* a line a step, domains too */
/* `source` and `span` say where the text stands, for messages. */
Trace *trace_parse(Arena *arena, const Source *source, Span span, Diag *diag);

/* Which of primitives.def; -1. */
int primitive_find(const char *name);
const char *primitive_name(int primitive);

/* A copy with every "lanes" and "lanes*2" replaced by the machine's number. */
Trace *trace_resolve_lanes(
    Arena *arena, const Trace *trace, const Machine *machine);

/* trace_json.c: a list of steps; decisions inside, domains left out.  Who calls
 * these includes jansson.h. */
struct json_t;
struct json_t *trace_to_json(const Trace *trace); /* new reference */
Trace *trace_from_json(
    Arena *arena, const struct json_t *json, Error *error);

/* trace_rename.c: between the spec's names and canonical ones (d0, d0.a1, i2).
 * Names that the trace itself gives are renumbered in order (l0, l1 …, b0 …). */
Trace *trace_canonical(Arena *arena, const Program *program, const Trace *trace);
/* Of traces that follow one another: names that they give are numbered on. */
typedef struct TraceNames TraceNames;
TraceNames *trace_names(Arena *arena, const Program *program);
Trace *trace_canonical_after(TraceNames *names, const Trace *trace);
Trace *trace_localized(
    Arena *arena, const Program *program, const Trace *trace, Error *error);
/* As a store has it, in the program's names; NULL and why. */
Trace *trace_stored(Arena *arena, const Program *program,
    const struct json_t *json, Error *error);
/* The same trace in the names of another program of the same operator. */
Trace *trace_between(Arena *arena, const Program *from, const Program *to,
    const Trace *trace, Error *error);

/* A spec's `schedule:` text: named traces. */
typedef struct {
	const char *name;
	Trace *trace;
} NamedTrace;
typedef VEC(NamedTrace) NamedTraceVec;
bool templates_parse(
    Arena *arena, const Program *program, Diag *diag, NamedTraceVec *out);
/* space_template.c: is each a schedule by some choice of its decisions?  Else the
 * step that none gets past is told at its place. */
bool templates_apply(const Program *program, const Machine *machine,
    const NamedTraceVec *templates, Diag *diag);

/* Operations of a CPU's unrolled body: beyond, compiling takes longer than it gains. */
enum { BODY_OPERATIONS_MAX = 200 };

/* --- primitives --------------------------------------------------------- */

/* Why a step does not apply; NULL where it does.  The nest is as it was. */
typedef const char *Refusal;

/* apply.c */

/* Where open or slot-valued arguments get their tape handles from: with
 * numbers every integer is a constant; in a plan each part of an open decision
 * that is a slot becomes tape_slot(number), numbered by step, argument, part
 * (a tile: parts 1 .. parts-1; a choice of numbers: its one part).  Slots are
 * what stands where a tile's factors, an unroll limit, a prefetch distance, a
 * storage_align factor or offset, or a number of stages is expected; other
 * decisions are structural and have to be taken. */
typedef struct {
	const Machine *machine;
	bool use_slots;
	int nslots; /* handed out so far */
	/* one a step, set for those that a decision made void: steps on a
	 * block that another step inlined; NULL: not wanted */
	bool *void_steps;
	bool decides_void; /* one is for what is a decision of its own */
} ApplyContext;

/* Is an open decision at this argument of the step a slot? */
bool apply_is_slot(const Step *step, int arg);

/* Applies one step. */
Refusal apply_step(Nest *nest, const Step *step, ApplyContext *context);

/* Applies every step, then infers and verifies.  False: `step` (-1: the
 * finished nest) and `why`.  Guards of the nest are left to the caller:
 * nest_guards_hold. */
bool trace_apply(Nest *nest, const Trace *trace, ApplyContext *context,
    int *step, Refusal *why);
/* With constants only: the first guard that is not 1; NULL if all hold. */
Refusal nest_guards_hold(const Nest *nest);

/* apply_groups.c: is it a schedule for each of several parts of a program? */
bool trace_has_groups(const Trace *trace);

/* The nest of a trace without open decisions, or NULL with a message that
 * names the step.  trace NULL: candidate 0's nest. */
Nest *schedule_nest(Arena *arena, const Program *program,
    const Machine *machine, const Trace *trace, Error *error);
/* The same for who says himself what is refused of a trace, and why. */
typedef struct {
	int step; /* -1: the finished nest */
	Refusal why;
} Refused;
Nest *schedule_nest_or(Arena *arena, const Program *program,
    const Machine *machine, const Trace *trace, Refused *refused);
/* Candidate 0: the plain nest, outermost spatial loops parallel. */
Trace *schedule_plain(Arena *arena, const Program *program);

/* --- spaces ------------------------------------------------------------- */

enum {
	CANDIDATE_PARTS = 128,
	STAGE_FEATURES = 92,
	FEATURES_USED = 133, /* of a row; the others are 0 */
	FEATURES = 144
};
/* One more where a column means something else than before: models in files are of
 * one version. */
enum { FEATURES_VERSION = 2 };

/* One point: a sketch, and a position in the domain of each part of each of
 * its decisions, in trace order.  Normal form: what the plan does not use
 * holds 0. */
typedef struct {
	uint16_t sketch;
	int16_t at[CANDIDATE_PARTS];
} Candidate;

typedef struct Space Space;

/* All traces that the rules (and the spec's templates) make for a program on a
 * machine.  Candidate 0 is outside of every sketch and always legal. */
Space *space_new(Arena *arena, const Program *program, const Machine *machine,
    Error *error);
/* Has it a convolution that Winograd's algorithm is for (rule_winograd.c)? */
bool winograd_fits(Arena *arena, const Program *program);
int space_nsketches(const Space *space);
const Trace *space_sketch(const Space *space, int sketch); /* open */
const char *space_sketch_name(const Space *space, int sketch);
int space_nparts(const Space *space, int sketch);
int space_part_size(const Space *space, int sketch, int part); /* positions */
/* How many more there are than a candidate has room for: settled, not searched. */
int space_nsettled(const Space *space, int sketch);
/* The exact number of decision vectors, in decimal. */
char *space_count(Arena *arena, const Space *space);
/* The product of two numbers in decimal, of any length. */
char *space_count_times(Arena *arena, const char *a, const char *b);

/* The same, capped; -1 where there are more than `most`. */
int64_t space_size(const Space *space, int64_t most);
/* The i-th decision vector, normalized; false if it is not legal. */
bool space_at(Space *space, int64_t i, Candidate *out);

/* space_narrow.c: what is left out is illegal from then on.  Candidates of before
 * mean other ones.  Sketches and positions ascend; one at least is kept. */
void space_keep_sketches(Space *space, const int *sketches, int n);
/* The first of that name, a template before the rules' own; false: none has it. */
bool space_keep_named(Space *space, const char *name);
void space_keep_values(
    Space *space, int sketch, int part, const int *positions, int n);
/* The value at a position of a part, as traces write it; the caller's. */
char *space_value_text(const Space *space, int sketch, int part, int position);

/* A legal candidate, uniform over decisions, normalized.  False if none was
 * found in many tries.  Refusals are counted by reason. */
bool space_sample(Space *space, Rng *rng, Candidate *out);
/* One decision (or more, until it is legal and differs) changed. */
bool space_mutate(Space *space, Rng *rng, const Candidate *from, Candidate *out);
/* space_moves.c: one decision of a kind changed, of a tile two at times; or another
 * sketch, with what both decide carried over.  Legal, normalized and different;
 * false if none was found. */
typedef enum {
	MOVE_TILE,
	MOVE_PLACE,
	MOVE_LAYOUT,
	MOVE_ANNOTATION,
	MOVE_SKETCH,
	MOVES
} Move;
bool space_move(Space *space, Rng *rng, Move move, const Candidate *from,
    Candidate *out);
/* All that one step leads to, but for what is beyond `most`: a decision by one
 * position up or down, of a tile one up and the next one down, or each other sketch,
 * with what both decide carried over.  Legal, normalized, different; how many. */
int space_neighbours(
    Space *space, const Candidate *from, Candidate *out, int most);
/* What a candidate of another space, of any program, decides, in the sketch that has
 * most of it: each decision by the nearest value, others where that is not legal.
 * Legal and normalized; false if there is none. */
bool space_carry(
    Space *space, const Space *other, const Candidate *from, Candidate *out);
/* Of each step the decisions of the one or the other, which are of one sketch;
 * legal, normalized, and neither. */
bool space_cross(Space *space, Rng *rng, const Candidate *a,
    const Candidate *b, Candidate *out);
/* Normalizes; false and a reason if it is not legal. */
bool space_legal(Space *space, Candidate *candidate, Refusal *why);
/* The guards of the nest alone, without the search's limits: does replaying the
 * candidate's trace accept it?  Normalizes. */
bool space_replays(Space *space, Candidate *candidate, Refusal *why);
/* The trace with all decisions taken. */
Trace *space_trace(Arena *arena, Space *space, const Candidate *candidate);
/* Back: false if no sketch gives this trace. */
bool space_find(Space *space, const Trace *trace, Candidate *out);
/* A hash of what the anchor's innermost body computes of each axis: candidates
 * with one register tile mostly run alike. */
uint64_t space_register_tile(Space *space, const Candidate *candidate);
/* What a column is called in tables, "stage1.cycles": features.def has the rest. */
enum { FEATURE_NAME = 32 };
const char *feature_name(int column, char name[FEATURE_NAME]);
/* n legal candidates -> n rows of FEATURES floats. */
void space_features(
    Space *space, const Candidate *candidates, int n, float *rows);
/* Of one, of each stage that has a time of its own (of a GPU each launch) a row of
 * STAGE_FEATURES floats, that with most work first; how many, `most` at most. */
int space_stage_features(
    Space *space, const Candidate *candidate, int most, float *rows);
/* Seconds that the analytic model predicts for each. */
void space_analytic(
    Space *space, const Candidate *candidates, int n, double *seconds);
/* What decides in space_first from now on among candidates that are nearly as good
 * as the best by the analytic time: less is better. */
typedef double SpaceCost(
    void *context, const float *features, double analytic_s);
void space_rank_by(Space *space, SpaceCost *cost, void *context);
/* What the analytic model ranks first among `tries` seeded samples and their
 * neighbours; false if there is no legal candidate. */
bool space_first(Space *space, int tries, Candidate *out);
/* The same with less work: plans and their estimates, in steps of some 40 ns. */
bool space_first_within(Space *space, int tries, int64_t work, Candidate *out);
/* Refusals so far: reason and count, for the run-end mark. */
typedef struct {
	const char *why;
	int64_t count;
} RefusalCount;
int space_refusals(const Space *space, RefusalCount *out, int max);

#endif
