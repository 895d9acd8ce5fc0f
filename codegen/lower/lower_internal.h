/* What the files of lowering share; codegen.h is the face.
 *
 * Lowering is a partial evaluation of the nest: one walk over the stage tree
 * with an environment that binds each loop variable to a run-time temporary, a
 * constant (unrolled) or the lane number (vector).
 *
 *     lower.c        functions, parameters, buffers, workspace
 *     lower_walk.c   stages, loops, initialization of reductions
 *     lower_body.c   one body where its loops stand
 *     lower_sums.c   reductions in temporaries
 *     lower_tail.c   predicates of axes: clipping, splitting, masks
 *     lower_cut.c    loops cut where conditions change
 *     lower_predicate.c steps that change nothing: narrowing
 *     lower_scatter.c loops of which data says the iteration
 *     lower_dead.c   elements that nobody uses: likewise
 *     lower_conditions.c  under which a step counts
 *     lower_expr.c   values of bodies
 *     lower_value.c  what a value is: a constant or a temporary
 *     lower_dot.c    steps of a reduction as one operation
 *     lower_fragment.c  the same of a warp's threads together
 *     lower_group.c  of a warpgroup's
 *     lower_math*.c  functions of vectors
 *     lower_horizontal.c lanes of a reduction to one value
 *     lower_bits.c   or to the bits of a word
 *     lower_threads.c  likewise what threads have of one
 *     lower_index.c  index algebra: affine forms, ranges, facts
 *     lower_index_of.c  expressions as such forms
 *     lower_memory.c loads, stores, elements kept in temporaries
 *     lower_load.c   one load of neighbours
 *     lower_stored.c what was just stored, which is not loaded again
 *     lower_swizzle.c  chunks of shared rows that change places
 *     lower_strided.c vectors of elements that lie apart
 *     lower_workspace.c  where temporary buffers lie
 *     lower_link.c   parts of a program in one function
 *     lower_pack.c   what is done ahead to constant inputs
 *     lower_layout.c where that lies
 *     lower_comment.c what a loop is, in words
 *     lower_transpose.c  vectors stored an element a row, afterwards
 *     lower_late.c       what is computed of rows instead
 *     lower_merge.c  lanes of a vector stored one by one, afterwards
 *     lower_stages.c shared buffers that are filled iterations ahead
 *     lower_fill.c   how one of their elements is written
 *     lower_barriers.c  barriers that order nothing, afterwards
 *     lower_bind.c   loop variables bound; what is remembered of them
 *     lower_buffer.c the buffers of a function
 *     lower_loop.c   what a loop is
 *     lower_emit.c   operations, value numbering, scopes */
#ifndef CODEGEN_LOWER_INTERNAL_H
#define CODEGEN_LOWER_INTERNAL_H

#include "codegen/codegen.h"
#include "ir/body/body.h"
#include "lib/interval.h"

enum { WORKSPACE_ALIGN = 64 };

/* --- index algebra: lower_index.c --------------------------------------- */

/* Symbols of affine forms.  At least 0: a temporary.  Below: the number of the
 * lane, a loop that no code has been emitted for yet (its whole range is
 * meant), or another value of which only the range is known. */
enum { SYMBOL_LANE = -2, SYMBOL_FREE = -3 };

typedef struct {
	LowAffine form; /* over symbols */
	int vector;     /* an index vector added to it; -1: none */
	Interval range;    /* of that vector */
	const int64_t *known; /* its lanes; NULL: not known when compiling */
} Index;

/* --- values: lower_value.c ---------------------------------------------- */

/* A temporary, a constant where temp is -1, or a condition that depends on
 * loops which are not there yet. */
enum { VALUE_UNKNOWN = -2 };
typedef struct {
	DType type;
	int lanes; /* 1, or the lanes of the vector loop */
	int temp;
	int64_t i;
	double f;
} Value;

/* --- scopes and numbered values: lower_emit.c --------------------------- */

typedef struct Frame Frame;
struct Frame {
	Frame *up;
	LowBody *body;
	int depth;
	int serial;   /* tells scopes of one depth apart */
	int fenced;   /* depth of the innermost fence around it, or 0 */
	bool fence;   /* a parallel or bound loop: nothing leaves it */
	bool bound;   /* of a GPU's blocks or threads */
	bool thread;  /* of its threads */
	bool loop;    /* that runs more than once */
	bool skipped; /* an arm, or a loop that may not run: loads stay inside */
	IntVec written; /* nest buffers that are stored to somewhere in it */
};

typedef struct {
	LowOpcode op;
	DType type;
	int lanes;
	int arg[3];
	int stamp[3]; /* of arguments that are assigned again */
	int64_t i;
	double f;
	Op math;
	int buffer, version; /* loads */
	LowAffine address;
	const int *shuffle;
} Key;

typedef struct Numbered {
	struct Numbered *next;
	Key key;
	int temp, depth, serial;
} Numbered;

enum { NUMBERED_BUCKETS = 1024, MAX_DEPTH = 256 };

/* What was stored: lower_stored.c */
typedef struct {
	LowAffine address;
	int temp, mask; /* -1: all lanes */
	int lanes, end; /* of these the last that is stored, and one */
	int version;	/* of the buffer: nothing was stored there since */
	int depth, serial;
} Stored;
typedef VEC(Stored) StoredVec;

/* What is known of a temporary beyond its type. */
typedef struct {
	Interval range;  /* index scalars */
	int depth;    /* of the scope that it is defined in */
	bool mutable; /* assigned more than once */
	int stamp;    /* of its last assignment, if mutable */
	bool thread;  /* the number of a GPU's thread */
	bool certain; /* a mask of which each lane is known: */
	uint64_t on;  /* bit l: lane l is on */
} TempInfo;

/* --- elements in temporaries: lower_memory.c ---------------------------- */

/* An element of a buffer of scope reg, or `lanes` of them, `step` apart. */
typedef struct {
	int64_t at, step;
	int lanes, temp;
} Element;
typedef VEC(Element) ElementVec;

/* --- the state ---------------------------------------------------------- */

/* UPDATE is the stage itself.  The others leave out the loops of a reduction:
 * INIT stores its identity; LOAD fetches what was summed so far into
 * accumulators, STORE writes them back. */
typedef enum { PHASE_UPDATE, PHASE_INIT, PHASE_LOAD, PHASE_STORE } Phase;

/* Results of a reduction that are kept in temporaries over its loops. */
typedef struct {
	int stage;   /* that leads those which share the loops */
	int pos;     /* of the loop outside of which they are kept */
	bool clamps; /* rows outside of the block are summed too */
	bool fresh;  /* what there was is not among them */
	bool across; /* their lanes are steps, combined at the end */
	int results; /* of each stage that runs in these loops */
	int copies;  /* partial results of each: steps that are unrolled around
			lanes of the reduction sum for themselves */
	int *temps;  /* by stage, then by the numbers of the unrolled loops
			inside */
	Value *totals; /* where across: of each result what its temporaries are
			  together, once the loops have ended */
} Accumulators;

typedef VEC(Index) IndexVec;

/* How a shared buffer is filled (lower_stages.c): as any stage; by asynchronous
 * copies; what is stored only kept in temporaries, or only stored from there. */
typedef enum { FILL_NOW, FILL_ASYNC, FILL_LOAD, FILL_STORE } Filling;

/* --- what is remembered: lower_bind.c ------------------------------------ */

/* How much of what an answer may hang on there was before the question. */
typedef struct {
	int64_t unknowns, facts;
} Asked;

/* How long an answer is good. */
typedef struct {
	bool known; /* false: it is not remembered */
	int fact;   /* the newest; -1: whatever they are */
	int depth, serial, fence; /* while that scope is open, that of the
				     innermost of its temporaries, and no other
				     fence is around us */
} Term;

/* The forms of a condition on axes of a stage, as they were asked for last. */
typedef struct {
	Expr *expr;
	IntVec vars; /* that its indices are made of */
	int *moved;  /* by place in vars: when */
	IndexVec forms;
	Term term;
	bool never; /* does it hold nowhere? */
	Term never_term;
} Condition;
typedef VEC(Condition) ConditionVec;

/* The value of a variable that is no loop. */
typedef struct {
	int moved; /* when that was its value */
	Index value;
	Term term;
} KnownValue;

typedef struct {
	LowAffine form; /* at least 0 here */
	uint64_t terms; /* their hash, in any order */
	int number;
	/* the place and number of one that says more, if it is in force */
	int by, by_number;
} Fact;

/* Where the steps of a reduction count: nest_step_conditions. */
typedef struct {
	bool known;
	ConditionVec all;
	ExprVec parts; /* those of the body, in their order */
	int settled; /* of these the first so many hold here */
	Expr *own; /* the others as one; NULL: none */
	ConditionVec one; /* that */
	Expr *element; /* the body where they hold */
	Expr *guarded; /* the same, and the identity where they do not */
	ConditionVec live; /* of the stage's elements: nest_live_conditions */
	ExprSet exponents; /* exponents of its body: nest_softmax_exponents */
} StepConditions;

/* What a loop variable stands for. */
typedef struct {
	bool bound;
	Index value;
} Binding;

/* A part of a program while it is lowered: what is known and emitted so far,
 * wherever we are in it. */
typedef struct {
	Error *error;
	bool failed;
	bool exact; /* --numerics=exact */
	bool launched; /* the nest has loops of a launch */
	IntVec *sharing; /* by stage: those that run in its loops, itself first;
			    none: it runs in another's */
	IntVec *hung; /* by nest variable: stages placed there, in nest order */

	/* of the function that is being emitted */
	bool threads;	/* parallel loops are; in pack functions they are not */
	bool *streamed; /* by nest buffer: written past the caches; or NULL */
	int *low_buffer; /* by nest buffer; -1: none */
	VEC(TempInfo) temps;
	Frame *scope;
	int open_serial[MAX_DEPTH];
	int nserials;
	int stamp;  /* counts assignments to mutable temporaries */
	int epoch;  /* stamp when a loop last began or ended */
	int *version; /* by nest buffer: counts stores */
	StoredVec *stored; /* by nest buffer: the last, in order */
	ElementVec *registers;	 /* by nest buffer */
	Arena *numbers;		 /* of values, while a part is lowered */
	Numbered **buckets;
	int nbuckets, nnumbered; /* powers of two; entries */
	int operations, most_operations;
	bool folded; /* vectors of indices may be left that nobody reads */

	/* what is known of indices */
	Binding *vars;	/* by nest variable */
	IntVec *movers; /* by loop variable: those whose value hangs on it */
	int *moved; /* by variable: the number of the move that was its last */
	int moves;
	KnownValue *values; /* by variable */
	StepConditions *steps;	   /* by stage */
	VEC(Interval) free_ranges; /* of SYMBOL_FREE - nvars - i */
	VEC(Fact) facts;	   /* the first so many are in force: Lower */
	int nfacts;		   /* of any time */
	int64_t asked_facts; /* how often facts were looked at */

	/* buffers that are filled ahead */
	int64_t *ahead; /* by variable: the iterations of a loop that runs with
			   such buffers; 0: it does not */
	IntVec kept;	/* temporaries of FILL_LOAD, in order */
	int *keeps; /* by variable: how many there were before its iteration */
	int nkept;  /* of these stored */
} Part;

/* The environment: what holds where we are.  It is a value: who binds something
 * passes a changed copy down, so that nothing has to be put back.
 *
 *     Lower in = *l;
 *     in.lanes = 8;
 *     iteration(&in, stage, pos, phase); */
typedef struct {
	Arena *arena;
	const Nest *nest;
	const Machine *machine;
	Part *part;
	LowFunction *f;
	int facts;  /* so many of the part's are in force */
	int lanes;  /* of the vector loop that we are in; 1: none */
	bool across;	 /* these lanes are steps of a reduction */
	bool elementwise; /* vector loops run element by element */
	bool silent;	  /* conditions emit nothing, and stay open */
	int arms; /* of loops that we are in, of which there is one for each arm */
	int stage; /* whose body or start is evaluated */
	Filling filling;
	Value mask;	   /* lanes that count; lanes 0: all */
	Value store_mask;  /* lanes that may be stored; lanes 0: all */
	const bool *clamp; /* axes of the stage to be clamped; NULL: none */
	const Accumulators *sums; /* NULL: results are in memory */
} Lower;

/* Sets the error once; what is emitted afterwards does not matter. */
void lower_fail(Lower *l, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* lower_emit.c */
void emit_begin(Lower *l, LowFunction *f);
/* Around what a part emits: values are known in between. */
void emit_open(Lower *l, Frame *frame);
void emit_close(Lower *l);
/* Of the same function, behind what another part has emitted. */
void emit_follow(Lower *l, const Lower *before);
void scope_open(Lower *l, Frame *scope, LowBody *body);
void scope_close(Lower *l);
int new_temp(Lower *l, DType type, int lanes, const char *hint);
int new_variable(Lower *l, DType type, int lanes, const char *hint);
/* A pure operation: the temporary of an equal one where there is one, else
 * emitted as far out as its arguments allow. */
int emit_pure(Lower *l, Key *key, const char *hint);
int emit_op(Lower *l, LowOpcode op, DType type, int lanes, int a, int b,
    int c, const char *hint);
/* The temporary of an operation that has been emitted; -1. */
int emit_known(Lower *l, Key *key);
/* What another sequence has made is the operation's result in this scope. */
void note_known(Lower *l, Key *key, int temp);
/* Assigns to a temporary of its own, here. */
LowNode *emit_into(Lower *l, int dst, LowOpcode op, int a, int b, int c);
LowNode *emit_effect(Lower *l, LowOpcode op, int a, int b, int c);
/* A load; whether one of equal address is known already. */
int emit_load(Lower *l, Key *key, const char *hint);
void note_written(Lower *l, const IntVec *written);
bool frame_writes(const Frame *frame, int buffer);
void note_control(Lower *l); /* a loop begins or ends here */
/* `if` in the emitted code; what the arms assign must be mutable. */
typedef struct {
	LowNode *node;
	Frame scope;
} Branch;
void branch_begin(Lower *l, Branch *b, int condition);
void branch_else(Lower *l, Branch *b);
void branch_end(Lower *l, Branch *b);
int const_int(Lower *l, DType type, int lanes, int64_t value);
int const_float(Lower *l, DType type, int lanes, double value);
int const_zero(Lower *l, DType type, int lanes);

/* lower_bind.c */
/* Tests: what is remembered is asked again, and must be the same. */
extern bool lower_asks_again;
void bind_begin(Lower *l); /* of a function: nothing is bound */
/* What it was bound to before. */
Binding bind_var(Lower *l, int var, Binding binding);
void unbind(Lower *l, int var);
int fact_newest(const Lower *l); /* its number; 0: there is none */
/* Around a question, the answer to which is n forms. */
Asked ask_begin(const Lower *l);
Term ask_end(const Lower *l, Asked asked, const Index *answer, int n);
bool term_holds(const Lower *l, const Term *term);

/* lower_loop.c */
bool loop_at_compile_time(const Lower *l, int var); /* unrolled or vector */
int64_t loop_extent(const Lower *l, int var);
/* Does what stands in a loop of a launch run more than once? */
bool lower_runs_again(const Lower *l, int loop);

bool loop_is_vector(const Lower *l, int var);
BodyLoop loop_body(const Lower *l, const Stage *s, int var); /* to ir/body/ */
/* Position of the loop before which a reduction is initialized. */
int loop_init_position(const Lower *l, const Stage *s);
/* Are the lanes inside of a loop steps of the reduction? */
bool loop_lanes_reduce(const Lower *l, const Stage *s, int pos);
/* Stages hung at the stage's loops from `pos` inwards, and below those; the buffers
 * that are written there. */
void stages_below(const Lower *l, int stage, int pos, IntVec *below);
IntVec written_below(const Lower *l, int host, int pos);

/* lower_buffer.c */
int declare_buffer(Lower *l, const char *name, DType type, int64_t elements,
    LowBufferKind kind, int param, int64_t offset, int align);
void lower_forget_buffer(Lower *l, int buffer);

/* lower_index.c */
Interval range_of(const Lower *l, Index x);
Index index_const(int64_t value);
Index index_symbol(Lower *l, int symbol);
Index index_add(Lower *l, Index a, Index b, int64_t scale);
Index index_scale(Lower *l, Index a, int64_t factor);
Index index_floordiv(Lower *l, Index a, int64_t divisor);
/* at least 0 where x is: without a factor that all its coefficients have */
Index index_reduced(Lower *l, Index x);
Index index_mod(Lower *l, Index a, int64_t divisor);
/* Where a % divisor begins anew, once or twice: from where forms are at least 0. */
bool index_wraps(Lower *l, Index a, int64_t divisor, Index forms[2]);
Index index_min(Lower *l, Index a, Index b, bool max);
Index index_xor(Lower *l, Index a, Index b); /* b at least 0 */
bool index_is_const(Index x, int64_t *value);
bool index_has_free(Index x); /* symbols below SYMBOL_LANE */
bool index_has_lanes(Index x);
int64_t index_lane(Index x);  /* coefficient of the lane number */
/* By how much each lane is more than what all have in common; false: not known
 * when compiling. */
bool index_lanes_known(const Lower *l, Index x, int64_t *offsets);
int64_t index_coefficient(Index x, int symbol);
Index index_without(Lower *l, Index x, int symbol);
/* The greatest (least) value over free symbols and, if told, lanes. */
Index index_extreme(Lower *l, Index x, bool greatest, bool lanes);
/* May the difference pass 64 bits?  Data of i64 can be anything. */
bool index_apart(const Lower *l, Index a, Index b);
/* Whether x >= 0 for all values: by ranges and facts. */
bool index_nonnegative(Lower *l, Index x);
bool index_negative(Lower *l, Index x);
bool index_nonzero(Index x);
void fact_push(Lower *l, Index x); /* x >= 0 */
/* A value of which only the range is known; one that is an index vector. */
Index index_unknown(Lower *l, Interval range);
Index index_from_vector(int temp, Interval range);
/* An operation on two indices into a temporary, or only its range where that
 * depends on loops that are not there yet. */
Index index_computed(
    Lower *l, LowOpcode op, Index a, Index b, Interval range, const char *hint);
int index_scalar(Lower *l, Index x); /* as a temporary; no lanes */
int index_vector(Lower *l, Index x); /* as a vector of l->lanes */
LowAffine index_address(Lower *l, Index x); /* no lanes, no free symbols */

/* lower_swizzle.c: the element that stands for x; bytes that it begins at a
 * multiple of */
Index swizzled(Lower *l, const NestBuffer *b, Index x);
int swizzle_align(const NestBuffer *b);

/* lower_index_of.c */
Index index_of(Lower *l, const Expr *e);
Index index_of_var(Lower *l, int var);
Index index_of_axis(Lower *l, int stage, int axis);
int64_t index_divisor(Lower *l, const Expr *e); /* of // and % */
typedef enum { ABOVE, BELOW } End;
/* Must be >= 0 for the body to count, at an end of an axis. */
Index axis_slack(Lower *l, int stage, int axis, End end);

/* lower_value.c */
Value value_const(DType type, double f, int64_t i);
Value value_temp(DType type, int lanes, int temp);
int value_scalar(Lower *l, Value v);
int value_as(Lower *l, Value v, int lanes); /* broadcast where needed */
Value value_convert(Lower *l, Value v, DType type);
Value value_and(Lower *l, Value a, Value b);
Value value_not(Lower *l, Value a);
Value value_nonnegative(Lower *l, Index x); /* x >= 0, decided or computed */
/* `all`, and x >= 0, where `all` says so of facts in force; a fact from here on */
Value value_and_nonnegative(Lower *l, Value all, Index x);
/* Of the lanes that count those of a mask. */
Value value_counted(Lower *l, Value mask);
bool value_is_bool(Value v, bool *value);
bool value_is_unknown(Value v);
Value value_bool(bool value);
Value value_unknown(void);
Value value_or(Lower *l, Value a, Value b);
int value_lanes(Value a, Value b); /* of what is made of both */
Value value_binary(Lower *l, LowOpcode op, DType type, Value a, Value b);

/* lower_expr.c */
/* Forms that are at least 0 where a condition holds, or where it does not; as
 * many as are known. */
void condition_forms(
    Lower *l, const Expr *condition, bool holds, IndexVec *out);
void push_facts(Lower *l, const Expr *condition, bool holds);
Value eval(Lower *l, const Expr *e);
Value eval_if(Lower *l, const Expr *condition, const Expr *yes, const Expr *no,
    DType type);
/* acc (op) element, as a reduction step. */
Value eval_step(Lower *l, ReduceOp op, const Expr *element, Value acc,
    int into);
/* acc (op) value, of temporaries of one type. */
Value eval_combined(Lower *l, ReduceOp op, Value acc, Value value, int into);

/* lower_horizontal.c: one value of all lanes. */
Value horizontal_lanes(Lower *l, ReduceOp op, Value v);
/* Of each of `n` vectors, in its place. */
void horizontal_all(Lower *l, ReduceOp op, Value *v, int n);

/* lower_threads.c: what the threads that share out a stage's reduction have as
 * partial results becomes what all of them have together. */
void across_threads(Lower *l, int stage, Value *v, int n);

/* lower_bits.c: are the lanes of the loop, steps of the stage's sum, bits of a
 * word?  What a step adds to the word; false: horizontal_lanes. */
bool bits_are_lanes(Lower *l, int stage, int var);
bool bits_step(Lower *l, const Expr *element, Value *word);

/* lower_dot.c: the operands of a DOT4 that is the tensorized loop of the stage
 * that we are in, at the loop around it; `masked`: also where lanes do not count.
 * False where it has to be repeated. */
bool dot_operands(Lower *l, bool masked, int *a, int *b);

/* lower_fragment.c: the tensorized loops of the stage that we are in as one MMA of
 * the warp; false: they have to be repeated. */
bool fragment_step(Lower *l);
/* Do all steps of the stage count here, for all threads of the block? */
bool fragment_counts(Lower *l, int stage);

/* lower_group.c: the same of a warpgroup's */
bool group_step(Lower *l);

/* lower_math.c: are functions written out for so many lanes, rather than libm's?
 * One of a vector, to 2 ulp; -1: none here.  `softmax`: of x
 * nest_softmax_exponents says so. */
bool math_is_own(const Lower *l, int lanes);
int math_vector(Lower *l, Op function, DType type, int x, int y, int lanes,
    bool softmax); /* y: the second argument or -1 */
/* lower_math_divide.c: by the reciprocal of what does not vary in the loop;
 * false: a division does as well.  a is the dividend's value. */
bool math_divide(Lower *l, const Expr *quotient, Value a, Value s, Value *y);
/* lower_math_pow.c: of vectors, or of any x where y is a number that needs no
 * logarithm; no value where it is left to libm. */
bool math_pow(Lower *l, Value x, Value y, Value *power);

/* lower_load.c */
/* `lanes` elements side by side, all inside of the buffer. */
bool memory_inside(Lower *l, int buffer, Index address); /* for sure */
/* An operation that loads from an address without lanes on; so many elements. */
int load_op(
    Lower *l, int buffer, LowOpcode op, int lanes, Index address, int a, int b);
int load_run(Lower *l, int buffer, int lanes, Index address);

/* lower_memory.c */
/* In elements, from the buffer's first one. */
Index buffer_address(Lower *l, int buffer, Expr *const *index, int n);
/* Where it would lie if nothing were swizzled. */
Index buffer_place(Lower *l, int buffer, Expr *const *index, int n);
Value memory_load(Lower *l, int buffer, Index address);
void memory_store(Lower *l, int buffer, Index address, Value v);
/* The temporary of an element of scope reg, made if it has none. */
int register_temp(Lower *l, int buffer, Index address);

/* lower_strided.c */
/* A vector whose lanes lie apart by known distances, by whole loads and
 * shuffles; of lanes that are known where there is a mask (else -1), which is 0
 * in the others; -1: not so. */
int load_strided(Lower *l, int buffer, Index address, int mask);

/* lower_tail.c */
/* Does the end need a test at all, as the stage's tail says? */
bool axis_bounded(const Lower *l, int stage, int axis, End end);
/* Does a row that is outside have to be left out? */
bool axis_tested(const Lower *l, int stage, int axis, End end);
bool axis_has_var(const Lower *l, int stage, int axis, int var);
/* Does some (all) of what is left of the loops count? */
Index slack_of_some(Lower *l, int stage, int axis, End end);
Index slack_of_all(Lower *l, int stage, int axis, End end);
/* The number of iterations after which no more count. */
bool tail_limit(Lower *l, int stage, int var, Index *limit);
/* The number of iterations, from the first, in which all counts. */
bool tail_split(Lower *l, int stage, int var, int64_t *whole);
/* The lanes that count; constant true: all. */
Value tail_mask(Lower *l, int stage, Phase phase);
/* Every loop of the axis that is not bound is unrolled or a vector. */
bool tail_decided(const Lower *l, int stage, int axis);
/* What ir/body asks of the ends of its axes. */
BodyTail tail_of(const Lower *l, int stage);
/* By axis: rows outside of the block are computed too, reading clamped. */
const bool *tail_clamped_axes(Lower *l, int stage);

/* lower_conditions.c */
/* Where conditions of a stage are asked for: no code comes of them.  Rows outside
 * of the block are nobody's: nothing is clamped. */
Lower condition_asked(const Lower *l, int stage);
/* An expression's parts, each with the variables that it hangs on. */
void condition_add(Lower *l, int stage, Expr *e, ConditionVec *all);
/* The own condition of a reduction's body; NULL: none. */
const Expr *step_condition(Lower *l, int stage);
/* The body where that holds, and the identity where it does not. */
const Expr *step_element(Lower *l, int stage);
const Expr *step_guarded(Lower *l, int stage);
const StepConditions *step_conditions(Lower *l, int stage);
bool step_has_conditions(Lower *l, int stage);
/* Is an exponent of the stage whose body is evaluated at most 0? */
bool step_is_softmax_exponent(Lower *l, const Expr *exponent);
/* The first so many of the body's conditions hold from here on; as many as did
 * before. */
int step_settle(Lower *l, int stage, int n);

/* lower_predicate.c */
/* Index forms that are at least 0 where conditions on axes hold. */
IndexVec step_forms_of(Lower *l, int stage, const ConditionVec *conditions);
/* No step in what is left of the loops counts. */
bool step_never(Lower *l, int stage);
/* Some step may: decided, or computed for the loops that there are. */
Value step_some(Lower *l, int stage);
/* A form of the body that is 0 or more in some iterations only: in none before
 * `first` (rises; else in all), in all from `second` on (else in none). */
typedef struct {
	int form;
	bool rises;
	bool wraps; /* an index wraps around: worth a cut on both sides */
	Index first, second;
} LoopCut;
/* In which a form is for all that is inside, or for nothing. */
typedef struct CutFact {
	int form;
	bool holds;
	const struct CutFact *up;
} CutFact;
/* lower_cut.c: by the first such form from number `from` on; false: none. */
bool loop_cut(Lower *l, int stage, int var, int from, LoopCut *cut);
void loop_cut_facts(Lower *l, int stage, const CutFact *facts);
/* A form of a condition of the body that is known where a loop begins of which
 * nothing is bound yet; false: none. */
bool loop_decided(Lower *l, int stage, Index *form);
/* The iterations of a loop that is not bound yet in which some step may. */
typedef struct StepLimits {
	bool begins, ends; /* not with the first, before the last */
	Index first, end;
	bool *moved; /* by form: does the loop move it?  NULL: no forms */
	const bool *wanted; /* the same of forms of lower_dead.c; or NULL */
	const struct StepLimits *within; /* step_whole_limits; or NULL */
	/* Of step_whole_limits: 1 + the only form that begins it, ends it; of
	 * the iterations before and after: 1 + one that fails in some step of
	 * each.  0: none is known. */
	int begin_form, end_form, fails;
	const CutFact *cuts;
} StepLimits;
void step_limits(Lower *l, int stage, int var, StepLimits *limits);
/* Of any conditions: does one hold nowhere in what is left of the loops, do all
 * hold somewhere? */
bool forms_never(Lower *l, const IndexVec *forms);
Value forms_some(Lower *l, const IndexVec *forms);
void step_limits_by(Lower *l, const IndexVec *forms, int var,
    StepLimits *limits, bool *moved);
/* Of these the ones in which every step counts, for conditions that would be
 * tested at each; false: there are none, or they are all. */
bool step_whole_limits(Lower *l, int stage, int var, StepLimits *limits);
/* Every step counts, by conditions that no loop moves that is not repeated. */
Value step_every(Lower *l, int stage);
void step_every_facts(Lower *l, int stage);
/* Facts in such an iteration, the loop being bound; `limits` NULL: facts where
 * step_some holds. */
void step_facts(Lower *l, int stage, const StepLimits *limits);

/* lower_scatter.c: a loop of the stage of which data says the one iteration that
 * counts: bound to that, under the condition that there is one; then the rest of
 * it, `inside`.  false: it is none. */
typedef void ScatterInside(Lower *l, int stage, int pos, Phase phase);
bool scatter_loop(
    Lower *l, int stage, int pos, Phase phase, ScatterInside *inside);

/* lower_dead.c */
bool live_known(Lower *l, int stage); /* may something be left out? */
bool live_never(Lower *l, int stage); /* of what is left of the loops all */
Value live_some(Lower *l, int stage); /* some of it may be used */
/* The iterations of a loop in which something may be; false: all, or of a loop
 * that does not matter. */
bool live_limits(Lower *l, int stage, int var, StepLimits *limits);
/* Facts where live_some holds, or in such an iteration. */
void live_facts(Lower *l, int stage, const bool *moved);

/* lower_prefetch.c: what the stage asks for in an iteration of its loop at
 * `pos`. */
void prefetch_in(Lower *l, int stage, int pos);

/* lower_body.c */
void lower_body(
    Lower *l, int stage, Phase phase); /* and of what shares its loops */
/* The tensorized loop as one operation; false: it has to be repeated. */
bool body_tensor_step(Lower *l, int stage);
Value body_identity(Lower *l, const Stage *s);

/* lower_sums.c */
/* Are we in a reduction of the stage whose results are kept in temporaries? */
static inline bool sums_are_of(const Lower *l, int stage)
{
	return l->sums && l->sums->stage == stage;
}

/* Can the results be temporaries from here to the end of the reduction's loops, and
 * is there a loop for which that is worth while? */
bool sums_here(const Lower *l, int stage, int pos);
BodySums sums_inside(const Lower *l, int stage, int pos);
void sums_start(Lower *l, int stage, int lanes, int *temps, int n);
/* Of the accumulators of each element: partial results in pairs, then lanes. */
void sums_total(Lower *l, int stage, const int *temps, Value *totals);

/* lower_walk.c */
void lower_stage(Lower *l, int stage);	     /* and all that is placed in it */
void lower_stage_alone(Lower *l, int stage); /* without its barriers */

/* lower_workspace.c */

/* What takes `bytes` of the workspace while something from `first` to `last` is
 * done. */
typedef struct {
	int buffer; /* tells pieces apart */
	int first, last;
	int64_t bytes, offset; /* multiples of WORKSPACE_ALIGN */
} Piece;
typedef VEC(Piece) PieceVec;

int64_t workspace_rounded(int64_t bytes);
/* Fills the offsets; returns the bytes of all. */
int64_t place_pieces(Arena *arena, PieceVec *pieces);
/* Declares what is used and has no place yet; the bytes that it takes. */
int64_t place_workspace(Lower *l, const bool *used, const bool *written);

/* lower_link.c: parts of a program, lowered into the same functions */
typedef struct {
	int from, end; /* buffers of the function that are the part's own */
	int64_t bytes; /* that those of the workspace take */
} OwnBuffers;

/* A piece of a packed argument. */
typedef struct {
	int part,
	    buffer; /* of the part's nest: the input as it is, or a copy */
	int64_t offset;
} PackPiece;
typedef VEC(PackPiece) PackPieceVec;

typedef struct {
	Arena *arena;
	const Program *whole;
	int n; /* parts, producers first, none twice; 1: the whole itself */
	Lower **parts;
	int *same; /* by buffer of the whole: the one that has its values */
	int64_t *packed_bytes; /* by input of the whole; of const ones */
	PackPieceVec *pieces;  /* by input: of each part in turn */
	/* of the kernel, by buffer of the whole */
	int *low_buffer; /* what it is for all parts; -1: nothing yet */
	int *last;	 /* part that has it; the first one declared it */
	int *first;
	bool *read; /* a part reads it; NULL: nobody asks */
	OwnBuffers *own;  /* by part */
	int source, copy; /* of a pack function: its input, and that as it is;
			     -1 */
} Link;

Link link_new(Arena *arena, const Program *whole, Lower **parts, int n);
bool link_failed(const Link *link);
/* Which buffer of the whole a part's is; and back, -1: it has not that one. */
int link_of_whole(const Link *link, int part, int buffer);
int link_in_part(const Link *link, int part, int whole_buffer);
/* Places all buffers that a part uses; those of the workspace for now as if no
 * other part had any. */
void link_place(Link *link, int part, const bool *used, const bool *written);
/* Says where those lie; the bytes of the workspace. */
int64_t link_workspace(Link *link, LowFunction *f);

/* lower_layout.c */
/* Is a constant input read as it is, too? */
bool pack_is_plain(const Nest *nest, int input);
int64_t pack_plain_bytes(const Nest *nest, int input);
/* Adds the pieces that a part has of a constant input, from an offset on, in the
 * order of their buffers; returns where they end. */
int64_t pack_layout(
    Link *link, int part, int input, int64_t from, PackPieceVec *pieces);
/* Of a loop over a dimension of what a stage packs: how much a step of each
 * digit of the layout is, the greatest first; not of the last, which is 1. */
void pack_digits(Lower *l, int stage, int var, IntVec *digits);

/* lower_pack.c */
/* What a part has of it. */
void lower_pack_part(Link *link, int part, int whole_input);
/* lower_comment.c: what a loop of a stage is, for who reads the code */
const char *loop_comment(Lower *l, int stage, int var);
/* lower_late.c: what is computed of a row behind a transposition. */
typedef enum {
	LATE_TRANSPOSED, /* what is transposed */
	LATE_ROWS,	 /* what was gathered, each row a load */
	LATE_CONSTANT,
	LATE_OPERATION
} LateKind;
typedef struct Late Late;
struct Late {
	LateKind kind;
	const LowNode *node; /* the first column's, but of TRANSPOSED */
	int *temps;	     /* TRANSPOSED: by column */
	Late *arg[3];	     /* OPERATION; NULL: it has fewer */
};
/* Of `n` scatters of neighbours, stored at position `end` of the body, and what is
 * to be transposed instead of their values; NULL: these. */
const Late *late_find(Lower *l, const LowDefs *defs, const LowBody *body, int end,
    LowNode *const *scatters, int n, int *transposed);
/* The value of some elements of a row. */
int late_row(
    Lower *l, LowBody *to, const Late *late, int transposed, int64_t row);

/* lower_transpose.c: of the function that was emitted last */
void lower_transpose(Lower *l);
/* lower_stored.c: notes a store; and the temporary of which the same lanes were
 * stored there, -1. */
void note_stored(Lower *l, int buffer, LowAffine address, int temp, int mask);
int stored_value(
    const Lower *l, int buffer, LowAffine address, int lanes, int mask);
/* lower_merge.c: of that function lanes of a vector that are stored one by one,
 * side by side */
void merge_stores(Lower *l);
bool low_touches_memory(LowOpcode op);

/* lower_stages.c */
/* How many iterations at once buffers have that are filled at a loop; 1: none. */
int64_t stages_depth(const Lower *l, int var);
/* Around a loop of so many iterations; within each before and after the rest. */
void stages_begin(Lower *l, int var, int64_t count);
void stages_step(Lower *l, int var);
void stages_end_step(Lower *l, int var);
void stages_end(Lower *l, int var);
/* lower_fill.c */
/* An element, or vector, of what is filled; false: it is done as always. */
bool stages_copy(Lower *l, const Stage *s, Index address);
bool stages_keep(Lower *l, Value v, DType type);
bool stages_kept(Lower *l, Value *v, DType type);
/* lower_barriers.c: of that function those that order nothing */
void drop_barriers(Lower *l);

#endif
