/* The loops of a product by blocks of threads, by what they are for. */
#include "schedule/rules/block.h"

#include <assert.h>

bool product_reads_at(const RuleBlock *b, int axis)
{
	vec_each (read, &b->reads) {
		bool plain = !read->uses[axis];
		for (int d = 0; d < read->nindex; d++)
			plain |= rule_axis_of(read->index[d]) == axis;
		if (!plain)
			return false;
	}
	return true;
}

const char *product_loops(const Product *p, TileLoop kind)
{
	const char *loops = "";
	for (int d = BLOCK_AXES - 1; d >= 0; d--)
		if (p->axes[d].axis >= 0)
			loops = rule_join(p->r, loops, p->axes[d].loops[kind]);
	return loops;
}

void product_bind(Product *p, TileLoop kind)
{
	for (int d = BLOCK_AXES - 1; d >= 0; d--)
		if (p->axes[d].axis >= 0)
			rule_put(p->r, "bind(%s, threadIdx.%c)\n",
			    p->axes[d].loops[kind], "xyz"[d]);
}

void product_split(Product *p, BlockAxis direction, const char *suffixes,
    const TileLoop *loops, const char *sizes)
{
	TileAxis *x = &p->axes[direction];
	const char *const *parts = rule_split_loop(p->r,
	    arena_printf(p->r->arena, "%s.%s", p->writer, x->name),
	    rule_name(p->r, p->writer_block, x->name, ""), suffixes, "%s",
	    sizes);
	for (int i = 0; i < TILE_LOOPS; i++)
		x->loops[i] = "";
	for (int i = 0; *parts[i]; i++) {
		assert(!*x->loops[loops[i]] && "a kind of loop is there once");
		x->loops[loops[i]] = parts[i];
	}
}

void product_writer(Product *p, RuleWriter w)
{
	p->writer_block = w.block;
	p->writer = w.block->name;
	p->acc = w.acc;
	for (int d = 0; d < BLOCK_AXES; d++) {
		TileAxis *x = &p->axes[d];
		int of = x->axis < 0
		    ? 0
		    : rule_reader_axis(p->r, p->block, w.reader, x->axis);
		x->name = w.block->axes[of].name;
	}
}

const char *product_others(const Product *p)
{
	const Block *b = p->writer_block;
	const char *loops = !p->partial
	    ? ""
	    : arena_printf(p->r->arena, "%s.%s", p->writer, p->part);
	for (int a = 0; a < b->nspatial; a++) {
		bool tiled = false;
		for (int d = 0; d < BLOCK_AXES; d++)
			tiled |= p->axes[d].axis >= 0 &&
			    p->axes[d].name == b->axes[a].name;
		if (!tiled)
			loops = rule_and(p->r, loops, p->writer, b, a);
	}
	return loops;
}

bool product_tiles(const Product *p, int axis)
{
	for (int d = 0; d < BLOCK_AXES; d++)
		if (p->axes[d].axis == axis)
			return true;
	return false;
}
