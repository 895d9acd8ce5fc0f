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
 * makes is computed where a decision says.  This is Goto's nest (BLIS) without
 * a level over k: accumulators stay in registers for the whole reduction. */
#include "schedule/rules/rules.h"

typedef struct {
	const char *name; /* of the writer's axis */
	int axis;         /* of R */
	int64_t extent;
	bool vector;
	const char *outer, *middle, *inner, *lane; /* its loops */
} TileAxis;

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
} Tiling;

static void put(Tiling *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void put(Tiling *t, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	buf_vprintf(&t->r->text, format, args);
	va_end(args);
}

/* --- domains ----------------------------------------------------------------- */

/* Of the values those up to `most`; the first in any case. */
static void put_values(Tiling *t, const int *values, int count, int64_t most)
{
	put(t, "[");
	for (int i = 0, n = 0; i < count; i++)
		if (values[i] <= most || !i)
			put(t, "%s%d", n++ ? ", " : "", values[i]);
	put(t, "]");
}

static const int middle_values[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20,
    24, 28, 32, 48, 64, 96, 128};
static const int row_values[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 16,
    20, 24, 28};
static const int vector_values[] = {1, 2, 3, 4, 6, 8};
static const int inner_values[] = {1, 2, 3, 4, 6, 8};

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* --- the writer ---------------------------------------------------------------- */

/* The block's only reader, if it reads each element at its own place. */
static int elementwise_reader(const Rules *r, const RuleBlock *b)
{
	if (b->output || b->consumers.n != 1)
		return -1;
	int reader = b->consumers.at[0];
	const RuleBlock *w = &r->blocks[reader];
	const Block *wb = &r->program->blocks[reader];
	const Block *block = &r->program->blocks[b->block];
	if (wb->reduce != REDUCE_NONE || w->scheduled ||
	    wb->nspatial != block->nspatial ||
	    rule_reads_of(w, block->buffer) != 1)
		return -1;
	for (int i = 0; i < w->reads.n; i++) {
		const RuleRead *read = &w->reads.at[i];
		if (read->buffer != block->buffer)
			continue;
		if (!read->plain || read->nindex != wb->nspatial)
			return -1;
		for (int d = 0; d < read->nindex; d++)
			if (wb->axes[rule_axis_of(read->index[d])].extent !=
			    block->axes[d].extent)
				return -1;
	}
	return reader;
}

/* The writer's axis that goes along with axis `a` of the block. */
static int writer_axis(const Tiling *t, int reader, int a)
{
	if (reader < 0)
		return a;
	const RuleBlock *w = &t->r->blocks[reader];
	for (int i = 0; i < w->reads.n; i++)
		if (w->reads.at[i].buffer == t->block->buffer &&
		    w->reads.at[i].plain)
			return rule_axis_of(w->reads.at[i].index[a]);
	return a;
}

static void name_axes(Tiling *t, int reader)
{
	Rules *r = t->r;
	for (int pass = 0; pass < 2; pass++)
		for (int a = 0; a < t->block->nspatial; a++) {
			bool vector = a == t->tiled->axis;
			bool first = vector == t->tiled->outer;
			int64_t extent = t->block->axes[a].extent;
			if (extent == 1 || first != !pass || t->naxes == 16)
				continue;
			const char *name =
			    t->writer_block->axes[writer_axis(t, reader, a)]
				.name;
			TileAxis *x = &t->axes[t->naxes++];
			*x = (TileAxis){.name = name,
			    .axis = a,
			    .extent = extent,
			    .vector = vector};
			x->outer = rule_name(r, t->writer_block, name, "0");
			x->middle = rule_name(r, t->writer_block, name, "1");
			x->inner = rule_name(r, t->writer_block, name, "2");
			x->lane = rule_name(r, t->writer_block, name, "v");
		}
}

static void split_writer(Tiling *t)
{
	int lanes = t->tiled->lanes;
	for (int i = 0; i < t->naxes; i++) {
		const TileAxis *x = &t->axes[i];
		put(t, "%s, %s, %s", x->outer, x->middle, x->inner);
		if (x->vector)
			put(t, ", %s", x->lane);
		put(t, " = split(%s.%s, ? in tile(", t->writer, x->name);
		int64_t tiles = x->vector ? (x->extent + lanes - 1) / lanes
					  : x->extent;
		put_values(t, middle_values, COUNT(middle_values), tiles);
		put(t, ", ");
		if (x->vector) {
			put_values(t, vector_values, COUNT(vector_values),
			    tiles);
			put(t, ", [%d]", lanes);
		} else {
			put_values(t, row_values, COUNT(row_values), tiles);
		}
		put(t, "))\n");
	}
}

/* Only the anchor's structure is searched: each open choice multiplies the
 * plans. */
static bool is_anchor(const Tiling *t)
{
	return t->tiled == &t->r->tiled;
}

static void put_tail(Tiling *t, const char *stage, const char *styles)
{
	if (is_anchor(t))
		put(t, "tail(%s, ? in {%s})\n", stage, styles);
	else
		put(t, "tail(%s, mask)\n", stage);
}

static void order_writer(Tiling *t)
{
	const TileAxis *v = NULL;
	put(t, "reorder(");
	for (int a = 0; a < t->writer_block->nspatial; a++)
		if (t->writer_block->axes[a].extent == 1)
			put(t, "%s.%s, ", t->writer,
			    t->writer_block->axes[a].name);
	for (int i = 0; i < t->naxes; i++)
		put(t, "%s%s", i ? ", " : "", t->axes[i].outer);
	for (int i = 0; i < t->naxes; i++)
		put(t, ", %s", t->axes[i].middle);
	for (int i = 0; i < t->naxes; i++) {
		if (t->axes[i].vector)
			v = &t->axes[i];
		else
			put(t, ", %s", t->axes[i].inner);
	}
	if (v)
		put(t, ", %s, %s", v->inner, v->lane);
	put(t, ")\n");
	for (int i = 0; i < t->naxes; i++)
		put(t, "unroll(%s)\n", t->axes[i].inner);
	if (v)
		put(t, "vectorize(%s, %d)\n", v->lane, t->tiled->lanes);
	put_tail(t, t->writer, "peel, mask");
}

static void add_place(Rules *r, int writer, const char *loop)
{
	if (r->nplaces < RULE_PLACES)
		r->places[r->nplaces++] = loop;
	rule_add_place(r, writer, loop, -1);
}

static void parallel_writer(Tiling *t)
{
	Rules *r = t->r;
	int writer = (int)(t->writer_block - r->program->blocks);
	if (r->machine->threads > 1) {
		t->fused = t->axes[0].outer;
		if (t->naxes > 1) {
			t->fused = rule_name(r, t->writer_block, "tile", "");
			put(t, "%s = fuse(", t->fused);
			for (int i = 0; i < t->naxes; i++)
				put(t, "%s%s", i ? ", " : "",
				    t->axes[i].outer);
			put(t, ")\n");
		}
		put(t, "parallel(%s)\n", t->fused);
		add_place(r, writer, t->fused);
	} else {
		for (int i = 0; i < t->naxes; i++)
			add_place(r, writer, t->axes[i].outer);
	}
	for (int i = 0; i < t->naxes; i++)
		add_place(r, writer, t->axes[i].middle);
}

/* --- the reduction --------------------------------------------------------------- */

static void schedule_reduction(Tiling *t)
{
	const Block *b = t->block;
	const char *n = t->reduce, *vector = NULL;
	int split = -1;
	put(t, "compute_at(%s, %s)\n", n, t->axes[t->naxes - 1].middle);
	for (int a = b->nspatial; a < b->naxes && split < 0; a++)
		if (b->axes[a].extent > 4)
			split = a;
	const char *k0 = "", *k1 = "";
	if (split >= 0) {
		k0 = rule_name(t->r, b, b->axes[split].name, "0");
		k1 = rule_name(t->r, b, b->axes[split].name, "1");
		put(t, "%s, %s = split(%s.%s, ? in tile(", k0, k1, n,
		    b->axes[split].name);
		put_values(t, inner_values, COUNT(inner_values),
		    b->axes[split].extent);
		put(t, "))\n");
	}
	const char *v0 = "", *vv = "";
	if (t->tiled->axis >= 0) {
		vector = b->axes[t->tiled->axis].name;
		v0 = rule_name(t->r, b, vector, "_acc");
		vv = rule_name(t->r, b, vector, "_lane");
		put(t, "%s, %s = split(%s.%s, [_, %d])\n", v0, vv, n, vector,
		    t->tiled->lanes);
	}
	put(t, "reorder(");
	int count = 0;
	for (int a = b->nspatial; a < b->naxes; a++) {
		const char *sep = count++ ? ", " : "";
		if (a == split)
			put(t, "%s%s", sep, k0);
		else
			put(t, "%s%s.%s", sep, n, b->axes[a].name);
	}
	if (split >= 0)
		put(t, ", %s", k1);
	for (int a = 0; a < b->nspatial; a++)
		if (a != t->tiled->axis)
			put(t, "%s%s.%s", count++ ? ", " : "", n,
			    b->axes[a].name);
	if (vector)
		put(t, ", %s, %s", v0, vv);
	put(t, ")\n");
	for (int a = 0; a < b->nspatial; a++)
		if (a != t->tiled->axis)
			put(t, "unroll(%s.%s)\n", n, b->axes[a].name);
	for (int a = b->nspatial; a < b->naxes; a++)
		if (a != split && b->axes[a].extent > 1 &&
		    b->axes[a].extent <= 16)
			put(t, "unroll(%s.%s, limit=? in {1, 16})\n", n,
			    b->axes[a].name);
	if (split >= 0)
		put(t, "unroll(%s)\n", k1);
	if (vector)
		put(t, "unroll(%s)\nvectorize(%s, %d)\n", v0, vv,
		    t->tiled->lanes);
	bool sum = b->reduce == REDUCE_SUM && b->body->op == OP_MUL;
	put_tail(t, n, sum ? "pad, peel, mask" : "peel, mask");
}

/* --- operands ------------------------------------------------------------------------ */

static const TileAxis *tile_of(const Tiling *t, int axis)
{
	for (int i = 0; i < t->naxes; i++)
		if (t->axes[i].axis == axis)
			return &t->axes[i];
	return NULL;
}

/* Tiles outermost, then the reduction in its order, then what one tile of
 * registers reads: the order of use. */
static void pack_layout(Tiling *t, const RuleRead *read, const char *copy)
{
	const char *sep = "";
	put(t, "transform_layout(%s, [", copy);
	for (int pass = 0; pass < 3; pass++)
		for (int d = 0; d < read->nindex; d++) {
			int a = rule_axis_of(read->index[d]);
			const TileAxis *x = tile_of(t, a);
			bool reduce = t->block->axes[a].reduce;
			if (!x && reduce == (pass == 1) && pass < 2) {
				put(t, "%sx%d", sep, d);
				sep = ", ";
			} else if (x && pass != 1) {
				put(t, x->vector ? "%sx%d%s(%s*%d)"
						 : "%sx%d%s%s",
				    sep, d, pass ? "%" : "//", x->inner,
				    t->tiled->lanes);
				sep = ", ";
			}
		}
	put(t, "])\n");
}

static void put_places(Tiling *t, const char *stage, const char *also)
{
	put(t, "compute_at(%s, ? in {root", stage);
	for (int p = 0; p < t->r->nplaces; p++)
		put(t, ", %s", t->r->places[p]);
	put(t, "%s})\n", also);
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
	put(t, "%s = cache_read(%s, %s", copy, t->reduce,
	    t->r->program->buffers[read->buffer].name);
	if (rule_reads_of(t->info, read->buffer) > 1)
		put(t, ", read=%d", read->number);
	put(t, ")\n");
}

static bool read_by_others(const Tiling *t, int buffer)
{
	for (int i = 0; i < t->r->program->nblocks; i++)
		if (&t->r->blocks[i] != t->info &&
		    rule_reads_of(&t->r->blocks[i], buffer))
			return true;
	return false;
}

/* Is it read in place as well: side by side, or one element for all lanes? */
static bool lies_in_lanes(const Tiling *t, const RuleRead *read)
{
	int lanes = t->tiled->axis;
	return !read->uses[lanes] ||
	    rule_axis_of(read->index[read->nindex - 1]) == lanes;
}

/* The dimension of an operand that the lanes move along; -1. */
static int lanes_dim(const Tiling *t, const RuleRead *read)
{
	for (int d = 0; d < read->nindex; d++)
		if (rule_axis_of(read->index[d]) == t->tiled->axis)
			return d;
	return -1;
}

/* Panels of lanes are copied in vectors along the rows of the input.  Where
 * those lie across the panels, ROWS of them go together: their elements are
 * neighbours there, and are stored at once. */
static void copy_loops(Tiling *t, const RuleRead *read, const char *copy)
{
	enum { ROWS = 4 };
	const Buffer *b = &t->r->program->buffers[read->buffer];
	int lanes = t->tiled->lanes, along = lanes_dim(t, read);
	int last = read->nindex - 1;
	const char **outer = NEW_N(t->r->arena, const char *, read->nindex);
	const char *inner = "";
	for (int d = 0; d <= last; d++)
		outer[d] = arena_printf(t->r->arena, "%s.x%d", copy, d);
	if (along >= 0 && b->shape[last] >= lanes &&
	    (along == last || !tile_of(t, rule_axis_of(read->index[last])))) {
		if (along < last) {
			put(t, "%s_r0, %s_r1 = split(%s, [_, %d])\n", copy,
			    copy, outer[along], ROWS);
			put(t, "unroll(%s_r1)\n", copy);
			outer[along] = arena_printf(t->r->arena, "%s_r0", copy);
			inner = arena_printf(t->r->arena, "%s_r1, ", copy);
		}
		put(t, "%s_v0, %s_v1 = split(%s, [_, %d])\nreorder(", copy,
		    copy, outer[last], lanes);
		outer[last] = arena_printf(t->r->arena, "%s_v0", copy);
		for (int d = 0; d <= last; d++)
			put(t, "%s, ", outer[d]);
		put(t, "%s%s_v1)\nvectorize(%s_v1, %d)\ntail(%s, peel)\n",
		    inner, copy, copy, lanes, copy);
	}
	if (t->r->machine->threads > 1)
		put(t, "parallel(%s)\n", outer[longest_dim(b)]);
}

static void pack_operand(Tiling *t, const RuleRead *read)
{
	const Buffer *b = &t->r->program->buffers[read->buffer];
	const char *copy = copy_name(t, read, "_pack");
	bool tiled = false;
	for (int d = 0; d < read->nindex; d++)
		tiled |= tile_of(t, rule_axis_of(read->index[d])) != NULL;
	if (!tiled || (!is_anchor(t) && !b->is_const && lies_in_lanes(t, read)))
		return;
	put_copy(t, read, copy);
	if (b->is_const || !is_anchor(t))
		put(t, "compute_at(%s, root)\n", copy);
	else
		put_places(t, copy, ", inline");
	pack_layout(t, read, copy);
	put(t, "pad(%s, 0)\n", copy);
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
		if (b->block >= 0)
			continue; /* inlined, or the location rule's */
		if (b->is_const && !is_anchor(t) &&
		    read_by_others(t, read->buffer))
			continue; /* packed once, in one order */
		if (read->plain)
			pack_operand(t, read);
		else if (!b->is_const && is_anchor(t) &&
		    rule_reads_of(t->info, read->buffer) == 1)
			stage_operand(t, read);
	}
}

void rule_tile(Rules *r, const RuleTiled *tiled)
{
	Tiling t = {.r = r,
	    .tiled = tiled,
	    .block = &r->program->blocks[tiled->block],
	    .info = &r->blocks[tiled->block]};
	int reader = elementwise_reader(r, t.info);
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
		put(&t, "set_scope(%s, reg)\n", t.reduce);
	} else {
		t.reduce = rule_name(r, t.block, "acc", "");
		put(&t, "%s = cache_write(%s, reg)\n", t.reduce, t.writer);
	}
	name_axes(&t, reader);
	split_writer(&t);
	order_writer(&t);
	parallel_writer(&t);
	schedule_reduction(&t);
	operands(&t);
}
