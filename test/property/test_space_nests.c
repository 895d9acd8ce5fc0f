/* Candidates that rules make: each is accepted with numbers and its nest computes
 * what the plain nest does. */
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

enum { QUICK = 40, LONG = 2000 };

static double *must_run(const Nest *nest)
{
	char why[256] = "";
	double *data = nest_simulate(nest, 1, why, sizeof why);

	if (!data)
		fail_msg("%s", why);
	return data;
}

static int64_t output_elements(const Program *p)
{
	const Buffer *b = &p->buffers[p->outputs[0]];
	int64_t n = 1;

	for (int d = 0; d < b->ndim; d++)
		n *= b->shape[d];
	return n;
}

static void check_candidate(const Program *program, Space *space,
    const Candidate *candidate, const double *expected)
{
	Arena *arena = arena_new();
	Trace *trace = space_trace(arena, space, candidate);
	Error error;
	Nest *nest = schedule_nest(arena, program, &test_machine, trace, &error);
	Buf text = {0};
	double *got;

	trace_print(&text, trace);
	if (!nest)
		fail_msg("%s\n%s", error.text, buf_text(&text));
	got = must_run(nest);
	for (int64_t i = 0; i < output_elements(program); i++)
		if (got[i] != expected[i])
			fail_msg("element %lld differs\n%s", (long long)i,
			    buf_text(&text));
	buf_free(&text);
	arena_free(arena);
}

static void check_space(Program *program, uint64_t seed)
{
	int rounds = tier_is_long() ? LONG : QUICK;
	Arena *arena = arena_new();
	Rng rng = rng_stream(seed, 8, 1);
	Error error;
	Space *space = space_new(arena, program, &test_machine, &error);
	Nest *plain = schedule_nest(arena, program, &test_machine, NULL, &error);
	double *expected;

	if (!space || !plain)
		fail_msg("%s", error.text);
	expected = must_run(plain);
	for (int i = 0; i < rounds; i++) {
		Candidate candidate;
		assert_true(space_sample(space, &rng, &candidate));
		check_candidate(program, space, &candidate, expected);
	}
	arena_free(arena);
}

static void test_spaces(void **state)
{
	Arena *arena = arena_new();

	(void)state;
	check_space(schedule_chain(arena), 1);
	check_space(schedule_stencil(arena, 20), 2);
	check_space(schedule_stencil(arena, 7), 3);
	arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_spaces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
