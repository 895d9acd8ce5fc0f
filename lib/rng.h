/* Random numbers from a counter: a stream is named by (seed, a, b), so the same
 * names give the same numbers on any thread count. */
#ifndef LIB_RNG_H
#define LIB_RNG_H

#include <stdint.h>

#include "lib/hash.h"

typedef struct {
	uint64_t key, count;
} Rng;

static inline Rng rng_stream(uint64_t seed, uint64_t a, uint64_t b)
{
	return (Rng){hash_mix(hash_mix(hash_mix(seed) ^ a) ^ b), 0};
}

static inline uint64_t rng_next(Rng *rng)
{
	return hash_mix(rng->key ^ hash_mix(rng->count++));
}

/* Uniform in 0 .. n-1; n > 0.  Lemire's multiply-shift without the rejection:
 * the bias is below n/2^64. */
static inline uint64_t rng_below(Rng *rng, uint64_t n)
{
	return (uint64_t)(((unsigned __int128)rng_next(rng) * n) >> 64);
}

static inline double rng_double(Rng *rng) /* in [0, 1) */
{
	return (double)(rng_next(rng) >> 11) * 0x1p-53;
}

#endif
