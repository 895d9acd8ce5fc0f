/* What was just stored is not loaded again:
 *
 *     y = DIV(a, b)                        y = DIV(a, b)
 *     STORE_MASKED t[i], y, lanes          STORE_MASKED t[i], y, lanes
 *     v = LOAD_MASKED t[i], lanes    ->    v = SELECT(lanes, y, 0)
 *     z = MUL(v, v)                        z = MUL(v, v)
 *
 * A load waits until a store under a mask is in the cache, some twenty cycles, for
 * it may need bytes that the store left as they were.  Of each buffer the last few
 * vectors are known, as long as nothing is stored that may overlap them; of single
 * elements the last one, for they mostly come out of a vector, and a load puts one
 * into all lanes where a register takes two shuffles. */
#include "codegen/lower/lower_internal.h"

#include <assert.h>
#include <string.h>

enum { STORED_MOST = 16 };

/* Of the lanes that are stored the last, and one. */
static int end_of(const Lower *l, int lanes, int mask)
{
	const TempInfo *t = mask < 0 ? NULL : &l->part->temps.at[mask];
	while (t && t->certain && lanes > 0 && !(t->on >> (lanes - 1) & 1))
		lanes--;
	return lanes;
}

/* Do they lie apart, wherever both of them are? */
static bool is_apart(const Stored *a, const Stored *b)
{
	LowAffine x = a->address, y = b->address;
	int64_t by = y.constant - x.constant;
	x.constant = y.constant = 0;
	return low_affine_equal(x, y) && (by >= a->end || -by >= b->end);
}

void note_stored(Lower *l, int buffer, LowAffine address, int temp, int mask)
{
	StoredVec *list = &l->part->stored[buffer];
	int lanes = l->f->temps.at[temp].lanes, kept = 0;
	Stored now = {address, temp, mask, lanes, end_of(l, lanes, mask),
	    l->part->version[buffer] + 1, l->part->scope->depth,
	    l->part->scope->serial};
	assert(l->part->low_buffer[buffer] >= 0);
	assert(mask < 0 || l->f->temps.at[mask].lanes == lanes);
	for (int i = 0; i < list->n && lanes > 1; i++) {
		Stored s = list->at[i];
		if (s.version == l->part->version[buffer] && is_apart(&s, &now))
			list->at[kept++] = s;
	}
	list->n = kept;
	l->part->version[buffer] = now.version;
	for (int i = 0; i < kept; i++)
		list->at[i].version = now.version;
	if (kept == STORED_MOST)
		memmove(list->at, list->at + 1,
		    sizeof *list->at * (size_t)--list->n);
	vec_push(l->arena, list, now);
}

static bool is_settled(const Lower *l, int temp)
{
	return temp < 0 || !l->part->temps.at[temp].mutable;
}

int stored_value(
    const Lower *l, int buffer, LowAffine address, int lanes, int mask)
{
	const StoredVec *list = &l->part->stored[buffer];
	for (int i = 0; i < list->n; i++) {
		const Stored *s = &list->at[i];
		if (s->version == l->part->version[buffer] &&
		    s->lanes == lanes && s->mask == mask &&
		    s->depth >= l->part->scope->fenced &&
		    l->part->open_serial[s->depth] == s->serial &&
		    is_settled(l, s->temp) && is_settled(l, mask) &&
		    low_affine_equal(s->address, address))
			return s->temp;
	}
	return -1;
}
