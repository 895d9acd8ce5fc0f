/* carry: a running reduction in one pass, each element from the one before.
 *
 *     y[j] = sum[k](if k <= j then e(k) else 0)      carry(y.k)
 *   ->
 *     y[j] = e(j) + (if j > 0 then y[j - 1] else 0)
 *
 * The order of the reduction stays.  Legal before anything of the block is
 * scheduled, where the block writes elements of the type that it adds; e is not
 * moved by j (ir/nest/nest_prefix.c).  That the loops over j run in their order
 * is asked of the finished nest. */
#include "schedule/internal.h"

#include <assert.h>

typedef struct {
	int stage;
	Prefix prefix;
} Carry;

static Refusal parameters(const Call *call, Carry *p)
{
	const Nest *nest = call->nest;
	int var;
	Refusal why = call_loop(call, 0, &var);

	if (!why)
		why = edit_scan(nest, var, &p->stage, &p->prefix);
	if (why)
		return why;
	const Stage *s = &nest->stages.at[p->stage];
	return prefix_carries(&p->prefix, s->axes[p->prefix.j].extent,
		   s->axes[p->prefix.k].extent)
	    ? NULL
	    : "the block is no running sum";
}

Refusal carry_legal(const Call *call)
{
	const Nest *nest = call->nest;
	Carry p;
	Refusal why = parameters(call, &p);

	if (why)
		return why;
	const Stage *s = &nest->stages.at[p.stage];
	if (nest->buffers.at[s->buffer].type != s->body->type)
		return "the block rounds what it adds";
	if (!edit_is_pristine(nest, p.stage))
		return "the block is scheduled already";
	if (nest->buffers.at[s->buffer].scope != SCOPE_GLOBAL)
		return "the buffer is not global";
	if (!edit_is_identity_write(nest, p.stage))
		return "the block does not write at its axes";
	return NULL;
}

void carry_apply(const Call *call)
{
	Nest *nest = call->nest;
	Carry p;

	parameters(call, &p);
	const Stage *s = &nest->stages.at[p.stage];
	Expr *body = prefix_carried(nest->arena, &p.prefix, s->body, s->naxes,
	    s->nspatial, s->buffer);
	edit_make_elementwise(nest, p.stage, body);
	assert(nest_reads(nest, p.stage, s->buffer));
	nest->stages.at[p.stage].carries = p.prefix.j;
}
