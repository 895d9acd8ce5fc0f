/* Ridge regression on standardized features: what is learnt without interactions.
 * The normal equations by Cholesky's decomposition. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/arena.h"
#include "tuner/model/kind.h"

/* Beside each squared, standardized column's sum. */
static const double RIDGE = 1;

typedef struct {
	double *weight; /* of a feature as it is; width of them */
	double base;
} Linear;

static void release(void *fitted)
{
	Linear *l = fitted;
	if (l)
		free(l->weight);
	free(l);
}

static double *zeros(size_t n)
{
	double *x = must_alloc(sizeof *x * n);
	return memset(x, 0, sizeof *x * n);
}

/* Means and deviations; of a constant column 1. */
static void standardize(const Training *t, double *mean, double *deviation)
{
	for (int k = 0; k < t->width; k++) {
		double sum = 0, squares = 0;
		for (int i = 0; i < t->n; i++)
			sum += t->rows[i * t->width + k];
		mean[k] = sum / t->n;
		for (int i = 0; i < t->n; i++) {
			double x = t->rows[i * t->width + k] - mean[k];
			squares += x * x;
		}
		deviation[k] = squares > 0 ? sqrt(squares / t->n) : 1;
	}
}

/* Adds a row's products to the lower half of `a` and to `b`. */
static void accumulate(const double *x, double y, int n, double *a, double *b)
{
	for (int i = 0; i < n; i++) {
		b[i] += x[i] * y;
		for (int k = 0; k <= i; k++)
			a[i * n + k] += x[i] * x[k];
	}
}

/* Solves a w = b in place of b; `a`, positive definite, by its lower half. */
static void solve(double *a, double *b, int n)
{
	for (int i = 0; i < n; i++) {
		for (int k = 0; k <= i; k++) {
			double sum = a[i * n + k];
			for (int j = 0; j < k; j++)
				sum -= a[i * n + j] * a[k * n + j];
			a[i * n + k] =
			    i == k ? sqrt(sum) : sum / a[k * n + k];
		}
		for (int k = 0; k < i; k++)
			b[i] -= a[i * n + k] * b[k];
		b[i] /= a[i * n + i];
	}
	for (int i = n - 1; i >= 0; i--) {
		for (int k = i + 1; k < n; k++)
			b[i] -= a[k * n + i] * b[k];
		b[i] /= a[i * n + i];
	}
}

static double target(const Training *t, int i)
{
	return t->labels[i] - (t->margin ? t->margin[i] : 0);
}

static Status fit(const Training *t, void **fitted, Error *error)
{
	int n = t->width;
	double *mean = zeros((size_t)n), *deviation = zeros((size_t)n);
	double *a = zeros((size_t)n * (size_t)n), *x = zeros((size_t)n);
	Linear *l = must_alloc(sizeof *l);
	double middle = 0;
	(void)error;
	*l = (Linear){zeros((size_t)n), 0};
	standardize(t, mean, deviation);
	for (int i = 0; i < t->n; i++)
		middle += target(t, i) / t->n;
	for (int i = 0; i < t->n; i++) {
		for (int k = 0; k < n; k++)
			x[k] = (t->rows[i * n + k] - mean[k]) / deviation[k];
		accumulate(x, target(t, i) - middle, n, a, l->weight);
	}
	for (int k = 0; k < n; k++)
		a[k * n + k] += RIDGE;
	solve(a, l->weight, n);
	l->base = middle;
	for (int k = 0; k < n; k++) {
		l->weight[k] /= deviation[k];
		l->base -= l->weight[k] * mean[k];
	}
	free(mean);
	free(deviation);
	free(a);
	free(x);
	*fitted = l;
	return STATUS_OK;
}

static void predict(
    const void *fitted, const float *rows, int n, int width, float *out)
{
	const Linear *l = fitted;
	for (int i = 0; i < n; i++) {
		double sum = l->base;
		for (int k = 0; k < width; k++)
			sum += l->weight[k] * rows[i * width + k];
		out[i] = (float)sum;
	}
}

const ModelKind model_linear = {fit, predict, release};
