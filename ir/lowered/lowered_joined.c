/* Vectors that are read one behind the other, and joined, are read as one:
 *
 *     a = load x[i]          (8 lanes)
 *     b = load x[i + 8]
 *     w = shuffle a, b [0, 1, 2, ...]  ->  w = load x[i]          (16 lanes)
 *
 * Of what nothing writes, where the addresses are known to be what they were.  A
 * load more is less than a shuffle; most often nothing else reads the parts.  LLVM
 * and clang do the same, gcc does not. */
#include "ir/lowered/lowered.h"

typedef struct {
	Arena *arena;
	LowFunction *to;
	LowDefs defs;
	int bytes;	      /* of the widest */
	const LowNode **load; /* by temporary: what reads it in this run */
} Joined;

static void note_load(Joined *p, const LowNode *n)
{
	const LowAffine *a = &n->address;
	if (n->op != LOW_LOAD || p->defs.assigned[n->dst] != 1 ||
	    p->to->temps.at[n->dst].lanes == 1 ||
	    p->to->buffers.at[n->buffer].written)
		return;
	for (int i = 0; i < a->n; i++)
		if (p->defs.assigned[a->terms[i].temp] > 1)
			return;
	p->load[n->dst] = n;
}

/* The load of what a SHUFFLE joins; NULL: it does something else. */
static LowNode *whole(Joined *p, const LowNode *n)
{
	if (n->op != LOW_SHUFFLE || n->arg[1] < 0)
		return NULL;
	const LowTemp *d = &p->to->temps.at[n->dst];
	const LowNode *a = p->load[n->arg[0]], *b = p->load[n->arg[1]];
	if (!a || !b || a->buffer != b->buffer ||
	    d->lanes * dtype_bytes(d->type) > p->bytes)
		return NULL;
	int lanes = p->to->temps.at[n->arg[0]].lanes;
	LowAffine behind =
	    low_affine_add(p->arena, a->address, low_affine_const(lanes), 1);
	if (d->lanes != lanes + p->to->temps.at[n->arg[1]].lanes ||
	    !low_affine_equal(behind, b->address))
		return NULL;
	for (int l = 0; l < d->lanes; l++)
		if (n->shuffle[l] != l)
			return NULL;
	LowNode *c = arena_memdup(p->arena, a, sizeof *c);
	c->dst = n->dst;
	return c;
}

static void joined_run(void *context, LowNode **nodes, int n, LowBody *out)
{
	Joined *p = context;
	for (int i = 0; i < n; i++) {
		LowNode *load = whole(p, nodes[i]);
		vec_push(p->arena, out, load ? load : nodes[i]);
		note_load(p, load ? load : nodes[i]);
	}
	for (int i = 0; i < n; i++)
		if (nodes[i]->dst >= 0)
			p->load[nodes[i]->dst] = NULL;
}

const LowFunction *low_load_joined(
    Arena *arena, const LowFunction *f, int bytes)
{
	Joined p = {arena, low_like(arena, f), low_defs(arena, f), bytes,
	    NEW_N(arena, const LowNode *, f->temps.n + 1)};
	low_each_run(
	    arena, &f->body, low_is_operation, joined_run, &p, &p.to->body);
	return p.to;
}
