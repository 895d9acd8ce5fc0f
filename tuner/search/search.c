/* What all searches share: the set of visited candidates, spaces so small that they
 * are listed, the polish, and the random part of a batch. */
#include "tuner/search/search.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tuner/search/search_internal.h"

/* A space of at most SMALL decision vectors is listed and ranked; one of at
 * most LISTABLE when samples find nothing new; of others TRIES such samples in
 * a row are taken as the end. */
enum { SMALL = 4096, LISTABLE = 1 << 20, TRIES = 1000 };

/* --- sets of candidates -------------------------------------------------- */

static int *place_of(const CandidateSet *set, const Candidate *candidate)
{
	uint64_t h = hash_long(candidate, sizeof *candidate, 0);
	for (;; h++) {
		int *at = &set->table[h & (uint64_t)(set->table_size - 1)];
		if (!*at ||
		    !memcmp(&set->items[*at - 1], candidate, sizeof *candidate))
			return at;
	}
}

static void set_grow(CandidateSet *set)
{
	set->cap = set->cap ? 2 * set->cap : 256;
	set->items =
	    must_realloc(set->items, sizeof *set->items * (size_t)set->cap);
	free(set->table);
	set->table_size = 2 * set->cap;
	size_t bytes = sizeof *set->table * (size_t)set->table_size;
	set->table = memset(must_alloc(bytes), 0, bytes);
	for (int i = 0; i < set->n; i++)
		*place_of(set, &set->items[i]) = i + 1;
}

int set_find(const CandidateSet *set, const Candidate *candidate)
{
	return set->n ? *place_of(set, candidate) - 1 : -1;
}

bool set_add(CandidateSet *set, const Candidate *candidate)
{
	if (set->n == set->cap)
		set_grow(set);
	int *at = place_of(set, candidate);
	if (*at)
		return false;
	set->items[set->n++] = *candidate;
	*at = set->n;
	return true;
}

void set_free(CandidateSet *set)
{
	free(set->items);
	free(set->table);
	*set = (CandidateSet){0};
}

/* --- a search ------------------------------------------------------------ */

SearchSettings search_defaults(uint64_t seed)
{
	return (SearchSettings){.batch = BATCH_TILES,
	    .chains = 32,
	    .steps = 500,
	    .patience = 25,
	    .epsilon = 0.05,
	    .seed = seed};
}

const SearchName *search_names(void)
{
	static const SearchName names[] = {
#define SEARCH(name, learns, help) {#name, learns, help},
#include "tuner/search/searches.def"
#undef SEARCH
	    {0}};
	return names;
}

const SearchName *search_named(const char *name)
{
	const SearchName *s = search_names();
	while (s->name && strcmp(s->name, name))
		s++;
	return s->name ? s : NULL;
}

Search *search_new(
    const char *name, const SearchSpace *space, const SearchSettings *settings)
{
	static const SearchKind *const kinds[] = {
#define SEARCH(name, learns, help) &search_##name,
#include "tuner/search/searches.def"
#undef SEARCH
	};
	const SearchName *named = search_named(name);
	if (!named)
		return NULL;
	Search *search = must_alloc(sizeof *search);
	*search = (Search){.kind = kinds[named - search_names()],
	    .learns = named->learns,
	    .space = *space,
	    .settings = *settings};
	search->measured = must_alloc(sizeof *search->measured * MEASURED_KEPT);
	size_t bytes = sizeof *search->scores * SCORES_KNOWN;
	search->scores = memset(must_alloc(bytes), 0, bytes);
	search->kind->begin(search);
	return search;
}

void search_free(Search *search)
{
	if (!search)
		return;
	search->kind->end(search);
	set_free(&search->visited);
	free(search->measured);
	free(search->scores);
	free(search->list);
	free(search);
}

void search_visit(Search *search, const Candidate *candidate)
{
	set_add(&search->visited, candidate);
}

bool search_visited(const Search *search, const Candidate *candidate)
{
	return set_find(&search->visited, candidate) >= 0;
}

/* Keeps the fastest, sorted. */
void search_tell(Search *search, const Candidate *candidate, double time_s)
{
	search_visit(search, candidate);
	if (search->kind->tell)
		search->kind->tell(search, candidate, time_s);
	if (!isfinite(time_s))
		return;
	Scored item = {.score = (float)-time_s, .candidate = *candidate};
	Scored *m = search->measured;
	int i = search->nmeasured;
	if (i == MEASURED_KEPT && m[i - 1].score >= item.score)
		return;
	if (i < MEASURED_KEPT)
		search->nmeasured++;
	else
		i--;
	for (; i > 0 && m[i - 1].score < item.score; i--)
		m[i] = m[i - 1];
	m[i] = item;
}

Rng search_rng(const Search *search, uint64_t a, uint64_t b)
{
	return rng_stream(search->settings.seed, search->round << 32 | a, b);
}

static double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* At most SCORE_BATCH: chains come back to where they were, in a round that has one
 * score for each candidate. */
static void score_batch(
    Search *search, const Candidate *candidates, int n, float *scores)
{
	Candidate fresh[SCORE_BATCH];
	uint64_t keys[SCORE_BATCH];
	float found[SCORE_BATCH];
	int nfresh = 0, at[SCORE_BATCH];
	for (int i = 0; i < n; i++) {
		uint64_t key = hash_long(
		    &candidates[i], sizeof *candidates, search->round);
		const ScoreKnown *k = &search->scores[key % SCORES_KNOWN];
		scores[i] = k->score;
		if (k->key == key)
			continue;
		keys[nfresh] = key;
		at[nfresh] = i;
		fresh[nfresh++] = candidates[i];
	}
	if (nfresh)
		search->score(search->score_context, fresh, nfresh, found);
	search->stats.scored += nfresh;
	for (int i = 0; i < nfresh; i++) {
		search->scores[keys[i] % SCORES_KNOWN] =
		    (ScoreKnown){keys[i], found[i]};
		scores[at[i]] = found[i];
	}
}

void search_score(
    Search *search, const Candidate *candidates, int n, float *scores)
{
	double start = now_s();
	for (int i = 0; i < n; i += SCORE_BATCH)
		score_batch(search, candidates + i,
		    n - i < SCORE_BATCH ? n - i : SCORE_BATCH, scores + i);
	search->stats.score_seconds += now_s() - start;
}

bool search_is_over(const Search *search)
{
	const SearchSpace *space = &search->space;
	return space->over && space->over(space->over_context);
}

int search_offer(Search *search, Best *best, const Candidate *candidates,
    const float *scores, int n)
{
	int taken = 0;
	for (int i = 0; i < n; i++)
		if (best_wants(best, scores[i]) &&
		    !search_visited(search, &candidates[i]))
			taken += best_offer(best, &candidates[i], scores[i]);
	return taken;
}

double search_spread(const float *scores, int n)
{
	double mean = 0, sum = 0;
	for (int i = 0; i < n; i++)
		mean += scores[i] / (double)n;
	for (int i = 0; i < n; i++)
		sum += (scores[i] - mean) * (scores[i] - mean);
	return sqrt(sum / n);
}

/* --- small spaces -------------------------------------------------------- */

static void list_all(Search *search)
{
	CandidateSet all = {0};
	Candidate candidate;
	search->listed = true;
	for (int64_t i = 0; i < search->space.count; i++)
		if (search->space.at(search->space.context, i, &candidate))
			set_add(&all, &candidate);
	search->list = all.items;
	search->nlist = all.n;
	free(all.table);
}

/* Drops what was visited meanwhile; the order stays. */
static void list_renew(Search *search)
{
	int kept = 0;
	for (int i = 0; i < search->nlist; i++)
		if (!search_visited(search, &search->list[i]))
			search->list[kept++] = search->list[i];
	search->nlist = kept;
}

static bool sample_list(Search *search, Rng *rng, Candidate *out)
{
	list_renew(search);
	if (!search->nlist)
		return false;
	*out = search->list[rng_below(rng, (uint64_t)search->nlist)];
	return true;
}

bool search_sample(Search *search, Rng *rng, Candidate *out)
{
	const SearchSpace *space = &search->space;
	for (int i = 0; i < TRIES && !search->listed; i++) {
		if (!space->sample(space->context, rng, out))
			break;
		if (!search_visited(search, out))
			return true;
	}
	if (!search->listed && space->count >= 0 && space->count <= LISTABLE)
		list_all(search);
	return search->listed && sample_list(search, rng, out);
}

static int rank_list(Search *search, int n, Candidate *out)
{
	Best best;
	float scores[SCORE_BATCH];
	list_renew(search);
	best_begin(&best, search, n);
	for (int i = 0; i < search->nlist; i += SCORE_BATCH) {
		int m = search->nlist - i < SCORE_BATCH ? search->nlist - i
							: SCORE_BATCH;
		search_score(search, search->list + i, m, scores);
		for (int k = 0; k < m; k++)
			best_offer(&best, &search->list[i + k], scores[k]);
	}
	int got = best_take(&best, out);
	best_free(&best);
	return got;
}

/* --- polish --------------------------------------------------------------- */

/* Around how many of the fastest. */
enum { POLISHED = 3 };

/* Unvisited neighbours, the most promising first. */
static int neighbours_of(
    Search *search, const Candidate *from, int n, Candidate *out)
{
	Candidate near[NEIGHBOURS];
	float scores[NEIGHBOURS] = {0};
	const SearchSpace *space = &search->space;
	int m = space->neighbours(space->context, from, near, NEIGHBOURS);
	Best best;
	if (search->score)
		search_score(search, near, m, scores);
	best_of_all(&best, search, n);
	search_offer(search, &best, near, scores, m);
	int got = best_take(&best, out);
	best_free(&best);
	for (int i = 0; i < got; i++)
		search_visit(search, &out[i]);
	return got;
}

/* Every second batch: the neighbours of the best, then of the next best.  None where
 * each was measured, and none of them is better. */
static int polish(Search *search, int n, Candidate *out)
{
	int got = 0;
	if (!search->settings.polish || !search->space.neighbours ||
	    search->round % 2)
		return 0;
	for (int i = 0; i < search->nmeasured && i < POLISHED && got < n; i++)
		got += neighbours_of(search, &search->measured[i].candidate,
		    n - got, out + got);
	return got;
}

/* --- a batch ------------------------------------------------------------- */

/* The part that is not random: nothing, where scores are wanted and none are
 * known. */
static int by_kind(Search *search, int n, Candidate *out)
{
	if (n <= 0 || (search->learns && !search->score))
		return 0;
	if (search->score && !search->listed && search->space.count >= 0 &&
	    search->space.count <= SMALL)
		list_all(search);
	return search->score && search->listed
	    ? rank_list(search, n, out) : search->kind->next(search, n, out);
}

int search_next(Search *search, SearchScore score, void *score_context, int n,
    Candidate *out)
{
	double start = now_s();
	search->score = search->learns ? score : NULL;
	search->score_context = score_context;
	search->round++;
	int nrandom =
	    search->learns ? (int)ceil(search->settings.epsilon * n) : 0;
	int got = search->learns ? polish(search, n - nrandom, out) : 0;
	got += by_kind(search, n - nrandom - got, out + got);
	for (int i = 0; i < got; i++)
		search_visit(search, &out[i]);
	Rng rng = search_rng(search, UINT32_MAX, 0);
	while (got < n && search_sample(search, &rng, &out[got])) {
		search_visit(search, &out[got]);
		got++;
	}
	search->exhausted = got < n;
	search->stats.proposed += got;
	search->stats.seconds += now_s() - start;
	return got;
}

bool search_exhausted(const Search *search)
{
	return search->exhausted;
}

SearchStats search_stats(const Search *search)
{
	return search->stats;
}
