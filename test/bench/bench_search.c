/* Searches side by side on tasks that are known whole (test/lab).
 *
 *     bench_search make NAME SPEC GROUP TARGET MACHINE TABLE
 *
 * closes a part of an operator's space (GROUP -: of the whole), measures each
 * candidate of it here and writes the table.
 *
 *     bench_search close NAME SPEC GROUP TARGET
 *
 * says how large such a part is. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/lab/lab.h"
#include "tuner/measure/measure.h"

static int fail(const Error *error)
{
	fprintf(stderr, "bench_search: %s\n", error->text);
	return 1;
}

static Task *task_of(Arena *arena, char **words, Error *error)
{
	const char *group = strcmp(words[2], "-") ? words[2] : NULL;
	return lab_task(
	    arena, words[0], words[1], group, words[3], NULL, error);
}

static void say_closed(Task *task)
{
	int64_t vectors = space_size(task->space, INT64_MAX);
	printf("%-12s %d sketches, %lld vectors, %d candidates\n", task->name,
	    task->closed.n, (long long)vectors, task->n);
	lab_simulate(task, 1, 0.75);
	printf("%-12s rank correlation %.3f with a simulated machine\n", "",
	    lab_analytic_correlation(task));
}

static void say_done(const Task *task, int done)
{
	static double start;
	if (!isatty(2))
		return;
	if (!done)
		start = measure_now();
	double s = measure_now() - start;
	fprintf(stderr, "%s: %d of %d, %.1f a second   \r", task->name, done,
	    task->n, s > 0 ? done / s : 0);
}

static int make(Arena *arena, char **words)
{
	Error error;
	const char *group = strcmp(words[2], "-") ? words[2] : NULL;
	Task *task = task_of(arena, words, &error);
	if (!task || lab_measure(task, say_done, &error) ||
	    lab_save(task, words[1], group, words[4], words[5], &error))
		return fail(&error);
	printf("%-12s %d candidates, best %.2f us, rank correlation of the "
	       "analytic model %.3f\n",
	    task->name, task->n, 1e6 * task->best_s,
	    lab_analytic_correlation(task));
	return 0;
}

int main(int argc, char **argv)
{
	Arena *arena = arena_new();
	Error error;
	int code = 2;
	if (argc == 6 && !strcmp(argv[1], "close")) {
		Task *task = task_of(arena, argv + 2, &error);
		code = task ? 0 : fail(&error);
		if (task)
			say_closed(task);
	} else if (argc == 8 && !strcmp(argv[1], "make")) {
		code = make(arena, argv + 2);
	} else {
		fputs("bench_search make|close ...\n", stderr);
	}
	arena_free(arena);
	return code;
}
