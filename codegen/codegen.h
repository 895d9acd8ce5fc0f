/* The face of codegen/: nests to what a compiler, a linker or a person reads.
 *
 *     target.c        canonical target text; cpu.c what it says of a CPU,
 *                     gpu.c and amd_gpu.c of a GPU; host.c this machine's own
 *                     numbers
 *     lower*.c        nest -> lowered form, one pass a file
 *     emit_c.c        lowered form -> C
 *     emit_device.c   its launches -> OpenCL C, CUDA C
 *     emit_header.c   the header; emit_main.c the driver
 *     cuda/           NVIDIA's tools, and the .c that launches kernels
 *     hip/            what links a GPU of AMD's its kernels
 *     llvm.c          opens tunec-llvm.so; module_llvm*.c are that module:
 *                     lowered form -> LLVM IR -> .ll .bc .o .s
 *     outputs.c       files: all or none, untouched if equal */
#ifndef CODEGEN_CODEGEN_H
#define CODEGEN_CODEGEN_H

#include "ir/costs.h"
#include "ir/ir.h"

/* --- targets ------------------------------------------------------------- */

typedef enum {
	TARGET_LLVM,
	TARGET_C,
	TARGET_CUDA,
	TARGET_HIP,
	TARGET_OPENCL
} TargetKind;

typedef struct {
	TargetKind kind;
	const char *text;   /* canonical */
	const char *triple; /* LLVM; "" for c */
	const char *cpu;
	const char *attrs;  /* "+avx2,+fma", sorted; may be "" */
	bool nvrtc;         /* CUDA: PTX by NVRTC, not by LLVM */
	int threads;
	Machine machine;
} Target;

/* "host", "llvm -mcpu=… -threads=2", "c", "cuda -arch=sm_90",
 * "hip -arch=gfx90a". */
Target *target_parse(Arena *arena, const char *text, Error *error);
Target *target_host(Arena *arena, Error *error);
/* The row of a file (ir/costs.h) in place of the table's; it has to outlive the
 * target.  STATUS_INPUT where it is of other CPUs. */
Status target_use_costs(Target *target, const CostsFile *row, Error *error);
/* Can this machine run code for the target (triple and features)? */
bool target_runs_here(const Target *target);
/* The same, and why not. */
bool target_runs_here_why(const Target *target, char *why, size_t size);

/* host.c: this machine's own numbers, for reports and records.  What is
 * generated depends on a target's numbers alone. */
typedef struct {
	char model[128]; /* as the CPU calls itself; "" if unknown */
	char *features;  /* "avx2,fma,…" of those that targets name */
	int cpus;        /* that this process may run on */
	int64_t l1_bytes, l2_bytes, l3_bytes; /* data; 0 if unknown */
	double clock_ghz;                     /* 0 if unknown */
} HostFacts;
void host_facts(Arena *arena, HostFacts *facts);
int host_cpus(void); /* that this process may run on */

/* --- lowering ------------------------------------------------------------ */

/* lower.c: an inferred, verified nest whose extents are all constants.  What it
 * gives has been verified (lowered_verify); NULL and STATUS_UNSUPPORTED where a
 * nest has what the machine has not, STATUS_INTERNAL where lowering erred. */
/* The same, given up beyond so many operations: NULL, and *larger. */
Lowered *lower_up_to(Arena *arena, const Nest *nest, const Machine *machine,
    int most, bool *larger, Error *error);
Lowered *lower(Arena *arena, const Nest *nest, const Machine *machine,
    Error *error);

/* lower_launch.c: fills l->launches with what its kernel is for a GPU, as lower
 * does for a machine that is one; false and STATUS_UNSUPPORTED where the machine
 * has less, or a launch is repeated. */
bool lower_launches(Lowered *l, const Machine *machine, Error *error);

/* --- emitters ------------------------------------------------------------ */

typedef struct {
	const char *target;     /* canonical text */
	const char *record;     /* id, or "none (default schedule)" */
	const char *measured;   /* "1.53 ms, 151 GFLOP/s", or "" */
} EmitComment;

/* A translation unit: the kernel and its pack functions. */
void emit_c(Buf *out, const Lowered *lowered, const Target *target,
    const EmitComment *comment);
/* The same for several kernels; a comment for each. */
void emit_c_all(Buf *out, const Lowered *const *lowered, int n,
    const Target *target, const EmitComment *comments);
/* Their pack functions alone, in plain C, and what these need: what the host of
 * a device does. */
void emit_packs(Buf *out, const Lowered *const *lowered, int n,
    const EmitComment *comments);
/* Kernels of a device in its language: OpenCL C, or CUDA C for a GPU of
 * NVIDIA's; all launches of several lowered forms, a comment for each. */
void emit_device(Buf *out, const Lowered *const *lowered, int n,
    const Target *target, const EmitComment *comments);
/* The .c that launches kernels of OpenCL, whose source it holds. */
void emit_opencl_host(Buf *out, const Lowered *const *lowered, int n,
    const Target *target, const EmitComment *comments);
/* Needs only what the spec fixes, and the sizes. */
void emit_header(Buf *out, const Lowered *lowered, const Target *target,
    const EmitComment *comment);
void emit_header_all(Buf *out, const Lowered *const *lowered, int n,
    const Target *target, const EmitComment *comments);
/* SYMBOL_main.c: checks the kernel against the plain loop nest and times it; its
 * speed is that of so many operations a call. */
void emit_main(
    Buf *out, const Lowered *lowered, const Target *target, double operations);

/* --- LLVM, in a module opened on first use -------------------------------- */

typedef enum { LLVM_IR_TEXT, LLVM_BITCODE, LLVM_ASSEMBLY, LLVM_OBJECT } LlvmKind;

/* What tunec-llvm.so exports as `tunec_llvm`. */
typedef struct {
	int version; /* of this struct: LLVM_MODULE_VERSION */
	/* "19.1.7" */
	const char *(*llvm_version)(void);
	/* Several kernels make one module.  Bytes are appended to out. */
	Status (*compile)(const Lowered *const *lowered, int n,
	    const char *triple, const char *cpu, const char *attrs,
	    LlvmKind kind, Buf *out, Error *error);
	/* This host, as LLVM names it; malloc'd strings. */
	void (*host)(char **triple, char **cpu, char **attrs);
	/* True if the triple, CPU and attributes are known; else a reason. */
	bool (*check)(const char *triple, const char *cpu, const char *attrs,
	    Error *error);
	/* Links an object for this host into the process: libm and the OpenMP
	 * runtime are found, nothing is ever unloaded (for processes that end
	 * after one kernel).  addresses[i] is where names[i] is. */
	Status (*load)(const void *object, size_t size,
	    const char *const *names, int n, void **addresses, Error *error);
	/* Calls a function that takes n pointers, with args[0] ... */
	void (*call)(void *function, void **args, int n);
	/* All features that a CPU and attributes imply: "+avx2,+fma,…", sorted;
	 * malloc'd. */
	char *(*features)(const char *triple, const char *cpu, const char *attrs);
	/* The names that -mcpu= takes, a line each. */
	bool (*cpus)(const char *triple, Buf *out, Error *error);
} LlvmModule;

enum { LLVM_MODULE_VERSION = 3 };

/* The module beside the program (build/tunec-llvm.so, or ../lib/tunec/ of an
 * installed one; TUNEC_MODULES names another folder); NULL and what is missing. */
const LlvmModule *llvm_module(Error *error);

/* --- files ---------------------------------------------------------------- */

typedef struct {
	const char *path; /* "-": standard output */
	const void *data;
	size_t size;
} OutputFile;
/* All or none: temporary names, then rename; a file that is equal is left
 * untouched. */
Status outputs_write(const OutputFile *files, int n, Error *error);

#endif
