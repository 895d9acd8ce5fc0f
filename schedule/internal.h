/* What the files of schedule/ share among themselves. */
#ifndef SCHEDULE_INTERNAL_H
#define SCHEDULE_INTERNAL_H

#include "schedule/schedule.h"

/* --- rows.c: products of the same rows ------------------------------------- */

/* A reduction with two operands that are used again along another spatial
 * axis. */
bool rows_is_product(const Block *block);

typedef struct {
	bool *axes;    /* of `to`: rows of all that lies between */
	bool *between; /* by block: `from`, and what leads from it to `to` */
	int **moves;   /* by block between: the axis of `to` that each of its
			  axes goes with; -1 */
} Rows;
/* NULL: they have none, or it is not worth it. */
Rows *rows_between(Arena *arena, const Program *program, int from, int to);

/* --- primitive.c: the table ----------------------------------------------- */

typedef enum {
#define PRIMITIVE(name, roles, outs, arguments) PRIMITIVE_##name,
#include "schedule/primitives/primitives.def"
#undef PRIMITIVE
	PRIMITIVE_COUNT
} Primitive;

/* The role letter of positional argument i; 0 past the last. */
char primitive_role(int primitive, int i);
char primitive_outs(int primitive); /* 'B', 'P', 'D', 'W', 'L' or '-' */
bool primitive_gives(int primitive, int nouts); /* so many names? */
const char *primitive_arguments(int primitive); /* for messages */
/* Has the step arguments as the table says? */
Refusal primitive_check(const Step *step);

/* --- apply.c ------------------------------------------------------------------ */

/* The nest under the steps from `first` to before `end`, which are told by
 * their number in the trace. */
Nest *nest_under(Arena *arena, const Program *program, const Machine *machine,
    const Trace *trace, int first, int end, Refused *refused);

/* --- apply_groups.c ------------------------------------------------------------ */

/* The nest of a trace that has groups, a part for each. */
Nest *nest_of_groups(Arena *arena, const Program *program,
    const Machine *machine, const Trace *trace, Refused *refused);

/* --- trace_text.c ----------------------------------------------------------- */

void value_print(Buf *out, const TraceValue *value);
bool value_equal(const TraceValue *a, const TraceValue *b);
TraceValue value_int(int64_t i);
TraceValue value_word(const char *word);
TraceValue value_hole(void);
/* One value that fills the span. */
bool value_parse(Arena *arena, const Source *source, Span span, Diag *diag,
    TraceValue *value);
/* A part of a layout or a number by lanes, taken apart: "j//(mi*4)%ni" has the
 * pieces j // ( mi * 4 ) % ni.  Returns the length of the piece at `text`. */
size_t word_piece(const char *text);

/* --- space_plans.c ------------------------------------------------------------ */

/* Is a trace without open decisions a schedule, and not too much for the machine? */
bool schedule_fits(Arena *arena, const Program *program,
    const Machine *machine, const Trace *trace);

/* --- call.c: one step on its way to a nest ---------------------------------- */

typedef struct {
	Nest *nest;
	const Step *step;
	const Machine *machine;
	bool use_slots;
	int first_slot; /* of this step's open decisions */
} Call;

/* Each reads positional argument i, or says why it cannot. */
Refusal call_stage(const Call *call, int i, int *stage);
Refusal call_loop(const Call *call, int i, int *var);
Refusal call_buffer(const Call *call, int i, int *buffer);
Refusal call_word(const Call *call, int i, const char **word);
Refusal call_int(const Call *call, int i, int64_t *value);
/* A number of at least `least`, or a slot. */
Refusal call_handle(const Call *call, int i, int64_t least, Handle *handle);
/* A list [_, f1, f2 ...] or [n, f1 ...]: handles[0] is HANDLE_NONE or n.  A factor
 * is a number, or a loop: its extent, where a split fixed it. */
Refusal call_factors(const Call *call, int i, int *n, Handle **handles);
/* Names given by the step: exactly n, free in the nest. */
Refusal call_outs(const Call *call, int n);
/* Index of the argument with that key, or of positional argument i; -1. */
int call_optional(const Call *call, int i, const char *key);
/* Slots that a step's open decisions take. */
int call_nslots(const Step *step);

/* legal: NULL, or why not, and the nest is as it was.  apply: only after
 * legal said yes. */
#define PRIMITIVE(name, roles, outs, arguments)                                \
	Refusal name##_legal(const Call *call);                                \
	void name##_apply(const Call *call);
#include "schedule/primitives/primitives.def"
#undef PRIMITIVE

/* --- edit.c: small questions about and changes of a nest ------------------- */

/* The n-th, from 1, of the stage's different reads of the buffer, in the order
 * of the body; NULL: there are fewer. */
const Expr *edit_read_of(const Nest *nest, int stage, int buffer, int64_t n);
/* Is the body of `stage` below the loop? */
bool edit_is_below(const Nest *nest, int stage, int loop);
/* Is stage `a` stage `b` or placed somewhere below it? */
bool edit_is_inside(const Nest *nest, int a, int b);
bool edit_has_attached(const Nest *nest, int loop);
/* Where a live stage stands in the order. */
int edit_order_of(const Nest *nest, int stage);
bool edit_has_attached_stage(const Nest *nest, int stage); /* at any loop */
/* Is the loop below a blockized or tensorized one, or that one? */
bool edit_is_sealed(const Nest *nest, int loop);
/* An optional scope at position i or as scope=; none: global. */
Refusal edit_scope_argument(const Call *call, int i, Scope *scope);
/* Can the loops from this one inwards become a unit? */
Refusal edit_unit_legal(const Nest *nest, int loop);
/* May the stage be placed at the loop; does it bring no second parallel loop or
 * thread axis there? */
Refusal edit_move_legal(const Nest *nest, int stage, int loop);
Refusal edit_kinds_legal(const Nest *nest, int stage, int loop);
/* Does --numerics=exact forbid to reassociate the stage's reduction? */
bool edit_is_exact(const Nest *nest, int stage);
/* May the loop get a kind: it is serial, without a limit, and not sealed. */
Refusal edit_annotate_legal(const Nest *nest, int loop);
/* A loop of that kind outside of it; inside, in its stage and those placed
 * below; another one of its stage. */
bool edit_kind_above(const Nest *nest, int loop, LoopKind kind);
bool edit_kind_below(const Nest *nest, int loop, LoopKind kind);
bool edit_kind_own(const Nest *nest, int loop, LoopKind kind);
int64_t *edit_extents(const Nest *nest, int stage); /* of its axes */
/* What stands at an axis and the next one, which has rows of so many, by the one of
 * them that is left. */
Expr *edit_collapsed(Arena *arena, Expr *e, int axis, int64_t row, int naxes);
Flat *edit_flat(const Nest *nest); /* blocks by their place in the order */
bool edit_is_identity_write(const Nest *nest, int stage);
/* Has it to be computed in one place? */
bool edit_is_once(const Nest *nest, int buffer);
/* A part a dimension, in their order. */
bool edit_has_plain_layout(const NestBuffer *buffer);
/* Nothing of the stage is scheduled. */
bool edit_is_pristine(const Nest *nest, int stage);
/* The loop's block is a running reduction over that loop alone. */
Refusal edit_scan(const Nest *nest, int loop, int *stage, Prefix *prefix);
/* The block as if it were new, of that body: its axes are others. */
void edit_remake(Nest *nest, int stage, Expr *body);
/* A reduction becomes a block without, of that body. */
void edit_make_elementwise(Nest *nest, int stage, Expr *body);
/* The same without one axis, of a reduction. */
void edit_drop_axis(Nest *nest, int stage, int axis, Expr *body);
/* The same with one axis more, before that one; its body does not know yet. */
void edit_add_axis(Nest *nest, int stage, int axis, StageAxis new);
/* In a plain layout. */
void edit_set_shape(
    const Nest *nest, NestBuffer *buffer, int ndim, int64_t *shape);
/* The live stages that read it, each once. */
IntVec edit_readers(const Nest *nest, int buffer);
/* May the stage get this body in place of its own? */
Refusal edit_body_replaceable(const Nest *nest, int stage, const Expr *body);
/* The stage makes the narrower elements, and its readers take them back: may they? */
Refusal edit_narrow_legal(const Nest *nest, int stage, const Narrow *narrow);
void edit_narrow(Nest *nest, int stage, const Narrow *narrow);

int edit_new_var(Nest *nest, const char *name, int stage, int axis);
/* Fresh loops "stage.axis" for all axes, in axis order. */
void edit_new_loops(Nest *nest, int stage);
int edit_new_buffer(
    Nest *nest, const char *name, const NestBuffer *like, Scope scope);
/* Appended to the stages, put before (or after) `other` in the order, at the
 * same place. */
int edit_new_stage(Nest *nest, const char *name, int other, bool behind);
/* The same over such axes, spatial ones first, with loops for all of them and a buffer
 * of its own, which it writes at these; its body is the caller's to set.  Axes
 * x0, x1 … of such extents; a block over them, of the elements of a buffer. */
int edit_new_block(Nest *nest, int other, const char *name,
    const StageAxis *axes, int naxes, int nspatial, ReduceOp reduce,
    DType type);
StageAxis *edit_numbered_axes(const Nest *nest, const int64_t *extents, int n);
int edit_new_copy(
    Nest *nest, int other, const char *name, int buffer, DType type);
void edit_set_place(Nest *nest, int stage, int loop);
/* Stages placed at a loop, and prefetches by it, go over to another. */
void edit_move_attachments(Nest *nest, int from, int to);
void edit_remove_stage(Nest *nest, int stage);
void edit_replace_loops(
    Nest *nest, int stage, int at, int n, const int *loops, int nloops);
/* factors[0] is not used; the parts, outer to inner. */
const int *edit_split_loop(Nest *nest, int loop, int n, const Handle *factors,
    const char *const *names);
/* Reads of `from` in the stage's body become reads of `to`: those equal to
 * `only`, or all where that is NULL. */
void edit_redirect(
    Nest *nest, int stage, int from, int to, const Expr *only);
bool edit_scope_parse(const char *word, Scope *scope);
/* The number of iterations that a split gave the loop; HANDLE_NONE for its
 * first part and for others. */
Handle edit_split_extent(const Nest *nest, int loop);
/* That, or the whole axis of an unsplit loop at the root. */
Handle edit_fixed_extent(const Nest *nest, int loop);

/* --- inlining.c: a body in the place of its buffer's reads ------------------- */

typedef struct {
	int buffer;
	DType type;       /* of the buffer */
	Expr *body; /* of its element at the axes */
} Inlining;

Expr *inlining_body(Arena *arena, const Inlining *in, Expr *reader);
/* Is that no larger than a body may be? */
bool inlining_fits(const Inlining *in, const Expr *reader);

#endif
