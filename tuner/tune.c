/* The tuning loop: what the store knows, then search, measure, learn, store,
 * until the budget is covered; then the finalists once more, side by side. */
#include "tuner/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "lib/hash.h"
#include "tuner/store/history.h"
#include "tuner/measure/measure_internal.h"
#include "tuner/search/search.h"

enum {
	BATCH = 32,
	FINALISTS = 5,
	FIRST_TRIES = 2000,   /* samples behind candidate 1 */
	HOPELESS_TRIALS = 40, /* of which all but a few failed */
	SMALL_SPACE = 100000
};

typedef struct {
	char *trace;  /* canonical JSON */
	char id[17];
	char object[65];
	double time_s; /* infinite: failed */
	Trace *parsed;
	Measurement measured;
} Known;

typedef struct {
	Arena *arena;
	const Program *program;
	const Target *target;
	const TuneOptions *options;
	Store *store;
	TuneResult *result;
	Error *error;
	Measurer *measurer;
	Space *space;
	Search *search;
	Model *model;
	VEC(Known) known; /* trials of the store and of this run */
	VEC(Known) replay;
	json_t *machine, *verified;
	char run_id[17];
	History history; /* of what others stored: before, and now beside it */
	int nstored;     /* of known, those from before this run */
	double start;
	int64_t last_fit;
	int failed_by[OUTCOME_IMPLAUSIBLE + 1];
	void (*progress)(const TuneProgress *, void *);
	void *context;
} Tune;

/* --- what the store knows -------------------------------------------------------- */

static Known known_of(Tune *t, const Line *line)
{
	Known k = {.time_s =
		       line->outcome == OUTCOME_OK ? line->time_s : INFINITY};
	Error ignored;
	json_t *trace = json_object_get(line->json, "trace");
	char *text = json_dumps(trace, JSON_COMPACT);
	k.trace = arena_strdup(t->arena, text);
	free(text);
	memcpy(k.id, line->id, sizeof k.id);
	k.parsed = trace_from_json(t->arena, trace, &ignored);
	if (k.parsed)
		k.parsed = trace_localized(
		    t->arena, t->program, k.parsed, &ignored);
	k.measured = measure_nothing(line->outcome);
	k.measured.time_s = line->time_s;
	return k;
}

static const char *cache_word(const TuneOptions *o)
{
	return o->measure.cold ? "cold" : "warm";
}

/* What lines say of where their times come from; NULL: measured. */
static const char *measure_word(const TuneOptions *o)
{
	if (o->replay_db)
		return "replay";
	return o->measure.machine == MACHINE_REAL ? NULL : "simulate";
}

static void keep_trial(const Line *line, void *context)
{
	Tune *t = context;
	vec_push(t->arena, &t->known, known_of(t, line));
}

static History history_of(Arena *arena, const Program *program,
    const Target *target, const TuneOptions *options)
{
	return (History){.arena = arena,
	    .op = program->op,
	    .target = target->text,
	    .regime = cache_word(options),
	    .measure = measure_word(options)};
}

Status tune_stored(const Program *program, const Target *target, Store *store,
    const TuneOptions *options, int64_t *trials, double *spent_s, Error *error)
{
	Arena *arena = arena_new();
	History h = history_of(arena, program, target, options);
	Status status = history_read(&h, store, error);
	*trials = h.trials;
	*spent_s = h.spent_s;
	arena_free(arena);
	return status;
}

/* A candidate that somebody has measured is not measured again. */
static void learn_known(Tune *t, int i);

/* What other tuners have added to the store meanwhile. */
static Status follow(Tune *t)
{
	int i = t->known.n;
	FORWARD_IF_ERROR(history_read(&t->history, t->store, t->error));
	for (; i < t->known.n; i++)
		learn_known(t, i);
	return STATUS_OK;
}

static bool read_replay_line(Line *line, void *context)
{
	Tune *t = context;
	if (line->kind == LINE_TRIAL &&
	    !strcmp(line->regime, cache_word(t->options)))
		vec_push(t->arena, &t->replay, known_of(t, line));
	return true;
}

static Status read_replay(Tune *t)
{
	Store *from;
	FORWARD_IF_ERROR(store_open(
	    t->options->replay_db, STORE_READ, &from, t->error));
	Status status = store_each(from, t->program->op, read_replay_line, t,
	    NULL, t->error);
	store_close(from);
	return status;
}

/* --- budget ------------------------------------------------------------------------- */

static double elapsed(const Tune *t)
{
	return measure_now() - t->start;
}

/* Seconds that this run may still take; infinite without such a limit. */
static double time_left(const Tune *t)
{
	double left = INFINITY;
	if (t->options->time_s >= 0)
		left = t->options->time_s - elapsed(t) -
		    (t->options->more ? 0 : t->history.spent_s);
	if (t->options->left_s >= 0 && t->options->left_s - elapsed(t) < left)
		left = t->options->left_s - elapsed(t);
	return left;
}

static int64_t trials_left(const Tune *t)
{
	if (t->options->trials < 0)
		return INT64_MAX;
	return t->options->trials - t->result->trials -
	    (t->options->more ? 0 : t->history.trials);
}

/* Two virtual CPUs may have been one core while it was measured. */
static bool peak_is_short(const Tune *t)
{
	return t->result->peak_all <
	    0.9 * t->result->peak_one * t->target->threads;
}

/* What is kept for the final round; no more than a fifth of the time that there
 * is, or a slow plain nest would leave none to search in. */
static double final_cost(const Tune *t)
{
	double best = t->result->best_s > 0 ? t->result->best_s : 0;
	double runs = fmin(70 * best, fmax(MEASURE_FINAL_S, 10 * best));
	double peak = peak_is_short(t) ? 0.2 : 0;
	double cost = FINALISTS * (0.08 + runs) + 0.1 + peak;
	return t->options->time_s < 0 ? cost
				      : fmin(cost, 0.2 * t->options->time_s);
}

static bool interrupted(const Tune *t)
{
	return t->options->interrupted && *t->options->interrupted;
}

static bool budget_left(const Tune *t)
{
	return trials_left(t) > 0 && time_left(t) > final_cost(t) &&
	    !interrupted(t);
}

static void report(Tune *t, TunePhase phase)
{
	TuneResult *r = t->result;
	double s = elapsed(t), left = time_left(t);
	TuneProgress p = {.phase = phase,
	    .trials = r->trials,
	    .failed = r->failed,
	    .best_s = r->best_s,
	    .peak_flops_per_s = r->peak_all,
	    .trials_per_s = s > 0 ? (double)r->trials / s : 0,
	    .rank_correlation = t->model ? model_correlation(t->model) : NAN,
	    .elapsed_s = s,
	    .left_s = isinf(left) ? -1 : left};
	if (r->best_s > 0)
		p.best_flops_per_s = (double)t->program->flops / r->best_s;
	if (t->progress)
		t->progress(&p, t->context);
}

/* --- lines ---------------------------------------------------------------------------- */

static json_t *machine_json(Arena *arena)
{
	HostFacts facts;
	json_t *m = json_object();
	host_facts(arena, &facts);
	json_object_set_new(m, "model", json_text(facts.model));
	json_object_set_new(m, "features", json_text(facts.features));
	json_object_set_new(m, "cores", json_integer(facts.cpus));
	json_object_set_new(m, "caches",
	    json_pack("[I,I,I]", (json_int_t)facts.l1_bytes,
		(json_int_t)facts.l2_bytes, (json_int_t)facts.l3_bytes));
	json_object_set_new(m, "clock_ghz", json_real(facts.clock_ghz));
	return m;
}

static Status put_mark(Tune *t, LineKind kind, json_t *fields)
{
	Line line;
	line_mark(kind, fields, &line);
	json_decref(fields);
	Status status = store_append(t->store, &line, t->error);
	if (kind == LINE_RUN_START)
		memcpy(t->run_id, line.id, sizeof t->run_id);
	line_free(&line);
	return status;
}

static void set_measure(const Tune *t, json_t *mark)
{
	const char *word = measure_word(t->options);
	if (word)
		json_object_set_new(mark, "measure", json_string(word));
}

static Status put_start(Tune *t)
{
	const TuneOptions *o = t->options;
	json_t *f = json_object();
	json_object_set_new(f, "ops", json_pack("[s]", t->program->op));
	json_object_set_new(f, "target", json_text(t->target->text));
	json_object_set_new(f, "regime", json_string(cache_word(t->options)));
	json_object_set_new(f, "trials",
	    o->trials < 0 ? json_null() : json_integer(o->trials));
	json_object_set_new(
	    f, "time_s", o->time_s < 0 ? json_null() : json_real(o->time_s));
	json_object_set_new(f, "seed", json_integer((json_int_t)o->seed));
	json_object_set_new(f, "search",
	    json_string(o->search == SEARCH_RANDOM ? "random" : "sa"));
	json_object_set_new(f, "command",
	    o->command ? json_text(o->command) : json_null());
	/* two that begin in one millisecond are two */
	uint64_t nonce = 0;
	if (getrandom(&nonce, sizeof nonce, 0) != sizeof nonce)
		nonce = (uint64_t)getpid();
	json_object_set_new(
	    f, "nonce", json_integer((json_int_t)(nonce >> 1)));
	json_object_set_new(f, "counter",
	    json_integer((json_int_t)t->history.counter + 1));
	set_measure(t, f);
	FORWARD_IF_ERROR(put_mark(t, LINE_RUN_START, f));
	memcpy(t->history.own, t->run_id, sizeof t->history.own);
	return follow(t);
}

json_t *tune_times_json(const TuneTimes *t)
{
	return json_pack("{s:f,s:f,s:f,s:f,s:f,s:f,s:f}", "search", t->search,
	    "features", t->features, "train", t->train, "compile", t->compile,
	    "check", t->check, "run", t->run, "idle", t->idle);
}

/* What tells a space from another: all its sketches. */
static const char *space_key(const Tune *t, const Space *space)
{
	json_t *sketches = json_array();
	for (int i = 0; i < space_nsketches(space); i++)
		json_array_append_new(
		    sketches, trace_to_json(space_sketch(space, i)));
	char *text = json_dumps(sketches, JSON_COMPACT);
	char *key = NEW_N(t->arena, char, 65);
	sha256_hex(text, strlen(text), key);
	free(text);
	json_decref(sketches);
	return key;
}

static Status put_end(Tune *t)
{
	const TuneResult *r = t->result;
	RefusalCount counts[64];
	json_t *f = json_object(), *refusals = json_object();
	int n = t->space ? space_refusals(t->space, counts, 64) : 0;
	for (int i = 0; i < n; i++)
		json_object_set_new(refusals, counts[i].why,
		    json_integer((json_int_t)counts[i].count));
	json_object_set_new(f, "run", json_string(t->run_id));
	json_object_set_new(f, "ops", json_pack("[s]", t->program->op));
	json_object_set_new(f, "target", json_text(t->target->text));
	json_object_set_new(f, "regime", json_string(cache_word(t->options)));
	json_object_set_new(f, "complete",
	    json_boolean(!r->interrupted && !r->hopeless && !r->broken));
	json_object_set_new(f, "exhausted", json_boolean(r->exhausted));
	json_object_set_new(f, "elapsed_s", json_real(elapsed(t)));
	json_object_set_new(f, "spent_s", json_real(r->spent_s));
	json_object_set_new(
	    f, "trials", json_integer((json_int_t)r->trials));
	json_object_set_new(
	    f, "failed", json_integer((json_int_t)r->failed));
	json_object_set_new(
	    f, "scored", json_integer((json_int_t)r->scored));
	json_object_set_new(f, "peak_flops_per_s", json_real(r->peak_all));
	json_object_set_new(f, "times_s", tune_times_json(&r->times));
	json_object_set_new(f, "refusals", refusals);
	if (r->exhausted)
		json_object_set_new(
		    f, "space", json_string(space_key(t, t->space)));
	if (t->options->accept)
		json_object_set_new(f, "accept", json_true());
	set_measure(t, f);
	return put_mark(t, LINE_RUN_END, f);
}

static json_t *noise_json(const Measurement *m)
{
	if (isnan(m->noise_probe))
		return NULL;
	return json_pack("{s:f,s:I,s:f}", "probe", m->noise_probe, "switches",
	    (json_int_t)m->noise_switches, "cpu_s", m->noise_cpu_s);
}

static Status put_trial(Tune *t, const char *trace_text, const Measurement *m,
    bool final, const char *same_as, char id[17])
{
	json_t *trace = json_loads(trace_text, 0, NULL);
	json_t *by = json_object();
	json_object_set_new(by, "tunec", json_string(TUNEC_VERSION));
	json_object_set_new(by, "compiler", json_string("llvm"));
	json_object_set_new(by, "search",
	    json_string(t->options->search == SEARCH_RANDOM ? "random"
							    : "sa"));
	json_object_set_new(
	    by, "seed", json_integer((json_int_t)t->options->seed));
	json_object_set_new(by, "trial",
	    json_integer((json_int_t)(t->history.trials + t->result->trials)));
	json_object_set_new(by, "run", json_string(t->run_id));
	if (!measure_word(t->options)) /* those are the same every time */
		json_object_set_new(by, "elapsed_s", json_real(elapsed(t)));
	Trial trial = {.op = t->program->op,
	    .op_text = t->program->op_text,
	    .name = t->program->name,
	    .case_name = t->program->case_name,
	    .target = t->target->text,
	    .trace = trace,
	    .outcome = m->outcome,
	    .error = m->outcome == OUTCOME_OK ? NULL : m->error,
	    .time_s = m->time_s,
	    .spread_s = m->spread_s,
	    .runs_s = m->runs_s,
	    .nruns = m->nruns,
	    .cold = t->options->measure.cold,
	    .threads = t->target->threads,
	    .pinning = t->options->measure.pin ? "cores" : "none",
	    .final = final,
	    .verified = t->verified,
	    .machine = t->machine,
	    .by = by,
	    .same_as = same_as,
	    .measure = measure_word(t->options),
	    .noise = noise_json(m)};
	Line line;
	line_trial(&trial, &line);
	json_decref(trial.noise);
	Status status = store_append(t->store, &line, t->error);
	memcpy(id, line.id, sizeof line.id);
	line_free(&line);
	json_decref(by);
	json_decref(trace);
	return status;
}

/* --- one trial --------------------------------------------------------------------------- */

static char *trace_text(Tune *t, const Trace *trace)
{
	json_t *json = trace_to_json(
	    trace_canonical(t->arena, t->program, trace));
	char *dumped = json_dumps(json, JSON_COMPACT);
	char *text = arena_strdup(t->arena, dumped);
	free(dumped);
	json_decref(json);
	return text;
}

static const Known *find_trace(const Known *list, int n, const char *text)
{
	for (int i = n - 1; i >= 0; i--)
		if (!strcmp(list[i].trace, text))
			return &list[i];
	return NULL;
}

/* The trial of this run that measured an equal object, or NULL. */
static const Known *find_object(const Tune *t, const char *object)
{
	for (int i = 0; i < t->known.n && object[0]; i++)
		if (t->known.at[i].measured.outcome == OUTCOME_OK &&
		    !strcmp(t->known.at[i].object, object))
			return &t->known.at[i];
	return NULL;
}

static void replay_trace(const Tune *t, const char *text, Measurement *m)
{
	const Known *k = find_trace(t->replay.at, t->replay.n, text);
	*m = measure_nothing(OUTCOME_BUILD);
	if (k)
		*m = k->measured;
	else
		snprintf(m->error, sizeof m->error, "not in the store");
}

/* Stores a search trial and what it means for the best. */
static Status finish_trial(Tune *t, const Trace *trace, char *text,
    const Measurement *m, const char *same_as)
{
	TuneResult *r = t->result;
	Known k = {.trace = text, .parsed = (Trace *)(uintptr_t)trace};
	r->trials++;
	FORWARD_IF_ERROR(put_trial(t, text, m, false, same_as, k.id));
	k.measured = *m;
	memcpy(k.object, m->object, sizeof k.object);
	bool ok = m->outcome == OUTCOME_OK && m->time_s > 0;
	k.time_s = ok ? m->time_s : INFINITY;
	vec_push(t->arena, &t->known, k);
	r->ok += ok;
	r->failed += !ok;
	t->failed_by[m->outcome]++;
	if (ok && (r->best_s <= 0 || m->time_s < r->best_s)) {
		r->best_s = m->time_s;
		memcpy(r->best_id, k.id, sizeof r->best_id);
	}
	if (!ok && !r->best_error[0])
		snprintf(r->best_error, sizeof r->best_error, "%s: %.480s",
		    outcome_name(m->outcome), m->error);
	return STATUS_OK;
}

/* The i-th of those that were compiled to m. */
static Status run_trial(
    Tune *t, int i, const Trace *trace, char *text, Measurement *m)
{
	const Known *same = find_object(t, m->object);
	if (same) {
		*m = same->measured;
	} else if (m->outcome == OUTCOME_OK && !t->options->replay_db) {
		FORWARD_IF_ERROR(measure_run(
		    t->measurer, i, t->result->best_s, m, t->error));
		t->result->times.check += m->check_s;
		t->result->times.run += m->run_s;
	}
	FORWARD_IF_ERROR(
	    finish_trial(t, trace, text, m, same ? same->id : NULL));
	report(t, TUNE_SEARCH);
	return STATUS_OK;
}

/* Compiled at once, run one by one while the budget lasts; the times of the
 * *ran first, infinite for those that failed, NaN for those that another tuner
 * had measured by then. */
static Status try_traces(
    Tune *t, const Trace *const *traces, int n, double *times, int *ran)
{
	Measurement m[MEASURE_WIDTH];
	char *texts[MEASURE_WIDTH];
	double start = measure_now();
	for (int i = 0; i < n; i++) {
		texts[i] = trace_text(t, traces[i]);
		if (t->options->replay_db)
			replay_trace(t, texts[i], &m[i]);
	}
	if (!t->options->replay_db)
		FORWARD_IF_ERROR(
		    measure_compile(t->measurer, traces, n, m, t->error));
	t->result->times.compile += measure_now() - start;
	for (*ran = 0; *ran < n; ++*ran) {
		int i = *ran;
		FORWARD_IF_ERROR(follow(t));
		if (!budget_left(t))
			break;
		times[i] = NAN;
		if (find_trace(t->known.at + t->nstored,
			t->known.n - t->nstored, texts[i]))
			continue;
		FORWARD_IF_ERROR(run_trial(t, i, traces[i], texts[i], &m[i]));
		times[i] = t->known.at[t->known.n - 1].time_s;
	}
	return STATUS_OK;
}

static Status try_trace(Tune *t, const Trace *trace, double *time_s)
{
	int ran;
	return try_traces(t, &trace, 1, time_s, &ran);
}

/* --- search -------------------------------------------------------------------------------- */

static bool sample_space(void *context, Rng *rng, Candidate *out)
{
	return space_sample(((Tune *)context)->space, rng, out);
}

static bool mutate_space(
    void *context, Rng *rng, const Candidate *from, Candidate *out)
{
	return space_mutate(((Tune *)context)->space, rng, from, out);
}

static bool at_space(void *context, int64_t i, Candidate *out)
{
	return space_at(((Tune *)context)->space, i, out);
}

static uint64_t kind_of(void *context, const Candidate *candidate)
{
	return space_register_tile(((Tune *)context)->space, candidate);
}

static void score_candidates(
    void *context, const Candidate *candidates, int n, float *scores)
{
	Tune *t = context;
	if (t->model && model_fitted(t->model)) {
		static _Thread_local float rows[256 * FEATURES];
		for (int i = 0; i < n; i += 256) {
			int count = n - i < 256 ? n - i : 256;
			space_features(t->space, candidates + i, count, rows);
			model_predict(t->model, rows, count, scores + i);
		}
		return;
	}
	double *seconds = must_alloc(sizeof *seconds * (size_t)n);
	space_analytic(t->space, candidates, n, seconds);
	for (int i = 0; i < n; i++)
		scores[i] = (float)-log(seconds[i]);
	free(seconds);
}

static void learn(Tune *t, const Candidate *c, double time_s)
{
	float row[FEATURES];
	search_tell(t->search, c, time_s);
	if (!t->model)
		return;
	space_features(t->space, c, 1, row);
	model_add(t->model, 0, row, time_s);
}

/* What others measured, as far as the space has it. */
static void learn_known(Tune *t, int i)
{
	Refusal why;
	Candidate c;
	const Known *k = &t->known.at[i];
	if (!t->search || !k->parsed ||
	    !space_find(t->space, k->parsed, &c) ||
	    !space_legal(t->space, &c, &why))
		return;
	search_visit(t->search, &c);
	learn(t, &c, k->time_s);
}

static Status fit(Tune *t)
{
	double start = measure_now();
	if (!t->model || model_rows(t->model) < BATCH ||
	    model_rows(t->model) - t->last_fit <
		(t->last_fit < 8 * BATCH ? BATCH : 2 * BATCH))
		return STATUS_OK;
	t->last_fit = model_rows(t->model);
	Status status = model_fit(t->model, t->error);
	t->result->times.train += measure_now() - start;
	return status;
}

static bool all_fail(const Tune *t)
{
	int most = 0;
	for (int i = OUTCOME_BUILD; i <= OUTCOME_IMPLAUSIBLE; i++)
		if (t->failed_by[i] > most)
			most = t->failed_by[i];
	return t->result->trials >= HOPELESS_TRIALS &&
	    most * 20 >= t->result->trials * 19;
}

/* The next of a batch of n, from *at on. */
static Status try_candidates(Tune *t, const Candidate *batch, int n, int *at)
{
	const Trace *traces[MEASURE_WIDTH];
	double times[MEASURE_WIDTH];
	int ran, width = measure_width(t->measurer);
	if (n - *at < width)
		width = n - *at;
	for (int i = 0; i < width; i++)
		traces[i] = space_trace(t->arena, t->space, &batch[*at + i]);
	FORWARD_IF_ERROR(try_traces(t, traces, width, times, &ran));
	for (int i = 0; i < ran; i++)
		if (!isnan(times[i]))
			learn(t, &batch[*at + i], times[i]);
	*at += ran;
	return STATUS_OK;
}

static Status search_loop(Tune *t)
{
	TuneResult *r = t->result;
	while (budget_left(t)) {
		Candidate batch[BATCH];
		FORWARD_IF_ERROR(fit(t));
		double start = measure_now();
		int64_t want = trials_left(t) < BATCH ? trials_left(t) : BATCH;
		int n = search_next(
		    t->search, score_candidates, t, (int)want, batch);
		r->times.search += measure_now() - start;
		for (int i = 0; i < n && budget_left(t);)
			FORWARD_IF_ERROR(try_candidates(t, batch, n, &i));
		if (n < want) {
			r->exhausted = true;
			break;
		}
		if (all_fail(t)) {
			r->hopeless = true;
			break;
		}
	}
	return STATUS_OK;
}

/* --- beginning and end ------------------------------------------------------------------------ */

static Status measure_plain(Tune *t)
{
	Measurement m;
	Trace *plain = schedule_plain(t->arena, t->program);
	char *text = trace_text(t, plain);
	report(t, TUNE_REFERENCE);
	if (t->options->replay_db)
		replay_trace(t, text, &m);
	else
		FORWARD_IF_ERROR(measure_reference(t->measurer, &m, t->error));
	FORWARD_IF_ERROR(finish_trial(t, plain, text, &m, NULL));
	if (m.outcome == OUTCOME_WRONG)
		return error_set(t->error, STATUS_WRONG,
		    "the plain loop nest disagrees with the interpreter: %.800s",
		    m.error);
	if (m.outcome != OUTCOME_OK && !t->options->replay_db)
		return error_set(t->error, STATUS_CRASH,
		    "the plain loop nest cannot be measured: %s: %.800s",
		    outcome_name(m.outcome), m.error);
	t->result->plain_s = m.outcome == OUTCOME_OK ? m.time_s : 0;
	return STATUS_OK;
}

/* What the machine can do, not what its other users left at that moment: the
 * most that was measured. */
static void measure_peaks(Tune *t)
{
	TuneResult *r = t->result;
	double one, all;
	Error ignored;
	if (t->options->measure.machine != MACHINE_REAL ||
	    t->options->replay_db ||
	    measure_peak(t->measurer, &one, &all, &ignored))
		return;
	r->peak_one = fmax(r->peak_one, one);
	r->peak_all = fmax(r->peak_all, all);
	measure_set_peak(
	    t->measurer, fmax(r->peak_all, r->peak_one * t->target->threads));
}

/* Candidate 1, and the best so far of an earlier run. */
static Status measure_first(Tune *t)
{
	Candidate c;
	double time_s;
	const Known *best = NULL;
	for (int i = 0; i < t->nstored; i++)
		if (t->known.at[i].parsed &&
		    (!best || t->known.at[i].time_s < best->time_s))
			best = &t->known.at[i];
	if (best && !isinf(best->time_s) && budget_left(t))
		FORWARD_IF_ERROR(try_trace(t, best->parsed, &time_s));
	if (!budget_left(t) || !space_first(t->space, FIRST_TRIES, &c) ||
	    search_visited(t->search, &c))
		return STATUS_OK;
	Trace *trace = space_trace(t->arena, t->space, &c);
	search_visit(t->search, &c);
	FORWARD_IF_ERROR(try_trace(t, trace, &time_s));
	if (!isnan(time_s))
		learn(t, &c, time_s);
	return STATUS_OK;
}

static bool is_listed(const Tune *t, const int *list, int n, const char *trace)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(t->known.at[list[i]].trace, trace))
			return true;
	return false;
}

/* The fastest of the traces that are known, the first of equals before. */
static int finalists(const Tune *t, int out[FINALISTS])
{
	int n = 0;
	for (int i = 0; i < t->known.n; i++) {
		const Known *k = &t->known.at[i];
		if (isinf(k->time_s) || !k->parsed ||
		    is_listed(t, out, n, k->trace))
			continue;
		int at = n;
		while (at && t->known.at[out[at - 1]].time_s > k->time_s)
			at--;
		if (at == FINALISTS)
			continue;
		n += n < FINALISTS;
		memmove(&out[at + 1], &out[at],
		    sizeof *out * (size_t)(n - 1 - at));
		out[at] = i;
	}
	return n;
}

static Status measure_finalists(Tune *t)
{
	int list[FINALISTS];
	const Trace *traces[FINALISTS];
	Measurement m[FINALISTS];
	char id[17];
	int n = finalists(t, list);
	if (n < 2 || t->options->replay_db || t->result->trials == 0)
		return STATUS_OK;
	report(t, TUNE_FINAL);
	for (int i = 0; i < n; i++)
		traces[i] = t->known.at[list[i]].parsed;
	FORWARD_IF_ERROR(measure_final(
	    t->measurer, traces, n, time_left(t), m, t->error));
	t->result->best_s = 0;
	for (int i = 0; i < n; i++) {
		bool ok = m[i].outcome == OUTCOME_OK;
		if (!ok)
			continue;
		FORWARD_IF_ERROR(put_trial(t, t->known.at[list[i]].trace,
		    &m[i], true, NULL, id));
		if (t->result->best_s > 0 && m[i].time_s >= t->result->best_s)
			continue;
		t->result->best_s = t->result->final_s = m[i].time_s;
		t->result->final_quiet =
		    measure_quiet(m[i].noise_probe, m[i].noise_switches,
			m[i].noise_cpu_s);
		memcpy(t->result->best_id, id, sizeof id);
		memcpy(t->result->final_id, id, sizeof id);
	}
	return STATUS_OK;
}

/* The first run of a store draws by the seed alone; the next ones, which may
 * run beside it, each by another. */
static uint64_t seed_of(const Tune *t)
{
	uint64_t seed = t->options->seed;
	return t->history.before
	    ? hash_mix(seed + (uint64_t)t->history.before) : seed;
}

static Status tune_run(Tune *t)
{
	FORWARD_IF_ERROR(put_start(t));
	FORWARD_IF_ERROR(measure_plain(t));
	measure_peaks(t);
	t->space = space_new(
	    t->arena, t->program, &t->target->machine, t->error);
	if (!t->space)
		return t->error->status;
	SearchSpace functions = {t, sample_space, mutate_space,
	    space_size(t->space, SMALL_SPACE), at_space, kind_of};
	SearchSettings settings = search_defaults(seed_of(t));
	t->search = search_new(
	    t->options->search == SEARCH_RANDOM ? "random" : "sa", &functions,
	    &settings);
	if (t->options->model && t->options->search == SEARCH_ANNEAL) {
		ModelSettings model =
		    model_defaults(FEATURES, t->options->seed);
		t->model = model_new(&model);
	}
	for (int i = 0; i < t->nstored; i++)
		learn_known(t, i);
	FORWARD_IF_ERROR(measure_first(t));
	FORWARD_IF_ERROR(search_loop(t));
	if (peak_is_short(t))
		measure_peaks(t);
	FORWARD_IF_ERROR(measure_finalists(t));
	return STATUS_OK;
}

/* A run that time ended stops while there is enough for the final round, which
 * may need less: what is left is spent, or the budget would never be covered. */
static void spend_rest(Tune *t)
{
	TuneResult *r = t->result;
	double left = time_left(t);
	if (!r->interrupted && !r->exhausted && !r->hopeless && left > 0 &&
	    isfinite(left) && trials_left(t) > 0)
		r->spent_s += left;
}

static void finish(Tune *t)
{
	TuneResult *r = t->result;
	if (t->search) {
		SearchStats s = search_stats(t->search);
		r->scored = s.scored;
		r->scored_per_s =
		    s.seconds > 0 ? (double)s.scored / s.seconds : 0;
		r->times.features = s.score_seconds;
		r->times.search -= s.score_seconds;
	}
	r->elapsed_s = r->spent_s = elapsed(t);
	r->interrupted = interrupted(t);
	r->stored = t->history.trials + r->trials;
	r->others_s = t->history.spent_s;
	TuneTimes *s = &r->times;
	s->idle = r->elapsed_s - s->search - s->features - s->train -
	    s->compile - s->check - s->run;
}

/* Did a run come to the end of the very space that there is now? */
static bool is_exhausted(const Tune *t)
{
	Error ignored;
	if (!*t->history.exhausted || t->options->more)
		return false;
	const Space *space = space_new(
	    t->arena, t->program, &t->target->machine, &ignored);
	return space && !strcmp(space_key(t, space), t->history.exhausted);
}

static void best_known(Tune *t)
{
	TuneResult *r = t->result;
	for (int i = 0; i < t->known.n; i++) {
		const Known *k = &t->known.at[i];
		if (isinf(k->time_s) ||
		    (r->best_s > 0 && k->time_s >= r->best_s))
			continue;
		r->best_s = k->time_s;
		memcpy(r->best_id, k->id, sizeof r->best_id);
	}
}

/* A run that measures nothing. */
static Status accept_round(Tune *t)
{
	FORWARD_IF_ERROR(put_start(t));
	t->result->exhausted = false;
	return put_end(t);
}

Status tune_operator(const Program *program, const Target *target, Store *store,
    Measurer *measurer, const TuneOptions *options,
    void (*progress)(const TuneProgress *progress, void *context),
    void *context, TuneResult *result, Error *error)
{
	Tune t = {.arena = arena_new(),
	    .program = program,
	    .target = target,
	    .options = options,
	    .store = store,
	    .measurer = measurer,
	    .result = result,
	    .error = error,
	    .progress = progress,
	    .context = context,
	    .start = measure_now()};
	*result = (TuneResult){0};
	t.history = history_of(t.arena, program, target, options);
	t.history.trial = keep_trial;
	t.history.context = &t;
	Status status = follow(&t);
	t.nstored = t.known.n;
	result->stored = t.history.trials;
	result->others_s = t.history.spent_s;
	if (!status)
		result->exhausted = is_exhausted(&t);
	if (!status && (result->exhausted || trials_left(&t) <= 0 ||
			   time_left(&t) <= 0)) {
		result->covered = true;
		best_known(&t);
		status = options->accept ? accept_round(&t) : STATUS_OK;
		arena_free(t.arena);
		return status;
	}
	if (!status && options->replay_db)
		status = read_replay(&t);
	t.machine = machine_json(t.arena);
	t.verified = json_pack("{s:s,s:i}", "against",
	    "plain loop nest, interpreter at points", "sets", MEASURE_SETS);
	if (!status)
		status = tune_run(&t);
	finish(&t);
	if (status == STATUS_INTERRUPTED)
		status = STATUS_OK;
	result->broken = status != STATUS_OK;
	if (!status)
		spend_rest(&t);
	if (t.run_id[0]) {
		Error second;
		t.error = status ? &second : error;
		Status marked = put_end(&t);
		status = status ? status : marked;
	}
	search_free(t.search);
	model_free(t.model);
	json_decref(t.machine);
	json_decref(t.verified);
	arena_free(t.arena);
	return status;
}
