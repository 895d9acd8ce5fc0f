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

bool rule_bind_applies(const Rules *r, int block)
{
	return rule_is_open(r, block) && !is_made_by_reader(r, block);
}

/* The loops of the block's axes, which stand side by side. */
static const char *loops_of(const Rules *r, const Block *block)
{
	const char *text = "";
	for (int a = 0; a < block->nspatial; a++)
		text = arena_printf(r->arena, "%s%s%s.%s", text,
		    *text ? ", " : "", block->name, block->axes[a].name);
	return text;
}

/* Of several loops one. */
static const char *fused(
    Rules *r, const Block *block, const char *loops, int n)
{
	if (n < 2)
		return loops;
	const char *name = rule_name(r, block, "f", "");
	buf_printf(&r->text, "%s = fuse(%s)\n", name, loops);
	return name;
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
		buf_printf(&r->text, "set_scope(%s, reg)\ncompute_at(%s, %s)\n",
		    name, name, thread);
		for (int a = 0; a < block->nspatial; a++)
			buf_printf(&r->text, "unroll(%s.%s)\n", name,
			    block->axes[a].name);
		r->blocks[b].scheduled = true;
	}
	return any;
}

static bool find_call(Expr *e, void *context)
{
	bool *calls = context;
	*calls |= op_kind(e->op) == OPKIND_FUNCTION;
	return !*calls;
}

/* Functions are long, and need registers: one at a time has work enough. */
static bool has_call(const Rules *r, int i)
{
	bool calls = false;
	expr_walk(r->bodies[i], find_call, &calls);
	return calls;
}

/* A loop is cut into blocks, what a thread has and threads. */
static const char *put_threads(
    Rules *r, const Block *block, const char *all, int64_t elements, bool one,
    bool calls)
{
	int most = calls && CALLS < r->machine->block_threads
	    ? CALLS : r->machine->block_threads;
	const char *outer = rule_name(r, block, "f", "0");
	const char *some = rule_name(r, block, "f", "r");
	const char *inner = rule_name(r, block, "f", "1");
	bool many = elements >= (int64_t)MANY * r->machine->processors;
	const char *threads = "";
	for (int n = r->machine->warp; n <= most; n *= 2)
		threads = arena_printf(
		    r->arena, "%s%s%d", threads, *threads ? ", " : "", n);
	if (one)
		buf_printf(&r->text, "%s, %s = split(%s, ?=[_, %d] in tile([%s]))\n",
		    outer, inner, all, USUAL, threads);
	else
		buf_printf(&r->text,
		    "%s, %s, %s = split(%s, ?=[_, %d, %d] in tile("
		    "[1, 2, 4, 8], [%s]))\nreorder(%s, %s, %s)\n",
		    outer, some, inner, all, many ? 4 : 1, USUAL, threads, outer,
		    inner, some);
	buf_printf(&r->text, "bind(%s, blockIdx.x)\nbind(%s, threadIdx.x)\n",
	    outer, inner);
	if (!one)
		buf_printf(&r->text, "unroll(%s)\n", some);
	return inner;
}

void rule_bind(Rules *r, int i)
{
	const Block *block = &r->program->blocks[i];
	double elements = block_points(block, 0, block->nspatial);
	if (!block->nspatial) {
		r->blocks[i].scheduled = true;
		return;
	}
	const char *all =
	    fused(r, block, loops_of(r, block), block->nspatial);
	bool calls = has_call(r, i);
	bool one = calls || block->reduce != REDUCE_NONE ||
	    makes_reductions(r, i, NULL);
	if (elements > USUAL)
		all = put_threads(r, block, all, elements, one, calls);
	else
		buf_printf(&r->text, "bind(%s, threadIdx.x)\n", all);
	makes_reductions(r, i, all);
	r->blocks[i].scheduled = true;
}
