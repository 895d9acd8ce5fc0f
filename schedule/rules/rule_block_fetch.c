/* What the threads of a block read of a product's operands in a step: fetched
 * together into shared memory.
 *
 *     for k0
 *       threadIdx.y threadIdx.x for f     a_s[..] = a[..], by all threads, some
 *       ...                               elements each; zeros behind its end
 *
 * The fused loop over what is fetched need not be a multiple of the threads
 * (ir/nest/nest.c, nest_may_run_past).  What a block alone makes of an input for
 * the product (its border of zeros) is computed there instead.  Where a thread's
 * rows lie across what is fetched they are put side by side, the next step a
 * row of memory banks and a few further.  Where copies may go past the registers
 * they are made a step ahead. */
#include "schedule/rules/block.h"

#include <assert.h>

/* Does the read move with an axis of the reduction, and not at random? */
static bool is_operand(const Product *p, const RuleRead *read)
{
	bool reduced = false;
	for (int a = p->block->nspatial; a < p->block->naxes; a++)
		reduced |= read->uses[a] && p->block->axes[a].extent > 1;
	for (int d = 0; d < read->nindex; d++)
		if (expr_has_data(read->index[d]))
			return false;
	return reduced && read->nindex > 0;
}

/* The block that makes what is read, for this product alone; -1. */
static int maker_of(const Product *p, const RuleRead *read)
{
	int made = rule_maker(p->r, read->buffer);
	return made >= 0 &&
		p->r->program->blocks[made].nspatial == read->nindex &&
		rule_reads_of(p->info, read->buffer) == 1
	    ? made
	    : -1;
}

/* Is it made by the same kernel (rule_rows_block.c)? */
static bool is_on_chip(const Product *p, const RuleRead *read)
{
	int made = read->maker;
	return p->r->tiled.rows && made >= 0 && rule_rows_has(p->r, made);
}

/* Does what a block reads in a step lie along more than one value of it? */
static bool is_spread(const Product *p, const Expr *index)
{
	if (index->op == OP_AXIS) {
		bool window = index->id >= p->block->nspatial &&
		    index->id != p->step && p->taps;
		return !window && (index->id >= p->block->nspatial ||
		    product_tiles(p, index->id));
	}
	for (int i = 0; i < index->narg; i++)
		if (is_spread(p, index->arg[i]))
			return true;
	return false;
}

/* The n-th dimension where one of them is the last; -1: as they are. */
static int dim_at(const RuleRead *read, int last, int n)
{
	return last < 0 || n < last ? n : n < read->nindex - 1 ? n + 1 : last;
}

/* All threads of the block, each some elements.  What one step reads one value
 * of stays outside of them: the first dimension of the others makes room for
 * threads that have nothing to do. */
static void put_loops(Product *p, const char *stage, const RuleRead *read,
    const Block *made, int last)
{
	int n = 0;
	const char *loops = "";
	while (n < read->nindex - 1 &&
	    !is_spread(p, read->index[dim_at(read, last, n)]))
		n++;
	for (; n < read->nindex; n++) {
		int d = dim_at(read, last, n);
		loops = rule_join(p->r, loops,
		    made ? rule_loop(p->r, stage, made, d)
			 : rule_dims(p->r, stage, d, d + 1, -1));
	}
	rule_fetch(p->r, stage, loops,
	    p->axes[BLOCK_Z].axis >= 0 ? "_0 _z _y _x" : "_0 _y _x",
	    product_loops(p, TILE_THREADS), 0);
}

/* The dimension that one tiled axis moves by itself, if no other one moves the
 * read: that axis's direction, too; -1. */
static int tiled_dim(const Product *p, const RuleRead *read, BlockAxis *of)
{
	int found = -1, movers = 0;
	for (int i = 0; i < BLOCK_AXES; i++) {
		int axis = p->axes[i].axis;
		if (axis < 0 || !read->uses[axis])
			continue;
		movers++;
		*of = (BlockAxis)i;
		for (int d = 0; d < read->nindex; d++)
			if (rule_axis_of(read->index[d]) == axis)
				found = d;
	}
	return movers == 1 ? found : -1;
}

/* What a tile has of its axis side by side: a thread reads several at once. */
static void put_layout(Product *p, const RuleRead *read, const char *copy)
{
	BlockAxis of;
	int last = read->nindex - 1, tiled = tiled_dim(p, read, &of);
	if (tiled < 0 || tiled == last)
		return;
	rule_put(p->r,
	    "transform_layout(%s, [%s, x%d])\nstorage_align(%s, %d, %d, %d)\n",
	    copy, rule_dims(p->r, "", 0, last + 1, tiled), tiled, copy,
	    last - 1, BANKS, SHIFT);
}

/* May it be packed by tiles, ahead? */
static bool is_packed(const Product *p, const RuleRead *read)
{
	BlockAxis of;
	return p->r->program->buffers[read->buffer].is_const &&
	    rule_reads_of(p->info, read->buffer) == 1 &&
	    !rule_is_read_elsewhere(p->r, p->info, read->buffer) &&
	    tiled_dim(p, read, &of) >= 0;
}

/* A tile's steps one after the other, in each what the tile has side by side: a
 * block fetches neighbours. */
static const char *put_pack(Product *p, const RuleRead *read)
{
	const Buffer *b = &p->r->program->buffers[read->buffer];
	const char *pack = rule_plain_name(arena_printf(
	    p->r->arena, "%s_%s_pack", p->block->name, b->name));
	BlockAxis of;
	int tiled = tiled_dim(p, read, &of);
	assert(tiled >= 0 && "is_packed asked");
	const TileAxis *x = &p->axes[of];
	const char *tile = arena_printf(p->r->arena,
	    of == BLOCK_X ? "(%s*%s*%s)" : "(%s*%s)", x->loops[TILE_RESULTS],
	    x->loops[TILE_THREADS], x->loops[TILE_LANES]);
	rule_put(p->r,
	    "%s = cache_read(%s, %s, pack)\ncompute_at(%s, root)\n"
	    "transform_layout(%s, [x%d//%s, %s, x%d%%%s])\npad(%s, 0)\n",
	    pack, p->acc, b->name, pack, pack, tiled, tile,
	    rule_dims(p->r, "", 0, read->nindex, tiled), tiled, tile, pack);
	return pack;
}

static void put_copy(Product *p, const RuleRead *read)
{
	BlockAxis of;
	bool packed = is_packed(p, read);
	const char *from = packed ? put_pack(p, read) : "";
	const char *copy = rule_copy_name(p->r, p->block, read);
	int last = packed ? tiled_dim(p, read, &of) : -1;
	if (packed)
		rule_put(p->r, "%s = cache_read(%s, %s, shared)\n", copy,
		    p->acc, from);
	else
		rule_copy(p->r, p->info, read, copy, p->acc, "shared");
	rule_put(p->r, "compute_at(%s, %s)\n", copy, p->steps);
	if (packed)
		rule_put(p->r, "reorder(%s, %s)\n",
		    rule_dims(p->r, copy, 0, read->nindex, last),
		    rule_dims(p->r, copy, last, last + 1, -1));
	put_loops(p, copy, read, NULL, last);
	put_layout(p, read, copy);
	if (p->padded)
		rule_put(p->r, "pad(%s, 0)\n", copy);
	if (p->r->machine->async_copies)
		rule_put(p->r, "stages(%s, 2)\n", copy);
}

static void put_maker(Product *p, const RuleRead *read, int made)
{
	const Block *b = &p->r->program->blocks[made];
	rule_put(p->r, "set_scope(%s, shared)\ncompute_at(%s, %s)\n", b->name,
	    b->name, p->steps);
	put_loops(p, b->name, read, b, -1);
	if (p->padded)
		rule_put(p->r, "pad(%s, 0)\n", b->name);
	p->r->blocks[made].scheduled = true;
}

/* Is a product 0 where its operands are? */
static bool vanishes(const Expr *e)
{
	switch (e->op) {
	case OP_READ:
		return true;
	case OP_CAST:
	case OP_NEG:
		return vanishes(e->arg[0]);
	case OP_MUL:
	case OP_ADD:
	case OP_SUB:
		return vanishes(e->arg[0]) && vanishes(e->arg[1]);
	default:
		return false;
	}
}

/* May steps behind the end be made, of zeros? */
static bool may_pad(const Product *p)
{
	const Expr *body = p->r->bodies[p->info->block];
	vec_each (read, &p->info->reads)
		if (!is_operand(p, read))
			return false;
	return p->block->reduce == REDUCE_SUM && vanishes(body) &&
	    product_reads_at(p->info, p->step);
}

void product_fetch(Product *p)
{
	p->padded = may_pad(p);
	/* those of one buffer the last first: a read that was replaced no longer
	 * counts */
	for (int i = p->info->reads.n - 1; i >= 0; i--) {
		const RuleRead *read = &p->info->reads.at[i];
		int made = maker_of(p, read);
		if (!is_operand(p, read) || is_on_chip(p, read))
			continue;
		if (made >= 0)
			put_maker(p, read, made);
		else
			put_copy(p, read);
	}
	if (p->padded)
		rule_put(p->r, "tail(%s, pad)\n", p->acc);
}
