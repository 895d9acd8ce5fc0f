/* When does a step of a reduction change nothing?
 *
 *     p[x] = if 1 <= x and x < 8 then d[x - 1] else 0
 *     c[y] += p[y + r] * w[r]          changes c where 1 <= y + r and y + r < 8
 *
 * A step with the reduction's identity is none.  A sum's element is 0 where a
 * factor is the literal 0 of an `if`'s arm, there or in a stage that it reads
 * (docs/language.md, Numerics; of floats not under --numerics=exact).  What
 * follows is a list of conditions over the stage's axes that all hold where a
 * step counts: lowering leaves out the others, cost does not count them.
 *
 *     s[i, j] = if j <= i then ... else -inf      z[i] += exp(s[i, j] - m[i])
 *
 * Likewise 0 divided by anything, and exp of -inf less anything, are 0.
 *
 * The conditions of a stage's own body come in an order in which each may be
 * evaluated where those before it hold; those of what it reads are on axes
 * alone, and may be evaluated anywhere. */
#include "ir/nest/nest.h"

#include <assert.h>

enum { DEPTH_MAX = 8 }; /* stages that read stages that … */

typedef struct {
	const Nest *nest;
	Arena *arena;
	ReduceOp op;
	bool reads; /* into the stages that are read */
	bool exponent; /* -inf is looked for, of which exp is taken */
	int depth;
} StepPredicate;

/* Where an expression may differ from the identity. */
typedef struct {
	bool never;
	ExprSet all; /* of these */
} Where;

static bool is_identity(const StepPredicate *z, const Expr *e)
{
	if (e->op == OP_CAST && z->op == REDUCE_SUM &&
	    e->arg[0]->type != DT_INDEX)
		return is_identity(z, e->arg[0]);
	if (e->op == OP_FLOAT && z->op == REDUCE_SUM)
		return e->f == 0;
	return expr_equal(e, expr_identity(z->arena, z->op, e->type));
}

static bool finds_read(Expr *e, void *found)
{
	*(bool *)found |= e->op == OP_READ;
	return !*(bool *)found;
}

/* On axes alone: can be evaluated anywhere. */
static bool is_on_axes(const Expr *e)
{
	bool reads = false;
	expr_walk((Expr *)(uintptr_t)e, finds_read, &reads);
	return !reads;
}

static void add_one(const StepPredicate *z, Where *w, Expr *e)
{
	expr_set_add(z->arena, &w->all, e);
}

static bool is_number(const Expr *e, int64_t *value)
{
	*value = e->i;
	return e->op == OP_INT;
}

/* e // c >= k is e >= c*k, e // c < k is e < c*k: without the quotient it is a
 * limit of e.  `holds` false: the opposite. */
static Expr *without_quotient(const StepPredicate *z, Expr *e, bool holds)
{
	static const Op swapped[OP_COUNT] = {[OP_LT] = OP_GT, [OP_LE] = OP_GE,
	    [OP_GT] = OP_LT, [OP_GE] = OP_LE};
	int64_t c, k, product;
	Expr *none = holds ? e : expr_unary(z->arena, OP_NOT, e);
	if (!swapped[e->op])
		return none;
	bool left = e->arg[0]->op == OP_FLOORDIV;
	const Expr *q = e->arg[left ? 0 : 1], *number = e->arg[left ? 1 : 0];
	Op op = left ? e->op : swapped[e->op];
	if (q->op != OP_FLOORDIV || q->type != DT_INDEX ||
	    !is_number(number, &k) || !is_number(q->arg[1], &c))
		return none;
	if (op == OP_LE || op == OP_GT) /* q < k + 1, q >= k + 1 */
		k++;
	bool below = (op == OP_LT || op == OP_LE) == holds;
	if (__builtin_mul_overflow(c, k, &product))
		return none;
	return without_quotient(z,
	    expr_binary(z->arena, below ? OP_LT : OP_GE, q->arg[0],
		expr_int(z->arena, DT_INDEX, product)),
	    true);
}

/* The parts of a condition that holds, or that does not. */
static void add_condition(const StepPredicate *z, Where *w, Expr *e, bool holds)
{
	if (e->op == OP_NOT) {
		add_condition(z, w, e->arg[0], !holds);
	} else if (e->op == (holds ? OP_AND : OP_OR)) {
		add_condition(z, w, e->arg[0], holds);
		add_condition(z, w, e->arg[1], holds);
	} else if (is_on_axes(e) || !z->reads) {
		add_one(z, w, without_quotient(z, e, holds));
	}
}

static Where both(const StepPredicate *z, Where a, const Where *b)
{
	a.never |= b->never;
	for (int i = 0; i < b->all.all.n; i++)
		add_one(z, &a, b->all.all.at[i]);
	return a;
}

static Where either(const StepPredicate *z, const Where *a, const Where *b)
{
	Where w = {.never = a->never && b->never};
	if (a->never || b->never)
		return a->never ? *b : *a;
	for (int i = 0; i < a->all.all.n; i++) {
		Expr *e = a->all.all.at[i];
		if (is_on_axes(e) && expr_set_find(&b->all, e) >= 0)
			add_one(z, &w, e);
	}
	return w;
}

static Where where(const StepPredicate *z, const Expr *e);

/* What a stage that is read says of its own axes, of those that are read. */
static Where where_read(const StepPredicate *z, const Expr *read)
{
	Where w = {0};
	int writer = z->nest->buffers.at[read->id].writer;
	if (writer < 0 || !z->reads || z->depth == DEPTH_MAX)
		return w;
	const Stage *s = &z->nest->stages.at[writer];
	if (s->reduce != REDUCE_NONE || s->nwrite != read->narg ||
	    (s->fill && !is_identity(z, s->fill)) ||
	    (z->op != REDUCE_SUM && s->body->type != read->type))
		return w;
	Expr **values = NEW_N(z->arena, Expr *, s->naxes);
	for (int i = 0; i < s->nwrite; i++) {
		if (s->write[i]->op != OP_AXIS || values[s->write[i]->id])
			return w;
		values[s->write[i]->id] = read->arg[i];
	}
	StepPredicate below = *z;
	below.depth++;
	Where there = where(&below, s->body);
	w.never = there.never;
	for (int i = 0; i < there.all.all.n; i++) {
		Expr *e = expr_substitute_axes(
		    z->arena, there.all.all.at[i], values, s->naxes);
		if (is_on_axes(e))
			add_one(z, &w, e);
	}
	return w;
}

/* One whose factors may be 0 whatever the others are. */
static bool is_product(const StepPredicate *z, const Expr *e)
{
	return z->op == REDUCE_SUM && e->op == OP_MUL &&
	    (dtype_is_int(e->type) ||
		z->nest->program->numerics != NUMERICS_EXACT);
}

/* One whose first operand may be 0 whatever the second is. */
static bool is_quotient(const StepPredicate *z, const Expr *e)
{
	return z->op == REDUCE_SUM && e->op == OP_DIV &&
	    dtype_is_float(e->type) &&
	    z->nest->program->numerics != NUMERICS_EXACT;
}

/* Where an exponent may be more than -inf. */
static Where where_exponent(const StepPredicate *z, const Expr *e)
{
	StepPredicate exponent = *z;
	if (z->op != REDUCE_SUM || !dtype_is_float(e->type) ||
	    z->nest->program->numerics == NUMERICS_EXACT)
		return (Where){0};
	exponent.op = REDUCE_MAX;
	exponent.exponent = true;
	return where(&exponent, e);
}

/* -inf less anything, and times a positive number. */
static Where where_in_exponent(const StepPredicate *z, const Expr *e)
{
	if (e->op == OP_ADD) {
		Where b = where(z, e->arg[1]);
		return both(z, where(z, e->arg[0]), &b);
	}
	if (e->op == OP_SUB)
		return where(z, e->arg[0]);
	for (int i = 0; e->op == OP_MUL && i < 2; i++)
		if (e->arg[i]->op == OP_FLOAT && e->arg[i]->f > 0)
			return where(z, e->arg[1 - i]);
	return (Where){0};
}

static Where where_if(const StepPredicate *z, const Expr *e)
{
	Where yes = where(z, e->arg[1]), no = where(z, e->arg[2]);
	if (yes.never == no.never)
		return either(z, &yes, &no);
	Where w = {0};
	add_condition(z, &w, e->arg[0], no.never);
	return both(z, w, no.never ? &yes : &no);
}

/* A float that is 0 everywhere is no arm's: infinity times it is NaN. */
static Where where_factor(const StepPredicate *z, const Expr *e)
{
	Where w = where(z, e);
	return w.never && dtype_is_float(e->type) ? (Where){0} : w;
}

static Where where(const StepPredicate *z, const Expr *e)
{
	bool sum = z->op == REDUCE_SUM;
	if (is_identity(z, e))
		return (Where){.never = true};
	if (e->op == OP_IF)
		return where_if(z, e);
	if (e->op == OP_READ)
		return where_read(z, e);
	if (sum && (e->op == OP_NEG || e->op == OP_ABS ||
		(e->op == OP_CAST && e->arg[0]->type != DT_INDEX)))
		return where(z, e->arg[0]);
	if (sum && (e->op == OP_ADD || e->op == OP_SUB)) {
		Where a = where(z, e->arg[0]);
		if (!a.never && !a.all.all.n)
			return a;
		Where b = where(z, e->arg[1]);
		return either(z, &a, &b);
	}
	if (is_product(z, e)) {
		Where b = where_factor(z, e->arg[1]);
		return both(z, where_factor(z, e->arg[0]), &b);
	}
	if (is_quotient(z, e))
		return where_factor(z, e->arg[0]);
	if (e->op == OP_EXP)
		return where_exponent(z, e->arg[0]);
	return z->exponent ? where_in_exponent(z, e) : (Where){0};
}

static ExprVec conditions_of(const StepPredicate *z, const Expr *body)
{
	Where w = where(z, body);
	if (w.never)
		add_one(z, &w, expr_int(z->arena, DT_BOOL, 0));
	return w.all.all;
}

static ExprVec conditions(
    const Nest *nest, Arena *arena, int stage, bool reads)
{
	const Stage *s = &nest->stages.at[stage];
	StepPredicate z = {
	    .nest = nest, .arena = arena, .op = s->reduce, .reads = reads};
	return conditions_of(&z, s->body);
}

ExprVec nest_body_conditions(
    const Nest *nest, Arena *arena, ReduceOp op, const Expr *body)
{
	StepPredicate z = {.nest = nest, .arena = arena, .op = op};
	return op == REDUCE_NONE ? (ExprVec){0} : conditions_of(&z, body);
}

typedef struct {
	const Nest *nest;
	Arena *arena;
	bool found;
} Relying;

static bool find_left_out(Expr *e, void *context)
{
	Relying *r = context;
	int writer = e->op == OP_READ ? r->nest->buffers.at[e->id].writer : -1;
	r->found |= writer >= 0 &&
	    nest_live_conditions(r->nest, r->arena, writer).n > 0;
	return !r->found;
}

bool nest_step_relies(const Nest *nest, Arena *arena, int stage)
{
	Relying r = {nest, arena, false};
	if (nest->stages.at[stage].reduce != REDUCE_NONE)
		expr_walk(nest->stages.at[stage].body, find_left_out, &r);
	return r.found;
}

/* Does it read at its axes alone, so that no condition keeps it inside? */
static bool find_elsewhere(Expr *e, void *found)
{
	for (int i = 0; e->op == OP_READ && i < e->narg; i++)
		*(bool *)found |= e->arg[i]->op != OP_AXIS;
	return !*(bool *)found;
}

/* What holds for all elements that are used is not asked of their steps. */
static ExprVec without_live(
    const Nest *nest, Arena *arena, int stage, const ExprVec *own)
{
	ExprVec left = {0};
	if (!own->n)
		return left;
	ExprVec live = nest_live_conditions(nest, arena, stage);
	ExprSet used = expr_set_of(arena, &live);
	bool elsewhere = false;
	expr_walk(nest->stages.at[stage].body, find_elsewhere, &elsewhere);
	for (int i = 0; i < own->n; i++)
		if (elsewhere || expr_set_find(&used, own->at[i]) < 0)
			vec_push(arena, &left, own->at[i]);
	return left;
}

ExprVec nest_step_conditions(
    const Nest *nest, Arena *arena, int stage, bool reads)
{
	ExprVec none = {0}, own;
	StepPredicate z = {.nest = nest, .arena = arena};
	Where w = {0};
	if (nest->stages.at[stage].reduce == REDUCE_NONE)
		return none;
	own = conditions(nest, arena, stage, reads);
	if (reads)
		return own;
	own = without_live(nest, arena, stage, &own);
	if (nest_step_relies(nest, arena, stage)) {
		ExprVec all = conditions(nest, arena, stage, true);
		w.all = expr_set_of(arena, &all);
	}
	for (int i = 0; i < own.n; i++)
		add_one(&z, &w, own.at[i]);
	return w.all.all;
}

void nest_condition_parts(
    const Nest *nest, Arena *arena, Expr *e, bool holds, ExprVec *all)
{
	StepPredicate z = {.nest = nest, .arena = arena, .reads = true};
	Where w = {.all = expr_set_of(arena, all)};
	add_condition(&z, &w, e, holds);
	*all = w.all.all;
}

static Expr *element(const StepPredicate *z, Expr *e)
{
	bool sum = z->op == REDUCE_SUM;
	if (e->op == OP_IF) {
		Where yes = where(z, e->arg[1]), no = where(z, e->arg[2]);
		if (yes.never != no.never)
			return element(z, e->arg[no.never ? 1 : 2]);
	}
	if (is_product(z, e))
		return expr_binary(z->arena, OP_MUL, element(z, e->arg[0]),
		    element(z, e->arg[1]));
	if (sum && (e->op == OP_NEG || e->op == OP_ABS))
		return expr_unary(z->arena, e->op, element(z, e->arg[0]));
	return e;
}

Expr *nest_step_element(const Nest *nest, Arena *arena, int stage)
{
	const Stage *s = &nest->stages.at[stage];
	StepPredicate z = {.nest = nest, .arena = arena, .op = s->reduce};
	return element(&z, s->body);
}

typedef struct {
	const StepPredicate *z;
	const Expr *read;
	bool inside, found;
} Arms;

static bool find_under_if(Expr *e, void *context)
{
	Arms *a = context;
	a->found |= a->inside && expr_equal(e, a->read);
	if (e->op != OP_IF || a->inside)
		return !a->found;
	Where yes = where(a->z, e->arg[1]), no = where(a->z, e->arg[2]);
	a->inside = yes.never != no.never;
	for (int i = 1; a->inside && i < 3; i++)
		expr_walk(e->arg[i], find_under_if, context);
	a->inside = false;
	return !a->found;
}

bool nest_read_is_conditional(
    const Nest *nest, Arena *arena, int stage, const Expr *read)
{
	const Stage *s = &nest->stages.at[stage];
	StepPredicate z = {
	    .nest = nest, .arena = arena, .op = s->reduce, .reads = true};
	Arms arms = {&z, read, false, false};
	if (s->reduce == REDUCE_NONE)
		return false;
	expr_walk(s->body, find_under_if, &arms);
	return arms.found || where_read(&z, read).all.all.n;
}

static bool same_list(ExprVec a, ExprVec b)
{
	bool same = a.n == b.n;
	for (int i = 0; same && i < a.n; i++)
		same = expr_equal(a.at[i], b.at[i]);
	return same;
}

bool nest_same_steps(const Nest *nest, Arena *arena, int a, int b)
{
	Arena *own = arena_child(arena);
	bool same = true;
	for (int reads = 0; reads < 2 && same; reads++)
		same = same_list(nest_step_conditions(nest, own, a, reads),
		    nest_step_conditions(nest, own, b, reads));
	same = same &&
	    same_list(nest_live_conditions(nest, own, a),
		nest_live_conditions(nest, own, b));
	arena_free(own);
	return same;
}
