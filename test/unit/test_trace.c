/* Traces as text, as JSON, with other names; templates. */
#include "test/common_schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

static const char contract_example[] =
    "ap = cache_read(c, a, pack)   # packed\n"
    "mo, mi = split(c.i, ?=[_, 6] in tile(2, inner<=16))\n"
    "no, ni = split(c.j, ?=[_, 16] in tile(2, inner in lanes*{1,2,3}))\n"
    "tail(mi, ?=pad in {pad, peel, mask})\n"
    "reorder(mo, no, c.k, mi, ni)\n"
    "compute_at(ap, mo)\n"
    "unroll(mi); vectorize(ni, lanes); parallel(mo)\n";

static const char every_construct[] =
    "ap = cache_read(c, p, scope=local)\n"
    "aq = cache_read(c, p, scope=local, read=2)\n"
    "mo, m1, mi = split(c.i, ? in tile([1, 2, 4], [16, lanes]))\n"
    "jo, ji = split(c.j, ?=[_, 3] in tile(2, inner<=7))\n"
    "ko, ki = split(c.k, [2, 8])\n"
    "transform_layout(ap, [x0//mi, x1//(mi*4)%ki, x0%mi])\n"
    "pad(ap, -inf)\n"
    "pad(ap, -3)\n"
    "compute_at(d, ? in {c.i, root, inline})\n"
    "unroll(ki, limit=?=64 in {16, 64})\n"
    "unroll(ki, limit=? in {16, 64})\n"
    "rf = rfactor(ki)\n"
    "reorder(rf.ki, rf.i, rf.ko, rf.j)\n"
    "vectorize(ji, lanes*2)\n"
    "prefetch(c, b, c.k, ?=8 in {8, 16})\n"
    "cw = cache_write(c)\n"
    "parallel(cw.i)\n";

static char *printed(Arena *arena, const Trace *trace)
{
	Buf out = {0};
	char *text;

	trace_print(&out, trace);
	text = arena_strdup(arena, buf_text(&out));
	buf_free(&out);
	return text;
}

static void assert_identity(const char *text)
{
	Arena *arena = arena_new();
	char *once = printed(arena, schedule_steps(arena, text));

	assert_string_equal(once, printed(arena, schedule_steps(arena, once)));
	arena_free(arena);
}

static void test_print_parse_print(void **state)
{
	(void)state;
	assert_identity("");
	assert_identity(contract_example);
	assert_identity(every_construct);
	assert_identity("reorder(c.i, # rows\n  c.k,\n\n c.j)\r\n;;\n");
}

static void test_printed_form(void **state)
{
	Arena *arena = arena_new();

	(void)state;
	assert_string_equal(printed(arena, schedule_steps(arena,
	    contract_example)),
	    "ap = cache_read(c, a, pack)\n"
	    "mo, mi = split(c.i, ?=[_, 6] in tile(2, inner<=16))\n"
	    "no, ni = split(c.j, ?=[_, 16] in tile([lanes*1, lanes*2, "
	    "lanes*3]))\n"
	    "tail(mi, ?=pad in {pad, peel, mask})\n"
	    "reorder(mo, no, c.k, mi, ni)\n"
	    "compute_at(ap, mo)\n"
	    "unroll(mi)\nvectorize(ni, lanes)\nparallel(mo)\n");
	arena_free(arena);
}

static void test_domains(void **state)
{
	Arena *arena = arena_new();
	Trace *t = schedule_steps(arena,
	    "a, b, e = split(c.i, ? in tile(3, inner in {8, 16}, middle<=3))\n"
	    "f, g = split(c.j, ? in tile(2))");
	Domain *d = &t->steps.at[0].args[1].domain;

	(void)state;
	assert_int_equal(d->kind, DOMAIN_TILE);
	assert_int_equal(d->parts, 3);
	assert_int_equal(d->nvalues[0], 1);
	assert_int_equal(d->values[0][0].kind, VALUE_HOLE);
	assert_int_equal(d->nvalues[1], 3);
	assert_int_equal(d->nvalues[2], 2);
	assert_int_equal(d->values[2][1].i, 16);
	d = &t->steps.at[1].args[1].domain;
	assert_int_equal(d->nvalues[1], 7);
	assert_int_equal(d->values[1][6].i, 64);
	arena_free(arena);
}

static void test_lanes(void **state)
{
	Arena *arena = arena_new();
	Machine machine = {.vector_bytes = 32};
	Trace *t = schedule_steps(arena,
	    "no, ni = split(c.j, ? in tile(2, inner in lanes*{1,3}))\n"
	    "vectorize(ni, lanes)\n");

	(void)state;
	assert_string_equal(
	    printed(arena, trace_resolve_lanes(arena, t, &machine)),
	    "no, ni = split(c.j, ? in tile([8, 24]))\nvectorize(ni, 8)\n");
	arena_free(arena);
}

static const struct {
	const char *text, *message;
} mistakes[] = {
    {"parallel(c.i", "trace:1:13: error: expected ','"},
    {"paralel(c.i)", "trace:1:1: error: no step is named 'paralel'"},
    {"a = parallel(c.i)", "error: parallel gives no name"},
    {"cache_read(c, a)", "error: cache_read gives one name"},
    {"x = cache_read(c, a, limit=2)", "error: cache_read takes"},
    {"x = cache_read(c, a, read=2, read=1)", "error: cache_read takes"},
    {"x = cache_read(c, a, reg, scope=reg)", "error: cache_read takes"},
    {"split(c.i, [_, 4])", "error: split gives names"},
    {"parallel()", "error: parallel takes (loop)"},
    {"parallel(c.i, c.j)", "error: parallel takes (loop)"},
    {"unroll(c.i, limt=4)", "error: unroll takes (loop [, limit])"},
    {"unroll(c.i, 4, limit=4)", "error: unroll takes (loop [, limit])"},
    {"parallel(c.i) x", "trace:1:15: error: expected a new line"},
    {"tail(c, ?)", "error: an open decision needs 'in' and a domain"},
    {"tail(c, ?=x in {pad})", "error: the value is not in the decision's"},
    {"a, b = split(c.i, ?=[_, 5] in tile([4]))", "error: the value is not"},
    {"a, b = split(c.i, ? in tile(1))", "error: a tile has 2 to 16 parts"},
    {"a, b = split(c.i, ? in tile([]))", "error: a part of the tile has no"},
    {"a, b = split(c.i, ? in tile([0]))", "error: the values of a tile"},
    {"a, b = split(c.i, ? in tile(2, outer<=4))", "expected 'inner' or"},
    {"a, b = split(c.i, ? in tile(2, inner<=0))", "error: a bound is 1 to"},
    {"tail(c, ? in {})", "error: a domain has at least one value"},
    {"unroll(limit=4, c.i)", "error: a positional argument comes before"},
    {"a.b = cache_read(c, a)", "error: a step gives names"},
    {"_ = cache_read(c, a)", "error: a step gives names"},
    {"unroll(c.i, 99999999999999999999)", "error: number too large"},
    {"unroll(c.i, 4x)", "error: expected an integer"},
    {"unroll(c.i, $)", "error: expected a value"},
    {"parallel(c.i)\nfoo(c)\nbar(c)", "trace:3:1: error: no step is named"},
};

static void test_mistakes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
		Arena *arena = arena_new();
		const char *text = mistakes[i].text;
		Source source = {"trace", text, strlen(text)};
		Diag diag = {0};
		Trace *t = trace_parse(
		    arena, &source, (Span){0, source.size}, &diag);
		if (t || !strstr(buf_text(&diag.text), mistakes[i].message))
			fail_msg("%s\ngave\n%s", text, buf_text(&diag.text));
		diag_free(&diag);
		arena_free(arena);
	}
}

/* Every prefix of a text and every text with one byte changed is read or
 * refused, and what is read prints as itself. */
/* A candidate has 16 bits for each position. */
static void test_large_domain(void **state)
{
	Arena *arena = arena_new();

	(void)state;
	for (int n = 32767; n <= 32768; n++) {
		Buf text = {0};
		Diag diag = {0};
		buf_puts(&text, "unroll(c.k, ? in {1");
		for (int i = 2; i <= n; i++)
			buf_printf(&text, ", %d", i);
		buf_puts(&text, "})\n");
		Source source = {"trace", buf_text(&text), text.size};
		Trace *t = trace_parse(
		    arena, &source, (Span){0, source.size}, &diag);
		assert_int_equal(t != NULL, n == 32767);
		assert_int_equal(strstr(buf_text(&diag.text),
		    "a domain has at most 32767 values") != NULL, n == 32768);
		diag_free(&diag);
		buf_free(&text);
	}
	arena_free(arena);
}

/* A text that is no trace ends after as many messages as can be read. */
static void test_many_mistakes(void **state)
{
	Buf text = {0};
	Diag diag = {0};
	(void)state;
	for (int i = 0; i < 5000; i++)
		buf_puts(&text, "split(\n");
	Source source = {"t", text.data, text.size};
	Arena *arena = arena_new();
	assert_null(trace_parse(arena, &source, (Span){0, source.size}, &diag));
	assert_int_equal(diag.errors, 50);
	diag_free(&diag);
	arena_free(arena);
	buf_free(&text);
}

static void test_damaged(void **state)
{
	size_t n = strlen(every_construct);
	char text[sizeof every_construct];

	(void)state;
	for (size_t i = 0; i < 2 * n; i++) {
		Arena *arena = arena_new();
		Source source = {"t", text, i < n ? i : n};
		Diag diag = {0};
		Trace *t;
		memcpy(text, every_construct, sizeof text);
		if (i >= n)
			text[i - n] = "([{?=,_#;%/*"[i % 12];
		t = trace_parse(arena, &source, (Span){0, source.size}, &diag);
		if (t)
			assert_identity(printed(arena, t));
		else
			assert_true(diag.errors > 0);
		diag_free(&diag);
		arena_free(arena);
	}
}

static void test_json(void **state)
{
	Arena *arena = arena_new();
	const char *texts[] = {contract_example, every_construct, ""};

	(void)state;
	for (int i = 0; i < 3; i++) {
		Error error;
		json_t *json = trace_to_json(schedule_steps(arena, texts[i]));
		Trace *back = trace_from_json(arena, json, &error);
		json_t *again;
		assert_non_null(back);
		again = trace_to_json(back);
		assert_true(json_equal(json, again));
		json_decref(again);
		json_decref(json);
	}
	arena_free(arena);
}

/* A trace without domains is the same text after JSON. */
static void test_json_text(void **state)
{
	static const char text[] =
	    "ap = cache_read(c, a, scope=local)\n"
	    "mo, mi = split(c.i, ?=[_, 6])\n"
	    "transform_layout(ap, [x0//mi, x1, x0%mi])\n"
	    "unroll(mi, limit=?=64)\n"
	    "compute_at(ap, ?=mo)\n"
	    "pad(ap, -inf)\n";
	Arena *arena = arena_new();
	json_t *json = trace_to_json(schedule_steps(arena, text));
	Error error;

	(void)state;
	assert_string_equal(
	    printed(arena, trace_from_json(arena, json, &error)), text);
	json_decref(json);
	arena_free(arena);
}

static void test_json_mistakes(void **state)
{
	static const char *const texts[][2] = {
	    {"{}", "a trace is a list of steps"},
	    {"[1]", "step 1: a step is"},
	    {"[{\"step\": \"parallel\", \"args\": [\"c.i\"]}, {}]", "step 2: "},
	    {"[{\"step\": \"x\", \"args\": []}]", "there is no such step"},
	    {"[{\"step\": \"parallel\", \"args\": []}]", "an argument is missing"},
	    {"[{\"step\": \"parallel\", \"args\": 1}]", "\"args\" is a list"},
	    {"[{\"step\": \"parallel\", \"a\": 1}]", "the keys are"},
	    {"[{\"step\": \"parallel\", \"args\": [\"c i\"]}]", "a string is"},
	    {"[{\"step\": \"parallel\", \"args\": [1.5]}]", "a value is"},
	    {"[{\"step\": \"parallel\", \"args\": [{\"a\": 1}]}]",
		"a decision is"},
	    {"[{\"step\": \"parallel\", \"out\": 1, \"args\": []}]",
		"\"out\" is a list of names"},
	    {"[{\"step\": \"parallel\", \"out\": [\"a.b\"], \"args\": []}]",
		"\"out\" is a list of names"},
	    {"[{\"step\": \"parallel\", \"args\": [\"c.i)\"]}]", "a string is"},
	    {"[{\"step\": \"parallel\", \"args\": [\"c//(2\"]}]", "a string is"},
	    {"[{\"step\": \"parallel\", \"args\": [\"c%\"]}]", "a string is"},
	    {"[{\"step\": \"parallel\", \"out\": [\"a\"], \"args\": [\"c.i\"]}]",
		"another number of names"},
	    {"[{\"step\": \"cache_write\", \"out\": [\"a\", \"b\"], "
	     "\"args\": [\"c\", \"reg\"]}]",
		"another number of names"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		Arena *arena = arena_new();
		json_t *json = json_loads(texts[i][0], 0, NULL);
		Error error = {0};
		assert_non_null(json);
		assert_null(trace_from_json(arena, json, &error));
		if (!strstr(error.text, texts[i][1]))
			fail_msg("%s gave %s", texts[i][0], error.text);
		json_decref(json);
		arena_free(arena);
	}
}

static void test_rename(void **state)
{
	static const char text[] =
	    "ap = cache_read(c, p)\n"
	    "jo, ji = split(c.j, ?=[_, 4])\n"
	    "ko, ki = split(c.k, [_, 8])\n"
	    "transform_layout(ap, [x0//(ji*2), x1, x0%ji])\n"
	    "transform_layout(d, [j//ji, i, j%ji])\n"
	    "compute_at(ap, ?=jo in {jo, c.i, root})\n"
	    "cw = cache_write(c)\n"
	    "rf = rfactor(ki)\n"
	    "reorder(rf.ki, rf.i, rf.ko, cw.i)\n"
	    "prefetch(c, b, c.i, 4)\n"
	    "tail(c, pad)\n";
	static const char canonical[] =
	    "b0 = cache_read(d1, d0)\n"
	    "l0, l1 = split(d1.a1, ?=[_, 4])\n"
	    "l2, l3 = split(d1.r0, [_, 8])\n"
	    "transform_layout(b0, [x0//(l1*2), x1, x0%l1])\n"
	    "transform_layout(d2, [a1//l1, a0, a1%l1])\n"
	    "compute_at(b0, ?=l0 in {l0, d1.a0, root})\n"
	    "b1 = cache_write(d1)\n"
	    "b2 = rfactor(l3)\n"
	    "reorder(b2.l3, b2.a0, b2.l2, b1.a0)\n"
	    "prefetch(d1, i1, d1.a0, 4)\n"
	    "tail(d1, pad)\n";
	Arena *arena = arena_new();
	Program *program = schedule_chain(arena);
	Trace *there = trace_canonical(
	    arena, program, schedule_steps(arena, text));
	Error error;
	Trace *back = trace_localized(arena, program, there, &error);

	(void)state;
	assert_string_equal(printed(arena, there), canonical);
	assert_non_null(back);
	assert_string_equal(
	    printed(arena, trace_canonical(arena, program, back)), canonical);
	assert_null(trace_localized(arena, program,
	    schedule_steps(arena, "parallel(d9.a0)"), &error));
	assert_non_null(strstr(error.text, "'d9.a0'"));
	assert_null(trace_localized(arena, program,
	    schedule_steps(arena, "parallel(d0.a7)"), &error));
	arena_free(arena);
}

static void test_templates(void **state)
{
	static const char text[] = "\n"
	    "  fast:\n    parallel(c.i)\n    vectorize(c.j,\n      lanes)\n"
	    "  slow: # nothing\n";
	Source source = {"spec", text, sizeof text - 1};
	Arena *arena = arena_new();
	Program *p = schedule_chain(arena);
	NamedTraceVec templates = {0};
	Diag diag = {0};

	(void)state;
	p->source = &source;
	p->schedule_text = text;
	p->schedule_span = (Span){0, source.size};
	assert_true(templates_parse(arena, p, &diag, &templates));
	assert_int_equal(templates.n, 2);
	assert_string_equal(templates.at[0].name, "fast");
	assert_int_equal(templates.at[0].trace->steps.n, 2);
	assert_int_equal(templates.at[1].trace->steps.n, 0);
	diag_free(&diag);
	arena_free(arena);
}

static void test_template_mistakes(void **state)
{
	static const char *const texts[][2] = {
	    {"parallel(c.i)\n", "expected 'NAME:'"},
	    {"a:\na:\n", "there are two templates"},
	    {"a:\n paralel(c.i)\n", "spec:2:2: error: no step"},
	    {"set a = 4\n", "spec:1:1: error: the built-in rules have no"},
	    {"a:\n set b 4\n", "spec:2:2: error: the built-in rules have no"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		Source source = {"spec", texts[i][0], strlen(texts[i][0])};
		Arena *arena = arena_new();
		Program *p = schedule_chain(arena);
		NamedTraceVec templates = {0};
		Diag diag = {0};
		bool good;
		p->source = &source;
		p->schedule_text = source.text;
		p->schedule_span = (Span){0, source.size};
		good = templates_parse(arena, p, &diag, &templates);
		assert_false(good);
		if (!strstr(buf_text(&diag.text), texts[i][1]))
			fail_msg("%s", buf_text(&diag.text));
		diag_free(&diag);
		arena_free(arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_print_parse_print),
	    cmocka_unit_test(test_printed_form),
	    cmocka_unit_test(test_domains),
	    cmocka_unit_test(test_lanes),
	    cmocka_unit_test(test_mistakes),
	    cmocka_unit_test(test_large_domain),
	    cmocka_unit_test(test_many_mistakes),
	    cmocka_unit_test(test_damaged),
	    cmocka_unit_test(test_json),
	    cmocka_unit_test(test_json_text),
	    cmocka_unit_test(test_json_mistakes),
	    cmocka_unit_test(test_rename),
	    cmocka_unit_test(test_templates),
	    cmocka_unit_test(test_template_mistakes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
