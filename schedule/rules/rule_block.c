/* Tiles of a GPU: a product's results by blocks of threads, sums in their
 * registers, operands through what a block shares.
 *
 *     for i for j for k c[i, j] += a[i, k]*b[k, j]
 * -->
 *     blockIdx.x
 *       for k0
 *         a_s[..] = a[..], b_s[..] = b[..]      a thread a few of each
 *         threadIdx.y threadIdx.x
 *           for k1 unroll i, j  c_acc += a_s*b_s
 *       threadIdx.y threadIdx.x unroll i, j
 *         c = c_acc
 *
 * Two axes are tiled, one that an operand is used again along and one that
 * another is: the later one by threads side by side, so that what they write
 * is, too.  Sums are shared out among the threads (ir/nest/nest_spread.c), so
 * that barriers stand outside of all thread loops. */
#include "schedule/rules/rules.h"

#include <assert.h>

/* Threads in both directions, results of a thread, steps between barriers. */
typedef struct {
	int y, x, rows, columns, steps;
} Shape;

static const Shape shapes[] = {
    {16, 16, 8, 8, 8}, {16, 16, 4, 4, 16}, {8, 16, 4, 4, 16},
    {8, 8, 4, 4, 16}, {8, 8, 2, 2, 16}, {4, 8, 2, 2, 16}};

typedef struct {
	Rules *r;
	const Block *block;
	const RuleBlock *info;
	const char *acc, *tiles; /* its sums; the loop over tiles */
	int row, column, step; /* axes that are tiled */
	const Shape *shape;
} Product;

static void put(Product *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void put(Product *p, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	buf_vprintf(&p->r->text, format, args);
	va_end(args);
}

/* Is an operand used again along one axis that moves with the other, and another
 * one the other way? */
static bool is_pair(const RuleBlock *b, int row, int column)
{
	bool across = false, down = false;
	for (int i = 0; i < b->reads.n; i++) {
		const RuleRead *read = &b->reads.at[i];
		across |= read->uses[column] && !read->uses[row];
		down |= read->uses[row] && !read->uses[column];
	}
	return across && down;
}

/* The two axes: the last one possible, and of the others the longest. */
static bool find_axes(const Rules *r, int i, Product *p)
{
	const Block *block = &r->program->blocks[i];
	p->row = p->column = p->step = -1;
	for (int c = block->nspatial - 1; c >= 0 && p->column < 0; c--)
		for (int a = 0; a < block->nspatial; a++) {
			if (a == c || block->axes[a].extent < 4 ||
			    block->axes[c].extent < 4 ||
			    !is_pair(&r->blocks[i], a, c))
				continue;
			p->column = c;
			if (p->row < 0 || block->axes[a].extent >
				block->axes[p->row].extent)
				p->row = a;
		}
	for (int a = block->nspatial; a < block->naxes; a++)
		if (p->step < 0 || block->axes[a].extent >
			block->axes[p->step].extent)
			p->step = a;
	return p->column >= 0 && p->step >= 0;
}

bool rule_block_fits(const Rules *r, int i)
{
	Product p;
	return !r->blocks[i].inlined &&
	    r->program->blocks[i].reduce != REDUCE_NONE && find_axes(r, i, &p);
}

bool rule_block_applies(const Rules *r, int i)
{
	return r->tiled.block == i && rule_is_open(r, i);
}

/* The largest tile that fills enough blocks, or the smallest. */
static const Shape *choose_shape(const Product *p)
{
	int n = sizeof shapes / sizeof *shapes;
	for (int i = 0; i < n; i++) {
		const Shape *s = &shapes[i];
		double blocks = 1;
		for (int a = 0; a < p->block->nspatial; a++) {
			int64_t tile = a == p->row ? s->y * s->rows
			    : a == p->column	   ? s->x * s->columns : 1;
			blocks *= (double)((p->block->axes[a].extent + tile - 1)
			    / tile);
		}
		if (blocks >= p->r->machine->processors)
			return s;
	}
	return &shapes[n - 1];
}

static const char *name(Product *p, int axis, const char *suffix)
{
	return rule_name(p->r, p->block, p->block->axes[axis].name, suffix);
}

/* The loops of `stage` that are not tiled, `n` axes of them at most. */
static void put_others(Product *p, const char *stage, int n)
{
	for (int a = 0; a < n; a++)
		if (a != p->row && a != p->column && a != p->step)
			put(p, "%s.%s, ", stage, p->block->axes[a].name);
}

/* The writer: a copy of the block, which the sums are computed for. */
static void put_writer(Product *p)
{
	const Shape *s = p->shape;
	const char *w = p->block->name;
	put(p, "%s = cache_write(%s, reg)\n", p->acc, w);
	put(p, "%s, %s, %s = split(%s.%s, [_, %d, %d])\n",
	    name(p, p->row, "0"), name(p, p->row, "t"), name(p, p->row, "r"), w,
	    p->block->axes[p->row].name, s->y, s->rows);
	put(p, "%s, %s, %s = split(%s.%s, [_, %d, %d])\n",
	    name(p, p->column, "0"), name(p, p->column, "r"),
	    name(p, p->column, "t"), w, p->block->axes[p->column].name,
	    s->columns, s->x);
	put(p, "reorder(");
	put_others(p, w, p->block->nspatial);
	put(p, "%s, %s, %s, %s, %s, %s)\n", name(p, p->row, "0"),
	    name(p, p->column, "0"), name(p, p->row, "t"),
	    name(p, p->column, "t"), name(p, p->row, "r"),
	    name(p, p->column, "r"));
	put(p, "%s = fuse(", p->tiles);
	put_others(p, w, p->block->nspatial);
	put(p, "%s, %s)\nbind(%s, blockIdx.x)\n", name(p, p->row, "0"),
	    name(p, p->column, "0"), p->tiles);
	put(p, "bind(%s, threadIdx.y)\nbind(%s, threadIdx.x)\n",
	    name(p, p->row, "t"), name(p, p->column, "t"));
	put(p, "unroll(%s)\nunroll(%s)\n", name(p, p->row, "r"),
	    name(p, p->column, "r"));
}

static const char *acc_name(Product *p, int axis, const char *suffix)
{
	return arena_printf(p->r->arena, "%s_%s%s", p->acc,
	    p->block->axes[axis].name, suffix);
}

static void put_sums(Product *p)
{
	const Shape *s = p->shape;
	const Block *b = p->block;
	int others = 0;
	put(p, "compute_at(%s, %s)\n", p->acc, p->tiles);
	put(p, "%s, %s = split(%s.%s, [_, %d])\n", acc_name(p, p->row, "t"),
	    acc_name(p, p->row, "r"), p->acc, b->axes[p->row].name, s->rows);
	put(p, "%s, %s = split(%s.%s, [_, %d])\n", acc_name(p, p->column, "r"),
	    acc_name(p, p->column, "t"), p->acc, b->axes[p->column].name, s->x);
	put(p, "%s, %s = split(%s.%s, [_, %d])\n", acc_name(p, p->step, "0"),
	    acc_name(p, p->step, "1"), p->acc, b->axes[p->step].name,
	    (int)(b->axes[p->step].extent < s->steps
		    ? b->axes[p->step].extent : s->steps));
	put(p, "reorder(%s, %s, %s, ", acc_name(p, p->step, "0"),
	    acc_name(p, p->row, "t"), acc_name(p, p->column, "t"));
	put_others(p, p->acc, b->naxes);
	for (int a = 0; a < b->naxes; a++)
		others += a != p->row && a != p->column && a != p->step &&
		    b->axes[a].extent > 1;
	put(p, "%s, %s, %s)\n", acc_name(p, p->step, "1"),
	    acc_name(p, p->row, "r"), acc_name(p, p->column, "r"));
	put(p, "bind(%s, threadIdx.y)\nbind(%s, threadIdx.x)\n",
	    acc_name(p, p->row, "t"), acc_name(p, p->column, "t"));
	for (int a = 0; a < b->nspatial; a++)
		if (a != p->row && a != p->column)
			put(p, "unroll(%s.%s)\n", p->acc, b->axes[a].name);
	put(p, "unroll(%s)\nunroll(%s)\n", acc_name(p, p->row, "r"),
	    acc_name(p, p->column, "r"));
	if (!others)
		put(p, "unroll(%s)\n", acc_name(p, p->step, "1"));
}

/* How much of a dimension a block reads: values of a plain index in a tile. */
static int64_t part_of(const Product *p, const Expr *index)
{
	const Shape *s = p->shape;
	int a = rule_axis_of(index);
	int64_t all = a < 0 ? 0 : p->block->axes[a].extent;
	int64_t tile = a == p->row ? s->y * s->rows
	    : a == p->column	   ? s->x * s->columns
	    : a == p->step	   ? s->steps
	    : a >= 0 && a < p->block->nspatial ? 1 : all;
	return tile < all ? tile : all;
}

/* A copy of what a block reads in a step, a part for each thread: side by side
 * where all threads are busy, else by its two last dimensions. */
static void put_copy(Product *p, const RuleRead *read, int number)
{
	const Shape *s = p->shape;
	const Buffer *b = &p->r->program->buffers[read->buffer];
	const char *copy = rule_plain_name(arena_printf(
	    p->r->arena, "%s_%s_s%d", p->block->name, b->name, number));
	int64_t part = 1;
	for (int d = 0; d < read->nindex; d++)
		part *= part_of(p, read->index[d]);
	put(p, "%s = cache_read(%s, %s, shared", copy, p->acc, b->name);
	if (rule_reads_of(p->info, read->buffer) > 1)
		put(p, ", read=%d", read->number);
	put(p, ")\ncompute_at(%s, %s)\n", copy, acc_name(p, p->step, "0"));
	if (part && part % (s->x * s->y) == 0) {
		put(p, "%s_f = fuse(", copy);
		for (int d = 0; d < read->nindex; d++)
			put(p, "%s%s.x%d", d ? ", " : "", copy, d);
		put(p, ")\n%s_0, %s_y, %s_x = split(%s_f, [_, %d, %d])\n", copy,
		    copy, copy, copy, s->y, s->x);
	} else {
		int last = read->nindex - 1;
		put(p, "%s_x0, %s_x = split(%s.x%d, [_, %d])\n", copy, copy,
		    copy, last, s->x);
		put(p, "%s_y0, %s_y = split(%s.x%d, [_, %d])\n", copy, copy,
		    copy, last - 1, s->y);
		put(p, "reorder(%s_y0, %s_x0, %s_y, %s_x)\n", copy, copy, copy,
		    copy);
	}
	put(p, "bind(%s_y, threadIdx.y)\nbind(%s_x, threadIdx.x)\n", copy,
	    copy);
}

void rule_block(Rules *r, int i)
{
	Product p = {.r = r,
	    .block = &r->program->blocks[i],
	    .info = &r->blocks[i]};
	bool found = find_axes(r, i, &p);
	assert(found);
	(void)found;
	p.shape = choose_shape(&p);
	p.acc = rule_name(r, p.block, "acc", "");
	p.tiles = rule_name(r, p.block, "b", "");
	r->blocks[i].scheduled = true;
	put_writer(&p);
	put_sums(&p);
	for (int k = 0; k < p.info->reads.n; k++) {
		const RuleRead *read = &p.info->reads.at[k];
		if (read->nindex >= 2 &&
		    (read->uses[p.row] || read->uses[p.column]))
			put_copy(&p, read, k);
	}
}
