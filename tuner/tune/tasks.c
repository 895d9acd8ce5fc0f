/* Which task is searched next (tasks.h): a gradient of the weighted sum of times by
 * the budget, after Ansor's and MetaSchedule's task schedulers.  They extrapolate
 * from the last rounds of 64 trials, and first give each task one; here there may
 * be ten trials a task, so the first guess is the machine's limit, and each trial
 * counts. */
#include "tuner/tune/tasks.h"

#include <math.h>
#include <string.h>

enum {
	FIRST = 24,     /* trials that what is promised at first is spread over */
	HORIZON = 16,   /* trials that a promise is revised over, ... */
	PART = 4,       /* or such a part of all that there were */
	SEEN = 8,       /* trials, before these say anything */
	CEILINGS = 8,   /* of a kind, before they say anything */
	TRIALS = 32,    /* before they are enough, unless the limit is near */
	TURN = 16       /* each so manieth visit is to whom had least */
};

/* Candidate 1 is often so much behind the best, whatever the limit is; where none
 * is known there may be half. */
static const double anywhere = 0.125, unknown = 0.5;

/* Kernels seldom come closer to their limit. */
static const double reached = 0.9;

TaskState task_state(double weight)
{
	return (TaskState){.weight = weight, .trial_cost = 1, .best_s = INFINITY};
}

/* What is read is faster than a copy, and caches may hold it. */
static double most_of(TaskKind kind)
{
	return kind == KIND_MEMORY ? 1 / 0.6 : 1;
}

static double limit_s(const TaskState *t)
{
	return t->bound_s / most_of(t->kind);
}

static double horizon(const TaskState *t)
{
	return fmax(HORIZON, (double)t->curve.n / PART);
}

double task_promise(double best_s, double bound_s)
{
	if (isinf(best_s))
		best_s = 2 * bound_s / reached;
	return fmax(best_s - bound_s / reached, anywhere * best_s);
}

static double first_promise(const TaskState *t)
{
	double bound_s =
	    t->bound_s > 0 ? t->bound_s : reached * (1 - unknown) * t->best_s;
	return task_promise(t->best_s, bound_s) / FIRST;
}

void task_tell(TaskState *t, Arena *arena, double time_s, double predicted_s)
{
	double before = t->best_s;
	t->best_s = fmin(before, time_s);
	vec_push(arena, &t->curve, t->best_s);
	if (predicted_s > 0) {
		int at = t->npredicted++ % TASK_NEWEST;
		t->predicted[at] = predicted_s;
		t->error[at] = log(time_s / predicted_s);
	}
	if (isinf(t->best_s))
		return;
	if (isinf(before))
		t->promise_s = first_promise(t);
	else
		t->promise_s += (before - t->best_s - t->promise_s) / horizon(t);
}

/* What a trial would gain if the next candidates were expected to be as good as
 * the newest, and the model were as wrong as it was with these. */
static double model_promise(const TaskState *t)
{
	int n = t->npredicted < TASK_NEWEST ? t->npredicted : TASK_NEWEST;
	double sum = 0;
	if (n < SEEN)
		return INFINITY;
	for (int i = 0; i < n; i++)
		for (int k = 0; k < n; k++)
			sum += fmax(0, t->best_s -
				t->predicted[i] * exp(t->error[k]));
	return sum / (n * n);
}

double task_rate(const TaskState *t)
{
	if (isinf(t->best_s))
		return 0;
	double promise = t->promise_s;
	/* the model may not know what it does not know */
	promise = fmin(promise, fmax(model_promise(t), promise / 4));
	promise = fmin(promise, fmax(t->best_s - limit_s(t), 0) / HORIZON);
	return t->weight * promise / t->trial_cost;
}

double task_last_gain(const TaskState *t)
{
	int n = t->curve.n;
	if (n < SEEN)
		return anywhere;
	double half = t->curve.at[(n - 1) / 2];
	return isinf(half) ? 1 : 1 - t->best_s / half;
}

/* --- how much is left --------------------------------------------------------- */

void ceilings_add(Ceilings *c, Arena *arena, const char *op, TaskKind kind,
    double share)
{
	for (int i = 0; i < c->n; i++)
		if (!strcmp(c->at[i].op, op)) {
			c->at[i].kind = kind;
			c->at[i].share = share;
			return;
		}
	vec_push(arena, c,
	    (Ceiling){.op = arena_strdup(arena, op), .kind = kind,
		.share = share});
}

/* Of n the next is the highest one time in n + 1; by how much is not known, so by
 * as much as the highest is above the third. */
double ceilings_highest(const Ceilings *c, TaskKind kind)
{
	double top[3] = {0};
	int n = 0;
	for (int i = 0; i < c->n; i++) {
		double share = c->at[i].share;
		if (c->at[i].kind != kind)
			continue;
		n++;
		for (int k = 0; k < 3; k++)
			if (share > top[k]) {
				double next = top[k];
				top[k] = share;
				share = next;
			}
	}
	if (n < CEILINGS)
		return most_of(kind);
	return fmin(top[0] * top[0] / top[2], most_of(kind));
}

static double left_to(const TaskState *t, double share)
{
	if (isinf(t->best_s) || !(t->bound_s > 0))
		return 1;
	return fmax(0, 1 - t->bound_s / (share * t->best_s));
}

double task_left(const TaskState *t, const Ceilings *c)
{
	return left_to(t, ceilings_highest(c, t->kind));
}

bool task_is_enough(const TaskState *t, const Ceilings *c, double until)
{
	if (left_to(t, most_of(t->kind)) < until)
		return true;
	return task_left(t, c) < until && t->curve.n >= TRIALS &&
	    task_last_gain(t) < until;
}

/* --- schedulers ------------------------------------------------------------- */

/* Of those that are not over the one that had least. */
static int least_visited(const TaskState *tasks, int n)
{
	int found = -1;
	for (int i = 0; i < n; i++)
		if (!tasks[i].over &&
		    (found < 0 || tasks[i].visits < tasks[found].visits))
			found = i;
	return found;
}

static int next_gradient(const TaskState *tasks, int n)
{
	int found = -1, visits = 0;
	for (int i = 0; i < n; i++) {
		visits += tasks[i].visits;
		if (!tasks[i].over &&
		    (found < 0 || task_rate(&tasks[i]) > task_rate(&tasks[found])))
			found = i;
	}
	return visits % TURN == TURN - 1 ? least_visited(tasks, n) : found;
}

static int next_round_robin(const TaskState *tasks, int n)
{
	return least_visited(tasks, n);
}

static int next_fixed(const TaskState *tasks, int n)
{
	for (int i = 0; i < n; i++)
		if (!tasks[i].over)
			return i;
	return -1;
}

const Scheduler *scheduler_all(void)
{
	static const Scheduler all[] = {
#define SCHEDULER(name, spelled, divides, help)                                \
	{spelled, help, divides, next_##name},
#include "tuner/tune/schedulers.def"
#undef SCHEDULER
	    {0}};
	return all;
}

const Scheduler *scheduler_named(const char *name)
{
	const Scheduler *s = scheduler_all();
	while (s->name && strcmp(s->name, name))
		s++;
	return s->name ? s : NULL;
}
