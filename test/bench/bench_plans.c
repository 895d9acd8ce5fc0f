/* Plan evaluations a second on one core: rows of features, no model.
 *
 *     bench_plans [SPEC:CASE [TARGET]]
 *                 default: workloads/conv2d.yaml:resnet18_c6, host
 *
 * Batches of 128 candidates as the annealing has them (a random one, then
 * neighbours of neighbours), drawn before the clock starts; the median of nine
 * turns over all of them.  Prints evaluations a second. */
#include <stdio.h>
#include <stdlib.h>

#include "codegen/codegen.h"
#include "schedule/schedule.h"
#include "test/bench/bench.h"

enum { BATCH = 128, BATCHES = 64, TURNS = 9, REPEATS = 4 };

static Candidate *draw(Space *space, Rng *rng)
{
	Candidate *c = must_alloc(sizeof *c * BATCH * BATCHES);
	for (int i = 0; i < BATCH * BATCHES; i++)
		if (i < BATCH ? !space_sample(space, rng, &c[i])
			      : !space_mutate(space, rng, &c[i - BATCH], &c[i]))
			c[i] = i ? c[i - 1] : (Candidate){0};
	return c;
}

static double evaluations_per_s(Space *space, const Candidate *candidates)
{
	static float rows[BATCH * FEATURES];
	double rate[TURNS];
	for (int turn = 0; turn < TURNS; turn++) {
		double start = now_s();
		for (int k = 0; k < REPEATS; k++)
			for (int i = 0; i < BATCHES; i++)
				space_features(space, candidates + i * BATCH,
				    BATCH, rows);
		rate[turn] = REPEATS * BATCHES * BATCH / (now_s() - start);
	}
	return median(rate, TURNS);
}

int main(int argc, char **argv)
{
	const char *spec =
	    argc > 1 ? argv[1] : "workloads/conv2d.yaml:resnet18_c6";
	Arena *arena = arena_new();
	Diag diag = {0};
	Error error = {0};
	ProgramVec programs = {0};
	Target *target = target_parse(arena, argc > 2 ? argv[2] : "host", &error);
	Space *space = NULL;
	if (target && !spec_load(arena, spec, NULL, 0, NUMERICS_DEFAULT, &diag,
			  &error, &programs))
		space = space_new(
		    arena, programs.at[0], &target->machine, &error);
	if (!space) {
		fprintf(stderr, "%sbench_plans: %s: %s\n",
		    buf_text(&diag.text), spec, error.text);
		return 1;
	}
	bench_pin(0, 0);
	Rng rng = rng_stream(1, 0, 0);
	Candidate *candidates = draw(space, &rng);
	printf("%.0f\n", evaluations_per_s(space, candidates));
	free(candidates);
	diag_free(&diag);
	arena_free(arena);
	return 0;
}
