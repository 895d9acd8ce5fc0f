/* Functions of vectors against libm in a wider type: at most 2 ulp, specials
 * alike.  Every 9001st float is tried (of doubles as many, with random low
 * bits), and all around 0, the range's ends and the places where the algorithms
 * change; in the long tier every 61st.  Vectors have one value in all lanes, in
 * one of them, in every other one.  Powers: numbers, small integers and specials
 * to each other's. */
#include "lib/rng.h"
#include "test/common_lower.h"
#include "test/common_lowered.h"
#include "test/common_program.h"
#include "test/common_schedule.h"
#include "test/common_tier.h"

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

enum { N = 4096, LANES = 16, QUICK = 9001, LONG = 61, NEAR = 1500 };

static const Op functions[] = {OP_EXP, OP_EXP2, OP_EXPM1, OP_LOG, OP_LOG2,
    OP_LOG1P, OP_TANH, OP_SINH, OP_COSH, OP_SIGMOID, OP_ERF, OP_SQRT, OP_RSQRT,
    OP_SIN, OP_COS, OP_TAN, OP_ASIN, OP_ACOS, OP_ATAN, OP_ATAN2, OP_POW,
    OP_FLOOR, OP_CEIL, OP_ROUND, OP_TRUNC};
enum { NFUNCTIONS = sizeof functions / sizeof *functions };

static const char *const targets[] = {"llvm -mcpu=haswell -threads=1",
    "llvm -mcpu=x86-64 -threads=1", "llvm -mcpu=skylake-avx512 -threads=1"};

static long double exactly(Op op, long double x, long double e)
{
	switch (op) {
	case OP_EXP: return expl(x);
	case OP_EXP2: return exp2l(x);
	case OP_EXPM1: return expm1l(x);
	case OP_LOG: return logl(x);
	case OP_LOG2: return log2l(x);
	case OP_LOG1P: return log1pl(x);
	case OP_SINH: return sinhl(x);
	case OP_COSH: return coshl(x);
	case OP_TAN: return tanl(x);
	case OP_ASIN: return asinl(x);
	case OP_ACOS: return acosl(x);
	case OP_ATAN: return atanl(x);
	case OP_ATAN2: return atan2l(x, e);
	case OP_TRUNC: return truncl(x);
	case OP_TANH: return tanhl(x);
	case OP_SIGMOID:
		return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x));
	case OP_ERF: return erfl(x);
	case OP_SQRT: return sqrtl(x);
	case OP_SIN: return sinl(x);
	case OP_COS: return cosl(x);
	case OP_POW: return powl(x, e);
	case OP_FLOOR: return floorl(x);
	case OP_CEIL: return ceill(x);
	case OP_ROUND: return rintl(x);
	default: return 1 / sqrtl(x);
	}
}

/* Distance in units of the last place of a float of that size. */
static double ulps(DType type, double got, long double want)
{
	int exponent, digits = type == DT_F32 ? 24 : 53;
	int least = type == DT_F32 ? -125 : -1021;
	double near = type == DT_F32 ? (double)(float)want : (double)want;
	if (isnan(got) || isnan(want))
		return isnan(got) && isnan(want) ? 0 : INFINITY;
	if (isinf(got) || isinf(near))
		return got == near ? 0 : INFINITY;
	if (want == 0)
		return got == 0 && !signbit(got) == !signbit(want)
		    ? 0
		    : INFINITY;
	frexpl(want, &exponent);
	exponent = exponent < least ? least : exponent;
	return (double)(fabsl(got - want) / ldexpl(1, exponent - digits));
}

static Lowered *vectorized(
    Arena *arena, const Target *target, Op op, DType type)
{
	Error error = {0};
	Program *p = program_map(arena, op, type, N);
	p->symbol = arena_printf(
	    arena, "vector_%s_%s", op_name(op), dtype_name(type));
	int lanes = target->machine.vector_bytes == 64 ? 16 : 8;
	Nest *nest = schedule_nest(arena, p, &target->machine,
	    schedule_steps(arena, arena_printf(arena,
		"i0, i1 = split(y.i, [_, %d])\nvectorize(i1, %d)\n", lanes,
		lanes)),
	    &error);
	assert_non_null(nest);
	Lowered *l = lower(arena, nest, &target->machine, &error);
	assert_non_null(l);
	return l;
}

/* What functions give, in the order of what is tried: it is the same for each
 * target, and takes more time than the targets' functions. */
typedef struct {
	double x, e;
	long double want;
} Known;

typedef struct {
	Known *at;
	int n, size;
} Reference;

typedef struct {
	void *function;
	Reference *reference;
	int tried; /* before those at hand */
	Op op;
	DType type;
	int n;
	Rng rng;
	double x[N], e[N];	 /* as doubles */
	double data[3][N];	 /* as the function has them */
	double worst, worst_x, worst_e;
} Check;

static long double wanted(Check *c, int i)
{
	Reference *r = c->reference;
	Known k = {c->x[i], c->e[i], 0};
	int at = c->tried + i;
	if (!r)
		return exactly(c->op, k.x, k.e);
	if (at < r->n) {
		if (memcmp(&r->at[at].x, &k.x, sizeof k.x) ||
		    memcmp(&r->at[at].e, &k.e, sizeof k.e))
			fail_msg("%a, %a are tried out of turn", k.x, k.e);
		return r->at[at].want;
	}
	assert_int_equal(at, r->n);
	if (r->n == r->size) {
		r->size = r->size ? 2 * r->size : 1 << 20;
		r->at = realloc(r->at, (size_t)r->size * sizeof *r->at);
		assert_non_null(r->at);
	}
	k.want = exactly(c->op, k.x, k.e);
	r->at[r->n++] = k;
	return k.want;
}

static void flush(Check *c)
{
	char none[64];
	bool f32 = c->type == DT_F32, two = op_arity(c->op) == 2;
	for (int i = 0; i < N; i++) {
		for (int k = 0; k < 2; k++) {
			double v = k ? c->e[i] : c->x[i];
			if (f32)
				((float *)c->data[k])[i] = (float)v;
			else
				c->data[k][i] = v;
		}
	}
	lowercheck_call(c->function,
	    two ? (void *[]){c->data[0], c->data[1], c->data[2], none}
		: (void *[]){c->data[0], c->data[2], none, none},
	    two ? 4 : 3);
	for (int i = 0; i < c->n; i++) {
		double y = f32 ? (double)((float *)c->data[2])[i]
			       : c->data[2][i];
		double u = ulps(c->type, y, wanted(c, i));
		if (u > c->worst)
			c->worst = u, c->worst_x = c->x[i],
			c->worst_e = c->e[i];
	}
	c->tried += c->n;
	c->n = 0;
}

static void try_pair(Check *c, double x, double e)
{
	c->x[c->n] = isnan(x) ? NAN : x; /* never signalling */
	c->e[c->n++] = e;
	if (c->n == N)
		flush(c);
}

static float float_of(uint32_t bits)
{
	float x;
	memcpy(&x, &bits, sizeof x);
	return x;
}

static double some_exponent(Rng *rng)
{
	switch (rng_below(rng, 3)) {
	case 0: return (double)rng_below(rng, 41) - 20;
	case 1: return ((double)rng_below(rng, 1 << 20) - (1 << 19)) / 4096;
	default: return float_of((uint32_t)rng_next(rng));
	}
}

/* The float of the bits; the double of these and of random lower ones. */
static void try_bits(Check *c, uint32_t bits)
{
	uint64_t wide = (uint64_t)bits << 32 | (rng_next(&c->rng) >> 32);
	double x;
	memcpy(&x, &wide, sizeof x);
	if (c->type == DT_F32)
		x = float_of(bits);
	double e = op_arity(c->op) < 2 ? 0 : some_exponent(&c->rng);
	if (c->op == OP_ATAN2 && bits & 1)
		e = x * (rng_double(&c->rng) * 8 - 4);
	try_pair(c, x, (float)e);
}

static void try_near(Check *c, double x)
{
	for (int i = -NEAR; i < NEAR; i++) {
		float f = (float)x;
		if (c->type == DT_F32) {
			uint32_t bits;
			memcpy(&bits, &f, sizeof bits);
			try_bits(c, bits + (uint32_t)i);
		} else {
			uint64_t bits;
			memcpy(&bits, &x, sizeof bits);
			bits += (uint64_t)(int64_t)i;
			memcpy(&x, &bits, sizeof x);
			try_pair(c, x, 0);
		}
	}
}

/* The i-th vector of a value x among others: all lanes, one of them, all but one,
 * every other one. */
static bool has_value(int i, int lane)
{
	int kind = i / LANES, at = i % LANES;
	return kind == 0 || (kind == 1 && lane == at) ||
	    (kind == 2 && lane != at) || (kind == 3 && (lane + at) % 2);
}

static void try_vectors(Check *c, const double *values, int n)
{
	static const double others[] = {0.75, 1.5, 3, 0.3};
	for (int k = 0; k < n; k++)
		for (int i = 0; i < 4 * LANES; i++)
			for (int lane = 0; lane < LANES; lane++) {
				double other = i % 2
				    ? values[(k + 1 + i / 2) % n]
				    : others[lane % 4];
				try_pair(c,
				    has_value(i, lane) ? (float)values[k]
						       : (float)other,
				    op_arity(c->op) == 2
					? (float)values[(k + i / 8) % n]
					: 0);
			}
}

static void try_powers(Check *c)
{
	static const double places[] = {0, -0.0, 1, -1, INFINITY, -INFINITY, NAN,
	    0.5, -0.5, 2, -2, 3, -3, 1.5, -1.5, 0x1p-149, 0x1p127, 0x1p-126,
	    16777215, 16777216, -16777215, 16777217, 33554434, 8388609.5,
	    -8388607, 3e38, -3e38, 1 + 0x1p-23, 1 - 0x1p-24, -1 - 0x1p-23, 10};
	enum { PLACES = sizeof places / sizeof *places };
	for (int i = 0; i < PLACES; i++)
		for (int k = 0; k < PLACES; k++)
			try_pair(c, (float)places[i], (float)places[k]);
	try_vectors(c, places, PLACES);
	/* results all over the range */
	for (int i = 0; i < 20 * N; i++) {
		float x = float_of((uint32_t)rng_below(&c->rng, 0x7f800000));
		double most = 150 / (fabs(log2(x)) + 1e-30);
		double e = (rng_double(&c->rng) * 2 - 1) * most;
		try_pair(c, x, (float)e);
	}
}

static void check(Check *c)
{
	static const double places[] = {0, -0.0, 1, -1, INFINITY, -INFINITY,
	    NAN, 0x1p-126, -0x1p-126, 88.7228, 89, -87.33, -103.97, -104, 0.625,
	    -0.625, 0.927734375, -0.927734375, 2. / 3, 4. / 3, 4, 9.01, 44.4,
	    709.78, -745.13, -708.4, 0x1p-1022, 0.70710678118654752, 0.35,
	    1.5707963267948966, 3.1415926535897932, 710, 19.06, 1e5, 1e9, 0.4,
	    -0.4, 0.35, 0.2, -355, 103993, 99996.2, 6.28318530717958647,
	    0x1.6ac5b262ca1ffp+849, 0x1.5bdbp+100, 1e22, 0x1p-149, -0x1p-140,
	    0x1p-1074, -2.5, 0.5, -0.5, -0.999999, 2.414, 0.7853981633974483,
	    -20, -150, 128, -1075, 1024, 710.47, 90, -0.3, 2, 0.3465735903,
	    0x1p60, 1.5, 0.1732867951, 0.2, -0.52, 10, 22};
	try_vectors(c, places, sizeof places / sizeof *places);
	uint32_t step = tier_is_long() ? LONG : QUICK;
	for (uint64_t bits = 0; bits <= UINT32_MAX; bits += step)
		try_bits(c, (uint32_t)bits);
	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		try_near(c, places[i]);
	if (op_arity(c->op) == 2)
		try_powers(c);
	flush(c);
}

/* By numbers that need no logarithm. */
static const double exponents[] = {1, 2, 3, 4, -1, -2, 0.5, -0.5, 1.5, -1.5, 2.5,
    0.25, -0.25, 0.75, 1.25, -1.25, 2.25};
enum { NEXPONENTS = sizeof exponents / sizeof *exponents };

static Lowered *power(
    Arena *arena, const Target *target, double exponent, int number)
{
	Error error = {0};
	Program *p = program_map(arena, OP_POW, DT_F32, N);
	Block *y = &p->blocks[0];
	Expr *arg[2] = {
	    y->body->arg[0], expr_float(arena, DT_F32, exponent)};
	y->body = expr_call(arena, OP_POW, DT_F32, arg, 2);
	p->symbol = arena_printf(arena, "power_%d", number);
	Nest *nest = schedule_nest(arena, p, &target->machine,
	    schedule_steps(arena,
		"i0, i1 = split(y.i, [_, 8])\nvectorize(i1, 8)\n"),
	    &error);
	assert_non_null(nest);
	Lowered *l = lower(arena, nest, &target->machine, &error);
	assert_non_null(l);
	return l;
}

static void test_powers(void **state)
{
	Arena *arena = arena_new();
	Error error;
	Lowered *all[NEXPONENTS];
	Buf object = {0};
	Target *target = target_parse(arena, targets[0], &error);
	(void)state;
	assert_non_null(target);
	if (!target_runs_here(target)) {
		arena_free(arena);
		skip();
	}
	for (int i = 0; i < NEXPONENTS; i++)
		all[i] = power(arena, target, exponents[i], i);
	lowtest_compile(target, all, NEXPONENTS, LLVM_OBJECT, &object);
	void *library = lowtest_open(&object);
	for (int i = 0; i < NEXPONENTS; i++) {
		Check *c = NEW(arena, Check);
		c->op = OP_POW;
		c->type = DT_F32;
		c->function = dlsym(library, all[i]->kernel->name);
		for (uint64_t bits = 0; bits <= UINT32_MAX; bits += QUICK)
			try_pair(c, float_of((uint32_t)bits), exponents[i]);
		for (int k = 0; k < 7; k++)
			try_pair(c, (double[]){0, -0.0, INFINITY, -INFINITY,
				       NAN, 1, -1}[k], exponents[i]);
		flush(c);
		print_message("pow(x, %g) within %.3f ulp (%a)\n",
		    exponents[i], c->worst, c->worst_x);
		assert_true(c->worst <= 2);
	}
	buf_free(&object);
	arena_free(arena);
}

static double worst_of(Arena *arena, const char *text, const Lowered *l,
    void *library, Op op, DType type, Reference *reference)
{
	Check *c = NEW(arena, Check);
	c->reference = reference;
	c->op = op;
	c->type = type;
	c->rng = rng_stream(3, (uint64_t)op, (uint64_t)type);
	c->function = dlsym(library, l->kernel->name);
	assert_non_null(c->function);
	check(c);
	print_message("%s: %s of %s within %.3f ulp (%a, %a)\n", text,
	    op_name(op), dtype_name(type), c->worst, c->worst_x, c->worst_e);
	return c->worst;
}

/* Instructions of CPUs and GPUs alike; all other functions are written out. */
static bool has_function(const LowBody *body)
{
	for (int i = 0; i < body->n; i++) {
		const LowNode *n = body->at[i];
		bool simple = n->math == OP_SQRT || n->math == OP_RSQRT ||
		    n->math == OP_FLOOR || n->math == OP_CEIL ||
		    n->math == OP_ROUND || n->math == OP_TRUNC;
		if ((n->kind == LOWNODE_OP && n->op == LOW_MATH && !simple) ||
		    has_function(&n->body) || has_function(&n->other))
			return true;
	}
	return false;
}

static int count_of(const LowBody *body, LowOpcode op, bool branches)
{
	int count = 0;
	for (int i = 0; i < body->n; i++) {
		const LowNode *n = body->at[i];
		count += n->kind == LOWNODE_OP && n->op == op;
		if (branches || n->kind != LOWNODE_IF)
			count += count_of(&n->body, op, branches);
	}
	return count;
}

/* What is special is chosen behind one test of all lanes. */
static void test_usual(void **state)
{
	Arena *arena = arena_new();
	Error error;
	Target *target = target_parse(arena, targets[0], &error);
	(void)state;
	assert_non_null(target);
	for (int i = 0; i < 4; i++) {
		Op op = i % 2 ? OP_LOG2 : OP_LOG;
		const Lowered *l =
		    vectorized(arena, target, op, i < 2 ? DT_F32 : DT_F64);
		const LowBody *body = &l->kernel->body;
		assert_int_equal(count_of(body, LOW_ANY, true), 1);
		assert_int_equal(count_of(body, LOW_SELECT, false), 0);
		assert_true(count_of(body, LOW_SELECT, true) > 1);
	}
	arena_free(arena);
}

/* Small numbers have no form of their own. */
static void test_tanh_is_one_form(void **state)
{
	Arena *arena = arena_new();
	Error error;
	Target *target = target_parse(arena, targets[0], &error);
	(void)state;
	assert_non_null(target);
	for (int i = 0; i < 2; i++) {
		const Lowered *l =
		    vectorized(arena, target, OP_TANH, i ? DT_F64 : DT_F32);
		assert_int_equal(
		    count_of(&l->kernel->body, LOW_SELECT, true), 0);
	}
	arena_free(arena);
}

typedef struct {
	const char *text; /* of its target */
	bool no_libm;
	Lowered *all[2 * NFUNCTIONS];
	Buf object;
	void *library; /* NULL where it does not run */
} Subject;

static void subject_open(Arena *arena, Subject *s)
{
	Error error;
	Target *target = target_parse(arena, s->text, &error);
	assert_non_null(target);
	if (!target_runs_here(target))
		return;
	target->machine.no_libm = s->no_libm;
	for (int i = 0; i < 2 * NFUNCTIONS; i++) {
		s->all[i] = vectorized(
		    arena, target, functions[i / 2], i % 2 ? DT_F64 : DT_F32);
		if (s->no_libm)
			assert_false(has_function(&s->all[i]->kernel->body));
	}
	lowtest_compile(
	    target, s->all, 2 * NFUNCTIONS, LLVM_OBJECT, &s->object);
	s->library = lowtest_open(&s->object);
}

/* Fused, not fused, scaled; a GPU's, on a CPU. */
static void test_functions(void **state)
{
	Subject subjects[] = {{.text = targets[0]}, {.text = targets[1]},
	    {.text = targets[2]}, {.text = targets[0], .no_libm = true}};
	enum { SUBJECTS = sizeof subjects / sizeof *subjects };
	Arena *arena = arena_new();
	Reference reference = {0};
	double worst = 0;
	(void)state;
	for (int k = 0; k < SUBJECTS; k++)
		subject_open(arena, &subjects[k]);
	for (int i = 0; i < SUBJECTS * 2 * NFUNCTIONS; i++) {
		const Subject *s = &subjects[i % SUBJECTS];
		int f = i / SUBJECTS;
		if (i % SUBJECTS == 0)
			reference.n = 0;
		if (!s->library)
			continue;
		double u = worst_of(arena, s->text, s->all[f], s->library,
		    functions[f / 2], f % 2 ? DT_F64 : DT_F32, &reference);
		worst = u > worst ? u : worst;
	}
	assert_true(worst <= 2);
	for (int k = 0; k < SUBJECTS; k++)
		buf_free(&subjects[k].object);
	free(reference.at);
	arena_free(arena);
}

typedef struct {
	double x[N], e[N], y[2][N]; /* or floats */
} Batch;

/* Exponents near the ends of the range, and any. */
static void fill_batch(Rng *rng, DType type, Batch *b)
{
	for (int i = 0; i < N; i++) {
		uint64_t bits = rng_next(rng);
		double most = type == DT_F32 ? 110 : 760, x;
		memcpy(&x, &bits, sizeof x);
		if (i % 2)
			x = (rng_double(rng) * 2 - 1) * most;
		double e = some_exponent(rng);
		if (type == DT_F32)
			((float *)b->x)[i] = i % 2 || isnan(x)
						 ? (float)x
						 : float_of((uint32_t)bits),
			((float *)b->e)[i] = (float)e;
		else
			b->x[i] = x, b->e[i] = e;
	}
}

static void same_bits(
    Arena *arena, void **library, const char *name, Op op, DType type)
{
	Batch *b = NEW(arena, Batch);
	Rng rng = rng_stream(5, (uint64_t)op, (uint64_t)type);
	char none[64];
	int bytes = dtype_bytes(type);
	for (int round = 0; round < 100; round++) {
		fill_batch(&rng, type, b);
		for (int t = 0; t < 2; t++)
			lowercheck_call(dlsym(library[t], name),
			    op_arity(op) == 2
				? (void *[]){b->x, b->e, b->y[t], none}
				: (void *[]){b->x, b->y[t], none, none},
			    op_arity(op) == 2 ? 4 : 3);
		for (int i = 0; i < N; i++) {
			float *f = (float *)b->y[0], *g = (float *)b->y[1];
			if (type == DT_F32 ? isnan(f[i]) && isnan(g[i])
					   : isnan(b->y[0][i]) &&
				    isnan(b->y[1][i]))
				continue;
			if (memcmp((char *)b->y[0] + bytes * i,
				(char *)b->y[1] + bytes * i, (size_t)bytes))
				fail_msg("%s: %a", name, type == DT_F32
					? (double)((float *)b->x)[i] : b->x[i]);
		}
	}
}

/* Scaling in one instruction gives what scaling in two steps gives; a sine is
 * left to libm where one of its lanes is large, and these vectors are longer; a
 * reciprocal root of f32, a hyperbolic tangent and a sigmoid begin with an
 * estimate. */
static bool may_differ(Op op, DType type)
{
	bool estimated = op == OP_RSQRT || op == OP_TANH || op == OP_SIGMOID;
	return op == OP_SIN || op == OP_COS || op == OP_TAN ||
	    (estimated && type == DT_F32);
}

static void test_one_step(void **state)
{
	Arena *arena = arena_new();
	Error error;
	Buf object[2] = {{0}, {0}};
	void *library[2];
	Lowered *all[2][2 * NFUNCTIONS];
	(void)state;
	for (int t = 0; t < 2; t++) {
		Target *target =
		    target_parse(arena, targets[t ? 2 : 0], &error);
		assert_non_null(target);
		if (!target_runs_here(target)) {
			buf_free(&object[0]);
			arena_free(arena);
			skip();
		}
		for (int i = 0; i < 2 * NFUNCTIONS; i++)
			all[t][i] = vectorized(arena, target, functions[i / 2],
			    i % 2 ? DT_F64 : DT_F32);
		lowtest_compile(target, all[t], 2 * NFUNCTIONS, LLVM_OBJECT,
		    &object[t]);
		library[t] = lowtest_open(&object[t]);
	}
	for (int i = 0; i < 2 * NFUNCTIONS; i++) {
		DType type = i % 2 ? DT_F64 : DT_F32;
		if (!may_differ(functions[i / 2], type))
			same_bits(arena, library, all[0][i]->kernel->name,
			    functions[i / 2], type);
	}
	buf_free(&object[0]);
	buf_free(&object[1]);
	arena_free(arena);
}

/* --- exponents of what has its greatest taken off --------------------------- */

static const char peaked[] =
    "tunec: 1\nname: peaked\nparams: {L: 32, K: 32}\n"
    "inputs: {x: 'f32[32, 32]'}\ncompute: |\n"
    "  m[i < L] = max[j < K](%s)\n  e[i < L, j < L] = %s\n";

/* How many of its exponents are known to be at most 0. */
static int exponents_of(Arena *arena, const char *element, const char *exponent)
{
	Program *p = program_of_text(
	    arena, arena_printf(arena, peaked, element, exponent),
	    NUMERICS_DEFAULT);
	Nest *nest = nest_new(arena, p, tape_new(arena));
	const char *why;
	assert_true(nest_infer(nest, &why));
	return nest_softmax_exponents(nest, arena, nest_find_stage(nest, "e"))
	    .all.n;
}

static void test_softmax_exponents(void **state)
{
	static const struct {
		const char *element, *exponent;
		int n;
	} cases[] = {
	    {"x[i, j]", "exp(x[i, j] - m[i])", 1},
	    {"x[i, j]*0.5", "exp(x[i, j]*0.5 - m[i])", 1},
	    {"x[j, i]", "exp(x[j, i] - m[i])", 1},
	    {"x[i, j]", "exp(x[j, i] - m[j])", 1},
	    {"if j <= i then x[i, j] else -inf",
		"if j <= i then exp(x[i, j] - m[i]) else 0", 1},
	    {"x[i, j]", "exp(x[j, i] - m[i])", 0},
	    {"x[i, j]*2", "exp(x[i, j] - m[i])", 0},
	    {"x[i, j]", "exp(m[i] - x[i, j])", 0},
	    {"if j <= i then x[i, j] else -inf", "exp(x[i, j] - m[i])", 0},
	    {"if j <= i then x[i, j] else -inf",
		"if i <= j then exp(x[i, j] - m[i]) else 0", 0},
	    {"if x[i, 0] < 1 then x[i, j] else -inf",
		"if x[i, 0] < 1 then exp(x[i, j] - m[i]) else 0", 0},
	    {"x[i, j//2]", "exp(x[i, j] - m[i])", 0},
	    {"x[i, j]",
		"exp(x[i, j] - m[i]) + exp(x[i, (j + 1) % L] - m[i])", 1}};
	Arena *arena = arena_new();
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (exponents_of(arena, cases[i].element, cases[i].exponent) !=
		    cases[i].n)
			fail_msg("max of %s, %s", cases[i].element,
			    cases[i].exponent);
	arena_free(arena);
}

/* Without the test above: whatever is in the rows. */
static void test_peaked_values(void **state)
{
	enum { L = 32 };
	static const float first[] = {0, NAN, INFINITY, -INFINITY, 3e38f, 1e30f,
	    -3e38f, 90, -90, 1e-40f, 1e9f};
	static float x[L][L], e[L][L];
	Arena *arena = arena_new();
	Error error = {0};
	LowRun run = {0};
	Rng rng = rng_stream(3, 1, 4);
	Target *t = target_parse(arena, targets[2], &error);
	(void)state;
	assert_non_null(t);
	Program *p = program_of_text(arena,
	    arena_printf(arena, peaked, "x[i, j]", "exp(x[i, j] - m[i])"),
	    NUMERICS_DEFAULT);
	Nest *nest = schedule_nest(arena, p, &t->machine,
	    schedule_steps(arena,
		"j0, j1 = split(e.j, [_, 16])\nvectorize(j1, 16)\n"),
	    &error);
	assert_non_null(nest);
	Lowered *l = lower(arena, nest, &t->machine, &error);
	assert_non_null(l);
	for (int i = 0; i < L; i++)
		for (int j = 0; j < L; j++)
			x[i][j] = j ? (float)(rng_double(&rng) * 200 - 100)
				    : first[i % 11];
	void *workspace = lowercheck_memory(arena, l->workspace_bytes);
	assert_true(low_function_run(
	    l->kernel, (void *[]){x, e, workspace}, &run));
	assert_int_equal(run.op_count[LOW_MIN], 0);
	for (int i = 0; i < L; i++) {
		float most = -INFINITY;
		for (int j = 0; j < L; j++)
			most = x[i][j] > most ? x[i][j] : most;
		for (int j = 0; j < L; j++)
			if (ulps(DT_F32, e[i][j], expl(x[i][j] - most)) > 2)
				fail_msg("%g less %g: %g", x[i][j], most,
				    e[i][j]);
	}
	arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_usual),
	    cmocka_unit_test(test_tanh_is_one_form),
	    cmocka_unit_test(test_functions),
	    cmocka_unit_test(test_one_step),
	    cmocka_unit_test(test_powers),
	    cmocka_unit_test(test_softmax_exponents),
	    cmocka_unit_test(test_peaked_values),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
