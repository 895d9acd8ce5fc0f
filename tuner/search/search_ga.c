/* A genetic search on what was measured, without a model: the papers' baseline
 * (AutoTVM's GATuner).  A population of 100 is measured whole; the next one are the
 * three best so far and, of pairs drawn by speed, one child each, every tenth of
 * them changed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/search/search_internal.h"

enum { POPULATION = 100, ELITE = 3, BREED_TRIES = 200 };

static const double MUTATION = 0.1;

typedef struct {
	Candidate at;
	double speed; /* 1/time; 0: it failed */
} Individual;

typedef struct {
	Individual parents[POPULATION + ELITE];
	int nparents;
	Individual told[POPULATION + ELITE]; /* of the next generation */
	int ntold;
	Candidate waiting[POPULATION]; /* bred, not yet proposed */
	int nwaiting;
	int generation; /* of proposals; 0: random */
} Genetic;

static void ga_begin(Search *search)
{
	Genetic *g = must_alloc(sizeof *g);
	*g = (Genetic){0};
	search->state = g;
}

static void ga_end(Search *search)
{
	free(search->state);
}

static int by_speed(const void *a, const void *b)
{
	double x = ((const Individual *)a)->speed;
	double y = ((const Individual *)b)->speed;
	return (x < y) - (x > y);
}

static void ga_tell(Search *search, const Candidate *candidate, double time_s)
{
	Genetic *g = search->state;
	if (g->ntold == POPULATION)
		return;
	g->told[g->ntold++] =
	    (Individual){*candidate, isfinite(time_s) ? 1 / time_s : 0};
}

/* What was told is the population, with the best that there were before. */
static void succeed(Genetic *g)
{
	for (int i = 0; i < ELITE && i < g->nparents; i++)
		g->told[g->ntold++] = g->parents[i];
	memcpy(g->parents, g->told, sizeof *g->told * (size_t)g->ntold);
	g->nparents = g->ntold;
	g->ntold = 0;
	qsort(g->parents, (size_t)g->nparents, sizeof *g->parents, by_speed);
}

static const Candidate *draw_parent(const Genetic *g, Rng *rng)
{
	double sum = 0;
	for (int i = 0; i < g->nparents; i++)
		sum += g->parents[i].speed;
	double at = rng_double(rng) * sum;
	for (int i = 0; i < g->nparents; i++)
		if ((at -= g->parents[i].speed) < 0)
			return &g->parents[i].at;
	return &g->parents[rng_below(rng, (uint64_t)g->nparents)].at;
}

static bool breed_one(
    const Search *search, const Genetic *g, Rng *rng, Candidate *out)
{
	const SearchSpace *space = &search->space;
	const Candidate *a = draw_parent(g, rng), *b = draw_parent(g, rng);
	if (!space->cross || !space->cross(space->context, rng, a, b, out))
		*out = *a;
	if (rng_double(rng) < MUTATION || !memcmp(out, a, sizeof *out)) {
		Candidate child = *out;
		return space->mutate(space->context, rng, &child, out);
	}
	return true;
}

static bool waits(const Genetic *g, const Candidate *c)
{
	for (int i = 0; i < g->nwaiting; i++)
		if (!memcmp(&g->waiting[i], c, sizeof *c))
			return true;
	return false;
}

static void breed(Search *search, Genetic *g)
{
	Rng rng = search_rng(search, 1, (uint64_t)++g->generation);
	g->nwaiting = 0;
	for (int vain = 0; g->nwaiting < POPULATION && vain < BREED_TRIES;) {
		Candidate *c = &g->waiting[g->nwaiting];
		bool fresh = breed_one(search, g, &rng, c) &&
		    !search_visited(search, c) && !waits(g, c);
		vain = fresh ? 0 : vain + 1;
		g->nwaiting += fresh;
	}
}

/* Nothing before a population was measured: a batch is random then. */
static int ga_next(Search *search, int n, Candidate *out)
{
	Genetic *g = search->state;
	int got = 0;
	if (!g->nwaiting && g->ntold == POPULATION) {
		succeed(g);
		breed(search, g);
	}
	while (got < n && g->nwaiting) {
		out[got] = g->waiting[--g->nwaiting];
		got += !search_visited(search, &out[got]);
	}
	return got;
}

const SearchKind search_ga = {ga_begin, ga_end, ga_next, ga_tell};
