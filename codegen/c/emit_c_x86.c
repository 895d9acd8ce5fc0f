/* What x86-64 has an intrinsic for, as expressions over the parameters of the
 * macros of emit_c_macros.c.  Vectors of 16, 32 and 64 bytes only. */
#include <string.h>

#include "codegen/cpu.h"
#include "codegen/c/emit_c.h"

/* --- the machine --------------------------------------------------------- */

EmitIsa emit_c_isa(const Target *target, Numerics numerics)
{
	EmitIsa isa = {.plain = target->kind == TARGET_C};
	const Machine *machine = &target->machine;
	isa.fma = machine->fma;
	isa.vector_bytes = machine->vector_bytes;
	if (target->kind != TARGET_LLVM || !machine->vector_bytes ||
	    cpu_arch(target->triple) != ARCH_X86_64)
		return isa;
	isa.x86 = true;
	isa.avx = machine->vector_bytes >= 32;
	isa.avx512 = machine->vector_bytes >= 64;
	isa.avx2 = isa.avx && machine->gather;
	isa.fma = isa.avx && machine->fma;
	isa.f16c = isa.avx && machine->f16c;
	CpuFeatures all = cpu_features(target->cpu, target->attrs);
	isa.vbmi = isa.avx512 && (all & FEATURE_BIT(AVX512VBMI));
	isa.vnni = isa.avx512 && (all & FEATURE_BIT(AVX512VNNI));
	isa.avxvnni = isa.avx2 && !isa.avx512 && (all & FEATURE_BIT(AVXVNNI));
	isa.bf16 = isa.avx512 && numerics == NUMERICS_FAST &&
	    (all & FEATURE_BIT(AVX512BF16));
	const Cpu *cpu = cpu_find(ARCH_X86_64, target->cpu);
	isa.gathers = isa.avx512 && cpu && cpu->masked_avx2; /* Intel's */
	return isa;
}

const char *emit_c_x86_features(Arena *arena, const EmitIsa *isa)
{
	if (isa->avx512)
		return arena_printf(arena,
		    "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl%s%s%s",
		    isa->vbmi ? ",avx512vbmi" : "",
		    isa->vnni ? ",avx512vnni" : "",
		    isa->bf16 ? ",avx512bf16" : "");
	if (!isa->avx)
		return "";
	return arena_printf(arena, "%s%s%s%s", isa->avx2 ? "avx2" : "avx",
	    isa->fma ? ",fma" : "", isa->f16c ? ",f16c" : "",
	    isa->avxvnni ? ",avxvnni" : "");
}

const char *emit_c_x86_compilers(const EmitIsa *isa)
{
	if (isa->avxvnni)
		return "(__GNUC__ >= 11 || __clang_major__ >= 12)";
	if (isa->bf16)
		return "(__GNUC__ >= 10 || __clang_major__ >= 9)";
	return "(__GNUC__ >= 8 || __clang_major__ >= 7)";
}

/* --- shapes -------------------------------------------------------------- */

typedef struct {
	int bytes, lane;     /* of the vector, of a lane */
	const char *prefix;  /* _mm256 */
	const char *m, *mi;  /* __m256d, __m256i */
	const char *suffix;  /* ps pd epi32 */
	bool is_float;
} Shape;

static int lane_bytes(DType type)
{
	return type == DT_INDEX ? 8 : dtype_bytes(type);
}

typedef enum { PREFIX, INTEGERS, FLOATS, DOUBLES, WORDS } Word;

/* What instructions and types of registers of so many bits are called; of others, of
 * which there are few, it is printed. */
static const char *word_of(EmitC *e, int bits, Word word)
{
	static const char *const known[][WORDS] = {
	    {"_mm", "__m128i", "__m128", "__m128d"},
	    {"_mm256", "__m256i", "__m256", "__m256d"},
	    {"_mm512", "__m512i", "__m512", "__m512d"}};
	static const char *const form[WORDS] = {
	    "_mm%d", "__m%di", "__m%d", "__m%dd"};
	for (int i = 0; i < 3; i++)
		if (bits == 128 << i)
			return known[i][word];
	return arena_printf(e->arena, form[word], bits);
}

static bool shape_of(EmitC *e, DType type, int lanes, Shape *s)
{
	static const char *const suffix[] = {
		[1] = "epi8", [2] = "epi16", [4] = "epi32", [8] = "epi64"};
	s->lane = lane_bytes(type);
	s->bytes = lanes * s->lane;
	s->is_float = type == DT_F32 || type == DT_F64;
	s->suffix = type == DT_F32 ? "ps" : type == DT_F64 ? "pd"
							   : suffix[s->lane];
	int bits = 8 * s->bytes;
	s->prefix = word_of(e, bits, PREFIX);
	s->mi = word_of(e, bits, INTEGERS);
	s->m = word_of(e, bits,
	    !s->is_float	 ? INTEGERS
		: type == DT_F64 ? DOUBLES
				 : FLOATS);
	return e->isa.x86 &&
	    (s->bytes == 16 || (s->bytes == 32 && e->isa.avx) ||
		(s->bytes == 64 && e->isa.avx512));
}

const char *emit_c_x86_words(EmitC *e, int bytes, const char *operand)
{
	int bits = 8 * bytes;
	if (bytes >= 16)
		return arena_printf(e->arena, "(__m%di)(%s)", bits, operand);
	const char *name = arena_printf(e->arena, "WORDS_%d", bits);
	emit_c_define(e, name, "v", EMIT_GCC_X86,
	    arena_printf(e->arena,
		"__extension__({ __m128i tunec_w; \\\n"
		"\t__asm__(\"\" : \"=x\"(tunec_w) : \"0\"((int%d_t)(v))); "
		"tunec_w; })",
		bits),
	    arena_printf(
		e->arena, "_mm_cvtsi%d_si128((int%d_t)(v))", bits, bits));
	return arena_printf(e->arena, "%s(%s)", name, operand);
}

static const char *in_register(EmitC *e, const char *operand, const Shape *s)
{
	if (s->bytes >= 16)
		return arena_printf(e->arena, "(%s)(%s)", s->m, operand);
	return arena_printf(e->arena, "%s%s", s->is_float ? "(__m128)" : "",
	    emit_c_x86_words(e, s->bytes, operand));
}

/* The bits of a mask that stand for lanes, and no others. */
static const char *own_bits(EmitC *e, int lanes)
{
	if (lanes < 8)
		return arena_printf(e->arena, "((m) & %d)", (1 << lanes) - 1);
	return arena_printf(e->arena, "(%s)(m)", emit_c_mask(e, 1, lanes));
}

/* --- operations ---------------------------------------------------------- */

/* Of what orders: unsigned integers have their own. */
static const char *ordered_suffix(EmitC *e, DType type, const Shape *s)
{
	return dtype_is_unsigned(type)
	    ? arena_printf(e->arena, "epu%d", 8 * s->lane) : s->suffix;
}

static const char *x86_min_max(EmitC *e, LowOpcode op, DType type, const Shape *s)
{
	if (!s->is_float && !e->isa.avx2)
		return NULL;
	if (s->lane == 8 && !s->is_float && !e->isa.avx512)
		return NULL;
	return arena_printf(e->arena, "%s_%s_%s((%s)(a), (%s)(b))", s->prefix,
	    op == LOW_MIN ? "min" : "max", ordered_suffix(e, type, s), s->m,
	    s->m);
}

static const char *x86_compare(
    EmitC *e, LowOpcode op, bool opposite, DType type, const Shape *s)
{
	static const char *const names[] = {[LOW_LT] = "lt",
	    [LOW_LE] = "le",
	    [LOW_EQ] = "eq",
	    [LOW_NE] = "neq"};
	static const char *const ordered[][2] = {[LOW_LT] = {"LT_OS", "NLT_US"},
	    [LOW_LE] = {"LE_OS", "NLE_US"},
	    [LOW_EQ] = {"EQ_OQ", "NEQ_UQ"},
	    [LOW_NE] = {"NEQ_UQ", "EQ_OQ"}};
	const char *a = in_register(e, "a", s), *b = in_register(e, "b", s);
	if (s->is_float)
		return arena_printf(e->arena, "%s_cmp_%s_mask(%s, %s, _CMP_%s)",
		    s->bytes < 16 ? "_mm" : s->prefix, s->suffix, a, b,
		    ordered[op][opposite]);
	return arena_printf(e->arena, "%s_cmp%s_%s_mask(%s, %s)",
	    s->bytes < 16 ? "_mm" : s->prefix, names[op],
	    ordered_suffix(e, type, s), a, b);
}

/* Vectors of 4 or 8 bytes, in the lower lanes of one of 16. */
static const char *x86_short_select(EmitC *e, const Shape *s)
{
	return arena_printf(e->arena,
	    "_mm_cvtsi128_si%d(_mm_mask_blend_epi%d((m), %s, %s))",
	    8 * s->bytes, 8 * s->lane, emit_c_x86_words(e, s->bytes, "b"),
	    emit_c_x86_words(e, s->bytes, "a"));
}

/* Without masks that are bits by the sign of each word, never of each byte: with
 * AVX-512 gcc 12 takes the wrong arm of _mm_blendv_epi8 where the mask is ~m. */
static const char *x86_select(EmitC *e, const Shape *s)
{
	const char *words = s->lane == 8 ? "pd" : "ps";
	const char *type = arena_printf(e->arena, "__m%d%s", 8 * s->bytes,
	    s->lane == 8 ? "d" : "");
	if (emit_c_has_bits(e))
		return arena_printf(e->arena,
		    "%s_mask_blend_%s((m), (%s)(b), (%s)(a))", s->prefix,
		    s->suffix, s->m, s->m);
	if (!e->isa.avx || s->lane < 4)
		return NULL;
	return arena_printf(e->arena, "%s_blendv_%s((%s)(b), (%s)(a), (%s)(m))",
	    s->prefix, words, type, type, type);
}

static const char *x86_scale(EmitC *e, bool masked, const Shape *s)
{
	return arena_printf(e->arena, "%s_%sscalef_%s(%s(%s)(a), (%s)(b))",
	    s->prefix, masked ? "maskz_" : "", s->suffix, masked ? "(m), " : "",
	    s->m, s->m);
}

static const char *x86_any(EmitC *e, int lanes, const Shape *s)
{
	if (emit_c_has_bits(e))
		return arena_printf(e->arena, "(%s != 0)", own_bits(e, lanes));
	if (s->bytes == 32)
		return "(!_mm256_testz_si256((__m256i)(m), (__m256i)(m)))";
	return "(_mm_movemask_epi8((__m128i)(m)) != 0)";
}

/* What instructions with masks or indices take elements for. */
static const char *element_of(const Shape *s)
{
	if (s->is_float)
		return s->lane == 4 ? "float" : "double";
	return s->lane == 4 ? "int" : "long long";
}

/* Half of the bytes of an operand, those of each 16 bytes, in 16 bits. */
static const char *x86_widened(
    EmitC *e, DType type, const char *operand, int part, const Shape *s)
{
	const char *unpack = part ? "unpackhi_epi8" : "unpacklo_epi8";
	if (type == DT_U8)
		return arena_printf(e->arena, "%s_%s((%s)%s, (%s)(%s ^ %s))",
		    s->prefix, unpack, s->mi, operand, s->mi, operand, operand);
	return arena_printf(e->arena, "%s_srai_epi16(%s_%s((%s)%s, (%s)%s), 8)",
	    s->prefix, s->prefix, unpack, s->mi, operand, s->mi, operand);
}

/* By an instruction that adds the products, where there is one. */
static const char *x86_vnni(EmitC *e, const char *name, const Shape *s)
{
	if (!e->isa.vnni && (!e->isa.avxvnni || s->bytes > 32))
		return NULL;
	return arena_printf(e->arena,
	    "%s_%s_%sepi32((%s)(c), (%s)(a), (%s)(b))", s->prefix, name,
	    e->isa.vnni ? "" : "avx_", s->mi, s->mi, s->mi);
}

/* Without the instruction: 16-bit products in pairs, then the pairs of pairs;
 * within 16 bytes both come out in order. */
static const char *x86_dot4(EmitC *e, const Intrinsic *in, const Shape *s)
{
	const char *half[2], *sum;
	const char *vnni =
	    in->a == DT_U8 && in->b == DT_I8 ? x86_vnni(e, "dpbusd", s) : NULL;
	if (vnni || !e->isa.avx2)
		return vnni;
	for (int i = 0; i < 2; i++)
		half[i] = arena_printf(e->arena, "%s_madd_epi16(%s, %s)",
		    s->prefix, x86_widened(e, in->a, "(a)", i, s),
		    x86_widened(e, in->b, "(b)", i, s));
	sum = s->bytes == 64
	    ? arena_printf(e->arena,
		  "_mm512_add_epi32((__m512i)_mm512_shuffle_ps((__m512)%s, "
		  "(__m512)%s, 0x88), (__m512i)_mm512_shuffle_ps((__m512)%s, "
		  "(__m512)%s, 0xdd))",
		  half[0], half[1], half[0], half[1])
	    : arena_printf(e->arena, "%s_hadd_epi32(%s, %s)", s->prefix,
		  half[0], half[1]);
	return arena_printf(
	    e->arena, "%s_add_epi32((%s)(c), %s)", s->prefix, s->mi, sum);
}

/* Of pairs of bf16 the second or the first, as f32. */
static const char *x86_half(
    EmitC *e, const char *operand, bool second, const Shape *s)
{
	const char *words = second
	    ? arena_printf(e->arena, "%s_and_si%d((%s)%s, %s_set1_epi32(-65536))",
		  s->prefix, 8 * s->bytes, s->mi, operand, s->prefix)
	    : arena_printf(e->arena, "%s_slli_epi32((%s)%s, 16)", s->prefix,
		  s->mi, operand);
	return arena_printf(e->arena, "(%s)%s", s->m, words);
}

static const char *x86_dot_bf16(EmitC *e, const Shape *s)
{
	if (e->isa.bf16)
		return arena_printf(e->arena,
		    "%s_dpbf16_ps((%s)(c), (%sbh)(a), (%sbh)(b))", s->prefix,
		    s->m, s->m, s->m);
	if (!e->isa.fma || !e->isa.avx2)
		return NULL;
	const char *sum = arena_printf(e->arena, "(%s)(c)", s->m);
	for (int second = 1; second >= 0; second--)
		sum = arena_printf(e->arena, "%s_fmadd_ps(%s, %s, %s)",
		    s->prefix, x86_half(e, "(a)", second, s),
		    x86_half(e, "(b)", second, s), sum);
	return sum;
}

/* By mask registers where there are any: some machines take ten times as long to
 * store under a vector. */
static const char *x86_load_masked(EmitC *e, const Shape *s)
{
	if (emit_c_has_bits(e))
		return arena_printf(e->arena, "%s_maskz_loadu_%s((m), (p))",
		    s->prefix, s->suffix);
	if (s->lane < 4 || (s->is_float ? !e->isa.avx : !e->isa.avx2))
		return NULL;
	return arena_printf(e->arena,
	    "%s_maskload_%s((const %s *)(p), (%s)(m))", s->prefix, s->suffix,
	    element_of(s), s->mi);
}

static const char *x86_short_masked(
    EmitC *e, LowOpcode op, int lanes, const Shape *s)
{
	if (op == LOW_LOAD_MASKED)
		return arena_printf(e->arena,
		    "_mm_cvtsi128_si%d(_mm_maskz_loadu_epi%d(%s, (p)))",
		    8 * s->bytes, 8 * s->lane, own_bits(e, lanes));
	return arena_printf(e->arena, "_mm_mask_storeu_epi%d((p), %s, %s)",
	    8 * s->lane, own_bits(e, lanes),
	    emit_c_x86_words(e, s->bytes, "v"));
}

static const char *x86_short_min_max(
    EmitC *e, LowOpcode op, DType type, const Shape *s)
{
	if (!e->isa.avx2 || s->is_float)
		return NULL;
	return arena_printf(e->arena, "_mm_cvtsi128_si%d(_mm_%s_%s(%s, %s))",
	    8 * s->bytes, op == LOW_MIN ? "min" : "max",
	    ordered_suffix(e, type, s), in_register(e, "a", s),
	    in_register(e, "b", s));
}

/* Vectors of 4 or 8 bytes; what has instructions for masks that are bits. */
static const char *x86_short(
    EmitC *e, LowOpcode op, Op math, DType type, int lanes, const Shape *s)
{
	bool in_words = s->bytes == 4 || s->bytes == 8;
	if (in_words && (op == LOW_MIN || op == LOW_MAX))
		return x86_short_min_max(e, op, type, s);
	if (!emit_c_has_bits(e))
		return NULL;
	if (op == LOW_ANY)
		return x86_any(e, lanes, s);
	if (!in_words)
		return NULL;
	if (low_op_is_comparison(op))
		return x86_compare(e, op, math == OP_NOT, type, s);
	if (op == LOW_SELECT)
		return x86_short_select(e, s);
	return op == LOW_LOAD_MASKED || op == LOW_STORE_MASKED
	    ? x86_short_masked(e, op, lanes, s)
	    : NULL;
}

static const char *x86_store_masked(EmitC *e, const Shape *s)
{
	if (emit_c_has_bits(e))
		return arena_printf(e->arena,
		    "%s_mask_storeu_%s((p), (m), (%s)(v))", s->prefix,
		    s->suffix, s->m);
	if (s->lane < 4 || (s->is_float ? !e->isa.avx : !e->isa.avx2))
		return NULL;
	return arena_printf(e->arena,
	    "%s_maskstore_%s((%s *)(p), (%s)(m), (%s)(v))", s->prefix,
	    s->suffix, element_of(s), s->mi, s->m);
}

/* Of a register of elements of 32 bits. */
static const char *x86_permute(EmitC *e, const Shape *s)
{
	if (!(s->bytes == 64 ? e->isa.avx512 : s->bytes == 32 && e->isa.avx2))
		return NULL;
	return s->bytes == 64
	    ? arena_printf(e->arena,
		  "_mm512_permutexvar_%s((__m512i)(i), (%s)(a))", s->suffix,
		  s->m)
	    : arena_printf(e->arena,
		  "_mm256_permutevar8x32_%s((%s)(a), (__m256i)(i))", s->suffix,
		  s->m);
}

/* Under a mask: lanes that it has off are not touched.  Without one a load for each
 * lane is as fast.  Indices are as wide as elements. */
static const char *x86_gather(EmitC *e, const Shape *s)
{
	const char *none = s->is_float
	    ? arena_printf(e->arena, "%s_setzero_%s()", s->prefix, s->suffix)
	    : arena_printf(
		  e->arena, "%s_setzero_si%d()", s->prefix, 8 * s->bytes);
	if (emit_c_has_bits(e))
		return arena_printf(e->arena,
		    "%s_%s_i%dgather_%s(%s, (m), (%s)(i), (const %s *)(p), %d)",
		    s->prefix, s->bytes == 64 ? "mask" : "mmask", 8 * s->lane,
		    s->suffix, none, s->mi, element_of(s), s->lane);
	return arena_printf(e->arena,
	    "%s_mask_i%dgather_%s(%s, (const %s *)(p), (%s)(i), (%s)(m), %d)",
	    s->prefix, 8 * s->lane, s->suffix, none, element_of(s), s->mi, s->m,
	    s->lane);
}

/* Lane 0 first, as it has to be. */
static const char *x86_scatter(EmitC *e, bool masked, const Shape *s)
{
	return arena_printf(e->arena,
	    "%s_%si%dscatter_%s((%s *)(p), %s(%s)(i), (%s)(v), %d)", s->prefix,
	    masked ? "mask_" : "", 8 * s->lane, s->suffix, element_of(s),
	    masked ? "(m), " : "", s->mi, s->m, s->lane);
}

static const char *x86_math(EmitC *e, Op math, const Shape *s)
{
	if (!s->is_float)
		return NULL;
	if (math == OP_SQRT)
		return arena_printf(e->arena, "%s_sqrt_%s((%s)(a))", s->prefix,
		    s->suffix, s->m);
	int direction = math == OP_FLOOR ? 9
	    : math == OP_CEIL		 ? 10
	    : math == OP_TRUNC		 ? 11 : 8;
	if (op_kind(math) != OPKIND_ROUNDING || !e->isa.avx)
		return NULL;
	return arena_printf(e->arena, "%s_%s_%s((%s)(a), %d)", s->prefix,
	    s->bytes == 64 ? "roundscale" : "round", s->suffix, s->m,
	    direction);
}

static const char *x86_dot(EmitC *e, const Intrinsic *in, const Shape *s)
{
	if (in->a == DT_BF16)
		return x86_dot_bf16(e, s);
	if (in->terms == 4)
		return x86_dot4(e, in, s);
	if (in->a != DT_I16 || in->b != DT_I16)
		return NULL;
	const char *vnni = x86_vnni(e, "dpwssd", s);
	if (!vnni && (s->bytes == 16 || e->isa.avx2))
		return arena_printf(e->arena,
		    "%s_add_epi32((%s)(c), %s_madd_epi16((%s)(a), (%s)(b)))",
		    s->prefix, s->mi, s->prefix, s->mi, s->mi);
	return vnni;
}

/* A vector of 4, 8, 16 or 32 bytes as what a widening instruction reads. */
static const char *widening_source(EmitC *e, int bytes)
{
	switch (bytes) {
	case 4:
		return "_mm_cvtsi32_si128((int32_t)(a))";
	case 8:
		return "_mm_cvtsi64_si128((int64_t)(a))";
	case 16:
		return "(__m128i)(a)";
	default:
		return arena_printf(e->arena, "(__m%di)(a)", 8 * bytes);
	}
}

static bool is_integer(DType type)
{
	return !dtype_is_float(type) && type != DT_BOOL;
}

/* By gcc, of 8 bytes wherever they are: in a register it would clear what lies above
 * them first.  To 8 bytes from 4, which it would move through memory. */
static const char *widened_short(
    EmitC *e, DType from, const Shape *d, bool half)
{
	static const char letters[] = {
	    [1] = 'b', [2] = 'w', [4] = 'd', [8] = 'q'};
	char place = e->isa.avx512 && !half ? 'v' : 'x';
	return arena_printf(e->arena,
	    "__extension__({ %s tunec_w; \\\n"
	    "\t__asm__(\"vpmov%cx%c%c {%%1, %%0|%%0, %%1}\" \\\n"
	    "\t    : \"=%c\"(tunec_w) : \"%c%s); tunec_w; })",
	    half ? "int64_t" : d->m, dtype_is_unsigned(from) ? 'z' : 's',
	    letters[lane_bytes(from)], letters[d->lane], place, place,
	    half ? "\"((int32_t)(a))" : "m\"(a)");
}

/* gcc 12 makes one instruction of a choice under a mask register and a widening of
 * few bytes of memory, that it then cannot write. */
static const char *apart(EmitC *e, const char *wide, const Shape *s)
{
	return arena_printf(e->arena,
	    "__extension__({ %s tunec_w = %s; \\\n"
	    "\t__asm__(\"\" : \"+v\"(tunec_w)); tunec_w; })",
	    s->m, wide);
}

/* To integers of more bytes, or to f64. */
static const char *x86_widen(EmitC *e, DType from, DType to, int lanes)
{
	Shape d;
	int source = lanes * lane_bytes(from);
	bool half = lanes * lane_bytes(to) == 8; /* of a register */
	if (!shape_of(e, to, half ? 2 * lanes : lanes, &d) || source < 4 ||
	    !(d.bytes == 16 ? e->isa.avx2 : e->isa.avx))
		return NULL;
	if (to == DT_F64 && source >= 16 && from == DT_F32)
		return arena_printf(
		    e->arena, "%s_cvtps_pd((__m%d)(a))", d.prefix, 8 * source);
	if (to == DT_F64 && source >= 16 && from == DT_I32)
		return arena_printf(e->arena, "%s_cvtepi32_pd(%s)", d.prefix,
		    widening_source(e, source));
	if (!is_integer(from) || !is_integer(to) || !e->isa.avx2)
		return NULL;
	if (source == 8 || half)
		return widened_short(e, from, &d, half);
	const char *wide = arena_printf(e->arena, "%s_cvtep%s%d_%s(%s)",
	    d.prefix, dtype_is_unsigned(from) ? "u" : "i",
	    8 * lane_bytes(from), d.suffix, widening_source(e, source));
	return source == 4 && e->isa.avx512 ? apart(e, wide, &d) : wide;
}

/* The low bytes of each lane side by side, in the lowest ones: within 16 bytes by
 * pshufb, which makes the lower half of 32 bytes one piece by a permutation. */
static const char *pick_low_bytes(
    EmitC *e, const char *wide, int from, int to, int bytes)
{
	Buf text = {0};
	buf_printf(&text, "%s_shuffle_epi8(%s, %s_setr_epi8(",
	    bytes == 32 ? "_mm256" : "_mm", wide,
	    bytes == 32 ? "_mm256" : "_mm");
	for (int i = 0; i < bytes; i++) {
		int at = i % 16, lane = at / to;
		buf_printf(&text, i ? ", %d" : "%d",
		    lane < 16 / from ? lane * from + at % to : -1);
	}
	buf_puts(&text, "))");
	const char *picked = arena_strdup(e->arena, buf_text(&text));
	buf_free(&text);
	if (bytes == 16)
		return picked;
	return arena_printf(e->arena,
	    2 * to == from
		? "_mm256_castsi256_si128(_mm256_permute4x64_epi64(%s, 8))"
		: "_mm256_castsi256_si128(_mm256_permutevar8x32_epi32(%s, "
		  "_mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)))",
	    picked);
}

/* To integers of fewer bytes, which are the low ones. */
static const char *x86_narrow(EmitC *e, DType from, DType to, int lanes)
{
	Shape s;
	int left = lanes * lane_bytes(to);
	bool half = lanes * lane_bytes(from) == 8; /* of a register */
	if (!shape_of(e, from, half ? 2 * lanes : lanes, &s) || !e->isa.avx2 ||
	    left < 4 || !is_integer(from) || !is_integer(to))
		return NULL;
	if (!e->isa.avx512 && lane_bytes(from) > 4 * lane_bytes(to))
		return NULL;
	const char *wide = emit_c_x86_words(e, half ? 8 : s.bytes, "a");
	const char *low = e->isa.avx512
	    ? arena_printf(e->arena, "%s_cvt%s_epi%d(%s)", s.prefix, s.suffix,
		  8 * lane_bytes(to), wide)
	    : pick_low_bytes(e, wide, s.lane, lane_bytes(to), s.bytes);
	return left == 4 ? arena_printf(e->arena, "_mm_cvtsi128_si32(%s)", low)
	    : left == 8	 ? arena_printf(e->arena, "_mm_cvtsi128_si64(%s)", low)
			 : low;
}

static const char *x86_convert(EmitC *e, DType from, DType to, int lanes)
{
	Shape d;
	int source = lanes * lane_bytes(from);
	bool wide = shape_of(e, to, lanes, &d) && source <= 32;
	if (from == DT_BF16 && to == DT_F32 && wide && e->isa.avx2 &&
	    source >= 16)
		return arena_printf(e->arena,
		    "(%s)%s_slli_epi32(%s_cvtepu16_epi32(%s), 16)", d.m,
		    d.prefix, d.prefix, widening_source(e, source));
	if (from == DT_F16 && to == DT_F32 && e->isa.f16c && wide &&
	    source >= 8)
		return arena_printf(e->arena, "%s_cvtph_ps(%s)", d.prefix,
		    widening_source(e, source));
	if (from == DT_F32 && to == DT_F16 && e->isa.f16c &&
	    (lanes == 8 || (lanes == 16 && e->isa.avx512)))
		return arena_printf(e->arena, "_mm%d_cvtps_ph((__m%d)(a), 0)",
		    32 * lanes, 32 * lanes);
	return lane_bytes(to) > lane_bytes(from) ? x86_widen(e, from, to, lanes)
	    : lane_bytes(to) < lane_bytes(from) ? x86_narrow(e, from, to, lanes)
						: NULL;
}

static const char *x86_stream(EmitC *e, const Shape *s)
{
	const char *suffix = s->is_float ? s->suffix
	    : arena_printf(e->arena, "si%d", 8 * s->bytes);
	const char *pointer = s->is_float
	    ? (s->lane == 4 ? "float" : "double") : s->mi;
	return arena_printf(e->arena, "%s_stream_%s((%s *)(p), (%s)(v))",
	    s->prefix, suffix, pointer, s->m);
}

/* By a vector of a mask that is known.  clang 14 makes shuffles of that, one for each
 * number it is of, and does not keep the vector. */
/* Of masks that are vectors gcc makes a blend with 0, which is two operations. */
static const char *x86_and(EmitC *e, const Shape *s)
{
	if (!emit_c_has_bits(e))
		return !s->is_float
		    ? NULL
		    : arena_printf(e->arena, "%s_and_%s((%s)(m), (%s)(a))",
			  s->prefix, s->suffix, s->m, s->m);
	const char *known =
	    arena_printf(e->arena, "%s_movm_epi%d(m)", s->prefix, 8 * s->lane);
	return arena_printf(e->arena, "((%s)(a) & %s)", s->mi,
	    emit_c_hidden(e, arena_printf(e->arena, "HIDDEN_%d", 8 * s->bytes),
		s->mi, 'v', known));
}

const char *emit_c_x86(
    EmitC *e, LowOpcode op, Op math, DType type, DType to, int lanes)
{
	if (op == LOW_CONVERT)
		return x86_convert(e, type, to, lanes);
	Shape s;
	DType shape = op == LOW_DOT ? intrinsic_of(type, to)->sum : type;
	if (!shape_of(e, shape, lanes, &s))
		return x86_short(e, op, math, type, lanes, &s);
	switch (op) {
	case LOW_FMA:
		if (type == DT_I32) /* as of MUL, and a sum */
			return !e->isa.vnni
			    ? NULL
			    : arena_printf(e->arena,
				  "%s_dpwssd_epi32((%s)(c), (%s)(a), (%s)(b))",
				  s.prefix, s.mi, s.mi, s.mi);
		return e->isa.fma ? arena_printf(e->arena,
				    "%s_fmadd_%s((%s)(a), (%s)(b), (%s)(c))",
				    s.prefix, s.suffix, s.m, s.m, s.m)
				  : NULL;
	case LOW_MUL: /* of i32 that have 16 bits, one of them not negative */
		return s.bytes > 16 && !e->isa.avx2
		    ? NULL
		    : arena_printf(e->arena, "%s_madd_epi16((%s)(a), (%s)(b))",
			  s.prefix, s.mi, s.mi);
	case LOW_ANY: return x86_any(e, lanes, &s);
	case LOW_SCALE:
		return e->isa.avx512 ? x86_scale(e, to == DT_BOOL, &s) : NULL;
	case LOW_RSQRT:
		return e->isa.avx512 ? arena_printf(e->arena,
				       "%s_rsqrt14_%s((%s)(a))", s.prefix,
				       s.suffix, s.m)
				     : NULL;
	case LOW_ABS:
		return !e->isa.avx2 || s.lane > 4
		    ? NULL
		    : arena_printf(e->arena, "%s_abs_epi%d((%s)(a))", s.prefix,
			  s.lane * 8, s.mi);
	case LOW_MIN:
	case LOW_MAX:
		return x86_min_max(e, op, type, &s);
	case LOW_LT:
	case LOW_LE:
	case LOW_EQ:
	case LOW_NE:
		return emit_c_has_bits(e)
		    ? x86_compare(e, op, math == OP_NOT, type, &s)
		    : NULL;
	case LOW_AND: return x86_and(e, &s);
	case LOW_SELECT:
		return x86_select(e, &s);
	case LOW_LOAD_MASKED:
		return x86_load_masked(e, &s);
	case LOW_STORE_MASKED:
		return x86_store_masked(e, &s);
	case LOW_STREAM:
		return x86_stream(e, &s);
	case LOW_PERMUTE: return math == OP_INT ? x86_permute(e, &s) : NULL;
	case LOW_GATHER:
		return e->isa.avx2 && to == DT_BOOL &&
			s.lane == (math == OP_INT ? 4 : 8)
		    ? x86_gather(e, &s)
		    : NULL;
	case LOW_SCATTER:
		return e->isa.avx512 && s.lane == (math == OP_INT ? 4 : 8)
		    ? x86_scatter(e, to == DT_BOOL, &s)
		    : NULL;
	case LOW_MATH:
		return x86_math(e, math, &s);
	case LOW_DOT:
		return x86_dot(e, intrinsic_of(type, to), &s);
	default:
		return NULL;
	}
}
