/* One operation of the lowered form as one C statement. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/c/emit_c.h"

static const LowTemp *temp_of(const EmitC *e, int temp)
{
	return &e->f->temps.at[temp];
}

static bool is_vector(const EmitC *e, int temp)
{
	return temp_of(e, temp)->lanes > 1;
}

static void assign(EmitC *e, int dst, const char *value)
{
	bool fresh = !e->declared[dst];
	emit_c_line(e, "%s = %s;", emit_c_place(e, dst), value);
	if (fresh && !e->is_read[dst])
		emit_c_line(e, "(void)%s;", e->temp[dst]);
}

/* Reads what a statement leaves out. */
static void read_anyway(EmitC *e, int temp)
{
	emit_c_line(e, "(void)%s;", e->temp[temp]);
}

/* The storage type of a bool is a byte, of an index 64 bits. */
static DType storage(DType type)
{
	return type == DT_BOOL ? DT_U8 : type == DT_INDEX ? DT_I64 : type;
}

/* --- masks --------------------------------------------------------------- */

static const char *mask(EmitC *e, int temp, int bytes)
{
	return emit_c_resized(e, e->temp[temp], e->mask_bytes[temp], bytes,
	    temp_of(e, temp)->lanes);
}

/* `vector` (of lanes of `bytes`) != 0, as dst's masks. */
static const char *not_zero(
    EmitC *e, int dst, const char *type, const char *vector, int bytes)
{
	int lanes = temp_of(e, dst)->lanes;
	const char *test = arena_printf(e->arena, "(%s)(%s != (%s){0})",
	    emit_c_mask(e, bytes, lanes), vector, type);
	return emit_c_resized(e, test, bytes, e->mask_bytes[dst], lanes);
}

/* --- constants ----------------------------------------------------------- */

const char *emit_c_float(EmitC *e, DType type, double value)
{
	const char *f = type == DT_F32 ? "f" : "";
	if (isnan(value) || isinf(value)) {
		e->math = true;
		return isnan(value) ? "NAN" : value < 0 ? "-INFINITY"
							: "INFINITY";
	}
	char text[64];
	for (int digits = 1; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, value);
		if (type == DT_F32 ? strtof(text, NULL) == (float)value
				   : strtod(text, NULL) == value)
			break;
	}
	return arena_printf(e->arena, "%s%s%s", text,
	    strpbrk(text, ".e") ? "" : ".0", f);
}

static const char *int_text(EmitC *e, DType type, int64_t value)
{
	if (value == INT64_MIN)
		return "INT64_MIN";
	if (type == DT_I32 && value == INT32_MIN)
		return "INT32_MIN";
	return arena_printf(e->arena,
	    value > INT32_MAX || value < INT32_MIN ? "INT64_C(%lld)" : "%lld",
	    (long long)value);
}

static const char *constant(EmitC *e, DType type, const LowNode *node)
{
	if (type == DT_F16)
		return arena_printf(e->arena, "0x%04x", f16_from_f64(node->f));
	if (type == DT_BF16)
		return arena_printf(e->arena, "0x%04x", bf16_from_f64(node->f));
	if (dtype_is_float(type))
		return emit_c_float(e, type, node->f);
	if (type == DT_BOOL)
		return node->i ? "true" : "false";
	return int_text(e, type, node->i);
}

static const char *splat(EmitC *e, int dst, const char *scalar)
{
	const char *type = emit_c_type(e, dst);
	return arena_printf(
	    e->arena, "%s(%s)", emit_c_splat(e, type), scalar);
}

static void op_const(EmitC *e, const LowNode *n)
{
	const LowTemp *d = temp_of(e, n->dst);
	const char *text = constant(e, d->type, n);
	if (d->lanes > 1 && d->type == DT_BOOL)
		text = n->i ? "-1" : "0";
	assign(e, n->dst, d->lanes > 1 ? splat(e, n->dst, text) : text);
}

/* --- lanes --------------------------------------------------------------- */

static void op_broadcast(EmitC *e, const LowNode *n)
{
	const char *a = e->temp[n->arg[0]];
	if (!is_vector(e, n->dst))
		assign(e, n->dst, a);
	else if (temp_of(e, n->dst)->type == DT_BOOL)
		assign(e, n->dst, splat(e, n->dst,
				      arena_printf(e->arena, "-%s", a)));
	else
		assign(e, n->dst, splat(e, n->dst, a));
}

static void op_iota(EmitC *e, const LowNode *n)
{
	const char *a = e->temp[n->arg[0]];
	if (!is_vector(e, n->dst)) {
		assign(e, n->dst, a);
		return;
	}
	const LowTemp *d = temp_of(e, n->dst);
	const char *type = emit_c_type(e, n->dst);
	const char *u = emit_c_vector_unsigned(
	    e, d->type == DT_INDEX ? 8 : dtype_bytes(d->type), d->lanes);
	assign(e, n->dst, arena_printf(e->arena, "(%s)((%s)%s + (%s)%s)", type,
			      u, splat(e, n->dst, a), u, emit_c_iota(e, type)));
}

static void op_lanes_below(EmitC *e, const LowNode *n)
{
	const char *a = e->temp[n->arg[0]];
	const LowTemp *d = temp_of(e, n->dst);
	if (d->lanes == 1) {
		assign(e, n->dst, arena_printf(e->arena, "%s > 0", a));
		return;
	}
	const char *type = emit_c_type(e, n->dst);
	const char *most = arena_printf(
	    e->arena, "%s(%s, %d)", emit_c_below(e), a, d->lanes);
	assign(e, n->dst, arena_printf(e->arena, "(%s)(%s < %s)", type,
			      emit_c_iota(e, type), splat(e, n->dst, most)));
}

/* Lane `lane` of a temporary that may be a scalar. */
static const char *lane_text(EmitC *e, int temp, int64_t lane)
{
	if (!is_vector(e, temp))
		return e->temp[temp];
	return arena_printf(
	    e->arena, "%s[%lld]", e->temp[temp], (long long)lane);
}

static void op_extract(EmitC *e, const LowNode *n)
{
	int a = n->arg[0];
	const char *text = lane_text(e, a, n->i);
	if (is_vector(e, a) && temp_of(e, a)->type == DT_BOOL)
		text = arena_printf(e->arena, "%s != 0", text);
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
		read_anyway(e, a);
		assign(e, n->dst, e->temp[b]);
		return;
	}
	if (n->dst != a)
		assign(e, n->dst, is_bool
			? mask(e, a, e->mask_bytes[n->dst]) : e->temp[a]);
	emit_c_line(e, "%s[%lld] = %s%s;", e->temp[n->dst], (long long)n->i,
	    is_bool ? "-" : "", e->temp[b]);
}

/* Where a source or the result is a scalar: lane by lane. */
static const char *shuffle_by_lanes(EmitC *e, const LowNode *n)
{
	int a = n->arg[0], b = n->arg[1];
	const LowTemp *d = temp_of(e, n->dst);
	bool is_bool = d->type == DT_BOOL;
	Buf text = {0};
	for (int l = 0; l < d->lanes; l++) {
		int from = n->shuffle[l] < 0 ? 0 : n->shuffle[l];
		int split = temp_of(e, a)->lanes;
		int source = from < split ? a : b;
		const char *lane =
		    lane_text(e, source, from < split ? from : from - split);
		bool minus = is_bool && d->lanes > 1 && !is_vector(e, source);
		const char *test = is_bool && d->lanes == 1 &&
		    is_vector(e, source) ? " != 0" : "";
		buf_printf(&text, "%s%s%s%s", l ? ", " : "", minus ? "-" : "",
		    lane, test);
	}
	char *list = arena_strdup(e->arena, buf_text(&text));
	buf_free(&text);
	return d->lanes == 1 ? list
	    : arena_printf(e->arena, "(%s){%s}", emit_c_type(e, n->dst), list);
}

/* Both, as one vector twice as long or longer, half as long as the result: GCC
 * puts a shorter one together in memory. */
static void widen_sources(EmitC *e, DType type, int lanes, int to,
    const char **a, const char **b)
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
	*b = arena_printf(
	    e->arena, "(%s){0}", emit_c_vector(e, type, lanes));
}

static void op_shuffle(EmitC *e, const LowNode *n)
{
	int a = n->arg[0], b = n->arg[1] < 0 ? a : n->arg[1];
	const LowTemp *d = temp_of(e, n->dst);
	if (d->lanes == 1 || !is_vector(e, a) || !is_vector(e, b) ||
	    temp_of(e, a)->lanes != temp_of(e, b)->lanes) {
		read_anyway(e, a);
		read_anyway(e, b);
		assign(e, n->dst, shuffle_by_lanes(e, n));
		return;
	}
	int bytes = d->type == DT_BOOL ? e->mask_bytes[n->dst] : 0;
	int lanes = temp_of(e, a)->lanes;
	const char *first = bytes ? mask(e, a, bytes) : e->temp[a];
	const char *second = bytes ? mask(e, b, bytes) : e->temp[b];
	if (!bytes)
		widen_sources(e, d->type, lanes, d->lanes, &first, &second);
	Buf text = {0};
	buf_printf(&text, "__builtin_shufflevector(%s, %s", first, second);
	for (int l = 0; l < d->lanes; l++)
		buf_printf(&text, ", %d", n->shuffle[l]);
	buf_puts(&text, ")");
	assign(e, n->dst, buf_text(&text));
	buf_free(&text);
}

/* --- conversions --------------------------------------------------------- */

static const char *mask_to_value(EmitC *e, int a, DType to)
{
	int lanes = temp_of(e, a)->lanes;
	bool half = to == DT_F16 || to == DT_BF16;
	int bytes = to == DT_INDEX ? 8 : dtype_bytes(to);
	const char *m = emit_c_mask(e, bytes, lanes);
	const char *bits = mask(e, a, bytes);
	if (half) /* 1.0 under the mask */
		return arena_printf(e->arena, "(%s)(%s & %s(%s))",
		    emit_c_vector(e, to, lanes), bits, emit_c_splat(e, m),
		    to == DT_F16 ? "0x3c00" : "0x3f80");
	if (dtype_is_float(to))
		return arena_printf(e->arena, "__builtin_convertvector(-%s, %s)",
		    bits, emit_c_vector(e, to, lanes));
	return arena_printf(
	    e->arena, "(%s)-%s", emit_c_vector(e, to, lanes), bits);
}

static const char *value_to_mask(EmitC *e, int dst, int a)
{
	const LowTemp *t = temp_of(e, a);
	const char *type = emit_c_vector(e, t->type, t->lanes);
	const char *text = e->temp[a];
	if (t->type == DT_F16 || t->type == DT_BF16)
		text = arena_printf(e->arena, "(%s & %s(0x7fff))", text,
		    emit_c_splat(e, type));
	return not_zero(e, dst, type, text, emit_c_lane_bytes(e, a));
}

/* Between vectors of numbers; by __builtin_convertvector where that means the
 * same. */
static const char *convert_vector(EmitC *e, DType from, DType to, int lanes,
    const char *a)
{
	bool half_from = from == DT_F16 || from == DT_BF16;
	bool half_to = to == DT_F16 || to == DT_BF16;
	const char *type = emit_c_vector(e, to, lanes);
	bool by_macro = half_to || (from == DT_F16) ||
	    (dtype_is_float(from) && !dtype_is_float(to)) ||
	    emit_c_x86(e, LOW_CONVERT, OP_CAST, from, to, lanes);
	if (half_from && to != DT_F32)
		return arena_printf(e->arena, "%s(%s)",
		    emit_c_macro(e, LOW_CONVERT, OP_CAST, from, to, lanes), a);
	if (from == DT_BF16) {
		const char *u = emit_c_vector_unsigned(e, 4, lanes);
		return arena_printf(e->arena,
		    "(%s)(__builtin_convertvector(%s, %s) << 16)", type, a, u);
	}
	if (by_macro)
		return arena_printf(e->arena, "%s(%s)",
		    emit_c_macro(e, LOW_CONVERT, OP_CAST, from, to, lanes), a);
	/* GCC takes bytes apart on their way to floats, but not i32 */
	if ((from == DT_I8 || from == DT_U8) && dtype_is_float(to))
		a = convert_vector(e, from, DT_I32, lanes, a);
	return arena_printf(
	    e->arena, "__builtin_convertvector(%s, %s)", a, type);
}

static void op_convert(EmitC *e, const LowNode *n)
{
	int a = n->arg[0];
	const LowTemp *d = temp_of(e, n->dst), *s = temp_of(e, a);
	if (d->lanes == 1)
		assign(e, n->dst, emit_c_convert(e, s->type, d->type, e->temp[a]));
	else if (d->type == DT_BOOL && s->type == DT_BOOL)
		assign(e, n->dst, mask(e, a, e->mask_bytes[n->dst]));
	else if (d->type == DT_BOOL)
		assign(e, n->dst, value_to_mask(e, n->dst, a));
	else if (s->type == DT_BOOL)
		assign(e, n->dst, mask_to_value(e, a, d->type));
	else if (storage(s->type) == storage(d->type))
		assign(e, n->dst, e->temp[a]);
	else
		assign(e, n->dst, convert_vector(e, s->type, d->type, d->lanes,
				      e->temp[a]));
}

/* --- arithmetic ---------------------------------------------------------- */

/* Integers wrap, which C promises for unsigned ones only. */
static void op_wrap(EmitC *e, const LowNode *n, const char *operator)
{
	const LowTemp *d = temp_of(e, n->dst);
	const char *a = e->temp[n->arg[0]];
	const char *b = n->arg[1] < 0 ? NULL : e->temp[n->arg[1]];
	const char *type = emit_c_type(e, n->dst);
	const char *format = b ? "%s %s %s" : "%s%s%s";
	if (dtype_is_float(d->type) || (d->lanes == 1 && d->type == DT_INDEX))
		assign(e, n->dst, arena_printf(e->arena, format, b ? a : "",
				      operator, b ? b : a));
	else if (d->lanes > 1) {
		const char *u = emit_c_vector_unsigned(e,
		    emit_c_lane_bytes(e, n->dst), d->lanes);
		assign(e, n->dst, b
			? arena_printf(e->arena, "(%s)((%s)%s %s (%s)%s)", type,
			      u, a, operator, u, b)
			: arena_printf(e->arena, "(%s)-(%s)%s", type, u, a));
	} else {
		const char *u = d->type == DT_I64 ? "uint64_t" : "uint32_t";
		assign(e, n->dst, b
			? arena_printf(e->arena, "(%s)((%s)%s %s (%s)%s)", type,
			      u, a, operator, u, b)
			: arena_printf(e->arena, "(%s)(0 - (%s)%s)", type, u, a));
	}
}

static void op_abs(EmitC *e, const LowNode *n)
{
	const LowTemp *d = temp_of(e, n->dst);
	const char *a = e->temp[n->arg[0]], *type = emit_c_type(e, n->dst);
	if (d->type == DT_U8 || d->type == DT_BOOL) {
		assign(e, n->dst, a);
	} else if (dtype_is_float(d->type) && d->lanes == 1) {
		e->math = true;
		assign(e, n->dst, arena_printf(e->arena, "fabs%s(%s)",
				      d->type == DT_F32 ? "f" : "", a));
	} else if (dtype_is_float(d->type)) {
		const char *m =
		    emit_c_mask(e, dtype_bytes(d->type), d->lanes);
		assign(e, n->dst, arena_printf(e->arena, "(%s)((%s)%s & %s(%s))",
				      type, m, a, emit_c_splat(e, m),
				      d->type == DT_F32 ? "INT32_MAX"
							: "INT64_MAX"));
	} else if (d->lanes > 1) {
		const char *u = emit_c_vector_unsigned(
		    e, emit_c_lane_bytes(e, n->dst), d->lanes);
		const char *sign = arena_printf(
		    e->arena, "(%s)(%s < (%s){0})", u, a, type);
		assign(e, n->dst, arena_printf(e->arena,
				      "(%s)(((%s)%s ^ %s) - %s)", type, u, a,
				      sign, sign));
	} else {
		assign(e, n->dst, arena_printf(e->arena,
				      "%s < 0 ? (%s)(0 - (%s)%s) : %s", a, type,
				      dtype_bytes(storage(d->type)) == 8
					  ? "uint64_t" : "uint32_t", a, a));
	}
}

int emit_c_power_of_two(const EmitC *e, int temp)
{
	const LowNode *n = e->constant[temp];
	for (int k = 0; n && k < 62; k++)
		if (n->i == INT64_C(1) << k)
			return k;
	return -1;
}

/* Of a vector by 2^k: compilers shift a sign in, as the machines do. */
static void divide_by_bits(EmitC *e, const LowNode *n, int k)
{
	const char *a = e->temp[n->arg[0]], *type = emit_c_type(e, n->dst);
	read_anyway(e, n->arg[1]);
	assign(e, n->dst, n->op == LOW_FLOORDIV
		? arena_printf(e->arena, "%s >> %d", a, k)
		: arena_printf(e->arena, "%s & %s(%s)", a,
		      emit_c_splat(e, type),
		      int_text(e, temp_of(e, n->dst)->type,
			  (INT64_C(1) << k) - 1)));
}

static void op_divide(EmitC *e, const LowNode *n)
{
	const LowTemp *d = temp_of(e, n->dst);
	int k = emit_c_power_of_two(e, n->arg[1]);
	if (d->lanes > 1 && k >= 0) {
		divide_by_bits(e, n, k);
		return;
	}
	const char *name = d->lanes > 1
	    ? emit_c_macro(e, n->op, OP_CAST, d->type, d->type, d->lanes)
	    : emit_c_floordiv(e, d->type, n->op == LOW_MOD);
	assign(e, n->dst, arena_printf(e->arena, "%s(%s, %s)", name,
			      e->temp[n->arg[0]], e->temp[n->arg[1]]));
}

static void op_min_max(EmitC *e, const LowNode *n)
{
	const LowTemp *d = temp_of(e, n->dst);
	const char *a = e->temp[n->arg[0]], *b = e->temp[n->arg[1]];
	if (n->arg[0] == n->arg[1])
		assign(e, n->dst, a);
	else if (d->lanes == 1)
		assign(e, n->dst, arena_printf(e->arena, "%s %c %s ? %s : %s",
				      a, n->op == LOW_MIN ? '<' : '>', b, a, b));
	else if (d->type == DT_BOOL)
		assign(e, n->dst, arena_printf(e->arena, "%s %c %s",
				      mask(e, n->arg[0], e->mask_bytes[n->dst]),
				      n->op == LOW_MIN ? '&' : '|',
				      mask(e, n->arg[1], e->mask_bytes[n->dst])));
	else
		assign(e, n->dst, arena_printf(e->arena, "%s(%s, %s)",
				      emit_c_macro(e, n->op, OP_CAST, d->type,
					  d->type, d->lanes), a, b));
}

static void op_fma(EmitC *e, const LowNode *n)
{
	const LowTemp *d = temp_of(e, n->dst);
	const char *name = d->lanes == 1 ? emit_c_fma(e, d->type)
	    : emit_c_macro(e, LOW_FMA, OP_CAST, d->type, d->type, d->lanes);
	assign(e, n->dst, arena_printf(e->arena, "%s(%s, %s, %s)", name,
			      e->temp[n->arg[0]], e->temp[n->arg[1]],
			      e->temp[n->arg[2]]));
}

static void op_scale(EmitC *e, const LowNode *n)
{
	const LowTemp *d = temp_of(e, n->dst);
	const char *a = e->temp[n->arg[0]], *b = e->temp[n->arg[1]];
	bool masked = n->arg[2] >= 0;
	if (d->lanes == 1) {
		assign(e, n->dst, emit_c_scale(e, d->type, a, b,
				      masked ? e->temp[n->arg[2]] : NULL));
		return;
	}
	assign(e, n->dst, arena_printf(e->arena, "%s(%s, %s%s%s)",
		emit_c_macro(e, LOW_SCALE, OP_CAST, d->type,
		    masked ? DT_BOOL : d->type, d->lanes),
		a, b, masked ? ", " : "", masked
		? mask(e, n->arg[2], emit_c_lane_bytes(e, n->dst)) : ""));
}

/* --- comparisons and bools ----------------------------------------------- */

const char *emit_c_comparison(LowOpcode op)
{
	return op == LOW_LT ? "<" : op == LOW_LE ? "<="
	    : op == LOW_EQ ? "==" : "!=";
}

/* Of two vectors of bools, bit by bit. */
static const char *compare_masks(EmitC *e, const LowNode *n)
{
	int bytes = e->mask_bytes[n->dst];
	const char *a = mask(e, n->arg[0], bytes);
	const char *b = mask(e, n->arg[1], bytes);
	const char *format = n->op == LOW_LT ? "~%s & %s"
	    : n->op == LOW_LE ? "~%s | %s"
	    : n->op == LOW_EQ ? "~(%s ^ %s)" : "%s ^ %s";
	return arena_printf(e->arena, format, a, b);
}

static void op_compare(EmitC *e, const LowNode *n)
{
	int a = n->arg[0], b = n->arg[1];
	const LowTemp *s = temp_of(e, a);
	const char *sign = emit_c_comparison(n->op);
	if (s->lanes == 1 && a == b && !dtype_is_float(s->type)) {
		read_anyway(e, a);
		assign(e, n->dst, n->op == LOW_LE || n->op == LOW_EQ
			? "true" : "false");
	} else if (s->lanes == 1) {
		assign(e, n->dst, arena_printf(e->arena, "%s %s %s", e->temp[a],
				      sign, e->temp[b]));
	} else if (s->type == DT_BOOL) {
		assign(e, n->dst, compare_masks(e, n));
	} else {
		int bytes = emit_c_lane_bytes(e, a);
		const char *test = arena_printf(e->arena, "(%s)(%s %s %s)",
		    emit_c_mask(e, bytes, s->lanes), e->temp[a], sign,
		    e->temp[b]);
		assign(e, n->dst, emit_c_resized(e, test, bytes,
				      e->mask_bytes[n->dst], s->lanes));
	}
}

static void op_logic(EmitC *e, const LowNode *n)
{
	int a = n->arg[0], b = n->arg[1];
	bool vector = is_vector(e, n->dst);
	int bytes = vector ? e->mask_bytes[n->dst] : 0;
	const char *ta = vector ? mask(e, a, bytes) : e->temp[a];
	if (n->op == LOW_NOT) {
		assign(e, n->dst, arena_printf(
				      e->arena, "%c%s", vector ? '~' : '!', ta));
		return;
	}
	const char *tb = vector ? mask(e, b, bytes) : e->temp[b];
	const char *sign = n->op == LOW_AND ? vector ? "&" : "&&"
					    : vector ? "|" : "||";
	assign(e, n->dst, arena_printf(e->arena, "%s %s %s", ta, sign, tb));
}

static void op_any(EmitC *e, const LowNode *n)
{
	static const DType of_bytes[] = {
	    [1] = DT_I8, [2] = DT_I16, [4] = DT_I32, [8] = DT_I64};
	int a = n->arg[0];
	DType type = of_bytes[is_vector(e, a) ? e->mask_bytes[a] : 1];
	assign(e, n->dst, !is_vector(e, a) ? e->temp[a]
		: arena_printf(e->arena, "%s(%s)",
		      emit_c_macro(e, LOW_ANY, OP_CAST, type, type,
			  temp_of(e, a)->lanes), e->temp[a]));
}

static void op_select(EmitC *e, const LowNode *n)
{
	const LowTemp *d = temp_of(e, n->dst);
	int c = n->arg[0], a = n->arg[1], b = n->arg[2];
	if (d->lanes == 1) {
		assign(e, n->dst, arena_printf(e->arena, "%s ? %s : %s",
				      e->temp[c], e->temp[a], e->temp[b]));
		return;
	}
	int bytes = emit_c_lane_bytes(e, n->dst);
	const char *m = mask(e, c, bytes);
	if (d->type == DT_BOOL)
		assign(e, n->dst, arena_printf(e->arena,
				      "(%s & %s) | (~%s & %s)", m,
				      mask(e, a, bytes), m, mask(e, b, bytes)));
	else
		assign(e, n->dst, arena_printf(e->arena, "%s(%s, %s, %s)",
				      emit_c_macro(e, LOW_SELECT, OP_CAST,
					  d->type, d->type, d->lanes),
				      m, e->temp[a], e->temp[b]));
}

static void op_math(EmitC *e, const LowNode *n)
{
	const LowTemp *d = temp_of(e, n->dst);
	Op math = (Op)n->math;
	const char *a = e->temp[n->arg[0]];
	const char *b = n->arg[1] < 0 ? NULL : e->temp[n->arg[1]];
	if (d->lanes == 1) {
		assign(e, n->dst, emit_c_math(e, math, d->type, a, b));
		return;
	}
	const char *name =
	    emit_c_macro(e, LOW_MATH, math, d->type, d->type, d->lanes);
	assign(e, n->dst, op_arity(math) == 2
		? arena_printf(e->arena, "%s(%s, %s)", name, a, b)
		: arena_printf(e->arena, "%s(%s)", name, a));
}

static void op_rsqrt(EmitC *e, const LowNode *n)
{
	const LowTemp *d = temp_of(e, n->dst);
	const char *a = e->temp[n->arg[0]];
	assign(e, n->dst, d->lanes == 1
		? emit_c_math(e, OP_RSQRT, d->type, a, NULL)
		: arena_printf(e->arena, "%s(%s)",
		      emit_c_macro(e, LOW_RSQRT, OP_CAST, d->type, d->type,
			  d->lanes), a));
}

static void op_dot(EmitC *e, const LowNode *n)
{
	const LowTemp *d = temp_of(e, n->dst);
	const char *a = e->temp[n->arg[0]], *b = e->temp[n->arg[1]];
	const char *c = e->temp[n->arg[2]];
	DType of_a = temp_of(e, n->arg[0])->type;
	DType of_b = temp_of(e, n->arg[1])->type;
	if (d->lanes == 1)
		assign(e, n->dst, emit_c_dot(e, intrinsic_of(of_a, of_b), a, b,
				      c, ""));
	else
		assign(e, n->dst, arena_printf(e->arena, "%s(%s, %s, %s)",
				      emit_c_macro(e, LOW_DOT, OP_CAST, of_a,
					  of_b, d->lanes), a, b, c));
}

/* --- memory -------------------------------------------------------------- */

static const char *element(EmitC *e, const LowNode *n)
{
	return arena_printf(e->arena, "%s[%s]", e->buffer[n->buffer],
	    emit_c_affine(e, &n->address));
}

static void op_load(EmitC *e, const LowNode *n)
{
	const LowTemp *d = temp_of(e, n->dst);
	const char *from = element(e, n);
	if (d->lanes == 1) {
		assign(e, n->dst, d->type == DT_BOOL
			? arena_printf(e->arena, "%s != 0", from) : from);
		return;
	}
	const char *type = emit_c_vector(e, d->type, d->lanes);
	const char *value = arena_printf(e->arena, "*(const %s *)&%s",
	    emit_c_unaligned(e, type), from);
	assign(e, n->dst, d->type == DT_BOOL
		? not_zero(e, n->dst, type, value, 1) : value);
}

/* "&a[i]", of the element that the vector's first lane has. */
static const char *pointer(EmitC *e, const LowNode *n)
{
	return arena_printf(e->arena, "&%s", element(e, n));
}

static void op_load_masked(EmitC *e, const LowNode *n)
{
	const LowTemp *d = temp_of(e, n->dst);
	int m = n->arg[0];
	e->conditional = true;
	if (d->lanes == 1) {
		assign(e, n->dst, arena_printf(e->arena, "%s ? %s%s : 0",
				      e->temp[m], element(e, n),
				      d->type == DT_BOOL ? " != 0" : ""));
		return;
	}
	DType type = storage(d->type);
	const char *value = arena_printf(e->arena, "%s(%s, %s)",
	    emit_c_macro(e, LOW_LOAD_MASKED, OP_CAST, type, type, d->lanes),
	    pointer(e, n), mask(e, m, dtype_bytes(type)));
	assign(e, n->dst, d->type == DT_BOOL
		? not_zero(e, n->dst, emit_c_vector(e, type, d->lanes), value, 1)
		: value);
}

static const char *gather_scalar(EmitC *e, const LowNode *n)
{
	const LowTemp *d = temp_of(e, n->dst);
	const char *value = arena_printf(e->arena, "%s[%s + %s]%s",
	    e->buffer[n->buffer], emit_c_affine(e, &n->address),
	    e->temp[n->arg[0]], d->type == DT_BOOL ? " != 0" : "");
	return n->arg[1] < 0 ? value
	    : arena_printf(e->arena, "%s ? %s : 0", e->temp[n->arg[1]], value);
}

static void op_gather(EmitC *e, const LowNode *n)
{
	const LowTemp *d = temp_of(e, n->dst);
	int m = n->arg[1];
	e->conditional |= m >= 0;
	if (d->lanes == 1) {
		assign(e, n->dst, gather_scalar(e, n));
		return;
	}
	DType type = storage(d->type);
	const char *value = arena_printf(e->arena, "%s(%s, %s%s%s)",
	    emit_c_macro(e, LOW_GATHER, OP_CAST, type,
		m < 0 ? type : DT_BOOL, d->lanes),
	    pointer(e, n), e->temp[n->arg[0]], m < 0 ? "" : ", ",
	    m < 0 ? "" : e->temp[m]);
	assign(e, n->dst, d->type == DT_BOOL
		? not_zero(e, n->dst, emit_c_vector(e, type, d->lanes), value, 1)
		: value);
}

/* What is stored: a vector of bools as bytes of 0 and 1. */
static const char *stored(EmitC *e, int temp)
{
	const LowTemp *t = temp_of(e, temp);
	if (t->lanes == 1 || t->type != DT_BOOL)
		return e->temp[temp];
	return arena_printf(e->arena, "(%s)-%s",
	    emit_c_vector(e, DT_U8, t->lanes), mask(e, temp, 1));
}

static void op_store(EmitC *e, const LowNode *n)
{
	const LowTemp *s = temp_of(e, n->arg[0]);
	const char *value = stored(e, n->arg[0]);
	if (s->lanes == 1) {
		emit_c_line(e, "%s = %s;", element(e, n), value);
		return;
	}
	const char *type = emit_c_vector(e, s->type, s->lanes);
	DType store = storage(s->type);
	if (n->op == LOW_STREAM &&
	    emit_c_x86(e, LOW_STREAM, OP_CAST, store, store, s->lanes)) {
		emit_c_line(e, "%s(%s, %s);",
		    emit_c_macro(e, LOW_STREAM, OP_CAST, store, store, s->lanes),
		    pointer(e, n), value);
		e->streams = true;
		return;
	}
	emit_c_line(e, "*(%s *)&%s = %s;", emit_c_unaligned(e, type),
	    element(e, n), value);
}

static void op_store_masked(EmitC *e, const LowNode *n)
{
	const LowTemp *s = temp_of(e, n->arg[0]);
	if (s->lanes == 1) {
		emit_c_line(e, "if (%s)", e->temp[n->arg[1]]);
		emit_c_line(e, "\t%s = %s;", element(e, n),
		    stored(e, n->arg[0]));
		return;
	}
	DType type = storage(s->type);
	emit_c_line(e, "%s(%s, %s, %s);",
	    emit_c_macro(e, LOW_STORE_MASKED, OP_CAST, type, type, s->lanes),
	    pointer(e, n), mask(e, n->arg[1], dtype_bytes(type)),
	    stored(e, n->arg[0]));
}

static void op_scatter(EmitC *e, const LowNode *n)
{
	const LowTemp *s = temp_of(e, n->arg[0]);
	int m = n->arg[2];
	DType type = storage(s->type);
	if (s->lanes == 1) {
		if (m >= 0)
			emit_c_line(e, "if (%s)", e->temp[m]);
		emit_c_line(e, "%s%s[%s + %s] = %s;", m >= 0 ? "\t" : "",
		    e->buffer[n->buffer], emit_c_affine(e, &n->address),
		    e->temp[n->arg[1]], stored(e, n->arg[0]));
		return;
	}
	emit_c_line(e, "%s(%s, %s, %s%s%s);",
	    emit_c_macro(e, LOW_SCATTER, OP_CAST, type,
		m < 0 ? type : DT_BOOL, s->lanes),
	    pointer(e, n), e->temp[n->arg[1]], stored(e, n->arg[0]),
	    m < 0 ? "" : ", ", m < 0 ? "" : e->temp[m]);
}

static void op_prefetch(EmitC *e, const LowNode *n)
{
	if (e->isa.plain) /* C has none; the address keeps its parts in use */
		emit_c_line(e, "(void)%s;", pointer(e, n));
	else
		emit_c_line(e, "__builtin_prefetch(%s, 0, %d);", pointer(e, n),
		    n->i >= 1 && n->i <= 3 ? 4 - (int)n->i : 1);
}

static void op_copy(EmitC *e, const LowNode *n)
{
	int a = n->arg[0];
	bool masks = is_vector(e, a) && temp_of(e, a)->type == DT_BOOL;
	assign(e, n->dst,
	    masks ? mask(e, a, e->mask_bytes[n->dst]) : e->temp[a]);
}

/* A cast between vectors of one size keeps the bits. */
static void op_bits(EmitC *e, const LowNode *n)
{
	const LowTemp *from = temp_of(e, n->arg[0]);
	if (from->lanes == 1) {
		assign(e, n->dst,
		    arena_printf(e->arena,
			"((union {%s from; %s to;}){%s}).to",
			emit_c_type(e, n->arg[0]), emit_c_type(e, n->dst),
			e->temp[n->arg[0]]));
		return;
	}
	assign(e, n->dst,
	    arena_printf(e->arena, "(%s)%s", emit_c_type(e, n->dst),
		e->temp[n->arg[0]]));
}

void emit_c_op(EmitC *e, const LowNode *n)
{
	switch (n->op) {
	case LOW_CONST: op_const(e, n); return;
	case LOW_COPY: op_copy(e, n); return;
	case LOW_IOTA: op_iota(e, n); return;
	case LOW_LANES_BELOW: op_lanes_below(e, n); return;
	case LOW_BROADCAST: op_broadcast(e, n); return;
	case LOW_EXTRACT: op_extract(e, n); return;
	case LOW_INSERT: op_insert(e, n); return;
	case LOW_SHUFFLE: op_shuffle(e, n); return;
	case LOW_CONVERT: op_convert(e, n); return;
	case LOW_BITS: op_bits(e, n); return;
	case LOW_ADD: op_wrap(e, n, "+"); return;
	case LOW_SUB: op_wrap(e, n, "-"); return;
	case LOW_MUL: op_wrap(e, n, "*"); return;
	case LOW_DIV: op_wrap(e, n, "/"); return;
	case LOW_XOR: op_wrap(e, n, "^"); return;
	case LOW_NEG: op_wrap(e, n, "-"); return;
	case LOW_FLOORDIV:
	case LOW_MOD: op_divide(e, n); return;
	case LOW_ABS: op_abs(e, n); return;
	case LOW_MIN:
	case LOW_MAX: op_min_max(e, n); return;
	case LOW_FMA: op_fma(e, n); return;
	case LOW_SCALE: op_scale(e, n); return;
	case LOW_LT:
	case LOW_LE:
	case LOW_EQ:
	case LOW_NE: op_compare(e, n); return;
	case LOW_AND:
	case LOW_OR:
	case LOW_NOT: op_logic(e, n); return;
	case LOW_ANY: op_any(e, n); return;
	case LOW_SELECT: op_select(e, n); return;
	case LOW_MATH: op_math(e, n); return;
	case LOW_RSQRT: op_rsqrt(e, n); return;
	case LOW_LOAD: op_load(e, n); return;
	case LOW_LOAD_MASKED: op_load_masked(e, n); return;
	case LOW_GATHER: op_gather(e, n); return;
	case LOW_STORE:
	case LOW_STREAM: op_store(e, n); return;
	case LOW_STORE_MASKED: op_store_masked(e, n); return;
	case LOW_SCATTER: op_scatter(e, n); return;
	case LOW_PREFETCH: op_prefetch(e, n); return;
	case LOW_DOT: op_dot(e, n); return;
	case LOW_COPY_ASYNC:
	case LOW_COMMIT:
	case LOW_WAIT:
	case LOW_BARRIER: /* a GPU's: lower() refuses it for other machines */
	case LOW_LOAD_MATRIX:
	case LOW_ROUND_TF32:
	case LOW_MMA:
	case LOW_WGMMA:
	case LOW_WARP_XOR:
	case LOW_COUNT: break;
	}
	assert(!"an operation");
}
