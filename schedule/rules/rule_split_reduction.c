/* A reduction with fewer vectors of results than there are threads to make them is
 * split into parts, which are then reduced (of a product: split-K).
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
 * Where an operand lies side by side along the reduction, lanes and threads do
 * (rule_row.c). */
#include "schedule/rules/rules.h"

#include <assert.h>

enum {
	VECTORS = 2,	   /* of results for each thread, that need no parts */
	FEW = 4,	   /* results that lanes are not along */
	PARTS = 4,	   /* for each thread */
	CHAINS = 8,	   /* of one thread: sums wait for themselves */
	PART_LEAST = 512,  /* steps of a part */
	CHAIN_LEAST = 128, /* where all are of one thread */
	TIMES_MOST = 16
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
 * Both are made in one pass then (rule_fuse_reductions.c). */
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

/* Steps of a part; all have as many if a number of parts near the most, and `step`
 * from it, makes that. */
static int64_t steps_of_part(int64_t extent, int64_t most, int64_t step)
{
	assert(most > 0 && step > 0 && extent >= most);
	for (int64_t k = most; k > most / 2; k -= step)
		if (extent % k == 0)
			return extent / k;
	return (extent + most - 1) / most;
}

/* The outermost axis that is long enough. */
static bool choose(const Block *b, int64_t most, int64_t step, Parts *out)
{
	for (int a = b->nspatial; a < b->naxes; a++) {
		int64_t n = b->axes[a].extent;
		if (n < most)
			continue;
		int64_t each = steps_of_part(n, most, step);
		*out = (Parts){a, each, (n + each - 1) / each, false};
		return true;
	}
	return false;
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

static bool add_parts(RuleForm *f, const Block *b, const Parts *x)
{
	const char *axis = b->axes[x->axis].name;
	const char *name = rule_new_name(f, b, "parts");
	const char *part = rule_plain_name(
	    arena_printf(f->arena, "%s_%s_part", b->name, axis));
	const char *rest = rule_plain_name(
	    arena_printf(f->arena, "%s_%s_rest", b->name, axis));
	return rule_rewrite(f,
	    "%s, %s = split(%s.%s, [_, %lld])\n%s = rfactor(%s)\n",
	    x->within ? rest : part, x->within ? part : rest, b->name, axis,
	    (long long)(x->within ? x->n : x->each), name, part);
}

bool rule_split_one_reduction(
    RuleForm *f, int block, int64_t most, int64_t step)
{
	const Block *b = &f->program->blocks[block];
	Parts x;
	return choose(b, most, step, &x) && add_parts(f, b, &x);
}

void rule_split_reduction(RuleForm *f)
{
	int64_t threads = f->machine->threads > 1 ? f->machine->threads : 1;
	int times = 0;
	for (int i = 0; i < f->program->nblocks && times < TIMES_MOST; i++) {
		const Program *p = f->program;
		const Block *b = &p->blocks[i];
		int64_t most = most_of(f->arena, p, b, f->machine);
		Parts x;
		if (!most ||
		    (!choose_lanes(p, b, f->machine, &x) &&
			!choose(b, most, threads, &x)) ||
		    !add_parts(f, b, &x))
			continue;
		i++;
		times++;
	}
}
