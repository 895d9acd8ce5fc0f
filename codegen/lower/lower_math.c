/* Functions of vectors of f32 and f64, to 2 ulp and without a branch but for
 * the sine of large numbers:
 *
 *     y = MATH exp x        ->     a polynomial, times 2^n by SCALE, or by BITS
 *                                  where the machine does not have that
 *
 * NaN, infinities, -0 and denormals come out as libm has them.  Scalars and
 * what is not here are left to libm.  log and erf have the minimax polynomials
 * of N. Juffa's my_logf and my_erff, the other polynomials were fitted by Remez'
 * algorithm.
 * This file knows which there are and has the reciprocal root;
 * lower_math_part.c has what all are made of, lower_math_exp.c, lower_math_log.c,
 * lower_math_pow.c, lower_math_sin.c and lower_math_arc.c have the functions named
 * so or like it, lower_math_far.c what a GPU without libm needs beyond that,
 * lower_math_divide.c quotients; test/diff/test_math.c measures all. */
#include "codegen/lower/lower_math.h"

/* An estimate y and a step of Newton's, y + y/2*(1 - x*y*y), which is right to 1
 * ulp; of 0 and infinity, where that is NaN, the estimate.  A root and a
 * division of a vector take four times as long. */
static int vector_rsqrt(Vectors m, int x)
{
	if (!math_has_rsqrt(m))
		return -1;
	int y = math_real(m, LOW_RSQRT, x, -1);
	int minus = math_real(m, LOW_NEG, math_real(m, LOW_MUL, x, y), -1);
	int off = math_product_sum(m, minus, y, math_number(m, 1));
	int half = math_real(m, LOW_MUL, y, math_number(m, 0.5));
	return math_choose(m, math_compare(m, LOW_EQ, off, off),
	    math_product_sum(m, half, off, y), y);
}

/* A GPU has no libm. */
bool math_is_own(const Lower *l, int lanes)
{
	return lanes > 1 || l->machine->gpu;
}

int math_vector(
    Lower *l, Op function, DType type, int x, int y, int lanes, bool softmax)
{
	Vectors m = {l, lanes, type};
	if (type != DT_F32 && type != DT_F64)
		return -1;
	switch (function) {
	case OP_EXP:
		return math_exp_below(
		    m, x, softmax && type == DT_F32 && math_has_scale(m));
	case OP_EXP2: return math_exp2(m, x);
	case OP_EXPM1: return math_expm1(m, x);
	case OP_SINH: return math_sinh(m, x);
	case OP_COSH: return math_cosh(m, x);
	case OP_LOG: return math_log(m, x);
	case OP_LOG2: return math_log2(m, x);
	case OP_LOG1P: return math_log1p(m, x);
	case OP_TANH: return math_tanh(m, x);
	case OP_SIGMOID: return math_sigmoid(m, x);
	case OP_ERF:
		return type == DT_F32	  ? math_erf_f32(m, x)
		    : l->machine->no_libm ? math_erf_f64(m, x)
					  : -1;
	case OP_RSQRT: return vector_rsqrt(m, x);
	case OP_SIN: return math_sin(m, x, false);
	case OP_COS: return math_sin(m, x, true);
	case OP_TAN: return math_tan(m, x);
	case OP_ASIN: return math_asin(m, x);
	case OP_ACOS: return math_acos(m, x);
	case OP_ATAN: return math_atan(m, x);
	case OP_ATAN2: return math_atan2(m, x, y);
	default: return -1;
	}
}
