/* Programs made by hand, to schedule. */
#include "test/common_schedule.h"

const Machine test_machine = {.threads = 2,
    .vector_bytes = 32,
    .vector_registers = 16,
    .fma = true,
    .masked = true,
    .gather = true,
    .f16c = true,
    .dots = {{.instructions = 8}, {.instructions = 8}, {.instructions = 8},
	{.instructions = 2}}, /* dot4_u8i8, dot4_i8, dot4_u8, dot2_i16 */
    .fma_per_cycle = 2,
    .fma_latency = 4,
    .l1_bytes = 32 << 10,
    .l2_bytes = 512 << 10,
    .l3_bytes = 16 << 20,
    .l1_ways = 8,
    .line_bytes = 64,
    .clock_ghz = 3};

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

static Buffer buffer(Arena *arena, const char *name, DType type,
    BufferRole role, int ndim, int64_t n0, int64_t n1)
{
	Buffer b = {.name = name, .type = type, .role = role, .ndim = ndim,
	    .block = -1, .shape = NEW_N(arena, int64_t, 2)};

	b.shape[0] = n0;
	b.shape[1] = n1;
	return b;
}

static Axis axis(const char *name, int64_t extent, bool reduce)
{
	return (Axis){name, extent, reduce};
}

static Expr *read2(Arena *arena, DType type, int buffer, int i, int j)
{
	Expr *index[2] = {expr_axis(arena, i), j < 0 ? NULL : expr_axis(arena, j)};

	return expr_read(arena, type, buffer, index, j < 0 ? 1 : 2);
}

/* Every block is a definition of its own. */
static void finish(Arena *arena, Program *p)
{
	static const Source source = {"hand", "", 0};

	p->source = &source;
	p->name = p->symbol = "hand";
	p->case_name = p->doc = "";
	p->weight = 1;
	p->noutputs = 1;
	p->outputs = NEW_N(arena, int, 1);
	p->outputs[0] = p->nbuffers - 1;
	p->ndefinitions = p->nblocks;
	p->definitions = NEW_N(arena, Definition, p->nblocks);
	p->canonical_definition = NEW_N(arena, int, p->nblocks);
	for (int i = 0; i < p->nblocks; i++) {
		Block *b = &p->blocks[i];
		p->buffers[b->buffer].block = b->definition = i;
		p->definitions[i] = (Definition){.name = b->name,
		    .buffer = b->buffer, .naxes = b->naxes,
		    .nspatial = b->nspatial, .axes = b->axes, .body = b->body};
		p->canonical_definition[i] = i;
	}
}

static Block *add_block(Program *p, const char *name, int buffer)
{
	Block *b = &p->blocks[p->nblocks++];

	b->name = name;
	b->buffer = buffer;
	return b;
}

static void set_axes(
    Arena *arena, Block *b, int n, int nspatial, const Axis *axes)
{
	b->naxes = n;
	b->nspatial = nspatial;
	b->axes = arena_memdup(arena, axes, sizeof *axes * (size_t)n);
}

Program *schedule_chain(Arena *a)
{
	enum { A, B, BIAS, P, C, D, OUT };
	Program *p = NEW(a, Program);
	Block *b;

	p->ninputs = 3;
	p->nbuffers = 7;
	p->buffers = NEW_N(a, Buffer, 7);
	p->buffers[A] = buffer(a, "a", DT_F32, BUFFER_INPUT, 2, 7, 16);
	p->buffers[B] = buffer(a, "b", DT_F32, BUFFER_INPUT, 2, 16, 20);
	p->buffers[B].is_const = true;
	p->buffers[BIAS] = buffer(a, "bias", DT_F32, BUFFER_INPUT, 1, 20, 1);
	p->buffers[P] = buffer(a, "p", DT_F32, BUFFER_TEMP, 2, 7, 16);
	p->buffers[C] = buffer(a, "c", DT_F32, BUFFER_TEMP, 2, 7, 20);
	p->buffers[D] = buffer(a, "d", DT_F32, BUFFER_TEMP, 2, 7, 20);
	p->buffers[OUT] = buffer(a, "out", DT_F32, BUFFER_OUTPUT, 2, 20, 7);
	p->blocks = NEW_N(a, Block, 4);

	b = add_block(p, "p", P);
	set_axes(a, b, 2, 2,
	    (Axis[]){axis("i", 7, false), axis("k", 16, false)});
	b->body = expr_binary(a, OP_MUL, read2(a, DT_F32, A, 0, 1),
	    expr_float(a, DT_F32, 2));

	b = add_block(p, "c", C);
	set_axes(a, b, 3, 2,
	    (Axis[]){axis("i", 7, false), axis("j", 20, false),
		axis("k", 16, true)});
	b->reduce = REDUCE_SUM;
	b->body = expr_binary(a, OP_MUL, read2(a, DT_F32, P, 0, 2),
	    read2(a, DT_F32, B, 2, 1));

	b = add_block(p, "d", D);
	set_axes(a, b, 2, 2,
	    (Axis[]){axis("i", 7, false), axis("j", 20, false)});
	b->body = expr_binary(a, OP_ADD, read2(a, DT_F32, C, 0, 1),
	    read2(a, DT_F32, BIAS, 1, -1));

	b = add_block(p, "out", OUT);
	set_axes(a, b, 2, 2,
	    (Axis[]){axis("j", 20, false), axis("i", 7, false)});
	b->body = expr_binary(a, OP_MAX, read2(a, DT_F32, D, 1, 0),
	    expr_float(a, DT_F32, 0));
	finish(a, p);
	return p;
}

Program *schedule_dot(Arena *a)
{
	enum { U, V, G };
	Program *p = NEW(a, Program);
	Block *b;

	p->ninputs = 2;
	p->nbuffers = 3;
	p->buffers = NEW_N(a, Buffer, 3);
	p->buffers[U] = buffer(a, "u", DT_U8, BUFFER_INPUT, 2, 8, 16);
	p->buffers[V] = buffer(a, "v", DT_I8, BUFFER_INPUT, 1, 16, 1);
	p->buffers[G] = buffer(a, "g", DT_I32, BUFFER_OUTPUT, 1, 8, 1);
	p->blocks = NEW_N(a, Block, 1);
	b = add_block(p, "g", G);
	set_axes(a, b, 2, 1, (Axis[]){axis("i", 8, false), axis("k", 16, true)});
	b->reduce = REDUCE_SUM;
	b->body = expr_binary(a, OP_MUL,
	    expr_cast(a, DT_I32, read2(a, DT_U8, U, 0, 1)),
	    expr_cast(a, DT_I32, read2(a, DT_I8, V, 1, -1)));
	finish(a, p);
	return p;
}

/* axis + offset */
static Expr *shifted(Arena *a, int number, int64_t offset)
{
	return expr_binary(a, OP_ADD, expr_axis(a, number),
	    expr_int(a, DT_INDEX, offset));
}

static Expr *read1(Arena *a, int buffer, Expr *index)
{
	return expr_read(a, DT_F32, buffer, &index, 1);
}

static Expr *sum(Arena *a, Expr *x, Expr *y)
{
	return expr_binary(a, OP_ADD, x, y);
}

Program *schedule_stencil(Arena *a, int n)
{
	enum { X, P, Q, S, R };
	Program *p = NEW(a, Program);
	Expr *i = expr_axis(a, 0), *j = expr_axis(a, 1);
	Block *b;

	p->ninputs = 1;
	p->nbuffers = 5;
	p->buffers = NEW_N(a, Buffer, 5);
	p->buffers[X] = buffer(a, "x", DT_F32, BUFFER_INPUT, 1, n + 3, 1);
	p->buffers[P] = buffer(a, "p", DT_F32, BUFFER_TEMP, 1, n + 2, 1);
	p->buffers[Q] = buffer(a, "q", DT_F32, BUFFER_OUTPUT, 1, n + 1, 1);
	p->buffers[S] = buffer(a, "s", DT_F32, BUFFER_TEMP, 1, 3, 1);
	p->buffers[R] = buffer(a, "r", DT_F32, BUFFER_OUTPUT, 2, n, 3);
	p->blocks = NEW_N(a, Block, 4);

	b = add_block(p, "p", P);
	set_axes(a, b, 1, 1, (Axis[]){axis("i", n + 2, false)});
	b->body = sum(a, read1(a, X, i), read1(a, X, shifted(a, 0, 1)));

	b = add_block(p, "q", Q);
	set_axes(a, b, 1, 1, (Axis[]){axis("i", n + 1, false)});
	b->body = expr_binary(a, OP_MUL, read1(a, P, i),
	    read1(a, P, shifted(a, 0, 1)));

	b = add_block(p, "s", S);
	set_axes(a, b, 2, 1,
	    (Axis[]){axis("j", 3, false), axis("i", n + 1, true)});
	b->reduce = REDUCE_SUM;
	b->body = sum(a,
	    expr_binary(a, OP_MUL, read1(a, Q, j),
		read1(a, P, shifted(a, 1, 1))),
	    expr_cast(a, DT_F32, i));

	b = add_block(p, "r", R);
	set_axes(a, b, 2, 2, (Axis[]){axis("i", n, false), axis("j", 3, false)});
	b->body = sum(a,
	    sum(a, read1(a, Q, i), read1(a, Q, shifted(a, 0, 1))),
	    sum(a, read1(a, P, shifted(a, 0, 2)),
		read1(a, S, expr_binary(a, OP_SUB,
		    expr_int(a, DT_INDEX, 2), j))));
	finish(a, p);
	p->noutputs = 2;
	p->outputs = NEW_N(a, int, 2);
	p->outputs[0] = R;
	p->outputs[1] = Q;
	return p;
}

Trace *schedule_steps(Arena *arena, const char *text)
{
	Source source = {"trace", text, strlen(text)};
	Diag diag = {0};
	Trace *trace = trace_parse(
	    arena, &source, (Span){0, source.size}, &diag);

	if (!trace)
		print_message("%s", buf_text(&diag.text));
	assert_non_null(trace);
	diag_free(&diag);
	return trace;
}

/* --- the structure of a nest ------------------------------------------------ */

static void dump_expr(Buf *out, const Expr *e)
{
	buf_printf(out, "%s", op_name(e->op));
	if (e->op == OP_AXIS || e->op == OP_READ)
		buf_printf(out, "#%d", e->id);
	if (e->op == OP_INT)
		buf_printf(out, "%lld", (long long)e->i);
	if (e->op == OP_FLOAT)
		buf_printf(out, "%g", e->f);
	if (e->op == OP_CAST)
		buf_puts(out, dtype_name(e->type));
	buf_puts(out, e->narg ? "(" : " ");
	for (int i = 0; i < e->narg; i++)
		dump_expr(out, e->arg[i]);
	buf_puts(out, e->narg ? ")" : "");
}

static void dump_var(Buf *out, const Nest *nest, int number)
{
	const Var *v = &nest->vars.at[number];

	buf_printf(out, " %s:%s", v->name, loop_kind_name(v->kind));
	if (v->unroll_limit != HANDLE_NONE) {
		buf_puts(out, "<=");
		tape_print(out, nest->tape, v->unroll_limit);
	}
}

static void dump_stage(Buf *out, const Nest *nest, const Stage *s)
{
	buf_printf(out, "%s place %d after %d init %d tail %d unit %d %d copy %d "
	    "buffer %d reduce %d axes %d %d\n ", s->name, s->place, s->after,
	    s->init_at, s->tail, s->tensor_loop, s->intrinsic, s->is_copy,
	    s->buffer, s->reduce, s->nspatial, s->naxes);
	for (int i = 0; i < s->nloops; i++)
		dump_var(out, nest, s->loops[i]);
	buf_puts(out, "\n  ");
	for (int i = 0; i < s->nwrite; i++)
		dump_expr(out, s->write[i]);
	buf_puts(out, "= ");
	dump_expr(out, s->body);
	if (s->fill)
		dump_expr(out, s->fill);
	for (int i = 0; i < s->prefetches.n; i++)
		buf_printf(out, " prefetch %d %d", s->prefetches.at[i].access,
		    s->prefetches.at[i].var);
	buf_putc(out, '\n');
}

static void dump_buffer(Buf *out, const Nest *nest, const NestBuffer *b)
{
	if (b->slots != HANDLE_NONE)
		buf_printf(out, "slots %d ", b->slots);
	buf_printf(out, "%s scope %d writer %d align %d swizzle %d", b->name,
	    b->scope, b->writer, b->align_part, b->swizzle);
	for (int i = 0; i < b->ndim; i++)
		buf_printf(out, " %lld", (long long)b->shape[i]);
	buf_puts(out, ":");
	for (int i = 0; i < b->nparts; i++) {
		buf_printf(out, " %d//", b->parts[i].dim);
		tape_print(out, nest->tape, b->parts[i].div);
		if (b->parts[i].mod == HANDLE_NONE)
			continue;
		buf_putc(out, '%');
		tape_print(out, nest->tape, b->parts[i].mod);
	}
	buf_putc(out, '\n');
}

char *schedule_dump(Arena *arena, const Nest *nest)
{
	Buf out = {0};
	char *text;

	for (int i = 0; i < nest->order.n; i++)
		dump_stage(&out, nest, &nest->stages.at[nest->order.at[i]]);
	for (int i = 0; i < nest->buffers.n; i++)
		dump_buffer(&out, nest, &nest->buffers.at[i]);
	buf_printf(&out, "%d vars %d guards\n", nest->vars.n, nest->guards.n);
	text = arena_strdup(arena, buf_text(&out));
	buf_free(&out);
	return text;
}
