/* A block without reduction: vectors along its last axis, threads over its
 * first, and several rows at once where they share what they read or are
 * computed from what is computed for them.
 *
 *     for i for j s[i, j] = …   -->   parallel i for j0 unroll j1 vector jv
 *
 * What is read lies along another axis where data is moved: there lanes are
 * along that one and the last one is unrolled, a square that is transposed in
 * registers (codegen/lower/lower_transpose.c).
 *
 *     for j for i y[j, i] = x[i, j]   -->   for j0 for i0 unroll i1 vector jv
 *
 * A few elements fill no vector (three colours of a pixel, a matrix of 2 by 2), or
 * are each made in their own way (a quaternion): then lanes are along the axis
 * before them, and what is stored is interleaved in registers.
 *
 *     for i for c y[i, c] = x[c, i]   -->   for i0 unroll c vector iv
 *
 * An axis of a few elements that are made of the same data is repeated in code,
 * around the vectors: what they share is read and computed once, and conditions
 * on it are decided.
 *
 *     for k for i for j  y[k, i, j] = if k == 0 then x[i, j] + z[i, j] else …
 * -->
 *     for i for j0 unroll k vector jv  y[k, i, j] = …
 */
#include "schedule/rules/rules.h"

#include <assert.h>
#include <string.h>

#include "lib/gcd.h"

enum {
	SQUARE_LEAST = 4, /* of a side that is worth transposing */
	ROWS_MOST = 16,	  /* unrolled of what there is one for each row */
	TILE_ROWS = 8,	  /* of what is tiled in rows, at most */
	SHORT = 4,	  /* vectors of a row */
	SLIM = 2,	  /* bytes of an element, at most */
	SHORTEST = 16,	  /* bytes of a vector */
	KINDS_MOST = 8,	  /* elements at once that are made of the same data */
	APART_MOST = 9	  /* elements side by side, each made in its own way */
};

typedef struct {
	Rules *r;
	const Block *block;
	const RuleBlock *info;
	int first, row, last; /* axes; row: the one before the last, or -1 */
	RuleSplit rows;
	const char *row0;     /* its outermost loop; NULL: one row at a time */
	const char *v0;       /* of the last axis; NULL: not split */
	const char *sizes;    /* of blocks of columns; "": there are none */
	const char *outer, *part; /* of the last axis, where indices begin anew;
				     NULL: nowhere */
	int64_t part_extent;
	int across;           /* axis along which is read; -1: the last one */
	bool *kinds;          /* by axis: repeated in code around the vectors */
	bool has_kinds;
	bool of_rows; /* an element for each row of where it may be computed */
} Spatial;

static Spatial spatial_of(Rules *r, int i)
{
	const Block *block = &r->program->blocks[i];
	Spatial s = {.r = r,
	    .block = block,
	    .info = &r->blocks[i],
	    .last = rule_longer_axis(block, block->nspatial),
	    .sizes = "",
	    .kinds = NEW_N(r->arena, bool, block->nspatial + 1)};
	if (s.last < 0)
		s.last = block->nspatial - 1;
	s.row = rule_longer_axis(block, s.last);
	while (s.first < s.last && block->axes[s.first].extent == 1)
		s.first++;
	return s;
}

static const char *loop_of(const Spatial *s, int axis)
{
	return rule_loop(s->r, s->block->name, s->block, axis);
}

/* Of axes that are longer than 1. */
static const char *long_loops(const Spatial *s, int first, int end)
{
	const char *loops = "";
	for (int a = first; a < end; a++)
		if (s->block->axes[a].extent > 1)
			loops = rule_join(s->r, loops, loop_of(s, a));
	return loops;
}

static bool has_own_loops(const Spatial *s)
{
	return s->info->host == s->info->block;
}

/* Is something the same for all rows along the axis? */
static bool is_same_for_rows(const Spatial *s, int axis)
{
	vec_each (read, &s->info->reads)
		if (!read->uses[axis] && read->uses[s->last])
			return true;
	return false;
}

/* A vector or two, so that a loop over rows has little else to do. */
static bool is_short(const Spatial *s)
{
	return s->block->axes[s->last].extent <=
	    2 * rule_widest(s->r, s->block, s->last);
}

/* Do rows share what they read, or are they short? */
static bool rows_share(const Spatial *s)
{
	if (is_short(s))
		return true;
	vec_each (read, &s->info->reads)
		if (rule_reads_of(s->info, read->buffer) > 1)
			return true;
	return is_same_for_rows(s, s->row);
}

/* Can nothing that it reads be computed for its rows? */
static bool reads_inputs(const Rules *r, int block)
{
	const RuleBlock *b = &r->blocks[block];
	vec_each (read, &b->reads)
		if (read->maker >= 0)
			return false;
	return true;
}

/* Are elements along the axis made of the same data, for the most part? */
static bool is_shared(const Spatial *s, int axis)
{
	int shared = 0;
	vec_each (read, &s->info->reads)
		if (read->uses[s->last])
			shared += read->uses[axis] ? -1 : 1;
	return shared > 0;
}

/* Does it read elements of another block that are the same along the axis, and
 * read at all others, so that they may be made where they are used? */
static bool shares_made(const Spatial *s, int axis)
{
	bool found = false;
	for (int i = 0; i < s->info->reads.n && !found; i++) {
		const RuleRead *read = &s->info->reads.at[i];
		int from = read->maker;
		found = from >= 0 && !read->uses[axis] &&
		    s->r->program->blocks[from].reduce == REDUCE_NONE;
		for (int a = 0; a <= s->last && found; a++)
			found = a == axis || read->uses[a] ||
			    s->block->axes[a].extent == 1;
	}
	return found;
}

/* An axis further out along whose rows something is the same; -1. */
static int row_further_out(const Spatial *s)
{
	for (int a = s->row - 1; a >= 0; a--)
		if (s->block->axes[a].extent > 1 && is_same_for_rows(s, a))
			return a;
	return -1;
}

/* Axes before the row that have few elements, of the same data. */
static void choose_kinds(Spatial *s)
{
	int64_t n = 1;
	for (int a = s->row - 1; a >= 0 && has_own_loops(s); a--) {
		int64_t extent = s->block->axes[a].extent;
		if (extent == 1 || n * extent > KINDS_MOST ||
		    (!is_shared(s, a) && !shares_made(s, a)))
			continue;
		n *= extent;
		s->kinds[a] = s->has_kinds = true;
	}
	while (s->kinds[s->first])
		s->first++;
}

/* Where there are kinds: of the axes before the row, those or the others. */
static const char *before_row(const Spatial *s, bool kinds)
{
	const char *loops = "";
	for (int a = 0; a < s->row && s->has_kinds; a++)
		if (s->kinds[a] == kinds)
			loops = rule_join(s->r, loops, loop_of(s, a));
	return loops;
}

/* Is it a reduction of something that the block reads, too? */
static bool is_summary(const Spatial *s, int from)
{
	const Program *p = s->r->program;
	const RuleBlock *b = from >= 0 ? &s->r->blocks[from] : NULL;
	if (!b || p->blocks[from].reduce == REDUCE_NONE)
		return false;
	vec_each (read, &b->reads)
		if (rule_reads_of(s->info, read->buffer))
			return true;
	return false;
}

/* The order of its loops: those of some axes are inside of the others'. */
static void set_order(const Spatial *s, const bool *inner)
{
	int n = s->block->nspatial, k = 0;
	int *order = NEW_N(s->r->arena, int, n);
	for (int inside = 0; inside < 2; inside++)
		for (int a = 0; a < n; a++)
			if (inner[a] == inside)
				order[k++] = a;
	assert(k == n);
	s->r->blocks[s->info->block].order = order;
}

/* Loops of axes that move a summary are outside of others, so that it can be
 * made where what it is of is read again soon: a mean of each channel, over all
 * images of a batch. */
static void choose_order(Spatial *s)
{
	int n = s->block->nspatial;
	bool *inner = NEW_N(s->r->arena, bool, n), other = false;
	memset(inner, true, sizeof *inner * (size_t)n);
	vec_each (read, &s->info->reads)
		for (int a = 0; a < s->row && is_summary(s, read->maker); a++)
			inner[a] &= !read->uses[a];
	for (int a = 1; a < n; a++)
		other |= inner[a - 1] && !inner[a];
	if (!other || !has_own_loops(s))
		return;
	set_order(s, inner);
	const int *order = s->info->order;
	for (s->first = 0; s->block->axes[order[s->first]].extent == 1;)
		s->first++;
	s->first = order[s->first];
	rule_put(s->r, "reorder(");
	for (int k = 0; k < s->row; k++)
		rule_put(s->r, "%s, ", loop_of(s, order[k]));
	rule_put(s->r, ")\n");
}

/* The last axis along which neighbours are read, forwards or backwards; -1. */
static int side_by_side(const Spatial *s, const RuleRead *read)
{
	for (int a = s->block->nspatial - 1; a >= 0; a--)
		if (s->block->axes[a].extent > 1 &&
		    rule_stride(s->r->program, read, a, 1) == 1)
			return a;
	return -1;
}

/* The axis along which all that varies in both lies side by side; -1. */
static int axis_across(const Spatial *s)
{
	int across = -1;
	vec_each (read, &s->info->reads) {
		int a = side_by_side(s, read);
		if (!read->uses[s->last])
			continue;
		if (a < 0 || a == s->last || (across >= 0 && a != across))
			return -1;
		across = a;
	}
	return s->block->axes[s->last].extent < SQUARE_LEAST ? -1 : across;
}

/* All that is read along the last axis lies side by side. */
static bool lies_along(const Spatial *s)
{
	vec_each (read, &s->info->reads)
		if (read->uses[s->last] &&
		    rule_stride(s->r->program, read, s->last, 1) != 1)
			return false;
	return true;
}

static bool is_slim(const Rules *r, int buffer)
{
	DType type = r->program->buffers[buffer].type;
	return dtype_is_int(type) && dtype_bytes(type) <= SLIM;
}

/* Are all elements that the block reads, or those that are made of such and may
 * be inlined, of a byte or two? */
static bool reads_slim(const Rules *r, int block)
{
	const RuleBlock *b = &r->blocks[block];
	vec_each (read, &b->reads) {
		int buffer = read->buffer;
		int from = r->program->buffers[buffer].block;
		if (!is_slim(r, buffer) &&
		    (from < 0 || !r->inlinable[from] || !reads_slim(r, from)))
			return false;
	}
	return b->reads.n > 0;
}

/* Twice what a register holds of what is computed, where what is stored fits
 * half of one, or the shortest one there is: it is loaded and shuffled for all of them
 * at once. */
static int widest_stored(const Spatial *s, int axis)
{
	int lanes = rule_widest(s->r, s->block, axis);
	DType stored = s->r->program->buffers[s->block->buffer].type;
	bool half = s->r->machine->byte_masks ||
	    2 * lanes * dtype_bytes(stored) <= SHORTEST;
	return half && has_own_loops(s) && is_slim(s->r, s->block->buffer) &&
		reads_slim(s->r, s->info->block) &&
		s->block->axes[axis].extent >= 2 * lanes
	    ? 2 * lanes
	    : lanes;
}

/* As many as what is computed has, where the axis has so many. */
static int widest_value(const Spatial *s, int axis, int lanes)
{
	int all = rule_value_lanes(s->r, s->info->block, axis);
	return all > lanes && s->block->axes[axis].extent >= all ? all : lanes;
}

static int widest_last(const Spatial *s)
{
	int lanes = widest_stored(s, s->last);
	if (s->of_rows)
		return lanes < TILE_ROWS ? lanes : TILE_ROWS;
	return lies_along(s) ? widest_value(s, s->last, lanes) : lanes;
}

static void put_square(Spatial *s)
{
	Rules *r = s->r;
	const Block *block = s->block;
	const char *rows = "";
	assert(s->across >= 0 && s->across != s->last);
	int lanes = rule_widest(r, block, s->across);
	const char *const *u =
	    rule_split(r, block->name, block, s->last, "0 1", "? in tile([%s])",
		rule_powers(r, 4, block->axes[s->last].extent >= 16 ? 16 : 8));
	const char *const *v = rule_split(
	    r, block->name, block, s->across, "0 v", "[_, %d]", lanes);
	for (int a = 0; a < s->last; a++)
		rows =
		    rule_join(r, rows, a == s->across ? v[0] : loop_of(s, a));
	rule_put(r, "reorder(%s, %s, %s, %s)\n", rows, u[0], u[1], v[1]);
	rule_vectors(r, u[1], v[1], lanes);
	rule_put(r, "tail(%s, peel)\n", block->name);
	if (!rule_rows_has(r, s->info->block))
		rule_parallel(
		    r, s->first == s->across ? v[0] : loop_of(s, s->first));
}

/* Are the last axes so short together that vectors of the axis before hold twice
 * as much or more, or a few elements told apart?  Then that is the row. */
static bool is_narrow(Spatial *s)
{
	int64_t n = 1;
	int axis = s->last;
	while (axis >= 0 && n * s->block->axes[axis].extent <= APART_MOST)
		n *= s->block->axes[axis--].extent;
	if (axis < 0 || n == 1 || !has_own_loops(s) || s->kinds[axis] ||
	    (axis < s->row && s->info->order))
		return false;
	int lanes = widest_stored(s, axis);
	bool apart = (n <= RULE_FEW || !is_slim(s->r, s->block->buffer)) &&
	    expr_choices(s->r->bodies[s->info->block], axis + 1, s->last) > 1;
	if (lanes < 4 || s->block->axes[axis].extent < lanes ||
	    (!apart && (n > RULE_FEW || (n > 3 && n * 4 > lanes))))
		return false;
	s->row = axis;
	return true;
}

static void note_lanes(Spatial *s, const char *loop, int axis, int lanes)
{
	RuleBlock *b = &s->r->blocks[s->info->block];
	if (rule_is_collapsed(s->r, s->info->block))
		return; /* its rows are nobody else's */
	b->lane_loop = loop;
	b->lane_axis = axis;
	b->lanes = lanes;
}

static void put_narrow(Spatial *s)
{
	Rules *r = s->r;
	int lanes = widest_value(s, s->row, widest_stored(s, s->row));
	const char *const *v = rule_split(
	    r, s->block->name, s->block, s->row, "0 v", "[_, %d]", lanes);
	const char *code = rule_join(
	    r, before_row(s, true), long_loops(s, s->row + 1, s->last + 1));
	assert(lanes > 1);
	s->row0 = v[0];
	rule_put(r, "reorder(%s, %s, %s, %s)\n", before_row(s, false), v[0],
	    code, v[1]);
	rule_vectors(r, code, v[1], lanes);
	rule_put(r, "tail(%s, peel)\n", s->block->name);
	note_lanes(s, v[0], s->row, lanes);
}

/* Do only a few lie side by side, which fill no vectors?  Then vectors of the last
 * axis are shuffled of these. */
static bool is_slender(Spatial *s)
{
	const Axis *axes = s->block->axes;
	int lanes = rule_widest(s->r, s->block, s->last);
	if (s->across < 0 || !has_own_loops(s) ||
	    axes[s->across].extent >= lanes || axes[s->last].extent < lanes ||
	    (axes[s->across].extent >= SQUARE_LEAST &&
		lanes % axes[s->across].extent == 0))
		return false;
	s->kinds[s->across] = s->has_kinds = true;
	s->row = s->last;
	return true;
}

/* All axes are one, in vectors of small products. */
static bool put_small(Spatial *s)
{
	Rules *r = s->r;
	const Block *block = s->block;
	int lanes =
	    rule_lanes(r->machine, r->program->buffers[block->buffer].type);
	int n = !has_own_loops(s) || s->info->is_host || s->info->order
	    ? 0
	    : rule_small_vectors(
		  r->program, r->machine, block, r->bodies[s->info->block]);
	const char *f = rule_name(r, block, "f", "");
	if (!n)
		return false;
	s->first = s->row;
	rule_put(r, "%s = fuse(%s)\n", f,
	    rule_loops(r, block->name, block, 0, block->nspatial, -1, -1));
	const char *const *v = rule_split_loop(r, f, f, "0 1 v",
	    "? in tile([%d, %d, %d], [%d])", n, 2 * n, 4 * n, lanes);
	s->row0 = v[0];
	rule_vectors(r, v[1], v[2], lanes);
	rule_put(r, "tail(%s, ? in {peel, mask})\n", block->name);
	return true;
}

static void split_rows(Spatial *s)
{
	assert(s->row >= 0 && s->row < s->last);
	int64_t n = s->block->axes[s->row].extent;
	bool apart = rule_longer_axis(s->block, s->last) != s->row;
	if (!s->has_kinds && !apart)
		s->sizes =
		    rule_columns(s->r, s->info->block, s->last, widest_last(s));
	s->rows = rule_tiles(s->r, s->block, s->row, NULL,
	    *s->sizes ? "1, 2, 4, 8" : "", rule_powers(s->r, 1, n > 8 ? 8 : n),
	    0);
	s->row0 = s->rows.place;
}

static const char *copies_of(const Spatial *s, int64_t tiles, int lanes)
{
	const char *anew =
	    s->part ? NULL : rule_copies(s->r, s->info, s->last, tiles, lanes);
	int64_t most = 2 * tiles - 1;
	return anew ? anew : rule_powers(s->r, 1, most > 8 ? 8 : most);
}

/* Can the axis be two, the inner one as long as a period? */
static bool divides(const Spatial *s, int64_t period, int lanes)
{
	return period && s->block->axes[s->last].extent % period == 0 &&
	    2 * period > lanes && has_own_loops(s);
}

/* Where indices begin anew only after more vectors than that, the axis is cut
 * there, so that neighbours stay neighbours: into vectors, perhaps of half the
 * lanes, that fill it, or, where none do, with a tail in each part.  What is not
 * there twice is no period: loops are cut at its end (lower_cut.c). */
static int cut_last(Spatial *s)
{
	const char *axis = s->block->axes[s->last].name;
	int64_t period = rule_block_period(s->info, s->last);
	int64_t extent = s->block->axes[s->last].extent;
	int lanes = widest_last(s), part = lanes;
	int least = divides(s, period, lanes) ? lanes / 2 : 4;
	if (2 * period > extent ||
	    period / gcd(period, lanes) <= COPIES_MOST)
		return lanes;
	while (part > least && period % part)
		part /= 2;
	bool fills = period > lanes && period % part == 0;
	if (!fills && !divides(s, period, lanes))
		return lanes;
	s->outer = rule_name(s->r, s->block, axis, "_d0");
	s->part = rule_name(s->r, s->block, axis, "_d1");
	s->part_extent = period;
	rule_put(s->r, fills ? "%s, %s = split(%s, [_, %lld])\n"
		     : "%s, %s = divide(%s, %lld)\n",
	    s->outer, s->part, loop_of(s, s->last), (long long)period);
	return fills ? part : lanes;
}

/* Several at once; where neighbours share nothing, such as do: rows in between
 * are inside of their loop.  In another block's loops, what takes long. */
static void choose_rows(Spatial *s)
{
	int block = s->info->block;
	bool own = has_own_loops(s), ordered = s->r->blocks[block].order;
	Expr *body = s->r->bodies[block];
	bool takes_long = rule_work_of(body).divides || expr_has_function(body);
	if (s->row < 0 || s->of_rows || (s->info->is_host && !is_short(s)) ||
	    (!own && (!takes_long || rule_rows_has(s->r, block))))
		return;
	bool share = s->has_kinds || rows_share(s);
	int further = share || ordered ? -1 : row_further_out(s);
	if (further >= 0)
		s->row = further;
	if (share || further >= 0 || !reads_inputs(s->r, block))
		split_rows(s);
}

/* The order of loops where several rows are at once. */
static void put_rows(Spatial *s, const RuleSplit *v)
{
	Rules *r = s->r;
	const char *kinds = before_row(s, true);
	rule_put(r, "reorder(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)\n",
	    before_row(s, false), s->rows.block, v->block, s->rows.outer,
	    long_loops(s, s->row + 1, s->last), s->part ? s->outer : "",
	    v->outer, kinds, s->rows.unrolled, v->unrolled, v->lanes);
	rule_put(r, "each unroll(%s, %s)\n", kinds, s->rows.unrolled);
	if (s->has_kinds)
		set_order(s, s->kinds);
}

/* Vectors of the last axis. */
static void split_last(Spatial *s)
{
	const Block *block = s->block;
	int lanes = widest_last(s);
	int64_t extent = block->axes[s->last].extent;
	if (lanes <= 1)
		return;
	if (!*s->sizes && !s->info->is_host)
		lanes = cut_last(s);
	int64_t tiles =
	    ((s->part ? s->part_extent : extent) + lanes - 1) / lanes;
	RuleSplit v = rule_tiles(s->r, block, s->last, s->part, s->sizes,
	    copies_of(s, tiles, lanes), lanes);
	s->v0 = v.place;
	if (s->row0)
		put_rows(s, &v);
	rule_vectors(s->r, v.unrolled, v.lanes, lanes);
	rule_put(s->r, "tail(%s, ? in {peel, mask})\n", block->name);
	if (has_own_loops(s) && !s->row0 && !s->part)
		note_lanes(s, s->v0, s->last, lanes);
}

/* Does it finish row by row what another block sums up, in one pass? */
static bool finishes_rows(const Spatial *s)
{
	vec_each (read, &s->info->reads)
		if (read->maker >= 0 &&
		    rule_shape(s->r, read->maker) == SHAPE_ROW &&
		    reads_inputs(s->r, read->maker))
			return true;
	return false;
}

static void add_places(Spatial *s)
{
	bool along = false;
	for (int k = 0; k < s->last; k++) {
		int a = rule_axis_at(s->r, s->info->block, k);
		if (a == s->last)
			break;
		along |= a == s->first;
		if (along)
			rule_add_place(s->r, s->info->block,
			    a == s->row && s->row0 ? s->row0 : loop_of(s, a),
			    k + 1, false);
	}
	if (*s->sizes)
		rule_add_place(s->r, s->info->block, s->v0, s->last + 1, true);
	else if (s->v0 && !s->part && finishes_rows(s))
		rule_add_place(
		    s->r, s->info->block, s->v0, s->block->nspatial, false);
}

/* Vectors along the last axis, of what lies along it: such as another block's
 * tiles can make, too. */
bool rule_lies_flat(const Rules *r, int i)
{
	Spatial s = spatial_of((Rules *)r, i);
	return s.last >= 0 && s.last == s.block->nspatial - 1 &&
	    rule_widest(r, s.block, s.last) > 1 && axis_across(&s) < 0 &&
	    s.block->axes[s.last].extent > RULE_FEW;
}

/* And nothing that several rows at once would share. */
bool rule_is_flat(const Rules *r, int i)
{
	Spatial s = spatial_of((Rules *)r, i);
	return rule_lies_flat(r, i) &&
	    (s.row < 0 || !is_same_for_rows(&s, s.row));
}

/* In the tiles of another block: vectors of what a tile has, several rows where it
 * has some. */
static void put_colocated(Spatial *s)
{
	int lanes = rule_widest(s->r, s->block, s->last), along;
	int steps = !s->info->at_steps
	    ? lanes
	    : rule_row_lanes(s->r, s->info->colocated_with, &along);
	lanes = steps < lanes ? steps : lanes;
	const char *const *v = rule_split(
	    s->r, s->block->name, s->block, s->last, "u v", "[_, %d]", lanes);
	rule_vectors(s->r, v[0], v[1], lanes);
	if (s->row >= 0 && !s->info->at_steps)
		rule_put(s->r, "unroll(%s, limit=%d)\n", loop_of(s, s->row), ROWS_MOST);
	rule_put(s->r, "tail(%s, %s)\n", s->block->name,
	    s->info->at_steps ? "? in {peel, mask}" : "peel");
}

/* Does it have an element for each row of where it may be computed?  Those are
 * a few, not neighbours that fill a vector. */
static bool is_of_rows(const Spatial *s)
{
	int mover = s->info->moved_by[s->last];
	for (int k = 0; k < s->info->place_axes && !has_own_loops(s); k++)
		if (rule_axis_at(s->r, s->info->host, k) == mover)
			return true;
	return false;
}

/* A function of one element takes as long as that of a vector, and longer than a
 * row of a few vectors. */
static bool outweighs_row(const Spatial *s)
{
	const Block *host = &s->r->program->blocks[s->info->host];
	int last = rule_longer_axis(host, host->nspatial);
	return last >= 0 && expr_has_function(s->r->bodies[s->info->block]) &&
	    host->axes[last].extent <= SHORT * rule_widest(s->r, host, last);
}

/* Axes of one value behind the last longer one go outside of it. */
static void put_ones_outside(Spatial *s)
{
	int n = s->block->nspatial;
	bool *inner = NEW_N(s->r->arena, bool, n);
	if (s->last == n - 1)
		return;
	rule_put(s->r, "reorder(%s, %s)\n",
	    rule_loops(s->r, s->block->name, s->block, s->last + 1, n, -1, -1),
	    loop_of(s, s->last));
	inner[s->last] = true;
	set_order(s, inner);
}

void rule_spatial(Rules *r, int i)
{
	const Block *block = &r->program->blocks[i];
	if (!rule_is_open(r, i) || block->reduce != REDUCE_NONE)
		return;
	Spatial s = spatial_of(r, i);
	r->blocks[i].scheduled = true;
	if (!block->nspatial)
		return;
	if (s.info->colocated_with >= 0) {
		put_colocated(&s);
		return;
	}
	s.of_rows = is_of_rows(&s);
	if (s.of_rows && !outweighs_row(&s)) {
		rule_put(s.r, "unroll(%s, limit=%d)\n", loop_of(&s, s.last), ROWS_MOST);
		return;
	}
	put_ones_outside(&s);
	s.across = axis_across(&s);
	bool slender = is_slender(&s);
	if (s.across >= 0 && !slender &&
	    block->axes[s.across].extent >= SQUARE_LEAST &&
	    rule_widest(r, block, s.across) >= SQUARE_LEAST) {
		put_square(&s);
		return;
	}
	choose_kinds(&s);
	if (!s.has_kinds && s.last == block->nspatial - 1)
		choose_order(&s);
	bool small = !slender && put_small(&s);
	if (slender || (!small && is_narrow(&s))) {
		put_narrow(&s);
	} else if (!small) {
		choose_rows(&s);
		split_last(&s);
	}
	if (s.v0 && !s.part)
		r->blocks[i].tile = s.v0;
	const char *outer = s.first == s.last && s.part ? s.outer
	    : s.first == s.last && s.v0		      ? s.v0
	    : s.first == s.row && s.row0	      ? s.row0
						      : loop_of(&s, s.first);
	if (!rule_rows_has(r, i))
		rule_parallel(r, outer);
	if (has_own_loops(&s) && !small && (!s.has_kinds || r->blocks[i].order))
		add_places(&s);
	if (s.info->prefetch_loop)
		rule_put(s.r, "prefetch(%s, %s, %s, 1)\n", block->name,
		    r->program->buffers[s.info->prefetch_buffer].name,
		    s.info->prefetch_loop);
}
