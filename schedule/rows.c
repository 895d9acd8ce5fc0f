/* Products of the same rows: one makes what another reduces, and for a row of
 * the second only that row of the first is needed.
 *
 *     s[h, i, j] = sum over d of q[h, i, d]*k[h, j, d]      from
 *     m[h, i]    = max over j of s[h, i, j]                 \
 *     e[h, i, j] = exp(s[h, i, j] - m[h, i])                 | between
 *     z[h, i]    = sum over j of e[h, i, j]                 /
 *     o[h, i, d] = sum over j of e[h, i, j]*v[h, j, d]      to: rows h, i
 *
 * Then a block of rows of all that lies between stays in a cache.  Worth it
 * where something reduces a whole row in between, so that it is read more than
 * once; not for one product after another, whose second operand would be read
 * anew for each block. */
#include "schedule/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
	LEAST_POINTS = 4,
	LEAST_EXTENT = 2,
	LEAST_ROWS = 8,
	LONGEST_ROW = 16384, /* elements of `from` */
	MOST_BETWEEN = 16    /* blocks */
};

/* --- products ---------------------------------------------------------------------- */

typedef struct {
	const Block *block;
	const Expr *first; /* an operand that was found */
	bool *still;       /* axes along which some operand stands still */
	bool two;
} Operands;

/* Moves with the reduction, and stands still along a spatial axis: marks it. */
static bool is_used_again(const Block *b, const Expr *read, bool *still)
{
	bool again = false, moves = false;
	bool *uses = must_alloc((size_t)b->naxes);
	memset(uses, 0, (size_t)b->naxes);
	for (int i = 0; i < read->narg; i++)
		expr_mark_axes(read->arg[i], uses);
	for (int a = b->nspatial; a < b->naxes; a++)
		moves |= uses[a];
	for (int a = 0; a < b->nspatial && moves; a++)
		if (!uses[a] && b->axes[a].extent >= LEAST_EXTENT)
			still[a] = again = true;
	free(uses);
	return again;
}

static bool find_operand(Expr *e, void *context)
{
	Operands *o = context;
	if (e->op != OP_READ)
		return true;
	if (!is_used_again(o->block, e, o->still))
		return false;
	if (!o->first)
		o->first = e;
	else
		o->two |= !expr_equal(o->first, e);
	return false;
}

bool rows_is_product(const Block *b)
{
	double points = 1;
	int still = 0;
	Operands o = {.block = b, .still = must_alloc((size_t)b->naxes + 1)};
	memset(o.still, 0, (size_t)b->naxes);
	for (int a = b->nspatial; a < b->naxes; a++)
		points *= (double)b->axes[a].extent;
	if (b->reduce != REDUCE_NONE && points >= LEAST_POINTS)
		expr_walk(b->body, find_operand, &o);
	for (int a = 0; a < b->nspatial; a++)
		still += o.still[a];
	free(o.still);
	return o.two && still > 1;
}

/* --- rows -------------------------------------------------------------------------- */

/* What a block is to `to`. */
typedef enum { OUTSIDE, BETWEEN, ENDING } Role;

typedef struct {
	Arena *arena;
	const Program *program;
	int from, to;
	Role *role;  /* by block */
	int **moves; /* by block: the axis of `to` that each of its axes goes
			with; -1; NULL: not known yet */
	int reader;  /* whose reads are looked at */
	bool again, fits, found;
} RowsWalk;

static bool is_output(const RowsWalk *w, int block)
{
	const Program *p = w->program;
	return p->buffers[p->blocks[block].buffer].role == BUFFER_OUTPUT;
}

/* One element of what is read for each of the reader, at its own place. */
static bool find_ending(Expr *e, void *context)
{
	RowsWalk *w = context;
	const Program *p = w->program;
	const Block *reader = &p->blocks[w->reader];
	int from = e->op == OP_READ ? p->buffers[e->id].block : -1;
	if (from < 0 || w->role[from] != ENDING)
		return true;
	w->found = true;
	w->fits &= e->narg == reader->nspatial;
	int *moves = NEW_N(w->arena, int, reader->naxes);
	for (int a = 0; a < reader->naxes; a++)
		moves[a] = -1;
	for (int d = 0; d < e->narg && w->fits; d++) {
		const Expr *x = e->arg[d];
		w->fits = x->op == OP_AXIS && moves[x->id] < 0 &&
		    p->buffers[e->id].shape[d] == reader->axes[x->id].extent;
		if (w->fits)
			moves[x->id] = w->moves[from][d];
	}
	w->moves[w->reader] = moves;
	return true;
}

/* The product, and what ends it element by element. */
static void find_endings(RowsWalk *w)
{
	const Program *p = w->program;
	const Block *to = &p->blocks[w->to];
	w->role[w->to] = ENDING;
	w->moves[w->to] = NEW_N(w->arena, int, to->naxes);
	for (int a = 0; a < to->naxes; a++)
		w->moves[w->to][a] = a < to->nspatial ? a : -1;
	for (int i = w->to + 1; i < p->nblocks; i++) {
		w->reader = i;
		w->fits = p->blocks[i].reduce == REDUCE_NONE;
		w->found = false;
		if (w->fits)
			expr_walk(p->blocks[i].body, find_ending, w);
		if (w->fits && w->found)
			w->role[i] = ENDING;
		else
			w->moves[i] = NULL;
	}
}

static bool find_between(Expr *e, void *context)
{
	RowsWalk *w = context;
	int from = e->op == OP_READ ? w->program->buffers[e->id].block : -1;
	w->found |= from >= 0 && w->role[from] == BETWEEN;
	return true;
}

static bool depends(RowsWalk *w, int block)
{
	w->found = false;
	expr_walk(w->program->blocks[block].body, find_between, w);
	return w->found;
}

/* All that depends on `from`, up to the product; false: it does not lead there. */
static bool find_all_between(RowsWalk *w)
{
	const Program *p = w->program;
	int n = 0, reductions = 0;
	w->role[w->from] = BETWEEN;
	for (int i = w->from + 1; i < w->to; i++) {
		if (!depends(w, i))
			continue;
		if (is_output(w, i) || rows_is_product(&p->blocks[i]) ||
		    ++n > MOST_BETWEEN)
			return false;
		w->role[i] = BETWEEN;
		reductions += block_reduces(&p->blocks[i]);
	}
	return reductions > 0 && !is_output(w, w->from) && depends(w, w->to);
}

/* Does anything else depend on it? */
static bool used_elsewhere(RowsWalk *w)
{
	for (int i = w->to + 1; i < w->program->nblocks; i++)
		if (w->role[i] != ENDING && depends(w, i))
			return true;
	return false;
}

/* The axes of what is read go with those that its readers' go with. */
static bool add_moves(Expr *e, void *context)
{
	RowsWalk *w = context;
	const Program *p = w->program;
	int from = e->op == OP_READ ? p->buffers[e->id].block : -1;
	if (from < 0 || w->role[from] != BETWEEN)
		return true;
	bool first = !w->moves[from];
	assert(w->moves[w->reader] && "readers are looked at before");
	if (first)
		w->moves[from] =
		    NEW_N(w->arena, int, p->blocks[from].naxes);
	for (int a = 0; a < p->blocks[from].naxes; a++) {
		const Expr *x = a < e->narg ? e->arg[a] : NULL;
		int axis = x && x->op == OP_AXIS ? w->moves[w->reader][x->id]
						 : -1;
		if (first)
			w->moves[from][a] = axis;
		else if (w->moves[from][a] != axis)
			w->moves[from][a] = -1;
	}
	return true;
}

static bool goes_with(const RowsWalk *w, int block, int axis)
{
	const Block *b = &w->program->blocks[block];
	for (int a = 0; a < b->nspatial; a++)
		if (w->moves[block][a] == axis &&
		    b->axes[a].extent ==
			w->program->blocks[w->to].axes[axis].extent)
			return true;
	return false;
}

static bool is_row(const RowsWalk *w, int axis)
{
	for (int i = 0; i < w->program->nblocks; i++)
		if (w->role[i] != OUTSIDE && !goes_with(w, i, axis))
			return false;
	return true;
}

static bool worth_it(const RowsWalk *w, const bool *rows)
{
	const Program *p = w->program;
	const Block *from = &p->blocks[w->from], *to = &p->blocks[w->to];
	double all = 1, each = 1;
	for (int a = 0; a < from->nspatial; a++)
		each *= (double)from->axes[a].extent;
	for (int a = 0; a < to->nspatial; a++)
		if (rows[a])
			all *= (double)to->axes[a].extent;
	return all >= LEAST_ROWS && each / all <= LONGEST_ROW;
}

static Rows *found_between(
    Arena *arena, const Program *program, int from, int to)
{
	size_t n = (size_t)program->nblocks;
	RowsWalk w = {.arena = arena,
	    .program = program,
	    .from = from,
	    .to = to,
	    .role = NEW_N(arena, Role, n),
	    .moves = NEW_N(arena, int *, n)};
	const Block *block = &program->blocks[to];
	Rows *rows = NEW(arena, Rows);
	*rows = (Rows){
	    NEW_N(arena, bool, block->naxes), NEW_N(arena, bool, n), w.moves};
	if (!find_all_between(&w))
		return NULL;
	find_endings(&w);
	if (used_elsewhere(&w))
		return NULL;
	for (int i = program->nblocks - 1; i > from; i--) {
		w.reader = i;
		if (w.role[i] != OUTSIDE)
			expr_walk(program->blocks[i].body, add_moves, &w);
	}
	for (int a = 0; a < block->nspatial; a++)
		rows->axes[a] = is_row(&w, a);
	for (int i = 0; i < program->nblocks; i++)
		rows->between[i] = w.role[i] == BETWEEN;
	return worth_it(&w, rows->axes) ? rows : NULL;
}

/* Does anything that stands between them reduce?  Most are one layer after another,
 * and need no look at the whole program. */
static bool reduces_between(const Program *program, int from, int to)
{
	for (int i = from + 1; i < to; i++)
		if (block_reduces(&program->blocks[i]))
			return true;
	return false;
}

Rows *rows_between(Arena *arena, const Program *program, int from, int to)
{
	if (!reduces_between(program, from, to) ||
	    !rows_is_product(&program->blocks[from]) ||
	    !rows_is_product(&program->blocks[to]))
		return NULL;
	Arena *own = arena_child(arena); /* there are none between most */
	Rows *rows = found_between(own, program, from, to);
	if (!rows)
		arena_free(own);
	return rows;
}
