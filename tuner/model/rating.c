/* How good predictions were. */
#include <math.h>
#include <stdlib.h>

#include "lib/arena.h"
#include "lib/sort.h"
#include "tuner/model/model.h"

typedef struct {
	double value;
	int place;
} Ranked;

static int by_value(const void *a, const void *b)
{
	const Ranked *x = a, *y = b;
	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return x->place - y->place;
}

static Ranked *ranked(const double *values, int n)
{
	Ranked *r = must_alloc(sizeof *r * (size_t)n);
	for (int i = 0; i < n; i++)
		r[i] = (Ranked){values[i], i};
	sort(r, (size_t)n, sizeof *r, by_value);
	return r;
}

/* Ranks from 0; equal values share the mean of theirs. */
static void ranks_of(const double *values, int n, double *ranks)
{
	Ranked *r = ranked(values, n);
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

double rank_recall(const double *a, const double *b, int n, int k)
{
	if (n < 2 * k)
		return NAN;
	Ranked *x = ranked(a, n), *y = ranked(b, n);
	int found = 0;
	for (int i = n - k; i < n; i++)
		for (int j = n - k; j < n; j++)
			found += x[i].place == y[j].place;
	free(x);
	free(y);
	return (double)found / k;
}
