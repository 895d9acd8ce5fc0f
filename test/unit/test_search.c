/* Searches on a synthetic space with a known optimum. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/search/search.h"

/* `parts` digits below `base`; a candidate whose digits add up to a multiple of
 * `hole` (0: none) is illegal.  Digit 0 is without effect where digit 1 is 0.
 */
typedef struct {
	int parts, base, hole;
	int64_t asked;
	int best[CANDIDATE_PARTS];
	int batch_most; /* largest batch that was scored */
	Candidate wanted; /* how often was it scored, or a parent? */
	int seen;
} Toy;

static bool toy_legal(const Toy *toy, Candidate *c)
{
	if (c->at[1] == 0)
		c->at[0] = 0;
	int sum = 0;
	for (int i = 0; i < toy->parts; i++)
		sum += c->at[i];
	return !toy->hole || sum % toy->hole;
}

static bool toy_sample(void *context, Rng *rng, Candidate *out)
{
	Toy *toy = context;
	for (int tries = 0; tries < 100; tries++) {
		*out = (Candidate){0};
		for (int i = 0; i < toy->parts; i++)
			out->at[i] =
			    (int16_t)rng_below(rng, (uint64_t)toy->base);
		if (toy_legal(toy, out))
			return true;
	}
	return false;
}

static bool toy_mutate(
    void *context, Rng *rng, const Candidate *from, Candidate *out)
{
	Toy *toy = context;
	toy->seen += !memcmp(from, &toy->wanted, sizeof *from);
	for (int tries = 0; tries < 100; tries++) {
		*out = *from;
		int part = (int)rng_below(rng, (uint64_t)toy->parts);
		out->at[part] = (int16_t)rng_below(rng, (uint64_t)toy->base);
		if (toy_legal(toy, out) && memcmp(out, from, sizeof *out))
			return true;
	}
	return false;
}

static bool toy_at(void *context, int64_t number, Candidate *out)
{
	Toy *toy = context;
	*out = (Candidate){0};
	for (int i = 0; i < toy->parts; i++, number /= toy->base)
		out->at[i] = (int16_t)(number % toy->base);
	return toy_legal(toy, out);
}

/* A sum over digits with a trap: neighbouring digits that are both right. */
static double toy_value(const Toy *toy, const Candidate *c)
{
	double v = 0;
	for (int i = 0; i < toy->parts; i++) {
		bool right = c->at[i] == toy->best[i];
		bool last = i && c->at[i - 1] == toy->best[i - 1];
		v -= fabs(c->at[i] - toy->best[i] + 0.0) / toy->base;
		v += right && last ? 1 : 0;
	}
	return v;
}

static void toy_score(void *context, const Candidate *c, int n, float *out)
{
	Toy *toy = context;
	for (int i = 0; i < n; i++) {
		out[i] = (float)toy_value(toy, &c[i]);
		toy->seen += !memcmp(&c[i], &toy->wanted, sizeof *c);
	}
	toy->asked += n;
	if (n > toy->batch_most)
		toy->batch_most = n;
}

static Toy toy_make(int parts, int base, int hole)
{
	Toy toy = {.parts = parts, .base = base, .hole = hole};
	for (int i = 0; i < parts; i++)
		toy.best[i] = (i * 7 + 3) % base;
	return toy;
}

static SearchSpace toy_space(Toy *toy)
{
	double count = pow(toy->base, toy->parts);
	return (SearchSpace){.context = toy,
	    .sample = toy_sample,
	    .mutate = toy_mutate,
	    .count = count < 1e9 ? (int64_t)(count + 0.5) : -1,
	    .at = toy_at};
}

enum { BATCH = 64, MOST = 20000 };

/* The best value after some batches; every proposal goes to `all`. */
static double run(Toy *toy, const char *name, uint64_t seed, int batches,
    Candidate *all, int *nall, bool *exhausted)
{
	SearchSpace space = toy_space(toy);
	SearchSettings settings = search_defaults(seed);
	Search *search = search_new(name, &space, &settings);
	double best = -INFINITY;
	int n = 0;
	toy->asked = 0;
	for (int b = 0; b < batches && !search_exhausted(search); b++) {
		int got = search_next(
		    search, b ? toy_score : NULL, toy, BATCH, all + n);
		for (int i = 0; i < got; i++) {
			double v = toy_value(toy, &all[n + i]);
			search_tell(search, &all[n + i], exp(-v));
			best = v > best ? v : best;
		}
		n += got;
		assert_true(n + BATCH <= MOST);
	}
	assert_int_equal(search_stats(search).proposed, n);
	assert_true(search_stats(search).scored == toy->asked);
	*nall = n;
	*exhausted = search_exhausted(search);
	search_free(search);
	return best;
}

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(Candidate));
}

static void check_distinct(const Toy *toy, Candidate *all, int n)
{
	for (int i = 0; i < n; i++)
		assert_true(toy_legal(toy, &all[i]));
	qsort(all, (size_t)n, sizeof *all, by_bytes);
	for (int i = 1; i < n; i++)
		assert_true(by_bytes(&all[i - 1], &all[i]) != 0);
}

static Candidate *room(void)
{
	return malloc(sizeof(Candidate) * MOST);
}

static void test_finds(void **state)
{
	(void)state;
	Candidate *all = room();
	int n;
	bool exhausted;
	for (uint64_t seed = 0; seed < 3; seed++) {
		Toy a = toy_make(20, 16, 5), b = a;
		double found = run(&a, "sa", seed, 3, all, &n, &exhausted);
		assert_int_equal(n, 3 * BATCH);
		check_distinct(&a, all, n);
		double chance =
		    run(&b, "random", seed, 20, all, &n, &exhausted);
		check_distinct(&b, all, n);
		double bred =
		    run(&b, "ga", seed, 20, all, &n, &exhausted);
		check_distinct(&b, all, n);
		/* All digits right gives 19. */
		if (found < 17 || chance > 5 || bred < 2 * chance)
			fail_msg(
			    "seed %d: %g, %g and %g", (int)seed, found, chance,
			    bred);
		assert_int_equal(b.asked, 0);
		assert_in_range(a.batch_most, 1, 128);
	}
	free(all);
}

static void test_repeatable(void **state)
{
	(void)state;
	Candidate *one = room(), *two = room();
	for (const SearchName *s = search_names(); s->name; s++) {
		int n, m;
		bool exhausted;
		Toy a = toy_make(20, 16, 5), b = a;
		run(&a, s->name, 11, 4, one, &n, &exhausted);
		run(&b, s->name, 11, 4, two, &m, &exhausted);
		assert_int_equal(n, m);
		assert_memory_equal(one, two, sizeof *one * (size_t)n);
		run(&b, s->name, 12, 4, two, &m, &exhausted);
		if (strcmp(s->name, "grid")) /* which draws nothing */
			assert_memory_not_equal(
			    one, two, sizeof *one * (size_t)n);
	}
	free(one);
	free(two);
}

static int legal_count(Toy *toy)
{
	SearchSpace space = toy_space(toy);
	assert_in_range(space.count, 1, MOST);
	Candidate *all = malloc(sizeof *all * MOST);
	int n = 0, distinct = 0;
	for (int64_t i = 0; i < space.count; i++)
		n += toy_at(toy, i, &all[n]);
	qsort(all, (size_t)n, sizeof *all, by_bytes);
	for (int i = 0; i < n; i++)
		distinct += !i || by_bytes(&all[i - 1], &all[i]);
	free(all);
	return distinct;
}

static void check_exhausts(const char *name, int parts, int base, int hole)
{
	Candidate *all = room();
	int n;
	bool exhausted;
	Toy toy = toy_make(parts, base, hole);
	run(&toy, name, 3, 1000, all, &n, &exhausted);
	assert_true(exhausted);
	check_distinct(&toy, all, n);
	assert_int_equal(n, legal_count(&toy));
	free(all);
}

static void test_exhausts(void **state)
{
	(void)state;
	for (const SearchName *s = search_names(); s->name; s++) {
		check_exhausts(s->name, 2, 3, 2);
		check_exhausts(s->name, 3, 10, 3);
		check_exhausts(s->name, 4, 10, 0);
	}
}

static void test_nothing_legal(void **state)
{
	(void)state;
	Candidate *all = room();
	int n;
	bool exhausted;
	Toy toy = toy_make(10, 30, 1);
	run(&toy, "sa", 3, 5, all, &n, &exhausted);
	assert_int_equal(n, 0);
	assert_true(exhausted);
	free(all);
}

static void test_visited(void **state)
{
	(void)state;
	Toy toy = toy_make(2, 4, 0);
	SearchSpace space = toy_space(&toy);
	SearchSettings settings = search_defaults(1);
	Search *search = search_new("sa", &space, &settings);
	Candidate c, out[32];
	for (int i = 0; i < 16; i += 2) {
		toy_at(&toy, i, &c);
		search_visit(search, &c);
		assert_true(search_visited(search, &c));
	}
	int n = search_next(search, toy_score, &toy, 32, out);
	/* 13 distinct, of them visited 0, 4, 6, 8 … with a digit 0 of 0 and 2.
	 */
	assert_int_equal(n, 6);
	for (int i = 0; i < n; i++)
		assert_int_equal(out[i].at[0] % 2, 1);
	assert_true(search_exhausted(search));
	search_free(search);
}

static uint64_t first_digit(void *context, const Candidate *c)
{
	(void)context;
	return (uint64_t)c->at[0];
}

/* A batch has little of one kind where there are others, in a
 * space that is ranked and in one that is annealed. */
static void test_kinds(void **state)
{
	static const int parts[] = {3, 20};
	(void)state;
	for (int k = 0; k < 2; k++) {
		Toy toy = toy_make(parts[k], 10, 0);
		SearchSpace space = toy_space(&toy);
		space.kind = first_digit;
		SearchSettings settings = search_defaults(1);
		settings.epsilon = 0;
		Search *search = search_new("sa", &space, &settings);
		Candidate out[20];
		int of[10] = {0};
		int n = search_next(search, toy_score, &toy, 20, out);
		assert_int_equal(n, 20);
		for (int i = 0; i < n; i++)
			of[out[i].at[0]]++;
		for (int i = 0; i < 10; i++)
			assert_in_range(of[i], 0, 2);
		assert_int_equal(of[toy.best[0]], 2);
		search_free(search);
	}
}

static bool toy_over(void *context)
{
	return ((Toy *)context)->asked > 1000;
}

/* A round whose time is over proposes what it has met, and is no end. */
static void test_over(void **state)
{
	(void)state;
	Toy toy = toy_make(20, 10, 0);
	SearchSpace space = toy_space(&toy);
	space.over = toy_over;
	space.over_context = &toy;
	SearchSettings settings = search_defaults(1);
	Search *search = search_new("sa", &space, &settings);
	Candidate out[20];
	assert_int_equal(search_next(search, toy_score, &toy, 20, out), 20);
	assert_in_range(search_stats(search).scored, 1000, 1500);
	assert_false(search_exhausted(search));
	search_free(search);
}

enum { ONCE_PARTS = 5, ONCE_BASE = 8, ONCE = 32768 };

typedef struct {
	Toy toy;
	int asked[ONCE];
} OnceToy;

static void once_score(void *context, const Candidate *c, int n, float *out)
{
	OnceToy *once = context;
	toy_score(&once->toy, c, n, out);
	for (int i = 0; i < n; i++) {
		int number = 0;
		for (int p = 0; p < ONCE_PARTS; p++)
			number = number * ONCE_BASE + c[i].at[p];
		once->asked[number]++;
	}
}

/* In a round a candidate is scored once, but for what is no longer known; in the
 * next one it is scored anew. */
static void test_scores_once(void **state)
{
	(void)state;
	static OnceToy once;
	once.toy = toy_make(ONCE_PARTS, ONCE_BASE, 0);
	SearchSpace space = toy_space(&once.toy);
	SearchSettings settings = search_defaults(1);
	Search *search = search_new("sa", &space, &settings);
	Candidate batch[16];
	for (int round = 0; round < 2; round++) {
		int different = 0, all = 0;
		memset(once.asked, 0, sizeof once.asked);
		assert_int_equal(
		    search_next(search, once_score, &once, 16, batch), 16);
		for (int i = 0; i < ONCE; i++) {
			different += once.asked[i] > 0;
			all += once.asked[i];
		}
		assert_true(different > 128);
		assert_in_range(all, different, different + different / 4);
	}
	search_free(search);
}

/* A batch is filled up where a search finds fewer than were asked for, and that
 * is no end. */
static void test_quota(void **state)
{
	(void)state;
	Candidate out[BATCH];
	for (const SearchName *s = search_names(); s->name; s++) {
		Toy toy = toy_make(20, 10, 0);
		SearchSpace space = toy_space(&toy);
		space.over = toy_over; /* after a generation */
		space.over_context = &toy;
		SearchSettings settings = search_defaults(1);
		settings.chains = settings.steps = 1;
		Search *search = search_new(s->name, &space, &settings);
		toy.asked = 1001;
		for (int b = 0; b < 4; b++) {
			assert_int_equal(search_next(search, toy_score, &toy,
					     BATCH, out), BATCH);
			assert_false(search_exhausted(search));
		}
		search_free(search);
	}
}

/* The best that was measured is where each later round begins, whatever was
 * measured since. */
static void test_incumbent(void **state)
{
	static const char *const names[] = {"sa", "evolve", "ga"};
	(void)state;
	Candidate out[100];
	for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
		Toy toy = toy_make(20, 10, 0);
		SearchSpace space = toy_space(&toy);
		SearchSettings settings = search_defaults(1);
		Search *search = search_new(names[k], &space, &settings);
		for (int b = 0; b < 5; b++) {
			toy.seen = 0;
			int n = search_next(
			    search, b ? toy_score : NULL, &toy, 100, out);
			assert_true(!b || toy.seen);
			for (int i = 0; i < n; i++)
				search_tell(search, &out[i],
				    !b && i == 50 ? 1e-3 : 1 + i);
			if (!b)
				toy.wanted = out[50];
		}
		search_free(search);
	}
}

static int toy_neighbours(
    void *context, const Candidate *from, Candidate *out, int most)
{
	Toy *toy = context;
	int n = 0;
	for (int i = 0; i < toy->parts; i++)
		for (int by = -1; by <= 1 && n < most; by += 2) {
			out[n] = *from;
			out[n].at[i] = (int16_t)(from->at[i] + by);
			n += out[n].at[i] >= 0 && out[n].at[i] < toy->base;
		}
	return n;
}

static int apart(const Candidate *a, const Candidate *b)
{
	int sum = 0;
	for (int i = 0; i < CANDIDATE_PARTS; i++)
		sum += abs(a->at[i] - b->at[i]);
	return sum;
}

/* Every second batch is single steps from the best, the most promising first, as long
 * as there are any that were not measured. */
static void test_polish(void **state)
{
	(void)state;
	for (int on = 0; on <= 1; on++) {
		Toy toy = toy_make(12, 10, 0);
		SearchSpace space = toy_space(&toy);
		space.neighbours = toy_neighbours;
		SearchSettings settings = search_defaults(1);
		settings.epsilon = 0;
		settings.polish = on;
		Search *search = search_new("sa", &space, &settings);
		Candidate out[8], best;
		search_next(search, NULL, &toy, 8, out);
		for (int i = 0; i < 8; i++)
			search_tell(search, &out[i], i == 3 ? 0.5 : 1);
		best = out[3];
		for (int b = 1; b < 8; b++) {
			assert_int_equal(
			    search_next(search, toy_score, &toy, 8, out), 8);
			int near = 0;
			for (int i = 0; i < 8; i++) {
				near += apart(&out[i], &best) == 1;
				search_tell(search, &out[i], 1);
			}
			/* 20 to 24 of them, of the rest some later ones */
			if (b % 2 && b < 4)
				assert_int_equal(near == 8, on);
		}
		search_free(search);
	}
}

/* Of equal scores a batch by cover takes those that differ, and nothing worse. */
static void flat_score(void *context, const Candidate *c, int n, float *out)
{
	(void)context;
	for (int i = 0; i < n; i++)
		out[i] = !c[i].at[0] && c[i].at[1] > 4;
}

static int covered(const Candidate *c, int n)
{
	int values = 0;
	for (int p = 0; p < 3; p++)
		for (int v = 0; v < 10; v++)
			for (int i = 0; i < n; i++)
				if (c[i].at[p] == v) {
					values++;
					break;
				}
	return values;
}

static void test_batches(void **state)
{
	int by[3];
	(void)state;
	for (int k = 0; k < 3; k++) {
		Toy toy = toy_make(3, 10, 0);
		SearchSpace space = toy_space(&toy);
		SearchSettings settings = search_defaults(1);
		Candidate out[20], again[20];
		settings.epsilon = 0;
		settings.batch = (SearchBatch)k;
		for (int twice = 0; twice < 2; twice++) {
			Search *search = search_new("sa", &space, &settings);
			assert_int_equal(search_next(search, flat_score, &toy,
					     20, twice ? again : out), 20);
			search_free(search);
		}
		assert_memory_equal(out, again, sizeof out);
		for (int i = 0; i < 20; i++)
			assert_true(!out[i].at[0] && out[i].at[1] > 4);
		by[k] = covered(out, 20);
	}
	assert_true(by[BATCH_SUBMODULAR] > by[BATCH_TOP] + 4);
	assert_int_equal(by[BATCH_TILES], by[BATCH_TOP]); /* no kinds here */
}

static void test_unknown(void **state)
{
	(void)state;
	Toy toy = toy_make(2, 4, 0);
	SearchSpace space = toy_space(&toy);
	SearchSettings settings = search_defaults(1);
	assert_null(search_new("luck", &space, &settings));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_finds),
	    cmocka_unit_test(test_repeatable),
	    cmocka_unit_test(test_exhausts),
	    cmocka_unit_test(test_nothing_legal),
	    cmocka_unit_test(test_visited),
	    cmocka_unit_test(test_kinds),
	    cmocka_unit_test(test_over),
	    cmocka_unit_test(test_quota),
	    cmocka_unit_test(test_incumbent),
	    cmocka_unit_test(test_polish),
	    cmocka_unit_test(test_batches),
	    cmocka_unit_test(test_scores_once),
	    cmocka_unit_test(test_unknown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
