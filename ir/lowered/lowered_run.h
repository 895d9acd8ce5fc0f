/* What the files of the lowered form's interpreter share: the flat code that a
 * function becomes, and the state of a run.
 *
 *     lowered_run.c          runs the code
 *     lowered_run_compile.c  tree -> code
 *     lowered_run_op.c       what operations on temporaries do
 *     lowered_run_warp.c     what a warp's threads do together
 *     lowered_run_group.c    what a warpgroup's do
 *     lowered_run_memory.c   loads, stores, bounds
 *     lowered_run_async.c    copies on their way
 *     lowered_run_race.c     who touched which element when
 *
 * A frame is an array of Scalars: a temporary's lanes lie side by side from its
 * slot on, and each loop has a slot for the number of its iterations. */
#ifndef IR_LOWERED_RUN_H
#define IR_LOWERED_RUN_H

#include "ir/lowered/lowered.h"
#include "ir/scalar.h"
#include "lib/wide.h"

typedef enum {
	CODE_OP,        /* `run` */
	CODE_INDEX,     /* the same; d has a range */
	CODE_DIVIDE,    /* the same; b is checked first */
	CODE_MEMORY,
	CODE_BARRIER,
	CODE_EXCHANGE,  /* between the threads of a warp; of a buffer: of what
			   each has loaded of it */
	CODE_GROUP,     /* of a warpgroup's */
	CODE_ASYNC,     /* begins a copy, ends a group, waits for some */
	CODE_UNDEFINED, /* the next operation reads `temp` undefined */
	CODE_LOOP,      /* enters the body or jumps to `target` */
	CODE_NEXT,      /* jumps back to `target` or goes on */
	CODE_ITERATION, /* of a parallel loop: a new unit, maybe a new thread */
	CODE_THREAD,    /* the variable is the thread's number */
	CODE_OPEN,      /* around a parallel loop or the loops of a GPU */
	CODE_CLOSE,
	CODE_LAUNCH,    /* to `target` is run by each thread of a block */
	CODE_END,       /* of that, and of the function */
	CODE_UNLESS,    /* jumps to `target` if a is false */
	CODE_JUMP
} CodeKind;

typedef struct {
	int slot;
	int64_t coefficient;
} CodeTerm;

/* constant + sum of coefficient * slot */
typedef struct {
	int64_t constant;
	int n;
	CodeTerm *terms;
} CodeAffine;

typedef struct Code Code;
struct Code {
	CodeKind kind;
	LowOpcode op;
	void (*run)(const Code *code, Scalar *frame);
	void (*exchange)(const Code *code, Scalar *const *frames); /* a warp's */
	int d, a, b, c;     /* slots; -1: none */
	int lanes;          /* of d, or of what is stored */
	DType type, from;   /* of d or the buffer; of a */
	int buffer;
	CodeAffine at;      /* address; LOOP: limit */
	int source;         /* COPY_ASYNC, WGMMA: the second buffer, and */
	CodeAffine source_at;
	const LowTile *tiles; /* WGMMA */
	bool limited;
	int64_t extent;
	Scalar constant;
	int number;         /* EXTRACT, INSERT: lane; THREAD: direction;
			       WARP_XOR: which bits of the thread's number;
			       LOAD_MATRIX: is it transposed?
			       COPY_ASYNC: elements; WAIT: groups; BARRIER: 1:
			       a WGMMA behind it reads what was stored */
	const int *shuffle;
	int sources;        /* lanes of a */
	const Intrinsic *fragment; /* MMA, WGMMA */
	Op math;
	int temp;           /* UNDEFINED, LOOP, NEXT, INDEX: the temporary */
	int bound;          /* LOOP, NEXT: slot of the number of iterations */
	int target;
	int outer;          /* the code of the loop around; -1: none */
	int64_t threads[3]; /* LAUNCH */
	int64_t count;      /* times executed */
};

typedef VEC(Code) CodeVec;

typedef struct {
	const LowFunction *f;
	CodeVec code;
	int slots;     /* of a frame */
	int *slot;     /* by temporary */
} CodeFunction;

/* Who last touched an element; lowered_run_race.c. */
typedef struct {
	int64_t written, read; /* epochs; 0: never */
	int32_t writer, reader;
} Shadow;

/* An element on its way; lowered_run_async.c. */
typedef struct {
	int buffer;
	int64_t at, group;
	Scalar value;
} OnItsWay;

/* A thread's. */
typedef struct {
	VEC(OnItsWay) elements; /* in the order of their groups */
	int first;              /* of those that have not arrived */
	int64_t groups;         /* that have ended */
} Copies;

typedef struct {
	const CodeFunction *function;
	LowRun *out;
	Arena *arena;
	char **base;       /* by buffer, of the current thread */
	char **piece;      /* by buffer, of thread 0 */
	Shadow **shadow;   /* by buffer; NULL: not watched */
	char **awaited;    /* by buffer, then element: is one on its way there?
			      NULL: none ever was */
	char **stored;     /* by buffer, then element: since the last barrier
			      for a WGMMA?  NULL: there is none */
	Copies *copies;    /* by thread of the block, as many as had any */
	int ncopies;
	int64_t steps, most_steps;
	/* where we are */
	bool concurrent;       /* between OPEN and CLOSE */
	int64_t epoch, region_epoch, block_epoch;
	int32_t unit;          /* thread of the block */
	int64_t thread[3];     /* its number, by direction */
} Runner;

/* lowered_run_compile.c */
void code_compile(Arena *arena, const LowFunction *f, CodeFunction *out);
/* What an operation on temporaries makes of its sources: in `frame` lie the lanes of
 * d, a, b and c, each `most` behind the one before. */
void code_fold(
    const LowFunction *f, const LowNode *node, int most, Scalar *frame);

/* lowered_run_op.c: what code of this operation runs */
void code_choose_op(Code *code);
/* lowered_run_warp.c: the same of a warp's */
void code_choose_exchange(Code *code, const LowFunction *f, const LowNode *node);

/* lowered_run.c: the message of a failure at `code`, where loops stood */
bool run_fail(Runner *r, const Code *code, const Scalar *frame,
    const char *format, ...) __attribute__((format(printf, 4, 5)));
static inline int64_t run_affine(const CodeAffine *a, const Scalar *frame)
{
	int64_t sum = a->constant;
	for (int i = 0; i < a->n; i++)
		sum += a->terms[i].coefficient * frame[a->terms[i].slot].i;
	return sum;
}

/* lowered_run_memory.c */
bool run_memory(Runner *r, const Code *code, Scalar *frame);
/* Failures at an element of a buffer. */
bool run_outside(Runner *r, const Code *code, const Scalar *frame, int lane,
    int buffer, int64_t at);
bool run_raced(Runner *r, const Code *code, const Scalar *frame,
    const char *other, int buffer, int64_t at);
/* As it is in memory. */
Scalar run_element(DType type, const void *base, int64_t at);

/* lowered_run_async.c */
bool run_async(Runner *r, const Code *code, Scalar *frame);
/* No thread has any, as where a block starts. */
void async_forget(Runner *r);
static inline bool async_awaited(const Runner *r, int buffer, int64_t at)
{
	return r->awaited && r->awaited[buffer] && r->awaited[buffer][at];
}
bool async_touched(
    Runner *r, const Code *code, const Scalar *frame, int64_t at);

/* lowered_run_group.c */
void group_start(Runner *r);
void group_stored(Runner *r, int buffer, int64_t at);
void group_barrier(Runner *r);
/* The product of the warpgroup whose first thread has that number. */
bool group_run(Runner *r, const Code *code, Scalar *const *frames, int first);

/* lowered_run_race.c */
void race_start(Runner *r);
void race_open(Runner *r);
void race_close(Runner *r);
void race_block(Runner *r);   /* a parallel iteration, or a thread block */
void race_barrier(Runner *r);
void race_forget(Runner *r, int buffer); /* its elements are new */
/* False if it conflicts with what another did; `other` says what. */
bool race_read(Runner *r, int buffer, int64_t at);
bool race_write(Runner *r, int buffer, int64_t at, const char **other);

#endif
