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
	const char *piece; /* the loop that a piece of the rows is one of */
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
	vec_each (read, &b->reads) {
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
static const char *pieces_of(const Stream *s)
{
	int64_t all = (s->block->axes[s->axis].extent + s->lanes - 1) / s->lanes;
	int threads = s->r->machine->threads > 1 ? s->r->machine->threads : 1;
	int64_t share = (all + threads - 1) / threads;
	const char *sizes = rule_size(s->r, PIECE_LEAST);
	for (int64_t n = PIECE_LEAST; n < PIECE_MOST && n < all; n *= 2) {
		if (n < share && share < 2 * n)
			sizes = rule_and_size(s->r, sizes, share);
		if (2 * n <= all)
			sizes = rule_and_size(s->r, sizes, 2 * n);
	}
	return sizes;
}

/* Those of the rows that are made at once, or the others. */
static const char *loops_of(const Stream *s, bool writer, bool rows)
{
	const char *loops = "";
	for (int a = 0; a < s->block->nspatial; a++)
		if (a != s->axis && is_row(s, a) == rows)
			loops = rule_join(s->r, loops,
			    arena_printf(s->r->arena, "%s.%s",
				writer ? s->writer : s->reduce,
				writer ? writer_axis(s, a)
				       : s->block->axes[a].name));
	return loops;
}

static void split_writer(Stream *s)
{
	Rules *r = s->r;
	const char *name = writer_axis(s, s->axis);
	const char *const *x =
	    rule_split_loop(r, arena_printf(r->arena, "%s.%s", s->writer, name),
		rule_name(r, s->writer_block, name, ""), "0 1 v",
		"? in tile([%s], [%d])", pieces_of(s), s->lanes);
	s->piece = x[0];
	rule_put(r, "reorder(%s, %s, %s, %s, %s)\n", loops_of(s, true, false),
	    x[0], loops_of(s, true, true), x[1], x[2]);
	rule_vectors(r, "", x[2], s->lanes);
	rule_put(r, "tail(%s, ? in {peel, mask})\n", s->writer);
}

/* Pieces for threads, with what each thread does alone. */
static void parallel_writer(Stream *s)
{
	Rules *r = s->r;
	const char *others = loops_of(s, true, false);
	if (r->machine->threads > 1)
		s->piece = rule_fuse(r, rule_join(r, others, s->piece),
		    rule_name(r, s->writer_block, "piece", ""));
	rule_parallel(r, s->piece);
	rule_add_place(r, (int)(s->writer_block - r->program->blocks), s->piece,
	    -1, false);
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
static const char *rows_of(const Stream *s, int64_t extent)
{
	bool few = rule_times_read(s->block, s->read) <= 2;
	return extent >= 8 ? few ? "8" : "4, 8" : extent >= 4 ? "2, 4" : "1";
}

static void schedule_reduction(Stream *s)
{
	Rules *r = s->r;
	const Block *b = s->block;
	int row = row_axis(s);
	const char *rows = loops_of(s, false, true);
	rule_put(r, "compute_at(%s, %s)\n", s->reduce, s->piece);
	const char *const *x =
	    rule_split_loop(r, rule_loop(r, s->reduce, b, row),
		rule_name(r, b, b->axes[row].name, ""), "0 1",
		"? in tile([%s])", rows_of(s, b->axes[row].extent));
	const char *const *v =
	    rule_split_loop(r, rule_loop(r, s->reduce, b, s->axis),
		rule_name(r, b, b->axes[s->axis].name, ""), "_acc _next _lane",
		"? in tile([1, 2, 4], [%d])", s->lanes);
	rule_put(r, "reorder(%s, %s, %s, %s, %s, %s, %s, %s)\n",
	    loops_of(s, false, false),
	    rule_loops(r, s->reduce, b, b->nspatial, b->naxes, row, -1), x[0],
	    v[0], x[1], rows, v[1], v[2]);
	rule_put(r, "each unroll(%s, %s, %s)\n", x[1], rows, v[1]);
	rule_vectors(r, "", v[2], s->lanes);
	rule_put(r, "tail(%s, ? in {peel, mask})\nprefetch(%s, %s, %s, 1)\n",
	    s->reduce, s->reduce, r->program->buffers[s->read->buffer].name,
	    x[0]);
}

void rule_stream(Rules *r, int i)
{
	const RuleTiled *tiled = &r->tiled;
	if (i != tiled->block || !tiled->streams)
		return;
	Stream s = {.r = r,
	    .block = &r->program->blocks[i],
	    .read = stream_of(r, i, tiled->axis),
	    .axis = tiled->axis,
	    .lanes = tiled->lanes};
	assert(s.read && s.lanes > 1);
	RuleWriter w = rule_writer(r, i, "local");
	s.reader = w.reader;
	s.writer_block = w.block;
	s.writer = w.block->name;
	s.reduce = w.acc;
	split_writer(&s);
	parallel_writer(&s);
	schedule_reduction(&s);
	rule_place_fused(r, i);
	rule_put_fused(r, i, s.writer, s.reduce, "local");
}
