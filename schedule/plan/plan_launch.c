/* What the launches of a GPU ask for, as integers of a candidate: threads of a
 * block, bytes that it shares, registers of a thread.  Too much of one is
 * refused here, before any compiler. */
#include "schedule/plan/plan.h"

#include <assert.h>

enum {
	STATIC_SHARED = 48 * 1024, /* more has to be asked for when launching */
	BUFFER_ALIGN = 64,
	MOST_Z = 64,
	OTHER_REGISTERS = 32, /* addresses, operands, counters */
	REGISTER_STEP = 8     /* that many at once are given out */
};

typedef struct {
	int var; /* its outermost bound loop: it, or a part of it */
	int64_t threads[3];
	int64_t shared;    /* bytes */
	int64_t registers; /* of a block's sums, for all of its threads */
} Launch;

/* The outermost loop that blocks or threads run; -1. */
static int launch_of(const PlanStage *s)
{
	for (int d = 0; d < s->nloops; d++)
		if (loop_is_bound(s->loops[d].kind))
			return s->loops[d].var;
	return -1;
}

/* Every launch of a direction has as many threads as its longest loop. */
static void add_threads(
    Launch *l, const PlanStage *s, const int64_t *values)
{
	int64_t n[3] = {1, 1, 1};
	for (int d = 0; d < s->nloops; d++)
		if (loop_is_thread(s->loops[d].kind))
			n[loop_direction(s->loops[d].kind)] *=
			    values[s->loops[d].extent];
	for (int i = 0; i < 3; i++)
		l->threads[i] = n[i] > l->threads[i] ? n[i] : l->threads[i];
}

/* With what alignment adds between rows. */
static int64_t elements_of(const PlanAccess *a, const int64_t *values)
{
	int64_t n = 1;
	for (int d = 0; d < a->ndim; d++)
		n *= values[a->held[d]];
	for (int p = 0; p < a->nparts; p++) {
		int64_t held = values[a->held[a->parts[p].dim]];
		int64_t div = values[a->parts[p].div];
		int64_t count = (held + div - 1) / div;
		if (a->parts[p].mod != HANDLE_NONE)
			count = values[a->parts[p].mod];
		if (count * values[a->parts[p].stride] > n)
			n = count * values[a->parts[p].stride];
	}
	return n;
}

static void add_buffers(Launch *l, const PlanStage *s, const int64_t *values)
{
	for (int i = 0; i < s->nwrites; i++) {
		const PlanAccess *a = &s->accesses[i];
		int64_t bytes = elements_of(a, values) * a->bytes;
		if (a->scope == SCOPE_SHARED)
			l->shared += (bytes + BUFFER_ALIGN - 1) / BUFFER_ALIGN *
			    BUFFER_ALIGN;
		if (a->scope == SCOPE_REG && s->reduce)
			l->registers += (bytes + 3) / 4;
	}
}

static Refusal check(const Launch *l, const Machine *m)
{
	int64_t threads = l->threads[0] * l->threads[1] * l->threads[2];
	int64_t shared = m->block_shared < STATIC_SHARED ? m->block_shared
							 : STATIC_SHARED;
	int64_t own = l->registers / threads + OTHER_REGISTERS;
	own = (own + REGISTER_STEP - 1) / REGISTER_STEP * REGISTER_STEP;
	if (threads > m->block_threads || l->threads[2] > MOST_Z)
		return "a block has too many threads";
	if (l->shared > shared)
		return "a block shares too many bytes";
	if (m->thread_registers && own > m->thread_registers)
		return "a thread's sums do not fit its registers";
	if (m->processor_registers && own * threads > m->processor_registers)
		return "the threads of a block have too many registers";
	return NULL;
}

Refusal plan_launches(
    const Plan *plan, const Machine *machine, const int64_t *values)
{
	Launch l = {.var = -1};
	Refusal why = NULL;
	for (int i = 0; i < plan->nstages; i++) {
		int var = launch_of(&plan->stages[i]);
		bool seen = false;
		for (int k = 0; k < i && var >= 0; k++)
			seen |= launch_of(&plan->stages[k]) == var;
		if (var < 0 || seen)
			continue;
		l = (Launch){.var = var, .threads = {1, 1, 1}};
		for (int k = i; k < plan->nstages; k++)
			if (launch_of(&plan->stages[k]) == var) {
				add_threads(&l, &plan->stages[k], values);
				add_buffers(&l, &plan->stages[k], values);
			}
		why = check(&l, machine);
		if (why)
			return why;
	}
	return NULL;
}
