/* The interpreter of the lowered form: what it refuses, what it counts, and a
 * GPU's matrix product with planted mistakes.  test_llvm.c has every operation.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ir/scalar.h"
#include "test/common_lowered.h"

static Arena *arena;

static int new_temp(LowFunction *f, DType type, int lanes)
{
	return low_temp(arena, f, type, lanes, "t");
}

static LowNode *memory(LowBody *body, LowOpcode op, int dst, int a, int buffer,
    LowAffine address)
{
	LowNode *n = low_op(arena, body, op, dst, a, -1, -1);
	n->buffer = buffer;
	n->address = address;
	return n;
}

static LowAffine plus(LowAffine a, int temp, int64_t coefficient)
{
	return low_affine_add(
	    arena, a, lowtest_at(arena, temp, coefficient, 0), 1);
}

static void fails(const LowFunction *f, void *const *args, LowRun run,
    const char *words)
{
	if (low_function_run(f, args, &run))
		fail_msg("ran, instead of: %s", words);
	if (!strstr(run.message, words))
		fail_msg("'%s', not '%s'", run.message, words);
}

static void runs(const LowFunction *f, void *const *args, LowRun *run)
{
	char why[256];
	if (!low_function_verify(f, why, sizeof why))
		fail_msg("verify: %s", why);
	if (!low_function_run(f, args, run))
		fail_msg("%s", run->message);
}

/* out[8*i + 0..3] = in[...] + in[...], i < 4 */
static LowFunction *vector_sum(int64_t elements)
{
	LowFunction *f = lowtest_function(arena, "sum");
	lowtest_buffer(arena, f, "in", DT_F32, elements, false);
	lowtest_buffer(arena, f, "out", DT_F32, 32, true);
	LowNode *i = lowtest_loop(arena, f, &f->body, LOOP_SERIAL, 4, "i");
	int x = new_temp(f, DT_F32, 4), y = new_temp(f, DT_F32, 4);
	LowAffine at = lowtest_at(arena, i->var, 8, 0);
	memory(&i->body, LOW_LOAD, x, -1, 0, at);
	low_op(arena, &i->body, LOW_ADD, y, x, x, -1);
	memory(&i->body, LOW_STORE, -1, y, 1, at);
	return f;
}

static void test_counts(void **state)
{
	(void)state;
	float in[32], out[32] = {0};
	LowRun run = {.max_steps = 1000};
	for (int i = 0; i < 32; i++)
		in[i] = (float)i;
	runs(vector_sum(32), (void *[]){in, out}, &run);
	assert_true(out[26] == 52 && out[28] == 0);
	assert_int_equal(run.op_count[LOW_LOAD], 4);
	assert_int_equal(run.op_count[LOW_ADD], 4);
	assert_int_equal(run.flops, 16);
	assert_int_equal(run.iterations, 4);
	assert_int_equal(run.loads, 16);
	assert_int_equal(run.stores, 16);
}

static void test_refused(void **state)
{
	(void)state;
	float in[32] = {0}, out[32];
	void *args[] = {in, out};
	fails(vector_sum(27), args, (LowRun){0},
	    "LOAD: lane 3 is in[27] of 27 elements (i_0=3)");
	fails(vector_sum(32), args, (LowRun){.max_steps = 9},
	    "more than 9 steps");
	void *odd[] = {(char *)in + 1, out};
	fails(vector_sum(31), odd, (LowRun){0}, "in is not aligned to 4");

	LowFunction *f = vector_sum(32);
	int late = f->body.at[0]->body.at[1]->dst;
	memory(&f->body, LOW_STORE, -1, late, 1, low_affine_const(0));
	fails(f, args, (LowRun){0}, "t_2 is read undefined");
}

static void test_undefined_next_time(void **state)
{
	(void)state;
	LowFunction *f = lowtest_function(arena, "f");
	lowtest_buffer(arena, f, "out", DT_F32, 4, true);
	LowNode *i = lowtest_loop(arena, f, &f->body, LOOP_SERIAL, 4, "i");
	int x = new_temp(f, DT_F32, 1), c = new_temp(f, DT_BOOL, 1);
	low_op(arena, &i->body, LOW_LANES_BELOW, c, i->var, -1, -1);
	LowNode *branch = NEW(arena, LowNode);
	*branch = (LowNode){.kind = LOWNODE_IF, .condition = c};
	vec_push(arena, &i->body, branch);
	memory(&branch->body, LOW_STORE, -1, x, 0,
	    lowtest_at(arena, i->var, 1, 0));
	low_op(arena, &i->body, LOW_CONST, x, -1, -1, -1);
	float out[4];
	fails(f, (void *[]){out}, (LowRun){0}, "t_1 is read undefined (i_0=1)");
}

static void test_divisor(void **state)
{
	(void)state;
	LowFunction *f = lowtest_function(arena, "f");
	lowtest_buffer(arena, f, "x", DT_I32, 2, false);
	lowtest_buffer(arena, f, "out", DT_I32, 1, true);
	int a = new_temp(f, DT_I32, 1), b = new_temp(f, DT_I32, 1);
	int d = new_temp(f, DT_I32, 1);
	memory(&f->body, LOW_LOAD, a, -1, 0, low_affine_const(0));
	memory(&f->body, LOW_LOAD, b, -1, 0, low_affine_const(1));
	low_op(arena, &f->body, LOW_FLOORDIV, d, a, b, -1);
	memory(&f->body, LOW_STORE, -1, d, 1, low_affine_const(0));
	int32_t in[2] = {-7, 2}, out;
	LowRun run = {0};
	runs(f, (void *[]){in, &out}, &run);
	assert_int_equal(out, -4);
	in[1] = 0;
	fails(f, (void *[]){in, &out}, (LowRun){0}, "FLOORDIV: lane 0: by 0");
}

/* --- parallel loops -------------------------------------------------------- */

/* parallel i < 6: buffer[stride*i + 3] = i; and reads it at `back` */
static LowFunction *parallel(int64_t stride, int64_t back, bool own)
{
	LowFunction *f = lowtest_function(arena, "f");
	f->nthreads = 4;
	lowtest_buffer(arena, f, "out", DT_F32, 16, true);
	if (own) {
		f->buffers.at[0].kind = LOWBUF_WORKSPACE;
		f->buffers.at[0].thread_bytes = 64;
		f->params.at[0].workspace = true;
	}
	LowNode *i = lowtest_loop(arena, f, &f->body, LOOP_PARALLEL, 6, "i");
	int x = new_temp(f, DT_F32, 1), y = new_temp(f, DT_F32, 1);
	low_op(arena, &i->body, LOW_CONVERT, x, i->var, -1, -1);
	memory(&i->body, LOW_STORE, -1, x, 0,
	    lowtest_at(arena, i->var, stride, 3));
	memory(&i->body, LOW_LOAD, y, -1, 0,
	    lowtest_at(arena, i->var, stride, 3 - back));
	return f;
}

static void test_parallel(void **state)
{
	(void)state;
	float out[4 * 16] = {0};
	void *args[] = {out};
	LowRun run = {.check_races = true};
	runs(parallel(2, 0, false), args, &run);
	assert_true(out[13] == 5);
	runs(parallel(2, 1, false), args, &run);
	fails(parallel(0, 0, false), args, run,
	    "a race: out[3], which another iteration wrote (i_0=1)");
	fails(parallel(2, 2, false), args, run, "another iteration wrote");
	fails(parallel(-2, 0, false), args, run, "STORE: lane 0 is out[-1]");
	run.check_races = false;
	runs(parallel(2, 2, false), args, &run);
}

/* What one iteration read, a later one writes. */
static void test_parallel_read_first(void **state)
{
	(void)state;
	LowFunction *f = lowtest_function(arena, "f");
	f->nthreads = 2;
	lowtest_buffer(arena, f, "out", DT_F32, 16, true);
	LowNode *i = lowtest_loop(arena, f, &f->body, LOOP_PARALLEL, 4, "i");
	int x = new_temp(f, DT_F32, 1);
	memory(&i->body, LOW_LOAD, x, -1, 0,
	    lowtest_at(arena, i->var, 1, 1));
	memory(&i->body, LOW_STORE, -1, x, 0,
	    lowtest_at(arena, i->var, 1, 0));
	float out[16] = {0};
	fails(f, (void *[]){out}, (LowRun){.check_races = true},
	    "a race: out[1], which another iteration read (i_0=1)");
}

/* Six iterations on four threads: 0 | 1 2 | 3 | 4 5. */
static void test_private(void **state)
{
	(void)state;
	float pieces[4 * 16] = {0};
	LowRun run = {.check_races = true};
	runs(parallel(0, 0, true), (void *[]){pieces}, &run);
	assert_true(pieces[3] == 0 && pieces[19] == 2);
	assert_true(pieces[35] == 3 && pieces[51] == 5);
}

/* --- a matrix product on a GPU --------------------------------------------- */

enum { N = 32, TILE = 8 };

typedef enum { RIGHT, NO_BARRIER, NO_SECOND_BARRIER, SOME_WAIT, SAME_PLACE,
    ASYNC, ASYNC_TOO_FEW, ASYNC_NO_WAIT, ASYNC_NO_BARRIER } Mistake;

typedef struct {
	LowFunction *f;
	LowNode *bx, *by, *tx, *ty, *ko;
} Product;

static LowAffine at2(int row, int64_t row_stride, int column, int64_t stride)
{
	return plus(lowtest_at(arena, row, row_stride, 0), column, stride);
}

static void barrier(LowBody *body)
{
	low_op(arena, body, LOW_BARRIER, -1, -1, -1, -1);
}

/* a barrier that only threads with tx < 3 reach */
static void some_wait(Product *p)
{
	LowBody *body = &p->ko->body;
	int three = new_temp(p->f, DT_INDEX, 1), c = new_temp(p->f, DT_BOOL, 1);
	low_op(arena, body, LOW_CONST, three, -1, -1, -1)->i = 3;
	low_op(arena, body, LOW_LT, c, p->tx->var, three, -1);
	LowNode *branch = NEW(arena, LowNode);
	*branch = (LowNode){.kind = LOWNODE_IF, .condition = c};
	vec_push(arena, body, branch);
	barrier(&branch->body);
}

static void copy_async(LowBody *body, int to, LowAffine at, int source,
    LowAffine from)
{
	LowNode *n = low_op(arena, body, LOW_COPY_ASYNC, -1, -1, -1, -1);
	n->buffer = to;
	n->address = at;
	n->source = source;
	n->from = from;
	n->i = 1;
}

/* The same by copies that are waited for; or too few of these are. */
static void copy_tiles(Product *p, LowAffine place, LowAffine a, LowAffine b,
    Mistake mistake)
{
	LowBody *body = &p->ko->body;
	copy_async(body, 3, place, 0, plus(a, p->ko->var, TILE));
	low_op(arena, body, LOW_COMMIT, -1, -1, -1, -1);
	copy_async(body, 4, place, 1, plus(b, p->ko->var, TILE * N));
	low_op(arena, body, LOW_COMMIT, -1, -1, -1, -1);
	if (mistake != ASYNC_NO_WAIT)
		low_op(arena, body, LOW_WAIT, -1, -1, -1, -1)->i =
		    mistake == ASYNC_TOO_FEW;
}

/* Both tiles into shared memory: one element a thread. */
static void load_tiles(Product *p, Mistake mistake)
{
	LowBody *body = &p->ko->body;
	int x = new_temp(p->f, DT_F32, 1), y = new_temp(p->f, DT_F32, 1);
	LowAffine place = at2(p->ty->var, TILE, p->tx->var, 1);
	LowAffine a = plus(at2(p->by->var, TILE * N, p->ty->var, N),
	    p->tx->var, 1);
	LowAffine b = plus(at2(p->bx->var, TILE, p->tx->var, 1),
	    p->ty->var, N);
	if (mistake >= ASYNC) {
		copy_tiles(p, place, a, b, mistake);
		return;
	}
	memory(body, LOW_LOAD, x, -1, 0, plus(a, p->ko->var, TILE));
	memory(body, LOW_LOAD, y, -1, 1, plus(b, p->ko->var, TILE * N));
	memory(body, LOW_STORE, -1, x, 3,
	    mistake == SAME_PLACE ? lowtest_at(arena, p->tx->var, 1, 0)
				  : place);
	memory(body, LOW_STORE, -1, y, 4, place);
}

static void multiply_tiles(Product *p, int sum)
{
	LowNode *ki =
	    lowtest_loop(arena, p->f, &p->ko->body, LOOP_SERIAL, TILE, "ki");
	int x = new_temp(p->f, DT_F32, 1), y = new_temp(p->f, DT_F32, 1);
	memory(&ki->body, LOW_LOAD, x, -1, 3,
	    at2(p->ty->var, TILE, ki->var, 1));
	memory(&ki->body, LOW_LOAD, y, -1, 4,
	    at2(ki->var, TILE, p->tx->var, 1));
	low_op(arena, &ki->body, LOW_FMA, sum, x, y, sum);
}

static LowFunction *product(Mistake mistake)
{
	Product p = {.f = lowtest_function(arena, "product")};
	LowFunction *f = p.f;
	lowtest_buffer(arena, f, "a", DT_F32, N * N, false);
	lowtest_buffer(arena, f, "b", DT_F32, N * N, false);
	lowtest_buffer(arena, f, "c", DT_F32, N * N, true);
	for (int i = 0; i < 2; i++)
		vec_push(arena, &f->buffers,
		    (LowBuffer){.name = i ? "b_tile" : "a_tile",
			.type = DT_F32,
			.elements = TILE * TILE,
			.kind = LOWBUF_SHARED,
			.align = 16,
			.written = true});
	p.by = lowtest_loop(arena, f, &f->body, LOOP_BLOCK_Y, N / TILE, "by");
	p.bx = lowtest_loop(arena, f, &p.by->body, LOOP_BLOCK_X, N / TILE, "bx");
	p.ty = lowtest_loop(arena, f, &p.bx->body, LOOP_THREAD_Y, TILE, "ty");
	p.tx = lowtest_loop(arena, f, &p.ty->body, LOOP_THREAD_X, TILE, "tx");
	LowBody *body = &p.tx->body;
	int sum = new_temp(f, DT_F32, 1);
	low_op(arena, body, LOW_CONST, sum, -1, -1, -1);
	p.ko = lowtest_loop(arena, f, body, LOOP_SERIAL, N / TILE, "ko");
	load_tiles(&p, mistake);
	if (mistake == SOME_WAIT)
		some_wait(&p);
	else if (mistake != NO_BARRIER && mistake != ASYNC_NO_BARRIER)
		barrier(&p.ko->body);
	multiply_tiles(&p, sum);
	if (mistake != NO_SECOND_BARRIER)
		barrier(&p.ko->body);
	memory(body, LOW_STORE, -1, sum, 2,
	    plus(plus(at2(p.by->var, TILE * N, p.ty->var, N), p.bx->var, TILE),
		p.tx->var, 1));
	return f;
}

static bool is_product(const float *a, const float *b, const float *c)
{
	for (int i = 0; i < N * N; i++) {
		float sum = 0;
		for (int k = 0; k < N; k++)
			sum += a[i / N * N + k] * b[k * N + i % N];
		if (c[i] != sum)
			return false;
	}
	return true;
}

static void test_gpu(void **state)
{
	(void)state;
	static float a[N * N], b[N * N], c[N * N];
	void *args[] = {a, b, c};
	LowRun run = {.check_races = true};
	for (int i = 0; i < N * N; i++) {
		a[i] = (float)(i * 7 % 9 - 4);
		b[i] = (float)(i * 5 % 11 - 5);
	}
	runs(product(RIGHT), args, &run);
	assert_true(is_product(a, b, c));
	assert_int_equal(run.op_count[LOW_FMA], N * N * N);
	assert_int_equal(run.flops, 2 * N * N * N);
	assert_int_equal(run.op_count[LOW_BARRIER], 2 * N * N * N / TILE);
	fails(product(SAME_PLACE), args, run, "STORE: a race: a_tile[0]");
	fails(product(NO_BARRIER), args, run, "STORE: a race: a_tile[1]");
	fails(product(NO_SECOND_BARRIER), args, run, "LOAD: a race: a_tile[0]");
	memset(c, 0, sizeof c);
	runs(product(ASYNC), args, &run);
	assert_true(is_product(a, b, c));
	assert_int_equal(run.op_count[LOW_WAIT], N * N * N / TILE);
	fails(product(ASYNC_NO_WAIT), args, run,
	    "LOAD: a_tile[0] is touched while a copy to it is on its way");
	fails(product(ASYNC_TOO_FEW), args, run,
	    "LOAD: b_tile[0] is touched while a copy to it is on its way");
	fails(product(ASYNC_NO_BARRIER), args, run,
	    "COPY_ASYNC: a race: a_tile[1]");
	run.check_races = false;
	fails(product(SOME_WAIT), args, run,
	    "BARRIER: threads 0 and 3 wait at different barriers");
}

/* What a launch gives is one memory, in which buffers have their places. */
static void test_dynamic(void **state)
{
	(void)state;
	static float a[N * N], b[N * N], c[N * N];
	void *args[] = {a, b, c};
	LowRun run = {.check_races = true};
	LowFunction *f = product(RIGHT);
	for (int i = 0; i < N * N; i++) {
		a[i] = (float)(i * 7 % 9 - 4);
		b[i] = (float)(i * 5 % 11 - 5);
	}
	LowBuffer *tiles = &f->buffers.at[3];
	tiles[0].dynamic = tiles[1].dynamic = true;
	tiles[0].offset = TILE * TILE * 4;
	runs(f, args, &run);
	assert_true(is_product(a, b, c));
	tiles[0].offset = TILE * 4;
	runs(f, args, &run);
	assert_false(is_product(a, b, c));
}

/* Thread 0 alone waits; the others are done. */
static void test_missing_barrier(void **state)
{
	(void)state;
	LowFunction *f = lowtest_function(arena, "f");
	LowNode *bx = lowtest_loop(arena, f, &f->body, LOOP_BLOCK_X, 2, "bx");
	LowNode *tx = lowtest_loop(arena, f, &bx->body, LOOP_THREAD_X, 4, "tx");
	LowNode *i = lowtest_loop(arena, f, &tx->body, LOOP_SERIAL, 1, "i");
	LowAffine *limit = NEW(arena, LowAffine);
	*limit = lowtest_at(arena, tx->var, -1, 1);
	i->limit = limit;
	barrier(&i->body);
	fails(f, (void *[]){NULL}, (LowRun){0},
	    "BARRIER: thread 0 waits at a barrier that thread 1 does not "
	    "reach");
}

/* at = 3 * i; i < 4 */
static void test_range(void **state)
{
	(void)state;
	LowRun run = {.max_steps = 1000};
	LowFunction *f = lowtest_function(arena, "f");
	LowNode *i = lowtest_loop(arena, f, &f->body, LOOP_SERIAL, 4, "i");
	int three = new_temp(f, DT_INDEX, 1), at = new_temp(f, DT_INDEX, 1);
	low_op(arena, &i->body, LOW_CONST, three, -1, -1, -1)->i = 3;
	low_op(arena, &i->body, LOW_MUL, at, i->var, three, -1);
	low_ranges(f);
	runs(f, (void *[]){NULL}, &run);
	f->temps.at[at].range.most = 8;
	fails(f, (void *[]){NULL}, run,
	    "MUL: t_2 is 9, out of its range 0 .. 8 (i_0=3)");
	f->temps.at[i->var].range.most = 1;
	fails(f, (void *[]){NULL}, run, "i_0 is 2, out of its range 0 .. 1");
}

/* Each thread has its number; what is taken is that of another one.  `missing`:
 * thread 5 does not take part; `threads`: of the block. */
static LowFunction *exchange(bool missing, int64_t threads)
{
	LowFunction *f = lowtest_function(arena, "f");
	lowtest_buffer(arena, f, "out", DT_F64, 2 * threads, true);
	LowNode *bx = lowtest_loop(arena, f, &f->body, LOOP_BLOCK_X, 2, "bx");
	LowNode *tx =
	    lowtest_loop(arena, f, &bx->body, LOOP_THREAD_X, threads, "tx");
	LowBody *body = &tx->body;
	int own = new_temp(f, DT_F64, 1), other = new_temp(f, DT_F64, 1);
	low_op(arena, body, LOW_CONVERT, own, tx->var, -1, -1);
	low_op(arena, body, LOW_CONST, other, -1, -1, -1);
	LowBody *where = body;
	if (missing) {
		int five = new_temp(f, DT_INDEX, 1), c = new_temp(f, DT_BOOL, 1);
		low_op(arena, body, LOW_CONST, five, -1, -1, -1)->i = 5;
		low_op(arena, body, LOW_NE, c, tx->var, five, -1);
		LowNode *branch = NEW(arena, LowNode);
		*branch = (LowNode){.kind = LOWNODE_IF, .condition = c};
		vec_push(arena, body, branch);
		where = &branch->body;
	}
	low_op(arena, where, LOW_WARP_XOR, other, own, -1, -1)->i = 4;
	memory(body, LOW_STORE, -1, other, 0, at2(bx->var, threads, tx->var, 1));
	return f;
}

static void test_exchange(void **state)
{
	double out[2 * 96];
	void *args[] = {out};
	LowRun run = {.check_races = true};
	(void)state;
	runs(exchange(false, 96), args, &run);
	for (int i = 0; i < 2 * 96; i++)
		assert_true(out[i] == (i % 96 ^ 4));
	assert_int_equal(run.op_count[LOW_WARP_XOR], 2 * 96);
	fails(exchange(true, 96), args, run,
	    "WARP_XOR: thread 0 is at an exchange that thread 5 of its warp is "
	    "not at");
	fails(exchange(false, 40), args, run,
	    "WARP_XOR: thread 32 is in a warp of 8 threads");
}

/* s[8*t + i] = 8*t + i, by thread t, which then has the address of row t + first. */
static LowFunction *matrices(
    int lanes, bool transposed, bool barrier, int64_t first)
{
	LowFunction *f = lowtest_function(arena, "f");
	lowtest_buffer(arena, f, "out", DT_BF16, 32 * lanes, true);
	vec_push(arena, &f->buffers,
	    (LowBuffer){.name = "s",
		.type = DT_BF16,
		.elements = 32 * 8,
		.kind = LOWBUF_SHARED,
		.align = 16,
		.written = true});
	LowNode *bx = lowtest_loop(arena, f, &f->body, LOOP_BLOCK_X, 1, "bx");
	LowNode *tx =
	    lowtest_loop(arena, f, &bx->body, LOOP_THREAD_X, 32, "tx");
	LowBody *body = &tx->body;
	int eight = new_temp(f, DT_INDEX, 1), row = new_temp(f, DT_INDEX, 1);
	int lane = new_temp(f, DT_INDEX, 8), d = new_temp(f, DT_BF16, lanes);
	int numbers = new_temp(f, DT_BF16, 8);
	low_op(arena, body, LOW_CONST, eight, -1, -1, -1)->i = 8;
	low_op(arena, body, LOW_MUL, row, tx->var, eight, -1);
	low_op(arena, body, LOW_IOTA, lane, row, -1, -1);
	low_op(arena, body, LOW_CONVERT, numbers, lane, -1, -1);
	memory(body, LOW_STORE, -1, numbers, 1, lowtest_at(arena, row, 1, 0));
	if (barrier)
		low_op(arena, body, LOW_BARRIER, -1, -1, -1, -1);
	memory(body, LOW_LOAD_MATRIX, d, -1, 1,
	    lowtest_at(arena, tx->var, 8, 8 * first))->i = transposed;
	memory(body, LOW_STORE, -1, d, 0, lowtest_at(arena, tx->var, lanes, 0));
	return f;
}

static void test_matrices(void **state)
{
	uint16_t out[32 * 8];
	void *args[] = {out};
	LowRun run = {.check_races = true};
	(void)state;
	for (int lanes = 2; lanes <= 8; lanes *= 2)
		for (int transposed = 0; transposed < 2; transposed++) {
			runs(matrices(lanes, transposed, true, 0), args, &run);
			assert_int_equal(run.op_count[LOW_LOAD_MATRIX], 32);
			for (int i = 0; i < 32 * lanes; i++) {
				int t = i / lanes, l = i % lanes, g = t / 4;
				int k = 2 * (t % 4) + l % 2, first = l / 2 * 8;
				int row = first + (transposed ? k : g);
				assert_true(scalar_load(DT_BF16, out, i).f ==
				    (float)(8 * row + (transposed ? g : k)));
			}
		}
	fails(matrices(8, false, true, 1), args, run,
	    "LOAD_MATRIX: lane 0 is s[256] of 256 elements");
	fails(matrices(8, false, false, 1), args, run,
	    "a race: s[8], which another iteration read");
}

/* 11 digits, to the nearest, of two that are as near the one farther from 0. */
static void test_tf32(void **state)
{
	static const float cases[][2] = {{0, 0}, {-0.f, -0.f},
	    {0x1.002p0f, 0x1.004p0f}, {-0x1.002p0f, -0x1.004p0f},
	    {0x1.006p0f, 0x1.008p0f}, {0x1.001ffep0f, 1},
	    {0x1.fffp5f, 0x1p6f}, {0x1p-149f, 0}, {0x1p-137f, 0x1p-136f},
	    {0x1.ffep127f, INFINITY}, {0x1.ffcp127f, 0x1.ffcp127f},
	    {-INFINITY, -INFINITY}};
	enum { CASES = sizeof cases / sizeof *cases };
	float in[CASES + 1], out[CASES + 1];
	void *args[] = {in, out};
	LowRun run = {0};
	(void)state;
	LowFunction *f = lowtest_function(arena, "f");
	lowtest_buffer(arena, f, "in", DT_F32, CASES + 1, false);
	lowtest_buffer(arena, f, "out", DT_F32, CASES + 1, true);
	LowNode *i =
	    lowtest_loop(arena, f, &f->body, LOOP_SERIAL, CASES + 1, "i");
	int x = new_temp(f, DT_F32, 1), y = new_temp(f, DT_F32, 1);
	LowAffine at = lowtest_at(arena, i->var, 1, 0);
	memory(&i->body, LOW_LOAD, x, -1, 0, at);
	low_op(arena, &i->body, LOW_ROUND_TF32, y, x, -1, -1);
	memory(&i->body, LOW_STORE, -1, y, 1, at);
	for (int k = 0; k < CASES; k++)
		in[k] = cases[k][0];
	const uint32_t nan = 0x7f800001; /* its digits are lost */
	memcpy(&in[CASES], &nan, sizeof nan);
	runs(f, args, &run);
	for (int k = 0; k < CASES; k++)
		assert_memory_equal(&out[k], &cases[k][1], sizeof out[k]);
	assert_true(isnan(out[CASES]));
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
	    cmocka_unit_test(test_counts),
	    cmocka_unit_test(test_refused),
	    cmocka_unit_test(test_undefined_next_time),
	    cmocka_unit_test(test_divisor),
	    cmocka_unit_test(test_parallel),
	    cmocka_unit_test(test_parallel_read_first),
	    cmocka_unit_test(test_private),
	    cmocka_unit_test(test_gpu),
	    cmocka_unit_test(test_dynamic),
	    cmocka_unit_test(test_missing_barrier),
	    cmocka_unit_test(test_range),
	    cmocka_unit_test(test_exchange),
	    cmocka_unit_test(test_matrices),
	    cmocka_unit_test(test_tf32),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
