/* The interpreter of programs, against loops written by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/rng.h"
#include "test/common_program.h"

static void **make_data(Arena *arena, const Program *p)
{
	Rng rng = rng_stream(7, 0, 0);
	void **data = NEW_N(arena, void *, p->nbuffers);
	for (int b = 0; b < p->nbuffers; b++) {
		int64_t n = 1;
		for (int d = 0; d < p->buffers[b].ndim; d++)
			n *= p->buffers[b].shape[d];
		float *x = NEW_N(arena, float, n);
		for (int64_t i = 0; b < p->ninputs && i < n; i++)
			x[i] = (float)(rng_double(&rng) * 2 - 1);
		data[b] = x;
	}
	return data;
}

/* Every element of the last buffer, on its own, has the bits of the run. */
static void points_equal(const Program *p, void **data)
{
	int last = p->nbuffers - 1;
	const Buffer *b = &p->buffers[last];
	int64_t index[8] = {0}, n = 1;
	for (int d = 0; d < b->ndim; d++)
		n *= b->shape[d];
	for (int64_t at = 0; at < n; at++) {
		float one, all = ((const float *)data[last])[at];
		int64_t rest = at;
		for (int d = b->ndim - 1; d >= 0; d--) {
			index[d] = rest % b->shape[d];
			rest /= b->shape[d];
		}
		interp_point(p, data, last, index, &one);
		assert_memory_equal(&one, &all, sizeof one);
	}
}

static void matmul(void **state)
{
	(void)state;
	enum { M = 5, N = 7, K = 9 };
	Arena *arena = arena_new();
	Program *p = program_matmul(arena, M, N, K);
	void **data = make_data(arena, p);
	const float *a = data[0], *b = data[1], *c = data[2];
	interp_run(p, data);
	for (int i = 0; i < M; i++)
		for (int j = 0; j < N; j++) {
			float sum = 0;
			for (int k = 0; k < K; k++)
				sum += a[i * K + k] * b[k * N + j];
			assert_true(sum == c[i * N + j]);
		}
	points_equal(p, data);
	arena_free(arena);
}

static void conv(void **state)
{
	(void)state;
	enum { C = 3, X = 11, O = 4, S = 2, OX = (X + 2 - 3) / S + 1 };
	Arena *arena = arena_new();
	Program *p = program_conv(arena, C, X, O, S);
	void **data = make_data(arena, p);
	const float *x = data[0], *w = data[1], *bias = data[2];
	const float *out = data[p->nbuffers - 1];
	interp_run(p, data);
	for (int o = 0; o < O; o++)
		for (int i = 0; i < OX; i++) {
			float sum = 0;
			for (int c = 0; c < C; c++)
				for (int r = 0; r < 3; r++) {
					int at = i * S + r - 1;
					float v = at >= 0 && at < X
					    ? x[c * X + at] : 0;
					sum += v * w[(o * C + c) * 3 + r];
				}
			sum += bias[o];
			assert_true(out[o * OX + i] == (sum > 0 ? sum : 0));
		}
	points_equal(p, data);
	arena_free(arena);
}

static void quotient(void **state)
{
	(void)state;
	enum { N = 12 };
	Arena *arena = arena_new();
	Program *p = program_quotient(arena, N);
	void **data = make_data(arena, p);
	const float *x = data[0], *out = data[p->nbuffers - 1];
	interp_run(p, data);
	for (int i = 0; i < N; i++)
		assert_true(
		    out[i] == (x[i / 2] + x[i / 2 + 1]) * x[i % 4]);
	points_equal(p, data);
	arena_free(arena);
}

/* --- single expressions ---------------------------------------------------- */

/* out[i] = body, over x: `type`[n] */
typedef struct {
	Arena *arena;
	Program p;
	Buffer buffers[2];
	Block block;
	Axis axes[2];
	int64_t shape[2];
} Tiny;

static Expr *tiny(Tiny *t, DType in, DType out, int64_t n)
{
	*t = (Tiny){.arena = arena_new(), .shape = {n, n}};
	t->buffers[0] = (Buffer){.name = "x", .type = in, .ndim = 1,
	    .shape = t->shape, .role = BUFFER_INPUT, .block = -1};
	t->buffers[1] = (Buffer){.name = "out", .type = out, .ndim = 1,
	    .shape = t->shape + 1, .role = BUFFER_OUTPUT};
	t->axes[0] = (Axis){"i", n, false};
	t->block = (Block){.name = "out", .buffer = 1, .naxes = 1,
	    .nspatial = 1, .axes = t->axes};
	t->p = (Program){.buffers = t->buffers, .nbuffers = 2, .ninputs = 1,
	    .blocks = &t->block, .nblocks = 1};
	return expr_read(t->arena, in, 0,
	    (Expr *[]){expr_axis(t->arena, 0)}, 1);
}

static void tiny_run(Tiny *t, Expr *body, const void *x, void *out)
{
	t->block.body = body;
	interp_run(&t->p, (void *[]){(void *)(uintptr_t)x, out});
	for (int64_t i = 0; i < t->shape[1]; i++) {
		size_t bytes = (size_t)dtype_bytes(t->buffers[1].type);
		char one[8];
		interp_point(&t->p, (void *[]){(void *)(uintptr_t)x}, 1, &i,
		    one);
		assert_memory_equal(one, (char *)out + (size_t)i * bytes,
		    bytes);
	}
	arena_free(t->arena);
}

static void casts(void **state)
{
	(void)state;
	Tiny t;
	float f[] = {NAN, 1e9f, -1e9f, -1.9f, 255.5f, 0.25f};
	uint8_t u[6], u_want[] = {0, 255, 0, 0, 255, 0};
	uint8_t b[6], b_want[] = {1, 1, 1, 1, 1, 1};
	int8_t i8[6], i8_want[] = {0, 127, -128, -1, 127, 0};
	Expr *x = tiny(&t, DT_F32, DT_U8, 6);
	tiny_run(&t, expr_cast(t.arena, DT_U8, x), f, u);
	assert_memory_equal(u, u_want, 6);
	x = tiny(&t, DT_F32, DT_I8, 6);
	tiny_run(&t, x, f, i8); /* storing converts */
	assert_memory_equal(i8, i8_want, 6);
	x = tiny(&t, DT_F32, DT_BOOL, 6);
	tiny_run(&t, expr_cast(t.arena, DT_BOOL, x), f, b);
	assert_memory_equal(b, b_want, 6);

	double d[] = {1 + 0x1p-11 + 0x1p-40, INFINITY, 0x1p63, -0x1p63};
	uint16_t h[4], h_want[] = {0x3c01, 0x7c00, 0x7c00, 0xfc00};
	int64_t l[4], l_want[] = {1, INT64_MAX, INT64_MAX, INT64_MIN};
	x = tiny(&t, DT_F64, DT_F16, 4);
	tiny_run(&t, expr_cast(t.arena, DT_F16, x), d, h);
	assert_memory_equal(h, h_want, sizeof h);
	x = tiny(&t, DT_F64, DT_I64, 4);
	tiny_run(&t, expr_cast(t.arena, DT_I64, x), d, l);
	assert_memory_equal(l, l_want, sizeof l);

	/* one rounding from 64 bits: half of a bf16 unit, and a little more */
	int64_t big[] = {(INT64_C(1) << 62) + (INT64_C(1) << 54),
	    (INT64_C(1) << 62) + (INT64_C(1) << 54) + 1, 300, -129};
	uint16_t bf[4], bf_want[] = {0x5e80, 0x5e81, 0x4396, 0xc301};
	int8_t wrapped[4], wrapped_want[] = {0, 1, 44, 127};
	x = tiny(&t, DT_I64, DT_BF16, 4);
	tiny_run(&t, expr_cast(t.arena, DT_BF16, x), big, bf);
	assert_memory_equal(bf, bf_want, sizeof bf);
	x = tiny(&t, DT_I64, DT_I8, 4);
	tiny_run(&t, expr_cast(t.arena, DT_I8, x), big, wrapped);
	assert_memory_equal(wrapped, wrapped_want, sizeof wrapped);
}

static void integers(void **state)
{
	(void)state;
	Tiny t;
	int32_t in[] = {INT32_MIN, -7, -1, 0, 7, INT32_MAX}, out[6];
	int32_t quotient[] = {INT32_MIN / 2, -4, -1, 0, 3, INT32_MAX / 2};
	int32_t rest[] = {0, 1, 1, 0, 1, 1};
	int32_t negated[] = {INT32_MIN, 7, 1, 0, -7, -INT32_MAX};
	int32_t square[] = {0, 49, 1, 0, 49, 1};
	Expr *x = tiny(&t, DT_I32, DT_I32, 6);
	Expr *two = expr_int(t.arena, DT_I32, 2);
	tiny_run(&t, expr_binary(t.arena, OP_FLOORDIV, x, two), in, out);
	assert_memory_equal(out, quotient, sizeof out);
	x = tiny(&t, DT_I32, DT_I32, 6);
	two = expr_int(t.arena, DT_I32, 2);
	tiny_run(&t, expr_binary(t.arena, OP_MOD, x, two), in, out);
	assert_memory_equal(out, rest, sizeof out);
	x = tiny(&t, DT_I32, DT_I32, 6);
	tiny_run(&t, expr_unary(t.arena, OP_NEG, x), in, out);
	assert_memory_equal(out, negated, sizeof out);
	x = tiny(&t, DT_I32, DT_I32, 6);
	tiny_run(&t, expr_binary(t.arena, OP_MUL, x, x), in, out);
	assert_memory_equal(out, square, sizeof out);
}

static void choices(void **state)
{
	(void)state;
	Tiny t;
	float in[] = {NAN, -0.f, 0, 2}, out[4];
	Expr *x = tiny(&t, DT_F32, DT_F32, 4);
	Expr *zero = expr_float(t.arena, DT_F32, 0);
	/* a > b ? a : b: NaN loses on the left and -0 to 0 */
	tiny_run(&t, expr_binary(t.arena, OP_MAX, x, zero), in, out);
	assert_true(out[0] == 0 && !signbit(out[1]) && out[3] == 2);
	x = tiny(&t, DT_F32, DT_F32, 4);
	zero = expr_float(t.arena, DT_F32, 0);
	tiny_run(&t, expr_binary(t.arena, OP_MAX, zero, x), in, out);
	assert_true(isnan(out[0]) && signbit(out[1]) && out[3] == 2);

	/* reduced over itself: NaN is passed over */
	tiny(&t, DT_F32, DT_F32, 4);
	t.axes[1] = (Axis){"r", 4, true};
	t.block.naxes = 2;
	t.block.reduce = REDUCE_MAX;
	Expr *r = expr_axis(t.arena, 1);
	tiny_run(&t, expr_read(t.arena, DT_F32, 0, &r, 1), in, out);
	assert_true(out[0] == 2 && out[3] == 2);

	/* i >= 1 and x[i - 1] > 1.5: the read stays under its guard */
	float more[] = {1, 2, 1, 3};
	uint8_t above[4], want[] = {0, 0, 1, 0};
	tiny(&t, DT_F32, DT_BOOL, 4);
	Expr *i = expr_axis(t.arena, 0), *one = expr_int(t.arena, DT_INDEX, 1);
	Expr *before = expr_binary(t.arena, OP_SUB, i, one);
	Expr *guard = expr_binary(t.arena, OP_GE, i, one);
	x = expr_read(t.arena, DT_F32, 0, &before, 1);
	tiny_run(&t,
	    expr_binary(t.arena, OP_AND, guard,
		expr_binary(t.arena, OP_GT, x,
		    expr_float(t.arena, DT_F32, 1.5))),
	    more, above);
	assert_memory_equal(above, want, 4);

	/* the same read under a condition and outside of it */
	float nested[4];
	x = tiny(&t, DT_F32, DT_F32, 4);
	i = expr_axis(t.arena, 0);
	one = expr_int(t.arena, DT_INDEX, 1);
	before = expr_binary(t.arena, OP_SUB, i, one);
	guard = expr_binary(t.arena, OP_GE, i, one);
	Expr *inner = expr_if(t.arena, guard,
	    expr_binary(t.arena, OP_ADD, x,
		expr_read(t.arena, DT_F32, 0, &before, 1)),
	    expr_binary(t.arena, OP_MUL, x, x));
	tiny_run(&t, expr_binary(t.arena, OP_ADD, inner, x), more, nested);
	assert_true(nested[0] == 2 && nested[1] == 5 && nested[2] == 4 &&
	    nested[3] == 7);
}

static float reciprocal_root(float x)
{
	return 1 / sqrtf(x);
}

static float logistic(float x)
{
	return 1 / (1 + expf(-x));
}

static bool same(float a, float b)
{
	return a == b || (isnan(a) && isnan(b));
}

static void functions(void **state)
{
	static float (*const of_libm[OP_COUNT])(float) = {[OP_EXP] = expf,
	    [OP_EXP2] = exp2f, [OP_EXPM1] = expm1f, [OP_LOG2] = log2f,
	    [OP_LOG1P] = log1pf, [OP_TAN] = tanf, [OP_ASIN] = asinf,
	    [OP_ACOS] = acosf, [OP_ATAN] = atanf, [OP_SINH] = sinhf,
	    [OP_COSH] = coshf, [OP_TRUNC] = truncf,
	    [OP_LOG] = logf, [OP_SIN] = sinf, [OP_COS] = cosf,
	    [OP_SQRT] = sqrtf, [OP_RSQRT] = reciprocal_root,
	    [OP_TANH] = tanhf, [OP_SIGMOID] = logistic, [OP_ERF] = erff,
	    [OP_FLOOR] = floorf, [OP_CEIL] = ceilf, [OP_ROUND] = rintf};
	static float (*const of_two[OP_COUNT])(float, float) = {
	    [OP_ATAN2] = atan2f, [OP_POW] = powf};
	(void)state;
	Tiny t;
	float in[] = {0.3f, 2.5f, 3.5f, 1.75f}, out[4];
	for (Op op = 0; op < OP_COUNT; op++) {
		if (!op_is_function(op))
			continue;
		int arity = op_arity(op);
		assert_true(arity == 1 ? of_libm[op] != NULL
				       : of_two[op] != NULL);
		Expr *args[2] = {tiny(&t, DT_F32, DT_F32, 4)};
		args[1] = expr_float(t.arena, DT_F32, 1.5);
		tiny_run(&t, expr_call(t.arena, op, DT_F32, args, arity), in,
		    out);
		for (int i = 0; i < 4; i++)
			assert_true(same(out[i],
			    arity == 1 ? of_libm[op](in[i])
				       : of_two[op](in[i], 1.5f)));
	}
	double d[] = {0.3, 2.5}, e[2];
	Expr *y = tiny(&t, DT_F64, DT_F64, 2);
	Expr *limits[] = {y, expr_float(t.arena, DT_F64, 1),
	    expr_float(t.arena, DT_F64, 2)};
	tiny_run(&t, expr_call(t.arena, OP_CLAMP, DT_F64, limits, 3), d, e);
	assert_true(e[0] == 1 && e[1] == 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(matmul),
	    cmocka_unit_test(conv),
	    cmocka_unit_test(quotient),
	    cmocka_unit_test(casts),
	    cmocka_unit_test(integers),
	    cmocka_unit_test(choices),
	    cmocka_unit_test(functions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
