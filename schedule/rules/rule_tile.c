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
	const char *outer, *middle, *inner, *lane, *phase; /* its loops */
} TiledAxis;

enum {
	LONG_LOOP = 4,	 /* worth splitting */
	SHORT_LOOP = 8, /* steps that may all be in code */
	KEPT_PART = 8 /* of the second cache: what it keeps for the next call */
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
	TiledAxis
	    *axes; /* spatial axes longer than 1; vector axis first or last */
	VEC(const char *) places; /* loops that its operands may be computed at */
	VEC(ReduceLoop) loops; /* of the reduction, outer to inner */
	const char *unrolled;  /* the innermost of them; or NULL */
	const Intrinsic *dot;  /* that sums the products; NULL: none */
	const char *four;      /* the loop of its terms; NULL: none */
	bool ragged;           /* they do not divide its axis */
} Tiling;

/* --- domains ----------------------------------------------------------------- */

static const int middle_values[] = {
    1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 48, 64, 96, 128, 0};
static const int row_values[] = {
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 16, 20, 24, 28, 0};
static const int vector_values[] = {1, 2, 3, 4, 6, 8, 0};
static const int inner_values[] = {1, 2, 3, 4, 6, 8, 0};

/* Only the anchor's structure is searched: each open choice multiplies the
 * plans. */
static bool is_anchor(const Tiling *t)
{
	return t->tiled == &t->r->tiled;
}

/* --- the writer ---------------------------------------------------------------- */

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

static const char *phases_of(const Tiling *t)
{
	int n = t->tiled->phases;
	return n > 1 ? rule_size(t->r, n) : "";
}

/* Tiles of an axis; that are not searched: a few rows of two vectors. */
static void split_axis(Tiling *t, TiledAxis *x)
{
	enum { ROWS = 4, VECTORS = 2 };
	Rules *r = t->r;
	int lanes = x->vector ? t->tiled->lanes : 0;
	const char *phases = lanes ? phases_of(t) : "";
	const char *loop = arena_printf(r->arena, "%s.%s", t->writer, x->name);
	int64_t vector = *phases ? lanes * t->tiled->phases : lanes;
	int64_t tiles = lanes ? (x->extent + vector - 1) / vector : x->extent;
	int64_t few = lanes ? VECTORS : ROWS;
	bool settled = t->tiled->settled;
	x->outer = loop;
	x->middle = x->inner = x->lane = x->phase = "";
	if (x->batch)
		return;
	few = tiles < few ? tiles : few;
	const char *const *p = rule_split_loop(r, loop,
	    rule_name(r, t->writer_block, x->name, ""),
	    *phases	? "0 1 2 v p"
		: lanes ? "0 1 2 v"
			: "0 1 2",
	    settled ? "[_, %s, %s, %s, %s]"
		    : "? in tile([%s], [%s], [%s], [%s])",
	    settled ? "1" : rule_sizes(r, middle_values, tiles),
	    settled ? rule_size(r, few)
		    : rule_sizes(r, lanes ? vector_values : row_values, tiles),
	    lanes ? rule_size(r, lanes) : "", phases);
	x->outer = p[0];
	x->middle = p[1];
	x->inner = p[2];
	x->lane = p[3];
	x->phase = p[4];
}

static void split_writer(Tiling *t, int reader)
{
	Rules *r = t->r;
	t->axes = NEW_N(r->arena, TiledAxis, t->block->nspatial);
	for (int rank = 0; rank < 5; rank++)
		for (int a = 0; a < t->block->nspatial; a++) {
			int of = rule_reader_axis(r, t->block, reader, a);
			if (t->block->axes[a].extent == 1 ||
			    rank_of(t, a) != rank)
				continue;
			TiledAxis *x = &t->axes[t->naxes++];
			*x = (TiledAxis){.name = t->writer_block->axes[of].name,
			    .axis = a,
			    .extent = t->block->axes[a].extent,
			    .vector = a == t->tiled->axis,
			    .batch = rank == 1};
			split_axis(t, x);
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
	const Block *b = t->writer_block;
	Rules *r = t->r;
	const char *ones = "", *outer = "", *middle = "", *rows = "",
		   *inner = "";
	const TiledAxis *v = NULL;
	for (int a = 0; a < b->nspatial; a++)
		if (b->axes[a].extent == 1)
			ones = rule_and(r, ones, t->writer, b, a);
	for (int i = 0; i < t->naxes; i++) {
		const TiledAxis *x = &t->axes[i];
		v = x->vector ? x : v;
		outer = rule_join(r, outer, x->outer);
		middle = rule_join(r, middle, x->middle);
		inner = rule_join(r, inner, x->inner);
		rows = rule_join(r, rows, x->vector ? "" : x->inner);
	}
	assert(v);
	rule_put(r, "reorder(%s, %s, %s, %s, %s, %s, %s)\n", ones, outer,
	    middle, rows, v->inner, v->phase, v->lane);
	rule_vectors(
	    r, rule_join(r, inner, v->phase), v->lane, t->tiled->lanes);
	put_tail(t, t->writer, "peel, mask");
}

/* Operands are computed there; other blocks, too, if it is the anchor. */
static void add_place(Tiling *t, const char *loop)
{
	vec_push(t->r->arena, &t->places, loop);
	if (is_anchor(t))
		rule_add_place(t->r,
		    (int)(t->writer_block - t->r->program->blocks), loop, -1,
		    false);
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
	const char *tiles = t->axes[0].outer;
	for (int i = 1; i < outer; i++)
		tiles = rule_join(r, tiles, t->axes[i].outer);
	if (r->machine->threads > 1) {
		const char *fused = rule_fuse(
		    r, tiles, rule_name(r, t->writer_block, "tile", ""));
		rule_put(r, "parallel(%s)\n", fused);
		add_place(t, fused);
		if (is_anchor(t) && r->rows) {
			r->row_loop = fused;
			r->batch_loop = NULL;
		}
	}
	for (int i = 0; i < t->naxes && r->machine->threads <= 1; i++)
		add_place(t, t->axes[i].outer);
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
		vec_each (r, &t->info->reads) {
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
	const char *names = "", *counts = "";
	for (int i = first; i < t->loops.n; i++) {
		int64_t n = t->loops.at[i].count;
		names = rule_join(t->r, names, t->loops.at[i].name);
		if (i > first)
			counts = rule_and_size(t->r, counts, n);
	}
	rule_put(t->r, "%s = split(%s.%s, [_, %s])\n", names, t->reduce, name,
	    counts);
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

/* A split that is not of a whole axis has to divide it; a short loop may be all of
 * it. */
static const char *inner_sizes(
    const Tiling *t, const ReduceLoop *x, int64_t times)
{
	bool whole = x->count == t->block->axes[x->axis].extent;
	assert(x->count >= times);
	int64_t all = x->count % times ? 0 : x->count / times, last = 0;
	const char *sizes = "";
	for (const int *n = inner_values; *n; n++)
		if (*n * times <= x->count &&
		    (whole || x->count % (*n * times) == 0)) {
			sizes = rule_and_size(t->r, sizes, *n);
			last = *n;
		}
	return all > last && all <= SHORT_LOOP ? rule_and_size(t->r, sizes, all)
					       : sizes;
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
	if (b->block >= 0 && !rule_origin(t->r, b->block)->extracted)
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
	t->dot = alone ? intrinsic_of_sum(t) : NULL;
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

/* Its last iterations become the innermost loop of the reduction; with `terms` the
 * fours are below all. */
static void split_loop(Tiling *t, int i, int terms)
{
	ReduceLoop *x = &t->loops.at[i], inner = *x, four = *x;
	assert(terms > 0 && !t->unrolled);
	const char *const *p = rule_split_loop(t->r, x->name,
	    rule_name(t->r, t->block, t->block->axes[x->axis].name, ""),
	    terms > 1 ? "0 1 q" : "0 1", "? in tile([%s], [%s])",
	    inner_sizes(t, x, terms), terms > 1 ? rule_size(t->r, terms) : "");
	x->name = p[0];
	inner.name = x->times = t->unrolled = p[1];
	t->ragged = x->count % terms != 0;
	x->below = inner.below = four.below * terms;
	vec_push(t->r->arena, &t->loops, inner);
	if (terms == 1)
		return;
	four.count = terms;
	four.name = t->four = p[2];
	vec_push(t->r->arena, &t->loops, four);
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
		split_loop(t, fours, t->dot->terms);
	else if (split >= 0)
		split_loop(t, split, 1);
}

static void unroll_reduction(Tiling *t)
{
	vec_each (x, &t->loops) {
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
	vec_each (r, &t->info->reads)
		if (r->uses[t->tiled->axis] && r->uses[axis])
			return true;
	return false;
}

static void schedule_reduction(Tiling *t)
{
	Rules *r = t->r;
	const Block *b = t->block;
	const char *n = t->reduce, *loops = "", *moves[2] = {"", ""};
	int axis = t->tiled->axis;
	rule_put(r, "compute_at(%s, %s)\n", n, t->axes[t->naxes - 1].middle);
	reduction_loops(t);
	const char *const *v = rule_split_loop(r, rule_loop(r, n, b, axis),
	    rule_name(r, b, b->axes[axis].name, ""),
	    t->tiled->phases > 1 ? "_acc _lane _phase" : "_acc _lane",
	    "[_, %d, %s]", t->tiled->lanes, phases_of(t));
	for (int i = 0; i < t->loops.n - (t->four != NULL); i++)
		loops = rule_join(r, loops, t->loops.at[i].name);
	for (int a = 0; a < b->nspatial; a++)
		if (a != axis) {
			const char **to = &moves[moves_vectors(t, a)];
			*to = rule_and(r, *to, n, b, a);
		}
	rule_put(r, "reorder(%s, %s, %s, %s, %s, %s, %s)\neach unroll(%s)\n",
	    loops, moves[0], moves[1], v[0], v[2], v[1], t->four ? t->four : "",
	    rule_loops(r, n, b, 0, b->nspatial, axis, -1));
	unroll_reduction(t);
	rule_vectors(r, rule_join(r, v[2], v[0]), v[1], t->tiled->lanes);
	bool sum = b->reduce == REDUCE_SUM && b->body->op == OP_MUL;
	/* fours are whole in what is padded, and in whole tiles */
	put_tail(t, n, t->dot && t->ragged ? "pad, peel"
		: sum		  ? "pad, peel, mask"
				  : "peel, mask");
}

/* --- operands ------------------------------------------------------------------------ */

static const TiledAxis *tile_of(const Tiling *t, int axis)
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
	const TiledAxis *x = tile_of(t, d->axis);
	assert(x && "a digit of several values is of a tiled axis");
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
		rule_put(t->r, "%s, ", parts.at[i].text);
	rule_put(t->r, "])\n");
}

static void put_places(Tiling *t, const char *stage, const char *also)
{
	rule_put(t->r, "compute_at(%s, ? in {root", stage);
	for (int p = 0; p < t->places.n; p++)
		rule_put(t->r, ", %s", t->places.at[p]);
	rule_put(t->r, ", %s})\n", also);
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

/* Is it read in place as well: side by side, or one element for all lanes? */
static bool lies_in_lanes(const Tiling *t, const RuleRead *read)
{
	int lanes = t->tiled->axis;
	return !read->uses[lanes] ||
	    rule_stride(t->r->program, read, lanes, 1) == 1;
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

/* Panels of lanes are copied in vectors along the rows of the input.  Where
 * those lie across the panels, several go together: their elements are
 * neighbours there, and are stored at once.  So do as many rows as a dot product
 * has terms, in vectors no longer than a row. */
static void copy_loops(Tiling *t, const RuleRead *read, const char *copy)
{
	Rules *r = t->r;
	const Buffer *b = &r->program->buffers[read->buffer];
	int along = rule_terms_dim(read, t->tiled->axis, 1, 1);
	int last = read->last;
	int terms = terms_dim(t, read), lanes = t->tiled->lanes;
	int across = -1, together = 0; /* the dimension of what goes together */
	const char **outer = NEW_N(r->arena, const char *, read->nindex);
	const char *dims = "", *inner = "";
	assert(last >= 0);
	bool by_terms = terms >= 0 && terms != last &&
	    (along == last || !read->uses[t->tiled->axis]);
	if (t->four && !by_terms) /* as many bytes as lie together again */
		lanes = t->dot->terms;
	bool panels = along >= 0 && b->shape[last] >= lanes &&
	    (along == last || !read->dims[last].spatial);
	for (int d = 0; d <= last; d++)
		outer[d] = rule_dims(r, copy, d, d + 1, -1);
	if (by_terms) {
		across = terms;
		together = t->dot->terms;
		while (lanes > 2 && lanes / 2 >= b->shape[last])
			lanes /= 2;
	} else if (panels && along < last) {
		across = along;
		together = rows_together(t, b->shape[along]);
	}
	if (across >= 0) {
		const char *const *x = rule_split_loop(r, outer[across], copy,
		    by_terms ? "_q0 _q1" : "_r0 _r1", "[_, %d]", together);
		if (!by_terms)
			rule_put(r, "unroll(%s)\n", x[1]);
		outer[across] = x[0];
		inner = x[1];
	}
	if (by_terms || panels || terms == last) {
		const char *const *v = rule_split_loop(
		    r, outer[last], copy, "_v0 _v1", "[_, %d]", lanes);
		outer[last] = v[0];
		for (int d = 0; d <= last; d++)
			dims = rule_join(r, dims, outer[d]);
		if (by_terms || panels)
			rule_put(r, "reorder(%s, %s, %s, %s)\n",
			    rule_dims(r, copy, last + 1, read->nindex, -1),
			    dims, inner, v[1]);
		rule_vectors(r, by_terms ? inner : "", v[1], lanes);
		rule_put(r, "tail(%s, peel)\n", copy);
	}
	assert(longest_dim(b) <= last);
	rule_parallel(r, outer[longest_dim(b)]);
}

/* Of a packed operand that a cache does not keep, the next panel comes while one
 * is in use: the innermost loop of tiles that moves it says which is next. */
static void bring_panels(Tiling *t, const RuleRead *read, const char *copy)
{
	const Buffer *b = &t->r->program->buffers[read->buffer];
	const TiledAxis *x = NULL;
	for (int i = 0; i < t->naxes; i++)
		if (!t->axes[i].batch && read->uses[t->axes[i].axis])
			x = &t->axes[i];
	if (x && buffer_bytes(b) > t->r->machine->l2_bytes / KEPT_PART)
		rule_put(t->r, "prefetch(%s, %s, %s, 1)\n", t->reduce, copy,
		    x->middle);
}

/* For one batch at a time, which a cache keeps; legal once the product is made
 * below that loop. */
static void place_in_batch(Tiling *t, const char *copy)
{
	const char **steps = &t->r->blocks[t->info->host].copies;
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

/* The terms of a dot product, which lie apart, innermost; before them what lanes
 * go along; the rest as it is. */
static void terms_layout(
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

/* A copy as tiles read it; with `terms` (a dimension; else -1) in its own order but
 * for those of an instruction, which lie apart. */
static void pack_operand(Tiling *t, const RuleRead *read, int terms)
{
	const Buffer *b = &t->r->program->buffers[read->buffer];
	const char *copy = copy_name(t, read, "_pack");
	bool tiled = terms >= 0;
	for (int d = 0; d < read->nindex; d++)
		tiled |= read->dims[d].spatial;
	if (!tiled ||
	    (!is_anchor(t) && !b->is_const && lies_in_lanes(t, read) &&
		!t->four))
		return;
	rule_copy(t->r, t->info, read, copy, t->reduce, "");
	if (b->block >= 0 &&
	    (terms >= 0 || b->is_const ||
		!rule_origin(t->r, b->block)->extracted))
		inline_maker(t, b);
	if (makes_rows(t) && t->r->batch_loop && !b->is_const)
		place_in_batch(t, copy);
	else if (b->is_const || !is_anchor(t))
		rule_put(t->r, "compute_at(%s, root)\n", copy);
	else
		put_places(t, copy,
		    t->four && !lies_by_fours(t, read) ? "" : "inline");
	if (terms >= 0)
		terms_layout(t, read, copy, terms);
	else
		pack_layout(t, read, copy);
	rule_put(t->r, "pad(%s, 0)\n", copy);
	if (b->is_const)
		bring_panels(t, read, copy);
	else
		copy_loops(t, read, copy);
}

/* An input read at sums of axes: a plain copy of the region that a tile reads,
 * or none. */
static void stage_operand(Tiling *t, const RuleRead *read)
{
	const char *copy = copy_name(t, read, "_tile");
	rule_copy(t->r, t->info, read, copy, t->reduce, "");
	put_places(t, copy, "inline");
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
		bool apart = t->four && !lies_by_fours(t, read);
		bool panels = read->packable &&
		    (read->uses[t->tiled->axis] || b->is_const);
		int terms = apart && !panels ? terms_dim(t, read) : -1;
		if (!apart && b->block >= 0 &&
		    (!read->packable ||
			!rule_origin(t->r, b->block)->extracted))
			continue; /* inlined, or the location rule's */
		if (terms < 0 && b->is_const && !is_anchor(t) &&
		    rule_is_read_elsewhere(t->r, t->info, read->buffer))
			continue; /* packed once, in one order */
		if (terms >= 0 || read->packable)
			pack_operand(t, read, terms);
		else if (!b->is_const && is_anchor(t) &&
		    rule_reads_of(t->info, read->buffer) == 1)
			stage_operand(t, read);
	}
}

void rule_tile(Rules *r, int i)
{
	if (i == r->tiled.block && !r->tiled.streams)
		rule_tile_along(r, &r->tiled);
}

void rule_tile_along(Rules *r, const RuleTiled *tiled)
{
	Tiling t = {.r = r,
	    .tiled = tiled,
	    .block = &r->program->blocks[tiled->block],
	    .info = &r->blocks[tiled->block]};
	assert(tiled->axis >= 0 && tiled->axis < t.block->nspatial);
	assert(tiled->lanes > 1 && t.block->axes[tiled->axis].extent > 1);
	RuleWriter w = rule_writer(r, tiled->block, "reg");
	t.writer_block = w.block;
	t.writer = w.block->name;
	t.reduce = w.acc;
	split_writer(&t, w.reader);
	order_writer(&t);
	parallel_writer(&t);
	schedule_reduction(&t);
	operands(&t);
	if (t.four)
		rule_put(t.r, "tensorize(%s, %s)\n", t.four, t.dot->name);
	rule_place_fused(r, tiled->block);
	rule_put_fused(r, tiled->block, t.writer, t.reduce, "reg");
}

/* Is there something to tile for: an operand that is read again along a spatial
 * axis, or one whose neighbours lie along one? */
static bool worth_tiling(const Program *program, const RuleBlock *b)
{
	const Block *block = &program->blocks[b->block];
	vec_each (r, &b->reads) {
		const Expr *last = r->last < 0 ? NULL : r->index[r->last];
		bool streamed = false;
		for (int a = block->nspatial; a < block->naxes; a++)
			streamed |= r->uses[a];
		for (int a = 0; a < block->nspatial && streamed; a++)
			if (block->axes[a].extent > 1 &&
			    (!r->uses[a] || (last && expr_has_axis(last, a))))
				return true;
	}
	return false;
}

bool rule_can_tile(const Rules *r, int block)
{
	return r->blocks[block].fused_with < 0 &&
	    rule_shape(r, block) == SHAPE_REDUCTION &&
	    worth_tiling(r->program, &r->blocks[block]);
}
