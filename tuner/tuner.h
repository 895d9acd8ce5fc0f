/* The face of tuner/: records, stores, measuring, learning, searching.
 *
 *     record.c          a trial or mark as one JSON line, and back
 *     store*.c          where lines are kept: SQLite, JSONL
 *     best.c            which of them counts
 *     history.c         what they say of budgets, read on as a store grows
 *     measure*.c        compile, check and time candidates in disposable
 *                       processes; simulate and replay in their stead
 *     device*.c, opencl*.c  devices that run kernels, behind one face
 *     model/model.h     cost models
 *     search/search.h   what proposes candidates by them
 *     tune/guide.h      both together, of one operator
 *     tune/tune.h       the loop: search, measure, learn, store */
#ifndef TUNER_TUNER_H
#define TUNER_TUNER_H

#include <jansson.h>

#include "codegen/codegen.h"
#include "ir/ir.h"
#include "schedule/schedule.h"

/* --- records ------------------------------------------------------------- */

typedef enum { LINE_TRIAL, LINE_RUN_START, LINE_RUN_END } LineKind;
const char *line_kind_name(LineKind kind); /* "run-start" */
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
	const char *measure;  /* NULL: run on the machine; "simulate", … */
	const char *run;      /* id of the run-start; "" */
	bool quiet;           /* or nothing is known of noise */
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
	bool cold, constants_cold;
	int threads;
	const char *pinning;         /* "cores", "none" */
		bool final;
	double predicted_s;          /* before it was measured; 0: null */
	json_t *verified, *machine;
	json_t *by;                  /* with "run": the id of the run-start */
	const char *same_as;         /* NULL */
	const char *measure;         /* NULL: run on the machine */
	json_t *noise;               /* NULL: not known, and not written */
} Trial;

/* record.c */
void line_trial(const Trial *trial, Line *line);
/* A mark: tunec, kind, at, id, then the keys of `fields` in their order.
 * Those who read marks by operator look at "op" or "ops", a list. */
void line_mark(LineKind kind, const json_t *fields, Line *line);
/* STATUS_INPUT: damaged.  STATUS_UNSUPPORTED: of a newer format. */
enum { LINE_MOST = 16 << 20 }; /* bytes; a line of more is damaged */
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
/* An object's number; `otherwise` where it has none by that name. */
double json_number(const json_t *json, const char *key, double otherwise);
/* A JSON string of any bytes. */
json_t *json_text(const char *text);
enum { AT_BYTES = 25 };
void at_now(char at[AT_BYTES]); /* "2026-01-31T12:34:56.789Z" */

/* --- stores -------------------------------------------------------------- */

typedef struct Store Store;
typedef enum { STORE_READ, STORE_WRITE } StoreMode;

/* A store that does not exist is empty to a reader, which creates no file.
 * The path chooses: .jsonl is text, everything else SQLite. */
Status store_open(const char *path, StoreMode mode, Store **store, Error *error);
/* The last writer of a SQLite store leaves one file.  NULL is allowed. */
void store_close(Store *store);
/* Committed when it returns OK; on disk within half a second. */
Status store_append(Store *store, Line *line, Error *error);
/* The same for n lines at once, which is faster; a SQLite store takes all of
 * them or none. */
Status store_append_all(
    Store *store, Line *const *lines, int n, Error *error);
/* Calls `each` for every line, in the order they were stored, until it returns
 * false.  op NULL: all operators, else its trials and its marks.  Damaged lines
 * are counted and named in `damaged` (may be NULL), a line each.  A line of a
 * newer format ends it with STATUS_UNSUPPORTED. */
Status store_each(Store *store, const char *op, bool (*each)(Line *line, void *context),
    void *context, Buf *damaged, Error *error);
/* The same for what was stored behind a place, by whomever; moves the place to
 * the end.  {0} is the beginning. */
typedef struct {
	int64_t number, offset; /* of the last line; of the byte behind it */
	uint64_t tail;          /* hash of the bytes before it */
} StorePlace;
Status store_follow(Store *store, const char *op, StorePlace *place,
    bool (*each)(Line *line, void *context), void *context, Error *error);
const char *store_path(const Store *store);
/* What the names of files end with that the store of this name has beside it, at
 * times; NULL ends them. */
const char *const *store_beside(const char *path);
/* What the last reading skipped, a line each: "" if nothing. */
const char *store_notes(const Store *store);

/* best.c: see docs/records.md.  Which records are wanted. */
typedef struct {
	const char *op;      /* NULL: of each operator */
	const char *target;  /* NULL: of each target */
	const char *regime;  /* "warm", "cold"; NULL: warm */
} BestQuery;
typedef VEC(const char *) TextVec;

/* The best line of an operator and a target over layers of stores: that of the
 * first layer with a measured ok trial.  NULL json if there is none. */
Status best_find(Store *const *layers, int nlayers, const BestQuery *query,
    Line *best, Error *error);
/* The same for each operator and target that the query admits, in the order
 * in which they are first met; `ok` of its trials were ok, in all layers. */
Status best_each(Store *const *layers, int nlayers, const BestQuery *query,
    void (*each)(const Line *best, int ok, void *context), void *context,
    Error *error);
/* The targets with a measured ok trial of the operator in any layer, sorted. */
Status best_targets(Arena *arena, Store *const *layers, int nlayers,
    const char *op, TextVec *targets, Error *error);

#endif
