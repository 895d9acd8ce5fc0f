/* What a tape was asked before.  A program's schedules ask the same few thousand
 * questions hundreds of thousands of times, most of them on the way to another. */
#include "ir/tape/tape_internal.h"

#include <string.h>

#include "lib/hash.h"

typedef struct {
	int64_t coefficient;
	uint64_t key;
	int n;
	Handle *factor;
} KnownTerm;

typedef struct {
	uint64_t hash;
	int n;
	KnownTerm *term;
	Sign sign;
} KnownPoly;

struct TapeMemo {
	Arena *arena;
	KnownPoly **polys; /* open addressing; NULL: empty */
	int npolys, polys_size;
};

TapeMemo *memo_new(Arena *arena)
{
	TapeMemo *memo = NEW(arena, TapeMemo);
	memo->arena = arena;
	return memo;
}

/* Of its terms in any order. */
static uint64_t poly_hash(const Poly *p)
{
	uint64_t h = 0;
	for (int i = 0; i < p->n; i++)
		h += hash_mix(
		    p->term[i].key ^ hash_mix((uint64_t)p->term[i].coefficient));
	return hash_mix(h);
}

static bool has_term(const Poly *p, const KnownTerm *k)
{
	for (int i = 0; i < p->n; i++) {
		const Term *t = &p->term[i];
		if (t->key == k->key && t->coefficient == k->coefficient &&
		    t->n == k->n &&
		    !memcmp(t->factor, k->factor,
			sizeof *k->factor * (size_t)k->n))
			return true;
	}
	return false;
}

/* No two terms of a polynomial have the same factors. */
static bool is_known(const KnownPoly *k, const Poly *p, uint64_t hash)
{
	if (k->hash != hash || k->n != p->n)
		return false;
	for (int i = 0; i < k->n; i++)
		if (!has_term(p, &k->term[i]))
			return false;
	return true;
}

static KnownPoly **place_of(const TapeMemo *m, const Poly *p, uint64_t hash)
{
	unsigned mask = (unsigned)m->polys_size - 1;
	unsigned i = (unsigned)hash & mask;
	while (m->polys[i] && !(p && is_known(m->polys[i], p, hash)))
		i = (i + 1) & mask;
	return &m->polys[i];
}

static void grow_polys(TapeMemo *m)
{
	KnownPoly **old = m->polys;
	int n = m->polys_size;
	m->polys_size = n ? n * 2 : 64;
	m->polys = NEW_N(m->arena, KnownPoly *, m->polys_size);
	for (int i = 0; i < n; i++)
		if (old[i])
			*place_of(m, NULL, old[i]->hash) = old[i];
}

static KnownPoly *known_new(TapeMemo *m, const Poly *p, uint64_t hash)
{
	KnownPoly *k = NEW(m->arena, KnownPoly);
	*k = (KnownPoly){.hash = hash,
	    .n = p->n,
	    .term = NEW_N(m->arena, KnownTerm, p->n),
	    .sign = {SIGN_DEPTH + 1, -1}};
	for (int i = 0; i < p->n; i++) {
		const Term *t = &p->term[i];
		k->term[i] = (KnownTerm){t->coefficient, t->key, t->n,
		    arena_memdup(m->arena, t->factor,
			sizeof *t->factor * (size_t)t->n)};
	}
	return k;
}

Sign *memo_sign(TapeMemo *m, const Poly *p)
{
	uint64_t hash = poly_hash(p);
	if (m->npolys * 2 >= m->polys_size)
		grow_polys(m);
	KnownPoly **k = place_of(m, p, hash);
	if (!*k) {
		*k = known_new(m, p, hash);
		m->npolys++;
	}
	return &(*k)->sign;
}
