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
#include "schedule/rules/warp.h"

#include <assert.h>

void warp_put(Warps *w, const char *format, ...)
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

bool warp_find(const Rules *r, int i, const Intrinsic *in, int rows,
    int columns, Warps *w)
{
	const Block *block = &r->program->blocks[i];
	const RuleBlock *info = &r->blocks[i];
	const Buffer *out = &r->program->buffers[block->buffer];
	*w = (Warps){
	    .r = (Rules *)r, .block = block, .info = info, .in = in};
	if (!in || info->inlined || block->reduce != REDUCE_SUM ||
	    block->naxes != block->nspatial + 1 || out->type != in->sum ||
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
	w->row = axis_alone(block, w->a, w->b, rows);
	w->column = axis_alone(block, w->b, w->a, columns);
	return w->row >= 0 && w->column >= 0 && w->a->uses[w->step] &&
	    w->b->uses[w->step];
}

static bool find(const Rules *r, int i, Warps *w)
{
	return warp_find(r, i, fragment_for(r, i), WARP_EACH * WARP_ROWS,
	    WARP_EACH * WARP_COLUMNS, w);
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

const char *warp_writer_axis(const Warps *w, int axis)
{
	return w->writer->axes[rule_reader_axis(
	    w->r, w->block, w->reader, axis)].name;
}

const char *warp_name(Warps *w, int axis, const char *suffix)
{
	return rule_name(w->r, w->writer, warp_writer_axis(w, axis), suffix);
}

const char *warp_sums(Warps *w, int axis, const char *suffix)
{
	return rule_plain_name(arena_printf(w->r->arena, "%s_%s%s", w->acc,
	    w->block->axes[axis].name, suffix));
}

/* Of the writer, or of the sums, the axes that are not tiled. */
void warp_put_others(Warps *w, const char *stage, bool writes)
{
	for (int a = 0; a < w->block->nspatial; a++)
		if (a != w->row && a != w->column)
			warp_put(w, "%s.%s, ", stage, writes ? warp_writer_axis(w, a)
				: w->block->axes[a].name);
}

/* Where a search begins: the largest tile of which there are enough blocks. */
typedef struct {
	int warps, rows, columns; /* fragments of a warp in both directions */
} Shape;

static Shape fit_shape(const Warps *w, Shape s)
{
	int64_t rows = w->block->axes[w->row].extent / (WARP_EACH * WARP_ROWS);
	int64_t columns = w->block->axes[w->column].extent / (WARP_EACH * WARP_COLUMNS);
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
	return block_points(w->block, 0, w->block->nspatial) /
	    (s.warps * s.rows * WARP_EACH * WARP_ROWS) /
	    (s.columns * WARP_EACH * WARP_COLUMNS);
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
	warp_put(w, "%s, %s, %s = split(%s.%s, [_, %d, %d])\n",
	    warp_name(w, w->row, "w"), warp_name(w, w->row, "2"), warp_name(w, w->row, "y"), c,
	    warp_writer_axis(w, w->row), WARP_EACH, WARP_ROWS);
	warp_put(w, "%s, %s, %s = split(%s, ?=[_, %d, %d] in "
	    "tile([1, 2, 4, 8], [1, 2, 4]))\n", warp_name(w, w->row, "0"),
	    warp_name(w, w->row, "z"), warp_name(w, w->row, "1"), warp_name(w, w->row, "w"),
	    s.warps, s.rows);
	warp_put(w, "%s, %s, %s = split(%s.%s, [_, %d, %d])\n",
	    warp_name(w, w->column, "w"), warp_name(w, w->column, "x"),
	    warp_name(w, w->column, "2"), c, warp_writer_axis(w, w->column), WARP_COLUMNS,
	    WARP_EACH);
	warp_put(w, "%s, %s = split(%s, ?=[_, %d] in tile([1, 2, 4, 8, 16]))\n",
	    warp_name(w, w->column, "0"), warp_name(w, w->column, "1"),
	    warp_name(w, w->column, "w"), s.columns);
	warp_put(w, "reorder(");
	warp_put_others(w, c, true);
	warp_put(w, "%s, %s, %s, %s, %s, %s, %s, %s, %s)\n%s = fuse(",
	    warp_name(w, w->row, "0"), warp_name(w, w->column, "0"),
	    warp_name(w, w->row, "z"), warp_name(w, w->row, "y"),
	    warp_name(w, w->column, "x"), warp_name(w, w->row, "1"),
	    warp_name(w, w->row, "2"), warp_name(w, w->column, "1"),
	    warp_name(w, w->column, "2"), w->tiles);
	warp_put_others(w, c, true);
	warp_put(w, "%s, %s)\nbind(%s, blockIdx.x)\nbind(%s, threadIdx.z)\n"
	    "bind(%s, threadIdx.y)\nbind(%s, threadIdx.x)\n",
	    warp_name(w, w->row, "0"), warp_name(w, w->column, "0"), w->tiles,
	    warp_name(w, w->row, "z"), warp_name(w, w->row, "y"),
	    warp_name(w, w->column, "x"));
	warp_put(w, "unroll(%s)\nunroll(%s)\nunroll(%s)\nvectorize(%s, %d)\n",
	    warp_name(w, w->row, "1"), warp_name(w, w->row, "2"),
	    warp_name(w, w->column, "1"), warp_name(w, w->column, "2"), WARP_EACH);
}

/* --- the sums ---------------------------------------------------------------------- */

static void put_sums(Warps *w)
{
	const Block *b = w->block;
	warp_put(w, "compute_at(%s, %s)\n", w->acc, w->tiles);
	warp_put(w, "%s, %s, %s, %s = split(%s.%s, [_, %s, %d, %d])\n",
	    warp_sums(w, w->row, "z"), warp_sums(w, w->row, "1"), warp_sums(w, w->row, "2"),
	    warp_sums(w, w->row, "y"), w->acc, b->axes[w->row].name,
	    warp_name(w, w->row, "1"), WARP_EACH, WARP_ROWS);
	warp_put(w, "%s, %s, %s = split(%s.%s, [_, %d, %d])\n",
	    warp_sums(w, w->column, "1"), warp_sums(w, w->column, "x"),
	    warp_sums(w, w->column, "2"), w->acc, b->axes[w->column].name, WARP_COLUMNS,
	    WARP_EACH);
	int64_t fetched = b->axes[w->step].extent / w->in->terms;
	warp_put(w, "%s, %s = split(%s.%s, [_, %d])\n", warp_sums(w, w->step, "t"),
	    warp_sums(w, w->step, "2"), w->acc, b->axes[w->step].name,
	    w->in->terms);
	warp_put(w, "%s, %s = split(%s, ?=[_, %d] in tile([1, 2, 4]))\n",
	    warp_sums(w, w->step, "0"), warp_sums(w, w->step, "1"),
	    warp_sums(w, w->step, "t"), fetched % 2 ? 1 : 2);
	warp_put(w, "reorder(%s, %s, %s, %s, ", warp_sums(w, w->step, "0"),
	    warp_sums(w, w->row, "z"), warp_sums(w, w->row, "y"),
	    warp_sums(w, w->column, "x"));
	warp_put_others(w, w->acc, false);
	warp_put(w, "%s, %s, %s, %s, %s, %s)\n", warp_sums(w, w->step, "1"),
	    warp_sums(w, w->row, "1"), warp_sums(w, w->column, "1"),
	    warp_sums(w, w->row, "2"), warp_sums(w, w->column, "2"),
	    warp_sums(w, w->step, "2"));
	warp_put(w, "bind(%s, threadIdx.z)\nbind(%s, threadIdx.y)\n"
	    "bind(%s, threadIdx.x)\n", warp_sums(w, w->row, "z"),
	    warp_sums(w, w->row, "y"), warp_sums(w, w->column, "x"));
	for (int i = 0; i < 3; i++)
		warp_put(w, "unroll(%s)\n", i == 0 ? warp_sums(w, w->step, "1")
			: i == 1 ? warp_sums(w, w->row, "1")
				 : warp_sums(w, w->column, "1"));
	for (int i = 0; i < 3; i++)
		warp_put(w, "unroll(%s)\n", i == 0 ? warp_sums(w, w->row, "2")
			: i == 1 ? warp_sums(w, w->column, "2")
				 : warp_sums(w, w->step, "2"));
	for (int a = 0; a < b->nspatial; a++)
		if (a != w->row && a != w->column)
			warp_put(w, "unroll(%s.%s)\n", w->acc, b->axes[a].name);
}

/* --- what is fetched ---------------------------------------------------------------- */

const char *warp_put_copy(Warps *w, const RuleRead *read)
{
	const Buffer *b = &w->r->program->buffers[read->buffer];
	const char *copy = rule_plain_name(arena_printf(w->r->arena,
	    "%s_%s_s%d", w->block->name, b->name, read->number));
	warp_put(w, "%s = cache_read(%s, %s, shared", copy, w->acc, b->name);
	if (rule_reads_of(w->info, read->buffer) > 1)
		warp_put(w, ", read=%d", read->number);
	warp_put(w, ")\ncompute_at(%s, %s)\n", copy,
	    warp_sums(w, w->step, "0"));
	return copy;
}

void warp_put_fetch(
    Warps *w, const RuleRead *read, DType type, const char *copy)
{
	int lanes = WARP_FETCHED / dtype_bytes(type);
	warp_put(w, "%s_f = fuse(", copy);
	for (int d = 0; d < read->nindex; d++)
		warp_put(w, "%s%s.x%d", d ? ", " : "", copy, d);
	warp_put(w, ")\n%s_0, %s_z, %s_y, %s_x, %s_v = split(%s_f, "
	    "[_, %s, %d, %d, %d])\n", copy, copy, copy, copy, copy, copy,
	    warp_name(w, w->row, "z"), WARP_ROWS, WARP_COLUMNS, lanes);
	warp_put(w, "bind(%s_z, threadIdx.z)\nbind(%s_y, threadIdx.y)\n"
	    "bind(%s_x, threadIdx.x)\nvectorize(%s_v, %d)\n", copy, copy,
	    copy, copy, lanes);
	warp_put(w, "unroll(%s_0, 8)\n", copy);
	warp_put(w, "stages(%s, %s)\n", copy,
	    w->r->machine->async_copies ? "?=2 in {2, 3, 4}" : "2");
}

bool warp_b_first(const Warps *w)
{
	return w->a->buffer == w->b->buffer && w->a->number < w->b->number;
}

/* By how much a row is longer than whole banks: eight rows of 16 bytes are loaded at
 * once; of f32 that lies as rows of columns, four rows of eight words. */
static int row_ahead(const Warps *w, const RuleRead *read, DType type)
{
	int lanes = WARP_FETCHED / dtype_bytes(type);
	bool steps = rule_axis_of(read->index[read->nindex - 1]) == w->step;
	return steps || dtype_bytes(type) != 4 ? lanes : 2 * lanes;
}

static void put_copy(Warps *w, bool b)
{
	const RuleRead *read = b ? w->b : w->a;
	DType type = b ? w->in->b : w->in->a;
	int lanes = WARP_FETCHED / dtype_bytes(type);
	int ahead = row_ahead(w, read, type);
	const char *copy = warp_put_copy(w, read);
	warp_put(w, "storage_align(%s, %d, %d, %d)\n", copy,
	    read->nindex - 2, ahead == lanes ? 2 * lanes : 4 * ahead, ahead);
	warp_put_fetch(w, read, type, copy);
}

/* As rule_block.c does. */
void warp_choose_writer(Warps *w, int i)
{
	Rules *r = w->r;
	w->reader = rule_elementwise_reader(r, w->info);
	w->writer = w->reader < 0 ? w->block : &r->program->blocks[w->reader];
	w->tiles = rule_name(r, w->writer, "b", "");
	r->blocks[i].scheduled = true;
	if (w->reader < 0) {
		w->acc = rule_name(r, w->block, "acc", "");
		warp_put(w, "%s = cache_write(%s, reg)\n", w->acc, w->block->name);
		return;
	}
	w->acc = w->block->name;
	r->blocks[w->reader].scheduled = true;
	warp_put(w, "set_scope(%s, reg)\n", w->acc);
}

void rule_warp(Rules *r, int i)
{
	Warps w;
	bool found = find(r, i, &w);
	assert(found);
	(void)found;
	warp_choose_writer(&w, i);
	put_writer(&w);
	put_sums(&w);
	put_copy(&w, warp_b_first(&w));
	put_copy(&w, !warp_b_first(&w));
	warp_put(&w, "tensorize(%s, %s)\n", warp_sums(&w, w.row, "2"), w.in->name);
}
