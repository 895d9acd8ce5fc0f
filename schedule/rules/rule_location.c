/* Where a block is computed: for itself, before everything that reads it, or
 * for each tile of its reader, in the loops of its host.
 *
 *     for i for k s[i] += x[i, k]            for i
 *     for i for j y[i, j] = x[i, j]/s[i]       for k s[i] += x[i, k]
 *                                      -->     for j y[i, j] = x[i, j]/s[i]
 *
 * Of the loops of a block that is not tiled in levels the innermost is offered
 * outside of which nothing moves that the block does not move with: there
 * nothing is computed twice, but for what neighbouring rows share; filters are
 * offered a block of rows and columns, which with all that is computed for it
 * stays in the nearest cache.  What is offered no place is its own host, or may
 * be computed again by results of one pass (rule_colocate.c).  What computes
 * functions of rows that come from far is made there, and nowhere else, so that
 * it can ask for the next ones. */
#include "schedule/rules/rules.h"

#include <assert.h>

void rule_add_place(
    Rules *r, int block, const char *loop, int naxes, bool columns)
{
	assert(*loop && naxes <= r->program->blocks[block].nspatial);
	vec_push(
	    r->arena, &r->places, (RulePlace){loop, block, naxes, columns});
	r->blocks[block].columns |= columns;
}

/* The one block in whose loops all readers are, or, `again`, in whose tiles they
 * are or may be computed again; -1. */
static int host_of_readers(const Rules *r, const RuleBlock *b, bool again)
{
	int host = -1;
	for (int i = 0; i < b->consumers.n; i++) {
		const RuleBlock *c = &r->blocks[b->consumers.at[i]];
		int h = !again		    ? c->host
		    : c->recomputed_at >= 0 ? c->recomputed_at
		    : c->is_host	    ? c->block
					    : c->colocated_with;
		if (h < 0 || rule_is_collapsed(r, c->block) ||
		    (host >= 0 && h != host))
			return -1;
		host = h;
	}
	return host;
}

/* The axis of the host that moves an index, by way of its reader; -1. */
static int mover_of(const Expr *e, const Block *reader, const int *moved_by)
{
	if (e->op == OP_AXIS)
		return e->id < reader->nspatial ? moved_by[e->id] : -1;
	for (int i = 0; i < e->narg; i++) {
		int a = mover_of(e->arg[i], reader, moved_by);
		if (a >= 0)
			return a;
	}
	return -1;
}

int *rule_movers(Rules *r, const RuleBlock *b)
{
	const Block *block = &r->program->blocks[b->block];
	int *moved = NEW_N(r->arena, int, block->naxes);
	for (int a = 0; a < block->naxes; a++)
		moved[a] = -1;
	for (int i = 0; i < b->consumers.n; i++) {
		const RuleBlock *c = &r->blocks[b->consumers.at[i]];
		vec_each (read, &c->reads) {
			if (read->buffer != block->buffer || !c->moved_by)
				continue;
			assert(read->nindex == block->nspatial);
			for (int d = 0; d < read->nindex; d++)
				moved[d] = mover_of(read->index[d],
				    &r->program->blocks[c->block],
				    c->moved_by);
		}
	}
	if (rule_is_scan(r, b->block)) /* all of it is needed */
		moved[r->made[block->buffer].scan_axis] = -1;
	return moved;
}

int rule_axis_at(const Rules *r, int block, int depth)
{
	const int *order = r->blocks[block].order;
	assert(depth >= 0 && depth < r->program->blocks[block].nspatial);
	return order ? order[depth] : depth;
}

/* Does the block move with each of the host's first axes? */
static bool moves_with(const Rules *r, const RuleBlock *b, int host, int naxes)
{
	const Block *block = &r->program->blocks[b->block];
	for (int i = 0; i < naxes; i++) {
		int a = rule_axis_at(r, host, i);
		bool found = r->program->blocks[host].axes[a].extent == 1;
		for (int d = 0; d < block->nspatial; d++)
			found |= b->moved_by[d] == a;
		if (!found)
			return false;
	}
	return true;
}

/* For a block of rows and columns where all that reads it is. */
static bool has_columns(const Rules *r, const RuleBlock *b, int host, int naxes)
{
	for (int i = 0; i < b->consumers.n; i++)
		if (!r->blocks[b->consumers.at[i]].columns)
			return false;
	return moves_with(r, b, host, naxes);
}

void rule_root(Rules *r, int i)
{
	RuleBlock *b = &r->blocks[i];
	const Block *block = &r->program->blocks[i];
	b->host = b->block;
	b->moved_by = NEW_N(r->arena, int, block->naxes);
	for (int a = 0; a < block->naxes; a++)
		b->moved_by[a] = a < block->nspatial ? a : -1;
}

/* Do its readers read copies of it, which are packed? */
static bool is_packed(const Rules *r, int block)
{
	int buffer = r->program->blocks[block].buffer;
	const RuleBlock *b = &r->blocks[block];
	for (int i = 0; i < b->consumers.n; i++) {
		const RuleBlock *c = &r->blocks[b->consumers.at[i]];
		vec_each (read, &c->reads)
			if (read->buffer == buffer && read->packable)
				return rule_origin(r, block)->extracted;
	}
	return false;
}

/* May all that reads the block be where it is? */
static bool readers_follow(const Rules *r, const RuleBlock *b)
{
	for (int i = 0; i < b->consumers.n; i++) {
		int c = b->consumers.at[i];
		if (c != b->host && r->blocks[c].place_axes < b->place_axes)
			return false;
	}
	return true;
}

/* What computes a function of each element of an input that no near cache keeps,
 * row by row, has time to ask for the next rows: the buffer; -1. */
static int looks_ahead(const Rules *r, int i)
{
	const RuleBlock *b = &r->blocks[i];
	const Block *block = &r->program->blocks[i];
	if (block->reduce != REDUCE_NONE || !expr_has_function(block->body) ||
	    !readers_follow(r, b))
		return -1;
	vec_each (read, &b->reads) {
		const Buffer *from = &r->program->buffers[read->buffer];
		if (from->block < 0 && read->plain &&
		    read->nindex == block->nspatial &&
		    r->machine->l2_bytes > 0 &&
		    buffer_bytes(from) > r->machine->l2_bytes)
			return read->buffer;
	}
	return -1;
}

void rule_location(Rules *r, int i)
{
	RuleBlock *b = &r->blocks[i];
	if (!rule_is_open(r, i) || b->host >= 0)
		return;
	bool ahead = r->program->buffers[r->program->blocks[i].buffer].is_const;
	bool root = ahead || b->output || b->is_host ||
	    b->colocated_with >= 0 || rule_is_collapsed(r, i) ||
	    rule_carries(r, i) >= 0;
	int host = root ? -1 : host_of_readers(r, b, false), most = -1;
	const RulePlace *best = NULL, *columns = NULL;
	if (host < 0) {
		if (!root && r->inlinable[i])
			b->recomputed_at = host_of_readers(r, b, true);
		if (b->recomputed_at >= 0)
			rule_put(r, "compute_at(%s, ? in {root, inline})\n",
			    r->program->blocks[i].name);
		rule_root(r, i);
		return;
	}
	b->host = host;
	b->moved_by = rule_movers(r, b);
	Buf places = {0};
	vec_each (place, &r->places) {
		if (place->block != host || is_packed(r, i))
			continue;
		if (place->naxes < 0)
			buf_printf(&places, ", %s", place->loop);
		else if (place->columns)
			columns = has_columns(r, b, host, place->naxes) ? place
									: NULL;
		else if (place->naxes > most &&
		    moves_with(r, b, host, place->naxes)) {
			best = place;
			most = place->naxes;
		}
	}
	b->place_axes = best ? most : 0;
	b->columns = best && columns;
	if (best)
		buf_printf(
		    &places, ", %s", b->columns ? columns->loop : best->loop);
	if (r->inlinable[i])
		buf_puts(&places, ", inline");
	b->prefetch_buffer = best && !b->columns ? looks_ahead(r, i) : -1;
	if (b->prefetch_buffer >= 0) {
		b->prefetch_loop = best->loop;
		rule_put(r, "compute_at(%s, %s)\n", r->program->blocks[i].name,
		    b->prefetch_loop);
	} else if (places.size)
		rule_put(r, "compute_at(%s, ? in {root%s})\n",
		    r->program->blocks[i].name, buf_text(&places));
	else
		rule_root(r, i);
	buf_free(&places);
}

/* Where the leader is, for those whose readers ask. */
void rule_place_fused(Rules *r, int leader)
{
	int left = r->blocks[leader].nfused;
	for (int i = leader; left && i < r->program->nblocks; i++) {
		RuleBlock *b = &r->blocks[i];
		left -= b->fused_with == leader;
		if (b->fused_with != leader)
			continue;
		b->host = r->blocks[leader].host;
		b->moved_by = r->blocks[leader].moved_by;
		b->place_axes = r->blocks[leader].place_axes;
		b->columns = r->blocks[leader].columns;
	}
	assert(!left && "those that run in its loops stand behind it");
}
