/* Integers clamped to what a narrower type holds, on their way to it: one
 * instruction, that no C compiler but clang makes of three.
 *
 *     s = max x, -32768
 *     t = min s, 32767         -->     y = PACK(x)
 *     y = convert t, to i16
 *
 * A remainder by a number that ends in as many zeros as bits are left is none.
 *
 * Of AVX-512 it is vpmovs.., which takes what is below 0 for 0 by a maximum
 * before it; of AVX2 vpackss.. or vpackus.. of both halves. */
#include "codegen/c/emit_c.h"

static bool is_integer(const EmitC *e, int temp, int64_t *value)
{
	const LowNode *n = emit_c_constant(e, temp);
	*value = n ? n->i : 0;
	return n;
}

static bool is_clamp(const EmitC *e, const LowNode *n, int64_t *by)
{
	return n && n->kind == LOWNODE_OP &&
	    (n->op == LOW_MIN || n->op == LOW_MAX) &&
	    is_integer(e, n->arg[1], by);
}

/* Two of them, in either order. */
static int clamped(const EmitC *e, int temp, int64_t *least, int64_t *most)
{
	const LowNode *last = e->plan[temp].def, *first;
	int64_t a, b;
	if (!is_clamp(e, last, &a))
		return -1;
	first = e->plan[last->arg[0]].def;
	if (!is_clamp(e, first, &b) || first->op == last->op)
		return -1;
	*least = last->op == LOW_MAX ? a : b;
	*most = last->op == LOW_MAX ? b : a;
	return first->arg[0];
}

static bool holds_just(DType type, int64_t least, int64_t most)
{
	switch (type) {
	case DT_U8: return least == 0 && most == UINT8_MAX;
	case DT_I8: return least == INT8_MIN && most == INT8_MAX;
	case DT_I16: return least == INT16_MIN && most == INT16_MAX;
	default: return false;
	}
}

static int bits_of(DType type)
{
	return 8 * dtype_bytes(type);
}

/* The halves of 32 bytes, of 16 the whole twice. */
static const char *packed_by_avx2(EmitC *e, DType from, DType to, int lanes)
{
	const char *halves = lanes * dtype_bytes(from) == 32
	    ? "_mm256_castsi256_si128((__m256i)(a)), "
	      "_mm256_extracti128_si256((__m256i)(a), 1)"
	    : "(__m128i)(a), (__m128i)(a)";
	const char *sign = to == DT_U8 ? "us" : "s";
	if (from == DT_I16)
		return arena_printf(
		    e->arena, "_mm_pack%s_epi16(%s)", sign, halves);
	const char *words =
	    arena_printf(e->arena, "_mm_packs_epi32(%s)", halves);
	return to == DT_I16
	    ? words
	    : arena_printf(e->arena,
		  "_mm_pack%s_epi16(%s, _mm_setzero_si128())", sign, words);
}

static const char *packed_by_avx512(EmitC *e, DType from, DType to, int lanes)
{
	int bits = lanes * bits_of(from);
	const char *mm =
	    bits == 128 ? "_mm" : arena_printf(e->arena, "_mm%d", bits);
	const char *a = arena_printf(e->arena, "(__m%di)(a)", bits);
	if (to == DT_U8)
		a = arena_printf(e->arena,
		    "%s_max_epi%d(%s, %s_setzero_si%d())", mm, bits_of(from), a,
		    mm, bits);
	return arena_printf(e->arena, "%s_cvt%sepi%d_epi%d(%s)", mm,
	    to == DT_U8 ? "us" : "s", bits_of(from), bits_of(to), a);
}

/* As an expression over `a`; NULL: there is none. */
static const char *packed(EmitC *e, DType from, DType to, int lanes)
{
	int bytes = lanes * dtype_bytes(from), left = lanes * dtype_bytes(to);
	if (!e->isa.avx2 || (from != DT_I32 && from != DT_I16) ||
	    dtype_bytes(to) >= dtype_bytes(from) || bytes < 16 ||
	    bytes > e->isa.vector_bytes || left < 4)
		return NULL;
	const char *text = e->isa.avx512 ? packed_by_avx512(e, from, to, lanes)
					 : packed_by_avx2(e, from, to, lanes);
	return left > 8
	    ? text
	    : arena_printf(e->arena, "_mm_cvtsi128_si%d(%s)", 8 * left, text);
}

int emit_c_pack_source(EmitC *e, const LowNode *n)
{
	int64_t least, most;
	if (!e->plan || n->kind != LOWNODE_OP || n->op != LOW_CONVERT)
		return -1;
	DType to = e->f->temps.at[n->dst].type;
	int x = clamped(e, n->arg[0], &least, &most);
	return x >= 0 && holds_just(to, least, most) &&
		e->plan[x].assigned == 1 &&
		packed(e, e->f->temps.at[x].type, to, e->f->temps.at[x].lanes)
	    ? x
	    : -1;
}

int emit_c_low_bits_source(EmitC *e, const LowNode *n)
{
	if (!e->plan || n->kind != LOWNODE_OP || n->op != LOW_CONVERT)
		return -1;
	const LowTemp *d = &e->f->temps.at[n->dst];
	const LowNode *mod = e->plan[n->arg[0]].def;
	int64_t by;
	if (d->lanes == 1 || !dtype_is_int(d->type) || !mod ||
	    mod->kind != LOWNODE_OP || mod->op != LOW_MOD ||
	    dtype_bytes(d->type) > 4 || !is_integer(e, mod->arg[1], &by) ||
	    by <= 0 || by % (INT64_C(1) << bits_of(d->type)))
		return -1;
	return e->plan[mod->arg[0]].assigned == 1 ? mod->arg[0] : -1;
}

/* By three operations, as clang wants them. */
static const char *in_steps(EmitC *e, DType from, DType to, int lanes)
{
	const char *all = emit_c_splat(e, emit_c_vector(e, from, lanes));
	int64_t most = to == DT_U8 ? UINT8_MAX : (1 << (bits_of(to) - 1)) - 1;
	int64_t least = to == DT_U8 ? 0 : -most - 1;
	return emit_c_convert_vector(e, from, to, lanes,
	    arena_printf(e->arena, "%s(%s(a, %s(%lld)), %s(%lld))",
		emit_c_macro(e, LOW_MIN, OP_CAST, from, from, lanes),
		emit_c_macro(e, LOW_MAX, OP_CAST, from, from, lanes), all,
		(long long)least, all, (long long)most));
}

const char *emit_c_pack(EmitC *e, DType from, DType to, int lanes)
{
	const char *name = emit_c_upper(e,
	    arena_printf(e->arena, "PACK_%s_%sx%d", dtype_name(to),
		dtype_name(from), lanes));
	const char *plain = in_steps(e, from, to, lanes);
	emit_c_define(e, name, "a", EMIT_GCC_X86,
	    arena_printf(e->arena, "((%s)%s)", emit_c_vector(e, to, lanes),
		packed(e, from, to, lanes)),
	    plain);
	return name;
}
