/* The operations that no schedule saves, and what they are measured by: of each
 * family that does with less than is written a program by hand. */
#include "codegen/codegen.h"
#include "ir/intrinsic.h"
#include "test/common_program.h"
#include "tuner/measure/measure_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static Program *program(
    Arena *arena, const char *inputs, const char *compute, Numerics numerics)
{
	return program_of_text(arena,
	    arena_printf(arena,
		"tunec: 1\nname: op\ninputs: {%s}\ncompute: |\n  %s\n", inputs,
		compute),
	    numerics);
}

static const Machine *machine(Arena *arena, const char *text)
{
	Error error;
	Target *target = target_parse(arena, text, &error);
	if (!target)
		fail_msg("%s", error.text);
	return &target->machine;
}

static void counts(const char *inputs, const char *compute, double elements,
    double products, Numerics numerics)
{
	Arena *arena = arena_new();
	const Machine *m = machine(arena, "llvm -mcpu=znver4 -threads=2");
	const Program *p = program(arena, inputs, compute, numerics);
	double got = plausible_operations(arena, p, m);
	if (got != elements + products)
		fail_msg("%s: %g, not %g + %g", compute, got, elements, products);
	arena_free(arena);
}

static void test_operations(void **state)
{
	const Numerics n = NUMERICS_DEFAULT;
	(void)state;
	counts("a: 'f32[8, 64]', b: 'f32[64, 16]'",
	    "c[i < 8, j < 16] = sum[k < 64](a[i, k]*b[k, j])", 128, 16384, n);
	counts("a: 'u8[8, 64]', b: 'i8[64, 16]'",
	    "c[i < 8, j < 16] = sum[k < 64](a[i, k]*b[k, j])", 128, 16384, n);
	counts("x: 'f32[4, 10, 10]', w: 'f32[8, 4, 3, 3]'",
	    "y[o < 8, i < 8, j < 8] = "
	    "sum[c < 4, r < 3, s < 3](x[c, i + r, j + s]*w[o, c, r, s])",
	    512, 36864, n);
	/* what adds a bias needs all that it adds it to */
	counts("a: 'f32[8, 64]', b: 'f32[64, 16]', d: 'f32[16]'",
	    "e[i < 8, j < 16] = "
	    "max(sum[k < 64](a[i, k]*b[k, j]) + d[j], 0)", 128, 16384, n);
	counts("x: 'f32[8, 8]'", "y[i < 8, j < 8] = exp(x[i, j])", 64, 0, n);
	counts("x: 'u8[8, 8]'", "y[i < 8, j < 8] = x[j, i]", 16, 0, n);
	/* Winograd */
	counts("x: 'f32[4, 10, 10]', w: 'f32[8, 4, 3, 3]'",
	    "y[o < 8, i < 8, j < 8] = "
	    "sum[c < 4, r < 3, s < 3](x[c, i + r, j + s]*w[o, c, r, s])",
	    512, 36864 / 8.0, NUMERICS_FAST);
}

static void test_what_schedules_save(void **state)
{
	const Numerics n = NUMERICS_DEFAULT;
	(void)state;
	/* windows, of one read or of two */
	counts("x: 'f32[40]'", "y[i < 8] = sum[r < 32](x[i + r])", 8, 0, n);
	counts("x: 'f32[40]', z: 'f32[40]'",
	    "y[i < 8] = sum[r < 32](x[i + r]*z[i + r])", 8, 8 * 2, n);
	counts("x: 'u8[40, 40]'",
	    "y[i < 8, j < 8] = max[r < 32, s < 32](x[i + r, j + s])", 16, 0, n);
	/* a factor before the sum; what is the same along an axis */
	counts("x: 'f32[8, 64]', z: 'f32[16]'",
	    "y[i < 8, j < 16] = sum[k < 64](x[i, k]*z[j])", 128, 256, n);
	counts("x: 'f32[8, 64]', z: 'f32[64]'",
	    "y[i < 8, j < 16] = sum[k < 64](x[i, k]*z[k])", 128, 1024, n);
	/* zeros */
	counts("a: 'f32[64, 64]', b: 'f32[64, 16]'",
	    "c[i < 64, j < 16] = "
	    "sum[k < i + 1](a[i, k]*b[k, j])", 1024, 0, n);
	/* of which a diagonal is shown, which is summed up */
	counts("a: 'f32[8, 64]', b: 'f32[64, 8]'",
	    "c[i < 8, j < 8] = sum[k < 64](a[i, k]*b[k, j])\n"
	    "  d[i < 8] = c[i, i] + 1", 8, 0, n);
	counts("a: 'f32[8, 64]', b: 'f32[64, 8]', z: 'f32[8]'",
	    "c[i < 8, j < 8] = sum[k < 64](a[i, k]*b[k, j])\n"
	    "  d[i < 8] = sum[j < 8](c[i, j]*z[j])", 8, 128, n);
}

static void measured_by(const char *target, const char *a, const char *b,
    Numerics numerics, const char *want)
{
	Arena *arena = arena_new();
	const Program *p = program(arena,
	    arena_printf(arena, "a: '%s[8, 64]', b: '%s[64, 16]'", a, b),
	    "c[i < 8, j < 16] = sum[k < 64](a[i, k]*b[k, j])", numerics);
	int kind = peak_of_program(p, machine(arena, target));
	const char *got = kind >= PEAK_DOT
	    ? intrinsic_at(kind - PEAK_DOT)->name
	    : kind == PEAK_F64 ? "f64" : "f32";
	if (strcmp(got, want))
		fail_msg("%s by %s on %s: %s, not %s", a, b, target, got, want);
	arena_free(arena);
}

/* Of what the peak is, and which operations count, on Zen 4. */
static void peak_of(const char *inputs, const char *compute, const char *want,
    double operations)
{
	Arena *arena = arena_new();
	const Program *p =
	    program(arena, inputs, compute, NUMERICS_DEFAULT);
	const Machine *m = machine(arena, "llvm -mcpu=znver4");
	int kind = peak_of_program(p, m);
	const char *got = kind >= PEAK_DOT ? intrinsic_at(kind - PEAK_DOT)->name
					   : "f32";
	if (strcmp(got, want))
		fail_msg("%s: %s, not %s", compute, got, want);
	if (peak_operations(p, m) != operations)
		fail_msg("%s: %g operations, not %g", compute,
		    peak_operations(p, m), operations);
	arena_free(arena);
}

/* What zero points and padding add to the file's operations is no speed. */
static void test_counted(void **state)
{
	const char *bytes = "x: 'u8[8, 64]', w: 'const i8[64, 16]', "
			    "zx: 'u8[]', zw: 'i8[16]'";
	const double products = 2.0 * 8 * 16 * 64;
	(void)state;
	peak_of(bytes, "c[i < 8, j < 16] = sum[k < 64](x[i, k]*w[k, j])",
	    "dot4_u8i8", products);
	peak_of(bytes, "c[i < 8, j < 16] = sum[k < 64]((i32(x[i, k]) - "
		      "i32(zx[]))*(w[k, j] - zw[j]))",
	    "dot4_u8i8", products);
	peak_of(bytes, "c[i < 8, j < 16] = sum[k < 64]((x[i, k] - 128)*w[k, j])",
	    "dot4_u8i8", products);
	peak_of(bytes,
	    "p[i < 8, k < 66] = if 1 <= k < 65 then x[i, k - 1] - zx[] else 0\n"
	    "  c[i < 8, j < 16] = sum[k < 64](p[i, k + 1]*w[k, j])",
	    "dot4_u8i8", products);
	peak_of(bytes,
	    "c[i < 8, j < 16] = sum[k < 64](if k > 3 then x[i, k]*w[k, j] "
	    "else 0)",
	    "dot4_u8i8", products);
	peak_of("x: 'f32[8, 64]', w: 'f32[64, 16]'",
	    "c[i < 8, j < 16] = sum[k < 64](x[i, k]*w[k, j])", "f32", products);
}

static void test_kinds(void **state)
{
	const Numerics n = NUMERICS_DEFAULT;
	const char *zen4 = "llvm -mcpu=znver4", *haswell = "llvm -mcpu=haswell";
	(void)state;
	measured_by(zen4, "f32", "f32", n, "f32");
	measured_by(zen4, "f16", "f16", n, "f32");
	measured_by(zen4, "f64", "f64", n, "f64");
	measured_by(zen4, "i32", "i32", n, "f32");
	measured_by(zen4, "u8", "i8", n, "dot4_u8i8");
	measured_by(zen4, "i8", "u8", n, "dot4_u8i8");
	measured_by(zen4, "i8", "i8", n, "dot4_u8i8");
	measured_by(zen4, "i16", "i16", n, "dot2_i16");
	measured_by(zen4, "i8", "i16", n, "dot2_i16");
	measured_by(zen4, "bf16", "bf16", n, "f32");
	measured_by(zen4, "bf16", "bf16", NUMERICS_FAST, "dot2_bf16");
	measured_by(haswell, "u8", "i8", n, "dot2_i16");
	measured_by(haswell, "bf16", "bf16", NUMERICS_FAST, "f32");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_operations),
	    cmocka_unit_test(test_what_schedules_save),
	    cmocka_unit_test(test_counted),
	    cmocka_unit_test(test_kinds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
