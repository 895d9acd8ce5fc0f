/* What the functions of vectors are made of: operations and polynomials of their
 * type, and what is known of it. */
#include "codegen/lower/lower_math.h"

int math_number(Vectors m, double value)
{
	return const_float(m.l, m.type, m.lanes,
	    m.type == DT_F32 ? (double)(float)value : value);
}

DType math_bits_type(Vectors m)
{
	return m.type == DT_F32 ? DT_I32 : DT_I64;
}

int math_integer(Vectors m, int64_t value)
{
	return const_int(m.l, math_bits_type(m), m.lanes, value);
}

int math_real(Vectors m, LowOpcode op, int a, int b)
{
	return emit_op(m.l, op, m.type, m.lanes, a, b, -1, "m");
}

int math_whole(Vectors m, LowOpcode op, int a, int b)
{
	return emit_op(m.l, op, math_bits_type(m), m.lanes, a, b, -1, "m");
}

int math_compare(Vectors m, LowOpcode op, int a, int b)
{
	return emit_op(m.l, op, DT_BOOL, m.lanes, a, b, -1, "m");
}

int math_choose(Vectors m, int condition, int yes, int no)
{
	return emit_op(
	    m.l, LOW_SELECT, m.type, m.lanes, condition, yes, no, "m");
}

int math_product_sum(Vectors m, int a, int b, int c)
{
	if (!m.l->machine->fma)
		return math_real(m, LOW_ADD, math_real(m, LOW_MUL, a, b), c);
	return emit_op(m.l, LOW_FMA, m.type, m.lanes, a, b, c, "m");
}

int math_polynomial(Vectors m, int x, int n, const double *c)
{
	int y = math_number(m, c[0]);
	for (int i = 1; i < n; i++)
		y = math_product_sum(m, y, x, math_number(m, c[i]));
	return y;
}

bool math_varies(const Lower *l, int x)
{
	const TempInfo *t = &l->part->temps.at[x];
	return t->mutable || t->depth >= l->part->scope->depth;
}

int math_with_sign_of(Vectors m, int x, int size)
{
	int bits = math_whole(m, LOW_BITS, x, -1);
	int rest = math_whole(m, LOW_BITS, math_real(m, LOW_ABS, x, -1), -1);
	int sign = math_whole(m, LOW_XOR, bits, rest);
	size = math_whole(m, LOW_BITS, size, -1);
	return math_real(m, LOW_BITS, math_whole(m, LOW_XOR, size, sign), -1);
}

int math_exponent_bits(Vectors m)
{
	return m.type == DT_F32 ? 23 : 52;
}

int math_bias(Vectors m)
{
	return m.type == DT_F32 ? 127 : 1023;
}

/* Are they as long as those that the machine has instructions for? */
bool math_fits_register(Vectors m)
{
	int bytes = m.lanes * dtype_bytes(m.type);
	return bytes >= 16 && bytes <= m.l->machine->vector_bytes;
}

/* Reciprocal roots are estimated by an instruction. */
bool math_has_rsqrt(Vectors m)
{
	return m.type == DT_F32 && m.l->machine->rsqrt && m.l->machine->fma &&
	    math_fits_register(m);
}
