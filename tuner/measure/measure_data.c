/* Input sets, and room for the expected outputs.
 *
 * Four sets: uniform in [-1, 1); small integers, for which sums in f32 are
 * exact; mixed signs and magnitudes with zeros and extremes; runs of what kernels
 * take short cuts for (measure_special.c).  Floats are scaled by a power of two
 * where those of a deep program would overflow, and what a product over an axis
 * multiplies is drawn about 1 and -1, not uniform; integers that an index reads
 * are spread over what it is an index of, so that look-ups are as far apart as
 * they may be. */
#include <math.h>
#include <string.h>
#include <sys/mman.h>

#include "ir/scalar.h"
#include "tuner/measure/measure_internal.h"

enum { ALIGN = 64, DRAWN = RUNS_DRAWN, PIECE = 1 << 12 };

/* Exponent of the largest float of each set. */
static const int largest_exponent[MEASURE_SETS] = {0, 2, 10, 2};

static size_t reserve(size_t *size, int64_t bytes)
{
	size_t at = *size;
	*size += ((size_t)bytes + ALIGN - 1) / ALIGN * ALIGN;
	return at;
}

/* What is drawn: for a float its scale; for an integer, if it is an index, how
 * many values that has. */
typedef struct {
	int set;
	double scale;
	double factors; /* of a product; 0: it is none */
	int64_t values; /* 0: no index */
	SpecialLevel level;
	Runs runs; /* of the special set */
} Draw;

/* So near to 1 that a product of so many stays about there. */
static double draw_factor(double u, double factors)
{
	double size = exp2((4 * fabs(u) - 2) * fmin(0.5, 8 / sqrt(factors)));
	return u < 0 ? -size : size;
}

static double draw_float(Rng *rng, const Draw *draw)
{
	int set = draw->set;
	double u = 2 * rng_double(rng) - 1;
	if (set == SET_UNIFORM && draw->factors > 0)
		return draw_factor(u, draw->factors);
	if (set == SET_UNIFORM || set == SET_SPECIAL)
		return u;
	if (set == SET_INTEGERS)
		return (double)rng_below(rng, 9) - 4;
	switch (rng_below(rng, 16)) {
	case 0: return 0;
	case 1: return -0.0;
	case 2: return 1;
	default: return u * exp2((double)rng_below(rng, 21) - 10);
	}
}

static int64_t draw_int(
    Rng *rng, const Draw *draw, int64_t least, int64_t most)
{
	int set = draw->set;
	if (set == SET_EXTREMES)
		switch (rng_below(rng, 8)) {
		case 0: return least;
		case 1: return most;
		case 2: return 0;
		}
	int64_t low = set == SET_INTEGERS ? -4 : -100, high = -low;
	if (draw->values)
		low = 0, high = draw->values - 1;
	low = low < least ? least : low;
	high = high > most ? most : high;
	int64_t any = low + (int64_t)rng_below(rng, (uint64_t)(high - low + 1));
	if (set != SET_SPECIAL)
		return any;
	return draw->values ? runs_int(&draw->runs, any, low, high, low, high)
			    : runs_int(&draw->runs, any, low, high, least, most);
}

static void put_element(
    void *at, int64_t i, DType type, Rng *rng, const Draw *draw)
{
	double x = dtype_is_float(type) ? draw_float(rng, draw) : 0;
	x = draw->set == SET_SPECIAL
	    ? runs_float(&draw->runs, i, type, x, draw->scale)
	    : draw->scale * x;
	switch (type) {
	case DT_F64: ((double *)at)[i] = x; break;
	case DT_F32: ((float *)at)[i] = (float)x; break;
	case DT_F16: ((uint16_t *)at)[i] = f16_from_f64(x); break;
	case DT_BF16: ((uint16_t *)at)[i] = bf16_from_f64(x); break;
	case DT_I64:
		((int64_t *)at)[i] =
		    draw_int(rng, draw, -(1ll << 40), 1ll << 40);
		break;
	case DT_I32:
		((int32_t *)at)[i] =
		    (int32_t)draw_int(rng, draw, INT32_MIN, INT32_MAX);
		break;
	case DT_I16:
		((int16_t *)at)[i] =
		    (int16_t)draw_int(rng, draw, INT16_MIN, INT16_MAX);
		break;
	case DT_I8:
		((int8_t *)at)[i] = (int8_t)draw_int(rng, draw, -128, 127);
		break;
	case DT_U64:
		((uint64_t *)at)[i] =
		    (uint64_t)draw_int(rng, draw, 0, 1ll << 40);
		break;
	case DT_U32:
		((uint32_t *)at)[i] =
		    (uint32_t)draw_int(rng, draw, 0, UINT32_MAX);
		break;
	case DT_U16:
		((uint16_t *)at)[i] =
		    (uint16_t)draw_int(rng, draw, 0, UINT16_MAX);
		break;
	case DT_U8:
		((uint8_t *)at)[i] = (uint8_t)draw_int(rng, draw, 0, 255);
		break;
	default: ((uint8_t *)at)[i] = (uint8_t)draw_int(rng, draw, 0, 1); break;
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
static void fill_buffer(
    const Buffer *b, unsigned char *at, Rng *rng, Draw *draw)
{
	int64_t n = buffer_elements(b);
	int64_t drawn = n < DRAWN ? n : DRAWN;
	size_t bytes = (size_t)dtype_bytes(b->type);
	if (draw->set == SET_SPECIAL)
		draw->runs = runs_of(b, draw->level, rng);
	for (int64_t k = 0; k < drawn; k++) {
		if (draw->set == SET_SPECIAL)
			runs_step(&draw->runs, rng, k);
		put_element(at, k, b->type, rng, draw);
	}
	for (int64_t k = drawn; k < n; k += PIECE) {
		int64_t piece = n - k < PIECE ? n - k : PIECE;
		uint64_t from = rng_below(rng, DRAWN - PIECE);
		memcpy(at + (size_t)k * bytes, at + from * bytes,
		    (size_t)piece * bytes);
	}
}

typedef struct {
	const Program *program;
	int input;
	int64_t values, of; /* found; of the index around, 0: in none */
} IndexSearch;

static void find_index(IndexSearch *s, const Expr *e)
{
	int64_t of = s->of;
	if (e->op == OP_READ && e->id == s->input && of > s->values)
		s->values = of;
	for (int i = 0; i < e->narg; i++) {
		if (e->op == OP_READ)
			s->of = s->program->buffers[e->id].shape[i];
		find_index(s, e->arg[i]);
	}
	s->of = of;
}

/* The longest dimension that an input is an index of; 0: of none. */
static int64_t index_values(const Program *program, int input)
{
	IndexSearch s = {program, input, 0, 0};
	for (int i = 0; i < program->nblocks; i++)
		find_index(&s, program->blocks[i].body);
	return s.values;
}

static void fill_set(
    MeasureData *data, uint64_t seed, int set, SpecialLevel level)
{
	const Program *program = data->program;
	int shift = magnitude_shift(program, largest_exponent[set]);
	Draw draw = {.set = set, .scale = exp2(-shift), .level = level};
	for (int i = 0; i < program->ninputs; i++) {
		Rng rng = rng_stream(seed, (uint64_t)set, (uint64_t)i);
		draw.values = index_values(program, i);
		draw.factors = magnitude_factors(program, i);
		fill_buffer(&program->buffers[i],
		    data->base + data->input[set][i], &rng, &draw);
	}
}

void measure_data_fill(MeasureData *data, uint64_t seed)
{
	for (int s = 0; s < MEASURE_SETS; s++)
		fill_set(data, seed, s, special_first(data->program));
}

void measure_data_special(
    MeasureData *data, uint64_t seed, SpecialLevel level)
{
	fill_set(data, seed, SET_SPECIAL, level);
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
