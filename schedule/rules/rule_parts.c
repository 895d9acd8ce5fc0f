/* A reduction with fewer vectors of results than there are threads to make them is
 * made in parts, which are then reduced.
 *
 *     for i for j  s[j] += a[i, j]
 * -->
 *     s_i_part, s_i_rest = split(s.i, [_, each]);  s_parts = rfactor(s_i_part)
 *
 *     for part for j for rest  s_parts[part, j] += a[part*each + rest, j]
 *     for j for part           s[j] += s_parts[part, j]
 *
 * Of a few results that fill no vector lanes are along parts of every n-th step:
 *
 *     for rest for c for part  s_parts[part, c] += a[rest*n + part, c]
 *
 * The other rules see the program as it is then.  Where an operand lies side by side
 * along the reduction, lanes and threads do (rule_row.c). */
#include "schedule/rules/rules.h"

#include <string.h>

enum {
	VECTORS = 2,	   /* of results for each thread, that need no parts */
	FEW = 4,	   /* results that lanes are not along */
	PARTS = 4,	   /* for each thread */
	CHAINS = 8,	   /* of one thread: sums wait for themselves */
	PART_LEAST = 512,  /* steps of a part */
	CHAIN_LEAST = 128, /* where all are of one thread */
	TIMES_MOST = 16	   /* buffers that are added: rule_room */
};

typedef struct {
	int axis;
	int64_t each, n; /* values of the axis in a part; parts */
	bool within;	 /* every n-th value is in a part */
} Parts;

static bool is_moved(const Block *b, const Expr *read)
{
	bool moves = false;
	for (int a = b->nspatial; a < b->naxes; a++)
		moves |= expr_has_axis(read, a);
	return moves;
}

/* The operand that steps move and that lies side by side along the results; NULL. */
static const Expr *find_along(const Program *p, const Block *b, const Expr *e)
{
	int last = e->op == OP_READ ? rule_last_dim(&p->buffers[e->id]) : -1;
	const Expr *found = NULL;
	if (last >= 0) {
		int axis = rule_axis_of(e->arg[last]);
		return axis >= 0 && axis < b->nspatial &&
			b->axes[axis].extent > 1 && is_moved(b, e)
		    ? e
		    : NULL;
	}
	for (int i = 0; i < e->narg && !found; i++)
		found = find_along(p, b, e->arg[i]);
	return found;
}

/* By block: does it lead to that one, or that one to it? */
static bool *linked_to(Arena *arena, const Program *p, int at)
{
	bool *linked = NEW_N(arena, bool, p->nblocks);
	linked[at] = true;
	for (int i = at; i > 0; i--)
		for (int k = 0; k < i && linked[i]; k++)
			linked[k] |= expr_find_read(p->blocks[i].body,
					 p->blocks[k].buffer) != NULL;
	for (int i = at + 1; i < p->nblocks; i++)
		for (int k = at; k < i && !linked[i]; k++)
			linked[i] = linked[k] &&
			    expr_find_read(
				p->blocks[i].body, p->blocks[k].buffer);
	return linked;
}

/* Does another reduction read what it reads, and neither what leads to the other?
 * Both are made in one pass then (rule_with.c). */
static bool shares_reads(Arena *arena, const Program *p, const Block *b)
{
	const bool *linked = linked_to(arena, p, (int)(b - p->blocks));
	for (int i = 0; i < p->nblocks; i++)
		for (int x = 0; x < p->nbuffers && !linked[i]; x++)
			if (p->buffers[x].ndim &&
			    p->blocks[i].reduce != REDUCE_NONE &&
			    expr_find_read(b->body, x) &&
			    expr_find_read(p->blocks[i].body, x))
				return true;
	return false;
}

/* How many parts are worth it, at most; 0: none. */
static int64_t most_of(
    Arena *arena, const Program *p, const Block *b, const Machine *machine)
{
	int lanes = rule_lanes(machine, p->buffers[b->buffer].type);
	double results = block_points(b, 0, b->nspatial);
	double steps = block_steps(b);
	int64_t threads = machine->threads > 1 ? machine->threads : 1;
	int64_t most = threads > 1 ? PARTS * threads : CHAINS;
	if (b->reduce == REDUCE_NONE || rule_keeps_order(p, b) ||
	    results > lanes * VECTORS * threads ||
	    steps < most * (threads > 1 ? PART_LEAST : CHAIN_LEAST) ||
	    !find_along(p, b, b->body) || shares_reads(arena, p, b))
		return 0;
	return most;
}

/* The outermost axis that is long enough. */
static bool choose(const Block *b, int64_t most, int64_t step, Parts *out)
{
	for (int a = b->nspatial; a < b->naxes; a++) {
		int64_t n = b->axes[a].extent;
		if (n < most)
			continue;
		int64_t each = parts_each(n, most, step);
		*out = (Parts){a, each, (n + each - 1) / each, false};
		return true;
	}
	return false;
}

/* --- the program as it is then ---------------------------------------------------- */

/* As rfactor makes it: the parts are the first axis. */
static Block block_of_parts(Arena *arena, const Block *old, const Parts *x,
    const char *name, const char *part, const char *rest)
{
	Block b = *old;
	b.name = name;
	b.naxes++;
	b.nspatial++;
	b.axes = NEW_N(arena, Axis, b.naxes);
	b.axes[0] = (Axis){part, x->n, false};
	memcpy(&b.axes[1], old->axes, sizeof *b.axes * (size_t)old->naxes);
	b.axes[x->axis + 1] = (Axis){rest, x->each, true};
	b.body = parts_body(arena, old->body, old->reduce, old->naxes, x->axis,
	    old->axes[x->axis].extent, x->within ? 1 : x->each,
	    x->within ? x->n : 1);
	return b;
}

static void make_parts(Arena *arena, Program *p, int at, const Parts *x,
    const char *name, const char *part, const char *rest)
{
	Block b =
	    block_of_parts(arena, &p->blocks[at], x, name, part, rest);
	b.buffer = rule_add_buffer(arena, p, &b, b.body->type);
	rule_add_block(arena, p, at, b);
	Block *s = &p->blocks[at + 1];
	Axis *axes = NEW_N(arena, Axis, s->nspatial + 1);
	memcpy(axes, s->axes, sizeof *axes * (size_t)s->nspatial);
	axes[s->nspatial] = (Axis){part, x->n, true};
	s->axes = axes;
	s->naxes = s->nspatial + 1;
	s->body = parts_read(arena, b.body->type, b.buffer, s->nspatial);
}

/* A few results: lanes are along the axis whose steps lie
 * behind each other, a part for each. */
static bool choose_lanes(
    const Program *p, const Block *b, const Machine *m, Parts *out)
{
	int lanes = rule_lanes(m, b->body->type), n = lanes * 2;
	const Expr *e = find_along(p, b, b->body);
	int last = e ? rule_last_dim(&p->buffers[e->id]) : 0;
	int axis = last > 0 ? rule_axis_of(e->arg[last - 1]) : -1;
	if (m->threads > 1 || axis < b->nspatial || b->axes[axis].extent < n ||
	    block_points(b, 0, b->nspatial) > FEW)
		return false;
	*out = (Parts){axis, (b->axes[axis].extent + n - 1) / n, n, true};
	return true;
}

static bool add_parts(
    Arena *arena, Program *p, int at, const Parts *x, Buf *steps)
{
	const Block *b = &p->blocks[at];
	const char *axis = b->axes[x->axis].name;
	const char *name = rule_new_name(arena, p, b, "parts");
	const char *part = rule_plain_name(
	    arena_printf(arena, "%s_%s_part", b->name, axis));
	const char *rest = rule_plain_name(
	    arena_printf(arena, "%s_%s_rest", b->name, axis));
	buf_printf(steps,
	    "%s, %s = split(%s.%s, [_, %lld])\n%s = rfactor(%s)\n",
	    x->within ? rest : part, x->within ? part : rest, b->name, axis,
	    (long long)(x->within ? x->n : x->each), name, part);
	make_parts(arena, p, at, x, name, part, rest);
	return true;
}

bool rule_make_parts(
    Arena *arena, Program *p, int at, int64_t most, int64_t step, Buf *steps)
{
	Parts x;
	return choose(&p->blocks[at], most, step, &x) &&
	    add_parts(arena, p, at, &x, steps);
}

const Program *rule_parts(Arena *arena, const Program *program,
    const Machine *machine, Buf *steps)
{
	Program *p = rule_copy_program(arena, program);
	int64_t threads = machine->threads > 1 ? machine->threads : 1;
	int times = 0;
	for (int i = 0; i < p->nblocks && times < TIMES_MOST; i++) {
		const Block *b = &p->blocks[i];
		int64_t most = most_of(arena, p, b, machine);
		Parts x;
		if (!most ||
		    (!choose_lanes(p, b, machine, &x) &&
			!choose(b, most, threads, &x)) ||
		    !add_parts(arena, p, i, &x, steps))
			continue;
		i++;
		times++;
	}
	return p;
}
