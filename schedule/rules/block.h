/* A product in blocks of threads, as rule_block.c and rule_block_fetch.c write
 * it. */
#ifndef SCHEDULE_RULES_BLOCK_H
#define SCHEDULE_RULES_BLOCK_H

#include "schedule/rules/rules.h"

#include <stdarg.h>

typedef enum { BLOCK_X, BLOCK_Y, BLOCK_Z, BLOCK_AXES } BlockAxis;

enum { BLOCK_VALUES = 24 };

/* Of a decision, in order. */
typedef struct {
	int n, at[BLOCK_VALUES];
} BlockValues;

/* An axis that is tiled: its tiles, perhaps in groups, threads, results of a thread; of x, which
 * has threads inside of those, neighbours of one thread. */
typedef struct {
	int axis;         /* of the block; -1: none in this direction */
	const char *name; /* of the writer's axis */
	const char *outer, *threads, *results, *lanes; /* the writer's loops */
	const char *group; /* rows of tiles that go together; NULL: they do not */
} TileAxis;

typedef struct {
	Rules *r;
	const Block *block;
	const RuleBlock *info;
	const Block *writer_block;
	const char *writer, *acc; /* the stages that write and that add up */
	const char *tiles;        /* the loop over blocks */
	const char *steps;        /* the loop that fetches */
	TileAxis axes[BLOCK_AXES];
	int step;                 /* the axis of the reduction that is cut */
	int usual_steps;
	bool taps;                /* the others of the reduction are outside of
				     it: a window's columns one by one */
	const char *partial;      /* the stage of partial sums; NULL: none */
	const char *part, *rest;  /* its axes: which part, and the steps of one */
	bool padded;              /* what is fetched has zeros behind its end */
} Product;

void product_put(Product *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Is the axis an index by itself wherever it is one? */
bool product_reads_at(const RuleBlock *b, int axis);
bool product_tiles(const Product *p, int axis); /* in some direction */

/* rule_block_fetch.c: what a block of threads reads, through shared memory. */
void product_fetch(Product *p);

#endif
