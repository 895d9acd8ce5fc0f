/* What the files of the C emitter share.
 *
 *     emit_c.c         functions, loops, declarations, parallel regions
 *     emit_c_scope.c   names, places of declarations, widths of masks
 *     emit_c_ops.c     one operation: a statement
 *     emit_c_types.c   vector types and helpers, written once where needed
 *     emit_c_macros.c  vector operations that C has no operator for
 *     emit_c_x86.c     those that x86 has an intrinsic for */
#ifndef CODEGEN_EMIT_C_H
#define CODEGEN_EMIT_C_H

#include "codegen/codegen.h"

/* What the C may rely on; wider and other vectors are generic. */
typedef struct {
	bool plain;   /* target `c`: scalar C11, no extension */
	bool x86;     /* intrinsics, where the compiler is one for x86-64 */
	bool avx, avx2, fma, f16c, avx512, vnni;
} EmitIsa;

typedef VEC(const char *) EmitNames;

typedef struct {
	Arena *arena;
	EmitIsa isa;
	/* Written in any order, put out one after the other. */
	Buf prelude;      /* types and helpers */
	Buf regions;      /* bodies of parallel loops, before their function */
	Buf code;         /* functions */
	EmitNames have;   /* what the prelude defines */
	bool math;        /* <math.h> is needed */
	bool omp;         /* there is a parallel region */
	bool apart;       /* TUNEC_APART is used */
	bool conditional; /* something may be read or not, element by element */

	/* The function at hand. */
	bool (*reserved)(const char *name); /* what nothing is called */
	const LowFunction *f;
	Buf *out;         /* &code or &regions */
	int depth;        /* tabs */
	const char **param, **buffer, **temp; /* their names in C */
	int *mask_bytes;  /* of a bool vector temporary: width of a lane */
	bool *declared;   /* temporary: already in scope */
	const LowBody **scope; /* innermost body with all uses; NULL: unused */
	bool *starts;     /* its first use is an assignment in `scope` itself */
	bool *is_read;    /* somewhere */
	bool *is_assigned;
	const LowNode **constant; /* its one assignment, of a CONST; or NULL */
	bool in_region;   /* `thread` and `threads` exist */
	int nregions;
	bool streams;     /* a streaming store was written in this function */
} EmitC;

/* emit_c_scope.c */
void emit_c_prepare(EmitC *e, const LowFunction *f);
/* The buffer is a parameter as it is. */
bool emit_c_is_argument(const LowFunction *f, const LowBuffer *b);
/* Means something else to a compiler or to the emitted file. */
bool emit_c_reserved(const char *name);

/* emit_c_types.c */
int emit_c_lane_bytes(const EmitC *e, int temp);
/* The C type of a temporary, of a vector of a dtype's storage, of masks. */
const char *emit_c_type(EmitC *e, int temp);
const char *emit_c_vector(EmitC *e, DType type, int lanes);
const char *emit_c_vector_unsigned(EmitC *e, int lane_bytes, int lanes);
const char *emit_c_mask(EmitC *e, int lane_bytes, int lanes);
/* A vector of masks with lanes of `from` bytes, as one with lanes of `to`. */
const char *emit_c_resized(
    EmitC *e, const char *mask, int from, int to, int lanes);
/* The same type for any address: unaligned, aliasing everything. */
const char *emit_c_unaligned(EmitC *e, const char *vector);
/* Names of a helper, defined on first use. */
const char *emit_c_splat(EmitC *e, const char *vector);
const char *emit_c_iota(EmitC *e, const char *vector);
const char *emit_c_floordiv(EmitC *e, DType type, bool remainder);
const char *emit_c_saturate(EmitC *e, DType from, DType to);
const char *emit_c_half(EmitC *e, DType from, DType to);
const char *emit_c_below(EmitC *e);
/* True once for each key: then its text is to be added to the prelude. */
bool emit_c_first(EmitC *e, const char *key);
char *emit_c_upper(EmitC *e, const char *text);

/* emit_c_macros.c */
/* Name of the macro that does an operation on vectors of this shape, defined
 * on first use.  `to` matters to CONVERT, and is DT_BOOL for a GATHER, a
 * SCATTER or a SCALE with a mask (else it is `type`); of DOT `type` and `to` are those of
 * its operands; `math` matters to MATH. */
const char *emit_c_macro(EmitC *e, LowOpcode op, Op math, DType type, DType to,
    int lanes);
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

/* emit_c_x86.c */
/* An expression over a macro's parameters, by an intrinsic; NULL: none. */
const char *emit_c_x86(EmitC *e, LowOpcode op, Op math, DType type, DType to,
    int lanes);
/* The `target` attribute's features: "avx2,fma"; "" for the baseline. */
const char *emit_c_x86_features(const EmitIsa *isa);
EmitIsa emit_c_isa(const Target *target);

/* emit_c_ops.c */
void emit_c_op(EmitC *e, const LowNode *node);
/* k of a temporary that is the constant 2^k, else -1. */
int emit_c_power_of_two(const EmitC *e, int temp);
const char *emit_c_comparison(LowOpcode op); /* "<=" */
/* The shortest literal that reads back the same. */
const char *emit_c_float(EmitC *e, DType type, double value);

/* emit_c.c */
void emit_c_line(EmitC *e, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
const char *emit_c_affine(EmitC *e, const LowAffine *a);
/* "float x" where x is declared by this assignment, else "x". */
const char *emit_c_place(EmitC *e, int temp);
/* "const float *data", without the name's comma; shared with the header. */
void emit_c_signature(Buf *out, const LowFunction *f, const char *const *names);
/* emit_header.c: what parameters are called where others read it; the function
 * that launches a kernel on a stream of CUDA's, a queue of OpenCL's */
const char **emit_header_names(Arena *arena, const LowFunction *f);
const char *emit_header_stream(Arena *arena, const LowFunction *f,
    const char *const *names, TargetKind kind);
void emit_header_launcher(Buf *out, const LowFunction *f,
    const char *const *names, const char *stream, TargetKind kind);
/* The beginning of a file's comment, up to "conv2d:c6". */
void emit_c_title(Buf *out, const Program *p);
/* The opening comment of a file, of the .c and the header. */
void emit_comment(Buf *out, const Lowered *const *lowered, int n,
    const EmitComment *comments);

#endif
