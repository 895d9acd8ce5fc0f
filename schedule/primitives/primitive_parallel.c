/* parallel: iterations of a loop are shared by the threads.
 *
 *     for c.i in 100                 parallel(c.i)
 *   ->
 *     parallel for c.i in 100
 *
 * Legal if no two iterations touch one element; a reduction loop's do.  The
 * verifier proves the rest on the finished nest.  Inside of a parallel loop the
 * threads are busy already: there the loop stays serial, so that a trace may say
 * it of a block whose place is a decision. */
#include "schedule/internal.h"

Refusal parallel_legal(const Call *call)
{
	const Nest *nest = call->nest;
	const Var *v;
	int loop;
	Refusal why = call_loop(call, 0, &loop);

	if (!why)
		why = edit_annotate_legal(nest, loop);
	if (why)
		return why;
	v = &nest->vars.at[loop];
	if (v->reduce)
		return "a reduction loop cannot be parallel: rfactor it";
	if (edit_kind_below(nest, loop, LOOP_PARALLEL))
		return "a parallel loop is inside of it already";
	return NULL;
}

void parallel_apply(const Call *call)
{
	int loop;

	call_loop(call, 0, &loop);
	if (!edit_kind_above(call->nest, loop, LOOP_PARALLEL))
		call->nest->vars.at[loop].kind = LOOP_PARALLEL;
}
