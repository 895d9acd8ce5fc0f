/* One operation of the lowered form as a C expression, which is assigned to its
 * temporary or stands where that is read (emit_c_text.c). */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "codegen/c/emit_c_operands.h"

/* --- narrow integers made wide -------------------------------------------- */

/* Is it one, of AVX2?  AVX-512 compares into bits. */
static bool is_made_wide(const EmitC *e, int temp)
{
	const LowNode *wide = e->plan ? e->plan[temp].def : NULL;
	int lane = emit_c_lane_bytes(e, temp);
	int bytes = lane * temp_of(e, temp)->lanes;
	return e->isa.avx2 && !e->isa.avx512 && wide &&
	    wide->kind == LOWNODE_OP && wide->op == LOW_CONVERT &&
	    temp_of(e, wide->arg[0])->type != DT_BOOL &&
	    emit_c_lane_bytes(e, wide->arg[0]) < lane && bytes >= 16 &&
	    bytes <= e->isa.vector_bytes;
}

/* A value of a temporary's shape that clang does not look through. */
static const char *hidden_wide(EmitC *e, int temp, const char *text)
{
	const char *vector = emit_c_type(e, temp);
	return emit_c_hidden(e,
	    arena_printf(e->arena, "WIDE_%s", emit_c_upper(e, vector)), vector,
	    'v', text);
}

/* What is compared of bytes that one shuffle puts together and makes wide: clang
 * compares in between, which of integers without a sign takes three instructions, and
 * makes wide what comes of it. */
static const char *compared_wide(EmitC *e, LowOpcode op, int temp)
{
	const char *text = emit_c_text(e, temp, LEVEL_SUM);
	return (op == LOW_LT || op == LOW_LE) && is_made_wide(e, temp) &&
		emit_c_widened(e, e->plan[temp].def)
	    ? hidden_wide(e, temp, text)
	    : text;
}

/* --- arithmetic ---------------------------------------------------------- */

/* An operand of + - * / of floats or of indices, as C reads them. */
static const char *operand(EmitC *e, const LowNode *n, int arg)
{
	EmitLevel level = n->op == LOW_ADD || n->op == LOW_SUB ? LEVEL_SUM
							       : LEVEL_PRODUCT;
	if (arg && n->op != LOW_ADD && n->op != LOW_MUL)
		level--;
	/* the order of a sum, or of a product, is part of what it is */
	if (arg && (n->op == LOW_ADD || n->op == LOW_MUL))
		level--;
	return emit_c_text(e, n->arg[arg], level);
}

static void wrap_plainly(EmitC *e, const LowNode *n, const char *sign)
{
	bool sum = n->op == LOW_ADD || n->op == LOW_SUB;
	if (n->arg[1] < 0)
		emit_c_assign_format(e, n->dst, LEVEL_UNARY, "-%s",
		    emit_c_text(e, n->arg[0], LEVEL_PRIMARY));
	else if (n->op == LOW_XOR)
		emit_c_assign_format(e, n->dst, LEVEL_BITS, "%s ^ %s",
		    tight(e, n->arg[0]), tight(e, n->arg[1]));
	else
		emit_c_assign_format(e, n->dst, sum ? LEVEL_SUM : LEVEL_PRODUCT,
		    "%s %s %s", operand(e, n, 0), sign, operand(e, n, 1));
}

static const char *unsigned_of(EmitC *e, int temp)
{
	const LowTemp *t = temp_of(e, temp);
	return t->lanes > 1
	    ? emit_c_vector_unsigned(e, emit_c_lane_bytes(e, temp), t->lanes)
	    : dtype_bytes(t->type) == 8 ? "uint64_t" : "uint32_t";
}

/* Integers wrap, which C promises for unsigned ones only. */
/* What the lanes of a vector of i32 are, by how it is made; false: not known. */
static bool small_range(const EmitC *e, int temp, int depth, LowRange *r)
{
	const LowNode *n = e->plan ? e->plan[temp].def : NULL;
	LowRange b;
	if (!n || depth == 0)
		return false;
	switch (n->op) {
	case LOW_CONST:
		*r = (LowRange){true, n->i, n->i};
		return temp_of(e, temp)->type == DT_I32;
	case LOW_CONVERT:
		switch (temp_of(e, n->arg[0])->type) {
		case DT_U8: *r = (LowRange){true, 0, UINT8_MAX}; return true;
		case DT_I8:
			*r = (LowRange){true, INT8_MIN, INT8_MAX};
			return true;
		case DT_I16:
			*r = (LowRange){true, INT16_MIN, INT16_MAX};
			return true;
		default: return false;
		}
	case LOW_COPY:
	case LOW_BROADCAST: return small_range(e, n->arg[0], depth - 1, r);
	case LOW_MOD:
		if (emit_c_power_of_two(e, n->arg[1]) < 0)
			return false;
		*r = (LowRange){true, 0, e->constant[n->arg[1]]->i - 1};
		return true;
	case LOW_ADD:
	case LOW_SUB:
		if (!small_range(e, n->arg[0], depth - 1, r) ||
		    !small_range(e, n->arg[1], depth - 1, &b))
			return false;
		*r = n->op == LOW_ADD
		    ? (LowRange){true, r->least + b.least, r->most + b.most}
		    : (LowRange){true, r->least - b.most, r->most - b.least};
		return r->least >= INT32_MIN && r->most <= INT32_MAX;
	default: return false;
	}
}

/* A product of lanes that have 16 bits, those of one are not negative: then the
 * upper half of each is a product with 0, and x86 has one instruction for both. */
static bool is_product_of_words(EmitC *e, const LowNode *n)
{
	enum { DEPTH = 4 };
	LowRange a, b;
	return n->op == LOW_MUL && temp_of(e, n->dst)->type == DT_I32 &&
	    temp_of(e, n->dst)->lanes > 1 &&
	    small_range(e, n->arg[0], DEPTH, &a) &&
	    small_range(e, n->arg[1], DEPTH, &b) && a.least >= INT16_MIN &&
	    a.most <= INT16_MAX && b.least >= INT16_MIN &&
	    b.most <= INT16_MAX && (a.least >= 0 || b.least >= 0) &&
	    emit_c_x86(
		e, LOW_MUL, OP_MUL, DT_I32, DT_I32, temp_of(e, n->dst)->lanes);
}

/* Of an argument whose text is such a product, "MUL(a, b)", what is in it from the
 * parenthesis on; a long text has become a name.  NULL: it is none. */
static const char *factors_of(EmitC *e, int arg)
{
	const EmitTemp *t = &e->plan[arg];
	if (!t->stands || !t->def || !is_product_of_words(e, t->def))
		return NULL;
	const char *name = emit_c_macro(
	    e, LOW_MUL, OP_MUL, DT_I32, DT_I32, temp_of(e, arg)->lanes);
	const char *text = loose(e, arg);
	size_t length = strlen(name);
	return !strncmp(text, name, length) && text[length] == '('
	    ? text + length
	    : NULL;
}

/* MUL(a, b) + c as FMA(a, b, c), where a machine has it in one instruction, which
 * gcc does not find. */
static bool add_product(EmitC *e, const LowNode *n)
{
	int lanes = temp_of(e, n->dst)->lanes;
	if (n->op != LOW_ADD || temp_of(e, n->dst)->type != DT_I32 ||
	    lanes == 1 || !e->plan ||
	    !emit_c_x86(e, LOW_FMA, OP_CAST, DT_I32, DT_I32, lanes))
		return false;
	for (int i = 1; i >= 0; i--) {
		const char *both = factors_of(e, n->arg[i]);
		if (!both)
			continue;
		emit_c_assign_format(e, n->dst, LEVEL_PRIMARY, "%s%.*s, %s)",
		    emit_c_macro(e, LOW_FMA, OP_CAST, DT_I32, DT_I32, lanes),
		    (int)strlen(both) - 1, both, loose(e, n->arg[!i]));
		return true;
	}
	return false;
}

/* gcc makes shifts and sums of a product of 16 bits with a number, which is one
 * instruction: it does not see the number. */
static bool multiply_short(EmitC *e, const LowNode *n)
{
	const LowTemp *d = temp_of(e, n->dst);
	int bytes = 2 * d->lanes;
	if (n->op != LOW_MUL || d->type != DT_I16 || !e->isa.x86 || !e->plan ||
	    bytes < 16 || bytes > e->isa.vector_bytes)
		return false;
	for (int i = 0; i < 2; i++) {
		const LowNode *number = e->plan[n->arg[i]].def;
		if (!number || number->op != LOW_CONST ||
		    emit_c_power_of_two(e, n->arg[i]) >= 0)
			continue;
		const char *vector = emit_c_type(e, n->dst);
		const char *u = emit_c_vector_unsigned(e, 2, d->lanes);
		const char *name =
		    arena_printf(e->arena, "TIMES_%s", emit_c_upper(e, vector));
		emit_c_define(e, name, "a, b", EMIT_GCC_X86,
		    arena_printf(e->arena,
			"__extension__({ %s tunec_b = (%s)(b); \\\n"
			"\t__asm__(\"\" : \"+v\"(tunec_b)); "
			"(%s)((%s)(a) * tunec_b); })",
			u, u, vector, u),
		    arena_printf(
			e->arena, "((%s)((%s)(a) * (%s)(b)))", vector, u, u));
		emit_c_assign_format(e, n->dst, LEVEL_PRIMARY, "%s(%s, %s)",
		    name, loose(e, n->arg[!i]), loose(e, n->arg[i]));
		return true;
	}
	return false;
}

static void op_wrap(EmitC *e, const LowNode *n, const char *sign)
{
	const LowTemp *d = temp_of(e, n->dst);
	const char *type = emit_c_type(e, n->dst);
	if (dtype_is_float(d->type) || (d->lanes == 1 && d->type == DT_INDEX)) {
		wrap_plainly(e, n, sign);
		return;
	}
	if (is_product_of_words(e, n)) {
		emit_c_assign_format(e, n->dst, LEVEL_PRIMARY, "%s(%s, %s)",
		    emit_c_macro(e, LOW_MUL, OP_MUL, DT_I32, DT_I32, d->lanes),
		    loose(e, n->arg[0]), loose(e, n->arg[1]));
		return;
	}
	if (add_product(e, n) || multiply_short(e, n))
		return;
	const char *u = unsigned_of(e, n->dst);
	const char *a = tight(e, n->arg[0]);
	if (n->arg[1] >= 0)
		emit_c_assign_format(e, n->dst, LEVEL_UNARY,
		    "(%s)((%s)%s %s (%s)%s)", type, u, a, sign, u,
		    tight(e, n->arg[1]));
	else if (d->lanes > 1)
		emit_c_assign_format(
		    e, n->dst, LEVEL_UNARY, "(%s)-(%s)%s", type, u, a);
	else
		emit_c_assign_format(
		    e, n->dst, LEVEL_UNARY, "(%s)(0 - (%s)%s)", type, u, a);
}

/* A number of bits, or what is one of them modulo the width. */
static const char *shifted_by(EmitC *e, const LowNode *n, int width)
{
	const LowNode *number = emit_c_constant(e, n->arg[1]);
	if (number)
		return arena_printf(
		    e->arena, "%d", (int)(number->i & (width - 1)));
	return arena_printf(e->arena, "((%s)%s & %d)", unsigned_of(e, n->dst),
	    tight(e, n->arg[1]), width - 1);
}

/* AVX2 shifts lanes of 16 bits by one number alone: gcc takes them apart. */
static bool shift_wide(EmitC *e, const LowNode *n, const char *by)
{
	const LowTemp *d = temp_of(e, n->dst);
	bool right = n->op == LOW_SHR, is_unsigned = dtype_is_unsigned(d->type);
	if (!e->isa.avx2 || e->isa.avx512 || d->lanes != 8 ||
	    dtype_bytes(d->type) != 2 || emit_c_constant(e, n->arg[1]))
		return false;
	const char *type = emit_c_type(e, n->dst), *u = unsigned_of(e, n->dst);
	const char *name = arena_printf(
	    e->arena, "%s_%s", right ? "SHR" : "SHL", emit_c_upper(e, type));
	const char *wide = arena_printf(e->arena,
	    "(%s)_mm256_s%sv_epi32(_mm256_cvtep%s16_epi32((__m128i)(a)), "
	    "_mm256_cvtepu16_epi32((__m128i)(b)))",
	    emit_c_vector(e, DT_I32, 8),
	    !right	      ? "ll"
		: is_unsigned ? "rl"
			      : "ra",
	    is_unsigned ? "u" : "i");
	emit_c_define(e, name, "a, b", EMIT_GCC_X86,
	    arena_printf(e->arena, "((%s)%s)", type,
		emit_c_convert_vector(e, DT_I32, d->type, 8, wide)),
	    right ? "((a) >> (b))"
		  : arena_printf(e->arena, "((%s)((%s)(a) << (b)))", type, u));
	emit_c_assign_format(e, n->dst, LEVEL_PRIMARY, "%s(%s, %s)", name,
	    loose(e, n->arg[0]), by);
	return true;
}

static void op_shift(EmitC *e, const LowNode *n)
{
	const char *a = tight(e, n->arg[0]);
	const char *by =
	    shifted_by(e, n, 8 * dtype_bytes(temp_of(e, n->dst)->type));
	if (shift_wide(e, n, by))
		return;
	if (n->op == LOW_SHR)
		emit_c_assign_format(e, n->dst, LEVEL_BITS, "%s >> %s", a, by);
	else
		emit_c_assign_format(e, n->dst, LEVEL_UNARY,
		    "(%s)((%s)%s << %s)", emit_c_type(e, n->dst),
		    unsigned_of(e, n->dst), a, by);
}

static void op_popcount(EmitC *e, const LowNode *n)
{
	const LowTemp *d = temp_of(e, n->dst);
	int a = n->arg[0];
	if (d->lanes > 1)
		emit_c_assign_format(e, n->dst, LEVEL_PRIMARY, "%s(%s)",
		    emit_c_macro(
			e, LOW_POPCOUNT, OP_CAST, d->type, d->type, d->lanes),
		    loose(e, a));
	else
		emit_c_assign_format(e, n->dst, LEVEL_UNARY, "(%s)%s((%s)%s)",
		    emit_c_type(e, n->dst),
		    emit_c_popcount(e, 8 * dtype_bytes(d->type)),
		    unsigned_of(e, n->dst), tight(e, a));
}

static void op_abs(EmitC *e, const LowNode *n)
{
	const LowTemp *d = temp_of(e, n->dst);
	int a = n->arg[0];
	const char *type = emit_c_type(e, n->dst), *x = tight(e, a);
	if (dtype_is_unsigned(d->type) || d->type == DT_BOOL) {
		emit_c_assign_as_is(e, n->dst, a);
	} else if (dtype_is_float(d->type) && d->lanes == 1) {
		e->math = true;
		emit_c_assign_format(e, n->dst, LEVEL_PRIMARY, "fabs%s(%s)",
		    d->type == DT_F32 ? "f" : "", loose(e, a));
	} else if (dtype_is_float(d->type)) {
		const char *m =
		    emit_c_vector_signed(e, dtype_bytes(d->type), d->lanes);
		emit_c_assign_format(e, n->dst, LEVEL_UNARY,
		    "(%s)((%s)%s & %s(%s))", type, m, x, emit_c_splat(e, m),
		    d->type == DT_F32 ? "INT32_MAX" : "INT64_MAX");
	} else if (d->lanes > 1) {
		emit_c_assign_format(e, n->dst, LEVEL_PRIMARY, "%s(%s)",
		    emit_c_macro(
			e, LOW_ABS, OP_CAST, d->type, d->type, d->lanes),
		    loose(e, a));
	} else {
		emit_c_assign_format(e, n->dst, LEVEL_CHOICE,
		    "%s < 0 ? (%s)(0 - (%s)%s) : %s", x, type,
		    dtype_bytes(emit_c_storage(d->type)) == 8 ? "uint64_t"
							      : "uint32_t",
		    x, x);
	}
}

/* A few bits, read more than once, of a narrow integer made wide: clang takes them, and
 * compares them, before it makes them wide, once for each that reads them. */
static const char *kept_wide(EmitC *e, const LowNode *n, const char *text)
{
	return is_made_wide(e, n->arg[0]) && e->plan[n->dst].reads > 1
	    ? hidden_wide(e, n->dst, text)
	    : text;
}

/* By 2^k: compilers shift a sign in, as the machines do. */
static void divide_by_bits(EmitC *e, const LowNode *n, int k)
{
	const LowTemp *d = temp_of(e, n->dst);
	const char *a = tight(e, n->arg[0]);
	const char *rest = emit_c_int(e, d->type, (INT64_C(1) << k) - 1);
	if (n->op == LOW_FLOORDIV)
		emit_c_assign_format(e, n->dst, LEVEL_BITS, "%s >> %d", a, k);
	else if (d->lanes == 1)
		emit_c_assign_format(e, n->dst, LEVEL_BITS, "%s & %s", a, rest);
	else
		emit_c_assign_format(e, n->dst, LEVEL_BITS, "%s & %s(%s)",
		    kept_wide(e, n, a), emit_c_splat(e, emit_c_type(e, n->dst)),
		    rest);
}

/* Of an index that is never below 0 C's own will do. */
static bool is_natural(const EmitC *e, int temp)
{
	return e->ranges && e->ranges[temp].known && e->ranges[temp].least >= 0;
}

/* A number of memory's that has no more than 32 bits, by one that is known: compilers
 * see its bits only where it is read, and multiply 64 by 64. */
static bool divides_32(const EmitC *e, const LowNode *n)
{
	const LowNode *from = e->plan ? e->plan[n->arg[0]].def : NULL;
	const LowNode *by = e->plan ? emit_c_constant(e, n->arg[1]) : NULL;
	return from && from->kind == LOWNODE_OP && from->op == LOW_CONVERT &&
	    by && by->i <= INT32_MAX && e->ranges[n->arg[0]].most <= UINT32_MAX;
}

static void op_divide(EmitC *e, const LowNode *n)
{
	const LowTemp *d = temp_of(e, n->dst);
	int k = emit_c_power_of_two(e, n->arg[1]);
	if (d->lanes == 1 && d->type == DT_INDEX && is_natural(e, n->arg[0])) {
		bool by_32 = divides_32(e, n);
		emit_c_assign_format(e, n->dst,
		    by_32 ? LEVEL_UNARY : LEVEL_PRODUCT,
		    by_32 ? "(int64_t)((uint32_t)%s %c %s)" : "%s %c %s",
		    emit_c_text(e, n->arg[0], LEVEL_UNARY),
		    n->op == LOW_MOD ? '%' : '/', tight(e, n->arg[1]));
		return;
	}
	/* C does not say how a sign is shifted. */
	if (k >= 0 && (n->op == LOW_MOD || !e->isa.plain)) {
		divide_by_bits(e, n, k);
		return;
	}
	const char *name = d->lanes > 1
	    ? emit_c_macro(e, n->op, OP_CAST, d->type, d->type, d->lanes)
	    : emit_c_floordiv(e, d->type, n->op == LOW_MOD);
	emit_c_assign_format(e, n->dst, LEVEL_PRIMARY, "%s(%s, %s)", name,
	    loose(e, n->arg[0]), loose(e, n->arg[1]));
}

static void op_min_max(EmitC *e, const LowNode *n)
{
	const LowTemp *d = temp_of(e, n->dst);
	int a = n->arg[0], b = n->arg[1];
	if (a == b)
		emit_c_assign_as_is(e, n->dst, a);
	else if (d->lanes == 1 && d->type == DT_INDEX)
		emit_c_assign_format(e, n->dst, LEVEL_PRIMARY, "%s(%s, %s)",
		    emit_c_index_extreme(e, n->op == LOW_MAX), loose(e, a),
		    loose(e, b));
	else if (d->lanes == 1)
		emit_c_assign_format(e, n->dst, LEVEL_CHOICE,
		    "%s %c %s ? %s : %s", tight(e, a),
		    n->op == LOW_MIN ? '<' : '>', tight(e, b), tight(e, a),
		    tight(e, b));
	else if (d->type == DT_BOOL)
		emit_c_assign_format(e, n->dst, LEVEL_BITS, "%s %c %s",
		    mask(e, a, e->mask_bytes[n->dst]),
		    n->op == LOW_MIN ? '&' : '|',
		    mask(e, b, e->mask_bytes[n->dst]));
	else
		emit_c_assign_format(e, n->dst, LEVEL_PRIMARY, "%s(%s, %s)",
		    emit_c_macro(e, n->op, OP_CAST, d->type, d->type, d->lanes),
		    loose(e, a), loose(e, b));
}

static bool is_in_all_lanes(const EmitC *e, int temp)
{
	const LowNode *def = e->plan[temp].def;
	return def && def->kind == LOWNODE_OP &&
	    (def->op == LOW_BROADCAST || def->op == LOW_CONST);
}

/* A sum that grows by products with numbers in all lanes, where it might lack a
 * register: AVX-512 has more of them, and reads such numbers as operands. */
static bool is_tight_sum(EmitC *e, const LowNode *n)
{
	const LowTemp *d = temp_of(e, n->dst);
	return n->arg[2] == n->dst && n->arg[0] != n->dst &&
	    n->arg[1] != n->dst && dtype_is_float(d->type) &&
	    !e->isa.avx512 &&
	    emit_c_x86(e, LOW_FMA, OP_CAST, d->type, d->type, d->lanes) &&
	    (is_in_all_lanes(e, n->arg[0]) || is_in_all_lanes(e, n->arg[1]));
}

static void op_fma(EmitC *e, const LowNode *n)
{
	const LowTemp *d = temp_of(e, n->dst);
	const char *name = d->lanes == 1 ? emit_c_fma(e, d->type)
	    : is_tight_sum(e, n)
	    ? emit_c_sum_macro(e, d->type, d->lanes)
	    : emit_c_macro(e, LOW_FMA, OP_CAST, d->type, d->type, d->lanes);
	emit_c_assign_format(e, n->dst, LEVEL_PRIMARY, "%s(%s, %s, %s)", name,
	    loose(e, n->arg[0]), loose(e, n->arg[1]), loose(e, n->arg[2]));
}

static void op_scale(EmitC *e, const LowNode *n)
{
	const LowTemp *d = temp_of(e, n->dst);
	const char *a = tight(e, n->arg[0]), *b = tight(e, n->arg[1]);
	bool masked = n->arg[2] >= 0;
	if (d->lanes == 1)
		emit_c_assign(e, n->dst, LEVEL_CHOICE,
		    emit_c_scale(e, d->type, a, b,
			masked ? emit_c_text(e, n->arg[2], LEVEL_PRIMARY)
			       : NULL));
	else
		emit_c_assign_format(e, n->dst, LEVEL_PRIMARY, "%s(%s, %s%s%s)",
		    emit_c_macro(e, LOW_SCALE, OP_CAST, d->type,
			masked ? DT_BOOL : d->type, d->lanes),
		    a, b, masked ? ", " : "",
		    masked ? mask(e, n->arg[2], emit_c_lane_bytes(e, n->dst))
			   : "");
}

/* --- comparisons and bools ----------------------------------------------- */

/* Of two vectors of bools, bit by bit. */
static void compare_masks(EmitC *e, const LowNode *n)
{
	int bytes = e->mask_bytes[n->dst];
	const char *a = emit_c_mask_of(e, n->arg[0], bytes, LEVEL_PRIMARY);
	const char *b = emit_c_mask_of(e, n->arg[1], bytes, LEVEL_PRIMARY);
	const char *format = n->op == LOW_LT ? "~%s & %s"
	    : n->op == LOW_LE ? "~%s | %s"
	    : n->op == LOW_EQ ? "~(%s ^ %s)" : "%s ^ %s";
	emit_c_assign(e, n->dst, n->op == LOW_EQ ? LEVEL_UNARY : LEVEL_BITS,
	    arena_printf(e->arena, format, a, b));
}

/* b - a, or that less 1. */
static void compare_indices(EmitC *e, const LowNode *n)
{
	LowAffine a = emit_c_index(e, n->arg[0]), b = emit_c_index(e, n->arg[1]);
	LowAffine form = low_affine_add(e->arena, b, a, -1);
	form.constant -= n->op == LOW_LT;
	emit_c_assign(e, n->dst, LEVEL_COMPARE,
	    emit_c_condition(
		e, n->op == LOW_LT ? LOW_LE : n->op, form));
}

static void compare_scalars(EmitC *e, const LowNode *n)
{
	int a = n->arg[0], b = n->arg[1];
	const LowTemp *s = temp_of(e, a);
	EmitLevel level = s->type == DT_BOOL ? LEVEL_PRIMARY : LEVEL_SUM;
	if (a == b && !dtype_is_float(s->type)) {
		emit_c_read_anyway(e, a);
		assign(e, n->dst, n->op == LOW_LE || n->op == LOW_EQ
			? "true" : "false");
	} else if (s->type == DT_INDEX &&
	    (e->plan[a].is_sum || e->plan[b].is_sum)) {
		compare_indices(e, n);
	} else {
		emit_c_assign_format(e, n->dst, LEVEL_COMPARE, "%s %s %s",
		    emit_c_text(e, a, level), emit_c_comparison(n->op),
		    emit_c_text(e, b, level));
	}
}

static void op_compare(EmitC *e, const LowNode *n)
{
	int a = n->arg[0];
	const LowTemp *s = temp_of(e, a);
	if (s->lanes == 1)
		compare_scalars(e, n);
	else if (s->type == DT_BOOL)
		compare_masks(e, n);
	else
		emit_c_assign_compared(e, n->dst, n->op, s->type,
		    compared_wide(e, n->op, a),
		    compared_wide(e, n->op, n->arg[1]));
}

static void logic_of_masks(EmitC *e, const LowNode *n)
{
	int bytes = e->mask_bytes[n->dst];
	const char *a = mask(e, n->arg[0], bytes);
	if (n->op == LOW_NOT && !emit_c_is_opposite(e, n->arg[0]))
		emit_c_assign_format(e, n->dst, LEVEL_UNARY, "~%s", a);
	else if (n->op == LOW_NOT || n->arg[0] == n->arg[1])
		emit_c_assign(e, n->dst, LEVEL_UNARY, a);
	else
		emit_c_assign_format(e, n->dst, LEVEL_BITS, "%s %c %s", a,
		    n->op == LOW_AND ? '&' : '|', mask(e, n->arg[1], bytes));
}

static void op_logic(EmitC *e, const LowNode *n)
{
	if (temp_of(e, n->dst)->type != DT_BOOL) {
		op_wrap(e, n, n->op == LOW_AND ? "&" : "|");
		return;
	}
	EmitLevel level = n->op == LOW_AND ? LEVEL_AND : LEVEL_COMPARE;
	if (is_vector(e, n->dst))
		logic_of_masks(e, n);
	else if (n->op == LOW_NOT)
		emit_c_assign_format(e, n->dst, LEVEL_UNARY, "!%s",
		    emit_c_text(e, n->arg[0], LEVEL_PRIMARY));
	else
		emit_c_assign_format(e, n->dst,
		    n->op == LOW_AND ? LEVEL_AND : LEVEL_OR, "%s %s %s",
		    emit_c_text(e, n->arg[0], level),
		    n->op == LOW_AND ? "&&" : "||",
		    emit_c_text(e, n->arg[1], LEVEL_COMPARE));
}

/* Registers have an instruction where all three have the same lanes. */
static void op_permute(EmitC *e, const LowNode *n)
{
	const LowTemp *d = temp_of(e, n->dst);
	const char *i = loose(e, n->arg[1]);
	bool narrow = temp_of(e, n->arg[1])->type == DT_I32;
	bool same = temp_of(e, n->arg[0])->lanes == d->lanes;
	if (same && !narrow)
		i = arena_printf(e->arena, "__builtin_convertvector(%s, %s)", i,
		    emit_c_vector(e, DT_I32, d->lanes));
	emit_c_assign_format(e, n->dst, LEVEL_PRIMARY, "%s(%s, %s)",
	    emit_c_macro(e, LOW_PERMUTE, same ? OP_INT : OP_CAST, d->type,
		d->type, d->lanes),
	    loose(e, n->arg[0]), i);
}

static void op_any(EmitC *e, const LowNode *n)
{
	static const DType of_bytes[] = {
	    [1] = DT_I8, [2] = DT_I16, [4] = DT_I32, [8] = DT_I64};
	int a = n->arg[0];
	DType type = of_bytes[is_vector(e, a) ? e->mask_bytes[a] : 1];
	if (!is_vector(e, a))
		emit_c_assign_as_is(e, n->dst, a);
	else
		emit_c_assign_format(e, n->dst, LEVEL_PRIMARY, "%s(%s)",
		    emit_c_macro(
			e, LOW_ANY, OP_CAST, type, type, temp_of(e, a)->lanes),
		    loose(e, a));
}

static void op_select(EmitC *e, const LowNode *n)
{
	const LowTemp *d = temp_of(e, n->dst);
	int c = n->arg[0], a = n->arg[1], b = n->arg[2];
	if (d->lanes == 1) {
		emit_c_assign_format(e, n->dst, LEVEL_CHOICE, "%s ? %s : %s",
		    emit_c_text(e, c, LEVEL_OR), emit_c_text(e, a, LEVEL_OR),
		    emit_c_text(e, b, LEVEL_OR));
		return;
	}
	int bytes = emit_c_lane_bytes(e, n->dst), kept = emit_c_kept_arm(e, n);
	const char *m = emit_c_mask_of(e, c, bytes, LEVEL_PRIMARY);
	if (kept)
		emit_c_assign_format(e, n->dst, LEVEL_PRIMARY, "%s(%s%s, %s)",
		    emit_c_macro(
			e, LOW_AND, OP_CAST, d->type, d->type, d->lanes),
		    kept == 2 ? "~" : "", m, loose(e, n->arg[kept]));
	else if (d->type == DT_BOOL)
		emit_c_assign_format(e, n->dst, LEVEL_BITS,
		    "(%s & %s) | (~%s & %s)", m, mask(e, a, bytes), m,
		    mask(e, b, bytes));
	else
		emit_c_assign_format(e, n->dst, LEVEL_PRIMARY, "%s(%s, %s, %s)",
		    emit_c_macro(
			e, LOW_SELECT, OP_CAST, d->type, d->type, d->lanes),
		    emit_c_is_constant_mask(e, c)
			? emit_c_mask_hidden(e, d->lanes, m)
			: m,
		    loose(e, a), loose(e, b));
}

static void op_math(EmitC *e, const LowNode *n)
{
	const LowTemp *d = temp_of(e, n->dst);
	Op math = (Op)n->math;
	if (d->lanes == 1) {
		emit_c_assign(e, n->dst, LEVEL_CHOICE,
		    emit_c_math(e, math, d->type,
			emit_c_text(e, n->arg[0], LEVEL_PRIMARY),
			n->arg[1] < 0 ? NULL
				      : emit_c_text(e, n->arg[1],
					    LEVEL_PRIMARY)));
		return;
	}
	const char *name =
	    emit_c_macro(e, LOW_MATH, math, d->type, d->type, d->lanes);
	const char *a = loose(e, n->arg[0]);
	if (op_arity(math) == 2)
		emit_c_assign_format(e, n->dst, LEVEL_PRIMARY, "%s(%s, %s)",
		    name, a, loose(e, n->arg[1]));
	else
		emit_c_assign_format(
		    e, n->dst, LEVEL_PRIMARY, "%s(%s)", name, a);
}

static void op_rsqrt(EmitC *e, const LowNode *n)
{
	const LowTemp *d = temp_of(e, n->dst);
	if (d->lanes == 1)
		emit_c_assign(e, n->dst, LEVEL_CHOICE,
		    emit_c_math(e, OP_RSQRT, d->type,
			emit_c_text(e, n->arg[0], LEVEL_PRIMARY), NULL));
	else
		emit_c_assign_format(e, n->dst, LEVEL_PRIMARY, "%s(%s)",
		    emit_c_macro(
			e, LOW_RSQRT, OP_CAST, d->type, d->type, d->lanes),
		    loose(e, n->arg[0]));
}

static void op_dot(EmitC *e, const LowNode *n)
{
	const LowTemp *d = temp_of(e, n->dst);
	DType of_a = temp_of(e, n->arg[0])->type;
	DType of_b = temp_of(e, n->arg[1])->type;
	const char *a = tight(e, n->arg[0]), *b = tight(e, n->arg[1]);
	const char *c = tight(e, n->arg[2]);
	if (d->lanes == 1)
		emit_c_assign(e, n->dst, LEVEL_UNARY,
		    emit_c_dot(e, intrinsic_of(of_a, of_b), a, b, c, ""));
	else
		emit_c_assign_format(e, n->dst, LEVEL_PRIMARY, "%s(%s, %s, %s)",
		    emit_c_macro(e, LOW_DOT, OP_CAST, of_a, of_b, d->lanes), a,
		    b, c);
}

static void op_copy(EmitC *e, const LowNode *n)
{
	int a = n->arg[0];
	if (is_vector(e, a) && temp_of(e, a)->type == DT_BOOL)
		emit_c_assign(e, n->dst, LEVEL_UNARY,
		    mask(e, a, e->mask_bytes[n->dst]));
	else
		emit_c_assign_as_is(e, n->dst, a);
}

/* A cast between vectors of one size keeps the bits; those of a mask are a number. */
static void op_bits(EmitC *e, const LowNode *n)
{
	int a = n->arg[0];
	if (temp_of(e, a)->type == DT_BOOL)
		emit_c_assign_format(
		    e, n->dst, LEVEL_PRIMARY, "%s", emit_c_mask_word(e, a));
	else if (!is_vector(e, a))
		emit_c_assign_format(e, n->dst, LEVEL_PRIMARY,
		    "((union {%s from; %s to;}){%s}).to", emit_c_type(e, a),
		    emit_c_type(e, n->dst), loose(e, a));
	else
		emit_c_assign_format(e, n->dst, LEVEL_UNARY, "(%s)%s",
		    emit_c_type(e, n->dst), tight(e, a));
}

void emit_c_op(EmitC *e, const LowNode *n)
{
	e->node = n;
	if (emit_c_is_left_out(e, n))
		return;
	if (n->dst >= 0 && emit_c_starts(e, n))
		e->declared[n->dst] = false;
	switch (n->op) {
	case LOW_CONST:
	case LOW_IOTA:
	case LOW_LANES_BELOW:
	case LOW_BROADCAST:
	case LOW_EXTRACT:
	case LOW_INSERT:
	case LOW_SHUFFLE: emit_c_lanes(e, n); return;
	case LOW_COPY: op_copy(e, n); return;
	case LOW_PERMUTE: op_permute(e, n); return;
	case LOW_CONVERT: emit_c_conversion(e, n); return;
	case LOW_BITS: op_bits(e, n); return;
	case LOW_ADD: op_wrap(e, n, "+"); return;
	case LOW_SUB: op_wrap(e, n, "-"); return;
	case LOW_MUL: op_wrap(e, n, "*"); return;
	case LOW_DIV: op_wrap(e, n, "/"); return;
	case LOW_XOR: op_wrap(e, n, "^"); return;
	case LOW_SHL:
	case LOW_SHR: op_shift(e, n); return;
	case LOW_POPCOUNT: op_popcount(e, n); return;
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
	case LOW_DOT: op_dot(e, n); return;
	case LOW_LOAD:
	case LOW_LOAD_MASKED:
	case LOW_GATHER:
	case LOW_STORE:
	case LOW_STREAM:
	case LOW_STORE_MASKED:
	case LOW_SCATTER:
	case LOW_PREFETCH: emit_c_memory(e, n); return;
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
