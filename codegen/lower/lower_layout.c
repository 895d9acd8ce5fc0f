/* Where the pieces of a packed argument lie, which the kernel and its pack functions
 * (lower_pack.c) agree on, and loops over dimensions that lie in tiles: one over
 * tiles and one within each. */
#include "codegen/lower/lower_internal.h"

#include <assert.h>

enum { PIECE_ALIGN = 64 };

static const Expr *first_read(const Expr *e)
{
	const Expr *read = e->op == OP_READ ? e : NULL;
	for (int i = 0; i < e->narg && !read; i++)
		read = first_read(e->arg[i]);
	return read;
}

static int64_t piece_bytes(const Nest *nest, int buffer)
{
	const NestBuffer *b = &nest->buffers.at[buffer];
	int64_t bytes =
	    tape_value(nest->tape, b->elements) * dtype_bytes(b->type);
	return (bytes + PIECE_ALIGN - 1) / PIECE_ALIGN * PIECE_ALIGN;
}

/* Is it a piece of what that input becomes? */
static bool is_piece(const Nest *nest, const Stage *s, int input)
{
	const Stage *of = s;
	if (!s->ahead || s->place >= 0)
		return false;
	while (!nest_reads(nest, (int)(of - nest->stages.at), input)) {
		const Expr *read = first_read(of->body);
		int writer = nest->buffers.at[read->id].writer;
		if (writer < 0)
			return false;
		of = &nest->stages.at[writer];
	}
	return true;
}

bool pack_is_plain(const Nest *nest, int input)
{
	bool copied = false, plain = false;
	for (int i = 0; i < nest->order.n; i++) {
		const Stage *s = &nest->stages.at[nest->order.at[i]];
		if (!nest_reads(nest, nest->order.at[i], input))
			continue;
		copied |= s->ahead;
		plain |= !s->ahead;
	}
	return plain || !copied;
}

int64_t pack_plain_bytes(const Nest *nest, int input)
{
	return piece_bytes(nest, input);
}

int64_t pack_layout(
    Link *link, int part, int input, int64_t from, PackPieceVec *pieces)
{
	const Nest *nest = link->parts[part]->nest;
	if (pack_is_plain(nest, input))
		vec_push(link->arena, pieces, ((PackPiece){part, input, 0}));
	for (int i = 0; i < nest->order.n; i++) {
		const Stage *s = &nest->stages.at[nest->order.at[i]];
		if (!is_piece(nest, s, input))
			continue;
		assert(from % PIECE_ALIGN == 0 && s->buffer != input);
		vec_push(
		    link->arena, pieces, ((PackPiece){part, s->buffer, from}));
		from += piece_bytes(nest, s->buffer);
	}
	return from;
}

static void add_digit(Lower *l, IntVec *digits, int64_t digit, int64_t extent)
{
	int i = 0;
	if (digit <= 1 || digit >= extent || digit > INT32_MAX)
		return;
	for (; i < digits->n && digits->at[i] >= digit; i++)
		if (digits->at[i] == digit)
			return;
	vec_push(l->arena, digits, 0);
	for (int k = digits->n - 1; k > i; k--)
		digits->at[k] = digits->at[k - 1];
	digits->at[i] = (int)digit;
}

/* The loop of an axis that is no part of one, and whose index is a dimension of
 * the buffer; each digit divides the one before. */
void pack_digits(Lower *l, int stage, int var, IntVec *digits)
{
	const Nest *nest = l->nest;
	const Stage *s = &nest->stages.at[stage];
	const NestBuffer *b = &nest->buffers.at[s->buffer];
	for (int p = 0; s->ahead && p < b->nparts; p++) {
		const LayoutPart *part = &b->parts[p];
		const Expr *index = s->write[part->dim];
		if (index->op != OP_AXIS || s->axes[index->id].start ||
		    s->axes[index->id].var != var)
			continue;
		int64_t div = tape_value(nest->tape, part->div);
		add_digit(l, digits, div, loop_extent(l, var));
		if (part->mod != HANDLE_NONE)
			add_digit(l, digits,
			    div * tape_value(nest->tape, part->mod),
			    loop_extent(l, var));
	}
	for (int i = 1; i < digits->n; i++)
		if (digits->at[i - 1] % digits->at[i])
			digits->n = 0;
}
