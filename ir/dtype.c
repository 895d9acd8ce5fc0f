/* Element types: names, sizes, and the conversions to and from the 16-bit
 * floats.  Those round to nearest even once, whatever they start from. */
#include "ir/expr.h"

#include <assert.h>
#include <string.h>

enum { CLASS_FLOAT, CLASS_INT, CLASS_UINT, CLASS_BOOL };

static const struct {
	const char *name;
	const char *ctype;
	int bytes, class;
} dtypes[DT_COUNT + 1] = {
#define DTYPE(name, spelled, bytes, class, ctype)                              \
	{spelled, ctype, bytes, CLASS_##class},
#include "ir/dtypes.def"
#undef DTYPE
    {"index", "int64_t", 8, CLASS_INT},
};

double dtype_epsilon(DType type)
{
	switch (type) {
	case DT_F64: return 0x1p-52;
	case DT_F32: return 0x1p-23;
	case DT_F16: return 0x1p-10;
	case DT_BF16: return 0x1p-7;
	default: return 0;
	}
}

int dtype_bytes(DType type)
{
	assert(type <= DT_INDEX);
	return dtypes[type].bytes;
}

const char *dtype_name(DType type)
{
	assert(type <= DT_INDEX);
	return dtypes[type].name;
}

const char *dtype_ctype(DType type)
{
	assert(type <= DT_INDEX);
	return dtypes[type].ctype;
}

bool dtype_is_float(DType type)
{
	return type < DT_COUNT && dtypes[type].class == CLASS_FLOAT;
}

bool dtype_is_half(DType type)
{
	return type == DT_F16 || type == DT_BF16;
}

bool dtype_is_int(DType type)
{
	return type < DT_COUNT &&
	    (dtypes[type].class == CLASS_INT ||
		dtypes[type].class == CLASS_UINT);
}

bool dtype_is_unsigned(DType type)
{
	return type < DT_COUNT && dtypes[type].class == CLASS_UINT;
}

DType dtype_promoted(DType type)
{
	if (dtype_is_half(type))
		return DT_F32;
	return dtype_is_int(type) && dtype_bytes(type) < 4 ? DT_I32 : type;
}

Interval dtype_interval(DType type)
{
	Wide values = (Wide)1 << 8 * dtype_bytes(type);
	if (type == DT_BOOL)
		return (Interval){0, 1};
	return dtype_is_unsigned(type)
	    ? (Interval){0, values - 1}
	    : (Interval){-values / 2, values / 2 - 1};
}

bool dtype_parse(const char *name, size_t length, DType *type)
{
	for (int i = 0; i < DT_COUNT; i++)
		if (strlen(dtypes[i].name) == length &&
		    !memcmp(dtypes[i].name, name, length)) {
			*type = (DType)i;
			return true;
		}
	return false;
}

/* To an IEEE-like format of 16 bits with `mbits` bits of fraction. */
static uint16_t narrow(double x, int mbits)
{
	int ebits = 15 - mbits, bias = (1 << (ebits - 1)) - 1;
	uint32_t infinity = ((1u << ebits) - 1) << mbits;
	uint64_t bits;
	memcpy(&bits, &x, sizeof bits);
	uint32_t sign = (uint32_t)(bits >> 63) << 15;
	int exponent = (int)(bits >> 52 & 2047);
	uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);

	if (exponent == 2047) {
		uint32_t nan = 0;
		if (fraction) /* quiet, the payload's top bits kept */
			nan = 1u << (mbits - 1) |
			    (uint32_t)(fraction >> (52 - mbits));
		return (uint16_t)(sign | infinity | nan);
	}
	/* A subnormal double is far below half of either format's least. */
	if (!exponent)
		return (uint16_t)sign;
	int e = exponent - 1023 + bias, shift = 52 - mbits;
	if (e >= (1 << ebits) - 1)
		return (uint16_t)(sign | infinity);
	if (e <= 0) {
		shift += 1 - e;
		e = 1;
	}
	if (shift > 54)
		return (uint16_t)sign;
	uint64_t significand = fraction | UINT64_C(1) << 52;
	uint64_t rest = significand & ((UINT64_C(1) << shift) - 1);
	uint64_t half = UINT64_C(1) << (shift - 1);
	uint64_t q = significand >> shift;
	q += rest > half || (rest == half && (q & 1));
	/* q has the hidden bit where the result is normal, so it adds one to
	 * the exponent; a carry out of the fraction adds another. */
	return (uint16_t)(sign + ((uint32_t)(e - 1) << mbits) + (uint32_t)q);
}

uint16_t f16_from_f64(double x)
{
	return narrow(x, 10);
}

uint16_t f16_from_f32(float x)
{
	return narrow((double)x, 10); /* widening is exact */
}

static float float_of(uint32_t bits)
{
	float x;
	memcpy(&x, &bits, sizeof x);
	return x;
}

float f16_to_f32(uint16_t x)
{
	uint32_t sign = (uint32_t)(x & 0x8000) << 16, m = x & 0x7fff;
	if (m >= 0x7c00)
		return float_of(sign | 0x7f800000 | (m & 0x3ff) << 13);
	if (m >= 0x400)
		return float_of(sign | ((m << 13) + (112u << 23)));
	float tiny = (float)m * 0x1p-24f;
	return sign ? -tiny : tiny;
}

uint16_t bf16_from_f64(double x)
{
	return narrow(x, 7);
}

uint16_t bf16_from_f32(float x)
{
	return narrow((double)x, 7);
}

float bf16_to_f32(uint16_t x)
{
	return float_of((uint32_t)x << 16);
}
