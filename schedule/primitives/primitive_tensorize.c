/* tensorize: the loops from one inwards are what an intrinsic computes.
 *
 *     for ki in 4  c[i] += i32(a[k]) * i32(b[k])     tensorize(ki, dot4_u8i8)
 *   ->
 *     dot4_u8i8 { for ki in 4 ... }
 *
 * Legal if the loop, the body and the types match the description in
 * ir/intrinsics.def.  What it means does not change: code generation may use the
 * instruction where the target has it. */
#include "schedule/internal.h"

typedef struct {
	int loop, intrinsic;
} Tensorize;

static Refusal parameters(const Call *call, Tensorize *p)
{
	const char *word;
	Refusal why = call_loop(call, 0, &p->loop);

	if (!why)
		why = call_word(call, 1, &word);
	if (why)
		return why;
	p->intrinsic = intrinsic_find(word);
	return p->intrinsic < 0 ? "there is no such intrinsic" : NULL;
}

Refusal tensorize_legal(const Call *call)
{
	const Nest *nest = call->nest;
	const Intrinsic *in;
	const Stage *s;
	Tensorize p;
	Refusal why = parameters(call, &p);

	if (why)
		return why;
	in = intrinsic_at(p.intrinsic);
	s = &nest->stages.at[nest->vars.at[p.loop].stage];
	if (s->intrinsic >= 0 ||
	    (s->tensor_loop >= 0 && s->tensor_loop != p.loop))
		return "the block has a unit already";
	if (s->reduce != REDUCE_SUM || intrinsic_of_body(s->body) != in)
		return "the body is not what the intrinsic computes";
	if (!nest->vars.at[p.loop].reduce ||
	    nest_loop_position(nest, p.loop) != s->nloops - 1)
		return "the loop is not the innermost reduction loop";
	if (edit_fixed_extent(nest, p.loop) != tape_const(nest->tape, in->terms))
		return "the loop has not as many iterations as the intrinsic";
	return edit_unit_legal(nest, p.loop);
}

void tensorize_apply(const Call *call)
{
	Nest *nest = call->nest;
	Stage *s;
	Tensorize p;

	parameters(call, &p);
	s = &nest->stages.at[nest->vars.at[p.loop].stage];
	s->intrinsic = p.intrinsic;
	s->tensor_loop = p.loop;
}
