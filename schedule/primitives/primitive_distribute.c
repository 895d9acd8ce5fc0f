/* distribute: a sum of integers is multiplied out, and what does not vary along the
 * reduction is taken out of it (ir/nest/nest_distribute.c).
 *
 *     c[i, j] = sum[k]((i32(a[i, k]) - z) * (i32(b[k, j]) - v[j]))
 *   ->                                        p, s1, s2, t2 = distribute(c)
 *     p[i, j] = sum[k](i32(a[i, k]) * i32(b[k, j]))
 *     s1[i] = sum[k](i32(a[i, k]))
 *     s2[j] = sum[k](i32(b[k, j]))
 *     t2[j] = z * v[j] * 64 - s2[j] * z
 *     c[i, j] = p[i, j] - s1[i] * v[j] + t2[j]
 *
 * and of channels each for itself                p, s, t = distribute(c, 2)
 *
 *     c[i, k] = sum[r]((i32(a[i + r, k]) - z) * (i32(b[r, k]) - v[k]))
 *   ->
 *     p[i, k] = sum[r](i32(a[i + r, k]) * (i32(b[r, k]) - v[k]))
 *     s[k] = sum[r](i32(b[r, k]))
 *
 * A sum has the axes that its element has, and those of the steps that count,
 * whose other axes are summed first, to a sum before it; one that is multiplied with data of no
 * other axes is followed by what it is then, after all sums.  Integers wrap around,
 * so the result is the same; floats are refused.  Legal before anything of the block
 * is scheduled. */
#include "schedule/internal.h"

#include <assert.h>

typedef struct {
	int stage;
	Distribution parts;
} Distribute;

static Refusal parameters(const Call *call, Distribute *p)
{
	const Nest *nest = call->nest;
	Refusal why = call_stage(call, 0, &p->stage);
	int at = call_optional(call, 1, "kept");
	int64_t kept = 0;

	if (!why && at >= 0)
		why = call_int(call, at, &kept);
	if (why)
		return why;
	if (at >= 0 && kept != 1 && kept != 2)
		return "the first or the second operand is kept";
	const Stage *s = &nest->stages.at[p->stage];
	if (s->reduce != REDUCE_SUM ||
	    !distribution_find(nest->arena, s->body,
		edit_extents(nest, p->stage), s->nspatial, s->naxes, (int)kept,
		&p->parts))
		return "the block is no sum of integers with something to take "
		       "out";
	return call_outs(call, 1 + p->parts.nsums + p->parts.nscaled);
}

Refusal distribute_legal(const Call *call)
{
	const Nest *nest = call->nest;
	Distribute p;
	Refusal why = parameters(call, &p);

	if (why)
		return why;
	if (!edit_is_pristine(nest, p.stage))
		return "the block is scheduled already";
	if (!edit_is_identity_write(nest, p.stage))
		return "the block does not write at its axes";
	return NULL;
}

/* A block with so many axes of the old one's: its buffer. */
static int add_part(Nest *nest, const Distribute *p, const char *name,
    const int *axes, int naxes, int nspatial, Expr *body)
{
	const Stage *old = &nest->stages.at[p->stage];
	StageAxis *of = NEW_N(nest->arena, StageAxis, naxes);

	for (int i = 0; i < naxes; i++)
		of[i] = old->axes[axes[i]];
	int part = edit_new_block(
	    nest, p->stage, name, of, naxes, nspatial, REDUCE_SUM, body->type);
	nest_set_body(nest, part, body);
	return nest->stages.at[part].buffer;
}

void distribute_apply(const Call *call)
{
	Nest *nest = call->nest;
	Distribute p;

	parameters(call, &p);
	int naxes = nest->stages.at[p.stage].naxes;
	int nspatial = nest->stages.at[p.stage].nspatial;
	int *all = NEW_N(nest->arena, int, naxes);
	int *buffers = NEW_N(nest->arena, int, 1 + p.parts.nsums);
	for (int a = 0; a < naxes; a++)
		all[a] = a;
	buffers[0] = add_part(nest, &p, call->step->outs[0], all, naxes, nspatial,
	    p.parts.product);
	for (int i = 0; i < p.parts.nsums; i++) {
		const DistributedSum *sum = &p.parts.sums[i];
		buffers[i + 1] = add_part(nest, &p, call->step->outs[i + 1],
		    sum->axes, sum->naxes, sum->nspatial,
		    distribution_element(
			nest->arena, &p.parts, i, naxes, buffers));
	}
	int n = 1 + p.parts.nsums;
	for (int i = 0; i < p.parts.nsums; i++) {
		const DistributedSum *sum = &p.parts.sums[i];
		if (sum->scaled)
			buffers[i + 1] =
			    add_part(nest, &p, call->step->outs[n++], sum->axes,
				sum->nspatial, sum->nspatial,
				distribution_scaled(
				    nest->arena, sum, naxes, buffers[i + 1]));
	}
	assert(n == call->step->nouts);
	edit_make_elementwise(nest, p.stage,
	    distribution_whole(nest->arena, &p.parts, nspatial, buffers));
}
