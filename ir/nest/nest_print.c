/* Nests as text: show --stage=schedule.
 *
 *     a: f32[1024, 512] global, input
 *     acc: f32[6, 16] reg, at no
 *     for mo in 171 parallel
 *       ...
 *           acc[i, j] += ap[i, k] * bp[k, j]    i = mo*6 + mi, i < 1024 pad */
#include "ir/nest/nest.h"

static const char *const scope_names[] = {[SCOPE_GLOBAL] = "global",
    [SCOPE_LOCAL] = "local",
    [SCOPE_REG] = "reg",
    [SCOPE_SHARED] = "shared"};
static const char *const tail_names[] = {[TAIL_PEEL] = "peel",
    [TAIL_MASK] = "mask",
    [TAIL_GUARD] = "guard",
    [TAIL_PAD] = "pad"};

/* --- expressions --------------------------------------------------------- */

typedef struct {
	const Nest *nest;
	int stage;
} Place;

static void put_buffer(Buf *out, const ExprNames *names, int buffer)
{
	const Place *at = names->context;
	buf_puts(out, at->nest->buffers.at[buffer].name);
}

static void put_axis(Buf *out, const ExprNames *names, int axis)
{
	const Place *at = names->context;
	buf_puts(out, at->nest->stages.at[at->stage].axes[axis].name);
}

static void put_other(Buf *out, const ExprNames *names, const Expr *e)
{
	const Nest *nest = ((const Place *)names->context)->nest;
	if (e->op == OP_VAR)
		buf_puts(out, nest->vars.at[e->id].name);
	else
		tape_print(out, nest->tape, e->id);
}

static void put_expr(Buf *out, const Nest *nest, int stage, const Expr *e)
{
	Place at = {nest, stage};
	ExprNames names = {.buffer = put_buffer,
	    .axis = put_axis,
	    .other = put_other,
	    .spaced = true,
	    .program = nest->program,
	    .context = &at};
	expr_print_names(out, &names, e);
}

/* --- buffers ------------------------------------------------------------- */

static void print_handle(Buf *out, const Nest *nest, Handle h)
{
	if (h == HANDLE_NONE)
		buf_putc(out, '?');
	else
		tape_print(out, nest->tape, h);
}

static void print_layout(Buf *out, const Nest *nest, const NestBuffer *b)
{
	int64_t div;
	buf_puts(out, ", layout ");
	for (int i = 0; i < b->nparts; i++) {
		const LayoutPart *p = &b->parts[i];
		buf_printf(out, "[%d", p->dim);
		if (!tape_is_const(nest->tape, p->div, &div) || div != 1) {
			buf_puts(out, "//");
			print_handle(out, nest, p->div);
		}
		if (p->mod != HANDLE_NONE) {
			buf_putc(out, '%');
			print_handle(out, nest, p->mod);
		}
		buf_putc(out, ']');
	}
}

static bool is_row_major(const NestBuffer *b)
{
	for (int i = 0; i < b->nparts; i++)
		if (b->parts[i].dim != i)
			return false;
	return b->nparts == b->ndim;
}

static void print_buffer(Buf *out, const Nest *nest, const NestBuffer *b)
{
	buf_printf(out, "%s: %s[", b->name, dtype_name(b->type));
	for (int d = 0; d < b->ndim; d++) {
		if (d)
			buf_puts(out, ", ");
		print_handle(out, nest, b->extent[d]);
	}
	buf_printf(out, "] %s", scope_names[b->scope]);
	if (b->alloc >= 0)
		buf_printf(out, ", at %s", nest->vars.at[b->alloc].name);
	if (!is_row_major(b))
		print_layout(out, nest, b);
	if (b->align_part >= 0) {
		buf_printf(out, ", stride %d aligned to ", b->align_part);
		print_handle(out, nest, b->align_factor);
		buf_puts(out, " + ");
		print_handle(out, nest, b->align_offset);
	}
	if (b->swizzle)
		buf_printf(out, ", rows of %d bytes swizzled", b->swizzle);
	if (b->slots != HANDLE_NONE) {
		buf_puts(out, ", for ");
		print_handle(out, nest, b->slots);
		buf_puts(out, " iterations at once");
	}
	buf_putc(out, '\n');
}

/* --- stages -------------------------------------------------------------- */

static void indent(Buf *out, int depth)
{
	for (int i = 0; i < depth; i++)
		buf_puts(out, "  ");
}

static void print_loop(Buf *out, const Nest *nest, int var, int depth)
{
	const Var *v = &nest->vars.at[var];
	indent(out, depth);
	buf_printf(out, "for %s in ", v->name);
	print_handle(out, nest, v->extent);
	if (v->kind != LOOP_SERIAL)
		buf_printf(out, " %s", loop_kind_name(v->kind));
	if (v->unroll_limit != HANDLE_NONE) {
		buf_puts(out, " unroll to ");
		print_handle(out, nest, v->unroll_limit);
	}
	for (int i = 0; i < v->nparts; i++)
		buf_printf(out, "%s%s", i ? ", " : " of ",
		    nest->vars.at[v->parts[i]].name);
	buf_putc(out, '\n');
}

static const char *assignment(const Stage *s)
{
	switch (s->reduce) {
	case REDUCE_SUM:
		return "+=";
	case REDUCE_PROD:
		return "*=";
	case REDUCE_MAX:
		return "max=";
	case REDUCE_MIN:
		return "min=";
	default:
		return "=";
	}
}

static void print_axes(Buf *out, const Nest *nest, int stage, int depth)
{
	const Stage *s = &nest->stages.at[stage];
	for (int i = 0; i < s->naxes; i++) {
		const StageAxis *a = &s->axes[i];
		const Var *root = &nest->vars.at[a->var];
		bool fused = root->how == VAR_FUSED && root->div == HANDLE_NONE;
		if (fused || (root->how == VAR_LOOP && !a->start))
			continue;
		indent(out, depth);
		buf_printf(out, "%s = ", a->name);
		put_expr(
		    out, nest, stage, nest_axis_value(nest, stage, i));
		if (a->below || a->above)
			buf_printf(out, "   where %s%s",
			    a->below ? "0 <= " : "", a->name);
		if (a->above)
			buf_printf(out, " < %lld", (long long)a->extent);
		buf_putc(out, '\n');
	}
}

static void print_statement(Buf *out, const Nest *nest, int stage, int depth)
{
	const Stage *s = &nest->stages.at[stage];
	bool partial = false;
	for (int i = 0; i < s->naxes; i++)
		partial |= s->axes[i].below || s->axes[i].above;
	indent(out, depth);
	buf_printf(out, "%s[", nest->buffers.at[s->buffer].name);
	for (int i = 0; i < s->nwrite; i++) {
		if (i)
			buf_puts(out, ", ");
		put_expr(out, nest, stage, s->write[i]);
	}
	buf_printf(out, "] %s ", assignment(s));
	put_expr(out, nest, stage, s->body);
	if (nest->inferred && partial)
		buf_printf(out, "   %s", tail_names[s->tail]);
	if (s->fill) {
		buf_puts(out, "   fill ");
		put_expr(out, nest, stage, s->fill);
	}
	buf_putc(out, '\n');
}

static void print_body(Buf *out, const Nest *nest, int stage, int depth)
{
	if (nest->inferred)
		print_axes(out, nest, stage, depth);
	print_statement(out, nest, stage, depth);
	for (int i = 0; i < nest->order.n; i++)
		if (nest->stages.at[nest->order.at[i]].with == stage)
			print_statement(out, nest, nest->order.at[i], depth);
}

static void print_stage(Buf *out, const Nest *nest, int stage, int depth);

static void print_hung(
    Buf *out, const Nest *nest, int loop, bool after, int depth)
{
	for (int i = 0; i < nest->order.n; i++) {
		const Stage *s = &nest->stages.at[nest->order.at[i]];
		if (s->place == loop && s->after == after && s->with < 0)
			print_stage(out, nest, nest->order.at[i], depth);
	}
}

static void print_stage(Buf *out, const Nest *nest, int stage, int depth)
{
	const Stage *s = &nest->stages.at[stage];
	indent(out, depth);
	buf_printf(out, "# %s%s", s->name, s->ahead ? ", ahead" : "");
	for (int i = 0; i < nest->order.n; i++)
		if (nest->stages.at[nest->order.at[i]].with == stage)
			buf_printf(out, ", %s",
			    nest->stages.at[nest->order.at[i]].name);
	buf_putc(out, '\n');
	for (int i = 0; i < s->nloops; i++) {
		if (s->loops[i] == s->init_at) {
			indent(out, depth + i);
			buf_printf(
			    out, "init %s\n", nest->buffers.at[s->buffer].name);
		}
		print_loop(out, nest, s->loops[i], depth + i);
		print_hung(out, nest, s->loops[i], false, depth + i + 1);
	}
	print_body(out, nest, stage, depth + s->nloops);
	for (int i = s->nloops - 1; i >= 0; i--)
		print_hung(out, nest, s->loops[i], true, depth + i + 1);
	if (s->barrier) {
		indent(out, depth);
		buf_puts(out, "barrier\n");
	}
}

static bool is_used(const Nest *nest, const NestBuffer *b)
{
	return b->writer < 0 || nest->stages.at[b->writer].live;
}

static void print_parts(Buf *out, const Nest *nest)
{
	for (int i = 0; i < nest->nparts; i++) {
		buf_printf(out, "%s# group %s\n", i ? "\n" : "",
		    nest->parts[i]->program->name);
		nest_print(out, nest->parts[i]);
	}
}

void nest_print(Buf *out, const Nest *nest)
{
	if (nest->nparts) {
		print_parts(out, nest);
		return;
	}
	for (int i = 0; i < nest->buffers.n; i++)
		if (is_used(nest, &nest->buffers.at[i]))
			print_buffer(out, nest, &nest->buffers.at[i]);
	for (int i = 0; i < nest->order.n; i++)
		if (nest->stages.at[nest->order.at[i]].place < 0 &&
		    nest->stages.at[nest->order.at[i]].with < 0)
			print_stage(out, nest, nest->order.at[i], 0);
	for (int i = 0; i < nest->guards.n; i++) {
		buf_puts(out, "guard ");
		tape_print(out, nest->tape, nest->guards.at[i].value);
		buf_printf(out, ": %s\n", nest->guards.at[i].why);
	}
}
