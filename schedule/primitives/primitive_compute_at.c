/* compute_at: a producer is computed where it is used.
 *
 *     for c.i  b[i] = ...            compute_at(b, c.i)
 *     for c.i  for c.j  c[...] = ... b[i] ...
 *   ->
 *     for c.i
 *       b[i] = ...                   (what this iteration reads, no more)
 *       for c.j  c[...] = ... b[i] ...
 *
 * Legal if all who read the block are below the loop: then every element that
 * is read has been computed in the same iteration.  What is written for others
 * (an output) cannot move.  Inference computes the region and so the extents of
 * the block's loops; those that split has fixed stay.  `root` undoes it,
 * `inline` is compute_inline. */
#include "schedule/internal.h"

#include <string.h>

typedef struct {
	int stage;
	int loop; /* -1: root */
	bool inlined;
} ComputeAt;

static Refusal parameters(const Call *call, ComputeAt *p)
{
	const char *word;
	Refusal why = call_stage(call, 0, &p->stage);

	if (!why)
		why = call_word(call, 1, &word);
	if (why)
		return why;
	p->loop = -1;
	p->inlined = !strcmp(word, "inline");
	if (p->inlined || !strcmp(word, "root"))
		return NULL;
	return call_loop(call, 1, &p->loop);
}

static Refusal readers_legal(const Call *call, const ComputeAt *p)
{
	const Nest *nest = call->nest;
	int buffer = nest->stages.at[p->stage].buffer;
	IntVec readers = edit_readers(nest, buffer);

	for (int i = 0; i < readers.n; i++)
		if (p->loop >= 0 &&
		    !edit_is_below(nest, readers.at[i], p->loop))
			return "a block that reads it is not below the loop";
	return readers.n ? NULL : "no block reads it";
}

Refusal compute_at_legal(const Call *call)
{
	const Nest *nest = call->nest;
	ComputeAt p;
	Refusal why = parameters(call, &p);

	if (why)
		return why;
	if (nest_is_argument(nest, nest->stages.at[p.stage].buffer))
		return "the block writes an output";
	if (p.inlined)
		return compute_inline_legal(call);
	if (nest->stages.at[p.stage].after)
		return "the block was moved by reverse_compute_at";
	why = readers_legal(call, &p);
	if (!why && p.loop >= 0)
		why = edit_move_legal(nest, p.stage, p.loop);
	if (!why && p.loop >= 0)
		why = edit_kinds_legal(nest, p.stage, p.loop);
	return why;
}

void compute_at_apply(const Call *call)
{
	Nest *nest = call->nest;
	NestBuffer *buffer;
	ComputeAt p;

	parameters(call, &p);
	if (p.inlined) {
		compute_inline_apply(call);
		return;
	}
	edit_set_place(nest, p.stage, p.loop);
	buffer = &nest->buffers.at[nest->stages.at[p.stage].buffer];
	if (p.loop >= 0 && buffer->scope == SCOPE_GLOBAL)
		buffer->scope = SCOPE_LOCAL;
	else if (p.loop < 0 && buffer->scope == SCOPE_LOCAL)
		buffer->scope = SCOPE_GLOBAL;
}
