/* A product of a GPU with all that makes its rows, in one kernel.
 *
 *     s[i, j] = sum over d of q[i, d]*k[j, d]        blockIdx.x i0
 *     m[i]    = max over j of s[i, j]                  s   threads' registers
 *     e[i, j] = exp(s[i, j] - m[i])            -->     m   exchanged by threads
 *     z[i]    = sum over j of e[i, j]                  e   shared
 *     o[i, d] = (sum over j of e[i, j]*v[j, d])/z[i]   z, o
 *
 * What lies between two products of the same rows (schedule/rows.c) is made for a
 * block's rows, and never is in memory.  Threads along y have rows, those along x
 * what is inside of a row: columns of each product, and of what lies between the
 * same elements as of the product that is read.  So the first product's sums stay
 * in registers, a reduction of a row is an exchange between threads side by side,
 * and only what the second product reads along a row is shared.  How many threads
 * and rows of a thread there are, and steps between barriers, are decisions. */
#include "schedule/rules/block.h"

#include <assert.h>

enum {
	LEAST_COLUMNS = 8, /* of the product */
	BANKS = 32, SHIFT = 4, /* as in rule_block_fetch.c */
	ROOM = 12 * 1024, /* bytes that a block's other operands may take */
	ELEMENT = 4,
	LEAST_STEPS = 4
};

/* What is made, of what there is. */
#define LITTLE_WASTE 1.13


typedef struct {
	Product p;
	int row, column; /* axes of the product that tiles have */
	int64_t inside;  /* elements of the longest row in between */
	int64_t columns;
	int steps;       /* of a product, at first */
} Together;

/* --- what fits ---------------------------------------------------------------------- */

/* The axis of a block that goes with an axis of the product. */
static int axis_with(const Rules *r, int block, int axis)
{
	const Block *b = &r->program->blocks[block];
	for (int a = 0; a < b->nspatial; a++)
		if (r->rows->moves[block][a] == axis)
			return a;
	return -1;
}

/* The only axis from `first` up to `end` that is longer than 1 and no row; -1:
 * there is none; -2: several. */
static int only_axis(const Rules *r, int block, int first, int end)
{
	const Block *b = &r->program->blocks[block];
	int found = -1;
	for (int a = first; a < end; a++) {
		bool row = a < b->nspatial && (block == r->tiled.block
			? r->rows->axes[a] : rule_rows_is_row(r, block, a));
		if (!row && b->axes[a].extent > 1)
			found = found == -1 ? a : -2;
	}
	return found;
}

/* Of a part: the axis inside of a row that threads share out. */
static int inside_axis(const Rules *r, int block)
{
	const Block *b = &r->program->blocks[block];
	return b->reduce != REDUCE_NONE && !rule_block_fits(r, block)
	    ? only_axis(r, block, b->nspatial, b->naxes)
	    : only_axis(r, block, 0, b->nspatial);
}

/* A product has columns and steps, a reduction has no columns. */
static bool part_fits(const Rules *r, int block)
{
	const Block *b = &r->program->blocks[block];
	int columns = only_axis(r, block, 0, b->nspatial);
	int steps = only_axis(r, block, b->nspatial, b->naxes);
	if (b->reduce == REDUCE_NONE)
		return columns >= -1;
	return rule_block_fits(r, block)
	    ? columns >= 0 && steps >= 0 : columns == -1 && steps >= 0;
}

/* The longest of the rows along which something is read again. */
static int tiled_row(const Rules *r)
{
	const RuleBlock *info = &r->blocks[r->tiled.block];
	const Block *b = &r->program->blocks[r->tiled.block];
	int best = -1;
	for (int a = 0; a < b->nspatial; a++) {
		bool again = false;
		for (int i = 0; i < info->reads.n; i++)
			again |= !info->reads.at[i].uses[a];
		if (r->rows->axes[a] && again && (best < 0 ||
			b->axes[a].extent > b->axes[best].extent))
			best = a;
	}
	return best;
}

static bool all_fits(const Rules *r)
{
	int to = r->tiled.block;
	const Block *b = &r->program->blocks[to];
	int column = only_axis(r, to, 0, b->nspatial);
	if (!part_fits(r, to) || tiled_row(r) < 0 ||
	    b->axes[column].extent < LEAST_COLUMNS)
		return false;
	for (int i = 0; i < to; i++)
		if (r->rows->between[i] && !r->blocks[i].inlined &&
		    !part_fits(r, i))
			return false;
	return true;
}

bool rule_rows_block_keeps(const Rules *r, int i)
{
	const RuleBlock *b = &r->blocks[i];
	bool read = false;
	for (int c = 0; c < b->consumers.n; c++)
		read |= b->consumers.at[c] == r->tiled.block;
	return r->tiled.rows && rule_rows_has(r, i) && read;
}

bool rule_rows_block_choose(Rules *r)
{
	for (int to = r->program->nblocks - 1; to > 0; to--) {
		r->tiled = (RuleTiled){.block = to, .rows = true};
		r->rows = NULL;
		for (int i = 0; i < to && rule_block_fits(r, to); i++)
			rule_rows_join(r, rule_block_fits(r, i)
				? rows_between(r->arena, r->program, i, to)
				: NULL);
		if (!r->rows)
			continue;
		rules_choose_inlines(r);
		if (all_fits(r))
			return true;
	}
	r->rows = NULL;
	return false;
}

bool rule_rows_block_applies(const Rules *r, int i)
{
	return r->tiled.rows && i == r->tiled.block;
}

/* --- where a search begins ------------------------------------------------------------ */

typedef struct {
	int threads_y, rows, threads_x, lanes, steps;
} Shape;

/* Elements that a block shares: a step of what is read for a whole row, two steps
 * at once where copies run ahead, and its rows. */
static double shared_elements(const Together *t, const Shape *s)
{
	int stages = t->p.r->machine->async_copies ? 2 : 1;
	return (double)t->inside * s->steps * stages +
	    (double)t->inside * s->threads_y * s->rows;
}

/* What tiles of an axis make, of what it has. */
static double waste(int64_t n, int tile)
{
	return (double)((n + tile - 1) / tile * tile) / (double)n;
}

/* The first of these that wastes little, or that which wastes least. */
static void choose_columns(const Together *t, Shape *s)
{
	double least = 1e9;
	for (int threads = 32; threads >= 8; threads /= 2)
		for (int lanes = 4; lanes; lanes /= 2) {
			double now = waste(t->columns, threads * lanes) *
			    waste(t->inside, threads * lanes);
			if (now >= least || least <= LITTLE_WASTE)
				continue;
			least = now;
			s->threads_x = threads;
			s->lanes = lanes;
		}
}

static int fitting(int64_t n, int most, int least)
{
	int tile = most;
	while (tile > least && waste(n, tile) > LITTLE_WASTE)
		tile /= 2;
	return tile;
}

/* As many rows as fill the processors and have room, of few steps if need be. */
static Shape choose_shape(const Together *t)
{
	const Machine *m = t->p.r->machine;
	const Block *b = t->p.block;
	int64_t rows = 1, extent = b->axes[t->row].extent;
	double room = ((double)m->block_shared - ROOM) / ELEMENT;
	Shape s = {.steps = 16};
	for (int a = 0; a < b->nspatial; a++)
		if (t->p.r->rows->axes[a])
			rows *= b->axes[a].extent;
	choose_columns(t, &s);
	s.threads_y = fitting(extent, 8, 1);
	s.rows = fitting(extent, 4 * s.threads_y, s.threads_y) / s.threads_y;
	while (s.rows > 1 &&
	    (double)rows / (s.threads_y * s.rows) < m->processors)
		s.rows /= 2;
	while (s.rows > 1 && shared_elements(t, &s) > room)
		s.rows /= 2;
	while (s.steps > LEAST_STEPS && shared_elements(t, &s) > room)
		s.steps /= 2;
	while (s.threads_y > 1 && shared_elements(t, &s) > room)
		s.threads_y /= 2;
	return s;
}

/* --- loops of a stage ------------------------------------------------------------------ */

static const char *loop_of(
    Together *t, const char *stage, const Block *b, int axis, const char *suffix)
{
	return rule_plain_name(arena_printf(t->p.r->arena, "%s_%s%s", stage,
	    b->axes[axis].name, suffix));
}

/* A stage's rows and what is inside of them, as the writer has them; axis -1:
 * it has none. */
static void split_stage(Together *t, const char *stage, const Block *b,
    int row, int inside)
{
	const TileAxis *y = &t->p.axes[BLOCK_Y], *x = &t->p.axes[BLOCK_X];
	product_put(&t->p, "%s, %s = split(%s.%s, [_, %s])\n",
	    loop_of(t, stage, b, row, "t"), loop_of(t, stage, b, row, "r"),
	    stage, b->axes[row].name, y->results);
	if (inside >= 0)
		product_put(&t->p, "%s, %s, %s = split(%s.%s, [_, %s, %s])\n",
		    loop_of(t, stage, b, inside, "r"),
		    loop_of(t, stage, b, inside, "t"),
		    loop_of(t, stage, b, inside, "v"), stage,
		    b->axes[inside].name, x->threads, x->lanes);
}

/* Threads outside, then axes that have one iteration, `steps`, and what a thread
 * has. */
static void order_stage(Together *t, const char *stage, const Block *b,
    int row, int inside, const char *before, const char *steps)
{
	product_put(&t->p, "reorder(%s%s", before,
	    loop_of(t, stage, b, row, "t"));
	if (inside >= 0)
		product_put(&t->p, ", %s", loop_of(t, stage, b, inside, "t"));
	for (int a = 0; a < b->naxes; a++)
		if (a != row && a != inside &&
		    (a < b->nspatial || b->axes[a].extent == 1))
			product_put(
			    &t->p, ", %s.%s", stage, b->axes[a].name);
	product_put(&t->p, "%s, %s", steps, loop_of(t, stage, b, row, "r"));
	if (inside >= 0)
		product_put(&t->p, ", %s, %s",
		    loop_of(t, stage, b, inside, "r"),
		    loop_of(t, stage, b, inside, "v"));
	product_put(&t->p, ")\nbind(%s, threadIdx.y)\n",
	    loop_of(t, stage, b, row, "t"));
	if (inside >= 0)
		product_put(&t->p, "bind(%s, threadIdx.x)\n",
		    loop_of(t, stage, b, inside, "t"));
}

static void unroll_stage(
    Together *t, const char *stage, const Block *b, int row, int inside)
{
	for (int a = 0; a < b->naxes; a++)
		if (a != row && a != inside &&
		    (a < b->nspatial || b->axes[a].extent == 1))
			product_put(
			    &t->p, "unroll(%s.%s)\n", stage, b->axes[a].name);
	product_put(&t->p, "unroll(%s)\n", loop_of(t, stage, b, row, "r"));
	if (inside >= 0)
		product_put(&t->p, "unroll(%s)\nunroll(%s)\n",
		    loop_of(t, stage, b, inside, "r"),
		    loop_of(t, stage, b, inside, "v"));
}

/* --- the writer ------------------------------------------------------------------------ */

static void name_axis(Together *t, BlockAxis d, int axis, int reader)
{
	Product *p = &t->p;
	TileAxis *x = &p->axes[d];
	int of = rule_reader_axis(p->r, p->block, reader, axis);
	*x = (TileAxis){.axis = axis, .name = p->writer_block->axes[of].name};
	x->outer = rule_name(p->r, p->writer_block, x->name, "0");
	x->threads = rule_name(p->r, p->writer_block, x->name, "t");
	x->results = rule_name(p->r, p->writer_block, x->name, "r");
	x->lanes = rule_name(p->r, p->writer_block, x->name, "v");
}

/* The block's elementwise reader, or a copy of the block. */
static void choose_writer(Together *t)
{
	Product *p = &t->p;
	Rules *r = p->r;
	int reader = rule_elementwise_reader(r, p->info);
	p->writer_block = reader < 0 ? p->block : &r->program->blocks[reader];
	p->writer = p->writer_block->name;
	p->acc = reader < 0 ? rule_name(r, p->block, "acc", "")
			    : p->block->name;
	p->tiles = rule_name(r, p->writer_block, "b", "");
	p->axes[BLOCK_Z].axis = -1;
	name_axis(t, BLOCK_Y, t->row, reader);
	name_axis(t, BLOCK_X, t->column, reader);
	if (reader >= 0)
		r->blocks[reader].scheduled = true;
	if (reader >= 0)
		product_put(p, "set_scope(%s, reg)\n", p->acc);
	else
		product_put(p, "%s = cache_write(%s, reg)\n", p->acc, p->writer);
}

/* All rows that no thread has are blocks. */
static void put_tiles(Together *t)
{
	const Product *p = &t->p;
	for (int a = 0; a < p->writer_block->nspatial; a++) {
		const char *name = p->writer_block->axes[a].name;
		if (name != p->axes[BLOCK_Y].name &&
		    name != p->axes[BLOCK_X].name)
			product_put(&t->p, "%s.%s, ", p->writer, name);
	}
	product_put(&t->p, "%s", p->axes[BLOCK_Y].outer);
}

static void put_writer(Together *t)
{
	Product *p = &t->p;
	const TileAxis *y = &p->axes[BLOCK_Y], *x = &p->axes[BLOCK_X];
	Shape s = choose_shape(t);
	t->steps = s.steps;
	product_put(p, "%s, %s, %s = split(%s.%s, ?=[_, %d, %d] in "
		"tile([1, 2, 4, 8, 16, 32], [1, 2, 4, 8]))\n",
	    y->outer, y->threads, y->results, p->writer, y->name, s.threads_y,
	    s.rows);
	product_put(p, "%s, %s, %s = split(%s.%s, ?=[_, %d, %d] in "
		"tile([8, 16, 32, 64], [1, 2, 4]))\n",
	    x->results, x->threads, x->lanes, p->writer, x->name, s.threads_x,
	    s.lanes);
	product_put(p, "reorder(");
	put_tiles(t);
	product_put(p, ", %s, %s, %s, %s, %s)\n", y->threads, x->threads,
	    y->results, x->results, x->lanes);
	if (p->writer_block->nspatial > 2) {
		product_put(p, "%s = fuse(", p->tiles);
		put_tiles(t);
		product_put(p, ")\n");
	} else {
		p->tiles = y->outer; /* of one head */
	}
	product_put(p, "bind(%s, blockIdx.x)\nbind(%s, threadIdx.y)\n"
		"bind(%s, threadIdx.x)\nunroll(%s)\nunroll(%s)\nunroll(%s)\n"
		"tail(%s, mask)\n",
	    p->tiles, y->threads, x->threads, y->results, x->results, x->lanes,
	    p->writer);
}

/* --- products ----------------------------------------------------------------------------- */

/* Sums in registers, steps outside of the threads; operands by steps. */
static void put_sums(Together *t, const char *stage, int block, int row,
    int column)
{
	Rules *r = t->p.r;
	const Block *b = &r->program->blocks[block];
	int step = only_axis(r, block, b->nspatial, b->naxes);
	const char *outer = loop_of(t, stage, b, step, "0");
	const char *inner = loop_of(t, stage, b, step, "1");
	int steps = fitting(b->axes[step].extent, t->steps, LEAST_STEPS);
	product_put(&t->p, "compute_at(%s, %s)\n", stage, t->p.tiles);
	split_stage(t, stage, b, row, column);
	product_put(&t->p,
	    "%s, %s = split(%s.%s, ?=[_, %d] in tile([4, 8, 16, 32, 64]))\n",
	    outer, inner, stage, b->axes[step].name, steps);
	order_stage(t, stage, b, row, column,
	    arena_printf(r->arena, "%s, ", outer),
	    arena_printf(r->arena, ", %s", inner));
	unroll_stage(t, stage, b, row, column);
	product_put(&t->p, "unroll(%s, ?=16 in {1, 8, 16, 32})\n", inner);
	Product p = t->p;
	p.block = b;
	p.info = &r->blocks[block];
	p.acc = stage;
	p.step = step;
	p.steps = outer;
	p.axes[BLOCK_Y].axis = row;
	p.axes[BLOCK_X].axis = column;
	product_fetch(&p);
	if (block == r->tiled.block)
		t->p.padded = p.padded;
}

/* --- what lies between ---------------------------------------------------------------------- */

/* Does the last product read it along a row? */
static bool is_shared(const Rules *r, int block)
{
	const Block *b = &r->program->blocks[block];
	return only_axis(r, block, 0, b->nspatial) >= 0 &&
	    rule_reads_of(&r->blocks[r->tiled.block], b->buffer) > 0;
}

static void put_part(Together *t, int block)
{
	Rules *r = t->p.r;
	const Block *b = &r->program->blocks[block];
	int row = axis_with(r, block, t->row), inside = inside_axis(r, block);
	bool shared = is_shared(r, block);
	if (b->reduce != REDUCE_NONE && rule_block_fits(r, block)) {
		product_put(&t->p, "set_scope(%s, reg)\n", b->name);
		put_sums(t, b->name, block, row, inside);
		return;
	}
	product_put(&t->p, "compute_at(%s, %s)\nset_scope(%s, %s)\n", b->name,
	    t->p.tiles, b->name, shared ? "shared" : "reg");
	split_stage(t, b->name, b, row, inside);
	order_stage(t, b->name, b, row, inside, "", "");
	unroll_stage(t, b->name, b, row, inside);
	if (shared && b->nspatial > 1)
		product_put(&t->p, "storage_align(%s, %d, %d, %d)\n", b->name,
		    b->nspatial - 2, BANKS, SHIFT);
	if (shared && t->p.padded)
		product_put(&t->p, "pad(%s, 0)\n", b->name);
	product_put(&t->p, "tail(%s, mask)\n", b->name);
}

void rule_rows_block(Rules *r, int i)
{
	const Block *b = &r->program->blocks[i];
	Together t = {.p = {.r = r, .block = b, .info = &r->blocks[i]}};
	t.row = tiled_row(r);
	t.column = only_axis(r, i, 0, b->nspatial);
	t.columns = b->axes[t.column].extent;
	for (int k = 0; k < i; k++) {
		int inside = r->rows->between[k] ? inside_axis(r, k) : -1;
		int64_t n = inside < 0
		    ? 1 : r->program->blocks[k].axes[inside].extent;
		t.inside = n > t.inside ? n : t.inside;
	}
	choose_writer(&t);
	put_writer(&t);
	put_sums(&t, t.p.acc, i, t.row, t.column);
	r->blocks[i].scheduled = true;
	for (int k = i - 1; k >= 0; k--) {
		if (!r->rows->between[k] || r->blocks[k].inlined)
			continue;
		put_part(&t, k);
		r->blocks[k].scheduled = true;
	}
}
