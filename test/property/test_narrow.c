/* Products of padded bytes with zero points: `narrow`, padding as it is, and
 * `distribute` compute what the plain nest does. */
#include "test/common_nest.h"
#include "test/common_program.h"
#include "test/common_schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static double *run(Arena *arena, const Program *program, const char *steps)
{
	char why[256] = "";
	Error error = {0};
	Nest *nest = schedule_nest(arena, program, &test_machine,
	    steps ? schedule_steps(arena, steps) : NULL, &error);
	if (!nest)
		fail_msg("%s: %s", steps ? steps : "plain", error.text);
	double *y = nest_simulate(nest, 1, why, sizeof why);
	if (!y)
		fail_msg("%s: %s", steps ? steps : "plain", why);
	return y;
}

static void check(Arena *arena, const char *text, const char *steps)
{
	const Program *p = program_of_text(arena, text, NUMERICS_DEFAULT);
	const Buffer *y = &p->buffers[p->outputs[0]];
	double *expected = run(arena, p, NULL), *got = run(arena, p, steps);
	int64_t n = 1;
	for (int d = 0; d < y->ndim; d++)
		n *= y->shape[d];
	for (int64_t i = 0; i < n; i++)
		if (expected[i] != got[i])
			fail_msg("element %lld is %g, not %g\n%s\n%s",
			    (long long)i, got[i], expected[i], text, steps);
}

/* What a reader makes of an element wraps around where it did. */
static void test_casts(void **state)
{
	static const char *const readers[] = {"i32(p[c, t + r])",
	    "i32(i16(i32(p[c, t + r])*20000))", "i32(i16(i32(p[c, t + r]) + 32767))",
	    "i32(i16(i32(p[c, t + r])))"};
	(void)state;
	for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
		Arena *arena = arena_new();
		check(arena, arena_printf(arena,
		    "tunec: 1\nname: casts\n"
		    "inputs: {x: 'u8[5, 9]', z: 'u8[]', w: 'i8[4, 5, 3]'}\n"
		    "compute: |\n"
		    "  p[c < 5, j < 11]: i16 = if 1 <= j < 10 then "
		    "i32(x[c, j - 1]) - z[] else 0\n"
		    "  y[o < 4, t < 9] = sum[c < 5, r < 3](%s*w[o, c, r])\n",
		    readers[i]), "narrow(p)");
		arena_free(arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_casts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
