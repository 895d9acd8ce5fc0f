/* The nest: the program under a schedule.
 *
 * A stage is one block with its own ordered list of loops.  Stages hang in one
 * tree: at the root, or below a loop of another stage (`place`).  At a loop the
 * order is: the stages placed there with `after` false, in nest order; then the
 * stage's own next loop or its body; then those with `after` true.
 *
 *     for c.mo                      stage c, loop c.mo
 *       ap[...] = a[...]            stage ap, place c.mo
 *       for c.k for c.mi for c.ni
 *         c[...] += ap[...] * b[...]
 *
 * Stages may share one's loops (`with`): their bodies stand beside each other.
 *
 * An axis has a root variable.  A variable is a loop; or was split into
 * children; or is a part of a fused loop.  The value of an axis is its `start`
 * (where the region that this place needs begins; NULL is 0) plus the value of
 * its root variable.  Only loops run; everything else is computed from them.
 *
 * Extents, divisors and strides are tape handles, in elements.  The primitives
 * change structure only: which variables, loops, places, scopes, layouts.
 * `nest_infer` then computes, consumers first, all that follows from it: the
 * region of each axis, the extent of each variable, the start, extent and
 * strides of each buffer, and the guards.  What is marked (inferred) below is
 * valid after it and not before. */
#ifndef IR_NEST_H
#define IR_NEST_H

#include "ir/expr_set.h"
#include "ir/loop.h"
#include "ir/program.h"
#include "ir/tape/tape.h"
#include "lib/lookup.h"

enum { HANDLE_NONE = -1 };

typedef enum { VAR_LOOP, VAR_SPLIT, VAR_FUSED } VarHow;

typedef struct {
	const char *name; /* unique in the nest: "c.i", or as a trace named it */
	int stage;
	int axis; /* of the stage; -1 for a loop that fuse made */
	bool reduce;
	VarHow how;
	Handle extent; /* (inferred) for roots, outermost children, fused loops */
	/* VAR_SPLIT: children, outer to inner; value = (c0*e1 + c1)*e2 + …;
	 * all children but the first have an extent that split fixed */
	int nchild;
	int *child;
	int parent; /* variable whose child it is; -1 */
	/* VAR_FUSED: value = (value of `fused` // div) % extent */
	int fused;
	Handle div; /* (inferred) */
	/* VAR_LOOP */
	LoopKind kind;
	int nparts; /* loops made by fuse: the fused variables, outer to inner */
	int *parts;
	Handle unroll_limit; /* serial loop: unrolled where extent <= this; or NONE */
	bool used; /* stages were placed at it, or prefetch by it, once */
	int next;  /* of the same stage; -1 */
} Var;

typedef struct {
	const char *name;
	int64_t extent; /* of the block: 0 <= axis < extent */
	bool reduce;
	int var;        /* root variable */
	Expr *start;    /* (inferred) over OP_TAPE and OP_VAR, loops and parts
			   of fused loops (VAR_FUSED); NULL: 0 */
	Handle region;  /* (inferred) how many values the place needs */
	/* (inferred) whether start + value can leave 0 <= . < extent at either
	 * end: the stage's predicate on this axis */
	bool below, above;
	Handle end; /* (inferred) above every start + value; NONE: not known */
} StageAxis;

typedef struct {
	int access;       /* buffer that is prefetched */
	int var;          /* loop whose iterations count: its own, or one around
			     it, which a later step may have left */
	Handle distance;  /* iterations ahead */
} Prefetch;

/* A read in a body. */
typedef struct {
	const Expr *read;
	int number;   /* in the body's order */
	int arm;      /* the innermost that it stands in; -1 */
	bool indexes; /* in the index of another read */
} StageRead;

typedef struct {
	Expr *of;    /* the `if` */
	int number;  /* 1: then, 2: else */
	int outside; /* the arm around it; -1 */
} StageArm;

typedef struct {
	const char *name; /* the block's, or as a trace named it */
	int block;        /* of the program; -1: a copy, or a part made by rfactor */
	bool live;        /* false once inlined */
	int naxes, nspatial;
	StageAxis *axes;
	ReduceOp reduce;
	Expr *body;       /* over OP_AXIS of this stage; OP_READ of nest buffers */
	VEC(StageRead) reads; /* of the body, by buffer */
	VEC(StageArm) arms;   /* the arms of its `if`s */
	int buffer;       /* written */
	int nwrite;
	Expr **write;     /* logical index of the element written, over OP_AXIS */
	int nloops;
	int *loops;       /* outer to inner */
	int vars;	  /* the newest of its variables, then `next`; -1 */
	int place;        /* loop of another stage; -1: the root */
	bool after;       /* see above */
	int with;         /* the stage whose loops it shares: `loops`, the axes'
			     variables, place and tail are that one's, and its
			     body runs right behind that one's; -1 */
	int last;	  /* the last that runs with it; -1 */
	int carries;      /* the axis along which an element is made from the one
			     before, which the body reads: a running sum;
			     -1 */
	int init_at;      /* loop before which a reduction is initialized;
			     -1: its outermost reduction loop */
	bool is_copy;     /* body is one read at the axes, perhaps in another
			     type: cache_read, retype */
	bool ahead;       /* (inferred) made of one const input alone, at the
			     root or in the loops of such a stage: done by the
			     pack function, not by the kernel */
	TailStyle tail;
	Expr *fill;       /* pad: stored where the axes leave the block; or NULL */
	bool barrier;     /* a barrier of the thread block follows the stage */
	VEC(Prefetch) prefetches;
	int intrinsic;    /* of intrinsics.def, below tensor_loop; -1 none */
	int tensor_loop;
} Stage;

typedef enum {
	SCOPE_GLOBAL, /* argument of the kernel, or workspace shared by threads */
	SCOPE_LOCAL,  /* workspace, one per thread and place */
	SCOPE_REG,    /* named temporaries */
	SCOPE_SHARED, /* of a GPU's thread block */
} Scope;

/* One digit of a buffer's physical index: (index[dim] - start[dim]) // div,
 * and then % mod unless that is NONE. */
typedef struct {
	int dim;
	Handle div, mod;
	Handle extent; /* (inferred) */
	Handle stride; /* (inferred) elements */
} LayoutPart;

typedef struct {
	const char *name;
	DType type;
	int program_buffer; /* -1 for one that a primitive made */
	Scope scope;
	int ndim;
	int64_t *shape;     /* logical, as the program has it */
	int writer;         /* stage; -1 for inputs */
	int nparts;
	LayoutPart *parts;  /* outer to inner; default: one a dimension */
	int align_part;     /* storage_align: stride of this part is a multiple of */
	Handle align_factor, align_offset; /* factor, plus offset; -1 none */
	int swizzle;        /* bytes of rows whose chunks of 16 lie where the
			       row says (lower_swizzle.c), of a shared buffer;
			       0: they lie in order */
	Handle slots;       /* stages: what so many iterations of the loop at its
			       place need is there at once; NONE: one */
	Handle slot;        /* (inferred) elements from one to the next */
	Expr **start;       /* (inferred) a dimension, as an axis's start */
	Handle *extent;     /* (inferred) elements held of each dimension */
	Handle elements;    /* (inferred) allocated */
	int alloc;          /* (inferred) loop below which it is allocated and
			       holds its region; -1: the root */
} NestBuffer;

/* A quantity that must be 1 (it is 0 or 1) for the nest to be right. */
typedef struct {
	Handle value;
	const char *why; /* "vector loop has not 16 iterations" */
} Guard;

/* Where names lead, also former ones: nest.c takes in what was added when it is
 * asked. */
typedef struct {
	Lookup all;		      /* a number says which, and of what */
	int nstages, nbuffers, nvars; /* taken in */
} NestNames;

typedef struct Nest Nest;
struct Nest {
	Arena *arena;
	const Program *program;
	Tape *tape;
	NestNames *names;
	VEC(Var) vars;
	VEC(Stage) stages;
	VEC(int) order; /* live stages, producers first */
	VEC(NestBuffer) buffers; /* the program's first, with equal numbers */
	/* what primitives look for often: for each buffer of the program or
	 * made, the stages that read it, and with them some that did once or
	 * stand there twice; and all stages that were ever at a loop */
	VEC(IntVec) readers;
	IntVec placed;
	VEC(Guard) guards;       /* (inferred) and from primitives */
	int first_inferred, ninferred; /* which guards the next inference drops */
	bool inferred;
	/* Of a program whose groups are scheduled each by itself: a nest for
	 * each part, producers first.  Then there is nothing else in it. */
	int nparts;
	Nest **parts;
};

/* nest.c */

/* The plain nest: every block at the root, loops in axis order, reductions
 * innermost, all serial. */
Nest *nest_new(Arena *arena, const Program *program, Tape *tape);
int nest_find_stage(const Nest *nest, const char *name); /* -1: none */
int nest_find_loop(const Nest *nest, const char *name);  /* var; -1 */
int nest_find_var(const Nest *nest, const char *name);   /* of any stage; -1 */
int nest_find_buffer(const Nest *nest, const char *name); /* -1 */
/* Has a stage, dead or alive, a buffer or a variable that name? */
bool nest_has_name(const Nest *nest, const char *name);
void nest_rename_var(Nest *nest, int var, const char *name);
/* Gives a stage a body. */
void nest_set_body(Nest *nest, int stage, Expr *body);
bool nest_reads(const Nest *nest, int stage, int buffer);
/* Does a step ask for what it reads of the buffer? */
bool stage_prefetches(const Stage *stage, int buffer);
/* The first of its reads of a buffer, those that follow it in `reads`; NULL. */
const StageRead *nest_first_read(const Nest *nest, int stage, int buffer);
/* A variable of its `stage`; its number. */
int nest_add_var(Nest *nest, Var var);
/* Loops around a stage's body, outermost first, through all places: fills
 * vars[] and returns how many.  `at` is a position in the stage's own loops:
 * that many of them are included.  `max` of nest->vars.n is always enough. */
int nest_loops_above(const Nest *nest, int stage, int at, int *vars, int max);
/* Where a loop stands in its stage's loops; -1. */
int nest_loop_position(const Nest *nest, int var);
/* The stage that has the loops which it runs in: itself, but where it shares. */
int nest_leader(const Nest *nest, int stage);
/* Does it run in another's loops, or another one in its own? */
bool nest_is_sharing(const Nest *nest, int stage);
/* The stages that run in the loops of `stage`, itself first. */
IntVec nest_sharing(const Nest *nest, Arena *arena, int stage);
/* An input or output: its shape and layout are the caller's. */
bool nest_is_argument(const Nest *nest, int buffer);
/* Value of an axis, or of a variable, over loops (OP_VAR) and OP_TAPE. */
Expr *nest_axis_value(const Nest *nest, int stage, int axis);
Expr *nest_var_value(const Nest *nest, int var);
/* The same with the parts of fused loops as variables: affine where the
 * schedule is. */
Expr *nest_axis_form(const Nest *nest, int stage, int axis);
/* Asks that a quantity be 1: true where it is known; false and `why` in
 * *refusal where it is known not to be; else a guard and true. */
bool nest_require(
    Nest *nest, Handle value, const char *why, const char **refusal);
/* Do the blocks and threads of a GPU run some of its loops? */
bool nest_is_launched(const Nest *nest);
/* A root variable of an axis of its stage? */
bool nest_is_root(const Nest *nest, int var);
/* Split by threads that need not divide it: a fused loop, or the outermost of an
 * axis, the last of whose threads stand behind the end of that axis (of its
 * outermost part)? */
bool nest_may_run_past(const Nest *nest, int loop);
/* How many values a variable takes: its extent rounded up to its tiles. */
Handle nest_covered(const Nest *nest, int var);

/* affine.c: an integer expression as constant + sum of coefficient * term,
 * where a term is an OP_AXIS or OP_VAR leaf, or a node that is not affine
 * (floordiv, mod, min, max, clamp, abs, if).  Coefficients are handles. */
typedef struct {
	Expr *term;
	Handle coefficient;
} AffineTerm;
typedef struct {
	Handle constant;
	int n;
	AffineTerm *terms; /* no two terms are equal */
} Affine;
Affine affine_of(Arena *arena, Tape *tape, const Expr *e);
Expr *affine_expr(Arena *arena, const Tape *tape, Affine a);
/* OP_INT where the handle is a constant, else OP_TAPE. */
Expr *handle_expr(Arena *arena, const Tape *tape, Handle h);

/* nest_hull.c: the values of an index while some loops stand still.  `outer` is
 * over the fixed loops (its constant is 0); the index lies in outer + low ..
 * outer + high whatever the other loops do within their extents. */
typedef struct {
	Affine outer;
	Handle low, high;
	bool known; /* false: no such hull over the fixed loops */
} Hull;
/* `e` over OP_VAR and OP_TAPE; fixed[] by loop (a part of a fused loop stands
 * still with its loops, or where it is marked itself). */
Hull nest_hull(const Nest *nest, const Expr *e, const bool *fixed);
bool hull_same_outer(const Hull *a, const Hull *b);
/* 1 if the index takes every value of its hull while the fixed loops stand
 * still, else 0. */
Handle nest_hull_dense(const Nest *nest, const Expr *e, const bool *fixed);

/* nest_predicate.c: conditions over the axes of a stage that reduces: a step
 * may change its result only where all of them hold.  With `reads` those of what
 * it reads too, all on axes alone; without, those of its own body, each of which
 * may be evaluated where the ones before it hold. */
ExprVec nest_step_conditions(
    const Nest *nest, Arena *arena, int stage, bool reads);
/* Those of its own that a reduction with the body would have. */
ExprVec nest_body_conditions(
    const Nest *nest, Arena *arena, ReduceOp op, const Expr *body);
/* Does it read what may be left out (nest_live_conditions)?  Then the conditions
 * of what it reads are among its own. */
bool nest_step_relies(const Nest *nest, Arena *arena, int stage);
/* With the parts of a condition that holds, or does not, on axes alone: a longer
 * copy. */
void nest_condition_parts(
    const Nest *nest, Arena *arena, Expr *e, bool holds, ExprVec *all);
/* The stage's body where those of its own hold. */
Expr *nest_step_element(const Nest *nest, Arena *arena, int stage);
/* Does what a read brings count under such a condition only? */
bool nest_read_is_conditional(
    const Nest *nest, Arena *arena, int stage, const Expr *read);

/* Do the steps, and the elements, of two stages of the same axes count under the
 * same conditions? */
bool nest_same_steps(const Nest *nest, Arena *arena, int a, int b);

/* nest_dead.c: of live elements: conditions over the axes of a stage, on axes alone, that hold
 * for each of its elements that anybody uses. */
ExprVec nest_live_conditions(const Nest *nest, Arena *arena, int stage);

/* nest_scatter.c: of conditions that all hold where a step counts the first that
 * says which value of an axis that is. */
typedef struct {
	int number;  /* of the condition */
	int axis;
	Expr *value; /* an index over the other axes, of data; anywhere */
} Scatter;
bool scatter_find(Arena *arena, const ExprVec *conditions, int axis,
    int64_t extent, Scatter *scatter);
/* All such axes of results, in the order of their conditions, and the axes that these
 * and the conditions before them have besides: whose loops are outside. */
enum { SCATTER_AXES = 8 };
typedef struct {
	int n, axes[SCATTER_AXES];
	bool *assigned, *outside; /* by axis */
} ScatterAxes;
ScatterAxes scatter_axes(Arena *arena, const ExprVec *conditions,
    const int64_t *extents, int nspatial, int naxes);
/* Is the value one of the axis's? */
Expr *scatter_inside(Arena *arena, const Scatter *scatter, int64_t extent);
/* Does one iteration of the stage's loop count, at most, which is known where the
 * loop begins?  `own`: nest_step_conditions of its body; those before the one that
 * says so can be asked there, too. */
bool nest_scatters(const Nest *nest, Arena *arena, int stage, int loop,
    const ExprVec *own, Scatter *scatter);

/* nest_softmax.c: exponents in the stage's body that are not above 0 but for
 * rounding, and not infinity: something less the greatest of its like. */
ExprSet nest_softmax_exponents(const Nest *nest, Arena *arena, int stage);

/* nest_phase.c: a body that is one literal but for the elements first, first +
 * step, ... of an axis. */
typedef struct {
	int axis;
	int64_t step, first;
	Expr *other; /* the literal */
} ElementPhase;
bool phase_find(Expr *body, int axis, int64_t step, ElementPhase *phase);
/* Of the steps that a condition of the body names the greatest. */
bool phase_greatest(Expr *body, int axis, ElementPhase *phase);
/* How many elements of so many are in the phase. */
int64_t phase_extent(const ElementPhase *phase, int64_t extent);
/* The element of that number in the phase; a reader of a buffer that holds the
 * phase only. */
Expr *phase_body(Arena *arena, const ElementPhase *phase, Expr *body, int naxes);
Expr *phase_reader(
    Arena *arena, const ElementPhase *phase, int buffer, Expr *body);

/* nest_flat.c: the axis that an index is, but for axes of one value; -1. */
int flat_axis(const Expr *index, const int64_t *extents);
/* The axes that go over a dimension of a buffer and the one behind it; -1. */
typedef struct {
	int outer, inner;
	bool apart; /* they stand elsewhere, too */
} FlatAxes;
typedef struct {
	Expr *body;
	int buffer; /* that it writes, at its spatial axes */
	int nspatial;
	const int64_t *extents;
} FlatBlock;
typedef struct {
	int nblocks, nbuffers;
	FlatBlock *blocks;
	const int64_t **shapes; /* by buffer */
	int *dim;		/* by buffer: with the one behind it one; -1 */
	FlatAxes *axes;		/* by block: those that become one */
	bool again;		/* something is read again for each row */
	bool far;		/* what neighbours read elsewhere lies apart */
} Flat;
/* All that has to be flat for a dimension of a buffer to be: false where a block
 * does not go over both dimensions at two axes, both of its results or of its
 * reduction, the inner one over a whole dimension and alone there, the outer one
 * not of one value, and those of a reduction stand nowhere else. */
bool flat_close(Flat *flat, int buffer, int dim);
Flat *flat_new(Arena *arena, int nblocks, int nbuffers);
/* A block's body then. */
Expr *flat_body(Arena *arena, const Flat *flat, int block);
/* The shape, of what is flat with both dimensions as the second. */
int64_t *flat_shape(Arena *arena, const Flat *flat, int buffer, int ndim);

/* nest_along.c: the indices of an access, in which those that are quotient and
 * remainder by the length of a buffer's rows are 0 and what is divided, where rows lie
 * one behind the other: another way to the same address.  After nest_infer. */
Expr *const *nest_along_rows(
    Arena *arena, const Nest *nest, int buffer, Expr *const *index);

/* nest_unflatten.c: a body whose axis is two, the next one its remainder by n, with
 * the axes' extents then; one that reads a buffer whose last dimension is two; the
 * shape of such. */
extern const char unflatten_axis[]; /* the new axis's name */
Expr *unflatten_body(Arena *arena, Expr *body, int axis, int64_t n,
    const int64_t *extents, int naxes);
Expr *unflatten_reader(Arena *arena, Expr *body, int buffer, int64_t n,
    const int64_t *extents);
int64_t *unflatten_shape(
    Arena *arena, const int64_t *shape, int ndim, int64_t n);
/* The least number, up to `most`, all that divide the axis in the body go into; 1:
 * there is none, or the axis stands alone, but as the last index of what has such
 * phases.  Marks what has some and is read otherwise. */
int64_t unflatten_find(
    Expr *body, int axis, const int64_t *phases, int64_t most);
void unflatten_mark_apart(
    Expr *body, int axis, int64_t n, const int64_t *phases, bool *apart);

/* nest_prefix.c: a reduction over the k up to j, or from j on, of elements that j
 * does not move, by blocks of `size`: within a block, over the blocks before (or
 * behind), and both combined.  Axes have equal numbers in all; k is t and c, j is b. */
typedef struct {
	ReduceOp op;
	int j, k;
	bool exclusive; /* k < j */
	bool behind;    /* k >= j, or k > j */
	int64_t count;  /* of k; by prefix_fits, where the last block is not full */
	const Expr *triangle; /* the condition */
} Prefix;
bool prefix_find(
    Arena *arena, Expr *body, ReduceOp op, int j, int k, Prefix *prefix);
/* Are there several blocks, and is every element read that is needed? */
bool prefix_fits(Prefix *prefix, int64_t size, int64_t nj, int64_t nk);
Expr *prefix_within(
    Arena *arena, const Prefix *prefix, Expr *body, int naxes, int64_t size);
Expr *prefix_before(Arena *arena, const Prefix *prefix, Expr *body, int naxes,
    int nspatial, int64_t size, int within);
Expr *prefix_whole(Arena *arena, const Prefix *prefix, DType type,
    int nspatial, int64_t size, int within, int before);
/* The same element by element, from what the buffer `own` has at j - 1; back: what
 * is combined with that there. */
bool prefix_carries(const Prefix *prefix, int64_t nj, int64_t nk);
Expr *prefix_carried(Arena *arena, const Prefix *prefix, Expr *body, int naxes,
    int nspatial, int own);
Expr *prefix_uncarried(const Expr *carried);

/* nest_colocate.c: may a block that reads nothing of the host be made in its
 * loops: axis_of[], by axis of the stage the host's that it follows; -1: all of
 * it.  By the host's steps, those of its reduction among them, or by its elements,
 * the last axes that both have? */
bool nest_colocated(const Nest *nest, int stage, int host, int *axis_of);
bool nest_colocated_steps(const Nest *nest, int stage, int host);
/* nest_window.c: a reduction over elements that move with step*j + apart*s alone,
 * of a spatial axis j and a reduction axis s: first over the other axes, for each
 * value `u` of that, then over s.  Axes behind s move up by one in the first; the
 * second has the spatial axes and s. */
typedef struct {
	int j, s;
	int64_t step, apart;
	int64_t extent; /* of u */
} SlidingWindow;
bool window_find(const Expr *body, int j, int64_t nj, int s, int64_t ns,
    SlidingWindow *window);
Expr *window_columns(
    Arena *arena, const SlidingWindow *window, Expr *body, int naxes);
Expr *window_across(Arena *arena, const SlidingWindow *window, DType type,
    int columns, int nspatial);
/* An expression without 0 that is added in an index, and products of numbers. */
Expr *window_folded(Arena *arena, Expr *e);
/* A reduction of so many steps, 0: of more, written out; from its first element
 * where that is what the identity and it give, as it is if each element is the
 * result of such a reduction (`reduced`).  A body may have so many nodes then. */
enum { UNFOLD_NODES_MAX = 1024 };
int64_t unfold_steps(const int64_t *extents, int n, int64_t most);
Expr *unfold_body(Arena *arena, ReduceOp op, Expr *body, int nspatial,
    const int64_t *extents, int naxes, bool reduced);
/* A body without a reduction axis of one step. */
Expr *unfold_axis(Arena *arena, Expr *body, int axis, int naxes);

/* nest_winograd.c: a sum of products of two factors, one of which a spatial axis y
 * moves as a reduction axis of three taps does, which moves the other one: m
 * results from m + 2 products, m 2, 4 or 6; one pair of axes or two. */
enum { WINOGRAD_TAPS = 3, WINOGRAD_MOST = 6, WINOGRAD_PARTS = 7 };
typedef struct {
	int npairs;
	int y[2], r[2];
	int64_t extent[2];   /* of y */
	const Expr *data, *weights; /* the factors, over the block's axes */
	int nspatial, naxes; /* of the block */
	const int64_t *extents;
} Winograd;
/* A block on the way: all its axes are new. */
typedef struct {
	int nspatial, naxes;
	int64_t *extents;
	ReduceOp reduce;
	Expr *body;
} WinogradPart;
/* NULL, or why the block is none. */
const char *winograd_find(Arena *arena, ReduceOp op, Expr *body,
    const int64_t *extents, int nspatial, int naxes, Winograd *w);
/* Weights, which two pairs take one after the other, the data in whole tiles, the
 * data transformed, in one step or two, products, and of two pairs the first of
 * the results; then the block itself.  Each reads buffers of those before. */
typedef enum {
	WINOGRAD_U1, WINOGRAD_U, /* weights */
	WINOGRAD_D,              /* data */
	WINOGRAD_V1, WINOGRAD_V,
	WINOGRAD_P,              /* products */
	WINOGRAD_Y1
} WinogradRole;
int winograd_nparts(const Winograd *w);
/* The number of that part; -1: of one pair there are no U1, V1, Y1. */
int winograd_number(const Winograd *w, WinogradRole role);
/* The block's axes that a factor has, but for y and taps, in their order: the
 * first axes of what is made of it; how many. */
int winograd_own(const Winograd *w, const Expr *factor, int *axes);
WinogradPart winograd_part(
    Arena *arena, const Winograd *w, int m, int number, const int *buffers);
Expr *winograd_whole(
    Arena *arena, const Winograd *w, int m, const int *buffers);
/* Elements of the three matrices. */
double winograd_weight(int m, int i, int tap);
double winograd_input(int m, int i, int k);
double winograd_output(int m, int result, int i);

/* nest_factor.c: of a product its factor with that number, from 1, and all factors
 * that have no other axes; false: it is no product, or all move with it.  Axes that
 * it has in one linear form alone, as those of a window, are one of its own, unless
 * all shall be `apart`; those of one value are none. */
typedef struct {
	int axis;       /* of the block; the first of several */
	int64_t extent;
	Expr *index;    /* over the block's axes */
} FactorAxis;
typedef struct {
	int naxes;
	FactorAxis *axes;
	bool *has;     /* the block's axes */
	bool is_window; /* is one made of several? */
	Expr *element; /* over its own axes */
	Expr *others;  /* the other factors */
	int together;  /* factors in the element */
	const Expr
	    *border; /* the read of the body, `others`, that it is; or NULL */
} Factor;
/* Is a read clamped, mirrored or wrapped around along the rows of its buffer? */
bool read_bends(const Expr *read);
/* Number 0: the first such read, under no condition. */
bool factor_find(Arena *arena, Expr *body, const int64_t *extents, int naxes,
    int number, bool apart, Factor *factor);
/* The product with a buffer of such elements. */
Expr *factor_product(Arena *arena, const Factor *factor, int buffer);

/* nest_forms.c: makes axes of `order` one where the expression allows, unless all
 * shall be `apart`; it is over these axes then; how many there are. */
int forms_find(Arena *arena, Expr **e, const int64_t *extents, int naxes,
    const int *order, int norder, bool apart, FactorAxis *axes);

/* nest_retype.c: a product whose operand, the first or the second, is kept in
 * another type: what an element of that is, over the read that it is made of,
 * and the product that reads the buffer with them.  Is the body one read, but for
 * its type? */
typedef struct {
	int operand;
	DType to;
	const Expr *read;
	int64_t offset; /* that is added where it is read; 0: it is exact */
} Retype;
bool retype_find(const Expr *body, int operand, DType to, Retype *out);
Expr *retype_element(Arena *arena, const Retype *r, Expr *read);
Expr *retype_product(Arena *arena, const Retype *r, Expr *body, int buffer);
bool retype_is_copy(const Expr *body);

/* The read that a copy of an operand would replace; NULL. */
const Expr *retype_read(const Expr *body, int operand);

/* nest_narrow.c: a block of i32, or i16, that are bytes but for what is added to
 * all of them: its body then, and a reader's. */
typedef struct {
	DType type;    /* of the bytes */
	DType from;    /* of the buffer */
	Expr *element;
	Expr *offset;  /* over the block's axes; NULL: 0 */
} Narrow;
bool narrow_find(Arena *arena, Expr *body, DType buffer, Narrow *narrow);
/* The same, or bytes as they are, padded with 0 where it was something else. */
bool narrow_find_zero(Arena *arena, Expr *body, DType buffer, Narrow *narrow);
Expr *narrow_reader(
    Arena *arena, const Narrow *narrow, int buffer, Expr *body);

/* nest_shorten.c: what the integers that a block makes never leave; extents of its
 * axes; of[] by buffer, of types that are integers. */
Interval shorten_range(ReduceOp reduce, const Expr *body, int64_t steps,
    const int64_t *extents, const Interval *of);
bool shorten_is_word(DType type); /* an integer of 32 bits? */
/* The body with its integers of 32 bits in 16, in i16 what was i32, in u16 what was
 * u32; NULL: not all fit, or there are none.  Readers: narrow_reader. */
enum { SHORTEN_NODES_MAX = 256 };
Expr *shorten_body(Arena *arena, ReduceOp reduce, Expr *body, int64_t steps,
    const int64_t *extents, const Interval *of);
/* Does it only convert what it reads?  Alone it gains nothing. */
bool shorten_is_move(ReduceOp reduce, const Expr *body);

/* nest_distribute.c: a sum of integers, in i32 or i64, multiplied out, but for the
 * operand of its product that is kept, the first or the second, 0: none is: a product,
 * and sums of what has fewer axes, or counts only in a part of the steps, each
 * multiplied with what does not vary. */
typedef struct {
	Expr *element; /* over the block's axes; of `of` over its sum's */
	Expr *where;   /* steps that count, 1 or 0; NULL: all */
	int of;	       /* the sum before whose elements these are; -1 */
	Expr *times;   /* over its spatial axes; NULL: another is of it */
	int naxes, nspatial, *axes; /* of the block, that the element has */
	bool scaled;  /* multiplied once for each of the sum's elements */
	Expr *addend; /* of a scaled one, added to it; NULL: 0 */
} DistributedSum;
typedef struct {
	Expr *product; /* its element */
	Expr *times;   /* NULL: 1 */
	int nsums, nscaled;
	DistributedSum *sums;
	Expr *rest; /* that is added; NULL: 0 */
} Distribution;
bool distribution_find(Arena *arena, Expr *body, const int64_t *extents,
    int nspatial, int naxes, int kept, Distribution *d);
/* Over the sum's own axes: its element, of the buffers of the product and of the
 * sums before it, and of a scaled one what it is then, of the sum's buffer; what
 * the block is, of all buffers, scaled where they are. */
Expr *distribution_element(Arena *arena, const Distribution *d, int sum,
    int naxes, const int *buffers);
Expr *distribution_scaled(
    Arena *arena, const DistributedSum *sum, int naxes, int buffer);
Expr *distribution_whole(
    Arena *arena, const Distribution *d, int nspatial, const int *buffers);

/* nest_infer.c: regions, extents, layouts, guards.  False and a reason where
 * the structure has no meaning (a reader that is not below its copy, say). */
bool nest_infer(Nest *nest, const char **why);

/* nest_verify.c: legality of the finished nest; adds guards for what handles
 * cannot settle.  False and a reason. */
bool nest_verify(Nest *nest, const char **why);

/* nest_launch.c: do threads of a block share out the steps of the stage's
 * reduction?  Then each has a partial result, at the end all have the whole. */
bool nest_reduces_across(const Nest *nest, int stage);
/* Of a nest whose extents are numbers: the most iterations of a loop of this
 * one's thread axis in its launch; those of all directions (1: it has none); is
 * a loop bound, or below one that is? */
int64_t nest_launch_extent(const Nest *nest, int loop);
void nest_launch_threads(const Nest *nest, int loop, int64_t threads[3]);
bool nest_below_bound(const Nest *nest, int loop);

/* nest_print.c: show --stage=schedule */
void nest_print(Buf *out, const Nest *nest);

#endif
