/* Groups: where a program is cut, that the parts are programs that files could
 * hold, and that their traces one after another are a trace of the whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "schedule/groups.h"
#include "test/common_lower.h"
#include "test/common_program.h"
#include "test/common_schedule.h"

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

/* The blocks of each group, as "pad c r | q". */
static const char *cut(const Program *p)
{
	const Groups *g = groups_of(arena, p, NULL);
	Buf out = {0};
	for (int i = 0; i < g->n; i++) {
		const Program *part = g->groups[i].program;
		if (i)
			buf_puts(&out, "| ");
		for (int b = 0; b < part->nblocks; b++)
			buf_printf(&out, "%s ", part->blocks[b].name);
	}
	const char *text = arena_strdup(arena, buf_text(&out));
	buf_free(&out);
	return text;
}

#define BLOCK(first, second)                                                   \
	"tunec: 1\nname: block\n"                                              \
	"inputs: {x: 'f32[8, 6, 6]', v: 'const f32[8, 8, 3, 3]', "            \
	"w: 'const f32[8, 8, 3, 3]', u: 'const f32[8, 8]', b: 'f32[8]'}\n"     \
	"compute: |\n" first second                                            \
	"  y[o < 8, i < 6, j < 6] = max(d[o, i, j] + s[o, i, j], 0)\n"         \
	"outputs: [y]\n"
#define SHORT                                                                  \
	"  s[o < 8, i < 6, j < 6] = sum[a < 8](x[a, i, j] * u[o, a])\n"
#define LONG                                                                   \
	"  p[a < 8, i < 8, j < 8] = if 1 <= i < 7 and 1 <= j < 7 then "        \
	"x[a, i - 1, j - 1] else 0\n"                                          \
	"  c[o < 8, i < 6, j < 6] = sum[a < 8, f < 3, g < 3]("                 \
	"p[a, i + f, j + g] * v[o, a, f, g])\n"                                \
	"  r[o < 8, i < 6, j < 6] = max(c[o, i, j] + b[o], 0)\n"               \
	"  q[a < 8, i < 8, j < 8] = if 1 <= i < 7 and 1 <= j < 7 then "        \
	"r[a, i - 1, j - 1] else 0\n"                                          \
	"  d[o < 8, i < 6, j < 6] = sum[a < 8, f < 3, g < 3]("                 \
	"q[a, i + f, j + g] * w[o, a, f, g])\n"

static const char block[] = BLOCK(SHORT, LONG);

static const char attention[] =
    "tunec: 1\nname: attention\n"
    "inputs: {q: 'f32[2, 6, 8]', k: 'f32[2, 6, 8]', v: 'f32[2, 6, 8]'}\n"
    "compute: |\n"
    "  s[h < 2, i < 6, j < 6] = sum[d < 8](q[h, i, d] * k[h, j, d])\n"
    "  m[h < 2, i < 6] = max[j < 6](s[h, i, j])\n"
    "  e[h < 2, i < 6, j < 6] = exp(s[h, i, j] - m[h, i])\n"
    "  z[h < 2, i < 6] = sum[j < 6](e[h, i, j])\n"
    "  p[h < 2, i < 6, j < 6] = e[h, i, j] / z[h, i]\n"
    "  o[h < 2, i < 6, d < 8] = sum[j < 6](p[h, i, j] * v[h, j, d])\n"
    "outputs: [o]\n";

/* The same, but that maxima and sums are over the rows. */
static const char columns[] =
    "tunec: 1\nname: columns\n"
    "inputs: {q: 'f32[6, 8]', k: 'f32[6, 8]', v: 'f32[6, 8]'}\n"
    "compute: |\n"
    "  s[i < 6, j < 6] = sum[d < 8](q[i, d] * k[j, d])\n"
    "  m[j < 6] = max[i < 6](s[i, j])\n"
    "  e[i < 6, j < 6] = exp(s[i, j] - m[j])\n"
    "  z[j < 6] = sum[i < 6](e[i, j])\n"
    "  p[i < 6, j < 6] = e[i, j] / z[j]\n"
    "  o[i < 6, d < 8] = sum[j < 6](p[i, j] * v[j, d])\n"
    "outputs: [o]\n";

/* Expand, filter each channel, project. */
static const char inverted[] =
    "tunec: 1\nname: inverted\n"
    "inputs: {x: 'f32[4, 6, 6]', u: 'const f32[8, 4]', "
    "v: 'const f32[8, 3, 3]', b: 'f32[8]', w: 'const f32[4, 8]'}\n"
    "compute: |\n"
    "  e[c < 8, i < 6, j < 6] = max(sum[a < 4](x[a, i, j] * u[c, a]), 0)\n"
    "  p[c < 8, i < 8, j < 8] = if 1 <= i < 7 and 1 <= j < 7 then "
    "e[c, i - 1, j - 1] else 0\n"
    "  d[c < 8, i < 6, j < 6] = sum[f < 3, g < 3](p[c, i + f, j + g] * "
    "v[c, f, g])\n"
    "  r[c < 8, i < 6, j < 6] = max(d[c, i, j] + b[c], 0)\n"
    "  y[o < 4, i < 6, j < 6] = sum[c < 8](r[c, i, j] * w[o, c])\n"
    "outputs: [y]\n";

/* A pool of what is filtered, extremes over its channels: each is better off
 * alone. */
#define FILTERED                                                               \
	"inputs: {a: 'f32[64, 30, 30]', w: 'const f32[64, 3, 3]'}\n"           \
	"compute: |\n"                                                         \
	"  p[c < 64, y < 30, x < 30] = if 1 <= y < 29 and 1 <= x < 29 then "   \
	"a[c, y, x] else 0\n"                                                  \
	"  d[c < 64, y < 28, x < 28] = sum[r < 3, s < 3]("                     \
	"p[c, y + r, x + s]*w[c, r, s])\n"                                     \
	"  t[c < 64, y < 28, x < 28] = max(d[c, y, x], 0)\n"

static const char *const apart[][2] = {
    {"tunec: 1\nname: pooled\n" FILTERED
     "  g[c < 64, y < 14, x < 14] = max[r < 2, s < 2](t[c, 2*y + r, 2*x + s])\n",
	"p d t | g "},
    {"tunec: 1\nname: widest\n" FILTERED
     "  g[y < 28, x < 28] = max[c < 64](t[c, y, x])\n",
	"p d t | g "},
    {"tunec: 1\nname: normed\n" FILTERED
     "  m[y < 28, x < 28] = max[c < 64](t[c, y, x])\n"
     "  z[y < 28, x < 28] = sum[c < 64](exp(t[c, y, x] - m[y, x]))\n"
     "  g[c < 64, y < 28, x < 28] = exp(t[c, y, x] - m[y, x])/z[y, x]\n",
	"p d t | m z~1 z g "},
    /* a reduction of one step is none */
    {"tunec: 1\nname: stepped\n" FILTERED
     "  g[c < 64, y < 28, x < 28] = max[k < 1](t[c, y, x])\n"
     "  m[y < 28, x < 28] = max[c < 64](g[c, y, x])\n",
	"p d t g | m "},
};

/* Planes that are divided by a norm, and a softmax of them. */
static const char twice[] =
    "tunec: 1\nname: twice\ninputs: {t: 'f32[8, 16, 32]'}\ncompute: |\n"
    "  q[y < 16, x < 32] = sqrt(sum[i < 8](t[i, y, x]*t[i, y, x]))\n"
    "  u[c < 8, y < 16, x < 32] = t[c, y, x]/max(q[y, x], 0.125)\n"
    "  m[y < 16, x < 32] = max[i < 8](u[i, y, x])\n"
    "  z[y < 16, x < 32] = sum[i < 8](exp(u[i, y, x] - m[y, x]))\n"
    "  g[c < 8, y < 16, x < 32] = exp(u[c, y, x] - m[y, x])/z[y, x]\n";

/* Planes that are divided by a norm, in front of a product: few, and many. */
#define DIVIDED(planes, n, filters, less)                                      \
	"tunec: 1\nname: divided\n"                                            \
	"params: {C: " planes ", N: " n ", F: " filters ", L: " less "}\n"     \
	"inputs: {t: 'f32[C, N, N]', w: 'const f32[F, C, 3, 3]'}\n"            \
	"compute: |\n"                                                         \
	"  q[y < N, x < N] = sqrt(sum[i < C](t[i, y, x]*t[i, y, x]))\n"        \
	"  u[c < C, y < N, x < N] = t[c, y, x]/max(q[y, x], 0.125)\n"          \
	"  o[c < F, y < L, x < L] = sum[i < C, r < 3, s < 3]("                 \
	"u[i, y + r, x + s]*w[c, i, r, s])\n"

/* What a filter of pooled planes and a sum of these planes read. */
static const char forked[] =
    "tunec: 1\nname: forked\n"
    "inputs: {t: 'f32[6, 14, 18]', w: 'const f32[6, 5, 5]'}\ncompute: |\n"
    "  a[c < 6, y < 7, x < 9] = sum[r < 2, q < 2](t[c, y*2 + r, x*2 + q])*0.25\n"
    "  p[c < 6, y < 11, x < 13] = if 2 <= y < 9 and 2 <= x < 11 then "
    "a[c, y - 2, x - 2] else 0\n"
    "  d[c < 6, y < 7, x < 9] = sum[r < 5, q < 5](p[c, y + r, x + q]*w[c, r, q])\n"
    "  s[y < 14, x < 18] = sum[i < 6](t[i, y, x])\n"
    "  u[y < 14, x < 18] = s[y, x]/max(sqrt(s[y, x]*s[y, x]), 0.125) + s[y, x]\n"
    "outputs: [d, u]\n";

static void test_wide(void **state)
{
	const Machine wide = {.vector_bytes = 64};
	(void)state;
	assert_true(groups_of(arena, program(forked), &wide)->n > 1);
	assert_int_equal(groups_of(arena, program(twice), &wide)->n, 2);
}

static void test_apart(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof apart / sizeof *apart; i++)
		assert_string_equal(cut(program(apart[i][0])), apart[i][1]);
	/* but not rows of one thing */
	assert_int_equal(
	    groups_of(arena,
		program(
		    "tunec: 1\nname: softmax\ninputs: {x: 'f32[64, 512]'}\ncompute: |\n"
		    "  m[i < 64] = max[j < 512](x[i, j])\n"
		    "  z[i < 64] = sum[j < 512](exp(x[i, j] - m[i]))\n"
		    "  y[i < 64, j < 512] = exp(x[i, j] - m[i])/z[i]\n"),
		NULL)
		->n,
	    1);
}

/* A quotient is made where the model says that all take less time then. */
static void test_near(void **state)
{
	static const char few[] = DIVIDED("5", "9", "6", "7");
	static const char many[] = DIVIDED("16", "28", "32", "26");
	const Machine wide = {.vector_bytes = 64};
	(void)state;
	assert_string_equal(cut(program(few)), "q~1 q u | o ");
	const Groups *g = groups_of(arena, program(few), &wide);
	assert_int_equal(g->groups[0].program->nblocks, 3);
	assert_string_equal(cut(program(many)), "q~1 q | u o ");
}

/* Parts that nothing leads between, each of which has windows of its own. */
static void test_parts(void **state)
{
	static const char windows[] =
	    "tunec: 1\nname: windows\ninputs: {t: 'f32[5, 7, 2]'}\ncompute: |\n"
	    "  a[y < 2, x < 3, c < 2] = "
	    "sum[r < 3, q < 3](t[y*2 + r, x*2 + q, c])\n"
	    "  b[y < 2, x < 3, c < 2] = "
	    "max[r < 2, q < 2](t[y*2 + r, x*2 + q, c])\n"
	    "outputs: [a, b]\n";
	static const char rows[] =
	    "tunec: 1\nname: rows\ninputs: {x: 'f32[64, 512]'}\ncompute: |\n"
	    "  a[i < 64] = max[j < 512](x[i, j])\n"
	    "  b[i < 64] = sum[j < 512](x[i, j])\noutputs: [a, b]\n";
	(void)state;
	assert_string_equal(cut(program(windows)), "a | b ");
	/* but not what reads the same rows in one pass */
	assert_string_equal(cut(program(rows)), "a b ");
}

static void test_cut(void **state)
{
	(void)state;
	assert_string_equal(cut(program(block)), "s | p c r | q d y ");
	/* rows of one product are made from the rows of another */
	assert_string_equal(cut(program(attention)), "s m e z p o ");
	assert_string_equal(
	    cut(program(columns)), "s | m e z | p o ");
	/* what ends a reduction between products stays with it */
	assert_string_equal(cut(program(inverted)), "e~1 e | p d r | y ");
	/* nothing to cut */
	assert_string_equal(cut(schedule_chain(arena)), "p c d out ");
}

static int hashes(const Program *p, const char *ops[8])
{
	const Groups *g = groups_of(arena, p, NULL);
	for (int i = 0; i < g->n; i++)
		ops[i] = g->groups[i].program->op;
	return g->n;
}

static bool among(const char *const *ops, int n, const char *op)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(ops[i], op))
			return true;
	return false;
}

/* The order of independent definitions in the file changes no group. */
static void test_order(void **state)
{
	const char *a[8], *b[8];
	(void)state;
	int n = hashes(program(block), a);
	int m = hashes(program(BLOCK(LONG, SHORT)), b);
	assert_int_equal(n, m);
	for (int i = 0; i < n; i++)
		assert_true(among(b, m, a[i]));
}

/* A group is what a file that holds it alone says. */
static void test_alone(void **state)
{
	static const char alone[] =
	    "tunec: 1\nname: conv\ninputs: {in: 'f32[8, 6, 6]', "
	    "weight: 'const f32[8, 8, 3, 3]', bias: 'f32[8]'}\n"
	    "compute: |\n"
	    "  pad[a < 8, y < 8, x < 8] = if 1 <= y < 7 and 1 <= x < 7 then "
	    "in[a, y - 1, x - 1] else 0\n"
	    "  conv[k < 8, y < 6, x < 6] = sum[a < 8, f < 3, g < 3]("
	    "pad[a, y + f, x + g] * weight[k, a, f, g])\n"
	    "  out[k < 8, y < 6, x < 6] = max(conv[k, y, x] + bias[k], 0)\n";
	const char *ops[8];
	(void)state;
	int n = hashes(program(block), ops);
	assert_true(among(ops, n, program(alone)->op));
}

/* Equal layers are one group to tune. */
static void test_equal(void **state)
{
	static const char mlp[] =
	    "tunec: 1\nname: mlp\n"
	    "inputs: {x: 'f32[4, 8]', a: 'const f32[8, 8]', "
	    "b: 'const f32[8, 8]'}\ncompute: |\n"
	    "  h[i < 4, j < 8] = sum[k < 8](x[i, k] * a[k, j])\n"
	    "  r[i < 4, j < 8] = max(h[i, j], 0)\n"
	    "  g[i < 4, j < 8] = sum[k < 8](r[i, k] * b[k, j])\n"
	    "  y[i < 4, j < 8] = max(g[i, j], 0)\noutputs: [y]\n";
	(void)state;
	const Groups *g = groups_of(arena, program(mlp), NULL);
	assert_int_equal(g->n, 2);
	assert_int_equal(g->groups[0].same_as, 0);
	assert_int_equal(g->groups[1].same_as, 0);
}

/* Random candidates of each group, joined, compute what the program says. */
static void check_joined(const Program *p)
{
	const Groups *g = groups_of(arena, p, NULL);
	Trace **traces = NEW_N(arena, Trace *, g->n);
	Rng rng = rng_stream(11, 0, 0);
	void **data = lowercheck_data(arena, p, &rng);
	lowercheck_expect(p, data);
	for (int round = 0; round < 12; round++) {
		Error error = {0};
		for (int i = 0; i < g->n; i++) {
			int first = g->groups[i].same_as;
			Candidate c;
			Space *space = space_new(arena,
			    g->groups[first].program, &test_machine, &error);
			assert_non_null(space);
			assert_true(space_sample(space, &rng, &c));
			traces[i] = groups_trace(arena, g, i,
			    space_trace(arena, space, &c), &error);
			assert_non_null(traces[i]);
		}
		Trace *joined = groups_join(arena, g, traces, &error);
		if (!joined)
			fail_msg("%s", error.text);
		Nest *nest = schedule_nest(
		    arena, p, &test_machine, joined, &error);
		if (!nest)
			fail_msg("%s", error.text);
		Lowered *l = lower(arena, nest, &test_machine, &error);
		if (!l)
			continue; /* groups are refused alone, too */
		const char *wrong =
		    lowercheck_run(arena, l, data, 1e-4, NULL, NULL);
		if (wrong)
			fail_msg("%s", wrong);
	}
}

static void test_joined(void **state)
{
	(void)state;
	check_joined(program(block));
	check_joined(program(attention));
}

/* The buffer of another group, one that two groups read, one that a product reads
 * too: what is made one row in a group, or copied for its readers, is a buffer
 * that the whole has otherwise. */
static const char *const shared[] = {
    "tunec: 1\nname: made\n"
    "inputs: {x: 'f32[16, 8, 8]', w: 'const f32[16, 16]'}\ncompute: |\n"
    "  c[o < 16, y < 8, z < 8] = sum[i < 16](x[i, y, z] * w[o, i])\n"
    "  g[o < 16] = sum[y < 8, z < 8](c[o, y, z])\n",
    "tunec: 1\nname: twice\n"
    "inputs: {x: 'f32[16, 8, 8]', w: 'const f32[16, 16]', "
    "v: 'f32[16, 16]'}\ncompute: |\n"
    "  g[o < 16] = sum[y < 8, z < 8](x[o, y, z])/64\n"
    "  h[j < 16] = sum[o < 16](g[o]*v[j, o])\n"
    "  s[o < 16, y < 8, z < 8] = x[o, y, z]*sigmoid(h[o])\n"
    "  c[o < 16, y < 8, z < 8] = sum[i < 16](s[i, y, z] * w[o, i])\n",
    "tunec: 1\nname: both\n"
    "inputs: {x: 'f32[16, 8, 8]', w: 'const f32[16, 16]'}\ncompute: |\n"
    "  g[o < 16] = sum[y < 8, z < 8](x[o, y, z])\n"
    "  c[o < 16, y < 8, z < 8] = sum[i < 16](x[i, y, z] * w[o, i])\n"
    "outputs: [g, c]\n",
    "tunec: 1\nname: norm\n"
    "inputs: {x: 'f32[16, 16]', w: 'const f32[16, 16]'}\ncompute: |\n"
    "  c[t < 16, d < 16] = sum[k < 16](x[t, k] * w[k, d])\n"
    "  m[t < 16] = sum[k < 16](x[t, k])/16\n"
    "  e[t < 16, d < 16] = x[t, d] - m[t]\n"
    "  v[t < 16] = sum[k < 16](e[t, k]*e[t, k])/16\n"
    "  y[t < 16, d < 16] = e[t, d]/sqrt(v[t] + 1e-5)\n"
    "outputs: [c, y]\n",
    /* const inputs that two groups read as they are, and packed */
    "tunec: 1\nname: tied\n"
    "inputs: {x: 'f32[8, 16]', w: 'const f32[16, 16]', b: 'const f32[16]', "
    "u: 'const f32[3]'}\ncompute: |\n"
    "  c[t < 8, d < 16] = sum[k < 16](x[t, k] * w[k, d]) + b[d]\n"
    "  e[t < 8, d < 16] = sum[k < 16](c[t, k] * w[d, k]) + b[d]\n"
    "outputs: [c, e]\n",
};

/* What two groups make of the same is made once: of a temporary and an output,
 * in either order, of two temporaries; of two outputs twice. */
#define STEP(outputs)                                                          \
	"tunec: 1\nname: step\n"                                               \
	"inputs: {s: 'f32[8, 12]', t: 'const f32[12, 16]'}\ncompute: |\n"      \
	"  d[n < 8, j < 16] = max[i < 12](s[n, i] + t[i, j])\n"                \
	"  e[n < 8, j < 16] = max[i < 12](s[n, i] + t[i, j])\n"                \
	"  b[n < 8, j < 16] = argmax[i < 12](s[n, i] + t[i, j])\n"             \
	"  y[n < 8, j < 16] = d[n, j] - e[n, j] + f32(b[n, j])\n"             \
	"outputs: " outputs "\n"
static const struct {
	const char *text;
	int made; /* results of the three maxima */
} repeated[] = {
    {STEP("[d, y]"), 1},
    {STEP("[b, e, y]"), 1},
    {STEP("[y]"), 1},
    {STEP("[d, y, e]"), 2},
};

static int maxima(const Lowered *l)
{
	static const char *const names[] = {"d", "e", "b~1"};
	int n = 0;
	for (int i = 0; i < l->kernel->buffers.n; i++)
		for (int k = 0; k < 3; k++)
			n += !strcmp(l->kernel->buffers.at[i].name, names[k]);
	return n;
}

static void test_repeated(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof repeated / sizeof *repeated; i++) {
		const Program *p = program(repeated[i].text);
		check_joined(p);
		Error error = {0};
		const Groups *g = groups_of(arena, p, NULL);
		const Trace *joined = groups_join(
		    arena, g, NEW_N(arena, Trace *, g->n), &error);
		assert_non_null(joined);
		const Nest *nest = schedule_nest(
		    arena, p, &test_machine, joined, &error);
		assert_non_null(nest);
		Lowered *l = lower(arena, nest, &test_machine, &error);
		assert_non_null(l);
		assert_int_equal(maxima(l), repeated[i].made);
	}
}

static void test_shared(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
		const Program *p = program(shared[i]);
		assert_true(groups_of(arena, p, NULL)->n > 1);
		check_joined(p);
	}
}

/* --- traces of groups -------------------------------------------------------------- */

static const struct {
	const char *trace, *why;
} scoped[] = {
    {"group(c)\ngroup(g)\nparallel(g.o)", NULL},
    {"group(c, g)\nparallel(c.o)", NULL},
    {"group(c)\nl0, l1 = split(c.o, [_, 4])\ngroup(g)\n"
     "l0, l1 = split(g.o, [_, 4])",
	NULL},
    {"group(g)\ngroup(c)", "reads what a later one writes"},
    {"group(c)", "block 'g' is in no group"},
    {"group(c)\ngroup(c, g)", "a block is in two groups"},
    {"group(c)\ngroup(g, q)", "there is no block of that name"},
    {"group(c)\ngroup(g)\nparallel(c.o)", "step 3, parallel(c.o): "},
    {"parallel(c.o)\ngroup(c, g)", "from its first step on, or none"},
};

static void test_scopes(void **state)
{
	(void)state;
	const Program *p = program(shared[0]);
	for (size_t i = 0; i < sizeof scoped / sizeof *scoped; i++) {
		Error error = {0};
		Trace *trace = schedule_steps(arena, scoped[i].trace);
		Nest *nest =
		    schedule_nest(arena, p, &test_machine, trace, &error);
		if (!nest != !!scoped[i].why)
			fail_msg("%s: %s", scoped[i].trace, error.text);
		if (scoped[i].why && !strstr(error.text, scoped[i].why))
			fail_msg("%s: %s", scoped[i].trace, error.text);
	}
}

/* What a part reads of another may be a block's result that has no name of its
 * own. */
static void test_unnamed(void **state)
{
	static const char both[] =
	    "tunec: 1\nname: both\n"
	    "inputs: {x: 'f32[8, 8]', w: 'const f32[8, 8]', y_1: 'f32[8]'}\n"
	    "compute: |\n"
	    "  y[i < 8, j < 8] = y_1[i] + sum[k < 8](x[i, k]*w[k, j]) *\n"
	    "    sum[k < 8](w[i, k]*x[k, j])\n";
	const Program *p = program(both);
	Error error = {0};
	(void)state;
	assert_string_equal(cut(p), "y~1 | y~2 y ");
	const Groups *g = groups_of(arena, p, NULL);
	for (int i = 0; i < g->n; i++) {
		Nest *nest = schedule_nest(arena, g->groups[i].program,
		    &test_machine, NEW(arena, Trace), &error);
		assert_non_null(nest);
		Lowered *l = lower(arena, nest, &test_machine, &error);
		char why[256];
		assert_non_null(l);
		if (!lowered_verify(l, why, sizeof why))
			fail_msg("%s", why);
	}
	check_joined(p);
}

/* y reads two products; the one that comes last ends with it, whichever of them
 * has more behind it. */
static void test_two_ends(void **state)
{
	static const char two[] =
	    "tunec: 1\nname: two\n"
	    "inputs: {x: 'f32[4, 8]', a: 'const f32[8, 8]', "
	    "b: 'const f32[8, 8]', d: 'const f32[8, 8]'}\ncompute: |\n"
	    "  s[i < 4, j < 8] = sum[k < 8](x[i, k] * d[k, j])\n"
	    "  t[i < 4, j < 8] = s[i, j] + 1.0\n"
	    "  h[i < 4, j < 8] = sum[k < 8](x[i, k] * a[k, j])\n"
	    "  r[i < 4, j < 8] = max(h[i, j], 0)\n"
	    "  g[i < 4, j < 8] = sum[k < 8](r[i, k] * b[k, j])\n"
	    "  y[i < 4, j < 8] = max(g[i, j] + t[i, j], 0)\noutputs: [y]\n";
	const Program *p = program(two);
	(void)state;
	const Groups *g = groups_of(arena, p, NULL);
	assert_int_equal(g->n, 3);
	check_joined(p);
}

/* Operands that stand still along the same axis are worth no tile: sums that read
 * the same stay together. */
static void test_no_product(void **state)
{
	static const char three[] =
	    "tunec: 1\nname: three\n"
	    "inputs: {x: 'f32[9]', y: 'f32[9]', m: 'f32[9]'}\n"
	    "compute: |\n"
	    "  r[i < 9, j < 9] = sqrt(x[j]*x[i] + y[j]*y[i])\n"
	    "  a[i < 9] = sum[j < 9](x[j]*m[j]*r[i, j])\n"
	    "  b[i < 9] = sum[j < 9](y[j]*m[j]*r[i, j])\noutputs: [a, b]\n";
	(void)state;
	assert_string_equal(cut(program(three)), "r a b ");
}

/* A definition with two products is cut in two. */
static void test_one_definition(void **state)
{
	static const char two[] =
	    "tunec: 1\nname: two\n"
	    "inputs: {x: 'f32[4, 8]', a: 'f32[8, 6]', b: 'f32[8, 6]'}\n"
	    "compute: |\n"
	    "  y[i < 4, j < 6] = sum[k < 8](x[i, k]*a[k, j]) * "
	    "sum[k < 8](x[i, k]*b[k, j])\n";
	(void)state;
	assert_string_equal(cut(program(two)), "y~1 | y~2 y ");
	check_joined(program(two));
}

/* What is in the middle of two definitions is made once, by one of the groups. */
static void test_shared_middle(void **state)
{
	static const char shared[] =
	    "tunec: 1\nname: shared\n"
	    "inputs: {x: 'f32[8, 12]', w: 'const f32[12, 6]'}\n"
	    "compute: |\n"
	    "  z[i < 8] = sum[k < 12](exp(x[i, k]))\n"
	    "  p[i < 8, j < 12] = exp(x[i, j])/z[i]\n"
	    "  y[i < 8, j < 6] = sum[k < 12](p[i, k]*w[k, j])\n";
	(void)state;
	assert_string_equal(cut(program(shared)), "z~1 z | p y ");
	check_joined(program(shared));
}

/* Two such products may be equal: then one is tuned, and its trace holds for the
 * other.  What is written twice is computed once. */
static void test_equal_blocks(void **state)
{
	static const char two[] =
	    "tunec: 1\nname: two\n"
	    "inputs: {x: 'f32[4, 8]', a: 'f32[8, 6]', b: 'f32[8, 6]', "
	    "c: 'f32[8, 6]'}\n"
	    "compute: |\n"
	    "  y[i < 4, j < 6] = (sum[k < 8](x[i, k]*a[k, j]) + "
	    "sum[k < 8](x[i, k]*a[k, j])) * "
	    "sum[k < 8](x[i, k]*b[k, j]) * sum[k < 8](x[i, k]*c[k, j])\n";
	(void)state;
	const Program *p = program(two);
	assert_string_equal(cut(p), "y~1 | y~2 | y~3 y ");
	const Groups *g = groups_of(arena, p, NULL);
	assert_int_equal(g->groups[1].same_as, 0);
	check_joined(p);
}

/* A long chain behind a product is cut into pieces, whose traces go together;
 * pieces of the same text are equal. */
static void test_large(void **state)
{
	enum { LENGTH = 1100, MOST = 256 };
	Buf text = {0};
	int equal = 0, blocks = 0;
	(void)state;
	buf_puts(&text, "tunec: 1\nname: large\ninputs: {x: 'f32[8]'}\n"
			"compute: |\n  d0[i < 8] = x[i] + 1\n");
	for (int i = 1; i < LENGTH; i++)
		buf_printf(&text, "  d%d[i < 8] = d%d[i] + 1\n", i, i - 1);
	const Program *p = program(buf_text(&text));
	buf_free(&text);
	const Groups *g = groups_of(arena, p, NULL);
	assert_int_equal(g->n, (LENGTH + MOST - 1) / MOST);
	for (int i = 0; i < g->n; i++) {
		assert_true(g->groups[i].program->nblocks <= MOST);
		blocks += g->groups[i].program->nblocks;
		equal += g->groups[i].same_as != i;
	}
	assert_int_equal(blocks, LENGTH);
	assert_int_equal(equal, g->n - 2); /* the last is shorter */
	check_joined(p);
}

/* What only an arm reads that a constant condition leaves out comes last. */
static void test_left_out(void **state)
{
	(void)state;
	const Program *p = program(
	    "tunec: 1\nname: left_out\n"
	    "inputs: {x: 'f32[8, 8]', w: 'f32[8, 8]'}\n"
	    "compute: |\n"
	    "  d[i < 8, j < 8] = sum[k < 8](x[i, k]*w[k, j])\n"
	    "  e[i < 8, j < 8] = sum[k < 8](x[i, k]*x[k, j])\n"
	    "  y[i < 8, j < 8] = if bool(19) then d[i, j] else e[i, j]\n"
	    "outputs: [y]\n");
	assert_int_equal(p->canonical_definition[1], -1);
	assert_string_equal(cut(p), "d y | e ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_cut),
	    cmocka_unit_test(test_apart),
	    cmocka_unit_test(test_wide),
	    cmocka_unit_test(test_near),
	    cmocka_unit_test(test_parts),
	    cmocka_unit_test(test_order),
	    cmocka_unit_test(test_alone),
	    cmocka_unit_test(test_equal),
	    cmocka_unit_test(test_joined),
	    cmocka_unit_test(test_repeated),
	    cmocka_unit_test(test_shared),
	    cmocka_unit_test(test_scopes),
	    cmocka_unit_test(test_large),
	    cmocka_unit_test(test_unnamed),
	    cmocka_unit_test(test_two_ends),
	    cmocka_unit_test(test_no_product),
	    cmocka_unit_test(test_one_definition),
	    cmocka_unit_test(test_shared_middle),
	    cmocka_unit_test(test_equal_blocks),
	    cmocka_unit_test(test_left_out),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
