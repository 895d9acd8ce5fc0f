/* Types, literals, sums of indices and helpers of device languages.  A helper is defined once, in
 * the file's prelude, when the first operation asks for its name. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "codegen/device/emit_device.h"

const char *device_text(EmitDevice *e, const char *format, ...)
{
	Buf text = {0};
	va_list args;
	va_start(args, format);
	buf_vprintf(&text, format, args);
	va_end(args);
	const char *copy = arena_strdup(e->c.arena, buf_text(&text));
	buf_free(&text);
	return copy;
}

/* --- names --------------------------------------------------------------- */

/* What a parameter cannot be called: words of OpenCL C and of C++ that C has
 * not, and what a kernel says.  Temporaries end in numbers and need no care. */
static const char *const words[] = {"kernel", "global", "local", "constant",
	"private", "generic", "uniform", "pipe", "half", "quad", "complex",
	"imaginary", "read_only", "write_only", "read_write", "uchar", "ushort",
	"uint", "ulong", "event_t", "sampler_t", "queue_t", "barrier", "select",
	"convert", "vload_half", "vstore_half", "ldexp", "abs", "alignas",
	"alignof", "and", "and_eq", "asm", "bitand", "bitor", "catch", "class",
	"compl", "concept", "consteval", "constexpr", "constinit", "const_cast",
	"co_await", "co_return", "co_yield", "decltype", "delete",
	"dynamic_cast", "explicit", "export", "friend", "mutable", "namespace",
	"new", "noexcept", "not", "not_eq", "nullptr", "operator", "or",
	"or_eq", "protected", "public", "reinterpret_cast", "requires",
	"static_assert", "static_cast", "template", "this", "thread_local",
	"throw", "try", "typeid", "typename", "using", "virtual", "wchar_t",
	"xor", "xor_eq", "threadIdx", "blockIdx", "blockDim", "gridDim",
	"warpSize", "dim3"};

/* "float4", "uchar16", "image2d_t" */
static bool is_type_name(const char *name)
{
	static const char *const scalars[] = {"char", "uchar", "short",
		"ushort", "int", "uint", "long", "ulong", "longlong",
		"ulonglong", "float", "double", "half", "bool"};
	int n = (int)(sizeof scalars / sizeof *scalars);
	for (int i = 0; i < n; i++) {
		size_t length = strlen(scalars[i]);
		if (!strncmp(name, scalars[i], length) &&
		    isdigit((unsigned char)name[length]))
			return true;
	}
	return false;
}

bool emit_device_reserved(const char *name)
{
	static const char *const beginnings[] = {
		"get_", "as_", "convert_", "vload", "vstore", "atomic", "cl_"};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (!strcmp(name, words[i]))
			return true;
	for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
		if (!strncmp(name, beginnings[i], strlen(beginnings[i])))
			return true;
	return is_type_name(name) || emit_c_reserved(name);
}

/* --- types --------------------------------------------------------------- */

static const struct {
	DType type;
	const char *opencl, *cuda, *opencl_unsigned, *cuda_unsigned;
} types[] = {
	{DT_F64, "double", "double", "ulong", "unsigned long long"},
	{DT_F32, "float", "float", "uint", "unsigned"},
	{DT_F16, "ushort", "unsigned short", "ushort", "unsigned short"},
	{DT_BF16, "ushort", "unsigned short", "ushort", "unsigned short"},
	{DT_I64, "long", "long long", "ulong", "unsigned long long"},
	{DT_I32, "int", "int", "uint", "unsigned"},
	{DT_I16, "short", "short", "ushort", "unsigned short"},
	{DT_I8, "char", "signed char", "uchar", "unsigned char"},
	{DT_U64, "ulong", "unsigned long long", "ulong", "unsigned long long"},
	{DT_U32, "uint", "unsigned", "uint", "unsigned"},
	{DT_U16, "ushort", "unsigned short", "ushort", "unsigned short"},
	{DT_U8, "uchar", "unsigned char", "uchar", "unsigned char"},
	{DT_BOOL, "bool", "bool", "bool", "bool"},
	{DT_INDEX, "long", "long long", "ulong", "unsigned long long"}};

static int type_row(DType type)
{
	int i = 0;
	while (types[i].type != type)
		i++;
	return i;
}

const char *device_element(const EmitDevice *e, DType type)
{
	int row = type_row(type == DT_BOOL ? DT_U8 : type);
	return e->dialect->name == DIALECT_CUDA ? types[row].cuda
						: types[row].opencl;
}

const char *device_type(EmitDevice *e, DType type, int lanes)
{
	if (lanes == 1)
		return type == DT_BOOL ? "bool" : device_element(e, type);
	return device_text(e, "%s%d",
	    type == DT_BOOL ? "int" : device_element(e, type), lanes);
}

int device_bytes(DType type)
{
	return type == DT_INDEX ? 8 : dtype_bytes(type);
}

const char *device_unsigned(EmitDevice *e, DType type, int lanes)
{
	int row = type_row(type);
	const char *name = e->dialect->name == DIALECT_CUDA
			       ? types[row].cuda_unsigned
			       : types[row].opencl_unsigned;
	return lanes == 1 ? name : device_text(e, "%s%d", name, lanes);
}

/* --- literals ------------------------------------------------------------ */

const char *device_float(EmitDevice *e, DType type, double value)
{
	bool finite = !isnan(value) && !isinf(value);
	const char *sign = value < 0 ? "-" : "";
	if (dtype_is_half(type))
		return device_text(e, "0x%04x", type == DT_F16
			? f16_from_f64(value) : bf16_from_f64(value));
	if (finite)
		return emit_c_float(&e->c, type, value);
	if (e->dialect->name == DIALECT_CUDA) /* it has no header */
		return device_text(e, type == DT_F64
			? "%s__longlong_as_double(0x7ff%c000000000000LL)"
			: "%s__int_as_float(0x7f%c00000)",
		    sign, !isnan(value) ? type == DT_F64 ? '0' : '8'
			: type == DT_F64 ? '8' : 'c');
	return isnan(value) ? "NAN" : value < 0 ? "-INFINITY" : "INFINITY";
}

const char *device_int(EmitDevice *e, int64_t value)
{
	const char *suffix = e->dialect->suffix;
	if (value == INT64_MIN)
		return device_text(
		    e, "(-9223372036854775807%s - 1)", suffix);
	if (value == INT32_MIN)
		return "(-2147483647 - 1)";
	return device_text(e, "%lld%s", (long long)value,
	    value > INT32_MAX || value < INT32_MIN ? suffix : "");
}

const char *device_number(EmitDevice *e, DType type, int64_t value)
{
	if (!dtype_is_unsigned(type) || dtype_bytes(type) < 4)
		return device_int(e, value);
	return device_text(e, "%lluu%s", (unsigned long long)value,
	    (uint64_t)value > UINT32_MAX ? e->dialect->suffix : "");
}

/* --- indices ------------------------------------------------------------- */

const char *device_affine(EmitDevice *e, const LowAffine *a)
{
	const char *wide = low_affine_is_narrow(e->c.f, *a, 1)
	    ? "" : device_text(e, "(%s)", device_type(e, DT_INDEX, 1));
	Buf text = {0};
	for (int i = 0; i < a->n; i++) {
		int64_t k = a->terms[i].coefficient;
		const char *sign = text.size ? k < 0 ? " - " : " + "
					     : k < 0 ? "-" : "";
		if (!k)
			continue;
		buf_printf(&text, "%s%s%s", sign, wide,
		    e->c.temp[a->terms[i].temp]);
		if (k != 1 && k != -1)
			buf_printf(&text, "*%s", device_int(e, k < 0 ? -k : k));
	}
	if (!text.size)
		buf_puts(&text, device_int(e, a->constant));
	else if (a->constant)
		buf_printf(&text, " %c %s", a->constant < 0 ? '-' : '+',
		    device_int(e, a->constant < 0 ? -a->constant : a->constant));
	const char *copy = arena_strdup(e->c.arena, buf_text(&text));
	buf_free(&text);
	return copy;
}

/* --- helpers ------------------------------------------------------------- */

void emit_device_put(EmitDevice *e, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	buf_vprintf(&e->c.prelude, format, args);
	va_end(args);
}

static const char *type_word(DType type)
{
	return type == DT_INDEX ? "i64" : dtype_name(type);
}

/* For vectors as well: a comparison gives -1 where it holds, as wide as what
 * it compares. */
const char *device_floordiv(
    EmitDevice *e, DType type, int lanes, bool remainder)
{
	const char *word = remainder ? "mod" : "floordiv";
	const char *t = device_type(e, type, lanes);
	const char *name =
	    device_text(e, "tunec_%s_%sx%d", word, type_word(type), lanes);
	if (!emit_c_first(&e->c, name))
		return name;
	emit_device_put(e,
	    "/* %s of division rounding down; b > 0 */\n%s%s %s(%s a, %s b)\n"
	    "{\n",
	    remainder ? "Remainder" : "Quotient", e->dialect->function, t, name,
	    t, t);
	if (dtype_is_unsigned(type))
		emit_device_put(e, "\treturn a %c b;\n", remainder ? '%' : '/');
	else if (remainder && lanes == 1)
		emit_device_put(
		    e, "\t%s r = a %% b;\n\treturn r < 0 ? r + b : r;\n", t);
	else if (remainder)
		emit_device_put(
		    e, "\t%s r = a %% b;\n\treturn r + ((r < 0) & b);\n", t);
	else
		emit_device_put(e, "\treturn a / b %c (a %% b < 0);\n",
		    lanes == 1 ? '-' : '+');
	emit_device_put(e, "}\n\n");
	return name;
}

/* Of a scalar, where a language does not promise what a conversion does with
 * what does not fit. */
const char *device_saturate(EmitDevice *e, DType from, DType to)
{
	static const struct {
		DType type;
		const char *below, *above;
		int64_t least, greatest;
	} ranges[] = {{DT_I64, "-9223372036854775808.0",
			  "9223372036854775808.0", INT64_MIN, INT64_MAX},
	    {DT_I32, "-2147483648.0", "2147483648.0", INT32_MIN, INT32_MAX},
	    {DT_I16, "-32768.0", "32768.0", INT16_MIN, INT16_MAX},
	    {DT_I8, "-128.0", "128.0", INT8_MIN, INT8_MAX},
	    {DT_U64, "0.0", "18446744073709551616.0", 0, -1},
	    {DT_U32, "0.0", "4294967296.0", 0, UINT32_MAX},
	    {DT_U16, "0.0", "65536.0", 0, UINT16_MAX},
	    {DT_U8, "0.0", "256.0", 0, UINT8_MAX}};
	const char *name = device_text(
	    e, "tunec_%s_from_%s", type_word(to), type_word(from));
	if (!emit_c_first(&e->c, name))
		return name;
	int r = 0;
	while (ranges[r].type != (to == DT_INDEX ? DT_I64 : to))
		r++;
	const char *t = device_type(e, to, 1), *f = from == DT_F32 ? "f" : "";
	emit_device_put(e,
	    "/* Truncates, saturates; NaN gives 0. */\n%s%s %s(%s x)\n{\n"
	    "\tif (x != x)\n\t\treturn 0;\n"
	    "\tif (x <= %s%s)\n\t\treturn %s;\n"
	    "\tif (x >= %s%s)\n\t\treturn %s;\n\treturn (%s)x;\n}\n\n",
	    e->dialect->function, t, name, device_type(e, from, 1),
	    ranges[r].below, f, device_number(e, to, ranges[r].least),
	    ranges[r].above, f, device_number(e, to, ranges[r].greatest), t);
	return name;
}

/* Rounds a double to m bits of fraction and 15 - m of exponent. */
static void put_narrow(EmitDevice *e)
{
	bool cuda = e->dialect->name == DIALECT_CUDA;
	const char *u64 = device_unsigned(e, DT_I64, 1);
	const char *u16 = device_unsigned(e, DT_I16, 1);
	if (!emit_c_first(&e->c, "tunec_narrow"))
		return;
	emit_device_put(e,
	    "/* To 16 bits with m bits of fraction, to nearest even. */\n"
	    "%s%s tunec_narrow(double x, int m)\n{\n"
	    "\t%s bits = %s(x);\n",
	    e->dialect->function, u16, u64,
	    cuda ? "(unsigned long long)__double_as_longlong" : "as_ulong");
	emit_device_put(e,
	    "\tint bias = (1 << (14 - m)) - 1;\n"
	    "\tint e = (int)(bits >> 52 & 2047) - 1023 + bias;\n"
	    "\tint shift = e > 0 ? 52 - m : 53 - m - e;\n"
	    "\tunsigned sign = (unsigned)(bits >> 63) << 15;\n"
	    "\tunsigned infinity = (unsigned)(2 * bias + 1) << m;\n"
	    "\t%s f = (bits & 0xfffffffffffffu) | 0x10000000000000u;\n",
	    u64);
	emit_device_put(e,
	    "\tif (x != x)\n"
	    "\t\treturn (%s)(sign | infinity | 1u << (m - 1));\n"
	    "\tif (e > 2 * bias)\n\t\treturn (%s)(sign | infinity);\n"
	    "\tif (shift > 54)\n\t\treturn (%s)sign;\n"
	    "\t%s q = f >> shift, half_bit = (%s)1 << (shift - 1);\n"
	    "\t%s rest = f & (2 * half_bit - 1);\n"
	    "\tq += rest > half_bit || (rest == half_bit && (q & 1));\n"
	    "\treturn (%s)(sign + ((unsigned)(e > 0 ? e - 1 : 0) << m) +\n"
	    "\t    (unsigned)q);\n}\n\n",
	    u16, u16, u16, u64, u64, u64, u16);
}

const char *device_packed(EmitDevice *e, DType type, int lanes)
{
	const char *element = device_element(e, type);
	const char *name = device_text(e, "tunec_%s%d", element, lanes);
	if (emit_c_first(&e->c, name))
		emit_device_put(e,
		    "typedef struct __attribute__((packed, aligned(%d))) {\n"
		    "\t%s%d v;\n} %s;\n\n",
		    dtype_bytes(type), element, lanes, name);
	return name;
}

/* OpenCL C reads and writes halves in memory. */
static void put_half_opencl(
    EmitDevice *e, DType from, DType to, int lanes, const char *name)
{
	const char *n = lanes == 1 ? "" : device_text(e, "%d", lanes);
	const char *f = device_type(e, DT_F32, lanes);
	const char *u = device_type(e, DT_F16, lanes);
	if (from == DT_F16)
		emit_device_put(e,
		    "%s %s(%s x)\n{\n"
		    "\treturn vload_half%s(0, (const half *)&x);\n}\n\n",
		    f, name, u, n);
	else if (to == DT_F16)
		emit_device_put(e,
		    "%s %s(%s x)\n{\n\t%s bits;\n"
		    "\tvstore_half%s_rte(x, 0, (half *)&bits);\n"
		    "\treturn bits;\n}\n\n",
		    u, name, f, u, n);
}

static void put_half_cuda(EmitDevice *e, DType from, const char *name)
{
	emit_device_put(
	    e, "#ifndef TUNEC_HOST /* a host's header has its own */\n");
	if (from == DT_F16)
		emit_device_put(e,
		    "%sfloat %s(unsigned short x)\n{\n\tfloat f;\n"
		    "\tasm(\"cvt.f32.f16 %%0, %%1;\" : \"=f\"(f) : \"h\"(x));\n"
		    "\treturn f;\n}\n",
		    e->dialect->function, name);
	else
		emit_device_put(e,
		    "%sunsigned short %s(float x)\n{\n\tunsigned short h;\n"
		    "\tasm(\"cvt.rn.f16.f32 %%0, %%1;\" : \"=h\"(h) : "
		    "\"f\"(x));\n\treturn h;\n}\n",
		    e->dialect->function, name);
	emit_device_put(e, "#endif\n\n");
}

/* Rounds to nearest even by adding to the bits; a NaN stays one. */
static void put_bf16(EmitDevice *e, DType from, int lanes, const char *name)
{
	bool cuda = e->dialect->name == DIALECT_CUDA;
	const char *f = device_type(e, DT_F32, lanes);
	const char *u = device_type(e, DT_BF16, lanes);
	const char *w = device_unsigned(e, DT_F32, lanes);
	const char *as = cuda ? "__float_as_uint" : device_text(e, "as_%s", w);
	const char *wide = lanes == 1 ? device_text(e, "(%s)", w)
				      : device_text(e, "convert_%s", w);
	const char *narrow = lanes == 1 ? device_text(e, "(%s)", u)
					: device_text(e, "convert_%s", u);
	if (from == DT_BF16) {
		emit_device_put(e,
		    "%s%s %s(%s x)\n{\n\treturn %s(%s(x) << 16);\n}\n\n",
		    e->dialect->function, f, name, u,
		    cuda ? "__uint_as_float" : device_text(e, "as_%s", f),
		    wide);
		return;
	}
	emit_device_put(e,
	    "%s%s %s(%s x)\n{\n\t%s bits = %s(x);\n"
	    "\t%s number = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;\n",
	    e->dialect->function, u, name, f, w, as, w);
	emit_device_put(e,
	    lanes == 1
		? "\treturn %s(x != x ? (bits >> 16 | 0x40) : number);\n}\n\n"
		: "\treturn %s(select(number, bits >> 16 | 0x40, x != x));\n"
		  "}\n\n",
	    narrow);
}

const char *device_half(EmitDevice *e, DType from, DType to, int lanes)
{
	if (from == DT_F64) {
		put_narrow(e);
		return "tunec_narrow";
	}
	const char *name = device_text(e, "tunec_%s_from_%sx%d",
	    type_word(to), type_word(from), lanes);
	if (!emit_c_first(&e->c, name))
		return name;
	if (from == DT_BF16 || to == DT_BF16)
		put_bf16(e, from, lanes, name);
	else if (e->dialect->name == DIALECT_CUDA)
		put_half_cuda(e, from, name);
	else
		put_half_opencl(e, from, to, lanes, name);
	return name;
}

/* Begins when called; a wait ends it.  16 bytes go past the processor's cache. */
const char *device_copy(EmitDevice *e, int bytes)
{
	const char *name = device_text(e, "tunec_copy%d", bytes);
	if (emit_c_first(&e->c, name))
		emit_device_put(e,
		    "#ifndef TUNEC_HOST\n"
		    "%svoid %s(void *to, const void *from)\n{\n"
		    "\tasm volatile(\"cp.async.%s.shared.global [%%0], [%%1], "
		    "%d;\"\n"
		    "\t    :: \"r\"((unsigned)__cvta_generic_to_shared(to)), "
		    "\"l\"(from) : \"memory\");\n}\n#endif\n\n",
		    e->dialect->function, name, bytes == 16 ? "cg" : "ca",
		    bytes);
	return name;
}

const char *device_copies_word(EmitDevice *e, const char *word)
{
	bool wait = !strcmp(word, "wait");
	const char *name = device_text(e, "tunec_%s", word);
	if (emit_c_first(&e->c, name))
		emit_device_put(e,
		    "#ifndef TUNEC_HOST\n#define %s%s \\\n"
		    "\tasm volatile(\"cp.async.%s_group%s;\" ::: \"memory\")\n"
		    "#endif\n\n",
		    name, wait ? "(n)" : "()", word, wait ? " \" #n \"" : "");
	return name;
}
