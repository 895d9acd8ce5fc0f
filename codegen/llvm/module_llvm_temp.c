/* What temporaries are in LLVM: values, and slots of those that are assigned more
 * than once, which sroa makes values of. */
#include "codegen/llvm/module_llvm.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

typedef LLVMValueRef V;

static const LowTemp *temp_of(LlvmFunction *f, int temp)
{
	return &f->low->temps.at[temp];
}

DType llvm_held_as(const LlvmFunction *f, int temp)
{
	return llvm_is_gpu(f->gen) && low_temp_is_narrow(f->low, temp)
	    ? DT_I32
	    : f->low->temps.at[temp].type;
}

static LLVMTypeRef held_type(LlvmFunction *f, int temp)
{
	return llvm_type(
	    f->gen, llvm_held_as(f, temp), temp_of(f, temp)->lanes);
}

static V slot_of(LlvmFunction *f, int temp)
{
	LLVMBuilderRef b = f->gen->builder;
	if (f->values[temp])
		return f->values[temp];
	LLVMBasicBlockRef here = LLVMGetInsertBlock(b);
	LLVMValueRef first = LLVMGetFirstInstruction(f->entry);
	if (first)
		LLVMPositionBuilderBefore(b, first);
	else
		LLVMPositionBuilderAtEnd(b, f->entry);
	f->values[temp] =
	    LLVMBuildAlloca(b, held_type(f, temp), temp_of(f, temp)->name);
	LLVMPositionBuilderAtEnd(b, here);
	return f->values[temp];
}

V llvm_temp_read(LlvmFunction *f, int temp)
{
	if (f->assigned[temp] > 1)
		return LLVMBuildLoad2(
		    f->gen->builder, held_type(f, temp), slot_of(f, temp), "");
	assert(f->values[temp]);
	return f->values[temp];
}

/* Ranks of what is fixed lie before all others, so that addresses have it in
 * front of what loops move. */
enum { FIXED_RANK = INT_MIN / 2 };

LLVMBasicBlockRef llvm_fixed_begin(LlvmFunction *f)
{
	LLVMBasicBlockRef here = LLVMGetInsertBlock(f->gen->builder);
	LLVMPositionBuilderAtEnd(f->gen->builder, f->entry);
	return here;
}

void llvm_fixed_end(LlvmFunction *f, LLVMBasicBlockRef here, int temp)
{
	f->fixed[temp] = true;
	f->rank[temp] += FIXED_RANK;
	LLVMPositionBuilderAtEnd(f->gen->builder, here);
}

void llvm_temp_write(LlvmFunction *f, int temp, V value)
{
	f->rank[temp] = f->nranks++;
	if (f->assigned[temp] > 1) {
		LLVMBuildStore(f->gen->builder, value, slot_of(f, temp));
		return;
	}
	f->values[temp] = value;
	if (LLVMIsAInstruction(value)) {
		size_t size;
		if (!*LLVMGetValueName2(value, &size))
			LLVMSetValueName2(value, temp_of(f, temp)->name,
			    strlen(temp_of(f, temp)->name));
	}
}
