/* What the C emitter writes of operations of the lowered form, for which CPUs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/codegen.h"
#include "test/common_lowcases.h"

/* Has the C of a function for a CPU that text in it? */
static bool says(LowFunction *f, const char *cpu, const char *what)
{
	Arena *arena = arena_new();
	Error error = {0};
	Program program = {.name = "test", .case_name = "", .symbol = "test"};
	Target *target = target_parse(arena,
	    arena_printf(arena,
		"llvm -mtriple=x86_64-pc-linux-gnu -mcpu=%s -threads=1", cpu),
	    &error);
	Lowered l = {.program = &program, .kernel = f};
	const Lowered *lowered = &l;
	EmitComment comment = {target->text, "none", ""};
	Buf text = {0};
	emit_c_all(&text, &lowered, 1, target, &comment);
	bool has = strstr(buf_text(&text), what);
	buf_free(&text);
	arena_free(arena);
	return has;
}

/* A clamp and a conversion for a machine as C. */
static bool clamps_by(
    DType from, DType to, int lanes, const char *cpu, const char *instruction)
{
	Arena *arena = arena_new();
	LowCaseVec cases = {0};
	LowCaseMaker m = {.arena = arena, .cases = &cases};
	lowcase_clamped_cases(&m, from, to, lanes);
	int found = 0, exact = to == DT_I16 ? 8 : to == DT_I8 ? 2 : 0;
	for (int k = 0; k < 12; k++) {
		bool has = says(cases.at[k].f, cpu, instruction);
		found += has && (k & ~1) == exact;
		found -= has && (k & ~1) != exact;
	}
	arena_free(arena);
	return found == 2;
}

static void packed(void **state)
{
	(void)state;
	assert_true(clamps_by(DT_I32, DT_I16, 16, "znver4", "cvtsepi32_epi16"));
	assert_true(clamps_by(DT_I32, DT_U8, 32, "znver4", "cvtusepi32_epi8"));
	assert_true(clamps_by(DT_I16, DT_I8, 16, "znver4", "cvtsepi16_epi8"));
	assert_true(clamps_by(DT_I32, DT_I16, 8, "haswell", "packs_epi32"));
	assert_true(clamps_by(DT_I32, DT_U8, 8, "haswell", "packus_epi16"));
	assert_false(clamps_by(DT_I32, DT_I16, 8, "x86-64", "packs_epi32"));
}

/* Has the C of a conversion this text? */
static bool conversion_says(
    DType from, DType to, int lanes, const char *cpu, const char *text)
{
	Arena *arena = arena_new();
	LowCaseVec cases = {0};
	LowCaseMaker m = {.arena = arena, .cases = &cases};
	lowcase_begin(&m, lowcase_label(&m, LOW_CONVERT, to, lanes));
	int a = lowcase_loaded(&m, "a", from, lanes, 0),
	    d = lowcase_temp(&m, to, lanes);
	lowcase_op(&m, LOW_CONVERT, d, a, -1, -1);
	LowNode *n = lowcase_op(&m, LOW_STORE, -1, d, -1, -1);
	n->buffer = lowcase_result_buffer(&m, to);
	lowcase_finish(&m, to);
	bool has = says(cases.at[0].f, cpu, text);
	arena_free(arena);
	return has;
}

/* Is f32 between them, not lane by lane? */
static bool goes_by_f32(DType from, DType to)
{
	return conversion_says(from, to, 8, "znver4", "X8(CONVERT_F32_");
}

/* Vectors of 8 bytes and of 4 by one instruction each, of gcc. */
static void eight(void **state)
{
	(void)state;
	const char *narrow = "_mm_cvtepi16_epi8(WORDS_64(a))";
	const char *picked = "_mm_shuffle_epi8(WORDS_64(a), _mm_setr_epi8(0, 2";
	const char *wide = "int64_t tunec_w; \\\n\t__asm__(\"vpmovsxwd";
	assert_true(conversion_says(DT_I16, DT_U8, 4, "znver4", narrow));
	assert_true(conversion_says(DT_I16, DT_I8, 4, "haswell", picked));
	assert_true(conversion_says(DT_I16, DT_I32, 2, "znver4", wide));
	assert_true(conversion_says(DT_I16, DT_I32, 2, "haswell", wide));
	assert_false(conversion_says(DT_I16, DT_U8, 4, "x86-64", "_mm_sh"));
	assert_false(conversion_says(DT_I16, DT_I32, 2, "x86-64", wide));
}

/* Lanes of a vector with each of them so often side by side: is it by this? */
static bool strews(
    DType type, int lanes, int times, const char *cpu, const char *instruction)
{
	Arena *arena = arena_new();
	LowCaseVec cases = {0};
	LowCaseMaker m = {.arena = arena, .cases = &cases};
	int to = lanes * times;
	lowcase_begin(&m, lowcase_label(&m, LOW_SHUFFLE, type, to));
	int a = lowcase_loaded(&m, "a", type, lanes, 0),
	    d = lowcase_temp(&m, type, to);
	LowNode *n = lowcase_op(&m, LOW_SHUFFLE, d, a, -1, -1);
	n->shuffle = NEW_N(arena, int, to);
	for (int l = 0; l < to; l++)
		n->shuffle[l] = l / times;
	lowcase_end(&m, d);
	bool has = says(cases.at[0].f, cpu,
	    arena_printf(arena, "_shuffle_epi8(_mm%d_%s",
		8 * to * dtype_bytes(type), instruction));
	arena_free(arena);
	return has;
}

static void strewn(void **state)
{
	(void)state;
	assert_true(strews(DT_U8, 4, 8, "znver4", "set1_epi32((int32_t)(a))"));
	assert_true(strews(DT_U8, 8, 8, "znver4", "set1_epi64((int64_t)(a))"));
	assert_true(
	    strews(DT_I8, 8, 4, "haswell", "set1_epi64x((int64_t)(a))"));
	assert_true(strews(DT_I16, 8, 2, "haswell", "broadcastsi128_si256"));
	assert_true(strews(DT_U16, 8, 4, "znver4", "broadcast_i32x4"));
	assert_false(strews(DT_U8, 4, 4, "haswell", "")); /* 16 bytes */
	assert_false(strews(DT_I32, 4, 2, "haswell", ""));
	assert_false(strews(DT_U8, 8, 4, "x86-64", ""));
}

static void halves(void **state)
{
	(void)state;
	assert_true(goes_by_f32(DT_BF16, DT_F16));
	assert_true(goes_by_f32(DT_F16, DT_BF16));
	assert_true(goes_by_f32(DT_F16, DT_I8));
	assert_true(goes_by_f32(DT_BF16, DT_F64));
	assert_true(goes_by_f32(DT_I8, DT_F16));
	assert_true(goes_by_f32(DT_I32, DT_F16));
	assert_true(goes_by_f32(DT_U16, DT_BF16));
	/* would be rounded twice */
	assert_false(goes_by_f32(DT_I32, DT_BF16));
	assert_false(goes_by_f32(DT_F64, DT_F16));
}

/* Lanes of 16 bits shifted by one number each: by way of 32? */
static bool shifts_wide(LowOpcode op, DType type, int lanes, const char *cpu)
{
	Arena *arena = arena_new();
	LowCaseVec cases = {0};
	LowCaseMaker m = {.arena = arena, .cases = &cases};
	lowcase_binary(&m, op, type, lanes);
	bool has = says(cases.at[0].f, cpu, "v_epi32(_mm256_cvtep");
	arena_free(arena);
	return has;
}

static void shifted(void **state)
{
	(void)state;
	assert_true(shifts_wide(LOW_SHR, DT_I16, 8, "haswell"));
	assert_true(shifts_wide(LOW_SHL, DT_U16, 8, "haswell"));
	assert_false(shifts_wide(LOW_SHR, DT_I32, 8, "haswell"));
	assert_false(shifts_wide(LOW_SHR, DT_I16, 8, "znver4"));
	assert_false(shifts_wide(LOW_SHR, DT_I16, 8, "x86-64"));
}

static bool takes_greater(
    DType type, int lanes, const char *cpu, const char *text)
{
	Arena *arena = arena_new();
	LowCaseVec cases = {0};
	LowCaseMaker m = {.arena = arena, .cases = &cases};
	lowcase_binary(&m, LOW_MAX, type, lanes);
	bool has = says(cases.at[0].f, cpu, text);
	arena_free(arena);
	return has;
}

/* gcc makes none of what C says. */
static void greater(void **state)
{
	(void)state;
	const char *bytes = "_mm_max_epu8(WORDS_64(a), WORDS_64(b))";
	assert_true(takes_greater(DT_U8, 8, "haswell", bytes));
	assert_true(takes_greater(DT_U8, 8, "znver4", bytes));
	assert_true(
	    takes_greater(DT_I16, 2, "haswell", "_mm_max_epi16(WORDS_32"));
	assert_false(takes_greater(DT_F32, 2, "haswell", "_mm_max"));
	assert_false(takes_greater(DT_U8, 8, "x86-64", "_mm_max"));
}

/* Does gcc gather lanes by an instruction, for so many gathers by one vector? */
static bool gathers(int times, bool numbers, const char *cpu)
{
	Arena *arena = arena_new();
	LowCaseVec cases = {0};
	LowCaseMaker m = {.arena = arena, .cases = &cases};
	lowcase_begin(&m, lowcase_label(&m, LOW_GATHER, DT_F32, 16));
	int index = numbers ? lowcase_temp(&m, DT_I32, 16)
			    : lowcase_loaded(&m, "i", DT_I32, 16, 0);
	int zero = lowcase_temp(&m, DT_I32, 1), d = -1;
	lowcase_op(&m, LOW_CONST, zero, -1, -1, -1);
	if (numbers)
		lowcase_op(&m, LOW_IOTA, index, zero, -1, -1);
	int a = lowcase_new_buffer(&m, "a", DT_F32, false);
	int out = lowcase_result_buffer(&m, DT_F32);
	for (int i = 0; i < times; i++) {
		d = lowcase_temp(&m, DT_F32, 16);
		LowNode *n = lowcase_op(&m, LOW_GATHER, d, index, -1, -1);
		n->buffer = a;
		n = lowcase_op(&m, LOW_STORE, -1, d, -1, -1);
		n->buffer = out;
		n->address = low_affine_const(16 * i);
	}
	lowcase_finish(&m, DT_F32);
	bool has = says(cases.at[0].f, cpu, "GATHER_BY_F32X16(a");
	arena_free(arena);
	return has;
}

static void gathered(void **state)
{
	(void)state;
	assert_true(gathers(1, false, "znver4"));
	assert_false(gathers(2, false, "znver4"));
	assert_false(gathers(1, true, "znver4"));
	assert_false(gathers(1, false, "haswell"));
	assert_true(gathers(2, true, "sapphirerapids"));
}

/* Bytes, put together of two vectors or loaded, are made wide and compared: does clang
 * not see that? */
static bool compares_wide(
    LowOpcode order, DType from, bool put, const char *cpu)
{
	Arena *arena = arena_new();
	LowCaseVec cases = {0};
	LowCaseMaker m = {.arena = arena, .cases = &cases};
	lowcase_begin(&m, lowcase_label(&m, order, DT_I16, 8));
	int a = lowcase_loaded(&m, "a", from, 8, 1),
	    wide = lowcase_temp(&m, DT_I16, 8);
	int b = lowcase_loaded(&m, "b", DT_I16, 8, 0),
	    less = lowcase_temp(&m, DT_BOOL, 8);
	int d = lowcase_temp(&m, DT_I16, 8), each = lowcase_temp(&m, from, 8);
	LowNode *n = put ? lowcase_op(&m, LOW_SHUFFLE, each, a,
			       lowcase_loaded(&m, "c", from, 8, 0), -1)
			 : lowcase_op(&m, LOW_COPY, each, a, -1, -1);
	n->shuffle = NEW_N(arena, int, 8);
	for (int l = 0; l < 8; l++)
		n->shuffle[l] = (put ? l * 3 + 1 : l) % 16;
	lowcase_op(&m, LOW_CONVERT, wide, each, -1, -1);
	lowcase_op(&m, order, less, b, wide, -1);
	lowcase_op(&m, LOW_SELECT, d, less, b, lowcase_zeros(&m, DT_I16, 8));
	lowcase_end(&m, d);
	bool has = says(cases.at[0].f, cpu, "WIDE_I16X8(");
	arena_free(arena);
	return has;
}

static void compared(void **state)
{
	(void)state;
	assert_true(compares_wide(LOW_LT, DT_U8, true, "haswell"));
	assert_true(compares_wide(LOW_LE, DT_U8, true, "haswell"));
	assert_false(compares_wide(LOW_LT, DT_U8, false, "haswell"));
	assert_false(compares_wide(LOW_EQ, DT_U8, true, "haswell"));
	assert_false(compares_wide(LOW_LT, DT_I8, true, "haswell"));
	assert_false(compares_wide(LOW_LT, DT_U8, true, "znver4"));
	assert_false(compares_wide(LOW_LT, DT_U8, true, "x86-64"));
}

static bool byte_case_says(int at, const char *cpu, const char *text)
{
	Arena *arena = arena_new();
	LowCaseVec cases = {0};
	LowCaseMaker m = {.arena = arena, .cases = &cases};
	lowcase_byte_cases(&m);
	bool has = says(cases.at[at].f, cpu, text);
	arena_free(arena);
	return has;
}

/* One shuffle makes words of the bytes that it takes; what is cut off is not taken off
 * before. */
static void bytes(void **state)
{
	(void)state;
	assert_true(byte_case_says(0, "haswell", "4, -1, 7, -1, 10, -1, "));
	assert_true(byte_case_says(1, "haswell", "4, -1, 7, -1, 10, -1, "));
	for (int i = 2; i < 5; i++)
		assert_false(byte_case_says(i, "haswell", "7, -1, "));
	assert_false(byte_case_says(0, "x86-64", "7, -1, "));
	assert_false(byte_case_says(5, "haswell", "I16X8(255)"));
	assert_true(byte_case_says(6, "haswell", "I16X8(127)"));
	assert_false(byte_case_says(7, "haswell", "I32X8(4095)"));
}

/* What one instruction puts together of two vectors clang does not in parts. */
static void kept_whole(void **state)
{
	(void)state;
	assert_true(byte_case_says(11, "icelake-server", "WHOLE_U8X32(SH"));
	assert_true(byte_case_says(12, "skylake-avx512", "WHOLE_I16X32(SH"));
	assert_false(byte_case_says(11, "skylake-avx512", "WHOLE_"));
	assert_false(byte_case_says(12, "haswell", "WHOLE_"));
	assert_false(byte_case_says(13, "icelake-server", "WHOLE_"));
	assert_false(byte_case_says(14, "icelake-server", "WHOLE_"));
}

/* Bytes under a mask: whole where all are on, for machines without instructions for
 * that. */
static bool loads_whole(DType type, int lanes, const char *cpu)
{
	Arena *arena = arena_new();
	LowCaseVec cases = {0};
	LowCaseMaker m = {.arena = arena, .cases = &cases};
	lowcase_memory_cases(&m, type, lanes);
	const char *test =
	    lanes * dtype_bytes(type) <= 8 ? "(m) == -1 ?" : "(m)) == 0xffff ?";
	bool whole = says(cases.at[0].f, cpu, test);
	arena_free(arena);
	return whole;
}

static void whole(void **state)
{
	(void)state;
	assert_true(loads_whole(DT_U8, 8, "haswell"));
	assert_true(loads_whole(DT_I16, 8, "haswell"));
	assert_true(loads_whole(DT_F32, 4, "x86-64"));
	assert_false(loads_whole(DT_F32, 4, "haswell"));
	assert_false(loads_whole(DT_U8, 8, "znver4"));
}

/* A vector at a place that is read twice. */
static bool loads_once(int at, const char *cpu)
{
	Arena *arena = arena_new();
	LowCaseVec cases = {0};
	LowCaseMaker m = {.arena = arena, .cases = &cases};
	lowcase_begin(&m, "read twice");
	int a = lowcase_loaded(&m, "a", DT_F32, 8, at),
	    d = lowcase_temp(&m, DT_F32, 8);
	lowcase_op(&m, LOW_MUL, d, a, a, -1);
	lowcase_end(&m, d);
	bool once = says(cases.at[0].f, cpu, "LOAD_ONCE");
	arena_free(arena);
	return once;
}

static void once(void **state)
{
	(void)state;
	assert_true(loads_once(1, "haswell"));
	assert_false(loads_once(8, "haswell"));
	assert_true(loads_once(8, "znver4"));
	assert_false(loads_once(1, "x86-64"));
}

/* A vector of which a shuffle picks half the lanes: has its C that text? */
static bool picked_says(DType type, int lanes, int first, int each, bool whole,
    const char *cpu, const char *text)
{
	Arena *arena = arena_new();
	LowCaseVec cases = {0};
	LowCaseMaker m = {.arena = arena, .cases = &cases};
	lowcase_begin(&m, "picked");
	int a = lowcase_loaded(&m, "a", type, lanes, 1),
	    d = lowcase_temp(&m, type, lanes / 2);
	LowNode *n = lowcase_op(&m, LOW_SHUFFLE, d, a, -1, -1);
	n->shuffle = NEW_N(arena, int, lanes / 2);
	for (int l = 0; l < lanes / 2; l++)
		n->shuffle[l] = first + l * each;
	if (whole) {
		n = lowcase_op(&m, LOW_STORE, -1, a, -1, -1);
		n->buffer = lowcase_new_buffer(&m, "b", type, true);
	}
	lowcase_end(&m, d);
	bool has = says(cases.at[0].f, cpu, text);
	arena_free(arena);
	return has;
}

/* Is it read as halves, and the shuffle one of two? */
static bool loads_halves(
    DType type, int lanes, int first, int each, bool whole, const char *cpu)
{
	return picked_says(
	    type, lanes, first, each, whole, cpu, "shufflevector((a), (b), ");
}

static void as_halves(void **state)
{
	(void)state;
	assert_true(loads_halves(DT_F32, 16, 1, 2, false, "znver4"));
	assert_true(loads_halves(DT_F64, 8, 0, 2, false, "icelake-server"));
	assert_false(loads_halves(DT_F32, 16, 1, 2, true, "znver4"));
	assert_false(loads_halves(DT_F32, 16, 8, 1, false, "znver4"));
	assert_false(loads_halves(DT_F32, 8, 1, 2, false, "znver4"));
	assert_false(loads_halves(DT_I16, 32, 1, 2, false, "znver4"));
	assert_false(loads_halves(DT_F32, 8, 1, 2, false, "haswell"));
}

/* Does one instruction pick narrow lanes, of clang too? */
static bool picks_half(DType type, int first, int each, const char *cpu)
{
	return picked_says(type, 64 / dtype_bytes(type), first, each, false,
	    cpu, "512_si256(tunec_v); }))\n#else");
}

/* Likewise as many, all but the first as they are? */
static bool picks_all(DType type, int first, const char *cpu)
{
	Arena *arena = arena_new();
	LowCaseVec cases = {0};
	LowCaseMaker m = {.arena = arena, .cases = &cases};
	int lanes = 32 / dtype_bytes(type);
	lowcase_begin(&m, "picked");
	int a = lowcase_loaded(&m, "a", type, lanes, 1),
	    d = lowcase_temp(&m, type, lanes);
	LowNode *n = lowcase_op(&m, LOW_SHUFFLE, d, a, -1, -1);
	n->shuffle = NEW_N(arena, int, lanes);
	for (int l = 0; l < lanes; l++)
		n->shuffle[l] = l ? l : first;
	lowcase_end(&m, d);
	bool has =
	    says(cases.at[0].f, cpu, "__m256i tunec_v; \\\n\t__asm__(\"vperm");
	arena_free(arena);
	return has;
}

/* Lanes of a vector, from 16 bytes on by another number: by the instruction that more
 * ports have? */
static bool shuffles_within(DType type, int lanes, int first, const char *cpu)
{
	Arena *arena = arena_new();
	LowCaseVec cases = {0};
	LowCaseMaker m = {.arena = arena, .cases = &cases};
	lowcase_begin(&m, "within");
	int a = lowcase_loaded(&m, "a", type, lanes, 1),
	    d = lowcase_temp(&m, type, lanes);
	LowNode *n = lowcase_op(&m, LOW_SHUFFLE, d, a, -1, -1);
	n->shuffle = NEW_N(arena, int, lanes);
	for (int l = 0; l < lanes; l++)
		n->shuffle[l] = l < 4 ? 3 - l : first + 7 - l;
	lowcase_end(&m, d);
	bool has = says(cases.at[0].f, cpu, "__asm__(\"vshufps ");
	arena_free(arena);
	return has;
}

static void within(void **state)
{
	(void)state;
	assert_true(shuffles_within(DT_F32, 4, 0, "haswell"));
	assert_true(shuffles_within(DT_F32, 8, 4, "haswell"));
	assert_false(shuffles_within(DT_F32, 8, 0, "haswell"));
	assert_false(shuffles_within(DT_I32, 8, 4, "haswell"));
	assert_false(shuffles_within(DT_F32, 8, 4, "x86-64"));
}

static void picked(void **state)
{
	(void)state;
	assert_true(picks_half(DT_U8, 1, 2, "icelake-server"));
	assert_true(picks_half(DT_I16, 0, 2, "skylake-avx512"));
	assert_true(picks_all(DT_U8, 17, "icelake-server"));
	assert_true(picks_all(DT_I16, 15, "skylake-avx512"));
	assert_false(picks_all(DT_U8, 0, "icelake-server"));
	assert_false(picks_all(DT_U8, 17, "skylake-avx512"));
	assert_false(picks_half(DT_U8, 1, 2, "skylake-avx512"));
	assert_false(picks_half(DT_U8, 32, 1, "icelake-server"));
	assert_false(picks_half(DT_F32, 1, 2, "icelake-server"));
}

/* Vectors stored at three places, in that order, of values of their own or one: does
 * the last wait for the one before? */
static bool waits(
    int lanes, int first, int second, int third, bool one, const char *cpu)
{
	Arena *arena = arena_new();
	LowCaseVec cases = {0};
	LowCaseMaker m = {.arena = arena, .cases = &cases};
	int at[] = {first, second, third}, v = -1;
	lowcase_begin(&m, "stored in order");
	int out = lowcase_result_buffer(&m, DT_F32),
	    a = lowcase_new_buffer(&m, "a", DT_F32, false);
	for (int i = 0; i < 3; i++) {
		LowNode *n;
		if (v < 0 || !one) {
			v = lowcase_temp(&m, DT_F32, lanes);
			n = lowcase_op(&m, LOW_LOAD, v, -1, -1, -1);
			n->buffer = a;
			n->address = low_affine_const(i * lanes);
		}
		n = lowcase_op(&m, LOW_STORE, -1, v, -1, -1);
		n->buffer = out;
		n->address = low_affine_const(at[i]);
	}
	lowcase_finish(&m, DT_F32);
	bool has = says(cases.at[0].f, cpu,
	    arena_printf(arena, "(out + %d, BEHIND_F32X%d(out + %d, ", third,
		lanes, second));
	arena_free(arena);
	return has;
}

/* In a row, or the first of the next row, which are parts of lines. */
static void in_order(void **state)
{
	(void)state;
	assert_true(waits(8, 4, 12, 20, false, "haswell"));
	assert_true(waits(8, 4, 12, 40, false, "haswell"));
	assert_true(waits(4, 4, 8, 12, false, "x86-64"));
	assert_false(waits(8, 4, 20, 36, false, "haswell"));
	assert_false(waits(8, 4, 20, 12, false, "haswell"));
	assert_false(waits(8, 4, 12, 20, true, "haswell"));
	assert_true(waits(16, 4, 20, 36, false, "znver4"));
	assert_false(waits(16, 16, 32, 48, false, "znver4"));
}

/* Groups of so many lanes of two vectors in turns: are they lanes of that type? */
static bool takes_groups(
    DType type, int lanes, int group, const char *cpu, const char *wide)
{
	Arena *arena = arena_new();
	LowCaseVec cases = {0};
	LowCaseMaker m = {.arena = arena, .cases = &cases};
	lowcase_begin(&m, "grouped");
	int a = lowcase_loaded(&m, "a", type, lanes, 1),
	    b = lowcase_loaded(&m, "b", type, lanes, 1),
	    d = lowcase_temp(&m, type, lanes);
	LowNode *n = lowcase_op(&m, LOW_SHUFFLE, d, a, b, -1);
	n->shuffle = NEW_N(arena, int, lanes);
	for (int l = 0; l < lanes; l++)
		n->shuffle[l] =
		    l / (2 * group) * group + l % group + l / group % 2 * lanes;
	lowcase_end(&m, d);
	bool has = says(cases.at[0].f, cpu,
	    arena_printf(arena, "shufflevector((%s)(a), (%s)(b), 0, %d, 1,",
		wide, wide, lanes / group));
	arena_free(arena);
	return has;
}

static void grouped(void **state)
{
	(void)state;
	assert_true(takes_groups(DT_U8, 16, 2, "icelake-server", "i16x8"));
	assert_true(takes_groups(DT_I8, 64, 4, "icelake-server", "i32x16"));
	assert_true(takes_groups(DT_I16, 16, 4, "znver4", "i64x4"));
	assert_false(takes_groups(DT_U8, 16, 1, "icelake-server", "i8x16"));
	assert_false(takes_groups(DT_U8, 16, 2, "haswell", "i16x8"));
	assert_false(takes_groups(DT_F32, 8, 2, "znver4", "i64x4"));
}

/* A number where it is the less, or 0: is that an AND, of gcc too? */
static bool takes_and(DType type, int lanes, const char *cpu, const char *text)
{
	Arena *arena = arena_new();
	LowCaseVec cases = {0};
	LowCaseMaker m = {.arena = arena, .cases = &cases};
	lowcase_begin(&m, "or 0");
	int a = lowcase_loaded(&m, "a", type, lanes, 0),
	    b = lowcase_loaded(&m, "b", type, lanes, 3);
	int less = lowcase_temp(&m, DT_BOOL, lanes),
	    d = lowcase_temp(&m, type, lanes);
	lowcase_op(&m, LOW_LT, less, a, b, -1);
	lowcase_op(&m, LOW_SELECT, d, less, a, lowcase_zeros(&m, type, lanes));
	lowcase_end(&m, d);
	bool has = says(cases.at[0].f, cpu, text);
	arena_free(arena);
	return has;
}

static void zeroed(void **state)
{
	(void)state;
	assert_true(
	    takes_and(DT_F32, 8, "haswell", "_mm256_and_ps((__m256)(m), "));
	assert_true(
	    takes_and(DT_F64, 2, "haswell", "_mm_and_pd((__m128d)(m), "));
	assert_true(takes_and(DT_I32, 8, "haswell", "((i32x8)(a) & (m))"));
	assert_false(takes_and(DT_F32, 8, "znver4", "_and_ps"));
}

/* A root of one number: compilers would ask before each whether errno is to be set. */
static bool takes_root(Op math, DType type, const char *cpu, const char *text)
{
	Arena *arena = arena_new();
	LowCaseVec cases = {0};
	LowCaseMaker m = {.arena = arena, .cases = &cases};
	lowcase_math_case(&m, math, type, 1);
	bool has = says(cases.at[0].f, cpu, text);
	arena_free(arena);
	return has;
}

static void roots(void **state)
{
	(void)state;
	assert_true(takes_root(OP_SQRT, DT_F32, "haswell", "_mm_sqrt_ss("));
	assert_true(takes_root(OP_RSQRT, DT_F32, "znver4", "1 / SQRT_F32("));
	assert_true(takes_root(OP_SQRT, DT_F64, "x86-64", "_mm_sqrt_sd("));
	assert_false(takes_root(OP_EXP, DT_F32, "haswell", "_mm_"));
}

/* Vectors that are added, or summed up, for a CPU: is gcc told a machine? */
/* A sum of as many products that is stored under an `if`. */
static bool keeps_sum(int times, const char *cpu)
{
	Arena *arena = arena_new();
	LowCaseVec cases = {0};
	LowCaseMaker m = {.arena = arena, .cases = &cases};
	lowcase_begin(&m, "stored or not");
	int a = lowcase_loaded(&m, "a", DT_F32, 8, 0),
	    b = lowcase_loaded(&m, "b", DT_F32, 8, 3);
	int all = lowcase_loaded(&m, "c", DT_F32, 1, 0),
	    c = lowcase_temp(&m, DT_BOOL, 1);
	int sum = lowcase_temp(&m, DT_F32, 8);
	lowcase_op(&m, LOW_LT, c, all, all, -1);
	lowcase_op(&m, LOW_CONST, sum, -1, -1, -1);
	for (int i = 0; i < times; i++)
		lowcase_op(&m, LOW_FMA, sum, a, b, sum);
	LowNode *n = NEW(arena, LowNode);
	*n = (LowNode){.kind = LOWNODE_IF, .condition = c, .dst = -1};
	vec_push(arena, &m.f->body, n);
	low_op(arena, &n->body, LOW_STORE, -1, sum, -1, -1)->buffer =
	    lowcase_result_buffer(&m, DT_F32);
	lowcase_finish(&m, DT_F32);
	bool has = says(cases.at[0].f, cpu, "\tTUNEC_KEPT(");
	arena_free(arena);
	return has;
}

static void kept_sums(void **state)
{
	(void)state;
	assert_true(keeps_sum(5, "haswell"));
	assert_true(keeps_sum(5, "znver4"));
	assert_false(keeps_sum(4, "haswell"));
}

/* By an instruction, of clang too, which would not find it for what it shifted. */
static void absolute(void **state)
{
	(void)state;
	Arena *arena = arena_new();
	LowCaseVec cases = {0};
	LowCaseMaker m = {.arena = arena, .cases = &cases};
	lowcase_begin(&m, "absolute");
	int d = lowcase_temp(&m, DT_I32, 8);
	lowcase_op(
	    &m, LOW_ABS, d, lowcase_loaded(&m, "a", DT_I32, 8, 0), -1, -1);
	lowcase_end(&m, d);
	assert_true(says(cases.at[0].f, "haswell",
	    "#ifdef TUNEC_X86\n#define ABS_I32X8(a) \\\n"
	    "\t((i32x8)_mm256_abs_epi32("));
	arena_free(arena);
}

/* What is not so, of floats: is it one comparison? */
static bool compares_not(LowOpcode op, DType type, bool twice, const char *cpu)
{
	Arena *arena = arena_new();
	LowCaseVec cases = {0};
	LowCaseMaker m = {.arena = arena, .cases = &cases};
	lowcase_begin(&m, "not so");
	int a = lowcase_loaded(&m, "a", type, 8, 0),
	    b = lowcase_loaded(&m, "b", type, 8, 3);
	int is = lowcase_temp(&m, DT_BOOL, 8),
	    not = lowcase_temp(&m, DT_BOOL, 8);
	int d = lowcase_temp(&m, type, 8), all = lowcase_temp(&m, type, 8);
	lowcase_op(&m, op, is, a, b, -1);
	lowcase_op(&m, LOW_NOT, not, is, -1, -1);
	lowcase_op(&m, LOW_SELECT, d, not, a, b);
	lowcase_op(&m, LOW_SELECT, all, twice ? is : not, d, b);
	lowcase_end(&m, all);
	bool has = says(cases.at[0].f, cpu, "_CMP_N") &&
	    !says(cases.at[0].f, cpu, "~LT_") &&
	    !says(cases.at[0].f, cpu, "~LE_");
	arena_free(arena);
	return has;
}

static void opposite(void **state)
{
	(void)state;
	assert_true(compares_not(LOW_LT, DT_F32, false, "znver4"));
	assert_true(compares_not(LOW_LE, DT_F64, false, "znver4"));
	assert_false(compares_not(LOW_LT, DT_F32, true, "znver4"));
	assert_false(compares_not(LOW_LT, DT_I32, false, "znver4"));
	assert_false(compares_not(LOW_LT, DT_F32, false, "haswell"));
}

/* So many products, each of which an `if` of what any lane asks for says in another
 * way: are they computed before the first? */
static bool keeps_results(int times, const char *cpu)
{
	Arena *arena = arena_new();
	LowCaseVec cases = {0};
	LowCaseMaker m = {.arena = arena, .cases = &cases};
	lowcase_begin(&m, "rare");
	int a = lowcase_loaded(&m, "a", DT_F32, 8, 0), product[2], any[2];
	for (int i = 0; i < times; i++) {
		int below = lowcase_temp(&m, DT_BOOL, 8);
		product[i] = lowcase_temp(&m, DT_F32, 8);
		any[i] = lowcase_temp(&m, DT_BOOL, 1);
		lowcase_op(&m, LOW_MUL, product[i], a, i ? product[0] : a, -1);
		lowcase_op(&m, LOW_LT, below, product[i], a, -1);
		lowcase_op(&m, LOW_ANY, any[i], below, -1, -1);
	}
	for (int i = 0; i < times; i++) {
		LowNode *n = NEW(arena, LowNode);
		*n = (LowNode){
		    .kind = LOWNODE_IF, .condition = any[i], .dst = -1};
		vec_push(arena, &m.f->body, n);
		low_op(arena, &n->body, LOW_ADD, product[i], a, a, -1);
	}
	lowcase_end(&m, product[times - 1]);
	bool has = says(cases.at[0].f, cpu, "\tTUNEC_KEPT(");
	arena_free(arena);
	return has;
}

static void kept_results(void **state)
{
	(void)state;
	assert_true(keeps_results(2, "haswell"));
	assert_true(keeps_results(2, "znver4"));
	assert_false(keeps_results(1, "haswell"));
}

/* By one number for all lanes, to itself or to another: is it a sum's own register? */
static bool sums_by_number(bool own, const char *cpu)
{
	Arena *arena = arena_new();
	LowCaseVec cases = {0};
	LowCaseMaker m = {.arena = arena, .cases = &cases};
	lowcase_begin(&m, "by a number");
	int a = lowcase_loaded(&m, "a", DT_F32, 8, 0),
	    c = lowcase_loaded(&m, "c", DT_F32, 8, 3);
	int by = lowcase_temp(&m, DT_F32, 8),
	    d = own ? c : lowcase_temp(&m, DT_F32, 8);
	lowcase_op(&m, LOW_CONST, by, -1, -1, -1)->f = 3;
	lowcase_op(&m, LOW_FMA, d, by, a, c);
	lowcase_end(&m, d);
	bool has = says(cases.at[0].f, cpu, "SUM_F32X8(F32X8(3.0f), ");
	arena_free(arena);
	return has;
}

static void by_number(void **state)
{
	(void)state;
	assert_true(sums_by_number(true, "haswell"));
	assert_false(sums_by_number(false, "haswell"));
	assert_false(sums_by_number(true, "znver4"));
}

static bool tunes_gcc(bool sums, const char *cpu)
{
	Arena *arena = arena_new();
	LowCaseVec cases = {0};
	LowCaseMaker m = {.arena = arena, .cases = &cases};
	if (sums)
		lowcase_sums_case(&m, DT_F32, 8);
	else
		lowcase_binary(&m, LOW_ADD, DT_F32, 8);
	bool has = says(cases.at[0].f, cpu, "tune=skylake");
	arena_free(arena);
	return has;
}

static void tuned(void **state)
{
	(void)state;
	assert_true(tunes_gcc(false, "haswell"));
	assert_false(tunes_gcc(true, "haswell"));
	assert_false(tunes_gcc(false, "znver4"));
	assert_false(tunes_gcc(false, "x86-64"));
}

static LowNode *loop_of(LowCaseMaker *m, LowBody *body, int var, int64_t extent)
{
	LowNode *n = NEW(m->arena, LowNode);
	n->kind = LOWNODE_LOOP;
	n->var = var;
	n->extent = extent;
	n->condition = -1;
	vec_push(m->arena, body, n);
	return n;
}

static LowAffine sum_of(LowCaseMaker *m, int a, int64_t stride, int b)
{
	LowAffine sum = {.n = 2, .terms = NEW_N(m->arena, LowTerm, 2)};
	sum.terms[0] = (LowTerm){a, stride};
	sum.terms[1] = (LowTerm){b, 1};
	return sum;
}

/* out[i*16 + x[p] + p] = 1, for indices of a type: has the row a pointer? */
static bool has_row(DType type)
{
	Arena *arena = arena_new();
	LowCaseVec cases = {0};
	LowCaseMaker m = {.arena = arena, .cases = &cases};
	lowcase_begin(&m, "counts");
	int i = lowcase_temp(&m, DT_INDEX, 1),
	    p = lowcase_temp(&m, DT_INDEX, 1);
	int x = lowcase_temp(&m, type, 1),
	    index = lowcase_temp(&m, DT_INDEX, 1);
	int one = lowcase_temp(&m, DT_I32, 1);
	LowBody *kernel = &m.f->body;
	lowcase_op(&m, LOW_CONST, one, -1, -1, -1)->i = 1;
	LowNode *outer = loop_of(&m, kernel, i, 4);
	LowNode *inner = loop_of(&m, &outer->body, p, 8);
	LowNode *load = low_op(arena, &inner->body, LOW_LOAD, x, -1, -1, -1);
	load->buffer = lowcase_new_buffer(&m, "x", type, false);
	load->address = sum_of(&m, i, 8, p);
	low_op(arena, &inner->body, LOW_CONVERT, index, x, -1, -1);
	LowNode *store =
	    low_op(arena, &inner->body, LOW_STORE, -1, one, -1, -1);
	store->buffer = lowcase_result_buffer(&m, DT_I32);
	LowTerm along = {p, 1};
	store->address = low_affine_add(
	    arena, sum_of(&m, i, 16, index), (LowAffine){0, 1, &along}, 1);
	lowcase_finish(&m, DT_I32);
	bool has = says(cases.at[0].f, "haswell", "out_at = &out[t*16];") &&
	    says(cases.at[0].f, "haswell", "out_at[");
	arena_free(arena);
	return has;
}

/* Only where it lies in the buffer whatever the index is. */
static void data_rows(void **state)
{
	(void)state;
	assert_true(has_row(DT_U8));
	assert_false(has_row(DT_I8));
}

/* sum += x[k] * x[k + apart] of `sums` vectors, for k < extent: has the C this text? */
static bool window_says(
    int sums, int64_t apart, int64_t extent, const char *text)
{
	Arena *arena = arena_new();
	LowCaseVec cases = {0};
	LowCaseMaker m = {.arena = arena, .cases = &cases};
	lowcase_begin(&m, "windows");
	int k = lowcase_temp(&m, DT_INDEX, 1),
	    all = lowcase_temp(&m, DT_F32, 16);
	int x = lowcase_new_buffer(&m, "x", DT_F32, false), read[2], sum[16];
	for (int i = 0; i < sums; i++) {
		sum[i] = lowcase_temp(&m, DT_F32, 16);
		lowcase_op(&m, LOW_CONST, sum[i], -1, -1, -1);
	}
	LowNode *loop = loop_of(&m, &m.f->body, k, extent);
	for (int i = 0; i < 2; i++) {
		read[i] = lowcase_temp(&m, DT_F32, 1);
		LowNode *load =
		    low_op(arena, &loop->body, LOW_LOAD, read[i], -1, -1, -1);
		LowTerm along = {k, 1};
		load->buffer = x;
		load->address = (LowAffine){
		    i * apart, 1, arena_memdup(arena, &along, sizeof along)};
	}
	low_op(arena, &loop->body, LOW_BROADCAST, all, read[0], -1, -1);
	for (int i = 0; i < sums; i++)
		low_op(arena, &loop->body, LOW_FMA, sum[i], all, all, sum[i]);
	int rest = lowcase_temp(&m, DT_F32, 16),
	    last = lowcase_temp(&m, DT_F32, 16);
	low_op(arena, &loop->body, LOW_BROADCAST, rest, read[1], -1, -1);
	low_op(arena, &loop->body, LOW_ADD, sum[0], rest, sum[0], -1);
	lowcase_op(&m, LOW_COPY, last, sum[0], -1, -1);
	for (int i = 1; i < sums; i++) {
		int next = lowcase_temp(&m, DT_F32, 16);
		lowcase_op(&m, LOW_ADD, next, last, sum[i], -1);
		last = next;
	}
	lowcase_end(&m, last);
	bool has = says(cases.at[0].f, "znver4", text);
	arena_free(arena);
	return has;
}

/* Is it read again as k grows? */
static bool reads_again(int sums, int64_t apart)
{
	return window_says(sums, apart, 8, "TUNEC_AGAIN();");
}

/* A loop that asks for x ahead and adds `reads` numbers of it to a sum: has the C for
 * the CPU this text? */
static bool reads_ahead(int reads, const char *cpu, const char *text)
{
	Arena *arena = arena_new();
	LowCaseVec cases = {0};
	LowCaseMaker m = {.arena = arena, .cases = &cases};
	lowcase_begin(&m, "ahead");
	int k = lowcase_temp(&m, DT_INDEX, 1),
	    sum = lowcase_temp(&m, DT_F32, 1);
	int x = lowcase_new_buffer(&m, "x", DT_F32, false);
	LowTerm *along = NEW(arena, LowTerm);
	*along = (LowTerm){k, 100000};
	lowcase_op(&m, LOW_CONST, sum, -1, -1, -1);
	LowNode *loop = loop_of(&m, &m.f->body, k, 4);
	LowNode *ahead =
	    low_op(arena, &loop->body, LOW_PREFETCH, -1, -1, -1, -1);
	ahead->buffer = x;
	ahead->address = (LowAffine){64, 1, along};
	ahead->i = 2;
	for (int i = 0; i < reads; i++) {
		int read = lowcase_temp(&m, DT_F32, 1);
		LowNode *load =
		    low_op(arena, &loop->body, LOW_LOAD, read, -1, -1, -1);
		load->buffer = x;
		load->address = (LowAffine){i, 1, along};
		low_op(arena, &loop->body, LOW_FMA, sum, read, read, sum);
	}
	int last = lowcase_temp(&m, DT_F32, 1);
	lowcase_op(&m, LOW_COPY, last, sum, -1, -1);
	lowcase_end(&m, last);
	bool has = says(cases.at[0].f, cpu, text);
	arena_free(arena);
	return has;
}

/* gcc leaves prefetches where they are, clang has one register of an address. */
static void ahead(void **state)
{
	(void)state;
	assert_true(reads_ahead(8, "haswell", "volatile(\"prefetcht1 %a0\""));
	assert_true(reads_ahead(8, "haswell", "__builtin_prefetch((p), 0, 2)"));
	assert_true(reads_ahead(8, "haswell", "TUNEC_ADDED(x_at);"));
	assert_false(reads_ahead(7, "haswell", "TUNEC_ADDED"));
}

/* Where what an iteration reads is elsewhere in the next, and sums fill half of the
 * registers. */
static void windows(void **state)
{
	(void)state;
	assert_true(reads_again(16, 1));
	assert_false(reads_again(16, 2));
	assert_false(reads_again(8, 1));
}

static bool is_rolled(int sums, int64_t extent)
{
	return window_says(sums, 1, extent, "\tTUNEC_ROLLED\n\tfor (");
}

/* Where several sums are copies, and there are iterations. */
static void rolled(void **state)
{
	(void)state;
	assert_true(is_rolled(4, 8));
	assert_false(is_rolled(3, 8));
	assert_false(is_rolled(4, 4));
	assert_true(window_says(4, 1, 8, "_Pragma(\"GCC unroll 1\")"));
	assert_true(window_says(4, 1, 8, "clang loop unroll(disable)"));
}

/* for c: `loops` times for k: sum += x[k]*x[k] of `sums` vectors: is gcc told that
 * these are shared? */
static bool is_shared(int sums, int loops, const char *cpu)
{
	Arena *arena = arena_new();
	LowCaseVec cases = {0};
	LowCaseMaker m = {.arena = arena, .cases = &cases};
	lowcase_begin(&m, "shared");
	int x = lowcase_new_buffer(&m, "x", DT_F32, false), sum[16];
	for (int i = 0; i < sums; i++) {
		sum[i] = lowcase_temp(&m, DT_F32, 16);
		lowcase_op(&m, LOW_CONST, sum[i], -1, -1, -1);
	}
	LowNode *outer =
	    loop_of(&m, &m.f->body, lowcase_temp(&m, DT_INDEX, 1), 8);
	for (int l = 0; l < loops; l++) {
		int k = lowcase_temp(&m, DT_INDEX, 1),
		    read = lowcase_temp(&m, DT_F32, 1);
		int all = lowcase_temp(&m, DT_F32, 16);
		LowNode *loop = loop_of(&m, &outer->body, k, 8);
		LowNode *load =
		    low_op(arena, &loop->body, LOW_LOAD, read, -1, -1, -1);
		LowTerm along = {k, 1};
		load->buffer = x;
		load->address = (LowAffine){
		    0, 1, arena_memdup(arena, &along, sizeof along)};
		low_op(arena, &loop->body, LOW_BROADCAST, all, read, -1, -1);
		for (int i = 0; i < sums; i++)
			low_op(arena, &loop->body, LOW_FMA, sum[i], all, all,
			    sum[i]);
	}
	int last = sum[0];
	for (int i = 1; i < sums; i++) {
		int next = lowcase_temp(&m, DT_F32, 16);
		lowcase_op(&m, LOW_ADD, next, last, sum[i], -1);
		last = next;
	}
	lowcase_end(&m, last);
	bool has = says(cases.at[0].f, cpu, "TUNEC_FUNCTION TUNEC_SHARED void");
	arena_free(arena);
	return has;
}

/* Where several loops inside a loop add to sums that fill half of the registers. */
static void shared(void **state)
{
	(void)state;
	assert_true(is_shared(16, 2, "znver4"));
	assert_false(is_shared(16, 1, "znver4"));
	assert_false(is_shared(8, 2, "znver4"));
	assert_false(is_shared(16, 2, "haswell"));
}

/* for k: `times` times sum += x*x of `sums` vectors: does gcc keep lives short? */
static bool is_window(int sums, int times, const char *cpu)
{
	Arena *arena = arena_new();
	LowCaseVec cases = {0};
	LowCaseMaker m = {.arena = arena, .cases = &cases};
	lowcase_begin(&m, "window");
	int x = lowcase_loaded(&m, "x", DT_F32, 16, 0), sum[4];
	for (int i = 0; i < sums; i++) {
		sum[i] = lowcase_temp(&m, DT_F32, 16);
		lowcase_op(&m, LOW_CONST, sum[i], -1, -1, -1);
	}
	LowNode *loop =
	    loop_of(&m, &m.f->body, lowcase_temp(&m, DT_INDEX, 1), 8);
	for (int i = 0; i < sums * times; i++)
		low_op(arena, &loop->body, LOW_FMA, sum[i % sums], x, x,
		    sum[i % sums]);
	lowcase_end(&m, sum[0]);
	bool has = says(cases.at[0].f, cpu, "live-range-shrinkage");
	arena_free(arena);
	return has;
}

/* Where each of several sums is added to as often as there are elements. */
static void window_sums(void **state)
{
	(void)state;
	assert_true(is_window(4, 8, "znver4"));
	assert_false(is_window(4, 7, "znver4"));
	assert_false(is_window(3, 8, "znver4"));
	assert_false(is_window(4, 8, "haswell"));
}

/* Numbers or 0 under a mask that is known, or loaded: does clang not see the former? */
static bool hides_mask(int below, const char *cpu)
{
	Arena *arena = arena_new();
	LowCaseVec cases = {0};
	LowCaseMaker m = {.arena = arena, .cases = &cases};
	lowcase_select_one(&m, DT_F32, 16, below, false, true);
	bool has = says(cases.at[0].f, cpu, "HIDDEN_512(_mm512_movm_epi32(m))");
	arena_free(arena);
	return has;
}

static void hidden(void **state)
{
	(void)state;
	assert_true(hides_mask(3, "znver4"));
	assert_false(hides_mask(0, "znver4"));
	assert_false(hides_mask(3, "haswell"));
}

/* Has a choice by the first three lanes that text? */
static bool blends(DType type, int lanes, const char *cpu, const char *text)
{
	Arena *arena = arena_new();
	LowCaseVec cases = {0};
	LowCaseMaker m = {.arena = arena, .cases = &cases};
	lowcase_select_one(&m, type, lanes, 3, false, false);
	bool has = says(cases.at[0].f, cpu, text);
	arena_free(arena);
	return has;
}

static void blended(void **state)
{
	(void)state;
	assert_true(blends(DT_F32, 8, "haswell", "(__m256)(b), 0xf8)"));
	assert_true(blends(DT_F64, 4, "haswell", "(__m256)(b), 0xc0)"));
	assert_true(blends(DT_U8, 16, "haswell", "_mm_blendv_epi8("));
	assert_true(blends(DT_F32, 16, "znver4", "_mask_blend_epi32(0xfff8,"));
	assert_false(blends(DT_F32, 4, "x86-64", "_blend_ps("));
}

/* Does clang not see that bits, read as often, are a byte's? */
static bool keeps_wide(int times, DType from, const char *cpu)
{
	Arena *arena = arena_new();
	LowCaseVec cases = {0};
	LowCaseMaker m = {.arena = arena, .cases = &cases};
	lowcase_wide_bits(&m, from, 8, times);
	bool has = says(cases.at[0].f, cpu, "WIDE_I32X8(");
	arena_free(arena);
	return has;
}

static void kept_wide(void **state)
{
	(void)state;
	assert_true(keeps_wide(2, DT_U8, "haswell"));
	assert_true(keeps_wide(2, DT_I16, "haswell"));
	assert_false(keeps_wide(1, DT_U8, "haswell"));
	assert_false(keeps_wide(2, DT_U32, "haswell"));
	assert_false(keeps_wide(2, DT_U8, "znver4"));
	assert_false(keeps_wide(2, DT_U8, "x86-64"));
}

/* y = index(x[0]) % by: has the C this text? */
static bool remainder_says(DType type, int64_t by, const char *text)
{
	Arena *arena = arena_new();
	LowCaseVec cases = {0};
	LowCaseMaker m = {.arena = arena, .cases = &cases};
	lowcase_begin(&m, "remainder");
	int x = lowcase_loaded(&m, "x", type, 1, 0),
	    index = lowcase_temp(&m, DT_INDEX, 1);
	int n = lowcase_temp(&m, DT_INDEX, 1),
	    r = lowcase_temp(&m, DT_INDEX, 1);
	int y = lowcase_temp(&m, DT_I32, 1);
	lowcase_op(&m, LOW_CONST, n, -1, -1, -1)->i = by;
	lowcase_op(&m, LOW_CONVERT, index, x, -1, -1);
	lowcase_op(&m, LOW_MOD, r, index, n, -1);
	lowcase_op(&m, LOW_CONVERT, y, r, -1, -1);
	lowcase_end(&m, y);
	bool has = says(cases.at[0].f, "haswell", text);
	arena_free(arena);
	return has;
}

/* Only what is never negative, and has a name: the type of a byte is known else. */
static void divided(void **state)
{
	(void)state;
	assert_true(remainder_says(DT_U8, 10, "= (int64_t)x[0];"));
	assert_true(remainder_says(DT_U8, 10, "((uint32_t)t % 10)"));
	assert_true(remainder_says(DT_U32, 10, "(uint32_t)"));
	assert_false(remainder_says(DT_I32, 10, "(uint32_t)"));
	assert_false(remainder_says(DT_U8, INT64_C(1) << 40, "(uint32_t)"));
	assert_true(remainder_says(DT_I32, 64, "x[0] & 63"));
	assert_false(remainder_says(DT_I32, 65, "x[0] &"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(packed),
	    cmocka_unit_test(whole), cmocka_unit_test(once),
	    cmocka_unit_test(as_halves), cmocka_unit_test(roots),
	    cmocka_unit_test(picked), cmocka_unit_test(within),
	    cmocka_unit_test(data_rows), cmocka_unit_test(tuned),
	    cmocka_unit_test(windows), cmocka_unit_test(rolled),
	    cmocka_unit_test(shared), cmocka_unit_test(window_sums),
	    cmocka_unit_test(hidden), cmocka_unit_test(divided),
	    cmocka_unit_test(kept_wide), cmocka_unit_test(kept_sums),
	    cmocka_unit_test(by_number), cmocka_unit_test(bytes),
	    cmocka_unit_test(halves), cmocka_unit_test(strewn),
	    cmocka_unit_test(gathered), cmocka_unit_test(ahead),
	    cmocka_unit_test(shifted), cmocka_unit_test(greater),
	    cmocka_unit_test(in_order), cmocka_unit_test(eight),
	    cmocka_unit_test(kept_results), cmocka_unit_test(kept_whole),
	    cmocka_unit_test(compared), cmocka_unit_test(blended),
	    cmocka_unit_test(absolute), cmocka_unit_test(opposite),
	    cmocka_unit_test(grouped), cmocka_unit_test(zeroed)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
