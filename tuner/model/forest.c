/* Boosted trees, walked for many rows at a time.
 *
 * A search asks for hundreds of thousands of predictions a second.  Each tree
 * is made complete: breadth-first, children of k at 2k+1 and 2k+2, a leaf above
 * the last level repeated below it; so that a step is a load, a comparison and
 * an addition, without a branch, and the steps of sixteen rows overlap.  Leaves
 * are summed in the order of the trees, as XGBoost does, so that the results
 * are the same bit for bit. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "lib/arena.h"
#include "tuner/model/kind.h"

/* Deeper trees, which would not fit, are walked node by node. */
enum { LANES = 16, MAX_DEPTH = 9 };

typedef struct {
	float threshold;
	int feature;
} Split;

struct ForestWalk {
	int ntrees;
	int *depth;	/* a tree */
	Split **splits; /* 2^depth - 1 a tree */
	float **leaves; /* 2^depth a tree */
	Split *all_splits;
	float *all_leaves;
};

static int depth_of(const Forest *forest, int node)
{
	const TreeNode *t = &forest->nodes[node];
	if (t->feature < 0)
		return 0;
	int left = depth_of(forest, t->left),
	    right = depth_of(forest, t->right);
	return 1 + (left > right ? left : right);
}

/* `place` in breadth-first order, `level` counted from the leaves. */
static void complete(const Forest *forest, int node, int level, int place,
    int depth, Split *splits, float *leaves)
{
	const TreeNode *t = &forest->nodes[node];
	if (level == 0) {
		leaves[place - ((1 << depth) - 1)] = t->value;
		return;
	}
	bool leaf = t->feature < 0;
	splits[place] = (Split){leaf ? 0 : t->threshold, leaf ? 0 : t->feature};
	complete(forest, leaf ? node : t->left, level - 1, 2 * place + 1, depth,
	    splits, leaves);
	complete(forest, leaf ? node : t->right, level - 1, 2 * place + 2,
	    depth, splits, leaves);
}

static void walk_free(struct ForestWalk *walk)
{
	if (!walk)
		return;
	free(walk->depth);
	free(walk->splits);
	free(walk->leaves);
	free(walk->all_splits);
	free(walk->all_leaves);
	free(walk);
}

void forest_prepare(Forest *forest)
{
	walk_free(forest->walk);
	forest->walk = NULL;
	size_t n = (size_t)forest->ntrees, nleaves = 0;
	struct ForestWalk *w = must_alloc(sizeof *w);
	*w = (struct ForestWalk){.ntrees = forest->ntrees};
	w->depth = must_alloc(sizeof *w->depth * n);
	w->splits = must_alloc(sizeof *w->splits * n);
	w->leaves = must_alloc(sizeof *w->leaves * n);
	for (size_t i = 0; i < n; i++) {
		w->depth[i] = depth_of(forest, forest->root[i]);
		if (w->depth[i] > MAX_DEPTH) {
			walk_free(w);
			return;
		}
		nleaves += (size_t)1 << w->depth[i];
	}
	w->all_splits = must_alloc(sizeof *w->all_splits * nleaves);
	w->all_leaves = must_alloc(sizeof *w->all_leaves * nleaves);
	size_t at = 0;
	for (size_t i = 0; i < n; i++) {
		w->splits[i] = w->all_splits + at;
		w->leaves[i] = w->all_leaves + at;
		at += (size_t)1 << w->depth[i];
		complete(forest, forest->root[i], w->depth[i], 0, w->depth[i],
		    w->splits[i], w->leaves[i]);
	}
	forest->walk = w;
}

void forest_free(Forest *forest)
{
	walk_free(forest->walk);
	free(forest->root);
	free(forest->nodes);
	*forest = (Forest){0};
}

/* --- prediction ---------------------------------------------------------- */

static float row_walk(const Forest *forest, const float *row)
{
	float sum = forest->base;
	for (int i = 0; i < forest->ntrees; i++) {
		const TreeNode *t = &forest->nodes[forest->root[i]];
		while (t->feature >= 0)
			t = &forest->nodes[row[t->feature] < t->threshold
					       ? t->left
					       : t->right];
		sum += t->value;
	}
	return sum;
}

/* LANES rows at once; `rows` may name a row twice. */
static void lanes_walk(const struct ForestWalk *w, const float *const *rows,
    float base, float *out)
{
	float sum[LANES];
	for (int r = 0; r < LANES; r++)
		sum[r] = base;
	for (int i = 0; i < w->ntrees; i++) {
		const Split *splits = w->splits[i];
		const float *leaves = w->leaves[i];
		unsigned at[LANES] = {0};
		for (int d = 0; d < w->depth[i]; d++)
#pragma GCC unroll 16
			for (int r = 0; r < LANES; r++) {
				Split s = splits[at[r]];
				at[r] = 2 * at[r] + 1 +
					!(rows[r][s.feature] < s.threshold);
			}
		unsigned first = (1u << w->depth[i]) - 1;
		for (int r = 0; r < LANES; r++)
			sum[r] += leaves[at[r] - first];
	}
	memcpy(out, sum, sizeof sum);
}

void forest_predict(
    const Forest *forest, const float *rows, int n, int width, float *out)
{
	for (int i = 0; i < n; i += LANES) {
		const float *block[LANES];
		float sums[LANES];
		int m = n - i < LANES ? n - i : LANES;
		if (!forest->walk) {
			for (int r = 0; r < m; r++)
				out[i + r] = row_walk(forest,
				    rows + (size_t)(i + r) * (size_t)width);
			continue;
		}
		for (int r = 0; r < LANES; r++)
			block[r] = rows + (size_t)(i + (r < m ? r : 0)) *
					      (size_t)width;
		lanes_walk(forest->walk, block, forest->base, sums);
		memcpy(out + i, sums, sizeof *out * (size_t)m);
	}
}
