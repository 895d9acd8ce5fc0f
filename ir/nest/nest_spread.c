/* Registers that the threads of a block share out.
 *
 *     blockIdx.x                        acc[64, 64] reg, at blockIdx.x
 *       for ko
 *         threadIdx.y ty in 8
 *           threadIdx.x tx in 16
 *             for i in 8, j in 4 unroll
 *               acc[8*ty + i, 4*tx + j] += ...
 *
 * Its place is outside of the thread loops, so that it lasts from one of their
 * passes to the next; each thread has 8*4 of its elements.  Whose an element is
 * is told by a digit of its index, index // step % extent, for each direction;
 * all that use the buffer have to tell it by the same. */
#include "ir/nest/nest_internal.h"

static bool refuse(const char **why, const char *what)
{
	*why = what;
	return false;
}

static int find_loop(const Affine *a, int loop)
{
	for (int i = 0; i < a->n; i++)
		if (a->terms[i].term->op == OP_VAR &&
		    a->terms[i].term->id == loop)
			return i;
	return -1;
}

/* index = step*loop + small + large: small stays below the step, all of large is
 * a multiple of step*extent. */
static bool check_digit(Nest *nest, const Affine *a, int at,
    const SpreadDigit *digit, const char **why)
{
	Tape *tape = nest->tape;
	Handle one = tape_const(tape, 1), small = one;
	Handle whole = tape_mul(tape, digit->step, digit->extent);
	for (int i = 0; i < a->n; i++) {
		const AffineTerm *t = &a->terms[i];
		if (i == at)
			continue;
		if (t->term->op != OP_VAR)
			return refuse(why, "an element that a thread has is told "
				"by more than loops");
		Handle most = tape_mul(tape, t->coefficient,
		    tape_sub(tape, nest->vars.at[t->term->id].extent, one));
		Handle inside = tape_sub(tape, one,
		    tape_multiple(tape, t->coefficient, whole));
		small = tape_add(tape, small, tape_mul(tape, inside, most));
	}
	return nest_require(nest, tape_at_most(tape, small, digit->step),
	    "threads share out registers that lie within each other", why);
}

bool nest_spread_digit(Nest *nest, int loop, const Affine *index, int ndim,
    SpreadDigit *digit, const char **why)
{
	int dim = -1, at = -1;
	for (int d = 0; d < ndim; d++) {
		int found = find_loop(&index[d], loop);
		if (found >= 0 && dim >= 0)
			return refuse(why, "a thread loop moves two indices of a "
				"buffer in registers");
		if (found >= 0) {
			dim = d;
			at = found;
		}
	}
	if (dim < 0)
		return refuse(why, "a thread loop inside of its place does not "
			"move a buffer in registers");
	*digit = (SpreadDigit){.dim = dim,
	    .step = index[dim].terms[at].coefficient,
	    .extent = nest->vars.at[loop].extent};
	return check_digit(nest, &index[dim], at, digit, why);
}

bool nest_spread_same(Nest *nest, const SpreadDigit *a, const SpreadDigit *b,
    const char **why)
{
	static const char other[] = "a thread reads registers of another one";
	Tape *tape = nest->tape;
	return (a->dim == b->dim || refuse(why, other)) &&
	    nest_require(nest, tape_equal(tape, a->step, b->step), other, why) &&
	    nest_require(
		nest, tape_equal(tape, a->extent, b->extent), other, why);
}
