#include "lib/lookup.h"

#include <assert.h>
#include <string.h>

#include "lib/hash.h"

enum { FIRST_BUCKETS = 64 };

static int *bucket_of(const Lookup *l, uint64_t hash)
{
	assert(l->nbuckets && !(l->nbuckets & (l->nbuckets - 1)));
	return &l->bucket[hash & (uint64_t)(l->nbuckets - 1)];
}

static void link_entry(Lookup *l, int e)
{
	LookupEntry *entry = &l->entries.at[e];
	int *bucket = bucket_of(l, entry->hash);
	entry->next = *bucket;
	*bucket = e;
}

static void grow(Lookup *l)
{
	l->nbuckets = l->nbuckets ? l->nbuckets * 2 : FIRST_BUCKETS;
	l->bucket = NEW_N(l->arena, int, l->nbuckets);
	for (int i = 0; i < l->nbuckets; i++)
		l->bucket[i] = -1;
	for (int e = 0; e < l->entries.n; e++)
		link_entry(l, e);
}

void lookup_add(Lookup *l, const char *name, int number)
{
	if (l->entries.n >= l->nbuckets)
		grow(l);
	vec_push(l->arena, &l->entries,
	    (LookupEntry){name, number, -1, hash64(name, strlen(name), 0)});
	link_entry(l, l->entries.n - 1);
}

void lookup_drop(Lookup *l)
{
	assert(l->entries.n > 0);
	LookupEntry *entry = &l->entries.at[--l->entries.n];
	assert(*bucket_of(l, entry->hash) == l->entries.n);
	*bucket_of(l, entry->hash) = entry->next;
}

/* The entry, or the first behind it in its bucket, that has the name. */
static int match(
    const Lookup *l, int e, const char *name, size_t length, uint64_t hash)
{
	for (; e >= 0; e = l->entries.at[e].next) {
		const LookupEntry *other = &l->entries.at[e];
		if (other->hash == hash &&
		    !strncmp(other->name, name, length) && !other->name[length])
			return e;
	}
	return -1;
}

int lookup_first(const Lookup *l, const char *name, size_t length)
{
	if (!l->entries.n)
		return -1;
	uint64_t hash = hash64(name, length, 0);
	return match(l, *bucket_of(l, hash), name, length, hash);
}

int lookup_next(const Lookup *l, int entry)
{
	assert(entry >= 0 && entry < l->entries.n);
	const LookupEntry *e = &l->entries.at[entry];
	assert(e->next < entry);
	return match(l, e->next, e->name, strlen(e->name), e->hash);
}
