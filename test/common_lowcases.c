#include "test/common_lowcases.h"
#include "test/common_tier.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- building ------------------------------------------------------------ */

int lowcase_new_buffer(
    LowCaseMaker *m, const char *name, DType type, bool output)
{
	LowParam p = {.name = name, .type = type, .output = output};
	vec_push(m->arena, &m->f->params, p);
	LowBuffer b = {.name = name,
	    .type = type,
	    .elements = LOWCASE_ELEMENTS,
	    .kind = LOWBUF_PARAM,
	    .param = m->f->params.n - 1,
	    .align = 1,
	    .written = output};
	vec_push(m->arena, &m->f->buffers, b);
	return m->f->buffers.n - 1;
}

LowNode *lowcase_op(
    LowCaseMaker *m, LowOpcode code, int dst, int a, int b, int c)
{
	return low_op(m->arena, &m->f->body, code, dst, a, b, c);
}

int lowcase_temp(LowCaseMaker *m, DType type, int lanes)
{
	return low_temp(m->arena, m->f, type, lanes, "t");
}

int lowcase_loaded(
    LowCaseMaker *m, const char *name, DType type, int lanes, int at)
{
	int t = lowcase_temp(m, type, lanes);
	LowNode *n = lowcase_op(m, LOW_LOAD, t, -1, -1, -1);
	n->buffer = lowcase_new_buffer(m, name, type, false);
	n->address = low_affine_const(at);
	return t;
}

/* An index, which no buffer holds: i32 elements of 0..127, converted. */
static int loaded_index(LowCaseMaker *m, const char *name, int lanes)
{
	int from = lowcase_loaded(m, name, DT_U8, lanes, 3);
	int t = lowcase_temp(m, DT_INDEX, lanes);
	lowcase_op(m, LOW_CONVERT, t, from, -1, -1);
	return t;
}

static int operand(
    LowCaseMaker *m, const char *name, DType type, int lanes, int at)
{
	return type == DT_INDEX ? loaded_index(m, name, lanes)
				: lowcase_loaded(m, name, type, lanes, at);
}

void lowcase_begin(LowCaseMaker *m, const char *what)
{
	m->f = NEW(m->arena, LowFunction);
	m->f->name = arena_printf(m->arena, "f%d", m->cases->n);
	m->f->role = LOWFN_KERNEL;
	m->f->nthreads = 1;
	snprintf(m->name, sizeof m->name, "%s", what);
}

int lowcase_result_buffer(LowCaseMaker *m, DType type)
{
	LowParam p = {.name = "out", .type = type, .output = true};
	(void)p;
	return lowcase_new_buffer(m, "out", type, true);
}

void lowcase_finish(LowCaseMaker *m, DType out)
{
	char why[256];
	if (!low_function_verify(m->f, why, sizeof why))
		fail_msg("%s: %s", m->name, why);
	LowCase c = {m->f, arena_strdup(m->arena, m->name), out};
	vec_push(m->arena, m->cases, c);
}

void lowcase_end(LowCaseMaker *m, int t)
{
	DType type = m->f->temps.at[t].type;
	if (type == DT_INDEX) {
		int i64 = lowcase_temp(m, DT_I64, m->f->temps.at[t].lanes);
		lowcase_op(m, LOW_CONVERT, i64, t, -1, -1);
		t = i64, type = DT_I64;
	}
	LowNode *n = lowcase_op(m, LOW_STORE, -1, t, -1, -1);
	n->buffer = lowcase_result_buffer(m, type);
	n->address = low_affine_const(5);
	lowcase_finish(m, type);
}

const char *lowcase_label(
    LowCaseMaker *m, LowOpcode code, DType type, int lanes)
{
	return arena_printf(
	    m->arena, "%s %s x%d", low_op_name(code), dtype_name(type), lanes);
}

/* --- cases --------------------------------------------------------------- */

void lowcase_binary(LowCaseMaker *m, LowOpcode code, DType type, int lanes)
{
	lowcase_begin(m, lowcase_label(m, code, type, lanes));
	int a = operand(m, "a", type, lanes, 1);
	int b = operand(m, "b", type, lanes, 7);
	bool compares = low_op_is_comparison(code);
	if (code == LOW_FLOORDIV || code == LOW_MOD) { /* divisors above 0 */
		int seven = lowcase_temp(m, type, 1),
		    all = lowcase_temp(m, type, lanes);
		lowcase_op(m, LOW_CONST, seven, -1, -1, -1)->i = 7;
		lowcase_op(m, LOW_BROADCAST, all, seven, -1, -1);
		b = all;
	}
	int d = lowcase_temp(m, compares ? DT_BOOL : type, lanes);
	lowcase_op(m, code, d, a, b, -1);
	lowcase_end(m, d);
}

static void unary(LowCaseMaker *m, LowOpcode code, DType type, int lanes)
{
	lowcase_begin(m, lowcase_label(m, code, type, lanes));
	int a = operand(m, "a", type, lanes, 1),
	    d = lowcase_temp(m, type, lanes);
	lowcase_op(m, code, d, a, -1, -1);
	lowcase_end(m, d);
}

static void bits_case(LowCaseMaker *m, DType type, int lanes)
{
	DType from = type == DT_F32 ? DT_I32
	    : type == DT_I32	    ? DT_F32
	    : type == DT_F64	    ? DT_I64
	    : type == DT_I64	    ? DT_F64
				    : DT_BOOL;
	if (from == DT_BOOL)
		return;
	lowcase_begin(m, lowcase_label(m, LOW_BITS, type, lanes));
	int a = operand(m, "a", from, lanes, 1),
	    d = lowcase_temp(m, type, lanes);
	lowcase_op(m, LOW_BITS, d, a, -1, -1);
	lowcase_end(m, d);
}

/* Several integers as one, and back. */
static void words_of_parts(LowCaseMaker *m)
{
	static const DType types[][2] = {{DT_U8, DT_I16}, {DT_I8, DT_I32},
	    {DT_I16, DT_I32}, {DT_I32, DT_I64}, {DT_U8, DT_I64}};
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		for (int lanes = 2; lanes <= 8; lanes *= 2) {
			DType from = types[i][0], to = types[i][1];
			int parts = dtype_bytes(to) / dtype_bytes(from);
			lowcase_begin(m, lowcase_label(m, LOW_BITS, to, lanes));
			int a = lowcase_loaded(m, "a", from, parts * lanes, 1);
			int d = lowcase_temp(m, to, lanes);
			lowcase_op(m, LOW_BITS, d, a, -1, -1);
			lowcase_end(m, d);
			lowcase_begin(
			    m, lowcase_label(m, LOW_BITS, from, parts * lanes));
			int b = lowcase_loaded(m, "b", to, lanes, 1);
			int c = lowcase_temp(m, from, parts * lanes);
			lowcase_op(m, LOW_BITS, c, b, -1, -1);
			lowcase_end(m, c);
		}
}

static void fma_case(LowCaseMaker *m, DType type, int lanes)
{
	lowcase_begin(m, lowcase_label(m, LOW_FMA, type, lanes));
	int a = operand(m, "a", type, lanes, 0);
	int b = operand(m, "b", type, lanes, 3);
	int c = operand(m, "c", type, lanes, 9);
	lowcase_op(m, LOW_FMA, c, a, b, c); /* an accumulator */
	lowcase_end(m, c);
}

/* Two sums of products, with a number in all lanes before a vector and behind. */
void lowcase_sums_case(LowCaseMaker *m, DType type, int lanes)
{
	lowcase_begin(
	    m, arena_printf(m->arena, "sums, %s x%d", dtype_name(type), lanes));
	int a = operand(m, "a", type, lanes, 0);
	int s = operand(m, "s", type, 1, 3), all = lowcase_temp(m, type, lanes);
	int c = operand(m, "c", type, lanes, 9),
	    d = lowcase_temp(m, type, lanes);
	lowcase_op(m, LOW_BROADCAST, all, s, -1, -1);
	lowcase_op(m, LOW_COPY, d, c, -1, -1);
	for (int i = 0; i < 2; i++) {
		lowcase_op(m, LOW_FMA, c, all, a, c);
		lowcase_op(m, LOW_FMA, d, a, all, d);
	}
	lowcase_op(m, LOW_FMA, d, all, c, d);
	lowcase_end(m, d);
}

/* By -512 .. 511, of f64 by -2048 .. 2047. */
static void scale_case(LowCaseMaker *m, DType type, int lanes, bool masked)
{
	lowcase_begin(m, lowcase_label(m, LOW_SCALE, type, lanes));
	int a = operand(m, "a", type, lanes, 1);
	int k = operand(m, "b", DT_I16, lanes, 7);
	int by = lowcase_temp(m, DT_I16, lanes),
	    n = lowcase_temp(m, DT_I16, lanes);
	lowcase_op(m, LOW_CONST, by, -1, -1, -1)->i = type == DT_F32 ? 64 : 16;
	lowcase_op(m, LOW_FLOORDIV, n, k, by, -1);
	int b = lowcase_temp(m, type, lanes), d = lowcase_temp(m, type, lanes);
	lowcase_op(m, LOW_CONVERT, b, n, -1, -1);
	int mask = masked ? lowcase_loaded(m, "m", DT_BOOL, lanes, 3) : -1;
	lowcase_op(m, LOW_SCALE, d, a, b, mask);
	lowcase_end(m, d);
}

/* Two that are alike are seldom, so there are lanes and none. */
static void any_cases(LowCaseMaker *m, DType type, int lanes)
{
	for (int k = 0; k < 2; k++) {
		lowcase_begin(m, lowcase_label(m, LOW_ANY, type, lanes));
		int a = operand(m, "a", type, lanes, 1);
		int b = operand(m, "b", type, lanes, 7);
		int c = lowcase_temp(m, DT_BOOL, lanes),
		    d = lowcase_temp(m, DT_BOOL, 1);
		lowcase_op(m, k ? LOW_LT : LOW_EQ, c, a, b, -1);
		lowcase_op(m, LOW_ANY, d, c, -1, -1);
		lowcase_end(m, d);
	}
}

/* Masks as numbers. */
static void mask_words(LowCaseMaker *m)
{
	static const DType words[] = {DT_U8, DT_U16, DT_U32, DT_U64};
	static const DType types[] = {DT_U8, DT_I16, DT_F32, DT_F64};
	for (int w = 0; w < 4; w++)
		for (int t = 0; t < 4; t++) {
			int lanes = 8 << w;
			lowcase_begin(
			    m, lowcase_label(m, LOW_BITS, types[t], lanes));
			int a = operand(m, "a", types[t], lanes, 1);
			int b = operand(m, "b", types[t], lanes, 7);
			int c = lowcase_temp(m, DT_BOOL, lanes);
			int d = lowcase_temp(m, words[w], 1);
			lowcase_op(m, LOW_LT, c, a, b, -1);
			lowcase_op(m, LOW_BITS, d, c, -1, -1);
			lowcase_end(m, d);
		}
}

static void convert(LowCaseMaker *m, DType from, DType to, int lanes)
{
	lowcase_begin(m,
	    arena_printf(m->arena, "CONVERT %s -> %s x%d", dtype_name(from),
		dtype_name(to), lanes));
	int a = operand(m, "a", from, lanes, 2), d = lowcase_temp(m, to, lanes);
	lowcase_op(m, LOW_CONVERT, d, a, -1, -1);
	lowcase_end(m, d);
}

static int extreme(LowCaseMaker *m, LowOpcode code, int a, double k)
{
	DType type = m->f->temps.at[a].type;
	int lanes = m->f->temps.at[a].lanes;
	int one = lowcase_temp(m, type, 1), all = lowcase_temp(m, type, lanes);
	int d = lowcase_temp(m, type, lanes);
	LowNode *number = lowcase_op(m, LOW_CONST, one, -1, -1, -1);
	number->f = k;
	number->i = (int64_t)k;
	lowcase_op(m, LOW_BROADCAST, all, one, -1, -1);
	lowcase_op(m, code, d, a, all, -1);
	return d;
}

/* Integers some of which the narrower type holds. */
static int around(LowCaseMaker *m, int a, DType to)
{
	const LowTemp *t = &m->f->temps.at[a];
	int by = lowcase_temp(m, t->type, t->lanes),
	    d = lowcase_temp(m, t->type, t->lanes);
	lowcase_op(m, LOW_CONST, by, -1, -1, -1)->i = INT64_C(1)
	    << (8 * (dtype_bytes(t->type) - dtype_bytes(to)) - 2);
	lowcase_op(m, LOW_FLOORDIV, d, a, by, -1);
	return d;
}

/* What was clamped before, to what the integer holds and not quite. */
void lowcase_clamped_cases(LowCaseMaker *m, DType from, DType to, int lanes)
{
	static const double least[] = {0, -128, -128, -129, -32768};
	static const double most[] = {255, 127, 128, 127, 32767};
	for (int k = 0; k < 12; k++) {
		lowcase_begin(m,
		    arena_printf(m->arena, "clamped %d, %s -> %s x%d", k,
			dtype_name(from), dtype_name(to), lanes));
		int a = operand(m, "a", from, lanes, 2);
		int d = lowcase_temp(m, to, lanes);
		if (!dtype_is_float(from))
			a = around(m, a, to);
		if (k < 11)
			a = extreme(m, k & 1 ? LOW_MIN : LOW_MAX, a,
			    (k & 1 ? most : least)[k / 2 % 5]);
		if (k < 10 || k == 11)
			a = extreme(m, k & 1 ? LOW_MAX : LOW_MIN, a,
			    (k & 1 ? least : most)[k / 2 % 5]);
		lowcase_op(m, LOW_CONVERT, d, a, -1, -1);
		lowcase_end(m, d);
	}
}

static int mask_temp(LowCaseMaker *m, int lanes, int64_t below)
{
	int n = lowcase_temp(m, DT_INDEX, 1),
	    d = lowcase_temp(m, DT_BOOL, lanes);
	lowcase_op(m, LOW_CONST, n, -1, -1, -1)->i = below;
	lowcase_op(m, LOW_LANES_BELOW, d, n, -1, -1);
	return d;
}

int lowcase_zeros(LowCaseMaker *m, DType type, int lanes)
{
	int zero = lowcase_temp(m, type, 1), all = lowcase_temp(m, type, lanes);
	lowcase_op(m, LOW_CONST, zero, -1, -1, -1);
	lowcase_op(m, LOW_BROADCAST, all, zero, -1, -1);
	return all;
}

/* Under a mask that is loaded, or of the lanes below a number, or the others. */
void lowcase_select_one(
    LowCaseMaker *m, DType type, int lanes, int below, bool zero_a, bool zero_b)
{
	lowcase_begin(m, lowcase_label(m, LOW_SELECT, type, lanes));
	int c = below ? mask_temp(m, lanes, below)
		      : lowcase_loaded(m, "c", DT_BOOL, lanes, 0);
	int a = zero_a ? lowcase_zeros(m, type, lanes)
		       : operand(m, "a", type, lanes, 2);
	int b = zero_b ? lowcase_zeros(m, type, lanes)
		       : operand(m, "b", type, lanes, 4);
	int others = lowcase_temp(m, DT_BOOL, lanes),
	    d = lowcase_temp(m, type, lanes);
	lowcase_op(m, LOW_NOT, others, c, -1, -1);
	lowcase_op(m, LOW_SELECT, d, below == 1 ? others : c, a, b);
	lowcase_end(m, d);
}

static void select_cases(LowCaseMaker *m, DType type, int lanes)
{
	for (int below = 0; below <= (lanes > 1 ? 3 : 0); below++) {
		lowcase_select_one(m, type, lanes, below, false, false);
		lowcase_select_one(m, type, lanes, below, true, false);
		lowcase_select_one(m, type, lanes, below, false, true);
	}
}

void lowcase_math_case(LowCaseMaker *m, Op math, DType type, int lanes)
{
	lowcase_begin(m,
	    arena_printf(m->arena, "MATH %s %s x%d", op_name(math),
		dtype_name(type), lanes));
	int a = operand(m, "a", type, lanes, 1);
	int b = op_arity(math) == 2 ? operand(m, "b", type, lanes, 40) : -1;
	int d = lowcase_temp(m, type, lanes);
	LowNode *n = lowcase_op(m, LOW_MATH, d, a, b, -1);
	n->math = math;
	lowcase_end(m, d);
}

static void constants(LowCaseMaker *m, DType type, int lanes)
{
	static const double floats[] = {
	    0.0, -0.0, 1.5, -1e30, 0x1.fffffep-3, 1e-40, 3.4028234663852886e38};
	static const int64_t ints[] = {
	    0, 1, -1, 127, INT32_MAX, INT32_MIN, INT64_MIN};
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
		lowcase_begin(m, lowcase_label(m, LOW_CONST, type, lanes));
		int d = lowcase_temp(m, type, lanes);
		LowNode *n = lowcase_op(m, LOW_CONST, d, -1, -1, -1);
		n->i = k;
		n->f = type == DT_F32 ? (float)f : f;
		if (dtype_is_float(type) || i < 7)
			lowcase_end(m, d);
	}
}

static void lanes_cases(LowCaseMaker *m, DType type, int lanes)
{
	lowcase_begin(m, lowcase_label(m, LOW_BROADCAST, type, lanes));
	int a = operand(m, "a", type, 1, 1), d = lowcase_temp(m, type, lanes);
	lowcase_op(m, LOW_BROADCAST, d, a, -1, -1);
	lowcase_end(m, d);

	lowcase_begin(m, lowcase_label(m, LOW_EXTRACT, type, lanes));
	a = operand(m, "a", type, lanes, 1);
	d = lowcase_temp(m, type, 1);
	lowcase_op(m, LOW_EXTRACT, d, a, -1, -1)->i = lanes - 1;
	lowcase_end(m, d);

	lowcase_begin(m, lowcase_label(m, LOW_INSERT, type, lanes));
	a = operand(m, "a", type, lanes, 1);
	int b = operand(m, "b", type, 1, 6);
	d = lowcase_temp(m, type, lanes);
	lowcase_op(m, LOW_INSERT, d, a, b, -1)->i = lanes / 2;
	lowcase_op(m, LOW_INSERT, d, d, b, -1)->i = 0;
	lowcase_end(m, d);

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
		lowcase_begin(m, lowcase_label(m, LOW_SHUFFLE, type, lanes));
		a = operand(m, "a", type, lanes, 1);
		b = pair ? operand(m, "b", type, lanes, 9) : -1;
		d = lowcase_temp(m, type, to);
		LowNode *n = lowcase_op(m, LOW_SHUFFLE, d, a, b, -1);
		n->shuffle = NEW_N(m->arena, int, to);
		for (int l = 0; l < to; l++)
			n->shuffle[l] = joined
			    ? l
			    : (l * 5 + 1) % (pair ? 2 * lanes : lanes);
		lowcase_end(m, d);
	}
	for (int i = 0; i < 2 && lanes > 1 && !(lanes & (lanes - 1)) &&
	     type != DT_INDEX && dtype_bytes(type) == 4;
	     i++) {
		lowcase_begin(m, lowcase_label(m, LOW_PERMUTE, type, lanes));
		a = operand(m, "a", type, lanes, 1);
		b = loaded_index(m, "i", lanes);
		d = lowcase_temp(m, type, lanes);
		if (i) {
			int i32 = lowcase_temp(m, DT_I32, lanes);
			lowcase_op(m, LOW_CONVERT, i32, b, -1, -1);
			b = i32;
		}
		lowcase_op(m, LOW_PERMUTE, d, a, b, -1);
		lowcase_end(m, d);
	}
	for (int to = 2 * lanes;
	     to <= 4 * lanes && to <= 64 && lanes * dtype_bytes(type) == 16;
	     to *= 2) { /* again and again */
		lowcase_begin(m, lowcase_label(m, LOW_SHUFFLE, type, lanes));
		a = operand(m, "a", type, lanes, 1);
		d = lowcase_temp(m, type, to);
		LowNode *n = lowcase_op(m, LOW_SHUFFLE, d, a, -1, -1);
		n->shuffle = NEW_N(m->arena, int, to);
		for (int l = 0; l < to; l++)
			n->shuffle[l] = l % lanes;
		lowcase_end(m, d);
	}
	for (int half = 0; half < 2 && lanes > 1; half++) { /* in turns */
		lowcase_begin(m, lowcase_label(m, LOW_SHUFFLE, type, lanes));
		a = operand(m, "a", type, lanes, 1);
		b = operand(m, "b", type, lanes, 9);
		d = lowcase_temp(m, type, lanes);
		LowNode *n = lowcase_op(m, LOW_SHUFFLE, d, a, b, -1);
		n->shuffle = NEW_N(m->arena, int, lanes);
		for (int l = 0; l < lanes; l++)
			n->shuffle[l] =
			    half * lanes / 2 + l / 2 + l % 2 * lanes;
		lowcase_end(m, d);
	}
}

void lowcase_memory_cases(LowCaseMaker *m, DType type, int lanes)
{
	static const int64_t below[] = {-3, 1, 5, 1000};
	for (int i = 0; i < 4; i++) {
		lowcase_begin(
		    m, lowcase_label(m, LOW_LOAD_MASKED, type, lanes));
		int mask = mask_temp(m, lanes, below[i]);
		int a = lowcase_temp(m, type, lanes);
		LowNode *n = lowcase_op(m, LOW_LOAD_MASKED, a, mask, -1, -1);
		n->buffer = lowcase_new_buffer(m, "a", type, false);
		/* what is off lies outside of the buffer */
		int64_t on = below[i] < 0 ? 0
		    : below[i] > lanes	  ? lanes
					  : below[i];
		n->address = low_affine_const(LOWCASE_ELEMENTS - on);
		n = lowcase_op(m, LOW_STORE_MASKED, -1, a, mask, -1);
		n->buffer = lowcase_result_buffer(m, type);
		n->address = low_affine_const(LOWCASE_ELEMENTS - on);
		lowcase_finish(m, type);
	}
	lowcase_begin(m, lowcase_label(m, LOW_STORE_MASKED, type, lanes));
	int some = lowcase_loaded(m, "m", DT_BOOL, lanes, 3),
	    all = lowcase_temp(m, type, lanes);
	LowNode *access = lowcase_op(m, LOW_LOAD_MASKED, all, some, -1, -1);
	access->buffer = lowcase_new_buffer(m, "a", type, false);
	access = lowcase_op(m, LOW_STORE_MASKED, -1, all, some, -1);
	access->buffer = lowcase_result_buffer(m, type);
	lowcase_finish(m, type);
	for (int i = 0; i < 4; i++) {
		bool masked = i & 1, narrow = i & 2 && lanes > 1;
		lowcase_begin(m, lowcase_label(m, LOW_GATHER, type, lanes));
		int index = loaded_index(m, "i", lanes),
		    a = lowcase_temp(m, type, lanes);
		if (narrow) {
			int i32 = lowcase_temp(m, DT_I32, lanes);
			lowcase_op(m, LOW_CONVERT, i32, index, -1, -1);
			index = i32;
		}
		int mask =
		    masked ? lowcase_loaded(m, "m", DT_BOOL, lanes, 3) : -1;
		LowNode *n = lowcase_op(m, LOW_GATHER, a, index, mask, -1);
		n->buffer = lowcase_new_buffer(m, "a", type, false);
		n = lowcase_op(m, LOW_SCATTER, -1, a, index, mask);
		n->buffer = lowcase_result_buffer(m, type);
		lowcase_finish(m, type);
	}
	for (int at = 2; at <= 128;
	     at += 126) { /* aligned in its buffer or not */
		lowcase_begin(m, lowcase_label(m, LOW_STREAM, type, lanes));
		int a = lowcase_loaded(m, "a", type, lanes, 1);
		LowNode *n = lowcase_op(m, LOW_PREFETCH, -1, -1, -1, -1);
		n->i = 2;
		n->buffer = 0;
		n = lowcase_op(m, LOW_STREAM, -1, a, -1, -1);
		n->buffer = lowcase_result_buffer(m, type);
		n->address = low_affine_const(at);
		lowcase_finish(m, type);
	}
}

static void logic_cases(LowCaseMaker *m, int lanes)
{
	lowcase_begin(m, arena_printf(m->arena, "AND OR NOT x%d", lanes));
	int a = lowcase_loaded(m, "a", DT_F64, lanes, 0);
	int b = lowcase_loaded(m, "b", DT_F64, lanes, 1);
	int c = lowcase_loaded(m, "c", DT_I32, lanes, 2);
	int zero = lowcase_temp(m, DT_I32, lanes);
	lowcase_op(m, LOW_CONST, zero, -1, -1, -1);
	int p = lowcase_temp(m, DT_BOOL, lanes),
	    q = lowcase_temp(m, DT_BOOL, lanes);
	lowcase_op(m, LOW_LT, p, a, b, -1);
	lowcase_op(m, LOW_LE, q, c, zero, -1);
	int r = lowcase_temp(m, DT_BOOL, lanes),
	    s = lowcase_temp(m, DT_BOOL, lanes);
	lowcase_op(m, LOW_NOT, r, q, -1, -1);
	lowcase_op(m, LOW_AND, s, p, r, -1);
	lowcase_op(m, LOW_OR, s, s, q, -1);
	int d = lowcase_temp(m, DT_F64, lanes);
	lowcase_op(m, LOW_SELECT, d, s, a, b);
	lowcase_end(m, d);
}

static void dot_case(LowCaseMaker *m, const Intrinsic *in, int lanes)
{
	lowcase_begin(m, lowcase_label(m, LOW_DOT, in->b, lanes));
	int a = lowcase_loaded(m, "a", in->a, in->terms * lanes, 1);
	int b = lowcase_loaded(m, "b", in->b, in->terms * lanes, 2);
	int c = lowcase_loaded(m, "c", in->sum, lanes, 3);
	int d = lowcase_temp(m, in->sum, lanes);
	lowcase_op(m, LOW_DOT, d, a, b, c);
	lowcase_end(m, d);
}

/* (i32(a) - by) * i32(b) of bytes and words, with numbers at which 16 bits are just
 * enough, or not. */
static void words_case(
    LowCaseMaker *m, DType of_a, DType of_b, int by, int lanes)
{
	lowcase_begin(m,
	    arena_printf(m->arena, "(%s - %d) * %s x%d", dtype_name(of_a), by,
		dtype_name(of_b), lanes));
	int a = lowcase_loaded(m, "a", of_a, lanes, 1),
	    wide = lowcase_temp(m, DT_I32, lanes);
	int b = lowcase_loaded(m, "b", of_b, lanes, 2),
	    other = lowcase_temp(m, DT_I32, lanes);
	int number = lowcase_temp(m, DT_I32, lanes),
	    less = lowcase_temp(m, DT_I32, lanes);
	int d = lowcase_temp(m, DT_I32, lanes);
	lowcase_op(m, LOW_CONVERT, wide, a, -1, -1);
	lowcase_op(m, LOW_CONVERT, other, b, -1, -1);
	lowcase_op(m, LOW_CONST, number, -1, -1, -1)->i = by;
	lowcase_op(m, LOW_SUB, less, wide, number, -1);
	lowcase_op(m, LOW_MUL, d, less, other, -1);
	lowcase_end(m, d);
}

static void words_cases(LowCaseMaker *m)
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
static void widened_or_0(LowCaseMaker *m, DType from, DType to, int lanes)
{
	lowcase_begin(m, lowcase_label(m, LOW_SELECT, to, lanes));
	int c = lowcase_loaded(m, "c", DT_BOOL, lanes, 0);
	int a = lowcase_loaded(m, "a", from, lanes, 2),
	    wide = lowcase_temp(m, to, lanes);
	int none = lowcase_zeros(m, to, lanes), d = lowcase_temp(m, to, lanes);
	lowcase_op(m, LOW_CONVERT, wide, a, -1, -1);
	lowcase_op(m, LOW_SELECT, d, c, wide, none);
	lowcase_end(m, d);
}

void lowcase_widened_cases(LowCaseMaker *m)
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
static void words_of_two(LowCaseMaker *m, DType from, DType to, int lanes)
{
	lowcase_begin(m, lowcase_label(m, LOW_SHUFFLE, to, lanes));
	int a = operand(m, "a", from, lanes, 1);
	int b = operand(m, "b", from, lanes, 9);
	int put = lowcase_temp(m, from, lanes), d = lowcase_temp(m, to, lanes);
	LowNode *n = lowcase_op(m, LOW_SHUFFLE, put, a, b, -1);
	n->shuffle = NEW_N(m->arena, int, lanes);
	for (int l = 0; l < lanes; l++)
		n->shuffle[l] = (l * 3 + 1) % (2 * lanes);
	lowcase_op(m, LOW_CONVERT, d, put, -1, -1);
	lowcase_end(m, d);
}

/* A remainder that has all bits which are left of it, or fewer. */
static void low_bits(LowCaseMaker *m, DType from, DType to, int lanes, int bits)
{
	lowcase_begin(m, lowcase_label(m, LOW_MOD, to, lanes));
	int a = lowcase_loaded(m, "a", from, lanes, 1),
	    by = lowcase_temp(m, from, lanes);
	int rest = lowcase_temp(m, from, lanes), d = lowcase_temp(m, to, lanes);
	lowcase_op(m, LOW_CONST, by, -1, -1, -1)->i = INT64_C(1) << bits;
	lowcase_op(m, LOW_MOD, rest, a, by, -1);
	lowcase_op(m, LOW_CONVERT, d, rest, -1, -1);
	lowcase_end(m, d);
}

/* Bits of bytes that are made wide, read as often. */
void lowcase_wide_bits(LowCaseMaker *m, DType from, int lanes, int times)
{
	lowcase_begin(m, lowcase_label(m, LOW_MOD, from, lanes));
	int a = lowcase_loaded(m, "a", from, lanes, 1),
	    by = lowcase_temp(m, DT_I32, lanes);
	int wide = lowcase_temp(m, DT_I32, lanes),
	    rest = lowcase_temp(m, DT_I32, lanes);
	int d = lowcase_temp(m, DT_I32, lanes);
	lowcase_op(m, LOW_CONVERT, wide, a, -1, -1);
	lowcase_op(m, LOW_CONST, by, -1, -1, -1)->i = 4;
	lowcase_op(m, LOW_MOD, rest, wide, by, -1);
	lowcase_op(m, LOW_ADD, d, rest, times > 1 ? rest : wide, -1);
	lowcase_end(m, d);
}

/* Lanes of two vectors, made wider in parts. */
static void parts_of_two(LowCaseMaker *m, DType type, int lanes, int parts)
{
	lowcase_begin(m, lowcase_label(m, LOW_SHUFFLE, type, lanes));
	int a = lowcase_loaded(m, "a", type, 2 * lanes, 0), sum = -1;
	int b = lowcase_loaded(m, "b", type, 2 * lanes, 0),
	    put = lowcase_temp(m, type, lanes);
	LowNode *n = lowcase_op(m, LOW_SHUFFLE, put, a, b, -1);
	n->shuffle = NEW_N(m->arena, int, lanes);
	for (int l = 0; l < lanes; l++)
		n->shuffle[l] = l * 3 + 1;
	for (int k = 0; k < parts; k++) {
		int part = lowcase_temp(m, type, lanes / 2);
		int wide = lowcase_temp(m, DT_I32, lanes / 2);
		n = lowcase_op(m, LOW_SHUFFLE, part, put, -1, -1);
		n->shuffle = NEW_N(m->arena, int, lanes / 2);
		for (int l = 0; l < lanes / 2; l++)
			n->shuffle[l] = k * (lanes / 2) + l;
		lowcase_op(m, LOW_CONVERT, wide, part, -1, -1);
		int both = lowcase_temp(m, DT_I32, lanes / 2);
		lowcase_op(
		    m, sum < 0 ? LOW_COPY : LOW_XOR, both, wide, sum, -1);
		sum = both;
	}
	lowcase_end(m, sum);
}

static void divided_by(LowCaseMaker *m, LowOpcode code, DType type, int64_t by)
{
	lowcase_begin(m, lowcase_label(m, code, type, 1));
	int a = lowcase_loaded(m, "a", type, 1, 1),
	    n = lowcase_temp(m, type, 1);
	int d = lowcase_temp(m, type, 1);
	lowcase_op(m, LOW_CONST, n, -1, -1, -1)->i = by;
	lowcase_op(m, code, d, a, n, -1);
	lowcase_end(m, d);
}

static void divided_cases(LowCaseMaker *m)
{
	static const DType types[] = {DT_I8, DT_I16, DT_I32, DT_I64, DT_U8};
	for (LowOpcode o = LOW_FLOORDIV; o <= LOW_MOD; o++)
		for (int i = 0; i < 5; i++)
			for (int64_t by = 1; by <= 64; by *= 8)
				divided_by(m, o, types[i], by);
}

void lowcase_byte_cases(LowCaseMaker *m)
{
	words_of_two(m, DT_U8, DT_I16, 8);
	words_of_two(m, DT_U8, DT_U16, 8);
	words_of_two(m, DT_I8, DT_I16, 8);
	words_of_two(m, DT_U8, DT_I32, 8);
	words_of_two(m, DT_U8, DT_I16, 16);
	low_bits(m, DT_I16, DT_U8, 8, 8);
	low_bits(m, DT_I16, DT_I8, 8, 7);
	low_bits(m, DT_I32, DT_U8, 8, 12);
	lowcase_wide_bits(m, DT_U8, 8, 2);
	lowcase_wide_bits(m, DT_I8, 8, 2);
	lowcase_wide_bits(m, DT_I16, 4, 2);
	parts_of_two(m, DT_U8, 32, 2);
	parts_of_two(m, DT_I16, 32, 2);
	parts_of_two(m, DT_U8, 32, 1);
	parts_of_two(m, DT_U8, 16, 2);
}

static void other_cases(LowCaseMaker *m)
{
	lowcase_byte_cases(m);
	words_cases(m);
	words_of_parts(m);
	mask_words(m);
	for (int lanes = 1; lanes <= 64; lanes *= 4) {
		for (int k = 0; k < 2; k++) {
			DType type = k ? DT_INDEX : DT_I32;
			lowcase_begin(
			    m, lowcase_label(m, LOW_IOTA, type, lanes));
			int a = operand(m, "a", type, 1, 4);
			int d = lowcase_temp(m, type, lanes);
			lowcase_op(m, LOW_IOTA, d, a, -1, -1);
			lowcase_end(m, d);
		}
		logic_cases(m, lanes);
	}
	for (int i = 0; i < intrinsic_count(); i++)
		for (int lanes = 1; lanes <= 16; lanes *= 2)
			dot_case(m, intrinsic_at(i), lanes);
	for (DType type = DT_I16; type <= DT_U16; type++)
		for (LowOpcode o = LOW_SHL;
		     o <= LOW_SHR && dtype_bytes(type) == 2; o++)
			lowcase_binary(m, o, type, 8);
}

/* 1, and of the wider ones in turn one, or in the long tier two. */
static int widths(LowCaseMaker *m, int out[3])
{
	static const int all[] = {2, 4, 8, 16, 32, 64};
	out[0] = 1;
	out[1] = all[m->next_width++ % 6];
	out[2] = all[m->next_width++ % 6];
	return tier_is_long() ? 3 : 2;
}

static void typed_cases(LowCaseMaker *m, DType type, int lanes)
{
	bool number = type != DT_BOOL && !dtype_is_half(type);
	bool is_float = number && dtype_is_float(type);
	if (type != DT_INDEX) {
		lowcase_memory_cases(m, type, lanes);
		unary(m, LOW_COPY, type, lanes);
		constants(m, type, lanes);
	}
	lanes_cases(m, type, lanes);
	select_cases(m, type, lanes);
	bits_case(m, type, lanes);
	for (LowOpcode o = LOW_ADD; number && o <= LOW_MUL; o++)
		lowcase_binary(m, o, type, lanes);
	if (number) {
		unary(m, LOW_NEG, type, lanes);
		unary(m, LOW_ABS, type, lanes);
	}
	for (LowOpcode o = LOW_LT; !dtype_is_half(type) && o <= LOW_NE; o++)
		lowcase_binary(m, o, type, lanes);
	if (!dtype_is_half(type))
		any_cases(m, type, lanes);
	if (!dtype_is_half(type)) {
		lowcase_binary(m, LOW_MIN, type, lanes);
		lowcase_binary(m, LOW_MAX, type, lanes);
	}
	if (is_float) {
		lowcase_binary(m, LOW_DIV, type, lanes);
		fma_case(m, type, lanes);
		lowcase_sums_case(m, type, lanes);
		if (type == DT_F32)
			unary(m, LOW_RSQRT, type, lanes);
		scale_case(m, type, lanes, false);
		scale_case(m, type, lanes, true);
		for (Op math = 0; math < OP_COUNT; math++)
			if (op_is_function(math))
				lowcase_math_case(m, math, type, lanes);
	} else if (number) {
		lowcase_binary(m, LOW_FLOORDIV, type, lanes);
		lowcase_binary(m, LOW_MOD, type, lanes);
		lowcase_binary(m, LOW_XOR, type, lanes);
		if (type != DT_INDEX) {
			lowcase_binary(m, LOW_AND, type, lanes);
			lowcase_binary(m, LOW_OR, type, lanes);
		}
		if (type != DT_INDEX && dtype_bytes(type) >= 2) {
			lowcase_binary(m, LOW_SHL, type, lanes);
			lowcase_binary(m, LOW_SHR, type, lanes);
		}
		if (type != DT_INDEX && dtype_bytes(type) >= 4)
			unary(m, LOW_POPCOUNT, type, lanes);
	}
}

static void cases_of(LowCaseMaker *m, bool scalar)
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
				lowcase_clamped_cases(m, from, to, 8);
	for (DType to = DT_I16; !scalar && to <= DT_U8; to++)
		for (int lanes = 4; lanes <= 32; lanes *= 2) {
			if (dtype_bytes(to) > 2)
				continue;
			lowcase_clamped_cases(m, DT_I32, to, lanes);
			if (dtype_bytes(to) == 1)
				lowcase_clamped_cases(m, DT_I16, to, lanes);
		}
	divided_cases(m);
	if (!scalar)
		other_cases(m);
}

void lowcase_all_cases(LowCaseMaker *m)
{
	cases_of(m, false);
}

void lowcase_scalar_cases(LowCaseMaker *m)
{
	cases_of(m, true);
}
