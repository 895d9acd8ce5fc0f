/* Elements that were computed, by buffer and place: a number for each, in the order
 * in which they were added.
 *
 *     Computed computed = {0};
 *     int number = computed_find(&computed, buffer, at);   -1: not yet
 *     computed_add(&computed, buffer, at);                 the next number
 *     computed_free(&computed); */
#ifndef IR_COMPUTED_H
#define IR_COMPUTED_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
	int buffer; /* -1: free */
	int number;
	int64_t at;
} ComputedEntry;

typedef struct {
	ComputedEntry *entries; /* open addressing */
	size_t size;
	int n;
} Computed;

int computed_find(const Computed *computed, int buffer, int64_t at);
/* One that is not there. */
void computed_add(Computed *computed, int buffer, int64_t at);
void computed_free(Computed *computed);

#endif
