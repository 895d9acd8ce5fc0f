/* Launches as LLVM's NVPTX back end has them: kernels are marked by metadata,
 * blocks and threads read their numbers from special registers. */
#include "codegen/llvm/module_llvm.h"

#include <string.h>

typedef LLVMValueRef V;

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

static void mark(LlvmGen *gen, V function, const LowLaunch *launch)
{
	static const char *const sizes[] = {"reqntidx", "reqntidy", "reqntidz"};
	annotate(gen, function, "kernel", 1);
	for (int i = 0; i < 3; i++)
		annotate(gen, function, sizes[i], launch->block[i]);
}

static void barrier(LlvmGen *gen, const LowNode *node)
{
	if (node->i)
		llvm_assembly(gen, "fence.proxy.async.shared::cta;",
		    "~{memory}", LLVMVoidTypeInContext(gen->context), NULL,
		    NULL, 0);
	llvm_intrinsic(gen, "llvm.nvvm.barrier0", NULL, 0, NULL, 0);
}

/* Between all threads of a warp. */
static V exchange(LlvmGen *gen, V word, int64_t bits)
{
	V args[] = {llvm_int(gen, 32, -1, 1), word, llvm_int(gen, 32, bits, 1),
	    llvm_int(gen, 32, LOW_WARP - 1, 1)};
	return llvm_intrinsic(
	    gen, "llvm.nvvm.shfl.sync.bfly.i32", NULL, 0, args, 4);
}

const LlvmDevice llvm_nvptx = {
    .block = "llvm.nvvm.read.ptx.sreg.ctaid.",
    .thread = "llvm.nvvm.read.ptx.sreg.tid.",
    .mark = mark,
    .barrier = barrier,
    .exchange = exchange,
};
