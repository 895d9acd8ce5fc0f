/* What is done ahead to a constant input: the packed argument is a row of
 * pieces, each aligned to 64 bytes: the input as it is, if the kernel reads it
 * so or nothing else of it, and the buffer of each stage made of it alone;
 * what such a stage has in its loops is in registers.
 *
 *     void NAME_pack_w(const float *w, void *packed)
 *       packed[0 ..] = w, then for each stage its loops */
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
	while (!expr_find_read(of->body, input)) {
		const Expr *read = first_read(of->body);
		int writer = nest->buffers.at[read->id].writer;
		if (writer < 0)
			return false;
		of = &nest->stages.at[writer];
	}
	return true;
}

int64_t pack_layout(const Nest *nest, int input, int64_t *offsets)
{
	bool copied = false, plain = false;
	int64_t size = 0;
	for (int i = 0; i < nest->order.n; i++) {
		const Stage *s = &nest->stages.at[nest->order.at[i]];
		if (!expr_find_read(s->body, input))
			continue;
		copied |= s->ahead;
		plain |= !s->ahead;
	}
	if (plain || !copied) {
		offsets[input] = 0;
		size = piece_bytes(nest, input);
	}
	for (int i = 0; i < nest->order.n; i++) {
		const Stage *s = &nest->stages.at[nest->order.at[i]];
		if (!is_piece(nest, s, input))
			continue;
		assert(size % PIECE_ALIGN == 0 && s->buffer != input);
		offsets[s->buffer] = size;
		size += piece_bytes(nest, s->buffer);
	}
	return size;
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

void lower_pack(Lower *l, LowFunction *f, int input)
{
	const Nest *nest = l->nest;
	const NestBuffer *b = &nest->buffers.at[input];
	int64_t *offsets = NEW_N(l->arena, int64_t, nest->buffers.n);
	for (int i = 0; i < nest->buffers.n; i++)
		offsets[i] = -1;
	pack_layout(nest, input, offsets);
	vec_push(l->arena, &f->params,
	    (LowParam){.name = b->name, .type = b->type});
	vec_push(l->arena, &f->params,
	    (LowParam){.name = "packed", .type = DT_U8, .output = true});
	Frame frame = {0};
	emit_begin(l, f);
	scope_open(l, &frame, &f->body);
	l->threads = false;
	l->low_buffer[input] = declare_buffer(l, b->name, b->type,
	    tape_value(nest->tape, b->elements), LOWBUF_PARAM, 0, 0,
	    dtype_bytes(b->type));
	for (int i = 0; i < nest->buffers.n; i++) {
		if (offsets[i] < 0)
			continue;
		const char *name = nest->buffers.at[i].name;
		int piece = declare_buffer(l,
		    i == input ? arena_printf(l->arena, "%s_packed", name) : name,
		    nest->buffers.at[i].type,
		    tape_value(nest->tape, nest->buffers.at[i].elements),
		    LOWBUF_PARAM, 1, offsets[i], PIECE_ALIGN);
		f->buffers.at[piece].written = true;
		if (i == input) {
			copy_plain(l, input, piece);
			continue;
		}
		assert(nest->stages.at[nest->buffers.at[i].writer].ahead);
		l->low_buffer[i] = piece;
		lower_stage(l, nest->buffers.at[i].writer);
	}
	scope_close(l);
	lower_transpose(l);
}
