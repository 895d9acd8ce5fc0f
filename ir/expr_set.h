/* Different expressions, in the order in which they came; equal ones
 * (expr_equal) are found by hash, where there are more than a few. */
#ifndef IR_EXPR_SET_H
#define IR_EXPR_SET_H

#include "ir/expr.h"

typedef VEC(Expr *) ExprVec;

typedef struct {
	uint64_t hash;
	int number; /* from 1; 0: the slot is free */
} ExprSlot;

typedef struct {
	ExprVec all; /* to be read; expr_set_add appends */
	ExprSlot *slot; /* open addressing; NULL: there are few */
	int nslots;
} ExprSet;

/* Where it is in `all`; -1. */
int expr_set_find(const ExprSet *set, const Expr *e);
/* False: an equal one is there. */
bool expr_set_add(Arena *arena, ExprSet *set, const Expr *e);
ExprSet expr_set_of(Arena *arena, const ExprVec *all);

#endif
