/* Candidates scored a second on one core by the annealing of `tune`, features
 * and prediction by 100 trees of depth 6 included; the model is trained on what
 * the analytic model says about random candidates.
 *
 *     bench_scored [SPEC:CASE]     default: workloads/conv2d.yaml:resnet18_c6
 */
#include <stdio.h>
#include <stdlib.h>

#include "test/common_schedule.h"
#include "tuner/tune/guide.h"

enum { LEARNT = 512, BATCH = 64, ROUNDS = 5 };

static Status learn(Space *space, Guide *guide, Error *error)
{
	Rng rng = rng_stream(1, 0, 0);
	for (int i = 0; i < LEARNT; i++) {
		Candidate c;
		double seconds;
		if (!space_sample(space, &rng, &c))
			break;
		space_analytic(space, &c, 1, &seconds);
		guide_tell(guide, &c, seconds);
	}
	return guide_fit(guide, BATCH, error);
}

static void run(Guide *guide)
{
	Candidate batch[BATCH];
	for (int i = 0; i < ROUNDS; i++)
		if (guide_next(guide, BATCH, batch) < BATCH)
			break;
	SearchStats s = guide_stats(guide);
	printf("%lld candidates scored in %.3f s, %.0f a second; %.0f %% of it "
	       "features and prediction\n",
	    (long long)s.scored, s.seconds, (double)s.scored / s.seconds,
	    100 * s.score_seconds / s.seconds);
}

static Status bench(Space *space, Error *error)
{
	SearchSpace functions = guide_space(space);
	GuideSettings settings = guide_defaults(1);
	Guide *guide = guide_new(space, &functions, &settings);
	Status status = learn(space, guide, error);
	if (!status)
		run(guide);
	guide_free(guide);
	return status;
}

int main(int argc, char **argv)
{
	const char *build = getenv("BUILD");
	const char *spec =
	    argc > 1 ? argv[1] : "workloads/conv2d.yaml:resnet18_c6";
	setenv("TUNEC_MODULES", build ? build : "build", 0);
	Machine machine = test_machine;
	machine.threads = 1;
	Arena *arena = arena_new();
	ProgramVec programs = {0};
	Diag diag = {0};
	Error error;
	Space *space = NULL;
	Status status = spec_load(
	    arena, spec, NULL, 0, NUMERICS_DEFAULT, &diag, &error, &programs);
	fputs(buf_text(&diag.text), stderr);
	if (!status)
		space = space_new(arena, programs.at[0], &machine, &error);
	bool good = space && !bench(space, &error);
	if (!good)
		fprintf(stderr, "%s\n", error.text);
	diag_free(&diag);
	arena_free(arena);
	return good ? 0 : 1;
}
