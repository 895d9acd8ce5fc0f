/* What the analytic model says of lines that come from the last cache. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "schedule/plan/plan.h"
#include "test/common_program.h"
#include "test/common_schedule.h"

/* Bytes from the last cache for a row times a matrix of 512 rows and `columns`,
 * `tile` columns at once. */
static double brought(int columns, int tile)
{
	Arena *arena = arena_new();
	Error error = {0};
	Machine m = test_machine;
	m.line_bytes = m.vector_bytes = 64;
	m.l2_bytes = 1 << 20;
	m.l3_bytes = 1 << 26;
	Program *p = program_matmul(arena, 1, columns, 512);
	Nest *nest = schedule_nest(arena, p, &m,
	    schedule_steps(arena, arena_printf(arena,
		"j0, j1, j2 = split(c.j, [_, %d, 16])\n"
		"reorder(j0, c.k, j1, j2)\nunroll(j1)\nvectorize(j2, 16)\n",
		tile / 16)), &error);
	if (!nest)
		fail_msg("%s", error.text);
	Plan *plan = plan_record(arena, nest);
	int64_t *values = NEW_N(arena, int64_t, tape_size(nest->tape));
	tape_eval(nest->tape, NULL, values);
	StageCost cost;
	stage_cost(&plan->stages[plan->anchor], &m, values, &cost);
	arena_free(arena);
	return cost.traffic[1];
}

/* One line of each of 512 rows takes twice the time of two; where rows begin
 * anywhere it is two, too. */
static void lone_lines(void **state)
{
	(void)state;
	double pairs = brought(1024, 32), lone = brought(1024, 16);
	assert_true(pairs > 512 * 1024 * 4);
	assert_true(lone > 1.9 * pairs && lone < 2.1 * pairs);
	assert_true(brought(1040, 16) > 1.9 * brought(1040, 32));
	assert_true(brought(1036, 16) < 1.1 * brought(1036, 32));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(lone_lines),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
