/* What the passes over nests share. */
#ifndef IR_INTERNAL_H
#define IR_INTERNAL_H

#include "ir/nest.h"

/* nest_tree.c: the loops around each stage's body, and what bodies read */
typedef struct {
	const Nest *nest;
	int **chain; /* by stage: loops, outermost first, through all places */
	int *nchain;
} NestTree;
typedef VEC(Expr *) ExprVec;

NestTree nest_tree(const Nest *nest);
bool nest_tree_below(const NestTree *tree, int stage, int loop);
/* The stage whose loop is the stage's place; -1: none. */
int nest_tree_host(const NestTree *tree, int stage);
/* Does it hang, after their body, below the writer's own loops? */
bool nest_tree_follows(const NestTree *tree, int reader, int writer);
/* How many loops are around the stage's own. */
int nest_tree_above(const NestTree *tree, int stage);
/* The reads of a buffer (-1: of any) in a stage's body. */
ExprVec nest_tree_reads(const NestTree *tree, int stage, int buffer);

#endif
