/* Operator files that are accepted, and what is understood of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ir/spec/spec.h"

#define HEAD "tunec: 1\nname: op\n"

static Arena *arena;
static Diag diag;

static int set_up(void **unused)
{
	(void)unused;
	arena = arena_new();
	memset(&diag, 0, sizeof diag);
	return 0;
}

static int tear_down(void **unused)
{
	(void)unused;
	diag_free(&diag);
	arena_free(arena);
	return 0;
}

static Spec *parse(const char *text)
{
	Source *source = NEW(arena, Source);
	*source = (Source){"test", text, strlen(text)};
	return spec_parse(arena, source, &diag);
}

static Program *program(const char *text, const char *name)
{
	Spec *spec = parse(text);
	Program *p = spec ? spec_program(arena, spec, name, NULL, 0,
				NUMERICS_DEFAULT, &diag) : NULL;
	if (!p)
		print_error("%s", buf_text(&diag.text));
	assert_non_null(p);
	return p;
}

static int64_t param(const Program *p, const char *name)
{
	for (int i = 0; i < p->nparams; i++)
		if (!strcmp(p->params[i].name, name))
			return p->params[i].value;
	fail();
	return 0;
}

/* Scalars are text: what YAML makes of them does not count. */
static void test_scalars(void **unused)
{
	(void)unused;
	const Program *p = program(
	    HEAD "params: {N: 010, y: 'N + 1', \"no\": \"\\x33\", M: 'max(N, 3)'}\n"
	    "compute: |2 # the sum\n  out[k < N] = y + no  # 13\n", NULL);
	assert_int_equal(param(p, "N"), 10);
	assert_int_equal(param(p, "y"), 11);
	assert_int_equal(param(p, "no"), 3);
	assert_int_equal(param(p, "M"), 10);
}

static void test_bom_crlf(void **unused)
{
	(void)unused;
	const Program *p = program("\xef\xbb\xbf" "tunec: 1\r\nname: op\r\n"
	    "doc: Gr\xc3\xb6\xc3\x9f" "e\r\nparams: {N: 3}\r\ncompute: |\r\n"
	    "  # \xce\xa3\r\n  a[k < N] = 1\r\n\r\n  b[k < N] =\r\n"
	    "    a[k]\r\n", NULL);
	assert_int_equal(p->ndefinitions, 2);
	assert_string_equal(p->doc, "Gr\xc3\xb6\xc3\x9f" "e");
}

static const char *const cased = HEAD
    "params:\n  N: 4\n  M: N*2\n"
    "compute: |\n  out[k < M] = 1\n"
    "cases:\n  big: {N: 8}\n  wide: {M: N + 1}\n  5th: {}\n"
    "weights: {big: 4, wide: 0.5}\n";

static void test_cases(void **unused)
{
	(void)unused;
	Spec *spec = parse(cased);
	assert_non_null(spec);
	assert_int_equal(spec_ncases(spec), 3);
	assert_string_equal(spec_case(spec, 2)->name, "5th");
	assert_true(spec_case(spec, 0)->weight == 4);
	assert_true(spec_case(spec, 1)->weight == 0.5);
	assert_true(spec_case(spec, 2)->weight == 1);
	assert_string_equal(spec_name(spec), "op");
	assert_int_equal(param(program(cased, NULL), "M"), 8);
	assert_int_equal(param(program(cased, "big"), "M"), 16);
	assert_int_equal(param(program(cased, "wide"), "M"), 5);
	assert_string_equal(program(cased, "5th")->symbol, "op_5th");
	assert_string_equal(program(cased, "")->symbol, "op");
	assert_null(spec_program(arena, spec, "none", NULL, 0,
	    NUMERICS_DEFAULT, &diag));
}

/* -D comes after the case, the last one counts, and the symbol stays. */
static void test_define(void **unused)
{
	(void)unused;
	Spec *spec = parse(cased);
	SpecDefine defines[] = {{"N", "1"}, {"N", "2 + 1"}, {"M", "N*10"}};
	assert_non_null(spec);
	Program *p = spec_program(arena, spec, "big", defines, 3,
	    NUMERICS_EXACT, &diag);
	assert_non_null(p);
	assert_int_equal(param(p, "M"), 30);
	assert_string_equal(p->symbol, "op_big");
	SpecDefine later = {"N", "M"}, unknown = {"K", "1"};
	assert_null(spec_program(
	    arena, spec, "big", &later, 1, NUMERICS_DEFAULT, &diag));
	assert_null(spec_program(
	    arena, spec, "big", &unknown, 1, NUMERICS_DEFAULT, &diag));
	/* said once, refused each time */
	assert_null(spec_program(
	    arena, spec, "wide", &unknown, 1, NUMERICS_DEFAULT, &diag));
	/* wrong, and replaced by a good one */
	static const char *const wrong[] = {"else 4", "K + 1", "(1", "M*2"};
	for (int i = 0; i < 4; i++) {
		SpecDefine two[] = {{"N", wrong[i]}, {"N", "4"}};
		assert_null(spec_program(arena, spec, "big", two, 2,
		    NUMERICS_DEFAULT, &diag));
		assert_null(spec_program(arena, spec, "wide", two, 2,
		    NUMERICS_DEFAULT, &diag));
	}
}

static void test_outputs(void **unused)
{
	(void)unused;
	static const char *const text = HEAD "inputs: {x: 'f32[]'}\n"
	    "compute: |\n  a[] = x[] b[] = a[]*2\n  c[] = x[] + 1\n";
	const Program *p = program(text, NULL);
	assert_int_equal(p->noutputs, 1);
	assert_string_equal(p->buffers[p->outputs[0]].name, "c");
	assert_int_equal(p->ndefinitions, 1); /* a and b are left out */
	assert_int_equal(diag.warnings, 2);
	assert_int_equal(p->bytes, 8);
	p = program(arena_printf(arena, "%soutputs: [b, a]\n", text), NULL);
	assert_int_equal(p->noutputs, 2);
	assert_string_equal(p->buffers[p->outputs[0]].name, "b");
	assert_int_equal(p->buffers[p->outputs[1]].role, BUFFER_OUTPUT);
}

static void test_grammar(void **unused)
{
	(void)unused;
	static const char *const bodies[] = {
		"1 + if k == 0 then 1 else 2 + 3",
		"sum[i < 2, j < 3](k + i*j) - max[i < 2](i) - max(k, 2)",
		"i32(-9223372036854775808 + 9223372036854775807)",
		"- -k // 3 % 2 - -1",
		".5 + 1. + 1e-5 * 1.5E+3",
		"f16(inf) - clamp(f16(k), 0, 3)",
		"if 0 <= k < 2 <= 3 then 1 else 0",
		"sigmoid(k) + rsqrt(k) + pow(k, 2) + erf(k)",
	};
	for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
		program(arena_printf(arena, HEAD
		    "compute: |\n  out[k < 4] = %s\n", bodies[i]), NULL);
}

static void test_names(void **unused)
{
	(void)unused;
	const char *why;
	assert_true(name_valid("_a1", 3, &why));
	assert_false(name_valid("", 0, &why));
	assert_false(name_valid("bf16", 4, &why));
	assert_false(name_valid("and", 3, &why));
	assert_false(name_valid("static_assert", 13, &why));
	static const char *const taken[] = {"main", "memcpy", "printf",
		"INT_MAX", "size_t", "errno", "NULL", "pthread_create", "y0",
		"isnan", "write", "va_start", "cexp", "div_t", "jmp_buf",
		"memory_order_relaxed", "thrd_success", "tm"};
	for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
		if (!name_in_libc(taken[i]))
			fail_msg("%s", taken[i]);
	static const char *const free_names[] = {"conv2d", "gemm", "softmax",
		"add", "scale", "dot", "relu", "matmul", "x", ""};
	for (size_t i = 0; i < sizeof free_names / sizeof free_names[0]; i++)
		if (name_in_libc(free_names[i]))
			fail_msg("%s", free_names[i]);
}

/* Few messages for many mistakes, and each definition has its own. */
static void test_many_errors(void **unused)
{
	(void)unused;
	Buf text = {0};
	buf_puts(&text, HEAD "compute: |\n");
	for (int i = 0; i < 1000; i++)
		buf_printf(&text, "  a%d[k < 4] = k +\n", i);
	assert_null(parse(buf_text(&text)));
	assert_int_equal(diag.errors, SPEC_ERRORS_MAX);
	buf_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_scalars, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_bom_crlf, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_cases, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_define, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_outputs, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_grammar, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_names, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    test_many_errors, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
