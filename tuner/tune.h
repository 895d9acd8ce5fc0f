/* The tuning loop for one operator: search, measure, learn, store. */
#ifndef TUNER_TUNE_H
#define TUNER_TUNE_H

#include "tuner/measure/measure.h"

typedef enum { SEARCH_ANNEAL, SEARCH_RANDOM } SearchKind;

typedef struct {
	int64_t trials;  /* that the store is to hold for the operator; -1: any */
	double time_s;   /* that all runs together may take; -1: any */
	double left_s;   /* wall time of this run; -1: any */
	bool more;       /* spend the budget again, whatever the store holds */
	bool accept;     /* the newest final round counts, though it be slower */
	SearchKind search;
	bool model;      /* learn; false: the analytic model alone */
	uint64_t seed;
	MeasureOptions measure;
	const char *replay_db; /* measurements from this store; NULL: measured */
	const char *command;   /* as the user typed it, for the run's mark */
	volatile const int *interrupted; /* set by a signal; may be NULL */
} TuneOptions;

typedef enum { TUNE_REFERENCE, TUNE_SEARCH, TUNE_FINAL } TunePhase;

typedef struct {
	TunePhase phase;
	int64_t trials, failed;    /* of this run */
	double best_s;             /* 0: none yet */
	double best_flops_per_s, peak_flops_per_s; /* of the target's threads */
	double trials_per_s;
	double rank_correlation;   /* NaN until known */
	double elapsed_s, left_s;  /* left -1: by trials */
} TuneProgress;

/* Where a run's wall time went, in seconds. */
typedef struct {
	double search, features, train, compile, check, run, idle;
} TuneTimes;

typedef struct {
	bool covered;      /* the store had enough: nothing was measured */
	bool exhausted;    /* every candidate of the space was tried, by this
			      run or, if covered, before */
	bool interrupted;
	bool hopeless;     /* stopped: nearly all fail for one reason */
	bool broken;       /* stopped by the Status that is returned */
	int64_t trials, ok, failed;
	int64_t stored;    /* search trials in the store at the end */
	double plain_s;    /* candidate 0; 0 if it failed */
	double best_s;     /* 0: no valid trial */
	char best_id[17];
	double final_s;    /* the best of this run's final round; 0: none */
	char final_id[17];
	bool final_quiet;  /* or it does not count */
	char best_error[512]; /* the first failure, where there is no best */
	double peak_one, peak_all; /* FLOP/s; 0 if simulated */
	int64_t scored;
	double scored_per_s;
	double elapsed_s;
	double spent_s;    /* of the budget: what was kept back counts too */
	double others_s;   /* of it, what other runs in the store took */
	TuneTimes times;
} TuneResult;

/* `store` is open for writing; `measurer` was opened with options->measure. */
Status tune_operator(const Program *program, const Target *target, Store *store,
    Measurer *measurer, const TuneOptions *options,
    void (*progress)(const TuneProgress *progress, void *context),
    void *context, TuneResult *result, Error *error);

/* What the store holds for the operator, the target and options->measure's
 * regime, as budgets count it. */
Status tune_stored(const Program *program, const Target *target, Store *store,
    const TuneOptions *options, int64_t *trials, double *spent_s, Error *error);

json_t *tune_times_json(const TuneTimes *times); /* the caller's */

#endif
