/* One value of any dtype, for the interpreters: conversions as casts of
 * language.md, functions as libm has them.
 *
 * f64 is in `d`; f32, f16 and bf16 are in `f`; integers, bool and DT_INDEX are
 * in `i`, within the range of their type; of u64 it has the bits. */
#ifndef IR_SCALAR_H
#define IR_SCALAR_H

#include <assert.h>
#include <math.h>
#include <string.h>

#include "ir/expr.h"

typedef union {
	int64_t i;
	double d;
	float f;
} Scalar;

typedef enum { SCALAR_INT, SCALAR_F32, SCALAR_F64 } ScalarClass;

static inline ScalarClass scalar_class(DType type)
{
	return type == DT_F64 ? SCALAR_F64
	    : dtype_is_float(type) ? SCALAR_F32 : SCALAR_INT;
}

static inline int64_t scalar_wrap(DType type, int64_t x)
{
	switch (type) {
	case DT_I32: return (int32_t)x;
	case DT_I16: return (int16_t)x;
	case DT_I8: return (int8_t)x;
	case DT_U32: return (uint32_t)x;
	case DT_U16: return (uint16_t)x;
	case DT_U8: return (uint8_t)x;
	case DT_BOOL: return x != 0;
	default: return x;
	}
}

static inline int64_t scalar_clamp(double x, int64_t least, int64_t greatest)
{
	return x <= (double)least ? least
	    : x >= (double)greatest ? greatest : (int64_t)x;
}

/* Truncates and saturates; NaN gives 0, but is true. */
static inline int64_t scalar_from_float(DType type, double x)
{
	if (type == DT_BOOL)
		return x != 0;
	if (isnan(x))
		return 0;
	switch (type) {
	case DT_I32: return scalar_clamp(x, INT32_MIN, INT32_MAX);
	case DT_I16: return scalar_clamp(x, INT16_MIN, INT16_MAX);
	case DT_I8: return scalar_clamp(x, INT8_MIN, INT8_MAX);
	case DT_U64:
		return x < 0x1p63 ? scalar_clamp(x, 0, INT64_MAX)
		    : x < 0x1p64  ? (int64_t)(uint64_t)x : -1;
	case DT_U32: return scalar_clamp(x, 0, UINT32_MAX);
	case DT_U16: return scalar_clamp(x, 0, UINT16_MAX);
	case DT_U8: return scalar_clamp(x, 0, UINT8_MAX);
	default: return scalar_clamp(x, INT64_MIN, INT64_MAX);
	}
}

/* An integer as a double that rounds on to a narrower format as the integer
 * itself would: bits that do not fit are kept as a last odd bit. */
static inline double scalar_sticky(DType type, int64_t x)
{
	bool negative = x < 0 && type != DT_U64;
	uint64_t size = negative ? -(uint64_t)x : (uint64_t)x;
	if (size >> 53)
		size = (size & ~(uint64_t)0xfff) |
		    ((size & 0xfff) ? 0x800u : 0u);
	return negative ? -(double)size : (double)size;
}

static inline double scalar_int_f64(DType type, int64_t x)
{
	return type == DT_U64 ? (double)(uint64_t)x : (double)x;
}

static inline float scalar_int_f32(DType type, int64_t x)
{
	return type == DT_U64 ? (float)(uint64_t)x : (float)x;
}

/* To a 16-bit format, widened again. */
static inline float scalar_half(DType type, double x)
{
	return type == DT_F16 ? f16_to_f32(f16_from_f64(x))
			      : bf16_to_f32(bf16_from_f64(x));
}

static inline Scalar scalar_convert(DType to, DType from, Scalar x)
{
	ScalarClass class = scalar_class(from);
	Scalar y = {0};
	switch (to) {
	case DT_F64:
		y.d = class == SCALAR_INT ? scalar_int_f64(from, x.i)
		    : class == SCALAR_F32 ? (double)x.f : x.d;
		break;
	case DT_F32:
		y.f = class == SCALAR_INT ? scalar_int_f32(from, x.i)
		    : class == SCALAR_F32 ? x.f : (float)x.d;
		break;
	case DT_F16:
	case DT_BF16:
		y.f = scalar_half(to,
		    class == SCALAR_INT ? scalar_sticky(from, x.i)
			: class == SCALAR_F32 ? (double)x.f : x.d);
		break;
	default:
		y.i = class == SCALAR_INT ? scalar_wrap(to, x.i)
		    : scalar_from_float(
			  to, class == SCALAR_F32 ? (double)x.f : x.d);
	}
	return y;
}

/* Elements as they lie in buffers. */
static inline Scalar scalar_load(DType type, const void *data, int64_t at)
{
	Scalar x = {0};
	switch (type) {
	case DT_F64: x.d = ((const double *)data)[at]; break;
	case DT_F32: x.f = ((const float *)data)[at]; break;
	case DT_F16: x.f = f16_to_f32(((const uint16_t *)data)[at]); break;
	case DT_BF16: x.f = bf16_to_f32(((const uint16_t *)data)[at]); break;
	case DT_I32: x.i = ((const int32_t *)data)[at]; break;
	case DT_I16: x.i = ((const int16_t *)data)[at]; break;
	case DT_I8: x.i = ((const int8_t *)data)[at]; break;
	case DT_U32: x.i = ((const uint32_t *)data)[at]; break;
	case DT_U16: x.i = ((const uint16_t *)data)[at]; break;
	case DT_U8:
	case DT_BOOL: x.i = ((const uint8_t *)data)[at]; break;
	default: x.i = ((const int64_t *)data)[at];
	}
	return x;
}

/* Element at of data as f64. */
static inline double scalar_element(DType type, const void *data, int64_t at)
{
	return scalar_convert(DT_F64, type, scalar_load(type, data, at)).d;
}

static inline void scalar_store(DType type, void *data, int64_t at, Scalar x)
{
	switch (type) {
	case DT_F64: ((double *)data)[at] = x.d; break;
	case DT_F32: ((float *)data)[at] = x.f; break;
	case DT_F16: ((uint16_t *)data)[at] = f16_from_f32(x.f); break;
	case DT_BF16: ((uint16_t *)data)[at] = bf16_from_f32(x.f); break;
	case DT_I32: ((int32_t *)data)[at] = (int32_t)x.i; break;
	case DT_I16: ((int16_t *)data)[at] = (int16_t)x.i; break;
	case DT_I8: ((int8_t *)data)[at] = (int8_t)x.i; break;
	case DT_U32: ((uint32_t *)data)[at] = (uint32_t)x.i; break;
	case DT_U16: ((uint16_t *)data)[at] = (uint16_t)x.i; break;
	case DT_U8:
	case DT_BOOL: ((uint8_t *)data)[at] = (uint8_t)x.i; break;
	default: ((int64_t *)data)[at] = x.i;
	}
}

static inline double scalar_math_f64(Op op, double x, double y)
{
	(void)y;
	switch (op) {
#define C(name) name
#define OP(name, spelled, arity, kind, flops, weight)
#define FUNCTION(name, spelled, arity, kind, weight, c) \
	case OP_##name: return c;
#include "ir/ops.def"
#undef OP
#undef C
	default: assert(!"no function"); return 0;
	}
}

static inline float scalar_math_f32(Op op, float x, float y)
{
	(void)y;
	switch (op) {
#define C(name) name##f
#define OP(name, spelled, arity, kind, flops, weight)
#define FUNCTION(name, spelled, arity, kind, weight, c) \
	case OP_##name: return c;
#include "ir/ops.def"
#undef OP
#undef C
	default: assert(!"no function"); return 0;
	}
}

/* Of integers; what is shifted goes by b modulo the width. */
static inline int64_t scalar_bits(Op op, DType type, int64_t a, int64_t b)
{
	int width = 8 * dtype_bytes(type), by = (int)(b & (width - 1)), n = 0;
	switch (op) {
	case OP_BIT_AND: return a & b;
	case OP_BIT_OR: return a | b;
	case OP_BIT_XOR: return a ^ b;
	case OP_SHIFT_LEFT:
		return scalar_wrap(type, (int64_t)((uint64_t)a << by));
	case OP_SHIFT_RIGHT:
		return type == DT_U64 ? (int64_t)((uint64_t)a >> by) : a >> by;
	default:
		assert(op == OP_POPCOUNT);
		for (uint64_t x = (uint64_t)a & UINT64_MAX >> (64 - width); x;
		     x &= x - 1)
			n++;
		return n;
	}
}

/* a * 2^b, rounded once; b is an integer of 31 bits, or NaN. */
static inline double scalar_scale_f64(double a, double b)
{
	return isnan(b) ? b : ldexp(a, (int)scalar_clamp(b, -10000, 10000));
}

static inline float scalar_scale_f32(float a, float b)
{
	return isnan(b) ? b : ldexpf(a, (int)scalar_clamp(b, -10000, 10000));
}

/* Toward minus infinity; b > 0. */
static inline int64_t scalar_floordiv(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

static inline int64_t scalar_mod(int64_t a, int64_t b)
{
	int64_t r = a % b;
	return r < 0 ? r + b : r;
}

static inline int64_t scalar_floordiv_u64(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a / (uint64_t)b);
}

static inline int64_t scalar_mod_u64(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a % (uint64_t)b);
}

#endif
