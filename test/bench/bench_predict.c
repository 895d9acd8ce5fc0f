/* Rows predicted a second on one core by 100 trees of depth 6 over rows of 144
 * features: what bounds the candidates that a search can score. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "lib/arena.h"
#include "lib/rng.h"
#include "schedule/schedule.h"
#include "tuner/model/kind.h"

enum { WIDTH = FEATURES, ROWS = 512, BATCH = 128, BATCHES = 1000 };

static double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(void)
{
	const char *build = getenv("BUILD");
	setenv("TUNEC_MODULES", build ? build : "build", 0);
	ModelSettings settings = model_defaults(WIDTH, 1);
	Model *model = model_new(&settings);
	float *rows = must_alloc(sizeof *rows * ROWS * WIDTH);
	Rng rng = rng_stream(1, 0, 0);
	for (int i = 0; i < ROWS * WIDTH; i++)
		rows[i] = (float)rng_double(&rng);
	for (int i = 0; i < ROWS; i++)
		model_add(model, 0, rows + i * WIDTH, 1,
		    1 + rows[i * WIDTH] + rng_double(&rng));
	Error error;
	double start = now_s();
	if (model_fit(model, &error)) {
		fprintf(stderr, "%s\n", error.text);
		return 1;
	}
	printf("trained on %d rows in %.3f s\n", ROWS, now_s() - start);
	float scores[BATCH], sum = 0;
	start = now_s();
	for (int i = 0; i < BATCHES; i++) {
		model_predict(
		    model, rows + (i % 4) * BATCH * WIDTH, NULL, BATCH, scores);
		sum += scores[i % BATCH];
	}
	double elapsed = now_s() - start;
	printf("%.0f rows/s predicted (check %g)\n", BATCH * BATCHES / elapsed,
	    (double)sum);
	free(rows);
	model_free(model);
	return 0;
}
