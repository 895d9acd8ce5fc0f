/* What is at or below each node of expressions, found once: a chain of n
 * operands is walked once, not once from each of its nodes.
 *
 * Nodes are told apart by address.  Nothing changes a node, so that what was
 * found stays true; a new node is looked at when it is asked for. */
#ifndef IR_SUMMARY_H
#define IR_SUMMARY_H

#include "ir/expr.h"

/* Axes, ascending.  Of one Summaries equal sets are one pointer. */
typedef struct {
	int n;
	const int *axis;
} AxisSet;

typedef struct {
	uint64_t hash;	     /* equal expressions have one */
	uint64_t alike;	     /* and those that are, but for their axes, this */
	const AxisSet *axes; /* never NULL */
	bool reads;	     /* READ or REDUCE */
	bool reduces;
	/* of values that are computed here, not in an index, in a condition on
	 * axes alone, nor below a READ or a REDUCE */
	int flops;
	bool function; /* of OPKIND_FUNCTION */
	bool dear;     /* one of them but sqrt and rsqrt */
	bool division;
	bool division_by_data;
} Summary;

typedef struct Summaries Summaries;

/* Lives in the arena, with what it finds. */
Summaries *summaries_new(Arena *arena);
const Summary *summary_of(Summaries *summaries, const Expr *e);
bool summary_equal(Summaries *summaries, const Expr *a, const Expr *b);
bool axis_set_has(const AxisSet *set, int axis);
/* Of both. */
const AxisSet *axis_set_union(
    Summaries *summaries, const AxisSet *a, const AxisSet *b);

#endif
