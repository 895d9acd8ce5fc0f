/* Results of one pass are colocated: a block whose axes are another's, and that
 * reads what the other reads, is computed in the other's tiles, while that is in
 * the cache.  Outputs are, in those of a later one where that waits for more, and
 * reductions that only outputs read, element by element; and what follows from a
 * running sum that is carried from row to row.
 *
 *     for i for k s[i] += x[i, k]              for i
 *     for i for k q[i] += x[i, k]*x[i, k]  -->   for k s[i] += x[i, k]
 *                                                for k q[i] += x[i, k]*x[i, k]
 *
 * An output of the same elements as a reduction is made step by step:
 *
 *     for i s[] += x[i]*x[i]              for i0
 *     for i y[i] = x[i]*2          -->      for i1 s[] += x[i]*x[i]
 *                                           for i1 y[i] = x[i]*2
 *
 * The first block of such a set, or that which waits, is the host; the others are
 * written for themselves, without threads, and moved there at the end. */
#include "schedule/rules/rules.h"

#include <assert.h>

static bool same_axes(const Rules *r, int a, int b)
{
	const Block *x = &r->program->blocks[a], *y = &r->program->blocks[b];
	bool reduced = x->reduce != REDUCE_NONE;
	return x->nspatial == y->nspatial && x->nspatial &&
	    reduced == (y->reduce != REDUCE_NONE) &&
	    rule_same_extents(x, 0, y, 0, x->nspatial);
}

static bool reads(const RuleBlock *b, int buffer)
{
	return rule_reads_of(b, buffer) > 0;
}

/* Is there something of at least a result's size that both read, or is one
 * read by the other? */
static bool shares(const Rules *r, int host, int i)
{
	const RuleBlock *h = &r->blocks[host], *b = &r->blocks[i];
	int64_t least = buffer_bytes(
	    &r->program->buffers[r->program->blocks[host].buffer]);
	if (reads(b, r->program->blocks[host].buffer))
		return true;
	vec_each (read, &h->reads)
		if (reads(b, read->buffer) &&
		    buffer_bytes(&r->program->buffers[read->buffer]) >= least)
			return true;
	return false;
}

/* With the host, or with what is in its tiles already? */
static bool shares_there(const Rules *r, int host, int i)
{
	for (int k = host; k < i; k++)
		if ((k == host || r->blocks[k].colocated_with == host) &&
		    shares(r, k, i))
			return true;
	return false;
}

/* Is all that it reads there before the host starts, or made in its tiles at the
 * same place? */
static bool ready_at(const Rules *r, int host, int i)
{
	const RuleBlock *b = &r->blocks[i];
	vec_each (read, &b->reads) {
		int p = read->maker;
		if (p < 0 || p < host)
			continue;
		if (p != host && r->blocks[p].colocated_with != host)
			return false;
		for (int d = 0; d < read->nindex; d++)
			if (rule_axis_of(read->index[d]) != d)
				return false;
		if (r->program->blocks[i].reduce != REDUCE_NONE)
			return false;
	}
	return true;
}

static bool is_free(const Rules *r, int i)
{
	const RuleBlock *b = &r->blocks[i];
	return !b->inlined && rule_carries(r, i) < 0 &&
	    !rule_is_pointwise(r, i) && !b->scheduled && !rule_rows_has(r, i);
}

/* A block that rule_row or rule_spatial schedules by its rows? */
static bool is_plain(const Rules *r, int i)
{
	const Block *block = &r->program->blocks[i];
	return block->reduce == REDUCE_NONE
	    ? rule_is_flat(r, i)
	    : rule_shape(r, i) == SHAPE_ROW && rule_has_row(block);
}

static bool may_be_moved(const Rules *r, int i)
{
	return (r->blocks[i].output || rule_only_outputs_read(r, i)) &&
	    is_free(r, i) && is_plain(r, i);
}

/* An output of what is carried from row to row, element by element. */
static bool follows_carried(const Rules *r, int h, int i)
{
	const RuleBlock *b = &r->blocks[i];
	return rule_carries(r, h) >= 0 && rule_carries(r, i) < 0 &&
	    b->output && !b->inlined && !b->scheduled &&
	    !r->blocks[h].scheduled &&
	    reads(b, r->program->blocks[h].buffer) && same_axes(r, h, i) &&
	    ready_at(r, h, i);
}

/* --- step by step ---------------------------------------------------------------- */

/* Is there something of which both read an element for each step? */
static bool shares_steps(const Rules *r, int h, int i)
{
	const RuleBlock *host = &r->blocks[h];
	const Block *block = &r->program->blocks[h];
	vec_each (read, &host->reads) {
		bool all = read->plain && reads(&r->blocks[i], read->buffer);
		for (int a = 0; a < block->naxes && all; a++)
			all = read->uses[a] || block->axes[a].extent == 1;
		if (all)
			return true;
	}
	return false;
}

/* A reduction that is written at the root, with lanes along the axis, which is no
 * thread's. */
static bool has_steps(const Rules *r, int h, int along)
{
	const RuleBlock *b = &r->blocks[h];
	const Block *block = &r->program->blocks[h];
	int axis;
	return rule_shape(r, h) == SHAPE_ROW &&
	    rule_row_lanes(r, h, &axis) > 1 && axis == along &&
	    (rule_has_row(block) || r->machine->threads == 1) &&
	    (b->output || rule_only_outputs_read(r, h)) && !b->scheduled;
}

/* Its last axis along the host's lanes. */
static bool follows_steps(const Rules *r, int h, int i)
{
	const Block *block = &r->program->blocks[i];
	int last = block->nspatial - 1;
	if (h == i || r->program->blocks[h].reduce == REDUCE_NONE ||
	    !nest_colocated_steps(r->plain, i, h))
		return false;
	int *axis_of = NEW_N(r->arena, int, block->naxes + 1);
	return nest_colocated(r->plain, i, h, axis_of) &&
	    has_steps(r, h, axis_of[last]) && shares_steps(r, h, i) &&
	    rule_ready_before(r, i, h);
}

/* The first block whose steps it can follow, an output that nobody reads; -1. */
static int leader_of(const Rules *r, int i)
{
	const RuleBlock *b = &r->blocks[i];
	bool may = r->program->blocks[i].nspatial > 0 && b->output &&
	    !b->consumers.n && !b->scheduled;
	for (int h = 0; may && h < r->program->nblocks; h++)
		if (follows_steps(r, h, i))
			return h;
	return -1;
}

/* The first block in whose tiles it can be; -1.  With what shares its loops none
 * is moved. */
static int host_of(const Rules *r, int i)
{
	bool moves = may_be_moved(r, i) && !r->blocks[i].nfused;
	for (int h = 0; h < i; h++)
		if (follows_carried(r, h, i))
			return h;
	for (int h = 0; h < i && moves; h++)
		if (may_be_moved(r, h) && r->blocks[h].colocated_with < 0 &&
		    same_axes(r, h, i) && shares_there(r, h, i) &&
		    ready_at(r, h, i))
			return h;
	return -1;
}

/* Elements of an output. */
static bool has_elements(const Rules *r, int i)
{
	return r->blocks[i].output && is_free(r, i) &&
	    r->program->blocks[i].reduce == REDUCE_NONE && rule_lies_flat(r, i);
}

/* Of an output that nobody reads the first one behind it in whose tiles it can
 * be, which waits for something that this one does not wait for; -1. */
static int later_host_of(const Rules *r, int i)
{
	if (r->blocks[i].consumers.n || r->blocks[i].is_host ||
	    !has_elements(r, i))
		return -1;
	for (int h = i + 1; h < r->program->nblocks; h++)
		if (has_elements(r, h) && same_axes(r, h, i) &&
		    shares(r, h, i) && !ready_at(r, i, h))
			return h;
	return -1;
}

void rule_colocate(Rules *r, int i)
{
	if (r->blocks[i].is_host)
		return;
	int host = host_of(r, i), leader = host < 0 ? leader_of(r, i) : -1;
	if (host < 0)
		host = leader >= 0 ? leader : later_host_of(r, i);
	if (host < 0)
		return;
	assert(host != i && r->blocks[host].colocated_with < 0);
	r->blocks[i].at_steps = leader >= 0;
	r->blocks[i].colocated_with = host;
	r->blocks[host].is_host = true;
}

void rule_move(Rules *r, int i)
{
	const RuleBlock *b = &r->blocks[i],
			*host = &r->blocks[b->colocated_with];
	if (b->colocated_with < 0)
		return;
	const char *loop = b->at_steps ? host->steps : host->tile;
	assert(loop);
	rule_put(r, "reverse_compute_at(%s, %s)\n", r->program->blocks[i].name,
	    loop);
}
