/* Simulated annealing on the model's prediction (Chen et al., NeurIPS 2018; the
 * schedule is AutoTVM's): 32 chains of at most 500 steps a round, a step being
 * one changed decision; the temperature falls linearly to 0; the best unvisited
 * candidates that any chain met make the batch.
 *
 * Other than there: the temperature starts at a tenth of the spread of the
 * prediction over random candidates, since the scores of a rank objective have
 * no unit, and hotter chains only wander (docs/search.md has the figures); no
 * score is dropped for its sign; chains live on from round to round, but a
 * quarter starts anew from the fastest that were measured; all chains step
 * together, so that a step is one batch for the model. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/search/search_internal.h"

static const double START_TEMPERATURE = 0.1; /* of the spread */

typedef struct {
	int n; /* chains; 0: not started */
	Candidate *at, *next;
	float *score, *next_score;
	Candidate *random; /* as many, drawn once: for the spread */
} Anneal;

static void anneal_begin(Search *search)
{
	size_t n = (size_t)search->settings.chains;
	Anneal *a = must_alloc(sizeof *a);
	*a = (Anneal){0};
	a->at = must_alloc(sizeof *a->at * n);
	a->next = must_alloc(sizeof *a->next * n);
	a->random = must_alloc(sizeof *a->random * n);
	a->score = must_alloc(sizeof *a->score * n);
	a->next_score = must_alloc(sizeof *a->next_score * n);
	search->state = a;
}

static void anneal_end(Search *search)
{
	Anneal *a = search->state;
	free(a->at);
	free(a->next);
	free(a->random);
	free(a->score);
	free(a->next_score);
	free(a);
}

/* Fewer chains where samples are hard to find; none: false. */
static bool start_chains(Search *search)
{
	Anneal *a = search->state;
	Rng rng = search_rng(search, UINT32_MAX, 1);
	const SearchSpace *space = &search->space;
	while (a->n < search->settings.chains &&
	    space->sample(space->context, &rng, &a->random[a->n]))
		a->n++;
	memcpy(a->at, a->random, sizeof *a->at * (size_t)a->n);
	return a->n > 0;
}

/* A proposal for each chain, from a stream that its number and the step name.
 * Where none is found it stays where it is. */
static void propose(Search *search, int step)
{
	Anneal *a = search->state;
	const SearchSpace *space = &search->space;
	for (int i = 0; i < a->n; i++) {
		Rng rng = search_rng(search, (uint64_t)i, (uint64_t)step);
		if (!space->mutate(
			space->context, &rng, &a->at[i], &a->next[i]))
			a->next[i] = a->at[i];
	}
}

static void accept(Search *search, int step, double temperature)
{
	Anneal *a = search->state;
	for (int i = 0; i < a->n; i++) {
		double gain = (double)a->next_score[i] - a->score[i];
		Rng rng = search_rng(
		    search, (uint64_t)i, (uint64_t)step | (uint64_t)1 << 32);
		if (gain < 0 &&
		    !(rng_double(&rng) < exp(gain / (temperature + 1e-12))))
			continue;
		a->at[i] = a->next[i];
		a->score[i] = a->next_score[i];
	}
}

static void from_measured(Search *search)
{
	Anneal *a = search->state;
	for (int i = 0; i < search->nmeasured && i < a->n / 4; i++)
		a->at[i] = search->measured[i].candidate;
}

static int anneal_next(Search *search, int n, Candidate *out)
{
	Anneal *a = search->state;
	if (!a->n && !start_chains(search))
		return 0;
	Best best;
	best_begin(&best, search, n);
	search_score(search, a->random, a->n, a->score);
	double unit = START_TEMPERATURE * search_spread(a->score, a->n);
	from_measured(search);
	search_score(search, a->at, a->n, a->score);
	search_offer(search, &best, a->at, a->score, a->n);
	int steps = search->settings.steps, idle = 0;
	int patience = search->settings.patience;
	for (int k = 0; k < steps && idle < patience && !search_is_over(search); k++) {
		propose(search, k);
		search_score(search, a->next, a->n, a->next_score);
		idle = search_offer(search, &best, a->next, a->next_score, a->n)
		    ? 0
		    : idle + 1;
		accept(search, k, unit * (1 - (double)k / steps));
	}
	int got = best_take(&best, out);
	best_free(&best);
	return got;
}

const SearchKind search_sa = {anneal_begin, anneal_end, anneal_next, NULL};
