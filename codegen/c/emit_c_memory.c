/* Loads and stores.  Addresses in one body that differ by numbers only are
 * offsets from one pointer:
 *
 *     a[i*512 + k], a[i*512 + k + 512]      float *a_at = &a[i*512 + k];
 *                                     -->   a_at[0], a_at[512]
 *
 * It points at the first of them, so never outside of the buffer where the text
 * did not.  Where the sum is short the buffer itself is as good.
 *
 * Several rows of one buffer that an inner loop goes along have a pointer each
 * before it, for clang adds up their indices in the registers of vectors:
 *
 *                                           x_at = &x[i*512], x_at_1 = &x[m*512];
 *     for k  x[i*512 + k], x[m*512 + k] --> for k  x_at[k], x_at_1[k]
 *
 * and so has one whose elements are found by indices that the loop reads, since
 * clang adds the row to each of them: h[i*256 + index] --> h_at[index]. */
#include <string.h>

#include "codegen/c/emit_c_operands.h"

bool emit_c_is_const(const EmitC *e, const LowBuffer *b)
{
	const LowParam *p = &e->f->params.at[b->param];
	return b->kind == LOWBUF_PARAM && !p->output && !p->workspace;
}

/* --- pointers ------------------------------------------------------------- */

static bool is_same_sum(const LowAffine *a, const LowAffine *b)
{
	LowAffine x = *a, y = *b;
	x.constant = y.constant = 0;
	return low_affine_equal(x, y);
}

static EmitBase *base_in(EmitBases *bases, int buffer, const LowAffine *sum)
{
	for (int i = 0; i < bases->n; i++)
		if (bases->at[i].buffer == buffer && bases->at[i].along < 0 &&
		    is_same_sum(&bases->at[i].from, sum))
			return &bases->at[i];
	return NULL;
}

/* The sum without a variable; its coefficient, or 0. */
static int64_t split_off(
    EmitC *e, const LowAffine *sum, int var, LowAffine *rest)
{
	for (int i = 0; i < sum->n; i++) {
		if (sum->terms[i].temp != var)
			continue;
		int64_t k = sum->terms[i].coefficient;
		LowTerm term = {var, 1};
		*rest = low_affine_add(
		    e->arena, *sum, (LowAffine){0, 1, &term}, -k);
		return k;
	}
	return 0;
}

static bool is_among(const LowAffine *sum, const LowTerm *term)
{
	for (int i = 0; i < sum->n; i++)
		if (sum->terms[i].temp == term->temp &&
		    sum->terms[i].coefficient == term->coefficient)
			return true;
	return false;
}

/* Does the sum begin with all of `from`? */
static bool begins_with(const LowAffine *sum, const LowAffine *from)
{
	for (int i = 0; i < from->n; i++)
		if (!is_among(sum, &from->terms[i]))
			return false;
	return sum->n > from->n;
}

static EmitBase *row_in(EmitC *e, EmitBases *bases, int buffer,
    const LowAffine *sum, LowAffine *rest)
{
	for (int i = 0; i < bases->n; i++) {
		EmitBase *b = &bases->at[i];
		if (b->buffer == buffer && b->along >= 0 &&
		    (b->data ? begins_with(sum, &b->from)
			     : split_off(e, sum, b->along, rest) &&
				is_same_sum(&b->from, rest)))
			return b;
	}
	return NULL;
}

/* Terms that stay what they are. */
static bool is_steady(const EmitC *e, const LowAffine *sum)
{
	for (int i = 0; i < sum->n; i++)
		if (e->plan[sum->terms[i].temp].assigned != 1 ||
		    e->plan[sum->terms[i].temp].stands)
			return false;
	return true;
}

/* Pointers of the bodies around this one; not of its function, a parallel loop's
 * has its own. */
static void add_outer(EmitC *e, EmitBases *bases)
{
	for (int i = 0; i < e->bases.n; i++) {
		EmitBase *outer = &e->bases.at[i];
		EmitBase *own = outer->along < 0
		    ? base_in(bases, outer->buffer, &outer->from)
		    : NULL;
		if (!outer->name)
			continue;
		if (own)
			*own = *outer;
		else
			vec_push(e->arena, bases, *outer);
	}
}

void emit_c_find_bases(EmitC *e, const LowBody *body)
{
	EmitBases bases = {0};
	for (int i = 0; i < body->n; i++) {
		const LowNode *n = body->at[i];
		if (n->kind != LOWNODE_OP || !low_op_has_buffer(n->op) ||
		    n->op == LOW_PREFETCH || emit_c_is_left_out(e, n))
			continue;
		LowAffine sum = emit_c_sum(e, &n->address);
		if (!is_steady(e, &sum))
			continue;
		EmitBase *b = base_in(&bases, n->buffer, &sum);
		if (!b) {
			vec_push(e->arena, &bases,
			    (EmitBase){n->buffer, sum, 1, NULL, -1, false});
			continue;
		}
		b->count++;
		if (sum.constant < b->from.constant)
			b->from.constant = sum.constant;
	}
	add_outer(e, &bases);
	e->bases = bases;
}

/* Is the text shorter by it? */
static bool is_worth_a_pointer(EmitC *e, const EmitBase *b)
{
	enum { DECLARATION = 28, OFFSET = 3 };
	LowAffine sum = b->from;
	sum.constant = 0;
	int length = (int)strlen(emit_c_affine(e, &sum));
	return b->count > 1 && sum.n > 0 &&
	    b->count * (length - OFFSET) > length + DECLARATION;
}

/* Clang adds the parts of an address in each instruction that reads there; in those
 * with two operands more, Intel's processors then have two operations for one. */
static void put_added(EmitC *e, const EmitBase *b)
{
	enum { MANY = 8 };
	if (!e->isa.x86 || b->count < MANY ||
	    !emit_c_is_const(e, &e->f->buffers.at[b->buffer]))
		return;
	emit_c_define(e, "TUNEC_ADDED", "p", EMIT_CLANG_X86,
	    "__asm__(\"\" : \"+r\"(p))", "((void)0)");
	emit_c_line(e, "TUNEC_ADDED(%s);", b->name);
}

static const char *pointer_to(EmitC *e, EmitBase *b)
{
	const LowBuffer *buffer = &e->f->buffers.at[b->buffer];
	const char *name = e->buffer[b->buffer];
	if (b->name)
		return b->name;
	b->name = emit_c_name(e, arena_printf(e->arena, "%s_at", name));
	emit_c_line(e, "%s%s *%s = &%s[%s];",
	    emit_c_is_const(e, buffer) ? "const " : "",
	    dtype_ctype(buffer->type), b->name, name,
	    emit_c_affine(e, &b->from));
	put_added(e, b);
	return b->name;
}

/* --- rows ------------------------------------------------------------------ */

/* Is there before the loop whatever the sum needs? */
static bool is_known(const EmitC *e, const LowAffine *sum)
{
	for (int i = 0; i < sum->n; i++)
		if (!e->declared[sum->terms[i].temp])
			return false;
	return is_steady(e, sum);
}

static void note_row(EmitC *e, const LowNode *n, int var, EmitBases *rows)
{
	LowAffine rest, inner, sum = emit_c_sum(e, &n->address);
	if (!split_off(e, &sum, var, &rest) || !rest.n || !is_known(e, &rest) ||
	    row_in(e, &e->bases, n->buffer, &sum, &inner))
		return;
	EmitBase *b = row_in(e, rows, n->buffer, &sum, &inner);
	if (!b)
		vec_push(e->arena, rows,
		    (EmitBase){n->buffer, rest, 1, NULL, var, false});
	else if (rest.constant < b->from.constant)
		b->from.constant = rest.constant;
}

static bool is_natural(const EmitC *e, const LowTerm *term)
{
	const LowRange *r = &e->ranges[term->temp];
	return term->coefficient > 0 && r->known && r->least >= 0;
}

/* Is it an index that memory has, converted, clamped, divided or not? */
static bool is_data(const EmitC *e, int temp)
{
	const LowNode *n = e->plan[temp].def;
	while (n && n->kind == LOWNODE_OP && n->op != LOW_LOAD)
		n = n->arg[0] < 0 ? NULL : e->plan[n->arg[0]].def;
	return n && n->kind == LOWNODE_OP;
}

static bool is_outer(const EmitC *e, int temp, int var)
{
	const LowNode *n = e->plan[temp].def;
	return temp != var && n && n->kind == LOWNODE_LOOP;
}

/* Of a sum that has an index which the loop over `var` reads: what loops around it
 * count.  Nothing is negative, so a pointer there lies in the buffer. */
static bool split_data(
    EmitC *e, const LowAffine *sum, int var, LowAffine *outer)
{
	bool data = false;
	*outer = low_affine_const(0);
	for (int i = 0; i < sum->n; i++) {
		LowTerm *term = &sum->terms[i];
		LowAffine one = {0, 1, term};
		if (!is_natural(e, term))
			return false;
		if (is_outer(e, term->temp, var))
			*outer = low_affine_add(e->arena, *outer, one, 1);
		else
			data |= is_data(e, term->temp);
	}
	return data && outer->n && sum->constant >= 0;
}

static void note_data(EmitC *e, const LowNode *n, int var, EmitBases *rows)
{
	LowAffine from, rest, sum = emit_c_sum(e, &n->address);
	if (split_data(e, &sum, var, &from) &&
	    !row_in(e, &e->bases, n->buffer, &sum, &rest) &&
	    !row_in(e, rows, n->buffer, &sum, &rest))
		vec_push(e->arena, rows,
		    (EmitBase){n->buffer, from, 1, NULL, var, true});
}

static int rows_of(const EmitBases *rows, int buffer)
{
	int count = 0;
	for (int i = 0; i < rows->n; i++)
		count += rows->at[i].buffer == buffer;
	return count;
}

/* Only what each step reads, from the first step on: so the pointers lie in the
 * buffer. */
void emit_c_find_rows(EmitC *e, const LowNode *loop)
{
	enum { SEVERAL = 3 };
	EmitBases rows = {0};
	if (loop->limit || e->isa.plain)
		return;
	for (int i = 0; i < loop->body.n; i++) {
		const LowNode *n = loop->body.at[i];
		if (n->kind == LOWNODE_OP && low_op_has_buffer(n->op) &&
		    (n->op == LOW_LOAD || n->op == LOW_STORE) &&
		    !emit_c_is_left_out(e, n)) {
			note_data(e, n, loop->var, &rows);
			note_row(e, n, loop->var, &rows);
		}
	}
	for (int i = 0; i < rows.n; i++) {
		if (!rows.at[i].data &&
		    rows_of(&rows, rows.at[i].buffer) < SEVERAL)
			continue;
		pointer_to(e, &rows.at[i]);
		vec_push(e->arena, &e->bases, rows.at[i]);
	}
}

/* "a[4*i + 1]", of `more` besides the address where that is a text. */
static const char *place(
    EmitC *e, const LowNode *n, const char *more, bool pointer)
{
	LowAffine sum = emit_c_sum(e, &n->address);
	EmitBase *b = n->op == LOW_PREFETCH
	    ? NULL : base_in(&e->bases, n->buffer, &sum);
	const char *name = e->buffer[n->buffer];
	LowAffine rest;
	EmitBase *row = n->op == LOW_PREFETCH
	    ? NULL
	    : row_in(e, &e->bases, n->buffer, &sum, &rest);
	if (row) {
		name = row->name;
		sum = low_affine_add(e->arena, sum, row->from, -1);
	} else if (b && (b->name || is_worth_a_pointer(e, b))) {
		name = pointer_to(e, b);
		sum = low_affine_const(sum.constant - b->from.constant);
	}
	const char *at = emit_c_affine(e, &sum);
	bool zero = !sum.n && !sum.constant;
	if (more)
		at = zero ? more : arena_printf(e->arena, "%s + %s", at, more);
	if (!pointer)
		return arena_printf(e->arena, "%s[%s]", name, at);
	if (zero && !more)
		return name;
	return sum.n + (sum.constant != 0) > 1
	    ? arena_printf(e->arena, "&%s[%s]", name, at)
	    : arena_printf(e->arena, "%s + %s", name, at);
}

static const char *element(EmitC *e, const LowNode *n)
{
	return place(e, n, NULL, false);
}

static const char *pointer(EmitC *e, const LowNode *n)
{
	return place(e, n, NULL, true);
}

/* --- loads ------------------------------------------------------------------ */

/* A vector as it lies in memory; bools are bytes of 0 and 1. */
static void assign_vector(EmitC *e, int dst, const char *value)
{
	const LowTemp *d = temp_of(e, dst);
	if (d->type == DT_BOOL)
		emit_c_assign_not_zero(e, dst, DT_U8, value);
	else
		emit_c_assign(e, dst, LEVEL_PRIMARY, value);
}

static void op_load(EmitC *e, const LowNode *n)
{
	const LowTemp *d = temp_of(e, n->dst);
	if (d->lanes > 1)
		assign_vector(e, n->dst,
		    arena_printf(e->arena, "%s(%s)",
			emit_c_load(e, emit_c_vector(e, d->type, d->lanes),
			    e->plan[n->dst].once),
			pointer(e, n)));
	else if (d->type == DT_BOOL)
		emit_c_assign(e, n->dst, LEVEL_COMPARE,
		    arena_printf(e->arena, "%s != 0", element(e, n)));
	else
		emit_c_assign(e, n->dst, LEVEL_PRIMARY, element(e, n));
}

static void assign_where(
    EmitC *e, const LowNode *n, int m, const char *value)
{
	const char *test = temp_of(e, n->dst)->type == DT_BOOL ? " != 0" : "";
	if (m < 0)
		emit_c_assign(e, n->dst, *test ? LEVEL_COMPARE : LEVEL_PRIMARY,
		    arena_printf(e->arena, "%s%s", value, test));
	else
		emit_c_assign(e, n->dst, LEVEL_CHOICE,
		    arena_printf(e->arena, "%s ? %s%s : 0",
			emit_c_text(e, m, LEVEL_OR), value, test));
}

static void op_load_masked(EmitC *e, const LowNode *n)
{
	const LowTemp *d = temp_of(e, n->dst);
	DType type = emit_c_storage(d->type);
	int m = n->arg[0];
	e->conditional = true;
	if (d->lanes == 1)
		assign_where(e, n, m, element(e, n));
	else
		assign_vector(e, n->dst,
		    arena_printf(e->arena, "%s(%s, %s)",
			emit_c_macro(e, LOW_LOAD_MASKED, OP_CAST, type, type,
			    d->lanes),
			pointer(e, n),
			emit_c_mask_of(
			    e, m, dtype_bytes(type), LEVEL_CHOICE)));
}

static const char *mask_for(EmitC *e, int temp, DType type)
{
	return emit_c_mask_of(e, temp, dtype_bytes(type), LEVEL_LIST);
}

static bool fits_32(const EmitC *e, int temp)
{
	const LowRange *r = e->ranges ? &e->ranges[temp] : NULL;
	return r && r->known && r->least >= INT32_MIN && r->most <= INT32_MAX;
}

/* Indices that a macro takes: as wide as an instruction has them, where there is
 * one, and as they are where each lane is read.  *math: which, for emit_c_macro. */
static const char *indices(
    EmitC *e, LowOpcode op, int temp, DType type, DType to, Op *math)
{
	int lanes = temp_of(e, temp)->lanes;
	bool narrow = temp_of(e, temp)->type == DT_I32;
	bool by_32 = (narrow || fits_32(e, temp)) &&
	    emit_c_x86(e, op, OP_INT, type, to, lanes);
	*math = by_32 ? OP_INT : OP_CAST;
	if (narrow == by_32 ||
	    (narrow && !emit_c_x86(e, op, OP_CAST, type, to, lanes)))
		return loose(e, temp);
	return arena_printf(e->arena, "__builtin_convertvector(%s, %s)",
	    loose(e, temp),
	    emit_c_vector(e, by_32 ? DT_I32 : DT_INDEX, lanes));
}

/* Numbers that a compiler knows: each lane is an address of its own. */
static bool are_numbers(const EmitC *e, int temp, int depth)
{
	const LowNode *n = temp < 0 ? NULL : e->plan[temp].def;
	if (temp < 0 || emit_c_constant(e, temp))
		return true;
	if (!n || !depth || n->kind != LOWNODE_OP || low_op_has_buffer(n->op))
		return false;
	for (int i = 0; i < 3; i++)
		if (!are_numbers(e, n->arg[i], depth - 1))
			return false;
	return n->arg[0] >= 0 || n->op == LOW_IOTA;
}

/* Of 16 lanes that an instruction gathers in a third of the time of loads on Intel's
 * processors, in the same on AMD's, where loads share what takes indices apart and
 * known ones are none. */
static const char *gather_16(EmitC *e, const LowNode *n, DType type)
{
	enum { DEPTH = 8 };
	const LowTemp *d = temp_of(e, n->dst), *i = temp_of(e, n->arg[0]);
	bool single = type == DT_F32;
	const char *lanes =
	    emit_c_macro(e, LOW_GATHER, OP_CAST, type, type, d->lanes);
	if (!e->isa.avx512 || !e->plan || i->type != DT_I32 || d->lanes != 16 ||
	    (!single && type != DT_I32) ||
	    (!e->isa.gathers &&
		(e->plan[n->arg[0]].reads > 1 ||
		    are_numbers(e, n->arg[0], DEPTH))))
		return lanes;
	const char *vector = emit_c_vector(e, type, d->lanes);
	const char *name =
	    arena_printf(e->arena, "GATHER_BY_%s", emit_c_upper(e, vector));
	emit_c_define(e, name, "p, i", EMIT_ANY_X86,
	    arena_printf(e->arena,
		"((%s)_mm512_i32gather_%s((__m512i)(i), (p), 4))", vector,
		single ? "ps" : "epi32"),
	    arena_printf(e->arena, "%s(p, i)", lanes));
	return name;
}

static void op_gather(EmitC *e, const LowNode *n)
{
	const LowTemp *d = temp_of(e, n->dst);
	DType type = emit_c_storage(d->type);
	int m = n->arg[1];
	e->conditional |= m >= 0;
	if (d->lanes == 1)
		assign_where(e, n, m,
		    place(e, n, emit_c_text(e, n->arg[0], LEVEL_PRODUCT),
			false));
	else {
		DType to = m < 0 ? type : DT_BOOL;
		Op math;
		const char *index =
		    indices(e, LOW_GATHER, n->arg[0], type, to, &math);
		assign_vector(e, n->dst,
		    arena_printf(e->arena, "%s(%s, %s%s%s)",
			m < 0 ? gather_16(e, n, type)
			      : emit_c_macro(
				    e, LOW_GATHER, math, type, to, d->lanes),
			pointer(e, n), index, m < 0 ? "" : ", ",
			m < 0 ? "" : mask_for(e, m, type)));
	}
}

/* --- stores ------------------------------------------------------------------ */

/* What is stored: a vector of bools as bytes of 0 and 1. */
static const char *stored(EmitC *e, int temp)
{
	const LowTemp *t = temp_of(e, temp);
	if (t->lanes == 1 || t->type != DT_BOOL)
		return loose(e, temp);
	return arena_printf(e->arena, "(%s)-%s",
	    emit_c_vector(e, DT_U8, t->lanes), emit_c_mask_vector(e, temp, 1));
}

/* Does a vector lie behind the one that was stored last? */
static bool is_adjacent(EmitC *e, const LowNode *n)
{
	const LowNode *last = e->stored.node;
	if (!last || last->buffer != n->buffer)
		return false;
	LowAffine from = emit_c_sum(e, &last->address);
	from.constant += temp_of(e, last->arg[0])->lanes;
	return low_affine_equal(from, emit_c_sum(e, &n->address));
}

/* A line of a cache as a whole. */
static bool is_line(const LowNode *n, DType type, int bytes)
{
	enum { LINE = 64 };
	return bytes >= LINE &&
	    low_affine_align(&n->address, type, LINE) == LINE;
}

/* What is stored waits for the last store where they make a row, or the last was the
 * end of one: gcc would put them in any order, and a processor writes the parts of a
 * line at once only where they come together.  Not what a register has that is read
 * again, which it would copy. */
static const char *in_order(
    EmitC *e, const LowNode *n, const char *at, const char *value)
{
	const LowTemp *s = temp_of(e, n->arg[0]);
	const EmitTemp *t = e->plan ? &e->plan[n->arg[0]] : NULL;
	const EmitStored last = e->stored;
	DType type = emit_c_storage(s->type);
	int bytes = s->lanes * dtype_bytes(type);
	e->stored = (EmitStored){n, at, is_adjacent(e, n)};
	return e->isa.x86 && bytes >= 16 && !is_line(n, type, bytes) && t &&
		t->assigned == 1 && t->reads == 1 &&
		(e->stored.in_row ||
		    (last.in_row && last.node->buffer == n->buffer))
	    ? emit_c_behind(
		  e, emit_c_vector(e, s->type, s->lanes), last.at, value)
	    : value;
}

static void op_store(EmitC *e, const LowNode *n)
{
	const LowTemp *s = temp_of(e, n->arg[0]);
	const char *value = stored(e, n->arg[0]);
	if (s->lanes == 1) {
		const char *at = element(e, n);
		emit_c_line(e, "%s = %s;", at, value);
		return;
	}
	const char *type = emit_c_vector(e, s->type, s->lanes);
	const char *name, *at = pointer(e, n);
	DType store = emit_c_storage(s->type);
	int bytes = s->lanes * dtype_bytes(store);
	bool streams = n->op == LOW_STREAM &&
	    low_affine_align(&n->address, store, bytes) == bytes &&
	    emit_c_x86(e, LOW_STREAM, OP_CAST, store, store, s->lanes);
	name = streams
	    ? emit_c_macro(e, LOW_STREAM, OP_CAST, store, store, s->lanes)
	    : emit_c_store(e, type);
	e->streams |= streams;
	if (n->op == LOW_STORE)
		value = in_order(e, n, at, value);
	emit_c_line(e, "%s(%s%s%s, %s);", name,
	    streams ? e->buffer[n->buffer] : "", streams ? ", " : "", at,
	    value);
}

static void store_scalar_where(
    EmitC *e, const LowNode *n, int m, const char *at)
{
	const char *value = stored(e, n->arg[0]);
	if (m >= 0)
		emit_c_line(e, "if (%s)", loose(e, m));
	emit_c_line(e, "%s%s = %s;", m >= 0 ? "\t" : "", at, value);
}

static void op_store_masked(EmitC *e, const LowNode *n)
{
	const LowTemp *s = temp_of(e, n->arg[0]);
	DType type = emit_c_storage(s->type);
	if (s->lanes == 1) {
		store_scalar_where(e, n, n->arg[1], element(e, n));
		return;
	}
	const char *at = pointer(e, n), *value = stored(e, n->arg[0]);
	if (emit_c_x86(e, LOW_STORE_MASKED, OP_CAST, type, type, s->lanes))
		value = in_order(e, n, at, value);
	emit_c_line(e, "%s(%s, %s, %s);",
	    emit_c_macro(e, LOW_STORE_MASKED, OP_CAST, type, type, s->lanes),
	    at, emit_c_mask_of(e, n->arg[1], dtype_bytes(type), LEVEL_CHOICE),
	    value);
}

static void op_scatter(EmitC *e, const LowNode *n)
{
	const LowTemp *s = temp_of(e, n->arg[0]);
	int m = n->arg[2];
	DType type = emit_c_storage(s->type);
	if (s->lanes == 1) {
		store_scalar_where(e, n, m,
		    place(e, n, emit_c_text(e, n->arg[1], LEVEL_PRODUCT),
			false));
		return;
	}
	const char *at = pointer(e, n);
	DType to = m < 0 ? type : DT_BOOL;
	Op math;
	const char *index = indices(e, LOW_SCATTER, n->arg[1], type, to, &math);
	emit_c_line(e, "%s(%s, %s, %s%s%s);",
	    emit_c_macro(e, LOW_SCATTER, math, type, to, s->lanes), at, index,
	    stored(e, n->arg[0]), m < 0 ? "" : ", ",
	    m < 0 ? "" : mask_for(e, m, type));
}

/* gcc moves prefetches to where nothing else is ready, thirty in a row, of which a
 * processor keeps a dozen in flight: it schedules nothing across assembly. */
static const char *prefetch(EmitC *e, int level)
{
	const char *name = arena_printf(e->arena, "TUNEC_PREFETCH%d", level);
	emit_c_define(e, name, "p", EMIT_GCC_X86,
	    e->isa.x86
		? arena_printf(e->arena,
		      "__asm__ volatile(\"prefetcht%d %%a0\" : : \"p\"(p))",
		      level - 1)
		: NULL,
	    arena_printf(
		e->arena, "__builtin_prefetch((p), 0, %d)", 4 - level));
	return name;
}

static void op_prefetch(EmitC *e, const LowNode *n)
{
	const char *at = arena_printf(e->arena, "&%s", element(e, n));
	if (e->isa.plain) /* C has none; the address keeps its parts in use */
		emit_c_line(e, "(void)%s;", at);
	else
		emit_c_line(e, "%s(%s);",
		    prefetch(e, n->i >= 1 && n->i <= 3 ? (int)n->i : 3), at);
}

void emit_c_memory(EmitC *e, const LowNode *n)
{
	switch (n->op) {
	case LOW_LOAD: op_load(e, n); return;
	case LOW_LOAD_MASKED: op_load_masked(e, n); return;
	case LOW_GATHER: op_gather(e, n); return;
	case LOW_STORE:
	case LOW_STREAM: op_store(e, n); return;
	case LOW_STORE_MASKED: op_store_masked(e, n); return;
	case LOW_SCATTER: op_scatter(e, n); return;
	default: op_prefetch(e, n); return;
	}
}
