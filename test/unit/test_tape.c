/* The tape: random expressions against direct evaluation, equalities of the
 * normal form, signs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "ir/tape/tape.h"
#include "lib/rng.h"

enum { SLOTS = 5, VALUES = 64, CANDIDATES = 37 };

static int64_t floor_quotient(int64_t a, int64_t b)
{
	int64_t q = a / b;
	return q - (a % b < 0);
}

/* A growing pool of handles, each with its value for every assignment. */
typedef struct {
	Tape *tape;
	Handle h[VALUES];
	int64_t value[VALUES][CANDIDATES];
	int64_t slots[SLOTS][CANDIDATES];
	int n;
} Pool;

static bool small(const Pool *pool, int i)
{
	for (int c = 0; c < CANDIDATES; c++)
		if (pool->value[i][c] > 1 << 20 ||
		    pool->value[i][c] < -(1 << 20))
			return false;
	return true;
}

static bool positive(const Pool *pool, int i)
{
	Tape *t = pool->tape;
	return tape_known_nonnegative(
	    t, tape_sub(t, pool->h[i], tape_const(t, 1)));
}

static int64_t apply(int op, int64_t x, int64_t y)
{
	switch (op) {
	case 0:
		return x + y;
	case 1:
		return x - y;
	case 2:
		return x * y;
	case 3:
		return x < y ? x : y;
	case 4:
		return x > y ? x : y;
	case 5:
		return floor_quotient(x, y);
	case 6:
		return -floor_quotient(-x, y);
	default:
		return x - y * floor_quotient(x, y);
	}
}

static Handle (*const makers[])(Tape *, Handle, Handle) = {tape_add, tape_sub,
    tape_mul, tape_min, tape_max, tape_floordiv, tape_ceildiv, tape_mod};

static void pool_leaf(Pool *pool, Rng *rng)
{
	int i = pool->n++;
	int slot = (int)rng_below(rng, SLOTS);
	int64_t value = (int64_t)rng_below(rng, 24) - 6;
	bool is_slot = rng_below(rng, 2);
	pool->h[i] = is_slot ? tape_slot(pool->tape, slot)
			     : tape_const(pool->tape, value);
	for (int c = 0; c < CANDIDATES; c++)
		pool->value[i][c] = is_slot ? pool->slots[slot][c] : value;
}

static void pool_grow(Pool *pool, Rng *rng)
{
	int op = (int)rng_below(rng, 8);
	int a = (int)rng_below(rng, (uint64_t)pool->n);
	int b = (int)rng_below(rng, (uint64_t)pool->n);
	if (!small(pool, a) || !small(pool, b) ||
	    (op >= 5 && !positive(pool, b))) {
		pool_leaf(pool, rng);
		return;
	}
	int i = pool->n++;
	pool->h[i] = makers[op](pool->tape, pool->h[a], pool->h[b]);
	for (int c = 0; c < CANDIDATES; c++)
		pool->value[i][c] =
		    apply(op, pool->value[a][c], pool->value[b][c]);
}

static void pool_fill(Pool *pool, Tape *tape, Rng *rng)
{
	pool->tape = tape;
	pool->n = 0;
	for (int s = 0; s < SLOTS; s++) {
		tape_slot(pool->tape, s);
		for (int c = 0; c < CANDIDATES; c++)
			pool->slots[s][c] = 1 + (int64_t)rng_below(rng, 20);
	}
	for (int i = 0; i < 6; i++)
		pool_leaf(pool, rng);
	while (pool->n < VALUES)
		pool_grow(pool, rng);
}

static void check_values(const Pool *pool, Arena *arena, int seed)
{
	int size = tape_size(pool->tape);
	int64_t *single = NEW_N(arena, int64_t, size);
	int64_t slots[SLOTS];
	for (int c = 0; c < CANDIDATES; c++) {
		for (int s = 0; s < SLOTS; s++)
			slots[s] = pool->slots[s][c];
		tape_eval(pool->tape, slots, single);
		for (int i = 0; i < pool->n; i++) {
			Handle h = pool->h[i];
			if (single[h] == pool->value[i][c])
				continue;
			Buf b = {0};
			tape_print(&b, pool->tape, h);
			print_error("seed %d: %s is %lld, not %lld\n",
			    seed, b.data, (long long)single[h],
			    (long long)pool->value[i][c]);
			buf_free(&b);
			fail();
		}
	}
}

/* What is claimed about signs and divisions holds for every assignment. */
static void check_claims(Pool *pool, Arena *arena, int seed)
{
	(void)arena;
	for (int i = 0; i < pool->n; i++) {
		int j = (i * 7 + 3) % pool->n, k = -1;
		Handle q;
		if (tape_known_nonnegative(pool->tape, pool->h[i]))
			for (int c = 0; c < CANDIDATES; c++)
				if (pool->value[i][c] < 0)
					fail_msg("seed %d: sign", seed);
		if (tape_divides(pool->tape, pool->h[i], pool->h[j], &q))
			k = tape_mul(pool->tape, q, pool->h[j]);
		if (k >= 0 && k != pool->h[i])
			fail_msg("seed %d: quotient", seed);
	}
}

static void random_expressions(void **state)
{
	(void)state;
	for (int seed = 0; seed < 400; seed++) {
		Arena *arena = arena_new();
		Pool *pool = NEW(arena, Pool);
		Rng rng = rng_stream((uint64_t)seed, 1, 2);
		pool_fill(pool, tape_new(arena), &rng);
		check_values(pool, arena, seed);
		check_claims(pool, arena, seed);
		arena_free(arena);
	}
}

/* All of an extracted tape, where some slots change and only what depends on these
 * is evaluated again. */
static void evaluated_again(void **state)
{
	(void)state;
	enum { SLOTS = 70, TURNS = 200 };
	Arena *arena = arena_new();
	Tape *tape = tape_new(arena);
	Handle sums[SLOTS], *places[SLOTS];
	int64_t slots[SLOTS], *all, *again;
	Rng rng = rng_stream(1, 2, 3);
	for (int i = 0; i < SLOTS; i++) {
		Handle other = tape_slot(tape, (i * 7 + 3) % SLOTS);
		Handle product = tape_mul(tape, tape_slot(tape, i), other);
		sums[i] = tape_ceildiv(tape,
		    tape_add(tape, product, tape_const(tape, i)),
		    tape_slot(tape, i / 2));
		places[i] = &sums[i];
		slots[i] = 1;
	}
	Tape *only = tape_extract(arena, tape, SLOTS, places, SLOTS);
	assert_int_equal(tape_nslots(only), SLOTS);
	all = NEW_N(arena, int64_t, tape_size(only));
	again = NEW_N(arena, int64_t, tape_size(only));
	tape_eval(only, slots, again);
	for (int turn = 0; turn < TURNS; turn++) {
		int a = (int)rng_below(&rng, SLOTS);
		int b = (int)rng_below(&rng, SLOTS);
		slots[a] = 1 + (int64_t)rng_below(&rng, 64);
		slots[b] = 1 + (int64_t)rng_below(&rng, 64);
		uint64_t changed = tape_slot_bit(a) | tape_slot_bit(b);
		Handle size = tape_size(only), half = size * turn / TURNS;
		again[a] = slots[a];
		again[b] = slots[b];
		tape_eval_again(only, changed, 0, half, again);
		tape_eval_again(only, changed, half, size, again);
		tape_eval(only, slots, all);
		assert_memory_equal(
		    all, again, sizeof *all * (size_t)tape_size(only));
	}
	arena_free(arena);
}

/* What is known of quantities does not depend on what else a tape holds. */
static void whatever_was_before(void **state)
{
	(void)state;
	for (int seed = 0; seed < 400; seed++) {
		Arena *arena = arena_new();
		Pool *alone = NEW(arena, Pool), *last = NEW(arena, Pool);
		Tape *shared = tape_new(arena);
		for (int i = SLOTS - 1; i >= 0; i--)
			tape_slot(shared, i);
		for (int i = 3; i >= 0; i--) {
			Rng rng = rng_stream((uint64_t)seed, 3, (uint64_t)i);
			pool_fill(last, shared, &rng);
		}
		Rng rng = rng_stream((uint64_t)seed, 3, 0);
		pool_fill(alone, tape_new(arena), &rng);
		for (int i = 0; i < VALUES; i++) {
			for (int k = 0; k < i; k++)
				assert_int_equal(alone->h[i] == alone->h[k],
				    last->h[i] == last->h[k]);
			assert_int_equal(
			    tape_known_nonnegative(alone->tape, alone->h[i]),
			    tape_known_nonnegative(last->tape, last->h[i]));
		}
		arena_free(arena);
	}
}

typedef struct {
	Arena *arena;
	Tape *t;
	Handle f, g, h, one, n;
} Fixture;

static Fixture fixture(void)
{
	Fixture x = {.arena = arena_new()};
	x.t = tape_new(x.arena);
	x.f = tape_slot(x.t, 0);
	x.g = tape_slot(x.t, 1);
	x.h = tape_slot(x.t, 2);
	x.one = tape_const(x.t, 1);
	x.n = tape_const(x.t, 1009);
	return x;
}

static Handle c(Fixture *x, int64_t value)
{
	return tape_const(x->t, value);
}

static void sums_and_products(void **state)
{
	(void)state;
	Fixture x = fixture();
	Tape *t = x.t;
	assert_int_equal(tape_add(t, x.f, x.g), tape_add(t, x.g, x.f));
	assert_int_equal(tape_mul(t, tape_mul(t, x.f, x.g), x.h),
	    tape_mul(t, x.f, tape_mul(t, x.h, x.g)));
	assert_int_equal(
	    tape_mul(t, tape_add(t, x.f, x.one), tape_sub(t, x.f, x.one)),
	    tape_sub(t, tape_mul(t, x.f, x.f), x.one));
	assert_int_equal(tape_sub(t, tape_add(t, x.f, x.g), x.g), x.f);
	assert_int_equal(tape_value(t, tape_mul(t, x.f, c(&x, 0))), 0);
	assert_int_equal(tape_value(t, tape_add(t, c(&x, 2), c(&x, 3))), 5);
	arena_free(x.arena);
}

static void divisions(void **state)
{
	(void)state;
	Fixture x = fixture();
	Tape *t = x.t;
	Handle fg = tape_mul(t, x.f, x.g), tiles = tape_ceildiv(t, x.n, x.f);
	assert_int_equal(tape_floordiv(t, x.f, x.one), x.f);
	assert_int_equal(tape_ceildiv(t, fg, x.f), x.g);
	assert_int_equal(tape_floordiv(t, fg, x.g), x.f);
	assert_int_equal(tape_ceildiv(t, tiles, x.g), tape_ceildiv(t, x.n, fg));
	assert_int_equal(tape_ceildiv(t, tape_mul(t, tiles, x.f), x.f), tiles);
	assert_int_equal(tape_ceildiv(t, tape_mul(t, tiles, x.f), fg),
	    tape_ceildiv(t, x.n, fg));
	/* (g*f + f - 1) // f */
	assert_int_equal(
	    tape_floordiv(t, tape_add(t, fg, tape_sub(t, x.f, x.one)), x.f),
	    x.g);
	/* (4*f + 2) // 2 and % 2 */
	Handle even = tape_add(t, tape_mul(t, x.f, c(&x, 4)), c(&x, 2));
	assert_int_equal(tape_floordiv(t, even, c(&x, 2)),
	    tape_add(t, tape_mul(t, x.f, c(&x, 2)), x.one));
	assert_int_equal(tape_value(t, tape_mod(t, even, c(&x, 2))), 0);
	assert_int_equal(tape_value(t, tape_mod(t, c(&x, -7), c(&x, 4))), 1);
	assert_int_equal(tape_value(t, tape_mod(t, fg, x.g)), 0);
	/* ceildiv(n, f) and floordiv(n + f - 1, f) */
	assert_int_equal(
	    tape_floordiv(t, tape_add(t, x.n, tape_sub(t, x.f, x.one)), x.f),
	    tiles);
	Handle q;
	Handle sum = tape_add(t, x.g, c(&x, 3));
	assert_true(tape_divides(
	    t, tape_mul(t, sum, tape_add(t, x.f, x.one)), sum, &q));
	assert_int_equal(q, tape_add(t, x.f, x.one));
	assert_false(tape_divides(t, tape_add(t, x.f, x.one), x.f, &q));
	arena_free(x.arena);
}

static void signs(void **state)
{
	(void)state;
	Fixture x = fixture();
	Tape *t = x.t;
	Handle fg = tape_mul(t, x.f, x.g), tiles = tape_ceildiv(t, x.n, x.f);
	Handle rounded = tape_mul(t, tiles, x.f);
	assert_true(tape_known_nonnegative(t, tape_sub(t, x.f, x.one)));
	assert_true(tape_known_nonnegative(t, tape_sub(t, fg, x.f)));
	assert_true(tape_known_nonnegative(t, tape_sub(t, rounded, x.n)));
	assert_true(tape_known_nonnegative(t, tape_sub(t, tiles, x.one)));
	assert_true(tape_known_nonnegative(t, tape_sub(t, x.n, tiles)));
	assert_true(tape_known_nonnegative(t,
	    tape_sub(t, tape_add(t, x.n, tape_sub(t, x.f, x.one)), rounded)));
	assert_false(tape_known_nonnegative(t, tape_sub(t, x.n, rounded)));
	assert_false(tape_known_nonnegative(t, tape_sub(t, x.f, x.g)));
	assert_int_equal(tape_min(t, x.f, fg), x.f);
	assert_int_equal(tape_max(t, rounded, x.n), rounded);
	assert_int_equal(
	    tape_min(t, tape_min(t, x.f, x.g), x.f), tape_min(t, x.f, x.g));
	assert_true(
	    tape_known_nonnegative(t, tape_sub(t, x.f, tape_min(t, x.f, x.g))));
	arena_free(x.arena);
}

/* More factors and terms than a normal form holds: opaque, still right. */
static void large_forms(void **state)
{
	(void)state;
	Fixture x = fixture();
	int64_t slots[40], *values;
	Handle product = x.one, power = x.one;
	for (int i = 0; i < 40; i++) {
		Handle s = tape_add(x.t, tape_slot(x.t, i), x.one);
		slots[i] = 1 + i % 2;
		if (i < 12)
			product = tape_mul(x.t, product, s);
		power = tape_mul(x.t, power, tape_slot(x.t, i));
	}
	values = NEW_N(x.arena, int64_t, tape_size(x.t));
	tape_eval(x.t, slots, values);
	assert_int_equal(values[product], 64 * 729);
	assert_int_equal(values[power], 1 << 20);
	assert_true(tape_known_nonnegative(x.t, power));
	arena_free(x.arena);
}

/* A sum of many products that is negative for small slots: no order in which its
 * quotients and minima are replaced settles it, so none should be tried. */
static void refuted_at_once(void **state)
{
	(void)state;
	Fixture x = fixture();
	Tape *t = x.t;
	enum { N = 12 };
	Handle sum = c(&x, -5000);
	for (int i = 0; i < N; i++) {
		Handle a = tape_slot(t, i), b = tape_slot(t, (i + 1) % N);
		Handle q = tape_ceildiv(t, c(&x, 100 + i), a);
		Handle m = tape_min(t, tape_mul(t, b, q), c(&x, 90 + i));
		sum = tape_add(t, sum, tape_mul(t, m, tape_mul(t, a, q)));
		sum = tape_sub(t, sum, tape_mul(t, a, b));
	}
	clock_t start = clock();
	for (int i = 0; i < 100; i++)
		assert_false(tape_known_nonnegative(
		    t, tape_add(t, sum, c(&x, i))));
	assert_true(clock() - start < CLOCKS_PER_SEC);
	arena_free(x.arena);
}

/* What is asked again costs what was no part of another question. */
static void asked_again(void **state)
{
	(void)state;
	Fixture x = fixture();
	Tape *t = x.t;
	int64_t work[2], asked[2];
	for (int turn = 0; turn < 2; turn++) {
		work[turn] = tape_work(t);
		asked[turn] = tape_asked(t);
		Handle a = tape_slot(t, 0), b = tape_slot(t, 1);
		tape_mod(t, tape_add(t, a, c(&x, 7)), b);
		tape_multiple(t, tape_mul(t, a, b), c(&x, 4));
		work[turn] = tape_work(t) - work[turn];
		asked[turn] = tape_asked(t) - asked[turn];
	}
	assert_int_equal(asked[0], 4);
	assert_int_equal(asked[1], 4);
	assert_true(work[0] > 4);
	assert_int_equal(work[1], 4);
	arena_free(x.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(random_expressions),
	    cmocka_unit_test(evaluated_again),
	    cmocka_unit_test(whatever_was_before),
	    cmocka_unit_test(sums_and_products),
	    cmocka_unit_test(divisions),
	    cmocka_unit_test(signs),
	    cmocka_unit_test(large_forms),
	    cmocka_unit_test(refuted_at_once),
	    cmocka_unit_test(asked_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
