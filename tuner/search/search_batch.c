/* The best of what was scored, and a batch made of it. */
#include <stdlib.h>
#include <string.h>

#include "tuner/search/search_internal.h"

/* A batch that covers much is chosen from so many times as many; a value that it
 * covers is worth so much, in standard deviations of the scores of these. */
enum { POOL = 4 };
static const double COVERED = 0.1;

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

static void begin(Best *best, const Search *search, SearchBatch batch, int n)
{
	int share =
	    search->round <= FIRST_BATCHES ? KIND_SHARE_FIRST : KIND_SHARE;
	int pool = batch == BATCH_SUBMODULAR ? POOL * n : n;
	bool few = batch == BATCH_TILES && search->space.kind;
	*best = (Best){.space = &search->space, .batch = batch, .n = n};
	top_begin(&best->any, n, n);
	top_begin(&best->mixed, pool, few ? n / share + 1 : pool);
}

void best_begin(Best *best, const Search *search, int n)
{
	begin(best, search, search->settings.batch, n);
}

void best_of_all(Best *best, const Search *search, int n)
{
	begin(best, search, BATCH_TOP, n);
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

/* --- a batch that covers much ----------------------------------------------- */

/* Of the pool: what is new of a candidate if it is taken next. */
typedef struct {
	const Scored *items;
	int n;
	bool *taken;
	bool (*fresh)[CANDIDATE_PARTS]; /* a decision's value that none has */
} Cover;

/* A decision that the whole pool takes alike covers nothing. */
static void cover_begin(Cover *c, const TopK *pool)
{
	*c = (Cover){pool->items, pool->n, NULL, NULL};
	c->taken = must_alloc((size_t)c->n + 1);
	c->fresh = must_alloc(sizeof *c->fresh * ((size_t)c->n + 1));
	memset(c->taken, 0, (size_t)c->n + 1);
	memset(c->fresh, 0, sizeof *c->fresh * ((size_t)c->n + 1));
	for (int i = 0; i < c->n; i++)
		for (int k = 0; k < c->n; k++) {
			const Candidate *a = &c->items[i].candidate;
			const Candidate *b = &c->items[k].candidate;
			for (int p = 0; p < CANDIDATE_PARTS; p++)
				c->fresh[i][p] |= a->sketch == b->sketch &&
				    a->at[p] != b->at[p];
		}
}

static int cover_count(const Cover *c, int i)
{
	int count = 0;
	for (int p = 0; p < CANDIDATE_PARTS; p++)
		count += c->fresh[i][p];
	return count;
}

static void cover_take(Cover *c, int taken)
{
	const Candidate *t = &c->items[taken].candidate;
	c->taken[taken] = true;
	for (int i = 0; i < c->n; i++) {
		const Candidate *other = &c->items[i].candidate;
		for (int p = 0; p < CANDIDATE_PARTS; p++)
			if (other->sketch == t->sketch &&
			    other->at[p] == t->at[p])
				c->fresh[i][p] = false;
	}
}

static double spread_of(const TopK *pool)
{
	float *scores = must_alloc(sizeof *scores * ((size_t)pool->n + 1));
	for (int i = 0; i < pool->n; i++)
		scores[i] = pool->items[i].score;
	double spread = search_spread(scores, pool->n);
	free(scores);
	return spread;
}

/* Greedily the greatest sum of scores and of values covered (Chen et al., NeurIPS
 * 2018, equation 3): within 1 - 1/e of the best that there is. */
static int take_covering(const TopK *pool, int n, Candidate *out)
{
	Cover c;
	double alpha = COVERED * spread_of(pool);
	int got = 0;
	cover_begin(&c, pool);
	for (; got < n && got < c.n; got++) {
		int at = -1;
		double most = 0;
		for (int i = 0; i < c.n; i++) {
			double gain =
			    c.items[i].score + alpha * cover_count(&c, i);
			if (c.taken[i] || (at >= 0 &&
				(gain < most || (gain <= most &&
				    c.items[i].order > c.items[at].order))))
				continue;
			at = i;
			most = gain;
		}
		out[got] = c.items[at].candidate;
		cover_take(&c, at);
	}
	free(c.taken);
	free(c.fresh);
	return got;
}

int best_take(Best *best, Candidate *out)
{
	if (best->batch == BATCH_SUBMODULAR)
		return take_covering(&best->mixed, best->n, out);
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
