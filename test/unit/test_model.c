/* Trees walked here equal XGBoost's own prediction; training is repeatable,
 * learns an order, and refuses what it cannot learn from. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/arena.h"
#include "lib/rng.h"
#include "tuner/model/kind.h"

enum { WIDTH = 192, ROWS = 300, MORE = 1003 };

static const XgboostModule *module(void)
{
	Error error;
	const XgboostModule *m = xgboost_module(&error);
	if (!m)
		fail_msg("%s", error.text);
	return m;
}

/* Rows of numbers of many sizes, zeros among them, and a smooth target. */
static float *make_rows(int n, uint64_t seed)
{
	float *rows = must_alloc(sizeof *rows * (size_t)n * WIDTH);
	Rng rng = rng_stream(seed, 0, 0);
	for (int i = 0; i < n * WIDTH; i++) {
		double x = rng_double(&rng);
		rows[i] = x < 0.2 ? 0 : (float)(log(x) * (i % 7 + 1));
	}
	return rows;
}

static double truth(const float *row)
{
	return 1 + fabs(row[3] - 0.2 * row[50]) + 0.3 * fabs(row[7]);
}

static Training training(
    const float *rows, int n, const float *labels, const unsigned *group)
{
	return (Training){.rows = rows,
	    .n = n,
	    .width = WIDTH,
	    .labels = labels,
	    .group = group,
	    .ngroups = 1,
	    .rounds = 40,
	    .depth = 6,
	    .bins = 32,
	    .eta = 0.3f,
	    .seed = 5};
}

static void check_equal(Objective objective, int depth)
{
	float *rows = make_rows(ROWS, 1), *more = make_rows(MORE, 2);
	float labels[ROWS], ours[MORE], theirs[MORE];
	unsigned group = ROWS;
	for (int i = 0; i < ROWS; i++)
		labels[i] = (float)(1 / truth(rows + i * WIDTH));
	Training t = training(rows, ROWS, labels, &group);
	t.objective = objective;
	t.depth = depth;
	Forest forest;
	void *booster;
	Error error;
	assert_int_equal(module()->train(&t, &forest, &booster, &error), 0);
	assert_int_equal(forest.ntrees, 40);
	assert_int_equal(
	    module()->predict(booster, more, MORE, WIDTH, theirs, &error), 0);
	forest_predict(&forest, more, MORE, WIDTH, ours);
	assert_memory_equal(ours, theirs, sizeof ours);
	forest_prepare(&forest);
	memset(ours, 0, sizeof ours);
	forest_predict(&forest, more, MORE, WIDTH, ours);
	assert_memory_equal(ours, theirs, sizeof ours);
	module()->release(booster);
	forest_free(&forest);
	free(rows);
	free(more);
}

static void test_equal(void **state)
{
	(void)state;
	check_equal(OBJECTIVE_REGRESSION, 6);
	check_equal(OBJECTIVE_RANK, 6);
	check_equal(OBJECTIVE_RANK, 1);
	check_equal(OBJECTIVE_REGRESSION, 12);
}

/* Columns in which all rows are alike, which XGBoost is not given: the same trees. */
static void test_constant_columns(void **state)
{
	(void)state;
	float *rows = make_rows(ROWS, 1), labels[ROWS];
	unsigned group = ROWS;
	Forest forest, theirs;
	void *booster;
	Error error;
	for (int i = 0; i < ROWS * WIDTH; i++)
		if (i % WIDTH % 3 != 1)
			rows[i] = (float)(i % WIDTH % 2);
	for (int i = 0; i < ROWS; i++)
		labels[i] = (float)(1 / truth(rows + i * WIDTH));
	Training t = training(rows, ROWS, labels, &group);
	assert_int_equal(module()->train(&t, &forest, NULL, &error), 0);
	assert_int_equal(module()->train(&t, &theirs, &booster, &error), 0);
	assert_int_equal(forest.nnodes, theirs.nnodes);
	assert_memory_equal(forest.nodes, theirs.nodes,
	    sizeof *forest.nodes * (size_t)forest.nnodes);
	module()->release(booster);
	forest_free(&forest);
	forest_free(&theirs);
	/* nothing differs */
	for (int i = 0; i < ROWS * WIDTH; i++)
		rows[i] = (float)(i % WIDTH);
	assert_int_equal(module()->train(&t, &forest, NULL, &error), 0);
	forest_free(&forest);
	free(rows);
}

static void fit_check(Model *model)
{
	Error error;
	if (model_fit(model, &error))
		fail_msg("%s", error.text);
}

/* What an analytic model might say: the truth, half of it hidden. */
static double guess(const float *row)
{
	return 1 + fabs(row[3] - 0.2 * row[50]);
}

static Model *learn_as(const ModelSettings *settings, int groups)
{
	Model *model = model_new(settings);
	float *rows = make_rows(ROWS, 3);
	for (int batch = 0; batch < 2; batch++) {
		for (int i = batch; i < ROWS; i += 2) {
			int group = i / 2 % groups;
			double time_s =
			    truth(rows + i * WIDTH) * (group ? 1000 : 1e-3);
			model_add(model, group, rows + i * WIDTH,
			    guess(rows + i * WIDTH),
			    i % 41 ? time_s : INFINITY);
		}
		assert_int_equal(model_fitted(model), batch);
		fit_check(model);
		assert_int_equal(isnan(model_rating(model).correlation), !batch);
	}
	free(rows);
	assert_int_equal(model_rows(model), ROWS);
	return model;
}

static Model *learn(Objective objective, int groups)
{
	ModelSettings settings = model_defaults(WIDTH, 7);
	settings.objective = objective;
	settings.rounds = 60;
	return learn_as(&settings, groups);
}

static double quality(const Model *model)
{
	float *rows = make_rows(MORE, 4), scores[MORE];
	double a[MORE], b[MORE], prior_s[MORE];
	for (int i = 0; i < MORE; i++)
		prior_s[i] = guess(rows + i * WIDTH);
	model_predict(model, rows, prior_s, MORE, scores);
	for (int i = 0; i < MORE; i++) {
		a[i] = scores[i];
		b[i] = -truth(rows + i * WIDTH);
	}
	free(rows);
	return rank_correlation(a, b, MORE);
}

static void test_learns(void **state)
{
	(void)state;
	for (int groups = 1; groups < 3; groups++)
		for (int o = 0; o < 2; o++) {
			Model *model = learn((Objective)o, groups);
			double r = quality(model);
			if (r < 0.6)
				fail_msg("objective %d: correlation %g", o, r);
			if (groups == 1)
				assert_true(model_rating(model).correlation > 0.3);
			model_free(model);
		}
}

static void test_repeatable(void **state)
{
	(void)state;
	float *rows = make_rows(MORE, 9), a[MORE], b[MORE];
	Model *one = learn(OBJECTIVE_RANK, 2), *two = learn(OBJECTIVE_RANK, 2);
	model_predict(one, rows, NULL, MORE, a);
	model_predict(two, rows, NULL, MORE, b);
	assert_memory_equal(a, b, sizeof a);
	model_free(one);
	model_free(two);
	free(rows);
}

/* Each kind learns something, and more by a prior. */
static void test_kinds(void **state)
{
	(void)state;
	for (const ModelName *m = model_names(); m->name; m++)
		for (int o = 0; o < 2; o++) {
			ModelSettings settings = model_defaults(WIDTH, 7);
			settings.kind = m->name;
			settings.objective = (Objective)o;
			Model *without = learn_as(&settings, 1);
			settings.prior = true;
			Model *with = learn_as(&settings, 1);
			double a = quality(without), b = quality(with);
			if (a < 0.2 || b < 0.8 || b < a)
				fail_msg("%s: %g, %g by a prior", m->name, a,
				    b);
			model_free(without);
			model_free(with);
		}
}

/* A prior that says nothing does no harm. */
static void test_useless_prior(void **state)
{
	(void)state;
	ModelSettings settings = model_defaults(WIDTH, 7);
	float *rows = make_rows(ROWS, 3), scores[ROWS];
	double prior_s[ROWS], a[ROWS], b[ROWS];
	Rng rng = rng_stream(3, 3, 3);
	settings.prior = true;
	Model *model = model_new(&settings);
	for (int i = 0; i < ROWS; i++) {
		prior_s[i] = exp(6 * rng_double(&rng));
		model_add(model, 0, rows + i * WIDTH, prior_s[i],
		    truth(rows + i * WIDTH));
	}
	fit_check(model);
	model_predict(model, rows, prior_s, ROWS, scores);
	for (int i = 0; i < ROWS; i++) {
		a[i] = scores[i];
		b[i] = -truth(rows + i * WIDTH);
	}
	assert_true(rank_correlation(a, b, ROWS) > 0.9);
	model_free(model);
	free(rows);
}

/* n rows of an operator from `first` on; honest false: with the time of another. */
static void tell(Model *model, int first, int n, bool honest)
{
	float *rows = make_rows(ROWS, 3);
	for (int i = first; i < first + n; i++) {
		const float *row = rows + i * WIDTH;
		const float *told = rows + (i * 37 + 11) % ROWS * WIDTH;
		model_add(
		    model, 0, row, guess(row), truth(honest ? row : told));
	}
	free(rows);
}

static Model *begun(const Model *global, int n)
{
	ModelSettings settings = model_defaults(WIDTH, 7);
	settings.global = global;
	Model *model = model_new(&settings);
	tell(model, 0, n, true);
	if (n)
		fit_check(model);
	return model;
}

/* What others taught is all there is at first; of a few rows it makes more than they
 * do alone, and where it is of no use it does not stand in the way. */
static void test_global(void **state)
{
	(void)state;
	ModelSettings settings = model_defaults(WIDTH, 7);
	double alone, helped, misled;
	settings.prior = true;
	Model *good = model_new(&settings), *bad = model_new(&settings);
	tell(good, 100, 200, true);
	tell(bad, 100, 200, false);
	fit_check(good);
	fit_check(bad);
	Model *first = begun(good, 0), *few = begun(NULL, 40);
	Model *both = begun(good, 40), *wrong = begun(bad, 40);
	assert_true(model_fitted(first));
	assert_true(quality(first) == quality(good));
	alone = quality(few);
	helped = quality(both);
	misled = quality(wrong);
	if (helped < alone + 0.05 || misled < alone - 0.1)
		fail_msg("%g, %g with what others taught, %g with nonsense",
		    alone, helped, misled);
	assert_true(helped >= quality(good) - 0.02);
	assert_true(isfinite(model_rating(both).correlation));
	model_free(first);
	model_free(few);
	model_free(both);
	model_free(wrong);
	model_free(good);
	model_free(bad);
}

static void check_damaged(const char *text, const char *expected)
{
	Error error;
	assert_null(model_read(text, "a.model", WIDTH, "cpu 1 192", &error));
	if (!strstr(error.text, expected))
		fail_msg("%s", error.text);
}

/* As a file it predicts the same bit for bit; a file that is cut anywhere, or of
 * something else, is refused. */
static void test_text(void **state)
{
	(void)state;
	ModelSettings settings = model_defaults(WIDTH, 7);
	Buf text = {0}, again = {0};
	Error error;
	settings.prior = true;
	settings.rounds = 8;
	settings.depth = 3;
	Model *model = model_new(&settings);
	tell(model, 0, ROWS, true);
	fit_check(model);
	model_write(&text, model, "cpu 1 192");
	Model *read =
	    model_read(buf_text(&text), "a.model", WIDTH, "cpu 1 192", &error);
	assert_non_null(read);
	assert_true(quality(read) == quality(model));
	model_write(&again, read, "cpu 1 192");
	assert_string_equal(buf_text(&text), buf_text(&again));
	check_damaged("", "not a model");
	check_damaged("tunec-model 2\nfeatures cpu 1 192\n", "format 2");
	check_damaged("tunec-model 1\nfeatures gpu 1 192\n", "gpu 1 192");
	check_damaged("tunec-model 1\nfeatures cpu 1 192\nprior 1\ntrees 1\n"
		      "192<1 =1 =2\n",
	    "damaged");
	check_damaged("tunec-model 1\nfeatures cpu 1 192\nprior 1\ntrees 1\n"
		      "1<nan =1 =2\n",
	    "damaged");
	for (size_t i = 0; i < text.size; i += 7) {
		char *cut = strndup(text.data, i);
		check_damaged(cut, "a.model");
		free(cut);
	}
	buf_free(&text);
	buf_free(&again);
	model_free(model);
	model_free(read);
}

static int best_of(const float *scores, int n)
{
	int best = 0;
	for (int i = 1; i < n; i++)
		if (scores[i] > scores[best])
			best = i;
	return best;
}

/* The three ways to choose by an ensemble choose differently. */
static void test_acquire(void **state)
{
	(void)state;
	float *rows = make_rows(MORE, 4), scores[3][MORE];
	for (int a = 0; a < 3; a++) {
		ModelSettings settings = model_defaults(WIDTH, 7);
		settings.acquire = (Acquire)a;
		settings.members = 4;
		settings.rounds = 30;
		Model *model = learn_as(&settings, 1);
		model_predict(model, rows, NULL, MORE, scores[a]);
		model_free(model);
	}
	for (int a = 0; a < 3; a++) {
		double x[MORE], y[MORE];
		for (int i = 0; i < MORE; i++) {
			x[i] = scores[a][i];
			y[i] = scores[(a + 1) % 3][i];
			assert_true(isfinite(x[i]));
		}
		double r = rank_correlation(x, y, MORE);
		assert_true(r < 0.999);
	}
	assert_int_not_equal(
	    best_of(scores[ACQUIRE_MEAN], MORE), best_of(scores[ACQUIRE_UCB], MORE));
	free(rows);
}

static void test_recall(void **state)
{
	(void)state;
	double a[] = {1, 2, 3, 4}, b[] = {4, 3, 2, 1}, c[] = {1, 9, 8, 2};
	assert_true(rank_recall(a, a, 4, 2) == 1);
	assert_true(rank_recall(a, b, 4, 2) == 0);
	assert_true(rank_recall(a, c, 4, 2) == 0.5);
	assert_true(isnan(rank_recall(a, b, 4, 3)));
}

static void test_one_row(void **state)
{
	(void)state;
	ModelSettings settings = model_defaults(WIDTH, 7);
	Model *model = model_new(&settings);
	float *rows = make_rows(1, 3), score;
	model_add(model, 0, rows, 1, 1);
	fit_check(model);
	model_predict(model, rows, NULL, 1, &score);
	assert_true(isfinite(score));
	model_free(model);
	free(rows);
}

static void test_refused(void **state)
{
	(void)state;
	float row[WIDTH] = {0}, label = 1;
	unsigned group = 1, none = 0;
	Forest forest;
	Error error;
	Training t = training(row, 1, &label, &none);
	assert_int_equal(
	    module()->train(&t, &forest, NULL, &error), STATUS_INPUT);
	t.group = &group;
	row[17] = NAN;
	assert_int_equal(
	    module()->train(&t, &forest, NULL, &error), STATUS_INPUT);
	assert_non_null(strstr(error.text, "feature 17 of row 0"));
	row[17] = 0;
	label = INFINITY;
	assert_int_equal(
	    module()->train(&t, &forest, NULL, &error), STATUS_INPUT);
	label = 1;
	t.bins = 1;
	assert_int_equal(
	    module()->train(&t, &forest, NULL, &error), STATUS_INPUT);
}

static void test_missing_module(void **state)
{
	(void)state;
	char *modules = strdup(getenv("TUNEC_MODULES"));
	Error error;
	setenv("TUNEC_MODULES", "/nowhere", 1);
	assert_null(xgboost_module(&error));
	assert_int_equal(error.status, STATUS_MISSING);
	assert_non_null(strstr(error.text, "/nowhere/tunec-xgboost.so"));
	setenv("TUNEC_MODULES", modules, 1);
	free(modules);
}

static void test_rank_correlation(void **state)
{
	(void)state;
	double a[] = {1, 2, 3, 4}, b[] = {10, 20, 30, 400};
	double c[] = {4, 3, 2, 1}, d[] = {5, 5, 5, 5}, e[] = {1, 2, 2, 3};
	assert_true(rank_correlation(a, b, 4) == 1);
	assert_true(rank_correlation(a, c, 4) == -1);
	assert_true(isnan(rank_correlation(a, d, 4)));
	assert_true(isnan(rank_correlation(a, b, 1)));
	assert_true(fabs(rank_correlation(a, e, 4) - 4.5 / sqrt(22.5)) < 1e-12);
}

/* Labels are of the best that there is at each training: what was the best is a
 * tenth as good when one of a tenth of its time was measured. */
static void test_labels_are_renewed(void **state)
{
	(void)state;
	for (const ModelName *name = model_names(); name->name; name++) {
		ModelSettings settings = model_defaults(WIDTH, 1);
		settings.kind = name->name;
		settings.objective = OBJECTIVE_REGRESSION;
		Model *m = model_new(&settings);
		float *rows = make_rows(ROWS, 1), before[10], after[10];
		Error error;
		for (int i = 0; i < ROWS; i++)
			model_add(m, 0, rows + i * WIDTH, 1, 1);
		assert_int_equal(model_fit(m, &error), STATUS_OK);
		model_predict(m, rows, NULL, 10, before);
		for (int i = 0; i < ROWS; i++)
			rows[i * WIDTH + 5] += 100;
		for (int i = 0; i < ROWS; i++)
			model_add(m, 0, rows + i * WIDTH, 1, 0.1);
		assert_int_equal(model_fit(m, &error), STATUS_OK);
		for (int i = 0; i < ROWS; i++)
			rows[i * WIDTH + 5] -= 100;
		model_predict(m, rows, NULL, 10, after);
		for (int i = 0; i < 10; i++) {
			assert_true(fabs(before[i] - 1) < 0.05);
			assert_true(after[i] < 0.5);
		}
		free(rows);
		model_free(m);
	}
}

int main(void)
{
	const char *build = getenv("BUILD");
	setenv("TUNEC_MODULES", build ? build : "build", 0);
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_equal),
	    cmocka_unit_test(test_constant_columns),
	    cmocka_unit_test(test_learns),
	    cmocka_unit_test(test_repeatable),
	    cmocka_unit_test(test_kinds),
	    cmocka_unit_test(test_useless_prior),
	    cmocka_unit_test(test_global),
	    cmocka_unit_test(test_text),
	    cmocka_unit_test(test_acquire),
	    cmocka_unit_test(test_recall),
	    cmocka_unit_test(test_one_row),
	    cmocka_unit_test(test_refused),
	    cmocka_unit_test(test_missing_module),
	    cmocka_unit_test(test_rank_correlation),
	    cmocka_unit_test(test_labels_are_renewed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
