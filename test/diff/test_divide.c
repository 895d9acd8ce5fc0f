/* Quotients by what does not vary in the loop are those of a division, bit for
 * bit: of any floats, of specials, of what is as near to the middle between two
 * floats as a quotient gets, and scaled to all ends of the range; in vectors of
 * these alone, of one of them alone, and mixed. */
#include "lib/rng.h"
#include "test/common_lower.h"
#include "test/common_lowered.h"
#include "test/common_program.h"
#include "test/common_schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <math.h>

enum { ROWS = 64, COLUMNS = 64, LANES = 16, ROUNDS = 400 };

typedef struct {
	float a[ROWS][COLUMNS], s[ROWS], y[ROWS][COLUMNS];
} Data;

typedef struct {
	Arena *arena;
	Target *target;
	Lowered *lowered;
	void *function;
	Buf object;
} Kernel;

static const char text[] = "tunec: 1\n"
			   "name: quotients\n"
			   "inputs: {a: 'f32[64, 64]', s: 'f32[64]'}\n"
			   "compute: |\n"
			   "  y[r < 64, i < 64] = a[r, i] / s[r]\n";

static const char lanes[] = "i0, i1 = split(y.i, [_, 16])\nvectorize(i1, 16)\n";

static bool make(
    Kernel *k, const char *spec, const char *steps, const char *cpu)
{
	Error error = {0};
	k->arena = arena_new();
	Program *p = program_of_text(k->arena, spec, NUMERICS_DEFAULT);
	Target *target = target_parse(k->arena,
	    arena_printf(k->arena, "llvm -mcpu=%s -threads=1", cpu), &error);
	assert_non_null(target);
	k->target = target;
	Nest *nest = schedule_nest(k->arena, p, &target->machine,
	    schedule_steps(k->arena, steps), &error);
	assert_non_null(nest);
	k->lowered = lower(k->arena, nest, &target->machine, &error);
	assert_non_null(k->lowered);
	if (!target_runs_here(target))
		return false;
	lowtest_compile(target, (Lowered *[]){k->lowered}, 1, LLVM_OBJECT,
	    &k->object);
	k->function =
	    dlsym(lowtest_open(&k->object), k->lowered->kernel->name);
	assert_non_null(k->function);
	return true;
}

static void unmake(Kernel *k)
{
	buf_free(&k->object);
	arena_free(k->arena);
}

/* --- data ----------------------------------------------------------------- */

static float any_float(Rng *rng)
{
	uint32_t bits = (uint32_t)rng_next(rng);
	float x;
	memcpy(&x, &bits, sizeof x);
	return x;
}

static float special(Rng *rng)
{
	static const float some[] = {0, -0.0f, INFINITY, -INFINITY, NAN, 1, -1,
	    0x1p-149f, -0x1p-149f, 0x1p-126f, 0x1.fffffep127f, 0x1p-88f,
	    0x1.fffffep-89f, 0x1p-100f, 0x1p-12f, 0x1.fffffep-13f, 0x1p60f,
	    0x1.000002p60f, 3, 0x1.fffffep0f, 0x1.000002p0f};
	return some[rng_below(rng, sizeof some / sizeof *some)];
}

static uint64_t inverse(uint64_t odd)
{
	uint64_t x = odd;
	for (int i = 0; i < 6; i++)
		x *= 2 - odd * x;
	return x;
}

/* a with a*2^e = m s + j, where m is odd: a/s is nearly (m/2)*2^... */
static float near_middle(Rng *rng, uint32_t s)
{
	for (int k = 0; k < 100; k++) {
		int e = 24 + (int)rng_below(rng, 2);
		int64_t j = (int64_t)rng_below(rng, 25) - 12;
		uint64_t all = (UINT64_C(1) << e) - 1;
		uint64_t m = (uint64_t)-j * inverse(s) & all;
		m += m < UINT64_C(1) << 24 ? UINT64_C(1) << 24 : 0;
		uint64_t a = (m * s + (uint64_t)j) >> e;
		if (m & 1 && a >> 23 == 1)
			return (float)a;
	}
	return (float)(0x800000 + rng_below(rng, 0x800000));
}

/* A third of the vectors has nothing but specials, or one that is repeated, 0
 * most often. */
static void fill_vectors(Rng *rng, float *a)
{
	for (int i = 0; i < COLUMNS; i += LANES) {
		int kind = (int)rng_below(rng, 9);
		float one = special(rng);
		for (int n = 0; n < LANES && kind < 3; n++)
			a[i + n] = kind == 0 ? special(rng)
			    : kind == 1	     ? one
			    : rng_below(rng, 2) ? 0
						 : -0.0f;
	}
}

static void fill_row(Rng *rng, float *a, float *s)
{
	int kind = (int)rng_below(rng, 4);
	uint32_t odd = 0x800001 + 2 * (uint32_t)rng_below(rng, 0x400000);
	int up = (int)rng_below(rng, 120) - 70;
	*s = kind == 0	 ? any_float(rng)
	    : kind == 1 ? special(rng)
			 : ldexpf((float)odd, up);
	for (int i = 0; i < COLUMNS; i++) {
		int far = (int)rng_below(rng, 8) ? 40 : 290;
		int by = (int)rng_below(rng, (uint64_t)far) - far / 2;
		a[i] = rng_below(rng, 30) == 0 && kind == 2 ? special(rng)
		    : kind == 0				  ? any_float(rng)
		    : kind == 1 ? (i % 2 ? special(rng) : any_float(rng))
				: ldexpf(near_middle(rng, odd), by - 23);
		if (kind > 1 && rng_below(rng, 2))
			a[i] = -a[i];
	}
	fill_vectors(rng, a);
}

static void expect(const Data *d, float divisor)
{
	for (int r = 0; r < ROWS; r++)
		for (int i = 0; i < COLUMNS; i++) {
			float s = divisor ? divisor : d->s[r];
			float want = d->a[r][i] / s, got = d->y[r][i];
			if (memcmp(&want, &got, sizeof got) &&
			    !(isnan(want) && isnan(got)))
				fail_msg("%a / %a is %a, not %a",
				    (double)d->a[r][i], (double)s,
				    (double)want, (double)got);
		}
}

/* --- tests ---------------------------------------------------------------- */

static int64_t interpret(const Kernel *k, Data *d, LowOpcode op)
{
	char none[64];
	LowRun run = {0};
	if (!low_function_run(
		k->lowered->kernel, (void *[]){d->a, d->s, d->y, none}, &run))
		fail_msg("%s", run.message);
	return run.op_count[op];
}

static void check_rows(const char *steps, uint64_t seed)
{
	Kernel k = {0};
	char none[64];
	Rng rng = rng_stream(seed, 0, 0);
	bool here = make(&k, text, steps, "skylake-avx512");
	Data *d = NEW(k.arena, Data);
	for (int round = 0; round < ROUNDS; round++) {
		for (int r = 0; r < ROWS; r++)
			fill_row(&rng, d->a[r], &d->s[r]);
		if (round < 20) {
			assert_int_equal(interpret(&k, d, LOW_ANY),
			    ROWS * COLUMNS / 16);
			expect(d, 0);
		}
		if (!here)
			continue;
		memset(d->y, 0, sizeof d->y);
		lowercheck_call(
		    k.function, (void *[]){d->a, d->s, d->y, none}, 4);
		expect(d, 0);
	}
	unmake(&k);
}

static void test_rows(void **state)
{
	(void)state;
	check_rows(lanes, 11);
}

/* Of a row that is repeated in code, too. */
static void test_rows_in_code(void **state)
{
	(void)state;
	check_rows("i0, i1 = split(y.i, [_, 16])\nvectorize(i1, 16)\n"
		   "unroll(i0)\n",
	    16);
}

/* As C by a compiler; NULL where there is none. */
static void *through_c(const Kernel *k, const char *cc)
{
	char folder[] = "/tmp/tunec-divide-XXXXXX";
	const Lowered *l = k->lowered;
	EmitComment none = {"", "none", ""};
	Buf c = {0};
	assert_non_null(mkdtemp(folder));
	const char *file = arena_printf(k->arena, "%s/k.c", folder);
	emit_c_all(&c, &l, 1, k->target, &none);
	FILE *f = fopen(file, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(c.data, 1, c.size, f), c.size);
	fclose(f);
	buf_free(&c);
	int failed = system(arena_printf(k->arena,
	    "command -v %s >/dev/null && cd %s && "
	    "%s -O2 -fPIC -shared k.c -o k.so -lm",
	    cc, folder, cc));
	void *library = failed
	    ? NULL
	    : dlopen(arena_printf(k->arena, "%s/k.so", folder), RTLD_NOW);
	system(arena_printf(k->arena, "rm -r %s", folder));
	return library ? dlsym(library, l->kernel->name) : NULL;
}

static void test_c(void **state)
{
	static const char *const compilers[] = {"gcc", "clang-14"};
	char none[64];
	Kernel k = {0};
	Rng rng = rng_stream(15, 0, 0);
	int compiled = 0;
	(void)state;
	if (!make(&k, text, lanes, "skylake-avx512")) {
		unmake(&k);
		skip();
	}
	Data *d = NEW(k.arena, Data);
	for (int c = 0; c < 2; c++) {
		void *function = through_c(&k, compilers[c]);
		compiled += function != NULL;
		for (int round = 0; function && round < ROUNDS; round++) {
			for (int r = 0; r < ROWS; r++)
				fill_row(&rng, d->a[r], &d->s[r]);
			lowercheck_call(
			    function, (void *[]){d->a, d->s, d->y, none}, 4);
			expect(d, 0);
		}
	}
	assert_true(compiled);
	unmake(&k);
}

/* Most vectors are not divided. */
static void test_seldom(void **state)
{
	Kernel k = {0};
	Rng rng = rng_stream(12, 0, 0);
	(void)state;
	make(&k, text, lanes, "skylake-avx512");
	Data *d = NEW(k.arena, Data);
	for (int r = 0; r < ROWS; r++) {
		d->s[r] = (float)(1 + 1000 * rng_double(&rng));
		for (int i = 0; i < COLUMNS; i++)
			d->a[r][i] = i % 3 ? (float)exp(-30 * rng_double(&rng))
					   : -0.0f;
	}
	assert_int_equal(interpret(&k, d, LOW_DIV), ROWS);
	expect(d, 0);
	unmake(&k);
}

static void test_number(void **state)
{
	static const float by[] = {3, 255, 0.1f, 1e-3f, 4, 1e-30f, -7, 1e30f};
	(void)state;
	for (size_t n = 0; n < sizeof by / sizeof *by; n++) {
		Kernel k = {0};
		Rng rng = rng_stream(13, 0, n);
		char spec[256], none[64];
		LowRun run = {0};
		snprintf(spec, sizeof spec,
		    "tunec: 1\nname: quotients\ninputs: {a: 'f32[64, 64]'}\n"
		    "compute: |\n  y[r < 64, i < 64] = a[r, i] / (%.9g)\n",
		    (double)by[n]);
		make(&k, spec, lanes, "skylake-avx512");
		Data *d = NEW(k.arena, Data);
		for (int r = 0; r < ROWS; r++)
			fill_row(&rng, d->a[r], &d->s[r]);
		assert_true(low_function_run(k.lowered->kernel,
		    (void *[]){d->a, d->y, none}, &run));
		expect(d, by[n]);
		unmake(&k);
	}
}

/* Whole numbers by a number are never too small: nothing is tested. */
static void test_whole(void **state)
{
	static const float by[] = {3, 255, 0.1f, 1e-3f, 1e9f};
	(void)state;
	for (size_t n = 0; n < sizeof by / sizeof *by; n++) {
		Kernel k = {0};
		Rng rng = rng_stream(14, 0, n);
		char spec[256], none[64];
		LowRun run = {0};
		snprintf(spec, sizeof spec,
		    "tunec: 1\nname: quotients\ninputs: {a: 'i32[64, 64]'}\n"
		    "compute: |\n  y[r < 64, i < 64] = f32(a[r, i]) / (%.9g)\n",
		    (double)by[n]);
		make(&k, spec, lanes, "skylake-avx512");
		Data *d = NEW(k.arena, Data);
		int32_t *whole = NEW_N(k.arena, int32_t, ROWS * COLUMNS);
		for (int i = 0; i < ROWS * COLUMNS; i++) {
			int bits = (int)rng_below(&rng, 32);
			whole[i] = (int32_t)(rng_next(&rng) >> 32) >> bits;
			d->a[i / COLUMNS][i % COLUMNS] = (float)whole[i];
		}
		assert_true(low_function_run(k.lowered->kernel,
		    (void *[]){whole, d->y, none}, &run));
		assert_int_equal(run.op_count[LOW_ANY], 0);
		assert_int_equal(run.op_count[LOW_DIV], 0);
		expect(d, by[n]);
		unmake(&k);
	}
}

/* Quotients that lie between each other are stored as whole vectors, although
 * one may be divided in between. */
static void test_interleaved(void **state)
{
	Kernel k = {0};
	char none[64];
	LowRun run = {0};
	(void)state;
	make(&k,
	    "tunec: 1\nname: quotients\n"
	    "inputs: {a: 'f32[3, 64]', s: 'f32[3]'}\n"
	    "compute: |\n  y[i < 64, c < 3] = a[c, i] / s[c]\n",
	    "i0, i1 = split(y.i, [_, 16])\nreorder(i0, y.c, i1)\n"
	    "unroll(y.c)\nvectorize(i1, 16)\n",
	    "skylake-avx512");
	float a[3][64], s[3] = {3, 0x1p-40f, 7}, y[64][3];
	for (int i = 0; i < 3 * 64; i++)
		a[i / 64][i % 64] = (float)i - 99;
	assert_true(low_function_run(
	    k.lowered->kernel, (void *[]){a, s, y, none}, &run));
	assert_int_equal(run.op_count[LOW_SCATTER], 0);
	assert_int_equal(run.op_count[LOW_STORE], 3 * 64 / 16);
	for (int i = 0; i < 3 * 64; i++)
		assert_true(y[i / 3][i % 3] == a[i % 3][i / 3] / s[i % 3]);
	unmake(&k);
}

/* A quotient that several results need is made once. */
static void test_again(void **state)
{
	Kernel k = {0};
	char none[64];
	LowRun run = {0};
	(void)state;
	make(&k,
	    "tunec: 1\nname: quotients\n"
	    "inputs: {a: 'f32[4, 64]', s: 'f32[]', w: 'f32[4, 3]'}\n"
	    "compute: |\n"
	    "  q[n < 4, i < 64] = a[n, i]/s[]\n"
	    "  y[c < 3, i < 64] = sum[n < 4](q[n, i]*w[n, c])\n",
	    "compute_inline(q)\ni0, i1 = split(y.i, [_, 16])\nreorder(i0, y.n, y.c, i1)\n"
	    "unroll(y.c)\nvectorize(i1, 16)\n",
	    "skylake-avx512");
	float a[4][64], s = 0x1p-40f, w[4][3], y[3][64];
	for (int n = 0; n < 4; n++) {
		for (int i = 0; i < 64; i++)
			a[n][i] = (float)(3 * (i - 20 + n));
		for (int c = 0; c < 3; c++)
			w[n][c] = (float)(n - c);
	}
	assert_true(low_function_run(
	    k.lowered->kernel, (void *[]){a, &s, w, y, none}, &run));
	/* and that of 1 */
	assert_int_equal(run.op_count[LOW_DIV], 4 * 64 / 16 + 1);
	for (int i = 0; i < 64; i++)
		for (int c = 0; c < 3; c++)
			assert_true(y[c][i] ==
			    a[0][i] / s * w[0][c] + a[1][i] / s * w[1][c] +
				a[2][i] / s * w[2][c] + a[3][i] / s * w[3][c]);
	unmake(&k);
}

/* So is one of a sum in registers, of several in turn: the branch of another one's
 * quotient assigns nothing of it. */
static void test_again_of_sum(void **state)
{
	Kernel k = {0};
	char none[64];
	LowRun run = {0};
	(void)state;
	make(&k,
	    "tunec: 1\nname: quotients\n"
	    "inputs: {a: 'f32[3, 64]'}\n"
	    "compute: |\n"
	    "  t[i < 64] = sum[n < 3](a[n, i])\n"
	    "  y[c < 3, i < 64] = a[c, i] - t[i]/3\n",
	    "i0, i1, i2 = split(y.i, [_, 2, 16])\nreorder(i0, y.c, i1, i2)\n"
	    "unroll(y.c)\nunroll(i1)\nvectorize(i2, 16)\n"
	    "compute_at(t, i0)\nj0, j1 = split(t.i, [_, 16])\n"
	    "reorder(t.n, j0, j1)\nunroll(j0)\nvectorize(j1, 16)\n"
	    "set_scope(t, reg)\n",
	    "skylake-avx512");
	float a[3][64], y[3][64];
	for (int n = 0; n < 3; n++)
		for (int i = 0; i < 64; i++)
			a[n][i] = 0x1p-100f * (float)(3 * (i - 20 + n));
	assert_true(
	    low_function_run(k.lowered->kernel, (void *[]){a, y, none}, &run));
	assert_int_equal(run.op_count[LOW_DIV], 64 / 16);
	for (int c = 0; c < 3; c++)
		for (int i = 0; i < 64; i++)
			assert_true(y[c][i] ==
			    a[c][i] - (a[0][i] + a[1][i] + a[2][i]) / 3);
	unmake(&k);
}

/* Vectors that are short are divided, and all where numerics are exact. */
static void test_not(void **state)
{
	Kernel k = {0};
	(void)state;
	make(&k, text, lanes, "haswell");
	Data *d = NEW(k.arena, Data);
	for (int r = 0; r < ROWS; r++)
		d->s[r] = 1;
	assert_int_equal(interpret(&k, d, LOW_ANY), 0);
	unmake(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_rows),
	    cmocka_unit_test(test_rows_in_code),
	    cmocka_unit_test(test_c),
	    cmocka_unit_test(test_seldom),
	    cmocka_unit_test(test_number),
	    cmocka_unit_test(test_whole),
	    cmocka_unit_test(test_interleaved),
	    cmocka_unit_test(test_again),
	    cmocka_unit_test(test_again_of_sum),
	    cmocka_unit_test(test_not),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
