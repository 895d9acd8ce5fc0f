/* What the searches share; others see tuner/search/search.h. */
#ifndef TUNER_SEARCH_INTERNAL_H
#define TUNER_SEARCH_INTERNAL_H

#include "tuner/search/search.h"

/* A set of candidates: 64-bit hashes in a table, compared in full. */
typedef struct {
	Candidate *items;
	int n, cap;
	int *table; /* item + 1; 0: free */
	int table_size; /* a power of two */
} CandidateSet;

int set_find(const CandidateSet *set, const Candidate *candidate); /* -1 */
bool set_add(CandidateSet *set, const Candidate *candidate); /* false: there */
void set_free(CandidateSet *set);

typedef struct {
	float score;
	uint64_t kind;
	int64_t order; /* of arrival: the earlier of equals wins */
	Candidate candidate;
} Scored;

/* The k best that were offered, each once, and no more than `share` of a kind. */
typedef struct {
	Scored *items; /* a heap, the worst on top */
	int n, k, share;
	int64_t arrived;
	CandidateSet taken; /* that were in it at some time */
} TopK;

/* search_batch.c: of what is offered a batch of n, as the settings say; by tiles it
 * has few of a kind as long as there are others. */
typedef struct {
	const SearchSpace *space;
	SearchBatch batch;
	int n;
	TopK mixed, any; /* mixed: what a batch that covers much is chosen from */
} Best;

void best_begin(Best *best, const Search *search, int n);
void best_of_all(Best *best, const Search *search, int n); /* by score alone */
bool best_wants(const Best *best, float score); /* false: it is too bad */
/* True if it is now one of them. */
bool best_offer(Best *best, const Candidate *candidate, float score);
int best_take(Best *best, Candidate *out); /* the mixed ones first */
void best_free(Best *best);

typedef struct {
	void (*begin)(Search *search);
	void (*end)(Search *search);
	/* Up to n unvisited candidates: by score, if it asks for scores. */
	int (*next)(Search *search, int n, Candidate *out);
	/* What was measured; NULL: it does not want to know. */
	void (*tell)(Search *search, const Candidate *candidate, double time_s);
} SearchKind;

typedef struct {
	uint64_t key; /* of the candidate and the round */
	float score;
} ScoreKnown;

struct Search {
	const SearchKind *kind;
	bool learns;
	SearchSpace space;
	SearchSettings settings;
	CandidateSet visited;
	Scored *measured; /* the fastest, score is -time */
	int nmeasured;
	uint64_t round;
	bool listed, exhausted;
	Candidate *list; /* of a small space: all legal candidates */
	int nlist;
	SearchScore score; /* of the round; NULL: unknown */
	ScoreKnown *scores; /* that it gave, of SCORES_KNOWN keys */
	void *score_context;
	SearchStats stats;
	void *state; /* of the kind */
};

enum {
	MEASURED_KEPT = 32,
	SCORE_BATCH = 128,
	SCORES_KNOWN = 4096,
	NEIGHBOURS = 256, /* of one candidate, that are looked at */
	/* One part in that many of a batch is of a kind; of the first batches,
	 * when little is known. */
	KIND_SHARE = 8,
	KIND_SHARE_FIRST = 20,
	FIRST_BATCHES = 3
};

void search_score(Search *search, const Candidate *candidates, int n,
    float *scores);
/* An unvisited random candidate; false where there is none. */
bool search_sample(Search *search, Rng *rng, Candidate *out);
/* Has this call of search_next taken its time? */
bool search_is_over(const Search *search);
/* Offers those that were not visited; how many are among the best now. */
int search_offer(Search *search, Best *best, const Candidate *candidates,
    const float *scores, int n);
/* The standard deviation of scores: they have no unit of their own. */
double search_spread(const float *scores, int n);
Rng search_rng(const Search *search, uint64_t a, uint64_t b);

#define SEARCH(name, learns, help) extern const SearchKind search_##name;
#include "tuner/search/searches.def"
#undef SEARCH

#endif
