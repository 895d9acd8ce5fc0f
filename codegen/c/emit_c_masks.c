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

/* --- masks as operands ------------------------------------------------------- */

static int lanes_of(const EmitC *e, int temp)
{
	return e->f->temps.at[temp].lanes;
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

const char *emit_c_mask_of(EmitC *e, int temp, int bytes, EmitLevel level)
{
	if (emit_c_has_bits(e) || e->mask_bytes[temp] == bytes)
		return emit_c_text(e, temp, level);
	return emit_c_resized(e, emit_c_text(e, temp, LEVEL_CHOICE),
	    e->mask_bytes[temp], bytes, lanes_of(e, temp));
}

const char *emit_c_mask_vector(EmitC *e, int temp, int bytes)
{
	if (!emit_c_has_bits(e))
		return emit_c_mask_of(e, temp, bytes, LEVEL_PRIMARY);
	return arena_printf(e->arena, "%s(%s)",
	    emit_c_mask_lanes(e, lanes_of(e, temp)),
	    emit_c_text(e, temp, LEVEL_CHOICE));
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

/* --- masks as numbers ------------------------------------------------------------ */

/* By instructions, of a mask that is bits, bytes, or as wide as a register of f32. */
static const char *word_by_x86(EmitC *e, int bytes, int lanes)
{
	if (emit_c_has_bits(e))
		return "(m)";
	if (bytes == 4)
		return "_mm256_movemask_ps((__m256)(m))";
	return lanes <= 16 ? arena_printf(e->arena, "_mm_movemask_epi8(%s)",
				 emit_c_x86_words(e, lanes, "m"))
	    : lanes == 32 && e->isa.avx2 ? "_mm256_movemask_epi8((__m256i)(m))"
					 : NULL;
}

static const char *word_by_lanes(EmitC *e, int lanes)
{
	Buf text = {0};
	for (int l = 0; l < lanes; l++)
		buf_printf(&text, "%s((uint%d_t)((m)[%d] & 1) << %d)",
		    l ? " | " : "", lanes, l, l);
	const char *copy =
	    arena_printf(e->arena, "((uint%d_t)(%s))", lanes, buf_text(&text));
	buf_free(&text);
	return copy;
}

const char *emit_c_mask_word(EmitC *e, int temp)
{
	int lanes = lanes_of(e, temp), bytes = e->mask_bytes[temp];
	if (!emit_c_has_bits(e) && !(bytes == 4 && lanes == 8 && e->isa.avx))
		bytes = 1;
	const char *mask = emit_c_mask(e, bytes, lanes);
	const char *name =
	    arena_printf(e->arena, "WORD_%s", emit_c_upper(e, mask));
	const char *x86 = e->isa.x86 ? word_by_x86(e, bytes, lanes) : NULL;
	emit_c_define(e, name, "m", EMIT_ANY_X86,
	    x86 ? arena_printf(e->arena, "((uint%d_t)%s)", lanes, x86) : NULL,
	    word_by_lanes(e, lanes));
	return arena_printf(e->arena, "%s(%s)", name,
	    emit_c_mask_of(e, temp, bytes, LEVEL_CHOICE));
}

/* --- masks that are known ------------------------------------------------------ */

bool emit_c_is_constant_mask(const EmitC *e, int temp)
{
	const LowNode *n = e->plan[temp].def;
	if (!n || n->kind != LOWNODE_OP)
		return false;
	if (n->op == LOW_LANES_BELOW)
		return emit_c_constant(e, n->arg[0]);
	return n->op == LOW_NOT && emit_c_is_constant_mask(e, n->arg[0]);
}

int emit_c_kept_arm(EmitC *e, const LowNode *n)
{
	if (n->kind != LOWNODE_OP || n->op != LOW_SELECT || !e->plan)
		return 0;
	const LowTemp *d = &e->f->temps.at[n->dst];
	int kept = low_is_zero(emit_c_constant(e, n->arg[2]), d->type) ? 1
	    : low_is_zero(emit_c_constant(e, n->arg[1]), d->type)      ? 2
								       : 0;
	if (d->lanes == 1 || d->type == DT_BOOL)
		return 0;
	return !emit_c_has_bits(e) ||
		(emit_c_is_constant_mask(e, n->arg[0]) &&
		    emit_c_x86(e, LOW_AND, OP_CAST, d->type, d->type, d->lanes))
	    ? kept
	    : 0;
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

/* --- masks as results --------------------------------------------------------- */

/* Is it a comparison of which only the opposite is read, where masks are bits?  clang
 * 14 would turn the bits over. */
bool emit_c_is_opposite(const EmitC *e, int temp)
{
	const EmitTemp *t = &e->plan[temp];
	return emit_c_has_bits(e) && t->def && t->reads == 1 &&
	    low_op_is_comparison(t->def->op) && t->user->op == LOW_NOT &&
	    t->user->kind == LOWNODE_OP && e->f->temps.at[temp].lanes > 1 &&
	    dtype_is_float(e->f->temps.at[t->def->arg[0]].type);
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
	    emit_c_mask(
		e, type == DT_INDEX ? 8 : dtype_bytes(type), lanes),
	    a, emit_c_comparison(op), b);
}

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

void emit_c_mask_insert(EmitC *e, int temp, int64_t lane, const char *value)
{
	if (!emit_c_has_bits(e)) {
		emit_c_line(e, "%s[%lld] = -%s;", e->temp[temp],
		    (long long)lane, value);
		return;
	}
	const char *type = emit_c_type(e, temp);
	const char *name =
	    arena_printf(e->arena, "INSERT_%s", emit_c_upper(e, type));
	emit_c_define(e, name, "m, l, b", EMIT_ANY_X86,
	    arena_printf(e->arena,
		"((m) = (%s)(((m) & ~((uint64_t)1 << (l))) | "
		"(uint64_t)(b) << (l)))",
		type),
	    "((m)[l] = (int8_t)-(b))");
	emit_c_line(
	    e, "%s(%s, %lld, %s);", name, e->temp[temp], (long long)lane, value);
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
