/* Program -> groups.
 *
 *     p = pad(x)             prologue: read by one group only, and no epilogue
 *                            of a reduction between products
 *     c = sum(p * w)         product
 *     r = max(c + b, 0)      epilogue: at c's places
 *     s = max over a row     \
 *     e = exp(r - s)         | between products: one group, since nothing of
 *     z = sum of a row       | it waits for a product in between
 *     y = e / z              /
 *     o = sum(y * v)         product
 *
 * What lies between products is cut again where the model says that its parts are
 * faster, and a prologue that reads a reduction's results (x / norm) is made with
 * these where it says so (groups_apart.c).
 *
 * A product is a reduction with two operands that are used again along a spatial
 * axis each, another one: only that is worth a tile of registers, and what it reads is
 * best written whole before, but where a block of its rows needs only those rows
 * of a product before (rows.c): then both are one group.  Groups are acyclic by construction: what an
 * epilogue reads beside its group stands before the product, or the group is read
 * by nothing before the epilogue; blocks between products are joined where as
 * many products lie above them.  A group has at most BLOCKS_MOST blocks. */
#include "schedule/groups.h"

#include <assert.h>
#include <string.h>

#include "lib/sort.h"
#include "schedule/internal.h"

enum { NONE = -1, WAY_MOST = 16, BLOCKS_MOST = 256 };

typedef struct {
	Arena *arena;
	const Program *program;
	IntVec *readers; /* by block: the blocks that read it */
	IntVec *sources; /* by block: the blocks that it reads */
	int *at;         /* blocks in canonical order, whatever the file's is */
	int *rank;       /* by block: where it stands in that */
	int *group;      /* by block; NONE: between products */
	const bool
	    *apart; /* by block: it is no prologue; NULL: any may be one */
	bool *near; /* by block: a prologue that reads a reduction's results */
	int *product;	 /* by group: its block; NONE: it has none */
	IntVec *members; /* by group: the product, and what ends it */
	int ngroups;
} Cut;

/* --- who reads whom -------------------------------------------------------------- */

typedef struct {
	Cut *cut;
	int block;
} CutVisit;

static bool add_source(Expr *e, void *context)
{
	const CutVisit *v = context;
	Cut *c = v->cut;
	if (e->op != OP_READ)
		return true;
	int from = c->program->buffers[e->id].block;
	IntVec *sources = &c->sources[v->block];
	for (int i = 0; from >= 0 && i < sources->n; i++)
		if (sources->at[i] == from)
			return true;
	if (from >= 0) {
		vec_push(c->arena, sources, from);
		vec_push(c->arena, &c->readers[from], v->block);
	}
	return true;
}

/* By the numbers of their definitions in the canonical text. */
static void rank_blocks(Cut *c)
{
	const Program *p = c->program;
	int *start = NEW_N(c->arena, int, p->ndefinitions + 2);
	for (int i = 0; i < p->nblocks; i++)
		start[program_rank(p, p->blocks[i].definition) + 1]++;
	for (int d = 0; d < p->ndefinitions; d++)
		start[d + 1] += start[d];
	for (int i = 0; i < p->nblocks; i++) {
		c->rank[i] =
		    start[program_rank(p, p->blocks[i].definition)]++;
		assert(c->rank[i] < p->nblocks);
		c->at[c->rank[i]] = i;
	}
}

/* --- epilogues and prologues ------------------------------------------------------- */

typedef struct {
	const Cut *cut;
	const Block *block;
	int group;
	bool fits;
} Elementwise;

/* Each read of the group is one element at the block's place: each axis is an
 * index once, in any order. */
static bool check_read(Expr *e, void *context)
{
	Elementwise *x = context;
	const Program *p = x->cut->program;
	if (e->op != OP_READ)
		return true;
	int from = p->buffers[e->id].block;
	if (from < 0 || x->cut->group[from] != x->group)
		return true;
	x->fits &= e->narg == x->block->nspatial;
	for (int i = 0; i < e->narg && x->fits; i++) {
		const Expr *axis = e->arg[i];
		x->fits = axis->op == OP_AXIS &&
		    axis->id < x->block->nspatial &&
		    p->buffers[e->id].shape[i] ==
			x->block->axes[axis->id].extent;
		for (int k = 0; k < i && x->fits; k++)
			x->fits = e->arg[k]->id != axis->id;
	}
	return true;
}

/* Is nothing of the group read outside of it but by `reader`?  Then nothing that
 * stands before that depends on the group. */
static bool only_read_by(const Cut *c, int group, int reader)
{
	const IntVec *members = &c->members[group];
	for (int i = 0; i < members->n; i++) {
		const IntVec *readers = &c->readers[members->at[i]];
		for (int k = 0; k < readers->n; k++)
			if (readers->at[k] != reader &&
			    c->group[readers->at[k]] != group)
				return false;
	}
	return true;
}

static bool stands_before(const Cut *c, int block, int group)
{
	assert(c->product[group] != NONE);
	return c->rank[block] < c->rank[c->product[group]];
}

/* The latest product's group that the block can end; NONE. */
static int epilogue_of(const Cut *c, int block)
{
	const Block *b = &c->program->blocks[block];
	const IntVec *sources = &c->sources[block];
	int group = NONE;
	bool later = false;
	if (block_reduces(b))
		return NONE;
	for (int i = 0; i < sources->n; i++)
		if (c->group[sources->at[i]] > group)
			group = c->group[sources->at[i]];
	if (group == NONE)
		return NONE;
	for (int i = 0; i < sources->n; i++)
		later |= c->group[sources->at[i]] != group &&
		    !stands_before(c, sources->at[i], group);
	if (later && !only_read_by(c, group, block))
		return NONE;
	Elementwise x = {c, b, group, true};
	expr_walk(b->body, check_read, &x);
	return x.fits ? group : NONE;
}

static bool reads_reduction(const Cut *c, int block)
{
	const IntVec *sources = &c->sources[block];
	bool any = false;
	for (int i = 0; i < sources->n; i++) {
		int s = sources->at[i];
		any |= c->group[s] == NONE &&
		    block_reduces(&c->program->blocks[s]);
	}
	return any;
}

/* Is it made of the results of a reduction between products, element by element?
 * Then it is best made where they are, once, and not for each of its readers. */
static bool ends_reduction(const Cut *c, int block)
{
	const Program *p = c->program;
	Elementwise x = {c, &p->blocks[block], NONE, true};
	bool any = reads_reduction(c, block);
	if (any)
		expr_walk(p->blocks[block].body, check_read, &x);
	return any && x.fits;
}

/* Does it read a reduction between products, or what ends one? */
static bool reads_results(const Cut *c, int block)
{
	const IntVec *sources = &c->sources[block];
	bool any = reads_reduction(c, block);
	for (int i = 0; i < sources->n && !any; i++)
		any = c->group[sources->at[i]] == NONE &&
		    ends_reduction(c, sources->at[i]);
	return any;
}

/* The group that all readers are in; NONE. */
static int prologue_of(const Cut *c, int block)
{
	const Block *b = &c->program->blocks[block];
	const IntVec *readers = &c->readers[block];
	if (block_reduces(b) || !readers->n ||
	    c->program->buffers[b->buffer].role == BUFFER_OUTPUT ||
	    ends_reduction(c, block) || (c->apart && c->apart[block]))
		return NONE;
	int group = c->group[readers->at[0]];
	for (int i = 1; i < readers->n; i++)
		if (c->group[readers->at[i]] != group)
			return NONE;
	return group;
}

static void group_products(Cut *c)
{
	const Program *p = c->program;
	for (int i = 0; i < p->nblocks; i++)
		c->group[i] = NONE;
	for (int k = 0; k < p->nblocks; k++) {
		int i = c->at[k];
		bool product = rows_is_product(&p->blocks[i]);
		if (product)
			c->product[c->ngroups] = i;
		c->group[i] = product ? c->ngroups++ : epilogue_of(c, i);
		if (c->group[i] != NONE)
			vec_push(c->arena, &c->members[c->group[i]], i);
	}
	for (int k = p->nblocks - 1; k >= 0; k--) {
		int i = c->at[k];
		if (c->group[i] != NONE)
			continue;
		c->group[i] = prologue_of(c, i);
		c->near[i] = c->group[i] != NONE && reads_results(c, i);
	}
}

/* --- products of the same rows -------------------------------------------------------- */

static bool is_in(const IntVec *v, int number)
{
	int i = v->n;
	while (--i >= 0 && v->at[i] != number)
		;
	return i >= 0;
}

/* What lies before a product on short ways without another: groups of products that
 * may be of its rows, upwards. */
static IntVec find_ahead(const Cut *c, int block)
{
	IntVec seen = {0}, ahead = {0};
	vec_push(c->arena, &seen, block);
	for (int i = 0; i < seen.n && seen.n < WAY_MOST; i++) {
		const IntVec *sources = &c->sources[seen.at[i]];
		for (int k = 0; k < sources->n; k++) {
			int s = sources->at[k], group = c->group[s];
			if (group != NONE && !is_in(&ahead, group))
				vec_push(c->arena, &ahead, group);
			if (!is_in(&seen, s) &&
			    !rows_is_product(&c->program->blocks[s]))
				vec_push(c->arena, &seen, s);
		}
	}
	sort_ints(ahead.at, ahead.n);
	return ahead;
}

/* What lies between two products of the same rows is of the second's group, with
 * the first. */
static void join_group(Cut *c, int from, int to)
{
	int first = c->product[from], second = c->product[to];
	assert(from != to && first != NONE && second != NONE);
	const Rows *rows = rows_between(c->arena, c->program, first, second);
	for (int i = 0; rows && i < c->program->nblocks; i++)
		if (rows->between[i] || c->group[i] == from)
			c->group[i] = to;
}

static void join_rows(Cut *c)
{
	int n = c->program->nblocks, left = 0;
	int *number = NEW_N(c->arena, int, n);
	for (int to = c->ngroups - 1; to > 0; to--) {
		IntVec ahead = find_ahead(c, c->product[to]);
		for (int i = 0; i < ahead.n; i++)
			if (ahead.at[i] != to && c->group[c->product[to]] == to)
				join_group(c, ahead.at[i], to);
	}
	for (int g = 0; g < c->ngroups; g++) {
		bool empty = c->group[c->product[g]] != g;
		number[g] = empty ? NONE : left;
		if (!empty)
			c->product[left++] = c->product[g];
	}
	c->ngroups = left;
	for (int i = 0; i < n; i++)
		if (c->group[i] != NONE)
			c->group[i] = number[c->group[i]];
}

/* --- between products ---------------------------------------------------------------- */

int groups_root(int *up, int i)
{
	while (up[i] != i)
		i = up[i] = up[up[i]];
	return i;
}

/* Products on the longest way to a block or group that reads `s`. */
static int above_source(const Cut *c, const int *above, const int *of_group,
    int s)
{
	return c->group[s] == NONE ? above[s] : of_group[c->group[s]] + 1;
}

/* Of a group, as far as is known when block `at` of it is reached: what it reads
 * from outside stands before its product, or before what reads it. */
static int above_group(const Cut *c, const int *above, const int *of_group,
    const IntVec *blocks, int at)
{
	int group = c->group[at], most = of_group[group];
	for (int i = 0; i < blocks->n; i++) {
		const IntVec *sources = &c->sources[blocks->at[i]];
		for (int k = 0; k < sources->n; k++) {
			int s = sources->at[k];
			if (c->group[s] == group || c->rank[s] >= c->rank[at])
				continue;
			int n = above_source(c, above, of_group, s);
			most = n > most ? n : most;
		}
	}
	return most;
}

/* Joins what reads each other with as many products above: up[] leads to one
 * block of each set. */
static void join_others(const Cut *c, int *up)
{
	int n = c->program->nblocks;
	int *above = NEW_N(c->arena, int, n);
	int *of_group = NEW_N(c->arena, int, c->ngroups);
	IntVec *blocks = NEW_N(c->arena, IntVec, c->ngroups);
	for (int i = 0; i < n; i++)
		if (c->group[i] != NONE)
			vec_push(c->arena, &blocks[c->group[i]], i);
	for (int r = 0; r < n; r++) {
		int i = c->at[r], g = c->group[i];
		const IntVec *sources = &c->sources[i];
		if (g != NONE && c->rank[i] >= c->rank[c->product[g]])
			of_group[g] =
			    above_group(c, above, of_group, &blocks[g], i);
		for (int k = 0; g == NONE && k < sources->n; k++) {
			int m = above_source(
			    c, above, of_group, sources->at[k]);
			above[i] = m > above[i] ? m : above[i];
		}
		for (int k = 0; g == NONE && k < sources->n; k++) {
			int s = sources->at[k];
			if (c->group[s] == NONE && above[s] == above[i])
				up[groups_root(up, s)] = groups_root(up, i);
		}
	}
}

static void group_others(Cut *c)
{
	int n = c->program->nblocks;
	int *up = NEW_N(c->arena, int, n);
	int *number = NEW_N(c->arena, int, n);
	for (int i = 0; i < n; i++) {
		up[i] = i;
		number[i] = NONE;
	}
	join_others(c, up);
	for (int r = 0; r < n; r++) {
		int i = c->at[r], root = groups_root(up, i);
		if (c->group[i] != NONE)
			continue;
		if (number[root] == NONE) {
			c->product[c->ngroups] = NONE;
			number[root] = c->ngroups++;
		}
		c->group[i] = number[root];
	}
}

/* There is no product. */
static void join_all(Cut *c)
{
	c->product[0] = NONE;
	c->ngroups = 1;
	for (int i = 0; i < c->program->nblocks; i++)
		c->group[i] = 0;
}

/* --- large groups --------------------------------------------------------------------- */

/* Beyond so many blocks a search has no decisions and no samples left for most of
 * them: pieces in canonical order, each of which reads of those before it. */
static void cut_large(Cut *c)
{
	int n = c->program->nblocks, ngroups = c->ngroups;
	int *piece = NEW_N(c->arena, int, ngroups);
	int *size = NEW_N(c->arena, int, ngroups);
	for (int g = 0; g < ngroups; g++)
		piece[g] = g;
	for (int r = 0; r < n; r++) {
		int i = c->at[r], g = c->group[i];
		if (size[g]++ == BLOCKS_MOST) {
			size[g] = 1;
			piece[g] = c->ngroups;
			assert(c->ngroups < n);
			c->product[c->ngroups++] = NONE;
		}
		c->group[i] = piece[g];
	}
}

/* --- the whole ------------------------------------------------------------------------ */

/* Producers first: by waiting for all that a group reads. */
static int *order_of(const Cut *c, Arena *arena)
{
	const Program *p = c->program;
	int n = c->ngroups, done = 0;
	int *order = NEW_N(arena, int, n), *waits = NEW_N(arena, int, n);
	IntVec *next = NEW_N(arena, IntVec, n);
	for (int i = 0; i < p->nblocks; i++)
		for (int k = 0; k < c->sources[i].n; k++) {
			int from = c->group[c->sources[i].at[k]];
			if (from != c->group[i]) {
				vec_push(arena, &next[from], c->group[i]);
				waits[c->group[i]]++;
			}
		}
	for (int g = 0; g < n; g++)
		if (!waits[g])
			order[done++] = g;
	for (int i = 0; i < done; i++)
		for (int k = 0; k < next[order[i]].n; k++)
			if (!--waits[next[order[i]].at[k]])
				order[done++] = next[order[i]].at[k];
	assert(done == n && "groups wait for each other");
	return order;
}

static const char *name_of(const Cut *c, int group)
{
	const Program *p = c->program;
	int product = c->product[group];
	if (product != NONE && c->group[product] == group)
		return p->blocks[product].name;
	for (int i = p->nblocks - 1; i >= 0; i--)
		if (c->group[i] == group)
			return p->blocks[i].name;
	return "";
}

static Groups *whole_as_one(Groups *g)
{
	g->n = 1;
	g->groups = NEW(g->arena, Group);
	g->groups[0] = (Group){g->whole, "", 0};
	g->group_of = NEW_N(g->arena, int, g->whole->nblocks);
	return g;
}

static void find_equal(Groups *g)
{
	Lookup hashes = {.arena = g->arena};
	for (int i = 0; i < g->n; i++) {
		const char *op = g->groups[i].program->op;
		int e = lookup_first(&hashes, op, strlen(op));
		g->groups[i].same_as =
		    e < 0 ? i : hashes.entries.at[e].number;
		if (e < 0)
			lookup_add(&hashes, op, i);
	}
}

/* Which blocks are in which group.  Where there is no product all is one, though
 * nothing leads from one part to another. */
static Cut *cut_program(Arena *arena, const Program *program, const bool *apart)
{
	size_t n = (size_t)program->nblocks;
	Cut *c = NEW(arena, Cut);
	*c = (Cut){.arena = arena,
	    .program = program,
	    .readers = NEW_N(arena, IntVec, n),
	    .sources = NEW_N(arena, IntVec, n),
	    .at = NEW_N(arena, int, n),
	    .rank = NEW_N(arena, int, n),
	    .group = NEW_N(arena, int, n),
	    .apart = apart,
	    .near = NEW_N(arena, bool, n),
	    .members = NEW_N(arena, IntVec, n),
	    .product = NEW_N(arena, int, n)};
	rank_blocks(c);
	for (int i = 0; i < program->nblocks; i++) {
		CutVisit v = {c, i};
		expr_walk(program->blocks[i].body, add_source, &v);
	}
	if (program->schedule_text) { /* templates are for the whole */
		join_all(c);
		return c;
	}
	group_products(c);
	join_rows(c);
	if (c->ngroups)
		group_others(c);
	else
		join_all(c);
	cut_large(c);
	return c;
}

/* The groups of a cut as programs, producers first. */
static Groups *programs_of(Arena *arena, const Cut *c, const Program *whole)
{
	Groups *g = NEW(arena, Groups);
	*g = (Groups){.arena = arena, .whole = whole};
	if (c->ngroups == 1)
		return whole_as_one(g);
	int *order = order_of(c, c->arena);
	g->n = c->ngroups;
	g->group_of = NEW_N(arena, int, whole->nblocks);
	int *position = NEW_N(c->arena, int, g->n);
	const char **names = NEW_N(c->arena, const char *, g->n);
	for (int i = 0; i < g->n; i++) {
		position[order[i]] = i;
		names[i] = name_of(c, order[i]);
	}
	for (int i = 0; i < whole->nblocks; i++) {
		assert(c->group[i] >= 0 && c->group[i] < g->n);
		g->group_of[i] = position[c->group[i]];
	}
	Program **parts =
	    program_parts(arena, whole, g->group_of, names, g->n);
	g->groups = NEW_N(arena, Group, g->n);
	for (int i = 0; i < g->n; i++)
		g->groups[i] = (Group){parts[i], names[i], i};
	find_equal(g);
	return g;
}

Groups *groups_of_products(Arena *arena, const Program *program)
{
	Arena *scratch = arena_new();
	Groups *g =
	    programs_of(arena, cut_program(scratch, program, NULL), program);
	arena_free(scratch);
	return g;
}

/* What groups_apart makes of the groups without a product, which are the last. */
static void cut_others(Cut *c, const Groups *joined, const Machine *machine)
{
	int n = c->program->nblocks, first = c->ngroups;
	int *piece = NEW_N(c->arena, int, n);
	bool *kept = NEW_N(c->arena, bool, joined->n);
	for (int i = 0; i < n; i++) {
		kept[joined->group_of[i]] = c->product[c->group[i]] != NONE;
		if (!kept[joined->group_of[i]] && c->group[i] < first)
			first = c->group[i];
	}
	groups_apart(joined, kept, machine, piece);
	for (int i = 0; i < n; i++) {
		if (kept[joined->group_of[i]])
			continue;
		c->group[i] = first + piece[i];
		assert(c->group[i] < n && "there are no empty groups");
		c->product[c->group[i]] = NONE;
		if (c->group[i] >= c->ngroups)
			c->ngroups = c->group[i] + 1;
	}
}

/* Where what begins a product's group is made of results of a reduction, it may be
 * better with these: which is asked of the model. */
static Cut *cut_nearest(
    Arena *arena, const Program *program, const Machine *machine)
{
	Cut *c = cut_program(arena, program, NULL);
	bool any = false;
	for (int i = 0; i < program->nblocks; i++)
		any |= c->near[i];
	if (!any)
		return c;
	const Cut *other = cut_program(arena, program, c->near);
	bool *better = NEW_N(arena, bool, program->nblocks);
	groups_better(programs_of(arena, c, program),
	    programs_of(arena, other, program), machine, better);
	for (int i = 0; i < program->nblocks; i++)
		better[i] &= c->near[i];
	return cut_program(arena, program, better);
}

Groups *groups_of(Arena *arena, const Program *program, const Machine *machine)
{
	Arena *scratch = arena_new();
	Cut *c = cut_nearest(scratch, program, machine);
	if (!program->schedule_text)
		cut_others(c, programs_of(scratch, c, program), machine);
	Groups *g = programs_of(arena, c, program);
	arena_free(scratch);
	return g;
}

/* group(its blocks), then the trace; NULL: nothing is done to them. */
static Trace *headed(Arena *arena, const Program *group, const Trace *trace)
{
	Trace *t = NEW(arena, Trace);
	Step head = {.primitive = PRIMITIVE_group,
	    .nargs = group->nblocks,
	    .args = NEW_N(arena, Arg, group->nblocks)};
	for (int i = 0; i < group->nblocks; i++)
		head.args[i].value = value_word(group->blocks[i].name);
	vec_push(arena, &t->steps, head);
	for (int i = 0; trace && i < trace->steps.n; i++)
		vec_push(arena, &t->steps, trace->steps.at[i]);
	return t;
}

Trace *groups_join(
    Arena *arena, const Groups *g, Trace *const *traces, Error *error)
{
	if (g->n == 1)
		return traces[0] ? traces[0] : NEW(arena, Trace);
	Arena *scratch = arena_new();
	Trace *joined = NEW(scratch, Trace);
	TraceNames *names = trace_names(scratch, g->whole);
	for (int i = 0; i < g->n; i++) {
		Trace *t = trace_canonical_after(
		    names, headed(scratch, g->groups[i].program, traces[i]));
		for (int k = 0; k < t->steps.n; k++)
			vec_push(scratch, &joined->steps, t->steps.at[k]);
	}
	/* of the canonical text nothing is left in it */
	Trace *whole = trace_localized(arena, g->whole, joined, error);
	arena_free(scratch);
	return whole;
}

Trace *groups_trace(Arena *arena, const Groups *g, int group,
    const Trace *trace, Error *error)
{
	assert(group >= 0 && group < g->n);
	int first = g->groups[group].same_as;
	assert(g->groups[first].same_as == first);
	if (first == group)
		return arena_memdup(arena, trace, sizeof *trace);
	return trace_between(arena, g->groups[first].program,
	    g->groups[group].program, trace, error);
}
