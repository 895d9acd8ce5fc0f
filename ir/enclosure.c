/* What an element of a program may be, however it is rounded and in whatever order
 * what it is made of is summed.
 *
 *     z = sum[k < 3](w[k])     w: 1, -1, 2^-30     z in [-7e-7, 7e-7]
 *     y = 1 / z                                    any
 *
 * An interpreter of trees, a tenth as fast as interp.c: it is asked of few
 * elements.  Integers are known or not; where a condition is not, both arms
 * count. */
#include "ir/enclosure.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "ir/computed.h"
#include "ir/scalar.h"

typedef struct {
	bool known; /* of an integer */
	int64_t i;
	Enclosure f; /* of a float */
} EnclosedValue;

typedef struct {
	Arena *arena;
	const Program *program;
	void *const *inputs;
	Computed computed;
	VEC(EnclosedValue) values; /* of those */
	bool (*stop)(void *context);
	void *context;
	int asked, depth;
	bool stopped; /* nothing is computed any more */
} Encloser;

enum {
	STOP_EVERY = 1 << 12, /* steps between two questions */
	DEPTH_MOST = 4000 /* expressions in each other, through what they read;
				 what lies deeper may be anything */
};

static EnclosedValue integer(int64_t i)
{
	return (EnclosedValue){.known = true, .i = i};
}

static EnclosedValue number(Enclosure f)
{
	return (EnclosedValue){.f = f};
}

static EnclosedValue unknown(DType type)
{
	return dtype_is_float(type) ? number(enclosure_any())
				    : (EnclosedValue){0};
}

static EnclosedValue either(DType type, EnclosedValue a, EnclosedValue b)
{
	if (dtype_is_float(type))
		return number(enclosure_either(a.f, b.f));
	return a.known && b.known && a.i == b.i ? a : unknown(type);
}

static EnclosedValue value_at(Encloser *s, int buffer, int64_t at);
static EnclosedValue of_expr(Encloser *s, const Expr *e, const int64_t *axes);

/* --- integers ---------------------------------------------------------------- */

static bool is_less(DType type, int64_t a, int64_t b)
{
	return type == DT_U64 ? (uint64_t)a < (uint64_t)b : a < b;
}

/* `type`: of the operands. */
static int64_t of_integers(Op op, DType type, int64_t a, int64_t b)
{
	uint64_t x = (uint64_t)a, y = (uint64_t)b;
	switch (op) {
	case OP_ADD: return scalar_wrap(type, (int64_t)(x + y));
	case OP_SUB: return scalar_wrap(type, (int64_t)(x - y));
	case OP_MUL: return scalar_wrap(type, (int64_t)(x * y));
	case OP_NEG: return scalar_wrap(type, (int64_t)-x);
	case OP_ABS:
		return a < 0 && !dtype_is_unsigned(type)
		    ? scalar_wrap(type, (int64_t)-x)
		    : a;
	case OP_FLOORDIV:
		return type == DT_U64 ? scalar_floordiv_u64(a, b)
				      : scalar_floordiv(a, b);
	case OP_MOD:
		return type == DT_U64 ? scalar_mod_u64(a, b) : scalar_mod(a, b);
	case OP_MIN: return is_less(type, a, b) ? a : b;
	case OP_MAX: return is_less(type, b, a) ? a : b;
	case OP_LT: return is_less(type, a, b);
	case OP_LE: return !is_less(type, b, a);
	case OP_GT: return is_less(type, b, a);
	case OP_GE: return !is_less(type, a, b);
	case OP_EQ: return a == b;
	case OP_NE: return a != b;
	case OP_NOT: return !a;
	default: return scalar_bits(op, type, a, b);
	}
}

static EnclosedValue of_known(const Expr *e, DType type, EnclosedValue a,
    EnclosedValue b, EnclosedValue c)
{
	if (!a.known || !b.known || !c.known)
		return unknown(e->type);
	if (e->op == OP_CLAMP)
		return integer(of_integers(
		    OP_MIN, type, of_integers(OP_MAX, type, a.i, b.i), c.i));
	return integer(of_integers(e->op, type, a.i, b.i));
}

/* --- expressions ------------------------------------------------------------- */

static EnclosedValue of_bools(bool yes, bool no)
{
	return yes != no ? integer(yes) : unknown(DT_BOOL);
}

static EnclosedValue to_integer(DType type, Enclosure a)
{
	int64_t low = scalar_from_float(type, a.low);
	if (a.nan || low != scalar_from_float(type, a.high))
		return enclosure_is_point(a)
		    ? integer(scalar_from_float(type, NAN))
		    : unknown(type);
	if (type == DT_BOOL && a.low != a.high && enclosure_has(a, 0))
		return unknown(type);
	return integer(low);
}

static EnclosedValue converted(
    Encloser *s, DType to, DType from, EnclosedValue a)
{
	bool is_float = dtype_is_float(from);
	if (to == from)
		return a;
	if (!is_float && !a.known)
		return unknown(to);
	if (!dtype_is_float(to) && is_float)
		return to_integer(to, a.f);
	if (!dtype_is_float(to))
		return integer(to == DT_INDEX && from == DT_U64 && a.i < 0
			? INT64_MAX
			: scalar_wrap(to, a.i));
	if (!is_float)
		a.f = enclosure_of(scalar_int_f64(from, a.i));
	return number(enclosure_rounded(a.f, rounding_of(s->program, to)));
}

static EnclosedValue of_read(Encloser *s, const Expr *e, const int64_t *axes)
{
	const Buffer *b = &s->program->buffers[e->id];
	int64_t at = 0;
	for (int d = 0; d < b->ndim; d++) {
		EnclosedValue index = of_expr(s, e->arg[d], axes);
		if (!index.known || index.i < 0 || index.i >= b->shape[d])
			return unknown(b->type);
		at = at * b->shape[d] + index.i;
	}
	return value_at(s, e->id, at);
}

static EnclosedValue of_if(Encloser *s, const Expr *e, const int64_t *axes)
{
	EnclosedValue condition = of_expr(s, e->arg[0], axes);
	if (condition.known)
		return of_expr(s, e->arg[condition.i ? 1 : 2], axes);
	return either(
	    e->type, of_expr(s, e->arg[1], axes), of_expr(s, e->arg[2], axes));
}

/* A read may be in bounds only where the first condition lets it. */
static EnclosedValue of_logic(Encloser *s, const Expr *e, const int64_t *axes)
{
	bool decides = e->op == OP_OR;
	EnclosedValue a = of_expr(s, e->arg[0], axes);
	if (a.known && (a.i != 0) == decides)
		return a;
	EnclosedValue b = of_expr(s, e->arg[1], axes);
	if (a.known || (b.known && (b.i != 0) == decides))
		return b;
	return unknown(DT_BOOL);
}

static EnclosedValue of_operation(
    Encloser *s, const Expr *e, const int64_t *axes)
{
	const Expr *first = expr_divides_u64(e);
	first = first ? first : e->arg[0];
	EnclosedValue v[3] = {{0}};
	v[0] = v[1] = v[2] = of_expr(s, first, axes);
	for (int i = 1; i < e->narg; i++)
		v[i] = of_expr(s, e->arg[i], axes);
	if (!dtype_is_float(first->type))
		return of_known(e, first->type, v[0], v[1], v[2]);
	if (op_kind(e->op) != OPKIND_COMPARE)
		return number(enclosure_op(e->op, v[0].f, v[1].f, v[2].f,
		    rounding_of(s->program, e->type)));
	bool yes, no;
	enclosure_compare(e->op, v[0].f, v[1].f, &yes, &no);
	return of_bools(yes, no);
}

static EnclosedValue of_node(Encloser *s, const Expr *e, const int64_t *axes)
{
	switch (e->op) {
	case OP_INT: return integer(e->i);
	case OP_FLOAT: return number(enclosure_of(e->f));
	case OP_AXIS: return integer(axes[e->id]);
	case OP_READ: return of_read(s, e, axes);
	case OP_CAST:
		return converted(
		    s, e->type, e->arg[0]->type, of_expr(s, e->arg[0], axes));
	case OP_IF: return of_if(s, e, axes);
	case OP_AND:
	case OP_OR: return of_logic(s, e, axes);
	default: return of_operation(s, e, axes);
	}
}

static EnclosedValue of_expr(Encloser *s, const Expr *e, const int64_t *axes)
{
	if (s->depth == DEPTH_MOST)
		return unknown(e->type);
	s->depth++;
	EnclosedValue value = of_node(s, e, axes);
	s->depth--;
	return value;
}

/* --- reductions -------------------------------------------------------------- */

/* Of a sum: what rounding adds follows from the terms' sizes, whatever the order;
 * none where all partial sums are small multiples of 1/4. */
typedef struct {
	EnclosedValue value;
	double size, terms;
	bool exact;
} EnclosedReduction;

static bool is_multiple(Enclosure a)
{
	return !a.nan && a.low == a.high && 4 * a.low == rint(4 * a.low);
}

static void reduce_step(
    Encloser *s, const Block *b, const int64_t *axes, EnclosedReduction *r)
{
	static const Op ops[] = {[REDUCE_SUM] = OP_ADD,
	    [REDUCE_PROD] = OP_MUL,
	    [REDUCE_MAX] = OP_MAX,
	    [REDUCE_MIN] = OP_MIN};
	DType type = b->body->type;
	Rounding rounding = rounding_of(s->program, type);
	EnclosedValue x = of_expr(s, b->body, axes), *all = &r->value;
	if (!dtype_is_float(type)) {
		all->known &= x.known;
		all->i = all->known
		    ? of_integers(ops[b->reduce], type, all->i, x.i)
		    : 0;
		return;
	}
	if (!enclosure_is_point(x.f) || isfinite(x.f.low))
		r->size += enclosure_size(x.f);
	r->terms++;
	r->exact &= is_multiple(x.f);
	if (b->reduce == REDUCE_SUM)
		rounding = (Rounding){DT_F64, 0};
	/* a NaN is no extreme */
	all->f = enclosure_op(ops[b->reduce], x.f, all->f, x.f, rounding);
}

static void reduce_from(
    Encloser *s, const Block *b, int axis, int64_t *axes, EnclosedReduction *r)
{
	if (axis == b->naxes) {
		if (++s->asked % STOP_EVERY == 0)
			s->stopped = s->stopped || s->stop(s->context);
		reduce_step(s, b, axes, r);
		return;
	}
	for (axes[axis] = 0; axes[axis] < b->axes[axis].extent && !s->stopped;
	     axes[axis]++)
		reduce_from(s, b, axis + 1, axes, r);
}

static EnclosedValue of_reduction(Encloser *s, const Block *b, int64_t *axes)
{
	DType type = b->body->type;
	const Expr *identity = expr_identity(s->arena, b->reduce, type);
	EnclosedReduction r = {
	    .value = of_expr(s, identity, axes), .exact = true};
	reduce_from(s, b, b->nspatial, axes, &r);
	Rounding rounding = rounding_of(s->program, type);
	if (!dtype_is_float(type) || b->reduce != REDUCE_SUM ||
	    (r.exact && r.size * rounding.share < 1))
		return r.value;
	return number(enclosure_summed(r.value.f, r.size, r.terms, rounding));
}

/* --- elements ---------------------------------------------------------------- */

static EnclosedValue of_input(const Encloser *s, int buffer, int64_t at)
{
	DType type = s->program->buffers[buffer].type;
	if (dtype_is_float(type))
		return number(
		    enclosure_of(scalar_element(type, s->inputs[buffer], at)));
	return integer(scalar_load(type, s->inputs[buffer], at).i);
}

static EnclosedValue of_block(Encloser *s, const Block *b, int64_t at)
{
	int64_t *axes = must_alloc(sizeof *axes * ((size_t)b->naxes + 1));
	for (int i = b->nspatial - 1; i >= 0; i--) {
		axes[i] = at % b->axes[i].extent;
		at /= b->axes[i].extent;
	}
	EnclosedValue v = b->reduce == REDUCE_NONE ? of_expr(s, b->body, axes)
						   : of_reduction(s, b, axes);
	free(axes);
	return converted(
	    s, s->program->buffers[b->buffer].type, b->body->type, v);
}

static EnclosedValue value_at(Encloser *s, int buffer, int64_t at)
{
	if (buffer < s->program->ninputs)
		return of_input(s, buffer, at);
	int number = computed_find(&s->computed, buffer, at);
	if (number >= 0)
		return s->values.at[number];
	if (++s->asked % STOP_EVERY == 0)
		s->stopped = s->stopped || s->stop(s->context);
	if (s->stopped)
		return unknown(s->program->buffers[buffer].type);
	const Block *b = &s->program->blocks[s->program->buffers[buffer].block];
	EnclosedValue value = of_block(s, b, at);
	computed_add(&s->computed, buffer, at);
	vec_push(s->arena, &s->values, value);
	return value;
}

bool enclosure_point(const Program *program, void *const *inputs, int buffer,
    int64_t at, Enclosure *out, bool (*stop)(void *context), void *context)
{
	Encloser s = {.arena = arena_new(),
	    .program = program,
	    .inputs = inputs,
	    .stop = stop,
	    .context = context};
	DType type = program->buffers[buffer].type;
	EnclosedValue v = value_at(&s, buffer, at);
	*out = dtype_is_float(type) ? v.f
	    : v.known		    ? enclosure_of(scalar_int_f64(type, v.i))
				    : enclosure_any();
	computed_free(&s.computed);
	arena_free(s.arena);
	return !s.stopped;
}
