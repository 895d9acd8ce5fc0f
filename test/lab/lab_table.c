/* Tables: what each candidate of a task took on a machine, as a JSON object:
 *
 *     {"tunec_table": 1, "task": …, "spec": …, "group": …, "target": …,
 *      "machine": …, "date": …,
 *      "closed": [{"sketch": 3, "parts": [[0], [2, 5], …]}, …],
 *      "hash": …,            of the closed part, as it was then
 *      "times_us": […]}      by candidate; null: it fails */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "test/lab/lab.h"

/* --- written ------------------------------------------------------------------ */

static json_t *parts_json(const ClosedSketch *c, int nparts)
{
	json_t *parts = json_array();
	for (int p = 0; p < nparts; p++) {
		json_t *at = json_array();
		for (int i = 0; i < c->parts[p].n; i++)
			json_array_append_new(
			    at, json_integer(c->parts[p].at[i]));
		json_array_append_new(parts, at);
	}
	return parts;
}

static json_t *closed_json(const Task *task)
{
	json_t *closed = json_array();
	for (int i = 0; i < task->closed.n; i++) {
		const ClosedSketch *c = &task->closed.sketches[i];
		json_array_append_new(closed,
		    json_pack("{s:i,s:o}", "sketch", c->sketch, "parts",
			parts_json(c, space_nparts(task->space, i))));
	}
	return closed;
}

/* In hundredths of a microsecond, or four digits. */
static double short_us(double seconds)
{
	double us = 1e6 * seconds, unit = us < 10 ? 1e-3 : 1e-2;
	return round(us / unit) * unit;
}

static json_t *times_json(const Task *task)
{
	json_t *times = json_array();
	for (int i = 0; i < task->all.n; i++)
		json_array_append_new(times,
		    isfinite(task->time_s[i])
			? json_real(short_us(task->time_s[i])) : json_null());
	return times;
}

Status lab_save(
    const Task *task, const char *machine, const char *path, Error *error)
{
	char date[16];
	time_t now = time(NULL);
	strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
	json_t *table = json_pack(
	    "{s:i,s:s,s:s,s:s?,s:s,s:s,s:s,s:o,s:s,s:o}", "tunec_table", 1,
	    "task", task->name, "spec", task->spec, "group", task->group,
	    "target",
	    task->target->text, "machine", machine, "date", date, "closed",
	    closed_json(task), "hash", task->hash, "times_us",
	    times_json(task));
	int failed = json_dump_file(
	    table, path, JSON_COMPACT | JSON_REAL_PRECISION(6));
	json_decref(table);
	return failed ? error_set(error, STATUS_INPUT, "%s cannot be written",
			    path)
		      : STATUS_OK;
}

/* --- read ----------------------------------------------------------------------- */

static bool read_parts(Arena *arena, const json_t *json, ClosedSketch *out)
{
	size_t n = json_array_size(json);
	if (n > CANDIDATE_PARTS)
		return false;
	for (size_t p = 0; p < n; p++) {
		const json_t *at = json_array_get(json, p);
		out->parts[p].n = (int)json_array_size(at);
		out->parts[p].at = NEW_N(arena, int, out->parts[p].n);
		for (int i = 0; i < out->parts[p].n; i++)
			out->parts[p].at[i] = (int)json_integer_value(
			    json_array_get(at, (size_t)i));
	}
	return true;
}

static bool read_closed(Arena *arena, const json_t *json, Closed *out)
{
	size_t n = json_array_size(json);
	if (!n || n > LAB_SKETCHES)
		return false;
	*out = (Closed){(int)n, NEW_N(arena, ClosedSketch, n)};
	for (size_t i = 0; i < n; i++) {
		const json_t *one = json_array_get(json, i);
		out->sketches[i].sketch =
		    (int)json_integer_value(json_object_get(one, "sketch"));
		if (!read_parts(arena, json_object_get(one, "parts"),
			&out->sketches[i]))
			return false;
	}
	return true;
}

static void read_times(Task *task, const json_t *json)
{
	double *time_s = NEW_N(task->arena, double, task->all.n);
	for (int i = 0; i < task->all.n; i++) {
		const json_t *one = json_array_get(json, (size_t)i);
		time_s[i] = json_is_number(one)
		    ? 1e-6 * json_number_value(one) : INFINITY;
	}
	lab_set_times(task, time_s);
}

static const char *text(const json_t *json, const char *key)
{
	return json_string_value(json_object_get(json, key));
}

static Task *task_of(
    Arena *arena, const json_t *json, const char *path, Error *error)
{
	Closed closed;
	const json_t *times = json_object_get(json, "times_us");
	if (!text(json, "task") || !text(json, "spec") ||
	    !text(json, "target") || !text(json, "hash") ||
	    !read_closed(arena, json_object_get(json, "closed"), &closed)) {
		error_set(error, STATUS_INPUT, "%s is no table", path);
		return NULL;
	}
	Task *task = lab_task(arena, text(json, "task"), text(json, "spec"),
	    text(json, "group"), text(json, "target"), &closed, error);
	if (!task)
		return NULL;
	if (strcmp(task->hash, text(json, "hash")) ||
	    (size_t)task->all.n != json_array_size(times)) {
		error_set(error, STATUS_INPUT,
		    "%s: the space has changed since it was measured", path);
		return NULL;
	}
	read_times(task, times);
	return task;
}

Task *lab_load(Arena *arena, const char *path, Error *error)
{
	json_error_t why;
	json_t *json = json_load_file(path, 0, &why);
	if (!json) {
		error_set(error, STATUS_INPUT, "%s: %s", path, why.text);
		return NULL;
	}
	Task *task = task_of(arena, json, path, error);
	json_decref(json);
	return task;
}
