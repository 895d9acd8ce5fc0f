/* A sample of the space of GPUs in its own sizes: random operators of workloads/,
 * random GPUs, random candidates.  Each that passed the checks is taken by both
 * compilers and by ptxas, with the shared memory of its launches, and about the
 * registers that the model foresees.
 *
 *     SAMPLE=500 build/test/diff/test_sample        as `make test-gpu` does */
#include "test/common_schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <glob.h>

#include "codegen/cuda/cuda.h"
#include "ir/spec/spec.h"
#include "schedule/plan/plan.h"

enum { QUICK = 20 };

static const char *const archs[] = {
    "sm_75", "sm_80", "sm_86", "sm_90", "sm_90a"};
enum { NARCHS = sizeof archs / sizeof *archs };

typedef VEC(Program *) Programs;

typedef struct {
	int kernels, refused, spilled;
	int asking;   /* for more shared memory than they can declare */
	int near;     /* registers within a fifth of what was foreseen */
} Tally;

static Arena *arena;
static bool have_ptxas, have_nvrtc;

static void load_all(Programs *all)
{
	glob_t files;
	assert_int_equal(glob("workloads/*.yaml", 0, NULL, &files), 0);
	for (size_t i = 0; i < files.gl_pathc; i++) {
		ProgramVec programs = {0};
		Diag diag = {0};
		Error error = {0};
		if (spec_load(arena, files.gl_pathv[i], NULL, 0,
			NUMERICS_DEFAULT, &diag, &error, &programs))
			fail_msg("%s: %s", files.gl_pathv[i],
			    buf_text(&diag.text));
		for (int k = 0; k < programs.n; k++)
			vec_push(arena, all, programs.at[k]);
		diag_free(&diag);
	}
	globfree(&files);
}

/* --- one candidate ------------------------------------------------------------ */

typedef struct {
	Arena *arena;
	const Program *program;
	const Target *target;
	const Trace *trace;
	Nest *nest;
	Lowered *lowered;
	Tally *tally;
} Sample;

static void fail_sample(const Sample *s, const char *what, const char *detail)
{
	Buf text = {0};
	trace_print(&text, s->trace);
	fail_msg("%s:%s, %s: %s: %s\n%s", s->program->name,
	    s->program->case_name, s->target->text, what, detail,
	    buf_text(&text));
}

static bool assemble(Sample *s, bool nvrtc, CudaUseVec *uses)
{
	Target target = *s->target;
	const Lowered *l = s->lowered;
	EmitComment comment = {.target = target.text, .record = "none"};
	Error error = {0};
	Buf ptx = {0};
	target.nvrtc = nvrtc;
	if (cuda_ptx(&l, 1, &target, &comment, &ptx, &error))
		fail_sample(s, nvrtc ? "NVRTC" : "LLVM", error.text);
	if (have_ptxas && ptxas_run(s->arena, target.cpu, ptx.data, ptx.size,
		NULL, uses, &error))
		fail_sample(s, nvrtc ? "ptxas, of NVRTC" : "ptxas", error.text);
	buf_free(&ptx);
	for (int i = 0; have_ptxas && i < l->launches.n; i++) {
		const LowLaunch *k = &l->launches.at[i];
		const CudaUse *use = cuda_use_of(uses, k->function->name);
		if (!use)
			fail_sample(s, "not there", k->function->name);
		else if (use->shared_bytes != k->shared_bytes - k->dynamic_bytes)
			fail_sample(s, "shared memory",
			    arena_printf(s->arena,
				"%lld, foreseen %lld, %lld by the launch",
				(long long)use->shared_bytes,
				(long long)k->shared_bytes,
				(long long)k->dynamic_bytes));
	}
	return true;
}

/* Launches of the plan and of the lowered form come in one order. */
static void compare_registers(Sample *s, const CudaUseVec *uses)
{
	Plan *plan = plan_record(s->arena, s->nest, &s->target->machine);
	int64_t *values = NEW_N(s->arena, int64_t, tape_size(plan->tape));
	LaunchCost cost;
	int first = 0, i = 0;
	tape_eval(plan->tape, NULL, values);
	for (; launch_next(plan, &s->target->machine, values, first, &cost);
	     i++, first = cost.first + 1) {
		if (i >= s->lowered->launches.n)
			return;
		const LowLaunch *k = &s->lowered->launches.at[i];
		const CudaUse *use = cuda_use_of(uses, k->function->name);
		double ratio = use->registers / cost.registers;
		s->tally->kernels++;
		s->tally->spilled += use->spill_stores > 0;
		s->tally->asking += k->dynamic_bytes > 0;
		s->tally->near += ratio >= 1/1.2 && ratio <= 1.2;
		if (getenv("VERBOSE"))
			printf("%s %s %d %.0f\n", k->function->name,
			    s->target->cpu, use->registers, cost.registers);
	}
}

static void check(Sample *s)
{
	CudaUseVec by_llvm = {0}, by_nvrtc = {0};
	Error error = {0};
	s->nest = schedule_nest(s->arena, s->program, &s->target->machine,
	    s->trace, &error);
	s->lowered = s->nest ? lower(s->arena, s->nest, &s->target->machine,
				   &error) : NULL;
	if (!s->lowered) {
		if (error.status != STATUS_UNSUPPORTED)
			fail_sample(s, "lowering", error.text);
		s->tally->refused++;
		return;
	}
	assemble(s, false, &by_llvm);
	if (have_nvrtc)
		assemble(s, true, &by_nvrtc);
	if (have_ptxas)
		compare_registers(s, &by_llvm);
}

static void test_sample(void **state)
{
	(void)state;
	Programs all = {0};
	Tally tally = {0};
	const char *text = getenv("SAMPLE"), *seed = getenv("SEED");
	int n = text ? atoi(text) : QUICK;
	Rng rng = rng_stream(seed ? (uint64_t)atoi(seed) : 11, 0, 0);
	load_all(&all);
	for (int i = 0; i < n; i++) {
		Sample s = {.arena = arena_new(), .tally = &tally};
		Error error = {0};
		Candidate c;
		s.program = all.at[rng_below(&rng, (uint64_t)all.n)];
		s.target = target_parse(s.arena,
		    arena_printf(s.arena, "cuda -arch=%s",
			archs[rng_below(&rng, NARCHS)]), &error);
		Space *space = space_new(
		    s.arena, s.program, &s.target->machine, &error);
		assert_non_null(space);
		if (space_sample(space, &rng, &c)) {
			s.trace = space_trace(s.arena, space, &c);
			check(&s);
		}
		arena_free(s.arena);
	}
	print_message("# %d candidates, %d refused when lowered; of %d kernels "
		"%d have registers as foreseen, %d spill, %d ask for "
		"shared memory\n",
	    n, tally.refused, tally.kernels, tally.near, tally.spilled,
	    tally.asking);
	assert_true(tally.near * 2 >= tally.kernels);
	assert_true(tally.spilled * 20 <= tally.kernels);
}

static int setup(void **state)
{
	Error error = {0};
	NvrtcFacts facts;
	(void)state;
	arena = arena_new();
	have_ptxas = toolkit_program(arena, "ptxas");
	have_nvrtc = !nvrtc_find(arena, &facts, &error);
	if (!have_ptxas)
		print_message("# skipped: ptxas is not here\n");
	if (!have_nvrtc)
		print_message("# skipped: NVRTC is not here\n");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_free(arena);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_sample),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
