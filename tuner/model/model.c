/* The cost model of a run: keeps what was measured, trains on all of it, and
 * predicts from flat trees.
 *
 * Times are kept, labels are made anew for each training: best/own time within
 * an operator, 0 for a failure; so small operators count as much as large ones,
 * and a new best moves all labels of its operator. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/tuner.h"

struct Model {
	ModelSettings settings;
	int n, cap;
	float *rows; /* n x width, in the order they came */
	double *time_s;
	int *group;
	int trained; /* rows that the last fit knew */
	Forest forest;
	double correlation;
};

ModelSettings model_defaults(int width, uint64_t seed)
{
	return (ModelSettings){.width = width,
	    .objective = OBJECTIVE_RANK,
	    .rounds = 100,
	    .depth = 6,
	    .bins = 32,
	    .eta = 0.3f,
	    .seed = seed};
}

Model *model_new(const ModelSettings *settings)
{
	Model *model = must_alloc(sizeof *model);
	*model = (Model){.settings = *settings, .correlation = NAN};
	return model;
}

void model_free(Model *model)
{
	if (!model)
		return;
	free(model->rows);
	free(model->time_s);
	free(model->group);
	forest_free(&model->forest);
	free(model);
}

void model_add(Model *model, int group, const float *row, double time_s)
{
	size_t width = (size_t)model->settings.width;
	if (model->n == model->cap) {
		model->cap = model->cap ? 2 * model->cap : 64;
		size_t cap = (size_t)model->cap;
		model->rows =
		    must_realloc(model->rows, sizeof(float) * width * cap);
		model->time_s =
		    must_realloc(model->time_s, sizeof(double) * cap);
		model->group = must_realloc(model->group, sizeof(int) * cap);
	}
	size_t i = (size_t)model->n++;
	memcpy(model->rows + i * width, row, sizeof(float) * width);
	model->time_s[i] = time_s;
	model->group[i] = group;
}

int model_rows(const Model *model)
{
	return model->n;
}

bool model_fitted(const Model *model)
{
	return model->forest.ntrees > 0;
}

void model_predict(const Model *model, const float *rows, int n, float *scores)
{
	assert(model_fitted(model));
	forest_predict(&model->forest, rows, n, model->settings.width, scores);
}

double model_correlation(const Model *model)
{
	return model->correlation;
}

/* --- rank correlation ---------------------------------------------------- */

typedef struct {
	double value;
	int place;
} Ranked;

static int by_value(const void *a, const void *b)
{
	const Ranked *x = a, *y = b;
	return (x->value > y->value) - (x->value < y->value);
}

/* Ranks from 0; equal values share the mean of theirs. */
static void ranks_of(const double *values, int n, double *ranks)
{
	Ranked *r = must_alloc(sizeof *r * (size_t)n);
	for (int i = 0; i < n; i++)
		r[i] = (Ranked){values[i], i};
	qsort(r, (size_t)n, sizeof *r, by_value);
	for (int i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && r[end].value == r[i].value; end++)
			;
		for (int k = i; k < end; k++)
			ranks[r[k].place] = (i + end - 1) / 2.0;
	}
	free(r);
}

double rank_correlation(const double *a, const double *b, int n)
{
	if (n < 2)
		return NAN;
	double *x = must_alloc(sizeof *x * (size_t)n);
	double *y = must_alloc(sizeof *y * (size_t)n);
	ranks_of(a, n, x);
	ranks_of(b, n, y);
	double mean = (n - 1) / 2.0, xy = 0, xx = 0, yy = 0;
	for (int i = 0; i < n; i++) {
		xy += (x[i] - mean) * (y[i] - mean);
		xx += (x[i] - mean) * (x[i] - mean);
		yy += (y[i] - mean) * (y[i] - mean);
	}
	free(x);
	free(y);
	return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : NAN;
}

/* The best time of the operator of row i, over all rows. */
static double best_time(const Model *model, int i)
{
	double best = INFINITY;
	for (int k = 0; k < model->n; k++)
		if (model->group[k] == model->group[i] &&
		    model->time_s[k] < best)
			best = model->time_s[k];
	return best;
}

static float label_of(double time_s, double best)
{
	return isfinite(time_s) ? (float)(best / time_s) : 0;
}

/* What the model, as it is, says about the rows that came after it. */
static double rate(const Model *model)
{
	int n = model->n - model->trained;
	if (!model_fitted(model) || n < 2)
		return NAN;
	float *scores = must_alloc(sizeof *scores * (size_t)n);
	double *a = must_alloc(sizeof *a * (size_t)n);
	double *b = must_alloc(sizeof *b * (size_t)n);
	size_t first = (size_t)model->trained;
	model_predict(model,
	    model->rows + first * (size_t)model->settings.width, n, scores);
	for (int i = 0; i < n; i++) {
		a[i] = scores[i];
		b[i] = -model->time_s[first + (size_t)i];
	}
	double correlation = rank_correlation(a, b, n);
	free(scores);
	free(a);
	free(b);
	return correlation;
}

/* --- training ------------------------------------------------------------ */

/* XGBoost wants the rows of an operator together: copies them so, operators in
 * the order they first came. */
static int group_rows(
    const Model *model, float *rows, float *labels, unsigned *sizes)
{
	size_t width = (size_t)model->settings.width;
	int n = model->n, ngroups = 0, at = 0;
	bool *done = must_alloc((size_t)n);
	memset(done, 0, (size_t)n);
	for (int i = 0; i < n; i++) {
		if (done[i])
			continue;
		double best = best_time(model, i);
		int first = at;
		for (int k = i; k < n; k++) {
			if (model->group[k] != model->group[i])
				continue;
			done[k] = true;
			memcpy(rows + (size_t)at * width,
			    model->rows + (size_t)k * width,
			    sizeof(float) * width);
			labels[at++] = label_of(model->time_s[k], best);
		}
		sizes[ngroups++] = (unsigned)(at - first);
	}
	free(done);
	return ngroups;
}

Status model_fit(Model *model, Error *error)
{
	const XgboostModule *xgboost = xgboost_module(error);
	if (!xgboost)
		return error->status;
	const ModelSettings *s = &model->settings;
	size_t n = (size_t)model->n;
	double correlation = rate(model);
	float *rows = must_alloc(sizeof *rows * n * (size_t)s->width);
	float *labels = must_alloc(sizeof *labels * n);
	unsigned *sizes = must_alloc(sizeof *sizes * n);
	int ngroups = group_rows(model, rows, labels, sizes);
	Training training = {.rows = rows,
	    .n = model->n,
	    .width = s->width,
	    .labels = labels,
	    .group = sizes,
	    .ngroups = ngroups,
	    .objective = s->objective,
	    .rounds = s->rounds,
	    .depth = s->depth,
	    .bins = s->bins,
	    .eta = s->eta,
	    .seed = s->seed};
	Forest forest;
	Status status = xgboost->train(&training, &forest, NULL, error);
	free(rows);
	free(labels);
	free(sizes);
	if (status)
		return status;
	forest_free(&model->forest);
	model->forest = forest;
	forest_prepare(&model->forest);
	model->trained = model->n;
	model->correlation = correlation;
	return STATUS_OK;
}
