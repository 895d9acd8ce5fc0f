/* Input sets and expected outputs.
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

enum { POINTS = 64, ALIGN = 64, DRAWN = 1 << 16, PIECE = 1 << 12 };

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

/* --- comparing --------------------------------------------------------------- */

/* Longest chain of reduction steps behind any output. */
static double reduction_length(const Program *program)
{
	double sum = 1;
	for (int i = 0; i < program->nblocks; i++) {
		const Block *b = &program->blocks[i];
		double n = 1;
		for (int a = b->nspatial; a < b->naxes; a++)
			n *= (double)b->axes[a].extent;
		sum += b->reduce == REDUCE_NONE ? 1 : n;
	}
	return sum;
}

static double type_epsilon(DType type)
{
	switch (type) {
	case DT_F64: return 0x1p-52;
	case DT_F16: return 0x1p-10;
	case DT_BF16: return 0x1p-7;
	default: return 0x1p-23;
	}
}

static bool is_float_chain(const Program *program)
{
	for (int i = 0; i < program->nbuffers; i++)
		if (dtype_is_float(program->buffers[i].type))
			return true;
	return false;
}

/* An error of a few units in the last place of the largest element for each
 * doubling that random rounding errors of the reduction make likely. */
static double tolerance(
    const Program *program, const Buffer *b, double largest)
{
	if (!dtype_is_float(b->type))
		return is_float_chain(program) ? 1 : 0;
	double eps = type_epsilon(b->type);
	for (int i = 0; i < program->nbuffers; i++) {
		double e = type_epsilon(program->buffers[i].type);
		if (dtype_is_float(program->buffers[i].type) && e > eps &&
		    program->buffers[i].role == BUFFER_TEMP)
			eps = e;
	}
	return 16 * eps * sqrt(reduction_length(program)) * largest;
}

static double largest_number(const Buffer *b, const void *data)
{
	double largest = 0;
	for (int64_t i = 0, n = buffer_elements(b); i < n; i++) {
		double x = fabs(scalar_element(b->type, data, i));
		if (x > largest && !isinf(x))
			largest = x;
	}
	return largest;
}

static void describe(const Buffer *b, int64_t at, double got, double want,
    char *why, size_t size)
{
	Buf text = {0};
	int64_t *index = must_alloc(sizeof *index * (size_t)(b->ndim + 1));
	int64_t rest = at;
	for (int d = b->ndim - 1; d >= 0; d--) {
		index[d] = rest % b->shape[d];
		rest /= b->shape[d];
	}
	for (int d = 0; d < b->ndim; d++)
		buf_printf(&text, "%s%lld", d ? ", " : "", (long long)index[d]);
	snprintf(why, size, "%s[%s] is %.9g, expected %.9g", b->name,
	    buf_text(&text), got, want);
	buf_free(&text);
	free(index);
}

bool measure_data_compare(const MeasureData *data, int set, int output,
    const void *got, char *why, size_t size)
{
	const Program *p = data->program;
	const Buffer *b = &p->buffers[p->outputs[output]];
	const void *want = data->base + data->expected[set][output];
	int64_t n = buffer_elements(b);
	if (!memcmp(got, want, (size_t)buffer_bytes(b)))
		return true;
	double allowed = p->numerics == NUMERICS_EXACT
	    ? 0
	    : tolerance(p, b, largest_number(b, want));
	for (int64_t i = 0; i < n; i++) {
		double g = scalar_element(b->type, got, i);
		double w = scalar_element(b->type, want, i);
		if (g == w || (isnan(g) && isnan(w)))
			continue;
		if (fabs(g - w) <= allowed)
			continue;
		describe(b, i, g, w, why, size);
		return false;
	}
	return true;
}

static bool check_point(const MeasureData *data, int set, int output,
    const int64_t *index, char *why, size_t size)
{
	const Program *p = data->program;
	const Buffer *b = &p->buffers[p->outputs[output]];
	void *inputs[256];
	unsigned char bytes[8] = {0};
	for (int i = 0; i < p->ninputs && i < 256; i++)
		inputs[i] = data->base + data->input[set][i];
	interp_point(p, inputs, p->outputs[output], index, bytes);
	int64_t at = 0;
	for (int d = 0; d < b->ndim; d++)
		at = at * b->shape[d] + index[d];
	const void *got = data->base + data->expected[set][output];
	double g = scalar_element(b->type, got, at);
	double w = scalar_element(b->type, bytes, 0);
	if (g == w || (isnan(g) && isnan(w)) ||
	    fabs(g - w) <= tolerance(p, b, largest_number(b, got)))
		return true;
	describe(b, at, g, w, why, size);
	return false;
}

bool measure_data_check(
    const MeasureData *data, double seconds, char *why, size_t size)
{
	const Program *p = data->program;
	Rng rng = rng_stream(1, 2, 3);
	double end = measure_now() + seconds;
	for (int o = 0; o < p->noutputs; o++) {
		const Buffer *b = &p->buffers[p->outputs[o]];
		int64_t *index =
		    must_alloc(sizeof *index * (size_t)(b->ndim + 1));
		int corners = b->ndim < 6 ? 1 << b->ndim : 64;
		bool right = true;
		for (int k = 0; k < corners + POINTS && right; k++) {
			if (k && measure_now() > end)
				break;
			for (int d = 0; d < b->ndim; d++)
				index[d] = k >= corners
				    ? (int64_t)rng_below(
					  &rng, (uint64_t)b->shape[d])
				    : (k >> (d % 6) & 1) * (b->shape[d] - 1);
			right = check_point(
			    data, k % MEASURE_SETS, o, index, why, size);
		}
		free(index);
		if (!right)
			return false;
	}
	return true;
}
