/* tunec space: what the search searches. */
#include <jansson.h>
#include <stdlib.h>

#include "cmd/cmd.h"
#include "codegen/codegen.h"
#include "schedule/groups.h"
#include "tuner/measure/measure.h"

typedef struct {
	Common common;
	const char *target, *machine;
	bool list;
	int64_t sample, seed;
} SpaceVerb;

enum { COUNTED = 1000000 };

static int64_t count_legal(Space *space, int64_t size)
{
	int64_t n = 1; /* candidate 0 */
	Candidate c;
	for (int64_t i = 0; i < size; i++)
		n += space_at(space, i, &c);
	return n;
}

static void print_trace(const Trace *trace, const char *indent)
{
	Buf text = {0};
	trace_print(&text, trace);
	for (const char *p = buf_text(&text); *p;) {
		const char *end = p;
		while (*end && *end != '\n')
			end++;
		out_text("%s%.*s\n", indent, (int)(end - p), p);
		p = *end ? end + 1 : end;
	}
	buf_free(&text);
}

static json_t *sketch_json(const Space *space, int i)
{
	Buf text = {0};
	trace_print(&text, space_sketch(space, i));
	json_t *sizes = json_array();
	for (int p = 0; p < space_nparts(space, i); p++)
		json_array_append_new(
		    sizes, json_integer(space_part_size(space, i, p)));
	json_t *o = json_pack("{s:s,s:o,s:i,s:s}", "name",
	    space_sketch_name(space, i), "domains", sizes, "settled",
	    space_nsettled(space, i), "trace", buf_text(&text));
	buf_free(&text);
	return o;
}

/* What is said of one group, or of a program that is one. */
typedef struct {
	Space *space;
	const char *count;
	int64_t legal; /* -1: not counted */
} Counted;

static json_t *legal_json(const Counted *c)
{
	return c->legal < 0 ? json_null()
			    : json_integer((json_int_t)c->legal);
}

static json_t *sketches_json(const Counted *c)
{
	json_t *sketches = json_array();
	for (int i = 0; i < space_nsketches(c->space); i++)
		json_array_append_new(sketches, sketch_json(c->space, i));
	return sketches;
}

static json_t *group_json(const Groups *g, int i, const Counted *counted)
{
	const Group *group = &g->groups[i];
	const Counted *c = &counted[group->same_as];
	if (group->same_as != i)
		return json_pack("{s:s,s:s,s:s}", "group", group->name, "op",
		    group->program->op, "same_as",
		    g->groups[group->same_as].name);
	return json_pack("{s:s,s:s,s:s,s:o,s:o}", "group", group->name, "op",
	    group->program->op, "vectors", c->count, "legal", legal_json(c),
	    "sketches", sketches_json(c));
}

static void print_json(const Program *p, const Groups *g,
    const Counted *counted, const char *count, json_t *samples)
{
	json_t *o = json_pack("{s:s,s:s,s:s,s:s}", "name", p->name, "case",
	    p->case_name, "op", p->op, "vectors", count);
	if (g->n == 1) {
		json_object_set_new(o, "legal", legal_json(&counted[0]));
		json_object_set_new(o, "sketches", sketches_json(&counted[0]));
	} else {
		json_t *groups = json_array();
		for (int i = 0; i < g->n; i++)
			json_array_append_new(
			    groups, group_json(g, i, counted));
		json_object_set_new(o, "legal", json_null());
		json_object_set_new(o, "groups", groups);
	}
	if (samples)
		json_object_set(o, "samples", samples);
	out_json(o);
	json_decref(o);
}

static void print_sketches(
    const SpaceVerb *v, const Space *space, const char *indent)
{
	const char *deeper = *indent ? "      " : "    ";
	for (int i = 0; i < space_nsketches(space); i++) {
		out_text("%s  %s: %d decisions", indent,
		    space_sketch_name(space, i), space_nparts(space, i));
		if (space_nsettled(space, i))
			out_text(", %d more are settled: a candidate has room "
				 "for %d", space_nsettled(space, i),
			    CANDIDATE_PARTS);
		out_text("\n");
		if (v->common.verbose || space_nsketches(space) == 1)
			print_trace(space_sketch(space, i), deeper);
	}
}

static void print_counts(const Counted *c)
{
	out_text("%s decision vectors in %d sketches", c->count,
	    space_nsketches(c->space));
	if (c->legal >= 0)
		out_text(", %lld legal", (long long)c->legal);
	out_text("\n");
}

static void print_text(const SpaceVerb *v, const Program *p, const Groups *g,
    const Counted *counted, const char *count)
{
	out_text("%s: ", p->symbol);
	if (g->n == 1) {
		print_counts(&counted[0]);
		print_sketches(v, counted[0].space, "");
		return;
	}
	out_text("%s decision vectors in %d groups\n", count, g->n);
	for (int i = 0; i < g->n; i++) {
		const Group *group = &g->groups[i];
		out_text("  group %s: ", group->name);
		if (group->same_as != i) {
			out_text("as group %s\n",
			    g->groups[group->same_as].name);
			continue;
		}
		print_counts(&counted[i]);
		print_sketches(v, counted[i].space, "  ");
	}
}

/* A candidate of each group, joined; NULL where none was found. */
static Trace *draw_sample(
    Arena *arena, const Groups *g, const Counted *counted, Rng *rng)
{
	Trace **traces = NEW_N(arena, Trace *, g->n);
	Error ignored = {0};
	for (int i = 0; i < g->n; i++) {
		Space *space = counted[g->groups[i].same_as].space;
		Candidate c;
		if (!space_sample(space, rng, &c))
			return NULL;
		traces[i] = groups_trace(
		    arena, g, i, space_trace(arena, space, &c), &ignored);
	}
	return groups_join(arena, g, traces, &ignored);
}

static json_t *draw_samples(Arena *arena, const SpaceVerb *v, const Groups *g,
    const Counted *counted, const Program *p)
{
	json_t *samples = json_array();
	Rng rng = rng_stream((uint64_t)v->seed, 0, 0);
	for (int64_t i = 0; i < v->sample; i++) {
		Trace *trace = draw_sample(arena, g, counted, &rng);
		if (!trace)
			break;
		if (!v->common.json) {
			out_text("sample %lld:\n", (long long)i + 1);
			print_trace(trace, "  ");
		}
		json_array_append_new(samples,
		    trace_to_json(trace_canonical(arena, p, trace)));
	}
	return samples;
}

/* Why what was drawn at random was not legal. */
static void print_refusals(const Space *space)
{
	RefusalCount counts[64];
	int n = space_refusals(space, counts, 64);
	for (int i = 0; i < n; i++)
		out_text("  refused %lld times: %s\n",
		    (long long)counts[i].count, counts[i].why);
}

typedef struct {
	const SpaceVerb *verb;
	const Target *target;
} Spaces;

static Status count_space(Arena *arena, const SpaceVerb *v,
    const Program *program, const Target *target, Counted *out, Error *error)
{
	out->space = space_new(arena, program, &target->machine, error);
	if (!out->space)
		return error->status;
	out->count = space_count(arena, out->space);
	int64_t size = space_size(
	    out->space, v->list ? INT64_MAX / 2 : COUNTED);
	out->legal = size >= 0 ? count_legal(out->space, size) : -1;
	return STATUS_OK;
}

/* Of n numbers, in pairs; leaves others in their place. */
static const char *product_of(Arena *arena, const char **numbers, int n)
{
	for (; n > 1; n = (n + 1) / 2)
		for (int i = 0; 2 * i < n; i++)
			numbers[i] = 2 * i + 1 < n
			    ? space_count_times(
				  arena, numbers[2 * i], numbers[2 * i + 1])
			    : numbers[2 * i];
	return n ? numbers[0] : NULL;
}

static int space_one(Arena *arena, const Program *p, void *context)
{
	const SpaceVerb *v = ((const Spaces *)context)->verb;
	const Target *target = ((const Spaces *)context)->target;
	const Groups *g = groups_of(arena, p, &target->machine);
	Counted *counted = NEW_N(arena, Counted, g->n);
	const char **counts = NEW_N(arena, const char *, g->n);
	Error error = {0};
	for (int i = 0; i < g->n; i++) {
		int first = g->groups[i].same_as;
		if (first == i &&
		    count_space(arena, v, g->groups[i].program, target,
			&counted[i], &error)) {
			say_error("%s: %s", p->symbol, error.text);
			return EXIT_FAILED;
		}
		counts[i] = counted[first].count;
	}
	const char *count = product_of(arena, counts, g->n);
	if (!v->common.json)
		print_text(v, p, g, counted, count);
	json_t *samples =
	    v->sample ? draw_samples(arena, v, g, counted, p) : NULL;
	for (int i = 0; i < g->n; i++)
		if (v->sample && v->common.verbose && !v->common.json &&
		    g->groups[i].same_as == i)
			print_refusals(counted[i].space);
	if (v->common.json)
		print_json(p, g, counted, count, samples);
	json_decref(samples);
	return EXIT_DONE;
}

static int space_run(void *options, int n, char **operands)
{
	const SpaceVerb *v = options;
	Arena *arena = arena_new();
	Error error = {0};
	const char *asked = target_asked(v->target);
	const CostsFile *row;
	Target *target = measure_target(arena, asked ? asked : "host", &error);
	Spaces spaces = {v, target};
	int code;
	if (target && !machine_row(arena, v->machine, &row, &error) &&
	    !machine_take(target, row, &error)) {
		code = specs_each(&v->common, n, operands, space_one, &spaces);
	} else {
		say_error("%s", error.text);
		code = exit_of_status(error.status);
	}
	arena_free(arena);
	return code;
}

static const Option options[] = {
    {"target", 0, OPTION_TEXT, offsetof(SpaceVerb, target), "TARGET", NULL,
	"for which machine (default: $TUNEC_TARGET, or host)"},
    {"machine", 0, OPTION_TEXT, offsetof(SpaceVerb, machine), "FILE", NULL,
	MACHINE_HELP},
    {"list", 0, OPTION_FLAG, offsetof(SpaceVerb, list), NULL, NULL,
	"count the legal ones too, however many there are"},
    {"sample", 0, OPTION_INT, offsetof(SpaceVerb, sample), "N", "0",
	"print N legal candidates"},
    {"seed", 0, OPTION_INT, offsetof(SpaceVerb, seed), "N", "1",
	"of the samples"},
    {0}};

const Verb verb_space = {
    .name = "space",
    .operands = "SPEC[:CASE]...",
    .summary = "sketches, decisions, domains; how many candidates there are",
    .text = "-v prints each sketch: its steps, with the domain of each "
	    "decision.\n",
    .options = options,
    .size = sizeof(SpaceVerb),
    .specs = true,
    .min_operands = 1,
    .max_operands = -1,
    .run = space_run,
};
