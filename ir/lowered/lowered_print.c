/* The lowered form as text, for people: docs/lowered.md has the syntax.  A
 * temporary's type is written where it is first assigned. */
#include "ir/lowered/lowered.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
	Buf *out;
	const LowFunction *f;
	char *typed; /* temporaries whose type has been written */
	int depth;
} Print;

static void print_type(Buf *out, DType type, int lanes)
{
	buf_puts(out, dtype_name(type));
	if (lanes > 1)
		buf_printf(out, "x%d", lanes);
}

static const char *temp_name(const Print *p, int temp)
{
	return p->f->temps.at[temp].name;
}

static void print_term(Print *p, int64_t coefficient, const char *name,
    bool first)
{
	Buf *out = p->out;
	bool negative = coefficient < 0;
	uint64_t size = negative ? -(uint64_t)coefficient
				 : (uint64_t)coefficient;
	buf_puts(out, first ? negative ? "-" : "" : negative ? " - " : " + ");
	if (!name)
		buf_printf(out, "%llu", (unsigned long long)size);
	else if (size == 1)
		buf_puts(out, name);
	else
		buf_printf(out, "%llu*%s", (unsigned long long)size, name);
}

/* `extra`: a temporary that is added, lane by lane; -1: none */
static void print_affine(Print *p, const LowAffine *a, int extra)
{
	bool first = true;
	for (int i = 0; i < a->n; i++, first = false)
		print_term(p, a->terms[i].coefficient,
		    temp_name(p, a->terms[i].temp), first);
	if (extra >= 0) {
		print_term(p, 1, temp_name(p, extra), first);
		first = false;
	}
	if (a->constant || first)
		print_term(p, a->constant, NULL, first);
}

static void print_element(Print *p, const LowNode *node, int extra)
{
	buf_printf(p->out, " %s[", p->f->buffers.at[node->buffer].name);
	print_affine(p, &node->address, extra);
	buf_putc(p->out, ']');
}

static void print_args(Print *p, const LowNode *node, int from, int to)
{
	for (int i = from; i < to; i++)
		if (node->arg[i] >= 0)
			buf_printf(p->out, "%s %s", i ? "," : "",
			    temp_name(p, node->arg[i]));
}

static void print_lower(Buf *out, const char *name)
{
	for (; *name; name++)
		buf_putc(out, (char)tolower((unsigned char)*name));
}

static void print_const(Print *p, const LowNode *node)
{
	if (dtype_is_float(p->f->temps.at[node->dst].type))
		buf_printf(p->out, " %.17g", node->f);
	else
		buf_printf(p->out, " %lld", (long long)node->i);
}

static void print_shuffle(Print *p, const LowNode *node)
{
	int lanes = p->f->temps.at[node->dst].lanes;
	print_args(p, node, 0, 2);
	buf_puts(p->out, " [");
	for (int i = 0; i < lanes; i++)
		buf_printf(p->out, "%s%d", i ? " " : "", node->shuffle[i]);
	buf_putc(p->out, ']');
}

static void print_tile(Print *p, LowTile tile)
{
	if (tile.across)
		buf_printf(p->out, " across %lld,", (long long)tile.next);
	else
		buf_putc(p->out, ',');
}

static void print_wgmma(Print *p, const LowNode *node)
{
	LowNode a = {.buffer = node->source, .address = node->from};
	print_element(p, &a, -1);
	print_tile(p, node->tiles[0]);
	print_element(p, node, -1);
	print_tile(p, node->tiles[1]);
	print_args(p, node, 0, 1);
}

static void print_operands(Print *p, const LowNode *node)
{
	switch (node->op) {
	case LOW_CONST:
		print_const(p, node);
		break;
	case LOW_EXTRACT:
	case LOW_INSERT:
		print_args(p, node, 0, 3);
		buf_printf(p->out, ", lane %lld", (long long)node->i);
		break;
	case LOW_SHUFFLE:
		print_shuffle(p, node);
		break;
	case LOW_WARP_XOR:
		print_args(p, node, 0, 1);
		buf_printf(p->out, ", xor %lld", (long long)node->i);
		break;
	case LOW_LOAD_MATRIX:
		print_element(p, node, -1);
		if (node->i)
			buf_puts(p->out, ", transposed");
		break;
	case LOW_LOAD:
	case LOW_LOAD_MASKED:
	case LOW_STORE:
	case LOW_STORE_MASKED:
	case LOW_STREAM:
		print_element(p, node, -1);
		if (low_op_nargs(node->op))
			buf_putc(p->out, ',');
		print_args(p, node, 0, 3);
		break;
	case LOW_GATHER:
		print_element(p, node, node->arg[0]);
		print_args(p, node, 1, 2);
		break;
	case LOW_SCATTER:
		print_element(p, node, node->arg[1]);
		buf_printf(p->out, ", %s", temp_name(p, node->arg[0]));
		print_args(p, node, 2, 3);
		break;
	case LOW_COPY_ASYNC:
		print_element(p, node, -1);
		buf_printf(p->out, ", %s[",
		    p->f->buffers.at[node->source].name);
		print_affine(p, &node->from, -1);
		buf_printf(p->out, "], %lld elements", (long long)node->i);
		break;
	case LOW_WGMMA:
		print_wgmma(p, node);
		break;
	case LOW_BARRIER:
		buf_puts(p->out, node->i ? " for wgmma" : "");
		break;
	case LOW_WAIT:
		buf_printf(p->out, " %lld", (long long)node->i);
		break;
	case LOW_PREFETCH:
		print_element(p, node, -1);
		buf_printf(p->out, ", level %lld", (long long)node->i);
		break;
	default:
		print_args(p, node, 0, 3);
	}
}

static void indent(Print *p)
{
	for (int i = 0; i < p->depth; i++)
		buf_putc(p->out, '\t');
}

static void print_op(Print *p, const LowNode *node)
{
	if (node->dst >= 0) {
		const LowTemp *t = &p->f->temps.at[node->dst];
		buf_puts(p->out, t->name);
		if (!p->typed[node->dst]) {
			buf_puts(p->out, ": ");
			print_type(p->out, t->type, t->lanes);
			p->typed[node->dst] = 1;
		}
		buf_puts(p->out, " = ");
	}
	if (node->op == LOW_MATH)
		buf_puts(p->out, op_name(node->math));
	else
		print_lower(p->out, low_op_name(node->op));
	print_operands(p, node);
	buf_putc(p->out, '\n');
}

static void print_body(Print *p, const LowBody *body);

static void print_loop(Print *p, const LowNode *node)
{
	buf_puts(p->out, "for ");
	if (node->loop != LOOP_SERIAL)
		buf_printf(p->out, "%s ", loop_kind_name(node->loop));
	buf_printf(p->out, "%s < ", temp_name(p, node->var));
	if (node->limit) {
		buf_printf(p->out, "min(%lld, ", (long long)node->extent);
		print_affine(p, node->limit, -1);
		buf_puts(p->out, ") {\n");
	} else {
		buf_printf(p->out, "%lld {\n", (long long)node->extent);
	}
	print_body(p, &node->body);
}

static void print_if(Print *p, const LowNode *node)
{
	buf_printf(p->out, "if %s {\n", temp_name(p, node->condition));
	print_body(p, &node->body);
	if (!node->other.n)
		return;
	indent(p);
	buf_puts(p->out, "} else {\n");
	print_body(p, &node->other);
}

static void print_node(Print *p, const LowNode *node)
{
	indent(p);
	switch (node->kind) {
	case LOWNODE_OP:
		print_op(p, node);
		return;
	case LOWNODE_COMMENT:
		buf_printf(p->out, "# %s\n", node->comment);
		return;
	case LOWNODE_LOOP:
		print_loop(p, node);
		break;
	case LOWNODE_IF:
		print_if(p, node);
		break;
	}
	indent(p);
	buf_puts(p->out, "}\n");
}

static void print_body(Print *p, const LowBody *body)
{
	p->depth++;
	for (int i = 0; i < body->n; i++)
		print_node(p, body->at[i]);
	p->depth--;
}

static void print_params(Buf *out, const LowFunction *f)
{
	for (int i = 0; i < f->params.n; i++) {
		const LowParam *p = &f->params.at[i];
		buf_puts(out, i ? ", " : "");
		if (p->workspace) {
			buf_puts(out, p->name);
			continue;
		}
		buf_printf(out, "%s%s: %s",
		    p->output ? "out " : p->is_const_input ? "packed " : "",
		    p->name, dtype_name(p->type));
	}
}

static void print_buffer(Buf *out, const LowFunction *f, const LowBuffer *b)
{
	buf_printf(out, "\tbuffer %s: %s[%lld] ", b->name,
	    dtype_name(b->type), (long long)b->elements);
	if (b->kind == LOWBUF_PARAM)
		buf_puts(out, f->params.at[b->param].name);
	else
		buf_puts(out, b->dynamic ? "dynamic shared"
			: b->kind == LOWBUF_SHARED ? "shared"
			: b->kind == LOWBUF_LOCAL ? "local" : "workspace");
	if (b->offset)
		buf_printf(out, " + %lld bytes", (long long)b->offset);
	if (b->thread_bytes)
		buf_printf(out, " + %lld bytes a thread",
		    (long long)b->thread_bytes);
	buf_printf(
	    out, ", aligned %d%s\n", b->align, b->written ? ", written" : "");
}

void low_function_print(Buf *out, const LowFunction *f)
{
	Print p = {out, f, must_alloc((size_t)f->temps.n), 0};
	memset(p.typed, 0, (size_t)f->temps.n);
	buf_printf(out, "%s %s(",
	    f->role == LOWFN_PACK ? "pack" : "kernel", f->name);
	print_params(out, f);
	buf_putc(out, ')');
	if (f->nthreads > 1)
		buf_printf(out, " threads %d", f->nthreads);
	buf_puts(out, " {\n");
	for (int i = 0; i < f->buffers.n; i++)
		print_buffer(out, f, &f->buffers.at[i]);
	print_body(&p, &f->body);
	buf_puts(out, "}\n");
	free(p.typed);
}

void lowered_print(Buf *out, const Lowered *lowered)
{
	buf_printf(out, "workspace %lld bytes\n",
	    (long long)lowered->workspace_bytes);
	for (int i = 0; i < lowered->packs.n; i++) {
		buf_printf(out, "packed %s %lld bytes\n",
		    lowered->packs.at[i]->name,
		    (long long)lowered->packed_bytes[i]);
	}
	for (int i = 0; i < lowered->packs.n; i++) {
		buf_putc(out, '\n');
		low_function_print(out, lowered->packs.at[i]);
	}
	buf_putc(out, '\n');
	low_function_print(out, lowered->kernel);
}
