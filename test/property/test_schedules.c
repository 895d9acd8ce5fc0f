/* Random schedules of random programs: the nest computes what the plain nest
 * does, every access inside of what its buffer holds; and the trace survives
 * text, JSON and other names. */
#include "test/common_nest.h"
#include "test/common_schedule.h"
#include "test/common_tier.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

enum { QUICK = 2400, LONG = 20000, MOST_STEPS = 16, LEAST_ACCEPTED = 15 };

static char *printed(Arena *arena, const Trace *trace)
{
	Buf out = {0};
	char *text;

	trace_print(&out, trace);
	text = arena_strdup(arena, buf_text(&out));
	buf_free(&out);
	return text;
}

/* NULL, or what is wrong. */
static const char *compare(Arena *arena, const Program *program,
    const Trace *trace, uint64_t seed)
{
	char why[256] = "";
	Error error;
	Nest *plain = schedule_nest(arena, program, &test_machine, NULL, &error);
	Nest *nest = schedule_nest(arena, program, &test_machine, trace, &error);
	int output = program->outputs[0];
	int64_t n = 1;
	double *expected, *got;

	if (!plain || !nest)
		return arena_strdup(arena, error.text);
	for (int d = 0; d < program->buffers[output].ndim; d++)
		n *= program->buffers[output].shape[d];
	expected = nest_simulate(plain, seed, why, sizeof why);
	if (!expected)
		return arena_printf(arena, "plain nest: %s", why);
	got = nest_simulate(nest, seed, why, sizeof why);
	if (!got)
		return arena_strdup(arena, why);
	for (int64_t i = 0; i < n; i++)
		if (expected[i] != got[i])
			return arena_printf(arena, "element %lld is %g, not %g",
			    (long long)i, got[i], expected[i]);
	return NULL;
}

static const char *survives(
    Arena *arena, const Program *program, const Trace *trace)
{
	const char *text = printed(arena, trace);
	json_t *json = trace_to_json(trace);
	Error error = {0};
	Trace *read = trace_from_json(arena, json, &error);
	Trace *canonical, *local;

	json_decref(json);
	if (!read || strcmp(text, printed(arena, read)))
		return "the trace is another after JSON";
	if (strcmp(text, printed(arena, schedule_steps(arena, text))))
		return "the trace is another after text";
	if (!program->canonical_definition)
		return NULL;
	canonical = trace_canonical(arena, program, trace);
	local = trace_localized(arena, program, canonical, &error);
	if (!local)
		return arena_strdup(arena, error.text);
	if (strcmp(printed(arena, canonical),
		printed(arena, trace_canonical(arena, program, local))))
		return "the trace is another after renaming";
	if (!schedule_nest(arena, program, &test_machine, local, &error))
		return arena_strdup(arena, error.text);
	return NULL;
}

static int compare_ints(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void test_random_schedules(void **state)
{
	int rounds = tier_is_long() ? LONG : QUICK;
	static int steps[LONG];
	Coverage coverage = {0};

	(void)state;
	/* a GPU's alone */
	coverage.excluded[PRIMITIVE_group] = true;
	coverage.excluded[PRIMITIVE_stages] = true;
	coverage.excluded[PRIMITIVE_swizzle] = true;
	for (int i = 0; i < rounds; i++) {
		Arena *arena = arena_new();
		Rng rng = rng_stream(2026, 11, (uint64_t)i);
		Program *program = schedule_random_program(arena, &rng);
		Trace *trace = schedule_random(arena, program, &test_machine, &rng,
		    MOST_STEPS, &coverage);
		const char *why = compare(arena, program, trace, 1);
		if (!why)
			why = survives(arena, program, trace);
		if (why)
			fail_msg("seed %d, %s: %s\n%s", i, program->name, why,
			    printed(arena, trace));
		steps[i] = trace->steps.n;
		arena_free(arena);
	}
	qsort(steps, (size_t)rounds, sizeof *steps, compare_ints);
	print_message("median %d steps\n", steps[rounds / 2]);
	for (int i = 0; i < PRIMITIVE_COUNT; i++) {
		print_message("%-24s %lld of %lld\n", primitive_name(i),
		    (long long)coverage.accepted[i],
		    (long long)coverage.tried[i]);
		assert_true(coverage.excluded[i] ||
		    coverage.accepted[i] >= LEAST_ACCEPTED);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_random_schedules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
