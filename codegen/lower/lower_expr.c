/* Values of bodies: an expression under the environment becomes temporaries,
 * scalars where it is the same for all lanes.
 *
 * A condition that index algebra decides leaves one arm.  Else a condition that
 * is the same for all lanes is a branch where an arm reads memory or calls a
 * function, and a select where it is cheap; one that differs by lane masks what
 * the arms read and selects. */
#include "codegen/lower/lower_internal.h"

#include <assert.h>

/* --- conditions on indices ---------------------------------------------- */

/* Two indices whose difference may not be a number. */
static Value compare_apart(Lower *l, Op op, Index a, Index b)
{
	static const LowOpcode opcodes[OP_COUNT] = {[OP_LT] = LOW_LT,
	    [OP_LE] = LOW_LE, [OP_GT] = LOW_LT, [OP_GE] = LOW_LE,
	    [OP_EQ] = LOW_EQ, [OP_NE] = LOW_NE};
	if (index_has_free(a) || index_has_free(b))
		return value_unknown();
	int lanes = index_has_lanes(a) || index_has_lanes(b) ? l->lanes : 1;
	int x = lanes > 1 ? index_vector(l, a) : index_scalar(l, a);
	int y = lanes > 1 ? index_vector(l, b) : index_scalar(l, b);
	bool swapped = op == OP_GT || op == OP_GE;
	return value_temp(DT_BOOL, lanes,
	    emit_op(l, opcodes[op], DT_BOOL, lanes, swapped ? y : x,
		swapped ? x : y, -1, "is"));
}

static Value compare_indices(Lower *l, const Expr *e)
{
	Index a = index_of(l, e->arg[0]), b = index_of(l, e->arg[1]);
	if (index_apart(l, a, b))
		return compare_apart(l, e->op, a, b);
	Index up = index_add(l, b, a, -1);   /* b - a */
	Index down = index_add(l, a, b, -1); /* a - b */
	Index one = index_const(1);
	switch (e->op) {
	case OP_LT: return value_nonnegative(l, index_add(l, up, one, -1));
	case OP_LE: return value_nonnegative(l, up);
	case OP_GT: return value_nonnegative(l, index_add(l, down, one, -1));
	case OP_GE: return value_nonnegative(l, down);
	default: break;
	}
	Value equal = index_nonzero(up)
	    ? value_bool(false)
	    : value_and(l, value_nonnegative(l, up),
		  value_nonnegative(l, down));
	return e->op == OP_EQ ? equal : value_not(l, equal);
}

/* Does the condition hold, or not, for all that its indices may be? */
static bool is_settled(Lower *l, const Expr *e, bool holds)
{
	IndexVec forms = {0};
	if (e->op == OP_NOT)
		return is_settled(l, e->arg[0], !holds);
	if ((e->op == OP_AND && holds) || (e->op == OP_OR && !holds))
		return is_settled(l, e->arg[0], holds) &&
		    is_settled(l, e->arg[1], holds);
	if (e->op == OP_AND || e->op == OP_OR)
		return false;
	condition_forms(l, e, holds, &forms);
	for (int i = 0; i < forms.n; i++)
		if (!index_nonnegative(l, forms.at[i]))
			return false;
	return forms.n > 0;
}

/* Of an `and` that does not hold, an `or` that does, one operand says nothing, but
 * where the other is known to be what does not settle it. */
void condition_forms(Lower *l, const Expr *e, bool holds, IndexVec *out)
{
	if (e->op == OP_NOT) {
		condition_forms(l, e->arg[0], !holds, out);
		return;
	}
	if ((e->op == OP_AND && holds) || (e->op == OP_OR && !holds)) {
		condition_forms(l, e->arg[0], holds, out);
		condition_forms(l, e->arg[1], holds, out);
		return;
	}
	if (e->op == OP_AND || e->op == OP_OR) {
		for (int i = 0; i < 2; i++)
			if (is_settled(l, e->arg[i], !holds)) {
				condition_forms(l, e->arg[1 - i], holds, out);
				return;
			}
		return;
	}
	if (op_kind(e->op) != OPKIND_COMPARE || e->arg[0]->type != DT_INDEX ||
	    e->arg[1]->type != DT_INDEX)
		return;
	Index a = index_of(l, e->arg[0]), b = index_of(l, e->arg[1]);
	if (index_apart(l, a, b))
		return;
	Index up = index_add(l, b, a, -1), down = index_add(l, a, b, -1);
	Index one = index_const(1);
	switch (e->op) {
	case OP_LT:
		vec_push(l->arena, out,
		    holds ? index_add(l, up, one, -1) : down);
		break;
	case OP_LE:
		vec_push(l->arena, out,
		    holds ? up : index_add(l, down, one, -1));
		break;
	case OP_GT:
		vec_push(l->arena, out,
		    holds ? index_add(l, down, one, -1) : up);
		break;
	case OP_GE:
		vec_push(l->arena, out,
		    holds ? down : index_add(l, up, one, -1));
		break;
	default:
		if ((e->op == OP_EQ) != holds)
			break;
		vec_push(l->arena, out, up);
		vec_push(l->arena, out, down);
	}
}

/* What holds of indices where a condition holds, or where it does not. */
void push_facts(Lower *l, const Expr *e, bool holds)
{
	IndexVec forms = {0};
	condition_forms(l, e, holds, &forms);
	for (int i = 0; i < forms.n; i++)
		fact_push(l, forms.at[i]);
}

/* --- operations --------------------------------------------------------- */

/* What an integer, or a bool, may be; false: a float, or an index. */
static bool value_range(Lower *l, Value v, Interval *range)
{
	if (dtype_is_float(v.type) || v.type == DT_INDEX)
		return false;
	*range = v.temp >= 0     ? dtype_interval(v.type)
	    : v.type == DT_U64 ? interval_of((uint64_t)v.i)
			       : interval_of(v.i);
	if (v.temp >= 0 && !l->part->temps.at[v.temp].mutable)
		*range = interval_meet(*range, l->part->temps.at[v.temp].range);
	return true;
}

/* One value on both sides, or one that is on one side of all that the other may
 * be: then it reads nothing, and what an arm of it would do is known. */
static bool comparison_known(
    Lower *l, LowOpcode op, Value a, Value b, bool *holds)
{
	Interval x, y;
	bool same = a.temp >= 0 && a.temp == b.temp;
	if (same && (op == LOW_LT || !dtype_is_float(a.type))) {
		*holds = op == LOW_LE || op == LOW_EQ;
		return true;
	}
	if (!value_range(l, a, &x) || !value_range(l, b, &y))
		return false;
	bool apart = x.hi < y.lo || y.hi < x.lo;
	*holds = op == LOW_LT ? x.hi < y.lo
	    : op == LOW_LE    ? x.hi <= y.lo : op == LOW_NE;
	return *holds ? op != LOW_NE || apart
	    : op == LOW_LT ? x.lo >= y.hi
	    : op == LOW_LE ? x.lo > y.hi : apart;
}

static Value compare(Lower *l, LowOpcode op, Value a, Value b)
{
	bool holds;
	if (!comparison_known(l, op, a, b, &holds))
		return value_binary(l, op, DT_BOOL, a, b);
	l->part->folded = true;
	return value_bool(holds);
}

/* f16 and bf16 are compared and chosen in f32, which is exact. */
static DType work_type(DType type)
{
	return dtype_is_half(type) ? DT_F32 : type;
}

static Value choose(Lower *l, Value condition, Value yes, Value no)
{
	DType type = yes.type, work = work_type(type);
	yes = value_convert(l, yes, work);
	no = value_convert(l, no, work);
	int lanes = value_lanes(condition, yes);
	lanes = no.lanes > lanes ? no.lanes : lanes;
	int temp = emit_op(l, LOW_SELECT, work, lanes,
	    value_as(l, condition, lanes), value_as(l, yes, lanes),
	    value_as(l, no, lanes), "v");
	return value_convert(l, value_temp(work, lanes, temp), type);
}

/* Is it known which of two is the lesser? */
static bool order_known(Lower *l, Value a, Value b, bool *first)
{
	bool holds;
	*first = comparison_known(l, LOW_LE, a, b, &holds) && holds;
	return *first || (comparison_known(l, LOW_LE, b, a, &holds) && holds);
}

static Value min_or_max(Lower *l, bool max, Value a, Value b)
{
	DType type = a.type, work = work_type(type);
	bool first;
	if (order_known(l, a, b, &first)) {
		l->part->folded = true;
		return first != max ? a : b;
	}
	Value v = value_binary(l, max ? LOW_MAX : LOW_MIN, work,
	    value_convert(l, a, work), value_convert(l, b, work));
	return value_convert(l, v, type);
}

static bool may_fuse(const Lower *l, DType type)
{
	return l->machine->fma && !l->part->exact &&
	    (type == DT_F32 || type == DT_F64);
}

static Value minus(Lower *l, Value a)
{
	if (a.temp == -1)
		return value_const(a.type, -a.f, 0);
	return value_temp(a.type, a.lanes,
	    emit_op(l, LOW_NEG, a.type, a.lanes, value_as(l, a, a.lanes), -1,
		-1, "t"));
}

/* The sum, or the addend less the product. */
static Value fused(Lower *l, const Expr *product, Value addend, bool less)
{
	Value a = eval(l, product->arg[0]), b = eval(l, product->arg[1]);
	if (less)
		a = minus(l, a);
	int lanes = value_lanes(a, b);
	lanes = addend.lanes > lanes ? addend.lanes : lanes;
	int temp = emit_op(l, LOW_FMA, addend.type, lanes,
	    value_as(l, a, lanes), value_as(l, b, lanes),
	    value_as(l, addend, lanes), "t");
	return value_temp(addend.type, lanes, temp);
}

static Value eval_binary(Lower *l, const Expr *e)
{
	const Expr *x = e->arg[0], *y = e->arg[1];
	if (e->op == OP_ADD && may_fuse(l, e->type)) {
		if (x->op == OP_MUL)
			return fused(l, x, eval(l, y), false);
		if (y->op == OP_MUL)
			return fused(l, y, eval(l, x), false);
	}
	if (e->op == OP_SUB && may_fuse(l, e->type)) {
		if (x->op == OP_MUL)
			return fused(l, x, minus(l, eval(l, y)), false);
		if (y->op == OP_MUL)
			return fused(l, y, eval(l, x), true);
	}
	Value a = eval(l, e->arg[0]), b = eval(l, e->arg[1]), quotient;
	switch (e->op) {
	case OP_ADD: return value_binary(l, LOW_ADD, e->type, a, b);
	case OP_SUB: return value_binary(l, LOW_SUB, e->type, a, b);
	case OP_MUL: return value_binary(l, LOW_MUL, e->type, a, b);
	case OP_DIV:
		if (math_divide(l, e, a, b, &quotient))
			return quotient;
		return value_binary(l, LOW_DIV, e->type, a, b);
	case OP_FLOORDIV: return value_binary(l, LOW_FLOORDIV, e->type, a, b);
	case OP_MOD: return value_binary(l, LOW_MOD, e->type, a, b);
	default: break;
	}
	a = value_convert(l, a, work_type(a.type));
	b = value_convert(l, b, work_type(b.type));
	switch (e->op) {
	case OP_LT: return compare(l, LOW_LT, a, b);
	case OP_LE: return compare(l, LOW_LE, a, b);
	case OP_GT: return compare(l, LOW_LT, b, a);
	case OP_GE: return compare(l, LOW_LE, b, a);
	case OP_EQ: return compare(l, LOW_EQ, a, b);
	default: return compare(l, LOW_NE, a, b);
	}
}

static Value eval_bits(Lower *l, const Expr *e)
{
	Value a = eval(l, e->arg[0]);
	switch (e->op) {
	case OP_BIT_AND:
		return value_binary(l, LOW_AND, e->type, a, eval(l, e->arg[1]));
	case OP_BIT_OR:
		return value_binary(l, LOW_OR, e->type, a, eval(l, e->arg[1]));
	case OP_BIT_XOR:
		return value_binary(l, LOW_XOR, e->type, a, eval(l, e->arg[1]));
	case OP_SHIFT_LEFT:
		return value_binary(l, LOW_SHL, e->type, a, eval(l, e->arg[1]));
	case OP_SHIFT_RIGHT:
		return value_binary(l, LOW_SHR, e->type, a, eval(l, e->arg[1]));
	default:
		assert(e->op == OP_POPCOUNT);
		return value_temp(e->type, a.lanes,
		    emit_op(l, LOW_POPCOUNT, e->type, a.lanes,
			value_as(l, a, a.lanes), -1, -1, "bits"));
	}
}

static Value eval_math(Lower *l, const Expr *e)
{
	Value a = eval(l, e->arg[0]);
	Value b = e->narg > 1 ? eval(l, e->arg[1]) : a;
	int lanes = e->narg > 1 ? value_lanes(a, b) : a.lanes;
	if (e->op != OP_POW && math_is_own(l, lanes) && !l->part->exact) {
		bool softmax =
		    e->op == OP_EXP && step_is_softmax_exponent(l, e->arg[0]);
		int x = value_as(l, a, lanes);
		int y = e->narg > 1 ? value_as(l, b, lanes) : -1;
		Key key = {.op = LOW_MATH,
		    .type = e->type,
		    .lanes = lanes,
		    .arg = {x, y, -1},
		    .i = softmax,
		    .math = e->op};
		int v = emit_known(l, &key);
		if (v < 0) {
			v = math_vector(
			    l, e->op, e->type, x, y, lanes, softmax);
			if (v >= 0)
				note_known(l, &key, v);
		}
		if (v >= 0)
			return value_temp(e->type, lanes, v);
	}
	Value power;
	if (e->op == OP_POW && !l->part->exact && math_pow(l, a, b, &power))
		return power;
	Key key = {.op = LOW_MATH,
	    .type = e->type,
	    .lanes = lanes,
	    .arg = {value_as(l, a, lanes),
		e->narg > 1 ? value_as(l, b, lanes) : -1, -1},
	    .math = e->op};
	return value_temp(
	    e->type, lanes, emit_pure(l, &key, op_name(e->op)));
}

/* Small enough for the narrowest integer and exact in every float. */
static bool holds_exactly(DType type, int64_t value)
{
	return type == DT_BOOL ? value == 0 || value == 1
			       : value >= 0 && value <= 127;
}

static Value eval_cast(Lower *l, const Expr *e)
{
	if (e->arg[0]->type != DT_INDEX)
		return value_convert(l, eval(l, e->arg[0]), e->type);
	Index x = index_of(l, e->arg[0]);
	int64_t known;
	if (index_is_const(x, &known) && holds_exactly(e->type, known))
		return value_const(e->type, (double)known, known);
	int lanes = index_has_lanes(x) ? l->lanes : 1;
	int temp = lanes > 1 ? index_vector(l, x) : index_scalar(l, x);
	return value_convert(l, value_temp(DT_INDEX, lanes, temp), e->type);
}

/* --- if ----------------------------------------------------------------- */

static bool is_dear(Expr *e, void *context)
{
	bool *dear = context;
	*dear |= e->op == OP_READ || op_kind(e->op) == OPKIND_FUNCTION;
	return !*dear;
}

static bool arm_is_dear(const Expr *e)
{
	bool dear = false;
	expr_walk((Expr *)(uintptr_t)e, is_dear, &dear);
	return dear;
}

/* An arm under its condition, masked where that differs by lane. */
static Value eval_arm(Lower *l, const Expr *condition, bool holds, Value mask,
    const Expr *arm)
{
	Lower in = *l;
	/* What differs by lane is no fact: lanes that are off go on. */
	if (mask.lanes > 1)
		in.mask = value_counted(l, mask);
	else
		push_facts(&in, condition, holds);
	return eval(&in, arm);
}

static void assign_arm(
    Lower *l, int dst, const Expr *condition, bool holds, const Expr *arm)
{
	Lower in = *l;
	push_facts(&in, condition, holds);
	Value v = eval(&in, arm);
	emit_into(l, dst, LOW_COPY, value_as(l, v, l->f->temps.at[dst].lanes),
	    -1, -1);
}

/* An arm that costs nothing is assigned before, the other in the branch. */
static Value eval_branch(Lower *l, Value condition, const Expr *e, DType type)
{
	Branch b;
	int dst = new_temp(l, type, l->lanes, "v");
	bool yes_dear = arm_is_dear(e->arg[1]);
	bool no_dear = arm_is_dear(e->arg[2]);
	assert(condition.temp >= 0);
	l->part->temps.at[dst].mutable = true;
	if (yes_dear && no_dear) {
		emit_into(l, dst, LOW_CONST, -1, -1, -1);
		branch_begin(l, &b, value_scalar(l, condition));
		assign_arm(l, dst, e->arg[0], true, e->arg[1]);
		branch_else(l, &b);
		assign_arm(l, dst, e->arg[0], false, e->arg[2]);
	} else {
		int cheap = yes_dear ? 2 : 1, dear = yes_dear ? 1 : 2;
		assign_arm(l, dst, e->arg[0], cheap == 1, e->arg[cheap]);
		branch_begin(l, &b,
		    value_scalar(l,
			yes_dear ? condition : value_not(l, condition)));
		assign_arm(l, dst, e->arg[0], dear == 1, e->arg[dear]);
	}
	branch_end(l, &b);
	return value_temp(type, l->lanes, dst);
}

static Value eval_if_expr(Lower *l, const Expr *e)
{
	bool known;
	Value condition = eval(l, e->arg[0]);
	if (value_is_bool(condition, &known)) {
		Lower in = *l;
		push_facts(&in, e->arg[0], known);
		return eval(&in, e->arg[known ? 1 : 2]);
	}
	if (condition.lanes == 1 &&
	    (arm_is_dear(e->arg[1]) || arm_is_dear(e->arg[2])))
		return eval_branch(l, condition, e, e->type);
	Value yes = eval_arm(l, e->arg[0], true, condition, e->arg[1]);
	Value no = eval_arm(l, e->arg[0], false,
	    condition.lanes > 1 ? value_not(l, condition) : condition,
	    e->arg[2]);
	return choose(l, condition, yes, no);
}

/* One more operand of a chain of `and` or `or`, `a` being those before it, the
 * facts of which are in force. */
static Value eval_next(Lower *l, bool both, Value a, const Expr *operand)
{
	if (a.lanes == 1 && a.temp >= 0 && arm_is_dear(operand)) {
		Expr known = {.op = OP_INT, .type = DT_BOOL, .i = true};
		Expr constant = {.op = OP_INT, .type = DT_BOOL, .i = !both};
		Expr branch = {.op = OP_IF, .type = DT_BOOL};
		Expr *right = (Expr *)(uintptr_t)operand;
		Expr *args[3] = {
		    &known, both ? right : &constant, both ? &constant : right};
		branch.arg = args;
		branch.narg = 3;
		return eval_branch(l, a, &branch, DT_BOOL);
	}
	Value b = eval(l, operand);
	return both ? value_and(l, a, b) : value_or(l, a, b);
}

/* and, or: the right side is looked at under the facts of the left.  A chain is
 * gone along once. */
static Value eval_logic(Lower *l, const Expr *e)
{
	Op op = e->op;
	bool both = op == OP_AND, known;
	VEC(const Expr *) operands = {0};
	for (; e->op == op; e = e->arg[0])
		vec_push(l->arena, &operands, e->arg[1]);
	Lower in = *l;
	Value a = eval(l, e);
	while (operands.n && !(value_is_bool(a, &known) && known != both)) {
		const Expr *operand = operands.at[--operands.n];
		if (a.lanes == 1)
			push_facts(&in, e, both);
		in.mask = l->mask;
		if (a.lanes > 1)
			in.mask = value_counted(l, both ? a : value_not(l, a));
		a = eval_next(&in, both, a, operand);
		e = operand;
	}
	return a;
}

/* --- expressions -------------------------------------------------------- */

static Value eval_read(Lower *l, const Expr *e)
{
	Lower own;
	/* what threads share out is there, rows too many as well */
	if (l->machine->gpu && l->nest->buffers.at[e->id].scope == SCOPE_REG) {
		own = *l;
		own.clamp = NULL;
		l = &own;
	}
	return memory_load(l, e->id, buffer_address(l, e->id, e->arg, e->narg));
}

Value eval(Lower *l, const Expr *e)
{
	switch (e->op) {
	case OP_INT: return value_const(e->type, (double)e->i, e->i);
	case OP_FLOAT: return value_const(e->type, e->f, (int64_t)0);
	case OP_READ: return eval_read(l, e);
	case OP_CAST: return eval_cast(l, e);
	case OP_IF: return eval_if_expr(l, e);
	case OP_AND:
	case OP_OR: return eval_logic(l, e);
	case OP_NOT: return value_not(l, eval(l, e->arg[0]));
	case OP_NEG:
	case OP_ABS: {
		Value a = eval(l, e->arg[0]);
		int temp = emit_op(l, e->op == OP_NEG ? LOW_NEG : LOW_ABS,
		    e->type, a.lanes, value_as(l, a, a.lanes), -1, -1, "t");
		return value_temp(e->type, a.lanes, temp);
	}
	case OP_MIN:
	case OP_MAX:
		return min_or_max(l, e->op == OP_MAX, eval(l, e->arg[0]),
		    eval(l, e->arg[1]));
	case OP_CLAMP:
		return min_or_max(l, false,
		    min_or_max(l, true, eval(l, e->arg[0]),
			eval(l, e->arg[1])),
		    eval(l, e->arg[2]));
	default: break;
	}
	if (op_kind(e->op) == OPKIND_COMPARE && e->arg[0]->type == DT_INDEX)
		return compare_indices(l, e);
	if (op_is_function(e->op))
		return eval_math(l, e);
	if (op_kind(e->op) == OPKIND_BITS)
		return eval_bits(l, e);
	assert(e->narg == 2);
	return eval_binary(l, e);
}

/* --- reduction steps ---------------------------------------------------- */

/* The arm of an `if` whose other arm is the identity of a least or greatest
 * one: where it does not count, the vector stays what it was, which an
 * instruction does with its operation where vectors have masks.  0: neither. */
static int counted_arm(
    const Lower *l, ReduceOp op, const Expr *element, Value acc)
{
	if (element->op != OP_IF || acc.lanes <= 1 || !l->machine->masked ||
	    (op != REDUCE_MIN && op != REDUCE_MAX) ||
	    work_type(acc.type) != acc.type || element->type != acc.type)
		return 0;
	const Expr *identity = expr_identity(l->arena, op, acc.type);
	return expr_equal(element->arg[2], identity) ? 1
	    : expr_equal(element->arg[1], identity) ? 2
						    : 0;
}

/* acc = condition ? acc (op) arm : acc; false: the condition is no vector's. */
static bool step_where(Lower *l, ReduceOp op, const Expr *element, int arm,
    Value acc, int into)
{
	Value condition = eval(l, element->arg[0]);
	if (condition.lanes <= 1)
		return false;
	if (arm == 2)
		condition = value_not(l, condition);
	Value v = eval_combined(l, op, acc,
	    eval_arm(
		l, element->arg[0], arm == 1, condition, element->arg[arm]),
	    -1);
	int lanes = value_lanes(condition, v);
	emit_into(l, into, LOW_SELECT, value_as(l, condition, lanes),
	    value_as(l, v, lanes), value_as(l, acc, lanes));
	return true;
}

/* acc (op) element; into the temporary `into` if it is one. */
Value eval_step(
    Lower *l, ReduceOp op, const Expr *element, Value acc, int into)
{
	DType type = acc.type;
	int arm = into >= 0 ? counted_arm(l, op, element, acc) : 0;
	if (arm && step_where(l, op, element, arm, acc, into))
		return value_temp(type, acc.lanes, into);
	bool fuse = op == REDUCE_SUM && element->op == OP_MUL &&
	    may_fuse(l, type);
	Value a = eval(l, fuse ? element->arg[0] : element);
	Value b = fuse ? eval(l, element->arg[1]) : acc;
	int lanes = value_lanes(a, b);
	lanes = acc.lanes > lanes ? acc.lanes : lanes;
	if (fuse) {
		int x = value_as(l, a, lanes), y = value_as(l, b, lanes);
		int z = value_as(l, acc, lanes);
		if (into >= 0) {
			emit_into(l, into, LOW_FMA, x, y, z);
			return value_temp(type, lanes, into);
		}
		return value_temp(type, lanes,
		    emit_op(l, LOW_FMA, type, lanes, x, y, z, "t"));
	}
	return eval_combined(l, op, acc, a, into);
}

Value eval_combined(Lower *l, ReduceOp op, Value acc, Value value, int into)
{
	DType type = acc.type, work = work_type(type);
	assert(op != REDUCE_NONE);
	assert(into < 0 || l->f->temps.at[into].type == type);
	LowOpcode code = op == REDUCE_SUM ? LOW_ADD
	    : op == REDUCE_PROD	       ? LOW_MUL
	    : op == REDUCE_MAX	       ? LOW_MAX
				       : LOW_MIN;
	int lanes = value_lanes(acc, value);
	bool least;
	if ((code == LOW_MIN || code == LOW_MAX) && acc.temp == into &&
	    order_known(l, acc, value, &least) && least == (code == LOW_MIN)) {
		l->part->folded = true;
		return acc;
	}
	Value element_first = value_convert(l, value, work);
	Value so_far = value_convert(l, acc, work);
	bool sum = op == REDUCE_SUM || op == REDUCE_PROD;
	int x = value_as(l, sum ? so_far : element_first, lanes);
	int y = value_as(l, sum ? element_first : so_far, lanes);
	if (into >= 0 && work == type) {
		emit_into(l, into, code, x, y, -1);
		return value_temp(type, lanes, into);
	}
	Value v = value_convert(l,
	    value_temp(
		work, lanes, emit_op(l, code, work, lanes, x, y, -1, "t")),
	    type);
	if (into >= 0) {
		emit_into(l, into, LOW_COPY, value_as(l, v, lanes), -1, -1);
		return value_temp(type, lanes, into);
	}
	return v;
}
