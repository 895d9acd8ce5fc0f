/* A run of `tunec tune`: candidate 1 of each operator, then visits, the scheduler
 * saying whose turn it is, until the budget is spent or nothing is left to gain;
 * then the final round of each, and of what consists of them. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "cmd/tune_verb.h"

/* Seconds beyond a twentieth of the time, to end what is under way. */
static const double spare_s = 0.2;

/* Does it apply, and may its time be true?  Else why not. */
static bool is_of(
    const Line *line, const Program *p, const Target *target, Error *why)
{
	if (line->time_s < measure_least_s(p, &target->machine)) {
		error_set(why, STATUS_INPUT,
		    "says %.3g s, which no machine takes; build believes it",
		    line->time_s);
		return false;
	}
	Arena *arena = arena_new();
	Error refused;
	const Trace *trace = trace_stored(
	    arena, p, json_object_get(line->json, "trace"), &refused);
	if (!trace)
		error_set(why, STATUS_INPUT,
		    "does not apply: %s; while it is there, build takes the "
		    "default schedule",
		    refused.text);
	arena_free(arena);
	return trace;
}

/* One that cannot be is none; to build it hides the others. */
static void best_of_stores(
    const TuneRun *run, const Program *p, const char *label, TuneResult *r)
{
	Line best = {0};
	Error error;
	BestQuery query = {
	    p->op, run->target->text, run->cold ? "cold" : "warm"};
	if (best_find(run->stores->at, run->stores->n, &query, &best, &error) ||
	    !best.json) {
		line_free(&best);
		return;
	}
	if (is_of(&best, p, run->target, &error)) {
		r->best_s = best.time_s;
		memcpy(r->best_id, best.id, sizeof r->best_id);
	} else if (!run->common->quiet) {
		say_warning("%s: record %s, the best of the store, %s", label,
		    best.id, error.text);
	}
	line_free(&best);
}

/* EXIT_DONE, or the exit code after a message. */
static int say_status(TuneRun *run, int i, Status status, const Error *error)
{
	const char *label = run->displays[i].label;
	long long kept = tune_stored(run->tunings[i]);
	if (run->displays[i].live)
		say_live("");
	run->broken[i] = status != STATUS_OK;
	if (status == STATUS_MACHINE)
		say_error("%s: %s; %lld trial%s kept in %s", label, error->text,
		    kept, kept == 1 ? " is" : "s are",
		    store_path(run->stores->at[0]));
	else if (status)
		say_error("%s: %s", label, error->text);
	return status ? EXIT_FAILED : EXIT_DONE;
}

/* What is said of how much is left; of a whole nothing, its groups say it. */
static void set_outlook(TuneRun *run, int i)
{
	TuneResult *r = &run->results[i];
	TaskState *t = &run->states[i];
	r->left = r->last_gain = -1;
	if (!tune_is_searched(&run->tasks.at[i]))
		return;
	tune_outlook(run->tunings[i], run->arena, t);
	r->bound_s = t->bound_s;
	if (isinf(t->best_s) || !(r->best_s > 0))
		return;
	r->last_gain = task_last_gain(t);
	if (!(t->bound_s > 0))
		return;
	/* of the best that stands, which may be another than the search's, and no
	 * more than the limit leaves, which both may be past */
	double least_s =
	    fmax(t->bound_s, t->best_s * (1 - task_left(t, &run->ceilings)));
	r->left = fmax(1 - least_s / r->best_s, 0);
	r->last_gain = fmin(r->last_gain, r->left);
}

/* What an operator came to. */
static int show_one(TuneRun *run, int i)
{
	const TuneOptions *o = &run->options;
	const Program *p = run->tasks.at[i].program;
	const char *label = run->displays[i].label;
	TuneResult *r = &run->results[i];
	if (o->measure.machine == MACHINE_REAL && !o->replay_db)
		best_of_stores(run, p, label, r);
	if (run->tunings[i])
		set_outlook(run, i);
	tune_show(run->common, p, label, r);
	if (r->interrupted)
		return EXIT_INTERRUPTED;
	if (r->best_s > 0 || !r->stored)
		return EXIT_DONE;
	say_error("%s: no valid trial; first failure: %s", label,
	    r->best_error[0] ? r->best_error : "in the store");
	return EXIT_FAILED;
}

/* --- candidate 1 of each --------------------------------------------------- */

/* Expected outputs beyond this are made twice. */
static const size_t kept_bytes = (size_t)1 << 30;

static bool lacks_first(const TuneRun *run, int i)
{
	return run->tunings[i] && !run->broken[i] &&
	    !tune_has_first(run->tunings[i]);
}

static int count_lacking(const TuneRun *run)
{
	int lacking = 0;
	for (int i = 0; i < run->n; i++)
		lacking += lacks_first(run, i);
	return lacking;
}

/* Different ones that have a candidate 1: a whole has those of its groups. */
static int count_tuned(const TuneRun *run)
{
	int n = 0;
	for (int i = 0; i < run->n; i++)
		n += run->tunings[i] && tune_is_searched(&run->tasks.at[i]);
	return n;
}

static const char *operators(int n)
{
	return n == 1 ? "operator" : "operators";
}

/* What the budget would have to be for one candidate each.  Where the store has
 * trials enough, the budget is covered, and those that have none are named. */
static int say_trials_short(const TuneRun *run, int lacking)
{
	double left = run->budgets.trials.left;
	double have = (double)run->options.trials - left;
	const char *text = arena_printf(run->arena,
	    "the budget has no room for candidate 1 of %d %s: "
	    "it takes --trials %lld",
	    lacking, operators(lacking), (long long)have + lacking);
	if (left > 0 || lacking == count_tuned(run)) {
		say_error("%s", text);
		return EXIT_FAILED;
	}
	say_warning(
	    "the store has %lld trials: covered; %s", (long long)have, text);
	return EXIT_DONE;
}

/* What was measured is kept, and enough to go on with; nothing is a failure. */
static int say_time_short(const TuneRun *run, int asked, int lacking)
{
	double took = measure_now() - run->start_s;
	double each = took / (asked > lacking ? asked - lacking : 1);
	double have = run->options.time_s - run->budgets.time.left;
	const char *text = arena_printf(run->arena,
	    "the budget has no time for candidate 1 of %d %s: "
	    "it takes about --time %.0fs",
	    lacking, operators(lacking), ceil(have + 1.5 * each * lacking));
	if (count_lacking(run) == count_tuned(run)) {
		say_error("%s", text);
		return EXIT_FAILED;
	}
	say_warning("%s", text);
	return EXIT_DONE;
}

static bool has_time(const TuneRun *run)
{
	return run->budgets.time.left > 1e-3 && measure_now() < run->end_s;
}

/* Before any operator gets a second trial. */
static int measure_firsts(TuneRun *run)
{
	int code = EXIT_DONE, asked = count_lacking(run), lacking;
	size_t bytes = 0;
	for (int i = 0; i < run->n; i++)
		bytes += measure_data_bytes(run->measurers[i]);
	run->forgets = bytes > kept_bytes;
	if (asked && run->budgets.trials.left < asked)
		return say_trials_short(run, asked);
	for (int i = 0; i < run->n && !*run->options.interrupted; i++) {
		Error error = {0};
		if (!lacks_first(run, i) || !has_time(run))
			continue;
		Status status = tune_first(
		    run->tunings[i], run->end_s, run->forgets, &error);
		code = exit_worse(code, say_status(run, i, status, &error));
		tune_budgets_take(&run->budgets, i, run->tunings[i]);
	}
	lacking = *run->options.interrupted ? 0 : count_lacking(run);
	return lacking ? exit_worse(code, say_time_short(run, asked, lacking))
		       : code;
}

/* --- the rest -------------------------------------------------------------- */

/* Candidate 1 of each group, which the best of each are checked against; or what the
 * user gave. */
static bool give(TuneRun *run, int i)
{
	enum { FIRSTS, BESTS, N };
	Error error = {0};
	if (run->tasks.at[i].given) {
		tune_give(run->tunings[i], run->tasks.at[i].given, N);
		return true;
	}
	const Trace **traces = NEW_N(run->arena, const Trace *, N);
	for (int k = 0; k < N; k++) {
		traces[k] = tune_joined(run->arena, &run->tasks, i,
		    run->tunings, k == FIRSTS, &error);
		if (traces[k])
			continue;
		say_error("%s: %s", run->displays[i].label, error.text);
		return false;
	}
	tune_give(run->tunings[i], traces, N);
	return true;
}

/* What operator i leaves for the others: the final rounds of those that were
 * searched, and what wholes need. */
static void keep_for_others(
    const TuneRun *run, int i, double *trials, double *time_s)
{
	const TuneBudgets *b = &run->budgets;
	double weights = 0;
	*trials = *time_s = 0;
	for (int k = 0; k < run->n; k++)
		weights += run->tunings[k] ? b->weight[k] : 0;
	for (int k = 0; k < run->n; k++) {
		if (k == i || !run->tunings[k] || run->ended[k] ||
		    run->broken[k])
			continue;
		*time_s += tune_final_s(run->tunings[k]);
		if (!run->tasks.at[k].groups || !(weights > 0))
			continue;
		double part = b->weight[k] / weights;
		if (run->options.trials > 0)
			*trials += part * (double)run->options.trials;
		if (run->options.time_s > 0)
			*time_s += part * run->options.time_s;
	}
}

static int count_searched(const TuneRun *run)
{
	int n = 0;
	for (int i = 0; i < run->n; i++)
		n += !run->states[i].over;
	return n > 0 ? n : 1;
}

static TuneShare share_of(const TuneRun *run, int i)
{
	TuneShare s = {.part = 1, .end_s = run->end_s};
	double trials, time_s;
	if (run->scheduler->divides) {
		tune_budgets_share(
		    &run->budgets, i, run->n, &s.trials, &s.time_s);
	} else {
		keep_for_others(run, i, &trials, &time_s);
		tune_budgets_rest(
		    &run->budgets, i, trials, time_s, &s.trials, &s.time_s);
		s.part = 1.0 / count_searched(run);
	}
	if (s.time_s >= 0)
		s.end_s = fmin(s.end_s,
		    measure_now() + spare_s +
			1.05 * (s.time_s - run->budgets.time.have[i]));
	return s;
}

/* --- many tasks ------------------------------------------------------------ */

/* Those that waited longest make room for the expected outputs of another. */
static void make_room(TuneRun *run, int i)
{
	for (;;) {
		size_t bytes = measure_data_bytes(run->measurers[i]);
		int oldest = -1;
		for (int k = 0; k < run->n; k++) {
			if (k == i || !(run->visited_s[k] > 0))
				continue;
			bytes += measure_data_bytes(run->measurers[k]);
			if (oldest < 0 ||
			    run->visited_s[k] < run->visited_s[oldest])
				oldest = k;
		}
		if (bytes <= kept_bytes || oldest < 0)
			return;
		tune_forget(run->tunings[oldest]);
		run->visited_s[oldest] = 0;
	}
}

/* As the limit is when it is measured once more, which may have been disturbed. */
static bool is_enough(TuneRun *run, int i)
{
	TaskState *t = &run->states[i];
	if (!(run->until > 0) ||
	    (t->bound_s > 0 && !task_is_enough(t, &run->ceilings, run->until)))
		return false;
	tune_confirm_bound(run->tunings[i]);
	tune_outlook(run->tunings[i], run->arena, t);
	return task_is_enough(t, &run->ceilings, run->until);
}

static void look_at(TuneRun *run, int i)
{
	TaskState *t = &run->states[i];
	tune_outlook(run->tunings[i], run->arena, t);
	if (task_has_settled(t) && t->bound_s > 0)
		ceilings_add(&run->ceilings, run->arena,
		    run->tasks.at[i].program->op, t->kind,
		    t->bound_s / t->best_s);
	run->results[i].enough = is_enough(run, i);
	t->over |= run->broken[i] || run->results[i].enough;
}

/* What others did of any operator is of the one budget. */
static Status follow_all(TuneRun *run, Error *error)
{
	for (int i = 0; i < run->n; i++) {
		if (!run->tunings[i] || run->broken[i])
			continue;
		FORWARD_IF_ERROR(tune_follow(run->tunings[i], error));
		tune_budgets_take(&run->budgets, i, run->tunings[i]);
	}
	return STATUS_OK;
}

/* A visit that tries nothing is the last. */
static int visit_one(TuneRun *run, int i)
{
	Error error = {0};
	int64_t tried = 0;
	TaskState *t = &run->states[i];
	Status status = follow_all(run, &error);
	TuneShare share = share_of(run, i);
	make_room(run, i);
	if (!status)
		status = tune_visit(run->tunings[i], &share, &tried, &error);
	run->visited_s[i] = measure_now();
	tune_budgets_take(&run->budgets, i, run->tunings[i]);
	t->visits++;
	int code = say_status(run, i, status, &error);
	look_at(run, i);
	t->over |= !tried;
	return code;
}

static int end_one(TuneRun *run, int i)
{
	Error error = {0};
	TuneShare share = share_of(run, i);
	double own_s = tune_final_s(run->tunings[i]);
	if (!tune_is_searched(&run->tasks.at[i]) && !give(run, i))
		return EXIT_FAILED;
	/* what is left at last is spent, or it would not be covered */
	if (!run->scheduler->divides && tune_is_searched(&run->tasks.at[i]) &&
	    share.time_s >= 0 && i != run->last)
		share.time_s =
		    fmin(share.time_s, run->budgets.time.have[i] + own_s);
	bool enough = run->results[i].enough;
	Status status =
	    tune_end(run->tunings[i], &share, enough, &run->results[i], &error);
	run->ended[i] = true;
	run->results[i].enough = enough;
	tune_budgets_take(&run->budgets, i, run->tunings[i]);
	int code = say_status(run, i, status, &error);
	return code ? code : show_one(run, i);
}

static int tune_repeated(TuneRun *run, int i)
{
	int first = run->tasks.at[i].same;
	if (run->broken[first] || lacks_first(run, first))
		return EXIT_DONE;
	run->results[i] = run->results[first];
	TuneResult *r = &run->results[i];
	r->covered = true;
	r->trials = r->ok = r->failed = 0;
	return show_one(run, i);
}

/* The whole has no schedule before each of its groups has one. */
static bool lacks_group(const TuneRun *run, int i)
{
	const TuneTask *t = &run->tasks.at[i];
	for (int k = 0; t->groups && k < t->groups->n; k++)
		if (lacks_first(run, run->tasks.at[t->of_group[k]].same))
			return true;
	return false;
}

/* Nothing is to be done, or it was said why nothing can be.  A run that began is
 * ended in order, whatever interrupts it. */
static bool is_over(const TuneRun *run, int i)
{
	bool began = run->tunings[i] && tune_has_begun(run->tunings[i]);
	return run->broken[i] || (*run->options.interrupted && !began) ||
	    (!began && (lacks_first(run, i) || lacks_group(run, i)));
}

/* Of cases that are one operator the sum; of a program of several groups what
 * each of them promises. */
static const double *weigh(const TuneRun *run)
{
	double *weight = NEW_N(run->arena, double, run->n);
	tune_weights(&run->tasks, run->tunings, &run->options, weight);
	return weight;
}

/* Of all operators together, where anything was measured. */
static void show_times(const TuneRun *run)
{
	TuneTimes sum = {0};
	bool measured = false;
	for (int i = 0; i < run->n; i++) {
		const TuneTimes *t = &run->results[i].times;
		if (!run->tunings[i])
			continue; /* it is there under another name */
		measured |= run->results[i].trials > 0;
		sum.search += t->search;
		sum.features += t->features;
		sum.train += t->train;
		sum.lower += t->lower;
		sum.compile += t->compile;
		sum.check += t->check;
		sum.run += t->run;
	}
	if (measured)
		tune_show_times(
		    run->common, &sum, measure_now() - run->start_s);
}

/* Until all are over. */
static int search_all(TuneRun *run)
{
	int i, code = EXIT_DONE;
	while (!*run->options.interrupted &&
	    (i = run->scheduler->next(run->states, run->n)) >= 0) {
		code = exit_worse(code, visit_one(run, i));
		if (run->scheduler->divides && run->states[i].over &&
		    !run->broken[i])
			code = exit_worse(code, end_one(run, i));
	}
	return code;
}

static void open_states(TuneRun *run)
{
	double *count = NEW_N(run->arena, double, run->n);
	tune_counts(&run->tasks, count);
	for (int i = 0; i < run->n; i++) {
		run->states[i] = task_state(count[i]);
		if (run->tunings[i] && tune_is_searched(&run->tasks.at[i]) &&
		    !is_over(run, i))
			look_at(run, i);
		else
			run->states[i].over = true;
		if (run->tunings[i] && !is_over(run, i))
			run->last = i;
		if (run->tunings[i] && !run->forgets)
			run->visited_s[i] = run->start_s;
	}
}

/* Of all operators together, as often as each occurs. */
static void show_limit(const TuneRun *run)
{
	TuneLimit l = {.until = run->until};
	for (int i = 0; i < run->n; i++) {
		const TaskState *t = &run->states[i];
		const TuneResult *r = &run->results[i];
		if (!run->ended[i] || !(t->weight > 0) || r->last_gain < 0)
			continue;
		double best_s = t->weight * r->best_s;
		l.best_s += best_s;
		l.bound_s += t->weight * fmin(r->bound_s, r->best_s);
		if (r->bound_s > 1.005 * r->best_s)
			l.past = t->kind == KIND_MEMORY
			    ? "its bytes are in a cache"
			    : measure_past_peak(run->tasks.at[i].program);
		l.left_s += best_s * r->left;
		l.gain_s += best_s * r->last_gain;
		l.unknown |= !(r->bound_s > 0);
		l.tasks++;
		l.enough += r->enough;
	}
	tune_show_limit(run->common, &l);
}

/* --- all ----------------------------------------------------------------------- */

/* The plain loop nest is run where it takes a twentieth of an operator's time at
 * most, and a second. */
static double plain_seconds(const TuneOptions *o, int n)
{
	return o->time_s < 0 ? 1 : fmin(1, o->time_s / n / 20);
}

/* Different operators that the user named. */
static int count_named(const TuneRun *run)
{
	bool *named = NEW_N(run->arena, bool, run->n);
	int n = 0;
	for (int i = 0; i < run->n; i++) {
		const TuneTask *t = &run->tasks.at[i];
		n += t->named && !named[t->same];
		named[t->same] |= t->named;
	}
	return n;
}

Status tune_run_open(TuneRun *run, Error *error)
{
	TuneOptions *o = &run->options;
	const Common *c = run->common;
	int different = 0;
	for (int i = 0; i < run->n; i++)
		different += run->tasks.at[i].same == i;
	if (o->time_s < 0 && o->trials < 0)
		o->time_s = 60.0 * count_named(run);
	if (o->time_s >= 0)
		run->end_s = run->start_s +
		    fmax(1.05 * o->time_s, o->time_s + spare_s);
	o->plain_s = plain_seconds(o, different);
	for (int i = 0; i < run->n; i++) {
		const Program *p = run->tasks.at[i].program;
		bool shown = !c->quiet && !c->json;
		run->displays[i] = (TuneDisplay){program_label(run->arena, p),
		    shown && isatty(2), -1, shown ? &run->told_s : NULL};
		TuneOptions own = *o;
		own.composed = !tune_is_searched(&run->tasks.at[i]);
		if (run->tasks.at[i].same == i)
			FORWARD_IF_ERROR(
			    tune_open(p, run->target, run->stores->at[0],
				run->measurers[i], &own, tune_show_progress,
				&run->displays[i], &run->tunings[i], error));
	}
	tune_budgets_open(
	    run->arena, &run->budgets, run->tunings, weigh(run), run->n, o);
	return STATUS_OK;
}

int tune_run_all(TuneRun *run)
{
	Error ignored;
	int code = measure_firsts(run);
	tune_ceilings(run->arena, run->stores->at[0], run->target,
	    &run->options, &run->ceilings, &ignored);
	run->budgets.weight = weigh(run);
	open_states(run);
	code = exit_worse(code, search_all(run));
	for (int i = 0; i < run->n; i++) {
		if (run->ended[i] || is_over(run, i))
			continue;
		code = exit_worse(code,
		    run->tunings[i] ? end_one(run, i) : tune_repeated(run, i));
	}
	show_times(run);
	show_limit(run);
	return *run->options.interrupted ? EXIT_INTERRUPTED : code;
}
