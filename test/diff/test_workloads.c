/* Every operator of workloads/, small, and what the rules make of it: lowered
 * and run, each gives what the operator says. */
#include "test/common_lower.h"
#include "test/common_schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { QUICK = 12, LONG = 400, MAX_DEFINES = 8 };

typedef struct {
	const char *path;
	SpecDefine defines[MAX_DEFINES];
} Workload;

static const Workload workloads[] = {
    {"conv2d", {{"CI", "6"}, {"H", "9"}, {"W", "11"}, {"CO", "20"}}},
    {"conv2d",
	{{"CI", "6"}, {"H", "9"}, {"W", "11"}, {"CO", "20"},
	    {"stride", "2"}}},
    {"grouped", {{"CI", "8"}, {"CO", "12"}, {"H", "9"}, {"W", "7"}}},
    {"depthwise", {{"C", "10"}, {"H", "9"}, {"W", "9"}}},
    {"dilated", {{"CI", "5"}, {"CO", "18"}, {"H", "9"}, {"W", "9"}}},
    {"conv2d_transposed", {{"CI", "6"}, {"CO", "18"}, {"H", "5"}, {"W", "4"}}},
    {"max_pool", {{"C", "5"}, {"H", "13"}, {"W", "13"}}},
    {"avg_pool", {{"C", "5"}, {"H", "8"}, {"W", "8"}, {"K", "2"}}},
    {"softmax", {{"M", "7"}, {"N", "37"}}},
    {"layer_norm", {{"M", "9"}, {"N", "37"}}},
    {"attention", {{"H", "2"}, {"L", "17"}, {"D", "9"}}},
    {"matmul", {{"M", "13"}, {"N", "33"}, {"K", "19"}}},
    {"matmul", {{"M", "70"}, {"N", "90"}, {"K", "40"}}}, /* several blocks */
    {"matmul_u8i8", {{"M", "13"}, {"N", "33"}, {"K", "19"}}},
    {"matmul_bf16", {{"M", "13"}, {"N", "33"}, {"K", "19"}}},
    {"matmul_transposed", {{"M", "13"}, {"N", "33"}, {"K", "19"}}},
    {"batch_matmul", {{"B", "3"}, {"M", "13"}, {"N", "33"}, {"K", "19"}}},
    {"elementwise", {{"N", "1009"}}},
    {"sum_all", {{"M", "37"}, {"N", "29"}}},
};
enum { NWORKLOADS = sizeof workloads / sizeof *workloads };

static const char *const targets[] = {
    "llvm -mcpu=haswell -threads=2", "llvm -mcpu=x86-64 -threads=1",
    "cuda -arch=sm_90"};
enum { NTARGETS = sizeof targets / sizeof *targets };

static Program *load(Arena *arena, const Workload *w)
{
	ProgramVec programs = {0};
	Diag diag = {0};
	Error error = {0};
	int n = 0;
	while (n < MAX_DEFINES && w->defines[n].name)
		n++;
	const char *path = arena_printf(arena, "workloads/%s.yaml:", w->path);
	if (spec_load(arena, path, w->defines, n, NUMERICS_DEFAULT, &diag,
		&error, &programs))
		fail_msg("%s: %s%s", path, buf_text(&diag.text), error.text);
	diag_free(&diag);
	return programs.at[0];
}

static void check(Arena *arena, const Program *p, const Trace *trace,
    const Machine *machine, void *const *data)
{
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
	Arena *arena = arena_new();
	Error error = {0};
	Candidate c;
	const char *tier = getenv("TIER");
	int samples = tier && !strcmp(tier, "long") ? LONG : QUICK;
	Rng rng = rng_stream(12, (uint64_t)number, (uint64_t)target);
	Program *p = load(arena, &workloads[number]);
	const Target *t = target_parse(arena, targets[target], &error);
	void **data = lowercheck_data(arena, p, &rng);
	lowercheck_expect(p, data);
	check(arena, p, NULL, &t->machine, data);
	Space *space = space_new(arena, p, &t->machine, &error);
	assert_non_null(space);
	for (int i = 0; i < samples && space_sample(space, &rng, &c); i++) {
		Arena *scratch = arena_new();
		check(scratch, p, space_trace(scratch, space, &c), &t->machine,
		    data);
		arena_free(scratch);
	}
	arena_free(arena);
}

static void test_workloads(void **state)
{
	(void)state;
	for (int i = 0; i < NWORKLOADS; i++)
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
