/* Programs and traces of test/gpu. */
#include "test/common_products.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "test/common_lower.h"
#include "test/common_schedule.h"

Program *product_load(Arena *arena, const char *name, const char *n)
{
	ProgramVec programs = {0};
	Diag diag = {0};
	Error error = {0};
	SpecDefine size = {"N", n};
	const char *path = arena_printf(arena, "test/gpu/%s.yaml:", name);
	if (spec_load(arena, path, &size, 1, NUMERICS_FAST, &diag,
		&error, &programs))
		fail_msg("%s: %s%s", path, buf_text(&diag.text), error.text);
	diag_free(&diag);
	return programs.at[0];
}

void **product_data(Arena *arena, const Program *p, Rng *rng)
{
	void **data = lowercheck_data(arena, p, rng);
	for (int b = 0; b < p->ninputs; b++)
		for (int64_t i = 0; p->buffers[b].type == DT_F32 &&
		     i < buffer_elements(&p->buffers[b]); i++)
			((float *)data[b])[i] +=
			    (float)rng_below(rng, 1 << 20) * 0x1p-20f;
	return data;
}

static float *round_all(const float *x, int64_t n)
{
	float *y = must_alloc((size_t)n * sizeof *y);
	for (int64_t i = 0; i < n; i++) {
		int exponent;
		float digits = frexpf(x[i], &exponent);
		y[i] = ldexpf(roundf(ldexpf(digits, 11)), exponent - 11);
	}
	return y;
}

void product_expect(const Program *p, bool rounded, void **data)
{
	void *inputs[2] = {data[0], data[1]};
	assert_int_equal(p->ninputs, 2);
	for (int i = 0; i < 2 && rounded; i++)
		data[i] = round_all(inputs[i], buffer_elements(&p->buffers[i]));
	interp_run(p, data);
	for (int i = 0; i < 2 && rounded; i++) {
		free(data[i]);
		data[i] = inputs[i];
	}
}

Trace *product_trace(Arena *arena, const char *name)
{
	const char *path = arena_printf(arena, "test/gpu/%s.trace", name);
	Buf text = {0};
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	for (int c; (c = getc(file)) != EOF;)
		buf_putc(&text, (char)c);
	fclose(file);
	Trace *trace =
	    schedule_steps(arena, arena_strdup(arena, buf_text(&text)));
	buf_free(&text);
	return trace;
}
