/* tunec tune: search for the fastest schedule, measure, keep what was learnt. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/stores.h"
#include "tuner/tune.h"

typedef struct {
	Common common;
	const char *trials, *time, *target, *search, *model, *measure;
	TextList db;
	int64_t seed;
	bool more, accept, cold, no_pin;
} TuneVerb;

static volatile int interrupted;

static void on_signal(int number)
{
	if (interrupted)
		_exit(128 + number);
	interrupted = 1;
}

/* --- options ------------------------------------------------------------------- */

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

static bool among(const char *word, const char *words)
{
	size_t n = strlen(word);
	for (const char *p = strstr(words, word); n && p;
	     p = strstr(p + 1, word))
		if ((p == words || p[-1] == ' ') && (!p[n] || p[n] == ' '))
			return true;
	return false;
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
	    .left_s = -1,
	    .more = v->more,
	    .accept = v->accept,
	    .seed = (uint64_t)v->seed,
	    .model = true,
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
	if (among(v->search, "evolve ga grid")) {
		say_error("--search=%s is not built yet: sa and random are",
		    v->search);
		return EXIT_FAILED;
	}
	if (!among(v->search, "sa random"))
		return say_usage("tune",
		    "--search is sa, evolve, ga, random or grid, not '%s'",
		    v->search);
	o->search = strcmp(v->search, "random") ? SEARCH_ANNEAL : SEARCH_RANDOM;
	if (!among(v->model, "xgboost none"))
		return say_usage("tune",
		    "--model is xgboost or none, not '%s'", v->model);
	o->model = !strcmp(v->model, "xgboost");
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

/* --- the live line ----------------------------------------------------------------- */

typedef struct {
	const char *label;
	bool live;
	double last; /* when it was drawn */
} Display;

static const char *format_rate(char *text, size_t size, double flops_per_s)
{
	if (flops_per_s >= 1e9)
		snprintf(text, size, "%.1f GFLOP/s", flops_per_s * 1e-9);
	else
		snprintf(text, size, "%.1f MFLOP/s", flops_per_s * 1e-6);
	return text;
}

static void show_progress(const TuneProgress *p, void *context)
{
	Display *d = context;
	char rate[32];
	if (!d->live ||
	    (p->phase == TUNE_SEARCH && p->elapsed_s - d->last < 0.1))
		return;
	d->last = p->elapsed_s;
	Buf line = {0};
	buf_printf(&line, "%s  ", d->label);
	if (p->phase == TUNE_REFERENCE) {
		buf_puts(&line, "plain loops, for comparison");
	} else {
		buf_printf(&line, "%lld trials", (long long)p->trials);
		if (p->failed)
			buf_printf(&line, " (%lld failed)",
			    (long long)p->failed);
		if (p->best_s > 0)
			buf_printf(&line, "  best %s",
			    format_rate(rate, sizeof rate,
				p->best_flops_per_s));
		if (p->best_s > 0 && p->peak_flops_per_s > 0)
			buf_printf(&line, " (%.0f %% of the peak)",
			    100 * p->best_flops_per_s / p->peak_flops_per_s);
		buf_printf(&line, "  %.1f trials/s", p->trials_per_s);
		if (!isnan(p->rank_correlation))
			buf_printf(&line, "  rank %.2f", p->rank_correlation);
		if (p->phase == TUNE_FINAL)
			buf_puts(&line, "  measuring the best again");
		else if (p->left_s >= 0)
			buf_printf(&line, "  %.0f s left", p->left_s);
	}
	say_live(buf_text(&line));
	buf_free(&line);
}

/* --- results ------------------------------------------------------------------------- */

static const char *format_time(char *text, size_t size, double s)
{
	if (s >= 1)
		snprintf(text, size, "%.3f s", s);
	else if (s >= 1e-3)
		snprintf(text, size, "%.3f ms", s * 1e3);
	else
		snprintf(text, size, "%.3f us", s * 1e6);
	return text;
}

static void print_text(
    const Program *p, const char *label, const TuneResult *r, bool verbose)
{
	char a[32], b[32];
	if (r->covered) {
		out_text("%s: the store has %lld trials: %s\n", label,
		    (long long)r->stored,
		    r->exhausted ? "the space is exhausted" : "covered");
	} else {
		out_text("%s: %lld trials in %.1f s (%.1f a second), "
		       "%lld failed%s%s%s\n",
		    label, (long long)r->trials, r->elapsed_s,
		    (double)r->trials / r->elapsed_s, (long long)r->failed,
		    r->exhausted ? "; the space is exhausted" : "",
		    r->interrupted ? "; interrupted" : "",
		    r->hopeless ? "; stopped, nearly all fail alike" : "");
	}
	if (r->best_s > 0) {
		out_text("  best %s, %s", format_time(a, sizeof a, r->best_s),
		    format_rate(b, sizeof b, (double)p->flops / r->best_s));
		if (r->peak_all > 0)
			out_text(", %.1f %% of the peak of %.1f GFLOP/s",
			    100 * (double)p->flops / r->best_s / r->peak_all,
			    r->peak_all * 1e-9);
		out_text("  (%s)\n", r->best_id);
	}
	if (r->final_s > 0 && strcmp(r->final_id, r->best_id))
		out_text("  the final round of this run %s: %s (%s); the best "
		       "above stands%s\n",
		    r->final_quiet ? "was slower" : "was disturbed",
		    format_time(a, sizeof a, r->final_s), r->final_id,
		    r->final_quiet ? ", --accept takes the new one" : "");
	if (r->plain_s > 0 && r->best_s > 0)
		out_text("  plain loops %s: %.1f times slower\n",
		    format_time(a, sizeof a, r->plain_s),
		    r->plain_s / r->best_s);
	if (verbose && !r->covered) {
		const TuneTimes *t = &r->times;
		out_text("  time: search %.2f s, features and model %.2f, train "
		       "%.2f, compile %.2f, check %.2f, run %.2f, idle %.2f\n",
		    t->search, t->features, t->train, t->compile, t->check,
		    t->run, t->idle);
		out_text("  %lld candidates scored, %.0f a second\n",
		    (long long)r->scored, r->scored_per_s);
	}
}

static void print_json(const Program *p, const TuneResult *r)
{
	json_t *o = json_pack("{s:s,s:s,s:s,s:b,s:I,s:I,s:I,s:I,s:b,s:f}",
	    "name", p->name, "case", p->case_name, "op", p->op, "covered",
	    r->covered, "trials", (json_int_t)r->trials, "ok",
	    (json_int_t)r->ok, "failed", (json_int_t)r->failed, "stored",
	    (json_int_t)r->stored, "exhausted", r->exhausted, "elapsed_s",
	    r->elapsed_s);
	json_object_set_new(
	    o, "best_s", r->best_s > 0 ? json_real(r->best_s) : json_null());
	json_object_set_new(o, "best",
	    r->best_id[0] ? json_string(r->best_id) : json_null());
	json_object_set_new(o, "final",
	    r->final_s > 0 ? json_string(r->final_id) : json_null());
	json_object_set_new(o, "final_s",
	    r->final_s > 0 ? json_real(r->final_s) : json_null());
	json_object_set_new(o, "plain_s",
	    r->plain_s > 0 ? json_real(r->plain_s) : json_null());
	json_object_set_new(o, "flops_per_s",
	    r->best_s > 0 ? json_real((double)p->flops / r->best_s)
			  : json_null());
	json_object_set_new(o, "peak_one", json_real(r->peak_one));
	json_object_set_new(o, "peak_all", json_real(r->peak_all));
	json_object_set_new(
	    o, "scored", json_integer((json_int_t)r->scored));
	json_object_set_new(o, "scored_per_s", json_real(r->scored_per_s));
	json_object_set_new(o, "times_s", tune_times_json(&r->times));
	out_json(o);
	json_decref(o);
}

/* --- the run ---------------------------------------------------------------------------- */

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

static int tune_one(Arena *arena, const TuneVerb *v, const Program *p,
    const Target *target, const Stores *stores, Measurer *measurer,
    const TuneOptions *options, TuneResult *result)
{
	const char *label = program_label(arena, p);
	Display display = {label,
	    isatty(2) && !v->common.quiet && !v->common.json, -1};
	Error error = {0};
	Status status = tune_operator(p, target, stores->at[0], measurer,
	    options, show_progress, &display, result, &error);
	if (display.live)
		say_live("");
	if (status == STATUS_MACHINE) {
		say_error("%s: %s; %lld trial%s kept in %s", label, error.text,
		    (long long)result->stored,
		    result->stored == 1 ? " is" : "s are",
		    store_path(stores->at[0]));
		return EXIT_FAILED;
	}
	if (status) {
		say_error("%s: %s", label, error.text);
		return EXIT_FAILED;
	}
	if (options->measure.machine == MACHINE_REAL && !options->replay_db)
		best_of_stores(stores, p, target, v->cold, result);
	if (v->common.json)
		print_json(p, result);
	else if (!v->common.quiet)
		print_text(p, label, result, v->common.verbose);
	if (result->interrupted)
		return EXIT_INTERRUPTED;
	if (!(result->best_s > 0) && result->stored) {
		say_error("%s: no valid trial; first failure: %s", label,
		    result->best_error[0] ? result->best_error
					  : "in the store");
		return EXIT_FAILED;
	}
	return EXIT_DONE;
}

/* What is tuned for has to run here, unless nothing is run. */
static Target *open_target(Arena *arena, const TuneVerb *v,
    const MeasureOptions *measure, Error *error)
{
	const char *asked = target_asked(v->target);
	Target *t = target_parse(arena, asked ? asked : "host", error);
	if (!t)
		return NULL;
	if (t->kind != TARGET_LLVM)
		error_set(error, STATUS_UNSUPPORTED,
		    "target '%s' is built for, not measured: tune for host",
		    t->text);
	else if (measure->machine == MACHINE_REAL && !target_runs_here(t))
		error_set(error, STATUS_UNSUPPORTED,
		    "this machine cannot run code for '%s'", t->text);
	else
		return t;
	return NULL;
}

/* --- budgets --------------------------------------------------------------------------- */

/* Of trials or of seconds, over all operators. */
typedef struct {
	double left; /* infinite: no such budget */
	double *have; /* that count, for each operator */
} Budget;

/* What the first of n operators gets of what is left, so that they end as equal
 * as may be: all that have less are brought to one level. */
static double share(const double *have, int n, double left)
{
	double level = INFINITY;
	for (;;) {
		double sum = left;
		int below = 0;
		for (int i = 0; i < n; i++)
			if (have[i] < level) {
				sum += have[i];
				below++;
			}
		if (!below || sum / below >= level)
			return fmax(level - have[0], 0);
		level = sum / below;
	}
}

/* The same operator under another name. */
static bool is_repeated(const ProgramVec *programs, int i)
{
	for (int k = 0; k < i; k++)
		if (!strcmp(programs->at[k]->op, programs->at[i]->op))
			return true;
	return false;
}

/* Less than a millisecond is nothing. */
static bool is_spent(const Budget *trials, const Budget *time)
{
	return trials->left <= 0 || time->left < 1e-3;
}

static Status open_budgets(Arena *arena, const ProgramVec *programs,
    const Target *target, Store *store, const TuneOptions *o, Budget *trials,
    Budget *time, Error *error)
{
	int n = programs->n, different = 0;
	trials->have = NEW_N(arena, double, n);
	time->have = NEW_N(arena, double, n);
	for (int i = 0; i < n; i++) {
		int64_t stored = 0;
		double spent_s = 0;
		if (is_repeated(programs, i)) {
			trials->have[i] = time->have[i] = INFINITY;
			continue;
		}
		different++;
		if (!o->more)
			FORWARD_IF_ERROR(tune_stored(programs->at[i], target,
			    store, o, &stored, &spent_s, error));
		trials->have[i] = (double)stored;
		time->have[i] = spent_s;
	}
	trials->left = o->trials < 0 ? INFINITY : (double)o->trials;
	time->left = o->time_s >= 0 ? o->time_s
	    : o->trials < 0 ? 60.0 * different : INFINITY;
	for (int i = 0; i < n; i++) {
		if (isinf(trials->have[i]))
			continue;
		trials->left -= trials->have[i];
		time->left -= time->have[i];
	}
	return STATUS_OK;
}

/* The budget of operator i alone, as a total of what the store will hold. */
static void set_budget(TuneOptions *o, const Budget *trials,
    const Budget *time, int i, int n)
{
	if (is_spent(trials, time) || isinf(trials->have[i])) {
		o->trials = 0;
		o->more = false;
		return;
	}
	o->trials = -1;
	if (!isinf(trials->left))
		o->trials = (int64_t)(trials->have[i] +
		    share(trials->have + i, n - i, trials->left));
	o->time_s = -1;
	if (!isinf(time->left))
		o->time_s = time->have[i] +
		    share(time->have + i, n - i, time->left);
}

static int tune_all(Arena *arena, const TuneVerb *v, const ProgramVec *programs,
    const Target *target, const Stores *stores, Measurer **measurers,
    const TuneOptions *options)
{
	int code = EXIT_DONE, n = programs->n;
	bool any = false;
	Budget trials, time;
	Error error = {0};
	if (open_budgets(arena, programs, target, stores->at[0], options,
		&trials, &time, &error)) {
		say_error("%s", error.text);
		return EXIT_FAILED;
	}
	for (int i = 0; i < n && !interrupted; i++) {
		TuneOptions o = *options;
		TuneResult r;
		set_budget(&o, &trials, &time, i, n);
		code = exit_worse(code,
		    tune_one(arena, v, programs->at[i], target, stores,
			measurers[i], &o, &r));
		any |= r.best_s > 0;
		trials.left -= (double)r.trials;
		time.left -= r.spent_s;
		if (o.more || isinf(trials.have[i]))
			continue;
		/* what other tuners did meanwhile */
		trials.left -=
		    (double)(r.stored - r.trials) - trials.have[i];
		time.left -= r.others_s - time.have[i];
	}
	if (!any && !code && !interrupted) {
		say_error("no valid trial: the budget has room for none");
		code = EXIT_FAILED;
	}
	return interrupted ? EXIT_INTERRUPTED : code;
}

/* One measuring process for each operator, before anything starts a thread. */
static Status open_measurers(Arena *arena, const ProgramVec *programs,
    const Target *target, const TuneOptions *o, Measurer ***out, Error *error)
{
	*out = NEW_N(arena, Measurer *, programs->n);
	for (int i = 0; i < programs->n; i++)
		FORWARD_IF_ERROR(measure_open(programs->at[i], target,
		    &o->measure, &(*out)[i], error));
	return STATUS_OK;
}

static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal};
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static int tune_run(void *options, int n, char **operands)
{
	const TuneVerb *v = options;
	Arena *arena = arena_new();
	ProgramVec programs = {0};
	TuneOptions o;
	Error error = {0};
	Stores stores = {0};
	int code = read_options(v, &o);
	if (code == EXIT_DONE)
		code = specs_load(arena, &v->common, n, operands, &programs);
	if (code != EXIT_DONE) {
		arena_free(arena);
		return code;
	}
	Target *target = open_target(arena, v, &o.measure, &error);
	Measurer **measurers = NULL;
	catch_signals();
	if (!target || open_measurers(arena, &programs, target, &o,
			   &measurers, &error)) {
		say_error("%s", error.text);
		code = exit_of_status(error.status);
	} else if (!(code = stores_open(&v->db, STORE_WRITE, &stores))) {
		code = tune_all(
		    arena, v, &programs, target, &stores, measurers, &o);
	}
	stores_warn(&stores, &v->common);
	for (int i = 0; measurers && i < programs.n; i++)
		measure_close(measurers[i]);
	stores_close(&stores);
	arena_free(arena);
	return code;
}

static const Option options[] = {
    {"trials", 0, OPTION_TEXT, offsetof(TuneVerb, trials), "N", NULL,
	"until the store has N search trials for these operators"},
    {"time", 0, OPTION_TEXT, offsetof(TuneVerb, time), "TIME", NULL,
	"until their runs took so long together: 60s, 2m, 1h\n"
	"(default: 60s an operator where neither is given)"},
    {"more", 0, OPTION_FLAG, offsetof(TuneVerb, more), NULL, NULL,
	"spend the budget again, whatever the store has"},
    {"accept", 0, OPTION_FLAG, offsetof(TuneVerb, accept), NULL, NULL,
	"let the newest final round count though it was slower"},
    {"target", 0, OPTION_TEXT, offsetof(TuneVerb, target), "TARGET", NULL,
	"what to tune for (default: $TUNEC_TARGET, or host)"},
    {"search", 0, OPTION_TEXT, offsetof(TuneVerb, search), "KIND", "sa",
	"sa: simulated annealing on a learned model; random"},
    {"model", 0, OPTION_TEXT, offsetof(TuneVerb, model), "KIND", "xgboost",
	"xgboost, or none: the analytic model alone"},
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
