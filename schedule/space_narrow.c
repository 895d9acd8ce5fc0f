/* A part of a space as a space of its own: fewer sketches, and of a decision fewer
 * values.  What was left out is illegal from then on, like any value that no
 * domain has; all other questions are answered as before. */
#include "schedule/space.h"

#include <assert.h>
#include <string.h>

void space_keep_sketches(Space *space, const int *sketches, int n)
{
	assert(n > 0);
	for (int i = 0; i < n; i++) {
		assert(!i || sketches[i - 1] < sketches[i]);
		assert(sketches[i] >= i && sketches[i] < space->sketches.n);
		space->sketches.at[i] = space->sketches.at[sketches[i]];
	}
	space->sketches.n = n;
	space_forget_plans(space);
}

bool space_keep_named(Space *space, const char *name)
{
	for (int i = 0; i < space->sketches.n; i++) {
		if (strcmp(space_sketch_name(space, i), name))
			continue;
		space_keep_sketches(space, &i, 1);
		return true;
	}
	return false;
}

/* The values at the positions, of a domain's part; arrays may be shared. */
static const TraceValue *keep(Arena *arena, const Trace *trace,
    const Part *part, const int *positions, int n)
{
	Domain *d = &trace->steps.at[part->step].args[part->arg].domain;
	size_t parts = (size_t)d->parts;
	TraceValue *kept = NEW_N(arena, TraceValue, n);
	for (int i = 0; i < n; i++)
		kept[i] = d->values[part->part][positions[i]];
	d->values = arena_memdup(arena, d->values, sizeof *d->values * parts);
	d->nvalues =
	    arena_memdup(arena, d->nvalues, sizeof *d->nvalues * parts);
	d->values[part->part] = kept;
	d->nvalues[part->part] = n;
	return kept;
}

void space_keep_values(
    Space *space, int sketch, int part, const int *positions, int n)
{
	Sketch *s = &space->sketches.at[sketch];
	Part *p = &s->parts[part];
	int usual = 0;
	assert(n > 0 && positions[0] >= 0 && positions[n - 1] < p->size);
	for (int i = 0; i < n; i++) {
		assert(!i || positions[i - 1] < positions[i]);
		if (positions[i] == p->usual)
			usual = i;
	}
	p->values = keep(space->arena, s->trace, p, positions, n);
	keep(space->arena, s->canonical, p, positions, n);
	p->size = n;
	p->usual = usual;
	space_forget_plans(space);
}

char *space_value_text(const Space *space, int sketch, int part, int position)
{
	Buf text = {0};
	assert(position < space_part_size(space, sketch, part));
	value_print(&text,
	    &space->sketches.at[sketch].parts[part].values[position]);
	return text.data;
}
