/* Inside tunec-llvm.so: an LLVM module under construction.
 *
 *     module_llvm.c           what the program sees: compile, check, features
 *     module_llvm_function.c  functions, loops, parallel regions, buffers
 *     module_llvm_launch.c    what a GPU's launch has beyond that
 *     module_llvm_nvptx.c     the same in NVIDIA's words
 *     module_llvm_amdgpu.c    and in AMD's
 *     module_llvm_address.c   addresses that move with loops, sums of indices
 *     module_llvm_memory.c    loads, stores
 *     module_llvm_op.c        operations on temporaries
 *     module_llvm_temp.c      what these are: values, and slots
 *     module_llvm_dot.c       sums of products that are one operation
 *     module_llvm_fragment.c  products of a GPU's warp
 *     module_llvm_group.c     of its warpgroup
 *     module_llvm_convert.c   conversions between element types
 *     module_llvm_load.c      an object linked into this process
 *     module_llvm_value.c     types, constants, calls of intrinsics and libm */
#ifndef CODEGEN_MODULE_LLVM_H
#define CODEGEN_MODULE_LLVM_H

#include <llvm-c/Core.h>

#include "codegen/codegen.h"
#include "codegen/cpu.h"

typedef struct {
	LLVMContextRef context;
	LLVMModuleRef module;
	LLVMBuilderRef builder;
	Arch arch;
	CpuFeatures features; /* of `arch` */
	bool flushes; /* subnormals, by products of narrow floats: allowed */
	const char *cpu, *attrs;
	const char *lacks; /* a function that the target has not; NULL */
} LlvmGen;

/* An address that moves with a loop: of a buffer, constants left out. */
typedef struct {
	int buffer, nterms;
	const LowTerm *terms; /* the loop's own last */
	LLVMValueRef pointer; /* a phi of the loop's head */
} LlvmRunning;

/* A loop that is being emitted. */
typedef struct LlvmLoop {
	struct LlvmLoop *outer;
	int var;
	LLVMValueRef begin;
	LLVMBasicBlockRef before, head;
	VEC(LlvmRunning) running;
} LlvmLoop;

/* An LLVM function of a lowered one: itself, or a parallel loop's body. */
typedef struct {
	LlvmGen *gen;
	const LowFunction *low;
	Arena *arena;
	const int
	    *assigned; /* how often a temporary is, in the text of `low` */
	LLVMValueRef function;
	LLVMBasicBlockRef entry; /* where slots are allocated */
	/* By temporary: its value, or where it is assigned more than once the
	 * address of its slot. */
	LLVMValueRef *values;
	int *rank; /* order of definition, for addresses */
	int nranks;
	bool *fixed; /* by temporary: the same for all of a GPU's launch that the
		      * thread does, and computed before it */
	LLVMValueRef *params; /* by parameter of `low` */
	bool *used;	      /* by buffer: does this function use it? */
	LLVMValueRef *bases;  /* by used buffer: address of its first element */
	LLVMValueRef thread;  /* number, i64; constant 0 outside of regions */
	LLVMValueRef *scopes,
	    *noalias;  /* metadata by used buffer; entries may be NULL */
	int *nregions; /* outlined so far, for names */
	LlvmLoop *loop; /* the innermost that is open; NULL: none */
	bool parallel; /* this is a region's body */
	bool streams;  /* has streaming stores */
	int aligned;   /* bytes that parameters are aligned to here, even where
			  they need not be; 0: no more than they need */
} LlvmFunction;

/* module_llvm_function.c: adds it to the module */
void llvm_function_emit(LlvmGen *gen, const LowFunction *low);
void llvm_launch_emit(LlvmGen *gen, const LowLaunch *launch);

/* What a GPU's launch is to a back end of LLVM's. */
typedef struct {
	/* Intrinsics that give the number of a block and a thread, without the
	 * direction. */
	const char *block, *thread;
	/* The function is a kernel of so many threads. */
	void (*mark)(LlvmGen *gen, LLVMValueRef function,
	    const LowLaunch *launch);
	void (*barrier)(LlvmGen *gen, const LowNode *node);
	/* A word of 32 bits, of the thread of the same 32 whose number differs
	 * in these bits. */
	LLVMValueRef (*exchange)(LlvmGen *gen, LLVMValueRef word, int64_t bits);
} LlvmDevice;
extern const LlvmDevice llvm_nvptx, llvm_amdgpu;

/* module_llvm_launch.c: a kernel of so many threads; the number of this block or
 * thread, i32; all threads of the block are here; memory of a block or thread */
void llvm_launch_mark(
    LlvmGen *gen, LLVMValueRef function, const LowLaunch *launch);
LLVMValueRef llvm_launch_index(LlvmGen *gen, LoopKind kind);
void llvm_launch_barrier(LlvmGen *gen, const LowNode *node);
/* Of the thread whose number in its warp differs in these bits. */
LLVMValueRef llvm_launch_xor(
    LlvmGen *gen, DType dtype, LLVMValueRef x, int64_t bits);
void llvm_launch_copies(LlvmGen *gen, const LowNode *node); /* COMMIT, WAIT */
LLVMValueRef llvm_launch_memory(LlvmFunction *f, const LowBuffer *buffer);

/* module_llvm_fragment.c */
LLVMValueRef llvm_mma(LlvmFunction *f, const LowNode *node, LLVMValueRef *args);
LLVMValueRef llvm_round_tf32(LlvmGen *gen, LLVMValueRef x, int lanes);
LLVMValueRef llvm_load_matrix(LlvmFunction *f, const LowNode *node);

/* module_llvm_group.c: a warpgroup's product */
void llvm_wgmma(LlvmFunction *f, const LowNode *node);

/* module_llvm_temp.c: an index is held in 32 bits where its range and the target
 * have it so: as DT_I32, else as its own type */
DType llvm_held_as(const LlvmFunction *f, int temp);
/* A temporary of a GPU's thread that the launch never changes: the builder goes
 * to where such are computed, and comes back. */
LLVMBasicBlockRef llvm_fixed_begin(LlvmFunction *f);
void llvm_fixed_end(LlvmFunction *f, LLVMBasicBlockRef here, int temp);
LLVMValueRef llvm_temp_read(LlvmFunction *f, int temp);
void llvm_temp_write(LlvmFunction *f, int temp, LLVMValueRef value);

/* module_llvm_op.c */
void llvm_op_emit(LlvmFunction *f, const LowNode *node);

/* module_llvm_memory.c */
void llvm_memory_emit(LlvmFunction *f, const LowNode *node);

/* module_llvm_address.c */
/* The sum, in 32 bits where it is narrow and wanted so. */
LLVMValueRef llvm_affine(LlvmFunction *f, const LowAffine *affine, bool narrow);
/* Of an element's address; here, where the builder stands. */
LLVMValueRef llvm_address(LlvmFunction *f, const LowNode *node);
/* The terms in the order in which their temporaries were defined, those that are
 * assigned again last; their number. */
int llvm_sorted_terms(
    LlvmFunction *f, const LowAffine *affine, LowTerm *terms);
/* What moved with the loop makes its step; the builder stands in its latch. */
void llvm_addresses_step(LlvmFunction *f, LlvmLoop *loop);

/* module_llvm_dot.c */
LLVMValueRef llvm_dot(LlvmGen *gen, const Intrinsic *in, LLVMValueRef a,
    LLVMValueRef b, LLVMValueRef c, int lanes);

/* module_llvm_convert.c: as a cast of language.md, lane by lane */
LLVMValueRef llvm_convert(
    LlvmGen *gen, LLVMValueRef value, DType from, DType to, int lanes);

/* module_llvm_value.c */

/* f16 and bf16 are their bits: i16. */
LLVMTypeRef llvm_scalar_type(LlvmGen *gen, DType type);
LLVMTypeRef llvm_lanes(LLVMTypeRef scalar, int lanes); /* itself for 1 */
LLVMTypeRef llvm_type(LlvmGen *gen, DType type, int lanes);
LLVMTypeRef llvm_int_type(LlvmGen *gen, int bits, int lanes);
LLVMTypeRef llvm_pointer_type(LlvmGen *gen); /* of a parameter */
LLVMValueRef llvm_int(LlvmGen *gen, int bits, int64_t value, int lanes);
/* An integer extended by its sign, or cut. */
LLVMValueRef llvm_resized(LlvmGen *gen, LLVMValueRef value, int bits, int lanes);
LLVMValueRef llvm_float(LlvmGen *gen, DType type, double value, int lanes);
/* All lanes the same: a constant, or a scalar broadcast. */
LLVMValueRef llvm_splat(LlvmGen *gen, LLVMValueRef scalar, int lanes);
/* Lanes first, first + step, first + 2*step … of one or two vectors. */
LLVMValueRef llvm_pick(
    LlvmGen *gen, LLVMValueRef a, int first, int step, int n);
/* An intrinsic, overloaded on `types`. */
LLVMValueRef llvm_intrinsic(LlvmGen *gen, const char *name, LLVMTypeRef *types,
    int ntypes, LLVMValueRef *args, int nargs);
/* One overloaded on its first argument's type. */
LLVMValueRef llvm_intrinsic_of(
    LlvmGen *gen, const char *name, LLVMValueRef *args, int nargs);
/* Inline assembly with effects. */
LLVMValueRef llvm_assembly(LlvmGen *gen, const char *text,
    const char *constraints, LLVMTypeRef result, LLVMTypeRef *types,
    LLVMValueRef *args, int nargs);
/* A function of libm, called for each lane. */
LLVMValueRef llvm_libm(LlvmGen *gen, const char *name, DType type,
    LLVMValueRef *args, int nargs, int lanes);
LLVMAttributeRef llvm_attribute(LlvmGen *gen, const char *name, uint64_t value);
bool llvm_is_signed(DType type);
bool llvm_has(const LlvmGen *gen, CpuFeature feature);
bool llvm_is_gpu(const LlvmGen *gen);

/* module_llvm_load.c: see codegen.h. */
Status module_llvm_load(const void *object, size_t size,
    const char *const *names, int n, void **addresses, Error *error);
void module_llvm_call(void *function, void **args, int n);

#endif
