/* A product by a GPU's matrix units, as rule_warp.c and rule_group.c write it. */
#ifndef SCHEDULE_RULES_WARP_H
#define SCHEDULE_RULES_WARP_H

#include "schedule/rules/block.h"

/* Threads of a warp along rows and columns, a thread's rows (columns) of a fragment;
 * bytes that one fetches at once. */
enum { WARP_ROWS = 8, WARP_COLUMNS = 4, WARP_EACH = 2, WARP_FETCHED = 16 };

typedef struct {
	Rules *r;
	const Block *block;
	const RuleBlock *info;
	const Intrinsic *in;
	const RuleRead *a, *b;
	int row, column, step;
	const Block *writer; /* the block's reader, or the block */
	int reader;          /* -1: it is the block */
	const char *acc, *tiles;
} Warps;

void warp_put(Warps *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The product that w->in multiplies, rows and columns in such multiples; false: it
 * is none. */
bool warp_find(const Rules *r, int i, const Intrinsic *in, int rows,
    int columns, Warps *w);
/* A loop's name: of the writer, of the sums, of an axis. */
const char *warp_name(Warps *w, int axis, const char *suffix);
const char *warp_sums(Warps *w, int axis, const char *suffix);
const char *warp_writer_axis(const Warps *w, int axis);
/* Of the writer, or of the sums, the axes that are not tiled, each with a comma. */
void warp_put_others(Warps *w, const char *stage, bool writes);
/* Where sums are and who writes them. */
void warp_choose_writer(Warps *w, int i);
/* cache_read of an operand, where its steps are made: the copy's name. */
const char *warp_put_copy(Warps *w, const RuleRead *read);
/* All threads fetch, some elements at once, so many iterations ahead. */
void warp_put_fetch(
    Warps *w, const RuleRead *read, DType type, const char *copy);
/* Which of the operands is copied first: a read that was replaced no longer
 * counts. */
bool warp_b_first(const Warps *w);

#endif
