/* reverse_compute_at: a consumer is computed where its input is made.
 *
 *     for c.i  for c.j  c[i, j] = ...      reverse_compute_at(d, c.i)
 *     for d.i  for d.j  d[i, j] = f(c[i, j])
 *   ->
 *     for c.i
 *       for c.j  c[i, j] = ...
 *       for d.j  d[i, j] = f(c[i, j])      (what this iteration made)
 *
 * A block that reads nothing of the loop's block may follow it too where both
 * have the same last axes: of several results of one input each iteration then
 * makes the same part, and all of their other axes.  Or where its axes are all those of a reduction: each iteration
 * then makes what the reduction reads there.
 *
 *     for s.i  s[] += p[i]               reverse_compute_at(g, io)
 *     for g.i  g[i] = p[i] * 2
 *   ->
 *     for io
 *       for ii  s[] += p[io*8 + ii]
 *       for g.i  g[io*8 + g.i] = p[io*8 + g.i] * 2
 *
 * Legal if the consumer reads the producer's elements at distinct axes of its
 * own, one for one, so that the iterations of the loop part its points among
 * them; if no reduction of the producer is outside of the loop, since its
 * elements would not be finished (a block that follows its steps may have these
 * outside); if an iteration makes one piece of each axis,
 * so that no outer part of a split is inside; and if nothing above computes the
 * producer more than once. */
#include "schedule/internal.h"

typedef struct {
	int stage, loop;
} ReverseComputeAt;

static Refusal parameters(const Call *call, ReverseComputeAt *p)
{
	Refusal why = call_stage(call, 0, &p->stage);

	return why ? why : call_loop(call, 1, &p->loop);
}

typedef struct {
	int buffer, naxes;
	bool good;
} ReadCheck;

static bool check_read(Expr *e, void *context)
{
	ReadCheck *c = context;

	if (e->op != OP_READ || e->id != c->buffer)
		return true;
	if (e->narg != c->naxes)
		c->good = false;
	for (int i = 0; i < e->narg && c->good; i++)
		c->good = e->arg[i]->op == OP_AXIS && e->arg[i]->id == i;
	return true;
}

static bool reads_elementwise(const Nest *nest, int stage, int buffer)
{
	const Stage *s = &nest->stages.at[stage];
	ReadCheck c = {buffer, s->nspatial, true};

	expr_walk(s->body, check_read, &c);
	return c.good && edit_is_identity_write(nest, stage);
}

static bool same_shape(const Nest *nest, int a, int b)
{
	const NestBuffer *x = &nest->buffers.at[a], *y = &nest->buffers.at[b];

	for (int i = 0; i < x->ndim && i < y->ndim; i++)
		if (x->shape[i] != y->shape[i])
			return false;
	return x->ndim == y->ndim;
}

static bool is_reduced_outside(const Nest *nest, int loop)
{
	const Stage *s = &nest->stages.at[nest->vars.at[loop].stage];

	for (int i = 0; i <= nest_loop_position(nest, loop); i++)
		if (nest->vars.at[s->loops[i]].reduce)
			return true;
	return false;
}

typedef enum { FIXED_NONE, FIXED_SOME, FIXED_ALL } Fixed;

/* How many of the loops that make up a variable are at position `at` of the
 * stage's loops or outside of it. */
static Fixed fixed_part(const Nest *nest, int var, int at)
{
	const Var *v = &nest->vars.at[var];
	Fixed all;

	if (v->how == VAR_FUSED)
		return fixed_part(nest, v->fused, at);
	if (v->how == VAR_LOOP)
		return nest_loop_position(nest, var) <= at
		    ? FIXED_ALL : FIXED_NONE;
	all = fixed_part(nest, v->child[0], at);
	for (int i = 1; i < v->nchild; i++)
		if (fixed_part(nest, v->child[i], at) != all)
			all = FIXED_SOME;
	return all;
}

/* Does an iteration of the loops outside make one piece of the variable's
 * range?  Only if they are its outer digits. */
static bool is_one_piece(const Nest *nest, int var, int at)
{
	const Var *v = &nest->vars.at[var];
	Fixed before = FIXED_ALL;

	if (v->how == VAR_LOOP)
		return true;
	if (v->how == VAR_FUSED)
		return fixed_part(nest, v->fused, at) != FIXED_SOME;
	for (int i = 0; i < v->nchild; i++) {
		Fixed now = fixed_part(nest, v->child[i], at);
		if (now != FIXED_NONE && before != FIXED_ALL)
			return false;
		if (!is_one_piece(nest, v->child[i], at))
			return false;
		before = now;
	}
	return true;
}

static bool makes_pieces(const Nest *nest, int loop, bool steps)
{
	const Stage *s = &nest->stages.at[nest->vars.at[loop].stage];
	int at = nest_loop_position(nest, loop);

	for (int i = 0; i < (steps ? s->naxes : s->nspatial); i++)
		if (!is_one_piece(nest, s->axes[i].var, at))
			return false;
	return true;
}

/* What it reads besides has to be complete before the producer starts. */
static bool others_come_before(const Nest *nest, const ReverseComputeAt *p)
{
	int producer = nest->vars.at[p->loop].stage;

	for (int i = 0; i < nest->order.n; i++) {
		int other = nest->order.at[i];
		if (other == producer)
			return true;
		if (edit_is_inside(nest, other, producer) &&
		    nest_reads(nest, p->stage, nest->stages.at[other].buffer))
			return false;
	}
	return true;
}

/* Does a block that reads nothing of the host follow its steps? */
static bool follows_steps(const Nest *nest, int stage, int host)
{
	return !nest_reads(nest, stage, nest->stages.at[host].buffer) &&
	    nest_colocated_steps(nest, stage, host);
}

/* A copy that has what is read of it alone, which another's readers may not be
 * content with. */
static bool is_partial(const Nest *nest, const Stage *s)
{
	return s->is_copy && nest->buffers.at[s->buffer].program_buffer < 0;
}

/* Is the host's axis the block's, or all of it inside of the loop? */
static bool is_followed(
    const Nest *nest, const ReverseComputeAt *p, int axis, const int *axis_of)
{
	const Stage *s = &nest->stages.at[p->stage];
	const Stage *h = &nest->stages.at[nest->vars.at[p->loop].stage];

	for (int a = 0; a < s->naxes; a++)
		if (axis_of[a] == axis)
			return true;
	return fixed_part(nest, h->axes[axis].var,
		   nest_loop_position(nest, p->loop)) == FIXED_NONE;
}

/* Are the axes of what both write the same, but for some of which each iteration
 * makes all, or all of the host's steps its? */
static bool is_beside(const Nest *nest, const ReverseComputeAt *p, int host)
{
	const Stage *s = &nest->stages.at[p->stage];
	const Stage *h = &nest->stages.at[host];
	int *axis_of = NEW_N(nest->arena, int, s->naxes);

	if (is_partial(nest, s) || is_partial(nest, h) || s->fill || h->fill ||
	    !nest_colocated(nest, p->stage, host, axis_of) ||
	    !edit_is_identity_write(nest, p->stage) ||
	    !edit_is_identity_write(nest, host))
		return false;
	for (int a = 0; a < h->nspatial; a++)
		if (!follows_steps(nest, p->stage, host) &&
		    !is_followed(nest, p, a, axis_of))
			return false;
	return true;
}

/* The refusal of a block by what it has to do with the loop's block. */
static Refusal relation_legal(const Nest *nest, const ReverseComputeAt *p)
{
	int stage = p->stage, producer = nest->vars.at[p->loop].stage;
	int made = nest->stages.at[producer].buffer;

	if (!nest_reads(nest, stage, made))
		return is_beside(nest, p, producer)
		    ? NULL
		    : "the block does not read what the loop's block writes";
	if (nest->stages.at[stage].reduce != REDUCE_NONE)
		return "the block has a reduction";
	if (!reads_elementwise(nest, stage, made) ||
	    !same_shape(nest, made, nest->stages.at[stage].buffer))
		return "the block does not read one element for each of its "
		       "own";
	return NULL;
}

static bool reads_later_stage(const Nest *nest, const ReverseComputeAt *p)
{
	bool later = false;
	int producer = nest->vars.at[p->loop].stage;

	for (int i = 0; i < nest->order.n; i++) {
		int other = nest->order.at[i];
		if (later && other != p->stage &&
		    nest_leader(nest, other) != producer &&
		    !(nest->stages.at[other].after &&
			nest->stages.at[other].place == p->loop) &&
		    nest_reads(nest, p->stage, nest->stages.at[other].buffer))
			return true;
		if (other == producer)
			later = true;
	}
	return false;
}

/* A reader of what is moved must not run inside of the producer's loops. */
static bool is_read_inside(const Nest *nest, const ReverseComputeAt *p)
{
	int buffer = nest->stages.at[p->stage].buffer;

	for (int i = 0; i < nest->order.n; i++)
		if (edit_is_inside(nest, nest->order.at[i],
			nest->vars.at[p->loop].stage) &&
		    nest_reads(nest, nest->order.at[i], buffer))
			return true;
	return false;
}

Refusal reverse_compute_at_legal(const Call *call)
{
	const Nest *nest = call->nest;
	int producer;
	bool steps;
	ReverseComputeAt p;
	Refusal why = parameters(call, &p);

	if (why)
		return why;
	producer = nest->vars.at[p.loop].stage;
	if (producer == p.stage)
		return "the loop belongs to the block, or to one below it";
	if (nest->stages.at[p.stage].place >= 0)
		return "the block has a place already";
	if (nest->stages.at[producer].place >= 0)
		return "the loop's block is placed below another";
	why = relation_legal(nest, &p);
	if (why)
		return why;
	steps = follows_steps(nest, p.stage, producer);
	if (!steps && is_reduced_outside(nest, p.loop))
		return "a reduction loop of the producer is outside";
	if (!makes_pieces(nest, p.loop, steps))
		return "an iteration of the loop does not make one piece of "
		       "each axis";
	if (!others_come_before(nest, &p) || reads_later_stage(nest, &p))
		return "the block reads what is computed elsewhere later";
	if (is_read_inside(nest, &p))
		return "a block that reads it is inside of the producer";
	why = edit_move_legal(nest, p.stage, p.loop);
	return why ? why : edit_kinds_legal(nest, p.stage, p.loop);
}

void reverse_compute_at_apply(const Call *call)
{
	Nest *nest = call->nest;
	int producer, buffer;
	ReverseComputeAt p;

	parameters(call, &p);
	producer = nest->vars.at[p.loop].stage;
	buffer = nest->stages.at[producer].buffer;
	edit_set_place(nest, p.stage, p.loop);
	nest->stages.at[p.stage].after = true;
	if (nest_reads(nest, p.stage, buffer) &&
	    edit_readers(nest, buffer).n == 1 &&
	    !nest_is_argument(nest, buffer) &&
	    nest->buffers.at[buffer].scope == SCOPE_GLOBAL)
		nest->buffers.at[buffer].scope = SCOPE_LOCAL;
}
