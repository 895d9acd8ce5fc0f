/* The mean of the nearest rows that were measured, by the distance of standardized
 * features. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/arena.h"
#include "tuner/model/kind.h"

enum { NEAREST = 5 };

typedef struct {
	int n, width;
	float *rows;   /* n x width, each column divided by its deviation */
	float *scale;  /* 1/deviation; 0 of a constant column */
	float *labels; /* less the margin */
} Neighbours;

static void release(void *fitted)
{
	Neighbours *s = fitted;
	if (s) {
		free(s->rows);
		free(s->scale);
		free(s->labels);
	}
	free(s);
}

static float scale_of(const Training *t, int column)
{
	double sum = 0, squares = 0;
	for (int i = 0; i < t->n; i++)
		sum += t->rows[i * t->width + column];
	for (int i = 0; i < t->n; i++) {
		double x = t->rows[i * t->width + column] - sum / t->n;
		squares += x * x;
	}
	return squares > 0 ? (float)(1 / sqrt(squares / t->n)) : 0;
}

static Status fit(const Training *t, void **fitted, Error *error)
{
	Neighbours *s = must_alloc(sizeof *s);
	size_t n = (size_t)t->n, width = (size_t)t->width;
	(void)error;
	*s = (Neighbours){t->n, t->width,
	    must_alloc(sizeof *s->rows * n * width),
	    must_alloc(sizeof *s->scale * width),
	    must_alloc(sizeof *s->labels * n)};
	for (int k = 0; k < t->width; k++)
		s->scale[k] = scale_of(t, k);
	for (size_t i = 0; i < n * width; i++)
		s->rows[i] = t->rows[i] * s->scale[i % width];
	for (size_t i = 0; i < n; i++)
		s->labels[i] = t->labels[i] - (t->margin ? t->margin[i] : 0);
	*fitted = s;
	return STATUS_OK;
}

static float distance(const Neighbours *s, const float *row, int i)
{
	float sum = 0;
	const float *other = s->rows + (size_t)i * (size_t)s->width;
	for (int k = 0; k < s->width; k++) {
		float x = row[k] * s->scale[k] - other[k];
		sum += x * x;
	}
	return sum;
}

static float mean_of_nearest(const Neighbours *s, const float *row)
{
	float near[NEAREST], label[NEAREST], sum = 0;
	int n = 0;
	for (int i = 0; i < s->n; i++) {
		float d = distance(s, row, i);
		int at = n;
		while (at && near[at - 1] > d)
			at--;
		if (at == NEAREST)
			continue;
		n += n < NEAREST;
		for (int k = n - 1; k > at; k--) {
			near[k] = near[k - 1];
			label[k] = label[k - 1];
		}
		near[at] = d;
		label[at] = s->labels[i];
	}
	for (int k = 0; k < n; k++)
		sum += label[k] / (float)n;
	return sum;
}

static void predict(
    const void *fitted, const float *rows, int n, int width, float *out)
{
	for (int i = 0; i < n; i++)
		out[i] = mean_of_nearest(
		    fitted, rows + (size_t)i * (size_t)width);
}

const ModelKind model_neighbours = {fit, predict, release};
