/* What the analytic model says of lines that come from the last cache, of rows
 * that share sets of the first, of threads that have less to do than others, of
 * lanes that lie apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "schedule/plan/plan.h"
#include "test/common_program.h"
#include "test/common_schedule.h"

static int vector_bytes = 64;

/* What a program's heaviest stage costs; *seconds, if asked for: all. */
static StageCost cost_and_seconds(Arena *arena, const Program *p, int threads,
    const char *schedule, double *seconds)
{
	Error error = {0};
	Machine m = test_machine;
	m.line_bytes = 64;
	m.vector_bytes = vector_bytes;
	m.l1_bytes = 32 << 10;
	m.l1_ways = 8;
	m.l2_bytes = 1 << 20;
	m.l3_bytes = 1 << 26;
	m.threads = threads;
	Nest *nest = schedule_nest(
	    arena, p, &m, schedule_steps(arena, schedule), &error);
	if (!nest)
		fail_msg("%s", error.text);
	Plan *plan = plan_record(arena, nest, &m);
	int64_t *values = NEW_N(arena, int64_t, tape_size(nest->tape));
	tape_eval(nest->tape, NULL, values);
	StageCost cost;
	stage_cost(&plan->stages[plan->anchor], &m, values, &cost);
	if (seconds)
		*seconds = plan_seconds(plan, &m, values);
	return cost;
}

static StageCost cost_under(
    Arena *arena, const Program *p, int threads, const char *schedule)
{
	return cost_and_seconds(arena, p, threads, schedule, NULL);
}

/* Of a product of m x k and k x n. */
static StageCost cost_of(
    int rows, int columns, int steps, int threads, const char *schedule)
{
	Arena *arena = arena_new();
	StageCost cost = cost_under(arena,
	    program_matmul(arena, rows, columns, steps), threads, schedule);
	arena_free(arena);
	return cost;
}

/* Bytes from the last cache for a row times a matrix of 512 rows and `columns`,
 * `tile` columns at once. */
static double brought(int columns, int tile)
{
	char schedule[256];
	snprintf(schedule, sizeof schedule,
	    "j0, j1, j2 = split(c.j, [_, %d, 16])\n"
	    "reorder(j0, c.k, j1, j2)\nunroll(j1)\nvectorize(j2, 16)\n",
	    tile / 16);
	return cost_of(1, columns, 512, 1, schedule).traffic[1];
}

/* One line of each of 512 rows takes twice the time of two; where rows begin
 * anywhere it is two, too. */
static void lone_lines(void **state)
{
	(void)state;
	double pairs = brought(1024, 32), lone = brought(1024, 16);
	assert_true(pairs > 512 * 1024 * 4);
	assert_true(lone > 1.9 * pairs && lone < 2.1 * pairs);
	assert_true(brought(1040, 16) > 1.9 * brought(1040, 32));
	assert_true(brought(1036, 16) < 1.1 * brought(1036, 32));
}

/* Loads of a tile of `rows` rows of `steps` elements that push each other out. */
static double pushed_out(int rows, int steps)
{
	char schedule[256];
	snprintf(schedule, sizeof schedule,
	    "i0, i1 = split(c.i, [_, %d])\nj0, j1 = split(c.j, [_, 16])\n"
	    "reorder(i0, j0, c.k, i1, j1)\nunroll(i1)\nvectorize(j1, 16)\n",
	    rows);
	return cost_of(1024, 64, steps, 1, schedule).conflicts;
}

/* 32 KiB by eight ways: rows of 4 KiB share one set, of 6 KiB two, of 5 KiB
 * four. */
static void rows_in_few_sets(void **state)
{
	(void)state;
	assert_true(pushed_out(8, 1024) == 0);
	assert_true(pushed_out(9, 1024) == 9);
	assert_true(pushed_out(16, 1536) == 0);
	assert_true(pushed_out(24, 1536) == 24);
	assert_true(pushed_out(24, 1280) == 0);
	assert_true(pushed_out(24, 1537) == 0);
}

/* How much longer the slowest of `threads` takes than all share equally, where
 * each iteration of the parallel loops has so many rows and columns of 7 x 128. */
static double imbalance(int rows, int columns, int threads)
{
	char schedule[256];
	snprintf(schedule, sizeof schedule,
	    "i0, i1 = split(c.i, [_, %d])\nj0, j1 = split(c.j, [_, %d])\n"
	    "reorder(i0, j0, i1, j1, c.k)\np = fuse(i0, j0)\nparallel(p)\n",
	    rows, columns);
	return cost_of(7, 128, 64, threads, schedule).imbalance;
}

static void last_tiles_are_smaller(void **state)
{
	(void)state;
	const double most = 1e-9;
	assert_float_equal(imbalance(1, 128, 1), 1, most);
	assert_float_equal(imbalance(6, 128, 1), 1, most);
	assert_float_equal(imbalance(7, 128, 2), 2, most);
	assert_float_equal(imbalance(7, 64, 2), 1, most);
	assert_float_equal(imbalance(7, 80, 2), 1.25, most);
	assert_float_equal(imbalance(6, 128, 2), 12. / 7, most);
	assert_float_equal(imbalance(4, 128, 2), 8. / 7, most);
	assert_float_equal(imbalance(3, 128, 2), 8. / 7, most);
	assert_float_equal(imbalance(2, 128, 4), 8. / 7, most);
	assert_float_equal(imbalance(3, 128, 16), 48. / 7, most);
	/* each thread has narrow tiles as well as wide ones */
	assert_float_equal(imbalance(1, 80, 7), 1, most);
}

/* Of an operator's text. */
static StageCost cost_of_text(
    const char *inputs, const char *compute, const char *schedule)
{
	Arena *arena = arena_new();
	const char *text = arena_printf(arena,
	    "tunec: 1\nname: p\ninputs: {%s}\ncompute: |\n  %s\n"
	    "outputs: [y]\n",
	    inputs, compute);
	StageCost cost = cost_under(
	    arena, program_of_text(arena, text, NUMERICS_DEFAULT), 1, schedule);
	arena_free(arena);
	return cost;
}

/* Stores for each 16 by 16 elements, lanes along `columns` that lie apart. */
static double stores_apart(int columns, const char *tail)
{
	char input[64], compute[64], schedule[256];
	snprintf(input, sizeof input, "x: 'f32[16, %d]'", columns);
	snprintf(
	    compute, sizeof compute, "y[j < %d, i < 16] = x[i, j]", columns);
	snprintf(schedule, sizeof schedule,
	    "j0, j1 = split(y.j, [_, 16])\nreorder(j0, y.i, j1)\n"
	    "unroll(y.i)\nvectorize(j1, 16)\ntail(y, %s)\n",
	    tail);
	return cost_of_text(input, compute, schedule).stores;
}

/* Vectors are transposed and stored whole, but those that have a mask. */
static void masked_lanes_are_scattered(void **state)
{
	(void)state;
	const double most = 1e-9, scattered = 16 * 16;
	double whole = stores_apart(16, "peel");
	assert_true(whole < scattered / 4);
	assert_float_equal(stores_apart(32, "mask"), whole, most);
	assert_float_equal(stores_apart(12, "mask"), scattered, most);
	assert_float_equal(stores_apart(12, "peel"), scattered, most);
	assert_float_equal(stores_apart(24, "mask"), scattered, most);
	assert_float_equal(
	    stores_apart(24, "peel"), (whole + scattered) / 2, most);
}

/* What moves with rows only is computed before each row's vectors, but it is. */
static void work_of_rows(void **state)
{
	(void)state;
	const char *inputs = "x: 'f32[16, 128]', s: 'f32[16]'";
	const char *rows = "j0, j1 = split(y.j, [_, 16])\nvectorize(j1, 16)\n";
	double plain =
	    cost_of_text(inputs, "y[i < 16, j < 128] = x[i, j]*s[i]", rows)
		.cycles;
	double dear = cost_of_text(
	    inputs, "y[i < 16, j < 128] = x[i, j]*sigmoid(s[i])", rows)
			  .cycles;
	double all = cost_of_text(
	    inputs, "y[i < 16, j < 128] = sigmoid(x[i, j])*s[i]", rows)
			 .cycles;
	assert_true(dear > plain + 16 * 5);
	assert_true(all > plain + 4 * (dear - plain));
}

/* Operations of a step of four rows by a vector. */
static double tile_operations(const char *product)
{
	char compute[128];
	snprintf(compute, sizeof compute, "y[i < 64, j < 64] = sum[k < 64](%s)",
	    product);
	return cost_of_text("a: 'f32[64, 64]', b: 'f32[64, 64]'", compute,
	    "i0, i1 = split(y.i, [_, 4])\nj0, j1 = split(y.j, [_, 16])\n"
	    "reorder(i0, j0, y.k, i1, j1)\nunroll(i1)\nvectorize(j1, 16)\n")
	    .operations;
}

/* A load fills all lanes, what is computed is brought to them. */
static void computed_for_all_lanes(void **state)
{
	(void)state;
	double plain = tile_operations("a[i, k]*b[k, j]");
	assert_float_equal(
	    tile_operations("a[i, k]*(b[k, j] + 1)"), plain + 1, 1e-9);
	assert_float_equal(
	    tile_operations("(a[i, k] + 1)*b[k, j]"), plain + 4 + 4, 1e-9);
}

/* Gathers of every other element, in tiles of 32 of 60 elements. */
static double gathered(const char *outer, const char *inner)
{
	char schedule[256];
	snprintf(schedule, sizeof schedule,
	    "j0, j1, j2 = split(y.j, [_, 2, 16])\nunroll(j1)\n"
	    "vectorize(j2, 16)\ntail(y, %s)\nset_scope(u, reg)\n"
	    "compute_at(u, j0)\nu0, u1 = split(u.j, [_, 16])\nunroll(u0)\n"
	    "unroll(u.k)\nreorder(u.k, u0, u1)\nvectorize(u1, 16)\n"
	    "tail(u, %s)\n",
	    outer, inner);
	return cost_of_text("x: 'f32[122]'",
	    "u[j < 60] = sum[k < 4](x[2*j + k])\n"
	    "  y[j < 60] = 0.25*u[j]",
	    schedule)
	    .gathers;
}

/* Where the tiles are of another stage's loop, which does not tell the last one. */
static void gathered_under_a_mask(void **state)
{
	(void)state;
	assert_float_equal(gathered("peel", "peel"), 0, 1e-9);
	assert_float_equal(gathered("peel", "mask"), 0, 1e-9);
	double last = gathered("mask", "peel");
	assert_true(last > 0);
	assert_float_equal(gathered("mask", "mask"), 2 * last, 1e-9);
}

/* A loop that another one around it cuts shorter is not split, peeled or not. */
static void gathered_in_a_loop_cut_short(void **state)
{
	(void)state;
	double gathers = cost_of_text("x: 'f32[122]'",
	    "u[j < 60] = sum[k < 4](x[2*j + k])\n"
	    "  y[j < 60] = 0.25*u[j]",
	    "j0, j1, j2 = split(y.j, [_, 2, 16])\nvectorize(j2, 16)\n"
	    "tail(y, peel)\nset_scope(u, reg)\ncompute_at(u, j1)\n"
	    "u0, u1 = split(u.j, [_, 16])\nunroll(u0)\n"
	    "unroll(u.k)\nreorder(u.k, u0, u1)\nvectorize(u1, 16)\n"
	    "tail(u, mask)\n")
			     .gathers;
	assert_true(gathers > 0);
}

/* Cycles that stores wait: tiles of rows by vectors. */
static double torn(int all, int columns, int rows, int vectors)
{
	char input[64], compute[64], schedule[256];
	snprintf(input, sizeof input, "x: 'f32[%d, %d]'", all, columns);
	snprintf(compute, sizeof compute, "y[i < %d, j < %d] = 2*x[i, j]", all,
	    columns);
	snprintf(schedule, sizeof schedule,
	    "i0, i1 = split(y.i, [_, %d])\nj0, j1, j2 = split(y.j, [_, %d, 16])\n"
	    "reorder(i0, j0, i1, j1, j2)\nunroll(i1)\nunroll(j1)\n"
	    "vectorize(j2, 16)\ntail(y, mask)\n",
	    rows, vectors);
	StageCost c = cost_of_text(input, compute, schedule);
	return c.torn * c.body_runs;
}

/* Rows in turn, of which each ends inside of a line until its next vectors follow. */
static void lines_torn_between_rows(void **state)
{
	(void)state;
	double each = torn(64, 600, 4, 1);
	assert_true(each > 64 * 600 / 16 * 3);
	assert_float_equal(torn(64, 600, 4, 2), each / 2, each / 30);
	assert_float_equal(torn(64, 600, 2, 1), each, 1e-9);
	assert_float_equal(torn(64, 600, 1, 1), 0, 1e-9); /* one row goes on */
	assert_float_equal(torn(64, 640, 4, 1), 0, 1e-9); /* whole lines */
	assert_float_equal(torn(4, 600, 4, 1), 0, 1e-9);  /* all stay near */
}

/* Seconds of a product by tiles of registers, of so many columns and steps. */
static double stored_tiles(int columns, int steps)
{
	Arena *arena = arena_new();
	double seconds;
	cost_and_seconds(arena, program_matmul(arena, 256, columns, steps), 1,
	    "acc = cache_write(c, reg)\ni0, i1 = split(c.i, [_, 8])\n"
	    "j0, j1 = split(c.j, [_, 16])\nreorder(i0, j0, i1, j1)\n"
	    "unroll(i1)\nvectorize(j1, 16)\ntail(c, mask)\n"
	    "compute_at(acc, j0)\na0, a1 = split(acc.j, [_, 16])\n"
	    "reorder(acc.k, acc.i, a0, a1)\nunroll(acc.i)\nunroll(a0)\n"
	    "vectorize(a1, 16)\n",
	    &seconds);
	arena_free(arena);
	return seconds;
}

/* Torn lines of a tile wait while the next one is computed, if that takes long. */
static void stores_hidden_by_tiles(void **state)
{
	(void)state;
	assert_true(stored_tiles(600, 2) > 1.2 * stored_tiles(592, 2));
	assert_true(stored_tiles(600, 128) < 1.03 * stored_tiles(592, 128));
}

/* Rows of less than a line go on where the last one ended. */
static void short_rows_are_not_torn(void **state)
{
	(void)state;
	const char *schedule =
	    "i0, i1 = split(y.i, [_, 4])\nj0, j1 = split(y.j, [_, 16])\n"
	    "reorder(i0, j0, i1, j1)\nunroll(i1)\nvectorize(j1, 16)\n"
	    "tail(y, mask)\n";
	assert_float_equal(cost_of_text("x: 'u8[4096, 40]'",
			       "y[i < 4096, j < 40] = x[i, j]", schedule)
			       .torn,
	    0, 1e-9);
	assert_true(cost_of_text("x: 'u8[4096, 104]'",
			"y[i < 4096, j < 104] = x[i, j]", schedule)
			.torn > 0);
}

/* Without masks for lanes a store of a part of a vector takes more operations. */
static void stores_by_masks(void **state)
{
	(void)state;
	double operations[2];
	for (int i = 0; i < 2; i++) {
		vector_bytes = i ? 32 : 64;
		operations[i] = cost_of_text("x: 'f32[64, 100]'",
		    "y[i < 64, j < 100] = 2*x[i, j]",
		    "j0, j1 = split(y.j, [_, 8])\nvectorize(j1, 8)\n"
		    "tail(y, mask)\n")
				    .operations;
	}
	vector_bytes = 64;
	assert_float_equal(operations[1], operations[0] + 2, 1e-9);
}

/* Bytes from the last cache for columns of 1,024 rows, so many at once. */
static double columns_brought(int columns)
{
	char schedule[256];
	snprintf(schedule, sizeof schedule,
	    "i0, i1 = split(y.i, [_, %d])\nj0, j1 = split(y.j, [_, 16])\n"
	    "reorder(i0, j0, i1, j1)\nunroll(i1)\nvectorize(j1, 16)\n",
	    columns);
	return cost_of_text(
	    "x: 'f32[1024, 1024]'", "y[i < 1024, j < 1024] = x[j, i]", schedule)
	    .traffic[1];
}

/* What is read alone brings its line each time, where none stays until the next. */
static void columns_bring_lines(void **state)
{
	(void)state;
	assert_true(columns_brought(1) > 4 * columns_brought(8));
}

/* Loads and operations of rows of a stencil by one vector. */
static StageCost stencil(int rows, const char *inputs, const char *sum)
{
	char compute[128], schedule[128];
	snprintf(compute, sizeof compute, "y[i < 64, j < 256] = %s", sum);
	snprintf(schedule, sizeof schedule,
	    "i0, i1 = split(y.i, [_, %d])\nj0, j1 = split(y.j, [_, 16])\n"
	    "reorder(i0, j0, i1, j1)\nunroll(i1)\nvectorize(j1, 16)\n",
	    rows);
	return cost_of_text(inputs, compute, schedule);
}

/* What rows of a body read, and make wider, they share. */
static void rows_share_reads(void **state)
{
	(void)state;
	const char *plain = "x[i, j] + x[i + 1, j] + x[i + 2, j]";
	const char *wider =
	    "i32(x[i, j]) + i32(x[i + 1, j]) + i32(x[i + 2, j])";
	StageCost one = stencil(1, "x: 'f32[66, 256]'", plain);
	StageCost four = stencil(4, "x: 'f32[66, 256]'", plain);
	assert_float_equal(one.loads, 3, 1e-9);
	assert_float_equal(four.loads, 6, 1e-9);
	assert_float_equal(four.operations, 4 * one.operations, 1e-9);
	StageCost words = stencil(4, "x: 'i32[66, 256]'", plain);
	StageCost bytes = stencil(4, "x: 'u8[66, 256]'", wider);
	assert_float_equal(bytes.operations, words.operations + 6, 1e-9);
}

/* Rows that fill no vectors as one: neighbours wherever a row ends. */
static void collapsed_rows(void **state)
{
	(void)state;
	StageCost c =
	    cost_of_text("x: 'f32[36, 18]'", "y[i < 36, j < 18] = exp(x[i, j])",
		"collapse(y, 0)\nj0, j1 = split(y.j, [_, 16])\n"
		"vectorize(j1, 16)\ntail(y, mask)\n");
	assert_float_equal(c.gathers, 0, 1e-9);
	assert_float_equal(c.loads, 1, 1e-9);
	assert_float_equal(c.stores, 1, 1e-9);
}

/* Which of a few neighbours lanes read is told by loops that move them, not by
 * those of another dimension. */
static void lanes_of_an_enlarged_image(void **state)
{
	(void)state;
	const char *lanes = "j0, j1 = split(y.j, [_, 16])\nvectorize(j1, 16)\n";
	double rows = cost_of_text(
	    "x: 'f32[8, 16]'", "y[i < 16, j < 32] = x[i//2, j//2]", lanes)
			  .gathers;
	double diagonals = cost_of_text(
	    "x: 'f32[32]'", "y[i < 16, j < 32] = x[(i + j)//2]", lanes)
			       .gathers;
	assert_float_equal(rows, 0, 1e-9);
	assert_float_equal(diagonals, 16, 1e-9);
}

/* Of a few elements side by side, however many reads name them, each is brought to
 * its lanes once. */
static void neighbours_named_twice(void **state)
{
	(void)state;
	const char *inputs = "x: 'f32[64, 3]'";
	const char *points = "n0, n1 = split(y.n, [_, 8])\n"
		"reorder(n0, y.c, n1)\nunroll(y.c)\nvectorize(n1, 8)\n";
	StageCost one = cost_of_text(inputs,
	    "y[n < 64, c < 3] = 2*x[n, c]", points);
	StageCost two = cost_of_text(inputs,
	    "y[n < 64, c < 3] = x[n, (c + 1) % 3] + x[n, (c + 2) % 3]", points);
	assert_float_equal(two.loads, one.loads, 1e-9);
	assert_float_equal(two.operations, one.operations, 1e-9);
}

/* Loads of four rows by four steps of a sum. */
static double loads_of_window(const char *row)
{
	char compute[128];
	snprintf(compute, sizeof compute,
	    "y[i < 32, j < 64] = sum[k < 4](x[%s, j])", row);
	return cost_of_text("x: 'f32[128, 64]', e: 'i32[32, 4]'", compute,
	    "i0, i1 = split(y.i, [_, 4])\nj0, j1 = split(y.j, [_, 16])\n"
	    "reorder(i0, j0, y.k, i1, j1)\nunroll(i1)\nunroll(y.k)\n"
	    "vectorize(j1, 16)\n")
	    .loads;
}

/* What the steps of a window read again in the next row is loaded once. */
static void rows_of_a_window(void **state)
{
	(void)state;
	assert_float_equal(loads_of_window("i + 4*k"), 16, 1e-9);
	assert_float_equal(loads_of_window("i + k"), 7, 1e-9);
	assert_float_equal(loads_of_window("2*i + k"), 10, 1e-9);
	double anywhere = loads_of_window("clamp(e[i, k], 0, 127)");
	assert_true(anywhere >= 16);
}

/* What masking the end of a row of such elements adds, with vectors so long. */
static double ending(const char *type, int bytes)
{
	char input[32];
	const char *steps = "j0, j1 = split(y.j, [_, 16])\n"
			    "vectorize(j1, 16)\ntail(y, mask)\n";
	snprintf(input, sizeof input, "x: '%s[8, 73]'", type);
	vector_bytes = bytes;
	double all = cost_of_text(
	    input, "y[i < 8, j < 73] = max(x[i, j], x[7 - i, j])", steps)
			 .operations;
	vector_bytes = 64;
	return all;
}

/* Without masks of bytes each lane that is stored under one is tested. */
static void bytes_without_masks(void **state)
{
	(void)state;
	assert_float_equal(ending("u8", 64), ending("f32", 64), 1e-9);
	assert_true(ending("u8", 32) > ending("u8", 64) + 30);
	assert_true(ending("f32", 32) < ending("f32", 64) + 30);
}

/* Lanes that are clamped lie anywhere in a reduction, whose loops are not cut. */
static void clamped_window(void **state)
{
	(void)state;
	const char *steps = "j0, j1 = split(y.j, [_, 16])\n"
			    "reorder(y.i, j0, y.k, j1)\nvectorize(j1, 16)\n";
	StageCost plain = cost_of_text("x: 'f32[8, 68]'",
	    "y[i < 8, j < 64] = sum[k < 4](x[i, j + k])", steps);
	StageCost clamped = cost_of_text("x: 'f32[8, 64]'",
	    "y[i < 8, j < 64] = sum[k < 4](x[i, clamp(j + k - 2, 0, 63)])",
	    steps);
	assert_true(plain.loads < 2);
	assert_float_equal(clamped.loads, 16, 1e-9);
}

/* With its border a row of 16 is one of 18, which begins before it. */
static void vectors_of_a_bordered_row(void **state)
{
	(void)state;
	StageCost cost = cost_of_text("x: 'f32[16, 16]'",
	    "u[i < 16, j < 16] = exp(exp(x[i, j]))\n"
	    "  y[i < 16, j < 18] = if 1 <= j < 17 then u[i, j - 1] else 0",
	    "compute_at(u, y.i)\nj0, j1 = split(u.j, [_, 16])\n"
	    "vectorize(j1, 16)\n");
	assert_float_equal(cost.body_runs, 32, 1e-9);
}

/* Also inside of a loop that would move it, but runs once. */
static void bordered_row_of_one_tile(void **state)
{
	(void)state;
	StageCost cost = cost_of_text("x: 'f32[16, 16]'",
	    "u[i < 16, j < 16] = exp(exp(x[i, j]))\n"
	    "  y[i < 16, j < 18] = if 1 <= j < 17 then u[i, j - 1] else 0",
	    "t0, t1 = split(y.j, [_, 18])\ncompute_at(u, t0)\n"
	    "j0, j1 = split(u.j, [_, 16])\nvectorize(j1, 16)\n");
	assert_float_equal(cost.body_runs, 32, 1e-9);
}

/* Where a reader asks for elements that there are, half of its tiles of channels
 * make these, whole. */
static void tiles_of_a_concatenation(void **state)
{
	(void)state;
	StageCost cost = cost_of_text("x: 'f32[8, 16]'",
	    "u[c < 8, j < 16] = exp(exp(x[c, j]))\n"
	    "  y[c < 16, j < 16] = if c < 8 then u[c, j] else x[c - 8, j]",
	    "c0, c1 = split(y.c, [_, 4])\ncompute_at(u, c0)\n"
	    "j0, j1 = split(u.j, [_, 16])\nvectorize(j1, 16)\n");
	assert_float_equal(cost.body_runs, 8, 1e-9);
}

/* Cycles that a convolution waits for windows in two lines: `inner` channels in code. */
static double split(const char *x, const char *index, int inner)
{
	char input[64], compute[160], schedule[640];
	snprintf(input, sizeof input, "x: '%s', w: 'f32[64, 3, 3]'", x);
	snprintf(compute, sizeof compute,
	    "y[i < 32, j < 48] = sum[c < 64, r < 3, s < 3](%s*w[c, r, s])",
	    index);
	snprintf(schedule, sizeof schedule,
	    "acc = cache_write(y, reg)\n"
	    "i0, i1 = split(y.i, [_, 2])\nj0, j1 = split(y.j, [_, 16])\n"
	    "reorder(j0, i0, i1, j1)\nunroll(i1)\nvectorize(j1, 16)\n"
	    "compute_at(acc, i0)\na0, a1 = split(acc.j, [_, 16])\n"
	    "c0, c1 = split(acc.c, [_, %d])\n"
	    "reorder(c0, acc.r, acc.s, c1, acc.i, a0, a1)\n"
	    "unroll(acc.r)\nunroll(acc.s)\nunroll(c1)\nunroll(acc.i)\n"
	    "unroll(a0)\nvectorize(a1, 16)\n",
	    inner);
	return cost_of_text(input, compute, schedule).split;
}

/* Rows of each channel come from the second cache, and half of them end in another
 * line than they begin: those that are asked for are not waited for, if they are few
 * enough to be. */
static void windows_in_two_lines(void **state)
{
	(void)state;
	const char *rows = "x[c, i + r, j + s]";
	assert_true(split("f32[64, 56, 56]", rows, 8) > 64 * 32 * 3);
	assert_float_equal(split("f32[64, 56, 56]", rows, 1), 0, 1e-9);
	/* whole lines, or all of it in the first cache */
	assert_float_equal(
	    split("f32[64, 56, 64]", "x[c, i + r, j]*(s + 1.0)", 8), 0, 1e-9);
	assert_float_equal(
	    split("f32[1, 56, 56]", "x[0*c, i + r, j + s]", 8), 0, 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(lone_lines),
	    cmocka_unit_test(rows_in_few_sets),
	    cmocka_unit_test(last_tiles_are_smaller),
	    cmocka_unit_test(masked_lanes_are_scattered),
	    cmocka_unit_test(work_of_rows),
	    cmocka_unit_test(computed_for_all_lanes),
	    cmocka_unit_test(gathered_under_a_mask),
	    cmocka_unit_test(gathered_in_a_loop_cut_short),
	    cmocka_unit_test(lines_torn_between_rows),
	    cmocka_unit_test(stores_hidden_by_tiles),
	    cmocka_unit_test(short_rows_are_not_torn),
	    cmocka_unit_test(stores_by_masks),
	    cmocka_unit_test(columns_bring_lines),
	    cmocka_unit_test(rows_share_reads),
	    cmocka_unit_test(collapsed_rows),
	    cmocka_unit_test(lanes_of_an_enlarged_image),
	    cmocka_unit_test(neighbours_named_twice),
	    cmocka_unit_test(rows_of_a_window),
	    cmocka_unit_test(clamped_window),
	    cmocka_unit_test(bytes_without_masks),
	    cmocka_unit_test(vectors_of_a_bordered_row),
	    cmocka_unit_test(bordered_row_of_one_tile),
	    cmocka_unit_test(tiles_of_a_concatenation),
	    cmocka_unit_test(windows_in_two_lines),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
