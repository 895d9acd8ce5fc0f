/* What runs come to.  A run is a curve: by trial the share of the best that there
 * is which the best so far has. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test/lab/lab.h"

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

double lab_quantile(const double *values, int n, double q)
{
	double *sorted = must_alloc(sizeof *sorted * (size_t)n);
	memcpy(sorted, values, sizeof *sorted * (size_t)n);
	qsort(sorted, (size_t)n, sizeof *sorted, by_size);
	double at = q * (n - 1);
	int low = (int)at, high = low + 1 < n ? low + 1 : low;
	double value =
	    sorted[low] + (at - low) * (sorted[high] - sorted[low]);
	free(sorted);
	return value;
}

double lab_geometric_mean(const double *values, int n)
{
	double sum = 0;
	for (int i = 0; i < n; i++)
		sum += log(values[i]) / n;
	return exp(sum);
}

int lab_trials_to(const float *curve, int n, double share)
{
	for (int i = 0; i < n; i++)
		if (curve[i] >= share)
			return i + 1;
	return n + 1;
}

/* The mean time of the best so far, in units of the best there is; what failed
 * until then counts as ten. */
static double mean_time(const float *curve, int n)
{
	double sum = 0;
	for (int i = 0; i < n; i++)
		sum += (curve[i] > 0.1f ? 1 / (double)curve[i] : 10) / n;
	return sum;
}

double lab_score(const float *const *curves, const float *const *random,
    int seeds, int n)
{
	double own = 0, base = 0;
	for (int i = 0; i < seeds; i++) {
		own += mean_time(curves[i], n) / seeds;
		base += mean_time(random[i], n) / seeds;
	}
	return base > 1 ? (base - own) / (base - 1) : 0;
}
