/* tunec replay: does every best record still give a right kernel, as fast as it
 * was?  What CI runs: nothing is searched and no store is changed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/stores.h"
#include "tuner/measure.h"

typedef struct {
	Common common;
	const char *target, *slowdown;
	TextList db;
	bool measure, require_run, cold;
} Replay;

typedef struct {
	const Replay *options;
	Arena *arena;
	Stores stores;
	double max_slowdown; /* 0: not asked */
	int replayed, wrong, slow, not_run, missing;
} Run;

typedef struct {
	const char *label, *target, *id;
	const char *result; /* "ok", "wrong", "slow", "not run here", … */
	double recorded_s, measured_s;
} Row;

static void print_row(const Run *run, const Row *row)
{
	if (run->options->common.json) {
		json_t *o = json_pack("{s:s,s:s,s:s,s:s,s:f}", "name",
		    row->label, "target", row->target, "id", row->id, "result",
		    row->result, "recorded_s", row->recorded_s);
		json_object_set_new(o, "measured_s",
		    row->measured_s > 0 ? json_real(row->measured_s)
					: json_null());
		char *text = json_dumps(o, JSON_COMPACT);
		printf("%s\n", text);
		free(text);
		json_decref(o);
		return;
	}
	if (run->options->common.quiet)
		return;
	printf("%s  %s  %s: %s", row->label, row->id, row->target, row->result);
	if (row->measured_s > 0)
		printf(" (%.4g ms, recorded %.4g ms: %.2f times)",
		    row->measured_s * 1e3, row->recorded_s * 1e3,
		    row->measured_s / row->recorded_s);
	printf("\n");
}

/* --- one record ------------------------------------------------------------------ */

static Trace *record_trace(Arena *arena, const Program *p, const Line *line,
    Error *error)
{
	Trace *t = trace_from_json(
	    arena, json_object_get(line->json, "trace"), error);
	return t ? trace_localized(arena, p, t, error) : NULL;
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

/* Compiled, checked against the reference and timed on this machine. */
static Status run_here(Run *run, const Program *p, const Target *target,
    const Trace *trace, Measurement *m, Error *error)
{
	MeasureOptions o = {.cold = run->options->cold,
	    .pin = true,
	    .build_limit_s = 20,
	    .run_limit_s = 20,
	    .seed = 1};
	Measurer *measurer = NULL;
	Measurement plain;
	Status status = measure_open(p, target, &o, &measurer, error);
	if (!status)
		status = measure_reference(measurer, &plain, error);
	if (!status && plain.outcome != OUTCOME_OK)
		status = error_set(error, STATUS_CRASH,
		    "the plain loop nest: %s: %.800s",
		    outcome_name(plain.outcome), plain.error);
	if (!status)
		status = measure_compile(measurer, &trace, 1, m, error);
	if (!status && m->outcome == OUTCOME_OK)
		status = measure_run(measurer, 0, 0, m, error);
	measure_close(measurer);
	return status;
}

static int replay_line(Run *run, const Program *p, const char *label,
    const Line *line)
{
	Error error = {0};
	Row row = {.label = label,
	    .target = line->target,
	    .id = line->id,
	    .recorded_s = line->time_s};
	Target *target = target_parse(run->arena, line->target, &error);
	Trace *trace = target ? record_trace(run->arena, p, line, &error)
			      : NULL;
	run->replayed++;
	if (!trace) {
		say_error("%s: record %s: %s", label, line->id, error.text);
		return EXIT_FAILED;
	}
	if (target->kind != TARGET_LLVM || !target_runs_here(target)) {
		if (compile_only(run->arena, p, target, trace, &error)) {
			say_error("%s: record %s: %s", label, line->id,
			    error.text);
			return EXIT_FAILED;
		}
		row.result = "not run here";
		run->not_run++;
		print_row(run, &row);
		return run->options->require_run ? EXIT_WRONG : EXIT_DONE;
	}
	Measurement m = {0};
	if (run_here(run, p, target, trace, &m, &error)) {
		say_error("%s: %s", label, error.text);
		return EXIT_FAILED;
	}
	if (m.outcome == OUTCOME_BUILD) {
		say_error("%s: record %s: %s", label, line->id, m.error);
		return EXIT_FAILED;
	}
	if (m.outcome != OUTCOME_OK) {
		row.result = outcome_name(m.outcome);
		run->wrong++;
		print_row(run, &row);
		say_error("%s: record %s: %s: %s", label, line->id,
		    row.result, m.error);
		return EXIT_WRONG;
	}
	row.result = "ok";
	if (run->options->measure)
		row.measured_s = m.time_s;
	bool slow = run->max_slowdown > 0 &&
	    m.time_s > run->max_slowdown * line->time_s;
	if (slow)
		row.result = "slow";
	run->slow += slow;
	print_row(run, &row);
	return slow ? EXIT_WRONG : EXIT_DONE;
}

/* --- one operator -------------------------------------------------------------------- */

static int replay_target(
    Run *run, const Program *p, const char *label, const char *target)
{
	Line best = {0};
	Error error = {0};
	int code = EXIT_DONE;
	if (best_find(run->arena, run->stores.at, run->stores.n, p->op, target,
		run->options->cold ? "cold" : "warm", &best, NULL, &error)) {
		say_error("%s", error.text);
		return EXIT_FAILED;
	}
	if (best.json)
		code = replay_line(run, p, label, &best);
	else
		code = EXIT_NO_RECORD;
	line_free(&best);
	return code;
}

static int replay_program(Run *run, const Program *p)
{
	const char *label = program_label(run->arena, p);
	const char *asked = target_asked(run->options->target);
	TextVec targets = {0};
	Line any = {0};
	Error error = {0};
	int code = EXIT_DONE;
	if (best_find(run->arena, run->stores.at, run->stores.n, p->op, NULL,
		run->options->cold ? "cold" : "warm", &any, &targets,
		&error)) {
		say_error("%s", error.text);
		return EXIT_FAILED;
	}
	line_free(&any);
	if (asked) {
		Target *t = target_parse(run->arena, asked, &error);
		if (!t) {
			say_error("%s", error.text);
			return exit_of_status(error.status);
		}
		targets.n = 0;
		vec_push(run->arena, &targets, t->text);
	}
	for (int i = 0; i < targets.n; i++)
		code = exit_worse(code,
		    replay_target(run, p, label, targets.at[i]));
	if (!targets.n)
		code = EXIT_NO_RECORD;
	if (code == EXIT_NO_RECORD) {
		run->missing++;
		say_error("%s: no record", label);
	}
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
		code = stores_open(&v->db, STORE_READ, &run.stores);
	for (int i = 0; code != EXIT_USAGE && run.stores.n && i < programs.n;
	     i++)
		code = exit_worse(code, replay_program(&run, programs.at[i]));
	if (run.replayed && !v->common.json && !v->common.quiet)
		printf("%d replayed, %d wrong, %d slow, %d not run here\n",
		    run.replayed, run.wrong, run.slow, run.not_run);
	stores_warn(&run.stores, &v->common);
	stores_close(&run.stores);
	arena_free(run.arena);
	return code;
}

static const Option options[] = {
    {"target", 0, OPTION_TEXT, offsetof(Replay, target), "TARGET", NULL,
	"only records for this target (default: all)"},
    {"db", 0, OPTION_LIST, offsetof(Replay, db), "STORE", NULL,
	"where records are; repeatable\n(default: $TUNEC_DB, or tunec.db)"},
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
