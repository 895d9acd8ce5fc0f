/* The fixed schedules of test/gpu, small: lowered and run by the interpreter,
 * with races checked, each gives what the operator says. */
#include "test/common_lower.h"
#include "test/common_schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
	const char *name, *arch, *n;
} Product;

static const Product products[] = {
    {"product_f32", "sm_75", "128"},
    {"product_f32", "sm_80", "256"},
    {"product_f16", "sm_80", "256"}, {"product_f16", "sm_75", "128"},
    {"product_bf16", "sm_90a", "128"},
    /* whose tiles do not divide */
    {"product_f32", "sm_75", "101"}, {"product_f32", "sm_80", "70"},
    {"product_i8", "sm_80", "256"}, {"product_i8", "sm_75", "128"},
};
enum { NPRODUCTS = sizeof products / sizeof *products };

static Program *load(Arena *arena, const Product *x)
{
	ProgramVec programs = {0};
	Diag diag = {0};
	Error error = {0};
	SpecDefine size = {"N", x->n};
	const char *path = arena_printf(arena, "test/gpu/%s.yaml:", x->name);
	if (spec_load(arena, path, &size, 1, NUMERICS_DEFAULT, &diag, &error,
		&programs))
		fail_msg("%s: %s%s", path, buf_text(&diag.text), error.text);
	diag_free(&diag);
	return programs.at[0];
}

static char *read_text(Arena *arena, const char *path)
{
	Buf text = {0};
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	for (int c; (c = getc(file)) != EOF;)
		buf_putc(&text, (char)c);
	fclose(file);
	char *copy = arena_strdup(arena, buf_text(&text));
	buf_free(&text);
	return copy;
}

static void check(const Product *x)
{
	Arena *arena = arena_new();
	Error error = {0};
	char why[512];
	Rng rng = rng_stream(31, (uint64_t)(x - products), 0);
	Program *p = load(arena, x);
	const Target *t = target_parse(
	    arena, arena_printf(arena, "cuda -arch=%s", x->arch), &error);
	Trace *trace = schedule_steps(arena, read_text(arena,
	    arena_printf(arena, "test/gpu/%s.trace", x->name)));
	void **data = lowercheck_data(arena, p, &rng);
	lowercheck_expect(p, data);
	Nest *nest = schedule_nest(arena, p, &t->machine, trace, &error);
	Lowered *l = nest ? lower(arena, nest, &t->machine, &error) : NULL;
	if (!l)
		fail_msg("%s on %s: %s", x->name, x->arch, error.text);
	if (!lowered_verify(l, why, sizeof why))
		fail_msg("%s on %s: %s", x->name, x->arch, why);
	const char *wrong = lowercheck_run(arena, l, data, 1e-4, NULL, NULL);
	if (wrong)
		fail_msg("%s on %s: %s", x->name, x->arch, wrong);
	arena_free(arena);
}

static void test_products(void **state)
{
	(void)state;
	for (int i = 0; i < NPRODUCTS; i++)
		check(&products[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_products),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
