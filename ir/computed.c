#include "ir/computed.h"

#include <stdlib.h>

#include "lib/arena.h"
#include "lib/hash.h"

/* Its place, or a free one. */
static ComputedEntry *place(const Computed *c, int buffer, int64_t at)
{
	size_t i = hash_mix((uint64_t)at ^ hash_mix((uint64_t)buffer));
	for (i &= c->size - 1; c->entries[i].buffer >= 0;
	     i = (i + 1) & (c->size - 1))
		if (c->entries[i].buffer == buffer && c->entries[i].at == at)
			break;
	return &c->entries[i];
}

static void grow(Computed *c)
{
	Computed old = *c;
	c->size = old.size ? old.size * 2 : 1024;
	c->entries = must_alloc(c->size * sizeof *c->entries);
	for (size_t i = 0; i < c->size; i++)
		c->entries[i].buffer = -1;
	for (size_t i = 0; i < old.size; i++) {
		const ComputedEntry *e = &old.entries[i];
		if (e->buffer >= 0)
			*place(c, e->buffer, e->at) = *e;
	}
	free(old.entries);
}

int computed_find(const Computed *c, int buffer, int64_t at)
{
	if (!c->size)
		return -1;
	const ComputedEntry *e = place(c, buffer, at);
	return e->buffer >= 0 ? e->number : -1;
}

void computed_add(Computed *c, int buffer, int64_t at)
{
	if ((size_t)c->n * 2 >= c->size)
		grow(c);
	*place(c, buffer, at) = (ComputedEntry){buffer, c->n++, at};
}

void computed_free(Computed *c)
{
	free(c->entries);
}
