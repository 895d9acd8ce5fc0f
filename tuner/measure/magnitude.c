/* How large the values of a program become, so that inputs can be drawn for
 * which none of them overflows.
 *
 *     h[i, j] = sum[k < 64](x[i, k] * w[k, j])     degree 2, bits 3
 *     y[i, j] = max(h[i, j], 0) * s[j]             degree 3, bits 3
 *
 * Inputs around 2^e make a value around 2^(degree * e + bits).  A sum of n
 * terms of both signs adds log2(n) / 2 bits; a quotient, a power and a function
 * that is bounded or that nobody computes of large values count as 1. */
#include <math.h>

#include "tuner/measure/measure_internal.h"

typedef struct {
	double degree, bits;
} Magnitude;

typedef struct {
	const Magnitude *buffers;
	const Axis *axes;
} KnownMagnitudes;

static Magnitude larger(Magnitude a, Magnitude b)
{
	return (Magnitude){fmax(a.degree, b.degree), fmax(a.bits, b.bits)};
}

static Magnitude constant(double value)
{
	value = fabs(value);
	return (Magnitude){0, value > 1 && !isinf(value) ? log2(value) : 0};
}

static Magnitude of_expr(const KnownMagnitudes *s, const Expr *e)
{
	Magnitude a, all = {0, 0};
	switch (e->op) {
	case OP_INT: return constant((double)e->i);
	case OP_FLOAT: return constant(e->f);
	case OP_AXIS: return constant((double)s->axes[e->id].extent);
	case OP_READ: return s->buffers[e->id];
	case OP_DIV: return of_expr(s, e->arg[0]);
	case OP_IF:
		return larger(of_expr(s, e->arg[1]), of_expr(s, e->arg[2]));
	case OP_MUL:
		a = of_expr(s, e->arg[0]);
		all = of_expr(s, e->arg[1]);
		return (Magnitude){a.degree + all.degree, a.bits + all.bits};
	case OP_SQRT:
		a = of_expr(s, e->arg[0]);
		return (Magnitude){a.degree / 2, a.bits / 2};
	case OP_CAST:
	case OP_NEG:
	case OP_ADD:
	case OP_SUB:
	case OP_MIN:
	case OP_MAX:
	case OP_CLAMP:
	case OP_ABS:
	case OP_FLOOR:
	case OP_CEIL:
	case OP_ROUND:
	case OP_TRUNC:
		for (int i = 0; i < e->narg; i++)
			all = larger(all, of_expr(s, e->arg[i]));
		return all;
	default: return all;
	}
}

static Magnitude of_block(const Magnitude *buffers, const Block *b)
{
	Magnitude m = of_expr(&(KnownMagnitudes){buffers, b->axes}, b->body);
	for (int a = b->nspatial; b->reduce == REDUCE_SUM && a < b->naxes; a++)
		m.bits += log2((double)b->axes[a].extent) / 2;
	return m;
}

/* Half of the exponents, f16's apart: that is not many. */
static double most_bits(DType type)
{
	switch (type) {
	case DT_F64: return 512;
	case DT_F32:
	case DT_BF16: return 64;
	case DT_F16: return 14;
	default: return INFINITY;
	}
}

int magnitude_shift(const Program *program, int exponent)
{
	Arena *arena = arena_new();
	Magnitude *m = NEW_N(arena, Magnitude, program->nbuffers);
	double most = exponent;
	for (int i = 0; i < program->ninputs; i++)
		m[i] = dtype_is_float(program->buffers[i].type)
		    ? (Magnitude){1, 0}
		    : (Magnitude){0, 8};
	for (int i = 0; i < program->nblocks; i++) {
		const Block *b = &program->blocks[i];
		Magnitude *x = &m[b->buffer];
		*x = of_block(m, b);
		double bits = most_bits(program->buffers[b->buffer].type);
		if (x->degree > 0)
			most = fmin(most, (bits - x->bits) / x->degree);
	}
	arena_free(arena);
	int shift = (int)ceil(exponent - most);
	int less = magnitude_product_shift(program, exponent);
	return shift > less ? shift : less;
}
