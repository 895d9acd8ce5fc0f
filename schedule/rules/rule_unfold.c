/* A reduction of one step is none, nor one of small products (rule_small.c), and of
 * others loops of one step.
 *
 *     y[i, j] = sum[k < 1](x[i, k]*w[k, j])
 * -->
 *     unfold(y)                 y[i, j] = x[i, 0]*w[0, j] + 0
 *
 * so that it is inlined, or ends what it reads, and is not tiled as a product.  The
 * other rules see the program as it is then. */
#include "schedule/rules/rules.h"

#include <string.h>

void rule_make_unfolded(Arena *arena, Program *p, int at)
{
	Block *b = &p->blocks[at];
	int from = b->body->op == OP_READ ? p->buffers[b->body->id].block : -1;
	const Block *w = from >= 0 ? &p->blocks[from] : NULL;
	int64_t *extents = block_extents(arena, b);
	bool reduced = w && w->reduce == b->reduce &&
	    w->body->type == b->body->type &&
	    p->buffers[w->buffer].type == b->body->type;
	b->body = unfold_body(
	    arena, b->reduce, b->body, b->nspatial, extents, b->naxes, reduced);
	b->reduce = REDUCE_NONE;
	b->naxes = b->nspatial;
}

/* One axis, as unfold does. */
static void drop_axis(Arena *arena, Block *b, int axis)
{
	b->body = unfold_axis(arena, b->body, axis, b->naxes);
	*b = rule_block_like(arena, b, b->name);
	memmove(&b->axes[axis], &b->axes[axis + 1],
	    sizeof *b->axes * (size_t)(b->naxes - axis - 1));
	b->naxes--;
}

static void drop_axes(Arena *arena, Block *b, Buf *steps)
{
	for (int a = b->naxes - 1; a >= b->nspatial; a--)
		if (b->axes[a].extent == 1) {
			buf_printf(
			    steps, "unfold(%s.%s)\n", b->name, b->axes[a].name);
			drop_axis(arena, b, a);
		}
}

const Program *rule_unfold(
    Arena *arena, const Program *program, const Machine *machine, Buf *steps)
{
	enum { IDENTITY_NODES = 2 }; /* and the operation */
	int most = UNFOLD_NODES_MAX - IDENTITY_NODES;
	Program *p = rule_copy_program(arena, program);
	for (int i = 0; i < p->nblocks; i++) {
		Block *b = &p->blocks[i];
		bool small = b->reduce != REDUCE_NONE &&
		    rule_small_vectors(p, machine, b, b->body);
		if (block_reduces(b) && !small)
			drop_axes(arena, b, steps);
		else if (b->reduce != REDUCE_NONE &&
		    expr_size_within(b->body, most / (int)block_steps(b))) {
			buf_printf(steps, "unfold(%s)\n", b->name);
			rule_make_unfolded(arena, p, i);
		}
	}
	return p;
}
