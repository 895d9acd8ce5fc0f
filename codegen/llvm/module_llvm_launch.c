/* Launches of a GPU as LLVM's NVPTX back end has them: kernels are marked by
 * metadata, blocks and threads read their numbers from special registers, what a
 * block shares are globals of address space 3: one for each buffer, or pieces of
 * one whose size the launch gives. */
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

void llvm_launch_barrier(LlvmGen *gen, const LowNode *node)
{
	if (node->i)
		llvm_assembly(gen, "fence.proxy.async.shared::cta;",
		    "~{memory}", LLVMVoidTypeInContext(gen->context), NULL,
		    NULL, 0);
	llvm_intrinsic(gen, "llvm.nvvm.barrier0", NULL, 0, NULL, 0);
}

/* One word of 32 bits, between all threads of a warp. */
static V exchange_word(LlvmGen *gen, V word, int64_t bits)
{
	V args[] = {llvm_int(gen, 32, -1, 1), word, llvm_int(gen, 32, bits, 1),
	    llvm_int(gen, 32, LOW_WARP - 1, 1)};
	return llvm_intrinsic(
	    gen, "llvm.nvvm.shfl.sync.bfly.i32", NULL, 0, args, 4);
}

V llvm_launch_xor(LlvmGen *gen, DType dtype, V x, int64_t bits)
{
	LLVMBuilderRef b = gen->builder;
	LLVMTypeRef type = LLVMTypeOf(x), word = llvm_int_type(gen, 32, 1);
	int size = dtype == DT_BOOL ? 1 : 8 * dtype_bytes(dtype);
	LLVMTypeRef whole = llvm_int_type(gen, size, 1);
	x = LLVMBuildBitCast(b, x, whole, "");
	if (size <= 32) {
		x = LLVMBuildZExt(b, x, word, "");
		x = exchange_word(gen, x, bits);
		return LLVMBuildBitCast(
		    b, LLVMBuildTrunc(b, x, whole, ""), type, "");
	}
	assert(size == 64);
	V half = llvm_int(gen, 64, 32, 1);
	V low = exchange_word(gen, LLVMBuildTrunc(b, x, word, ""), bits);
	V high = exchange_word(gen,
	    LLVMBuildTrunc(b, LLVMBuildLShr(b, x, half, ""), word, ""), bits);
	x = LLVMBuildOr(b, LLVMBuildZExt(b, low, whole, ""),
	    LLVMBuildShl(b, LLVMBuildZExt(b, high, whole, ""), half, ""), "");
	return LLVMBuildBitCast(b, x, type, "");
}

void llvm_launch_copies(LlvmGen *gen, const LowNode *node)
{
	V n = llvm_int(gen, 32, node->i, 1);
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
		    LLVMArrayType2(byte, 0), name, PTX_SHARED);
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
	    gen->module, type, name, PTX_SHARED);
	LLVMSetLinkage(shared, LLVMInternalLinkage);
	LLVMSetInitializer(shared, LLVMGetUndef(type));
	LLVMSetAlignment(shared, (unsigned)buffer->align);
	return shared;
}
