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
bool outcome_find(const char *name, Outcome *outcome);

/* One line of a store.  Keys in the order of contract.md; unknown keys are
 * kept: a line that was read is stored and exported byte for byte. */
typedef struct {
	LineKind kind;
	json_t *json;   /* owned */
	char *text;     /* owned: the exact bytes; NULL until line_text */
	size_t size;
	char id[17];
	char op[65];    /* "" in a mark of several operators */
	const char *target;   /* into json, as all strings below */
	const char *name, *case_name;
	const char *at;
	Outcome outcome;
	bool final;           /* round is "final" */
	double time_s;        /* NaN unless ok */
	const char *regime;   /* "warm" or "cold" */
	const char *same_as;  /* NULL */
} Line;

/* What a trial's line is made of.  json_t members are borrowed; NULL writes
 * null.  Text that is not UTF-8 is made so. */
typedef struct {
	const char *at; /* NULL: now */
	const char *op, *op_text, *name, *case_name, *target;
	json_t *trace;
	Outcome outcome;
	const char *error;           /* NULL if ok */
	double time_s, spread_s;     /* written as null unless ok */
	const double *runs_s;
	int nruns;
	bool cold;
	int threads;
	const char *pinning;         /* "cores", "none" */
	bool final;
	json_t *verified, *machine;
	json_t *by;                  /* with "run": the id of the run-start */
	const char *same_as;         /* NULL */
} Trial;

/* record.c */
void line_trial(const Trial *trial, Line *line);
/* A mark: tunec, kind, at, id, then the keys of `fields` in their order.
 * Those who read marks by operator look at "op" or "ops", a list. */
void line_mark(LineKind kind, const json_t *fields, Line *line);
/* STATUS_INPUT: damaged.  STATUS_UNSUPPORTED: of a newer format. */
Status line_parse(const char *text, size_t size, Line *line, Error *error);
void line_free(Line *line);
/* The exact bytes of the line, without newline, malloc'd; computes the id of a
 * line that has none. */
char *line_text(Line *line);
/* Is the id that of the contents?  Not so in a line edited by hand. */
bool line_id_matches(const Line *line);
/* Does a mark or a trial concern an operator? */
bool line_concerns(const Line *line, const char *op);
/* JSON as in a line: no spaces, shortest numbers that read back the same. */
void json_print(Buf *out, const json_t *json);
/* A JSON string of any bytes. */
json_t *json_text(const char *text);
enum { AT_BYTES = 25 };
void at_now(char at[AT_BYTES]); /* "2026-01-31T12:34:56.789Z" */

/* --- stores --------------------------------------------------------------- */

typedef struct Store Store;
typedef enum { STORE_READ, STORE_WRITE } StoreMode;

/* A store that does not exist is empty to a reader, which creates no file.
 * The path chooses: .jsonl is text, everything else SQLite. */
Status store_open(const char *path, StoreMode mode, Store **store, Error *error);
/* The last writer of a SQLite store leaves one file.  NULL is allowed. */
void store_close(Store *store);
/* Committed when it returns OK; on disk within half a second. */
Status store_append(Store *store, Line *line, Error *error);
/* Calls `each` for every line, in the order they were stored, until it returns
 * false.  op NULL: all operators, else its trials and its marks.  Damaged lines
 * are counted and named in `damaged` (may be NULL), a line each.  A line of a
 * newer format ends it with STATUS_UNSUPPORTED. */
Status store_each(Store *store, const char *op, bool (*each)(Line *line, void *context),
    void *context, Buf *damaged, Error *error);
const char *store_path(const Store *store);
/* What the last reading skipped, a line each: "" if nothing. */
const char *store_notes(const Store *store);

/* best.c: see contract.md.  The best line for operator, target (NULL: any) and
 * regime ("warm", "cold"; NULL: warm) over layers of stores: that of the first
 * layer with an ok trial.  NULL json if none.  `targets` (may be NULL) gets the
 * distinct targets with an ok trial in any layer, sorted. */
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
