/* What a run of `tunec tune` has to do: programs, and for one of several products
 * its groups and then the whole of them. */
#include <math.h>
#include <string.h>

#include "cmd/tune_verb.h"

/* Of a program's budget, at most, for the whole of its groups; none where it would
 * need several times that: the groups use it better. */
static const double whole_most = 0.2, whole_hopeless = 0.6;

/* It is compiled, checked and timed for a few joined schedules: what candidate 1
 * of each group took, of equal ones each, and half of that again; so many trials. */
static const double whole_times = 1.5, whole_trials = 4;

static int add_task(Arena *arena, TuneTaskVec *tasks, TuneTask task)
{
	int same = tasks->n;
	for (int i = 0; i < tasks->n && same == tasks->n; i++)
		if (!strcmp(tasks->at[i].program->op, task.program->op))
			same = i;
	task.same = same;
	vec_push(arena, tasks, task);
	return tasks->n - 1;
}

bool tune_is_searched(const TuneTask *task)
{
	return !task->groups && !task->given;
}

void tune_tasks(Arena *arena, const ProgramVec *programs,
    const Machine *machine, bool whole, TuneTaskVec *out)
{
	for (int i = 0; i < programs->n; i++) {
		const Program *p = programs->at[i];
		TuneTask task = {.program = p, .named = true};
		if (whole) {
			add_task(arena, out, task);
			continue;
		}
		const Groups *g = groups_of(arena, p, machine);
		if (g->n > 1) {
			task.groups = g;
			task.of_group = NEW_N(arena, int, g->n);
		}
		for (int k = 0; k < g->n && g->n > 1; k++) {
			int first = g->groups[k].same_as;
			task.of_group[k] = first < k ? task.of_group[first]
			    : add_task(arena, out, (TuneTask){
				  .program = g->groups[k].program});
		}
		add_task(arena, out, task);
	}
}

/* --- budgets ------------------------------------------------------------------ */

static double promise(const TuneTaskVec *tasks, Tuning *const *tunings, int i)
{
	return tune_promise_s(tunings[tasks->at[i].same]);
}

static double whole_share(const TuneTaskVec *tasks, const TuneTask *whole,
    Tuning *const *tunings, const TuneOptions *o)
{
	double spent_s = 0, share = 0;
	for (int k = 0; k < whole->groups->n; k++)
		spent_s +=
		    tune_spent_s(tunings[tasks->at[whole->of_group[k]].same]);
	if (o->time_s > 0)
		share = whole_times * spent_s / o->time_s;
	if (share > whole_hopeless)
		return 0;
	if (o->trials > 0)
		share = fmax(share, whole_trials / (double)o->trials);
	return share > 0 ? fmin(share, whole_most) : whole_most;
}

static void weigh_groups(const TuneTaskVec *tasks, const TuneTask *whole,
    Tuning *const *tunings, double share, double *weight)
{
	const Groups *g = whole->groups;
	double sum = 0;
	for (int k = 0; k < g->n; k++)
		sum += promise(tasks, tunings, whole->of_group[k]);
	for (int k = 0; k < g->n && sum > 0; k++) {
		int i = whole->of_group[k];
		weight[tasks->at[i].same] += whole->program->weight *
		    share * promise(tasks, tunings, i) / sum;
	}
}

void tune_weights(const TuneTaskVec *tasks, Tuning *const *tunings,
    const TuneOptions *o, double *weight)
{
	for (int i = 0; i < tasks->n; i++)
		weight[i] = 0;
	for (int i = 0; i < tasks->n; i++) {
		const TuneTask *t = &tasks->at[i];
		if (t->groups) {
			double share = whole_share(tasks, t, tunings, o);
			weight[t->same] += t->program->weight * share;
			weigh_groups(tasks, t, tunings, 1 - share, weight);
		} else if (t->named) {
			weight[t->same] += t->program->weight;
		}
	}
}

void tune_counts(const TuneTaskVec *tasks, double *count)
{
	for (int i = 0; i < tasks->n; i++)
		count[i] = 0;
	for (int i = 0; i < tasks->n; i++) {
		const TuneTask *t = &tasks->at[i];
		const Groups *g = t->groups;
		double weight = t->program->weight;
		for (int k = 0; g && k < g->n; k++)
			count[tasks->at[t->of_group[k]].same] += weight;
		if (!g && t->named)
			count[t->same] += weight;
	}
}

/* --- the whole ---------------------------------------------------------------- */

const Trace *tune_joined(Arena *arena, const TuneTaskVec *tasks, int whole,
    Tuning *const *tunings, bool first, Error *error)
{
	const TuneTask *t = &tasks->at[whole];
	const Groups *g = t->groups;
	Trace **traces = NEW_N(arena, Trace *, g->n);
	for (int k = 0; k < g->n; k++) {
		int task = tasks->at[t->of_group[k]].same;
		const Trace *trace = tune_trace(tunings[task], first);
		if (!trace)
			trace = tune_trace(tunings[task], !first);
		if (!trace) {
			error_set(error, STATUS_NO_RECORD,
			    "its group '%s' has no valid trial",
			    g->groups[k].name);
			return NULL;
		}
		traces[k] = trace_between(arena, tasks->at[task].program,
		    g->groups[k].program, trace, error);
		if (!traces[k])
			return NULL;
	}
	return groups_join(arena, g, traces, error);
}
