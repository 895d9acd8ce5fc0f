/* Bind: each element of a block is a thread's.
 *
 *     for i in 100  for j in 96        f = fuse(y.i, y.j)
 *       for k                          f0, f1 = split(f, [_, 240])
 *         y[i, j] += ...         -->   blockIdx.x f0  threadIdx.x f1
 *                                        for k
 *                                          y[i, j] += ...
 *
 * Neighbours in memory are neighbouring threads' where the last axis is the one
 * that lies side by side.  A fused loop is divided exactly: where no number of
 * threads does that, the last axis alone is cut, and its last block has threads
 * without work.  What has no axis but those of its reduction is one thread's. */
#include "schedule/rules/rules.h"

#include <stdlib.h>

enum { USUAL = 256 }; /* threads of a block */

bool rule_bind_applies(const Rules *r, int block)
{
	return rule_is_open(r, block);
}

/* Numbers of threads that divide so many elements, whole warps if there are
 * such; *first: that nearest to the usual number. */
static const char *divisors(const Rules *r, int64_t n, int64_t *first)
{
	const char *text = "";
	int warp = r->machine->warp, most = r->machine->block_threads;
	for (int whole = 1; whole >= 0 && !*text; whole--)
		for (int64_t d = warp; d <= most && d <= n; d++) {
			if (n % d || (whole && d % warp))
				continue;
			if (!*text || llabs(d - USUAL) < llabs(*first - USUAL))
				*first = d;
			text = arena_printf(r->arena, "%s%s%lld", text,
			    *text ? ", " : "", (long long)d);
		}
	return *text ? text : NULL;
}

/* The loops of the block's first axes, which stand side by side. */
static const char *loops_of(const Rules *r, const Block *block, int n)
{
	const char *text = "";
	for (int a = 0; a < n; a++)
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

/* The last axis cut; what is outside of it are blocks. */
static void bind_last(Rules *r, const Block *block, int last)
{
	int threads = USUAL;
	int64_t extent = block->axes[last].extent;
	const char *axis = block->axes[last].name;
	while (threads > r->machine->warp && threads / 2 >= extent)
		threads /= 2;
	const char *outer = rule_name(r, block, axis, "0");
	const char *inner = rule_name(r, block, axis, "1");
	buf_printf(&r->text, "%s, %s = split(%s.%s, [_, %d])\n", outer, inner,
	    block->name, axis, threads);
	const char *others = loops_of(r, block, last);
	const char *blocks = last
	    ? arena_printf(r->arena, "%s, %s", others, outer) : outer;
	blocks = fused(r, block, blocks, last + 1);
	buf_printf(&r->text, "bind(%s, blockIdx.x)\nbind(%s, threadIdx.x)\n",
	    blocks, inner);
}

void rule_bind(Rules *r, int i)
{
	const Block *block = &r->program->blocks[i];
	int64_t elements = 1, first = 0;
	int last = -1;
	r->blocks[i].scheduled = true;
	for (int a = 0; a < block->nspatial; a++)
		if (block->axes[a].extent > 1) {
			elements *= block->axes[a].extent;
			last = a;
		}
	if (last < 0)
		return;
	const char *threads = divisors(r, elements, &first);
	if (elements > r->machine->block_threads && !threads) {
		bind_last(r, block, last);
		return;
	}
	const char *all = fused(r, block,
	    loops_of(r, block, block->nspatial), block->nspatial);
	if (!threads || elements <= USUAL) {
		buf_printf(&r->text, "bind(%s, threadIdx.x)\n", all);
		return;
	}
	buf_printf(&r->text,
	    "%s, %s = split(%s, ?=[_, %lld] in tile([%s]))\n"
	    "bind(%s, blockIdx.x)\nbind(%s, threadIdx.x)\n",
	    rule_name(r, block, "f", "0"), rule_name(r, block, "f", "1"), all,
	    (long long)first, threads, rule_name(r, block, "f", "0"),
	    rule_name(r, block, "f", "1"));
}
