/* Tuning one operator, in two steps: candidate 1, which a run of several
 * operators measures of each before any goes on; then the search.
 *
 *     tune.c         the two steps, and what a run comes to
 *     tasks.c        of several operators which goes on (tasks.h)
 *     tune_propose.c which candidates: the space, the search, the model
 *     tune_trial.c   one candidate: compiled, run, stored
 *     tune_whole.c   a program of several groups: their schedules joined
 *     tune_final.c   the finalists once more, side by side
 *     tune_ceilings.c how close others came to their limits
 *     transfer*.c    what other operators' logs teach (transfer.h)
 *     tune_known.c   what the store says of trials
 *     tune_lines.c   what is stored: trials and marks */
#ifndef TUNER_TUNE_H
#define TUNER_TUNE_H

#include "tuner/measure/measure.h"
#include "tuner/tune/guide.h"
#include "tuner/tune/tasks.h"
#include "tuner/tune/transfer.h"

/* An option, as the user spelled it. */
typedef struct {
	const char *name, *value;
} TuneSetting;

typedef struct {
	int64_t trials;  /* that the store is to hold for the operator; -1: any */
	double time_s;   /* that all runs together may take; -1: any */
	double end_s;    /* by measure_now's clock; infinite: whenever */
	double part;     /* of what is left so much is likely to be its own */
	double plain_s;  /* that the plain loop nest may take to be run */
	bool composed;   /* of several groups: its schedules are given, not
			    searched (tune_give) */
	const char *schedule; /* the spec's, searched alone; NULL: all */
	bool more;       /* spend the budget again, whatever the store holds */
	bool accept;     /* the newest final round counts, though it be slower */
	GuideSettings guide; /* its seeds are set by `seed` */
	const Transfer
	    *transfer; /* what was fastest of others is tried; NULL */
	uint64_t seed;
	MeasureOptions measure;
	const char *replay_db; /* measurements from this store; NULL: measured */
	/* for the mark of the run; a NULL name ends them */
	const TuneSetting *settings;
	volatile const int *interrupted; /* set by a signal; may be NULL */
} TuneOptions;

typedef enum { TUNE_REFERENCE, TUNE_SEARCH, TUNE_FINAL } TunePhase;

typedef struct {
	TunePhase phase;
	int64_t trials, failed;    /* of this run */
	double best_s;             /* 0: none yet */
	double best_flops_per_s;
	double best_share; /* of the peak of the target's threads; 0: not known */
	double trials_per_s;
	double rank_correlation;   /* NaN until known */
	double elapsed_s, left_s;  /* left -1: by trials */
} TuneProgress;

/* Where a run's wall time went, in seconds. */
typedef struct {
	double search, features, train, lower, compile, check, run, idle;
} TuneTimes;

typedef struct {
	bool composed;	   /* of several groups, which were searched */
	bool covered;      /* the store had enough: nothing was measured */
	bool exhausted;    /* every candidate of the space was tried, by this
			      run or, if covered, before */
	bool interrupted;
	bool hopeless;     /* stopped: nearly all fail for one reason */
	bool broken;       /* stopped by the Status that is returned */
	int64_t trials, ok, failed;
	int64_t equal;     /* proposals that would have made known code */
	int64_t large;     /* that would have made too much */
	int64_t stored;    /* search trials in the store at the end */
	double plain_s;    /* candidate 0; 0: not known */
	bool plain_estimated; /* it was not run at this size */
	bool plain_disturbed; /* other work took its CPUs */
	double best_s;     /* 0: no valid trial */
	char best_id[17];
	double final_s;    /* the best of this run's final round; 0: none */
	char final_id[17];
	bool final_quiet;  /* or it does not count */
	char best_error[512]; /* the first failure, where there is no best */
	double peak_one, peak_all; /* FLOP/s; 0 if simulated */
	double operations; /* of the program's, those that the peak is of */
	double copy_bytes_per_s; /* of a copy of the program's bytes; 0: not
				    measured, memory cannot be the bound */
	int64_t scored;
	double scored_per_s;
	double elapsed_s;
	double spent_s;    /* of the budget: what was kept back counts too */
	/* Of the best time: what may be gained at most, and what the last half of
	 * the trials gained, about what as many more would; -1: not known. */
	double left, last_gain;
	double bound_s;    /* the machine's limit; 0: not known */
	bool enough;       /* it ended since less than was asked for is left */
	double others_s;   /* of it, what other runs in the store took */
	TuneTimes times;
} TuneResult;

typedef struct Tuning Tuning;

/* Reads what the store holds.  `store` is open for writing; `measurer` was
 * opened with options->measure; both outlive *out, which is to be freed after
 * an error, too. */
Status tune_open(const Program *program, const Target *target, Store *store,
    Measurer *measurer, const TuneOptions *options,
    void (*progress)(const TuneProgress *progress, void *context),
    void *context, Tuning **out, Error *error);
void tune_free(Tuning *tuning);

/* Reads what other tuners have written since. */
Status tune_follow(Tuning *tuning, Error *error);
/* As budgets count it: what the store holds, and what was done here. */
int64_t tune_trials(const Tuning *tuning);
double tune_spent_s(const Tuning *tuning);
int64_t tune_stored(const Tuning *tuning); /* search trials in the store */
/* Has the store a mark that says so, and none of the end? */
bool tune_has_begun(const Tuning *tuning);
/* Was candidate 1 measured, here or by an earlier run? */
bool tune_has_first(Tuning *tuning);

/* The schedule of candidate 1, or of the best that is known; NULL where it
 * failed. */
const Trace *tune_trace(const Tuning *tuning, bool first);
/* Seconds by which candidate 1 may still be improved. */
double tune_promise_s(const Tuning *tuning);
/* No schedule takes less: what the machine's multiply-adds and a copy of the
 * program's bytes take, as measured; 0: not known. */
double tune_bound_s(const Tuning *tuning, TaskKind *kind);
/* Measures what it rests on once more, once: the most counts. */
void tune_confirm_bound(Tuning *tuning);
/* Tells it of the trials that it does not know yet. */
void tune_outlook(const Tuning *tuning, Arena *arena, TaskState *task);
/* Of the store's runs for a target those that had settled. */
Status tune_ceilings(Arena *arena, Store *store, const Target *target,
    const TuneOptions *options, Ceilings *out, Error *error);
/* Seconds that its final round is going to take; 0: nothing was measured. */
double tune_final_s(const Tuning *tuning);
/* What tune_end is to try of a program of several groups; the first is what the
 * others are checked against.  They live as long as the tuning. */
void tune_give(Tuning *tuning, const Trace *const *traces, int n);

/* Candidate 1: what is built without a record.  It is the first trial unless
 * time ends before.  forget: its expected outputs are not kept for the rest,
 * which takes memory. */
Status tune_first(
    Tuning *tuning, double end_s, bool forget, Error *error);
/* What an operator may spend of a budget, as the totals of TuneOptions. */
typedef struct {
	int64_t trials;
	double time_s;
	double end_s;
	double part;
} TuneShare;
/* Does nothing remain to be searched for? */
bool tune_is_over(const Tuning *tuning);
/* Searches on for a while: a few trials, a batch at most.  *tried: of these. */
Status tune_visit(Tuning *tuning, const TuneShare *share, int64_t *tried,
    Error *error);
/* Gives back the memory of the expected outputs. */
void tune_forget(Tuning *tuning);
/* The finalists, the run's end mark; of a program of several groups all that is
 * left.  Fills in the result, whatever it returns.  stopped: it ended before its
 * budget. */
Status tune_end(Tuning *tuning, const TuneShare *share, bool stopped,
    TuneResult *result, Error *error);

/* Fills in the kernels that a reference may be made by where the plain nest takes
 * too long: those that tuning would choose. */
Status tune_reference(Arena *arena, const Program *program,
    const Target *target, ReferenceWish *wish, Error *error);

json_t *tune_times_json(const TuneTimes *times); /* the caller's */

#endif
