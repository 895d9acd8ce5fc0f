/* The budgets of a run of several operators: totals, shared so that all end as
 * their weights are, or as near to it as may be. */
#include <math.h>

#include "cmd/tune_verb.h"

/* What the first of n operators gets of what is left, so that they end as equal
 * as may be for their weights: all that have less are brought to one level. */
static double share(
    const double *have, const double *weight, int n, double left)
{
	double level = INFINITY;
	for (;;) {
		double sum = left, weights = 0;
		for (int i = 0; i < n; i++)
			if (have[i] < level * weight[i]) {
				sum += have[i];
				weights += weight[i];
			}
		if (!(weights > 0) || sum / weights >= level)
			return fmax(level * weight[0] - have[0], 0);
		level = sum / weights;
	}
}

static void budget_open(Arena *arena, TuneBudget *b, int n, double total)
{
	b->have = NEW_N(arena, double, n);
	b->left = total;
}

/* Operators that are there under another name have INFINITY. */
void tune_budgets_open(Arena *arena, TuneBudgets *b, Tuning *const *tunings,
    const double *weight, int n, const TuneOptions *o)
{
	b->weight = weight;
	budget_open(arena, &b->trials, n,
	    o->trials < 0 ? INFINITY : (double)o->trials);
	budget_open(arena, &b->time, n,
	    o->time_s >= 0 ? o->time_s : INFINITY);
	for (int i = 0; i < n; i++) {
		b->trials.have[i] = b->time.have[i] =
		    tunings[i] ? 0 : INFINITY;
		if (tunings[i])
			tune_budgets_take(b, i, tunings[i]);
	}
}

void tune_budgets_take(TuneBudgets *b, int i, const Tuning *t)
{
	double trials = (double)tune_trials(t), time_s = tune_spent_s(t);
	b->trials.left -= trials - b->trials.have[i];
	b->time.left -= time_s - b->time.have[i];
	b->trials.have[i] = trials;
	b->time.have[i] = time_s;
}

/* Less than a millisecond is nothing. */
bool tune_budgets_spent(const TuneBudgets *b)
{
	return b->trials.left <= 0 || b->time.left < 1e-3;
}

void tune_budgets_rest(const TuneBudgets *b, int i, double kept_trials,
    double kept_s, int64_t *trials, double *time_s)
{
	*trials = -1;
	*time_s = -1;
	if (!isinf(b->trials.left))
		*trials = (int64_t)(b->trials.have[i] +
		    fmax(b->trials.left - kept_trials, 0));
	if (!isinf(b->time.left))
		*time_s = b->time.have[i] + fmax(b->time.left - kept_s, 0);
}

void tune_budgets_share(
    const TuneBudgets *b, int i, int n, int64_t *trials, double *time_s)
{
	*trials = -1;
	*time_s = -1;
	if (tune_budgets_spent(b))
		*trials = 0;
	else if (!isinf(b->trials.left))
		*trials = (int64_t)(b->trials.have[i] +
		    share(b->trials.have + i, b->weight + i, n - i,
			b->trials.left));
	if (!tune_budgets_spent(b) && !isinf(b->time.left))
		*time_s = b->time.have[i] +
		    share(b->time.have + i, b->weight + i, n - i, b->time.left);
}
