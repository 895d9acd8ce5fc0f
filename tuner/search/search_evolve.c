/* Evolution on the model's prediction (MetaSchedule, NeurIPS 2022): a population of
 * the fastest that were measured and of random candidates; in each generation all are
 * scored, parents are drawn by score, and a child is a parent with one move of some
 * kind, a pair's decisions mixed, or the parent itself.  The best unvisited
 * candidates of all generations make the batch.
 *
 * Other than there: scores of a rank objective have no unit, so a parent is drawn
 * with the weight exp(score / spread); pairs are mixed; sketches change. */
#include <math.h>
#include <stdlib.h>

#include "tuner/search/search_internal.h"

enum { POPULATION = 256, GENERATIONS = 8, MEASURED = 32 };

/* What becomes of a parent; the rest stays as it is. */
static const double MIXED = 0.15, MOVED = 0.75;

/* How often each kind of move is made, of 16. */
static const int weights[MOVES] = {[MOVE_TILE] = 9,
    [MOVE_PLACE] = 2,
    [MOVE_LAYOUT] = 1,
    [MOVE_ANNOTATION] = 3,
    [MOVE_SKETCH] = 1};

typedef struct {
	int n;
	Candidate two[2][POPULATION]; /* a generation, and the one before it */
	Candidate *at, *next;         /* which of them is which */
	float score[POPULATION];
	double weight[POPULATION]; /* running sums */
} Evolve;

static void evolve_begin(Search *search)
{
	Evolve *e = must_alloc(sizeof *e);
	e->at = e->two[0];
	e->next = e->two[1];
	search->state = e;
}

static void evolve_end(Search *search)
{
	free(search->state);
}

static void populate(Search *search)
{
	Evolve *e = search->state;
	const SearchSpace *space = &search->space;
	Rng rng = search_rng(search, 0, 0);
	e->n = 0;
	while (e->n < search->nmeasured && e->n < MEASURED) {
		e->at[e->n] = search->measured[e->n].candidate;
		e->n++;
	}
	while (e->n < POPULATION &&
	       space->sample(space->context, &rng, &e->at[e->n]))
		e->n++;
}

static void weigh(Evolve *e)
{
	double best = -INFINITY, sum = 0;
	double unit = search_spread(e->score, e->n) + 1e-12;
	for (int i = 0; i < e->n; i++)
		best = fmax(best, e->score[i]);
	for (int i = 0; i < e->n; i++)
		e->weight[i] = sum += exp((e->score[i] - best) / unit);
}

static const Candidate *draw_parent(const Evolve *e, Rng *rng)
{
	double at = rng_double(rng) * e->weight[e->n - 1];
	int low = 0, high = e->n - 1;
	while (low < high) {
		int middle = (low + high) / 2;
		if (e->weight[middle] > at)
			high = middle;
		else
			low = middle + 1;
	}
	return &e->at[low];
}

static Move draw_move(Rng *rng)
{
	int sum = 0, m = 0;
	for (int i = 0; i < MOVES; i++)
		sum += weights[i];
	int at = (int)rng_below(rng, (uint64_t)sum);
	while ((at -= weights[m]) >= 0)
		m++;
	return (Move)m;
}

static bool move(
    const SearchSpace *space, Rng *rng, const Candidate *from, Candidate *out)
{
	if (space->move &&
	    space->move(space->context, rng, draw_move(rng), from, out))
		return true;
	return space->mutate(space->context, rng, from, out);
}

/* From a stream that the generation and the place name. */
static void breed(Search *search, int generation)
{
	Evolve *e = search->state;
	const SearchSpace *space = &search->space;
	for (int i = 0; i < e->n; i++) {
		Rng rng = search_rng(
		    search, (uint64_t)generation + 1, (uint64_t)i);
		const Candidate *a = draw_parent(e, &rng);
		double what = rng_double(&rng);
		bool made = false;
		if (what < MIXED && space->cross)
			made = space->cross(space->context, &rng, a,
			    draw_parent(e, &rng), &e->next[i]);
		else if (what < MIXED + MOVED)
			made = move(space, &rng, a, &e->next[i]);
		if (!made)
			e->next[i] = *a;
	}
	Candidate *held = e->at;
	e->at = e->next;
	e->next = held;
}

static int evolve_next(Search *search, int n, Candidate *out)
{
	Evolve *e = search->state;
	Best best;
	populate(search);
	if (!e->n)
		return 0;
	best_begin(&best, search, n);
	for (int g = 0; g <= GENERATIONS; g++) {
		search_score(search, e->at, e->n, e->score);
		search_offer(search, &best, e->at, e->score, e->n);
		if (g == GENERATIONS || search_is_over(search))
			break;
		weigh(e);
		breed(search, g);
	}
	int got = best_take(&best, out);
	best_free(&best);
	return got;
}

const SearchKind search_evolve = {
    evolve_begin, evolve_end, evolve_next, NULL};
