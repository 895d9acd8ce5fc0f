/* pad: a copy is rounded up to the tiles of its readers.
 *
 *     ap[x0, x1] = a[x0, x1]         pad(ap, 0)
 *   ->
 *     ap[x0, x1] = a[x0, x1] inside of a, 0 up to the tile
 *
 * Legal for a block without reduction that writes at its axes and no output. */
#include "schedule/internal.h"

#include <assert.h>
#include <math.h>
#include <string.h>

typedef struct {
	int stage;
	Expr *fill;
} Pad;

static Refusal fill_value(
    const Call *call, const TraceValue *value, DType type, Expr **fill)
{
	Arena *arena = call->nest->arena;
	double f = (double)value->i;

	if (value->kind == VALUE_WORD && !strcmp(value->word, "inf"))
		f = INFINITY;
	else if (value->kind == VALUE_WORD && !strcmp(value->word, "-inf"))
		f = -INFINITY;
	else if (value->kind != VALUE_INT)
		return "a value to pad with is a number, inf or -inf";
	if (type == DT_F16)
		f = f16_to_f32(f16_from_f64(f));
	else if (type == DT_BF16)
		f = bf16_to_f32(bf16_from_f64(f));
	else if (type == DT_F32)
		f = (float)f;
	if (dtype_is_float(type))
		*fill = expr_float(arena, type, f);
	else if (value->kind == VALUE_INT && 
	    interval_holds(dtype_interval(type), interval_of(value->i)))
		*fill = expr_int(arena, type, value->i);
	else
		return "the buffer's type cannot hold the value";
	return NULL;
}

static Refusal parameters(const Call *call, Pad *p)
{
	Refusal why = call_stage(call, 0, &p->stage);
	int buffer;

	if (why)
		return why;
	if (call->step->args[1].open)
		return "a decision is open";
	buffer = call->nest->stages.at[p->stage].buffer;
	return fill_value(call, &call->step->args[1].value,
	    call->nest->buffers.at[buffer].type, &p->fill);
}

Refusal pad_legal(const Call *call)
{
	const Nest *nest = call->nest;
	const Stage *s;
	Pad p;
	Refusal why = parameters(call, &p);

	if (why)
		return why;
	s = &nest->stages.at[p.stage];
	if (s->reduce != REDUCE_NONE)
		return "the block has a reduction: cache_read what it writes";
	if (nest_is_argument(nest, s->buffer))
		return "the block writes an output";
	if (!edit_is_identity_write(nest, p.stage))
		return "the block does not write at its axes";
	if (s->fill)
		return "the block is padded already";
	return NULL;
}

void pad_apply(const Call *call)
{
	Pad p;

	parameters(call, &p);
	const Stage *s = &call->nest->stages.at[p.stage];
	assert(p.fill->type == call->nest->buffers.at[s->buffer].type);
	call->nest->stages.at[p.stage].fill = p.fill;
}
