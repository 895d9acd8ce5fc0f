/* What stores say of other operators: their trials, by operator and target, found
 * again in the spaces that there are today. */
#include <math.h>
#include <string.h>

#include "lib/lookup.h"
#include "tuner/tune/transfer.h"

enum {
	LINES_MOST = 20000,   /* that are looked at */
	OPERATORS_MOST = 200, /* likewise */
	TRIALS_MOST = 256     /* of an operator; and its fastest */
};

typedef struct {
	Past past;
	VEC(Candidate) candidates;
	VEC(double) time_s;
	int fastest;
} PastReading;

typedef struct {
	Transfer *transfer;
	Arena *arena; /* the transfer's */
	const TransferWish *wish;
	Lookup names, ids;
	VEC(PastReading) readings;
	int lines;
} Reader;

static bool is_own(const Reader *r, const Line *line)
{
	if (strcmp(line->target, r->transfer->target->text))
		return false;
	for (int i = 0; i < r->wish->nown; i++)
		if (!strcmp(r->wish->own[i]->op, line->op))
			return true;
	return false;
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* The operator and target of a line, opened when they are first met; a space of NULL:
 * there is none of today's. */
static PastReading *reading_of(Reader *r, const Line *line)
{
	Error ignored;
	char *name = arena_printf(r->arena, "%s %s", line->op, line->target);
	int e = lookup_first(&r->names, name, strlen(name));
	if (e >= 0)
		return &r->readings.at[r->names.entries.at[e].number];
	lookup_add(&r->names, name, r->readings.n);
	const char *text =
	    json_string_value(json_object_get(line->json, "op_text"));
	PastReading reading = {.past = {.name = name}};
	Past *p = &reading.past;
	p->target = !strcmp(line->target, r->transfer->target->text)
	    ? r->transfer->target /* with its row */
	    : target_parse(
		  r->arena, arena_strdup(r->arena, line->target), &ignored);
	if (p->target && text && r->readings.n < OPERATORS_MOST &&
	    p->target->machine.gpu == r->transfer->target->machine.gpu)
		p->program =
		    canonical_read(r->arena, arena_strdup(r->arena, text));
	if (p->program)
		p->space = space_new(
		    r->arena, p->program, &p->target->machine, &ignored);
	vec_push(r->arena, &r->readings, reading);
	return &r->readings.at[r->readings.n - 1];
}

/* False: no sketch of today's gives it. */
static bool candidate_of(const Past *p, const json_t *json, Candidate *out)
{
	Arena *scratch = arena_new();
	Error ignored;
	Refusal why;
	const Trace *trace = trace_stored(scratch, p->program, json, &ignored);
	bool found = trace && space_find(p->space, trace, out) &&
	    space_legal(p->space, out, &why);
	arena_free(scratch);
	return found;
}

static void keep(
    Reader *r, PastReading *reading, const Candidate *c, double time_s)
{
	int n = reading->time_s.n;
	bool faster = !n || time_s < reading->time_s.at[reading->fastest];
	if (n < TRIALS_MOST) {
		vec_push(r->arena, &reading->candidates, *c);
		vec_push(r->arena, &reading->time_s, time_s);
	} else if (faster) {
		n = n - 1;
		reading->candidates.at[n] = *c;
		reading->time_s.at[n] = time_s;
	} else {
		r->transfer->facts.unread++;
	}
	if (faster)
		reading->fastest = n;
}

static bool read_line(Line *line, void *context)
{
	Reader *r = context;
	Candidate c;
	if (line->kind != LINE_TRIAL || line->final || is_own(r, line))
		return true;
	/* of several stores that have it, once */
	if (lookup_first(&r->ids, line->id, strlen(line->id)) >= 0)
		return true;
	lookup_add(&r->ids, arena_strdup(r->arena, line->id), 0);
	if (r->lines++ >= LINES_MOST) {
		r->transfer->facts.unread++;
		return true;
	}
	if (strcmp(line->regime, r->wish->regime) ||
	    !same_text(line->measure, r->wish->measure)) {
		r->transfer->facts.otherwise++;
		return true;
	}
	PastReading *reading = reading_of(r, line);
	if (!reading->past.space ||
	    !candidate_of(
		&reading->past, json_object_get(line->json, "trace"), &c))
		r->transfer->facts.unfit++;
	else
		keep(r, reading, &c,
		    line->outcome == OUTCOME_OK ? line->time_s : INFINITY);
	return true;
}

Status transfer_read(Transfer *t, Store *const *stores, int nstores,
    const TransferWish *wish, Error *error)
{
	Reader r = {.transfer = t,
	    .arena = t->arena,
	    .wish = wish,
	    .names = {.arena = t->arena},
	    .ids = {.arena = t->arena}};
	for (int i = 0; i < nstores; i++)
		FORWARD_IF_ERROR(
		    store_each(stores[i], NULL, read_line, &r, NULL, error));
	for (int i = 0; i < r.readings.n; i++) {
		PastReading *reading = &r.readings.at[i];
		reading->past.n = reading->time_s.n;
		reading->past.candidates = reading->candidates.at;
		reading->past.time_s = reading->time_s.at;
		if (reading->past.n)
			transfer_add(t, &reading->past);
	}
	return STATUS_OK;
}
