/* A reduction along which an operand lies side by side, and is read once: lanes
 * along the reduction, several rows at once, so that what they share is loaded
 * once, and several vectors of partial results for each.
 *
 *     for i for k y[i] += a[i, k]*x[k]
 * -->
 *     parallel i0
 *       for k0 unroll k1 unroll i1 vector kv   y[i] += a[i, k]*x[k]
 *
 * Bytes and words of a sum, or of a sum of products, are added up a few steps at a
 * time for each lane (`tensorize`), and fill a vector for a greatest one.
 *
 * Where there is no row, the threads have partial results of their own.  Where
 * nothing lies along the reduction (functions of its steps), lanes are along the
 * rows. */
#include "schedule/rules/rules.h"

#include <assert.h>

enum {
	CHUNKS = 8,	   /* for each thread */
	SHARED_MOST = 8,   /* times that the operand is read */
	AGAIN_MOST = 2,	   /* that, of a row that is one vector: its lanes are
			     added for each result */
	REPEATED_MOST = 4, /* times that an element is beside itself (j//2) */
	EACH_READ = 2,	   /* instructions: a read is widened, and multiplied or
			      added */
	LONG = 4,	   /* parts of a row, beside which a rest is little */
	SHORT_MOST = 4 /* of an axis all of whose results are made at once */
};

static int64_t extent_of(const Block *block, int axis)
{
	return block->axes[axis].extent;
}

/* Do parts of a row, in a sum of at least two vectors, begin apart?  Lanes that
 * go from one to the next would be gathered for each step (x[4*i + k]). */
static bool begin_apart(const Rules *r, const Block *block,
    const RuleDigit *inner, const RuleDigit *begin)
{
	return begin->stride > 1 && inner->axis >= block->nspatial &&
	    extent_of(block, inner->axis) >=
		2 * rule_lanes(r->machine, block->body->type);
}

/* Is it one of a few channels (x[k, 0])?  Vectors are shuffled of all of them. */
static bool is_place(const Rules *r, const RuleRead *read, int dim)
{
	const RuleIndex *index = &read->dims[dim];
	return !index->irregular && !index->digits.n &&
	    r->program->buffers[read->buffer].shape[dim] <= RULE_FEW;
}

/* The axis along which neighbours are read, each perhaps a few times, in parts of
 * a row that do not overlap (x[g*32 + k]: k) or begin apart, or of one of a few
 * channels; -1.  Axes of one value are none. */
static int last_axis(
    const Rules *r, const Block *block, const RuleRead *read)
{
	int dim = read->last;
	if (dim > 0 && is_place(r, read, dim))
		dim--;
	if (dim < 0)
		return -1;
	const RuleIndex *last = &read->dims[dim];
	if (last->irregular || !last->digits.n)
		return -1;
	const RuleDigit *inner = &last->digits.at[0];
	int64_t extent = extent_of(block, inner->axis);
	if (inner->stride != 1 || inner->below > REPEATED_MOST ||
	    inner->below * inner->count < extent)
		return -1;
	for (int i = 1; i < last->digits.n; i++)
		if (last->digits.at[i].stride * inner->below < extent &&
		    !begin_apart(r, block, inner, &last->digits.at[i]))
			return -1;
	return inner->axis;
}

/* The reduction axis whose neighbours lie side by side in an operand, the one
 * that is read least often; -1. */
static int lane_axis(const Rules *r, int i, bool streamed)
{
	const Block *block = &r->program->blocks[i];
	const RuleBlock *b = &r->blocks[i];
	int64_t least = 0;
	int axis = -1;
	vec_each (read, &b->reads) {
		int a = last_axis(r, block, read);
		if (a < block->nspatial || extent_of(block, a) <= 1)
			continue;
		int64_t times = rule_times_read(block, read);
		bool one_vector = extent_of(block, a) <=
		    rule_lanes(r->machine, block->body->type);
		if (streamed && times > (one_vector ? AGAIN_MOST : SHARED_MOST))
			continue;
		if (axis < 0 || times < least) {
			axis = a;
			least = times;
		}
	}
	return axis;
}

/* Does an operand that is read a few times lie along a spatial axis? */
static bool lies_in_space(const Rules *r, int i)
{
	const Block *block = &r->program->blocks[i];
	const RuleBlock *b = &r->blocks[i];
	vec_each (read, &b->reads) {
		int a = last_axis(r, block, read);
		if (a >= 0 && a < block->nspatial && extent_of(block, a) > 1 &&
		    rule_times_read(block, read) <= SHARED_MOST)
			return true;
	}
	return false;
}

/* Does a row divide into parts, but for a rest that is little beside them? */
static bool divides(int64_t extent, int64_t part)
{
	return extent % part == 0 || extent >= LONG * part;
}

/* Lanes along an axis: bytes of a maximum fill a vector. */
static int widest(const Rules *r, const Block *block, int axis)
{
	int i = (int)(block - r->program->blocks);
	int lanes = rule_widest(r, block, axis);
	int most = rule_value_lanes(r, i, axis);
	if (r->program->buffers[block->buffer].type != block->body->type)
		return lanes;
	while (lanes < most && divides(extent_of(block, axis), 2 * lanes))
		lanes *= 2;
	return lanes;
}

int rule_row_lanes(const Rules *r, int i, int *axis)
{
	const Block *block = &r->program->blocks[i];
	*axis = rule_keeps_order(r->program, block) ? -1 : lane_axis(r, i, false);
	return *axis < 0 ? 1 : widest(r, block, *axis);
}

bool rule_is_row(const Rules *r, int i)
{
	const Block *block = &r->program->blocks[i];
	DType type = r->program->buffers[block->buffer].type;
	int least = rule_least_lanes(rule_lanes(r->machine, type));
	int axis = block->reduce == REDUCE_NONE || rule_keeps_order(r->program, block)
	    ? -1
	    : lane_axis(r, i, true);
	return axis >= 0 && !lies_in_space(r, i) &&
	    widest(r, block, axis) >= least;
}

/* --- the nest ---------------------------------------------------------------- */

typedef struct {
	Rules *r;
	const Block *block;
	const RuleBlock *info;
	const char *stage; /* that has the lanes */
	int row;           /* axis; -1: none */
	const char *row0, *row1; /* its loops */
	int along;         /* axis of the lanes; -1: none */
	const char *along_name; /* of its loop in the stage */
	int64_t along_extent;
	int chunked;            /* axis that the threads divide; -1: none */
	int64_t chunk;          /* of so many values */
	const char *rest;       /* what is left of it in the stage */
	const char *parallel;	/* loop */
} Row;

/* The stage of partial results along an axis of the block. */
static const char *put_chunks(Row *w, const Block *block, int axis)
{
	const char *stage = rule_name(w->r, block, "chunks", "");
	const char *const *x = rule_split(w->r, block->name, block, axis,
	    "_chunk _rest", "[_, %lld]", (long long)w->chunk);
	rule_put(w->r, "%s = rfactor(%s)\n", stage, x[0]);
	return stage;
}

/* Partial results for the threads where there is nothing else to divide: a few
 * for each. */
static void chunks(Row *w)
{
	Rules *r = w->r;
	const Block *block = w->block;
	int axis = rule_first_axis(block, block->nspatial, block->naxes);
	int64_t n = axis < 0 ? 1 : extent_of(block, axis);
	int64_t count = r->machine->threads * CHUNKS;
	if (n < 2 * count || rule_keeps_order(r->program, block))
		return;
	const char *k = block->axes[axis].name;
	w->chunk = (n + count - 1) / count;
	w->chunked = axis;
	w->stage = put_chunks(w, block, axis);
	w->rest = rule_name(r, block, k, "_rest");
	w->parallel = arena_printf(
	    r->arena, "%s.%s", w->stage, rule_name(r, block, k, "_chunk"));
	if (axis == w->along) {
		w->along_name = w->rest;
		w->along_extent = w->chunk;
	}
}

/* A short axis outside of the rows that something of a step stands still along:
 * that is computed once for all of its results. */
static bool is_short(const Row *w, int axis)
{
	const Block *block = w->block;
	const RuleBlock *b = w->info;
	int64_t n = block->axes[axis].extent;
	if (axis >= w->row || n < 2 || n > SHORT_MOST || b->is_host ||
	    b->host != b->block)
		return false;
	vec_each (read, &b->reads)
		for (int k = block->nspatial; k < block->naxes; k++)
			if (read->uses[k] && !read->uses[axis])
				return true;
	return false;
}

/* Sizes of the rows that are made at once.  What follows the steps goes through
 * memory row by row: if the rows share nothing that is read, one after another. */
static const char *rows_of(const Row *w)
{
	const Rules *r = w->r;
	const RuleBlock *b = w->info;
	assert(w->row >= 0 && w->row < w->block->nspatial);
	int64_t n = w->block->axes[w->row].extent;
	bool followed = false, shared = false;
	for (int i = 0; i < r->program->nblocks; i++)
		followed |= r->blocks[i].at_steps &&
		    r->blocks[i].colocated_with == b->block;
	vec_each (read, &b->reads)
		shared |= !read->uses[w->row];
	return rule_powers(r, 1, followed && !shared ? 1 : n > 8 ? 8 : n);
}

static const char *copies_of(const Row *w, int64_t vectors, int lanes)
{
	const char *anew = rule_copies(w->r, w->info, w->along, vectors, lanes);
	return anew	   ? anew
	    : vectors >= 8 ? "1, 2, 4, 8"
	    : vectors >= 4 ? "1, 2, 3, 4"
	    : vectors == 3 ? "1, 2, 3"
	    : vectors == 2 ? "1, 2"
			   : "1";
}

/* The instruction that sums a few steps for each lane, of a read or of a product of
 * two, the fastest that the machine has; NULL. */
static const Intrinsic *sum_of(const Rules *r, const Expr *body)
{
	const Intrinsic *best = NULL;
	double least = EACH_READ * (body->op == OP_MUL ? 2 : 1);
	for (int i = 0; i < intrinsic_count(); i++) {
		const Intrinsic *in = intrinsic_at(i);
		double n = intrinsic_instructions(
		    in, r->machine, r->program->numerics);
		if (n > 0 && n / in->terms < least &&
		    intrinsic_sums(in, body)) {
			best = in;
			least = n / in->terms;
		}
	}
	return best;
}

/* Do the steps along the lanes lie side by side in all that is read? */
static bool lie_along(const Row *w)
{
	vec_each (read, &w->info->reads) {
		if (read->last < 0 ||
		    last_axis(w->r, w->block, read) != w->along)
			return false;
		const RuleIndex *last = &read->dims[read->last];
		if (!last->digits.n || last->digits.at[0].axis != w->along ||
		    last->digits.at[0].below > 1)
			return false;
	}
	return true;
}

/* The same for the steps along the lanes, if none is left over, or few of many. */
static const Intrinsic *sums_steps(const Row *w, int *lanes)
{
	const Rules *r = w->r;
	int i = w->info->block;
	const Intrinsic *in =
	    w->block->reduce == REDUCE_SUM && rule_results(r, i) == 1
	    ? sum_of(r, r->bodies[i])
	    : NULL;
	if (!in || !lie_along(w))
		return NULL;
	int n = widest(r, w->block, w->along);
	if (!divides(w->along_extent, n * in->terms))
		while (n > 1 && w->along_extent % (n * in->terms))
			n /= 2;
	if (n < rule_least_lanes(rule_lanes(r->machine, in->sum)))
		return NULL;
	*lanes = n;
	return in;
}

static void put_lanes(Row *w)
{
	Rules *r = w->r;
	const Block *b = w->block;
	int lanes = widest(r, b, w->along);
	const Intrinsic *in = sums_steps(w, &lanes);
	int each = lanes * (in ? in->terms : 1);
	const char *loop =
	    arena_printf(r->arena, "%s.%s", w->stage, w->along_name);
	const char *steps = "", *shorts = "";
	assert(w->along >= b->nspatial);
	if (lanes == 1)
		return;
	const char *const *k = rule_split_loop(r, loop,
	    rule_name(r, b, b->axes[w->along].name, ""),
	    in ? "0 1 v q" : "0 1 v", "? in tile([%s], [%d], [%s])",
	    copies_of(w, (w->along_extent + each - 1) / each, each), lanes,
	    in ? rule_size(r, in->terms) : "");
	for (int a = b->nspatial; a < b->naxes; a++)
		if (a != w->along)
			steps =
			    arena_printf(r->arena, "%s, %s.%s", steps, w->stage,
				a == w->chunked ? w->rest : b->axes[a].name);
	for (int a = 0; a < w->row; a++)
		if (is_short(w, a))
			shorts = rule_and(r, shorts, w->stage, b, a);
	rule_put(r, "reorder(%s, %s, %s, %s, %s, %s, %s, %s)\n", w->row0, steps,
	    k[0], k[1], shorts, w->row1, k[2], k[3]);
	rule_vectors(r, rule_join(r, shorts, k[1]), k[2], lanes);
	r->blocks[w->info->block].steps = k[0];
	if (in)
		rule_put(
		    r, "unroll(%s)\ntensorize(%s, %s)\n", k[3], k[3], in->name);
	if (in && w->along_extent % each)
		rule_put(r, "tail(%s, peel)\n", w->stage);
}

/* The blocks that run in the loops, which are complete. */
static void put_fused(Row *w)
{
	Rules *r = w->r;
	int leader = w->info->block;
	for (int i = 0; i < r->program->nblocks && w->chunked >= 0; i++)
		if (r->blocks[i].fused_with == leader)
			rule_put(r, "compute_with(%s, %s)\n",
			    put_chunks(w, &r->program->blocks[i], w->chunked),
			    w->stage);
	rule_put_fused(r, leader, w->block->name, w->block->name, NULL);
}

/* Some rows at once; of what is made in another block's tiles those that a tile
 * has. */
static void put_row(Row *w)
{
	Rules *r = w->r;
	const Block *block = w->block;
	int i = w->info->block, first = 0;
	bool own = w->info->host == i;
	for (int a = 0; a < w->row && own; a++)
		rule_add_place(
		    r, i, rule_loop(r, block->name, block, a), a + 1, false);
	if (w->info->colocated_with >= 0) {
		w->row1 = rule_loop(r, block->name, block, w->row);
		rule_put(r, "each unroll(%s)\n",
		    rule_loops(
			r, block->name, block, 0, block->nspatial, -1, -1));
		return;
	}
	if (w->row < 0)
		return;
	RuleSplit s = rule_tiles(r, block, w->row, NULL, "", rows_of(w), 0);
	rule_put(r, "unroll(%s)\n", s.unrolled);
	w->row0 = w->parallel = s.outer;
	w->row1 = s.unrolled;
	if (own)
		rule_add_place(r, i, s.outer, w->row + 1, false);
	r->blocks[i].tile = s.outer;
	while (first < w->row &&
	    (block->axes[first].extent == 1 || is_short(w, first)))
		first++;
	if (first < w->row)
		w->parallel = rule_loop(r, block->name, block, first);
}

void rule_row(Rules *r, int i)
{
	const Block *block = &r->program->blocks[i];
	if (!rule_is_open(r, i) || block->reduce == REDUCE_NONE)
		return;
	Row w = {.r = r,
	    .block = block,
	    .info = &r->blocks[i],
	    .stage = block->name,
	    .row = rule_longer_axis(block, block->nspatial),
	    .row0 = "",
	    .row1 = "",
	    .chunked = -1,
	    .along = rule_keeps_order(r->program, block)
		? -1
		: lane_axis(r, i, false),
	    .parallel = ""};
	r->blocks[i].scheduled = true;
	rule_place_fused(r, i);
	if (w.along >= 0) {
		w.along_name = block->axes[w.along].name;
		w.along_extent = extent_of(block, w.along);
	}
	if (w.along < 0 && w.row >= 0 && w.info->colocated_with < 0 &&
	    !rule_rows_has(r, i) && extent_of(block, w.row) > RULE_FEW &&
	    rule_lanes_in_space(r, i)) {
		put_fused(&w);
		return;
	}
	if (w.row < 0 && r->machine->threads > 1 && w.info->output)
		chunks(&w);
	put_row(&w);
	if (w.along >= 0)
		put_lanes(&w);
	if (!rule_rows_has(r, i))
		rule_parallel(r, w.parallel);
	put_fused(&w);
}
