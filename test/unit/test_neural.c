/* A network's gradients are those of finite differences, a seed gives fixed bits
 * however rows come in blocks, it orders what a linear model cannot, and refuses
 * what it cannot learn from. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/arena.h"
#include "lib/rng.h"
#include "tuner/model/kind.h"
#include "tuner/model/neural.h"

enum { INPUTS = 5, STAGES = 11, N = 7, ROWS = 200, MORE = 301, WIDTH = 12 };

static void draw(float *x, int n, uint64_t seed)
{
	Rng rng = rng_stream(seed, 0, 0);
	for (int i = 0; i < n; i++)
		x[i] = (float)(2 * rng_double(&rng) - 1);
}

/* The sum of pull * score. */
static double pulled(NeuralPass *pass, const Neural *net, const Stages *stages,
    const float *pull)
{
	double sum = 0;
	pass_forward(pass, net, stages);
	for (int i = 0; i < N; i++)
		sum += (double)pull[i] * pass->scores[i];
	return sum;
}

static void test_gradient(void **state)
{
	(void)state;
	Neural net = neural_new(INPUTS, 1);
	NeuralPass pass = pass_new(N, STAGES);
	int size = neural_size(INPUTS);
	float *gradient = must_alloc(sizeof(float) * (size_t)size);
	float x[STAGES * INPUTS], pull[N];
	int owner[STAGES] = {0, 0, 0, 1, 3, 3, 4, 5, 5, 5, 6};
	Stages stages = {N, STAGES, x, owner};
	const float step = 1e-3f;
	memset(gradient, 0, sizeof(float) * (size_t)size);
	draw(net.weights, size, 2);
	for (int i = 0; i < size; i++)
		net.weights[i] *= 0.3f;
	draw(x, STAGES * INPUTS, 3);
	draw(pull, N, 4);
	pulled(&pass, &net, &stages, pull);
	pass_backward(&pass, &net, pull, gradient);
	int far = 0;
	for (int i = 0; i < size; i++) {
		float before = net.weights[i];
		net.weights[i] = before + step;
		double more = pulled(&pass, &net, &stages, pull);
		net.weights[i] = before - step;
		double less = pulled(&pass, &net, &stages, pull);
		net.weights[i] = before;
		double slope = (more - less) / (2 * (double)step);
		far += fabs(slope - gradient[i]) > 1e-2 * (fabs(slope) + 0.1);
	}
	/* but for the few where a unit sets in between */
	if (far > size / 50)
		fail_msg("%d of %d gradients differ", far, size);
	free(gradient);
	free(net.weights);
	pass_free(&pass);
}

/* --- learnt from rows --------------------------------------------------------- */

/* Three stages of four columns, of which each has the first two or none. */
static float *make_rows(int n, uint64_t seed)
{
	float *rows = must_alloc(sizeof *rows * (size_t)n * WIDTH);
	draw(rows, n * WIDTH, seed);
	for (int i = 0; i < n; i++)
		memset(rows + i * WIDTH + 4 * (1 + i % 3), 0,
		    sizeof *rows * (size_t)(4 * (2 - i % 3)));
	return rows;
}

/* Of each stage what no sum of columns tells. */
static double truth(const float *row)
{
	double sum = 0;
	for (int k = 0; k < WIDTH; k += 4)
		sum += row[k] * row[k + 1];
	return sum;
}

static void *learn(const ModelKind *kind, Objective objective, uint64_t seed)
{
	float *rows = make_rows(ROWS, 5), labels[ROWS];
	unsigned groups[] = {ROWS / 2, ROWS - ROWS / 2};
	void *fitted;
	Error error;
	for (int i = 0; i < ROWS; i++)
		labels[i] = (float)truth(rows + i * WIDTH);
	Training t = {.rows = rows,
	    .n = ROWS,
	    .width = WIDTH,
	    .stage_width = 4,
	    .labels = labels,
	    .group = groups,
	    .ngroups = 2,
	    .objective = objective,
	    .seed = seed};
	assert_int_equal(kind->fit(&t, &fitted, &error), STATUS_OK);
	free(rows);
	return fitted;
}

static double quality(const ModelKind *kind, Objective objective)
{
	void *fitted = learn(kind, objective, 1);
	float *rows = make_rows(MORE, 6), scores[MORE];
	double a[MORE], b[MORE];
	kind->predict(fitted, rows, MORE, WIDTH, scores);
	for (int i = 0; i < MORE; i++) {
		a[i] = scores[i];
		b[i] = truth(rows + i * WIDTH);
	}
	free(rows);
	kind->free(fitted);
	return rank_correlation(a, b, MORE);
}

static void test_orders(void **state)
{
	(void)state;
	double linear = quality(&model_linear, OBJECTIVE_REGRESSION);
	double rank = quality(&model_neural, OBJECTIVE_RANK);
	double square = quality(&model_neural, OBJECTIVE_REGRESSION);
	if (linear > 0.3 || rank < 0.8 || square < 0.8)
		fail_msg("linear %g, by rank %g, by regression %g", linear,
		    rank, square);
}

/* The same bits of the same seed, others of another; in blocks as one by one. */
static void test_bits(void **state)
{
	(void)state;
	const ModelKind *kind = &model_neural;
	float *rows = make_rows(MORE, 7), a[MORE], b[MORE];
	void *one = learn(kind, OBJECTIVE_RANK, 1);
	void *two = learn(kind, OBJECTIVE_RANK, 1);
	void *other = learn(kind, OBJECTIVE_RANK, 2);
	kind->predict(one, rows, MORE, WIDTH, a);
	kind->predict(two, rows, MORE, WIDTH, b);
	assert_memory_equal(a, b, sizeof a);
	for (int i = 0; i < MORE; i++)
		kind->predict(two, rows + i * WIDTH, 1, WIDTH, b + i);
	assert_memory_equal(a, b, sizeof a);
	kind->predict(other, rows, MORE, WIDTH, b);
	assert_memory_not_equal(a, b, sizeof a);
	kind->free(one);
	kind->free(two);
	kind->free(other);
	free(rows);
}

static void refuse(const Training *t, const char *why)
{
	void *fitted;
	Error error;
	assert_int_equal(model_neural.fit(t, &fitted, &error), STATUS_INPUT);
	if (!strstr(error.text, why))
		fail_msg("%s", error.text);
}

static void test_refused(void **state)
{
	(void)state;
	float row[WIDTH] = {0}, label = 1, margin = 0;
	unsigned group = 1, none = 0;
	Training t = {.rows = row,
	    .n = 1,
	    .width = WIDTH,
	    .labels = &label,
	    .margin = &margin,
	    .group = &none,
	    .ngroups = 1};
	refuse(&t, "groups that do not add up");
	t.group = &group;
	t.stage_width = 5;
	refuse(&t, "stages of 5");
	t.stage_width = 4;
	row[7] = NAN;
	refuse(&t, "feature 7 of row 0");
	row[7] = 0;
	margin = INFINITY;
	refuse(&t, "label of row 0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_gradient),
	    cmocka_unit_test(test_orders),
	    cmocka_unit_test(test_bits),
	    cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
