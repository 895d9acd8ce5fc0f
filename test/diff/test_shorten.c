/* Integers that `shorten` takes to 16 bits keep their values: random expressions
 * of integers, of any values and of those at the ends of their types, in the
 * interpreter of the lowered form; and expressions at the ends of what fits. */
#include "test/common_lower.h"
#include "test/common_program.h"
#include "test/common_schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { ROUNDS = 2000, DEPTH = 4, ACCEPTED_LEAST = 200 };

/* Every second element an end of the type or beside it. */
static void any_integers(const Program *p, void **data, Rng *rng)
{
	for (int k = 0; k < p->ninputs; k++) {
		const Buffer *b = &p->buffers[k];
		int bytes = dtype_bytes(b->type);
		Interval range = dtype_interval(b->type);
		int64_t least = (int64_t)range.lo, most = (int64_t)range.hi;
		for (int64_t i = 0; i < b->shape[0]; i++) {
			int64_t v = (int64_t)rng_next(rng);
			if (rng_below(rng, 2))
				v = rng_below(rng, 2)
				    ? least + (int64_t)rng_below(rng, 2)
				    : most - (int64_t)rng_below(rng, 2);
			memcpy((char *)data[k] + i * bytes, &v,
			    (size_t)bytes);
		}
	}
}

/* Whether the steps apply; the results are the same then. */
static bool same(Arena *arena, Rng *rng, const char *compute, const char *steps)
{
	Error error = {0};
	const char *text = arena_printf(arena,
	    "tunec: 1\nname: short_ones\n"
	    "inputs: {x: 'u8[300]', s: 'i8[300]', h: 'i16[300]', q: 'i32[300]',"
	    "  w: 'u16[300]', v: 'u32[300]'}\n"
	    "compute: |\n%s",
	    compute);
	Program *p = program_of_text(arena, text, NUMERICS_DEFAULT);
	Target *t = target_parse(
	    arena, "llvm -mcpu=x86-64-v3 -threads=1", &error);
	Nest *nest = schedule_nest(
	    arena, p, &t->machine, schedule_steps(arena, steps), &error);
	if (!nest)
		return false;
	void **data = lowercheck_data(arena, p, rng);
	any_integers(p, data, rng);
	lowercheck_expect(p, data);
	Lowered *l = lower(arena, nest, &t->machine, &error);
	if (!l)
		fail_msg("%s\n%s\n%s", error.text, text, steps);
	const char *why = lowercheck_run(arena, l, data, 0, NULL, NULL);
	if (why)
		fail_msg("%s\n%s\n%s", why, text, steps);
	return true;
}

static const char *pick(Rng *rng, const char *const *from, int n)
{
	return from[rng_below(rng, (uint64_t)n)];
}

/* Of i32, or of u32, what they have of each other in between. */
static const char *expression(
    Arena *arena, Rng *rng, int depth, bool is_unsigned)
{
	static const char *const leaves[] = {"i32(x[i])", "i32(s[i])",
	    "i32(x[299 - i])", "i32(h[i])", "i32(i)", "i32(0)", "i32(1)",
	    "i32(-1)", "i32(3)", "i32(100)", "i32(255)", "i32(-128)",
	    "i32(32767)", "i32(-32768)"};
	static const char *const unsigned_leaves[] = {"u32(x[i])", "u32(w[i])",
	    "u32(x[299 - i])", "u32(i)", "u32(0)", "u32(1)", "u32(3)",
	    "u32(100)", "u32(255)", "u32(32768)", "u32(65535)"};
	static const char *const twos[] = {"(%s + %s)", "(%s - %s)", "(%s*%s)",
	    "min(%s, %s)", "max(%s, %s)", "bit_and(%s, %s)", "bit_or(%s, %s)",
	    "bit_xor(%s, %s)", "(if x[i] < 99 then %s else %s)",
	    "(if i < 77 then %s else %s)"};
	static const char *const ones[] = {"(%s//4)", "(%s//256)", "(%s %% 8)",
	    "(%s//7)", "(%s//255)", "(%s %% 100)", "shift_right(%s, 3)",
	    "shift_left(%s, 2)", "abs(%s)", "(-%s)",
	    "shift_right(%s, i32(i %% 16))", "shift_left(%s, i32(i %% 5))",
	    "clamp(%s, -300, 400)", "i32(u8(%s))", "i32(i8(%s))",
	    "i32(i16(%s))"};
	static const char *const unsigned_ones[] = {"(%s//4)", "(%s//256)",
	    "(%s %% 8)", "(%s//7)", "(%s//255)", "(%s %% 100)",
	    "shift_right(%s, 3)", "shift_left(%s, 2)", "clamp(%s, 3, 400)",
	    "u32(u8(%s))", "u32(u16(%s))", "u32(i16(%s))"};
	if (!depth || !rng_below(rng, 8))
		return is_unsigned
		    ? pick(rng, unsigned_leaves,
			  sizeof unsigned_leaves / sizeof *unsigned_leaves)
		    : pick(rng, leaves, sizeof leaves / sizeof *leaves);
	if (!rng_below(rng, 6))
		return arena_printf(arena, is_unsigned ? "u32(%s)" : "i32(%s)",
		    expression(arena, rng, depth - 1, !is_unsigned));
	const char *a = expression(arena, rng, depth - 1, is_unsigned);
	if (rng_below(rng, 5) < 2)
		return arena_printf(arena,
		    is_unsigned
			? pick(rng, unsigned_ones,
			      sizeof unsigned_ones / sizeof *unsigned_ones)
			: pick(rng, ones, sizeof ones / sizeof *ones),
		    a);
	return arena_printf(arena, pick(rng, twos, sizeof twos / sizeof *twos),
	    a, expression(arena, rng, depth - 1, is_unsigned));
}

static void test_random(void **state)
{
	static const char *const types[] = {"u8", "i8", "i16"};
	int accepted = 0;
	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		Arena *arena = arena_new();
		Rng rng = rng_stream(2026, 11, (uint64_t)i);
		const char *type = types[i % 3];
		bool is_unsigned = i / 2 % 2;
		accepted += same(arena, &rng,
		    arena_printf(arena,
			is_unsigned
			    ? "  t[i < 300] = %s + 0*u32(x[i])\n"
			      "  y[i < 300] = %s(min(t[i], 600) + 2*u32(x[i]))\n"
			    : "  t[i < 300] = %s + 0*i32(x[i])\n"
			      "  y[i < 300] = %s(clamp(t[i], -300, 300) + 2*i32(s[i]))\n",
			expression(arena, &rng, DEPTH, is_unsigned), type),
		    i % 2 ? "shorten(t)\nshorten(y)\n"
			    "y_o, y_v = split(y.i, [_, 16])\nvectorize(y_v, 16)"
			  : "shorten(t)\ncompute_inline(t)");
		arena_free(arena);
	}
	printf("%d of %d fit\n", accepted, ROUNDS);
	assert_true(accepted >= ACCEPTED_LEAST);
}

/* At the ends: the first fits, the second does not. */
static void test_ends(void **state)
{
	static const char *const ends[][2] = {
	    {"i32(x[i])*128 + 127", "i32(x[i])*128 + 128"},
	    {"(i32(x[i])*257)//256", "(i32(x[i])*258)//256"},
	    {"(i32(x[i])*i32(x[i]) + 255)//4",
		"(i32(x[i])*i32(x[i]) + 511)//4"},
	    {"(i32(x[i])*i32(x[i]) + 510)//255",
		"(i32(x[i])*i32(x[i]) + 511)//255"},
	    {"shift_right(i32(x[i])*257, 1)", "shift_right(i32(x[i])*258, 1)"},
	    {"shift_left(i32(x[i]), 7)", "shift_left(i32(x[i]), 8)"},
	    {"shift_right(i32(s[i]), i32(i % 16))",
		"shift_right(i32(s[i]), i32(i % 17))"},
	    {"bit_and(i32(h[i])*3, 255)", "bit_and(q[i], 255)"},
	    {"bit_or(i32(x[i])*128, i32(x[i]))",
		"bit_xor(i32(x[i])*256, i32(x[i]))"},
	    {"i32(s[i])*256", "i32(s[i])*256 - 1"},
	    {"i32(x[i])*i32(s[i])", "i32(x[i])*i32(x[i])"},
	    {"i32(h[i])//2*2", "abs(i32(h[i]))"},
	    {"(i32(x[i])*128 + 127)//2", "(i32(s[i])*2)//3"},
	    {"(i32(x[i])*257)//3", "(i32(x[i])*258)//3"},
	    {"(i32(x[i])*257) % 9", "(i32(x[i]) - 1) % 9"},
	    {"shift_left(i32(x[i]), 7)", "shift_left(i32(x[i]), 8)"},
	    {"bit_or(shift_left(i32(x[i]), i32(i % 8)), i32(s[i]))",
		"bit_or(shift_left(i32(x[i]), i32(i % 9)), i32(s[i]))"},
	    {"shift_right(i32(h[i]), 15)", "shift_right(i32(h[i]), 16)"},
	    {"bit_xor(i32(h[i]), i32(s[i]))", "bit_xor(i32(h[i]), q[i])"},
	    {"bit_and(i32(x[i])*i32(x[i]), 4095)", "bit_and(q[i], 4095)"},
	    {"shift_right(bit_and(i32(h[i])*3, 255), 3)",
		"shift_right(bit_and(i32(h[i])*3, 131071), 3)"},
	    {"i32(h[i])*i32(h[i]) % 128 + i32(h[i])//2", "q[i] % 128"},
	    {"i32(h[i]) - 0", "i32(h[i]) - 1"}, {"i32(i)*109", "i32(i)*110"},
	    {"max(i32(i % 100), i32(s[i]))*2", "i32(i)*i32(x[i])"},
	    {"u32(x[i])*257", "u32(x[i])*258"},
	    {"u32(x[i])*77 + u32(x[i])*150 + u32(x[i])*29",
		"u32(x[i])*77 + u32(x[i])*151 + u32(x[i])*30"},
	    {"(u32(x[i])*257)//256", "(u32(x[i])*258)//256"},
	    {"u32(w[i])//3", "(u32(w[i]) + 1)//3"},
	    {"u32(w[i])", "u32(w[i]) - 1"}, {"u32(x[i]) % 9", "v[i] % 9"},
	    {"max(u32(w[i]), 3)", "max(u32(s[i]), 3)"},
	    {"i32(u32(w[i])//2)", "i32(u32(w[i]))"},
	    {"u32(i32(x[i])*128)", "u32(i32(s[i]))"}};
	(void)state;
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		for (int k = 0; k < 2; k++) {
			Arena *arena = arena_new();
			const char *y = "  t[i < 300] = %s\n"
					"  y[i < 300] = u8(t[i]//256)\n";
			Rng rng = rng_stream(2026, 12, i);
			if (same(arena, &rng, arena_printf(arena, y, ends[i][k]),
				"shorten(t)\nshorten(y)") == (bool)k)
				fail_msg("%s %s", ends[i][k],
				    k ? "does not fit" : "fits");
			arena_free(arena);
		}
}

/* Sums count with all of their steps; the greatest element with none. */
static void test_reductions(void **state)
{
	(void)state;
	Arena *arena = arena_new();
	Rng rng = rng_stream(2026, 13, 0);
	const char *y = "  t[i < 100] = %s\n  y[i < 100] = i16(t[i] + 0)\n";
	const char *steps = "shorten(t)\nshorten(y)";
	assert_true(same(arena, &rng, arena_printf(arena, y,
	    "sum[k < 128](x[i + k])"), steps));
	assert_false(same(arena, &rng, arena_printf(arena, y,
	    "sum[k < 129](x[i + k])"), steps));
	assert_true(same(arena, &rng, arena_printf(arena, y,
	    "max[k < 200](i32(x[i + k])*i32(s[k]))"), steps));
	assert_false(same(arena, &rng, arena_printf(arena, y,
	    "prod[k < 2](i32(x[i + k]))"), steps));
	arena_free(arena);
}

/* What `separate` makes is before the block that reads it. */
static void test_separated(void **state)
{
	(void)state;
	Arena *arena = arena_new();
	Rng rng = rng_stream(2026, 14, 0);
	assert_true(same(arena, &rng,
	    "  t[i < 90] = sum[r < 2, k < 3](i32(x[i + 100*r + k]))\n"
	    "  y[i < 90] = u8(t[i]//6)\n",
	    "t_c = separate(t.k)\nunfold(t)\nshorten(t_c)\nshorten(t)\n"
	    "shorten(y)"));
	arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_random),
	    cmocka_unit_test(test_ends),
	    cmocka_unit_test(test_reductions),
	    cmocka_unit_test(test_separated),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
