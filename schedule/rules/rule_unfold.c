/* A reduction of one step is none, nor one of small products (rule_small.c), and of
 * others loops of one step.
 *
 *     y[i, j] = sum[k < 1](x[i, k]*w[k, j])
 * -->
 *     unfold(y)                 y[i, j] = x[i, 0]*w[0, j] + 0
 *
 * so that it is inlined, or ends what it reads, and is not tiled as a product. */
#include "schedule/rules/rules.h"

static void drop_axes(RuleForm *f, const Block *b)
{
	for (int a = b->naxes - 1; a >= b->nspatial; a--)
		if (b->axes[a].extent == 1)
			rule_rewrite(
			    f, "unfold(%s.%s)\n", b->name, b->axes[a].name);
}

void rule_unfold(RuleForm *f)
{
	enum { IDENTITY_NODES = 2 }; /* and the operation */
	int most = UNFOLD_NODES_MAX - IDENTITY_NODES;
	for (int i = 0; i < f->program->nblocks; i++) {
		const Program *p = f->program;
		const Block *b = &p->blocks[i];
		bool small = b->reduce != REDUCE_NONE &&
		    rule_small_vectors(p, f->machine, b, b->body);
		if (block_reduces(b) && !small)
			drop_axes(f, b);
		else if (b->reduce != REDUCE_NONE &&
		    expr_size_within(b->body, most / (int)block_steps(b)))
			rule_rewrite(f, "unfold(%s)\n", b->name);
	}
}
