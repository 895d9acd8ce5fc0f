/* A warpgroup's product: a function of inline assembly (codegen/wgmma.h), of CUDA
 * C alone.  What it takes is an array of sums and two descriptors.
 *
 *     d = wgmma a_s[at], b_s[from], c
 * -->
 *     float sums[32] = {c0, c1, ...};
 *     tunec_wgmma64_f16_n64(sums, tunec_tile(&a_s[at], ..), tunec_tile(..));
 *     d0 = sums[0]; ... */
#include <assert.h>

#include "codegen/device/emit_device.h"
#include "codegen/wgmma.h"

/* The lines, each a literal of its own. */
static void put_lines(EmitDevice *e, const char *text)
{
	emit_device_put(e, "\"");
	for (; *text; text++)
		if (*text != '\n')
			emit_device_put(e, "%c", *text);
		else
			emit_device_put(e, text[1] ? " \"\n\t    \"" : "\"");
}

static const char *product_function(EmitDevice *e, const LowNode *n,
    const Intrinsic *in, int sums)
{
	const LowTile *t = n->tiles;
	const char *name = device_text(e, "tunec_%s_n%d%s%s", in->name,
	    2 * sums, t[0].across ? "_a" : "", t[1].across ? "_b" : "");
	bool floats = in->sum == DT_F32;
	Buf text = {0};
	if (!emit_c_first(&e->c, name))
		return name;
	wgmma_text(&text, in, 2 * sums, t, '%');
	emit_device_put(e,
	    "#ifndef TUNEC_HOST\n%svoid %s(%s *d, unsigned long long a, "
	    "unsigned long long b)\n{\n\tasm volatile(",
	    e->dialect->function, name, floats ? "float" : "int");
	put_lines(e, buf_text(&text));
	for (int i = 0; i < sums; i++)
		emit_device_put(e, "%s\"+%c\"(d[%d])",
		    i ? ", " : "\n\t    : ", floats ? 'f' : 'r', i);
	for (int i = 0; i < WGMMA_STEPS; i++)
		emit_device_put(e, "%s\"l\"(a + %d), \"l\"(b + %d)",
		    i ? ", " : "\n\t    : ", i * wgmma_advance(t[0]),
		    i * wgmma_advance(t[1]));
	emit_device_put(e, "\n\t    : \"memory\");\n}\n#endif\n\n");
	buf_free(&text);
	return name;
}

/* A descriptor: of an address, and what else it has. */
static const char *tile_function(EmitDevice *e)
{
	const char *name = "tunec_tile";
	if (emit_c_first(&e->c, name))
		emit_device_put(e,
		    "#ifndef TUNEC_HOST\n"
		    "%sunsigned long long %s(const void *first, unsigned long "
		    "long layout)\n{\n"
		    "\tunsigned at = (unsigned)__cvta_generic_to_shared(first);\n"
		    "\treturn layout | (at >> 4 & 0x3fff);\n}\n#endif\n\n",
		    e->dialect->function, name);
	return name;
}

static const char *tile_of(EmitDevice *e, const LowNode *n, bool b)
{
	int buffer = b ? n->buffer : n->source;
	uint64_t layout = wgmma_descriptor(
	    n->tiles[b], e->c.f->buffers.at[buffer].type);
	return device_text(e, "%s(&%s[%s], 0x%llxULL)", tile_function(e),
	    e->c.buffer[buffer],
	    device_affine(e, b ? &n->address : &n->from),
	    (unsigned long long)layout);
}

void device_wgmma(EmitDevice *e, const LowNode *n)
{
	const Intrinsic *in = low_warpgroup(e->c.f, n);
	int sums = e->c.f->temps.at[n->dst].lanes;
	assert(e->dialect->name == DIALECT_CUDA);
	const char *name = product_function(e, n, in, sums);
	if (!e->c.declared[n->dst])
		for (int v = 0; v < sums; v++)
			emit_c_line(&e->c, "%s;", device_place(e, n->dst, v));
	e->c.declared[n->dst] = true;
	emit_c_line(&e->c, "{");
	e->c.depth++;
	emit_c_line(&e->c, "%s sums[%d];",
	    in->sum == DT_F32 ? "float" : "int", sums);
	for (int v = 0; v < sums; v++)
		emit_c_line(&e->c, "sums[%d] = %s;", v,
		    device_name(e, n->arg[0], v));
	emit_c_line(&e->c, "%s(sums,", name);
	emit_c_line(&e->c, "    %s,", tile_of(e, n, false));
	emit_c_line(&e->c, "    %s);", tile_of(e, n, true));
	for (int v = 0; v < sums; v++)
		emit_c_line(&e->c, "%s = sums[%d];",
		    device_name(e, n->dst, v), v);
	e->c.depth--;
	emit_c_line(&e->c, "}");
}

void device_barrier(EmitDevice *e, const LowNode *n)
{
	if (n->i && emit_c_first(&e->c, "tunec_fence"))
		emit_device_put(e,
		    "#ifndef TUNEC_HOST\n#define tunec_fence() \\\n"
		    "\tasm volatile(\"fence.proxy.async.shared::cta;\" ::: "
		    "\"memory\")\n#endif\n\n");
	if (n->i)
		emit_c_line(&e->c, "tunec_fence();");
	emit_c_line(&e->c, "%s", e->dialect->barrier);
}
