/* Rows that fill no vectors, and of which each element is made of those at its
 * place, or a few of such that share what they are made of: all of them are one row,
 * in sketches of their own beside those in which what such a block makes or reads has
 * loops in common with it.
 *
 *     for i for c s[i] += x[i, c]        for i for c s[i] += x[i, c]
 *     for i for c y[i, c] = f(x[i, c])   for c0 vector cv  y[c//18, c%18] = …
 *
 * Here the block alone has other axes; its indices stay, and reach over rows' ends,
 * but for those of places that are shared: x[i, 3] is x[c//4, 3]. */
#include "schedule/rules/rules.h"

#include <assert.h>

enum {
	NONE = -1,
	PLACE_MOST = 8 /* elements that share what they are made of */
};

typedef struct {
	const Program *program;
	const Block *block;
	int outer;		   /* axis; the next one goes over places */
	int outers, inners, pairs; /* how often each stands there, and both */
	int rows;		   /* the outer one as an index */
} CollapseVisit;

static bool visit(Expr *e, void *context)
{
	CollapseVisit *v = context;
	v->outers += e->op == OP_AXIS && e->id == v->outer;
	v->inners += e->op == OP_AXIS && e->id == v->outer + 1;
	for (int d = 0; e->op == OP_READ && d < e->narg; d++)
		v->rows += rule_axis_of(e->arg[d]) == v->outer;
	for (int d = 1; e->op == OP_READ && d < e->narg; d++)
		v->pairs += rule_axis_of(e->arg[d - 1]) == v->outer &&
		    rule_axis_of(e->arg[d]) == v->outer + 1 &&
		    v->program->buffers[e->id].shape[d] ==
			v->block->axes[v->outer + 1].extent;
	return true;
}

/* Do both axes stand side by side, everywhere, for dimensions as long as they? */
static bool go_together(const Program *p, const Block *b, int outer)
{
	CollapseVisit v = {.program = p, .block = b, .outer = outer};
	expr_walk(b->body, visit, &v);
	return v.pairs && v.outers == v.pairs && v.inners == v.pairs;
}

/* Are the last elements of each place a few that share what is read there, or are
 * made differently? */
static bool shares_places(const Program *p, const Block *b)
{
	int last = b->nspatial - 1;
	CollapseVisit v = {.program = p, .block = b, .outer = last - 1};
	if (last < 1 || b->axes[last].extent > PLACE_MOST)
		return false;
	expr_walk(b->body, visit, &v);
	return v.rows && v.outers == v.rows && v.inners + v.rows > 2 * v.pairs;
}

/* The first of the last axes that become one; the last: none does. */
static int first_axis(const Program *p, const Block *b, int lanes)
{
	int last = b->nspatial - 1, first = last;
	if (last < 1 || b->reduce != REDUCE_NONE)
		return last;
	int64_t row = b->axes[last].extent;
	while (row > 1 && row < 2 * lanes && row % lanes && first > 0 &&
	    (go_together(p, b, first - 1) ||
		(first == last && shares_places(p, b))))
		first--;
	while (first < last && b->axes[first].extent == 1)
		first++;
	return first;
}

/* Does it compute a function of each element? */
static bool has_functions(const Expr *body, int last)
{
	bool found = op_kind(body->op) == OPKIND_FUNCTION &&
	    expr_has_axis(body, last);
	for (int i = 0; i < body->narg && !found; i++)
		found = has_functions(body->arg[i], last);
	return found;
}

/* Functions are what lanes without elements cost; what is inlined into such blocks
 * alone, of the same rows, goes with them. */
static bool is_dear(const Rules *r, int i, const int *collapsed, int first)
{
	const Program *p = r->program;
	bool goes = r->inlines[i];
	for (int k = i + 1; k < p->nblocks && goes; k++)
		goes = collapsed[k] == first ||
		    !expr_find_read(p->blocks[k].body, p->blocks[i].buffer);
	return goes || has_functions(r->bodies[i], p->blocks[i].nspatial - 1);
}

const Program *rule_collapse_program(Rules *r, int **collapsed)
{
	Program *p = NEW(r->arena, Program);
	int lanes = rule_lanes(r->machine, DT_F32);
	bool any = false;
	*p = *r->program;
	p->blocks = arena_memdup(
	    r->arena, p->blocks, sizeof *p->blocks * (size_t)p->nblocks);
	*collapsed = NEW_N(r->arena, int, p->nblocks);
	for (int i = p->nblocks - 1; i >= 0; i--) {
		Block *b = &p->blocks[i];
		int last = b->nspatial - 1, first = first_axis(p, b, lanes);
		bool shares = shares_places(p, b);
		bool takes = first < last &&
		    (shares || is_dear(r, i, *collapsed, first));
		(*collapsed)[i] = takes ? first : NONE;
		if (!takes)
			continue;
		b->axes = arena_memdup(
		    r->arena, b->axes, sizeof *b->axes * (size_t)b->naxes);
		if (shares)
			b->body = edit_collapsed(r->arena, b->body, last - 1,
			    b->axes[last].extent, b->naxes);
		for (int a = first; a < last; a++) {
			b->axes[a + 1].extent *= b->axes[a].extent;
			b->axes[a].extent = 1;
		}
		any = true;
	}
	return any ? p : NULL;
}

/* Before the block has any loops; what is inlined into it is by now. */
void rule_collapse(Rules *r, int i)
{
	const Block *b = &r->program->blocks[i];
	if (!rule_is_collapsed(r, i) || !rule_is_open(r, i))
		return;
	assert(r->collapsed[i] < b->nspatial - 1);
	for (int a = r->collapsed[i]; a < b->nspatial - 1; a++)
		rule_put(r, "collapse(%s, %d)\n", b->name, a);
}
