/* What would be computed again gets a block and a buffer of its own.
 *
 *     y[i, j] = sum[k]((x[i, k] - m[i])/sqrt(v[i]) * w[k, j])
 *   ->
 *     y~1[i, k] = (x[i, k] - m[i])/sqrt(v[i])
 *     y[i, j] = sum[k](y~1[i, k] * w[k, j])
 *
 * where it does not vary along axes that it is computed along, and
 *
 *     s[i] = sum[k](exp(x[i, k] - m[i]))
 *     y[i, j] = exp(x[i, j] - m[i])/s[i]
 *   ->
 *     s~1[i, k] = exp(x[i, k] - m[i])
 *     s[i] = sum[k](s~1[i, k])
 *     y[i, j] = s~1[i, j]/s[i]
 *
 * where two blocks need a function of the same.  The buffer lies as what it is
 * computed of, and has the type of the value, so that no bit changes; a schedule
 * may inline the block again.  What stands under a condition stays there, for
 * its reads may be in bounds only there.  Definitions, and with them the
 * operator's key, are as they were. */
#include "ir/spec/spec.h"

#include <assert.h>
#include <string.h>

enum {
	REPEATED = 16,   /* times that it would be computed */
	CHEAP_FLOPS = 2, /* are computed again */
	BLOCKS_MOST = 512, /* of a program that is looked through */
};
static const int64_t BYTES_MOST = 1 << 28;

typedef struct {
	Arena *arena;
	BufferVec *buffers;
	BlockVec *blocks;
} Share;

static Block *block_at(const Share *s, int i)
{
	return &s->blocks->at[i];
}

/* --- what it costs ------------------------------------------------------------- */

typedef struct {
	int flops;
	bool function, division;
} Work;

static bool is_function(const Expr *e)
{
	return e->op >= OP_POW && e->op <= OP_ERF;
}

static bool add_work(Expr *e, void *context)
{
	Work *w = context;
	if (e->type == DT_INDEX)
		return false;
	w->flops += e->op >= OP_ADD && e->op <= OP_ROUND;
	w->function |= is_function(e);
	w->division |= e->op == OP_DIV;
	return e->op != OP_READ;
}

static Work work_of(Expr *e)
{
	Work w = {0};
	expr_walk(e, add_work, &w);
	return w;
}

/* More than a few instructions: a root is one, and so is its reciprocal. */
static bool is_dear(const Expr *e)
{
	if (is_function(e) && e->op != OP_SQRT && e->op != OP_RSQRT)
		return true;
	for (int i = 0; e->op != OP_READ && i < e->narg; i++)
		if (is_dear(e->arg[i]))
			return true;
	return false;
}

static bool *axes_of(const Share *s, const Block *b, Expr *e)
{
	bool *uses = NEW_N(s->arena, bool, b->naxes);
	expr_mark_axes(e, uses);
	return uses;
}

/* Only what is computed at every point can be computed ahead. */
static bool is_whole(const Expr *e)
{
	return e->op != OP_IF && e->op != OP_AND && e->op != OP_OR &&
	    e->op != OP_READ && e->type != DT_INDEX && e->type != DT_BOOL;
}

static bool fits(const Block *b, const Expr *e, const bool *uses)
{
	int64_t bytes = dtype_bytes(e->type);
	for (int a = 0; a < b->naxes; a++)
		if (uses[a] && __builtin_mul_overflow(
				   bytes, b->axes[a].extent, &bytes))
			return false;
	return bytes <= BYTES_MOST;
}

/* --- a block of its own ------------------------------------------------------- */

static const char *next_name(const Share *s, int definition)
{
	const char *name = NULL;
	int n = 0;
	for (int i = 0; i < s->blocks->n; i++)
		if (block_at(s, i)->definition == definition) {
			name = block_at(s, i)->name;
			n++;
		}
	int length = (int)strcspn(name, "~");
	return arena_printf(s->arena, "%.*s~%d", length, name, n);
}

static void insert(Share *s, int at, Block b)
{
	for (int i = 0; i < s->buffers->n; i++)
		s->buffers->at[i].block += s->buffers->at[i].block >= at;
	vec_push(s->arena, s->blocks, b);
	memmove(&s->blocks->at[at + 1], &s->blocks->at[at],
	    sizeof b * (size_t)(s->blocks->n - 1 - at));
	s->blocks->at[at] = b;
	s->buffers->at[b.buffer].block = at;
}

/* The axes that a value varies along, in the order of its buffer. */
typedef struct {
	int n, *axis;
	bool done;
} Order;

/* Are the indices of a read axes, each another one? */
static bool is_plain(const Expr *read)
{
	for (int i = 0; i < read->narg; i++) {
		if (read->arg[i]->op != OP_AXIS)
			return false;
		for (int k = 0; k < i; k++)
			if (read->arg[k]->id == read->arg[i]->id)
				return false;
	}
	return true;
}

/* Takes the first read along as many axes as there are in the order. */
static bool order_by(Expr *e, void *context)
{
	Order *order = context;
	if (e->op != OP_READ || order->done || e->narg != order->n ||
	    !is_plain(e))
		return true;
	for (int i = 0; i < e->narg; i++)
		order->axis[i] = e->arg[i]->id;
	order->done = true;
	return false;
}

static Order block_order(const Share *s, const Block *b, Expr *e)
{
	const bool *uses = axes_of(s, b, e);
	Order order = {.axis = NEW_N(s->arena, int, b->naxes)};
	for (int a = 0; a < b->naxes; a++)
		if (uses[a])
			order.axis[order.n++] = a;
	return order;
}

/* As something lies that it is computed of and that varies along all of them,
 * so that both are read side by side; else as the block has them. */
static Order order_of(const Share *s, const Block *b, Expr *e)
{
	Order order = block_order(s, b, e);
	expr_walk(e, order_by, &order);
	return order;
}

/* A block before block `at` that computes `e` of it; returns its buffer.  The
 * axes of `order` become its own. */
static int outline(Share *s, int at, Expr *e, const Order *order)
{
	const Block *from = block_at(s, at);
	int n = from->naxes;
	Expr **value = NEW_N(s->arena, Expr *, n);
	Block b = {.name = next_name(s, from->definition),
	    .buffer = s->buffers->n,
	    .axes = NEW_N(s->arena, Axis, n),
	    .definition = from->definition};
	Buffer buffer = {.name = b.name,
	    .type = e->type,
	    .shape = NEW_N(s->arena, int64_t, n),
	    .role = BUFFER_TEMP,
	    .block = -1,
	    .span = s->buffers->at[from->buffer].span};
	for (int i = 0; i < order->n; i++) {
		int a = order->axis[i];
		value[a] = expr_axis(s->arena, b.naxes);
		b.axes[b.naxes] = from->axes[a];
		b.axes[b.naxes].reduce = false;
		buffer.shape[b.naxes++] = from->axes[a].extent;
	}
	b.nspatial = buffer.ndim = b.naxes;
	b.body = expr_substitute_axes(s->arena, e, value, n);
	vec_push(s->arena, s->buffers, buffer);
	insert(s, at, b);
	return b.buffer;
}

typedef struct {
	const Expr *from;
	Expr *to;
} Replace;

static Expr *replace_node(Arena *arena, Expr *e, void *context)
{
	const Replace *r = context;
	(void)arena;
	return expr_equal(e, r->from) ? r->to : e;
}

/* `e` becomes a read of the buffer at the axes `index`. */
static void read_instead(
    Share *s, int block, const Expr *e, int buffer, Expr **index)
{
	const Buffer *b = &s->buffers->at[buffer];
	Replace r = {e, expr_read(s->arena, b->type, buffer, index, b->ndim)};
	r.to->span = e->span;
	block_at(s, block)->body = expr_rewrite(
	    s->arena, block_at(s, block)->body, replace_node, &r);
}

static Expr **index_of(const Share *s, const Order *order)
{
	Expr **index = NEW_N(s->arena, Expr *, order->n);
	for (int i = 0; i < order->n; i++)
		index[i] = expr_axis(s->arena, order->axis[i]);
	return index;
}

/* --- what does not vary --------------------------------------------------------- */

/* How often it would be computed: along spatial axes outside of one that it
 * varies along, since what varies along outer ones alone leaves the loops. */
static double repeats(const Block *b, const bool *uses)
{
	double n = 1;
	int last = b->naxes - 1;
	while (last >= 0 && !uses[last])
		last--;
	for (int a = 0; a < b->nspatial && a < last; a++)
		if (!uses[a])
			n *= (double)b->axes[a].extent;
	return n;
}

static bool is_invariant(const Share *s, const Block *b, Expr *e)
{
	const bool *uses = axes_of(s, b, e);
	Work w = work_of(e);
	bool worth = b->reduce == REDUCE_NONE
	    ? w.function || w.division
	    : w.function || w.flops > CHEAP_FLOPS;
	return worth && repeats(b, uses) >= REPEATED && fits(b, e, uses);
}

/* The first largest one; NULL. */
static Expr *find_invariant(const Share *s, const Block *b, Expr *e)
{
	Expr *found = NULL;
	if (!is_whole(e))
		return NULL;
	if (is_invariant(s, b, e))
		return e;
	for (int i = 0; i < e->narg && !found; i++)
		found = find_invariant(s, b, e->arg[i]);
	return found;
}

static void outline_invariants(Share *s)
{
	for (int i = 0; i < s->blocks->n; i++) {
		const Block *b = block_at(s, i);
		Expr *e = find_invariant(s, b, b->body);
		if (!e)
			continue;
		Order order = order_of(s, b, e);
		Expr **index = index_of(s, &order);
		int buffer = outline(s, i, e, &order);
		read_instead(s, i + 1, e, buffer, index);
		/* the new block is looked at next, then this one again */
		i--;
	}
}

/* --- what two blocks compute ------------------------------------------------------ */

/* Axes of one block to those of another, -1 where there is none yet. */
typedef struct {
	const Block *a, *b;
	int *map;
} Match;

static bool match_axis(Match *m, int a, int b)
{
	if (m->map[a] >= 0)
		return m->map[a] == b;
	for (int i = 0; i < m->a->naxes; i++)
		if (m->map[i] == b)
			return false;
	m->map[a] = b;
	return m->a->axes[a].extent == m->b->axes[b].extent;
}

static bool match(Match *m, const Expr *a, const Expr *b)
{
	bool same = a->op == b->op && a->type == b->type && a->narg == b->narg;
	if (same && a->op == OP_AXIS)
		return match_axis(m, a->id, b->id);
	if (same && a->op == OP_READ && a->id != b->id)
		return false;
	if (same && !a->narg && a->op != OP_READ)
		return expr_equal(a, b);
	for (int i = 0; same && i < a->narg; i++)
		same = match(m, a->arg[i], b->arg[i]);
	return same;
}

static Match new_match(const Share *s, int a, int b)
{
	Match m = {block_at(s, a), block_at(s, b),
	    NEW_N(s->arena, int, block_at(s, a)->naxes)};
	for (int i = 0; i < m.a->naxes; i++)
		m.map[i] = -1;
	return m;
}

/* The largest dear part of `e`, of block a, that is equal to `other`; the axes
 * that go with each other are left in the match. */
static Expr *find_equal(
    const Share *s, Match *m, int a, int b, Expr *e, const Expr *other)
{
	Expr *found = NULL;
	if (!is_whole(e) || !is_dear(e))
		return NULL;
	*m = new_match(s, a, b);
	if (match(m, e, other))
		return e;
	for (int i = 0; i < e->narg && !found; i++)
		found = find_equal(s, m, a, b, e->arg[i], other);
	return found;
}

/* Does a block write what is looked for, at each of its axes? */
static bool is_written(const Share *s, const Match *m, const Expr *e)
{
	for (int i = 0; i < m->a->naxes; i++)
		if (m->map[i] < 0)
			return false;
	return m->a->reduce == REDUCE_NONE && m->a->body == e &&
	    s->buffers->at[m->a->buffer].type == e->type;
}

/* Both have it in common along some rows, and they are not reductions of the
 * same loops, which share what is computed in these. */
static bool is_worth_storing(const Share *s, const Match *m, Expr *e)
{
	const Block *a = m->a, *b = m->b;
	const bool *uses = axes_of(s, a, e);
	bool rows = false, same = a->naxes == b->naxes;
	for (int i = 0; i < a->nspatial; i++)
		rows |= uses[i] && a->axes[i].extent > 1 &&
		    m->map[i] < b->nspatial;
	for (int i = 0; i < a->naxes && same; i++)
		same = a->axes[i].extent == b->axes[i].extent;
	same &= a->reduce != REDUCE_NONE && b->reduce != REDUCE_NONE;
	return rows && !same && fits(a, e, uses) &&
	    (a->reduce != REDUCE_NONE || b->reduce != REDUCE_NONE);
}

/* The other block's axes that go with those. */
static Expr **mapped(const Share *s, const Match *m, const Order *order)
{
	Expr **index = NEW_N(s->arena, Expr *, order->n);
	for (int i = 0; i < order->n; i++)
		index[i] = expr_axis(s->arena, m->map[order->axis[i]]);
	return index;
}

/* Some part of block b that an earlier block computes, too, is read from where
 * it is stored; true where there was one.  The number of b may change. */
static bool share_part(Share *s, int *b, Expr *e)
{
	if (!is_whole(e) || !is_dear(e))
		return false;
	for (int a = 0; a < *b; a++) {
		Match m;
		Expr *equal =
		    find_equal(s, &m, a, *b, block_at(s, a)->body, e);
		if (!equal)
			continue;
		if (is_written(s, &m, equal)) {
			Order all = block_order(s, m.a, equal);
			read_instead(
			    s, *b, e, m.a->buffer, mapped(s, &m, &all));
			return true;
		}
		if (!is_worth_storing(s, &m, equal))
			continue;
		Order order = order_of(s, m.a, equal);
		Expr **here = index_of(s, &order);
		Expr **there = mapped(s, &m, &order);
		int buffer = outline(s, a, equal, &order);
		++*b;
		read_instead(s, a + 1, equal, buffer, here);
		read_instead(s, *b, e, buffer, there);
		return true;
	}
	for (int i = 0; i < e->narg; i++)
		if (share_part(s, b, e->arg[i]))
			return true;
	return false;
}

static void share_functions(Share *s)
{
	for (int b = 1; b < s->blocks->n; b++)
		while (share_part(s, &b, block_at(s, b)->body))
			;
}

void blocks_share(Arena *arena, BufferVec *buffers, BlockVec *blocks)
{
	Share s = {.arena = arena, .buffers = buffers, .blocks = blocks};
	if (blocks->n > BLOCKS_MOST)
		return;
	outline_invariants(&s);
	share_functions(&s);
}
