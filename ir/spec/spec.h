/* What the files of the spec reader share.  Each stage is one file:
 *
 *     spec_yaml.c    text -> SpecDoc: YAML's scalars and where they stand
 *     spec_lex.c     a scalar -> tokens
 *     spec_parse.c   tokens -> Node, one tree for each expression
 *     spec_hints.c   what people write first, for messages
 *     spec_names.c   names and scopes; what is defined, read and used
 *     spec_types.c   Node -> Expr, for the params of one case
 *     spec_params.c  arithmetic on numbers, exact; params
 *     spec_bounds.c  the proof that reads are in bounds
 *     spec_blocks.c  definitions -> blocks
 *     spec_line.c    indices over an interval of one axis, for extents
 *     spec_flops.c   counts
 *     spec_cost.c    sums of these below extents that vary
 *     spec_report.c  messages
 *     spec_collect.c the document's entries -> declarations
 *     spec_program.c the program of one case
 *     spec.c         a spec, its cases; PATH:CASE */
#ifndef IR_SPEC_H
#define IR_SPEC_H

#include "ir/program.h"
#include "ir/summary.h"
#include "lib/alike.h"
#include "lib/lookup.h"
#include "lib/interval.h"

/* --- messages ---------------------------------------------------------------- */

enum {
	SPEC_ERRORS_MAX = 50,    /* then one run says no more */
	SPEC_NESTING_MAX = 256,
	SPEC_AXES_MAX = 1024, /* in scope at one place */
	SPEC_CHAIN_MAX = 2000,   /* operands of one `a + b + c…` */
	SPEC_SIZE_MAX = 1 << 20,
	NAME_SIZE_MAX = 63
};

typedef VEC(uint64_t) HashVec;

/* Where messages go; one for each text that is read. */
typedef struct {
	const Source *source;
	Diag *diag;
	HashVec *said; /* hashes of messages; a second one is not shown */
	Arena *arena;
	bool failed; /* an error was reported, whether it was shown or not */
	bool quiet;  /* the last message was not shown: nor are its notes */
} Report;

void report_error(Report *report, Span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void report_warning(Report *report, Span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* What belongs to the message before. */
void report_note(Report *report, Span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The text of a span as one line, shortened if it is long. */
const char *report_quote(Report *report, Span span);
bool report_full(const Report *report); /* SPEC_ERRORS_MAX is reached */

/* --- the document ------------------------------------------------------------ */

/* A YAML scalar.  `text` is the value.  Where `direct`, the bytes of `inside`
 * in the source are the value up to white space, so that an offset in one is an
 * offset in the other. */
typedef struct {
	const char *text; /* NULL: absent */
	size_t size;
	Span span;   /* with quotes or the block's header */
	Span inside; /* without */
	bool direct, literal;
} YamlScalar;

typedef struct {
	YamlScalar key, value;
} DocEntry;
typedef VEC(DocEntry) DocMap;

typedef struct {
	YamlScalar name;
	DocMap overrides;
} DocCase;

typedef struct {
	YamlScalar format, name, doc, compute, schedule;
	DocMap params, inputs, weights;
	VEC(YamlScalar) outputs;
	Span outputs_span; /* empty where there is no such key */
	VEC(DocCase) cases;
} SpecDoc;

/* spec_yaml.c: false where the text is no YAML document; messages in report. */
bool doc_read(Arena *arena, Report *report, SpecDoc *doc);

/* --- tokens ------------------------------------------------------------------ */

typedef enum {
#define TOKEN(name, spelled) TOKEN_##name,
#include "ir/spec/tokens.def"
#undef TOKEN
	TOKEN_COUNT
} TokenKind;

typedef struct {
	uint8_t kind;
	uint8_t id;       /* DTYPE: DType; FUNCTION: Op; REDUCE: ReduceOp */
	bool first;       /* on its line */
	uint32_t begin, end; /* in the text */
	uint32_t match;   /* of '[': its ']', or 0 */
} Token;

typedef struct {
	const char *text;
	size_t size;
	size_t offset;  /* of text in the source */
	bool direct;    /* else every span is `whole` */
	Span whole;
	Token *at;      /* ends with TOKEN_END */
	int n;
} Tokens;

/* spec_lex.c; spec_libc.c */
Tokens lex_scalar(Arena *arena, Report *report, const YamlScalar *scalar);
Span token_span(const Tokens *tokens, const Token *token);
const char *token_spelled(TokenKind kind);
/* A NAME of the language?  Else why not. */
bool name_valid(const char *text, size_t size, const char **why);
/* An identifier of the C library, or main? */
bool name_in_libc(const char *text);

/* --- hints ------------------------------------------------------------------- */

/* spec_hints.c: what to write for a word of another language; or NULL */
const char *hint_function(const char *word);
const char *hint_reduction(const char *word);
const char *hint_dtype(const char *word);
const char *hint_value(const char *word);
/* The length of a sign of another language that the text begins with, and what
 * to write for it; 0: it begins with none. */
size_t hint_sign(const char *text, size_t size, const char **write);
/* What is to be said of a character that is none of the language. */
const char *hint_character(char c);

/* --- trees ------------------------------------------------------------------- */

typedef struct Symbol Symbol;
typedef struct SpecName SpecName;

/* A name, once; what it means where the reader is now. */
struct SpecName {
	const char *text;
	SpecName *next;  /* in its bucket */
	Symbol *symbol;  /* param, input or definition in scope */
	int axis;        /* axis in scope, + 1; 0: none */
	bool later;      /* some definition has this name */
};

enum { NAME_BUCKETS = 4096 };

typedef struct {
	Arena *arena;
	SpecName *bucket[NAME_BUCKETS];
} NameTable;

SpecName *name_intern(NameTable *table, const char *text, size_t size);

typedef enum {
	NODE_BAD, /* a message has been given */
	NODE_INT,
	NODE_FLOAT,
	NODE_NAME,   /* param or axis */
	NODE_READ,
	NODE_UNARY,
	NODE_BINARY, /* comparisons, and, or too */
	NODE_CALL,
	NODE_CAST,
	NODE_REDUCE,
	NODE_IF
} NodeKind;

typedef struct Node Node;

typedef struct {
	SpecName *name;
	Span span; /* of the name */
	Node *extent;
	bool varies; /* the extent uses axes in scope; set by spec_names.c */
} AxisNode;
typedef VEC(AxisNode) AxisNodes;

struct Node {
	NodeKind kind;
	Op op;            /* UNARY BINARY CALL */
	DType type;       /* CAST */
	ReduceOp reduce;
	int height;
	int size; /* nodes, the middle of a < b < c counted twice */
	bool seen; /* by spec_names.c */
	Span span, outer; /* outer has the parentheses around it */
	int64_t i;        /* INT */
	double f;         /* FLOAT */
	SpecName *name;   /* NAME READ */
	int narg;
	Node **arg;
	AxisNodes axes;   /* REDUCE */
	/* set by spec_names.c */
	Symbol *symbol;   /* NAME: the param, or NULL; READ */
	int axis;         /* NAME: axis of the definition; REDUCE: the first */
};

typedef struct {
	bool is_const;
	DType type;
	VEC(Node *) shape;
	bool bad;
} TypeNode;

typedef struct {
	SpecName *name;
	Span span;      /* of the name */
	Span head;      /* name, axes and dtype */
	AxisNodes axes; /* spec_names.c appends those of reductions */
	int nspatial;
	bool declared;  /* has a dtype */
	DType type;
	Node *body;
	Symbol *symbol;
	VEC(Symbol *) reads; /* set by spec_names.c; may repeat */
	bool bad, used, output;
} DefinitionNode;
typedef VEC(DefinitionNode) DefinitionNodes;

/* spec_parse.c */
Node *parse_expression(
    Arena *arena, Report *report, NameTable *names, const YamlScalar *scalar);
TypeNode parse_type(
    Arena *arena, Report *report, NameTable *names, const YamlScalar *scalar);
void parse_definitions(Arena *arena, Report *report, NameTable *names,
    const YamlScalar *scalar, DefinitionNodes *definitions);

/* --- the spec ---------------------------------------------------------------- */

typedef enum { SYMBOL_PARAM, SYMBOL_INPUT, SYMBOL_DEFINITION } SymbolKind;

struct Symbol {
	SymbolKind kind;
	int index; /* in the spec's params, inputs or definitions */
	SpecName *name;
	int ndim;  /* of a buffer */
	bool bad;  /* a message has been given; reads of it give no more */
};

typedef struct {
	Symbol *symbol;
	Span span; /* of the name */
	Node *value;
} ParamNode;

typedef struct {
	Symbol *symbol;
	Span span;
	TypeNode type;
	Span type_span;
} InputNode;

typedef struct {
	int param;
	Node *value;
	Report *report; /* of the text that it stands in */
} Override;
typedef VEC(Override) Overrides;

typedef struct {
	SpecCase face;
	Overrides overrides;
} CaseNode;

struct Spec {
	Arena *arena;
	Report report;
	SpecDoc doc;
	NameTable names;
	VEC(ParamNode) params;
	VEC(InputNode) inputs;
	DefinitionNodes definitions;
	VEC(int) outputs; /* definitions */
	VEC(CaseNode) cases;
	Lookup case_names; /* in `cases` */
	HashVec said;
};

/* spec_collect.c: declarations from the document; then, after names_resolve,
 * outputs and what they need. */
void collect_document(Spec *spec);
void collect_outputs(Spec *spec);
void collect_used(Spec *spec);
Alike spec_param_alike(const Spec *spec, const char *name);

/* spec_names.c: declares and resolves everything. */
void names_resolve(Spec *spec);
/* An expression over the params before number `before`. */
void names_resolve_param(Spec *spec, Report *report, Node *value, int before);

/* --- numbers ----------------------------------------------------------------- */

typedef struct {
	bool is_float;
	int64_t i;
	double f;
} Number;

double number_double(Number a);
/* spec_params.c: false and a reason where the result is no number. */
bool number_unary(Op op, Number a, Number *result, const char **why);
bool number_binary(Op op, Number a, Number b, Number *result, const char **why);
bool number_call(Op op, const Number *args, Number *result, const char **why);
bool number_compare(Op op, Number a, Number b);
/* As a cast converts it. */
Number number_cast(DType type, Number a);
/* The constant of a type that a number becomes without a cast; NULL and a
 * reason where the type cannot hold it. */
Expr *number_take(Arena *arena, DType type, Number a, const char **why);

/* --- bounds ------------------------------------------------------------------ */

typedef struct Bounds Bounds;

/* spec_bounds.c: what is known at a place of one definition. */
Bounds *bounds_new(Arena *arena, const Axis *axes);
/* Facts of a condition that held (or not) from now on; undone by
 * bounds_forget(the mark before). */
int bounds_mark(const Bounds *bounds);
void bounds_assume(Bounds *bounds, const Expr *condition, bool truth);
void bounds_forget(Bounds *bounds, int mark);
/* The range of an index; false and a reason where it is none.  Of a range that
 * is inside `enough` (may be NULL) it need not be the narrowest one that facts
 * prove. */
bool bounds_range(Bounds *bounds, const Expr *index, const Interval *enough,
    Interval *range, const char **why);

/* --- types ------------------------------------------------------------------- */

/* Sums over points below extents that vary: definitions that are alike (layers
 * of a network are) are summed once. */
typedef struct {
	int64_t steps_left;
	Lookup known; /* from a cost, as text, to its place in `sums` */
	VEC(int64_t) sums;
} FlopsSums;

/* One case: its params, and the program as it grows. */
typedef struct {
	Arena *arena;
	Spec *spec;
	Report *report;
	Program *program;
	Number *params;
	bool *param_known; /* false: a message has been given */
	int nparams;
	/* of the definition at hand */
	Definition *definition;
	Bounds *bounds;
	Expr **limits; /* by axis: the extent that varies; else NULL */
	Summaries *seen; /* of these */
	int64_t *point;	 /* by axis: room for line_most */
	int *buffer; /* of inputs, then definitions; -1: none */
	/* what the case may still spend on extents that vary: intervals to
	 * find the greatest, steps to count what lies below them */
	int64_t intervals_left;
	FlopsSums flops;
} Typer;

/* spec_types.c.  `program->buffers` holds what may be read, `buffer[i]` that of
 * input i, `buffer[inputs + i]` that of definition i.  For type_body,
 * `definition` has all axes with their extents, those of reductions too,
 * `bounds` is new, of these axes, and `limits` are the extents that vary. */
/* A number over params; false after a message. */
bool type_number(Typer *typer, Node *node, Number *result);
/* An extent, at least 1; 1 after a message (then *bad is set). */
int64_t type_extent(Typer *typer, Node *node, bool *bad);
/* The extent of a reduction's axis that uses other axes, and the greatest value
 * of it, at least 1; NULL after a message. */
Expr *type_limit(Typer *typer, Node *node, int64_t *greatest);
/* The right-hand side, converted to the declared dtype if there is one; NULL
 * after a message. */
Expr *type_body(Typer *typer, const DefinitionNode *definition);

/* spec_blocks.c: appends the blocks of a typed definition, number `number`, and
 * the buffers of reductions in it.  Its own buffer is there; `block` is set. */
typedef VEC(Buffer) BufferVec;
typedef VEC(Block) BlockVec;
void blocks_of_definition(Arena *arena, const Definition *definition,
    int number, BufferVec *buffers, BlockVec *blocks);

/* spec_share.c: what would be computed again becomes a block, once all that the
 * outputs need are there. */
void blocks_share(Arena *arena, BufferVec *buffers, BlockVec *blocks);

/* spec_line.c: are all values from lo to hi `op` 0, or none of them?
 * False: it depends.  *truth: which of the two. */
bool compare_zero(Op op, Wide lo, Wide hi, bool *truth);
/* spec_line.c: the greatest value of an index over its axes, which is at most
 * `most`; `most` where there are too many points to look at.  *left are the
 * intervals that may be looked at in all, point[] has room for each axis. */
Wide line_most(Summaries *seen, const Expr *index, const Axis *axes,
    int64_t *point, Wide most, int64_t *left);

/* What a point costs: a number, and what extents decide that vary. */
typedef struct CostPart CostPart;
typedef struct {
	Wide fixed;
	CostPart *parts;
	int64_t period; /* of quotients and remainders in extents; 1: none */
} Cost;

/* A sum over an axis, or (axis -1) the dearer of two. */
struct CostPart {
	CostPart *next;
	int axis;
	const Expr *limit; /* the axis's extent; NULL: `extent` */
	int64_t extent;
	Cost cost[2];  /* of a point; of both arms */
	bool varies;   /* along the axis */
	IntVec others; /* axes that cost[0] depends on, without that one */
	IntVec needs;  /* the same of the whole */
};

/* spec_cost.c: the sum, INT64_MAX where it is past 64 bits; false where *left
 * steps were too few.  What is kept on the way lies in the arena. */
bool cost_sum(
    Arena *arena, const Cost *cost, int naxes, int64_t *left, int64_t *sum);

/* spec_flops.c: sets `flops`; `limits` are the extents of axes where these
 * depend on other axes, else NULL.  False where the points below them are too
 * many to be counted in the steps that are left. */
bool flops_of_definition(
    Arena *arena, Definition *definition, Expr *const *limits, FlopsSums *sums);

#endif
