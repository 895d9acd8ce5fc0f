/* What an expression is as an index: variables of the nest by what they are bound to,
 * sums and quotients by index algebra, rows outside of the block clamped; what is
 * data, and a branch of which nothing is known, are evaluated.
 *
 *     4*y + min(r, 2)   where y = %0, r unrolled, 1   -->   4*%0 + 1
 */
#include "codegen/lower/lower_internal.h"

#include <assert.h>
#include <stdlib.h>

typedef struct {
	Lower *l;
	bool free, lanes;
} Moving;

static Index index_abs(Lower *l, Index a)
{
	return index_min(l, a, index_scale(l, a, -1), true);
}

static Index index_of_split(Lower *l, const Var *v)
{
	Index x = index_of_var(l, v->child[0]);
	for (int i = 1; i < v->nchild; i++) {
		int64_t extent = tape_value(
		    l->nest->tape, l->nest->vars.at[v->child[i]].extent);
		x = index_add(l, index_of_var(l, v->child[i]), x, extent);
	}
	return x;
}

/* What addresses need as well is no code for a condition. */
static Index index_of_part(Lower *l, int var)
{
	const Var *v = &l->nest->vars.at[var];
	const Var *loop = &l->nest->vars.at[v->fused];
	Index x = index_of_var(l, v->fused);
	Lower in = *l;
	in.silent = false;
	if (loop->parts[loop->nparts - 1] != var)
		x = index_floordiv(&in, x, tape_value(l->nest->tape, v->div));
	if (loop->parts[0] != var)
		x = index_mod(&in, x, tape_value(l->nest->tape, v->extent));
	return x;
}

Index index_of_var(Lower *l, int var)
{
	const Var *v = &l->nest->vars.at[var];
	KnownValue *known = &l->part->values[var];
	if (v->how == VAR_LOOP)
		return l->part->vars[var].bound
		    ? l->part->vars[var].value
		    : index_symbol(l, SYMBOL_FREE - var);
	bool holds =
	    known->moved == l->part->moved[var] && term_holds(l, &known->term);
	if (holds && !lower_asks_again)
		return known->value;
	Asked asked = ask_begin(l);
	Index x =
	    v->how == VAR_SPLIT ? index_of_split(l, v) : index_of_part(l, var);
	assert(!holds || low_affine_equal(x.form, known->value.form));
	*known = (KnownValue){l->part->moved[var], x, ask_end(l, asked, &x, 1)};
	return x;
}

Index index_of_axis(Lower *l, int stage, int axis)
{
	const Stage *s = &l->nest->stages.at[stage];
	const StageAxis *a = &s->axes[axis];
	assert(axis >= 0 && axis < s->naxes);
	Index x = index_of_var(l, a->var);
	if (a->start)
		x = index_add(l, x, index_of(l, a->start), 1);
	return x;
}

/* Repeated or a vector: what a fused loop is, its parts are. */
static bool at_compile_time(const Lower *l, int var)
{
	const Var *v = &l->nest->vars.at[var];
	if (v->how == VAR_FUSED)
		return at_compile_time(l, v->fused);
	return v->how == VAR_LOOP && loop_at_compile_time(l, var);
}

/* The value of a variable where the innermost tile, and what is repeated in
 * code, stand where the slack of that end is greatest. */
static Index relaxed_value(Lower *l, int var, End end, bool innermost)
{
	const Var *v = &l->nest->vars.at[var];
	if (v->how == VAR_SPLIT) {
		Index x = index_const(0);
		for (int i = 0; i < v->nchild; i++) {
			int child = v->child[i];
			Index y = relaxed_value(
			    l, child, end, innermost && i == v->nchild - 1);
			x = index_add(l, y, x, loop_extent(l, child));
		}
		return x;
	}
	if (body_in_tile(innermost, at_compile_time(l, var)))
		return index_const(end == ABOVE ? 0 : loop_extent(l, var) - 1);
	return index_of_var(l, var);
}

static Index relaxed_axis(Lower *l, int stage, int axis, End end)
{
	const StageAxis *a = &l->nest->stages.at[stage].axes[axis];
	Index x = relaxed_value(l, a->var, end, true);
	return a->start ? index_add(l, x, index_of(l, a->start), 1) : x;
}

/* The value of an axis in the first row of its tile. */
static Index base_of(Lower *l, int stage, int axis)
{
	return relaxed_axis(l, stage, axis, ABOVE);
}

Index axis_slack(Lower *l, int stage, int axis, End end)
{
	bool whole = body_tail_tiles(tail_of(l, stage)) == BODY_TILES_WHOLE;
	Index x = whole ? relaxed_axis(l, stage, axis, end)
			: index_of_axis(l, stage, axis);
	if (end == BELOW)
		return x;
	int64_t n = l->nest->stages.at[stage].axes[axis].extent;
	return index_add(l, index_const(n - 1), x, -1);
}

/* base + min(row, last - base) of a row number `row` of its tile, the tile's
 * first row being in the block: what the base is divisible by stays visible, and
 * how far the row is from it. */
static bool clamped_row(Lower *l, int axis, Index x, int64_t extent, Index *y)
{
	Index base = base_of(l, l->stage, axis);
	Index last = index_add(l, index_const(extent - 1), base, -1);
	int64_t row;
	if (!index_is_const(index_add(l, x, base, -1), &row) ||
	    !index_nonnegative(l, base) || !index_nonnegative(l, last))
		return false;
	last = index_min(l, last, index_const(row), false);
	last = index_min(l, last, index_const(0), true);
	*y = index_add(l, base, last, 1);
	return true;
}

/* An axis as reads see it: clamped to the block where rows outside of it are
 * computed too. */
static Index clamped_axis(Lower *l, int axis)
{
	Index x = index_of_axis(l, l->stage, axis), y;
	if (!l->clamp || !l->clamp[axis] || index_has_lanes(x))
		return x;
	int64_t extent = l->nest->stages.at[l->stage].axes[axis].extent;
	Index last = index_const(extent - 1);
	if (index_nonnegative(l, x) &&
	    index_nonnegative(l, index_add(l, last, x, -1)))
		return x;
	if (clamped_row(l, axis, x, extent, &y))
		return y;
	x = index_min(l, x, index_const(0), true);
	return index_min(l, x, last, false);
}

static bool find_moving(Expr *e, void *context)
{
	Moving *m = context;
	Index x = index_const(0);
	if (e->op == OP_AXIS)
		x = index_of_axis(m->l, m->l->stage, e->id);
	else if (e->op == OP_VAR)
		x = index_of_var(m->l, e->id);
	m->free |= index_has_free(x);
	m->lanes |= index_has_lanes(x);
	return true;
}

/* Does the value move with loops that are not there yet, with lanes? */
static Moving moving(Lower *l, const Expr *e)
{
	Moving m = {l, false, false};
	expr_walk((Expr *)(uintptr_t)e, find_moving, &m);
	return m;
}

static int index_temp(Lower *l, Index x, int lanes)
{
	return lanes > 1 ? index_vector(l, x) : index_scalar(l, x);
}

static Index index_of_temp(Lower *l, int temp, int lanes, Interval range)
{
	if (lanes > 1)
		return index_from_vector(temp, range);
	l->part->temps.at[temp].range = range;
	return index_symbol(l, temp);
}

static Interval assign_arm(
    Lower *l, int dst, const Expr *condition, bool holds, const Expr *arm)
{
	int lanes = l->f->temps.at[dst].lanes;
	Lower in = *l;
	push_facts(&in, condition, holds);
	Index x = index_of(&in, arm);
	Interval r = range_of(&in, x);
	emit_into(&in, dst, LOW_COPY, index_temp(&in, x, lanes), -1, -1);
	return r;
}

/* What an arm reads may be there under the condition only. */
static Index index_branch(Lower *l, Value condition, const Expr *e)
{
	Moving a = moving(l, e->arg[1]), b = moving(l, e->arg[2]);
	int lanes = a.lanes || b.lanes ? l->lanes : 1;
	int dst = new_temp(l, DT_INDEX, lanes, "i");
	Branch branch;
	l->part->temps.at[dst].mutable = true;
	emit_into(l, dst, LOW_CONST, -1, -1, -1);
	branch_begin(l, &branch, value_scalar(l, condition));
	Interval yes = assign_arm(l, dst, e->arg[0], true, e->arg[1]);
	branch_else(l, &branch);
	Interval no = assign_arm(l, dst, e->arg[0], false, e->arg[2]);
	branch_end(l, &branch);
	return index_of_temp(l, dst, lanes, interval_hull(yes, no));
}

/* An arm under its condition; where that differs by lane, so does what may be
 * read. */
static Index index_arm(Lower *l, Value condition, const Expr *e, bool holds)
{
	Lower in = *l;
	if (condition.lanes > 1)
		in.mask = value_counted(
		    l, holds ? condition : value_not(l, condition));
	else
		push_facts(&in, e->arg[0], holds);
	return index_of(&in, e->arg[holds ? 1 : 2]);
}

static Index index_if(Lower *l, const Expr *e)
{
	bool known;
	Value condition = eval(l, e->arg[0]);
	if (value_is_bool(condition, &known))
		return index_of(l, e->arg[known ? 1 : 2]);
	bool data = expr_has_data(e->arg[1]) || expr_has_data(e->arg[2]);
	Moving m = moving(l, e);
	if (data && condition.lanes == 1 && !m.free && !l->silent &&
	    !value_is_unknown(condition))
		return index_branch(l, condition, e);
	Index yes = index_arm(l, condition, e, true);
	Index no = index_arm(l, condition, e, false);
	Interval r = interval_hull(range_of(l, yes), range_of(l, no));
	if (value_is_unknown(condition) || index_has_free(yes) ||
	    index_has_free(no) || l->silent)
		return index_unknown(l, r);
	int lanes = condition.lanes;
	if (index_has_lanes(yes) || index_has_lanes(no))
		lanes = l->lanes;
	int temp = emit_op(l, LOW_SELECT, DT_INDEX, lanes,
	    value_as(l, condition, lanes), index_temp(l, yes, lanes),
	    index_temp(l, no, lanes), "i");
	return index_of_temp(l, temp, lanes, r);
}

static Index index_product(Lower *l, const Expr *e)
{
	Index a = index_of(l, e->arg[0]), b = index_of(l, e->arg[1]);
	int64_t value;
	if (index_is_const(b, &value))
		return index_scale(l, a, value);
	if (index_is_const(a, &value))
		return index_scale(l, b, value);
	return index_computed(l, LOW_MUL, a, b,
	    interval_mul(range_of(l, a), range_of(l, b)), "i");
}

/* Integer data: a scalar, or an element for each lane, of which the range of its
 * dtype is known; of u64 what an index holds. */
static Index index_of_data(Lower *l, Expr *e)
{
	const Interval all = dtype_interval(DT_I64);
	Interval r = interval_meet(dtype_interval(e->type), all);
	if (l->silent || moving(l, e).free)
		return index_unknown(l, r);
	if (e->type == DT_U64)
		e = expr_binary(l->arena, OP_MIN, e,
		    expr_int(l->arena, DT_U64, (int64_t)r.hi));
	Value v = value_convert(l, eval(l, e), DT_INDEX);
	return index_of_temp(l, value_as(l, v, v.lanes), v.lanes, r);
}

/* The quotient or remainder of data of u64, by c: an index again. */
static Index index_of_divided(Lower *l, Op op, Expr *data, int64_t c)
{
	Interval all = dtype_interval(DT_U64);
	Interval r = interval_meet(dtype_interval(DT_I64),
	    op == OP_MOD ? interval_mod(all, c) : interval_floordiv(all, c));
	Expr *by = expr_int(l->arena, DT_U64, c);
	Expr *divided = expr_binary(l->arena, op, data, by);
	if (l->silent || moving(l, divided).free)
		return index_unknown(l, r);
	Value v = value_convert(l, eval(l, divided), DT_INDEX);
	return index_of_temp(l, value_as(l, v, v.lanes), v.lanes, r);
}

int64_t index_divisor(Lower *l, const Expr *e)
{
	int64_t value;
	bool known = index_is_const(index_of(l, e), &value);
	assert(known && value > 0);
	(void)known;
	return value;
}

typedef struct {
	const Expr *e;
	int sign;
} Operand;

/* A long sum by halves: each sum on the way holds all of its terms. */
static Index sum_of(Lower *l, const Operand *operands, int n)
{
	enum { LONG = 8 };
	int left = n > LONG ? n / 2 : n - 1;
	if (n == 1)
		return index_scale(l, index_of(l, operands->e), operands->sign);
	Index b = sum_of(l, operands + left, n - left);
	return index_add(l, sum_of(l, operands, left), b, 1);
}

static bool is_sum(const Expr *e)
{
	return e->op == OP_ADD || e->op == OP_SUB;
}

static Index index_of_sum(Lower *l, const Expr *e)
{
	int n = 1;
	for (const Expr *x = e; is_sum(x); x = x->arg[0])
		n++;
	Operand *operands = must_alloc(sizeof *operands * (size_t)n);
	for (int i = n - 1; i > 0; e = e->arg[0])
		operands[i--] = (Operand){e->arg[1], e->op == OP_ADD ? 1 : -1};
	operands[0] = (Operand){e, 1};
	Index sum = sum_of(l, operands, n);
	free(operands);
	return sum;
}

Index index_of(Lower *l, const Expr *e)
{
	Expr *data = expr_divides_u64(e);
	if (data)
		return index_of_divided(
		    l, e->op, data, index_divisor(l, e->arg[1]));
	switch (e->op) {
	case OP_INT: return index_const(e->i);
	case OP_TAPE: return index_const(tape_value(l->nest->tape, e->id));
	case OP_VAR: return index_of_var(l, e->id);
	case OP_AXIS: return clamped_axis(l, e->id);
	case OP_CAST: return index_of_data(l, e->arg[0]);
	case OP_NEG: return index_scale(l, index_of(l, e->arg[0]), -1);
	case OP_ADD:
	case OP_SUB: return index_of_sum(l, e);
	case OP_MUL: return index_product(l, e);
	case OP_FLOORDIV:
		return index_floordiv(
		    l, index_of(l, e->arg[0]), index_divisor(l, e->arg[1]));
	case OP_MOD:
		return index_mod(
		    l, index_of(l, e->arg[0]), index_divisor(l, e->arg[1]));
	case OP_MIN:
	case OP_MAX:
		return index_min(l, index_of(l, e->arg[0]),
		    index_of(l, e->arg[1]), e->op == OP_MAX);
	case OP_CLAMP:
		return index_min(l,
		    index_min(l, index_of(l, e->arg[0]), index_of(l, e->arg[1]),
			true),
		    index_of(l, e->arg[2]), false);
	case OP_ABS: return index_abs(l, index_of(l, e->arg[0]));
	case OP_IF: return index_if(l, e);
	default:
		lower_fail(l, "'%s' in an index", op_name(e->op));
		return index_const(0);
	}
}
