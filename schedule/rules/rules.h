/* Rules: what writes the spaces.  A rule looks at the program and at what the
 * rules before it decided, and writes steps with open decisions for one block.
 * Steps are written as trace text, so a rule reads like the trace it makes.
 * rules.def has them all; what they know and decide is in Rules. */
#ifndef SCHEDULE_RULES_H
#define SCHEDULE_RULES_H

#include "schedule/internal.h"

/* axis // below % count, of which each step adds `stride` to an index. */
typedef struct {
	int axis;
	int64_t below, count, stride;
} RuleDigit;

/* What one index of a read is a sum of. */
typedef struct {
	VEC(RuleDigit) digits; /* by stride, smallest first */
	bool offset;    /* and of a constant */
	bool irregular; /* and of something else */
	bool radix;     /* the digits fill the dimension without gaps */
	bool spatial;   /* some digit is of a spatial axis */
} RuleIndex;

typedef VEC(int64_t) RuleCuts;

/* A read of a buffer that differs from the others in the body. */
typedef struct {
	int buffer;
	int maker; /* the block that makes it; -1 */
	int nindex;
	Expr **index;
	int last;      /* the last dimension of several elements; -1 */
	int number;    /* among the reads of the buffer, from 1 */
	bool plain;    /* each index is an axis of its own */
	RuleIndex *dims;
	bool packable; /* its spatial digits can be told apart in the buffer */
	bool *uses;    /* by axis of the block: do its indices have it? */
	int64_t *reuse; /* for how many steps of it in turn the same is read */
} RuleRead;

typedef struct {
	int block;
	/* of the body with what the inline rule puts into it; of one that is
	 * inlined itself none */
	VEC(RuleRead) reads; /* in the order of the body */
	VEC(int) consumers;  /* blocks */
	bool output;
	bool inlined;      /* by the inline rule */
	bool scheduled;    /* a rule has written its loops */
	double flops;      /* of one evaluation of the body */
	int host;	   /* whose loops it may be computed at; itself; -1: not
			      known yet */
	int colocated_with; /* the block in whose tiles it is computed; -1 */
	int recomputed_at;  /* in whose tiles it may be computed again; -1 */
	bool at_steps;	    /* colocated in those of its steps */
	bool is_host;	    /* some are in its tiles; it is at the root */
	int fused_with;	    /* the reduction in whose loops it runs; -1 */
	int nfused;	    /* blocks that run in its own */
	const char *tile;  /* the loop of a tile of its results */
	const char *steps; /* of one of its reduction's; NULL: there is none */
	const char *lane_loop; /* around vectors of all that one iteration makes,
				  at the root; NULL: there is none */
	int lane_axis, lanes;  /* along which, how many */
	int place_axes;	   /* of the host: its first so many (rule_axis_at) move
			      outside of where the block may be computed; 0: it
			      may not */
	int *moved_by;	   /* by own axis: the axis of `host`; -1 */
	int *order;        /* of its axes, where its loops have another one than
			      the program; NULL */
	bool columns;      /* it may be computed for a block of rows and columns */
	const char *prefetch_loop; /* that asks for its next rows; NULL */
	int prefetch_buffer;	   /* of that buffer */
	const char *copies; /* steps that place its operands' copies, once it is
			       where it is computed; NULL: none */
} RuleBlock;

/* A reduction that multi-level tiling takes, and along which axis it is
 * vectors. */
typedef struct {
	int block;         /* -1: none */
	int axis, lanes;   /* spatial; -1: none */
	bool outer;        /* the axis's tiles run outside of the others'; of a
			      GPU: the window's axes outside of the steps */
	bool streams;      /* row by row, where it reads a lot once */
	bool warps, groups; /* of a GPU: by its matrix units, of a warp or of
			       four */
	int phases;        /* lanes are so far apart: conditions hold for each such
			      element of the axis or for none; else 1 */
	bool split;        /* of a GPU: blocks share out the reduction, too */
	bool rows;         /* of a GPU: with all that makes its rows */
	bool settled;      /* its tiles are not searched */
} RuleTiled;

/* A loop that blocks may be computed at. */
typedef struct {
	const char *loop;
	int block;         /* whose it is */
	int naxes;         /* its first axes (rule_axis_at) move outside; what
			      does not move with all of them would be computed
			      again; -1: not asked */
	bool columns;      /* a block of the last of these, for filters */
} RulePlace;

enum { RULE_FEW = 4 }; /* results of the last axes that fill no vector */

/* A convolution by tiles of m results (rule_winograd.c). */
enum { WINOGRAD_AXES = 16 };
typedef struct {
	int m;
	bool outputs;      /* in blocks of outputs, too */
	Winograd winograd;
	int output;        /* the axis that lanes are along */
	int block[WINOGRAD_PARTS]; /* by role */
	int whole;         /* the block that was the convolution */
} RuleWinograd;

/* What first steps made a buffer for. */
typedef enum {
	SCAN_NONE,
	SCAN_PART,   /* of a running sum by blocks */
	SCAN_WHOLE,  /* put together of such */
	SCAN_CARRIED /* made element by element */
} RuleScan;
typedef struct {
	bool separated; /* columns of a window (rule_separate.c) */
	bool extracted; /* an operand in a block of its own (rule_extract.c) */
	bool scattered; /* data assigns its results (rule_scatter.c) */
	RuleScan scan;	/* rule_prefix.c */
	int scan_axis;
} RuleMade;

/* The program as the first steps of a trace leave it (form.c). */
typedef struct {
	Arena *arena;
	const Machine *machine;
	/* without steps, and under those so far: another one after each, whose
	 * first buffers are those of `from` */
	const Program *from, *program;
	Nest *nest;
	const char *steps;
	VEC(RuleMade) made; /* by buffer; what is not there is nothing */
} RuleForm;

/* One way of scheduling the whole program. */
typedef struct {
	Arena *arena;
	const RuleForm *form; /* its steps begin every trace */
	const RuleMade *made; /* by buffer */
	const Program *program; /* the form's, or with other axes: collapsed */
	const Machine *machine;
	const Nest *plain; /* the program's */
	RuleBlock *blocks;
	RuleTiled tiled;   /* the one with most work: its choices make sketches */
	VEC(RulePlace) places; /* loops that blocks may be computed at */
	bool *inlines;     /* by block: the inline rule's choice */
	bool *inlinable;   /* no reduction, and its readers would stay small */
	Expr **bodies;     /* by block, with what is inlined into it */
	/* products before the anchor that make its rows: the rows of all of them;
	 * NULL: none */
	Rows *rows;
	bool *batches;     /* by axis of the anchor: of the rows, those along
			      which nothing is used again */
	const char *row_loop;   /* where a block of rows is made; NULL: not yet */
	const char *batch_loop; /* and a batch; NULL: nowhere */
	bool cross_thread;	/* of a GPU: threads may share out reductions */
	bool scatters;	   /* what data assigns is made so (rule_scatter.c) */
	Buf text;	   /* the trace so far */
	int *point_host;   /* by block the host of its points; -1: none;
			      NULL: not chosen yet */
	int *first_point;  /* and the first axis of these in the block */
	int *collapsed;    /* by block: rule_collapse.c; NULL: none is */
	const RuleWinograd *winograd; /* NULL: none */
} Rules;

/* rules.c: what the program is, and the sketches of it. */
typedef struct {
	const char *name;
	Trace *trace;
} RuleSketch;
typedef VEC(RuleSketch) RuleSketchVec;
void rules_sketches(Arena *arena, const Program *program,
    const Machine *machine, RuleSketchVec *out);
/* steps.c: adds steps to the sketch at hand; what they are without what is missing. */
void rule_put(Rules *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
const char *rule_steps(const Rules *r);
/* A name for a loop: the block's and axis's letters and a number. */
const char *rule_name(Rules *r, const Block *block, const char *axis,
    const char *suffix);
const char *rule_plain_name(char *name); /* without '~', in place */
/* A stage's loop of an axis; no axis (-1): missing.  Those of the axes from one up
 * to another, but for two; two lists as one; a list and one loop more. */
const char *rule_loop(
    const Rules *r, const char *stage, const Block *b, int axis);
const char *rule_loops(const Rules *r, const char *stage, const Block *b,
    int first, int end, int but, int nor);
const char *rule_join(const Rules *r, const char *loops, const char *more);
const char *rule_and(const Rules *r, const char *loops, const char *stage,
    const Block *b, int axis);
/* Dimensions x0, x1 .. from one up to another, but for one, or a copy's loops of them;
 * loops as one of that name, but one as it is. */
const char *rule_dims(
    const Rules *r, const char *copy, int first, int end, int but);
const char *rule_fuse(Rules *r, const char *loops, const char *name);
/* A size; a list and one more; first, 2*first .. up to `most`; of values, which 0
 * ends, those up to `most`, the first in any case. */
const char *rule_size(const Rules *r, int64_t n);
const char *rule_and_size(const Rules *r, const char *sizes, int64_t n);
const char *rule_powers(const Rules *r, int64_t first, int64_t most);
const char *rule_sizes(const Rules *r, const int *values, int64_t most);
/* A split, and the loops that it makes: `prefix` with each suffix ("0 1 v"); of a
 * stage's axis by their names.  Of a loop that is missing none is made. */
const char *const *rule_split_loop(Rules *r, const char *loop,
    const char *prefix, const char *suffixes, const char *sizes, ...)
    __attribute__((format(printf, 5, 6)));
const char *const *rule_split(Rules *r, const char *stage, const Block *b,
    int axis, const char *suffixes, const char *sizes, ...)
    __attribute__((format(printf, 6, 7)));
/* An axis in tiles: `blocks` (""), rows of them that are made at once and, if there
 * are, lanes.  `loop`: what is left of the axis, or NULL. */
typedef struct {
	const char *block, *outer, *unrolled, *lanes;
	const char *place; /* the outermost */
} RuleSplit;
RuleSplit rule_tiles(Rules *r, const Block *b, int axis, const char *loop,
    const char *blocks, const char *sizes, int lanes);
/* The copy of what a stage of the block reads. */
void rule_copy(Rules *r, const RuleBlock *of, const RuleRead *read,
    const char *copy, const char *stage, const char *scope);
/* The name of one in shared memory, and its dimensions, as one loop, by the threads of
 * a block ("_0 _y _x"), and some elements of each at once ("_0 _y _x _v"). */
const char *rule_copy_name(
    const Rules *r, const Block *b, const RuleRead *read);
void rule_fetch(Rules *r, const char *stage, const char *dims,
    const char *suffixes, const char *threads, int lanes);
/* Who stores what a reduction adds up: its only reader, if that is one element by
 * element, or a copy of it; where it adds up, in that scope. */
typedef struct {
	int reader; /* -1: a copy */
	const Block *block;
	const char *acc;
} RuleWriter;
RuleWriter rule_writer(Rules *r, int block, const char *scope);
/* Those that run in the loops of a reduction: its stages that write and reduce; the
 * scope of copies. */
void rule_put_fused(Rules *r, int leader, const char *writer,
    const char *reduce, const char *scope);
/* Loops repeated in code, and one that is vectors; threads, if there are. */
void rule_vectors(Rules *r, const char *unrolled, const char *lane, int lanes);
void rule_parallel(Rules *r, const char *loop);
/* facts.c: what blocks read and who reads them, with what is chosen to be inlined in
 * the place of its reads. */
void rules_analyse(Rules *r);
int rule_axis_of(const Expr *e); /* of a plain index; -1 */
/* Do exact numerics forbid to reduce in another order? */
bool rule_keeps_order(const Program *program, const Block *block);
int rule_last_dim(const Buffer *buffer); /* of several elements; -1 */
/* The last axis below that one that is longer than 1; the first one from `first` on,
 * below `end`; -1.  Has a reduction one that is no reduction's? */
int rule_longer_axis(const Block *block, int below);
int rule_first_axis(const Block *block, int first, int end);
bool rule_has_row(const Block *block);
/* Of `naxes` axes, in each block from one on. */
bool rule_same_extents(
    const Block *x, int from, const Block *y, int to, int naxes);
/* How often the block reads each element. */
int64_t rule_times_read(const Block *block, const RuleRead *read);
int rule_lanes(const Machine *machine, DType type);
/* The fewest that make a vector where so many are the most: 4, or 2 of 2. */
int rule_least_lanes(int widest);
/* So many lanes, or as many as the axis fills by half; the widest vector of what the
 * block stores. */
int rule_filled(const Block *b, int axis, int lanes);
int rule_widest(const Rules *r, const Block *block, int axis);
/* Those of what the block computes, along the axis: more, where that is in
 * narrower types than sums are. */
int rule_value_lanes(const Rules *r, int block, int axis);
/* Can lanes along the axis lie side by side? */
bool rule_worth_vectors(const Rules *r, int block, int axis);
/* An instruction of one evaluation: what ops.def counts, and what selects. */
bool rule_is_flop(const Expr *e);
/* What one evaluation of a body is. */
typedef struct {
	int flops;
	bool dear; /* a branch, a call, a quotient by what varies */
	bool divides;
} RuleWork;
RuleWork rule_work_of(Expr *body);
/* Operations of an element, functions for what they cost, and different reads. */
typedef struct {
	double flops;
	int reads;
} RuleCost;
RuleCost rule_cost(Arena *arena, const Expr *e);
/* Where the indices of an axis that is read begin anew after some vectors, as
 * many at once, as a domain, so that it is known how far apart what they read
 * lies; NULL: there are no such, or their body is too large. */
enum { COPIES_MOST = 15 };
const char *rule_copies(
    const Rules *r, const RuleBlock *b, int axis, int64_t vectors, int lanes);
double rule_work(const Rules *r, int block); /* all of its arithmetic */
/* How many different reads of the buffer the block has. */
int rule_reads_of(const RuleBlock *b, int buffer);
/* The one that it has; NULL: none, or several. */
const RuleRead *rule_only_read(const RuleBlock *b, int buffer);
/* Has the buffer other readers?  Is the block read by outputs alone? */
bool rule_is_read_elsewhere(
    const Rules *r, const RuleBlock *reader, int buffer);
bool rule_only_outputs_read(const Rules *r, int block);
/* The block that makes it element by element, for one reader alone; -1. */
int rule_maker(const Rules *r, int buffer);
/* The block's only reader, if it reads each element at its own place; -1.  Its axis
 * that goes along with an axis of the block (reader -1: the block itself). */
int rule_elementwise_reader(const Rules *r, const RuleBlock *b);
int rule_reader_axis(const Rules *r, const Block *block, int reader, int axis);
/* Is all that the block reads made before `first`? */
bool rule_ready_before(const Rules *r, int block, int first);
/* Has it no loops yet, and needs some?  Results that are made in its loops. */
bool rule_is_open(const Rules *r, int block);
int rule_results(const Rules *r, int block);
/* What first steps made it for: a part of a running sum?  The axis of one that its parts
 * are put together to, or along which one is made element by element; -1. */
const RuleMade *rule_origin(const Rules *r, int block);
bool rule_is_scan(const Rules *r, int block);
int rule_scan_whole(const Rules *r, int block);
int rule_carries(const Rules *r, int block);
/* And what the sketch's choices did: made point by point with others; one axis for
 * rows and the places in them; for each block of the anchor's rows, of which its axis
 * is one. */
bool rule_is_pointwise(const Rules *r, int block);
bool rule_is_collapsed(const Rules *r, int block);
bool rule_rows_has(const Rules *r, int block);
bool rule_rows_is_row(const Rules *r, int block, int axis);
/* Is it a part of a convolution by tiles; does a body take the results of tiles?  Of a
 * GPU's rows, an element of one that the product reads? */
bool rule_winograd_keeps(const Rules *r, int block);
bool rule_winograd_results(const Rules *r, const Expr *body);
bool rule_rows_block_keeps(const Rules *r, int block);
/* Is it made of const inputs alone? */
bool rule_is_ahead(const Program *p, const Expr *e);

/* form.c: a program without steps; the same form, to go another way; a step more, or
 * several: false, and nothing changes, where one is not legal.  What is noted of a
 * buffer; a name that nothing has. */
RuleForm *rule_form(
    Arena *arena, const Program *program, const Machine *machine);
RuleForm *rule_form_copy(const RuleForm *from);
bool rule_rewrite(RuleForm *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
RuleMade *rule_made(RuleForm *f, int buffer);
const char *rule_new_name(
    const RuleForm *f, const Block *b, const char *letter);

/* digits.c */
void rule_digits(Arena *arena, const Block *block, RuleRead *read);
/* How far apart in memory neighbours along a digit of an axis lie, the one that
 * counts `below` values; 0: it does not move the read. */
int64_t rule_stride(const Program *program, const RuleRead *read, int axis,
    int64_t below);
/* The one dimension along which neighbours along that digit are neighbours, in
 * whole groups of so many from its begin on; -1. */
int rule_terms_dim(const RuleRead *read, int axis, int64_t below, int terms);
/* The one dimension that an axis moves along, by 1; -1. */
int rule_lanes_dim(const RuleRead *read, int axis);
/* Where the reads divide an axis, smallest first, each a multiple of the one
 * before. */
RuleCuts rule_cuts(
    Arena *arena, const Block *block, const RuleBlock *b, int axis);

/* After how many values of an axis does the index begin anew, but for a
 * distance; do those of all reads?  0: never, or nobody knows. */
int64_t rule_period(const Expr *index, int axis);
int64_t rule_block_period(const RuleBlock *b, int axis);
int64_t rule_common_multiple(int64_t a, int64_t b); /* 0: too large */

/* shapes.c */
typedef enum {
	SHAPE_MAP,	   /* no reduction */
	SHAPE_POINTWISE,   /* made point by point with others */
	SHAPE_SCATTER,	   /* data assigns its results */
	SHAPE_SCAN,	   /* a part of a running sum */
	SHAPE_INTERLEAVED, /* a few steps, by points or pixels */
	SHAPE_WINDOW,	   /* a short one in a chain of filters */
	SHAPE_ROW,	   /* lanes along its steps */
	SHAPE_REDUCTION	   /* any other: in tiles, if these are worth it */
} RuleShape;
RuleShape rule_shape(const Rules *r, int block);

/* rule_NAME.c: writes the steps for the block, if it may be applied. */
#define PASS(order)
#define RULE(name) void rule_##name(Rules *r, int block);
#include "schedule/rules/rules.def"
#include "schedule/rules/rules_gpu.def"
#undef RULE
#undef PASS

/* The rewrites: each adds steps to the form where they pay; rule_dot goes on with
 * another form.  rules.c: all of them. */
RuleForm *rules_form(
    Arena *arena, const Program *program, const Machine *machine);
void rule_unfold(RuleForm *f);
void rule_thin(RuleForm *f);
void rule_flatten(RuleForm *f);
void rule_unflatten(RuleForm *f);
void rule_borders(RuleForm *f); /* rule_extract.c */
RuleForm *rule_dot(RuleForm *f);
void rule_separate(RuleForm *f);
void rule_extract(RuleForm *f);
void rule_rematerialize(RuleForm *f);
void rule_split_reduction(RuleForm *f);
void rule_prefix(RuleForm *f);
void rule_shorten(RuleForm *f);
/* rule_small.c: after how many vectors of all axes of the output do small products
 * that share nothing begin anew?  0: the block computes none. */
int rule_small_vectors(const Program *program, const Machine *machine,
    const Block *block, Expr *body);
/* rule_padding.c: are bytes padded with 0, as `narrow` has it, worth what those who
 * read them do for it? */
bool rule_padding_is_worth_zero(
    Arena *arena, const Program *p, int block, const Narrow *n);
/* rule_extract.c: the factor with that number, its axes apart or as few as there can
 * be; is it used again for many elements, and at most so many times as large as what
 * it is made of? */
bool rule_factor(
    Arena *arena, const Block *b, int number, bool apart, Factor *f);
bool rule_is_reused(
    const Program *p, const Block *b, const Factor *f, double most);
/* rule_split_reduction.c: one block in so many parts, or a number of them near
 * that, `step` apart, that makes them alike; it stands behind its parts then.
 * false: no axis is long enough. */
bool rule_split_one_reduction(
    RuleForm *f, int block, int64_t most, int64_t step);
/* rule_collapse.c: the program in which some blocks have one axis for the rows and
 * the places in them; by block the first of the last axes that are one, or -1.
 * NULL: there is none. */
const Program *rule_collapse_program(Rules *r, int **collapsed);
/* rule_scatter.c: with parts of reductions whose results data assigns; NULL: there is
 * none. */
RuleForm *rule_scatter_form(const Rules *r);
/* rule_winograd.c: with the convolution of most work so; x has m and `outputs`; NULL:
 * there is none. */
RuleForm *rule_winograd_form(const RuleForm *from, RuleWinograd *x);
/* rule_window.c: a short reduction in a chain of filters? */
bool rule_is_window(const Rules *r, int block);
/* A reduction with lanes along its last spatial axis, some rows at once; false: that
 * is too short. */
bool rule_lanes_in_space(Rules *r, int block);
/* Sizes of blocks of columns, in vectors, where the block ends a chain of filters;
 * "": there are none. */
const char *rule_columns(const Rules *r, int block, int last, int lanes);
/* rule_inline.c: what is computed again by all that read it, and then reads and
 * readers. */
void rules_choose_inlines(Rules *r);
/* rule_tile.c: is it a reduction that is worth tiles, and none that another rule takes;
 * the block, its writer, its operands. */
bool rule_can_tile(const Rules *r, int block);
void rule_tile_along(Rules *r, const RuleTiled *tiled);
/* rule_stream.c: does the block read something large once, that lies along the
 * axis? */
bool rule_stream_fits(const Rules *r, int block, int axis, int lanes);
/* rule_block.c: has it operands that are used again along two axes; a reduction
 * of several axes? */
bool rule_block_fits(const Rules *r, int block);
bool rule_block_has_window(const Rules *r, int block);
/* Are its tiles too few for the processors, and its steps many? */
bool rule_block_splits(const Rules *r, int block);
/* rule_warp.c: is it a product that matrix units make, of warps or of four? */
bool rule_warp_fits(const Rules *r, int block, bool groups);
/* rule_fuse_pointwise.c: the choice. */
void rule_fuse_pointwise_choose(Rules *r);
/* rule_interleaved.c: a few steps, by points or pixels? */
bool rule_is_interleaved(const Rules *r, int block);
/* rule_location.c: the block is computed for itself, before all that reads it */
void rule_root(Rules *r, int block);
/* rule_row.c: better so than tiled? */
bool rule_is_row(const Rules *r, int block);
/* The lanes along its reduction that rule_row gives it, 1 where there are none,
 * and the axis. */
int rule_row_lanes(const Rules *r, int block, int *axis);
/* rule_rows.c: the choice, for the anchor. */
void rule_rows_choose(Rules *r);
void rule_rows_join(Rules *r, Rows *rows); /* more of them; NULL: none */
/* rule_rows_block.c: the choice for a GPU; false: there is nothing to choose. */
bool rule_rows_block_choose(Rules *r);
/* rule_location.c: the axis whose loop is so many loops deep; by axis of the
 * block the axis of its host that moves it. */
int rule_axis_at(const Rules *r, int block, int depth);
int *rule_movers(Rules *r, const RuleBlock *b);
/* rule_fuse_reductions.c: may a block run in the loops of another, a reduction? */
bool rule_fuses_with(const Rules *r, int leader, int block);
/* rule_spatial.c: one axis, no reduction */
bool rule_lies_flat(const Rules *r, int block);
bool rule_is_flat(const Rules *r, int block);
/* rule_location.c: those that run in the leader's loops are where it is. */
void rule_place_fused(Rules *r, int leader);
void rule_add_place(
    Rules *r, int block, const char *loop, int naxes, bool columns);

#endif
