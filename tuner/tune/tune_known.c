/* What the store says of an operator's trials: read once, then read on, since
 * several tuners may write to it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/hash.h"
#include "tuner/tune/tune_internal.h"

const char *known_cache_word(const TuneOptions *o)
{
	return o->measure.cold ? "cold" : "warm";
}

const char *known_measure_word(const TuneOptions *o)
{
	if (o->replay_db)
		return "replay";
	return o->measure.machine == MACHINE_REAL ? NULL : "simulate";
}

char *known_text(Arena *arena, const Program *program, const Trace *trace)
{
	Arena *scratch = arena_new();
	json_t *json = trace_to_json(trace_canonical(scratch, program, trace));
	char *dumped = json_dumps(json, JSON_COMPACT);
	char *text = arena_strdup(arena, dumped);
	free(dumped);
	json_decref(json);
	arena_free(scratch);
	return text;
}

TraceKey known_key(const char *text)
{
	TraceKey key;
	Sha256 hash;
	sha256_init(&hash);
	sha256_add(&hash, text, strlen(text));
	sha256_end(&hash, key.bytes);
	return key;
}

bool known_same(const TraceKey *a, const TraceKey *b)
{
	return !memcmp(a, b, sizeof *a);
}

/* So many other traces are not slower, of which none came later. */
bool known_may_win(const Tuning *t, const Known *k)
{
	const Known *before[FINALISTS];
	int n = 0;
	if (k->plain || known_first(t) < 0)
		return true;
	for (int i = 0; i < t->known.n && n < FINALISTS; i++) {
		const Known *other = &t->known.at[i];
		bool counts =
		    other->trace && !other->plain && other->time_s <= k->time_s;
		for (int j = 0; j < n && counts; j++)
			counts = !known_same(&before[j]->key, &other->key);
		if (counts)
			before[n++] = other;
	}
	return !isinf(k->time_s) && n < FINALISTS;
}

static uint64_t form_of(const Line *line)
{
	const char *text = json_string_value(
	    json_object_get(json_object_get(line->json, "by"), "form"));
	return text && strlen(text) == FORM_DIGITS ? strtoull(text, NULL, 16)
						   : 0;
}

/* Its text in `arena`. */
static Known known_of(const Tuning *t, Arena *arena, const Line *line)
{
	Known k = {
	    .time_s = line->outcome == OUTCOME_OK ? line->time_s : INFINITY};
	json_t *trace = json_object_get(line->json, "trace");
	char *text = json_dumps(trace, JSON_COMPACT);
	k.text = arena_strdup(arena, text);
	free(text);
	k.key = known_key(k.text);
	memcpy(k.id, line->id, sizeof k.id);
	k.form = form_of(line);
	k.predicted_s = json_number(line->json, "predicted", 0);
	k.plain = known_same(&k.key, &t->plain_key);
	return k;
}

static void keep_trial(const Line *line, void *context)
{
	Tuning *t = context;
	Error ignored;
	if (!t->unlearnt)
		t->unlearnt = arena_child(t->arena);
	Known k = known_of(t, t->unlearnt, line);
	if (k.time_s < t->least_s)
		k.time_s = INFINITY;
	if (known_may_win(t, &k)) {
		k.text = arena_strdup(t->arena, k.text);
		k.trace = trace_stored(t->arena, t->program,
		    json_object_get(line->json, "trace"), &ignored);
		if (!k.trace) /* of another version, or damaged: no best */
			k.time_s = INFINITY;
	}
	vec_push(t->arena, &t->known, k);
}

static bool read_replay_line(Line *line, void *context)
{
	Tuning *t = context;
	if (line->kind != LINE_TRIAL ||
	    strcmp(line->regime, known_cache_word(&t->options)))
		return true;
	Known k = known_of(t, t->passing, line);
	Measurement m = measure_nothing(line->outcome);
	m.time_s = line->time_s;
	k.text = NULL;
	k.measured = arena_memdup(t->arena, &m, sizeof m);
	vec_push(t->arena, &t->replay, k);
	return true;
}

static Status read_replay(Tuning *t)
{
	Store *from;
	FORWARD_IF_ERROR(store_open(
	    t->options.replay_db, STORE_READ, &from, t->error));
	Status status = store_each(from, t->program->op, read_replay_line, t,
	    NULL, t->error);
	store_close(from);
	return status;
}

Status known_open(Tuning *t)
{
	t->plain_text = known_text(
	    t->arena, t->program, schedule_plain(t->arena, t->program));
	t->plain_key = known_key(t->plain_text);
	t->least_s = measure_least_s(t->program, &t->target->machine);
	t->history = (History){.arena = t->arena,
	    .op = t->program->op,
	    .target = t->target->text,
	    .regime = known_cache_word(&t->options),
	    .measure = known_measure_word(&t->options),
	    .trial = keep_trial,
	    .context = t};
	FORWARD_IF_ERROR(known_follow(t));
	t->nstored = t->known.n;
	return t->options.replay_db ? read_replay(t) : STATUS_OK;
}

Status known_follow(Tuning *t)
{
	int i = t->known.n;
	FORWARD_IF_ERROR(history_read(&t->history, t->store, t->error));
	propose_learn_known(t, i);
	return STATUS_OK;
}

const Known *known_find(const Tuning *t, int from, const TraceKey *key)
{
	for (int i = t->known.n - 1; i >= from; i--)
		if (t->known.at[i].id[0] &&
		    known_same(&t->known.at[i].key, key))
			return &t->known.at[i];
	return NULL;
}

const Known *known_object(const Tuning *t, const char *object)
{
	for (int i = 0; i < t->known.n && object[0]; i++) {
		const Measurement *m = t->known.at[i].measured;
		if (m && m->outcome == OUTCOME_OK && !strcmp(m->object, object))
			return &t->known.at[i];
	}
	return NULL;
}

int known_first(const Tuning *t)
{
	for (int i = 0; i < t->known.n; i++)
		if (!t->known.at[i].plain)
			return i;
	return -1;
}

int known_best(const Tuning *t, int n)
{
	int best = -1, first = known_first(t);
	bool plain = first >= 0 && first < n &&
	    !isinf(t->known.at[first].time_s);
	for (int i = 0; i < n; i++) {
		const Known *k = &t->known.at[i];
		if (!isinf(k->time_s) && (plain || !k->plain) &&
		    (best < 0 || k->time_s < t->known.at[best].time_s))
			best = i;
	}
	return best;
}

void known_replay(const Tuning *t, const TraceKey *key, Measurement *m)
{
	const Known *found = NULL;
	for (int i = t->replay.n - 1; i >= 0 && !found; i--)
		if (known_same(&t->replay.at[i].key, key))
			found = &t->replay.at[i];
	*m = measure_nothing(OUTCOME_BUILD);
	if (found)
		*m = *found->measured;
	else
		snprintf(m->error, sizeof m->error, "not in the store");
}
