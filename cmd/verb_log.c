/* tunec log: what the stores hold. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/log.h"
#include "lib/alike.h"
#include "lib/escape.h"
#include "tuner/measure/measure.h"

/* --- rows ---------------------------------------------------------------- */

typedef struct {
	Arena *arena;
	const ProgramVec *programs;
	const char *outcome; /* NULL: any */
	bool marks;
	RowVec *rows;
} Collect;

static bool wanted(const Collect *c, const Line *line)
{
	if (line->kind != LINE_TRIAL && !c->marks)
		return false;
	if (c->outcome && line->kind == LINE_TRIAL &&
	    strcmp(outcome_name(line->outcome), c->outcome))
		return false;
	for (int i = 0; i < c->programs->n; i++)
		if (line_concerns(line, c->programs->at[i]->op))
			return true;
	return !c->programs->n;
}

static bool collect(Line *line, void *context)
{
	Collect *c = context;
	Arena *a = c->arena;
	if (!wanted(c, line))
		return true;
	const json_t *spread = json_object_get(line->json, "spread_s");
	const char *error =
	    json_string_value(json_object_get(line->json, "error"));
	Row row = {.kind = line->kind,
	    .text = arena_strndup(a, line->text, line->size),
	    .id = arena_strdup(a, line->id),
	    .at = arena_strdup(a, line->at),
	    .op = arena_strdup(a, line->op),
	    .name = arena_strdup(a, line->name),
	    .case_name = arena_strdup(a, line->case_name),
	    .target = arena_strdup(a, line->target),
	    .regime = line->regime, /* static */
	    .error = arena_strdup(a, error ? error : ""),
	    .same_as = line->same_as ? arena_strdup(a, line->same_as) : NULL,
	    .outcome = line->outcome,
	    .time_s = line->time_s,
	    .spread_s =
		json_is_number(spread) ? json_number_value(spread) : NAN,
	    .final = line->final};
	vec_push(a, c->rows, row);
	return true;
}

int log_rows(Arena *arena, const Log *log, const Stores *stores,
    const ProgramVec *programs, bool marks, RowVec *rows)
{
	Collect c = {.arena = arena,
	    .programs = programs,
	    .outcome = log->outcome,
	    .marks = marks,
	    .rows = rows};
	const char *op = programs->n == 1 ? programs->at[0]->op : NULL;
	for (int i = 0; i < stores->n; i++) {
		Error error;
		Status status =
		    store_each(stores->at[i], op, collect, &c, NULL, &error);
		if (status) {
			say_error("%s", error.text);
			return exit_of_status(status);
		}
	}
	stores_warn(stores, &log->common);
	return EXIT_DONE;
}

/* --- tables -------------------------------------------------------------- */

const char *log_time(double time_s, char out[32])
{
	static const struct {
		double unit;
		const char *name;
	} units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
	int i = 0;
	while (i < 3 && time_s < units[i].unit)
		i++;
	if (isfinite(time_s))
		snprintf(
		    out, 32, "%.3g %s", time_s / units[i].unit, units[i].name);
	else
		strcpy(out, "-");
	return out;
}

const char *log_operator(Arena *arena, const Row *row)
{
	return out_word(arena,
	    arena_printf(arena, "%s%s%s", *row->name ? row->name : "-",
		*row->case_name ? ":" : "", row->case_name));
}

void log_cell(LogTable *table, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vec_push(table->arena, &table->cells,
	    out_word(table->arena, arena_vprintf(table->arena, format, args)));
	va_end(args);
}

void log_print(const LogTable *table)
{
	int n = table->ncolumns;
	size_t *width = NEW_N(table->arena, size_t, n);
	for (int i = 0; i < table->cells.n; i++) {
		size_t w = strlen(table->cells.at[i]);
		if (w > width[i % n])
			width[i % n] = w;
	}
	for (int i = 0; i < table->cells.n; i++) {
		bool last = i % n == n - 1;
		out_text("%-*s%s", last ? 0 : (int)width[i % n],
		    table->cells.at[i], last ? "\n" : "  ");
	}
}

/* --- list ---------------------------------------------------------------- */

/* Oldest first; equal times as they are stored. */
static int by_at(const void *a, const void *b)
{
	const Row *x = *(const Row *const *)a, *y = *(const Row *const *)b;
	int order = strcmp(x->at, y->at);
	return order ? order : (x > y) - (x < y);
}

static void list_table(Arena *arena, Row **rows, int n)
{
	LogTable table = {.arena = arena, .ncolumns = 7};
	static const char *const heads[] = {
	    "ID", "AT", "OPERATOR", "OUTCOME", "TIME", "SPREAD", "NOTE"};
	for (int i = 0; i < 7; i++)
		log_cell(&table, "%s", heads[i]);
	for (int i = 0; i < n; i++) {
		const Row *r = rows[i];
		char time[32];
		log_cell(&table, "%s", r->id);
		log_cell(&table, "%.10s %.8s", r->at,
		    strlen(r->at) > 11 ? r->at + 11 : "");
		log_cell(&table, "%s", log_operator(arena, r));
		log_cell(&table, "%s", outcome_name(r->outcome));
		log_cell(&table, "%s", log_time(r->time_s, time));
		if (isfinite(r->spread_s / r->time_s))
			log_cell(
			    &table, "%.1f %%", 100 * r->spread_s / r->time_s);
		else
			log_cell(&table, "-");
		if (r->same_as)
			log_cell(&table, "same as %s", r->same_as);
		else
			log_cell(&table, "%s%s", r->final ? "final" : "",
			    strcmp(r->regime, "cold") ? "" : " cold");
	}
	log_print(&table);
}

static int log_list(Arena *arena, const Log *log, const Stores *stores,
    const ProgramVec *programs)
{
	RowVec rows = {0};
	int code = log_rows(arena, log, stores, programs, false, &rows);
	if (code)
		return code;
	Row **sorted = NEW_N(arena, Row *, rows.n);
	for (int i = 0; i < rows.n; i++)
		sorted[i] = &rows.at[i];
	qsort(sorted, (size_t)rows.n, sizeof *sorted, by_at);
	if (log->common.json)
		for (int i = 0; i < rows.n; i++)
			out_line(sorted[i]->text);
	else if (rows.n)
		list_table(arena, sorted, rows.n);
	else if (!log->common.quiet)
		out_text("no trials\n");
	return EXIT_DONE;
}

/* --- best ---------------------------------------------------------------- */

typedef struct {
	Collect collect;
	VEC(int) ok; /* trials behind each row */
} BestRows;

static void collect_best(const Line *best, int ok, void *context)
{
	BestRows *rows = context;
	collect((Line *)best, &rows->collect);
	vec_push(rows->collect.arena, &rows->ok, ok);
}

static void best_table(Arena *arena, const BestRows *best)
{
	LogTable table = {.arena = arena, .ncolumns = 5};
	static const char *const heads[] = {
	    "ID", "OPERATOR", "TIME", "TRIALS", "TARGET"};
	for (int i = 0; i < 5; i++)
		log_cell(&table, "%s", heads[i]);
	for (int i = 0; i < best->ok.n; i++) {
		const Row *r = &best->collect.rows->at[i];
		char time[32];
		log_cell(&table, "%s", r->id);
		log_cell(&table, "%s", log_operator(arena, r));
		log_cell(&table, "%s", log_time(r->time_s, time));
		log_cell(&table, "%d", best->ok.at[i]);
		log_cell(&table, "%s", r->target);
	}
	log_print(&table);
}

/* Of the programs' operators, or of all. */
static Status find_best(const Log *log, const Stores *stores,
    const ProgramVec *programs, const char *target, BestRows *best,
    Error *error)
{
	BestQuery query = {
	    .target = target, .regime = log->cold ? "cold" : "warm"};
	if (!programs->n)
		return best_each(stores->at, stores->n, &query, collect_best,
		    best, error);
	for (int i = 0; i < programs->n; i++) {
		query.op = programs->at[i]->op;
		FORWARD_IF_ERROR(best_each(stores->at, stores->n, &query,
		    collect_best, best, error));
	}
	return STATUS_OK;
}

static int log_best(Arena *arena, const Log *log, const Stores *stores,
    const ProgramVec *programs)
{
	RowVec rows = {0};
	ProgramVec any = {0};
	BestRows best = {
	    {.arena = arena, .programs = &any, .rows = &rows}, {0}};
	const Target *target = NULL;
	Error error;
	if ((log->target &&
		!(target = measure_target(arena, log->target, &error))) ||
	    find_best(log, stores, programs, target ? target->text : NULL,
		&best, &error)) {
		say_error("%s", error.text);
		return exit_of_status(error.status);
	}
	stores_warn(stores, &log->common);
	if (log->common.json)
		for (int i = 0; i < rows.n; i++)
			out_line(rows.at[i].text);
	else if (rows.n)
		best_table(arena, &best);
	else if (!log->common.quiet)
		out_text("no ok trials\n");
	return EXIT_DONE;
}

/* --- show ---------------------------------------------------------------- */

typedef struct {
	const char *id; /* or its beginning */
	char found[17];
	char *text;
	bool ambiguous;
} LogShow;

static bool show_match(Line *line, void *context)
{
	LogShow *show = context;
	if (strncmp(line->id, show->id, strlen(show->id)))
		return true;
	if (show->text && strcmp(show->found, line->id)) {
		show->ambiguous = true;
		return false;
	}
	if (!show->text)
		show->text = line_text(line);
	strcpy(show->found, line->id);
	return true;
}

/* A member as "key: value"; texts as they are, several lines indented. */
static void show_member(Arena *arena, const char *name, const json_t *value)
{
	const char *key = out_word(arena, name);
	const char *text = json_string_value(value);
	if (!text) {
		Buf out = {0};
		json_print(&out, value);
		out_text("%-9s %s\n", key, out.data);
		buf_free(&out);
		return;
	}
	out_text("%-9s", key);
	if (!strchr(text, '\n')) {
		out_text(" %s\n", text);
		return;
	}
	out_text("\n");
	while (*text) {
		size_t n = strcspn(text, "\n");
		out_text("    %.*s\n", (int)n, text);
		text += n + (text[n] == '\n');
	}
}

static void show_steps(Arena *arena, const json_t *value)
{
	Error error;
	const Trace *trace = trace_from_json(arena, value, &error);
	if (!trace) {
		show_member(arena, "trace", value);
		return;
	}
	Buf text = {0};
	trace_print(&text, trace);
	json_t *json = json_text(buf_text(&text));
	show_member(arena, "trace", json);
	json_decref(json);
	buf_free(&text);
}

static void show_line(Arena *arena, const Log *log, const char *text)
{
	json_error_t why;
	json_t *json = json_loads(text, 0, &why);
	if (log->trace) {
		out_json(json_object_get(json, "trace"));
		json_decref(json);
		return;
	}
	const char *key;
	json_t *value;
	json_object_foreach(json, key, value)
	{
		if (!strcmp(key, "trace"))
			show_steps(arena, value);
		else
			show_member(arena, key, value);
	}
	json_decref(json);
}

static int log_show(
    Arena *arena, const Log *log, const Stores *stores, int n, char **ids)
{
	int code = n ? EXIT_DONE : say_usage("log", "show needs an ID");
	for (int k = 0; k < n; k++) {
		LogShow show = {.id = ids[k]};
		for (int i = 0; i < stores->n && !show.ambiguous; i++) {
			Error error;
			Status status = store_each(stores->at[i], NULL,
			    show_match, &show, NULL, &error);
			if (status) {
				say_error("%s", error.text);
				code = exit_worse(code, EXIT_FAILED);
			}
		}
		if (!show.text || show.ambiguous) {
			say_error(show.text ? "several records begin with '%s'"
					    : "no record with the id '%s'",
			    ids[k]);
			code = exit_worse(code, EXIT_FAILED);
		} else if (log->common.json) {
			out_line(show.text);
		} else {
			show_line(arena, log, show.text);
		}
		free(show.text);
	}
	stores_warn(stores, &log->common);
	return code;
}

/* --- export, errors ------------------------------------------------------ */

/* Not over a store that is read, nor a spec. */
static int check_export(Arena *arena, const char *path, const Stores *stores,
    const ProgramVec *programs)
{
	TextVec outputs = {0}, paths = {0};
	InputVec inputs = {0};
	vec_push(arena, &outputs, path);
	for (int i = 0; i < stores->n; i++)
		vec_push(arena, &paths, store_path(stores->at[i]));
	inputs_of(arena, programs, NULL, &paths, &inputs);
	return outputs_apart(arena, &outputs, &inputs);
}

static int log_export(Arena *arena, const Log *log, const Stores *stores,
    const ProgramVec *programs)
{
	RowVec rows = {0};
	ProgramVec grouped = {0};
	const char *path = log->model ? log->model
	    : log->output	      ? log->output
				      : "-";
	if (log->model && (programs->n || log->csv || log->output))
		return say_usage(
		    "log", "export --model takes no SPEC, --csv or -o");
	int code = check_export(arena, path, stores, programs);
	if (!code && log->model)
		return log_model(arena, log, stores);
	if (log->csv && programs->n) {
		log_csv_programs(arena, programs, &grouped);
		programs = &grouped;
	}
	if (!code)
		code = log_rows(
		    arena, log, stores, programs, !log->csv, &rows);
	if (code)
		return code;
	Buf text = {0};
	if (log->csv)
		log_csv(arena, programs, &rows, &text);
	for (int i = 0; i < rows.n && !log->csv; i++)
		buf_printf(&text, "%s\n", rows.at[i].text);
	OutputFile file = {path, buf_text(&text), text.size};
	Error error;
	Status status = out_files(&file, 1, &error);
	if (status)
		say_error("%s", error.text);
	buf_free(&text);
	return exit_of_status(status);
}

/* The operator as a word of a command.  What no spec can be named stands there
 * as SPEC: a name with a slash or a dash is another file, or an option. */
static void put_spec(Buf *out, const Row *row)
{
	static const char word[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "abcdefghijklmnopqrstuvwxyz0123456789_";
	const char *name = row->name, *case_name = row->case_name;
	if (*name && !name[strspn(name, word)] &&
	    !case_name[strspn(case_name, word)])
		buf_printf(out, "%s.yaml:%s", name, case_name);
	else
		buf_puts(out, "SPEC");
}

/* Replays the trace as it was measured, from the stores that have it. */
static char *errors_command(Arena *arena, const Log *log, const Row *row)
{
	Buf out = {0};
	buf_puts(&out, "tunec log show");
	for (int i = 0; i < log->db.n; i++) {
		buf_puts(&out, " --db ");
		escape_shell(&out, log->db.at[i]);
	}
	buf_printf(
	    &out, " --trace %s >%s.json; tunec replay ", row->id, row->id);
	put_spec(&out, row);
	buf_puts(&out, " --target ");
	escape_shell(&out, row->target);
	buf_printf(&out, " --trace %s.json%s", row->id,
	    strcmp(row->regime, "cold") ? "" : " --cold");
	char *command = arena_strdup(arena, buf_text(&out));
	buf_free(&out);
	return command;
}

static void errors_class(
    Arena *arena, const Log *log, const RowVec *rows, Outcome outcome)
{
	const Row *first = NULL;
	int n = 0;
	for (int i = 0; i < rows->n; i++)
		if (rows->at[i].outcome == outcome && !n++)
			first = &rows->at[i];
	if (!n)
		return;
	const char *command = errors_command(arena, log, first);
	if (log->common.json) {
		json_t *json = json_object();
		json_object_set_new(
		    json, "outcome", json_string(outcome_name(outcome)));
		json_object_set_new(json, "count", json_integer(n));
		json_object_set_new(json, "id", json_string(first->id));
		json_object_set_new(json, "error", json_text(first->error));
		json_object_set_new(json, "command", json_text(command));
		out_json(json);
		json_decref(json);
		return;
	}
	out_text("%s: %d, first %s of %s\n    %s\n    %s\n",
	    outcome_name(outcome), n, first->id,
	    log_operator(arena, first), out_word(arena, first->error), command);
}

static int log_errors(Arena *arena, const Log *log, const Stores *stores,
    const ProgramVec *programs)
{
	RowVec rows = {0};
	int code = log_rows(arena, log, stores, programs, false, &rows);
	for (int i = OUTCOME_OK + 1; i <= OUTCOME_IMPLAUSIBLE && !code; i++)
		errors_class(arena, log, &rows, (Outcome)i);
	return code;
}

/* --- the verb ------------------------------------------------------------ */

typedef int LogRun(Arena *arena, const Log *log, const Stores *stores,
    const ProgramVec *programs);

static const struct {
	const char *name;
	LogRun *run;
} spec_verbs[] = {
    {"list", log_list},
    {"best", log_best},
    {"export", log_export},
    {"explain", log_explain},
    {"errors", log_errors},
};

static int run_on_specs(const Log *log, LogRun *run, int n, char **operands)
{
	Arena *arena = arena_new();
	ProgramVec programs = {0};
	Stores stores;
	int code = n ? specs_load(arena, &log->common, n, operands, &programs)
		     : EXIT_DONE;
	if (!code && !(code = stores_open(&log->db, STORE_READ, &stores))) {
		code = run(arena, log, &stores, &programs);
		stores_close(&stores);
	}
	arena_free(arena);
	return code;
}

static int run_show(const Log *log, int n, char **operands)
{
	Stores stores;
	int code = stores_open(&log->db, STORE_READ, &stores);
	if (code)
		return code;
	Arena *arena = arena_new();
	code = log_show(arena, log, &stores, n, operands);
	arena_free(arena);
	stores_close(&stores);
	return code;
}

static int log_run(void *options, int n, char **operands)
{
	const Log *log = options;
	Outcome outcome;
	if (log->outcome && !outcome_find(log->outcome, &outcome))
		return say_usage("log", "unknown outcome '%s'", log->outcome);
	const char *what = operands[0];
	if (!strcmp(what, "show"))
		return run_show(log, n - 1, operands + 1);
	if (!strcmp(what, "import"))
		return log_import(log, n - 1, operands + 1);
	for (size_t i = 0; i < sizeof spec_verbs / sizeof *spec_verbs; i++)
		if (!strcmp(what, spec_verbs[i].name))
			return run_on_specs(
			    log, spec_verbs[i].run, n - 1, operands + 1);
	Alike a = alike_to(what);
	alike_look(&a, "show");
	alike_look(&a, "import");
	for (size_t i = 0; i < sizeof spec_verbs / sizeof *spec_verbs; i++)
		alike_look(&a, spec_verbs[i].name);
	return say_usage(
	    "log", "unknown log verb '%s'%s", what, alike_question(&a, ""));
}

static const Option options[] = {STORES_OPTION(offsetof(Log, db)),
    {"outcome", 0, OPTION_TEXT, offsetof(Log, outcome), "OUTCOME", NULL,
	"only trials with it: ok, build, timeout, crash, wrong, implausible"},
    {"target", 0, OPTION_TEXT, offsetof(Log, target), "TARGET", NULL,
	"best, explain: only for this target"},
    {"cold", 0, OPTION_FLAG, offsetof(Log, cold), NULL, NULL,
	"best, explain: of trials measured with cold caches"},
    {"trace", 0, OPTION_FLAG, offsetof(Log, trace), NULL, NULL,
	"show: only the trace, as JSON for build --trace"},
    {"csv", 0, OPTION_FLAG, offsetof(Log, csv), NULL, NULL,
	"export: a row a trial, with its decisions, time, prediction and,\n"
	"of the SPECs, features"},
    {"model", 0, OPTION_TEXT, offsetof(Log, model), "FILE", NULL,
	"export: write what the records teach about where the analytic\n"
	"model errs (on machines as of --target), for tune and build"},
    {NULL, 'o', OPTION_TEXT, offsetof(Log, output), "FILE", NULL,
	"export: write here instead of to standard output"},
    {0}};

const Verb verb_log = {
    .name = "log",
    .operands = "list|best|show|export|import|explain|errors [SPEC|ID|FILE]...",
    .summary = "what the stores of records hold",
    .text = "  list [SPEC...]     all trials, oldest first\n"
	    "  best [SPEC...]     the best trial of each operator and target\n"
	    "  show ID...         one record\n"
	    "  export [SPEC...]   trials and marks as JSON lines\n"
	    "  import FILE...     add the records of JSON lines or a store\n"
	    "  explain SPEC...    why a SPEC finds no record\n"
	    "  errors [SPEC...]   what failed: the first of each class\n",
    .options = options,
    .size = sizeof(Log),
    .specs = true,
    .min_operands = 1,
    .max_operands = -1,
    .run = log_run,
};
