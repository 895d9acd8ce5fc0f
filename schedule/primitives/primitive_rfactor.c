/* rfactor: a reduction in two steps, the first without that loop's order.
 *
 *     for ko for ki  c[i] += a[i, 8*ko + ki]      rf = rfactor(ki)
 *   ->
 *     for ki for i for ko  rf[ki, i] += a[i, 8*ko + ki]
 *     for i for ki  c[i] += rf[ki, i]
 *
 * The loop becomes a spatial axis, the first, of a new block, whose loops are
 * rf.ki, rf.i, rf.ko; the loops of the old block are c.i and c.ki.  Reductions
 * are associative up to rounding, which --numerics=exact forbids for floats.
 * Legal while only the reduction axis of the loop is scheduled, by splits with
 * numbers: block axes have constant extents. */
#include "schedule/internal.h"

#include <assert.h>
#include <string.h>

enum { MAX_LEAVES = 16, MAX_AXES = 64 };

typedef struct {
	int loop, stage, axis;
	int nleaves;
	int leaf[MAX_LEAVES];        /* loops that the axis was split into */
	int64_t extent[MAX_LEAVES];
	bool imperfect;              /* leaves run past the end of the axis */
	Refusal why;
} Rfactor;

/* Collects the leaves of a variable of known extent. */
static void collect(const Nest *nest, Rfactor *p, int var, int64_t extent)
{
	const Var *v = &nest->vars.at[var];
	int64_t product = 1, part;

	if (v->how == VAR_LOOP) {
		if (p->nleaves == MAX_LEAVES)
			p->why = "the axis has too many loops";
		else {
			p->leaf[p->nleaves] = var;
			p->extent[p->nleaves++] = extent;
		}
		return;
	}
	if (v->how == VAR_FUSED) {
		p->why = "the reduction axis is part of a fused loop";
		return;
	}
	for (int i = 1; i < v->nchild; i++) {
		if (!tape_is_const(nest->tape,
			nest->vars.at[v->child[i]].extent, &part)) {
			p->why = "the loop's extent has to be a number";
			return;
		}
		product *= part;
	}
	if (extent % product && v->axis >= 0 &&
	    nest->stages.at[p->stage].axes[v->axis].var != var)
		p->why = "an inner split of the axis is not exact";
	p->imperfect = p->imperfect || extent % product;
	collect(nest, p, v->child[0], (extent + product - 1) / product);
	for (int i = 1; i < v->nchild && !p->why; i++) {
		part = tape_value(
		    nest->tape, nest->vars.at[v->child[i]].extent);
		collect(nest, p, v->child[i], part);
	}
}

static Refusal parameters(const Call *call, Rfactor *p)
{
	const Nest *nest = call->nest;
	const StageAxis *axis;
	Refusal why;

	*p = (Rfactor){0};
	why = call_loop(call, 0, &p->loop);
	if (!why)
		why = call_outs(call, 1);
	if (why)
		return why;
	p->stage = nest->vars.at[p->loop].stage;
	p->axis = nest->vars.at[p->loop].axis;
	if (p->axis < 0)
		return "the reduction axis is part of a fused loop";
	if (!nest->vars.at[p->loop].reduce)
		return "the loop is not a reduction loop";
	axis = &nest->stages.at[p->stage].axes[p->axis];
	collect(nest, p, axis->var, axis->extent);
	return p->why;
}

static bool is_leaf(const Rfactor *p, int loop)
{
	for (int i = 0; i < p->nleaves; i++)
		if (p->leaf[i] == loop)
			return true;
	return false;
}

static const char *leaf_name(const Nest *nest, int loop)
{
	const char *name = nest->vars.at[loop].name;
	const char *dot = strrchr(name, '.');

	return dot ? dot + 1 : name;
}

/* Would a loop as an axis have the name of another axis? */
static bool has_equal_names(const Nest *nest, const Rfactor *p)
{
	const Stage *s = &nest->stages.at[p->stage];

	for (int i = 0; i < s->naxes; i++)
		for (int j = 0; j < p->nleaves && i != p->axis; j++)
			if (!strcmp(s->axes[i].name,
				leaf_name(nest, p->leaf[j])))
				return true;
	return false;
}

/* Is nothing scheduled but splits of that axis? */
static bool is_otherwise_pristine(const Nest *nest, const Rfactor *p)
{
	const Stage *s = &nest->stages.at[p->stage];

	if (s->init_at >= 0 || s->fill || s->tail != TAIL_GUARD ||
	    s->prefetches.n || s->tensor_loop >= 0 ||
	    edit_has_attached_stage(nest, p->stage))
		return false;
	for (int i = 0; i < s->nloops; i++) {
		const Var *v = &nest->vars.at[s->loops[i]];
		if (v->kind != LOOP_SERIAL || v->unroll_limit != HANDLE_NONE ||
		    v->axis < 0)
			return false;
		if (s->axes[v->axis].var != s->loops[i] &&
		    !is_leaf(p, s->loops[i]))
			return false;
	}
	return true;
}

Refusal rfactor_legal(const Call *call)
{
	const Nest *nest = call->nest;
	Rfactor p;
	Refusal why = parameters(call, &p);

	if (why)
		return why;
	if (edit_is_exact(nest, p.stage))
		return "exact numerics keep the order of the reduction";
	if (!is_otherwise_pristine(nest, &p))
		return "the block is scheduled already: rfactor it before";
	if (has_equal_names(nest, &p))
		return "a loop of the axis has the name of another axis";
	if (!edit_is_identity_write(nest, p.stage))
		return "the block does not write at its axes";
	if (nest->stages.at[p.stage].naxes + p.nleaves > MAX_AXES)
		return "the block has too many axes";
	return NULL;
}

/* --- the new block ------------------------------------------------------------ */

/* The value of a variable over the new block's axes. */
static Expr *value_of(
    const Nest *nest, const Rfactor *p, const int *axis_of, int var)
{
	const Var *v = &nest->vars.at[var];
	Expr *value;

	for (int i = 0; i < p->nleaves; i++)
		if (p->leaf[i] == var)
			return expr_axis(nest->arena, axis_of[i]);
	assert(v->how == VAR_SPLIT && "every loop of the axis is a leaf");
	value = value_of(nest, p, axis_of, v->child[0]);
	for (int i = 1; i < v->nchild; i++) {
		int64_t part = tape_value(
		    nest->tape, nest->vars.at[v->child[i]].extent);
		value = expr_binary(nest->arena, OP_MUL, value,
		    expr_int(nest->arena, DT_INDEX, part));
		value = expr_binary(nest->arena, OP_ADD, value,
		    value_of(nest, p, axis_of, v->child[i]));
	}
	return value;
}

typedef struct {
	StageAxis *at;
	int n, nspatial;
} Axes;

static int add_axis(Axes *to, const char *name, int64_t extent, bool reduce)
{
	to->at[to->n] = (StageAxis){.name = name, .extent = extent};
	to->nspatial += !reduce;
	return to->n++;
}

/* Axes: the loop, the spatial axes, what is left to reduce.  values[old axis]
 * is its value over them. */
static Axes new_axes(
    Nest *nest, const Rfactor *p, const Stage *old, Expr **values)
{
	int axis_of[MAX_LEAVES];
	Axes to = {
	    .at = NEW_N(nest->arena, StageAxis, old->naxes + p->nleaves)};

	for (int i = 0; i < p->nleaves; i++)
		if (p->leaf[i] == p->loop)
			axis_of[i] = add_axis(
			    &to, leaf_name(nest, p->loop), p->extent[i], false);
	for (int i = 0; i < old->naxes; i++) {
		const StageAxis *a = &old->axes[i];
		if (i != p->axis) {
			values[i] = expr_axis(nest->arena,
			    add_axis(&to, a->name, a->extent, a->reduce));
			continue;
		}
		for (int j = 0; j < p->nleaves; j++)
			if (p->leaf[j] != p->loop)
				axis_of[j] =
				    add_axis(&to, leaf_name(nest, p->leaf[j]),
					p->extent[j], true);
		values[i] = value_of(
		    nest, p, axis_of, old->axes[p->axis].var);
	}
	assert(to.n == old->naxes - 1 + p->nleaves);
	assert(to.nspatial == old->nspatial + 1);
	return to;
}

static Expr *new_body(
    Nest *nest, const Rfactor *p, const Stage *old, Expr **values)
{
	Arena *arena = nest->arena;
	Expr *body = expr_substitute_axes(
	    arena, old->body, values, old->naxes);
	Expr *inside;

	if (!p->imperfect)
		return body;
	inside = expr_binary(arena, OP_LT, values[p->axis],
	    expr_int(arena, DT_INDEX, old->axes[p->axis].extent));
	return expr_if(arena, inside, body,
	    expr_identity(arena, old->reduce, body->type));
}

static int add_partials(Nest *nest, const Rfactor *p, const char *name)
{
	const Stage *old = &nest->stages.at[p->stage];
	Expr **values = NEW_N(nest->arena, Expr *, old->naxes);
	Axes axes = new_axes(nest, p, old, values);
	Expr *body = new_body(nest, p, old, values);
	int stage = edit_new_block(nest, p->stage, name, axes.at, axes.n,
	    axes.nspatial, old->reduce, nest->buffers.at[old->buffer].type);
	const Stage *s = &nest->stages.at[stage];

	nest_set_body(nest, stage, body);
	if (s->place >= 0)
		nest->buffers.at[s->buffer].scope = SCOPE_LOCAL;
	return stage;
}

/* The old block reduces over the partial results. */
static void combine(Nest *nest, const Rfactor *p, int partials)
{
	Stage *s = &nest->stages.at[p->stage];
	const Stage *from = &nest->stages.at[partials];
	int n = s->nspatial;
	StageAxis *axes = NEW_N(nest->arena, StageAxis, n + 1);
	Expr **index = NEW_N(nest->arena, Expr *, n + 1);

	memcpy(axes, s->axes, sizeof *axes * (size_t)n);
	axes[n] = (StageAxis){.name = from->axes[0].name,
	    .extent = from->axes[0].extent, .reduce = true,
	    .region = HANDLE_NONE};
	index[0] = expr_axis(nest->arena, n);
	for (int i = 0; i < n; i++)
		index[i + 1] = expr_axis(nest->arena, i);
	s->axes = axes;
	s->naxes = n + 1;
	edit_remake(nest, p->stage,
	    expr_read(nest->arena, nest->buffers.at[from->buffer].type,
		from->buffer, index, n + 1));
}

void rfactor_apply(const Call *call)
{
	Rfactor p;

	parameters(call, &p);
	combine(
	    call->nest, &p, add_partials(call->nest, &p, call->step->outs[0]));
}
