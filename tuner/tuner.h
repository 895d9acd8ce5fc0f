/* The face of tuner/: records, stores, measuring, learning, searching.
 *
 *     record.c          a trial or mark as one JSON line, and back
 *     store*.c          where lines are kept: SQLite, JSONL, layers
 *     measure*.c        compile, check and time candidates in disposable
 *                       processes; simulate and replay in their stead
 *     model*.c          cost models: XGBoost in a module, trees walked here
 *     search_*.c        annealing, random
 *     tune.c            the loop: search, measure, learn, store */
#ifndef TUNER_TUNER_H
#define TUNER_TUNER_H

#include <jansson.h>

#include "codegen/codegen.h"
#include "ir/ir.h"
#include "schedule/schedule.h"

/* --- records ------------------------------------------------------------- */

typedef enum { LINE_TRIAL, LINE_RUN_START, LINE_RUN_END } LineKind;
typedef enum {
	OUTCOME_OK,
	OUTCOME_BUILD,
	OUTCOME_TIMEOUT,
	OUTCOME_CRASH,
	OUTCOME_WRONG,
	OUTCOME_IMPLAUSIBLE
} Outcome;
const char *outcome_name(Outcome outcome);

/* One line of a store.  Keys in the order of contract.md; unknown keys are
 * kept in `json`, which is the line. */
typedef struct {
	LineKind kind;
	json_t *json;   /* owned */
	char id[17];
	char op[65];
	const char *target;   /* into json, as all strings below */
	const char *name, *case_name;
	const char *at;
	Outcome outcome;
	bool final;           /* round is "final" */
	double time_s;        /* NaN unless ok */
	const char *regime;   /* canonical text of the regime object */
	const char *same_as;  /* NULL */
} Line;

/* record.c */
Status line_parse(const char *text, size_t size, Line *line, Error *error);
void line_free(Line *line);
/* Computes the id and gives the exact bytes of the line, without newline. */
char *line_text(Line *line); /* malloc'd */

/* --- stores --------------------------------------------------------------- */

typedef struct Store Store;
typedef enum { STORE_READ, STORE_WRITE } StoreMode;

/* A store that does not exist is empty to a reader.  The path chooses:
 * .jsonl is text, everything else SQLite. */
Status store_open(const char *path, StoreMode mode, Store **store, Error *error);
void store_close(Store *store);
/* Committed when it returns OK. */
Status store_append(Store *store, const Line *line, Error *error);
/* Calls `each` for every line, oldest first, until it returns false.  op NULL:
 * all operators.  Damaged lines are counted and named in `damaged`. */
Status store_each(Store *store, const char *op, bool (*each)(Line *line, void *context),
    void *context, Buf *damaged, Error *error);
const char *store_path(const Store *store);

/* best.c: see contract.md.  The best line for operator, target (NULL: any) and
 * regime over layers of stores; NULL json if none.  `targets` (may be NULL)
 * gets the distinct targets with an ok trial. */
typedef VEC(const char *) TextVec;
Status best_find(Arena *arena, Store *const *layers, int nlayers, const char *op,
    const char *target, const char *regime, Line *best, TextVec *targets,
    Error *error);

/* --- cost models ----------------------------------------------------------- */

typedef struct Model Model;

typedef enum { OBJECTIVE_RANK, OBJECTIVE_REGRESSION } Objective;

/* What tunec-xgboost.so exports as `tunec_xgboost`.  One booster is trained
 * from nothing and dumped as flat trees. */
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
	float base;
} Forest;
enum { XGBOOST_MODULE_VERSION = 1 };
typedef struct {
	int version;
	/* rows: n x width floats; labels: larger is better; group: sizes of
	 * ngroups query groups for the rank objective. */
	Status (*train)(const float *rows, int n, int width, const float *labels,
	    const unsigned *group, int ngroups, Objective objective, int rounds,
	    int depth, int bins, uint64_t seed, Forest *forest, Error *error);
	/* XGBoost's own prediction of the model trained last, for tests. */
	Status (*predict_last)(const float *rows, int n, int width, float *out,
	    Error *error);
} XgboostModule;

/* model.c */
void forest_predict(const Forest *forest, const float *rows, int n, int width, float *out);
void forest_free(Forest *forest);

#endif
