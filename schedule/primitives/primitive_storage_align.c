/* storage_align: a buffer's rows begin away from powers of two.
 *
 *     b[x0][x1], stride of x0 512    storage_align(b, 0, 16, 8)
 *   ->
 *     stride of x0 520               (a multiple of 16, plus 8)
 *
 * `part` counts the parts of the layout from the outermost.  Legal for buffers
 * that are no arguments. */
#include "schedule/internal.h"

typedef struct {
	int stage;
	int64_t part;
	Handle factor, offset;
} StorageAlign;

static Refusal parameters(const Call *call, StorageAlign *p)
{
	Refusal why = call_stage(call, 0, &p->stage);

	if (!why)
		why = call_int(call, 1, &p->part);
	if (!why)
		why = call_handle(call, 2, 1, &p->factor);
	return why ? why : call_handle(call, 3, 0, &p->offset);
}

Refusal storage_align_legal(const Call *call)
{
	const NestBuffer *b;
	StorageAlign p;
	Refusal why = parameters(call, &p);

	if (why)
		return why;
	if (nest_is_argument(
		call->nest, call->nest->stages.at[p.stage].buffer))
		return "the block writes an output";
	b = &call->nest->buffers.at[call->nest->stages.at[p.stage].buffer];
	if (p.part < 0 || p.part >= b->nparts)
		return "the layout has no such part";
	return NULL;
}

void storage_align_apply(const Call *call)
{
	Nest *nest = call->nest;
	NestBuffer *b;
	StorageAlign p;

	parameters(call, &p);
	b = &nest->buffers.at[nest->stages.at[p.stage].buffer];
	b->align_part = (int)p.part;
	b->align_factor = p.factor;
	b->align_offset = p.offset;
}
