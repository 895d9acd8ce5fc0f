/* Register tiles of a window: a thread of a GPU has neighbouring results, and what
 * they read, in registers.
 *
 *     for c for i for j  for r for s      blockIdx.x, threadIdx.x: c, i0, j0
 *       y[c, i, j] += x[c, i + r, j + s]    x_t[.., ..] = x  registers
 *         * w[c, r, s]                -->   for r, s, i1, j1 unroll
 *                                             y_acc += x_t*w
 *                                           for i1, j1  y = y_acc
 *
 * For short reductions that have nothing to share between threads but what lies
 * beside each other: a channel's own filter, a pool, a stencil.  An element that
 * several results of a tile read is read once.  How many rows and columns a tile
 * has are decisions.  What the reduction alone makes of an input (its
 * border) is computed there; what follows element by element is, too. */
#include "schedule/rules/rules.h"

#include <assert.h>

enum {
	LONGEST = 64,	 /* steps, which are repeated in code */
	MOST_WORK = 512, /* operations of all: functions are dear */
	FEW = 512,	 /* results, which may need less than a warp */
	ROWS = 2	 /* axes that a tile lies along */
};

typedef struct {
	Rules *r;
	const Block *block;
	const RuleBlock *info;
	RuleWriter writer;
	int axes[ROWS], naxes; /* of the block, the last axis first */
	const char *thread;    /* the loop of what one makes */
	bool makes; /* an operand, too */
} RegisterTile;

/* Is an index a sum of the axis and one of the reduction's? */
static bool is_window_axis(const Block *b, const RuleBlock *info, int axis)
{
	vec_each (read, &info->reads)
		for (int d = 0; d < read->nindex; d++) {
			const Expr *index = read->index[d];
			bool window = false;
			for (int a = b->nspatial; a < b->naxes; a++)
				window |= b->axes[a].extent > 1 &&
				    expr_has_axis(index, a);
			if (window && expr_has_axis(index, axis))
				return true;
		}
	return false;
}

static int find_axes(const Block *b, const RuleBlock *info, int *axes)
{
	int n = 0;
	for (int a = b->nspatial - 1; a >= 0 && n < ROWS; a--)
		if (b->axes[a].extent > 1 && is_window_axis(b, info, a))
			axes[n++] = a;
	return n;
}

/* What may be made in registers divides the axis: an index there is known when
 * code is made, which one that ends inside of a tile is not. */
static const char *sizes_of(const RegisterTile *s, int k, int *first)
{
	static const int most[] = {8, 4}, usual[] = {4, 1};
	const Axis *x = &s->block->axes[s->axes[k]];
	const char *sizes = "1";
	*first = 1;
	for (int n = 2; n <= most[k] && n <= x->extent; n++) {
		bool power = !(n & (n - 1));
		if (x->extent % n && (s->makes || !power))
			continue;
		sizes = rule_and_size(s->r, sizes, n);
		*first = n <= usual[k] ? n : *first;
	}
	assert(!s->makes || x->extent % *first == 0);
	return sizes;
}

static void put_writer(RegisterTile *s)
{
	Rules *r = s->r;
	const Block *b = s->writer.block;
	const char **outer = NEW_N(r->arena, const char *, b->nspatial);
	const char *inner = "", *all = "", *f = rule_name(r, b, "f", "");
	for (int a = 0; a < b->nspatial; a++)
		outer[a] = rule_loop(r, b->name, b, a);
	for (int k = s->naxes - 1; k >= 0; k--) {
		int first,
		    a = rule_reader_axis(
			r, s->block, s->writer.reader, s->axes[k]);
		const char *sizes = sizes_of(s, k, &first);
		const char *const *x = rule_split(r, b->name, b, a, "0 1",
		    "?=[_, %d] in tile([%s])", first, sizes);
		outer[a] = x[0];
		inner = rule_join(r, inner, x[1]);
	}
	for (int a = 0; a < b->nspatial; a++)
		all = rule_join(r, all, outer[a]);
	rule_put(r, "reorder(%s, %s)\n", all, inner);
	all = rule_fuse(r, all, f);
	bool few = block_points(s->block, 0, s->block->nspatial) <= FEW;
	const char *const *x =
	    rule_split_loop(r, all, f, "0 1", "?=[_, %d] in tile([%s])",
		few ? 32 : 128, rule_powers(r, few ? 1 : 32, 512));
	s->thread = x[1];
	rule_put(r,
	    "bind(%s, blockIdx.x)\nbind(%s, threadIdx.x)\n"
	    "each unroll(%s)\n",
	    x[0], x[1], inner);
}

static void put_sums(const RegisterTile *s)
{
	const Block *b = s->block;
	const char *acc = s->writer.acc;
	rule_put(s->r, "compute_at(%s, %s)\nreorder(%s, %s)\neach unroll(%s)\n",
	    acc, s->thread,
	    rule_loops(s->r, acc, b, b->nspatial, b->naxes, -1, -1),
	    rule_loops(s->r, acc, b, 0, b->nspatial, -1, -1),
	    rule_loops(s->r, acc, b, 0, b->naxes, -1, -1));
}

/* Sums of whole axes. */
static bool is_plain(const RuleRead *read)
{
	for (int d = 0; d < read->nindex; d++) {
		const RuleIndex *x = &read->dims[d];
		for (int i = 0; i < x->digits.n; i++)
			if (x->digits.at[i].below != 1)
				return false;
		if (x->irregular)
			return false;
	}
	return true;
}

/* Of an operand the block that makes it for this reduction alone; -1. */
static int maker_of(const RegisterTile *s, int buffer)
{
	int made = rule_maker(s->r, buffer);
	vec_each (read, &s->info->reads)
		if (read->buffer == buffer && !is_plain(read))
			return -1;
	return made;
}

static bool find_makers(const RegisterTile *s)
{
	vec_each (read, &s->info->reads)
		if (maker_of(s, read->buffer) >= 0)
			return true;
	return false;
}

static void put_makers(const RegisterTile *s)
{
	Rules *r = s->r;
	vec_each (read, &s->info->reads) {
		int made = maker_of(s, read->buffer);
		if (made < 0)
			continue;
		const Block *b = &r->program->blocks[made];
		rule_put(r,
		    "set_scope(%s, reg)\ncompute_at(%s, %s)\n"
		    "each unroll(%s)\n",
		    b->name, b->name, s->thread,
		    rule_loops(r, b->name, b, 0, b->naxes, -1, -1));
		r->blocks[made].scheduled = true;
	}
}

void rule_register_tile(Rules *r, int i)
{
	RegisterTile s = {
	    .r = r, .block = &r->program->blocks[i], .info = &r->blocks[i]};
	const Block *b = s.block;
	s.naxes = find_axes(b, s.info, s.axes);
	if (!s.naxes || !rule_is_open(r, i) || b->reduce == REDUCE_NONE ||
	    b->reduce == REDUCE_ARGMAX || b->reduce == REDUCE_ARGMIN ||
	    block_steps(b) > LONGEST ||
	    rule_cost(r->arena, r->bodies[i]).flops * block_steps(b) >
		MOST_WORK)
		return;
	s.writer = rule_writer(r, i, "reg");
	s.makes = find_makers(&s);
	put_writer(&s);
	put_sums(&s);
	put_makers(&s);
}
