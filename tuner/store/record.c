/* A trial or a mark as one line of JSON, and back.  docs/records.md has the
 * format.
 *
 * A line that was read keeps its bytes, unknown keys and all; a line that is
 * made here gets its keys in the order of the contract and an id from them. */
#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tuner/internal.h"
#include "tuner/measure/measure.h"

enum { FORMAT = 1 };

static const char *const outcome_names[] = {
    [OUTCOME_OK] = "ok",
    [OUTCOME_BUILD] = "build",
    [OUTCOME_TIMEOUT] = "timeout",
    [OUTCOME_CRASH] = "crash",
    [OUTCOME_WRONG] = "wrong",
    [OUTCOME_IMPLAUSIBLE] = "implausible",
};

static const char *const kind_names[] = {
    [LINE_TRIAL] = "trial",
    [LINE_RUN_START] = "run-start",
    [LINE_RUN_END] = "run-end",
};

/* Index of a word in a list; -1 if it is not there. */
static int word_find(const char *const *words, size_t n, const char *word)
{
	for (size_t i = 0; word && i < n; i++)
		if (!strcmp(words[i], word))
			return (int)i;
	return -1;
}

const char *line_kind_name(LineKind kind)
{
	return kind_names[kind];
}

const char *outcome_name(Outcome outcome)
{
	return outcome_names[outcome];
}

bool outcome_find(const char *name, Outcome *outcome)
{
	size_t n = sizeof outcome_names / sizeof *outcome_names;
	int i = word_find(outcome_names, n, name);
	if (i >= 0)
		*outcome = (Outcome)i;
	return i >= 0;
}

void at_now(char at[AT_BYTES])
{
	struct timespec now;
	struct tm tm;
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	strftime(at, AT_BYTES, "%Y-%m-%dT%H:%M:%S", &tm);
	int ms = (int)(now.tv_nsec / 1000000);
	at[19] = '.';
	for (int i = 22; i > 19; i--, ms /= 10)
		at[i] = (char)('0' + ms % 10);
	strcpy(at + 23, "Z");
}

/* --- ids ----------------------------------------------------------------- */

/* The id names everything else in the line: it is taken over the line's own
 * text without the member "id" and the comma behind it. */
static void id_of_text(const char *text, size_t size, char id[ID_DIGITS + 1])
{
	static const char key[] = "\"id\":\"";
	size_t member = sizeof key - 1 + ID_DIGITS + 2; /* quote and comma */
	Sha256 sha;
	sha256_init(&sha);
	const char *at = memmem(text, size, key, sizeof key - 1);
	if (at && (size_t)(text + size - at) > member) {
		sha256_add(&sha, text, (size_t)(at - text));
		at += member;
		sha256_add(&sha, at, (size_t)(text + size - at));
	} else {
		sha256_add(&sha, text, size);
	}
	unsigned char digest[32];
	sha256_end(&sha, digest);
	for (int i = 0; i < ID_DIGITS; i++)
		id[i] =
		    "0123456789abcdef"[digest[i / 2] >> (i % 2 ? 0 : 4) & 15];
	id[ID_DIGITS] = '\0';
}

bool line_id_matches(const Line *line)
{
	char id[ID_DIGITS + 1];
	if (!line->text)
		return true;
	id_of_text(line->text, line->size, id);
	return !strcmp(id, line->id);
}

/* --- lines from json ----------------------------------------------------- */

static const char *text_of(const json_t *json, const char *key)
{
	const char *s = json_string_value(json_object_get(json, key));
	return s ? s : "";
}

/* The regime's word: of an object its "cache", of a string its first word. */
static const char *regime_of(const json_t *json)
{
	const json_t *regime = json_object_get(json, "regime");
	const char *word = json_string_value(regime);
	if (!word)
		word = text_of(regime, "cache");
	return !strncmp(word, "cold", 4) ? "cold" : "warm";
}

bool hex_is_valid(const char *text, size_t size, size_t digits)
{
	for (size_t i = 0; i < size; i++)
		if (!strchr("0123456789abcdef", text[i]) || !text[i])
			return false;
	return size == digits;
}

static bool is_hex(const char *text, size_t digits)
{
	return hex_is_valid(text, strlen(text), digits);
}

double json_number(const json_t *json, const char *key, double otherwise)
{
	const json_t *value = json_object_get(json, key);
	return json_is_number(value) ? json_number_value(value) : otherwise;
}

bool noise_is_quiet(double probe, double switches, double cpu_s)
{
	double most = 1e15; /* what a stranger wrote may be any number */
	return measure_quiet(
	    probe, (int64_t)fmax(fmin(switches, most), -1), cpu_s);
}

/* What says nothing of noise was measured before that was looked at. */
static bool is_quiet(const json_t *noise)
{
	return noise_is_quiet(json_number(noise, "probe", NAN),
	    json_number(noise, "switches", -1), json_number(noise, "cpu_s", 0));
}

static Status trial_fill(Line *line, Error *error)
{
	const json_t *json = line->json;
	if (!*line->op)
		return error_set(error, STATUS_INPUT, "a trial without 'op'");
	if (!*line->target)
		return error_set(
		    error, STATUS_INPUT, "a trial without 'target'");
	if (!json_is_array(json_object_get(json, "trace")))
		return error_set(
		    error, STATUS_INPUT, "a trial without 'trace'");
	if (!outcome_find(text_of(json, "outcome"), &line->outcome))
		return error_set(error, STATUS_INPUT, "unknown outcome '%.40s'",
		    text_of(json, "outcome"));
	if (line->outcome != OUTCOME_OK)
		return STATUS_OK;
	const json_t *time = json_object_get(json, "time_s");
	line->time_s = json_number_value(time);
	if (!json_is_number(time) || !(line->time_s > 0))
		return error_set(
		    error, STATUS_INPUT, "an ok trial without 'time_s'");
	return STATUS_OK;
}

/* Everything else in the line from its json. */
static Status line_fill(Line *line, Error *error)
{
	const json_t *json = line->json;
	size_t nkinds = sizeof kind_names / sizeof *kind_names;
	int kind = word_find(kind_names, nkinds, text_of(json, "kind"));
	if (kind < 0)
		return error_set(error, STATUS_INPUT, "unknown kind '%.40s'",
		    text_of(json, "kind"));
	line->kind = (LineKind)kind;
	const char *id = text_of(json, "id"), *op = text_of(json, "op");
	const char *same_as =
	    json_string_value(json_object_get(json, "same_as"));
	if (((*id || kind == LINE_TRIAL) && !is_hex(id, ID_DIGITS)) ||
	    (same_as && !is_hex(same_as, ID_DIGITS)))
		return error_set(error, STATUS_INPUT,
		    "an 'id' or 'same_as' that is not %d hex digits",
		    ID_DIGITS);
	if (*op && !is_hex(op, OP_DIGITS))
		return error_set(error, STATUS_INPUT,
		    "an 'op' that is not %d hex digits", OP_DIGITS);
	strcpy(line->id, id);
	strcpy(line->op, op);
	line->target = text_of(json, "target");
	line->name = text_of(json, "name");
	line->case_name = text_of(json, "case");
	line->at = text_of(json, "at");
	line->final = !strcmp(text_of(json, "round"), "final");
	line->regime = regime_of(json);
	line->same_as = same_as;
	const json_t *measure = json_object_get(json, "measure");
	line->measure = json_string_value(measure);
	if (measure && !line->measure && !json_is_null(measure))
		return error_set(
		    error, STATUS_INPUT, "a 'measure' that is no text");
	line->quiet = is_quiet(json_object_get(json, "noise"));
	line->run = text_of(line->kind == LINE_TRIAL
		? json_object_get(json, "by") : json, "run");
	return line->kind == LINE_TRIAL ? trial_fill(line, error) : STATUS_OK;
}

Status line_parse(const char *text, size_t size, Line *line, Error *error)
{
	json_error_t why;
	*line = (Line){.time_s = NAN};
	if (size > LINE_MOST)
		return error_set(
		    error, STATUS_INPUT, "a line over %d MiB", LINE_MOST >> 20);
	while (size && isspace((unsigned char)text[size - 1]))
		size--;
	/* jansson skips one that stands behind a number */
	if (size && memchr(text, 0, size))
		return error_set(
		    error, STATUS_INPUT, "a NUL byte in the line");
	json_t *json = json_loadb(text, size, JSON_REJECT_DUPLICATES, &why);
	if (!json)
		return error_set(error, STATUS_INPUT, "%s (column %d)",
		    why.text, why.column);
	line->json = json;
	const json_t *format = json_object_get(json, "tunec");
	json_int_t version = json_integer_value(format);
	Status status;
	if (!json_is_integer(format) || version < 1)
		status = error_set(
		    error, STATUS_INPUT, "no record: 'tunec' is missing");
	else if (version > FORMAT)
		status = error_set(error, STATUS_UNSUPPORTED,
		    "records of format %lld; this tunec reads formats up to %d",
		    (long long)version, FORMAT);
	else
		status = line_fill(line, error);
	if (status) {
		line_free(line);
		return status;
	}
	line->text = must_alloc(size + 1);
	memcpy(line->text, text, size);
	line->text[size] = '\0';
	line->size = size;
	return STATUS_OK;
}

void line_free(Line *line)
{
	json_decref(line->json);
	free(line->text);
	*line = (Line){.time_s = NAN};
}

char *line_text(Line *line)
{
	if (!line->text) {
		Buf out = {0};
		json_print(&out, line->json);
		line->text = out.data;
		line->size = out.size;
	}
	char *copy = must_alloc(line->size + 1);
	return memcpy(copy, line->text, line->size + 1);
}

bool line_concerns(const Line *line, const char *op)
{
	if (!strcmp(line->op, op))
		return true;
	const json_t *ops = json_object_get(line->json, "ops");
	for (size_t i = 0; i < json_array_size(ops); i++) {
		const char *s = json_string_value(json_array_get(ops, i));
		if (s && !strcmp(s, op))
			return true;
	}
	return false;
}

/* --- lines from values --------------------------------------------------- */

/* The first keys of every line; `id` holds its place. */
static json_t *line_begin(LineKind kind, const char *at)
{
	char now[AT_BYTES];
	if (!at) {
		at_now(now);
		at = now;
	}
	json_t *json = json_object();
	json_object_set_new(json, "tunec", json_integer(FORMAT));
	json_object_set_new(json, "kind", json_string(kind_names[kind]));
	json_object_set_new(json, "at", json_string(at));
	json_object_set_new(json, "id", json_string("0000000000000000"));
	return json;
}

/* Computes the id, puts it in, and reads the line back from its own json. */
static void line_end(json_t *json, Line *line)
{
	Buf out = {0};
	json_print(&out, json);
	char id[ID_DIGITS + 1];
	id_of_text(out.data, out.size, id);
	char *place = memmem(out.data, out.size, "\"id\":\"", 6);
	memcpy(place + 6, id, ID_DIGITS);
	json_object_set_new(json, "id", json_string(id));
	*line = (Line){
	    .json = json, .text = out.data, .size = out.size, .time_s = NAN};
	Error error;
	Status status = line_fill(line, &error);
	assert(!status);
	(void)status;
}

static void set_text(json_t *json, const char *key, const char *text)
{
	json_object_set_new(json, key, text ? json_text(text) : json_null());
}

static void set(json_t *json, const char *key, json_t *value)
{
	if (value)
		json_object_set(json, key, value);
	else
		json_object_set_new(json, key, json_null());
}

static void set_times(json_t *json, const Trial *trial)
{
	bool ok = trial->outcome == OUTCOME_OK;
	json_t *runs = json_array();
	for (int i = 0; ok && i < trial->nruns; i++)
		json_array_append_new(runs, json_real(trial->runs_s[i]));
	json_object_set_new(
	    json, "time_s", ok ? json_real(trial->time_s) : json_null());
	json_object_set_new(json, "spread_s",
	    ok && isfinite(trial->spread_s) ? json_real(trial->spread_s)
					    : json_null());
	json_object_set_new(json, "runs_s", runs);
}

static json_t *regime_json(const Trial *trial)
{
	json_t *json = json_object();
	set_text(json, "cache", trial->cold ? "cold" : "warm");
	if (trial->constants_cold)
		set_text(json, "constants", "cold");
	json_object_set_new(json, "threads", json_integer(trial->threads));
	set_text(json, "pinning", trial->pinning ? trial->pinning : "none");
	return json;
}

void line_trial(const Trial *trial, Line *line)
{
	assert(trial->outcome != OUTCOME_OK || trial->time_s > 0);
	json_t *json = line_begin(LINE_TRIAL, trial->at);
	set_text(json, "op", trial->op);
	set_text(json, "op_text", trial->op_text);
	set_text(json, "name", trial->name);
	set_text(json, "case", trial->case_name ? trial->case_name : "");
	set_text(json, "target", trial->target);
	if (trial->trace)
		json_object_set(json, "trace", trial->trace);
	else
		json_object_set_new(json, "trace", json_array());
	set_text(json, "outcome", outcome_name(trial->outcome));
	set_text(json, "error", trial->error);
	set_times(json, trial);
	json_object_set_new(json, "regime", regime_json(trial));
	set_text(json, "round", trial->final ? "final" : "search");
		json_object_set_new(json, "predicted",
	    trial->predicted_s > 0 ? json_real(trial->predicted_s)
					 : json_null());
	set(json, "verified", trial->verified);
	set(json, "machine", trial->machine);
	set(json, "by", trial->by);
	if (trial->same_as)
		set_text(json, "same_as", trial->same_as);
	if (trial->measure)
		set_text(json, "measure", trial->measure);
	if (trial->noise)
		json_object_set(json, "noise", trial->noise);
	line_end(json, line);
}

void line_mark(LineKind kind, const json_t *fields, Line *line)
{
	assert(kind != LINE_TRIAL);
	json_t *json = line_begin(kind, NULL);
	json_object_update(json, (json_t *)fields);
	line_end(json, line);
}
