/* Where temporary buffers lie in the workspace: those that never hold something
 * at one time share memory.
 *
 *     stage     0  1  2  3  4
 *     a        [=====]           offset 0
 *     b           [=====]        behind a
 *     c              [=====]     offset 0 again
 *
 * A buffer lives from the first stage at the root that touches it, with all that
 * is placed in that, to the last.  Largest first, each takes the lowest place
 * that is free for its whole life (Pisarchyk and Lee, "Efficient Memory
 * Management for Deep Neural Net Inference", 2020, greedy by size); the result
 * is near the largest live set.  Pieces that threads have of their own are laid
 * out likewise, a block for each thread behind the shared ones. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/lower/lower_internal.h"

enum { MOST_PLACED = 2048 }; /* the rest lies one behind the other */

typedef struct {
	Lower *l;
	int *root; /* by stage: position of its root stage in nest order */
	int *first, *last; /* by nest buffer; first > last: untouched */
} Lives;

/* --- lives ------------------------------------------------------------------- */

/* Does a loop around the place of the allocation run in threads? */
static bool is_private(const Nest *nest, const NestBuffer *b)
{
	for (int loop = b->alloc; loop >= 0;) {
		const Stage *s =
		    &nest->stages.at[nest->vars.at[loop].stage];
		for (int i = nest_loop_position(nest, loop); i >= 0; i--)
			if (nest->vars.at[s->loops[i]].kind == LOOP_PARALLEL)
				return true;
		loop = s->place;
	}
	return false;
}

static int root_of(const Nest *nest, int stage)
{
	while (nest->stages.at[stage].place >= 0)
		stage = nest->vars.at[nest->stages.at[stage].place].stage;
	return nest_leader(nest, stage);
}

typedef struct {
	Lives *lives;
	int at;
} Touch;

static void touch(Lives *lives, int buffer, int at)
{
	if (at < lives->first[buffer])
		lives->first[buffer] = at;
	if (at > lives->last[buffer])
		lives->last[buffer] = at;
}

static bool touch_read(Expr *e, void *context)
{
	const Touch *t = context;
	if (e->op == OP_READ)
		touch(t->lives, e->id, t->at);
	return true;
}

static void find_lives(Lives *lives)
{
	const Nest *nest = lives->l->nest;
	for (int i = 0; i < nest->buffers.n; i++) {
		lives->first[i] = nest->order.n;
		lives->last[i] = -1;
	}
	for (int i = 0; i < nest->order.n; i++)
		lives->root[nest->order.at[i]] = i;
	for (int i = 0; i < nest->order.n; i++) {
		int stage = nest->order.at[i];
		const Stage *s = &nest->stages.at[stage];
		Touch t = {lives, lives->root[root_of(nest, stage)]};
		if (s->ahead)
			continue;
		touch(lives, s->buffer, t.at);
		expr_walk(s->body, touch_read, &t);
	}
}

/* --- places ------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
	const Piece *x = a, *y = b;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->buffer - y->buffer;
}

static int by_offset(const void *a, const void *b)
{
	const Piece *x = *(Piece *const *)a, *y = *(Piece *const *)b;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static int by_number(const void *a, const void *b)
{
	return ((const Piece *)a)->buffer - ((const Piece *)b)->buffer;
}

static bool live_together(const Piece *a, const Piece *b)
{
	return a->first <= b->last && b->first <= a->last;
}

/* The lowest offset at which none of those placed already is in the way:
 * `near` holds them by offset. */
static int64_t lowest_place(const Piece *p, Piece *const *near, int n)
{
	int64_t at = 0;
	for (int i = 0; i < n; i++) {
		if (near[i]->offset - at >= p->bytes)
			break;
		if (near[i]->offset + near[i]->bytes > at)
			at = near[i]->offset + near[i]->bytes;
	}
	return at;
}

int64_t place_pieces(Arena *arena, PieceVec *pieces)
{
	Piece **near = NEW_N(arena, Piece *, pieces->n);
	int64_t size = 0;
	if (pieces->n)
		qsort(pieces->at, (size_t)pieces->n, sizeof *pieces->at,
		    by_size);
	for (int i = 0; i < pieces->n; i++) {
		Piece *p = &pieces->at[i];
		int n = 0;
		for (int k = 0; k < i && i < MOST_PLACED; k++)
			if (live_together(p, &pieces->at[k]))
				near[n++] = &pieces->at[k];
		if (n)
			qsort(near, (size_t)n, sizeof *near, by_offset);
		p->offset = i < MOST_PLACED ? lowest_place(p, near, n) : size;
		assert(p->offset >= 0 && p->offset % WORKSPACE_ALIGN == 0);
		for (int k = 0; k < n; k++)
			assert(p->offset + p->bytes <= near[k]->offset ||
			    near[k]->offset + near[k]->bytes <= p->offset);
		if (p->offset + p->bytes > size)
			size = p->offset + p->bytes;
	}
	if (pieces->n)
		qsort(pieces->at, (size_t)pieces->n, sizeof *pieces->at,
		    by_number);
	return size;
}

static void declare_pieces(Lower *l, const PieceVec *pieces, int64_t from,
    int64_t thread_bytes, const bool *written)
{
	for (int i = 0; i < pieces->n; i++) {
		const Piece *p = &pieces->at[i];
		const NestBuffer *b = &l->nest->buffers.at[p->buffer];
		int64_t n = tape_value(l->nest->tape, b->elements);
		int d = declare_buffer(l, b->name, b->type, n,
		    LOWBUF_WORKSPACE, 0, from + p->offset, WORKSPACE_ALIGN);
		l->part->low_buffer[p->buffer] = d;
		l->f->buffers.at[d].written = written[p->buffer];
		l->f->buffers.at[d].thread_bytes = thread_bytes;
	}
}

/* What a GPU's block, or each of its threads, has is not the workspace's. */
static void declare_on_chip(
    Lower *l, int buffer, LowBufferKind kind, const bool *written)
{
	const NestBuffer *b = &l->nest->buffers.at[buffer];
	int align = swizzle_align(b);
	int d = declare_buffer(l, b->name, b->type,
	    tape_value(l->nest->tape, b->elements), kind, 0, 0,
	    align > WORKSPACE_ALIGN ? align : WORKSPACE_ALIGN);
	l->part->low_buffer[buffer] = d;
	l->f->buffers.at[d].written = written[buffer];
}

int64_t workspace_rounded(int64_t bytes)
{
	return (bytes + WORKSPACE_ALIGN - 1) / WORKSPACE_ALIGN *
	    WORKSPACE_ALIGN;
}

int64_t place_workspace(Lower *l, const bool *used, const bool *written)
{
	const Nest *nest = l->nest;
	Lives lives = {.l = l,
	    .root = NEW_N(l->arena, int, nest->stages.n),
	    .first = NEW_N(l->arena, int, nest->buffers.n),
	    .last = NEW_N(l->arena, int, nest->buffers.n)};
	PieceVec pieces[2] = {{0}, {0}}; /* shared, private */
	int64_t bytes[2];
	find_lives(&lives);
	for (int i = 0; i < nest->buffers.n; i++) {
		const NestBuffer *b = &nest->buffers.at[i];
		if (!used[i] || l->part->low_buffer[i] >= 0 ||
		    b->scope == SCOPE_REG)
			continue;
		if (b->scope == SCOPE_SHARED ||
		    nest_below_bound(nest, b->alloc)) {
			assert(b->scope != SCOPE_GLOBAL);
			declare_on_chip(l, i,
			    b->scope == SCOPE_SHARED ? LOWBUF_SHARED
						     : LOWBUF_LOCAL,
			    written);
			continue;
		}
		assert(lives.first[i] <= lives.last[i]);
		int64_t n = tape_value(nest->tape, b->elements);
		Piece p = {.buffer = i,
		    .first = lives.first[i],
		    .last = lives.last[i],
		    .bytes = workspace_rounded(n * dtype_bytes(b->type))};
		vec_push(l->arena, &pieces[is_private(nest, b)], p);
	}
	for (int k = 0; k < 2; k++)
		bytes[k] = place_pieces(l->arena, &pieces[k]);
	declare_pieces(l, &pieces[0], 0, 0, written);
	declare_pieces(l, &pieces[1], bytes[0], bytes[1], written);
	int threads = l->machine->threads > 1 ? l->machine->threads : 1;
	return bytes[0] + bytes[1] * threads;
}
