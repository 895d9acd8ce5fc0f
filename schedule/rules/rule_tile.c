/* Multi-level tiling of a reduction, with its accumulators in registers.
 *
 *     for i for j for k c[i, j] += a[i, k] * b[k, j]
 * -->
 *     parallel i0*j0                       one tile a thread, several in turn
 *       for i1 for j1                      tiles that share a cache
 *         for k0 unroll k1                 c_acc[.., ..] in registers
 *           unroll i unroll j vector jv    c_acc += a_p * b_p
 *         unroll i2 unroll j2 vector jv    c = c_acc
 *
 * The writer W is the block's elementwise reader, or a copy of the block where
 * there is none; W's axes are tiled and the block R is computed inside.
 * Operands: a constant one is packed ahead in the order in which it is read; an
 * input is packed where a decision says, or read in place; what another block
 * makes is computed where a decision says.  Sums of u8*i8 go by fours, for the
 * intrinsic that adds four products to each lane, and so with the others of
 * ir/intrinsics.def:
 *
 *     for k0 unroll k1 .. vector jv for kq in 4      tensorized; k%4 innermost
 *
 * An operand whose fours lie apart, and of which no panels are made, is copied in
 * its order but for these:
 *
 *     data[c, y + r, x + s]       data_pack[c//4, y + r, x + s, c%4]
 *
 * Where half of the lanes would multiply zeros (`if (j + k) % 2 == 0`, a
 * transposed convolution), a vector has every second element:
 *
 *     unroll j2 unroll jp in 2 vector jv             j = (.. + jv)*2 + jp
 *
 * This is Goto's nest (BLIS) without a level over k: accumulators stay in
 * registers for the whole reduction. */
#include "schedule/rules/rules.h"

#include <assert.h>

typedef struct {
	const char *name; /* of the writer's axis */
	int axis;         /* of R */
	int64_t extent;
	bool vector;
	bool batch; /* one after another, in no tiles: `outer` alone */
	const char *outer, *middle, *inner, *phase, *lane; /* its loops */
} TileAxis;

enum {
	LONG_LOOP = 4, /* worth splitting */
	KEPT_PART = 8  /* of the second cache: what it keeps for the next call */
};

/* A loop of the reduction: axis // (below * times) of its axis's values. */
typedef struct {
	const char *name;
	int axis;
	int64_t below;
	const char *times; /* a loop, of whose extent; NULL: 1 */
	int64_t count;     /* with those of `times` */
	int64_t stride;    /* in what is not packed ahead */
} ReduceLoop;

typedef struct {
	Rules *r;
	const RuleTiled *tiled;
	const Block *block;
	const RuleBlock *info;
	const Block *writer_block;
	const char *writer; /* stage that is tiled */
	const char *reduce; /* stage with the reduction */
	int naxes;
	TileAxis axes[16]; /* spatial axes longer than 1; vector axis first or last */
	const char *fused;
	VEC(const char *) places; /* loops that its operands may be computed at */
	VEC(ReduceLoop) loops; /* of the reduction, outer to inner */
	const char *unrolled;  /* the innermost of them; or NULL */
	const Intrinsic *dot;  /* that sums the products; NULL: none */
	const char *four;      /* the loop of its terms; NULL: none */
	bool ragged;           /* they do not divide its axis */
} Tiling;

/* --- domains ----------------------------------------------------------------- */

/* Of the values those up to `most`; the first in any case. */
static void put_values(Tiling *t, const int *values, int count, int64_t most)
{
	rule_put(t->r, "[");
	for (int i = 0, n = 0; i < count; i++)
		if (values[i] <= most || !i)
			rule_put(t->r, "%s%d", n++ ? ", " : "", values[i]);
	rule_put(t->r, "]");
}

static const int middle_values[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20,
    24, 28, 32, 48, 64, 96, 128};
static const int row_values[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 16,
    20, 24, 28};
static const int vector_values[] = {1, 2, 3, 4, 6, 8};
static const int inner_values[] = {1, 2, 3, 4, 6, 8};

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* Only the anchor's structure is searched: each open choice multiplies the
 * plans. */
static bool is_anchor(const Tiling *t)
{
	return t->tiled == &t->r->tiled;
}

/* --- the writer ---------------------------------------------------------------- */

/* The block's only reader, if it reads each element at its own place; not where
 * the block alone is made ahead, nor where the reader is made point by point. */
int rule_elementwise_reader(const Rules *r, const RuleBlock *b)
{
	if (b->output || b->consumers.n != 1)
		return -1;
	int reader = b->consumers.at[0];
	const RuleBlock *w = &r->blocks[reader];
	const Block *wb = &r->program->blocks[reader];
	const Block *block = &r->program->blocks[b->block];
	const RuleRead *read = rule_only_read(w, block->buffer);
	if (wb->reduce != REDUCE_NONE || w->scheduled ||
	    (r->points && r->points[reader] >= 0) ||
	    wb->nspatial != block->nspatial ||
	    r->program->buffers[wb->buffer].is_const !=
		r->program->buffers[block->buffer].is_const ||
	    !read || !read->plain || read->nindex != wb->nspatial)
		return -1;
	for (int d = 0; d < read->nindex; d++)
		if (wb->axes[rule_axis_of(read->index[d])].extent !=
		    block->axes[d].extent)
			return -1;
	return reader;
}

int rule_reader_axis(const Rules *r, const Block *block, int reader, int a)
{
	if (reader < 0)
		return a;
	const RuleBlock *w = &r->blocks[reader];
	for (int i = 0; i < w->reads.n; i++)
		if (w->reads.at[i].buffer == block->buffer &&
		    w->reads.at[i].plain)
			return rule_axis_of(w->reads.at[i].index[a]);
	return a;
}

/* Of the products before the anchor that make its rows. */
static bool makes_rows(const Tiling *t)
{
	return !is_anchor(t) && t->r->row_loop &&
	    rule_rows_has(t->r, t->tiled->block);
}

/* The anchor's axis that an axis goes with where rows are shared; -1. */
static int row_of(const Tiling *t, int a)
{
	const Rows *rows = t->r->rows;
	int axis = !rows	 ? -1
	    : is_anchor(t) ? a
	    : makes_rows(t)	 ? rows->moves[t->tiled->block][a]
				 : -1;
	return axis >= 0 && rows->axes[axis] ? axis : -1;
}

/* Which axes' tiles are outermost: the vector's first or last; before it those
 * whose elements share nothing, then other rows. */
static int rank_of(const Tiling *t, int a)
{
	int row = row_of(t, a);
	if (a == t->tiled->axis)
		return t->tiled->outer ? 0 : 4;
	return row < 0 ? 3 : t->r->batches[row] ? 1 : 2;
}

static void name_axes(Tiling *t, int reader)
{
	Rules *r = t->r;
	for (int rank = 0; rank < 5; rank++)
		for (int a = 0; a < t->block->nspatial; a++) {
			bool vector = a == t->tiled->axis;
			int64_t extent = t->block->axes[a].extent;
			if (extent == 1 || rank_of(t, a) != rank ||
			    t->naxes == 16)
				continue;
			const char *name =
			    t->writer_block->axes[rule_reader_axis(
				    r, t->block, reader, a)].name;
			TileAxis *x = &t->axes[t->naxes++];
			*x = (TileAxis){.name = name,
			    .axis = a,
			    .extent = extent,
			    .vector = vector,
			    .batch = rank == 1};
			if (x->batch) {
				x->outer = arena_printf(
				    r->arena, "%s.%s", t->writer, name);
				continue;
			}
			x->outer = rule_name(r, t->writer_block, name, "0");
			x->middle = rule_name(r, t->writer_block, name, "1");
			x->inner = rule_name(r, t->writer_block, name, "2");
			x->phase = rule_name(r, t->writer_block, name, "p");
			x->lane = rule_name(r, t->writer_block, name, "v");
		}
}

static bool has_phases(const Tiling *t)
{
	return t->tiled->phases > 1;
}

/* Tiles of an axis that are not searched: a few rows of two vectors. */
static void put_settled(Tiling *t, const TileAxis *x, int64_t tiles)
{
	enum { ROWS = 4, VECTORS = 2 };
	int most = x->vector ? VECTORS : ROWS;
	rule_put(t->r, " = split(%s.%s, [_, 1, %d", t->writer, x->name,
	    tiles < most ? (int)tiles : most);
	if (x->vector)
		rule_put(t->r, ", %d", t->tiled->lanes);
	if (x->vector && has_phases(t))
		rule_put(t->r, ", %d", t->tiled->phases);
	rule_put(t->r, "])\n");
}

static void split_writer(Tiling *t)
{
	int lanes = t->tiled->lanes;
	int vector = lanes * (has_phases(t) ? t->tiled->phases : 1);
	for (int i = 0; i < t->naxes; i++) {
		const TileAxis *x = &t->axes[i];
		if (x->batch)
			continue;
		rule_put(t->r, "%s, %s, %s", x->outer, x->middle, x->inner);
		if (x->vector)
			rule_put(t->r, ", %s", x->lane);
		if (x->vector && has_phases(t))
			rule_put(t->r, ", %s", x->phase);
		int64_t tiles = x->vector ? (x->extent + vector - 1) / vector
					  : x->extent;
		if (t->tiled->settled) {
			put_settled(t, x, tiles);
			continue;
		}
		rule_put(t->r, " = split(%s.%s, ? in tile(", t->writer, x->name);
		put_values(t, middle_values, COUNT(middle_values), tiles);
		rule_put(t->r, ", ");
		if (x->vector) {
			put_values(t, vector_values, COUNT(vector_values),
			    tiles);
			rule_put(t->r, ", [%d]", lanes);
			if (has_phases(t))
				rule_put(t->r, ", [%d]", t->tiled->phases);
		} else {
			put_values(t, row_values, COUNT(row_values), tiles);
		}
		rule_put(t->r, "))\n");
	}
}

static void put_tail(Tiling *t, const char *stage, const char *styles)
{
	if (is_anchor(t))
		rule_put(t->r, "tail(%s, ? in {%s})\n", stage, styles);
	else
		rule_put(t->r, "tail(%s, mask)\n", stage);
}

static void order_writer(Tiling *t)
{
	const TileAxis *v = NULL;
	rule_put(t->r, "reorder(");
	for (int a = 0; a < t->writer_block->nspatial; a++)
		if (t->writer_block->axes[a].extent == 1)
			rule_put(t->r, "%s.%s, ", t->writer,
			    t->writer_block->axes[a].name);
	for (int i = 0; i < t->naxes; i++)
		rule_put(t->r, "%s%s", i ? ", " : "", t->axes[i].outer);
	for (int i = 0; i < t->naxes; i++)
		if (!t->axes[i].batch)
			rule_put(t->r, ", %s", t->axes[i].middle);
	for (int i = 0; i < t->naxes; i++) {
		if (t->axes[i].vector)
			v = &t->axes[i];
		else if (!t->axes[i].batch)
			rule_put(t->r, ", %s", t->axes[i].inner);
	}
	if (v)
		rule_put(t->r, ", %s%s%s, %s", v->inner,
		    has_phases(t) ? ", " : "", has_phases(t) ? v->phase : "",
		    v->lane);
	rule_put(t->r, ")\n");
	for (int i = 0; i < t->naxes; i++)
		if (!t->axes[i].batch)
			rule_put(t->r, "unroll(%s)\n", t->axes[i].inner);
	if (v && has_phases(t))
		rule_put(t->r, "unroll(%s)\n", v->phase);
	if (v)
		rule_put(t->r, "vectorize(%s, %d)\n", v->lane, t->tiled->lanes);
	put_tail(t, t->writer, "peel, mask");
}

/* Operands are computed there; other blocks, too, if it is the anchor. */
static void add_place(Tiling *t, const char *loop)
{
	vec_push(t->r->arena, &t->places, loop);
	if (is_anchor(t))
		rule_add_place(t->r, (int)(t->writer_block - t->r->program->blocks),
		    loop, -1);
}

/* The outer loops of rows, which come first, and of these those that share
 * nothing. */
static void find_row_loops(Tiling *t, int *rows)
{
	Rules *r = t->r;
	*rows = 0;
	for (int i = 0; i < t->naxes; i++) {
		if (row_of(t, t->axes[i].axis) < 0)
			break;
		r->row_loop = t->axes[i].outer;
		if (t->axes[i].batch)
			r->batch_loop = t->axes[i].outer;
		++*rows;
	}
}

static void parallel_writer(Tiling *t)
{
	Rules *r = t->r;
	int outer = t->naxes;
	if (makes_rows(t))
		return; /* rule_rows says where */
	if (is_anchor(t) && r->rows)
		find_row_loops(t, &outer);
	if (r->machine->threads > 1) {
		t->fused = t->axes[0].outer;
		if (outer > 1) {
			t->fused = rule_name(r, t->writer_block, "tile", "");
			rule_put(t->r, "%s = fuse(", t->fused);
			for (int i = 0; i < outer; i++)
				rule_put(t->r, "%s%s", i ? ", " : "",
				    t->axes[i].outer);
			rule_put(t->r, ")\n");
		}
		rule_put(t->r, "parallel(%s)\n", t->fused);
		add_place(t, t->fused);
		if (is_anchor(t) && r->rows) {
			r->row_loop = t->fused;
			r->batch_loop = NULL;
		}
	} else {
		for (int i = 0; i < t->naxes; i++)
			add_place(t, t->axes[i].outer);
	}
	for (int i = 0; i < t->naxes; i++)
		if (!t->axes[i].batch)
			add_place(t, t->axes[i].middle);
}

/* --- the reduction --------------------------------------------------------------- */

static bool keeps_order(const Tiling *t)
{
	return rule_keeps_order(t->r->program, t->block);
}

/* How far apart neighbours along a digit lie in what is not packed ahead: the
 * closest; in everything where all is packed. */
static int64_t digit_stride(const Tiling *t, int axis, int64_t below)
{
	int64_t least = 0;
	for (int pass = 0; pass < 2 && !least; pass++)
		for (int i = 0; i < t->info->reads.n; i++) {
			const RuleRead *r = &t->info->reads.at[i];
			int64_t stride =
			    rule_stride(t->r->program, r, axis, below);
			if (!pass && r->packable &&
			    t->r->program->buffers[r->buffer].is_const)
				continue;
			if (stride && (!least || stride < least))
				least = stride;
		}
	return least;
}

static void add_loop(
    Tiling *t, const char *name, int axis, int64_t below, int64_t count)
{
	ReduceLoop loop = {name, axis, below, NULL, count,
	    digit_stride(t, axis, below)};
	vec_push(t->r->arena, &t->loops, loop);
}

/* The loops of a reduction's axis: one for each digit that a read has of it. */
static void cut_axis(Tiling *t, int axis)
{
	const Block *b = t->block;
	const char *name = b->axes[axis].name;
	RuleCuts cuts = rule_cuts(t->r->arena, b, t->info, axis);
	int64_t extent = b->axes[axis].extent, above = extent;
	if (!cuts.n) {
		add_loop(t,
		    arena_printf(t->r->arena, "%s.%s", t->reduce, name), axis,
		    1, extent);
		return;
	}
	int first = t->loops.n;
	for (int i = cuts.n; i >= 0; i--) {
		int64_t below = i ? cuts.at[i - 1] : 1;
		add_loop(t,
		    rule_name(t->r, b, name,
			arena_printf(t->r->arena, "_d%d", cuts.n - i)),
		    axis, below, (above + below - 1) / below);
		above = below;
	}
	for (int i = first; i < t->loops.n; i++)
		rule_put(t->r, "%s%s", i > first ? ", " : "", t->loops.at[i].name);
	rule_put(t->r, " = split(%s.%s, [_", t->reduce, name);
	for (int i = first + 1; i < t->loops.n; i++)
		rule_put(t->r, ", %lld", (long long)t->loops.at[i].count);
	rule_put(t->r, "])\n");
}

/* What lies far apart outermost. */
static void order_loops(Tiling *t)
{
	for (int i = 1; i < t->loops.n; i++) {
		ReduceLoop x = t->loops.at[i];
		int k = i;
		for (; k && t->loops.at[k - 1].stride < x.stride; k--)
			t->loops.at[k] = t->loops.at[k - 1];
		t->loops.at[k] = x;
	}
}

/* The one whose neighbours are read one after the other: long, and closest in
 * memory.  Where the order may not change, the last. */
static int loop_to_split(const Tiling *t)
{
	int best = -1;
	for (int i = 0; i < t->loops.n; i++) {
		const ReduceLoop *x = &t->loops.at[i];
		if (x->count > LONG_LOOP &&
		    (best < 0 || keeps_order(t) ||
			x->stride < t->loops.at[best].stride))
			best = i;
	}
	return keeps_order(t) && best < t->loops.n - 1 ? -1 : best;
}

/* A split that is not of a whole axis has to divide it. */
static void put_inner_values(Tiling *t, const ReduceLoop *x, int64_t times)
{
	bool whole = x->count == t->block->axes[x->axis].extent;
	const char *sep = "";
	rule_put(t->r, "[");
	for (int i = 0; i < COUNT(inner_values); i++)
		if (inner_values[i] * times <= x->count &&
		    (whole || x->count % (inner_values[i] * times) == 0)) {
			rule_put(t->r, "%s%d", sep, inner_values[i]);
			sep = ", ";
		}
	rule_put(t->r, "]");
}

/* The intrinsic for what the block computes, with what the inline rule puts
 * in, if the machine has instructions for it; NULL. */
static const Intrinsic *intrinsic_of_sum(const Tiling *t)
{
	const Intrinsic *in = t->block->reduce == REDUCE_SUM && !keeps_order(t)
	    ? intrinsic_of_body(t->r->bodies[t->tiled->block])
	    : NULL;
	return in && intrinsic_instructions(in, t->r->machine,
			 t->r->program->numerics)
	    ? in : NULL;
}

static bool is_const(const Tiling *t, const RuleRead *read)
{
	return t->r->program->buffers[read->buffer].is_const;
}

/* --- the terms of a dot product ------------------------------------------------ */

/* Are they side by side where they are, the same for all lanes? */
static bool lies_by_terms(
    const Tiling *t, const RuleRead *read, const ReduceLoop *x)
{
	return !read->uses[t->tiled->axis] &&
	    rule_stride(t->r->program, read, x->axis, x->below) == 1;
}

static bool lies_by_fours(const Tiling *t, const RuleRead *read)
{
	return lies_by_terms(t, read, &t->loops.at[t->loops.n - 1]);
}

/* The dimension along which they can be brought together; -1. */
static int terms_dim(const Tiling *t, const RuleRead *read)
{
	const ReduceLoop *x = &t->loops.at[t->loops.n - 1];
	return t->four
	    ? rule_terms_dim(read, x->axis, x->below, t->dot->terms)
	    : -1;
}

/* Is the buffer made by tiles of another product, or is it read elsewhere and
 * packed in another order? */
static bool is_elsewhere(const Tiling *t, const RuleRead *read)
{
	const Buffer *b = &t->r->program->buffers[read->buffer];
	if (b->block >= 0 && !rule_is_extracted(t->r, b->block))
		return !is_anchor(t) || t->r->rows ||
		    t->r->program->blocks[b->block].reduce != REDUCE_NONE;
	return b->is_const && !is_anchor(t) &&
	    rule_is_read_elsewhere(t->r, t->info, read->buffer);
}

/* Can a copy have them side by side, and those of the lanes behind one another? */
static bool can_be_brought(
    const Tiling *t, const RuleRead *read, const ReduceLoop *x)
{
	int lanes = t->tiled->axis;
	if (is_elsewhere(t, read) ||
	    !rule_stride(t->r->program, read, x->axis, x->below))
		return false;
	if (read->packable && (read->uses[lanes] || is_const(t, read)))
		return true;
	return rule_terms_dim(read, x->axis, x->below, t->dot->terms) >= 0 &&
	    (!read->uses[lanes] || rule_lanes_dim(read, lanes) >= 0);
}

/* Can all operands of the sum have terms of this loop so? */
static bool has_terms(Tiling *t, int i)
{
	const ReduceLoop x = t->loops.at[i];
	bool whole = x.count == t->block->axes[x.axis].extent;
	bool can = x.count >= t->dot->terms &&
	    (whole || x.count % t->dot->terms == 0);
	for (int k = 0; k < t->info->reads.n && can; k++) {
		const RuleRead *read = &t->info->reads.at[k];
		can = lies_by_terms(t, read, &x) || can_be_brought(t, read, &x);
	}
	return can;
}

/* The loop whose steps an instruction sums, and the instruction: the one that
 * would be split, or the longest; -1: none. */
static int loop_of_terms(Tiling *t, int split)
{
	bool alone = rule_results(t->r, t->tiled->block) == 1;
	int best = -1;
	t->dot = t->tiled->axis >= 0 && alone ? intrinsic_of_sum(t) : NULL;
	for (int i = 0; t->dot && i < t->loops.n; i++)
		if (has_terms(t, i) &&
		    (best < 0 || i == split ||
			(best != split &&
			    t->loops.at[i].count > t->loops.at[best].count)))
			best = i;
	if (best < 0)
		t->dot = NULL;
	return best;
}

/* The same, and the fours below all. */
static void split_in_fours(Tiling *t, int i)
{
	ReduceLoop *x = &t->loops.at[i], inner, four;
	const char *axis = t->block->axes[x->axis].name, *whole = x->name;
	x->name = rule_name(t->r, t->block, axis, "0");
	inner = four = *x;
	inner.name = rule_name(t->r, t->block, axis, "1");
	four.name = rule_name(t->r, t->block, axis, "q");
	rule_put(t->r, "%s, %s, %s = split(%s, ? in tile(", x->name, inner.name,
	    four.name, whole);
	int terms = t->dot->terms;
	put_inner_values(t, x, terms);
	rule_put(t->r, ", [%d]))\n", terms);
	t->ragged = x->count % terms != 0;
	four.count = terms;
	x->below = inner.below = four.below * terms;
	x->times = inner.name;
	t->unrolled = inner.name;
	t->four = four.name;
	vec_push(t->r->arena, &t->loops, inner);
	vec_push(t->r->arena, &t->loops, four);
}

/* Its last iterations become the innermost loop of the reduction. */
static void split_loop(Tiling *t, int i)
{
	ReduceLoop *x = &t->loops.at[i], inner = *x;
	const char *axis = t->block->axes[x->axis].name, *whole = x->name;
	x->name = rule_name(t->r, t->block, axis, "0");
	inner.name = rule_name(t->r, t->block, axis, "1");
	rule_put(t->r, "%s, %s = split(%s, ? in tile(", x->name, inner.name, whole);
	put_inner_values(t, x, 1);
	rule_put(t->r, "))\n");
	x->times = inner.name;
	t->unrolled = inner.name;
	vec_push(t->r->arena, &t->loops, inner);
}

static void reduction_loops(Tiling *t)
{
	const Block *b = t->block;
	for (int a = b->nspatial; a < b->naxes; a++)
		cut_axis(t, a);
	if (!keeps_order(t))
		order_loops(t);
	int split = t->tiled->settled ? -1 : loop_to_split(t);
	int fours = t->tiled->settled ? -1 : loop_of_terms(t, split);
	if (fours >= 0)
		split_in_fours(t, fours);
	else if (split >= 0)
		split_loop(t, split);
}

static void unroll_reduction(Tiling *t)
{
	for (int i = 0; i < t->loops.n; i++) {
		const ReduceLoop *x = &t->loops.at[i];
		if (x->name == t->unrolled || x->name == t->four)
			rule_put(t->r, "unroll(%s)\n", x->name);
		else if (!x->times && x->count > 1 && x->count <= 16 &&
		    x->count == t->block->axes[x->axis].extent)
			rule_put(t->r, "unroll(%s, limit=%s)\n", x->name,
			    t->tiled->settled ? "1" : "? in {1, 16}");
	}
}

/* Does it move what is read in vectors?  Then it goes inside of the other axes:
 * an element that all lanes read is used for all its vectors at once, or each of
 * them would need a register meanwhile. */
static bool moves_vectors(const Tiling *t, int axis)
{
	for (int i = 0; i < t->info->reads.n && t->tiled->axis >= 0; i++) {
		const RuleRead *r = &t->info->reads.at[i];
		if (r->uses[t->tiled->axis] && r->uses[axis])
			return true;
	}
	return false;
}

static void schedule_reduction(Tiling *t)
{
	const Block *b = t->block;
	const char *n = t->reduce, *vector = NULL;
	rule_put(t->r, "compute_at(%s, %s)\n", n, t->axes[t->naxes - 1].middle);
	reduction_loops(t);
	const char *v0 = "", *vv = "", *vp = "", *sep = "";
	if (t->tiled->axis >= 0) {
		vector = b->axes[t->tiled->axis].name;
		v0 = rule_name(t->r, b, vector, "_acc");
		vv = rule_name(t->r, b, vector, "_lane");
		vp = rule_name(t->r, b, vector, "_phase");
		if (has_phases(t))
			rule_put(t->r, "%s, %s, %s = split(%s.%s, [_, %d, %d])\n",
			    v0, vv, vp, n, vector, t->tiled->lanes,
			    t->tiled->phases);
		else
			rule_put(t->r, "%s, %s = split(%s.%s, [_, %d])\n", v0, vv,
			    n, vector, t->tiled->lanes);
	}
	rule_put(t->r, "reorder(");
	for (int i = 0; i < t->loops.n - (t->four != NULL); i++, sep = ", ")
		rule_put(t->r, "%s%s", sep, t->loops.at[i].name);
	for (int moves = 0; moves < 2; moves++)
		for (int a = 0; a < b->nspatial; a++)
			if (a != t->tiled->axis &&
			    moves_vectors(t, a) == moves) {
				rule_put(t->r, "%s%s.%s", sep, n, b->axes[a].name);
				sep = ", ";
			}
	if (vector)
		rule_put(t->r, "%s%s%s%s, %s", sep, v0,
		    has_phases(t) ? ", " : "", has_phases(t) ? vp : "", vv);
	if (t->four)
		rule_put(t->r, ", %s", t->four);
	rule_put(t->r, ")\n");
	for (int a = 0; a < b->nspatial; a++)
		if (a != t->tiled->axis)
			rule_put(t->r, "unroll(%s.%s)\n", n, b->axes[a].name);
	unroll_reduction(t);
	if (vector && has_phases(t))
		rule_put(t->r, "unroll(%s)\n", vp);
	if (vector)
		rule_put(t->r, "unroll(%s)\nvectorize(%s, %d)\n", v0, vv,
		    t->tiled->lanes);
	bool sum = b->reduce == REDUCE_SUM && b->body->op == OP_MUL;
	/* fours are whole in what is padded, and in whole tiles */
	put_tail(t, n, t->dot && t->ragged ? "pad, peel"
		: sum		  ? "pad, peel, mask"
				  : "peel, mask");
}

/* --- operands ------------------------------------------------------------------------ */

static const TileAxis *tile_of(const Tiling *t, int axis)
{
	for (int i = 0; i < t->naxes; i++)
		if (t->axes[i].axis == axis)
			return &t->axes[i];
	return NULL;
}

enum { PHASE_TILES, PHASE_REDUCTION, PHASE_ROWS, PHASE_LANES, PHASE_FOURS };

/* A part of a packed operand's layout, and where it goes. */
typedef struct {
	int phase, order;
	const char *text;
} PackPart;
typedef VEC(PackPart) PackParts;

static void add_part(
    Tiling *t, PackParts *parts, int phase, int order, const char *text)
{
	PackPart part = {phase, order, text};
	int i = parts->n;
	vec_push(t->r->arena, parts, part);
	for (; i && (parts->at[i - 1].phase > phase ||
		     (parts->at[i - 1].phase == phase &&
			 parts->at[i - 1].order > order));
	     i--)
		parts->at[i] = parts->at[i - 1];
	parts->at[i] = part;
}

/* `text` with // or % and a product, where that is not 1. */
static const char *with_divisor(Tiling *t, const char *text, const char *op,
    int64_t number, const char *loop, int64_t lanes)
{
	Arena *a = t->r->arena;
	number *= lanes;
	if (!loop)
		return number == 1 && op[0] == '/' ? text
		    : arena_printf(a, "%s%s%lld", text, op, (long long)number);
	return number == 1 ? arena_printf(a, "%s%s%s", text, op, loop)
	    : number == lanes
	    ? arena_printf(a, "%s%s(%s*%lld)", text, op, loop, (long long)number)
	    : arena_printf(
		  a, "%s%s(%lld*%s)", text, op, (long long)number, loop);
}

/* A digit of a spatial axis.  A whole axis that is outermost in its dimension is
 * taken apart into tiles and what one holds.  Else the lowest digit of an axis,
 * and all of the lanes', is what a tile reads; the rest are tiles. */
static void spatial_parts(Tiling *t, PackParts *parts, int dim,
    const RuleDigit *d, bool open)
{
	const TileAxis *x = tile_of(t, d->axis);
	const char *name = arena_printf(t->r->arena, "x%d", dim);
	int64_t lanes = x->vector ? t->tiled->lanes : 1;
	int inner = x->vector ? PHASE_LANES : PHASE_ROWS;
	if (open && d->below == 1 && d->count == x->extent && !x->batch) {
		add_part(t, parts, PHASE_TILES, dim,
		    with_divisor(t, name, "//", d->stride, x->inner, lanes));
		add_part(t, parts, inner, dim,
		    with_divisor(t, with_divisor(t, name, "//", d->stride, NULL, 1),
			"%", 1, x->inner, lanes));
		return;
	}
	name = with_divisor(t, name, "//", d->stride, NULL, 1);
	if (!open)
		name = with_divisor(t, name, "%", d->count, NULL, 1);
	bool lowest = !x->batch && d->below == 1 && (x->vector || d->count < x->extent);
	add_part(t, parts, lowest ? inner : PHASE_TILES, dim, name);
}

/* The loops that move a digit of the reduction, outer to inner by what one
 * iteration covers. */
static int loops_of(const Tiling *t, const RuleDigit *d, int *loops)
{
	int n = 0;
	for (int i = 0; i < t->loops.n; i++) {
		const ReduceLoop *x = &t->loops.at[i];
		int k = n;
		if (x->axis != d->axis || x->below < d->below ||
		    x->below >= d->below * d->count)
			continue;
		for (; k && t->loops.at[loops[k - 1]].below < x->below; k--)
			loops[k] = loops[k - 1];
		loops[k] = i;
		n++;
	}
	return n;
}

/* A digit of the reduction: a part for each run of loops that follow each other
 * both in value and in the nest.  What a loop of unknown extent leaves of a
 * digit has no name, so such a cut is made only where nothing is above. */
static void reduction_parts(Tiling *t, PackParts *parts, int dim,
    const RuleDigit *d, bool open)
{
	int *loops = NEW_N(t->r->arena, int, t->loops.n);
	int n = loops_of(t, d, loops), first = 0;
	int64_t above = d->count; /* in units of the digit; 0: no end */
	if (open)
		above = 0;
	for (int i = 0; i < n; i++) {
		const ReduceLoop *x = &t->loops.at[loops[i]];
		bool four = x->name == t->four;
		if (i < n - 1 && t->loops.at[loops[i + 1]].name != t->four &&
		    (loops[i + 1] == loops[i] + 1 || (x->times && above)))
			continue;
		int64_t below = x->below / d->below;
		const char *text = with_divisor(t,
		    arena_printf(t->r->arena, "x%d", dim), "//",
		    d->stride * below, x->times, 1);
		if (above || (first && t->loops.at[loops[first - 1]].times)) {
			const ReduceLoop *outer =
			    first ? &t->loops.at[loops[first - 1]] : NULL;
			text = with_divisor(t, text, "%",
			    outer ? outer->below / x->below : above / below,
			    outer ? outer->times : NULL, 1);
		}
		add_part(t, parts, four ? PHASE_FOURS : PHASE_REDUCTION,
		    loops[first], text);
		above = below;
		first = i + 1;
	}
}

static void whole_part(Tiling *t, PackParts *parts, int dim, const RuleIndex *x)
{
	int order = -1;
	for (int i = 0; i < x->digits.n && order < 0; i++)
		for (int k = 0; k < t->loops.n && order < 0; k++)
			if (t->loops.at[k].axis == x->digits.at[i].axis)
				order = k;
	add_part(t, parts, order < 0 ? PHASE_TILES : PHASE_REDUCTION,
	    order < 0 ? dim : order, arena_printf(t->r->arena, "x%d", dim));
}

/* Tiles outermost, then the reduction in its order, then what one tile of
 * registers reads: the order of use. */
static void pack_layout(Tiling *t, const RuleRead *read, const char *copy)
{
	PackParts parts = {0};
	for (int d = 0; d < read->nindex; d++) {
		const RuleIndex *x = &read->dims[d];
		if (!x->radix || !x->digits.n)
			whole_part(t, &parts, d, x);
		for (int i = x->digits.n - 1; i >= 0 && x->radix; i--) {
			const RuleDigit *digit = &x->digits.at[i];
			bool open = i == x->digits.n - 1;
			if (digit->axis < t->block->nspatial)
				spatial_parts(t, &parts, d, digit, open);
			else
				reduction_parts(t, &parts, d, digit, open);
		}
	}
	rule_put(t->r, "transform_layout(%s, [", copy);
	for (int i = 0; i < parts.n; i++)
		rule_put(t->r, "%s%s", i ? ", " : "", parts.at[i].text);
	rule_put(t->r, "])\n");
}

static void put_places(Tiling *t, const char *stage, const char *also)
{
	rule_put(t->r, "compute_at(%s, ? in {root", stage);
	for (int p = 0; p < t->places.n; p++)
		rule_put(t->r, ", %s", t->places.at[p]);
	rule_put(t->r, "%s})\n", also);
}

/* The first dimension that is worth dividing among threads. */
static int longest_dim(const Buffer *b)
{
	for (int d = 0; d < b->ndim; d++)
		if (b->shape[d] > 1)
			return d;
	return 0;
}

static const char *copy_name(
    Tiling *t, const RuleRead *read, const char *suffix)
{
	const Buffer *b = &t->r->program->buffers[read->buffer];
	if (read->number > 1)
		suffix = arena_printf(
		    t->r->arena, "%s%d", suffix, read->number);
	return is_anchor(t)
	    ? rule_plain_name(
		  arena_printf(t->r->arena, "%s%s", b->name, suffix))
	    : rule_name(t->r, t->block, b->name, suffix);
}

static void put_copy(Tiling *t, const RuleRead *read, const char *copy)
{
	rule_put(t->r, "%s = cache_read(%s, %s", copy, t->reduce,
	    t->r->program->buffers[read->buffer].name);
	if (rule_reads_of(t->info, read->buffer) > 1)
		rule_put(t->r, ", read=%d", read->number);
	rule_put(t->r, ")\n");
}

/* Is it read in place as well: side by side, or one element for all lanes? */
static bool lies_in_lanes(const Tiling *t, const RuleRead *read)
{
	int lanes = t->tiled->axis;
	return !read->uses[lanes] ||
	    rule_stride(t->r->program, read, lanes, 1) == 1;
}

/* The dimension of an operand that the lanes move along, side by side there;
 * -1. */
static int lanes_dim(const Tiling *t, const RuleRead *read)
{
	for (int d = 0; d < read->nindex; d++) {
		const RuleIndex *x = &read->dims[d];
		if (x->digits.n && x->digits.at[0].axis == t->tiled->axis &&
		    x->digits.at[0].below == 1)
			return d;
	}
	return -1;
}

/* Are the four of a dot product side by side along a dimension? */
static bool moves_fours(const Tiling *t, const RuleRead *read, int dim)
{
	const RuleIndex *x = &read->dims[dim];
	return x->digits.n && x->digits.at[0].below == 1 &&
	    x->digits.at[0].axis == t->loops.at[t->loops.n - 1].axis;
}

/* A vector of each of as many rows as it has lanes is as many whole vectors of
 * the panels; where that leaves too much of few rows, four rows go together. */
static int rows_together(const Tiling *t, int64_t rows)
{
	enum { MOST = 16, LEAST = 4 };
	int lanes = t->tiled->lanes < MOST ? t->tiled->lanes : MOST;
	bool whole = rows % lanes == 0 || rows >= 8 * lanes;
	return t->four || !whole || lanes < LEAST ? LEAST : lanes;
}

/* The last dimension of the copy that has several elements; those behind it go
 * outside. */
static int last_dim(const RuleRead *read)
{
	return read->last < 0 ? read->nindex - 1 : read->last;
}

static void put_ones(Tiling *t, const RuleRead *read, const char *copy)
{
	for (int d = last_dim(read) + 1; d < read->nindex; d++)
		rule_put(t->r, "%s.x%d, ", copy, d);
}

/* Vectors of as many rows as a dot product has terms, stored as one: elements of a
 * row are neighbours of those of the others.  As wide as rows are long. */
static const char *terms_loops(
    Tiling *t, const RuleRead *read, const char *copy, int terms)
{
	int last = last_dim(read), lanes = t->tiled->lanes;
	int64_t row = t->r->program->buffers[read->buffer].shape[last];
	while (lanes > 2 && lanes / 2 >= row)
		lanes /= 2;
	rule_put(t->r, "%s_q0, %s_q1 = split(%s.x%d, [_, %d])\n", copy, copy, copy,
	    terms, t->dot->terms);
	rule_put(t->r, "%s_v0, %s_v1 = split(%s.x%d, [_, %d])\nreorder(", copy,
	    copy, copy, last, lanes);
	put_ones(t, read, copy);
	for (int d = 0; d < last; d++)
		if (d == terms)
			rule_put(t->r, "%s_q0, ", copy);
		else
			rule_put(t->r, "%s.x%d, ", copy, d);
	rule_put(t->r, "%s_v0, %s_q1, %s_v1)\nunroll(%s_q1)\n", copy, copy, copy,
	    copy);
	rule_put(t->r, "vectorize(%s_v1, %d)\ntail(%s, peel)\n", copy, lanes,
	    copy);
	int outer = longest_dim(&t->r->program->buffers[read->buffer]);
	return arena_printf(t->r->arena,
	    outer == terms      ? "%s_q0"
		: outer == last ? "%s_v0"
				: "%s.x%d", copy, outer);
}

/* Panels of lanes are copied in vectors along the rows of the input.  Where
 * those lie across the panels, several go together: their elements are
 * neighbours there, and are stored at once. */
static void copy_loops(Tiling *t, const RuleRead *read, const char *copy)
{
	const Buffer *b = &t->r->program->buffers[read->buffer];
	/* by fours as many bytes as lie together again */
	int lanes = t->four ? t->dot->terms : t->tiled->lanes;
	int along = lanes_dim(t, read), last = last_dim(read);
	const char **outer = NEW_N(t->r->arena, const char *, read->nindex);
	const char *inner = "";
	int terms = terms_dim(t, read);
	for (int d = 0; d <= last; d++)
		outer[d] = arena_printf(t->r->arena, "%s.x%d", copy, d);
	if (terms >= 0 && terms != last && b->shape[last] > 1 &&
	    (along == last || !read->uses[t->tiled->axis])) {
		outer[longest_dim(b)] = terms_loops(t, read, copy, terms);
	} else if (along >= 0 && b->shape[last] >= lanes &&
	    (along == last || !read->dims[last].spatial)) {
		if (along < last) {
			rule_put(t->r, "%s_r0, %s_r1 = split(%s, [_, %d])\n", copy,
			    copy, outer[along],
			    rows_together(t, b->shape[along]));
			rule_put(t->r, "unroll(%s_r1)\n", copy);
			outer[along] = arena_printf(t->r->arena, "%s_r0", copy);
			inner = arena_printf(t->r->arena, "%s_r1, ", copy);
		}
		rule_put(t->r, "%s_v0, %s_v1 = split(%s, [_, %d])\nreorder(", copy,
		    copy, outer[last], lanes);
		outer[last] = arena_printf(t->r->arena, "%s_v0", copy);
		put_ones(t, read, copy);
		for (int d = 0; d <= last; d++)
			rule_put(t->r, "%s, ", outer[d]);
		rule_put(t->r, "%s%s_v1)\nvectorize(%s_v1, %d)\ntail(%s, peel)\n",
		    inner, copy, copy, lanes, copy);
	} else if (t->four && moves_fours(t, read, last)) {
		rule_put(t->r, "%s_v0, %s_v1 = split(%s, [_, %d])\n", copy, copy,
		    outer[last], lanes);
		rule_put(t->r, "vectorize(%s_v1, %d)\ntail(%s, peel)\n", copy, lanes,
		    copy);
		outer[last] = arena_printf(t->r->arena, "%s_v0", copy);
	}
	if (t->r->machine->threads > 1)
		rule_put(t->r, "parallel(%s)\n", outer[longest_dim(b)]);
}

/* Of a packed operand that a cache does not keep, the next panel comes while one
 * is in use: the innermost loop of tiles that moves it says which is next. */
static void bring_panels(Tiling *t, const RuleRead *read, const char *copy)
{
	const Buffer *b = &t->r->program->buffers[read->buffer];
	const TileAxis *x = NULL;
	for (int i = 0; i < t->naxes; i++)
		if (!t->axes[i].batch && read->uses[t->axes[i].axis])
			x = &t->axes[i];
	if (x && !t->r->machine->gpu &&
	    buffer_bytes(b) > t->r->machine->l2_bytes / KEPT_PART)
		rule_put(t->r, "prefetch(%s, %s, %s, 1)\n", t->reduce, copy,
		    x->middle);
}

/* For one batch at a time, which a cache keeps; legal once the product is made
 * below that loop. */
static void place_in_batch(Tiling *t, const char *copy)
{
	const char **steps = &t->r->blocks[t->info->home].copies;
	*steps = arena_printf(t->r->arena,
	    "%scompute_at(%s, ? in {root, %s})\n", *steps ? *steps : "", copy,
	    t->r->batch_loop);
}

/* What makes each element is done by the copy that is packed: a const input's type
 * is changed ahead, and what pads or chooses is not stored twice. */
static void inline_maker(Tiling *t, const Buffer *b)
{
	RuleBlock *maker = &t->r->blocks[b->block];
	if (!b->is_const && (maker->output || maker->consumers.n != 1 ||
				maker->scheduled || maker->inlined))
		return;
	rule_put(t->r, "compute_inline(%s)\n", b->name);
	maker->scheduled = true;
}

static void pack_operand(Tiling *t, const RuleRead *read)
{
	const Buffer *b = &t->r->program->buffers[read->buffer];
	const char *copy = copy_name(t, read, "_pack");
	bool tiled = false;
	for (int d = 0; d < read->nindex; d++)
		tiled |= read->dims[d].spatial;
	if (!tiled ||
	    (!is_anchor(t) && !b->is_const && lies_in_lanes(t, read) && !t->four))
		return;
	put_copy(t, read, copy);
	if (b->block >= 0 && (b->is_const || !rule_is_extracted(t->r, b->block)))
		inline_maker(t, b);
	if (makes_rows(t) && t->r->batch_loop && !b->is_const)
		place_in_batch(t, copy);
	else if (b->is_const || !is_anchor(t))
		rule_put(t->r, "compute_at(%s, root)\n", copy);
	else
		put_places(t, copy,
		    t->four && !lies_by_fours(t, read) ? "" : ", inline");
	pack_layout(t, read, copy);
	rule_put(t->r, "pad(%s, 0)\n", copy);
	if (b->is_const)
		bring_panels(t, read, copy);
	else
		copy_loops(t, read, copy);
}

/* The terms of a dot product, which lie apart, innermost; before them what lanes
 * go along; the rest as it is. */
static void fours_layout(
    Tiling *t, const RuleRead *read, const char *copy, int terms)
{
	int lanes = read->uses[t->tiled->axis]
	    ? rule_lanes_dim(read, t->tiled->axis)
	    : -1;
	rule_put(t->r, "transform_layout(%s, [", copy);
	for (int d = 0; d < read->nindex; d++)
		if (d == terms)
			rule_put(t->r, "x%d//%d, ", d, t->dot->terms);
		else if (d != lanes)
			rule_put(t->r, "x%d, ", d);
	if (lanes >= 0)
		rule_put(t->r, "x%d, ", lanes);
	rule_put(t->r, "x%d%%%d])\n", terms, t->dot->terms);
}

/* A copy for an instruction that sums steps which lie apart. */
static void fours_operand(Tiling *t, const RuleRead *read, int terms)
{
	const Buffer *b = &t->r->program->buffers[read->buffer];
	const char *copy = copy_name(t, read, "_pack");
	put_copy(t, read, copy);
	if (b->block >= 0)
		inline_maker(t, b);
	if (b->is_const || !is_anchor(t))
		rule_put(t->r, "compute_at(%s, root)\n", copy);
	else
		put_places(t, copy, "");
	fours_layout(t, read, copy, terms);
	rule_put(t->r, "pad(%s, 0)\n", copy);
	if (!b->is_const)
		copy_loops(t, read, copy);
}

/* An input read at sums of axes: a plain copy of the region that a tile reads,
 * or none. */
static void stage_operand(Tiling *t, const RuleRead *read)
{
	const char *copy = copy_name(t, read, "_tile");
	put_copy(t, read, copy);
	put_places(t, copy, ", inline");
}

/* The i-th read, but those of one buffer the last first: a read that was
 * replaced no longer counts. */
static const RuleRead *read_in_turn(const RuleBlock *b, int i)
{
	const RuleRead *read = &b->reads.at[i];
	int number = rule_reads_of(b, read->buffer) + 1 - read->number;
	for (int k = 0; k < b->reads.n; k++)
		if (b->reads.at[k].buffer == read->buffer &&
		    b->reads.at[k].number == number)
			read = &b->reads.at[k];
	return read;
}

static void operands(Tiling *t)
{
	for (int i = 0; i < t->info->reads.n; i++) {
		const RuleRead *read = read_in_turn(t->info, i);
		const Buffer *b = &t->r->program->buffers[read->buffer];
		bool own = b->block >= 0 && !rule_is_extracted(t->r, b->block);
		bool apart = t->four && !lies_by_fours(t, read);
		int terms = terms_dim(t, read);
		bool panels = read->packable &&
		    (read->uses[t->tiled->axis] || b->is_const);
		if (apart && terms >= 0 && !panels) {
			fours_operand(t, read, terms);
			continue;
		}
		if (!apart && (own || (b->block >= 0 && !read->packable)))
			continue; /* inlined, or the location rule's */
		if (b->is_const && !is_anchor(t) &&
		    rule_is_read_elsewhere(t->r, t->info, read->buffer))
			continue; /* packed once, in one order */
		if (read->packable)
			pack_operand(t, read);
		else if (!b->is_const && is_anchor(t) &&
		    rule_reads_of(t->info, read->buffer) == 1)
			stage_operand(t, read);
	}
}

bool rule_tile_applies(const Rules *r, int i)
{
	return i == r->tiled.block && !r->tiled.streams;
}

void rule_tile(Rules *r, int i)
{
	assert(i == r->tiled.block);
	rule_tile_along(r, &r->tiled);
}

void rule_tile_along(Rules *r, const RuleTiled *tiled)
{
	Tiling t = {.r = r,
	    .tiled = tiled,
	    .block = &r->program->blocks[tiled->block],
	    .info = &r->blocks[tiled->block]};
	int reader = rule_results(r, tiled->block) > 1
	    ? -1
	    : rule_elementwise_reader(r, t.info);
	r->blocks[tiled->block].scheduled = true;
	r->blocks[tiled->block].home = reader >= 0 ? reader : tiled->block;
	t.writer_block = t.block;
	t.writer = t.block->name;
	if (reader >= 0) {
		t.writer_block = &r->program->blocks[reader];
		t.writer = t.writer_block->name;
		t.reduce = t.block->name;
		r->blocks[reader].scheduled = true;
		r->blocks[reader].home = reader;
		rule_put(t.r, "set_scope(%s, reg)\n", t.reduce);
	} else {
		t.reduce = rule_name(r, t.block, "acc", "");
		rule_put(t.r, "%s = cache_write(%s, reg)\n", t.reduce, t.writer);
	}
	name_axes(&t, reader);
	split_writer(&t);
	order_writer(&t);
	parallel_writer(&t);
	schedule_reduction(&t);
	operands(&t);
	if (t.four)
		rule_put(t.r, "tensorize(%s, %s)\n", t.four, t.dot->name);
	rule_with_place(r, tiled->block);
	rule_put_with(r, tiled->block, t.writer, t.reduce, "reg");
}
