/* The program: what to compute, for one case of one spec.
 *
 * A definition is what the file says, reductions nested anywhere.  A block is
 * one perfect nest: spatial axes, reduction axes, one reduction operator at
 * most and a body without reductions.  Each definition becomes one block, and
 * one more for each reduction that is not the whole right-hand side (or whose
 * accumulator has another dtype than the definition): those are named
 * "out~1", "out~2"… after the definition, in written order, and write buffers
 * of the same name.  A hoisted reduction under a condition on axes keeps it as
 * `if condition then element else identity`, unless the condition would add an
 * axis and the reads are in bounds without it.  What would be computed again is
 * a block, too, see spec_share.c.  argmax and argmin are blocks of
 * max and min, see spec_blocks.c. */
#ifndef IR_PROGRAM_H
#define IR_PROGRAM_H

#include "ir/expr.h"
#include "lib/status.h"

typedef enum { BUFFER_INPUT, BUFFER_TEMP, BUFFER_OUTPUT } BufferRole;

typedef struct {
	const char *name;
	DType type;
	int ndim;         /* 0: a scalar */
	int64_t *shape;   /* elements, each at least 1, row-major */
	BufferRole role;
	bool is_const;    /* inputs only */
	bool once;        /* is compared with what was computed from it: is
			     never computed in two places */
	bool kept;	  /* so is, or has the same bits anywhere, all that it
			     is computed from (spec_blocks.c) */
	int block;        /* that writes it; -1 for inputs */
	Span span;
} Buffer;

typedef struct {
	const char *name;
	int64_t extent; /* at least 1 */
	bool reduce;
} Axis;

typedef struct {
	const char *name;
	int buffer;
	int naxes, nspatial; /* spatial axes first, reduction axes in written order */
	Axis *axes;
	Expr *body; /* may hold OP_REDUCE */
	int64_t flops;
	Span span;
} Definition;

typedef struct {
	const char *name;
	int buffer; /* written at its spatial axes, in order */
	int naxes, nspatial;
	Axis *axes;
	ReduceOp reduce; /* REDUCE_NONE: naxes == nspatial */
	Expr *body;      /* the element of the reduction, or the value */
	int definition;  /* that it came from */
} Block;

typedef struct {
	const char *name;
	int64_t value;
	bool is_float; /* then the value is in `real` */
	double real;
} Param;

typedef enum { NUMERICS_DEFAULT, NUMERICS_EXACT, NUMERICS_FAST } Numerics;

typedef struct Program Program;
struct Program {
	const Source *source;
	const char *name;      /* of the operator */
	const char *case_name; /* "" for the bare params */
	const char *symbol;    /* name, or name_case */
	const char *doc;       /* "" if none */
	Numerics numerics;
	double weight;

	int nparams;
	Param *params;
	int nbuffers;
	Buffer *buffers; /* inputs first, in the file's order */
	int ninputs;
	int noutputs;
	int *outputs; /* buffers, in the order of `outputs:` */
	int ndefinitions;
	Definition *definitions; /* in the file's order; producers come first */
	int nblocks;
	Block *blocks; /* producers come first */

	int64_t flops, bytes; /* as language.md counts them */
	char *op_text; /* canonical text */
	char op[65];   /* its SHA-256 */
	/* canonical names for records, by definition and axis: "d0", "a1", "r0" */
	int *canonical_definition; /* definition -> k of dk; -1 where unused */

	const char *schedule_text; /* the `schedule:` block; NULL if none */
	Span schedule_span;

	/* of a part: what it was cut from, and by buffer which of that */
	const Program *whole; /* NULL: it is no part */
	const int *of_whole;
};

/* spec.c: a file, its cases, its programs */
typedef struct Spec Spec;

typedef struct {
	const char *name;
	Span span;
	double weight; /* 1 unless `weights` says more */
} SpecCase;

typedef struct {
	const char *name, *value; /* -D NAME=EXPR */
} SpecDefine;

/* Reads and checks what does not depend on a case.  NULL and messages in diag
 * if it cannot be used.  The spec and its programs live in the arena; `text`
 * must live as long. */
Spec *spec_parse(Arena *arena, const Source *source, Diag *diag);
int spec_ncases(const Spec *spec);
const SpecCase *spec_case(const Spec *spec, int i);
const char *spec_name(const Spec *spec);
/* The program of a case (NULL or "": the bare params).  NULL and messages in
 * diag if it is not accepted: types, bounds, params. */
Program *spec_program(Arena *arena, Spec *spec, const char *case_name,
    const SpecDefine *defines, int ndefines, Numerics numerics, Diag *diag);

/* spec_lex.c: can a kernel's C function have the name?  Else why not. */
bool name_symbol_valid(const char *text, const char **why);
/* May a C compiler or a header of the C library have it as a macro, which would
 * stand for a variable of that name? */
bool name_is_macro(const char *text);

/* spec_reduced.c: the same operator with its params divided, but none below some
 * size; NULL where it has none, or they do not go together. */
Program *program_reduced(
    Arena *arena, const Program *program, int64_t divisor);

/* Reads PATH[:CASE] as language.md says (last colon counts, "-" is standard
 * input, no case means every case, or the bare params).  Appends a program for
 * each.  On failure messages are in diag or error. */
typedef VEC(Program *) ProgramVec;
Status spec_load(Arena *arena, const char *argument, const SpecDefine *defines,
    int ndefines, Numerics numerics, Diag *diag, Error *error,
    ProgramVec *programs);

/* The same, one program after another, each in an arena that dies when `visit`
 * returns: a file may have tens of thousands of cases.  `program` is NULL where
 * one was not accepted; false from `visit` ends it. */
typedef bool ProgramVisit(Arena *arena, Program *program, void *context);
Status spec_each(const char *argument, const SpecDefine *defines, int ndefines,
    Numerics numerics, Diag *diag, Error *error, ProgramVisit *visit,
    void *context);

/* program_print.c: show --stage=ir, definitions and blocks */
void program_print(Buf *out, const Program *program);
/* An expression of a definition or block, with the names of its axes. */
void expr_print(Buf *out, const Program *program, const Axis *axes, const Expr *e);

/* expr_print.c: an expression with the names of the caller's choice. */
typedef struct ExprNames ExprNames;
struct ExprNames {
	void (*buffer)(Buf *out, const ExprNames *names, int buffer);
	void (*axis)(Buf *out, const ExprNames *names, int axis);
	/* what stands in nests only: VAR, TAPE; may be NULL elsewhere */
	void (*other)(Buf *out, const ExprNames *names, const Expr *e);
	bool typed;  /* constants with their type, everything in parentheses */
	bool spaced; /* a * b, where it would be a*b */
	const Program *program;
	const void *context;
	const Axis *axes;
	int nspatial;
};
void expr_print_names(Buf *out, const ExprNames *names, const Expr *e);
/* The shortest decimal that reads back as the value. */
void print_double(Buf *out, double value);

/* program_verify.c: an internal consistency check of definitions and blocks,
 * for tests and debug builds.  False and a reason. */
bool program_verify(const Program *program, char *why, size_t size);

/* program_part.c: the program cut into n parts, each a program of its own that
 * reads what others write as inputs; part_of[] by block, none empty, and no part
 * may need what needs it.  names[] tell them apart for people. */
Program **program_parts(Arena *arena, const Program *whole,
    const int *part_of, const char *const *names, int n);
/* Where a definition stands in the canonical text. */
int program_rank(const Program *program, int definition);
/* Fills flops and bytes from definitions and buffers. */
void program_count(Program *program);

/* canonical.c: fills op_text, op and canonical_definition */
void canonical_text(Arena *arena, Program *program);
/* canonical_read.c: the operator of such a text, in the names that it has there;
 * NULL where there is none, or it is written in another way today. */
Program *canonical_read(Arena *arena, const char *op_text);

/* interp.c: the truth.  `data[buffer]` points at the elements of each buffer,
 * row-major (f16 and bf16 as uint16_t, bool as uint8_t); inputs are read, all
 * others are written.  Bounds are checked by assertion. */
void interp_run(const Program *program, void *const *data);
/* One element of a buffer, at `index`, recomputed from the inputs alone (memo
 * on demand); written to `element` in the buffer's type. */
void interp_point(const Program *program, void *const *inputs, int buffer,
    const int64_t *index, void *element);

/* The same, given up when `stop` says so, which it is asked every few elements
 * that are recomputed: false, and nothing is written. */
bool interp_point_unless(const Program *program, void *const *inputs,
    int buffer, const int64_t *index, void *element,
    bool (*stop)(void *context), void *context);

/* exact.c: the same program with every float an f64, for the interpreter. */
Program *program_exact(Arena *arena, const Program *program);

/* program_nan.c: may a right kernel have a number where the program as it stands
 * has NaN? */
bool program_may_hide_nan(const Program *program);

/* Of the axes from `first` to before `end`. */
double block_points(const Block *block, int first, int end);
double block_steps(const Block *block); /* of its reduction */
double block_work(const Block *block);	/* steps of all its results */
int64_t *block_extents(Arena *arena, const Block *block); /* of its axes */
/* Has it a reduction of more than one step? */
bool block_reduces(const Block *block);
int64_t buffer_elements(const Buffer *buffer);
int64_t buffer_bytes(const Buffer *buffer);

#endif
