#include "lib/hash.h"

#include <string.h>

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, int n)
{
	return x >> n | x << (32 - n);
}

static void sha256_block(uint32_t state[8], const unsigned char *p)
{
	uint32_t w[64], v[8];
	for (int i = 0; i < 16; i++)
		w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 |
		    (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
	for (int i = 16; i < 64; i++) {
		uint32_t a = w[i - 15], b = w[i - 2];
		w[i] = w[i - 16] + w[i - 7] +
		    (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) +
		    (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
	}
	memcpy(v, state, sizeof v);
	for (int i = 0; i < 64; i++) {
		uint32_t e = v[4], a = v[0];
		uint32_t t1 = v[7] + round_constants[i] + w[i] +
		    (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
		    ((e & v[5]) ^ (~e & v[6]));
		uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
		    ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
		memmove(v + 1, v, 7 * sizeof *v);
		v[4] += t1;
		v[0] = t1 + t2;
	}
	for (int i = 0; i < 8; i++)
		state[i] += v[i];
}

void sha256_init(Sha256 *s)
{
	*s = (Sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
			  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void sha256_add(Sha256 *s, const void *data, size_t size)
{
	const unsigned char *p = data;
	size_t have = s->length % 64;
	s->length += size;
	while (size) {
		size_t n = 64 - have < size ? 64 - have : size;
		memcpy(s->block + have, p, n);
		p += n;
		size -= n;
		have = (have + n) % 64;
		if (!have)
			sha256_block(s->state, s->block);
	}
}

void sha256_end(Sha256 *s, unsigned char digest[32])
{
	uint64_t bits = s->length * 8;
	unsigned char tail[72] = {0x80}, *p = tail;
	size_t pad = 1 + (119 - s->length % 64) % 64;
	for (int i = 0; i < 8; i++)
		p[pad + (size_t)i] = (unsigned char)(bits >> (56 - 8 * i));
	sha256_add(s, tail, pad + 8);
	for (int i = 0; i < 32; i++)
		digest[i] = (unsigned char)(s->state[i / 4] >> (24 - i % 4 * 8));
}

void sha256_hex(const void *data, size_t size, char hex[65])
{
	Sha256 s;
	unsigned char digest[32];
	sha256_init(&s);
	sha256_add(&s, data, size);
	sha256_end(&s, digest);
	for (int i = 0; i < 32; i++) {
		hex[2 * i] = "0123456789abcdef"[digest[i] >> 4];
		hex[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
	}
	hex[64] = 0;
}

uint64_t hash64(const void *data, size_t size, uint64_t seed)
{
	const unsigned char *p = data;
	uint64_t h = hash_mix(seed ^ size);
	while (size >= 8) {
		uint64_t w;
		memcpy(&w, p, 8);
		h = hash_mix(h ^ w);
		p += 8;
		size -= 8;
	}
	uint64_t w = 0;
	if (size)
		memcpy(&w, p, size);
	return hash_mix(h ^ w);
}

uint64_t hash_long(const void *data, size_t size, uint64_t seed)
{
	enum { LANES = 4 };
	uint64_t lane[LANES] = {hash_mix(seed), 1, 2, 3}, w[LANES] = {0};
	for (size_t at = 0; at < size; at += sizeof w) {
		size_t rest = size - at;
		memcpy(w, (const char *)data + at,
		    rest < sizeof w ? rest : sizeof w);
		for (int k = 0; k < LANES; k++) {
			lane[k] = (lane[k] ^ w[k]) * 0x9e3779b97f4a7c15u;
			lane[k] ^= lane[k] >> 32;
		}
	}
	for (int k = 1; k < LANES; k++)
		lane[0] = hash_mix(lane[0]) ^ lane[k];
	return hash_mix(lane[0] ^ size);
}
