/* What steps of a schedule are worth: each sketch of an operator alone, a closed part
 * of it measured whole.  A spec's templates are sketches, and come before those that
 * the rules write. */
#include <math.h>
#include <stdio.h>

#include "test/lab/lab.h"

enum { VECTORS = 192 };

/* The part of one sketch that is worth searching. */
static bool close_alone(
    Arena *arena, const Task *whole, int sketch, Closed *out, Error *error)
{
	Space *space =
	    space_new(arena, whole->program, &whole->target->machine, error);
	if (!space)
		return false;
	space_keep_sketches(space, &sketch, 1);
	*out = lab_close(arena, space, VECTORS);
	out->sketches[0].sketch = sketch;
	return true;
}

static Status measure_sketch(const Task *whole, int sketch, const char *spec,
    const char *name, double *first_s, Error *error)
{
	Arena *arena = arena_new();
	Closed closed;
	Task *task = NULL;
	Status status = STATUS_OK;
	if (close_alone(arena, whole, sketch, &closed, error))
		task = lab_task(arena, name, spec, NULL, whole->target->text,
		    &closed, error);
	status = task ? lab_measure(task, NULL, error) : error->status;
	if (!status) {
		if (!*first_s)
			*first_s = task->best_s;
		printf("| %s | %d | %.1f | %.1f |\n", name, task->all.n,
		    1e6 * task->best_s, *first_s / task->best_s);
		fflush(stdout);
	}
	arena_free(arena);
	return status;
}

Status lab_rules(
    Arena *arena, const char *spec, const char *target, Error *error)
{
	Task *whole = lab_task(arena, "whole", spec, NULL, target, NULL, error);
	double first_s = 0;
	if (!whole)
		return error->status;
	Space *space =
	    space_new(arena, whole->program, &whole->target->machine, error);
	printf("| sketch | candidates | best, us | times the first |\n"
	       "| --- | --- | --- | --- |\n");
	for (int i = 0; space && i < space_nsketches(space); i++)
		FORWARD_IF_ERROR(measure_sketch(whole, i, spec,
		    space_sketch_name(space, i), &first_s, error));
	return space ? STATUS_OK : error->status;
}
