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

/* Of a const input it is a copy like those that pack functions make, of others a block
 * like any. */
static int add_copy(Nest *nest, const Retyping *p, const char *name)
{
	int from = p->retype.read->id;
	const NestBuffer read = nest->buffers.at[from];
	int stage = edit_new_copy(nest, p->stage, name, from, p->retype.to);
	Stage *s = &nest->stages.at[stage];

	s->is_copy = read.program_buffer >= 0 &&
	    nest->program->buffers[read.program_buffer].is_const;
	nest_set_body(nest, stage,
	    retype_element(nest->arena, &p->retype,
		expr_read(nest->arena, read.type, from, s->write, read.ndim)));
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
