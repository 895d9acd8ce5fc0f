/* Searches: which candidates to measure next.
 *
 *     search.c         what is common: visited candidates, small spaces
 *     searches.def     which there are
 *     search_NAME.c    one of them
 *     search_batch.c   the best of what was scored, and a batch of it
 *
 * A search sees a space through a few functions, so that tests can give it one
 * of their own.  It keeps no time and draws no numbers but from its seed: the
 * same seed, scores and measurements give the same candidates in the same
 * order, on any number of threads, unless it is told that its time is over. */
#ifndef TUNER_SEARCH_H
#define TUNER_SEARCH_H

#include "schedule/schedule.h"

/* Candidates are in normal form: equal bytes are the same candidate. */
typedef struct {
	void *context; /* first argument of all functions */
	/* A random legal candidate; false if none was found in many tries. */
	bool (*sample)(void *context, Rng *rng, Candidate *out);
	/* A legal neighbour that differs; false if none was found. */
	bool (*mutate)(void *context, Rng *rng, const Candidate *from,
	    Candidate *out);
	/* The same by a move of one kind; NULL: there are no kinds. */
	bool (*move)(void *context, Rng *rng, Move move,
	    const Candidate *from, Candidate *out);
	/* Of two candidates one that has decisions of both; false if none was
	 * found.  NULL: never. */
	bool (*cross)(void *context, Rng *rng, const Candidate *a,
	    const Candidate *b, Candidate *out);
	/* All that one step leads to, each legal and once, `most` of them at
	 * most; how many.  NULL: there is no polish. */
	int (*neighbours)(void *context, const Candidate *from, Candidate *out,
	    int most);
	/* Decision vectors in all; -1: more than one cares to count. */
	int64_t count;
	/* The i-th of them, normalized; false if it is not legal.  Several i
	 * may give one candidate. */
	bool (*at)(void *context, int64_t i, Candidate *out);
	/* Candidates of one kind are expected to be much alike: a batch is not
	 * made of few kinds.  NULL: each is its own. */
	uint64_t (*kind)(void *context, const Candidate *candidate);
	/* Has this call of search_next taken its time?  It then proposes the
	 * best that it has met.  NULL: never. */
	bool (*over)(void *over_context);
	void *over_context;
} SearchSpace;

/* Larger is better.  NULL instead of a function: nothing is known yet. */
typedef void (*SearchScore)(
    void *context, const Candidate *candidates, int n, float *scores);

/* How a batch is made of what was scored: by score and how many decisions it
 * covers, by score with few of a kind, or by score alone. */
typedef enum { BATCH_SUBMODULAR, BATCH_TILES, BATCH_TOP } SearchBatch;

typedef struct {
	bool polish; /* every second batch is steps from the best */
	SearchBatch batch;
	int chains, steps;  /* annealing: 32 chains of 500 steps a round */
	int patience;       /* steps without a new candidate for the batch: 25 */
	double epsilon;     /* share of a batch that is random: 0.05 */
	uint64_t seed;
} SearchSettings;
SearchSettings search_defaults(uint64_t seed);

typedef struct Search Search;

/* searches.def; a NULL name ends the list. */
typedef struct {
	const char *name;
	bool learns; /* it asks for scores */
	const char *help;
} SearchName;
const SearchName *search_names(void);
const SearchName *search_named(const char *name); /* NULL: there is none */

/* NULL where there is no such search. */
Search *search_new(const char *name, const SearchSpace *space,
    const SearchSettings *settings);
void search_free(Search *search);

/* Never to be proposed (again): stored trials of earlier runs. */
void search_visit(Search *search, const Candidate *candidate);
bool search_visited(const Search *search, const Candidate *candidate);
/* What was measured, infinity for a failure: chains start from the fastest. */
void search_tell(Search *search, const Candidate *candidate, double time_s);

/* Up to n candidates that were never proposed, the most promising first, the
 * random ones last.  Fewer than n: the space is exhausted. */
int search_next(Search *search, SearchScore score, void *score_context, int n,
    Candidate *out);
bool search_exhausted(const Search *search);

typedef struct {
	int64_t scored; /* candidates that were given to the score function */
	int64_t proposed;
	double seconds; /* in search_next */
	double score_seconds; /* of them in the score function */
} SearchStats;
SearchStats search_stats(const Search *search);

#endif
