/* A reduction of something large that lies along the results and is read once or
 * a few times, as it comes: whole rows, or long pieces of them, one after another,
 * their sums in the nearest cache, which take several rows at once.
 *
 *     for i for j for k c[i, j] += a[i, k]*b[k, j]
 * -->
 *     parallel j0
 *       for k0 for j1                      c_acc[.., ..] in a cache
 *         unroll k1 unroll i unroll j2 vector jv   c_acc += a*b
 *       for i for j1 vector jv             c = c_acc
 *
 * A tile of registers (rule_tile.c) would read a few lines of each row, and the
 * next row begins in another page: memory is then waited for at each.
 *
 * The writer is the block's elementwise reader, or a copy of the block, as there;
 * what the next rows have is asked for while these are used. */
#include "schedule/rules/rules.h"

#include <assert.h>

enum {
	SHARED_MOST = 8,  /* results that an element is used for */
	STEPS_LEAST = 64, /* of the reduction */
	PIECE_LEAST = 8,  /* vectors of a row that are read at once */
	PIECE_MOST = 512
};

typedef struct {
	Rules *r;
	const Block *block;
	const Block *writer_block;
	const RuleRead *read; /* of what is large */
	const char *writer;   /* stage that stores the results */
	const char *reduce;   /* stage with the reduction */
	int reader;           /* block; -1: the writer is a copy */
	int axis, lanes;
	const char *piece;    /* the loop that a piece of the rows is one of */
	const char *rows;     /* the loop that some rows are one of */
} Stream;

/* --- where ---------------------------------------------------------------------- */

static bool uses_steps(const Block *block, const RuleRead *read)
{
	for (int a = block->nspatial; a < block->naxes; a++)
		if (!read->uses[a] && block->axes[a].extent > 1)
			return false;
	return true;
}

/* The largest of what is read so; NULL: nothing that the second cache does not
 * keep.  A const input is packed in the order of its use instead. */
static const RuleRead *stream_of(const Rules *r, int i, int axis)
{
	const Block *block = &r->program->blocks[i];
	const RuleBlock *b = &r->blocks[i];
	const RuleRead *best = NULL;
	int64_t most = r->machine->l2_bytes;
	for (int k = 0; k < b->reads.n; k++) {
		const RuleRead *read = &b->reads.at[k];
		const Buffer *buffer = &r->program->buffers[read->buffer];
		if (!read->plain || buffer->is_const ||
		    !uses_steps(block, read) ||
		    rule_times_read(block, read) > SHARED_MOST ||
		    rule_stride(r->program, read, axis, 1) != 1 ||
		    buffer_bytes(buffer) <= most)
			continue;
		best = read;
		most = buffer_bytes(buffer);
	}
	return best;
}

bool rule_stream_fits(const Rules *r, int i, int axis, int lanes)
{
	const Block *block = &r->program->blocks[i];
	return !r->rows && block_steps(block) >= STEPS_LEAST &&
	    block->axes[axis].extent >= PIECE_LEAST * lanes &&
	    stream_of(r, i, axis);
}

bool rule_stream_applies(const Rules *r, int i)
{
	return i == r->tiled.block && r->tiled.streams;
}

/* --- the writer ------------------------------------------------------------------ */

static bool is_row(const Stream *s, int axis)
{
	return axis != s->axis && !s->read->uses[axis];
}

static const char *writer_axis(const Stream *s, int axis)
{
	axis = rule_reader_axis(s->r, s->block, s->reader, axis);
	return s->writer_block->axes[axis].name;
}

/* Vectors of a piece: powers of two, and what there is for each thread. */
static void put_pieces(const Stream *s)
{
	int64_t all = (s->block->axes[s->axis].extent + s->lanes - 1) / s->lanes;
	int threads = s->r->machine->threads > 1 ? s->r->machine->threads : 1;
	int64_t share = (all + threads - 1) / threads;
	rule_put(s->r, "%d", PIECE_LEAST);
	for (int64_t n = PIECE_LEAST; n < PIECE_MOST && n < all; n *= 2) {
		if (n < share && share < 2 * n)
			rule_put(s->r, ", %lld", (long long)share);
		if (2 * n <= all)
			rule_put(s->r, ", %lld", (long long)(2 * n));
	}
}

static void split_writer(Stream *s)
{
	Rules *r = s->r;
	const char *name = writer_axis(s, s->axis);
	const char *vectors = rule_name(r, s->writer_block, name, "1");
	const char *lane = rule_name(r, s->writer_block, name, "v");
	s->piece = rule_name(r, s->writer_block, name, "0");
	rule_put(r, "%s, %s, %s = split(%s.%s, ? in tile([", s->piece, vectors, lane,
	    s->writer, name);
	put_pieces(s);
	rule_put(r, "], [%d]))\nreorder(", s->lanes);
	for (int rows = 0; rows < 2; rows++) {
		for (int a = 0; a < s->block->nspatial; a++)
			if (a != s->axis && is_row(s, a) == rows)
				rule_put(r, "%s.%s, ", s->writer,
				    writer_axis(s, a));
		rule_put(r, rows ? "%s, %s)\n" : "%s, ",
		    rows ? vectors : s->piece, lane);
	}
	rule_put(r, "vectorize(%s, %d)\ntail(%s, ? in {peel, mask})\n", lane,
	    s->lanes, s->writer);
}

/* Pieces for threads, with what each thread does alone. */
static void parallel_writer(Stream *s)
{
	Rules *r = s->r;
	const char *fused = s->piece;
	bool several = false;
	for (int a = 0; a < s->block->nspatial; a++)
		several |= a != s->axis && !is_row(s, a);
	if (r->machine->threads > 1 && several) {
		fused = rule_name(r, s->writer_block, "piece", "");
		rule_put(r, "%s = fuse(", fused);
		for (int a = 0; a < s->block->nspatial; a++)
			if (a != s->axis && !is_row(s, a))
				rule_put(r, "%s.%s, ", s->writer,
				    writer_axis(s, a));
		rule_put(r, "%s)\n", s->piece);
	}
	if (r->machine->threads > 1)
		rule_put(r, "parallel(%s)\n", fused);
	s->piece = fused;
	rule_add_place(r, (int)(s->writer_block - r->program->blocks), fused, -1);
}

/* --- the reduction --------------------------------------------------------------- */

/* The axis of the reduction along which the rows lie closest, several of which are
 * added at once; where the order may not change the last. */
static int row_axis(const Stream *s)
{
	const Rules *r = s->r;
	bool ordered = rule_keeps_order(r->program, s->block);
	int best = -1;
	for (int a = s->block->nspatial; a < s->block->naxes; a++) {
		int64_t stride = rule_stride(r->program, s->read, a, 1);
		if (s->block->axes[a].extent > 1 &&
		    (best < 0 || ordered ||
			stride < rule_stride(r->program, s->read, best, 1)))
			best = a;
	}
	assert(best >= 0);
	return best;
}

/* Of several results for each element a few rows fill the registers. */
static void put_rows(const Stream *s, const char *rows, const char *some,
    int64_t extent)
{
	bool few = rule_times_read(s->block, s->read) <= 2;
	rule_put(s->r, "%s, %s = split(%s, ? in tile([%s]))\n", s->rows, some, rows,
	    extent >= 8 ? few ? "8" : "4, 8" : extent >= 4 ? "2, 4" : "1");
}

static void put_axes(const Stream *s, bool rows, const char *format)
{
	for (int a = 0; a < s->block->nspatial; a++)
		if (a != s->axis && is_row(s, a) == rows)
			rule_put(s->r, format, s->reduce, s->block->axes[a].name);
}

static void schedule_reduction(Stream *s)
{
	Rules *r = s->r;
	const Block *b = s->block;
	int row = row_axis(s);
	const char *name = b->axes[s->axis].name, *step = b->axes[row].name;
	const char *along = rule_name(r, b, name, "_acc");
	const char *vectors = rule_name(r, b, name, "_next");
	const char *lane = rule_name(r, b, name, "_lane");
	const char *some = rule_name(r, b, step, "1");
	s->rows = rule_name(r, b, step, "0");
	rule_put(r, "compute_at(%s, %s)\n", s->reduce, s->piece);
	put_rows(s, arena_printf(r->arena, "%s.%s", s->reduce, step), some,
	    b->axes[row].extent);
	rule_put(r, "%s, %s, %s = split(%s.%s, ? in tile([1, 2, 4], [%d]))\n",
	    along, vectors, lane, s->reduce, name, s->lanes);
	rule_put(r, "reorder(");
	put_axes(s, false, "%s.%s, ");
	for (int a = b->nspatial; a < b->naxes; a++)
		if (a != row)
			rule_put(r, "%s.%s, ", s->reduce, b->axes[a].name);
	rule_put(r, "%s, %s, %s, ", s->rows, along, some);
	put_axes(s, true, "%s.%s, ");
	rule_put(r, "%s, %s)\nunroll(%s)\n", vectors, lane, some);
	put_axes(s, true, "unroll(%s.%s)\n");
	rule_put(r, "unroll(%s)\nvectorize(%s, %d)\ntail(%s, ? in {peel, mask})\n",
	    vectors, lane, s->lanes, s->reduce);
	rule_put(r, "prefetch(%s, %s, %s, 1)\n", s->reduce,
	    r->program->buffers[s->read->buffer].name, s->rows);
}

void rule_stream(Rules *r, int i)
{
	const RuleTiled *tiled = &r->tiled;
	RuleBlock *info = &r->blocks[i];
	Stream s = {.r = r,
	    .block = &r->program->blocks[i],
	    .read = stream_of(r, i, tiled->axis),
	    .reader = rule_results(r, i) > 1
		? -1 : rule_elementwise_reader(r, info),
	    .axis = tiled->axis,
	    .lanes = tiled->lanes};
	int writer = s.reader >= 0 ? s.reader : i;
	assert(s.read);
	s.writer_block = &r->program->blocks[writer];
	s.writer = s.writer_block->name;
	info->scheduled = r->blocks[writer].scheduled = true;
	info->home = r->blocks[writer].home = writer;
	if (s.reader >= 0) {
		s.reduce = s.block->name;
		rule_put(r, "set_scope(%s, local)\n", s.reduce);
	} else {
		s.reduce = rule_name(r, s.block, "acc", "");
		rule_put(r, "%s = cache_write(%s, local)\n", s.reduce, s.writer);
	}
	split_writer(&s);
	parallel_writer(&s);
	schedule_reduction(&s);
	rule_with_place(r, i);
	rule_put_with(r, i, s.writer, s.reduce, "local");
}
