/* reverse_compute_inline: a consumer is folded into its only producer.
 *
 *     b[i, j] = a[i] * x[j]          reverse_compute_inline(c)
 *     c[j, i] = exp(b[i, j])
 *   ->
 *     c[j, i] = exp(a[i] * x[j])     (the block named b writes it)
 *
 * Legal if the producer has no reduction and no other reader, and the consumer
 * reads exactly one of its elements for each point, at distinct axes that are
 * all axes of both. */
#include "schedule/internal.h"

#include <assert.h>

enum { MAX_AXES = 64 };

typedef struct {
	int stage, producer;
	int axis[MAX_AXES]; /* consumer's axis -> producer's */
} Fold;

typedef struct {
	const Nest *nest;
	int stage;    /* a live stage's number, or -1 */
	int count;
} ProducerSearch;

static bool find_producer(Expr *e, void *context)
{
	ProducerSearch *search = context;

	if (e->op == OP_READ) {
		int writer = search->nest->buffers.at[e->id].writer;
		if (writer >= 0 && writer != search->stage) {
			search->stage = writer;
			search->count++;
		}
	}
	return true;
}

typedef struct {
	Fold *fold;
	const Stage *producer;
	bool good, seen;
} IndexCheck;

static bool check_index(Expr *e, void *context)
{
	IndexCheck *c = context;

	if (e->op != OP_READ || e->id != c->producer->buffer)
		return true;
	for (int i = 0; i < e->narg && c->good; i++) {
		const Expr *at = e->arg[i];
		if (at->op != OP_AXIS) {
			c->good = false;
			break;
		}
		if (c->fold->axis[at->id] >= 0 && c->fold->axis[at->id] != i)
			c->good = false;
		if (c->seen && c->fold->axis[at->id] != i)
			c->good = false;
		c->fold->axis[at->id] = i;
	}
	c->seen = true;
	return true;
}

static bool match_axes(const Nest *nest, Fold *p)
{
	const Stage *s = &nest->stages.at[p->stage];
	const Stage *from = &nest->stages.at[p->producer];
	IndexCheck c = {p, from, true, false};

	if (s->naxes != from->naxes || s->naxes > MAX_AXES)
		return false;
	for (int i = 0; i < s->naxes; i++)
		p->axis[i] = -1;
	expr_walk(s->body, check_index, &c);
	for (int i = 0; i < s->naxes && c.good; i++)
		c.good = p->axis[i] >= 0 &&
		    s->axes[i].extent == from->axes[p->axis[i]].extent;
	return c.good;
}

static Refusal parameters(const Call *call, Fold *p)
{
	ProducerSearch search = {call->nest, -1, 0};
	Refusal why = call_stage(call, 0, &p->stage);

	if (why)
		return why;
	expr_walk(call->nest->stages.at[p->stage].body, find_producer, &search);
	if (search.count != 1)
		return "the block has not exactly one producer";
	p->producer = search.stage;
	return NULL;
}

Refusal reverse_compute_inline_legal(const Call *call)
{
	const Nest *nest = call->nest;
	const Stage *s, *from;
	Inlining in;
	Fold p;
	Refusal why = parameters(call, &p);

	if (why)
		return why;
	s = &nest->stages.at[p.stage];
	from = &nest->stages.at[p.producer];
	if (s->reduce != REDUCE_NONE)
		return "the block has a reduction";
	if (from->reduce != REDUCE_NONE)
		return "the producer has a reduction";
	if (nest_is_argument(nest, from->buffer))
		return "the producer writes an output";
	if (edit_readers(nest, from->buffer).n != 1)
		return "the producer has other readers";
	if (from->fill || s->fill)
		return "a block is padded";
	if (s->tensor_loop >= 0 || from->tensor_loop >= 0)
		return "a block was made by blockize";
	if (!edit_is_identity_write(nest, p.producer))
		return "the producer does not write at its axes";
	if (!match_axes(nest, &p))
		return "the block does not read one element for each of its "
		       "own";
	if (s->place != from->place || s->after != from->after)
		return "the blocks are at different places";
	if (edit_has_attached_stage(nest, p.stage))
		return "a block is placed below it";
	in = (Inlining){
	    from->buffer, nest->buffers.at[from->buffer].type, from->body};
	if (!inlining_fits(&in, s->body))
		return "the body would be too large";
	return NULL;
}

typedef struct {
	int buffer;
	Expr *value;
} Fill;

static Expr *fill_read(Arena *arena, Expr *e, void *context)
{
	const Fill *f = context;

	(void)arena;
	return e->op == OP_READ && e->id == f->buffer ? f->value : e;
}

void reverse_compute_inline_apply(const Call *call)
{
	Nest *nest = call->nest;
	Arena *arena = nest->arena;
	Stage *s, *from;
	Expr *axes[MAX_AXES];
	Fill fill;
	Fold p;

	parameters(call, &p);
	bool matches = match_axes(nest, &p);
	assert(matches);
	s = &nest->stages.at[p.stage];
	from = &nest->stages.at[p.producer];
	for (int i = 0; i < s->naxes; i++)
		axes[i] = expr_axis(arena, p.axis[i]);
	fill.buffer = from->buffer;
	fill.value = expr_cast(
	    arena, nest->buffers.at[from->buffer].type, from->body);
	nest_set_body(nest, p.producer,
	    expr_rewrite(arena,
		expr_substitute_axes(arena, s->body, axes, s->naxes),
		fill_read, &fill));
	from->write = NEW_N(arena, Expr *, s->nwrite);
	for (int i = 0; i < s->nwrite; i++)
		from->write[i] = expr_substitute_axes(
		    arena, s->write[i], axes, s->naxes);
	from->nwrite = s->nwrite;
	from->is_copy = false;
	nest->buffers.at[from->buffer].writer = -1;
	from->buffer = s->buffer;
	nest->buffers.at[s->buffer].writer = p.producer;
	edit_remove_stage(nest, p.stage);
}
