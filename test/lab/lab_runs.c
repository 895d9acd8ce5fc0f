/* Searches side by side: each setting on each table with each seed.  A table and a
 * seed are a process, as many at once as there are CPUs; what comes out does not
 * depend on that. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/lab/lab.h"

float *lab_curve(const LabRuns *r, int setting, int table, int seed)
{
	size_t row = ((size_t)setting * (size_t)r->ntables + (size_t)table) *
		(size_t)r->seeds +
	    (size_t)seed;
	return r->curves + row * (size_t)r->trials;
}

int lab_setting_named(const LabRuns *r, const char *name)
{
	for (int i = 0; i < r->nsettings; i++)
		if (!strcmp(r->settings[i].name, name))
			return i;
	return -1;
}

/* --- curves are kept -------------------------------------------------------------- */

static void path_of(
    const LabRuns *r, int table, int setting, int seed, char *path, size_t size)
{
	snprintf(path, size, "%s/%s.%016llx.%d.%d", r->kept, r->names[table],
	    (unsigned long long)r->settings[setting].hash, r->trials, seed);
}

static bool take_kept(const LabRuns *r, const char *path, float *curve)
{
	size_t n = (size_t)r->trials;
	FILE *in = r->kept ? fopen(path, "rb") : NULL;
	bool whole = in && fread(curve, sizeof *curve, n, in) == n;
	if (in)
		fclose(in);
	return whole;
}

/* Whole or not at all: a run may be cut off. */
static void keep(const LabRuns *r, const char *path, const float *curve)
{
	char now[600];
	size_t n = (size_t)r->trials;
	snprintf(now, sizeof now, "%s.now", path);
	FILE *out = r->kept ? fopen(now, "wb") : NULL;
	if (out && fwrite(curve, sizeof *curve, n, out) == n && !fclose(out))
		rename(now, path);
}

/* --- runs --------------------------------------------------------------------------- */

/* What is known before the first trial. */
typedef struct {
	Transfer *logs;
	Model *global;
} Known;

static Status hold_one(const LabRuns *r, Task *task, int table, int setting,
    int seed, Error *error)
{
	double correlation;
	FORWARD_IF_ERROR(lab_held(&r->settings[setting], task,
	    r->tables[table], (uint64_t)seed + 1, &correlation, error));
	*lab_curve(r, setting, table, seed) = (float)correlation;
	return STATUS_OK;
}

static Status run_one(const LabRuns *r, Task *task, const Known *known,
    int table, int setting, int seed, Error *error)
{
	GuideSettings guide = r->settings[setting].guide;
	float *curve = lab_curve(r, setting, table, seed);
	char path[512];
	Model *taught;
	path_of(r, table, setting, seed, path, sizeof path);
	if (take_kept(r, path, curve))
		return STATUS_OK;
	guide.how.seed = guide.model.seed = (uint64_t)seed + 1;
	FORWARD_IF_ERROR(lab_teach(&r->settings[setting], r->tables[table],
	    guide.model.seed, &taught, error));
	double *best_s = must_alloc(sizeof *best_s * (size_t)r->trials);
	guide.model.global = taught;
	if (r->settings[setting].logs)
		lab_begin_with(known->logs, known->global, task, &guide);
	Status status = lab_run(
	    task, &guide, r->settings[setting].batch, r->trials, best_s, error);
	for (int i = 0; i < r->trials && !status; i++)
		curve[i] = (float)(task->best_s / best_s[i]);
	free(best_s);
	model_free(taught);
	if (!status)
		keep(r, path, curve);
	return status;
}

static Status run_settings(
    const LabRuns *r, Task *task, int table, int seed, Error *error)
{
	Known known = {NULL, NULL};
	Status status = STATUS_OK;
	if (r->nteachers)
		status = lab_logs(task->arena, r->teachers, r->nteachers,
		    r->machine, (uint64_t)(seed + 1) * LAB_TABLES, task,
		    &known.logs, &known.global, error);
	for (int i = 0; i < r->nsettings && !status; i++)
		status = r->held
		    ? hold_one(r, task, table, i, seed, error)
		    : run_one(r, task, &known, table, i, seed, error);
	model_free(known.global);
	transfer_free(known.logs);
	return status;
}

static Status run_table(const LabRuns *r, int table, int seed, Error *error)
{
	Arena *arena = arena_new();
	Task *task = lab_load(arena, r->tables[table], error);
	Status status = task ? STATUS_OK : error->status;
	if (task) {
		snprintf(r->names[table], sizeof *r->names, "%s", task->name);
		if (r->machine)
			lab_simulate(task, r->machine, 0.75, 0);
		status = run_settings(r, task, table, seed, error);
	}
	arena_free(arena);
	return status;
}

static int run_job(const LabRuns *r, int job)
{
	Error error;
	if (!run_table(r, job / r->seeds, job % r->seeds, &error))
		return 0;
	fprintf(stderr, "%s: %s\n", r->tables[job / r->seeds], error.text);
	return 1;
}

static bool run_jobs(const LabRuns *r)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int running = 0, failed = 0, code, jobs = r->ntables * r->seeds;
	for (int i = 0; i < jobs || running;) {
		if (i < jobs && running < cpus) {
			running++;
			if (!fork())
				_exit(run_job(r, i));
			i++;
			continue;
		}
		wait(&code);
		failed |= code;
		running--;
	}
	return !failed;
}

bool lab_runs(LabRuns *r)
{
	size_t curves = sizeof *r->curves *
	    (size_t)(r->nsettings * r->ntables * r->seeds * r->trials);
	size_t names = sizeof *r->names * (size_t)r->ntables;
	char *shared = mmap(NULL, curves + names, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return false;
	r->curves = (float *)(void *)shared;
	r->names = (char(*)[32])(shared + curves);
	return run_jobs(r);
}
