/* Elements of which all but every step-th along an axis are one constant.
 *
 *     p[y] = if (y - 2) % 2 == 0 and 0 <= (y - 2)//2 < 8 then d[(y - 2)//2] else 0
 *     c[y] += p[y + r] * w[r]
 * -->
 *     p[y] = if 0 <= y - 1 and y - 1 < 8 then d[y - 1] else 0
 *     c[y] += (if (y + r) % 2 == 0 then p[(y + r)//2] else 0) * w[r]
 *
 * That is exact whatever is read: outside of the phase an element is the literal
 * that the body says. */
#include "ir/linear.h"
#include "ir/nest/nest.h"

#include <assert.h>
#include <string.h>

/* --- forms of one axis --------------------------------------------------------- */

typedef struct {
	int64_t coefficient, constant;
} LinearForm;

typedef struct {
	int axis;
	int64_t coefficient;
} LinearAxis;

static bool add_axis(void *context, const Expr *e, int64_t times)
{
	LinearAxis *x = context;
	return e->op == OP_AXIS && e->id == x->axis &&
	    linear_add(&x->coefficient, times);
}

/* coefficient * axis + constant, of nothing else. */
static bool line_of(const Expr *e, int axis, LinearForm *out)
{
	LinearAxis x = {axis, 0};
	out->constant = 0;
	bool is = linear_walk(e, 1, &out->constant, add_axis, &x);
	out->coefficient = x.coefficient;
	return is;
}

static int64_t modulo(int64_t a, int64_t b)
{
	return (a % b + b) % b;
}

/* --- conditions ------------------------------------------------------------------ */

enum { STEP_MOST = 64 };

/* form % step == k, for exactly one value of the axis below the step. */
static bool is_phase(const Expr *e, int axis, int64_t step, int64_t *first)
{
	bool left = e->arg[0]->op == OP_MOD;
	const Expr *mod = e->arg[left ? 0 : 1], *k = e->arg[left ? 1 : 0];
	int found = 0;
	LinearForm x;
	if (mod->op != OP_MOD || mod->type != DT_INDEX || k->op != OP_INT ||
	    mod->arg[1]->op != OP_INT || mod->arg[1]->i != step ||
	    !line_of(mod->arg[0], axis, &x))
		return false;
	int64_t c = modulo(x.coefficient, step), b = modulo(x.constant, step);
	for (int64_t y = 0; y < step; y++)
		if ((c * y + b) % step == k->i) {
			*first = y;
			found++;
		}
	return found == 1;
}

/* Does the condition, holding or not, say which phase it is? */
static bool says_phase(
    const Expr *e, bool holds, int axis, int64_t step, int64_t *first)
{
	if (e->op == OP_NOT)
		return says_phase(e->arg[0], !holds, axis, step, first);
	if (e->op == (holds ? OP_AND : OP_OR))
		return says_phase(e->arg[0], holds, axis, step, first) ||
		    says_phase(e->arg[1], holds, axis, step, first);
	return e->op == (holds ? OP_EQ : OP_NE) &&
	    is_phase(e, axis, step, first);
}

static bool is_literal(const Expr *e)
{
	if (e->op == OP_CAST || e->op == OP_NEG)
		e = e->arg[0];
	return e->op == OP_FLOAT || (e->op == OP_INT && e->type != DT_INDEX);
}

/* 0 and -0 are two. */
static bool same_literal(const Expr *a, const Expr *b)
{
	if (a->op == OP_FLOAT && b->op == OP_FLOAT)
		return a->type == b->type &&
		    !memcmp(&a->f, &b->f, sizeof a->f);
	if (a->narg && b->narg && !same_literal(a->arg[0], b->arg[0]))
		return false;
	return expr_equal(a, b);
}

/* The literal that the body is outside of the phase; NULL: it is none. */
static Expr *outside(Expr *e, ElementPhase *p)
{
	int64_t first;
	if (is_literal(e))
		return e;
	if (e->op != OP_IF)
		return NULL;
	for (int arm = 2; arm > 0; arm--)
		if (says_phase(e->arg[0], arm == 2, p->axis, p->step, &first)) {
			if (p->first >= 0 && p->first != first)
				return NULL;
			p->first = first;
			return outside(e->arg[arm], p);
		}
	Expr *yes = outside(e->arg[1], p), *no = outside(e->arg[2], p);
	return yes && no && same_literal(yes, no) ? yes : NULL;
}

bool phase_find(Expr *body, int axis, int64_t step, ElementPhase *phase)
{
	*phase = (ElementPhase){.axis = axis, .step = step, .first = -1};
	if (step < 2 || step > STEP_MOST)
		return false;
	phase->other = outside(body, phase);
	return phase->other && phase->first >= 0;
}

typedef struct {
	Expr *body;
	int axis;
	ElementPhase best;
	bool found;
} PhaseSearch;

static bool try_step(Expr *e, void *context)
{
	PhaseSearch *s = context;
	ElementPhase p;
	if (e->op == OP_MOD && e->type == DT_INDEX && e->arg[1]->op == OP_INT &&
	    (!s->found || e->arg[1]->i > s->best.step) &&
	    phase_find(s->body, s->axis, e->arg[1]->i, &p)) {
		s->best = p;
		s->found = true;
	}
	return true;
}

bool phase_greatest(Expr *body, int axis, ElementPhase *phase)
{
	PhaseSearch s = {.body = body, .axis = axis};
	expr_walk(body, try_step, &s);
	*phase = s.best;
	return s.found;
}

int64_t phase_extent(const ElementPhase *p, int64_t extent)
{
	return extent > p->first ? (extent - p->first - 1) / p->step + 1 : 0;
}

/* --- bodies ------------------------------------------------------------------------ */

static bool is_bool(const Expr *e, bool *value)
{
	*value = e->i != 0;
	return e->op == OP_INT && e->type == DT_BOOL;
}

/* In the phase its conditions hold. */
static Expr *without_condition(Arena *arena, Expr *e, void *context)
{
	const ElementPhase *p = context;
	int64_t first;
	bool known;
	if (e->op == OP_EQ || e->op == OP_NE) {
		if (!is_phase(e, p->axis, p->step, &first))
			return e;
		return expr_int(
		    arena, DT_BOOL, (first == p->first) == (e->op == OP_EQ));
	}
	if (e->op == OP_NOT && is_bool(e->arg[0], &known))
		return expr_int(arena, DT_BOOL, !known);
	if (e->op == OP_IF && is_bool(e->arg[0], &known))
		return e->arg[known ? 1 : 2];
	if (e->op == OP_AND || e->op == OP_OR)
		for (int i = 0; i < 2; i++)
			if (is_bool(e->arg[i], &known))
				return e->arg[known == (e->op == OP_AND) ? 1 - i
									 : i];
	return e;
}

static Expr *line_expr(Arena *arena, LinearForm x, int axis)
{
	Expr *e = expr_axis(arena, axis);
	if (x.coefficient != 1)
		e = expr_binary(arena, OP_MUL,
		    expr_int(arena, DT_INDEX, x.coefficient), e);
	if (!x.constant)
		return e;
	return x.constant > 0
	    ? expr_binary(arena, OP_ADD, e,
		  expr_int(arena, DT_INDEX, x.constant))
	    : expr_binary(arena, OP_SUB, e,
		  expr_int(arena, DT_INDEX, -x.constant));
}

/* (2*y - 2) // 2 is y - 1. */
static Expr *without_quotient(Arena *arena, Expr *e, void *context)
{
	const ElementPhase *p = context;
	int64_t d;
	LinearForm x;
	if (e->op != OP_FLOORDIV || e->type != DT_INDEX ||
	    e->arg[1]->op != OP_INT || !line_of(e->arg[0], p->axis, &x))
		return e;
	d = e->arg[1]->i;
	if (!x.coefficient || x.coefficient % d)
		return e;
	x.coefficient /= d;
	x.constant = (x.constant - modulo(x.constant, d)) / d;
	return line_expr(arena, x, p->axis);
}

Expr *phase_body(Arena *arena, const ElementPhase *p, Expr *body, int naxes)
{
	Expr **values = NEW_N(arena, Expr *, naxes);
	assert(p->axis < naxes);
	values[p->axis] =
	    line_expr(arena, (LinearForm){p->step, p->first}, p->axis);
	body = expr_rewrite(arena, body, without_condition, (void *)p);
	body = expr_substitute_axes(arena, body, values, naxes);
	return expr_rewrite(arena, body, without_quotient, (void *)p);
}

typedef struct {
	const ElementPhase *phase;
	int buffer;
} PhaseReads;

static Expr *thin_read(Arena *arena, Expr *e, void *context)
{
	const PhaseReads *r = context;
	const ElementPhase *p = r->phase;
	if (e->op != OP_READ || e->id != r->buffer)
		return e;
	Expr *step = expr_int(arena, DT_INDEX, p->step);
	Expr *at = e->arg[p->axis], **index = NEW_N(arena, Expr *, e->narg);
	memcpy(index, e->arg, sizeof *index * (size_t)e->narg);
	index[p->axis] = expr_binary(arena, OP_FLOORDIV, at, step);
	return expr_if(arena,
	    expr_binary(arena, OP_EQ, expr_binary(arena, OP_MOD, at, step),
		expr_int(arena, DT_INDEX, p->first)),
	    expr_read(arena, e->type, e->id, index, e->narg),
	    expr_cast(arena, e->type, p->other));
}

Expr *phase_reader(Arena *arena, const ElementPhase *p, int buffer, Expr *body)
{
	return expr_rewrite(arena, body, thin_read, &(PhaseReads){p, buffer});
}
