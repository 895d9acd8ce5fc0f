/* What a program takes at least on a machine whose peak is known, and whether a
 * measured time is more.  A time that is not says that the clock or the kernel was
 * at fault; so this counts only what no schedule saves:
 *
 *     an element of an output                     one operation on its bytes
 *     a sum of products of two reads              two a step, over axes that both
 *                                                 reads have
 *     the same under --numerics=fast              an eighth of it (Winograd)
 *
 * A window that slides over one read is shared by its neighbours, a factor without
 * the axis of the sum is taken out of it, zeros and what conditions leave out are
 * not computed, nor is what no output shows: these count as elements alone. */
#include "ir/intrinsic.h"
#include "tuner/measure/measure_internal.h"

#include <stdio.h>

#include "ir/nest/nest.h"

enum { WINOGRAD = 8 };

/* The peak may have been measured while two threads shared a core. */
#define PART 0.5

static bool find_condition(Expr *e, void *context)
{
	*(bool *)context |= e->op == OP_IF;
	return true;
}

/* Are there zeros that need not be multiplied? */
static bool has_conditions(const Program *p)
{
	bool found = false;
	for (int i = 0; i < p->nblocks; i++)
		expr_walk(p->blocks[i].body, find_condition, &found);
	return found;
}

/* Do neighbours share what they reduce along the axis? */
static bool slides(const Block *b, int axis)
{
	SlidingWindow w;
	for (int j = 0; j < b->nspatial; j++)
		if (window_find(b->body, j, b->axes[j].extent, axis,
			b->axes[axis].extent, &w))
			return true;
	return false;
}

/* Is it a sum of products of two reads, or of casts of them? */
static bool sums_reads(const Block *b)
{
	return b->reduce == REDUCE_SUM && b->body->op == OP_MUL &&
	    fragment_read(b->body, 0)->op == OP_READ &&
	    fragment_read(b->body, 1)->op == OP_READ;
}

/* Operations of a sum of products. */
static double product_operations(Arena *arena, const Block *b)
{
	bool *has[2];
	double points = 1;
	for (int i = 0; i < 2; i++) {
		has[i] = NEW_N(arena, bool, b->naxes);
		expr_mark_axes(b->body->arg[i], has[i]);
	}
	for (int a = 0; a < b->naxes; a++)
		if (a < b->nspatial ? has[0][a] || has[1][a]
				    : has[0][a] && has[1][a] && !slides(b, a))
			points *= (double)b->axes[a].extent;
	return 2 * points;
}

/* Every element of a buffer, each at a point of its own? */
static bool reads_whole(const Program *p, const Block *b, const Expr *read)
{
	const Buffer *from = &p->buffers[read->id];
	for (int d = 0; d < from->ndim; d++) {
		const Expr *index = read->arg[d];
		if (index->op != OP_AXIS ||
		    b->axes[index->id].extent != from->shape[d])
			return false;
		for (int i = 0; i < d; i++)
			if (read->arg[i]->id == index->id)
				return false;
	}
	return true;
}

typedef struct {
	const Program *p;
	const Block *b;
	bool *needed; /* by block */
} Needs;

static bool find_needed(Expr *e, void *context)
{
	Needs *n = context;
	if (e->op == OP_READ && n->p->buffers[e->id].block >= 0 &&
	    reads_whole(n->p, n->b, e))
		n->needed[n->p->buffers[e->id].block] = true;
	return true;
}

/* The blocks all elements of which are needed: sums of sums could be taken in
 * another order. */
static bool *blocks_needed(Arena *arena, const Program *p)
{
	bool *needed = NEW_N(arena, bool, p->nblocks);
	for (int i = p->nblocks - 1; i >= 0; i--) {
		const Block *b = &p->blocks[i];
		needed[i] |= p->buffers[b->buffer].role == BUFFER_OUTPUT;
		if (needed[i] && b->reduce == REDUCE_NONE)
			expr_walk(b->body, find_needed,
			    &(Needs){p, b, needed});
	}
	return needed;
}

double plausible_operations(
    Arena *arena, const Program *p, const Machine *machine)
{
	int kind = peak_of_program(p, machine);
	bool *needed = blocks_needed(arena, p);
	bool conditions = has_conditions(p);
	double sum = 0;
	for (int i = 0; i < p->noutputs; i++)
		sum += (double)buffer_bytes(&p->buffers[p->outputs[i]]) /
		    dtype_bytes(DT_F32);
	for (int i = 0; !conditions && i < p->nblocks; i++)
		if (needed[i] && sums_reads(&p->blocks[i]) &&
		    peak_kind(p, &p->blocks[i], machine) == kind)
			sum += product_operations(arena, &p->blocks[i]) /
			    (p->numerics == NUMERICS_FAST ? WINOGRAD : 1);
	return sum;
}

void plausible_judge(const MeasureContext *c, double peak, Measurement *m)
{
	Arena *arena = arena_new();
	double operations =
	    plausible_operations(arena, c->program, &c->host->machine);
	double least_s = peak > 0 ? PART * operations / peak : 0;
	arena_free(arena);
	m->outcome = OUTCOME_OK;
	if (m->time_s < least_s) {
		m->outcome = OUTCOME_IMPLAUSIBLE;
		snprintf(m->error, sizeof m->error,
		    "%.3g s is less than half of what the operations take at "
		    "the peak", m->time_s);
	}
}

double measure_nominal(const Machine *m)
{
	double lanes = m->vector_bytes >= 8 ? m->vector_bytes / 4.0 : 1;
	return 1e9 * (m->clock_ghz > 0 ? m->clock_ghz : 4) * m->threads *
	    lanes * 2 * (m->fma_per_cycle > 0 ? m->fma_per_cycle : 2);
}

double measure_least_s(const Program *p, const Machine *m)
{
	enum { MORE = 64 }; /* of bytes by tiles, at any clock */
	Arena *arena = arena_new();
	double least_s = m->gpu
	    ? 0
	    : plausible_operations(arena, p, m) / (MORE * measure_nominal(m));
	arena_free(arena);
	return least_s;
}

const char *measure_past_peak(const Program *p)
{
	return p->numerics == NUMERICS_FAST
	    ? "counted as written: Winograd's algorithm multiplies less"
	    : has_conditions(p)
	    ? "clocks vary, and products with zeros may be left out"
	    : "clocks vary, and what neighbours share is computed once";
}
