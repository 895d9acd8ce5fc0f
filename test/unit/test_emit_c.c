/* Every operation of the lowered form, scalar and at several widths, through
 * the C emitter: compiled by gcc and clang with sanitizers, and without, for
 * AVX-512, AVX2, SSE2, for a compiler that is for none of them and as plain C;
 * the results are those of LLVM's object bit for bit. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dlfcn.h>

#include <cmocka.h>

#include "codegen/codegen.h"
#include "lib/hash.h"
#include "lib/rng.h"
#include "lib/sanitize.h"

enum { ELEMENTS = 256 };

typedef struct {
	LowFunction *f;
	const char *what;
	DType out;
} Case;

typedef VEC(Case) CaseVec;

typedef struct {
	Arena *arena;
	CaseVec *cases;
	LowFunction *f;
	char name[128];
	int next_width;
} Maker;

/* --- building ------------------------------------------------------------ */

static int new_buffer(Maker *m, const char *name, DType type, bool output)
{
	LowParam p = {.name = name, .type = type, .output = output};
	vec_push(m->arena, &m->f->params, p);
	LowBuffer b = {.name = name, .type = type, .elements = ELEMENTS,
	    .kind = LOWBUF_PARAM, .param = m->f->params.n - 1, .align = 1,
	    .written = output};
	vec_push(m->arena, &m->f->buffers, b);
	return m->f->buffers.n - 1;
}

static LowNode *op(Maker *m, LowOpcode code, int dst, int a, int b, int c)
{
	return low_op(m->arena, &m->f->body, code, dst, a, b, c);
}

static int temp(Maker *m, DType type, int lanes)
{
	return low_temp(m->arena, m->f, type, lanes, "t");
}

static int loaded(Maker *m, const char *name, DType type, int lanes, int at)
{
	int t = temp(m, type, lanes);
	LowNode *n = op(m, LOW_LOAD, t, -1, -1, -1);
	n->buffer = new_buffer(m, name, type, false);
	n->address = low_affine_const(at);
	return t;
}

/* An index, which no buffer holds: i32 elements of 0..127, converted. */
static int loaded_index(Maker *m, const char *name, int lanes)
{
	int from = loaded(m, name, DT_U8, lanes, 3);
	int t = temp(m, DT_INDEX, lanes);
	op(m, LOW_CONVERT, t, from, -1, -1);
	return t;
}

static int operand(Maker *m, const char *name, DType type, int lanes, int at)
{
	return type == DT_INDEX ? loaded_index(m, name, lanes)
				: loaded(m, name, type, lanes, at);
}

static void begin(Maker *m, const char *what)
{
	m->f = NEW(m->arena, LowFunction);
	m->f->name = arena_printf(m->arena, "f%d", m->cases->n);
	m->f->role = LOWFN_KERNEL;
	m->f->nthreads = 1;
	snprintf(m->name, sizeof m->name, "%s", what);
}

static int result_buffer(Maker *m, DType type)
{
	LowParam p = {.name = "out", .type = type, .output = true};
	(void)p;
	return new_buffer(m, "out", type, true);
}

static void finish(Maker *m, DType out)
{
	char why[256];
	if (!low_function_verify(m->f, why, sizeof why))
		fail_msg("%s: %s", m->name, why);
	Case c = {m->f, arena_strdup(m->arena, m->name), out};
	vec_push(m->arena, m->cases, c);
}

static void end(Maker *m, int t)
{
	DType type = m->f->temps.at[t].type;
	if (type == DT_INDEX) {
		int i64 = temp(m, DT_I64, m->f->temps.at[t].lanes);
		op(m, LOW_CONVERT, i64, t, -1, -1);
		t = i64, type = DT_I64;
	}
	LowNode *n = op(m, LOW_STORE, -1, t, -1, -1);
	n->buffer = result_buffer(m, type);
	n->address = low_affine_const(5);
	finish(m, type);
}

static const char *label(Maker *m, LowOpcode code, DType type, int lanes)
{
	return arena_printf(m->arena, "%s %s x%d", low_op_name(code),
	    dtype_name(type), lanes);
}

/* --- cases --------------------------------------------------------------- */

static void binary(Maker *m, LowOpcode code, DType type, int lanes)
{
	begin(m, label(m, code, type, lanes));
	int a = operand(m, "a", type, lanes, 1);
	int b = operand(m, "b", type, lanes, 7);
	bool compares = low_op_is_comparison(code);
	if (code == LOW_FLOORDIV || code == LOW_MOD) { /* divisors above 0 */
		int seven = temp(m, type, 1), all = temp(m, type, lanes);
		op(m, LOW_CONST, seven, -1, -1, -1)->i = 7;
		op(m, LOW_BROADCAST, all, seven, -1, -1);
		b = all;
	}
	int d = temp(m, compares ? DT_BOOL : type, lanes);
	op(m, code, d, a, b, -1);
	end(m, d);
}

static void unary(Maker *m, LowOpcode code, DType type, int lanes)
{
	begin(m, label(m, code, type, lanes));
	int a = operand(m, "a", type, lanes, 1), d = temp(m, type, lanes);
	op(m, code, d, a, -1, -1);
	end(m, d);
}

static void bits_case(Maker *m, DType type, int lanes)
{
	DType from = type == DT_F32 ? DT_I32
	    : type == DT_I32	    ? DT_F32
	    : type == DT_F64	    ? DT_I64
	    : type == DT_I64	    ? DT_F64
				    : DT_BOOL;
	if (from == DT_BOOL)
		return;
	begin(m, label(m, LOW_BITS, type, lanes));
	int a = operand(m, "a", from, lanes, 1), d = temp(m, type, lanes);
	op(m, LOW_BITS, d, a, -1, -1);
	end(m, d);
}

/* Several integers as one, and back. */
static void words_of_parts(Maker *m)
{
	static const DType types[][2] = {{DT_U8, DT_I16}, {DT_I8, DT_I32},
	    {DT_I16, DT_I32}, {DT_I32, DT_I64}, {DT_U8, DT_I64}};
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		for (int lanes = 2; lanes <= 8; lanes *= 2) {
			DType from = types[i][0], to = types[i][1];
			int parts = dtype_bytes(to) / dtype_bytes(from);
			begin(m, label(m, LOW_BITS, to, lanes));
			int a = loaded(m, "a", from, parts * lanes, 1);
			int d = temp(m, to, lanes);
			op(m, LOW_BITS, d, a, -1, -1);
			end(m, d);
			begin(m, label(m, LOW_BITS, from, parts * lanes));
			int b = loaded(m, "b", to, lanes, 1);
			int c = temp(m, from, parts * lanes);
			op(m, LOW_BITS, c, b, -1, -1);
			end(m, c);
		}
}

static void fma_case(Maker *m, DType type, int lanes)
{
	begin(m, label(m, LOW_FMA, type, lanes));
	int a = operand(m, "a", type, lanes, 0);
	int b = operand(m, "b", type, lanes, 3);
	int c = operand(m, "c", type, lanes, 9);
	op(m, LOW_FMA, c, a, b, c); /* an accumulator */
	end(m, c);
}

/* Two sums of products, with a number in all lanes before a vector and behind. */
static void sums_case(Maker *m, DType type, int lanes)
{
	begin(
	    m, arena_printf(m->arena, "sums, %s x%d", dtype_name(type), lanes));
	int a = operand(m, "a", type, lanes, 0);
	int s = operand(m, "s", type, 1, 3), all = temp(m, type, lanes);
	int c = operand(m, "c", type, lanes, 9), d = temp(m, type, lanes);
	op(m, LOW_BROADCAST, all, s, -1, -1);
	op(m, LOW_COPY, d, c, -1, -1);
	for (int i = 0; i < 2; i++) {
		op(m, LOW_FMA, c, all, a, c);
		op(m, LOW_FMA, d, a, all, d);
	}
	op(m, LOW_FMA, d, all, c, d);
	end(m, d);
}

/* By -512 .. 511, of f64 by -2048 .. 2047. */
static void scale_case(Maker *m, DType type, int lanes, bool masked)
{
	begin(m, label(m, LOW_SCALE, type, lanes));
	int a = operand(m, "a", type, lanes, 1);
	int k = operand(m, "b", DT_I16, lanes, 7);
	int by = temp(m, DT_I16, lanes), n = temp(m, DT_I16, lanes);
	op(m, LOW_CONST, by, -1, -1, -1)->i = type == DT_F32 ? 64 : 16;
	op(m, LOW_FLOORDIV, n, k, by, -1);
	int b = temp(m, type, lanes), d = temp(m, type, lanes);
	op(m, LOW_CONVERT, b, n, -1, -1);
	int mask = masked ? loaded(m, "m", DT_BOOL, lanes, 3) : -1;
	op(m, LOW_SCALE, d, a, b, mask);
	end(m, d);
}

/* Two that are alike are seldom, so there are lanes and none. */
static void any_cases(Maker *m, DType type, int lanes)
{
	for (int k = 0; k < 2; k++) {
		begin(m, label(m, LOW_ANY, type, lanes));
		int a = operand(m, "a", type, lanes, 1);
		int b = operand(m, "b", type, lanes, 7);
		int c = temp(m, DT_BOOL, lanes), d = temp(m, DT_BOOL, 1);
		op(m, k ? LOW_LT : LOW_EQ, c, a, b, -1);
		op(m, LOW_ANY, d, c, -1, -1);
		end(m, d);
	}
}

/* Masks as numbers. */
static void mask_words(Maker *m)
{
	static const DType words[] = {DT_U8, DT_U16, DT_U32, DT_U64};
	static const DType types[] = {DT_U8, DT_I16, DT_F32, DT_F64};
	for (int w = 0; w < 4; w++)
		for (int t = 0; t < 4; t++) {
			int lanes = 8 << w;
			begin(m, label(m, LOW_BITS, types[t], lanes));
			int a = operand(m, "a", types[t], lanes, 1);
			int b = operand(m, "b", types[t], lanes, 7);
			int c = temp(m, DT_BOOL, lanes);
			int d = temp(m, words[w], 1);
			op(m, LOW_LT, c, a, b, -1);
			op(m, LOW_BITS, d, c, -1, -1);
			end(m, d);
		}
}

static void convert(Maker *m, DType from, DType to, int lanes)
{
	begin(m, arena_printf(m->arena, "CONVERT %s -> %s x%d",
		     dtype_name(from), dtype_name(to), lanes));
	int a = operand(m, "a", from, lanes, 2), d = temp(m, to, lanes);
	op(m, LOW_CONVERT, d, a, -1, -1);
	end(m, d);
}

static int extreme(Maker *m, LowOpcode code, int a, double k)
{
	DType type = m->f->temps.at[a].type;
	int lanes = m->f->temps.at[a].lanes;
	int one = temp(m, type, 1), all = temp(m, type, lanes);
	int d = temp(m, type, lanes);
	LowNode *number = op(m, LOW_CONST, one, -1, -1, -1);
	number->f = k;
	number->i = (int64_t)k;
	op(m, LOW_BROADCAST, all, one, -1, -1);
	op(m, code, d, a, all, -1);
	return d;
}

/* Integers some of which the narrower type holds. */
static int around(Maker *m, int a, DType to)
{
	const LowTemp *t = &m->f->temps.at[a];
	int by = temp(m, t->type, t->lanes), d = temp(m, t->type, t->lanes);
	op(m, LOW_CONST, by, -1, -1, -1)->i = INT64_C(1)
	    << (8 * (dtype_bytes(t->type) - dtype_bytes(to)) - 2);
	op(m, LOW_FLOORDIV, d, a, by, -1);
	return d;
}

/* What was clamped before, to what the integer holds and not quite. */
static void clamped_cases(Maker *m, DType from, DType to, int lanes)
{
	static const double least[] = {0, -128, -128, -129, -32768};
	static const double most[] = {255, 127, 128, 127, 32767};
	for (int k = 0; k < 12; k++) {
		begin(m,
		    arena_printf(m->arena, "clamped %d, %s -> %s x%d", k,
			dtype_name(from), dtype_name(to), lanes));
		int a = operand(m, "a", from, lanes, 2);
		int d = temp(m, to, lanes);
		if (!dtype_is_float(from))
			a = around(m, a, to);
		if (k < 11)
			a = extreme(m, k & 1 ? LOW_MIN : LOW_MAX, a,
			    (k & 1 ? most : least)[k / 2 % 5]);
		if (k < 10 || k == 11)
			a = extreme(m, k & 1 ? LOW_MAX : LOW_MIN, a,
			    (k & 1 ? least : most)[k / 2 % 5]);
		op(m, LOW_CONVERT, d, a, -1, -1);
		end(m, d);
	}
}

static int mask_temp(Maker *m, int lanes, int64_t below)
{
	int n = temp(m, DT_INDEX, 1), d = temp(m, DT_BOOL, lanes);
	op(m, LOW_CONST, n, -1, -1, -1)->i = below;
	op(m, LOW_LANES_BELOW, d, n, -1, -1);
	return d;
}

static int zeros(Maker *m, DType type, int lanes)
{
	int zero = temp(m, type, 1), all = temp(m, type, lanes);
	op(m, LOW_CONST, zero, -1, -1, -1);
	op(m, LOW_BROADCAST, all, zero, -1, -1);
	return all;
}

/* Under a mask that is loaded, or of the lanes below a number, or the others. */
static void select_one(
    Maker *m, DType type, int lanes, int below, bool zero_a, bool zero_b)
{
	begin(m, label(m, LOW_SELECT, type, lanes));
	int c = below ? mask_temp(m, lanes, below)
		      : loaded(m, "c", DT_BOOL, lanes, 0);
	int a =
	    zero_a ? zeros(m, type, lanes) : operand(m, "a", type, lanes, 2);
	int b =
	    zero_b ? zeros(m, type, lanes) : operand(m, "b", type, lanes, 4);
	int others = temp(m, DT_BOOL, lanes), d = temp(m, type, lanes);
	op(m, LOW_NOT, others, c, -1, -1);
	op(m, LOW_SELECT, d, below == 1 ? others : c, a, b);
	end(m, d);
}

static void select_cases(Maker *m, DType type, int lanes)
{
	for (int below = 0; below <= (lanes > 1 ? 3 : 0); below++) {
		select_one(m, type, lanes, below, false, false);
		select_one(m, type, lanes, below, true, false);
		select_one(m, type, lanes, below, false, true);
	}
}

static void math_case(Maker *m, Op math, DType type, int lanes)
{
	begin(m, arena_printf(m->arena, "MATH %s %s x%d", op_name(math),
		     dtype_name(type), lanes));
	int a = operand(m, "a", type, lanes, 1);
	int b = op_arity(math) == 2 ? operand(m, "b", type, lanes, 40) : -1;
	int d = temp(m, type, lanes);
	LowNode *n = op(m, LOW_MATH, d, a, b, -1);
	n->math = math;
	end(m, d);
}

static void constants(Maker *m, DType type, int lanes)
{
	static const double floats[] = {0.0, -0.0, 1.5, -1e30, 0x1.fffffep-3,
		1e-40, 3.4028234663852886e38};
	static const int64_t ints[] = {0, 1, -1, 127, INT32_MAX, INT32_MIN,
		INT64_MIN};
	for (int i = 0; i < 9; i++) {
		double f = i < 7 ? floats[i] : i == 7 ? -INFINITY : NAN;
		int64_t k = i < 7 ? ints[i] : 5;
		if (type == DT_BOOL)
			k = i & 1;
		else if (type == DT_U8 || type == DT_U16)
			k = i * 30;
		else if (type == DT_U32)
			k &= UINT32_MAX;
		else if (type != DT_I64 && type != DT_U64 && type != DT_INDEX)
			k = dtype_bytes(type) == 4 && k != INT64_MIN ? k
			    : i - 4;
		begin(m, label(m, LOW_CONST, type, lanes));
		int d = temp(m, type, lanes);
		LowNode *n = op(m, LOW_CONST, d, -1, -1, -1);
		n->i = k;
		n->f = type == DT_F32 ? (float)f : f;
		if (dtype_is_float(type) || i < 7)
			end(m, d);
	}
}

static void lanes_cases(Maker *m, DType type, int lanes)
{
	begin(m, label(m, LOW_BROADCAST, type, lanes));
	int a = operand(m, "a", type, 1, 1), d = temp(m, type, lanes);
	op(m, LOW_BROADCAST, d, a, -1, -1);
	end(m, d);

	begin(m, label(m, LOW_EXTRACT, type, lanes));
	a = operand(m, "a", type, lanes, 1);
	d = temp(m, type, 1);
	op(m, LOW_EXTRACT, d, a, -1, -1)->i = lanes - 1;
	end(m, d);

	begin(m, label(m, LOW_INSERT, type, lanes));
	a = operand(m, "a", type, lanes, 1);
	int b = operand(m, "b", type, 1, 6);
	d = temp(m, type, lanes);
	op(m, LOW_INSERT, d, a, b, -1)->i = lanes / 2;
	op(m, LOW_INSERT, d, d, b, -1)->i = 0;
	end(m, d);

	/* as long as the source, half as long, 2, 4 and 8 times as long; of two as
	 * long as one, and one behind the other */
	for (int i = 0; i < 7; i++) {
		bool joined = i == 6;
		int pair = i % 2 || joined;
		int to = i == 1 ? (lanes + 1) / 2
		    : joined	? 2 * lanes
		    : i % 5	? lanes << (i - 1)
				: lanes;
		if (to > 64)
			continue;
		begin(m, label(m, LOW_SHUFFLE, type, lanes));
		a = operand(m, "a", type, lanes, 1);
		b = pair ? operand(m, "b", type, lanes, 9) : -1;
		d = temp(m, type, to);
		LowNode *n = op(m, LOW_SHUFFLE, d, a, b, -1);
		n->shuffle = NEW_N(m->arena, int, to);
		for (int l = 0; l < to; l++)
			n->shuffle[l] = joined
			    ? l
			    : (l * 5 + 1) % (pair ? 2 * lanes : lanes);
		end(m, d);
	}
	for (int i = 0; i < 2 && lanes > 1 && !(lanes & (lanes - 1)) &&
	     type != DT_INDEX && dtype_bytes(type) == 4;
	     i++) {
		begin(m, label(m, LOW_PERMUTE, type, lanes));
		a = operand(m, "a", type, lanes, 1);
		b = loaded_index(m, "i", lanes);
		d = temp(m, type, lanes);
		if (i) {
			int i32 = temp(m, DT_I32, lanes);
			op(m, LOW_CONVERT, i32, b, -1, -1);
			b = i32;
		}
		op(m, LOW_PERMUTE, d, a, b, -1);
		end(m, d);
	}
	for (int to = 2 * lanes;
	     to <= 4 * lanes && to <= 64 && lanes * dtype_bytes(type) == 16;
	     to *= 2) { /* again and again */
		begin(m, label(m, LOW_SHUFFLE, type, lanes));
		a = operand(m, "a", type, lanes, 1);
		d = temp(m, type, to);
		LowNode *n = op(m, LOW_SHUFFLE, d, a, -1, -1);
		n->shuffle = NEW_N(m->arena, int, to);
		for (int l = 0; l < to; l++)
			n->shuffle[l] = l % lanes;
		end(m, d);
	}
	for (int half = 0; half < 2 && lanes > 1; half++) { /* in turns */
		begin(m, label(m, LOW_SHUFFLE, type, lanes));
		a = operand(m, "a", type, lanes, 1);
		b = operand(m, "b", type, lanes, 9);
		d = temp(m, type, lanes);
		LowNode *n = op(m, LOW_SHUFFLE, d, a, b, -1);
		n->shuffle = NEW_N(m->arena, int, lanes);
		for (int l = 0; l < lanes; l++)
			n->shuffle[l] =
			    half * lanes / 2 + l / 2 + l % 2 * lanes;
		end(m, d);
	}
}

static void memory_cases(Maker *m, DType type, int lanes)
{
	static const int64_t below[] = {-3, 1, 5, 1000};
	for (int i = 0; i < 4; i++) {
		begin(m, label(m, LOW_LOAD_MASKED, type, lanes));
		int mask = mask_temp(m, lanes, below[i]);
		int a = temp(m, type, lanes);
		LowNode *n = op(m, LOW_LOAD_MASKED, a, mask, -1, -1);
		n->buffer = new_buffer(m, "a", type, false);
		/* what is off lies outside of the buffer */
		int64_t on = below[i] < 0 ? 0
		    : below[i] > lanes ? lanes : below[i];
		n->address = low_affine_const(ELEMENTS - on);
		n = op(m, LOW_STORE_MASKED, -1, a, mask, -1);
		n->buffer = result_buffer(m, type);
		n->address = low_affine_const(ELEMENTS - on);
		finish(m, type);
	}
	begin(m, label(m, LOW_STORE_MASKED, type, lanes));
	int some = loaded(m, "m", DT_BOOL, lanes, 3),
	    all = temp(m, type, lanes);
	LowNode *access = op(m, LOW_LOAD_MASKED, all, some, -1, -1);
	access->buffer = new_buffer(m, "a", type, false);
	access = op(m, LOW_STORE_MASKED, -1, all, some, -1);
	access->buffer = result_buffer(m, type);
	finish(m, type);
	for (int i = 0; i < 4; i++) {
		bool masked = i & 1, narrow = i & 2 && lanes > 1;
		begin(m, label(m, LOW_GATHER, type, lanes));
		int index = loaded_index(m, "i", lanes), a = temp(m, type, lanes);
		if (narrow) {
			int i32 = temp(m, DT_I32, lanes);
			op(m, LOW_CONVERT, i32, index, -1, -1);
			index = i32;
		}
		int mask = masked ? loaded(m, "m", DT_BOOL, lanes, 3) : -1;
		LowNode *n = op(m, LOW_GATHER, a, index, mask, -1);
		n->buffer = new_buffer(m, "a", type, false);
		n = op(m, LOW_SCATTER, -1, a, index, mask);
		n->buffer = result_buffer(m, type);
		finish(m, type);
	}
	for (int at = 2; at <= 128;
	     at += 126) { /* aligned in its buffer or not */
		begin(m, label(m, LOW_STREAM, type, lanes));
		int a = loaded(m, "a", type, lanes, 1);
		LowNode *n = op(m, LOW_PREFETCH, -1, -1, -1, -1);
		n->i = 2;
		n->buffer = 0;
		n = op(m, LOW_STREAM, -1, a, -1, -1);
		n->buffer = result_buffer(m, type);
		n->address = low_affine_const(at);
		finish(m, type);
	}
}

static void logic_cases(Maker *m, int lanes)
{
	begin(m, arena_printf(m->arena, "AND OR NOT x%d", lanes));
	int a = loaded(m, "a", DT_F64, lanes, 0);
	int b = loaded(m, "b", DT_F64, lanes, 1);
	int c = loaded(m, "c", DT_I32, lanes, 2);
	int zero = temp(m, DT_I32, lanes);
	op(m, LOW_CONST, zero, -1, -1, -1);
	int p = temp(m, DT_BOOL, lanes), q = temp(m, DT_BOOL, lanes);
	op(m, LOW_LT, p, a, b, -1);
	op(m, LOW_LE, q, c, zero, -1);
	int r = temp(m, DT_BOOL, lanes), s = temp(m, DT_BOOL, lanes);
	op(m, LOW_NOT, r, q, -1, -1);
	op(m, LOW_AND, s, p, r, -1);
	op(m, LOW_OR, s, s, q, -1);
	int d = temp(m, DT_F64, lanes);
	op(m, LOW_SELECT, d, s, a, b);
	end(m, d);
}

static void dot_case(Maker *m, const Intrinsic *in, int lanes)
{
	begin(m, label(m, LOW_DOT, in->b, lanes));
	int a = loaded(m, "a", in->a, in->terms * lanes, 1);
	int b = loaded(m, "b", in->b, in->terms * lanes, 2);
	int c = loaded(m, "c", in->sum, lanes, 3);
	int d = temp(m, in->sum, lanes);
	op(m, LOW_DOT, d, a, b, c);
	end(m, d);
}

/* (i32(a) - by) * i32(b) of bytes and words, with numbers at which 16 bits are just
 * enough, or not. */
static void words_case(Maker *m, DType of_a, DType of_b, int by, int lanes)
{
	begin(m, arena_printf(m->arena, "(%s - %d) * %s x%d", dtype_name(of_a),
		     by, dtype_name(of_b), lanes));
	int a = loaded(m, "a", of_a, lanes, 1), wide = temp(m, DT_I32, lanes);
	int b = loaded(m, "b", of_b, lanes, 2), other = temp(m, DT_I32, lanes);
	int number = temp(m, DT_I32, lanes), less = temp(m, DT_I32, lanes);
	int d = temp(m, DT_I32, lanes);
	op(m, LOW_CONVERT, wide, a, -1, -1);
	op(m, LOW_CONVERT, other, b, -1, -1);
	op(m, LOW_CONST, number, -1, -1, -1)->i = by;
	op(m, LOW_SUB, less, wide, number, -1);
	op(m, LOW_MUL, d, less, other, -1);
	end(m, d);
}

static void words_cases(Maker *m)
{
	static const DType types[] = {DT_U8, DT_I8, DT_I16};
	static const int numbers[] = {0, 128, -32512, 32767, 65536};
	for (int a = 0; a < 3; a++)
		for (int b = 0; b < 3; b++)
			for (int i = 0; i < 5; i++)
				words_case(m, types[a], types[b], numbers[i],
				    4 << (a + b + i) % 4);
}

/* Integers of a vector of 4 or 8 bytes as wider ones, or 0: gcc 12 does not find an
 * instruction for that under a mask register. */
static void widened_or_0(Maker *m, DType from, DType to, int lanes)
{
	begin(m, label(m, LOW_SELECT, to, lanes));
	int c = loaded(m, "c", DT_BOOL, lanes, 0);
	int a = loaded(m, "a", from, lanes, 2), wide = temp(m, to, lanes);
	int none = zeros(m, to, lanes), d = temp(m, to, lanes);
	op(m, LOW_CONVERT, wide, a, -1, -1);
	op(m, LOW_SELECT, d, c, wide, none);
	end(m, d);
}

static void widened_cases(Maker *m)
{
	static const DType types[] = {DT_U8, DT_I8, DT_I16, DT_I32, DT_I64};
	for (int i = 0; i < 4; i++)
		for (int k = i < 2 ? 2 : i + 1; k < 5; k++)
			for (int bytes = 4; bytes <= 8; bytes *= 2)
				widened_or_0(m, types[i], types[k],
				    bytes / dtype_bytes(types[i]));
	for (int i = 0; i < 4; i++)
		for (int k = 0; k < 4; k++)
			convert(m, types[i], types[k],
			    8 / dtype_bytes(types[i < k ? k : i]));
}

/* Bytes of two vectors that are made wider. */
static void words_of_two(Maker *m, DType from, DType to, int lanes)
{
	begin(m, label(m, LOW_SHUFFLE, to, lanes));
	int a = operand(m, "a", from, lanes, 1);
	int b = operand(m, "b", from, lanes, 9);
	int put = temp(m, from, lanes), d = temp(m, to, lanes);
	LowNode *n = op(m, LOW_SHUFFLE, put, a, b, -1);
	n->shuffle = NEW_N(m->arena, int, lanes);
	for (int l = 0; l < lanes; l++)
		n->shuffle[l] = (l * 3 + 1) % (2 * lanes);
	op(m, LOW_CONVERT, d, put, -1, -1);
	end(m, d);
}

/* A remainder that has all bits which are left of it, or fewer. */
static void low_bits(Maker *m, DType from, DType to, int lanes, int bits)
{
	begin(m, label(m, LOW_MOD, to, lanes));
	int a = loaded(m, "a", from, lanes, 1), by = temp(m, from, lanes);
	int rest = temp(m, from, lanes), d = temp(m, to, lanes);
	op(m, LOW_CONST, by, -1, -1, -1)->i = INT64_C(1) << bits;
	op(m, LOW_MOD, rest, a, by, -1);
	op(m, LOW_CONVERT, d, rest, -1, -1);
	end(m, d);
}

/* Bits of bytes that are made wide, read as often. */
static void wide_bits(Maker *m, DType from, int lanes, int times)
{
	begin(m, label(m, LOW_MOD, from, lanes));
	int a = loaded(m, "a", from, lanes, 1), by = temp(m, DT_I32, lanes);
	int wide = temp(m, DT_I32, lanes), rest = temp(m, DT_I32, lanes);
	int d = temp(m, DT_I32, lanes);
	op(m, LOW_CONVERT, wide, a, -1, -1);
	op(m, LOW_CONST, by, -1, -1, -1)->i = 4;
	op(m, LOW_MOD, rest, wide, by, -1);
	op(m, LOW_ADD, d, rest, times > 1 ? rest : wide, -1);
	end(m, d);
}

/* Lanes of two vectors, made wider in parts. */
static void parts_of_two(Maker *m, DType type, int lanes, int parts)
{
	begin(m, label(m, LOW_SHUFFLE, type, lanes));
	int a = loaded(m, "a", type, 2 * lanes, 0), sum = -1;
	int b = loaded(m, "b", type, 2 * lanes, 0), put = temp(m, type, lanes);
	LowNode *n = op(m, LOW_SHUFFLE, put, a, b, -1);
	n->shuffle = NEW_N(m->arena, int, lanes);
	for (int l = 0; l < lanes; l++)
		n->shuffle[l] = l * 3 + 1;
	for (int k = 0; k < parts; k++) {
		int part = temp(m, type, lanes / 2);
		int wide = temp(m, DT_I32, lanes / 2);
		n = op(m, LOW_SHUFFLE, part, put, -1, -1);
		n->shuffle = NEW_N(m->arena, int, lanes / 2);
		for (int l = 0; l < lanes / 2; l++)
			n->shuffle[l] = k * (lanes / 2) + l;
		op(m, LOW_CONVERT, wide, part, -1, -1);
		int both = temp(m, DT_I32, lanes / 2);
		op(m, sum < 0 ? LOW_COPY : LOW_XOR, both, wide, sum, -1);
		sum = both;
	}
	end(m, sum);
}

static void divided_by(Maker *m, LowOpcode code, DType type, int64_t by)
{
	begin(m, label(m, code, type, 1));
	int a = loaded(m, "a", type, 1, 1), n = temp(m, type, 1);
	int d = temp(m, type, 1);
	op(m, LOW_CONST, n, -1, -1, -1)->i = by;
	op(m, code, d, a, n, -1);
	end(m, d);
}

static void divided_cases(Maker *m)
{
	static const DType types[] = {DT_I8, DT_I16, DT_I32, DT_I64, DT_U8};
	for (LowOpcode o = LOW_FLOORDIV; o <= LOW_MOD; o++)
		for (int i = 0; i < 5; i++)
			for (int64_t by = 1; by <= 64; by *= 8)
				divided_by(m, o, types[i], by);
}

static void byte_cases(Maker *m)
{
	words_of_two(m, DT_U8, DT_I16, 8);
	words_of_two(m, DT_U8, DT_U16, 8);
	words_of_two(m, DT_I8, DT_I16, 8);
	words_of_two(m, DT_U8, DT_I32, 8);
	words_of_two(m, DT_U8, DT_I16, 16);
	low_bits(m, DT_I16, DT_U8, 8, 8);
	low_bits(m, DT_I16, DT_I8, 8, 7);
	low_bits(m, DT_I32, DT_U8, 8, 12);
	wide_bits(m, DT_U8, 8, 2);
	wide_bits(m, DT_I8, 8, 2);
	wide_bits(m, DT_I16, 4, 2);
	parts_of_two(m, DT_U8, 32, 2);
	parts_of_two(m, DT_I16, 32, 2);
	parts_of_two(m, DT_U8, 32, 1);
	parts_of_two(m, DT_U8, 16, 2);
}

static void other_cases(Maker *m)
{
	byte_cases(m);
	words_cases(m);
	words_of_parts(m);
	mask_words(m);
	for (int lanes = 1; lanes <= 64; lanes *= 4) {
		for (int k = 0; k < 2; k++) {
			DType type = k ? DT_INDEX : DT_I32;
			begin(m, label(m, LOW_IOTA, type, lanes));
			int a = operand(m, "a", type, 1, 4);
			int d = temp(m, type, lanes);
			op(m, LOW_IOTA, d, a, -1, -1);
			end(m, d);
		}
		logic_cases(m, lanes);
	}
	for (int i = 0; i < intrinsic_count(); i++)
		for (int lanes = 1; lanes <= 16; lanes *= 2)
			dot_case(m, intrinsic_at(i), lanes);
	for (DType type = DT_I16; type <= DT_U16; type++)
		for (LowOpcode o = LOW_SHL;
		     o <= LOW_SHR && dtype_bytes(type) == 2; o++)
			binary(m, o, type, 8);
}

static bool long_tier(void)
{
	const char *tier = getenv("TIER");
	return tier && !strcmp(tier, "long");
}

/* 1, and of the wider ones in turn one, or in the long tier two. */
static int widths(Maker *m, int out[3])
{
	static const int all[] = {2, 4, 8, 16, 32, 64};
	out[0] = 1;
	out[1] = all[m->next_width++ % 6];
	out[2] = all[m->next_width++ % 6];
	return long_tier() ? 3 : 2;
}

static void typed_cases(Maker *m, DType type, int lanes)
{
	bool number = type != DT_BOOL && !dtype_is_half(type);
	bool is_float = number && dtype_is_float(type);
	if (type != DT_INDEX) {
		memory_cases(m, type, lanes);
		unary(m, LOW_COPY, type, lanes);
		constants(m, type, lanes);
	}
	lanes_cases(m, type, lanes);
	select_cases(m, type, lanes);
	bits_case(m, type, lanes);
	for (LowOpcode o = LOW_ADD; number && o <= LOW_MUL; o++)
		binary(m, o, type, lanes);
	if (number) {
		unary(m, LOW_NEG, type, lanes);
		unary(m, LOW_ABS, type, lanes);
	}
	for (LowOpcode o = LOW_LT; !dtype_is_half(type) && o <= LOW_NE; o++)
		binary(m, o, type, lanes);
	if (!dtype_is_half(type))
		any_cases(m, type, lanes);
	if (!dtype_is_half(type)) {
		binary(m, LOW_MIN, type, lanes);
		binary(m, LOW_MAX, type, lanes);
	}
	if (is_float) {
		binary(m, LOW_DIV, type, lanes);
		fma_case(m, type, lanes);
		sums_case(m, type, lanes);
		if (type == DT_F32)
			unary(m, LOW_RSQRT, type, lanes);
		scale_case(m, type, lanes, false);
		scale_case(m, type, lanes, true);
		for (Op math = 0; math < OP_COUNT; math++)
			if (op_is_function(math))
				math_case(m, math, type, lanes);
	} else if (number) {
		binary(m, LOW_FLOORDIV, type, lanes);
		binary(m, LOW_MOD, type, lanes);
		binary(m, LOW_XOR, type, lanes);
		if (type != DT_INDEX) {
			binary(m, LOW_AND, type, lanes);
			binary(m, LOW_OR, type, lanes);
		}
		if (type != DT_INDEX && dtype_bytes(type) >= 2) {
			binary(m, LOW_SHL, type, lanes);
			binary(m, LOW_SHR, type, lanes);
		}
		if (type != DT_INDEX && dtype_bytes(type) >= 4)
			unary(m, LOW_POPCOUNT, type, lanes);
	}
}

static void cases_of(Maker *m, bool scalar)
{
	for (DType type = 0; type <= DT_INDEX; type++) {
		int lanes[3], n = widths(m, lanes);
		for (int i = 0; i < (scalar ? 1 : n); i++)
			typed_cases(m, type, lanes[i]);
	}
	for (DType from = 0; from <= DT_INDEX; from++)
		for (DType to = 0; to <= DT_INDEX; to++) {
			int lanes[3], n = widths(m, lanes);
			for (int i = 0; i < (scalar ? 1 : n); i++)
				convert(m, from, to, lanes[i]);
		}
	for (DType from = DT_F64; !scalar && from <= DT_F32; from++)
		for (DType to = DT_I16; to <= DT_U8; to++)
			if (dtype_bytes(to) <= 2)
				clamped_cases(m, from, to, 8);
	for (DType to = DT_I16; !scalar && to <= DT_U8; to++)
		for (int lanes = 4; lanes <= 32; lanes *= 2) {
			if (dtype_bytes(to) > 2)
				continue;
			clamped_cases(m, DT_I32, to, lanes);
			if (dtype_bytes(to) == 1)
				clamped_cases(m, DT_I16, to, lanes);
		}
	divided_cases(m);
	if (!scalar)
		other_cases(m);
}

static void all_cases(Maker *m)
{
	cases_of(m, false);
}

static void scalar_cases(Maker *m)
{
	cases_of(m, true);
}

/* --- data ---------------------------------------------------------------- */

static double some_float(Rng *rng)
{
	static const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN,
		1e-40, 2147483648.0, -2147483649.0, 1e19, 65519.0, 65520.0,
		0.5, 1.5, 2.5, -128.5, 127.5, 128.0, 255.9, 256.0, -0.9,
		32767.5, -32769.0, 2147483520.0, 2147483647.0, 0x1p63, 3e38, 5.9604644775390625e-8};
	if (rng_below(rng, 3) == 0)
		return special[rng_below(rng, sizeof special / sizeof *special)];
	return (rng_double(rng) - 0.5) * 200;
}

static void fill(DType type, void *data, uint64_t seed)
{
	Rng rng = rng_stream(seed, type, 1);
	unsigned char *p = data;
	for (int i = 0; i < ELEMENTS; i++, p += dtype_bytes(type)) {
		double f = some_float(&rng);
		float f32 = (float)f;
		uint64_t bits = rng_next(&rng);
		uint16_t half = type == DT_F16 ? f16_from_f64(f)
					       : bf16_from_f64(f);
		uint8_t b = bits & 1;
		if (type == DT_F64)
			memcpy(p, &f, 8);
		else if (type == DT_F32)
			memcpy(p, &f32, 4);
		else if (dtype_is_half(type))
			memcpy(p, &half, 2);
		else if (type == DT_BOOL)
			*p = b;
		else if (type == DT_U8)
			*p = bits % ELEMENTS;
		else
			memcpy(p, &bits, (size_t)dtype_bytes(type));
	}
}

enum { POISON = 0xa5, MAX_PARAMS = 8 };

static void write_inputs(FILE *file, const Case *c, int number, void **args)
{
	for (int i = 0; i < c->f->params.n; i++) {
		const LowParam *p = &c->f->params.at[i];
		size_t size = (size_t)dtype_bytes(p->type) * ELEMENTS;
		args[i] = malloc(size);
		if (p->output) {
			memset(args[i], POISON, size);
			continue;
		}
		fill(p->type, args[i], (uint64_t)number * 16 + (uint64_t)i);
		assert_int_equal(fwrite(args[i], 1, size, file), size);
	}
}

/* main() of the compiled program: reads inputs, calls, writes outputs. */
static void write_driver(Buf *out, const CaseVec *cases)
{
	buf_puts(out, "\n#include <stdio.h>\n#include <stdlib.h>\n"
	    "#include <string.h>\n"
	    "static void *in(size_t n)\n{\n\tvoid *p = malloc(n);\n"
	    "\tif (fread(p, 1, n, stdin) != n)\n\t\texit(9);\n\treturn p;\n}\n"
	    "static void out(void *p, size_t n)\n"
	    "{\n\tfwrite(p, 1, n, stdout);\n\tfree(p);\n}\n"
	    "int main(void)\n{\n\tvoid *p[8];\n");
	for (int i = 0; i < cases->n; i++) {
		const LowFunction *f = cases->at[i].f;
		int output = -1;
		for (int k = 0; k < f->params.n; k++) {
			int size = dtype_bytes(f->params.at[k].type) * ELEMENTS;
			if (f->params.at[k].output) {
				output = k;
				buf_printf(out, "\tp[%d] = memset(malloc(%d), "
				    "%d, %d);\n", k, size, POISON, size);
			} else {
				buf_printf(out, "\tp[%d] = in(%d);\n", k, size);
			}
		}
		buf_printf(out, "\t%s(", f->name);
		for (int k = 0; k < f->params.n; k++)
			buf_printf(out, "%sp[%d]", k ? ", " : "", k);
		buf_puts(out, ");\n");
		for (int k = 0; k < f->params.n; k++)
			if (k != output)
				buf_printf(out, "\tfree(p[%d]);\n", k);
		buf_printf(out, "\tout(p[%d], %d);\n", output,
		    dtype_bytes(f->params.at[output].type) * ELEMENTS);
	}
	buf_puts(out, "\treturn 0;\n}\n");
}

static bool is_nan_of(DType type, const void *p)
{
	double f64;
	float f32;
	uint16_t half;
	switch (type) {
	case DT_F64: memcpy(&f64, p, 8); return isnan(f64);
	case DT_F32: memcpy(&f32, p, 4); return isnan(f32);
	case DT_F16: memcpy(&half, p, 2); return isnan(f16_to_f32(half));
	case DT_BF16: memcpy(&half, p, 2); return isnan(bf16_to_f32(half));
	default: return false;
	}
}

static int compare(const Case *c, const void *want, const void *got)
{
	int bytes = dtype_bytes(c->out);
	for (int i = 0; i < ELEMENTS; i++) {
		const char *w = (const char *)want + i * bytes;
		const char *g = (const char *)got + i * bytes;
		if (!memcmp(w, g, (size_t)bytes) ||
		    (is_nan_of(c->out, w) && is_nan_of(c->out, g)))
			continue;
		uint64_t wb = 0, gb = 0;
		memcpy(&wb, w, (size_t)bytes);
		memcpy(&gb, g, (size_t)bytes);
		print_error("%s (%s): element %d is %llx, not %llx\n", c->what,
		    c->f->name, i, (unsigned long long)gb,
		    (unsigned long long)wb);
		return 1;
	}
	return 0;
}

/* --- running ------------------------------------------------------------- */

static char folder[] = "/tmp/tunec-emit-c-XXXXXX";

static void put_file(const char *name, const Buf *text)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fwrite(text->data, 1, text->size, file);
	fclose(file);
}

static bool have(const char *tool)
{
	char command[128];
	snprintf(command, sizeof command, "command -v %s >/dev/null", tool);
	return system(command) == 0;
}

/* The functions as LLVM compiles them, in a library. */
static void *llvm_library(
    const Lowered *const *lowered, int n, const char *cpu)
{
	static int number;
	Error error = {0};
	Buf object = {0};
	const LlvmModule *llvm = llvm_module(&error);
	if (!llvm || llvm->compile(lowered, n, "x86_64-pc-linux-gnu", cpu, "",
			LLVM_OBJECT, &object, &error)) {
		print_error("%s\n", error.text);
		return NULL;
	}
	put_file("want.o", &object);
	buf_free(&object);
	char path[256], command[1024];
	snprintf(path, sizeof path, "%s/want%d.so", folder, number++);
	snprintf(command, sizeof command, "gcc -shared -o %s %s/want.o -lm",
	    path, folder);
	return system(command) ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void call(void *library, const Case *c, void **args)
{
	typedef void Function(void *, void *, void *, void *, void *, void *);
	Function *f;
	*(void **)&f = dlsym(library, c->f->name);
	assert_non_null(f);
	f(args[0], args[1], args[2], args[3], args[4], args[5]);
}

static void run_and_compare(
    const CaseVec *cases, const char *compiler, void *library)
{
	char command[1024];
	snprintf(command, sizeof command,
	    "cd %s && %s -Wall -Wextra -Werror -o t t.c -lm && ./t <in >out",
	    folder, compiler);
	char path[256];
	snprintf(path, sizeof path, "%s/in", folder);
	FILE *in = fopen(path, "w");
	void *(*args)[MAX_PARAMS] = calloc((size_t)cases->n, sizeof *args);
	for (int i = 0; i < cases->n; i++)
		write_inputs(in, &cases->at[i], i, args[i]);
	fclose(in);
	if (system(command))
		fail_msg("%s", command);
	snprintf(path, sizeof path, "%s/out", folder);
	FILE *out = fopen(path, "r");
	int wrong = 0;
	for (int i = 0; i < cases->n; i++) {
		const Case *c = &cases->at[i];
		call(library, c, args[i]);
		char got[8 * ELEMENTS];
		size_t size = (size_t)dtype_bytes(c->out) * ELEMENTS;
		assert_int_equal(fread(got, 1, size, out), size);
		for (int k = 0; k < c->f->params.n; k++) {
			if (c->f->params.at[k].output)
				wrong += compare(c, args[i][k], got);
			free(args[i][k]);
		}
	}
	fclose(out);
	free(args);
	assert_int_equal(wrong, 0);
}

/* What a target of three leaves to the others, of each three cases; none in the
 * long tier. */
enum { FIRST, SECOND, THIRD, NONE };

static void leave_out(CaseVec *cases, int which)
{
	int kept = 0;
	for (int i = 0; i < cases->n; i++)
		if (long_tier() || (int)(hash_mix((uint64_t)i) % 3) != which)
			cases->at[kept++] = cases->at[i];
	cases->n = kept;
}

static void through(const char *target_text, void (*make)(Maker *m),
    int left_out, const char *const *compilers)
{
	Arena *arena = arena_new();
	CaseVec cases = {0};
	Maker m = {.arena = arena, .cases = &cases};
	make(&m);
	leave_out(&cases, left_out);
	Error error = {0};
	Target *target = target_parse(arena, target_text, &error);
	if (!target)
		fail_msg("%s", error.text);
	if (!target_runs_here(target)) {
		arena_free(arena);
		skip();
	}
	Program program = {.name = "test", .case_name = "", .symbol = "test"};
	const Lowered **lowered = NEW_N(arena, const Lowered *, cases.n);
	EmitComment *comments = NEW_N(arena, EmitComment, cases.n);
	for (int i = 0; i < cases.n; i++) {
		Lowered *l = NEW(arena, Lowered);
		l->program = &program;
		l->kernel = cases.at[i].f;
		lowered[i] = l;
		comments[i] = (EmitComment){target->text, "none", ""};
	}
	Buf text = {0};
	void *library = llvm_library(
	    lowered, cases.n, *target->cpu ? target->cpu : "x86-64");
	assert_non_null(library);
	emit_c_all(&text, lowered, cases.n, target, comments);
	write_driver(&text, &cases);
	put_file("t.c", &text);
	buf_free(&text);
	/* release has them; here it is the emitter that is looked at */
	for (int i = 0;
	     !ADDRESS_SANITIZER && compilers[i] && (!i || long_tier()); i++)
		if (have(arena_strndup(arena, compilers[i],
			strcspn(compilers[i], " "))))
			run_and_compare(&cases, compilers[i], library);
	dlclose(library);
	arena_free(arena);
}

#define SANITIZE " -fsanitize=address,undefined -fno-sanitize-recover=all "

static void avx512(void **state)
{
	(void)state;
	static const char *const compilers[] = {"gcc -O0" SANITIZE,
	    "gcc -O1" SANITIZE, "clang-14 -O1 -std=c11", NULL};
	through(
	    "llvm -mtriple=x86_64-pc-linux-gnu -mcpu=icelake-server -threads=1",
	    all_cases, FIRST, compilers);
}

static void avx2(void **state)
{
	(void)state;
	static const char *const compilers[] = {"clang-14 -O0" SANITIZE,
	    "clang-14 -O1" SANITIZE, "gcc -O2 -std=c11", NULL};
	through("llvm -mtriple=x86_64-pc-linux-gnu -mcpu=haswell -threads=1",
	    all_cases, SECOND, compilers);
}

static void plain(void **state)
{
	(void)state;
	static const char *const compilers[] = {
		"gcc -O1 -march=native -std=c11 -pedantic",
		"clang-14 -O2 -march=native", "gcc -O2 -march=native", NULL};
	through("c", scalar_cases, NONE, compilers);
}

/* As a compiler that is not for x86-64 reads it. */
static void sse2(void **state)
{
	(void)state;
	static const char *const compilers[] = {
		"gcc -O1 -std=c11 -DTUNEC_GENERIC", "gcc -O2", NULL};
	through("llvm -mtriple=x86_64-pc-linux-gnu -mcpu=x86-64 -threads=1",
	    all_cases, THIRD, compilers);
}

/* As the cases of all operations are not: without a sanitizer. */
static void widened(void **state)
{
	(void)state;
	static const char *const compilers[] = {
	    "gcc -O2", "clang-14 -O2", NULL};
	through(
	    "llvm -mtriple=x86_64-pc-linux-gnu -mcpu=icelake-server -threads=1",
	    widened_cases, NONE, compilers);
	through("llvm -mtriple=x86_64-pc-linux-gnu -mcpu=haswell -threads=1",
	    widened_cases, NONE, compilers);
}

/* Has the C of a function for a CPU that text in it? */
static bool says(LowFunction *f, const char *cpu, const char *what)
{
	Arena *arena = arena_new();
	Error error = {0};
	Program program = {.name = "test", .case_name = "", .symbol = "test"};
	Target *target = target_parse(arena,
	    arena_printf(arena,
		"llvm -mtriple=x86_64-pc-linux-gnu -mcpu=%s -threads=1", cpu),
	    &error);
	Lowered l = {.program = &program, .kernel = f};
	const Lowered *lowered = &l;
	EmitComment comment = {target->text, "none", ""};
	Buf text = {0};
	emit_c_all(&text, &lowered, 1, target, &comment);
	bool has = strstr(buf_text(&text), what);
	buf_free(&text);
	arena_free(arena);
	return has;
}

/* A clamp and a conversion for a machine as C. */
static bool clamps_by(
    DType from, DType to, int lanes, const char *cpu, const char *instruction)
{
	Arena *arena = arena_new();
	CaseVec cases = {0};
	Maker m = {.arena = arena, .cases = &cases};
	clamped_cases(&m, from, to, lanes);
	int found = 0, exact = to == DT_I16 ? 8 : to == DT_I8 ? 2 : 0;
	for (int k = 0; k < 12; k++) {
		bool has = says(cases.at[k].f, cpu, instruction);
		found += has && (k & ~1) == exact;
		found -= has && (k & ~1) != exact;
	}
	arena_free(arena);
	return found == 2;
}

static void packed(void **state)
{
	(void)state;
	assert_true(clamps_by(DT_I32, DT_I16, 16, "znver4", "cvtsepi32_epi16"));
	assert_true(clamps_by(DT_I32, DT_U8, 32, "znver4", "cvtusepi32_epi8"));
	assert_true(clamps_by(DT_I16, DT_I8, 16, "znver4", "cvtsepi16_epi8"));
	assert_true(clamps_by(DT_I32, DT_I16, 8, "haswell", "packs_epi32"));
	assert_true(clamps_by(DT_I32, DT_U8, 8, "haswell", "packus_epi16"));
	assert_false(clamps_by(DT_I32, DT_I16, 8, "x86-64", "packs_epi32"));
}

/* Has the C of a conversion this text? */
static bool conversion_says(
    DType from, DType to, int lanes, const char *cpu, const char *text)
{
	Arena *arena = arena_new();
	CaseVec cases = {0};
	Maker m = {.arena = arena, .cases = &cases};
	begin(&m, label(&m, LOW_CONVERT, to, lanes));
	int a = loaded(&m, "a", from, lanes, 0), d = temp(&m, to, lanes);
	op(&m, LOW_CONVERT, d, a, -1, -1);
	LowNode *n = op(&m, LOW_STORE, -1, d, -1, -1);
	n->buffer = result_buffer(&m, to);
	finish(&m, to);
	bool has = says(cases.at[0].f, cpu, text);
	arena_free(arena);
	return has;
}

/* Is f32 between them, not lane by lane? */
static bool goes_by_f32(DType from, DType to)
{
	return conversion_says(from, to, 8, "znver4", "X8(CONVERT_F32_");
}

/* Vectors of 8 bytes and of 4 by one instruction each, of gcc. */
static void eight(void **state)
{
	(void)state;
	const char *narrow = "_mm_cvtepi16_epi8(WORDS_64(a))";
	const char *picked = "_mm_shuffle_epi8(WORDS_64(a), _mm_setr_epi8(0, 2";
	const char *wide = "int64_t tunec_w; \\\n\t__asm__(\"vpmovsxwd";
	assert_true(conversion_says(DT_I16, DT_U8, 4, "znver4", narrow));
	assert_true(conversion_says(DT_I16, DT_I8, 4, "haswell", picked));
	assert_true(conversion_says(DT_I16, DT_I32, 2, "znver4", wide));
	assert_true(conversion_says(DT_I16, DT_I32, 2, "haswell", wide));
	assert_false(conversion_says(DT_I16, DT_U8, 4, "x86-64", "_mm_sh"));
	assert_false(conversion_says(DT_I16, DT_I32, 2, "x86-64", wide));
}

/* Lanes of a vector with each of them so often side by side: is it by this? */
static bool strews(
    DType type, int lanes, int times, const char *cpu, const char *instruction)
{
	Arena *arena = arena_new();
	CaseVec cases = {0};
	Maker m = {.arena = arena, .cases = &cases};
	int to = lanes * times;
	begin(&m, label(&m, LOW_SHUFFLE, type, to));
	int a = loaded(&m, "a", type, lanes, 0), d = temp(&m, type, to);
	LowNode *n = op(&m, LOW_SHUFFLE, d, a, -1, -1);
	n->shuffle = NEW_N(arena, int, to);
	for (int l = 0; l < to; l++)
		n->shuffle[l] = l / times;
	end(&m, d);
	bool has = says(cases.at[0].f, cpu,
	    arena_printf(arena, "_shuffle_epi8(_mm%d_%s",
		8 * to * dtype_bytes(type), instruction));
	arena_free(arena);
	return has;
}

static void strewn(void **state)
{
	(void)state;
	assert_true(strews(DT_U8, 4, 8, "znver4", "set1_epi32((int32_t)(a))"));
	assert_true(strews(DT_U8, 8, 8, "znver4", "set1_epi64((int64_t)(a))"));
	assert_true(
	    strews(DT_I8, 8, 4, "haswell", "set1_epi64x((int64_t)(a))"));
	assert_true(strews(DT_I16, 8, 2, "haswell", "broadcastsi128_si256"));
	assert_true(strews(DT_U16, 8, 4, "znver4", "broadcast_i32x4"));
	assert_false(strews(DT_U8, 4, 4, "haswell", "")); /* 16 bytes */
	assert_false(strews(DT_I32, 4, 2, "haswell", ""));
	assert_false(strews(DT_U8, 8, 4, "x86-64", ""));
}

static void halves(void **state)
{
	(void)state;
	assert_true(goes_by_f32(DT_BF16, DT_F16));
	assert_true(goes_by_f32(DT_F16, DT_BF16));
	assert_true(goes_by_f32(DT_F16, DT_I8));
	assert_true(goes_by_f32(DT_BF16, DT_F64));
	assert_true(goes_by_f32(DT_I8, DT_F16));
	assert_true(goes_by_f32(DT_I32, DT_F16));
	assert_true(goes_by_f32(DT_U16, DT_BF16));
	/* would be rounded twice */
	assert_false(goes_by_f32(DT_I32, DT_BF16));
	assert_false(goes_by_f32(DT_F64, DT_F16));
}

/* Lanes of 16 bits shifted by one number each: by way of 32? */
static bool shifts_wide(LowOpcode op, DType type, int lanes, const char *cpu)
{
	Arena *arena = arena_new();
	CaseVec cases = {0};
	Maker m = {.arena = arena, .cases = &cases};
	binary(&m, op, type, lanes);
	bool has = says(cases.at[0].f, cpu, "v_epi32(_mm256_cvtep");
	arena_free(arena);
	return has;
}

static void shifted(void **state)
{
	(void)state;
	assert_true(shifts_wide(LOW_SHR, DT_I16, 8, "haswell"));
	assert_true(shifts_wide(LOW_SHL, DT_U16, 8, "haswell"));
	assert_false(shifts_wide(LOW_SHR, DT_I32, 8, "haswell"));
	assert_false(shifts_wide(LOW_SHR, DT_I16, 8, "znver4"));
	assert_false(shifts_wide(LOW_SHR, DT_I16, 8, "x86-64"));
}

/* Does gcc gather lanes by an instruction, for so many gathers by one vector? */
static bool gathers(int times, bool numbers, const char *cpu)
{
	Arena *arena = arena_new();
	CaseVec cases = {0};
	Maker m = {.arena = arena, .cases = &cases};
	begin(&m, label(&m, LOW_GATHER, DT_F32, 16));
	int index =
	    numbers ? temp(&m, DT_I32, 16) : loaded(&m, "i", DT_I32, 16, 0);
	int zero = temp(&m, DT_I32, 1), d = -1;
	op(&m, LOW_CONST, zero, -1, -1, -1);
	if (numbers)
		op(&m, LOW_IOTA, index, zero, -1, -1);
	int a = new_buffer(&m, "a", DT_F32, false);
	int out = result_buffer(&m, DT_F32);
	for (int i = 0; i < times; i++) {
		d = temp(&m, DT_F32, 16);
		LowNode *n = op(&m, LOW_GATHER, d, index, -1, -1);
		n->buffer = a;
		n = op(&m, LOW_STORE, -1, d, -1, -1);
		n->buffer = out;
		n->address = low_affine_const(16 * i);
	}
	finish(&m, DT_F32);
	bool has = says(cases.at[0].f, cpu, "GATHER_BY_F32X16(a");
	arena_free(arena);
	return has;
}

static void gathered(void **state)
{
	(void)state;
	assert_true(gathers(1, false, "znver4"));
	assert_false(gathers(2, false, "znver4"));
	assert_false(gathers(1, true, "znver4"));
	assert_false(gathers(1, false, "haswell"));
	assert_true(gathers(2, true, "sapphirerapids"));
}

/* Bytes, put together of two vectors or loaded, are made wide and compared: does clang
 * not see that? */
static bool compares_wide(
    LowOpcode order, DType from, bool put, const char *cpu)
{
	Arena *arena = arena_new();
	CaseVec cases = {0};
	Maker m = {.arena = arena, .cases = &cases};
	begin(&m, label(&m, order, DT_I16, 8));
	int a = loaded(&m, "a", from, 8, 1), wide = temp(&m, DT_I16, 8);
	int b = loaded(&m, "b", DT_I16, 8, 0), less = temp(&m, DT_BOOL, 8);
	int d = temp(&m, DT_I16, 8), each = temp(&m, from, 8);
	LowNode *n = put ? op(&m, LOW_SHUFFLE, each, a,
			       loaded(&m, "c", from, 8, 0), -1)
			 : op(&m, LOW_COPY, each, a, -1, -1);
	n->shuffle = NEW_N(arena, int, 8);
	for (int l = 0; l < 8; l++)
		n->shuffle[l] = (put ? l * 3 + 1 : l) % 16;
	op(&m, LOW_CONVERT, wide, each, -1, -1);
	op(&m, order, less, b, wide, -1);
	op(&m, LOW_SELECT, d, less, b, zeros(&m, DT_I16, 8));
	end(&m, d);
	bool has = says(cases.at[0].f, cpu, "WIDE_I16X8(");
	arena_free(arena);
	return has;
}

static void compared(void **state)
{
	(void)state;
	assert_true(compares_wide(LOW_LT, DT_U8, true, "haswell"));
	assert_true(compares_wide(LOW_LE, DT_U8, true, "haswell"));
	assert_false(compares_wide(LOW_LT, DT_U8, false, "haswell"));
	assert_false(compares_wide(LOW_EQ, DT_U8, true, "haswell"));
	assert_false(compares_wide(LOW_LT, DT_I8, true, "haswell"));
	assert_false(compares_wide(LOW_LT, DT_U8, true, "znver4"));
	assert_false(compares_wide(LOW_LT, DT_U8, true, "x86-64"));
}

static bool byte_case_says(int at, const char *cpu, const char *text)
{
	Arena *arena = arena_new();
	CaseVec cases = {0};
	Maker m = {.arena = arena, .cases = &cases};
	byte_cases(&m);
	bool has = says(cases.at[at].f, cpu, text);
	arena_free(arena);
	return has;
}

/* One shuffle makes words of the bytes that it takes; what is cut off is not taken off
 * before. */
static void bytes(void **state)
{
	(void)state;
	assert_true(byte_case_says(0, "haswell", "4, -1, 7, -1, 10, -1, "));
	assert_true(byte_case_says(1, "haswell", "4, -1, 7, -1, 10, -1, "));
	for (int i = 2; i < 5; i++)
		assert_false(byte_case_says(i, "haswell", "7, -1, "));
	assert_false(byte_case_says(0, "x86-64", "7, -1, "));
	assert_false(byte_case_says(5, "haswell", "I16X8(255)"));
	assert_true(byte_case_says(6, "haswell", "I16X8(127)"));
	assert_false(byte_case_says(7, "haswell", "I32X8(4095)"));
}

/* What one instruction puts together of two vectors clang does not in parts. */
static void kept_whole(void **state)
{
	(void)state;
	assert_true(byte_case_says(11, "icelake-server", "WHOLE_U8X32(SH"));
	assert_true(byte_case_says(12, "skylake-avx512", "WHOLE_I16X32(SH"));
	assert_false(byte_case_says(11, "skylake-avx512", "WHOLE_"));
	assert_false(byte_case_says(12, "haswell", "WHOLE_"));
	assert_false(byte_case_says(13, "icelake-server", "WHOLE_"));
	assert_false(byte_case_says(14, "icelake-server", "WHOLE_"));
}

/* Bytes under a mask: whole where all are on, for machines without instructions for
 * that. */
static bool loads_whole(DType type, int lanes, const char *cpu)
{
	Arena *arena = arena_new();
	CaseVec cases = {0};
	Maker m = {.arena = arena, .cases = &cases};
	memory_cases(&m, type, lanes);
	const char *test =
	    lanes * dtype_bytes(type) <= 8 ? "(m) == -1 ?" : "(m)) == 0xffff ?";
	bool whole = says(cases.at[0].f, cpu, test);
	arena_free(arena);
	return whole;
}

static void whole(void **state)
{
	(void)state;
	assert_true(loads_whole(DT_U8, 8, "haswell"));
	assert_true(loads_whole(DT_I16, 8, "haswell"));
	assert_true(loads_whole(DT_F32, 4, "x86-64"));
	assert_false(loads_whole(DT_F32, 4, "haswell"));
	assert_false(loads_whole(DT_U8, 8, "znver4"));
}

/* A vector at a place that is read twice. */
static bool loads_once(int at, const char *cpu)
{
	Arena *arena = arena_new();
	CaseVec cases = {0};
	Maker m = {.arena = arena, .cases = &cases};
	begin(&m, "read twice");
	int a = loaded(&m, "a", DT_F32, 8, at), d = temp(&m, DT_F32, 8);
	op(&m, LOW_MUL, d, a, a, -1);
	end(&m, d);
	bool once = says(cases.at[0].f, cpu, "LOAD_ONCE");
	arena_free(arena);
	return once;
}

static void once(void **state)
{
	(void)state;
	assert_true(loads_once(1, "haswell"));
	assert_false(loads_once(8, "haswell"));
	assert_true(loads_once(8, "znver4"));
	assert_false(loads_once(1, "x86-64"));
}

/* A root of one number: compilers would ask before each whether errno is to be set. */
static bool takes_root(Op math, DType type, const char *cpu, const char *text)
{
	Arena *arena = arena_new();
	CaseVec cases = {0};
	Maker m = {.arena = arena, .cases = &cases};
	math_case(&m, math, type, 1);
	bool has = says(cases.at[0].f, cpu, text);
	arena_free(arena);
	return has;
}

static void roots(void **state)
{
	(void)state;
	assert_true(takes_root(OP_SQRT, DT_F32, "haswell", "_mm_sqrt_ss("));
	assert_true(takes_root(OP_RSQRT, DT_F32, "znver4", "1 / SQRT_F32("));
	assert_true(takes_root(OP_SQRT, DT_F64, "x86-64", "_mm_sqrt_sd("));
	assert_false(takes_root(OP_EXP, DT_F32, "haswell", "_mm_"));
}

/* Vectors that are added, or summed up, for a CPU: is gcc told a machine? */
/* A sum of as many products that is stored under an `if`. */
static bool keeps_sum(int times, const char *cpu)
{
	Arena *arena = arena_new();
	CaseVec cases = {0};
	Maker m = {.arena = arena, .cases = &cases};
	begin(&m, "stored or not");
	int a = loaded(&m, "a", DT_F32, 8, 0),
	    b = loaded(&m, "b", DT_F32, 8, 3);
	int all = loaded(&m, "c", DT_F32, 1, 0), c = temp(&m, DT_BOOL, 1);
	int sum = temp(&m, DT_F32, 8);
	op(&m, LOW_LT, c, all, all, -1);
	op(&m, LOW_CONST, sum, -1, -1, -1);
	for (int i = 0; i < times; i++)
		op(&m, LOW_FMA, sum, a, b, sum);
	LowNode *n = NEW(arena, LowNode);
	*n = (LowNode){.kind = LOWNODE_IF, .condition = c, .dst = -1};
	vec_push(arena, &m.f->body, n);
	low_op(arena, &n->body, LOW_STORE, -1, sum, -1, -1)->buffer =
	    result_buffer(&m, DT_F32);
	finish(&m, DT_F32);
	bool has = says(cases.at[0].f, cpu, "\tTUNEC_KEPT(");
	arena_free(arena);
	return has;
}

static void kept_sums(void **state)
{
	(void)state;
	assert_true(keeps_sum(5, "haswell"));
	assert_true(keeps_sum(5, "znver4"));
	assert_false(keeps_sum(4, "haswell"));
}

/* By one number for all lanes, to itself or to another: is it a sum's own register? */
static bool sums_by_number(bool own, const char *cpu)
{
	Arena *arena = arena_new();
	CaseVec cases = {0};
	Maker m = {.arena = arena, .cases = &cases};
	begin(&m, "by a number");
	int a = loaded(&m, "a", DT_F32, 8, 0),
	    c = loaded(&m, "c", DT_F32, 8, 3);
	int by = temp(&m, DT_F32, 8), d = own ? c : temp(&m, DT_F32, 8);
	op(&m, LOW_CONST, by, -1, -1, -1)->f = 3;
	op(&m, LOW_FMA, d, by, a, c);
	end(&m, d);
	bool has = says(cases.at[0].f, cpu, "SUM_F32X8(F32X8(3.0f), ");
	arena_free(arena);
	return has;
}

static void by_number(void **state)
{
	(void)state;
	assert_true(sums_by_number(true, "haswell"));
	assert_false(sums_by_number(false, "haswell"));
	assert_false(sums_by_number(true, "znver4"));
}

static bool tunes_gcc(bool sums, const char *cpu)
{
	Arena *arena = arena_new();
	CaseVec cases = {0};
	Maker m = {.arena = arena, .cases = &cases};
	if (sums)
		sums_case(&m, DT_F32, 8);
	else
		binary(&m, LOW_ADD, DT_F32, 8);
	bool has = says(cases.at[0].f, cpu, "tune=skylake");
	arena_free(arena);
	return has;
}

static void tuned(void **state)
{
	(void)state;
	assert_true(tunes_gcc(false, "haswell"));
	assert_false(tunes_gcc(true, "haswell"));
	assert_false(tunes_gcc(false, "znver4"));
	assert_false(tunes_gcc(false, "x86-64"));
}

static LowNode *loop_of(Maker *m, LowBody *body, int var, int64_t extent)
{
	LowNode *n = NEW(m->arena, LowNode);
	n->kind = LOWNODE_LOOP;
	n->var = var;
	n->extent = extent;
	n->condition = -1;
	vec_push(m->arena, body, n);
	return n;
}

static LowAffine sum_of(Maker *m, int a, int64_t stride, int b)
{
	LowAffine sum = {.n = 2, .terms = NEW_N(m->arena, LowTerm, 2)};
	sum.terms[0] = (LowTerm){a, stride};
	sum.terms[1] = (LowTerm){b, 1};
	return sum;
}

/* out[i*16 + x[p] + p] = 1, for indices of a type: has the row a pointer? */
static bool has_row(DType type)
{
	Arena *arena = arena_new();
	CaseVec cases = {0};
	Maker m = {.arena = arena, .cases = &cases};
	begin(&m, "counts");
	int i = temp(&m, DT_INDEX, 1), p = temp(&m, DT_INDEX, 1);
	int x = temp(&m, type, 1), index = temp(&m, DT_INDEX, 1);
	int one = temp(&m, DT_I32, 1);
	LowBody *kernel = &m.f->body;
	op(&m, LOW_CONST, one, -1, -1, -1)->i = 1;
	LowNode *outer = loop_of(&m, kernel, i, 4);
	LowNode *inner = loop_of(&m, &outer->body, p, 8);
	LowNode *load = low_op(arena, &inner->body, LOW_LOAD, x, -1, -1, -1);
	load->buffer = new_buffer(&m, "x", type, false);
	load->address = sum_of(&m, i, 8, p);
	low_op(arena, &inner->body, LOW_CONVERT, index, x, -1, -1);
	LowNode *store =
	    low_op(arena, &inner->body, LOW_STORE, -1, one, -1, -1);
	store->buffer = result_buffer(&m, DT_I32);
	LowTerm along = {p, 1};
	store->address = low_affine_add(
	    arena, sum_of(&m, i, 16, index), (LowAffine){0, 1, &along}, 1);
	finish(&m, DT_I32);
	bool has = says(cases.at[0].f, "haswell", "out_at = &out[t*16];") &&
	    says(cases.at[0].f, "haswell", "out_at[");
	arena_free(arena);
	return has;
}

/* Only where it lies in the buffer whatever the index is. */
static void data_rows(void **state)
{
	(void)state;
	assert_true(has_row(DT_U8));
	assert_false(has_row(DT_I8));
}

/* sum += x[k] * x[k + apart] of `sums` vectors, for k < extent: has the C this text? */
static bool window_says(
    int sums, int64_t apart, int64_t extent, const char *text)
{
	Arena *arena = arena_new();
	CaseVec cases = {0};
	Maker m = {.arena = arena, .cases = &cases};
	begin(&m, "windows");
	int k = temp(&m, DT_INDEX, 1), all = temp(&m, DT_F32, 16);
	int x = new_buffer(&m, "x", DT_F32, false), read[2], sum[16];
	for (int i = 0; i < sums; i++) {
		sum[i] = temp(&m, DT_F32, 16);
		op(&m, LOW_CONST, sum[i], -1, -1, -1);
	}
	LowNode *loop = loop_of(&m, &m.f->body, k, extent);
	for (int i = 0; i < 2; i++) {
		read[i] = temp(&m, DT_F32, 1);
		LowNode *load =
		    low_op(arena, &loop->body, LOW_LOAD, read[i], -1, -1, -1);
		LowTerm along = {k, 1};
		load->buffer = x;
		load->address = (LowAffine){
		    i * apart, 1, arena_memdup(arena, &along, sizeof along)};
	}
	low_op(arena, &loop->body, LOW_BROADCAST, all, read[0], -1, -1);
	for (int i = 0; i < sums; i++)
		low_op(arena, &loop->body, LOW_FMA, sum[i], all, all, sum[i]);
	int rest = temp(&m, DT_F32, 16), last = temp(&m, DT_F32, 16);
	low_op(arena, &loop->body, LOW_BROADCAST, rest, read[1], -1, -1);
	low_op(arena, &loop->body, LOW_ADD, sum[0], rest, sum[0], -1);
	op(&m, LOW_COPY, last, sum[0], -1, -1);
	for (int i = 1; i < sums; i++) {
		int next = temp(&m, DT_F32, 16);
		op(&m, LOW_ADD, next, last, sum[i], -1);
		last = next;
	}
	end(&m, last);
	bool has = says(cases.at[0].f, "znver4", text);
	arena_free(arena);
	return has;
}

/* Is it read again as k grows? */
static bool reads_again(int sums, int64_t apart)
{
	return window_says(sums, apart, 8, "TUNEC_AGAIN();");
}

/* A loop that asks for x ahead and adds `reads` numbers of it to a sum: has the C for
 * the CPU this text? */
static bool reads_ahead(int reads, const char *cpu, const char *text)
{
	Arena *arena = arena_new();
	CaseVec cases = {0};
	Maker m = {.arena = arena, .cases = &cases};
	begin(&m, "ahead");
	int k = temp(&m, DT_INDEX, 1), sum = temp(&m, DT_F32, 1);
	int x = new_buffer(&m, "x", DT_F32, false);
	LowTerm *along = NEW(arena, LowTerm);
	*along = (LowTerm){k, 100000};
	op(&m, LOW_CONST, sum, -1, -1, -1);
	LowNode *loop = loop_of(&m, &m.f->body, k, 4);
	LowNode *ahead =
	    low_op(arena, &loop->body, LOW_PREFETCH, -1, -1, -1, -1);
	ahead->buffer = x;
	ahead->address = (LowAffine){64, 1, along};
	ahead->i = 2;
	for (int i = 0; i < reads; i++) {
		int read = temp(&m, DT_F32, 1);
		LowNode *load =
		    low_op(arena, &loop->body, LOW_LOAD, read, -1, -1, -1);
		load->buffer = x;
		load->address = (LowAffine){i, 1, along};
		low_op(arena, &loop->body, LOW_FMA, sum, read, read, sum);
	}
	int last = temp(&m, DT_F32, 1);
	op(&m, LOW_COPY, last, sum, -1, -1);
	end(&m, last);
	bool has = says(cases.at[0].f, cpu, text);
	arena_free(arena);
	return has;
}

/* gcc leaves prefetches where they are, clang has one register of an address. */
static void ahead(void **state)
{
	(void)state;
	assert_true(reads_ahead(8, "haswell", "volatile(\"prefetcht1 %a0\""));
	assert_true(reads_ahead(8, "haswell", "__builtin_prefetch((p), 0, 2)"));
	assert_true(reads_ahead(8, "haswell", "TUNEC_ADDED(x_at);"));
	assert_false(reads_ahead(7, "haswell", "TUNEC_ADDED"));
}

/* Where what an iteration reads is elsewhere in the next, and sums fill half of the
 * registers. */
static void windows(void **state)
{
	(void)state;
	assert_true(reads_again(16, 1));
	assert_false(reads_again(16, 2));
	assert_false(reads_again(8, 1));
}

static bool is_rolled(int sums, int64_t extent)
{
	return window_says(sums, 1, extent, "\tTUNEC_ROLLED\n\tfor (");
}

/* Where several sums are copies, and there are iterations. */
static void rolled(void **state)
{
	(void)state;
	assert_true(is_rolled(4, 8));
	assert_false(is_rolled(3, 8));
	assert_false(is_rolled(4, 4));
}

/* for c: `loops` times for k: sum += x[k]*x[k] of `sums` vectors: is gcc told that
 * these are shared? */
static bool is_shared(int sums, int loops, const char *cpu)
{
	Arena *arena = arena_new();
	CaseVec cases = {0};
	Maker m = {.arena = arena, .cases = &cases};
	begin(&m, "shared");
	int x = new_buffer(&m, "x", DT_F32, false), sum[16];
	for (int i = 0; i < sums; i++) {
		sum[i] = temp(&m, DT_F32, 16);
		op(&m, LOW_CONST, sum[i], -1, -1, -1);
	}
	LowNode *outer = loop_of(&m, &m.f->body, temp(&m, DT_INDEX, 1), 8);
	for (int l = 0; l < loops; l++) {
		int k = temp(&m, DT_INDEX, 1), read = temp(&m, DT_F32, 1);
		int all = temp(&m, DT_F32, 16);
		LowNode *loop = loop_of(&m, &outer->body, k, 8);
		LowNode *load =
		    low_op(arena, &loop->body, LOW_LOAD, read, -1, -1, -1);
		LowTerm along = {k, 1};
		load->buffer = x;
		load->address = (LowAffine){
		    0, 1, arena_memdup(arena, &along, sizeof along)};
		low_op(arena, &loop->body, LOW_BROADCAST, all, read, -1, -1);
		for (int i = 0; i < sums; i++)
			low_op(arena, &loop->body, LOW_FMA, sum[i], all, all,
			    sum[i]);
	}
	int last = sum[0];
	for (int i = 1; i < sums; i++) {
		int next = temp(&m, DT_F32, 16);
		op(&m, LOW_ADD, next, last, sum[i], -1);
		last = next;
	}
	end(&m, last);
	bool has = says(cases.at[0].f, cpu, "TUNEC_FUNCTION TUNEC_SHARED void");
	arena_free(arena);
	return has;
}

/* Where several loops inside a loop add to sums that fill half of the registers. */
static void shared(void **state)
{
	(void)state;
	assert_true(is_shared(16, 2, "znver4"));
	assert_false(is_shared(16, 1, "znver4"));
	assert_false(is_shared(8, 2, "znver4"));
	assert_false(is_shared(16, 2, "haswell"));
}

/* for k: `times` times sum += x*x of `sums` vectors: does gcc keep lives short? */
static bool is_window(int sums, int times, const char *cpu)
{
	Arena *arena = arena_new();
	CaseVec cases = {0};
	Maker m = {.arena = arena, .cases = &cases};
	begin(&m, "window");
	int x = loaded(&m, "x", DT_F32, 16, 0), sum[4];
	for (int i = 0; i < sums; i++) {
		sum[i] = temp(&m, DT_F32, 16);
		op(&m, LOW_CONST, sum[i], -1, -1, -1);
	}
	LowNode *loop = loop_of(&m, &m.f->body, temp(&m, DT_INDEX, 1), 8);
	for (int i = 0; i < sums * times; i++)
		low_op(arena, &loop->body, LOW_FMA, sum[i % sums], x, x,
		    sum[i % sums]);
	end(&m, sum[0]);
	bool has = says(cases.at[0].f, cpu, "live-range-shrinkage");
	arena_free(arena);
	return has;
}

/* Where each of several sums is added to as often as there are elements. */
static void window_sums(void **state)
{
	(void)state;
	assert_true(is_window(4, 8, "znver4"));
	assert_false(is_window(4, 7, "znver4"));
	assert_false(is_window(3, 8, "znver4"));
	assert_false(is_window(4, 8, "haswell"));
}

/* Numbers or 0 under a mask that is known, or loaded: does clang not see the former? */
static bool hides_mask(int below, const char *cpu)
{
	Arena *arena = arena_new();
	CaseVec cases = {0};
	Maker m = {.arena = arena, .cases = &cases};
	select_one(&m, DT_F32, 16, below, false, true);
	bool has = says(cases.at[0].f, cpu, "HIDDEN_512(_mm512_movm_epi32(m))");
	arena_free(arena);
	return has;
}

static void hidden(void **state)
{
	(void)state;
	assert_true(hides_mask(3, "znver4"));
	assert_false(hides_mask(0, "znver4"));
	assert_false(hides_mask(3, "haswell"));
}

/* Does clang not see that bits, read as often, are a byte's? */
static bool keeps_wide(int times, DType from, const char *cpu)
{
	Arena *arena = arena_new();
	CaseVec cases = {0};
	Maker m = {.arena = arena, .cases = &cases};
	wide_bits(&m, from, 8, times);
	bool has = says(cases.at[0].f, cpu, "WIDE_I32X8(");
	arena_free(arena);
	return has;
}

static void kept_wide(void **state)
{
	(void)state;
	assert_true(keeps_wide(2, DT_U8, "haswell"));
	assert_true(keeps_wide(2, DT_I16, "haswell"));
	assert_false(keeps_wide(1, DT_U8, "haswell"));
	assert_false(keeps_wide(2, DT_U32, "haswell"));
	assert_false(keeps_wide(2, DT_U8, "znver4"));
	assert_false(keeps_wide(2, DT_U8, "x86-64"));
}

/* y = index(x[0]) % by: has the C this text? */
static bool remainder_says(DType type, int64_t by, const char *text)
{
	Arena *arena = arena_new();
	CaseVec cases = {0};
	Maker m = {.arena = arena, .cases = &cases};
	begin(&m, "remainder");
	int x = loaded(&m, "x", type, 1, 0), index = temp(&m, DT_INDEX, 1);
	int n = temp(&m, DT_INDEX, 1), r = temp(&m, DT_INDEX, 1);
	int y = temp(&m, DT_I32, 1);
	op(&m, LOW_CONST, n, -1, -1, -1)->i = by;
	op(&m, LOW_CONVERT, index, x, -1, -1);
	op(&m, LOW_MOD, r, index, n, -1);
	op(&m, LOW_CONVERT, y, r, -1, -1);
	end(&m, y);
	bool has = says(cases.at[0].f, "haswell", text);
	arena_free(arena);
	return has;
}

/* Only what is never negative, and has a name: the type of a byte is known else. */
static void divided(void **state)
{
	(void)state;
	assert_true(remainder_says(DT_U8, 10, "= (int64_t)x[0];"));
	assert_true(remainder_says(DT_U8, 10, "((uint32_t)t % 10)"));
	assert_true(remainder_says(DT_U32, 10, "(uint32_t)"));
	assert_false(remainder_says(DT_I32, 10, "(uint32_t)"));
	assert_false(remainder_says(DT_U8, INT64_C(1) << 40, "(uint32_t)"));
	assert_true(remainder_says(DT_I32, 64, "x[0] & 63"));
	assert_false(remainder_says(DT_I32, 65, "x[0] &"));
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	char command[128];
	snprintf(command, sizeof command, "rm -rf %s", folder);
	return getenv("KEEP") ? 0 : system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(avx512),
	    cmocka_unit_test(avx2), cmocka_unit_test(sse2),
	    cmocka_unit_test(plain), cmocka_unit_test(packed),
	    cmocka_unit_test(whole), cmocka_unit_test(widened),
	    cmocka_unit_test(once), cmocka_unit_test(roots),
	    cmocka_unit_test(data_rows), cmocka_unit_test(tuned),
	    cmocka_unit_test(windows), cmocka_unit_test(rolled),
	    cmocka_unit_test(shared), cmocka_unit_test(window_sums),
	    cmocka_unit_test(hidden), cmocka_unit_test(divided),
	    cmocka_unit_test(kept_wide), cmocka_unit_test(kept_sums),
	    cmocka_unit_test(by_number), cmocka_unit_test(bytes),
	    cmocka_unit_test(halves), cmocka_unit_test(strewn),
	    cmocka_unit_test(gathered), cmocka_unit_test(ahead),
	    cmocka_unit_test(shifted), cmocka_unit_test(eight),
	    cmocka_unit_test(kept_whole), cmocka_unit_test(compared)};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
