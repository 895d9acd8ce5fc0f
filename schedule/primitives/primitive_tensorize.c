/* tensorize: the loops from one inwards are what an intrinsic computes.
 *
 *     for ki in 4  c[i] += i32(a[k]) * i32(b[k])     tensorize(ki, dot4_u8i8)
 *   ->
 *     dot4_u8i8 { for ki in 4 ... }
 *
 * Legal if the loop, the body and the types match the description in
 * intrinsics.def.  What it means does not change: code generation may use the
 * instruction where the target has it. */
#include "schedule/internal.h"

#include <string.h>

typedef struct {
	const char *name;
	DType a, b, sum;
	int terms;
} Intrinsic;

static const Intrinsic intrinsics[] = {
#define INTRINSIC(name, a, b, sum, terms)                                      \
	{#name, DT_##a, DT_##b, DT_##sum, terms},
#include "schedule/primitives/intrinsics.def"
#undef INTRINSIC
};

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
	for (size_t i = 0; i < sizeof intrinsics / sizeof *intrinsics; i++)
		if (!strcmp(intrinsics[i].name, word)) {
			p->intrinsic = (int)i;
			return NULL;
		}
	return "there is no such intrinsic";
}

static bool is_operand(const Expr *e, DType type)
{
	return e->op == OP_CAST && e->arg[0]->op == OP_READ &&
	    e->arg[0]->type == type;
}

static bool body_matches(const Expr *body, const Intrinsic *in)
{
	if (body->op != OP_MUL || body->type != in->sum)
		return false;
	return (is_operand(body->arg[0], in->a) &&
		   is_operand(body->arg[1], in->b)) ||
	    (is_operand(body->arg[0], in->b) && is_operand(body->arg[1], in->a));
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
	in = &intrinsics[p.intrinsic];
	s = &nest->stages.at[nest->vars.at[p.loop].stage];
	if (s->intrinsic >= 0 ||
	    (s->tensor_loop >= 0 && s->tensor_loop != p.loop))
		return "the block has a unit already";
	if (s->reduce != REDUCE_SUM || !body_matches(s->body, in))
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
