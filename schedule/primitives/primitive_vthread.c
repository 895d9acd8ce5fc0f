/* vthread: iterations of a loop are interleaved in one thread.
 *
 *     for v in 2  for mi in 4        vthread(v)
 *   ->
 *     vthread v in 2  for mi in 4
 *
 * Legal as `parallel` is. */
#include "schedule/internal.h"

Refusal vthread_legal(const Call *call)
{
	int loop;
	Refusal why = call_loop(call, 0, &loop);

	if (!why)
		why = edit_annotate_legal(call->nest, loop);
	if (why)
		return why;
	if (call->nest->vars.at[loop].reduce)
		return "a reduction loop cannot be a virtual thread";
	return NULL;
}

void vthread_apply(const Call *call)
{
	int loop;

	call_loop(call, 0, &loop);
	call->nest->vars.at[loop].kind = LOOP_VTHREAD;
}
