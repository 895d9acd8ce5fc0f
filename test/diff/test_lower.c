/* Schedules written by hand, lowered, compiled by LLVM and run, and run by the
 * interpreter of the lowered form: both give what the program says. */
#include "test/common_lower.h"
#include "test/common_lowered.h"
#include "test/common_program.h"
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

typedef Program *Maker(Arena *arena);

static Program *matmul(Arena *arena)
{
	return program_matmul(arena, 13, 35, 9);
}

/* Inputs of another type; sums and the output stay f32. */
static Program *matmul_of(Arena *arena, DType type)
{
	Program *p = matmul(arena);
	Block *c = &p->blocks[0];
	Expr *arg[2];
	for (int i = 0; i < 2; i++) {
		const Expr *read = c->body->arg[i];
		p->buffers[i].type = type;
		arg[i] = expr_cast(arena, DT_F32,
		    expr_read(arena, type, i, read->arg, read->narg));
	}
	c->body = expr_binary(arena, OP_MUL, arg[0], arg[1]);
	return p;
}

static Program *matmul_f16(Arena *arena)
{
	return matmul_of(arena, DT_F16);
}

static Program *matmul_bf16(Arena *arena)
{
	return matmul_of(arena, DT_BF16);
}

/* Sums of products of u8 and i8. */
static Program *product_of(Arena *arena, int m, int n, int k)
{
	static const DType types[] = {DT_U8, DT_I8, DT_I32};
	Program *p = program_matmul(arena, m, n, k);
	Block *c = &p->blocks[0];
	Expr *arg[2];
	for (int i = 0; i < 3; i++)
		p->buffers[i].type = types[i];
	for (int i = 0; i < 2; i++) {
		const Expr *read = c->body->arg[i];
		arg[i] = expr_cast(arena, DT_I32,
		    expr_read(arena, types[i], i, read->arg, read->narg));
	}
	c->body = expr_binary(arena, OP_MUL, arg[0], arg[1]);
	return p;
}

static Program *product_u8i8(Arena *arena)
{
	return product_of(arena, 12, 32, 16);
}

static Program *product_u8i8_odd(Arena *arena)
{
	return product_of(arena, 13, 35, 9);
}

/* c[i] = sum[k] i32(a[i, k]) * i32(b[k]), b of i8 */
static Program *row_products(Arena *arena, DType type, int64_t m, int64_t k)
{
	Program *p = product_of(arena, m, 1, k);
	Expr *a = p->blocks[0].body->arg[0];
	p->buffers[0].type = a->arg[0]->type = type;
	return p;
}

/* c[i] = sum[k] i32(a[i, k]) */
static Program *row_sums(Arena *arena, DType type, int64_t m, int64_t k)
{
	Program *p = row_products(arena, type, m, k);
	p->blocks[0].body = p->blocks[0].body->arg[0];
	return p;
}

static Program *row_sums_u8(Arena *arena)
{
	return row_sums(arena, DT_U8, 12, 64);
}

static Program *row_sums_i8(Arena *arena)
{
	return row_sums(arena, DT_I8, 12, 64);
}

static Program *row_sums_odd(Arena *arena)
{
	return row_sums(arena, DT_U8, 13, 71);
}

static Program *row_products_u8(Arena *arena)
{
	return row_products(arena, DT_U8, 12, 64);
}

static Program *row_products_i8(Arena *arena)
{
	return row_products(arena, DT_I8, 12, 64);
}

static Program *row_products_odd(Arena *arena)
{
	return row_products(arena, DT_I16, 13, 71);
}

static Program *conv(Arena *arena)
{
	return program_conv(arena, 3, 19, 11, 1);
}

static Program *conv_stride2(Arena *arena)
{
	return program_conv(arena, 3, 19, 11, 2);
}

static Program *stencil(Arena *arena)
{
	return schedule_stencil(arena, 21);
}

static Program *softmax(Arena *arena)
{
	return program_softmax(arena, 5, 21);
}

static Program *moments(Arena *arena)
{
	return program_moments(arena, 11, 21);
}

static Program *triangle(Arena *arena)
{
	return program_triangle(arena, 19);
}

static Program *strided(Arena *arena)
{
	return program_strided(arena, 37);
}

/* With math functions; the others are exact. */
static bool is_rounded(Maker *make)
{
	return make == softmax;
}

typedef struct {
	const char *name;
	Maker *make;
	const char *trace;
} Case;


/* A register tile of 4x16 of the product; `last` are more steps. */
#define TILE(style, last)                                                      \
	"acc = cache_write(c, reg)\n"                                          \
	"i0, i1 = split(c.i, [_, 4])\n"                                        \
	"j0, j1, j2 = split(c.j, [_, 2, 8])\n"                                 \
	"reorder(i0, j0, i1, j1, j2)\n"                                        \
	"unroll(i1)\nunroll(j1)\nvectorize(j2, 8)\n"                           \
	"parallel(i0)\n"                                                       \
	"tail(c, " style ")\n"                                                 \
	"compute_at(acc, j0)\n"                                                \
	"a1, a2 = split(acc.j, [_, 8])\n"                                      \
	"reorder(acc.k, acc.i, a1, a2)\n"                                      \
	"unroll(acc.i)\nunroll(a1)\nvectorize(a2, 8)\n" last
#define PACKED                                                                 \
	"ap = cache_read(acc, a)\n"                                            \
	"compute_at(ap, i0)\n"                                                 \
	"transform_layout(ap, [x0//4, x1, x0%4])\n"                            \
	"pad(ap, 0)\n"                                                         \
	"bp = cache_read(acc, b)\n"                                            \
	"compute_at(bp, root)\n"                                               \
	"transform_layout(bp, [x1//16, x0, x1%16])\n"                          \
	"pad(bp, 0)\n"
/* Vectors and unrolled rows straight to memory. */
#define PLAIN_TILE(style)                                                      \
	"i0, i1 = split(c.i, [_, 4])\n"                                        \
	"j0, j1 = split(c.j, [_, 8])\n"                                        \
	"reorder(i0, j0, c.k, i1, j1)\n"                                       \
	"unroll(i1)\nvectorize(j1, 8)\n"                                       \
	"tail(c, " style ")\n"
#define CONV_TILE(style)                                                       \
	"acc = cache_write(conv, reg)\n"                                       \
	"compute_inline(conv)\n"                                               \
	"o0, o1 = split(out.o, [_, 4])\n"                                      \
	"x0, x1 = split(out.x, [_, 8])\n"                                      \
	"reorder(o0, x0, o1, x1)\n"                                            \
	"unroll(o1)\nvectorize(x1, 8)\nparallel(o0)\n"                         \
	"tail(out, " style ")\n"                                               \
	"compute_at(acc, x0)\n"                                                \
	"a0, a1 = split(acc.x, [_, 8])\n"                                      \
	"reorder(acc.c, acc.r, acc.o, a0, a1)\n"                               \
	"unroll(acc.o)\nunroll(a0)\nvectorize(a1, 8)\n"

/* Lanes along rows, so that a vector is stored an element a row. */
#define ROWS(style)                                                            \
	"acc = cache_write(c, reg)\n"                                          \
	"i0, i1 = split(c.i, [_, 8])\n"                                        \
	"j0, j1 = split(c.j, [_, 7])\n"                                        \
	"reorder(i0, j0, j1, i1)\n"                                            \
	"unroll(j1)\nvectorize(i1, 8)\n"                                       \
	"tail(c, " style ")\n"                                                 \
	"compute_at(acc, j0)\n"                                                \
	"a0, a1 = split(acc.i, [_, 8])\n"                                      \
	"reorder(acc.k, acc.j, a0, a1)\n"                                      \
	"unroll(acc.j)\nunroll(a0)\nvectorize(a1, 8)\n"                        \
	"tail(acc, " style ")\n"

/* Lanes along the reduction: rows at once, partial results that are unrolled. */
#define ACROSS(style, last)                                                    \
	"i0, i1 = split(c.i, [_, 4])\n"                                        \
	"k0, k1, k2 = split(c.k, [_, 3, 8])\n"                                 \
	"reorder(i0, c.j, k0, k1, i1, k2)\n"                                   \
	"unroll(i1)\nunroll(k1)\nvectorize(k2, 8)\n"                          \
	"parallel(i0)\ntail(c, " style ")\n" last

/* A tile of sums of u8*i8 by fours. */
#define DOT(lanes, rows, style, last)                                          \
	"acc = cache_write(c, reg)\n"                                          \
	"i0, i1 = split(c.i, [_, " rows "])\n"                                 \
	"j0, j1, j2 = split(c.j, [_, 2, " lanes "])\n"                         \
	"reorder(i0, j0, i1, j1, j2)\n"                                       \
	"unroll(i1)\nunroll(j1)\nvectorize(j2, " lanes ")\n"                  \
	"parallel(i0)\ntail(c, peel)\n"                                       \
	"compute_at(acc, j0)\n"                                               \
	"a1, a2 = split(acc.j, [_, " lanes "])\n"                              \
	"k0, k1 = split(acc.k, [_, 4])\n"                                     \
	"reorder(k0, acc.i, a1, a2, k1)\n"                                    \
	"unroll(acc.i)\nunroll(a1)\nunroll(k1)\nvectorize(a2, " lanes ")\n"   \
	"tail(acc, " style ")\n"                                               \
	"bp = cache_read(acc, b)\ncompute_at(bp, root)\n"                     \
	"transform_layout(bp, [x1//(2*" lanes "), x0//4, x1%(2*" lanes "), "   \
	"x0%4])\npad(bp, 0)\n" last "tensorize(k1, dot4_u8i8)\n"
#define DOT_PACKED                                                             \
	"ap = cache_read(acc, a)\ncompute_at(ap, i0)\n"                       \
	"transform_layout(ap, [x0//4, x1//4, x0%4, x1%4])\npad(ap, 0)\n"

/* Four steps of a row of bytes for each of eight lanes, which are steps too. */
#define ROW_DOTS(terms, last, name)                                            \
	"k0, k1, k2, k3 = split(c.k, [_, 2, 8, " terms "])\n"                  \
	"i0, i1 = split(c.i, [_, 2])\nreorder(i0, k0, k1, i1, c.j, k2, k3)\n"  \
	"unroll(i1)\nunroll(c.j)\nvectorize(k2, 8)\nunroll(k3)\n" last         \
	"tensorize(k3, " name ")\n"
#define ROW_SUMS(last) ROW_DOTS("4", last, "dot4_u8i8")

static const Case cases[] = {
    {"mm_plain", matmul, ""},
    {"mm_peel", matmul, TILE("peel", "tail(acc, peel)\n")},
    {"mm_mask", matmul, TILE("mask", "tail(acc, mask)\n")},
    {"mm_guard", matmul, TILE("guard", "tail(acc, peel)\n")},
    {"mm_pad", matmul, TILE("peel", PACKED "tail(acc, pad)\n")},
    {"mm_packed_peel", matmul, TILE("peel", PACKED "tail(acc, peel)\n")},
    {"mm_rows_peel", matmul, ROWS("peel")},
    {"mm_rows_mask", matmul, ROWS("mask")},
    {"mm_across_peel", matmul, ACROSS("peel", "")},
    {"mm_across_mask", matmul, ACROSS("mask", "")},
    {"mm_across_guard", matmul, ACROSS("guard", "")},
    {"mm_across_f16", matmul_f16, ACROSS("peel", "")},
    {"mm_across_init", matmul, ACROSS("peel", "decompose_reduction(c, c.j)\n")},
    /* no accumulators: a loop over results runs inside of the reduction */
    {"mm_across_memory", matmul,
	"k0, k1 = split(c.k, [_, 8])\nreorder(c.i, k0, c.j, k1)\n"
	"vectorize(k1, 8)\nparallel(c.i)\n"},
    {"mm_across_reg", matmul,
	"acc = cache_write(c, reg)\n"
	"i0, i1 = split(c.i, [_, 4])\nreorder(i0, c.j, i1)\nunroll(i1)\n"
	"compute_at(acc, c.j)\n"
	"k0, k1 = split(acc.k, [_, 8])\nreorder(k0, acc.i, acc.j, k1)\n"
	"unroll(acc.i)\nunroll(acc.j)\nvectorize(k1, 8)\n"},
    {"dot_across", schedule_dot,
	"k0, k1 = split(g.k, [_, 4])\nvectorize(k1, 4)\nparallel(g.i)\n"},
    {"softmax_across", softmax,
	"parallel(out.i)\ncompute_at(total, out.i)\ncompute_at(e, out.i)\n"
	"compute_at(top, out.i)\nt0, t1 = split(total.j, [_, 8])\n"
	"vectorize(t1, 8)\nm0, m1 = split(top.j, [_, 4])\n"
	"vectorize(m1, 4)\ntail(top, mask)\n"},
    /* lanes and rows as many: whole rows are stored */
    {"mm_square", matmul,
	"i0, i1 = split(c.i, [_, 8])\nj0, j1 = split(c.j, [_, 8])\n"
	"reorder(i0, j0, c.k, j1, i1)\nunroll(j1)\nvectorize(i1, 8)\n"},
    {"mm_oblong", matmul,
	"i0, i1 = split(c.i, [_, 4])\nj0, j1 = split(c.j, [_, 16])\n"
	"reorder(i0, j0, c.k, j1, i1)\nunroll(j1)\nvectorize(i1, 4)\n"},
    {"mm_f16", matmul_f16, TILE("mask", "tail(acc, mask)\n")},
    {"mm_bf16", matmul_bf16, TILE("peel", PACKED "tail(acc, pad)\n")},
    {"mm_memory_peel", matmul, PLAIN_TILE("peel")},
    {"mm_memory_mask", matmul, PLAIN_TILE("mask")},
    {"mm_memory_guard", matmul, PLAIN_TILE("guard")},
    {"mm_rfactor", matmul,
	"k0, k1 = split(c.k, [_, 4])\nrf = rfactor(k1)\nparallel(c.i)\n"},
    {"mm_prefetch", matmul,
	PLAIN_TILE("peel") "prefetch(c, b, c.k, 3)\nunroll(c.k, 16)\n"},
    {"mm_panels", matmul,
	TILE("peel", PACKED "tail(acc, pad)\nprefetch(acc, bp, j0, 1)\n")},
    {"dot4_whole", product_u8i8, DOT("8", "4", "peel", "")},
    {"dot4_packed", product_u8i8_odd, DOT("8", "4", "pad", DOT_PACKED)},
    {"dot4_wide", product_u8i8_odd, DOT("16", "4", "pad", DOT_PACKED)},
    {"dot4_tails", product_u8i8_odd, DOT("4", "3", "peel", "")},
    {"dot4_memory", product_u8i8,
	"k0, k1 = split(c.k, [_, 4])\nreorder(c.i, k0, c.j, k1)\n"
	"tensorize(k1, dot4_u8i8)\n"},
    {"dot4_scalar", schedule_dot,
	"k0, k1 = split(g.k, [_, 4])\ntensorize(k1, dot4_u8i8)\n"},
    {"dot4_u8", row_sums_u8, ROW_SUMS("")},
    {"dot4_i8", row_sums_i8, ROW_SUMS("unroll(k1)\n")},
    {"dot4_odd", row_sums_odd, ROW_SUMS("tail(c, mask)\n")},
    {"dot4_rows", row_products_u8, ROW_DOTS("4", "", "dot4_u8i8")},
    {"dot2_bytes", row_products_i8, ROW_DOTS("2", "unroll(k1)\n", "dot2_i16")},
    {"dot2_mixed", row_products_u8, ROW_DOTS("2", "", "dot2_i16")},
    {"dot2_odd", row_products_odd,
	ROW_DOTS("2", "tail(c, peel)\n", "dot2_i16")},
    {"dot_plain", schedule_dot, ""},
    {"dot_vector", schedule_dot, "vectorize(g.i, 8)\nreorder(g.k, g.i)\n"},
    {"dot_rfactor", schedule_dot,
	"k0, k1 = split(g.k, [_, 8])\nrf = rfactor(k1)\nparallel(g.i)\n"},
    {"conv_plain", conv, ""},
    {"conv_halo", conv,
	"x0, x1 = split(out.x, [_, 5])\ncompute_at(conv, x0)\n"
	"compute_at(padded, x0)\nparallel(x0)\n"},
    {"conv_inline", conv,
	"compute_inline(padded)\nx0, x1 = split(out.x, [_, 8])\n"
	"vectorize(x1, 8)\n"},
    {"conv_peel", conv, CONV_TILE("peel") "tail(acc, peel)\n"},
    {"conv_mask", conv, CONV_TILE("mask") "tail(acc, mask)\n"},
    {"conv_stride2", conv_stride2, CONV_TILE("peel") "tail(acc, peel)\n"},
    {"conv_stride2_plain", conv_stride2,
	"x0, x1 = split(conv.x, [_, 4])\nvectorize(x1, 4)\n"
	"reorder(x0, conv.c, conv.r, x1)\ntail(conv, mask)\n"},
    {"stencil_at", stencil,
	"r0, r1 = split(r.i, [_, 4])\ncompute_at(p, root)\n"
	"p0, p1 = split(p.i, [_, 8])\nvectorize(p1, 8)\ntail(p, guard)\n"},
    {"triangle_plain", triangle, ""},
    {"triangle_rows", triangle,
	"i0, i1 = split(y.i, [_, 4])\nreorder(i0, y.j, i1)\nunroll(i1)\n"},
    {"triangle_vector", triangle,
	"i0, i1 = split(y.i, [_, 8])\nreorder(i0, y.j, i1)\n"
	"vectorize(i1, 8)\ntail(y, mask)\n"},
    {"strided_peel", strided,
	"i0, i1 = split(y.i, [_, 8])\nvectorize(i1, 8)\nparallel(i0)\n"},
    /* the vector at a row's end must not read the next row, another thread's */
    {"masked_sum", matmul,
	"i0, i1 = split(c.i, [_, 7])\nj0, j1 = split(c.j, [_, 4])\n"
	"reorder(i0, i1, c.k, j0, j1)\nunroll(i0)\nparallel(i1)\n"
	"unroll(j0)\nvectorize(j1, 4)\ndecompose_reduction(c, i1)\n"
	"tail(c, mask)\n"},
    {"strided_mask", strided,
	"i0, i1 = split(y.i, [_, 4])\nvectorize(i1, 4)\ntail(y, mask)\n"},
    {"softmax_plain", softmax, ""},
    {"softmax_rows", softmax,
	"parallel(out.i)\ncompute_at(total, out.i)\ncompute_at(e, out.i)\n"
	"compute_at(top, out.i)\nj0, j1 = split(out.j, [_, 8])\n"
	"vectorize(j1, 8)\ntail(out, mask)\n"
	"e0, e1 = split(e.j, [_, 8])\nvectorize(e1, 8)\ntail(e, peel)\n"},
    {"softmax_rfactor", softmax,
	"t0, t1 = split(total.j, [_, 8])\nrf = rfactor(t1)\n"
	"parallel(out.i)\n"},
    /* several blocks in the loops of one */
    {"with_plain", moments, "compute_with(q, s)\n"},
    {"with_second", moments, "compute_with(s, q)\n"},
    {"with_outputs", moments,
	"compute_with(q, s)\nparallel(y.i)\n"
	"j0, j1 = split(y.j, [_, 8])\nvectorize(j1, 8)\ntail(y, mask)\n"},
    {"with_rows", moments,
	"i0, i1 = split(q.i, [_, 4])\nk0, k1, kv = split(q.k, [_, 2, 8])\n"
	"reorder(i0, k0, k1, i1, kv)\nunroll(i1)\nunroll(k1)\n"
	"vectorize(kv, 8)\ntail(q, mask)\nparallel(i0)\ncompute_with(s, q)\n"},
    {"with_rows_guard", moments,
	"i0, i1 = split(q.i, [_, 4])\nk0, k1, kv = split(q.k, [_, 3, 8])\n"
	"reorder(i0, k0, k1, i1, kv)\nunroll(i1)\nunroll(k1)\n"
	"vectorize(kv, 8)\ncompute_with(s, q)\n"},
    {"with_columns", moments,
	"i0, i1 = split(q.i, [_, 8])\nreorder(i0, q.k, i1)\n"
	"vectorize(i1, 8)\ntail(q, peel)\ncompute_with(s, q)\n"},
    {"with_memory", moments,
	"i0, i1 = split(q.i, [_, 4])\nreorder(i0, q.k, i1)\n"
	"compute_with(s, q)\n"},
    {"with_registers", moments,
	"qa = cache_write(q, reg)\nsa = cache_write(s, reg)\n"
	"i0, i1 = split(q.i, [_, 4])\nunroll(i1)\ntail(q, peel)\n"
	"compute_at(qa, i0)\nunroll(qa.i)\nreorder(qa.k, qa.i)\n"
	"compute_with(s, q)\ncompute_with(sa, qa)\n"},
    {"with_chunks", moments,
	"k0, k1 = split(q.k, [_, 6])\nqf = rfactor(k0)\nparallel(qf.k0)\n"
	"l0, l1 = split(s.k, [_, 6])\nsf = rfactor(l0)\n"
	"compute_with(sf, qf)\ncompute_with(s, q)\n"},
    {"with_after", moments,
	"i0, i1 = split(s.i, [_, 4])\ncompute_with(q, s)\n"
	"reverse_compute_at(u, i0)\n"},
    {"chain", schedule_chain,
	"compute_inline(d)\ncompute_inline(p)\n"
	"i0, i1 = split(out.i, [_, 4])\nunroll(i1)\ntail(out, peel)\n"},
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

static Program *named(const Case *c)
{
	Program *p = NEW(arena, Program);
	*p = *c->make(arena);
	p->symbol = arena_printf(arena, "t_%s", c->name);
	return p;
}

static void make_case(int number)
{
	const Case *c = &cases[number];
	Made *m = &made[number];
	Error error = {0};
	char why[512];
	Rng rng = rng_stream(5, 0, (uint64_t)number);
	m->program = named(c);
	m->data = lowercheck_data(arena, m->program, &rng);
	lowercheck_expect(m->program, m->data);
	Nest *nest = schedule_nest(arena, m->program, &target->machine,
	    schedule_steps(arena, c->trace), &error);
	if (!nest)
		fail_msg("%s: %s", c->name, error.text);
	m->lowered = lower(arena, nest, &target->machine, &error);
	if (!m->lowered)
		fail_msg("%s: %s", c->name, error.text);
	if (!lowered_verify(m->lowered, why, sizeof why))
		fail_msg("%s: %s", c->name, why);
}

static int set_up(void **state)
{
	Error error;
	(void)state;
	lower_asks_again = true;
	arena = arena_new();
	target = target_parse(arena, "llvm -mcpu=haswell -threads=2", &error);
	assert_non_null(target);
	for (int i = 0; i < NCASES; i++)
		make_case(i);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_free(arena);
	return 0;
}

static void check(int i, LowerCall call, void *context)
{
	const char *why = lowercheck_run(arena, made[i].lowered, made[i].data,
	    is_rounded(cases[i].make) ? 1e-5 : 0, call, context);
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

/* What the rules write for the same programs. */
static void test_candidates(void **state)
{
	static Maker *const makers[] = {
	    matmul, conv, conv_stride2, softmax, schedule_chain};
	enum { SAMPLES = 60 };
	(void)state;
	for (int m = 0; m < 5; m++) {
		Error error = {0};
		Candidate c;
		Rng rng = rng_stream(6, 0, (uint64_t)m);
		Program *p = makers[m](arena);
		program_complete(arena, p);
		Space *space = space_new(arena, p, &target->machine, &error);
		void **data = lowercheck_data(arena, p, &rng);
		lowercheck_expect(p, data);
		assert_non_null(space);
		for (int i = 0; i < SAMPLES; i++) {
			if (!space_sample(space, &rng, &c)) {
				print_message("%s: no candidate\n", p->name);
				break;
			}
			Nest *nest = schedule_nest(arena, p, &target->machine,
			    space_trace(arena, space, &c), &error);
			assert_non_null(nest);
			Lowered *l = lower(
			    arena, nest, &target->machine, &error);
			if (!l)
				fail_msg("%s %d: %s", p->name, i, error.text);
			const char *wrong = lowercheck_run(
			    arena, l, data, 1e-5, NULL, NULL);
			if (wrong)
				fail_msg("%s %d: %s", p->name, i, wrong);
		}
	}
}

/* --- sums by fours --------------------------------------------------------- */

static int64_t dots(const char *name)
{
	for (int i = 0; i < NCASES; i++) {
		LowRun run = {0};
		const Lowered *l = made[i].lowered;
		void *args[4] = {0};
		if (strcmp(cases[i].name, name) != 0)
			continue;
		const Program *p = made[i].program;
		args[0] = made[i].data[0];
		args[1] = made[i].data[1];
		if (l->packs.n) {
			args[1] = lowercheck_memory(arena, l->packed_bytes[0]);
			assert_true(low_function_run(l->packs.at[0],
			    (void *[]){made[i].data[1], args[1]},
			    &(LowRun){0}));
		}
		args[2] = lowercheck_memory(
		    arena, buffer_bytes(&p->buffers[p->outputs[0]]));
		args[3] = lowercheck_memory(arena, l->workspace_bytes);
		assert_true(low_function_run(l->kernel, args, &run));
		return run.op_count[LOW_DOT];
	}
	fail_msg("no case %s", name);
	return 0;
}

/* Operands that lie right make one operation of a tensorized loop; a padded
 * tail is computed whole, others are repeated. */
static void test_dots(void **state)
{
	(void)state;
	assert_int_equal(dots("dot4_whole"), 12 * (32 / 8) * (16 / 4));
	assert_int_equal(dots("dot4_packed"), 16 * (48 / 8) * 3);
	assert_int_equal(dots("dot4_wide"), 16 * (64 / 16) * 3);
	assert_true(dots("dot4_tails") > 0);
	assert_int_equal(dots("dot4_scalar"), 8 * 4);
	assert_int_equal(dots("dot4_memory"), 0);
	assert_int_equal(dots("dot4_u8"), 12 * 64 / 32);
	assert_int_equal(dots("dot4_i8"), 12 * 64 / 32);
	assert_int_equal(dots("dot4_rows"), 12 * 64 / 32);
	assert_int_equal(dots("dot2_bytes"), 12 * 64 / 16);
	assert_int_equal(dots("dot2_mixed"), 12 * 64 / 16);
	assert_true(dots("dot2_odd") >= 13 * (71 / 16));
}

/* --- stores whose lanes lie apart --------------------------------------- */

/* Seven neighbours of eight rows: four and two are stored row by row, the
 * last is scattered. */
static void test_transposed(void **state)
{
	Error error = {0};
	LowRun run = {0};
	Rng rng = rng_stream(9, 0, 0);
	Program *p = program_matmul(arena, 16, 35, 9);
	void **data = lowercheck_data(arena, p, &rng);
	lowercheck_expect(p, data);
	Nest *nest = schedule_nest(arena, p, &target->machine,
	    schedule_steps(arena, ROWS("peel")), &error);
	assert_non_null(nest);
	Lowered *l = lower(arena, nest, &target->machine, &error);
	assert_non_null(l);
	(void)state;
	if (lowercheck_run(arena, l, data, 0, NULL, NULL))
		fail_msg("the rows are wrong");
	void *packed = lowercheck_memory(arena, l->packed_bytes[0]);
	void *c = lowercheck_memory(arena, 4 * 16 * 35);
	void *workspace = lowercheck_memory(arena, l->workspace_bytes);
	assert_true(low_function_run(
	    l->packs.at[0], (void *[]){data[1], packed}, &run));
	run = (LowRun){0};
	assert_true(low_function_run(
	    l->kernel, (void *[]){data[0], packed, c, workspace}, &run));
	int tiles = 2 * 5;
	assert_int_equal(run.op_count[LOW_SCATTER], tiles);
	assert_int_equal(run.op_count[LOW_STORE], tiles * (8 + 8));
	assert_int_equal(run.op_count[LOW_SHUFFLE], tiles * (8 + 8 + 2 + 8));
	assert_int_equal(run.stores, 16 * 35);
}

/* What is made of what is made ahead is made ahead after it, whichever step was
 * first. */
static void test_made_after(void **state)
{
	static const char *const traces[] = {
	    "t = cache_read(c, b)\nu = cache_read(c, t)\n",
	    "u = cache_read(c, b)\nt = cache_read(u, b)\n"};
	const Program *p = program_matmul(arena, 7, 19, 11);
	Machine machine = test_machine;
	(void)state;
	for (int i = 0; i < 2; i++) {
		Error error;
		Rng rng = rng_stream(2026, 7, (uint64_t)i);
		void **data = lowercheck_data(arena, p, &rng);
		lowercheck_expect(p, data);
		Nest *nest = schedule_nest(arena, p, &machine,
		    schedule_steps(arena, traces[i]), &error);
		assert_non_null(nest);
		for (int k = 0; k < 2; k++)
			assert_true(
			    nest->stages
				.at[nest_find_stage(nest, k ? "t" : "u")]
				.ahead);
		Lowered *l = lower(arena, nest, &machine, &error);
		assert_non_null(l);
		if (lowercheck_run(arena, l, data, 0, NULL, NULL))
			fail_msg("%s: the result is wrong", traces[i]);
	}
}

/* --- how much is computed ------------------------------------------------- */

static int64_t multiplications(
    const Program *p, const Lowered *lowered, void *const *data)
{
	LowRun run = {0}, ahead = {0};
	void *packed = lowercheck_memory(arena, lowered->packed_bytes[0]);
	void *c = lowercheck_memory(
	    arena, buffer_bytes(&p->buffers[p->outputs[0]]));
	void *workspace = lowercheck_memory(arena, lowered->workspace_bytes);
	assert_true(low_function_run(lowered->packs.at[0],
	    (void *[]){data[1], packed}, &ahead));
	assert_true(low_function_run(lowered->kernel,
	    (void *[]){data[0], packed, c, workspace}, &run));
	return run.op_count[LOW_FMA];
}

/* 127 rows in tiles of 4 tiles of 6: 22 tiles, whole where they are padded;
 * and so says the plan. */
static void test_padding(void **state)
{
	static const char steps[] =
	    "acc = cache_write(c)\ncompute_at(acc, root)\n"
	    "i0, i1, i2 = split(acc.i, [_, 4, 6])\n"
	    "reorder(i0, i1, i2, acc.k, acc.j)\n"
	    "ap = cache_read(acc, a)\ncompute_at(ap, root)\npad(ap, 0)\n"
	    "tail(acc, %s)\n";
	static const char *const styles[] = {"pad", "peel", "mask", "guard"};
	(void)state;
	for (int i = 0; i < 4; i++) {
		Error error = {0};
		Rng rng = rng_stream(8, 0, 0);
		Program *p = program_matmul(arena, 127, 3, 5);
		Nest *nest = schedule_nest(arena, p, &target->machine,
		    schedule_steps(
			arena, arena_printf(arena, steps, styles[i])),
		    &error);
		if (!nest)
			fail_msg("%s", error.text);
		Lowered *l = lower(arena, nest, &target->machine, &error);
		assert_non_null(l);
		int64_t rows = i ? 127 : 132;
		assert_int_equal(multiplications(p, l,
				     lowercheck_data(arena, p, &rng)),
		    rows * 3 * 5);
		Plan *plan = plan_record(arena, nest, &target->machine);
		int64_t *values = NEW_N(arena, int64_t, tape_size(nest->tape));
		tape_eval(nest->tape, NULL, values);
		StageCost cost;
		const PlanStage *c = &plan->stages[plan->anchor];
		stage_cost(c, &target->machine, values, &cost);
		assert_true(cost.trips[c->nloops] == (double)rows * 3 * 5);
	}
}

/* A tile that begins at a number and is padded reads no element behind it. */
static void test_padded_at_a_number(void **state)
{
	Error error = {0};
	Rng rng = rng_stream(8, 0, 1);
	(void)state;
	Program *p = program_of_text(arena,
	    "tunec: 1\nname: n\ninputs: {x: 'i8[3, 16]'}\ncompute: |\n"
	    "  d[] = prod[r < 3](x[r, clamp(r + 20, 0, 15)])\n",
	    NUMERICS_DEFAULT);
	void **data = lowercheck_data(arena, p, &rng);
	lowercheck_expect(p, data);
	Nest *nest = schedule_nest(arena, p, &target->machine,
	    schedule_steps(arena,
		"t = rfactor(d.r)\nunfold(d)\ncompute_inline(t)\n"
		"u = retype(d, 1, u8)\nw, v = split(u.x1, [_, 16])\n"
		"vectorize(v, 16)\npad(u, 1)\n"),
	    &error);
	if (!nest)
		fail_msg("%s", error.text);
	Lowered *l = lower(arena, nest, &target->machine, &error);
	assert_non_null(l);
	const char *why = lowercheck_run(arena, l, data, 0, NULL, NULL);
	if (why)
		fail_msg("%s", why);
}

/* --- what does not leave lowering ------------------------------------------ */

static Nest *nest_of(const char *steps)
{
	Error error = {0};
	Nest *nest = schedule_nest(arena, program_matmul(arena, 16, 32, 8),
	    &target->machine, schedule_steps(arena, steps), &error);
	if (!nest)
		fail_msg("%s", error.text);
	return nest;
}

static void refused(const Nest *nest, Status status, const char *part)
{
	Error error = {0};
	assert_null(lower(arena, nest, &target->machine, &error));
	if (error.status != status || !strstr(error.text, part))
		fail_msg("%s", error.text);
}

/* What is not valid is an error of tunec's before any emitter sees it: here of
 * a nest that was changed after it was verified. */
static void test_verified(void **state)
{
	(void)state;
	Nest *nest = nest_of("parallel(c.i)");
	nest->vars.at[nest_find_loop(nest, "c.j")].kind = LOOP_PARALLEL;
	refused(nest, STATUS_INTERNAL, "internal error: ");
}

/* A GPU's is refused for any other machine, and by its own name. */
static void test_bound(void **state)
{
	(void)state;
	refused(nest_of("bind(c.i, blockIdx.x)"), STATUS_UNSUPPORTED,
	    "loop c.i is bound to blockIdx.x, which this target has not");
}

/* --- a GPU's blocks ---------------------------------------------------------- */

#define BLOCKS                                                                 \
	"i0, i1 = split(c.i, [_, 4])\nk0, k1 = split(c.k, [_, 2])\n"            \
	"reorder(i0, k0, i1, c.j, k1)\n"                                        \
	"bind(i0, blockIdx.x)\nbind(i1, threadIdx.x)\n"
#define FILL BLOCKS "t = cache_read(c, a, shared)\ncompute_at(t, k0)\n"

/* Launch by launch as at once. */
static const char *run_launches(
    Lowered *l, void *const *args, const void *c, size_t size)
{
	Error error = {0};
	void *own[4];
	memcpy(own, args, sizeof own);
	own[2] = lowercheck_memory(arena, (int64_t)size);
	if (!lower_launches(l, &target->machine, &error))
		return arena_strdup(arena, error.text);
	for (int i = 0; i < l->launches.n; i++) {
		const LowFunction *f = l->launches.at[i].function;
		LowRun run = {.check_races = true};
		char why[256];
		if (!low_function_verify(f, why, sizeof why))
			return arena_strdup(arena, why);
		if (!low_function_run(f, own, &run))
			return arena_strdup(arena, run.message);
	}
	return memcmp(own[2], c, size) ? "launches give something else" : NULL;
}

#define SUMS(rows)                                                             \
	"acc = cache_write(c, reg)\ni0, it = split(c.i, [_, " rows "])\n"      \
	"bind(i0, blockIdx.x)\nbind(it, threadIdx.x)\nunroll(c.j)\n"          \
	"compute_at(acc, i0)\nk0, k1 = split(acc.k, [_, 2])\n"
#define SHARED                                                                 \
	"unroll(k1)\nt = cache_read(acc, a, shared)\ncompute_at(t, k0)\n"     \
	"bind(t.x0, threadIdx.x)\n"

static const char *run_on_gpu(const char *steps, LowOpcode op, int64_t *count)
{
	Error error = {0};
	Rng rng = rng_stream(10, 0, 0);
	Machine gpu = target->machine;
	Program *p = program_matmul(arena, 14, 5, 8);
	void **data = lowercheck_data(arena, p, &rng);
	LowRun run = {.check_races = true};
	gpu.gpu = true;
	lowercheck_expect(p, data);
	Nest *nest = schedule_nest(
	    arena, p, &gpu, schedule_steps(arena, steps), &error);
	Lowered *l = nest ? lower(arena, nest, &gpu, &error) : NULL;
	if (!l)
		return arena_strdup(arena, error.text);
	void *packed = lowercheck_memory(arena, l->packed_bytes[0]);
	void *c = lowercheck_memory(arena, 4 * 14 * 5);
	void *workspace = lowercheck_memory(arena, l->workspace_bytes);
	void *args[] = {data[0], packed, c, workspace};
	assert_true(low_function_run(l->packs.at[0],
	    (void *[]){data[1], packed}, &(LowRun){0}));
	if (!low_function_run(l->kernel, args, &run))
		return arena_strdup(arena, run.message);
	*count = run.op_count[op];
	const char *why = run_launches(l, args, c, 4 * 14 * 5);
	return why ? why : lowercheck_run(arena, l, data, 0, NULL, NULL);
}

/* What runs, with the barriers of all threads; where it is refused, why. */
static const struct {
	const char *steps, *refused;
	int64_t barriers;
} on_gpu[] = {
    /* 4 blocks of 4 threads: a barrier before and after each of 4 fills */
    {FILL "bind(t.x0, threadIdx.x)\n", NULL, 4 * 4 * 4 * 2},
    /* filled once */
    {BLOCKS "t = cache_read(c, a, shared)\ncompute_at(t, i0)\n"
	"bind(t.x0, threadIdx.x)\n", NULL, 4 * 4},
    /* by fewer threads than there are */
    {FILL "bind(t.x1, threadIdx.x)\n", NULL, 4 * 4 * 4 * 2},
    /* two fills at once: one barrier a step, and none before the first */
    {FILL "bind(t.x0, threadIdx.x)\nstages(t, 2)\n", NULL, 4 * 4 * 4},
    /* kept in registers over a step; more than there are steps */
    {FILL "bind(t.x0, threadIdx.x)\nunroll(t.x1)\nstages(t, 3)\n", NULL,
	4 * 4 * 4},
    {FILL "bind(t.x0, threadIdx.x)\nunroll(t.x1)\nstages(t, 8)\n", NULL,
	4 * 4 * 4},
    /* kept over a step of a loop, in which others are over one of a loop inside */
    {"i0, i1 = split(c.i, [_, 4])\nreorder(i0, c.j, c.k, i1)\n"
     "bind(i0, blockIdx.x)\nbind(i1, threadIdx.x)\n"
     "t = cache_read(c, a, shared)\ncompute_at(t, c.k)\n"
     "bind(t.x0, threadIdx.x)\nstages(t, 2)\n"
     "u = cache_read(c, b, shared)\ncompute_at(u, c.j)\n"
     "u0, u1 = split(u.x0, [_, 4])\nunroll(u0)\nbind(u1, threadIdx.x)\n"
     "stages(u, 2)\n", NULL, 4 * 4 * 5 * 9},
    /* filled once: nothing to be ahead of */
    {BLOCKS "t = cache_read(c, a, shared)\ncompute_at(t, i0)\n"
	"bind(t.x0, threadIdx.x)\nstages(t, 2)\n", NULL, 4 * 4},
    /* a piece for each thread */
    {"acc = cache_write(c, local)\ni0, i1 = split(c.i, [_, 4])\n"
     "bind(i0, blockIdx.x)\nbind(i1, threadIdx.x)\ncompute_at(acc, i1)\n",
	NULL, 0},
    /* results are set by threads in two directions, then summed by them */
    {"k0, k1 = split(c.k, [_, 2])\nreorder(c.i, k0, c.j, k1)\n"
     "i0, i1 = split(c.i, [_, 4])\nbind(i0, blockIdx.x)\n"
     "bind(i1, threadIdx.y)\nbind(c.j, threadIdx.x)\n", NULL, 0},
    /* sums in registers that threads share out, operands through shared
     * memory: whole tiles, and a last one of rows that is not */
    {SUMS("7") "bind(acc.i, threadIdx.x)\nreorder(k0, acc.i, acc.j, k1)\n"
	"unroll(acc.j)\n" SHARED, NULL, 2 * 7 * 4 * 2},
    {"acc = cache_write(c, reg)\ni0, it, ii = split(c.i, [_, 4, 2])\n"
     "bind(i0, blockIdx.x)\nbind(it, threadIdx.x)\nunroll(ii)\n"
     "unroll(c.j)\ncompute_at(acc, i0)\nk0, k1 = split(acc.k, [_, 2])\n"
     "at, ar = split(acc.i, [_, 2])\nbind(at, threadIdx.x)\n"
     "reorder(k0, at, ar, acc.j, k1)\nunroll(ar)\nunroll(acc.j)\n" SHARED,
	NULL, 2 * 8 * 4 * 2}, /* a row of 8 is filled by a thread each */
    /* 10 elements of a part by 4 threads, the last of them behind the part and,
     * in the last block, behind the input */
    {SUMS("5") "bind(acc.i, threadIdx.x)\nreorder(k0, acc.i, acc.j, k1)\n"
	"unroll(acc.j)\nunroll(k1)\nt = cache_read(acc, a, shared)\n"
	"compute_at(t, k0)\nf = fuse(t.x0, t.x1)\nf0, f1 = split(f, [_, 4])\n"
	"bind(f1, threadIdx.x)\n", NULL, 3 * 5 * 4 * 2},
    /* as many threads as a loop named has */
    {SUMS("5") "bind(acc.i, threadIdx.x)\nreorder(k0, acc.i, acc.j, k1)\n"
	"unroll(acc.j)\nunroll(k1)\nt = cache_read(acc, a, shared)\n"
	"compute_at(t, k0)\nf = fuse(t.x0, t.x1)\nf0, f1 = split(f, [_, it])\n"
	"bind(f1, threadIdx.x)\n", NULL, 3 * 5 * 4 * 2},
    /* both directions */
    {"acc = cache_write(c, reg)\ni0, it, ii = split(c.i, [_, 2, 2])\n"
     "reorder(i0, it, c.j, ii)\nbind(i0, blockIdx.x)\n"
     "bind(it, threadIdx.y)\nbind(c.j, threadIdx.x)\nunroll(ii)\n"
     "compute_at(acc, i0)\nat, ar = split(acc.i, [_, 2])\n"
     "reorder(acc.k, at, acc.j, ar)\nbind(at, threadIdx.y)\n"
     "bind(acc.j, threadIdx.x)\nunroll(ar)\n", NULL, 0},
    {"acc = cache_write(c, reg)\ni0, it = split(c.i, [_, 7])\n"
     "bind(i0, blockIdx.x)\nbind(it, threadIdx.x)\nunroll(c.j)\n"
     "compute_at(acc, i0)\nbind(acc.j, threadIdx.x)\nunroll(acc.i)\n",
	"a thread reads registers of another one", 0},
    {"acc = cache_write(c, reg)\ni0, it, ii = split(c.i, [_, 4, 2])\n"
     "bind(i0, blockIdx.x)\nbind(it, threadIdx.x)\nunroll(ii)\n"
     "unroll(c.j)\ncompute_at(acc, i0)\nar, at = split(acc.i, [_, 4])\n"
     "bind(at, threadIdx.x)\nunroll(ar)\nunroll(acc.j)\n",
	"a thread reads registers of another one", 0},
    {FILL, "every thread of the block would write", 0},
    {BLOCKS "reorder(i1, k0)\nt = cache_read(c, a, shared)\n"
	"compute_at(t, i1)\n", "made anew below a thread loop", 0},
    {BLOCKS "t = cache_read(c, a, shared)\ncompute_at(t, root)\n",
	"not inside of a block of threads", 0},
    {"j0, j1 = split(c.j, [_, 2])\nreorder(c.i, j0, c.k, j1)\n"
     "bind(c.i, blockIdx.x)\nbind(j1, blockIdx.y)\n",
	"a loop stands between two block loops", 0},
};

static void test_gpu(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof on_gpu / sizeof *on_gpu; i++) {
		int64_t barriers = 0;
		const char *why = run_on_gpu(
		    on_gpu[i].steps, LOW_BARRIER, &barriers);
		const char *refused = on_gpu[i].refused;
		if (refused ? !why || !strstr(why, refused) : why != NULL)
			fail_msg("%s: %s", on_gpu[i].steps,
			    why ? why : "accepted");
		assert_int_equal(barriers, on_gpu[i].barriers);
	}
}

/* Launches of a program of two blocks: their sizes, what is bound to nothing, and
 * what a machine has not. */
static void test_launches(void **state)
{
	Error error = {0};
	Machine gpu = target->machine;
	gpu.gpu = true;
	(void)state;
	Program *p = program_of_text(arena,
	    "tunec: 1\nname: two\ninputs: {x: 'f32[60]'}\ncompute: |\n"
	    "  s[i < 60] = x[i]*2\n  y[i < 60] = s[59 - i] + s[i]\n",
	    NUMERICS_DEFAULT);
	static const char both[] =
	    "i0, i1 = split(s.i, [_, 16])\nbind(i0, blockIdx.x)\n"
	    "bind(i1, threadIdx.x)\nbind(y.i, blockIdx.y)\n";
	Nest *nest = schedule_nest(
	    arena, p, &gpu, schedule_steps(arena, both), &error);
	Lowered *l = lower(arena, nest, &gpu, &error);
	assert_true(lower_launches(l, &gpu, &error));
	assert_int_equal(l->launches.n, 2);
	const LowLaunch *a = &l->launches.at[0], *b = &l->launches.at[1];
	assert_string_equal(a->function->name, "two_k0");
	assert_string_equal(b->function->name, "two_k1");
	assert_int_equal(a->grid[0], 4);
	assert_int_equal(a->block[0], 16);
	assert_int_equal(a->grid[1], 1);
	assert_int_equal(b->grid[1], 60);
	assert_int_equal(b->grid[0], 1);
	assert_int_equal(b->block[0], 1);
	nest = schedule_nest(arena, p, &gpu,
	    schedule_steps(arena, "bind(s.i, blockIdx.x)\n"), &error);
	l = lower(arena, nest, &gpu, &error);
	assert_true(lower_launches(l, &gpu, &error));
	assert_int_equal(l->launches.n, 2);
	assert_int_equal(l->launches.at[0].grid[0], 60);
	assert_int_equal(l->launches.at[1].grid[0], 1);
	nest = schedule_nest(arena, p, &gpu,
	    schedule_steps(arena, "bind(s.i, threadIdx.z)\n"
				  "bind(y.i, threadIdx.x)\n"), &error);
	l = lower(arena, nest, &gpu, &error);
	gpu.block_threads = 59;
	assert_false(lower_launches(l, &gpu, &error));
	assert_non_null(strstr(error.text, "more threads in a block"));
}

/* --- the printed form ----------------------------------------------------- */

static const char golden[] = "test/golden/lower_matmul.txt";

static char *file_text(const char *path)
{
	Buf text = {0};
	FILE *f = fopen(path, "rb");
	if (!f)
		return NULL;
	for (int c; (c = getc(f)) != EOF;)
		buf_putc(&text, (char)c);
	fclose(f);
	char *copy = arena_strdup(arena, buf_text(&text));
	buf_free(&text);
	return copy;
}

static void bless(const Buf *text)
{
	FILE *f = fopen(golden, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(text->data, 1, text->size, f), text->size);
	fclose(f);
}

/* A 6x16 tile of registers, both operands packed, by 12x32x8. */
static void test_golden(void **state)
{
	static const char steps[] =
	    "acc = cache_write(c, reg)\n"
	    "i0, i1 = split(c.i, [_, 6])\n"
	    "j0, j1, j2 = split(c.j, [_, 2, 8])\n"
	    "reorder(i0, j0, i1, j1, j2)\n"
	    "unroll(i1)\nunroll(j1)\nvectorize(j2, 8)\nparallel(i0)\n"
	    "compute_at(acc, j0)\n"
	    "a1, a2 = split(acc.j, [_, 8])\n"
	    "reorder(acc.k, acc.i, a1, a2)\n"
	    "unroll(acc.i)\nunroll(a1)\nvectorize(a2, 8)\n"
	    "ap = cache_read(acc, a)\n"
	    "compute_at(ap, i0)\n"
	    "transform_layout(ap, [x0//6, x1, x0%6])\n"
	    "bp = cache_read(acc, b)\ncompute_at(bp, root)\n"
	    "transform_layout(bp, [x1//16, x0, x1%16])\n";
	Error error = {0};
	Buf text = {0};
	(void)state;
	Program *p = program_matmul(arena, 12, 32, 8);
	Nest *nest = schedule_nest(arena, p, &target->machine,
	    schedule_steps(arena, steps), &error);
	assert_non_null(nest);
	Lowered *l = lower(arena, nest, &target->machine, &error);
	assert_non_null(l);
	lowered_print(&text, l);
	if (getenv("BLESS"))
		bless(&text);
	const char *expected = file_text(golden);
	assert_non_null(expected);
	assert_string_equal(buf_text(&text), expected);
	buf_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_interpreted),
	    cmocka_unit_test(test_compiled),
	    cmocka_unit_test(test_candidates),
	    cmocka_unit_test(test_dots),
	    cmocka_unit_test(test_transposed),
	    cmocka_unit_test(test_made_after),
	    cmocka_unit_test(test_padding),
	    cmocka_unit_test(test_padded_at_a_number),
	    cmocka_unit_test(test_verified),
	    cmocka_unit_test(test_bound),
	    cmocka_unit_test(test_gpu),
	    cmocka_unit_test(test_launches),
	    cmocka_unit_test(test_golden),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
