/* The lowered form as C, operation by operation; it decides nothing.
 *
 *     for i < 64 parallel          static void tunec_f_region0(…)
 *       v = load a[i*8], 8   -->   { … for (int64_t i = thread*64/threads; …)
 *       store b[i*8], v              f32x8 v = *(const f32x8_u *)&a[i*8]; … }
 *
 * A file begins with what its functions need and nothing else: headers
 * (emit_c_headers.c), vector types, helpers. */
#include <string.h>

#include "codegen/c/emit_c.h"
#include "lib/escape.h"
#include "lib/wide.h"

static void comment_line(EmitC *e, const char *text)
{
	Buf safe = {0};
	escape_comment(&safe, text);
	emit_c_line(e, "/* %s */", buf_text(&safe));
	buf_free(&safe);
}

/* --- bodies -------------------------------------------------------------- */

static void emit_body(EmitC *e, const LowBody *body);
static void emit_nodes(EmitC *e, const LowBody *body);

/* Temporaries of this body that are first used further in. */
static void declare_ahead(EmitC *e, const LowBody *body)
{
	const EmitAhead *a = emit_c_first_ahead(e, body);
	for (; a < e->ahead + e->nahead && a->body == body; a++) {
		int i = a->temp;
		if (e->declared[i])
			continue;
		emit_c_line(e, "%s;", emit_c_place(e, i));
		if (!e->is_read[i])
			emit_c_line(e, "(void)%s;", e->temp[i]);
	}
}

/* What a sum never exceeds. */
static int64_t most_of(const EmitC *e, const LowAffine *sum)
{
	Wide most = sum->constant;
	for (int i = 0; i < sum->n; i++) {
		const LowRange *r = &e->ranges[sum->terms[i].temp];
		Wide k = sum->terms[i].coefficient;
		if (!r->known)
			return INT64_MAX;
		most += k * (k < 0 ? r->least : r->most);
	}
	return wide_fits(most) ? (int64_t)most : INT64_MAX;
}

/* The end of a loop: its extent, or the least of that and the limit, which may
 * never be more. */
static const char *loop_end(EmitC *e, const LowNode *n)
{
	const char *extent =
	    arena_printf(e->arena, "%lld", (long long)n->extent);
	if (!n->limit)
		return extent;
	e->conditional = true;
	LowAffine limit = emit_c_sum(e, n->limit);
	const char *text = emit_c_affine(e, n->limit);
	if (most_of(e, &limit) <= n->extent)
		return text;
	const char *end = emit_c_name(e,
	    arena_printf(e->arena, "%s_end", e->f->temps.at[n->var].wish));
	emit_c_line(e, "int64_t %s = %s(%s, %s);", end,
	    emit_c_index_extreme(e, false), text, extent);
	return end;
}

/* Does the text from there on say one thing, in a line or a loop?  Not an `if`,
 * which the next `else` might be taken for. */
static bool is_one_statement(const EmitC *e, size_t from)
{
	const char *text = e->out->data + from, *inner = text + e->depth;
	size_t tabs = (size_t)e->depth + 1;
	bool loop = !strncmp(inner, "for (", 5);
	if (!loop && !strncmp(inner, "if (", 4))
		return false;
	const char *end = strchr(text, '\n');
	if (!end[1])
		return end[-1] == ';';
	if (!loop || end[-1] == '{')
		return false;
	for (const char *line = end + 1; *line; line = strchr(line, '\n') + 1)
		if (strspn(line, "\t") < tabs)
			return false;
	return true;
}

/* What other pieces or iterations read as well is read again: without it compilers keep
 * it, in registers that sums need, or on the stack. */
static void put_again(EmitC *e)
{
	if (e->isa.plain)
		return;
	if (emit_c_first(e, "TUNEC_AGAIN"))
		buf_puts(&e->prelude,
		    "/* What was read before is not kept, but read again. */\n"
		    "#ifdef __GNUC__\n#define TUNEC_AGAIN() "
		    "__atomic_signal_fence(__ATOMIC_ACQ_REL)\n"
		    "#else\n#define TUNEC_AGAIN() ((void)0)\n#endif\n");
	emit_c_line(e, "TUNEC_AGAIN();");
}

static bool adds_to_itself(const LowNode *n)
{
	for (int i = 0; i < 3; i++)
		if (n->arg[i] == n->dst)
			return true;
	return false;
}

enum { SEVERAL = 4, FEW = 4 };

/* Does a body, in branches too, add to several vectors?  Those that are found, each
 * once. */
static bool adds_to_several(
    const EmitC *e, const LowBody *body, int found[SEVERAL], int *n)
{
	for (int i = 0; i < body->n && *n < SEVERAL; i++) {
		const LowNode *node = body->at[i];
		int k = 0;
		if (node->kind == LOWNODE_IF) {
			adds_to_several(e, &node->body, found, n);
			adds_to_several(e, &node->other, found, n);
		}
		if (node->kind != LOWNODE_OP || node->dst < 0 ||
		    *n == SEVERAL || e->f->temps.at[node->dst].lanes == 1 ||
		    !adds_to_itself(node))
			continue;
		while (k < *n && found[k] != node->dst)
			k++;
		if (k == *n)
			found[(*n)++] = node->dst;
	}
	return *n == SEVERAL;
}

/* A loop that carries several vectors of sums has the copies that it needs: clang
 * would make more of them, and of its loads, and gcc at -O3 as many as it has
 * iterations, if these are few.  Of the fewest they may make none. */
static void put_rolled(EmitC *e, const LowNode *n)
{
	int found[SEVERAL], nfound = 0;
	if (!e->isa.vector_bytes || n->extent <= FEW ||
	    !adds_to_several(e, &n->body, found, &nfound))
		return;
	if (emit_c_first(e, "TUNEC_ROLLED"))
		buf_puts(&e->prelude,
		    "/* The loop has copies enough. */\n"
		    "#ifdef __clang__\n#define TUNEC_ROLLED "
		    "_Pragma(\"clang loop unroll(disable)\")\n"
		    "#elif __GNUC__ >= 8\n#define TUNEC_ROLLED "
		    "_Pragma(\"GCC unroll 1\")\n"
		    "#else\n#define TUNEC_ROLLED\n#endif\n");
	emit_c_line(e, "TUNEC_ROLLED");
}

/* What follows "for (…)", in braces where it is more than one thing. */
static void put_block(EmitC *e, const LowBody *body, bool again,
    const char *head, const char *comment)
{
	Buf safe = {0};
	buf_puts(&safe, comment ? " /* " : "");
	escape_comment(&safe, comment ? comment : "");
	buf_puts(&safe, comment ? " */" : "");
	emit_c_line(e, "%s {%s", head, buf_text(&safe));
	size_t from = e->out->size, tail = safe.size + 1;
	buf_free(&safe);
	e->depth++;
	if (again)
		put_again(e);
	emit_body(e, body);
	bool one = e->out->size > from && is_one_statement(e, from);
	e->depth--;
	if (!one) {
		emit_c_line(e, "}");
		return;
	}
	char *brace = e->out->data + from - tail - 2; /* " {" */
	memmove(brace, brace + 2, e->out->size - from + tail + 1);
	e->out->size -= 2;
}

/* A piece that is a loop so that what it reads is its own: in C it is none. */
static bool runs_once(const EmitC *e, const LowNode *n)
{
	return n->extent == 1 && !n->limit && n->loop == LOOP_SERIAL &&
	    !e->plan[n->var].reads;
}

static void put_loop(
    EmitC *e, const LowNode *n, const char *from, const char *end)
{
	const char *var = e->temp[n->var];
	put_rolled(e, n);
	put_block(e, &n->body, emit_c_reads_ahead(e, n),
	    arena_printf(e->arena, "for (int64_t %s = %s; %s < %s; %s++)", var,
		from, var, end, var),
	    n->comment);
}

static void name_variable(EmitC *e, const LowNode *n)
{
	e->temp[n->var] = emit_c_name(e, e->f->temps.at[n->var].wish);
}

static void emit_serial(EmitC *e, const LowNode *n)
{
	if (runs_once(e, n)) {
		put_again(e);
		emit_nodes(e, &n->body);
		return;
	}
	const char *end = loop_end(e, n);
	EmitBases outer = e->bases;
	emit_c_find_rows(e, n);
	emit_c_open_names(e);
	name_variable(e, n);
	put_loop(e, n, "0", end);
	emit_c_close_names(e);
	e->bases = outer;
}

/* Thread t of T runs t*E/T to (t+1)*E/T - 1. */
static void emit_partition(EmitC *e, const LowNode *n)
{
	const char *end = loop_end(e, n);
	name_variable(e, n);
	if (strpbrk(end, " "))
		end = arena_printf(e->arena, "(%s)", end);
	put_loop(e, n, arena_printf(e->arena, "thread*%s/threads", end),
	    arena_printf(e->arena, "(thread + 1)*%s/threads", end));
}

/* --- buffers and arguments ----------------------------------------------- */

typedef struct {
	bool *buffer, *param; /* used by a piece of code */
	int workspace;	      /* the parameter; -1 */
} Used;

static void used_body(EmitC *e, const LowBody *body, bool regions, Used *used);

static void used_buffer(EmitC *e, int buffer, Used *used)
{
	if (buffer < 0)
		return;
	const LowBuffer *b = &e->f->buffers.at[buffer];
	int param = b->kind == LOWBUF_PARAM ? b->param : used->workspace;
	used->buffer[buffer] = true;
	if (param >= 0)
		used->param[param] = true;
}

static bool is_region(const EmitC *e, const LowNode *n)
{
	return n->kind == LOWNODE_LOOP && n->loop == LOOP_PARALLEL &&
	    e->f->nthreads > 1 && !e->in_region;
}

static void used_body(EmitC *e, const LowBody *body, bool regions, Used *used)
{
	for (int i = 0; i < body->n; i++) {
		const LowNode *n = body->at[i];
		if (n->kind == LOWNODE_OP && low_op_has_buffer(n->op) &&
		    !emit_c_is_left_out(e, n))
			used_buffer(e, n->buffer, used);
		if (n->kind != LOWNODE_LOOP && n->kind != LOWNODE_IF)
			continue;
		if (!regions && is_region(e, n))
			continue;
		used_body(e, &n->body, regions, used);
		used_body(e, &n->other, regions, used);
	}
}

static Used used_new(EmitC *e)
{
	const LowFunction *f = e->f;
	Used used = {NEW_N(e->arena, bool, f->buffers.n + 1),
	    NEW_N(e->arena, bool, f->params.n + 1), -1};
	for (int p = 0; p < f->params.n; p++)
		if (f->params.at[p].workspace)
			used.workspace = p;
	return used;
}

static const char *buffer_place(EmitC *e, const LowBuffer *b, const char *base)
{
	if (b->thread_bytes && e->in_region)
		return arena_printf(e->arena, "%s + %lld + thread*%lld", base,
		    (long long)b->offset, (long long)b->thread_bytes);
	if (b->offset)
		return arena_printf(
		    e->arena, "%s + %lld", base, (long long)b->offset);
	return base;
}

static void declare_buffers(EmitC *e, const Used *used)
{
	const LowFunction *f = e->f;
	for (int i = 0; i < f->buffers.n; i++) {
		const LowBuffer *b = &f->buffers.at[i];
		if (!used->buffer[i] || emit_c_is_argument(f, b))
			continue;
		const char *constant = emit_c_is_const(e, b) ? "const " : "";
		const char *type = dtype_ctype(b->type);
		int p = b->kind == LOWBUF_PARAM ? b->param : used->workspace;
		const char *base = arena_printf(
		    e->arena, "(%schar *)%s", constant, e->param[p]);
		const char *place = buffer_place(e, b, base);
		emit_c_line(e, "%s%s *%s = (%s%s *)%s%s%s;", constant, type,
		    e->buffer[i], constant, type, place == base ? "" : "(",
		    place == base ? e->param[p] : place,
		    place == base ? "" : ")");
	}
}

static const char *param_type(const LowFunction *f, const LowParam *p)
{
	if (p->workspace || (f->role == LOWFN_PACK && p->output))
		return "void *";
	if (p->is_const_input && f->role == LOWFN_KERNEL)
		return "const void *";
	return NULL;
}

static void put_param(
    Buf *out, const LowFunction *f, const LowParam *p, const char *name)
{
	const char *type = param_type(f, p);
	if (type)
		buf_printf(out, "%s%s", type, name);
	else
		buf_printf(out, "%s%s *%s", p->output ? "" : "const ",
		    dtype_ctype(p->type), name);
}

void emit_c_signature(
    Buf *out, const LowFunction *f, const char *const *names)
{
	buf_printf(out, "void %s(", f->name);
	for (int i = 0; i < f->params.n; i++) {
		buf_puts(out, i ? ", " : "");
		put_param(out, f, &f->params.at[i], names[i]);
	}
	buf_puts(out, ")");
}

/* --- parallel regions ---------------------------------------------------- */

static void put_capture(EmitC *e, Buf *takes, Buf *call, int temp)
{
	bool wide = e->f->temps.at[temp].lanes > 1;
	const char *between = takes->size ? ", " : "";
	buf_printf(takes, wide ? "%sconst %s *tunec_%s" : "%s%s %s", between,
	    emit_c_type(e, temp), e->temp[temp]);
	buf_printf(call, "%s%s%s", between, wide ? "&" : "", e->temp[temp]);
}

/* What the region reads, as parameters and as arguments; a vector goes by its
 * address, since no function takes one. */
static void put_arguments(EmitC *e, const LowNode *n, const Used *used,
    const IntVec *captures, Buf *takes, Buf *call)
{
	(void)n;
	for (int p = 0; p < e->f->params.n; p++) {
		if (!used->param[p])
			continue;
		const char *between = takes->size ? ", " : "";
		buf_puts(takes, between);
		put_param(takes, e->f, &e->f->params.at[p], e->param[p]);
		buf_printf(call, "%s%s", between, e->param[p]);
	}
	for (int i = 0; i < captures->n; i++)
		put_capture(e, takes, call, captures->at[i]);
}

static void put_region_body(
    EmitC *e, const LowNode *n, const Used *used, const IntVec *captures)
{
	emit_c_line(e, "int64_t thread = TUNEC_THREAD, threads = TUNEC_THREADS;");
	for (int i = 0; i < captures->n; i++) {
		int t = captures->at[i];
		if (e->f->temps.at[t].lanes > 1)
			emit_c_line(e, "%s %s = *tunec_%s;", emit_c_type(e, t),
			    e->temp[t], e->temp[t]);
	}
	declare_buffers(e, used);
	emit_partition(e, n);
}

static void put_fence(EmitC *e)
{
	if (e->streams)
		buf_puts(e->out,
		    "#ifdef TUNEC_X86\n\t_mm_sfence();\n#endif\n");
	e->streams = false;
}

static void emit_region(EmitC *e, const LowNode *n)
{
	Used used = used_new(e);
	used_body(e, &n->body, true, &used);
	IntVec captures = {0};
	emit_c_captures(e, n, &captures);
	Buf takes = {0}, call = {0};
	put_arguments(e, n, &used, &captures, &takes, &call);
	const char *name = arena_printf(
	    e->arena, "tunec_%s_region%d", e->f->name, e->nregions++);

	emit_c_end_list(e);
	emit_c_open_names(e);
	Buf *outer = e->out;
	int depth = e->depth;
	bool streams = e->streams;
	e->out = &e->regions;
	e->depth = 1;
	e->in_region = e->omp = true;
	e->streams = false;
	EmitBases bases = e->bases;
	e->bases = (EmitBases){0};
	buf_printf(e->out, "static TUNEC_FUNCTION void %s(%s)\n{\n", name,
	    takes.size ? buf_text(&takes) : "void");
	put_region_body(e, n, &used, &captures);
	emit_c_close_names(e);
	put_fence(e);
	buf_puts(e->out, "}\n\n");
	e->out = outer;
	e->bases = bases;
	e->depth = depth;
	e->in_region = false;
	e->streams = streams;

	buf_printf(e->out,
	    "#ifdef _OPENMP\n#pragma omp parallel num_threads(%d)\n#endif\n",
	    e->f->nthreads);
	emit_c_line(e, "%s(%s);", name, buf_text(&call));
	buf_free(&takes);
	buf_free(&call);
}

/* --- nodes --------------------------------------------------------------- */

/* Of what any lane asks for hardly any ever does: without being told compilers keep
 * what is around it out of registers, for the calls inside. */
static bool is_rare(const EmitC *e, const LowNode *n)
{
	const LowNode *def =
	    n->kind == LOWNODE_IF ? e->plan[n->condition].def : NULL;
	return def && def->op == LOW_ANY && !e->isa.plain;
}

static const char *condition_text(EmitC *e, const LowNode *n)
{
	const char *text = emit_c_text(e, n->condition, LEVEL_CHOICE);
	return is_rare(e, n)
	    ? arena_printf(e->arena, "__builtin_expect(%s, 0)", text)
	    : text;
}

static bool assigns(const LowBody *body, int temp)
{
	for (int i = 0; i < body->n; i++)
		if (body->at[i]->dst == temp ||
		    assigns(&body->at[i]->body, temp) ||
		    assigns(&body->at[i]->other, temp))
			return true;
	return false;
}

enum { ADDITIONS = 5 }; /* fewest of a sum that is kept */

static bool is_kept(const EmitC *e, int temp)
{
	const LowTemp *t = &e->f->temps.at[temp];
	int bytes = t->lanes * dtype_bytes(t->type);
	return t->lanes > 1 && bytes >= 16 && bytes <= e->isa.vector_bytes;
}

static void keep(EmitC *e, int temp)
{
	e->kept = true;
	emit_c_line(e, "TUNEC_KEPT(%s);", emit_c_text(e, temp, LEVEL_PRIMARY));
}

/* Sums that are stored under an `if`: clang puts their additions there as well, and
 * keeps all that these add until then, which is more than there are registers. */
static void keep_sums(EmitC *e, const LowBody *body)
{
	for (int i = 0; i < body->n; i++) {
		const LowNode *n = body->at[i];
		if (n->kind != LOWNODE_OP || n->op != LOW_STORE)
			continue;
		if (is_kept(e, n->arg[0]) &&
		    e->plan[n->arg[0]].assigned > ADDITIONS &&
		    !assigns(body, n->arg[0]))
			keep(e, n->arg[0]);
	}
}

/* Neither ends a row of `if`s of what is rare. */
static bool is_between(const EmitC *e, const LowNode *n)
{
	return n->kind == LOWNODE_OP &&
	    (n->op == LOW_ANY || emit_c_is_left_out(e, n));
}

/* What some `if`s one behind the other, of what is rare, say in another way: clang
 * computes each behind the `if` before its own, and so one after the other. */
static void keep_results(EmitC *e, const LowBody *body, int at)
{
	const LowBody before = {.at = body->at, .n = at};
	LowBody inside = {0};
	int ifs = 0;
	for (int i = at; i < body->n; i++) {
		const LowNode *n = body->at[i];
		if (!is_rare(e, n) && !is_between(e, n))
			break;
		ifs += n->kind == LOWNODE_IF;
		for (int k = 0; k < n->body.n; k++)
			vec_push(e->arena, &inside, n->body.at[k]);
	}
	for (int i = 0; ifs > 1 && i < inside.n; i++) {
		int temp = inside.at[i]->dst;
		if (temp >= 0 && is_kept(e, temp) && assigns(&before, temp))
			keep(e, temp);
	}
}

static void emit_if(EmitC *e, const LowNode *n, const LowBody *all)
{
	if (e->isa.x86 && !n->other.n)
		keep_sums(e, all);
	const char *head =
	    arena_printf(e->arena, "if (%s)", condition_text(e, n));
	e->conditional = true;
	if (!n->other.n) {
		put_block(e, all, false, head, NULL);
		return;
	}
	emit_c_line(e, "%s {", head);
	e->depth++;
	emit_body(e, &n->body);
	e->depth--;
	emit_c_line(e, "} else {");
	e->depth++;
	emit_body(e, &n->other);
	e->depth--;
	emit_c_line(e, "}");
}

static void emit_node(EmitC *e, const LowNode *n)
{
	switch (n->kind) {
	case LOWNODE_OP:
		emit_c_op(e, n);
		return;
	case LOWNODE_LOOP:
		if (is_region(e, n))
			emit_region(e, n);
		else
			emit_serial(e, n);
		return;
	case LOWNODE_IF:
		emit_if(e, n, &n->body);
		return;
	case LOWNODE_COMMENT:
		comment_line(e, n->comment);
		return;
	}
}

/* Without an `else`, and only operations inside. */
static bool is_plain_if(const LowNode *n)
{
	if (n->kind != LOWNODE_IF || n->other.n)
		return false;
	for (int i = 0; i < n->body.n; i++)
		if (n->body.at[i]->kind != LOWNODE_OP)
			return false;
	return true;
}

/* One `if` behind another under the same condition: what both say, and the place
 * of the last; 0: there is no other. */
static int join_ifs(EmitC *e, const LowBody *body, int at, LowBody *all)
{
	const LowNode *first = body->at[at];
	int last = 0;
	if (!is_plain_if(first) ||
	    e->plan[first->condition].assigned != 1)
		return 0;
	for (int i = at; i < body->n; i++) {
		const LowNode *n = body->at[i];
		if (n->kind == LOWNODE_OP && emit_c_is_left_out(e, n))
			continue;
		if (!is_plain_if(n) || n->condition != first->condition)
			break;
		last = i > at ? i : 0;
		for (int k = 0; k < n->body.n; k++)
			vec_push(e->arena, all, n->body.at[k]);
	}
	return last;
}

static void emit_nodes(EmitC *e, const LowBody *body)
{
	EmitBases outer = e->bases;
	e->stored = (EmitStored){0};
	declare_ahead(e, body);
	emit_c_find_bases(e, body);
	bool rare = false;
	for (int i = 0; i < body->n; i++) {
		LowBody all = {0};
		int last = join_ifs(e, body, i, &all);
		if (e->isa.x86 && !rare && is_rare(e, body->at[i]))
			keep_results(e, body, i);
		rare = is_rare(e, body->at[i]) ||
		    (rare && is_between(e, body->at[i]));
		if (last) {
			emit_if(e, body->at[i], &all);
			i = last;
		} else {
			emit_node(e, body->at[i]);
		}
	}
	emit_c_end_list(e);
	e->stored = (EmitStored){0};
	e->bases = outer;
}

static void emit_body(EmitC *e, const LowBody *body)
{
	emit_c_open_names(e);
	emit_nodes(e, body);
	emit_c_close_names(e);
}

/* --- functions ----------------------------------------------------------- */

/* gcc's other way of giving out registers is worse for one loop, but keeps sums where
 * they are from one loop or branch to the next. */
static void put_function_attributes(EmitC *e)
{
	bool shares = emit_c_shares_sums(e);
	e->window |= emit_c_adds_window(e);
	if (shares && emit_c_first(e, "TUNEC_SHARED"))
		buf_puts(&e->prelude,
		    "/* Several loops or branches add to the same sums. */\n"
		    "#if defined __GNUC__ && !defined __clang__\n"
		    "#define TUNEC_SHARED \\\n"
		    "\t__attribute__((optimize(\"ira-algorithm=priority\")))\n"
		    "#else\n#define TUNEC_SHARED\n#endif\n");
	buf_puts(e->out,
	    shares ? "TUNEC_FUNCTION TUNEC_SHARED " : "TUNEC_FUNCTION ");
}

static void emit_function(EmitC *e, const LowFunction *f)
{
	/* gcc takes wider ones apart lane by lane; no C compiler knows that buffers
	 * do not overlap. */
	if (e->isa.vector_bytes) {
		f = low_choose_known(e->arena, f);
		f = low_parts(e->arena, f, e->isa.vector_bytes);
		f = low_split_words(e->arena, f, e->isa.vector_bytes);
		f = low_make_wanted(e->arena, f);
		f = low_load_joined(e->arena, f, e->isa.vector_bytes);
		/* AVX-512 chooses and stores by bits, whatever lanes. */
		if (!e->isa.avx512) {
			f = low_choose_wide(e->arena, f, e->isa.vector_bytes);
			f = low_store_few(e->arena, f);
		} else {
			f = low_load_halves(e->arena, f, e->isa.vector_bytes);
		}
		f = low_pair_sums(e->arena, f);
		f = low_interleave(e->arena, f);
		f = low_delay_stores(e->arena, f);
		/* AVX-512 has twice as many registers and reads numbers as
		 * operands. */
		if (!e->isa.avx512)
			f = low_again(e->arena, f, 16, e->isa.vector_bytes);
	}
	e->f = f;
	emit_c_plan(e);
	e->ranges = low_ranges_of(e->arena, f);
	emit_c_prepare(e, f);
	e->nregions = 0;
	e->in_region = e->streams = false;
	Used own = used_new(e), all = used_new(e);
	used_body(e, &f->body, false, &own);
	used_body(e, &f->body, true, &all);

	Buf text = {0};
	e->out = &text;
	e->depth = 1;
	put_function_attributes(e);
	emit_c_signature(e->out, f, e->param);
	buf_puts(e->out, "\n{\n");
	for (int p = 0; p < f->params.n; p++)
		if (!all.param[p])
			emit_c_line(e, "(void)%s;", e->param[p]);
	declare_buffers(e, &own);
	emit_body(e, &f->body);
	put_fence(e);
	buf_puts(e->out, "}\n\n");

	buf_add(&e->code, buf_text(&e->regions), e->regions.size);
	buf_add(&e->code, buf_text(&text), text.size);
	buf_clear(&e->regions);
	buf_free(&text);
}

/* --- the file ------------------------------------------------------------ */

/* Each function is followed by an empty line. */
static void put_file(EmitC *e, Buf *out, const Lowered *const *lowered, int n,
    const EmitComment *comments)
{
	emit_comment(out, lowered, n, comments);
	emit_c_headers(e, out);
	buf_add(out, buf_text(&e->prelude), e->prelude.size);
	if (e->prelude.size)
		buf_putc(out, '\n');
	buf_add(out, buf_text(&e->code), e->code.size);
	buf_free(&e->prelude);
	buf_free(&e->regions);
	buf_free(&e->code);
	arena_free(e->arena);
}

void emit_c_all(Buf *out, const Lowered *const *lowered, int n,
    const Target *target, const EmitComment *comments)
{
	Numerics numerics = n && lowered[0]->program
	    ? lowered[0]->program->numerics
	    : NUMERICS_DEFAULT;
	EmitC e = {.arena = arena_new(),
	    .isa = emit_c_isa(target, numerics),
	    .exact = numerics == NUMERICS_EXACT,
	    .reserved = emit_c_reserved};
	for (int i = 0; i < n; i++) {
		emit_c_name_blocks(&e, lowered[i]->program);
		for (int k = 0; k < lowered[i]->packs.n; k++)
			emit_function(&e, lowered[i]->packs.at[k]);
		emit_function(&e, lowered[i]->kernel);
	}
	if (e.code.size) /* no empty line at the end */
		e.code.data[--e.code.size] = 0;
	put_file(&e, out, lowered, n, comments);
}

void emit_packs(Buf *out, const Lowered *const *lowered, int n,
    const EmitComment *comments)
{
	EmitC e = {.arena = arena_new(),
	    .isa = {.plain = true},
	    .reserved = emit_c_reserved};
	for (int i = 0; i < n; i++) {
		emit_c_name_blocks(&e, lowered[i]->program);
		for (int k = 0; k < lowered[i]->packs.n; k++)
			emit_function(&e, lowered[i]->packs.at[k]);
	}
	put_file(&e, out, lowered, n, comments);
}

void emit_c(Buf *out, const Lowered *lowered, const Target *target,
    const EmitComment *comment)
{
	emit_c_all(out, &lowered, 1, target, comment);
}
