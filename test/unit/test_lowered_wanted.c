/* Bits that nothing reads (ir/lowered/lowered_wanted.c): what is left of chains, and
 * that random ones give what they gave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ir/lowered/lowered.h"

enum { LANES = 8, LONGEST = 12, BYTES = 64 };

typedef struct {
	LowOpcode op;
	int64_t number;
} Step;

/* Buffers "x" and "y" of bytes, and y = what is done to x; of two types. */
static LowFunction *function_new(Arena *a, DType from, DType to)
{
	LowFunction *f = NEW(a, LowFunction);
	f->name = "chain";
	f->nthreads = 1;
	for (int i = 0; i < 2; i++) {
		LowParam p = {
		    .name = i ? "y" : "x", .type = i ? to : from, .output = i};
		LowBuffer b = {.name = p.name,
		    .type = p.type,
		    .param = i,
		    .elements = 2 * LANES,
		    .align = dtype_bytes(p.type),
		    .written = i};
		vec_push(a, &f->params, p);
		vec_push(a, &f->buffers, b);
	}
	return f;
}

static int put_load(Arena *a, LowFunction *f, DType type, int at)
{
	int x = low_temp(a, f, type, LANES, "x");
	LowNode *n = low_op(a, &f->body, LOW_LOAD, x, -1, -1, -1);
	n->buffer = 0;
	n->address = low_affine_const(at * LANES);
	return x;
}

static void put_store(Arena *a, LowFunction *f, int temp, int at)
{
	LowNode *n = low_op(a, &f->body, LOW_STORE, -1, temp, -1, -1);
	n->buffer = 1;
	n->address = low_affine_const(at * LANES);
}

static int put_step(Arena *a, LowFunction *f, DType type, int x, Step s)
{
	int d = low_temp(a, f, type, LANES, "d");
	int number = low_temp(a, f, type, LANES, "n");
	low_op(a, &f->body, LOW_CONST, number, -1, -1, -1)->i = s.number;
	low_op(a, &f->body, s.op, d, x, number, -1);
	return d;
}

/* How many operations the stored vector hangs on. */
static int count_live(const LowFunction *f)
{
	bool live[256] = {false};
	int count = 0;
	for (int i = f->body.n - 1; i >= 0; i--) {
		const LowNode *n = f->body.at[i];
		if (n->dst >= 0 && !live[n->dst])
			continue;
		count += n->op != LOW_CONST && n->op != LOW_COPY;
		for (int k = 0; k < 3; k++)
			if (n->arg[k] >= 0)
				live[n->arg[k]] = true;
	}
	return count;
}

static const LowFunction *wanted_of(Arena *a, const LowFunction *f)
{
	char why[256];
	assert_true(low_function_verify(f, why, sizeof why));
	const LowFunction *to = low_make_wanted(a, f);
	assert_true(low_function_verify(to, why, sizeof why));
	return to;
}

static void assert_same(
    const LowFunction *f, const LowFunction *g, uint64_t *random)
{
	uint8_t x[2 * BYTES], y[2][2 * BYTES] = {0};
	for (size_t i = 0; i < sizeof x; i++) {
		*random = *random * 6364136223846793005U + 1442695040888963407U;
		x[i] = (uint8_t)(*random >> 40);
	}
	for (int i = 0; i < 2; i++) {
		LowRun run = {0};
		assert_true(
		    low_function_run(i ? g : f, (void *[]){x, y[i]}, &run));
	}
	assert_memory_equal(y[0], y[1], sizeof y[0]);
}

/* --- what is left ----------------------------------------------------------- */

static void chains(void **state)
{
	(void)state;
	static const struct {
		DType type;
		int n;
		Step steps[4];
		int left;     /* of the steps */
		bool between; /* what the second makes is stored, too */
	} cases[] = {
	    /* a byte's sign, and a mask */
	    {DT_I16, 3, {{LOW_MUL, 256}, {LOW_FLOORDIV, 256}, {LOW_AND, 15}}, 1,
		false},
	    {DT_I16, 2, {{LOW_MUL, 256}, {LOW_FLOORDIV, 256}}, 2, false},
	    {DT_I32, 3, {{LOW_SHL, 8}, {LOW_SHR, 12}, {LOW_AND, 255}}, 2,
		false},
	    {DT_I32, 3, {{LOW_SHL, 8}, {LOW_SHR, 12}, {LOW_AND, 1 << 20}}, 3,
		false},
	    /* there, a mask, and back */
	    {DT_I16, 3, {{LOW_FLOORDIV, 256}, {LOW_AND, 15}, {LOW_SHL, 4}}, 2,
		false},
	    {DT_I16, 3, {{LOW_FLOORDIV, 16}, {LOW_MOD, 16}, {LOW_MUL, 16}}, 1,
		false},
	    {DT_I16, 3, {{LOW_MUL, 16}, {LOW_AND, -32}, {LOW_FLOORDIV, 16}}, 3,
		false},
	    {DT_U16, 3, {{LOW_MUL, 16}, {LOW_AND, 4080}, {LOW_SHR, 4}}, 1,
		false},
	    {DT_I16, 3, {{LOW_FLOORDIV, 256}, {LOW_AND, 15}, {LOW_SHL, 4}}, 4,
		true},
	    /* a mask of what is not read */
	    {DT_I16, 2, {{LOW_AND, 255}, {LOW_MOD, 16}}, 1, false},
	    {DT_U8, 2, {{LOW_AND, 127}, {LOW_MUL, 2}}, 1, false},
	    {DT_U8, 2, {{LOW_AND, 63}, {LOW_MUL, 2}}, 2, false},
	    {DT_U8, 3, {{LOW_AND, 31}, {LOW_ADD, 3}, {LOW_MOD, 32}}, 2, false},
	    {DT_I32, 2, {{LOW_AND, 31}, {LOW_MAX, 3}}, 2, false},
	};
	uint64_t random = 1;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		Arena *a = arena_new();
		DType type = cases[i].type;
		LowFunction *f = function_new(a, type, type);
		int d = put_load(a, f, type, 0);
		for (int k = 0; k < cases[i].n; k++) {
			d = put_step(a, f, type, d, cases[i].steps[k]);
			if (cases[i].between && k == 1)
				put_store(a, f, d, 1);
		}
		put_store(a, f, d, 0);
		const LowFunction *to = wanted_of(a, f);
		assert_int_equal(count_live(to), cases[i].left + 2);
		assert_same(f, to, &random);
		arena_free(a);
	}
}

/* --- random ones ------------------------------------------------------------- */

static int draw(uint64_t *random, int below)
{
	*random = *random * 6364136223846793005U + 1442695040888963407U;
	return (int)(*random >> 33) % below;
}

static Step draw_step(uint64_t *random, DType type)
{
	static const LowOpcode ops[] = {LOW_MUL, LOW_FLOORDIV, LOW_AND, LOW_MOD,
	    LOW_OR, LOW_XOR, LOW_ADD, LOW_SUB, LOW_MAX, LOW_SHL, LOW_SHR};
	int bits = 8 * dtype_bytes(type);
	LowOpcode op = ops[draw(random, bits == 8 ? 9 : 11)];
	int64_t number = INT64_C(1) << draw(random, bits - 1);
	if (op == LOW_SHL || op == LOW_SHR)
		number = draw(random, bits);
	else if (op != LOW_MUL && op != LOW_FLOORDIV && op != LOW_MOD)
		number -= draw(random, 3) - 1;
	else if (!draw(random, 4))
		number = 1 + draw(random, 100);
	return (Step){op, number};
}

static void random_chains(void **state)
{
	(void)state;
	static const DType types[] = {
	    DT_I8, DT_U8, DT_I16, DT_U16, DT_I32, DT_U32, DT_I64, DT_U64};
	uint64_t random = 7;
	for (int i = 0; i < 20000; i++) {
		Arena *a = arena_new();
		DType from = types[draw(&random, 8)],
		      to = types[draw(&random, 8)];
		LowFunction *f = function_new(a, from, to);
		int have[LONGEST + 2], n = 0;
		for (; n < 2; n++) {
			have[n] = low_temp(a, f, to, LANES, "c");
			low_op(a, &f->body, from == to ? LOW_COPY : LOW_CONVERT,
			    have[n], put_load(a, f, from, n), -1, -1);
		}
		int length = 1 + draw(&random, LONGEST);
		for (int k = 0; k < length; k++, n++) {
			int x = draw(&random, 5) ? n - 1 : draw(&random, n);
			if (draw(&random, 6)) {
				have[n] = put_step(
				    a, f, to, have[x], draw_step(&random, to));
				continue;
			}
			have[n] = low_temp(a, f, to, LANES, "o");
			low_op(a, &f->body, LOW_OR, have[n], have[x],
			    have[draw(&random, n)], -1);
		}
		put_store(a, f, have[n - 1], 0);
		if (!draw(&random, 3))
			put_store(a, f, have[draw(&random, n)], 1);
		assert_same(f, wanted_of(a, f), &random);
		arena_free(a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(chains),
	    cmocka_unit_test(random_chains),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
