/* The rule for the best record: rounds, newest lines, ties, regimes, layers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tuner/tuner.h"

static const char op[] =
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
enum { MAX = 8 };

/* Lines of a case: minute, trace, ms, round f(inal) or s(earch), run. */
typedef struct {
	int at;
	const char *trace;
	double ms;
	char round;
	const char *run, *target;
	bool cold, crash;
} Case;

static char folder[64];

static int setup(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/tunec-test-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static const char *path_of(int i)
{
	static char path[512];
	snprintf(path, sizeof path, "%s/%d.jsonl", folder, i);
	return path;
}

static int teardown(void **state)
{
	(void)state;
	for (int i = 0; i < MAX; i++)
		unlink(path_of(i));
	return rmdir(folder);
}

static Store *must_open(int i, StoreMode mode)
{
	Store *store;
	Error error;
	if (store_open(path_of(i), mode, &store, &error))
		fail_msg("%s", error.text);
	return store;
}

static Line make(const Case *s)
{
	char at[64];
	snprintf(at, sizeof at, "2026-01-02T03:%02d:00.000Z", s->at);
	json_t *by = s->run ? json_pack("{s:s}", "run", s->run) : NULL;
	json_t *trace = json_pack("[s]", s->trace);
	Line line;
	line_trial(&(Trial){.at = at,
		       .op = op,
		       .op_text = "x",
		       .name = "n",
		       .target = s->target ? s->target : "c",
		       .trace = trace,
		       .outcome = s->crash ? OUTCOME_CRASH : OUTCOME_OK,
		       .time_s = s->ms / 1000,
		       .cold = s->cold,
		       .final = s->round == 'f',
		       .by = by},
	    &line);
	json_decref(by);
	json_decref(trace);
	return line;
}

/* Appends in the order given, or reversed. */
static void put(int store, const Case *specs, int n, bool reverse)
{
	Store *s = must_open(store, STORE_WRITE);
	Error error;
	for (int i = 0; i < n; i++) {
		Line line = make(&specs[reverse ? n - 1 - i : i]);
		assert_int_equal(store_append(s, &line, &error), 0);
		line_free(&line);
	}
	store_close(s);
}

/* The best's trace, and its time in ms; "" if there is none. */
static char *find(Arena *arena, int nlayers, const char *target,
    const char *regime, TextVec *targets)
{
	Store *layers[MAX];
	for (int i = 0; i < nlayers; i++)
		layers[i] = must_open(i, STORE_READ);
	Line best;
	Error error;
	if (best_find(arena, layers, nlayers, op, target, regime, &best,
		targets, &error))
		fail_msg("%s", error.text);
	char *out = arena_strdup(arena, "");
	if (best.json)
		out = arena_printf(arena, "%s %g",
		    json_string_value(
			json_array_get(json_object_get(best.json, "trace"), 0)),
		    best.time_s * 1000);
	line_free(&best);
	for (int i = 0; i < nlayers; i++)
		store_close(layers[i]);
	return out;
}

static void check(const Case *specs, int n, const char *expected)
{
	Arena *arena = arena_new();
	for (int reverse = 0; reverse < 2; reverse++) {
		unlink(path_of(0));
		put(0, specs, n, reverse);
		assert_string_equal(find(arena, 1, "c", NULL, NULL), expected);
	}
	arena_free(arena);
}

#define CHECK(expected, ...)                                                   \
	do {                                                                   \
		const Case specs[] = {__VA_ARGS__};                            \
		check(specs, sizeof specs / sizeof *specs, expected);          \
	} while (0)

static void test_least(void **state)
{
	(void)state;
	CHECK("b 1", {.at = 1, .trace = "a", .ms = 2, .round = 's'},
	    {.at = 2, .trace = "b", .ms = 1, .round = 's'},
	    {.at = 3, .trace = "c", .ms = 3, .round = 's'});
	CHECK(
	    "", {.at = 1, .trace = "a", .ms = 2, .round = 's', .crash = true});
	CHECK("a 2", {.at = 1, .trace = "a", .ms = 2, .round = 's'},
	    {.at = 2, .trace = "b", .ms = 1, .round = 's', .cold = true},
	    {.at = 3, .trace = "d", .ms = 1, .round = 's', .target = "other"},
	    {.at = 3, .trace = "e", .ms = 1, .round = 's', .crash = true});
}

static void test_newest_line_counts(void **state)
{
	(void)state;
	CHECK("b 2", {.at = 1, .trace = "a", .ms = 1, .round = 's'},
	    {.at = 2, .trace = "b", .ms = 2, .round = 's'},
	    {.at = 3, .trace = "a", .ms = 3, .round = 's'});
}

static void test_final_round(void **state)
{
	(void)state;
	CHECK("b 4", {.at = 1, .trace = "a", .ms = 1, .round = 's'},
	    {.at = 2, .trace = "b", .ms = 2, .round = 's'},
	    {.at = 3, .trace = "a", .ms = 5, .round = 'f'},
	    {.at = 4, .trace = "b", .ms = 4, .round = 'f'},
	    {.at = 5, .trace = "c", .ms = 1, .round = 's'});
	/* Two rounds, named by their runs or told apart by what lies between.
	 */
	CHECK("a 3",
	    {.at = 1, .trace = "a", .ms = 1, .round = 'f', .run = "r1"},
	    {.at = 2, .trace = "b", .ms = 2, .round = 'f', .run = "r1"},
	    {.at = 3, .trace = "a", .ms = 3, .round = 'f', .run = "r2"},
	    {.at = 4, .trace = "b", .ms = 5, .round = 'f', .run = "r2"});
	CHECK("a 1",
	    {.at = 1, .trace = "a", .ms = 1, .round = 'f', .run = "r1"},
	    {.at = 2, .trace = "c", .ms = 9, .round = 's', .run = "r2"},
	    {.at = 3, .trace = "b", .ms = 2, .round = 'f', .run = "r1"});
	CHECK("b 5", {.at = 1, .trace = "a", .ms = 1, .round = 'f'},
	    {.at = 2, .trace = "c", .ms = 1, .round = 's'},
	    {.at = 4, .trace = "b", .ms = 5, .round = 'f'});
}

static void test_tie(void **state)
{
	(void)state;
	Case specs[] = {{.at = 1, .trace = "a", .ms = 1, .round = 's'},
	    {.at = 2, .trace = "b", .ms = 1, .round = 's'}};
	Line a = make(&specs[0]), b = make(&specs[1]);
	const char *expected = strcmp(a.id, b.id) < 0 ? "a 1" : "b 1";
	check(specs, 2, expected);
	line_free(&a);
	line_free(&b);
}

static void test_layers(void **state)
{
	(void)state;
	Arena *arena = arena_new();
	put(1,
	    (Case[]){{.at = 1, .trace = "slow", .ms = 5, .round = 's'},
		{.at = 1, .trace = "x", .ms = 1, .round = 's', .cold = true}},
	    2, false);
	put(2,
	    (Case[]){{.at = 1, .trace = "fast", .ms = 1, .round = 's'},
		{.at = 1, .trace = "z", .ms = 1, .round = 's', .target = "b"}},
	    2, false);
	TextVec targets = {0};
	/* Layer 0 does not exist. */
	assert_string_equal(find(arena, 3, "c", "warm", &targets), "slow 5");
	assert_int_equal(targets.n, 2);
	assert_string_equal(targets.at[0], "b");
	assert_string_equal(targets.at[1], "c");
	assert_string_equal(find(arena, 3, "c", "cold", NULL), "x 1");
	assert_string_equal(find(arena, 3, "b", NULL, NULL), "z 1");
	assert_string_equal(find(arena, 3, "d", NULL, NULL), "");
	arena_free(arena);
}

static void test_refused(void **state)
{
	(void)state;
	put(0, (Case[]){{.at = 1, .trace = "a", .ms = 1, .round = 's'}}, 1,
	    false);
	FILE *f = fopen(path_of(0), "a");
	fprintf(f, "{\"tunec\":9,\"kind\":\"trial\",\"op\":\"%s\"}\n", op);
	fclose(f);
	Arena *arena = arena_new();
	Store *store = must_open(0, STORE_READ);
	Line best;
	Error error;
	assert_int_equal(
	    best_find(arena, &store, 1, op, NULL, NULL, &best, NULL, &error),
	    STATUS_UNSUPPORTED);
	assert_non_null(strstr(error.text, "0.jsonl:2: records of format 9"));
	store_close(store);
	arena_free(arena);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_least),
	    TEST(test_newest_line_counts),
	    TEST(test_final_round),
	    TEST(test_tie),
	    TEST(test_layers),
	    TEST(test_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
