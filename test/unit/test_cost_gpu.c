/* What every engineer of GPU kernels knows, and what others have published, to what
 * the model of launches says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/gpu.h"
#include "schedule/plan/plan.h"
#include "test/common_program.h"
#include "test/common_schedule.h"

static Arena *arena;

static Machine machine_of(const char *arch)
{
	Machine m;
	gpu_machine(gpu_find(arch), &m);
	return m;
}

static Plan *plan_of(const Program *p, const Machine *m, const char *trace,
    int64_t **values)
{
	Error error = {0};
	Nest *nest = schedule_nest(
	    arena, p, m, schedule_steps(arena, trace), &error);
	if (!nest)
		fail_msg("%s", error.text);
	Plan *plan = plan_record(arena, nest, m);
	*values = NEW_N(arena, int64_t, tape_size(plan->tape));
	tape_eval(plan->tape, NULL, *values);
	return plan;
}

/* Its first launch. */
static LaunchCost cost_of(
    const Program *p, const Machine *m, const char *trace)
{
	int64_t *values;
	LaunchCost c;
	Plan *plan = plan_of(p, m, trace, &values);
	assert_true(launch_next(plan, m, values, 0, &c));
	return c;
}

static Program *product(int m, int n, int k)
{
	return program_of_text(arena, arena_printf(arena,
	    "tunec: 1\nname: product\ninputs:\n  a: f32[%d, %d]\n"
	    "  b: f32[%d, %d]\ncompute: |\n  c[i < %d, j < %d] = "
	    "sum[k < %d](a[i, k] * b[k, j])\n", m, k, k, n, m, n, k),
	    NUMERICS_DEFAULT);
}

/* y[i, j] = f(x[..]) of rows of n. */
static Program *map(int rows, int n, const char *element)
{
	return program_of_text(arena, arena_printf(arena,
	    "tunec: 1\nname: map\ninputs:\n  x: f32[%d, %d]\ncompute: |\n"
	    "  y[i < %d, j < %d] = %s\n", rows, n, rows, n, element),
	    NUMERICS_DEFAULT);
}

/* A thread for each element, those side by side along i or j. */
static const char *naive(char x, char y)
{
	return arena_printf(arena,
	    "i0, i1 = split(c.i, [_, 32])\nj0, j1 = split(c.j, [_, 32])\n"
	    "reorder(i0, j0, i1, j1)\n"
	    "bind(i0, blockIdx.y)\nbind(j0, blockIdx.x)\n"
	    "bind(i1, threadIdx.%c)\nbind(j1, threadIdx.%c)\n", y, x);
}

static const char *copy(const char *buffer, int y, int x)
{
	return arena_printf(arena,
	    "%ss = cache_read(c_acc, %s, shared)\ncompute_at(%ss, k0)\n"
	    "%sf = fuse(%ss.x0, %ss.x1)\n"
	    "%s0, %sy, %sx = split(%sf, [_, %d, %d])\n"
	    "bind(%sy, threadIdx.y)\nbind(%sx, threadIdx.x)\n",
	    buffer, buffer, buffer, buffer, buffer, buffer, buffer, buffer,
	    buffer, buffer, y, x, buffer, buffer);
}

/* Tiles of y*rows by x*columns, steps of k; operands by way of shared memory. */
static const char *tiled(int y, int x, int rows, int columns, int k)
{
	return arena_printf(arena,
	    "c_acc = cache_write(c, reg)\n"
	    "i0, it, ir = split(c.i, [_, %d, %d])\n"
	    "j0, jt, jr = split(c.j, [_, %d, %d])\n"
	    "reorder(i0, j0, it, jt, ir, jr)\n"
	    "bind(i0, blockIdx.y)\nbind(j0, blockIdx.x)\n"
	    "bind(it, threadIdx.y)\nbind(jt, threadIdx.x)\n"
	    "unroll(ir)\nunroll(jr)\ncompute_at(c_acc, j0)\n"
	    "ait, air = split(c_acc.i, [_, %d])\n"
	    "ajt, ajr = split(c_acc.j, [_, %d])\n"
	    "k0, k1 = split(c_acc.k, [_, %d])\n"
	    "reorder(k0, ait, ajt, k1, air, ajr)\n"
	    "bind(ait, threadIdx.y)\nbind(ajt, threadIdx.x)\n"
	    "unroll(k1)\nunroll(air)\nunroll(ajr)\n%s%s",
	    y, rows, x, columns, rows, columns, k, copy("a", y, x),
	    copy("b", y, x));
}

/* SGEMM_CUDA's kernels 1 to 5 and 9 for 4096^3 on an RTX A6000 take 445, 69.2, 46.1,
 * 16.2, 8.6 and 7.0 ms: 309 to 19,721 GFLOP/s. */
static void ladder(void **state)
{
	static const double measured_ms[] = {445, 69.2, 46.1, 16.2, 8.6};
	Machine m = machine_of("sm_86");
	const char *traces[] = {naive('y', 'x'), naive('x', 'y'),
	    tiled(32, 32, 1, 1, 32), tiled(8, 64, 8, 1, 8),
	    tiled(16, 16, 8, 8, 8)};
	double before = 1;
	(void)state;
	m.processors = 84;
	m.clock_ghz = 1.74;
	m.memory_gb_per_s = 768;
	for (int i = 0; i < 5; i++) {
		LaunchCost c = cost_of(product(4096, 4096, 4096), &m, traces[i]);
		double ms = c.seconds * 1e3;
		if (ms >= before * 1e3 || ms > 1.6 * measured_ms[i] ||
		    ms < measured_ms[i] / 1.6)
			fail_msg("kernel %d: %.1f ms, measured %.1f", i + 1, ms,
			    measured_ms[i]);
		before = c.seconds;
	}
}

/* Sectors of a warp: one operand is the same for all, the other 32 or 4. */
static void coalesced(void **state)
{
	Machine m = machine_of("sm_80");
	Program *p = product(1024, 1024, 1024);
	LaunchCost apart = cost_of(p, &m, naive('y', 'x'));
	LaunchCost beside = cost_of(p, &m, naive('x', 'y'));
	(void)state;
	assert_true(apart.sectors > 16 && apart.sectors < 17);
	assert_true(beside.sectors > 2.4 && beside.sectors < 2.6);
	assert_true(apart.seconds > 4 * beside.seconds);
	assert_true(apart.asked > 4 * beside.asked);
}

static double tiles_on(const Machine *m, int tiles)
{
	return cost_of(product(256, tiles * 128, 1024), m,
	    tiled(32, 16, 8, 8, 8)).seconds;
}

/* A block fills a processor: one more than there are of these takes as long as
 * twice as many. */
static void waves(void **state)
{
	Machine m = machine_of("sm_90");
	(void)state;
	double one = tiles_on(&m, 132), more = tiles_on(&m, 133);
	assert_true(cost_of(product(256, 128, 64), &m,
	    tiled(32, 16, 8, 8, 8)).resident == 1);
	assert_true(more > 1.8 * one && more < 2.1 * one);
	assert_true(tiles_on(&m, 264) < 1.05 * more);
	assert_true(tiles_on(&m, 131) > 0.99 * one);
}

/* A square through shared memory, written by rows and read by columns. */
static double transposing_turns(const char *more)
{
	Machine m = machine_of("sm_80");
	Program *p = map(32, 32, "x[j, i]");
	return cost_of(p, &m, arena_printf(arena,
	    "b, i = split(y.i, [_, 32])\nbind(b, blockIdx.x)\n"
	    "bind(i, threadIdx.y)\nbind(y.j, threadIdx.x)\n"
	    "s = cache_read(y, x, shared)\ncompute_at(s, b)\n"
	    "bind(s.x0, threadIdx.y)\nbind(s.x1, threadIdx.x)\n%s", more)).turns;
}

static void conflicts(void **state)
{
	(void)state;
	/* one turn to write, 32 to read; with a row of 33 one to read */
	assert_true(transposing_turns("") == (1 + 32) / 2.0);
	assert_true(transposing_turns("storage_align(s, 0, 32, 1)\n") == 1);
	/* words of 8 chunks in turn are in 8 banks */
	assert_true(transposing_turns("swizzle(s, 128)\n") == (1 + 4) / 2.0);
}

/* 64 KiB are too much, whatever it would cost. */
static void refused(void **state)
{
	Machine m = machine_of("sm_80");
	int64_t *values;
	Program *p = product(1024, 1024, 1024);
	Machine less = machine_of("sm_86"); /* 99 KiB, by asking */
	Plan *plan = plan_of(p, &m, tiled(32, 32, 2, 2, 256), &values);
	(void)state;
	assert_string_equal(plan_limits(plan, &less, values),
	    "a block shares too many bytes");
	assert_null(plan_limits(plan, &m, values)); /* 128 of 163 */
	plan = plan_of(p, &m, tiled(32, 32, 8, 8, 1), &values);
	assert_string_equal(plan_limits(plan, &m, values),
	    "the registers of a block's threads do not fit");
	plan = plan_of(p, &m, tiled(64, 32, 1, 1, 8), &values);
	assert_string_equal(
	    plan_limits(plan, &m, values), "a block has too many threads");
	plan = plan_of(p, &m, tiled(16, 16, 4, 4, 16), &values);
	assert_null(plan_limits(plan, &m, values));
}

/* Results of a block and of a thread that candidate 1 of a product has. */
static LaunchCost first_of(int m, int n, int k, const Machine *machine)
{
	Error error = {0};
	Candidate c;
	Program *p = product(m, n, k);
	Space *space = space_new(arena, p, machine, &error);
	if (!space || !space_first(space, 2000, &c))
		fail_msg("%s", error.text);
	Nest *nest = schedule_nest(
	    arena, p, machine, space_trace(arena, space, &c), &error);
	if (!nest)
		fail_msg("%s", error.text);
	Plan *plan = plan_record(arena, nest, machine);
	int64_t *values = NEW_N(arena, int64_t, tape_size(plan->tape));
	LaunchCost cost;
	tape_eval(plan->tape, NULL, values);
	assert_true(launch_next(plan, machine, values, 0, &cost));
	return cost;
}

static void chosen(void **state)
{
	Machine m = machine_of("sm_80");
	LaunchCost large = first_of(4096, 4096, 4096, &m);
	LaunchCost small = first_of(128, 128, 128, &m);
	(void)state;
	double tile = 4096. * 4096 / large.grid;
	assert_true(tile >= 64 * 64 && tile <= 256 * 256);
	assert_true(tile / large.threads >= 32 && tile / large.threads <= 128);
	assert_true(large.shared_bytes > 0 && large.spilled == 0);
	/* as many processors busy as there can be */
	assert_true(128. * 128 / small.grid <= 32 * 32);
	assert_true(small.grid >= 16);
	/* half of the peak, or more, and no more than that */
	double peak = 2. * m.processors * m.fma_per_cycle * m.clock_ghz * 1e9;
	double rate = 2. * 4096 * 4096 * 4096 / large.seconds / peak;
	assert_true(rate > 0.5 && rate < 1);
}

/* What is read once takes the memory's time where the second cache does not hold
 * it. */
static void streamed(void **state)
{
	Machine m = machine_of("sm_80");
	Program *p = map(8192, 8192, "x[i, j] + 1");
	(void)state;
	int64_t bytes = p->bytes;
	LaunchCost c = cost_of(p, &m,
	    "f = fuse(y.i, y.j)\ni0, i1 = split(f, [_, 256])\n"
	    "bind(i0, blockIdx.x)\nbind(i1, threadIdx.x)\n");
	double least = (double)bytes / m.memory_gb_per_s * 1e-9;
	assert_true(c.from_memory >= (double)bytes * 0.99);
	assert_true(c.from_memory <= (double)bytes * 1.01);
	assert_true(c.seconds > least && c.seconds < 1.6 * least);
}

/* What is fetched a step ahead is not waited for, with half of the barriers; a
 * block shares twice as much. */
static void ahead(void **state)
{
	Machine m = machine_of("sm_80");
	Program *p = product(1024, 1024, 1024);
	const char *trace = tiled(16, 16, 4, 4, 16);
	LaunchCost now = cost_of(p, &m, trace);
	LaunchCost early = cost_of(p, &m, arena_printf(arena,
	    "%sstages(as, 2)\nstages(bs, 2)\n", trace));
	(void)state;
	assert_true(now.ahead == 0 && early.ahead > 0);
	assert_true(early.waiting < 0.5 * now.waiting);
	assert_true(early.barriers == now.barriers / 2);
	assert_true(early.shared_bytes == 2 * now.shared_bytes);
	assert_true(early.seconds < now.seconds);
}

/* Rows of 1024 by so many threads each, a row a block. */
static LaunchCost row_sums(const Machine *m, int threads)
{
	Program *p = program_of_text(arena,
	    "tunec: 1\nname: rows\ninputs: {x: 'f32[4096, 1024]'}\ncompute: |\n"
	    "  y[i < 4096] = sum[j < 1024](x[i, j])\n", NUMERICS_DEFAULT);
	return cost_of(p, m, arena_printf(arena,
	    "acc = cache_write(y, reg)\nb, r, one = split(y.i, [_, 1, 1])\n"
	    "bind(b, blockIdx.x)\nbind(r, threadIdx.y)\n"
	    "bind(one, threadIdx.x)\ncompute_at(acc, b)\n"
	    "j0, j1 = split(acc.j, [_, %d])\nreorder(acc.i, j1, j0)\n"
	    "bind(acc.i, threadIdx.y)\nbind(j1, threadIdx.x)\n", threads));
}

/* One thread waits for each of its loads; a warp shares a row out without a
 * barrier, four of them with one. */
static void shared_out(void **state)
{
	Machine m = machine_of("sm_80");
	LaunchCost warp = row_sums(&m, 32), four = row_sums(&m, 128);
	(void)state;
	assert_true(warp.barriers == 0 && four.barriers == 1);
	assert_true(warp.sectors > 3.5 && warp.sectors <= 4);
	assert_true(four.waiting < warp.waiting);
	Program *p = program_of_text(arena,
	    "tunec: 1\nname: rows\ninputs: {x: 'f32[4096, 1024]'}\ncompute: |\n"
	    "  y[i < 4096] = sum[j < 1024](x[i, j])\n", NUMERICS_DEFAULT);
	LaunchCost alone = cost_of(p, &m, "i0, i1 = split(y.i, [_, 128])\n"
		"bind(i0, blockIdx.x)\nbind(i1, threadIdx.x)\n");
	assert_true(alone.sectors > 31);
	assert_true(alone.seconds > 3 * four.seconds);
}

/* Pieces of a fused loop are the digits of what was fused. */
static void digits(void **state)
{
	Machine m = machine_of("sm_80");
	int64_t *values;
	Plan *plan = plan_of(map(9, 64, "x[i, j] + 1"), &m,
	    "f = fuse(y.i, y.j)\nf0, f1 = split(f, [_, 16])\n"
	    "bind(f0, blockIdx.x)\nbind(f1, threadIdx.x)\n", &values);
	static const int64_t extents[] = {9, 4, 16}, steps[] = {64, 16, 1};
	const PlanStage *s = &plan->stages[0];
	LaunchCost c;
	(void)state;
	assert_int_equal(s->nloops, 3);
	for (int d = 0; d < 3; d++) {
		assert_int_equal(values[s->loops[d].extent], extents[d]);
		assert_int_equal(
		    access_step(&s->accesses[0], values, d), steps[d]);
	}
	assert_true(launch_next(plan, &m, values, 0, &c));
	assert_true(c.grid == 36 && c.threads == 16);
	/* where they do not divide, too */
	plan = plan_of(map(10, 9, "x[i, j] + 1"), &m,
	    "f = fuse(y.i, y.j)\nf0, f1 = split(f, [_, 15])\n"
	    "bind(f0, blockIdx.x)\nbind(f1, threadIdx.x)\n", &values);
	assert_true(launch_next(plan, &m, values, 0, &c));
	assert_true(c.grid == 6 && c.threads == 15);
}

static LaunchCost cost_of_trace(
    const Machine *m, const char *name, const char *trace, const char *but)
{
	Error error = {0};
	Diag diag = {0};
	ProgramVec programs = {0};
	Buf text = {0};
	char line[256];
	if (spec_load(arena, arena_printf(arena, "test/gpu/%s.yaml", name), NULL,
		0, NUMERICS_FAST, &diag, &error, &programs))
		fail_msg("%s", error.text);
	FILE *f =
	    fopen(arena_printf(arena, "test/gpu/%s.trace", trace), "r");
	assert_non_null(f);
	while (fgets(line, sizeof line, f))
		if (!but || !strstr(line, but))
			buf_puts(&text, line);
	fclose(f);
	LaunchCost cost = cost_of(programs.at[0], m, buf_text(&text));
	buf_free(&text);
	return cost;
}

static LaunchCost cost_of_file(
    const Machine *m, const char *name, const char *but)
{
	return cost_of_trace(m, name, name, but);
}

/* Products of a warp are the matrix unit's: of f16 at five times the rate of f32 at
 * least and less than the data sheet's, of bytes twice as fast; registers near
 * those that ptxas gives, 122 and 168. */
static void fragments(void **state)
{
	Machine m = machine_of("sm_80");
	LaunchCost f32 = cost_of_file(&m, "product_f32", NULL);
	LaunchCost f16 = cost_of_file(&m, "product_f16", NULL);
	LaunchCost i8 = cost_of_file(&m, "product_i8", NULL);
	double peak = 2. * m.processors * m.tensor_per_cycle * m.clock_ghz *
	    1e9;
	(void)state;
	assert_true(f16.seconds < f32.seconds / 5);
	assert_true(2. * 4096 * 4096 * 4096 / f16.seconds < peak);
	assert_true(i8.seconds < f16.seconds / 1.5);
	assert_true(f32.registers > 110 && f32.registers < 134);
	assert_true(f16.registers > 151 && f16.registers < 185);
	/* however b lies, 16 bytes a thread in four turns, as they are stored; of
	 * rows of 64 bytes every other one is in the same banks */
	LaunchCost rows = cost_of_file(&m, "product_f16_rows", NULL);
	assert_true(f16.turns == 4 && rows.turns == 4);
	assert_true(rows.seconds <= f16.seconds);
	assert_true(cost_of_file(
	    &m, "product_f16", "storage_align(a_s").turns > 5);
	LaunchCost tf32 = cost_of_file(&m, "product_tf32", NULL);
	assert_true(tf32.seconds < f32.seconds / 2.5);
	assert_true(tf32.seconds > f16.seconds * 1.5);
	m.tensor_per_cycle = 0; /* the loops are repeated */
	assert_true(cost_of_file(&m, "product_f16", NULL).seconds > f32.seconds / 2);
}

/* Those of warpgroups, of sm_90a, are nearer to the data sheet's rate. */
static void groups(void **state)
{
	Machine m = machine_of("sm_90a");
	LaunchCost warps = cost_of_file(&m, "product_f16", NULL);
	LaunchCost groups =
	    cost_of_trace(&m, "product_f16", "wgmma_f16_deep", NULL);
	double peak = 2. * m.processors * m.tensor_per_cycle * m.clock_ghz *
	    1e9;
	(void)state;
	assert_true(groups.seconds < warps.seconds);
	assert_true(2. * 4096 * 4096 * 4096 / groups.seconds < peak);
	assert_true(groups.registers > 78 && groups.registers < 120);
}

/* 64 blocks of 1024 results each, what they share filled ahead. */
static double blocks_of(int y, int x, int rows, int columns)
{
	Machine m = machine_of("sm_90");
	return cost_of(product(256, 256, 4096), &m, arena_printf(arena,
	    "%sstages(as, 4)\nstages(bs, 4)\n",
	    tiled(y, x, rows, columns, 16))).seconds;
}

/* A warp has a part of its processor: four do the same work much faster. */
static void few_warps(void **state)
{
	(void)state;
	double one = blocks_of(4, 8, 8, 4), four = blocks_of(8, 16, 4, 2);
	assert_true(one > 2 * four && one < 4 * four);
}

/* y[i] = sum of a window of x, whose border is made of zeros, by way of shared memory:
 * a block of 32 by so many threads. */
static LaunchCost windows(const Machine *m, int threads, int limit)
{
	Program *p = program_of_text(arena,
	    "tunec: 1\nname: windows\ninputs: {x: 'f32[64, 64, 64]'}\n"
	    "compute: |\n"
	    "  p[c < 64, i < 66, j < 66] = if 1 <= i and i < 65 and 1 <= j and "
	    "j < 65 then x[c, i - 1, j - 1] else 0.0\n"
	    "  y[c < 64, i < 64, j < 64] = sum[u < 3, v < 3](p[c, i + u, j + v])"
	    "\n", NUMERICS_DEFAULT);
	return cost_of(p, m, arena_printf(arena,
	    "i0, i1 = split(y.i, [_, 16])\nj0, j1 = split(y.j, [_, 32])\n"
	    "reorder(y.c, i0, j0, i1, j1)\nb = fuse(y.c, i0, j0)\n"
	    "bind(b, blockIdx.x)\nbind(j1, threadIdx.x)\n"
	    "set_scope(p, shared)\ncompute_at(p, b)\n"
	    "f = fuse(p.c, p.i, p.j)\nf0, f1 = split(f, [_, %d])\n"
	    "unroll(f0, %d)\nbind(f1, threadIdx.x)\n", threads, limit));
}

/* Elements that a condition keeps apart are waited for one by one, in one body
 * together; where 32 threads share out rows of 34, each divides for its places. */
static void apart(void **state)
{
	Machine m = machine_of("sm_90");
	LaunchCost loop = windows(&m, 32, 8), body = windows(&m, 32, 64);
	LaunchCost rows = windows(&m, 34, 8);
	(void)state;
	assert_true(loop.waiting > 2 * body.waiting);
	assert_true(loop.issue > 1.5 * body.issue);
	assert_true(loop.issue > 1.5 * rows.issue / 2); /* of two warps */
	assert_true(loop.seconds > body.seconds);
}

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

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(ladder),
	    cmocka_unit_test(coalesced),
	    cmocka_unit_test(waves),
	    cmocka_unit_test(conflicts),
	    cmocka_unit_test(refused),
	    cmocka_unit_test(chosen),
	    cmocka_unit_test(streamed),
	    cmocka_unit_test(ahead),
	    cmocka_unit_test(shared_out),
	    cmocka_unit_test(digits),
	    cmocka_unit_test(fragments),
	    cmocka_unit_test(groups),
	    cmocka_unit_test(few_warps),
	    cmocka_unit_test(apart),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
