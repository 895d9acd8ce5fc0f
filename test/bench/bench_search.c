/* Candidates scored a second on one core by the annealing of `tune`, features
 * and prediction by 100 trees of depth 6 included; the model is trained on what
 * the analytic model says about random candidates.
 *
 *     bench_search [SPEC:CASE]     default: workloads/conv2d.yaml:resnet18_c6
 */
#include <stdio.h>
#include <stdlib.h>

#include "test/common_schedule.h"
#include "tuner/search/search.h"
#include "tuner/tuner.h"

enum { LEARNT = 512, BATCH = 64, ROUNDS = 5, MOST = 128 };

typedef struct {
	Space *space;
	Model *model;
	float rows[MOST * FEATURES];
} Bench;

static bool sample(void *context, Rng *rng, Candidate *out)
{
	return space_sample(((Bench *)context)->space, rng, out);
}

static bool mutate(
    void *context, Rng *rng, const Candidate *from, Candidate *out)
{
	return space_mutate(((Bench *)context)->space, rng, from, out);
}

static uint64_t kind(void *context, const Candidate *candidate)
{
	return space_register_tile(((Bench *)context)->space, candidate);
}

static bool at(void *context, int64_t i, Candidate *out)
{
	return space_at(((Bench *)context)->space, i, out);
}

static void score(
    void *context, const Candidate *candidates, int n, float *scores)
{
	Bench *b = context;
	space_features(b->space, candidates, n, b->rows);
	model_predict(b->model, b->rows, n, scores);
}

static bool learn(Bench *b, Error *error)
{
	Rng rng = rng_stream(1, 0, 0);
	for (int i = 0; i < LEARNT; i++) {
		Candidate c;
		double seconds;
		if (!space_sample(b->space, &rng, &c))
			break;
		space_analytic(b->space, &c, 1, &seconds);
		space_features(b->space, &c, 1, b->rows);
		model_add(b->model, 0, b->rows, seconds);
	}
	return !model_fit(b->model, error);
}

static void run(Bench *b)
{
	SearchSpace space = {
	    b, sample, mutate, space_size(b->space, 1 << 20), at,
	    kind, NULL};
	SearchSettings settings = search_defaults(1);
	Search *search = search_new("sa", &space, &settings);
	Candidate batch[BATCH];
	for (int i = 0; i < ROUNDS; i++)
		if (search_next(search, score, b, BATCH, batch) < BATCH)
			break;
	SearchStats s = search_stats(search);
	printf("%lld candidates scored in %.3f s, %.0f a second; %.0f %% of it "
	       "features and prediction\n",
	    (long long)s.scored, s.seconds, (double)s.scored / s.seconds,
	    100 * s.score_seconds / s.seconds);
	search_free(search);
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
	Bench *b = NEW(arena, Bench);
	ModelSettings settings = model_defaults(FEATURES, 1);
	b->model = model_new(&settings);
	Status status = spec_load(
	    arena, spec, NULL, 0, NUMERICS_DEFAULT, &diag, &error, &programs);
	fputs(buf_text(&diag.text), stderr);
	if (!status)
		b->space = space_new(arena, programs.at[0], &machine, &error);
	bool good = b->space && learn(b, &error);
	if (good)
		run(b);
	else
		fprintf(stderr, "%s\n", error.text);
	model_free(b->model);
	diag_free(&diag);
	arena_free(arena);
	return good ? 0 : 1;
}
