/* The search and the model of one operator (guide.h). */
#include "tuner/tune/guide.h"

#include <math.h>
#include <stdlib.h>

/* A space of more decision vectors is not counted; rows are predicted so many at
 * once. */
enum { SMALL_SPACE = 100000, ROWS_AT_ONCE = 256 };

/* A model waits for a batch of new rows, and for one of so many that it has learnt
 * from. */
enum { OLD_PER_NEW = 8 };

/* Batches running. */
enum { WORSE = 2 };

struct Guide {
	Space *space;
	Search *search;
	Model *model; /* NULL: nothing is learnt */
	bool learn, analytic, prior; /* as the settings say */
	Showing show;
	Candidate starts[GUIDE_STARTS];
	int nstarts;  /* not proposed yet */
	int worse;    /* batches in a row that the analytic model ranked better */
	int last_fit; /* rows */
	GuideBatch *batches;
	int nbatches;
};

static void show_features(const void *context, Space *space,
    const Candidate *candidates, int n, float *rows)
{
	(void)context;
	space_features(space, candidates, n, rows);
}

GuideSettings guide_defaults(uint64_t seed)
{
	return (GuideSettings){.search = "sa",
	    .learn = true,
	    .analytic = true,
	    .model = model_defaults(FEATURES, seed),
	    .how = search_defaults(seed),
	    .show = {show_features, NULL}};
}

int guide_starts(const Model *global)
{
	return global ? 1 : GUIDE_STARTS;
}

/* --- the space, as a search sees it ------------------------------------------- */

static bool sample_space(void *context, Rng *rng, Candidate *out)
{
	return space_sample(context, rng, out);
}

static bool mutate_space(
    void *context, Rng *rng, const Candidate *from, Candidate *out)
{
	return space_mutate(context, rng, from, out);
}

static bool move_space(void *context, Rng *rng, Move move,
    const Candidate *from, Candidate *out)
{
	return space_move(context, rng, move, from, out);
}

static bool cross_space(void *context, Rng *rng, const Candidate *a,
    const Candidate *b, Candidate *out)
{
	return space_cross(context, rng, a, b, out);
}

static int neighbours_space(
    void *context, const Candidate *from, Candidate *out, int most)
{
	return space_neighbours(context, from, out, most);
}

static bool at_space(void *context, int64_t i, Candidate *out)
{
	return space_at(context, i, out);
}

static uint64_t kind_of(void *context, const Candidate *candidate)
{
	return space_register_tile(context, candidate);
}

SearchSpace guide_space(Space *space)
{
	return (SearchSpace){.context = space,
	    .sample = sample_space,
	    .mutate = mutate_space,
	    .move = move_space,
	    .cross = cross_space,
	    .neighbours = neighbours_space,
	    .count = space_size(space, SMALL_SPACE),
	    .at = at_space,
	    .kind = kind_of};
}

/* --- scores --------------------------------------------------------------------- */

static void show(
    const Guide *g, const Candidate *candidates, int n, float *rows)
{
	g->show.rows(g->show.context, g->space, candidates, n, rows);
}

static void score_learnt(
    const Guide *g, const Candidate *candidates, int n, float *scores)
{
	static _Thread_local float rows[ROWS_AT_ONCE * FEATURES];
	double prior_s[ROWS_AT_ONCE];
	for (int i = 0; i < n; i += ROWS_AT_ONCE) {
		int count = n - i < ROWS_AT_ONCE ? n - i : ROWS_AT_ONCE;
		show(g, candidates + i, count, rows);
		if (g->prior)
			space_analytic(
			    g->space, candidates + i, count, prior_s);
		model_predict(g->model, rows, prior_s, count, scores + i);
	}
}

static void score_analytic(
    const Guide *g, const Candidate *candidates, int n, float *scores)
{
	double *seconds = must_alloc(sizeof *seconds * (size_t)n);
	space_analytic(g->space, candidates, n, seconds);
	for (int i = 0; i < n; i++)
		scores[i] = (float)-log(seconds[i]);
	free(seconds);
}

/* A model that the analytic one was better than twice running is set aside until
 * it is the better one again. */
static bool has_learnt(const Guide *g)
{
	return g->model && model_fitted(g->model) &&
	    !(g->analytic && g->worse >= WORSE);
}

static void score(
    void *context, const Candidate *candidates, int n, float *scores)
{
	const Guide *g = context;
	if (has_learnt(g))
		score_learnt(g, candidates, n, scores);
	else
		score_analytic(g, candidates, n, scores);
}

/* --- a guide --------------------------------------------------------------------- */

Guide *guide_new(Space *space, const SearchSpace *functions,
    const GuideSettings *settings)
{
	Search *search =
	    search_new(settings->search, functions, &settings->how);
	if (!search)
		return NULL;
	Guide *g = must_alloc(sizeof *g);
	*g = (Guide){.space = space,
	    .search = search,
	    .learn = settings->learn,
	    .analytic = settings->analytic,
	    .show = settings->show,
	    .prior = settings->model.prior || settings->model.global};
	if (!search_named(settings->search)->learns)
		return g;
	if (settings->learn || settings->model.global)
		g->model = model_new(&settings->model);
	while (g->nstarts < settings->nstarts) {
		g->starts[g->nstarts] = settings->starts[g->nstarts];
		g->nstarts++;
	}
	return g;
}

void guide_free(Guide *guide)
{
	if (!guide)
		return;
	search_free(guide->search);
	model_free(guide->model);
	free(guide->batches);
	free(guide);
}

/* Those that nobody has measured meanwhile. */
static int take_starts(Guide *g, int n, Candidate *out)
{
	int got = 0;
	for (int i = 0; i < g->nstarts && got < n; i++)
		if (!search_visited(g->search, &g->starts[i])) {
			guide_visit(g, &g->starts[i]);
			out[got++] = g->starts[i];
		}
	g->nstarts = 0;
	return got;
}

int guide_next(Guide *g, int n, Candidate *out)
{
	bool scored = g->analytic || has_learnt(g);
	int got = take_starts(g, n, out);
	return got +
	    search_next(
		g->search, scored ? score : NULL, g, n - got, out + got);
}

void guide_tell(Guide *g, const Candidate *candidate, double time_s)
{
	float row[FEATURES];
	double prior_s;
	search_tell(g->search, candidate, time_s);
	if (!g->model)
		return;
	show(g, candidate, 1, row);
	space_analytic(g->space, candidate, 1, &prior_s);
	model_add(g->model, 0, row, prior_s, time_s);
}

void guide_visit(Guide *g, const Candidate *candidate)
{
	search_visit(g->search, candidate);
}

static void keep_rating(Guide *g, int rows, Rating r)
{
	if (isnan(r.prior_correlation))
		return;
	g->batches = must_realloc(
	    g->batches, sizeof *g->batches * (size_t)(g->nbatches + 1));
	g->batches[g->nbatches++] = (GuideBatch){rows, r};
}

static void weigh(Guide *g, Rating r)
{
	if (isnan(r.correlation) || isnan(r.prior_correlation))
		return;
	g->worse = r.correlation < r.prior_correlation ? g->worse + 1 : 0;
}

void guide_end(Guide *g)
{
	int rows = g->model ? model_rows(g->model) - g->last_fit : 0;
	if (rows)
		keep_rating(g, rows, model_rate(g->model));
	g->last_fit += rows;
}

const GuideBatch *guide_batches(const Guide *g, int *n)
{
	*n = g->nbatches;
	return g->batches;
}

double guide_predict(const Guide *g, const Candidate *candidate)
{
	float row[FEATURES];
	double prior_s, seconds = NAN;
	space_analytic(g->space, candidate, 1, &prior_s);
	if (has_learnt(g)) {
		show(g, candidate, 1, row);
		seconds = model_seconds(g->model, row, prior_s);
	}
	return isnan(seconds) ? prior_s : seconds;
}

Status guide_fit(Guide *g, int batch, Error *error)
{
	if (!g->model || !g->learn)
		return STATUS_OK;
	int rows = model_rows(g->model);
	int fresh = rows - g->last_fit;
	if (fresh < batch || fresh < g->last_fit / OLD_PER_NEW)
		return STATUS_OK;
	g->last_fit = rows;
	FORWARD_IF_ERROR(model_fit(g->model, error));
	keep_rating(g, fresh, model_rating(g->model));
	weigh(g, model_rating(g->model));
	return STATUS_OK;
}

SearchStats guide_stats(const Guide *g)
{
	return search_stats(g->search);
}

Rating guide_rating(const Guide *g)
{
	return g->model ? model_rating(g->model) : (Rating){NAN, NAN, NAN};
}
