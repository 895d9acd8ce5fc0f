/* Quotients of vectors by what does not vary in the loop, where a division of a
 * whole vector takes ten cycles: by the reciprocal, taken once, and what the
 * product with it lacks.
 *
 *     for j: y[j] = a[j] / s     ->    z = 1/s
 *                                      for j: q = a[j]*z
 *                                             y[j] = q - (q*s - a[j])*z
 *
 * With both sums fused that is the quotient, rounded (P. Markstein, "Computation
 * of elementary functions on the IBM RISC System/6000 processor", 1990), unless
 * something is too large or too small; test/diff/test_divide.c has the cases of
 * f32 in which it comes nearest to failing.  Where a lane is so, or s is, all
 * are divided. */
#include "codegen/lower/lower_math.h"

#include <assert.h>
#include <math.h>

/* s is between LEAST and MOST; where a quotient is at least SMALL, neither it
 * nor what is lost below a[j] is denormal.  Not negative: q - 0 has the sign of
 * q then, which may be -0. */
#define LEAST 0x1p-12
#define MOST 0x1p60
#define SMALL 0x1p-88

enum { COPIES_LEAST = 4 };

static bool is_inside(double s)
{
	return s >= LEAST && s <= MOST;
}

static bool is_power_of_two(double s)
{
	int exponent;
	return frexp(s, &exponent) == 0.5;
}

/* 0, or from 1 to 2^64 in size: its quotient by what is inside is no denormal,
 * and 0/s = 0*z - (0*z*s - 0)*z = 0. */
static bool is_whole_number(const Expr *e)
{
	return e->op == OP_CAST && dtype_is_int(e->arg[0]->type);
}

/* How often what does not vary along some loops is used in their copies. */
static int64_t copies_of(const Lower *l, const Expr *divisor)
{
	const Stage *s = &l->nest->stages.at[l->stage];
	int64_t n = 1;
	for (int i = 0; i < s->nloops; i++) {
		int var = s->loops[i];
		if (loop_at_compile_time(l, var) &&
		    l->nest->vars.at[var].kind != LOOP_VECTOR &&
		    !expr_has_axis(divisor, l->nest->vars.at[var].axis))
			n *= loop_extent(l, var);
	}
	return n;
}

/* A loop runs inside of the place where the divisor is known, and moves the
 * dividend; or it is repeated in code, where one divisor is all lanes': others
 * take registers, as sums do that are divided at last. */
static bool pays(const Lower *l, const Expr *divisor, int a, Value by)
{
	int s = by.temp, depth = s < 0 ? 0 : l->part->temps.at[s].depth;
	if (!math_varies(l, a))
		return false;
	if (s >= 0 && l->part->temps.at[s].mutable)
		return false;
	for (const Frame *f = l->part->scope; f->depth > depth; f = f->up)
		if (f->loop)
			return true;
	return by.lanes == 1 && !l->part->temps.at[a].mutable &&
	    copies_of(l, divisor) >= COPIES_LEAST;
}

/* 1/s, or NaN where s is not inside. */
static Value reciprocal(Lower *l, Value s)
{
	assert(s.temp >= 0 || s.f == (double)(float)s.f);
	if (s.temp < 0)
		return value_const(DT_F32, (float)(1 / s.f), 0);
	Vectors m = {l, s.lanes, DT_F32};
	int inside = emit_op(l, LOW_AND, DT_BOOL, s.lanes,
	    math_compare(m, LOW_LE, math_number(m, LEAST), s.temp),
	    math_compare(m, LOW_LE, s.temp, math_number(m, MOST)), -1, "m");
	int z = math_real(m, LOW_DIV, math_number(m, 1), s.temp);
	return value_temp(DT_F32, s.lanes,
	    math_choose(m, inside, z, math_number(m, NAN)));
}

/* Some lane is NaN, or so small that it may be wrong; but 0 of 0 is right where
 * s is inside.  What a is compared with is NaN where s is not, which is unequal
 * to all, else -0: of a comparison with 0 LLVM makes one with -a, which it then
 * computes. */
static int is_doubtful(Vectors m, int a, int z, int quotient)
{
	int large = math_compare(m, LOW_LE, math_number(m, SMALL),
	    math_real(m, LOW_ABS, quotient, -1));
	int small =
	    emit_op(m.l, LOW_NOT, DT_BOOL, m.lanes, large, -1, -1, "m");
	int nought = math_real(m, LOW_MUL, z, math_number(m, -0.0));
	int some = math_compare(m, LOW_NE, a, nought);
	int doubtful =
	    emit_op(m.l, LOW_AND, DT_BOOL, m.lanes, small, some, -1, "m");
	return emit_op(m.l, LOW_ANY, DT_BOOL, 1, doubtful, -1, -1, "doubtful");
}

/* `safe`: nothing is too large or too small. */
static int quotient(Vectors m, int a, int s, int z, bool safe)
{
	int q = math_real(m, LOW_MUL, a, z);
	int above =
	    math_product_sum(m, q, s, math_real(m, LOW_NEG, a, -1));
	int y = math_product_sum(m, math_real(m, LOW_NEG, above, -1), z, q);
	if (safe)
		return y;
	int result = new_temp(m.l, m.type, m.lanes, "quotient");
	emit_into(m.l, result, LOW_COPY, y, -1, -1);
	Branch b;
	branch_begin(m.l, &b, is_doubtful(m, a, z, y));
	emit_into(m.l, result, LOW_DIV, a, s, -1);
	branch_end(m.l, &b);
	Key key = {.op = LOW_DIV,
	    .type = m.type,
	    .lanes = m.lanes,
	    .arg = {a, s, -1}};
	note_known(m.l, &key, result);
	return result;
}

bool math_divide(Lower *l, const Expr *e, Value a, Value s, Value *y)
{
	int lanes = a.lanes > s.lanes ? a.lanes : s.lanes;
	int bytes = lanes * dtype_bytes(DT_F32);
	if (a.type != DT_F32 || l->part->exact || !l->machine->fma ||
	    bytes < 64 || bytes != l->machine->vector_bytes || a.temp < 0)
		return false;
	if (s.temp < 0 && (!is_inside(s.f) || is_power_of_two(s.f)))
		return false;
	if (!pays(l, e->arg[1], a.temp, s))
		return false;
	Vectors m = {l, lanes, DT_F32};
	bool safe = s.temp < 0 && is_whole_number(e->arg[0]);
	int above = value_as(l, a, lanes), below = value_as(l, s, lanes);
	Key key = {.op = LOW_DIV,
	    .type = DT_F32,
	    .lanes = lanes,
	    .arg = {above, below, -1}};
	int known = emit_known(l, &key);
	*y = value_temp(DT_F32, lanes,
	    known >= 0 ? known
		       : quotient(m, above, below,
			     value_as(l, reciprocal(l, s), lanes), safe));
	return true;
}
