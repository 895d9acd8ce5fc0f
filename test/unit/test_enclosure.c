/* What an element may be: of random operators it holds what the interpreter has,
 * in their own types and in f64; it is any number where a denominator may be 0,
 * and little more than the number where nothing cancels. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ir/enclosure.h"
#include "ir/scalar.h"
#include "test/common_operator.h"
#include "test/common_program.h"

static bool never(void *context)
{
	(void)context;
	return false;
}

static bool always(void *context)
{
	(void)context;
	return true;
}

/* --- random operators --------------------------------------------------------- */

static void **filled(
    Arena *arena, const Program *p, OperatorData kind, int seed)
{
	Rng rng = rng_stream(2026, 31, (uint64_t)seed);
	void **data = NEW_N(arena, void *, p->nbuffers);
	for (int i = 0; i < p->nbuffers; i++) {
		data[i] = arena_alloc(
		    arena, (size_t)buffer_elements(&p->buffers[i]) * 8);
		if (i < p->ninputs)
			operator_fill(&p->buffers[i], data[i], kind, &rng);
	}
	return data;
}

/* Of all elements of all buffers; how many may be anything. */
static int check_held(
    const Program *p, const Program *of, void *const *data, const char *text)
{
	int any = 0;
	for (int b = p->ninputs; b < p->nbuffers; b++)
		for (int64_t i = 0; i < buffer_elements(&p->buffers[b]); i++) {
			Enclosure e;
			double x =
			    scalar_element(of->buffers[b].type, data[b], i);
			assert_true(
			    enclosure_point(p, data, b, i, &e, never, NULL));
			any += e.nan && isinf(e.low) && isinf(e.high);
			if (!enclosure_has(e, x))
				fail_msg("%s[%lld] is %.17g, not of [%.17g, "
					 "%.17g]%s\n%s",
				    p->buffers[b].name, (long long)i, x, e.low,
				    e.high, e.nan ? " or NaN" : "", text);
		}
	return any;
}

/* An integer made of a float is one less in f64. */
static bool is_of_floats(const Program *p)
{
	for (int b = p->ninputs; b < p->nbuffers; b++)
		if (!dtype_is_float(p->buffers[b].type))
			return false;
	return true;
}

static void test_random(void **state)
{
	enum { OPERATORS = 400 };
	int any = 0, exact = 0;
	(void)state;
	for (int seed = 0; seed < OPERATORS; seed++) {
		Arena *arena = arena_new();
		Rng rng = rng_stream(2026, 30, (uint64_t)seed);
		OperatorText text = {0};
		operator_random(arena, &rng, "r", &text);
		Program *p =
		    program_of_text(arena, text.text, NUMERICS_DEFAULT);
		void **data = filled(arena, p, (OperatorData)(seed % 3), seed);
		interp_run(p, data);
		any += check_held(p, p, data, text.text) > 0;
		if (is_of_floats(p)) {
			Program *f64 = program_exact(arena, p);
			interp_run(f64, data);
			check_held(p, f64, data, text.text);
			exact++;
		}
		arena_free(arena);
	}
	assert_true(any < OPERATORS * 3 / 4);
	assert_true(exact > OPERATORS / 10);
}

/* --- what is to be known ------------------------------------------------------ */

/* Element 0 of y. */
static Enclosure of_text(const char *compute, const float *x)
{
	Arena *arena = arena_new();
	void *inputs[] = {(void *)(uintptr_t)x};
	Enclosure e;
	Program *p = program_of_text(arena,
	    arena_printf(arena,
		"tunec: 1\nname: t\n"
		"inputs: {x: \"f32[4]\"}\ncompute: |\n%s",
		compute),
	    NUMERICS_DEFAULT);
	assert_true(
	    enclosure_point(p, inputs, p->outputs[0], 0, &e, never, NULL));
	arena_free(arena);
	return e;
}

static const float cancelling[] = {0.3f, 0.7f, -0.3f, -0.7f},
		   whole[] = {3, -2, -4, 3}, ordinary[] = {0.3f, 0.7f, 2, 1};

static void test_any(void **state)
{
	static const char quotient[] =
	    "  z[] = sum[k < 4](x[k])\n  y[i < 1] = x[i]/z[]\n";
	static const char logarithm[] = "  y[i < 1] = log(sum[k < 4](x[k]))\n";
	(void)state;
	Enclosure e = of_text(quotient, cancelling);
	assert_true(e.nan && isinf(e.low) && isinf(e.high));
	e = of_text(logarithm, cancelling);
	assert_true(e.nan && isinf(e.low) && e.high < -10);
	/* no order is off */
	e = of_text(quotient, whole);
	assert_true(e.low == INFINITY && e.high == INFINITY && !e.nan);
	e = of_text(logarithm, whole);
	assert_true(e.low == -INFINITY && e.high == -INFINITY && !e.nan);
	e = of_text("  y[i < 1] = 1/(x[i] - x[i])\n", cancelling);
	assert_true(e.low == INFINITY && e.high == INFINITY && !e.nan);
}

static void test_near(void **state)
{
	static const char *const texts[] = {
	    "  y[i < 1] = sum[k < 4](x[k]*x[k])\n",
	    "  y[i < 1] = x[i]/sum[k < 4](x[k])\n",
	    "  e[k < 4] = exp(x[k] - 2)\n"
	    "  y[i < 1] = e[i]/sum[k < 4](e[k])\n",
	    "  y[i < 1] = log(x[0]) + sqrt(x[1]) + cos(x[2])\n",
	    "  y[i < 1] = prod[k < 4](x[k] + 1)\n",
	    "  y[i < 1] = if x[0] < x[1] then x[0]*3 else 1/(x[0] - x[0])\n"};
	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		Enclosure e = of_text(texts[i], ordinary);
		assert_false(e.nan);
		assert_true(e.high - e.low <= 1e-4 * enclosure_size(e));
	}
}

/* Where a comparison may go either way, both arms count; what overflows in one
 * order does not in another. */
static void test_either(void **state)
{
	static const float large[] = {3e38f, 3e38f, -3e38f, -3e38f};
	(void)state;
	Enclosure e =
	    of_text("  y[i < 1] = if sum[k < 4](x[k]) > 0 then 5 else x[i]\n",
		cancelling);
	assert_true(enclosure_has(e, 5) && enclosure_has(e, 0.3f) && !e.nan);
	e = of_text("  y[i < 1] = sum[k < 4](x[k])\n", large);
	assert_true(enclosure_has(e, INFINITY) && enclosure_has(e, NAN));
	e = of_text(
	    "  y[i < 1] = i32(1000*sum[k < 4](x[k]) + 0.5)\n", cancelling);
	assert_true(enclosure_has(e, 0));
}

static void test_stop(void **state)
{
	Arena *arena = arena_new();
	Program *p = program_matmul(arena, 1, 1, 1 << 14);
	void **data = filled(arena, p, OPERATOR_SMALL, 1);
	Enclosure e;
	(void)state;
	assert_false(
	    enclosure_point(p, data, p->outputs[0], 0, &e, always, NULL));
	assert_true(
	    enclosure_point(p, data, p->outputs[0], 0, &e, never, NULL));
	arena_free(arena);
}

/* A chain of more definitions than a stack has room for: what lies deep in it may
 * be anything. */
static void test_deep(void **state)
{
	Buf text = {0};
	(void)state;
	buf_puts(&text, "  t0[i < 4] = x[i]\n");
	for (int i = 1; i < 4000; i++)
		buf_printf(
		    &text, "  t%d[i < 4] = t%d[i] + x[3 - i]\n", i, i - 1);
	Enclosure e = of_text(buf_text(&text), ordinary);
	assert_true(enclosure_has(e, INFINITY) && enclosure_has(e, NAN));
	buf_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_random),
	    cmocka_unit_test(test_any),
	    cmocka_unit_test(test_near),
	    cmocka_unit_test(test_either),
	    cmocka_unit_test(test_stop),
	    cmocka_unit_test(test_deep),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
