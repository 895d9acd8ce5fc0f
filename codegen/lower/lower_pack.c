/* What is done ahead to a constant input: the packed argument is a row of
 * pieces, each aligned to 64 bytes: the input as it is, if the kernel reads it
 * so or nothing else of it, and the buffer of each stage made of it alone;
 * what such a stage has in its loops is in registers.
 *
 *     void NAME_pack_w(const float *w, void *packed)
 *       packed[0 ..] = w, then for each stage its loops
 *
 * Parts of a program that read the same input have pieces of their own, and the
 * input as it is in common. */
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

static void copy_plain(Lower *l, int input, int to)
{
	const NestBuffer *b = &l->nest->buffers.at[input];
	LowNode *loop = NEW(l->arena, LowNode);
	Frame frame = {.fence = true};
	loop->kind = LOWNODE_LOOP;
	loop->dst = loop->buffer = loop->condition = -1;
	loop->extent = tape_value(l->nest->tape, b->elements);
	loop->loop = LOOP_SERIAL;
	scope_open(l, &frame, &loop->body);
	loop->var = new_temp(l, DT_INDEX, 1, "i");
	int value = new_temp(l, b->type, 1, b->name);
	LowAffine address = index_symbol(l, loop->var).form;
	LowNode *node =
	    low_op(l->arena, &loop->body, LOW_LOAD, value, -1, -1, -1);
	node->buffer = l->low_buffer[input];
	node->address = address;
	node = low_op(l->arena, &loop->body, LOW_STORE, -1, value, -1, -1);
	node->buffer = to;
	node->address = address;
	scope_close(l);
	vec_push(l->arena, l->scope->body, loop);
}

/* The input itself, and what it is copied to, are there once for all parts. */
static int shared_buffer(
    Lower *l, int *shared, int input, const char *name, int param, int align)
{
	const NestBuffer *b = &l->nest->buffers.at[input];
	if (*shared < 0)
		*shared = declare_buffer(l, name, b->type,
		    tape_value(l->nest->tape, b->elements), LOWBUF_PARAM, param,
		    0, align);
	return *shared;
}

static void copy_input(Lower *l, int *copy, int input)
{
	if (*copy >= 0) /* another part did */
		return;
	const char *name = arena_printf(
	    l->arena, "%s_packed", l->nest->buffers.at[input].name);
	int to = shared_buffer(l, copy, input, name, 1, PIECE_ALIGN);
	l->f->buffers.at[to].written = true;
	copy_plain(l, input, to);
}

void lower_pack_part(Link *link, int part, int whole_input)
{
	Lower *l = link->parts[part];
	const Nest *nest = l->nest;
	int input = link_in_part(link, part, whole_input);
	const NestBuffer *b = &nest->buffers.at[input];
	const PackPieceVec *pieces = &link->pieces[whole_input];
	Frame frame = {0};
	emit_open(l, &frame);
	l->threads = false;
	l->low_buffer[input] = shared_buffer(
	    l, &link->source, input, b->name, 0, dtype_bytes(b->type));
	for (int k = 0; k < pieces->n; k++) {
		int i = pieces->at[k].buffer;
		const NestBuffer *piece = &nest->buffers.at[i];
		if (pieces->at[k].part != part)
			continue;
		if (i == input) {
			copy_input(l, &link->copy, input);
			continue;
		}
		assert(nest->stages.at[piece->writer].ahead);
		l->low_buffer[i] = declare_buffer(l, piece->name, piece->type,
		    tape_value(nest->tape, piece->elements), LOWBUF_PARAM, 1,
		    pieces->at[k].offset, PIECE_ALIGN);
		l->f->buffers.at[l->low_buffer[i]].written = true;
		lower_stage(l, piece->writer);
	}
	emit_close(l);
	lower_forget_buffer(l, input);
	for (int k = 0; k < pieces->n; k++)
		if (pieces->at[k].part == part)
			lower_forget_buffer(l, pieces->at[k].buffer);
}
