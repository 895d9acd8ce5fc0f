#include "test/common_program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

Program *program_of_text(Arena *arena, const char *text, Numerics numerics)
{
	Diag diag = {0};
	Source *source = NEW(arena, Source);
	*source = (Source){"t", text, strlen(text)};
	Spec *spec = spec_parse(arena, source, &diag);
	Program *p = spec
	    ? spec_program(arena, spec, "", NULL, 0, numerics, &diag)
	    : NULL;
	if (!p)
		fail_msg("%s\n%s", text, buf_text(&diag.text));
	diag_free(&diag);
	return p;
}

enum { MAX = 8 };

static Program *begin(Arena *arena, const char *name)
{
	Program *p = NEW(arena, Program);
	p->name = p->symbol = name;
	p->case_name = p->doc = "";
	p->buffers = NEW_N(arena, Buffer, MAX);
	p->definitions = NEW_N(arena, Definition, MAX);
	p->blocks = NEW_N(arena, Block, MAX);
	p->outputs = NEW_N(arena, int, MAX);
	return p;
}

static int buffer(Arena *arena, Program *p, const char *name, BufferRole role,
    int ndim, const int *shape)
{
	Buffer *b = &p->buffers[p->nbuffers];
	b->name = name;
	b->type = DT_F32;
	b->ndim = ndim;
	b->shape = NEW_N(arena, int64_t, ndim);
	for (int d = 0; d < ndim; d++)
		b->shape[d] = shape[d];
	b->role = role;
	b->block = role == BUFFER_INPUT ? -1 : p->nblocks;
	if (role == BUFFER_INPUT)
		p->ninputs++;
	if (role == BUFFER_OUTPUT)
		p->outputs[p->noutputs++] = p->nbuffers;
	return p->nbuffers++;
}

/* A block and its buffer; `names` are one letter an axis, spatial ones first.
 */
static Block *block(Arena *arena, Program *p, const char *name, BufferRole role,
    const char *names, int nspatial, const int *extents)
{
	int to = buffer(arena, p, name, role, nspatial, extents);
	Block *b = &p->blocks[p->nblocks++];
	b->name = name;
	b->buffer = to;
	b->naxes = (int)strlen(names);
	b->nspatial = nspatial;
	b->axes = NEW_N(arena, Axis, b->naxes);
	for (int i = 0; i < b->naxes; i++)
		b->axes[i] = (Axis){arena_strndup(arena, names + i, 1),
		    extents[i], i >= nspatial};
	b->reduce = b->naxes > nspatial ? REDUCE_SUM : REDUCE_NONE;
	return b;
}

static Expr *ix(Arena *arena, int64_t value)
{
	return expr_int(arena, DT_INDEX, value);
}

static Expr *bin(Arena *arena, Op op, Expr *a, Expr *b)
{
	return expr_binary(arena, op, a, b);
}

static Expr *read1(Arena *arena, int from, Expr *a)
{
	return expr_read(arena, DT_F32, from, (Expr *[]){a}, 1);
}

static Expr *read2(Arena *arena, int from, Expr *a, Expr *b)
{
	return expr_read(arena, DT_F32, from, (Expr *[]){a, b}, 2);
}

Program *program_matmul(Arena *arena, int m, int n, int k)
{
	Program *p = begin(arena, "matmul");
	int a = buffer(arena, p, "a", BUFFER_INPUT, 2, (int[]){m, k});
	int b = buffer(arena, p, "b", BUFFER_INPUT, 2, (int[]){k, n});
	p->buffers[b].is_const = true;
	Block *c =
	    block(arena, p, "c", BUFFER_OUTPUT, "ijk", 2, (int[]){m, n, k});
	Expr *i = expr_axis(arena, 0), *j = expr_axis(arena, 1);
	Expr *l = expr_axis(arena, 2);
	c->body =
	    bin(arena, OP_MUL, read2(arena, a, i, l), read2(arena, b, l, j));
	return p;
}

static Expr *padded_body(Arena *arena, int data, int x)
{
	Expr *c = expr_axis(arena, 0), *at = expr_axis(arena, 1);
	Expr *inside = bin(arena, OP_AND, bin(arena, OP_LE, ix(arena, 1), at),
	    bin(arena, OP_LT, at, ix(arena, x + 1)));
	Expr *value =
	    read2(arena, data, c, bin(arena, OP_SUB, at, ix(arena, 1)));
	return expr_if(arena, inside, value, expr_float(arena, DT_F32, 0));
}

Program *program_conv(Arena *arena, int c, int x, int o, int stride)
{
	Program *p = begin(arena, "conv");
	int width = (x + 2 - 3) / stride + 1;
	int data = buffer(arena, p, "data", BUFFER_INPUT, 2, (int[]){c, x});
	int weight =
	    buffer(arena, p, "weight", BUFFER_INPUT, 3, (int[]){o, c, 3});
	int bias = buffer(arena, p, "bias", BUFFER_INPUT, 1, (int[]){o});
	p->buffers[weight].is_const = p->buffers[bias].is_const = true;
	Block *padded =
	    block(arena, p, "padded", BUFFER_TEMP, "cx", 2, (int[]){c, x + 2});
	padded->body = padded_body(arena, data, x);
	Block *conv = block(
	    arena, p, "conv", BUFFER_TEMP, "oxcr", 2, (int[]){o, width, c, 3});
	Expr *ax[4];
	for (int i = 0; i < 4; i++)
		ax[i] = expr_axis(arena, i);
	Expr *at = bin(
	    arena, OP_ADD, bin(arena, OP_MUL, ax[1], ix(arena, stride)), ax[3]);
	conv->body = bin(arena, OP_MUL, read2(arena, padded->buffer, ax[2], at),
	    expr_read(
		arena, DT_F32, weight, (Expr *[]){ax[0], ax[2], ax[3]}, 3));
	Block *out =
	    block(arena, p, "out", BUFFER_OUTPUT, "ox", 2, (int[]){o, width});
	Expr *sum = bin(arena, OP_ADD, read2(arena, conv->buffer, ax[0], ax[1]),
	    read1(arena, bias, ax[0]));
	out->body = expr_call(arena, OP_MAX, DT_F32,
	    (Expr *[]){sum, expr_float(arena, DT_F32, 0)}, 2);
	return p;
}

Program *program_quotient(Arena *arena, int n)
{
	Program *p = begin(arena, "quotient");
	int x = buffer(arena, p, "x", BUFFER_INPUT, 1, (int[]){n / 2 + 4});
	Expr *i = expr_axis(arena, 0);
	Expr *q = bin(arena, OP_FLOORDIV, i, ix(arena, 2));
	Block *half = block(arena, p, "half", BUFFER_TEMP, "i", 1, (int[]){n});
	half->body = bin(arena, OP_ADD, read1(arena, x, q),
	    read1(arena, x, bin(arena, OP_ADD, q, ix(arena, 1))));
	Block *out = block(arena, p, "out", BUFFER_OUTPUT, "i", 1, (int[]){n});
	out->body = bin(arena, OP_MUL, read1(arena, half->buffer, i),
	    read1(arena, x, bin(arena, OP_MOD, i, ix(arena, 4))));
	return p;
}

Program *program_softmax(Arena *arena, int rows, int n)
{
	Program *p = begin(arena, "softmax");
	int x = buffer(arena, p, "x", BUFFER_INPUT, 2, (int[]){rows, n});
	Expr *i = expr_axis(arena, 0), *j = expr_axis(arena, 1);
	Block *top =
	    block(arena, p, "top", BUFFER_TEMP, "ij", 1, (int[]){rows, n});
	top->reduce = REDUCE_MAX;
	top->body = read2(arena, x, i, j);
	Block *e = block(arena, p, "e", BUFFER_TEMP, "ij", 2, (int[]){rows, n});
	Expr *less = bin(arena, OP_SUB, read2(arena, x, i, j),
	    read1(arena, top->buffer, i));
	e->body = expr_call(arena, OP_EXP, DT_F32, &less, 1);
	Block *total =
	    block(arena, p, "total", BUFFER_TEMP, "ij", 1, (int[]){rows, n});
	total->body = read2(arena, e->buffer, i, j);
	Block *out =
	    block(arena, p, "out", BUFFER_OUTPUT, "ij", 2, (int[]){rows, n});
	out->body = bin(arena, OP_DIV, read2(arena, e->buffer, i, j),
	    read1(arena, total->buffer, i));
	return p;
}

Program *program_moments(Arena *arena, int rows, int n)
{
	Program *p = begin(arena, "moments");
	int x = buffer(arena, p, "x", BUFFER_INPUT, 2, (int[]){rows, n});
	Expr *i = expr_axis(arena, 0), *k = expr_axis(arena, 1);
	Expr *value = read2(arena, x, i, k);
	Block *s =
	    block(arena, p, "s", BUFFER_OUTPUT, "ik", 1, (int[]){rows, n});
	s->body = value;
	Block *q = block(arena, p, "q", BUFFER_TEMP, "ik", 1, (int[]){rows, n});
	q->body = bin(arena, OP_MUL, value, value);
	Block *t =
	    block(arena, p, "t", BUFFER_OUTPUT, "ik", 1, (int[]){rows, n});
	t->body = bin(arena, OP_MUL, value, read1(arena, s->buffer, i));
	Block *u = block(arena, p, "u", BUFFER_OUTPUT, "i", 1, (int[]){rows});
	u->body = bin(arena, OP_MUL, read1(arena, q->buffer, i),
	    read1(arena, s->buffer, i));
	Block *y =
	    block(arena, p, "y", BUFFER_OUTPUT, "ij", 2, (int[]){rows, n});
	y->body = bin(arena, OP_ADD,
	    bin(arena, OP_MUL, value, read1(arena, s->buffer, i)),
	    read1(arena, q->buffer, i));
	p->outputs[0] = y->buffer; /* what reads both comes first */
	p->outputs[p->noutputs - 1] = s->buffer;
	return p;
}

Program *program_triangle(Arena *arena, int n)
{
	Program *p = begin(arena, "triangle");
	int a = buffer(arena, p, "a", BUFFER_INPUT, 2, (int[]){n, n});
	int x = buffer(arena, p, "x", BUFFER_INPUT, 1, (int[]){n});
	Expr *i = expr_axis(arena, 0), *j = expr_axis(arena, 1);
	Block *y =
	    block(arena, p, "y", BUFFER_OUTPUT, "ij", 1, (int[]){n, n});
	y->body = expr_if(arena, bin(arena, OP_LE, j, i),
	    bin(arena, OP_MUL, read2(arena, a, i, j), read1(arena, x, j)),
	    expr_float(arena, DT_F32, 0));
	return p;
}

Program *program_strided(Arena *arena, int n)
{
	Program *p = begin(arena, "strided");
	int x = buffer(arena, p, "x", BUFFER_INPUT, 1, (int[]){3 * n});
	Expr *i = expr_axis(arena, 0);
	Expr *twice = bin(arena, OP_MUL, i, ix(arena, 2));
	Expr *thrice = bin(arena, OP_MUL, i, ix(arena, 3));
	Expr *back = bin(arena, OP_SUB, ix(arena, n - 1), i);
	Block *y = block(arena, p, "y", BUFFER_OUTPUT, "i", 1, (int[]){n});
	y->body = bin(arena, OP_ADD,
	    bin(arena, OP_MUL, read1(arena, x, twice), read1(arena, x, thrice)),
	    read1(arena, x, back));
	return p;
}

Program *program_apart(
    Arena *arena, DType type, int n, const int *step, int inputs)
{
	Program *p = begin(arena, "apart");
	for (int k = 0; k < inputs; k++) {
		int last = 0;
		const int *s = step + 4 * k;
		for (int i = 0; i < n; i++) {
			int at = (s[0] * i + s[1]) / s[2] % s[3];
			last = at > last ? at : last;
		}
		buffer(arena, p, arena_printf(arena, "x%d", k), BUFFER_INPUT, 1,
		    (int[]){last + 1});
	}
	Block *y = block(arena, p, "y", BUFFER_OUTPUT, "i", 1, (int[]){n});
	for (int k = 0; k < inputs; k++) {
		const int *s = step + 4 * k;
		Expr *at = bin(arena, OP_MUL, expr_axis(arena, 0),
		    ix(arena, s[0]));
		at = bin(arena, OP_ADD, at, ix(arena, s[1]));
		at = bin(arena, OP_FLOORDIV, at, ix(arena, s[2]));
		at = bin(arena, OP_MOD, at, ix(arena, s[3]));
		Expr *x = expr_read(arena, type, k, &at, 1);
		y->body = k ? expr_call(arena, OP_MAX, type,
				  (Expr *[]){y->body, x}, 2)
			    : x;
	}
	for (int i = 0; i < p->nbuffers; i++)
		p->buffers[i].type = type;
	return p;
}

Program *program_map(Arena *arena, Op function, DType type, int n)
{
	Program *p = begin(arena, "map");
	int inputs = op_arity(function);
	Expr *arg[2];
	for (int i = 0; i < inputs; i++)
		buffer(arena, p, i ? "e" : "x", BUFFER_INPUT, 1, (int[]){n});
	Block *y = block(arena, p, "y", BUFFER_OUTPUT, "i", 1, (int[]){n});
	for (int i = 0; i < inputs; i++) {
		Expr *at = expr_axis(arena, 0);
		arg[i] = expr_read(arena, type, i, &at, 1);
	}
	for (int i = 0; i < p->nbuffers; i++)
		p->buffers[i].type = type;
	y->body = expr_call(arena, function, type, arg, inputs);
	return p;
}

Program *program_inputs(Arena *arena, int inputs, int n)
{
	Program *p = begin(arena, "inputs");
	p->buffers = NEW_N(arena, Buffer, inputs + 1);
	for (int i = 0; i < inputs; i++)
		buffer(arena, p, arena_printf(arena, "x%d", i), BUFFER_INPUT, 1,
		    (int[]){n});
	Block *y = block(arena, p, "y", BUFFER_OUTPUT, "i", 1, (int[]){n});
	y->body = read1(arena, 0, expr_axis(arena, 0));
	for (int i = 1; i < inputs; i++)
		y->body = bin(arena, OP_ADD, y->body,
		    read1(arena, i, expr_axis(arena, 0)));
	return p;
}

Program *program_doubles(Arena *arena, int blocks, int n)
{
	Program *p = begin(arena, "doubles");
	p->buffers = NEW_N(arena, Buffer, blocks + 1);
	p->blocks = NEW_N(arena, Block, blocks);
	buffer(arena, p, "x", BUFFER_INPUT, 1, (int[]){n});
	for (int k = 0; k < blocks; k++) {
		Block *y = block(arena, p, arena_printf(arena, "y%d", k),
		    k < blocks - 1 ? BUFFER_TEMP : BUFFER_OUTPUT, "i", 1,
		    (int[]){n});
		Expr *x = read1(arena, k, expr_axis(arena, 0));
		y->body = bin(arena, OP_ADD, x, x);
	}
	return p;
}

void program_complete(Arena *arena, Program *p)
{
	p->weight = 1;
	p->ndefinitions = p->nblocks;
	p->definitions = NEW_N(arena, Definition, p->nblocks);
	p->canonical_definition = NEW_N(arena, int, p->nblocks);
	for (int i = 0; i < p->nblocks; i++) {
		Block *b = &p->blocks[i];
		b->definition = p->canonical_definition[i] = i;
		p->definitions[i] = (Definition){.name = b->name,
		    .buffer = b->buffer, .naxes = b->naxes,
		    .nspatial = b->nspatial, .axes = b->axes, .body = b->body};
	}
}
