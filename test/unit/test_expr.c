/* Element types and expressions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ir/expr_set.h"
#include "ir/linear.h"
#include "lib/rng.h"

static void names(void **state)
{
	(void)state;
	for (int i = 0; i < DT_COUNT; i++) {
		DType back = DT_COUNT;
		const char *name = dtype_name((DType)i);
		assert_true(dtype_parse(name, strlen(name), &back));
		assert_int_equal(back, i);
	}
	DType type;
	assert_false(dtype_parse("f3", 2, &type));
	assert_false(dtype_parse("f322", 4, &type));
	assert_false(dtype_parse("index", 5, &type));
	assert_string_equal(dtype_name(DT_INDEX), "index");
	assert_string_equal(dtype_ctype(DT_BF16), "uint16_t");
	assert_int_equal(dtype_bytes(DT_BOOL), 1);
	assert_int_equal(dtype_promoted(DT_U8), DT_I32);
	assert_int_equal(dtype_promoted(DT_U16), DT_I32);
	assert_int_equal(dtype_promoted(DT_U32), DT_U32);
	assert_int_equal(dtype_promoted(DT_U64), DT_U64);
	assert_int_equal(dtype_promoted(DT_BF16), DT_F32);
	assert_int_equal(dtype_promoted(DT_F64), DT_F64);
	assert_int_equal(dtype_promoted(DT_BOOL), DT_BOOL);
	assert_false(dtype_is_int(DT_BOOL));
	assert_false(dtype_is_int(DT_INDEX));
	assert_true(dtype_is_int(DT_U8));
	assert_true(dtype_is_unsigned(DT_U64));
	assert_false(dtype_is_unsigned(DT_I64));
	assert_false(dtype_is_unsigned(DT_BOOL));
	assert_string_equal(op_name(OP_FLOORDIV), "//");
	assert_string_equal(reduce_name(REDUCE_PROD), "prod");
}

/* The value of a 16-bit pattern by definition. */
static double by_definition(uint16_t x, int mbits)
{
	int ebits = 15 - mbits, bias = (1 << (ebits - 1)) - 1;
	int e = x >> mbits & ((1 << ebits) - 1), m = x & ((1 << mbits) - 1);
	double v;
	if (e == (1 << ebits) - 1)
		v = m ? (double)NAN : INFINITY;
	else if (e)
		v = ldexp(m + (1 << mbits), e - bias - mbits);
	else
		v = ldexp(m, 1 - bias - mbits);
	return x & 0x8000 ? -v : v;
}

static void round_trip(int mbits, float (*widen)(uint16_t),
    uint16_t (*from_f32)(float), uint16_t (*from_f64)(double))
{
	for (int i = 0; i < 0x10000; i++) {
		uint16_t x = (uint16_t)i;
		double v = by_definition(x, mbits);
		if (isnan(v)) {
			assert_true(isnan(widen(x)));
			assert_true(isnan(by_definition(
			    from_f32(widen(x)), mbits)));
			assert_int_equal(from_f32(widen(x)) >> 15, x >> 15);
			continue;
		}
		assert_true((double)widen(x) == v);
		assert_int_equal(!signbit(widen(x)), !signbit(v));
		assert_int_equal(from_f32(widen(x)), x);
		assert_int_equal(from_f64(v), x);
	}
}

/* Between two neighbours: below, at and above the middle. */
static void nearest_even(
    int mbits, uint16_t (*from_f32)(float), uint16_t (*from_f64)(double))
{
	int infinity = ((1 << (15 - mbits)) - 1) << mbits;
	for (int i = 0; i < infinity; i++) {
		double a = by_definition((uint16_t)i, mbits);
		double b = i + 1 < infinity
		    ? by_definition((uint16_t)(i + 1), mbits)
		    : a + (a - by_definition((uint16_t)(i - 1), mbits));
		double middle = (a + b) / 2;
		uint16_t even = (uint16_t)(i + (i & 1));
		uint16_t minus = (uint16_t)(even | 0x8000);
		assert_int_equal(from_f64(middle), even);
		assert_int_equal(from_f64(-middle), minus);
		if ((double)(float)middle == middle)
			assert_int_equal(from_f32((float)middle), even);
		assert_int_equal(from_f64(nextafter(middle, b)), i + 1);
		assert_int_equal(from_f64(nextafter(middle, a)), i);
	}
}

static void f16(void **state)
{
	(void)state;
	round_trip(10, f16_to_f32, f16_from_f32, f16_from_f64);
	nearest_even(10, f16_from_f32, f16_from_f64);
	assert_int_equal(f16_from_f32(65504), 0x7bff);
	assert_int_equal(f16_from_f32(65520), 0x7c00);
	assert_int_equal(f16_from_f32(65519.99f), 0x7bff);
	assert_int_equal(f16_from_f64(1e300), 0x7c00);
	assert_int_equal(f16_from_f64(-1e-300), 0x8000);
	assert_int_equal(f16_from_f64(5e-324), 0);
	/* by way of f32 this would be rounded twice, to 0x3c00 */
	assert_int_equal(f16_from_f64(1 + 0x1p-11 + 0x1p-40), 0x3c01);
	assert_int_equal(f16_from_f32((float)(1 + 0x1p-11 + 0x1p-40)), 0x3c00);
}

static void bf16(void **state)
{
	(void)state;
	round_trip(7, bf16_to_f32, bf16_from_f32, bf16_from_f64);
	nearest_even(7, bf16_from_f32, bf16_from_f64);
	assert_int_equal(bf16_from_f32(3.4e38f), 0x7f80);
	assert_int_equal(bf16_from_f64(1 + 0x1p-8 + 0x1p-40), 0x3f81);
	assert_int_equal(bf16_from_f64((double)(float)(1 + 0x1p-8)), 0x3f80);
}

static Expr *double_ints(Arena *arena, Expr *e, void *context)
{
	++*(int *)context;
	return e->op == OP_INT ? expr_int(arena, e->type, e->i * 2) : e;
}

static bool count_outside_reads(Expr *e, void *context)
{
	++*(int *)context;
	return e->op != OP_READ;
}

static void expressions(void **state)
{
	(void)state;
	Arena *a = arena_new();
	Expr *i = expr_axis(a, 0), *j = expr_axis(a, 1);
	Expr *two = expr_int(a, DT_INDEX, 2);
	Expr *at = expr_binary(a, OP_ADD, expr_binary(a, OP_MUL, i, two), j);
	Expr *read = expr_read(a, DT_F16, 3, (Expr *[]){at}, 1);
	Expr *e = expr_if(a, expr_binary(a, OP_LT, i, j),
	    expr_cast(a, DT_F32, read), expr_float(a, DT_F32, 0.1));
	assert_int_equal(e->type, DT_F32);
	assert_int_equal(e->arg[0]->type, DT_BOOL);
	assert_true(e->arg[2]->f == (double)0.1f);
	assert_ptr_equal(expr_cast(a, DT_F32, e), e);

	int n = 0;
	Expr *f = expr_rewrite(a, e, double_ints, &n);
	assert_int_equal(n, 12);
	assert_false(expr_equal(e, f));
	assert_ptr_equal(e->arg[0], f->arg[0]); /* shared */
	n = 0;
	assert_int_equal(two->i, 2);

	Expr *g = expr_substitute_axes(
	    a, e, (Expr *[]){NULL, expr_int(a, DT_INDEX, 7)}, 2);
	Expr *h = expr_if(a,
	    expr_binary(a, OP_LT, i, expr_int(a, DT_INDEX, 7)),
	    expr_cast(a, DT_F32,
		expr_read(a, DT_F16, 3,
		    (Expr *[]){expr_binary(a, OP_ADD,
			expr_binary(a, OP_MUL, i, expr_int(a, DT_INDEX, 2)),
			expr_int(a, DT_INDEX, 7))},
		    1)),
	    expr_float(a, DT_F32, (double)0.1f));
	assert_true(expr_equal(g, h));
	assert_false(expr_equal(
	    expr_float(a, DT_F32, 0.0), expr_float(a, DT_F32, -0.0)));
	n = 0;
	expr_walk(e, count_outside_reads, &n);
	assert_int_equal(n, 7);
	arena_free(a);
}

static void identities(void **state)
{
	(void)state;
	Arena *a = arena_new();
	assert_true(expr_identity(a, REDUCE_SUM, DT_F32)->f == 0);
	assert_true(expr_identity(a, REDUCE_PROD, DT_I32)->i == 1);
	assert_true(expr_identity(a, REDUCE_MAX, DT_F16)->f == -INFINITY);
	assert_true(expr_identity(a, REDUCE_MIN, DT_U8)->i == 255);
	assert_true(expr_identity(a, REDUCE_MIN, DT_U32)->i == UINT32_MAX);
	assert_true(expr_identity(a, REDUCE_MIN, DT_U64)->i == -1);
	assert_true(expr_identity(a, REDUCE_MAX, DT_U64)->i == 0);
	assert_true(expr_identity(a, REDUCE_MAX, DT_I16)->i == -32768);
	assert_true(expr_identity(a, REDUCE_MAX, DT_I64)->i == INT64_MIN);
	arena_free(a);
}

/* x[i + n/2]: each twice, so that every second one is there already */
static Expr *numbered_read(Arena *a, int n)
{
	Expr *index = expr_binary(a, OP_ADD, expr_axis(a, 0),
	    expr_int(a, DT_INDEX, n / 2));
	return expr_read(a, DT_F32, 1, &index, 1);
}

static void sets(void **state)
{
	(void)state;
	enum { MANY = 300 };
	Arena *a = arena_new();
	ExprSet set = {0};
	for (int n = 0; n < MANY; n++) {
		Expr *e = numbered_read(a, n);
		assert_int_equal(expr_set_find(&set, e), n % 2 ? n / 2 : -1);
		assert_int_equal(expr_set_add(a, &set, e), n % 2 == 0);
		assert_int_equal(expr_set_find(&set, e), n / 2);
		assert_true(expr_equal(set.all.at[n / 2], e));
	}
	assert_int_equal(set.all.n, MANY / 2);
	for (int n = 0; n < MANY; n++)
		assert_int_equal(
		    expr_set_find(&set, numbered_read(a, n)), n / 2);
	assert_int_equal(expr_set_find(&set, numbered_read(a, MANY)), -1);
	ExprSet again = expr_set_of(a, &set.all);
	assert_memory_equal(again.all.at, set.all.at,
	    sizeof *set.all.at * (size_t)set.all.n);
	/* of one hash at most by chance */
	assert_false(expr_hash(expr_float(a, DT_F32, 0.0)) ==
	    expr_hash(expr_float(a, DT_F32, -0.0)));
	arena_free(a);
}

/* Axis 0 and 1, times of a quotient, how many other terms. */
typedef struct {
	int64_t of[2], quotients;
	int others;
} Terms;

static bool note_term(void *context, const Expr *e, int64_t times)
{
	Terms *t = context;
	if (e->op == OP_AXIS && e->id < 2)
		return linear_add(&t->of[e->id], times);
	if (e->op == OP_FLOORDIV)
		return linear_add(&t->quotients, times);
	t->others++;
	return e->op != OP_AXIS;
}

static void linear(void **state)
{
	(void)state;
	Arena *a = arena_new();
	Expr *i = expr_axis(a, 0), *j = expr_axis(a, 1);
	Expr *four = expr_int(a, DT_INDEX, 4);
	/* 3*4*(i + 4) - (j//4 - (4 - 3)*j) + i*j */
	Expr *three = expr_binary(a, OP_SUB, four, expr_int(a, DT_INDEX, 1));
	Expr *e = expr_binary(a, OP_MUL, expr_binary(a, OP_MUL, three, four),
	    expr_binary(a, OP_ADD, i, four));
	Expr *q = expr_binary(a, OP_SUB, expr_binary(a, OP_FLOORDIV, j, four),
	    expr_binary(a, OP_MUL, j, expr_binary(a, OP_SUB, four, three)));
	e = expr_binary(a, OP_SUB, e, q);
	e = expr_binary(a, OP_ADD, e, expr_binary(a, OP_MUL, i, j));
	Terms t = {{0}, 0, 0};
	int64_t constant = 0;
	assert_true(linear_walk(e, 2, &constant, note_term, &t));
	assert_int_equal(constant, 96);
	assert_int_equal(t.of[0], 24);
	assert_int_equal(t.of[1], 2);
	assert_int_equal(t.quotients, -2);
	assert_int_equal(t.others, 1);
	assert_true(
	    linear_walk(expr_unary(a, OP_NEG, e), 1, &constant, note_term, &t));
	assert_int_equal(constant, 48);
	assert_int_equal(t.of[0], 12);
	/* what a visit refuses, and what does not fit */
	e = expr_binary(a, OP_ADD, i, expr_axis(a, 2));
	assert_false(linear_walk(e, 1, &constant, note_term, &t));
	Expr *half = expr_int(a, DT_INDEX, INT64_C(1) << 62);
	e = expr_binary(a, OP_MUL, i, half);
	t = (Terms){{0}, 0, 0};
	assert_true(linear_walk(e, 1, &constant, note_term, &t));
	assert_false(linear_walk(e, 1, &constant, note_term, &t));
	assert_false(linear_walk(e, -2, &constant, note_term, &t));
	constant = -1;
	assert_false(linear_walk(
	    expr_int(a, DT_INDEX, INT64_MAX), -1, &constant, note_term, &t));
	arena_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names),
	    cmocka_unit_test(f16),
	    cmocka_unit_test(bf16),
	    cmocka_unit_test(expressions),
	    cmocka_unit_test(identities),
	    cmocka_unit_test(sets),
	    cmocka_unit_test(linear),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
