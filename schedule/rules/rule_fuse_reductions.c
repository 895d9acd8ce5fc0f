/* Several reductions in one pass: a block whose axes are another's, and that
 * reads what the other reads, runs in the other's loops.
 *
 *     for i for k s[i] += x[i, k]              for i for k
 *     for i for k q[i] += x[i, k]*x[i, k]  -->   s[i] += x[i, k]
 *                                                q[i] += x[i, k]*x[i, k]
 *
 * The first block of such a set leads: rules schedule it alone, with an eye on
 * the registers that all results take; the others follow it at the end.  Filters
 * of a chain (rule_window.c) have places of their own, but columns of windows that
 * one block adds up. */
#include "schedule/rules/rules.h"

#include <assert.h>

enum { TOGETHER_MOST = 4 };

static bool same_axes(const Rules *r, int a, int b)
{
	const Block *x = &r->program->blocks[a], *y = &r->program->blocks[b];
	return x->nspatial == y->nspatial && x->naxes == y->naxes &&
	    rule_same_extents(x, 0, y, 0, x->naxes);
}

static bool same_index(const RuleRead *a, const RuleRead *b)
{
	bool same = a->nindex == b->nindex;
	for (int d = 0; same && d < a->nindex; d++)
		same = expr_equal(a->index[d], b->index[d]);
	return same;
}

/* Do both read the same elements of something that moves along the reduction? */
static bool share_reads(const Rules *r, int a, int b)
{
	const RuleBlock *x = &r->blocks[a], *y = &r->blocks[b];
	const Block *block = &r->program->blocks[a];
	vec_each (read, &x->reads) {
		bool streamed = false;
		for (int k = block->nspatial; k < block->naxes; k++)
			streamed |= read->uses[k];
		for (int k = 0; k < y->reads.n && streamed; k++)
			if (y->reads.at[k].buffer == read->buffer &&
			    same_index(&y->reads.at[k], read))
				return true;
	}
	return false;
}

/* Is the same part of both needed wherever one is? */
static bool same_readers(const Rules *r, int a, int b)
{
	const RuleBlock *x = &r->blocks[a], *y = &r->blocks[b];
	bool same = !x->output && !y->output &&
	    x->consumers.n == y->consumers.n;
	for (int i = 0; same && i < x->consumers.n; i++) {
		int reader = x->consumers.at[i];
		const RuleRead *p = rule_only_read(
		    &r->blocks[reader], r->program->blocks[a].buffer);
		const RuleRead *q = rule_only_read(
		    &r->blocks[reader], r->program->blocks[b].buffer);
		same = reader == y->consumers.at[i] && p && q &&
		    same_index(p, q);
	}
	return same;
}

/* Are the same elements of both read, however many? */
static bool same_reads(const Rules *r, int reader, int a, int b)
{
	const RuleBlock *c = &r->blocks[reader];
	int x = r->program->blocks[a].buffer, y = r->program->blocks[b].buffer;
	if (rule_reads_of(c, x) != rule_reads_of(c, y))
		return false;
	vec_each (read, &c->reads) {
		bool found = read->buffer != x;
		for (int k = 0; k < c->reads.n && !found; k++)
			found = c->reads.at[k].buffer == y &&
			    same_index(&c->reads.at[k], read);
		if (!found)
			return false;
	}
	return true;
}

/* Columns of windows of one size, that one block adds up. */
static bool same_windows(const Rules *r, int a, int b)
{
	const RuleBlock *x = &r->blocks[a], *y = &r->blocks[b];
	return rule_origin(r, a)->separated && rule_origin(r, b)->separated &&
	    x->consumers.n == 1 && y->consumers.n == 1 &&
	    x->consumers.at[0] == y->consumers.at[0] &&
	    same_reads(r, x->consumers.at[0], a, b);
}

/* Is it made of const inputs, by the pack function? */
static bool is_ahead(const Rules *r, int block)
{
	int buffer = r->program->blocks[block].buffer;
	return r->program->buffers[buffer].is_const;
}

bool rule_fuses_with(const Rules *r, int leader, int i)
{
	const RuleBlock *l = &r->blocks[leader];
	assert(leader < i);
	if (r->program->blocks[leader].reduce == REDUCE_NONE || l->inlined ||
	    l->fused_with >= 0 || l->nfused + 1 >= TOGETHER_MOST ||
	    !same_axes(r, leader, i) || !share_reads(r, leader, i) ||
	    is_ahead(r, leader) != is_ahead(r, i) ||
	    !rule_ready_before(r, i, leader) || rule_rows_has(r, leader) ||
	    rule_rows_has(r, i))
		return false;
	RuleShape shape = rule_shape(r, leader);
	if (rule_shape(r, i) != shape || shape == SHAPE_POINTWISE ||
	    shape == SHAPE_SCATTER ||
	    !nest_same_steps(r->plain, r->arena, leader, i))
		return false;
	if (shape == SHAPE_WINDOW)
		return same_windows(r, leader, i);
	return same_readers(r, leader, i) ||
	    ((l->output || rule_only_outputs_read(r, leader)) &&
		(r->blocks[i].output || rule_only_outputs_read(r, i)));
}

/* The first that it runs with: one that reads what it reads. */
static int leader_of(const Rules *r, int i)
{
	const RuleBlock *b = &r->blocks[i];
	int first = i;
	vec_each (read, &b->reads) {
		int of = read->maker;
		const RuleBlock *writer = of < 0 ? NULL : &r->blocks[of];
		for (int j = 0; j < (writer ? writer->consumers.n : first);
		     j++) {
			int l = writer ? writer->consumers.at[j] : j;
			if (l < first && rule_fuses_with(r, l, i))
				first = l;
		}
	}
	return first < i ? first : -1;
}

void rule_fuse_reductions(Rules *r, int i)
{
	RuleBlock *b = &r->blocks[i];
	if (r->program->blocks[i].reduce == REDUCE_NONE || !rule_is_open(r, i))
		return;
	b->fused_with = leader_of(r, i);
	if (b->fused_with < 0)
		return;
	r->blocks[b->fused_with].nfused++;
	assert(rule_results(r, b->fused_with) <= TOGETHER_MOST);
	b->scheduled = true;
	if (rule_shape(r, i) != SHAPE_WINDOW &&
	    !same_readers(r, b->fused_with, i))
		r->blocks[b->fused_with].is_host = true;
}
