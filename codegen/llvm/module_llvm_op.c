/* Operations on temporaries, one LLVM instruction each where there is one.
 * No fast-math flag is ever set: a lowered ADD is an add. */
#include "codegen/llvm/module_llvm.h"

typedef LLVMValueRef V;

static const LowTemp *temp_of(LlvmFunction *f, int temp)
{
	return &f->low->temps.at[temp];
}

/* --- by kind -------------------------------------------------------------- */

static V constant(LlvmGen *gen, const LowNode *node, const LowTemp *d)
{
	if (dtype_is_float(d->type))
		return llvm_float(gen, d->type, node->f, d->lanes);
	if (d->type == DT_BOOL)
		return llvm_int(gen, 1, node->i != 0, d->lanes);
	return llvm_int(gen, 8 * dtype_bytes(d->type), node->i, d->lanes);
}

/* 0, 1, 2 … as integers of `bits` bits. */
static V lane_numbers(LlvmGen *gen, int bits, int lanes)
{
	V numbers[64];
	for (int i = 0; i < lanes; i++)
		numbers[i] = llvm_int(gen, bits, i, 1);
	return lanes == 1 ? numbers[0]
			  : LLVMConstVector(numbers, (unsigned)lanes);
}

/* The count is clamped to 0 .. lanes, so that lanes of 32 bits compare. */
static V lanes_below(LlvmGen *gen, V count, int lanes)
{
	int bits = (int)LLVMGetIntTypeWidth(LLVMTypeOf(count));
	V most[] = {count, llvm_int(gen, bits, lanes, 1)};
	most[0] = llvm_intrinsic_of(gen, "llvm.smin", most, 2);
	most[1] = llvm_int(gen, bits, 0, 1);
	count = llvm_intrinsic_of(gen, "llvm.smax", most, 2);
	count = llvm_resized(gen, count, 32, 1);
	return LLVMBuildICmp(gen->builder, LLVMIntSLT,
	    lane_numbers(gen, 32, lanes), llvm_splat(gen, count, lanes), "");
}

static V extract(LlvmGen *gen, V a, int64_t lane, int lanes)
{
	return lanes == 1 ? a
			  : LLVMBuildExtractElement(gen->builder, a,
				llvm_int(gen, 32, lane, 1), "");
}

static V insert(LlvmGen *gen, V a, V b, int64_t lane, int lanes)
{
	return lanes == 1 ? b
			  : LLVMBuildInsertElement(gen->builder, a, b,
				llvm_int(gen, 32, lane, 1), "");
}

/* All of a, of few bytes, again and again: one word in all lanes.  Elsewhere than
 * on x86-64 LLVM would widen the elements, and narrow them again. */
static V repeated(LlvmGen *gen, const LowNode *node, V a, int from, int to)
{
	LLVMBuilderRef bl = gen->builder;
	LLVMTypeRef element = LLVMGetElementType(LLVMTypeOf(a));
	if (LLVMGetTypeKind(element) != LLVMIntegerTypeKind ||
	    LLVMGetIntTypeWidth(element) < 8)
		return NULL;
	int bits = from * (int)LLVMGetIntTypeWidth(element);
	for (int i = 0; i < to; i++)
		if (node->shuffle[i] != i % from)
			return NULL;
	if (to % from || to == from || (bits != 32 && bits != 64))
		return NULL;
	V word = LLVMBuildBitCast(bl, a, llvm_int_type(gen, bits, 1), "");
	return LLVMBuildBitCast(bl, llvm_splat(gen, word, to / from),
	    llvm_lanes(element, to), "");
}

static V shuffle(LlvmGen *gen, const LowNode *node, V a, V b, int from, int to)
{
	V lanes[64];
	V words = from > 1 && !llvm_is_gpu(gen)
	    ? repeated(gen, node, a, from, to) : NULL;
	if (words)
		return words;
	if (from == 1 || to == 1) { /* LLVM shuffles vectors only */
		V result = LLVMGetPoison(
		    llvm_lanes(from == 1 ? LLVMTypeOf(a)
					 : LLVMGetElementType(LLVMTypeOf(a)),
			to));
		for (int i = 0; i < to; i++) {
			int l = node->shuffle[i];
			V x = extract(gen, l < from ? a : b, l % from, from);
			result = insert(gen, result, x, i, to);
		}
		return result;
	}
	for (int i = 0; i < to; i++)
		lanes[i] = llvm_int(gen, 32, node->shuffle[i], 1);
	return LLVMBuildShuffleVector(gen->builder, a,
	    b ? b : LLVMGetPoison(LLVMTypeOf(a)),
	    LLVMConstVector(lanes, (unsigned)to), "");
}

/* The instruction that looks up in a register of 32-bit elements; NULL. */
static V by_instruction(LlvmGen *gen, V a, V i, bool is_float, int lanes)
{
	bool whole = lanes == 16;
	CpuFeatures needs = whole ? FEATURE_BIT(AVX512F) : FEATURE_BIT(AVX2);
	V args[] = {a, i};
	if (gen->arch != ARCH_X86_64 || (needs & ~gen->features))
		return NULL;
	return llvm_intrinsic(gen,
	    whole	   ? is_float ? "llvm.x86.avx512.permvar.sf.512"
				      : "llvm.x86.avx512.permvar.si.512"
		: is_float ? "llvm.x86.avx2.permps"
			   : "llvm.x86.avx2.permd",
	    NULL, 0, args, 2);
}

static V permute(LlvmGen *gen, bool is_float, V a, V i, int from, int to)
{
	LLVMBuilderRef b = gen->builder;
	V x = NULL,
	  result =
	      LLVMGetPoison(llvm_lanes(LLVMGetElementType(LLVMTypeOf(a)), to));
	i = LLVMBuildIntCast2(b, i, llvm_int_type(gen, 32, to), true, "");
	if (from == to && (to == 8 || to == 16))
		x = by_instruction(gen, a, i, is_float, to);
	i = LLVMBuildAnd(b, i, llvm_int(gen, 32, from - 1, to), "");
	for (int l = 0; l < to && !x; l++)
		result = insert(gen, result,
		    LLVMBuildExtractElement(b, a, extract(gen, i, l, to), ""),
		    l, to);
	return x ? x : result;
}

/* --- arithmetic ----------------------------------------------------------- */

/* k where all lanes are the constant 2^k, else -1. */
static int power_of_two(V x)
{
	if (!LLVMIsConstant(x))
		return -1;
	if (LLVMGetTypeKind(LLVMTypeOf(x)) == LLVMVectorTypeKind) {
		V first = LLVMGetAggregateElement(x, 0);
		unsigned n = LLVMGetVectorSize(LLVMTypeOf(x));
		for (unsigned i = 1; i < n; i++)
			if (LLVMGetAggregateElement(x, i) != first)
				return -1;
		x = first;
	}
	if (!x || !LLVMIsAConstantInt(x))
		return -1;
	long long value = LLVMConstIntGetSExtValue(x);
	for (int k = 0; k < 62; k++)
		if (value == 1LL << k)
			return k;
	return -1;
}

/* Both floor, b > 0: what rounds towards zero is mended where the remainder is
 * negative. */
static V floor_division(LlvmGen *gen, LowOpcode op, DType type, V a, V b)
{
	LLVMBuilderRef bl = gen->builder;
	LLVMTypeRef t = LLVMTypeOf(a);
	V zero = LLVMConstNull(t);
	int k = power_of_two(b), bits = 8 * dtype_bytes(type);
	int lanes = LLVMGetTypeKind(t) == LLVMVectorTypeKind
			? (int)LLVMGetVectorSize(t)
			: 1;
	bool sign = llvm_is_signed(type);
	if (k >= 0 && op == LOW_MOD)
		return LLVMBuildAnd(bl, a,
		    llvm_int(gen, bits, (INT64_C(1) << k) - 1, lanes), "");
	if (k >= 0)
		return (sign ? LLVMBuildAShr : LLVMBuildLShr)(
		    bl, a, llvm_int(gen, bits, k, lanes), "");
	if (!sign)
		return op == LOW_MOD ? LLVMBuildURem(bl, a, b, "")
				     : LLVMBuildUDiv(bl, a, b, "");
	V r = LLVMBuildSRem(bl, a, b, "");
	V negative = LLVMBuildICmp(bl, LLVMIntSLT, r, zero, "");
	if (op == LOW_MOD)
		return LLVMBuildSelect(
		    bl, negative, LLVMBuildAdd(bl, r, b, ""), r, "");
	V q = LLVMBuildSDiv(bl, a, b, "");
	return LLVMBuildAdd(bl, q, LLVMBuildSExt(bl, negative, t, ""), "");
}

static V arithmetic(
    LlvmGen *gen, LowOpcode op, DType type, bool index, V a, V b)
{
	LLVMBuilderRef bl = gen->builder;
	bool real = dtype_is_float(type);
	V args[2] = {a, llvm_int(gen, 1, 0, 1)};
	switch (op) {
	case LOW_ADD:
		return real    ? LLVMBuildFAdd(bl, a, b, "")
		       : index ? LLVMBuildNSWAdd(bl, a, b, "")
			       : LLVMBuildAdd(bl, a, b, "");
	case LOW_SUB:
		return real    ? LLVMBuildFSub(bl, a, b, "")
		       : index ? LLVMBuildNSWSub(bl, a, b, "")
			       : LLVMBuildSub(bl, a, b, "");
	case LOW_MUL:
		return real    ? LLVMBuildFMul(bl, a, b, "")
		       : index ? LLVMBuildNSWMul(bl, a, b, "")
			       : LLVMBuildMul(bl, a, b, "");
	case LOW_DIV:
		return LLVMBuildFDiv(bl, a, b, "");
	case LOW_XOR:
		return LLVMBuildXor(bl, a, b, "");
	case LOW_NEG:
		return real ? LLVMBuildFNeg(bl, a, "")
			    : LLVMBuildNeg(bl, a, "");
	case LOW_ABS:
		if (dtype_is_unsigned(type))
			return a;
		return llvm_intrinsic_of(
		    gen, real ? "llvm.fabs" : "llvm.abs", args, real ? 1 : 2);
	default:
		return floor_division(gen, op, type, a, b);
	}
}

static V compare(LlvmGen *gen, LowOpcode op, DType type, V a, V b)
{
	LLVMRealPredicate real = op == LOW_LT	? LLVMRealOLT
				 : op == LOW_LE ? LLVMRealOLE
				 : op == LOW_EQ ? LLVMRealOEQ
						: LLVMRealUNE;
	LLVMIntPredicate sign = op == LOW_LT ? LLVMIntSLT : LLVMIntSLE;
	LLVMIntPredicate none = op == LOW_LT ? LLVMIntULT : LLVMIntULE;
	if (dtype_is_float(type))
		return LLVMBuildFCmp(gen->builder, real, a, b, "");
	if (op == LOW_EQ || op == LOW_NE)
		return LLVMBuildICmp(gen->builder,
		    op == LOW_EQ ? LLVMIntEQ : LLVMIntNE, a, b, "");
	return LLVMBuildICmp(
	    gen->builder, llvm_is_signed(type) ? sign : none, a, b, "");
}

static V shift(LlvmGen *gen, LowOpcode op, const LowTemp *d, V a, V n)
{
	LLVMBuilderRef bl = gen->builder;
	int width = 8 * dtype_bytes(d->type);
	n = LLVMBuildAnd(
	    bl, n, llvm_int(gen, width, width - 1, d->lanes), "");
	return op == LOW_SHL ? LLVMBuildShl(bl, a, n, "")
	    : llvm_is_signed(d->type) ? LLVMBuildAShr(bl, a, n, "")
				      : LLVMBuildLShr(bl, a, n, "");
}

/* Of a comparison of floats the opposite one: LLVM does not see it in masks. */
static V negated(LlvmGen *gen, V a)
{
	if (!LLVMIsAFCmpInst(a))
		return LLVMBuildNot(gen->builder, a, "");
	V x = LLVMGetOperand(a, 0), y = LLVMGetOperand(a, 1);
	switch (LLVMGetFCmpPredicate(a)) {
	case LLVMRealOLT:
		return LLVMBuildFCmp(gen->builder, LLVMRealUGE, x, y, "");
	case LLVMRealOLE:
		return LLVMBuildFCmp(gen->builder, LLVMRealUGT, x, y, "");
	case LLVMRealOEQ:
		return LLVMBuildFCmp(gen->builder, LLVMRealUNE, x, y, "");
	default:
		return LLVMBuildNot(gen->builder, a, "");
	}
}

/* a < b ? a : b and a > b ? a : b, to the letter: with NaN, b. */
static V least_or_most(LlvmGen *gen, LowOpcode op, DType type, V a, V b)
{
	V take_a = op == LOW_MIN ? compare(gen, LOW_LT, type, a, b)
				 : compare(gen, LOW_LT, type, b, a);
	return LLVMBuildSelect(gen->builder, take_a, a, b, "");
}

/* Of eight lanes, those that are not there off. */
static V widened_mask(LlvmGen *gen, V mask, int lanes)
{
	V order[8];
	for (int i = 0; i < 8; i++)
		order[i] = llvm_int(gen, 32, i < lanes ? i : lanes, 1);
	return LLVMBuildShuffleVector(gen->builder, mask,
	    LLVMConstNull(LLVMTypeOf(mask)), LLVMConstVector(order, 8), "");
}

static V scale_instruction(
    LlvmGen *gen, DType type, V a, V b, V mask, int lanes)
{
	static const char *const names[2][3] = {
	    {"llvm.x86.avx512.mask.scalef.ps.128",
		"llvm.x86.avx512.mask.scalef.ps.256",
		"llvm.x86.avx512.mask.scalef.ps.512"},
	    {"llvm.x86.avx512.mask.scalef.pd.128",
		"llvm.x86.avx512.mask.scalef.pd.256",
		"llvm.x86.avx512.mask.scalef.pd.512"}};
	int bytes = lanes * dtype_bytes(type);
	int width = bytes == 16 ? 0 : bytes == 32 ? 1 : bytes == 64 ? 2 : -1;
	if (width < 0 || !llvm_has(gen, FEATURE_AVX512F) ||
	    (width < 2 && !llvm_has(gen, FEATURE_AVX512VL)))
		return NULL;
	if (lanes < 8 && mask)
		mask = widened_mask(gen, mask, lanes);
	LLVMTypeRef bits = llvm_int_type(gen, lanes == 16 ? 16 : 8, 1);
	mask = mask ? LLVMBuildBitCast(gen->builder, mask, bits, "")
		    : LLVMConstAllOnes(bits);
	V as_the_mode_says = llvm_int(gen, 32, 4, 1);
	V args[] = {a, b, LLVMConstNull(LLVMTypeOf(a)), mask, as_the_mode_says};
	return llvm_intrinsic(gen, names[type == DT_F64][width], NULL, 0, args,
	    width == 2 ? 5 : 4);
}

/* a * 2^b: of NaN, which no integer is, it is b. */
static V scale(LlvmGen *gen, DType type, V a, V b, V mask, int lanes)
{
	LLVMBuilderRef bl = gen->builder;
	V y = scale_instruction(gen, type, a, b, mask, lanes);
	if (y)
		return y;
	LLVMTypeRef t = LLVMTypeOf(a), i32 = llvm_int_type(gen, 32, lanes);
	LLVMTypeRef from[] = {i32, t}, both[] = {t, i32};
	V n = llvm_intrinsic(gen, "llvm.fptosi.sat", from, 2, &b, 1);
	y = llvm_intrinsic(gen, "llvm.ldexp", both, 2, (V[]){a, n}, 2);
	y = LLVMBuildSelect(
	    bl, LLVMBuildFCmp(bl, LLVMRealUNO, b, b, ""), b, y, "");
	return mask ? LLVMBuildSelect(bl, mask, y, LLVMConstNull(t), "") : y;
}

/* 1/sqrt(a), an estimate where there is an instruction for it. */
static V rsqrt(LlvmGen *gen, V a, int lanes)
{
	LLVMBuilderRef bl = gen->builder;
	int width = lanes == 4 ? 0 : lanes == 8 ? 1 : lanes == 16 ? 2 : -1;
	static const char *const names[] = {"llvm.x86.avx512.rsqrt14.ps.128",
	    "llvm.x86.avx512.rsqrt14.ps.256", "llvm.x86.avx512.rsqrt14.ps.512"};
	if (width >= 0 && llvm_has(gen, FEATURE_AVX512F) &&
	    (width == 2 || llvm_has(gen, FEATURE_AVX512VL))) {
		LLVMTypeRef bits = llvm_int_type(gen, lanes == 16 ? 16 : 8, 1);
		V args[] = {a, LLVMConstNull(LLVMTypeOf(a)),
		    LLVMConstAllOnes(bits)};
		return llvm_intrinsic(gen, names[width], NULL, 0, args, 3);
	}
	return LLVMBuildFDiv(bl, llvm_float(gen, DT_F32, 1, lanes),
	    llvm_intrinsic_of(gen, "llvm.sqrt", &a, 1), "");
}

/* --- functions ------------------------------------------------------------ */

static V math(LlvmGen *gen, Op op, DType type, V *args, int lanes)
{
	LLVMBuilderRef b = gen->builder;
	V one = llvm_float(gen, type, 1, lanes), x;
	switch (op) {
	case OP_SQRT:
		return llvm_intrinsic_of(gen, "llvm.sqrt", args, 1);
	case OP_RSQRT:
		return LLVMBuildFDiv(
		    b, one, llvm_intrinsic_of(gen, "llvm.sqrt", args, 1), "");
	case OP_FLOOR:
		return llvm_intrinsic_of(gen, "llvm.floor", args, 1);
	case OP_CEIL:
		return llvm_intrinsic_of(gen, "llvm.ceil", args, 1);
	case OP_TRUNC:
		return llvm_intrinsic_of(gen, "llvm.trunc", args, 1);
	/* rounds as the mode says, to nearest even; every libm has it */
	case OP_ROUND:
		return llvm_intrinsic_of(gen, "llvm.nearbyint", args, 1);
	case OP_SIGMOID:
		x = LLVMBuildFNeg(b, args[0], "");
		x = llvm_libm(gen, "exp", type, &x, 1, lanes);
		return LLVMBuildFDiv(b, one, LLVMBuildFAdd(b, one, x, ""), "");
	default:
		return llvm_libm(
		    gen, op_name(op), type, args, op_arity(op), lanes);
	}
}

/* With the types that its values are held in: `d`, and `a` of its first
 * argument.  An index does not overflow. */
static V operate(LlvmFunction *f, const LowNode *node, V *args,
    const LowTemp *d, const LowTemp *a, bool index)
{
	LlvmGen *gen = f->gen;
	LLVMBuilderRef b = gen->builder;
	switch (node->op) {
	case LOW_CONST:
		return constant(gen, node, d);
	case LOW_COPY:
		return args[0];
	case LOW_IOTA:
		return LLVMBuildAdd(b, llvm_splat(gen, args[0], d->lanes),
		    lane_numbers(gen, 8 * dtype_bytes(d->type), d->lanes), "");
	case LOW_LANES_BELOW:
		return lanes_below(gen, args[0], d->lanes);
	case LOW_BROADCAST:
		return llvm_splat(gen, args[0], d->lanes);
	case LOW_EXTRACT:
		return extract(gen, args[0], node->i, a->lanes);
	case LOW_INSERT:
		return insert(gen, args[0], args[1], node->i, d->lanes);
	case LOW_SHUFFLE:
		return shuffle(gen, node, args[0], args[1], a->lanes, d->lanes);
	case LOW_PERMUTE:
		return permute(gen, d->type == DT_F32, args[0], args[1],
		    a->lanes, d->lanes);
	case LOW_CONVERT:
		return llvm_convert(gen, args[0], a->type, d->type, d->lanes);
	case LOW_BITS:
		return LLVMBuildBitCast(
		    b, args[0], llvm_type(gen, d->type, d->lanes), "");
	case LOW_MIN:
	case LOW_MAX:
		return least_or_most(gen, node->op, d->type, args[0], args[1]);
	case LOW_FMA:
		return llvm_intrinsic_of(gen, "llvm.fma", args, 3);
	case LOW_SCALE:
		return scale(
		    gen, d->type, args[0], args[1], args[2], d->lanes);
	case LOW_RSQRT:
		return rsqrt(gen, args[0], d->lanes);
	case LOW_LT:
	case LOW_LE:
	case LOW_EQ:
	case LOW_NE:
		return compare(gen, node->op, a->type, args[0], args[1]);
	case LOW_SHL:
	case LOW_SHR:
		return shift(gen, node->op, d, args[0], args[1]);
	case LOW_POPCOUNT:
		return llvm_intrinsic_of(gen, "llvm.ctpop", args, 1);
	case LOW_AND:
		return LLVMBuildAnd(b, args[0], args[1], "");
	case LOW_OR:
		return LLVMBuildOr(b, args[0], args[1], "");
	case LOW_NOT:
		return negated(gen, args[0]);
	case LOW_ANY:
		return a->lanes == 1 ? args[0]
			: llvm_intrinsic_of(
			      gen, "llvm.vector.reduce.or", args, 1);
	case LOW_SELECT:
		return LLVMBuildSelect(b, args[0], args[1], args[2], "");
	case LOW_MATH:
		return math(gen, node->math, d->type, args, d->lanes);
	case LOW_WARP_XOR:
		return llvm_launch_xor(gen, d->type, args[0], node->i);
	case LOW_ROUND_TF32:
		return llvm_round_tf32(gen, args[0], d->lanes);
	case LOW_MMA:
		return llvm_mma(f, node, args);
	case LOW_DOT:
		return llvm_dot(gen,
		    intrinsic_of(a->type, temp_of(f, node->arg[1])->type),
		    args[0], args[1], args[2], d->lanes);
	default:
		return arithmetic(gen, node->op, d->type, index, args[0],
		    args[1]);
	}
}

static bool is_index(LlvmFunction *f, int temp)
{
	return temp >= 0 && temp_of(f, temp)->type == DT_INDEX;
}

/* In 64 bits where it has an index that is not narrow.  A conversion takes what
 * there is and gives what is wanted; of LANES_BELOW the count is an index. */
static V operate_held(LlvmFunction *f, const LowNode *node, V *args)
{
	LowTemp d = *temp_of(f, node->dst);
	LowTemp a = node->arg[0] >= 0 ? *temp_of(f, node->arg[0]) : d;
	DType result = llvm_held_as(f, node->dst);
	bool index = is_index(f, node->dst) || is_index(f, node->arg[0]);
	bool wide = is_index(f, node->dst) && result == DT_INDEX;
	for (int i = 0; i < 3; i++)
		wide |= node->arg[i] >= 0 &&
		    llvm_held_as(f, node->arg[i]) == DT_INDEX;
	if (node->op == LOW_CONVERT) {
		a.type = llvm_held_as(f, node->arg[0]);
		d.type = result;
		return operate(f, node, args, &d, &a, false);
	}
	DType held = wide ? DT_INDEX : DT_I32;
	for (int i = 0; i < 3; i++)
		if (is_index(f, node->arg[i]))
			args[i] = llvm_resized(f->gen, args[i],
			    8 * dtype_bytes(held),
			    temp_of(f, node->arg[i])->lanes);
	a.type = a.type == DT_INDEX ? held : a.type;
	if (d.type != DT_INDEX)
		return operate(f, node, args, &d, &a, index);
	d.type = held;
	return llvm_resized(f->gen, operate(f, node, args, &d, &a, index),
	    8 * dtype_bytes(result), d.lanes);
}

/* Of the numbers of block and thread, and constants, alone; an integer's
 * operation that cannot fail. */
static bool is_fixed(const LlvmFunction *f, const LowNode *node)
{
	if (!llvm_is_gpu(f->gen) || node->dst < 0 ||
	    f->assigned[node->dst] > 1 || node->buffer >= 0 ||
	    f->low->temps.at[node->dst].type != DT_INDEX ||
	    f->low->temps.at[node->dst].lanes > 1)
		return false;
	for (int i = 0; i < 3; i++)
		if (node->arg[i] >= 0 && !f->fixed[node->arg[i]])
			return false;
	return true;
}

void llvm_op_emit(LlvmFunction *f, const LowNode *node)
{
	V args[3] = {NULL, NULL, NULL};
	LLVMBasicBlockRef here = NULL;
	if (node->buffer >= 0) {
		llvm_memory_emit(f, node);
		return;
	}
	if (node->op == LOW_BARRIER) {
		llvm_launch_barrier(f->gen, node);
		return;
	}
	if (node->op == LOW_COMMIT || node->op == LOW_WAIT) {
		llvm_launch_copies(f->gen, node);
		return;
	}
	bool fixed = is_fixed(f, node);
	if (fixed)
		here = llvm_fixed_begin(f);
	for (int i = 0; i < 3; i++)
		if (node->arg[i] >= 0)
			args[i] = llvm_temp_read(f, node->arg[i]);
	llvm_temp_write(f, node->dst, operate_held(f, node, args));
	if (fixed)
		llvm_fixed_end(f, here, node->dst);
}
