/* What kinds of cost models are made of; others see model.h. */
#ifndef TUNER_MODEL_KIND_H
#define TUNER_MODEL_KIND_H

#include "tuner/model/model.h"

/* What to learn from. */
typedef struct {
	const float *rows;    /* n x width, no NaN */
	int n, width;
	const float *labels;  /* larger is better */
	const float *margin;  /* what a prediction begins with; NULL: 0 */
	const unsigned *group; /* sizes of consecutive query groups */
	int ngroups;
	Objective objective;
	int rounds, depth, bins;
	float eta;
	uint64_t seed;
} Training;

/* `fitted` is the kind's; predictions are without the margin. */
typedef struct {
	Status (*fit)(const Training *training, void **fitted, Error *error);
	void (*predict)(const void *fitted, const float *rows, int n, int width,
	    float *out);
	void (*free)(void *fitted);
} ModelKind;

#define MODEL(name, ranks, help) extern const ModelKind model_##name;
#include "tuner/model/models.def"
#undef MODEL

/* calibration.c: what scores of rows that took so long mean in seconds; failures do
 * not count. */
typedef struct Calibration Calibration;
Calibration *calibration_new(
    const double *scores, const double *time_s, int n); /* free() frees it */
double calibration_seconds(const Calibration *c, double score); /* NaN: none */

/* --- trees ----------------------------------------------------------------- */

/* Boosted trees as one array of nodes, children behind their parents. */
typedef struct {
	int feature;      /* -1: leaf */
	float threshold;  /* go left where x[feature] < threshold */
	int left, right;  /* nodes; leaf: unused */
	float value;      /* leaf */
} TreeNode;
typedef struct {
	int ntrees;
	int *root;        /* first node of each tree */
	int nnodes;
	TreeNode *nodes;  /* malloc'd, as root */
	float base;       /* added to the sum of leaves */
	struct ForestWalk *walk; /* by forest_prepare; NULL before */
} Forest;

/* forest.c: what the search walks, many rows at a time.  Sums in the order of
 * the trees, so it equals XGBoost's own prediction bit for bit. */
void forest_prepare(Forest *forest);
void forest_predict(
    const Forest *forest, const float *rows, int n, int width, float *out);
void forest_free(Forest *forest); /* also of a zeroed one */

/* model.c: the trees of a fitted model, and the slope of its prior; NULL: it has
 * none.  And back, which takes them. */
const Forest *model_forest(const Model *model, double *slope);
Model *model_of_forest(Forest *forest, int width, double slope);

/* What tunec-xgboost.so exports as `tunec_xgboost`.  One booster is trained
 * from nothing and dumped as flat trees. */
enum { XGBOOST_MODULE_VERSION = 2 };
typedef struct {
	int version;
	/* `booster` (may be NULL) gets XGBoost's own model, for predict. */
	Status (*train)(const Training *training, Forest *forest, void **booster,
	    Error *error);
	/* XGBoost's own prediction, for tests; without a margin. */
	Status (*predict)(void *booster, const float *rows, int n, int width,
	    float *out, Error *error);
	void (*release)(void *booster);
} XgboostModule;

/* xgboost.c: the module beside the program (or in ../lib/tunec/ of an installed
 * one; TUNEC_MODULES names another folder); NULL and what is missing. */
const XgboostModule *xgboost_module(Error *error);

#endif
