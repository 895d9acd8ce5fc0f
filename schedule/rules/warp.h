/* A product by a GPU's matrix units, as rule_warp.c and rule_group.c write it. */
#ifndef SCHEDULE_RULES_WARP_H
#define SCHEDULE_RULES_WARP_H

#include "schedule/rules/rules.h"

/* Threads of a warp along rows and columns, a thread's rows (columns) of a fragment;
 * bytes that one fetches at once. */
enum { WARP_ROWS = 8, WARP_COLUMNS = 4, WARP_EACH = 2, WARP_FETCHED = 16 };

/* Loops of the writer, or of the sums; "": there is none. */
typedef struct {
	const char *row0, *z, *y, *row1, *row2;
	const char *column0, *x, *columns, *column1, *column2;
	const char *step0;
} WarpLoops;

typedef struct {
	Rules *r;
	const Block *block;
	const RuleBlock *info;
	const Intrinsic *in;
	const RuleRead *a, *b;
	int row, column, step;
	RuleWriter writer;
	const char *tiles;
	WarpLoops writes, sums;
} Warps;

/* The product that w->in multiplies, rows and columns in such multiples; false: it
 * is none. */
bool warp_find(const Rules *r, int i, const Intrinsic *in, int rows,
    int columns, Warps *w);
/* Who stores the sums; his axis of rows or columns in fragments: all of these, and the
 * loops of one. */
void warp_begin(Warps *w, int i);
const char *const *warp_split(Warps *w, int axis);
/* An axis of the writer, of the sums, as loop names begin. */
const char *warp_name(const Warps *w, int axis);
const char *warp_sums_name(const Warps *w, int axis);
/* Both with their loops as w->writes and w->sums have them; of the sums those of a
 * fragment, outer first. */
void warp_put_writer(Warps *w);
void warp_put_sums(Warps *w, const char *fragment);
/* cache_read of an operand, where its steps are made: the copy's name. */
const char *warp_put_copy(Warps *w, const RuleRead *read);
/* All threads fetch, some elements at once, so many iterations ahead. */
void warp_put_fetch(
    Warps *w, const RuleRead *read, DType type, const char *copy);
/* Which of the operands is copied first: a read that was replaced no longer
 * counts. */
bool warp_b_first(const Warps *w);

#endif
