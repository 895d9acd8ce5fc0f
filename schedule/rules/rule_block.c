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
} Shape;

static const Shape shapes[] = {
    {16, 16, 8, 8, 8}, {16, 16, 4, 4, 16}, {8, 16, 4, 4, 16},
    {8, 8, 4, 4, 16}, {8, 8, 2, 2, 16}, {4, 8, 2, 2, 16}};
static const Shape middle = {8, 8, 4, 4, 16};

/* --- axes --------------------------------------------------------------------- */

/* Is an operand used again along one axis that moves with the other, and another
 * one the other way? */
static bool is_pair(const RuleBlock *b, int row, int column)
{
	bool across = false, down = false;
	for (int i = 0; i < b->reads.n; i++) {
		const RuleRead *read = &b->reads.at[i];
		bool moves_row = read->again[row] == 1;
		bool moves_column = read->again[column] == 1;
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
	for (int i = 0; i < b->reads.n; i++) {
		const RuleRead *read = &b->reads.at[i];
		if ((read->again[axis] == 1) != (read->again[other] == 1))
			return false;
		some |= read->again[axis] == 1;
	}
	return some;
}

bool product_reads_at(const RuleBlock *b, int axis)
{
	for (int i = 0; i < b->reads.n; i++) {
		const RuleRead *read = &b->reads.at[i];
		bool plain = !read->uses[axis];
		for (int d = 0; d < read->nindex; d++)
			plain |= rule_axis_of(read->index[d]) == axis;
		if (!plain)
			return false;
	}
	return true;
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
static bool find_axes(const Rules *r, int i, int *axes, int *step)
{
	const Block *block = &r->program->blocks[i];
	int row = -1, column = -1, other = -1;
	for (int c = block->nspatial - 1; c >= 0 && column < 0; c--)
		for (int a = 0; a < block->nspatial; a++) {
			if (a == c || block->axes[a].extent < least_rows(block) ||
			    block->axes[c].extent < LEAST_TILED ||
			    !is_pair(&r->blocks[i], a, c))
				continue;
			column = c;
			if (row < 0 || block->axes[a].extent >
				block->axes[row].extent)
				row = a;
		}
	for (int a = 0; a < block->nspatial && column >= 0; a++)
		if (a != row && a != column && block->axes[a].extent > 1 &&
		    (moves_alike(&r->blocks[i], a, column) ||
			moves_alike(&r->blocks[i], a, row)))
			other = a;
	axes[BLOCK_X] = column;
	axes[BLOCK_Y] = row;
	axes[BLOCK_Z] = other;
	*step = step_axis(block, &r->blocks[i]);
	return column >= 0 && *step >= 0;
}

bool rule_block_fits(const Rules *r, int i)
{
	int axes[BLOCK_AXES], step;
	return !r->blocks[i].inlined &&
	    r->program->blocks[i].reduce != REDUCE_NONE &&
	    find_axes(r, i, axes, &step);
}

bool rule_block_applies(const Rules *r, int i)
{
	int anchor = r->tiled.block;
	return anchor >= 0 && rule_is_open(r, i) && rule_block_fits(r, i) &&
	    rule_work(r, i) * BLOCKS_PART >= rule_work(r, anchor);
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
	int best = v->at[0];
	for (int i = 1; i < v->n && v->at[i] <= value; i++)
		best = v->at[i];
	return best;
}

static void put_values(Product *p, const BlockValues *v)
{
	for (int i = 0; i < v->n; i++)
		product_put(p, "%s%d", i ? ", " : "[", v->at[i]);
	product_put(p, "]");
}

/* A split with one decision for each part but the first. */
static void put_split(Product *p, const char *loop, const BlockValues *parts,
    const int *usual, int n)
{
	product_put(p, " = split(%s, ?=[_", loop);
	for (int i = 0; i < n; i++)
		product_put(p, ", %d", nearest(&parts[i], usual[i]));
	product_put(p, "] in tile(");
	for (int i = 0; i < n; i++) {
		product_put(p, "%s", i ? ", " : "");
		put_values(p, &parts[i]);
	}
	product_put(p, "))\n");
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
	int before = t->threads[d] * t->results[d];
	while (t->results[d] > 1 && t->threads[d] * t->results[d] > most)
		t->results[d] /= 2;
	while (t->threads[d] > 1 && t->threads[d] * t->results[d] > most)
		t->threads[d] = t->threads[d] > n && 2 * n > t->threads[d]
		    ? (int)n : t->threads[d] / 2;
	return before / (t->threads[d] * t->results[d]);
}

static Tile fit_shape(const Product *p, const Shape *s)
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

static const char *loop_name(Product *p, const TileAxis *x, const char *suffix)
{
	return rule_name(p->r, p->writer_block, x->name, suffix);
}

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

static void name_loops(Product *p, TileAxis *x)
{
	x->outer = loop_name(p, x, "0");
	x->threads = loop_name(p, x, "t");
	x->results = loop_name(p, x, "r");
	x->lanes = loop_name(p, x, "v");
	if (x == &p->axes[BLOCK_Y] && extent_of(p, BLOCK_X) >= LONG_AXIS &&
	    extent_of(p, BLOCK_Y) >= LONG_AXIS)
		x->group = loop_name(p, x, "g");
}

/* Threads outside of what each of them has; of the last axis inside of it, but
 * for a few neighbours. */
static void split_axis(Product *p, BlockAxis direction, const Tile *usual)
{
	const TileAxis *x = &p->axes[direction];
	int64_t n = p->block->axes[x->axis].extent;
	const char *loop =
	    arena_printf(p->r->arena, "%s.%s", p->writer, x->name);
	BlockValues threads = values_of(n, direction == BLOCK_X ? 64 : 32, true);
	BlockValues results = values_of(n, direction == BLOCK_Z ? 4 : 16, false);
	if (direction == BLOCK_X) {
		BlockValues lanes = values_of(n, 4, false);
		BlockValues parts[] = {results, threads, lanes};
		product_put(p, "%s, %s, %s, %s", x->outer, x->results,
		    x->threads, x->lanes);
		int four = usual->results[BLOCK_X] % 4 ? 1 : 4;
		put_split(p, loop, parts,
		    (int[]){usual->results[BLOCK_X] / four,
			usual->threads[BLOCK_X], four}, 3);
		return;
	}
	BlockValues parts[] = {values_of(n, MOST_GROUP, false), threads, results};
	int sizes[] = {1, usual->threads[direction], usual->results[direction]};
	int skip = x->group ? 0 : 1;
	product_put(p, "%s, ", x->outer);
	if (x->group)
		product_put(p, "%s, ", x->group);
	product_put(p, "%s, %s", x->threads, x->results);
	put_split(p, loop, parts + skip, sizes + skip, 3 - skip);
}

/* The writer's axes in no tiles. */
static bool is_tiled(const Product *p, const char *name)
{
	for (int d = 0; d < BLOCK_AXES; d++)
		if (p->axes[d].axis >= 0 && p->axes[d].name == name)
			return true;
	return false;
}

static void put_others(Product *p)
{
	if (p->partial)
		product_put(p, "%s.%s, ", p->writer, p->part);
	for (int a = 0; a < p->writer_block->nspatial; a++)
		if (!is_tiled(p, p->writer_block->axes[a].name))
			product_put(p, "%s.%s, ", p->writer,
			    p->writer_block->axes[a].name);
}

enum { OUTER, THREADS, RESULTS };

/* Loops of one kind, of all directions. */
static void put_loops(Product *p, int kind, const char *before)
{
	for (int d = BLOCK_AXES - 1; d >= 0; d--) {
		const TileAxis *x = &p->axes[d];
		if (x->axis < 0)
			continue;
		product_put(p, "%s%s", before,
		    kind == OUTER	  ? x->outer
			: kind == THREADS ? x->threads : x->results);
		before = ", ";
	}
}

/* What blocks run: those of a group one below the other, then the next column,
 * so that what they read of it stays in the second cache. */
static void put_tiles(Product *p)
{
	put_others(p);
	put_loops(p, OUTER, "");
	if (p->axes[BLOCK_Y].group)
		product_put(p, ", %s", p->axes[BLOCK_Y].group);
}

static void bind_threads(
    Product *p, const char *(*loop)(Product *, BlockAxis))
{
	for (int d = BLOCK_AXES - 1; d >= 0; d--)
		if (p->axes[d].axis >= 0)
			product_put(p, "bind(%s, threadIdx.%c)\n",
			    loop(p, (BlockAxis)d), "xyz"[d]);
}

static const char *writer_threads(Product *p, BlockAxis d)
{
	return p->axes[d].threads;
}

static void put_writer(Product *p)
{
	const TileAxis *x = &p->axes[BLOCK_X];
	Tile usual = choose_tile(p);
	for (int d = BLOCK_AXES - 1; d >= 0; d--)
		if (p->axes[d].axis >= 0)
			split_axis(p, (BlockAxis)d, &usual);
	p->usual_steps = usual.steps;
	product_put(p, "reorder(");
	put_tiles(p);
	put_loops(p, THREADS, ", ");
	put_loops(p, RESULTS, ", ");
	product_put(p, ", %s)\n%s = fuse(", x->lanes, p->tiles);
	put_tiles(p);
	product_put(p, ")\nbind(%s, blockIdx.x)\n", p->tiles);
	bind_threads(p, writer_threads);
	for (int d = BLOCK_AXES - 1; d >= 0; d--)
		if (p->axes[d].axis >= 0)
			product_put(p, "unroll(%s)\n", p->axes[d].results);
	product_put(p, "unroll(%s)\n", x->lanes);
}

/* --- the sums ------------------------------------------------------------------------ */

static const char *sums_threads(Product *p, BlockAxis d)
{
	return sums_name(p, p->axes[d].axis, "t");
}

static void split_sums(Product *p)
{
	for (int d = BLOCK_AXES - 1; d >= 0; d--) {
		const TileAxis *x = &p->axes[d];
		if (x->axis < 0)
			continue;
		const char *axis = p->block->axes[x->axis].name;
		const char *r = sums_name(p, x->axis, "r");
		const char *t = sums_name(p, x->axis, "t");
		if (d == BLOCK_X)
			product_put(p,
			    "%s, %s, %s = split(%s.%s, [_, %s, %s])\n", r, t,
			    sums_name(p, x->axis, "v"), p->acc, axis,
			    x->threads, x->lanes);
		else
			product_put(p, "%s, %s = split(%s.%s, [_, %s])\n", t, r,
			    p->acc, axis, x->results);
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
	product_put(p, "%s, %s", sums_name(p, p->step, "0"),
	    sums_name(p, p->step, "1"));
	put_split(p,
	    arena_printf(
		p->r->arena, "%s.%s", p->acc, axis_name(p, p->step)),
	    &steps, &usual, 1);
}

static void put_window(Product *p, const char *format)
{
	for (int a = p->block->nspatial; a < p->block->naxes; a++)
		if (a != p->step)
			product_put(p, format, p->acc, p->block->axes[a].name);
}

bool product_tiles(const Product *p, int axis)
{
	for (int d = 0; d < BLOCK_AXES; d++)
		if (p->axes[d].axis == axis)
			return true;
	return false;
}

static void order_sums(Product *p)
{
	const Block *b = p->block;
	product_put(p, "reorder(");
	if (p->taps)
		put_window(p, "%s.%s, ");
	product_put(p, "%s", sums_name(p, p->step, "0"));
	for (int d = BLOCK_AXES - 1; d >= 0; d--)
		if (p->axes[d].axis >= 0)
			product_put(p, ", %s", sums_threads(p, (BlockAxis)d));
	if (p->partial)
		product_put(p, ", %s.%s", p->acc, p->part);
	for (int a = 0; a < b->nspatial; a++)
		if (!product_tiles(p, a))
			product_put(p, ", %s.%s", p->acc, b->axes[a].name);
	product_put(p, ", %s", sums_name(p, p->step, "1"));
	if (!p->taps)
		put_window(p, ", %s.%s");
	for (int d = BLOCK_AXES - 1; d >= 0; d--)
		if (p->axes[d].axis >= 0)
			product_put(p, ", %s",
			    sums_name(p, p->axes[d].axis, "r"));
	product_put(
	    p, ", %s)\n", sums_name(p, p->axes[BLOCK_X].axis, "v"));
}

static void put_sums(Product *p)
{
	const Block *b = p->block;
	product_put(p, "compute_at(%s, %s)\n", p->acc, p->tiles);
	split_sums(p);
	split_steps(p);
	order_sums(p);
	bind_threads(p, sums_threads);
	if (p->partial)
		product_put(p, "unroll(%s.%s)\n", p->acc, p->part);
	for (int a = 0; a < b->nspatial; a++)
		if (!product_tiles(p, a))
			product_put(p, "unroll(%s.%s)\n", p->acc, b->axes[a].name);
	for (int d = BLOCK_AXES - 1; d >= 0; d--)
		if (p->axes[d].axis >= 0)
			product_put(p, "unroll(%s)\n",
			    sums_name(p, p->axes[d].axis, "r"));
	product_put(p, "unroll(%s)\n", sums_name(p, p->axes[BLOCK_X].axis, "v"));
	for (int a = b->nspatial; a < b->naxes && !p->taps; a++)
		if (a != p->step && window_of(p) <= SHORT_WINDOW)
			product_put(p, "unroll(%s.%s)\n", p->acc, b->axes[a].name);
	product_put(p, "unroll(%s, ?=%d in {1, 8, 16, 32})\n",
	    sums_name(p, p->step, "1"),
	    p->taps || window_of(p) == 1 ? 16 : 1);
}

/* --- the whole ------------------------------------------------------------------------- */

void product_put(Product *p, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	buf_vprintf(&p->r->text, format, args);
	va_end(args);
}

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
		others = arena_printf(p->r->arena, "%s%s%s", others,
		    *others ? ", " : "", size);
	}
	p->partial = rule_name(p->r, b, "part", "");
	p->part = rule_name(p->r, b, b->axes[p->step].name, "p");
	p->rest = rule_name(p->r, b, b->axes[p->step].name, "s");
	product_put(p, "%s, %s = split(%s.%s, ?=%s in {%s})\n", p->part,
	    p->rest, b->name, b->axes[p->step].name, first, others);
	product_put(p, "%s = rfactor(%s)\n", p->partial, p->part);
}

/* The writer: the block's elementwise reader, or a copy of the block. */
static void choose_writer(Product *p, int i)
{
	Rules *r = p->r;
	bool split = r->tiled.split && i == r->tiled.block;
	int reader = split ? -1 : rule_elementwise_reader(r, p->info);
	if (split)
		split_reduction(p);
	p->writer_block = reader < 0 ? p->block : &r->program->blocks[reader];
	p->writer = split ? p->partial : p->writer_block->name;
	p->acc = reader < 0 ? rule_name(r, p->block, "acc", "") : p->block->name;
	for (int d = 0; d < BLOCK_AXES; d++) {
		TileAxis *x = &p->axes[d];
		if (x->axis < 0)
			continue;
		int axis = rule_reader_axis(r, p->block, reader, x->axis);
		x->name = p->writer_block->axes[axis].name;
		name_loops(p, x);
	}
	p->tiles = rule_name(r, p->writer_block, "b", "");
	r->blocks[i].scheduled = !split; /* what combines has no loops yet */
	if (reader >= 0) {
		r->blocks[reader].scheduled = true;
		product_put(p, "set_scope(%s, reg)\n", p->acc);
	} else {
		product_put(p, "%s = cache_write(%s, reg)\n", p->acc, p->writer);
	}
}

bool rule_block_has_window(const Rules *r, int i)
{
	int axes[BLOCK_AXES], step;
	Product p = {.block = &r->program->blocks[i]};
	if (!find_axes(r, i, axes, &step))
		return false;
	p.step = step;
	return window_of(&p) > 1;
}

bool rule_block_splits(const Rules *r, int i)
{
	const Block *b = &r->program->blocks[i];
	int axes[BLOCK_AXES];
	Product p = {.r = (Rules *)r, .block = b, .info = &r->blocks[i]};
	if (!find_axes(r, i, axes, &p.step) ||
	    r->program->numerics == NUMERICS_EXACT ||
	    r->program->buffers[b->buffer].type != b->body->type)
		return false;
	for (int d = 0; d < BLOCK_AXES; d++)
		p.axes[d].axis = axes[d];
	Tile tile = fit_shape(&p, &middle);
	int64_t n = b->axes[p.step].extent;
	return n % 2 == 0 && n / 2 >= LEAST_PART &&
	    n * window_of(&p) >= LEAST_STEPS &&
	    blocks_of(&p, &tile) < 2 * r->machine->processors;
}

void rule_block(Rules *r, int i)
{
	int axes[BLOCK_AXES];
	Product p = {.r = r,
	    .block = &r->program->blocks[i],
	    .info = &r->blocks[i],
	    .taps = r->tiled.outer};
	bool found = find_axes(r, i, axes, &p.step);
	assert(found);
	(void)found;
	for (int d = 0; d < BLOCK_AXES; d++)
		p.axes[d].axis = axes[d];
	choose_writer(&p, i);
	put_writer(&p);
	put_sums(&p);
	p.steps = sums_name(&p, p.step, "0");
	product_fetch(&p);
}
