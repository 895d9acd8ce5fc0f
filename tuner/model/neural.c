/* A network by stages: forward, backward, Adam (neural.h). */
#include "tuner/model/neural.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/arena.h"
#include "lib/rng.h"

enum { W = NEURAL_WIDTH, LANES = 4, ROWS = 4, VECTORS = 2 };
typedef float Lanes __attribute__((vector_size(4 * LANES)));

/* --- products -------------------------------------------------------------------- */

/* A matrix as it lies, or turned. */
typedef struct {
	const float *at;
	int down, along;
} Matrix;

/* `rows` rows, ROWS or 1, and a few columns of c += a b, each sum in the order of k;
 * the sums stay in registers. */
static inline __attribute__((always_inline)) void tile(
    int rows, int k, Matrix a, const float *b, float *c)
{
	Lanes sum[ROWS][VECTORS], right;
	for (int i = 0; i < rows * VECTORS; i++)
		memcpy(&sum[i / VECTORS][i % VECTORS],
		    c + i / VECTORS * W + i % VECTORS * LANES, sizeof right);
	for (int i = 0; i < k; i++)
#pragma GCC unroll 4
		for (int v = 0; v < VECTORS; v++) {
			memcpy(&right, b + i * W + v * LANES, sizeof right);
#pragma GCC unroll 4
			for (int r = 0; r < rows; r++)
				sum[r][v] +=
				    a.at[r * a.down + i * a.along] * right;
		}
	for (int i = 0; i < rows * VECTORS; i++)
		memcpy(c + i / VECTORS * W + i % VECTORS * LANES,
		    &sum[i / VECTORS][i % VECTORS], sizeof right);
}

/* c += a b: m x W, of m x k and k x W. */
static void product(int m, int k, Matrix a, const float *b, float *c)
{
	for (int i = 0; i < m; i += m - i < ROWS ? 1 : ROWS) {
		Matrix from = a;
		from.at += (size_t)i * (size_t)a.down;
		for (int j = 0; j < W; j += LANES * VECTORS)
			if (m - i < ROWS)
				tile(1, k, from, b + j, c + i * W + j);
			else
				tile(ROWS, k, from, b + j, c + i * W + j);
	}
}

/* --- weights --------------------------------------------------------------------- */

/* Where each layer's stand: a matrix, then what is added. */
typedef struct {
	float *first, *second, *third, *last;
} Layers;

static Layers layers_of(float *weights, int inputs)
{
	float *second = weights + (inputs + 1) * W;
	float *third = second + (W + 1) * W, *last = third + (W + 1) * W;
	return (Layers){weights, second, third, last};
}

int neural_size(int inputs)
{
	return (inputs + 1 + 2 * (W + 1) + 1) * W + 1;
}

/* Uniform, as He et al. want it; nothing is added. */
static void draw(float *weights, int inputs, uint64_t seed, uint64_t layer)
{
	Rng rng = rng_stream(seed, 2, layer);
	double most = sqrt(6.0 / inputs);
	for (int i = 0; i < inputs * W; i++)
		weights[i] = (float)(most * (2 * rng_double(&rng) - 1));
}

static float *zeros(size_t n)
{
	float *x = must_alloc(sizeof *x * n);
	return memset(x, 0, sizeof *x * n);
}

/* The last layer is 0: a score begins with what it is added to. */
Neural neural_new(int inputs, uint64_t seed)
{
	Neural net = {inputs, zeros((size_t)neural_size(inputs))};
	Layers l = layers_of(net.weights, inputs);
	draw(l.first, inputs, seed, 0);
	draw(l.second, W, seed, 1);
	draw(l.third, W, seed, 2);
	return net;
}

/* --- forward ---------------------------------------------------------------------- */

NeuralPass pass_new(int candidates, int stages)
{
	size_t rows = (size_t)candidates, all = (size_t)stages;
	return (NeuralPass){.first = zeros(all * W),
	    .second = zeros(all * W),
	    .sum = zeros(rows * W),
	    .third = zeros(rows * W),
	    .scores = zeros(rows)};
}

void pass_free(NeuralPass *pass)
{
	free(pass->first);
	free(pass->second);
	free(pass->sum);
	free(pass->third);
	free(pass->scores);
}

/* out = max(0, x w + what stands behind w). */
static void dense(int m, int k, const float *x, const float *w, float *out)
{
	for (int i = 0; i < m; i++)
		memcpy(out + i * W, w + k * W, sizeof *w * W);
	product(m, k, (Matrix){x, k, 1}, w, out);
	for (int i = 0; i < m * W; i++)
		out[i] = out[i] > 0 ? out[i] : 0;
}

void pass_forward(NeuralPass *p, const Neural *net, const Stages *s)
{
	Layers l = layers_of(net->weights, net->inputs);
	p->stages = s;
	dense(s->n, net->inputs, s->x, l.first, p->first);
	dense(s->n, W, p->first, l.second, p->second);
	memset(p->sum, 0, sizeof *p->sum * (size_t)s->candidates * W);
	for (int i = 0; i < s->n; i++)
		for (int j = 0; j < W; j++)
			p->sum[s->owner[i] * W + j] += p->second[i * W + j];
	dense(s->candidates, W, p->sum, l.third, p->third);
	for (int i = 0; i < s->candidates; i++) {
		p->scores[i] = l.last[W];
		for (int j = 0; j < W; j++)
			p->scores[i] += l.last[j] * p->third[i * W + j];
	}
}

/* --- backward --------------------------------------------------------------------- */

/* From the pull on a layer's results, which are its own from then on, to its
 * weights and, where it is asked for, to what went into it. */
static void dense_back(int m, int k, const float *x, const float *w,
    const float *out, float *pull, float *gradient, float *into)
{
	for (int i = 0; i < m * W; i++)
		pull[i] = out[i] > 0 ? pull[i] : 0;
	product(k, m, (Matrix){x, 1, k}, pull, gradient);
	for (int i = 0; i < m; i++)
		for (int j = 0; j < W; j++)
			gradient[k * W + j] += pull[i * W + j];
	if (!into)
		return;
	float turned[W * W];
	for (int i = 0; i < W; i++)
		for (int j = 0; j < W; j++)
			turned[j * W + i] = w[i * W + j];
	memset(into, 0, sizeof *into * (size_t)m * W);
	product(m, W, (Matrix){pull, W, 1}, turned, into);
}

void pass_backward(const NeuralPass *p, const Neural *net, const float *pull,
    float *gradient)
{
	Layers l = layers_of(net->weights, net->inputs);
	Layers g = layers_of(gradient, net->inputs);
	const Stages *s = p->stages;
	int n = s->candidates, all = s->n;
	float *third = zeros((size_t)n * W), *sum = zeros((size_t)n * W);
	float *second = zeros((size_t)all * W), *first = zeros((size_t)all * W);
	for (int i = 0; i < n; i++) {
		g.last[W] += pull[i];
		for (int j = 0; j < W; j++) {
			g.last[j] += pull[i] * p->third[i * W + j];
			third[i * W + j] = pull[i] * l.last[j];
		}
	}
	dense_back(n, W, p->sum, l.third, p->third, third, g.third, sum);
	for (int i = 0; i < all; i++)
		for (int j = 0; j < W; j++)
			second[i * W + j] = sum[s->owner[i] * W + j];
	dense_back(
	    all, W, p->first, l.second, p->second, second, g.second, first);
	dense_back(all, net->inputs, s->x, l.first, p->first, first, g.first,
	    NULL);
	free(third);
	free(sum);
	free(second);
	free(first);
}

/* --- Adam -------------------------------------------------------------------------- */

static const float FIRST = 0.9f, SECOND = 0.99f, LITTLE = 1e-8f;

Adam adam_new(int n)
{
	return (Adam){n, 0, zeros((size_t)n), zeros((size_t)n)};
}

void adam_free(Adam *adam)
{
	free(adam->first);
	free(adam->second);
}

void adam_step(
    Adam *a, const float *gradient, float rate, float decay, float *weights)
{
	a->step++;
	float first = 1 - powf(FIRST, (float)a->step);
	float second = 1 - powf(SECOND, (float)a->step);
	for (int i = 0; i < a->n; i++) {
		float g = gradient[i];
		a->first[i] = FIRST * a->first[i] + (1 - FIRST) * g;
		a->second[i] = SECOND * a->second[i] + (1 - SECOND) * g * g;
		weights[i] -= rate *
		    (a->first[i] / first /
			    (sqrtf(a->second[i] / second) + LITTLE) +
			decay * weights[i]);
	}
}
