/* Every operation of the lowered form, of every type and several widths,
 * through LLVM and the system's linker, against plain C, bit for bit.
 *
 * A case is a kernel of its own; all cases of a CPU are one module:
 *     for i < 64/lanes: d = op(A[i*lanes ..], B[..], C[..]); out[..] = d */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <math.h>

#include "codegen/codegen.h"
#include "ir/scalar.h"
#include "lib/rng.h"
#include "test/common_lowered.h"

enum { N = 64, DATA = 4 * N, GUARD = 64 };

typedef struct {
	LowOpcode op;
	DType type, from; /* `from`: of CONVERT and comparisons */
	int lanes;
	Op math;
	bool masked; /* GATHER, SCATTER, SCALE */
	bool index;  /* operands are converted to index, from i64 */
	const Intrinsic *dot; /* of DOT */
	Lowered *lowered;
} Case;

typedef VEC(Case) Cases;

static Arena *arena;

/* --- values, in plain C
 * -------------------------------------------------------- */

typedef struct {
	double f;  /* of floats; 16-bit ones too */
	int64_t i; /* of integers, and the bits of 16-bit floats */
} Lane;

static Lane get(DType type, const void *data, int at)
{
	Lane s = {0};
	switch (type) {
	case DT_F64:
		s.f = ((const double *)data)[at];
		break;
	case DT_F32:
		s.f = ((const float *)data)[at];
		break;
	case DT_F16:
		s.i = ((const uint16_t *)data)[at];
		s.f = f16_to_f32((uint16_t)s.i);
		break;
	case DT_BF16:
		s.i = ((const uint16_t *)data)[at];
		s.f = bf16_to_f32((uint16_t)s.i);
		break;
	case DT_I64:
	case DT_INDEX:
		s.i = ((const int64_t *)data)[at];
		break;
	case DT_I32:
		s.i = ((const int32_t *)data)[at];
		break;
	case DT_I16:
		s.i = ((const int16_t *)data)[at];
		break;
	case DT_I8:
		s.i = ((const int8_t *)data)[at];
		break;
	case DT_U64:
		s.i = (int64_t)((const uint64_t *)data)[at];
		break;
	case DT_U32:
		s.i = ((const uint32_t *)data)[at];
		break;
	case DT_U16:
		s.i = ((const uint16_t *)data)[at];
		break;
	case DT_U8:
	case DT_BOOL:
		s.i = ((const uint8_t *)data)[at];
		break;
	}
	return s;
}

static void put(DType type, void *data, int at, Lane s)
{
	switch (type) {
	case DT_F64:
		((double *)data)[at] = s.f;
		break;
	case DT_F32:
		((float *)data)[at] = (float)s.f;
		break;
	case DT_F16:
	case DT_BF16:
		((uint16_t *)data)[at] = (uint16_t)s.i;
		break;
	case DT_I64:
	case DT_U64:
	case DT_INDEX:
		((int64_t *)data)[at] = s.i;
		break;
	case DT_I32:
	case DT_U32:
		((int32_t *)data)[at] = (int32_t)s.i;
		break;
	case DT_I16:
	case DT_U16:
		((int16_t *)data)[at] = (int16_t)s.i;
		break;
	case DT_I8:
		((int8_t *)data)[at] = (int8_t)s.i;
		break;
	case DT_U8:
		((uint8_t *)data)[at] = (uint8_t)s.i;
		break;
	case DT_BOOL:
		((uint8_t *)data)[at] = s.i != 0;
		break;
	}
}

static int64_t saturate(double x, DType to)
{
	bool has_sign = !dtype_is_unsigned(to);
	int bits = 8 * dtype_bytes(to) - has_sign;
	double most = ldexp(1, bits), least = has_sign ? -most : 0;
	if (isnan(x))
		return 0;
	if (x <= least)
		return has_sign ? -(int64_t)(UINT64_C(1) << (bits - 1)) * 2 : 0;
	if (x >= most)
		return (int64_t)(UINT64_MAX >> (64 - bits));
	return has_sign ? (int64_t)x : (int64_t)(uint64_t)x;
}

static Lane cast(Lane s, DType from, DType to)
{
	Lane r = {0};
	if (dtype_is_float(from)) {
		if (to == DT_BOOL)
			r.i = s.f != 0;
		else if (to == DT_F16)
			r.i = f16_from_f64(s.f);
		else if (to == DT_BF16)
			r.i = bf16_from_f64(s.f);
		else if (dtype_is_float(to))
			r.f = s.f;
		else
			r.i = saturate(s.f, to);
		return r;
	}
	double d = from == DT_U64 ? (double)(uint64_t)s.i : (double)s.i;
	r.i = to == DT_BOOL ? s.i != 0 : s.i;
	if (to == DT_F64)
		r.f = d;
	else if (to == DT_F32)
		r.f = from == DT_U64 ? (float)(uint64_t)s.i : (float)s.i;
	else if (to == DT_F16)
		r.i = f16_from_f64(d);
	else if (to == DT_BF16)
		r.i = bf16_from_f64(d);
	return r;
}

/* Results of f32 are rounded by put(); one operation in f64 rounds the same
 * (Figueroa, 1995), but a fused one has to be done in f32. */
static Lane float_op(const Case *c, Lane a, Lane b, Lane d)
{
	double r = 0;
	bool single = c->type == DT_F32;
	switch (c->op) {
	case LOW_ADD:
		r = a.f + b.f;
		break;
	case LOW_SUB:
		r = a.f - b.f;
		break;
	case LOW_MUL:
		r = a.f * b.f;
		break;
	case LOW_DIV:
		r = a.f / b.f;
		break;
	case LOW_NEG:
		r = -a.f;
		break;
	case LOW_ABS:
		r = fabs(a.f);
		break;
	case LOW_MIN:
		r = a.f < b.f ? a.f : b.f;
		break;
	case LOW_MAX:
		r = a.f > b.f ? a.f : b.f;
		break;
	case LOW_FMA:
		r = single ? fmaf((float)a.f, (float)b.f, (float)d.f)
			   : fma(a.f, b.f, d.f);
		break;
	case LOW_RSQRT:
		r = (double)scalar_math_f32(OP_RSQRT, (float)a.f, 0);
		break;
	case LOW_MATH:
		r = single ? (double)scalar_math_f32(
				 c->math, (float)a.f, (float)b.f)
			   : scalar_math_f64(c->math, a.f, b.f);
		break;
	default:
		break;
	}
	return (Lane){.f = r};
}

static int64_t floor_mod(int64_t a, int64_t b)
{
	return (a % b + b) % b;
}

/* Of u64, where its bits are no i64 that compares alike. */
static Lane u64_op(const Case *c, uint64_t a, uint64_t b)
{
	uint64_t r = 0;
	switch (c->op) {
	case LOW_ABS:
		r = a;
		break;
	case LOW_MIN:
		r = a < b ? a : b;
		break;
	case LOW_MAX:
		r = a > b ? a : b;
		break;
	case LOW_MOD:
		r = a % b;
		break;
	default:
		r = a / b;
		break;
	}
	return (Lane){.i = (int64_t)r};
}

static bool is_of_u64(const Case *c)
{
	return c->type == DT_U64 &&
	    (c->op == LOW_ABS || c->op == LOW_MIN || c->op == LOW_MAX ||
		c->op == LOW_MOD || c->op == LOW_FLOORDIV);
}

static Lane int_op(const Case *c, int64_t a, int64_t b)
{
	uint64_t x = (uint64_t)a, y = (uint64_t)b;
	int64_t r = 0;
	if (is_of_u64(c))
		return u64_op(c, x, y);
	switch (c->op) {
	case LOW_ADD:
		r = (int64_t)(x + y);
		break;
	case LOW_SUB:
		r = (int64_t)(x - y);
		break;
	case LOW_MUL:
		r = (int64_t)(x * y);
		break;
	case LOW_NEG:
		r = (int64_t)(0 - x);
		break;
	case LOW_ABS:
		r = a < 0 ? (int64_t)(0 - x) : a;
		break;
	case LOW_MIN:
		r = a < b ? a : b;
		break;
	case LOW_MAX:
		r = a > b ? a : b;
		break;
	case LOW_MOD:
		r = floor_mod(a, b);
		break;
	case LOW_FLOORDIV:
		r = a / b - (a % b < 0);
		break;
	case LOW_XOR:
		r = a ^ b;
		break;
	case LOW_AND:
		r = a & b;
		break;
	case LOW_OR:
		r = a | b;
		break;
	case LOW_NOT:
		r = !a;
		break;
	case LOW_SHL:
		r = (int64_t)(x << (y % (uint64_t)(8 * dtype_bytes(c->type))));
		break;
	case LOW_SHR:
		y %= (uint64_t)(8 * dtype_bytes(c->type));
		r = c->type == DT_U64 ? (int64_t)(x >> y) : a >> y;
		break;
	case LOW_POPCOUNT:
		for (int i = 0; i < 8 * dtype_bytes(c->type); i++)
			r += x >> i & 1;
		break;
	default:
		break;
	}
	return (Lane){.i = r};
}

static bool compare(LowOpcode op, bool real, Lane a, Lane b)
{
	switch (op) {
	case LOW_LT:
		return real ? a.f < b.f : a.i < b.i;
	case LOW_LE:
		return real ? a.f <= b.f : a.i <= b.i;
	case LOW_EQ:
		return real ? a.f == b.f : a.i == b.i;
	default:
		return real ? a.f != b.f : a.i != b.i;
	}
}

/* --- inputs
 * -------------------------------------------------------------------- */

typedef struct {
	unsigned char a[DATA * 8], b[DATA * 8], c[DATA * 8];
	uint8_t mask[DATA];
	int64_t index[DATA];
} Inputs;

static void fill_floats(Rng *rng, DType type, void *data)
{
	static const double special[] = {0, -0.0, 1, -1, INFINITY, -INFINITY,
	    NAN, 0.5, 1.5, 2.5, -2.5, 3e9, -3e9, 1e20, -1e20, 65504, 65519,
	    65520, 65536, 6e-8, 5.96e-8, 2.98e-8, 2.99e-8, 6.1e-5, 1e-40, 1e-45,
	    3.4e38, 127.5, 128, 255.9, 256, -0.9, -128.9, -129, 32767.5,
	    2147483647.0, 1.00390625, 1.01171875, 1.0009765625, 1.00048828125,
	    1.00146484375, 2147483520.0, -2147483648.0, 9223371487098961920.0,
	    0x1p63, -0x1p63};
	int n = sizeof special / sizeof *special;
	for (int i = 0; i < DATA; i++) {
		double x = i < n ? special[i]
				 : (rng_double(rng) - 0.5) *
				       ldexp(1, (int)rng_below(rng, 24) - 8);
		if (i >= DATA - 8) /* between two neighbours of a short float */
			x = 1 + 0x1p-8 + (rng_double(rng) - 0.5) * 0x1p-40;
		Lane s = {.f = x};
		if (type == DT_F16)
			s.i = f16_from_f64(x);
		if (type == DT_BF16)
			s.i = bf16_from_f64(x);
		put(type, data, i, s);
	}
}

static void fill(Rng *rng, DType type, void *data, bool positive)
{
	if (dtype_is_float(type)) {
		fill_floats(rng, type, data);
		return;
	}
	for (int i = 0; i < DATA; i++) {
		/* of all magnitudes, the extremes among them */
		int64_t x = (int64_t)(rng_next(rng) >> rng_below(rng, 64));
		if (i < 2)
			x = (int64_t)(0 -
				      (UINT64_C(1)
					  << (8 * dtype_bytes(type) - 1)) -
				      (uint64_t)i);
		if (type == DT_BOOL)
			x &= 1;
		put(type, data, i, (Lane){.i = x});
		int64_t v = get(type, data, i).i;
		if (positive && v <= 0)
			put(type, data, i, (Lane){.i = 1 + (i & 63)});
	}
}

static void fill_exponents(DType type, void *data)
{
	int step = type == DT_F32 ? 1 : 8;
	for (int i = 0; i < DATA; i++)
		put(type, data, i,
		    (Lane){.f = i % 37 == 0 ? NAN : (i * 13 % 600 - 300) * step});
}

static void fill_inputs(const Case *c, Inputs *in)
{
	Rng rng = rng_stream(7, (uint64_t)c->type, (uint64_t)c->op);
	bool divides = c->op == LOW_FLOORDIV || c->op == LOW_MOD;
	fill(&rng, c->dot ? c->dot->a : c->from, in->a, false);
	Rng more = rng_stream(8, (uint64_t)c->type, (uint64_t)c->op);
	fill(&more, c->dot ? c->dot->b : c->from, in->b, divides);
	if (dtype_is_float(c->from)) { /* specials meet others */
		int bytes = dtype_bytes(c->from);
		memmove(in->b, in->b + 5 * bytes, (size_t)((DATA - 5) * bytes));
	}
	if (c->op == LOW_SCALE)
		fill_exponents(c->type, in->b);
	fill(&more, c->type, in->c, false);
	for (int i = 0; i < DATA; i++) {
		in->mask[i] = rng_next(&rng) & 1;
		in->index[i] = (int64_t)rng_below(&rng, N);
	}
	in->index[1] = in->index[0]; /* scatter: the later lane wins */
}

/* --- the kernel of a case
 * -------------------------------------------------------- */

enum { A, B, C, MASK, INDEX, OUT, NBUFFERS };

static DType buffer_type(const Case *c, int buffer)
{
	switch (buffer) {
	case A:
		return c->dot ? c->dot->a : c->from;
	case B:
		return c->dot ? c->dot->b : c->from;
	case MASK:
		return DT_BOOL;
	case INDEX:
		return DT_I64;
	default:
		return c->type == DT_INDEX ? DT_I64 : c->type;
	}
}

typedef struct {
	LowFunction *f;
	LowBody *body;
	int i, lanes;
	bool index;
} Emit;

static int temp(Emit *e, DType type, int lanes)
{
	return low_temp(arena, e->f, type, lanes, "t");
}

static LowNode *access_op(
    Emit *e, LowOpcode op, int dst, int a, int b, int c, int buffer, int lanes)
{
	LowNode *n = low_op(arena, e->body, op, dst, a, b, c);
	n->buffer = buffer;
	n->address = lowtest_at(arena, e->i, lanes, 0);
	return n;
}

static int load(Emit *e, int buffer, int lanes)
{
	int t = temp(e, e->f->buffers.at[buffer].type, lanes);
	access_op(e, LOW_LOAD, t, -1, -1, -1, buffer, lanes);
	if (!e->index || buffer > C)
		return t;
	int x = temp(e, DT_INDEX, lanes);
	low_op(arena, e->body, LOW_CONVERT, x, t, -1, -1);
	return x;
}

/* Of i32 where there is a mask. */
static int load_index(Emit *e, bool masked)
{
	int t = load(e, INDEX, e->lanes);
	int x = temp(
	    e, masked && e->lanes > 1 ? DT_I32 : DT_INDEX, e->lanes);
	low_op(arena, e->body, LOW_CONVERT, x, t, -1, -1);
	return x;
}

static int reversed(int lanes, int l)
{
	return 2 * lanes - 1 - 2 * l;
}

static bool is_permuted(DType type, int lanes)
{
	return type != DT_INDEX && dtype_bytes(type) == 4 && lanes > 1 &&
	    !(lanes & (lanes - 1));
}

/* False where the operation has another form than d = op(a, b, c). */
static bool emit_special(Emit *e, const Case *c, int d)
{
	LowBody *body = e->body;
	int n = c->lanes, x, y;
	LowNode *node;
	switch (c->op) {
	case LOW_CONST:
		node = low_op(arena, body, LOW_CONST, d, -1, -1, -1);
		node->i = c->type == DT_BOOL ? 1 : -3;
		node->f = -1.5;
		return true;
	case LOW_IOTA:
		x = c->type == DT_INDEX ? e->i : load(e, A, 1);
		low_op(arena, body, LOW_IOTA, d, x, -1, -1);
		return true;
	case LOW_LANES_BELOW:
		low_op(arena, body, LOW_LANES_BELOW, d, e->i, -1, -1);
		return true;
	case LOW_BROADCAST:
		low_op(arena, body, LOW_BROADCAST, d, load(e, A, 1), -1, -1);
		return true;
	case LOW_ANY: /* for all of these */
		x = temp(e, DT_BOOL, 1);
		low_op(arena, body, LOW_ANY, x, load(e, A, n), -1, -1);
		low_op(arena, body, LOW_BROADCAST, d, x, -1, -1);
		return true;
	case LOW_BITS: /* of a mask: for all of these, too */
		if (c->from != DT_BOOL)
			return false;
		x = temp(e, c->type, 1);
		low_op(arena, body, LOW_BITS, x, load(e, A, n), -1, -1);
		low_op(arena, body, LOW_BROADCAST, d, x, -1, -1);
		return true;
	case LOW_EXTRACT: /* and put back at another place */
		x = temp(e, c->type, 1);
		y = load(e, A, n);
		low_op(arena, body, LOW_EXTRACT, x, y, -1, -1)->i = n - 1;
		low_op(arena, body, LOW_BROADCAST, d, x, -1, -1);
		return true;
	case LOW_INSERT:
		x = load(e, A, n);
		y = load(e, B, 1);
		low_op(arena, body, LOW_INSERT, d, x, y, -1)->i = n / 2;
		return true;
	case LOW_SHUFFLE:
		x = load(e, A, n);
		y = load(e, B, n);
		node = low_op(arena, body, LOW_SHUFFLE, d, x, y, -1);
		node->shuffle = NEW_N(arena, int, n);
		for (int l = 0; l < n; l++)
			node->shuffle[l] = reversed(n, l);
		return true;
	case LOW_PERMUTE: /* of a power of two */
		x = load(e, A, n);
		if (!is_permuted(c->type, n))
			low_op(arena, body, LOW_COPY, d, x, -1, -1);
		else
			low_op(arena, body, LOW_PERMUTE, d, x,
			    load_index(e, c->masked), -1);
		return true;
	case LOW_LOAD_MASKED:
		x = load(e, MASK, n);
		access_op(e, LOW_LOAD_MASKED, d, x, -1, -1, A, n);
		return true;
	case LOW_GATHER:
		x = load_index(e, c->masked);
		y = c->masked ? load(e, MASK, n) : -1;
		node = access_op(e, LOW_GATHER, d, x, y, -1, A, n);
		node->address = low_affine_const(1);
		return true;
	case LOW_SCALE:
		x = load(e, A, n);
		y = load(e, B, n);
		low_op(arena, body, LOW_SCALE, d, x, y,
		    c->masked ? load(e, MASK, n) : -1);
		return true;
	case LOW_SELECT:
		x = load(e, MASK, n);
		y = load(e, A, n);
		low_op(arena, body, LOW_SELECT, d, x, y, load(e, B, n));
		return true;
	case LOW_DOT:
		x = load(e, A, c->dot->terms * n);
		y = load(e, B, c->dot->terms * n);
		low_op(arena, body, LOW_DOT, d, x, y, load(e, C, n));
		return true;
	default:
		return false;
	}
}

static void emit_store(Emit *e, const Case *c, int d)
{
	int n = c->lanes, mask;
	LowNode *node;
	if (c->type == DT_INDEX) {
		int x = temp(e, DT_I64, n);
		low_op(arena, e->body, LOW_CONVERT, x, d, -1, -1);
		d = x;
	}
	switch (c->op) {
	case LOW_STORE_MASKED:
		mask = load(e, MASK, n);
		access_op(e, LOW_STORE_MASKED, -1, d, mask, -1, OUT, n);
		break;
	case LOW_SCATTER:
		mask = c->masked ? load(e, MASK, n) : -1;
		node = access_op(e, LOW_SCATTER, -1, d,
		    load_index(e, c->masked), mask, OUT, n);
		node->address = low_affine_const(0);
		break;
	default:
		access_op(e, c->op == LOW_STREAM ? LOW_STREAM : LOW_STORE, -1,
		    d, -1, -1, OUT, n);
	}
}

static bool stores_only(LowOpcode op)
{
	return op == LOW_LOAD || op == LOW_STORE || op == LOW_STORE_MASKED ||
	       op == LOW_SCATTER || op == LOW_STREAM || op == LOW_PREFETCH;
}

static void emit_case(Emit *e, const Case *c)
{
	int x[3] = {-1, -1, -1};
	if (c->op == LOW_PREFETCH)
		access_op(e, LOW_PREFETCH, -1, -1, -1, -1, A, c->lanes)->i = 2;
	if (stores_only(c->op)) {
		emit_store(e, c, load(e, A, c->lanes));
		return;
	}
	int d = temp(e, c->type, c->lanes);
	if (!emit_special(e, c, d)) {
		for (int i = 0; i < low_op_nargs(c->op); i++)
			x[i] = load(e, i == 2 ? C : i, c->lanes);
		LowNode *node =
		    low_op(arena, e->body, c->op, d, x[0], x[1], x[2]);
		node->math = c->math;
	}
	emit_store(e, c, d);
}

static LowFunction *case_function(const Case *c, int number)
{
	static const char *const names[] = {"A", "B", "C", "M", "X", "out"};
	LowFunction *f =
	    lowtest_function(arena, arena_printf(arena, "k%d", number));
	for (int i = 0; i < NBUFFERS; i++)
		lowtest_buffer(
		    arena, f, names[i], buffer_type(c, i), DATA, i == OUT);
	LowNode *loop =
	    lowtest_loop(arena, f, &f->body, LOOP_SERIAL, N / c->lanes, "i");
	Emit e = {f, &loop->body, loop->var, c->lanes, c->index};
	emit_case(&e, c);
	return f;
}

/* --- what it should give
 * ---------------------------------------------------------- */

/* Integers wrap; of floats the last term comes first. */
static Lane dot(const Intrinsic *of, const Inputs *in, int i, Lane sum)
{
	for (int k = of->terms * (i + 1) - 1; k >= of->terms * i; k--) {
		Lane a = get(of->a, in->a, k), b = get(of->b, in->b, k);
		sum.f = fmaf((float)a.f, (float)b.f, (float)sum.f);
		sum.i += a.i * b.i;
	}
	return sum;
}

/* Bools as bits, the first the lowest. */
static Lane word_of(const Case *c, const void *bools, int first)
{
	uint64_t word = 0;
	for (int l = 0; l < c->lanes; l++)
		word |= (uint64_t)get(DT_BOOL, bools, first + l).i << l;
	return cast((Lane){.i = (int64_t)word}, DT_U64, c->type);
}

static Lane expected(const Case *c, const Inputs *in, int i)
{
	int n = c->lanes, block = i / n, l = i % n, s;
	Lane a = get(buffer_type(c, A), in->a, i);
	Lane b = get(buffer_type(c, B), in->b, i);
	Lane d = get(c->type, in->c, i);
	switch (c->op) {
	case LOW_CONST:
		return (Lane){-1.5, c->type == DT_BOOL   ? 1
				      : c->type == DT_F16  ? f16_from_f64(-1.5)
				      : c->type == DT_BF16 ? bf16_from_f64(-1.5)
							   : -3};
	case LOW_IOTA:
		return (Lane){
		    .i = (int64_t)((uint64_t)(c->type == DT_INDEX
						  ? block
						  : get(c->from, in->a, block)
							.i) +
				   (uint64_t)l)};
	case LOW_LANES_BELOW:
		return (Lane){.i = l < block};
	case LOW_BROADCAST:
		return get(c->from, in->a, block);
	case LOW_ANY:
		for (s = 0; n > 0; n--)
			s |= (int)get(DT_BOOL, in->a, block * c->lanes + n - 1).i;
		return (Lane){.i = s};
	case LOW_EXTRACT:
		return get(c->from, in->a, block * n + n - 1);
	case LOW_INSERT:
		return l == n / 2 ? get(c->from, in->b, block) : a;
	case LOW_SHUFFLE:
		s = reversed(n, l);
		return s < n ? get(c->from, in->a, block * n + s)
			     : get(c->from, in->b, block * n + s - n);
	case LOW_PERMUTE:
		return !is_permuted(c->type, n)
		    ? a
		    : get(c->from, in->a,
			  block * n + ((int)in->index[i] & (n - 1)));
	case LOW_CONVERT:
		return cast(a, c->from, c->type);
	case LOW_BITS:
		return c->from == DT_BOOL ? word_of(c, in->a, block * n)
					  : get(c->type, in->a, i);
	case LOW_LOAD_MASKED:
		return in->mask[i] ? a : (Lane){0};
	case LOW_GATHER:
		return c->masked && !in->mask[i]
			   ? (Lane){0}
			   : get(c->from, in->a, (int)in->index[i] + 1);
	case LOW_SCALE:
		if (c->masked && !in->mask[i])
			return (Lane){0};
		a.f = c->type == DT_F32
			  ? (double)scalar_scale_f32((float)a.f, (float)b.f)
			  : scalar_scale_f64(a.f, b.f);
		return a;
	case LOW_SELECT:
		return in->mask[i] ? a : b;
	case LOW_DOT:
		return dot(c->dot, in, i, d);
	case LOW_COPY:
		return a;
	default:
		break;
	}
	if (stores_only(c->op))
		return a;
	if (c->from == DT_U64 && low_op_is_comparison(c->op)) {
		a.i ^= INT64_MIN;
		b.i ^= INT64_MIN;
	}
	if (low_op_is_comparison(c->op))
		return (Lane){
		    .i = compare(c->op, dtype_is_float(c->from), a, b)};
	return dtype_is_float(c->type) ? float_op(c, a, b, d)
				       : int_op(c, a.i, b.i);
}

static void expect_all(const Case *c, const Inputs *in, unsigned char *out)
{
	for (int i = 0; i < N; i++) {
		Lane s = expected(c, in, i);
		if (c->op == LOW_STORE_MASKED && !in->mask[i])
			continue;
		if (c->op == LOW_SCATTER && c->masked && !in->mask[i])
			continue;
		put(c->type, out, c->op == LOW_SCATTER ? (int)in->index[i] : i,
		    s);
	}
}

static DType stored_type(const Case *c)
{
	return buffer_type(c, OUT);
}

/* An estimate is right to 14 bits. */
static bool near_enough(LowOpcode op, Lane a, Lane b)
{
	return op == LOW_RSQRT && fabs(a.f - b.f) <= 0x1p-14 * fabs(b.f);
}

static bool same(LowOpcode op, DType type, const void *x, const void *y, int i)
{
	int bytes = dtype_bytes(type);
	Lane a = get(type, x, i), b = get(type, y, i);
	if (dtype_is_float(type) && isnan(a.f) && isnan(b.f))
		return true;
	if (near_enough(op, a, b))
		return true;
	return !memcmp((const char *)x + i * bytes, (const char *)y + i * bytes,
	    (size_t)bytes);
}

/* --- all cases
 * -------------------------------------------------------------------- */

static void add_case(Cases *cases, Case c)
{
	char why[256];
	LowFunction *f = case_function(&c, cases->n);
	c.lowered = lowtest_lowered(arena, f);
	if (low_function_verify(f, why, sizeof why))
		vec_push(arena, cases, c);
}

static void add_widths(Cases *cases, Case c, bool all)
{
	static const int lanes[] = {1, 4, 16, 2, 8, 32, 64};
	int n = all ? 7 : 3;
	for (int i = 0; i < n; i++) {
		c.lanes = lanes[i];
		if (c.op != LOW_DOT || c.lanes <= 16)
			add_case(cases, c);
	}
}

static void add_dots(Cases *cases)
{
	for (int i = 0; i < intrinsic_count(); i++) {
		const Intrinsic *in = intrinsic_at(i);
		add_widths(cases, (Case){.op = LOW_DOT, .type = in->sum,
		    .from = in->a, .dot = in}, true);
	}
}

static void add_op(Cases *cases, LowOpcode op)
{
	if (op == LOW_DOT) {
		add_dots(cases);
		return;
	}
	for (int t = 0; t <= DT_INDEX; t++) {
		Case c = {.op = op, .type = (DType)t, .from = (DType)t};
		bool wide = t == DT_F32 || t == DT_I8;
		if (t == DT_INDEX) {
			c.from = DT_I64;
			c.index = op != LOW_CONVERT;
		}
		if (low_op_is_comparison(op))
			c.type = DT_BOOL;
		bool retypes = op == LOW_CONVERT || op == LOW_BITS;
		for (int u = 0; retypes && u < DT_COUNT; u++) {
			c.from = (DType)u;
			add_widths(cases, c, op == LOW_BITS);
		}
		for (Op m = 0; op == LOW_MATH && m < OP_COUNT; m++) {
			if (!op_is_function(m))
				continue;
			c.math = m;
			add_widths(cases, c, op_arity(m) == 2);
		}
		if (retypes || op == LOW_MATH)
			continue;
		add_widths(cases, c, wide);
		c.masked = true;
		if (op == LOW_GATHER || op == LOW_SCATTER || op == LOW_SCALE ||
		    op == LOW_PERMUTE)
			add_widths(cases, c, wide);
	}
}

/* What the threads of a GPU's block do together, and what only a GPU has. */
static bool is_of_threads(LowOpcode op)
{
	return op == LOW_BARRIER || op == LOW_ROUND_TF32 || low_op_is_warps(op) ||
	    op == LOW_COPY_ASYNC || op == LOW_COMMIT || op == LOW_WAIT;
}

static Cases all_cases(void)
{
	Cases cases = {0};
	bool seen[LOW_COUNT] = {false};
	for (int op = 0; op < LOW_COUNT; op++)
		if (!is_of_threads((LowOpcode)op))
			add_op(&cases, (LowOpcode)op);
	for (int i = 0; i < cases.n; i++)
		seen[cases.at[i].op] = true;
	for (int op = 0; op < LOW_COUNT; op++)
		if (!seen[op] && !is_of_threads((LowOpcode)op))
			fail_msg("no case of %s", low_op_name((LowOpcode)op));
	return cases;
}

/* The interpreter of the lowered form does the same. */
static void interpret_case(
    const Case *c, Inputs *in, unsigned char *out, const unsigned char *want)
{
	LowRun run = {.check_races = true};
	if (!low_function_run(c->lowered->kernel,
		(void *[]){in->a, in->b, in->c, in->mask, in->index, out},
		&run))
		fail_msg("%s: %s", low_op_name(c->op), run.message);
	for (int i = 0; i < DATA; i++)
		if (!same(c->op, stored_type(c), out, want, i))
			fail_msg("interpreter: %s %s from %s, %d lanes: "
				 "element %d: %a %lld, not %a %lld",
			    low_op_name(c->op), dtype_name(c->type),
			    dtype_name(c->from), c->lanes, i,
			    get(c->type, out, i).f,
			    (long long)get(c->type, out, i).i,
			    get(c->type, want, i).f,
			    (long long)get(c->type, want, i).i);
}

static void run_case(const Case *c, void *library, const Target *t)
{
	static unsigned char out[DATA * 8 + GUARD], want[DATA * 8 + GUARD];
	Inputs in;
	fill_inputs(c, &in);
	memset(out, 0x5a, sizeof out);
	memset(want, 0x5a, sizeof want);
	if (c->type == DT_BOOL) {
		memset(out, 1, sizeof out);
		memset(want, 1, sizeof want);
	}
	expect_all(c, &in, want);
	void (*kernel)(void *, void *, void *, void *, void *, void *);
	*(void **)&kernel = dlsym(library, c->lowered->kernel->name);
	assert_non_null(kernel);
	kernel(in.a, in.b, in.c, in.mask, in.index, out);
	for (int i = 0; i < DATA; i++)
		if (!same(c->op, stored_type(c), out, want, i))
			fail_msg("%s: %s %s from %s, %d lanes%s%s: element %d: "
				 "%a %lld, not %a %lld",
			    t->cpu, low_op_name(c->op), dtype_name(c->type),
			    dtype_name(c->from), c->lanes,
			    c->op == LOW_MATH ? " " : "",
			    c->op == LOW_MATH ? op_name(c->math) : "", i,
			    get(c->type, out, i).f,
			    (long long)get(c->type, out, i).i,
			    get(c->type, want, i).f,
			    (long long)get(c->type, want, i).i);
	memset(out, c->type == DT_BOOL ? 1 : 0x5a, sizeof out);
	interpret_case(c, &in, out, want);
}

static void run_target(const char *text)
{
	Error error = {0};
	Target *t = target_parse(arena, text, &error);
	if (!t)
		fail_msg("%s", error.text);
	Cases cases = all_cases();
	Lowered **lowered = NEW_N(arena, Lowered *, cases.n);
	for (int i = 0; i < cases.n; i++)
		lowered[i] = cases.at[i].lowered;
	Buf object = {0};
	lowtest_compile(t, lowered, cases.n, LLVM_OBJECT, &object);
	if (target_runs_here(t)) {
		void *library = lowtest_open(&object);
		for (int i = 0; i < cases.n; i++)
			run_case(&cases.at[i], library, t);
		dlclose(library);
	}
	buf_free(&object);
}

static void test_host(void **state)
{
	(void)state;
	run_target("host");
}

static void test_v3(void **state)
{
	(void)state;
	run_target("llvm -mcpu=x86-64-v3");
}

static void test_baseline(void **state)
{
	(void)state;
	run_target("llvm -mcpu=x86-64");
}

static void test_avx512(void **state)
{
	(void)state;
	run_target("llvm -mcpu=x86-64-v4");
}

static void test_aarch64(void **state)
{
	(void)state;
	run_target("llvm -mcpu=neoverse-n1");
}

/* 2^60 + 2^52 + 1 lies just above the middle of two bf16; rounded to f64 first
 * it would be the middle. */
static void test_wide_int_to_bf16(void **state)
{
	(void)state;
	Error error = {0};
	Case c = {
	    .op = LOW_CONVERT, .type = DT_BF16, .from = DT_I64, .lanes = 4};
	Target *t = target_parse(arena, "host", &error);
	Lowered *l = lowtest_lowered(arena, case_function(&c, 0));
	Buf object = {0};
	lowtest_compile(t, &l, 1, LLVM_OBJECT, &object);
	void *library = lowtest_open(&object);
	void (*kernel)(void *, void *, void *, void *, void *, void *);
	*(void **)&kernel = dlsym(library, "k0");
	int64_t in[N] = {(INT64_C(1) << 60) + (INT64_C(1) << 52) + 1,
	    (INT64_C(1) << 60) + (INT64_C(1) << 52),
	    -(INT64_C(1) << 60) - (INT64_C(1) << 52) - 1, 257};
	uint16_t out[N];
	kernel(in, in, in, in, in, out);
	assert_int_equal(out[0], bf16_from_f64(0x1p60 + 0x1p53));
	assert_int_equal(out[1], bf16_from_f64(0x1p60));
	assert_int_equal(out[2], bf16_from_f64(-0x1p60 - 0x1p53));
	assert_int_equal(out[3], bf16_from_f64(257));
	dlclose(library);
	buf_free(&object);
}

/* Copies of a long chain stand side by side. */
static void test_long_chains(void **state)
{
	(void)state;
	Error error = {0};
	LowFunction *f = lowtest_function(arena, "k");
	lowtest_buffer(arena, f, "x", DT_F32, 16, false);
	lowtest_buffer(arena, f, "y", DT_F32, 16, true);
	for (int c = 0; c < 2; c++) {
		int x = low_temp(arena, f, DT_F32, 8, "x");
		LowNode *n = low_op(arena, &f->body, LOW_LOAD, x, -1, -1, -1);
		n->buffer = 0;
		n->address = low_affine_const(8 * c);
		for (int i = 0; i < 12; i++) {
			int m = low_temp(arena, f, DT_F32, 8, "m");
			low_op(arena, &f->body, LOW_MUL, m, x, x, -1);
			x = m;
		}
		n = low_op(arena, &f->body, LOW_STORE, -1, x, -1, -1);
		n->buffer = 1;
		n->address = low_affine_const(8 * c);
	}
	Target *t = target_parse(arena, "llvm -mcpu=x86-64-v3", &error);
	Lowered *l = lowtest_lowered(arena, f);
	Buf text = {0};
	lowtest_compile(t, &l, 1, LLVM_IR_TEXT, &text);
	const char *first = strstr(buf_text(&text), "fmul");
	assert_non_null(first);
	assert_null(strstr(first, "load "));
	buf_free(&text);
}

static int setup(void **state)
{
	(void)state;
	arena = arena_new();
	return lowtest_llvm() ? 0 : -1;
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
	    cmocka_unit_test(test_host),
	    cmocka_unit_test(test_v3),
	    cmocka_unit_test(test_baseline),
	    cmocka_unit_test(test_avx512),
	    cmocka_unit_test(test_aarch64),
	    cmocka_unit_test(test_wide_int_to_bf16),
	    cmocka_unit_test(test_long_chains),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
