/* All candidates in the order of their numbers, none twice. */
#include <stdlib.h>

#include "tuner/search/search_internal.h"

/* Illegal ones, or such as others are equal to, in a row: the end, for all that one
 * waits for. */
enum { IN_VAIN = 100000 };

static void grid_begin(Search *search)
{
	int64_t *number = must_alloc(sizeof *number);
	*number = 0;
	search->state = number;
}

static void grid_end(Search *search)
{
	free(search->state);
}

static int grid_next(Search *search, int n, Candidate *out)
{
	const SearchSpace *space = &search->space;
	int64_t *number = search->state;
	int got = 0;
	for (int vain = 0; got < n && vain < IN_VAIN; ++*number) {
		if (space->count >= 0 && *number >= space->count)
			break;
		bool fresh = space->at(space->context, *number, &out[got]) &&
		    !search_visited(search, &out[got]);
		vain = fresh ? 0 : vain + 1;
		if (fresh) /* others may be equal to it */
			search_visit(search, &out[got++]);
	}
	return got;
}

const SearchKind search_grid = {grid_begin, grid_end, grid_next, NULL};
