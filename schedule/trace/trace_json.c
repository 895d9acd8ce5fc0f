/* Traces as JSON, for records.
 *
 *     [{"step": "split", "out": ["l0", "l1"],
 *       "args": ["d0.a1", {"decision": [null, 16]}]},
 *      {"step": "unroll", "args": ["l1"], "with": {"limit": 64}}]
 *
 * A number is a number, a word a string, a list an array, `_` null.  A decision
 * that is taken is {"decision": VALUE}, one that is open {"decision?": true};
 * domains are left out.  Reading is strict: unknown keys are mistakes. */
#include "schedule/internal.h"

#include <assert.h>
#include <jansson.h>
#include <string.h>

enum { MAX_DEPTH = 8, MAX_STEPS = 4096 };

/* --- writing ---------------------------------------------------------------- */

static json_t *value_to_json(const TraceValue *value)
{
	json_t *list;

	switch (value->kind) {
	case VALUE_INT: return json_integer(value->i);
	case VALUE_WORD: return json_string(value->word);
	case VALUE_HOLE: return json_null();
	case VALUE_LIST: break;
	}
	list = json_array();
	for (int i = 0; i < value->n; i++)
		json_array_append_new(list, value_to_json(&value->list[i]));
	return list;
}

static json_t *arg_to_json(const Arg *arg)
{
	json_t *object;

	assert(arg->decision || !arg->open);
	if (!arg->decision)
		return value_to_json(&arg->value);
	object = json_object();
	if (arg->open)
		json_object_set_new(object, "decision?", json_true());
	else
		json_object_set_new(
		    object, "decision", value_to_json(&arg->value));
	return object;
}

static json_t *step_to_json(const Step *step)
{
	json_t *object = json_object(), *args = json_array();
	json_t *with = json_object();

	json_object_set_new(
	    object, "step", json_string(primitive_name(step->primitive)));
	if (step->nouts) {
		json_t *outs = json_array();
		for (int i = 0; i < step->nouts; i++)
			json_array_append_new(
			    outs, json_string(step->outs[i]));
		json_object_set_new(object, "out", outs);
	}
	for (int i = 0; i < step->nargs; i++) {
		const Arg *arg = &step->args[i];
		if (arg->key)
			json_object_set_new(with, arg->key, arg_to_json(arg));
		else
			json_array_append_new(args, arg_to_json(arg));
	}
	json_object_set_new(object, "args", args);
	if (json_object_size(with))
		json_object_set(object, "with", with);
	json_decref(with);
	return object;
}

json_t *trace_to_json(const Trace *trace)
{
	json_t *list = json_array();

	for (int i = 0; i < trace->steps.n; i++)
		json_array_append_new(list, step_to_json(&trace->steps.at[i]));
	return list;
}

/* --- reading ---------------------------------------------------------------- */

typedef struct {
	Arena *arena;
	Error *error;
	int step;
} JsonReader;

static bool fail(JsonReader *r, const char *what)
{
	error_set(r->error, STATUS_INPUT, "trace, step %d: %s", r->step + 1,
	    what);
	return false;
}

/* A word is one that the text could have, so that printing and parsing give it
 * back. */
static bool read_word(JsonReader *r, const char *text, TraceValue *value)
{
	Source source = {"word", text, strlen(text)};
	Span all = {0, source.size};
	Diag diag = {0};
	bool good = source.size < 512 &&
	    value_parse(r->arena, &source, all, &diag, value) &&
	    value->kind == VALUE_WORD && !strcmp(value->word, text);

	diag_free(&diag);
	return good;
}

static bool is_name(JsonReader *r, const char *text)
{
	TraceValue word;

	return read_word(r, text, &word) && !strpbrk(text, ".~/%*()-");
}

static bool read_value(
    JsonReader *r, const json_t *json, TraceValue *value, int depth)
{
	int n;

	if (json_is_integer(json)) {
		*value = value_int(json_integer_value(json));
		return true;
	}
	if (json_is_null(json)) {
		*value = value_hole();
		return true;
	}
	if (json_is_string(json))
		return read_word(r, json_string_value(json), value) ||
		    fail(r, "a string is a name or a word");
	if (!json_is_array(json) || depth == MAX_DEPTH)
		return fail(r, "a value is a number, a string, null or a list");
	n = (int)json_array_size(json);
	*value = (TraceValue){.kind = VALUE_LIST, .n = n,
	    .list = NEW_N(r->arena, TraceValue, n)};
	for (int i = 0; i < n; i++)
		if (!read_value(r, json_array_get(json, (size_t)i),
			&value->list[i], depth + 1))
			return false;
	return true;
}

static bool read_arg(JsonReader *r, const json_t *json, Arg *arg)
{
	const json_t *taken;

	if (!json_is_object(json))
		return read_value(r, json, &arg->value, 0);
	arg->decision = true;
	taken = json_object_get(json, "decision");
	if (json_object_size(json) == 1 && taken)
		return read_value(r, taken, &arg->value, 0);
	arg->open = true;
	if (json_object_size(json) == 1 &&
	    json_is_true(json_object_get(json, "decision?")))
		return true;
	return fail(r, "a decision is {\"decision\": VALUE}");
}

static bool read_args(JsonReader *r, const json_t *json, Step *step)
{
	json_t *args = json_object_get(json, "args"), *value;
	json_t *with = json_object_get(json, "with");
	const char *key;
	int n;

	if (!json_is_array(args) || (with && !json_is_object(with)))
		return fail(r, "\"args\" is a list, \"with\" an object");
	n = (int)json_array_size(args);
	step->args = NEW_N(
	    r->arena, Arg, n + (int)json_object_size(with));
	for (int i = 0; i < n; i++)
		if (!read_arg(r, json_array_get(args, (size_t)i),
			&step->args[i]))
			return false;
	step->nargs = n;
	json_object_foreach(with, key, value) {
		Arg *arg = &step->args[step->nargs++];
		if (!is_name(r, key))
			return fail(r, "a key is a name");
		arg->key = arena_strdup(r->arena, key);
		if (!read_arg(r, value, arg))
			return false;
	}
	return !primitive_check(step) || fail(r, primitive_check(step));
}

static bool read_outs(JsonReader *r, const json_t *json, Step *step)
{
	const json_t *outs = json_object_get(json, "out");

	if (outs && !json_is_array(outs))
		return fail(r, "\"out\" is a list of names");
	step->nouts = (int)json_array_size(outs);
	step->outs = NEW_N(r->arena, const char *, step->nouts);
	for (int i = 0; i < step->nouts; i++) {
		const char *name = json_string_value(
		    json_array_get(outs, (size_t)i));
		if (!name || !is_name(r, name))
			return fail(r, "\"out\" is a list of names");
		step->outs[i] = arena_strdup(r->arena, name);
	}
	return true;
}

static bool read_step(JsonReader *r, json_t *json, Step *step)
{
	const char *name = json_string_value(json_object_get(json, "step"));
	const char *key;
	json_t *value;

	if (!name)
		return fail(r, "a step is {\"step\": NAME, \"args\": [...]}");
	json_object_foreach(json, key, value)
		if (strcmp(key, "step") && strcmp(key, "out") &&
		    strcmp(key, "args") && strcmp(key, "with"))
			return fail(r, "the keys are step, out, args, with");
	step->primitive = primitive_find(name);
	if (step->primitive < 0)
		return fail(r, "there is no such step");
	return read_outs(r, json, step) && read_args(r, json, step) &&
	    (primitive_gives(step->primitive, step->nouts) ||
		fail(r, "it gives another number of names"));
}

Trace *trace_from_json(Arena *arena, const json_t *json, Error *error)
{
	JsonReader r = {arena, error, 0};
	Trace *trace = NEW(arena, Trace);

	if (!json_is_array(json) || json_array_size(json) > MAX_STEPS) {
		error_set(error, STATUS_INPUT, "a trace is a list of steps");
		return NULL;
	}
	for (; r.step < (int)json_array_size(json); r.step++) {
		Step step = {0};
		if (!read_step(&r, json_array_get(json, (size_t)r.step), &step))
			return NULL;
		vec_push(arena, &trace->steps, step);
	}
	return trace;
}
