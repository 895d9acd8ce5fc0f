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
	node->buffer = l->part->low_buffer[input];
	node->address = address;
	node = low_op(l->arena, &loop->body, LOW_STORE, -1, value, -1, -1);
	node->buffer = to;
	node->address = address;
	scope_close(l);
	vec_push(l->arena, l->part->scope->body, loop);
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
	l->part->threads = false;
	l->part->low_buffer[input] = shared_buffer(
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
		l->part->low_buffer[i] = declare_buffer(l, piece->name,
		    piece->type, tape_value(nest->tape, piece->elements),
		    LOWBUF_PARAM, 1, pieces->at[k].offset, PIECE_ALIGN);
		l->f->buffers.at[l->part->low_buffer[i]].written = true;
		lower_stage(l, piece->writer);
	}
	emit_close(l);
	lower_forget_buffer(l, input);
	for (int k = 0; k < pieces->n; k++)
		if (pieces->at[k].part == part)
			lower_forget_buffer(l, pieces->at[k].buffer);
}
