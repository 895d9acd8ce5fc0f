/* A run of tuning on the simulated machine: what one step left is taken up by the
 * next, nothing that was proposed is lost between them, and a long one does not
 * need much memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/common_program.h"
#include "tuner/tune/tune_internal.h"
#include "tuner/tuner.h"

enum { N = 24, TRIALS = 300, MANY = 600 };

typedef struct {
	Arena *arena;
	int trials;
	int n;
	char *traces[2 * MANY]; /* of search trials, in their order */
	int stop_at; /* trials, after which a signal comes; 0: never */
	volatile int stopped;
	/* Bytes in use after half of the trials, and after all. */
	size_t early, late;
} Run;

static bool keep_trial(Line *line, void *context)
{
	Run *r = context;
	if (line->kind != LINE_TRIAL || line->final)
		return true;
	char *text =
	    json_dumps(json_object_get(line->json, "trace"), JSON_COMPACT);
	assert_in_range(r->n, 0, 2 * MANY - 1);
	r->traces[r->n++] = arena_strdup(r->arena, text);
	free(text);
	return true;
}

static void on_progress(const TuneProgress *progress, void *context)
{
	Run *r = context;
	if (progress->trials == r->stop_at)
		r->stopped = 1;
	if (progress->trials == r->trials / 2)
		r->early = mallinfo2().uordblks;
	if (progress->trials == r->trials)
		r->late = mallinfo2().uordblks;
}

static void check(Status status, const Error *error)
{
	if (status)
		fail_msg("%s", error->text);
}

/* In steps that a signal ends after `stop_at` trials each; 0: in one. */
static void run(Run *r, int trials, int stop_at)
{
	char path[] = "/tmp/test_tune_XXXXXX.jsonl";
	Error error = {0};
	Program *program = program_matmul(r->arena, N, N, N);
	program_complete(r->arena, program);
	canonical_text(r->arena, program);
	Target *target = target_parse(
	    r->arena, "llvm -mcpu=x86-64-v3 -threads=1", &error);
	TuneOptions options = {.trials = trials,
	    .time_s = -1,
	    .seed = 3,
	    .guide = guide_defaults(3),
	    .measure = {.machine = MACHINE_SIMULATED, .seed = 3},
	    .interrupted = &r->stopped};
	Measurer *measurer;
	Store *store;
	Tuning *tuning;
	TuneResult result;
	TuneShare share = {trials, -1, INFINITY, 1};
	int64_t tried;
	r->trials = trials;
	close(mkstemps(path, 6));
	check(measure_open(
		  program, target, &options.measure, &measurer, &error), &error);
	check(store_open(path, STORE_WRITE, &store, &error), &error);
	check(tune_open(program, target, store, measurer, &options, on_progress,
		  r, &tuning, &error), &error);
	check(tune_first(tuning, INFINITY, false, &error), &error);
	do {
		r->stopped = 0;
		r->stop_at = stop_at ? (int)tune_trials(tuning) + stop_at : 0;
		check(tune_visit(tuning, &share, &tried, &error), &error);
	} while (tune_trials(tuning) < trials);
	check(tune_end(tuning, &share, false, &result, &error), &error);
	tune_free(tuning);
	check(store_each(store, NULL, keep_trial, r, NULL, &error), &error);
	store_close(store);
	measure_close(measurer);
	unlink(path);
}

/* Whenever it is stopped, it goes on with what it had proposed: a candidate that
 * was drawn but not measured is neither lost nor taken for visited, nor is one that
 * was found while others compiled. */
static void test_goes_on(void **state)
{
	(void)state;
	Run whole = {.arena = arena_new()};
	run(&whole, TRIALS, 0);
	assert_int_equal(whole.n, TRIALS);
	for (int stop_at = 1; stop_at <= 13; stop_at += 3) {
		Run steps = {.arena = arena_new()};
		run(&steps, TRIALS, stop_at);
		assert_int_equal(steps.n, TRIALS);
		for (int i = 0; i < TRIALS; i++)
			assert_string_equal(steps.traces[i], whole.traces[i]);
		arena_free(steps.arena);
	}
	arena_free(whole.arena);
}

/* What stays of a trial is less than its record in a store, which has 4 kB. */
static void test_memory(void **state)
{
	(void)state;
	Run r = {.arena = arena_new()};
	run(&r, MANY, 0);
	assert_int_equal(r.n, MANY);
	assert_true(r.late < r.early + (MANY / 2) * (size_t)4000);
	arena_free(r.arena);
}

/* As much code as the least of what is as fast as the best, and a quarter more. */
static void test_code_most(void **state)
{
	(void)state;
	const CodeSize sizes[] = {
	    {1, 2000}, {0.995, 1600}, {1.5, 900}, {0.9, 4000}, {0.905, 500}};
	assert_int_equal(propose_code_most(sizes, 0), 1000);
	assert_int_equal(propose_code_most(sizes, 1), 2500);
	assert_int_equal(propose_code_most(sizes, 2), 2000);
	assert_int_equal(propose_code_most(sizes, 3), 2000);
	assert_int_equal(propose_code_most(sizes, 4), 5000);
	assert_int_equal(propose_code_most(sizes, 5), 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_code_most),
	    cmocka_unit_test(test_goes_on),
	    cmocka_unit_test(test_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
