/* Fragments of matrices in a warp's registers: functions of inline assembly, of
 * CUDA C alone.
 *
 *     d = mma a, b, c         -->   d0 = c0; ...  tunec_mma16x8x16_f16(d0, d1, d2,
 *                                       d3, words of a, words of b);
 *     x = load_matrix s[at]   -->   tunec_matrix4(words, &s[at]); x0 = ... */
#include <assert.h>
#include <string.h>

#include "codegen/device/emit_device.h"
#include "codegen/wgmma.h"

static const LowTemp *temp_of(const EmitDevice *e, int temp)
{
	return &e->c.f->temps.at[temp];
}

static void put_each(EmitDevice *e, int first, int n, const char *format)
    __attribute__((format(printf, 4, 0)));
static void put_each(EmitDevice *e, int first, int n, const char *format)
{
	for (int i = first; i < first + n; i++) {
		if (i > first)
			emit_device_put(e, ", ");
		buf_printf(&e->c.prelude, format, i);
	}
}

/* --- products ----------------------------------------------------------------- */

static void put_list(EmitDevice *e, int first, int n, const char *end)
{
	emit_device_put(e, "{");
	put_each(e, first, n, "%%%d");
	emit_device_put(e, "}%s", end);
}

/* Adds to four sums; a's words before b's. */
static const char *mma_function(EmitDevice *e, const Intrinsic *in)
{
	const char *name = device_text(e, "tunec_%s", in->name);
	int word = fragment_word(in), sums = FRAGMENT_SUMS;
	int na = fragment_lanes(in, false) / word;
	int nb = fragment_lanes(in, true) / word;
	bool floats = in->sum == DT_F32;
	if (!emit_c_first(&e->c, name))
		return name;
	emit_device_put(
	    e, "#ifndef TUNEC_HOST\n%svoid %s(", e->dialect->function, name);
	put_each(e, 0, sums, floats ? "float &d%d" : "int &d%d");
	emit_device_put(e, ",\n    ");
	put_each(e, 0, na + nb, "unsigned w%d");
	emit_device_put(e,
	    ")\n{\n\tasm volatile(\"mma.sync.aligned.m%dn%dk%d.row.col."
	    "%s.%s.%s.%s \"\n\t    \"",
	    in->rows, in->columns, in->terms, ptx_type(in->sum),
	    ptx_operand(in->a), ptx_operand(in->b), ptx_type(in->sum));
	put_list(e, 0, sums, ", ");
	put_list(e, sums, na, ", ");
	put_list(e, sums + na, nb, ", ");
	put_list(e, 0, sums, ";\"\n\t    : ");
	put_each(e, 0, sums, floats ? "\"+f\"(d%d)" : "\"+r\"(d%d)");
	emit_device_put(e, "\n\t    : ");
	put_each(e, 0, na + nb, "\"r\"(w%d)");
	emit_device_put(e, ");\n}\n#endif\n\n");
	return name;
}

/* So many lanes of an operand as a word of 32 bits. */
static const char *word_of(EmitDevice *e, int temp, int first, int lanes)
{
	const char *type = lanes == 4 ? "unsigned char" : "unsigned short";
	const char *all = "";
	if (lanes == 1)
		return device_text(
		    e, "__float_as_uint(%s)", device_lane(e, temp, first));
	for (int i = 0; i < lanes; i++)
		all = device_text(e, "%s%s(unsigned)(%s)%s << %d", all,
		    i ? " | " : "", type, device_lane(e, temp, first + i),
		    32 / lanes * i);
	return all;
}

static void put_words(
    EmitDevice *e, int temp, int lanes, int word, const char *end)
{
	for (int i = 0; i < lanes; i += word)
		emit_c_line(&e->c, "    %s%s", word_of(e, temp, i, word),
		    i + word < lanes ? "," : end);
}

/* d = c, then d is added to. */
void device_mma(EmitDevice *e, const LowNode *n)
{
	const Intrinsic *in = low_fragment(e->c.f, n);
	int word = fragment_word(in);
	assert(e->dialect->name == DIALECT_CUDA);
	const char *name = mma_function(e, in);
	for (int v = 0; v < FRAGMENT_SUMS; v++)
		device_assign(e, n->dst, v, device_name(e, n->arg[2], v));
	emit_c_line(&e->c, "%s(%s, %s, %s, %s,", name,
	    device_lane(e, n->dst, 0), device_lane(e, n->dst, 1),
	    device_lane(e, n->dst, 2), device_lane(e, n->dst, 3));
	put_words(e, n->arg[0], fragment_lanes(in, false), word, ",");
	put_words(e, n->arg[1], fragment_lanes(in, true), word, ");");
}

/* --- rows of 16 bytes ----------------------------------------------------------- */

static const char *matrix_function(EmitDevice *e, int n, bool transposed)
{
	const char *name = device_text(
	    e, "tunec_matrix%d%s", n, transposed ? "t" : "");
	if (!emit_c_first(&e->c, name))
		return name;
	emit_device_put(e,
	    "#ifndef TUNEC_HOST\n%svoid %s(unsigned *to, const void *row)\n"
	    "{\n\tasm volatile(\"ldmatrix.sync.aligned.m8n8.x%d%s.shared.b16 "
	    "\"\n\t    \"",
	    e->dialect->function, name, n, transposed ? ".trans" : "");
	put_list(e, 0, n, "");
	emit_device_put(e, ", [%%%d];\"\n\t    : ", n);
	put_each(e, 0, n, "\"=r\"(to[%d])");
	emit_device_put(e,
	    "\n\t    : \"r\"((unsigned)__cvta_generic_to_shared(row)) : "
	    "\"memory\");\n}\n#endif\n\n");
	return name;
}

void device_load_matrix(EmitDevice *e, const LowNode *n)
{
	const LowTemp *d = temp_of(e, n->dst);
	int word = 4 / dtype_bytes(d->type), lanes = d->lanes;
	const char *type = device_type(e, d->type, 1);
	assert(e->dialect->name == DIALECT_CUDA);
	const char *name = matrix_function(e, lanes / word, n->i);
	if (!e->c.declared[n->dst])
		for (int l = 0; l < lanes; l++)
			emit_c_line(&e->c, "%s;", device_place(e, n->dst, l));
	e->c.declared[n->dst] = true;
	emit_c_line(&e->c, "{");
	e->c.depth++;
	emit_c_line(&e->c, "unsigned words[%d];", lanes / word);
	emit_c_line(&e->c, "%s(words, &%s[%s]);", name,
	    e->c.buffer[n->buffer], device_affine(e, &n->address));
	for (int l = 0; l < lanes; l++)
		if (word == 1)
			emit_c_line(&e->c, "%s = __uint_as_float(words[%d]);",
			    device_name(e, n->dst, l), l);
		else
			emit_c_line(&e->c, "%s = (%s)(words[%d] >> %d);",
			    device_name(e, n->dst, l), type, l / word,
			    32 / word * (l % word));
	e->c.depth--;
	emit_c_line(&e->c, "}");
}

const char *device_tf32(EmitDevice *e, const char *x)
{
	if (emit_c_first(&e->c, "tunec_tf32"))
		emit_device_put(e,
		    "#ifndef TUNEC_HOST\n%sfloat tunec_tf32(float x)\n{\n"
		    "\tunsigned y;\n"
		    "\tasm(\"cvt.rna.tf32.f32 %%0, %%1;\" : \"=r\"(y) : "
		    "\"f\"(x));\n\treturn __uint_as_float(y);\n}\n#endif\n\n",
		    e->dialect->function);
	return device_text(e, "tunec_tf32(%s)", x);
}
