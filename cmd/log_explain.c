/* tunec log explain: why a SPEC finds no record, by the fields of the nearest.
 *
 * A record is found by operator, target and regime.  Records of the same
 * operator are nearest, then those of the same name, then those whose canonical
 * text has the fewest other lines. */
#include <stdlib.h>
#include <string.h>

#include "cmd/log.h"
#include "lib/sort.h"
#include "tuner/measure/measure.h"

enum { SHOWN = 3 };

typedef struct {
	const Row *row; /* the first of its operator, target and regime */
	char *op_text;
	int trials, ok;
	int lines; /* of the canonical text that differ */
	int order; /* how far */
} Near;

static const char *op_text_of(Arena *arena, const Row *row)
{
	json_error_t why;
	json_t *json = json_loads(row->text, 0, &why);
	const char *text = json_string_value(json_object_get(json, "op_text"));
	char *copy = arena_strdup(arena, text ? text : "");
	json_decref(json);
	return copy;
}

/* Calls for each line of a that is not a line of b; their number. */
static int other_lines(const char *a, const char *b, const char *label)
{
	int n = 0;
	for (size_t size; *a; a += size + (a[size] == '\n')) {
		size = strcspn(a, "\n");
		bool found = false;
		for (const char *s = b; *s && !found;) {
			size_t m = strcspn(s, "\n");
			found = m == size && !memcmp(s, a, m);
			s += m + (s[m] == '\n');
		}
		if (found)
			continue;
		n++;
		if (label && n <= 4)
			out_text("    %s %.*s\n", label, (int)size, a);
	}
	return n;
}

static bool same_key(const Row *a, const Row *b)
{
	return !strcmp(a->op, b->op) && !strcmp(a->target, b->target) &&
	       !strcmp(a->regime, b->regime);
}

typedef VEC(Near) NearVec;

static void group(Arena *arena, const RowVec *rows, NearVec *out)
{
	for (int i = 0; i < rows->n; i++) {
		const Row *row = &rows->at[i];
		int k = 0;
		while (k < out->n && !same_key(out->at[k].row, row))
			k++;
		if (k == out->n)
			vec_push(arena, out, (Near){.row = row});
		out->at[k].trials++;
		out->at[k].ok += row->outcome == OUTCOME_OK;
	}
}

static void rank(Arena *arena, const Program *program, const char *target,
    const char *regime, NearVec *all)
{
	for (int i = 0; i < all->n; i++) {
		Near *near = &all->at[i];
		const char *text = op_text_of(arena, near->row);
		bool same_op = !strcmp(near->row->op, program->op);
		near->op_text = arena_strdup(arena, text);
		near->lines = other_lines(text, program->op_text, NULL) +
			      other_lines(program->op_text, text, NULL);
		near->order = same_op ? 0 : 1000 + near->lines;
		if (!same_op && strcmp(near->row->name, program->name))
			near->order += 1000;
		if (target && strcmp(near->row->target, target))
			near->order += 10;
		if (strcmp(near->row->regime, regime))
			near->order += 5;
		if (!near->ok)
			near->order += 20;
	}
}

static int by_order(const void *a, const void *b)
{
	const Near *x = a, *y = b;
	if (x->order != y->order)
		return x->order - y->order;
	return strcmp(x->row->id, y->row->id);
}

/* The words of a target that the other has not. */
static void explain_target(const char *theirs, const char *ours)
{
	out_text("  target: %s\n    wanted: %s\n", theirs, ours);
}

static void explain_near(Arena *arena, const Program *program,
    const Near *near, const char *target, const char *regime)
{
	const Row *row = near->row;
	out_text("%s and %d more of %s differ in\n", row->id, near->trials - 1,
	    log_operator(arena, row));
	if (strcmp(row->op, program->op)) {
		out_text("  operator:\n");
		other_lines(near->op_text, program->op_text, "record:");
		other_lines(program->op_text, near->op_text, "wanted:");
	}
	if (target && strcmp(row->target, target))
		explain_target(out_word(arena, row->target), target);
	if (strcmp(row->regime, regime))
		out_text("  regime: %s\n    wanted: %s\n", row->regime, regime);
	if (!near->ok)
		out_text("  outcome: %s, none ok\n", outcome_name(row->outcome));
}

static bool matches(const Near *near, const Program *program,
    const char *target, const char *regime)
{
	return near->ok && !strcmp(near->row->op, program->op) &&
	       (!target || !strcmp(near->row->target, target)) &&
	       !strcmp(near->row->regime, regime);
}

static json_t *fields_json(const Program *program, const Near *near,
    const char *target, const char *regime)
{
	json_t *fields = json_array();
	if (strcmp(near->row->op, program->op))
		json_array_append_new(fields, json_string("op"));
	if (target && strcmp(near->row->target, target))
		json_array_append_new(fields, json_string("target"));
	if (strcmp(near->row->regime, regime))
		json_array_append_new(fields, json_string("regime"));
	if (!near->ok)
		json_array_append_new(fields, json_string("outcome"));
	return fields;
}

static void print_json(const Program *program, const NearVec *all,
    const char *target, const char *regime)
{
	bool found = all->n && matches(&all->at[0], program, target, regime);
	json_t *near = json_array();
	for (int i = 0; i < all->n && i < (found ? 1 : SHOWN); i++) {
		json_t *json = json_object();
		json_object_set_new(
		    json, "id", json_string(all->at[i].row->id));
		json_object_set_new(
		    json, "trials", json_integer(all->at[i].trials));
		json_object_set_new(json, "differs",
		    fields_json(program, &all->at[i], target, regime));
		json_array_append_new(near, json);
	}
	json_t *json = json_object();
	json_object_set_new(json, "symbol", json_string(program->symbol));
	json_object_set_new(json, "op", json_string(program->op));
	json_object_set_new(
	    json, "target", target ? json_string(target) : json_null());
	json_object_set_new(json, "matches", json_boolean(found));
	json_object_set_new(json, "nearest", near);
	out_json(json);
	json_decref(json);
}

static void explain_one(Arena *arena, const Log *log, const RowVec *rows,
    const Program *program, const char *target)
{
	const char *regime = log->cold ? "cold" : "warm";
	NearVec all = {0};
	group(arena, rows, &all);
	rank(arena, program, target, regime, &all);
	sort(all.at, (size_t)all.n, sizeof *all.at, by_order);
	if (log->common.json) {
		print_json(program, &all, target, regime);
		return;
	}
	if (!all.n) {
		out_text("%s: there are no records\n", program->symbol);
		return;
	}
	if (matches(&all.at[0], program, target, regime)) {
		out_text("%s: %d ok trials match, such as %s\n", program->symbol,
		    all.at[0].ok, all.at[0].row->id);
		return;
	}
	out_text("%s: no record matches; the nearest:\n", program->symbol);
	for (int i = 0; i < all.n && i < SHOWN; i++)
		explain_near(arena, program, &all.at[i], target, regime);
}

/* The canonical text of --target, TUNEC_TARGET or this host. */
static int wanted_target(Arena *arena, const Log *log, const char **out)
{
	const char *named = target_asked(log->target);
	Error error;
	const Target *target = named ? measure_target(arena, named, &error)
				     : target_host(arena, &error);
	if (!target) {
		say_error("%s", error.text);
		return exit_of_status(error.status);
	}
	*out = target->text;
	return EXIT_DONE;
}

int log_explain(Arena *arena, const Log *log, const Stores *stores,
    const ProgramVec *programs)
{
	if (!programs->n)
		return say_usage("log", "explain needs a SPEC");
	RowVec rows = {0};
	ProgramVec all = {0};
	const char *target;
	int code = wanted_target(arena, log, &target);
	if (!code)
		code = log_rows(arena, log, stores, &all, false, &rows);
	for (int i = 0; i < programs->n && !code; i++)
		explain_one(arena, log, &rows, programs->at[i], target);
	return code;
}
