/* A loop of which data says the one iteration that counts.
 *
 *     for i for k for d  y[k, d] += if label[i] == k then v[i, d] else 0
 *   is
 *     for i { k = label[i]; if (0 <= k < K) for d  y[k, d] += v[i, d] }
 *
 * a scatter: the step of any other k changes nothing (nest_predicate.c).  So it is
 * no step of a schedule of its own but the order of loops that says so: the loop
 * over the axis stands inside of all that moves the label.  For each k the order of the
 * reduction is as it was.  Two axes may be told so, one loop inside of the other, and
 * the element may have them: they are numbers then.
 *
 * The condition is an integer's, `label == k` or `k == label` in whatever type holds
 * all k; conditions before it in the body (`i < n and label[i] == k`) are asked
 * before, so that they too stand on loops around it alone. */
#include "ir/nest/nest.h"

/* --- the condition ----------------------------------------------------------------- */

static bool holds_all(DType type, Interval x)
{
	return dtype_is_int(type) && interval_holds(dtype_interval(type), x);
}

/* i32(k), of the axis alone, in types that hold all of its values. */
static bool is_axis(const Expr *e, int axis, int64_t extent)
{
	for (; e->op == OP_CAST; e = e->arg[0])
		if (!holds_all(e->type, (Interval){0, extent - 1}))
			return false;
	return e->op == OP_AXIS && e->id == axis;
}

static Expr *index_of(Arena *arena, Expr *e);

static Expr *index_of_all(Arena *arena, const Expr *e)
{
	Expr **args = NEW_N(arena, Expr *, e->narg);
	for (int i = 0; i < e->narg; i++)
		args[i] = index_of(arena, e->arg[i]);
	return expr_call(arena, e->op, DT_INDEX, args, e->narg);
}

static bool is_divisor(const Expr *e)
{
	return e->op == OP_INT && e->i > 0;
}

/* The integer as an index: of what cannot wrap around, step by step, so that its
 * range is known. */
static Expr *index_of(Arena *arena, Expr *e)
{
	if (e->type == DT_INDEX)
		return e;
	switch (e->op) {
	case OP_INT: return expr_int(arena, DT_INDEX, e->i);
	case OP_MIN:
	case OP_MAX:
	case OP_CLAMP: return index_of_all(arena, e);
	case OP_FLOORDIV:
	case OP_MOD:
		if (is_divisor(e->arg[1]))
			return index_of_all(arena, e);
		break;
	case OP_CAST:
		if (dtype_is_int(e->arg[0]->type) &&
		    holds_all(e->type, dtype_interval(e->arg[0]->type)))
			return index_of(arena, e->arg[0]);
		break;
	default: break;
	}
	return expr_cast(arena, DT_INDEX, e);
}

/* The integer that the condition says the axis is; NULL. */
static Expr *label_of(const Expr *e, int axis, int64_t extent)
{
	for (int i = 0; e->op == OP_EQ && i < 2; i++)
		if (is_axis(e->arg[i], axis, extent) &&
		    !expr_has_axis(e->arg[1 - i], axis) &&
		    dtype_is_int(e->arg[1 - i]->type))
			return e->arg[1 - i];
	return NULL;
}

bool scatter_find(Arena *arena, const ExprVec *conditions, int axis,
    int64_t extent, Scatter *out)
{
	for (int i = 0; i < conditions->n; i++) {
		Expr *label = label_of(conditions->at[i], axis, extent);
		if (!label)
			continue;
		*out = (Scatter){i, axis, index_of(arena, label)};
		return true;
	}
	return false;
}

Expr *scatter_inside(Arena *arena, const Scatter *s, int64_t extent)
{
	return expr_binary(arena, OP_AND,
	    expr_binary(arena, OP_LE, expr_int(arena, DT_INDEX, 0), s->value),
	    expr_binary(
		arena, OP_LT, s->value, expr_int(arena, DT_INDEX, extent)));
}

ScatterAxes scatter_axes(Arena *arena, const ExprVec *conditions,
    const int64_t *extents, int nspatial, int naxes)
{
	ScatterAxes x = {.assigned = NEW_N(arena, bool, naxes),
	    .outside = NEW_N(arena, bool, naxes)};
	for (int i = 0; i < conditions->n; i++)
		for (int a = 0; a < nspatial && x.n < SCATTER_AXES; a++) {
			if (extents[a] == 1 || x.assigned[a] ||
			    !label_of(conditions->at[i], a, extents[a]))
				continue;
			x.assigned[a] = true;
			x.axes[x.n++] = a;
			for (int k = 0; k <= i; k++)
				expr_mark_axes(conditions->at[k], x.outside);
		}
	for (int i = 0; i < x.n; i++)
		x.outside[x.axes[i]] = false;
	return x;
}

/* --- the loop ---------------------------------------------------------------------- */

/* Are all of a variable's loops among the stage's first `n`, and none its lanes? */
static bool runs_outside(const Nest *nest, int var, int n)
{
	const Var *v = &nest->vars.at[var];
	if (v->how == VAR_FUSED)
		return runs_outside(nest, v->fused, n);
	for (int i = 0; v->how == VAR_SPLIT && i < v->nchild; i++)
		if (!runs_outside(nest, v->child[i], n))
			return false;
	return v->how == VAR_SPLIT ||
	    (v->kind != LOOP_VECTOR && nest_loop_position(nest, var) < n);
}

static bool is_told_outside(
    const Nest *nest, Arena *arena, const Stage *s, const Expr *e, int n)
{
	bool *has = NEW_N(arena, bool, s->naxes);
	expr_mark_axes(e, has);
	for (int a = 0; a < s->naxes; a++)
		if (has[a] && !runs_outside(nest, s->axes[a].var, n))
			return false;
	return true;
}

/* Is the loop inside of the place where the results are initialized? */
static bool is_inside_reduction(const Nest *nest, const Stage *s, int n)
{
	for (int i = 0; i < n; i++)
		if (s->init_at >= 0 ? s->loops[i] == s->init_at
				    : nest->vars.at[s->loops[i]].reduce)
			return true;
	return false;
}

/* Does something hang at its loops from the n-th on, or run in them? */
static bool is_shared(const Nest *nest, int stage, int n)
{
	for (int i = 0; i < nest->order.n; i++) {
		int place = nest->stages.at[nest->order.at[i]].place;
		if (place >= 0 && nest->vars.at[place].stage == stage &&
		    nest_loop_position(nest, place) >= n)
			return true;
	}
	return nest_is_sharing(nest, stage);
}

/* The axis whose whole loop it is, one that runs; -1. */
static int axis_of(const Nest *nest, const Stage *s, int loop)
{
	const Var *v = &nest->vars.at[loop];
	int64_t extent;
	if (v->kind != LOOP_SERIAL || v->unroll_limit != HANDLE_NONE ||
	    !tape_is_const(nest->tape, v->extent, &extent) || extent == 1)
		return -1;
	for (int a = 0; a < s->nspatial; a++)
		if (s->axes[a].var == loop && !s->axes[a].start &&
		    s->axes[a].extent == extent)
			return a;
	return -1;
}

bool nest_scatters(const Nest *nest, Arena *arena, int stage, int loop,
    const ExprVec *own, Scatter *out)
{
	const Stage *s = &nest->stages.at[stage];
	int n = nest_loop_position(nest, loop);
	int axis = axis_of(nest, s, loop);
	if (s->reduce == REDUCE_NONE || n < 0 || axis < 0 ||
	    !scatter_find(arena, own, axis, s->axes[axis].extent, out) ||
	    !is_inside_reduction(nest, s, n) || is_shared(nest, stage, n) ||
	    nest_is_launched(nest))
		return false;
	for (int i = 0; i <= out->number; i++) {
		const Expr *asked = i < out->number ? own->at[i] : out->value;
		if (!is_told_outside(nest, arena, s, asked, n))
			return false;
	}
	return true;
}
