/* What the files of `tunec tune` share. */
#ifndef CMD_TUNE_VERB_H
#define CMD_TUNE_VERB_H

#include "cmd/cmd.h"
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
/* The totals of operator i, those from n on not counted; -1: no such budget. */
void tune_budgets_share(const TuneBudgets *budgets, int i, int n,
    int64_t *trials, double *time_s);

/* tune_show.c */
typedef struct {
	const char *label;
	bool live;
	double last; /* when it was drawn */
} TuneDisplay;
void tune_show_progress(const TuneProgress *progress, void *display);
void tune_show(const Common *common, const Program *program,
    const char *label, const TuneResult *result);

#endif
