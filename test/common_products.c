/* Programs and traces of test/gpu. */
#include "test/common_products.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "test/common_schedule.h"

Program *product_load(Arena *arena, const char *name, const char *n,
    Numerics numerics)
{
	ProgramVec programs = {0};
	Diag diag = {0};
	Error error = {0};
	SpecDefine size = {"N", n};
	const char *path = arena_printf(arena, "test/gpu/%s.yaml:", name);
	if (spec_load(arena, path, &size, 1, numerics, &diag, &error,
		&programs))
		fail_msg("%s: %s%s", path, buf_text(&diag.text), error.text);
	diag_free(&diag);
	return programs.at[0];
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
