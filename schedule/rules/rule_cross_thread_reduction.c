/* Rows by the threads of a block: reductions whose steps threads share out, and
 * with them what makes and uses a row of the same kernel.
 *
 *     top[i] = max over j of x[i, j]        blockIdx.x i0
 *     e[i, j] = exp(x[i, j] - top[i])         x_r: threadIdx.y i1, threadIdx.x j1
 *     total[i] = sum over j of e[i, j]        top, e, total: the same
 *     y[i, j] = e[i, j]/total[i]        -->   y
 *
 * The kernel is the last block's, the *anchor*: its *rows* are the axes of the
 * reductions' results, all else is *inside* of a row.  What only the kernel reads
 * and has a part for each row is computed there; what is read twice of a row lies
 * in registers that the threads share out, if that are a few for each.  Threads
 * lie along the inside, several rows in a block where rows are short; where the
 * neighbours in memory are rows (columns are summed), along these.
 *
 * Of few long rows every reduction is a kernel of its own, in two launches:
 * partial results for many blocks, and one more of these. */
#include "schedule/rules/rules.h"

#include <assert.h>
#include <string.h>

enum {
	MOST_ROWS = 16,	      /* axes */
	LEAST_INSIDE = 32,    /* steps that are worth a warp by themselves */
	REGISTERS = 32,	      /* elements of a row that a thread keeps */
	REGISTERS_MOST = 160, /* of a thread, if there are as many for each */
	OTHER_REGISTERS = 40, /* for all else */
	LONG_ROW = 65536,     /* worth blocks of its own for parts of it */
	PART_LEAST = 2048,
	LONG_COLUMN = 1024, /* likewise, where rows are neighbours */
	COLUMN_PART_LEAST = 64,
	COLUMNS = 32, /* of a block */
	MOST_THREADS = 1024,
	THREADS_WORK = 8, /* elements for each thread at first */
	USUAL_BLOCK = 128,
	FEW_RESULTS = 2 /* waves of threads: more need none to share */
};

typedef struct {
	const char *axis; /* of the part; a loop's own name if it is `alone` */
	bool alone;
	int64_t extent;
	int row; /* which row axis of the anchor's; -1: inside */
} PartAxis;

/* A block of the kernel, a copy of what it reads, or what a step made of one. */
typedef struct {
	const char *name;
	int naxes;
	PartAxis *axes;
} KernelPart;

typedef struct {
	Rules *r;
	int anchor;
	int nrows, rows[MOST_ROWS]; /* axes of the anchor */
	int grouped;    /* an axis of the anchor that is divided: its quotient by
			   `group` is a row, the rest inside; -1: none */
	int64_t group;
	int divided;    /* the row axis of which a block has several; -1 */
	KernelPart *parts; /* by block; no axes: not of the kernel */
	bool *banned;	/* by block: not each thread has its own part of it */
	bool *inlined;  /* computed again by all that read it */
	int *cached;    /* inputs that are read twice; ncached */
	int ncached;
	double results; /* rows, of a long one's the whole */
	int64_t inside; /* elements of the longest row */
	int64_t line;   /* of its axis that the threads share out */
	bool down;      /* rows are neighbours in memory */
	bool along;     /* elements of a row are */
	bool fused;     /* all inside axes are one loop */
	bool longest;   /* threads along the longest inside axis, not the last */
	bool registers; /* rows are kept there */
	const char *threads, *steps; /* loops that have their extents; NULL: none
					yet */
	const char *place;           /* the loop over blocks */
} Kernel;

static const Block *block_at(const Kernel *k, int i)
{
	return &k->r->program->blocks[i];
}

static const char *named(const Kernel *k, const char *part, const char *suffix)
{
	return rule_plain_name(
	    arena_printf(k->r->arena, "%s_%s", part, suffix));
}

static KernelPart part_new(const Kernel *k, const char *name, int naxes)
{
	return (KernelPart){
	    name, naxes, NEW_N(k->r->arena, PartAxis, naxes + 1)};
}

/* Of a block, all axes inside. */
static KernelPart part_of(const Kernel *k, int i)
{
	const Block *b = block_at(k, i);
	KernelPart p = part_new(k, b->name, b->naxes);
	for (int a = 0; a < b->naxes; a++)
		p.axes[a] =
		    (PartAxis){b->axes[a].name, false, b->axes[a].extent, -1};
	return p;
}

static bool is_within(const PartAxis *x)
{
	return x->row < 0 && x->extent > 1;
}

/* The row that is the quotient of the divided axis; one that rfactor makes. */
enum { QUOTIENT = 1000, PARTS };

static int64_t row_extent(const Kernel *k, int row)
{
	const Block *anchor = block_at(k, k->anchor);
	assert(row == QUOTIENT ? k->grouped >= 0
			       : row >= 0 && row < anchor->nspatial);
	return row == QUOTIENT ? anchor->axes[k->grouped].extent / k->group
			       : anchor->axes[row].extent;
}

static bool is_member(const Kernel *k, int i)
{
	return k->parts[i].axes;
}

static bool reduces(const Kernel *k, int i)
{
	return block_at(k, i)->reduce != REDUCE_NONE;
}

static bool exact(const Rules *r, int i)
{
	const Block *b = &r->program->blocks[i];
	return rule_keeps_order(r->program, b) &&
	    (b->reduce == REDUCE_SUM || b->reduce == REDUCE_PROD);
}

/* --- who is of the kernel ------------------------------------------------------- */

/* axis // n */
static bool is_quotient(const Expr *e, int64_t *by)
{
	if (e->op != OP_FLOORDIV || e->arg[0]->op != OP_AXIS ||
	    e->arg[1]->op != OP_INT)
		return false;
	*by = e->arg[1]->i;
	return true;
}

/* The anchor's axis that moves an index of a reader's; -1. */
static int mover_of(const Kernel *k, int reader, const Expr *index)
{
	int64_t by;
	if (reader == k->anchor && is_quotient(index, &by) &&
	    index->arg[0]->id == k->grouped && by == k->group)
		return QUOTIENT;
	int axis = rule_axis_of(index);
	return axis < 0 ? -1 : k->parts[reader].axes[axis].row;
}

/* The first axis of the anchor that an index divides, in whole groups. */
static void find_group(Kernel *k)
{
	const RuleBlock *b = &k->r->blocks[k->anchor];
	k->grouped = -1;
	for (int n = 0; n < b->reads.n && !reduces(k, k->anchor); n++)
		for (int d = 0; d < b->reads.at[n].nindex; d++) {
			const Expr *e = b->reads.at[n].index[d];
			int64_t by;
			if (k->grouped >= 0 || !is_quotient(e, &by) || by < 2 ||
			    block_at(k, k->anchor)->axes[e->arg[0]->id].extent %
				by)
				continue;
			k->grouped = e->arg[0]->id;
			k->group = by;
		}
}

/* The anchor's axes that move those of a block, as all that read it say; false:
 * they are not of the kernel. */
static bool find_movers(const Kernel *k, int i, PartAxis *axes)
{
	const RuleBlock *b = &k->r->blocks[i];
	const Block *block = block_at(k, i);
	bool first = true;
	for (int c = 0; c < b->consumers.n; c++) {
		int reader = b->consumers.at[c];
		const RuleBlock *by = &k->r->blocks[reader];
		if (!is_member(k, reader))
			return false;
		vec_each (read, &by->reads) {
			if (read->buffer != block->buffer)
				continue;
			for (int a = 0; a < block->nspatial; a++) {
				int to = mover_of(k, reader, read->index[a]);
				if (!first && axes[a].row != to)
					to = -1;
				axes[a].row = to;
			}
			first = false;
		}
	}
	return !first;
}

static bool is_row(const Kernel *k, int axis)
{
	for (int i = 0; i < k->nrows; i++)
		if (k->rows[i] == axis)
			return true;
	return false;
}

/* Has each row a part of the block, and a reduction no more than a result? */
static bool has_rows(const Kernel *k, int i, const PartAxis *axes)
{
	int nspatial = block_at(k, i)->nspatial;
	for (int n = 0; n < k->nrows; n++) {
		int times = 0;
		for (int a = 0; a < nspatial; a++)
			times += axes[a].row == k->rows[n];
		if (times != 1 && row_extent(k, k->rows[n]) > 1)
			return false;
	}
	for (int a = 0; a < nspatial && reduces(k, i); a++)
		if (is_within(&axes[a]))
			return false;
	return true;
}

static bool may_join(const Kernel *k, int i)
{
	const Rules *r = k->r;
	return rule_is_open(r, i) && !r->blocks[i].output &&
	    r->blocks[i].consumers.n && !k->banned[i] && !exact(r, i) &&
	    !(reduces(k, i) && rule_block_fits(r, i));
}

/* `known`: which axes are rows; else all that move a block are. */
static void find_members(Kernel *k, bool known)
{
	const Block *anchor = block_at(k, k->anchor);
	KernelPart *to = &k->parts[k->anchor];
	memset(k->parts, 0, sizeof *k->parts * (size_t)k->r->program->nblocks);
	*to = part_of(k, k->anchor);
	for (int a = 0; a < anchor->naxes; a++)
		if (known ? is_row(k, a) : a < anchor->nspatial)
			to->axes[a].row = a;
	if (k->grouped >= 0)
		to->axes[k->grouped].extent = k->group;
	for (int i = k->anchor - 1; i >= 0; i--) {
		KernelPart p = part_of(k, i);
		if (may_join(k, i) && find_movers(k, i, p.axes) &&
		    (!known || has_rows(k, i, p.axes)))
			k->parts[i] = p;
	}
}

/* The axes of the anchor that move the results of the largest reduction. */
static bool find_rows(Kernel *k)
{
	const Block *anchor = block_at(k, k->anchor);
	int best = -1;
	k->nrows = 0;
	if (reduces(k, k->anchor)) {
		for (int a = 0; a < anchor->nspatial && a < MOST_ROWS; a++)
			k->rows[k->nrows++] = a;
		return anchor->nspatial <= MOST_ROWS;
	}
	find_members(k, false);
	for (int i = 0; i < k->anchor; i++) {
		const Block *block = block_at(k, i);
		const KernelPart *p = &k->parts[i];
		bool all = is_member(k, i) && reduces(k, i);
		for (int a = 0; a < block->nspatial && all; a++)
			all = !is_within(&p->axes[a]);
		if (all && (best < 0 ||
			block_work(block) > block_work(block_at(k, best))))
			best = i;
	}
	for (int a = 0; best >= 0 && a < block_at(k, best)->nspatial; a++) {
		int axis = k->parts[best].axes[a].row;
		if (axis >= 0 && !is_row(k, axis) && k->nrows < MOST_ROWS)
			k->rows[k->nrows++] = axis;
	}
	return k->nrows > 0;
}

/* --- how long a row is ------------------------------------------------------------ */

static int64_t inside_of(const KernelPart *p)
{
	int64_t n = 1;
	for (int a = 0; a < p->naxes; a++)
		n *= is_within(&p->axes[a]) ? p->axes[a].extent : 1;
	return n;
}

/* The inside axis that the threads share out, the last or the first of the longest;
 * -1: there is none. */
static int find_line(const KernelPart *p, bool longest)
{
	int line = -1;
	for (int a = 0; a < p->naxes; a++)
		if (is_within(&p->axes[a]) &&
		    (line < 0 || !longest ||
			p->axes[a].extent > p->axes[line].extent))
			line = a;
	return line;
}

static int line_of(const Kernel *k, const KernelPart *p)
{
	return find_line(p, k->longest);
}

static int64_t line_extent(const Kernel *k, const KernelPart *p)
{
	int line = line_of(k, p);
	return line < 0 ? 1 : p->axes[line].extent;
}

/* Where neighbours in memory lie, of the largest that a reduction reads. */
static void find_direction(Kernel *k, int i, int64_t *most)
{
	const RuleBlock *b = &k->r->blocks[i];
	vec_each (read, &b->reads) {
		int64_t bytes =
		    buffer_bytes(&k->r->program->buffers[read->buffer]);
		int axis =
		    read->last < 0 ? -1 : rule_axis_of(read->index[read->last]);
		if (bytes <= *most)
			continue;
		int row = axis < 0 ? -1 : k->parts[i].axes[axis].row;
		*most = bytes;
		k->down = row >= 0;
		k->along = axis >= 0 && !k->down;
		if (k->down)
			k->divided = row;
	}
}

static void measure(Kernel *k)
{
	int64_t most = 0;
	k->results = 1;
	k->divided = -1;
	for (int n = 0; n < k->nrows; n++) {
		k->results *= (double)row_extent(k, k->rows[n]);
		if (k->divided < 0 || row_extent(k, k->rows[n]) > 1)
			k->divided = k->rows[n];
	}
	k->inside = 0;
	for (int i = 0; i <= k->anchor; i++) {
		if (!is_member(k, i) || !reduces(k, i))
			continue;
		int64_t n = inside_of(&k->parts[i]);
		k->inside = n > k->inside ? n : k->inside;
		find_direction(k, i, &most);
	}
}

/* --- where it is kept ---------------------------------------------------------------- */

static bool is_kept(const Kernel *k, int i)
{
	return is_member(k, i) && i != k->anchor && !reduces(k, i) &&
	    !k->inlined[i];
}

/* Elements of the inside that a thread has, if there are so many threads. */
static int64_t share_of(const Kernel *k, const KernelPart *p, int64_t threads)
{
	int64_t extent = line_extent(k, p);
	assert(threads > 0);
	return inside_of(p) / extent * ((extent + threads - 1) / threads);
}

static int64_t power_at_least(int64_t n)
{
	int64_t p = 1;
	while (p < n)
		p *= 2;
	return p;
}

/* The next read of a buffer by a member, from the n-th of member i on; NULL. */
static const RuleRead *next_read(const Kernel *k, int buffer, int *i, int *n)
{
	for (; *i <= k->anchor; ++*i, *n = 0) {
		const RuleBlock *b = &k->r->blocks[*i];
		while (is_member(k, *i) && *n < b->reads.n)
			if (b->reads.at[(*n)++].buffer == buffer)
				return &b->reads.at[*n - 1];
	}
	return NULL;
}

/* Do all members read it at rows where it has rows, and at their line where it
 * has its own?  Then the same thread has what it reads. */
static bool same_lines(const Kernel *k, int buffer, const KernelPart *p)
{
	const RuleRead *read;
	int line = line_of(k, p);
	for (int i = 0, n = 0; (read = next_read(k, buffer, &i, &n));)
		for (int d = 0; d < read->nindex; d++) {
			const KernelPart *by = &k->parts[i];
			int axis = rule_axis_of(read->index[d]);
			if (axis < 0 || by->axes[axis].row != p->axes[d].row ||
			    (d == line) != (axis == line_of(k, by)))
				return false;
		}
	return true;
}

/* Blocks that read a buffer; false: one of them is not of the kernel, or reads it
 * at more than one place, or where its readers are, which it is inlined into. */
static bool readers_of(const Kernel *k, int buffer, int *readers)
{
	*readers = 0;
	for (int i = 0; i < k->r->program->nblocks; i++) {
		int n = rule_reads_of(&k->r->blocks[i], buffer);
		if (n > 1 || (n && (!is_member(k, i) || k->inlined[i])))
			return false;
		*readers += n;
	}
	return true;
}

/* A copy of a buffer, for its first reader, which is told; no axes: that reads it at
 * other places than its own. */
static KernelPart copy_of(const Kernel *k, int buffer, int *reader)
{
	const Buffer *b = &k->r->program->buffers[buffer];
	int n = 0;
	*reader = 0;
	const RuleRead *read = next_read(k, buffer, reader, &n);
	if (!read || !read->plain)
		return (KernelPart){0};
	KernelPart p = part_new(k, named(k, b->name, "row"), b->ndim);
	for (int d = 0; d < b->ndim; d++)
		p.axes[d] = (PartAxis){arena_printf(k->r->arena, "x%d", d),
		    false, b->shape[d],
		    k->parts[*reader].axes[rule_axis_of(read->index[d])].row};
	return p;
}

/* Do several read the input by rows, every row a part of its own? */
static bool is_cached(const Kernel *k, int b)
{
	int made = k->r->program->buffers[b].block, readers, reader, found = 0;
	if ((made >= 0 && is_member(k, made)) || !readers_of(k, b, &readers) ||
	    readers < 2)
		return false;
	KernelPart p = copy_of(k, b, &reader);
	for (int d = 0; d < p.naxes; d++)
		found += p.axes[d].row >= 0;
	return p.axes && found == k->nrows && line_of(k, &p) >= 0 &&
	    same_lines(k, b, &p);
}

/* In the order of their numbers. */
static void add_cached(Kernel *k, int b)
{
	int i = k->ncached;
	while (i > 0 && k->cached[i - 1] > b)
		i--;
	if (i > 0 && k->cached[i - 1] == b)
		return;
	assert(k->ncached < k->r->program->nbuffers);
	memmove(&k->cached[i + 1], &k->cached[i],
	    sizeof *k->cached * (size_t)(k->ncached++ - i));
	k->cached[i] = b;
}

static void find_cached(Kernel *k)
{
	k->ncached = 0;
	for (int i = 0; i <= k->anchor && k->registers; i++) {
		const RuleBlock *b = &k->r->blocks[i];
		for (int n = 0; is_member(k, i) && n < b->reads.n; n++)
			if (is_cached(k, b->reads.at[n].buffer))
				add_cached(k, b->reads.at[n].buffer);
	}
}

/* Has each thread what it reads of it, in its registers? */
static bool is_private(const Kernel *k, int i)
{
	const KernelPart *p = &k->parts[i];
	return reduces(k, i) || line_of(k, p) < 0 ||
	    (k->registers && same_lines(k, block_at(k, i)->buffer, p));
}

/* Else it is computed again where that may be; else it is for itself (true: it was
 * banned). */
static bool settle(Kernel *k)
{
	for (int i = 0; i < k->anchor; i++) {
		if (!is_kept(k, i) || is_private(k, i))
			continue;
		if (!k->r->inlinable[i])
			return k->banned[i] = true;
		k->inlined[i] = true;
	}
	return false;
}

/* One loop of all axes of a row, which numbers of threads divide. */
static bool worth_fusing(const Kernel *k)
{
	bool several = false;
	for (int i = 0; i <= k->anchor; i++) {
		const KernelPart *p = &k->parts[i];
		int axes = 0;
		if (is_member(k, i) && reduces(k, i) &&
		    inside_of(p) % LEAST_INSIDE)
			return false;
		for (int a = 0; a < p->naxes; a++)
			axes += is_within(&p->axes[a]);
		several |= axes > 1;
	}
	return several;
}

static void choose_line(Kernel *k)
{
	k->line = 1;
	for (int i = 0; i <= k->anchor; i++) {
		const KernelPart *p = &k->parts[i];
		int64_t n = k->fused ? inside_of(p) : line_extent(k, p);
		k->line = n > k->line ? n : k->line;
	}
}

/* Registers of a thread for what it keeps of a row, of so many threads. */
static int64_t registers_for(const Kernel *k, int64_t threads)
{
	int64_t all = k->r->machine->processor_registers;
	int64_t n = all ? all / threads : REGISTERS_MOST;
	return (n < REGISTERS_MOST ? n : REGISTERS_MOST) - OTHER_REGISTERS;
}

static int words(const Buffer *b)
{
	return dtype_bytes(b->type) > 4 ? 2 : 1;
}

static bool fits_threads(const Kernel *k, int64_t threads)
{
	const Program *p = k->r->program;
	int64_t most = 0, kept = 0;
	for (int i = 0; i <= k->anchor; i++) {
		int64_t share = share_of(k, &k->parts[i], threads);
		most = share > most ? share : most;
		if (is_kept(k, i) && is_private(k, i))
			kept += share *
			    words(&p->buffers[block_at(k, i)->buffer]);
	}
	for (int i = 0; i < k->ncached; i++)
		kept += most * words(&p->buffers[k->cached[i]]);
	return most <= REGISTERS && kept <= registers_for(k, threads);
}

/* Of a block. */
static int64_t most_threads(const Kernel *k)
{
	int64_t n = k->r->machine->block_threads;
	return n && n < MOST_THREADS ? n : MOST_THREADS;
}

/* The fewest for which a row fits registers; 0: there are none. */
static int64_t least_threads(const Kernel *k)
{
	int64_t all = most_threads(k);
	for (int64_t n = 1; n <= all && n <= power_at_least(k->line); n *= 2)
		if (fits_threads(k, n))
			return n;
	return 0;
}

/* Which loops the threads share out, and what is kept where. */
static void choose_form(Kernel *k)
{
	k->fused = k->longest = false;
	choose_line(k);
	if (k->line < 2 * LEAST_INSIDE && k->inside > k->line) {
		k->fused = worth_fusing(k);
		k->longest = !k->fused;
		choose_line(k);
	}
	k->registers = !k->fused;
	find_cached(k);
	k->registers = k->registers && least_threads(k) > 0;
}

static bool closes(Kernel *k)
{
	do {
		memset(k->inlined, 0,
		    sizeof *k->inlined * (size_t)k->r->program->nblocks);
		find_members(k, true);
		measure(k);
		choose_form(k);
	} while (settle(k));
	find_cached(k);
	return k->inside >= (reduces(k, k->anchor) ? LEAST_INSIDE : 2);
}

static double threads_at_once(const Machine *m)
{
	double n = (double)m->processors * m->processor_threads;
	return n > 0 ? n : 65536;
}

static double blocks_of(const Kernel *k)
{
	return k->down ? k->results / COLUMNS : k->results;
}

static bool is_long(const Kernel *k)
{
	return blocks_of(k) * 2 < k->r->machine->processors &&
	    k->inside >= (k->down ? LONG_COLUMN : LONG_ROW);
}

/* Are there so many results that a thread for each is as well? */
static bool has_enough(const Kernel *k)
{
	return k->results >= FEW_RESULTS * threads_at_once(k->r->machine);
}

static bool find_kernel(Rules *r, int i, Kernel *k)
{
	int n = r->program->nblocks;
	*k = (Kernel){.r = r,
	    .anchor = i,
	    .parts = NEW_N(r->arena, KernelPart, n),
	    .banned = NEW_N(r->arena, bool, n),
	    .inlined = NEW_N(r->arena, bool, n),
	    .cached = NEW_N(r->arena, int, r->program->nbuffers)};
	if (!rule_is_open(r, i) || exact(r, i) ||
	    (reduces(k, i) && rule_block_fits(r, i)))
		return false;
	find_group(k);
	bool found = find_rows(k);
	if (k->grouped >= 0 && !is_row(k, QUOTIENT)) {
		k->grouped = -1;
		found = find_rows(k);
	}
	if (!found || !closes(k))
		return false;
	if (is_long(k) || !k->nrows) /* by itself, if long in two launches */
		return reduces(k, i);
	return k->along || !has_enough(k) || (k->down && !reduces(k, i));
}

/* --- domains --------------------------------------------------------------------------- */

/* Numbers of threads for a row, rows of a block. */
typedef struct {
	int64_t threads, least, most;
	int64_t rows, most_rows;
} RowShape;

static int64_t clamped(int64_t n, int64_t least, int64_t most)
{
	return n < least ? least : n > most ? most : n;
}

/* Do so many threads divide what they sum, as a fused loop asks? */
static bool divides(const Kernel *k, int64_t threads)
{
	for (int i = 0; i <= k->anchor; i++)
		if (is_member(k, i) && reduces(k, i) &&
		    inside_of(&k->parts[i]) % threads)
			return false;
	return true;
}

/* `extent`: rows that a block may have several of. */
static RowShape shape_of(const Kernel *k, int64_t extent)
{
	int64_t all = most_threads(k);
	int64_t least = k->registers ? least_threads(k) : 1;
	RowShape s = {.most = power_at_least(k->line)};
	s.most = clamped(s.most, 1, k->down ? LEAST_INSIDE : all);
	least = clamped(least, 1, s.most);
	s.threads = clamped(
	    power_at_least(k->inside / THREADS_WORK), LEAST_INSIDE, 256);
	if (k->down) /* one, where there are threads enough */
		s.threads = k->results * 8 < threads_at_once(k->r->machine)
		    ? 8 : 1;
	s.threads = clamped(s.threads, least, s.most);
	s.least = clamped(s.threads / 4, least, s.threads);
	s.most = clamped(s.threads * 4, s.threads, s.most);
	while (k->fused && s.most > 1 && !divides(k, s.most))
		s.most /= 2;
	s.threads = clamped(s.threads, 1, s.most);
	s.least = clamped(s.least, 1, s.threads);
	s.most_rows = clamped(power_at_least(extent), 1, all / s.most);
	s.rows = clamped((k->down ? 2 : 1) * USUAL_BLOCK / s.threads, 1,
	    s.most_rows);
	assert(s.least <= s.threads && s.threads <= s.most);
	assert(s.rows <= s.most_rows);
	return s;
}

/* --- the loops of a part ------------------------------------------------------------------ */

static const char *along(const Kernel *k, bool row)
{
	return row == k->down ? "threadIdx.x" : "threadIdx.y";
}

/* The loops of a row's inside: threads, and what each has of it. */
typedef struct {
	const char *threads, *others, *steps, *unrolled;
} Inside;

static const char *loop_at(const Kernel *k, const KernelPart *p, int a)
{
	return p->axes[a].alone
	    ? p->axes[a].axis
	    : arena_printf(k->r->arena, "%s.%s", p->name, p->axes[a].axis);
}

/* Of the inside all but the line's, or those that are not inside. */
static const char *part_loops(
    const Kernel *k, const KernelPart *p, bool inside, int but)
{
	const char *loops = "";
	for (int a = 0; a < p->naxes; a++)
		if (is_within(&p->axes[a]) == inside && a != but)
			loops = rule_join(k->r, loops, loop_at(k, p, a));
	return loops;
}

/* The first part decides for all. */
static Inside put_inside(Kernel *k, const KernelPart *p, const RowShape *s)
{
	Rules *r = k->r;
	Inside in = {"", "", "", ""};
	int line = line_of(k, p);
	if (line < 0)
		return in;
	const char *loop = loop_at(k, p, line), *sizes;
	in.others = part_loops(k, p, true, line);
	if (k->fused && *in.others) {
		const char *all = rule_join(r, in.others, loop);
		loop = named(k, p->name, "f");
		rule_put(r, "reorder(%s, %s)\n%s = fuse(%s)\n",
		    part_loops(k, p, false, -1), all, loop, all);
		in.others = "";
	}
	if (k->threads)
		sizes =
		    arena_printf(r->arena, "[_, %s, %s]", k->steps, k->threads);
	else
		sizes = arena_printf(r->arena,
		    "?=[_, %s, %lld] in tile([%s], [%s])",
		    k->registers   ? ""
			: k->fused ? "1"
				   : "4",
		    (long long)s->threads, k->registers ? "" : "1, 2, 4, 8",
		    rule_powers(r, s->least, s->most));
	const char *const *x = rule_split_loop(r, loop, named(k, p->name, ""),
	    k->registers ? "s t" : "s u t", "%s", sizes);
	in.steps = x[0];
	in.unrolled = k->registers ? "" : x[1];
	in.threads = x[k->registers ? 1 : 2];
	if (!k->threads) {
		k->threads = in.threads;
		k->steps = in.unrolled;
	}
	return in;
}

/* What runs once for a row, or for a thread what it has of one. */
static void put_inside_kinds(Kernel *k, const Inside *in)
{
	rule_put(k->r, "bind(%s, %s)\neach unroll(%s, %s)\n", in->threads,
	    along(k, false), *in->unrolled ? in->unrolled : in->steps,
	    k->registers ? in->others : "");
}

static const char *inside_order(Kernel *k, const Inside *in)
{
	return arena_printf(k->r->arena, "%s, %s, %s, %s", in->threads,
	    in->others, in->steps, in->unrolled);
}

/* A part that is computed for the rows of a block. */
static void put_part(Kernel *k, const KernelPart *p, const RowShape *s)
{
	const char *rows = part_loops(k, p, false, -1);
	rule_put(k->r, "compute_at(%s, %s)\nset_scope(%s, reg)\n", p->name,
	    k->place, p->name);
	Inside in = put_inside(k, p, s);
	if (*in.threads && *rows)
		rule_put(k->r, "reorder(%s, %s)\n", rows, inside_order(k, &in));
	for (int a = 0; a < p->naxes; a++) {
		if (is_within(&p->axes[a]))
			continue;
		if (p->axes[a].row == k->divided)
			rule_put(k->r, "bind(%s, %s)\n", loop_at(k, p, a),
			    along(k, true));
		else
			rule_put(k->r, "unroll(%s)\n", loop_at(k, p, a));
	}
	put_inside_kinds(k, &in);
	rule_put(k->r, "tail(%s, mask)\n", p->name);
}

/* --- the anchor ------------------------------------------------------------------------------ */

/* The divided axis becomes two. */
static KernelPart put_group(Kernel *k, const KernelPart *p)
{
	int at = k->grouped;
	if (at < 0)
		return *p;
	KernelPart q = part_new(k, p->name, p->naxes + 1);
	memcpy(q.axes, p->axes, sizeof *p->axes * (size_t)at);
	memcpy(q.axes + at + 1, p->axes + at,
	    sizeof *p->axes * (size_t)(p->naxes - at));
	q.axes[at] = (PartAxis){
	    named(k, p->name, "g"), true, row_extent(k, QUOTIENT), QUOTIENT};
	q.axes[at + 1].axis = named(k, p->name, "c");
	q.axes[at + 1].alone = true;
	rule_put(k->r, "%s, %s = divide(%s, %lld)\n", q.axes[at].axis,
	    q.axes[at + 1].axis, loop_at(k, p, at), (long long)k->group);
	return q;
}

/* The loops over rows: one of blocks, and one of the threads that divide an axis
 * of them; `results`: each row has one element, the first thread's. */
static void put_anchor(
    Kernel *k, const KernelPart *p, const RowShape *s, bool results)
{
	Rules *r = k->r;
	const char *outer = "", *ones = "";
	const char *const *x = NULL;
	Inside in = {"", "", "", ""};
	if (!results)
		in = put_inside(k, p, s);
	for (int a = 0; a < p->naxes; a++) {
		const char *loop = loop_at(k, p, a);
		if (is_within(&p->axes[a]))
			continue;
		if (p->axes[a].row == k->divided) {
			x = rule_split_loop(r, loop, named(k, p->name, ""),
			    results ? "b r one" : "b r",
			    "?=[_, %lld, %s] in tile([%s], [%s])",
			    (long long)s->rows, results ? "1" : "",
			    rule_powers(r, 1, s->most_rows),
			    results ? "1" : "");
			outer = rule_join(r, outer, x[0]);
		} else if (p->axes[a].extent == 1) {
			ones = rule_join(r, ones, loop);
		} else {
			outer = rule_join(r, outer, loop);
		}
	}
	assert(x && "some axis is divided");
	rule_put(r, "reorder(%s, %s, %s, %s, %s)\n", outer, x[1], x[2],
	    inside_order(k, &in), ones);
	k->place = rule_fuse(r, outer, named(k, p->name, "rows"));
	rule_put(r, "bind(%s, blockIdx.x)\nbind(%s, %s)\nbind(%s, %s)\n",
	    k->place, x[1], along(k, true), x[2], along(k, false));
	rule_put(r, "each unroll(%s)\n", ones);
	put_inside_kinds(k, &in);
	if (!results)
		rule_put(r, "tail(%s, mask)\n", p->name);
}

/* A reduction that is a kernel's result: its sums are computed for the writer. */
static void put_result(
    Kernel *k, const KernelPart *p, int nspatial, const RowShape *s)
{
	KernelPart acc = *p, writer = *p;
	writer.naxes = nspatial;
	acc.name = named(k, p->name, "acc");
	rule_put(k->r, "%s = cache_write(%s, reg)\n", acc.name, p->name);
	put_anchor(k, &writer, s, true);
	put_part(k, &acc, s);
}

/* --- the kernel ---------------------------------------------------------------------------------- */

static void put_cached(Kernel *k, int buffer, const RowShape *s)
{
	int reader;
	KernelPart p = copy_of(k, buffer, &reader);
	assert(p.axes && "is_cached asked");
	rule_put(k->r, "%s = cache_read(%s, %s, reg, read=all)\n", p.name,
	    block_at(k, reader)->name, k->r->program->buffers[buffer].name);
	put_part(k, &p, s);
}

static void put_kernel(Kernel *k)
{
	RowShape s = shape_of(k, row_extent(k, k->divided));
	for (int i = 0; i < k->anchor; i++)
		if (k->inlined[i])
			rule_put(k->r, "compute_inline(%s)\n", block_at(k, i)->name);
	KernelPart anchor = put_group(k, &k->parts[k->anchor]);
	if (reduces(k, k->anchor))
		put_result(k, &anchor,
		    block_at(k, k->anchor)->nspatial, &s);
	else
		put_anchor(k, &anchor, &s, line_of(k, &anchor) < 0);
	for (int i = k->anchor - 1; i >= 0; i--)
		if (is_member(k, i) && !k->inlined[i])
			put_part(k, &k->parts[i], &s);
	for (int i = 0; i < k->ncached; i++)
		put_cached(k, k->cached[i], &s);
	for (int i = 0; i <= k->anchor; i++)
		if (is_member(k, i))
			k->r->blocks[i].scheduled = true;
}

/* --- few long rows ------------------------------------------------------------------------------- */

/* One reduction by itself: its results are all that a kernel makes. */
static void put_alone(
    Kernel *k, const KernelPart *p, int nspatial, int64_t rows)
{
	RowShape s;
	k->threads = k->steps = NULL;
	k->fused = k->registers = k->longest = false;
	k->inside = inside_of(p);
	k->line = line_extent(k, p);
	s = shape_of(k, rows);
	put_result(k, p, nspatial, &s);
}

/* Some of the axis's values for each part; `inner`: the parts have neighbours
 * in turn (of one part it is all of them).  The block that rfactor makes has the parts
 * as its first axis. */
static KernelPart put_parts(
    Kernel *k, const KernelPart *p, int axis, int64_t each, bool inner)
{
	assert(axis >= 0 && each > 0);
	int64_t extent = p->axes[axis].extent, n = (extent + each - 1) / each;
	KernelPart q = part_new(
	    k, named(k, p->name, inner ? "whole" : "parts"), p->naxes + 1);
	const char *const *x = rule_split_loop(k->r, loop_at(k, p, axis),
	    named(k, p->name, ""), inner ? "all one" : "part rest", "[_, %lld]",
	    (long long)(inner ? 1 : each));
	rule_put(k->r, "%s = rfactor(%s)\n", q.name, x[inner]);
	memcpy(q.axes + 1, p->axes, sizeof *p->axes * (size_t)p->naxes);
	q.axes[0] = (PartAxis){x[inner], false, inner ? 1 : n, PARTS};
	q.axes[axis + 1].axis = x[!inner];
	q.axes[axis + 1].extent = inner ? extent : each;
	return q;
}

/* How many elements of the axis each part of a row has. */
static int64_t part_extent(const Kernel *k, int64_t extent)
{
	double blocks = 2.0 * k->r->machine->processors / blocks_of(k);
	int64_t n = power_at_least((int64_t)blocks);
	int64_t least = k->down ? COLUMN_PART_LEAST : PART_LEAST;
	while (n > 1 && k->inside / n < least)
		n /= 2;
	n = n > extent ? extent : n;
	return (extent + n - 1) / n;
}

/* What combines the parts: of a row each by a block, of a single result by one
 * that another launch reads. */
static void put_combined(Kernel *k, const KernelPart *p, int nspatial)
{
	if (!nspatial) {
		KernelPart whole = put_parts(k, p, find_line(p, true), 1, true);
		k->divided = PARTS;
		put_alone(k, &whole, 1, 1);
		return;
	}
	put_alone(k, p, nspatial, row_extent(k, k->divided));
}

static void put_long(Kernel *k)
{
	const Block *block = block_at(k, k->anchor);
	KernelPart p = k->parts[k->anchor];
	int axis = find_line(&p, true), nspatial = block->nspatial;
	k->r->blocks[k->anchor].scheduled = true;
	memset(k->parts, 0, sizeof *k->parts * (size_t)k->anchor);
	if (is_long(k)) {
		int64_t each = part_extent(k, p.axes[axis].extent);
		KernelPart parts = put_parts(k, &p, axis, each, false);
		int divided = k->divided;
		k->divided = k->down ? divided : PARTS;
		put_alone(k, &parts, 1 + nspatial,
		    k->down ? block->axes[divided].extent : 1);
		k->divided = divided;
		p.axes[nspatial] = parts.axes[0];
		p.axes[nspatial].row = -1;
		p.naxes = nspatial + 1;
	}
	put_combined(k, &p, nspatial);
}

void rule_cross_thread_reduction(Rules *r, int i)
{
	Kernel k;
	if (!r->machine->warp || !r->cross_thread || !find_kernel(r, i, &k))
		return;
	if (is_long(&k) || !k.nrows)
		put_long(&k);
	else
		put_kernel(&k);
}
