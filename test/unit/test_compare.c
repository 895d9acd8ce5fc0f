/* What is a right result?  Of operators that are conditioned badly one in another
 * order of summation is, however far it is from the reference; a wrong one is not,
 * nor is one that forgets a term. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/measure/measure_internal.h"

enum { N = 96 };

static const char quotient[] = "tunec: 1\nname: q\n"
    "inputs: {w: \"f32[96, 96]\"}\n"
    "compute: |\n"
    "  z[i < 96] = sum[k < 96](w[i, k])\n"
    "  y[i < 96, k < 96] = w[i, k]/z[i]\n"
    "outputs: [y]\n";

static const char softmax[] = "tunec: 1\nname: s\n"
    "inputs: {q: \"f32[96, 96]\", b: \"f32[96, 96]\"}\n"
    "compute: |\n"
    "  s[i < 96, j < 96] = sum[k < 96](q[i, k]*b[j, k])\n"
    "  m[i < 96] = max[j < 96](s[i, j])\n"
    "  e[i < 96, j < 96] = exp(s[i, j] - m[i])\n"
    "  z[i < 96] = sum[j < 96](e[i, j])\n"
    "  y[i < 96, k < 96] = e[i, k]/z[i]\n"
    "outputs: [y]\n";

/* In f32, the sums from the last term to the term `from`. */
static void divide_rows(void *const *in, float *y, int from)
{
	const float *w = in[0];
	for (int i = 0; i < N; i++) {
		volatile float z = 0;
		for (int k = N - 1; k >= from; k--)
			z += w[i * N + k];
		for (int k = 0; k < N; k++)
			y[i * N + k] = w[i * N + k] / z;
	}
}

static void weigh_rows(void *const *in, float *y, int from)
{
	const float *q = in[0], *b = in[1];
	for (int i = 0; i < N; i++) {
		float s[N], m = -INFINITY;
		volatile float z = 0;
		for (int j = 0; j < N; j++) {
			volatile float sum = 0;
			for (int k = N - 1; k >= from; k--)
				sum += q[i * N + k] * b[j * N + k];
			s[j] = sum;
			m = fmaxf(m, sum);
		}
		for (int j = N - 1; j >= 0; j--)
			z += expf(s[j] - m);
		for (int j = 0; j < N; j++)
			y[i * N + j] = expf(s[j] - m) / z;
	}
}

/* Of these a denominator, or an argument, may be 0 but for rounding, in many
 * elements of each set. */
static const char weighted[] =
    "tunec: 1\nname: w\n"
    "inputs: {x: \"f32[96, 104]\", g: \"f32[9]\"}\n"
    "compute: |\n"
    "  d[i < 96, j < 96, r < 9] = x[i, j + r] - x[i, j + 4]\n"
    "  w[i < 96, j < 96, r < 9] = g[r]*exp(-20*d[i, j, r]*d[i, j, r])\n"
    "  a[i < 96, j < 96] = sum[r < 9](w[i, j, r]*x[i, j + r])\n"
    "  b[i < 96, j < 96] = sum[r < 9](w[i, j, r])\n"
    "  y[i < 96, j < 96] = a[i, j]/b[i, j]\n"
    "outputs: [y]\n";

static const char ratio[] =
    "tunec: 1\nname: r\n"
    "inputs: {a: \"f32[96, 96]\", b: \"f32[96, 96]\"}\n"
    "compute: |\n"
    "  a0[i < 96] = sum[k < 96](a[i, k])\n"
    "  b0[i < 96] = sum[k < 96](b[i, k])\n"
    "  a1[i < 96] = sum[k < 96](a[k, i])\n"
    "  b1[i < 96] = sum[k < 96](b[k, i])\n"
    "  y[i < 96, j < 96] = (a0[i] - b0[j])/(a1[j] - b1[i])\n"
    "outputs: [y]\n";

static const char reciprocal[] =
    "tunec: 1\nname: r\n"
    "inputs: {a: \"f32[96, 96]\", b: \"f32[96, 96]\"}\n"
    "compute: |\n"
    "  y[i < 96, j < 96] = 1/sum[k < 96](a[i, k]*b[j, k])\n";

static const char logarithm[] =
    "tunec: 1\nname: l\n"
    "inputs: {a: \"f32[96, 96]\", b: \"f32[96, 96]\"}\n"
    "compute: |\n"
    "  y[i < 96, j < 96] = log(sum[k < 96](a[i, k]*b[j, k]))\n";

static void weigh_near(void *const *in, float *y, int from)
{
	const float *g = in[1];
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++) {
			const float *x = (const float *)in[0] + i * (N + 8) + j;
			volatile float a = 0, b = 0;
			for (int r = 8; r >= from; r--) {
				float d = x[r] - x[4];
				float w = g[r] * expf(-20 * d * d);
				a += w * x[r];
				b += w;
			}
			y[i * N + j] = a / b;
		}
}

static float sum_back(const float *x, int stride, int from)
{
	volatile float sum = 0;
	for (int k = N - 1; k >= from; k--)
		sum += x[k * stride];
	return sum;
}

static void divide_differences(void *const *in, float *y, int from)
{
	const float *a = in[0], *b = in[1];
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			y[i * N + j] = (sum_back(a + i * N, 1, from) -
					   sum_back(b + j * N, 1, from)) /
			    (sum_back(a + j, N, from) -
				sum_back(b + i, N, from));
}

static float dot_back(void *const *in, int i, int j, int from)
{
	const float *a = (const float *)in[0] + i * N;
	const float *b = (const float *)in[1] + j * N;
	volatile float sum = 0;
	for (int k = N - 1; k >= from; k--)
		sum += a[k] * b[k];
	return sum;
}

static void invert_products(void *const *in, float *y, int from)
{
	for (int i = 0; i < N * N; i++)
		y[i] = 1 / dot_back(in, i / N, i % N, from);
}

static void take_logarithms(void *const *in, float *y, int from)
{
	for (int i = 0; i < N * N; i++)
		y[i] = logf(dot_back(in, i / N, i % N, from));
}

typedef void Kernel(void *const *inputs, float *y, int from);

typedef struct {
	Arena *arena;
	Program *program;
	MeasureData data;
	void *inputs[MEASURE_SETS][3];
	char why[256];
} Case;

static void open_seeded(Case *c, const char *text, uint64_t seed)
{
	Diag diag = {0};
	Error error;
	*c = (Case){.arena = arena_new()};
	Source *source = NEW(c->arena, Source);
	*source = (Source){"a.yaml", text, strlen(text)};
	Spec *spec = spec_parse(c->arena, source, &diag);
	c->program = spec ? spec_program(c->arena, spec, NULL, NULL, 0,
				NUMERICS_DEFAULT, &diag)
			  : NULL;
	if (!c->program ||
	    measure_data_new(c->arena, c->program, &c->data, &error))
		fail_msg("%s", "the program is not accepted");
	diag_free(&diag);
	measure_data_fill(&c->data, seed);
	for (int s = 0; s < MEASURE_SETS; s++) {
		void **data = NEW_N(c->arena, void *, c->program->nbuffers);
		for (int i = 0; i < c->program->nbuffers; i++)
			data[i] = arena_alloc(c->arena, (size_t)buffer_bytes(
				&c->program->buffers[i]));
		for (int i = 0; i < c->program->ninputs; i++) {
			data[i] = c->data.base + c->data.input[s][i];
			c->inputs[s][i] = data[i];
		}
		data[c->program->outputs[0]] =
		    c->data.base + c->data.expected[s][0];
		interp_run(c->program, data);
	}
	if (!compare_expected(&c->data, 20, c->why, sizeof c->why))
		fail_msg("%s", c->why);
}

static void open_case(Case *c, const char *text)
{
	open_seeded(c, text, 1);
}

static void close_case(Case *c)
{
	measure_data_free(&c->data);
	arena_free(c->arena);
}

/* On how many of the sets are the results right? */
static int right_sets(Case *c, Kernel *kernel, int from, float spoil)
{
	float *y = must_alloc(sizeof *y * N * N);
	int right = 0;
	for (int s = 0; s < MEASURE_SETS; s++) {
		kernel(c->inputs[s], y, from);
		y[5 * N + 5] += spoil;
		right += compare_output(
		    &c->data, s, 0, 0, y, c->why, sizeof c->why);
	}
	free(y);
	return right;
}

static void check(const char *text, Kernel *kernel)
{
	Case c;
	open_case(&c, text);
	/* a softmax over large scores is the same without the term */
	assert_true(right_sets(&c, kernel, 1, 0) <= 1);
	assert_true(right_sets(&c, kernel, 0, 0.25f) < MEASURE_SETS);
	if (right_sets(&c, kernel, 0, 0) != MEASURE_SETS)
		fail_msg("a right one is refused: %s", c.why);
	/* what was learnt meanwhile excuses nothing else */
	assert_true(right_sets(&c, kernel, 0, 0.25f) < MEASURE_SETS);
	assert_true(right_sets(&c, kernel, 1, 0) <= 1);
	close_case(&c);
}

static void test_quotient(void **state)
{
	(void)state;
	check(quotient, divide_rows);
}

static void test_softmax(void **state)
{
	(void)state;
	check(softmax, weigh_rows);
}

/* A right one is right on all sets, one that forgets a term is found. */
static void check_seeds(const char *text, Kernel *kernel)
{
	for (uint64_t seed = 2; seed <= 8; seed++) {
		Case c;
		open_seeded(&c, text, seed);
		if (right_sets(&c, kernel, 0, 0) != MEASURE_SETS)
			fail_msg("seed %d: a right one is refused: %s",
			    (int)seed, c.why);
		if (right_sets(&c, kernel, 1, 0) == MEASURE_SETS)
			fail_msg("seed %d: a wrong one is not", (int)seed);
		close_case(&c);
	}
}

static void test_denominators(void **state)
{
	(void)state;
	check_seeds(weighted, weigh_near);
	check_seeds(ratio, divide_differences);
	check_seeds(reciprocal, invert_products);
	check_seeds(logarithm, take_logarithms);
}

static const char product[] = "tunec: 1\nname: p\n"
    "inputs: {a: \"f32[96, 96]\", b: \"f32[96, 96]\"}\n"
    "compute: |\n"
    "  y[i < 96, j < 96] = sum[k < 96](a[i, k]*b[j, k])\n";

static float rounded(float x, int digits)
{
	int exponent;
	float d = frexpf(x, &exponent);
	return ldexpf(roundf(ldexpf(d, digits)), exponent - digits);
}

/* How many sets are right with operands of so many digits, if such are asked for
 * that are off by `allowed`? */
static int right_products(Case *c, int digits, double allowed, float spoil)
{
	float *y = must_alloc(sizeof *y * N * N);
	int right = 0;
	for (int s = 0; s < MEASURE_SETS; s++) {
		const float *a = c->inputs[s][0], *b = c->inputs[s][1];
		for (int i = 0; i < N * N; i++) {
			y[i] = 0;
			for (int k = 0; k < N; k++)
				y[i] += rounded(a[i / N * N + k], digits) *
				    rounded(b[i % N * N + k], digits);
		}
		y[5 * N + 5] += spoil;
		right += compare_output(
		    &c->data, s, 0, allowed, y, c->why, sizeof c->why);
	}
	free(y);
	return right;
}

/* Operands in tf32 are right where the schedule rounds them so, and not where it
 * does not; fewer digits nowhere. */
static void test_rounded(void **state)
{
	Case c;
	(void)state;
	open_case(&c, product);
	assert_int_equal(right_products(&c, 11, 0x1p-11, 0), MEASURE_SETS);
	assert_true(right_products(&c, 11, 0, 0) < MEASURE_SETS);
	assert_true(right_products(&c, 5, 0x1p-11, 0) < MEASURE_SETS);
	assert_true(right_products(&c, 11, 0x1p-11, 1e3f) < MEASURE_SETS);
	assert_int_equal(right_products(&c, 24, 0, 0), MEASURE_SETS);
	close_case(&c);
}

/* --- the set of zeros, infinities and the like ------------------------------- */

enum { COLUMNS = 128, ROWS = 200 };

static const char rows[] = "tunec: 1\nname: r\n"
    "inputs: {x: \"f32[200, 128]\", s: \"f32[200]\", e: \"f32[]\"}\n"
    "compute: |\n"
    "  y[i < 200, j < 128] = x[i, j]/s[i]*e[]\n";

static bool all_are(const float *x, int n, bool (*is)(float))
{
	for (int i = 0; i < n; i++)
		if (!is(x[i]))
			return false;
	return true;
}

static bool is_zero(float x)
{
	return x == 0;
}

static bool is_infinite(float x)
{
	return isinf(x);
}

static bool is_subnormal(float x)
{
	return fpclassify(x) == FP_SUBNORMAL;
}

static bool is_tiny(float x)
{
	return isnormal(x) && fabsf(x) < 0x1p-20f;
}

static bool is_negative(float x)
{
	return isfinite(x) && x <= -0.25f;
}

static bool has(const float *x, int n, int lanes, bool (*is)(float))
{
	for (int i = 0; i + lanes <= n; i += lanes)
		if (all_are(x + i, lanes, is))
			return true;
	return false;
}

static bool has_vector(const float *x, int n, bool (*is)(float))
{
	return has(x, n, 16, is);
}

/* Whole vectors of everything, rows of 0 and of one number. */
static void test_special(void **state)
{
	int zero = 0, constant = 0, n = ROWS * COLUMNS;
	Case c;
	(void)state;
	open_case(&c, rows);
	const float *x = c.inputs[SET_SPECIAL][0], *s = c.inputs[SET_SPECIAL][1];
	assert_true(has_vector(x, n, is_zero));
	assert_true(has_vector(x, n, is_infinite));
	assert_true(has_vector(x, n, is_subnormal));
	assert_true(has_vector(x, n, is_tiny));
	assert_true(has_vector(x, n, is_negative));
	for (int i = 0; i < ROWS; i++) {
		const float *row = x + i * COLUMNS;
		bool same = !memcmp(
		    row, row + 1, sizeof *row * (COLUMNS - 1));
		zero += same && *row == 0;
		constant += same && *row != 0;
	}
	assert_true(zero > 1 && constant > 1);
	assert_true(has(s, ROWS, 1, is_zero) && has(s, ROWS, 1, is_tiny));
	assert_true(has(s, ROWS, 4, is_negative));
	assert_true(isnormal(*(float *)(c.data.base +
	    c.data.input[SET_SPECIAL][2])));
	/* and without what leaves nothing to compare */
	measure_data_special(&c.data, 1, SPECIAL_FINITE);
	for (int i = 0; i < n; i++)
		assert_true(isfinite(x[i]));
	assert_true(has_vector(x, n, is_zero));
	measure_data_special(&c.data, 1, SPECIAL_NONZERO);
	for (int i = 0; i < n; i++)
		assert_true(fabsf(x[i]) > 0x1p-40f);
	close_case(&c);
}

/* An Intel core takes some 150 cycles for a product with one. */
static void test_few_subnormals(void **state)
{
	static const char text[] = "tunec: 1\nname: r\n"
	    "inputs: {x: \"f32[256, 512]\"}\n"
	    "compute: |\n"
	    "  y[i < 256, j < 512] = 2*x[i, j]\n";
	int subnormal = 0, n = 256 * 512, cases = 8;
	(void)state;
	for (int seed = 0; seed < cases; seed++) {
		Case c;
		open_seeded(&c, text, (uint64_t)seed);
		const float *x = c.inputs[SET_SPECIAL][0];
		for (int i = 0; i < n; i++)
			subnormal += is_subnormal(x[i]);
		close_case(&c);
	}
	assert_in_range(subnormal, cases, cases * n / 1000);
}

/* Rows by a reciprocal that is NaN for what is small or negative, unless a vector
 * has a doubtful lane: 0 is none. */
static void divide_short(void *const *in, float *y, int from)
{
	const float *x = in[0], *s = in[1];
	(void)from;
	for (int k = 0; k < ROWS * COLUMNS; k++) {
		float d = s[k / COLUMNS];
		int lane = k / 16 * 16;
		float z = d >= 0x1p-12f && d <= 0x1p60f ? 1 / d : NAN;
		bool zeros = all_are(x + lane, 16, is_zero);
		y[k] = zeros ? x[k] * z : x[k] / d;
	}
}

static void test_short_cut(void **state)
{
	static const char text[] = "tunec: 1\nname: r\n"
	    "inputs: {x: \"f32[200, 128]\", s: \"f32[200]\"}\n"
	    "compute: |\n"
	    "  y[i < 200, j < 128] = x[i, j]/s[i]\n";
	float *y = must_alloc(sizeof *y * ROWS * COLUMNS);
	Case c;
	(void)state;
	open_case(&c, text);
	for (int set = 0; set < MEASURE_SETS; set++) {
		divide_short(c.inputs[set], y, 0);
		assert_int_equal(compare_output(&c.data, set, 0, 0, y, c.why,
				     sizeof c.why),
		    set != SET_SPECIAL);
	}
	free(y);
	close_case(&c);
}

/* Where infinity may be taken for 0 there is none. */
static void test_open(void **state)
{
	static const char text[] = "tunec: 1\nname: p\n"
	    "inputs: {x: \"f32[200, 128]\", w: \"f32[128]\"}\n"
	    "compute: |\n"
	    "  p[i < 200, j < 130] = if 1 <= j < 129 then x[i, j - 1] else 0\n"
	    "  y[i < 200, j < 3] = sum[k < 128](p[i, j + k]*w[k])\n"
	    "outputs: [y]\n";
	Case c;
	(void)state;
	open_case(&c, text);
	assert_true(program_may_hide_nan(c.program));
	assert_int_equal(special_first(c.program), SPECIAL_FINITE);
	assert_true(special_serves(&c.data));
	close_case(&c);
	open_case(&c, rows);
	assert_false(program_may_hide_nan(c.program));
	close_case(&c);
	open_case(&c, softmax);
	assert_false(program_may_hide_nan(c.program));
	close_case(&c);
}

/* --- products ---------------------------------------------------------------- */

enum { LINES = 8, LENGTH = 256, PIECE = 16 };

static const char running[] = "tunec: 1\nname: p\n"
			      "inputs: {x: \"f32[8, 256]\"}\n"
			      "compute: |\n"
			      "  p[b < 8, i < 256] = prod[j < i](%s)\n";

static float factor(int kind, float x)
{
	switch (kind) {
	case 0: return x;
	case 1: return x + 0.5f;
	case 2: return expf(x);
	case 3: return 1 - x;
	case 4: return x * 1000;
	default: return x + 8;
	}
}

/* In pieces, from the product of all pieces before; one factor is forgotten. */
static void run_products(int kind, const float *x, float *y, int forgotten)
{
	for (int b = 0; b < LINES; b++) {
		volatile float before = 1;
		for (int i = 0; i < LENGTH; i += PIECE) {
			volatile float own = 1;
			for (int k = i; k < i + PIECE; k++) {
				y[b * LENGTH + k] = before * own;
				if (k != forgotten)
					own *= factor(kind, x[b * LENGTH + k]);
			}
			before *= own;
		}
	}
}

/* Any order of them is right on all sets; a factor that is forgotten, however far
 * along, is not where they do not become 0 or infinite whatever is done. */
static void test_products(void **state)
{
	static const char *const factors[] = {"x[b, j]", "x[b, j] + 0.5",
	    "exp(x[b, j])", "1 - x[b, j]", "x[b, j]*1000", "x[b, j] + 8"};
	static const bool lasts[] = {true, false, true, true, false, false};
	float *y = must_alloc(sizeof *y * LINES * LENGTH);
	(void)state;
	for (int f = 0; f < 6; f++) {
		char text[300];
		int right = 0;
		Case c;
		snprintf(text, sizeof text, running, factors[f]);
		open_case(&c, text);
		for (int set = 0; set < MEASURE_SETS; set++) {
			run_products(f, c.inputs[set][0], y, -1);
			if (!compare_output(
				&c.data, set, 0, 0, y, c.why, sizeof c.why))
				fail_msg(
				    "%s, set %d: %s", factors[f], set, c.why);
			run_products(f, c.inputs[set][0], y, 200);
			right += compare_output(
			    &c.data, set, 0, 0, y, c.why, sizeof c.why);
		}
		if (lasts[f])
			assert_true(right < MEASURE_SETS);
		close_case(&c);
	}
	free(y);
}

/* The exact program has the inputs' and constants' values as they are. */
static void test_exact(void **state)
{
	static const char text[] = "tunec: 1\nname: x\n"
	    "inputs: {a: \"f32[3]\", h: \"f16[3]\"}\n"
	    "compute: |\n"
	    "  t[i < 3] = a[i]*0.1 + f32(h[i])\n"
	    "  y[i < 3]: f16 = f16(t[i]*a[i])\n";
	(void)state;
	Case c = {.arena = arena_new()};
	Diag diag = {0};
	Source source = {"x.yaml", text, sizeof text - 1};
	Spec *spec = spec_parse(c.arena, &source, &diag);
	Program *p = spec ? spec_program(c.arena, spec, NULL, NULL, 0,
				NUMERICS_DEFAULT, &diag)
			  : NULL;
	if (!p)
		fail_msg("%s", buf_text(&diag.text));
	float a[3] = {1.25f, 3.1f, -7};
	uint16_t h[3] = {
	    f16_from_f32(0.5f), f16_from_f32(2), f16_from_f32(-1)};
	void *inputs[] = {a, h};
	Program *exact = program_exact(c.arena, p);
	for (int64_t i = 0; i < 3; i++) {
		double got = 0;
		double t = (double)a[i] * 0.1f + (double)f16_to_f32(h[i]);
		interp_point(exact, inputs, p->outputs[0], &i, &got);
		assert_true(got == t * (double)a[i]);
	}
	diag_free(&diag);
	arena_free(c.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_quotient),
	    cmocka_unit_test(test_softmax),
	    cmocka_unit_test(test_denominators),
	    cmocka_unit_test(test_rounded),
	    cmocka_unit_test(test_exact),
	    cmocka_unit_test(test_special),
	    cmocka_unit_test(test_few_subnormals),
	    cmocka_unit_test(test_short_cut),
	    cmocka_unit_test(test_open),
	    cmocka_unit_test(test_products),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
