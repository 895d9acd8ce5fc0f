/* How many operations of a kind a schedule's loops run: one definition, its steps
 * written by hand, lowered, run and compared with what the program says. */
#include "test/common_lower.h"
#include "test/common_lowered.h"
#include "test/common_program.h"
#include "test/common_schedule.h"

#include "codegen/lower/lower_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static Arena *arena;
static Target *target;

static int set_up(void **state)
{
	Error error;
	(void)state;
	lower_asks_again = true;
	arena = arena_new();
	target = target_parse(arena, "llvm -mcpu=haswell -threads=2", &error);
	assert_non_null(target);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_free(arena);
	return 0;
}

/* A program, its inputs and what it makes of them. */
typedef struct {
	Program *program;
	void **data;
} Given;

static Given given(Program *program)
{
	Rng rng = rng_stream(21, 0, 0);
	Given g = {program, lowercheck_data(arena, program, &rng)};
	lowercheck_expect(program, g.data);
	return g;
}

static Given given_text(const char *text)
{
	return given(program_of_text(arena, text, NUMERICS_DEFAULT));
}

/* The loops of these steps on a machine, which give what is expected. */
static Lowered *right_on(
    const Machine *machine, const Given *g, const char *steps, const char *what)
{
	Error error = {0};
	Nest *nest = schedule_nest(
	    arena, g->program, machine, schedule_steps(arena, steps), &error);
	Lowered *l = nest ? lower(arena, nest, machine, &error) : NULL;
	if (!l)
		fail_msg("%s: %s", what, error.text);
	const char *why = lowercheck_run(arena, l, g->data, 0, NULL, NULL);
	if (why)
		fail_msg("%s: %s", what, why);
	return l;
}

static Lowered *right_by(const Given *g, const char *steps, const char *what)
{
	return right_on(&target->machine, g, steps, what);
}

/* What one call runs. */
static LowRun run_of(const Given *g, const Lowered *l)
{
	LowRun run = {0};
	const Program *p = g->program;
	void *args[8];
	int n = 0;
	for (; n < p->ninputs; n++)
		args[n] = g->data[n];
	for (int i = 0; i < p->noutputs; i++)
		args[n++] = lowercheck_memory(
		    arena, buffer_bytes(&p->buffers[p->outputs[i]]));
	args[n++] = lowercheck_memory(arena, 64);
	assert_true(low_function_run(l->kernel, args, &run));
	return run;
}

static int64_t count_of(const Given *g, const Lowered *l, LowOpcode op)
{
	return run_of(g, l).op_count[op];
}

/* --- stores whose lanes lie apart ------------------------------------------ */

/* Rows that lie side by side are stored as whole vectors, whatever their
 * length; behind the last whole ones the first elements. */
static void check_zipped(DType type, int n, int rows, const char *tail)
{
	enum { LANES = 8 };
	const char *t = dtype_name(type);
	Given g = given_text(arena_printf(arena,
	    "tunec: 1\nname: zip\ninputs: {x: '%s[%d, %d]'}\ncompute: |\n"
	    "  y[i < %d, c < %d] = x[c, i]\n",
	    t, n, rows, rows, n));
	Lowered *l = right_by(&g,
	    arena_printf(arena,
		"i0, iv = split(y.i, [_, 8])\nreorder(i0, y.c, iv)\n"
		"unroll(y.c)\nvectorize(iv, 8)\ntail(y, %s)\n",
		tail),
	    arena_printf(arena, "%d by %d rows of %s", rows, n, t));
	LowRun run = run_of(&g, l);
	if (run.op_count[LOW_SCATTER])
		fail_msg("%d rows of %s are scattered", n, t);
	assert_int_equal(run.stores, rows * n);
	if (rows % LANES == 0)
		assert_int_equal(run.op_count[LOW_STORE], rows / LANES * n);
}

static void test_zipped(void **state)
{
	(void)state;
	for (int n = 2; n <= 8; n++) {
		check_zipped(DT_F32, n, 40, "peel");
		check_zipped(DT_U8, n, 40, "peel");
		check_zipped(DT_F64, n, 40, "peel");
		check_zipped(DT_F32, n, 45, "peel");
		check_zipped(DT_U8, n, 43, "mask");
	}
}

/* Narrow results that lie side by side, computed in wider integers, are put together
 * in these: where all of a row fit in one nothing is shuffled. */
static void test_joined(void **state)
{
	static const struct {
		const char *from, *to;
		int fit; /* of those in one */
	} types[] = {{"i32", "u8", 4}, {"i32", "i16", 2}, {"i32", "i8", 4},
	    {"u32", "u16", 2}, {"i64", "u16", 4},
	    {"i64", "i8", 8}, {"i32", "i32", 1}};
	(void)state;
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		for (int n = 2; n <= 8; n++)
			for (int mask = 0; mask < 2; mask++) {
				Given g = given_text(arena_printf(arena,
				    "tunec: 1\nname: joined\n"
				    "inputs: {x: '%s[45]', z: '%s[45, %d]'}\n"
				    "compute: |\n  y[i < 45, k < %d] = "
				    "%s(x[i]*3 + z[i, k])\n",
				    types[i].from, types[i].from, n, n,
				    types[i].to));
				Lowered *l = right_by(&g,
				    arena_printf(arena,
					"i0, iv = split(y.i, [_, 8])\n"
					"reorder(i0, y.k, iv)\nunroll(y.k)\n"
					"vectorize(iv, 8)\ntail(y, %s)\n",
					mask ? "mask" : "peel"),
				    types[i].to);
				bool joins = types[i].fit > 1 && !(n & (n - 1));
				assert_int_equal(
				    count_of(&g, l, LOW_BITS) > 0, joins);
			}
	Given g = given_text(
	    "tunec: 1\nname: pixels\ninputs: {x: 'i32[4, 64]'}\ncompute: |\n"
	    "  y[i < 64, k < 4] = u8(x[k, i]*3)\n");
	Lowered *l = right_by(&g,
	    "i0, iv = split(y.i, [_, 8])\nreorder(i0, y.k, iv)\n"
	    "unroll(y.k)\nvectorize(iv, 8)\n", "pixels");
	assert_int_equal(count_of(&g, l, LOW_SHUFFLE), 0);
	assert_int_equal(count_of(&g, l, LOW_CONVERT), 0);
	assert_int_equal(count_of(&g, l, LOW_STORE), 8);
}

/* Columns of an element each row that are added to what is transposed: gathers, or
 * none, since whole rows are added. */
static int64_t gathers_of(const char *value)
{
	Given g = given_text(arena_printf(arena,
	    "tunec: 1\nname: late\ninputs: {x: 'f32[64, 16]', "
	    "z: 'f32[64, 16]', r: 'f32[16, 128]'}\ncompute: |\n"
	    "  y[c < 16, i < 64] = %s\n",
	    value));
	Lowered *l = right_by(&g,
	    "c0, cv = split(y.c, [_, 8])\ni0, i1 = split(y.i, [_, 4])\n"
	    "reorder(c0, i0, i1, cv)\nunroll(i1)\nvectorize(cv, 8)\n",
	    value);
	assert_int_equal(count_of(&g, l, LOW_SCATTER), 0);
	return count_of(&g, l, LOW_GATHER);
}

static void test_late(void **state)
{
	enum { ALL = 2 * 64 };
	(void)state;
	assert_int_equal(gathers_of("x[i, c] + r[c, i]"), 0);
	assert_int_equal(
	    gathers_of("max(min(x[i, c], z[i, c]) + r[c, i], 0)"), 0);
	assert_int_equal(gathers_of("clamp(x[i, c] - r[c, i + 3]*2, 0, 1)"), 0);
	assert_int_equal(gathers_of("x[i, c] + r[c, i]*r[c, i + 64]"), 0);
	/* rows that are not side by side, two to transpose, another operation */
	assert_int_equal(gathers_of("x[i, c] + r[c, 2*i]"), ALL);
	assert_int_equal(gathers_of("(x[i, c] + r[c, i])*z[i, c]"), ALL);
	assert_int_equal(gathers_of("x[i, c]*z[i, c] + r[c, i]"), ALL);
	assert_int_equal(gathers_of("(x[i, c] + r[c, i])/3"), ALL);
}

/* Lanes along two fused axes of an output are neighbours: 8 rows of `n`. */
static void check_fused_lanes(int n)
{
	Given g = given(program_matmul(arena, 8, n, 3));
	Lowered *l = right_by(&g,
	    "unfold(c)\nf = fuse(c.i, c.j)\nf0, fv = split(f, [_, 8])\n"
	    "vectorize(fv, 8)\n",
	    arena_printf(arena, "rows of %d", n));
	assert_int_equal(count_of(&g, l, LOW_SCATTER), 0);
	assert_int_equal(count_of(&g, l, LOW_STORE), n);
}

static void test_fused_lanes(void **state)
{
	(void)state;
	check_fused_lanes(2);
	check_fused_lanes(4);
	check_fused_lanes(8);
}

/* What all lanes read is inside where one of a tail's lanes counts: no address is
 * forced to be. */
static void test_tail_reads(void **state)
{
	enum { ROWS = 6 };
	(void)state;
	Given g = given_text(
	    "tunec: 1\nname: tail\ninputs: {x: 'f32[6]', w: 'f32[3, 12]'}\n"
	    "compute: |\n  y[i < 6, o < 12] = sum[r < 3]((if 1 <= i*2 + r then "
	    "x[(i*2 + r - 1)//2] else 0)*w[r, o])\n");
	Lowered *l = right_by(&g,
	    "o0, o1, ov = split(y.o, [_, 2, 8])\n"
	    "reorder(y.i, o0, y.r, o1, ov)\nunroll(o1)\nvectorize(ov, 8)\n"
	    "tail(y, mask)\n",
	    "tail");
	/* where the steps begin */
	assert_int_equal(count_of(&g, l, LOW_MAX), ROWS);
	assert_int_equal(count_of(&g, l, LOW_MIN), 0);
}

/* --- bits of words ------------------------------------------------------------ */

/* Words of `bits` comparisons, a vector of `lanes` at a time: is each word one
 * operation? */
static void check_words(
    const char *element, int bits, int lanes, const char *tail, bool one)
{
	Given g = given_text(arena_printf(arena,
	    "tunec: 1\nname: words\ninputs: {x: 'i16[12, %d]', t: 'i16[12]'}\n"
	    "compute: |\n  y[i < 12] = sum[k < %d](%s)\n",
	    bits, bits, element));
	Lowered *l = right_by(&g,
	    arena_printf(arena,
		"i0, i1 = split(y.i, [_, 4])\n"
		"k0, k1 = split(y.k, [_, %d])\nreorder(i0, k0, i1, k1)\n"
		"unroll(i1)\nvectorize(k1, %d)\ntail(y, %s)\n",
		lanes, lanes, tail),
	    arena_printf(arena, "%s, %d bits by %d", element, bits, lanes));
	LowRun run = run_of(&g, l);
	assert_int_equal(run.op_count[LOW_BITS], one ? 12 : 0);
	if (one)
		assert_int_equal(run.op_count[LOW_SHUFFLE], 0);
}

static void test_words(void **state)
{
	static const char bit[] =
	    "if x[i, k] > t[i] then shift_left(u32(1), k) else 0";
	(void)state;
	for (int lanes = 8; lanes <= 32; lanes *= 2) {
		check_words(bit, lanes, lanes, "peel", true);
		check_words(bit, lanes - 3, lanes, "peel", true);
		check_words(bit, lanes - 3, lanes, "mask", true);
		check_words(bit, 2 * lanes, lanes, "peel", false);
	}
	/* those from 32 on are the first ones again */
	check_words("if x[i, k] > t[i] then shift_left(u32(1), k + 32) else 0",
	    16, 16, "peel", true);
	check_words("if x[i, k] > t[i] then shift_left(i64(1), k + 40) else 0",
	    8, 8, "peel", true);
	check_words("if x[i, k] > t[i] then shift_left(1, k) else 0", 16, 16,
	    "peel", true);
	/* too few, not in order, across a word's end, not one bit, something else */
	check_words(bit, 4, 4, "peel", false);
	check_words(bit, 64, 64, "peel", false);
	check_words("if x[i, k] > t[i] then shift_left(u32(1), 7 - k) else 0",
	    8, 8, "peel", false);
	check_words("if x[i, k] > t[i] then shift_left(u32(1), k + 4) else 0",
	    8, 8, "peel", false);
	check_words("if x[i, k] > t[i] then shift_left(u32(3), k) else 0", 8, 8,
	    "peel", false);
	check_words("if x[i, k] > t[i] then shift_left(u32(1), k) else 1", 8, 8,
	    "peel", false);
}

/* --- several results across lanes ------------------------------------------ */

/* Rows of 37, `rows` at once in vectors of `lanes`; `stores`, `shuffles`: of a
 * tile, where all are whole. */
static void check_rows_across(const char *reduce, const char *type, int rows,
    int lanes, int stores, int shuffles)
{
	enum { N = 48 };
	Given g = given_text(arena_printf(arena,
	    "tunec: 1\nname: rows\ninputs: {x: '%s[48, 37]'}\ncompute: |\n"
	    "  y[i < 48] = %s[k < 37](x[i, k])\n",
	    type, reduce));
	Lowered *l = right_by(&g,
	    arena_printf(arena,
		"i0, i1 = split(y.i, [_, %d])\n"
		"k0, k1 = split(y.k, [_, %d])\nreorder(i0, k0, i1, k1)\n"
		"unroll(i1)\nvectorize(k1, %d)\ntail(y, peel)\n",
		rows, lanes, lanes),
	    arena_printf(arena, "%s of %d rows of %s", reduce, rows, type));
	if (N % rows)
		return;
	LowRun run = run_of(&g, l);
	assert_int_equal(run.op_count[LOW_STORE], N / rows * stores);
	assert_int_equal(run.op_count[LOW_SHUFFLE], N / rows * shuffles);
}

/* Two vectors become one in each step, and results are stored together. */
static void test_rows_across(void **state)
{
	static const char *const types[] = {"f32", "f64", "i32"};
	(void)state;
	for (int rows = 1; rows <= 9; rows++)
		for (int lanes = 2; lanes <= 16; lanes *= 2)
			for (int t = 0; t < 3; t++) {
				int together = rows, halves = 0, stores = 0;
				int shuffles = 0, left = rows;
				for (; left > 0; left -= together) {
					together = lanes;
					while (together > left)
						together /= 2;
					stores++;
					shuffles += 2 * (together - 1);
					halves = 0;
					while (
					    lanes >> (halves + 1) >= together)
						halves++;
					/* of one two lanes are taken out */
					halves -= together == 1;
					shuffles += 2 * halves;
				}
				check_rows_across(t == 2 ? "sum" : "max",
				    types[t], rows, lanes, stores, shuffles);
				check_rows_across(t == 2 ? "max" : "sum",
				    types[t], rows, lanes, stores, shuffles);
			}
}

/* --- loads whose lanes lie apart ------------------------------------------ */

/* Distances, divisions and remainders at random, two reads of each: nothing
 * past an input's end is read, and what few loads hold is not gathered, in the
 * part of a vector that is left of a peeled row neither. */
static void test_apart(void **state)
{
	enum { PROGRAMS = 400, MANY = 1 << 20 };
	static const DType types[] = {DT_F32, DT_F32, DT_I8, DT_F64};
	static const int lanes[] = {4, 8, 16};
	Rng rng = rng_stream(12, 0, 0);
	int few = 0;
	(void)state;
	for (int i = 0; i < PROGRAMS; i++) {
		int step[8], most = 0, n = lanes[i % 3];
		for (int k = 0; k < 2; k++) {
			int *s = step + 4 * k;
			s[0] = 1 + (int)rng_below(&rng, 9);
			s[1] = (int)rng_below(&rng, 7);
			s[2] = rng_below(&rng, 2) ? 1 : 1 << rng_below(&rng, 4);
			s[3] =
			    rng_below(&rng, 2) ? MANY : 1 << rng_below(&rng, 5);
			bool even = s[0] * n % s[2] == 0 &&
			    (s[3] == MANY || s[0] * n / s[2] % s[3] == 0);
			int far = even ? s[0] : MANY;
			most = far > most ? far : most;
		}
		Program *p = program_apart(arena, types[rng_below(&rng, 4)],
		    i % 2 ? 40 + (int)rng_below(&rng, 50) : 5 * n, step, 2);
		Given g = given(p);
		const char *steps = arena_printf(arena,
		    "i0, i1 = split(y.i, [_, %d])\nvectorize(i1, %d)\n"
		    "tail(y, %s)\n",
		    n, n, i % 4 == 1 ? "mask" : "peel");
		Lowered *l = right_by(&g, steps,
		    arena_printf(arena,
			"%d (%d*i + %d)//%d %% %d, (%d*i + %d)//%d %% %d", i,
			step[0], step[1], step[2], step[3], step[4], step[5],
			step[6], step[7]));
		if (i % 4 == 1 || most > 4)
			continue;
		few++;
		assert_int_equal(count_of(&g, l, LOW_GATHER), 0);
	}
	assert_true(few > 20);
}

/* Tables of as many elements as a vector or two are looked up in registers, also a
 * row of them for each step; one that may be larger is not. */
static void test_tables(void **state)
{
	static const struct {
		const char *value;
		int gathers;
	} tables[] = {
	    {"t[u[i] % 8]", 0},
	    {"t[u[i]//16]*t[u[i] % 16]", 0},
	    {"t[clamp(s[i], 3, 9)] + t[2*(u[i] % 4) + 1]", 0},
	    {"sum[k < 3](w[k, u[i + k] % 4])", 0},
	    {"w[i % 3, 0] + t[u[i]//20]", 0},
	    {"t[u[i] % 40]", 1},
	};
	(void)state;
	for (int i = 0; i < (int)(sizeof tables / sizeof *tables); i++) {
		Given g = given_text(arena_printf(arena,
		    "tunec: 1\nname: tables\ninputs: {u: 'u8[70]', "
		    "s: 'i32[70]', t: 'f32[40]', w: 'f32[3, 4]'}\n"
		    "compute: |\n  y[i < 67] = %s\n",
		    tables[i].value));
		for (int mask = 0; mask < 2; mask++) {
			Lowered *l = right_by(&g,
			    arena_printf(arena,
				"i0, iv = split(y.i, [_, 8])\n"
				"vectorize(iv, 8)\ntail(y, %s)\n",
				mask ? "mask" : "peel"),
			    tables[i].value);
			assert_int_equal(
			    count_of(&g, l, LOW_GATHER) > 0, tables[i].gathers);
			assert_int_equal(count_of(&g, l, LOW_PERMUTE) > 0,
			    !tables[i].gathers);
		}
	}
}

/* Three colours side by side are loaded once for all three; lanes are chosen of
 * two vectors, of these and the third, and put in order. */
static void test_colours(void **state)
{
	int step[12];
	(void)state;
	for (int c = 0; c < 3; c++)
		memcpy(
		    step + 4 * c, (int[]){3, c, 1, 1 << 20}, 4 * sizeof(int));
	Program *p = program_apart(arena, DT_F32, 64, step, 3);
	/* one buffer, read three times */
	Expr *e = p->blocks[0].body;
	for (; e->op == OP_MAX; e = e->arg[0])
		e->arg[1]->id = 2;
	e->id = 2;
	Given g = given(p);
	Lowered *l = right_by(
	    &g, "i0, i1 = split(y.i, [_, 8])\nvectorize(i1, 8)\n", "colours");
	LowRun run = run_of(&g, l);
	assert_int_equal(run.op_count[LOW_LOAD], 8 * 3);
	assert_int_equal(run.op_count[LOW_SHUFFLE], 8 * 3 * 3);
}

/* Bytes that lie eight apart: a machine that takes any bytes of two vectors loads as
 * many as one has, others as many as there are lanes. */
static void test_wide_loads(void **state)
{
	(void)state;
	Given g = given_text("tunec: 1\nname: eighths\ninputs: {x: 'u8[256, 8]'}\n"
			     "compute: |\n  y[n < 256] = x[n, 2]\n");
	for (int bytes = 0; bytes < 3; bytes++) {
		Machine machine = target->machine;
		machine.vector_bytes = 64;
		machine.permutes = bytes;
		Lowered *l = right_on(&machine, &g,
		    "n0, nv = split(y.n, [_, 16])\nvectorize(nv, 16)\n",
		    "eighths");
		LowRun run = run_of(&g, l);
		assert_int_equal(
		    run.op_count[LOW_LOAD], 16 * (bytes == 1 ? 2 : 8));
		assert_int_equal(
		    run.op_count[LOW_SHUFFLE], 16 * (bytes == 1 ? 1 : 7));
	}
}

/* An index that wraps around, is clamped or reflected at random: what lies
 * between is loaded in whole vectors. */
static void test_wrapped(void **state)
{
	enum { PROGRAMS = 100, LANES = 8 };
	static const char *const index[] = {"(i + %1$d) %% %2$d",
	    "(%3$d - i + %1$d) %% %2$d", "clamp(i - %1$d, 0, %2$d - 1)",
	    "max(i - %1$d, 0)", "min(i + %1$d, %2$d - 1)",
	    "min(abs(i - %1$d), %2$d - 1)"};
	Rng rng = rng_stream(16, 0, 0);
	(void)state;
	for (int i = 0; i < PROGRAMS; i++) {
		int n = 60 + (int)rng_below(&rng, 60);
		int by = (int)rng_below(&rng, 50);
		const char *at =
		    arena_printf(arena, index[i % 6], by, n, n - 1);
		Given g = given_text(arena_printf(arena,
		    "tunec: 1\nname: wrap\ninputs: {x: 'f32[%d]'}\n"
		    "compute: |\n  y[i < %d] = 2*x[%s]\n",
		    n, n, at));
		Lowered *l = right_by(&g,
		    i % 4 < 2 ? "i0, iv = split(y.i, [_, 8])\n"
				"vectorize(iv, 8)\ntail(y, peel)\n"
			      : "i0, iv = split(y.i, [_, 8])\n"
				"vectorize(iv, 8)\ntail(y, mask)\n",
		    arena_printf(arena, "x[%s] of %d", at, n));
		if (count_of(&g, l, LOW_GATHER) > 2)
			fail_msg("x[%s] of %d is gathered", at, n);
		assert_true(count_of(&g, l, LOW_LOAD) <= n / LANES + 20);
	}
}

/* --- stores past the caches ----------------------------------------------- */

static int64_t streamed(int64_t l3_bytes, int n)
{
	Machine machine = target->machine;
	Given g = given(program_map(arena, OP_ABS, DT_F32, n));
	machine.l3_bytes = l3_bytes;
	Lowered *l = right_on(&machine, &g,
	    "i0, i1, i2 = split(y.i, [_, 2, 8])\nunroll(i1)\n"
	    "vectorize(i2, 8)\n",
	    "what was streamed");
	return count_of(&g, l, LOW_STREAM);
}

/* Whole vectors of what fills more than half of the last cache. */
static void test_streamed(void **state)
{
	(void)state;
	assert_int_equal(streamed(4096, 1024), 1024 / 8);
	assert_int_equal(streamed(4096, 1024 + 5), 1024 / 8);
	assert_int_equal(streamed(1 << 20, 1024), 0);
	assert_int_equal(streamed(0, 1024), 0);
}

/* --- loads of what was just stored ---------------------------------------- */

/* Loads in each row of y and of z, which is made of y in vectors of so many lanes;
 * those of y are of 8, the last under a mask.  `steps`: where, and how many rows. */
static int64_t loads_of_row(const char *z, int lanes, const char *steps)
{
	enum { ROWS = 4, N = 21 };
	Given g = given_text(arena_printf(arena,
	    "tunec: 1\nname: two\ninputs: {x: 'f32[%d, %d]'}\n"
	    "compute: |\n  y[i < %d, j < %d] = 2*x[i, j]\n"
	    "  z[i < %d, j < %d] = %s\noutputs: [y, z]\n",
	    ROWS, N, ROWS, N, ROWS, N, z));
	Lowered *l = right_by(&g,
	    arena_printf(arena,
		"yu, yv = split(y.j, [_, 8])\nunroll(yu)\n"
		"vectorize(yv, 8)\ntail(y, mask)\n"
		"zu, zv = split(z.j, [_, %d])\nunroll(zu)\n"
		"vectorize(zv, %d)\ntail(z, mask)\n%s",
		lanes, lanes, steps),
	    z);
	LowRun run = run_of(&g, l);
	return (run.op_count[LOW_LOAD] + run.op_count[LOW_LOAD_MASKED]) / ROWS;
}

static void test_stored(void **state)
{
	static const char inside[] = "reverse_compute_at(z, y.i)\n";
	(void)state;
	assert_int_equal(loads_of_row("y[i, j]*y[i, j]", 8, inside), 3);
	assert_int_equal(loads_of_row("1/y[i, j]", 8, inside), 3);
	/* the next row begins where the lanes that are off lie */
	assert_int_equal(
	    loads_of_row("y[i, j]*y[i, j]", 8, "unroll(y.i)\nunroll(z.i)\n"),
	    3);
	/* what is far away by then, and of other lanes, is loaded */
	assert_int_equal(loads_of_row("y[i, j]*y[i, j]", 8, ""), 3 + 3);
	assert_int_equal(loads_of_row("y[i, j]*y[i, j]", 4, inside), 3 + 6);
}

/* Sums and differences with a product are one operation; not where the file's
 * operations are to be kept. */
static void test_fused(void **state)
{
	static const char *const bodies[] = {"a[i]*b[i] + c[i]",
	    "c[i] + a[i]*b[i]", "a[i]*b[i] - c[i]", "c[i] - a[i]*b[i]"};
	(void)state;
	for (int k = 0; k < 8; k++) {
		const char *body = bodies[k / 2];
		Given g = given(program_of_text(arena,
		    arena_printf(arena,
			"tunec: 1\nname: fused\n"
			"inputs: {a: 'f32[16]', b: 'f32[16]', c: 'f32[16]'}\n"
			"compute: |\n  y[i < 16] = %s\n",
			body),
		    k % 2 ? NUMERICS_EXACT : NUMERICS_DEFAULT));
		Lowered *l = right_by(&g, "vectorize(y.i, 16)\n", body);
		assert_int_equal(count_of(&g, l, LOW_FMA), k % 2 ? 0 : 1);
	}
}

/* 7 rows in tiles of 4, each the sum of 32 elements, 16 lanes at once: the tile
 * that is cut has lanes, too, since the cut is not along them. */
static void test_cut_rows(void **state)
{
	(void)state;
	Given g = given_text("tunec: 1\nname: rows\ninputs: {x: 'f32[7, 32]'}\n"
			     "compute: |\n  y[i < 7] = sum[j < 32](x[i, j])\n");
	Lowered *l = right_by(&g,
	    "i0, i1 = split(y.i, [_, 4])\nj0, j1 = split(y.j, [_, 16])\n"
	    "reorder(i0, j0, i1, j1)\nunroll(i1)\nvectorize(j1, 16)\n"
	    "tail(y, guard)\n",
	    "sums of rows");
	assert_true(count_of(&g, l, LOW_ADD) < 64);
}

/* Quotients that a program of rows computes, vectors of 16. */
static int64_t count_quotients(const char *body)
{
	Given g = given_text(arena_printf(arena,
	    "tunec: 1\nname: joined\n"
	    "inputs: {a: 'f32[2, 8, 32]', m: 'f32[4]'}\n"
	    "compute: |\n  y[c < 6, i < 8, j < 32] = %s\n",
	    body));
	Lowered *l = right_by(
	    &g, "j0, j1 = split(y.j, [_, 16])\nvectorize(j1, 16)\n", body);
	return count_of(&g, l, LOW_DIV);
}

/* What an arm needs of a channel is computed once for it, or where a row decides
 * between the arms once for the row. */
static void test_arms(void **state)
{
	(void)state;
	assert_int_equal(count_quotients("if c < 2 then a[c, i, j]*(m[c]/3)"
					 " else a[c%2, i, j]"),
	    2);
	assert_int_equal(
	    count_quotients("if c < 2 then a[c, i, j] else if c < 4 then "
			    "a[c - 2, i, j]*(m[c]/3) else "
			    "a[c - 4, i, j]*(m[c - 4]/3)"),
	    4);
	assert_int_equal(
	    count_quotients("if c + i < 3 then a[0, i, j]*(m[c%4]/3) "
			    "else a[c%2, i, j]"),
	    6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_zipped),
	    cmocka_unit_test(test_joined),
	    cmocka_unit_test(test_late),
	    cmocka_unit_test(test_fused_lanes),
	    cmocka_unit_test(test_tail_reads),
	    cmocka_unit_test(test_words),
	    cmocka_unit_test(test_rows_across),
	    cmocka_unit_test(test_apart),
	    cmocka_unit_test(test_tables),
	    cmocka_unit_test(test_colours),
	    cmocka_unit_test(test_wide_loads),
	    cmocka_unit_test(test_wrapped),
	    cmocka_unit_test(test_streamed),
	    cmocka_unit_test(test_stored),
	    cmocka_unit_test(test_fused),
	    cmocka_unit_test(test_cut_rows),
	    cmocka_unit_test(test_arms),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
