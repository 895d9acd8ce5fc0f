/* The tree that the places of stages make, flattened for those who ask. */
#include "ir/nest/nest_internal.h"

typedef struct {
	NestTree *tree;
	int stage;
} Collect;

static bool collect(Expr *e, void *context)
{
	const Collect *c = context;
	Arena *arena = c->tree->nest->arena;
	if (e->op != OP_READ)
		return true;
	vec_push(arena, &c->tree->reads[c->stage], e);
	vec_push(arena, &c->tree->readers[e->id], (NestRead){c->stage, e});
	return true;
}

static int depth_of(const Nest *nest, int stage)
{
	int n = nest->stages.at[stage].nloops;
	for (int place = nest->stages.at[stage].place; place >= 0;) {
		n += nest_loop_position(nest, place) + 1;
		place = nest->stages.at[nest->vars.at[place].stage].place;
	}
	return n;
}

NestTree nest_tree(const Nest *nest)
{
	Arena *arena = nest->arena;
	int nstages = nest->stages.n;
	NestTree tree = {nest, NEW_N(arena, int *, nstages),
	    NEW_N(arena, int, nstages), NEW_N(arena, ExprVec, nstages),
	    NEW_N(arena, NestReads, nest->buffers.n)};
	for (int i = 0; i < nest->order.n; i++) {
		int s = nest->order.at[i], depth = depth_of(nest, s);
		tree.chain[s] = NEW_N(arena, int, depth);
		tree.nchain[s] = nest_loops_above(nest, s,
		    nest->stages.at[s].nloops, tree.chain[s], depth);
		expr_walk(
		    nest->stages.at[s].body, collect, &(Collect){&tree, s});
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
	int leader = nest_leader(tree->nest, writer);
	for (int s = reader; s >= 0; s = nest_tree_host(tree, s))
		if (nest_tree_host(tree, s) == leader)
			return tree->nest->stages.at[s].after;
	return false;
}

int nest_tree_above(const NestTree *tree, int stage)
{
	return tree->nchain[stage] - tree->nest->stages.at[stage].nloops;
}

FixedVars fixed_vars(const Nest *nest)
{
	return (FixedVars){
	    nest->arena, NEW_N(nest->arena, bool, nest->vars.n), {0}};
}

void fixed_clear(FixedVars *fixed)
{
	for (int i = 0; i < fixed->marked.n; i++)
		fixed->at[fixed->marked.at[i]] = false;
	fixed->marked.n = 0;
}

void fixed_mark(FixedVars *fixed, int var)
{
	fixed->at[var] = true;
	vec_push(fixed->arena, &fixed->marked, var);
}
