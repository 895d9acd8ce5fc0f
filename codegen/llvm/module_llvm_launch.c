/* Launches of a GPU as LLVM's NVPTX back end has them: kernels are marked by
 * metadata, blocks and threads read their numbers from special registers, what a
 * block shares is a global of address space 3. */
#include "codegen/llvm/module_llvm.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

typedef LLVMValueRef V;

enum { PTX_SHARED = 3 };

static void annotate(LlvmGen *gen, V function, const char *key, int64_t value)
{
	LLVMContextRef context = gen->context;
	LLVMMetadataRef parts[] = {LLVMValueAsMetadata(function),
	    LLVMMDStringInContext2(context, key, strlen(key)),
	    LLVMValueAsMetadata(llvm_int(gen, 32, value, 1))};
	LLVMAddNamedMetadataOperand(gen->module, "nvvm.annotations",
	    LLVMMetadataAsValue(
		context, LLVMMDNodeInContext2(context, parts, 3)));
}

void llvm_launch_mark(LlvmGen *gen, V function, const LowLaunch *launch)
{
	static const char *const sizes[] = {"reqntidx", "reqntidy", "reqntidz"};
	annotate(gen, function, "kernel", 1);
	for (int i = 0; i < 3; i++)
		annotate(gen, function, sizes[i], launch->block[i]);
}

V llvm_launch_index(LlvmGen *gen, LoopKind kind)
{
	char name[64];
	assert(loop_is_bound(kind) && gen->arch == ARCH_NVPTX);
	snprintf(name, sizeof name, "llvm.nvvm.read.ptx.sreg.%s.%c",
	    loop_is_block(kind) ? "ctaid" : "tid", "xyz"[loop_direction(kind)]);
	return llvm_intrinsic(gen, name, NULL, 0, NULL, 0);
}

void llvm_launch_barrier(LlvmGen *gen)
{
	llvm_intrinsic(gen, "llvm.nvvm.barrier0", NULL, 0, NULL, 0);
}

V llvm_launch_memory(LlvmFunction *f, const LowBuffer *buffer)
{
	LlvmGen *gen = f->gen;
	LLVMTypeRef type = LLVMArrayType2(
	    llvm_int_type(gen, 8 * dtype_bytes(buffer->type), 1),
	    (uint64_t)buffer->elements);
	char name[512];
	if (buffer->kind == LOWBUF_LOCAL) {
		LLVMBasicBlockRef here = LLVMGetInsertBlock(gen->builder);
		LLVMPositionBuilderAtEnd(gen->builder, f->entry);
		V local = LLVMBuildAlloca(gen->builder, type, buffer->name);
		LLVMSetAlignment(local, (unsigned)buffer->align);
		LLVMPositionBuilderAtEnd(gen->builder, here);
		return local;
	}
	snprintf(name, sizeof name, "%s_%s", f->low->name, buffer->name);
	V shared = LLVMAddGlobalInAddressSpace(
	    gen->module, type, name, PTX_SHARED);
	LLVMSetLinkage(shared, LLVMInternalLinkage);
	LLVMSetInitializer(shared, LLVMGetUndef(type));
	LLVMSetAlignment(shared, (unsigned)buffer->align);
	return shared;
}
