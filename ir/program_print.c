/* Programs as text: show --stage=ir, and expressions for messages, nests and
 * the canonical text.
 *
 *     conv[n < 1, o < 128, y < 28, x < 28]: f32 =
 *       sum[c < 128, r < 3, s < 3](padded[n, c, y + r, x + s]*weight[o, c, r, s])
 */
#include "ir/spec/spec.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- numbers ---------------------------------------------------------------- */

void print_double(Buf *out, double value)
{
	char text[40];
	if (isinf(value)) {
		buf_puts(out, value < 0 ? "-inf" : "inf");
		return;
	}
	for (int digits = 1; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	buf_puts(out, text);
	if (!strpbrk(text, ".en"))
		buf_puts(out, ".0");
}

static void print_constant(Buf *out, const ExprNames *names, const Expr *e)
{
	bool typed = names->typed && e->type != DT_INDEX;
	if (typed)
		buf_printf(out, "%s(", dtype_name(e->type));
	if (e->op == OP_INT)
		buf_printf(out, "%" PRId64, e->i);
	else
		print_double(out, e->f);
	if (typed)
		buf_putc(out, ')');
}

/* --- expressions ------------------------------------------------------------ */

/* How tightly an operation binds; the grammar's levels. */
enum { BINDS_IF, BINDS_OR, BINDS_AND, BINDS_NOT, BINDS_CMP, BINDS_ADD,
       BINDS_MUL, BINDS_NEG, BINDS_ATOM };

static int binds(const Expr *e)
{
	switch (e->op) {
	case OP_IF: return BINDS_IF;
	case OP_OR: return BINDS_OR;
	case OP_AND: return BINDS_AND;
	case OP_NOT: return BINDS_NOT;
	case OP_LT: case OP_LE: case OP_GT: case OP_GE: case OP_EQ: case OP_NE:
		return BINDS_CMP;
	case OP_ADD: case OP_SUB: return BINDS_ADD;
	case OP_MUL: case OP_DIV: case OP_FLOORDIV: case OP_MOD:
		return BINDS_MUL;
	case OP_NEG: return BINDS_NEG;
	case OP_INT: return e->i < 0 ? BINDS_NEG : BINDS_ATOM;
	case OP_FLOAT: return signbit(e->f) ? BINDS_NEG : BINDS_ATOM;
	default: return BINDS_ATOM;
	}
}

static void print(Buf *out, const ExprNames *names, const Expr *e, int least);

static void print_list(
    Buf *out, const ExprNames *names, const Expr *e, char open, char close)
{
	buf_putc(out, open);
	for (int i = 0; i < e->narg; i++) {
		buf_puts(out, i ? ", " : "");
		print(out, names, e->arg[i], BINDS_IF);
	}
	buf_putc(out, close);
}

static void print_reduce(Buf *out, const ExprNames *names, const Expr *e)
{
	buf_printf(out, "%s[", reduce_name(e->reduce.op));
	for (int i = 0; i < e->reduce.naxes; i++) {
		int axis = e->reduce.first_axis + i;
		buf_puts(out, i ? ", " : "");
		names->axis(out, names, axis);
		buf_printf(out, " < %" PRId64, names->axes[axis].extent);
	}
	buf_putc(out, ']');
	print_list(out, names, e, '(', ')');
}

static void print_if(Buf *out, const ExprNames *names, const Expr *e)
{
	buf_puts(out, "if ");
	print(out, names, e->arg[0], BINDS_OR);
	buf_puts(out, " then ");
	print(out, names, e->arg[1], BINDS_IF);
	buf_puts(out, " else ");
	print(out, names, e->arg[2], BINDS_IF);
}

static void print_binary(Buf *out, const ExprNames *names, const Expr *e)
{
	int level = binds(e);
	bool comparison = level == BINDS_CMP;
	bool tight = level == BINDS_MUL && !names->typed;
	print(out, names, e->arg[0], comparison ? BINDS_ADD : level);
	buf_printf(out, tight ? "%s" : " %s ", op_name(e->op));
	print(out, names, e->arg[1], level + 1);
}

static void print_open(Buf *out, const ExprNames *names, const Expr *e)
{
	switch (e->op) {
	case OP_INT:
	case OP_FLOAT:
		print_constant(out, names, e);
		break;
	case OP_AXIS:
		names->axis(out, names, e->id);
		break;
	case OP_READ:
		names->buffer(out, names, e->id);
		print_list(out, names, e, '[', ']');
		break;
	case OP_CAST:
		if (e->type == DT_INDEX) { /* data in an index */
			print(out, names, e->arg[0], BINDS_ATOM);
			break;
		}
		buf_puts(out, dtype_name(e->type));
		print_list(out, names, e, '(', ')');
		break;
	case OP_REDUCE:
		print_reduce(out, names, e);
		break;
	case OP_IF:
		print_if(out, names, e);
		break;
	case OP_NEG:
	case OP_NOT:
		buf_puts(out, e->op == OP_NEG ? "-" : "not ");
		print(out, names, e->arg[0], binds(e));
		break;
	default:
		if (binds(e) < BINDS_ATOM) {
			print_binary(out, names, e);
		} else {
			buf_puts(out, op_name(e->op));
			print_list(out, names, e, '(', ')');
		}
	}
}

static void print(Buf *out, const ExprNames *names, const Expr *e, int least)
{
	bool parens = binds(e) < least || (names->typed && e->narg > 1 &&
						  binds(e) < BINDS_ATOM);
	if (parens)
		buf_putc(out, '(');
	print_open(out, names, e);
	if (parens)
		buf_putc(out, ')');
}

void expr_print_names(Buf *out, const ExprNames *names, const Expr *e)
{
	print(out, names, e, BINDS_IF);
}

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

int64_t buffer_bytes(const Buffer *buffer)
{
	return buffer_elements(buffer) * dtype_bytes(buffer->type);
}
