/* Expressions as text, for messages, programs, nests and the canonical text:
 * with the names of the caller's choice, and parentheses where the grammar needs
 * them. */
#include "ir/program.h"

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
	bool high = e->op == OP_INT && e->type == DT_U64 && e->i < 0;
	bool typed = high || (names->typed && e->type != DT_INDEX);
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

/* How tightly an expression binds; the grammar's levels. */
static OpKind binds(const Expr *e)
{
	OpKind kind = op_kind(e->op);
	if ((e->op == OP_INT && e->i < 0 && e->type != DT_U64) ||
	    (e->op == OP_FLOAT && signbit(e->f)))
		kind = OPKIND_NEGATIVE;
	return kind < OPKIND_LEAF ? kind : OPKIND_LEAF;
}

static void print(Buf *out, const ExprNames *names, const Expr *e, OpKind least);

static void print_list(
    Buf *out, const ExprNames *names, const Expr *e, char open, char close)
{
	buf_putc(out, open);
	for (int i = 0; i < e->narg; i++) {
		buf_puts(out, i ? ", " : "");
		print(out, names, e->arg[i], OPKIND_IF);
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
	print(out, names, e->arg[0], OPKIND_OR);
	buf_puts(out, " then ");
	print(out, names, e->arg[1], OPKIND_IF);
	buf_puts(out, " else ");
	print(out, names, e->arg[2], OPKIND_IF);
}

static void print_binary(Buf *out, const ExprNames *names, const Expr *e)
{
	OpKind level = op_kind(e->op);
	bool comparison = level == OPKIND_COMPARE;
	bool tight = level == OPKIND_PRODUCT && !names->typed && !names->spaced;
	print(out, names, e->arg[0], comparison ? OPKIND_SUM : level);
	buf_printf(out, tight ? "%s" : " %s ", op_name(e->op));
	print(out, names, e->arg[1], level + 1);
}

static void print_leaf(Buf *out, const ExprNames *names, const Expr *e)
{
	if (e->op == OP_INT || e->op == OP_FLOAT)
		print_constant(out, names, e);
	else if (e->op == OP_AXIS)
		names->axis(out, names, e->id);
	else
		names->other(out, names, e);
}

static void print_cast(Buf *out, const ExprNames *names, const Expr *e)
{
	if (e->type == DT_INDEX) { /* data in an index */
		print(out, names, e->arg[0], OPKIND_LEAF);
		return;
	}
	buf_puts(out, dtype_name(e->type));
	print_list(out, names, e, '(', ')');
}

static void print_open(Buf *out, const ExprNames *names, const Expr *e)
{
	switch (op_kind(e->op)) {
	case OPKIND_IF:
		print_if(out, names, e);
		return;
	case OPKIND_NEGATIVE:
	case OPKIND_NOT:
		buf_puts(out, e->op == OP_NEG ? "-" : "not ");
		print(out, names, e->arg[0], binds(e));
		return;
	case OPKIND_OR:
	case OPKIND_AND:
	case OPKIND_COMPARE:
	case OPKIND_SUM:
	case OPKIND_PRODUCT:
		print_binary(out, names, e);
		return;
	case OPKIND_LEAF:
		print_leaf(out, names, e);
		return;
	case OPKIND_READ:
		names->buffer(out, names, e->id);
		print_list(out, names, e, '[', ']');
		return;
	case OPKIND_CAST:
		print_cast(out, names, e);
		return;
	case OPKIND_REDUCE:
		print_reduce(out, names, e);
		return;
	case OPKIND_CALL:
	case OPKIND_BITS:
	case OPKIND_FUNCTION:
	case OPKIND_ROUNDING:
		buf_puts(out, op_name(e->op));
		print_list(out, names, e, '(', ')');
	}
}

static void print(Buf *out, const ExprNames *names, const Expr *e, OpKind least)
{
	bool parens = binds(e) < least || (names->typed && e->narg > 1 &&
						  binds(e) < OPKIND_LEAF);
	if (parens)
		buf_putc(out, '(');
	print_open(out, names, e);
	if (parens)
		buf_putc(out, ')');
}

void expr_print_names(Buf *out, const ExprNames *names, const Expr *e)
{
	print(out, names, e, OPKIND_IF);
}
