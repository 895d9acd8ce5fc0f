/* Values of inputs: small multiples of a power of two, which few operations
 * round, with infinities and NaN, or any float; all integers.  Half of the
 * inputs have them one by one; of a quarter each element is 0 as likely as not;
 * the rest has runs of 0 and of one value, from one element to many vectors. */
#include "test/common_operator.h"

#include <math.h>
#include <string.h>

enum { LONGEST_RUN = 7 }; /* 2^so many elements less one */

static double draw_special(Rng *rng, OperatorData kind)
{
	if (kind == OPERATOR_ANY && rng_below(rng, 2))
		return ldexp(rng_double(rng) - 0.5, (int)rng_below(rng, 320) - 160);
	switch (rng_below(rng, 3)) {
	case 0: return INFINITY;
	case 1: return -INFINITY;
	default: return NAN;
	}
}

static double draw_float(Rng *rng, OperatorData kind)
{
	int most = OPERATOR_INPUT_BOUND << OPERATOR_INPUT_BITS;
	double x = (double)rng_below(rng, (uint64_t)(2 * most + 1)) - most;

	if (rng_below(rng, 16) == 0)
		return -0.0;
	if (kind != OPERATOR_SMALL && rng_below(rng, 8) == 0)
		return draw_special(rng, kind);
	return ldexp(x, -OPERATOR_INPUT_BITS);
}

static int64_t draw_int(Rng *rng, int64_t least, int64_t most)
{
	switch (rng_below(rng, 12)) {
	case 0: return least;
	case 1: return most;
	case 2: return (int64_t)rng_next(rng);
	default: return (int64_t)rng_below(rng, 41) - (least ? 20 : 0);
	}
}

static void fill_each(const Buffer *b, void *data, OperatorData kind, Rng *rng)
{
	for (int64_t i = 0; i < buffer_elements(b); i++)
		switch (b->type) {
		case DT_F64:
			((double *)data)[i] = draw_float(rng, kind);
			break;
		case DT_F32:
			((float *)data)[i] = (float)draw_float(rng, kind);
			break;
		case DT_F16:
			((uint16_t *)data)[i] = f16_from_f64(
			    draw_float(rng, kind));
			break;
		case DT_BF16:
			((uint16_t *)data)[i] = bf16_from_f64(
			    draw_float(rng, kind));
			break;
		case DT_I64:
			((int64_t *)data)[i] =
			    draw_int(rng, INT64_MIN, INT64_MAX);
			break;
		case DT_I32:
			((int32_t *)data)[i] =
			    (int32_t)draw_int(rng, INT32_MIN, INT32_MAX);
			break;
		case DT_I16:
			((int16_t *)data)[i] =
			    (int16_t)draw_int(rng, INT16_MIN, INT16_MAX);
			break;
		case DT_I8:
			((int8_t *)data)[i] =
			    (int8_t)draw_int(rng, INT8_MIN, INT8_MAX);
			break;
		case DT_U64:
			((uint64_t *)data)[i] =
			    (uint64_t)draw_int(rng, 0, -1);
			break;
		case DT_U32:
			((uint32_t *)data)[i] =
			    (uint32_t)draw_int(rng, 0, UINT32_MAX);
			break;
		case DT_U16:
			((uint16_t *)data)[i] =
			    (uint16_t)draw_int(rng, 0, UINT16_MAX);
			break;
		case DT_U8:
			((uint8_t *)data)[i] =
			    (uint8_t)draw_int(rng, 0, UINT8_MAX);
			break;
		default: ((uint8_t *)data)[i] = rng_below(rng, 2); break;
		}
}

/* +0, or -0 of a float. */
static void clear(const Buffer *b, unsigned char *at, Rng *rng)
{
	size_t size = (size_t)dtype_bytes(b->type);
	memset(at, 0, size);
	if (dtype_is_float(b->type) && rng_below(rng, 2))
		at[size - 1] = 0x80;
}

static void clear_half(const Buffer *b, unsigned char *data, Rng *rng)
{
	for (int64_t i = 0; i < buffer_elements(b); i++)
		if (rng_below(rng, 2))
			clear(b, data + i * dtype_bytes(b->type), rng);
}

/* Half of the runs stay as they are. */
static void fill_runs(const Buffer *b, unsigned char *data, Rng *rng)
{
	int64_t size = dtype_bytes(b->type), n = buffer_elements(b);
	for (int64_t i = 0, end; i < n; i = end) {
		int kind = (int)rng_below(rng, 4);
		end = i +
		    (int64_t)rng_below(
			rng, UINT64_C(1) << rng_below(rng, LONGEST_RUN + 1)) +
		    1;
		end = end < n ? end : n;
		if (kind == 0)
			clear(b, data + i * size, rng);
		for (int64_t k = i + 1; k < end && kind < 2; k++)
			memcpy(data + k * size, data + i * size, (size_t)size);
	}
}

void operator_fill(const Buffer *b, void *data, OperatorData kind, Rng *rng)
{
	fill_each(b, data, kind, rng);
	switch (rng_below(rng, 4)) {
	case 0: clear_half(b, data, rng); return;
	case 1: fill_runs(b, data, rng); return;
	default: return;
	}
}
