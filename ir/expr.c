/* Construction and traversal of typed expressions. */
#include "ir/expr.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "lib/hash.h"

static Expr *node(Arena *arena, Op op, DType type)
{
	Expr *e = NEW(arena, Expr);
	e->op = op;
	e->type = type;
	return e;
}

static Expr *node_n(
    Arena *arena, Op op, DType type, Expr *const *args, int nargs)
{
	Expr *e = node(arena, op, type);
	e->narg = nargs;
	e->arg = arena_memdup(
	    arena, args, sizeof(Expr *) * (size_t)nargs);
	return e;
}

Expr *expr_int(Arena *arena, DType type, int64_t value)
{
	assert(!dtype_is_float(type));
	Expr *e = node(arena, OP_INT, type);
	e->i = value;
	return e;
}

static double rounded(DType type, double value)
{
	switch (type) {
	case DT_F32: return (double)(float)value;
	case DT_F16: return (double)f16_to_f32(f16_from_f64(value));
	case DT_BF16: return (double)bf16_to_f32(bf16_from_f64(value));
	default: return value;
	}
}

Expr *expr_float(Arena *arena, DType type, double value)
{
	assert(dtype_is_float(type));
	Expr *e = node(arena, OP_FLOAT, type);
	e->f = rounded(type, value);
	return e;
}

static Expr *numbered(Arena *arena, Op op, int id)
{
	Expr *e = node(arena, op, DT_INDEX);
	e->id = id;
	return e;
}

Expr *expr_axis(Arena *arena, int axis)
{
	return numbered(arena, OP_AXIS, axis);
}

Expr *expr_var(Arena *arena, int var)
{
	return numbered(arena, OP_VAR, var);
}

Expr *expr_tape(Arena *arena, int handle)
{
	return numbered(arena, OP_TAPE, handle);
}

Expr *expr_read(
    Arena *arena, DType type, int buffer, Expr **index, int nindex)
{
	Expr *e = node_n(arena, OP_READ, type, index, nindex);
	e->id = buffer;
	return e;
}

Expr *expr_cast(Arena *arena, DType type, Expr *a)
{
	return a->type == type ? a : node_n(arena, OP_CAST, type, &a, 1);
}

Expr *expr_unary(Arena *arena, Op op, Expr *a)
{
	return node_n(arena, op, a->type, &a, 1);
}

static bool gives_bool(Op op)
{
	OpKind kind = op_kind(op);
	return kind == OPKIND_COMPARE || kind == OPKIND_AND ||
	    kind == OPKIND_OR;
}

Expr *expr_binary(Arena *arena, Op op, Expr *a, Expr *b)
{
	assert(a->type == b->type);
	return node_n(arena, op, gives_bool(op) ? DT_BOOL : a->type,
	    (Expr *[]){a, b}, 2);
}

Expr *expr_if(Arena *arena, Expr *condition, Expr *yes, Expr *no)
{
	assert(condition->type == DT_BOOL && yes->type == no->type);
	return node_n(
	    arena, OP_IF, yes->type, (Expr *[]){condition, yes, no}, 3);
}

Expr *expr_call(Arena *arena, Op op, DType type, Expr **args, int nargs)
{
	return node_n(arena, op, type, args, nargs);
}

static bool leaf_equal(const Expr *a, const Expr *b)
{
	switch (a->op) {
	case OP_INT: return a->i == b->i;
	case OP_FLOAT: return !memcmp(&a->f, &b->f, sizeof a->f);
	case OP_REDUCE:
		return a->reduce.op == b->reduce.op &&
		    a->reduce.first_axis == b->reduce.first_axis &&
		    a->reduce.naxes == b->reduce.naxes;
	default: return a->id == b->id;
	}
}

bool expr_equal(const Expr *a, const Expr *b)
{
	if (a == b)
		return true;
	if (a->op != b->op || a->type != b->type || a->narg != b->narg ||
	    !leaf_equal(a, b))
		return false;
	for (int i = 0; i < a->narg; i++)
		if (!expr_equal(a->arg[i], b->arg[i]))
			return false;
	return true;
}

uint64_t expr_node_hash(const Expr *e)
{
	uint64_t bits = (uint64_t)e->id;
	if (e->op == OP_INT)
		bits = (uint64_t)e->i;
	else if (e->op == OP_FLOAT)
		memcpy(&bits, &e->f, sizeof bits);
	else if (e->op == OP_REDUCE)
		bits = ((uint64_t)e->reduce.op << 56) +
		    ((uint64_t)e->reduce.first_axis << 24) +
		    (uint64_t)e->reduce.naxes;
	return hash_mix(bits +
	    hash_mix(((uint64_t)e->op << 40) + ((uint64_t)e->type << 32) +
		(uint64_t)e->narg));
}

uint64_t expr_hash(const Expr *e)
{
	uint64_t hash = expr_node_hash(e);
	for (int i = 0; i < e->narg; i++)
		hash = hash_mix(hash + expr_hash(e->arg[i]));
	return hash;
}

bool expr_is_zero(const Expr *e)
{
	return e->op == OP_FLOAT ? e->f == 0 : e->op == OP_INT && e->i == 0;
}

Wide expr_int_value(const Expr *e)
{
	return e->type == DT_U64 ? (Wide)(uint64_t)e->i : e->i;
}

Expr *expr_divides_u64(const Expr *e)
{
	bool divides = e->type == DT_INDEX &&
	    (e->op == OP_FLOORDIV || e->op == OP_MOD);
	return divides && e->arg[0]->op == OP_CAST &&
		e->arg[0]->arg[0]->type == DT_U64
	    ? e->arg[0]->arg[0]
	    : NULL;
}

bool expr_has_data(const Expr *e)
{
	if (e->op == OP_READ || (e->op == OP_CAST && e->type == DT_INDEX))
		return true;
	for (int i = 0; i < e->narg; i++)
		if (expr_has_data(e->arg[i]))
			return true;
	return false;
}

bool expr_has_axes(const Expr *e)
{
	bool found = e->op == OP_AXIS;
	for (int i = 0; i < e->narg && !found; i++)
		found = expr_has_axes(e->arg[i]);
	return found;
}

bool expr_has_axis(const Expr *e, int axis)
{
	bool found = e->op == OP_AXIS && e->id == axis;
	for (int i = 0; i < e->narg && !found; i++)
		found = expr_has_axis(e->arg[i], axis);
	return found;
}

int expr_choices(const Expr *e, int from, int to)
{
	const Expr *by = e->op == OP_IF ? e->arg[0] : e;
	int n = 0;
	for (int a = from; a <= to; a++)
		n += (e->op == OP_IF || e->op == OP_MOD) &&
		    expr_has_axis(by, a);
	for (int i = 0; i < e->narg; i++)
		n += expr_choices(e->arg[i], from, to);
	return n;
}

bool expr_has_function(const Expr *e)
{
	bool found = op_kind(e->op) == OPKIND_FUNCTION;
	for (int i = 0; i < e->narg && !found; i++)
		found = expr_has_function(e->arg[i]);
	return found;
}

/* Each multiplication, division and root rounds once, by half of an ulp of its own; a
 * root halves the error of what it is of, a power multiplies it.  What comes to 1.5
 * here is within 2 ulp of the result, each mantissa of f32 tried: 1.97 at most. */
bool power_steps(double exponent, PowerSteps *steps)
{
	static const double of_whole[] = {0, 0, 0.5, 1, 1.5};
	static const double of_quarters[] = {0, 0.75, 0.5, 1.75};
	enum { WHOLE_MOST = 4 };
	double size = fabs(exponent);
	if (!(size > 0 && size <= WHOLE_MOST) || 4 * size != floor(4 * size))
		return false;
	int whole = (int)size, quarters = (int)(4 * size) % 4;
	bool inverse = exponent < 0;
	*steps = (PowerSteps){whole, quarters, inverse};
	double error = of_whole[whole] + of_quarters[quarters];
	if (quarters)
		error += 0.5 * ((whole > 0) + inverse);
	else if (inverse)
		error += 0.5 * whole;
	return error <= 1.5;
}

void expr_mark_axes(const Expr *e, bool *axes)
{
	if (e->op == OP_AXIS)
		axes[e->id] = true;
	for (int i = 0; i < e->narg; i++)
		expr_mark_axes(e->arg[i], axes);
}

const Expr *expr_find_read(const Expr *e, int buffer)
{
	const Expr *found = NULL;
	if (e->op == OP_READ && e->id == buffer)
		return e;
	for (int i = 0; !found && i < e->narg; i++)
		found = expr_find_read(e->arg[i], buffer);
	return found;
}

ReduceOp reduce_picked(ReduceOp op)
{
	return op == REDUCE_ARGMAX ? REDUCE_MAX
	    : op == REDUCE_ARGMIN ? REDUCE_MIN : op;
}

Expr *expr_identity(Arena *arena, ReduceOp op, DType type)
{
	assert(op != REDUCE_NONE);
	op = reduce_picked(op);
	if (dtype_is_float(type)) {
		static const double identity[] = {[REDUCE_SUM] = 0,
		    [REDUCE_PROD] = 1, [REDUCE_MAX] = -INFINITY,
		    [REDUCE_MIN] = INFINITY};
		return expr_float(arena, type, identity[op]);
	}
	Interval all = dtype_interval(type);
	switch (op) {
	case REDUCE_PROD: return expr_int(arena, type, 1);
	case REDUCE_MAX: return expr_int(arena, type, (int64_t)all.lo);
	case REDUCE_MIN: return expr_int(arena, type, (int64_t)all.hi);
	default: return expr_int(arena, type, 0);
	}
}

Expr *expr_rewrite(Arena *arena, Expr *e,
    Expr *(*visit)(Arena *arena, Expr *e, void *context), void *context)
{
	Expr *copy = NULL;
	for (int i = 0; i < e->narg; i++) {
		Expr *arg = expr_rewrite(arena, e->arg[i], visit, context);
		if (arg == e->arg[i])
			continue;
		if (!copy) {
			copy = arena_memdup(arena, e, sizeof *e);
			copy->arg = arena_memdup(arena, e->arg,
			    sizeof(Expr *) * (size_t)e->narg);
		}
		copy->arg[i] = arg;
	}
	return visit(arena, copy ? copy : e, context);
}

typedef struct {
	Expr *const *values;
	int n;
} Substitution;

static Expr *substitute(Arena *arena, Expr *e, void *context)
{
	const Substitution *s = context;
	(void)arena;
	if (e->op == OP_AXIS && e->id < s->n && s->values[e->id] &&
	    !expr_equal(e, s->values[e->id]))
		return s->values[e->id];
	return e;
}

Expr *expr_substitute_axes(Arena *arena, Expr *e, Expr *const *values, int n)
{
	return expr_rewrite(
	    arena, e, substitute, &(Substitution){values, n});
}

/* What is left of `most` after the tree; negative if it has more. */
static int64_t left_after(const Expr *e, int64_t most)
{
	most--;
	for (int i = 0; i < e->narg && most >= 0; i++)
		most = left_after(e->arg[i], most);
	return most;
}

bool expr_size_within(const Expr *e, int64_t most)
{
	return left_after(e, most) >= 0;
}

int64_t expr_nodes(const Expr *e)
{
	int64_t n = 1;
	for (int i = 0; i < e->narg; i++)
		n += expr_nodes(e->arg[i]);
	return n;
}

void expr_walk(
    Expr *e, bool (*visit)(Expr *e, void *context), void *context)
{
	if (!visit(e, context))
		return;
	for (int i = 0; i < e->narg; i++)
		expr_walk(e->arg[i], visit, context);
}
