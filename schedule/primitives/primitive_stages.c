/* stages: a shared buffer is filled iterations ahead.
 *
 *     for k0                         stages(t, 3)
 *       t[...] = a[...]
 *       barrier
 *       c[...] += t[...]
 *   ->
 *     t for k0 = 0, 1
 *     for k0
 *       barrier
 *       t for k0 + 2, in the place of that for k0 - 1
 *       c[...] += t[...]
 *
 * Legal for blocks that write a buffer of scope shared.  Whether the loop's
 * iterations make what the block reads is asked of the finished nest. */
#include "schedule/internal.h"

enum { MOST_STAGES = 8 };

typedef struct {
	int stage;
	Handle n;
} Stages;

static Refusal parameters(const Call *call, Stages *p)
{
	Refusal why = call_stage(call, 0, &p->stage);

	return why ? why : call_handle(call, 1, 1, &p->n);
}

Refusal stages_legal(const Call *call)
{
	Nest *nest = call->nest;
	const NestBuffer *b;
	Stages p;
	const char *refusal;
	Refusal why = parameters(call, &p);

	if (why)
		return why;
	b = &nest->buffers.at[nest->stages.at[p.stage].buffer];
	if (b->scope != SCOPE_SHARED)
		return "the buffer is not shared by a block of threads";
	if (!nest_require(nest,
		tape_at_most(nest->tape, p.n,
		    tape_const(nest->tape, MOST_STAGES)),
		"there are more than 8 stages", &refusal))
		return refusal;
	return NULL;
}

void stages_apply(const Call *call)
{
	Nest *nest = call->nest;
	Stages p;

	parameters(call, &p);
	nest->buffers.at[nest->stages.at[p.stage].buffer].slots = p.n;
}
