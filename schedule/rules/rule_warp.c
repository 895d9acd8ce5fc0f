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

/* --- the writer ------------------------------------------------------------------- */

const char *warp_name(const Warps *w, int axis)
{
	int of = rule_reader_axis(w->r, w->block, w->writer.reader, axis);
	return rule_name(
	    w->r, w->writer.block, w->writer.block->axes[of].name, "");
}

const char *warp_sums_name(const Warps *w, int axis)
{
	return rule_plain_name(arena_printf(
	    w->r->arena, "%s_%s", w->writer.acc, w->block->axes[axis].name));
}

/* The axes that are not tiled. */
static const char *others(const Warps *w, bool writes)
{
	const char *loops = "";
	for (int a = 0; a < w->block->nspatial; a++) {
		int of = rule_reader_axis(w->r, w->block, w->writer.reader, a);
		if (a != w->row && a != w->column)
			loops = rule_join(w->r, loops,
			    writes
				? rule_loop(w->r, w->writer.block->name,
				      w->writer.block, of)
				: rule_loop(w->r, w->writer.acc, w->block, a));
	}
	return loops;
}

const char *const *warp_split(Warps *w, int axis)
{
	Rules *r = w->r;
	const Block *b = w->writer.block;
	int of = rule_reader_axis(r, w->block, w->writer.reader, axis);
	bool row = axis == w->row;
	return rule_split_loop(r, rule_loop(r, b->name, b, of),
	    warp_name(w, axis), row ? "w 2 y" : "w x 2", "[_, %d, %d]",
	    row ? WARP_EACH : WARP_COLUMNS, row ? WARP_ROWS : WARP_EACH);
}

void warp_begin(Warps *w, int i)
{
	Rules *r = w->r;
	w->writer = rule_writer(r, i, "reg");
	w->tiles = rule_name(r, w->writer.block, "b", "");
}

static void bind(Warps *w, const WarpLoops *l)
{
	rule_put(w->r,
	    "bind(%s, threadIdx.z)\nbind(%s, threadIdx.y)\n"
	    "bind(%s, threadIdx.x)\n",
	    l->z, l->y, l->x);
}

void warp_put_writer(Warps *w)
{
	const WarpLoops *l = &w->writes;
	const char *rest = others(w, true);
	const char *each = arena_printf(w->r->arena, "%s, %s, %s, %s", l->row1,
	    l->row2, l->columns, l->column1);
	rule_put(w->r, "reorder(%s, %s, %s, %s, %s, %s, %s, %s)\n", rest,
	    l->row0, l->column0, l->z, l->y, l->x, each, l->column2);
	rule_put(w->r, "%s = fuse(%s, %s, %s)\nbind(%s, blockIdx.x)\n",
	    w->tiles, rest, l->row0, l->column0, w->tiles);
	bind(w, l);
	rule_vectors(w->r, each, l->column2, WARP_EACH);
}

void warp_put_sums(Warps *w, const char *fragment)
{
	const WarpLoops *l = &w->sums;
	const char *rest = others(w, false);
	rule_put(w->r, "reorder(%s, %s, %s, %s, %s, %s)\n", l->step0, l->z,
	    l->y, l->x, rest, fragment);
	bind(w, l);
	rule_put(w->r, "each unroll(%s, %s)\n", fragment, rest);
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
	Rules *r = w->r;
	Shape s = choose_shape(w);
	WarpLoops *l = &w->writes;
	const char *const *rows = warp_split(w, w->row);
	const char *const *row = rule_split_loop(r, rows[0],
	    warp_name(w, w->row), "0 z 1",
	    "?=[_, %d, %d] in tile([1, 2, 4, 8], [1, 2, 4])", s.warps, s.rows);
	const char *const *columns = warp_split(w, w->column);
	const char *const *column =
	    rule_split_loop(r, columns[0], warp_name(w, w->column), "0 1",
		"?=[_, %d] in tile([1, 2, 4, 8, 16])", s.columns);
	*l = (WarpLoops){.row0 = row[0],
	    .z = row[1],
	    .row1 = row[2],
	    .row2 = rows[1],
	    .y = rows[2],
	    .column0 = column[0],
	    .columns = "",
	    .column1 = column[1],
	    .x = columns[1],
	    .column2 = columns[2]};
	warp_put_writer(w);
}

/* --- the sums ---------------------------------------------------------------------- */

static void put_sums(Warps *w)
{
	Rules *r = w->r;
	const Block *b = w->block;
	const char *acc = w->writer.acc;
	int64_t fetched = b->axes[w->step].extent / w->in->terms;
	rule_put(r, "compute_at(%s, %s)\n", acc, w->tiles);
	const char *const *row = rule_split_loop(r,
	    rule_loop(r, acc, b, w->row), warp_sums_name(w, w->row), "z 1 2 y",
	    "[_, %s, %d, %d]", w->writes.row1, WARP_EACH, WARP_ROWS);
	const char *const *column = rule_split_loop(r,
	    rule_loop(r, acc, b, w->column), warp_sums_name(w, w->column),
	    "1 x 2", "[_, %d, %d]", WARP_COLUMNS, WARP_EACH);
	const char *const *steps =
	    rule_split_loop(r, rule_loop(r, acc, b, w->step),
		warp_sums_name(w, w->step), "t 2", "[_, %d]", w->in->terms);
	const char *const *step =
	    rule_split_loop(r, steps[0], warp_sums_name(w, w->step), "0 1",
		"?=[_, %d] in tile([1, 2, 4])", fetched % 2 ? 1 : 2);
	w->sums = (WarpLoops){.z = row[0],
	    .row2 = row[2],
	    .y = row[3],
	    .x = column[1],
	    .step0 = step[0]};
	warp_put_sums(w,
	    arena_printf(r->arena, "%s, %s, %s, %s, %s, %s", step[1], row[1],
		column[0], row[2], column[2], steps[1]));
}

/* --- what is fetched ---------------------------------------------------------------- */

const char *warp_put_copy(Warps *w, const RuleRead *read)
{
	const Buffer *b = &w->r->program->buffers[read->buffer];
	const char *copy = rule_plain_name(arena_printf(w->r->arena,
	    "%s_%s_s%d", w->block->name, b->name, read->number));
	rule_copy(w->r, w->info, read, copy, w->writer.acc, "shared");
	rule_put(w->r, "compute_at(%s, %s)\n", copy, w->sums.step0);
	return copy;
}

void warp_put_fetch(
    Warps *w, const RuleRead *read, DType type, const char *copy)
{
	int lanes = WARP_FETCHED / dtype_bytes(type);
	const char *dims = "", *f = arena_printf(w->r->arena, "%s_f", copy);
	for (int d = 0; d < read->nindex; d++)
		dims = arena_printf(w->r->arena, "%s, %s.x%d", dims, copy, d);
	rule_put(w->r, "%s = fuse(%s)\n", f, dims);
	const char *const *x = rule_split_loop(w->r, f, copy, "_0 _z _y _x _v",
	    "[_, %s, %d, %d, %d]", w->writes.z, WARP_ROWS, WARP_COLUMNS, lanes);
	bind(w, &(WarpLoops){.z = x[1], .y = x[2], .x = x[3]});
	rule_vectors(w->r, "", x[4], lanes);
	rule_put(w->r, "unroll(%s, 8)\nstages(%s, %s)\n", x[0], copy,
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
	rule_put(w->r, "storage_align(%s, %d, %d, %d)\n", copy,
	    read->nindex - 2, ahead == lanes ? 2 * lanes : 4 * ahead, ahead);
	warp_put_fetch(w, read, type, copy);
}

void rule_warp(Rules *r, int i)
{
	Warps w;
	if (!r->tiled.warps || r->tiled.block != i || !rule_is_open(r, i) ||
	    !find(r, i, &w))
		return;
	warp_begin(&w, i);
	put_writer(&w);
	put_sums(&w);
	put_copy(&w, warp_b_first(&w));
	put_copy(&w, !warp_b_first(&w));
	rule_put(r, "tensorize(%s, %s)\n", w.sums.row2, w.in->name);
}
