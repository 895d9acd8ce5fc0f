/* Sums of products (DOT) by the instruction that the target has; else written
 * out: terms of bf16 are the halves of 32 bits.
 *
 *     c = dot a, b, c     u8*i8 by fours    vpdpbusd, usdot
 *                         i8*i8, u8*u8      vpdpbssd, vpdpbuud, sdot, udot
 *                         i16*i16           pmaddwd, and what it gives is added:
 *                                           selection makes vpdpwssd of both
 *                         bf16*bf16         vdpbf16ps, bfdot: where subnormals
 *                                           may be flushed */
#include "codegen/llvm/module_llvm.h"

#include <string.h>

typedef LLVMValueRef V;

/* An instruction for vectors of some bytes. */
typedef struct {
	const char *dot; /* of intrinsics.def */
	Arch arch;
	CpuFeatures needs;
	int bytes;
	const char *name;
	/* its operands are vectors of 32 bits; its sums are not added to others */
	enum { PLAIN, WORDS, ADDED } kind;
} DotInstruction;

#define VNNI512 (FEATURE_BIT(AVX512VNNI) | FEATURE_BIT(AVX512VL))
#define BF512	(FEATURE_BIT(AVX512BF16) | FEATURE_BIT(AVX512VL))
#define VNNI8	FEATURE_BIT(AVXVNNIINT8)
static const DotInstruction instructions[] = {
    {"dot4_u8i8", ARCH_X86_64, FEATURE_BIT(AVX512VNNI), 64,
	"llvm.x86.avx512.vpdpbusd.512", WORDS},
    {"dot4_u8i8", ARCH_X86_64, VNNI512, 32, "llvm.x86.avx512.vpdpbusd.256",
	WORDS},
    {"dot4_u8i8", ARCH_X86_64, VNNI512, 16, "llvm.x86.avx512.vpdpbusd.128",
	WORDS},
    {"dot4_u8i8", ARCH_X86_64, FEATURE_BIT(AVXVNNI), 32,
	"llvm.x86.avx512.vpdpbusd.256", WORDS},
    {"dot4_u8i8", ARCH_X86_64, FEATURE_BIT(AVXVNNI), 16,
	"llvm.x86.avx512.vpdpbusd.128", WORDS},
    {"dot4_i8", ARCH_X86_64, VNNI8, 32, "llvm.x86.avx2.vpdpbssd.256", WORDS},
    {"dot4_i8", ARCH_X86_64, VNNI8, 16, "llvm.x86.avx2.vpdpbssd.128", WORDS},
    {"dot4_u8", ARCH_X86_64, VNNI8, 32, "llvm.x86.avx2.vpdpbuud.256", WORDS},
    {"dot4_u8", ARCH_X86_64, VNNI8, 16, "llvm.x86.avx2.vpdpbuud.128", WORDS},
    {"dot2_bf16", ARCH_X86_64, FEATURE_BIT(AVX512BF16), 64,
	"llvm.x86.avx512bf16.dpbf16ps.512", PLAIN},
    {"dot2_bf16", ARCH_X86_64, BF512, 32, "llvm.x86.avx512bf16.dpbf16ps.256",
	PLAIN},
    {"dot2_bf16", ARCH_X86_64, BF512, 16, "llvm.x86.avx512bf16.dpbf16ps.128",
	PLAIN},
    {"dot4_i8", ARCH_AARCH64, ARM_BIT(DOTPROD), 16, "llvm.aarch64.neon.sdot",
	PLAIN},
    {"dot4_u8", ARCH_AARCH64, ARM_BIT(DOTPROD), 16, "llvm.aarch64.neon.udot",
	PLAIN},
    {"dot4_u8i8", ARCH_AARCH64, ARM_BIT(I8MM), 16, "llvm.aarch64.neon.usdot",
	PLAIN},
    {"dot2_bf16", ARCH_AARCH64, ARM_BIT(BF16), 16, "llvm.aarch64.neon.bfdot",
	PLAIN},
    {"dot2_i16", ARCH_X86_64, FEATURE_BIT(AVX512BW), 64,
	"llvm.x86.avx512.pmaddw.d.512", ADDED},
    {"dot2_i16", ARCH_X86_64, FEATURE_BIT(AVX2), 32, "llvm.x86.avx2.pmadd.wd",
	ADDED},
    {"dot2_i16", ARCH_X86_64, 0, 16, "llvm.x86.sse2.pmadd.wd", ADDED},
};

static const DotInstruction *instruction_for(
    const LlvmGen *gen, const Intrinsic *in, int bytes)
{
	for (size_t i = 0; i < sizeof instructions / sizeof *instructions; i++) {
		const DotInstruction *d = &instructions[i];
		if (!strcmp(d->dot, in->name) && d->arch == gen->arch &&
		    d->bytes == bytes && !(d->needs & ~gen->features) &&
		    (!dtype_is_float(in->sum) || gen->flushes))
			return d;
	}
	return NULL;
}

/* LLVM's own type of an operand: what is bits here may have a name there. */
static LLVMTypeRef operand_type(
    LlvmGen *gen, const DotInstruction *d, DType type, int lanes, int terms)
{
	if (d->kind == WORDS)
		return llvm_int_type(gen, 32, lanes);
	if (type == DT_BF16)
		return llvm_lanes(
		    LLVMBFloatTypeInContext(gen->context), terms * lanes);
	return llvm_type(gen, type, terms * lanes);
}

static V by_instruction(LlvmGen *gen, const DotInstruction *d,
    const Intrinsic *in, V a, V b, V c, int lanes)
{
	LLVMBuilderRef bl = gen->builder;
	LLVMTypeRef type = operand_type(gen, d, in->a, lanes, in->terms);
	V args[] = {c, LLVMBuildBitCast(bl, a, type, ""),
	    LLVMBuildBitCast(bl, b, type, "")};
	LLVMTypeRef types[] = {LLVMTypeOf(c), type};
	if (d->kind == ADDED)
		return LLVMBuildAdd(bl, c,
		    llvm_intrinsic(gen, d->name, types, 0, args + 1, 2), "");
	return llvm_intrinsic(gen, d->name, types,
	    gen->arch == ARCH_AARCH64 ? 2 : 0, args, 3);
}

static V extended(LlvmGen *gen, DType type, V x, LLVMTypeRef wide)
{
	return llvm_is_signed(type) ? LLVMBuildSExt(gen->builder, x, wide, "")
				    : LLVMBuildZExt(gen->builder, x, wide, "");
}

static V sum_of_integers(
    LlvmGen *gen, const Intrinsic *in, V a, V b, V c, int lanes)
{
	LLVMBuilderRef bl = gen->builder;
	LLVMTypeRef wide = llvm_int_type(
	    gen, 8 * dtype_bytes(in->sum), in->terms * lanes);
	V p = LLVMBuildMul(bl, extended(gen, in->a, a, wide),
	    extended(gen, in->b, b, wide), "");
	for (int terms = in->terms; terms > 1; terms /= 2)
		p = LLVMBuildAdd(bl,
		    llvm_pick(gen, p, 0, 2, terms / 2 * lanes),
		    llvm_pick(gen, p, 1, 2, terms / 2 * lanes), "");
	return LLVMBuildAdd(bl, c, p, "");
}

/* Of pairs of bf16 the second, or the first: the halves of 32 bits. */
static V half(LlvmGen *gen, V pairs, bool second, int lanes)
{
	LLVMBuilderRef bl = gen->builder;
	V words = LLVMBuildBitCast(
	    bl, pairs, llvm_int_type(gen, 32, lanes), "");
	words = second
	    ? LLVMBuildAnd(
		  bl, words, llvm_int(gen, 32, -65536, lanes), "")
	    : LLVMBuildShl(bl, words, llvm_int(gen, 32, 16, lanes), "");
	return LLVMBuildBitCast(bl, words, llvm_type(gen, DT_F32, lanes), "");
}

static V sum_of_bf16(LlvmGen *gen, V a, V b, V c, int lanes)
{
	for (int second = 1; second >= 0; second--) {
		V args[] = {half(gen, a, second, lanes),
		    half(gen, b, second, lanes), c};
		c = llvm_intrinsic_of(gen, "llvm.fma", args, 3);
	}
	return c;
}

LLVMValueRef llvm_dot(LlvmGen *gen, const Intrinsic *in, V a, V b, V c,
    int lanes)
{
	const DotInstruction *d =
	    instruction_for(gen, in, lanes * dtype_bytes(in->sum));
	if (d)
		return by_instruction(gen, d, in, a, b, c, lanes);
	return in->a == DT_BF16 ? sum_of_bf16(gen, a, b, c, lanes)
				: sum_of_integers(gen, in, a, b, c, lanes);
}
