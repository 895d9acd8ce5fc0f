/* What the files of lower_math*.c share: operations on vectors of one float
 * type, and the parts that several functions are made of. */
#ifndef CODEGEN_LOWER_MATH_H
#define CODEGEN_LOWER_MATH_H

#include "codegen/lower/lower_internal.h"

typedef struct {
	Lower *l;
	int lanes;
	DType type; /* f32 or f64 */
} Vectors;

/* lower_math_part.c */
int math_number(Vectors m, double value);
int math_integer(Vectors m, int64_t value); /* as wide as the floats */
DType math_bits_type(Vectors m);	    /* of that integer */
int math_real(Vectors m, LowOpcode op, int a, int b);
int math_whole(Vectors m, LowOpcode op, int a, int b);
int math_compare(Vectors m, LowOpcode op, int a, int b);
int math_choose(Vectors m, int condition, int yes, int no);
int math_product_sum(Vectors m, int a, int b, int c); /* a*b + c */
/* Is x another in each round of the innermost loop? */
bool math_varies(const Lower *l, int x);
/* c[0]*x^(n-1) + ... + c[n-1] */
int math_polynomial(Vectors m, int x, int n, const double *c);

#define POLYNOMIAL(m, x, ...)                                                  \
	math_polynomial(m, x, sizeof((double[]){__VA_ARGS__}) / sizeof(double), \
	    (double[]){__VA_ARGS__})

/* `size`, which is not negative, with x's sign. */
int math_with_sign_of(Vectors m, int x, int size);

/* Of a float's exponent and fraction. */
int math_bias(Vectors m);
int math_exponent_bits(Vectors m); /* below the exponent's lowest */
/* Is it as long as vectors that the machine has instructions for? */
bool math_fits_register(Vectors m);
bool math_has_rsqrt(Vectors m); /* an instruction that estimates it */

/* lower_math_exp.c */
/* x*factor to the nearest integer, below 2^22 (of f64 2^51): as a float, and in
 * the low bits of an integer, more or less a constant. */
typedef struct {
	int real, bits;
} Rounded;
Rounded math_rounded(Vectors m, int x, double factor);
int math_rounded_integer(Vectors m, Rounded n);
/* x 2^n, x about 1, however small that is. */
int math_scaled(Vectors m, int x, Rounded n);
bool math_has_scale(Vectors m); /* 2^n by an instruction */

int math_exp(Vectors m, int x);
int math_exp_half(Vectors m, int x); /* e^x/2, however large; x above 0 */
/* q of e^r - 1 = r + r^2 q, r the rest of x; and 2^(n - 1), which is a normal
 * number. */
int math_expm1_parts(Vectors m, int x, int *r, int *half);
int math_exp_of_small(Vectors m, int r); /* e^r, |r| <= log 2 / 2 */
/* e^x; `low`: x is at most 0, or cannot overflow (see there). */
int math_exp_below(Vectors m, int x, bool low);
int math_exp2(Vectors m, int x);
int math_expm1(Vectors m, int x);
int math_sinh(Vectors m, int x);
int math_cosh(Vectors m, int x);
int math_sigmoid(Vectors m, int x);
int math_tanh(Vectors m, int x);
int math_erf_f32(Vectors m, int x);

/* lower_math_log.c */
/* x = 2^(exponent*unit) (1 + fraction) of positive x, where 1 + fraction is at least
 * the number whose bits `middle` are, and less than twice that. */
typedef struct {
	int exponent, fraction;
	int bits; /* of an integer: what is less of x's where the exponent is 0 */
	double unit; /* 1 of math_parts */
} Parts;
Parts math_parts(Vectors m, int x, int64_t middle);

int math_log(Vectors m, int x);
int math_log2(Vectors m, int x);
int math_log1p(Vectors m, int x);

/* lower_math_far.c, with fused multiply-add.  The rest of |x|, at most pi/4, with
 * what rounding took from it, and of its quarters of a turn the number modulo 4;
 * any x, of infinity NaN. */
int math_far_turn(Vectors m, int x, int *quarter, int *low);
/* |x|^y, y a number; f64 */
int math_power_f64(Vectors m, int size, int y);
int math_erf_f64(Vectors m, int x);

/* lower_math_arc.c */
int math_asin(Vectors m, int x);
int math_acos(Vectors m, int x);
int math_atan(Vectors m, int x);
int math_atan2(Vectors m, int y, int x);

/* lower_math_sin.c; -1: not without fused multiply-add */
int math_sin(Vectors m, int x, bool cosine);
int math_tan(Vectors m, int x);

#endif
