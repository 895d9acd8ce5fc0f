/* Conversions.  f16 and bf16 are bits here; they come from f32 and go to f32,
 * and what is wider comes by way of f32 rounded to odd, which rounding again
 * cannot tell from the exact value (Boldo and Melquiond, "Emulation of FMA and
 * correctly rounded sums", 2008). */
#include <math.h>

#include "codegen/llvm/module_llvm.h"

typedef LLVMValueRef V;

typedef struct {
	LlvmGen *gen;
	LLVMBuilderRef b;
	int lanes;
} Cast;

static V bits_of(Cast *c, V x) /* f32 -> i32 */
{
	return LLVMBuildBitCast(
	    c->b, x, llvm_int_type(c->gen, 32, c->lanes), "");
}

static V float_of(Cast *c, V x) /* i32 -> f32 */
{
	return LLVMBuildBitCast(
	    c->b, x, llvm_type(c->gen, DT_F32, c->lanes), "");
}

static V i32(Cast *c, uint32_t value)
{
	return llvm_int(c->gen, 32, (int32_t)value, c->lanes);
}

static V to_16_bits(Cast *c, V x)
{
	return LLVMBuildTrunc(c->b, x, llvm_int_type(c->gen, 16, c->lanes), "");
}

static bool has_half(const LlvmGen *gen)
{
	return gen->arch == ARCH_AARCH64 || gen->arch == ARCH_AMDGPU ||
	    llvm_has(gen, FEATURE_F16C);
}

static LLVMTypeRef half_type(Cast *c)
{
	return llvm_lanes(LLVMHalfTypeInContext(c->gen->context), c->lanes);
}

/* --- to f32 --------------------------------------------------------------- */

static V bf16_to_float(Cast *c, V x)
{
	x = LLVMBuildZExt(c->b, x, llvm_int_type(c->gen, 32, c->lanes), "");
	return float_of(c, LLVMBuildShl(c->b, x, i32(c, 16), ""));
}

/* By bits, as Giesen, "half_to_float_fast5": the exponent is moved, infinities
 * and NaNs moved once more, subnormals are renormalized by a subtraction. */
static V f16_to_float(Cast *c, V x)
{
	LLVMBuilderRef b = c->b;
	if (has_half(c->gen))
		return LLVMBuildFPExt(b,
		    LLVMBuildBitCast(b, x, half_type(c), ""),
		    llvm_type(c->gen, DT_F32, c->lanes), "");
	x = LLVMBuildZExt(b, x, llvm_int_type(c->gen, 32, c->lanes), "");
	V m = LLVMBuildShl(
	    b, LLVMBuildAnd(b, x, i32(c, 0x7fff), ""), i32(c, 13), "");
	V exponent = LLVMBuildAnd(b, m, i32(c, 0x0f800000), "");
	V normal = LLVMBuildAdd(b, m, i32(c, 112u << 23), "");
	V special = LLVMBuildAdd(b, normal, i32(c, 112u << 23), "");
	V tiny = bits_of(
	    c, LLVMBuildFSub(b,
		   float_of(c, LLVMBuildAdd(b, normal, i32(c, 1u << 23), "")),
		   float_of(c, i32(c, 113u << 23)), ""));
	V is_special =
	    LLVMBuildICmp(b, LLVMIntEQ, exponent, i32(c, 0x0f800000), "");
	V is_tiny = LLVMBuildICmp(b, LLVMIntEQ, exponent, i32(c, 0), "");
	V r = LLVMBuildSelect(b, is_special, special, normal, "");
	r = LLVMBuildSelect(b, is_tiny, tiny, r, "");
	V sign = LLVMBuildShl(
	    b, LLVMBuildAnd(b, x, i32(c, 0x8000), ""), i32(c, 16), "");
	return float_of(c, LLVMBuildOr(b, r, sign, ""));
}

/* --- from f32 ------------------------------------------------------------- */

/* Adding just under half, and the last bit kept, rounds to nearest even; NaNs
 * would overflow and stay NaNs by their quiet bit. */
static V bf16_from_float(Cast *c, V value)
{
	LLVMBuilderRef b = c->b;
	V x = bits_of(c, value);
	V high = LLVMBuildLShr(b, x, i32(c, 16), "");
	V odd = LLVMBuildAnd(b, high, i32(c, 1), "");
	V rounded = LLVMBuildLShr(b,
	    LLVMBuildAdd(b, LLVMBuildAdd(b, x, i32(c, 0x7fff), ""), odd, ""),
	    i32(c, 16), "");
	V nan = LLVMBuildOr(b, high, i32(c, 0x40), "");
	V is_nan = LLVMBuildFCmp(b, LLVMRealUNO, value, value, "");
	return to_16_bits(c, LLVMBuildSelect(b, is_nan, nan, rounded, ""));
}

/* By bits, as Giesen, "float_to_half_fast3_rtne". */
static V f16_from_float(Cast *c, V value)
{
	LLVMBuilderRef b = c->b;
	if (has_half(c->gen))
		return LLVMBuildBitCast(b,
		    LLVMBuildFPTrunc(b, value, half_type(c), ""),
		    llvm_int_type(c->gen, 16, c->lanes), "");
	V x = bits_of(c, value);
	V m = LLVMBuildAnd(b, x, i32(c, 0x7fffffff), "");
	V sign = LLVMBuildAnd(
	    b, LLVMBuildLShr(b, x, i32(c, 16), ""), i32(c, 0x8000), "");
	V odd =
	    LLVMBuildAnd(b, LLVMBuildLShr(b, m, i32(c, 13), ""), i32(c, 1), "");
	V normal = LLVMBuildAdd(b,
	    LLVMBuildAdd(b, m, i32(c, 0u - (112u << 23) + 0xfff), ""), odd, "");
	normal = LLVMBuildLShr(b, normal, i32(c, 13), "");
	/* Adding 0.5 rounds a subnormal at its last place. */
	V tiny = LLVMBuildSub(b,
	    bits_of(c, LLVMBuildFAdd(b, float_of(c, m),
			   float_of(c, i32(c, 126u << 23)), "")),
	    i32(c, 126u << 23), "");
	V nan = LLVMBuildOr(b,
	    LLVMBuildAnd(
		b, LLVMBuildLShr(b, m, i32(c, 13), ""), i32(c, 0x3ff), ""),
	    i32(c, 0x7e00), "");
	V is_tiny = LLVMBuildICmp(b, LLVMIntULT, m, i32(c, 0x38800000), "");
	V is_huge = LLVMBuildICmp(b, LLVMIntUGE, m, i32(c, 0x47800000), "");
	V is_nan = LLVMBuildICmp(b, LLVMIntUGT, m, i32(c, 0x7f800000), "");
	V r = LLVMBuildSelect(b, is_tiny, tiny, normal, "");
	r = LLVMBuildSelect(b, is_huge, i32(c, 0x7c00), r, "");
	r = LLVMBuildSelect(b, is_nan, nan, r, "");
	return to_16_bits(c, LLVMBuildOr(b, r, sign, ""));
}

/* --- from wider ----------------------------------------------------------- */

/* f64 -> f32 rounded to odd: towards zero, and the last bit set if inexact.
 * NaNs compare as neither. */
static V narrow_to_odd(Cast *c, V x)
{
	LLVMBuilderRef b = c->b;
	V r = LLVMBuildFPTrunc(b, x, llvm_type(c->gen, DT_F32, c->lanes), "");
	V back = LLVMBuildFPExt(b, r, LLVMTypeOf(x), "");
	V too_far = LLVMBuildFCmp(b, LLVMRealOGT,
	    llvm_intrinsic_of(c->gen, "llvm.fabs", &back, 1),
	    llvm_intrinsic_of(c->gen, "llvm.fabs", &x, 1), "");
	V inexact = LLVMBuildFCmp(b, LLVMRealONE, back, x, "");
	V bits = bits_of(c, r);
	LLVMTypeRef type = LLVMTypeOf(bits);
	bits = LLVMBuildSub(b, bits, LLVMBuildZExt(b, too_far, type, ""), "");
	bits = LLVMBuildOr(b, bits, LLVMBuildZExt(b, inexact, type, ""), "");
	return float_of(c, bits);
}

/* i64 or u64 -> f64, exact or rounded to odd: beyond 2^24 the eleven lowest bits
 * become one sticky bit, far below the last place of what it is rounded to next. */
static V wide_int_to_odd(Cast *c, V x, DType from)
{
	LLVMBuilderRef b = c->b;
	V low = llvm_int(c->gen, 64, 2047, c->lanes);
	V rest = LLVMBuildAnd(b, x, low, "");
	V zero = llvm_int(c->gen, 64, 0, c->lanes);
	V sticky =
	    LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntEQ, rest, zero, ""),
		zero, llvm_int(c->gen, 64, 2048, c->lanes), "");
	V odd = LLVMBuildOr(
	    b, LLVMBuildAnd(b, x, LLVMBuildNot(b, low, ""), ""), sticky, "");
	V small = LLVMBuildICmp(b, LLVMIntULT,
	    LLVMBuildAdd(b, x, llvm_int(c->gen, 64, 1 << 24, c->lanes), ""),
	    llvm_int(c->gen, 64, 1 << 25, c->lanes), "");
	return (llvm_is_signed(from) ? LLVMBuildSIToFP : LLVMBuildUIToFP)(b,
	    LLVMBuildSelect(b, small, x, odd, ""),
	    llvm_type(c->gen, DT_F64, c->lanes), "");
}

static bool is_wide_float(DType type)
{
	return type == DT_F32 || type == DT_F64;
}

static V to_short_float(Cast *c, V x, DType from, DType to)
{
	if (!dtype_is_float(from) && dtype_bytes(from) == 8) {
		x = wide_int_to_odd(c, x, from);
		from = DT_F64;
	} else if (!dtype_is_float(from)) { /* exact */
		DType by = dtype_bytes(from) == 4 ? DT_F64 : DT_F32;
		x = llvm_convert(c->gen, x, from, by, c->lanes);
		from = by;
	}
	if (from == DT_F64)
		x = narrow_to_odd(c, x);
	return to == DT_F16 ? f16_from_float(c, x) : bf16_from_float(c, x);
}

/* The integers' ends as floats: the greatest float that is not above them. */
typedef struct {
	double least, greatest;
	bool exact; /* greatest is the integer itself */
} Ends;

static Ends ends_of(DType from, DType to)
{
	bool wide = from == DT_F64;
	switch (to) {
	case DT_U64:
		return (Ends){0, wide ? 0x1.fffffffffffffp63 : 0x1.fffffep63,
		    false};
	case DT_U32:
		return wide ? (Ends){0, UINT32_MAX, true}
			    : (Ends){0, 0x1.fffffep31, false};
	case DT_U16: return (Ends){0, UINT16_MAX, true};
	case DT_U8: return (Ends){0, 255, true};
	case DT_I8: return (Ends){-128, 127, true};
	case DT_I16: return (Ends){-32768, 32767, true};
	case DT_I32:
		return wide ? (Ends){-0x1p31, 2147483647, true}
			    : (Ends){-0x1p31, 0x1.fffffep30, false};
	default:
		return (Ends){-0x1p63,
		    wide ? 0x1.fffffffffffffp62 : 0x1.fffffep62, false};
	}
}

/* Is it one number in all lanes? */
static bool is_number(V x, int lanes, double *value)
{
	for (int i = 0; i < lanes; i++) {
		V lane = LLVMIsAConstantDataVector(x) ||
			LLVMIsAConstantAggregateZero(x)
		    ? LLVMGetAggregateElement(x, (unsigned)i)
		    : x;
		LLVMBool inexact;
		if (!LLVMIsAConstantFP(lane))
			return false;
		double number = LLVMConstRealGetDouble(lane, &inexact);
		if (i && number != *value)
			return false;
		*value = number;
	}
	return true;
}

/* Is it the lesser or the greater of something and a number, as LOW_MIN and LOW_MAX
 * are made?  Then it is no NaN. */
static bool is_clamped(V x, int lanes, Ends *e)
{
	double number = 0;
	if (!LLVMIsASelectInst(x))
		return false;
	V test = LLVMGetOperand(x, 0), a = LLVMGetOperand(x, 1);
	V b = LLVMGetOperand(x, 2);
	if (!LLVMIsAFCmpInst(test) ||
	    LLVMGetFCmpPredicate(test) != LLVMRealOLT ||
	    !is_number(b, lanes, &number))
		return false;
	bool least =
	    LLVMGetOperand(test, 0) == a && LLVMGetOperand(test, 1) == b;
	bool most =
	    LLVMGetOperand(test, 0) == b && LLVMGetOperand(test, 1) == a;
	if (!least && !most)
		return false;
	*e = (Ends){-HUGE_VAL, HUGE_VAL, true};
	is_clamped(a, lanes, e);
	double (*pick)(double, double) = least ? fmin : fmax;
	e->least = pick(e->least, number);
	e->greatest = pick(e->greatest, number);
	return true;
}

static bool is_within(V x, int lanes, Ends to)
{
	Ends e;
	return to.exact && is_clamped(x, lanes, &e) && e.least >= to.least &&
	    e.greatest <= to.greatest;
}

/* Vectors, which LLVM would convert lane by lane: between the ends all
 * machines agree, by way of 32 bits where the integer has fewer.  A NaN is
 * below none and becomes 0. */
static V floats_to_ints(Cast *c, V x, DType from, DType to)
{
	LLVMBuilderRef b = c->b;
	Ends e = ends_of(from, to);
	DType by = dtype_bytes(to) < 4 ? DT_I32 : to;
	LLVMTypeRef type = llvm_type(c->gen, by, c->lanes);
	V least = llvm_float(c->gen, from, e.least, c->lanes);
	V most = llvm_float(c->gen, from, e.greatest, c->lanes);
	bool within = is_within(x, c->lanes, e);
	V r = x;
	if (!within) {
		r = LLVMBuildSelect(b,
		    LLVMBuildFCmp(b, LLVMRealOGT, x, least, ""), x, least, "");
		r = LLVMBuildSelect(
		    b, LLVMBuildFCmp(b, LLVMRealOLT, r, most, ""), r, most, "");
	}
	r = llvm_is_signed(by) ? LLVMBuildFPToSI(b, r, type, "")
			       : LLVMBuildFPToUI(b, r, type, "");
	if (!e.exact)
		r = LLVMBuildSelect(b,
		    LLVMBuildFCmp(b, LLVMRealOGT, x, most, ""),
		    llvm_int(c->gen, 8 * dtype_bytes(to),
			(int64_t)dtype_interval(to).hi, c->lanes),
		    r, "");
	if (e.least != 0 && !within)
		r = LLVMBuildSelect(b,
		    LLVMBuildFCmp(b, LLVMRealUNO, x, x, ""),
		    LLVMConstNull(type), r, "");
	return by == to ? r
			: LLVMBuildTrunc(
			      b, r, llvm_type(c->gen, to, c->lanes), "");
}

static V float_to_int(Cast *c, V x, DType from, DType to)
{
	LLVMTypeRef types[2] = {llvm_type(c->gen, to, c->lanes), LLVMTypeOf(x)};
	if (c->lanes > 1)
		return floats_to_ints(c, x, from, to);
	return llvm_intrinsic(c->gen,
	    llvm_is_signed(to) ? "llvm.fptosi.sat" : "llvm.fptoui.sat", types,
	    2, &x, 1);
}

static V int_to_int(Cast *c, V x, DType from, DType to)
{
	LLVMTypeRef type = llvm_type(c->gen, to, c->lanes);
	int have = from == DT_BOOL ? 1 : 8 * dtype_bytes(from);
	int want = 8 * dtype_bytes(to);
	if (want < have)
		return LLVMBuildTrunc(c->b, x, type, "");
	if (want == have)
		return x;
	return llvm_is_signed(from) ? LLVMBuildSExt(c->b, x, type, "")
				    : LLVMBuildZExt(c->b, x, type, "");
}

static V to_bool(Cast *c, V x, DType from)
{
	V zero = LLVMConstNull(LLVMTypeOf(x));
	return dtype_is_float(from)
		   ? LLVMBuildFCmp(c->b, LLVMRealUNE, x, zero, "")
		   : LLVMBuildICmp(c->b, LLVMIntNE, x, zero, "");
}

V llvm_convert(LlvmGen *gen, V x, DType from, DType to, int lanes)
{
	Cast c = {gen, gen->builder, lanes};
	LLVMTypeRef type = llvm_type(gen, to, lanes);
	if (from == to)
		return x;
	if (dtype_is_half(from)) {
		x = from == DT_F16 ? f16_to_float(&c, x) : bf16_to_float(&c, x);
		return llvm_convert(gen, x, DT_F32, to, lanes);
	}
	if (dtype_is_half(to))
		return to_short_float(&c, x, from, to);
	if (to == DT_BOOL)
		return to_bool(&c, x, from);
	if (is_wide_float(from) && is_wide_float(to))
		return to == DT_F64 ? LLVMBuildFPExt(c.b, x, type, "")
				    : LLVMBuildFPTrunc(c.b, x, type, "");
	if (is_wide_float(from))
		return float_to_int(&c, x, from, to);
	if (is_wide_float(to))
		return llvm_is_signed(from) ? LLVMBuildSIToFP(c.b, x, type, "")
					    : LLVMBuildUIToFP(c.b, x, type, "");
	return int_to_int(&c, x, from, to);
}
