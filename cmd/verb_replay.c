/* tunec replay: does every best record still give a right kernel, as fast as it
 * was?  What CI runs: nothing is searched and no store is changed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/kernels.h"
#include "cmd/stores.h"
#include "tuner/tune/tune.h"

typedef struct {
	Common common;
	KernelOptions kernel;
	const char *slowdown;
	bool measure, require_run, cold;
} Replay;

typedef struct {
	const Replay *options;
	Arena *arena;
	Stores stores;
	double max_slowdown; /* 0: not asked */
	Target *host; /* NULL until asked for */
	int replayed, wrong, slow, not_run;
} Run;

typedef struct {
	const char *label, *target;
	const char *id;   /* of the record; NULL: a trace that was given */
	const char *what; /* "record 3f9a…" */
	const char *result; /* "ok", "wrong", "slow", "not run here", … */
	double recorded_s, measured_s; /* 0: not known */
} ReplayRow;

static void print_row(const Run *run, const ReplayRow *row)
{
	if (run->options->common.json) {
		json_t *o = json_pack("{s:s,s:s,s:s?,s:s}", "name", row->label,
		    "target", row->target, "id", row->id, "result",
		    row->result);
		json_object_set_new(o, "recorded_s",
		    row->recorded_s > 0 ? json_real(row->recorded_s)
					: json_null());
		json_object_set_new(o, "measured_s",
		    row->measured_s > 0 ? json_real(row->measured_s)
					: json_null());
		out_json(o);
		json_decref(o);
		return;
	}
	if (run->options->common.quiet)
		return;
	out_text("%s  %s  %s: %s", row->label, row->id ? row->id : row->what,
	    out_word(run->arena, row->target), row->result);
	if (row->measured_s > 0 && !(row->recorded_s > 0))
		out_text(" (%.4g ms)", row->measured_s * 1e3);
	else if (row->measured_s > 0)
		out_text(" (%.4g ms, recorded %.4g ms: %.2f times)",
		    row->measured_s * 1e3, row->recorded_s * 1e3,
		    row->measured_s / row->recorded_s);
	out_text("\n");
}

/* --- one record ------------------------------------------------------------------ */

static Trace *record_trace(Arena *arena, const Program *p, const Line *line,
    Error *error)
{
	return trace_stored(
	    arena, p, json_object_get(line->json, "trace"), error);
}

/* Lowered and compiled for its target, wherever that runs. */
static Status compile_only(Arena *arena, const Program *p,
    const Target *target, const Trace *trace, Error *error)
{
	Nest *nest =
	    schedule_nest(arena, p, &target->machine, trace, error);
	Lowered *lowered =
	    nest ? lower(arena, nest, &target->machine, error) : NULL;
	if (!lowered)
		return error->status ? error->status : STATUS_INPUT;
	if (target->kind != TARGET_LLVM)
		return STATUS_OK;
	const LlvmModule *llvm = llvm_module(error);
	if (!llvm)
		return error->status;
	const Lowered *one = lowered;
	Buf object = {0};
	Status status = llvm->compile(&one, 1, target->triple, target->cpu,
	    target->attrs, LLVM_OBJECT, &object, error);
	buf_free(&object);
	return status;
}

/* Seconds for the plain loop nest, beyond which a fast kernel is compared with
 * instead. */
#define PLAIN_S 2.0

static void say_trouble(const char *trouble)
{
	say_warning("%s; trying again", trouble);
}

/* A check alone is as good on another type of device. */
static bool wants_times(const Run *run)
{
	return run->options->measure || run->max_slowdown > 0;
}

/* Compiled, checked against the reference and timed on this machine. */
static Status run_here(Run *run, const Program *p, const Target *target,
    const Trace *trace, Measurement *m, Error *error)
{
	MeasureOptions o = {.cold = run->options->cold,
	    .pin = true,
	    .any_device = !wants_times(run),
	    .say = say_trouble,
	    .build_limit_s = 20,
	    .run_limit_s = 20,
	    .seed = 1};
	Measurer *measurer = NULL;
	ReferenceWish wish = {.plain_allowed_s = PLAIN_S};
	Reference r = {0};
	Status status = measure_open(p, target, &o, &measurer, error);
	const Target *host = status ? NULL : measure_host(measurer);
	if (!status && measure_plain_guess(p, host) > PLAIN_S)
		status = tune_reference(run->arena, p, host, &wish, error);
	if (!status)
		status = measure_reference(measurer, &wish, &r, error);
	if (!status && !r.ready)
		status = error_set(error, STATUS_CRASH,
		    "the reference: %s: %.800s",
		    outcome_name(r.by.outcome), r.by.error);
	if (!status)
		status = measure_compile(measurer, &trace, 1, m, error);
	if (!status && m->outcome == OUTCOME_OK)
		status = measure_run(measurer, 0, 0, m, error);
	measure_close(measurer);
	return status;
}

static int replay_trace(Run *run, const Program *p, const Target *target,
    const Trace *trace, ReplayRow row)
{
	const char *label = row.label;
	Error error = {0};
	run->replayed++;
	char why[600];
	if (!measure_can(target, !wants_times(run), why, sizeof why)) {
		if (compile_only(run->arena, p, target, trace, &error)) {
			say_error("%s: %s: %s", label, row.what,
			    error.text);
			return EXIT_FAILED;
		}
		row.result = "not run here";
		run->not_run++;
		print_row(run, &row);
		if (!run->options->require_run)
			return EXIT_DONE;
		say_error("%s: %s: not run here: %s", label, row.what, why);
		return EXIT_FAILED;
	}
	Measurement m = {0};
	if (run_here(run, p, target, trace, &m, &error)) {
		say_error("%s: %s", label, error.text);
		return EXIT_FAILED;
	}
	if (m.outcome == OUTCOME_BUILD) {
		say_error("%s: %s: %s", label, row.what, m.error);
		return EXIT_FAILED;
	}
	if (m.outcome != OUTCOME_OK) {
		row.result = outcome_name(m.outcome);
		run->wrong++;
		print_row(run, &row);
		say_error("%s: %s: %s: %s", label, row.what,
		    row.result, m.error);
		return EXIT_WRONG;
	}
	row.result = "ok";
	if (wants_times(run))
		row.measured_s = m.time_s;
	bool slow = run->max_slowdown > 0 && row.recorded_s > 0 &&
	    m.time_s > run->max_slowdown * row.recorded_s;
	if (slow)
		row.result = "slow";
	run->slow += slow;
	print_row(run, &row);
	if (slow)
		say_error("%s: %s: %.2f times slower than recorded", label,
		    row.what, m.time_s / row.recorded_s);
	return slow ? EXIT_WRONG : EXIT_DONE;
}

static int replay_line(
    Run *run, const Program *p, const char *label, const Line *line)
{
	Error error = {0};
	ReplayRow row = {.label = label,
	    .target = line->target,
	    .id = line->id,
	    .what = arena_printf(run->arena, "record %s", line->id),
	    .recorded_s = line->time_s};
	Target *target = target_parse(run->arena, line->target, &error);
	Trace *trace = target ? record_trace(run->arena, p, line, &error)
			      : NULL;
	if (trace)
		return replay_trace(run, p, target, trace, row);
	run->replayed++;
	say_error("%s: %s: %s", label, row.what, error.text);
	return EXIT_FAILED;
}

/* --trace and --schedule: instead of the records. */
static int replay_given(Run *run, const ProgramVec *programs)
{
	const Replay *v = run->options;
	KernelVec kernels = {0};
	int code = kernels_make(run->arena, &v->common, &v->kernel, programs,
	    KERNEL_NEST, &kernels);
	for (int i = 0; i < kernels.n; i++) {
		const Kernel *k = &kernels.at[i];
		ReplayRow row = {.label = program_label(run->arena, k->program),
		    .target = k->target->text,
		    .what = v->kernel.trace ? "trace" : "schedule"};
		code = exit_worse(code, replay_trace(run, k->program,
					    k->target, k->trace, row));
	}
	return code;
}

/* --- one operator -------------------------------------------------------------------- */

static const char *regime(const Run *run)
{
	return run->options->cold ? "cold" : "warm";
}

static int replay_target(
    Run *run, const Program *p, const char *label, const char *target)
{
	Line best = {0};
	Error error = {0};
	int code = EXIT_DONE;
	BestQuery query = {p->op, target, regime(run)};
	if (best_find(run->stores.at, run->stores.n, &query, &best, &error)) {
		say_error("%s", error.text);
		return exit_of_status(error.status);
	}
	if (best.json)
		code = replay_line(run, p, label, &best);
	line_free(&best);
	return code;
}

/* The one that was asked for; else all that there are records for; of those that
 * have to run, as build chooses. */
static Status find_targets(
    Run *run, const Program *p, TextVec *targets, Error *error)
{
	const char *asked = target_asked(run->options->kernel.target);
	if (asked) {
		Target *t = measure_target(run->arena, asked, error);
		if (t)
			vec_push(run->arena, targets, t->text);
		return t ? STATUS_OK : error->status;
	}
	FORWARD_IF_ERROR(best_targets(run->arena, run->stores.at,
	    run->stores.n, p->op, targets, error));
	if (!run->host && !(run->host = target_host(run->arena, error)))
		return error->status;
	for (int i = 0; i < targets->n; i++)
		if (!strcmp(targets->at[i], run->host->text))
			return STATUS_OK;
	if (targets->n > 1 && !run->options->require_run)
		return STATUS_OK;
	Target *t = kernels_choose_target(run->arena, &run->options->common, p,
	    run->host, targets, error);
	if (!t)
		return error->status;
	targets->n = 0;
	vec_push(run->arena, targets, t->text);
	return STATUS_OK;
}

static int replay_program(Run *run, const Program *p)
{
	const char *label = program_label(run->arena, p);
	TextVec targets = {0};
	Error error = {0};
	int code = EXIT_DONE, before = run->replayed;
	if (find_targets(run, p, &targets, &error)) {
		say_error("%s: %s", label, error.text);
		return exit_of_status(error.status);
	}
	for (int i = 0; i < targets.n; i++)
		code = exit_worse(code,
		    replay_target(run, p, label, targets.at[i]));
	if (run->replayed == before && !code) {
		say_error("%s: no record; `tunec tune` makes one%s", label,
		    stores_exist(&run->stores)
			? ", `tunec log explain` says why there is none" : "");
		code = EXIT_NO_RECORD;
	}
	return code;
}

static int replay_programs(Run *run, const ProgramVec *programs)
{
	const KernelOptions *kernel = &run->options->kernel;
	if (kernel->trace || kernel->schedule)
		return replay_given(run, programs);
	int code = stores_open(&kernel->db, STORE_READ, &run->stores);
	for (int i = 0; run->stores.n && i < programs->n; i++)
		code = exit_worse(code, replay_program(run, programs->at[i]));
	return code;
}

static int replay_run(void *options, int n, char **operands)
{
	const Replay *v = options;
	Run run = {.options = v, .arena = arena_new()};
	ProgramVec programs = {0};
	int code = EXIT_DONE;
	if (v->slowdown) {
		char *end;
		run.max_slowdown = strtod(v->slowdown, &end);
		if (*end || !(run.max_slowdown > 0))
			code = say_usage("replay",
			    "--max-slowdown takes a factor such as 1.2, "
			    "not '%s'",
			    v->slowdown);
	}
	if (code == EXIT_DONE)
		code = specs_load(
		    run.arena, &v->common, n, operands, &programs);
	if (code == EXIT_DONE)
		code = replay_programs(&run, &programs);
	if (run.replayed && !v->common.json && !v->common.quiet)
		out_text("%d replayed, %d wrong, %d slow, %d not run here\n",
		    run.replayed, run.wrong, run.slow, run.not_run);
	stores_warn(&run.stores, &v->common);
	stores_close(&run.stores);
	arena_free(run.arena);
	return code;
}

static const Option options[] = {
    {"target", 0, OPTION_TEXT, offsetof(Replay, kernel.target), "TARGET", NULL,
	"only records for this target (default: all)"},
    {"db", 0, OPTION_LIST, offsetof(Replay, kernel.db), "STORE", NULL,
	"where records are; repeatable\n(default: $TUNEC_DB, or tunec.db)"},
    {"trace", 0, OPTION_TEXT, offsetof(Replay, kernel.trace), "FILE", NULL,
	"replay this trace, text or JSON, instead of records"},
    {"schedule", 0, OPTION_TEXT, offsetof(Replay, kernel.schedule), "NAME",
	NULL, "replay this named trace of the spec"},
    {"measure", 0, OPTION_FLAG, offsetof(Replay, measure), NULL, NULL,
	"show how long each takes now"},
    {"max-slowdown", 0, OPTION_TEXT, offsetof(Replay, slowdown), "FACTOR",
	NULL, "fail where one takes longer than FACTOR times its record"},
    {"cold", 0, OPTION_FLAG, offsetof(Replay, cold), NULL, NULL,
	"records of the cold regime"},
    {"require-run", 0, OPTION_FLAG, offsetof(Replay, require_run), NULL, NULL,
	"fail where a record cannot run on this machine"},
    {0}};

const Verb verb_replay = {
    .name = "replay",
    .operands = "SPEC[:CASE]...",
    .summary = "build, run and check every best record",
    .options = options,
    .size = sizeof(Replay),
    .specs = true,
    .min_operands = 1,
    .max_operands = -1,
    .run = replay_run,
};
