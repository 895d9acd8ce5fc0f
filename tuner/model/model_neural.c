/* A small network (neural.h), trained from nothing by Adam: an order by pairs of one
 * query group, or the label.
 *
 *     rows  ->  columns that vary, from their means, in deviations
 *           ->  STEPS times some rows of a group: scores, pull, gradient, step */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/arena.h"
#include "lib/rng.h"
#include "tuner/model/kind.h"
#include "tuner/model/neural.h"

enum { STEPS = 300, ROWS_A_STEP = 64, ROWS_AT_ONCE = 64 };
static const float RATE = 5e-4f, DECAY = 0.01f;
/* The share of inputs that a step does not see, so that few rows are not learnt by
 * heart; an input is at most so many deviations from its mean. */
static const float DROP = 0.3f, FARTHEST = 4;
static const double LEAST = 1e-4; /* deviation of a column that says something */

typedef struct {
	Neural net;
	int width;   /* of a stage's features */
	int *column; /* of each input: where it stands in a row */
	float *mean, *scale;
} Network;

static void release(void *fitted)
{
	Network *f = fitted;
	if (f) {
		free(f->net.weights);
		free(f->column);
		free(f->mean);
		free(f->scale);
	}
	free(f);
}

static float *numbers(size_t n)
{
	float *x = must_alloc(sizeof *x * n);
	return memset(x, 0, sizeof *x * n);
}

/* --- stages ---------------------------------------------------------------------- */

/* A row of zeros is no stage. */
static bool present(const float *stage, int width)
{
	int k = 0;
	while (k < width && stage[k] == 0)
		k++;
	return k < width;
}

/* Mean and deviation of a column over all stages. */
static void spread_of(const Training *t, int width, int column, double *mean,
    double *deviation)
{
	double sum = 0, squares = 0;
	int64_t all = (int64_t)t->n * t->width, n = 0;
	for (int64_t i = 0; i < all; i += width)
		if (present(t->rows + i, width)) {
			sum += t->rows[i + column];
			n++;
		}
	*mean = n ? sum / (double)n : 0;
	for (int64_t i = 0; i < all; i += width)
		if (present(t->rows + i, width)) {
			double x = t->rows[i + column] - *mean;
			squares += x * x;
		}
	*deviation = n ? sqrt(squares / (double)n) : 0;
}

/* The columns that vary; how many. */
static int choose(const Training *t, Network *f)
{
	int inputs = 0;
	for (int k = 0; k < f->width; k++) {
		double mean, deviation;
		spread_of(t, f->width, k, &mean, &deviation);
		if (deviation < LEAST)
			continue;
		f->column[inputs] = k;
		f->mean[inputs] = (float)mean;
		f->scale[inputs++] = (float)(1 / deviation);
	}
	return inputs;
}

static Stages stages_new(const Network *f, int rows, int width)
{
	size_t most = (size_t)rows * (size_t)(width / f->width);
	return (Stages){0, 0, numbers(most * (size_t)f->net.inputs),
	    must_alloc(sizeof(int) * most)};
}

static void stages_free(Stages *s)
{
	free(s->x);
	free(s->owner);
}

static void add_stage(const Network *f, const float *stage, Stages *s)
{
	float *x = s->x + (size_t)s->n * (size_t)f->net.inputs;
	for (int k = 0; k < f->net.inputs; k++) {
		float value = stage[f->column[k]];
		value = (value - f->mean[k]) * f->scale[k];
		value = value < FARTHEST ? value : FARTHEST;
		x[k] = value > -FARTHEST ? value : -FARTHEST;
	}
	s->owner[s->n++] = s->candidates;
}

static void add_row(const Network *f, const float *row, int width, Stages *s)
{
	for (int k = 0; k < width; k += f->width)
		if (present(row + k, f->width))
			add_stage(f, row + k, s);
	s->candidates++;
}

/* --- what is to be least ------------------------------------------------------------ */

/* Of the mean of log(1 + exp(-d)) over pairs, d the difference of the scores of the
 * better one and the other. */
static void pull_of_pairs(
    const float *labels, const float *scores, int n, float *pull)
{
	int pairs = 1;
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++) {
			if (labels[i] <= labels[j])
				continue;
			float p = 1 / (1 + expf(scores[i] - scores[j]));
			pull[i] -= p;
			pull[j] += p;
			pairs++;
		}
	for (int i = 0; i < n; i++)
		pull[i] /= (float)pairs;
}

static void pull_of_squares(
    const float *labels, const float *scores, int n, float *pull)
{
	for (int i = 0; i < n; i++)
		pull[i] = (scores[i] - labels[i]) / (float)n;
}

/* --- training -------------------------------------------------------------------- */

typedef struct {
	const Training *training;
	const Network *f;
	Stages stages; /* of the rows of a step */
	int *order;    /* of the rows of each group */
	float *gradient;
	NeuralPass pass;
	Adam adam;
	Rng rng;
} Trainer;

static Trainer trainer_new(const Training *t, const Network *f)
{
	int size = neural_size(f->net.inputs);
	Trainer r = {t, f, stages_new(f, ROWS_A_STEP, t->width),
	    must_alloc(sizeof(int) * (size_t)t->n), numbers((size_t)size),
	    pass_new(ROWS_A_STEP, ROWS_A_STEP * (t->width / f->width)),
	    adam_new(size), rng_stream(t->seed, 3, 0)};
	for (int i = 0; i < t->n; i++)
		r.order[i] = i;
	return r;
}

static void trainer_free(Trainer *r)
{
	stages_free(&r->stages);
	free(r->order);
	free(r->gradient);
	pass_free(&r->pass);
	adam_free(&r->adam);
}

static void shuffle(Rng *rng, int *at, int n)
{
	for (int i = n - 1; i > 0; i--) {
		int k = (int)rng_below(rng, (uint64_t)i + 1), other = at[k];
		at[k] = at[i];
		at[i] = other;
	}
}

static void drop(Rng *rng, float *x, int n)
{
	for (int i = 0; i < n; i++)
		x[i] *= rng_double(rng) < (double)DROP ? 0 : 1 / (1 - DROP);
}

/* By some rows of one group. */
static void learn(Trainer *r, const int *at, int n, float rate)
{
	const Training *t = r->training;
	const Neural *net = &r->f->net;
	float scores[ROWS_A_STEP], labels[ROWS_A_STEP], pull[ROWS_A_STEP] = {0};
	r->stages.n = r->stages.candidates = 0;
	for (int i = 0; i < n; i++)
		add_row(r->f, t->rows + (size_t)at[i] * (size_t)t->width,
		    t->width, &r->stages);
	drop(&r->rng, r->stages.x, r->stages.n * net->inputs);
	pass_forward(&r->pass, net, &r->stages);
	for (int i = 0; i < n; i++) {
		labels[i] = t->labels[at[i]];
		scores[i] = r->pass.scores[i];
		scores[i] += t->margin ? t->margin[at[i]] : 0;
	}
	(t->objective == OBJECTIVE_RANK ? pull_of_pairs : pull_of_squares)(
	    labels, scores, n, pull);
	memset(r->gradient, 0, sizeof(float) * (size_t)r->adam.n);
	pass_backward(&r->pass, net, pull, r->gradient);
	adam_step(&r->adam, r->gradient, rate, DECAY, net->weights);
}

/* Each row of each group once, some of a group at a time; which step is the next. */
static int learn_all(Trainer *r, int step)
{
	const Training *t = r->training;
	for (int g = 0, first = 0; g < t->ngroups; first += (int)t->group[g++]) {
		int n = (int)t->group[g], *at = r->order + first;
		int parts = (n + ROWS_A_STEP - 1) / ROWS_A_STEP;
		shuffle(&r->rng, at, n);
		for (int i = 0; i < parts && step < STEPS; i++) {
			int from = i * n / parts, to = (i + 1) * n / parts;
			float left = 1 - (float)step++ / STEPS;
			learn(r, at + from, to - from, RATE * left);
		}
	}
	return step;
}

static float middle(const Training *t)
{
	double sum = 0;
	for (int i = 0; i < t->n; i++)
		sum += t->labels[i] - (t->margin ? t->margin[i] : 0);
	return (float)(sum / t->n);
}

static Status check(const Training *t, Error *error)
{
	int64_t rows = 0;
	for (int i = 0; i < t->ngroups; i++)
		rows += t->group[i];
	if (t->n < 1 || t->width < 1 || rows != t->n)
		return error_set(error, STATUS_INPUT,
		    "nothing to learn from, or groups that do not add up");
	if (t->stage_width && t->width % t->stage_width)
		return error_set(error, STATUS_INPUT,
		    "a row of %d is not made of stages of %d", t->width,
		    t->stage_width);
	for (int64_t i = 0; i < (int64_t)t->n * t->width; i++)
		if (!isfinite(t->rows[i]))
			return error_set(error, STATUS_INPUT,
			    "feature %d of row %d is not finite",
			    (int)(i % t->width), (int)(i / t->width));
	for (int i = 0; i < t->n; i++)
		if (!isfinite(t->labels[i]) ||
		    (t->margin && !isfinite(t->margin[i])))
			return error_set(error, STATUS_INPUT,
			    "the label of row %d is not finite", i);
	return STATUS_OK;
}

static Status fit(const Training *t, void **fitted, Error *error)
{
	FORWARD_IF_ERROR(check(t, error));
	size_t width = (size_t)t->width;
	Network *f = must_alloc(sizeof *f);
	*f = (Network){.column = must_alloc(sizeof(int) * width),
	    .mean = numbers(width),
	    .scale = numbers(width)};
	f->width = t->stage_width ? t->stage_width : t->width;
	f->net = neural_new(choose(t, f), t->seed);
	if (t->objective == OBJECTIVE_REGRESSION)
		f->net.weights[neural_size(f->net.inputs) - 1] = middle(t);
	Trainer r = trainer_new(t, f);
	for (int step = 0; step < STEPS;)
		step = learn_all(&r, step);
	trainer_free(&r);
	*fitted = f;
	return STATUS_OK;
}

static void predict(
    const void *fitted, const float *rows, int n, int width, float *out)
{
	const Network *f = fitted;
	Stages stages = stages_new(f, ROWS_AT_ONCE, width);
	NeuralPass pass =
	    pass_new(ROWS_AT_ONCE, ROWS_AT_ONCE * (width / f->width));
	for (int i = 0; i < n; i += ROWS_AT_ONCE) {
		int some = n - i < ROWS_AT_ONCE ? n - i : ROWS_AT_ONCE;
		stages.n = stages.candidates = 0;
		for (int k = i; k < i + some; k++)
			add_row(f, rows + (size_t)k * (size_t)width, width,
			    &stages);
		pass_forward(&pass, &f->net, &stages);
		memcpy(out + i, pass.scores, sizeof *out * (size_t)some);
	}
	pass_free(&pass);
	stages_free(&stages);
}

const ModelKind model_neural = {fit, predict, release};
