/* What the files of the C emitter share.
 *
 *     emit_c.c         functions, loops, declarations, parallel regions
 *     emit_c_operands.h operands and results, by short names
 *     emit_c_headers.c the beginning of a file: comment, headers, attributes
 *     emit_c_plan.c    what of each temporary the text needs
 *     emit_c_known.c   what is known of one: numbers, sums, masks
 *     emit_c_reads.c   what the text of a node reads
 *     emit_c_fold.c    what stands where it is read
 *     emit_c_scope.c   names, places of declarations, widths of masks
 *     emit_c_name.c    the shortest name that is free where it is declared
 *     emit_c_text.c    numbers, sums of indices, parentheses, assignments
 *     emit_c_ops.c     one operation: an expression
 *     emit_c_conversion.c  one element type as another
 *     emit_c_lanes.c   numbers in all lanes, lanes taken out and moved about
 *     emit_c_memory.c  loads and stores
 *     emit_c_sums.c    sums that fill the registers
 *     emit_c_types.c   vector types and helpers, written once where needed
 *     emit_c_masks.c   vectors of conditions: what they are, and macros of them
 *     emit_c_conditions.c  such vectors as operands and results
 *     emit_c_macros.c  vector operations that C has no operator for
 *     emit_c_x86.c     those that x86 has an intrinsic for
 *     emit_c_shuffle.c shuffles that compilers take apart, by x86's intrinsics */
#ifndef CODEGEN_EMIT_C_H
#define CODEGEN_EMIT_C_H

#include "codegen/codegen.h"
#include "lib/lookup.h"

/* What the C may rely on; other vectors are generic. */
typedef struct {
	bool plain;   /* target `c`: scalar C11, no extension */
	int vector_bytes; /* of a register; 0: none */
	bool x86;     /* intrinsics, where the compiler is one for x86-64 */
	bool avx, avx2, fma, f16c, avx512, vbmi, vnni, avxvnni;
	bool bf16;    /* products that flush subnormals, which is allowed */
	bool gathers; /* 16 lanes in less time than as many loads, always */
} EmitIsa;

typedef VEC(const char *) EmitNames;
typedef VEC(const LowNode *) EmitNodes;

/* What an expression's text is, the tightest first: an operand that binds less
 * than its place asks for stands in parentheses.  LIST: a comma is in it. */
typedef enum {
	LEVEL_NAME,    /* x, 4 */
	LEVEL_PRIMARY, /* f(x), a[i] */
	LEVEL_UNARY,   /* -x, (float)x */
	LEVEL_PRODUCT,
	LEVEL_SUM,
	LEVEL_COMPARE,
	LEVEL_BITS, /* & | ^ << >>, which nobody knows the order of */
	LEVEL_AND,
	LEVEL_OR,
	LEVEL_CHOICE, /* a ? b : c */
	LEVEL_LIST
} EmitLevel;

/* Of a temporary, in the text. */
typedef struct {
	int assigned; /* how often, left out or not; a loop's variable once */
	int reads;    /* by what is not left out */
	bool live;    /* something that has an effect hangs on it */
	const LowNode *def;   /* the only one that assigns it; NULL: several do */
	const LowNode *first; /* that assigns it */
	bool restarts; /* the value of `first` is never read, and what is after
			  that is in bodies that begin with a value of their
			  own, each a variable there */
	EmitNodes starts;     /* these values */
	EmitNodes idle;	      /* of these, what nothing uses */
	const LowNode *user;  /* the last that reads it */
	int user_arg;	      /* as which argument; -1: in a sum of indices */
	const LowNode *other; /* the last but one */
	int other_arg;
	bool is_sum;	      /* stands, as `sum`, wherever it is read */
	LowAffine sum;
	bool stands; /* may stand where it is read */
	bool once;   /* loaded, and kept in a register until it was read */
	/* once it is assigned */
	EmitLevel level;
	int weight; /* operations in its text */
} EmitTemp;

/* Elements of a buffer whose addresses differ by numbers only. */
typedef struct {
	int buffer;
	LowAffine from; /* of the first */
	int count;
	const char *name; /* of a pointer to that; NULL: none yet */
	int along;	  /* a loop's variable, no part of `from`; -1: none */
	bool data;	  /* what memory says is no part of `from` either */
} EmitBase;
typedef VEC(EmitBase) EmitBases;

/* A temporary that is declared before it is first used, in a body. */
typedef struct {
	const LowBody *body;
	int temp;
} EmitAhead;

typedef struct {
	const char *text, *vector, *name; /* of a macro; the result's type */
} EmitShuffle;

/* A vector that was stored. */
typedef struct {
	const LowNode *node; /* NULL: none was */
	const char *at;	     /* its address */
	bool in_row;	     /* it lies behind the one before it */
} EmitStored;

typedef struct {
	Arena *arena;
	EmitIsa isa;
	/* Written in any order, put out one after the other. */
	Buf prelude;      /* types and helpers */
	Buf regions;      /* bodies of parallel loops, before their function */
	Buf code;         /* functions */
	EmitNames have;   /* what the prelude defines */
	VEC(EmitShuffle) shuffles;
	bool exact;	  /* functions are libm's, whatever is known */
	bool math;        /* <math.h> is needed */
	bool omp;         /* there is a parallel region */
	bool apart;       /* TUNEC_APART is used */
	bool kept;	  /* TUNEC_KEPT is used */
	bool sums;	  /* SUM_… is used: sums grow in their registers */
	bool window;	  /* a function adds the elements of windows */
	bool conditional; /* something may be read or not, element by element */

	/* The function at hand. */
	bool (*reserved)(const char *name); /* what nothing is called */
	Lookup blocks; /* names of the program's buffers, as identifiers */
	const LowFunction *f;
	Buf *out;         /* &code or &regions */
	int depth;        /* tabs */
	const char **param, **buffer, **temp; /* their names in C */
	Lookup buffers;			      /* those of `buffer` */
	int *mask_bytes; /* of a bool vector temporary: width of a lane; 1 where
			     they are bits (emit_c_masks.c) */
	bool *declared;   /* temporary: already in scope */
	const LowBody **scope; /* innermost body with all uses; NULL: unused */
	EmitAhead *ahead;      /* of those that do not start there, by body */
	int nahead;
	bool *starts;     /* its first use is an assignment in `scope` itself */
	bool *is_read;    /* somewhere */
	bool *is_assigned;
	const LowNode **constant; /* its one assignment, of a CONST; or NULL */
	bool in_region;   /* `thread` and `threads` exist */
	int nregions;
	EmitTemp *plan;   /* by temporary; NULL: each is a variable */
	const LowRange *ranges; /* by temporary; NULL: not known */
	Lookup names;     /* visible here */
	IntVec scopes;    /* of each open body: names before it */
	EmitBases bases;  /* of the body at hand */
	const LowNode *node; /* the operation at hand */
	EmitStored stored;   /* the last in this body */
	const char *listed; /* the type of declarations on one line, and where */
	Buf list;           /* they are gathered; empty: none */
	const char *chained; /* what these variables get, where no declarations */
	bool streams;     /* a streaming store was written in this function */
} EmitC;

/* emit_c_scope.c */
void emit_c_prepare(EmitC *e, const LowFunction *f);
/* The first temporary of a body that is declared ahead, those that follow it in
 * `ahead`; `ahead + nahead` where there is none. */
const EmitAhead *emit_c_first_ahead(const EmitC *e, const LowBody *body);
/* The buffer is a parameter as it is. */
bool emit_c_is_argument(const LowFunction *f, const LowBuffer *b);
/* Means something else to a compiler or to the emitted file. */
bool emit_c_reserved(const char *name);

/* emit_c_known.c */
/* A number that is known, alone or in all lanes; or NULL. */
const LowNode *emit_c_constant(const EmitC *e, int temp);
bool emit_c_is_left_out(const EmitC *e, const LowNode *n);
/* Does it assign the first value of a variable?  Of a temporary that restarts. */
bool emit_c_starts(const EmitC *e, const LowNode *n);
bool emit_c_is_number(const EmitC *e, int temp);
bool emit_c_has_effect(const LowNode *n);
/* k of a temporary that is the constant 2^k, else -1. */
int emit_c_power_of_two(const EmitC *e, int temp);
/* With what stands for its terms. */
LowAffine emit_c_sum(EmitC *e, const LowAffine *a);
LowAffine emit_c_index(EmitC *e, int temp);
/* Are its lanes known when the text is written? */
bool emit_c_is_constant_mask(const EmitC *e, int temp);
/* Of a choice that has 0 as its other arm and is an AND for that: the argument that
 * it reads, 1 or 2; else 0.  With mask registers only where the mask is known, for a
 * vector of it stays in a register then. */
int emit_c_kept_arm(EmitC *e, const LowNode *n);
/* Is a temporary a comparison of which only the opposite is made, as that? */
bool emit_c_is_opposite(const EmitC *e, int temp);

/* emit_c_reads.c */
typedef void EmitRead(void *context, int temp, const LowNode *n, int arg);
/* Of the node itself, not of what is inside. */
void emit_c_each_read(
    EmitC *e, const LowNode *n, EmitRead *read, void *context);

/* emit_c_plan.c */
void emit_c_plan(EmitC *e);
/* As lowered_captures, of what is in the text. */
void emit_c_captures(EmitC *e, const LowNode *loop, IntVec *captures);

/* emit_c_fold.c */
void emit_c_fold(EmitC *e);
/* How often an argument's text is evaluated where it is longest. */
int emit_c_times(EmitC *e, const LowNode *n, int arg);

/* emit_c_name.c: a name that nothing has here, until the body ends */
const char *emit_c_name(EmitC *e, const char *wish);
/* Of the functions that follow. */
void emit_c_name_blocks(EmitC *e, const Program *program);
void emit_c_open_names(EmitC *e);
void emit_c_close_names(EmitC *e);

/* emit_c_text.c */
const char *emit_c_int(EmitC *e, DType type, int64_t value);
/* The shortest literal that reads back the same. */
const char *emit_c_float(EmitC *e, DType type, double value);
const char *emit_c_number(EmitC *e, const LowNode *n, EmitLevel *level);
const char *emit_c_affine(EmitC *e, const LowAffine *a);
/* Where a sum is at least 0 (LE), is 0, is not. */
const char *emit_c_condition(EmitC *e, LowOpcode op, LowAffine sum);
/* An operand, in parentheses where it binds less than that. */
const char *emit_c_text(EmitC *e, int temp, EmitLevel level);
EmitLevel emit_c_has_level(EmitC *e, int temp);
/* The value of the operation at hand: assigned now, or kept for who reads it. */
void emit_c_assign(EmitC *e, int dst, EmitLevel level, const char *value);
void emit_c_assign_format(EmitC *e, int dst, EmitLevel level,
    const char *format, ...) __attribute__((format(printf, 4, 5)));
void emit_c_assign_as_is(EmitC *e, int dst, int a); /* the same value */
void emit_c_read_anyway(EmitC *e, int temp); /* what a statement leaves out */
void emit_c_end_list(EmitC *e);
void emit_c_line(EmitC *e, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* "float x" where x is declared by this assignment, else "x". */
const char *emit_c_place(EmitC *e, int temp);

/* emit_c_conversion.c */
void emit_c_conversion(EmitC *e, const LowNode *n);

/* emit_c_lanes.c */
void emit_c_lanes(EmitC *e, const LowNode *n);

/* emit_c_memory.c */
bool emit_c_is_const(const EmitC *e, const LowBuffer *b); /* read only */
void emit_c_memory(EmitC *e, const LowNode *n);
void emit_c_find_bases(EmitC *e, const LowBody *body);
void emit_c_find_rows(EmitC *e, const LowNode *loop);

/* emit_c_sums.c: with AVX-512, of sums that take half of the registers or more */
/* Does an iteration read what the next one reads elsewhere, beside them? */
bool emit_c_reads_ahead(EmitC *e, const LowNode *loop);
/* Do several bodies of the function add to them? */
bool emit_c_shares_sums(EmitC *e);
/* Does a body add many times to each of several sums, as of a window's elements? */
bool emit_c_adds_window(EmitC *e);

/* emit_c_types.c */
int emit_c_lane_bytes(const EmitC *e, int temp);
/* The C type of a temporary, of a vector of a dtype's storage, of masks. */
const char *emit_c_type(EmitC *e, int temp);
const char *emit_c_vector(EmitC *e, DType type, int lanes);
const char *emit_c_vector_unsigned(EmitC *e, int lane_bytes, int lanes);
const char *emit_c_vector_signed(EmitC *e, int lane_bytes, int lanes);
/* The storage type of a bool is a byte, of an index 64 bits. */
DType emit_c_storage(DType type);
/* Masks are bits of an integer, not vectors. */
bool emit_c_has_bits(const EmitC *e);
/* Their type; lanes of so many bytes where they are vectors. */
const char *emit_c_mask(EmitC *e, int lane_bytes, int lanes);
/* The same type for any address: unaligned, aliasing everything. */
const char *emit_c_unaligned(EmitC *e, const char *vector);
/* Names of a helper, defined on first use. */
const char *emit_c_splat(EmitC *e, const char *vector);
const char *emit_c_iota(EmitC *e, const char *vector);
const char *emit_c_floordiv(EmitC *e, DType type, bool remainder);
const char *emit_c_popcount(EmitC *e, int bits); /* of uint32_t, uint64_t */
const char *emit_c_saturate(EmitC *e, DType from, DType to);
const char *emit_c_half(EmitC *e, DType from, DType to);
/* The lesser of two indices. */
const char *emit_c_index_extreme(EmitC *e, bool greatest);
/* The lanes of two vectors put together, as gcc and clang know it. */
const char *emit_c_shuffled(
    EmitC *e, const char *a, const char *b, const int *lane, int lanes);
/* A macro that puts lanes of one vector or two together; `x86` is how for the
 * compilers of `known`, as of emit_c_define. */
const char *emit_c_shuffle(EmitC *e, const char *vector, const char *takes,
    const char *text, const char *known, const char *x86);
/* A vector from an address (once: to stay in a register), to one. */
const char *emit_c_load(EmitC *e, const char *vector, bool once);
const char *emit_c_store(EmitC *e, const char *vector);
/* A value that, to gcc, is there when that address has been stored to. */
const char *emit_c_behind(
    EmitC *e, const char *vector, const char *at, const char *value);
/* True once for each key: then its text is to be added to the prelude. */
bool emit_c_first(EmitC *e, const char *key);
char *emit_c_upper(EmitC *e, const char *text);
/* A macro: by x86's instructions (NULL: there are none) for the compilers that are
 * to use them, and plainly. */
#define EMIT_ANY_X86 "def TUNEC_X86" /* behind "#if" */
#define EMIT_GCC_X86 " defined TUNEC_X86 && !defined __clang__"
#define EMIT_CLANG_X86 " defined TUNEC_X86 && defined __clang__"
void emit_c_define(EmitC *e, const char *name, const char *takes,
    const char *known, const char *x86, const char *plain);
/* A value of which clang does not see what it is of, by the macro `name`; in: the
 * constraint of the register that it is in. */
const char *emit_c_hidden(
    EmitC *e, const char *name, const char *type, char in, const char *text);

/* emit_c_conditions.c: vectors of conditions, operands and results */
/* A temporary as an operand beside vectors whose lanes have so many bytes. */
const char *emit_c_mask_of(EmitC *e, int temp, int bytes, EmitLevel level);
/* The same as a vector of 0 and -1, whatever it is; lanes of 1 byte where masks
 * are bits. */
const char *emit_c_mask_vector(EmitC *e, int temp, int bytes);
/* As an integer with a bit for each of 8 to 64 lanes, the first the lowest. */
const char *emit_c_mask_word(EmitC *e, int temp);
void emit_c_mask_insert(EmitC *e, int temp, int64_t lane, const char *value);
/* A comparison of numbers as dst's masks. */
void emit_c_assign_compared(
    EmitC *e, int dst, LowOpcode op, DType type, const char *a, const char *b);
/* `vector`, of numbers of a type's storage, != 0, as dst's masks. */
void emit_c_assign_not_zero(EmitC *e, int dst, DType type, const char *vector);

/* emit_c_masks.c: their macros */
/* The macro that puts one condition into all lanes, -1 or 0. */
const char *emit_c_mask_splat(EmitC *e, const char *mask, int lanes);
/* The macro of the lanes below a number. */
const char *emit_c_lanes_below(EmitC *e, const char *mask, int lanes);
/* Such a mask as a mask register: clang 14 makes shuffles of the choices by bits
 * that it knows. */
const char *emit_c_mask_hidden(EmitC *e, int lanes, const char *mask);
/* A macro's parameter `m` as such a vector, of lanes of so many bytes. */
const char *emit_c_mask_in(EmitC *e, int bytes, int lanes);
/* Macros between bits and such vectors of bytes. */
const char *emit_c_mask_lanes(EmitC *e, int lanes);
const char *emit_c_mask_of_lanes(EmitC *e, int lanes);

/* emit_c_macros.c */
/* Name of the macro that does an operation on vectors of this shape, defined
 * on first use.  `to` matters to CONVERT, and is DT_BOOL for a GATHER, a SCATTER
 * or a SCALE with a mask (else it is `type`); of DOT `type` and `to` are those of
 * its operands; AND is of a mask and numbers; `math` matters to MATH, and is OP_INT where the indices of a
 * GATHER or a SCATTER have 32 bits; MUL and FMA of i32 are of factors that have 16
 * bits, those of one not negative. */
const char *emit_c_macro(EmitC *e, LowOpcode op, Op math, DType type, DType to,
    int lanes);
/* The same of an FMA that adds to what it is assigned to, in its register. */
const char *emit_c_sum_macro(EmitC *e, DType type, int lanes);
/* What ops.def says of a function, C(exp)(x), with a suffix to its name. */
const char *emit_c_function(EmitC *e, Op math, const char *suffix,
    const char *a, const char *b);
/* Expressions over scalars. */
const char *emit_c_math(
    EmitC *e, Op math, DType type, const char *a, const char *b);
const char *emit_c_dot(EmitC *e, const Intrinsic *in, const char *a,
    const char *b, const char *c, const char *first);
const char *emit_c_fma(EmitC *e, DType type);
const char *emit_c_scale(EmitC *e, DType type, const char *a, const char *b,
    const char *mask);
const char *emit_c_convert(EmitC *e, DType from, DType to, const char *a);
/* Of a vector: between integers, or to f64. */
const char *emit_c_convert_vector(
    EmitC *e, DType from, DType to, int lanes, const char *a);
/* A vector of 0 and -1 in lanes of `from` bytes, as one with lanes of `to`. */
const char *emit_c_resized(
    EmitC *e, const char *mask, int from, int to, int lanes);
const char *emit_c_comparison(LowOpcode op); /* "<=" */
/* A comparison of two vectors of numbers, or its opposite; it binds as LEVEL_UNARY. */
const char *emit_c_compared(EmitC *e, LowOpcode op, DType type, int lanes,
    bool opposite, const char *a, const char *b);

/* emit_c_x86.c */
/* An expression over a macro's parameters, by an intrinsic; NULL: none. */
const char *emit_c_x86(EmitC *e, LowOpcode op, Op math, DType type, DType to,
    int lanes);
/* A vector of any type as one of integers that instructions take: 4 or 8 bytes
 * lie at the beginning of 16, and before anything: gcc would clear that. */
const char *emit_c_x86_words(EmitC *e, int bytes, const char *operand);
/* The `target` attribute's features: "avx2,fma"; "" for the baseline. */
const char *emit_c_x86_features(Arena *arena, const EmitIsa *isa);
/* A condition: compilers that know all of it. */
const char *emit_c_x86_compilers(const EmitIsa *isa);
EmitIsa emit_c_isa(const Target *target, Numerics numerics);

/* emit_c_shuffle.c: lanes of a, which has `source`, and behind it b, unless there is
 * only one, by intrinsics where the compilers of *known need them, else NULL. */
const char *emit_c_x86_shuffle(EmitC *e, const int *lane, int lanes, int source,
    int bytes, bool floats, bool one, const char **known);
/* Of bytes that are made words: what puts them together, where one macro does both;
 * NULL: it does not. */
const LowNode *emit_c_widened(EmitC *e, const LowNode *n);
const char *emit_c_widening_shuffle(
    EmitC *e, const LowNode *put, const LowTemp *to);

/* emit_c_pack.c: what an integer's conversion to fewer bytes clamps before, where one
 * macro does both; -1: it does not */
int emit_c_pack_source(EmitC *e, const LowNode *n);
/* What it takes a remainder of that has all the bits which are left; -1 */
int emit_c_low_bits_source(EmitC *e, const LowNode *n);
const char *emit_c_pack(EmitC *e, DType from, DType to, int lanes);

/* emit_c_ops.c */
void emit_c_op(EmitC *e, const LowNode *node);

/* emit_c_headers.c */
/* The beginning of a file's comment, up to "conv2d:c6". */
void emit_c_title(Buf *out, const Program *p);
/* The opening comment of a file, of the .c and the header. */
void emit_comment(Buf *out, const Lowered *const *lowered, int n,
    const EmitComment *comments);
/* What the file includes and its functions are told, behind that. */
void emit_c_headers(EmitC *e, Buf *out);

/* emit_c.c */
/* "const float *data", without the name's comma; shared with the header. */
void emit_c_signature(Buf *out, const LowFunction *f, const char *const *names);
/* emit_header.c: what parameters are called where others read it; the function
 * that launches a kernel on a stream of CUDA's, a queue of OpenCL's */
const char **emit_header_names(Arena *arena, const LowFunction *f);
const char *emit_header_stream(Arena *arena, const LowFunction *f,
    const char *const *names, TargetKind kind);
void emit_header_launcher(Buf *out, const LowFunction *f,
    const char *const *names, const char *stream, TargetKind kind);

#endif
