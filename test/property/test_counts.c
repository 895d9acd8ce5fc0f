/* What the plan counts is what the interpreter counts while it runs the lowered
 * form, which shares no code with it: arithmetic of all stages (padded
 * iterations included), and the elements of each buffer.  Candidates whose
 * tiles are whole, or padded: lanes that a mask switches off count in a vector,
 * not in a plan. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/codegen.h"
#include "schedule/plan.h"

enum { CANDIDATES = 400, ARGS_MAX = 8 };

static const Machine machine = {.threads = 2,
    .vector_bytes = 32,
    .vector_registers = 16,
    .fma = true,
    .masked = true,
    .fma_per_cycle = 2,
    .fma_latency = 4,
    .l1_bytes = 32768,
    .l2_bytes = 1 << 19,
    .l3_bytes = 16 << 20,
    .l1_ways = 8,
    .line_bytes = 64};

static bool whole_tiles(const Nest *nest)
{
	for (int i = 0; i < nest->order.n; i++) {
		const Stage *s = &nest->stages.at[nest->order.at[i]];
		for (int a = 0; a < s->naxes; a++)
			if ((s->axes[a].below || s->axes[a].above) &&
			    s->tail != TAIL_PAD && !s->fill)
				return false;
	}
	return true;
}

static void *buffer_of(const Program *p, int i)
{
	int64_t bytes = buffer_bytes(&p->buffers[i]);
	unsigned char *data =
	    aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64);
	for (int64_t k = 0; k < bytes / 4; k++)
		((float *)(void *)data)[k] = (float)(k % 7) - 3;
	return data;
}

/* Runs the packs and the kernel in the interpreter. */
static void run(const Program *p, const Lowered *lowered, LowRun *stats)
{
	void *args[ARGS_MAX], *source;
	int n = 0, pack = 0;
	for (int i = 0; i < p->ninputs; i++) {
		args[n] = source = buffer_of(p, i);
		if (p->buffers[i].is_const) {
			LowRun packing = {0};
			void *two[2] = {source,
			    aligned_alloc(64,
				(size_t)lowered->packed_bytes[pack])};
			if (!low_function_run(
				lowered->packs.at[pack++], two, &packing))
				fail_msg("%s", packing.message);
			free(source);
			args[n] = two[1];
		}
		n++;
	}
	for (int i = 0; i < p->noutputs; i++)
		args[n++] = buffer_of(p, p->outputs[i]);
	args[n++] = aligned_alloc(64, (size_t)lowered->workspace_bytes + 64);
	if (!low_function_run(lowered->kernel, args, stats))
		fail_msg("%s", stats->message);
	while (n)
		free(args[--n]);
}

static double planned_flops(const Nest *nest)
{
	Plan *plan = plan_record(nest->arena, nest);
	int64_t *values =
	    NEW_N(nest->arena, int64_t, tape_size(plan->tape));
	double sum = 0;
	tape_eval(plan->tape, NULL, values);
	for (int i = 0; i < plan->nstages; i++) {
		StageCost c;
		const PlanStage *s = &plan->stages[i];
		stage_cost(s, &machine, values, &c);
		if (!s->ahead)
			sum += c.trips[s->nloops] * s->flops;
	}
	return sum;
}

static void check_buffers(const Nest *nest, const Lowered *lowered)
{
	for (int i = 0; i < lowered->kernel->buffers.n; i++) {
		const LowBuffer *low = &lowered->kernel->buffers.at[i];
		for (int b = 0; b < nest->buffers.n; b++)
			if (!strcmp(nest->buffers.at[b].name, low->name))
				assert_int_equal(low->elements,
				    tape_value(nest->tape,
					nest->buffers.at[b].elements));
	}
}

static int check_candidate(const Program *p, const Trace *trace)
{
	Arena *arena = arena_new();
	Error error = {0};
	LowRun stats = {0};
	Nest *nest = schedule_nest(arena, p, &machine, trace, &error);
	int checked = 0;
	if (!nest)
		fail_msg("%s", error.text);
	if (whole_tiles(nest)) {
		Lowered *lowered = lower(arena, nest, &machine, &error);
		if (!lowered)
			fail_msg("%s", error.text);
		run(p, lowered, &stats);
		double planned = planned_flops(nest);
		if (planned != (double)stats.flops) {
			Buf text = {0};
			nest_print(&text, nest);
			fail_msg("%s: %.0f operations planned, %lld run\n%s",
			    p->symbol, planned, (long long)stats.flops,
			    buf_text(&text));
		}
		check_buffers(nest, lowered);
		checked = 1;
	}
	arena_free(arena);
	return checked;
}

static void check_spec(
    const char *argument, const SpecDefine *defines, int ndefines)
{
	Arena *arena = arena_new();
	ProgramVec programs = {0};
	Diag diag = {0};
	Error error = {0};
	int checked = 0;
	if (spec_load(arena, argument, defines, ndefines, NUMERICS_DEFAULT,
		&diag, &error, &programs))
		fail_msg("%s%s", buf_text(&diag.text), error.text);
	const Program *p = programs.at[0];
	Space *space = space_new(arena, p, &machine, &error);
	Rng rng = rng_stream(7, 0, 0);
	for (int i = 0; i < CANDIDATES; i++) {
		Candidate c;
		if (space_sample(space, &rng, &c))
			checked += check_candidate(
			    p, space_trace(arena, space, &c));
	}
	print_message("# %s: %d of %d candidates have whole tiles\n",
	    p->symbol, checked, CANDIDATES);
	assert_true(checked >= 5);
	diag_free(&diag);
	arena_free(arena);
}

static void test_products(void **state)
{
	static const SpecDefine odd[] = {{"M", "12"}, {"N", "32"}, {"K", "9"}};
	static const SpecDefine even[] = {
	    {"M", "12"}, {"N", "32"}, {"K", "8"}};
	(void)state;
	check_spec("workloads/matmul.yaml:", odd, 3);
	check_spec("workloads/matmul.yaml:", even, 3);
}

static void test_convolutions(void **state)
{
	static const SpecDefine small[] = {
	    {"CI", "4"}, {"CO", "16"}, {"H", "8"}, {"W", "8"}};
	(void)state;
	check_spec("workloads/conv2d.yaml:", small, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_products),
	    cmocka_unit_test(test_convolutions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
