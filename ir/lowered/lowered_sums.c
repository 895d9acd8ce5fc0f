/* Long sums of integers, which may be added up in any order, by pairs:
 *
 *     s = ADD(s, a)
 *     s = ADD(s, b)          t = ADD(a, b)
 *     s = ADD(s, c)    ->    s = ADD(s, t)
 *     s = ADD(s, d)          u = ADD(c, d)
 *                            s = ADD(s, u)
 *
 * A machine does several additions at once, but each of a sum waits for the one
 * before; where there are more than a few sums it has others to do.  A product
 * stays where it is added: some machines do both in one. */
#include "ir/lowered/lowered.h"

#include <string.h>

enum { LONG = 3, FEW = 3 };

typedef struct {
	Arena *arena;
	LowFunction *to;
	int *assigned; /* by temporary: how often */
	int *
	    waits; /* by temporary: the operation of the run at hand that adds to
		       it and may do so later; -1: none */
	bool *product; /* by temporary */
} Sums;

/* s = ADD(s, x) of integers, x the same ever after: s; else -1. */
static int sum_of(const Sums *s, const LowNode *n)
{
	if (n->op != LOW_ADD || n->arg[0] != n->dst || n->arg[1] == n->dst)
		return -1;
	DType type = s->to->temps.at[n->dst].type;
	return dtype_is_float(type) || type == DT_INDEX ||
		s->product[n->arg[1]] || s->assigned[n->arg[1]] != 1
	    ? -1
	    : n->dst;
}

/* Whose term each operation takes over; -1: nobody's.  How many sums are long? */
static int find_pairs(Sums *s, LowNode **nodes, int n, int *other)
{
	int *terms = NEW_N(s->arena, int, s->to->temps.n), sums = 0;
	for (int i = 0; i < n; i++) {
		int sum = sum_of(s, nodes[i]);
		other[i] = -1;
		if (sum >= 0) {
			other[i] = s->waits[sum];
			s->waits[sum] = other[i] < 0 ? i : -1;
			sums += ++terms[sum] == LONG;
			continue;
		}
		for (int k = 0; k < 3; k++)
			if (nodes[i]->arg[k] >= 0)
				s->waits[nodes[i]->arg[k]] = -1;
		if (nodes[i]->dst >= 0)
			s->waits[nodes[i]->dst] = -1;
	}
	for (int i = 0; i < n; i++)
		if (nodes[i]->dst >= 0)
			s->waits[nodes[i]->dst] = -1;
	return sums;
}

/* n, which adds to a sum, with the term of the operation before as well. */
static void put_pair(
    Sums *s, const LowNode *before, const LowNode *n, LowBody *out)
{
	const LowTemp *t = &s->to->temps.at[n->arg[1]];
	int both = low_temp(s->arena, s->to, t->type, t->lanes, t->wish);
	low_op(s->arena, out, LOW_ADD, both, before->arg[1], n->arg[1], -1);
	low_op(s->arena, out, LOW_ADD, n->dst, n->dst, both, -1);
}

static void add_run(void *context, LowNode **nodes, int n, LowBody *out)
{
	Sums *s = context;
	int *other = NEW_N(s->arena, int, n);
	bool *taken = NEW_N(s->arena, bool, n);
	int sums = find_pairs(s, nodes, n, other);
	for (int i = 0; i < n && sums && sums <= FEW; i++)
		if (other[i] >= 0)
			taken[other[i]] = true;
	for (int i = 0; i < n; i++)
		if (other[i] >= 0 && taken[other[i]])
			put_pair(s, nodes[other[i]], nodes[i], out);
		else if (!taken[i])
			vec_push(s->arena, out, nodes[i]);
}

static void find_products(Sums *s, const LowBody *body)
{
	for (int i = 0; i < body->n; i++) {
		const LowNode *n = body->at[i];
		if (n->kind == LOWNODE_OP && n->op == LOW_MUL)
			s->product[n->dst] = true;
		find_products(s, &n->body);
		find_products(s, &n->other);
	}
}

const LowFunction *low_pair_sums(Arena *arena, const LowFunction *f)
{
	int n = f->temps.n;
	Sums s = {arena, low_like(arena, f), NEW_N(arena, int, n),
	    NEW_N(arena, int, n), NEW_N(arena, bool, n)};
	memset(s.waits, -1, sizeof *s.waits * (size_t)n);
	low_count_assigned(&f->body, s.assigned);
	find_products(&s, &f->body);
	low_each_run(
	    arena, &f->body, low_is_operation, add_run, &s, &s.to->body);
	return s.to;
}
