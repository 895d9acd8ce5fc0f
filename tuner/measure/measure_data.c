/* Input sets, and room for the expected outputs.
 *
 * Three sets: uniform in [-1, 1); small integers, for which sums in f32 are
 * exact; mixed signs and magnitudes with zeros and extremes.  Floats are scaled
 * by a power of two where those of a deep program would overflow. */
#include <math.h>
#include <string.h>
#include <sys/mman.h>

#include "ir/scalar.h"
#include "lib/rng.h"
#include "tuner/measure/measure_internal.h"

enum { ALIGN = 64, DRAWN = 1 << 16, PIECE = 1 << 12 };

/* Exponent of the largest float of each set. */
static const int largest_exponent[MEASURE_SETS] = {0, 2, 10};

static size_t reserve(size_t *size, int64_t bytes)
{
	size_t at = *size;
	*size += ((size_t)bytes + ALIGN - 1) / ALIGN * ALIGN;
	return at;
}

static double draw_float(Rng *rng, int set)
{
	double u = 2 * rng_double(rng) - 1;
	if (set == 0)
		return u;
	if (set == 1)
		return (double)rng_below(rng, 9) - 4;
	switch (rng_below(rng, 16)) {
	case 0: return 0;
	case 1: return -0.0;
	case 2: return 1;
	default: return u * exp2((double)rng_below(rng, 21) - 10);
	}
}

static int64_t draw_int(Rng *rng, int set, int64_t least, int64_t most)
{
	if (set == 2)
		switch (rng_below(rng, 8)) {
		case 0: return least;
		case 1: return most;
		case 2: return 0;
		}
	int64_t low = set == 1 ? -4 : -100, high = -low;
	low = low < least ? least : low;
	high = high > most ? most : high;
	return low + (int64_t)rng_below(rng, (uint64_t)(high - low + 1));
}

static void put_element(
    void *at, int64_t i, DType type, Rng *rng, int set, double scale)
{
	double x = dtype_is_float(type) ? scale * draw_float(rng, set) : 0;
	switch (type) {
	case DT_F64: ((double *)at)[i] = x; break;
	case DT_F32: ((float *)at)[i] = (float)x; break;
	case DT_F16: ((uint16_t *)at)[i] = f16_from_f64(x); break;
	case DT_BF16: ((uint16_t *)at)[i] = bf16_from_f64(x); break;
	case DT_I64:
		((int64_t *)at)[i] =
		    draw_int(rng, set, -(1ll << 40), 1ll << 40);
		break;
	case DT_I32:
		((int32_t *)at)[i] =
		    (int32_t)draw_int(rng, set, INT32_MIN, INT32_MAX);
		break;
	case DT_I16:
		((int16_t *)at)[i] =
		    (int16_t)draw_int(rng, set, INT16_MIN, INT16_MAX);
		break;
	case DT_I8:
		((int8_t *)at)[i] = (int8_t)draw_int(rng, set, -128, 127);
		break;
	case DT_U8:
		((uint8_t *)at)[i] = (uint8_t)draw_int(rng, set, 0, 255);
		break;
	default: ((uint8_t *)at)[i] = (uint8_t)rng_below(rng, 2); break;
	}
}

Status measure_data_new(Arena *arena, const Program *program,
    MeasureData *data, Error *error)
{
	*data = (MeasureData){.program = program};
	data->judged = reserve(&data->size, (int64_t)(MEASURE_SETS *
	    sizeof(Judged) * (size_t)program->noutputs));
	for (int s = 0; s < MEASURE_SETS; s++) {
		data->input[s] = NEW_N(arena, size_t, program->ninputs);
		data->expected[s] = NEW_N(arena, size_t, program->noutputs);
		for (int i = 0; i < program->ninputs; i++)
			data->input[s][i] = reserve(&data->size,
			    buffer_bytes(&program->buffers[i]));
		for (int i = 0; i < program->noutputs; i++)
			data->expected[s][i] = reserve(&data->size,
			    buffer_bytes(
				&program->buffers[program->outputs[i]]));
	}
	void *map = mmap(NULL, data->size ? data->size : 1,
	    PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED)
		return error_set(error, STATUS_IO,
		    "no memory for inputs and outputs of %zu bytes",
		    data->size);
	data->base = map;
	return STATUS_OK;
}

/* The first elements are drawn one by one, pieces of them make the rest: a
 * buffer of 64 MB takes as long as it takes to write. */
static void fill_buffer(const Buffer *b, unsigned char *at, Rng *rng, int set,
    double scale)
{
	int64_t n = buffer_elements(b);
	int64_t drawn = n < DRAWN ? n : DRAWN;
	size_t bytes = (size_t)dtype_bytes(b->type);
	for (int64_t k = 0; k < drawn; k++)
		put_element(at, k, b->type, rng, set, scale);
	for (int64_t k = drawn; k < n; k += PIECE) {
		int64_t piece = n - k < PIECE ? n - k : PIECE;
		uint64_t from = rng_below(rng, DRAWN - PIECE);
		memcpy(at + (size_t)k * bytes, at + from * bytes,
		    (size_t)piece * bytes);
	}
}

void measure_data_fill(MeasureData *data, uint64_t seed)
{
	const Program *program = data->program;
	for (int s = 0; s < MEASURE_SETS; s++) {
		double scale = exp2(-magnitude_shift(program, largest_exponent[s]));
		for (int i = 0; i < program->ninputs; i++) {
			Rng rng = rng_stream(seed, (uint64_t)s, (uint64_t)i);
			fill_buffer(&program->buffers[i],
			    data->base + data->input[s][i], &rng, s, scale);
		}
	}
}

void measure_data_forget(MeasureData *data)
{
	if (data->base)
		madvise(data->base, data->size, MADV_REMOVE);
}

void measure_data_free(MeasureData *data)
{
	if (data->base)
		munmap(data->base, data->size ? data->size : 1);
	data->base = NULL;
}
