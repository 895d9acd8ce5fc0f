/* A reduction of a few steps of interleaved operands, which lie side by side only
 * along axes of a few elements (points, colours, pairs): lanes along the last long
 * axis, all else repeated in code, so that vectors are loaded whole, shuffled, and
 * stored whole.
 *
 *     for n for i for k  y[n, i] += m[i, k]*p[n, k]
 * -->
 *     for n0 unroll i unroll k vector nv   y[n, i] += m[i, k]*p[n, k]
 *
 * Where one block reads it element by element, with lanes along the same axis,
 * it stays in registers there. */
#include "schedule/rules/rules.h"

#include <assert.h>

enum {
	SMALL = 4,       /* of an axis that is repeated in code */
	STEPS_MOST = 8,
	RESULTS_MOST = 16, /* at once */
	APART_MOST = 8   /* elements between lanes of what is read */
};

static bool is_small(const Block *b, int axis)
{
	return b->axes[axis].extent <= SMALL;
}

/* The last axis that is not small; -1. */
static int long_axis(const Block *b)
{
	int a = b->nspatial - 1;
	while (a >= 0 && is_small(b, a))
		a--;
	return a;
}

/* Of axes that are repeated in code, those behind the long one or all. */
static int64_t results_of(const Block *b, int from)
{
	int64_t n = 1;
	for (int a = from; a < b->nspatial && n <= RESULTS_MOST; a++)
		if (is_small(b, a))
			n *= b->axes[a].extent;
	return n;
}

/* Each element is used for small axes alone, and lanes lie a few apart. */
static bool streams(
    const Rules *r, const Block *b, const RuleRead *read, int along)
{
	int64_t apart = rule_stride(r->program, read, along, 1);
	if (!read->plain || apart > APART_MOST || apart < -APART_MOST)
		return false;
	for (int a = 0; a < b->nspatial && read->uses[along]; a++)
		if (!read->uses[a] && !is_small(b, a))
			return false;
	return true;
}

bool rule_is_interleaved(const Rules *r, int i)
{
	const Block *b = &r->program->blocks[i];
	const RuleBlock *info = &r->blocks[i];
	int along = b->reduce == REDUCE_NONE ? -1 : long_axis(b);
	int lanes = along < 0 ? 0 : rule_value_lanes(r, i, along);
	bool apart = false;
	if (along < 0 || lanes < rule_least_lanes(lanes) ||
	    b->axes[along].extent < lanes ||
	    block_steps(b) > STEPS_MOST || block_steps(b) < 2 ||
	    results_of(b, along + 1) > SMALL ||
	    results_of(b, 0) > RESULTS_MOST || rule_rows_has(r, i))
		return false;
	vec_each (read, &info->reads) {
		if (!streams(r, b, read, along))
			return false;
		apart |= rule_stride(r->program, read, along, 1) > 1;
	}
	return apart && !info->is_host && info->fused_with < 0 &&
	    info->colocated_with < 0;
}

/* Does the block read each element where it writes one, and no other? */
static bool reads_element(const Rules *r, int reader, int block)
{
	const Block *b = &r->program->blocks[block];
	const Block *to = &r->program->blocks[reader];
	const RuleBlock *c = &r->blocks[reader];
	bool found = false;
	vec_each (read, &c->reads) {
		if (read->buffer != b->buffer)
			continue;
		found = true;
		for (int d = 0; d < read->nindex; d++)
			if (rule_axis_of(read->index[d]) != d)
				return false;
	}
	return found && to->nspatial == b->nspatial &&
	    rule_same_extents(to, 0, b, 0, b->nspatial);
}

/* The block in whose registers it can be; -1. */
static int host_of(const Rules *r, int i, int lanes)
{
	const Block *b = &r->program->blocks[i];
	const RuleBlock *info = &r->blocks[i];
	int host = info->output || info->consumers.n != 1
	    ? -1
	    : info->consumers.at[0];
	if (host < 0 || !r->blocks[host].lane_loop ||
	    r->blocks[host].lane_axis != long_axis(b) ||
	    r->blocks[host].lanes != lanes || !reads_element(r, host, i))
		return -1;
	return host;
}

void rule_interleaved(Rules *r, int i)
{
	if (!rule_is_open(r, i) || !rule_is_interleaved(r, i))
		return;
	const Block *b = &r->program->blocks[i];
	int along = long_axis(b), lanes = rule_value_lanes(r, i, along);
	int host = host_of(r, i, lanes);
	const char *first = NULL, *rows = "", *small = "";
	r->blocks[i].scheduled = true;
	rule_root(r, i);
	if (host >= 0)
		rule_put(r, "set_scope(%s, reg)\ncompute_at(%s, %s)\n", b->name,
		    b->name, r->blocks[host].lane_loop);
	const char *const *v =
	    rule_split(r, b->name, b, along, "0 v", "[_, %d]", lanes);
	for (int a = 0; a < b->naxes; a++) {
		const char *loop =
		    a == along ? v[0] : rule_loop(r, b->name, b, a);
		if (a >= b->nspatial || is_small(b, a))
			small = rule_join(r, small, loop);
		else
			rows = rule_join(r, rows, loop);
		first = first || !*rows ? first : loop;
	}
	assert(first && "the long axis is a row");
	rule_put(r, "reorder(%s, %s, %s)\neach unroll(%s)\n", rows, small, v[1],
	    small);
	if (host >= 0) /* of one step there */
		rule_put(r, "each unroll(%s)\n", rows);
	rule_vectors(r, "", v[1], lanes);
	rule_put(r, "tail(%s, peel)\n", b->name);
	if (host < 0)
		rule_parallel(r, first);
}
