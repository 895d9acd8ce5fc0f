/* Strips: a thread of a GPU has neighbouring results of a window, and what they
 * read in registers.
 *
 *     for c for i for j  for r for s      blockIdx.x, threadIdx.x: c, i0, j0
 *       y[c, i, j] += x[c, i + r, j + s]    x_t[.., ..] = x  registers
 *         * w[c, r, s]                -->   for r, s, i1, j1 unroll
 *                                             y_acc += x_t*w
 *                                           for i1, j1  y = y_acc
 *
 * For short reductions that have nothing to share between threads but what lies
 * beside each other: a channel's own filter, a pool, a stencil.  An element that
 * several results of a strip read is read once.  How many rows and columns a
 * strip has are decisions.  What the reduction alone makes of an input (its
 * border) is computed there; what follows element by element is, too. */
#include "schedule/rules/rules.h"

enum {
	LONGEST = 64, /* steps, which are repeated in code */
	MOST_WORK = 512, /* operations of all: functions are dear */
	FEW = 512,    /* results, which may need less than a warp */
	ROWS = 2      /* axes that a strip lies along */
};

typedef struct {
	Rules *r;
	const Block *block;
	const RuleBlock *info;
	const Block *writer_block;
	const char *writer, *acc;
	int axes[ROWS], naxes; /* of the block, the last axis first */
	int reader;
	bool makes; /* an operand, too */
} Strip;

/* Is an index a sum of the axis and one of the reduction's? */
static bool is_window_axis(const Block *b, const RuleBlock *info, int axis)
{
	for (int i = 0; i < info->reads.n; i++)
		for (int d = 0; d < info->reads.at[i].nindex; d++) {
			const Expr *index = info->reads.at[i].index[d];
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

bool rule_strip_applies(const Rules *r, int i)
{
	const Block *b = &r->program->blocks[i];
	int axes[ROWS];
	return rule_is_open(r, i) && b->reduce != REDUCE_NONE &&
	    b->reduce != REDUCE_ARGMAX && b->reduce != REDUCE_ARGMIN &&
	    block_steps(b) <= LONGEST &&
	    rule_flops(r->arena, r->bodies[i]) * block_steps(b) <=
		MOST_WORK &&
	    find_axes(b, &r->blocks[i], axes) > 0;
}

static bool is_along(const Strip *s, int axis)
{
	return axis == s->axes[0] || (s->naxes > 1 && axis == s->axes[1]);
}

/* The writer's name of an axis. */
static const char *axis_name(const Strip *s, int axis)
{
	return s->writer_block
	    ->axes[rule_reader_axis(s->r, s->block, s->reader, axis)]
	    .name;
}

static const char *loop(const Strip *s, int axis, const char *suffix)
{
	return rule_name(s->r, s->writer_block, axis_name(s, axis), suffix);
}

/* The loops of threads, in the writer's order, with a comma behind each. */
static int put_outer(const Strip *s)
{
	Buf *out = &s->r->text;
	int n = 0;
	for (int w = 0; w < s->writer_block->nspatial; w++)
		for (int a = 0; a < s->block->nspatial; a++) {
			const char *name = s->writer_block->axes[w].name;
			if (axis_name(s, a) != name)
				continue;
			buf_puts(out, n++ ? ", " : "");
			if (is_along(s, a))
				buf_puts(out, loop(s, a, "0"));
			else
				buf_printf(out, "%s.%s", s->writer, name);
		}
	return n;
}

/* What may be made in registers divides the axis: an index there is known when
 * code is made, which one that ends inside of a strip is not. */
static void split_axis(const Strip *s, int k)
{
	static const int most[] = {8, 4}, usual[] = {4, 1};
	const Axis *x = &s->block->axes[s->axes[k]];
	const char *sizes = "1";
	int first = 1;
	for (int n = 2; n <= most[k] && n <= x->extent; n++) {
		bool power = !(n & (n - 1));
		if (x->extent % n && (s->makes || !power))
			continue;
		sizes = arena_printf(s->r->arena, "%s, %d", sizes, n);
		first = n <= usual[k] ? n : first;
	}
	buf_printf(&s->r->text,
	    "%s, %s = split(%s.%s, ?=[_, %d] in tile([%s]))\n",
	    loop(s, s->axes[k], "0"), loop(s, s->axes[k], "1"), s->writer,
	    axis_name(s, s->axes[k]), first, sizes);
}

static void put_writer(const Strip *s)
{
	Buf *out = &s->r->text;
	const char *f = rule_name(s->r, s->writer_block, "f", "");
	for (int k = s->naxes - 1; k >= 0; k--)
		split_axis(s, k);
	buf_puts(out, "reorder(");
	int n = put_outer(s);
	for (int k = s->naxes - 1; k >= 0; k--)
		buf_printf(out, ", %s", loop(s, s->axes[k], "1"));
	buf_puts(out, ")\n");
	const char *all = loop(s, s->axes[0], "0");
	if (n > 1) {
		all = f;
		buf_printf(out, "%s = fuse(", f);
		put_outer(s);
		buf_puts(out, ")\n");
	}
	double elements = block_points(s->block, 0, s->block->nspatial);
	buf_printf(out,
	    "%s0, %s1 = split(%s, ?=[_, %d] in tile([%s32, 64, 128, 256, "
	    "512]))\nbind(%s0, blockIdx.x)\nbind(%s1, threadIdx.x)\n",
	    f, f, all, elements > FEW ? 128 : 32,
	    elements > FEW ? "" : "1, 2, 4, 8, 16, ", f, f);
	for (int k = s->naxes - 1; k >= 0; k--)
		buf_printf(out, "unroll(%s)\n", loop(s, s->axes[k], "1"));
}

static void put_sums(const Strip *s)
{
	const Block *b = s->block;
	Buf *out = &s->r->text;
	buf_printf(out, "compute_at(%s, %s1)\nreorder(", s->acc,
	    rule_name(s->r, s->writer_block, "f", ""));
	for (int a = b->nspatial; a < b->naxes; a++)
		buf_printf(out, "%s.%s, ", s->acc, b->axes[a].name);
	for (int a = 0; a < b->nspatial; a++)
		buf_printf(out, "%s%s.%s", a ? ", " : "", s->acc,
		    b->axes[a].name);
	buf_puts(out, ")\n");
	for (int a = 0; a < b->naxes; a++)
		buf_printf(out, "unroll(%s.%s)\n", s->acc, b->axes[a].name);
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
static int maker_of(const Strip *s, int buffer)
{
	int made = rule_maker(s->r, buffer);
	for (int i = 0; i < s->info->reads.n; i++)
		if (s->info->reads.at[i].buffer == buffer &&
		    !is_plain(&s->info->reads.at[i]))
			return -1;
	return made;
}

static bool find_makers(const Strip *s)
{
	for (int i = 0; i < s->info->reads.n; i++)
		if (maker_of(s, s->info->reads.at[i].buffer) >= 0)
			return true;
	return false;
}

static void put_makers(const Strip *s)
{
	Rules *r = s->r;
	for (int i = 0; i < s->info->reads.n; i++) {
		int made = maker_of(s, s->info->reads.at[i].buffer);
		if (made < 0)
			continue;
		const Block *b = &r->program->blocks[made];
		buf_printf(&r->text, "set_scope(%s, reg)\ncompute_at(%s, %s1)\n",
		    b->name, b->name, rule_name(r, s->writer_block, "f", ""));
		for (int a = 0; a < b->naxes; a++)
			buf_printf(&r->text, "unroll(%s.%s)\n", b->name,
			    b->axes[a].name);
		r->blocks[made].scheduled = true;
	}
}

void rule_strip(Rules *r, int i)
{
	Strip s = {.r = r,
	    .block = &r->program->blocks[i],
	    .info = &r->blocks[i]};
	s.naxes = find_axes(s.block, s.info, s.axes);
	s.reader = rule_elementwise_reader(r, s.info);
	s.writer_block = s.reader < 0 ? s.block : &r->program->blocks[s.reader];
	s.writer = s.writer_block->name;
	s.acc = s.reader < 0 ? rule_name(r, s.block, "acc", "") : s.block->name;
	r->blocks[i].scheduled = true;
	if (s.reader < 0)
		buf_printf(&r->text, "%s = cache_write(%s, reg)\n", s.acc,
		    s.writer);
	else
		buf_printf(&r->text, "set_scope(%s, reg)\n", s.acc);
	if (s.reader >= 0)
		r->blocks[s.reader].scheduled = true;
	s.makes = find_makers(&s);
	put_writer(&s);
	put_sums(&s);
	put_makers(&s);
}
