/* Blocks that are colocated: one that reads nothing of another, its host, is made
 * in the host's loops, element by element of what these run through.
 *
 *     for c.k for c.i for c.j  c[k, i, j] = …  its elements: the last axes, as many
 *     for d.i for d.j  d[i, j] = …             as both have; others are whole
 *
 *     for s.n for s.c for s.x  s[c] += p[n, c, x]    or its steps: axes by what
 *     for d.n for d.c for d.x  d[n, c, x] = p[n, c, x]*2   both read */
#include "ir/nest/nest.h"

#include <assert.h>

typedef struct {
	const Stage *stage, *host;
	int *axis_of;
	const Expr *read; /* of the stage */
} AxisMatch;

static int plain_axis(const Expr *e)
{
	return e->op == OP_AXIS ? e->id : -1;
}

static bool is_taken(const AxisMatch *m, int axis)
{
	for (int a = 0; a < m->stage->naxes; a++)
		if (m->axis_of[a] == axis)
			return true;
	return false;
}

static void match_axes(const AxisMatch *m, int axis, int of_host)
{
	if (axis >= 0 && of_host >= 0 && m->axis_of[axis] < 0 &&
	    !is_taken(m, of_host) &&
	    m->stage->axes[axis].extent == m->host->axes[of_host].extent)
		m->axis_of[axis] = of_host;
}

static bool match_read(Expr *e, void *context)
{
	const AxisMatch *m = context;
	if (e->op == OP_READ && e->id == m->read->id)
		for (int d = 0; d < e->narg; d++)
			match_axes(m, plain_axis(m->read->arg[d]),
			    plain_axis(e->arg[d]));
	return true;
}

static bool match_reads(Expr *e, void *context)
{
	AxisMatch *m = context;
	m->read = e;
	if (e->op == OP_READ)
		expr_walk(m->host->body, match_read, m);
	return true;
}

/* Axes by the dimensions of what both read, those that are left in order. */
static bool steps_match(const AxisMatch *by)
{
	AxisMatch m = *by;
	bool all = true;
	expr_walk(m.stage->body, match_reads, &m);
	for (int a = 0; a < m.stage->naxes; a++) {
		for (int h = 0; h < m.host->naxes; h++)
			match_axes(&m, a, h);
		all = all && m.axis_of[a] >= 0;
	}
	return all;
}

bool nest_colocated(const Nest *nest, int stage, int host, int *axis_of)
{
	const Stage *s = &nest->stages.at[stage];
	const Stage *h = &nest->stages.at[host];
	AxisMatch m = {s, h, axis_of, NULL};
	for (int a = 0; a < s->naxes; a++)
		axis_of[a] = -1;
	if (nest_colocated_steps(nest, stage, host))
		return steps_match(&m);
	if (h->nwrite != h->nspatial)
		return false;
	int a = s->nspatial, b = h->nspatial;
	while (a > 0 && b > 0 && s->axes[a - 1].extent == h->axes[b - 1].extent)
		axis_of[--a] = --b;
	return a < s->nspatial;
}

bool nest_colocated_steps(const Nest *nest, int stage, int host)
{
	const Stage *s = &nest->stages.at[stage];
	const Stage *h = &nest->stages.at[host];
	assert(stage != host);
	return h->reduce != REDUCE_NONE && s->reduce == REDUCE_NONE &&
	    s->carries < 0 && s->naxes == h->naxes &&
	    s->naxes > h->nspatial;
}
