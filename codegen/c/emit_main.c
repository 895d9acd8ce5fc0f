/* SYMBOL_main.c: a program that fills the inputs from a seed, runs the kernel
 * and the plain loop nest of the operator, compares them and times the kernel.
 * It does so twice, first with inputs that have runs of zeros, of one number, of
 * tiny and of infinite ones, then with uniform ones.  It needs the kernel's object
 * or .c and libm, not its header.
 *
 * What differs is settled by further runs of the nest in f64, in which each value
 * is off by as much as rounding leaves it: where a sum cancels, what it divides may
 * be anything.
 *
 * In the plain nest a value of f16 or bf16 is a float that the type can hold. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "codegen/c/emit_c.h"
#include "lib/escape.h"

typedef struct {
	EmitC c;  /* its prelude has the helpers */
	const Program *p;
	const Program
	    *noisy; /* what is written as p is, in f64; NULL: p is it */
	const Block *block;
	bool is_noisy; /* a float was read */
} EmitMain;

/* --- names --------------------------------------------------------------- */

static const char *identifier(EmitMain *m, const char *prefix, int n, const char *name)
{
	char *text = arena_printf(m->c.arena, "%s%d_%s", prefix, n, name);
	for (char *c = text; *c; c++)
		if (*c == '~')
			*c = '_';
	return text;
}

static const char *buffer_name(EmitMain *m, int buffer)
{
	bool noisy = m->noisy && buffer >= m->p->ninputs;
	return identifier(
	    m, noisy ? "n" : "b", buffer, m->p->buffers[buffer].name);
}

static const char *axis_name(EmitMain *m, int axis)
{
	return identifier(m, "i", axis, m->block->axes[axis].name);
}

static const char *string_text(EmitMain *m, const char *value)
{
	Buf text = {0};
	escape_c_string(&text, value);
	const char *kept = arena_strdup(m->c.arena, buf_text(&text));
	buf_free(&text);
	return kept;
}

/* The type that stands for a dtype in the nest. */
static DType held(DType type)
{
	return dtype_is_half(type) ? DT_F32 : type;
}

static const char *held_ctype(DType type)
{
	return type == DT_INDEX ? "int64_t" : type == DT_BOOL ? "bool"
	    : dtype_ctype(held(type));
}

static const char *suffix(DType type)
{
	return dtype_name(held(type));
}

static int64_t elements(const Buffer *b)
{
	int64_t n = 1;
	for (int d = 0; d < b->ndim; d++)
		n *= b->shape[d];
	return n;
}

static int64_t bytes_of(const Buffer *b)
{
	return elements(b) * dtype_bytes(b->type);
}

/* --- noise ---------------------------------------------------------------- */

/* A value of a buffer as rounding may have left it: what an input is rounded by is
 * the operations' on it. */
static const char *noisy(EmitMain *m, int buffer, const char *text)
{
	DType type = m->noisy->buffers[buffer].type;
	if (buffer < m->p->ninputs && dtype_is_half(type))
		type = DT_F32;
	m->is_noisy = true;
	return arena_printf(
	    m->c.arena, "tunec_about(%s, %.3g)", text, dtype_epsilon(type));
}

/* --- expressions --------------------------------------------------------- */

static const char *convert(
    EmitMain *m, DType from, DType to, const char *text)
{
	if (from == to)
		return text;
	const char *value = emit_c_convert(&m->c, held(from), to, text);
	if (dtype_is_half(to))
		return arena_printf(m->c.arena, "%s(%s)",
		    emit_c_half(&m->c, to, DT_F32), value);
	return arena_printf(m->c.arena, "(%s)", value);
}

static const char *literal(EmitMain *m, const Expr *e)
{
	if (e->op == OP_INT && !dtype_is_float(e->type))
		return e->type == DT_U64
		    ? arena_printf(m->c.arena, "UINT64_C(%llu)",
			  (unsigned long long)e->i)
		    : e->i == INT64_MIN ? "INT64_MIN"
		    : arena_printf(m->c.arena, "%s(INT64_C(%lld))",
			  e->type == DT_INDEX
			      ? "" : arena_printf(m->c.arena, "(%s)",
					 held_ctype(e->type)),
			  (long long)e->i);
	double f = e->op == OP_INT ? (double)e->i : e->f;
	const char *text = emit_c_float(&m->c, held(e->type), f);
	return isfinite(f) && !signbit(f) ? text
	    : arena_printf(m->c.arena, "((%s)%s)", held_ctype(e->type), text);
}

static const char *text_of(EmitMain *m, const Expr *e);

static const char *read_text(EmitMain *m, const Expr *e)
{
	const Buffer *b = &m->p->buffers[e->id];
	const char *index = "0";
	for (int d = 0; d < b->ndim; d++)
		index = d ? arena_printf(m->c.arena, "(%s)*%lld + %s", index,
				(long long)b->shape[d], text_of(m, e->arg[d]))
			  : text_of(m, e->arg[d]);
	const char *text = arena_printf(
	    m->c.arena, "%s[%s]", buffer_name(m, e->id), index);
	if (dtype_is_half(b->type))
		text = arena_printf(m->c.arena, "%s(%s)",
		    emit_c_half(&m->c, b->type, DT_F32), text);
	if (b->type == DT_BOOL)
		return arena_printf(m->c.arena, "(%s != 0)", text);
	return m->noisy && dtype_is_float(b->type) ? noisy(m, e->id, text)
						   : text;
}

/* min, max, abs and clamp as functions, so that no argument is copied. */
static const char *function(EmitMain *m, Op op, DType type)
{
	const char *ctype = held_ctype(type);
	const char *name = arena_printf(
	    m->c.arena, "tunec_%s_%s", op_name(op), suffix(type));
	if (!emit_c_first(&m->c, name))
		return name;
	bool clamp = op == OP_CLAMP;
	bool wide = type == DT_INDEX || dtype_bytes(type) == 8;
	const char *unsigned_type = wide ? "uint64_t" : "uint32_t";
	Buf *out = &m->c.prelude;
	buf_printf(out, "static %s %s(%s a", ctype, name, ctype);
	if (op == OP_ABS)
		buf_printf(out, ")\n{\n\treturn a < 0 ? (%s)(0 - (%s)a) : a;\n}\n\n",
		    ctype, unsigned_type);
	else if (clamp)
		buf_printf(out,
		    ", %s lo, %s hi)\n{\n\t%s x = a > lo ? a : lo;\n"
		    "\treturn x < hi ? x : hi;\n}\n\n",
		    ctype, ctype, ctype);
	else
		buf_printf(out, ", %s b)\n{\n\treturn a %c b ? a : b;\n}\n\n",
		    ctype, op == OP_MIN ? '<' : '>');
	return name;
}

static const char *infix(Op op)
{
	switch (op) {
	case OP_AND: return "&&";
	case OP_OR: return "||";
	default: return op_name(op);
	}
}

static const char *arithmetic(EmitMain *m, const Expr *e)
{
	const char *a = text_of(m, e->arg[0]);
	const char *b = e->narg > 1 ? text_of(m, e->arg[1]) : NULL;
	const char *sign = op_name(e->op);
	if (dtype_is_float(e->type) || e->type == DT_INDEX)
		return b ? arena_printf(m->c.arena, "(%s %s %s)", a, sign, b)
			 : arena_printf(m->c.arena, "(-%s)", a);
	const char *u = dtype_bytes(e->type) == 8 ? "uint64_t" : "uint32_t";
	const char *type = held_ctype(e->type);
	return b ? arena_printf(m->c.arena, "((%s)((%s)%s %s (%s)%s))", type, u,
		       a, sign, u, b)
		 : arena_printf(m->c.arena, "((%s)(0 - (%s)%s))", type, u, a);
}

static const char *call(EmitMain *m, const Expr *e)
{
	Expr *data = expr_divides_u64(e);
	const char *a = text_of(m, data ? data : e->arg[0]);
	const char *b = e->narg > 1 ? text_of(m, e->arg[1]) : NULL;
	Arena *arena = m->c.arena;
	switch (e->op) {
	case OP_MIN:
	case OP_MAX:
		return arena_printf(arena, "%s(%s, %s)",
		    function(m, e->op, e->type), a, b);
	case OP_CLAMP:
		return arena_printf(arena, "%s(%s, %s, %s)",
		    function(m, e->op, e->type), a, b, text_of(m, e->arg[2]));
	case OP_ABS:
		if (dtype_is_unsigned(e->type))
			return a;
		if (!dtype_is_float(e->type))
			return arena_printf(arena, "%s(%s)",
			    function(m, e->op, e->type), a);
		m->c.math = true;
		return arena_printf(arena, "fabs%s(%s)",
		    held(e->type) == DT_F32 ? "f" : "", a);
	case OP_FLOORDIV:
	case OP_MOD:
		return arena_printf(arena, "%s%s(%s, %s)",
		    data ? "(int64_t)" : "",
		    emit_c_floordiv(&m->c, data ? DT_U64 : e->type,
			e->op == OP_MOD), a, b);
	default:
		return arena_printf(arena, "(%s)",
		    emit_c_math(&m->c, e->op, held(e->type), a, b));
	}
}

/* What is shifted goes by a number modulo the width. */
static const char *bits(EmitMain *m, const Expr *e)
{
	Arena *arena = m->c.arena;
	int width = 8 * dtype_bytes(e->type);
	const char *type = held_ctype(e->type);
	const char *a = text_of(m, e->arg[0]);
	if (e->op == OP_POPCOUNT)
		return arena_printf(arena, "((%s)%s((uint%d_t)%s))", type,
		    emit_c_popcount(&m->c, width), width, a);
	const char *b = text_of(m, e->arg[1]);
	if (e->op == OP_SHIFT_RIGHT)
		return arena_printf(
		    arena, "(%s >> (%s & %d))", a, b, width - 1);
	if (e->op == OP_SHIFT_LEFT)
		return arena_printf(arena, "((%s)((uint%d_t)%s << (%s & %d)))",
		    type, width, a, b, width - 1);
	return arena_printf(arena, "(%s %c %s)", a,
	    e->op == OP_BIT_AND ? '&' : e->op == OP_BIT_OR ? '|' : '^', b);
}

static const char *text_of(EmitMain *m, const Expr *e)
{
	Arena *arena = m->c.arena;
	switch (e->op) {
	case OP_INT:
	case OP_FLOAT:
		return literal(m, e);
	case OP_AXIS:
		return axis_name(m, e->id);
	case OP_READ:
		return read_text(m, e);
	case OP_CAST:
		if (e->type == DT_INDEX && e->arg[0]->type == DT_U64)
			return arena_printf(arena, "(int64_t)%s(%s, INT64_MAX)",
			    function(m, OP_MIN, DT_U64), text_of(m, e->arg[0]));
		return convert(m, e->arg[0]->type, e->type,
		    arena_printf(arena, "(%s)", text_of(m, e->arg[0])));
	case OP_NOT:
		return arena_printf(arena, "(!%s)", text_of(m, e->arg[0]));
	case OP_NEG:
	case OP_ADD:
	case OP_SUB:
	case OP_MUL:
	case OP_DIV:
		return arithmetic(m, e);
	case OP_LT:
	case OP_LE:
	case OP_GT:
	case OP_GE:
	case OP_EQ:
	case OP_NE:
	case OP_AND:
	case OP_OR: {
		const char *a = text_of(m, e->arg[0]);
		return arena_printf(arena, "(%s %s %s)", a, infix(e->op),
		    text_of(m, e->arg[1]));
	}
	case OP_IF: {
		const char *a = text_of(m, e->arg[0]);
		const char *b = text_of(m, e->arg[1]);
		return arena_printf(
		    arena, "(%s ? %s : %s)", a, b, text_of(m, e->arg[2]));
	}
	default:
		return op_kind(e->op) == OPKIND_BITS ? bits(m, e) : call(m, e);
	}
}

/* --- the plain nest ------------------------------------------------------ */

static void put_loops(EmitMain *m, int from, int to)
{
	for (int i = from; i < to; i++) {
		const char *name = axis_name(m, i);
		emit_c_line(&m->c, "for (int64_t %s = 0; %s < %lld; %s++) {",
		    name, name, (long long)m->block->axes[i].extent, name);
		m->c.depth++;
	}
}

static void put_loop_ends(EmitMain *m, int n)
{
	for (int i = 0; i < n; i++) {
		m->c.depth--;
		emit_c_line(&m->c, "}");
	}
}

static void put_store(EmitMain *m, const char *value)
{
	const Buffer *b = &m->p->buffers[m->block->buffer];
	const char *index = "0";
	for (int d = 0; d < b->ndim; d++)
		index = d ? arena_printf(m->c.arena, "(%s)*%lld + %s", index,
				(long long)b->shape[d], axis_name(m, d))
			  : axis_name(m, d);
	if (dtype_is_half(b->type))
		value = emit_c_convert(&m->c, DT_F32, b->type, value);
	emit_c_line(&m->c, "%s[%s] = %s;", buffer_name(m, m->block->buffer),
	    index, value);
}

static const char *step(EmitMain *m, DType type, const char *value)
{
	Arena *arena = m->c.arena;
	const char *u = dtype_bytes(type) == 8 ? "uint64_t" : "uint32_t";
	char sign = m->block->reduce == REDUCE_SUM ? '+' : '*';
	if (m->block->reduce == REDUCE_MAX || m->block->reduce == REDUCE_MIN)
		return arena_printf(arena, "%s(%s, sum)",
		    function(m, m->block->reduce == REDUCE_MAX ? OP_MAX : OP_MIN,
			type),
		    value);
	if (dtype_is_float(type))
		return arena_printf(arena, "sum %c %s", sign, value);
	return arena_printf(arena, "(%s)((%s)sum %c (%s)%s)",
	    held_ctype(type), u, sign, u, value);
}

static void put_block(EmitMain *m, const Block *block)
{
	m->block = block;
	DType type = m->p->buffers[block->buffer].type;
	bool reduces = block->reduce != REDUCE_NONE;
	bool scope = reduces && !block->nspatial; /* for `sum`: no loop is one */
	put_loops(m, 0, block->nspatial);
	if (scope) {
		emit_c_line(&m->c, "{");
		m->c.depth++;
	}
	if (reduces)
		emit_c_line(&m->c, "%s sum = %s;", held_ctype(type),
		    text_of(m, expr_identity(m->c.arena, block->reduce, type)));
	put_loops(m, block->nspatial, block->naxes);
	const char *value = convert(m, block->body->type, type,
	    arena_printf(m->c.arena, "(%s)", text_of(m, block->body)));
	if (reduces)
		emit_c_line(&m->c, "sum = %s;", step(m, type, value));
	else
		put_store(m, value);
	put_loop_ends(m, block->naxes - block->nspatial);
	if (reduces)
		put_store(m, "sum");
	put_loop_ends(m, block->nspatial + scope);
}

static void put_nest(EmitMain *m, const char *name, const char *what)
{
	emit_c_line(&m->c, "/* The operator as it is written%s. */", what);
	emit_c_line(&m->c, "static void %s(void)\n{", name);
	m->c.depth = 1;
	for (int i = 0; i < m->p->nblocks; i++)
		put_block(m, &m->p->blocks[i]);
	m->c.depth = 0;
	emit_c_line(&m->c, "}\n");
}

/* --- tolerance ----------------------------------------------------------- */

/* The coarsest float that is computed, and the reductions' lengths. */
static double tolerance(const Program *p)
{
	double e = 0, length = 0;
	for (int i = 0; i < p->nblocks; i++) {
		const Block *b = &p->blocks[i];
		double n = 1;
		for (int a = b->nspatial; a < b->naxes; a++)
			n *= (double)b->axes[a].extent;
		length += n;
		double mine = dtype_epsilon(p->buffers[b->buffer].type);
		e = mine > e ? mine : e;
	}
	return e * (32 + 4 * length);
}

/* --- the program --------------------------------------------------------- */

static void put_buffers(EmitMain *m, Buf *out)
{
	for (int i = 0; i < m->p->nbuffers; i++)
		buf_printf(out, "static %s *%s;\n",
		    dtype_ctype(m->p->buffers[i].type), buffer_name(m, i));
	for (int i = 0; i < m->p->noutputs; i++) {
		int b = m->p->outputs[i];
		buf_printf(out, "static %s *tunec_out%d;\n",
		    dtype_ctype(m->p->buffers[b].type), i);
	}
	for (int i = 0; i < m->p->ninputs; i++)
		if (m->p->buffers[i].is_const)
			buf_printf(out, "static void *tunec_packed%d;\n", i);
	buf_puts(out, "static void *tunec_workspace;\n\n");
}

static void put_noise(EmitMain *m, Buf *out)
{
	for (int b = m->p->ninputs; b < m->p->nbuffers; b++)
		buf_printf(out, "static %s *%s;\n",
		    dtype_ctype(m->p->buffers[b].type), buffer_name(m, b));
	if (!m->is_noisy)
		return;
	buf_puts(out,
	    "\nTUNEC_HELPER double tunec_about(double x, double share)\n{\n"
	    "\tstatic uint64_t dice = 1;\n"
	    "\tdice = dice * 6364136223846793005u + 1442695040888963407u;\n"
	    "\treturn x * (1 + share * ((double)(int64_t)dice * 0x1p-63));\n"
	    "}\n\n");
}

static void put_call(EmitMain *m, Buf *out, const Lowered *l)
{
	buf_printf(out, "static void tunec_call(void)\n{\n\t%s(", l->kernel->name);
	for (int i = 0; i < m->p->ninputs; i++)
		if (m->p->buffers[i].is_const)
			buf_printf(out, "tunec_packed%d, ", i);
		else
			buf_printf(out, "%s, ", buffer_name(m, i));
	for (int i = 0; i < m->p->noutputs; i++)
		buf_printf(out, "tunec_out%d, ", i);
	buf_puts(out, "tunec_workspace);\n}\n\n");
}

static const char *integer_text(EmitMain *m, const Buffer *b, long long row)
{
	bool byte = dtype_bytes(b->type) == 1;
	bool is_signed = !dtype_is_unsigned(b->type);
	return arena_printf(m->c.arena,
	    "(%s)tunec_integer(i, %lld, %lld, %d, %d)", dtype_ctype(b->type),
	    row, (long long)elements(b),
	    b->type == DT_BOOL ? 0
		: !is_signed   ? 0
		: byte	       ? -128
			       : -64,
	    b->type == DT_BOOL ? 1
		: !is_signed   ? 255
		: byte	       ? 127
			       : 63);
}

static const char *fill_text(EmitMain *m, const Buffer *b)
{
	long long row = b->ndim ? (long long)b->shape[b->ndim - 1] : 1;
	const char *x = arena_printf(m->c.arena, "tunec_value(i, %lld, %lld)",
	    row, (long long)elements(b));
	switch (b->type) {
	case DT_F64: return x;
	case DT_F32: return arena_printf(m->c.arena, "(float)%s", x);
	case DT_F16:
	case DT_BF16:
		return arena_printf(m->c.arena, "%s(%s)",
		    emit_c_half(&m->c, DT_F64, b->type), x);
	default: return integer_text(m, b, row);
	}
}

static void put_setup(EmitMain *m, Buf *out, const Lowered *l)
{
	buf_puts(out, "static void tunec_setup(void)\n{\n");
	for (int i = 0; i < m->p->nbuffers; i++)
		buf_printf(out, "\t%s = tunec_memory(%lld);\n",
		    buffer_name(m, i), (long long)bytes_of(&m->p->buffers[i]));
	for (int i = 0; i < m->p->noutputs; i++)
		buf_printf(out, "\ttunec_out%d = tunec_memory(%lld);\n", i,
		    (long long)bytes_of(&m->p->buffers[m->p->outputs[i]]));
	for (int i = 0; i < l->packs.n; i++)
		buf_printf(out, "\ttunec_packed%d = tunec_memory(%lld);\n",
		    l->packs.at[i]->pack_input, (long long)l->packed_bytes[i]);
	buf_printf(out, "\ttunec_workspace = tunec_memory(%lld);\n}\n\n",
	    (long long)l->workspace_bytes);
}

static void put_fill(EmitMain *m, Buf *out, const Lowered *l)
{
	buf_printf(out, "static void tunec_fill(bool special)\n{\n\t%s;\n",
	    m->p->ninputs ? "tunec_special = special" : "(void)special");
	for (int i = 0; i < m->p->ninputs; i++) {
		const Buffer *b = &m->p->buffers[i];
		buf_printf(out,
		    "\tfor (int64_t i = 0; i < %lld; i++)\n\t\t%s[i] = %s;\n",
		    (long long)elements(b), buffer_name(m, i), fill_text(m, b));
	}
	for (int i = 0; i < l->packs.n; i++) {
		int input = l->packs.at[i]->pack_input;
		buf_printf(out, "\t%s(%s, tunec_packed%d);\n",
		    l->packs.at[i]->name, buffer_name(m, input), input);
	}
	buf_puts(out, "}\n\n");
}

static bool has_input(const Program *p, bool of_floats)
{
	for (int i = 0; i < p->ninputs; i++)
		if (dtype_is_float(p->buffers[i].type) == of_floats)
			return true;
	return false;
}

/* A value of an output as a double. */
static const char *as_double(EmitMain *m, DType type, const char *text)
{
	if (!dtype_is_half(type))
		return arena_printf(m->c.arena, "(double)%s", text);
	return arena_printf(m->c.arena, "(double)%s(%s)",
	    emit_c_half(&m->c, type, DT_F32), text);
}

static void put_check(EmitMain *m, Buf *out)
{
	/* an integer made of a float may be off by one */
	bool floats = tolerance(m->p) > 0 || has_input(m->p, true);
	buf_puts(out, "static int tunec_check(void)\n{\n\tint wrong = 0;\n");
	for (int i = 0; i < m->p->noutputs; i++) {
		int b = m->p->outputs[i];
		const Buffer *buffer = &m->p->buffers[b];
		const char *got = as_double(m, buffer->type,
		    arena_printf(m->c.arena, "tunec_out%d[i]", i));
		const char *want = as_double(m, buffer->type,
		    arena_printf(m->c.arena, "%s[i]", buffer_name(m, b)));
		long long n = elements(buffer);
		buf_printf(out,
		    "\ttunec_scale = 0;\n"
		    "\ttunec_may = tunec_may%d;\n"
		    "\tfor (int64_t i = 0; i < %lld; i++)\n"
		    "\t\ttunec_measure(%s);\n"
		    "\tfor (int64_t i = 0; i < %lld; i++)\n"
		    "\t\twrong += tunec_differ(%s, i, %s,\n\t\t    %s, %d);\n",
		    i, n, want, n, string_text(m, buffer->name), got, want,
		    floats && !dtype_is_float(buffer->type));
	}
	buf_puts(out, "\treturn wrong;\n}\n\n");
}

/* Only where something differs: as many more nests. */
static void put_settle(EmitMain *m, Buf *out)
{
	for (int i = 0; i < m->p->noutputs; i++)
		buf_printf(out, "static TunecMay *tunec_may%d;\n", i);
	buf_puts(out, "\nstatic void tunec_settle(void)\n{\n");
	for (int b = m->p->ninputs; b < m->p->nbuffers; b++)
		buf_printf(out, "\t%s = tunec_memory(%lld);\n",
		    buffer_name(m, b), (long long)bytes_of(&m->p->buffers[b]));
	for (int i = 0; i < m->p->noutputs; i++)
		buf_printf(out,
		    "\ttunec_may%d = tunec_memory(%lld * sizeof(TunecMay));\n",
		    i, (long long)elements(&m->p->buffers[m->p->outputs[i]]));
	buf_puts(out, "\tfor (int k = 0; k < 8; k++) {\n\t\ttunec_noisy();\n");
	for (int i = 0; i < m->p->noutputs; i++) {
		int b = m->p->outputs[i];
		bool single = dtype_is_float(m->noisy->buffers[b].type) &&
		    m->noisy->buffers[b].type != DT_F64;
		buf_printf(out,
		    "\t\tfor (int64_t i = 0; i < %lld; i++)\n"
		    "\t\t\ttunec_widen(&tunec_may%d[i], k, (double)%s%s[i]);\n",
		    (long long)elements(&m->p->buffers[b]), i,
		    single ? "(float)" : "", buffer_name(m, b));
	}
	buf_puts(out, "\t}\n}\n\nstatic void tunec_forget(void)\n{\n");
	for (int b = m->p->ninputs; b < m->p->nbuffers; b++)
		buf_printf(out, "\tfree(%s);\n", buffer_name(m, b));
	for (int i = 0; i < m->p->noutputs; i++)
		buf_printf(
		    out, "\tfree(tunec_may%d);\n\ttunec_may%d = NULL;\n", i, i);
	buf_puts(out, "}\n\n");
}

static const char tools[] =
    "/* What several noisy nests make of an element; any: both and NaN. */\n"
    "typedef struct {\n\tdouble low, high;\n} TunecMay;\n"
    "static TunecMay *tunec_may; /* of the output at hand */\n\n"
    "static void tunec_widen(TunecMay *may, int k, double x)\n{\n"
    "\tif (k == 0)\n\t\tmay->low = may->high = x;\n"
    "\telse if ((x != x) != (may->low != may->low)) {\n"
    "\t\tmay->low = -INFINITY;\n\t\tmay->high = INFINITY;\n\t}\n"
    "\tif (x < may->low)\n\t\tmay->low = x;\n"
    "\tif (x > may->high)\n\t\tmay->high = x;\n}\n\n"
    "/* Is it as far off as they are, or infinite where what divides changes its\n"
    " * sign or is 0, of whatever sign? */\n"
    "static bool tunec_excused(TunecMay may, double got)\n{\n"
    "\tdouble away = 16 * (may.high - may.low);\n"
    "\tif (got == may.low || may.high - may.low > DBL_MAX)\n\t\treturn true;\n"
    "\tif (!(got - got == 0))\n"
    "\t\treturn (may.low < 0 && may.high > 0) || got == -may.low;\n"
    "\treturn got >= may.low - away && got <= may.high + away;\n}\n\n"
    "static void *tunec_memory(size_t bytes)\n{\n"
    "\tsize_t size = (bytes + 64) / 64 * 64;\n"
    "\tvoid *p = aligned_alloc(64, size);\n"
    "\tif (!p) {\n\t\tfprintf(stderr, \"out of memory\\n\");\n"
    "\t\texit(1);\n\t}\n"
    "\treturn memset(p, 0xa5, size);\n}\n\n"
    "static double tunec_now(void)\n{\n\tstruct timespec t;\n"
    "\ttimespec_get(&t, TIME_UTC);\n"
    "\treturn (double)t.tv_sec + (double)t.tv_nsec * 1e-9;\n}\n\n"
    "static double tunec_scale;   /* the largest number of an output */\n"
    "static double tunec_largest; /* error, as a share of what is allowed */\n\n"
    "static void tunec_measure(double want)\n{\n"
    "\tdouble size = want < 0 ? -want : want;\n"
    "\tif (size > tunec_scale && size <= DBL_MAX)\n\t\ttunec_scale = size;\n"
    "}\n\n"
    "static int tunec_differ(\n"
    "    const char *name, int64_t i, double got, double want, double least)\n"
    "{\n"
    "\tdouble allowed = TUNEC_TOLERANCE * (1 + tunec_scale);\n"
    "\tif (allowed < least)\n\t\tallowed = least;\n"
    "\tdouble error = got < want ? want - got : got - want;\n"
    "\tif (got == want || (want != want && (got != got || TUNEC_MAY_HIDE_NAN)))\n"
    "\t\treturn 0;\n"
    "\tif (error <= allowed) {\n"
    "\t\tif (error > tunec_largest * allowed)\n\t\t\ttunec_largest = error / allowed;\n"
    "\t\treturn 0;\n\t}\n"
    "\tif (tunec_may && tunec_excused(tunec_may[i], got))\n\t\treturn 0;\n"
    "\tstatic int shown;\n"
    "\tif (tunec_may && shown++ < 10)\n"
    "\t\tprintf(\"%s[%lld] is %.9g, not %.9g\\n\", name, (long long)i, got,\n"
    "\t\t    want);\n"
    "\treturn 1;\n}\n\n";

static const char next[] =
    "static uint64_t tunec_next(void)\n{\n"
    "\tstatic uint64_t state = 1;\n"
    "\tuint64_t x = state += 0x9e3779b97f4a7c15u;\n"
    "\tx = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;\n"
    "\tx = (x ^ (x >> 27)) * 0x94d049bb133111ebu;\n"
    "\treturn x ^ (x >> 31);\n}\n\n";

static const char runs[] =
    "/* Runs of one kind, a quarter of the rows one each. */\n"
    "enum { TUNEC_ZERO, TUNEC_SAME = 3, TUNEC_TINY = 5, TUNEC_SUBNORMAL,\n"
    "\tTUNEC_ANY, TUNEC_KINDS = 12 };\n"
    "static bool tunec_special;\n"
    "static int tunec_kind;\n"
    "static int64_t tunec_end;\n\n"
    "static bool tunec_run(int64_t i, int64_t row, int64_t n)\n{\n"
    "\tif (i && i < tunec_end && (i % row || tunec_end - i >= row))\n"
    "\t\treturn false;\n"
    "\tuint64_t x = tunec_next(), most = n < 256 ? (uint64_t)n / 4 + 1 : 64;\n"
    "\ttunec_kind = tunec_special && n >= 8 ? (int)(x % TUNEC_KINDS) : TUNEC_ANY;\n"
    "\ttunec_end = i + 1 + (int64_t)((x >> 8) % most);\n"
    "\tif (i % row == 0 && n / row >= 4 && x >> 62 == 0)\n"
    "\t\ttunec_end = i + row;\n"
    "\treturn true;\n}\n\n";

static const char value[] =
    "static double tunec_value(int64_t i, int64_t row, int64_t n)\n{\n"
    "\tstatic double same;\n"
    "\tstatic int64_t infinite;\n"
    "\tdouble u = (double)(int64_t)tunec_next() * 0x1p-63; /* -1 to 1 */\n"
    "\tif (i == 0)\n"
    "\t\tinfinite = (int64_t)(tunec_next() % (uint64_t)n);\n"
    "\tif (tunec_run(i, row, n))\n"
    "\t\tsame = u < 0 ? (int)(u * 16) / 4.0 - 0.25 : (int)(u * 16) / 4.0 + 0.25;\n"
    "\tif (!TUNEC_MAY_HIDE_NAN && tunec_special && n >= 64 && i - infinite < 16 &&\n"
    "\t    i >= infinite)\n"
    "\t\treturn INFINITY;\n"
    "\tif (tunec_kind < TUNEC_SAME)\n\t\treturn 0;\n"
    "\tif (tunec_kind < TUNEC_TINY)\n\t\treturn same;\n"
    "\treturn tunec_kind == TUNEC_TINY\t    ? u * 0x1p-24\n"
    "\t    : tunec_kind == TUNEC_SUBNORMAL ? u * 0x1p-126\n"
    "\t\t\t\t\t    : u;\n}\n\n";

static const char integer[] =
    "static int64_t tunec_integer(\n"
    "    int64_t i, int64_t row, int64_t n, int least, int most)\n{\n"
    "\tstatic int64_t same;\n"
    "\tint64_t any = least + (int64_t)(tunec_next() >> 32) % (most - least + 1);\n"
    "\tif (tunec_run(i, row, n))\n\t\tsame = any;\n"
    "\tif (tunec_kind < TUNEC_SAME)\n\t\treturn 0;\n"
    "\tif (tunec_kind < TUNEC_TINY)\n\t\treturn same;\n"
    "\treturn tunec_kind == TUNEC_TINY\t    ? least\n"
    "\t    : tunec_kind == TUNEC_SUBNORMAL ? most\n"
    "\t\t\t\t\t    : any;\n}\n\n";

static const char ending[] =
    "static int tunec_order(const void *a, const void *b)\n{\n"
    "\tdouble x = *(const double *)a, y = *(const double *)b;\n"
    "\treturn (x > y) - (x < y);\n}\n\n"
    "#ifndef TUNEC_SECONDS\n#define TUNEC_SECONDS 0.33\n#endif\n\n"
    "/* The median of the calls of as many seconds. */\n"
    "static double tunec_seconds(void)\n{\n"
    "\tstatic double times[4096];\n"
    "\tint n = 0;\n"
    "\tfor (double start = tunec_now(); n < 3 ||\n"
    "\t     (n < 4096 && tunec_now() - start < TUNEC_SECONDS); n++) {\n"
    "\t\tdouble begin = tunec_now();\n\t\ttunec_call();\n"
    "\t\ttimes[n] = tunec_now() - begin;\n\t}\n"
    "\tqsort(times, (size_t)n, sizeof times[0], tunec_order);\n"
    "\treturn times[n / 2];\n}\n\n"
    "int main(void)\n{\n\tint wrong = 0;\n\ttunec_setup();\n"
    "\tfor (int set = TUNEC_SPECIAL; set >= 0; set--) {\n"
    "\t\ttunec_fill(set > 0);\n\t\ttunec_reference();\n\t\ttunec_call();\n"
    "\t\tif (tunec_check() > 0) {\n\t\t\ttunec_settle();\n"
    "\t\t\twrong += tunec_check();\n\t\t\ttunec_forget();\n\t\t}\n\t}\n"
    "\tif (wrong) {\n"
    "\t\tprintf(TUNEC_SYMBOL \": wrong: %d elements differ\\n\", wrong);\n"
    "\t\treturn 1;\n\t}\n"
    "\tdouble t = tunec_seconds();\n"
    "\tprintf(TUNEC_SYMBOL \": ok, largest error %.2g of what is allowed; \"\n"
    "\t\t\"%.6g ms, %.4g GFLOP/s\\n\", tunec_largest, t * 1e3,\n"
    "\t    t > 0 ? TUNEC_FLOPS / t * 1e-9 : 0);\n"
    "\treturn 0;\n}\n";

static bool finds_order(Expr *e, void *found)
{
	*(bool *)found |= e->op == OP_REDUCE &&
	    dtype_is_float(e->arg[0]->type) &&
	    (e->reduce.op == REDUCE_PROD || e->reduce.op == REDUCE_ARGMAX ||
		e->reduce.op == REDUCE_ARGMIN);
	return !*(bool *)found;
}

/* Of special inputs: it decides which part of a product overflows, and which of
 * two distances that are equal but for rounding is the first. */
static bool order_decides(const Program *p)
{
	bool found = false;
	for (int i = 0; i < p->ndefinitions; i++)
		expr_walk(p->definitions[i].body, finds_order, &found);
	return found;
}

static void put_head(EmitMain *m, Buf *out, const Lowered *l, double operations)
{
	const Program *p = m->p;
	emit_c_title(out, p);
	buf_printf(out,
	    ", by tunec %s: checks the kernel against the plain loop\n"
	    " * nest and times it.\n"
	    " *     cc -O2 -fopenmp %s_main.c %s.c -lm */\n",
	    TUNEC_VERSION, l->kernel->name, l->kernel->name);
	buf_puts(out, "#include <float.h>\n#include <math.h>\n#include <stdbool.h>\n"
	    "#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
	    "#include <string.h>\n#include <time.h>\n\n"
	    "/* Conditions are as they are written, also those that always "
	    "hold. */\n#ifdef __GNUC__\n"
	    "#pragma GCC diagnostic ignored \"-Wtautological-compare\"\n"
	    "#pragma GCC diagnostic ignored \"-Wtype-limits\"\n#endif\n\n");
	buf_puts(out, "#define TUNEC_SYMBOL ");
	escape_c_string(out, l->kernel->name);
	buf_printf(out,
	    "\n#define TUNEC_FLOPS %.0f.0\n"
	    "#define TUNEC_TOLERANCE %.3g\n#define TUNEC_HELPER static inline\n"
	    "#define TUNEC_SPECIAL %d /* are there special inputs? */\n"
	    "#define TUNEC_MAY_HIDE_NAN %d /* as the language allows it */\n\n",
	    operations, tolerance(p), !order_decides(p),
	    program_may_hide_nan(p));
}

static void put_prototypes(Arena *arena, Buf *out, const Lowered *l)
{
	for (int i = -1; i < l->packs.n; i++) {
		const LowFunction *f = i < 0 ? l->kernel : l->packs.at[i];
		const char **names = NEW_N(arena, const char *, f->params.n);
		for (int k = 0; k < f->params.n; k++)
			names[k] = arena_printf(arena, "p%d", k);
		emit_c_signature(out, f, names);
		buf_puts(out, ";\n");
	}
	buf_putc(out, '\n');
}

void emit_main(
    Buf *out, const Lowered *lowered, const Target *target, double operations)
{
	(void)target;
	EmitMain m = {.p = lowered->program};
	m.c.arena = arena_new();
	m.c.isa.plain = true;
	m.c.out = &m.c.code;
	put_nest(&m, "tunec_reference", "");
	m.noisy = lowered->program;
	m.p = program_exact(m.c.arena, lowered->program);
	put_nest(&m, "tunec_noisy", ", in f64, each value off by an ulp");
	Buf setup = {0}, noise = {0}, settle = {0};
	put_noise(&m, &noise);
	put_settle(&m, &settle);
	m.noisy = NULL;
	m.p = lowered->program;
	put_call(&m, &setup, lowered);
	put_setup(&m, &setup, lowered);
	put_fill(&m, &setup, lowered);
	put_check(&m, &setup);

	put_head(&m, out, lowered, operations);
	put_prototypes(m.c.arena, out, lowered);
	buf_add(out, buf_text(&m.c.prelude), m.c.prelude.size);
	put_buffers(&m, out);
	buf_add(out, buf_text(&noise), noise.size);
	buf_add(out, buf_text(&m.c.code), m.c.code.size);
	buf_puts(out, tools);
	buf_add(out, buf_text(&settle), settle.size);
	if (m.p->ninputs) {
		buf_puts(out, next);
		buf_puts(out, runs);
	}
	if (has_input(m.p, true))
		buf_puts(out, value);
	if (has_input(m.p, false))
		buf_puts(out, integer);
	buf_add(out, buf_text(&setup), setup.size);
	buf_puts(out, ending);
	buf_free(&setup);
	buf_free(&noise);
	buf_free(&settle);
	buf_free(&m.c.prelude);
	buf_free(&m.c.code);
	arena_free(m.c.arena);
}
