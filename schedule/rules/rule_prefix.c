/* A running sum is made by blocks: within each, over those before, and again so
 * where there are many.
 *
 *     y[j] = sum[k](if k <= j then x[k] else 0)
 * -->
 *     y_w[j], y_p[b] = prefix(y.k, 16)      y[j] = y_w[j] + y_p[j // 16]
 *
 * Blocks are as long as a vector along the last axis.  Along others lanes are
 * columns, and each row is made from the one before:
 *
 *     carry(y.k)                             y[j, c] = y[j - 1, c] + x[j, c]
 *
 * unless the sum is kept in another type than it is added in; then blocks are
 * short, since each row of one adds those before it anew.  The other rules see
 * the program as it is then, without what is carried. */
#include "schedule/rules/rules.h"

#include <string.h>

enum { ROWS = 8, TIMES_MOST = 8, LEAST = 64 };
enum { WHOLE = 1 << 16, CARRIES = 1 << 17 }; /* and an axis */

/* --- the program as it is then ---------------------------------------------------- */

static void make_prefix(Arena *arena, Program *p, int at, const Prefix *x,
    int64_t size, const char *within, const char *before)
{
	Block old = p->blocks[at];
	Block w = rule_block_like(arena, &old, within);
	Block b = rule_block_like(arena, &old, before);
	int64_t nj = old.axes[x->j].extent;
	w.axes[x->k] = (Axis){"x0", size, true};
	b.axes[x->k] = (Axis){"x0", (nj - 1) / size, true};
	b.axes[x->j] = (Axis){"x1", (nj - 1) / size + 1, false};
	w.buffer = rule_add_buffer(arena, p, &w, p->buffers[old.buffer].type);
	b.buffer = rule_add_buffer(arena, p, &b, p->buffers[old.buffer].type);
	w.body = prefix_within(arena, x, old.body, old.naxes, size);
	b.body = prefix_before(
	    arena, x, old.body, old.naxes, old.nspatial, size, w.buffer);
	rule_add_block(arena, p, at, w);
	rule_add_block(arena, p, at + 1, b);
	Block *y = &p->blocks[at + 2];
	y->reduce = REDUCE_NONE;
	y->naxes = y->nspatial;
	y->body = prefix_whole(arena, x, old.body->type, old.nspatial, size,
	    w.buffer, b.buffer);
}

static void make_carried(Arena *arena, Program *p, int at, const Prefix *x)
{
	Block *b = &p->blocks[at];
	b->body = prefix_added(arena, x, b->body, b->naxes);
	b->reduce = REDUCE_NONE;
	b->naxes = b->nspatial;
	p->buffers[b->buffer].once = true; /* nobody makes it again */
}

/* --- which ------------------------------------------------------------------------- */

static bool is_running(Arena *arena, const Program *p, int i, Prefix *x)
{
	const Block *b = &p->blocks[i];
	if (b->reduce == REDUCE_NONE || b->naxes != b->nspatial + 1)
		return false;
	for (int j = 0; j < b->nspatial; j++)
		if (prefix_find(
			arena, b->body, b->reduce, j, b->nspatial, x))
			return true;
	return false;
}

static bool is_down_columns(const Block *b, const Prefix *x)
{
	for (int j = x->j + 1; j < b->nspatial; j++)
		if (b->axes[j].extent > 1)
			return true;
	return false;
}

static int64_t size_of(const Machine *machine, const Block *b, const Prefix *x)
{
	int lanes = rule_lanes(machine, b->body->type);
	return is_down_columns(b, x) || lanes < ROWS ? ROWS : lanes;
}

static bool is_carried(const Program *p, const Block *b, const Prefix *x)
{
	return is_down_columns(b, x) &&
	    p->buffers[b->buffer].type == b->body->type &&
	    prefix_carries(x, b->axes[x->j].extent, b->axes[x->k].extent);
}

const Program *rule_prefix(Arena *arena, const Program *program,
    const Machine *machine, Buf *steps, int **running)
{
	Program *p = rule_copy_program(arena, program);
	int times = 0, made = program->nbuffers + 2 * TIMES_MOST;
	*running = NEW_N(arena, int, made);
	for (int i = 0; i < made; i++)
		(*running)[i] = -1;
	for (int i = 0; i < p->nblocks && times < TIMES_MOST; i++) {
		const Block *b = &p->blocks[i];
		Prefix x;
		if (!is_running(arena, p, i, &x))
			continue;
		if (is_carried(p, b, &x)) {
			buf_printf(steps, "carry(%s.%s)\n", b->name,
			    b->axes[x.k].name);
			make_carried(arena, p, i, &x);
			(*running)[b->buffer] = CARRIES + x.j;
			continue;
		}
		if (rule_keeps_order(p, b))
			continue;
		int64_t size = size_of(machine, b, &x);
		int64_t nj = b->axes[x.j].extent, nk = b->axes[x.k].extent;
		if (nj < LEAST || !prefix_fits(&x, size, nj, nk))
			continue;
		const char *w = rule_new_name(arena, p, b, "w");
		const char *before = rule_new_name(arena, p, b, "p");
		buf_printf(steps, "%s, %s = prefix(%s.%s, %lld)\n", w, before,
		    b->name, b->axes[x.k].name, (long long)size);
		make_prefix(arena, p, i, &x, size, w, before);
		(*running)[p->nbuffers - 1] = (*running)[p->nbuffers - 2] = x.j;
		(*running)[p->blocks[i + 2].buffer] = WHOLE + x.j;
		times++;
	}
	return p;
}

bool rule_is_running(const Rules *r, int block)
{
	int axis = r->running[r->program->blocks[block].buffer];
	return axis >= 0 && axis < WHOLE;
}

int rule_running_whole(const Rules *r, int block)
{
	int axis = r->running[r->program->blocks[block].buffer];
	return axis >= WHOLE && axis < CARRIES ? axis - WHOLE : -1;
}

int rule_carries(const Rules *r, int block)
{
	int axis = r->running[r->program->blocks[block].buffer];
	return axis >= CARRIES ? axis - CARRIES : -1;
}
