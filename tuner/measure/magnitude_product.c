/* Inputs for which no order of a running or whole product overflows.
 *
 *     p[i] = prod[j < i](0.5 + x[j])     256 factors of at most 2^64 together:
 *                                        0.5 + |x| <= 2^(64/256)
 *
 * Where some of the factors overflow and others are, or become, 0, it is their
 * order that decides between infinity, 0 and NaN.  So magnitudes are bounded here
 * for certain, where magnitude.c has what is likely: an exponent is lowered until
 * the bounds of all products fit.  Where they never do, as of constants, no order
 * matters either, once inputs are nothing beside them. */
#include <math.h>

#include "tuner/measure/measure_internal.h"

enum { LOWERED_MOST = 24, BITS_MOST = 64 };

/* Logarithms, to base 2, of the greatest that a value may be. */
typedef struct {
	const double *buffers;
	const Axis *axes;
} KnownBounds;

static double of_number(double x)
{
	return x == 0 || !isfinite(x) ? -INFINITY : log2(fabs(x));
}

static double of_sum(double a, double b)
{
	double more = fmax(a, b), less = fmin(a, b);
	return isinf(less) ? more : more + log2(1 + exp2(less - more));
}

static double of_expr(const KnownBounds *s, const Expr *e);

static double of_greatest(const KnownBounds *s, const Expr *e, int from)
{
	double most = -INFINITY;
	for (int i = from; i < e->narg; i++)
		most = fmax(most, of_expr(s, e->arg[i]));
	return most;
}

static double of_power(const KnownBounds *s, const Expr *e)
{
	double y = e->arg[1]->op == OP_FLOAT ? fabs(e->arg[1]->f)
	    : e->arg[1]->op == OP_INT	     ? fabs((double)e->arg[1]->i)
					     : exp2(of_expr(s, e->arg[1]));
	return y * fabs(of_expr(s, e->arg[0]));
}

static double of_expr(const KnownBounds *s, const Expr *e)
{
	switch (e->op) {
	case OP_INT: return of_number((double)e->i);
	case OP_FLOAT: return of_number(e->f);
	case OP_AXIS: return log2((double)s->axes[e->id].extent);
	case OP_READ: return s->buffers[e->id];
	case OP_IF:
	case OP_CLAMP: return of_greatest(s, e, 1);
	case OP_ADD:
	case OP_SUB:
		return of_sum(of_expr(s, e->arg[0]), of_expr(s, e->arg[1]));
	case OP_MUL:
		return of_expr(s, e->arg[0]) + of_expr(s, e->arg[1]);
	case OP_DIV:
		return of_expr(s, e->arg[0]) -
		    (e->arg[1]->op == OP_FLOAT ? of_number(e->arg[1]->f) : 0);
	case OP_EXP: return M_LOG2E * exp2(of_expr(s, e->arg[0]));
	case OP_POW: return of_power(s, e);
	case OP_SQRT: return of_expr(s, e->arg[0]) / 2;
	case OP_TANH:
	case OP_SIGMOID:
	case OP_ERF:
	case OP_SIN:
	case OP_COS: return 0;
	default: return of_greatest(s, e, 0);
	}
}

static double of_type(DType type, int exponent)
{
	return dtype_is_float(type)	? exponent
	    : dtype_bytes(type) == 1 ? 8
				     : 8 * dtype_bytes(type) - 1;
}

static double of_block(const double *buffers, const Block *b)
{
	double one = of_expr(&(KnownBounds){buffers, b->axes}, b->body);
	double n = block_points(b, b->nspatial, b->naxes);
	return b->reduce == REDUCE_SUM ? one + log2(n)
	    : b->reduce == REDUCE_PROD ? n * fmax(one, 0)
				       : one;
}

static bool is_float_product(const Program *p, const Block *b)
{
	return b->reduce == REDUCE_PROD &&
	    dtype_is_float(p->buffers[b->buffer].type);
}

/* What the factors are, but for their signs; -1: no input as it stands. */
static int factor_input(const Program *p, const Expr *e)
{
	for (;;)
		switch (e->op) {
		case OP_CAST:
		case OP_NEG:
		case OP_ABS: e = e->arg[0]; break;
		case OP_IF:
			e = e->arg[e->arg[1]->narg ? 1 : 2];
			break;
		case OP_READ: {
			int block = p->buffers[e->id].block;
			if (e->id < p->ninputs)
				return e->id;
			if (p->blocks[block].reduce != REDUCE_NONE)
				return -1;
			e = p->blocks[block].body;
			break;
		}
		default: return -1;
		}
}

double magnitude_factors(const Program *program, int input)
{
	double most = 0;
	for (int i = 0; i < program->nblocks; i++) {
		const Block *b = &program->blocks[i];
		if (is_float_product(program, b) &&
		    factor_input(program, b->body) == input)
			most = fmax(
			    most, block_points(b, b->nspatial, b->naxes));
	}
	return most;
}

bool magnitude_multiplies(const Program *program)
{
	for (int i = 0; i < program->nblocks; i++)
		if (is_float_product(program, &program->blocks[i]))
			return true;
	return false;
}

static bool fit(const Program *p, double *buffers, int exponent)
{
	bool all = true;
	for (int i = 0; i < p->ninputs; i++)
		buffers[i] = of_type(p->buffers[i].type, exponent);
	for (int i = 0; i < p->nblocks; i++) {
		const Block *b = &p->blocks[i];
		buffers[b->buffer] = of_block(buffers, b);
		if (is_float_product(p, b))
			all &= buffers[b->buffer] <= BITS_MOST;
	}
	return all;
}

int magnitude_product_shift(const Program *program, int exponent)
{
	Arena *arena = arena_new();
	double *buffers = NEW_N(arena, double, program->nbuffers);
	int shift = 0;
	while (shift < LOWERED_MOST &&
	    !fit(program, buffers, exponent - shift))
		shift++;
	arena_free(arena);
	return shift;
}
