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
 *     bench_search run SEEDS TRIALS SETTINGS TABLE...
 *
 * runs each setting of a file on each table, the first of them the one that others
 * are compared with; SIMULATE=SEED runs them on a simulated machine instead of what
 * was measured.  Tasks run side by side; what is printed does not depend on that. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
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
	const char *group = strcmp(words[2], "-") ? words[2] : NULL;
	const char *simulated = getenv("SIMULATE");
	Task *task = task_of(arena, words, &error);
	if (task && simulated)
		lab_simulate(task, strtoull(simulated, NULL, 10), 0.75, 0);
	if (!task || (!simulated && lab_measure(task, say_done, &error)) ||
	    lab_save(task, words[1], group, words[4], words[5], &error))
		return fail(&error);
	printf("%-12s %d candidates, best %.2f us, rank correlation of the "
	       "analytic model %.3f\n",
	    task->name, task->all.n, 1e6 * task->best_s,
	    lab_analytic_correlation(task));
	return 0;
}

/* --- runs ----------------------------------------------------------------------- */

enum { MOST_SETTINGS = 64, MOST_TABLES = 64, MARKS = 4 };
static const int marks[MARKS] = {16, 32, 64, 128};

typedef struct {
	LabSetting settings[MOST_SETTINGS];
	int nsettings, seeds, trials, ntables;
	char **tables;
	float *curves; /* by setting, table, seed, trial; shared by processes */
	char (*names)[32];
} Runs;

static float *curve_of(const Runs *r, int setting, int table, int seed)
{
	size_t row = ((size_t)setting * (size_t)r->ntables + (size_t)table) *
		(size_t)r->seeds + (size_t)seed;
	return r->curves + row * (size_t)r->trials;
}

static Status read_settings(
    Arena *arena, const char *path, Runs *r, Error *error)
{
	char line[512];
	Status status = STATUS_OK;
	FILE *in = fopen(path, "r");
	if (!in)
		return error_set(
		    error, STATUS_INPUT, "%s cannot be read", path);
	while (!status && r->nsettings < MOST_SETTINGS &&
	       fgets(line, sizeof line, in))
		if (*line != '#' && *line != '\n')
			status = lab_setting(arena, line,
			    &r->settings[r->nsettings++], error);
	fclose(in);
	return status;
}

static Status run_one(const Runs *r, Task *task, int table, int setting,
    int seed, Error *error)
{
	GuideSettings guide = r->settings[setting].guide;
	float *curve = curve_of(r, setting, table, seed);
	double *best_s = must_alloc(sizeof *best_s * (size_t)r->trials);
	guide.how.seed = guide.model.seed = (uint64_t)seed + 1;
	Status status = lab_run(task, &guide, r->settings[setting].batch,
	    r->trials, best_s, error);
	for (int i = 0; i < r->trials && !status; i++)
		curve[i] = (float)(task->best_s / best_s[i]);
	free(best_s);
	return status;
}

static Status run_table(const Runs *r, int table, Error *error)
{
	Arena *arena = arena_new();
	const char *simulated = getenv("SIMULATE");
	Status status = STATUS_OK;
	Task *task = lab_load(arena, r->tables[table], error);
	if (!task)
		return error->status;
	snprintf(r->names[table], sizeof *r->names, "%s", task->name);
	if (simulated)
		lab_simulate(task, strtoull(simulated, NULL, 10), 0.75, 0);
	for (int i = 0; i < r->nsettings; i++)
		for (int k = 0; k < r->seeds && !status; k++)
			status = run_one(r, task, table, i, k, error);
	arena_free(arena);
	return status;
}

/* A process for each CPU, the next table to each that is free. */
static int run_tables(const Runs *r)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int running = 0, failed = 0, code;
	for (int i = 0; i < r->ntables || running;) {
		if (i < r->ntables && running < cpus) {
			running++;
			if (!fork()) {
				Error error;
				_exit(run_table(r, i, &error) ? fail(&error)
							      : 0);
			}
			i++;
			continue;
		}
		wait(&code);
		failed |= code;
		running--;
	}
	return failed;
}

/* --- what they come to --------------------------------------------------------------- */

static double median_trials(const Runs *r, int setting, int table)
{
	double n[256];
	for (int k = 0; k < r->seeds; k++)
		n[k] = lab_trials_to(
		    curve_of(r, setting, table, k), r->trials, 0.95);
	return lab_quantile(n, r->seeds, 0.5);
}

static double score(const Runs *r, int setting, int table)
{
	const float *own[256], *base[256];
	int n = (int)median_trials(r, 0, table);
	for (int k = 0; k < r->seeds; k++) {
		own[k] = curve_of(r, setting, table, k);
		base[k] = curve_of(r, 0, table, k);
	}
	return lab_score(own, base, r->seeds, n < r->trials ? n : r->trials);
}

static void print_setting(const Runs *r, int setting)
{
	int n = r->ntables * r->seeds;
	double *share = must_alloc(sizeof *share * (size_t)n);
	double ratio[MOST_TABLES], p = 0;
	for (int t = 0; t < r->ntables; t++) {
		ratio[t] = median_trials(r, setting, t) /
		    median_trials(r, 0, t);
		p += score(r, setting, t) / r->ntables;
	}
	printf("| %s | %.2f | %.2f | %.2f |", r->settings[setting].name, p,
	    lab_quantile(ratio, r->ntables, 0.5),
	    lab_quantile(ratio, r->ntables, 1));
	for (int m = 0; m < MARKS && marks[m] <= r->trials; m++) {
		for (int t = 0; t < r->ntables; t++)
			for (int k = 0; k < r->seeds; k++)
				share[t * r->seeds + k] = curve_of(
				    r, setting, t, k)[marks[m] - 1];
		printf(" %.3f / %.3f / %.3f |", lab_geometric_mean(share, n),
		    lab_quantile(share, n, 0.1), lab_quantile(share, n, 0));
	}
	putchar('\n');
	free(share);
}

static void print_all(const Runs *r)
{
	printf("| setting | score P | trials to 95 %%, of %s's: median | most |",
	    r->settings[0].name);
	for (int m = 0; m < MARKS && marks[m] <= r->trials; m++)
		printf(" %d trials |", marks[m]);
	printf("\n| --- | --- | --- | --- |");
	for (int m = 0; m < MARKS && marks[m] <= r->trials; m++)
		printf(" --- |");
	putchar('\n');
	for (int i = 0; i < r->nsettings; i++)
		print_setting(r, i);
	printf("\n| trials to 95 %% |");
	for (int i = 0; i < r->nsettings; i++)
		printf(" %s |", r->settings[i].name);
	printf("\n| --- |");
	for (int i = 0; i < r->nsettings; i++)
		printf(" --- |");
	for (int t = 0; t < r->ntables; t++) {
		printf("\n| %s |", r->names[t]);
		for (int i = 0; i < r->nsettings; i++)
			printf(" %.0f |", median_trials(r, i, t));
	}
	putchar('\n');
}

static int run(Arena *arena, int n, char **words)
{
	Error error;
	Runs *r = NEW(arena, Runs);
	*r = (Runs){.seeds = atoi(words[0]),
	    .trials = atoi(words[1]),
	    .tables = words + 3,
	    .ntables = n - 3};
	if (r->seeds < 1 || r->seeds > 256 || r->trials < 1 ||
	    r->ntables > MOST_TABLES)
		return 2;
	if (read_settings(arena, words[2], r, &error))
		return fail(&error);
	size_t curves = sizeof *r->curves * (size_t)(r->nsettings *
		r->ntables * r->seeds * r->trials);
	size_t names = sizeof *r->names * (size_t)r->ntables;
	char *shared = mmap(NULL, curves + names, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 1;
	r->curves = (float *)(void *)shared;
	r->names = (char(*)[32])(shared + curves);
	if (run_tables(r))
		return 1;
	print_all(r);
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
	} else if (argc >= 6 && !strcmp(argv[1], "run")) {
		code = run(arena, argc - 2, argv + 2);
	} else {
		fputs("bench_search make|close|run ...\n", stderr);
	}
	arena_free(arena);
	return code;
}
