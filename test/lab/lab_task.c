/* Tasks: a closed part of an operator's space, listed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "schedule/groups.h"
#include "test/lab/lab.h"

/* --- the operator ------------------------------------------------------------- */

static const Program *group_named(
    Arena *arena, const Program *whole, const char *group, Error *error)
{
	if (!group)
		return whole;
	Groups *groups = groups_of(arena, whole, NULL);
	for (int i = 0; i < groups->n; i++)
		if (!strcmp(groups->groups[i].name, group))
			return groups->groups[i].program;
	error_set(error, STATUS_INPUT, "%s has no group %s", whole->name, group);
	return NULL;
}

static const Program *load(Arena *arena, const char *spec, Error *error)
{
	Diag diag = {0};
	ProgramVec programs = {0};
	Status status = spec_load(arena, spec, NULL, 0, NUMERICS_DEFAULT, &diag,
	    error, &programs);
	if (status)
		error_set(error, status, "%s: %.400s", spec,
		    diag.text.size ? buf_text(&diag.text) : error->text);
	diag_free(&diag);
	return status ? NULL : programs.at[0];
}

/* --- the closed part ------------------------------------------------------------ */

static bool part_fits(int size, int n, const int *at)
{
	for (int i = 0; i < n; i++)
		if (at[i] < (i ? at[i - 1] + 1 : 0) || at[i] >= size)
			return false;
	return n > 0;
}

/* What was closed when it was written may be of another space than today's. */
static bool fits(const Space *space, const Closed *closed)
{
	for (int i = 0, after = 0; i < closed->n; i++) {
		const ClosedSketch *c = &closed->sketches[i];
		if (c->sketch < after || c->sketch >= space_nsketches(space))
			return false;
		after = c->sketch + 1;
		for (int p = 0; p < space_nparts(space, c->sketch); p++)
			if (!part_fits(space_part_size(space, c->sketch, p),
				c->parts[p].n, c->parts[p].at))
				return false;
	}
	return true;
}

static void narrow(Space *space, const Closed *closed)
{
	int kept[LAB_SKETCHES];
	for (int i = 0; i < closed->n; i++)
		kept[i] = closed->sketches[i].sketch;
	space_keep_sketches(space, kept, closed->n);
	for (int i = 0; i < closed->n; i++)
		for (int p = 0; p < space_nparts(space, i); p++)
			space_keep_values(space, i, p,
			    closed->sketches[i].parts[p].at,
			    closed->sketches[i].parts[p].n);
}

/* Of the sketches with all that may stand in them. */
static void hash_of(Arena *arena, const Program *program, Space *space,
    char hash[65])
{
	Buf text = {0};
	for (int i = 0; i < space_nsketches(space); i++) {
		json_t *steps = trace_to_json(trace_canonical(
		    arena, program, space_sketch(space, i)));
		char *line = json_dumps(steps, JSON_COMPACT);
		buf_printf(&text, "%s\n", line);
		free(line);
		json_decref(steps);
		for (int p = 0; p < space_nparts(space, i); p++)
			for (int k = 0; k < space_part_size(space, i, p); k++) {
				char *value =
				    space_value_text(space, i, p, k);
				buf_printf(&text, "%d %s\n", p, value);
				free(value);
			}
	}
	sha256_hex(text.data, text.size, hash);
	buf_free(&text);
}

static void list(Task *task)
{
	int64_t vectors = space_size(task->space, LAB_VECTORS);
	CandidateSet all = {0};
	for (int64_t i = 0; i < vectors; i++) {
		Candidate c;
		if (space_at(task->space, i, &c))
			set_add(&all, &c);
	}
	task->all = all; /* which lies in the arena from now on */
	task->all.items = arena_memdup(
	    task->arena, all.items, sizeof *all.items * (size_t)all.n);
	task->all.table = arena_memdup(
	    task->arena, all.table, sizeof *all.table * (size_t)all.table_size);
	set_free(&all);
}

Task *lab_task(Arena *arena, const char *name, const char *spec,
    const char *group, const char *target, const Closed *closed, Error *error)
{
	Task *task = NEW(arena, Task);
	const Program *whole = load(arena, spec, error);
	*task = (Task){.arena = arena,
	    .name = arena_strdup(arena, name),
	    .spec = arena_strdup(arena, spec),
	    .group = group ? arena_strdup(arena, group) : NULL};
	if (!whole ||
	    !(task->program = group_named(arena, whole, group, error)) ||
	    !(task->target = target_parse(arena, target, error)) ||
	    !(task->space = space_new(
		  arena, task->program, &task->target->machine, error)))
		return NULL;
	task->closed =
	    closed ? *closed : lab_close(arena, task->space, LAB_VECTORS);
	if (!fits(task->space, &task->closed)) {
		error_set(error, STATUS_INPUT,
		    "%s: the space has changed since it was measured", name);
		return NULL;
	}
	narrow(task->space, &task->closed);
	hash_of(arena, task->program, task->space, task->hash);
	list(task);
	if (!task->all.n) {
		error_set(error, STATUS_INPUT, "%s: no candidate", name);
		return NULL;
	}
	return task;
}

/* --- asked ------------------------------------------------------------------------- */

int lab_number(const Task *task, const Candidate *candidate)
{
	return set_find(&task->all, candidate);
}

void lab_set_times(Task *task, double *time_s)
{
	task->time_s = time_s;
	task->best_s = INFINITY;
	for (int i = 0; i < task->all.n; i++)
		if (time_s[i] < task->best_s)
			task->best_s = time_s[i];
}

static bool sample(void *context, Rng *rng, Candidate *out)
{
	const Task *task = context;
	*out = task->all.items[rng_below(rng, (uint64_t)task->all.n)];
	return true;
}

static bool mutate(
    void *context, Rng *rng, const Candidate *from, Candidate *out)
{
	return space_mutate(((Task *)context)->space, rng, from, out);
}

static bool move(void *context, Rng *rng, Move move, const Candidate *from,
    Candidate *out)
{
	return space_move(((Task *)context)->space, rng, move, from, out);
}

static bool cross(void *context, Rng *rng, const Candidate *a,
    const Candidate *b, Candidate *out)
{
	return space_cross(((Task *)context)->space, rng, a, b, out);
}

static int neighbours(
    void *context, const Candidate *from, Candidate *out, int most)
{
	return space_neighbours(((Task *)context)->space, from, out, most);
}

static bool at(void *context, int64_t i, Candidate *out)
{
	const Task *task = context;
	if (i < task->all.n)
		*out = task->all.items[i];
	return i < task->all.n;
}

static uint64_t kind(void *context, const Candidate *candidate)
{
	return space_register_tile(((Task *)context)->space, candidate);
}

/* Not counted: what is so small would be listed whole and ranked, whatever the
 * search. */
SearchSpace lab_space(Task *task)
{
	return (SearchSpace){.context = task,
	    .sample = sample,
	    .mutate = mutate,
	    .move = move,
	    .cross = cross,
	    .neighbours = neighbours,
	    .count = -1,
	    .at = at,
	    .kind = kind};
}
