/* narrow: integers that are bytes but for what is added to all of them are kept as
 * these bytes, and who reads them adds it (ir/nest/nest_narrow.c).
 *
 *     p[i] = if 1 <= i then i32(x[i - 1]) - i32(z[]) else 0       narrow(p)
 *     c[o] = sum[i](p[i] * i32(w[o, i]))
 *   ->
 *     p[i] = if 1 <= i then x[i - 1] else z[]
 *     c[o] = sum[i]((i32(p[i]) + -i32(z[])) * i32(w[o, i]))
 *
 * and where 0 shall pad it                                        narrow(p, 0)
 *
 *     p[i] = if 1 <= i then x[i - 1] else 0
 *     c[o] = sum[i]((i32(p[i]) + (if 1 <= i then -i32(z[]) else 0)) * …)
 *
 * Legal for a block in i32, or in i16 that has all of the values, or in bytes that
 * 0 does not pad, without reduction and no output, before anything of it is
 * scheduled. */
#include "schedule/internal.h"

typedef struct {
	int stage;
	Narrow narrow;
} Narrowing;

static Refusal parameters(const Call *call, Narrowing *p)
{
	const Nest *nest = call->nest;
	Refusal why = call_stage(call, 0, &p->stage);
	int at = call_optional(call, 1, "padding");
	int64_t padding = 0;

	if (!why && at >= 0)
		why = call_int(call, at, &padding);
	if (why)
		return why;
	if (padding)
		return "the padding is 0, or as it is";
	const Stage *s = &nest->stages.at[p->stage];
	DType type = nest->buffers.at[s->buffer].type;
	if (s->reduce != REDUCE_NONE ||
	    !(at < 0
		    ? narrow_find(nest->arena, s->body, type, &p->narrow)
		    : narrow_find_zero(nest->arena, s->body, type, &p->narrow)))
		return at < 0 ? "the block does not make bytes with something "
				"added"
			      : "the block does not make bytes that something "
				"else than 0 pads";
	return NULL;
}

Refusal narrow_legal(const Call *call)
{
	const Nest *nest = call->nest;
	Narrowing p;
	Refusal why = parameters(call, &p);

	if (why)
		return why;
	const Stage *s = &nest->stages.at[p.stage];
	if (nest_is_argument(nest, s->buffer))
		return "the block writes an output";
	if (!edit_is_pristine(nest, p.stage))
		return "the block is scheduled already";
	if (!edit_is_identity_write(nest, p.stage))
		return "the block does not write at its axes";
	if (s->carries >= 0)
		return "the block carries from element to element";
	return edit_narrow_legal(nest, p.stage, &p.narrow);
}

void narrow_apply(const Call *call)
{
	Narrowing p;

	parameters(call, &p);
	edit_narrow(call->nest, p.stage, &p.narrow);
}
