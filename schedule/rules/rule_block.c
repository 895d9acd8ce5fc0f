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
 * is, too; and a third one that moves an operand, rows of a picture, whose
 * threads make up for a second one that is short.  How many threads and results
 * of a thread there are in each direction, and how many steps between barriers,
 * are decisions of the writer's splits; the sums' and the copies' splits name
 * its loops.  The writer is the block's elementwise reader (bias, activation,
 * a sum with something else), or a copy of the block where there is none.  Sums are
 * shared out among the threads (ir/nest/nest_spread.c), so that barriers stand
 * outside of all thread loops. */
#include "schedule/rules/block.h"

#include <assert.h>

enum {
	LEAST_TILED = 4,  /* of an axis that is tiled */
	LEAST_ROWS = 2,   /* the same of channels of a window */
	EXACT_MOST = 64,  /* an axis so long may be divided by its own factors */
	BLOCKS_PART = 16, /* others than the anchor have at least this part of its
			     arithmetic */
	SHORT_WINDOW = 64, /* steps of a window that are repeated in code */
	MOST_GROUP = 8,    /* rows of tiles that go together */
	LONG_AXIS = 1024,  /* with more columns than a cache keeps */
	MOST_PARTS = 32,   /* of a reduction that blocks share out */
	LEAST_PART = 8,    /* steps of one */
	LEAST_STEPS = 256  /* of a reduction that is worth it */
};

/* Threads in both directions, results of a thread, steps between barriers:
 * where a search begins. */
typedef struct {
	int y, x, rows, columns, steps;
} BlockShape;

static const BlockShape shapes[] = {{16, 16, 8, 8, 8}, {16, 16, 4, 4, 16},
    {8, 16, 4, 4, 16}, {8, 8, 4, 4, 16}, {8, 8, 2, 2, 16}, {4, 8, 2, 2, 16}};
static const BlockShape middle = {8, 8, 4, 4, 16};

/* --- axes --------------------------------------------------------------------- */

/* Is an operand used again along one axis that moves with the other, and another
 * one the other way? */
static bool is_pair(const RuleBlock *b, int row, int column)
{
	bool across = false, down = false;
	vec_each (read, &b->reads) {
		bool moves_row = read->reuse[row] == 1;
		bool moves_column = read->reuse[column] == 1;
		across |= moves_column && !moves_row;
		down |= moves_row && !moves_column;
	}
	return across && down;
}

/* Do the two move the same operands?  Then they are rows and columns of one
 * picture. */
static bool moves_alike(const RuleBlock *b, int axis, int other)
{
	bool some = false;
	vec_each (read, &b->reads) {
		if ((read->reuse[axis] == 1) != (read->reuse[other] == 1))
			return false;
		some |= read->reuse[axis] == 1;
	}
	return some;
}

/* The reduction's axis that is cut: not of a window if there is another, the
 * longest. */
static int step_axis(const Block *block, const RuleBlock *b)
{
	int best = -1;
	bool best_plain = false;
	for (int a = block->nspatial; a < block->naxes; a++) {
		bool plain = block->axes[a].extent > 1 && product_reads_at(b, a);
		if (best >= 0 && (plain < best_plain ||
		    (plain == best_plain && block->axes[a].extent <=
			block->axes[best].extent)))
			continue;
		best = a;
		best_plain = plain;
	}
	return best;
}

/* A window reads the same again for few channels, too. */
static int least_rows(const Block *b)
{
	int reduced = 0;
	for (int a = b->nspatial; a < b->naxes; a++)
		reduced += b->axes[a].extent > 1;
	return reduced > 1 ? LEAST_ROWS : LEAST_TILED;
}

/* The last axis possible, of the others the longest, and of those that are like
 * one of these the last. */
static bool find(const Rules *r, int i, Product *p)
{
	const Block *block = &r->program->blocks[i];
	const RuleBlock *info = &r->blocks[i];
	int row = -1, column = -1, other = -1;
	if (info->inlined || block->reduce == REDUCE_NONE)
		return false;
	for (int c = block->nspatial - 1; c >= 0 && column < 0; c--)
		for (int a = 0; a < block->nspatial; a++) {
			if (a == c ||
			    block->axes[a].extent < least_rows(block) ||
			    block->axes[c].extent < LEAST_TILED ||
			    !is_pair(info, a, c))
				continue;
			column = c;
			if (row < 0 || block->axes[a].extent >
				block->axes[row].extent)
				row = a;
		}
	for (int a = 0; a < block->nspatial && column >= 0; a++)
		if (a != row && a != column && block->axes[a].extent > 1 &&
		    (moves_alike(info, a, column) || moves_alike(info, a, row)))
			other = a;
	*p = (Product){
	    .block = block, .info = info, .step = step_axis(block, info)};
	p->axes[BLOCK_X].axis = column;
	p->axes[BLOCK_Y].axis = row;
	p->axes[BLOCK_Z].axis = other;
	return column >= 0 && p->step >= 0;
}

bool rule_block_fits(const Rules *r, int i)
{
	Product p;
	return find(r, i, &p);
}

/* --- domains ----------------------------------------------------------------------- */

static void add_value(BlockValues *v, int value)
{
	int i = v->n;
	for (int k = 0; k < v->n; k++)
		if (v->at[k] == value)
			return;
	if (v->n == BLOCK_VALUES)
		return;
	for (; i && v->at[i - 1] > value; i--)
		v->at[i] = v->at[i - 1];
	v->at[i] = value;
	v->n++;
}

/* 1, 2, 4 .. up to `most`, none so large that half of it is too much; with
 * `exact` what divides a short axis as well. */
static BlockValues values_of(int64_t extent, int most, bool exact)
{
	BlockValues v = {0};
	for (int k = 1; k <= most && (k == 1 || k < 2 * extent); k *= 2)
		add_value(&v, k);
	for (int k = 3; exact && extent <= EXACT_MOST && k <= extent; k++)
		if (extent % k == 0 && k <= most)
			add_value(&v, k);
	return v;
}

static int nearest(const BlockValues *v, int value)
{
	assert(v->n > 0 && v->at[0] <= value);
	int best = v->at[0];
	for (int i = 1; i < v->n && v->at[i] <= value; i++)
		best = v->at[i];
	return best;
}

/* One decision for each part but the first. */
static const char *sizes_of(
    const Product *p, const BlockValues *parts, const int *usual, int n)
{
	const Rules *r = p->r;
	const char *begin = "", *all = "";
	for (int i = 0; i < n; i++) {
		const BlockValues *v = &parts[i];
		int first = nearest(v, usual[i]);
		const char *sizes = "";
		for (int k = 0; k < v->n; k++)
			sizes = rule_and_size(r, sizes, v->at[k]);
		begin = rule_and_size(r, begin, first);
		all = arena_printf(r->arena, "%s, [%s]", all, sizes);
	}
	return arena_printf(r->arena, "?=[_, %s] in tile(%s)", begin, all);
}

/* --- where to begin ------------------------------------------------------------------- */

/* Of each direction. */
typedef struct {
	int threads[BLOCK_AXES], results[BLOCK_AXES];
	int steps;
} Tile;

static int64_t extent_of(const Product *p, BlockAxis d)
{
	int axis = p->axes[d].axis;
	return axis < 0 ? 1 : p->block->axes[axis].extent;
}

/* No more than an eighth of it lies behind the end of a short axis; what is
 * taken from it is threads of another one. */
static int fit_axis(const Product *p, Tile *t, BlockAxis d)
{
	int64_t n = extent_of(p, d), most = n + n / 8;
	assert(n > 0 && t->threads[d] > 0 && t->results[d] > 0);
	int before = t->threads[d] * t->results[d];
	while (t->results[d] > 1 && t->threads[d] * t->results[d] > most)
		t->results[d] /= 2;
	while (t->threads[d] > 1 && t->threads[d] * t->results[d] > most)
		t->threads[d] = t->threads[d] > n && 2 * n > t->threads[d]
		    ? (int)n : t->threads[d] / 2;
	return before / (t->threads[d] * t->results[d]);
}

static Tile fit_shape(const Product *p, const BlockShape *s)
{
	Tile t = {{s->x, s->y, 1}, {s->columns, s->rows, 1}, s->steps};
	int left = fit_axis(p, &t, BLOCK_X);
	for (; left > 1 && 2 * t.threads[BLOCK_Z] <= extent_of(p, BLOCK_Z);
	     left /= 2)
		t.threads[BLOCK_Z] *= 2;
	fit_axis(p, &t, BLOCK_Y);
	return t;
}

static double blocks_of(const Product *p, const Tile *t)
{
	double blocks = block_points(p->block, 0, p->block->nspatial);
	for (int d = 0; d < BLOCK_AXES; d++) {
		int64_t n = extent_of(p, (BlockAxis)d);
		int tile = t->threads[d] * t->results[d];
		blocks = blocks / (double)n * (double)((n + tile - 1) / tile);
	}
	return blocks;
}

/* The largest tile that fills enough blocks, or the smallest; where blocks share
 * out the reduction there are enough. */
static Tile choose_tile(const Product *p)
{
	int n = sizeof shapes / sizeof *shapes, i = 0;
	if (p->partial)
		return fit_shape(p, &middle);
	Tile t = fit_shape(p, &shapes[i]);
	while (i < n - 1 && blocks_of(p, &t) < p->r->machine->processors)
		t = fit_shape(p, &shapes[++i]);
	return t;
}

/* --- the writer -------------------------------------------------------------------- */

/* Of partial sums the axis that is cut is what rfactor left of it. */
static const char *axis_name(const Product *p, int axis)
{
	return p->partial && axis == p->step ? p->rest
					     : p->block->axes[axis].name;
}

static const char *sums_name(Product *p, int axis, const char *suffix)
{
	return rule_plain_name(arena_printf(p->r->arena, "%s_%s%s", p->acc,
	    axis_name(p, axis), suffix));
}

/* Threads outside of what each of them has; of the last axis inside of it, but
 * for a few neighbours. */
static void split_axis(Product *p, BlockAxis d, const Tile *usual)
{
	static const TileLoop across[] = {
	    TILE_OUTER, TILE_RESULTS, TILE_THREADS, TILE_LANES};
	static const TileLoop down[] = {
	    TILE_OUTER, TILE_GROUP, TILE_THREADS, TILE_RESULTS};
	static const TileLoop plain[] = {
	    TILE_OUTER, TILE_THREADS, TILE_RESULTS};
	int64_t n = extent_of(p, d);
	BlockValues threads = values_of(n, d == BLOCK_X ? 64 : 32, true);
	BlockValues results = values_of(n, d == BLOCK_Z ? 4 : 16, false);
	bool groups = d == BLOCK_Y && extent_of(p, BLOCK_X) >= LONG_AXIS &&
	    n >= LONG_AXIS;
	if (d == BLOCK_X) {
		BlockValues parts[] = {
		    results, threads, values_of(n, 4, false)};
		int four = usual->results[d] % 4 ? 1 : 4;
		int sizes[] = {
		    usual->results[d] / four, usual->threads[d], four};
		product_split(
		    p, d, "0 r t v", across, sizes_of(p, parts, sizes, 3));
		return;
	}
	BlockValues parts[] = {values_of(n, MOST_GROUP, false), threads, results};
	int sizes[] = {1, usual->threads[d], usual->results[d]};
	int skip = groups ? 0 : 1;
	product_split(p, d, groups ? "0 g t r" : "0 t r", groups ? down : plain,
	    sizes_of(p, parts + skip, sizes + skip, 3 - skip));
}

/* Blocks run those of a group one below the other, then the next column, so that
 * what they read of it stays in the second cache. */
static void put_writer(Product *p)
{
	const char *lanes, *results;
	Tile usual = choose_tile(p);
	for (int d = BLOCK_AXES - 1; d >= 0; d--)
		if (p->axes[d].axis >= 0)
			split_axis(p, (BlockAxis)d, &usual);
	p->usual_steps = usual.steps;
	const char *tiles =
	    arena_printf(p->r->arena, "%s, %s, %s", product_others(p),
		product_loops(p, TILE_OUTER), product_loops(p, TILE_GROUP));
	results = product_loops(p, TILE_RESULTS);
	lanes = product_loops(p, TILE_LANES);
	rule_put(p->r, "reorder(%s, %s, %s, %s)\n%s = fuse(%s)\n", tiles,
	    product_loops(p, TILE_THREADS), results, lanes, p->tiles, tiles);
	rule_put(p->r, "bind(%s, blockIdx.x)\n", p->tiles);
	product_bind(p, TILE_THREADS);
	rule_put(p->r, "each unroll(%s, %s)\n", results, lanes);
}

/* --- the sums ------------------------------------------------------------------------ */

static void split_sums(Product *p)
{
	for (int d = BLOCK_AXES - 1; d >= 0; d--) {
		TileAxis *x = &p->axes[d];
		bool last = d == BLOCK_X;
		if (x->axis < 0)
			continue;
		const char *const *s = rule_split(p->r, p->acc, p->block,
		    x->axis, last ? "r t v" : "t r", "[_, %s, %s]",
		    x->loops[last ? TILE_THREADS : TILE_RESULTS],
		    x->loops[TILE_LANES]);
		x->loops[SUMS_THREADS] = s[last];
		x->loops[SUMS_RESULTS] = s[!last];
		x->loops[SUMS_LANES] = s[2];
	}
}

/* The window's axes: what is reduced besides the steps. */
static int64_t window_of(const Product *p)
{
	int64_t n = 1;
	for (int a = p->block->nspatial; a < p->block->naxes; a++)
		if (a != p->step)
			n *= p->block->axes[a].extent;
	return n;
}

static void split_steps(Product *p)
{
	int64_t n = p->block->axes[p->step].extent, window = window_of(p);
	BlockValues steps = values_of(n, 32, n <= 16);
	int usual = p->usual_steps < n ? p->usual_steps : (int)n;
	while (usual > 1 && usual * window > SHORT_WINDOW)
		usual /= 2;
	rule_split_loop(p->r,
	    arena_printf(p->r->arena, "%s.%s", p->acc, axis_name(p, p->step)),
	    sums_name(p, p->step, ""), "0 1", "%s",
	    sizes_of(p, &steps, &usual, 1));
}

static void put_sums(Product *p)
{
	Rules *r = p->r;
	const Block *b = p->block;
	const char *inner, *window = "";
	rule_put(r, "compute_at(%s, %s)\n", p->acc, p->tiles);
	split_sums(p);
	split_steps(p);
	for (int a = b->nspatial; a < b->naxes; a++)
		if (a != p->step)
			window = rule_and(r, window, p->acc, b, a);
	const char *others =
	    !p->partial ? "" : arena_printf(r->arena, "%s.%s", p->acc, p->part);
	for (int a = 0; a < b->nspatial; a++)
		if (!product_tiles(p, a))
			others = rule_and(r, others, p->acc, b, a);
	inner = arena_printf(r->arena, "%s, %s", product_loops(p, SUMS_RESULTS),
	    product_loops(p, SUMS_LANES));
	const char *step = sums_name(p, p->step, "1");
	rule_put(r, "reorder(%s, %s, %s, %s, %s, %s, %s)\n",
	    p->taps ? window : "", sums_name(p, p->step, "0"),
	    product_loops(p, SUMS_THREADS), others, step, p->taps ? "" : window,
	    inner);
	product_bind(p, SUMS_THREADS);
	rule_put(r, "each unroll(%s, %s, %s)\n", others, inner,
	    p->taps || window_of(p) > SHORT_WINDOW ? "" : window);
	rule_put(r, "unroll(%s, ?=%d in {1, 8, 16, 32})\n", step,
	    p->taps || window_of(p) == 1 ? 16 : 1);
}

/* --- the whole ------------------------------------------------------------------------- */

/* Blocks share out the reduction: each makes partial sums of a part of its steps,
 * and what combines them is a kernel of its own, so that the order of sums is
 * always the same. */
static void split_reduction(Product *p)
{
	const Block *b = p->block;
	int64_t n = b->axes[p->step].extent;
	const char *first = NULL, *others = "";
	Tile tile = fit_shape(p, &middle);
	double blocks = blocks_of(p, &tile);
	for (int parts = 2; parts <= MOST_PARTS; parts *= 2) {
		if (n % parts || n / parts < LEAST_PART)
			continue;
		const char *size = arena_printf(
		    p->r->arena, "[_, %lld]", (long long)(n / parts));
		if (!first || blocks * parts <= 2 * p->r->machine->processors)
			first = size;
		others = rule_join(p->r, others, size);
	}
	assert(first && "rule_block_splits asked");
	p->partial = rule_name(p->r, b, "part", "");
	p->part = rule_name(p->r, b, b->axes[p->step].name, "p");
	p->rest = rule_name(p->r, b, b->axes[p->step].name, "s");
	rule_put(p->r, "%s, %s = split(%s.%s, ?=%s in {%s})\n", p->part,
	    p->rest, b->name, b->axes[p->step].name, first, others);
	rule_put(p->r, "%s = rfactor(%s)\n", p->partial, p->part);
}

/* The writer: the block's elementwise reader, or a copy of the block. */
static void choose_writer(Product *p, int i)
{
	Rules *r = p->r;
	bool split = r->tiled.split && i == r->tiled.block;
	if (split)
		split_reduction(p);
	RuleWriter w = {-1, p->block, rule_name(r, p->block, "acc", "")};
	if (split) /* what combines has no loops yet */
		rule_put(r, "%s = cache_write(%s, reg)\n", w.acc, p->partial);
	else
		w = rule_writer(r, i, "reg");
	product_writer(p, w);
	if (split)
		p->writer = p->partial;
	p->tiles = rule_name(r, w.block, "b", "");
}

bool rule_block_has_window(const Rules *r, int i)
{
	Product p;
	return find(r, i, &p) && window_of(&p) > 1;
}

bool rule_block_splits(const Rules *r, int i)
{
	const Block *b = &r->program->blocks[i];
	Product p;
	if (!find(r, i, &p) || r->program->numerics == NUMERICS_EXACT ||
	    r->program->buffers[b->buffer].type != b->body->type)
		return false;
	Tile tile = fit_shape(&p, &middle);
	int64_t n = b->axes[p.step].extent;
	return n % 2 == 0 && n / 2 >= LEAST_PART &&
	    n * window_of(&p) >= LEAST_STEPS &&
	    blocks_of(&p, &tile) < 2 * r->machine->processors;
}

void rule_block(Rules *r, int i)
{
	int anchor = r->tiled.block;
	Product p;
	if (anchor < 0 || !rule_is_open(r, i) || !find(r, i, &p) ||
	    rule_work(r, i) * BLOCKS_PART < rule_work(r, anchor))
		return;
	assert(p.axes[BLOCK_X].axis != p.axes[BLOCK_Y].axis);
	p.r = r;
	p.taps = r->tiled.outer;
	choose_writer(&p, i);
	put_writer(&p);
	put_sums(&p);
	p.steps = sums_name(&p, p.step, "0");
	product_fetch(&p);
}
