/* What the passes over nests share. */
#ifndef IR_INTERNAL_H
#define IR_INTERNAL_H

#include "ir/nest/nest.h"

/* nest_tree.c: the loops around each stage's body, and what bodies read */
typedef struct {
	int stage;
	Expr *read;
} NestRead;
typedef VEC(NestRead) NestReads;

typedef struct {
	const Nest *nest;
	int **chain; /* by stage: loops, outermost first, through all places */
	int *nchain;
	ExprVec *reads;     /* by stage, as they stand in its body */
	NestReads *readers; /* by buffer: its reads, in nest order */
} NestTree;

NestTree nest_tree(const Nest *nest);
bool nest_tree_below(const NestTree *tree, int stage, int loop);
/* The stage whose loop is the stage's place; -1: none. */
int nest_tree_host(const NestTree *tree, int stage);
/* Does it hang, after their body, below the writer's own loops? */
bool nest_tree_follows(const NestTree *tree, int reader, int writer);
/* How many loops are around the stage's own. */
int nest_tree_above(const NestTree *tree, int stage);

/* nest_invariants.c: asserts what holds of every nest, before and after an
 * inference. */
void nest_assert_structure(const Nest *nest);
void nest_assert_inferred(const Nest *nest);

/* nest_along.c: does it lie in memory as the program has it, whatever tiles are chosen?
 * A definition at the root writes what it has, as an output does, unless its tiles are
 * computed beyond its end. */
bool nest_lies_whole(const Nest *nest, const NestBuffer *buffer);

/* nest_launch.c: what a GPU's blocks and threads ask. */
bool nest_launches_verify(
    const Nest *nest, const NestTree *tree, const char **why);

/* nest_spread.c: registers that a block's threads share out.  Which digit of an
 * element's index tells the number of the thread that has it, in one direction. */
typedef struct {
	int dim;
	Handle step, extent;
} SpreadDigit;
/* By a thread loop inside of the buffer's place; index: by dimension, from where
 * the buffer begins. */
bool nest_spread_digit(Nest *nest, int loop, const Affine *index, int ndim,
    SpreadDigit *digit, const char **why);
bool nest_spread_same(Nest *nest, const SpreadDigit *a, const SpreadDigit *b,
    const char **why);

/* Variables that stand still, for nest_hull: emptied in the time that it took
 * to fill, since there may be as many variables as a file has lines. */
typedef struct {
	Arena *arena;
	bool *at; /* by variable */
	IntVec marked;
} FixedVars;

FixedVars fixed_vars(const Nest *nest);
void fixed_clear(FixedVars *fixed);
void fixed_mark(FixedVars *fixed, int var);

#endif
