/* Cost models: what was measured of candidates, and what it says of the rest.
 *
 *     model.c          rows, labels, the prior, ensembles, what is proposed by
 *     models.def       kinds of models: trees, and the floor under them
 *     model_NAME.c     a kind
 *     model_text.c     a model of trees as a small file
 *     rating.c         how good predictions were
 *     calibration.c    from scores to seconds
 *     forest.c         trees walked many rows at a time
 *     xgboost.c, module_xgboost.c  XGBoost, which trains them
 *
 * Labels are best/own time within an operator, 0 for a failure, made anew at each
 * training: small operators count as much as large ones, and a new best moves all
 * labels of its operator. */
#ifndef TUNER_MODEL_MODEL_H
#define TUNER_MODEL_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/buf.h"
#include "lib/status.h"

/* models.def; a NULL name ends the list. */
typedef struct {
	const char *name;
	bool ranks;
	const char *help;
} ModelName;
const ModelName *model_names(void);
const ModelName *model_named(const char *name); /* NULL: there is none */

/* An order within an operator, by pairs; or the label. */
typedef enum { OBJECTIVE_RANK, OBJECTIVE_REGRESSION } Objective;
/* What of several models' predictions is the score: their mean; the expected
 * improvement on the best that was measured; mean and one deviation. */
typedef enum { ACQUIRE_MEAN, ACQUIRE_EI, ACQUIRE_UCB } Acquire;

typedef struct Model Model;

typedef struct {
	const char *kind; /* of models.def */
	int width;        /* of a row */
	Objective objective;
	Acquire acquire;
	bool prior;       /* begin with the analytic model: learn the rest */
	const Model *global; /* begin with what other operators taught it, which
				is all there is until the first fit; NULL */
	int members;      /* of the ensemble, each learns from a bootstrap sample;
			     1: all rows */
	int rounds, depth, bins; /* of trees */
	float eta;
	uint64_t seed;
} ModelSettings;
/* xgboost by rank, mean: 100 rounds of depth 6, 32 bins, eta 0.3 */
ModelSettings model_defaults(int width, uint64_t seed);

Model *model_new(const ModelSettings *settings);
void model_free(Model *model);

/* A measured candidate; group is any number that tells operators apart; prior_s is
 * what the analytic model expects of it; time_s is infinite where it failed. */
void model_add(Model *model, int group, const float *row, double prior_s,
    double time_s);
int model_rows(const Model *model);

/* Rates the model on what was added since the last fit, then trains it anew on
 * everything. */
Status model_fit(Model *model, Error *error);
bool model_fitted(const Model *model); /* or it has a global one */
/* Larger is better.  Only when fitted; prior_s is read only with a prior, its own or
 * the global model's. */
void model_predict(const Model *model, const float *rows,
    const double *prior_s, int n, float *scores);

/* Seconds that the model expects of a candidate of the operator whose row came last,
 * by its mean; NaN where it cannot tell. */
double model_seconds(const Model *model, const float *row, double prior_s);

/* How well the model and the analytic one predicted the rows that the last fit
 * found new, before it: Spearman's rank correlation, and how many of the best
 * eight they have among their best eight.  NaN where it does not say anything. */
typedef struct {
	double correlation, recall;
	double prior_correlation;
} Rating;
Rating model_rating(const Model *model);
/* What it says, as it is, about the rows that came after its training. */
Rating model_rate(const Model *model);

/* One that says what the analytic model does. */
Model *model_of_prior(int width);

/* model_text.c: a fitted one of trees as text, to be used without any rows; NULL and
 * what is wrong with a text.  `kind` says what its features are of: what has another
 * is refused. */
#define MODEL_BEGINS "tunec-model "
void model_write(Buf *out, const Model *model, const char *kind);
Model *model_read(const char *text, const char *name, int width,
    const char *kind, Error *error);

/* rating.c */
/* Spearman's rank correlation of any two rows of numbers, ties at their mean
 * rank. */
double rank_correlation(const double *a, const double *b, int n);
/* The share of the k largest of b that are among the k largest of a. */
double rank_recall(const double *a, const double *b, int n, int k);

#endif
