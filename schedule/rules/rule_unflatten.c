/* Reductions whose last axis of results goes by quotients and remainders of a small number are
 * made by phases: lanes are along the quotients.
 *
 *     y[m] = sum[k](x[m//2 + k]*h[m % 2, k])      unflatten(y.m, 2)
 * -->
 *     y[m, x0 < 2] = sum[k](x[m + k]*h[x0, k])
 *
 * and what reads these element by element along that axis.  The other rules see the
 * program as it is then. */
#include "schedule/rules/rules.h"

#include <string.h>

enum { PHASES_MOST = 4 };

typedef struct {
	const Program *program;
	const Machine *machine;
	int64_t *phases; /* by block; 1: none */
	bool *stays;     /* by block: it cannot have any */
	int block;       /* that is looked at, and its last axis */
	int axis;
	int64_t n; /* phases of what was seen so far; 0: the axis stands alone */
	bool sums; /* it is a reduction, or reads one that has phases */
	bool reads_apart;
} Phases;

/* Of the block that writes the buffer. */
static int64_t phases_of(const Phases *x, int buffer)
{
	int from = x->program->buffers[buffer].block;
	return from < 0 ? 1 : x->phases[from];
}

/* Of the axis, or of that and a number. */
static bool is_digit(const Expr *e, int axis)
{
	if (e->op != OP_FLOORDIV && e->op != OP_MOD)
		return false;
	const Expr *of = e->arg[0];
	if (of->op == OP_ADD && of->arg[1]->op == OP_INT)
		of = of->arg[0];
	return e->arg[1]->op == OP_INT && rule_axis_of(of) == axis;
}

static bool look_at(Expr *e, void *context)
{
	Phases *x = context;
	bool digit = is_digit(e, x->axis);
	if (e->op == OP_AXIS && e->id == x->axis)
		x->n = 0;
	if (digit)
		x->n = rule_common_multiple(x->n, e->arg[1]->i);
	if (e->op != OP_READ || phases_of(x, e->id) == 1)
		return !digit;
	int last = e->narg - 1;
	if (rule_axis_of(e->arg[last]) != x->axis)
		return true;
	for (int i = 0; i < last; i++)
		expr_walk(e->arg[i], look_at, x);
	x->n = rule_common_multiple(x->n, phases_of(x, e->id));
	x->sums = true;
	return false;
}

static int64_t phases_of_block(Phases *x, int block)
{
	const Block *b = &x->program->blocks[block];
	x->axis = b->nspatial - 1;
	if (x->stays[block] || x->axis < 0)
		return 1;
	x->n = 1;
	x->sums = b->reduce != REDUCE_NONE;
	expr_walk(b->body, look_at, x);
	int64_t extent = b->axes[x->axis].extent;
	return x->sums && x->n > 1 && x->n <= PHASES_MOST && extent % x->n == 0 &&
		extent / x->n >=
		    rule_lanes(x->machine,
			x->program->buffers[b->buffer].type)
	    ? x->n : 1;
}

/* Does it read what another block makes in phases otherwise than so? */
static bool find_apart(Expr *e, void *context)
{
	Phases *x = context;
	int64_t n = e->op == OP_READ ? phases_of(x, e->id) : 1;
	if (n > 1 &&
	    (n != x->phases[x->block] ||
		rule_axis_of(e->arg[e->narg - 1]) != x->axis))
		x->stays[x->program->buffers[e->id].block] =
		    x->reads_apart = true;
	return true;
}

static void choose(Phases *x)
{
	const Program *p = x->program;
	do {
		x->reads_apart = false;
		for (int i = 0; i < p->nblocks; i++)
			x->phases[i] = phases_of_block(x, i);
		for (x->block = 0; x->block < p->nblocks; x->block++) {
			const Block *b = &p->blocks[x->block];
			x->axis = b->nspatial - 1;
			expr_walk(b->body, find_apart, x);
		}
	} while (x->reads_apart);
}

static int64_t *extents_of(Arena *arena, const Block *b)
{
	int64_t *extents = NEW_N(arena, int64_t, b->naxes);
	for (int a = 0; a < b->naxes; a++)
		extents[a] = b->axes[a].extent;
	return extents;
}

static void make_phases(Arena *arena, Program *p, int at, int64_t n)
{
	Block *b = &p->blocks[at];
	Buffer *to = &p->buffers[b->buffer];
	const Axis *old = b->axes;
	int last = b->nspatial - 1, naxes = b->naxes++;
	for (int i = 0; i < p->nblocks; i++) {
		Block *reader = &p->blocks[i];
		if (expr_find_read(reader->body, b->buffer))
			reader->body = unflatten_reader(arena, reader->body,
			    b->buffer, n, extents_of(arena, reader));
	}
	to->shape = unflatten_shape(arena, to->shape, to->ndim++, n);
	b->axes = NEW_N(arena, Axis, naxes + 1);
	memcpy(b->axes, old, sizeof *old * (size_t)(last + 1));
	b->axes[last].extent /= n;
	b->axes[last + 1] = (Axis){.name = "x0", .extent = n};
	memcpy(&b->axes[last + 2], &old[last + 1],
	    sizeof *old * (size_t)(naxes - last - 1));
	b->nspatial++;
	b->body = unflatten_body(
	    arena, b->body, last, n, extents_of(arena, b), naxes);
}

const Program *rule_unflatten(Arena *arena, const Program *program,
    const Machine *machine, Buf *steps)
{
	Program *p = rule_copy_program(arena, program);
	Phases x = {.program = program,
	    .machine = machine,
	    .phases = NEW_N(arena, int64_t, p->nblocks),
	    .stays = NEW_N(arena, bool, p->nblocks)};
	if (!machine->vector_bytes)
		return program;
	for (int i = 0; i < p->nblocks; i++)
		x.phases[i] = 1;
	choose(&x);
	for (int i = 0; i < p->nblocks; i++) {
		const Block *b = &p->blocks[i];
		if (x.phases[i] == 1)
			continue;
		buf_printf(steps, "unflatten(%s.%s, %lld)\n", b->name,
		    b->axes[b->nspatial - 1].name, (long long)x.phases[i]);
		make_phases(arena, p, i, x.phases[i]);
	}
	return p;
}
