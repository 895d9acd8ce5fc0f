/* Searches side by side on tasks that are known whole (test/lab).
 *
 *     bench_search make NAME SPEC GROUP TARGET MACHINE TABLE
 *
 * closes a part of an operator's space (GROUP -: of the whole), measures each
 * candidate of it here (SIMULATE=SEED: by a simulated machine) and writes the table.
 *
 *     bench_search close NAME SPEC GROUP TARGET
 *
 * says how large such a part is.
 *
 *     bench_search rules SPEC TARGET
 *
 * measures a part of each sketch: what steps are worth.
 *
 *     bench_search run SEEDS TRIALS SETTINGS FOLDER TABLE... [by TABLE...]
 *
 * runs each setting of a file on each table, the first of them the one that others
 * are compared with; SIMULATE=SEED runs them on a simulated machine instead of what
 * was measured.  Tables are printed; FOLDER/tasks.txt has a line for each setting and
 * task, FOLDER/NAME.svg are the curves of test/lab/charts.txt.  by: the logs of these
 * tables are known where a setting says so.  KEPT=FOLDER has the curves of runs of
 * before, so that a run that was cut off goes on.
 *
 *     bench_search held SEEDS SETTINGS TABLE...
 *
 * prints of each setting the rank correlation of what its model says of candidates
 * that it was not taught with their times. */
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
	    task->closed.n, (long long)vectors, task->all.n);
	lab_simulate(task, 1, 0.75, 0);
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
	    task->all.n, s > 0 ? done / s : 0);
}

static int make(Arena *arena, char **words)
{
	Error error;
	const char *simulated = getenv("SIMULATE");
	Task *task = task_of(arena, words, &error);
	if (task && simulated)
		lab_simulate(task, strtoull(simulated, NULL, 10), 0.75, 0);
	if (!task || (!simulated && lab_measure(task, say_done, &error)) ||
	    lab_save(task, words[4], words[5], &error))
		return fail(&error);
	printf("%-12s %d candidates, best %.2f us, rank correlation of the "
	       "analytic model %.3f\n",
	    task->name, task->all.n, 1e6 * task->best_s,
	    lab_analytic_correlation(task));
	return 0;
}

/* --- runs ----------------------------------------------------------------------- */

static Status read_settings(
    Arena *arena, const char *path, LabRuns *r, Error *error)
{
	char line[512];
	Status status = STATUS_OK;
	FILE *in = fopen(path, "r");
	if (!in)
		return error_set(
		    error, STATUS_INPUT, "%s cannot be read", path);
	while (!status && r->nsettings < LAB_SETTINGS &&
	    fgets(line, sizeof line, in))
		if (*line != '#' && *line != '\n')
			status = lab_setting(arena, line,
			    &r->settings[r->nsettings++], error);
	fclose(in);
	return status;
}

/* FOLDER/tasks.txt and curves. */
static int write_files(const LabRuns *r, const char *folder)
{
	char path[512];
	snprintf(path, sizeof path, "%s/tasks.txt", folder);
	FILE *lines = fopen(path, "w"),
	     *charts = fopen("test/lab/charts.txt", "r");
	if (!lines || !charts)
		return 1;
	lab_report_lines(r, lines);
	lab_charts(r, charts, folder);
	fclose(charts);
	return fclose(lines) != 0;
}

static int run(Arena *arena, bool held, int n, char **words)
{
	Error error;
	const char *simulated = getenv("SIMULATE");
	int first = held ? 2 : 4;
	LabRuns *r = NEW(arena, LabRuns);
	*r = (LabRuns){.seeds = atoi(words[0]),
	    .trials = held ? 1 : atoi(words[1]),
	    .held = held,
	    .machine = simulated ? strtoull(simulated, NULL, 10) : 0,
	    .kept = held ? NULL : getenv("KEPT"),
	    .tables = words + first};
	while (r->ntables < n - first && strcmp(r->tables[r->ntables], "by"))
		r->ntables++;
	r->teachers = r->tables + r->ntables + 1;
	r->nteachers = r->ntables < n - first ? n - first - 1 - r->ntables : 0;
	if (r->seeds < 1 || r->seeds > LAB_SEEDS || r->trials < 1 ||
	    !r->ntables || r->ntables > LAB_TABLES)
		return 2;
	if (read_settings(arena, words[2 - held], r, &error))
		return fail(&error);
	if (!lab_runs(r))
		return 1;
	if (held) {
		lab_report_held(r);
		return 0;
	}
	lab_report(r);
	return write_files(r, words[3]);
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
	} else if (argc == 4 && !strcmp(argv[1], "rules")) {
		code = lab_rules(arena, argv[2], argv[3], &error) ? fail(&error)
								  : 0;
	} else if (argc >= 7 && !strcmp(argv[1], "run")) {
		code = run(arena, false, argc - 2, argv + 2);
	} else if (argc >= 5 && !strcmp(argv[1], "held")) {
		code = run(arena, true, argc - 2, argv + 2);
	} else {
		fputs("bench_search make|close|rules|run|held ...\n", stderr);
	}
	arena_free(arena);
	return code;
}
