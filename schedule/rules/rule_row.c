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

int64_t rule_times_read(const Block *block, const RuleRead *read)
{
	int64_t n = 1;
	for (int a = 0; a < block->naxes; a++)
		n *= read->again[a];
	return n;
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
	for (int k = 0; k < b->reads.n; k++) {
		const RuleRead *read = &b->reads.at[k];
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
	for (int k = 0; k < b->reads.n; k++) {
		const RuleRead *read = &b->reads.at[k];
		int a = last_axis(r, block, read);
		if (a >= 0 && a < block->nspatial && extent_of(block, a) > 1 &&
		    rule_times_read(block, read) <= SHARED_MOST)
			return true;
	}
	return false;
}

bool rule_has_row(const Block *block)
{
	return rule_longer_axis(block, block->nspatial) >= 0;
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

bool rule_is_plain(const Rules *r, int i)
{
	const Block *block = &r->program->blocks[i];
	return block->reduce == REDUCE_NONE ? rule_is_flat(r, i)
					    : rule_is_row(r, i) &&
		rule_longer_axis(block, block->nspatial) >= 0;
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
	const char *stage; /* that has the lanes */
	int row;           /* axis; -1: none */
	int along;         /* axis of the lanes; -1: none */
	const char *along_name; /* of its loop in the stage */
	int64_t along_extent;
	int chunked;            /* axis that the threads divide; -1: none */
	int64_t chunk;          /* of so many values */
	const char *rest;       /* what is left of it in the stage */
	const char *parallel;   /* loop; NULL: none */
} Row;

static int first_long_axis(const Block *block)
{
	int axis = block->nspatial;
	while (axis < block->naxes - 1 && block->axes[axis].extent == 1)
		axis++;
	return axis;
}

/* The stage of partial results along an axis of the block. */
static const char *put_chunks(
    Row *w, const Block *block, int axis, int64_t each)
{
	const char *n = block->name, *k = block->axes[axis].name;
	const char *stage = rule_name(w->r, block, "chunks", "");
	const char *outer = rule_name(w->r, block, k, "_chunk");
	rule_put(w->r, "%s, %s = split(%s.%s, [_, %lld])\n%s = rfactor(%s)\n", outer,
	    rule_name(w->r, block, k, "_rest"), n, k, (long long)each, stage,
	    outer);
	return stage;
}

/* Partial results for the threads where there is nothing else to divide: a few
 * for each. */
static void chunks(Row *w)
{
	Rules *r = w->r;
	const Block *block = w->block;
	int axis = first_long_axis(block);
	const char *k = block->axes[axis].name;
	const char *inner = rule_name(r, block, k, "_rest");
	int64_t count = r->machine->threads * CHUNKS;
	int64_t each = (extent_of(block, axis) + count - 1) / count;
	if (extent_of(block, axis) < 2 * count || rule_keeps_order(r->program, block))
		return;
	w->stage = put_chunks(w, block, axis, each);
	w->parallel = arena_printf(r->arena, "%s.%s", w->stage,
	    rule_name(r, block, k, "_chunk"));
	w->chunk = each;
	w->chunked = axis;
	w->rest = inner;
	if (axis == w->along) {
		w->along_name = inner;
		w->along_extent = each;
	}
}

/* A short axis outside of the rows that something of a step stands still along:
 * that is computed once for all of its results. */
static bool is_short(const Row *w, int axis)
{
	const Block *block = w->block;
	const RuleBlock *b = &w->r->blocks[block - w->r->program->blocks];
	int64_t n = block->axes[axis].extent;
	if (axis >= w->row || n < 2 || n > SHORT_MOST || b->hosts ||
	    b->home != b->block)
		return false;
	for (int i = 0; i < b->reads.n; i++)
		for (int k = block->nspatial; k < block->naxes; k++)
			if (b->reads.at[i].uses[k] && !b->reads.at[i].uses[axis])
				return true;
	return false;
}

static void put_shorts(Row *w, const char *format, const char *last)
{
	for (int a = 0; a < w->row; a++)
		if (is_short(w, a))
			rule_put(w->r, format, w->stage, w->block->axes[a].name, last);
}

static void put_order(Row *w, const char *row0, const char *row1,
    const char *k0, const char *k1, const char *lane)
{
	const Block *block = w->block;
	if (row0)
		rule_put(w->r, "reorder(%s", row0);
	else
		rule_put(w->r, "reorder(");
	const char *sep = row0 ? ", " : "";
	for (int a = block->nspatial; a < block->naxes; a++) {
		if (a == w->along)
			continue;
		rule_put(w->r, "%s%s.%s", sep, w->stage,
		    a == w->chunked ? w->rest : block->axes[a].name);
		sep = ", ";
	}
	rule_put(w->r, "%s%s, %s, ", sep, k0, k1);
	put_shorts(w, "%s.%s%s", ", ");
	rule_put(w->r, "%s%s%s)\n", row1 ? row1 : "", row1 ? ", " : "", lane);
	put_shorts(w, "unroll(%s.%s)%s", "\n");
}

/* Sizes of the rows that are made at once.  What follows the steps goes through
 * memory row by row: if the rows share nothing that is read, one after another. */
static const char *rows_of(const Row *w)
{
	const Rules *r = w->r;
	const RuleBlock *b = &r->blocks[w->block - r->program->blocks];
	int64_t n = w->block->axes[w->row].extent;
	bool followed = false, shared = false;
	for (int i = 0; i < r->program->nblocks; i++)
		followed |= r->blocks[i].follows &&
		    r->blocks[i].beside == b->block;
	for (int i = 0; i < b->reads.n; i++)
		shared |= !b->reads.at[i].uses[w->row];
	return followed && !shared ? "1"
	    : n >= 8		   ? "1, 2, 4, 8"
	    : n >= 4		   ? "1, 2, 4"
				   : "1, 2";
}

static const char *copies_of(const Row *w, int64_t vectors, int lanes)
{
	const RuleBlock *b = &w->r->blocks[w->block - w->r->program->blocks];
	const char *anew = rule_copies(w->r, b, w->along, vectors, lanes);
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
static bool lie_along(const Row *w, const RuleBlock *b)
{
	for (int i = 0; i < b->reads.n; i++) {
		const RuleRead *read = &b->reads.at[i];
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
	int i = (int)(w->block - r->program->blocks);
	const Intrinsic *in =
	    w->block->reduce == REDUCE_SUM && rule_results(r, i) == 1
	    ? sum_of(r, r->bodies[i])
	    : NULL;
	if (!in || !lie_along(w, &r->blocks[i]))
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

static void put_lanes(Row *w, const char *row0, const char *row1)
{
	Rules *r = w->r;
	int lanes = widest(r, w->block, w->along);
	const Intrinsic *in = sums_steps(w, &lanes);
	int each = lanes * (in ? in->terms : 1);
	const char *name = w->block->axes[w->along].name;
	const char *k0 = rule_name(r, w->block, name, "0");
	const char *k1 = rule_name(r, w->block, name, "1");
	const char *kv = rule_name(r, w->block, name, "v");
	const char *kq = rule_name(r, w->block, name, "q");
	if (lanes == 1)
		return;
	const char *copies =
	    copies_of(w, (w->along_extent + each - 1) / each, each);
	const char *ends = kv, *sizes = "";
	if (in) {
		ends = arena_printf(r->arena, "%s, %s", kv, kq);
		sizes = arena_printf(r->arena, ", [%d]", in->terms);
	}
	rule_put(r, "%s, %s, %s = split(%s.%s, ? in tile([%s], [%d]%s))\n", k0,
	    k1, ends, w->stage, w->along_name, copies, lanes, sizes);
	put_order(w, row0, row1, k0, k1, ends);
	r->blocks[w->block - r->program->blocks].steps = k0;
	rule_put(r, "unroll(%s)\nvectorize(%s, %d)\n", k1, kv, lanes);
	if (in)
		rule_put(
		    r, "unroll(%s)\ntensorize(%s, %s)\n", kq, kq, in->name);
	if (in && w->along_extent % each)
		rule_put(r, "tail(%s, peel)\n", w->stage);
}

static void add_place(Row *w, int axes, const char *loop)
{
	Rules *r = w->r;
	int i = (int)(w->block - r->program->blocks);
	if (r->blocks[i].home == i)
		rule_add_place(r, i, loop, axes);
}

/* The blocks that run in the loops, which are complete. */
static void put_with(Row *w)
{
	Rules *r = w->r;
	int leader = (int)(w->block - r->program->blocks);
	for (int i = 0; i < r->program->nblocks && w->chunked >= 0; i++)
		if (r->blocks[i].with == leader)
			rule_put(w->r, "compute_with(%s, %s)\n",
			    put_chunks(w, &r->program->blocks[i], w->chunked,
				w->chunk),
			    w->stage);
	rule_put_with(r, leader, w->block->name, w->block->name, NULL);
}

bool rule_row_applies(const Rules *r, int i)
{
	return rule_is_open(r, i) &&
	    r->program->blocks[i].reduce != REDUCE_NONE;
}

void rule_row(Rules *r, int i)
{
	const Block *block = &r->program->blocks[i];
	Row w = {.r = r,
	    .block = block,
	    .stage = block->name,
	    .row = rule_longer_axis(block, block->nspatial),
	    .chunked = -1,
	    .along = rule_keeps_order(r->program, block)
		? -1
		: lane_axis(r, i, false)};
	const char *row0 = NULL, *row1 = NULL;

	r->blocks[i].scheduled = true;
	rule_with_place(r, i);
	if (w.along >= 0) {
		w.along_name = block->axes[w.along].name;
		w.along_extent = extent_of(block, w.along);
	}
	bool beside = r->blocks[i].beside >= 0;
	if (w.along < 0 && w.row >= 0 && !beside && !rule_rows_has(r, i) &&
	    extent_of(block, w.row) > RULE_FEW && rule_lanes_in_space(r, i)) {
		put_with(&w);
		return;
	}
	if (w.row < 0 && r->machine->threads > 1 && r->blocks[i].output)
		chunks(&w);
	for (int a = 0; a < w.row; a++)
		add_place(&w, a + 1, arena_printf(r->arena, "%s.%s",
					 block->name, block->axes[a].name));
	if (beside) { /* as many rows as the host's tile has */
		for (int a = 0; a < block->nspatial; a++)
			rule_put(w.r, "unroll(%s.%s)\n", block->name,
			    block->axes[a].name);
		row1 = arena_printf(r->arena, "%s.%s", block->name,
		    block->axes[w.row].name);
	} else if (w.row >= 0) {
		const char *name = block->axes[w.row].name;
		row0 = rule_name(r, block, name, "0");
		row1 = rule_name(r, block, name, "1");
		rule_put(w.r, "%s, %s = split(%s.%s, ? in tile([%s]))\nunroll(%s)\n",
		    row0, row1, w.stage, name,
		    rows_of(&w),
		    row1);
		add_place(&w, w.row + 1, row0);
		r->blocks[i].tile = row0;
		w.parallel = row0;
		for (int a = w.row - 1; a >= 0; a--)
			if (block->axes[a].extent > 1 && !is_short(&w, a))
				w.parallel = arena_printf(r->arena, "%s.%s",
				    block->name, block->axes[a].name);
	}
	if (w.along >= 0)
		put_lanes(&w, row0, row1);
	if (r->machine->threads > 1 && w.parallel &&
	    !rule_rows_has(r, i))
		rule_put(w.r, "parallel(%s)\n", w.parallel);
	put_with(&w);
}
