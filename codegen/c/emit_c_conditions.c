/* Vectors of conditions as operands and as results, in lanes as wide as what they
 * stand beside (emit_c_masks.c):
 *
 *     m = lt a, b; x = select m, c, d   -->   m = a < b;
 *                                             x = SELECT(CONVERT(m), c, d)
 */
#include "codegen/c/emit_c.h"

static int lanes_of(const EmitC *e, int temp)
{
	return e->f->temps.at[temp].lanes;
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
	emit_c_line(e, "%s(%s, %lld, %s);", name, e->temp[temp],
	    (long long)lane, value);
}

/* A comparison of numbers as dst's masks. */
void emit_c_assign_compared(
    EmitC *e, int dst, LowOpcode op, DType type, const char *a, const char *b)
{
	int lanes = lanes_of(e, dst);
	int bytes = type == DT_INDEX ? 8 : dtype_bytes(type);
	const char *mask = emit_c_compared(
	    e, op, type, lanes, emit_c_is_opposite(e, dst), a, b);
	if (emit_c_has_bits(e) || bytes == e->mask_bytes[dst])
		emit_c_assign(e, dst, LEVEL_UNARY, mask);
	else
		emit_c_assign(e, dst, LEVEL_PRIMARY,
		    emit_c_resized(e, mask, bytes, e->mask_bytes[dst], lanes));
}

void emit_c_assign_not_zero(EmitC *e, int dst, DType type, const char *vector)
{
	int lanes = lanes_of(e, dst);
	emit_c_assign_compared(e, dst, LOW_NE, type, vector,
	    arena_printf(e->arena, "(%s){0}", emit_c_vector(e, type, lanes)));
}
