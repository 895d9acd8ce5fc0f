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

static void put_writer(Warps *w)
{
	Rules *r = w->r;
	Shape s = choose_shape(w);
	const char *const *rows = warp_split(w, w->row);
	const char *const *row =
	    rule_split_loop(r, rows[0], warp_name(w, w->row), "0 1 z",
		"?=[_, 1, %d] in tile([1, 2], [4, 8, 16])", s.warps);
	const char *const *columns = warp_split(w, w->column);
	const char *const *column =
	    rule_split_loop(r, columns[0], warp_name(w, w->column), "0 c 1",
		"?=[_, 1, %d] in tile([1, 2], [%s8, 16])", s.columns,
		is_across(w, true) ? "" : "4, ");
	w->writes = (WarpLoops){.row0 = row[0],
	    .row1 = row[1],
	    .z = row[2],
	    .row2 = rows[1],
	    .y = rows[2],
	    .column0 = column[0],
	    .columns = column[1],
	    .column1 = column[2],
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
	rule_put(r, "compute_at(%s, %s)\n", acc, w->tiles);
	const char *const *row = rule_split_loop(r,
	    rule_loop(r, acc, b, w->row), warp_sums_name(w, w->row), "1 z 2 y",
	    "[_, %s, %d, %d]", w->writes.z, WARP_EACH, WARP_ROWS);
	const char *const *column =
	    rule_split_loop(r, rule_loop(r, acc, b, w->column),
		warp_sums_name(w, w->column), "c 1 x 2", "[_, %s, %d, %d]",
		w->writes.column1, WARP_COLUMNS, WARP_EACH);
	const char *const *step =
	    rule_split_loop(r, rule_loop(r, acc, b, w->step),
		warp_sums_name(w, w->step), "0 2", "[_, %d]", w->in->terms);
	w->sums = (WarpLoops){.z = row[1],
	    .row2 = row[2],
	    .y = row[3],
	    .x = column[2],
	    .step0 = step[0]};
	warp_put_sums(w,
	    arena_printf(r->arena, "%s, %s, %s, %s, %s, %s", row[0], column[0],
		row[2], column[1], column[3], step[1]));
}

/* --- what is fetched ---------------------------------------------------------------- */

static void put_copy(Warps *w, bool b)
{
	const RuleRead *read = b ? w->b : w->a;
	const char *copy = warp_put_copy(w, read);
	int last = read->nindex - 1;
	if (is_across(w, b)) {
		rule_put(
		    w->r, "transform_layout(%s, [x%d//%d, ", copy, last, PANEL);
		for (int d = 0; d < last; d++)
			rule_put(w->r, "x%d, ", d);
		rule_put(w->r, "x%d%%%d])\n", last, PANEL);
	}
	rule_put(w->r, "swizzle(%s, %d)\n", copy, GROUP_LINE);
	warp_put_fetch(w, read, b ? w->in->b : w->in->a, copy);
}

void rule_group(Rules *r, int i)
{
	Warps w;
	if (!r->tiled.groups || r->tiled.block != i || !rule_is_open(r, i) ||
	    !find(r, i, &w))
		return;
	warp_begin(&w, i);
	put_writer(&w);
	put_sums(&w);
	put_copy(&w, warp_b_first(&w));
	put_copy(&w, !warp_b_first(&w));
	rule_put(r, "tensorize(%s, %s)\n", w.sums.row2, w.in->name);
}
