/* How an element of a stage is written that is filled iterations ahead
 * (lower_stages.c): copied asynchronously, or loaded into a register and stored from
 * it later. */
#include "codegen/lower/lower_internal.h"

#include <assert.h>

/* What every address of the buffer's is a multiple of, in bytes, where it begins
 * at a multiple of 64: what one of a parameter does not promise is asked for
 * where the code is made. */
static int64_t aligned_to(Lower *l, int buffer, const LowAffine *a)
{
	return low_affine_align(
	    a, l->nest->buffers.at[buffer].type, WORKSPACE_ALIGN);
}

/* `elements` from an address on, both without lanes; false: not aligned. */
static bool copy_run(
    Lower *l, int buffer, Index address, int from, Index source, int elements)
{
	assert(!index_has_lanes(address) && !index_has_lanes(source));
	int64_t bytes = elements * dtype_bytes(l->nest->buffers.at[from].type);
	LowAffine to = index_address(l, address);
	LowAffine at = index_address(l, source);
	if ((bytes != 4 && bytes != 8 && bytes != 16) ||
	    aligned_to(l, buffer, &to) % bytes ||
	    aligned_to(l, from, &at) % bytes)
		return false;
	LowNode *node = emit_effect(l, LOW_COPY_ASYNC, -1, -1, -1);
	node->buffer = l->part->low_buffer[buffer];
	node->address = to;
	node->source = l->part->low_buffer[from];
	node->from = at;
	node->i = elements;
	l->part->version[buffer]++;
	return true;
}

static Index lane_at(Lower *l, Index x, int lane)
{
	int64_t step = index_lane(x);
	return index_add(
	    l, index_without(l, x, SYMBOL_LANE), index_const(lane), step);
}

/* Lanes side by side at once, others one by one. */
bool stages_copy(Lower *l, const Stage *s, Index address)
{
	if (l->filling != FILL_ASYNC || l->mask.lanes > 1 ||
	    l->store_mask.lanes > 1)
		return false;
	int from = s->body->id;
	LowBufferKind kind = l->f->buffers.at[l->part->low_buffer[from]].kind;
	Index source = buffer_address(l, from, s->body->arg, s->body->narg);
	if (address.vector >= 0 || source.vector >= 0 ||
	    (kind != LOWBUF_PARAM && kind != LOWBUF_WORKSPACE))
		return false;
	if (l->lanes == 1 ||
	    (index_lane(address) == 1 && index_lane(source) == 1))
		return copy_run(l, s->buffer, lane_at(l, address, 0), from,
		    lane_at(l, source, 0), l->lanes);
	if (dtype_bytes(s->body->type) < 4)
		return false;
	for (int i = 0; i < l->lanes; i++)
		copy_run(l, s->buffer, lane_at(l, address, i), from,
		    lane_at(l, source, i), 1);
	return true;
}

bool stages_keep(Lower *l, Value v, DType type)
{
	if (l->filling != FILL_LOAD)
		return false;
	int lanes = l->lanes, kept = new_variable(l, type, lanes, "kept");
	emit_into(l, kept, LOW_COPY, value_as(l, v, lanes), -1, -1);
	vec_push(l->arena, &l->part->kept, kept);
	return true;
}

bool stages_kept(Lower *l, Value *v, DType type)
{
	if (l->filling != FILL_STORE)
		return false;
	assert(l->part->nkept < l->part->kept.n);
	int temp = l->part->kept.at[l->part->nkept++];
	*v = value_temp(type, l->f->temps.at[temp].lanes, temp);
	return true;
}
