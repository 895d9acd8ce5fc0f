/* Launches as LLVM's AMDGPU back end has them: kernels are marked by their calling
 * convention and attributes, a barrier is an instruction between fences.
 *
 * How many waves share a block's memory is a matter of the architecture, and so
 * is what a fence waits for and which caches it empties: LLVM knows.  Its C API
 * makes no fence of a block's threads alone before LLVM 20; one is read from text
 * and copied. */
#include "codegen/llvm/module_llvm.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include <llvm-c/IRReader.h>

typedef LLVMValueRef V;

static void string_attribute(
    LlvmGen *gen, V function, const char *key, const char *value)
{
	LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex,
	    LLVMCreateStringAttribute(gen->context, key, (unsigned)strlen(key),
		value, (unsigned)strlen(value)));
}

/* The size of its blocks, by direction. */
static void require_size(LlvmGen *gen, V function, const LowLaunch *launch)
{
	static const char name[] = "reqd_work_group_size";
	LLVMMetadataRef sizes[3];
	for (int i = 0; i < 3; i++)
		sizes[i] = LLVMValueAsMetadata(
		    llvm_int(gen, 32, launch->block[i], 1));
	LLVMGlobalSetMetadata(function,
	    LLVMGetMDKindIDInContext(gen->context, name, sizeof name - 1),
	    LLVMMDNodeInContext2(gen->context, sizes, 3));
}

/* What a kernel would be given beside its arguments, and reads nothing of. */
static const char *const unused[] = {"amdgpu-no-dispatch-id",
    "amdgpu-no-dispatch-ptr", "amdgpu-no-implicitarg-ptr",
    "amdgpu-no-queue-ptr"};

static void mark(LlvmGen *gen, V function, const LowLaunch *launch)
{
	enum { AMDGPU_KERNEL = 91 }; /* llvm/IR/CallingConv.h */
	char threads[64];
	long long n = (long long)(launch->block[0] * launch->block[1] *
	    launch->block[2]);
	snprintf(threads, sizeof threads, "%lld,%lld", n, n);
	LLVMSetFunctionCallConv(function, AMDGPU_KERNEL);
	string_attribute(
	    gen, function, "amdgpu-flat-work-group-size", threads);
	string_attribute(gen, function, "uniform-work-group-size", "true");
	for (size_t i = 0; i < sizeof unused / sizeof *unused; i++)
		string_attribute(gen, function, unused[i], "");
	require_size(gen, function, launch);
}

/* A function of the two fences: of what came before, and of what follows.  Names
 * are kept while it is read: LLVM reads no text without. */
static LLVMModuleRef fences(LlvmGen *gen)
{
	static const char text[] =
	    "define void @f() {\n"
	    "fence syncscope(\"workgroup\") release\n"
	    "fence syncscope(\"workgroup\") acquire\n"
	    "ret void\n}\n";
	LLVMModuleRef module = NULL;
	char *wrong = NULL;
	LLVMMemoryBufferRef memory = LLVMCreateMemoryBufferWithMemoryRangeCopy(
	    text, sizeof text - 1, "fences");
	LLVMBool discard = LLVMContextShouldDiscardValueNames(gen->context);
	LLVMContextSetDiscardValueNames(gen->context, false);
	LLVMBool failed =
	    LLVMParseIRInContext(gen->context, memory, &module, &wrong);
	LLVMContextSetDiscardValueNames(gen->context, discard);
	assert(!failed);
	(void)failed;
	return module;
}

static void barrier(LlvmGen *gen, const LowNode *node)
{
	assert(!node->i); /* no unit reads shared memory by itself */
	(void)node;
	LLVMModuleRef module = fences(gen);
	LLVMBuilderRef b = gen->builder;
	V release = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(
	    LLVMGetNamedFunction(module, "f")));
	V acquire = LLVMGetNextInstruction(release);
	LLVMInsertIntoBuilder(b, LLVMInstructionClone(release));
	llvm_intrinsic(gen, "llvm.amdgcn.s.barrier", NULL, 0, NULL, 0);
	LLVMInsertIntoBuilder(b, LLVMInstructionClone(acquire));
	LLVMDisposeModule(module);
}

/* By the pattern of a swizzle, which is of 32 threads in a wave of 64 too. */
static V exchange(LlvmGen *gen, V word, int64_t bits)
{
	enum { XOR_AT = 10, SAME = 0x1f };
	V args[] = {word, llvm_int(gen, 32, bits << XOR_AT | SAME, 1)};
	return llvm_intrinsic(
	    gen, "llvm.amdgcn.ds.swizzle", NULL, 0, args, 2);
}

const LlvmDevice llvm_amdgpu = {
    .block = "llvm.amdgcn.workgroup.id.",
    .thread = "llvm.amdgcn.workitem.id.",
    .mark = mark,
    .barrier = barrier,
    .exchange = exchange,
};
