/* What all searches share: the set of visited candidates, the best k of what
 * was scored, spaces so small that they are listed, and the random part of a
 * batch. */
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
	uint64_t h = hash64(candidate, sizeof *candidate, 0);
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

/* --- the best k ---------------------------------------------------------- */

static bool worse(const Scored *a, const Scored *b)
{
	return a->score != b->score ? a->score < b->score : a->order > b->order;
}

static void sift_down(TopK *top, int i)
{
	for (;;) {
		int worst = i;
		for (int child = 2 * i + 1; child <= 2 * i + 2; child++)
			if (child < top->n &&
			    worse(&top->items[child], &top->items[worst]))
				worst = child;
		if (worst == i)
			return;
		Scored held = top->items[i];
		top->items[i] = top->items[worst];
		top->items[worst] = held;
		i = worst;
	}
}

static void sift_up(TopK *top, int i)
{
	for (int parent; i > 0; i = parent) {
		parent = (i - 1) / 2;
		if (!worse(&top->items[i], &top->items[parent]))
			return;
		Scored held = top->items[i];
		top->items[i] = top->items[parent];
		top->items[parent] = held;
	}
}

static void top_begin(TopK *top, int k, int share)
{
	*top = (TopK){.k = k, .share = share};
	top->items = must_alloc(sizeof *top->items * (size_t)k);
}

/* Where an item would go: n where there is room, the worst of its kind where
 * there are enough of those, else the worst; -1 if that is better. */
static int top_place(const TopK *top, const Scored *item)
{
	int same = 0, at = -1;
	for (int i = 0; i < top->n && top->share < top->k; i++)
		if (top->items[i].kind == item->kind) {
			same++;
			if (at < 0 || worse(&top->items[i], &top->items[at]))
				at = i;
		}
	if (same < top->share) {
		if (top->n < top->k)
			return top->n;
		at = 0;
	}
	return worse(&top->items[at], item) ? at : -1;
}

static bool top_offer(TopK *top, const Candidate *candidate, float score,
    uint64_t kind)
{
	Scored item = {score, kind, top->arrived++, *candidate};
	int at = top->k ? top_place(top, &item) : -1;
	if (at < 0 || !set_add(&top->taken, candidate))
		return false;
	top->n += at == top->n;
	top->items[at] = item;
	sift_up(top, at);
	sift_down(top, at);
	return true;
}

static int top_take(TopK *top, Candidate *out)
{
	int n = top->n;
	while (top->n) {
		out[top->n - 1] = top->items[0].candidate;
		top->items[0] = top->items[--top->n];
		sift_down(top, 0);
	}
	return n;
}

static void top_free(TopK *top)
{
	free(top->items);
	set_free(&top->taken);
	*top = (TopK){0};
}

void best_begin(Best *best, const Search *search, int n)
{
	int share =
	    search->round <= FIRST_BATCHES ? KIND_SHARE_FIRST : KIND_SHARE;
	*best = (Best){.space = &search->space};
	top_begin(&best->any, n, n);
	top_begin(&best->mixed, n, search->space.kind ? n / share + 1 : n);
}

/* What the mixed ones do not want is none of the best either. */
bool best_wants(const Best *best, float score)
{
	const TopK *top = &best->mixed;
	return top->n < top->k || (top->k && score > top->items[0].score);
}

bool best_offer(Best *best, const Candidate *candidate, float score)
{
	const SearchSpace *space = best->space;
	uint64_t kind = 0;
	if (!best_wants(best, score))
		return false;
	if (space->kind)
		kind = space->kind(space->context, candidate);
	top_offer(&best->any, candidate, score, kind);
	return top_offer(&best->mixed, candidate, score, kind);
}

static bool among(const Candidate *all, int n, const Candidate *candidate)
{
	for (int i = 0; i < n; i++)
		if (!memcmp(&all[i], candidate, sizeof *candidate))
			return true;
	return false;
}

int best_take(Best *best, Candidate *out)
{
	int n = best->any.k, got = top_take(&best->mixed, out);
	Candidate *any = must_alloc(sizeof *any * ((size_t)n + 1));
	int nany = top_take(&best->any, any);
	for (int i = 0; i < nany && got < n; i++)
		if (!among(out, got, &any[i]))
			out[got++] = any[i];
	free(any);
	return got;
}

void best_free(Best *best)
{
	top_free(&best->mixed);
	top_free(&best->any);
}

/* --- a search ------------------------------------------------------------ */

SearchSettings search_defaults(uint64_t seed)
{
	return (SearchSettings){.chains = 32,
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

void search_score(
    Search *search, const Candidate *candidates, int n, float *scores)
{
	double start = now_s();
	for (int i = 0; i < n; i += SCORE_BATCH)
		search->score(search->score_context, candidates + i,
		    n - i < SCORE_BATCH ? n - i : SCORE_BATCH, scores + i);
	search->stats.scored += n;
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
	int got = by_kind(search, n - nrandom, out);
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
