/* retype: an operand of a product is read from a copy in another type.
 *
 *     c[i, j] = sum[k](i32(a[i, k]) * i32(b[k, j]))     t = retype(c, 1, i16)
 *   ->
 *     t[x0, x1] = i16(a[x0, x1])
 *     c[i, j] = sum[k](i32(t[i, k]) * i32(b[k, j]))
 *
 * The operand, the first or the second, is a buffer's element as it is, and the
 * type one that has all of its values: i16 for i8 and u8, f32 for f16 and bf16.
 * Or for i8 u8, and for u8 i8, which t has with an offset that the product takes
 * off again (ir/nest/nest_retype.c): (i32(t[i, k]) - 128) * i32(b[k, j]).  Of a
 * const input t is made by the pack function.  Legal before anything of the
 * block is scheduled. */
#include "schedule/internal.h"

#include <string.h>

typedef struct {
	int stage;
	Retype retype;
} Retyping;

static Refusal parameters(const Call *call, Retyping *p)
{
	int64_t operand;
	const char *word;
	DType to;
	Refusal why = call_stage(call, 0, &p->stage);

	if (!why)
		why = call_int(call, 1, &operand);
	if (!why)
		why = call_word(call, 2, &word);
	if (!why)
		why = call_outs(call, 1);
	if (why)
		return why;
	if (!dtype_parse(word, strlen(word), &to))
		return "there is no such type";
	return operand >= 1 && operand <= 2 &&
		retype_find(call->nest->stages.at[p->stage].body,
		    (int)operand, to, &p->retype)
	    ? NULL
	    : "the block is no product of an element that has such a copy";
}

Refusal retype_legal(const Call *call)
{
	Retyping p;
	Refusal why = parameters(call, &p);

	if (why)
		return why;
	return edit_is_pristine(call->nest, p.stage)
	    ? NULL : "the block is scheduled already";
}

/* Axes x0, x1 ... over the buffer that is read.  Of a const input it is a copy like
 * those that pack functions make, of others a block like any. */
static int add_copy(Nest *nest, const Retyping *p, const char *name)
{
	int number = edit_new_stage(nest, name, p->stage, false);
	Stage *s = &nest->stages.at[number];
	int from = p->retype.read->id;
	NestBuffer like = nest->buffers.at[from];
	DType type = like.type;

	like.type = p->retype.to;
	s->naxes = s->nspatial = s->nwrite = like.ndim;
	s->axes = NEW_N(nest->arena, StageAxis, like.ndim);
	s->write = NEW_N(nest->arena, Expr *, like.ndim);
	for (int d = 0; d < like.ndim; d++) {
		s->axes[d] = (StageAxis){
		    .name = arena_printf(nest->arena, "x%d", d),
		    .extent = like.shape[d], .region = HANDLE_NONE};
		s->write[d] = expr_axis(nest->arena, d);
	}
	int known = nest->buffers.at[from].program_buffer;
	s->is_copy = known >= 0 && nest->program->buffers[known].is_const;
	s->buffer = edit_new_buffer(nest, name, &like, SCOPE_GLOBAL);
	nest->buffers.at[s->buffer].writer = number;
	nest_set_body(nest, number,
	    retype_element(nest->arena, &p->retype,
		expr_read(nest->arena, type, from, s->write, like.ndim)));
	edit_new_loops(nest, number);
	return s->buffer;
}

void retype_apply(const Call *call)
{
	Nest *nest = call->nest;
	Retyping p;

	parameters(call, &p);
	int buffer = add_copy(nest, &p, call->step->outs[0]);
	nest_set_body(nest, p.stage,
	    retype_product(nest->arena, &p.retype,
		nest->stages.at[p.stage].body, buffer));
}
