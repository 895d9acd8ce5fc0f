/* Trees of the text to typed expressions, for one case's params.
 *
 * What is computed from numbers, params and axes is untyped until it meets a
 * type.  Integers then have DT_INDEX, floats the private UNTYPED_FLOAT; both are
 * ordinary expressions, rewritten once by retype() to the dtype that they take.
 * A number is a constant of one of these two types, folded exactly. */
#include "ir/spec/spec.h"

#include <assert.h>

#define UNTYPED_FLOAT ((DType)(DT_INDEX + 1))

typedef struct {
	Expr *e;     /* NULL: a message has been given */
	Interval range; /* of integers without data: for exactness, without facts */
	bool data;   /* reads, or reduces */
} TypedValue;

typedef struct {
	Typer *typer;
	Arena *arena;
	Report *report;
	DType around; /* of the cast or declaration around; DT_COUNT: none */
	bool in_index; /* of a read: integer data is exact, a term */
	bool failed;  /* a message was given, but typing went on */
} Types;

static const TypedValue bad = {0};

/* --- numbers ----------------------------------------------------------------- */

/* A number over params, or a truth. */
typedef struct {
	Number number;
	bool is_bool; /* then number.i is 0 or 1 */
} KnownNumber;

static bool known(Typer *t, Node *n, KnownNumber *k);

static bool refuse_number(Typer *t, const Node *n, const char *why)
{
	report_error(t->report, n->span, "'%s' %s",
	    report_quote(t->report, n->span), why);
	return false;
}

static bool known_number(Typer *t, Node *n, Number *number)
{
	KnownNumber k;
	if (!known(t, n, &k))
		return false;
	if (k.is_bool)
		return refuse_number(
		    t, n, "is a condition where a number is needed");
	*number = k.number;
	return true;
}

static bool known_truth(Typer *t, Node *n, bool *truth)
{
	KnownNumber k;
	if (!known(t, n, &k))
		return false;
	if (!k.is_bool)
		return refuse_number(
		    t, n, "is a number where a condition is needed");
	*truth = k.number.i != 0;
	return true;
}

static bool known_binary(Typer *t, Node *n, KnownNumber *k)
{
	const char *why;
	if (n->op == OP_AND || n->op == OP_OR) {
		bool a;
		k->is_bool = true;
		if (!known_truth(t, n->arg[0], &a))
			return false;
		if (a == (n->op == OP_AND) && !known_truth(t, n->arg[1], &a))
			return false;
		k->number.i = a;
		return true;
	}
	Number a, b;
	bool fine = known_number(t, n->arg[0], &a);
	if (!known_number(t, n->arg[1], &b) || !fine)
		return false;
	if (op_kind(n->op) == OPKIND_COMPARE) {
		k->is_bool = true;
		k->number.i = number_compare(n->op, a, b);
		return true;
	}
	return number_binary(n->op, a, b, &k->number, &why) ||
	    refuse_number(t, n, why);
}

static bool known_unary(Typer *t, Node *n, KnownNumber *k)
{
	const char *why;
	Number a;
	if (n->op == OP_NOT) {
		bool truth;
		if (!known_truth(t, n->arg[0], &truth))
			return false;
		k->is_bool = true;
		k->number.i = !truth;
		return true;
	}
	return known_number(t, n->arg[0], &a) &&
	    (number_unary(n->op, a, &k->number, &why) ||
		refuse_number(t, n, why));
}

static bool known_call(Typer *t, Node *n, KnownNumber *k)
{
	const char *why;
	Number args[3];
	assert(n->narg <= 3);
	for (int i = 0; i < n->narg; i++)
		if (!known_number(t, n->arg[i], &args[i]))
			return false;
	return number_call(n->op, args, &k->number, &why) ||
	    refuse_number(t, n, why);
}

static bool known(Typer *t, Node *n, KnownNumber *k)
{
	bool truth;
	*k = (KnownNumber){0};
	switch (n->kind) {
	case NODE_BAD:
		return false;
	case NODE_INT:
		k->number.i = n->i;
		return true;
	case NODE_FLOAT:
		k->number = (Number){.is_float = true, .f = n->f};
		return true;
	case NODE_NAME:
		if (!n->symbol || n->symbol->kind != SYMBOL_PARAM ||
		    n->symbol->bad || !t->param_known[n->symbol->index])
			return false;
		k->number = t->params[n->symbol->index];
		return true;
	case NODE_UNARY:
		return known_unary(t, n, k);
	case NODE_BINARY:
		return known_binary(t, n, k);
	case NODE_CALL:
		return known_call(t, n, k);
	case NODE_CAST:
		if (!known(t, n->arg[0], k))
			return false;
		k->number = number_cast(n->type, k->number);
		k->is_bool = n->type == DT_BOOL;
		return n->type != DT_U64 || k->number.i >= 0 ||
		    refuse_number(t, n, "is past 64 bits");
	case NODE_IF:
		return known_truth(t, n->arg[0], &truth) &&
		    known(t, n->arg[truth ? 1 : 2], k);
	case NODE_READ:
	case NODE_REDUCE:
		break;
	}
	return refuse_number(t, n, "is not made of numbers and params alone");
}

bool type_number(Typer *typer, Node *node, Number *result)
{
	return known_number(typer, node, result);
}

static const char *float_extent(const Node *n)
{
	return n->kind == NODE_BINARY && n->op == OP_DIV
	    ? "is a float where an extent is needed: write '//'"
	    : "is a float where an extent is needed";
}

int64_t type_extent(Typer *typer, Node *node, bool *is_bad)
{
	Number x;
	if (!type_number(typer, node, &x)) {
		*is_bad = true;
		return 1;
	}
	if (!x.is_float && x.i >= 1)
		return x.i;
	*is_bad = true;
	if (x.is_float)
		refuse_number(typer, node, float_extent(node));
	else
		report_error(typer->report, node->span,
		    "extent '%s' is %lld, but must be at least 1",
		    report_quote(typer->report, node->span), (long long)x.i);
	return 1;
}

/* --- values ------------------------------------------------------------------ */

static const char *quote(Types *t, Span span)
{
	return report_quote(t->report, span);
}

static bool untyped(const Expr *e)
{
	return e->type >= DT_INDEX;
}

static bool is_number(TypedValue v)
{
	return untyped(v.e) && (v.e->op == OP_INT || v.e->op == OP_FLOAT);
}

static const char *type_name(DType type)
{
	return type == DT_INDEX ? "an untyped integer"
	    : type == UNTYPED_FLOAT ? "an untyped float" : dtype_name(type);
}

static Number number_of(const Expr *e)
{
	return e->op == OP_INT ? (Number){.i = e->i}
			       : (Number){.is_float = true, .f = e->f};
}

static TypedValue value_of_number(Types *t, Number x)
{
	TypedValue v = {.range = {x.i, x.i}};
	if (!x.is_float) {
		v.e = expr_int(t->arena, DT_INDEX, x.i);
		return v;
	}
	v.e = expr_float(t->arena, DT_F64, x.f);
	v.e->type = UNTYPED_FLOAT;
	return v;
}

static TypedValue typed(Expr *e, bool data)
{
	return (TypedValue){.e = e, .data = data};
}

static TypedValue truth_value(Types *t, bool truth)
{
	return typed(expr_int(t->arena, DT_BOOL, truth), false);
}

/* --- an untyped value takes a type ------------------------------------------- */

static Expr *retype(Types *t, Expr *e, DType type);

static Expr *retype_number(Types *t, Expr *e, DType type)
{
	const char *why;
	Expr *x = number_take(t->arena, type, number_of(e), &why);
	if (x) {
		x->span = e->span;
		return x;
	}
	const char *text = quote(t, e->span), *name = dtype_name(type);
	bool is_float = number_of(e).is_float && !dtype_is_float(type);
	const char *wider = is_float ? "f32" : dtype_is_float(type) ? "f64"
	    : type == DT_I32 ? "i64" : "i32";
	report_error(t->report, e->span,
	    "'%s' %s where %s is needed: cast what is beside it, as in "
	    "'%s(x)', or it, as in '%s(%s)'", text,
	    is_float ? "is a float" : "does not fit", name, wider, name, text);
	return NULL;
}

/* Operations that take an operand as it is, without promotion. */
static bool keeps_type(const Expr *e)
{
	return e->op == OP_IF || e->op == OP_MIN || e->op == OP_MAX ||
	    e->op == OP_CLAMP ||
	    (e->op == OP_REDUCE &&
		(e->reduce.op == REDUCE_MAX || e->reduce.op == REDUCE_MIN));
}

static DType computed_type(const Expr *e, DType type)
{
	if (keeps_type(e))
		return type;
	if (type == DT_BOOL)
		return e->type == DT_INDEX ? DT_I32 : DT_F32;
	if ((e->op == OP_FLOORDIV || e->op == OP_MOD) && dtype_is_float(type))
		return DT_I32;
	return dtype_promoted(type);
}

static Expr *retype_parts(Types *t, Expr *e, DType type)
{
	DType inner = computed_type(e, type);
	Expr *x = arena_memdup(t->arena, e, sizeof *e);
	x->type = inner;
	x->arg = NEW_N(t->arena, Expr *, e->narg);
	for (int i = 0; i < e->narg; i++) {
		x->arg[i] = untyped(e->arg[i]) ? retype(t, e->arg[i], inner)
					       : e->arg[i];
		if (!x->arg[i])
			return NULL;
	}
	return expr_cast(t->arena, type, x);
}

static bool has(const Expr *e, Op op)
{
	if (e->op == op)
		return true;
	for (int i = 0; i < e->narg; i++)
		if (has(e->arg[i], op))
			return true;
	return false;
}

static bool is_bits(Op op)
{
	return op_kind(op) == OPKIND_BITS;
}

static bool has_bits(const Expr *e)
{
	bool found = is_bits(e->op);
	for (int i = 0; i < e->narg && !found; i++)
		found = has_bits(e->arg[i]);
	return found;
}

/* An untyped integer of reductions over axes, or of bits, is computed in i64, so
 * that it is exact, and then takes its type. */
static Expr *retype_exact(Types *t, Expr *e, DType type)
{
	Expr *exact = retype_parts(t, e, DT_I64);
	if (!exact)
		return NULL;
	Expr *x = expr_cast(t->arena, type, exact);
	x->span = e->span;
	return x;
}

static Expr *retype(Types *t, Expr *e, DType type)
{
	if (e->op == OP_INT || e->op == OP_FLOAT)
		return retype_number(t, e, type);
	if (e->type == DT_INDEX && !has(e, OP_READ)) {
		if (has(e, OP_REDUCE) || has_bits(e))
			return retype_exact(t, e, type);
		Expr *x = expr_cast(t->arena, type, e);
		x->span = e->span;
		return x;
	}
	if (e->type == UNTYPED_FLOAT && !dtype_is_float(type)) {
		report_error(t->report, e->span,
		    "'%s' is a float where %s is needed: cast it, as in "
		    "'%s(%s)'", quote(t, e->span), dtype_name(type),
		    dtype_name(type), quote(t, e->span));
		return NULL;
	}
	if (e->op == OP_CAST)
		return retype(t, e->arg[0], type);
	return retype_parts(t, e, type);
}

/* The operand as `type`: an untyped one takes it, a typed one is promoted. */
static Expr *coerce(Types *t, TypedValue v, DType type)
{
	if (untyped(v.e))
		return retype(t, v.e, type);
	Expr *x = expr_cast(t->arena, type, v.e);
	if (x != v.e)
		x->span = v.e->span;
	return x;
}

/* An untyped value as an untyped float. */
static Expr *as_float(Types *t, Expr *e)
{
	if (e->type == UNTYPED_FLOAT)
		return e;
	Expr *x = expr_cast(t->arena, UNTYPED_FLOAT, e);
	x->span = e->span;
	return x;
}

/* What an untyped value takes where no typed one is beside it. */
static DType default_type(const Types *t, bool is_float)
{
	DType around = t->around;
	if (is_float)
		return dtype_is_float(around) ? dtype_promoted(around) : DT_F32;
	return dtype_is_int(around) ? dtype_promoted(around) : DT_I32;
}

/* --- operands that must agree ------------------------------------------------ */

static bool any_untyped_float(const TypedValue *v, int n)
{
	for (int i = 0; i < n; i++)
		if (v[i].e->type == UNTYPED_FLOAT)
			return true;
	return false;
}

/* The dtype of the typed operands; DT_INDEX where none is typed.  False after a
 * message where two differ. */
static bool common_type(Types *t, const Node *n, const TypedValue *v, int nv,
    bool promote, DType *type)
{
	*type = DT_INDEX;
	for (int i = 0; i < nv; i++) {
		DType own = v[i].e->type;
		if (untyped(v[i].e))
			continue;
		if (promote)
			own = dtype_promoted(own);
		if (*type != DT_INDEX && *type != own) {
			report_error(t->report, n->span,
			    "'%s' has operands of %s and %s: cast one of them",
			    n->kind == NODE_IF ? "if" : op_name(n->op),
			    dtype_name(*type), dtype_name(own));
			return false;
		}
		*type = own;
	}
	return true;
}

/* Makes the operands one type, into `args`; false after a message.  All may be
 * untyped: then they are integers or floats. */
static bool agree(Types *t, const Node *n, const TypedValue *v, int nv,
    bool promote, Expr **args, DType *type)
{
	if (!common_type(t, n, v, nv, promote, type))
		return false;
	if (*type == DT_INDEX && any_untyped_float(v, nv))
		*type = UNTYPED_FLOAT;
	bool fine = true;
	for (int i = 0; i < nv; i++) {
		args[i] = *type == DT_INDEX ? v[i].e
		    : *type == UNTYPED_FLOAT ? as_float(t, v[i].e)
					     : coerce(t, v[i], *type);
		fine = fine && args[i];
	}
	return fine;
}

static bool all_numbers(const TypedValue *v, int n)
{
	for (int i = 0; i < n; i++)
		if (!is_number(v[i]))
			return false;
	return true;
}

static bool any_data(const TypedValue *v, int n)
{
	for (int i = 0; i < n; i++)
		if (v[i].data)
			return true;
	return false;
}

static TypedValue refuse(Types *t, const Node *n, const char *why)
{
	report_error(t->report, n->span, "'%s' %s", quote(t, n->span), why);
	return bad;
}

/* A u64 that is read may be; what chooses between values says nothing of it. */
static bool may_pass(Interval r)
{
	return !wide_fits(r.lo) || !wide_fits(r.hi);
}

static TypedValue refuse_past(Types *t, const Node *n, const Expr *e)
{
	return refuse(t, n, expr_has_data(e)
		? "may pass 64 bits: clamp the data first" : "may pass 64 bits");
}

/* An untyped integer, whose range must fit 64 bits. */
static TypedValue index_value(
    Types *t, const Node *n, Expr *e, Interval r, bool data)
{
	return !data && may_pass(r) ? refuse_past(t, n, e)
				    : (TypedValue){e, r, data};
}

static TypedValue result(
    Types *t, const Node *n, Expr *e, Interval r, bool data)
{
	return e->type == DT_INDEX ? index_value(t, n, e, r, data)
				   : typed(e, data);
}

static bool refuse_bool(Types *t, const Node *n, DType type)
{
	if (type == DT_BOOL)
		refuse(t, n, "is arithmetic on bool: cast it, as in i32(x)");
	return type == DT_BOOL;
}

/* --- operations -------------------------------------------------------------- */

static Interval range_of(Op op, Interval a, Interval b)
{
	switch (op) {
	case OP_ADD: return interval_add(a, b);
	case OP_SUB: return interval_sub(a, b);
	case OP_FLOORDIV: return interval_floordiv(a, b.lo);
	case OP_MOD: return (Interval){0, b.lo - 1};
	default: assert(op == OP_MUL); return interval_mul(a, b);
	}
}

/* // and %: integers over a positive integer over params. */
static bool division_fine(Types *t, const Node *n, const TypedValue *v)
{
	if (!is_number(v[1]) || v[1].e->op != OP_INT || v[1].e->i <= 0) {
		report_error(t->report, n->arg[1]->span,
		    "the divisor of '%s' must be a positive integer over "
		    "params", op_name(n->op));
		return false;
	}
	if (v[0].e->type == UNTYPED_FLOAT || dtype_is_float(v[0].e->type)) {
		report_error(t->report, n->arg[0]->span,
		    "'%s' needs integers, this is %s", op_name(n->op),
		    type_name(v[0].e->type));
		return false;
	}
	return true;
}

static TypedValue arithmetic(Types *t, Node *n, TypedValue *v)
{
	Number x;
	const char *why;
	DType type;
	Expr *args[2];
	bool floor = n->op == OP_FLOORDIV || n->op == OP_MOD;
	if (all_numbers(v, 2))
		return number_binary(n->op, number_of(v[0].e),
			   number_of(v[1].e), &x, &why)
		    ? value_of_number(t, x) : refuse(t, n, why);
	if (floor && !division_fine(t, n, v))
		return bad;
	if (n->op == OP_DIV && untyped(v[0].e) && untyped(v[1].e))
		v[0].e = as_float(t, v[0].e);
	if (!common_type(t, n, v, 2, true, &type) || refuse_bool(t, n, type) ||
	    !agree(t, n, v, 2, true, args, &type))
		return bad;
	if (n->op == OP_DIV && dtype_is_int(type))
		return refuse(t, n, v[1].e->op == OP_INT && v[1].e->i > 0
			? "divides integers: use '//', or cast them to floats, "
			  "as in f32(x)"
			: "divides integers: cast them to floats, as in f32(x)");
	bool data = any_data(v, 2);
	Interval r = {0, 0};
	Expr *e = expr_binary(t->arena, n->op, args[0], args[1]);
	if (type != DT_INDEX || data)
		return result(t, n, e, r, data);
	if (floor && may_pass(v[0].range) && !expr_divides_u64(e))
		return refuse_past(t, n, e);
	return index_value(
	    t, n, e, range_of(n->op, v[0].range, v[1].range), data);
}

/* May two compare otherwise than u64 that is read, which an index has up to
 * 2^63 - 1? */
static bool clamped_differs(const TypedValue *v)
{
	Wide a = v[0].range.hi, b = v[1].range.hi;
	return wide_max(a, b) > INT64_MAX && wide_min(a, b) >= INT64_MAX;
}

static TypedValue compare(Types *t, Node *n, TypedValue *v)
{
	DType type;
	Expr *args[2];
	bool data = any_data(v, 2);
	if (all_numbers(v, 2))
		return truth_value(t, number_compare(n->op, number_of(v[0].e),
					  number_of(v[1].e)));
	if (!agree(t, n, v, 2, true, args, &type))
		return bad;
	if (type == DT_INDEX && !data && clamped_differs(v))
		return refuse_past(t, n, may_pass(v[0].range) ? args[0] : args[1]);
	bool apart = data || has_bits(args[0]) || has_bits(args[1]);
	if (type == UNTYPED_FLOAT || (type == DT_INDEX && apart)) {
		bool exact = type == DT_INDEX && !has(args[0], OP_READ) &&
		    !has(args[1], OP_READ);
		type = exact ? DT_I64 : default_type(t, type == UNTYPED_FLOAT);
		for (int i = 0; i < 2; i++)
			if (!(args[i] = retype(t, args[i], type)))
				return bad;
	}
	return typed(expr_binary(t->arena, n->op, args[0], args[1]), data);
}

static TypedValue negate(Types *t, Node *n, TypedValue v)
{
	Number x;
	const char *why;
	if (is_number(v))
		return number_unary(OP_NEG, number_of(v.e), &x, &why)
		    ? value_of_number(t, x) : refuse(t, n, why);
	if (refuse_bool(t, n, v.e->type))
		return bad;
	Expr *a = untyped(v.e) ? v.e : coerce(t, v, dtype_promoted(v.e->type));
	return result(t, n, expr_unary(t->arena, OP_NEG, a),
	    interval_scale(v.range, -1), v.data);
}

/* Of untyped integers, which have 64 bits. */
static Interval range_of_bits(Op op, const TypedValue *v)
{
	return op == OP_POPCOUNT
	    ? (Interval){0, 64}
	    : bits_interval(op, DT_I64, v[0].range, v[1].range);
}

static bool refuse_float(Types *t, const Node *n, const TypedValue *v)
{
	for (int i = 0; i < n->narg; i++) {
		DType type = v[i].e->type;
		if (type != UNTYPED_FLOAT && !dtype_is_float(type))
			continue;
		report_error(t->report, n->arg[i]->span,
		    "'%s' needs integers, this is %s: cast it, as in i32(x)",
		    op_name(n->op), type_name(type));
		return true;
	}
	return false;
}

static Interval range_of_pick(Op op, const TypedValue *v)
{
	Interval a = v[0].range, b = v[1].range;
	switch (op) {
	case OP_MIN: return interval_min(a, b);
	case OP_MAX: return interval_max(a, b);
	default:
		assert(op == OP_CLAMP);
		return interval_min(interval_max(a, b), v[2].range);
	}
}

static TypedValue call(Types *t, Node *n, TypedValue *v)
{
	Number x, numbers[3];
	const char *why;
	DType type;
	Expr *args[3];
	bool pick = n->op == OP_MIN || n->op == OP_MAX || n->op == OP_CLAMP;
	bool floats = op_is_function(n->op), data = any_data(v, n->narg);
	if (all_numbers(v, n->narg)) {
		for (int i = 0; i < n->narg; i++)
			numbers[i] = number_of(v[i].e);
		return number_call(n->op, numbers, &x, &why)
		    ? value_of_number(t, x) : refuse(t, n, why);
	}
	if ((is_bits(n->op) && refuse_float(t, n, v)) ||
	    !common_type(t, n, v, n->narg, !pick, &type))
		return bad;
	if (floats && type == DT_INDEX)
		v[0].e = as_float(t, v[0].e);
	if (!pick && refuse_bool(t, n, type))
		return bad;
	if (floats && dtype_is_int(type)) {
		report_error(t->report, n->span,
		    "'%s' needs a float, this is %s: cast it, as in f32(x)",
		    op_name(n->op), dtype_name(type));
		return bad;
	}
	if (!agree(t, n, v, n->narg, !pick, args, &type))
		return bad;
	Interval r = {0, 0};
	if (type == DT_INDEX && !data)
		r = pick		? range_of_pick(n->op, v)
		    : is_bits(n->op) ? range_of_bits(n->op, v)
				     : interval_abs(v[0].range);
	Expr *e = expr_call(t->arena, n->op, type, args, n->narg);
	return pick ? (TypedValue){e, r, data} : result(t, n, e, r, data);
}

static TypedValue cast(Types *t, Node *n, TypedValue v)
{
	DType type = n->type;
	Expr *e = v.e;
	if (is_number(v)) {
		Number x = number_cast(type, number_of(e));
		return typed(x.is_float ? expr_float(t->arena, type, x.f)
					: expr_int(t->arena, type, x.i),
		    false);
	}
	if (e->type == UNTYPED_FLOAT && !dtype_is_float(type))
		e = retype(t, e, DT_F32);
	else if (untyped(e))
		e = retype(t, e, type);
	return e ? typed(expr_cast(t->arena, type, e), v.data) : bad;
}

static bool is_condition(Types *t, const Node *n, TypedValue v)
{
	if (v.e && v.e->type != DT_BOOL) {
		report_error(t->report, n->span,
		    "'%s' is %s where a condition (bool) is needed",
		    quote(t, n->span), type_name(v.e->type));
		return false;
	}
	return v.e;
}

/* Under a condition over params one arm is left; of numbers it is a number. */
static TypedValue join_arms(Types *t, Node *n, TypedValue *v)
{
	DType type;
	Expr *args[2];
	Interval a = v[1].range, b = v[2].range;
	if (!agree(t, n, v + 1, 2, false, args, &type))
		return bad;
	if (v[0].e->op == OP_INT) {
		TypedValue *taken = &v[v[0].e->i ? 1 : 2];
		if (type == UNTYPED_FLOAT && is_number(*taken))
			return value_of_number(t, (Number){.is_float = true,
			    .f = number_double(number_of(taken->e))});
		taken->e = args[v[0].e->i ? 0 : 1];
		return *taken;
	}
	return (TypedValue){expr_if(t->arena, v[0].e, args[0], args[1]),
	    interval_hull(a, b), any_data(v, 3)};
}

/* --- reads ------------------------------------------------------------------- */

static long long shown(Wide x)
{
	return (long long)wide_max(INT64_MIN, wide_min(INT64_MAX, x));
}

/* A condition on data is about what is read alone. */
static bool is_read(const Expr *index)
{
	return index->op == OP_CAST && index->arg[0]->op == OP_READ;
}

/* What of a range is outside of 0 .. extent-1, and what would prove it. */
static void refuse_range(Types *t, const Node *n, const Expr *index,
    const Buffer *buffer, int64_t extent, Interval r)
{
	const char *text = quote(t, n->span);
	long long lo = shown(r.lo), hi = shown(r.hi), end = extent;
	if (r.hi >= extent)
		report_error(t->report, n->span,
		    "index '%s' of '%s' reaches %lld, past its extent %lld",
		    text, buffer->name, hi, end);
	else
		report_error(t->report, n->span,
		    "index '%s' of '%s' reaches %lld, below 0", text,
		    buffer->name, lo);
	if (expr_has_data(index) && !is_read(index))
		report_note(t->report, n->span,
		    "its range is %lld to %lld; 'clamp(%s, 0, %lld)' would be "
		    "proven",
		    lo, hi, text, end - 1);
	else if (r.lo >= 0)
		report_note(t->report, n->span,
		    "its range is %lld to %lld; the condition '%s < %lld' "
		    "would prove the read", lo, hi, text, end);
	else if (r.hi < extent)
		report_note(t->report, n->span,
		    "its range is %lld to %lld; the condition '%s >= 0' would "
		    "prove the read", lo, hi, text);
	else
		report_note(t->report, n->span,
		    "its range is %lld to %lld; the condition '0 <= %s < %lld' "
		    "would prove the read", lo, hi, text, end);
}

/* An index that is allowed and in bounds; false after a message. */
static bool index_fine(
    Types *t, const Node *n, TypedValue v, const Buffer *buffer, int64_t extent)
{
	const Interval inside = {0, extent - 1};
	Interval r;
	const char *why = NULL;
	if (v.data)
		why = "depends on a reduction: make it a definition, and read "
		      "that";
	else if (v.e->type == UNTYPED_FLOAT)
		why = "is a float";
	else if (v.e->type != DT_INDEX)
		why = "has a dtype: an index is made of axes, params and "
		      "integer data alone";
	if (why ||
	    !bounds_range(t->typer->bounds, v.e, &inside, &r, &why)) {
		report_error(t->report, n->span, "index '%s' of '%s' %s",
		    quote(t, n->span), buffer->name, why);
		return false;
	}
	if (r.lo > r.hi || (r.lo >= 0 && r.hi < extent))
		return true;
	refuse_range(t, n, v.e, buffer, extent, r);
	return false;
}

static const Buffer *buffer_of(const Types *t, const Node *n, int *number)
{
	const Typer *typer = t->typer;
	if (!n->symbol || n->symbol->bad || n->symbol->kind == SYMBOL_PARAM)
		return NULL;
	int place = n->symbol->index;
	if (n->symbol->kind == SYMBOL_DEFINITION)
		place += typer->spec->inputs.n;
	*number = typer->buffer[place];
	return *number < 0 ? NULL : &typer->program->buffers[*number];
}

/* Data as a term of an index: exact, its range is that of its dtype. */
static TypedValue term(Types *t, const Node *n, Expr *e)
{
	if (!dtype_is_int(e->type)) {
		report_error(t->report, n->span,
		    "'%s' is %s: only integer data may be read in an index",
		    quote(t, n->span), dtype_name(e->type));
		return bad;
	}
	return (TypedValue){
	    expr_cast(t->arena, DT_INDEX, e), dtype_interval(e->type), false};
}

static TypedValue read(Types *t, Node *n, const TypedValue *v)
{
	int number;
	const Buffer *buffer = buffer_of(t, n, &number);
	Expr **args = NEW_N(t->arena, Expr *, n->narg);
	if (!buffer)
		return bad;
	if (n->narg != buffer->ndim) {
		report_error(t->report, n->span,
		    "'%s' has %d indices, but is read with %d", buffer->name,
		    buffer->ndim, n->narg);
		return bad;
	}
	for (int i = 0; i < n->narg; i++) {
		args[i] = v[i].e;
		if (args[i] && !index_fine(
				   t, n->arg[i], v[i], buffer, buffer->shape[i]))
			t->failed = true;
	}
	Expr *e = expr_read(t->arena, buffer->type, number, args, n->narg);
	e->span = n->span;
	return t->in_index ? term(t, n, e) : typed(e, true);
}

/* --- trees ------------------------------------------------------------------- */

static TypedValue type(Types *t, Node *n);

/* Does a sum over the axes of n stay within 64 bits? */
static bool sum_fits(const Types *t, const Node *n, Interval r)
{
	for (int i = 0; i < n->axes.n; i++) {
		Wide extent = t->typer->definition->axes[n->axis + i].extent;
		r = (Interval){r.lo * extent, r.hi * extent};
		if (!wide_fits(r.lo) || !wide_fits(r.hi))
			return false;
	}
	return true;
}

/* What holds below the extents of n's axes that vary; NULL: none does. */
static Expr *below_limits(Types *t, const Node *n)
{
	Expr *all = NULL;
	for (int i = 0; i < n->axes.n; i++) {
		int axis = n->axis + i;
		Expr *limit = t->typer->limits[axis];
		if (!limit)
			continue;
		Expr *one = expr_binary(
		    t->arena, OP_LT, expr_axis(t->arena, axis), limit);
		one->span = n->axes.at[i].span;
		all = all ? expr_binary(t->arena, OP_AND, all, one) : one;
	}
	return all;
}

static Expr *identity(Types *t, ReduceOp op, DType type)
{
	if (type != UNTYPED_FLOAT)
		return expr_identity(t->arena, op, type);
	Expr *e = expr_identity(t->arena, op, DT_F64);
	e->type = UNTYPED_FLOAT;
	return e;
}

static TypedValue below(Types *t, const Node *n, Expr *condition, TypedValue v)
{
	ReduceOp op = reduce_picked(n->reduce);
	bool picks = op == REDUCE_MAX || op == REDUCE_MIN;
	/* the least or greatest value is that of a dtype */
	if (v.e->type == DT_INDEX && picks &&
	    !(v.e = retype(t, v.e, default_type(t, false))))
		return bad;
	Expr *other = identity(t, n->reduce, v.e->type);
	other->span = v.e->span;
	v.range.lo = wide_min(v.range.lo, n->reduce == REDUCE_PROD);
	v.range.hi = wide_max(v.range.hi, n->reduce == REDUCE_PROD);
	v.e = expr_if(t->arena, condition, v.e, other);
	v.e->span = n->arg[0]->span;
	return v;
}

/* The element, or the identity where the axes are past their extents. */
static TypedValue element_of(Types *t, Node *n)
{
	Bounds *bounds = t->typer->bounds;
	int mark = bounds_mark(bounds);
	Expr *condition = below_limits(t, n);
	if (!condition)
		return type(t, n->arg[0]);
	bounds_assume(bounds, condition, true);
	TypedValue v = type(t, n->arg[0]);
	bounds_forget(bounds, mark);
	return v.e ? below(t, n, condition, v) : bad;
}

/* The element of argmax and argmin, typed; NULL after a message. */
static Expr *place_element(Types *t, const Node *n, TypedValue v)
{
	const Axis *axis = &t->typer->definition->axes[n->axis];
	if (n->axes.n != 1) {
		report_error(t->report, n->span, "'%s' is over one axis, not %d",
		    reduce_name(n->reduce), n->axes.n);
		return NULL;
	}
	if (axis->extent > INT32_MAX) {
		report_error(t->report, n->span,
		    "'%s' gives an i32, but '%s' reaches %lld",
		    reduce_name(n->reduce), axis->name,
		    (long long)axis->extent - 1);
		return NULL;
	}
	if (!untyped(v.e))
		return v.e;
	return retype(t, v.e, v.e->type == UNTYPED_FLOAT ? DT_F32
		: v.data ? DT_I32 : DT_I64);
}

static TypedValue reduce(Types *t, Node *n)
{
	TypedValue v = element_of(t, n);
	Expr *element = v.e;
	if (!element)
		return bad;
	if (n->reduce == REDUCE_SUM || n->reduce == REDUCE_PROD) {
		if (refuse_bool(t, n, element->type))
			return bad;
		if (!untyped(element))
			element = coerce(t, v, dtype_promoted(element->type));
	}
	if (element->type == DT_INDEX && !v.data && n->reduce == REDUCE_SUM &&
	    !sum_fits(t, n, v.range))
		return refuse(t, n, "may pass 64 bits");
	bool place = n->reduce != reduce_picked(n->reduce);
	if (place && !(element = place_element(t, n, v)))
		return bad;
	Expr *e = NEW(t->arena, Expr);
	e->op = OP_REDUCE;
	e->type = place ? DT_I32 : element->type;
	e->narg = 1;
	e->arg = arena_memdup(t->arena, &element, sizeof element);
	e->reduce.op = n->reduce;
	e->reduce.first_axis = n->axis;
	e->reduce.naxes = n->axes.n;
	return typed(e, true);
}

static TypedValue name(Types *t, Node *n)
{
	if (!n->symbol && n->axis < 0)
		return bad;
	if (!n->symbol) {
		const Axis *axis = &t->typer->definition->axes[n->axis];
		return (TypedValue){expr_axis(t->arena, n->axis),
		    {0, (Wide)axis->extent - 1}, false};
	}
	if (n->symbol->kind != SYMBOL_PARAM || n->symbol->bad ||
	    !t->typer->param_known[n->symbol->index])
		return bad;
	return value_of_number(t, t->typer->params[n->symbol->index]);
}

static TypedValue logic_operand(Types *t, Node *n, bool is_and)
{
	TypedValue v = type(t, n);
	if (!is_condition(t, n, v))
		return bad;
	bounds_assume(t->typer->bounds, v.e, is_and);
	return v;
}

/* Operands of a chain of one of both: what each says is known in those behind
 * it, and left in force. */
static TypedValue logic_chain(Types *t, Node *n, Op op)
{
	bool is_and = op == OP_AND;
	if (n->kind != NODE_BINARY || n->op != op)
		return logic_operand(t, n, is_and);
	TypedValue a = logic_chain(t, n->arg[0], op);
	TypedValue b = logic_operand(t, n->arg[1], is_and);
	if (!a.e || !b.e)
		return bad;
	if (a.e->op == OP_INT)
		return (a.e->i != 0) == is_and ? b : a;
	Expr *both = expr_binary(t->arena, op, a.e, b.e);
	both->span = n->span;
	return typed(both, a.data || b.data);
}

static TypedValue logic(Types *t, Node *n)
{
	int mark = bounds_mark(t->typer->bounds);
	TypedValue v = logic_chain(t, n, n->op);
	bounds_forget(t->typer->bounds, mark);
	return v;
}

static TypedValue conditional(Types *t, Node *n)
{
	Bounds *bounds = t->typer->bounds;
	int mark = bounds_mark(bounds);
	TypedValue v[3] = {type(t, n->arg[0])};
	bool fine = is_condition(t, n->arg[0], v[0]);
	for (int arm = 1; arm <= 2; arm++) {
		if (fine)
			bounds_assume(bounds, v[0].e, arm == 1);
		v[arm] = type(t, n->arg[arm]);
		bounds_forget(bounds, mark);
	}
	if (!fine || !v[1].e || !v[2].e)
		return bad;
	return join_arms(t, n, v);
}

static TypedValue complement(Types *t, Node *n, TypedValue v)
{
	if (!is_condition(t, n->arg[0], v))
		return bad;
	if (v.e->op == OP_INT)
		return truth_value(t, !v.e->i);
	return typed(expr_unary(t->arena, OP_NOT, v.e), v.data);
}

static TypedValue operation(Types *t, Node *n, TypedValue *v)
{
	switch (n->kind) {
	case NODE_UNARY:
		return n->op == OP_NOT ? complement(t, n, v[0])
				       : negate(t, n, v[0]);
	case NODE_BINARY:
		return op_kind(n->op) == OPKIND_COMPARE ? compare(t, n, v)
							: arithmetic(t, n, v);
	case NODE_CALL:
		return call(t, n, v);
	default:
		assert(n->kind == NODE_CAST);
		return cast(t, n, v[0]);
	}
}

/* All operands are typed, whatever came of the first: each has its messages. */
static TypedValue with_operands(Types *t, Node *n)
{
	TypedValue *v = NEW_N(t->arena, TypedValue, n->narg);
	DType around = t->around;
	bool fine = true, in_index = t->in_index;
	if (n->kind == NODE_CAST)
		t->around = n->type;
	t->in_index |= n->kind == NODE_READ;
	for (int i = 0; i < n->narg; i++) {
		v[i] = type(t, n->arg[i]);
		fine = fine && v[i].e;
	}
	t->around = around;
	t->in_index = in_index;
	if (n->kind == NODE_READ)
		return read(t, n, v);
	return fine ? operation(t, n, v) : bad;
}

static TypedValue type_kind(Types *t, Node *n)
{
	switch (n->kind) {
	case NODE_BAD:
		return bad;
	case NODE_INT:
		return value_of_number(t, (Number){.i = n->i});
	case NODE_FLOAT:
		return value_of_number(
		    t, (Number){.is_float = true, .f = n->f});
	case NODE_NAME:
		return name(t, n);
	case NODE_REDUCE:
		return reduce(t, n);
	case NODE_IF:
		return conditional(t, n);
	case NODE_BINARY:
		if (n->op == OP_AND || n->op == OP_OR)
			return logic(t, n);
		return with_operands(t, n);
	default:
		return with_operands(t, n);
	}
}

static TypedValue type(Types *t, Node *n)
{
	TypedValue v = type_kind(t, n);
	if (!v.e)
		t->failed = true;
	else if (v.e->span.begin == v.e->span.end)
		v.e->span = n->span;
	return v;
}

/* Is something in it no index, nor a condition on such? */
static bool has_values(const Expr *e)
{
	bool found = e->op == OP_READ ||
	    (e->type != DT_INDEX && e->type != DT_BOOL);
	for (int i = 0; i < e->narg && !found; i++)
		found = has_values(e->arg[i]);
	return found;
}

Expr *type_limit(Typer *typer, Node *node, int64_t *greatest)
{
	Types t = {.typer = typer,
	    .arena = typer->arena,
	    .report = typer->report,
	    .around = DT_COUNT};
	TypedValue v = type(&t, node);
	Interval r;
	const char *why;
	*greatest = 1;
	if (!v.e)
		return NULL;
	if (v.e->type != DT_INDEX || has_values(v.e))
		why = v.e->type == UNTYPED_FLOAT ? float_extent(node)
		    : "has a dtype: an extent is made of numbers, params and "
		      "axes alone";
	else if (bounds_range(typer->bounds, v.e, NULL, &r, &why)) {
		const Definition *d = typer->definition;
		Wide most = wide_min(r.hi, v.range.hi);
		*greatest = (int64_t)wide_max(1,
		    line_most(typer->seen, v.e, d->axes, typer->point, most,
			&typer->intervals_left));
		return v.e;
	}
	refuse_number(typer, node, why);
	return NULL;
}

Expr *type_body(Typer *typer, const DefinitionNode *definition)
{
	DType want = definition->declared ? definition->type : DT_COUNT;
	Types t = {.typer = typer,
	    .arena = typer->arena,
	    .report = typer->report,
	    .around = want};
	TypedValue v = type(&t, definition->body);
	Expr *e = v.e;
	if (!e)
		return NULL;
	if (want == DT_COUNT)
		want = e->type == DT_INDEX ? DT_I32
		    : e->type == UNTYPED_FLOAT ? DT_F32 : e->type;
	e = untyped(e) ? retype(&t, e, want)
		       : expr_cast(t.arena, want, e);
	return t.failed ? NULL : e;
}
