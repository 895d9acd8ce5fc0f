/* Shuffles that compilers take apart, by intrinsics, as expressions over a and b:
 *
 *     16 bytes again and again                            vbroadcasti128
 *     bytes of 4, 8 or 16 all over a wide vector          vpbroadcastd, vpshufb
 *     lanes of 16 bytes or fewer all over a wide vector   vpermd, vpermq
 *     a and behind it b                                   vinserti128
 *     any bytes of two vectors of 8, made words or not    punpcklqdq, pshufb
 *     lanes of a or b, each where it was                  vblendps, vpblendvb
 *     two words of a and two of b in each half            vshufps, vpermpd
 *     floats from within 16 bytes, the same of each       vshufps
 *     words of a and b in turns                           vunpcklps, vperm2f128
 *     any words of two halves of a wide vector            vpermt2d
 *     any bytes of a wide vector, as many or half         vpermb, vpermw
 *     groups of lanes of a and b                          vpunpcklwd, vpermt2w
 *
 * Which of gcc 12 and clang 14 needs them stands in the table of ways. */
#include "codegen/c/emit_c.h"

typedef struct {
	const int *lane;    /* of a and, behind it, b */
	int lanes;	    /* of the result */
	int source;	    /* lanes of a */
	int bytes;	    /* of a lane */
	bool floats;
} Shuffle;

/* A vector of 8 bytes or more in the lower part of one of so many. */
static const char *lower_part(
    EmitC *e, const char *operand, int bytes, int to)
{
	const char *part = emit_c_x86_words(e, bytes, operand);
	int from = bytes == 8 ? 16 : bytes;
	return to == from ? part
	    : arena_printf(e->arena, "_mm%d_castsi%d_si%d(%s)", 8 * to,
		  8 * from, 8 * to, part);
}

/* Where the parts of each lane, of `bytes` each, come from: "0, 0, ..." */
static const char *part_numbers(EmitC *e, const Shuffle *s, int bytes)
{
	Buf text = {0};
	int parts = s->bytes / bytes;
	for (int i = 0; i < s->lanes * parts; i++)
		buf_printf(&text, i ? ", %d" : "%d",
		    s->lane[i / parts] * parts + i % parts);
	const char *copy = arena_strdup(e->arena, buf_text(&text));
	buf_free(&text);
	return copy;
}

static const char *lane_numbers(EmitC *e, const Shuffle *s)
{
	return arena_printf(e->arena, "_mm%d_setr_epi32(%s)",
	    8 * s->lanes * s->bytes, part_numbers(e, s, 4));
}

static bool is_of_first(const Shuffle *s)
{
	for (int i = 0; i < s->lanes; i++)
		if (s->lane[i] >= s->source)
			return false;
	return true;
}

static const char *spread(EmitC *e, const Shuffle *s)
{
	int from = s->source * s->bytes, to = s->lanes * s->bytes;
	if (s->bytes < 4 || (from != 8 && from != 16) || to <= 16 ||
	    !is_of_first(s))
		return NULL;
	const char *a = lower_part(e, "a", from, to);
	return to == 64
	    ? arena_printf(e->arena, "_mm512_permutexvar_epi32(%s, %s)",
		  lane_numbers(e, s), a)
	    : arena_printf(e->arena, "_mm256_permutevar8x32_epi32(%s, %s)", a,
		  lane_numbers(e, s));
}

/* "_mm256_broadcastsi128_si256((__m128i)(a))"; from memory that is the load. */
static const char *broadcast(EmitC *e, int to)
{
	return arena_printf(e->arena, "_mm%d_broadcast%s((__m128i)(a))", 8 * to,
	    to == 32 ? "si128_si256" : "_i32x4");
}

static const char *repeated(EmitC *e, const Shuffle *s)
{
	int to = s->lanes * s->bytes;
	if (s->source * s->bytes != 16 || to <= 16)
		return NULL;
	for (int i = 0; i < s->lanes; i++)
		if (s->lane[i] != i % s->source)
			return NULL;
	return broadcast(e, to);
}

/* All of a in each 16 bytes, and bytes of these. */
static const char *strewn(EmitC *e, const Shuffle *s)
{
	int from = s->source * s->bytes, to = s->lanes * s->bytes;
	if (s->bytes >= 4 || (from != 4 && from != 8 && from != 16) ||
	    to < 32 || !is_of_first(s))
		return NULL;
	const char *all = from == 16
	    ? broadcast(e, to)
	    : arena_printf(e->arena, "_mm%d_set1_epi%d%s((int%d_t)(a))", 8 * to,
		  8 * from, from == 8 && to == 32 ? "x" : "", 8 * from);
	return arena_printf(e->arena,
	    "_mm%d_shuffle_epi8(%s, (__m%di)(%s){%s})", 8 * to, all, 8 * to,
	    emit_c_vector(e, DT_I8, to), part_numbers(e, s, 1));
}

static const char *joined(EmitC *e, const Shuffle *s)
{
	int half = s->source * s->bytes;
	for (int i = 0; i < s->lanes; i++)
		if (s->lane[i] != i)
			return NULL;
	if (s->lanes != 2 * s->source || (half != 16 && half != 32))
		return NULL;
	return arena_printf(e->arena, "_mm%d_insert%s(%s, (__m%di)(b), 1)",
	    16 * half, half == 32 ? "i64x4" : "i128_si256",
	    lower_part(e, "a", half, 2 * half), 8 * half);
}

/* Each `apart` bytes from the one before, with zeros between. */
static const char *bytes_of_two(EmitC *e, const Shuffle *s, int apart)
{
	Buf text = {0};
	if (s->source * s->bytes != 8 || s->lanes != s->source)
		return NULL;
	buf_printf(&text,
	    "_mm_shuffle_epi8(_mm_unpacklo_epi64(%s, %s), _mm_setr_epi8(",
	    lower_part(e, "a", 8, 16), lower_part(e, "b", 8, 16));
	for (int i = 0; i < 16; i++) {
		int k = i / apart;
		buf_printf(&text, i ? ", %d" : "%d",
		    k < 8 && i % apart == 0
			? s->lane[k / s->bytes] * s->bytes + k % s->bytes
			: -1);
	}
	buf_puts(&text, "))");
	const char *copy = arena_strdup(e->arena, buf_text(&text));
	buf_free(&text);
	return copy;
}

static const char *eight_of_two(EmitC *e, const Shuffle *s)
{
	const char *text = bytes_of_two(e, s, 1);
	return text ? arena_printf(e->arena, "_mm_cvtsi128_si64(%s)", text)
		    : NULL;
}

/* Each lane of a or of b where it was.  gcc would put lanes that are all the same, or
 * numbers, together one by one. */
static const char *blended(EmitC *e, const Shuffle *s)
{
	int to = s->lanes * s->bytes, part = s->bytes < 4 ? s->bytes : 4;
	int parts = s->bytes / part;
	uint64_t bits = 0;
	Buf text = {0};
	if (s->lanes != s->source || (to != 16 && to != 32 && to != 64))
		return NULL;
	for (int i = 0; i < to / part; i++) {
		if (s->lane[i / parts] % s->lanes != i / parts)
			return NULL;
		bits |= (uint64_t)(s->lane[i / parts] >= s->lanes) << i;
	}
	const char *prefix = to == 16 ? "_mm" : to == 32 ? "_mm256" : "_mm512";
	if (to == 64)
		return arena_printf(e->arena,
		    "_mm512_mask_blend_epi%d(0x%llx, (__m512i)(a), (__m512i)(b))",
		    8 * part, (unsigned long long)bits);
	if (part == 4)
		return arena_printf(e->arena,
		    "%s_blend_ps((__m%d)(a), (__m%d)(b), 0x%02llx)", prefix,
		    8 * to, 8 * to, (unsigned long long)bits);
	for (int i = 0; i < to; i++)
		buf_printf(
		    &text, "%s%d", i ? ", " : "", -(int)(bits >> i / part & 1));
	const char *copy = arena_printf(e->arena,
	    "%s_blendv_epi8((__m%di)(a), (__m%di)(b), (__m%di)(%s){%s})",
	    prefix, 8 * to, 8 * to, 8 * to, emit_c_vector(e, DT_I8, to),
	    buf_text(&text));
	buf_free(&text);
	return copy;
}

/* One shufps puts two words of a and two of b into each half, the same of both; a
 * permutation of the four pairs makes it a row. */
static const char *paired(EmitC *e, const Shuffle *s)
{
	int within[4] = {-1, -1, -1, -1}, pairs = 0, words = 0;
	if (e->isa.avx512 || s->bytes != 4 || s->lanes != 8 || s->source != 8)
		return NULL;
	for (int l = 0; l < 8; l++) {
		int from = s->lane[l], first = s->lane[l & ~1];
		int *lane = &within[from / 8 * 2 + l % 2];
		if (from < 0 || from / 4 != first / 4 ||
		    (*lane >= 0 && *lane != from % 4))
			return NULL;
		*lane = from % 4;
		/* pairs of a and b take turns, those of the lower half first */
		pairs |= (from / 4 % 2 * 2 + from / 8) << l / 2 * 2;
	}
	for (int i = 0; i < 4; i++)
		words |= (within[i] < 0 ? 0 : within[i]) << 2 * i;
	return arena_printf(e->arena,
	    "_mm256_permute4x64_pd((__m256d)_mm256_shuffle_ps((__m256)(a), "
	    "(__m256)(b), 0x%02x), 0x%02x)",
	    words, pairs);
}

/* clang 14 would take the halves of a and b before it mixes them, which needs twice
 * as many instructions where both halves of the result are used. */
static const char *mixed(EmitC *e, const Shuffle *s)
{
	if (e->isa.avx512 || s->bytes != 4 || s->lanes != 8 || s->source != 8 ||
	    (s->lane[0] != 0 && s->lane[0] != 4))
		return NULL;
	for (int l = 0; l < 8; l++)
		if (s->lane[l] != s->lane[0] + l / 2 + l % 2 * 8)
			return NULL;
	return arena_printf(e->arena,
	    "__extension__({ \\\n"
	    "\t__m256 tunec_l = _mm256_unpacklo_ps((__m256)(a), (__m256)(b)); \\\n"
	    "\t__m256 tunec_h = _mm256_unpackhi_ps((__m256)(a), (__m256)(b)); \\\n"
	    "\t__asm__(\"\" : \"+x\"(tunec_l)); __asm__(\"\" : \"+x\"(tunec_h)); \\\n"
	    "\t_mm256_permute2f128_ps(tunec_l, tunec_h, 0x%02x); })",
	    s->lane[0] ? 0x31 : 0x20);
}

/* clang 14 would make each half of the result apart. */
static const char *of_halves(EmitC *e, const Shuffle *s)
{
	int to = s->lanes * s->bytes;
	if (!e->isa.avx512 || s->bytes != 4 || to < 32 ||
	    s->lanes != 2 * s->source)
		return NULL;
	int *lane = NEW_N(e->arena, int, s->lanes);
	for (int l = 0; l < s->lanes; l++)
		lane[l] = s->lane[l] < s->source ? s->lane[l]
						 : s->lane[l] + s->source;
	Shuffle whole = {lane, s->lanes, s->lanes, s->bytes, s->floats};
	return arena_printf(e->arena, "_mm%d_permutex2var_epi32(%s, %s, %s)",
	    8 * to, lower_part(e, "a", to / 2, to), lane_numbers(e, &whole),
	    lower_part(e, "b", to / 2, to));
}

/* Is it half of 64 bytes out of both halves, or as many as there are, some from
 * other 16 bytes? */
static bool is_strewn_wide(const Shuffle *s)
{
	int from = s->source * s->bytes, to = s->lanes * s->bytes, apart = 0;
	if (!is_of_first(s) || from < 32 || (from != to && from + to != 96))
		return false;
	if (from == to) {
		for (int l = 0; l < s->lanes; l++)
			apart +=
			    s->lane[l] * s->bytes / 16 != l * s->bytes / 16;
		return apart;
	}
	for (int l = 0; l < s->lanes; l++)
		apart += s->lane[l] < s->lanes;
	return apart && apart < s->lanes;
}

/* clang 14 would take the halves of a and shuffle two vectors, or put together one by
 * one what few lanes are of that are read. */
static const char *picked(EmitC *e, const Shuffle *s)
{
	int from = s->source * s->bytes;
	if (!e->isa.avx512 || s->bytes > 2 || (s->bytes == 1 && !e->isa.vbmi) ||
	    !is_strewn_wide(s))
		return NULL;
	return arena_printf(e->arena,
	    "__extension__({ __m%di tunec_v; \\\n"
	    "\t__asm__(\"vperm%c %%2, %%1, %%0\" : \"=v\"(tunec_v) : \\\n"
	    "\t\"v\"((__m%di)(%s){%s}), \"v\"((__m%di)(a))); %s(tunec_v); })",
	    8 * from, s->bytes == 1 ? 'b' : 'w', 8 * from,
	    emit_c_vector(e, s->bytes == 1 ? DT_I8 : DT_I16, s->source),
	    part_numbers(e, s, s->bytes), 8 * from,
	    s->lanes < s->source ? "_mm512_castsi512_si256" : "");
}

/* Compilers take vpermilps even where it is asked for, which one port of Intel's has;
 * vshufps, of up to 32 bytes, two have. */
static const char *within(EmitC *e, const Shuffle *s)
{
	int bits = 0;
	if (!s->floats || s->bytes != 4 || s->lanes != s->source ||
	    (s->lanes != 4 && s->lanes != 8))
		return NULL;
	for (int l = 0; l < s->lanes; l++) {
		if (s->lane[l] != l / 4 * 4 + s->lane[l % 4])
			return NULL;
		bits |= (s->lane[l] & 3) << l % 4 * 2;
	}
	const char *vector = emit_c_vector(e, DT_F32, s->lanes);
	return arena_printf(e->arena,
	    "__extension__({ %s tunec_v; \\\n"
	    "\t__asm__(\"vshufps %%2, %%1, %%1, %%0\" : \"=v\"(tunec_v) : \\\n"
	    "\t\"v\"((%s)(a)), \"i\"(0x%02x)); tunec_v; })",
	    vector, vector, bits);
}

static bool is_in_groups(const Shuffle *s, int n)
{
	for (int l = 0; l < s->lanes; l++)
		if (s->lane[l] != s->lane[l / n * n] + l % n ||
		    (l % n == 0 && s->lane[l] % n))
			return false;
	return s->lanes % n == 0 && s->source % n == 0;
}

/* gcc takes vpermt2b, or its like, where lanes move in groups. */
static const char *grouped(EmitC *e, const Shuffle *s)
{
	int n = 1;
	while (2 * n * s->bytes <= 8 && is_in_groups(s, 2 * n))
		n *= 2;
	if (n == 1 || !e->isa.avx512 || s->floats)
		return NULL;
	int *lane = NEW_N(e->arena, int, s->lanes / n);
	for (int l = 0; l < s->lanes / n; l++)
		lane[l] = s->lane[l * n] / n;
	const char *vector =
	    emit_c_vector_signed(e, n * s->bytes, s->source / n);
	return emit_c_shuffled(e, arena_printf(e->arena, "(%s)(a)", vector),
	    arena_printf(e->arena, "(%s)(b)", vector), lane, s->lanes / n);
}

const char *emit_c_x86_shuffle(EmitC *e, const int *lane, int lanes, int source,
    int bytes, bool floats, bool one, const char **known)
{
	Shuffle s = {lane, lanes, source, bytes, floats};
	static const struct {
		const char *known;
		const char *(*text)(EmitC *, const Shuffle *);
	} ways[2][7] = {{{EMIT_GCC_X86, joined}, {EMIT_GCC_X86, eight_of_two},
			    {EMIT_GCC_X86, blended}, {EMIT_GCC_X86, paired},
			    {EMIT_ANY_X86, mixed}, {EMIT_ANY_X86, of_halves},
			    {EMIT_GCC_X86, grouped}},
	    {{EMIT_GCC_X86, repeated}, {EMIT_GCC_X86, strewn},
		{EMIT_GCC_X86, spread}, {EMIT_ANY_X86, within},
		{EMIT_CLANG_X86, picked}}};
	const char *text = NULL;
	*known = EMIT_ANY_X86;
	if (!e->isa.avx2 || lanes * bytes > e->isa.vector_bytes)
		return NULL;
	for (int i = 0; !text && i < 7 && ways[one][i].text; i++) {
		*known = ways[one][i].known;
		text = ways[one][i].text(e, &s);
	}
	return text;
}

const LowNode *emit_c_widened(EmitC *e, const LowNode *n)
{
	if (!e->plan || n->kind != LOWNODE_OP || n->op != LOW_CONVERT ||
	    !e->isa.avx2)
		return NULL;
	const LowTemp *d = &e->f->temps.at[n->dst];
	const LowTemp *s = &e->f->temps.at[n->arg[0]];
	const LowNode *put = e->plan[n->arg[0]].def;
	if (!dtype_is_int(d->type) || dtype_bytes(d->type) != 2 ||
	    s->type != DT_U8 || s->lanes != 8 || !put ||
	    put->kind != LOWNODE_OP || put->op != LOW_SHUFFLE)
		return NULL;
	for (int i = 0; i < 2; i++)
		if (put->arg[i] < 0 || e->plan[put->arg[i]].assigned != 1 ||
		    e->f->temps.at[put->arg[i]].lanes != 8)
			return NULL;
	return put->arg[0] != put->arg[1] ? put : NULL;
}

const char *emit_c_widening_shuffle(
    EmitC *e, const LowNode *put, const LowTemp *to)
{
	Shuffle s = {put->shuffle, 8, 8, 1, false};
	const char *bytes = emit_c_shuffled(e, "(a)", "(b)", s.lane, s.lanes);
	return emit_c_shuffle(e, emit_c_vector(e, to->type, to->lanes), "a, b",
	    emit_c_convert_vector(e, DT_U8, to->type, to->lanes, bytes),
	    EMIT_GCC_X86, bytes_of_two(e, &s, 2));
}
