/* Groups: a program cut where a buffer is written whole before it is read.
 *
 * A group is what is searched for itself: one product with what is fused around
 * it, or the blocks between products.  It is a program of its own, with its own
 * hash, space and records, which all programs that contain it share.  The schedule
 * of the whole is the groups' traces one after another, each under a step `group`
 * that names its blocks: applied, lowered and linked as the program that it is. */
#ifndef SCHEDULE_GROUPS_H
#define SCHEDULE_GROUPS_H

#include "schedule/schedule.h"

typedef struct {
	const Program *program; /* the whole itself where there is one group */
	const char *name;       /* its product's block, or its last one */
	int same_as;            /* the first group with its hash; or itself */
} Group;

typedef struct {
	Arena *arena;
	const Program *whole;
	int n;        /* at least 1 */
	Group *groups; /* producers first */
	int *group_of; /* by block of the whole */
} Groups;

/* `machine`: that they are for; NULL: any with vectors of less than 64 bytes. */
Groups *groups_of(Arena *arena, const Program *program, const Machine *machine);
/* The same, but that groups without a product are not cut again: asks no model. */
Groups *groups_of_products(Arena *arena, const Program *program);

/* groups_apart.c: numbers the parts in which the model would rather have the groups
 * that are not kept as they are; piece[]: by block of the whole. */
void groups_apart(
    const Groups *joined, const bool *kept, const Machine *machine, int *piece);

/* The same file: of two ways to cut a program, better[]: by block, does the model
 * rather have the groups of the second where they are not those of the first? */
void groups_better(const Groups *first, const Groups *second,
    const Machine *machine, bool *better);

/* groups.c: the root of i's set, each element's parent in up[], a root's itself. */
int groups_root(int *up, int i);

/* What a trace of the first group with the same hash is in `group`'s names. */
Trace *groups_trace(Arena *arena, const Groups *groups, int group,
    const Trace *trace, Error *error);

/* The trace of the whole: traces[i] is of group i, in its names (which are the
 * whole's); NULL: nothing is done to that group. */
Trace *groups_join(
    Arena *arena, const Groups *groups, Trace *const *traces, Error *error);

#endif
