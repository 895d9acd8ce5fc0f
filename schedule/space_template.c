/* Templates, tried before any search: one that no choice of its decisions makes a
 * schedule would be a sketch without candidates, and nobody would be told.
 *
 * Tile sizes stay open, as in a plan; words and places are drawn.  What is told is
 * the step that refused where most steps applied. */
#include "schedule/space.h"

#include <assert.h>
#include <string.h>

enum { TRIES = 64 };

typedef struct {
	int step; /* -1: none */
	char why[512];
} Furthest;

static void draw_words(const Sketch *s, Rng *rng, int16_t *at)
{
	for (int p = 0; p < s->nparts; p++)
		if (s->parts[p].slot < 0)
			at[p] = (int16_t)rng_below(
			    rng, (uint64_t)s->parts[p].size);
}

/* Does every step apply?  What is wrong of the finished nest is no step's. */
static bool try_one(const Program *program, const Machine *machine,
    const Sketch *s, const int16_t *at, Furthest *furthest)
{
	Arena *arena = arena_new();
	Trace *trace = sketch_fill(arena, s, at, true);
	Nest *nest = nest_new(arena, program, tape_new(arena));
	ApplyContext context = {.machine = machine, .use_slots = true};
	int step;
	Refusal why;
	bool applies =
	    trace_apply(nest, trace, &context, &step, &why) || step < 0;
	if (!applies && step > furthest->step) {
		furthest->step = step;
		strncpy(furthest->why, why, sizeof furthest->why - 1);
	}
	arena_free(arena);
	return applies;
}

static bool template_applies(const Program *program, const Machine *machine,
    const NamedTrace *template, Diag *diag)
{
	Arena *arena = arena_new();
	Sketch *s = NEW(arena, Sketch);
	int16_t at[CANDIDATE_PARTS] = {0};
	Furthest furthest = {.step = -1};
	Rng rng = rng_stream(1, 0, 0);
	bool applies = false;
	*s = sketch_of(arena, program, template->name,
	    trace_resolve_lanes(arena, template->trace, machine));
	for (int i = 0; i < TRIES && !applies; i++) {
		applies = try_one(program, machine, s, at, &furthest);
		draw_words(s, &rng, at);
	}
	assert(applies || furthest.step >= 0);
	if (!applies)
		diag_error(diag, program->source,
		    template->trace->steps.at[furthest.step].span, "%s",
		    furthest.why);
	arena_free(arena);
	return applies;
}

bool templates_apply(const Program *program, const Machine *machine,
    const NamedTraceVec *templates, Diag *diag)
{
	bool good = true;
	for (int i = 0; i < templates->n; i++)
		good &= template_applies(
		    program, machine, &templates->at[i], diag);
	return good;
}
