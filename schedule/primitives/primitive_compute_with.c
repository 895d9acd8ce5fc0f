/* compute_with: two blocks of the same axes in one pass.
 *
 *     for s.i  for s.k  s[i] += x[i, k]             compute_with(q, s)
 *     for q.i  for q.k  q[i] += x[i, k]*x[i, k]
 *   ->
 *     for s.i  for s.k
 *       s[i] += x[i, k]
 *       q[i] += x[i, k]*x[i, k]
 *
 * The block gives up its own loops and runs in those of the other, as they are
 * scheduled: what both read is loaded once, what both compute is computed once.
 * It comes where the other one is, also below the loop of another block.
 *
 * Legal if axis by axis both have the same extent and both, or neither, reduce
 * along it; if neither reads the other; and if the block has no place of its
 * own.  No later step schedules either: this one comes last. */
#include "schedule/internal.h"

#include <assert.h>
#include <string.h>

typedef struct {
	int stage, leader;
} ComputeWith;

static Refusal parameters(const Call *call, ComputeWith *p)
{
	int other;
	Refusal why = call_stage(call, 0, &p->stage);

	if (!why)
		why = call_stage(call, 1, &other);
	if (!why)
		p->leader = nest_leader(call->nest, other);
	return why;
}

static bool same_axes(const Stage *a, const Stage *b)
{
	if (a->naxes != b->naxes ||
	    (a->reduce == REDUCE_NONE) != (b->reduce == REDUCE_NONE))
		return false;
	for (int i = 0; i < a->naxes; i++)
		if (a->axes[i].extent != b->axes[i].extent ||
		    a->axes[i].reduce != b->axes[i].reduce)
			return false;
	return true;
}

static bool is_reg(const Nest *nest, int stage)
{
	int buffer = nest->stages.at[stage].buffer;

	return nest->buffers.at[buffer].scope == SCOPE_REG;
}

/* What only one body in its loops can have. */
static bool is_special(const Nest *nest, int stage)
{
	const Stage *s = &nest->stages.at[stage];
	const NestBuffer *b = &nest->buffers.at[s->buffer];
	bool copy = s->is_copy && b->program_buffer < 0;

	return s->fill || s->tensor_loop >= 0 || s->barrier || copy ||
	    b->scope == SCOPE_SHARED || !edit_is_identity_write(nest, stage);
}

/* What would be lost with the block's own loops. */
static bool is_used(const Nest *nest, int stage)
{
	const Stage *s = &nest->stages.at[stage];

	return s->init_at >= 0 || s->prefetches.n ||
	    edit_has_attached_stage(nest, stage);
}

static bool reads_any(const Nest *nest, const ComputeWith *p)
{
	const Stage *s = &nest->stages.at[p->stage];
	IntVec readers = edit_readers(nest, s->buffer);

	for (int i = 0; i < s->reads.n; i++) {
		int buffer = s->reads.at[i].read->id;
		int writer = nest->buffers.at[buffer].writer;
		if (writer >= 0 && nest_leader(nest, writer) == p->leader)
			return true;
	}
	for (int i = 0; i < readers.n; i++)
		if (nest_leader(nest, readers.at[i]) == p->leader)
			return true;
	return false;
}

static Refusal place_legal(const Nest *nest, const ComputeWith *p)
{
	const Stage *s = &nest->stages.at[p->stage];
	const Stage *l = &nest->stages.at[p->leader];

	if (s->place >= 0 && (s->place != l->place || s->after != l->after))
		return "the block has a place already";
	if (l->place >= 0 && !l->after && nest_is_argument(nest, s->buffer))
		return "the block writes an output";
	return NULL;
}

Refusal compute_with_legal(const Call *call)
{
	const Nest *nest = call->nest;
	const Stage *s;
	ComputeWith p;
	Refusal why = parameters(call, &p);

	if (why)
		return why;
	s = &nest->stages.at[p.stage];
	if (p.stage == p.leader)
		return "the blocks are the same";
	if (nest_is_sharing(nest, p.stage))
		return "the block shares loops already";
	if (!same_axes(s, &nest->stages.at[p.leader]))
		return "the blocks have other axes";
	if (is_special(nest, p.stage) || is_special(nest, p.leader))
		return "a block is a copy, padded, tensorized or shared";
	if (is_used(nest, p.stage))
		return "the block's own loops are used";
	if (is_reg(nest, p.stage) != is_reg(nest, p.leader))
		return "one of the blocks writes registers, the other does not";
	if (edit_is_exact(nest, p.stage) && !edit_is_exact(nest, p.leader))
		return "exact numerics keep the order of the reduction";
	if (reads_any(nest, &p))
		return "one of the blocks reads the other";
	return place_legal(nest, &p);
}

/* Behind the leader and those that share its loops already. */
static void move_behind(Nest *nest, const ComputeWith *p)
{
	Stage *leader = &nest->stages.at[p->leader];
	int *order = nest->order.at, from = edit_order_of(nest, p->stage);
	int last =
	    edit_order_of(nest, leader->last < 0 ? p->leader : leader->last);

	leader->last = p->stage;
	for (; from < last; from++)
		order[from] = order[from + 1];
	for (; from > last + 1; from--)
		order[from] = order[from - 1];
	order[from] = p->stage;
	assert(edit_order_of(nest, p->leader) < from);
}

void compute_with_apply(const Call *call)
{
	Nest *nest = call->nest;
	NestBuffer *buffer;
	const Stage *leader;
	ComputeWith p;
	Stage *s;

	parameters(call, &p);
	move_behind(nest, &p);
	leader = &nest->stages.at[p.leader];
	edit_set_place(nest, p.stage, leader->place);
	s = &nest->stages.at[p.stage];
	s->with = p.leader;
	s->after = leader->after;
	s->tail = leader->tail;
	s->init_at = leader->init_at;
	s->nloops = leader->nloops;
	s->loops = leader->loops;
	for (int a = 0; a < s->naxes; a++)
		s->axes[a].var = leader->axes[a].var;
	buffer = &nest->buffers.at[s->buffer];
	if (s->place >= 0 && buffer->scope == SCOPE_GLOBAL &&
	    !nest_is_argument(nest, s->buffer))
		buffer->scope = SCOPE_LOCAL;
}
