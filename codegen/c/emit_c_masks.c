/* How a vector of conditions is represented, which is decided here for all
 * operations:
 *
 *     AVX-512         b1x16: an integer, bit l is lane l, as in the machine's
 *                     mask registers; to a compiler that is not for x86-64 the
 *                     same name is i8x16, 0 and -1
 *     other machines  i32x16: 0 and -1, in lanes as wide as what they choose
 *                     between (mask_bytes, emit_c_scope.c)
 *
 * & | ^ ~ say the same of each.  The bits behind the last lane of an integer may
 * be anything.  A vector of -1 would cost AVX-512 two instructions a condition
 * by gcc, which makes it of each comparison and a mask register of it. */

#include "codegen/c/emit_c.h"

/* --- bits as bytes, and back ----------------------------------------------- */

const char *emit_c_mask_lanes(EmitC *e, int lanes)
{
	const char *type = emit_c_mask(e, 1, lanes);
	const char *bytes = emit_c_vector_signed(e, 1, lanes);
	const char *name =
	    arena_printf(e->arena, "LANES_%s", emit_c_upper(e, type));
	const char *x86 = lanes == 2
	    ? arena_printf(e->arena, "((%s){-((m) & 1), -((m) >> 1 & 1)})", bytes)
	    : lanes < 16
	    ? arena_printf(e->arena, "((%s)_mm_cvtsi128_si%d(_mm_movm_epi8(m)))",
		  bytes, 8 * lanes)
	    : arena_printf(e->arena, "((%s)_mm%s_movm_epi8(m))", bytes,
		  lanes == 16 ? "" : lanes == 32 ? "256" : "512");
	emit_c_define(e, name, "m", EMIT_ANY_X86, x86, "(m)");
	return name;
}

const char *emit_c_mask_of_lanes(EmitC *e, int lanes)
{
	const char *type = emit_c_mask(e, 1, lanes);
	const char *name =
	    arena_printf(e->arena, "TEST_%s", emit_c_upper(e, type));
	const char *x86 = lanes == 2
	    ? arena_printf(
		  e->arena, "((%s)(((v)[0] & 1) | ((v)[1] & 2)))", type)
	    : arena_printf(e->arena, "((%s)_mm%s_movepi8_mask(%s))", type,
		  lanes <= 16 ? "" : lanes == 32 ? "256" : "512",
		  emit_c_x86_words(e, lanes, "v"));
	emit_c_define(e, name, "v", EMIT_ANY_X86, x86, "(v)");
	return name;
}

const char *emit_c_mask_in(EmitC *e, int bytes, int lanes)
{
	if (!emit_c_has_bits(e))
		return "(m)";
	const char *m =
	    arena_printf(e->arena, "%s(m)", emit_c_mask_lanes(e, lanes));
	return bytes == 1 ? m
			  : arena_printf(e->arena,
				"__builtin_convertvector(%s, %s)", m,
				emit_c_vector_signed(e, bytes, lanes));
}

const char *emit_c_mask_hidden(EmitC *e, int lanes, const char *mask)
{
	if (!emit_c_has_bits(e))
		return mask;
	const char *type = emit_c_mask(e, 1, lanes);
	return emit_c_hidden(e,
	    arena_printf(e->arena, "HIDDEN_%s", emit_c_upper(e, type)), type,
	    'r', mask);
}

/* --- their macros --------------------------------------------------------- */

const char *emit_c_mask_splat(EmitC *e, const char *mask, int lanes)
{
	if (!emit_c_has_bits(e))
		return emit_c_splat(e, mask);
	const char *name = emit_c_upper(e, mask);
	const char *bytes =
	    emit_c_splat(e, emit_c_vector_signed(e, 1, lanes));
	emit_c_define(e, name, "x", EMIT_ANY_X86,
	    arena_printf(e->arena, "((%s)(x))", mask),
	    arena_printf(e->arena, "%s(x)", bytes));
	return name;
}

static void put_between(EmitC *e)
{
	if (emit_c_first(e, "tunec_between"))
		buf_puts(&e->prelude,
		    "\n/* n, but at least 0 and at most lanes */\n"
		    "TUNEC_HELPER int8_t tunec_between(int64_t n, int8_t lanes)\n{\n"
		    "\treturn n < 0 ? 0 : n > lanes ? lanes : (int8_t)n;\n"
		    "}\n\n");
}

/* The last bit of 64 takes two shifts. */
static void put_below(EmitC *e)
{
	if (emit_c_first(e, "tunec_below"))
		buf_puts(&e->prelude,
		    "\n/* the lowest n bits, all from 64 on */\n"
		    "TUNEC_HELPER uint64_t tunec_below(int64_t n)\n{\n"
		    "\treturn n <= 0 ? 0 : n >= 64 ? UINT64_MAX\n"
		    "\t\t: ((uint64_t)1 << n) - 1;\n}\n\n");
}

const char *emit_c_lanes_below(EmitC *e, const char *mask, int lanes)
{
	bool bits = emit_c_has_bits(e);
	const char *name =
	    arena_printf(e->arena, "BELOW_%s", emit_c_upper(e, mask));
	const char *vector = bits ? emit_c_vector_signed(e, 1, lanes) : mask;
	const char *iota = emit_c_iota(e, vector);
	const char *splat = emit_c_splat(e, vector);
	put_between(e);
	if (bits)
		put_below(e);
	emit_c_define(e, name, "n", EMIT_ANY_X86,
	    bits ? arena_printf(e->arena, "((%s)tunec_below(n))", mask) : NULL,
	    arena_printf(e->arena, "((%s)(%s < %s(tunec_between(n, %d))))",
		mask, iota, splat, lanes));
	return name;
}
