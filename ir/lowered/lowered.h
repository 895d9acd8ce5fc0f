/* The lowered form: the only thing that emitters read and the interpreter runs.
 *
 * A function is a tree of loops, ifs and operations on temporaries.  All
 * decisions have been taken: unrolling, registers, vector widths, masks, fused
 * multiply-adds, threads, addresses.  An emitter prints it operation by
 * operation and decides nothing.
 *
 * A temporary is a scalar or a vector (lanes a power of two, at most 64).  It
 * may be assigned more than once (an accumulator carried through a loop); one
 * that is assigned once is defined where it is assigned.  It must be assigned
 * before it is read on every path; what is assigned in a loop body or an arm of
 * an `if` and read after it must have been assigned before it too.  A loop
 * variable is a scalar temporary of DT_INDEX that only its loop assigns.
 *
 * A parallel loop's iterations write no temporary that lives outside of it and
 * read of those outside only what is assigned once, and loop variables.
 * Emitters outline it; `lowered_captures` lists what it reads.  With T threads
 * thread t runs the iterations from t*E/T to (t+1)*E/T - 1.
 *
 * f16 and bf16 temporaries are only set, loaded, stored, copied, selected,
 * shuffled and converted; arithmetic is in f32.
 *
 * docs/lowered.md has every operation and rule. */
#ifndef IR_LOWERED_H
#define IR_LOWERED_H

#include "ir/expr.h"
#include "ir/intrinsic.h"
#include "ir/loop.h"
#include "ir/program.h"
#include "lib/lookup.h"

typedef enum {
#define LOWOP(name, args, result, memory) LOW_##name,
#include "ir/lowered/lowered.def"
#undef LOWOP
	LOW_COUNT
} LowOpcode;

/* What no lane of an index temporary ever leaves. */
typedef struct {
	bool known;
	int64_t least, most;
} LowRange;

typedef struct {
	const char *name; /* unique in the function, a C identifier */
	DType type;       /* DT_INDEX: 64-bit integer */
	int lanes;        /* 1: scalar */
	const char *wish; /* what it would be called if it had the name alone:
			     "conv.k0", a loop of conv's */
	LowRange range;   /* of DT_INDEX; see low_ranges */
	bool index;	  /* of another type, and stands for one of DT_INDEX */
} LowTemp;

/* constant + sum of coefficient * temporary (index scalars) */
typedef struct {
	int temp;
	int64_t coefficient;
} LowTerm;
typedef struct {
	int64_t constant;
	int n;
	LowTerm *terms;
} LowAffine;

typedef enum {
	LOWBUF_PARAM,     /* argument `param`, byte offset `offset` (packed pieces) */
	LOWBUF_WORKSPACE, /* workspace + offset + thread number * thread_bytes */
	LOWBUF_SHARED,    /* a GPU thread block's own */
	LOWBUF_LOCAL      /* a GPU thread's own */
} LowBufferKind;

typedef struct {
	const char *name; /* unique in the function, a C identifier */
	DType type;
	int64_t elements;
	LowBufferKind kind;
	int param;
	bool dynamic;         /* SHARED: lies at `offset` in what a launch gives
				 its blocks, not in what the kernel declares */
	int64_t offset;       /* bytes */
	int64_t thread_bytes; /* 0: one for all threads */
	int align;            /* bytes that the first element is aligned to */
	bool written;
} LowBuffer;

/* What a launch gives its blocks begins at a multiple of so many bytes. */
enum { LOW_SHARED_ALIGN = 1024 };

typedef struct LowNode LowNode;
typedef VEC(LowNode *) LowBody;

/* Threads of a block that have 32 consecutive numbers, x fastest, then y, z, and
 * four of these; a row of a matrix that a warp loads, in bytes. */
enum { LOW_WARP = 32, LOW_GROUP = 4 * LOW_WARP, LOW_MATRIX_ROW = FRAGMENT_ROW };

/* How an operand of a WGMMA lies (ir/intrinsic.h): across, elements to the next 64
 * rows or columns. */
typedef struct {
	bool across;
	int64_t next;
} LowTile;

typedef enum { LOWNODE_OP, LOWNODE_LOOP, LOWNODE_IF, LOWNODE_COMMENT } LowNodeKind;

struct LowNode {
	LowNodeKind kind;
	/* OP */
	LowOpcode op;
	int dst;        /* -1: none */
	int arg[3];     /* -1: none */
	int buffer;
	LowAffine address; /* elements */
	int source;        /* COPY_ASYNC: the buffer that is copied from, WGMMA:
			    * that has a, */
	LowAffine from;    /* from this element on */
	const LowTile *tiles; /* WGMMA: a's and b's */
	int64_t i;      /* CONST, EXTRACT, INSERT, PREFETCH, COPY_ASYNC, WAIT,
			 * WARP_XOR, LOAD_MATRIX, BARRIER; GATHER, SCATTER: how
			 * far the lanes of a or b are apart, 0: not known */
	double f;       /* CONST */
	Op math;        /* MATH */
	int *shuffle;   /* dst's lanes entries */
	/* LOOP: 0 <= var < min(extent, limit) */
	int var;
	int64_t extent;
	LowAffine *limit; /* NULL: none; may be below 0: no iteration */
	LoopKind loop;    /* SERIAL, PARALLEL, BLOCK_*, THREAD_*; never VECTOR or UNROLL */
	LowBody body;     /* also IF: then */
	/* IF */
	int condition;    /* bool scalar */
	LowBody other;    /* else */
	/* COMMENT; also LOOP: what it is, for who reads the code; or NULL */
	const char *comment;
};

typedef struct {
	const char *name; /* C identifier, as in the signature */
	DType type;
	bool is_const_input; /* packed: passed as const void * */
	bool output;
	bool workspace;      /* void *workspace */
} LowParam;

typedef enum { LOWFN_KERNEL, LOWFN_PACK } LowFunctionRole;

typedef struct {
	const char *name;      /* the C symbol */
	LowFunctionRole role;
	int pack_input;        /* PACK: which program buffer */
	VEC(LowParam) params;  /* KERNEL: inputs, outputs, workspace; PACK: the
				  input, then `packed` (output, as void *) */
	VEC(LowBuffer) buffers;
	VEC(LowTemp) temps;
	LowBody body;
	int nthreads;          /* of its parallel loops; 1: none is parallel */
	struct {
		Lookup params, buffers;
		int nparams, nbuffers; /* taken in by lowered.c */
	} names;
} LowFunction;

/* What a GPU runs at once: a function whose body is one nest of block and thread
 * loops, or what one thread does, and before it operations that it reads. */
typedef struct {
	LowFunction *function;      /* SYMBOL_k0 …; parameters as the kernel's */
	int64_t grid[3], block[3];  /* x, y, z; 1 where there is no loop */
	int64_t shared_bytes;       /* of a block */
	int64_t dynamic_bytes;      /* of these what the launch gives: all, where
				       they are more than a kernel may declare */
	int aligned; /* bytes: vectors of parameters that need only their elements'
			alignment are loaded or stored whole where all are aligned
			to that; worth asking once, at the start.  0: none are */
} LowLaunch;

typedef struct {
	Arena *arena;
	const Program *program;
	LowFunction *kernel;
	VEC(LowLaunch) launches; /* the kernel, cut for a GPU; else none */
	VEC(LowFunction *) packs; /* one for each const input, in order */
	int64_t workspace_bytes;
	int64_t *packed_bytes;    /* by const input, as packs */
} Lowered;

/* lowered.c: building */
int low_temp(Arena *arena, LowFunction *f, DType type, int lanes,
    const char *name_hint); /* made a unique identifier: hint_NUMBER */
/* Elements that a buffer takes with what follows it up to its alignment: those
 * that blocks share are so long, in whatever order they lie. */
int64_t low_buffer_whole(const LowBuffer *buffer);
int low_buffer_named(Arena *arena, LowFunction *f, const char *name); /* -1 */
LowNode *low_op(Arena *arena, LowBody *body, LowOpcode op, int dst, int a,
    int b, int c);
LowAffine low_affine_const(int64_t value);
/* a + scale_b*b, into memory for the terms of both. */
LowAffine low_affine_sum(LowTerm *terms, LowAffine a, LowAffine b, int64_t scale_b);
LowAffine low_affine_add(Arena *arena, LowAffine a, LowAffine b, int64_t scale_b);
bool low_affine_equal(LowAffine a, LowAffine b);
const char *low_op_name(LowOpcode op); /* "ADD" */
/* As lowered.def has it: */
int low_op_nargs(LowOpcode op);
bool low_op_has_result(LowOpcode op);
bool low_op_reads(LowOpcode op);  /* a buffer */
bool low_op_writes(LowOpcode op);
bool low_op_is_comparison(LowOpcode op);
bool low_op_has_buffer(LowOpcode op); /* any of these, or a hint */
bool low_op_has_source(LowOpcode op); /* a second one, which it reads */
bool low_op_is_warps(LowOpcode op); /* all threads of a warp do it at once */
bool lowered_has(const Lowered *lowered, LowOpcode op); /* in its kernel */
/* Of an MMA; NULL: there is none with these operands. */
const Intrinsic *low_fragment(const LowFunction *f, const LowNode *mma);
/* Of a WGMMA; NULL: there is none with these operands. */
const Intrinsic *low_warpgroup(const LowFunction *f, const LowNode *wgmma);
/* Has it one? */
bool low_has_op(const LowBody *body, LowOpcode op);
/* What every address of this form is a multiple of, in bytes, where the buffer
 * begins at a multiple of `align`; at most that. */
int64_t low_affine_align(const LowAffine *a, DType type, int64_t align);
/* Temporaries that a function reads; those defined outside of a loop, or of some
 * nodes, and read inside (a loop's limit included).  Each once, in the order of
 * first reading. */
void lowered_reads(Arena *arena, const LowFunction *f, IntVec *read);
void lowered_captures(
    Arena *arena, const LowFunction *f, const LowNode *loop, IntVec *captures);
void lowered_body_captures(
    Arena *arena, const LowFunction *f, const LowBody *body, IntVec *captures);

/* lowered_range.c: finds the ranges of all index temporaries (a GPU's kernels have
 * them).  An emitter may hold one that is narrow in 32 bits, signed, and do in 32
 * bits what has only such arguments and gives such a result; other operations
 * take 64, their narrow arguments extended by sign.  An affine sum that is narrow
 * may be added up in 32 bits in any order; with the bytes of an element as scale
 * it is the offset of an address, to be extended by sign once, where it is added
 * to the buffer's pointer. */
void low_ranges(LowFunction *f);
/* The same, by temporary, of a function that has none. */
const LowRange *low_ranges_of(Arena *arena, const LowFunction *f);
int low_ranges_wrong(const LowFunction *f); /* a temporary; -1: none */
bool low_temp_is_narrow(const LowFunction *f, int temp);
bool low_affine_is_narrow(const LowFunction *f, LowAffine a, int64_t scale);

/* How often each temporary is assigned, loops' variables too, added to `assigned`. */
void low_count_assigned(const LowBody *body, int *assigned);
/* By temporary: how often it is assigned, and the operation that alone does so;
 * NULL: a loop, none or several. */
typedef struct {
	int *assigned;
	const LowNode **only;
} LowDefs;
LowDefs low_defs(Arena *arena, const LowFunction *f);
/* The CONST that all lanes of a temporary are; NULL: they are something else. */
const LowNode *low_number(const LowDefs *defs, int temp);
/* Are all bits of such a number 0?  Not those of -0; NULL is none. */
bool low_is_zero(const LowNode *number, DType type);
/* The function without a body, with temporaries of its own. */
LowFunction *low_like(Arena *arena, const LowFunction *f);
bool low_is_operation(const LowNode *n); /* no loop, no condition */
/* Each temporary that an operation reads, as its argument `arg`, backwards: what
 * reads a temporary comes before what alone assigns it. */
void low_each_read(const LowBody *body,
    void (*see)(void *context, const LowNode *n, int arg), void *context);
/* The body appended to `out`, with each run of nodes that are `plain` as `run` puts
 * it there; loops and branches in between are copies, done so themselves. */
void low_each_run(Arena *arena, const LowBody *body,
    bool (*plain)(const LowNode *),
    void (*run)(void *context, LowNode **nodes, int n, LowBody *out),
    void *context, LowBody *out);

/* lowered_parts.c: the function with vectors of at most so many bytes (16 or more),
 * those of indices apart; itself where none is wider.  Numbers of temporaries stay. */
const LowFunction *low_parts(Arena *arena, const LowFunction *f, int bytes);

/* lowered_again.c: the function with numbers in all lanes read again where there
 * are more vectors than registers, of so many bytes. */
const LowFunction *low_again(
    Arena *arena, const LowFunction *f, int registers, int bytes);

/* lowered_order.c: the function with its operations in an order in which fewer
 * vectors are kept where there are more than registers, of so many bytes; of a
 * CPU. */
const LowFunction *low_order(
    Arena *arena, const LowFunction *f, int registers, int bytes);

/* lowered_interleave.c: the function with copies of one long chain of operations
 * side by side, as a processor can do them; of a CPU. */
const LowFunction *low_interleave(Arena *arena, const LowFunction *f);

/* lowered_narrow.c: the function with lanes of indices as i32 where they fit; of a
 * CPU. */
const LowFunction *low_narrow(Arena *arena, const LowFunction *f);

/* lowered_words.c: the function with what lies apart in vectors of at most so many
 * bytes, and is converted to as much, as parts of words. */
const LowFunction *low_split_words(
    Arena *arena, const LowFunction *f, int bytes);

/* lowered_known.c: the function with choices by masks that are known as shuffles. */
const LowFunction *low_choose_known(Arena *arena, const LowFunction *f);

/* lowered_choose.c: the function with choices made before integers are converted to
 * fewer bytes, where they fit into a vector of so many bytes. */
const LowFunction *low_choose_wide(
    Arena *arena, const LowFunction *f, int bytes);

/* lowered_wanted.c: the function without bits of lanes of integers that nothing
 * reads. */
const LowFunction *low_make_wanted(Arena *arena, const LowFunction *f);

/* lowered_joined.c: the function with vectors of at most so many bytes loaded as one
 * that were loaded one behind the other and joined. */
const LowFunction *low_load_joined(
    Arena *arena, const LowFunction *f, int bytes);

/* lowered_halves.c: the function with vectors of so many bytes loaded as halves that
 * only shuffles of half as many lanes read. */
const LowFunction *low_load_halves(
    Arena *arena, const LowFunction *f, int bytes);

/* lowered_sums.c: the function with long sums of integers added up by pairs, where
 * there are few of them. */
const LowFunction *low_pair_sums(Arena *arena, const LowFunction *f);

/* lowered_few.c: the function without lanes of vectors that are not stored, where a
 * number says how many are. */
const LowFunction *low_store_few(Arena *arena, const LowFunction *f);

/* lowered_stores.c: the function with each vector stored behind what computes the
 * next; nodes other than loops and branches are shared. */
const LowFunction *low_delay_stores(Arena *arena, const LowFunction *f);

/* lowered_print.c: show --stage=lowered */
void lowered_print(Buf *out, const Lowered *lowered);
void low_function_print(Buf *out, const LowFunction *f);

/* lowered_verify.c: types, definedness, lanes, captures.  False and a reason. */
bool lowered_verify(const Lowered *lowered, char *why, size_t size);
/* The same; LOW_SPLIT_LAUNCH: only loops of blocks or threads do not nest as
 * they have to, which the schedule decides. */
typedef enum { LOW_SOUND, LOW_UNSOUND, LOW_SPLIT_LAUNCH } LowVerdict;
LowVerdict lowered_verdict(const Lowered *lowered, char *why, size_t size);
bool low_function_verify(const LowFunction *f, char *why, size_t size);

/* Told what the interpreter does, as it does it. */
typedef struct {
	void *context;
	/* A lane loads or stores an element; -1: a mask has it off. */
	void (*access)(void *context, int buffer, int64_t element, bool write);
	/* An iteration of the loop of a variable starts, or the last ended. */
	void (*iteration)(void *context, int var, bool starts);
	/* A GPU's thread goes on, as far as the next barrier, or what its warp
	 * does together; may be NULL. */
	void (*thread)(void *context, int number);
} LowWatch;

/* lowered_run.c: the interpreter of the lowered form.  Bounds-checked; in race
 * mode it remembers which iteration of the parallel and thread-bound loops
 * wrote or read each element and reports two that conflict without a barrier. */
typedef struct {
	bool check_races;
	int64_t max_steps;      /* operations; 0: no limit */
	const LowWatch *watch;  /* NULL: nobody */
	/* results */
	int64_t op_count[LOW_COUNT]; /* executed, by opcode */
	int64_t
	    flops; /* lanes of ADD SUB MUL DIV MIN MAX NEG ABS, FMA two, DOT two a term, MATH one; comparisons and indices not */
	int64_t iterations;          /* loop iterations executed */
	int64_t loads, stores;       /* elements */
	char message[512];           /* of a failure */
} LowRun;
/* args[i] is the address of parameter i (elements as the C ABI has them).
 * False and run->message on an access out of bounds, a race, a missing barrier,
 * too many steps. */
bool low_function_run(const LowFunction *f, void *const *args, LowRun *run);

#endif
