/* split: one loop becomes several, outer to inner.
 *
 *     for c.i in 100              mo, mi = split(c.i, [_, 16])
 *   ->
 *     for mo in 7  for mi in 16   (c.i is 16*mo + mi)
 *
 * A factor is a number, or another loop: as many iterations as a split gave that
 * one.  So a decision is taken once and counts for all that follow it.
 *
 * Every order of iterations stays what it was, so it is always legal.  The
 * first factor is open and covers what the others leave; the root variable of
 * an axis may be covered past its end (the stage's tail says how), another
 * variable is divided exactly: inference adds that as a guard. */
#include "schedule/internal.h"

/* Of one block beside its axes: each step copies its loops, and but for 63 they
 * have one iteration. */
enum { LOOPS_MOST = 1024 };

typedef struct {
	int loop, n;
	Handle *factors; /* factors[0]: HANDLE_NONE, or the number it must be */
} Split;

static Refusal parameters(const Call *call, Split *p)
{
	Refusal why = call_loop(call, 0, &p->loop);

	if (!why)
		why = call_factors(call, 1, &p->n, &p->factors);
	return why ? why : call_outs(call, p->n);
}

/* A first factor that is given has to be what an open one would be. */
static Refusal factors_legal(const Call *call, const Split *p)
{
	Tape *tape = call->nest->tape;
	Handle product = tape_const(tape, 1);
	Handle extent = edit_fixed_extent(call->nest, p->loop);
	int64_t value;

	for (int i = 1; i < p->n; i++) {
		product = tape_mul(tape, product, p->factors[i]);
		if (tape_is_const(tape, product, &value) && value > INT32_MAX)
			return "the factors are too large";
	}
	if (p->factors[0] == HANDLE_NONE)
		return NULL;
	if (extent == HANDLE_NONE)
		return "the first factor of this loop has to be _";
	if (tape_ceildiv(tape, extent, product) != p->factors[0])
		return "the factors do not cover the loop exactly";
	return NULL;
}

Refusal split_legal(const Call *call)
{
	const Var *v;
	const Stage *s;
	Split p;
	Refusal why = parameters(call, &p);

	if (why)
		return why;
	v = &call->nest->vars.at[p.loop];
	s = &call->nest->stages.at[v->stage];
	if (s->nloops - s->naxes + p.n - 1 > LOOPS_MOST)
		return "the block would have more than 1,024 loops beside its "
		       "axes";
	if (v->kind != LOOP_SERIAL || v->unroll_limit != HANDLE_NONE)
		return "the loop is annotated: split it before";
	if (edit_is_sealed(call->nest, p.loop))
		return "the loop belongs to a block made by blockize";
	return factors_legal(call, &p);
}

void split_apply(const Call *call)
{
	Split p;

	parameters(call, &p);
	edit_split_loop(
	    call->nest, p.loop, p.n, p.factors, call->step->outs);
}
