/* One operation of the lowered form as statements of a device language, one for
 * each part of what it gives. */
#include <assert.h>

#include "codegen/device/emit_device.h"

static const LowTemp *temp_of(const EmitDevice *e, int temp)
{
	return &e->c.f->temps.at[temp];
}

static bool is_opencl(const EmitDevice *e)
{
	return e->dialect->name == DIALECT_OPENCL;
}

static int lane_bytes(const EmitDevice *e, int temp)
{
	return device_bytes(temp_of(e, temp)->type);
}

/* --- assignments ------------------------------------------------------------ */

/* What a part of `dst` is: a text for its number. */
typedef const char *PartText(EmitDevice *e, const LowNode *n, int part);

static void each_part(EmitDevice *e, const LowNode *n, PartText *text)
{
	for (int p = 0; p < device_parts(e, n->dst); p++)
		device_assign(e, n->dst, p, text(e, n, p));
}

/* An argument's part; of its vector of other lanes those of the same number. */
static const char *arg(EmitDevice *e, const LowNode *n, int i, int part)
{
	return device_name(e, n->arg[i], part);
}

/* A scalar in all lanes of a part. */
static const char *spread(
    EmitDevice *e, DType type, int lanes, const char *scalar)
{
	if (lanes == 1)
		return scalar;
	return device_text(e, "(%s)(%s%s)", device_type(e, type, lanes),
	    type == DT_BOOL ? "-" : "", scalar);
}

/* "(T)(0, 1, 2 …)" from the first lane of a part on. */
static const char *counted(EmitDevice *e, const char *type, int first, int lanes)
{
	Buf list = {0};
	for (int l = 0; l < lanes; l++)
		buf_printf(&list, "%s%d", l ? ", " : "", first + l);
	const char *text = lanes == 1
	    ? device_text(e, "%s", buf_text(&list))
	    : device_text(e, "(%s)(%s)", type, buf_text(&list));
	buf_free(&list);
	return text;
}

/* --- constants and lanes ---------------------------------------------------- */

static const char *text_const(EmitDevice *e, const LowNode *n, int part)
{
	const LowTemp *d = temp_of(e, n->dst);
	(void)part;
	const char *text = d->type == DT_BOOL ? n->i ? "true" : "false"
	    : dtype_is_float(d->type) ? device_float(e, d->type, n->f)
				      : device_number(e, d->type, n->i);
	return spread(e, d->type, device_part(e, n->dst), text);
}

static const char *text_copy(EmitDevice *e, const LowNode *n, int part)
{
	return arg(e, n, 0, part);
}

static const char *text_broadcast(EmitDevice *e, const LowNode *n, int part)
{
	(void)part;
	return spread(e, temp_of(e, n->dst)->type, device_part(e, n->dst),
	    e->c.temp[n->arg[0]]);
}

static const char *text_iota(EmitDevice *e, const LowNode *n, int part)
{
	DType type = temp_of(e, n->dst)->type;
	int lanes = device_part(e, n->dst);
	const char *a = e->c.temp[n->arg[0]];
	if (temp_of(e, n->dst)->lanes == 1)
		return a;
	const char *t = device_type(e, type, lanes);
	return device_text(e, "%s + %s", spread(e, type, lanes, a),
	    counted(e, t, part * lanes, lanes));
}

static const char *text_lanes_below(EmitDevice *e, const LowNode *n, int part)
{
	int lanes = device_part(e, n->dst);
	const char *a = e->c.temp[n->arg[0]];
	if (lanes == 1)
		return device_text(e, "%d < %s", part, a);
	const char *t = device_type(e, DT_BOOL, lanes);
	return device_text(e, "%s < (%s)(int)clamp((long)%s, 0L, 64L)",
	    counted(e, t, part * lanes, lanes), t, a);
}

static const char *text_extract(EmitDevice *e, const LowNode *n, int part)
{
	(void)part;
	return device_lane(e, n->arg[0], (int)n->i);
}

/* As it stands in a vector: a bool is 0 or -1 there. */
static const char *in_vector(EmitDevice *e, int dst, int temp, int lane)
{
	const char *text = device_lane(e, temp, lane);
	if (device_part(e, dst) == 1 || temp_of(e, dst)->type != DT_BOOL)
		return text;
	return device_text(e, "-(%s)", text);
}

static const char *lane_insert(EmitDevice *e, const LowNode *n, int lane)
{
	return lane == n->i ? in_vector(e, n->dst, n->arg[1], 0)
			    : in_vector(e, n->dst, n->arg[0], lane);
}

static const char *text_insert(EmitDevice *e, const LowNode *n, int part)
{
	int lanes = device_part(e, n->dst);
	return n->i / lanes == part ? device_from_lanes(e, n, part, lane_insert)
				    : arg(e, n, 0, part);
}

static const char *lane_shuffle(EmitDevice *e, const LowNode *n, int lane)
{
	int from = n->shuffle[lane] < 0 ? 0 : n->shuffle[lane];
	int first = temp_of(e, n->arg[0])->lanes;
	return from < first ? in_vector(e, n->dst, n->arg[0], from)
			    : in_vector(e, n->dst, n->arg[1], from - first);
}

/* "v.s0213" where a part is of one other part. */
static const char *swizzled(EmitDevice *e, const LowNode *n, int part)
{
	int a = n->arg[0], of_a = device_part(e, a);
	int lanes = device_part(e, n->dst), source = -1;
	Buf text = {0};
	for (int l = 0; l < lanes; l++) {
		int from = n->shuffle[part * lanes + l];
		from = from < 0 ? 0 : from;
		if (from >= temp_of(e, a)->lanes || of_a == 1 || lanes == 1 ||
		    (source >= 0 && from / of_a != source)) {
			buf_free(&text);
			return NULL;
		}
		source = from / of_a;
		buf_printf(&text, "%x", from % of_a);
	}
	const char *all = device_text(
	    e, "%s.s%s", device_name(e, a, source), buf_text(&text));
	buf_free(&text);
	return all;
}

static const char *text_shuffle(EmitDevice *e, const LowNode *n, int part)
{
	const char *text = swizzled(e, n, part);
	return text ? text : device_from_lanes(e, n, part, lane_shuffle);
}

/* --- conversions ------------------------------------------------------------ */

static const char *text_convert(EmitDevice *e, const LowNode *n, int part)
{
	return device_convert(e, temp_of(e, n->arg[0])->type,
	    temp_of(e, n->dst)->type, device_part(e, n->dst),
	    arg(e, n, 0, part));
}

static const char *text_bits(EmitDevice *e, const LowNode *n, int part)
{
	DType to = temp_of(e, n->dst)->type;
	const char *a = arg(e, n, 0, part);
	if (is_opencl(e))
		return device_text(e, "as_%s(%s)",
		    device_type(e, to, device_part(e, n->dst)), a);
	return device_text(e, "%s(%s)", to == DT_I32 ? "__float_as_int"
		: to == DT_F32			     ? "__int_as_float"
		: to == DT_I64 ? "__double_as_longlong"
			       : "__longlong_as_double", a);
}

/* --- arithmetic ------------------------------------------------------------- */

static const char *sign_of(LowOpcode op)
{
	return op == LOW_ADD ? "+" : op == LOW_MUL ? "*"
	    : op == LOW_DIV  ? "/" : op == LOW_XOR ? "^"
	    : op == LOW_AND  ? "&" : op == LOW_OR  ? "|"
	    : op == LOW_SHL  ? "<<" : "-";
}

/* Integers wrap, which C promises for unsigned ones only. */
static const char *wrapped(
    EmitDevice *e, const LowNode *n, const char *a, const char *b)
{
	DType type = temp_of(e, n->dst)->type;
	int lanes = device_part(e, n->dst);
	const char *sign = sign_of(n->op), *t = device_type(e, type, lanes);
	const char *u = device_unsigned(e, type, lanes);
	if (lanes > 1)
		return b ? device_text(e, "as_%s(as_%s(%s) %s as_%s(%s))", t, u,
			       a, sign, u, b)
			 : device_text(e, "as_%s(-as_%s(%s))", t, u, a);
	if (device_bytes(type) < 4)
		u = "unsigned";
	return b ? device_text(e, "(%s)((%s)%s %s (%s)%s)", t, u, a, sign, u, b)
		 : device_text(e, "(%s)(0 - (%s)%s)", t, u, a);
}

/* nvcc makes one of a product and a sum unless it is told not to. */
static const char *uncontracted(
    EmitDevice *e, const LowNode *n, const char *a, const char *b)
{
	const char *word = n->op == LOW_ADD ? "add"
	    : n->op == LOW_SUB ? "sub" : "mul";
	return device_text(e, "__%c%s_rn(%s, %s)",
	    temp_of(e, n->dst)->type == DT_F64 ? 'd' : 'f', word, a, b);
}

static const char *text_arithmetic(EmitDevice *e, const LowNode *n, int part)
{
	DType type = temp_of(e, n->dst)->type;
	const char *a = arg(e, n, 0, part);
	const char *b = n->arg[1] < 0 ? NULL : arg(e, n, 1, part);
	bool scalar_index = type == DT_INDEX && device_part(e, n->dst) == 1;
	if (!dtype_is_float(type) && !scalar_index)
		return wrapped(e, n, a, b);
	if (!b)
		return device_text(e, "-%s", a);
	if (e->exact && !is_opencl(e) && n->op != LOW_DIV && !scalar_index)
		return uncontracted(e, n, a, b);
	if (scalar_index && !low_temp_is_narrow(e->c.f, n->dst))
		a = device_text(
		    e, "(%s)%s", device_type(e, DT_INDEX, 1), a);
	return device_text(e, "%s %s %s", a, sign_of(n->op), b);
}

/* By the number modulo the width: vectors of OpenCL C do so themselves. */
static const char *text_shift(EmitDevice *e, const LowNode *n, int part)
{
	DType type = temp_of(e, n->dst)->type;
	const char *a = arg(e, n, 0, part), *b = arg(e, n, 1, part);
	if (device_part(e, n->dst) == 1)
		b = device_text(e, "(%s & %d)", b, 8 * dtype_bytes(type) - 1);
	return n->op == LOW_SHL ? wrapped(e, n, a, b)
				: device_text(e, "%s >> %s", a, b);
}

static const char *text_popcount(EmitDevice *e, const LowNode *n, int part)
{
	DType type = temp_of(e, n->dst)->type;
	const char *a = arg(e, n, 0, part);
	if (is_opencl(e))
		return device_text(e, "popcount(%s)", a);
	return device_text(e, "(%s)__popc%s((%s)%s)", device_type(e, type, 1),
	    dtype_bytes(type) == 8 ? "ll" : "", device_unsigned(e, type, 1), a);
}

static const char *text_abs(EmitDevice *e, const LowNode *n, int part)
{
	DType type = temp_of(e, n->dst)->type;
	const char *a = arg(e, n, 0, part);
	const char *t = device_type(e, type, device_part(e, n->dst));
	if (dtype_is_unsigned(type) || type == DT_BOOL)
		return a;
	if (dtype_is_float(type))
		return device_text(e, "fabs%s(%s)",
		    !is_opencl(e) && type == DT_F32 ? "f" : "", a);
	if (is_opencl(e))
		return device_text(e, "as_%s(abs(%s))", t, a);
	return device_text(e, "%s < 0 ? (%s)(0 - (%s)%s) : %s", a, t,
	    device_bytes(type) == 8 ? "unsigned long long" : "unsigned", a, a);
}

/* Compilers shift a sign in, as the machines do. */
static const char *text_divide(EmitDevice *e, const LowNode *n, int part)
{
	DType type = temp_of(e, n->dst)->type;
	int lanes = device_part(e, n->dst), k = emit_c_power_of_two(&e->c, n->arg[1]);
	const char *a = arg(e, n, 0, part);
	bool quotient = n->op == LOW_FLOORDIV;
	if (device_divides_by_bits(e, n))
		return quotient ? device_text(e, "%s >> %d", a, k)
				: device_text(e, "%s & %s", a,
				      spread(e, type, lanes,
					  device_number(e, type,
					      (INT64_C(1) << k) - 1)));
	if (type == DT_INDEX && lanes == 1 &&
	    low_temp_is_narrow(e->c.f, n->arg[0]) &&
	    low_temp_is_narrow(e->c.f, n->arg[1]))
		type = DT_I32;
	return device_text(e, "%s(%s, %s)",
	    device_floordiv(e, type, lanes, !quotient), a, arg(e, n, 1, part));
}

/* c ? a : b, lane by lane. */
static const char *choice(EmitDevice *e, int lanes, const char *c,
    const char *a, const char *b)
{
	return lanes == 1 ? device_text(e, "%s ? %s : %s", c, a, b)
			  : device_text(e, "select(%s, %s, %s)", b, a, c);
}

static const char *text_min_max(EmitDevice *e, const LowNode *n, int part)
{
	int lanes = device_part(e, n->dst);
	const char *a = arg(e, n, 0, part), *b = arg(e, n, 1, part);
	if (n->arg[0] == n->arg[1])
		return a;
	if (lanes > 1 && temp_of(e, n->dst)->type == DT_BOOL)
		return device_text(
		    e, "%s %c %s", a, n->op == LOW_MIN ? '&' : '|', b);
	return choice(e, lanes,
	    device_text(e, "%s %c %s", a, n->op == LOW_MIN ? '<' : '>', b), a,
	    b);
}

static const char *text_fma(EmitDevice *e, const LowNode *n, int part)
{
	bool single = temp_of(e, n->dst)->type == DT_F32;
	return device_text(e, "fma%s(%s, %s, %s)",
	    !is_opencl(e) && single ? "f" : "", arg(e, n, 0, part),
	    arg(e, n, 1, part), arg(e, n, 2, part));
}

/* a * 2^b; NaN stays one; lanes that the mask has off are 0. */
static const char *text_scale(EmitDevice *e, const LowNode *n, int part)
{
	DType type = temp_of(e, n->dst)->type;
	int lanes = device_part(e, n->dst);
	const char *a = arg(e, n, 0, part), *b = arg(e, n, 1, part);
	const char *whole = device_convert(e, type, DT_I32, lanes, b);
	const char *scaled = device_text(e, "ldexp%s(%s, %s)",
	    !is_opencl(e) && type == DT_F32 ? "f" : "", a, whole);
	const char *text = choice(
	    e, lanes, device_text(e, "%s == %s", b, b), scaled, b);
	if (n->arg[2] < 0)
		return text;
	const char *zero = spread(e, type, lanes, "0");
	return choice(e, lanes,
	    device_mask(e, arg(e, n, 2, part), lanes, device_bytes(type)),
	    lanes == 1 ? device_text(e, "(%s)", text) : text, zero);
}

/* --- comparisons and bools -------------------------------------------------- */

/* Of two vectors of bools, bit by bit. */
static const char *compare_masks(
    EmitDevice *e, LowOpcode op, const char *a, const char *b)
{
	return device_text(e, op == LOW_LT ? "~%s & %s"
		: op == LOW_LE		   ? "~%s | %s"
		: op == LOW_EQ		   ? "~(%s ^ %s)" : "%s ^ %s", a, b);
}

static const char *text_compare(EmitDevice *e, const LowNode *n, int part)
{
	int lanes = device_part(e, n->dst);
	const LowTemp *s = temp_of(e, n->arg[0]);
	const char *a = arg(e, n, 0, part), *b = arg(e, n, 1, part);
	if (lanes > 1 && s->type == DT_BOOL)
		return compare_masks(e, n->op, a, b);
	if (n->arg[0] == n->arg[1] && !dtype_is_float(s->type))
		return spread(e, DT_BOOL, lanes,
		    n->op == LOW_LE || n->op == LOW_EQ ? "true" : "false");
	return device_as_mask(e,
	    device_text(e, "%s %s %s", a, emit_c_comparison(n->op), b), lanes,
	    device_bytes(s->type));
}

static const char *text_logic(EmitDevice *e, const LowNode *n, int part)
{
	bool vector = device_part(e, n->dst) > 1;
	const char *a = arg(e, n, 0, part);
	if (temp_of(e, n->dst)->type != DT_BOOL)
		return wrapped(e, n, a, arg(e, n, 1, part));
	if (n->op == LOW_NOT)
		return device_text(e, "%c%s", vector ? '~' : '!', a);
	const char *sign = n->op == LOW_AND ? vector ? "&" : "&&"
					    : vector ? "|" : "||";
	return device_text(e, "%s %s %s", a, sign, arg(e, n, 1, part));
}

static const char *text_any(EmitDevice *e, const LowNode *n, int part)
{
	int a = n->arg[0];
	bool vector = device_part(e, a) > 1;
	(void)part;
	Buf text = {0};
	for (int p = 0; p < device_parts(e, a); p++)
		buf_printf(&text, vector ? "%sany(%s)" : "%s%s",
		    p ? " || " : "", device_name(e, a, p));
	const char *all = arena_strdup(e->c.arena, buf_text(&text));
	buf_free(&text);
	return vector ? device_text(e, "(%s) != 0", all) : all;
}

static const char *text_select(EmitDevice *e, const LowNode *n, int part)
{
	DType type = temp_of(e, n->dst)->type;
	int lanes = device_part(e, n->dst);
	int bytes = type == DT_BOOL ? 4 : lane_bytes(e, n->dst);
	return choice(e, lanes,
	    device_mask(e, arg(e, n, 0, part), lanes, bytes),
	    arg(e, n, 1, part), arg(e, n, 2, part));
}

/* --- functions -------------------------------------------------------------- */

static const char *text_math(EmitDevice *e, const LowNode *n, int part)
{
	bool single = temp_of(e, n->dst)->type == DT_F32;
	return emit_c_function(&e->c,
	    n->op == LOW_RSQRT ? OP_RSQRT : (Op)n->math,
	    !is_opencl(e) && single ? "f" : "", arg(e, n, 0, part),
	    n->arg[1] < 0 ? NULL : arg(e, n, 1, part));
}

/* c and the products of a lane's terms. */
static const char *lane_dot(EmitDevice *e, const LowNode *n, int lane)
{
	const Intrinsic *in = intrinsic_of(temp_of(e, n->arg[0])->type,
	    temp_of(e, n->arg[1])->type);
	bool real = dtype_is_float(in->sum);
	const char *sum = device_lane(e, n->arg[2], lane);
	for (int i = in->terms - 1; i >= 0; i--) {
		int at = in->terms * lane + i;
		const char *a = device_convert(
		    e, in->a, in->sum, 1, device_lane(e, n->arg[0], at));
		const char *b = device_convert(
		    e, in->b, in->sum, 1, device_lane(e, n->arg[1], at));
		sum = !real ? device_text(e, "%s + %s * %s", sum, a, b)
			    : device_text(e, "fma%s(%s, %s, %s)",
				  is_opencl(e) ? "" : "f", a, b, sum);
	}
	return sum;
}

static const char *text_dot(EmitDevice *e, const LowNode *n, int part)
{
	return device_from_lanes(e, n, part, lane_dot);
}

static const char *text_tf32(EmitDevice *e, const LowNode *n, int part)
{
	return device_tf32(e, arg(e, n, 0, part));
}

/* Of CUDA C alone; what is narrower than a word goes as one. */
static const char *text_warp_xor(EmitDevice *e, const LowNode *n, int part)
{
	DType type = temp_of(e, n->dst)->type;
	bool word = dtype_bytes(type) >= 4 && type != DT_BOOL;
	const char *whole = word ? "" : "(int)";
	return device_text(e, "(%s)__shfl_xor_sync(~0u, %s%s, %lld)",
	    device_type(e, type, 1), whole, arg(e, n, 0, part),
	    (long long)n->i);
}

/* --- the table ---------------------------------------------------------------- */

static PartText *text_of(LowOpcode op)
{
	switch (op) {
	case LOW_CONST: return text_const;
	case LOW_COPY: return text_copy;
	case LOW_IOTA: return text_iota;
	case LOW_LANES_BELOW: return text_lanes_below;
	case LOW_BROADCAST: return text_broadcast;
	case LOW_EXTRACT: return text_extract;
	case LOW_INSERT: return text_insert;
	case LOW_SHUFFLE: return text_shuffle;
	case LOW_CONVERT: return text_convert;
	case LOW_BITS: return text_bits;
	case LOW_ADD:
	case LOW_SUB:
	case LOW_MUL:
	case LOW_DIV:
	case LOW_XOR:
	case LOW_NEG: return text_arithmetic;
	case LOW_FLOORDIV:
	case LOW_MOD: return text_divide;
	case LOW_ABS: return text_abs;
	case LOW_SHL:
	case LOW_SHR: return text_shift;
	case LOW_POPCOUNT: return text_popcount;
	case LOW_MIN:
	case LOW_MAX: return text_min_max;
	case LOW_FMA: return text_fma;
	case LOW_SCALE: return text_scale;
	case LOW_LT:
	case LOW_LE:
	case LOW_EQ:
	case LOW_NE: return text_compare;
	case LOW_AND:
	case LOW_OR:
	case LOW_NOT: return text_logic;
	case LOW_ANY: return text_any;
	case LOW_SELECT: return text_select;
	case LOW_WARP_XOR: return text_warp_xor;
	case LOW_ROUND_TF32: return text_tf32;
	case LOW_RSQRT:
	case LOW_MATH: return text_math;
	case LOW_DOT: return text_dot;
	default: return NULL;
	}
}

void device_op(EmitDevice *e, const LowNode *n)
{
	PartText *text = text_of(n->op);
	if (text) {
		each_part(e, n, text);
		return;
	}
	if (device_memory(e, n))
		return;
	switch (n->op) {
	case LOW_PREFETCH: return; /* a hint */
	case LOW_MMA: device_mma(e, n); return;
	case LOW_LOAD_MATRIX: device_load_matrix(e, n); return;
	case LOW_WGMMA: device_wgmma(e, n); return;
	case LOW_COMMIT:
	case LOW_WAIT: device_copies(e, n); return;
	case LOW_BARRIER: device_barrier(e, n); return;
	default: assert(!"an operation");
	}
}
