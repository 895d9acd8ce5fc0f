/* Tiles of a GPU's matrix units that four warps make together (ir/warpgroups.def).
 *
 *     for i for j for k c[i, j] += f32(a[i, k])*f32(b[k, j])
 * -->
 *     blockIdx.x
 *       for k0
 *         a_s[..] = a[..], b_s[..] = b[..]      128 bytes a row, swizzled
 *         threadIdx.z threadIdx.y in 8 threadIdx.x in 4
 *           for i1, jc  wgmma64_f16 { c_acc += a_s*b_s }
 *       threadIdx.z, y, x  c = c_acc
 *
 * As rule_warp.c, in a sketch of its own.  Rows of 16 go on in neighbours along z,
 * so that each four of these are a product's 64; a step is one of 128 bytes of each
 * operand.  Where an operand's steps do not lie side by side, 64 of its rows
 * (columns) do, in panels. */
#include "schedule/rules/warp.h"

#include <assert.h>

enum { PANEL = 64 };

/* --- where it may be ------------------------------------------------------------ */

static const Intrinsic *group_for(const Rules *r, int i)
{
	const Block *block = &r->program->blocks[i];
	const Expr *body = r->bodies ? r->bodies[i] : block->body;
	if (!r->machine->warpgroups || body->op != OP_MUL)
		return NULL;
	const Intrinsic *in = warpgroup_of(
	    fragment_read(body, 0)->type, fragment_read(body, 1)->type);
	return in && fragment_sums(in, body) &&
		block->axes[block->nspatial].extent % in->terms == 0
	    ? in : NULL;
}

/* Do its steps lie apart? */
static bool is_across(const Warps *w, bool b)
{
	const RuleRead *read = b ? w->b : w->a;
	return rule_axis_of(read->index[read->nindex - 1]) != w->step;
}

/* Across, the last index has to be the row or column, of 2 bytes. */
static bool lies_right(const Warps *w, bool b)
{
	const RuleRead *read = b ? w->b : w->a;
	DType type = b ? w->in->b : w->in->a;
	return !is_across(w, b) || (dtype_bytes(type) == 2 &&
		rule_axis_of(read->index[read->nindex - 1]) ==
		    (b ? w->column : w->row));
}

static bool find(const Rules *r, int i, Warps *w)
{
	return warp_find(r, i, group_for(r, i), GROUP_ROWS, PANEL, w) &&
	    lies_right(w, false) && lies_right(w, true);
}

bool rule_group_fits(const Rules *r, int i)
{
	Warps w;
	return find(r, i, &w);
}

bool rule_group_applies(const Rules *r, int i)
{
	return r->tiled.groups && r->tiled.block == i && rule_is_open(r, i) &&
	    rule_group_fits(r, i);
}

/* --- sizes ------------------------------------------------------------------------ */

/* Where a search begins: the largest tile of which there are enough blocks and
 * room for two steps. */
typedef struct {
	int warps, columns; /* 16 rows each; of a product, in eights */
} Shape;

static double blocks_of(const Warps *w, Shape s)
{
	return block_points(w->block, 0, w->block->nspatial) /
	    (s.warps * WARP_EACH * WARP_ROWS) / (s.columns * WARP_ROWS);
}

static bool is_right(const Warps *w, Shape s)
{
	int rows = s.warps * WARP_EACH * WARP_ROWS, columns = s.columns * WARP_ROWS;
	int64_t bytes = 2 * (int64_t)GROUP_LINE * (rows + columns);
	return w->block->axes[w->row].extent % rows == 0 &&
	    w->block->axes[w->column].extent % columns == 0 &&
	    bytes <= occupancy_block_shared(w->r->machine) &&
	    blocks_of(w, s) >= w->r->machine->processors;
}

static Shape choose_shape(const Warps *w)
{
	static const Shape shapes[] = {{8, 16}, {8, 8}, {4, 16}, {4, 8}};
	int n = sizeof shapes / sizeof *shapes, i = 0;
	while (i < n - 1 && !is_right(w, shapes[i]))
		i++;
	return shapes[i];
}

/* --- the writer ------------------------------------------------------------------- */

static void put_splits(Warps *w)
{
	Shape s = choose_shape(w);
	const char *c = w->writer->name;
	warp_put(w, "%s, %s, %s = split(%s.%s, [_, %d, %d])\n",
	    warp_name(w, w->row, "w"), warp_name(w, w->row, "2"),
	    warp_name(w, w->row, "y"), c, warp_writer_axis(w, w->row),
	    WARP_EACH, WARP_ROWS);
	warp_put(w, "%s, %s, %s = split(%s, ?=[_, 1, %d] in "
	    "tile([1, 2], [4, 8, 16]))\n", warp_name(w, w->row, "0"),
	    warp_name(w, w->row, "1"), warp_name(w, w->row, "z"),
	    warp_name(w, w->row, "w"), s.warps);
	warp_put(w, "%s, %s, %s = split(%s.%s, [_, %d, %d])\n",
	    warp_name(w, w->column, "w"), warp_name(w, w->column, "x"),
	    warp_name(w, w->column, "2"), c, warp_writer_axis(w, w->column),
	    WARP_COLUMNS, WARP_EACH);
	warp_put(w, "%s, %s, %s = split(%s, ?=[_, 1, %d] in "
	    "tile([1, 2], [%s8, 16]))\n", warp_name(w, w->column, "0"),
	    warp_name(w, w->column, "c"), warp_name(w, w->column, "1"),
	    warp_name(w, w->column, "w"), s.columns,
	    is_across(w, true) ? "" : "4, ");
}

static void put_writer(Warps *w)
{
	put_splits(w);
	warp_put(w, "reorder(");
	warp_put_others(w, w->writer->name, true);
	warp_put(w, "%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)\n%s = fuse(",
	    warp_name(w, w->row, "0"), warp_name(w, w->column, "0"),
	    warp_name(w, w->row, "z"), warp_name(w, w->row, "y"),
	    warp_name(w, w->column, "x"), warp_name(w, w->row, "1"),
	    warp_name(w, w->row, "2"), warp_name(w, w->column, "c"),
	    warp_name(w, w->column, "1"), warp_name(w, w->column, "2"),
	    w->tiles);
	warp_put_others(w, w->writer->name, true);
	warp_put(w, "%s, %s)\nbind(%s, blockIdx.x)\nbind(%s, threadIdx.z)\n"
	    "bind(%s, threadIdx.y)\nbind(%s, threadIdx.x)\n",
	    warp_name(w, w->row, "0"), warp_name(w, w->column, "0"), w->tiles,
	    warp_name(w, w->row, "z"), warp_name(w, w->row, "y"),
	    warp_name(w, w->column, "x"));
	warp_put(w, "unroll(%s)\nunroll(%s)\nunroll(%s)\nunroll(%s)\n"
	    "vectorize(%s, %d)\n", warp_name(w, w->row, "1"),
	    warp_name(w, w->row, "2"), warp_name(w, w->column, "c"),
	    warp_name(w, w->column, "1"), warp_name(w, w->column, "2"),
	    WARP_EACH);
}

/* --- the sums ---------------------------------------------------------------------- */

static void put_sums(Warps *w)
{
	const Block *b = w->block;
	warp_put(w, "compute_at(%s, %s)\n", w->acc, w->tiles);
	warp_put(w, "%s, %s, %s, %s = split(%s.%s, [_, %s, %d, %d])\n",
	    warp_sums(w, w->row, "1"), warp_sums(w, w->row, "z"),
	    warp_sums(w, w->row, "2"), warp_sums(w, w->row, "y"), w->acc,
	    b->axes[w->row].name, warp_name(w, w->row, "z"), WARP_EACH,
	    WARP_ROWS);
	warp_put(w, "%s, %s, %s, %s = split(%s.%s, [_, %s, %d, %d])\n",
	    warp_sums(w, w->column, "c"), warp_sums(w, w->column, "1"),
	    warp_sums(w, w->column, "x"), warp_sums(w, w->column, "2"), w->acc,
	    b->axes[w->column].name, warp_name(w, w->column, "1"),
	    WARP_COLUMNS, WARP_EACH);
	warp_put(w, "%s, %s = split(%s.%s, [_, %d])\nreorder(%s, %s, %s, %s, ",
	    warp_sums(w, w->step, "0"), warp_sums(w, w->step, "2"), w->acc,
	    b->axes[w->step].name, w->in->terms, warp_sums(w, w->step, "0"),
	    warp_sums(w, w->row, "z"), warp_sums(w, w->row, "y"),
	    warp_sums(w, w->column, "x"));
	warp_put_others(w, w->acc, false);
	const char *inner[] = {warp_sums(w, w->row, "1"),
	    warp_sums(w, w->column, "c"), warp_sums(w, w->row, "2"),
	    warp_sums(w, w->column, "1"), warp_sums(w, w->column, "2"),
	    warp_sums(w, w->step, "2")};
	int n = sizeof inner / sizeof *inner;
	for (int i = 0; i < n; i++)
		warp_put(w, "%s%s", i ? ", " : "", inner[i]);
	warp_put(w, ")\nbind(%s, threadIdx.z)\nbind(%s, threadIdx.y)\n"
	    "bind(%s, threadIdx.x)\n", warp_sums(w, w->row, "z"),
	    warp_sums(w, w->row, "y"), warp_sums(w, w->column, "x"));
	for (int i = 0; i < n; i++)
		warp_put(w, "unroll(%s)\n", inner[i]);
	for (int a = 0; a < b->nspatial; a++)
		if (a != w->row && a != w->column)
			warp_put(w, "unroll(%s.%s)\n", w->acc, b->axes[a].name);
}

/* --- what is fetched ---------------------------------------------------------------- */

static void put_copy(Warps *w, bool b)
{
	const RuleRead *read = b ? w->b : w->a;
	const char *copy = warp_put_copy(w, read);
	int last = read->nindex - 1;
	if (is_across(w, b)) {
		warp_put(w, "transform_layout(%s, [x%d//%d, ", copy, last,
		    PANEL);
		for (int d = 0; d < last; d++)
			warp_put(w, "x%d, ", d);
		warp_put(w, "x%d%%%d])\n", last, PANEL);
	}
	warp_put(w, "swizzle(%s, %d)\n", copy, GROUP_LINE);
	warp_put_fetch(w, read, b ? w->in->b : w->in->a, copy);
}

void rule_group(Rules *r, int i)
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
	warp_put(&w, "tensorize(%s, %s)\n", warp_sums(&w, w.row, "2"),
	    w.in->name);
}
