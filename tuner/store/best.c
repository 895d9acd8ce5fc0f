/* The best record, by the contract (docs/records.md).
 *
 * Of an operator, a target and a regime, of the measured ok trials: those of
 * the final round that stands, else all; a trace counts with its newest quiet
 * line; the least time, then the least id.
 *
 * Newer is what stands further back: by the counter of the run, which its
 * run-start has, then by the place in the store; no clock is asked.  A final
 * round is the final lines of one run; of those that name none, the ones
 * without a search trial between them.  The newest quiet round stands, but a
 * slower one replaces a faster only where a run accepted it.
 *
 * A line is looked at member by member, and only a winner is read whole: a
 * build finds its record among thousands of trials in milliseconds.  A winner
 * that cannot be read shows that there is damage that the eye missed: then
 * every line is read whole, once. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/sort.h"
#include "tuner/internal.h"

enum {
	FORMAT,
	KIND,
	ID,
	OP,
	TARGET,
	TRACE,
	OUTCOME,
	TIME,
	SPREAD,
	REGIME,
	ROUND,
	BY,
	MEASURE,
	NOISE,
	NMEMBERS
};
static const char *const keys[NMEMBERS] = {"tunec", "kind", "id", "op",
    "target", "trace", "outcome", "time_s", "spread_s", "regime", "round", "by",
    "measure", "noise"};

/* An ok trial; no text is kept. */
typedef struct {
	StoredLine where; /* without its text */
	int64_t counter;  /* of its run; 0: of none that is known */
	uint64_t run;     /* hash of the run's id; 0: not named */
	uint64_t trace;   /* hash */
	double time_s, spread_s;
	int group;
	bool final, quiet;
	bool plain; /* the plain loops, which a run measured as no trial */
	char id[ID_DIGITS];
} Entry;

/* A run-start or, where it accepted a final round, a run-end. */
typedef struct {
	uint64_t run;
	int64_t counter;
	bool accepts;
	const char *op, *target, *regime; /* op NULL: counts for any */
} Mark;

/* What there is to choose from for one operator and target. */
typedef struct {
	const char *op, *target; /* as JSON has them, quotes and all */
	size_t op_size, target_size;
	int ok;
	Line best; /* json NULL: not found yet */
	bool found;
} Group;

typedef VEC(Entry) EntryVec;

typedef struct {
	Arena *arena;
	BestQuery query;
	const char *regime;
	VEC(Group) groups;
	int *table; /* groups by hash, 1 + index; 0: free */
	int cap;
	EntryVec entries; /* of the layer that is being read */
	VEC(Mark) marks;
	Store *store;
	bool whole;    /* lines are read whole */
	bool any;      /* targets alone are wanted: any regime */
	bool no_round; /* stands, as is known: not all of their lines are here */
	Status status; /* of a line that ends the reading */
	Error *error;
} Finding;

/* --- members -------------------------------------------------------------- */

/* The value of a key of an object that is itself a member. */
static Member member_of(Member object, const char *key)
{
	Member m;
	if (!object.at || !line_members(object.at, object.size, &key, 1, &m))
		return (Member){0};
	return m;
}

static bool is_null(Member m)
{
	return !m.at || (m.size == 4 && !memcmp(m.at, "null", 4));
}

static bool is_id(Member m)
{
	return m.size == ID_DIGITS + 2 && m.at[0] == '"' &&
	       hex_is_valid(m.at + 1, ID_DIGITS, ID_DIGITS);
}

static const char *regime_of(Member regime)
{
	if (regime.at && *regime.at == '{')
		regime = member_of(regime, "cache");
	bool cold = regime.size > 5 && !memcmp(regime.at, "\"cold", 5);
	return cold ? "cold" : "warm";
}

static double number_of(Member m, double otherwise)
{
	bool number = m.at && strchr("-0123456789", *m.at);
	return number ? strtod(m.at, NULL) : otherwise;
}

static uint64_t hash_of(Member m)
{
	uint64_t h = hash64(m.at, m.size, 0);
	return h ? h : 1;
}

/* Spaces between values do not make another trace. */
static uint64_t trace_hash(Member trace)
{
	json_error_t why;
	if (!trace.at)
		return 1;
	if (!memchr(trace.at, ' ', trace.size))
		return hash_of(trace);
	json_t *json = json_loadb(trace.at, trace.size, 0, &why);
	Buf text = {0};
	json_print(&text, json);
	uint64_t hash = hash_of((Member){buf_text(&text), text.size});
	buf_free(&text);
	json_decref(json);
	return hash;
}

/* Are there no steps but parallel ones? */
static bool is_plain(Member trace)
{
	bool plain = trace.size == 2 && !memcmp(trace.at, "[]", 2);
	static const char step[] = "\"step\"", parallel[] = "\"parallel\"";
	const char *end = trace.at + trace.size;
	for (const char *p = trace.at; p && p < end; p++) {
		p = memmem(p, (size_t)(end - p), step, sizeof step - 1);
		if (!p)
			break;
		p += sizeof step - 1;
		while (p < end && (*p == ' ' || *p == ':'))
			p++;
		if ((size_t)(end - p) < sizeof parallel ||
		    memcmp(p, parallel, sizeof parallel - 1))
			return false;
		plain = true;
	}
	return plain;
}

/* What says nothing of noise was measured before that was looked at. */
static bool is_quiet(Member noise)
{
	if (is_null(noise))
		return true;
	return noise_is_quiet(number_of(member_of(noise, "probe"), NAN),
	    number_of(member_of(noise, "switches"), -1),
	    number_of(member_of(noise, "cpu_s"), 0));
}

/* --- groups --------------------------------------------------------------- */

static bool same_bytes(const char *a, size_t n, Member m)
{
	return n == m.size && !memcmp(a, m.at, n);
}

static int *group_place(Finding *f, Member op, Member target)
{
	uint64_t h = hash64(target.at, target.size, hash_of(op));
	for (int k = (int)(h & (uint64_t)(f->cap - 1));;
	     k = (k + 1) & (f->cap - 1)) {
		if (!f->table[k])
			return &f->table[k];
		const Group *g = &f->groups.at[f->table[k] - 1];
		if (same_bytes(g->op, g->op_size, op) &&
		    same_bytes(g->target, g->target_size, target))
			return &f->table[k];
	}
}

static void grow_table(Finding *f)
{
	f->cap = f->cap ? 2 * f->cap : 64;
	f->table = NEW_N(f->arena, int, f->cap);
	for (int i = 0; i < f->groups.n; i++) {
		const Group *g = &f->groups.at[i];
		*group_place(f, (Member){g->op, g->op_size},
		    (Member){g->target, g->target_size}) = i + 1;
	}
}

static int group_of(Finding *f, Member op, Member target)
{
	if (2 * f->groups.n >= f->cap)
		grow_table(f);
	int *place = group_place(f, op, target);
	if (*place)
		return *place - 1;
	Group g = {.op = arena_strndup(f->arena, op.at, op.size),
	    .target = arena_strndup(f->arena, target.at, target.size),
	    .op_size = op.size,
	    .target_size = target.size};
	vec_push(f->arena, &f->groups, g);
	return (*place = f->groups.n) - 1;
}

/* --- reading --------------------------------------------------------------- */

static void look_at_mark(Finding *f, const StoredLine *stored)
{
	Line line;
	Error why;
	if (line_parse(stored->text, stored->size, &line, &why)) {
		store_damaged(f->store, stored->number, why.text);
		return;
	}
	const char *run = line.kind == LINE_RUN_START ? line.id : line.run;
	Mark m = {.run = hash64(run, strlen(run), 0),
	    .counter = json_integer_value(
		json_object_get(line.json, "counter")),
	    .accepts = line.kind == LINE_RUN_END &&
		       json_is_true(json_object_get(line.json, "accept")),
	    .target = arena_strdup(f->arena, line.target),
	    .regime = line.regime};
	const json_t *ops = json_object_get(line.json, "ops");
	if (line.kind == LINE_RUN_START)
		vec_push(f->arena, &f->marks, m);
	for (size_t i = 0; m.accepts && i < json_array_size(ops); i++) {
		const char *op = json_string_value(json_array_get(ops, i));
		m.op = arena_strdup(f->arena, op ? op : "");
		vec_push(f->arena, &f->marks, m);
	}
	line_free(&line);
}

/* Of another format, or to be read whole: false if it is no good. */
static bool read_whole(Finding *f, const StoredLine *stored)
{
	Line line;
	Error why;
	Status status = line_parse(stored->text, stored->size, &line, &why);
	if (!status) {
		line_free(&line);
		return true;
	}
	if (status == STATUS_UNSUPPORTED)
		f->status = error_set(f->error, status, "%s:%lld: %s",
		    store_path(f->store), (long long)stored->number, why.text);
	else
		store_damaged(f->store, stored->number, why.text);
	return false;
}

static bool is_wanted(const Finding *f, const Member m[NMEMBERS])
{
	const BestQuery *q = &f->query;
	return member_is(m[OUTCOME], "ok") && is_null(m[MEASURE]) &&
	       m[OP].at && m[TARGET].at &&
	       (!q->op || member_is(m[OP], q->op)) &&
	       (!q->target || member_is(m[TARGET], q->target)) &&
	       (f->any || !strcmp(regime_of(m[REGIME]), f->regime));
}

static bool look_at_trial(
    Finding *f, const StoredLine *stored, const Member m[NMEMBERS])
{
	if (!is_wanted(f, m))
		return true;
	Member run = member_of(m[BY], "run");
	Entry e = {.where = *stored,
	    .run = is_null(run) || run.size < 3
		? 0 : hash64(run.at + 1, run.size - 2, 0),
	    .trace = trace_hash(m[TRACE]),
	    .time_s = number_of(m[TIME], 0),
	    .spread_s = number_of(m[SPREAD], 0),
	    .final = member_is(m[ROUND], "final"),
	    .quiet = is_quiet(m[NOISE]),
	    .plain = is_plain(m[TRACE]) &&
		!is_null(member_of(m[BY], "run")) &&
		is_null(member_of(m[BY], "form"))};
	e.where.text = NULL;
	if (!is_id(m[ID]) || !(e.time_s > 0) || !isfinite(e.time_s)) {
		store_damaged(f->store, stored->number,
		    is_id(m[ID]) ? "an ok trial without 'time_s'"
				 : "an 'id' that is not 16 hex digits");
		return true;
	}
	if (f->whole && !read_whole(f, stored))
		return !f->status;
	memcpy(e.id, m[ID].at + 1, sizeof e.id);
	e.group = group_of(f, m[OP], m[TARGET]);
	f->groups.at[e.group].ok++;
	vec_push(f->arena, &f->entries, e);
	return true;
}

static bool is_escaped(Member m)
{
	return m.at && memchr(m.at, '\\', m.size);
}

/* One target may be spelled in many ways: a line with escapes is looked at as
 * tunec would write it. */
static bool look_at_printed(Finding *f, const StoredLine *stored)
{
	Member m[NMEMBERS];
	Line line;
	Error why;
	bool more = true;
	Buf text = {0};
	if (line_parse(stored->text, stored->size, &line, &why)) {
		store_damaged(f->store, stored->number, why.text);
		return true;
	}
	json_print(&text, line.json);
	if (line_members(text.data, text.size, keys, NMEMBERS, m))
		more = look_at_trial(f, stored, m);
	buf_free(&text);
	line_free(&line);
	return more;
}

static bool look(const StoredLine *stored, void *context)
{
	Finding *f = context;
	Member m[NMEMBERS];
	if (stored->size > LINE_MOST)
		return read_whole(f, stored) || !f->status;
	if (!line_members(stored->text, stored->size, keys, NMEMBERS, m) ||
	    !m[FORMAT].at) {
		store_damaged(f->store, stored->number, "no record");
		return true;
	}
	if (strtol(m[FORMAT].at, NULL, 10) != 1)
		return read_whole(f, stored) || !f->status;
	if (!member_is(m[KIND], "trial")) {
		look_at_mark(f, stored);
		return true;
	}
	if (is_escaped(m[OP]) || is_escaped(m[TARGET]))
		return look_at_printed(f, stored);
	return look_at_trial(f, stored, m);
}

/* --- order ------------------------------------------------------------------ */

static int by_run(const void *a, const void *b)
{
	const Mark *x = a, *y = b;
	return (x->run > y->run) - (x->run < y->run);
}

static int by_run_and_counter(const void *a, const void *b)
{
	const Mark *x = a, *y = b;
	int order = by_run(x, y);
	return order ? order
		     : (x->counter < y->counter) - (x->counter > y->counter);
}

/* The run-starts in `start`, one for each run: that with the greatest counter. */
static int find_starts(const Finding *f, Mark *start)
{
	int n = 0, kept = 0;
	for (int i = 0; i < f->marks.n; i++)
		if (!f->marks.at[i].accepts)
			start[n++] = f->marks.at[i];
	sort(start, (size_t)n, sizeof *start, by_run_and_counter);
	for (int i = 0; i < n; i++)
		if (!i || start[i].run != start[i - 1].run)
			start[kept++] = start[i];
	return kept;
}

/* The counters of the runs, to their trials and to the marks of their ends. */
static void set_counters(Finding *f)
{
	int n = f->marks.n;
	Mark *start = NEW_N(f->arena, Mark, n);
	int starts = find_starts(f, start);
	if (!starts)
		return;
	for (int i = 0; i < n + f->entries.n; i++) {
		Entry *e = i < n ? NULL : &f->entries.at[i - n];
		Mark key = {.run = e ? e->run : f->marks.at[i].run};
		const Mark *own = bsearch(
		    &key, start, (size_t)starts, sizeof *start, by_run);
		if (e)
			e->counter = own ? own->counter : 0;
		else if (own)
			f->marks.at[i].counter = own->counter;
	}
}

static int by_group_and_age(const void *a, const void *b)
{
	const Entry *x = a, *y = b;
	if (x->group != y->group)
		return x->group - y->group;
	if (x->counter != y->counter)
		return x->counter < y->counter ? -1 : 1;
	return (x->where.number > y->where.number) -
	       (x->where.number < y->where.number);
}

/* --- choosing --------------------------------------------------------------- */

static bool better(const Entry *a, const Entry *b)
{
	if (a->time_s != b->time_s)
		return a->time_s < b->time_s;
	return memcmp(a->id, b->id, sizeof a->id) < 0;
}

/* Adds to a set of non-zero numbers; false if it is there. */
static bool set_add(uint64_t *set, int cap, uint64_t h)
{
	int k = (int)(h & (uint64_t)(cap - 1));
	while (set[k] && set[k] != h)
		k = (k + 1) & (cap - 1);
	bool added = !set[k];
	set[k] = h;
	return added;
}

/* The best of n > 0 lines from the oldest to the newest, each trace with its
 * newest quiet line, or its newest where none was quiet. */
static const Entry *least(Arena *arena, const Entry *e, int n)
{
	const Entry *best = NULL;
	int cap = 16;
	while (cap < 2 * n)
		cap *= 2;
	uint64_t *seen = NEW_N(arena, uint64_t, cap);
	for (int quiet = 1; quiet >= 0; quiet--)
		for (int i = n - 1; i >= 0; i--)
			if (e[i].quiet == quiet &&
			    set_add(seen, cap, e[i].trace) &&
			    (!best || better(&e[i], best)))
				best = &e[i];
	return best;
}

/* A final round: lines of one run, or between the same search trials. */
typedef struct {
	const Entry *at; /* oldest first */
	int n;
	const Entry *best;
	bool quiet;
} FinalRound;
typedef VEC(FinalRound) RoundVec;

typedef struct {
	Entry entry;
	uint64_t round; /* the run, or a number for those that name none */
	int age;
} FinalLine;

static int by_round(const void *a, const void *b)
{
	const FinalLine *x = a, *y = b;
	if (x->round != y->round)
		return x->round < y->round ? -1 : 1;
	return x->age - y->age;
}

static int by_age(const void *a, const void *b)
{
	const FinalRound *x = a, *y = b;
	return by_group_and_age(&x->at[x->n - 1], &y->at[y->n - 1]);
}

/* Of a group's lines, oldest first; the rounds too. */
static void find_rounds(Arena *arena, const Entry *e, int n, RoundVec *rounds)
{
	FinalLine *final = NEW_N(arena, FinalLine, n);
	Entry *sorted = NEW_N(arena, Entry, n);
	int count = 0;
	uint64_t nameless = 1;
	for (int i = 0; i < n; i++)
		if (e[i].final)
			final[count++] = (FinalLine){
			    e[i], e[i].run ? e[i].run : nameless, i};
		else
			nameless++;
	sort(final, (size_t)count, sizeof *final, by_round);
	for (int i = 0; i < count; i++) {
		sorted[i] = final[i].entry;
		if (!i || final[i].round != final[i - 1].round)
			vec_push(arena, rounds,
			    (FinalRound){.at = &sorted[i], .quiet = true});
		FinalRound *r = &rounds->at[rounds->n - 1];
		r->n++;
		r->quiet &= sorted[i].quiet;
	}
	for (int i = 0; i < rounds->n; i++)
		rounds->at[i].best =
		    least(arena, rounds->at[i].at, rounds->at[i].n);
	sort(rounds->at, (size_t)rounds->n, sizeof *rounds->at, by_age);
}

/* By more than the two were uncertain, of which a twentieth at most counts. */
static bool is_slower(const Entry *a, const Entry *b)
{
	double spread = fmax(a->spread_s, b->spread_s);
	return a->time_s > b->time_s + fmin(spread, 0.05 * b->time_s);
}

static bool is_for(const Mark *m, const Finding *f, const Group *g)
{
	Member op = {g->op, g->op_size}, target = {g->target, g->target_size};
	return m->accepts && member_is(op, m->op) &&
	       member_is(target, m->target) && !strcmp(m->regime, f->regime);
}

/* Did a run accept the round, as the newest quiet one there was? */
static bool is_accepted(const Finding *f, const Group *g, const FinalRound *r,
    const FinalRound *next)
{
	for (int i = 0; i < f->marks.n; i++) {
		const Mark *m = &f->marks.at[i];
		if (is_for(m, f, g) && m->counter >= r->best->counter &&
		    (!next || m->counter < next->best->counter))
			return true;
	}
	return false;
}

/* The plain loops count only beside another trace that was measured.  (Where the
 * space has none they are candidate 1; that trial says its form.) */
static bool has_other(const Entry *e, int n)
{
	for (int i = 0; i < n; i++)
		if (!e[i].plain)
			return true;
	return false;
}

/* The best of a group's n > 0 lines, oldest first. */
static const Entry *choose(
    Finding *f, const Group *group, const Entry *e, int n)
{
	RoundVec rounds = {0};
	const FinalRound *stands = NULL;
	int quiet = 0;
	if (!f->no_round)
		find_rounds(f->arena, e, n, &rounds);
	for (int i = 0; i < rounds.n; i++)
		if (rounds.at[i].quiet &&
		    has_other(rounds.at[i].at, rounds.at[i].n))
			rounds.at[quiet++] = rounds.at[i];
	for (int i = 0; i < quiet; i++) {
		const FinalRound *r = &rounds.at[i];
		const FinalRound *next = i + 1 < quiet ? r + 1 : NULL;
		if (!stands || !is_slower(r->best, stands->best) ||
		    is_accepted(f, group, r, next))
			stands = r;
	}
	return stands ? stands->best
	    : has_other(e, n) ? least(f->arena, e, n) : NULL;
}

/* --- a layer ----------------------------------------------------------------- */

static Status read_layer(Finding *f, StoreQuery *query, bool *narrowed)
{
	f->entries.n = f->marks.n = 0;
	FORWARD_IF_ERROR(
	    store_scan(f->store, query, look, f, narrowed, f->error));
	FORWARD_IF_ERROR(f->status);
	set_counters(f);
	sort(f->entries.at, (size_t)f->entries.n,
	    sizeof *f->entries.at, by_group_and_age);
	return STATUS_OK;
}

/* The winner's line; json stays NULL where it is damaged or gone. */
static void take(Finding *f, const Entry *winner, Line *best)
{
	Buf text = {0};
	Error why;
	line_free(best); /* of a reading before */
	if (store_fetch(f->store, &winner->where, &text, &why) ||
	    line_parse(text.data, text.size, best, &why) ||
	    best->time_s != winner->time_s)
		line_free(best);
	buf_free(&text);
}

/* Is it certain that no line which a narrowed reading of the `fastest` left out
 * is better?  Those left out took no less than the slowest of so many. */
static bool is_certain(const Finding *f, const Entry *winner, int fastest)
{
	int n = f->entries.n;
	if (!winner || n < fastest)
		return n < fastest;
	double *times = NEW_N(f->arena, double, n);
	for (int i = 0; i < n; i++)
		times[i] = f->entries.at[i].time_s;
	sort_doubles(times, n);
	return winner->time_s < times[fastest - 1];
}

static bool has_quiet_round(const Finding *f)
{
	RoundVec rounds = {0};
	find_rounds(f->arena, f->entries.at, f->entries.n, &rounds);
	for (int i = 0; i < rounds.n; i++)
		if (rounds.at[i].quiet)
			return true;
	return false;
}

/* The lines that the best of one operator and target is among: its final
 * rounds; else more and more of the fastest. */
static Status read_narrowed(Finding *f, bool *narrowed)
{
	StoreQuery query = {.op = f->query.op,
	    .target = f->query.target,
	    .regime = f->regime,
	    .finals = true};
	FORWARD_IF_ERROR(read_layer(f, &query, narrowed));
	if (!*narrowed || has_quiet_round(f))
		return STATUS_OK;
	query.finals = false;
	f->no_round = true;
	for (query.fastest = 64; query.fastest < 1 << 28; query.fastest *= 8) {
		FORWARD_IF_ERROR(read_layer(f, &query, narrowed));
		if (!*narrowed || !f->entries.n ||
		    is_certain(f,
			choose(f, f->groups.at, f->entries.at, f->entries.n),
			query.fastest))
			break;
	}
	return STATUS_OK;
}

/* Fills in the best of each group that has none yet; *damaged: a winner is. */
static void choose_all(Finding *f, bool *damaged)
{
	const Entry *e = f->entries.at;
	for (int i = 0, n; i < f->entries.n; i += n) {
		Group *g = &f->groups.at[e[i].group];
		for (n = 1; i + n < f->entries.n; n++)
			if (e[i + n].group != e[i].group)
				break;
		if (g->found)
			continue;
		const Entry *winner = choose(f, g, e + i, n);
		if (!winner)
			continue;
		take(f, winner, &g->best);
		*damaged |= !g->best.json;
	}
}

/* Once more, every line read whole, where a winner turns out to be damaged. */
static Status find_in_layer(Finding *f)
{
	StoreQuery all = {.op = f->query.op};
	bool damaged = false, narrowed;
	int ngroups = f->groups.n;
	int *ok = NEW_N(f->arena, int, ngroups);
	for (int i = 0; i < ngroups; i++)
		ok[i] = f->groups.at[i].ok;
	f->whole = f->no_round = false;
	FORWARD_IF_ERROR(f->query.op && f->query.target
		? read_narrowed(f, &narrowed)
		: read_layer(f, &all, &narrowed));
	choose_all(f, &damaged);
	if (damaged) {
		f->whole = true;
		f->no_round = false;
		for (int i = 0; i < f->groups.n; i++)
			f->groups.at[i].ok = i < ngroups ? ok[i] : 0;
		FORWARD_IF_ERROR(read_layer(f, &all, &narrowed));
		choose_all(f, &damaged);
	}
	for (int i = 0; i < f->groups.n; i++)
		f->groups.at[i].found |= f->groups.at[i].best.json != NULL;
	return STATUS_OK;
}

/* --- the interface ------------------------------------------------------------ */

static Finding begin(const BestQuery *query, Error *error)
{
	return (Finding){.arena = arena_new(),
	    .query = *query,
	    .regime = query->regime ? query->regime : "warm",
	    .error = error};
}

static void end(Finding *f)
{
	for (int i = 0; i < f->groups.n; i++)
		line_free(&f->groups.at[i].best);
	arena_free(f->arena);
}

Status best_each(Store *const *layers, int nlayers, const BestQuery *query,
    void (*each)(const Line *best, int ok, void *context), void *context,
    Error *error)
{
	Finding f = begin(query, error);
	Status status = STATUS_OK;
	for (int i = 0; i < nlayers && !status; i++) {
		f.store = layers[i];
		status = find_in_layer(&f);
	}
	for (int i = 0; i < f.groups.n && !status; i++)
		if (f.groups.at[i].best.json)
			each(&f.groups.at[i].best, f.groups.at[i].ok, context);
	end(&f);
	return status;
}

Status best_find(Store *const *layers, int nlayers, const BestQuery *query,
    Line *best, Error *error)
{
	Finding f = begin(query, error);
	Status status = STATUS_OK;
	*best = (Line){0};
	for (int i = 0; i < nlayers && !status && !best->json; i++) {
		f.store = layers[i];
		status = find_in_layer(&f);
		if (f.groups.n && f.groups.at[0].best.json) {
			*best = f.groups.at[0].best;
			f.groups.at[0].best = (Line){0};
		}
	}
	end(&f);
	return status;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

Status best_targets(Arena *arena, Store *const *layers, int nlayers,
    const char *op, TextVec *targets, Error *error)
{
	BestQuery query = {.op = op};
	StoreQuery fastest = {.op = op, .fastest = 1};
	Finding f = begin(&query, error);
	Status status = STATUS_OK;
	bool narrowed;
	f.any = true;
	for (int i = 0; i < nlayers && !status; i++) {
		f.store = layers[i];
		status = read_layer(&f, &fastest, &narrowed);
	}
	for (int i = 0; i < f.groups.n && !status; i++) {
		const Group *g = &f.groups.at[i];
		json_t *text = json_loadb(
		    g->target, g->target_size, JSON_DECODE_ANY, NULL);
		if (json_is_string(text))
			vec_push(arena, targets,
			    arena_strdup(arena, json_string_value(text)));
		json_decref(text);
	}
	sort(targets->at, (size_t)targets->n, sizeof *targets->at,
		    by_text);
	end(&f);
	return status;
}
