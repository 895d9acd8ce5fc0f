/* tunec tune: search for the fastest schedule, measure, keep what was learnt. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/kernels.h"
#include "cmd/tune_verb.h"
#include "tuner/search/search.h"

typedef struct {
	Common common;
	const char *trials, *time, *until, *target, *measure, *scheduler;
	const char *trace, *machine;
	const char *schedule;
	const CostsFile *row; /* of --machine; NULL: the table's */
#define GUIDE(name, argument, preset, words, help) const char *guide_##name;
#include "tuner/tune/guide.def"
#undef GUIDE
	TextList db, transfer;
	int64_t seed;
	bool more, accept, cold, no_pin;
} TuneVerb;

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

/* `off`, or of each source `auto` or `given`: paths are the user's own. */
static const char *transfer_words(Arena *arena, const TextList *words)
{
	const char *all = NULL;
	for (int i = 0; i < words->n; i++) {
		bool own = !strcmp(words->at[i], "auto");
		if (!strcmp(words->at[i], "off"))
			return "off";
		all = arena_printf(arena, "%s%s%s", all ? all : "",
		    all ? " " : "", own ? "auto" : "given");
	}
	return all ? all : "off";
}

/* What decides what is searched, beside the budget and the seed. */
static const TuneSetting *settings_of(Arena *arena, const TuneVerb *v)
{
	const TuneSetting all[] = {
#define GUIDE(name, argument, preset, words, help) {#name, v->guide_##name},
#include "tuner/tune/guide.def"
#undef GUIDE
	    {"scheduler", v->scheduler},
	    {"transfer", transfer_words(arena, &v->transfer)},
	    {"machine", v->row ? v->row->name : "table"},
	    {v->until ? "until" : NULL, v->until}, {0}};
	return arena_memdup(arena, all, sizeof all);
}

/* EXIT_DONE, or the exit code after a message. */
static int read_options(Arena *arena, const TuneVerb *v, TuneOptions *o)
{
	*o = (TuneOptions){.trials = -1,
	    .time_s = -1,
	    .end_s = INFINITY,
	    .more = v->more,
	    .accept = v->accept,
	    .schedule = v->schedule,
	    .seed = (uint64_t)v->seed,
	    .settings = settings_of(arena, v),
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
	if (v->time && (o->time_s = time_parse(v->time)) < 0)
		return say_usage("tune",
		    "--time takes a time such as 60s or 2m, not '%s'",
		    v->time);
	if (v->trace && v->schedule)
		return say_usage(
		    "tune", "--trace and --schedule exclude each other");
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

/* What is tuned for has to run here, unless nothing is run; a device is looked for
 * when measuring begins. */
static Target *open_target(Arena *arena, const TuneVerb *v,
    const MeasureOptions *measure, Error *error)
{
	const char *asked = target_asked(v->target);
	Target *t = measure_target(arena, asked ? asked : "host", error);
	if (!t || machine_take(t, v->row, error))
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

/* What is measured is not written into what is replayed. */
static int check_replay(Arena *arena, const TuneVerb *v, const char *replayed)
{
	ProgramVec none = {0};
	TextVec written = {0}, read = {0};
	InputVec inputs = {0};
	if (access(replayed, F_OK)) {
		say_error("--measure: there is no file %s", replayed);
		return EXIT_FAILED;
	}
	vec_push(arena, &written, v->db.n ? v->db.at[0] : stores_preset());
	vec_push(arena, &read, replayed);
	inputs_of(arena, &none, NULL, &read, &inputs);
	return outputs_apart(arena, &written, &inputs);
}

static TuneRun run_of(
    Arena *arena, const TuneVerb *v, Target *target, const ProgramVec *programs)
{
	TuneTaskVec tasks = {0};
	tune_tasks(arena, programs, &target->machine, v->trace != NULL, &tasks);
	int n = tasks.n;
	return (TuneRun){.common = &v->common,
	    .cold = v->cold,
	    .arena = arena,
	    .target = target,
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

static void close_run(TuneRun *run)
{
	for (int i = 0; i < run->n; i++) {
		tune_free(run->tunings[i]);
		measure_close(run->measurers[i]);
	}
	tune_transfer_close(run);
}

static void catch_signals(const Common *common)
{
	says_interrupted = !common->quiet;
	struct sigaction action = {.sa_handler = on_signal};
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* --- a schedule by hand ----------------------------------------------------- */

static int read_schedules(
    TuneRun *run, const Common *common, const KernelOptions *options, int at)
{
	int code;
	Making *making = kernels_open(run->arena, common, options, &code);
	for (int i = 0; i < run->n && code == EXIT_DONE; i++) {
		TuneTask *t = &run->tasks.at[i];
		Kernel kernel = {0};
		code = kernels_one(making, run->arena, t->program, KERNEL_NEST,
		    &kernel);
		t->given[at] = kernel.trace;
	}
	kernels_close(making);
	return code;
}

/* --trace: what build would take without it, and that. */
static int read_given(const TuneVerb *v, TuneRun *run)
{
	Common quiet = v->common;
	KernelOptions best = {
	    .target = run->target->text, .machine = v->machine, .db = v->db};
	KernelOptions given = {
	    .target = run->target->text, .trace = v->trace};
	quiet.quiet = true;
	for (int i = 0; i < run->n; i++)
		run->tasks.at[i].given = NEW_N(run->arena, const Trace *, 2);
	int code = read_schedules(run, &v->common, &given, 1);
	return code ? code : read_schedules(run, &quiet, &best, 0);
}

static int run_programs(const TuneVerb *v, TuneRun *run, Stores *stores)
{
	Error error = {0};
	const Program **programs = NEW_N(run->arena, const Program *, run->n);
	for (int i = 0; i < run->n; i++)
		programs[i] = run->tasks.at[i].program;
	catch_signals(&v->common);
	/* before anything starts a thread */
	if (measure_open_all(programs, run->n, run->target,
		&run->options.measure, run->measurers, &error)) {
		say_error("%s", error.text);
		return exit_of_status(error.status);
	}
	int code = v->trace ? read_given(v, run) : EXIT_DONE;
	if (!code)
		code = stores_open(&v->db, STORE_WRITE, stores);
	if (code)
		return code;
	run->stores = stores;
	code = tune_transfer_open(run, &v->transfer);
	if (code)
		return code;
	if (!tune_run_open(run, &error))
		return tune_run_all(run);
	say_error("%s", error.text);
	return EXIT_FAILED;
}

/* --schedule: every program has to have it. */
static int check_schedule(
    Arena *arena, const TuneVerb *v, const ProgramVec *programs)
{
	for (int i = 0; v->schedule && i < programs->n; i++) {
		const Program *p = programs->at[i];
		Error error = {0};
		if (kernels_schedule(arena, &v->common, p, v->schedule, &error))
			continue;
		if (*error.text)
			say_error("%s: %s", program_label(arena, p), error.text);
		return exit_of_status(error.status);
	}
	return EXIT_DONE;
}

/* For a GPU that is not here the model's best are compiled, and looked at. */
static bool is_static(Arena *arena, const TuneVerb *v, const TuneOptions *o,
    StaticTune *t)
{
	Error error = {0};
	char why[512];
	const char *asked = target_asked(v->target);
	t->target = asked ? target_parse(arena, asked, &error) : NULL;
	if (!t->target || t->target->kind != TARGET_CUDA || v->row ||
	    o->replay_db || o->measure.machine != MACHINE_REAL ||
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
	    .schedule = v->schedule,
	    .end_s = o->time_s >= 0 ? start_s + o->time_s : INFINITY};
	return tune_static(arena, &t, programs);
}

static int run_tuning(Arena *arena, const TuneVerb *v, const TuneOptions *o,
    double start_s, const ProgramVec *programs)
{
	Error error = {0};
	Stores stores = {0};
	Target *target = open_target(arena, v, &o->measure, &error);
	if (!target) {
		say_error("%s", error.text);
		return exit_of_status(error.status);
	}
	TuneRun run = run_of(arena, v, target, programs);
	run.options = *o;
	run.start_s = run.told_s = start_s;
	int code = run_programs(v, &run, &stores);
	stores_warn(&stores, &v->common);
	close_run(&run);
	stores_close(&stores);
	return code;
}

static int read_row(Arena *arena, TuneVerb *v)
{
	Error error = {0};
	if (machine_row(arena, v->machine, &v->row, &error))
		say_error("%s", error.text);
	return exit_of_status(error.status);
}

static int tune_run(void *options, int n, char **operands)
{
	TuneVerb *v = options;
	Arena *arena = arena_new();
	ProgramVec programs = {0};
	TuneOptions o;
	StaticTune looked;
	double start_s = measure_now();
	int code = read_row(arena, v);
	if (!code)
		code = read_options(arena, v, &o);
	if (code == EXIT_DONE && o.replay_db)
		code = check_replay(arena, v, o.replay_db);
	if (code == EXIT_DONE)
		code = specs_load(arena, &v->common, n, operands, &programs);
	if (code == EXIT_DONE)
		code = check_schedule(arena, v, &programs);
	if (code == EXIT_DONE && !v->trace && is_static(arena, v, &o, &looked))
		code = run_static(arena, v, &o, &looked, start_s, &programs);
	else if (code == EXIT_DONE)
		code = run_tuning(arena, v, &o, start_s, &programs);
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
    {"trace", 0, OPTION_TEXT, offsetof(TuneVerb, trace), "FILE", NULL,
	"measure this trace, text or JSON, beside what build would take;\n"
	"nothing is searched"},
    {"schedule", 0, OPTION_TEXT, offsetof(TuneVerb, schedule), "NAME", NULL,
	"search the decisions of this named trace of the spec alone"},
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
    {"transfer", 0, OPTION_LIST, offsetof(TuneVerb, transfer), "WHAT", NULL,
	"what is taken over from other operators: auto, what the stores of\n"
	"--db have; off; a STORE; or a model of tunec log export --model;\n"
	"repeatable (default: off)"},
    {"measure", 0, OPTION_TEXT, offsetof(TuneVerb, measure), "HOW", "run",
	"run on this machine; simulate: a deterministic machine\n"
	"in its place; replay:STORE: what a store measured"},
    {"machine", 0, OPTION_TEXT, offsetof(TuneVerb, machine), "FILE", NULL,
	MACHINE_HELP},
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
