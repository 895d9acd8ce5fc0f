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

typedef struct {
	TapeOp op;
	Handle a, b, result;
} KnownResult;

/* Tables of open addressing. */
struct TapeMemo {
	Arena *arena;
	KnownPoly **polys; /* NULL: empty */
	int npolys, polys_size;
	KnownResult *results; /* result -1: empty */
	int nresults, results_size;
	Handle *renamed;
	int renamed_size;
};

TapeMemo *memo_new(Arena *arena)
{
	TapeMemo *memo = NEW(arena, TapeMemo);
	memo->arena = arena;
	return memo;
}

/* --- signs ---------------------------------------------------------------- */

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

/* --- results --------------------------------------------------------------- */

static KnownResult *result_place(
    const TapeMemo *m, TapeOp op, Handle a, Handle b)
{
	unsigned mask = (unsigned)m->results_size - 1;
	uint64_t ab = (uint64_t)a << 32 | (uint64_t)b;
	unsigned i = (unsigned)hash_mix(ab * 31 + op) & mask;
	for (;; i = (i + 1) & mask) {
		KnownResult *r = &m->results[i];
		if (r->result < 0 || (r->a == a && r->b == b && r->op == op))
			return r;
	}
}

static void grow_results(TapeMemo *m)
{
	KnownResult *old = m->results;
	int n = m->results_size;
	m->results_size = n ? n * 2 : 256;
	m->results = NEW_N(m->arena, KnownResult, m->results_size);
	for (int i = 0; i < m->results_size; i++)
		m->results[i].result = -1;
	for (int i = 0; i < n; i++)
		if (old[i].result >= 0)
			*result_place(m, old[i].op, old[i].a, old[i].b) =
			    old[i];
}

Handle *memo_renamed(TapeMemo *m, int n)
{
	if (n <= m->renamed_size)
		return m->renamed;
	m->renamed_size = 2 * n;
	m->renamed = NEW_N(m->arena, Handle, m->renamed_size);
	for (int i = 0; i < m->renamed_size; i++)
		m->renamed[i] = -1;
	return m->renamed;
}

Handle memo_result(const TapeMemo *m, TapeOp op, Handle a, Handle b)
{
	return m->nresults ? result_place(m, op, a, b)->result : -1;
}

void memo_keep_result(TapeMemo *m, TapeOp op, Handle a, Handle b, Handle result)
{
	if (m->nresults * 2 >= m->results_size)
		grow_results(m);
	*result_place(m, op, a, b) = (KnownResult){op, a, b, result};
	m->nresults++;
}
