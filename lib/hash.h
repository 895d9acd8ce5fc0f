/* Hashing: SHA-256 (FIPS 180-4) for names that last, a 64-bit mixer for tables
 * in memory. */
#ifndef LIB_HASH_H
#define LIB_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
	uint32_t state[8];
	uint64_t length; /* bytes so far */
	unsigned char block[64];
} Sha256;

void sha256_init(Sha256 *s);
void sha256_add(Sha256 *s, const void *data, size_t size);
void sha256_end(Sha256 *s, unsigned char digest[32]);

/* 64 lower-case hex digits and a NUL. */
void sha256_hex(const void *data, size_t size, char hex[65]);

uint64_t hash64(const void *data, size_t size, uint64_t seed);

/* Another one, of what is long: four words at once. */
uint64_t hash_long(const void *data, size_t size, uint64_t seed);

/* The finalizer of splitmix64 (Steele, Lea, Flood 2014). */
static inline uint64_t hash_mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

#endif
