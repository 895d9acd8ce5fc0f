/* Random programs of many layers, as networks have them: convolutions, dense
 * layers, pools, norms, attention, squeeze and excite, residuals, concatenations,
 * of images in both layouts and of rows of vectors.  A comment `# layer` stands
 * before the definitions of each. */
#ifndef TEST_COMMON_COMPOSE_H
#define TEST_COMMON_COMPOSE_H

#include "lib/arena.h"
#include "lib/rng.h"

/* The text of an operator file.  `size`: what extents are multiples of, 1 for
 * tests by interpreters. */
const char *compose(Arena *arena, Rng *rng, const char *name, int size);

#endif
