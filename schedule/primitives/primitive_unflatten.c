/* unflatten: the last axis of a block's results becomes two, its quotient and
 * its remainder by a number, and so does the last dimension of what it writes.
 *
 *     y[m < 8000] = sum[k](x[m//2 + k]*h[m % 2, k])          unflatten(y.m, 2)
 *   ->
 *     y[m < 4000, x0 < 2] = sum[k](x[m + k]*h[x0, k])
 *
 * Its elements lie where they did; what reads them does so at the quotient and the
 * remainder of its index.  Legal before anything of the block is scheduled, where
 * the number divides the axis (ir/nest/nest_unflatten.c). */
#include "schedule/internal.h"

#include <assert.h>
#include <string.h>

typedef struct {
	int stage, axis;
	int64_t by;
} Unflatten;

static Refusal parameters(const Call *call, Unflatten *p)
{
	int var;
	Refusal why = call_loop(call, 0, &var);

	if (!why)
		why = call_int(call, 1, &p->by);
	if (why)
		return why;
	const Var *v = &call->nest->vars.at[var];
	p->stage = v->stage;
	p->axis = v->axis;
	if (!edit_is_pristine(call->nest, v->stage) ||
	    nest_is_sharing(call->nest, v->stage))
		return "the block is scheduled already";
	return v->axis != call->nest->stages.at[v->stage].nspatial - 1
	    ? "the loop is not the last of the block's results"
	    : NULL;
}

static Expr *reader_of(const Nest *nest, const Unflatten *p, int reader)
{
	return unflatten_reader(nest->arena, nest->stages.at[reader].body,
	    nest->stages.at[p->stage].buffer, p->by,
	    edit_extents(nest, reader));
}

static Refusal readers_legal(const Nest *nest, const Unflatten *p)
{
	IntVec readers = edit_readers(nest, nest->stages.at[p->stage].buffer);
	Refusal why = NULL;

	for (int i = 0; i < readers.n && !why; i++)
		why = edit_body_replaceable(nest, readers.at[i],
		    reader_of(nest, p, readers.at[i]));
	return why;
}

Refusal unflatten_legal(const Call *call)
{
	const Nest *nest = call->nest;
	Unflatten p;
	Refusal why = parameters(call, &p);

	if (why)
		return why;
	const Stage *s = &nest->stages.at[p.stage];
	const NestBuffer *b = &nest->buffers.at[s->buffer];
	if (p.by < 2 || p.by >= s->axes[p.axis].extent ||
	    s->axes[p.axis].extent % p.by)
		return "the number does not divide the axis";
	if (s->carries >= 0)
		return "the block carries from element to element";
	if (s->is_copy || !edit_is_identity_write(nest, p.stage))
		return "the block does not write at its axes";
	if (b->scope != SCOPE_GLOBAL || !edit_has_plain_layout(b))
		return "the buffer is not global, or has another layout";
	for (int a = 0; a < s->naxes; a++)
		if (!strcmp(s->axes[a].name, unflatten_axis))
			return "the block has an axis x0 already";
	return readers_legal(nest, &p);
}

void unflatten_apply(const Call *call)
{
	Nest *nest = call->nest;
	Arena *arena = nest->arena;
	Unflatten p;

	parameters(call, &p);
	Stage *s = &nest->stages.at[p.stage];
	NestBuffer *b = &nest->buffers.at[s->buffer];
	IntVec readers = edit_readers(nest, s->buffer);
	for (int i = 0; i < readers.n; i++)
		nest_set_body(
		    nest, readers.at[i], reader_of(nest, &p, readers.at[i]));
	edit_set_shape(nest, b, b->ndim + 1,
	    unflatten_shape(arena, b->shape, b->ndim, p.by));
	s->axes = arena_memdup(
	    arena, s->axes, sizeof *s->axes * (size_t)s->naxes);
	assert(s->axes[p.axis].extent % p.by == 0);
	s->axes[p.axis].extent /= p.by;
	s->nwrite = ++s->nspatial;
	s->write = NEW_N(arena, Expr *, s->nwrite);
	for (int a = 0; a < s->nwrite; a++)
		s->write[a] = expr_axis(arena, a);
	StageAxis new = {
	    .name = unflatten_axis, .extent = p.by, .region = HANDLE_NONE};
	edit_add_axis(nest, p.stage, p.axis + 1, new);
	nest_set_body(nest, p.stage,
	    unflatten_body(arena, s->body, p.axis, p.by,
		edit_extents(nest, p.stage), s->naxes - 1));
}
