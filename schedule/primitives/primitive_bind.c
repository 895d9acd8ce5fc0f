/* bind: a loop is run by the blocks or threads of a GPU.
 *
 *     for c.i in 128                 bind(c.i, threadIdx.x)
 *   ->
 *     threadIdx.x c.i in 128
 *
 * Legal as `parallel` is, and each thread axis at most once above a block.
 * Threads may share out the steps of a reduction. */
#include "schedule/internal.h"

#include <string.h>

typedef struct {
	int loop;
	LoopKind kind;
} Bind;

static Refusal parameters(const Call *call, Bind *p)
{
	const char *word;
	Refusal why = call_loop(call, 0, &p->loop);

	if (!why)
		why = call_word(call, 1, &word);
	if (why)
		return why;
	for (p->kind = 0; p->kind < LOOP_KINDS; p->kind++)
		if (loop_is_bound(p->kind) && !strcmp(word, loop_kind_name(p->kind)))
			return NULL;
	return "a thread axis is blockIdx.x .. z or threadIdx.x .. z";
}

Refusal bind_legal(const Call *call)
{
	const Nest *nest = call->nest;
	Bind p;
	Refusal why = parameters(call, &p);

	if (!why)
		why = edit_annotate_legal(nest, p.loop);
	if (why)
		return why;
	if (nest->vars.at[p.loop].reduce && loop_is_block(p.kind))
		return "blocks do not reduce together: rfactor the loop";
	if (edit_kind_above(nest, p.loop, p.kind) ||
	    edit_kind_below(nest, p.loop, p.kind))
		return "another loop above or below has that thread axis";
	return NULL;
}

void bind_apply(const Call *call)
{
	Bind p;

	parameters(call, &p);
	call->nest->vars.at[p.loop].kind = p.kind;
}
