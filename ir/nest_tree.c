/* The tree that the places of stages make, flattened for those who ask. */
#include "ir/internal.h"

NestTree nest_tree(const Nest *nest)
{
	Arena *arena = nest->arena;
	NestTree tree = {nest, NEW_N(arena, int *, nest->stages.n),
	    NEW_N(arena, int, nest->stages.n)};
	for (int i = 0; i < nest->order.n; i++) {
		int s = nest->order.at[i];
		tree.chain[s] = NEW_N(arena, int, nest->vars.n);
		tree.nchain[s] = nest_loops_above(nest, s,
		    nest->stages.at[s].nloops, tree.chain[s], nest->vars.n);
	}
	return tree;
}

bool nest_tree_below(const NestTree *tree, int stage, int loop)
{
	for (int i = 0; i < tree->nchain[stage]; i++)
		if (tree->chain[stage][i] == loop)
			return true;
	return false;
}

int nest_tree_host(const NestTree *tree, int stage)
{
	int place = tree->nest->stages.at[stage].place;
	return place < 0 ? -1 : tree->nest->vars.at[place].stage;
}

bool nest_tree_follows(const NestTree *tree, int reader, int writer)
{
	for (int s = reader; s >= 0; s = nest_tree_host(tree, s))
		if (nest_tree_host(tree, s) == writer)
			return tree->nest->stages.at[s].after;
	return false;
}

int nest_tree_above(const NestTree *tree, int stage)
{
	return tree->nchain[stage] - tree->nest->stages.at[stage].nloops;
}

typedef struct {
	Arena *arena;
	int buffer;
	ExprVec out;
} Collect;

static bool collect(Expr *e, void *context)
{
	Collect *c = context;
	if (e->op == OP_READ && (c->buffer < 0 || e->id == c->buffer))
		vec_push(c->arena, &c->out, e);
	return true;
}

ExprVec nest_tree_reads(const NestTree *tree, int stage, int buffer)
{
	Collect c = {tree->nest->arena, buffer, {0}};
	expr_walk(tree->nest->stages.at[stage].body, collect, &c);
	return c.out;
}
