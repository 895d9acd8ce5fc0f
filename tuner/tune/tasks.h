/* Many operators, one budget: which of them is searched next, and when nothing is
 * left that is worth it.
 *
 * A *task* is an operator with a guide of its own (guide.h).  Here it is a value, a
 * TaskState, that is told of each trial in the order of the trials:
 *
 *     curve       the best after each of them: its history
 *     promise_s   what the next trial is expected to gain: at first what lies
 *                 between candidate 1 and the machine's limit, over a few dozen
 *                 trials; each trial replaces a part of that by what it brought
 *     predicted, error   of the newest trials what the model expected, and by how
 *                 much it was wrong: what may come of the next ones
 *
 * A scheduler is a function of the states alone, so the same trials give the same
 * order on any machine, and a run that goes on from a store is told what that has.
 *
 * A *ceiling* is the share of its limit that an operator of a kind has reached when
 * its search had settled.  What is left to gain of a task is what lies between its
 * best and its limit, times the highest of these; the limit itself counts where too
 * few are known. */
#ifndef TUNER_TUNE_TASKS_H
#define TUNER_TUNE_TASKS_H

#include <stdbool.h>

#include "lib/vec.h"

enum { TASK_NEWEST = 32 };

/* What keeps an operator from being faster.  Those of a kind are compared. */
typedef enum { KIND_SUMS, KIND_ELEMENTS, KIND_MEMORY, KINDS } TaskKind;
bool task_kind_named(const char *name, TaskKind *kind); /* false: none is */

typedef struct {
	double weight;   /* how often it occurs: what a second less is worth */
	double bound_s;  /* the machine's limit; 0: not known */
	TaskKind kind;
	double trial_cost; /* of the budget: seconds, or 1 where trials are counted */
	double best_s;   /* infinite: none yet */
	double promise_s;
	VEC(double) curve;
	double predicted[TASK_NEWEST], error[TASK_NEWEST]; /* log(time/predicted) */
	int npredicted;  /* of all trials; the newest are kept, in turn */
	int told;        /* of what the tuning knows (tune_outlook) */
	int visits;
	bool over;       /* nothing is left to be done for it */
} TaskState;

TaskState task_state(double weight);
/* A trial, infinite if it failed; predicted_s 0: nothing was. */
void task_tell(
    TaskState *task, Arena *arena, double time_s, double predicted_s);
/* Seconds that a first candidate may still gain, at least an eighth of its time;
 * infinite: it is not known, and taken for twice what may be reached. */
double task_promise(double best_s, double bound_s);
/* Weighted seconds that a unit of the budget is expected to gain. */
double task_rate(const TaskState *task);
/* Of the best time, what the last half of its trials gained: about what as many
 * more would; of a few trials a guess. */
double task_last_gain(const TaskState *task);

/* Enough trials, and the last half of them gained nothing: what it has counts as a
 * ceiling. */
bool task_has_settled(const TaskState *task);

typedef struct {
	const char *op;
	TaskKind kind;
	double share;
} Ceiling;
typedef VEC(Ceiling) Ceilings;
/* Replaces that of the same operator. */
void ceilings_add(Ceilings *ceilings, Arena *arena, const char *op, TaskKind kind,
    double share);
/* The share of its limit that an operator of this kind may reach. */
double ceilings_highest(const Ceilings *ceilings, TaskKind kind);
/* Of its best time what may still be gained, at most. */
double task_left(const TaskState *task, const Ceilings *ceilings);
/* Is that less than `until`, and has it gained less of late? */
bool task_is_enough(
    const TaskState *task, const Ceilings *ceilings, double until);

typedef struct {
	const char *name, *help;
	bool divides;
	int (*next)(const TaskState *tasks, int n); /* -1: all are over */
} Scheduler;
const Scheduler *scheduler_all(void); /* ended by a name of NULL */
const Scheduler *scheduler_named(const char *name); /* NULL: there is none */

#endif
