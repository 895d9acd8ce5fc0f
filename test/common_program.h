/* Programs made by hand, for tests below the spec reader, and of a text. */
#ifndef TEST_COMMON_PROGRAM_H
#define TEST_COMMON_PROGRAM_H

#include "ir/program.h"

/* Of a spec without cases; the test fails, with the text, if it is refused. */
Program *program_of_text(Arena *arena, const char *text, Numerics numerics);
/* c[i, j] = sum[k](a[i, k] * b[k, j]); b is const */
Program *program_matmul(Arena *arena, int m, int n, int k);
/* padded[c, x < X + 2] = if 1 <= x < X + 1 then data[c, x - 1] else 0
 * conv[o, x] = sum[c, r < 3](padded[c, x*stride + r] * weight[o, c, r])
 * out[o, x] = max(conv[o, x] + bias[o], 0);  weight and bias are const */
Program *program_conv(Arena *arena, int c, int x, int o, int stride);
/* half[i] = x[i // 2] + x[i // 2 + 1];  out[i] = half[i] * x[i % 4] */
Program *program_quotient(Arena *arena, int n);
/* softmax over j of x[i, j]: top, e, total, out */
Program *program_softmax(Arena *arena, int rows, int n);
/* s[i] = sum[k](x[i, k]), q[i] = sum[k](x[i, k]^2), t[i] = sum[k](x[i, k]*s[i]),
 * u[i] = q[i]*s[i], y[i, j] = x[i, j]*s[i] + q[i]; all but q are outputs */
Program *program_moments(Arena *arena, int rows, int n);
/* y[i] = sum[j](if j <= i then a[i, j] * x[j] else 0) */
Program *program_triangle(Arena *arena, int n);
/* y[i] = x[2*i] * x[3*i] + x[n - 1 - i] */
Program *program_strided(Arena *arena, int n);
/* y[i] = max(x0[at(i)], ...), at(i) = (s[0]*i + s[1])//s[2] % s[3] for the four
 * steps of each of the inputs, which end where they are read last */
Program *program_apart(
    Arena *arena, DType type, int n, const int *step, int inputs);
/* y[i] = function(x[i]) */
Program *program_map(Arena *arena, Op function, DType type, int n);
/* y[i] = x0[i] + x1[i] + ... of `inputs` inputs */
Program *program_inputs(Arena *arena, int inputs, int n);
/* y0[i] = x[i] + x[i], each further one the double of the one before; the last
 * is the output */
Program *program_doubles(Arena *arena, int blocks, int n);
/* A definition for each block, as rules and records need them. */
void program_complete(Arena *arena, Program *p);

#endif
