/* Steps that multiply by the zeros of an `if` are not made: programs with
 * padding, phases and triangles, under schedules written by hand and under what
 * the rules write, compute what the program says, and multiply as often as is
 * told. */
#include "test/common_lower.h"
#include "test/common_lowered.h"
#include "test/common_schedule.h"

#include "codegen/lower/lower_internal.h"
#include "schedule/plan/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dlfcn.h>

#define SPEC(inputs, compute)                                                  \
	"tunec: 1\nname: z\ninputs: {" inputs "}\ncompute: |\n" compute

/* 5 channels of 7, one zero at each end, a window of 3, 8 outputs. */
static const char padded[] = SPEC("d: 'f32[5, 7]', w: 'const f32[8, 5, 3]'",
    "  p[c < 5, x < 9] = if 1 <= x < 8 then d[c, x - 1] else 0\n"
    "  y[o < 8, x < 7] = sum[c < 5, r < 3](p[c, x + r]*w[o, c, r])\n");
/* The same of 14, in two tiles: each has an edge. */
static const char edges[] = SPEC("d: 'f32[5, 14]', w: 'const f32[8, 5, 3]'",
    "  p[c < 5, x < 16] = if 1 <= x < 15 then d[c, x - 1] else 0\n"
    "  y[o < 8, x < 14] = sum[c < 5, r < 3](p[c, x + r]*w[o, c, r])\n");
/* Spread by 2, a window of 4, mirrored. */
static const char spread[] = SPEC("d: 'f32[3, 5]', w: 'const f32[3, 8, 4]'",
    "  p[c < 3, x < 13] =\n"
    "    if (x - 2) % 2 == 0 and 0 <= (x - 2)//2 < 5 then d[c, (x - 2)//2] else 0\n"
    "  y[o < 8, x < 10] = sum[c < 3, r < 4](p[c, x + r]*w[c, o, 3 - r])\n");
/* Spread by 3 in two dimensions, a window of 5. */
static const char spread2[] = SPEC("d: 'f32[4, 4]', w: 'const f32[5, 5]'",
    "  p[y < 16, x < 16] =\n"
    "    if (y - 3) % 3 == 0 and 0 <= (y - 3)//3 < 4 and\n"
    "       (x - 3) % 3 == 0 and 0 <= (x - 3)//3 < 4\n"
    "    then d[(y - 3)//3, (x - 3)//3] else 0\n"
    "  o[y < 12, x < 12] = sum[r < 5, s < 5](p[y + r, x + s]*w[r, s])\n");
/* Every third element, from the second on, of 13; elsewhere it is not 0, nor
 * is that a sum; integers, a negative coefficient. */
static const char thirds[] = SPEC("d: 'i32[4]', w: 'const i32[5]'",
    "  p[x < 13] = if x < 12 and not (7 - x) % 3 != 0 then d[x//3] else 5\n"
    "  y[x < 9] = max[r < 5](p[x + r] + w[r])\n");
/* Spread in the sum itself, as the gradient of a convolution of stride 2. */
static const char backward[] = SPEC("g: 'f32[3, 4]', w: 'const f32[3, 8, 3]'",
    "  y[c < 8, x < 9] = sum[o < 3, r < 3](\n"
    "    (if (x + 1 - r) % 2 == 0 and 0 <= (x + 1 - r)//2 < 4\n"
    "     then g[o, (x + 1 - r)//2] else 0)*w[o, c, r])\n");
/* A window spread by 2 in what was spread by 2, through another block. */
static const char both[] = SPEC("d: 'f32[3, 5]', w: 'const f32[3, 8, 3]'",
    "  p[c < 3, x < 15] = if x % 2 == 1 and x < 10 then d[c, x//2] else 0\n"
    "  q[c < 3, x < 15] = if x % 2 == 1 then max(p[c, x], 0) else 0\n"
    "  y[o < 8, x < 11] = sum[c < 3, r < 3](q[c, x + 2*r]*w[c, o, r])\n");
static const char triangle[] = SPEC("a: 'f32[19, 19]', b: 'const f32[19, 8]'",
    "  y[i < 19, j < 8] =\n"
    "    sum[k < 19]((if k <= i then a[i, k] else 0)*b[k, j])\n");
/* The condition is on what is computed alone. */
static const char scores[] = SPEC("q: 'f32[19, 6]', k: 'const f32[19, 6]'",
    "  s[i < 19, j < 19] =\n"
    "    sum[d < 6](if j <= i then q[i, d]*k[j, d] else 0)\n");
/* Two products, the parts of complex numbers; both are 0 at once. */
static const char complex[] = SPEC(
    "a: 'f32[11]', b: 'f32[11]', c: 'f32[11]', d: 'const f32[11]'",
    "  y[i < 9] = sum[k < 11](\n"
    "    (if k >= i then a[k] else 0)*c[k] - b[k]*(if k >= i then d[k] else 0))\n");
/* Greater elements only, and none at all for the last. */
static const char peaks[] = SPEC("x: 'f32[9, 12]'",
    "  y[i < 9] = max[j < 12](if j > i + 2 then x[i, j] else -inf)\n");
/* What is not a number times nothing: a condition on data. */
static const char data[] = SPEC("x: 'f32[9, 12]', w: 'const f32[12, 8]'",
    "  y[i < 9, o < 8] =\n"
    "    sum[j < 12]((if x[i, j] > 0 then x[i, j] else 0)*w[j, o])\n");
/* A window that is nowhere whole, integers. */
static const char narrow[] = SPEC("d: 'i32[3]', w: 'const i32[7]'",
    "  p[x < 9] = if 3 <= x < 6 then d[x - 3] else 0\n"
    "  y[x < 3] = sum[r < 7](p[x + r]*w[r])\n");
/* Conditions that are more than one, and one that is not. */
static const char odd[] = SPEC("x: 'f32[10, 10]', w: 'const f32[10]'",
    "  y[i < 10] = sum[j < 10](\n"
    "    (if not (j < i or j == 7) and (j != 3 or i > 4) then x[i, j] else 0)\n"
    "    * w[j])\n");

/* Elements under conditions of their own, one with three arms. */
static const char halves[] = SPEC("x: 'f32[19, 23]'",
    "  y[i < 19, j < 23] = if j <= i then x[i, j]*2 else if j < 20 then 1 else 0\n");
static const char shifted[] = SPEC("x: 'f32[40]'",
    "  y[i < 53] = if 7 <= i < 47 then x[i - 7]*3 else x[i % 5]\n");
/* Running sums, products, extremes: along rows, down columns, of all that comes
 * before, of integers. */
static const char sums[] = SPEC("x: 'f32[5, 37]'",
    "  y[i < 5, j < 37] = sum[k < j + 1](x[i, k])\n");
static const char columns[] = SPEC("x: 'f32[37, 21]'",
    "  y[i < 37, j < 21] = sum[k < i + 1](x[k, j]*2)\n");
static const char means[] = SPEC("x: 'f32[37, 21]'",
    "  y[i < 37, j < 21] = sum[k < i + 1](x[k, j]) / f32(i + 1)\n");
static const char before[] = SPEC("x: 'i32[150]'",
    "  y[j < 150] = sum[k < j](x[k])\n");
static const char products_of[] = SPEC("x: 'i32[3, 70]'",
    "  y[i < 3, j < 70] = prod[k < 70](if k < j then x[i, k] else 1)\n");
static const char greatest[] = SPEC("x: 'f32[3, 70]'",
    "  y[i < 3, j < 70] =\n"
    "    max[k < 70](if i != k and k <= j then x[i, k] else -inf)\n");
/* Of no number: max passes it over. */
static const char roots[] = SPEC("x: 'f32[3, 70]'",
    "  y[i < 3, j < 70] = max[k < j + 1](sqrt(x[i, k]))\n");
static const char roots_before[] = SPEC("x: 'f32[3, 70]'",
    "  y[i < 3, j < 70] = min[k < j](sqrt(x[i, k]))\n");
/* What masks what is summed, in a program of several definitions. */
static const char causal[] = SPEC(
    "q: 'f32[21, 4]', k: 'f32[21, 4]', v: 'f32[21, 8]'",
    "  s[i < 21, j < 21] = if j <= i then sum[d < 4](q[i, d]*k[j, d]) else -inf\n"
    "  m[i < 21] = max[j < 21](s[i, j])\n"
    "  e[i < 21, j < 21] = if j <= i then s[i, j] - m[i] else 0\n"
    "  o[i < 21, d < 8] = sum[j < 21](e[i, j]*v[j, d])\n");
/* Attention of rows that see those before them: by what is 0 after exp, by
 * extents, in a window, divided before the second product.  Nobody uses the other
 * elements of what is in between. */
#define ATTENTION(mask, rest)                                                  \
	SPEC("q: 'f32[21, 4]', k: 'f32[21, 4]', v: 'f32[21, 8]'",              \
	    "  s[i < 21, j < 21] =\n"                                          \
	    "    if " mask " then sum[d < 4](q[i, d]*k[j, d])*0.5 else -inf\n" \
	    "  m[i < 21] = max[j < 21](s[i, j])\n"                             \
	    "  e[i < 21, j < 21] = exp(s[i, j] - m[i])\n"                      \
	    "  z[i < 21] = sum[j < 21](e[i, j])\n" rest)
static const char attention[] = ATTENTION("j <= i",
    "  o[i < 21, d < 8] = sum[j < 21](e[i, j]*v[j, d])/z[i]\n");
static const char window[] = ATTENTION("j <= i and i - j < 5",
    "  p[i < 21, j < 21] = e[i, j]/z[i]\n"
    "  o[i < 21, d < 8] = sum[j < 21](p[i, j]*v[j, d])\n");
static const char extents[] = SPEC(
    "q: 'f32[21, 4]', k: 'f32[21, 4]', v: 'f32[21, 8]'",
    "  s[i < 21, j < 21] = sum[d < 4](q[i, d]*k[j, d])*0.5\n"
    "  m[i < 21] = max[j < i + 1](s[i, j])\n"
    "  e[i < 21, j < 21] = exp(s[i, j] - m[i])\n"
    "  z[i < 21] = sum[j < i + 1](e[i, j])\n"
    "  o[i < 21, d < 8] = sum[j < i + 1](e[i, j]*v[j, d])/z[i]\n");
/* The exponentials are written twice; one is a block of its own. */
static const char twice[] = SPEC(
    "q: 'f32[21, 4]', k: 'f32[21, 4]', v: 'f32[21, 8]'",
    "  s[i < 21, j < 21] = sum[d < 4](q[i, d]*k[j, d])*0.5\n"
    "  m[i < 21] = max[j < i + 1](s[i, j])\n"
    "  z[i < 21] = sum[j < i + 1](exp(s[i, j] - m[i]))\n"
    "  o[i < 21, d < 8] =\n"
    "    sum[j < i + 1](exp(s[i, j] - m[i])*v[j, d])/z[i]\n");
/* Who reads it at other places needs them all. */
static const char needed[] = SPEC("x: 'f32[19, 19]', w: 'f32[19]'",
    "  t[i < 19, j < 19] = x[i, j]*2\n"
    "  a[i < 19] = sum[j < i + 1](t[i, j]*w[j])\n"
    "  y[i < 19] = sum[j < 19](t[j, i]) + a[i]\n");

/* Sums of what data assigns: rows by their labels, some of which are of no result;
 * in two axes, of which one has no label; what is dear to tell first; the label in
 * the element, too; counts by a label that is computed, of bytes, of i64 that is far
 * out of range; in two dimensions; extremes. */
static const char segments[] = SPEC(
    "l: 'i32[23]', v: 'f32[23, 8]', w: 'f32[23]'",
    "  y[k < 5, d < 8] =\n"
    "    sum[i < 23](if l[i] % 5 == i32(k) then v[i, d]*w[i] else 0)\n");
static const char outside[] = SPEC(
    "l: 'i32[3, 11]', v: 'f32[3, 11, 9]', w: 'f32[3]'",
    "  y[k < 3, d < 9] = sum[i < 3, j < 11](\n"
    "    if i32(k) == l[i, j] then v[i, j, d]*w[i] else 0)\n");
static const char first_told[] = SPEC("l: 'i32[23]', v: 'f32[20, 8]'",
    "  y[k < 5, d < 8] = sum[i < 23](\n"
    "    if i < 20 and v[min(i, 19), 0] > 0 and l[i] == i32(k) and l[i] < 3\n"
    "    then v[min(i, 19), d]*2 else 0)\n");
static const char read_again[] = SPEC("l: 'i8[23]', v: 'f32[23]', t: 'f32[9, 8]'",
    "  y[k < 9, d < 8] = sum[i < 23](\n"
    "    if i32(l[i]) + 4 == i32(k) then (v[i] + f32(k))*t[k, d] else 0)\n");
static const char counts[] = SPEC("x: 'f32[50]'",
    "  h[b < 4] = sum[n < 50](\n"
    "    i32(if clamp(i32(floor(x[n]*0.5)), 0, 3) == i32(b) then 1 else 0))\n");
static const char counts_u8[] = SPEC("x: 'u8[50]'",
    "  h[b < 256] = sum[n < 50](i32(if x[n] == u8(b) then 1 else 0))\n");
static const char far_out[] = SPEC("x: 'i64[50]'",
    "  h[b < 4] = sum[n < 50](i64(if x[n]*9223372036854775807 == b then 1 else 0))\n");
static const char wraps[] = SPEC("x: 'u8[50]'",
    "  h[b < 300] = sum[n < 50](i32(if x[n] == u8(b) then 1 else 0))\n");
static const char joint[] = SPEC("x: 'u8[50]', y: 'i32[50]', w: 'f32[50]'",
    "  h[a < 4, b < 3] = sum[n < 50](\n"
    "    if i32(x[n])//2 == i32(a) and y[n] == i32(b) then w[n]*w[n] else 0)\n");
static const char peak_of[] = SPEC("l: 'i32[23]', v: 'f32[23, 8]'",
    "  y[k < 5, d < 8] = max[i < 23](if l[i] == i32(k) then v[i, d] else -inf)\n");
static const char by_block[] = SPEC("x: 'f32[23]', v: 'f32[23, 8]'",
    "  l[i < 23] = i32(floor(x[i]))//2\n"
    "  y[k < 5, d < 8] = sum[i < 23](if l[i] == i32(k) then v[i, d]*2 else 0)\n");

/* A block of 6 rows at a time, all that leads to them in it. */
static const char rows_of_six[] =
    "set_scope(o~1, reg)\no0, o1, o2 = split(o.i, [_, 2, 3])\n"
    "reorder(o0, o1, o2, o.d)\nunroll(o2)\nvectorize(o.d, 8)\n"
    "tail(o, peel)\ncompute_at(o~1, o1)\nj0, j1 = split(o~1.j, [_, 4])\n"
    "d0, d1 = split(o~1.d, [_, 8])\nreorder(j0, j1, o~1.i, d0, d1)\n"
    "unroll(j1)\nunroll(o~1.i)\nunroll(d0)\nvectorize(d1, 8)\n"
    "tail(o~1, mask)\ncompute_at(z, o0)\n"
    "z0, z1, z2 = split(z.j, [_, 2, 4])\nunroll(z1)\nvectorize(z2, 4)\n"
    "compute_at(e, o0)\ne0, e1 = split(e.j, [_, 8])\nvectorize(e1, 8)\n"
    "tail(e, mask)\ncompute_at(m, o0)\nm0, m1 = split(m.j, [_, 8])\n"
    "vectorize(m1, 8)\ncompute_at(s, o0)\nset_scope(s~1, reg)\n"
    "s0, s1 = split(s.i, [_, 3])\nt0, t1 = split(s.j, [_, 4])\n"
    "reorder(t0, s0, s1, t1)\nunroll(s1)\nvectorize(t1, 4)\n"
    "tail(s, mask)\ncompute_at(s~1, s0)\nu0, u1 = split(s~1.j, [_, 4])\n"
    "reorder(s~1.d, s~1.i, u0, u1)\nunroll(s~1.i)\nunroll(u0)\n"
    "vectorize(u1, 4)\ntail(s~1, mask)\n";

typedef struct {
	const char *name, *text, *trace;
	int64_t products; /* and additions, by the kernel; -1: not told */
} Case;

/* Padded windows of 3 by 4, by twos and apart, of what lies in pairs. */
static const char window_means[] = SPEC("x: 'f32[9, 30]'",
    "  y[i < 9, j < 30] = sum[r < 3, s < 4](\n"
    "    if 0 <= i + r - 1 < 9 and 0 <= j + s - 2 < 30\n"
    "    then x[i + r - 1, j + s - 2]*x[i + r - 1, j + s - 2] else 0)/12\n");
static const char window_peak[] = SPEC("x: 'f32[9, 31]'",
    "  y[i < 4, j < 15] = max[r < 3, s < 3](\n"
    "    if 2*j + s - 1 >= 0 then x[2*i + r, 2*j + s - 1] else -inf)\n");
static const char window_least[] = SPEC("x: 'i16[9, 31]'",
    "  y[j < 19, i < 8] = min[s < 3, r < 2](x[i + r, (j + 6*s)//2])\n");

/* Factors that are computed, one under a condition. */
static const char scaled[] = SPEC(
    "x: 'f32[10, 9]', s: 'f32[9]', w: 'f32[9, 20]'",
    "  y[i < 10, j < 20] = sum[k < 9](\n"
    "    (x[i, k] - s[k]) * s[k] * (if k <= j then w[k, j] + 1 else 0))\n");

static const Case cases[] = {
    {"padded_plain", padded, "", 8 * 5 * (7 * 3 - 2)},
    {"padded_inline", padded, "compute_inline(p)\n", 8 * 5 * (7 * 3 - 2)},
    {"padded_tile", padded,
	"acc = cache_write(y, reg)\n"
	"x0, x1 = split(y.x, [_, 7])\n"
	"reorder(x0, x1, y.o)\nunroll(x1)\nvectorize(y.o, 8)\n"
	"compute_at(acc, x0)\na0, a1 = split(acc.o, [_, 8])\n"
	"reorder(acc.c, acc.r, acc.x, a0, a1)\nunroll(a0)\n"
	"unroll(acc.r)\nunroll(acc.x)\nvectorize(a1, 8)\n",
	5 * (7 * 3 - 2)},
    {"edges_tile", edges,
	"compute_inline(p)\nacc = cache_write(y, reg)\n"
	"x0, x1 = split(y.x, [_, 7])\n"
	"reorder(x0, x1, y.o)\nunroll(x1)\nvectorize(y.o, 8)\n"
	"compute_at(acc, x0)\na0, a1 = split(acc.o, [_, 8])\n"
	"reorder(acc.c, acc.r, acc.x, a0, a1)\nunroll(a0)\n"
	"unroll(acc.x)\nvectorize(a1, 8)\n",
	5 * (14 * 3 - 2)},
    {"edges_row", edges,
	"compute_inline(p)\nacc = cache_write(y, reg)\n"
	"reorder(y.x, y.o)\nunroll(y.x)\nvectorize(y.o, 8)\n"
	"compute_at(acc, root)\na0, a1 = split(acc.o, [_, 8])\n"
	"reorder(acc.c, acc.r, acc.x, a0, a1)\nunroll(a0)\n"
	"unroll(acc.x)\nvectorize(a1, 8)\n",
	5 * (14 * 3 - 2)},
    {"padded_rows", padded,
	"x0, x1 = split(y.x, [_, 2])\nreorder(x0, y.c, y.r, y.o, x1)\n"
	"unroll(x1)\ntail(y, peel)\n", 8 * 5 * (7 * 3 - 2 + 1)},
    {"padded_rows_inline", padded,
	"compute_inline(p)\n"
	"x0, x1 = split(y.x, [_, 2])\nreorder(x0, y.c, y.r, y.o, x1)\n"
	"unroll(x1)\ntail(y, peel)\n", 8 * 5 * (7 * 3 - 2)},
    {"padded_lanes", padded,
	"compute_inline(p)\nx0, x1 = split(y.x, [_, 4])\n"
	"reorder(x0, y.c, y.r, y.o, x1)\nvectorize(x1, 4)\ntail(y, mask)\n", -1},
    {"padded_parallel", padded,
	"x0, x1 = split(y.x, [_, 3])\ntile = fuse(y.o, x0)\nparallel(tile)\n"
	"compute_at(p, tile)\ntail(y, mask)\n", 8 * 5 * (7 * 3 - 2)},
    {"padded_rfactor", padded,
	"rf = rfactor(y.r)\n", -1},
    {"spread_plain", spread, "", -1},
    {"spread_phases", spread,
	"x0, x1 = split(y.x, [_, 2])\nreorder(x0, y.c, y.r, y.o, x1)\n"
	"unroll(x1)\nunroll(y.r)\n", 8 * 3 * (10 * 2 - 1)},
    {"spread_phases_inline", spread,
	"compute_inline(p)\n"
	"x0, x1 = split(y.x, [_, 2])\nreorder(x0, y.c, y.r, y.o, x1)\n"
	"unroll(x1)\nunroll(y.r)\n", 8 * 3 * (10 * 2 - 2)},
    {"spread_split", spread,
	"x0, x1 = split(y.x, [_, 2])\nr0, r1 = split(y.r, [_, 2])\n"
	"reorder(x0, y.c, r0, y.o, r1, x1)\n"
	"unroll(x1)\nunroll(r1)\n", 8 * 3 * 10 * 2},
    {"spread_all", spread,
	"reorder(y.c, y.r, y.o, y.x)\n"
	"unroll(y.x)\nunroll(y.r)\n", 8 * 3 * (10 * 2 - 2)},
    {"spread_thin", spread,
	"thin(p.x, 2)\nx0, x1 = split(y.x, [_, 2])\n"
	"reorder(x0, y.c, y.r, y.o, x1)\nunroll(x1)\nunroll(y.r)\n",
	8 * 3 * (10 * 2 - 1)},
    {"spread_thin_inline", spread,
	"thin(p.x, 2)\ncompute_inline(p)\nx0, x1 = split(y.x, [_, 2])\n"
	"reorder(x0, y.c, y.r, y.o, x1)\nunroll(x1)\nunroll(y.r)\n", -1},
    {"spread_thin_place", spread,
	"thin(p.x, 2)\nx0, x1 = split(y.x, [_, 4])\n"
	"reorder(x0, y.c, y.r, y.o, x1)\ncompute_at(p, x0)\nunroll(x1)\n"
	"unroll(y.r)\nv0, v1 = split(p.x, [_, 4])\nvectorize(v1, 4)\n"
	"tail(p, mask)\ntail(y, peel)\n", -1},
    {"spread2_thin", spread2,
	"thin(p.y, 3)\nthin(p.x, 3)\n"
	"y0, y1 = split(o.y, [_, 3])\nx0, x1 = split(o.x, [_, 3])\n"
	"reorder(y0, x0, o.r, o.s, y1, x1)\n"
	"unroll(o.r)\nunroll(o.s)\nunroll(y1)\nunroll(x1)\n", -1},
    {"thirds_thin", thirds, "thin(p.x, 3)\nunroll(y.r)\n", -1},
    {"thirds_inline", thirds, "thin(p.x, 3)\ncompute_inline(p)\n", -1},
    {"backward_plain", backward, "", -1},
    {"backward_phases", backward,
	"x0, x1 = split(y.x, [_, 2])\nreorder(x0, y.o, y.r, y.c, x1)\n"
	"unroll(x1)\nunroll(y.r)\ntail(y, peel)\n", -1},
    {"both_thin", both,
	"thin(p.x, 2)\nthin(q.x, 2)\n"
	"x0, x1 = split(y.x, [_, 2])\nreorder(x0, y.c, y.r, y.o, x1)\n"
	"unroll(x1)\nunroll(y.r)\ntail(y, peel)\n", -1},
    {"spread2_plain", spread2, "", -1},
    {"spread2_phases", spread2,
	"y0, y1 = split(o.y, [_, 3])\nx0, x1 = split(o.x, [_, 3])\n"
	"reorder(y0, x0, o.r, o.s, y1, x1)\n"
	"unroll(o.r)\nunroll(o.s)\nunroll(y1)\nunroll(x1)\n", 15 * 25 + 5},
    {"spread2_inline", spread2,
	"compute_inline(p)\n"
	"y0, y1 = split(o.y, [_, 3])\nx0, x1 = split(o.x, [_, 6])\n"
	"reorder(y0, x0, o.r, o.s, y1, x1)\n"
	"unroll(o.r)\nunroll(o.s)\nunroll(y1)\nunroll(x1)\n", -1},
    {"triangle_plain", triangle, "", 8 * 19 * 20 / 2},
    {"triangle_rows", triangle,
	"i0, i1 = split(y.i, [_, 4])\nreorder(i0, y.k, i1, y.j)\n"
	"unroll(i1)\nvectorize(y.j, 8)\ntail(y, peel)\n", 19 * 20 / 2 + 19},
    {"triangle_blocks", triangle,
	"k0, k1 = split(y.k, [_, 4])\nreorder(k0, y.i, k1, y.j)\n"
	"vectorize(y.j, 8)\ntail(y, mask)\n", 19 * 20 / 2},
    {"scores_plain", scores, "", 6 * 19 * 20 / 2},
    {"scores_tile", scores,
	"acc = cache_write(s, reg)\n"
	"i0, i1 = split(s.i, [_, 2])\nj0, j1 = split(s.j, [_, 4])\n"
	"reorder(i0, j0, i1, j1)\nunroll(i1)\nvectorize(j1, 4)\n"
	"tail(s, mask)\ncompute_at(acc, j0)\na0, a1 = split(acc.j, [_, 4])\n"
	"reorder(acc.d, acc.i, a0, a1)\n"
	"unroll(acc.i)\nunroll(a0)\nvectorize(a1, 4)\n", -1},
    {"complex_plain", complex, "", -1},
    {"complex_rows", complex,
	"reorder(y.k, y.i)\n", -1},
    {"peaks_plain", peaks, "", 0},
    {"peaks_rows", peaks, "i0, i1 = split(y.i, [_, 4])\n"
	"reorder(i0, y.j, i1)\nunroll(i1)\ntail(y, peel)\n", 0},
    {"data_plain", data, "", -1},
    {"data_lanes", data, "reorder(y.i, y.j, y.o)\nvectorize(y.o, 8)\n", -1},
    {"narrow_plain", narrow, "", 0},
    {"narrow_inline", narrow, "compute_inline(p)\n", 0},
    {"narrow_unrolled", narrow,
	"reorder(y.r, y.x)\nunroll(y.x)\nunroll(y.r)\n", 0},
    {"odd_plain", odd, "", -1},
    {"odd_lanes", odd,
	"reorder(y.j, y.i)\ni0, i1 = split(y.i, [_, 4])\n"
	"vectorize(i1, 4)\ntail(y, mask)\n", -1},
    {"halves_plain", halves, "", 0},
    {"halves_lanes", halves,
	"j0, j1, j2 = split(y.j, [_, 2, 4])\nunroll(j1)\nvectorize(j2, 4)\n"
	"tail(y, mask)\n", 0},
    {"halves_rows", halves,
	"i0, i1 = split(y.i, [_, 3])\nj0, j1 = split(y.j, [_, 4])\n"
	"reorder(i0, j0, i1, j1)\nunroll(i1)\nvectorize(j1, 4)\n"
	"tail(y, peel)\n", 0},
    {"halves_other", halves,
	"i0, i1 = split(y.i, [_, 4])\nreorder(y.j, i0, i1)\n"
	"vectorize(i1, 4)\ntail(y, guard)\n", 0},
    {"shifted_plain", shifted, "", 0},
    {"shifted_lanes", shifted,
	"i0, i1 = split(y.i, [_, 8])\nvectorize(i1, 8)\ntail(y, peel)\n", 0},
    {"shifted_unrolled", shifted,
	"i0, i1, i2 = split(y.i, [_, 2, 8])\nunroll(i1)\n"
	"vectorize(i2, 8)\ntail(y, mask)\n", 0},
    {"sums_prefix", sums, "w, p = prefix(y.k, 16)\n", -1},
    {"sums_rows", sums,
	"w, p = prefix(y.k, 4)\n"
	"j0, j1 = split(y.j, [_, 4])\nvectorize(j1, 4)\ntail(y, mask)\n"
	"compute_at(p, y.i)\ncompute_at(w, y.i)\n"
	"w0, w1 = split(w.j, [_, 8])\nreorder(w0, w.x0, w1)\n"
	"unroll(w.x0)\nvectorize(w1, 8)\ntail(w, mask)\n", -1},
    {"sums_twice", sums,
	"w, p = prefix(y.k, 4)\nv, q = prefix(p.x0, 3)\n"
	"i0, i1 = split(y.i, [_, 2])\nunroll(i1)\n", -1},
    {"columns_prefix", columns,
	"w, p = prefix(y.k, 8)\n"
	"j0, j1 = split(w.j, [_, 8])\nreorder(j0, w.i, w.x0, j1)\n"
	"vectorize(j1, 8)\ntail(w, peel)\n", -1},
    {"columns_carry", columns,
	"carry(y.k)\ni0, i1 = split(y.i, [_, 4])\n"
	"j0, j1 = split(y.j, [_, 8])\nreorder(i0, j0, i1, j1)\n"
	"unroll(i1)\nvectorize(j1, 8)\ntail(y, mask)\n", -1},
    {"columns_ring", means,
	"carry(y~1.k)\ni0, i1 = split(y~1.i, [_, 4])\n"
	"j0, j1 = split(y~1.j, [_, 8])\nreorder(i0, j0, i1, j1)\n"
	"unroll(i1)\nvectorize(j1, 8)\ntail(y~1, mask)\n"
	"reverse_compute_at(y, i0)\ntransform_layout(y~1, [i%i1, j])\n", -1},
    {"columns_carry_outside", columns,
	"carry(y.k)\nj0, j1 = split(y.j, [_, 8])\nreorder(j0, y.i, j1)\n"
	"parallel(j0)\nvectorize(j1, 8)\ntail(y, peel)\n", -1},
    {"sums_carry", sums,
	"carry(y.k)\nj0, j1 = split(y.j, [_, 4])\nunroll(j1)\n"
	"tail(y, guard)\nparallel(y.i)\n", -1},
    {"before_carry", before, "carry(y.k)\n", -1},
    {"products_carry", products_of,
	"carry(y.k)\nj0, j1 = split(y.j, [_, 8])\nunroll(j1)\n", -1},
    {"greatest_carry", greatest, "carry(y.k)\n", -1},
    {"roots_carry", roots, "carry(y.k)\n", -1},
    {"roots_before_carry", roots_before, "carry(y.k)\n", -1},
    {"roots_prefix", roots, "w, p = prefix(y.k, 8)\n", -1},
    {"roots_before_prefix", roots_before, "w, p = prefix(y.k, 8)\n", -1},
    {"before_prefix", before, "w, p = prefix(y.k, 16)\n", -1},
    {"products_prefix", products_of,
	"w, p = prefix(y.k, 8)\nv, q = prefix(p.x0, 2)\n", -1},
    {"greatest_prefix", greatest, "w, p = prefix(y.k, 8)\n", -1},
    {"means_columns", window_means,
	"c = separate(y~1.s)\nunfold(y~1)\ncompute_inline(y~1)\n"
	"i0, i1 = split(y.i, [_, 4])\nj0, j1, j2 = split(y.j, [_, 2, 8])\n"
	"reorder(i0, j0, i1, j1, j2)\nunroll(i1)\nunroll(j1)\n"
	"vectorize(j2, 8)\ntail(y, mask)\ncompute_at(c, j0)\n"
	"c0, c1 = split(c.j, [_, 8])\nreorder(c0, c.r, c.i, c1)\n"
	"unroll(c.r)\nunroll(c.i)\nvectorize(c1, 8)\ntail(c, peel)\n", -1},
    {"means_elements", window_means,
	"c = separate(y~1.s)\ne = separate(c.r)\nunfold(c)\n"
	"compute_at(c, y~1.i)\ncompute_at(e, y~1.i)\nparallel(y~1.i)\n", -1},
    {"means_rows", window_means, "c = separate(y~1.r)\n", -1},
    {"peak_columns", window_peak,
	"c = separate(y.s)\nunfold(y)\nunfold(c)\n"
	"j0, j1 = split(y.j, [_, 8])\nvectorize(j1, 8)\ntail(y, peel)\n"
	"compute_at(c, y.i)\n"
	"c0, c1 = split(c.j, [_, 8])\nvectorize(c1, 8)\ntail(c, mask)\n", -1},
    {"peak_written_out", window_peak, "unfold(y)\n", -1},
    {"least_columns", window_least, "c = separate(y.s)\n", -1},
    {"scaled_factors", scaled,
	"t = extract(y, 1)\nu = extract(y, 2)\nacc = cache_write(y, reg)\n"
	"i0, i1 = split(y.i, [_, 4])\nj0, j1 = split(y.j, [_, 8])\n"
	"reorder(i0, j0, i1, j1)\nunroll(i1)\nvectorize(j1, 8)\n"
	"compute_at(acc, j0)\na0, a1 = split(acc.j, [_, 8])\n"
	"reorder(acc.k, acc.i, a0, a1)\nunroll(acc.i)\nunroll(a0)\n"
	"vectorize(a1, 8)\ntail(acc, pad)\n"
	"p = cache_read(acc, t)\nq = cache_read(acc, u)\n"
	"transform_layout(p, [x0//4, x1, x0%4])\n"
	"transform_layout(q, [x1//8, x0, x1%8])\npad(p, 0)\npad(q, 0)\n"
	"compute_at(p, i0)\ncompute_inline(t)\n"
	"tail(y, mask)\n", -1},
    {"causal_plain", causal, "", -1},
    {"causal_rows", causal,
	"i0, i1 = split(o.i, [_, 4])\nreorder(i0, o.j, i1, o.d)\n"
	"unroll(i1)\nvectorize(o.d, 8)\ntail(o, peel)\n"
	"compute_at(m, e.i)\n"
	"j0, j1 = split(e.j, [_, 8])\nvectorize(j1, 8)\ntail(e, mask)\n", -1},
    {"attention_plain", attention, "", 12 * 21 * 22 / 2},
    {"attention_rows", attention, rows_of_six, -1},
    {"attention_inline", attention,
	"compute_inline(s)\ncompute_inline(e)\n", -1},
    {"attention_parallel", attention,
	"reverse_compute_at(o, o~1.i)\nparallel(o~1.i)\n", -1},
    {"window_plain", window, "", 12 * (17 * 5 + 10)},
    {"window_rows", window, "compute_inline(p)\n", -1},
    {"extents_plain", extents, "", 12 * 21 * 22 / 2},
    {"extents_rows", extents, rows_of_six, -1},
    {"twice_plain", twice, "", 12 * 21 * 22 / 2},
    {"segments_plain", segments, "", 23 * 8},
    {"segments_rows", segments, "reorder(y.i, y.k, y.d)\n", 23 * 8},
    {"segments_lanes", segments,
	"reorder(y.i, y.k, y.d)\nvectorize(y.d, 8)\n", 23},
    {"segments_dense", segments,
	"reorder(y.i, y.k, y.d)\nunroll(y.k)\nvectorize(y.d, 8)\n", 23},
    {"segments_tiles", segments,
	"i0, i1 = split(y.i, [_, 4])\nd0, d1 = split(y.d, [_, 4])\n"
	"reorder(d0, i0, i1, y.k, d1)\nunroll(i1)\nvectorize(d1, 4)\n"
	"parallel(d0)\ntail(y, peel)\n", 46},
    {"segments_masked", segments,
	"i0, i1 = split(y.i, [_, 4])\nd0, d1 = split(y.d, [_, 16])\n"
	"reorder(i0, i1, y.k, d0, d1)\nvectorize(d1, 16)\n"
	"tail(y, mask)\n", 23},
    {"segments_parts", segments,
	"i0, i1 = split(y.i, [_, 6])\np = rfactor(i0)\n"
	"reorder(p.i0, p.i1, p.k, p.d)\nparallel(p.i0)\n", -1},
    {"segments_labels_inside", segments,
	"reorder(y.k, y.i, y.d)\nvectorize(y.d, 8)\n", 23},
    {"segments_lanes_outside", segments,
	"i0, i1 = split(y.i, [_, 8])\nreorder(y.d, i0, y.k, i1)\n"
	"vectorize(i1, 8)\ntail(y, mask)\n", -1},
    {"segments_blocks_of_labels", segments,
	"k0, k1 = split(y.k, [_, 2])\nreorder(k0, y.i, k1, y.d)\n"
	"tail(y, mask)\n", 23 * 8},
    {"outside_rows", outside,
	"reorder(y.i, y.j, y.k, y.d)\n", -1},
    {"outside_early", outside,
	"reorder(y.i, y.k, y.j, y.d)\n", -1},
    {"outside_lanes", outside,
	"d0, d1, d2 = split(y.d, [_, 2, 4])\nreorder(y.i, y.j, y.k, d0, d1, d2)\n"
	"unroll(d1)\nvectorize(d2, 4)\ntail(y, mask)\n", -1},
    {"first_told_rows", first_told, "reorder(y.i, y.k, y.d)\n", -1},
    {"first_told_lanes", first_told,
	"reorder(y.i, y.k, y.d)\nvectorize(y.d, 8)\n", -1},
    {"read_again_rows", read_again,
	"reorder(y.i, y.k, y.d)\nvectorize(y.d, 8)\n", -1},
    {"counts_rows", counts, "reorder(h.n, h.b)\n", -1},
    {"counts_parts", counts,
	"n0, n1 = split(h.n, [_, 4])\np = rfactor(n1)\n"
	"reorder(p.n0, p.n1, p.b)\nunroll(p.n1)\n", -1},
    {"counts_bytes", counts_u8, "reorder(h.n, h.b)\n", -1},
    {"counts_far_out", far_out, "reorder(h.n, h.b)\n", -1},
    {"counts_wrap", wraps, "reorder(h.n, h.b)\n", -1},
    {"joint_rows", joint, "reorder(h.n, h.a, h.b)\n", -1},
    {"joint_other", joint, "reorder(h.n, h.b, h.a)\n", -1},
    {"joint_unrolled", joint,
	"reorder(h.n, h.a, h.b)\nunroll(h.b)\n", -1},
    {"peak_of_rows", peak_of,
	"reorder(y.i, y.k, y.d)\nvectorize(y.d, 8)\n", 0},
    {"by_block_rows", by_block, "reorder(y.i, y.k, y.d)\n", -1},
    {"by_block_inline", by_block,
	"compute_inline(l)\nreorder(y.i, y.k, y.d)\nvectorize(y.d, 8)\n", -1},
    {"by_block_place", by_block,
	"i0, i1 = split(y.i, [_, 8])\nreorder(i0, i1, y.k, y.d)\n"
	"compute_at(l, i0)\nvectorize(y.d, 8)\n", -1},
    {"by_block_inside", by_block,
	"reorder(y.i, y.k, y.d)\ncompute_at(l, y.k)\n", -1},
    {"needed_plain", needed, "", -1},
    {"needed_inline", needed, "compute_at(t, root)\n", -1},
    /* of the second block of 16 rows one iteration of j0 is left */
    {"needed_rows", needed,
	"compute_inline(t)\ny0, y1, y2 = split(y.i, [_, 2, 8])\n"
	"unroll(y1)\nvectorize(y2, 8)\ntail(y, peel)\n"
	"unroll(y0, limit=2)\ncompute_at(y~1, y0)\ncompute_at(a, y0)\n"
	"i0, i1 = split(a.i, [_, 8])\nunroll(i1)\n"
	"j0, j1, j2 = split(a.j, [_, 2, 8])\nreorder(i0, j0, j1, i1, j2)\n"
	"unroll(j1)\nvectorize(j2, 8)\n", -1},
};
enum { NCASES = sizeof cases / sizeof *cases };

typedef struct {
	Program *program;
	void **data;
	Lowered *lowered;
} Made;

static Arena *arena;
static Target *target;
static Made made[NCASES];

static Program *program_of(const char *text, const char *symbol, Numerics n)
{
	Source *source = NEW(arena, Source);
	Diag diag = {0};
	*source = (Source){.name = "z.yaml", .text = text, .size = strlen(text)};
	Spec *spec = spec_parse(arena, source, &diag);
	Program *p = spec
	    ? spec_program(arena, spec, "", NULL, 0, n, &diag)
	    : NULL;
	if (!p)
		fail_msg("%s: %s", symbol, buf_text(&diag.text));
	p->symbol = arena_printf(arena, "z_%s", symbol);
	return p;
}

static Nest *nest_of(const Program *p, const char *name, const Trace *trace)
{
	Error error = {0};
	Nest *nest = schedule_nest(arena, p, &target->machine, trace, &error);
	if (!nest)
		fail_msg("%s: %s", name, error.text);
	return nest;
}

static Lowered *lowered_of(const Nest *nest, const char *name)
{
	Error error = {0};
	char why[512];
	Lowered *l = lower(arena, nest, &target->machine, &error);
	if (!l)
		fail_msg("%s: %s", name, error.text);
	if (!lowered_verify(l, why, sizeof why))
		fail_msg("%s: %s", name, why);
	return l;
}

static int set_up(void **state)
{
	Error error;
	(void)state;
	lower_asks_again = true;
	arena = arena_new();
	target = target_parse(arena, "llvm -mcpu=haswell -threads=2", &error);
	assert_non_null(target);
	for (int i = 0; i < NCASES; i++) {
		const Case *c = &cases[i];
		Made *m = &made[i];
		Rng rng = rng_stream(5, 0, (uint64_t)i);
		m->program = program_of(c->text, c->name, NUMERICS_DEFAULT);
		m->data = lowercheck_data(arena, m->program, &rng);
		lowercheck_expect(m->program, m->data);
		m->lowered = lowered_of(nest_of(m->program, c->name,
					    schedule_steps(arena, c->trace)),
		    c->name);
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_free(arena);
	return 0;
}

/* All numbers are small integers, but of an exponential. */
static double tolerance(const char *text)
{
	return strstr(text, "exp(") ? 1e-5 : 0;
}

static void check(int i, LowerCall call, void *context)
{
	const char *why = lowercheck_run(arena, made[i].lowered, made[i].data,
	    tolerance(cases[i].text), call, context);
	if (why)
		fail_msg("%s: %s", cases[i].name, why);
}

static void test_interpreted(void **state)
{
	(void)state;
	for (int i = 0; i < NCASES; i++)
		check(i, NULL, NULL);
}

static void call_compiled(void *library, const char *symbol,
    const LowFunction *f, void *const *args)
{
	void *function = dlsym(library, symbol);
	assert_non_null(function);
	lowercheck_call(function, args, f->params.n);
}

static void test_compiled(void **state)
{
	Lowered *all[NCASES];
	Buf object = {0};
	(void)state;
	if (!target_runs_here(target))
		skip();
	for (int i = 0; i < NCASES; i++)
		all[i] = made[i].lowered;
	lowtest_compile(target, all, NCASES, LLVM_OBJECT, &object);
	void *library = lowtest_open(&object);
	for (int i = 0; i < NCASES; i++)
		check(i, call_compiled, library);
	buf_free(&object);
}

/* Fused operations of the kernel, of a vector one. */
static int64_t products(const Made *m)
{
	enum { ARGS = 8 };
	const Program *p = m->program;
	void *args[ARGS];
	int n = 0, pack = 0;
	for (int i = 0; i < p->ninputs; i++) {
		args[n] = m->data[i];
		if (p->buffers[i].is_const) {
			LowRun ahead = {0};
			void *two[2] = {m->data[i],
			    lowercheck_memory(
				arena, m->lowered->packed_bytes[pack])};
			assert_true(low_function_run(
			    m->lowered->packs.at[pack++], two, &ahead));
			args[n] = two[1];
		}
		n++;
	}
	args[n++] = lowercheck_memory(
	    arena, buffer_bytes(&p->buffers[p->outputs[0]]));
	args[n++] = lowercheck_memory(arena, m->lowered->workspace_bytes + 64);
	LowRun run = {0};
	assert_true(low_function_run(m->lowered->kernel, args, &run));
	return run.op_count[LOW_FMA];
}

static void test_products(void **state)
{
	int wrong = 0;
	(void)state;
	for (int i = 0; i < NCASES; i++) {
		if (cases[i].products < 0)
			continue;
		int64_t n = products(&made[i]);
		if (n != cases[i].products)
			print_message("%s: %lld products, not %lld\n",
			    cases[i].name, (long long)n,
			    (long long)cases[i].products), wrong++;
	}
	assert_int_equal(wrong, 0);
}

static void count_nodes(const LowBody *body, int *ifs, int *loads)
{
	for (int i = 0; i < body->n; i++) {
		const LowNode *n = body->at[i];
		*ifs += n->kind == LOWNODE_IF;
		*loads += n->kind == LOWNODE_OP && n->op == LOW_LOAD;
		count_nodes(&n->body, ifs, loads);
		count_nodes(&n->other, ifs, loads);
	}
}

/* Before, within and after the window's steps that are whole, an edge's zeros
 * are known without a test; each of the three loads what it multiplies, also
 * where it is one iteration: more would be kept than there are registers. */
static void test_edges(void **state)
{
	static const struct {
		const char *name;
		int loads;
	} told[] = {
	    /* the weights are gathered */
	    {"edges_tile", 6 + 7 + 6},
	    {"edges_row", 13 + 14 + 13},
	};
	(void)state;
	for (int k = 0; k < 2; k++)
		for (int i = 0; i < NCASES; i++) {
			int ifs = 0, loads = 0;
			if (strcmp(cases[i].name, told[k].name))
				continue;
			count_nodes(&made[i].lowered->kernel->body, &ifs,
			    &loads);
			assert_int_equal(ifs, 0);
			assert_int_equal(loads, told[k].loads);
		}
}

/* Comparisons in the kernel's code: where a loop is known to run once, with the
 * label, nothing is compared but what else is asked, and the label with the ends
 * where it may be outside of them. */
static void count_compared(const LowBody *body, int *equal, int *ends)
{
	for (int i = 0; i < body->n; i++) {
		const LowNode *n = body->at[i];
		bool op = n->kind == LOWNODE_OP;
		*equal += op && n->op == LOW_EQ;
		*ends += op && (n->op == LOW_LE || n->op == LOW_LT);
		count_compared(&n->body, equal, ends);
		count_compared(&n->other, equal, ends);
	}
}

static void test_scattered(void **state)
{
	static const struct {
		const char *name;
		int equal, ends;
	} told[] = {
	    {"segments_rows", 0, 0},
	    {"segments_lanes", 0, 0},
	    {"segments_dense", 5, 0},
	    {"segments_tiles", 0, 0},
	    {"segments_masked", 0, 0},
	    {"segments_parts", 0, 0},
	    {"segments_labels_inside", 1, 0},
	    {"segments_lanes_outside", 1, 0},
	    {"outside_rows", 0, 2},
	    {"outside_early", 1, 0},
	    {"outside_lanes", 0, 4},
	    {"first_told_rows", 0, 4},
	    {"read_again_rows", 0, 2},
	    {"counts_rows", 0, 0},
	    {"counts_bytes", 0, 0},
	    {"counts_far_out", 0, 2},
	    {"counts_wrap", 1, 0},
	    {"joint_rows", 0, 3},
	    {"joint_other", 1, 1},
	    {"joint_unrolled", 3, 1},
	    {"peak_of_rows", 0, 2},
	    {"by_block_rows", 0, 2},
	    {"by_block_inline", 0, 2},
	    {"by_block_place", 0, 2},
	    {"by_block_inside", 1, 0},
	};
	int wrong = 0;
	(void)state;
	for (size_t k = 0; k < sizeof told / sizeof *told; k++)
		for (int i = 0; i < NCASES; i++) {
			int equal = 0, ends = 0;
			if (strcmp(cases[i].name, told[k].name))
				continue;
			count_compared(&made[i].lowered->kernel->body, &equal,
			    &ends);
			if (equal == told[k].equal && ends == told[k].ends)
				continue;
			print_message("%s: %d and %d compared\n",
			    told[k].name, equal, ends);
			wrong++;
		}
	assert_int_equal(wrong, 0);
}

/* What the rules write, the default and the exact numerics. */
static void test_candidates(void **state)
{
	static const char *const texts[] = {padded, spread, spread2, thirds,
	    backward, both, triangle,
	    scores, complex, peaks, data, narrow, odd, halves, shifted, causal,
	    attention, window, extents, twice, needed, sums, columns, means, before,
	    products_of, greatest, segments, outside, first_told, read_again,
	    counts, counts_u8, far_out, wraps, joint, peak_of, by_block};
	enum { TEXTS = sizeof texts / sizeof *texts, SAMPLES = 40 };
	int made_of = 0;
	(void)state;
	for (int m = 0; m < 2 * TEXTS; m++) {
		Error error = {0};
		Candidate c;
		Rng rng = rng_stream(6, 0, (uint64_t)m);
		const char *name = arena_printf(arena, "text %d", m / 2);
		Program *p = program_of(texts[m / 2], "c",
		    m % 2 ? NUMERICS_EXACT : NUMERICS_DEFAULT);
		Space *space = space_new(arena, p, &target->machine, &error);
		void **values = lowercheck_data(arena, p, &rng);
		lowercheck_expect(p, values);
		assert_non_null(space);
		for (int i = 0; i < SAMPLES; i++) {
			if (!space_sample(space, &rng, &c))
				break;
			Nest *nest =
			    nest_of(p, name, space_trace(arena, space, &c));
			const char *wrong = lowercheck_run(arena,
			    lowered_of(nest, name), values,
			    tolerance(texts[m / 2]), NULL, NULL);
			if (wrong)
				fail_msg("%s %d: %s", name, i, wrong);
			made_of++;
		}
	}
	print_message("# %d candidates\n", made_of);
	assert_true(made_of > 100);
}

/* A factor that is 0 everywhere is no arm's: infinity times it is NaN. */
static void test_plain_zero(void **state)
{
	static const char *const texts[] = {
	    SPEC("x: 'f32[5]'", "  y[i < 4] = sum[r < 2](x[i + r]*0)\n"),
	    SPEC("x: 'f32[5]'", "  y[i < 4] = sum[r < 2](0/x[i + r])\n"),
	    SPEC("x: 'f32[5]'",
		"  z[i < 5] = 0.0\n  y[i < 4] = sum[r < 2](x[i + r]*z[i])\n")};
	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		const Program *p = program_of(texts[i], "z", NUMERICS_DEFAULT);
		Nest *nest = nest_of(p, "z", NULL);
		int last = nest->stages.n - 1;
		assert_int_equal(
		    nest_step_conditions(nest, arena, last, true).n, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_interpreted),
	    cmocka_unit_test(test_compiled),
	    cmocka_unit_test(test_products),
	    cmocka_unit_test(test_edges),
	    cmocka_unit_test(test_scattered),
	    cmocka_unit_test(test_candidates),
	    cmocka_unit_test(test_plain_zero),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
