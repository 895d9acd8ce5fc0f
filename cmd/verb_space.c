/* tunec space: what the search searches. */
#include <jansson.h>
#include <stdlib.h>

#include "cmd/cmd.h"
#include "codegen/codegen.h"
#include "schedule/schedule.h"

typedef struct {
	Common common;
	const char *target;
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
	json_t *o = json_pack("{s:s,s:o,s:s}", "name",
	    space_sketch_name(space, i), "domains", sizes, "trace",
	    buf_text(&text));
	buf_free(&text);
	return o;
}

static void print_json(const Program *p, Space *space, const char *count,
    int64_t legal, const json_t *samples)
{
	json_t *sketches = json_array();
	for (int i = 0; i < space_nsketches(space); i++)
		json_array_append_new(sketches, sketch_json(space, i));
	json_t *o = json_pack("{s:s,s:s,s:s,s:s,s:o,s:o}", "name", p->name,
	    "case", p->case_name, "op", p->op, "vectors", count, "legal",
	    legal < 0 ? json_null() : json_integer((json_int_t)legal),
	    "sketches", sketches);
	if (samples)
		json_object_set(o, "samples", (json_t *)samples);
	out_json(o);
	json_decref(o);
}

static void print_text(const SpaceVerb *v, const Program *p, Space *space,
    const char *count, int64_t legal)
{
	out_text("%s: %s decision vectors in %d sketches", p->symbol, count,
	    space_nsketches(space));
	if (legal >= 0)
		out_text(", %lld legal", (long long)legal);
	out_text("\n");
	for (int i = 0; i < space_nsketches(space); i++) {
		out_text("  %s: %d decisions\n", space_sketch_name(space, i),
		    space_nparts(space, i));
		if (v->common.verbose || space_nsketches(space) == 1)
			print_trace(space_sketch(space, i), "    ");
	}
}

static json_t *draw_samples(
    Arena *arena, const SpaceVerb *v, Space *space, const Program *p)
{
	json_t *samples = json_array();
	Rng rng = rng_stream((uint64_t)v->seed, 0, 0);
	for (int64_t i = 0; i < v->sample; i++) {
		Candidate c;
		if (!space_sample(space, &rng, &c))
			break;
		Trace *trace = space_trace(arena, space, &c);
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

static int space_one(Arena *arena, const Program *p, void *context)
{
	const SpaceVerb *v = ((const Spaces *)context)->verb;
	const Target *target = ((const Spaces *)context)->target;
	Error error = {0};
	Space *space = space_new(arena, p, &target->machine, &error);
	if (!space) {
		say_error("%s: %s", p->symbol, error.text);
		return EXIT_FAILED;
	}
	char *count = space_count(arena, space);
	int64_t size = space_size(space, v->list ? INT64_MAX / 2 : COUNTED);
	int64_t legal = size >= 0 ? count_legal(space, size) : -1;
	if (!v->common.json)
		print_text(v, p, space, count, legal);
	json_t *samples = v->sample ? draw_samples(arena, v, space, p) : NULL;
	if (v->sample && v->common.verbose && !v->common.json)
		print_refusals(space);
	if (v->common.json)
		print_json(p, space, count, legal, samples);
	json_decref(samples);
	return EXIT_DONE;
}

static int space_run(void *options, int n, char **operands)
{
	const SpaceVerb *v = options;
	Arena *arena = arena_new();
	Error error = {0};
	const char *asked = target_asked(v->target);
	Spaces spaces = {
	    v, target_parse(arena, asked ? asked : "host", &error)};
	int code;
	if (spaces.target) {
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
