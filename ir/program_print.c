/* Programs as text: show --stage=ir.
 *
 *     conv[n < 1, o < 128, y < 28, x < 28]: f32 =
 *       sum[c < 128, r < 3, s < 3](padded[n, c, y + r, x + s]*weight[o, c, r, s])
 */
#include "ir/program.h"

#include <inttypes.h>

static void own_buffer(Buf *out, const ExprNames *names, int buffer)
{
	buf_puts(out, names->program->buffers[buffer].name);
}

static void own_axis(Buf *out, const ExprNames *names, int axis)
{
	buf_puts(out, names->axes[axis].name);
}

void expr_print(Buf *out, const Program *program, const Axis *axes, const Expr *e)
{
	ExprNames names = {.buffer = own_buffer, .axis = own_axis,
		.program = program, .axes = axes};
	expr_print_names(out, &names, e);
}

/* --- programs --------------------------------------------------------------- */

static void print_axes(Buf *out, const Axis *axes, int n)
{
	buf_putc(out, '[');
	for (int i = 0; i < n; i++)
		buf_printf(out, "%s%s < %" PRId64, i ? ", " : "", axes[i].name,
		    axes[i].extent);
	buf_putc(out, ']');
}

static void print_buffer(Buf *out, const Buffer *b)
{
	buf_printf(out, "  %s: %s%s[", b->name, b->is_const ? "const " : "",
	    dtype_name(b->type));
	for (int i = 0; i < b->ndim; i++)
		buf_printf(out, "%s%" PRId64, i ? ", " : "", b->shape[i]);
	buf_puts(out, "]\n");
}

static void print_head(
    Buf *out, const Program *p, int buffer, const Axis *axes, int nspatial)
{
	buf_printf(out, "  %s", p->buffers[buffer].name);
	print_axes(out, axes, nspatial);
	buf_printf(out, ": %s =\n    ", dtype_name(p->buffers[buffer].type));
}

static void print_block(Buf *out, const Program *p, const Block *b)
{
	print_head(out, p, b->buffer, b->axes, b->nspatial);
	if (b->reduce) {
		buf_puts(out, reduce_name(b->reduce));
		print_axes(out, b->axes + b->nspatial, b->naxes - b->nspatial);
		buf_putc(out, '(');
	}
	expr_print(out, p, b->axes, b->body);
	buf_puts(out, b->reduce ? ")\n" : "\n");
}

void program_print(Buf *out, const Program *p)
{
	buf_printf(out, "operator %s\n", p->symbol);
	for (int i = 0; i < p->ninputs; i++) {
		buf_puts(out, i ? "" : "\ninputs\n");
		print_buffer(out, &p->buffers[i]);
	}
	buf_puts(out, "\ndefinitions\n");
	for (int i = 0; i < p->ndefinitions; i++) {
		const Definition *d = &p->definitions[i];
		print_head(out, p, d->buffer, d->axes, d->nspatial);
		expr_print(out, p, d->axes, d->body);
		buf_putc(out, '\n');
	}
	buf_puts(out, "\nblocks\n");
	for (int i = 0; i < p->nblocks; i++)
		print_block(out, p, &p->blocks[i]);
	buf_puts(out, "\noutputs");
	for (int i = 0; i < p->noutputs; i++)
		buf_printf(out, "%s %s", i ? "," : "",
		    p->buffers[p->outputs[i]].name);
	buf_putc(out, '\n');
}

int64_t buffer_elements(const Buffer *buffer)
{
	int64_t n = 1;
	for (int i = 0; i < buffer->ndim; i++)
		n *= buffer->shape[i];
	return n;
}

double block_points(const Block *b, int first, int end)
{
	double n = 1;
	for (int a = first; a < end; a++)
		n *= (double)b->axes[a].extent;
	return n;
}

double block_steps(const Block *b)
{
	return block_points(b, b->nspatial, b->naxes);
}

double block_work(const Block *b)
{
	return block_points(b, 0, b->naxes);
}

int64_t *block_extents(Arena *arena, const Block *b)
{
	int64_t *extents = NEW_N(arena, int64_t, b->naxes);
	for (int a = 0; a < b->naxes; a++)
		extents[a] = b->axes[a].extent;
	return extents;
}

bool block_reduces(const Block *b)
{
	return b->reduce != REDUCE_NONE &&
	    block_steps(b) > 1;
}

int64_t buffer_bytes(const Buffer *buffer)
{
	return buffer_elements(buffer) * dtype_bytes(buffer->type);
}
