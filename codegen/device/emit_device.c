/* The lowered form's launches in a language of devices, OpenCL C or CUDA C: a
 * kernel each, operation by operation; it decides nothing.
 *
 *     launch f_k0 grid 8 block 256     __kernel void f_k0(…)
 *       blockIdx.x b < 8               { { const long b = get_group_id(0);
 *         threadIdx.x t < 256   -->        { const long t = get_local_id(0);
 *           v = load a[256*b + t]            float v = a[256*b + t]; …
 *
 * Names, scopes and text are the C emitter's (codegen/c/emit_c_scope.c).  A file
 * includes nothing, and says what no compiler's option decides: which products
 * and sums are one operation.  The groups of a launch of a CPU share the
 * iterations of its parallel loop: group t of T has those from t*E/T on. */
#include <assert.h>

#include "codegen/device/emit_device.h"
#include "lib/escape.h"

static const Dialect dialects[] = {
#define DIALECT(name, part, kernel, function, global, shared, aligned,         \
    barrier, suffix)                                                           \
	{DIALECT_##name, part, kernel, function, global, shared, aligned,      \
	    barrier, suffix},
#include "codegen/device/dialects.def"
#undef DIALECT
};

/* --- bodies -------------------------------------------------------------- */

static void put_body(EmitDevice *e, const LowBody *body);

/* Temporaries of this body that are first used further in. */
static void declare_ahead(EmitDevice *e, const LowBody *body)
{
	for (int i = 0; i < e->c.f->temps.n; i++) {
		if (e->c.scope[i] != body || e->c.starts[i] ||
		    e->c.declared[i] || !e->live[i])
			continue;
		for (int p = 0; p < device_parts(e, i); p++)
			emit_c_line(&e->c, "%s;", device_place(e, i, p));
		e->c.declared[i] = true;
	}
}

static void put_block(EmitDevice *e, const LowBody *body)
{
	e->c.depth++;
	put_body(e, body);
	e->c.depth--;
}

/* The number of a loop's iterations: its extent, or the least of that and the
 * limit. */
static const char *loop_end(EmitDevice *e, const LowNode *n)
{
	const char *extent = device_int(e, n->extent);
	if (!n->limit)
		return extent;
	const char *end = device_text(e, "%s_end", e->c.temp[n->var]);
	const char *type = low_affine_is_narrow(e->c.f, *n->limit, 1)
	    ? "int" : device_type(e, DT_INDEX, 1);
	emit_c_line(&e->c, "%s %s = %s;", type, end,
	    device_affine(e, n->limit));
	emit_c_line(&e->c, "%s = %s < %s ? %s : %s;", end, end, extent, end,
	    extent);
	return end;
}

static void put_loop(EmitDevice *e, const LowNode *n, const char *from,
    const char *to)
{
	const char *var = e->c.temp[n->var];
	emit_c_line(&e->c, "for (%s %s = %s; %s < %s; %s++) {",
	    device_variable(e, n->var), var, from, var, to, var);
	put_block(e, &n->body);
	emit_c_line(&e->c, "}");
}

static void put_parallel(EmitDevice *e, const LowNode *n)
{
	const char *end = loop_end(e, n);
	put_loop(e, n, device_text(e, "tunec_group*%s/tunec_groups", end),
	    device_text(e, "(tunec_group + 1)*%s/tunec_groups", end));
}

/* Of a block or a thread. */
static const char *number_of(EmitDevice *e, LoopKind kind)
{
	int direction = loop_direction(kind);
	bool block = loop_is_block(kind);
	if (e->dialect->name == DIALECT_CUDA)
		return device_text(
		    e, "%sIdx.%c", block ? "block" : "thread", "xyz"[direction]);
	return device_text(
	    e, "get_%s_id(%d)", block ? "group" : "local", direction);
}

/* All threads go through the loop; each has one iteration, or none where there
 * are fewer. */
static void put_bound(EmitDevice *e, const LowNode *n)
{
	const char *type = device_variable(e, n->var), *var = e->c.temp[n->var];
	emit_c_line(&e->c, "{");
	e->c.depth++;
	if (e->live[n->var] || n->limit)
		emit_c_line(&e->c, "const %s %s = (%s)%s;", type, var, type,
		    number_of(e, n->loop));
	if (n->limit) {
		emit_c_line(&e->c, "if (%s < %s) {", var,
		    device_affine(e, n->limit));
		put_block(e, &n->body);
		emit_c_line(&e->c, "}");
	} else {
		put_body(e, &n->body);
	}
	e->c.depth--;
	emit_c_line(&e->c, "}");
}

static void put_if(EmitDevice *e, const LowNode *n)
{
	emit_c_line(&e->c, "if (%s) {", e->c.temp[n->condition]);
	put_block(e, &n->body);
	if (n->other.n) {
		emit_c_line(&e->c, "} else {");
		put_block(e, &n->other);
	}
	emit_c_line(&e->c, "}");
}

static void put_comment(EmitDevice *e, const char *text)
{
	Buf safe = {0};
	escape_comment(&safe, text);
	emit_c_line(&e->c, "/* %s */", buf_text(&safe));
	buf_free(&safe);
}

static void put_node(EmitDevice *e, const LowNode *n)
{
	switch (n->kind) {
	case LOWNODE_OP:
		if (!device_is_dead(e, n))
			device_op(e, n);
		return;
	case LOWNODE_LOOP:
		if (loop_is_bound(n->loop))
			put_bound(e, n);
		else if (n->loop == LOOP_PARALLEL)
			put_parallel(e, n);
		else
			put_loop(e, n, "0", loop_end(e, n));
		return;
	case LOWNODE_IF:
		put_if(e, n);
		return;
	case LOWNODE_COMMENT:
		put_comment(e, n->comment);
		return;
	}
}

static void put_body(EmitDevice *e, const LowBody *body)
{
	declare_ahead(e, body);
	for (int i = 0; i < body->n; i++)
		put_node(e, body->at[i]);
}

/* --- memory -------------------------------------------------------------- */

static void mark_used(const LowBody *body, bool *used)
{
	for (int i = 0; i < body->n; i++) {
		const LowNode *n = body->at[i];
		if (n->kind == LOWNODE_OP && low_op_has_buffer(n->op) &&
		    n->op != LOW_PREFETCH)
			used[n->buffer] = true;
		if (n->kind == LOWNODE_OP && low_op_has_source(n->op))
			used[n->source] = true;
		mark_used(&n->body, used);
		mark_used(&n->other, used);
	}
}

static bool has_parallel(const LowBody *body)
{
	for (int i = 0; i < body->n; i++) {
		const LowNode *n = body->at[i];
		if ((n->kind == LOWNODE_LOOP && n->loop == LOOP_PARALLEL) ||
		    has_parallel(&n->body) || has_parallel(&n->other))
			return true;
	}
	return false;
}

/* A piece of a parameter, or of the workspace. */
static void put_piece(EmitDevice *e, const LowBuffer *b, const char *name)
{
	const LowFunction *f = e->c.f;
	int p = b->param;
	for (int i = 0; b->kind == LOWBUF_WORKSPACE && i < f->params.n; i++)
		if (f->params.at[i].workspace)
			p = i;
	const LowParam *param = &f->params.at[p];
	const char *read_only = param->output || param->workspace ? "" : "const ";
	const char *type = device_text(e, "%s%s%s *", e->dialect->global,
	    read_only, device_element(e, b->type));
	const char *at = e->c.param[p];
	if (b->offset || (b->thread_bytes && e->grouped))
		at = device_text(e, "((%s%schar *)%s + %s)",
		    e->dialect->global, read_only, at, device_int(e, b->offset));
	if (b->thread_bytes && e->grouped)
		at = device_text(e, "(%s + tunec_group*%s)", at,
		    device_int(e, b->thread_bytes));
	emit_c_line(&e->c, "%s%s = (%s)%s;", type, name, type, at);
}

static void put_array(EmitDevice *e, const LowBuffer *b, const char *name)
{
	const char *shared =
	    b->kind == LOWBUF_SHARED ? e->dialect->shared : "";
	const char *aligned = device_text(e, e->dialect->aligned, b->align);
	const char *type = device_element(e, b->type);
	long long elements = (long long)low_buffer_whole(b);
	if (e->dialect->name == DIALECT_CUDA)
		emit_c_line(&e->c, "%s%s %s %s[%lld];", shared, aligned, type,
		    name, elements);
	else
		emit_c_line(&e->c, "%s%s %s[%lld] %s;", shared, type, name,
		    elements, aligned);
}

/* A piece of what the launch gives. */
static void put_dynamic(EmitDevice *e, const LowBuffer *b, const char *name)
{
	const char *type = device_element(e, b->type);
	const char *aligned =
	    device_text(e, e->dialect->aligned, LOW_SHARED_ALIGN);
	assert(e->dialect->name == DIALECT_CUDA);
	if (emit_c_first(&e->c, "tunec_shared"))
		buf_printf(&e->c.prelude,
		    "#ifndef TUNEC_HOST\nextern %s%s unsigned char "
		    "tunec_shared[];\n#endif\n\n",
		    e->dialect->shared, aligned);
	emit_c_line(&e->c, "%s *const %s = (%s *)(tunec_shared + %s);", type,
	    name, type, device_int(e, b->offset));
}

static void put_buffers(EmitDevice *e)
{
	const LowFunction *f = e->c.f;
	bool *used = NEW_N(e->c.arena, bool, f->buffers.n + 1);
	mark_used(&f->body, used);
	for (int i = 0; i < f->buffers.n; i++) {
		const LowBuffer *b = &f->buffers.at[i];
		if (!used[i] || emit_c_is_argument(f, b))
			continue;
		if (b->dynamic)
			put_dynamic(e, b, e->c.buffer[i]);
		else if (b->kind == LOWBUF_SHARED || b->kind == LOWBUF_LOCAL)
			put_array(e, b, e->c.buffer[i]);
		else
			put_piece(e, b, e->c.buffer[i]);
	}
}

/* --- kernels ------------------------------------------------------------- */

/* Inputs and outputs do not overlap; of the workspace pieces may. */
static void put_parameters(EmitDevice *e)
{
	const LowFunction *f = e->c.f;
	const char *apart = e->dialect->name == DIALECT_CUDA ? "__restrict__"
							     : "restrict";
	for (int i = 0; i < f->params.n; i++) {
		const LowParam *p = &f->params.at[i];
		const char *type = device_element(e, p->type);
		bool untyped = p->workspace || p->is_const_input;
		buf_printf(e->c.out, "%s%s%s%s *", i ? ", " : "",
		    e->dialect->global,
		    p->output || p->workspace ? "" : "const ",
		    untyped ? "void" : type);
		buf_printf(e->c.out, "%s%s%s", p->workspace ? "" : apart,
		    p->workspace ? "" : " ", e->c.param[i]);
	}
}

/* Where it pays to ask whether parameters are aligned, the kernel is a function
 * that is there twice. */
static void put_asking(EmitDevice *e, const LowLaunch *launch)
{
	const LowFunction *f = launch->function;
	Buf *out = e->c.out;
	buf_puts(out, "\tconst bool tunec_whole = !((0");
	for (int i = 0; i < f->params.n; i++)
		if (!f->params.at[i].workspace && !f->params.at[i].is_const_input)
			buf_printf(out, " | (unsigned long long)%s",
			    e->c.param[i]);
	buf_printf(out, ") %% %d);\n", launch->aligned);
	for (int whole = 1; whole >= 0; whole--) {
		buf_printf(out, "%s%s_body(", whole
			? "\tif (tunec_whole)\n\t\t" : "\telse\n\t\t",
		    f->name);
		for (int i = 0; i < f->params.n; i++)
			buf_printf(out, "%s, ", e->c.param[i]);
		buf_printf(out, "%s);\n", whole ? "true" : "false");
	}
	buf_puts(out, "}\n\n");
}

static void put_body_of(EmitDevice *e, const LowLaunch *launch)
{
	EmitC *c = &e->c;
	e->grouped = has_parallel(&launch->function->body);
	if (e->grouped) {
		const char *type = device_type(e, DT_INDEX, 1);
		emit_c_line(c, "const %s tunec_groups = %s;", type,
		    device_int(e, launch->grid[0]));
		emit_c_line(c, "const %s tunec_group = (%s)%s;", type, type,
		    number_of(e, LOOP_BLOCK_X));
	}
	put_buffers(e);
	put_body(e, &launch->function->body);
	buf_puts(c->out, "}\n\n");
}

static void put_kernel(EmitDevice *e, const LowLaunch *launch)
{
	const int64_t *b = launch->block;
	const char *name = launch->function->name;
	EmitC *c = &e->c;
	c->out = &c->code;
	c->depth = 1;
	c->reserved = emit_device_reserved;
	emit_c_prepare(c, launch->function);
	device_find_live(e);
	e->aligned =
	    e->dialect->name == DIALECT_CUDA ? launch->aligned : 0;
	if (e->aligned) {
		buf_printf(c->out, "%svoid %s_body(", e->dialect->function,
		    name);
		put_parameters(e);
		buf_puts(c->out, ", const bool tunec_whole)\n{\n");
		put_body_of(e, launch);
	}
	buf_printf(c->out, e->dialect->kernel, (long long)b[0],
	    (long long)b[1], (long long)b[2]);
	buf_printf(c->out, "%s(", name);
	put_parameters(e);
	buf_puts(c->out, ")\n{\n");
	if (e->aligned)
		put_asking(e, launch);
	else
		put_body_of(e, launch);
}

static bool uses(const Lowered *const *lowered, int n, DType type)
{
	for (int i = 0; i < n; i++)
		for (int k = 0; k < lowered[i]->kernel->temps.n; k++)
			if (lowered[i]->kernel->temps.at[k].type == type)
				return true;
	return false;
}

/* What says that no product and sum are made one. */
static void put_options(const EmitDevice *e, Buf *out,
    const Lowered *const *lowered, int n)
{
	if (e->dialect->name != DIALECT_OPENCL)
		return;
	buf_puts(out, "#pragma OPENCL FP_CONTRACT OFF\n");
	if (uses(lowered, n, DT_F64))
		buf_puts(out, "#if __OPENCL_VERSION__ < 120\n"
			      "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
			      "#endif\n");
	buf_putc(out, '\n');
}

void emit_device(Buf *out, const Lowered *const *lowered, int n,
    const Target *target, const EmitComment *comments)
{
	EmitDevice e = {.c = {.arena = arena_new()}};
	e.dialect = &dialects[target->kind == TARGET_CUDA ? DIALECT_CUDA
							  : DIALECT_OPENCL];
	e.cpu = target->kind == TARGET_OPENCL && !target->machine.gpu;
	for (int i = 0; i < n; i++) {
		e.exact = lowered[i]->program->numerics == NUMERICS_EXACT;
		for (int k = 0; k < lowered[i]->launches.n; k++)
			put_kernel(&e, &lowered[i]->launches.at[k]);
	}
	emit_comment(out, lowered, n, comments);
	put_options(&e, out, lowered, n);
	buf_add(out, buf_text(&e.c.prelude), e.c.prelude.size);
	/* without the last empty line */
	buf_add(out, buf_text(&e.c.code), e.c.code.size ? e.c.code.size - 1 : 0);
	buf_free(&e.c.prelude);
	buf_free(&e.c.code);
	arena_free(e.c.arena);
}
