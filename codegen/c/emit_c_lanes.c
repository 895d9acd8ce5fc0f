/* Numbers in all lanes or counted by them, and lanes taken out, put in and moved about.
 *
 *     v = broadcast x, 8       -->   f32x8 v = SPLAT_F32X8(x);
 *     y = shuffle v, 7 6 ...   -->   f32x8 y = SHUFFLE0_F32X8(v);
 */
#include <assert.h>

#include "codegen/c/emit_c_operands.h"

static const char *splat(EmitC *e, int dst, const char *scalar)
{
	return arena_printf(
	    e->arena, "%s(%s)", emit_c_splat(e, emit_c_type(e, dst)), scalar);
}

static void op_const(EmitC *e, const LowNode *n)
{
	EmitLevel level;
	const char *value = emit_c_number(e, n, &level);
	emit_c_assign(e, n->dst, level, value);
}

static void op_broadcast(EmitC *e, const LowNode *n)
{
	int a = n->arg[0];
	if (!is_vector(e, n->dst))
		emit_c_assign_as_is(e, n->dst, a);
	else if (temp_of(e, n->dst)->type == DT_BOOL)
		emit_c_assign_format(e, n->dst, LEVEL_PRIMARY, "%s(-%s)",
		    emit_c_mask_splat(
			e, emit_c_type(e, n->dst), temp_of(e, n->dst)->lanes),
		    emit_c_text(e, a, LEVEL_PRIMARY));
	else
		assign(e, n->dst, splat(e, n->dst, loose(e, a)));
}

static void op_iota(EmitC *e, const LowNode *n)
{
	int a = n->arg[0];
	if (!is_vector(e, n->dst)) {
		emit_c_assign_as_is(e, n->dst, a);
		return;
	}
	const LowTemp *d = temp_of(e, n->dst);
	const char *type = emit_c_type(e, n->dst);
	const char *u = emit_c_vector_unsigned(
	    e, d->type == DT_INDEX ? 8 : dtype_bytes(d->type), d->lanes);
	const LowNode *from = e->constant[a];
	if (from && !from->i) {
		assign(e, n->dst, emit_c_iota(e, type));
		return;
	}
	emit_c_assign_format(e, n->dst, LEVEL_UNARY, "(%s)((%s)%s + (%s)%s)",
	    type, u, splat(e, n->dst, loose(e, a)), u, emit_c_iota(e, type));
}

static void op_lanes_below(EmitC *e, const LowNode *n)
{
	const LowTemp *d = temp_of(e, n->dst);
	if (d->lanes == 1)
		emit_c_assign_format(e, n->dst, LEVEL_COMPARE, "%s > 0",
		    emit_c_text(e, n->arg[0], LEVEL_SUM));
	else
		emit_c_assign_format(e, n->dst, LEVEL_PRIMARY, "%s(%s)",
		    emit_c_lanes_below(e, emit_c_type(e, n->dst), d->lanes),
		    loose(e, n->arg[0]));
}

/* Lane `lane` of a temporary that may be a scalar. */
static const char *lane_text(EmitC *e, int temp, int64_t lane)
{
	if (!is_vector(e, temp))
		return emit_c_text(e, temp, LEVEL_PRIMARY);
	const char *vector = temp_of(e, temp)->type == DT_BOOL
	    ? emit_c_mask_vector(e, temp, e->mask_bytes[temp])
	    : emit_c_text(e, temp, LEVEL_PRIMARY);
	return arena_printf(e->arena, "%s[%lld]", vector, (long long)lane);
}

static void op_extract(EmitC *e, const LowNode *n)
{
	int a = n->arg[0];
	const char *text = lane_text(e, a, n->i);
	if (is_vector(e, a) && temp_of(e, a)->type == DT_BOOL)
		emit_c_assign_format(e, n->dst, LEVEL_COMPARE, "%s != 0", text);
	else
		assign(e, n->dst, text);
	/* of a sum over lanes: emit_c.c says why */
	if (n->i > 0 && temp_of(e, a)->type == DT_I32 && e->isa.x86) {
		e->apart = true;
		emit_c_line(e, "TUNEC_APART(%s);", e->temp[n->dst]);
	}
}

static void op_insert(EmitC *e, const LowNode *n)
{
	int a = n->arg[0], b = n->arg[1];
	bool is_bool = temp_of(e, n->dst)->type == DT_BOOL;
	if (!is_vector(e, n->dst)) {
		emit_c_read_anyway(e, a);
		emit_c_assign_as_is(e, n->dst, b);
		return;
	}
	if (n->dst != a)
		assign(e, n->dst,
		    is_bool ? emit_c_mask_of(
				  e, a, e->mask_bytes[n->dst], LEVEL_UNARY)
			    : loose(e, a));
	if (is_bool)
		emit_c_mask_insert(
		    e, n->dst, n->i, emit_c_text(e, b, LEVEL_PRIMARY));
	else
		emit_c_line(e, "%s[%lld] = %s;", e->temp[n->dst],
		    (long long)n->i, loose(e, b));
}

/* A vector of 0 and -1 as dst's masks. */
static void assign_mask_vector(
    EmitC *e, int dst, EmitLevel level, const char *vector)
{
	if (!emit_c_has_bits(e))
		emit_c_assign(e, dst, level, vector);
	else /* in parentheses: a list has commas */
		emit_c_assign_format(e, dst, LEVEL_PRIMARY, "%s((%s))",
		    emit_c_mask_of_lanes(e, temp_of(e, dst)->lanes), vector);
}

/* Where a source or the result is a scalar: lane by lane. */
static void shuffle_by_lanes(EmitC *e, const LowNode *n, int b)
{
	int a = n->arg[0], split = temp_of(e, a)->lanes;
	const LowTemp *d = temp_of(e, n->dst);
	bool is_bool = d->type == DT_BOOL;
	Buf text = {0};
	for (int l = 0; l < d->lanes; l++) {
		int from = n->shuffle[l] < 0 ? 0 : n->shuffle[l];
		int source = from < split ? a : b;
		const char *lane =
		    lane_text(e, source, from < split ? from : from - split);
		bool minus = is_bool && d->lanes > 1 && !is_vector(e, source);
		const char *test =
		    is_bool && d->lanes == 1 && is_vector(e, source) ? " != 0"
								     : "";
		buf_printf(&text, "%s%s%s%s", l ? ", " : "", minus ? "-" : "",
		    lane, test);
	}
	if (d->lanes == 1)
		emit_c_assign_format(
		    e, n->dst, LEVEL_COMPARE, "%s", buf_text(&text));
	else if (is_bool)
		assign_mask_vector(e, n->dst, LEVEL_LIST,
		    arena_printf(e->arena, "(%s){%s}",
			emit_c_vector_signed(
			    e, e->mask_bytes[n->dst], d->lanes),
			buf_text(&text)));
	else
		emit_c_assign_format(e, n->dst, LEVEL_LIST, "(%s){%s}",
		    emit_c_type(e, n->dst), buf_text(&text));
	buf_free(&text);
}

/* Both, as one vector twice as long or longer, half as long as the result: GCC
 * puts a shorter one together in memory. */
static void widen_sources(
    EmitC *e, DType type, int lanes, int to, const char **a, const char **b)
{
	bool both = true;
	if (to <= 2 * lanes)
		return;
	for (; to > 2 * lanes; lanes *= 2, both = false) {
		Buf text = {0};
		buf_printf(&text, "__builtin_shufflevector(%s, %s", *a,
		    both ? *b
			 : arena_printf(e->arena, "(%s){0}",
			       emit_c_vector(e, type, lanes)));
		for (int l = 0; l < 2 * lanes; l++)
			buf_printf(&text, ", %d", both ? l : l % lanes);
		buf_puts(&text, ")");
		*a = arena_strdup(e->arena, buf_text(&text));
		buf_free(&text);
	}
	*b = arena_printf(e->arena, "(%s){0}", emit_c_vector(e, type, lanes));
}

/* The vector as a whole, again and again: 4 bytes or 8 are an integer's, that
 * compilers put into all lanes in one instruction. */
static const char *repeated(EmitC *e, const LowNode *n, int lanes)
{
	const LowTemp *d = temp_of(e, n->dst);
	int bytes = lanes * dtype_bytes(emit_c_storage(d->type));
	if ((bytes != 4 && bytes != 8) || d->lanes % lanes)
		return NULL;
	for (int l = 0; l < d->lanes; l++)
		if (n->shuffle[l] != l % lanes)
			return NULL;
	return arena_printf(e->arena, "((%s)%s((int%d_t)(a)))",
	    emit_c_vector(e, d->type, d->lanes),
	    emit_c_splat(e, emit_c_vector_signed(e, bytes, d->lanes / lanes)),
	    8 * bytes);
}

/* The macro that has the list of lanes, of one vector or two: a number tells
 * lists of one shape apart. */
static const char *shuffle_macro(
    EmitC *e, const LowNode *n, int bytes, bool one)
{
	const LowTemp *d = temp_of(e, n->dst);
	int lanes = temp_of(e, n->arg[0])->lanes;
	const char *first = "(a)", *second = one ? "(a)" : "(b)";
	const char *whole = one && !bytes ? repeated(e, n, lanes) : NULL;
	if (whole)
		return emit_c_shuffle(e, emit_c_vector(e, d->type, d->lanes),
		    "a", whole, EMIT_ANY_X86, NULL);
	if (!bytes)
		widen_sources(e, d->type, lanes, d->lanes, &first, &second);
	const char *known,
	    *x86 = emit_c_x86_shuffle(e, n->shuffle, d->lanes, lanes,
		emit_c_lane_bytes(e, n->dst), d->type == DT_F32, one, &known);
	return emit_c_shuffle(e,
	    bytes ? emit_c_vector_signed(e, bytes, d->lanes)
		  : emit_c_vector(e, d->type, d->lanes),
	    one ? "a" : "a, b",
	    emit_c_shuffled(e, first, second, n->shuffle, d->lanes), known,
	    x86);
}

/* Does it take fewer lanes, of one vector? */
static bool takes_part(const EmitC *e, const LowNode *n)
{
	return n && n->kind == LOWNODE_OP && n->op == LOW_SHUFFLE &&
	    (n->arg[1] < 0 || n->arg[1] == n->arg[0]) &&
	    temp_of(e, n->dst)->lanes < temp_of(e, n->arg[0])->lanes;
}

/* Narrow lanes of two vectors by one instruction, read in parts: clang would put each part
 * together by itself, of halves of the two, lane by lane where it has to. */
static const char *kept_whole(EmitC *e, const LowNode *n, const char *text)
{
	int bytes = emit_c_lane_bytes(e, n->dst);
	int all = bytes * temp_of(e, n->dst)->lanes;
	const EmitTemp *t = e->plan ? &e->plan[n->dst] : NULL;
	if (!t || !e->isa.avx512 || bytes > 2 || (bytes == 1 && !e->isa.vbmi) ||
	    all < 32 || all > e->isa.vector_bytes || t->reads < 2 ||
	    !takes_part(e, t->user) || !takes_part(e, t->other))
		return text;
	const char *vector = emit_c_type(e, n->dst);
	return emit_c_hidden(e,
	    arena_printf(e->arena, "WHOLE_%s", emit_c_upper(e, vector)), vector,
	    'v', text);
}

static void op_shuffle(EmitC *e, const LowNode *n)
{
	int a = n->arg[0], b = n->arg[1] < 0 ? a : n->arg[1];
	const LowTemp *d = temp_of(e, n->dst);
	if (d->lanes == 1 || !is_vector(e, a) || !is_vector(e, b) ||
	    temp_of(e, a)->lanes != temp_of(e, b)->lanes) {
		emit_c_read_anyway(e, a);
		emit_c_read_anyway(e, b);
		shuffle_by_lanes(e, n, b);
		return;
	}
	int bytes = d->type == DT_BOOL ? e->mask_bytes[n->dst] : 0;
	const char *first =
	    bytes ? emit_c_mask_vector(e, a, bytes) : loose(e, a);
	const char *second = a == b ? ""
	    : bytes		    ? emit_c_mask_vector(e, b, bytes)
				    : loose(e, b);
	const char *text = arena_printf(e->arena, "%s(%s%s%s)",
	    shuffle_macro(e, n, bytes, a == b), first, a == b ? "" : ", ",
	    second);
	if (bytes)
		assign_mask_vector(e, n->dst, LEVEL_PRIMARY, text);
	else
		assign(e, n->dst, a == b ? text : kept_whole(e, n, text));
}

void emit_c_lanes(EmitC *e, const LowNode *n)
{
	switch (n->op) {
	case LOW_CONST: op_const(e, n); break;
	case LOW_IOTA: op_iota(e, n); break;
	case LOW_LANES_BELOW: op_lanes_below(e, n); break;
	case LOW_BROADCAST: op_broadcast(e, n); break;
	case LOW_EXTRACT: op_extract(e, n); break;
	case LOW_INSERT: op_insert(e, n); break;
	case LOW_SHUFFLE: op_shuffle(e, n); break;
	default: assert(!"of lanes");
	}
}
