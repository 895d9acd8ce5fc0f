/* compute_inline: the body of a block is put where its element is read.
 *
 *     b[i] = a[i] * 2                compute_inline(b)
 *     c[i, j] = b[i] + x[j]
 *   ->
 *     c[i, j] = a[i] * 2 + x[j]
 *
 * Legal for a block without reduction that writes no output.  Storing rounds,
 * so the body keeps a cast to the buffer's type. */
#include "schedule/internal.h"

typedef struct {
	int stage;
} ComputeInline;

static Refusal parameters(const Call *call, ComputeInline *p)
{
	return call_stage(call, 0, &p->stage);
}

Refusal compute_inline_legal(const Call *call)
{
	const Nest *nest = call->nest;
	const Stage *s;
	ComputeInline p;
	int n = 0;
	Refusal why = parameters(call, &p);

	if (why)
		return why;
	s = &nest->stages.at[p.stage];
	if (s->reduce != REDUCE_NONE)
		return "the block has a reduction";
	if (nest_is_argument(nest, s->buffer))
		return "the block writes an output";
	if (s->fill)
		return "the block is padded";
	if (!edit_is_identity_write(nest, p.stage))
		return "the block does not write at its axes";
	if (edit_has_attached_stage(nest, p.stage))
		return "a block is placed below it";
	for (int i = 0; i < nest->order.n; i++) {
		int reader = nest->order.at[i];
		if (!edit_is_reading(nest, reader, s->buffer))
			continue;
		n++;
		if (nest->stages.at[reader].tensor_loop >= 0)
			return "a block that reads it was made by blockize";
	}
	return n ? NULL : "no block reads it";
}

typedef struct {
	const Stage *from;
	DType type;
} Inline;

static Expr *inline_read(Arena *arena, Expr *e, void *context)
{
	const Inline *in = context;

	if (e->op != OP_READ || e->id != in->from->buffer)
		return e;
	return expr_cast(arena, in->type,
	    expr_substitute_axes(arena, in->from->body, e->arg, e->narg));
}

static void drop_prefetch(Stage *s, int buffer)
{
	int kept = 0;

	for (int i = 0; i < s->prefetches.n; i++)
		if (s->prefetches.at[i].access != buffer)
			s->prefetches.at[kept++] = s->prefetches.at[i];
	s->prefetches.n = kept;
}

void compute_inline_apply(const Call *call)
{
	Nest *nest = call->nest;
	ComputeInline p;
	Inline in;

	parameters(call, &p);
	in.from = &nest->stages.at[p.stage];
	in.type = nest->buffers.at[in.from->buffer].type;
	edit_remove_stage(nest, p.stage);
	for (int i = 0; i < nest->order.n; i++) {
		Stage *s = &nest->stages.at[nest->order.at[i]];
		if (!edit_is_reading(nest, nest->order.at[i], in.from->buffer))
			continue;
		s->body = expr_rewrite(nest->arena, s->body, inline_read, &in);
		s->is_copy = s->is_copy && s->body->op == OP_READ &&
		    in.from->is_copy;
		drop_prefetch(s, in.from->buffer);
	}
	nest->buffers.at[in.from->buffer].writer = -1;
}
