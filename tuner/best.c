/* The best record, by the contract: of operator, target and regime the ok
 * trials of the newest final round, else all; a trace counts with its newest
 * line; the least time, then the least id.  It depends on the set of lines
 * alone, not on their order or store.
 *
 * A final round is the final lines of one run, which "run" in "by" names; where
 * lines do not name one, it is the final lines up to the newest with no search
 * trial between them.
 *
 * A line is looked at member by member, and only the winner is read whole: a
 * build finds its record among thousands of trials in milliseconds. */
#include <stdlib.h>
#include <string.h>

#include "tuner/internal.h"

enum {
	FORMAT,
	AT,
	ID,
	OP,
	TARGET,
	TRACE,
	OUTCOME,
	TIME,
	REGIME,
	ROUND,
	BY,
	NMEMBERS
};
static const char *const keys[NMEMBERS] = {"tunec", "at", "id", "op", "target",
    "trace", "outcome", "time_s", "regime", "round", "by"};

/* An ok trial. */
typedef struct {
	const char *at, *id, *run; /* run "": not named */
	const char *text;
	size_t size;
	uint64_t trace; /* hash */
	double time_s;
	bool final;
} Entry;

typedef struct {
	Arena *arena;
	const char *op, *target, *regime;
	VEC(Entry) entries;
	TextVec *targets;
	bool only_targets; /* an earlier layer has given the best */
	Store *store;	   /* being read */
	Status status;	   /* of a line that ends the reading */
	Error *error;
} Finding;

static const char *member_text(Arena *arena, Member m)
{
	return m.size >= 2 && m.at[0] == '"'
		   ? arena_strndup(arena, m.at + 1, m.size - 2)
		   : "";
}

/* The value of a key of an object that is itself a member. */
static Member member_of(Member object, const char *key)
{
	Member m;
	if (!object.at || !line_members(object.at, object.size, &key, 1, &m))
		return (Member){0};
	return m;
}

static bool is_regime(Member regime, const char *wanted)
{
	if (regime.at && *regime.at == '{')
		regime = member_of(regime, "cache");
	bool cold = regime.size > 5 && !memcmp(regime.at, "\"cold", 5);
	return cold == !strcmp(wanted, "cold");
}

static void add_target(Finding *f, Member target)
{
	if (!f->targets)
		return;
	for (int i = 0; i < f->targets->n; i++)
		if (member_is(target, f->targets->at[i]))
			return;
	vec_push(f->arena, f->targets, member_text(f->arena, target));
}

/* Spaces between values do not make another trace. */
static uint64_t trace_hash(Member trace)
{
	json_error_t why;
	if (!trace.at)
		return 0;
	if (!memchr(trace.at, ' ', trace.size))
		return hash64(trace.at, trace.size, 0);
	json_t *json = json_loadb(trace.at, trace.size, 0, &why);
	Buf text = {0};
	json_print(&text, json);
	uint64_t hash = hash64(buf_text(&text), text.size, 0);
	buf_free(&text);
	json_decref(json);
	return hash;
}

/* Not of format 1: damaged, or of a newer one. */
static bool refuse(Finding *f, const char *text, size_t size, int64_t number)
{
	Line line;
	Error why;
	Status status = line_parse(text, size, &line, &why);
	if (!status) {
		line_free(&line);
		return true;
	}
	if (status != STATUS_UNSUPPORTED) {
		store_note(f->store, "%s:%lld: damaged line skipped: %s",
		    store_path(f->store), (long long)number, why.text);
		return true;
	}
	f->status = error_set(f->error, status, "%s:%lld: %s",
	    store_path(f->store), (long long)number, why.text);
	return false;
}

static bool look(const char *text, size_t size, int64_t number, void *context)
{
	Finding *f = context;
	Member m[NMEMBERS];
	if (!line_members(text, size, keys, NMEMBERS, m) || !m[FORMAT].at) {
		store_note(f->store, "%s:%lld: damaged line skipped",
		    store_path(f->store), (long long)number);
		return true;
	}
	if (strtol(m[FORMAT].at, NULL, 10) != 1)
		return refuse(f, text, size, number);
	if (!member_is(m[OP], f->op) || !member_is(m[OUTCOME], "ok"))
		return true;
	add_target(f, m[TARGET]);
	if (f->only_targets || !is_regime(m[REGIME], f->regime) ||
	    (f->target && !member_is(m[TARGET], f->target)))
		return true;
	Arena *arena = f->arena;
	Entry e = {.at = member_text(arena, m[AT]),
	    .id = member_text(arena, m[ID]),
	    .run = member_text(arena, member_of(m[BY], "run")),
	    .text = arena_strndup(arena, text, size),
	    .size = size,
	    .trace = trace_hash(m[TRACE]),
	    .time_s = m[TIME].at ? strtod(m[TIME].at, NULL) : 0,
	    .final = member_is(m[ROUND], "final")};
	if (e.time_s > 0)
		vec_push(arena, &f->entries, e);
	return true;
}

static int newest_first(const void *a, const void *b)
{
	const Entry *x = a, *y = b;
	int order = strcmp(y->at, x->at);
	return order ? order : strcmp(x->id, y->id);
}

/* Entries are sorted newest first: keeps those of the newest final round. */
static void keep_final_round(Finding *f)
{
	Entry *e = f->entries.at;
	int n = f->entries.n, first = 0, kept = 0;
	while (first < n && !e[first].final)
		first++;
	if (first == n)
		return;
	const char *run = e[first].run;
	for (int i = first; i < n; i++) {
		if (!*run && !e[i].final)
			break;
		if (e[i].final && !strcmp(e[i].run, run))
			e[kept++] = e[i];
	}
	f->entries.n = kept;
}

static bool better(const Entry *a, const Entry *b)
{
	if (a->time_s != b->time_s)
		return a->time_s < b->time_s;
	return strcmp(a->id, b->id) < 0;
}

/* -1: no entries.  A newer line of the same trace stands before it. */
static int choose(const Finding *f)
{
	const Entry *e = f->entries.at;
	int best = -1, n = f->entries.n;
	int cap = 16;
	while (cap < 2 * n)
		cap *= 2;
	uint64_t *seen = NEW_N(f->arena, uint64_t, cap);
	for (int i = 0; i < n; i++) {
		uint64_t h = e[i].trace ? e[i].trace : 1;
		int k = (int)(h & (uint64_t)(cap - 1));
		while (seen[k] && seen[k] != h)
			k = (k + 1) & (cap - 1);
		if (seen[k] == h)
			continue;
		seen[k] = h;
		if (best < 0 || better(&e[i], &e[best]))
			best = i;
	}
	return best;
}

/* A winner that cannot be read whole is damaged: the next one then. */
static void take_best(Finding *f, Line *best)
{
	int n = f->entries.n;
	Entry *all = f->entries.at;
	qsort(all, (size_t)n, sizeof *all, newest_first);
	for (;;) {
		f->entries.at =
		    arena_memdup(f->arena, all, sizeof *all * (size_t)n);
		f->entries.n = n;
		keep_final_round(f);
		int i = choose(f);
		if (i < 0)
			return;
		Entry winner = f->entries.at[i];
		Error why;
		if (!line_parse(winner.text, winner.size, best, &why))
			return;
		store_note(f->store, "%s: damaged record %s skipped: %s",
		    store_path(f->store), winner.id, why.text);
		int kept = 0;
		for (int k = 0; k < n; k++)
			if (all[k].text != winner.text)
				all[kept++] = all[k];
		n = kept;
	}
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

Status best_find(Arena *arena, Store *const *layers, int nlayers,
    const char *op, const char *target, const char *regime, Line *best,
    TextVec *targets, Error *error)
{
	Finding f = {.arena = arena,
	    .op = op,
	    .target = target,
	    .regime = regime ? regime : "warm",
	    .targets = targets,
	    .error = error};
	*best = (Line){0};
	for (int i = 0; i < nlayers; i++) {
		if (best->json && !targets)
			break;
		f.only_targets = best->json != NULL;
		f.entries.n = 0;
		f.store = layers[i];
		FORWARD_IF_ERROR(store_scan(layers[i], op, look, &f, error));
		FORWARD_IF_ERROR(f.status);
		if (!f.only_targets)
			take_best(&f, best);
	}
	if (targets && targets->n > 1)
		qsort(targets->at, (size_t)targets->n, sizeof *targets->at,
		    by_text);
	return STATUS_OK;
}
