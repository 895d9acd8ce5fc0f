/* What a store's runs say of how close to their limits operators come: the `limit`
 * of their end marks, the newest of each operator. */
#include <math.h>
#include <string.h>

#include "tuner/internal.h"
#include "tuner/tune/tune_internal.h"

/* A search that still gained more than this says nothing of where it ends. */
enum { TRIALS_LEAST = 64 };
static const double settled = 0.01;

static const char *const kinds[] = {"sums", "elements", "memory"};

bool task_kind_named(const char *name, TaskKind *kind)
{
	int k = 0;
	while (k < KINDS && strcmp(kinds[k], name))
		k++;
	if (k == KINDS)
		return false;
	*kind = (TaskKind)k;
	return true;
}

bool task_has_settled(const TaskState *t)
{
	return t->curve.n >= TRIALS_LEAST && task_last_gain(t) < settled;
}

typedef struct {
	Arena *arena;
	Ceilings *out;
	const char *target, *regime, *measure;
} CeilingsReading;

static bool counts(const CeilingsReading *r, const Line *line)
{
	bool same = r->measure && line->measure
	    ? !strcmp(r->measure, line->measure)
	    : r->measure == line->measure;
	return line->kind == LINE_RUN_END && same &&
	    !strcmp(line->target, r->target) &&
	    !strcmp(line->regime, r->regime);
}

static bool read_mark(const StoredLine *stored, void *context)
{
	static const char run_end[] = "\"kind\":\"run-end\"";
	CeilingsReading *r = context;
	Line line;
	TaskKind of;
	Error ignored;
	if (!memmem(stored->text, stored->size, run_end, sizeof run_end - 1) ||
	    line_parse(stored->text, stored->size, &line, &ignored))
		return true;
	const json_t *limit = json_object_get(line.json, "limit");
	const char *kind = json_string_value(json_object_get(limit, "kind"));
	const char *op = json_string_value(json_array_get(
	    json_object_get(line.json, "ops"), 0));
	double share = json_number(limit, "bound_s", 0) /
	    json_number(limit, "best_s", INFINITY);
	if (kind && op && counts(r, &line) &&
	    json_number(limit, "trials", 0) >= TRIALS_LEAST &&
	    json_number(limit, "last_gain", 1) < settled &&
	    task_kind_named(kind, &of))
		ceilings_add(r->out, r->arena, op, of, share);
	line_free(&line);
	return true;
}

Status tune_ceilings(Arena *arena, Store *store, const Target *target,
    const TuneOptions *o, Ceilings *out, Error *error)
{
	bool narrowed;
	StoreQuery all = {0};
	CeilingsReading r = {arena, out, target->text, known_cache_word(o),
	    known_measure_word(o)};
	return store_scan(store, &all, read_mark, &r, &narrowed, error);
}

json_t *limit_json(Tuning *t)
{
	TaskState s = task_state(1);
	tune_outlook(t, t->arena, &s);
	if (!(s.bound_s > 0) || isinf(s.best_s) || t->options.composed)
		return NULL;
	return json_pack("{s:s,s:f,s:f,s:i,s:f}", "kind", kinds[s.kind],
	    "bound_s", s.bound_s, "best_s", s.best_s, "trials", s.curve.n,
	    "last_gain", task_last_gain(&s));
}
