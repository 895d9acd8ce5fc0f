/* What the logs of some tasks are worth to others. */
#include <math.h>

#include "test/lab/lab.h"

Past lab_log(const Task *task, uint64_t seed, bool shuffled)
{
	Arena *arena = task->arena;
	Past p = {.name = task->name,
	    .program = task->program,
	    .target = task->target,
	    .space = task->space,
	    .n = LAB_LOGGED,
	    .candidates = NEW_N(arena, Candidate, LAB_LOGGED),
	    .time_s = NEW_N(arena, double, LAB_LOGGED)};
	Rng rng = rng_stream(seed, 1, 1);
	for (int i = 0; i < LAB_LOGGED; i++) {
		uint64_t n = (uint64_t)task->all.n, at = rng_below(&rng, n);
		p.candidates[i] = task->all.items[at];
		p.time_s[i] = task->time_s[shuffled ? rng_below(&rng, n) : at];
	}
	return p;
}

void lab_begin_with(const Transfer *logs, const Model *global, const Task *task,
    GuideSettings *out)
{
	out->model.global = global;
	out->nstarts = transfer_starts(logs, task->program, task->space,
	    out->starts, guide_starts(global));
}

Status lab_logs(Arena *arena, char *const *tables, int n, uint64_t machine,
    uint64_t seed, const Task *task, Transfer **logs, Model **global,
    Error *error)
{
	*logs = transfer_new(task->target);
	*global = NULL;
	for (int i = 0; i < n; i++) {
		Task *teacher = lab_load(arena, tables[i], error);
		if (!teacher)
			return error->status;
		if (machine)
			lab_simulate(teacher, machine, 0.75, 0);
		Past past = lab_log(teacher, seed + (uint64_t)i, false);
		transfer_add(*logs, &past);
	}
	return transfer_learn(*logs, 1, global, error);
}
