/* Candidate 1 is found, and in bounded work, counted so that it is the same on every
 * machine: where plans are dear, where each structure is a new one, where nearly
 * all that is drawn is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "codegen/codegen.h"
#include "schedule/groups.h"
#include "schedule/space.h"

enum { TRIES = 2000, WORK_MOST = 6500000, PLANS_MOST = 5000 };

static void check_group(const Program *program, const Machine *machine)
{
	Arena *arena = arena_new();
	Error error = {0};
	Candidate first = {0}, again = {0};
	Space *space = space_new(arena, program, machine, &error);
	assert_non_null(space);
	bool found = space_first(space, TRIES, &first);
	assert_true(found);
	assert_true(space->work < WORK_MOST);
	assert_true(space->plans_made < PLANS_MOST);
	space = space_new(arena, program, machine, &error);
	assert_int_equal(space_first(space, TRIES, &again), found);
	assert_memory_equal(&first, &again, sizeof first);
	arena_free(arena);
}

/* Asked of what the analytic model thinks worst, it would have the slowest. */
static double contrary(void *asked, const float *features, double analytic_s)
{
	(void)features;
	++*(int *)asked;
	return -analytic_s;
}

/* Another model decides among what is nearly the best, and about nothing else. */
static void check_judged(const Program *program, const Machine *machine)
{
	Arena *arena = arena_new();
	Error error = {0};
	Candidate first, judged;
	double seconds, best;
	int asked = 0;
	Space *space = space_new(arena, program, machine, &error);
	assert_true(space_first(space, TRIES, &first));
	space_analytic(space, &first, 1, &best);
	space = space_new(arena, program, machine, &error);
	space_rank_by(space, contrary, &asked);
	assert_true(space_first(space, TRIES, &judged));
	space_analytic(space, &judged, 1, &seconds);
	assert_true(asked > 0);
	assert_true(seconds <= best * 1.25);
	arena_free(arena);
}

static void check_file(const char *path)
{
	Arena *arena = arena_new();
	Diag diag = {0};
	Error error = {0};
	ProgramVec programs = {0};
	const Target *target = target_parse(
	    arena, "llvm -mcpu=znver4 -threads=2", &error);
	assert_false(spec_load(arena, path, NULL, 0, NUMERICS_DEFAULT, &diag,
	    &error, &programs));
	const Groups *g = groups_of(arena, programs.at[0], &target->machine);
	for (int i = 0; i < g->n; i++) {
		check_group(g->groups[i].program, &target->machine);
		check_judged(g->groups[i].program, &target->machine);
	}
	diag_free(&diag);
	arena_free(arena);
}

static void bounded(void **state)
{
	(void)state;
	check_file("test/property/first/bilinear_tconv.yaml");
	check_file("test/property/first/norm_dilated.yaml");
	check_file("test/property/first/wrapped_sum.yaml");
	check_file("workloads/conv2d.yaml:resnet18_c6");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(bounded)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
