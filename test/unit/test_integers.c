/* Integers of every dtype: what becomes of promotion, casts, quotients, orders
 * and bits, against values that are written out; and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/codegen.h"
#include "ir/program.h"
#include "ir/scalar.h"
#include "test/common_lower.h"
#include "test/common_program.h"
#include "test/common_schedule.h"

/* `text` over x of a dtype and an axis i of one value: what it gives. */
typedef struct {
	const char *dtype;
	int64_t x;
	const char *text, *gives;
	int64_t value;
} Row;

enum { TOP = INT32_MIN };

static const Row rows[] = {
    /* promotion and wrapping */
    {"u16", 65535, "x[i] + 1", "i32", 65536},
    {"u16", 65535, "x[i]*x[i]", "i32", -131071},
    {"u16", 3, "-x[i]", "i32", -3},
    {"u32", 4294967295, "x[i] + 1", "u32", 0},
    {"u32", 0, "x[i] - 1", "u32", 4294967295},
    {"u32", 1, "-x[i]", "u32", 4294967295},
    {"u32", 4294967295, "abs(x[i])", "u32", 4294967295},
    {"u32", 65536, "x[i]*x[i]", "u32", 0},
    {"u64", -1, "x[i] + 1", "u64", 0},
    {"u64", -1, "abs(x[i])", "u64", -1},
    {"u64", -1, "sum[k < 3](x[i])", "u64", -3},
    {"u16", 65535, "sum[k < 3](x[i])", "i32", 196605},
    {"u32", 3, "prod[k < 21](x[i])", "u32", 1870418611},
    /* quotients, orders */
    {"u32", 4294967295, "x[i]//2", "u32", 2147483647},
    {"u32", 4294967295, "x[i] % 10", "u32", 5},
    {"u64", -1, "t[min(x[i], 6)]", "i32", 6},
    {"u64", -1, "t[x[i] % 7]", "i32", 1},
    {"u64", -1, "x[i]//3", "u64", 6148914691236517205},
    {"u64", -1, "x[i] % 10", "u64", 5},
    {"u64", INT64_MIN, "x[i] % 7", "u64", 1},
    {"u64", -1, "if x[i] > 5 then 1 else 2", "i32", 1},
    {"u32", 4294967295, "if x[i] >= 2147483648 then 1 else 2", "i32", 1},
    {"u64", -1, "min(x[i], 5)", "u64", 5},
    {"u64", -1, "max(x[i], 5)", "u64", -1},
    {"u64", -1, "clamp(x[i], 3, 9)", "u64", 9},
    {"u16", 65535, "max(x[i], 5)", "u16", 65535},
    {"u64", -1, "min[k < 1](x[i])", "u64", -1},
    {"u64", 0, "max[k < 1](x[i])", "u64", 0},
    {"u32", 7, "min[k < i](x[i])", "u32", 4294967295},
    {"u64", 7, "min[k < i](x[i])", "u64", -1},
    {"u64", 7, "max[k < i](x[i])", "u64", 0},
    {"u64", -1, "argmax[k < 3](if k == 1 then x[i] else 7)", "i32", 1},
    {"u64", -1, "argmin[k < 3](if k == 1 then 6 else x[i])", "i32", 1},
    /* casts */
    {"u32", 4294967295, "i32(x[i])", "i32", -1},
    {"u32", 4294967295, "i64(x[i])", "i64", 4294967295},
    {"i32", -1, "u32(x[i])", "u32", 4294967295},
    {"i32", -1, "u64(x[i])", "u64", -1},
    {"i32", -1, "u16(x[i])", "u16", 65535},
    {"u64", -1, "u16(x[i])", "u16", 65535},
    {"u64", INT64_MIN, "bool(x[i])", "bool", 1},
    {"i32", 0, "u64(-1)", "u64", -1},
    {"i32", 0, "u32(-1) + 0", "u32", 4294967295},
    {"i32", 0, "u16(70000)", "u16", 4464},
    {"f32", 0x7f800000, "u64(x[i])", "u64", -1},
    {"f32", 0x7f800000, "u32(x[i])", "u32", 4294967295},
    {"f32", 0x7fc00000, "u32(x[i])", "u32", 0},
    {"f32", 0xbf800000, "u32(x[i])", "u32", 0}, /* -1 */
    {"f32", 0x5f000000, "u64(x[i])", "u64", INT64_MIN}, /* 2^63 */
    {"f32", 0x477fff80, "u16(x[i])", "u16", 65535}, /* 65535.5 */
    {"u32", 4294967295, "f32(x[i])", "f32", 0x4f800000},
    {"u64", -1, "f32(x[i])", "f32", 0x5f800000},
    {"u64", -1, "f64(x[i])", "f64", 0x43f0000000000000},
    {"u64", INT64_MIN + 1, "f64(x[i])", "f64", 0x43e0000000000000},
    {"u64", INT64_MIN + 0x80000000000001, "bf16(x[i])", "bf16", 0x5f01},
    {"u32", 4294967295, "bf16(x[i])", "bf16", 0x4f80},
    {"u16", 65535, "f16(x[i])", "f16", 0x7c00},
    /* bits */
    {"i32", -6, "bit_and(x[i], 15)", "i32", 10},
    {"i32", -6, "bit_or(x[i], 1)", "i32", -5},
    {"i32", -6, "bit_xor(x[i], -1)", "i32", 5},
    {"u8", 255, "bit_xor(x[i], -1)", "i32", -256},
    {"u32", 6, "bit_and(x[i], 3)", "u32", 2},
    {"i32", 1, "shift_left(x[i], 31)", "i32", TOP},
    {"i32", 1, "shift_left(x[i], 33)", "i32", 2},
    {"i32", 1, "shift_left(x[i], -1)", "i32", TOP},
    {"u8", 255, "shift_left(x[i], 4)", "i32", 4080},
    {"i32", -8, "shift_right(x[i], 1)", "i32", -4},
    {"i32", -8, "shift_right(x[i], 33)", "i32", -4},
    {"u32", 4294967288, "shift_right(x[i], 1)", "u32", 2147483644},
    {"u64", -8, "shift_right(x[i], 60)", "u64", 15},
    {"i64", -8, "shift_right(x[i], 60)", "i64", -1},
    {"i64", 1, "shift_left(x[i], 63)", "i64", INT64_MIN},
    {"u32", 1, "shift_left(x[i], x[i])", "u32", 2},
    {"i32", -1, "popcount(x[i])", "i32", 32},
    {"i8", -1, "popcount(x[i])", "i32", 32},
    {"u8", 255, "popcount(x[i])", "i32", 8},
    {"u64", -1, "popcount(x[i])", "u64", 64},
    /* untyped ones are exact, of 64 bits */
    {"i32", 0, "bit_and(12, 10)", "i32", 8},
    {"i32", 0, "shift_right(-1, 70)", "i32", -1},
    {"i32", 0, "shift_left(3, 64)", "i32", 3},
    {"i32", 0, "i64(popcount(-1))", "i64", 64},
    {"i64", 1, "x[i] + shift_left(1, 40)", "i64", 1099511627777},
    {"i64", 1, "x[i] + shift_left(i + 1, 40)", "i64", 1099511627777},
    {"u8", 1, "x[i] + bit_or(i, 2)", "i32", 3},
    {"f32", 0, "u16(bit_xor(i, 5) + 2)", "u16", 7},
    {"i32", 0, "if bit_and(i, 1) == 0 then 4 else 5", "i32", 4},
    {"i32", 0, "sum[k < 4](bit_xor(k, 1)*k)", "i32", 12},
    {"i32", 0, "min(popcount(i + 7), 2)", "i32", 2},
};

static int64_t stored(DType type, const void *data)
{
	int64_t bits = 0;
	if (!dtype_is_float(type))
		return scalar_load(type, data, 0).i;
	memcpy(&bits, data, (size_t)dtype_bytes(type));
	return bits;
}

/* The lowered form gives the same. */
static void run_lowered(Arena *arena, const Program *p, void **data)
{
	Error error;
	Target *target = target_parse(arena, "c", &error);
	Nest *nest = schedule_nest(arena, p, &target->machine,
	    schedule_steps(arena, ""), &error);
	Lowered *l = lower(arena, nest, &target->machine, &error);
	assert_non_null(l);
	const char *why = lowercheck_run(arena, l, data, 0, NULL, NULL);
	if (why)
		fail_msg("%s", why);
}

static void values(void **state)
{
	(void)state;
	for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
		const Row *row = &rows[r];
		Arena *arena = arena_new();
		const char *text = arena_printf(arena,
		    "tunec: 1\nname: op\ninputs: {x: '%s[1]'}\ncompute: |\n"
		    "  t[k < 7] = k\n  y[i < 1] = %s\n",
		    row->dtype, row->text);
		Program *p = program_of_text(arena, text, NUMERICS_DEFAULT);
		void **data = NEW_N(arena, void *, p->nbuffers);
		for (int i = 0; i < p->nbuffers; i++)
			data[i] = arena_alloc(arena, 8 + (size_t)buffer_bytes(&p->buffers[i]));
		memcpy(data[0], &row->x,
		    (size_t)dtype_bytes(p->buffers[0].type));
		interp_run(p, data);
		const Buffer *out = &p->buffers[p->outputs[0]];
		assert_string_equal(dtype_name(out->type), row->gives);
		int64_t got = stored(out->type, data[p->outputs[0]]);
		if (got != row->value)
			fail_msg("%s of %s: %lld, not %lld", row->text,
			    row->dtype, (long long)got, (long long)row->value);
		run_lowered(arena, p, data);
		arena_free(arena);
	}
}

static void refuse(const char *inputs, const char *compute, const char *part)
{
	Arena *arena = arena_new();
	Diag diag = {0};
	Source *source = NEW(arena, Source);
	source->name = "t";
	source->text = arena_printf(arena,
	    "tunec: 1\nname: op\nparams: {N: 8}\ninputs: {%s}\n"
	    "compute: |\n  %s\n",
	    inputs, compute);
	source->size = strlen(source->text);
	Spec *spec = spec_parse(arena, source, &diag);
	Program *p = spec ? spec_program(arena, spec, "", NULL, 0,
				NUMERICS_DEFAULT, &diag)
			  : NULL;
	if (p)
		fail_msg("accepted: %s", compute);
	if (!strstr(buf_text(&diag.text), part))
		fail_msg("%s\nshould say: %s\n%s", compute, part,
		    buf_text(&diag.text));
	diag_free(&diag);
	arena_free(arena);
}

static void refused(void **state)
{
	(void)state;
	refuse("x: 'u32[N]', y: 'i32[N]'", "z[i < N] = x[i] + y[i]",
	    "operands of u32 and i32");
	refuse("x: 'u32[N]', y: 'u64[N]'", "z[i < N] = x[i] + y[i]",
	    "operands of u32 and u64");
	refuse("x: 'u16[N]', y: 'u8[N]'", "z[i < N] = max(x[i], y[i])",
	    "operands of u16 and u8");
	refuse("x: 'u32[N]'", "z[i < N] = x[i] - -1", "'-1' does not fit");
	refuse("x: 'u16[N]'", "z[i < N] = max(x[i], 65536)",
	    "'65536' does not fit");
	refuse("x: 'u32[N]'", "z[i < N] = x[i] + 0.5", "is a float");
	refuse("x: 'f32[N]'", "z[i < N] = bit_and(x[i], 1)",
	    "'bit_and' needs integers, this is f32");
	refuse("x: 'i32[N]'", "z[i < N] = shift_left(x[i], 0.5)",
	    "'shift_left' needs integers, this is an untyped float");
	refuse("x: 'bool[N]'", "z[i < N] = bit_or(x[i], x[i])",
	    "is arithmetic on bool");
	refuse("x: 'i32[N]', y: 'u32[N]'", "z[i < N] = shift_right(x[i], y[i])",
	    "operands of i32 and u32");
	refuse("x: 'i32[N]'", "z[i < N] = x[bit_and(i, 3)]",
	    "is not made of axes, params and integer data alone");
	refuse("x: 'i32[N]'", "z[i < N] = x[i] + popcount(1.5)",
	    "'popcount(1.5)' needs integers");
	refuse("x: 'i64[N]'", "z[i < N] = x[i] + shift_left(1, 63)",
	    "is past 64 bits");
	refuse("x: 'i64[N]'", "z[i < N] = x[i] + shift_left(i + 1, 61)",
	    "may pass 64 bits");
	refuse("x: 'i32[N]'", "z[i < N + u64(-1)] = x[0]", "is past 64 bits");
	refuse("x: 'i32[N, N]'",
	    "z[i < N] = sum[j < (if bit_and(i, 1) == 0 then 2 else 3)](x[i, j])",
	    "has a dtype");
	refuse("x: 'i32[N, N]'",
	    "z[i < N] = sum[j < (if i32(i) == 0 then 2 else 3)](x[i, j])",
	    "has a dtype");
	/* a u64 that is read has its own range */
	refuse("x: 'i32[N]', k: 'u64[N]'", "z[i < N] = x[k[i]]",
	    "past its extent 8");
	refuse("x: 'i32[N]', k: 'u64[N]'", "z[i < N] = x[min(k[i] + 1, 7)]",
	    "may pass 64 bits");
	refuse("x: 'i32[N]', k: 'u64[N]'", "z[i < N] = x[max(k[i], 1)%N]",
	    "may pass 64 bits");
	refuse("x: 'i32[N]', k: 'u64[N]'",
	    "z[i < N] = x[if k[i] == k[0] then 0 else 1]", "may pass 64 bits");
	refuse("x: 'i32[N]', k: 'u32[N]'", "z[i < N] = x[k[i]]",
	    "reaches 4294967295");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(values),
	    cmocka_unit_test(refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
