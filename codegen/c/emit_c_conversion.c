/* Conversions of one element type to another, scalars and vectors: a cast, a macro, or
 * several steps where the machine's instructions go through a type between.
 *
 *     y = convert x, to f32    -->   y = (float)x;
 *                                    y = CONVERT_I32X8_F32X8(x);
 */
#include <math.h>

#include "codegen/c/emit_c_operands.h"

/* 1 of a type, as vectors of it hold one. */
static const char *one_of(DType type)
{
	return type == DT_F16 ? "0x3c00" : type == DT_BF16 ? "0x3f80" : "1";
}

static void mask_to_value(EmitC *e, int dst, int a, DType to)
{
	int lanes = temp_of(e, a)->lanes;
	int bytes = to == DT_INDEX ? 8 : dtype_bytes(to);
	const char *type = emit_c_vector(e, to, lanes);
	const char *one =
	    arena_printf(e->arena, "%s(%s)", emit_c_splat(e, type), one_of(to));
	const char *m = emit_c_mask_of(e, a, bytes, LEVEL_PRIMARY);
	if (emit_c_has_bits(e))
		emit_c_assign_format(e, dst, LEVEL_PRIMARY,
		    "%s(%s, %s, (%s){0})",
		    emit_c_macro(e, LOW_SELECT, OP_CAST, to, to, lanes), m, one,
		    type);
	else if (dtype_is_half(to))
		emit_c_assign_format(
		    e, dst, LEVEL_BITS, "(%s)%s & %s", type, m, one);
	else if (dtype_is_float(to))
		emit_c_assign_format(e, dst, LEVEL_PRIMARY,
		    "__builtin_convertvector(-%s, %s)", m, type);
	else
		emit_c_assign_format(e, dst, LEVEL_UNARY, "(%s)-%s", type, m);
}

static void value_to_mask(EmitC *e, int dst, int a)
{
	const LowTemp *t = temp_of(e, a);
	const char *type = emit_c_vector(e, t->type, t->lanes);
	const char *text = emit_c_text(e, a, LEVEL_SUM);
	if (dtype_is_half(t->type))
		text = arena_printf(e->arena, "(%s & %s(0x7fff))", tight(e, a),
		    emit_c_splat(e, type));
	emit_c_assign_not_zero(e, dst, t->type, text);
}

/* Between vectors of numbers; by __builtin_convertvector where that means the
 * same.  Level: UNARY. */
static const char *convert_vector(
    EmitC *e, DType from, DType to, int lanes, const char *a)
{
	bool half_from = dtype_is_half(from);
	bool half_to = dtype_is_half(to);
	const char *type = emit_c_vector(e, to, lanes);
	bool by_macro = half_to || (from == DT_F16) ||
	    (dtype_is_float(from) && !dtype_is_float(to));
	if (half_from &&
	    (to != DT_F32 ||
		emit_c_x86(e, LOW_CONVERT, OP_CAST, from, to, lanes)))
		return arena_printf(e->arena, "%s(%s)",
		    emit_c_macro(e, LOW_CONVERT, OP_CAST, from, to, lanes), a);
	if (from == DT_BF16) {
		const char *u = emit_c_vector_unsigned(e, 4, lanes);
		return arena_printf(e->arena,
		    "(%s)(__builtin_convertvector(%s, %s) << 16)", type, a, u);
	}
	if (by_macro)
		return arena_printf(e->arena, "%s(%s)",
		    emit_c_macro(e, LOW_CONVERT, OP_CAST, from, to, lanes), a);
	/* GCC takes what is shorter apart on its way to floats, but not i32 */
	if (dtype_bytes(from) < 4 && dtype_is_float(to)) {
		a = emit_c_convert_vector(e, from, DT_I32, lanes, a);
		from = DT_I32;
	}
	return emit_c_convert_vector(e, from, to, lanes, a);
}

static bool is_number(const EmitC *e, int temp, double *value)
{
	const LowNode *n = emit_c_constant(e, temp);
	*value = n ? n->f : NAN;
	return !isnan(*value);
}

/* Between what a float lies; false: it may be a NaN, which neither a MIN nor a MAX
 * with a number gives. */
static bool is_clamped(const EmitC *e, int temp, double *least, double *most)
{
	const LowNode *n = e->plan[temp].def;
	double x, (*pick)(double, double);
	*least = -HUGE_VAL;
	*most = HUGE_VAL;
	if (!n || n->kind != LOWNODE_OP ||
	    (n->op != LOW_MIN && n->op != LOW_MAX) ||
	    !is_number(e, n->arg[1], &x))
		return false;
	pick = n->op == LOW_MIN ? fmin : fmax;
	is_clamped(e, n->arg[0], least, most);
	*least = pick(*least, x);
	*most = pick(*most, x);
	return true;
}

/* A vector of floats that truncate to what the integer, of fewer than 32 bits,
 * holds. */
static bool is_within(const EmitC *e, int temp, DType to)
{
	double least, most;
	int bits = 8 * dtype_bytes(to);
	DType from = temp_of(e, temp)->type;
	if ((from != DT_F32 && from != DT_F64) || dtype_is_float(to) ||
	    bits >= 32 || !is_clamped(e, temp, &least, &most))
		return false;
	return dtype_is_unsigned(to)
	    ? least >= 0 && most <= ldexp(1, bits) - 1
	    : least >= -ldexp(1, bits - 1) && most <= ldexp(1, bits - 1) - 1;
}

/* By way of 32 bits, where all machines agree. */
static void convert_within(EmitC *e, int dst, int a)
{
	const LowTemp *d = temp_of(e, dst);
	const char *i32 =
	    arena_printf(e->arena, "__builtin_convertvector(%s, %s)",
		loose(e, a), emit_c_vector(e, DT_I32, d->lanes));
	assign(
	    e, dst, emit_c_convert_vector(e, DT_I32, d->type, d->lanes, i32));
}

void emit_c_conversion(EmitC *e, const LowNode *n)
{
	int a = n->arg[0], source = emit_c_pack_source(e, n);
	int low = emit_c_low_bits_source(e, n);
	a = low >= 0 ? low : a;
	const LowTemp *d = temp_of(e, n->dst), *s = temp_of(e, a);
	const LowNode *put = emit_c_widened(e, n);
	if (put)
		emit_c_assign_format(e, n->dst, LEVEL_PRIMARY, "%s(%s, %s)",
		    emit_c_widening_shuffle(e, put, d), loose(e, put->arg[0]),
		    loose(e, put->arg[1]));
	else if (source >= 0)
		emit_c_assign_format(e, n->dst, LEVEL_PRIMARY, "%s(%s)",
		    emit_c_pack(e, s->type, d->type, d->lanes),
		    loose(e, source));
	else if (d->lanes == 1 && d->type == s->type)
		emit_c_assign_as_is(e, n->dst, a);
	else if (d->lanes == 1)
		emit_c_assign(e, n->dst,
		    d->type == DT_BOOL ? LEVEL_COMPARE : LEVEL_UNARY,
		    emit_c_convert(e, s->type, d->type, tight(e, a)));
	else if (d->type == DT_BOOL && s->type == DT_BOOL)
		emit_c_assign(
		    e, n->dst, LEVEL_UNARY, mask(e, a, e->mask_bytes[n->dst]));
	else if (d->type == DT_BOOL)
		value_to_mask(e, n->dst, a);
	else if (s->type == DT_BOOL)
		mask_to_value(e, n->dst, a, d->type);
	else if (emit_c_storage(s->type) == emit_c_storage(d->type))
		emit_c_assign_as_is(e, n->dst, a);
	else if (is_within(e, a, d->type))
		convert_within(e, n->dst, a);
	else
		emit_c_assign(e, n->dst, LEVEL_UNARY,
		    convert_vector(e, s->type, d->type, d->lanes, loose(e, a)));
}
