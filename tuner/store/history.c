/* What a store knows, added up line by line.
 *
 * A run's time is what its mark at the end says; until then, or if it was
 * killed, what its last trial says.  Lines of the first version, whose trials
 * do not say it, have only their clock. */
#include "tuner/store/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds_of(const char *at) /* "2026-01-31T12:34:56.789Z" */
{
	struct tm tm = {0};
	double fraction = 0;
	const char *rest = strptime(at, "%Y-%m-%dT%H:%M:%S", &tm);
	if (rest && *rest == '.')
		fraction = atof(rest);
	return (double)timegm(&tm) + fraction;
}

/* The newest runs are asked for most. */
static HistoryRun *run_of(History *h, const char *id)
{
	for (int i = h->runs.n - 1; i >= 0; i--)
		if (!strcmp(h->runs.at[i].id, id))
			return &h->runs.at[i];
	return NULL;
}

static void set_spent(History *h, HistoryRun *run, double spent_s)
{
	if (run->own || !(spent_s >= 0))
		return;
	h->spent_s += spent_s - run->spent_s;
	run->spent_s = spent_s;
}

/* Since its start by the clock, as far as that went forward. */
static double clock_s(const HistoryRun *run, const char *at)
{
	return fmax(seconds_of(at) - run->start_s, run->spent_s);
}

static void read_start(History *h, const Line *line)
{
	int64_t counter =
	    json_integer_value(json_object_get(line->json, "counter"));
	HistoryRun run = {.own = !strcmp(line->id, h->own),
	    .start_s = seconds_of(line->at)};
	memcpy(run.id, line->id, sizeof run.id);
	if (run.own)
		h->before = h->runs.n;
	if (counter > h->counter)
		h->counter = counter;
	vec_push(h->arena, &h->runs, run);
}

static void read_end(History *h, const Line *line)
{
	const char *space =
	    json_string_value(json_object_get(line->json, "space"));
	bool exhausted =
	    json_is_true(json_object_get(line->json, "exhausted"));
	const json_t *limit = json_object_get(line->json, "limit");
	const char *kind = json_string_value(json_object_get(limit, "kind"));
	HistoryRun *run = run_of(h, line->run);
	if (kind && strlen(kind) < sizeof h->bound_kind) {
		strcpy(h->bound_kind, kind);
		h->bound_s = json_number(limit, "bound_s", 0);
	}
	if (exhausted && space && strlen(space) < sizeof h->exhausted)
		strcpy(h->exhausted, space);
	if (!run)
		return;
	double spent_s = json_number(line->json, "spent_s", NAN);
	if (isnan(spent_s))
		spent_s = json_number(line->json, "elapsed_s", NAN);
	set_spent(h, run, isnan(spent_s) ? clock_s(run, line->at) : spent_s);
}

static void read_trial(History *h, const Line *line)
{
	HistoryRun *run = run_of(h, line->run);
	if (run && run->own)
		return;
	if (run) {
		double s = json_number(
		    json_object_get(line->json, "by"), "elapsed_s", NAN);
		set_spent(h, run, isnan(s) ? clock_s(run, line->at) : s);
	}
	if (line->final)
		return;
	h->trials++;
	if (h->trial)
		h->trial(line, h->context);
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool read_line(Line *line, void *context)
{
	History *h = context;
	if (strcmp(line->target, h->target) || strcmp(line->regime, h->regime) ||
	    !same_text(line->measure, h->measure))
		return true;
	if (line->kind == LINE_TRIAL)
		read_trial(h, line);
	else if (line->kind == LINE_RUN_START)
		read_start(h, line);
	else
		read_end(h, line);
	return true;
}

Status history_read(History *h, Store *store, Error *error)
{
	return store_follow(store, h->op, &h->place, read_line, h, error);
}
