/* What the files of `tunec tune` share. */
#ifndef CMD_TUNE_VERB_H
#define CMD_TUNE_VERB_H

#include "cmd/cmd.h"
#include "cmd/stores.h"
#include "schedule/groups.h"
#include "tuner/tune/tune.h"

/* tune_budget.c: of trials or of seconds, over all operators. */
typedef struct {
	double left;  /* infinite: no such budget */
	double *have; /* that count, for each operator */
} TuneBudget;

typedef struct {
	TuneBudget trials, time;
	const double *weight; /* of each operator: what it is to get */
} TuneBudgets;

/* tunings[i] is NULL where the operator is there under another name. */
void tune_budgets_open(Arena *arena, TuneBudgets *budgets,
    Tuning *const *tunings, const double *weight, int n,
    const TuneOptions *options);
/* What the i-th has used by now. */
void tune_budgets_take(TuneBudgets *budgets, int i, const Tuning *tuning);
bool tune_budgets_spent(const TuneBudgets *budgets);
/* The totals of operator i by weight, those from n on not counted; -1: no such
 * budget. */
void tune_budgets_share(const TuneBudgets *budgets, int i, int n,
    int64_t *trials, double *time_s);
/* The same where it may spend all that is left but what is kept for others. */
void tune_budgets_rest(const TuneBudgets *budgets, int i, double kept_trials,
    double kept_s, int64_t *trials, double *time_s);

/* tune_groups.c: what there is to tune, each of which is an operator of its own:
 * a program as it is; or its groups, and then the whole. */
typedef struct {
	const Program *program;
	bool named;           /* by the user; else a group of one that is */
	int same;             /* the first of the same operator */
	const Groups *groups; /* of a whole; else NULL */
	int *of_group;        /* of a whole: the task of each group */
	const Trace **given;  /* by the user, behind what it is checked against;
				 else NULL */
} TuneTask;
typedef VEC(TuneTask) TuneTaskVec;
/* whole: none is cut into its groups. */
void tune_tasks(Arena *arena, const ProgramVec *programs,
    const Machine *machine, bool whole, TuneTaskVec *out);
bool tune_is_searched(const TuneTask *task); /* or its schedules are given */
/* How the budget is divided, once candidate 1 of each was measured: the groups of
 * a program by what they promise to gain in it. */
void tune_weights(const TuneTaskVec *tasks, Tuning *const *tunings,
    const TuneOptions *options, double *weight);
/* How often each occurs: groups in all their programs, by the programs' weights; 0
 * of a whole, which gains by its groups. */
void tune_counts(const TuneTaskVec *tasks, double *count);
/* The groups' schedules joined, of candidate 1 or of the best; NULL and why. */
const Trace *tune_joined(Arena *arena, const TuneTaskVec *tasks, int whole,
    Tuning *const *tunings, bool first, Error *error);

/* tune_static.c: the model's best for a GPU that is not here, compiled and looked
 * at.  EXIT_FAILED where of some operator none compiles. */
typedef struct {
	const Common *common;
	const Target *target;
	const char *why; /* nothing is measured */
	int64_t candidates; /* to be shown of each operator */
	uint64_t seed;
	double end_s; /* none is begun then */
	const char *schedule; /* of the spec, looked at alone; NULL: all */
} StaticTune;
enum { STATIC_CANDIDATES = 8 };
int tune_static(Arena *arena, const StaticTune *t, const ProgramVec *programs);

/* tune_show.c */
typedef struct {
	const char *label;
	bool live;   /* on a terminal */
	double last; /* when it was drawn */
	double *
	    told_s; /* elsewhere: when the run's last line was; NULL: none are */
} TuneDisplay;
void tune_show_progress(const TuneProgress *progress, void *display);
void tune_show(const Common *common, const Program *program,
    const char *label, const TuneResult *result);
/* Where the time of a run went, in which those took part. */
void tune_show_times(
    const Common *common, const TuneTimes *sum, double elapsed_s);
/* How far the best are from what the machine can do, weighted. */
typedef struct {
	double best_s, bound_s;
	double left_s, gain_s; /* at most; by as many trials as there were */
	double until;          /* 0: not asked for */
	int tasks, enough;
	bool unknown;          /* of some there is no limit */
	const char *past;      /* NULL, or why one is faster than its limit */
} TuneLimit;
void tune_show_limit(const Common *common, const TuneLimit *limit);

/* tune_run.c */

/* A run's operators in order; several spellings of one are one. */
typedef struct {
	const Common *common;
	bool cold;
	Arena *arena;
	TuneTaskVec tasks;
	const Target *target;
	const Stores *stores;
	TuneOptions options;
	int n;
	Measurer **measurers;
	Tuning **tunings; /* NULL: the same as an earlier one */
	bool *broken;	  /* an error ended it, which was said */
	bool *ended;	  /* it has its result, which was shown */
	const Scheduler *scheduler;
	TaskState *states; /* over: of those that are not searched, too */
	Ceilings ceilings;
	double until;	   /* 0: until the budget is spent */
	double *visited_s; /* when that was, by measure_now's clock */
	TuneDisplay *displays;
	TuneResult *results;
	TuneBudgets budgets;
	double start_s, end_s; /* no job goes on then */
	bool forgets;	       /* expected outputs are too much to be kept */
	int last;	       /* that is ended */
	double told_s; /* when the last line of progress was, off a terminal */
	Transfer *transfer; /* NULL: nothing is taken over */
	Model *global;
} TuneRun;

/* tune_transfer.c: fills in what the options of the run take over; the exit code,
 * after messages. */
int tune_transfer_open(TuneRun *run, const TextList *words);
void tune_transfer_close(TuneRun *run);

/* Opens the tunings of what was filled in; the caller frees them. */
Status tune_run_open(TuneRun *run, Error *error);
int tune_run_all(TuneRun *run); /* the exit code, after messages */

#endif
