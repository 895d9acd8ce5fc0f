/* Random candidates, none twice: what any other search has to beat. */
#include "tuner/search/search_internal.h"

static void random_begin(Search *search)
{
	search->state = NULL;
}

static void random_end(Search *search)
{
	search->state = NULL;
}

static int random_next(Search *search, int n, Candidate *out)
{
	(void)search;
	(void)n;
	(void)out;
	return 0; /* the whole batch is the random part */
}

const SearchKind search_random = {random_begin, random_end, random_next, NULL};
