/* shorten: integers in 32 bits that fit in 16 are computed, and kept, in 16
 * (ir/nest/nest_shorten.c).
 *
 *     g[i] = i32(x[i + 1]) - i32(x[i])                   shorten(g)
 *     y[i] = u8(abs(g[i])//2)                            shorten(y)
 *   ->
 *     g[i] = i16(x[i + 1]) - i16(x[i])
 *     y[i] = u8(abs(g[i])//2)                            all in i16
 *
 * Legal where the values that the body can have, computed from what it reads, all
 * fit, before anything of the block is scheduled. */
#include "schedule/internal.h"

typedef struct {
	int stage;
	Expr *body; /* NULL: something does not fit */
} Shorten;

static int64_t steps_of(const Stage *s)
{
	int64_t n = 1;
	for (int a = s->nspatial; a < s->naxes; a++)
		n *= s->axes[a].extent;
	return n;
}

/* By buffer: what is computed before the stage, by how, all else by its type. */
static Interval *ranges_before(const Nest *nest, int stage)
{
	Interval *of = NEW_N(nest->arena, Interval, nest->buffers.n);
	for (int i = 0; i < nest->buffers.n; i++)
		of[i] = dtype_interval(nest->buffers.at[i].type);
	for (int k = 0; nest->order.at[k] != stage; k++) {
		int i = nest->order.at[k];
		const Stage *s = &nest->stages.at[i];
		if (dtype_is_int(s->body->type) && s->carries < 0 && !s->fill &&
		    edit_is_identity_write(nest, i) &&
		    nest->buffers.at[s->buffer].type == s->body->type)
			of[s->buffer] = shorten_range(s->reduce, s->body,
			    steps_of(s), edit_extents(nest, i), of);
	}
	return of;
}

static Refusal parameters(const Call *call, Shorten *p)
{
	const Nest *nest = call->nest;
	Refusal why = call_stage(call, 0, &p->stage);

	if (why)
		return why;
	const Stage *s = &nest->stages.at[p->stage];
	p->body = NULL;
	if (expr_size_within(s->body, SHORTEN_NODES_MAX))
		p->body = shorten_body(nest->arena, s->reduce, s->body,
		    steps_of(s), edit_extents(nest, p->stage),
		    ranges_before(nest, p->stage));
	return NULL;
}

static Narrow kept(const Nest *nest, const Shorten *p)
{
	return (Narrow){.type = p->body->type,
	    .from = nest->stages.at[p->stage].body->type,
	    .element = p->body};
}

Refusal shorten_legal(const Call *call)
{
	const Nest *nest = call->nest;
	Shorten p;
	Refusal why = parameters(call, &p);

	if (why)
		return why;
	const Stage *s = &nest->stages.at[p.stage];
	if (!edit_is_pristine(nest, p.stage))
		return "the block is scheduled already";
	if (!edit_is_identity_write(nest, p.stage))
		return "the block does not write at its axes";
	if (s->carries >= 0)
		return "the block carries from element to element";
	if (!p.body)
		return "not all of its integers fit in 16 bits";
	if (p.body->type == s->body->type)
		return NULL;
	if (nest_is_argument(nest, s->buffer))
		return "the block writes an output in 32 bits";
	Narrow n = kept(nest, &p);
	return edit_narrow_legal(nest, p.stage, &n);
}

void shorten_apply(const Call *call)
{
	Nest *nest = call->nest;
	Shorten p;

	parameters(call, &p);
	Narrow n = kept(nest, &p);
	if (n.type == n.from)
		nest_set_body(nest, p.stage, p.body);
	else
		edit_narrow(nest, p.stage, &n);
}
