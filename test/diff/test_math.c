/* Functions of vectors against libm in double: at most 2 ulp, specials alike.
 * Every 9001st float is tried, and all around 0, the range's ends and the
 * places where the algorithms change; in the long tier every 61st. */
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

enum { N = 4096, QUICK = 9001, LONG = 61, NEAR = 1500 };

static const Op functions[] = {
    OP_EXP, OP_LOG, OP_TANH, OP_SIGMOID, OP_ERF, OP_SQRT, OP_RSQRT};
enum { NFUNCTIONS = sizeof functions / sizeof *functions };

static const char *const targets[] = {"llvm -mcpu=haswell -threads=1",
    "llvm -mcpu=x86-64 -threads=1"};

static double exactly(Op op, double x)
{
	switch (op) {
	case OP_EXP: return exp(x);
	case OP_LOG: return log(x);
	case OP_TANH: return tanh(x);
	case OP_SIGMOID:
		return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
	case OP_ERF: return erf(x);
	case OP_SQRT: return sqrt(x);
	default: return 1 / sqrt(x);
	}
}

/* Distance in units of the last place of a float of that size. */
static double ulps(float got, double want)
{
	int exponent;
	if (isnan(got) || isnan(want))
		return isnan(got) && isnan(want) ? 0 : INFINITY;
	if (isinf(got) || isinf((float)want))
		return got == (float)want ? 0 : INFINITY;
	if (want == 0)
		return got == 0 && !signbit(got) == !signbit(want)
		    ? 0
		    : INFINITY;
	frexp(want, &exponent);
	exponent = exponent < -125 ? -125 : exponent;
	return fabs(got - want) / ldexp(1, exponent - 24);
}

static Lowered *vectorized(Arena *arena, const Target *target, Op op)
{
	Error error = {0};
	Program *p = program_map(arena, op, N);
	p->symbol = arena_printf(arena, "vector_%s", op_name(op));
	Nest *nest = schedule_nest(arena, p, &target->machine,
	    schedule_steps(arena,
		"i0, i1 = split(y.i, [_, 8])\nvectorize(i1, 8)\n"),
	    &error);
	assert_non_null(nest);
	Lowered *l = lower(arena, nest, &target->machine, &error);
	assert_non_null(l);
	return l;
}

typedef struct {
	void *function;
	Op op;
	int n;
	float x[N], y[N];
	double worst;
	float worst_x;
} Check;

static void flush(Check *c)
{
	char none[64];
	lowercheck_call(c->function, (void *[]){c->x, c->y, none}, 3);
	for (int i = 0; i < c->n; i++) {
		double u = ulps(c->y[i], exactly(c->op, c->x[i]));
		if (u > c->worst)
			c->worst = u, c->worst_x = c->x[i];
	}
	c->n = 0;
}

static void try_bits(Check *c, uint32_t bits)
{
	memcpy(&c->x[c->n++], &bits, sizeof bits);
	if (c->n == N)
		flush(c);
}

static void try_near(Check *c, float x)
{
	uint32_t bits;
	memcpy(&bits, &x, sizeof bits);
	for (uint32_t i = 0; i < 2 * NEAR; i++)
		try_bits(c, bits + i - NEAR);
}

static void check(Check *c)
{
	static const float places[] = {0, -0.0f, 1, -1, INFINITY, -INFINITY,
	    NAN, 0x1p-126f, -0x1p-126f, 88.7228f, 89, -87.33f, -103.97f, -104,
	    0.625f, -0.625f, 0.927734375f, -0.927734375f, 2.f / 3, 4.f / 3, 4,
	    9.01f, 44.4f};
	const char *tier = getenv("TIER");
	uint32_t step = tier && !strcmp(tier, "long") ? LONG : QUICK;
	for (uint64_t bits = 0; bits <= UINT32_MAX; bits += step)
		try_bits(c, (uint32_t)bits);
	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		try_near(c, places[i]);
	flush(c);
}

static void test_target(const char *text)
{
	Arena *arena = arena_new();
	Error error;
	Lowered *all[NFUNCTIONS];
	Buf object = {0};
	double worst = 0;
	Target *target = target_parse(arena, text, &error);
	assert_non_null(target);
	if (!target_runs_here(target))
		return;
	for (int i = 0; i < NFUNCTIONS; i++)
		all[i] = vectorized(arena, target, functions[i]);
	lowtest_compile(target, all, NFUNCTIONS, LLVM_OBJECT, &object);
	void *library = lowtest_open(&object);
	for (int i = 0; i < NFUNCTIONS; i++) {
		Check *c = NEW(arena, Check);
		c->op = functions[i];
		c->function = dlsym(library, all[i]->kernel->name);
		assert_non_null(c->function);
		check(c);
		print_message("%s: %s within %.3f ulp (%a)\n", text,
		    op_name(c->op), c->worst, c->worst_x);
		worst = c->worst > worst ? c->worst : worst;
	}
	assert_true(worst <= 2);
	buf_free(&object);
	arena_free(arena);
}

static void test_fused(void **state)
{
	(void)state;
	test_target(targets[0]);
}

static void test_not_fused(void **state)
{
	(void)state;
	test_target(targets[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_fused),
	    cmocka_unit_test(test_not_fused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
