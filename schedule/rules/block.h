/* A product in blocks of threads, as rule_block.c and rule_block_fetch.c write
 * it. */
#ifndef SCHEDULE_RULES_BLOCK_H
#define SCHEDULE_RULES_BLOCK_H

#include "schedule/rules/rules.h"

typedef enum { BLOCK_X, BLOCK_Y, BLOCK_Z, BLOCK_AXES } BlockAxis;

enum {
	BLOCK_VALUES = 24,
	BANKS = 32, /* of shared memory, 4 bytes each */
	SHIFT = 4   /* of a row against the one before: keeps vectors whole */
};

/* Of a decision, in order. */
typedef struct {
	int n, at[BLOCK_VALUES];
} BlockValues;

/* Loops of an axis that is tiled: its tiles, perhaps rows of them that go together,
 * threads, results of a thread; of x, which has threads inside of those, neighbours of
 * one thread.  The same of the sums. */
typedef enum {
	TILE_OUTER,
	TILE_GROUP,
	TILE_THREADS,
	TILE_RESULTS,
	TILE_LANES,
	SUMS_THREADS,
	SUMS_RESULTS,
	SUMS_LANES,
	TILE_LOOPS
} TileLoop;

typedef struct {
	int axis;         /* of the block; -1: none in this direction */
	const char *name; /* of the writer's axis */
	const char *loops[TILE_LOOPS]; /* "": there is none */
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

/* Of all directions, the last one first. */
const char *product_loops(const Product *p, TileLoop kind);
/* Each is the threads' in its direction. */
void product_bind(Product *p, TileLoop kind);
/* Who writes, and what its axes that are tiled are called. */
void product_writer(Product *p, RuleWriter w);
/* An axis of the writer in tiles, the loops as they follow each other. */
void product_split(Product *p, BlockAxis direction, const char *suffixes,
    const TileLoop *loops, const char *sizes);
/* The writer's axes in no tiles. */
const char *product_others(const Product *p);
/* Is the axis an index by itself wherever it is one? */
bool product_reads_at(const RuleBlock *b, int axis);
bool product_tiles(const Product *p, int axis); /* in some direction */

/* rule_block_fetch.c: what a block of threads reads, through shared memory. */
void product_fetch(Product *p);

#endif
