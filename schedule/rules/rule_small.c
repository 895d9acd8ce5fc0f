/* Many small products: what a block computes of its last, short axes reads nothing
 * that another one reads, and each element several times.  Vectors go along all
 * axes of the output together; what lanes read are shuffles of a few vectors.
 *
 *     for n for i in 4 for j in 4 for k in 4  c[n, i, j] += a[n, i, k]*b[n, k, j]
 * -->
 *     for v0 unroll v1 vector v in 16
 *       c[n, i, j] = a[n, i, 0]*b[n, 0, j] + a[n, i, 1]*b[n, 1, j] + …
 *
 * All of them are one loop, which blocks of a small product have to divide.  The
 * steps of a reduction are written out before all other rules (rule_unfold.c),
 * and rule_spatial.c makes the loops. */
#include "schedule/rules/rules.h"

enum {
	SHORT = 8,	 /* elements of an axis, at most */
	STEPS_MOST = 8,	 /* of a reduction */
	VECTORS_MOST = 4 /* of a small product */
};

typedef struct {
	const Block *block;
	int first; /* of the short axes */
	int reads; /* each element of which several results read */
	bool apart;
} Small;

static bool check_read(Expr *e, void *context)
{
	Small *s = context;
	bool again = false;
	for (int a = 0; a < s->block->nspatial && e->op == OP_READ; a++) {
		bool moves =
		    expr_has_axis(e, a) || s->block->axes[a].extent == 1;
		s->apart = s->apart && (moves || a >= s->first);
		again |= !moves;
	}
	s->reads += again;
	return true;
}

int rule_small_vectors(const Program *program, const Machine *machine,
    const Block *block, Expr *body)
{
	int lanes = rule_lanes(machine, program->buffers[block->buffer].type);
	int64_t n = 1, all = (int64_t)block_points(block, 0, block->nspatial);
	Small s = {block, block->nspatial, 0, true};
	while (s.first > 0 && block->axes[s.first - 1].extent <= SHORT &&
	    n < lanes)
		n *= block->axes[--s.first].extent;
	if (machine->gpu || !s.first || n <= RULE_FEW ||
	    block->axes[block->nspatial - 1].extent >= lanes ||
	    (n % lanes && lanes % n) || all % lanes || all % n || n > VECTORS_MOST * lanes ||
	    block->axes[s.first - 1].extent < lanes ||
	    block_steps(block) > STEPS_MOST)
		return 0;
	expr_walk(body, check_read, &s);
	return s.apart && s.reads > 1 ? (int)((n + lanes - 1) / lanes) : 0;
}
