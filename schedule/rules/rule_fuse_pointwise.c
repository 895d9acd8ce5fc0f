/* What is computed for each point from a few values, in several steps: the least
 * of some distances and its place, the best of some classes.  Points are lanes,
 * all steps for a vector of them are made at once, and what leads from one to the
 * next stays in registers, or, where it is much, in the nearest cache.
 *
 *     for i for j for k d[i, j] += …         for i0
 *     for i for j m[i] min= d[i, j]      -->   unroll j unroll k vector iv  d …
 *     for i y[i] = f(m[i])                     unroll j vector iv  m …
 *                                              vector iv  y …
 *
 * The host is the block without reduction at the end; the others feed it, or each
 * other, point by point.  Its axes are the points', but for a few planes of which it
 * may be made (colours, directions: short axes before); of the others, those of the
 * points are the first ones or the last, and the values' all others. */
#include "schedule/rules/rules.h"

#include <assert.h>

enum {
	STEPS_MOST = 64,     /* of a reduction */
	VALUES_MOST = 64,    /* of a point, in one block */
	REGISTERS_MOST = 16, /* of these in registers */
	IN_CODE = 16,	     /* steps along an axis that are always in code */
	PLANES_MOST = 12,    /* of the host */
	APART_MOST = 8	     /* elements between lanes of what is read */
};

static const Block *block_of(const Rules *r, int i)
{
	return &r->program->blocks[i];
}

/* How many axes the points have. */
static int rank_of(const Rules *r, int host)
{
	return block_of(r, host)->nspatial - r->first_point[host];
}

static bool is_point_axis(const Rules *r, int host, int i, int axis)
{
	int first = r->first_point[i];
	return axis >= first && axis < first + rank_of(r, host);
}

static int64_t values_of(const Rules *r, int host, int i)
{
	const Block *b = block_of(r, i);
	int first = r->first_point[i];
	assert(first >= 0 && first + rank_of(r, host) <= b->nspatial);
	return block_points(b, 0, first) *
	    block_points(b, first + rank_of(r, host), b->nspatial);
}

static int lanes_of(const Rules *r, int i)
{
	const Block *b = block_of(r, i);
	return rule_lanes(r->machine, r->program->buffers[b->buffer].type);
}

/* --- who is one of them ------------------------------------------------------ */

/* The axis that the lanes are along. */
static int lane_axis(const Rules *r, int host, int i)
{
	const Block *b = block_of(r, host);
	return rule_longer_axis(b, b->nspatial) - r->first_point[host] +
	    r->first_point[i];
}

static bool is_apart(const Block *b, const RuleIndex *index, int along)
{
	int64_t step = 0, span = 0;
	if (index->irregular)
		return false;
	vec_each (t, &index->digits) {
		if (t->axis == along && t->count != b->axes[along].extent)
			return false;
		if (t->axis >= b->nspatial)
			span += (t->count - 1) * t->stride;
		else if (!step || t->stride < step)
			step = t->stride;
	}
	return !step || span < step;
}

static bool has_point(const Rules *r, int host, int i, const Expr *index)
{
	for (int a = 0; a < block_of(r, i)->nspatial; a++)
		if (is_point_axis(r, host, i, a) && expr_has_axis(index, a))
			return true;
	return false;
}

/* Does the read move by whole steps of the axes, so that what two points read is
 * not the same?  Windows that overlap share more by rows (rule_window.c). */
static bool all_apart(const Rules *r, int host, int i, const RuleRead *read)
{
	for (int d = 0; d < read->nindex; d++)
		if (has_point(r, host, i, read->index[d]) &&
		    !is_apart(
			block_of(r, i), &read->dims[d], lane_axis(r, host, i)))
			return false;
	return true;
}

static bool may_read(const Rules *r, int host, int i, const RuleRead *read)
{
	const Block *b = block_of(r, i);
	int along = lane_axis(r, host, i);
	for (int a = 0; a < b->nspatial && read->uses[along]; a++)
		if (is_point_axis(r, host, i, a) && b->axes[a].extent > 1 &&
		    !read->uses[a])
			return false;
	return all_apart(r, host, i, read) &&
	    rule_stride(r->program, read, along, 1) <= APART_MOST;
}

/* Is it one of `n` values for sure, and in code, so that they have registers? */
static bool is_value(
    const Rules *r, int host, int reader, const Expr *index, int64_t n)
{
	const Block *b = block_of(r, reader);
	int axis = rule_axis_of(index);
	if (axis >= 0)
		return !is_point_axis(r, host, reader, axis) &&
		    b->axes[axis].extent <= n;
	for (int a = 0; a < b->naxes; a++)
		if (expr_has_axis(index, a) && b->axes[a].extent > IN_CODE)
			return false;
	return (index->op == OP_INT || index->op == OP_MOD) &&
	    !has_point(r, host, reader, index) && !expr_has_data(index);
}

/* Does a reader ask for the values of its own point, whose axes are the buffer's
 * from `first` on? */
static bool reads_points(
    const Rules *r, int host, int reader, int buffer, int first)
{
	const RuleBlock *c = &r->blocks[reader];
	int at = r->first_point[reader] - first, n = rank_of(r, host);
	vec_each (read, &c->reads)
		for (int d = 0; d < read->nindex && read->buffer == buffer; d++)
			if (d >= first && d < first + n
				? rule_axis_of(read->index[d]) != d + at
				: !is_value(r, host, reader, read->index[d],
				      r->program->buffers[buffer].shape[d]))
				return false;
	return true;
}

static bool same_points(const Rules *r, int host, int i)
{
	const Block *h = block_of(r, host), *b = block_of(r, i);
	int from = r->first_point[host], to = r->first_point[i];
	if (to < 0 || b->nspatial < to + rank_of(r, host))
		return false;
	return rule_same_extents(b, to, h, from, rank_of(r, host));
}

static bool is_free(const Rules *r, int i)
{
	const RuleBlock *b = &r->blocks[i];
	return !b->inlined && !rule_is_scan(r, i) && rule_carries(r, i) < 0;
}

/* Does any of them read the buffer? */
static bool is_read(const Rules *r, int host, int buffer)
{
	for (int i = 0; i <= host; i++)
		if (r->point_host[i] == host &&
		    rule_reads_of(&r->blocks[i], buffer))
			return true;
	return false;
}

/* Another result of the host's points, made of what they are made of. */
static bool is_other_result(const Rules *r, int host, int i)
{
	const RuleBlock *b = &r->blocks[i];
	if (b->consumers.n ||
	    block_of(r, i)->nspatial != r->first_point[i] + rank_of(r, host))
		return false;
	vec_each (read, &b->reads)
		if (is_read(r, host, read->buffer))
			return true;
	return false;
}

/* Do only the host and what belongs to it read the block, point by point? */
static bool feeds(const Rules *r, int host, int i)
{
	const RuleBlock *b = &r->blocks[i];
	if (b->output)
		return is_other_result(r, host, i);
	if (!b->consumers.n)
		return false;
	for (int k = 0; k < b->consumers.n; k++)
		if (r->point_host[b->consumers.at[k]] != host ||
		    !reads_points(r, host, b->consumers.at[k],
			block_of(r, i)->buffer, r->first_point[i]))
			return false;
	return true;
}

/* May what is read of another block be that of its own point? */
static bool may_be_own(const Rules *r, int host, int i, int buffer)
{
	int from = r->program->buffers[buffer].block;
	return from >= 0 && !r->blocks[from].output &&
	    (reads_points(r, host, i, buffer, 0) ||
		reads_points(r, host, i, buffer,
		    block_of(r, from)->nspatial - rank_of(r, host)));
}

/* With its points' axes where they are said to be. */
static bool belongs_so(const Rules *r, int host, int i)
{
	const RuleBlock *info = &r->blocks[i];
	if (!same_points(r, host, i) || !feeds(r, host, i) ||
	    values_of(r, host, i) > VALUES_MOST ||
	    block_steps(block_of(r, i)) > STEPS_MOST)
		return false;
	vec_each (read, &info->reads)
		if (!may_be_own(r, host, i, read->buffer) &&
		    !may_read(r, host, i, read))
			return false;
	return true;
}

static bool belongs(const Rules *r, int host, int i)
{
	int places[] = {0, block_of(r, i)->nspatial - rank_of(r, host)};
	for (int k = 0; k < 2 && is_free(r, i) && r->point_host[i] < 0; k++) {
		r->first_point[i] = places[k];
		if (belongs_so(r, host, i))
			return true;
	}
	return false;
}

static bool may_host(const Rules *r, int i)
{
	int along = lane_axis(r, i, i), lanes = lanes_of(r, i);
	return block_of(r, i)->reduce == REDUCE_NONE && along >= 0 &&
	    is_free(r, i) && lanes >= rule_least_lanes(lanes) &&
	    block_of(r, i)->axes[along].extent >= lanes;
}

/* Is one of them made for several of the results? */
static bool is_shared(const Rules *r, int host)
{
	for (int i = 0; i < host; i++) {
		const RuleBlock *b = &r->blocks[i];
		int results = 0;
		for (int k = 0; k < b->consumers.n && !b->output; k++) {
			int c = b->consumers.at[k];
			results += c == host || r->blocks[c].output;
		}
		if (r->point_host[i] == host && results > 1)
			return true;
	}
	return false;
}

/* Is the same needed for several values of a reader that sums nothing? */
static bool is_reused(const Rules *r, int host, int reader, int buffer)
{
	const RuleBlock *c = &r->blocks[reader];
	const Block *b = block_of(r, reader);
	for (int k = 0; k < c->reads.n && b->reduce == REDUCE_NONE; k++)
		for (int a = 0; a < b->nspatial; a++)
			if (c->reads.at[k].buffer == buffer &&
			    c->reads.at[k].reuse[a] > 1 &&
			    !is_point_axis(r, host, reader, a))
				return true;
	return false;
}

/* Is something that belongs to the host? */
static bool is_kept(const Rules *r, int host)
{
	for (int i = 0; i < host; i++) {
		const RuleBlock *b = &r->blocks[i];
		for (int k = 0; k < b->consumers.n && r->point_host[i] == host;
		     k++)
			if (is_reused(r, host, b->consumers.at[k],
				block_of(r, i)->buffer))
				return true;
	}
	return false;
}

/* Is one of them several values of a point, each of which is read at its place? */
static bool has_values(const Rules *r, int host)
{
	for (int i = 0; i < host; i++)
		if (r->point_host[i] == host && !r->blocks[i].output &&
		    block_of(r, i)->reduce == REDUCE_NONE &&
		    values_of(r, host, i) > 1)
			return true;
	return false;
}

/* Is there a reduction of what belongs to the host, too, or are there results that
 * share what they are made of? */
static bool is_worth(const Rules *r, int host)
{
	if (is_shared(r, host) || has_values(r, host))
		return true;
	if (r->first_point[host])
		return is_kept(r, host);
	for (int i = 0; i < host; i++) {
		const RuleBlock *b = &r->blocks[i];
		if (r->point_host[i] != host ||
		    block_of(r, i)->reduce == REDUCE_NONE)
			continue;
		vec_each (read, &b->reads)
			if (read->maker >= 0 &&
			    r->point_host[read->maker] == host)
				return true;
	}
	return false;
}

static bool choose_for(Rules *r, int host)
{
	r->point_host[host] = host;
	for (int found = 1; found;) { /* outputs follow what they read */
		found = 0;
		for (int i = host - 1; i >= 0; i--)
			if (belongs(r, host, i)) {
				r->point_host[i] = host;
				found++;
			}
	}
	bool worth = is_worth(r, host);
	for (int i = 0; i <= host && !worth; i++)
		if (r->point_host[i] == host)
			r->point_host[i] = -1;
	return worth;
}

/* The first axes of the host as planes; how many; 0: there are none. */
static int planes_of(const Rules *r, int host)
{
	const Block *b = block_of(r, host);
	int last = rule_longer_axis(b, b->nspatial), n = 0;
	while (n < last && block_points(b, 0, n + 1) <= PLANES_MOST)
		n++;
	return block_points(b, 0, n) > 1 ? n : 0;
}

void rule_fuse_pointwise_choose(Rules *r)
{
	int n = r->program->nblocks;
	r->point_host = NEW_N(r->arena, int, n);
	r->first_point = NEW_N(r->arena, int, n);
	for (int i = 0; i < n; i++)
		r->point_host[i] = -1;
	for (int i = n - 1; i >= 0; i--) {
		if (r->point_host[i] >= 0 || !may_host(r, i))
			continue;
		r->first_point[i] = 0;
		if (!choose_for(r, i) && planes_of(r, i)) {
			r->first_point[i] = planes_of(r, i);
			choose_for(r, i);
		}
	}
}

/* --- the nest ----------------------------------------------------------------- */

typedef struct {
	Rules *r;
	int host, lanes;
	const char *loop; /* of the host, around all that is made for some vectors */
} FusedPoints;

/* Is it made all of its values for each step? */
static bool goes_by_steps(const FusedPoints *p, int i)
{
	return values_of(p->r, p->host, i) * block_steps(block_of(p->r, i)) >
	    STEPS_MOST;
}

/* What loops go over is in memory. */
static bool in_registers(const FusedPoints *p, int i)
{
	const RuleBlock *b = &p->r->blocks[i];
	for (int k = 0; k < b->consumers.n; k++)
		if (goes_by_steps(p, b->consumers.at[k]))
			return false;
	return values_of(p->r, p->host, i) <= REGISTERS_MOST;
}

/* How many vectors at once? */
static const char *copies_of(const FusedPoints *p)
{
	const Rules *r = p->r;
	int64_t each = 0, most = r->machine->vector_registers;
	for (int i = 0; i < p->host; i++)
		if (r->point_host[i] == p->host)
			each += in_registers(p, i) ? values_of(r, p->host, i) : 1;
	return each * 2 > most ? "1" : each * 4 > most ? "1, 2" : "1, 2, 4";
}

/* The narrowest of all, in lanes. */
static int common_lanes(const Rules *r, int host)
{
	int lanes = lanes_of(r, host);
	for (int i = 0; i < host; i++)
		if (r->point_host[i] == host && lanes_of(r, i) < lanes)
			lanes = lanes_of(r, i);
	return lanes;
}

/* Planes are inside of the points, in code. */
static void put_host(FusedPoints *p)
{
	Rules *r = p->r;
	const Block *b = block_of(r, p->host);
	int along = lane_axis(r, p->host, p->host);
	int planes = r->first_point[p->host];
	const char *const *x = rule_split(r, b->name, b, along, "0 1 v",
	    "? in tile([%s], [%d])", copies_of(p), p->lanes);
	if (planes) {
		const char *inner =
		    rule_loops(r, b->name, b, 0, planes, -1, -1);
		rule_put(r, "reorder(%s, %s, %s, %s, %s)\neach unroll(%s)\n",
		    rule_loops(r, b->name, b, planes, along, -1, -1), x[0],
		    inner, x[1], x[2], inner);
	}
	rule_vectors(r, x[1], x[2], p->lanes);
	rule_put(r, "tail(%s, ? in {peel, mask})\n", b->name);
	int first = rule_first_axis(b, planes, along);
	rule_parallel(r, first < 0 ? p->loop : rule_loop(r, b->name, b, first));
}

/* Values behind each other, so that those of neighbours lie side by side. */
static void put_layout(FusedPoints *p, int i)
{
	const Block *b = block_of(p->r, i);
	int along = lane_axis(p->r, p->host, i);
	rule_put(p->r, "transform_layout(%s, [", b->name);
	for (int a = 0; a < b->nspatial; a++)
		if (a != along)
			rule_put(p->r, "%s, ", b->axes[a].name);
	rule_put(p->r, "%s])\n", b->axes[along].name);
}

/* Values one by one and their steps in code, so that one can be used while the
 * next is made; where that is much code, but registers hold all of them, all for
 * each step. */
static void put_loops(FusedPoints *p, int i, bool registers)
{
	const Block *b = block_of(p->r, i);
	int along = lane_axis(p->r, p->host, i);
	bool many = registers && goes_by_steps(p, i);
	const char *values = "";
	const char *const *x =
	    rule_split(p->r, b->name, b, along, "u v", "[_, %d]", p->lanes);
	for (int a = 0; a < (many ? b->nspatial : b->naxes); a++)
		if (!is_point_axis(p->r, p->host, i, a))
			values = rule_and(p->r, values, b->name, b, a);
	rule_put(p->r, "reorder(%s, %s, %s, %s)\n",
	    rule_loops(p->r, b->name, b, many ? b->nspatial : b->naxes,
		b->naxes, -1, -1),
	    values, x[0], x[1]);
	for (int a = 0; a < b->naxes; a++) {
		bool point = is_point_axis(p->r, p->host, i, a);
		bool code = point ||
		    (b->axes[a].extent <= IN_CODE &&
			(registers ? !many || a < b->nspatial
				   : a >= b->nspatial));
		if (a != along)
			rule_put(p->r, "unroll(%s.%s%s)\n", b->name,
			    b->axes[a].name,
			    code ? "" : ", limit=? in {1, 64}");
	}
	rule_vectors(p->r, x[0], x[1], p->lanes);
}

static void put_member(FusedPoints *p, int i)
{
	const Block *b = block_of(p->r, i);
	bool registers = in_registers(p, i), output = p->r->blocks[i].output;
	p->r->blocks[i].scheduled = true;
	rule_root(p->r, i);
	if (registers && !output)
		rule_put(p->r, "set_scope(%s, reg)\n", b->name);
	rule_put(p->r, "%s(%s, %s)\n", output ? "reverse_compute_at" : "compute_at",
	    b->name, p->loop);
	if (!registers && !output)
		put_layout(p, i);
	put_loops(p, i, registers);
	if (output || !registers)
		rule_put(p->r, "tail(%s, mask)\n", b->name);
}

void rule_fuse_pointwise(Rules *r, int i)
{
	const Block *b = block_of(r, i);
	if (r->point_host[i] != i || !rule_is_open(r, i))
		return;
	assert(b->reduce == REDUCE_NONE);
	FusedPoints p = {r, i, common_lanes(r, i),
	    rule_name(r, b, b->axes[lane_axis(r, i, i)].name, "0")};
	r->blocks[i].scheduled = true;
	rule_root(r, i);
	put_host(&p);
	for (int k = 0; k < i; k++)
		if (r->point_host[k] == i && r->blocks[k].output)
			put_member(&p, k);
	for (int k = i - 1; k >= 0; k--)
		if (r->point_host[k] == i && !r->blocks[k].output)
			put_member(&p, k);
}
