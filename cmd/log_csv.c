/* tunec log export --csv: a row a trial, for who studies a cost model elsewhere. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/log.h"
#include "codegen/codegen.h"
#include "schedule/groups.h"

typedef struct {
	Arena *arena;
	const ProgramVec *programs;
	Buf *out;
	/* of the last row: rows of one operator mostly follow each other */
	const char *op, *target;
	const Program *program;
	Space *space; /* NULL: no program, or the target is not known */
} Csv;

/* Quoted where it has to be (RFC 4180). */
static void put_text(Buf *out, const char *text)
{
	if (!text[strcspn(text, ",\"\r\n")]) {
		buf_puts(out, text);
		return;
	}
	buf_puts(out, "\"");
	for (; *text; text++)
		buf_printf(out, *text == '"' ? "\"\"" : "%c", *text);
	buf_puts(out, "\"");
}

/* Empty where there is none. */
static void put_number(Buf *out, double x)
{
	buf_puts(out, ",");
	if (isfinite(x))
		buf_printf(out, "%.9g", x);
}

/* What was decided, step by step: "split=[null,2,8]; tail=peel". */
static void put_decisions(Buf *out, const json_t *trace)
{
	Buf text = {0};
	size_t i, k;
	json_t *step, *argument;
	json_array_foreach(trace, i, step)
	json_array_foreach(json_object_get(step, "args"), k, argument)
	{
		const json_t *value = json_object_get(argument, "decision");
		const char *name =
		    json_string_value(json_object_get(step, "step"));
		if (!value)
			continue;
		char *as = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
		const char *word = json_string_value(value);
		buf_printf(&text, "%s%s=%s", text.size ? "; " : "",
		    name ? name : "", word ? word : as);
		free(as);
	}
	put_text(out, text.size ? buf_text(&text) : "");
	buf_free(&text);
}

static void add_program(Arena *arena, const Program *p, ProgramVec *all)
{
	for (int i = 0; i < all->n; i++)
		if (!strcmp(all->at[i]->op, p->op))
			return;
	vec_push(arena, all, (Program *)p);
}

/* And the groups that they are searched by, which depend on the vectors alone. */
void log_csv_programs(Arena *arena, const ProgramVec *named, ProgramVec *all)
{
	static const char *const targets[] = {
	    "llvm -mcpu=x86-64-v3", "llvm -mcpu=x86-64-v4"};
	Error ignored;
	for (int i = 0; i < named->n; i++)
		add_program(arena, named->at[i], all);
	for (int i = 0; i < named->n; i++)
		for (int k = 0; k < 2; k++) {
			Target *t = target_parse(arena, targets[k], &ignored);
			const Groups *g =
			    groups_of(arena, named->at[i], &t->machine);
			for (int j = 0; j < g->n && g->n > 1; j++)
				add_program(arena, g->groups[j].program, all);
		}
}

static void open_space(Csv *csv, const Row *row)
{
	Error ignored;
	if (csv->op && !strcmp(csv->op, row->op) &&
	    !strcmp(csv->target, row->target))
		return;
	csv->op = row->op;
	csv->target = row->target;
	csv->program = NULL;
	csv->space = NULL;
	for (int i = 0; i < csv->programs->n && !csv->program; i++)
		if (!strcmp(csv->programs->at[i]->op, row->op))
			csv->program = csv->programs->at[i];
	const Target *target = target_parse(csv->arena, row->target, &ignored);
	if (csv->program && target)
		csv->space = space_new(
		    csv->arena, csv->program, &target->machine, &ignored);
}

/* Of a trace that a sketch of today's gives; else they stay empty. */
static void put_features(Csv *csv, const json_t *json)
{
	float features[FEATURES];
	Error ignored;
	Candidate c;
	Arena *scratch = arena_new();
	const Trace *trace = csv->space
	    ? trace_stored(scratch, csv->program, json, &ignored)
	    : NULL;
	bool found = trace && space_find(csv->space, trace, &c);
	if (found)
		space_features(csv->space, &c, 1, features);
	for (int i = 0; i < FEATURES_USED; i++)
		put_number(csv->out, found ? (double)features[i] : NAN);
	arena_free(scratch);
}

static void put_row(Csv *csv, const Row *row)
{
	Buf *out = csv->out;
	json_t *json = json_loads(row->text, 0, NULL);
	const char *measure =
	    json_string_value(json_object_get(json, "measure"));
	const json_t *predicted = json_object_get(json, "predicted");
	const json_t *trace = json_object_get(json, "trace");
	const char *const texts[] = {row->id, row->name, row->case_name,
	    row->target, row->regime, row->final ? "final" : "search",
	    measure ? measure : "run", outcome_name(row->outcome)};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		put_text(out, texts[i]);
		buf_puts(out, ",");
	}
	put_decisions(out, trace);
	put_number(out, row->time_s);
	put_number(out,
	    json_is_number(predicted) ? json_number_value(predicted) : NAN);
	open_space(csv, row);
	put_features(csv, trace);
	buf_puts(out, "\n");
	json_decref(json);
}

void log_csv(Arena *arena, const ProgramVec *programs, const RowVec *rows,
    Buf *out)
{
	Csv csv = {.arena = arena, .programs = programs, .out = out};
	buf_puts(out, "id,operator,case,target,regime,round,measure,outcome,"
		      "decisions,time_s,predicted_s");
	for (int i = 0; i < FEATURES_USED; i++) {
		char name[FEATURE_NAME];
		buf_printf(out, ",%s", feature_name(i, name));
	}
	buf_puts(out, "\n");
	for (int i = 0; i < rows->n; i++)
		put_row(&csv, &rows->at[i]);
}
