/* Every operator of workloads/, small. */
#include "test/common_workloads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir/spec/spec.h"
#include "test/common_tier.h"

enum { MAX_DEFINES = 8 };

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
    {"matmul_bf16", {{"M", "64"}, {"N", "48"}, {"K", "64"}}},
    {"matmul_transposed", {{"M", "13"}, {"N", "33"}, {"K", "19"}}},
    {"batch_matmul", {{"B", "3"}, {"M", "13"}, {"N", "33"}, {"K", "19"}}},
    {"elementwise", {{"N", "1009"}}},
    {"sum_all", {{"M", "37"}, {"N", "29"}}},
};
enum { NWORKLOADS = sizeof workloads / sizeof *workloads };

int workload_step(void)
{
	const char *every = getenv("EVERY");
	int step = every ? atoi(every) : 1;
	return step > 0 ? step : 1;
}

int workload_count(void)
{
	return NWORKLOADS;
}

Program *workload_load(Arena *arena, int number)
{
	const Workload *w = &workloads[number];
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

void workload_check(int number, const char *target, Rng *rng, int quick,
    int longer, bool plain, WorkloadCheck *check)
{
	Arena *arena = arena_new();
	Error error = {0};
	Candidate c;
	int samples = tier_is_long() ? longer : quick;
	Program *p = workload_load(arena, number);
	const Target *t = target_parse(arena, target, &error);
	void **data = lowercheck_data(arena, p, rng);
	lowercheck_expect(p, data);
	if (plain)
		check(arena, p, NULL, t, data);
	Space *space = space_new(arena, p, &t->machine, &error);
	assert_non_null(space);
	for (int i = 0; i < samples && space_sample(space, rng, &c); i++) {
		Arena *scratch = arena_new();
		check(scratch, p, space_trace(scratch, space, &c), t, data);
		arena_free(scratch);
	}
	arena_free(arena);
}
