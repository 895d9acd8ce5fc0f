/* Types, bounds, blocks and counts of definitions, from the text on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ir/program.h"

static const char head[] =
    "tunec: 1\nname: op\n"
    "params: {N: 8, K: 3, H: 0.5, Z: 0}\n"
    "inputs: {f: 'f32[N]', d: 'f64[N]', h: 'f16[N]', b: 'bf16[N]', "
    "i: 'i32[N]', l: 'i64[N]', u: 'u8[N]', s: 'i8[N]', t: 'bool[N]', "
    "m: 'f32[N, N]'}\n"
    "compute: |\n  ";

typedef struct {
	Arena *arena;
	Diag diag;
	Program *program;
} Run;

static Run run_text(const char *text)
{
	Run r = {.arena = arena_new()};
	Source *source = NEW(r.arena, Source);
	*source = (Source){"t", text, strlen(text)};
	Spec *spec = spec_parse(r.arena, source, &r.diag);
	if (spec)
		r.program = spec_program(r.arena, spec, "", NULL, 0,
		    NUMERICS_DEFAULT, &r.diag);
	return r;
}

static void run_end(Run *r)
{
	diag_free(&r->diag);
	arena_free(r->arena);
}

static Run run(const char *compute)
{
	char text[4096];
	snprintf(text, sizeof text, "%s%s\n", head, compute);
	return run_text(text);
}

/* The last definition is `text`, as it is printed. */
static void accepts(const char *compute, const char *text)
{
	char why[200];
	Run r = run(compute);
	if (!r.program)
		fail_msg("%s\n%s", compute, buf_text(&r.diag.text));
	if (!program_verify(r.program, why, sizeof why))
		fail_msg("%s: %s", compute, why);
	const Definition *d =
	    &r.program->definitions[r.program->ndefinitions - 1];
	Buf out = {0};
	buf_printf(&out, "%s ",
	    dtype_name(r.program->buffers[d->buffer].type));
	expr_print(&out, r.program, d->axes, d->body);
	if (strcmp(buf_text(&out), text))
		fail_msg("%s\nis  %s\nnot %s", compute, buf_text(&out), text);
	buf_free(&out);
	run_end(&r);
}

/* A message has this part. */
static void refuses(const char *compute, const char *part)
{
	Run r = run(compute);
	if (r.program)
		fail_msg("accepted: %s", compute);
	if (!r.diag.errors || !strstr(buf_text(&r.diag.text), part))
		fail_msg("%s\nshould say: %s\n%s", compute, part,
		    buf_text(&r.diag.text));
	run_end(&r);
}

static void test_untyped(void **state)
{
	(void)state;
	accepts("o[x < N] = x", "i32 i32(x)");
	accepts("o[x < N] = x*0.5 + 1", "f32 f32(x)*0.5 + 1.0");
	accepts("o[x < N]: f64 = x*0.5", "f64 f64(x)*0.5");
	accepts("o[x < N]: f16 = x*0.5", "f16 f16(f32(x)*0.5)");
	accepts("o[x < N] = 1/3 + f[x]", "f32 0.3333333432674408 + f[x]");
	accepts("o[x < N] = (x + 1)/2 * d[x]", "f64 f64(x + 1)/2.0*d[x]");
	accepts("o[x < N] = max(f[x], 0)", "f32 max(f[x], 0.0)");
	accepts("o[x < N] = f[x]*H", "f32 f[x]*0.5");
	accepts("o[x < N] = if x < 3 then f[x] else -inf",
	    "f32 if x < 3 then f[x] else -inf");
	accepts("o[x < N] = exp(x)", "f32 exp(f32(x))");
	accepts("o[] = 7//2", "i32 3");
	accepts("o[] = -7//2 + -7%2", "i32 -3");
}

/* A reduction of untyped integers is one, and as exact. */
static void test_untyped_reduction(void **state)
{
	(void)state;
	accepts("o[x < N] = f[x] + sum[y < 100000](y)",
	    "f32 f[x] + f32(sum[y < 100000](i64(y)))");
	accepts("o[] = sum[y < 100000](y)//2",
	    "i32 i32(sum[y < 100000](i64(y))//2)");
	accepts("o[] = sum[y < 100000](y) > 3000000000",
	    "bool sum[y < 100000](i64(y)) > 3000000000");
	accepts("o[] = sum[y < N](y)/2", "f32 f32(sum[y < 8](i64(y)))/2.0");
	accepts("o[] = sum[y < N](y/2)", "f32 sum[y < 8](f32(y)/2.0)");
	accepts("o[] = sum[y < N](if f[y] > 0 then 1 else 0)",
	    "i32 sum[y < 8](if f[y] > 0.0 then 1 else 0)");
	refuses("o[] = sum[y < 5000000000](y)", "may pass 64 bits");
}

static void test_promotion(void **state)
{
	(void)state;
	accepts("o[x < N] = u[x]*s[x]", "i32 i32(u[x])*i32(s[x])");
	accepts("o[] = sum[x < N](u[x]*s[x])",
	    "i32 sum[x < 8](i32(u[x])*i32(s[x]))");
	accepts("o[] = sum[x < N](h[x])", "f32 sum[x < 8](f32(h[x]))");
	accepts("o[] = max[x < N](h[x])", "f16 max[x < 8](h[x])");
	accepts("o[x < N] = h[x]*h[x] + f[x]",
	    "f32 f32(h[x])*f32(h[x]) + f[x]");
	accepts("o[x < N] = if u[x] > -1 then 1.5 else 2",
	    "f32 if i32(u[x]) > -1 then 1.5 else 2.0");
	accepts("o[x < N] = max(u[x], 3)", "u8 max(u[x], 3)");
	accepts("o[x < N] = -u[x]", "i32 -i32(u[x])");
	accepts("o[x < N] = abs(s[x])", "i32 abs(i32(s[x]))");
	accepts("o[x < N] = exp(h[x])", "f32 exp(f32(h[x]))");
	accepts("o[x < N] = u[x]//K", "i32 i32(u[x])//3");
	accepts("o[x < N]: f16 = h[x] + 1", "f16 f16(f32(h[x]) + 1.0)");
	accepts("o[x < N] = clamp(f[x], 0, 6)", "f32 clamp(f[x], 0.0, 6.0)");
	refuses("o[x < N] = f[x] + d[x]", "f32 and f64");
	refuses("o[x < N] = i[x]*f[x]", "i32 and f32");
	refuses("o[x < N] = i[x] + l[x]", "i32 and i64");
	refuses("o[x < N] = max(h[x], f[x])", "f16 and f32");
	refuses("o[x < N] = if x < 3 then h[x] else b[x]", "f16 and bf16");
	refuses("o[x < N] = i[x]/2", "'//'");
	refuses("o[x < N] = t[x] + 1", "bool");
	refuses("o[] = sum[x < N](t[x])", "bool");
	refuses("o[x < N] = sqrt(i[x])", "needs a float");
	refuses("o[x < N] = f[x]//2", "needs integers");
	refuses("o[x < N] = i[x]//(x + 1)", "positive integer");
	refuses("o[x < N] = i[x]//Z", "positive integer");
	refuses("o[x < N] = if f[x] then 1 else 2", "condition");
	refuses("o[x < N] = u[x] and t[x]", "condition");
}

static void test_casts(void **state)
{
	(void)state;
	accepts("o[x < N] = i8(300) + i[x]", "i32 i32(44) + i[x]");
	accepts("o[x < N] = i32(f[x])", "i32 i32(f[x])");
	accepts("o[x < N] = i32(2.9)", "i32 2");
	accepts("o[x < N] = i32(x*0.5)", "i32 i32(f32(x)*0.5)");
	accepts("o[x < N] = bool(f[x])", "bool bool(f[x])");
	accepts("o[x < N]: u8 = i[x]", "u8 u8(i[x])");
	accepts("o[x < N]: i32 = f[x]", "i32 i32(f[x])");
	refuses("o[x < N] = max(u[x], 300)", "does not fit");
	refuses("o[x < N] = i[x] + 0.5", "is a float");
	refuses("o[x < N]: i32 = x*0.5", "is a float");
	refuses("o[x < N] = 3000000000", "does not fit");
	refuses("o[x < N]: f16 = 100000", "does not fit");
	refuses("o[x < N] = 9223372036854775807 + 1", "64 bits");
	refuses("o[x < N] = x*9223372036854775807", "64 bits");
}

static void test_indices(void **state)
{
	(void)state;
	accepts("o[x < N - 1] = f[x] + f[x + 1]", "f32 f[x] + f[x + 1]");
	accepts("o[x < N] = if 0 <= (x + 1 - K)//2 < 3 then f[(x + 1 - K)//2] "
		"else 0",
	    "f32 if 0 <= (x + 1 - 3)//2 and (x + 1 - 3)//2 < 3 then "
	    "f[(x + 1 - 3)//2] else 0.0");
	accepts("o[x < N] = if x == 0 or x == N-1 then f[x] else "
		"f[x-1] + f[x+1]",
	    "f32 if x == 0 or x == 7 then f[x] else f[x - 1] + f[x + 1]");
	accepts("o[x < N, k < K] = if x >= k then f[x - k] else 0",
	    "f32 if x >= k then f[x - k] else 0.0");
	accepts("o[x < N] = f[clamp(x - 3, 0, N-1)]",
	    "f32 f[clamp(x - 3, 0, 7)]");
	accepts("o[x < N*N] = m[x//N, x%N]", "f32 m[x//8, x%8]");
	accepts("o[x < N] = if x > 0 and f[x - 1] > 0 then 1 else 0",
	    "i32 if x > 0 and f[x - 1] > 0.0 then 1 else 0");
	accepts("o[x < N] = if K == 4 then f[x + 9] else f[x]", "f32 f[x]");
	accepts("o[x < N] = f[if K == 3 then x else x + 9]", "f32 f[x]");
	accepts("o[x < N] = f[x*(if K == 3 then 1 else 2)]", "f32 f[x*1]");
	refuses("o[x < N] = f[x*(if K == 3 then 1 else 0.5)]", "is a float");
	refuses("o[x < N] = f[x + 1]",
	    "index 'x + 1' of 'f' reaches 8, past its extent 8");
	refuses("o[x < N] = f[x - 1]",
	    "index 'x - 1' of 'f' reaches -1, below 0");
	refuses("o[x < N] = f[x + 1]", "range is 1 to 8");
	refuses("o[x < N] = f[x + 1]", "'x + 1 < 8' would prove");
	refuses("o[x < N] = f[x*0.5]", "is a float");
	refuses("o[x < N] = f[i32(x)]", "has a dtype");
	refuses("o[x < N, y < 2] = f[x*y]", "multiplies axes");
	refuses("o[x < N] = f[x] + f[x + 1] + f[x + 2]", "reaches 9");
	refuses("o[x < N] = f[x, x]", "");
}

static void test_blocks(void **state)
{
	(void)state;
	Run r = run("o[x < N] = if x > 0 then f[x] + sum[y < N](m[x - 1, y]*"
		    "max[z < K](f[z] + m[x, y])) else 0");
	if (!r.program)
		fail_msg("%s", buf_text(&r.diag.text));
	char why[200];
	Buf out = {0};
	if (!program_verify(r.program, why, sizeof why))
		fail_msg("%s", why);
	program_print(&out, r.program);
	const char *blocks = strstr(buf_text(&out), "blocks\n");
	assert_non_null(blocks);
	assert_string_equal(blocks,
	    "blocks\n"
	    "  o~2[x < 8, y < 8]: f32 =\n"
	    "    max[z < 3](if x > 0 then f[z] + m[x, y] else -inf)\n"
	    "  o~1[x < 8]: f32 =\n"
	    "    sum[y < 8](if x > 0 then m[x - 1, y]*o~2[x, y] else 0.0)\n"
	    "  o[x < 8]: f32 =\n"
	    "    if x > 0 then f[x] + o~1[x] else 0.0\n"
	    "\noutputs o\n");
	buf_free(&out);
	run_end(&r);
	r = run("o[x < N, y < N] = if y <= x then f[y]/sum[z < N](m[x, z]) "
		"else if y > 3 then sum[z < N](m[x, y - 3]) else 0");
	assert_non_null(r.program);
	assert_int_equal(r.program->nblocks, 3);
	assert_int_equal(r.program->blocks[0].nspatial, 1);
	assert_int_equal(r.program->blocks[0].body->op, OP_READ);
	assert_int_equal(r.program->blocks[1].nspatial, 2);
	assert_int_equal(r.program->blocks[1].body->op, OP_IF);
	run_end(&r);
	r = run("o[x < N]: f16 = sum[y < N](h[y])");
	assert_non_null(r.program);
	assert_int_equal(r.program->nblocks, 2);
	assert_string_equal(r.program->blocks[0].name, "o~1");
	assert_int_equal(r.program->blocks[0].nspatial, 0);
	run_end(&r);
}

static void count(const char *compute, int64_t flops)
{
	Run r = run(compute);
	if (!r.program)
		fail_msg("%s", buf_text(&r.diag.text));
	if (r.program->flops != flops)
		fail_msg("%s: %lld flops", compute,
		    (long long)r.program->flops);
	run_end(&r);
}

static void test_flops(void **state)
{
	(void)state;
	count("o[] = sum[x < N](f[x]*f[x])", 16);
	count("o[x < N] = max(f[x] + 1, 0)", 16);
	count("o[x < N] = if x < 3 then f[x]*2 else f[x]*2 + 1", 16);
	count("o[x < N] = f[x]*(H + x*2.0 - exp(x))", 8);
	count("o[x < N] = if f[x] > 0 then f[x] else 0", 8);
	count("o[x < N] = f32(i[x]//2 + 1)", 16);
	count("o[x < N] = clamp(abs(f[x]), 0, 1)", 16);
	count("o[x < N] = f[x*2//2]", 0);
}

/* Integer data in an index is a term, of the range of its dtype. */
static void test_indirect(void **state)
{
	(void)state;
	accepts("o[x < N] = f[clamp(i[x], 0, N - 1)]",
	    "f32 f[clamp(i[x], 0, 7)]");
	accepts("o[x < N] = f[u[x]%N] + f[min(u[x], 7)] + f[u[x]//32]",
	    "f32 f[u[x]%8] + f[min(u[x], 7)] + f[u[x]//32]");
	accepts("o[x < N] = f[i[u[x]%N]%N]", "f32 f[i[u[x]%8]%8]");
	accepts("o[x < N] = if 0 <= i[x] < N then f[i[x]] else 0",
	    "f32 if 0 <= i[x] and i[x] < 8 then f[i[x]] else 0.0");
	accepts("o[x < N] = if u[x] >= N then 0 else f[u[x]]",
	    "f32 if i32(u[x]) >= 8 then 0.0 else f[u[x]]");
	accepts("o[x < N] = if l[x] < 0 or l[x] > x then 0 else f[l[x]]",
	    "f32 if l[x] < 0 or l[x] > i64(x) then 0.0 else f[l[x]]");
	accepts("o[x < N] = f[if i[x] < 0 then 0 else min(i[x], 7)]",
	    "f32 f[if i[x] < 0 then 0 else min(i[x], 7)]");
	accepts("o[x < N] = f[clamp(u[x] + s[x]*2 - 7, 0, 7)]",
	    "f32 f[clamp(u[x] + s[x]*2 - 7, 0, 7)]");
	refuses("o[x < N] = f[i[x]]",
	    "its range is -2147483648 to 2147483647; the condition "
	    "'0 <= i[x] < 8' would prove the read");
	refuses("o[x < N] = f[u[x]]", "reaches 255, past its extent 8");
	refuses("o[x < N] = if 0 <= i[0] < N then f[i[x]] else 0", "reaches");
	refuses("o[x < N] = if 0 <= i[x] and i[x] + 1 < N then f[i[x]] else 0",
	    "reaches 2147483647");
	refuses("o[x < N] = if 0 <= i8(i[x]) < N then f[i[x]] else 0",
	    "reaches");
	refuses("o[x < N] = if 0 <= i[x] < i[0] then f[i[x]] else 0",
	    "reaches 2147483647");
	refuses("o[x < N] = f[i[x]*u[x]]", "reaches 547608329985");
	accepts("o[x < N] = f[clamp(i[x]*u[x] + x, 0, 7)]",
	    "f32 f[clamp(i[x]*u[x] + x, 0, 7)]");
	refuses("o[x < N] = f[(l[x] + 1)%N]", "may pass 64 bits");
	refuses("o[x < N] = f[f[x]%N]", "only integer data may be read in an "
	    "index");
	refuses("o[x < N] = f[if t[x] then 0 else 1]", "only integer data");
	refuses("o[x < N] = f[i32(i[x])%N]", "has a dtype");
	refuses("o[x < N] = f[clamp(sum[y < N](i[y]), 0, 7)]",
	    "depends on a reduction");
	Run r = run("q[x < N] = i32(f[x]*2)\n  o[x < N] = f[q[x]%N]");
	assert_non_null(r.program);
	assert_true(r.program->buffers[r.program->blocks[0].buffer].once);
	run_end(&r);
	r = run("o[x < N] = if 0 <= i[x] < N then sum[y < N](m[i[x], y]) "
		"else 0");
	assert_non_null(r.program);
	assert_int_equal(r.program->blocks[0].body->op, OP_IF);
	run_end(&r);
	r = run("o[x < N] = if f[x] > 0 then sum[y < N](m[u[x]%N, y]) else 0");
	assert_non_null(r.program);
	assert_int_equal(r.program->blocks[0].body->op, OP_READ);
	run_end(&r);
}

/* argmax and argmin are typed i32; what is computed anew with other bits is
 * stored first. */
static void test_places(void **state)
{
	(void)state;
	accepts("o[x < N] = argmax[y < N](m[x, y])",
	    "i32 argmax[y < 8](m[x, y])");
	accepts("o[]: f16 = argmin[y < N](y%3) + 1",
	    "f16 f16(argmin[y < 8](i64(y%3)) + 1)");
	accepts("o[x < N] = argmax[y < x](f[y]*0.5)",
	    "i32 argmax[y < 7](if y < x then f[y]*0.5 else -inf)");
	refuses("o[] = argmax[x < N, y < N](m[x, y])", "over one axis, not 2");
	refuses("o[] = argmax[y < 3000000000](f[y%8])", "gives an i32");
	refuses("o[x < N] = f[x] + argmax[y < N](f[y])", "f32 and i32");
	count("o[x < N] = argmax[y < x + 1](m[x, y]*2)", 72);
	Run r = run("o[] = argmax[y < N](f[y]) + argmin[y < N](f[y]*2)");
	assert_non_null(r.program);
	assert_int_equal(r.program->nblocks, 6);
	assert_int_equal(r.program->blocks[0].reduce, REDUCE_MAX);
	assert_int_equal(r.program->blocks[1].reduce, REDUCE_MIN);
	assert_int_equal(r.program->blocks[2].reduce, REDUCE_NONE);
	assert_true(r.program->buffers[r.program->blocks[2].buffer].once);
	assert_false(r.program->buffers[r.program->blocks[0].buffer].once);
	run_end(&r);
	/* one sum is not fused with anything */
	r = run("o[] = argmax[y < N](if y > 1 then abs(f[y] + 2) else 0)");
	assert_non_null(r.program);
	assert_int_equal(r.program->nblocks, 3);
	run_end(&r);
	r = run("p[x < N] = f[x]*2\n  o[] = argmax[y < N](p[y] - f[y])");
	assert_non_null(r.program);
	assert_int_equal(r.program->nblocks, 4);
	assert_true(r.program->buffers[r.program->blocks[0].buffer].once);
	run_end(&r);
	r = run("p[x < N] = f[x]*2\n  q[x < N] = abs(p[x])\n"
		"  o[] = argmax[y < N](q[y])");
	assert_non_null(r.program);
	assert_true(r.program->buffers[r.program->blocks[0].buffer].once);
	assert_false(r.program->buffers[r.program->blocks[1].buffer].once);
	run_end(&r);
}

/* Extents over outer axes are conditions, and counted below. */
static void test_varying_extents(void **state)
{
	(void)state;
	accepts("o[x < N] = sum[y < x + 1](m[x, y])",
	    "f32 sum[y < 8](if y < x + 1 then m[x, y] else 0.0)");
	accepts("o[x < N] = max[y < N - x](u[x + y])",
	    "u8 max[y < 8](if y < 8 - x then u[x + y] else 0)");
	accepts("o[x < N]: f64 = sum[y < x](y*0.5)",
	    "f64 sum[y < 7](if y < x then f64(y)*0.5 else 0.0)");
	accepts("o[x < N] = sum[y < x - 9](f[y])",
	    "f32 sum[y < 1](if y < x - 9 then f[y] else 0.0)");
	accepts("o[] = sum[x < N, y < x](m[y, x])",
	    "f32 sum[x < 8, y < 7](if y < x then m[y, x] else 0.0)");
	accepts("o[x < N]: i16 = max[y < x](y)",
	    "i16 i16(max[y < 7](if y < x then i32(y) else -2147483648))");
	accepts("o[x < 7] = sum[y < ((x + 1)*20 + 6)//7 - x*20//7](f[y])",
	    "f32 sum[y < 4](if y < ((x + 1)*20 + 6)//7 - x*20//7 then f[y] "
	    "else 0.0)");
	accepts("o[x < N] = sum[y < x%4 - x%2](f[y])",
	    "f32 sum[y < 2](if y < x%4 - x%2 then f[y] else 0.0)");
	/* too many points to look at */
	accepts("o[x < 2000000] = sum[y < x%4 - x%2](f[y])",
	    "f32 sum[y < 3](if y < x%4 - x%2 then f[y] else 0.0)");
	refuses("o[x < N] = sum[y < x + 2](f[y])", "reaches 8, past its extent");
	refuses("o[x < N] = sum[y < x/2](f[y])", "is a float");
	refuses("o[x < N] = sum[y < i64(x)](f[y])", "has a dtype");
	refuses("o[x < N] = sum[y < x*x](f[0])", "multiplies axes");
	refuses("o[x < N] = sum[y < i[x]](f[0])",
	    "here only numbers, params and axes count");
	refuses("o[x < N, z < x] = f[z]", "'x' is an axis");
	count("o[x < N] = sum[y < x + 1](m[x, y])", 36);
	count("o[x < N] = sum[y < x - 5](m[x, y]*m[y, x])", 6);
	count("o[x < 1000000] = sum[y < x + 1](f[0])", 500000500000);
	count("o[x < 1000000] = sum[y < min(x + 1, 64)](f[0])", 63997984);
	count("o[x < 300] = sum[y < x](sum[z < y](f[0]))", 4455100 + 44850);
	count("o[x < 3000000000] = sum[y < 3*x](f[0])", INT64_MAX);
	count("o[x < 5000, z < 5000] = sum[y < (x + z)%7](f[0])", 74999992);
	count("o[x < 400] = sum[y < x, z < y, w < z - 1, v < y - z](f[0])",
	    83218600080);
	count("o[x < 9000] = sum[y < x + 1, z < y + 1, w < z + 1](f[0])",
	    273557287127250);
	count("o[x < 9000] = sum[y < 9000 - x, z < y - x](f[0])", 60760124250);
	count("o[x < 300] = sum[y < x%7, z < min(x, y*2//5)](f[0])", 297);
	refuses("o[x < 4000] = sum[y < x, z < min(y, 5), w < z + x, v < w//3]"
		"(f[0])",
	    "too many to count");
}

static void test_conv2d_c6(void **state)
{
	(void)state;
	FILE *file = fopen("workloads/conv2d.yaml", "r");
	char text[8192];
	assert_non_null(file);
	size_t n = fread(text, 1, sizeof text - 1, file);
	fclose(file);
	text[n] = 0;
	Arena *arena = arena_new();
	Diag diag = {0};
	Source source = {"conv2d.yaml", text, n};
	Spec *spec = spec_parse(arena, &source, &diag);
	assert_non_null(spec);
	Program *p = spec_program(arena, spec, "resnet18_c6", NULL, 0,
	    NUMERICS_DEFAULT, &diag);
	assert_non_null(p);
	assert_int_equal(p->definitions[p->ndefinitions - 2].flops, 231211008);
	assert_int_equal(p->definitions[p->ndefinitions - 1].flops, 200704);
	diag_free(&diag);
	arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_untyped),
	    cmocka_unit_test(test_untyped_reduction),
	    cmocka_unit_test(test_promotion),
	    cmocka_unit_test(test_casts),
	    cmocka_unit_test(test_indices),
	    cmocka_unit_test(test_blocks),
	    cmocka_unit_test(test_flops),
	    cmocka_unit_test(test_indirect),
	    cmocka_unit_test(test_places),
	    cmocka_unit_test(test_varying_extents),
	    cmocka_unit_test(test_conv2d_c6),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
