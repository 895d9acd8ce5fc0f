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
	ROOM = 12 * 1024,  /* bytes that a block's other operands may take */
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
		vec_each (read, &info->reads)
			again |= !read->uses[a];
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

/* --- where a search begins ------------------------------------------------------------ */

typedef struct {
	int threads_y, rows, threads_x, lanes, steps;
} RowsBlockShape;

/* Elements that a block shares: a step of what is read for a whole row, two steps
 * at once where copies run ahead, and its rows. */
static double shared_elements(const Together *t, const RowsBlockShape *s)
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
static void choose_columns(const Together *t, RowsBlockShape *s)
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
	assert(s->threads_x && s->lanes);
}

static int fitting(int64_t n, int most, int least)
{
	int tile = most;
	while (tile > least && waste(n, tile) > LITTLE_WASTE)
		tile /= 2;
	return tile;
}

/* As many rows as fill the processors and have room, of few steps if need be. */
static RowsBlockShape choose_shape(const Together *t)
{
	const Machine *m = t->p.r->machine;
	const Block *b = t->p.block;
	int64_t rows = 1, extent = b->axes[t->row].extent;
	double room = ((double)m->block_shared - ROOM) / ELEMENT;
	RowsBlockShape s = {.steps = 16};
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

/* Of a stage: its rows and what is inside of them, as the writer has them; axes that
 * have one iteration. */
typedef struct {
	const char *const *rows, *const *inside;
	const char *ones;
} StageLoops;

/* Inside -1: there is none. */
static StageLoops split_stage(
    Together *t, const char *stage, const Block *b, int row, int inside)
{
	const TileAxis *y = &t->p.axes[BLOCK_Y], *x = &t->p.axes[BLOCK_X];
	Rules *r = t->p.r;
	StageLoops s = {.ones = ""};
	s.rows = rule_split(
	    r, stage, b, row, "t r", "[_, %s]", y->loops[TILE_RESULTS]);
	s.inside = rule_split(r, stage, b, inside, "r t v", "[_, %s, %s]",
	    x->loops[TILE_THREADS], x->loops[TILE_LANES]);
	for (int a = 0; a < b->naxes; a++)
		if (a != row && a != inside &&
		    (a < b->nspatial || b->axes[a].extent == 1))
			s.ones = rule_and(r, s.ones, stage, b, a);
	return s;
}

/* Threads outside, then `steps`, and what a thread has. */
static void put_stage(
    Together *t, const StageLoops *s, const char *before, const char *steps)
{
	Rules *r = t->p.r;
	const char *each = arena_printf(
	    r->arena, "%s, %s, %s", s->rows[1], s->inside[0], s->inside[2]);
	rule_put(r, "reorder(%s, %s, %s, %s, %s, %s)\n", before, s->rows[0],
	    s->inside[1], s->ones, steps, each);
	rule_put(r,
	    "bind(%s, threadIdx.y)\nbind(%s, threadIdx.x)\n"
	    "each unroll(%s, %s)\n",
	    s->rows[0], s->inside[1], s->ones, each);
}

/* --- the writer ------------------------------------------------------------------------ */

/* All rows that no thread has are blocks. */
static void put_writer(Together *t)
{
	static const TileLoop rows[] = {TILE_OUTER, TILE_THREADS, TILE_RESULTS};
	static const TileLoop inside[] = {
	    TILE_RESULTS, TILE_THREADS, TILE_LANES};
	Product *p = &t->p;
	Rules *r = p->r;
	RowsBlockShape s = choose_shape(t);
	t->steps = s.steps;
	product_split(p, BLOCK_Y, "0 t r", rows,
	    arena_printf(r->arena,
		"?=[_, %d, %d] in "
		"tile([1, 2, 4, 8, 16, 32], [1, 2, 4, 8])",
		s.threads_y, s.rows));
	product_split(p, BLOCK_X, "r t v", inside,
	    arena_printf(r->arena,
		"?=[_, %d, %d] in "
		"tile([8, 16, 32, 64], [1, 2, 4])",
		s.threads_x, s.lanes));
	const char *tiles =
	    rule_join(r, product_others(p), product_loops(p, TILE_OUTER));
	const char *each = arena_printf(r->arena, "%s, %s",
	    product_loops(p, TILE_RESULTS), product_loops(p, TILE_LANES));
	rule_put(r, "reorder(%s, %s, %s)\n", tiles,
	    product_loops(p, TILE_THREADS), each);
	/* of one head they are one loop */
	p->tiles = rule_fuse(r, tiles, rule_name(r, p->writer_block, "b", ""));
	rule_put(r, "bind(%s, blockIdx.x)\n", p->tiles);
	product_bind(p, TILE_THREADS);
	rule_put(r, "each unroll(%s)\ntail(%s, mask)\n", each, p->writer);
}

/* --- products ----------------------------------------------------------------------------- */

/* Sums in registers, steps outside of the threads; operands by steps. */
static void put_sums(Together *t, const char *stage, int block, int row,
    int column)
{
	Rules *r = t->p.r;
	const Block *b = &r->program->blocks[block];
	int step = only_axis(r, block, b->nspatial, b->naxes);
	assert(step >= b->nspatial && column >= 0);
	int steps = fitting(b->axes[step].extent, t->steps, LEAST_STEPS);
	rule_put(r, "compute_at(%s, %s)\n", stage, t->p.tiles);
	StageLoops s = split_stage(t, stage, b, row, column);
	const char *const *x = rule_split(r, stage, b, step, "0 1",
	    "?=[_, %d] in tile([4, 8, 16, 32, 64])", steps);
	put_stage(t, &s, x[0], x[1]);
	rule_put(r, "unroll(%s, ?=16 in {1, 8, 16, 32})\n", x[1]);
	Product p = t->p;
	p.block = b;
	p.info = &r->blocks[block];
	p.acc = stage;
	p.step = step;
	p.steps = x[0];
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
		rule_put(r, "set_scope(%s, reg)\n", b->name);
		put_sums(t, b->name, block, row, inside);
		return;
	}
	rule_put(r, "compute_at(%s, %s)\nset_scope(%s, %s)\n", b->name,
	    t->p.tiles, b->name, shared ? "shared" : "reg");
	StageLoops s = split_stage(t, b->name, b, row, inside);
	put_stage(t, &s, "", "");
	if (shared && b->nspatial > 1)
		rule_put(r, "storage_align(%s, %d, %d, %d)\n", b->name,
		    b->nspatial - 2, BANKS, SHIFT);
	if (shared && t->p.padded)
		rule_put(r, "pad(%s, 0)\n", b->name);
	rule_put(r, "tail(%s, mask)\n", b->name);
}

void rule_rows_block(Rules *r, int i)
{
	const Block *b = &r->program->blocks[i];
	if (!r->tiled.rows || i != r->tiled.block)
		return;
	Together t = {.p = {.r = r, .block = b, .info = &r->blocks[i]}};
	t.row = tiled_row(r);
	t.column = only_axis(r, i, 0, b->nspatial);
	assert(t.row >= 0 && t.column >= 0 && "rule_rows_block_choose asked");
	t.columns = b->axes[t.column].extent;
	for (int k = 0; k < i; k++) {
		int inside = r->rows->between[k] ? inside_axis(r, k) : -1;
		int64_t n = inside < 0
		    ? 1 : r->program->blocks[k].axes[inside].extent;
		t.inside = n > t.inside ? n : t.inside;
	}
	t.p.axes[BLOCK_X].axis = t.column;
	t.p.axes[BLOCK_Y].axis = t.row;
	t.p.axes[BLOCK_Z].axis = -1;
	product_writer(&t.p, rule_writer(r, i, "reg"));
	put_writer(&t);
	put_sums(&t, t.p.acc, i, t.row, t.column);
	for (int k = i - 1; k >= 0; k--) {
		if (!r->rows->between[k] || r->blocks[k].inlined)
			continue;
		put_part(&t, k);
		r->blocks[k].scheduled = true;
	}
}
