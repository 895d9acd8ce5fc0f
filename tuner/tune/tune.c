/* Tuning an operator: candidate 1 first; then search, measure, learn, store,
 * until the budget is covered; then the finalists once more, side by side. */
#include "tuner/tune/tune.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "tuner/tune/tune_internal.h"

enum {
	HOPELESS_TRIALS = 40, /* of which all but a few failed */
	VISITS_LEAST = 6,     /* in the time that is an operator's own */
	COMPILE_PART = 16,    /* of it may go by between two measurements */
	AHEAD_LEAST = 256     /* trials before a batch that the search runs ahead of */
};

/* --- budget ------------------------------------------------------------------ */

double tune_elapsed(const Tuning *t)
{
	return t->active_s + (t->since > 0 ? measure_now() - t->since : 0);
}

double tune_time_left(const Tuning *t)
{
	double left = t->options.end_s - measure_now();
	if (t->options.time_s < 0)
		return left;
	return fmin(left, t->options.time_s - tune_elapsed(t) -
		(t->options.more ? 0 : t->history.spent_s));
}

double tune_own_left(const Tuning *t)
{
	return tune_time_left(t) * t->options.part;
}

int64_t tune_trials_left(const Tuning *t)
{
	if (t->options.trials < 0)
		return INT64_MAX;
	return t->options.trials - tune_trials(t);
}

bool tune_interrupted(const Tuning *t)
{
	return t->options.interrupted && *t->options.interrupted;
}

/* A trial that takes long is not begun where it would be cut. */
bool tune_budget_left(const Tuning *t)
{
	double next = t->trial_s > 0.1 ? t->trial_s : 0;
	return tune_trials_left(t) > 0 &&
	    tune_time_left(t) > final_cost(t) + next && !tune_interrupted(t);
}

bool tune_measures(const Tuning *t)
{
	return t->options.measure.machine == MACHINE_REAL &&
	    !t->options.replay_db;
}

bool tune_on_device(const Tuning *t)
{
	return measure_host(t->measurer) != t->target;
}

Status tune_follow(Tuning *t, Error *error)
{
	t->error = error;
	return known_follow(t);
}

int64_t tune_trials(const Tuning *t)
{
	return t->result.trials + (t->options.more ? 0 : t->history.trials);
}

int64_t tune_stored(const Tuning *t)
{
	return t->history.trials + t->result.trials;
}

bool tune_has_begun(const Tuning *t)
{
	return t->run_id[0];
}

double tune_spent_s(const Tuning *t)
{
	return tune_elapsed(t) + (t->options.more ? 0 : t->history.spent_s);
}

/* A store may have the plain loops alone: candidate 1 is still to be measured
 * unless the space has none. */
bool tune_has_first(Tuning *t)
{
	Error ignored;
	if (known_first(t) >= 0 || t->options.composed)
		return true;
	t->error = &ignored;
	return known_find(t, 0, &t->plain_key) && !propose_has_any(t);
}

/* Did a run come to the end of the very space that there is now? */
static bool is_exhausted(Tuning *t)
{
	Error ignored;
	t->error = &ignored;
	return *t->history.exhausted && !t->options.more &&
	    !t->options.composed &&
	    !strcmp(propose_space_key(t), t->history.exhausted);
}

void tune_report(Tuning *t, TunePhase phase)
{
	TuneResult *r = &t->result;
	double s = tune_elapsed(t), left = tune_time_left(t);
	TuneProgress p = {.phase = phase,
	    .trials = r->trials,
	    .failed = r->failed,
	    .best_s = r->best_s,
	    .trials_per_s = s > 0 ? (double)r->trials / s : 0,
	    .rank_correlation = t->guide ? guide_rating(t->guide).correlation : NAN,
	    .elapsed_s = s,
	    .left_s = isinf(left) ? -1 : left};
	if (r->best_s > 0)
		p.best_flops_per_s = r->operations / r->best_s;
	if (r->best_s > 0 && r->peak_all > 0)
		p.best_share = r->operations / r->best_s / r->peak_all;
	if (t->progress)
		t->progress(&p, t->context);
}

/* --- before the search --------------------------------------------------------- */

static void set_verified(Tuning *t)
{
	json_decref(t->verified);
	t->verified = json_pack("{s:s,s:i}", "against",
	    t->reference.fast
		? "fast kernel that agrees with the plain loop nest, "
		  "interpreter at points"
		: "plain loop nest, interpreter at points",
	    "sets", MEASURE_SETS);
}

/* The expected outputs, by the plain nest where that takes a twentieth of the
 * time at most, else by `fast`.  False: time ended before they were there. */
Status tune_make_reference(
    Tuning *t, const Trace *fast, const Trace *other, bool *made)
{
	Reference *r = &t->reference;
	ReferenceWish wish = {.fast = fast,
	    .other = other,
	    .plain_allowed_s = t->options.plain_s};
	*made = true;
	if (t->ready)
		return STATUS_OK;
	tune_report(t, TUNE_REFERENCE);
	FORWARD_IF_ERROR(measure_reference(t->measurer, &wish, r, t->error));
	set_verified(t);
	*made = t->ready = r->ready;
	if (r->ready) {
		if (!t->result.plain_s)
			trial_plain(t, &r->plain);
		return STATUS_OK;
	}
	if (r->by.cut || (r->by.outcome == OUTCOME_TIMEOUT && fast))
		return STATUS_OK;
	if (r->by.outcome == OUTCOME_WRONG)
		return error_set(t->error, STATUS_WRONG, "%s: %.800s",
		    r->fast
			? "no fast kernel agrees with the plain loop nest"
			: "the plain loop nest disagrees with the interpreter",
		    r->by.error);
	return error_set(t->error, STATUS_CRASH,
	    "the %s cannot be measured: %s: %.800s",
	    r->fast ? "reference" : "plain loop nest",
	    outcome_name(r->by.outcome), r->by.error);
}

/* A device's kernels are compared with what this CPU computes. */
static Status reference_by_host(Tuning *t, bool *made)
{
	ReferenceWish wish = {0};
	FORWARD_IF_ERROR(tune_reference(t->arena, t->program,
	    measure_host(t->measurer), &wish, t->error));
	return tune_make_reference(t, wish.fast, wish.other, made);
}

static Status reference_by(Tuning *t, const Trace *fast, bool *made)
{
	if (tune_on_device(t))
		return reference_by_host(t, made);
	return tune_make_reference(
	    t, fast, fast ? propose_other(t, fast) : NULL, made);
}

/* What the machine can do, not what its other users left at that moment: the
 * most that was measured. */
void tune_measure_peaks(Tuning *t, bool again)
{
	TuneResult *r = &t->result;
	Error ignored;
	if (tune_measures(t))
		measure_peak(t->measurer, again, &r->peak_one, &r->peak_all,
		    &ignored);
}

/* Two virtual CPUs may have been one core while it was measured. */
bool tune_peak_is_short(const Tuning *t)
{
	return t->result.peak_all < 0.9 * t->result.peak_one *
		measure_host(t->measurer)->threads;
}

/* More operations for each byte than any machine needs to be busy with them. */
enum { COMPUTE_BOUND = 64 };

static void measure_memory(Tuning *t, bool again)
{
	Error ignored;
	const Program *p = t->program;
	if (tune_measures(t) && t->known.n && p->bytes > 0 &&
	    p->flops / p->bytes < COMPUTE_BOUND && tune_time_left(t) > 0.05)
		measure_copy(t->measurer, again,
		    &t->result.copy_bytes_per_s, &ignored);
}

static void begin_step(Tuning *t, double end_s, Error *error)
{
	t->error = error;
	t->options.end_s = end_s;
	t->since = measure_now();
	measure_until(t->measurer, end_s);
}

static Status end_step(Tuning *t, Status status)
{
	t->active_s = tune_elapsed(t);
	t->since = 0;
	return status == STATUS_INTERRUPTED ? STATUS_OK : status;
}

static Status open_run(Tuning *t)
{
	if (!t->run_id[0])
		FORWARD_IF_ERROR(lines_start(t));
	return propose_open(t);
}

static Status try_first(Tuning *t)
{
	Proposal first = {0};
	double time_s;
	int ran = 1;
	bool made = true, found;
	FORWARD_IF_ERROR(propose_first(t, &first, &found));
	if (t->options.replay_db) {
		Measurement plain;
		known_replay(t, &t->plain_key, &plain);
		trial_plain(t, &plain);
	} else {
		tune_measure_peaks(t, false);
		FORWARD_IF_ERROR(
		    reference_by(t, found ? first.trace : NULL, &made));
	}
	if (!made || tune_interrupted(t))
		return STATUS_OK;
	if (t->reference.fast && t->reference.fast == first.trace)
		FORWARD_IF_ERROR(trial_of_reference(t, &first, &time_s));
	else
		FORWARD_IF_ERROR(trial_all(t, &first, 1, &time_s, &ran));
	if (found && ran && !isnan(time_s))
		propose_learn(t, &first, time_s);
	return STATUS_OK;
}

/* --- the search ------------------------------------------------------------------ */

static bool all_fail(const Tuning *t)
{
	int most = 0;
	for (int i = OUTCOME_BUILD; i <= OUTCOME_IMPLAUSIBLE; i++)
		if (t->failed_by[i] > most)
			most = t->failed_by[i];
	return t->result.trials >= HOPELESS_TRIALS &&
	    most * 20 >= t->result.trials * 19;
}

/* How many are compiled before any is measured: at the end of its time those that
 * are not would be lost. */
static int width(const Tuning *t)
{
	int most = measure_width(t->measurer), left = t->nbatch - t->tried;
	int at_once = measure_at_once(t->measurer, most);
	double fit = tune_own_left(t) / COMPILE_PART * at_once /
	    fmax(t->compile_s, 1e-6);
	if (fit < most)
		most = fit > at_once ? (int)fit : at_once;
	return left < most ? left : most;
}

/* As many as are worth drawing; `waiting` are not measured yet. */
static int batch_wanted(const Tuning *t, int waiting)
{
	int64_t left = tune_trials_left(t) - waiting;
	int want = propose_batch(t);
	return left < want ? (int)left : want;
}

/* While the last of a batch compile, CPUs idle in the end, and the driver in any
 * case: the search goes on.  What is being compiled is not learnt from then, so
 * not before there is much else. */
static void search_ahead(void *context)
{
	Tuning *t = context;
	int want = batch_wanted(t, t->nbatch - t->tried);
	int before = t->known.n - t->tried; /* wherever a step has ended */
	if (want > 0 && before >= AHEAD_LEAST)
		t->ahead = propose_ahead(t, want);
}

/* The next of the batch. */
static Status try_batch(Tuning *t)
{
	double times[MEASURE_WIDTH];
	const Proposal *next = t->batch + t->tried;
	int ran, n = width(t);
	if (t->tried + n == t->nbatch && !t->options.replay_db)
		measure_beside(t->measurer, search_ahead, t);
	FORWARD_IF_ERROR(trial_all(t, next, n, times, &ran));
	for (int i = 0; i < ran; i++)
		if (!isnan(times[i]))
			propose_learn(t, &next[i], times[i]);
	t->tried += ran;
	return STATUS_OK;
}

static Status draw_batch(Tuning *t)
{
	t->tried = 0;
	return propose_next(t, batch_wanted(t, 0), t->batch, &t->nbatch,
	    &t->result.exhausted);
}

/* What was proposed and is not measured is kept for the next visit. */
static Status search(Tuning *t)
{
	TuneResult *r = &t->result;
	double end_s = measure_now() + tune_own_left(t) / VISITS_LEAST;
	if (t->tried == t->nbatch)
		FORWARD_IF_ERROR(draw_batch(t));
	while (t->tried < t->nbatch && tune_budget_left(t)) {
		FORWARD_IF_ERROR(try_batch(t));
		if (measure_now() > end_s)
			break;
	}
	/* no end of the space while some that were drawn are not measured */
	r->exhausted &= t->tried == t->nbatch;
	r->hopeless = all_fail(t);
	return STATUS_OK;
}

/* What a run before this one left to be made here: the expected outputs, and
 * the fastest for what is hopeless against it. */
static Status resume(Tuning *t)
{
	bool made;
	int first = known_first(t);
	const Trace *fast = first < 0 ? NULL : t->known.at[first].trace;
	if (t->options.replay_db || t->ready)
		return STATUS_OK;
	FORWARD_IF_ERROR(reference_by(t, fast, &made));
	tune_measure_peaks(t, false);
	if (made && t->nstored && !t->resumed)
		FORWARD_IF_ERROR(trial_again(t));
	t->resumed = made;
	return STATUS_OK;
}

static Status visit(Tuning *t)
{
	FORWARD_IF_ERROR(open_run(t));
	if (!tune_budget_left(t))
		return STATUS_OK;
	FORWARD_IF_ERROR(resume(t));
	return search(t);
}

static Status finish(Tuning *t)
{
	if (!t->run_id[0])
		FORWARD_IF_ERROR(lines_start(t));
	if (tune_interrupted(t))
		return STATUS_OK;
	if (tune_peak_is_short(t))
		tune_measure_peaks(t, true);
	measure_memory(t, true);
	return tune_time_left(t) > 0 ? final_round(t) : STATUS_OK;
}

/* --- what a run comes to ------------------------------------------------------------ */

/* A run that time ended stops while there is enough for the final round, which
 * may need less: what is left is spent, or the budget would never be covered. */
static void spend_rest(Tuning *t)
{
	TuneResult *r = &t->result;
	double left = tune_time_left(t);
	if (!r->interrupted && !r->exhausted && !r->hopeless && !t->stopped &&
	    left > 0 &&
	    isfinite(left) && t->options.time_s >= 0 &&
	    tune_trials_left(t) > 0)
		r->spent_s += left;
}

static void add_up(Tuning *t)
{
	TuneResult *r = &t->result;
	if (t->guide) {
		SearchStats s = guide_stats(t->guide);
		r->scored = s.scored;
		r->scored_per_s =
		    s.seconds > 0 ? (double)s.scored / s.seconds : 0;
	}
	r->elapsed_s = r->spent_s = tune_elapsed(t);
	r->interrupted = tune_interrupted(t);
	r->stored = t->history.trials + r->trials;
	r->others_s = t->history.spent_s;
	TuneTimes *s = &r->times;
	s->idle = r->elapsed_s - s->search - s->features - s->train - s->lower -
	    s->compile - s->check - s->run;
}

static Status close_run(Tuning *t, Status status, Error *error)
{
	Error second;
	add_up(t);
	t->result.broken = status != STATUS_OK;
	if (!status)
		spend_rest(t);
	if (!t->run_id[0])
		return status;
	t->error = status ? &second : error;
	Status marked = lines_end(t);
	return status ? status : marked;
}

/* Nothing is measured. */
static Status be_covered(Tuning *t, Error *error)
{
	TuneResult *r = &t->result;
	int best = known_best(t, t->known.n);
	t->error = error;
	r->covered = true;
	if (best >= 0) {
		r->best_s = t->known.at[best].time_s;
		memcpy(r->best_id, t->known.at[best].id, sizeof r->best_id);
	}
	if (!t->options.accept)
		return STATUS_OK;
	bool exhausted = r->exhausted; /* this run came to no end */
	r->exhausted = false;
	FORWARD_IF_ERROR(lines_start(t));
	FORWARD_IF_ERROR(lines_end(t));
	r->exhausted = exhausted;
	return STATUS_OK;
}

const Trace *tune_trace(const Tuning *t, bool first)
{
	int i = first ? known_first(t) : known_best(t, t->known.n);
	if (!first && t->winner)
		return t->winner;
	return i < 0 || isinf(t->known.at[i].time_s) ? NULL
						     : t->known.at[i].trace;
}

/* --- beside other operators --------------------------------------------------- */

static bool has_products(const Program *p)
{
	for (int i = 0; i < p->nblocks; i++)
		if (p->blocks[i].reduce == REDUCE_SUM &&
		    p->blocks[i].body->op == OP_MUL)
			return true;
	return false;
}

double tune_bound_s(const Tuning *t, TaskKind *kind)
{
	const TuneResult *r = &t->result;
	double copy = r->copy_bytes_per_s;
	/* a disturbed peak would promise that nothing is left */
	double peak = tune_peak_is_short(t)
	    ? r->peak_one * measure_host(t->measurer)->threads : r->peak_all;
	if (!(peak > 0) && !tune_on_device(t) &&
	    t->options.measure.machine == MACHINE_SIMULATED)
		peak = measure_nominal(&t->target->machine);
	/* a run that measures nothing knows what the last one did */
	if (r->covered && !(peak > 0) && !(copy > 0) &&
	    task_kind_named(t->history.bound_kind, kind))
		return t->history.bound_s;
	double sums_s = peak > 0 ? r->operations / peak : 0;
	double memory_s = copy > 0 ? (double)t->program->bytes / copy : 0;
	*kind = memory_s > sums_s ? KIND_MEMORY
	    : has_products(t->program) ? KIND_SUMS : KIND_ELEMENTS;
	return fmax(sums_s, memory_s);
}

double tune_promise_s(const Tuning *t)
{
	TaskKind kind;
	int i = known_first(t);
	return task_promise(
	    i < 0 ? INFINITY : t->known.at[i].time_s, tune_bound_s(t, &kind));
}

void tune_confirm_bound(Tuning *t)
{
	if (t->confirmed)
		return;
	t->confirmed = true;
	tune_measure_peaks(t, true);
	measure_memory(t, true);
}

void tune_outlook(const Tuning *t, Arena *arena, TaskState *task)
{
	const double likely_s = 0.05;
	task->bound_s = tune_bound_s(t, &task->kind);
	if (t->options.trials < 0)
		task->trial_cost = t->trial_s > 0 ? t->trial_s : likely_s;
	for (; task->told < t->known.n; task->told++) {
		const Known *k = &t->known.at[task->told];
		if (k->id[0] && !k->plain)
			task_tell(task, arena, k->time_s, k->predicted_s);
	}
	task->over |= tune_is_over(t);
}

double tune_final_s(const Tuning *t)
{
	return t->result.trials ? final_cost(t) : 0;
}

bool tune_is_over(const Tuning *t)
{
	return t->result.exhausted || t->result.hopeless;
}

void tune_forget(Tuning *t)
{
	measure_forget(t->measurer);
	t->ready = false;
}

/* --- the steps ---------------------------------------------------------------- */

Status tune_first(Tuning *t, double end_s, bool forget, Error *error)
{
	begin_step(t, end_s, error);
	Status status = open_run(t);
	if (!status)
		status = try_first(t);
	if (!status)
		measure_memory(t, false);
	if (forget)
		tune_forget(t);
	status = end_step(t, status);
	return status ? close_run(t, status, error) : status;
}

static void set_share(Tuning *t, const TuneShare *s)
{
	t->options.trials = s->trials;
	t->options.time_s = s->time_s;
	t->options.end_s = s->end_s;
	t->options.part = s->part;
	if (!t->run_id[0])
		t->result.exhausted = is_exhausted(t);
	double spent_s = tune_spent_s(t);
	t->final_most_s = 0.2 *
	    (spent_s + fmax(s->time_s - spent_s, 0) * s->part);
}

Status tune_visit(
    Tuning *t, const TuneShare *share, int64_t *tried, Error *error)
{
	int64_t before = t->result.trials;
	*tried = 0;
	set_share(t, share);
	if (t->result.exhausted || !tune_budget_left(t))
		return STATUS_OK;
	begin_step(t, share->end_s, error);
	Status status = end_step(t, visit(t));
	*tried = t->result.trials - before;
	return status ? close_run(t, status, error) : status;
}

Status tune_end(Tuning *t, const TuneShare *share, bool stopped,
    TuneResult *result, Error *error)
{
	TuneResult *r = &t->result;
	Status status;
	set_share(t, share);
	t->stopped = stopped;
	r->stored = t->history.trials + r->trials;
	r->others_s = t->history.spent_s;
	if (!t->run_id[0] &&
	    (!t->options.composed || tune_trials_left(t) <= 0 ||
		tune_time_left(t) <= 0)) {
		status = be_covered(t, error);
	} else {
		begin_step(t, share->end_s, error);
		status = end_step(
		    t, t->options.composed ? whole_run(t) : finish(t));
		status = close_run(t, status, error);
	}
	*result = *r;
	return status;
}

Status tune_open(const Program *program, const Target *target, Store *store,
    Measurer *measurer, const TuneOptions *options,
    void (*progress)(const TuneProgress *progress, void *context),
    void *context, Tuning **out, Error *error)
{
	Tuning *t = must_alloc(sizeof *t);
	*t = (Tuning){.arena = arena_new(),
	    .program = program,
	    .target = target,
	    .options = *options,
	    .store = store,
	    .measurer = measurer,
	    .error = error,
	    .progress = progress,
	    .context = context};
	*out = t;
	t->passing = arena_child(t->arena);
	t->options.end_s = INFINITY;
	t->options.part = 1;
	t->result.operations = measure_operations(measurer);
	t->result.composed = options->composed;
	t->machine = lines_machine(t->arena);
	json_t *device = measure_device_json(measurer);
	if (device)
		json_object_set_new(t->machine, "device", device);
	set_verified(t);
	return known_open(t);
}

void tune_free(Tuning *t)
{
	if (!t)
		return;
	propose_close(t);
	json_decref(t->machine);
	json_decref(t->verified);
	arena_free(t->arena);
	free(t);
}
