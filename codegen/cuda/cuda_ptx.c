/* PTX of kernels, by the compiler that their target names. */
#include "codegen/cuda/cuda.h"

static Status by_nvrtc(const Lowered *const *lowered, int n,
    const Target *target, const EmitComment *comments, Buf *ptx, Error *error)
{
	Buf source = {0};
	emit_device(&source, lowered, n, target, comments);
	Status status =
	    nvrtc_compile(target->cpu, buf_text(&source), ptx, error);
	buf_free(&source);
	return status;
}

Status cuda_ptx(const Lowered *const *lowered, int n, const Target *target,
    const EmitComment *comments, Buf *ptx, Error *error)
{
	if (target->nvrtc)
		return by_nvrtc(lowered, n, target, comments, ptx, error);
	const LlvmModule *llvm = llvm_module(error);
	if (!llvm)
		return error->status;
	return llvm->compile(lowered, n, target->triple, target->cpu,
	    target->attrs, LLVM_ASSEMBLY, ptx, error);
}
