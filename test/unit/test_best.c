/* The rule for the best record: rounds, newest lines, ties, regimes, layers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tuner/internal.h"

static const char op[] =
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
enum { MAX = 8 };

/* Lines of a case, in the order of the store: trace, ms, round: f(inal) or
 * s(earch), or m: the run-start of the run; a: its end, which accepts. */
typedef struct {
	const char *trace;
	double ms;
	char round;
	const char *run, *target, *measure;
	int counter;
	double spread, noise;
	bool cold, crash, old; /* by a clock that was set back */
} Case;

static char folder[64];

static int setup(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/tunec-test-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static const char *kind = "jsonl";

static const char *path_of(int i)
{
	static char path[512];
	snprintf(path, sizeof path, "%s/%d.%s", folder, i, kind);
	return path;
}

static int teardown(void **state)
{
	(void)state;
	for (int i = 0; i < MAX; i++) {
		kind = "jsonl";
		unlink(path_of(i));
		kind = "db";
		unlink(path_of(i));
	}
	kind = "jsonl";
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

static Line make_mark(const Case *s)
{
	Line line;
	json_t *fields = json_pack("{s:[s],s:s,s:s}", "ops", op, "target",
	    s->target ? s->target : "c", "regime", s->cold ? "cold" : "warm");
	if (s->round == 'a') {
		json_object_set_new(fields, "run", json_string(s->run));
		json_object_set_new(fields, "accept", json_true());
	} else {
		json_object_set_new(
		    fields, "counter", json_integer(s->counter));
	}
	line_mark(s->round == 'a' ? LINE_RUN_END : LINE_RUN_START, fields,
	    &line);
	json_decref(fields);
	if (s->round == 'm') { /* a run's name is the id of its mark */
		char *id = strstr(line.text, "\"id\":\"") + 6;
		memcpy(id, "0000000000000000", 16);
		memcpy(id, s->run, strlen(s->run));
		memcpy(line.id, id, 16);
	}
	return line;
}

static Line make(const Case *s)
{
	if (s->round == 'm' || s->round == 'a')
		return make_mark(s);
	char at[64];
	static int minute;
	minute = (minute + 1) % 60;
	snprintf(at, sizeof at, "20%d-01-02T03:%02d:00.000Z",
	    s->old ? 10 : 26, minute);
	json_t *by = s->run ? json_pack("{s:s}", "run", s->run) : NULL;
	json_t *trace = json_pack("[s]", s->trace);
	json_t *noise = s->noise
	    ? json_pack("{s:f,s:i}", "probe", s->noise, "switches", 0) : NULL;
	Line line;
	line_trial(&(Trial){.at = at,
		       .op = op,
		       .op_text = "x",
		       .name = "n",
		       .target = s->target ? s->target : "c",
		       .trace = trace,
		       .outcome = s->crash ? OUTCOME_CRASH : OUTCOME_OK,
		       .time_s = s->ms / 1000,
		       .spread_s = s->spread / 1000,
		       .cold = s->cold,
		       .final = s->round == 'f',
		       .measure = s->measure,
		       .noise = noise,
		       .by = by},
	    &line);
	json_decref(by);
	json_decref(trace);
	json_decref(noise);
	return line;
}

static void put(int store, const Case *specs, int n)
{
	Store *s = must_open(store, STORE_WRITE);
	Error error;
	for (int i = 0; i < n; i++) {
		Line line = make(&specs[i]);
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
	BestQuery query = {op, target, regime};
	if (best_find(layers, nlayers, &query, &best, &error))
		fail_msg("%s", error.text);
	if (targets && best_targets(arena, layers, nlayers, op, targets, &error))
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
	static const char *const kinds[] = {"jsonl", "db"};
	Arena *arena = arena_new();
	for (int i = 0; i < 2; i++) {
		kind = kinds[i];
		unlink(path_of(0));
		put(0, specs, n);
		assert_string_equal(find(arena, 1, "c", NULL, NULL), expected);
	}
	kind = kinds[0];
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
	CHECK("b 1", {.trace = "a", .ms = 2, .round = 's'},
	    {.trace = "b", .ms = 1, .round = 's'},
	    {.trace = "c", .ms = 3, .round = 's'});
	CHECK("", {.trace = "a", .ms = 2, .round = 's', .crash = true});
	CHECK("a 2", {.trace = "a", .ms = 2, .round = 's'},
	    {.trace = "b", .ms = 1, .round = 's', .cold = true},
	    {.trace = "d", .ms = 1, .round = 's', .target = "other"},
	    {.trace = "e", .ms = 1, .round = 's', .crash = true});
}

/* What was not run on a machine is never the best, not even of a target. */
static void test_measured(void **state)
{
	(void)state;
	CHECK("a 2", {.trace = "a", .ms = 2, .round = 's'},
	    {.trace = "b", .ms = 1, .round = 's', .measure = "simulate"},
	    {.trace = "b", .ms = 1, .round = 'f', .measure = "replay"});
	CHECK("", {.trace = "b", .ms = 1, .round = 's', .measure = "simulate"});
	Arena *arena = arena_new();
	TextVec targets = {0};
	find(arena, 1, "c", NULL, &targets);
	assert_int_equal(targets.n, 0);
	arena_free(arena);
}

static void test_newest_line_counts(void **state)
{
	(void)state;
	CHECK("b 2", {.trace = "a", .ms = 1, .round = 's'},
	    {.trace = "b", .ms = 2, .round = 's'},
	    {.trace = "a", .ms = 3, .round = 's', .old = true});
	CHECK("b 2", {.trace = "a", .ms = 3, .round = 's'},
	    {.trace = "b", .ms = 2, .round = 's'},
	    {.trace = "a", .ms = 1, .round = 's', .noise = 0.9},
	    {.trace = "b", .ms = 9, .round = 's', .noise = 0.9});
}

/* The counter of the run decides, then the place in the store. */
static void test_counters(void **state)
{
	(void)state;
	CHECK("a 1", {.round = 'm', .run = "a700000000000000", .counter = 7},
	    {.trace = "a", .ms = 1, .round = 's', .run = "a700000000000000"},
	    {.trace = "a", .ms = 3, .round = 's'},
	    {.trace = "b", .ms = 2, .round = 's'});
	/* One that was merged in behind a newer one, and its clock ahead. */
	CHECK("b 1", {.round = 'm', .run = "a200000000000000", .counter = 2},
	    {.trace = "b", .ms = 1, .round = 'f', .run = "a200000000000000",
		.old = true},
	    {.trace = "a", .ms = 2, .round = 'f', .run = "a100000000000000"},
	    {.round = 'm', .run = "a100000000000000", .counter = 1});
}

static void test_final_round(void **state)
{
	(void)state;
	CHECK("b 4", {.trace = "a", .ms = 1, .round = 's'},
	    {.trace = "b", .ms = 2, .round = 's'},
	    {.trace = "a", .ms = 5, .round = 'f'},
	    {.trace = "b", .ms = 4, .round = 'f'},
	    {.trace = "c", .ms = 1, .round = 's'});
	/* Two rounds, named by their runs or told apart by what lies between. */
	CHECK("a 2", {.trace = "a", .ms = 4, .round = 'f', .run = "a100000000000000"},
	    {.trace = "b", .ms = 3, .round = 'f', .run = "a100000000000000"},
	    {.trace = "a", .ms = 2, .round = 'f', .run = "a200000000000000"},
	    {.trace = "b", .ms = 5, .round = 'f', .run = "a200000000000000"});
	CHECK("a 1", {.trace = "a", .ms = 1, .round = 'f', .run = "a100000000000000"},
	    {.trace = "c", .ms = 9, .round = 's', .run = "a200000000000000"},
	    {.trace = "b", .ms = 2, .round = 'f', .run = "a100000000000000"});
	CHECK("b 5", {.trace = "a", .ms = 6, .round = 'f'},
	    {.trace = "c", .ms = 1, .round = 's'},
	    {.trace = "b", .ms = 5, .round = 'f'});
}

#define RUN(n) .run = "a" #n "00000000000000"
#define START(n) {.round = 'm', RUN(n), .counter = n}

/* A slower round stands only where it was accepted, or is no slower than the
 * spread; a noisy one never. */
static void test_slower_round(void **state)
{
	(void)state;
	CHECK("a 1", START(1), {.trace = "a", .ms = 1, .round = 'f', RUN(1)},
	    START(2), {.trace = "b", .ms = 3, .round = 'f', RUN(2)});
	CHECK("b 3", START(1), {.trace = "a", .ms = 1, .round = 'f', RUN(1)},
	    START(2), {.trace = "b", .ms = 3, .round = 'f', RUN(2)}, START(3),
	    {.round = 'a', RUN(3)});
	/* What was accepted before says nothing of a later round. */
	CHECK("b 3", START(1), {.trace = "a", .ms = 1, .round = 'f', RUN(1)},
	    START(2), {.trace = "b", .ms = 3, .round = 'f', RUN(2)},
	    {.round = 'a', RUN(2)}, START(3),
	    {.trace = "c", .ms = 4, .round = 'f', RUN(3)});
	CHECK("b 1.01", START(1),
	    {.trace = "a", .ms = 1, .round = 'f', .spread = 0.02, RUN(1)},
	    START(2), {.trace = "b", .ms = 1.01, .round = 'f', RUN(2)});
	CHECK("a 1", START(1),
	    {.trace = "a", .ms = 1, .round = 'f', .spread = 5, RUN(1)},
	    START(2), {.trace = "b", .ms = 2, .round = 'f', RUN(2)});
	CHECK("a 2", START(1), {.trace = "a", .ms = 2, .round = 'f', RUN(1)},
	    START(2),
	    {.trace = "b", .ms = 1, .round = 'f', .noise = 0.8, RUN(2)});
	/* None was quiet: as if there were no rounds. */
	CHECK("b 1", START(1),
	    {.trace = "a", .ms = 2, .round = 'f', .noise = 0.8, RUN(1)},
	    {.trace = "b", .ms = 1, .round = 's', RUN(1)});
}

static void test_tie(void **state)
{
	(void)state;
	Case specs[] = {{.trace = "a", .ms = 1, .round = 's'},
	    {.trace = "b", .ms = 1, .round = 's'}};
	Line a, b;
	for (int i = 0; i < 8; i++) {
		unlink(path_of(0));
		put(0, specs, 2);
		Arena *arena = arena_new();
		Store *store = must_open(0, STORE_READ);
		Error error;
		BestQuery query = {op, "c", NULL};
		Line best;
		best_find(&store, 1, &query, &best, &error);
		a = make(&specs[0]), b = make(&specs[1]);
		assert_non_null(best.json);
		line_free(&a);
		line_free(&b);
		Buf text = {0};
		FILE *f = fopen(path_of(0), "r");
		for (int c; (c = getc(f)) != EOF;)
			buf_putc(&text, (char)c);
		fclose(f);
		char *id = strstr(text.data, "\"id\":\"") + 6;
		char *other = strstr(id, "\"id\":\"") + 6;
		assert_true(!strncmp(best.id,
		    strncmp(id, other, 16) < 0 ? id : other, 16));
		buf_free(&text);
		line_free(&best);
		store_close(store);
		arena_free(arena);
	}
}

static void test_layers(void **state)
{
	(void)state;
	Arena *arena = arena_new();
	put(1,
	    (Case[]){{.trace = "slow", .ms = 5, .round = 's'},
		{.trace = "x", .ms = 1, .round = 's', .cold = true}},
	    2);
	put(2,
	    (Case[]){{.trace = "fast", .ms = 1, .round = 's'},
		{.trace = "z", .ms = 1, .round = 's', .target = "b"}},
	    2);
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
	put(0, (Case[]){{.trace = "a", .ms = 1, .round = 's'}}, 1);
	FILE *f = fopen(path_of(0), "a");
	fprintf(f, "{\"tunec\":9,\"kind\":\"trial\",\"op\":\"%s\"}\n", op);
	fclose(f);
	Store *store = must_open(0, STORE_READ);
	Line best;
	Error error;
	BestQuery query = {.op = op};
	assert_int_equal(
	    best_find(&store, 1, &query, &best, &error), STATUS_UNSUPPORTED);
	assert_non_null(strstr(error.text, "0.jsonl:2: records of format 9"));
	store_close(store);
}

/* Winners that cannot be read whole: each is counted, none is kept, and the
 * next one is found without going over all of them again. */
static void test_damaged_winners(void **state)
{
	(void)state;
	enum { N = 8000 };
	put(0, (Case[]){{.trace = "good", .ms = 9, .round = 's'}}, 1);
	FILE *f = fopen(path_of(0), "a");
	for (int i = 0; i < N; i++)
		fprintf(f,
		    "{\"tunec\":1,\"kind\":\"trial\",\"id\":\"%016x\","
		    "\"op\":\"%s\",\"target\":\"c\",\"trace\":[[\"%d\"]],"
		    "\"outcome\":\"ok\",\"time_s\":1e-6,\"runs_s\":[nope,%0900d]}\n",
		    i, op, i, 0);
	fclose(f);
	Arena *arena = arena_new();
	assert_string_equal(find(arena, 1, "c", NULL, NULL), "good 9");
	arena_free(arena);
	Store *store = must_open(0, STORE_READ);
	BestQuery query = {op, "c", NULL};
	Line best;
	Error error;
	best_find(&store, 1, &query, &best, &error);
	line_free(&best);
	assert_non_null(strstr(store_notes(store), "8000 damaged lines"));
	assert_null(strstr(store_notes(store), "jsonl:20:"));
	store_close(store);
}

/* A target that is spelled with escapes is the same; with wrong ones it is
 * damage, and does not hide the good. */
static void test_escaped_target(void **state)
{
	(void)state;
	static const char *const spelled[] = {"\\u0063", "\\c"};
	for (int i = 0; i < 2; i++) {
		unlink(path_of(0));
		put(0, (Case[]){{.trace = "a", .ms = 2, .round = 's'}}, 1);
		FILE *f = fopen(path_of(0), "a");
		fprintf(f,
		    "{\"tunec\":1,\"kind\":\"trial\",\"id\":\"%016x\","
		    "\"op\":\"%s\",\"target\":\"%s\",\"trace\":[\"x\"],"
		    "\"outcome\":\"ok\",\"time_s\":0.001}\n",
		    i, op, spelled[i]);
		fclose(f);
		Arena *arena = arena_new();
		TextVec targets = {0};
		assert_string_equal(find(arena, 1, "c", NULL, &targets),
		    i ? "a 2" : "x 1");
		assert_int_equal(targets.n, 1);
		arena_free(arena);
	}
}

/* --- the SQLite store's facts against the lines ---------------------------- */

static Case random_case(Rng *rng, int ntraces, bool finals)
{
	static const char *const runs[] = {"a100000000000000",
	    "a200000000000000", "a300000000000000", NULL};
	static char traces[512][8];
	uint64_t t = rng_below(rng, (uint64_t)ntraces);
	snprintf(traces[t], sizeof traces[t], "t%d", (int)t);
	Case c = {.trace = traces[t],
	    .ms = 1 + (double)rng_below(rng, 3000) / 1000,
	    .round = finals && !rng_below(rng, 8) ? 'f' : 's',
	    .run = runs[rng_below(rng, finals ? 3 : 4)],
	    .noise = rng_below(rng, 3) ? 0 : 0.9,
	    .cold = !rng_below(rng, 10),
	    .crash = !rng_below(rng, 10),
	    .measure = rng_below(rng, 10) ? NULL : "simulate",
	    .target = rng_below(rng, 10) ? "c" : "other"};
	uint64_t mark = rng_below(rng, 60);
	if (mark < 2) {
		c.run = runs[rng_below(rng, 3)];
		c.round = mark ? 'm' : 'a';
		c.counter = (int)rng_below(rng, 4);
	}
	return c;
}

static bool copy_line(Line *line, void *context)
{
	Error error;
	return !store_append(context, line, &error);
}

static void test_facts_agree(void **state)
{
	(void)state;
	int found = 0;
	for (uint64_t seed = 0; seed < 60; seed++) {
		Rng rng = rng_stream(seed, 5, 0);
		Arena *arena = arena_new();
		int n = 1 + (int)rng_below(&rng, 500);
		int ntraces = 1 + (int)rng_below(&rng, 512);
		bool finals = rng_below(&rng, 2);
		kind = "jsonl";
		unlink(path_of(0));
		Case *cases = NEW_N(arena, Case, n);
		for (int i = 0; i < n; i++)
			cases[i] = random_case(&rng, ntraces, finals);
		put(0, cases, n);
		TextVec text = {0}, sql = {0};
		char *want = find(arena, 1, "c", NULL, &text);
		char *cold = find(arena, 1, "c", "cold", NULL);
		/* the same lines, ids and all */
		Store *from = must_open(0, STORE_READ);
		kind = "db";
		unlink(path_of(0));
		Store *to = must_open(0, STORE_WRITE);
		Error error;
		assert_int_equal(
		    store_each(from, NULL, copy_line, to, NULL, &error), 0);
		store_close(from);
		store_close(to);
		if (strcmp(find(arena, 1, "c", NULL, &sql), want) ||
		    strcmp(find(arena, 1, "c", "cold", NULL), cold) ||
		    sql.n != text.n)
			fail_msg("seed %d: %s in lines, %s in a database",
			    (int)seed, want, find(arena, 1, "c", NULL, NULL));
		found += *want != 0;
		arena_free(arena);
	}
	assert_in_range(found, 50, 60);
}

static bool count_line(const StoredLine *line, void *context)
{
	(void)line;
	++*(int *)context;
	return true;
}

/* Of thousands of lines a database gives those that the best may be among. */
static void test_narrowed(void **state)
{
	(void)state;
	enum { N = 5000 };
	Arena *arena = arena_new();
	Case *cases = NEW_N(arena, Case, N);
	for (int i = 0; i < N; i++)
		cases[i] = (Case){
		    .trace = arena_printf(arena, "t%d", i < 4000 ? i : 1),
		    .ms = 9 - 0.001 * i,
		    .round = i % 1000 == 7 ? 'f' : 's',
		    RUN(1)};
	kind = "db";
	Store *store = must_open(0, STORE_WRITE);
	Line *lines = NEW_N(arena, Line, N), *all[N];
	Error error;
	for (int i = 0; i < N; i++) {
		lines[i] = make(&cases[i]);
		all[i] = &lines[i];
	}
	assert_int_equal(store_append_all(store, all, N, &error), 0);
	store_close(store);
	store = must_open(0, STORE_READ);
	for (int finals = 0; finals < 2; finals++) {
		StoreQuery query = {.op = op,
		    .target = "c",
		    .regime = "warm",
		    .finals = finals,
		    .fastest = 64};
		bool narrowed;
		int n = 0;
		assert_int_equal(store_scan(store, &query, count_line, &n,
				     &narrowed, &error),
		    0);
		assert_true(narrowed);
		assert_in_range(n, 1, finals ? 5 : 66);
	}
	store_close(store);
	assert_string_equal(find(arena, 1, "c", NULL, NULL), "t1 4.993");
	for (int i = 0; i < N; i++)
		line_free(&lines[i]);
	arena_free(arena);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_least),
	    TEST(test_measured),
	    TEST(test_newest_line_counts),
	    TEST(test_counters),
	    TEST(test_final_round),
	    TEST(test_slower_round),
	    TEST(test_tie),
	    TEST(test_layers),
	    TEST(test_refused),
	    TEST(test_damaged_winners),
	    TEST(test_escaped_target),
	    TEST(test_facts_agree),
	    TEST(test_narrowed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
