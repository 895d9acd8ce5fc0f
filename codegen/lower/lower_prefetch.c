/* Prefetches of a stage, in one of its loops or in parts.
 *
 *     for k  c[i] += a[k]           for k  prefetch a[k + 8]; c[i] += a[k]
 *
 * Where the loop that is looked ahead of is around the stage, what one iteration
 * of it reads is a run of lines; as many of them are asked for in each iteration
 * inside as come to all of them at its end:
 *
 *     for j for i for k             for j for i for k
 *       c[i, j] += a[i, k]*b[j, k]    prefetch b[j + 1] + 64 bytes*(i*.. + k*..)
 *                                     c[i, j] += a[i, k]*b[j, k]
 *
 * So memory has a whole iteration of j's time for what the next one reads; asked
 * for at once, or where j's first i needs it, it would be waited for.
 *
 * Of a loop of its own with others inside that run, each iteration of the innermost
 * asks for the lines that it reads then, some rows at once:
 *
 *     for k for j                   for k for j
 *       c[j] += b[k, j]               prefetch b[k + 1, j]; c[j] += b[k, j]
 *
 * What no step says is asked for, too, where windows along the lanes are read of rows
 * that lie far apart, which no hardware sees coming: a vector in two lines that are
 * both still to come keeps those behind it waiting.
 *
 *     for c for r, s in code                for c  prefetch both ends of each row of
 *       vector x  o[x] += d[c, y + r, x + s]*..      d[c + 1]; ..
 *
 * What all of j's iterations read may stay in the second cache until a loop around
 * them, that does not move it, starts again: then the next loop around that does
 * is looked ahead of, or none. */
#include <assert.h>
#include <stdlib.h>

#include "codegen/lower/lower_internal.h"
#include "lib/sort.h"

enum {
	PART_FEW = 8,	   /* lines at once, where there is a loop further in */
	PART_MOST = 16,	   /* else nothing is asked for */
	POINTS_MOST = 256, /* of the copies in an iteration */
	LEVEL_NEXT = 1,	   /* caches: of what is used soon, and in a while */
	LEVEL_LATER = 2
};

/* How much of the second cache keeps what is read again; how often a line may be
 * asked for, most times in vain, for each time that it is read there: that takes a
 * third of what is gained by one that comes from further off. */
#define KEPT 0.75
enum { AGAIN_MOST = 3 };

/* Operations for each line that is read, below which nothing is asked for: the next
 * lines come as fast as they can, and the hardware sees them coming. */
enum { OPERATIONS_LEAST = 4 };

/* What a stage reads of a buffer so many iterations of a loop ahead. */
typedef struct {
	int access, var;
	int64_t distance;
} Ahead;

/* What lies ahead of it may be no element. */
static bool reads_at_data(const Expr *read)
{
	for (int i = 0; i < read->narg; i++)
		if (expr_has_data(read->arg[i]))
			return true;
	return false;
}

/* The read that is prefetched; NULL: it cannot be, or the blocks of a GPU hide what
 * they wait for behind each other. */
static const Expr *read_of(const Lower *l, int stage, const Ahead *p)
{
	const Expr *read =
	    expr_find_read(l->nest->stages.at[stage].body, p->access);
	bool memory = l->nest->buffers.at[p->access].scope != SCOPE_REG;
	return read && memory && !reads_at_data(read) && !l->part->launched
	    ? read
	    : NULL;
}

/* Bindings that were changed for a while. */
typedef struct {
	int n;
	int *vars;
	Binding *was;
} Changed;

static void change(Lower *l, Changed *c, int var, Index value)
{
	c->vars[c->n] = var;
	c->was[c->n++] = bind_var(l, var, (Binding){true, value});
}

static void change_back(Lower *l, Changed *c)
{
	while (c->n--)
		bind_var(l, c->vars[c->n], c->was[c->n]);
}

/* The address that is read as many iterations ahead of the loop as told; in the
 * first iterations of `zero`, and of the stage's loops that are not bound. */
static Index address_ahead(Lower *l, int stage, const Ahead *p, const int *zero,
    int nzero, int64_t distance)
{
	const Stage *s = &l->nest->stages.at[stage];
	const Expr *read = read_of(l, stage, p);
	int most = s->nloops + nzero + 1;
	Lower in = *l;
	Changed changed = {0, NEW_N(l->arena, int, most),
	    NEW_N(l->arena, Binding, most)};
	in.stage = stage;
	for (int i = 0; i < nzero; i++)
		change(l, &changed, zero[i], index_const(0));
	for (int i = 0; i < s->nloops; i++)
		if (!l->part->vars[s->loops[i]].bound)
			change(l, &changed, s->loops[i], index_const(0));
	change(l, &changed, p->var,
	    index_add(
		l, l->part->vars[p->var].value, index_const(distance), 1));
	Index address = buffer_address(&in, p->access, read->arg, read->narg);
	change_back(l, &changed);
	return address;
}

/* By how many elements as many iterations as told move what is read next. */
static bool elements_ahead(Lower *l, int stage, const Ahead *p, const int *zero,
    int nzero, Index *next, int64_t *elements)
{
	Index here = address_ahead(l, stage, p, zero, nzero, 0);
	*next = address_ahead(l, stage, p, zero, nzero, p->distance);
	return !index_has_lanes(here) && !index_has_lanes(*next) &&
	    index_is_const(index_add(l, *next, here, -1), elements);
}

/* The same of the stage's loops, which are not bound yet: of one iteration of any of
 * them; -1: it is not known. */
static int64_t step_of(Lower *l, int stage, Ahead p, int var)
{
	int64_t elements;
	Index next;
	p.var = var;
	p.distance = 1;
	return elements_ahead(l, stage, &p, NULL, 0, &next, &elements)
	    ? llabs(elements)
	    : -1;
}

static void emit_prefetch(Lower *l, int buffer, Index address, int level)
{
	LowNode *node = emit_effect(l, LOW_PREFETCH, -1, -1, -1);
	node->i = level;
	node->buffer = l->part->low_buffer[buffer];
	node->address = index_address(l, address);
}

/* --- in its own loop ------------------------------------------------------- */

/* Addresses that the copies read which one iteration repeats in code: those that are
 * a known number of elements apart have one base. */
typedef struct {
	int base;
	int64_t offset;
} Point;
typedef struct {
	bool *still; /* by the stage's loops: it does not move what is read */
	int n, nbases;
	Point at[POINTS_MOST];
	Index base[POINTS_MOST];
} Points;

static void add_point(Lower *l, Index address, Points *points)
{
	int64_t offset = 0;
	int base = 0;
	if (index_has_lanes(address))
		return;
	while (base < points->nbases &&
	    !index_is_const(
		index_add(l, address, points->base[base], -1), &offset))
		base++;
	if (base == points->nbases) {
		points->base[points->nbases++] = address;
		offset = 0;
	}
	for (int i = 0; i < points->n; i++)
		if (points->at[i].base == base &&
		    points->at[i].offset == offset)
			return;
	points->at[points->n++] = (Point){base, offset};
}

/* With the stage's loops from `pos` on in each of the iterations that move it: of lanes
 * in the first and the last. */
static void find_points(
    Lower *l, int stage, int pos, const Ahead *p, Points *points)
{
	const Stage *s = &l->nest->stages.at[stage];
	if (pos == s->nloops) {
		add_point(l, address_ahead(l, stage, p, NULL, 0, p->distance),
		    points);
		return;
	}
	int var = s->loops[pos];
	bool lanes = l->nest->vars.at[var].kind == LOOP_VECTOR;
	int64_t n = points->still[pos] ? 1 : loop_extent(l, var);
	int64_t step = lanes && n > 1 ? n - 1 : 1;
	for (int64_t i = 0; i < n && points->n < POINTS_MOST; i += step) {
		Binding was = bind_var(l, var, (Binding){true, index_const(i)});
		find_points(l, stage, pos + 1, p, points);
		bind_var(l, var, was);
	}
}

static int by_place(const void *a, const void *b)
{
	const Point *x = a, *y = b;
	return x->base != y->base
	    ? (x->base > y->base) - (x->base < y->base)
	    : (x->offset > y->offset) - (x->offset < y->offset);
}

/* Are two points of one base, the second further on, known to lie in one line, of a
 * buffer that begins with one? */
static bool same_line(
    Lower *l, const Ahead *p, const Points *points, Point a, Point b)
{
	DType type = l->nest->buffers.at[p->access].type;
	LowAffine form = index_address(l, points->base[a.base]);
	int64_t bytes = dtype_bytes(type);
	int64_t at = (form.constant + a.offset) * bytes;
	form.constant = 0;
	int64_t even = low_affine_align(&form, type, WORKSPACE_ALIGN);
	at = (at % even + even) % even;
	return at + (b.offset - a.offset) * bytes < even;
}

/* Leaves one point for each line: of a run of points that are less than a line apart
 * the last one's, too, where it may be another. */
static void keep_lines(Lower *l, const Ahead *p, Points *points)
{
	int64_t bytes = dtype_bytes(l->nest->buffers.at[p->access].type);
	int64_t line = l->machine->line_bytes;
	int kept = 0;
	sort(points->at, (size_t)points->n, sizeof *points->at, by_place);
	for (int i = 0; i < points->n; i++) {
		const Point x = points->at[i],
			    was = points->at[kept ? kept - 1 : 0];
		const Point next = points->at[i + 1 < points->n ? i + 1 : i];
		bool last = i + 1 == points->n || next.base != x.base ||
		    (next.offset - x.offset) * bytes >= line;
		bool near = kept && was.base == x.base &&
		    (x.offset - was.offset) * bytes < line;
		if (!near || (last && !same_line(l, p, points, was, x)))
			points->at[kept++] = x;
	}
	points->n = kept;
}

/* All at once, which the core has to keep account of. */
static void lines_ahead(Lower *l, int stage, int pos, const Ahead *p)
{
	const Stage *s = &l->nest->stages.at[stage];
	bool own = p->var == s->loops[pos];
	Points points;
	points.n = points.nbases = 0;
	points.still = NEW_N(l->arena, bool, s->nloops);
	for (int i = pos + 1; i < s->nloops; i++)
		points.still[i] = !step_of(l, stage, *p, s->loops[i]);
	find_points(l, stage, pos + 1, p, &points);
	keep_lines(l, p, &points);
	for (int i = 0; i < points.n && points.n <= BODY_ASKED_MOST; i++) {
		Point x = points.at[i];
		emit_prefetch(l, p->access,
		    index_add(l, points.base[x.base], index_const(x.offset), 1),
		    own ? LEVEL_NEXT : LEVEL_LATER);
	}
}

/* --- in parts ------------------------------------------------------------------ */

/* Of the stage's loops and all around them. */
static int count_loops(const Lower *l, int stage)
{
	const Stage *s = &l->nest->stages.at[stage];
	int n = s->nloops;
	for (int at = s->place; at >= 0; at = s->place) {
		s = &l->nest->stages.at[l->nest->vars.at[at].stage];
		n += s->nloops;
	}
	return n;
}

/* The loops inside of the one that is looked ahead of, outermost first, as far
 * as position `pos` of the stage's own; -1: the stage is not in it. */
static int loops_between(
    const Lower *l, int stage, int pos, const Ahead *p, int *vars)
{
	int n = nest_loops_above(
	    l->nest, stage, pos + 1, vars, count_loops(l, stage));
	for (int i = 0; i < n; i++)
		if (vars[i] == p->var) {
			for (int k = i + 1; k < n; k++)
				vars[k - i - 1] = vars[k];
			return n - i - 1;
		}
	return -1;
}

/* Iterations of a loop: of one around the stage those here, where its axis may end
 * sooner than its extent; of the stage's own, which may be repeated in code and cut
 * in pieces, all. */
static int64_t iterations_of(const Lower *l, int stage, int var)
{
	Interval at = range_of(l, l->part->vars[var].value);
	bool own = l->nest->vars.at[var].stage == stage;
	return own || at.lo ? loop_extent(l, var) : (int64_t)at.hi + 1;
}

/* Shares of `lines` for each loop's iterations; what is left for each of the
 * innermost. */
static int64_t share_lines(const Lower *l, int stage, const int *loops, int n,
    int64_t lines, int64_t *share)
{
	for (int i = 0; i < n; i++) {
		int64_t extent = iterations_of(l, stage, loops[i]);
		share[i] = lines = (lines + extent - 1) / extent;
	}
	return lines;
}

static bool is_running(const Lower *l, int var)
{
	return !loop_at_compile_time(l, var) &&
	    !loop_is_bound(l->nest->vars.at[var].kind);
}

/* Is the loop at `pos` the one where parts are asked for: the outermost that
 * runs and where they are small, or the last that runs? */
static bool is_place(
    const Lower *l, int stage, int pos, const Ahead *p, int64_t lines)
{
	const Stage *s = &l->nest->stages.at[stage];
	int depth = count_loops(l, stage), place = -1;
	int *vars = NEW_N(l->arena, int, depth);
	int64_t *share = NEW_N(l->arena, int64_t, depth);
	for (int i = 0; i < s->nloops; i++) {
		if (!is_running(l, s->loops[i]))
			continue;
		int n = loops_between(l, stage, i, p, vars);
		place = i;
		if (share_lines(l, stage, vars, n, lines, share) <= PART_FEW)
			break;
	}
	return place == pos;
}

/* Two of what it looks ahead to would not stay: what is read once is lost before
 * it is read.  What is read again comes from the third cache then, at most once, and
 * not from memory. */
static bool is_too_large(const Lower *l, const Ahead *p, int64_t elements)
{
	int bytes = dtype_bytes(l->nest->buffers.at[p->access].type);
	return (double)(2 * elements * bytes) >
	    KEPT * (double)l->machine->l2_bytes;
}

/* Operations for each vector once it is read: steps of the stage's loops that use
 * it; a function is so many at once. */
static int64_t uses_of(Lower *l, int stage, int pos, const Ahead *p)
{
	const Stage *s = &l->nest->stages.at[stage];
	int64_t uses = expr_has_function(s->body) ? OPERATIONS_LEAST : 1;
	for (int i = pos + 1; i < s->nloops; i++)
		if (!step_of(l, stage, *p, s->loops[i]))
			uses *= loop_extent(l, s->loops[i]);
	return uses;
}

/* Looks ahead of the loop at which what is read comes from further off than the
 * second cache, and how often an iteration of it reads that; 0: there is none. */
static int64_t look_out(Lower *l, int stage, int pos, Ahead *p)
{
	int depth = count_loops(l, stage);
	int *vars = NEW_N(l->arena, int, depth);
	int n = nest_loops_above(l->nest, stage, pos + 1, vars, depth);
	int64_t distance = p->distance;
	int64_t again = 1, reads = 1;
	int bytes = dtype_bytes(l->nest->buffers.at[p->access].type);
	double all = 0;
	Ahead loop = *p;
	bool inside = true, passed = false;
	for (int i = n - 1; i >= 0; i--) {
		int64_t extent = iterations_of(l, stage, vars[i]), elements;
		Index next;
		passed |= vars[i] == p->var;
		loop.var = vars[i];
		if (extent == 1)
			continue;
		if (!elements_ahead(l, stage, &loop, vars + i + 1, n - i - 1,
			&next, &elements))
			break;
		if (inside && passed && elements)
			p->var = vars[i]; /* it, or one around it that runs */
		inside = inside && vars[i] != p->var;
		if (inside) {
			reads *= elements ? 1 : extent;
			continue;
		}
		if (!elements && all > KEPT * (double)l->machine->l2_bytes)
			break;
		if (!elements) {
			again *= extent;
			continue;
		}
		if (again > 1 && is_too_large(l, p, elements))
			break;
		if (again > 1)
			p->var = loop.var;
		reads *= again;
		again = 1;
		all = (double)(elements / distance * extent * bytes);
	}
	bool pays = again <= AGAIN_MOST * reads &&
	    reads * uses_of(l, stage, pos, p) >= OPERATIONS_LEAST;
	return pays ? reads : 0;
}

static void part_ahead(Lower *l, int stage, int pos, Ahead p)
{
	int depth = count_loops(l, stage);
	int *vars = NEW_N(l->arena, int, depth);
	int64_t *share = NEW_N(l->arena, int64_t, depth);
	int64_t distance = p.distance, elements;
	int64_t line = l->machine->line_bytes,
		bytes = dtype_bytes(l->nest->buffers.at[p.access].type);
	Index next;
	if (loops_between(l, stage, pos, &p, vars) < 0)
		return;
	int64_t reads = look_out(l, stage, pos, &p);
	if (!reads)
		return;
	int n = loops_between(l, stage, pos, &p, vars);
	if (!elements_ahead(l, stage, &p, vars, n, &next, &elements) ||
	    elements <= 0 || line < bytes)
		return;
	if (reads == 1 && is_too_large(l, &p, elements))
		return;
	int64_t lines = (elements / distance * bytes + line - 1) / line;
	if (!is_place(l, stage, pos, &p, lines))
		return;
	int64_t part = share_lines(l, stage, vars, n, lines, share);
	for (int i = 0; i < n; i++) {
		assert(l->part->vars[vars[i]].bound);
		next = index_add(l, next, l->part->vars[vars[i]].value,
		    share[i] * (line / bytes));
	}
	for (int64_t i = 0; i < part && part <= PART_MOST; i++)
		emit_prefetch(l, p.access,
		    index_add(l, next, index_const(i * (line / bytes)), 1),
		    LEVEL_LATER);
}

/* Does a loop of the stage's read less than a line, of which all iterations are asked
 * for at once? */
static bool stays_near(Lower *l, int stage, const Ahead *p, int var)
{
	int bytes = dtype_bytes(l->nest->buffers.at[p->access].type);
	int64_t step = step_of(l, stage, *p, var);
	return step >= 0 &&
	    step * loop_extent(l, var) * bytes < l->machine->line_bytes;
}

/* Does a loop run, each iteration of which reads other lines? */
static bool brings_lines(Lower *l, int stage, const Ahead *p, int var)
{
	return is_running(l, var) && !stays_near(l, stage, p, var);
}

/* Is the loop at `pos` the innermost that does of those from the one that is looked
 * ahead of, or that one where none does inside? */
static bool is_innermost(Lower *l, int stage, int pos, const Ahead *p)
{
	const Stage *s = &l->nest->stages.at[stage];
	for (int i = pos + 1; i < s->nloops; i++)
		if (s->loops[i] == p->var ||
		    brings_lines(l, stage, p, s->loops[i]))
			return false;
	return s->loops[pos] == p->var ||
	    brings_lines(l, stage, p, s->loops[pos]);
}

/* --- windows --------------------------------------------------------------------- */

/* Neighbours in the lanes of one loop, which others inside of this one move by less
 * than those are, and rows that the next iteration reads far from these. */
static bool reads_windows(Lower *l, int stage, int pos, const Ahead *p)
{
	const Stage *s = &l->nest->stages.at[stage];
	int bytes = dtype_bytes(l->nest->buffers.at[p->access].type);
	int64_t lanes = 0;
	bool window = false;
	if (step_of(l, stage, *p, p->var) * bytes < BODY_FAR_STEP)
		return false;
	for (int i = s->nloops - 1; i > pos; i--) {
		int64_t step = step_of(l, stage, *p, s->loops[i]);
		if (loop_is_vector(l, s->loops[i]) && step == 1)
			lanes = loop_extent(l, s->loops[i]);
		else if (loop_extent(l, s->loops[i]) > 1)
			window |= step > 0 && step < lanes;
	}
	return window;
}

/* Of windows that nothing was said of. */
static void windows_ahead(Lower *l, int stage, int pos)
{
	const Stage *s = &l->nest->stages.at[stage];
	int var = s->loops[pos];
	if (!l->nest->vars.at[var].reduce || !is_running(l, var))
		return;
	for (int b = 0; b < l->nest->buffers.n; b++) {
		Ahead p = {b, var, 1};
		if (read_of(l, stage, &p) && !stage_prefetches(s, b) &&
		    reads_windows(l, stage, pos, &p) &&
		    is_innermost(l, stage, pos, &p))
			lines_ahead(l, stage, pos, &p);
	}
}

void prefetch_in(Lower *l, int stage, int pos)
{
	const Stage *s = &l->nest->stages.at[stage];
	for (int i = 0; i < s->prefetches.n; i++) {
		const Prefetch *told = &s->prefetches.at[i];
		Ahead p = {told->access, told->var,
		    tape_value(l->nest->tape, told->distance)};
		if (!read_of(l, stage, &p))
			continue; /* not at an address that is known */
		if (l->nest->vars.at[p.var].stage == stage) {
			if (is_innermost(l, stage, pos, &p))
				lines_ahead(l, stage, pos, &p);
		} else if (is_running(l, s->loops[pos])) {
			part_ahead(l, stage, pos, p);
		}
	}
	windows_ahead(l, stage, pos);
}
