/* From a name to the numbers that were given to it.
 *
 *     Lookup names = {.arena = arena};
 *     lookup_add(&names, "c", 3);
 *     for (int e = lookup_first(&names, "c", 1); e >= 0;
 *          e = lookup_next(&names, e))
 *             use(names.entries.at[e].number);
 *
 * Entries of one name are met from the newest to the oldest.  Names are
 * borrowed. */
#ifndef LIB_LOOKUP_H
#define LIB_LOOKUP_H

#include <stdint.h>

#include "lib/vec.h"

typedef struct {
	const char *name;
	int number;
	int next; /* older entry of the bucket; -1 */
	uint64_t hash;
} LookupEntry;

typedef struct {
	Arena *arena;
	int nbuckets;
	int *bucket; /* newest entry; -1 */
	VEC(LookupEntry) entries;
} Lookup;

void lookup_add(Lookup *l, const char *name, int number);
void lookup_drop(Lookup *l); /* the newest entry */
/* An entry of the name, which is `length` bytes long; -1: none. */
int lookup_first(const Lookup *l, const char *name, size_t length);
int lookup_next(const Lookup *l, int entry);

#endif
