#include "lib/lookup.h"

#include <string.h>

#include "lib/hash.h"

enum { FIRST_BUCKETS = 64 };

static int *bucket_of(const Lookup *l, const char *name, size_t length)
{
	uint64_t h = hash64(name, length, 0);
	return &l->bucket[h & (uint64_t)(l->nbuckets - 1)];
}

static void link_entry(Lookup *l, int e)
{
	LookupEntry *entry = &l->entries.at[e];
	int *bucket = bucket_of(l, entry->name, strlen(entry->name));
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
	vec_push(l->arena, &l->entries, (LookupEntry){name, number, -1});
	link_entry(l, l->entries.n - 1);
}

void lookup_drop(Lookup *l)
{
	LookupEntry *entry = &l->entries.at[--l->entries.n];
	*bucket_of(l, entry->name, strlen(entry->name)) = entry->next;
}

/* The entry, or the first behind it in its bucket, that has the name. */
static int match(const Lookup *l, int e, const char *name, size_t length)
{
	for (; e >= 0; e = l->entries.at[e].next) {
		const char *other = l->entries.at[e].name;
		if (!strncmp(other, name, length) && !other[length])
			return e;
	}
	return -1;
}

int lookup_first(const Lookup *l, const char *name, size_t length)
{
	if (!l->nbuckets)
		return -1;
	return match(l, *bucket_of(l, name, length), name, length);
}

int lookup_next(const Lookup *l, int entry)
{
	const LookupEntry *e = &l->entries.at[entry];
	return match(l, e->next, e->name, strlen(e->name));
}
