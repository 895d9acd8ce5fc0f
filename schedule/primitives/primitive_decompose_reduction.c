/* decompose_reduction: where a reduction's results are set to its identity.
 *
 *     for i for j                    decompose_reduction(c, j)
 *       c[i, j] = 0
 *       for k  c[i, j] += ...
 *   ->
 *     for i
 *       for j  c[i, j] = 0
 *       for j for k  c[i, j] += ...
 *
 * Legal if no reduction loop is outside of that loop. */
#include "schedule/internal.h"

typedef struct {
	int stage, loop;
} DecomposeReduction;

static Refusal parameters(const Call *call, DecomposeReduction *p)
{
	Refusal why = call_stage(call, 0, &p->stage);

	return why ? why : call_loop(call, 1, &p->loop);
}

Refusal decompose_reduction_legal(const Call *call)
{
	const Nest *nest = call->nest;
	const Stage *s;
	DecomposeReduction p;
	Refusal why = parameters(call, &p);

	if (why)
		return why;
	s = &nest->stages.at[p.stage];
	if (s->reduce == REDUCE_NONE)
		return "the block has no reduction";
	if (nest->vars.at[p.loop].stage != p.stage)
		return "the loop is not one of the block's";
	if (s->init_at >= 0)
		return "the reduction is decomposed already";
	for (int i = 0; i < nest_loop_position(nest, p.loop); i++)
		if (nest->vars.at[s->loops[i]].reduce)
			return "a reduction loop is outside of the loop";
	return NULL;
}

void decompose_reduction_apply(const Call *call)
{
	DecomposeReduction p;

	parameters(call, &p);
	call->nest->stages.at[p.stage].init_at = p.loop;
}
