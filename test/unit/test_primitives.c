/* Each primitive accepted, and refused for each of its reasons with the nest
 * as it was. */
#include "schedule/plan/plan.h"
#include "test/common_program.h"
#include "test/common_schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
	const char *before; /* steps that apply */
	const char *step;
	const char *why;    /* part of the refusal; NULL: it applies */
} Case;

static const Case chain[] = {
    /* names and numbers */
    {"", "parallel(x.i)", "there is no loop 'x.i'"},
    {"", "compute_inline(x)", "there is no block 'x'"},
    {"", "cp = cache_read(c, x)", "there is no buffer 'x'"},
    {"", "parallel(3)", "a name or word is expected"},
    {"", "set_scope(c, ? in {reg, local})", "a decision is open"},
    {"", "vectorize(c.j, x)", "a number is expected"},
    {"", "mo, mi = split(c.i, ? in tile([4]))", "a decision is open"},
    {"", "mo, mi = split(c.i, 4)", "a list of at least two factors"},
    {"", "mo, mi = split(c.i, [4, _])", "only the first factor may be _"},
    {"", "mo, mi = split(c.i, [_, x])", "a factor is a number"},
    {"", "mo, mi = split(c.i, [_, 0])", "a factor is at least 1"},
    {"", "mo = split(c.i, [_, 4])", "as many names as it makes"},
    {"", "c, mi = split(c.i, [_, 4])", "the name 'c' is taken"},
    {"", "root, mi = split(c.i, [_, 4])", "'root' is no name to give"},
    {"", "m, m = split(c.i, [_, 4])", "gives one name twice"},
    {"", "unroll(c.i, 0)", "a number is out of its range"},
    /* split */
    {"", "mo, mi = split(c.i, [_, 4])", NULL},
    {"", "mo, m1, mi = split(c.i, [1, 2, 4])", NULL},
    {"", "mo, mi = split(c.i, [_, lanes])", NULL},
    {"mo, mi = split(c.i, [_, 4])", "x, y = split(mi, [2, 2])", NULL},
    {"mo, mi = split(c.i, [_, 4])", "x, y = split(c.j, [_, mi])", NULL},
    {"mo, mi = split(c.i, [_, 4])", "x, y = split(c.j, [_, mo])",
	"or a loop with a fixed extent"},
    {"", "mo, mi = split(c.i, [1, 4])", "do not cover the loop exactly"},
    {"", "mo, mi = split(c.i, [_, 2147483647])", NULL},
    {"", "mo, m1, mi = split(c.i, [_, 65536, 65536])", "too large"},
    {"mo, mi = split(c.i, [_, 4])", "x, y = split(mo, [1, 2])",
	"the first factor of this loop has to be _"},
    {"parallel(c.i)", "mo, mi = split(c.i, [_, 4])", "split it before"},
    {"mo, mi = split(c.i, [_, 4])", "x, y = split(c.i, [_, 4])",
	"there is no loop 'c.i'"},
    {"blockize(c.j)", "x, y = split(c.k, [_, 4])", "made by blockize"},
    {"compute_at(p, c.i)", "mo, mi = split(c.i, [_, 4])", NULL},
    /* fuse */
    {"", "ij = fuse(c.i, c.j)", NULL},
    {"", "ij = fuse(c.i, d.j)", "different blocks"},
    {"", "ij = fuse(c.j, c.i)", "not next to each other"},
    {"", "ij = fuse(c.i, c.k)", "not next to each other"},
    {"", "jk = fuse(c.j, c.k)", "a reduction loop and another"},
    {"parallel(c.i)", "ij = fuse(c.i, c.j)", "fuse it before"},
    {"compute_at(p, c.i)", "ij = fuse(c.i, c.j)", "placed between"},
    {"compute_at(p, c.j)", "ij = fuse(c.i, c.j)", NULL},
    {"decompose_reduction(c, c.j)", "ij = fuse(c.i, c.j)",
	"the reduction starts between"},
    {"blockize(c.j)", "ij = fuse(c.i, c.j)", "made by blockize"},
    /* reorder */
    {"", "reorder(c.k, c.j, c.i)", NULL},
    {"compute_at(p, c.i)", "reorder(c.k, c.j)", NULL},
    {"", "reorder(c.i, d.j)", "different blocks"},
    {"", "reorder(c.i, c.i)", "named twice"},
    {"compute_at(p, c.i)", "reorder(c.j, c.i)", "placed between"},
    {"decompose_reduction(c, c.j)", "reorder(c.k, c.j)", "starts between"},
    {"blockize(c.j)", "reorder(c.k, c.j)", "made by blockize"},
    /* kinds of loops */
    {"", "parallel(c.i)", NULL},
    {"", "parallel(c.k)", "a reduction loop cannot be parallel"},
    {"parallel(c.i)", "parallel(c.i)", "annotated already"},
    {"parallel(c.j)", "parallel(c.i)", "is inside of it already"},
    {"blockize(c.j)", "parallel(c.j)", "made by blockize"},
    {"jo, ji = split(c.j, [_, 4])", "vectorize(ji, 4)", NULL},
    {"jo, ji = split(c.j, [_, lanes])", "vectorize(ji, lanes)", NULL},
    {"jo, ji = split(c.j, [_, 4])", "vectorize(ji, 8)", "no multiple of the"},
    {"jo, ji = split(c.j, [_, 16])", "vectorize(ji, lanes)", NULL},
    {"", "vectorize(c.j, 4)", NULL},
    {"jo, ji = split(c.j, [_, 4])", "vectorize(jo, 8)", "is not fixed"},
    {"", "vectorize(c.j, 20)", "a vector has 1, 2, 4"},
    {"", "vectorize(c.k, 16)", NULL},
    {"", "vectorize(p.k, 16)", NULL},
    {"jo, ji = split(c.j, [_, 4])\nvectorize(ji, 4)", "vectorize(jo, 4)",
	"has a vector loop already"},
    {"compute_at(p, c.j)", "vectorize(c.j, 4)", "is placed at the loop"},
    {"parallel(p.k)", "vectorize(p.k, 16)", "annotated already"},
    {"", "unroll(c.k)", NULL},
    {"", "unroll(c.k, limit=16)", NULL},
    {"", "unroll(c.k, 16)", NULL},
    {"unroll(c.k, 16)", "unroll(c.k)", "annotated already"},
    {"", "bind(c.i, blockIdx.x)", NULL},
    {"", "bind(c.i, warp)", "a thread axis is"},
    {"", "bind(c.k, blockIdx.x)", "blocks do not reduce together"},
    {"bind(c.i, threadIdx.x)", "bind(c.j, threadIdx.x)", "has that thread"},
    {"unroll(c.i)", "bind(c.i, threadIdx.x)", "annotated already"},
    /* compute_at */
    {"", "compute_at(p, c.i)", NULL},
    {"", "compute_at(p, inline)", NULL},
    {"", "compute_at(c, d.j)", NULL},
    {"compute_at(p, c.i)", "compute_at(p, root)", NULL},
    {"", "compute_at(out, c.i)", "writes an output"},
    {"", "compute_at(p, d.i)", "is not below the loop"},
    {"", "compute_at(p, p.i)", "is not below the loop"},
    {"jo, ji = split(c.j, [_, 4])\nvectorize(ji, 4)", "compute_at(p, ji)",
	"is a vector loop"},
    {"blockize(c.j)", "compute_at(p, c.k)", "made by blockize"},
    {"vectorize(p.k, 16)", "compute_at(p, c.i)", "is not split off"},
    {"parallel(p.i)\nparallel(c.i)", "compute_at(p, c.i)", "of a kind that"},
    {"compute_at(p, c.i)\nparallel(p.i)\nparallel(d.i)",
	"compute_at(c, d.i)", "of a kind that"},
    {"reverse_compute_at(d, c.i)", "compute_at(d, out.j)",
	"moved by reverse_compute_at"},
    /* reverse_compute_at */
    {"", "reverse_compute_at(d, c.i)", NULL},
    {"", "reverse_compute_at(d, d.i)", "belongs to the block"},
    {"", "reverse_compute_at(c, p.i)", "the block has a reduction"},
    {"compute_at(d, out.j)", "reverse_compute_at(d, c.i)", "has a place"},
    {"", "reverse_compute_at(out, c.i)", "does not read what the loop's"},
    {"compute_at(c, d.i)", "reverse_compute_at(d, c.i)", "placed below"},
    {"", "reverse_compute_at(out, d.i)", "read one element for each"},
    {"", "reverse_compute_at(d, c.k)", "a reduction loop of the producer"},
    {"jo, ji = split(c.j, [_, 4])\nreorder(ji, jo)",
	"reverse_compute_at(d, ji)", "does not make one piece"},
    {"ij = fuse(c.i, c.j)\nx, y = split(ij, [_, 4])",
	"reverse_compute_at(d, x)", "does not make one piece"},
    {"jo, jm, ji = split(c.j, [_, 2, 2])\nreorder(jo, jm, c.i, ji)",
	"reverse_compute_at(d, jm)", NULL},
    {"jo, ji = split(c.j, [_, 4])\nvectorize(ji, 4)",
	"reverse_compute_at(d, ji)", "is a vector loop"},
    {"parallel(d.i)\nparallel(c.i)", "reverse_compute_at(d, c.i)",
	"of a kind that"},
    /* inlining */
    {"", "compute_inline(p)", NULL},
    {"", "compute_inline(d)", NULL},
    {"", "compute_inline(c)", "the block has a reduction"},
    {"", "compute_inline(out)", "no block reads it"},
    {"", "compute_at(out, inline)", "writes an output"},
    {"pad(p, 0)", "compute_inline(p)", "is padded"},
    {"cd = cache_read(d, c)\ncompute_at(cd, d.i)", "compute_inline(d)",
	"is placed below it"},
    {"blockize(c.j)", "compute_inline(p)", "made by blockize"},
    {"reverse_compute_inline(out)\nad = cache_write(d)",
	"compute_inline(ad)", "does not write at its axes"},
    {"", "reverse_compute_inline(out)", NULL},
    {"", "reverse_compute_inline(c)", "has a reduction"},
    {"", "reverse_compute_inline(d)", "the producer has a reduction"},
    {"", "reverse_compute_inline(p)", "not exactly one producer"},
    {"compute_at(d, out.j)", "reverse_compute_inline(out)", "different places"},
    {"pad(d, 0)", "reverse_compute_inline(out)", "a block is padded"},
    {"blockize(d.j)", "reverse_compute_inline(out)", "made by blockize"},
    /* copies */
    {"", "ap = cache_read(c, p)", NULL},
    {"", "ap = cache_read(c, p, reg)", NULL},
    {"", "ap = cache_read(c, b, pack)", NULL},
    {"", "ap = cache_read(c, p, reg, read=all)", NULL},
    {"", "ap = cache_read(c, a)", "does not read the buffer"},
    {"", "ap = cache_read(c, p, stack)", "a scope is"},
    {"", "p = cache_read(c, p)", "the name 'p' is taken"},
    {"blockize(c.j)", "ap = cache_read(c, p)", "made by blockize"},
    {"", "ap = cache_read(c, p, read=1)", NULL},
    {"", "ap = cache_read(c, p, local, 1)", NULL},
    {"", "ap = cache_read(c, p, scope=local, read=1)", NULL},
    {"", "ap = cache_read(c, p, read=2)", "not so many different reads"},
    {"", "ap = cache_read(c, p, read=0)", "counted from 1"},
    {"", "ap = cache_read(c, p, read=x)", "read is a number, or all"},
    {"", "ap = cache_read(c, p, read=? in {1, 2})", "a decision is open"},
    {"", "cw = cache_write(c)", NULL},
    {"mo, mi = split(c.i, [_, 4])\nreorder(c.k, mo)", "cw = cache_write(c)",
	NULL},
    {"", "cw = cache_write(out, reg)", NULL},
    {"", "cw = cache_write(c, stack)", "a scope is"},
    {"pad(d, 0)", "cw = cache_write(d)", "is padded"},
    {"", "set_scope(c, local)", NULL},
    {"", "set_scope(c, stack)", "a scope is"},
    {"", "set_scope(out, local)", "writes an output"},
    {"ap = cache_read(c, p)\nmo, mi = split(c.i, [_, 4])",
	"transform_layout(ap, [x0//mi, x1, x0%mi])", NULL},
    {"", "transform_layout(c, [j//16, j//4%4, i, j%4])", NULL},
    {"mo, mi = split(c.i, [_, 4])", "transform_layout(p, [i//(mi*2), k, "
	"i//mi%2, i%mi])", NULL},
    {"", "transform_layout(c, [j, i])", NULL},
    {"", "transform_layout(c, [j//1, i, j%1])", NULL},
    {"", "transform_layout(c, [j//4%1, j//4, i, j%4])", NULL},
    {"", "transform_layout(c, [j, j, i])", "make up each dimension once"},
    {"", "transform_layout(c, [j//4, j%2, j%2, i])", "make up each dimension"},
    {"", "transform_layout(c, [j, x])", "names no axis of the block"},
    {"", "transform_layout(c, [j])", "make up each dimension once"},
    {"", "transform_layout(c, [i, j//4, j%8])", "make up each dimension"},
    {"", "transform_layout(c, [i, j//4])", "make up each dimension"},
    {"", "transform_layout(c, [i, j, j%4])", "make up each dimension"},
    {"", "transform_layout(c, [i, j//x, j%4])", "a divisor is"},
    {"", "transform_layout(c, [i, j//c.k, j%c.k])", "a divisor is"},
    {"", "transform_layout(c, [i, j//99999999999, j])", "a divisor is"},
    {"", "transform_layout(c, [i, j//(65536*65536), j])", "a divisor is"},
    {"", "transform_layout(c, [j//(4*2), i, j//4%2, j%4])", NULL},
    {"", "vectorize(c.j, lanes*99999)", "a number is expected"},
    {"", "transform_layout(c, [i, j%4//4])", "a part is NAME"},
    {"", "transform_layout(c, [i, 4])", "a part is NAME"},
    {"", "transform_layout(c, i)", "a list of parts"},
    {"", "transform_layout(out, [i, j])", "writes an output"},
    {"ap = cache_read(c, p)", "pad(ap, 0)", NULL},
    {"", "pad(c, 0)", "the block has a reduction"},
    {"", "pad(out, 0)", "writes an output"},
    {"pad(p, -inf)", "pad(p, 0)", "padded already"},
    {"", "pad(p, x)", "a value to pad with is"},
    {"", "tail(c, mask)", NULL},
    {"", "tail(c.j, peel)", NULL},
    {"", "tail(c, skip)", "a tail is"},
    {"", "storage_align(c, 0, 16, 8)", NULL},
    {"", "storage_align(c, 2, 16, 8)", "no such part"},
    {"", "storage_align(out, 0, 16, 8)", "writes an output"},
    {"", "storage_align(c, 0, 0, 8)", "out of its range"},
    {"ap = cache_read(c, p, shared)", "swizzle(ap, 64)", NULL},
    {"ap = cache_read(c, p, shared)", "swizzle(ap, 16)",
	"rows of 128, 64 or 32 bytes"},
    {"", "swizzle(c, 128)", "not shared by a block of threads"},
    {"ap = cache_read(c, p, shared)", "stages(ap, 2)", NULL},
    {"ap = cache_read(c, p, shared)", "stages(ap, 9)", "more than 8 stages"},
    {"ap = cache_read(c, p, shared)", "stages(ap, 0)", "out of its range"},
    {"", "stages(c, 2)", "not shared by a block of threads"},
    /* reductions */
    {"", "rf = rfactor(c.k)", NULL},
    {"ko, ki = split(c.k, [_, 5])", "rf = rfactor(ki)", NULL},
    {"ko, ki = split(c.k, [_, 4])", "rf = rfactor(ko)", NULL},
    {"ko, ki = split(c.k, [_, 8])\nx, y = split(ki, [_, 4])",
	"rf = rfactor(y)", NULL},
    {"ko, ki = split(c.k, [_, 8])\nx, y = split(ki, [_, 3])",
	"rf = rfactor(y)", "an inner split of the axis is not exact"},
    {"", "rf = rfactor(c.i)", "is not a reduction loop"},
    {"parallel(c.i)", "rf = rfactor(c.k)", "scheduled already"},
    {"x, y = split(c.i, [_, 2])", "rf = rfactor(c.k)", "scheduled already"},
    {"ko, i = split(c.k, [_, 4])", "rf = rfactor(i)", "name of another axis"},
    {"ko, ki = split(c.k, [_, 4])\nkk = fuse(ko, ki)", "rf = rfactor(kk)",
	"part of a fused loop"},
    {"", "decompose_reduction(c, c.j)", NULL},
    {"", "decompose_reduction(c, c.k)", NULL},
    {"", "decompose_reduction(d, d.j)", "has no reduction"},
    {"", "decompose_reduction(c, d.j)", "is not one of the block's"},
    {"reorder(c.k, c.j)", "decompose_reduction(c, c.j)", "is outside"},
    {"decompose_reduction(c, c.j)", "decompose_reduction(c, c.k)", "already"},
    /* units */
    {"", "blockize(c.j)", NULL},
    {"blockize(c.k)", "blockize(c.j)", "has a unit already"},
    {"compute_at(p, c.j)", "blockize(c.j)", "placed below the loop"},
    {"parallel(c.j)", "blockize(c.j)", "is annotated"},
    {"", "tensorize(c.k, dot4_u8i8)", "is not what the intrinsic computes"},
    {"", "tensorize(c.k, mma16x8x16_f16)",
	"is not what the intrinsic computes"},
    {"", "tensorize(c.k, dot5)", "there is no such intrinsic"},
    /* prefetch */
    {"", "prefetch(c, b, c.k, 8)", NULL},
    {"", "prefetch(c, a, c.k, 8)", "does not read the buffer"},
    {"", "prefetch(c, b, d.i, 8)", "is not one of the block's, nor around it"},
    {"compute_at(c, d.i)", "prefetch(c, b, d.i, 1)", NULL},
    {"prefetch(c, b, c.k, 8)", "prefetch(c, b, c.j, 8)", "already"},
};

static const Case dot[] = {
    {"", "t = retype(g, 1, i16)", NULL},
    {"", "t = retype(g, 2, i16)", NULL},
    {"", "t = retype(g, 1, i8)", NULL},
    {"", "t = retype(g, 1, u8)", "no product of an element that has such"},
    {"", "t = retype(g, 1, i32)", "no product of an element that has such"},
    {"", "t = retype(g, 3, i16)", "no product of an element that has such"},
    {"", "t = retype(g, 1, wide)", "there is no such type"},
    {"ko, ki = split(g.k, [_, 4])", "t = retype(g, 1, i16)",
	"scheduled already"},
    {"t = retype(g, 1, i16)", "x = retype(g, 1, i16)",
	"no product of an element that has such"},
    {"t = retype(g, 1, i8)", "p, s = distribute(g)", NULL},
    {"t = retype(g, 1, i8)", "p = distribute(g)", "as many names as it makes"},
    {"", "p, s = distribute(g)", "no sum of integers with something to take"},
    {"", "narrow(g)", "does not make bytes"},
    {"t = retype(g, 1, i8)\nko, ki = split(g.k, [_, 4])",
	"p, s = distribute(g)", "scheduled already"},
    {"t = retype(g, 1, i16)\nx = retype(g, 2, i16)\n"
     "ko, ki = split(g.k, [_, 2])", "tensorize(ki, dot2_i16)", NULL},
    {"ko, ki = split(g.k, [_, 4])", "tensorize(ki, dot4_u8i8)", NULL},
    {"ko, ki = split(g.k, [_, 4])\nblockize(ki)", "tensorize(ki, dot4_u8i8)",
	NULL},
    {"ko, ki = split(g.k, [_, 4])\nblockize(ko)", "tensorize(ki, dot4_u8i8)",
	"has a unit already"},
    {"ko, ki = split(g.k, [_, 8])", "tensorize(ki, dot4_u8i8)",
	"as many iterations as the intrinsic"},
    {"ko, ki = split(g.k, [_, 4])", "tensorize(ko, dot4_u8i8)",
	"is not the innermost reduction loop"},
    {"up = cache_read(g, u)", "pad(up, 300)", "cannot hold the value"},
    {"up = cache_read(g, u)", "pad(up, inf)", "cannot hold the value"},
    {"up = cache_read(g, u)", "pad(up, 255)", NULL},
};

static Program *moments(Arena *arena)
{
	return program_moments(arena, 11, 21);
}

static const Case several[] = {
    {"", "compute_with(q, s)", NULL},
    {"", "compute_with(s, q)", NULL},
    {"i0, i1 = split(s.i, [_, 4])\nparallel(i0)", "compute_with(q, s)", NULL},
    {"i0, i1 = split(q.i, [_, 4])", "compute_with(q, s)", NULL},
    {"sa = cache_write(s)\nqa = cache_write(q)\ncompute_with(q, s)\n"
     "compute_at(sa, s.i)", "compute_with(qa, sa)", NULL},
    {"", "compute_with(s, s)", "are the same"},
    {"compute_with(q, s)", "compute_with(q, s)", "shares loops already"},
    {"compute_with(q, s)", "compute_with(t, q)", "reads the other"},
    {"", "compute_with(t, s)", "reads the other"},
    {"", "compute_with(y, s)", "have other axes"},
    {"xc = cache_read(q, x)\ncompute_at(xc, q.i)", "compute_with(q, s)",
	"own loops are used"},
    {"xc = cache_read(q, x)\ncompute_at(xc, q.i)", "compute_with(s, q)",
	NULL},
    {"decompose_reduction(q, q.i)", "compute_with(q, s)",
	"own loops are used"},
    {"set_scope(q, reg)", "compute_with(q, s)", "writes registers"},
    {"sa = cache_write(s)\ncompute_at(sa, s.i)", "compute_with(sa, q)",
	"has a place already"},
    {"qa = cache_write(q)\ncompute_at(qa, q.i)", "compute_with(s, qa)",
	"writes an output"},
    /* it comes last */
    {"compute_with(q, s)", "parallel(s.i)", "comes last"},
    {"compute_with(q, s)", "compute_at(q, y.i)", "comes last"},
    {"compute_with(q, s)", "tail(s, mask)", "comes last"},
    {"compute_with(q, s)", "x1 = cache_write(q)", "comes last"},
    {"compute_with(q, s)", "reverse_compute_at(u, s.i)", NULL},
    {"compute_with(q, s)", "parallel(q.i)", "comes last"},
};

static const Case spread[] = {
    {"", "thin(p.x, 3)", NULL},
    {"", "thin(u.x, 2)", "not one literal in between"},
    {"", "thin(p.x, 2)", "not one literal in between"},
    {"", "thin(p.x, 1)", "at least 2"},
    {"", "thin(p.x, y)", "a number is expected"},
    {"", "thin(y.x, 2)", "the block has a reduction"},
    {"", "thin(y.r, 2)", "the block has a reduction"},
    {"thin(p.x, 3)", "thin(p.x, 3)", "not one literal in between"},
    {"x0, x1 = split(p.x, [_, 4])", "thin(p.x, 3)", "there is no loop"},
    {"unroll(p.x)", "thin(p.x, 3)", "scheduled already"},
    {"pad(p, 0)", "thin(p.x, 3)", "is padded"},
    {"transform_layout(p, [x//4, x%4])", "thin(p.x, 3)", "layout was changed"},
    {"blockize(p.x)", "thin(p.x, 3)", "made by blockize"},
    {"c = cache_read(y, p)", "thin(p.x, 3)", "a copy reads it"},
    {"compute_inline(p)", "thin(p.x, 3)", "there is no loop"},
};

static const Case divided[] = {
    {"", "jo, ji = divide(y.j, 5)", NULL},
    {"jo, ji = divide(y.j, 5)", "j0, j1 = split(ji, [_, 4])", NULL},
    {"jo, ji = divide(y.j, 5)\nj0, j1 = split(ji, [_, 4])",
	"vectorize(j1, 4)", NULL},
    {"jo, ji = divide(y.j, 5)\nj0, j1 = split(ji, [_, 4])",
	"parallel(jo)", NULL},
    {"jo, ji = divide(y.j, 5)", "reorder(ji, jo, y.i)", NULL},
    {"jo, ji = divide(y.j, 5)", "j = fuse(jo, ji)", NULL},
    {"jo, ji = divide(y.j, 5)", "a, b = divide(jo, 2)", "at its axes"},
    {"jo, ji = divide(y.j, 5)", "w = cache_write(y)", "at its axes"},
    {"jo, ji = divide(y.j, 5)", "unroll(y.j)", "there is no loop"},
    {"io, ii = divide(t.i, 2)", "compute_inline(t)", "at its axes"},
    {"", "jo, ji = divide(y.j, 7)", "does not divide"},
    {"", "jo, ji = divide(y.j, 20)", "does not divide"},
    {"", "jo, ji = divide(y.j, 1)", "does not divide"},
    {"", "jo, ji = divide(s.i, 2)", "has a reduction"},
    {"", "jo, ji = divide(s.k, 2)", "has a reduction"},
    {"unroll(y.i)", "jo, ji = divide(y.j, 5)", NULL},
    {"unroll(y.j)", "jo, ji = divide(y.j, 5)", "scheduled already"},
    {"a, b = split(y.j, [_, 5])", "jo, ji = divide(b, 5)",
	"scheduled already"},
    {"compute_at(t, y.i)", "jo, ji = divide(y.j, 5)", "at its"},
    {"compute_at(t, y.i)", "io, ii = divide(t.i, 2)", "at another's"},
    {"blockize(y.j)", "io, ii = divide(y.i, 2)", "made by blockize"},
    {"set_scope(t, reg)", "jo, ji = divide(t.i, 2)", "not global"},
    {"w = cache_read(y, x)", "jo, ji = divide(w.x0, 2)", "at its axes"},
    {"", "y, ji = divide(y.j, 5)", "is taken"},
};

static Program *program_of(Arena *arena, const char *text)
{
	Source *source = NEW(arena, Source);
	Diag diag = {0};

	*source = (Source){.name = "s", .text = text, .size = strlen(text)};
	Spec *spec = spec_parse(arena, source, &diag);
	Program *p = spec ? spec_program(arena, spec, "", NULL, 0,
				NUMERICS_DEFAULT, &diag)
			  : NULL;
	if (!p)
		fail_msg("%s", buf_text(&diag.text));
	return p;
}

static Program *divided_program(Arena *arena)
{
	return program_of(arena, "tunec: 1\nname: divided\n"
	    "inputs: {x: 'f32[6, 5]'}\ncompute: |\n"
	    "  s[i < 6] = sum[k < 5](x[i, k])\n"
	    "  t[i < 6] = s[i]*s[i]\n"
	    "  y[i < 6, j < 20] = x[i, j%5]*t[j//4] + f32(j//10 + j%10)\n");
}

/* Blocks beside each other have the same last axes, and all else inside. */
static Program *results_program(Arena *arena)
{
	return program_of(arena,
	    "tunec: 1\nname: results\n"
	    "inputs: {x: 'f32[3, 4, 8]'}\ncompute: |\n"
	    "  y[k < 3, i < 4, j < 8] = x[k, i, j]*2\n"
	    "  z[i < 4, j < 8] = x[0, i, j] - x[1, i, j]\n"
	    "  w[k < 2, i < 4, j < 8] = x[k, i, j] + x[2, i, j]\n"
	    "  t[j < 8, i < 4] = x[0, i, j]\noutputs: [y, z, w, t]\n");
}

static const Case results[] = {
    {"reorder(y.i, y.k, y.j)", "reverse_compute_at(z, y.i)", NULL},
    {"reorder(y.i, y.k, y.j)", "reverse_compute_at(w, y.i)", NULL},
    {"", "reverse_compute_at(w, z.j)", NULL},
    {"", "reverse_compute_at(z, y.i)", "does not read what the loop's"},
    {"", "reverse_compute_at(w, y.k)", "does not read what the loop's"},
    {"", "reverse_compute_at(t, z.i)", "does not read what the loop's"},
};

static Program *planes_program(Arena *arena)
{
	return program_of(arena,
	    "tunec: 1\nname: planes\n"
	    "inputs: {x: 'f32[6, 5, 3, 4]', w: 'f32[5, 4]', v: 'f32[5, 4]', "
	    "u: 'f32[5, 4]', a: 'f32[6, 3, 4]', b: 'f32[6, 3, 4]', "
	    "z: 'f32[3, 4]', h: 'f32[5, 4]'}\n"
	    "compute: |\n"
	    "  e[i < 6, r < 3, s < 4] = exp(a[i, r, s] - b[i, r, s])*z[r, s]\n"
	    "  n[i < 6] = sum[r < 3, s < 4](e[i, r, s])\n"
	    "  o[i < 6, r < 3, s < 4] = e[i, r, s]/n[i]\n"
	    "  g[r < 5, s < 4] = h[r, s]*2\n"
	    "  y[i < 6, j < 1] = sum[d < 5, r < 3, s < 4](x[i, d, j*2 + r, s])\n"
	    "  m[i < 6, j < 1] = max[d < 5, r < 3, s < 4](x[i, d, r, s + j])\n"
	    "  p[i < 4] = sum[r < 5, s < 4](w[r, s]*f32(s))\n"
	    "  q[i < 4] = sum[r < 5](v[r, i])\n"
	    "  t[i < 4] = sum[r < 4, s < 3](u[r, s])\n"
	    "outputs: [y, m, p, q, t, o, g]\n");
}

static Program *pixels_program(Arena *arena)
{
	return program_of(arena,
	    "tunec: 1\nname: pixels\n"
	    "inputs: {x: 'f32[7, 9, 3]', k: 'f32[2, 2]', p: 'f32[7, 9, 3]', "
	    "q: 'f32[7, 9, 3]', o: 'f32[7, 9, 3]', m: 'f32[3, 2]', "
	    "l: 'f32[7, 9, 3]', h: 'f32[7, 9, 3]', g: 'f32[7, 9, 3]', "
	    "n: 'f32[7, 9, 3]', d: 'f32[4, 18]'}\n"
	    "compute: |\n"
	    "  a[i < 7, j < 8, c < 3] = x[i, j + 1, c] - x[i, j, c]\n"
	    "  y[i < 6, j < 7, c < 3] = "
	    "sum[r < 2, s < 2](k[r, s]*a[i + r, 1 - s + j, c])\n"
	    "  u[i < 7, j < 7, c < 3] = p[i, 7 - j, c]\n"
	    "  v[i < 7, j < 4, c < 3] = q[i, 2*j, c]\n"
	    "  w[i < 7, j < 9, c < 3] = o[i, j, c]*m[c, 1] - m[c, i % 2]\n"
	    "  t[i < 7, j < 8, c < 2] = l[i, j, c + 1]\n"
	    "  z[i < 7, j < 9, c < 3] = if c == 1 then h[i, j, c] else 1\n"
	    "  e[i < 7, j < 9, c < 3] = g[i, j, c]*m[2 - c, 0]\n"
	    "  f[i < 7] = sum[j < 9, c < 3](n[i, j, c]*m[c, 0])\n"
	    "  s[i < 7, j < 8, c < 3] = d[j//2, j % 2*3 + c + i]*f32(j)\n"
	    "outputs: [y, u, v, w, t, z, e, f, s]\n");
}

static Program *spread_program(Arena *arena)
{
	return program_of(arena, "tunec: 1\nname: spread\n"
	    "inputs: {a: 'f32[4]'}\ncompute: |\n"
	    "  p[x < 12] = if (x + 4) % 3 == 1 and x < 9 then a[x//3] else 0\n"
	    "  u[x < 10] = if x % 2 == 0 then f32(1) else f32(x)\n"
	    "  y[x < 10] = sum[r < 3](p[x + r]*u[x])\n");
}

static const Case pixels[] = {
    {"", "flatten(x, 1)", NULL},
    {"", "flatten(y, 1)", NULL},
    {"flatten(a, 1)", "c0, c1 = split(y.c, [_, 4])", NULL},
    {"flatten(a, 1)", "compute_inline(a)", NULL},
    {"flatten(a, 1)", "flatten(x, 1)", "does not go over both"},
    {"", "flatten(x, 0)", "does not go over both"},
    {"", "flatten(p, 1)", "does not go over both"},
    {"", "flatten(q, 1)", "does not go over both"},
    {"", "flatten(o, 1)", NULL},
    {"flatten(o, 1)", "c0, c1 = split(w.c, [_, 48])", NULL},
    {"", "flatten(m, 0)", "does not go over both"},
    {"", "flatten(l, 1)", "does not go over both"},
    {"", "flatten(h, 1)", NULL},
    {"", "flatten(g, 1)", NULL},
    {"", "flatten(n, 1)", "does not go over both"},
    {"flatten(s, 1)", "c0, c1 = split(s.c, [_, 16])", NULL},
    {"", "flatten(d, 0)", "does not go over both"},
    {"unroll(y.r)", "flatten(x, 1)", "scheduled already"},
    {"", "collapse(w, 0)", NULL},
    {"", "collapse(w, 1)", NULL},
    {"collapse(w, 0)", "collapse(w, 1)", NULL},
    {"collapse(w, 1)", "c0, c1 = split(w.c, [_, 16])", NULL},
    {"collapse(w, 0)\ncollapse(w, 1)\n"
     "c0, c1 = split(w.c, [_, 16])\nvectorize(c1, 16)\ntail(w, mask)",
	"parallel(c0)", NULL},
    {"", "collapse(y, 1)", NULL},
    {"collapse(a, 1)", "compute_inline(a)", "does not write at its axes"},
    {"compute_inline(a)", "collapse(y, 0)", NULL},
    {"collapse(w, 1)", "flatten(o, 1)", "does not go over both"},
    {"", "collapse(w, 2)", "no such axis"},
    {"", "collapse(w, -1)", "no such axis"},
    {"", "collapse(f, 0)", "no such axis"},
    {"unroll(w.c)", "collapse(w, 1)", "scheduled already"},
    {"q0 = cache_read(w, m)", "collapse(q0, 0)", "is a copy"},
};

static const Case planes[] = {
    {"", "flatten(x, 1)", NULL},
    {"", "flatten(x, 2)", NULL},
    {"flatten(x, 1)", "flatten(x, 2)", NULL},
    {"flatten(x, 2)", "flatten(x, 1)", NULL},
    {"flatten(x, 1)", "flatten(x, 1)", "does not go over both"},
    {"flatten(x, 1)", "s0, s1 = split(y.s, [_, 4])", NULL},
    {"", "flatten(x, 0)", "does not go over both"},
    {"", "flatten(x, 3)", "no such dimension"},
    {"", "flatten(x, -1)", "no such dimension"},
    {"", "flatten(y, 0)", NULL},
    {"", "flatten(g, 0)", NULL},
    {"", "flatten(b, 1)", NULL},
    {"flatten(a, 1)", "flatten(b, 1)", "does not go over both"},
    {"", "flatten(a, 0)", "does not go over both"},
    {"", "flatten(o, 0)", "does not go over both"},
    {"unroll(e.s)", "flatten(a, 1)", "scheduled already"},
    {"set_scope(e, reg)", "flatten(a, 1)", NULL},
    {"transform_layout(e, [s, i, r])", "flatten(a, 1)", "another layout"},
    {"", "flatten(k, 0)", "there is no buffer"},
    {"", "flatten(x, z)", "a number is expected"},
    {"", "flatten(w, 0)", "does not go over both"},
    {"", "flatten(v, 0)", "does not go over both"},
    {"", "flatten(u, 0)", "does not go over both"},
    {"unroll(m.s)", "flatten(x, 1)", "scheduled already"},
    {"compute_with(m, y)", "flatten(x, 1)", "scheduled already"},
    {"c = cache_read(y, x)", "flatten(x, 1)", NULL},
};

static const Case phased[] = {
    {"", "unflatten(y.j, 2)", NULL},
    {"", "unflatten(y.j, 4)", NULL},
    {"unflatten(y.j, 2)", "unflatten(z.j, 2)", NULL},
    {"unflatten(y.j, 2)", "reorder(y.x0, y.j)", NULL},
    {"unflatten(y.j, 2)", "j0, j1 = split(y.j, [_, 4])", NULL},
    {"unflatten(y.j, 2)", "compute_at(y, z.i)", NULL},
    {"unflatten(y.j, 2)", "compute_inline(y)", "has a reduction"},
    {"unflatten(y.j, 2)", "unflatten(y.x0, 2)", "does not divide"},
    {"unflatten(y.j, 2)", "unflatten(y.j, 2)", "the last of the block"},
    {"unflatten(u.i, 4)", "unflatten(u.x0, 2)", "an axis x0 already"},
    {"", "unflatten(y.j, 5)", "does not divide"},
    {"", "unflatten(y.j, 1)", "does not divide"},
    {"", "unflatten(y.j, 12)", "does not divide"},
    {"", "unflatten(y.i, 2)", "the last of the block"},
    {"", "unflatten(y.k, 2)", "the last of the block"},
    {"unroll(y.k)", "unflatten(y.j, 2)", "scheduled already"},
    {"set_scope(y, local)", "unflatten(y.j, 2)", "is not global"},
    {"transform_layout(y, [j, i])", "unflatten(y.j, 2)", "another layout"},
    {"c = cache_read(z, y)", "unflatten(y.j, 2)", "a copy reads it"},
    {"c = cache_read(z, y)", "unflatten(c.x1, 2)", "at its axes"},
    {"c = cache_write(y)", "unflatten(c.j, 2)", "a copy reads it"},
    {"carry(s.k)", "unflatten(s.j, 2)", "from element to element"},
};

static Program *phased_program(Arena *arena)
{
	return program_of(arena,
	    "tunec: 1\nname: phased\n"
	    "inputs: {x: 'f32[5, 12]', h: 'f32[4, 3]'}\n"
	    "compute: |\n"
	    "  y[i < 5, j < 12] = sum[k < 3](x[i, j//2 + k]*h[j % 4, k])\n"
	    "  z[i < 5, j < 10] = y[i, j + 1] + y[4 - i, j//2]*f32(j % 2)\n"
	    "  s[j < 12] = sum[k < 12](if k <= j then x[0, k] else 0)\n"
	    "  u[i < 8] = f32(i)\n"
	    "outputs: [z, s, u]\n");
}

static const Case running[] = {
    {"", "w, q = prefix(y.k, 4)", NULL},
    {"", "w, q = prefix(z.k, 2)", NULL},
    {"", "w, q = prefix(m.k, 7)", NULL},
    {"w, q = prefix(y.k, 2)", "v, r = prefix(q.x0, 2)", NULL},
    {"", "w, q = prefix(yb.k, 4)", NULL},
    {"w, q = prefix(yb.k, 3)", "v, r = prefix(q.x0, 3)", NULL},
    {"", "w, q = prefix(zb.k, 7)", NULL},
    {"", "w, q = prefix(mb.k, 5)", NULL},
    {"", "w, q = prefix(y.j, 4)", "is not a reduction loop"},
    {"", "w, q = prefix(y.k, 1)", "does not make several blocks"},
    {"", "w, q = prefix(y.k, 20)", "does not make several blocks"},
    {"", "w, q = prefix(t.k, 4)", "no running sum"},
    {"", "w, q = prefix(s.k, 4)", "no running sum"},
    {"", "w, q = prefix(d.k, 4)", "several axes"},
    {"", "w, y = prefix(y.k, 4)", "is taken"},
    {"", "w, q = prefix(y.k, x)", "a number is expected"},
    {"unroll(y.k)", "w, q = prefix(y.k, 4)", "scheduled already"},
    {"tail(y, mask)", "w, q = prefix(y.k, 4)", "scheduled already"},
    {"w, q = prefix(y.k, 4)", "v, r = prefix(y.k, 4)", "there is no loop"},
    {"", "carry(y.k)", NULL},
    {"", "carry(z.k)", NULL},
    {"", "carry(m.k)", NULL},
    {"w, q = prefix(y.k, 4)", "carry(q.x0)", NULL},
    {"carry(y.k)", "j0, j1 = split(y.j, [_, 4])", NULL},
    {"carry(y.k)", "vectorize(y.i, 1)", NULL},
    {"carry(y.k)", "tail(y, mask)", NULL},
    {"carry(y.k)", "w = cache_write(y)", "carries from element"},
    {"carry(y.k)", "w = cache_read(y, x)", "carries from element"},
    {"carry(y.k)", "thin(y.j, 2)", "carries from element"},
    {"carry(y.k)", "carry(y.k)", "there is no loop"},
    {"", "carry(y.j)", "is not a reduction loop"},
    {"", "carry(t.k)", "no running sum"},
    {"", "carry(yb.k)", "no running sum"},
    {"", "carry(zb.k)", "no running sum"},
    {"", "carry(s.k)", "no running sum"},
    {"", "carry(d.k)", "several axes"},
    {"unroll(y.k)", "carry(y.k)", "scheduled already"},
};

/* Up to j, below j, greatest ones, of elements that j moves, of a window, of
 * two axes; from j on, behind j. */
static Program *running_program(Arena *arena)
{
	return program_of(arena, "tunec: 1\nname: running\n"
	    "inputs: {x: 'f32[3, 20]'}\n"
	    "outputs: [y, z, m, t, s, d, u, yb, zb, mb]\n"
	    "compute: |\n"
	    "  y[i < 3, j < 20] = sum[k < j + 1](x[i, k])\n"
	    "  z[j < 20, i < 3] = prod[k < j](x[i, k]*2)\n"
	    "  m[j < 20] = max[k < 20](if j >= k and k != 3 then x[1, k] else -inf)\n"
	    "  t[j < 20] = sum[k < j + 1](x[1, k]*x[1, j])\n"
	    "  s[j < 18] = sum[k < j + 2](x[1, k])\n"
	    "  d[j < 20] = sum[k < j + 1, i < 3](x[i, k])\n"
	    "  o[j < 20] = sum[k < j + 1](x[2, k])\n"
	    "  u[j < 20] = o[j]*2\n"
	    "  yb[j < 20] = sum[k < 20](if k >= j then x[1, k] else 0)\n"
	    "  zb[j < 20] = sum[k < 20](if j < k then x[1, k] else 0)\n"
	    "  mb[j < 20] = max[k < 19](if j <= k then x[1, k] else -inf)\n");
}

static const Case windows[] = {
    {"", "c = separate(y.s)", NULL},
    {"", "c = separate(y.r)", NULL},
    {"c = separate(y.s)", "e = separate(c.r)", NULL},
    {"c = separate(y.s)\nunfold(y)", "unfold(c)", NULL},
    {"", "c = separate(m.s)", NULL},
    {"", "c = separate(l.s)", NULL},
    {"", "unfold(y)", NULL},
    {"", "c = separate(y.q)", "do not move along the loop"},
    {"", "c = separate(g.s)", "do not move along the loop"},
    {"", "c = separate(w.s)", "do not move along the loop"},
    {"", "c = separate(t.s)", "do not move along the loop"},
    {"", "c = separate(b.s)", "do not move along the loop"},
    {"", "c = separate(y.j)", "is not a reduction loop"},
    {"", "y = separate(y.s)", "is taken"},
    {"unroll(y.s)", "c = separate(y.s)", "scheduled already"},
    {"s0, s1 = split(y.s, [_, 2])", "c = separate(s1)", "scheduled already"},
    {"", "unfold(o.q)", NULL},
    {"unfold(o.q)", "l0, l1 = split(o.j, [_, 2])", NULL},
    {"unfold(o.q)", "unfold(o.q)", "there is no loop"},
    {"", "unfold(y.s)", "has several steps"},
    {"", "unfold(y.j)", "is not a reduction loop"},
    {"", "unfold(f.q)", "has no other loop"},
    {"q0, q1 = split(o.q, [_, 1])", "unfold(q0)", "scheduled already"},
    {"", "unfold(z)", "has no reduction"},
    {"", "unfold(g)", "too large"},
    {"tail(y, mask)", "unfold(y)", "scheduled already"},
};

/* Of sums over three axes, greatest ones by twos, under conditions; gaps between
 * windows, weights, a coefficient that is no other's, two indices of a bool that
 * move otherwise than their difference. */
static Program *window_program(Arena *arena)
{
	return program_of(arena,
	    "tunec: 1\nname: windows\n"
	    "inputs: {x: 'f32[20, 20]', k: 'f32[3]', p: 'bool[4, 20]'}\n"
	    "outputs: [y, m, l, g, w, t, b, z, o, f]\n"
	    "compute: |\n"
	    "  y[i < 8, j < 9] = sum[r < 2, s < 3, q < 2](x[i + r, j + s + 1]*(q + 1))\n"
	    "  m[i < 8, j < 9] = max[r < 2, s < 3](\n"
	    "    if 0 <= 2*j + s - 1 < 17 then x[i + r, 2*j + s - 1] else -inf)\n"
	    "  l[i < 8, j < 9] = sum[r < 2, s < 3](x[i + r, (j + 4*s)//2])\n"
	    "  g[j < 4] = sum[r < 20, s < 4](x[r, 5*j + s])\n"
	    "  w[j < 9] = sum[r < 3, s < 3](x[r, j + s]*k[s])\n"
	    "  t[j < 9] = sum[r < 3, s < 3](x[r, j + s]*x[r, j + 2*s])\n"
	    "  b[j < 9] = max[s < 3](if p[3 - s, j + s] then 1 else 0)\n"
	    "  z[j < 9] = x[j, j]*2\n"
	    "  o[j < 9] = sum[r < 4, q < 1, s < 2](x[r, j + s + q])\n"
	    "  f[j < 9] = sum[q < 1](x[q, j])\n");
}

static const Case factors[] = {
    {"", "t = extract(y, 1)", NULL},
    {"", "t = extract(y, 3)", NULL},
    {"t = extract(y, 1)", "u = extract(y, 2)", NULL},
    {"t = extract(y, 1)", "compute_inline(t)", NULL},
    {"t = extract(one, 1)", "unroll(t.i)", NULL},
    {"t = extract(one, 1)", "unroll(t.r)", "no loop"},
    {"t = extract(window, 1)", "unroll(t.r)", "no loop"},
    {"t = extract(window, 1, 1)", "unroll(t.r)", NULL},
    {"t = extract(window, 1, apart=0)", "unroll(t.i)", NULL},
    {"", "t = extract(window, 1, apart=2)", "axes are apart"},
    {"", "t = extract(y, 4)", "no product with such a factor"},
    {"", "t = extract(y, 0)", "no product with such a factor"},
    {"", "t = extract(a, 1)", "no product with such a factor"},
    {"", "t = extract(z, 1)", "no product with such a factor"},
    {"", "y = extract(y, 1)", "is taken"},
    {"unroll(y.k)", "t = extract(y, 1)", "scheduled already"},
};

/* Three factors, the second of fewer axes than the first; an axis of one value; a
 * window; one that has all axes; no product. */
static Program *factor_program(Arena *arena)
{
	return program_of(arena,
	    "tunec: 1\nname: factors\n"
	    "inputs: {x: 'f32[6, 7]', s: 'f32[7]', w: 'f32[7, 8]'}\n"
	    "outputs: [y, one, window, a, z]\n"
	    "compute: |\n"
	    "  y[i < 6, j < 8] = sum[k < 7]((x[i, k] - s[k])*s[k]*exp(w[k, j]))\n"
	    "  one[i < 6, j < 8] = sum[k < 7, r < 1]((x[i + r, k] - s[k])*w[k, j])\n"
	    "  window[i < 4, j < 8] = sum[k < 7, r < 3]("
	    "(x[i + r, k] - s[k])*w[k, j])\n"
	    "  a[i < 6] = sum[k < 7](x[i, k]*s[k])\n"
	    "  z[i < 6] = sum[k < 7](x[i, k] + s[k])\n");
}

static const Case convolved[] = {
    {"", "u1, u, d, v1, v, q, z = winograd(y, 2)", NULL},
    {"", "u1, u, d, v1, v, q, z = winograd(y, 4)", NULL},
    {"", "u1, u, d, v1, v, q, z = winograd(y, 6)", NULL},
    {"", "u, d, v, q = winograd(line, 4)", NULL},
    {"", "u, d, v, q = winograd(left, 4)", NULL},
    {"u, d, v, q = winograd(line, 4)", "compute_inline(d)", NULL},
    {"", "u1, u, d, v1, v, q, z = winograd(y, 3)", "2, 4 or 6 results"},
    {"", "u1, u, d, v1, v, q, z = winograd(y, x)", "a number is expected"},
    {"", "u, d, v, q = winograd(y, 4)", "as many names"},
    {"", "u1, u, d, v1, v, q, z = winograd(line, 4)", "as many names"},
    {"", "u, d, v, y = winograd(line, 4)", "is taken"},
    {"", "u, d, v, q = winograd(strided, 4)", "three taps side by side"},
    {"", "u, d, v, q = winograd(dilated, 4)", "three taps side by side"},
    {"", "u, d, v, q = winograd(five, 4)", "three taps side by side"},
    {"", "u, d, v, q = winograd(deep, 4)", "there are no channels"},
    {"", "u, d, v, q = winograd(least, 4)", "no sum of products"},
    {"", "u, d, v, q = winograd(added, 4)", "no sum of products"},
    {"", "u, d, v, q = winograd(half, 4)", "f32 in memory"},
    {"", "u, d, v, q = winograd(run, 4)", "weights are not const"},
    {"unroll(line.c)", "u, d, v, q = winograd(line, 4)", "scheduled already"},
    {"cw = cache_write(line)", "u, d, v, q = winograd(line, 4)",
	"no sum of products"},
};

/* In two dimensions and one, mirrored taps; a stride, a dilation, five taps, taps
 * alone, an extreme, no product, other types, weights of a run. */
static Program *convolved_program(Arena *arena)
{
	Program *p = program_of(arena, "tunec: 1\nname: convolved\n"
	    "inputs: {x: 'f32[4, 10, 12]', w: 'const f32[6, 4, 3, 3]',\n"
	    "  l: 'f32[4, 20]', lw: 'const f32[5, 4, 3]', lr: 'f32[5, 4, 3]',\n"
	    "  w5: 'const f32[5, 4, 5]', h: 'f16[4, 20]', t: 'const f32[3]'}\n"
	    "outputs: [y, line, left, strided, dilated, five, deep, least, added,"
	    " half, run]\n"
	    "compute: |\n"
	    "  y[o < 6, i < 8, j < 10] = sum[c < 4, r < 3, s < 3]("
	    "x[c, i + r, j + s]*w[o, c, r, s])\n"
	    "  line[o < 5, j < 18] = sum[c < 4, s < 3](l[c, j + s]*lw[o, c, s])\n"
	    "  left[j < 18, o < 5] = "
	    "sum[s < 3, c < 4](lw[o, c, 2 - s]*l[c, j + s])\n"
	    "  strided[o < 5, j < 9] = "
	    "sum[c < 4, s < 3](l[c, 2*j + s]*lw[o, c, s])\n"
	    "  dilated[o < 5, j < 16] = "
	    "sum[c < 4, s < 3](l[c, j + 2*s]*lw[o, c, s])\n"
	    "  five[o < 5, j < 16] = sum[c < 4, s < 5](l[c, j + s]*w5[o, c, s])\n"
	    "  deep[c < 4, j < 18] = sum[s < 3](l[c, j + s]*t[s])\n"
	    "  least[o < 5, j < 18] = min[c < 4, s < 3](l[c, j + s]*lw[o, c, s])\n"
	    "  added[o < 5, j < 18] = sum[c < 4, s < 3](l[c, j + s] + lw[o, c, s])\n"
	    "  half[o < 5, j < 18] = sum[c < 4, s < 3](h[c, j + s]*lw[o, c, s])\n"
	    "  run[o < 5, j < 18] = sum[c < 4, s < 3](l[c, j + s]*lr[o, c, s])\n");
	p->numerics = NUMERICS_FAST;
	return p;
}

static int accepted[PRIMITIVE_COUNT];

static void apply_all(Nest *nest, const Trace *trace, ApplyContext *context)
{
	for (int i = 0; i < trace->steps.n; i++) {
		Refusal why = apply_step(nest, &trace->steps.at[i], context);
		if (why)
			fail_msg("step %d of the setup: %s", i, why);
	}
}

static void check_case(const Case *c, Program *(*program)(Arena *))
{
	Arena *arena = arena_new();
	ApplyContext context = {.machine = &test_machine};
	Nest *nest = nest_new(arena, program(arena), tape_new(arena));
	Trace *step = schedule_steps(arena, c->step);
	Refusal why, finished;
	char *before;

	apply_all(nest, schedule_steps(arena, c->before), &context);
	before = schedule_dump(arena, nest);
	why = apply_step(nest, &step->steps.at[0], &context);
	if (!why && c->why)
		fail_msg("%s; %s: not refused", c->before, c->step);
	if (why && (!c->why || !strstr(why, c->why)))
		fail_msg("%s; %s: %s", c->before, c->step, why);
	if (why) {
		assert_string_equal(before, schedule_dump(arena, nest));
	} else {
		assert_string_not_equal(before, schedule_dump(arena, nest));
		accepted[step->steps.at[0].primitive]++;
		if (!nest_infer(nest, &finished))
			fail_msg("%s; %s: inference: %s", c->before, c->step,
			    finished);
		nest_verify(nest, &finished);
	}
	arena_free(arena);
}

/* Factors with windows: what extract makes of them. */
static const struct {
	const char *factor, *shape, *element;
} windowed[] = {
    {"x[i + r] - m[i + r]", "t: f32[10]", "t[i] = x[i] - m[i]"},
    {"if 1 <= i + r < 9 then x[i + r - 1] - 1 else 0", "t: f32[10]",
	"t[i] = if 1 <= i and i < 9 then x[i - 1] - 1.0 else 0.0"},
    {"x[2*i + r] - m[0]", "t: f32[17]", "t[i] = x[i] - m[0]"},
    {"x[i - r + 2] - m[0]", "t: f32[10]", "t[i] = x[i] - m[0]"},
    {"x[2*i + 4*r] - m[i + 2*r]", "t: f32[12]", "t[i] = x[i * 2] - m[i]"},
    {"x[(i + r)//2] - m[0]", "t: f32[10]", "t[i] = x[i // 2] - m[0]"},
    /* as many, gaps, two forms */
    {"x[3*i + r] - m[0]", "t: f32[8, 3]", "x[i * 3 + r] - m[0]"},
    {"x[3*i + 2*r] - m[0]", "t: f32[8, 3]", "x[i * 3 + r * 2] - m[0]"},
    {"x[i + r] - m[i]", "t: f32[8, 3]", "x[i + r] - m[i]"},
};

static void check_window(size_t i)
{
	Arena *arena = arena_new();
	ApplyContext context = {.machine = &test_machine};
	Program *program = program_of_text(arena, arena_printf(arena,
	    "tunec: 1\nname: window\n"
	    "inputs: {x: 'f32[64]', m: 'f32[64]', w: 'f32[4, 3]'}\n"
	    "compute: |\n"
	    "  y[o < 4, i < 8] = sum[r < 3]((%s)*w[o, r])\n",
	    windowed[i].factor), NUMERICS_DEFAULT);
	Nest *nest = nest_new(arena, program, tape_new(arena));
	Buf out = {0};
	const char *why;

	apply_all(nest, schedule_steps(arena, "t = extract(y, 1)"), &context);
	assert_true(nest_infer(nest, &why));
	nest_print(&out, nest);
	if (!strstr(buf_text(&out), windowed[i].shape) ||
	    !strstr(buf_text(&out), windowed[i].element))
		fail_msg("%s:\n%s", windowed[i].factor, buf_text(&out));
	buf_free(&out);
	arena_free(arena);
}

static void test_windows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof windowed / sizeof *windowed; i++)
		check_window(i);
}

/* Bytes with zero points, padded before and after these are taken off. */
static Program *points_program(Arena *arena)
{
	return program_of_text(arena,
	    "tunec: 1\nname: points\n"
	    "inputs: {x: 'u8[8, 20]', z: 'u8[]', q: 'i32[]', w: 'i8[4, 8, 3]', "
	    "v: 'i8[4]', f: 'f32[8]'}\n"
	    "outputs: [y, each, half, far, other, wide, real, o]\ncompute: |\n"
	    "  p[c < 8, j < 22] = if 1 <= j < 21 then i32(x[c, j - 1]) - z[] "
	    "else 0\n"
	    "  h[c < 8, j < 22]: i16 = if 1 <= j < 21 then x[c, j - 1] - z[] "
	    "else 0\n"
	    "  r[c < 8, j < 22]: i16 = if 1 <= j < 21 then x[c, j - 1]*z[] "
	    "else 0\n"
	    "  s[c < 8, j < 22] = if 1 <= j < 21 then x[c, j - 1] - 300 else 0\n"
	    "  t[c < 8, j < 22] = if 1 <= j < 21 then i32(x[c, j - 1]) - q[] "
	    "else 0\n"
	    "  y[o1 < 4, t1 < 20] = sum[c < 8, r1 < 3](p[c, t1 + r1]*"
	    "(w[o1, c, r1] - v[o1]))\n"
	    "  each[c < 8, t1 < 20] = sum[r1 < 3](p[c, t1 + r1]*"
	    "(w[0, c, r1] - v[0]))\n"
	    "  half[c < 8, j < 22] = h[c, j] + r[c, j]\n"
	    "  far[c < 8, j < 22] = s[c, j] + t[c, j]\n"
	    "  other[t1 < 8] = sum[c < 3](x[c, t1]*z[])\n"
	    "  wide[o1 < 4, c < 8] = sum[r1 < 3]((i64(w[o1, c, r1]) - 9)*"
	    "(i64(w[o1, c, r1]) - i64(v[o1])))\n"
	    "  real[c < 8] = sum[j < 8]((f[j] - 1)*f[c])\n"
	    "  o[i < 8] = i32(x[i, 0]) - 7\n",
	    NUMERICS_DEFAULT);
}

static const Case points[] = {
    {"", "narrow(p)", NULL},
    {"", "narrow(h)", NULL},
    {"", "narrow(r)", "does not make bytes"},
    {"", "narrow(s)", "does not make bytes"}, /* 300 is none */
    {"", "narrow(t)", "does not make bytes"}, /* what q is none */
    {"", "narrow(o)", "writes an output"},
    {"", "narrow(p, 0)", NULL},
    {"", "narrow(p, padding=0)", NULL},
    {"", "narrow(p, 1)", "the padding is 0"},
    {"", "narrow(r, 0)", "that something else than 0 pads"},
    {"", "narrow(o, 0)", "that something else than 0 pads"},
    {"narrow(p, 0)", "narrow(p, 0)", "that something else than 0 pads"},
    {"narrow(p)", "narrow(p, 0)", NULL},
    {"narrow(p, 0)", "a, b, c1, d, e = distribute(y)", NULL},
    {"", "narrow(y)", "does not make bytes"},
    {"parallel(p.c)", "narrow(p)", "scheduled already"},
    {"k = cache_read(y, p)", "narrow(p)", "a copy reads it"},
    {"", "shorten(p)", NULL},
    {"shorten(p)", "shorten(s)", NULL},
    {"shorten(p)", "narrow(p)", "does not make bytes"},
    {"", "shorten(t)", "not all of its integers fit"},
    {"", "shorten(y)", "not all of its integers fit"},
    {"", "shorten(real)", "not all of its integers fit"},
    {"", "shorten(o)", "writes an output in 32 bits"},
    {"parallel(p.c)", "shorten(p)", "scheduled already"},
    {"k = cache_read(y, p)", "shorten(p)", "a copy reads it"},
    {"", "a, b = distribute(y)", NULL},
    {"", "a = distribute(y)", "as many names as it makes"},
    {"narrow(p)", "a, b, c1, d = distribute(y)", NULL},
    {"narrow(p)", "a, b, c1 = distribute(each, 2)", NULL},
    {"narrow(p)", "a, b = distribute(each, kept=1)", NULL},
    {"", "a, b = distribute(each, 2)", "no sum of integers"},
    {"narrow(p)", "a, b, c1 = distribute(each, 3)", "first or the second"},
    {"", "a = distribute(other)", NULL},
    {"", "a = distribute(o, 1)", "no sum of integers"},
    {"", "a, b = distribute(wide)", NULL},
    {"", "a, b = distribute(real)", "no sum of integers"},
    {"", "a, b = distribute(o)", "no sum of integers"},
};

static Program *quotient(Arena *arena)
{
	return program_quotient(arena, 22);
}

/* Copies have what is read of them, whatever the buffer's shape is. */
static const Case copies[] = {
    {"reverse_compute_inline(out)\nu = cache_read(half, x, read=2)\n"
     "t = cache_read(half, x, read=2)",
	"reverse_compute_at(u, t.x0)", "does not read what the loop's"},
};

static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof copies / sizeof *copies; i++)
		check_case(&copies[i], quotient);
	for (size_t i = 0; i < sizeof chain / sizeof *chain; i++)
		check_case(&chain[i], schedule_chain);
	for (size_t i = 0; i < sizeof dot / sizeof *dot; i++)
		check_case(&dot[i], schedule_dot);
	for (size_t i = 0; i < sizeof points / sizeof *points; i++)
		check_case(&points[i], points_program);
	for (size_t i = 0; i < sizeof several / sizeof *several; i++)
		check_case(&several[i], moments);
	for (size_t i = 0; i < sizeof results / sizeof *results; i++)
		check_case(&results[i], results_program);
	for (size_t i = 0; i < sizeof planes / sizeof *planes; i++)
		check_case(&planes[i], planes_program);
	for (size_t i = 0; i < sizeof pixels / sizeof *pixels; i++)
		check_case(&pixels[i], pixels_program);
	for (size_t i = 0; i < sizeof phased / sizeof *phased; i++)
		check_case(&phased[i], phased_program);
	for (size_t i = 0; i < sizeof spread / sizeof *spread; i++)
		check_case(&spread[i], spread_program);
	for (size_t i = 0; i < sizeof running / sizeof *running; i++)
		check_case(&running[i], running_program);
	for (size_t i = 0; i < sizeof windows / sizeof *windows; i++)
		check_case(&windows[i], window_program);
	for (size_t i = 0; i < sizeof factors / sizeof *factors; i++)
		check_case(&factors[i], factor_program);
	for (size_t i = 0; i < sizeof divided / sizeof *divided; i++)
		check_case(&divided[i], divided_program);
	for (size_t i = 0; i < sizeof convolved / sizeof *convolved; i++)
		check_case(&convolved[i], convolved_program);
	for (int i = 0; i < PRIMITIVE_COUNT; i++)
		if (!accepted[i] && i != PRIMITIVE_group) /* test_groups.c */
			fail_msg("%s was never accepted", primitive_name(i));
}

/* What a later step does to the loops of what carries is asked of the finished
 * nest. */
static void test_carried(void **state)
{
	static const char *const texts[][2] = {
	    {"carry(y.k)\nparallel(y.i)\n", NULL},
	    {"carry(y.k)\nj0, j1 = split(y.j, [_, 4])\n"
	     "reorder(j0, y.i, j1)\nunroll(j1)\n", NULL},
	    {"carry(y.k)\nj0, j1 = split(y.j, [_, 4])\nvectorize(j1, 4)\n",
		"made at once"},
	    {"carry(y.k)\nparallel(y.j)\n", "made at once"},
	    {"carry(y.k)\nj0, j1 = split(y.j, [_, 4])\nreorder(j1, j0)\n",
		"not made in their order"},
	    {"carry(y.k)\nf = fuse(y.i, y.j)\n", "fused loop does not carry"},
	    {"carry(o.k)\nreverse_compute_at(u, o.j)\n"
	     "transform_layout(o, [j%1])\n",
		NULL},
	    {"carry(o.k)\nj0, j1 = split(o.j, [_, 4])\n"
	     "reverse_compute_at(u, j0)\ntransform_layout(o, [j%j1])\n",
		NULL},
	    {"carry(o.k)\nj0, j1 = split(o.j, [_, 4])\n"
	     "reverse_compute_at(u, j0)\ntransform_layout(o, [j%2])\n",
		"fewer elements than are read"},
	    {"carry(o.k)\ntransform_layout(o, [j%4])\n",
		"does not follow in its loops"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		Arena *arena = arena_new();
		Error error = {0};
		Nest *nest = schedule_nest(arena, running_program(arena),
		    &test_machine, schedule_steps(arena, texts[i][0]), &error);
		if (!nest != !!texts[i][1])
			fail_msg("%s: %s", texts[i][0], error.text);
		if (!nest && !strstr(error.text, texts[i][1]))
			fail_msg("%s: %s", texts[i][0], error.text);
		arena_free(arena);
	}
}

/* What follows in the loops of a divided axis takes whole tiles of it: one that
 * runs past the end of a part would read what the next part writes. */
static void test_divided_tiles(void **state)
{
	static const char follows[] = "o, i = divide(half.i, 11)\n"
				      "reverse_compute_at(out, o)\n";
	static const char *const texts[][2] = {
	    {"", NULL},
	    {"a, b = split(i, [_, 11])\nunroll(b)\n", NULL},
	    {"a, b = split(i, [_, 16])\n", "run past its end"},
	    {"a, b = split(i, [_, 4])\n", "run past its end"},
	};
	(void)state;
	for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
		Arena *arena = arena_new();
		Error error = {0};
		Nest *nest = schedule_nest(arena, program_quotient(arena, 22),
		    &test_machine,
		    schedule_steps(arena,
			arena_printf(arena, "%s%s", follows, texts[k][0])),
		    &error);
		if (!nest != !!texts[k][1] ||
		    (!nest && !strstr(error.text, texts[k][1])))
			fail_msg("%s: %s", texts[k][0], error.text);
		arena_free(arena);
	}
}

/* --- exact numerics ----------------------------------------------------------- */

static void test_exact(void **state)
{
	static const char *const texts[][2] = {
	    {"rf = rfactor(c.k)", "exact numerics keep"},
	    {"ko, ki = split(c.k, [_, 4])\nreorder(ki, ko)",
		"exact numerics keep"},
	    {"ko, ki = split(c.k, [_, 4])\nreorder(ko, ki, c.j)", NULL},
	};

	(void)state;
	for (int i = 0; i < 3; i++) {
		Arena *arena = arena_new();
		Program *p = schedule_chain(arena);
		Error error = {0};
		Nest *nest;
		p->numerics = NUMERICS_EXACT;
		nest = schedule_nest(arena, p, &test_machine,
		    schedule_steps(arena, texts[i][0]), &error);
		if (texts[i][1])
			assert_non_null(strstr(error.text, texts[i][1]));
		else
			assert_non_null(nest);
		arena_free(arena);
	}
}

/* --- whole traces ---------------------------------------------------------------- */

static const char packed[] =
    "mo, mi = split(c.i, [_, 3])\n"
    "jo, ji = split(c.j, [_, 8])\n"
    "reorder(mo, jo, c.k, mi, ji)\n"
    "ap = cache_read(c, p)\n"
    "bp = cache_read(c, b)\n"
    "transform_layout(ap, [x0//mi, x1, x0%mi])\n"
    "transform_layout(bp, [x1//ji, x0, x1%ji])\n"
    "pad(ap, 0)\npad(bp, 0)\n"
    "compute_inline(p)\n"
    "compute_at(ap, mo)\n"
    "cw = cache_write(c, reg)\n"
    "compute_inline(d)\n";

static void test_exact_windows(void **state)
{
	Arena *arena = arena_new();
	Program *p = window_program(arena);
	Error error = {0};

	(void)state;
	p->numerics = NUMERICS_EXACT;
	assert_null(schedule_nest(arena, p, &test_machine,
	    schedule_steps(arena, "c = separate(y.s)"), &error));
	assert_non_null(strstr(error.text, "exact numerics keep"));
	assert_non_null(schedule_nest(arena, p, &test_machine,
	    schedule_steps(arena, "unfold(y)"), &error));
	arena_free(arena);
}

/* Sums begin with 0, which -0 and it give; what NaN and -inf give is -inf. */
static void test_one_step(void **state)
{
	static const char *const bodies[][2] = {{"s", "s[i] = x[i] + 0.0\n"},
	    {"z", "z[i] = s[i]\n"}, {"p", "p[i] = x[i]\n"},
	    {"m", "m[i] = max(x[i], -inf)\n"}, {"l", "l[i] = min(m[i], inf)\n"},
	    {"n", "n[i] = k[i]\n"}};
	Arena *arena = arena_new();
	Error error = {0};
	Program *program = program_of(arena,
	    "tunec: 1\nname: one_step\n"
	    "inputs: {x: 'f32[4]', k: 'i32[4]'}\n"
	    "outputs: [s, z, p, m, l, n]\ncompute: |\n"
	    "  s[i < 4] = sum[j < 1, r < 1](x[i + j])\n"
	    "  z[i < 4] = sum[j < 1](s[i])\n"
	    "  p[i < 4] = prod[j < 1](x[i])\n"
	    "  m[i < 4] = max[j < 1](x[i])\n"
	    "  l[i < 4] = min[j < 1](m[i])\n"
	    "  n[i < 4] = max[j < 1](k[i])\n");

	(void)state;
	for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
		Buf out = {0};
		Nest *nest = schedule_nest(arena, program, &test_machine,
		    schedule_steps(
			arena, arena_printf(arena, "unfold(%s)", bodies[i][0])),
		    &error);
		assert_non_null(nest);
		nest_print(&out, nest);
		if (!strstr(buf_text(&out), bodies[i][1]))
			fail_msg("no %s in %s", bodies[i][1], buf_text(&out));
		buf_free(&out);
	}
	arena_free(arena);
}

static void must_schedule(const char *text)
{
	Arena *arena = arena_new();
	Error error = {0};
	Nest *nest = schedule_nest(arena, schedule_chain(arena), &test_machine,
	    text ? schedule_steps(arena, text) : NULL, &error);

	if (!nest)
		fail_msg("%s", error.text);
	assert_true(nest->inferred);
	arena_free(arena);
}

static void test_schedules(void **state)
{
	(void)state;
	/* the example of the contract, its tail guarded */
	must_schedule("ap = cache_read(c, p, pack)\n"
	    "mo, mi = split(c.i, ?=[_, 6] in tile(2, inner<=16))\n"
	    "no, ni = split(c.j, ?=[_, 16] in tile(2, inner in lanes*{1,2,3}))\n"
	    "tail(mi, ?=mask in {pad, peel, mask})\n"
	    "reorder(mo, no, c.k, mi, ni)\n"
	    "compute_at(ap, mo)\n"
	    "unroll(mi); vectorize(ni, lanes); parallel(mo)\n");
	must_schedule(NULL);
	must_schedule("");
	must_schedule("reverse_compute_at(d, c.i)\nparallel(c.i)\n");
	must_schedule("rf = rfactor(c.k)\nparallel(rf.k)\nparallel(c.i)\n");
	must_schedule("cw = cache_write(c)\nmo, mi = split(cw.i, [_, 3])\n"
		      "reverse_compute_at(c, mo)\nparallel(mo)\n");
}

static void test_failures(void **state)
{
	Arena *arena = arena_new();
	Program *p = schedule_chain(arena);
	Error error = {0};

	(void)state;
	assert_null(schedule_nest(arena, p, &test_machine,
	    schedule_steps(arena, "parallel(c.i)\nparallel(c.k)"), &error));
	assert_string_equal(error.text, "step 2, parallel(c.k): a reduction "
					"loop cannot be parallel: rfactor it");
	assert_null(schedule_nest(arena, p, &test_machine,
	    schedule_steps(arena, "set_scope(c, reg)"), &error));
	assert_non_null(strstr(error.text, "the schedule: "));
	arena_free(arena);
}

/* What argmax compares with its maximum is not computed twice. */
static void test_once(void **state)
{
	Arena *arena = arena_new();
	Program *p = schedule_chain(arena);
	Error error = {0};

	(void)state;
	for (int i = 0; i < p->nbuffers; i++)
		p->buffers[i].once = true;
	for (int i = 0; i < 2; i++) {
		assert_null(schedule_nest(arena, p, &test_machine,
		    schedule_steps(arena, i ? "compute_at(d, inline)"
					    : "compute_inline(d)"), &error));
		assert_non_null(strstr(error.text, "computed twice"));
	}
	arena_free(arena);
}

/* Steps on what a decision inlined mean nothing. */
static void test_void_steps(void **state)
{
	static const char text[] =
	    "jo, ji = split(d.j, [_, 4])\n"
	    "compute_at(d, ?=inline in {inline, root})\n"
	    "io, ii = split(d.i, [_, 2])\n"
	    "unroll(ii)\nvectorize(ji, 4)\nparallel(out.j)\n"
	    "compute_at(c, ii)\n";
	Arena *arena = arena_new();
	bool gone[7] = {false};
	ApplyContext context = {.machine = &test_machine, .void_steps = gone};
	Nest *nest = nest_new(arena, schedule_chain(arena), tape_new(arena));
	int step;
	Refusal why;

	(void)state;
	if (!trace_apply(
		nest, schedule_steps(arena, text), &context, &step, &why))
		fail_msg("%d: %s", step, why);
	assert_false(gone[0] || gone[1] || gone[5]);
	assert_true(gone[2] && gone[3] && gone[4] && gone[6]);
	arena_free(arena);
}

/* --- slots -------------------------------------------------------------------- */

/* With slots for open tiles the nest is the one that numbers give. */
static void test_slots(void **state)
{
	static const char text[] =
	    "mo, m1, mi = split(c.i, ? in tile([1, 2], [2, 3]))\n"
	    "unroll(mi, limit=? in {4, 8})\n"
	    "jo, ji = split(c.j, ? in tile([4, 8]))\n"
	    "vectorize(ji, 8)\n"
	    "prefetch(c, b, c.k, ? in {2, 4})\n";
	Arena *arena = arena_new();
	ApplyContext context = {.machine = &test_machine, .use_slots = true};
	Nest *nest = nest_new(arena, schedule_chain(arena), tape_new(arena));
	int64_t slots[] = {2, 3, 8, 8, 4}, *values;
	int step, guard = 0;
	Refusal why;

	(void)state;
	if (!trace_apply(
		nest, schedule_steps(arena, text), &context, &step, &why))
		fail_msg("%d: %s", step, why);
	assert_int_equal(context.nslots, 5);
	assert_int_equal(tape_nslots(nest->tape), 5);
	values = NEW_N(arena, int64_t, tape_size(nest->tape));
	tape_eval(nest->tape, slots, values);
	assert_int_equal(
	    values[nest->vars.at[nest_find_loop(nest, "mo")].extent], 2);
	assert_int_equal(
	    values[nest->vars.at[nest_find_loop(nest, "jo")].extent], 3);
	for (int i = 0; i < nest->guards.n; i++)
		guard += strstr(nest->guards.at[i].why, "divide") &&
		    values[nest->guards.at[i].value] == 1;
	assert_int_equal(guard, 1);
	slots[3] = 4;
	slots[2] = 4;
	tape_eval(nest->tape, slots, values);
	for (int i = 0; i < nest->guards.n; i++)
		if (strstr(nest->guards.at[i].why, "divide"))
			assert_int_equal(values[nest->guards.at[i].value], 0);
	arena_free(arena);
}

static void test_packed(void **state)
{
	Arena *arena = arena_new();
	ApplyContext context = {.machine = &test_machine};
	Nest *nest = nest_new(arena, schedule_chain(arena), tape_new(arena));
	Refusal why;

	(void)state;
	apply_all(nest, schedule_steps(arena, packed), &context);
	if (!nest_infer(nest, &why))
		fail_msg("%s", why);
	assert_true(nest->stages.at[nest_find_stage(nest, "bp")].ahead);
	assert_int_equal(nest_find_stage(nest, "p"), -1);
	arena_free(arena);
}

static Nest *split_often(Arena *arena, int times, Error *error)
{
	Buf text = {0};
	Nest *nest;

	buf_puts(&text, "l0, m0 = split(g.i, [_, 1])\n");
	for (int i = 1; i < times; i++)
		buf_printf(&text, "l%d, m%d = split(l%d, [_, 1])\n", i, i,
		    i - 1);
	buf_printf(&text, "parallel(l%d)\nunroll(g.k)\n", times - 1);
	nest = schedule_nest(arena, schedule_dot(arena), &test_machine,
	    schedule_steps(arena, buf_text(&text)), error);
	buf_free(&text);
	return nest;
}

/* A thousand loops around a block, and no more. */
static void test_many_loops(void **state)
{
	Arena *arena = arena_new();
	Error error = {0};
	Nest *nest = split_often(arena, 1024, &error);

	(void)state;
	if (!nest)
		fail_msg("%s", error.text);
	assert_true(plan_record(arena, nest, &test_machine)->nstages > 0);
	assert_null(split_often(arena, 1025, &error));
	assert_non_null(strstr(error.text,
	    "step 1025, l1024, m1024 = split(l1023, [_, 1]): the block would "
	    "have more than 1,024 loops beside its axes"));
	arena_free(arena);
}

/* y[i] = x[i] + x[i], doubled by each block: inlined all the way the last body
 * would have 2^40 reads. */
static void test_inlining_is_bounded(void **state)
{
	enum { BLOCKS = 40, LARGEST = 1 << 10 };
	Arena *arena = arena_new();
	ApplyContext context = {.machine = &test_machine};
	Nest *nest = nest_new(
	    arena, program_doubles(arena, BLOCKS, 8), tape_new(arena));
	int inlined = 0;

	(void)state;
	for (int i = 0; i + 1 < BLOCKS; i++) {
		Trace *one = schedule_steps(arena,
		    arena_printf(arena, "compute_inline(y%d)\n", i));
		Refusal why = apply_step(nest, &one->steps.at[0], &context);
		const Stage *last = &nest->stages.at[i + 1];
		if (why)
			assert_non_null(strstr(why, "would be too large"));
		inlined += !why;
		assert_true(expr_size_within(last->body, LARGEST));
	}
	assert_in_range(inlined, BLOCKS / 2, BLOCKS - 2);
	arena_free(arena);
}

/* A body that is read at the reader's own axes is not copied: the second block
 * holds the very nodes of the first. */
static void test_inlining_shares(void **state)
{
	Arena *arena = arena_new();
	ApplyContext context = {.machine = &test_machine};
	Nest *nest =
	    nest_new(arena, program_doubles(arena, 2, 8), tape_new(arena));
	const Expr *first = nest->stages.at[0].body;

	(void)state;
	apply_all(nest, schedule_steps(arena, "compute_inline(y0)\n"), &context);
	assert_ptr_equal(nest->stages.at[1].body->arg[0], first);
	assert_ptr_equal(nest->stages.at[1].body->arg[1], first);
	arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_cases),
	    cmocka_unit_test(test_windows),
	    cmocka_unit_test(test_carried),
	    cmocka_unit_test(test_divided_tiles),
	    cmocka_unit_test(test_exact),
	    cmocka_unit_test(test_exact_windows),
	    cmocka_unit_test(test_one_step),
	    cmocka_unit_test(test_schedules),
	    cmocka_unit_test(test_once),
	    cmocka_unit_test(test_failures),
	    cmocka_unit_test(test_void_steps),
	    cmocka_unit_test(test_slots),
	    cmocka_unit_test(test_packed),
	    cmocka_unit_test(test_many_loops),
	    cmocka_unit_test(test_inlining_is_bounded),
	    cmocka_unit_test(test_inlining_shares),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
