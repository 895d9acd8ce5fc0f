/* A deterministic machine in place of this one: the analytic model, and on top
 * of it what a real machine adds and a model has to learn: an effect of each
 * decision by itself and a little of everything else, from a hash. */
#include <math.h>

#include "lib/hash.h"
#include "schedule/plan.h"
#include "tuner/measure_internal.h"

static double effect(uint64_t hash, double size)
{
	double u = (double)(hash >> 11) * 0x1p-53;
	return exp(size * (2 * u - 1));
}

double simulate_seconds(const Program *program, const Target *target,
    const Trace *trace, uint64_t seed, Error *error)
{
	Arena *arena = arena_new();
	double seconds = -1;
	Nest *nest =
	    schedule_nest(arena, program, &target->machine, trace, error);
	if (nest) {
		Plan *plan = plan_record(arena, nest);
		int64_t *values =
		    NEW_N(arena, int64_t, tape_size(plan->tape));
		tape_eval(plan->tape, NULL, values);
		seconds = plan_seconds(plan, &target->machine, values);
		for (int i = 0; trace && i < trace->steps.n; i++) {
			Buf text = {0};
			Trace one = {0};
			vec_push(arena, &one.steps, trace->steps.at[i]);
			trace_print(&text, &one);
			seconds *= effect(
			    hash64(text.data, text.size, seed), 0.03);
			buf_free(&text);
		}
	}
	arena_free(arena);
	return seconds;
}
