/* Launches of a GPU: what they have beyond other functions, in the words of its
 * back end.  What a block shares is a global of address space 3 for all of them. */
#include "codegen/llvm/module_llvm.h"

#include <assert.h>
#include <stdio.h>

typedef LLVMValueRef V;

enum { SHARED_SPACE = 3 };

static const LlvmDevice *device_of(const LlvmGen *gen)
{
	assert(llvm_is_gpu(gen));
	return gen->arch == ARCH_NVPTX ? &llvm_nvptx : &llvm_amdgpu;
}

void llvm_launch_mark(LlvmGen *gen, V function, const LowLaunch *launch)
{
	device_of(gen)->mark(gen, function, launch);
}

V llvm_launch_index(LlvmGen *gen, LoopKind kind)
{
	char name[64];
	const LlvmDevice *device = device_of(gen);
	assert(loop_is_bound(kind));
	snprintf(name, sizeof name, "%s%c",
	    loop_is_block(kind) ? device->block : device->thread,
	    "xyz"[loop_direction(kind)]);
	return llvm_intrinsic(gen, name, NULL, 0, NULL, 0);
}

void llvm_launch_barrier(LlvmGen *gen, const LowNode *node)
{
	device_of(gen)->barrier(gen, node);
}

V llvm_launch_xor(LlvmGen *gen, DType dtype, V x, int64_t bits)
{
	LLVMBuilderRef b = gen->builder;
	LLVMTypeRef type = LLVMTypeOf(x), word = llvm_int_type(gen, 32, 1);
	int size = dtype == DT_BOOL ? 1 : 8 * dtype_bytes(dtype);
	LLVMTypeRef whole = llvm_int_type(gen, size, 1);
	V (*exchange)(LlvmGen *, V, int64_t) = device_of(gen)->exchange;
	x = LLVMBuildBitCast(b, x, whole, "");
	if (size <= 32) {
		x = LLVMBuildZExt(b, x, word, "");
		x = exchange(gen, x, bits);
		return LLVMBuildBitCast(
		    b, LLVMBuildTrunc(b, x, whole, ""), type, "");
	}
	assert(size == 64);
	V half = llvm_int(gen, 64, 32, 1);
	V low = exchange(gen, LLVMBuildTrunc(b, x, word, ""), bits);
	V high = exchange(gen,
	    LLVMBuildTrunc(b, LLVMBuildLShr(b, x, half, ""), word, ""), bits);
	x = LLVMBuildOr(b, LLVMBuildZExt(b, low, whole, ""),
	    LLVMBuildShl(b, LLVMBuildZExt(b, high, whole, ""), half, ""), "");
	return LLVMBuildBitCast(b, x, type, "");
}

void llvm_launch_copies(LlvmGen *gen, const LowNode *node)
{
	V n = llvm_int(gen, 32, node->i, 1);
	assert(gen->arch == ARCH_NVPTX); /* no other has such copies */
	if (node->op == LOW_COMMIT)
		llvm_intrinsic(gen, "llvm.nvvm.cp.async.commit.group", NULL, 0,
		    NULL, 0);
	else
		llvm_intrinsic(gen, "llvm.nvvm.cp.async.wait.group", NULL, 0,
		    &n, 1);
}

/* A piece of what the launch gives, which is one to all kernels of a module. */
static V dynamic_piece(LlvmGen *gen, const LowBuffer *buffer)
{
	static const char name[] = "tunec_shared";
	LLVMTypeRef byte = llvm_int_type(gen, 8, 1);
	V all = LLVMGetNamedGlobal(gen->module, name);
	V offset = llvm_int(gen, 32, buffer->offset, 1);
	if (!all) {
		all = LLVMAddGlobalInAddressSpace(gen->module,
		    LLVMArrayType2(byte, 0), name, SHARED_SPACE);
		LLVMSetAlignment(all, LOW_SHARED_ALIGN);
	}
	return LLVMConstGEP2(byte, all, &offset, 1);
}

V llvm_launch_memory(LlvmFunction *f, const LowBuffer *buffer)
{
	LlvmGen *gen = f->gen;
	if (buffer->dynamic)
		return dynamic_piece(gen, buffer);
	LLVMTypeRef type = LLVMArrayType2(
	    llvm_int_type(gen, 8 * dtype_bytes(buffer->type), 1),
	    (uint64_t)low_buffer_whole(buffer));
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
	    gen->module, type, name, SHARED_SPACE);
	LLVMSetLinkage(shared, LLVMInternalLinkage);
	LLVMSetInitializer(shared, LLVMGetUndef(type));
	LLVMSetAlignment(shared, (unsigned)buffer->align);
	return shared;
}
