/* tunec-xgboost.so: trains boosted trees with XGBoost 1.7 and hands them out as
 * flat arrays.  One thread and the histogram method: the same rows, seed and
 * version give the same trees.
 *
 * Trees come from the saved model, whose numbers read back exactly.  A column that is
 * the same in all rows splits none of them, and takes as long as others: XGBoost does
 * not get it, unless its own model is asked for. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xgboost/c_api.h>

#include <jansson.h>

#include "lib/arena.h"
#include "tuner/model/kind.h"

static Status failed(const char *what, Error *error)
{
	const char *why = XGBGetLastError();
	size_t n = strcspn(why, "\n");
	return error_set(
	    error, STATUS_CRASH, "XGBoost cannot %s: %.*s", what, (int)n, why);
}

/* --- settings ------------------------------------------------------------ */

static int set(BoosterHandle booster, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int set(BoosterHandle booster, const char *name, const char *format, ...)
{
	char value[64];
	va_list args;
	va_start(args, format);
	vsnprintf(value, sizeof value, format, args);
	va_end(args);
	return XGBoosterSetParam(booster, name, value);
}

/* Sampled for each row and round: XGBoost's one pair is too noisy for a few
 * hundred rows, and more cost next to nothing beside growing the trees. */
enum { PAIRS = 16 };

static int set_all(BoosterHandle b, const Training *t)
{
	return set(b, "verbosity", "0") || set(b, "nthread", "1") ||
	       set(b, "num_pairsample", "%d", PAIRS) ||
	       set(b, "tree_method", "hist") ||
	       set(b, "max_bin", "%d", t->bins) ||
	       set(b, "max_depth", "%d", t->depth) ||
	       set(b, "eta", "%.9g", t->eta) || set(b, "base_score", "0") ||
	       set(b, "disable_default_eval_metric", "1") ||
	       set(b, "seed", "%d", (int)(t->seed & 0x7fffffff)) ||
	       set(b, "objective",
		   t->objective == OBJECTIVE_RANK ? "rank:pairwise"
						  : "reg:squarederror");
}

/* --- columns -------------------------------------------------------------- */

/* Those that are learnt from. */
typedef struct {
	int n;
	int *of;     /* the rows' columns, ascending */
	float *rows; /* so wide */
} Columns;

static bool differs(const Training *t, int column)
{
	size_t width = (size_t)t->width, n = (size_t)t->n;
	for (size_t i = 1; i < n; i++)
		if (t->rows[i * width + (size_t)column] != t->rows[column])
			return true;
	return false;
}

static Columns columns_new(const Training *t, bool all)
{
	size_t width = (size_t)t->width, n = (size_t)t->n;
	Columns c = {0, must_alloc(sizeof *c.of * width), NULL};
	for (int k = 0; k < t->width; k++)
		if (all || differs(t, k))
			c.of[c.n++] = k;
	if (!c.n)
		c.of[c.n++] = 0; /* nothing can be told from it */
	float *to = c.rows = must_alloc(sizeof *to * n * (size_t)c.n);
	for (size_t i = 0; i < n; i++)
		for (int k = 0; k < c.n; k++)
			*to++ = t->rows[i * width + (size_t)c.of[k]];
	return c;
}

static void columns_free(Columns *c)
{
	free(c->of);
	free(c->rows);
}

/* --- from the saved model to arrays -------------------------------------- */

static const json_t *at_path(const json_t *json, const char *const *keys)
{
	for (; *keys; keys++)
		json = json_object_get(json, *keys);
	return json;
}

static double number_at(const json_t *tree, const char *key, size_t i)
{
	return json_number_value(json_array_get(json_object_get(tree, key), i));
}

/* A node that the tree no longer uses stays in the arrays and is not reached.
 */
static bool copy_tree(const json_t *tree, const Columns *columns,
    TreeNode *nodes, int first, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int left = (int)number_at(tree, "left_children", i);
		int right = (int)number_at(tree, "right_children", i);
		float split = (float)number_at(tree, "split_conditions", i);
		TreeNode *node = &nodes[i];
		*node = (TreeNode){.feature = -1, .value = split};
		if (left < 0)
			continue;
		if ((size_t)left >= n || right < 0 || (size_t)right >= n ||
		    left <= (int)i || right <= (int)i)
			return false;
		int split_by = (int)number_at(tree, "split_indices", i);
		if (split_by < 0 || split_by >= columns->n)
			return false;
		node->feature = columns->of[split_by];
		node->threshold = split;
		node->left = first + left;
		node->right = first + right;
		node->value = 0;
	}
	return true;
}

static bool copy_trees(
    const json_t *model, const Columns *columns, Forest *forest)
{
	static const char *const path[] = {
	    "learner", "gradient_booster", "model", "trees", NULL};
	const json_t *trees = at_path(model, path);
	size_t ntrees = json_array_size(trees);
	forest->root = must_alloc(sizeof *forest->root * ntrees);
	for (size_t i = 0; i < ntrees; i++) {
		const json_t *tree = json_array_get(trees, i);
		size_t n =
		    json_array_size(json_object_get(tree, "left_children"));
		int first = forest->nnodes;
		forest->root[i] = first;
		forest->nnodes += (int)n;
		forest->nodes = must_realloc(forest->nodes,
		    sizeof *forest->nodes * (size_t)forest->nnodes);
		if (!n ||
		    !copy_tree(tree, columns, forest->nodes + first, first, n))
			return false;
	}
	forest->ntrees = (int)ntrees;
	return ntrees > 0;
}

static Status dump(
    BoosterHandle booster, const Columns *columns, Forest *forest, Error *error)
{
	bst_ulong size;
	const char *text;
	json_error_t why;
	if (XGBoosterSaveModelToBuffer(
		booster, "{\"format\":\"json\"}", &size, &text))
		return failed("save a model", error);
	json_t *model = json_loadb(text, size, 0, &why);
	bool good = model && copy_trees(model, columns, forest);
	json_decref(model);
	if (good)
		return STATUS_OK;
	forest_free(forest);
	return error_set(error, STATUS_UNSUPPORTED,
	    "this version of XGBoost saves its trees in another form");
}

/* --- training ------------------------------------------------------------ */

static Status check(const Training *t, Error *error)
{
	int64_t rows = 0;
	for (int i = 0; i < t->ngroups; i++)
		rows += t->group[i];
	if (t->n < 1 || t->width < 1 || rows != t->n)
		return error_set(error, STATUS_INPUT,
		    "nothing to learn from, or groups that do not add up");
	if (t->rounds < 1 || t->depth < 1 || t->bins < 2)
		return error_set(error, STATUS_INPUT,
		    "a model needs rounds, a depth and two bins");
	for (int64_t i = 0; i < (int64_t)t->n * t->width; i++)
		if (!isfinite(t->rows[i]))
			return error_set(error, STATUS_INPUT,
			    "feature %d of row %d is not finite",
			    (int)(i % t->width), (int)(i / t->width));
	for (int i = 0; i < t->n; i++)
		if (!isfinite(t->labels[i]) ||
		    (t->margin && !isfinite(t->margin[i])))
			return error_set(error, STATUS_INPUT,
			    "the label of row %d is not finite", i);
	return STATUS_OK;
}

static Status matrix(
    const Training *t, const Columns *columns, DMatrixHandle *out, Error *error)
{
	bst_ulong n = (bst_ulong)t->n;
	if (XGDMatrixCreateFromMat_omp(
		columns->rows, n, (bst_ulong)columns->n, NAN, out, 1))
		return failed("take the rows", error);
	if (XGDMatrixSetFloatInfo(*out, "label", t->labels, n) ||
	    (t->objective == OBJECTIVE_RANK &&
		XGDMatrixSetUIntInfo(
		    *out, "group", t->group, (bst_ulong)t->ngroups)))
		return failed("take the labels", error);
	if (t->margin &&
	    XGDMatrixSetFloatInfo(*out, "base_margin", t->margin, n))
		return failed("take the margin", error);
	return STATUS_OK;
}

static Status boost(
    BoosterHandle b, DMatrixHandle m, const Training *t, Error *error)
{
	if (set_all(b, t))
		return failed("take the settings", error);
	for (int i = 0; i < t->rounds; i++)
		if (XGBoosterUpdateOneIter(b, i, m))
			return failed("train", error);
	return STATUS_OK;
}

static void release(void *booster)
{
	if (booster)
		XGBoosterFree(booster);
}

static Status train(
    const Training *t, Forest *forest, void **booster, Error *error)
{
	*forest = (Forest){0};
	FORWARD_IF_ERROR(check(t, error));
	DMatrixHandle m = NULL;
	BoosterHandle b = NULL;
	Columns columns = columns_new(t, booster != NULL);
	Status status = matrix(t, &columns, &m, error);
	if (!status && XGBoosterCreate(&m, 1, &b))
		status = failed("start", error);
	if (!status)
		status = boost(b, m, t, error);
	if (!status)
		status = dump(b, &columns, forest, error);
	columns_free(&columns);
	if (m)
		XGDMatrixFree(m);
	if (!status && booster)
		*booster = b;
	else
		release(b);
	return status;
}

static Status predict(void *booster, const float *rows, int n, int width,
    float *out, Error *error)
{
	static const char config[] =
	    "{\"type\":1,\"training\":false,\"iteration_begin\":0,"
	    "\"iteration_end\":0,\"strict_shape\":false}";
	DMatrixHandle m;
	if (XGDMatrixCreateFromMat_omp(
		rows, (bst_ulong)n, (bst_ulong)width, NAN, &m, 1))
		return failed("take the rows", error);
	const bst_ulong *shape;
	bst_ulong dimensions;
	const float *result;
	Status status = STATUS_OK;
	if (XGBoosterPredictFromDMatrix(
		booster, m, config, &shape, &dimensions, &result))
		status = failed("predict", error);
	else
		memcpy(out, result, sizeof *out * (size_t)n);
	XGDMatrixFree(m);
	return status;
}

const XgboostModule tunec_xgboost = {
    .version = XGBOOST_MODULE_VERSION,
    .train = train,
    .predict = predict,
    .release = release,
};
