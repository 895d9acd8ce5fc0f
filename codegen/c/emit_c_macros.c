/* Operations on vectors that C has no operator for, as macros that are defined
 * on first use: by an intrinsic where the machine has one, lane by lane
 * otherwise.  A file for x86-64 keeps the second form for compilers that are
 * not.  The arguments are names or other expressions without effects. */
#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "codegen/c/emit_c.h"

/* "name((a)[#])" for every lane, each # its number. */
static void by_lanes(
    Buf *out, int lanes, const char *pattern, const char *between)
{
	for (int lane = 0; lane < lanes; lane++) {
		buf_puts(out, lane ? between : "");
		for (const char *c = pattern; *c; c++)
			if (*c == '#')
				buf_printf(out, "%d", lane);
			else
				buf_putc(out, *c);
	}
}

static const char *lane_list(
    EmitC *e, const char *vector, int lanes, const char *pattern)
{
	Buf text = {0};
	buf_printf(&text, "((%s){", vector);
	by_lanes(&text, lanes, pattern, ", ");
	buf_puts(&text, "})");
	char *copy = arena_strdup(e->arena, buf_text(&text));
	buf_free(&text);
	return copy;
}

static const char *any_lane(EmitC *e, int lanes)
{
	Buf text = {0};
	buf_puts(&text, "((");
	by_lanes(&text, lanes, "(m)[#]", " | ");
	buf_puts(&text, ") != 0)");
	char *copy = arena_strdup(e->arena, buf_text(&text));
	buf_free(&text);
	return copy;
}

static const char *lane_statements(EmitC *e, int lanes, const char *pattern)
{
	Buf text = {0};
	buf_puts(&text, "do { ");
	by_lanes(&text, lanes, pattern, " ");
	buf_puts(&text, " } while (0)");
	char *copy = arena_strdup(e->arena, buf_text(&text));
	buf_free(&text);
	return copy;
}

/* --- scalar texts -------------------------------------------------------- */

const char *emit_c_function(EmitC *e, Op math, const char *suffix,
    const char *a, const char *b)
{
	Buf text = {0};
	for (const char *p = op_in_c(math); *p; p++) {
		const char *end = strchr(p, ')');
		bool alone = !isalpha((unsigned char)p[1]);
		if (p[0] == 'C' && p[1] == '(') {
			buf_printf(&text, "%.*s%s", (int)(end - p - 2), p + 2,
			    suffix);
			p = end;
		} else if (alone && (*p == 'x' || *p == 'y')) {
			buf_puts(&text, *p == 'x' ? a : b);
		} else {
			buf_putc(&text, *p);
		}
	}
	const char *copy = arena_strdup(e->arena, buf_text(&text));
	buf_free(&text);
	return copy;
}

/* No attribute says that nobody reads errno: compilers would call the function where
 * a number is negative, and keep all vectors on the stack for that. */
static const char *root(EmitC *e, DType type, const char *a)
{
	bool single = type == DT_F32;
	const char *name = single ? "SQRT_F32" : "SQRT_F64";
	emit_c_define(e, name, "a", EMIT_CLANG_X86,
	    single
		? "_mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(a)))"
		: "_mm_cvtsd_f64(_mm_sqrt_sd(_mm_setzero_pd(), _mm_set_sd(a)))",
	    single ? "sqrtf(a)" : "sqrt(a)");
	return arena_printf(e->arena, "%s(%s)", name, a);
}

/* Compilers make products, quotients and other functions of powers by, and of, some
 * numbers, which are rounded in another way. */
static const char *power(EmitC *e, DType type, const char *a, const char *b)
{
	bool single = type == DT_F32;
	const char *name = single ? "tunec_pow_f32" : "tunec_pow_f64";
	const char *c = single ? "float" : "double";
	if (emit_c_first(e, name))
		buf_printf(&e->prelude,
		    "\n/* pow, of which compilers make nothing else. */\n"
		    "TUNEC_HELPER %s %s(%s x, %s y)\n{\n"
		    "\t%s (*volatile power)(%s, %s) = pow%s;\n"
		    "\treturn power(x, y);\n}\n\n",
		    c, name, c, c, c, c, c, single ? "f" : "");
	return arena_printf(e->arena, "%s(%s, %s)", name, a, b);
}

const char *emit_c_math(
    EmitC *e, Op math, DType type, const char *a, const char *b)
{
	e->math = true;
	if (e->exact && math == OP_POW)
		return power(e, type, a, b);
	if (e->isa.x86 && (math == OP_SQRT || math == OP_RSQRT))
		return arena_printf(e->arena, "%s%s",
		    math == OP_SQRT ? "" : "1 / ", root(e, type, a));
	return emit_c_function(e, math, type == DT_F32 ? "f" : "", a, b);
}

const char *emit_c_comparison(LowOpcode op)
{
	return op == LOW_LT ? "<"
	    : op == LOW_LE  ? "<="
	    : op == LOW_EQ  ? "=="
			    : "!=";
}

const char *emit_c_fma(EmitC *e, DType type)
{
	const char *name = type == DT_F32 ? "fmaf" : "fma";
	if (!e->isa.plain)
		return arena_printf(e->arena, "__builtin_%s", name);
	e->math = true;
	return name;
}

/* a * 2^b, or 0; the mask may be NULL. */
const char *emit_c_scale(
    EmitC *e, DType type, const char *a, const char *b, const char *mask)
{
	e->math = true;
	return arena_printf(e->arena, "%s%s%s%s == %s ? %s(%s, (int)%s) : %s",
	    mask ? "!" : "", mask ? mask : "", mask ? " ? 0 : " : "", b, b,
	    type == DT_F32 ? "ldexpf" : "ldexp", a, b, b);
}

/* A float's dtype to an integer's, and all that ends or begins in a half. */
const char *emit_c_convert(EmitC *e, DType from, DType to, const char *a)
{
	bool half_from = dtype_is_half(from), half_to = dtype_is_half(to);
	if (from == to)
		return a;
	if (to == DT_BOOL && half_from)
		return arena_printf(e->arena, "(%s & 0x7fff) != 0", a);
	if (to == DT_BOOL)
		return arena_printf(e->arena, "%s != 0", a);
	if (half_from) {
		const char *f32 = arena_printf(e->arena, "%s(%s)",
		    emit_c_half(e, from, DT_F32), a);
		return emit_c_convert(e, DT_F32, to, f32);
	}
	if (half_to && from == DT_F64)
		return arena_printf(e->arena, "%s(%s)",
		    emit_c_half(e, DT_F64, to), a);
	if (half_to) /* an integer's double is exact, but for 64 bits */
		return from == DT_F32
		    ? arena_printf(e->arena, "%s(%s)",
			  emit_c_half(e, DT_F32, to), a)
		    : arena_printf(e->arena, "%s((double)%s)",
			  emit_c_half(e, DT_F64, to), a);
	if (dtype_is_float(from) && !dtype_is_float(to))
		return arena_printf(
		    e->arena, "%s(%s)", emit_c_saturate(e, from, to), a);
	return arena_printf(e->arena, "(%s)%s",
	    to == DT_INDEX ? "int64_t" : dtype_ctype(to), a);
}

const char *emit_c_convert_vector(
    EmitC *e, DType from, DType to, int lanes, const char *a)
{
	if (emit_c_x86(e, LOW_CONVERT, OP_CAST, from, to, lanes))
		return arena_printf(e->arena, "%s(%s)",
		    emit_c_macro(e, LOW_CONVERT, OP_CAST, from, to, lanes), a);
	return arena_printf(e->arena, "__builtin_convertvector(%s, %s)", a,
	    emit_c_vector(e, to, lanes));
}

const char *emit_c_resized(
    EmitC *e, const char *mask, int from, int to, int lanes)
{
	static const DType of_bytes[] = {
	    [1] = DT_I8, [2] = DT_I16, [4] = DT_I32, [8] = DT_I64};
	if (from == to)
		return mask;
	return emit_c_convert_vector(
	    e, of_bytes[from], of_bytes[to], lanes, mask);
}

const char *emit_c_compared(EmitC *e, LowOpcode op, DType type, int lanes,
    bool opposite, const char *a, const char *b)
{
	if (emit_c_has_bits(e))
		return arena_printf(e->arena, "%s(%s, %s)",
		    emit_c_macro(
			e, op, opposite ? OP_NOT : OP_CAST, type, type, lanes),
		    a, b);
	return arena_printf(e->arena, "(%s)(%s %s %s)",
	    emit_c_mask(e, type == DT_INDEX ? 8 : dtype_bytes(type), lanes), a,
	    emit_c_comparison(op), b);
}

/* --- the general form ---------------------------------------------------- */

/* Of a MIN, MAX or SELECT: by bits under a mask. */
static const char *blend(EmitC *e, DType type, int lanes, const char *mask)
{
	int bytes = type == DT_INDEX ? 8 : dtype_bytes(type);
	const char *m = emit_c_vector_signed(e, bytes, lanes);
	return arena_printf(e->arena, "((%s)(((%s)(a) & %s) | ((%s)(b) & ~%s)))",
	    emit_c_vector(e, type, lanes), m, mask, m, mask);
}

/* Of numbers under a mask, 0 elsewhere. */
static const char *general_and(EmitC *e, DType type, int lanes)
{
	int bytes = type == DT_INDEX ? 8 : dtype_bytes(type);
	return arena_printf(e->arena, "((%s)((%s)(a) & %s))",
	    emit_c_vector(e, type, lanes),
	    emit_c_vector_signed(e, bytes, lanes),
	    emit_c_mask_in(e, bytes, lanes));
}

static const char *general_abs(EmitC *e, DType type, int lanes)
{
	int bytes = type == DT_INDEX ? 8 : dtype_bytes(type);
	const char *u = emit_c_vector_unsigned(e, bytes, lanes);
	return arena_printf(e->arena,
	    "((%s)(((%s)(a) ^ (%s)((a) < 0)) - (%s)((a) < 0)))",
	    emit_c_vector(e, type, lanes), u, u, u);
}

/* In pairs of bits, fours and bytes, whose sum is in the last one. */
static const char *general_popcount(EmitC *e, DType type, int lanes)
{
	int bits = 8 * dtype_bytes(type);
	const char *u = emit_c_vector_unsigned(e, dtype_bytes(type), lanes);
	uint64_t ones = UINT64_MAX >> (64 - bits);
	const char *x = arena_printf(e->arena, "(%s)(a)", u);
	x = arena_printf(e->arena, "(%s - (%s >> 1 & 0x%llxu))", x, x,
	    (unsigned long long)(ones / 3));
	x = arena_printf(e->arena, "((%s & 0x%llxu) + (%s >> 2 & 0x%llxu))", x,
	    (unsigned long long)(ones / 5), x, (unsigned long long)(ones / 5));
	return arena_printf(e->arena,
	    "((%s)(((%s + (%s >> 4)) & 0x%llxu) * 0x%llxu >> %d))",
	    emit_c_vector(e, type, lanes), x, x,
	    (unsigned long long)(ones / 17), (unsigned long long)(ones / 255),
	    bits - 8);
}

static const char *general_min_max(EmitC *e, LowOpcode op, DType type, int lanes)
{
	int bytes = type == DT_INDEX ? 8 : dtype_bytes(type);
	return blend(e, type, lanes,
	    arena_printf(e->arena, "(%s)((a) %c (b))",
		emit_c_vector_signed(e, bytes, lanes),
		op == LOW_MIN ? '<' : '>'));
}

/* Rounds to nearest even by adding to the bits; a NaN keeps its upper half and
 * becomes quiet. */
static const char *bf16_by_bits(EmitC *e, int lanes)
{
	const char *u = emit_c_vector_unsigned(e, 4, lanes);
	const char *i = emit_c_vector_signed(e, 4, lanes);
	const char *number = arena_printf(e->arena,
	    "(((%s)(a) + 0x7fff + ((%s)(a) >> 16 & 1)) >> 16)", u, u);
	const char *nan =
	    arena_printf(e->arena, "((%s)(a) >> 16 | 0x40)", u);
	const char *is_nan =
	    emit_c_compared(e, LOW_NE, DT_F32, lanes, false, "(a)", "(a)");
	return arena_printf(e->arena, "((%s)%s)",
	    emit_c_vector(e, DT_BF16, lanes),
	    emit_c_convert_vector(e, DT_I32, DT_I16, lanes,
		arena_printf(e->arena, "%s(%s, (%s)%s, (%s)%s)",
		    emit_c_macro(e, LOW_SELECT, OP_CAST, DT_I32, DT_I32, lanes),
		    is_nan, i, nan, i, number)));
}

/* Is f32 on the way, which keeps every bit?  Of halves always; to f16 of all
 * integers, since those that f32 rounds are more than f16 has. */
static bool goes_by_f32(DType from, DType to)
{
	if (from == DT_F32 || to == DT_F32 || to == DT_BOOL)
		return false;
	return dtype_is_half(from) ||
	    (dtype_is_half(to) && dtype_is_int(from) &&
		(to == DT_F16 || dtype_bytes(from) <= 2));
}

/* Clamped to what the integer holds, where a conversion truncates; a NaN, which
 * is below nothing, is 0.  Where the greatest integer is no float, what lies
 * above the float before it gets all bits but those of a sign. */
static const char *saturated(EmitC *e, DType from, DType to, int lanes)
{
	static const struct {
		DType type;
		const char *least, *most, *most_f32; /* NULL: exact */
	} ends[] = {
		{DT_U64, "0", "18446744073709549568.0",
		    "18446742974197923840.0f"},
		{DT_U32, "0", "4294967295.0", "4294967040.0f"},
		{DT_U16, "0", "65535", NULL},
		{DT_U8, "0", "255", NULL},
		{DT_I8, "-128", "127", NULL},
		{DT_I16, "-32768", "32767", NULL},
		{DT_I32, "-2147483648.0", "2147483647.0", "2147483520.0f"},
		{DT_I64, "-9223372036854775808.0", "9223372036854774784.0",
		    "9223371487098961920.0f"}};
	int r = 0, bytes = dtype_bytes(from);
	while (ends[r].type != to)
		r++;
	bool inexact = dtype_bytes(to) == 8 ||
	    (dtype_bytes(to) == 4 && from == DT_F32);
	const char *vector = emit_c_vector(e, from, lanes);
	const char *splat = emit_c_splat(e, vector);
	const char *m = emit_c_vector_signed(e, bytes, lanes);
	const char *most = arena_printf(e->arena, "%s(%s)", splat,
	    from == DT_F32 && ends[r].most_f32 ? ends[r].most_f32
					       : ends[r].most);
	const char *x = dtype_is_unsigned(to) ? "a"
	    : arena_printf(e->arena, "(%s)((%s)(a) & (%s)((a) == (a)))",
		  vector, m, m);
	x = arena_printf(e->arena, "%s(%s, %s(%s%s))",
	    emit_c_macro(e, LOW_MAX, OP_CAST, from, from, lanes), x, splat,
	    ends[r].least,
	    from == DT_F32 && strchr(ends[r].least, '.') ? "f" : "");
	x = arena_printf(e->arena, "%s(%s, %s)",
	    emit_c_macro(e, LOW_MIN, OP_CAST, from, from, lanes), x, most);
	const char *by = dtype_bytes(to) < 4 ? emit_c_vector(e, DT_I32, lanes)
					     : emit_c_vector(e, to, lanes);
	x = arena_printf(e->arena, "__builtin_convertvector(%s, %s)", x, by);
	if (dtype_bytes(to) < 4)
		return emit_c_convert_vector(e, DT_I32, to, lanes, x);
	if (!inexact)
		return x;
	const char *above = emit_c_resized(e, arena_printf(e->arena, "(%s)((a) > %s)",
					  m, most), bytes, dtype_bytes(to),
	    lanes);
	const char *u = emit_c_vector_unsigned(e, dtype_bytes(to), lanes);
	return arena_printf(e->arena, "(%s | (%s)((%s)%s >> %d))", x, by, u,
	    above, !dtype_is_unsigned(to));
}

/* The last term first, each rounded once. */
static const char *dot_of_floats(EmitC *e, const Intrinsic *in,
    const char *a, const char *b, const char *c, const char *first)
{
	for (int i = in->terms - 1; i >= 0; i--)
		c = arena_printf(e->arena, "%s(%s, %s, %s)",
		    emit_c_fma(e, in->sum),
		    emit_c_convert(e, in->a, in->sum,
			arena_printf(e->arena, "%s[%s%d]", a, first, i)),
		    emit_c_convert(e, in->b, in->sum,
			arena_printf(e->arena, "%s[%s%d]", b, first, i)), c);
	return c;
}

/* The products of one lane's terms behind element `first` of both. */
const char *emit_c_dot(EmitC *e, const Intrinsic *in, const char *a,
    const char *b, const char *c, const char *first)
{
	const char *ctype = dtype_ctype(in->sum);
	const char *sum = arena_printf(e->arena, "(u%s)%s", ctype, c);
	if (dtype_is_float(in->sum))
		return dot_of_floats(e, in, a, b, c, first);
	for (int i = 0; i < in->terms; i++)
		sum = arena_printf(e->arena,
		    "%s + (u%s)%s[%s%d] * (u%s)%s[%s%d]", sum, ctype, a,
		    first, i, ctype, b, first, i);
	return arena_printf(e->arena, "(%s)(%s)", ctype, sum);
}

/* Lane by lane; `a` and `b` are the operands' types. */
static const char *general_dot(EmitC *e, DType a, DType b, int lanes)
{
	const Intrinsic *in = intrinsic_of(a, b);
	return lane_list(e, emit_c_vector(e, in->sum, lanes), lanes,
	    emit_c_dot(e, in, "(a)", "(b)", "(c)[#]",
		arena_printf(e->arena, "%d * # + ", in->terms)));
}

/* No lane of one is negative and none takes more than 16 bits. */
static const char *general_words(EmitC *e, const char *vector, int lanes)
{
	const char *u = emit_c_vector_unsigned(e, 4, lanes);
	return arena_printf(
	    e->arena, "((%s)((%s)(a) * (%s)(b)))", vector, u, u);
}

/* By vectors, as C compares them. */
static const char *general_compare(
    EmitC *e, LowOpcode op, bool opposite, DType type, int lanes)
{
	int bytes = type == DT_INDEX ? 8 : dtype_bytes(type);
	const char *test = arena_printf(e->arena,
	    opposite ? "(~((a) %s (b)))" : "((a) %s (b))",
	    emit_c_comparison(op));
	if (bytes > 1)
		test = arena_printf(e->arena, "__builtin_convertvector(%s, %s)",
		    test, emit_c_vector_signed(e, 1, lanes));
	return arena_printf(
	    e->arena, "%s(%s)", emit_c_mask_of_lanes(e, lanes), test);
}

/* Has it a parameter `m` whose lanes are looked at one by one? */
static bool is_masked(LowOpcode op, DType to)
{
	return op == LOW_LOAD_MASKED || op == LOW_STORE_MASKED ||
	    ((op == LOW_SCALE || op == LOW_GATHER || op == LOW_SCATTER) &&
		to == DT_BOOL);
}

static const char *general_convert(EmitC *e, DType type, DType to, int lanes)
{
	if (type == DT_F32 && to == DT_BF16)
		return bf16_by_bits(e, lanes);
	if ((type == DT_F32 || type == DT_F64) && !dtype_is_float(to) &&
	    to != DT_BOOL)
		return saturated(e, type, to == DT_INDEX ? DT_I64 : to, lanes);
	if (!dtype_is_half(type) && !dtype_is_half(to))
		return arena_printf(e->arena, "__builtin_convertvector(a, %s)",
		    emit_c_vector(e, to, lanes));
	if (goes_by_f32(type, to))
		return arena_printf(e->arena, "%s(%s(a))",
		    emit_c_macro(e, LOW_CONVERT, OP_CAST, DT_F32, to, lanes),
		    emit_c_macro(e, LOW_CONVERT, OP_CAST, type, DT_F32, lanes));
	return lane_list(e, emit_c_vector(e, to, lanes), lanes,
	    emit_c_convert(e, type, to, "(a)[#]"));
}

static const char *general(
    EmitC *e, LowOpcode op, Op math, DType type, DType to, int lanes)
{
	const char *vector = emit_c_vector(e, type, lanes);
	const char *lane = is_masked(op, to)
	    ? arena_printf(e->arena, "%s[#]", emit_c_mask_in(e, 1, lanes))
	    : NULL;
	switch (op) {
	case LOW_FMA:
		return lane_list(e, vector, lanes,
		    arena_printf(e->arena, "%s((a)[#], (b)[#], (c)[#])",
			emit_c_fma(e, type)));
	case LOW_SCALE:
		return lane_list(e, vector, lanes,
		    emit_c_scale(e, type, "(a)[#]", "(b)[#]", lane));
	case LOW_RSQRT:
		return arena_printf(e->arena, "(1 / %s(a))",
		    emit_c_macro(e, LOW_MATH, OP_SQRT, type, type, lanes));
	case LOW_MIN:
	case LOW_MAX:
		return general_min_max(e, op, type, lanes);
	case LOW_ANY:
		return any_lane(e, lanes);
	case LOW_SELECT:
		return blend(e, type, lanes,
		    emit_c_mask_in(
			e, type == DT_INDEX ? 8 : dtype_bytes(type), lanes));
	case LOW_AND: return general_and(e, type, lanes);
	case LOW_LT:
	case LOW_LE:
	case LOW_EQ:
	case LOW_NE: return general_compare(e, op, math == OP_NOT, type, lanes);
	case LOW_LOAD_MASKED:
		return lane_list(e, vector, lanes,
		    arena_printf(e->arena, "%s ? (p)[#] : 0", lane));
	case LOW_STORE_MASKED:
		return lane_statements(e, lanes,
		    arena_printf(e->arena, "if (%s) (p)[#] = (v)[#];", lane));
	case LOW_STREAM:
		return arena_printf(e->arena, "(*(%s *)(p) = (v))",
		    emit_c_unaligned(e, vector));
	case LOW_PERMUTE:
		return lane_list(e, vector, lanes,
		    "(a)[(i)[#] & (sizeof(a) / sizeof((a)[0]) - 1)]");
	case LOW_GATHER:
		return lane_list(e, vector, lanes,
		    to != DT_BOOL
			? "(p)[(i)[#]]"
			: arena_printf(e->arena, "%s ? (p)[(i)[#]] : 0", lane));
	case LOW_SCATTER:
		return lane_statements(e, lanes,
		    to != DT_BOOL ? "(p)[(i)[#]] = (v)[#];"
				  : arena_printf(e->arena,
					"if (%s) (p)[(i)[#]] = (v)[#];", lane));
	case LOW_FLOORDIV: return "((a) / (b) + ((a) % (b) < 0))";
	case LOW_MOD: return "((a) % (b) + (((a) % (b) < 0) & (b)))";
	case LOW_MATH:
		if (math == OP_RSQRT)
			return arena_printf(e->arena, "(1 / %s(a))",
			    emit_c_macro(
				e, LOW_MATH, OP_SQRT, type, type, lanes));
		return lane_list(e, vector, lanes,
		    emit_c_math(e, math, type, "(a)[#]", "(b)[#]"));
	case LOW_CONVERT: return general_convert(e, type, to, lanes);
	case LOW_MUL: return general_words(e, vector, lanes);
	case LOW_ABS: return general_abs(e, type, lanes);
	case LOW_POPCOUNT: return general_popcount(e, type, lanes);
	case LOW_DOT:
		return general_dot(e, type, to, lanes);
	default:
		assert(!"an operation with a macro");
		return "";
	}
}

static const char *parameters(LowOpcode op, Op math, DType to)
{
	switch (op) {
	case LOW_FMA:
	case LOW_DOT:
		return "a, b, c";
	case LOW_SCALE:
		return to == DT_BOOL ? "a, b, m" : "a, b";
	case LOW_MIN:
	case LOW_MAX:
	case LOW_MUL:
	case LOW_FLOORDIV:
	case LOW_MOD:
	case LOW_LT:
	case LOW_LE:
	case LOW_EQ:
	case LOW_NE: return "a, b";
	case LOW_ANY:
		return "m";
	case LOW_AND: return "m, a";
	case LOW_SELECT:
		return "m, a, b";
	case LOW_LOAD_MASKED:
		return "p, m";
	case LOW_STORE_MASKED:
		return "p, m, v";
	case LOW_STREAM: return "b, p, v";
	case LOW_PERMUTE: return "a, i";
	case LOW_GATHER: return to == DT_BOOL ? "p, i, m" : "p, i";
	case LOW_SCATTER:
		return to == DT_BOOL ? "p, i, v, m" : "p, i, v";
	case LOW_MATH:
		return op_arity(math) == 2 ? "a, b" : "a";
	default:
		return "a";
	}
}

/* --- definitions --------------------------------------------------------- */

static const char *macro_name(
    EmitC *e, LowOpcode op, Op math, DType type, DType to, int lanes)
{
	const char *word = op == LOW_MATH ? op_name(math)
	    : op == LOW_RSQRT ? "rsqrt14" : low_op_name(op);
	const char *shape = emit_c_vector(e, type, lanes);
	if (op == LOW_DOT) {
		word = intrinsic_of(type, to)->name;
		shape = emit_c_vector(e, intrinsic_of(type, to)->sum, lanes);
	}
	if (op == LOW_CONVERT)
		shape = arena_printf(e->arena, "%s_%sx%d", dtype_name(to),
		    dtype_name(type), lanes);
	else
		shape = arena_printf(e->arena, "%s%s%s", shape,
		    to == DT_BOOL ? "_masked" : "",
		    math == OP_INT && op != LOW_MATH ? "_i32" : "");
	bool opposite = math == OP_NOT && low_op_is_comparison(op);
	return emit_c_upper(e,
	    arena_printf(
		e->arena, "%s%s_%s", opposite ? "not_" : "", word, shape));
}

/* Past the caches where the buffer, b, begins with a line of these: one test for all
 * addresses in it, of which each is as aligned in the buffer as such a store asks. */
static const char *if_aligned(EmitC *e, const char *stream, const char *store)
{
	return arena_printf(e->arena,
	    "do { if ((uintptr_t)(b) %% 64) %s; else %s; } while (0)", store,
	    stream);
}

/* Are all lanes of `m` on, which are as wide as the elements? */
static const char *all_on(EmitC *e, int bytes)
{
	if (bytes <= 8)
		return arena_printf(e->arena, "(int%d_t)(m) == -1", 8 * bytes);
	return bytes == 16 ? "_mm_movemask_epi8((__m128i)(m)) == 0xffff"
			   : "_mm256_movemask_epi8((__m256i)(m)) == -1";
}

/* A load or store under a mask that the machine has no instruction for: most often
 * all lanes are on. */
static const char *whole_or_lanes(
    EmitC *e, LowOpcode op, DType type, int lanes, const char *by_lanes)
{
	int bytes = lanes * dtype_bytes(type);
	if ((op != LOW_LOAD_MASKED && op != LOW_STORE_MASKED) || !e->isa.x86 ||
	    emit_c_has_bits(e) || bytes > (e->isa.avx2 ? 32 : 16))
		return NULL;
	const char *vector = emit_c_vector(e, type, lanes);
	const char *at = emit_c_unaligned(e, vector), *all = all_on(e, bytes);
	if (op == LOW_LOAD_MASKED)
		return arena_printf(e->arena,
		    "(%s ? (%s)*(const %s *)(p) : %s)", all, vector, at,
		    by_lanes);
	return arena_printf(e->arena,
	    "do { if (%s) *(%s *)(p) = (v); else %s; } while (0)", all, at,
	    by_lanes);
}

/* For a compiler that does not know the machine a product and a sum will do:
 * numerics allow either, and a call for each lane would be slow. */
static const char *without_isa(
    EmitC *e, LowOpcode op, Op math, DType type, DType to, int lanes)
{
	if (op == LOW_FMA && type == DT_I32) {
		const char *u = emit_c_vector_unsigned(e, 4, lanes);
		return arena_printf(e->arena,
		    "((%s)((%s)(a) * (%s)(b) + (%s)(c)))",
		    emit_c_vector(e, type, lanes), u, u, u);
	}
	if (op == LOW_FMA)
		return "((a) * (b) + (c))";
	return general(e, op, math, type, to, lanes);
}

static bool is_short_min_max(LowOpcode op, DType type, int lanes)
{
	return (op == LOW_MIN || op == LOW_MAX) &&
	    lanes * (type == DT_INDEX ? 8 : dtype_bytes(type)) < 16;
}

const char *emit_c_macro(
    EmitC *e, LowOpcode op, Op math, DType type, DType to, int lanes)
{
	const char *name = macro_name(e, op, math, type, to, lanes);
	const char *takes = parameters(op, math, to);
	DType gives = op == LOW_CONVERT ? to
	    : op == LOW_DOT ? intrinsic_of(type, to)->sum : type;
	const char *result = emit_c_vector(e, gives, lanes);
	for (int i = 0; i < e->have.n; i++)
		if (!strcmp(e->have.at[i], name))
			return name;
	const char *x86 = emit_c_x86(e, op, math, type, to, lanes);
	const char *plain = x86
	    ? without_isa(e, op, math, type, to, lanes)
	    : general(e, op, math, type, to, lanes);
	if (!x86)
		x86 = whole_or_lanes(e, op, type, lanes, plain);
	bool no_vector = op == LOW_STORE_MASKED || op == LOW_STREAM ||
	    op == LOW_SCATTER || op == LOW_ANY || low_op_is_comparison(op);
	if (x86 && op == LOW_STREAM)
		x86 = if_aligned(e, x86, plain);
	else if (x86 && !no_vector)
		x86 = arena_printf(e->arena, "((%s)%s)", result, x86);
	/* GCC takes vectors apart that it converts, does not find the lesser of two
	 * integers, and takes a blend for an AND; clang does as the object */
	bool by_gcc = is_short_min_max(op, type, lanes) ||
	    (op == LOW_AND && !emit_c_has_bits(e)) ||
	    (op == LOW_CONVERT && !dtype_is_half(type) && !dtype_is_half(to));
	emit_c_define(
	    e, name, takes, by_gcc ? EMIT_GCC_X86 : EMIT_ANY_X86, x86, plain);
	return name;
}

/* gcc counts a factor that ends with a product as as good a register for the sum
 * as the sum's own, moves it back at the end of a loop, and where none is free by
 * way of the stack: each addition then waits for it. */
const char *emit_c_sum_macro(EmitC *e, DType type, int lanes)
{
	const char *vector = emit_c_vector(e, type, lanes);
	const char *name =
	    arena_printf(e->arena, "SUM_%s", emit_c_upper(e, vector));
	const char *fma = emit_c_macro(e, LOW_FMA, OP_CAST, type, type, lanes);
	e->sums = true;
	const char *in_place = arena_printf(e->arena,
	    "__extension__({ %s tunec_c = (c); \\\n"
	    "\t__asm__(\"vfmadd231p%c {%%2, %%1, %%0|%%0, %%1, %%2}\" \\\n"
	    "\t    : \"+x\"(tunec_c) : \"x\"(a), \"x\"(b)); tunec_c; })",
	    vector, type == DT_F32 ? 's' : 'd');
	emit_c_define(e, name, "a, b, c", EMIT_GCC_X86, in_place,
	    arena_printf(e->arena, "%s(a, b, c)", fma));
	return name;
}
