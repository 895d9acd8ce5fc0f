/* Launches of a GPU: how many blocks and threads they have, and what they ask of a
 * processor: threads of a block, bytes that it shares, registers of a thread.  Too
 * much of one is refused here, before any compiler. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "schedule/plan/cost_gpu.h"

/* As lowering gives it (codegen/lower/lower_launch.c). */
enum { BUFFER_ALIGN = 64, GRID_X_MOST = INT32_MAX, GRID_MOST = 65535,
	BLOCK_MOST = 1024, BLOCK_Z_MOST = 64 };

/* Registers are estimated: more than so much too many are refused. */
#define TOO_MANY 1.1

/* How often loops run together, of which digits stand beside what is split. */
static int64_t iterations(
    const PlanStage *s, const int64_t *values, uint32_t loops)
{
	int64_t product = 1;
	for (; loops; loops &= loops - 1) {
		Handle h = s->loops[__builtin_ctz(loops)].iterations;
		product *= h == HANDLE_NONE ? 1 : values[h];
	}
	return product;
}

/* Bound loops are nowhere in the order of a thread; of the others those in code
 * inside of the innermost that runs make its body. */
void launch_shape(const PlanStage *s, const int64_t *values, Shape *shape)
{
	uint32_t others = 0, code = loops_in_code(s, values);
	for (int d = 0; d < s->nloops; d++)
		others |= (uint32_t)(values[s->loops[d].extent] > 1) << d;
	shape->blocks = others & s->blocks;
	shape->threads = others & s->threads;
	others &= ~(s->blocks | s->threads);
	for (int k = 0; k < DIRECTIONS; k++) {
		shape->grid[k] = iterations(s, values, s->blocks & s->along[k]);
		shape->block[k] =
		    iterations(s, values, s->threads & s->along[k]);
	}
	int inner = others & ~code ? 32 - __builtin_clz(others & ~code) : 0;
	shape->code = inner < 32 ? others >> inner << inner : 0;
	shape->serial = others & ~shape->code;
}

/* --- what it needs of a processor ------------------------------------------------ */

double extents_of(const PlanStage *s, const int64_t *values, uint32_t loops)
{
	double product = 1;
	while (loops)
		product *= (double)values[s->loops[last_loop(&loops)].extent];
	return product;
}

static void add_stage(Needs *n, const PlanStage *s, const Machine *m,
    const int64_t *values, const Shape *shape)
{
	for (int k = 0; k < DIRECTIONS; k++) {
		if (shape->grid[k] > n->shape.grid[k])
			n->shape.grid[k] = shape->grid[k];
		if (shape->block[k] > n->shape.block[k])
			n->shape.block[k] = shape->block[k];
	}
	for (int i = 0; i < s->naccesses; i++) {
		const PlanAccess *a = &s->accesses[i];
		if (!a->needed)
			continue;
		if (a->scope == SCOPE_SHARED)
			n->shared_bytes += ceil((double)values[a->elements] *
			    a->bytes / BUFFER_ALIGN) * BUFFER_ALIGN;
		if (a->scope == SCOPE_REG)
			registers_hold(&n->registers, s, a, values, shape);
	}
	registers_stage(&n->registers, s, m, values, shape);
}

/* Results of a reduction that each thread has. */
static double results_of(const PlanStage *s, const int64_t *values,
    const Shape *shape)
{
	return extents_of(s, values, shape->code & ~s->steps);
}

/* The shared memory in which threads leave partial results of a stage. */
static double parts_bytes(const PlanStage *s, const Machine *m,
    const int64_t *values, const Shape *shape, const Needs *n)
{
	uint32_t reduces = s->threads & s->steps;
	const int64_t *block = n->shape.block;
	int64_t threads = block[0] * block[1] * block[2], stride = 1;
	double bytes = 0;
	for (int d = 0; d < DIRECTIONS && reduces; stride *= block[d++]) {
		BodyThreads t =
		    body_threads(m->exchanges, threads, block[d], stride);
		if (!(reduces & s->along[d]) || t.parts == 1)
			continue;
		double parts = (double)(threads / t.width) *
		    results_of(s, values, shape) * s->accesses[0].bytes;
		bytes += ceil(parts / BUFFER_ALIGN) * BUFFER_ALIGN;
	}
	return bytes;
}

static Refusal too_large(const Machine *m, const Needs *n)
{
	const Shape *s = &n->shape;
	int64_t shared = occupancy_block_shared(m);
	if (s->grid[0] > GRID_X_MOST || s->grid[1] > GRID_MOST ||
	    s->grid[2] > GRID_MOST)
		return "a launch has too many blocks";
	if (s->block[0] > BLOCK_MOST || s->block[1] > BLOCK_MOST ||
	    s->block[2] > BLOCK_Z_MOST ||
	    (m->block_threads && n->threads > m->block_threads))
		return "a block has too many threads";
	if (shared && n->shared_bytes > (double)shared)
		return "a block shares too many bytes";
	double more = n->registers.group ? 1 : TOO_MANY;
	if (n->registers.need > n->registers.most * more)
		return "the registers of a block's threads do not fit";
	return NULL;
}

Needs launch_needs(const Plan *plan, const Machine *m, const int64_t *values,
    int first)
{
	Needs n = {.shape = {.grid = {1, 1, 1}, .block = {1, 1, 1}}};
	assert(plan->stages[first].launch == first);
	for (int i = first; i >= 0; i = plan->stages[i].next) {
		const PlanStage *s = &plan->stages[i];
		launch_shape(s, values, &plan->shapes[i]);
		add_stage(&n, s, m, values, &plan->shapes[i]);
	}
	for (int i = first; i >= 0; i = plan->stages[i].next)
		n.shared_bytes += parts_bytes(
		    &plan->stages[i], m, values, &plan->shapes[i], &n);
	const int64_t *block = n.shape.block;
	n.threads = (double)block[0] * (double)block[1] * (double)block[2];
	registers_settle(&n.registers, m, n.threads, n.shared_bytes);
	n.why = too_large(m, &n);
	return n;
}

Refusal plan_launches(
    const Plan *plan, const Machine *machine, const int64_t *values)
{
	Refusal why = NULL;
	for (int i = 0; i < plan->nstages && !why; i++)
		if (plan->stages[i].launch == i)
			why = launch_needs(plan, machine, values, i).why;
	return why;
}
