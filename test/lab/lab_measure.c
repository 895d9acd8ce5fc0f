/* A table is made: each candidate compiled beside others, run alone, checked;
 * equal objects once.  The fastest are then measured again side by side, so that
 * the best of the table is not the luckiest. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test/lab/lab.h"
#include "tuner/tune/tune.h"

enum { FINALISTS = MEASURE_WIDTH };

typedef struct {
	Task *task;
	Measurer *measurer;
	double *time_s;
	char (*object)[65]; /* by candidate */
	double best_s;
} Lab;

static Status expect(Lab *lab, Error *error)
{
	ReferenceWish wish = {.plain_allowed_s = 10};
	Reference reference;
	const Task *t = lab->task;
	FORWARD_IF_ERROR(tune_reference(
	    t->arena, t->program, t->target, &wish, error));
	FORWARD_IF_ERROR(
	    measure_reference(lab->measurer, &wish, &reference, error));
	return reference.ready
	    ? STATUS_OK
	    : error_set(error, STATUS_CRASH, "no expected outputs: %.400s",
		  reference.by.error);
}

/* The candidate before this one whose object it is, too; -1. */
static int same_object(const Lab *lab, int number)
{
	for (int i = 0; i < number; i++)
		if (lab->object[number][0] &&
		    !strcmp(lab->object[i], lab->object[number]))
			return i;
	return -1;
}

static Status run_one(
    Lab *lab, int waiting, int number, Measurement *m, Error *error)
{
	memcpy(lab->object[number], m->object, sizeof m->object);
	int same = same_object(lab, number);
	if (same >= 0) {
		lab->time_s[number] = lab->time_s[same];
		return STATUS_OK;
	}
	if (m->outcome == OUTCOME_OK)
		FORWARD_IF_ERROR(measure_run(
		    lab->measurer, waiting, lab->best_s, m, error));
	lab->time_s[number] =
	    m->outcome == OUTCOME_OK && m->time_s > 0 ? m->time_s : INFINITY;
	if (lab->time_s[number] < lab->best_s || !lab->best_s)
		lab->best_s = lab->time_s[number];
	return STATUS_OK;
}

static Status run_some(Lab *lab, int first, int n, Error *error)
{
	const Trace *traces[MEASURE_WIDTH];
	Measurement m[MEASURE_WIDTH];
	Arena *scratch = arena_new();
	for (int i = 0; i < n; i++)
		traces[i] = space_trace(scratch, lab->task->space,
		    &lab->task->all.items[first + i]);
	Status status =
	    measure_compile(lab->measurer, traces, n, m, error);
	for (int i = 0; i < n && !status; i++)
		status = run_one(lab, i, first + i, &m[i], error);
	arena_free(scratch);
	return status;
}

static Status run_all(
    Lab *lab, void (*say)(const Task *task, int done), Error *error)
{
	int n = lab->task->all.n, width = measure_width(lab->measurer);
	for (int i = 0; i < n; i += width) {
		FORWARD_IF_ERROR(run_some(
		    lab, i, n - i < width ? n - i : width, error));
		if (say)
			say(lab->task, i);
	}
	return STATUS_OK;
}

/* The FINALISTS fastest of different objects. */
static int fastest(const Lab *lab, int *out)
{
	int n = 0;
	for (int i = 0; i < lab->task->all.n; i++) {
		int at = n;
		if (!isfinite(lab->time_s[i]) || same_object(lab, i) >= 0)
			continue;
		while (at && lab->time_s[out[at - 1]] > lab->time_s[i])
			at--;
		if (at == FINALISTS)
			continue;
		n += n < FINALISTS;
		for (int k = n - 1; k > at; k--)
			out[k] = out[k - 1];
		out[at] = i;
	}
	return n;
}

static void spread_time(Lab *lab, int number, double time_s)
{
	for (int i = 0; i < lab->task->all.n; i++)
		if (!strcmp(lab->object[i], lab->object[number]))
			lab->time_s[i] = time_s;
}

static Status run_finals(Lab *lab, Error *error)
{
	int at[FINALISTS], n = fastest(lab, at);
	const Trace *traces[FINALISTS];
	Measurement m[FINALISTS];
	for (int i = 0; i < n; i++)
		traces[i] = space_trace(lab->task->arena, lab->task->space,
		    &lab->task->all.items[at[i]]);
	if (n)
		FORWARD_IF_ERROR(measure_final(lab->measurer, traces, n,
		    n * MEASURE_FINAL_S, m, error));
	for (int i = 0; i < n; i++)
		if (m[i].outcome == OUTCOME_OK && m[i].time_s > 0)
			spread_time(lab, at[i], m[i].time_s);
	return STATUS_OK;
}

Status lab_measure(Task *task, void (*say)(const Task *task, int done),
    Error *error)
{
	MeasureOptions options = {.pin = true,
	    .build_limit_s = 10,
	    .run_limit_s = 10,
	    .seed = 1};
	Lab lab = {.task = task,
	    .time_s = NEW_N(task->arena, double, task->all.n),
	    .object = arena_alloc(
		task->arena, sizeof *lab.object * (size_t)task->all.n)};
	Status status = measure_open(
	    task->program, task->target, &options, &lab.measurer, error);
	if (!status)
		status = expect(&lab, error);
	if (!status)
		status = run_all(&lab, say, error);
	if (!status)
		status = run_finals(&lab, error);
	measure_close(lab.measurer);
	if (!status)
		lab_set_times(task, lab.time_s);
	return status;
}
