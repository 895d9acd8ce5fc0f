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
	REPEATED = 16,	   /* times that it would be computed */
	CHEAP_FLOPS = 2,   /* are computed again */
	BLOCKS_MOST = 512, /* then no more is taken out */
};
static const int64_t BYTES_MOST = 1 << 28;

typedef struct {
	Arena *arena;
	Summaries *seen;
	BufferVec *buffers;
	BlockVec *blocks;
	/* `alike` of what blocks before the one at hand compute: open
	 * addressing, 0 is free */
	uint64_t *alike;
	int nslots, nalike;
} Share;

static Block *block_at(const Share *s, int i)
{
	return &s->blocks->at[i];
}

/* --- what it costs ------------------------------------------------------------- */

static const Summary *summary(const Share *s, const Expr *e)
{
	return summary_of(s->seen, e);
}

/* More than a few instructions: a root is one, and so is its reciprocal. */
static bool is_dear(const Share *s, const Expr *e)
{
	return summary(s, e)->dear;
}

/* Only what is computed at every point can be computed ahead. */
static bool is_whole(const Expr *e)
{
	return e->op != OP_IF && e->op != OP_AND && e->op != OP_OR &&
	    e->op != OP_READ && e->type != DT_INDEX && e->type != DT_BOOL;
}

static bool fits(const Share *s, const Block *b, const Expr *e)
{
	const AxisSet *uses = summary(s, e)->axes;
	int64_t bytes = dtype_bytes(e->type);
	for (int i = 0; i < uses->n; i++)
		if (__builtin_mul_overflow(
			bytes, b->axes[uses->axis[i]].extent, &bytes))
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
} AxisOrder;

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
	AxisOrder *order = context;
	if (e->op != OP_READ || order->done || e->narg != order->n ||
	    !is_plain(e))
		return true;
	for (int i = 0; i < e->narg; i++)
		order->axis[i] = e->arg[i]->id;
	order->done = true;
	return false;
}

static AxisOrder block_order(const Share *s, const Expr *e)
{
	const AxisSet *uses = summary(s, e)->axes;
	AxisOrder order = {.n = uses->n, .axis = NEW_N(s->arena, int, uses->n)};
	for (int i = 0; i < uses->n; i++)
		order.axis[i] = uses->axis[i];
	return order;
}

/* As something lies that it is computed of and that varies along all of them,
 * so that both are read side by side; else as the block has them. */
static AxisOrder order_of(const Share *s, Expr *e)
{
	AxisOrder order = block_order(s, e);
	expr_walk(e, order_by, &order);
	return order;
}

/* A block before block `at` that computes `e` of it; returns its buffer.  The
 * axes of `order` become its own. */
static int outline(Share *s, int at, Expr *e, const AxisOrder *order)
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
	const Share *share;
	const Expr *from;
	Expr *to;
} Replace;

static Expr *replace_node(Arena *arena, Expr *e, void *context)
{
	const Replace *r = context;
	(void)arena;
	return summary_equal(r->share->seen, e, r->from) ? r->to : e;
}

/* `e` becomes a read of the buffer at the axes `index`. */
static void read_instead(
    Share *s, int block, const Expr *e, int buffer, Expr **index)
{
	const Buffer *b = &s->buffers->at[buffer];
	Replace r = {
	    s, e, expr_read(s->arena, b->type, buffer, index, b->ndim)};
	r.to->span = e->span;
	block_at(s, block)->body = expr_rewrite(
	    s->arena, block_at(s, block)->body, replace_node, &r);
}

static Expr **index_of(const Share *s, const AxisOrder *order)
{
	Expr **index = NEW_N(s->arena, Expr *, order->n);
	for (int i = 0; i < order->n; i++)
		index[i] = expr_axis(s->arena, order->axis[i]);
	return index;
}

/* --- what does not vary --------------------------------------------------------- */

/* How often it would be computed: along spatial axes outside of one that it
 * varies along, since what varies along outer ones alone leaves the loops. */
static double repeats(const Block *b, const AxisSet *uses)
{
	double n = 1;
	int last = uses->n ? uses->axis[uses->n - 1] : -1, i = 0;
	for (int a = 0; a < b->nspatial && a < last; a++)
		if (a == uses->axis[i])
			i++;
		else
			n *= (double)b->axes[a].extent;
	return n;
}

static bool is_invariant(const Share *s, const Block *b, Expr *e)
{
	const Summary *w = summary(s, e);
	bool worth = b->reduce == REDUCE_NONE
	    ? w->function || w->division
	    : w->function || w->flops > CHEAP_FLOPS;
	return worth && repeats(b, w->axes) >= REPEATED && fits(s, b, e);
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
	for (int i = 0; i < s->blocks->n && s->blocks->n <= BLOCKS_MOST; i++) {
		const Block *b = block_at(s, i);
		Expr *e = find_invariant(s, b, b->body);
		if (!e)
			continue;
		AxisOrder order = order_of(s, e);
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
} BlockMatch;

static bool match_axis(BlockMatch *m, int a, int b)
{
	if (m->map[a] >= 0)
		return m->map[a] == b;
	for (int i = 0; i < m->a->naxes; i++)
		if (m->map[i] == b)
			return false;
	m->map[a] = b;
	return m->a->axes[a].extent == m->b->axes[b].extent;
}

static bool match(BlockMatch *m, const Expr *a, const Expr *b)
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

static BlockMatch new_match(const Share *s, int a, int b)
{
	BlockMatch m = {block_at(s, a), block_at(s, b),
	    NEW_N(s->arena, int, block_at(s, a)->naxes)};
	for (int i = 0; i < m.a->naxes; i++)
		m.map[i] = -1;
	return m;
}

/* The largest dear part of `e`, of block a, that is equal to `other`; the axes
 * that go with each other are left in the match. */
static Expr *find_equal(
    const Share *s, BlockMatch *m, int a, int b, Expr *e, const Expr *other)
{
	Expr *found = NULL;
	if (!is_whole(e) || !is_dear(s, e))
		return NULL;
	if (summary(s, e)->alike == summary(s, other)->alike) {
		*m = new_match(s, a, b);
		if (match(m, e, other))
			return e;
	}
	for (int i = 0; i < e->narg && !found; i++)
		found = find_equal(s, m, a, b, e->arg[i], other);
	return found;
}

/* Does a block write what is looked for, at each of its axes? */
static bool is_written(const Share *s, const BlockMatch *m, const Expr *e)
{
	for (int i = 0; i < m->a->naxes; i++)
		if (m->map[i] < 0)
			return false;
	return m->a->reduce == REDUCE_NONE && m->a->body == e &&
	    s->buffers->at[m->a->buffer].type == e->type;
}

/* They are no reductions of the same loops, which share what is computed in
 * these. */
static bool may_store(const Block *a, const Block *b)
{
	bool same = a->naxes == b->naxes && a->reduce != REDUCE_NONE &&
	    b->reduce != REDUCE_NONE;
	for (int i = 0; i < a->naxes && same; i++)
		same = a->axes[i].extent == b->axes[i].extent;
	return !same && (a->reduce != REDUCE_NONE || b->reduce != REDUCE_NONE);
}

/* Both have it in common along some rows. */
static bool is_worth_storing(const Share *s, const BlockMatch *m, Expr *e)
{
	const Block *a = m->a, *b = m->b;
	const AxisSet *uses = summary(s, e)->axes;
	bool rows = false;
	for (int i = 0; i < uses->n && uses->axis[i] < a->nspatial; i++)
		rows |= a->axes[uses->axis[i]].extent > 1 &&
		    m->map[uses->axis[i]] < b->nspatial;
	return rows && may_store(a, b) && fits(s, a, e);
}

/* The other block's axes that go with those. */
static Expr **mapped(
    const Share *s, const BlockMatch *m, const AxisOrder *order)
{
	Expr **index = NEW_N(s->arena, Expr *, order->n);
	for (int i = 0; i < order->n; i++)
		index[i] = expr_axis(s->arena, m->map[order->axis[i]]);
	return index;
}

static uint64_t *alike_slot(const Share *s, uint64_t alike)
{
	unsigned at = (unsigned)alike;
	for (;; at++) {
		uint64_t *slot = &s->alike[at & (unsigned)(s->nslots - 1)];
		if (!*slot || *slot == alike)
			return slot;
	}
}

static void grow_alike(Share *s)
{
	uint64_t *old = s->alike;
	int n = s->nslots;
	s->nslots = n ? n * 2 : 64;
	s->alike = NEW_N(s->arena, uint64_t, s->nslots);
	for (int i = 0; i < n; i++)
		if (old[i])
			*alike_slot(s, old[i]) = old[i];
}

static void add_alikes(Share *s, const Expr *e)
{
	if (!is_whole(e) || !is_dear(s, e))
		return;
	if (s->nalike * 2 >= s->nslots)
		grow_alike(s);
	uint64_t alike = summary(s, e)->alike, *slot = alike_slot(s, alike);
	s->nalike += !*slot;
	*slot = alike;
	for (int i = 0; i < e->narg; i++)
		add_alikes(s, e->arg[i]);
}

/* Some part of block b that an earlier block computes, too, is read from where
 * it is stored; true where there was one.  The number of b may change. */
static bool share_part(Share *s, int *b, Expr *e)
{
	if (!is_whole(e) || !is_dear(s, e))
		return false;
	bool known = *alike_slot(s, summary(s, e)->alike) != 0;
	for (int a = 0; known && a < *b; a++) {
		BlockMatch m;
		if (block_at(s, a)->reduce != REDUCE_NONE &&
		    !may_store(block_at(s, a), block_at(s, *b)))
			continue;
		Expr *equal =
		    find_equal(s, &m, a, *b, block_at(s, a)->body, e);
		if (!equal)
			continue;
		if (is_written(s, &m, equal)) {
			AxisOrder all = block_order(s, equal);
			read_instead(
			    s, *b, e, m.a->buffer, mapped(s, &m, &all));
			return true;
		}
		if (!is_worth_storing(s, &m, equal))
			continue;
		AxisOrder order = order_of(s, equal);
		Expr **here = index_of(s, &order);
		Expr **there = mapped(s, &m, &order);
		int buffer = outline(s, a, equal, &order);
		++*b;
		read_instead(s, a + 1, equal, buffer, here);
		read_instead(s, *b, e, buffer, there);
		add_alikes(s, block_at(s, a + 1)->body);
		return true;
	}
	for (int i = 0; i < e->narg; i++)
		if (share_part(s, b, e->arg[i]))
			return true;
	return false;
}

static void share_functions(Share *s)
{
	grow_alike(s);
	for (int b = 0; b < s->blocks->n && s->blocks->n <= BLOCKS_MOST; b++) {
		while (share_part(s, &b, block_at(s, b)->body))
			;
		add_alikes(s, block_at(s, b)->body);
	}
}

void blocks_share(Arena *arena, BufferVec *buffers, BlockVec *blocks)
{
	Arena *own = arena_child(arena);
	Share s = {.arena = arena,
	    .seen = summaries_new(own),
	    .buffers = buffers,
	    .blocks = blocks};
	outline_invariants(&s);
	share_functions(&s);
	arena_free(own);
}
