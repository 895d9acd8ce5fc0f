/* An access beyond the end of rows: indices that are quotient and remainder of one
 * value by a row's length are 0 and that value, where rows lie one behind the other.
 *
 *     x[c//18, c % 18]  of  x: f32[36, 18]          x[0, c]
 *
 * Neighbours along c are neighbours in memory then, wherever a row ends. */
#include "ir/nest/nest_internal.h"

/* What a quotient and the remainder beside it are of; NULL: they are no such. */
static Expr *divided(const Expr *quotient, const Expr *remainder, int64_t row)
{
	return quotient->op == OP_FLOORDIV && remainder->op == OP_MOD &&
		remainder->arg[1]->op == OP_INT && remainder->arg[1]->i == row &&
		expr_equal(quotient->arg[1], remainder->arg[1]) &&
		expr_equal(quotient->arg[0], remainder->arg[0]) &&
		!expr_has_data(remainder->arg[0])
	    ? remainder->arg[0]
	    : NULL;
}

bool nest_lies_whole(const Nest *nest, const NestBuffer *b)
{
	const Stage *w = b->writer < 0 ? NULL : &nest->stages.at[b->writer];
	return b->program_buffer >= 0 && b->scope == SCOPE_GLOBAL &&
	    (!w || (w->place < 0 && !w->fill && w->tail != TAIL_PAD));
}

/* Is the element behind a row's last one the next row's first? */
static bool follows_row(const Nest *nest, const NestBuffer *b, int dim)
{
	const LayoutPart *row = &b->parts[dim], *place = row + 1;
	int64_t step, each, div[2];
	return b->nparts == b->ndim && row->dim == dim &&
	    place->dim == dim + 1 && row->mod == HANDLE_NONE &&
	    place->mod == HANDLE_NONE && !b->start[dim] && !b->start[dim + 1] &&
	    tape_is_const(nest->tape, row->div, &div[0]) && div[0] == 1 &&
	    tape_is_const(nest->tape, place->div, &div[1]) && div[1] == 1 &&
	    tape_is_const(nest->tape, row->stride, &step) &&
	    tape_is_const(nest->tape, place->stride, &each) &&
	    step == each * b->shape[dim + 1];
}

Expr *const *nest_along_rows(
    Arena *arena, const Nest *nest, int buffer, Expr *const *index)
{
	const NestBuffer *b = &nest->buffers.at[buffer];
	Expr **along = NULL;
	for (int d = 0; d < b->ndim - 1; d++) {
		Expr *const *now = along ? along : index;
		Expr *place = divided(now[d], now[d + 1], b->shape[d + 1]);
		if (!place || !nest_lies_whole(nest, b) ||
		    !follows_row(nest, b, d))
			continue;
		if (!along)
			along = arena_memdup(arena, index,
			    sizeof *along * (size_t)b->ndim);
		along[d] = expr_int(arena, DT_INDEX, 0);
		along[d + 1] = place;
	}
	return along ? along : index;
}
