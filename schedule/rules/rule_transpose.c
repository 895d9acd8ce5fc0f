/* Transposes of a GPU: what lies side by side along another axis than the results
 * goes through shared memory in squares, so that neighbouring threads read and
 * write neighbours.
 *
 *     for i for j  y[i, j] = x[j, i]
 * -->
 *     blockIdx.x of i0, j0
 *       threadIdx.y threadIdx.x           x_s[32, 33] = x[.., ..]   along i
 *       threadIdx.y ti, threadIdx.x tj    y = x_s                   along j
 *         unroll ri
 *
 * Rows of the square are an element longer than the banks of shared memory, so
 * that a column lies in all of them. */
#include "schedule/rules/rules.h"

enum {
	SIDE = 32,  /* of a square: a warp, and the banks of shared memory */
	LEAST = 16, /* of an axis that is worth it */
	USUAL = 8   /* rows of threads */
};

/* The axis along which a read lies side by side, if that is not the last of the
 * results'; -1. */
static int across(const Rules *r, const Block *b, const RuleRead *read, int last)
{
	if (rule_stride(r->program, read, last, 1) < 2 ||
	    read->nindex < 2)
		return -1;
	for (int d = 0; d < read->nindex; d++)
		if (expr_has_data(read->index[d]))
			return -1;
	for (int a = 0; a < last; a++)
		if (b->axes[a].extent >= LEAST &&
		    rule_stride(r->program, read, a, 1) == 1)
			return a;
	return -1;
}

/* The rows and columns of the squares: the axis of the first read that lies
 * across, and the last. */
static bool find_axes(const Rules *r, int i, int *row, int *column)
{
	const Block *b = &r->program->blocks[i];
	const RuleBlock *info = &r->blocks[i];
	*row = -1;
	*column = rule_longer_axis(b, b->nspatial);
	if (*column < 0 || b->axes[*column].extent < LEAST)
		return false;
	for (int k = 0; k < info->reads.n && *row < 0; k++)
		*row = across(r, b, &info->reads.at[k], *column);
	return *row >= 0;
}

bool rule_transpose_applies(const Rules *r, int i)
{
	int row, column;
	return rule_is_open(r, i) &&
	    r->program->blocks[i].reduce == REDUCE_NONE &&
	    find_axes(r, i, &row, &column);
}

typedef struct {
	Rules *r;
	const Block *block;
	int row, column;
	const char *row0, *rows, *row_threads, *column0, *columns, *tiles;
} Square;

static void put_outer(const Square *s)
{
	for (int a = 0; a < s->block->nspatial; a++)
		buf_printf(&s->r->text, "%s%s", a ? ", " : "",
		    a == s->row		 ? s->row0
			: a == s->column ? s->column0
					 : arena_printf(s->r->arena, "%s.%s",
					       s->block->name,
					       s->block->axes[a].name));
}

static void put_loops(const Square *s)
{
	Buf *out = &s->r->text;
	const char *name = s->block->name;
	buf_printf(out,
	    "%s, %s, %s = split(%s.%s, ?=[_, %d, %d] in tile([%d, %d, %d], "
	    "[4, 8, 16]))\n",
	    s->row0, s->rows, s->row_threads, name,
	    s->block->axes[s->row].name, SIDE / USUAL, USUAL, 2, 4, 8);
	buf_printf(out, "%s, %s = split(%s.%s, [_, %d])\nreorder(", s->column0,
	    s->columns, name, s->block->axes[s->column].name, SIDE);
	put_outer(s);
	buf_printf(out, ", %s, %s, %s)\n%s = fuse(", s->row_threads, s->columns,
	    s->rows, s->tiles);
	put_outer(s);
	buf_printf(out,
	    ")\nbind(%s, blockIdx.x)\nbind(%s, threadIdx.y)\n"
	    "bind(%s, threadIdx.x)\nunroll(%s)\n",
	    s->tiles, s->row_threads, s->columns, s->rows);
}

static void put_copy(const Square *s, const RuleRead *read)
{
	Buf *out = &s->r->text;
	const Buffer *b = &s->r->program->buffers[read->buffer];
	const char *copy = rule_plain_name(arena_printf(s->r->arena, "%s_%s_s%d",
	    s->block->name, b->name, read->number));
	int first = 0, last = read->nindex - 1;
	while (first < last - 1 && !read->dims[first].digits.n)
		first++;
	buf_printf(out, "%s = cache_read(%s, %s, shared", copy, s->block->name,
	    b->name);
	if (rule_reads_of(&s->r->blocks[s->block - s->r->program->blocks],
		read->buffer) > 1)
		buf_printf(out, ", read=%d", read->number);
	buf_printf(out, ")\ncompute_at(%s, %s)\n%s_f = fuse(", copy, s->tiles,
	    copy);
	for (int d = first; d <= last; d++)
		buf_printf(out, "%s%s.x%d", d > first ? ", " : "", copy, d);
	buf_printf(out,
	    ")\n%s_0, %s_y, %s_x = split(%s_f, [_, %s, %s])\n"
	    "bind(%s_y, threadIdx.y)\nbind(%s_x, threadIdx.x)\n"
	    "unroll(%s_0, 8)\nstorage_align(%s, %d, %d, 1)\n",
	    copy, copy, copy, copy, s->row_threads, s->columns, copy, copy,
	    copy, copy, last - 1, SIDE);
}

void rule_transpose(Rules *r, int i)
{
	const Block *b = &r->program->blocks[i];
	const RuleBlock *info = &r->blocks[i];
	Square s = {.r = r, .block = b};
	if (!find_axes(r, i, &s.row, &s.column))
		return;
	const char *row = b->axes[s.row].name, *column = b->axes[s.column].name;
	s.row0 = rule_name(r, b, row, "0");
	s.rows = rule_name(r, b, row, "r");
	s.row_threads = rule_name(r, b, row, "t");
	s.column0 = rule_name(r, b, column, "0");
	s.columns = rule_name(r, b, column, "t");
	s.tiles = rule_name(r, b, "b", "");
	r->blocks[i].scheduled = true;
	put_loops(&s);
	/* those of one buffer the last first: a read that was replaced no longer
	 * counts */
	for (int k = info->reads.n - 1; k >= 0; k--)
		if (across(r, b, &info->reads.at[k], s.column) == s.row)
			put_copy(&s, &info->reads.at[k]);
}
