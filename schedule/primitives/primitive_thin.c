/* thin: only every step-th element of a block along an axis is computed and
 * kept; the others are a literal, which its readers then hold themselves.
 *
 *     p[y] = if y % 2 == 0 then d[y//2] else 0       thin(p.y, 2)
 *     c[y] += p[y + r] * w[r]
 *   ->
 *     p[y] = d[y]
 *     c[y] += (if (y + r) % 2 == 0 then p[(y + r)//2] else 0) * w[r]
 *
 * Legal for a block without reduction that writes at its axes and no output,
 * before its loop and its layout are changed; the body's conditions say that it
 * is a literal elsewhere (ir/nest/nest_phase.c). */
#include "schedule/internal.h"

#include <assert.h>
#include <string.h>

typedef struct {
	int stage;
	ElementPhase phase;
} Thin;

static Refusal parameters(const Call *call, Thin *p)
{
	const Nest *nest = call->nest;
	int var;
	int64_t step;
	Refusal why = call_loop(call, 0, &var);

	if (!why)
		why = call_int(call, 1, &step);
	if (why)
		return why;
	if (step < 2)
		return "a step is at least 2";
	const Var *v = &nest->vars.at[var];
	const Stage *s = &nest->stages.at[v->stage];
	p->stage = v->stage;
	if (v->axis < 0 || s->axes[v->axis].var != var ||
	    v->kind != LOOP_SERIAL || v->unroll_limit != HANDLE_NONE)
		return "the loop is scheduled already";
	if (s->reduce != REDUCE_NONE)
		return "the block has a reduction";
	if (s->carries >= 0)
		return "the block carries from element to element";
	return phase_find(s->body, v->axis, step, &p->phase)
	    ? NULL : "the block is not one literal in between";
}

static Refusal readers_legal(const Call *call, const Thin *p)
{
	const Nest *nest = call->nest;
	int buffer = nest->stages.at[p->stage].buffer;
	IntVec readers = edit_readers(nest, buffer);

	for (int i = 0; i < readers.n; i++) {
		int reader = readers.at[i];
		Refusal why = edit_body_replaceable(nest, reader,
		    phase_reader(nest->arena, &p->phase, buffer,
			nest->stages.at[reader].body));
		if (why)
			return why;
	}
	return NULL;
}

Refusal thin_legal(const Call *call)
{
	const Nest *nest = call->nest;
	const Stage *s;
	Thin p;
	Refusal why = parameters(call, &p);

	if (why)
		return why;
	s = &nest->stages.at[p.stage];
	if (nest_is_argument(nest, s->buffer))
		return "the block writes an output";
	if (!edit_is_identity_write(nest, p.stage))
		return "the block does not write at its axes";
	if (s->fill)
		return "the block is padded";
	if (!edit_has_plain_layout(&nest->buffers.at[s->buffer]))
		return "the layout was changed already";
	if (s->tensor_loop >= 0)
		return "the block was made by blockize";
	if (edit_has_attached_stage(nest, p.stage))
		return "a block is placed below it";
	if (!phase_extent(&p.phase, s->axes[p.phase.axis].extent))
		return "no element is of the phase";
	return readers_legal(call, &p);
}

void thin_apply(const Call *call)
{
	Nest *nest = call->nest;
	Thin p;

	parameters(call, &p);
	Stage *s = &nest->stages.at[p.stage];
	NestBuffer *b = &nest->buffers.at[s->buffer];
	StageAxis *a = &s->axes[p.phase.axis];
	int64_t *shape = NEW_N(nest->arena, int64_t, b->ndim);
	IntVec readers = edit_readers(nest, s->buffer);
	memcpy(shape, b->shape, sizeof *shape * (size_t)b->ndim);
	assert(shape[p.phase.axis] == a->extent);
	a->extent = shape[p.phase.axis] = phase_extent(&p.phase, a->extent);
	b->shape = shape;
	nest_set_body(nest, p.stage,
	    phase_body(nest->arena, &p.phase, s->body, s->naxes));
	for (int i = 0; i < readers.n; i++)
		nest_set_body(nest, readers.at[i],
		    phase_reader(nest->arena, &p.phase, s->buffer,
			nest->stages.at[readers.at[i]].body));
}
