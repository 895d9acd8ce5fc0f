/* Typed expressions: the right-hand sides of definitions, the bodies of blocks
 * and, in nests, the places of regions.
 *
 * Two kinds of type share the node.  A value has a DType of dtypes.def.  An
 * exact integer over axes and params (an index, or the untyped integers of
 * language.md) has DT_INDEX: 64 bits, never overflowing by construction.  A
 * comparison is DT_BOOL whatever it compares; OP_CAST takes DT_INDEX to a value
 * type, and integer data that is read in an index to DT_INDEX: of u64 what is
 * past 2^63 - 1 as that, but a quotient and a remainder of it are exact.
 * Expressions are immutable and shared; whoever changes one makes a new node. */
#ifndef IR_EXPR_H
#define IR_EXPR_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/buf.h"
#include "lib/diag.h"
#include "lib/interval.h"
#include "lib/vec.h"

typedef enum {
#define DTYPE(name, spelled, bytes, class, ctype) DT_##name,
#include "ir/dtypes.def"
#undef DTYPE
	DT_COUNT,
	DT_INDEX = DT_COUNT /* exact 64-bit integer over axes */
} DType;

typedef enum {
#define OP(name, spelled, arity, kind, flops, weight) OP_##name,
#include "ir/ops.def"
#undef OP
	OP_COUNT
} Op;

/* What an operation is in the text; the grammar's levels, loosest first. */
typedef enum {
	OPKIND_IF,
	OPKIND_OR,
	OPKIND_AND,
	OPKIND_NOT,
	OPKIND_COMPARE,
	OPKIND_SUM,
	OPKIND_PRODUCT,
	OPKIND_NEGATIVE,
	OPKIND_LEAF,     /* from here on nothing is put in parentheses */
	OPKIND_READ,
	OPKIND_CAST,
	OPKIND_REDUCE,
	OPKIND_CALL,
	OPKIND_BITS,     /* of integers */
	OPKIND_FUNCTION, /* of floats */
	OPKIND_ROUNDING  /* of floats, an instruction in most machines */
} OpKind;

typedef enum {
	REDUCE_NONE,
	REDUCE_SUM,
	REDUCE_PROD,
	REDUCE_MAX,
	REDUCE_MIN,
	/* source form only: i32, the first place of what max (min) gives */
	REDUCE_ARGMAX,
	REDUCE_ARGMIN,
	REDUCE_COUNT
} ReduceOp;

typedef struct Expr Expr;

struct Expr {
	Op op;
	DType type;
	int narg;
	int id; /* AXIS: axis; VAR, TAPE: number; READ: buffer */
	Expr **arg;
	union {
		int64_t i;    /* INT; of u64 its bits */
		double f;     /* FLOAT, already rounded to `type` */
		struct {
			ReduceOp op;
			int first_axis, naxes; /* axes of the definition */
		} reduce; /* REDUCE */
	};
	Span span; /* in the spec; empty where the node was made */
};

/* dtype.c */
int dtype_bytes(DType type);
/* From 1 to the next number; of what is no float 0. */
double dtype_epsilon(DType type);
const char *dtype_name(DType type); /* DT_INDEX: "index" */
const char *dtype_ctype(DType type);
bool dtype_is_float(DType type);
bool dtype_is_half(DType type); /* F16 BF16 */
bool dtype_is_int(DType type);  /* I64 … I8 U64 … U8 */
bool dtype_is_unsigned(DType type); /* U64 U32 U16 U8 */
DType dtype_promoted(DType type); /* halves: f32; i8 u8 i16 u16: i32 */
Interval dtype_interval(DType type); /* the values of an integer dtype */
bool dtype_parse(const char *name, size_t length, DType *type);
uint16_t f16_from_f32(float x);  /* nearest even, all specials */
uint16_t f16_from_f64(double x); /* one rounding */
float f16_to_f32(uint16_t x);
uint16_t bf16_from_f32(float x);
uint16_t bf16_from_f64(double x); /* one rounding */
float bf16_to_f32(uint16_t x);

/* op.c */
/* Of bit_and, bit_or, bit_xor and shifts of integers of the dtype, before they wrap. */
Interval bits_interval(Op op, DType type, Interval a, Interval b);
const char *op_name(Op op); /* as spelled; "" for leaves, reads and casts */
OpKind op_kind(Op op);
int op_arity(Op op);
int op_flops(Op op); /* a point, of values */
int op_weight(Op op); /* in multiplications, of vectors: a row may say another
			 (ir/costs.h) */
bool op_is_function(Op op); /* of floats; ROUNDING ones, too */
const char *op_in_c(Op op); /* of a function: "1 / C(sqrt)(x)"; x, y */
const char *reduce_name(ReduceOp op); /* REDUCE_NONE: "" */

/* expr.c: construction folds nothing unless it says so */
Expr *expr_int(Arena *arena, DType type, int64_t value);
Expr *expr_float(Arena *arena, DType type, double value); /* rounds to type */
Expr *expr_axis(Arena *arena, int axis);
Expr *expr_var(Arena *arena, int var);
Expr *expr_tape(Arena *arena, int handle);
Expr *expr_read(
    Arena *arena, DType type, int buffer, Expr **index, int nindex);
Expr *expr_cast(Arena *arena, DType type, Expr *a); /* a itself if of type */
Expr *expr_unary(Arena *arena, Op op, Expr *a);     /* type of a */
Expr *expr_binary(Arena *arena, Op op, Expr *a, Expr *b); /* comparisons: bool */
Expr *expr_if(Arena *arena, Expr *condition, Expr *yes, Expr *no);
Expr *expr_call(Arena *arena, Op op, DType type, Expr **args, int nargs);
/* The reduction whose elements argmax and argmin are places of. */
ReduceOp reduce_picked(ReduceOp op);
/* Is it the number 0? */
bool expr_is_zero(const Expr *e);
/* The value of an INT. */
Wide expr_int_value(const Expr *e);
/* What an index divides that is read as u64; NULL: it divides no such. */
Expr *expr_divides_u64(const Expr *index);
/* Does an index depend on data? */
bool expr_has_data(const Expr *index);
/* Is an axis anywhere in it? */
bool expr_has_axes(const Expr *e);
/* Is this one? */
bool expr_has_axis(const Expr *e, int axis);
/* How many choices and remainders go by an axis from `from` to `to` (`if c == 0`,
 * `(c + 1) % 3`): lanes along these would compute all arms. */
int expr_choices(const Expr *e, int from, int to);
/* Does it compute a function: exp, tanh …? */
bool expr_has_function(const Expr *e);

/* A power by a constant, of whole numbers and quarters: x^(quarters/4) * |x|^whole, or,
 * inverse, (1 / x^(quarters/4)) / |x|^whole; without quarters x^whole or (1/x)^whole. */
typedef struct {
	int whole, quarters;
	bool inverse;
} PowerSteps;
/* False: that would not be right to 2 ulp. */
bool power_steps(double exponent, PowerSteps *steps);
/* Sets axes[i] for each axis i that it has. */
void expr_mark_axes(const Expr *e, bool *axes);
/* The first read of a buffer, in pre-order; NULL: there is none. */
const Expr *expr_find_read(const Expr *e, int buffer);
bool expr_equal(const Expr *a, const Expr *b);
uint64_t expr_hash(const Expr *e); /* equal ones have one */
uint64_t expr_node_hash(const Expr *e); /* of the node, without its arguments */
/* The identity of a reduction in a type: 0, 1, or the least (max, argmax) or
 * greatest (min, argmin) value, infinities for floats. */
Expr *expr_identity(Arena *arena, ReduceOp op, DType type);

/* A copy in which `visit` may replace nodes, bottom-up: it gets a node whose
 * arguments are done and returns that node or another. */
Expr *expr_rewrite(Arena *arena, Expr *e,
    Expr *(*visit)(Arena *arena, Expr *e, void *context), void *context);
/* Axis i becomes values[i] (NULL: stays).  What does not change is shared. */
Expr *expr_substitute_axes(Arena *arena, Expr *e, Expr *const *values, int n);
/* Has the tree, shared nodes as often as they stand in it, at most so many? */
bool expr_size_within(const Expr *e, int64_t most);
int64_t expr_nodes(const Expr *e); /* as many it has so */
/* Pre-order walk; false from `visit` skips the node's arguments. */
void expr_walk(
    Expr *e, bool (*visit)(Expr *e, void *context), void *context);

#endif
