/* The reader of cost models in files: it gives an error with a reason, or a model
 * that is written as what reads back the same, and has a score for any row. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "test/fuzz/fuzz.h"
#include "tuner/model/model.h"

const char fuzz_name[] = "model";
const char *const fuzz_seeds[] = {NULL};
const int fuzz_rounds = 20000;

enum { WIDTH = 8, ROWS = 40 };

static void try_rows(const Model *model)
{
	static const float values[] = {0, 1, -1, 1e-30f, 40, FLT_MAX, -FLT_MAX};
	float rows[ROWS * WIDTH], scores[ROWS];
	double prior_s[ROWS];
	for (int i = 0; i < ROWS * WIDTH; i++)
		rows[i] = values[i * 5 % 7];
	for (int i = 0; i < ROWS; i++)
		prior_s[i] = ldexp(1, -i);
	fuzz_require(model_fitted(model), "it is not fitted");
	model_predict(model, rows, prior_s, ROWS, scores);
	for (int i = 0; i < ROWS; i++)
		fuzz_require(isfinite(scores[i]), "row %d has no score", i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	Error error = {0};
	Model *model = model_read(text, "a.model", WIDTH, "cpu 1 8", &error);
	fuzz_require(model || error.text[0], "refused without a reason");
	if (model) {
		Buf first = {0}, second = {0};
		try_rows(model);
		model_write(&first, model, "cpu 1 8");
		Model *again = model_read(
		    buf_text(&first), "a.model", WIDTH, "cpu 1 8", &error);
		fuzz_require(
		    again, "what was written is refused: %s", error.text);
		model_write(&second, again, "cpu 1 8");
		fuzz_require(!strcmp(buf_text(&first), buf_text(&second)),
		    "it is written otherwise");
		buf_free(&first);
		buf_free(&second);
		model_free(again);
		model_free(model);
	}
	free(text);
	return 0;
}
