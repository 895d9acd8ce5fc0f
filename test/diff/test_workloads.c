/* Every operator of workloads/, small, and what the rules make of it: lowered
 * and run, each gives what the operator says. */
#include "test/common_lower.h"
#include "test/common_schedule.h"
#include "test/common_workloads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { QUICK = 12, LONG = 400 };

static const char *const targets[] = {
    "llvm -mcpu=haswell -threads=2", "llvm -mcpu=x86-64 -threads=1",
    "cuda -arch=sm_90"};
enum { NTARGETS = sizeof targets / sizeof *targets };

static void check(Arena *arena, const Program *p, const Trace *trace,
    const Target *target, void *const *data)
{
	const Machine *machine = &target->machine;
	Error error = {0};
	char why[512];
	Buf text = {0};
	Nest *nest = schedule_nest(arena, p, machine, trace, &error);
	Lowered *l = nest ? lower(arena, nest, machine, &error) : NULL;
	if (trace)
		trace_print(&text, trace);
	if (!l)
		fail_msg("%s: %s\n%s", p->name, error.text, buf_text(&text));
	if (!lowered_verify(l, why, sizeof why))
		fail_msg("%s: %s\n%s", p->name, why, buf_text(&text));
	const char *wrong = lowercheck_run(arena, l, data, 1e-4, NULL, NULL);
	if (wrong)
		fail_msg("%s: %s\n%s", p->name, wrong, buf_text(&text));
	buf_free(&text);
}

static void check_workload(int number, int target)
{
	Rng rng = rng_stream(12, (uint64_t)number, (uint64_t)target);
	workload_check(
	    number, targets[target], &rng, QUICK, LONG, true, check);
}

static void test_workloads(void **state)
{
	(void)state;
	for (int i = 0; i < workload_count(); i++)
		for (int t = 0; t < NTARGETS; t++)
			check_workload(i, t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_workloads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
