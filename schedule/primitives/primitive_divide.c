/* divide: an axis becomes two, its quotient and its remainder by a number, each
 * of which may then leave its end in tiles of its own.
 *
 *     y[i, j] = x[j % 150]                     jo, ji = divide(y.j, 150)
 *   ->
 *     y[i, jo*150 + ji] = x[ji]
 *
 * A split would not do: an inner loop that it makes is divided exactly, or it
 * would do iterations twice.  Legal where the number divides the extent, for a
 * block without reduction that writes at its axes, at the root, before any other
 * step on the loop. */
#include "schedule/internal.h"

#include <assert.h>
#include <string.h>

typedef struct {
	int stage, axis;
	int64_t by;
} Divide;

static Refusal parameters(const Call *call, Divide *p)
{
	int var;
	Refusal why = call_loop(call, 0, &var);

	if (!why)
		why = call_int(call, 1, &p->by);
	if (!why)
		why = call_outs(call, 2);
	if (why)
		return why;
	const Var *v = &call->nest->vars.at[var];
	p->stage = v->stage;
	p->axis = v->axis;
	return v->axis < 0 || v->kind != LOOP_SERIAL ||
		v->unroll_limit != HANDLE_NONE ||
		call->nest->stages.at[v->stage].axes[v->axis].var != var
	    ? "the loop is scheduled already"
	    : NULL;
}

Refusal divide_legal(const Call *call)
{
	const Nest *nest = call->nest;
	const Stage *s;
	Divide p;
	Refusal why = parameters(call, &p);

	if (why)
		return why;
	s = &nest->stages.at[p.stage];
	if (s->reduce != REDUCE_NONE)
		return "the block has a reduction";
	if (s->carries >= 0)
		return "the block carries from element to element";
	if (s->is_copy || !edit_is_identity_write(nest, p.stage))
		return "the block does not write at its axes";
	if (s->place >= 0 || nest_is_sharing(nest, p.stage) ||
	    edit_has_attached_stage(nest, p.stage))
		return "the block is at another's loop, or another one at its";
	if (s->fill)
		return "the block is padded";
	if (s->tensor_loop >= 0)
		return "the block was made by blockize";
	if (nest->buffers.at[s->buffer].scope != SCOPE_GLOBAL)
		return "the buffer is not global";
	if (p.by < 2 || p.by >= s->axes[p.axis].extent ||
	    s->axes[p.axis].extent % p.by)
		return "the number does not divide the axis";
	return NULL;
}

typedef struct {
	Arena *arena;
	Divide p;
	Expr *outer, *inner, *whole;
} DivideDigits;

static Expr *times(Arena *arena, Expr *e, int64_t by)
{
	return by == 1 ? e
		       : expr_binary(arena, OP_MUL, e,
			     expr_int(arena, DT_INDEX, by));
}

static Expr *quotient(Arena *arena, Op op, Expr *e, int64_t by)
{
	return expr_binary(arena, op, e, expr_int(arena, DT_INDEX, by));
}

static Expr *plus(Arena *arena, Expr *a, Expr *b)
{
	return expr_binary(arena, OP_ADD, a, b);
}

/* axis // by or axis % by where that is a matter of one digit, or of each; NULL. */
static Expr *digit_of(const DivideDigits *d, Op op, int64_t by)
{
	Arena *arena = d->arena;
	int64_t n = d->p.by;
	if (by < 1 || (by % n && n % by))
		return NULL;
	if (by == n)
		return op == OP_MOD ? d->inner : d->outer;
	if (by > n && op == OP_FLOORDIV)
		return quotient(arena, op, d->outer, by / n);
	if (by > n)
		return plus(arena,
		    times(arena, quotient(arena, op, d->outer, by / n), n),
		    d->inner);
	if (op == OP_MOD)
		return quotient(arena, op, d->inner, by);
	return plus(arena, times(arena, d->outer, n / by),
	    quotient(arena, op, d->inner, by));
}

/* Arguments come first: where an axis was divided, that has its two digits. */
static Expr *divided(Arena *arena, Expr *e, void *context)
{
	const DivideDigits *d = context;
	Expr *digit = NULL;
	(void)arena;
	if (e->op == OP_AXIS && e->id == d->p.axis)
		return d->whole;
	if ((e->op == OP_MOD || e->op == OP_FLOORDIV) &&
	    e->arg[0] == d->whole && e->arg[1]->op == OP_INT)
		digit = digit_of(d, e->op, e->arg[1]->i);
	return digit ? digit : e;
}

void divide_apply(const Call *call)
{
	Nest *nest = call->nest;
	Arena *arena = nest->arena;
	Divide p;

	parameters(call, &p);
	Stage *s = &nest->stages.at[p.stage];
	int last = s->naxes, var = s->axes[p.axis].var;
	StageAxis *axes = NEW_N(arena, StageAxis, last + 1);
	DivideDigits d = {
	    arena, p, expr_axis(arena, last), expr_axis(arena, p.axis), NULL};
	d.whole = plus(arena, times(arena, d.outer, p.by), d.inner);
	assert(s->axes[p.axis].extent % p.by == 0);
	memcpy(axes, s->axes, sizeof *axes * (size_t)last);
	axes[last] = (StageAxis){.name = call->step->outs[0],
	    .extent = axes[p.axis].extent / p.by,
	    .region = HANDLE_NONE};
	axes[p.axis].extent = p.by;
	axes[p.axis].name = call->step->outs[1];
	s->axes = axes;
	s->naxes = s->nspatial = last + 1;
	axes[last].var =
	    edit_new_var(nest, call->step->outs[0], p.stage, last);
	nest_rename_var(nest, var, call->step->outs[1]);
	edit_replace_loops(nest, p.stage, nest_loop_position(nest, var), 1,
	    (int[]){axes[last].var, var}, 2);
	s = &nest->stages.at[p.stage];
	Expr **write = NEW_N(arena, Expr *, s->nwrite);
	memcpy(write, s->write, sizeof *write * (size_t)s->nwrite);
	assert(p.axis < s->nwrite);
	write[p.axis] = d.whole;
	s->write = write;
	nest_set_body(nest, p.stage,
	    expr_rewrite(arena, s->body, divided, &d));
}
