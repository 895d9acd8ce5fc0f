/* What NVIDIA's tools do for a target `cuda`, where they are found; nothing of
 * them is needed to build tunec or PTX.
 *
 *     toolkit.c         where they are
 *     cuda_ptx.c        PTX of kernels, by LLVM or NVRTC
 *     nvrtc.c           CUDA C -> PTX, by NVIDIA's run-time compiler
 *     ptxas.c           PTX -> a cubin, and what a kernel takes of the machine
 *     emit_cuda_host.c  the .c that launches kernels through the driver */
#ifndef CODEGEN_CUDA_H
#define CODEGEN_CUDA_H

#include "codegen/codegen.h"

/* toolkit.c: a program: on the path, in $CUDA_HOME/bin, in the virtual
 * environment beside tunec (venv/bin).  NULL: nowhere. */
char *toolkit_program(Arena *arena, const char *name);

/* cuda_ptx.c: as the target says.  STATUS_MISSING: there is no such compiler. */
Status cuda_ptx(const Lowered *const *lowered, int n, const Target *target,
    const EmitComment *comments, Buf *ptx, Error *error);

/* nvrtc.c: where it is, and its version; STATUS_MISSING and how to get it.
 * STATUS_INPUT: it refuses the source, and says why. */
typedef struct {
	const char *path;
	int major, minor;
} NvrtcFacts;
Status nvrtc_find(Arena *arena, NvrtcFacts *facts, Error *error);
Status nvrtc_compile(
    const char *arch, const char *source, Buf *ptx, Error *error);

/* What a launch takes, as ptxas says. */
typedef struct {
	const char *kernel;
	int registers; /* of a thread, of 32 bits */
	int64_t stack_bytes, spill_stores, spill_loads; /* of a thread */
	int64_t shared_bytes; /* of a block */
} CudaUse;
typedef VEC(CudaUse) CudaUseVec;

/* ptxas.c: of the kernel of that name; NULL. */
const CudaUse *cuda_use_of(const CudaUseVec *uses, const char *kernel);
/* Assembles it; the cubin is appended (NULL: not wanted).
 * STATUS_MISSING: there is no ptxas; STATUS_INPUT: it refuses, and says why. */
Status ptxas_run(Arena *arena, const char *arch, const char *ptx, size_t size,
    Buf *cubin, CudaUseVec *uses, Error *error);
/* What it printed with -v; so does NVRTC's log. */
void ptxas_read(Arena *arena, const char *said, CudaUseVec *uses);

/* emit_cuda_host.c: the .c that launches these kernels, whose PTX is given. */
void emit_cuda_host(Buf *out, const Lowered *const *lowered, int n,
    const EmitComment *comments, const char *ptx, size_t size);

#endif
