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
 * The other rules see the program as it is then.  Where an operand lies side by side
 * along the reduction, lanes and threads do (rule_row.c). */
#include "schedule/rules/rules.h"

#include <string.h>

enum {
	VECTORS = 2,      /* of results for each thread, that need no parts */
	PARTS = 4,        /* for each thread */
	CHAINS = 8,       /* of one thread: sums wait for themselves */
	PART_LEAST = 512, /* steps of a part */
	TIMES_MOST = 16   /* buffers that are added: rule_room */
};

typedef struct {
	int axis;
	int64_t each, n; /* values of the axis in a part; parts */
} Parts;

typedef struct {
	const Block *other;
	bool found;
} Shared;

/* Does an operand lie side by side along the results? */
static bool lies_along_results(const Program *p, const Block *b, const Expr *e)
{
	int last = e->op == OP_READ ? rule_last_dim(&p->buffers[e->id]) : -1;
	if (last >= 0) {
		int axis = rule_axis_of(e->arg[last]);
		return axis >= 0 && axis < b->nspatial &&
		    b->axes[axis].extent > 1;
	}
	for (int i = 0; i < e->narg; i++)
		if (lies_along_results(p, b, e->arg[i]))
			return true;
	return false;
}

static bool find_shared(Expr *e, void *context)
{
	Shared *s = context;
	s->found |= e->op == OP_READ && e->narg &&
	    expr_find_read(s->other->body, e->id);
	return true;
}

/* Does another reduction read what it reads?  Both are made in one pass then
 * (rule_with.c). */
static bool shares_reads(const Program *p, const Block *b)
{
	Shared s = {0};
	for (int i = 0; i < p->nblocks && !s.found; i++) {
		s.other = &p->blocks[i];
		if (s.other != b && s.other->reduce != REDUCE_NONE)
			expr_walk(b->body, find_shared, &s);
	}
	return s.found;
}

/* How many parts are worth it, at most; 0: none. */
static int64_t most_of(const Program *p, const Block *b, const Machine *machine)
{
	int lanes = rule_lanes(machine, p->buffers[b->buffer].type);
	double results = block_points(b, 0, b->nspatial);
	double steps = block_steps(b);
	int64_t threads = machine->threads > 1 ? machine->threads : 1;
	int64_t most = threads > 1 ? PARTS * threads : CHAINS;
	if (b->reduce == REDUCE_NONE || rule_keeps_order(p, b) ||
	    results > lanes * VECTORS * threads || steps < most * PART_LEAST ||
	    !lies_along_results(p, b, b->body) || shares_reads(p, b))
		return 0;
	return most;
}

/* The outermost axis that is long enough, into parts of one size if a number of
 * them near the most makes that. */
static bool choose(const Block *b, int64_t most, int64_t step, Parts *out)
{
	for (int a = b->nspatial; a < b->naxes; a++) {
		int64_t n = b->axes[a].extent;
		if (n < most)
			continue;
		*out = (Parts){a, (n + most - 1) / most, 0};
		for (int64_t k = most; k > most / 2; k -= step)
			if (n % k == 0) {
				out->each = n / k;
				break;
			}
		out->n = (n + out->each - 1) / out->each;
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
	Expr **values = NEW_N(arena, Expr *, old->naxes);
	b.name = name;
	b.naxes++;
	b.nspatial++;
	b.axes = NEW_N(arena, Axis, b.naxes);
	b.axes[0] = (Axis){part, x->n, false};
	for (int a = 0; a < old->naxes; a++) {
		b.axes[a + 1] = old->axes[a];
		values[a] = expr_axis(arena, a + 1);
	}
	b.axes[x->axis + 1] = (Axis){rest, x->each, true};
	values[x->axis] = expr_binary(arena, OP_ADD,
	    expr_binary(arena, OP_MUL, expr_axis(arena, 0),
		expr_int(arena, DT_INDEX, x->each)),
	    values[x->axis]);
	b.body = expr_substitute_axes(arena, old->body, values, old->naxes);
	if (old->axes[x->axis].extent % x->each)
		b.body = expr_if(arena,
		    expr_binary(arena, OP_LT, values[x->axis],
			expr_int(arena, DT_INDEX, old->axes[x->axis].extent)),
		    b.body,
		    expr_identity(arena, old->reduce, b.body->type));
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
	Expr **index = NEW_N(arena, Expr *, s->nspatial + 1);
	Axis *axes = NEW_N(arena, Axis, s->nspatial + 1);
	memcpy(axes, s->axes, sizeof *axes * (size_t)s->nspatial);
	axes[s->nspatial] = (Axis){part, x->n, true};
	index[0] = expr_axis(arena, s->nspatial);
	for (int a = 0; a < s->nspatial; a++)
		index[a + 1] = expr_axis(arena, a);
	s->axes = axes;
	s->naxes = s->nspatial + 1;
	s->body = expr_read(
	    arena, b.body->type, b.buffer, index, s->nspatial + 1);
}

bool rule_make_parts(Arena *arena, Program *p, int at, int64_t most, int64_t step,
    Buf *steps)
{
	const Block *b = &p->blocks[at];
	Parts x;
	if (!choose(b, most, step, &x))
		return false;
	const char *axis = b->axes[x.axis].name;
	const char *name = rule_new_name(arena, p, b, "parts");
	const char *part = rule_plain_name(
	    arena_printf(arena, "%s_%s_part", b->name, axis));
	const char *rest = rule_plain_name(
	    arena_printf(arena, "%s_%s_rest", b->name, axis));
	buf_printf(steps, "%s, %s = split(%s.%s, [_, %lld])\n%s = rfactor(%s)\n",
	    part, rest, b->name, axis, (long long)x.each, name, part);
	make_parts(arena, p, at, &x, name, part, rest);
	return true;
}

const Program *rule_parts(Arena *arena, const Program *program,
    const Machine *machine, Buf *steps)
{
	Program *p = rule_copy_program(arena, program);
	int64_t threads = machine->threads > 1 ? machine->threads : 1;
	int times = 0;
	for (int i = 0; i < p->nblocks && times < TIMES_MOST; i++) {
		int64_t most = most_of(p, &p->blocks[i], machine);
		if (!most ||
		    !rule_make_parts(arena, p, i, most, threads, steps))
			continue;
		i++;
		times++;
	}
	return p;
}
