/* The proof of bounds: ranges under facts, as language.md has them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ir/spec/spec.h"

/* i < 10, j < 10, r < 3, one < 1 */
enum { I, J, R, ONE };

static const Axis axes[] = {
    {"i", 10, false}, {"j", 10, false}, {"r", 3, true}, {"one", 1, false}};

static Arena *arena;
static Bounds *bounds;

static int setup(void **state)
{
	(void)state;
	arena = arena_new();
	bounds = bounds_new(arena, axes);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_free(arena);
	return 0;
}

static Expr *ax(int axis)
{
	return expr_axis(arena, axis);
}

static Expr *ix(int64_t value)
{
	return expr_int(arena, DT_INDEX, value);
}

static Expr *op2(Op op, Expr *a, Expr *b)
{
	return expr_binary(arena, op, a, b);
}

static Expr *add(Expr *a, Expr *b)
{
	return op2(OP_ADD, a, b);
}

static Expr *sub(Expr *a, Expr *b)
{
	return op2(OP_SUB, a, b);
}

static Expr *mul(Expr *a, int64_t b)
{
	return op2(OP_MUL, a, ix(b));
}

static Expr *fdiv(Expr *a, int64_t b)
{
	return op2(OP_FLOORDIV, a, ix(b));
}

static Expr *mod(Expr *a, int64_t b)
{
	return op2(OP_MOD, a, ix(b));
}

static Expr *call(Op op, Expr *a, Expr *b, Expr *c)
{
	return expr_call(arena, op, DT_INDEX, (Expr *[]){a, b, c}, c ? 3 : 2);
}

static void check(const Expr *e, int64_t lo, int64_t hi, int line)
{
	Interval r;
	const char *why;
	if (!bounds_range(bounds, e, NULL, &r, &why))
		fail_msg("line %d: %s", line, why);
	if (r.lo != lo || r.hi != hi)
		fail_msg("line %d: %lld to %lld, not %lld to %lld", line,
		    (long long)r.lo, (long long)r.hi, (long long)lo,
		    (long long)hi);
}

#define RANGE(e, lo, hi) check(e, lo, hi, __LINE__)

static void assume(Expr *condition, bool truth)
{
	bounds_assume(bounds, condition, truth);
}

static void test_terms(void **state)
{
	(void)state;
	Expr *i = ax(I), *j = ax(J);
	RANGE(ix(-7), -7, -7);
	RANGE(add(mul(i, 2), ax(R)), 0, 20);
	RANGE(sub(i, j), -9, 9);
	RANGE(sub(i, i), 0, 0);
	RANGE(sub(add(i, j), i), 0, 9);
	RANGE(fdiv(sub(i, ix(3)), 2), -2, 3);
	RANGE(mod(sub(i, ix(3)), 4), 0, 3);
	RANGE(mod(add(ax(R), ix(5)), 4), 1, 3);
	RANGE(mod(add(ax(R), ix(4)), 4), 0, 2);
	RANGE(call(OP_MIN, i, ix(4), NULL), 0, 4);
	RANGE(call(OP_MAX, i, ix(4), NULL), 4, 9);
	RANGE(call(OP_CLAMP, sub(i, ix(1)), ix(0), ix(5)), 0, 5);
	RANGE(expr_unary(arena, OP_NEG, i), -9, 0);
	Expr *d = sub(i, ix(3));
	RANGE(expr_call(arena, OP_ABS, DT_INDEX, &d, 1), 0, 6);
}

static void test_quotient_and_remainder_join(void **state)
{
	(void)state;
	Expr *e = add(ax(I), mul(ax(J), 10));
	RANGE(add(mul(fdiv(e, 7), 7), mod(e, 7)), 0, 99);
	RANGE(add(mod(e, 7), mul(fdiv(e, 7), 7)), 0, 99);
	RANGE(mul(add(mul(fdiv(e, 7), 7), mod(e, 7)), 3), 0, 297);
	RANGE(add(mul(fdiv(e, 7), 7), mod(e, 8)), 0, 105);
	RANGE(sub(add(mul(fdiv(e, 7), 7), mod(e, 7)), ax(I)), 0, 90);
}

static void test_facts(void **state)
{
	(void)state;
	Expr *i = ax(I), *j = ax(J);
	int mark = bounds_mark(bounds);
	assume(op2(OP_GE, i, j), true);
	RANGE(sub(i, j), 0, 9);
	RANGE(i, 0, 9);
	assume(op2(OP_LT, i, ix(4)), true);
	RANGE(sub(i, j), 0, 3);
	RANGE(j, 0, 3);
	bounds_forget(bounds, mark);
	RANGE(sub(i, j), -9, 9);
	RANGE(j, 0, 9);
	assume(op2(OP_GE, i, j), false);
	RANGE(sub(j, i), 1, 9);
	RANGE(j, 1, 9);
	bounds_forget(bounds, mark);
	assume(op2(OP_EQ, add(i, j), ix(3)), true);
	RANGE(i, 0, 3);
	RANGE(add(i, j), 3, 3);
}

/* if 0 <= (i + P - r)//ST < H then x[(i + P - r)//ST] */
static void test_transposed_convolution(void **state)
{
	(void)state;
	Expr *q = fdiv(sub(add(ax(I), ix(1)), ax(R)), 2);
	RANGE(q, -1, 5);
	assume(op2(OP_AND, op2(OP_LE, ix(0), q), op2(OP_LT, q, ix(5))), true);
	RANGE(q, 0, 4);
	RANGE(add(q, ix(1)), 1, 5);
}

/* if i == 0 or i == H-1 then x[i] else x[i-1] + x[i+1] */
static void test_border(void **state)
{
	(void)state;
	Expr *i = ax(I);
	Expr *c =
	    op2(OP_OR, op2(OP_EQ, i, ix(0)), op2(OP_EQ, i, ix(9)));
	int mark = bounds_mark(bounds);
	assume(c, true);
	RANGE(i, 0, 9);
	bounds_forget(bounds, mark);
	assume(c, false);
	RANGE(i, 1, 8);
	RANGE(sub(i, ix(1)), 0, 7);
	RANGE(add(i, ix(1)), 2, 9);
}

static void test_conditions_that_give_nothing(void **state)
{
	(void)state;
	Expr *i = ax(I), *low = op2(OP_LT, i, ix(3));
	Expr *high = op2(OP_LT, ax(J), ix(3));
	assume(op2(OP_AND, low, high), false);
	RANGE(i, 0, 9);
	assume(op2(OP_OR, low, high), true);
	RANGE(i, 0, 9);
	Expr *x = expr_read(arena, DT_I32, 0, &i, 1);
	assume(op2(OP_LT, x, expr_int(arena, DT_I32, 3)), true);
	RANGE(i, 0, 9);
	assume(op2(OP_LT, op2(OP_MUL, i, ax(J)), ix(3)), true);
	RANGE(i, 0, 9);
	assume(op2(OP_NE, i, ix(4)), true); /* in the middle */
	RANGE(i, 0, 9);
	assume(expr_unary(arena, OP_NOT, low), false);
	RANGE(i, 0, 2);
}

static void test_if(void **state)
{
	(void)state;
	Expr *i = ax(I);
	Expr *e = expr_if(arena, op2(OP_GE, i, ix(3)), sub(i, ix(3)), i);
	RANGE(e, 0, 6);
	RANGE(add(e, ax(R)), 0, 8);
	assume(op2(OP_LT, i, ix(5)), true);
	RANGE(e, 0, 2);
	assume(op2(OP_GE, e, ix(1)), true);
	RANGE(e, 1, 2);
}

static void test_facts_inside_terms(void **state)
{
	(void)state;
	assume(op2(OP_LT, add(ax(I), ax(J)), ix(8)), true);
	RANGE(fdiv(add(ax(I), ax(J)), 2), 0, 3);
	RANGE(mod(add(ax(I), ax(J)), 8), 0, 7);
	RANGE(call(OP_MAX, add(ax(I), ax(J)), ix(2), NULL), 2, 7);
}

/* A fact with a min above 0, a max or a clamp below it is two. */
static void test_facts_of_min_and_max(void **state)
{
	(void)state;
	Expr *i = ax(I), *j = ax(J), *two = sub(j, ix(2));
	Expr *least = call(OP_MIN, i, ix(4), NULL);
	Expr *most = call(OP_MAX, i, ix(4), NULL);
	int mark = bounds_mark(bounds);
	assume(op2(OP_LT, j, add(least, ix(1))), true);
	RANGE(sub(i, j), 0, 9);
	RANGE(j, 0, 4);
	RANGE(sub(least, j), 0, 4);
	bounds_forget(bounds, mark);
	assume(op2(OP_GE, j, add(least, ix(1))), false); /* not */
	RANGE(sub(i, j), 0, 9);
	bounds_forget(bounds, mark);
	assume(op2(OP_GE, j, least), true); /* the other sign: one fact */
	RANGE(sub(j, i), -9, 9);
	bounds_forget(bounds, mark);
	assume(op2(OP_GE, j, most), true);
	RANGE(sub(j, i), 0, 9);
	RANGE(j, 4, 9);
	bounds_forget(bounds, mark);
	assume(op2(OP_LE, j, most), true); /* the other sign */
	RANGE(sub(j, i), -9, 9);
	bounds_forget(bounds, mark);
	assume(op2(OP_LE, mul(j, 2), mul(least, 3)), true);
	RANGE(sub(mul(i, 3), mul(j, 2)), 0, 27);
	RANGE(j, 0, 6);
	bounds_forget(bounds, mark);
	assume(op2(OP_EQ, two, most), true); /* two facts, one is two */
	RANGE(sub(two, i), 0, 7);
	bounds_forget(bounds, mark);
	assume(op2(OP_NE, two, most), true);
	RANGE(sub(two, i), -11, 7);
}

static void test_facts_of_clamp(void **state)
{
	(void)state;
	Expr *i = ax(I), *j = ax(J), *r = ax(R);
	Expr *c = call(OP_CLAMP, i, ix(2), ix(5));
	int mark = bounds_mark(bounds);
	assume(op2(OP_GE, j, c), true);
	RANGE(j, 2, 9);
	RANGE(sub(j, call(OP_MIN, i, ix(5), NULL)), 0, 9);
	bounds_forget(bounds, mark);
	/* from r to j, either being the less */
	assume(op2(OP_GE, j, call(OP_CLAMP, i, add(r, ix(3)), ax(I))), true);
	RANGE(sub(j, call(OP_MIN, add(r, ix(3)), i, NULL)), 0, 9);
	RANGE(j, 0, 9);
	bounds_forget(bounds, mark);
	assume(op2(OP_LE, j, c), true); /* the max of a min: one fact */
	RANGE(sub(i, j), -5, 9);
	RANGE(j, 0, 5);
	bounds_forget(bounds, mark);
	assume(op2(OP_LT, j, call(OP_CLAMP, i, ix(0), r)), true);
	RANGE(sub(r, j), -1, 2);
}

static void test_facts_of_min_nested(void **state)
{
	(void)state;
	Expr *i = ax(I), *j = ax(J), *r = ax(R);
	Expr *least = call(OP_MIN, call(OP_MIN, i, add(r, ix(3)), NULL),
	    call(OP_MIN, ix(7), sub(ix(9), i), NULL), NULL);
	int mark = bounds_mark(bounds);
	assume(op2(OP_LE, j, least), true);
	RANGE(sub(i, j), 0, 9);
	RANGE(add(r, sub(ix(3), j)), 0, 5);
	RANGE(add(i, j), 0, 9);
	RANGE(j, 0, 5);
	bounds_forget(bounds, mark);
	/* in a quotient it stays */
	assume(op2(OP_LE, j, fdiv(least, 2)), true);
	RANGE(sub(i, j), -2, 9);
	RANGE(j, 0, 2);
	bounds_forget(bounds, mark);
	/* a max in a min, above 0: of the two only the min is taken apart */
	Expr *both = call(OP_MIN, call(OP_MAX, i, r, NULL), add(i, r), NULL);
	assume(op2(OP_LE, j, both), true);
	RANGE(sub(add(i, r), j), 0, 11);
	RANGE(sub(call(OP_MAX, i, r, NULL), j), 0, 9);
	RANGE(sub(i, j), -2, 9);
}

/* Sums of ever more of them end in time. */
static void test_facts_of_many_mins(void **state)
{
	(void)state;
	Expr *sum = ix(0);
	for (int k = 0; k < 40; k++)
		sum = add(sum, call(OP_MIN, ax(I), ix(k), NULL));
	assume(op2(OP_LE, ax(J), sum), true);
	RANGE(ax(J), 0, 9);
}

/* Products of data and of axes beside it. */
static void test_products_of_data(void **state)
{
	(void)state;
	Expr *i = ax(I), *zero = ix(0);
	Expr *read = expr_read(arena, DT_I8, 0, &zero, 1);
	Expr *m = expr_cast(arena, DT_INDEX, read);
	int mark = bounds_mark(bounds);
	RANGE(op2(OP_MUL, m, i), -1152, 1143);
	RANGE(op2(OP_MUL, m, m), -16256, 16384);
	RANGE(add(op2(OP_MUL, m, i), op2(OP_MUL, i, ax(J))), -1152, 1224);
	RANGE(mod(op2(OP_MUL, m, i), 7), 0, 6);
	RANGE(call(OP_CLAMP, op2(OP_MUL, i, m), ix(0), ix(5)), 0, 5);
	RANGE(sub(op2(OP_MUL, m, i), op2(OP_MUL, m, i)), 0, 0);
	assume(op2(OP_AND, op2(OP_GE, read, expr_int(arena, DT_I8, 0)),
		   op2(OP_LT, read, expr_int(arena, DT_I8, 4))),
	    true);
	RANGE(op2(OP_MUL, m, i), 0, 27);
	bounds_forget(bounds, mark);
	RANGE(op2(OP_MUL, m, ix(3)), -384, 381);
}

/* Where nothing can hold nothing is read. */
static void test_contradiction(void **state)
{
	(void)state;
	int mark = bounds_mark(bounds);
	assume(op2(OP_LT, ax(I), ix(0)), true);
	RANGE(sub(ax(I), ix(100)), 1, 0);
	bounds_forget(bounds, mark);
	assume(expr_int(arena, DT_BOOL, 0), true);
	RANGE(ax(J), 1, 0);
	bounds_forget(bounds, mark);
	assume(expr_int(arena, DT_BOOL, 1), true);
	RANGE(ax(J), 0, 9);
}

static void test_refused(void **state)
{
	Interval r;
	const char *why;
	Expr *i = ax(I);
	(void)state;
	assert_false(bounds_range(bounds, op2(OP_MUL, i, ax(J)), NULL, &r, &why));
	assert_string_equal(why, "multiplies axes with each other");
	Expr *big = mul(mul(ax(ONE), INT64_MAX), 4);
	assert_false(bounds_range(bounds, big, NULL, &r, &why));
	assert_string_equal(why, "has numbers past 64 bits");
	RANGE(mul(i, INT64_MAX / 9), 0, INT64_MAX / 9 * 9);
	Expr *x = expr_read(arena, DT_I32, 0, &i, 1);
	assert_false(bounds_range(bounds, x, NULL, &r, &why));
}

/* What a fact proved of an index is not known without it, nor under another. */
static void test_proofs_end(void **state)
{
	(void)state;
	const Interval inside = {1, 9};
	const char *why;
	Interval r;
	int mark = bounds_mark(bounds);
	for (int k = 0; k < 4; k++) {
		int64_t least = k % 2;
		assume(op2(OP_GE, ax(I), ix(0)), true);
		assume(op2(OP_GE, ax(I), ix(least)), true);
		for (int again = 0; again < 2; again++) {
			assert_true(bounds_range(
			    bounds, ax(I), &inside, &r, &why));
			assert_int_equal(r.lo, least);
		}
		assume(op2(OP_LT, ax(I), ix(4)), true);
		RANGE(ax(I), least, 3);
		bounds_forget(bounds, mark);
	}
}

/* A fact of the quotient bears on an index with the remainder. */
static void test_counterparts_meet(void **state)
{
	(void)state;
	assume(op2(OP_GE, mul(fdiv(ax(I), 4), 4), sub(ax(I), ix(1))), true);
	RANGE(mod(ax(I), 4), 0, 1);
}

/* Conditions in conditions end in time, proven or not. */
static void test_deep(void **state)
{
	Interval r;
	const char *why;
	Expr *e = ax(I);
	(void)state;
	for (int k = 0; k < 60; k++)
		e = expr_if(arena, op2(OP_LT, e, ax(J)), ix(1), ix(2));
	assert_true(bounds_range(bounds, e, NULL, &r, &why));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_terms),
	    TEST(test_quotient_and_remainder_join),
	    TEST(test_facts),
	    TEST(test_transposed_convolution),
	    TEST(test_border),
	    TEST(test_conditions_that_give_nothing),
	    TEST(test_if),
	    TEST(test_facts_inside_terms),
	    TEST(test_facts_of_min_and_max),
	    TEST(test_facts_of_clamp),
	    TEST(test_facts_of_min_nested),
	    TEST(test_facts_of_many_mins),
	    TEST(test_products_of_data),
	    TEST(test_contradiction),
	    TEST(test_refused),
	    TEST(test_proofs_end),
	    TEST(test_counterparts_meet),
	    TEST(test_deep),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
