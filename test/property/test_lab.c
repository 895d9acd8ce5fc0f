/* The laboratory: closed parts of spaces are parts of them, random over a table is
 * a shuffle of it, the simulated machine is not the model, and a table of another
 * space is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/lab/lab.h"

static const char *const conv = "workloads/conv2d.yaml:resnet18_c6";
static const char *const target = "llvm -mcpu=x86-64-v3 -threads=1";

static Task *open_task(Arena *arena)
{
	Error error;
	Task *task =
	    lab_task(arena, "c6", conv, NULL, target, NULL, &error);
	if (!task)
		fail_msg("%s", error.text);
	return task;
}

/* Every candidate is one of the whole space, and found by its number. */
static void test_part(void **state)
{
	(void)state;
	Arena *arena = arena_new();
	Error error;
	Task *task = open_task(arena);
	Space *whole = space_new(
	    arena, task->program, &task->target->machine, &error);
	Candidate found;
	Refusal why;
	assert_in_range(task->all.n, 300, LAB_VECTORS);
	assert_true(space_size(task->space, LAB_VECTORS) >= task->all.n);
	for (int i = 0; i < task->all.n; i++) {
		Arena *scratch = arena_new();
		assert_int_equal(lab_number(task, &task->all.items[i]), i);
		if (i % 16 == 0) {
			const Trace *trace = space_trace(
			    scratch, task->space, &task->all.items[i]);
			assert_true(space_find(whole, trace, &found));
			assert_true(space_legal(whole, &found, &why));
		}
		arena_free(scratch);
	}
	arena_free(arena);
}

/* A neighbour in a part is a neighbour of the part. */
static void test_moves(void **state)
{
	(void)state;
	Arena *arena = arena_new();
	Task *task = open_task(arena);
	SearchSpace space = lab_space(task);
	Rng rng = rng_stream(1, 0, 0);
	Candidate c, next;
	assert_true(space.sample(task, &rng, &c));
	for (int i = 0; i < 2000; i++) {
		assert_true(space.mutate(task, &rng, &c, &next));
		assert_in_range(lab_number(task, &next), 0, task->all.n - 1);
		assert_int_not_equal(
		    lab_number(task, &next), lab_number(task, &c));
		c = next;
	}
	arena_free(arena);
}

/* How many decisions two candidates of one sketch do not share. */
static int apart(const Candidate *a, const Candidate *b)
{
	int n = 0;
	for (int p = 0; p < CANDIDATE_PARTS; p++)
		n += a->at[p] != b->at[p];
	return n;
}

/* One step leads to a neighbour of the part, each once; where nothing is normalized
 * it is one decision or two of a tile; each other sketch is there, and back. */
static void test_neighbours(void **state)
{
	(void)state;
	Arena *arena = arena_new();
	Task *task = open_task(arena);
	SearchSpace space = lab_space(task);
	Candidate near[64];
	int sketches = space_nsketches(task->space);
	for (int i = 0; i < task->all.n; i += 7) {
		const Candidate *c = &task->all.items[i];
		int n = space.neighbours(task, c, near, 64), close = 0;
		bool met[LAB_SKETCHES] = {false};
		assert_in_range(n, 4, 63);
		for (int k = 0; k < n; k++) {
			assert_in_range(
			    lab_number(task, &near[k]), 0, task->all.n - 1);
			assert_memory_not_equal(&near[k], c, sizeof *c);
			for (int m = 0; m < k; m++)
				assert_memory_not_equal(
				    &near[k], &near[m], sizeof *c);
			met[near[k].sketch] = true;
			close += near[k].sketch == c->sketch &&
			    apart(&near[k], c) <= 2;
		}
		assert_true(close >= 2);
		for (int k = 0; k < sketches; k++)
			assert_true(met[k]);
		assert_int_equal(space.neighbours(task, c, near, 3), 3);
	}
	arena_free(arena);
}

static void test_simulated(void **state)
{
	(void)state;
	Arena *arena = arena_new();
	Task *task = open_task(arena);
	for (int tenth = 6; tenth <= 9; tenth++) {
		lab_simulate(task, 7, tenth / 10.0, 0);
		double r = lab_analytic_correlation(task);
		assert_true(fabs(r - tenth / 10.0) < 0.01);
	}
	double *once = task->time_s;
	lab_simulate(task, 7, 0.9, 0);
	assert_memory_equal(
	    once, task->time_s, sizeof *once * (size_t)task->all.n);
	lab_simulate(task, 8, 0.9, 0);
	assert_memory_not_equal(
	    once, task->time_s, sizeof *once * (size_t)task->all.n);
	arena_free(arena);
}

enum { RUNS = 1000, TRIALS = 64 };

/* ln(best so far / best) after TRIALS of a shuffle. */
static double shuffled(const Task *task, uint64_t seed)
{
	Rng rng = rng_stream(seed, 6, 2);
	int *order = must_alloc(sizeof *order * (size_t)task->all.n);
	double best = INFINITY;
	for (int i = 0; i < task->all.n; i++)
		order[i] = i;
	for (int i = 0; i < TRIALS; i++) {
		int k = i + (int)rng_below(&rng, (uint64_t)(task->all.n - i));
		int held = order[k];
		order[k] = order[i];
		best = fmin(best, task->time_s[held]);
	}
	free(order);
	return log(best / task->best_s);
}

static void add(double x, double *mean, double *variance)
{
	*mean += x / RUNS;
	*variance += x * x / RUNS;
}

/* The means of both lie within what 95 % of such pairs differ by. */
static void test_random_is_a_shuffle(void **state)
{
	(void)state;
	Arena *arena = arena_new();
	Error error;
	Task *task = open_task(arena);
	GuideSettings settings = guide_defaults(1);
	double best_s[TRIALS], a = 0, b = 0, aa = 0, bb = 0;
	lab_simulate(task, 1, 0.75, 0);
	settings.search = "random";
	settings.learn = false;
	for (int i = 0; i < RUNS; i++) {
		settings.how.seed = (uint64_t)i;
		assert_int_equal(
		    lab_run(task, &settings, 32, TRIALS, best_s, &error), 0);
		add(log(best_s[TRIALS - 1] / task->best_s), &a, &aa);
		add(shuffled(task, (uint64_t)i), &b, &bb);
	}
	double band = 1.96 * sqrt((aa - a * a + bb - b * b) / RUNS);
	if (fabs(a - b) > band)
		fail_msg("random %.4f, shuffled %.4f, band %.4f", a, b, band);
	arena_free(arena);
}

/* A whole run without repetition ends with the best. */
static void test_exhausted(void **state)
{
	(void)state;
	Arena *arena = arena_new();
	Error error;
	Task *task = open_task(arena);
	GuideSettings settings = guide_defaults(3);
	int n = task->all.n + 10;
	double *best_s = NEW_N(arena, double, n);
	lab_simulate(task, 1, 0.75, 0);
	settings.search = "random";
	settings.learn = false;
	assert_int_equal(
	    lab_run(task, &settings, 100, n, best_s, &error), 0);
	assert_true(best_s[n - 1] == task->best_s);
	arena_free(arena);
}

/* --- what is shown, and what teaches ------------------------------------------- */

static double held(Task *task, const char *words)
{
	Arena *arena = arena_new();
	LabSetting s;
	Error error;
	double correlation;
	if (lab_setting(arena, words, &s, &error) ||
	    lab_held(&s, task, "none", 1, &correlation, &error))
		fail_msg("%s", error.text);
	arena_free(arena);
	return correlation;
}

/* Columns that say little teach little; names that none begins with, and tables that
 * there are not, are refused. */
static void test_shown(void **state)
{
	(void)state;
	Arena *arena = arena_new();
	Error error;
	Model *model;
	LabSetting s;
	Task *task = open_task(arena);
	lab_simulate(task, 1, 0.97, 0);
	assert_true(held(task, "all search=sa") > 0.7);
	assert_true(held(task, "config features=config") > 0.3);
	assert_true(held(task, "program features=program") < 0.3);
	assert_true(held(task, "mixed features=mixed") < 0.3);
	assert_int_not_equal(
	    lab_setting(arena, "x features=loop,luck", &s, &error), 0);
	assert_non_null(strstr(error.text, "features=loop,luck"));
	assert_int_equal(lab_setting(arena, "x from=none", &s, &error), 0);
	assert_int_not_equal(lab_teach(&s, "a/b.json", 1, &model, &error), 0);
	assert_non_null(strstr(error.text, "a/none.json"));
	arena_free(arena);
}

/* --- a model that knows nothing --------------------------------------------------- */

/* As lab_show's `mixed`, while *context. */
static void show_while(const void *context, Space *space,
    const Candidate *candidates, int n, float *rows)
{
	const bool *mixes = context;
	Arena *arena = arena_new();
	Showing mixed;
	assert_true(lab_show(arena, "mixed", &mixed));
	if (*mixes)
		mixed.rows(mixed.context, space, candidates, n, rows);
	else
		space_features(space, candidates, n, rows);
	arena_free(arena);
}

static void take_batch(Task *task, Guide *guide)
{
	enum { BATCH = 32 };
	Candidate batch[BATCH];
	Error error;
	assert_int_equal(guide_next(guide, BATCH, batch), BATCH);
	for (int i = 0; i < BATCH; i++)
		guide_tell(guide, &batch[i],
		    task->time_s[lab_number(task, &batch[i])]);
	assert_int_equal(guide_fit(guide, BATCH, &error), 0);
}

/* What a candidate is expected to take, is it what the analytic model says? */
static bool is_analytic(Task *task, const Guide *guide)
{
	bool all = true;
	for (int i = 0; i < 50 && all; i++) {
		double seconds;
		space_analytic(task->space, &task->all.items[i], 1, &seconds);
		all = guide_predict(guide, &task->all.items[i]) == seconds;
	}
	return all;
}

/* Twice worse than the analytic model it is set aside, once better it is back. */
static void test_set_aside(void **state)
{
	(void)state;
	enum { BATCHES_MOST = 12 };
	Arena *arena = arena_new();
	Task *task = open_task(arena);
	SearchSpace functions = lab_space(task);
	GuideSettings settings = guide_defaults(1);
	bool mixes = true;
	int batches = 0;
	settings.show = (Showing){show_while, &mixes};
	lab_simulate(task, 1, 0.9, 0);
	Guide *guide = guide_new(task->space, &functions, &settings);
	assert_true(is_analytic(task, guide)); /* there is no other */
	take_batch(task, guide);
	assert_false(is_analytic(task, guide));
	while (!is_analytic(task, guide) && batches++ < BATCHES_MOST)
		take_batch(task, guide);
	assert_in_range(batches, 2, 4);
	mixes = false;
	for (batches = 0; is_analytic(task, guide) && batches < BATCHES_MOST;
	     batches++)
		take_batch(task, guide);
	assert_in_range(batches, 1, BATCHES_MOST - 1);
	guide_free(guide);
	arena_free(arena);
}

/* --- tables ------------------------------------------------------------------- */

static char path[] = "/tmp/test_lab_XXXXXX";

static void edit(const char *from, const char *to)
{
	char command[512];
	snprintf(command, sizeof command, "sed -i 's/%s/%s/' %s", from, to,
	    path);
	assert_int_equal(system(command), 0);
}

static void check_refused(const char *expected)
{
	Arena *arena = arena_new();
	Error error;
	assert_null(lab_load(arena, path, &error));
	if (!strstr(error.text, expected))
		fail_msg("%s", error.text);
	arena_free(arena);
}

static void test_table(void **state)
{
	(void)state;
	Arena *arena = arena_new();
	Error error;
	Task *task = open_task(arena);
	int file = mkstemp(path);
	assert_true(file >= 0);
	close(file);
	check_refused(path);
	lab_simulate(task, 1, 0.75, 0);
	task->time_s[1] = INFINITY;
	assert_int_equal(
	    lab_save(task, "none", path, &error), 0);
	Task *again = lab_load(arena, path, &error);
	assert_non_null(again);
	assert_int_equal(again->all.n, task->all.n);
	assert_true(isinf(again->time_s[1]));
	for (int i = 0; i < task->all.n; i++)
		if (i != 1)
			assert_true(fabs(again->time_s[i] / task->time_s[i] -
					1) < 1e-3);
	edit("\"hash\":\".", "\"hash\":\"x");
	check_refused("the space has changed");
	edit("\"sketch\":0", "\"sketch\":1000");
	check_refused("the space has changed");
	edit("tunec_table", "table");
	edit("hash", "hush");
	check_refused("is no table");
	unlink(path);
	arena_free(arena);
}

/* --- many runs ----------------------------------------------------------------- */

/* In processes side by side each is what it is alone. */
static void test_runs(void **state)
{
	(void)state;
	enum { SEED_COUNT = 3, N = 40 };
	Arena *arena = arena_new();
	Error error;
	Task *task = open_task(arena);
	char *tables[] = {path, path};
	LabRuns runs = {.nsettings = 2,
	    .seeds = SEED_COUNT,
	    .trials = N,
	    .ntables = 2,
	    .tables = tables,
	    .machine = 3};
	double best_s[N];
	assert_int_equal(lab_setting(arena, "random search=random",
			     &runs.settings[0], &error),
	    0);
	assert_int_equal(lab_setting(arena,
			     "untaught search=sa model=none "
			     "first=analytic",
			     &runs.settings[1], &error),
	    0);
	lab_simulate(task, 1, 0.75, 0);
	assert_int_equal(lab_save(task, "none", path, &error), 0);
	assert_true(lab_runs(&runs));
	assert_int_equal(lab_setting_named(&runs, "untaught"), 1);
	assert_int_equal(lab_setting_named(&runs, "taught"), -1);
	lab_simulate(task, 3, 0.75, 0);
	for (int i = 0; i < 2 * SEED_COUNT; i++) {
		GuideSettings g = runs.settings[i % 2].guide;
		g.how.seed = g.model.seed = (uint64_t)(i / 2) + 1;
		assert_int_equal(lab_run(task, &g, runs.settings[i % 2].batch,
				     N, best_s, &error),
		    0);
		for (int k = 0; k < 2 * N; k++)
			assert_true(
			    lab_curve(&runs, i % 2, k / N, i / 2)[k % N] ==
			    (float)(task->best_s / best_s[k % N]));
	}
	tables[1] = "/nonexistent";
	assert_false(lab_runs(&runs));
	unlink(path);
	arena_free(arena);
}

static int count(const char *text, const char *what)
{
	int n = 0;
	while ((text = strstr(text, what))) {
		text++;
		n++;
	}
	return n;
}

/* A band and a curve for each, with its name; all of it above the foot. */
static void test_chart(void **state)
{
	(void)state;
	double y[2][100], low[100], high[100], x, at;
	char *text = NULL;
	size_t size;
	for (int i = 0; i < 100; i++) {
		low[i] = i ? 0.5 : 0;
		y[0][i] = 0.6 + i / 1000.0;
		y[1][i] = high[i] = 1;
	}
	ChartLine lines[2] = {
	    {"one", 100, y[0], low, high}, {"two", 100, y[1], high, high}};
	FILE *out = open_memstream(&text, &size);
	lab_chart(out, "a title", lines, 2);
	fclose(out);
	assert_int_equal(count(text, "<polyline"), 2);
	assert_int_equal(count(text, "<polygon"), 2);
	assert_int_equal(count(text, ">one<") + count(text, ">two<"), 2);
	assert_int_equal(count(text, ">a title<"), 1);
	assert_int_equal(count(text, "nan") + count(text, "inf"), 0);
	const char *p = strstr(text, "<polyline");
	p = strstr(p, "points=\"") + strlen("points=\"");
	for (int n; sscanf(p, "%lf,%lf %n", &x, &at, &n) == 2; p += n)
		assert_true(x >= 0 && x <= 640 && at >= 0 && at <= 400);
	assert_int_equal(*p, '"');
	free(text);
}

int main(void)
{
	const char *build = getenv("BUILD");
	setenv("TUNEC_MODULES", build ? build : "build", 0);
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_part),
	    cmocka_unit_test(test_moves),
	    cmocka_unit_test(test_neighbours),
	    cmocka_unit_test(test_simulated),
	    cmocka_unit_test(test_random_is_a_shuffle),
	    cmocka_unit_test(test_exhausted),
	    cmocka_unit_test(test_shown),
	    cmocka_unit_test(test_set_aside),
	    cmocka_unit_test(test_table),
	    cmocka_unit_test(test_runs),
	    cmocka_unit_test(test_chart),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
