/* fuse: adjacent loops become one.
 *
 *     for c.i in 6  for c.j in 8        ij = fuse(c.i, c.j)
 *   ->
 *     for ij in 48                      (c.i is ij // 8, c.j is ij % 8)
 *
 * The order of iterations stays.  Legal if nothing happens between the loops:
 * no stage is attached there and no reduction starts there. */
#include "schedule/internal.h"

#include <assert.h>

typedef struct {
	int n, *loops;
} Fuse;

static Refusal parameters(const Call *call, Fuse *p)
{
	Refusal why = NULL;

	p->n = call->step->nargs;
	p->loops = NEW_N(call->nest->arena, int, p->n);
	for (int i = 0; i < p->n && !why; i++)
		why = call_loop(call, i, &p->loops[i]);
	return why ? why : call_outs(call, 1);
}

static Refusal pair_legal(const Nest *nest, int outer, int inner)
{
	const Var *a = &nest->vars.at[outer], *b = &nest->vars.at[inner];

	if (a->stage != b->stage)
		return "the loops belong to different blocks";
	if (nest_loop_position(nest, inner) !=
	    nest_loop_position(nest, outer) + 1)
		return "the loops are not next to each other, outer first";
	if (a->reduce != b->reduce)
		return "a reduction loop and another cannot be fused";
	if (edit_has_attached(nest, outer))
		return "a block is placed between the loops";
	if (nest->stages.at[a->stage].init_at == inner)
		return "the reduction starts between the loops";
	return NULL;
}

Refusal fuse_legal(const Call *call)
{
	Fuse p;
	Refusal why = parameters(call, &p);

	for (int i = 0; i < p.n && !why; i++) {
		const Var *v = &call->nest->vars.at[p.loops[i]];
		if (v->kind != LOOP_SERIAL || v->unroll_limit != HANDLE_NONE)
			why = "a loop is annotated: fuse it before";
		else if (edit_is_sealed(call->nest, p.loops[i]))
			why = "a loop belongs to a block made by blockize";
		else if (i > 0)
			why = pair_legal(
			    call->nest, p.loops[i - 1], p.loops[i]);
	}
	return why;
}

void fuse_apply(const Call *call)
{
	Nest *nest = call->nest;
	int stage, loop;
	Fuse p;

	parameters(call, &p);
	stage = nest->vars.at[p.loops[0]].stage;
	loop = edit_new_var(nest, call->step->outs[0], stage, -1);
	nest->vars.at[loop].reduce = nest->vars.at[p.loops[0]].reduce;
	nest->vars.at[loop].nparts = p.n;
	nest->vars.at[loop].parts = p.loops;
	edit_replace_loops(nest, stage, nest_loop_position(nest, p.loops[0]),
	    p.n, &loop, 1);
	for (int i = 0; i < p.n; i++) {
		assert(nest->vars.at[p.loops[i]].stage == stage);
		nest->vars.at[p.loops[i]].how = VAR_FUSED;
		nest->vars.at[p.loops[i]].fused = loop;
		edit_move_attachments(nest, p.loops[i], loop);
	}
	if (nest->stages.at[stage].init_at == p.loops[0])
		nest->stages.at[stage].init_at = loop;
}
