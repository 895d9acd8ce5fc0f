/* Nests lowered, run and compared with what the program says. */
#include "test/common_lower.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { POISON = 0xff, GUARD = 64 }; /* no number in any float */

static int64_t bytes_of(const Buffer *b)
{
	return buffer_elements(b) * dtype_bytes(b->type);
}

void *lowercheck_memory(Arena *arena, int64_t bytes)
{
	char *p = arena_alloc(arena, (size_t)bytes + 2 * GUARD);
	memset(p, POISON, (size_t)bytes + 2 * GUARD);
	return (void *)(((uintptr_t)p + GUARD - 1) & ~(uintptr_t)(GUARD - 1));
}

static void set(DType type, void *data, int64_t i, int value)
{
	switch (type) {
	case DT_F64: ((double *)data)[i] = value; break;
	case DT_F32: ((float *)data)[i] = (float)value; break;
	case DT_F16: ((uint16_t *)data)[i] = f16_from_f64(value); break;
	case DT_BF16: ((uint16_t *)data)[i] = bf16_from_f64(value); break;
	case DT_I64: ((int64_t *)data)[i] = value; break;
	case DT_I32: ((int32_t *)data)[i] = value; break;
	case DT_I16: ((int16_t *)data)[i] = (int16_t)value; break;
	case DT_BOOL: ((uint8_t *)data)[i] = value & 1; break;
	default: ((uint8_t *)data)[i] = (uint8_t)value; break;
	}
}

static double get(DType type, const void *data, int64_t i)
{
	switch (type) {
	case DT_F64: return ((const double *)data)[i];
	case DT_F32: return ((const float *)data)[i];
	case DT_F16: return f16_to_f32(((const uint16_t *)data)[i]);
	case DT_BF16: return bf16_to_f32(((const uint16_t *)data)[i]);
	case DT_I64: return (double)((const int64_t *)data)[i];
	case DT_I32: return ((const int32_t *)data)[i];
	case DT_I16: return ((const int16_t *)data)[i];
	case DT_I8: return ((const int8_t *)data)[i];
	default: return ((const uint8_t *)data)[i];
	}
}

void **lowercheck_data(Arena *arena, const Program *p, Rng *rng)
{
	void **data = NEW_N(arena, void *, p->nbuffers);
	for (int b = 0; b < p->nbuffers; b++) {
		const Buffer *buffer = &p->buffers[b];
		data[b] = lowercheck_memory(arena, bytes_of(buffer));
		for (int64_t i = 0; b < p->ninputs && i < buffer_elements(buffer);
		     i++)
			set(buffer->type, data[b], i, (int)rng_below(rng, 9) - 4);
	}
	return data;
}

void lowercheck_expect(const Program *p, void **data)
{
	interp_run(p, data);
}

void lowercheck_call(void *function, void *const *args, int n)
{
	typedef void F2(void *, void *);
	typedef void F3(void *, void *, void *);
	typedef void F4(void *, void *, void *, void *);
	typedef void F5(void *, void *, void *, void *, void *);
	typedef void F6(void *, void *, void *, void *, void *, void *);
	void *a[6] = {0};
	assert(n >= 2 && n <= 6);
	memcpy(a, args, sizeof *a * (size_t)n);
	switch (n) {
	case 2: ((F2 *)function)(a[0], a[1]); break;
	case 3: ((F3 *)function)(a[0], a[1], a[2]); break;
	case 4: ((F4 *)function)(a[0], a[1], a[2], a[3]); break;
	case 5: ((F5 *)function)(a[0], a[1], a[2], a[3], a[4]); break;
	default: ((F6 *)function)(a[0], a[1], a[2], a[3], a[4], a[5]);
	}
}

static const char *run(Arena *arena, const LowFunction *f, void *const *args,
    LowerCall call, void *context)
{
	LowRun out = {.check_races = true};
	if (call)
		call(context, f->name, f, args);
	else if (!low_function_run(f, args, &out))
		return arena_printf(arena, "%s: %s", f->name, out.message);
	return NULL;
}

static bool close_to(double got, double want, double tolerance)
{
	double scale = fabs(want) > 1 ? fabs(want) : 1;
	return got == want || (isnan(got) && isnan(want)) ||
	    fabs(got - want) <= tolerance * scale;
}

static const char *compare(Arena *arena, const Buffer *b, const void *got,
    const void *want, double tolerance)
{
	for (int64_t i = 0; i < buffer_elements(b); i++) {
		double x = get(b->type, got, i), y = get(b->type, want, i);
		if (!close_to(x, y, tolerance))
			return arena_printf(arena,
			    "%s: element %lld is %g, not %g", b->name,
			    (long long)i, x, y);
	}
	const uint8_t *end = (const uint8_t *)got + bytes_of(b);
	for (int i = 0; i < GUARD / 2; i++)
		if (end[i] != POISON)
			return arena_printf(
			    arena, "%s: written past its end", b->name);
	return NULL;
}

const char *lowercheck_run(Arena *arena, const Lowered *lowered,
    void *const *data, double tolerance, LowerCall call, void *context)
{
	const Program *p = lowered->program;
	int n = 0, npacked = 0;
	void **args = NEW_N(arena, void *, p->ninputs + p->noutputs + 1);
	const char *why = NULL;
	for (int i = 0; i < p->ninputs; i++) {
		args[n++] = data[i];
		if (!p->buffers[i].is_const)
			continue;
		args[n - 1] =
		    lowercheck_memory(arena, lowered->packed_bytes[npacked]);
		why = run(arena, lowered->packs.at[npacked++],
		    (void *[]){data[i], args[n - 1]}, call, context);
		if (why)
			return why;
	}
	for (int i = 0; i < p->noutputs; i++)
		args[n++] = lowercheck_memory(
		    arena, bytes_of(&p->buffers[p->outputs[i]]));
	args[n++] = lowercheck_memory(arena, lowered->workspace_bytes);
	if (!lowered->launches.n)
		why = run(arena, lowered->kernel, args, call, context);
	for (int i = 0; i < lowered->launches.n && !why; i++)
		why = run(arena, lowered->launches.at[i].function, args, call,
		    context);
	for (int i = 0; i < p->noutputs && !why; i++)
		why = compare(arena, &p->buffers[p->outputs[i]],
		    args[p->ninputs + i], data[p->outputs[i]], tolerance);
	return why;
}
