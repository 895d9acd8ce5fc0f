/* What the plan says of a GPU's launches is what lowering makes of them, on every
 * workload: how many there are, blocks, threads, bytes that are shared.  What the
 * plan refuses as too much is refused, and nothing else by lowering. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/codegen.h"
#include "codegen/gpu.h"
#include "schedule/plan/plan.h"

enum { CANDIDATES = 6 };

static bool is_launch(const LowLaunch *l, const LaunchCost *c)
{
	int64_t grid = l->grid[0] * l->grid[1] * l->grid[2];
	int64_t threads = l->block[0] * l->block[1] * l->block[2];
	return (double)grid == c->grid && (double)threads == c->threads &&
	    (double)l->shared_bytes == c->shared_bytes;
}

/* One of those that lowering made, which is no other's: the plan has them in the
 * order of their first blocks, lowering in that of their last. */
static void check_launch(const Lowered *lowered, bool *taken,
    const LaunchCost *c, const char *name, const Trace *trace)
{
	Buf text = {0};
	for (int i = 0; i < lowered->launches.n; i++)
		if (!taken[i] && is_launch(&lowered->launches.at[i], c)) {
			taken[i] = true;
			return;
		}
	for (int i = 0; i < lowered->launches.n; i++) {
		const LowLaunch *l = &lowered->launches.at[i];
		buf_printf(&text, "%lld blocks of %lld threads, %lld bytes "
		    "shared\n", (long long)(l->grid[0] * l->grid[1] * l->grid[2]),
		    (long long)(l->block[0] * l->block[1] * l->block[2]),
		    (long long)l->shared_bytes);
	}
	trace_print(&text, trace);
	fail_msg("%s: the plan has a launch of %.0f blocks of %.0f threads, %.0f "
		"bytes shared, which is none of\n%s",
	    name, c->grid, c->threads, c->shared_bytes, buf_text(&text));
}

static void check_candidate(Arena *arena, const Program *program,
    Space *space, const Candidate *candidate, const Machine *machine)
{
	Error error = {0};
	Trace *trace = space_trace(arena, space, candidate);
	Nest *nest = schedule_nest(arena, program, machine, trace, &error);
	Lowered *lowered = nest ? lower(arena, nest, machine, &error) : NULL;
	if (!lowered)
		fail_msg("%s: %s", program->symbol, error.text);
	Plan *plan = plan_record(arena, nest);
	int64_t *values = NEW_N(arena, int64_t, tape_size(plan->tape));
	LaunchCost c;
	int n = 0;
	bool *taken = NEW_N(arena, bool, lowered->launches.n + 1);
	tape_eval(plan->tape, NULL, values);
	for (int i = 0; launch_next(plan, machine, values, i, &c);
	     i = c.first + 1) {
		assert_true(n < lowered->launches.n);
		check_launch(lowered, taken, &c, program->symbol, trace);
		n++;
		assert_true(c.resident >= 1 && c.seconds > 0);
		assert_true(c.from_l2 <= c.asked * 1.0001);
	}
	assert_int_equal(n, lowered->launches.n);
}

static void check_program(const Program *program, const Machine *machine)
{
	Arena *arena = arena_new();
	Error error = {0};
	Rng rng = rng_stream(1, 0, 0);
	Space *space = space_new(arena, program, machine, &error);
	if (!space)
		fail_msg("%s: %s", program->symbol, error.text);
	for (int i = 0; i < CANDIDATES; i++) {
		Arena *scratch = arena_new();
		Candidate c;
		assert_true(space_sample(space, &rng, &c));
		check_candidate(scratch, program, space, &c, machine);
		arena_free(scratch);
	}
	arena_free(arena);
}

static int is_spec(const struct dirent *e)
{
	const char *dot = strrchr(e->d_name, '.');
	return dot && !strcmp(dot, ".yaml");
}

static void test_workloads(void **state)
{
	struct dirent **names;
	Machine machine;
	(void)state;
	gpu_machine(gpu_find("sm_86"), &machine);
	int n = scandir("workloads", &names, is_spec, alphasort);
	assert_true(n > 0);
	for (int i = 0; i < n; i++) {
		Arena *arena = arena_new();
		ProgramVec programs = {0};
		Diag diag = {0};
		Error error = {0};
		char path[512];
		snprintf(path, sizeof path, "workloads/%s", names[i]->d_name);
		if (spec_load(arena, path, NULL, 0, NUMERICS_DEFAULT, &diag,
			&error, &programs))
			fail_msg("%s%s", buf_text(&diag.text), error.text);
		check_program(programs.at[0], &machine);
		check_program(programs.at[programs.n - 1], &machine);
		arena_free(arena);
		diag_free(&diag);
		free(names[i]);
	}
	free(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_workloads)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
