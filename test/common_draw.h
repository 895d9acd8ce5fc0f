/* Random choices of a program's text. */
#ifndef TEST_COMMON_DRAW_H
#define TEST_COMMON_DRAW_H

#include "lib/arena.h"
#include "lib/rng.h"

typedef struct {
	Arena *arena;
	Rng rng;
} Draw;

static inline int between(Draw *d, int least, int most)
{
	return least + (int)rng_below(&d->rng, (uint64_t)(most - least + 1));
}

static inline const char *one_of(Draw *d, const char *const *words, int n)
{
	return words[between(d, 0, n - 1)];
}

#endif
