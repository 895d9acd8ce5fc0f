/* A model: rows, labels, the prior, ensembles, and what is proposed by (model.h). */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/arena.h"
#include "lib/rng.h"
#include "tuner/model/kind.h"

enum { PRIOR, GLOBAL, MARGINS }; /* what a prediction may begin with */
enum { MEMBERS = 16, ROWS_AT_ONCE = 128, RECALL = 8 };

typedef struct {
	int group;
	double time_s;
	double
	    from[MARGINS]; /* -log of what the analytic model expects, and the
				 global model's score */
} ModelRow;

struct Model {
	ModelSettings settings;
	const ModelName *name;
	const ModelKind *kind;
	int n, cap;
	float *features; /* n x width, in the order they came */
	ModelRow *rows;
	int trained; /* rows that the last fit knew */
	void *fitted[MEMBERS];
	double slopes[MARGINS];	 /* 0: no use of it */
	double centres[MARGINS]; /* of the newest row's operator */
	double best; /* the mean score of its best row: for ACQUIRE_EI */
	Calibration *calibration;
	Rating rating;
};

/* --- names ------------------------------------------------------------------ */

const ModelName *model_names(void)
{
	static const ModelName names[] = {
#define MODEL(name, ranks, help) {#name, ranks, help},
#include "tuner/model/models.def"
#undef MODEL
	    {0}};
	return names;
}

const ModelName *model_named(const char *name)
{
	const ModelName *m = model_names();
	while (m->name && strcmp(m->name, name))
		m++;
	return m->name ? m : NULL;
}

static const ModelKind *kind_of(const ModelName *name)
{
	static const ModelKind *const kinds[] = {
#define MODEL(name, ranks, help) &model_##name,
#include "tuner/model/models.def"
#undef MODEL
	};
	return kinds[name - model_names()];
}

/* --- rows -------------------------------------------------------------------- */

ModelSettings model_defaults(int width, uint64_t seed)
{
	return (ModelSettings){.kind = model_names()->name,
	    .width = width,
	    .objective = OBJECTIVE_RANK,
	    .members = 1,
	    .rounds = 100,
	    .depth = 6,
	    .bins = 32,
	    .eta = 0.3f,
	    .seed = seed};
}

Model *model_new(const ModelSettings *settings)
{
	Model *m = must_alloc(sizeof *m);
	*m = (Model){.settings = *settings,
	    .name = model_named(settings->kind),
	    .rating = {NAN, NAN, NAN}};
	assert(m->name && settings->members >= 1 &&
	    settings->members <= MEMBERS);
	m->kind = kind_of(m->name);
	if (!m->name->ranks)
		m->settings.objective = OBJECTIVE_REGRESSION;
	m->slopes[GLOBAL] = settings->global != NULL;
	return m;
}

static void forget(Model *m)
{
	free(m->calibration);
	m->calibration = NULL;
	for (int i = 0; i < MEMBERS; i++) {
		m->kind->free(m->fitted[i]);
		m->fitted[i] = NULL;
	}
}

void model_free(Model *model)
{
	if (!model)
		return;
	forget(model);
	free(model->features);
	free(model->rows);
	free(model);
}

/* Of at most ROWS_AT_ONCE rows. */
static void begin_with(const Model *m, const float *features,
    const double *prior_s, int n, double (*from)[MARGINS])
{
	float scores[ROWS_AT_ONCE] = {0};
	if (m->settings.global)
		model_predict(m->settings.global, features, prior_s, n, scores);
	for (int i = 0; i < n; i++) {
		from[i][PRIOR] = prior_s ? -log(prior_s[i]) : 0;
		from[i][GLOBAL] = scores[i];
	}
}

void model_add(Model *m, int group, const float *row, double prior_s,
    double time_s)
{
	size_t width = (size_t)m->settings.width;
	if (m->n == m->cap) {
		m->cap = m->cap ? 2 * m->cap : 64;
		size_t cap = (size_t)m->cap;
		m->features = must_realloc(
		    m->features, sizeof(float) * width * cap);
		m->rows = must_realloc(m->rows, sizeof *m->rows * cap);
	}
	size_t i = (size_t)m->n++;
	memcpy(m->features + i * width, row, sizeof(float) * width);
	m->rows[i] = (ModelRow){.group = group, .time_s = time_s};
	begin_with(m, row, &prior_s, 1, &m->rows[i].from);
}

int model_rows(const Model *model)
{
	return model->n;
}

bool model_fitted(const Model *model)
{
	return model->fitted[0] || model->settings.global;
}

Rating model_rating(const Model *model)
{
	return model->rating;
}

/* --- prediction ---------------------------------------------------------------- */

static bool has_margin(const Model *m)
{
	return m->settings.prior || m->settings.global;
}

static double margin_of(const Model *m, const double *from)
{
	double sum = 0;
	for (int k = 0; k < MARGINS; k++)
		if (m->slopes[k] > 0)
			sum += m->slopes[k] * (from[k] - m->centres[k]);
	return sum;
}

/* The expected improvement on `best` of a normally distributed score. */
static double improvement(double mean, double deviation, double best)
{
	double z = (mean - best) / (deviation + 1e-12);
	return (mean - best) * 0.5 * erfc(-z * M_SQRT1_2) +
	    deviation * exp(-0.5 * z * z) * M_2_SQRTPI * M_SQRT1_2 / 2;
}

static double acquire(const Model *m, double mean, double deviation)
{
	switch (m->settings.acquire) {
	case ACQUIRE_EI:
		return improvement(mean, deviation, m->best);
	case ACQUIRE_UCB:
		return mean + deviation;
	default:
		return mean;
	}
}

/* Mean and deviation over the ensemble, of at most ROWS_AT_ONCE rows. */
static void predict_some(const Model *m, const float *features, int n,
    double *mean, double *deviation)
{
	float out[ROWS_AT_ONCE];
	int members = m->fitted[0] ? m->settings.members : 0;
	for (int i = 0; i < n; i++)
		mean[i] = deviation[i] = 0;
	if (!members)
		return;
	for (int k = 0; k < members; k++) {
		m->kind->predict(
		    m->fitted[k], features, n, m->settings.width, out);
		for (int i = 0; i < n; i++) {
			mean[i] += out[i];
			deviation[i] += (double)out[i] * out[i];
		}
	}
	for (int i = 0; i < n; i++) {
		mean[i] /= members;
		double square = deviation[i] / members - mean[i] * mean[i];
		deviation[i] = square > 0 ? sqrt(square) : 0;
	}
}

void model_predict(const Model *m, const float *rows, const double *prior_s,
    int n, float *scores)
{
	double mean[ROWS_AT_ONCE], deviation[ROWS_AT_ONCE];
	double from[ROWS_AT_ONCE][MARGINS];
	assert(model_fitted(m));
	for (int i = 0; i < n; i += ROWS_AT_ONCE) {
		int some = n - i < ROWS_AT_ONCE ? n - i : ROWS_AT_ONCE;
		const float *at = rows + (size_t)i * (size_t)m->settings.width;
		predict_some(m, at, some, mean, deviation);
		begin_with(
		    m, at, has_margin(m) ? prior_s + i : NULL, some, from);
		for (int k = 0; k < some; k++) {
			mean[k] += margin_of(m, from[k]);
			scores[i + k] =
			    (float)acquire(m, mean[k], deviation[k]);
		}
	}
}

/* The mean scores of rows from `first` on. */
static void predict_own(const Model *m, int first, int n, double *mean)
{
	double deviation[ROWS_AT_ONCE];
	for (int i = 0; i < n; i += ROWS_AT_ONCE) {
		int some = n - i < ROWS_AT_ONCE ? n - i : ROWS_AT_ONCE;
		size_t at = (size_t)(first + i);
		predict_some(m, m->features + at * (size_t)m->settings.width,
		    some, mean + i, deviation);
		for (int k = 0; k < some; k++)
			mean[i + k] +=
			    margin_of(m, m->rows[first + i + k].from);
	}
}

Rating model_rate(const Model *m)
{
	Rating rating = {NAN, NAN, NAN};
	int n = m->n - m->trained;
	if (n < 2)
		return rating;
	double *score = must_alloc(sizeof *score * (size_t)n);
	double *prior = must_alloc(sizeof *prior * (size_t)n);
	double *truth = must_alloc(sizeof *truth * (size_t)n);
	if (model_fitted(m))
		predict_own(m, m->trained, n, score);
	for (int i = 0; i < n; i++) {
		prior[i] = m->rows[m->trained + i].from[PRIOR];
		truth[i] = -m->rows[m->trained + i].time_s;
	}
	rating.prior_correlation = rank_correlation(prior, truth, n);
	if (model_fitted(m)) {
		rating.correlation = rank_correlation(score, truth, n);
		rating.recall = rank_recall(score, truth, n, RECALL);
	}
	free(score);
	free(prior);
	free(truth);
	return rating;
}

/* --- training -------------------------------------------------------------------- */

/* What a training is made of; operators one after another, in the order in which
 * they first came. */
typedef struct {
	int *row; /* by place: which */
	float *features; /* NULL: the rows' own */
	float *labels, *margin;
	double (*from)[MARGINS]; /* from the means of their operators */
	unsigned *sizes;
	int ngroups;
} Batch;

static Batch batch_new(const Model *m, bool features)
{
	size_t n = (size_t)m->n, width = (size_t)m->settings.width;
	return (Batch){must_alloc(sizeof(int) * n),
	    features ? must_alloc(sizeof(float) * n * width) : NULL,
	    must_alloc(sizeof(float) * n), must_alloc(sizeof(float) * n),
	    must_alloc(sizeof(double[MARGINS]) * n),
	    must_alloc(sizeof(unsigned) * n), 0};
}

static void batch_free(Batch *b)
{
	free(b->row);
	free(b->features);
	free(b->labels);
	free(b->margin);
	free(b->from);
	free(b->sizes);
}

static void gather(const Model *m, Batch *b)
{
	bool *done = must_alloc((size_t)m->n);
	int at = 0;
	memset(done, 0, (size_t)m->n);
	for (int i = 0; i < m->n; i++) {
		int first = at;
		for (int k = i; k < m->n && !done[i]; k++)
			if (m->rows[k].group == m->rows[i].group)
				b->row[at++] = k;
		for (int k = first; k < at; k++)
			done[b->row[k]] = true;
		if (at > first)
			b->sizes[b->ngroups++] = (unsigned)(at - first);
	}
	free(done);
}

/* Of an operator's rows: best/own time. */
static void label(const Model *m, const int *row, int n, float *labels)
{
	double best = INFINITY;
	for (int i = 0; i < n; i++)
		best = fmin(best, m->rows[row[i]].time_s);
	for (int i = 0; i < n; i++) {
		double time_s = m->rows[row[i]].time_s;
		labels[i] = isfinite(time_s) ? (float)(best / time_s) : 0;
	}
}

/* From their means, operator by operator. */
static void centre(Model *m, Batch *b, int k)
{
	int at = 0;
	for (int g = 0; g < b->ngroups; at += (int)b->sizes[g++]) {
		int n = (int)b->sizes[g];
		double mean = 0;
		for (int i = at; i < at + n; i++)
			mean += m->rows[b->row[i]].from[k] / n;
		for (int i = at; i < at + n; i++)
			b->from[i][k] = m->rows[b->row[i]].from[k] - mean;
		if (m->rows[b->row[at]].group == m->rows[m->n - 1].group)
			m->centres[k] = mean;
	}
}

enum { PAIR_ROWS = 256, NEWTON_STEPS = 20 };
static const double SLOPE_MOST = 100;

/* First and second derivative in slope k of what is to be least. */
typedef struct {
	double first, second;
} Bend;

/* Of the mean of log(1 + exp(-d)), d the difference of the margins of two rows of
 * one operator, the better one first. */
static Bend bend_of_pairs(const Batch *b, int n, const double *slopes, int k)
{
	int at = 0, pairs = 1, stride = 1 + n / PAIR_ROWS;
	Bend sum = {0, 0};
	for (int g = 0; g < b->ngroups; at += (int)b->sizes[g++]) {
		int end = at + (int)b->sizes[g];
		for (int i = at; i < end; i += stride)
			for (int j = at; j < end; j += stride) {
				if (b->labels[i] <= b->labels[j])
					continue;
				double off = 0;
				for (int q = 0; q < MARGINS; q++)
					off += slopes[q] *
					    (b->from[i][q] - b->from[j][q]);
				double d = b->from[i][k] - b->from[j][k];
				double p = 1 / (1 + exp(off));
				sum.first -= p * d;
				sum.second += p * (1 - p) * d * d;
				pairs++;
			}
	}
	/* so that an order without a fault is no infinity */
	return (Bend){(1e-3 * slopes[k] + sum.first) / pairs,
	    (1e-3 + sum.second) / pairs};
}

/* Of half the squares of what the margin leaves of the labels. */
static Bend bend_of_squares(const Batch *b, int n, const double *slopes, int k)
{
	Bend sum = {0, 1e-9};
	for (int i = 0; i < n; i++) {
		double rest = b->labels[i];
		for (int q = 0; q < MARGINS; q++)
			rest -= slopes[q] * b->from[i][q];
		sum.first -= rest * b->from[i][k];
		sum.second += b->from[i][k] * b->from[i][k];
	}
	return sum;
}

/* The margin, in the unit of scores: what it begins with counts from its mean, by
 * slopes that fit the rows best.  One that is of no use has slope 0. */
static void set_margin(Model *m, Batch *b)
{
	const bool used[MARGINS] = {
	    [PRIOR] = m->settings.prior, [GLOBAL] = m->settings.global};
	bool ranks = m->settings.objective == OBJECTIVE_RANK;
	for (int k = 0; k < MARGINS; k++) {
		centre(m, b, k);
		m->slopes[k] = 0;
	}
	for (int i = 0; i < NEWTON_STEPS * MARGINS; i++) {
		int k = i % MARGINS;
		if (!used[k])
			continue;
		Bend at = ranks ? bend_of_pairs(b, m->n, m->slopes, k)
				: bend_of_squares(b, m->n, m->slopes, k);
		double slope = m->slopes[k] - at.first / at.second;
		m->slopes[k] = fmin(SLOPE_MOST, fmax(0, slope));
	}
	for (int i = 0; i < m->n; i++)
		b->margin[i] = (float)(m->slopes[PRIOR] * b->from[i][PRIOR] +
		    m->slopes[GLOBAL] * b->from[i][GLOBAL]);
}

/* Rows of each operator drawn anew, as many as it has; member 0 of one alone has
 * all as they are. */
static void resample(const Model *m, const Batch *all, int member, Batch *out)
{
	Rng rng = rng_stream(m->settings.seed, 1, (uint64_t)member);
	size_t width = (size_t)m->settings.width;
	int at = 0;
	for (int g = 0; g < all->ngroups; at += (int)all->sizes[g++])
		for (int i = at; i < at + (int)all->sizes[g]; i++) {
			int from = m->settings.members == 1
			    ? i : at + (int)rng_below(&rng, all->sizes[g]);
			out->labels[i] = all->labels[from];
			out->margin[i] = all->margin[from];
			memcpy(out->features + (size_t)i * width,
			    m->features + (size_t)all->row[from] * width,
			    sizeof(float) * width);
		}
}

static Status fit_member(
    Model *m, const Batch *all, int member, Batch *drawn, Error *error)
{
	const ModelSettings *s = &m->settings;
	resample(m, all, member, drawn);
	Training training = {.rows = drawn->features,
	    .n = m->n,
	    .width = s->width,
	    .labels = drawn->labels,
	    .margin = has_margin(m) ? drawn->margin : NULL,
	    .group = all->sizes,
	    .ngroups = all->ngroups,
	    .objective = s->objective,
	    .rounds = s->rounds,
	    .depth = s->depth,
	    .bins = s->bins,
	    .eta = s->eta,
	    .seed = s->seed + (uint64_t)member};
	return m->kind->fit(&training, &m->fitted[member], error);
}

/* What the newest operator's rows say of their scores. */
static void calibrate(Model *m)
{
	double *score = must_alloc(sizeof *score * (size_t)m->n);
	double *time_s = must_alloc(sizeof *time_s * (size_t)m->n);
	int n = 0;
	double best_s = INFINITY;
	predict_own(m, 0, m->n, score);
	for (int i = 0; i < m->n; i++) {
		if (m->rows[i].group != m->rows[m->n - 1].group)
			continue;
		score[n] = score[i];
		time_s[n] = m->rows[i].time_s;
		if (time_s[n] < best_s) {
			best_s = time_s[n];
			m->best = score[n];
		}
		n++;
	}
	m->calibration = calibration_new(score, time_s, n);
	free(score);
	free(time_s);
}

double model_seconds(const Model *m, const float *row, double prior_s)
{
	double mean, deviation, from[1][MARGINS];
	predict_some(m, row, 1, &mean, &deviation);
	begin_with(m, row, &prior_s, 1, from);
	return calibration_seconds(
	    m->calibration, mean + margin_of(m, from[0]));
}

Status model_fit(Model *m, Error *error)
{
	Batch all = batch_new(m, false), drawn = batch_new(m, true);
	Status status = STATUS_OK;
	m->rating = model_rate(m);
	forget(m);
	gather(m, &all);
	for (int g = 0, at = 0; g < all.ngroups; at += (int)all.sizes[g++])
		label(m, all.row + at, (int)all.sizes[g], all.labels + at);
	set_margin(m, &all);
	for (int i = 0; i < m->settings.members && !status; i++)
		status = fit_member(m, &all, i, &drawn, error);
	batch_free(&all);
	batch_free(&drawn);
	if (status) {
		forget(m);
		return status;
	}
	m->trained = m->n;
	calibrate(m);
	return STATUS_OK;
}

/* --- trees alone ----------------------------------------------------------------- */

const Forest *model_forest(const Model *m, double *slope)
{
	*slope = m->slopes[PRIOR];
	return m->kind == &model_xgboost ? m->fitted[0] : NULL;
}

Model *model_of_forest(Forest *forest, int width, double slope)
{
	ModelSettings settings = model_defaults(width, 1);
	settings.kind = "xgboost";
	settings.prior = true;
	Model *m = model_new(&settings);
	forest_prepare(forest);
	m->fitted[0] = forest;
	m->slopes[PRIOR] = slope;
	return m;
}

Model *model_of_prior(int width)
{
	Forest *forest = must_alloc(sizeof *forest);
	*forest = (Forest){.ntrees = 1,
	    .nnodes = 1,
	    .root = must_alloc(sizeof *forest->root),
	    .nodes = must_alloc(sizeof *forest->nodes)};
	forest->root[0] = 0;
	forest->nodes[0] = (TreeNode){.feature = -1};
	return model_of_forest(forest, width, 1);
}
