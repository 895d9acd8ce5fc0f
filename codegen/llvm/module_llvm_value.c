/* Types, constants and calls, all by lanes. */
#include "codegen/llvm/module_llvm.h"

#include <assert.h>
#include <string.h>

LLVMTypeRef llvm_scalar_type(LlvmGen *gen, DType type)
{
	switch (type) {
	case DT_F64:
		return LLVMDoubleTypeInContext(gen->context);
	case DT_F32:
		return LLVMFloatTypeInContext(gen->context);
	case DT_BOOL:
		return LLVMInt1TypeInContext(gen->context);
	default:
		return LLVMIntTypeInContext(
		    gen->context, 8 * (unsigned)dtype_bytes(type));
	}
}

LLVMTypeRef llvm_lanes(LLVMTypeRef scalar, int lanes)
{
	return lanes == 1 ? scalar : LLVMVectorType(scalar, (unsigned)lanes);
}

LLVMTypeRef llvm_type(LlvmGen *gen, DType type, int lanes)
{
	return llvm_lanes(llvm_scalar_type(gen, type), lanes);
}

LLVMTypeRef llvm_int_type(LlvmGen *gen, int bits, int lanes)
{
	return llvm_lanes(
	    LLVMIntTypeInContext(gen->context, (unsigned)bits), lanes);
}

LLVMTypeRef llvm_pointer_type(LlvmGen *gen)
{
	enum { GLOBAL_SPACE = 1 };
	return LLVMPointerTypeInContext(
	    gen->context, llvm_is_gpu(gen) ? GLOBAL_SPACE : 0);
}

bool llvm_is_signed(DType type)
{
	return !dtype_is_unsigned(type) && type != DT_BOOL;
}

bool llvm_has(const LlvmGen *gen, CpuFeature feature)
{
	return gen->arch == ARCH_X86_64 && (gen->features >> feature & 1);
}

bool llvm_is_gpu(const LlvmGen *gen)
{
	return gen->arch == ARCH_NVPTX || gen->arch == ARCH_AMDGPU;
}

LLVMValueRef llvm_splat(LlvmGen *gen, LLVMValueRef scalar, int lanes)
{
	if (lanes == 1)
		return scalar;
	if (LLVMIsConstant(scalar)) {
		LLVMValueRef all[64];
		for (int i = 0; i < lanes; i++)
			all[i] = scalar;
		return LLVMConstVector(all, (unsigned)lanes);
	}
	LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(scalar), (unsigned)lanes);
	LLVMValueRef one = LLVMBuildInsertElement(gen->builder,
	    LLVMGetPoison(type), scalar, llvm_int(gen, 32, 0, 1), "");
	return LLVMBuildShuffleVector(gen->builder, one, LLVMGetPoison(type),
	    LLVMConstNull(llvm_int_type(gen, 32, lanes)), "");
}

LLVMValueRef llvm_int(LlvmGen *gen, int bits, int64_t value, int lanes)
{
	return llvm_splat(gen,
	    LLVMConstInt(
		llvm_int_type(gen, bits, 1), (unsigned long long)value, true),
	    lanes);
}

LLVMValueRef llvm_resized(LlvmGen *gen, LLVMValueRef value, int bits, int lanes)
{
	return LLVMBuildIntCast2(gen->builder, value,
	    llvm_int_type(gen, bits, lanes), true, "");
}

LLVMValueRef llvm_float(LlvmGen *gen, DType type, double value, int lanes)
{
	if (dtype_is_half(type))
		return llvm_int(gen, 16,
		    type == DT_F16 ? f16_from_f64(value) : bf16_from_f64(value),
		    lanes);
	return llvm_splat(
	    gen, LLVMConstReal(llvm_scalar_type(gen, type), value), lanes);
}

LLVMValueRef llvm_pick(LlvmGen *gen, LLVMValueRef a, int first, int step, int n)
{
	LLVMValueRef lanes[64];
	if (n == 1)
		return LLVMBuildExtractElement(
		    gen->builder, a, llvm_int(gen, 32, first, 1), "");
	for (int i = 0; i < n; i++)
		lanes[i] = llvm_int(gen, 32, first + step * i, 1);
	return LLVMBuildShuffleVector(gen->builder, a,
	    LLVMGetPoison(LLVMTypeOf(a)), LLVMConstVector(lanes, (unsigned)n),
	    "");
}

LLVMValueRef llvm_intrinsic(LlvmGen *gen, const char *name, LLVMTypeRef *types,
    int ntypes, LLVMValueRef *args, int nargs)
{
	unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
	assert(id);
	LLVMValueRef f =
	    LLVMGetIntrinsicDeclaration(gen->module, id, types, (size_t)ntypes);
	return LLVMBuildCall2(gen->builder, LLVMGlobalGetValueType(f), f, args,
	    (unsigned)nargs, "");
}

LLVMValueRef llvm_intrinsic_of(
    LlvmGen *gen, const char *name, LLVMValueRef *args, int nargs)
{
	LLVMTypeRef type = LLVMTypeOf(args[0]);
	return llvm_intrinsic(gen, name, &type, 1, args, nargs);
}

LLVMValueRef llvm_assembly(LlvmGen *gen, const char *text,
    const char *constraints, LLVMTypeRef result, LLVMTypeRef *types,
    LLVMValueRef *args, int nargs)
{
	LLVMTypeRef type =
	    LLVMFunctionType(result, types, (unsigned)nargs, false);
	LLVMValueRef code = LLVMGetInlineAsm(type, text, strlen(text),
	    constraints, strlen(constraints), true, false,
	    LLVMInlineAsmDialectATT, false);
	LLVMValueRef call = LLVMBuildCall2(
	    gen->builder, type, code, args, (unsigned)nargs, "");
	/* not to be moved to where fewer threads are */
	LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex,
	    llvm_attribute(gen, "convergent", 0));
	return call;
}

LLVMAttributeRef llvm_attribute(LlvmGen *gen, const char *name, uint64_t value)
{
	unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
	assert(kind);
	return LLVMCreateEnumAttribute(gen->context, kind, value);
}

/* Pure, so that equal calls are made once; `nobuiltin`, so that none is folded
 * by the libm of the machine that compiles. */
static LLVMValueRef libm_function(
    LlvmGen *gen, const char *name, LLVMTypeRef type)
{
	LLVMValueRef f = LLVMGetNamedFunction(gen->module, name);
	if (f)
		return f;
	f = LLVMAddFunction(gen->module, name, type);
	static const char *const names[] = {"nounwind", "willreturn",
	    "nobuiltin", "memory"}; /* memory(none) is 0 */
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex,
		    llvm_attribute(gen, names[i], 0));
	return f;
}

LLVMValueRef llvm_libm(LlvmGen *gen, const char *name, DType type,
    LLVMValueRef *args, int nargs, int lanes)
{
	char full[32];
	if (llvm_is_gpu(gen))
		gen->lacks = name;
	LLVMTypeRef scalar = llvm_scalar_type(gen, type);
	LLVMTypeRef params[2] = {scalar, scalar};
	LLVMTypeRef signature =
	    LLVMFunctionType(scalar, params, (unsigned)nargs, false);
	strcpy(full, name);
	if (type == DT_F32)
		strcat(full, "f");
	LLVMValueRef function = libm_function(gen, full, signature);
	LLVMValueRef result = LLVMGetPoison(llvm_lanes(scalar, lanes));
	for (int l = 0; l < lanes; l++) {
		LLVMValueRef one[2], lane = llvm_int(gen, 32, l, 1);
		for (int i = 0; i < nargs; i++)
			one[i] = lanes == 1
				     ? args[i]
				     : LLVMBuildExtractElement(
					   gen->builder, args[i], lane, "");
		LLVMValueRef call = LLVMBuildCall2(gen->builder, signature,
		    function, one, (unsigned)nargs, "");
		LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex,
		    llvm_attribute(gen, "nobuiltin", 0));
		if (lanes == 1)
			return call;
		result = LLVMBuildInsertElement(
		    gen->builder, result, call, lane, "");
	}
	return result;
}
