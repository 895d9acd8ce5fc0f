/* extract: a factor of a product gets a block of its own, and is computed once
 * for all that it is multiplied with.
 *
 *     y[i, j] = sum[n]((x[n, i] - m[i]) * w[n, j])      t = extract(y, 1)
 *   ->
 *     t[n, i] = x[n, i] - m[i]
 *     y[i, j] = sum[n](t[n, i] * w[n, j])
 *
 * The factor with that number, and all that have no other axes than it has.  Axes
 * that it has in one form alone are one: of x[i + r] - m, where that is fewer, the
 * block has the elements of x that are read; those of one value it has not.
 * Of extract(y, 1, apart=1) each is one of its own: a window's elements are stored
 * for each place of it.
 * Of extract(y, 0) it is the first read that is clamped, mirrored or wrapped around
 * along rows, and under no condition, of any block: a border is made once.
 * Legal before anything of the block is scheduled; where several factors move
 * together --numerics=exact forbids it for floats. */
#include "schedule/internal.h"

typedef struct {
	int stage;
	Factor factor;
} Extract;

static Refusal parameters(const Call *call, Extract *p)
{
	int64_t number, apart = 0;
	Refusal why = call_stage(call, 0, &p->stage);
	int at = call_optional(call, 2, "apart");

	if (!why)
		why = call_int(call, 1, &number);
	if (!why && at >= 0)
		why = call_int(call, at, &apart);
	if (!why)
		why = call_outs(call, 1);
	if (why)
		return why;
	if (apart < 0 || apart > 1)
		return "axes are apart, 1, or not, 0";
	const Stage *s = &call->nest->stages.at[p->stage];
	return number >= 0 && number <= INT32_MAX &&
		factor_find(call->nest->arena, s->body,
		    edit_extents(call->nest, p->stage), s->naxes, (int)number,
		    apart, &p->factor)
	    ? NULL
	    : "the block is no product with such a factor of fewer axes";
}

Refusal extract_legal(const Call *call)
{
	const Nest *nest = call->nest;
	Extract p;
	Refusal why = parameters(call, &p);

	if (why)
		return why;
	if (nest->program->numerics == NUMERICS_EXACT &&
	    p.factor.together > 1 && dtype_is_float(p.factor.element->type))
		return "exact numerics keep the order of the product";
	if (!edit_is_pristine(nest, p.stage))
		return "the block is scheduled already";
	if (!edit_is_identity_write(nest, p.stage))
		return "the block does not write at its axes";
	if (nest->stages.at[p.stage].carries >= 0)
		return "the block carries from element to element";
	return NULL;
}

static int add_element(Nest *nest, const Extract *p, const char *name)
{
	const Stage *old = &nest->stages.at[p->stage];
	const Factor *f = &p->factor;
	StageAxis *axes = NEW_N(nest->arena, StageAxis, f->naxes);

	for (int a = 0; a < f->naxes; a++)
		axes[a] = (StageAxis){.name = old->axes[f->axes[a].axis].name,
		    .extent = f->axes[a].extent};
	int stage = edit_new_block(nest, p->stage, name, axes, f->naxes,
	    f->naxes, REDUCE_NONE, f->element->type);
	nest_set_body(nest, stage, f->element);
	return nest->stages.at[stage].buffer;
}

void extract_apply(const Call *call)
{
	Nest *nest = call->nest;
	Extract p;

	parameters(call, &p);
	int buffer = add_element(nest, &p, call->step->outs[0]);
	nest_set_body(nest, p.stage,
	    factor_product(nest->arena, &p.factor, buffer));
}
