/* Tiles of a GPU's matrix units: a product whose operands' types a fragment has
 * (ir/fragments.def), by the warps of a block.
 *
 *     for i for j for k c[i, j] += f32(a[i, k])*f32(b[k, j])
 * -->
 *     blockIdx.x
 *       for k0
 *         a_s[..] = a[..], b_s[..] = b[..]      16 bytes a thread at once
 *         threadIdx.z threadIdx.y in 8 threadIdx.x in 4
 *           for k1, i1, j1  mma16x8x16_f16 { c_acc += a_s*b_s }
 *       threadIdx.z, y, x  c = c_acc
 *
 * Rows go on in warps (z) and in the eight threads of y, columns in the four of
 * x.  What is fetched is of 16 bytes, rows of it a few banks apart, a step ahead
 * or more.  Fragments lie in the product in whole numbers, and tiles: an inner
 * loop is split exactly.  The writer is as rule_block.c has it. */
#include "schedule/rules/block.h"

#include <assert.h>

enum { ROWS = 8, COLUMNS = 4, EACH = 2, FETCHED = 16 };

typedef struct {
	Rules *r;
	const Block *block;
	const RuleBlock *info;
	const Intrinsic *in;
	const RuleRead *a, *b;
	int row, column, step;
	const Block *writer; /* the block's reader, or the block */
	int reader;          /* -1: it is the block */
	const char *acc, *tiles;
} Warps;

static void put(Warps *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void put(Warps *w, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	buf_vprintf(&w->r->text, format, args);
	va_end(args);
}

/* --- where it may be ------------------------------------------------------------ */

/* The one with most terms of which there are whole ones. */
static const Intrinsic *fragment_for(const Rules *r, int i)
{
	const Block *block = &r->program->blocks[i];
	const Expr *body = r->bodies ? r->bodies[i] : block->body;
	const Intrinsic *in = NULL;
	if (body->op != OP_MUL)
		return NULL;
	DType a = fragment_read(body, 0)->type;
	DType b = fragment_read(body, 1)->type;
	for (int terms = 64; terms >= 4 && !in; terms /= 2) {
		in = fragment_of(a, b, terms);
		if (in && (!fragment_sums(in, body) ||
			      in->capability > r->machine->capability ||
			      block->axes[block->nspatial].extent % terms ||
			      (fragment_rounds(in) &&
				  r->program->numerics != NUMERICS_FAST)))
			in = NULL;
	}
	return in;
}

static const RuleRead *read_of(const RuleBlock *b, const Expr *e)
{
	for (int i = 0; i < b->reads.n; i++) {
		const RuleRead *read = &b->reads.at[i];
		bool same = read->buffer == e->id;
		for (int d = 0; same && d < read->nindex; d++)
			same = expr_equal(read->index[d], e->arg[d]);
		if (same)
			return read;
	}
	return NULL;
}

/* The last spatial axis that moves one operand by itself and not the other, a
 * multiple of so many. */
static int axis_alone(const Block *block, const RuleRead *read,
    const RuleRead *other, int whole)
{
	for (int d = read->nindex - 1; d >= 0; d--) {
		int a = rule_axis_of(read->index[d]);
		if (a >= 0 && a < block->nspatial && !other->uses[a] &&
		    block->axes[a].extent % whole == 0)
			return a;
	}
	return -1;
}

static bool find(const Rules *r, int i, Warps *w)
{
	const Block *block = &r->program->blocks[i];
	const RuleBlock *info = &r->blocks[i];
	const Buffer *out = &r->program->buffers[block->buffer];
	*w = (Warps){.r = (Rules *)r, .block = block, .info = info};
	if (info->inlined || block->reduce != REDUCE_SUM ||
	    block->naxes != block->nspatial + 1 ||
	    !(w->in = fragment_for(r, i)) || out->type != w->in->sum ||
	    (r->program->numerics == NUMERICS_EXACT &&
		dtype_is_float(out->type)))
		return false;
	const Expr *body = r->bodies ? r->bodies[i] : block->body;
	w->a = read_of(info, fragment_read(body, 0));
	w->b = read_of(info, fragment_read(body, 1));
	if (!w->a || !w->b || w->a == w->b || !w->a->plain || !w->b->plain ||
	    w->a->nindex < 2 || w->b->nindex < 2)
		return false;
	w->step = block->nspatial;
	w->row = axis_alone(block, w->a, w->b, EACH * ROWS);
	w->column = axis_alone(block, w->b, w->a, EACH * COLUMNS);
	return w->row >= 0 && w->column >= 0 && w->a->uses[w->step] &&
	    w->b->uses[w->step];
}

bool rule_warp_fits(const Rules *r, int i)
{
	Warps w;
	return find(r, i, &w);
}

bool rule_warp_applies(const Rules *r, int i)
{
	return r->tiled.warps && r->tiled.block == i && rule_is_open(r, i) &&
	    rule_warp_fits(r, i);
}

/* --- the writer ------------------------------------------------------------------- */

static const char *axis_of_writer(const Warps *w, int axis)
{
	return w->writer->axes[rule_reader_axis(
	    w->r, w->block, w->reader, axis)].name;
}

static const char *name(Warps *w, int axis, const char *suffix)
{
	return rule_name(w->r, w->writer, axis_of_writer(w, axis), suffix);
}

static const char *sums(Warps *w, int axis, const char *suffix)
{
	return rule_plain_name(arena_printf(w->r->arena, "%s_%s%s", w->acc,
	    w->block->axes[axis].name, suffix));
}

/* Of the writer, or of the sums, the axes that are not tiled. */
static void put_others(Warps *w, const char *stage, bool writes)
{
	for (int a = 0; a < w->block->nspatial; a++)
		if (a != w->row && a != w->column)
			put(w, "%s.%s, ", stage, writes ? axis_of_writer(w, a)
				: w->block->axes[a].name);
}

/* Where a search begins: the largest tile of which there are enough blocks. */
typedef struct {
	int warps, rows, columns; /* fragments of a warp in both directions */
} Shape;

static Shape fit_shape(const Warps *w, Shape s)
{
	int64_t rows = w->block->axes[w->row].extent / (EACH * ROWS);
	int64_t columns = w->block->axes[w->column].extent / (EACH * COLUMNS);
	while (s.rows > 1 && rows % (s.warps * s.rows))
		s.rows /= 2;
	while (s.warps > 1 && rows % (s.warps * s.rows))
		s.warps /= 2;
	while (s.columns > 1 && columns % s.columns)
		s.columns /= 2;
	return s;
}

static double blocks_of(const Warps *w, Shape s)
{
	double blocks = 1.0 / (s.warps * s.rows * EACH * ROWS) /
	    (s.columns * EACH * COLUMNS);
	for (int a = 0; a < w->block->nspatial; a++)
		blocks *= (double)w->block->axes[a].extent;
	return blocks;
}

static Shape choose_shape(const Warps *w)
{
	static const Shape shapes[] = {
	    {4, 2, 16}, {4, 2, 8}, {4, 1, 8}, {2, 2, 4}, {2, 1, 4}, {1, 1, 2}};
	int n = sizeof shapes / sizeof *shapes, i = 0;
	while (i < n - 1 &&
	    blocks_of(w, fit_shape(w, shapes[i])) < w->r->machine->processors)
		i++;
	return fit_shape(w, shapes[i]);
}

static void put_writer(Warps *w)
{
	Shape s = choose_shape(w);
	const char *c = w->writer->name;
	put(w, "%s, %s, %s = split(%s.%s, [_, %d, %d])\n",
	    name(w, w->row, "w"), name(w, w->row, "2"), name(w, w->row, "y"), c,
	    axis_of_writer(w, w->row), EACH, ROWS);
	put(w, "%s, %s, %s = split(%s, ?=[_, %d, %d] in "
	    "tile([1, 2, 4, 8], [1, 2, 4]))\n", name(w, w->row, "0"),
	    name(w, w->row, "z"), name(w, w->row, "1"), name(w, w->row, "w"),
	    s.warps, s.rows);
	put(w, "%s, %s, %s = split(%s.%s, [_, %d, %d])\n",
	    name(w, w->column, "w"), name(w, w->column, "x"),
	    name(w, w->column, "2"), c, axis_of_writer(w, w->column), COLUMNS,
	    EACH);
	put(w, "%s, %s = split(%s, ?=[_, %d] in tile([1, 2, 4, 8, 16]))\n",
	    name(w, w->column, "0"), name(w, w->column, "1"),
	    name(w, w->column, "w"), s.columns);
	put(w, "reorder(");
	put_others(w, c, true);
	put(w, "%s, %s, %s, %s, %s, %s, %s, %s, %s)\n%s = fuse(",
	    name(w, w->row, "0"), name(w, w->column, "0"),
	    name(w, w->row, "z"), name(w, w->row, "y"),
	    name(w, w->column, "x"), name(w, w->row, "1"),
	    name(w, w->row, "2"), name(w, w->column, "1"),
	    name(w, w->column, "2"), w->tiles);
	put_others(w, c, true);
	put(w, "%s, %s)\nbind(%s, blockIdx.x)\nbind(%s, threadIdx.z)\n"
	    "bind(%s, threadIdx.y)\nbind(%s, threadIdx.x)\n",
	    name(w, w->row, "0"), name(w, w->column, "0"), w->tiles,
	    name(w, w->row, "z"), name(w, w->row, "y"),
	    name(w, w->column, "x"));
	put(w, "unroll(%s)\nunroll(%s)\nunroll(%s)\nvectorize(%s, %d)\n",
	    name(w, w->row, "1"), name(w, w->row, "2"),
	    name(w, w->column, "1"), name(w, w->column, "2"), EACH);
}

/* --- the sums ---------------------------------------------------------------------- */

static void put_sums(Warps *w)
{
	const Block *b = w->block;
	put(w, "compute_at(%s, %s)\n", w->acc, w->tiles);
	put(w, "%s, %s, %s, %s = split(%s.%s, [_, %s, %d, %d])\n",
	    sums(w, w->row, "z"), sums(w, w->row, "1"), sums(w, w->row, "2"),
	    sums(w, w->row, "y"), w->acc, b->axes[w->row].name,
	    name(w, w->row, "1"), EACH, ROWS);
	put(w, "%s, %s, %s = split(%s.%s, [_, %d, %d])\n",
	    sums(w, w->column, "1"), sums(w, w->column, "x"),
	    sums(w, w->column, "2"), w->acc, b->axes[w->column].name, COLUMNS,
	    EACH);
	int64_t fetched = b->axes[w->step].extent / w->in->terms;
	put(w, "%s, %s = split(%s.%s, [_, %d])\n", sums(w, w->step, "t"),
	    sums(w, w->step, "2"), w->acc, b->axes[w->step].name,
	    w->in->terms);
	put(w, "%s, %s = split(%s, ?=[_, %d] in tile([1, 2, 4]))\n",
	    sums(w, w->step, "0"), sums(w, w->step, "1"),
	    sums(w, w->step, "t"), fetched % 2 ? 1 : 2);
	put(w, "reorder(%s, %s, %s, %s, ", sums(w, w->step, "0"),
	    sums(w, w->row, "z"), sums(w, w->row, "y"),
	    sums(w, w->column, "x"));
	put_others(w, w->acc, false);
	put(w, "%s, %s, %s, %s, %s, %s)\n", sums(w, w->step, "1"),
	    sums(w, w->row, "1"), sums(w, w->column, "1"),
	    sums(w, w->row, "2"), sums(w, w->column, "2"),
	    sums(w, w->step, "2"));
	put(w, "bind(%s, threadIdx.z)\nbind(%s, threadIdx.y)\n"
	    "bind(%s, threadIdx.x)\n", sums(w, w->row, "z"),
	    sums(w, w->row, "y"), sums(w, w->column, "x"));
	for (int i = 0; i < 3; i++)
		put(w, "unroll(%s)\n", i == 0 ? sums(w, w->step, "1")
			: i == 1 ? sums(w, w->row, "1")
				 : sums(w, w->column, "1"));
	for (int i = 0; i < 3; i++)
		put(w, "unroll(%s)\n", i == 0 ? sums(w, w->row, "2")
			: i == 1 ? sums(w, w->column, "2")
				 : sums(w, w->step, "2"));
	for (int a = 0; a < b->nspatial; a++)
		if (a != w->row && a != w->column)
			put(w, "unroll(%s.%s)\n", w->acc, b->axes[a].name);
}

/* --- what is fetched ---------------------------------------------------------------- */

/* By how much a row is longer than whole banks: eight rows of 16 bytes are loaded at
 * once; of f32 that lies as rows of columns, four rows of eight words. */
static int row_ahead(const Warps *w, const RuleRead *read, DType type)
{
	int lanes = FETCHED / dtype_bytes(type);
	bool steps = rule_axis_of(read->index[read->nindex - 1]) == w->step;
	return steps || dtype_bytes(type) != 4 ? lanes : 2 * lanes;
}

static void put_copy(Warps *w, const RuleRead *read, DType type)
{
	const Buffer *b = &w->r->program->buffers[read->buffer];
	int lanes = FETCHED / dtype_bytes(type);
	int ahead = row_ahead(w, read, type);
	const char *copy = rule_plain_name(arena_printf(w->r->arena,
	    "%s_%s_s%d", w->block->name, b->name, read->number));
	put(w, "%s = cache_read(%s, %s, shared", copy, w->acc, b->name);
	if (rule_reads_of(w->info, read->buffer) > 1)
		put(w, ", read=%d", read->number);
	put(w, ")\ncompute_at(%s, %s)\nstorage_align(%s, %d, %d, %d)\n", copy,
	    sums(w, w->step, "0"), copy, read->nindex - 2,
	    ahead == lanes ? 2 * lanes : 4 * ahead, ahead);
	put(w, "%s_f = fuse(", copy);
	for (int d = 0; d < read->nindex; d++)
		put(w, "%s%s.x%d", d ? ", " : "", copy, d);
	put(w, ")\n%s_0, %s_z, %s_y, %s_x, %s_v = split(%s_f, "
	    "[_, %s, %d, %d, %d])\n", copy, copy, copy, copy, copy, copy,
	    name(w, w->row, "z"), ROWS, COLUMNS, lanes);
	put(w, "bind(%s_z, threadIdx.z)\nbind(%s_y, threadIdx.y)\n"
	    "bind(%s_x, threadIdx.x)\nvectorize(%s_v, %d)\n", copy, copy,
	    copy, copy, lanes);
	put(w, "unroll(%s_0, 8)\n", copy);
	put(w, "stages(%s, %s)\n", copy,
	    w->r->machine->async_copies ? "?=2 in {2, 3, 4}" : "2");
}

/* The copies last of the last read first: a read that was replaced no longer
 * counts. */
static void put_copies(Warps *w)
{
	bool swap = w->a->buffer == w->b->buffer && w->a->number < w->b->number;
	put_copy(w, swap ? w->b : w->a, swap ? w->in->b : w->in->a);
	put_copy(w, swap ? w->a : w->b, swap ? w->in->a : w->in->b);
}

/* As rule_block.c does. */
static void choose_writer(Warps *w, int i)
{
	Rules *r = w->r;
	w->reader = rule_elementwise_reader(r, w->info);
	w->writer = w->reader < 0 ? w->block : &r->program->blocks[w->reader];
	w->tiles = rule_name(r, w->writer, "b", "");
	r->blocks[i].scheduled = true;
	if (w->reader < 0) {
		w->acc = rule_name(r, w->block, "acc", "");
		put(w, "%s = cache_write(%s, reg)\n", w->acc, w->block->name);
		return;
	}
	w->acc = w->block->name;
	r->blocks[w->reader].scheduled = true;
	put(w, "set_scope(%s, reg)\n", w->acc);
}

void rule_warp(Rules *r, int i)
{
	Warps w;
	bool found = find(r, i, &w);
	assert(found);
	(void)found;
	choose_writer(&w, i);
	put_writer(&w);
	put_sums(&w);
	put_copies(&w);
	put(&w, "tensorize(%s, %s)\n", sums(&w, w.row, "2"), w.in->name);
}
