#include "lib/vec.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

void *vec_grow(Arena *arena, void *old, int *cap, size_t item_size)
{
	assert(*cap >= 0 && *cap <= INT_MAX / 2);
	int bigger = *cap ? *cap * 2 : 8;
	void *p = arena_piece(arena, (size_t)bigger * item_size);
	if (old)
		memcpy(p, old, (size_t)*cap * item_size);
	*cap = bigger;
	return p;
}
