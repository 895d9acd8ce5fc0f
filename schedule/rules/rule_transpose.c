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

/* Rows of squares, those of a thread and of threads; columns. */
typedef struct {
	const Block *block;
	const char *const *rows, *const *columns, *tiles;
} Square;

static void put_loops(Rules *r, Square *s, int row, int column)
{
	const Block *b = s->block;
	const char *outer = "";
	s->rows = rule_split(r, b->name, b, row, "0 r t",
	    "?=[_, %d, %d] in tile([2, 4, 8], [4, 8, 16])", SIDE / USUAL,
	    USUAL);
	s->columns = rule_split(r, b->name, b, column, "0 t", "[_, %d]", SIDE);
	for (int a = 0; a < b->nspatial; a++)
		outer = rule_join(r, outer,
		    a == row	      ? s->rows[0]
			: a == column ? s->columns[0]
				      : rule_loop(r, b->name, b, a));
	rule_put(r, "reorder(%s, %s, %s, %s)\n%s = fuse(%s)\n", outer,
	    s->rows[2], s->columns[1], s->rows[1], s->tiles, outer);
	rule_put(r,
	    "bind(%s, blockIdx.x)\nbind(%s, threadIdx.y)\n"
	    "bind(%s, threadIdx.x)\nunroll(%s)\n",
	    s->tiles, s->rows[2], s->columns[1], s->rows[1]);
}

static void put_copy(
    Rules *r, const Square *s, const RuleBlock *info, const RuleRead *read)
{
	const char *copy = rule_copy_name(r, s->block, read);
	int first = 0, last = read->nindex - 1;
	while (first < last - 1 && !read->dims[first].digits.n)
		first++;
	rule_copy(r, info, read, copy, s->block->name, "shared");
	rule_put(r, "compute_at(%s, %s)\n", copy, s->tiles);
	rule_fetch(r, copy, rule_dims(r, copy, first, last + 1, -1), "_0 _y _x",
	    rule_join(r, s->rows[2], s->columns[1]), 0);
	rule_put(r, "storage_align(%s, %d, %d, 1)\n", copy, last - 1, SIDE);
}

void rule_transpose(Rules *r, int i)
{
	const Block *b = &r->program->blocks[i];
	const RuleBlock *info = &r->blocks[i];
	Square s = {.block = b, .tiles = rule_name(r, b, "b", "")};
	int row, column;
	if (!rule_is_open(r, i) || b->reduce != REDUCE_NONE ||
	    !find_axes(r, i, &row, &column))
		return;
	r->blocks[i].scheduled = true;
	put_loops(r, &s, row, column);
	/* those of one buffer the last first: a read that was replaced no longer
	 * counts */
	for (int k = info->reads.n - 1; k >= 0; k--)
		if (across(r, b, &info->reads.at[k], column) == row)
			put_copy(r, &s, info, &info->reads.at[k]);
}
