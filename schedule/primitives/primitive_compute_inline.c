/* compute_inline: the body of a block is put where its element is read.
 *
 *     b[i] = a[i] * 2                compute_inline(b)
 *     c[i, j] = b[i] + x[j]
 *   ->
 *     c[i, j] = a[i] * 2 + x[j]
 *
 * Legal for a block without reduction, as long as no reader's body becomes too
 * large (inlining.c).  One that writes an output stays, for that alone. */
#include "schedule/internal.h"

#include <assert.h>

typedef struct {
	int stage;
} ComputeInline;

static Refusal parameters(const Call *call, ComputeInline *p)
{
	return call_stage(call, 0, &p->stage);
}

static Inlining inlining_of(const Nest *nest, const Stage *from)
{
	return (Inlining){
	    from->buffer, nest->buffers.at[from->buffer].type, from->body};
}

Refusal compute_inline_legal(const Call *call)
{
	const Nest *nest = call->nest;
	const Stage *s;
	ComputeInline p;
	Inlining in;
	IntVec readers;
	Refusal why = parameters(call, &p);

	if (why)
		return why;
	s = &nest->stages.at[p.stage];
	if (s->reduce != REDUCE_NONE)
		return "the block has a reduction";
	if (edit_is_once(nest, s->buffer))
		return "the block is compared with what is computed from it: "
		       "computed twice it might differ";
	if (s->fill)
		return "the block is padded";
	if (!edit_is_identity_write(nest, p.stage))
		return "the block does not write at its axes";
	if (edit_has_attached_stage(nest, p.stage))
		return "a block is placed below it";
	in = inlining_of(nest, s);
	readers = edit_readers(nest, s->buffer);
	for (int i = 0; i < readers.n; i++) {
		int reader = readers.at[i];
		if (nest->stages.at[reader].tensor_loop >= 0)
			return "a block that reads it was made by blockize";
		if (!inlining_fits(&in, nest->stages.at[reader].body))
			return "the body of a block that reads it would be too "
			       "large";
	}
	return readers.n ? NULL : "no block reads it";
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
	const Stage *from;
	IntVec readers;
	ComputeInline p;
	Inlining in;

	parameters(call, &p);
	from = &nest->stages.at[p.stage];
	in = inlining_of(nest, from);
	bool stays = nest_is_argument(nest, in.buffer);
	if (!stays)
		edit_remove_stage(nest, p.stage);
	readers = edit_readers(nest, in.buffer);
	for (int i = 0; i < readers.n; i++) {
		Stage *s = &nest->stages.at[readers.at[i]];
		nest_set_body(nest, readers.at[i],
		    inlining_body(nest->arena, &in, s->body));
		s->is_copy = s->is_copy && retype_is_copy(s->body) &&
		    from->is_copy;
		drop_prefetch(s, in.buffer);
		assert(!nest_reads(nest, readers.at[i], in.buffer));
	}
	if (!stays)
		nest->buffers.at[in.buffer].writer = -1;
}
