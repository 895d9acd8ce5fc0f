/* From scores to seconds: the times that grow least apart from those that were
 * measured while they fall as scores rise (isotonic regression of their logarithms,
 * by pooling adjacent violators; Ayer et al., 1955), linear between. */
#include <math.h>
#include <stdlib.h>

#include "lib/arena.h"
#include "lib/sort.h"
#include "tuner/model/kind.h"

typedef struct {
	double score, log_s;
	int n; /* that are pooled in it */
} Pool;

struct Calibration {
	int n;
	Pool pools[]; /* scores ascending, times not */
};

static int by_score(const void *a, const void *b)
{
	double x = ((const Pool *)a)->score, y = ((const Pool *)b)->score;
	return (x > y) - (x < y);
}

static Pool merged(Pool a, Pool b)
{
	int n = a.n + b.n;
	return (Pool){(a.score * a.n + b.score * b.n) / n,
	    (a.log_s * a.n + b.log_s * b.n) / n, n};
}

Calibration *calibration_new(const double *scores, const double *time_s, int n)
{
	Calibration *c = must_alloc(
	    sizeof *c + sizeof *c->pools * (size_t)(n > 0 ? n : 1));
	int finite = 0;
	c->n = 0;
	for (int i = 0; i < n; i++)
		if (isfinite(time_s[i]))
			c->pools[finite++] =
			    (Pool){scores[i], log(time_s[i]), 1};
	sort(c->pools, (size_t)finite, sizeof *c->pools, by_score);
	for (int i = 0; i < finite; i++) {
		Pool next = c->pools[i];
		while (c->n && (c->pools[c->n - 1].log_s <= next.log_s ||
				   c->pools[c->n - 1].score == next.score))
			next = merged(c->pools[--c->n], next);
		c->pools[c->n++] = next;
	}
	return c;
}

double calibration_seconds(const Calibration *c, double score)
{
	int i = 0;
	if (!c || !c->n)
		return NAN;
	while (i < c->n && c->pools[i].score < score)
		i++;
	if (!i || i == c->n)
		return exp(c->pools[i ? c->n - 1 : 0].log_s);
	const Pool *a = &c->pools[i - 1], *b = &c->pools[i];
	double t = (score - a->score) / (b->score - a->score);
	return exp(a->log_s + t * (b->log_s - a->log_s));
}
