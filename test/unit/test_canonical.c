/* The canonical text: no names, no order of the file's, one key. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ir/program.h"
#include "test/common_program.h"

static Arena *arena;

static int setup(void **state)
{
	(void)state;
	arena = arena_new();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_free(arena);
	return 0;
}

static Program *program(const char *text)
{
	return program_of_text(arena, text, NUMERICS_DEFAULT);
}

static const char conv[] =
    "tunec: 1\nname: conv\nparams: {N: 6, K: 3}\n"
    "inputs: {x: 'f32[N + 2]', w: 'const f32[K]'}\n"
    "compute: |\n"
    "  twice[i < N + 2] = x[i]*2\n"
    "  half[i < N + 2] = x[i]/2\n"
    "  conv[i < N] = sum[k < K](twice[i + k]*w[k])\n"
    "  out[i < N] = conv[i] + half[i]\n";

static void test_text(void **state)
{
	(void)state;
	Program *p = program(conv);
	const char *at = strstr(p->op_text, "d3[");
	assert_non_null(at);
	assert_non_null(strstr(p->op_text, "i0 f32[8]\ni1 const f32[3]\n"));
	assert_non_null(strstr(p->op_text, "sum[r0 < 3]((d"));
	assert_non_null(strstr(p->op_text, "(i0[a0] * f32(2.0))"));
	assert_non_null(strstr(p->op_text, "numerics default"));
	assert_null(strstr(p->op_text, "conv"));
	assert_int_equal(strlen(p->op), 64);
	assert_int_equal(p->canonical_definition[3], 3);
}

/* Everything has another name, and what can stand elsewhere does. */
static void test_renamed_and_permuted(void **state)
{
	(void)state;
	Program *a = program(conv), *b = program(
	    "tunec: 1\nname: other\ndoc: elsewhere\n"
	    "params: {taps: 3, width: 4 + 2, w: width + 2}\n"
	    "inputs: {in: 'f32[w]', f: 'const f32[taps]'}\n"
	    "compute: |\n"
	    "  unused[q < 9] = in[q//2]\n"
	    "  b[y < w] = in[y]/2  # a comment\n"
	    "  a[z < w] = in[z]*(1 + 1)\n"
	    "  c[x < width] = (sum[t < taps](a[(x + t)]*f[t]))\n"
	    "  r[x < width] = c[x] + b[x]\n"
	    "outputs: [r]\ncases: {one: {taps: 1}}\n");
	assert_string_equal(a->op_text, b->op_text);
	assert_string_equal(a->op, b->op);
	assert_int_equal(
	    a->canonical_definition[0], b->canonical_definition[1]);
	assert_int_equal(
	    a->canonical_definition[1], b->canonical_definition[0]);
}

/* Equal definitions change places without a trace. */
static void test_twins(void **state)
{
	(void)state;
	static const char *const text[] = {
	    "tunec: 1\nname: a\ninputs: {x: 'f32[4]'}\ncompute: |\n"
	    "  p[i < 4] = x[i]*x[i]\n  q[i < 4] = x[i]*x[i]\n"
	    "  r[i < 4] = p[i] - 1\n  o[i < 4] = r[i] + q[i]\n",
	    "tunec: 1\nname: a\ninputs: {x: 'f32[4]'}\ncompute: |\n"
	    "  q[i < 4] = x[i]*x[i]\n  p[i < 4] = x[i]*x[i]\n"
	    "  r[i < 4] = p[i] - 1\n  o[i < 4] = r[i] + q[i]\n"};
	assert_string_equal(program(text[0])->op, program(text[1])->op);
}

static void test_what_counts(void **state)
{
	(void)state;
	static const char *const other[] = {
	    /* the dtype of an output */
	    "tunec: 1\nname: a\ninputs: {x: 'f32[4]'}\ncompute: |\n"
	    "  o[i < 4]: f16 = x[i] + 1\n",
	    /* a constant */
	    "tunec: 1\nname: a\ninputs: {x: 'f32[4]'}\ncompute: |\n"
	    "  o[i < 4] = x[i] + 2\n",
	    /* an extent */
	    "tunec: 1\nname: a\ninputs: {x: 'f32[5]'}\ncompute: |\n"
	    "  o[i < 4] = x[i] + 1\n",
	    /* const */
	    "tunec: 1\nname: a\ninputs: {x: 'const f32[4]'}\ncompute: |\n"
	    "  o[i < 4] = x[i] + 1\n",
	    /* an input that is not used */
	    "tunec: 1\nname: a\ninputs: {x: 'f32[4]', y: 'f32[4]'}\n"
	    "compute: |\n  o[i < 4] = x[i] + 1\n",
	    /* a second output */
	    "tunec: 1\nname: a\ninputs: {x: 'f32[4]'}\ncompute: |\n"
	    "  o[i < 4] = x[i] + 1\n  p[i < 4] = x[i] + 2\n"
	    "outputs: [o, p]\n",
	    "tunec: 1\nname: a\ninputs: {x: 'f32[4]'}\ncompute: |\n"
	    "  o[i < 4] = x[i] + 1\n  p[i < 4] = x[i] + 2\n"
	    "outputs: [p, o]\n",
	    /* how operations are grouped */
	    "tunec: 1\nname: a\ninputs: {x: 'f32[4]'}\ncompute: |\n"
	    "  o[i < 4] = x[i] + 1 + x[i] + x[i]\n",
	    "tunec: 1\nname: a\ninputs: {x: 'f32[4]'}\ncompute: |\n"
	    "  o[i < 4] = x[i] + 1 + (x[i] + x[i])\n"};
	enum { N = sizeof other / sizeof *other };
	static const char base[] =
	    "tunec: 1\nname: a\ninputs: {x: 'f32[4]'}\ncompute: |\n"
	    "  o[i < 4] = x[i] + 1\n";
	const char *keys[N + 3];
	for (int i = 0; i < N; i++)
		keys[i] = program(other[i])->op;
	keys[N] = program(base)->op;
	keys[N + 1] = program_of_text(arena, base, NUMERICS_EXACT)->op;
	keys[N + 2] = program_of_text(arena, base, NUMERICS_FAST)->op;
	for (int i = 0; i < N + 3; i++)
		for (int k = 0; k < i; k++)
			assert_string_not_equal(keys[i], keys[k]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* Read back it is the same operator, in other names; whatever else stands there is
 * none. */
static void test_read(void **state)
{
	(void)state;
	static const char *const others[] = {
	    "tunec: 1\nname: a\n"
	    "inputs: {a: 'f32[4]', b: 'f32[4]', c: 'f32[4]', d: 'f32[4]',\n"
	    "  e: 'f32[4]', f: 'f32[4]', g: 'f32[4]', h: 'f32[4]',\n"
	    "  k: 'const i8[4]'}\n"
	    "compute: |\n  o[i < 4] = a[i] + f32(k[i]*i8(2))\n",
	    "tunec: 1\nname: a\ninputs: {x: 'bf16[4, 4]'}\ncompute: |\n"
	    "  m[i < 4] = max[k < 4](if k < i then x[i, k] else -inf)\n"
	    "  o[i < 4] = m[i] + 1e-5\n  p[i < 4] = -m[3 - i]\n"
	    "outputs: [p, o]\n"};
	Program *p = program(conv), *q = canonical_read(arena, p->op_text);
	assert_non_null(q);
	assert_string_equal(p->op, q->op);
	assert_int_equal(p->nblocks, q->nblocks);
	for (int i = 0; i < 2; i++) {
		p = program_of_text(arena, others[i], NUMERICS_EXACT);
		q = canonical_read(arena, p->op_text);
		assert_non_null(q);
		assert_string_equal(p->op, q->op);
		assert_int_equal(q->numerics, NUMERICS_EXACT);
	}
	assert_null(canonical_read(arena, ""));
	assert_null(canonical_read(arena, "d0[a0 < 4]: f32 = i0[a0]\nout d0"));
	assert_null(canonical_read(
	    arena, arena_printf(arena, "%sx\n", program(conv)->op_text)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_text),
	    TEST(test_renamed_and_permuted),
	    TEST(test_twins),
	    TEST(test_what_counts),
	    TEST(test_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
