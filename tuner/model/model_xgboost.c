/* Boosted trees: XGBoost trains them, they are walked here. */
#include <stdlib.h>

#include "lib/arena.h"
#include "tuner/model/kind.h"

static void release(void *fitted)
{
	if (fitted)
		forest_free(fitted);
	free(fitted);
}

static Status fit(const Training *training, void **fitted, Error *error)
{
	const XgboostModule *xgboost = xgboost_module(error);
	if (!xgboost)
		return error->status;
	Forest *forest = must_alloc(sizeof *forest);
	Status status = xgboost->train(training, forest, NULL, error);
	if (status) {
		free(forest);
		return status;
	}
	forest_prepare(forest);
	*fitted = forest;
	return STATUS_OK;
}

static void predict(
    const void *fitted, const float *rows, int n, int width, float *out)
{
	forest_predict(fitted, rows, n, width, out);
}

const ModelKind model_xgboost = {fit, predict, release};
