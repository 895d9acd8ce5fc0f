/* Bind: each element of a block is a thread's.
 *
 *     for i in 100  for j in 96        f = fuse(y.i, y.j)
 *       for k                          f0, fr, f1 = split(f, [_, 4, 256])
 *         y[i, j] += ...         -->   blockIdx.x f0  threadIdx.x f1
 *                                        unroll fr
 *                                          y[i, j] = ...
 *
 * Neighbours in memory are neighbouring threads' where the last axis is the one
 * that lies side by side.  Where there are many elements a thread has some, as
 * far apart as there are threads, so that more than one load is on its way.
 * What is left of the last block are threads without work.  A reduction that is
 * read element by element is made by the thread that reads it.  What has no axis
 * but those of its reduction is one thread's. */
#include "schedule/rules/rules.h"

enum {
	USUAL = 256, /* threads of a block */
	MANY = 4096, /* elements for each processor */
	CALLS = 512  /* threads at most of a body that calls functions */
};

/* Is it made where it is read? */
static bool is_made_by_reader(const Rules *r, int i)
{
	return r->program->blocks[i].reduce != REDUCE_NONE &&
	    rule_elementwise_reader(r, &r->blocks[i]) >= 0;
}

/* Reductions that the block alone reads, and that have no loops: in its
 * thread. */
static bool makes_reductions(Rules *r, int i, const char *thread)
{
	bool any = false;
	for (int b = 0; b < i; b++) {
		const Block *block = &r->program->blocks[b];
		const char *name = block->name;
		if (!rule_is_open(r, b) ||
		    r->program->blocks[b].reduce == REDUCE_NONE ||
		    rule_elementwise_reader(r, &r->blocks[b]) != i)
			continue;
		any = true;
		if (!thread)
			continue;
		rule_put(r,
		    "set_scope(%s, reg)\ncompute_at(%s, %s)\n"
		    "each unroll(%s)\n",
		    name, name, thread,
		    rule_loops(r, name, block, 0, block->nspatial, -1, -1));
		r->blocks[b].scheduled = true;
	}
	return any;
}

/* A loop is cut into blocks, what a thread has and threads.  Functions are long, and
 * need registers: one at a time has work enough. */
static const char *put_threads(Rules *r, const Block *block, const char *all,
    int64_t elements, bool one, bool calls)
{
	int most = calls && CALLS < r->machine->block_threads
	    ? CALLS
	    : r->machine->block_threads;
	bool many = elements >= (int64_t)MANY * r->machine->processors;
	const char *const *x =
	    rule_split_loop(r, all, rule_name(r, block, "f", ""),
		one ? "0 1" : "0 r 1", "?=[_, %s, %d] in tile([%s], [%s])",
		one	   ? ""
		    : many ? "4"
			   : "1",
		USUAL, one ? "" : "1, 2, 4, 8",
		rule_powers(r, r->machine->warp, most));
	const char *threads = x[one ? 1 : 2];
	if (!one)
		rule_put(r, "reorder(%s, %s, %s)\n", x[0], x[2], x[1]);
	rule_put(r, "bind(%s, blockIdx.x)\nbind(%s, threadIdx.x)\nunroll(%s)\n",
	    x[0], threads, one ? "" : x[1]);
	return threads;
}

void rule_bind(Rules *r, int i)
{
	const Block *block = &r->program->blocks[i];
	double elements = block_points(block, 0, block->nspatial);
	const char *all =
	    rule_loops(r, block->name, block, 0, block->nspatial, -1, -1);
	if (!rule_is_open(r, i) || is_made_by_reader(r, i))
		return;
	if (!block->nspatial) {
		r->blocks[i].scheduled = true;
		return;
	}
	all = rule_fuse(r, all, rule_name(r, block, "f", ""));
	bool calls = expr_has_function(r->bodies[i]);
	bool one = calls || block->reduce != REDUCE_NONE ||
	    makes_reductions(r, i, NULL);
	if (elements > USUAL)
		all = put_threads(r, block, all, elements, one, calls);
	else
		rule_put(r, "bind(%s, threadIdx.x)\n", all);
	makes_reductions(r, i, all);
	r->blocks[i].scheduled = true; /* readers that are make nothing */
}
