/* winograd: a convolution by tiles of m results, each from m + 2 products.
 *
 *     y[o, j] = sum[c, s](d[c, j + s]*w[o, c, s])    u, e, v, p = winograd(y, 4)
 *   ->
 *     u[o, c, i] = G w       e[c, x] = d[c, x] (0 behind its end)
 *     v[c, t, i] = B e       p[o, t, i] = sum[c](u[o, c, i]*v[c, t, i])
 *     y[o, j] = A p
 *
 * Of two pairs of axes each transform is two blocks (ir/nest/nest_winograd.c).
 * Rounding differs by more than the order of a sum does: --numerics=fast alone
 * allows it.  Legal before anything of the block is scheduled, for weights that
 * are known before the kernel runs. */
#include "schedule/internal.h"

typedef struct {
	int stage;
	int64_t m;
	Winograd winograd;
} Tiled;

static Refusal find(const Nest *nest, int stage, Winograd *w)
{
	const Stage *s = &nest->stages.at[stage];

	return winograd_find(nest->arena, s->reduce, s->body,
	    edit_extents(nest, stage), s->nspatial, s->naxes, w);
}

static Refusal parameters(const Call *call, Tiled *p)
{
	Refusal why = call_stage(call, 0, &p->stage);

	if (!why)
		why = call_int(call, 1, &p->m);
	if (!why && p->m != 2 && p->m != 4 && p->m != WINOGRAD_MOST)
		why = "tiles have 2, 4 or 6 results";
	if (!why)
		why = find(call->nest, p->stage, &p->winograd);
	return why ? why : call_outs(call, winograd_nparts(&p->winograd));
}

static bool reads_constants(const Nest *nest, const Expr *e)
{
	if (e->op == OP_READ) {
		int from = nest->buffers.at[e->id].program_buffer;
		if (from < 0 || !nest->program->buffers[from].is_const)
			return false;
	}
	for (int i = 0; i < e->narg; i++)
		if (!reads_constants(nest, e->arg[i]))
			return false;
	return true;
}

Refusal winograd_legal(const Call *call)
{
	const Nest *nest = call->nest;
	Tiled p;
	Refusal why;

	if (nest->program->numerics != NUMERICS_FAST)
		return "only --numerics=fast allows Winograd's algorithm";
	why = parameters(call, &p);
	if (why)
		return why;
	if (!reads_constants(nest, p.winograd.weights))
		return "the weights are not const";
	if (!edit_is_pristine(nest, p.stage))
		return "the block is scheduled already";
	if (!edit_is_identity_write(nest, p.stage))
		return "the block does not write at its axes";
	return NULL;
}

/* Axes x0, x1 ... */
static int add_part(
    Nest *nest, int before, const char *name, const WinogradPart *part)
{
	int stage = edit_new_block(nest, before, name,
	    edit_numbered_axes(nest, part->extents, part->naxes), part->naxes,
	    part->nspatial, part->reduce, part->body->type);

	nest_set_body(nest, stage, part->body);
	return nest->stages.at[stage].buffer;
}

void winograd_apply(const Call *call)
{
	Nest *nest = call->nest;
	int buffers[WINOGRAD_PARTS];
	Tiled p;

	parameters(call, &p);
	for (int i = 0; i < winograd_nparts(&p.winograd); i++) {
		WinogradPart part = winograd_part(
		    nest->arena, &p.winograd, (int)p.m, i, buffers);
		buffers[i] = add_part(
		    nest, p.stage, call->step->outs[i], &part);
	}
	edit_make_elementwise(nest, p.stage,
	    winograd_whole(nest->arena, &p.winograd, (int)p.m, buffers));
}
