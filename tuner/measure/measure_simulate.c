/* A deterministic machine in place of this one: the analytic model, and on top
 * of it what a real machine adds and a model has to learn: an effect of each
 * decision by itself and a little of everything else, from a hash. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/hash.h"
#include "schedule/plan/plan.h"
#include "tuner/measure/measure_internal.h"

static double effect(uint64_t hash, double size)
{
	double u = (double)(hash >> 11) * 0x1p-53;
	return exp(size * (2 * u - 1));
}

/* Of each step as a record has it: a trace that was read from a store takes the
 * time that it took when it was proposed. */
static double effects(
    Arena *arena, const Program *program, const Trace *trace, uint64_t seed)
{
	json_t *steps = trace_to_json(trace_canonical(arena, program, trace));
	double product = 1;
	for (size_t i = 0; i < json_array_size(steps); i++) {
		char *text = json_dumps(json_array_get(steps, i), JSON_COMPACT);
		product *= effect(hash64(text, strlen(text), seed), 0.03);
		free(text);
	}
	json_decref(steps);
	return product;
}

double simulate_nest_seconds(
    Arena *arena, const Nest *nest, const Machine *machine)
{
	double seconds = 0;
	for (int i = 0; i < nest->nparts; i++)
		seconds +=
		    simulate_nest_seconds(arena, nest->parts[i], machine);
	if (nest->nparts)
		return seconds;
	Plan *plan = plan_record(arena, nest, machine);
	int64_t *values = NEW_N(arena, int64_t, tape_size(plan->tape));
	tape_eval(plan->tape, NULL, values);
	return plan_seconds(plan, machine, values);
}

double simulate_seconds(const Program *program, const Target *target,
    const Trace *trace, uint64_t seed, Error *error)
{
	Arena *arena = arena_new();
	double seconds = -1;
	Nest *nest =
	    schedule_nest(arena, program, &target->machine, trace, error);
	if (nest) {
		seconds = simulate_nest_seconds(arena, nest, &target->machine);
		if (trace)
			seconds *= effects(arena, program, trace, seed);
	}
	arena_free(arena);
	return seconds;
}
