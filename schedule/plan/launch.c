/* Launches of a GPU: which stages run in one, which loops of a stage are its blocks
 * and threads, and what it asks of a processor: threads of a block, bytes that it
 * shares, registers of a thread.  Too much of one is refused here, before any
 * compiler. */
#include <math.h>
#include <string.h>

#include "schedule/plan/cost_gpu.h"

/* As lowering gives it (codegen/lower/lower_launch.c). */
enum { BUFFER_ALIGN = 64, GRID_X_MOST = INT32_MAX, GRID_MOST = 65535,
	BLOCK_MOST = 1024, BLOCK_Z_MOST = 64 };

/* Registers are estimated: more than so much too many are refused. */
#define TOO_MANY 1.1

/* The outermost bound loop; -1: one thread runs the stage. */
static int bound_loop(const PlanStage *s)
{
	uint32_t bound = s->blocks | s->threads;
	return bound ? s->loops[__builtin_ctz(bound)].var : -1;
}

static void find_bound(PlanStage *s)
{
	s->blocks = s->threads = 0;
	for (int d = 0; d < s->nloops; d++) {
		s->blocks |= (uint32_t)loop_is_block(s->loops[d].kind) << d;
		s->threads |= (uint32_t)loop_is_thread(s->loops[d].kind) << d;
	}
}

/* A launch is all that is below one outermost bound loop, or what one thread does
 * between such. */
void launch_number(Plan *plan)
{
	int serial = -1;
	for (int i = 0; i < plan->nstages; i++) {
		PlanStage *s = &plan->stages[i];
		find_bound(s);
		int loop = bound_loop(s);
		s->launch = s->ahead ? -1 : i;
		if (s->ahead)
			continue;
		for (int k = 0; k < i && loop >= 0; k++)
			if (!plan->stages[k].ahead &&
			    bound_loop(&plan->stages[k]) == loop) {
				s->launch = plan->stages[k].launch;
				break;
			}
		if (loop < 0 && serial >= 0)
			s->launch = serial;
		serial = loop < 0 ? s->launch : -1;
	}
}

/* What a loop stands for: its digits stand beside it. */
static int64_t iterations(const PlanLoop *l, const int64_t *values)
{
	return l->iterations == HANDLE_NONE ? 1 : values[l->iterations];
}

/* Bound loops are nowhere in the order of a thread; of the others those in code
 * inside of the innermost that runs make its body. */
Shape launch_shape(const PlanStage *s, const int64_t *values)
{
	Shape shape = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
	uint32_t others = 0;
	for (int d = 0; d < s->nloops; d++)
		others |= (uint32_t)(values[s->loops[d].extent] > 1) << d;
	shape.blocks = others & s->blocks;
	shape.threads = others & s->threads;
	others &= ~(s->blocks | s->threads);
	for (uint32_t loops = s->blocks; loops; loops &= loops - 1) {
		const PlanLoop *l = &s->loops[__builtin_ctz(loops)];
		shape.grid[loop_direction(l->kind)] *= iterations(l, values);
	}
	for (uint32_t loops = s->threads; loops; loops &= loops - 1) {
		const PlanLoop *l = &s->loops[__builtin_ctz(loops)];
		shape.block[loop_direction(l->kind)] *= iterations(l, values);
	}
	while (others) {
		uint32_t rest = others;
		int d = last_loop(&rest);
		if (!loop_in_code(&s->loops[d], values))
			break;
		shape.code |= 1u << d;
		others = rest;
	}
	shape.serial = others;
	return shape;
}

/* --- what it needs of a processor ------------------------------------------------ */

double extents_of(const PlanStage *s, const int64_t *values, uint32_t loops)
{
	double product = 1;
	while (loops)
		product *= (double)values[s->loops[last_loop(&loops)].extent];
	return product;
}

static bool is_new(Needs *n, int buffer)
{
	for (int i = 0; i < n->nbuffers; i++)
		if (n->buffers[i] == buffer)
			return false;
	if (n->nbuffers < NEEDED_BUFFERS)
		n->buffers[n->nbuffers++] = buffer;
	return true;
}

static void add_stage(Needs *n, const PlanStage *s, const Machine *m,
    const int64_t *values)
{
	Shape shape = launch_shape(s, values);
	for (int k = 0; k < DIRECTIONS; k++) {
		if (shape.grid[k] > n->shape.grid[k])
			n->shape.grid[k] = shape.grid[k];
		if (shape.block[k] > n->shape.block[k])
			n->shape.block[k] = shape.block[k];
	}
	for (int i = 0; i < s->naccesses; i++) {
		const PlanAccess *a = &s->accesses[i];
		if (a->scope == SCOPE_GLOBAL || !is_new(n, a->buffer))
			continue;
		if (a->scope == SCOPE_SHARED)
			n->shared_bytes += ceil((double)values[a->elements] *
			    a->bytes / BUFFER_ALIGN) * BUFFER_ALIGN;
		if (a->scope == SCOPE_REG)
			registers_hold(&n->registers, s, a, values, &shape);
	}
	registers_stage(&n->registers, s, m, values, &shape);
}

/* Results of a reduction that each thread has. */
static double results_of(const PlanStage *s, const int64_t *values,
    const Shape *shape)
{
	double n = 1;
	for (int d = 0; d < s->nloops; d++)
		if (shape->code >> d & 1 && !s->loops[d].reduce)
			n *= (double)values[s->loops[d].extent];
	return n;
}

/* Of how many threads in a direction a warp makes one partial result, as
 * codegen/lower/lower_threads.c does. */
static int64_t combined_in_warps(
    const Machine *m, int64_t threads, int64_t count, int64_t stride)
{
	int64_t width = 1, warp = m->warp;
	if (!m->exchanges || threads % warp || stride & (stride - 1))
		return 1;
	while (stride * width < warp && count % (2 * width) == 0)
		width *= 2;
	return width;
}

/* The shared memory in which threads leave partial results of a stage. */
static double parts_bytes(const PlanStage *s, const Machine *m,
    const int64_t *values, const Needs *n)
{
	bool reduces[DIRECTIONS] = {false}, any = false;
	const int64_t *block = n->shape.block;
	int64_t threads = block[0] * block[1] * block[2], stride = 1;
	double bytes = 0;
	for (uint32_t loops = s->threads; loops; loops &= loops - 1) {
		const PlanLoop *l = &s->loops[__builtin_ctz(loops)];
		reduces[loop_direction(l->kind)] |= l->reduce;
		any |= l->reduce;
	}
	if (!any)
		return 0;
	Shape shape = launch_shape(s, values);
	for (int d = 0; d < DIRECTIONS; stride *= block[d++]) {
		int64_t width =
		    combined_in_warps(m, threads, block[d], stride);
		if (!reduces[d] || width == block[d])
			continue;
		double parts = (double)(threads / width) *
		    results_of(s, values, &shape) * s->accesses[0].bytes;
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
	if (n->registers.need > n->registers.most * TOO_MANY)
		return "the registers of a block's threads do not fit";
	return NULL;
}

Needs launch_needs(const Plan *plan, const Machine *m, const int64_t *values,
    int first)
{
	Needs n = {.shape = {.grid = {1, 1, 1}, .block = {1, 1, 1}}};
	for (int i = first; i < plan->nstages; i++)
		if (plan->stages[i].launch == first)
			add_stage(&n, &plan->stages[i], m, values);
	for (int i = first; i < plan->nstages; i++)
		if (plan->stages[i].launch == first)
			n.shared_bytes +=
			    parts_bytes(&plan->stages[i], m, values, &n);
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
