/* prefix: a running sum in one pass, by blocks.
 *
 *     y[j] = sum[k](if k <= j then e(k) else 0)      w, p = prefix(y.k, 16)
 *   ->
 *     w[j] = sum[x0 < 16](if x0 <= j % 16 then e(j//16*16 + x0) else 0)
 *     p[x1] = sum[x0](if x0 < x1 then w[x0*16 + 15] else 0)
 *     y[j] = w[j] + p[j // 16]
 *
 * The order of the reduction changes, which --numerics=exact forbids for floats.
 * Legal before anything of the block is scheduled; e is not moved by j
 * (ir/nest/nest_prefix.c). */
#include "schedule/internal.h"

#include <assert.h>

typedef struct {
	int stage;
	int64_t size;
	Prefix prefix;
} Scan;

static Refusal parameters(const Call *call, Scan *p)
{
	const Nest *nest = call->nest;
	int var;
	Refusal why = call_loop(call, 0, &var);

	if (!why)
		why = call_int(call, 1, &p->size);
	if (!why)
		why = call_outs(call, 2);
	if (!why)
		why = edit_scan(nest, var, &p->stage, &p->prefix);
	if (why)
		return why;
	const Stage *s = &nest->stages.at[p->stage];
	return prefix_fits(&p->prefix, p->size,
		   s->axes[p->prefix.j].extent, s->axes[p->prefix.k].extent)
	    ? NULL
	    : "the size does not make several blocks";
}

Refusal prefix_legal(const Call *call)
{
	Scan p;
	Refusal why = parameters(call, &p);

	if (why)
		return why;
	if (edit_is_exact(call->nest, p.stage))
		return "exact numerics keep the order of the reduction";
	if (!edit_is_pristine(call->nest, p.stage))
		return "the block is scheduled already";
	if (!edit_is_identity_write(call->nest, p.stage))
		return "the block does not write at its axes";
	return NULL;
}

void prefix_apply(const Call *call)
{
	Nest *nest = call->nest;
	Arena *arena = nest->arena;
	Scan p;

	parameters(call, &p);
	const Prefix *x = &p.prefix;
	const Stage old = nest->stages.at[p.stage];
	const NestBuffer *to = &nest->buffers.at[old.buffer];
	DType type = to->type;
	StageAxis *axes = arena_memdup(
	    arena, old.axes, sizeof *axes * (size_t)old.naxes);
	int64_t nj = axes[x->j].extent;
	axes[x->k] = (StageAxis){.name = "x0", .extent = p.size};
	int within = edit_new_block(nest, p.stage, call->step->outs[0], axes,
	    old.naxes, old.nspatial, old.reduce, type);
	nest_set_body(
	    nest, within, prefix_within(arena, x, old.body, old.naxes, p.size));
	assert(x->k == old.nspatial && nj > p.size);
	axes[x->k].extent = (nj - 1) / p.size;
	axes[x->j] = (StageAxis){.name = "x1", .extent = (nj - 1) / p.size + 1};
	int before = edit_new_block(nest, p.stage, call->step->outs[1], axes,
	    old.naxes, old.nspatial, old.reduce, type);
	int parts = nest->stages.at[within].buffer;
	nest_set_body(nest, before,
	    prefix_before(
		arena, x, old.body, old.naxes, old.nspatial, p.size, parts));
	edit_make_elementwise(nest, p.stage,
	    prefix_whole(arena, x, old.body->type, old.nspatial, p.size, parts,
		nest->stages.at[before].buffer));
}
