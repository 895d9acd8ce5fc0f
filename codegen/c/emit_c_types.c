/* Vector types and scalar helpers of the emitted C.  Each is defined once, in
 * the file's prelude, when the first operation asks for its name. */
#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "codegen/c/emit_c.h"

bool emit_c_first(EmitC *e, const char *key)
{
	for (int i = 0; i < e->have.n; i++)
		if (!strcmp(e->have.at[i], key))
			return false;
	vec_push(e->arena, &e->have, arena_strdup(e->arena, key));
	return true;
}

void emit_c_define(EmitC *e, const char *name, const char *takes,
    const char *known, const char *x86, const char *plain)
{
	if (!emit_c_first(e, name))
		return;
	if (x86)
		buf_printf(&e->prelude,
		    "#if%s\n#define %s(%s) \\\n\t%s\n#else\n"
		    "#define %s(%s) \\\n\t%s\n#endif\n",
		    known, name, takes, x86, name, takes, plain);
	else
		buf_printf(&e->prelude, "#define %s(%s) \\\n\t%s\n", name,
		    takes, plain);
}

const char *emit_c_hidden(
    EmitC *e, const char *name, const char *type, char in, const char *text)
{
	emit_c_define(e, name, "v", EMIT_CLANG_X86,
	    arena_printf(e->arena,
		"__extension__({ %s tunec_v = (v); \\\n"
		"\t__asm__(\"\" : \"+%c\"(tunec_v)); tunec_v; })",
		type, in),
	    "(v)");
	return arena_printf(e->arena, "%s(%s)", name, text);
}

char *emit_c_upper(EmitC *e, const char *text)
{
	char *copy = arena_strdup(e->arena, text);
	for (char *c = copy; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	return copy;
}

DType emit_c_storage(DType type)
{
	return type == DT_BOOL ? DT_U8 : type == DT_INDEX ? DT_I64 : type;
}

/* --- vectors ------------------------------------------------------------- */

static const struct {
	const char *prefix, *ctype;
	int bytes;
} lane_types[] = {
	{"f64", "double", 8}, {"f32", "float", 4},
	{"i64", "int64_t", 8}, {"i32", "int32_t", 4},
	{"i16", "int16_t", 2}, {"i8", "int8_t", 1},
	{"u64", "uint64_t", 8}, {"u32", "uint32_t", 4},
	{"u16", "uint16_t", 2}, {"u8", "uint8_t", 1}};

/* Of a vector type's name, such as "f32x16". */
static int lane_type(const char *vector)
{
	size_t length = strcspn(vector, "x");
	int n = (int)(sizeof lane_types / sizeof lane_types[0]);
	for (int i = 0; i < n; i++)
		if (strlen(lane_types[i].prefix) == length &&
		    !strncmp(lane_types[i].prefix, vector, length))
			return i;
	assert(!"a vector type");
	return 0;
}

static int vector_lanes(const char *vector)
{
	int lanes = 0;
	for (const char *c = strchr(vector, 'x') + 1; isdigit((unsigned char)*c);
	     c++)
		lanes = lanes * 10 + *c - '0';
	return lanes;
}

static const char *vector_named(EmitC *e, const char *prefix, int lanes)
{
	const char *name = arena_printf(e->arena, "%sx%d", prefix, lanes);
	if (emit_c_first(e, name)) {
		int t = lane_type(name);
		buf_printf(&e->prelude,
		    "typedef %s %s __attribute__((vector_size(%d)));\n",
		    lane_types[t].ctype, name, lane_types[t].bytes * lanes);
	}
	return name;
}

static const char *value_prefix(DType type)
{
	switch (type) {
	case DT_F16:
	case DT_BF16:
		return "u16";
	case DT_BOOL:
		return "u8";
	case DT_INDEX:
		return "i64";
	default:
		return dtype_name(type);
	}
}

const char *emit_c_vector(EmitC *e, DType type, int lanes)
{
	return vector_named(e, value_prefix(type), lanes);
}

const char *emit_c_vector_unsigned(EmitC *e, int lane_bytes, int lanes)
{
	return vector_named(
	    e, arena_printf(e->arena, "u%d", 8 * lane_bytes), lanes);
}

const char *emit_c_vector_signed(EmitC *e, int lane_bytes, int lanes)
{
	return vector_named(
	    e, arena_printf(e->arena, "i%d", 8 * lane_bytes), lanes);
}

const char *emit_c_unaligned(EmitC *e, const char *vector)
{
	const char *name = arena_printf(e->arena, "%s_u", vector);
	if (emit_c_first(e, name)) {
		int t = lane_type(vector), bytes = lane_types[t].bytes;
		buf_printf(&e->prelude,
		    "typedef %s %s\n    __attribute__((vector_size(%d), "
		    "aligned(%d), may_alias));\n",
		    lane_types[t].ctype, name, bytes * vector_lanes(vector),
		    bytes);
	}
	return name;
}

int emit_c_lane_bytes(const EmitC *e, int temp)
{
	const LowTemp *t = &e->f->temps.at[temp];
	if (t->type == DT_BOOL)
		return e->mask_bytes[temp];
	return t->type == DT_INDEX ? 8 : dtype_bytes(t->type);
}

const char *emit_c_type(EmitC *e, int temp)
{
	const LowTemp *t = &e->f->temps.at[temp];
	if (t->lanes > 1)
		return t->type == DT_BOOL
		    ? emit_c_mask(e, e->mask_bytes[temp], t->lanes)
		    : emit_c_vector(e, t->type, t->lanes);
	if (t->type == DT_BOOL)
		return "bool";
	return t->type == DT_INDEX ? "int64_t" : dtype_ctype(t->type);
}

/* --- vector helpers ------------------------------------------------------ */

const char *emit_c_splat(EmitC *e, const char *vector)
{
	const char *name = emit_c_upper(e, vector);
	if (emit_c_first(e, name)) {
		buf_printf(&e->prelude, "#define %s(x) ((%s){", name, vector);
		int lanes = vector_lanes(vector);
		for (int i = 0; i < lanes; i++)
			buf_puts(&e->prelude, i ? ", x" : "x");
		buf_puts(&e->prelude, "})\n");
	}
	return name;
}

const char *emit_c_iota(EmitC *e, const char *vector)
{
	const char *name =
	    arena_printf(e->arena, "IOTA_%s", emit_c_upper(e, vector));
	if (emit_c_first(e, name)) {
		buf_printf(&e->prelude, "#define %s ((%s){", name, vector);
		int lanes = vector_lanes(vector);
		for (int i = 0; i < lanes; i++)
			buf_printf(&e->prelude, i ? ", %d" : "%d", i);
		buf_puts(&e->prelude, "})\n");
	}
	return name;
}

/* --- scalar helpers ------------------------------------------------------ */

#define HELPER "TUNEC_HELPER "

const char *emit_c_floordiv(EmitC *e, DType type, bool remainder)
{
	const char *word = remainder ? "mod" : "floordiv";
	const char *prefix = value_prefix(type);
	const char *ctype = lane_types[lane_type(prefix)].ctype;
	const char *name = arena_printf(e->arena, "tunec_%s_%s", word, prefix);
	if (!emit_c_first(e, name))
		return name;
	Buf *out = &e->prelude;
	buf_printf(out,
	    "\n/* %s of division rounding down; b > 0 */\n" HELPER
	    "%s %s(%s a, %s b)\n{\n",
	    remainder ? "Remainder" : "Quotient", ctype, name, ctype, ctype);
	if (dtype_is_unsigned(type))
		buf_printf(out, "\treturn a %c b;\n", remainder ? '%' : '/');
	else if (remainder)
		buf_printf(out,
		    "\t%s r = a %% b;\n\treturn r < 0 ? r + b : r;\n", ctype);
	else
		buf_puts(out, "\treturn a / b - (a % b < 0);\n");
	buf_puts(out, "}\n\n");
	return name;
}

const char *emit_c_popcount(EmitC *e, int bits)
{
	const char *name = arena_printf(e->arena, "tunec_popcount_%d", bits);
	if (emit_c_first(e, name))
		buf_printf(&e->prelude,
		    "\n/* How many bits are set. */\n" HELPER
		    "uint%d_t %s(uint%d_t x)\n{\n"
		    "\tx -= x >> 1 & (uint%d_t)0x5555555555555555u;\n"
		    "\tx = (x & (uint%d_t)0x3333333333333333u) +\n"
		    "\t    (x >> 2 & (uint%d_t)0x3333333333333333u);\n"
		    "\tx = (x + (x >> 4)) & (uint%d_t)0x0f0f0f0f0f0f0f0fu;\n"
		    "\treturn x * (uint%d_t)0x0101010101010101u >> %d;\n}\n\n",
		    bits, name, bits, bits, bits, bits, bits, bits, bits - 8);
	return name;
}

/* x86 gives INT32_MIN for all that does not fit. */
static void put_truncation(EmitC *e, DType from)
{
	char s = from == DT_F32 ? 's' : 'd';
	buf_printf(&e->prelude,
	    "#ifdef TUNEC_X86\n"
	    "\tint32_t i = _mm_cvtts%c_si32(_mm_set_s%c(x));\n"
	    "\ti = x >= 2147483648.0%s ? INT32_MAX : i;\n"
	    "\treturn x == x ? i : 0;\n#else\n",
	    s, s, from == DT_F32 ? "f" : "");
}

const char *emit_c_saturate(EmitC *e, DType from, DType to)
{
	static const struct {
		DType type;
		const char *below, *above, *least, *greatest;
	} ranges[] = {
		{DT_I64, "-9223372036854775808.0", "9223372036854775808.0",
		    "INT64_MIN", "INT64_MAX"},
		{DT_I32, "-2147483648.0", "2147483648.0", "INT32_MIN",
		    "INT32_MAX"},
		{DT_I16, "-32768.0", "32768.0", "INT16_MIN", "INT16_MAX"},
		{DT_I8, "-128.0", "128.0", "INT8_MIN", "INT8_MAX"},
		{DT_U64, "0.0", "18446744073709551616.0", "0",
		    "UINT64_MAX"},
		{DT_U32, "0.0", "4294967296.0", "0", "UINT32_MAX"},
		{DT_U16, "0.0", "65536.0", "0", "UINT16_MAX"},
		{DT_U8, "0.0", "256.0", "0", "UINT8_MAX"}};
	const char *name = arena_printf(e->arena, "tunec_%s_from_%s",
	    value_prefix(to), value_prefix(from));
	if (!emit_c_first(e, name))
		return name;
	int r = 0;
	while (ranges[r].type != (to == DT_INDEX ? DT_I64 : to))
		r++;
	const char *f = from == DT_F32 ? "f" : "";
	const char *ctype = lane_types[lane_type(value_prefix(to))].ctype;
	bool by_x86 = to == DT_I32 && e->isa.x86;
	buf_printf(&e->prelude,
	    "\n/* Truncates, saturates; NaN gives 0. */\n" HELPER
	    "%s %s(%s x)\n{\n",
	    ctype, name, dtype_ctype(from));
	if (by_x86)
		put_truncation(e, from);
	buf_printf(&e->prelude,
	    "\tif (x != x)\n\t\treturn 0;\n"
	    "\tif (x <= %s%s)\n\t\treturn %s;\n"
	    "\tif (x >= %s%s)\n\t\treturn %s;\n"
	    "\treturn (%s)x;\n%s}\n\n",
	    ranges[r].below, f, ranges[r].least, ranges[r].above, f,
	    ranges[r].greatest, ctype, by_x86 ? "#endif\n" : "");
	return name;
}

/* Rounding a double to `m` fraction bits and 15 - m of exponent: adding a power
 * of two rounds subnormal results, the rest is integer arithmetic. */
static void narrow_helper(EmitC *e)
{
	if (!emit_c_first(e, "tunec_narrow"))
		return;
	buf_puts(&e->prelude,
	    "\n/* To 16 bits with m bits of fraction, to nearest even. */\n"
	    HELPER "uint16_t tunec_narrow(double x, int m)\n{\n"
	    "\tunion { double f; uint64_t i; } u = {x};\n"
	    "\tint bias = (1 << (14 - m)) - 1;\n"
	    "\tint e = (int)(u.i >> 52 & 2047) - 1023 + bias;\n"
	    "\tint shift = e > 0 ? 52 - m : 53 - m - e;\n"
	    "\tuint32_t sign = (uint32_t)(u.i >> 63) << 15;\n"
	    "\tuint32_t infinity = (uint32_t)(2 * bias + 1) << m;\n"
	    "\tuint64_t f = (u.i & 0xfffffffffffffu) | 0x10000000000000u;\n"
	    "\tif (x != x)\n"
	    "\t\treturn (uint16_t)(sign | infinity | 1u << (m - 1) |\n"
	    "\t\t    (uint32_t)((f & 0xfffffffffffffu) >> (52 - m)));\n"
	    "\tif (e > 2 * bias)\n"
	    "\t\treturn (uint16_t)(sign | infinity);\n"
	    "\tif (shift > 54)\n"
	    "\t\treturn (uint16_t)sign;\n"
	    "\tuint64_t q = f >> shift, half = (uint64_t)1 << (shift - 1);\n"
	    "\tuint64_t rest = f & (2 * half - 1);\n"
	    "\tq += rest > half || (rest == half && (q & 1));\n"
	    "\treturn (uint16_t)(sign + ((uint32_t)(e > 0 ? e - 1 : 0) << m) +\n"
	    "\t    (uint32_t)q);\n}\n\n");
}

static void half_body(EmitC *e, DType from, DType to)
{
	Buf *out = &e->prelude;
	if (dtype_is_half(to))
		buf_printf(out, "\treturn tunec_narrow(x, %d);\n",
		    to == DT_F16 ? 10 : 7);
	else if (from == DT_BF16)
		buf_puts(out,
		    "\tunion { uint32_t i; float f; } u = {(uint32_t)x << 16};\n"
		    "\treturn u.f;\n");
	else
		buf_puts(out,
		    "\tuint32_t sign = (uint32_t)(x & 0x8000) << 16;\n"
		    "\tuint32_t m = x & 0x7fff;\n"
		    "\tunion { uint32_t i; float f; } u = {sign | m << 13};\n"
		    "\tif (m >= 0x7c00)\n\t\tu.i |= 0x7f800000;\n"
		    "\telse if (m >= 0x400)\n\t\tu.i += 112u << 23;\n"
		    "\telse\n\t\tu.f = sign ? -(float)m * 0x1p-24f"
		    " : (float)m * 0x1p-24f;\n"
		    "\treturn u.f;\n");
}

const char *emit_c_half(EmitC *e, DType from, DType to)
{
	const char *name = arena_printf(
	    e->arena, "tunec_%s_from_%s", dtype_name(to), dtype_name(from));
	for (int i = 0; i < e->have.n; i++)
		if (!strcmp(e->have.at[i], name))
			return name;
	if (dtype_is_half(to))
		narrow_helper(e);
	emit_c_first(e, name);
	buf_printf(&e->prelude, HELPER "%s %s(%s x)\n{\n", dtype_ctype(to),
	    name, dtype_ctype(from));
	half_body(e, from, to);
	buf_puts(&e->prelude, "}\n\n");
	return name;
}

/* gcc does several in a row on an index in the registers of vectors, clang those of
 * several indices, and both take them out again for addresses. */
const char *emit_c_index_extreme(EmitC *e, bool greatest)
{
	const char *name = greatest ? "tunec_max" : "tunec_min";
	if (emit_c_first(e, name))
		buf_printf(&e->prelude,
		    HELPER "int64_t %s(int64_t a, int64_t b)\n{\n"
		    "\ta = a %c b ? a : b;\n%s\treturn a;\n}\n\n",
		    name, greatest ? '>' : '<',
		    e->isa.x86 ? "#ifdef TUNEC_X86\n"
				 "\t__asm__(\"\" : \"+r\"(a)); /* a scalar */\n"
				 "#endif\n" : "");
	return name;
}

/* gcc takes a vector that instructions can read from memory for one that costs
 * nothing there, and reads it as often as it is used.  clang 14 takes what a narrower
 * one reads out of it, eight bytes after eight, unless it does not see the load. */
static void define_load_once(EmitC *e, const char *name, const char *vector)
{
	if (emit_c_first(e, name))
		buf_printf(&e->prelude,
		    "#if" EMIT_GCC_X86 "\n#define %s(p) __extension__({ \\\n"
		    "\t%s tunec_v = *(const %s *)(p); \\\n"
		    "\t__asm__(\"\" : \"+v\"(tunec_v)); tunec_v; })\n"
		    "#elif defined TUNEC_X86\n#define %s(p) __extension__({ \\\n"
		    "\t%s tunec_v; __asm__(\"vmovups %%1, %%0\" \\\n"
		    "\t: \"=v\"(tunec_v) : \"m\"(*(const %s *)(p))); tunec_v; })\n"
		    "#else\n#define %s(p) (*(const %s *)(p))\n#endif\n",
		    name, vector, emit_c_unaligned(e, vector), name, vector,
		    emit_c_unaligned(e, vector), name,
		    emit_c_unaligned(e, vector));
}

const char *emit_c_load(EmitC *e, const char *vector, bool once)
{
	const char *name = arena_printf(e->arena, "%s_%s",
	    once ? "LOAD_ONCE" : "LOAD", emit_c_upper(e, vector));
	const char *type = emit_c_unaligned(e, vector);
	if (once)
		define_load_once(e, name, vector);
	else if (emit_c_first(e, name))
		buf_printf(&e->prelude, "#define %s(p) (*(const %s *)(p))\n",
		    name, type);
	return name;
}

const char *emit_c_store(EmitC *e, const char *vector)
{
	const char *name =
	    arena_printf(e->arena, "STORE_%s", emit_c_upper(e, vector));
	const char *type = emit_c_unaligned(e, vector);
	if (emit_c_first(e, name))
		buf_printf(&e->prelude,
		    "#define %s(p, v) (*(%s *)(p) = (v))\n", name, type);
	return name;
}

const char *emit_c_behind(
    EmitC *e, const char *vector, const char *at, const char *value)
{
	const char *name =
	    arena_printf(e->arena, "BEHIND_%s", emit_c_upper(e, vector));
	emit_c_define(e, name, "p, v", EMIT_GCC_X86,
	    arena_printf(e->arena,
		"__extension__({ %s tunec_v = (v); \\\n"
		"\t__asm__(\"\" : \"+%c\"(tunec_v) \\\n"
		"\t    : \"m\"(*(const %s *)(p))); tunec_v; })",
		vector, e->isa.avx512 ? 'v' : 'x', emit_c_unaligned(e, vector)),
	    "(v)");
	return arena_printf(e->arena, "%s(%s, %s)", name, at, value);
}

const char *emit_c_shuffled(
    EmitC *e, const char *a, const char *b, const int *lane, int lanes)
{
	Buf text = {0};
	buf_printf(&text, "__builtin_shufflevector(%s, %s", a, b);
	for (int i = 0; i < lanes; i++)
		buf_printf(&text, ", %d", lane[i]);
	buf_putc(&text, ')');
	const char *copy = arena_strdup(e->arena, buf_text(&text));
	buf_free(&text);
	return copy;
}

/* The texts are what tells them apart, the numbers what they are called by. */
const char *emit_c_shuffle(EmitC *e, const char *vector, const char *takes,
    const char *text, const char *known, const char *x86)
{
	const char *upper = emit_c_upper(e, vector);
	for (int i = 0; i < e->shuffles.n; i++)
		if (!strcmp(e->shuffles.at[i].text, text) &&
		    !strcmp(e->shuffles.at[i].vector, vector))
			return e->shuffles.at[i].name;
	const char *name = arena_printf(
	    e->arena, "SHUFFLE%d_%s", e->shuffles.n, upper);
	vec_push(e->arena, &e->shuffles,
	    (EmitShuffle){arena_strdup(e->arena, text), vector, name});
	emit_c_define(e, name, takes, known,
	    x86 ? arena_printf(e->arena, "((%s)%s)", vector, x86) : NULL, text);
	return name;
}

/* --- masks --------------------------------------------------------------- */

bool emit_c_has_bits(const EmitC *e)
{
	return e->isa.avx512;
}

const char *emit_c_mask(EmitC *e, int lane_bytes, int lanes)
{
	if (!emit_c_has_bits(e))
		return emit_c_vector_signed(e, lane_bytes, lanes);
	const char *name = arena_printf(e->arena, "b1x%d", lanes);
	const char *bytes = emit_c_vector_signed(e, 1, lanes);
	if (emit_c_first(e, name))
		buf_printf(&e->prelude,
		    "#ifdef TUNEC_X86\ntypedef __mmask%d %s;\n"
		    "#else\ntypedef %s %s;\n#endif\n",
		    lanes < 8 ? 8 : lanes, name, bytes, name);
	return name;
}
