/* Tiles of a GPU's matrix units: a product whose operands' types a fragment has
 * (ir/fragments.def), by the warps of a block; or, in sketches of their own, by four
 * warps together (ir/warpgroups.def).
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
 * loop is split exactly.
 *
 *           for i1, jc  wgmma64_f16 { c_acc += a_s*b_s }
 *
 * Of warpgroups rows of 16 go on in neighbours along z, so that each four of these
 * are a product's 64; a step is one of 128 bytes of each operand, which lie swizzled.
 * Where an operand's steps do not lie side by side, 64 of its rows (columns) do, in
 * panels. */
#include "schedule/rules/rules.h"

#include <assert.h>

/* Threads of a warp along rows and columns, a thread's rows (columns) of a fragment;
 * bytes that one fetches at once; of a warpgroup's operand across. */
enum { ROWS = 8, COLUMNS = 4, EACH = 2, FETCHED = 16, PANEL = 64 };

/* Loops of the writer, or of the sums; "": there is none. */
typedef struct {
	const char *row0, *z, *y, *row1, *row2;
	const char *column0, *x, *columns, *column1, *column2;
} Loops;

typedef struct {
	const RuleRead *read;
	DType type;
	int axis; /* rows, or columns */
} Operand;

typedef struct {
	Rules *r;
	const Block *block;
	const RuleBlock *info;
	bool groups; /* by four warps */
	const Intrinsic *in;
	Operand of[2]; /* rows, columns */
	int step;
	RuleWriter writer;
	const char *tiles;
	Loops writes, sums;
	const char *steps;
} Warps;

/* --- where it may be ------------------------------------------------------------ */

/* The one with most terms of which there are whole ones. */
static const Intrinsic *fragment_for(
    const Rules *r, const Expr *body, int64_t steps)
{
	DType a = fragment_read(body, 0)->type;
	DType b = fragment_read(body, 1)->type;
	for (int terms = 64; terms >= 4; terms /= 2) {
		const Intrinsic *in = fragment_of(a, b, terms);
		if (in && fragment_sums(in, body) &&
		    in->capability <= r->machine->capability &&
		    steps % terms == 0 &&
		    (!fragment_rounds(in) ||
			r->program->numerics == NUMERICS_FAST))
			return in;
	}
	return NULL;
}

static const Intrinsic *group_for(
    const Rules *r, const Expr *body, int64_t steps)
{
	const Intrinsic *in = warpgroup_of(
	    fragment_read(body, 0)->type, fragment_read(body, 1)->type);
	return r->machine->warpgroups && in && fragment_sums(in, body) &&
		steps % in->terms == 0
	    ? in
	    : NULL;
}

static const RuleRead *read_of(const RuleBlock *b, const Expr *e)
{
	vec_each (read, &b->reads) {
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

static int last_axis(const Operand *x)
{
	return rule_axis_of(x->read->index[x->read->nindex - 1]);
}

/* Do its steps lie apart? */
static bool is_across(const Warps *w, const Operand *x)
{
	return last_axis(x) != w->step;
}

/* Of a warpgroup's that lies across the last index has to be the row or column, of 2
 * bytes. */
static bool lies_right(const Warps *w, const Operand *x)
{
	return !w->groups || !is_across(w, x) ||
	    (dtype_bytes(x->type) == 2 && last_axis(x) == x->axis);
}

static bool find(const Rules *r, int i, bool groups, Warps *w)
{
	const Block *block = &r->program->blocks[i];
	const RuleBlock *info = &r->blocks[i];
	const Buffer *out = &r->program->buffers[block->buffer];
	const Expr *body = r->bodies[i];
	if (info->inlined || block->reduce != REDUCE_SUM ||
	    body->op != OP_MUL || block->naxes != block->nspatial + 1 ||
	    (r->program->numerics == NUMERICS_EXACT &&
		dtype_is_float(out->type)))
		return false;
	int64_t steps = block->axes[block->nspatial].extent;
	*w = (Warps){.block = block,
	    .info = info,
	    .groups = groups,
	    .step = block->nspatial};
	w->in =
	    groups ? group_for(r, body, steps) : fragment_for(r, body, steps);
	if (!w->in || out->type != w->in->sum)
		return false;
	const RuleRead *a = read_of(info, fragment_read(body, 0));
	const RuleRead *b = read_of(info, fragment_read(body, 1));
	if (!a || !b || a == b || !a->plain || !b->plain || a->nindex < 2 ||
	    b->nindex < 2 || !a->uses[w->step] || !b->uses[w->step])
		return false;
	w->of[0] = (Operand){a, w->in->a,
	    axis_alone(block, a, b, groups ? GROUP_ROWS : EACH * ROWS)};
	w->of[1] = (Operand){b, w->in->b,
	    axis_alone(block, b, a, groups ? PANEL : EACH * COLUMNS)};
	return w->of[0].axis >= 0 && w->of[1].axis >= 0 &&
	    lies_right(w, &w->of[0]) && lies_right(w, &w->of[1]);
}

bool rule_warp_fits(const Rules *r, int i, bool groups)
{
	Warps w;
	return find(r, i, groups, &w);
}

/* --- where a search begins -------------------------------------------------------- */

/* Fragments of a warp in both directions, of 16 rows by 8 columns. */
typedef struct {
	int warps, rows, columns;
} WarpShape;

static int64_t extent_of(const Warps *w, int operand)
{
	return w->block->axes[w->of[operand].axis].extent;
}

static WarpShape fit_shape(const Warps *w, WarpShape s)
{
	int64_t rows = extent_of(w, 0) / (EACH * ROWS);
	int64_t columns = extent_of(w, 1) / (EACH * COLUMNS);
	assert(extent_of(w, 0) % (EACH * ROWS) == 0);
	assert(extent_of(w, 1) % (EACH * COLUMNS) == 0);
	while (s.rows > 1 && rows % (s.warps * s.rows))
		s.rows /= 2;
	while (s.warps > 1 && rows % (s.warps * s.rows))
		s.warps /= 2;
	while (s.columns > 1 && columns % s.columns)
		s.columns /= 2;
	return s;
}

static bool fills(const Warps *w, WarpShape s)
{
	return block_points(w->block, 0, w->block->nspatial) /
	    (s.warps * s.rows * EACH * ROWS) / (s.columns * EACH * COLUMNS) >=
	    w->r->machine->processors;
}

/* Of warpgroups, which have room for two steps. */
static bool is_right(const Warps *w, WarpShape s)
{
	int rows = s.warps * EACH * ROWS, columns = s.columns * EACH * COLUMNS;
	int64_t bytes = 2 * (int64_t)GROUP_LINE * (rows + columns);
	return extent_of(w, 0) % rows == 0 && extent_of(w, 1) % columns == 0 &&
	    bytes <= occupancy_block_shared(w->r->machine) && fills(w, s);
}

/* The largest of which there are enough blocks. */
static WarpShape choose_shape(const Warps *w)
{
	static const WarpShape groups[] = {
	    {8, 1, 16}, {8, 1, 8}, {4, 1, 16}, {4, 1, 8}};
	static const WarpShape warps[] = {
	    {4, 2, 16}, {4, 2, 8}, {4, 1, 8}, {2, 2, 4}, {2, 1, 4}, {1, 1, 2}};
	int i = 0;
	if (w->groups) {
		while (i < 3 && !is_right(w, groups[i]))
			i++;
		return groups[i];
	}
	while (i < 5 && !fills(w, fit_shape(w, warps[i])))
		i++;
	return fit_shape(w, warps[i]);
}

/* --- the writer ------------------------------------------------------------------- */

/* The axes that are not tiled. */
static const char *others(const Warps *w, bool writes)
{
	const char *loops = "";
	for (int a = 0; a < w->block->nspatial; a++) {
		int of = rule_reader_axis(w->r, w->block, w->writer.reader, a);
		if (a != w->of[0].axis && a != w->of[1].axis)
			loops = writes
			    ? rule_and(w->r, loops, w->writer.block->name,
				  w->writer.block, of)
			    : rule_and(w->r, loops, w->writer.acc, w->block, a);
	}
	return loops;
}

static void bind(Warps *w, const char *z, const char *y, const char *x)
{
	rule_put(w->r,
	    "bind(%s, threadIdx.z)\nbind(%s, threadIdx.y)\n"
	    "bind(%s, threadIdx.x)\n",
	    z, y, x);
}

static void split_writer(Warps *w)
{
	Rules *r = w->r;
	WarpShape s = choose_shape(w);
	const Block *b = w->writer.block;
	const char *names[2];
	int axes[2];
	for (int k = 0; k < 2; k++) {
		axes[k] = rule_reader_axis(
		    r, w->block, w->writer.reader, w->of[k].axis);
		names[k] = rule_name(r, b, b->axes[axes[k]].name, "");
	}
	const char *const *i = rule_split(
	    r, b->name, b, axes[0], "w 2 y", "[_, %d, %d]", EACH, ROWS);
	const char *const *i0 = w->groups
	    ? rule_split_loop(r, i[0], names[0], "0 1 z",
		  "?=[_, 1, %d] in tile([1, 2], [4, 8, 16])", s.warps)
	    : rule_split_loop(r, i[0], names[0], "0 z 1",
		  "?=[_, %d, %d] in tile([1, 2, 4, 8], [1, 2, 4])", s.warps,
		  s.rows);
	const char *const *j = rule_split(
	    r, b->name, b, axes[1], "w x 2", "[_, %d, %d]", COLUMNS, EACH);
	const char *const *j0 = w->groups
	    ? rule_split_loop(r, j[0], names[1], "0 c 1",
		  "?=[_, 1, %d] in tile([1, 2], [%s8, 16])", s.columns,
		  is_across(w, &w->of[1]) ? "" : "4, ")
	    : rule_split_loop(r, j[0], names[1], "0 1",
		  "?=[_, %d] in tile([1, 2, 4, 8, 16])", s.columns);
	int g = w->groups;
	w->writes = (Loops){i0[0], i0[1 + g], i[2], i0[2 - g], i[1], j0[0],
	    j[1], g ? j0[1] : "", j0[1 + g], j[2]};
}

static void put_writer(Warps *w)
{
	const Loops *l = &w->writes;
	const char *rest = others(w, true);
	split_writer(w);
	const char *each = arena_printf(w->r->arena, "%s, %s, %s, %s", l->row1,
	    l->row2, l->columns, l->column1);
	rule_put(w->r, "reorder(%s, %s, %s, %s, %s, %s, %s, %s)\n", rest,
	    l->row0, l->column0, l->z, l->y, l->x, each, l->column2);
	rule_put(w->r, "%s = fuse(%s, %s, %s)\nbind(%s, blockIdx.x)\n",
	    w->tiles, rest, l->row0, l->column0, w->tiles);
	bind(w, l->z, l->y, l->x);
	rule_vectors(w->r, each, l->column2, EACH);
}

/* --- the sums ---------------------------------------------------------------------- */

/* The loops of a fragment, outer first. */
static const char *split_sums(Warps *w)
{
	Rules *r = w->r;
	const Block *b = w->block;
	const char *acc = w->writer.acc;
	int row = w->of[0].axis, column = w->of[1].axis, g = w->groups;
	const char *step = rule_plain_name(
	    arena_printf(r->arena, "%s_%s", acc, b->axes[w->step].name));
	assert(b->axes[w->step].extent % w->in->terms == 0);
	int64_t fetched = b->axes[w->step].extent / w->in->terms;
	const char *const *i = rule_split(r, acc, b, row,
	    g ? "1 z 2 y" : "z 1 2 y", "[_, %s, %d, %d]",
	    g ? w->writes.z : w->writes.row1, EACH, ROWS);
	const char *const *j =
	    rule_split(r, acc, b, column, g ? "c 1 x 2" : "1 x 2",
		"[_, %s, %d, %d]", g ? w->writes.column1 : "", COLUMNS, EACH);
	const char *const *k = rule_split(
	    r, acc, b, w->step, g ? "0 2" : "t 2", "[_, %d]", w->in->terms);
	w->sums = (Loops){.z = i[g], .y = i[3], .x = j[1 + g], .row2 = i[2]};
	w->steps = k[0];
	if (g)
		return arena_printf(r->arena, "%s, %s, %s, %s, %s, %s", i[0],
		    j[0], i[2], j[1], j[3], k[1]);
	const char *const *k0 = rule_split_loop(r, k[0], step, "0 1",
	    "?=[_, %d] in tile([1, 2, 4])", fetched % 2 ? 1 : 2);
	w->steps = k0[0];
	return arena_printf(r->arena, "%s, %s, %s, %s, %s, %s", k0[1], i[1],
	    j[0], i[2], j[2], k[1]);
}

static void put_sums(Warps *w)
{
	const Loops *l = &w->sums;
	const char *rest = others(w, false);
	rule_put(w->r, "compute_at(%s, %s)\n", w->writer.acc, w->tiles);
	const char *fragment = split_sums(w);
	rule_put(w->r, "reorder(%s, %s, %s, %s, %s, %s)\n", w->steps, l->z,
	    l->y, l->x, rest, fragment);
	bind(w, l->z, l->y, l->x);
	rule_put(w->r, "each unroll(%s, %s)\n", fragment, rest);
}

/* --- what is fetched ---------------------------------------------------------------- */

/* Of a fragment's rows each is longer than whole banks: eight rows of 16 bytes are
 * loaded at once; of f32 that lies as rows of columns, four rows of eight words. */
static void put_copy(Warps *w, const Operand *x)
{
	Rules *r = w->r;
	int lanes = FETCHED / dtype_bytes(x->type), last = x->read->nindex - 1;
	bool across = is_across(w, x), words = dtype_bytes(x->type) == 4;
	const char *copy = rule_copy_name(r, w->block, x->read);
	rule_copy(r, w->info, x->read, copy, w->writer.acc, "shared");
	rule_put(r, "compute_at(%s, %s)\n", copy, w->steps);
	if (!w->groups)
		rule_put(r, "storage_align(%s, %d, %d, %d)\n", copy, last - 1,
		    across && words ? 8 * lanes : 2 * lanes,
		    across && words ? 2 * lanes : lanes);
	if (w->groups && across)
		rule_put(r, "transform_layout(%s, [x%d//%d, %s, x%d%%%d])\n",
		    copy, last, PANEL, rule_dims(r, "", 0, last, -1), last,
		    PANEL);
	if (w->groups)
		rule_put(r, "swizzle(%s, %d)\n", copy, GROUP_LINE);
	rule_fetch(r, copy, rule_dims(r, copy, 0, last + 1, -1),
	    "_0 _z _y _x _v",
	    arena_printf(r->arena, "%s, %d, %d", w->writes.z, ROWS, COLUMNS),
	    lanes);
	rule_put(r, "stages(%s, %s)\n", copy,
	    r->machine->async_copies ? "?=2 in {2, 3, 4}" : "2");
}

void rule_warp(Rules *r, int i)
{
	Warps w;
	if (!(r->tiled.warps || r->tiled.groups) || r->tiled.block != i ||
	    !rule_is_open(r, i) || !find(r, i, r->tiled.groups, &w))
		return;
	w.r = r;
	w.writer = rule_writer(r, i, "reg");
	w.tiles = rule_name(r, w.writer.block, "b", "");
	put_writer(&w);
	put_sums(&w);
	/* a read that was replaced no longer counts */
	const RuleRead *a = w.of[0].read, *b = w.of[1].read;
	bool second = a->buffer == b->buffer && a->number < b->number;
	put_copy(&w, &w.of[second]);
	put_copy(&w, &w.of[!second]);
	rule_put(r, "tensorize(%s, %s)\n", w.sums.row2, w.in->name);
}
