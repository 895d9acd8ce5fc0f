/* tunec tune: search for the fastest schedule, measure, keep what was learnt. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/stores.h"
#include "cmd/tune_verb.h"
#include "tuner/search/search.h"

typedef struct {
	Common common;
	const char *trials, *time, *until, *target, *measure, *scheduler;
#define GUIDE(name, argument, preset, words, help) const char *guide_##name;
#include "tuner/tune/guide.def"
#undef GUIDE
	TextList db;
	int64_t seed;
	bool more, accept, cold, no_pin;
} TuneVerb;

/* Seconds beyond a twentieth of the time, to end what is under way. */
static const double spare_s = 0.2;

static volatile int interrupted;

static bool says_interrupted; /* not -q */

/* What is being measured may take seconds. */
static void on_signal(int number)
{
	if (interrupted)
		_exit(128 + number);
	interrupted = 1;
	if (says_interrupted)
		say_in_signal("interrupted: a last measurement runs; a second "
			      "ctrl-C stops it");
}

/* --- options --------------------------------------------------------------- */

/* "60s", "2m", "1h", "500ms", "60": seconds; -1 if it is none of these. */
static double parse_time(const char *text)
{
	static const struct {
		const char *unit;
		double seconds;
	} units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"m", 60}, {"min", 60},
	    {"h", 3600}};
	char *end;
	double n = strtod(text, &end);
	if (end == text || !(n >= 0) || isinf(n))
		return -1;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (!strcmp(end, units[i].unit))
			return n * units[i].seconds;
	return -1;
}

static bool parse_trials(const char *text, int64_t *out)
{
	char *end;
	long long n = strtoll(text, &end, 10);
	*out = n;
	return end != text && !*end && n >= 0 && *text >= '0' && *text <= '9';
}

/* "3%": 0.03; -1 if it is no share of a whole. */
static double parse_share(const char *text)
{
	char *end;
	double n = strtod(text, &end);
	bool good = end != text && end[0] == '%' && !end[1];
	return good && n > 0 && n < 100 ? n / 100 : -1;
}

static void name_searches(Buf *out)
{
	for (const SearchName *s = search_names(); s->name; s++)
		buf_printf(out, "%s%s", out->size ? ", " : "", s->name);
}

static void name_models(Buf *out)
{
	for (const ModelName *m = model_names(); m->name; m++)
		buf_printf(out, "%s, ", m->name);
	buf_puts(out, "none");
}

/* What a setting may be. */
static void name_choices(Buf *out, const GuideOption *option)
{
	if (!strcmp(option->name, "search"))
		name_searches(out);
	else if (!strcmp(option->name, "model"))
		name_models(out);
	else if (!*option->words)
		buf_puts(out, "the numbers from 0 to 1");
	for (const char *w = option->words; *w; w += strcspn(w, "|")) {
		w += *w == '|';
		buf_printf(out, "%s%.*s", out->size ? ", " : "",
		    (int)strcspn(w, "|"), w);
	}
}

/* What the search and the model are told. */
static int read_guide(const TuneVerb *v, GuideSettings *g)
{
	const char *const values[] = {
#define GUIDE(name, argument, preset, words, help) v->guide_##name,
#include "tuner/tune/guide.def"
#undef GUIDE
	};
	const GuideOption *o = guide_options();
	Buf choices = {0};
	int code = EXIT_DONE;
	*g = guide_defaults(1);
	for (int i = 0; o[i].name && !code; i++) {
		if (guide_set(g, o[i].name, values[i]))
			continue;
		name_choices(&choices, &o[i]);
		code = say_usage("tune", "--%s is one of %s, not '%s'",
		    o[i].name, buf_text(&choices), values[i]);
	}
	buf_free(&choices);
	return code;
}

/* EXIT_DONE, or the exit code after a message. */
static int check_scheduler(const char *word)
{
	Buf names = {0};
	int code = EXIT_DONE;
	for (const Scheduler *s = scheduler_all(); s->name; s++)
		buf_printf(&names, "%s%s", names.size ? ", " : "", s->name);
	if (!scheduler_named(word))
		code = say_usage("tune", "--scheduler is one of %s, not '%s'",
		    buf_text(&names), word);
	buf_free(&names);
	return code;
}

static void say_trouble(const char *trouble)
{
	if (isatty(2))
		say_live("");
	say_warning("%s; trying again", trouble);
}

/* EXIT_DONE, or the exit code after a message. */
static int read_options(const TuneVerb *v, TuneOptions *o)
{
	*o = (TuneOptions){.trials = -1,
	    .time_s = -1,
	    .end_s = INFINITY,
	    .more = v->more,
	    .accept = v->accept,
	    .seed = (uint64_t)v->seed,
	    .interrupted = &interrupted};
	o->measure = (MeasureOptions){.cold = v->cold,
	    .pin = !v->no_pin,
	    .say = say_trouble,
	    .interrupted = &interrupted,
	    .build_limit_s = 10,
	    .run_limit_s = 10,
	    .seed = (uint64_t)v->seed};
	if (v->trials && !parse_trials(v->trials, &o->trials))
		return say_usage(
		    "tune", "--trials takes a number, not '%s'", v->trials);
	if (v->time && (o->time_s = parse_time(v->time)) < 0)
		return say_usage("tune",
		    "--time takes a time such as 60s or 2m, not '%s'",
		    v->time);
	if (v->until && parse_share(v->until) < 0)
		return say_usage("tune",
		    "--until takes a part such as 3%%, not '%s'", v->until);
	int code = read_guide(v, &o->guide);
	if (!code)
		code = check_scheduler(v->scheduler);
	if (code)
		return code;
	if (!strcmp(v->measure, "simulate"))
		o->measure.machine = MACHINE_SIMULATED;
	else if (!strncmp(v->measure, "replay:", 7) && v->measure[7])
		o->replay_db = v->measure + 7;
	else if (strcmp(v->measure, "run"))
		return say_usage("tune",
		    "--measure is run, simulate or replay:STORE, not '%s'",
		    v->measure);
	return EXIT_DONE;
}

/* --- the run --------------------------------------------------------------- */

/* A run's operators in order; several spellings of one are one. */
typedef struct {
	const TuneVerb *verb;
	Arena *arena;
	TuneTaskVec tasks;
	const Target *target;
	const Stores *stores;
	TuneOptions options;
	int n;
	Measurer **measurers;
	Tuning **tunings; /* NULL: the same as an earlier one */
	bool *broken;     /* an error ended it, which was said */
	bool *ended;      /* it has its result, which was shown */
	const Scheduler *scheduler;
	TaskState *states; /* over: of those that are not searched, too */
	Ceilings ceilings;
	double until;      /* 0: until the budget is spent */
	double *visited_s; /* when that was, by measure_now's clock */
	TuneDisplay *displays;
	TuneResult *results;
	TuneBudgets budgets;
	double start_s, end_s; /* no job goes on then */
	bool forgets; /* expected outputs are too much to be kept */
	int last;     /* that is ended */
	double told_s; /* when the last line of progress was, off a terminal */
} Run;

static void best_of_stores(const Stores *stores,
    const Program *p, const Target *target, bool cold, TuneResult *r)
{
	Line best = {0};
	Error ignored;
	BestQuery query = {p->op, target->text, cold ? "cold" : "warm"};
	if (!best_find(stores->at, stores->n, &query, &best, &ignored) &&
	    best.json) {
		r->best_s = best.time_s;
		memcpy(r->best_id, best.id, sizeof r->best_id);
	}
	line_free(&best);
}

/* EXIT_DONE, or the exit code after a message. */
static int say_status(Run *run, int i, Status status, const Error *error)
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
static void set_outlook(Run *run, int i)
{
	TuneResult *r = &run->results[i];
	TaskState *t = &run->states[i];
	r->left = r->last_gain = -1;
	if (run->tasks.at[i].groups)
		return;
	tune_outlook(run->tunings[i], run->arena, t);
	r->bound_s = t->bound_s;
	if (isinf(t->best_s) || !(r->best_s > 0))
		return;
	r->last_gain = task_last_gain(t);
	if (!(t->bound_s > 0))
		return;
	/* of the best that stands, which may be another than the search's */
	double least_s = t->best_s * (1 - task_left(t, &run->ceilings));
	r->left = fmax(1 - least_s / r->best_s, 0);
	r->last_gain = fmin(r->last_gain, r->left);
}

/* What an operator came to. */
static int show_one(Run *run, int i)
{
	const TuneVerb *v = run->verb;
	const TuneOptions *o = &run->options;
	const Program *p = run->tasks.at[i].program;
	const char *label = run->displays[i].label;
	TuneResult *r = &run->results[i];
	if (o->measure.machine == MACHINE_REAL && !o->replay_db)
		best_of_stores(run->stores, p, run->target, v->cold, r);
	if (run->tunings[i])
		set_outlook(run, i);
	tune_show(&v->common, p, label, r);
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

static bool lacks_first(const Run *run, int i)
{
	return run->tunings[i] && !run->broken[i] &&
	    !tune_has_first(run->tunings[i]);
}

static int count_lacking(const Run *run)
{
	int lacking = 0;
	for (int i = 0; i < run->n; i++)
		lacking += lacks_first(run, i);
	return lacking;
}

/* Different ones that have a candidate 1: a whole has those of its groups. */
static int count_tuned(const Run *run)
{
	int n = 0;
	for (int i = 0; i < run->n; i++)
		n += run->tunings[i] && !run->tasks.at[i].groups;
	return n;
}

static const char *operators(int n)
{
	return n == 1 ? "operator" : "operators";
}

/* What the budget would have to be for one candidate each.  Where the store has
 * trials enough, the budget is covered, and those that have none are named. */
static int say_trials_short(const Run *run, int lacking)
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
static int say_time_short(const Run *run, int asked, int lacking)
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

static bool has_time(const Run *run)
{
	return run->budgets.time.left > 1e-3 && measure_now() < run->end_s;
}

/* Before any operator gets a second trial. */
static int measure_firsts(Run *run)
{
	int code = EXIT_DONE, asked = count_lacking(run), lacking;
	size_t bytes = 0;
	for (int i = 0; i < run->n; i++)
		bytes += measure_data_bytes(run->measurers[i]);
	run->forgets = bytes > kept_bytes;
	if (asked && run->budgets.trials.left < asked)
		return say_trials_short(run, asked);
	for (int i = 0; i < run->n && !interrupted; i++) {
		Error error = {0};
		if (!lacks_first(run, i) || !has_time(run))
			continue;
		Status status = tune_first(run->tunings[i], run->end_s,
		    run->forgets, &error);
		code = exit_worse(code, say_status(run, i, status, &error));
		tune_budgets_take(&run->budgets, i, run->tunings[i]);
	}
	lacking = interrupted ? 0 : count_lacking(run);
	return lacking ? exit_worse(code, say_time_short(run, asked, lacking))
		       : code;
}

/* --- the rest -------------------------------------------------------------- */

/* Candidate 1 of each group, which the best of each are checked against. */
static bool give_whole(Run *run, int i)
{
	enum { FIRSTS, BESTS, N };
	Error error = {0};
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
    const Run *run, int i, double *trials, double *time_s)
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

static int count_searched(const Run *run)
{
	int n = 0;
	for (int i = 0; i < run->n; i++)
		n += !run->states[i].over;
	return n > 0 ? n : 1;
}

static TuneShare share_of(const Run *run, int i)
{
	TuneShare s = {.part = 1, .end_s = run->end_s};
	double trials, time_s;
	if (run->scheduler->divides) {
		tune_budgets_share(
		    &run->budgets, i, run->n, &s.trials, &s.time_s);
	} else {
		keep_for_others(run, i, &trials, &time_s);
		tune_budgets_rest(&run->budgets, i, trials, time_s, &s.trials,
		    &s.time_s);
		s.part = 1.0 / count_searched(run);
	}
	if (s.time_s >= 0)
		s.end_s = fmin(s.end_s, measure_now() + spare_s +
			1.05 * (s.time_s - run->budgets.time.have[i]));
	return s;
}

/* --- many tasks ------------------------------------------------------------ */

/* Those that waited longest make room for the expected outputs of another. */
static void make_room(Run *run, int i)
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
static bool is_enough(Run *run, int i)
{
	TaskState *t = &run->states[i];
	if (!(run->until > 0) || (t->bound_s > 0 &&
	    !task_is_enough(t, &run->ceilings, run->until)))
		return false;
	tune_confirm_bound(run->tunings[i]);
	tune_outlook(run->tunings[i], run->arena, t);
	return task_is_enough(t, &run->ceilings, run->until);
}

static void look_at(Run *run, int i)
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

/* A visit that tries nothing is the last. */
static int visit_one(Run *run, int i)
{
	Error error = {0};
	int64_t tried;
	TaskState *t = &run->states[i];
	TuneShare share = share_of(run, i);
	make_room(run, i);
	Status status = tune_visit(run->tunings[i], &share, &tried, &error);
	run->visited_s[i] = measure_now();
	tune_budgets_take(&run->budgets, i, run->tunings[i]);
	t->visits++;
	int code = say_status(run, i, status, &error);
	look_at(run, i);
	t->over |= !tried;
	return code;
}

static int end_one(Run *run, int i)
{
	Error error = {0};
	TuneShare share = share_of(run, i);
	double own_s = tune_final_s(run->tunings[i]);
	if (run->tasks.at[i].groups && !give_whole(run, i))
		return EXIT_FAILED;
	/* what is left at last is spent, or it would not be covered */
	if (!run->scheduler->divides && !run->tasks.at[i].groups &&
	    share.time_s >= 0 && i != run->last)
		share.time_s = fmin(
		    share.time_s, run->budgets.time.have[i] + own_s);
	bool enough = run->results[i].enough;
	Status status = tune_end(
	    run->tunings[i], &share, enough, &run->results[i], &error);
	run->ended[i] = true;
	run->results[i].enough = enough;
	tune_budgets_take(&run->budgets, i, run->tunings[i]);
	int code = say_status(run, i, status, &error);
	return code ? code : show_one(run, i);
}

static int tune_repeated(Run *run, int i)
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
static bool lacks_group(const Run *run, int i)
{
	const TuneTask *t = &run->tasks.at[i];
	for (int k = 0; t->groups && k < t->groups->n; k++)
		if (lacks_first(run, run->tasks.at[t->of_group[k]].same))
			return true;
	return false;
}

/* Nothing is to be done, or it was said why nothing can be.  A run that began is
 * ended in order, whatever interrupts it. */
static bool is_over(const Run *run, int i)
{
	bool began = run->tunings[i] && tune_has_begun(run->tunings[i]);
	return run->broken[i] || (interrupted && !began) ||
	    (!began && (lacks_first(run, i) || lacks_group(run, i)));
}

/* Of cases that are one operator the sum; of a program of several groups what
 * each of them promises. */
static const double *weigh(const Run *run)
{
	double *weight = NEW_N(run->arena, double, run->n);
	tune_weights(&run->tasks, run->tunings, &run->options, weight);
	return weight;
}

/* Of all operators together, where anything was measured. */
static void show_times(const Run *run)
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
		sum.compile += t->compile;
		sum.check += t->check;
		sum.run += t->run;
	}
	if (measured)
		tune_show_times(
		    &run->verb->common, &sum, measure_now() - run->start_s);
}

/* Until all are over. */
static int search_all(Run *run)
{
	int i, code = EXIT_DONE;
	while (!interrupted &&
	    (i = run->scheduler->next(run->states, run->n)) >= 0) {
		code = exit_worse(code, visit_one(run, i));
		if (run->scheduler->divides && run->states[i].over &&
		    !run->broken[i])
			code = exit_worse(code, end_one(run, i));
	}
	return code;
}

static void open_states(Run *run)
{
	double *count = NEW_N(run->arena, double, run->n);
	tune_counts(&run->tasks, count);
	for (int i = 0; i < run->n; i++) {
		run->states[i] = task_state(count[i]);
		if (run->tunings[i] && !run->tasks.at[i].groups &&
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
static void show_limit(const Run *run)
{
	TuneLimit l = {.until = run->until};
	for (int i = 0; i < run->n; i++) {
		const TaskState *t = &run->states[i];
		const TuneResult *r = &run->results[i];
		if (!run->ended[i] || !(t->weight > 0) || r->last_gain < 0)
			continue;
		double best_s = t->weight * r->best_s;
		l.best_s += best_s;
		l.bound_s += t->weight * r->bound_s;
		l.left_s += best_s * r->left;
		l.gain_s += best_s * r->last_gain;
		l.unknown |= !(r->bound_s > 0);
		l.tasks++;
		l.enough += r->enough;
	}
	tune_show_limit(&run->verb->common, &l);
}

static int tune_all(Run *run)
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
		code = exit_worse(code, run->tunings[i]
			? end_one(run, i) : tune_repeated(run, i));
	}
	show_times(run);
	show_limit(run);
	return interrupted ? EXIT_INTERRUPTED : code;
}

/* What is tuned for has to run here, unless nothing is run; a device is looked for
 * when measuring begins. */
static Target *open_target(Arena *arena, const TuneVerb *v,
    const MeasureOptions *measure, Error *error)
{
	const char *asked = target_asked(v->target);
	Target *t = measure_target(arena, asked ? asked : "host", error);
	if (!t)
		return NULL;
	if (t->kind == TARGET_C)
		error_set(error, STATUS_UNSUPPORTED,
		    "target '%s' is built for, not measured: tune for host",
		    t->text);
	else if (t->kind == TARGET_LLVM && measure->machine == MACHINE_REAL &&
	    !target_runs_here(t))
		error_set(error, STATUS_UNSUPPORTED,
		    "this machine cannot run code for '%s'", t->text);
	else
		return t;
	return NULL;
}

/* --- beginning and end ----------------------------------------------------- */

/* The plain loop nest is run where it takes a twentieth of an operator's time at
 * most, and a second. */
static double plain_seconds(const TuneOptions *o, int n)
{
	return o->time_s < 0 ? 1 : fmin(1, o->time_s / n / 20);
}

/* Different operators that the user named. */
static int count_named(const Run *run)
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

/* What is measured is not written into what is replayed. */
static int check_replay(Arena *arena, const TuneVerb *v, const char *replayed)
{
	ProgramVec none = {0};
	TextVec written = {0}, read = {0};
	InputVec inputs = {0};
	vec_push(arena, &written, v->db.n ? v->db.at[0] : stores_preset());
	vec_push(arena, &read, replayed);
	inputs_of(arena, &none, NULL, &read, &inputs);
	return outputs_apart(arena, &written, &inputs);
}

static Status open_tunings(Run *run, Error *error)
{
	TuneOptions *o = &run->options;
	const Common *c = &run->verb->common;
	int different = 0;
	for (int i = 0; i < run->n; i++)
		different += run->tasks.at[i].same == i;
	if (o->time_s < 0 && o->trials < 0)
		o->time_s = 60.0 * count_named(run);
	if (o->time_s >= 0)
		run->end_s = run->start_s + 1.05 * o->time_s + spare_s;
	o->plain_s = plain_seconds(o, different);
	for (int i = 0; i < run->n; i++) {
		const Program *p = run->tasks.at[i].program;
		bool shown = !c->quiet && !c->json;
		run->displays[i] = (TuneDisplay){program_label(run->arena, p),
		    shown && isatty(2), -1, shown ? &run->told_s : NULL};
		TuneOptions own = *o;
		own.composed = run->tasks.at[i].groups != NULL;
		if (run->tasks.at[i].same == i)
			FORWARD_IF_ERROR(tune_open(p, run->target,
			    run->stores->at[0], run->measurers[i], &own,
			    tune_show_progress, &run->displays[i],
			    &run->tunings[i], error));
	}
	tune_budgets_open(run->arena, &run->budgets, run->tunings,
	    weigh(run), run->n, o);
	return STATUS_OK;
}

static Run run_of(Arena *arena, const TuneVerb *v, const ProgramVec *programs)
{
	TuneTaskVec tasks = {0};
	tune_tasks(arena, programs, &tasks);
	int n = tasks.n;
	return (Run){.verb = v,
	    .arena = arena,
	    .tasks = tasks,
	    .n = n,
	    .measurers = NEW_N(arena, Measurer *, n),
	    .tunings = NEW_N(arena, Tuning *, n),
	    .broken = NEW_N(arena, bool, n),
	    .ended = NEW_N(arena, bool, n),
	    .scheduler = scheduler_named(v->scheduler),
	    .until = v->until ? parse_share(v->until) : 0,
	    .states = NEW_N(arena, TaskState, n),
	    .visited_s = NEW_N(arena, double, n),
	    .displays = NEW_N(arena, TuneDisplay, n),
	    .results = NEW_N(arena, TuneResult, n),
	    .end_s = INFINITY};
}

static void close_run(Run *run)
{
	for (int i = 0; i < run->n; i++) {
		tune_free(run->tunings[i]);
		measure_close(run->measurers[i]);
	}
}

static void catch_signals(const Common *common)
{
	says_interrupted = !common->quiet;
	struct sigaction action = {.sa_handler = on_signal};
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static int run_programs(Run *run, Stores *stores)
{
	const TuneVerb *v = run->verb;
	Error error = {0};
	const Program **programs = NEW_N(run->arena, const Program *, run->n);
	for (int i = 0; i < run->n; i++)
		programs[i] = run->tasks.at[i].program;
	Target *target =
	    open_target(run->arena, v, &run->options.measure, &error);
	run->target = target;
	catch_signals(&v->common);
	/* before anything starts a thread */
	if (!target || measure_open_all(programs, run->n, target,
			   &run->options.measure, run->measurers, &error)) {
		say_error("%s", error.text);
		return exit_of_status(error.status);
	}
	int code = stores_open(&v->db, STORE_WRITE, stores);
	if (code)
		return code;
	run->stores = stores;
	if (!open_tunings(run, &error))
		return tune_all(run);
	say_error("%s", error.text);
	return EXIT_FAILED;
}

/* For a GPU that is not here the model's best are compiled, and looked at. */
static bool is_static(Arena *arena, const TuneVerb *v, const TuneOptions *o,
    StaticTune *t)
{
	Error error = {0};
	char why[512];
	const char *asked = target_asked(v->target);
	t->target = asked ? target_parse(arena, asked, &error) : NULL;
	if (!t->target || t->target->kind != TARGET_CUDA || o->replay_db ||
	    o->measure.machine != MACHINE_REAL ||
	    measure_can(t->target, false, why, sizeof why))
		return false;
	t->why = arena_strdup(arena, why);
	return true;
}

static int run_static(Arena *arena, const TuneVerb *v, const TuneOptions *o,
    const StaticTune *found, double start_s, const ProgramVec *programs)
{
	StaticTune t = {.common = &v->common,
	    .target = found->target,
	    .why = found->why,
	    .candidates = o->trials >= 0 ? o->trials : STATIC_CANDIDATES,
	    .seed = o->seed,
	    .end_s = o->time_s >= 0 ? start_s + o->time_s : INFINITY};
	return tune_static(arena, &t, programs);
}

static int tune_run(void *options, int n, char **operands)
{
	const TuneVerb *v = options;
	Arena *arena = arena_new();
	ProgramVec programs = {0};
	Stores stores = {0};
	TuneOptions o;
	StaticTune looked;
	double start_s = measure_now();
	int code = read_options(v, &o);
	if (code == EXIT_DONE && o.replay_db)
		code = check_replay(arena, v, o.replay_db);
	if (code == EXIT_DONE)
		code = specs_load(arena, &v->common, n, operands, &programs);
	if (code == EXIT_DONE && is_static(arena, v, &o, &looked)) {
		code = run_static(arena, v, &o, &looked, start_s, &programs);
	} else if (code == EXIT_DONE) {
		Run run = run_of(arena, v, &programs);
		run.options = o;
		run.start_s = run.told_s = start_s;
		code = run_programs(&run, &stores);
		stores_warn(&stores, &v->common);
		close_run(&run);
		stores_close(&stores);
	}
	arena_free(arena);
	return code;
}

static const char search_help[] = "what proposes candidates:"
#define SEARCH(name, learns, help) "\n" #name ": " help
#include "tuner/search/searches.def"
#undef SEARCH
    ;
static const char model_help[] = "what learns from measurements:"
#define MODEL(name, ranks, help) "\n" #name ": " help
#include "tuner/model/models.def"
#undef MODEL
    "\nnone: the analytic model alone";

static const Option options[] = {
    {"trials", 0, OPTION_TEXT, offsetof(TuneVerb, trials), "N", NULL,
	"until the store has N search trials for these operators"},
    {"time", 0, OPTION_TEXT, offsetof(TuneVerb, time), "TIME", NULL,
	"until their runs took so long together: 60s, 2m, 1h\n"
	"(default: 60s an operator where neither is given)"},
    {"until", 0, OPTION_TEXT, offsetof(TuneVerb, until), "PART", NULL,
	"end an operator where less is left to gain: 3%, by the machine's\n"
	"limit and how close others have come to it"},
    {"more", 0, OPTION_FLAG, offsetof(TuneVerb, more), NULL, NULL,
	"spend the budget again, whatever the store has"},
    {"accept", 0, OPTION_FLAG, offsetof(TuneVerb, accept), NULL, NULL,
	"let the newest final round count though it was slower"},
    {"target", 0, OPTION_TEXT, offsetof(TuneVerb, target), "TARGET", NULL,
	"what to tune for (default: $TUNEC_TARGET, or host)"},
#define GUIDE(name, argument, preset, words, help) \
	{#name, 0, OPTION_TEXT, offsetof(TuneVerb, guide_##name), argument, \
	    preset, help},
#include "tuner/tune/guide.def"
#undef GUIDE
    {"scheduler", 0, OPTION_TEXT, offsetof(TuneVerb, scheduler), "KIND",
	"gradient", "which of several operators is searched next:"
#define SCHEDULER(name, spelled, divides, help) "\n" spelled ": " help
#include "tuner/tune/schedulers.def"
#undef SCHEDULER
    },
    {"measure", 0, OPTION_TEXT, offsetof(TuneVerb, measure), "HOW", "run",
	"run on this machine; simulate: a deterministic machine\n"
	"in its place; replay:STORE: what a store measured"},
    {"seed", 0, OPTION_INT, offsetof(TuneVerb, seed), "N", "1",
	"of the search, and of the inputs"},
    {"cold", 0, OPTION_FLAG, offsetof(TuneVerb, cold), NULL, NULL,
	"flush the caches before each run"},
    {"no-pin", 0, OPTION_FLAG, offsetof(TuneVerb, no_pin), NULL, NULL,
	"do not pin threads to CPUs"},
    {"db", 0, OPTION_LIST, offsetof(TuneVerb, db), "STORE", NULL,
	"where trials are kept; repeatable: the first is written and\n"
	"counted, the others are read for the best where it has none\n"
	"(default: $TUNEC_DB, or tunec.db)"},
    {0}};

const Verb verb_tune = {
    .name = "tune",
    .operands = "SPEC[:CASE]...",
    .summary = "search for the fastest schedule and keep what was measured",
    .text =
	"Each trial is kept when it has finished; a run that is interrupted or\n"
	"killed loses only what was being measured, and the next one goes on.\n",
    .options = options,
    .size = sizeof(TuneVerb),
    .specs = true,
    .min_operands = 1,
    .max_operands = -1,
    .run = tune_run,
};
