/* What the plan says of a GPU's launches is what lowering makes of them, on every
 * workload: how many there are, blocks, threads, bytes that are shared.  And the
 * sectors that warps ask for are those that the interpreter's threads touch,
 * access by access, at small shapes whose tiles are whole. */
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/codegen.h"
#include "codegen/amd_gpu.h"
#include "codegen/gpu.h"
#include "schedule/plan/plan.h"
#include "test/common_lower.h"

enum { CANDIDATES = 10 };

/* Of threads that have nothing left to fetch some are counted. */
#define MOST 1.5

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
	Plan *plan = plan_record(arena, nest, machine);
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
	Machine machines[2];
	(void)state;
	gpu_machine(gpu_find("sm_86"), &machines[0]);
	amd_gpu_machine(amd_gpu_find("gfx90a"), &machines[1]);
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
		for (int m = 0; m < 2; m++) {
			check_program(programs.at[0], &machines[m]);
			check_program(
			    programs.at[programs.n - 1], &machines[m]);
		}
		arena_free(arena);
		diag_free(&diag);
		free(names[i]);
	}
	free(names);
}

/* --- what threads touch -------------------------------------------------------- */

typedef struct {
	int buffer;
	int64_t element;
} Touched;

typedef VEC(Touched) TouchedVec;

enum { WARP = 32, SECTOR = 32, THREADS = 1024 };

/* Accesses of each thread since the last barrier. */
typedef struct {
	Arena *arena;
	const LowFunction *f;
	int now, most;     /* thread; and the last one that began */
	TouchedVec of[THREADS];
	int64_t sectors;
} Traffic;

static bool in_global(const LowFunction *f, int buffer)
{
	LowBufferKind kind = f->buffers.at[buffer].kind;
	return kind != LOWBUF_SHARED && kind != LOWBUF_LOCAL;
}

/* Of the n-th access of each thread of a warp. */
static int64_t sectors_of(const Traffic *t, int first, int n)
{
	int64_t seen[WARP], place[WARP];
	int count = 0;
	for (int i = first; i < first + WARP && i <= t->most; i++) {
		if (t->of[i].n <= n)
			continue;
		const Touched *x = &t->of[i].at[n];
		int bytes = dtype_bytes(t->f->buffers.at[x->buffer].type);
		int64_t sector = x->element * bytes / SECTOR;
		int k = 0;
		while (k < count &&
		       (seen[k] != sector || place[k] != x->buffer))
			k++;
		if (k < count)
			continue; /* another lane's */
		seen[count] = sector;
		place[count++] = x->buffer;
	}
	return count;
}

static void end_phase(Traffic *t)
{
	for (int first = 0; first <= t->most; first += WARP) {
		int n = 0;
		for (int i = first; i < first + WARP && i <= t->most; i++)
			n = t->of[i].n > n ? t->of[i].n : n;
		for (int k = 0; k < n; k++)
			t->sectors += sectors_of(t, first, k);
	}
	for (int i = 0; i <= t->most; i++)
		t->of[i].n = 0;
	t->most = -1;
}

static void watch_access(void *context, int buffer, int64_t element, bool write)
{
	Traffic *t = context;
	(void)write;
	if (in_global(t->f, buffer) && element >= 0)
		vec_push(t->arena, &t->of[t->now],
		    ((Touched){buffer, element}));
}

static void watch_iteration(void *context, int var, bool starts)
{
	(void)context, (void)var, (void)starts;
}

/* Threads run one after another from one barrier to the next. */
static void watch_thread(void *context, int number)
{
	Traffic *t = context;
	if (number == 0)
		end_phase(t);
	t->now = number;
	if (number > t->most)
		t->most = number;
}

static int64_t count_sectors(
    Arena *arena, const Program *p, const Lowered *lowered)
{
	Traffic *t = NEW(arena, Traffic);
	LowWatch watch = {t, watch_access, watch_iteration, watch_thread};
	LowRun run = {.watch = &watch};
	Rng rng = rng_stream(1, 0, 0);
	void **data = lowercheck_data(arena, p, &rng);
	void *args[16];
	int n = 0, pack = 0;
	*t = (Traffic){.arena = arena, .f = lowered->kernel, .most = -1};
	for (int i = 0; i < p->ninputs; i++) {
		args[n++] = data[i];
		if (!p->buffers[i].is_const)
			continue;
		LowRun packing = {0};
		void *two[2] = {data[i],
		    lowercheck_memory(arena, lowered->packed_bytes[pack])};
		if (!low_function_run(
			lowered->packs.at[pack++], two, &packing))
			fail_msg("%s", packing.message);
		args[n - 1] = two[1];
	}
	for (int i = 0; i < p->noutputs; i++)
		args[n++] = data[p->outputs[i]];
	args[n++] = lowercheck_memory(arena, lowered->workspace_bytes + 64);
	if (!low_function_run(lowered->kernel, args, &run))
		fail_msg("%s", run.message);
	end_phase(t);
	return t->sectors;
}

/* Is it exactly what the plan says? */
static bool check_sectors(Arena *arena, const Program *p, Space *space,
    const Candidate *c, const Machine *machine)
{
	Error error = {0};
	Trace *trace = space_trace(arena, space, c);
	Nest *nest = schedule_nest(arena, p, machine, trace, &error);
	Lowered *lowered = nest ? lower(arena, nest, machine, &error) : NULL;
	if (!lowered)
		fail_msg("%s: %s", p->symbol, error.text);
	Plan *plan = plan_record(arena, nest, machine);
	int64_t *values = NEW_N(arena, int64_t, tape_size(plan->tape));
	LaunchCost cost;
	double asked = 0;
	tape_eval(plan->tape, NULL, values);
	for (int i = 0; launch_next(plan, machine, values, i, &cost);
	     i = cost.first + 1)
		asked += cost.asked / SECTOR;
	double counted = (double)count_sectors(arena, p, lowered);
	if (counted > asked * 1.001 || asked > counted * MOST) {
		Buf text = {0};
		trace_print(&text, trace);
		fail_msg("%s: %.0f sectors, the plan says %.0f\n%s", p->symbol,
		    counted, asked, buf_text(&text));
	}
	return fabs(asked - counted) < 0.5;
}

static void test_sectors(void **state)
{
	static const struct {
		const char *spec;
		int n;
		SpecDefine defines[4];
	} shapes[] = {
	    {"workloads/matmul.yaml:", 3,
		{{"M", "64"}, {"N", "64"}, {"K", "32"}}},
	    {"workloads/matmul_transposed.yaml:", 3,
		{{"M", "64"}, {"N", "64"}, {"K", "32"}}},
	    {"workloads/elementwise.yaml:", 1, {{"N", "4096"}}},
	    {"workloads/softmax.yaml:", 2, {{"M", "8"}, {"N", "256"}}},
	    {"workloads/layer_norm.yaml:", 2, {{"M", "8"}, {"N", "256"}}},
	    {"workloads/transpose_batch_matmul.yaml:", 3,
		{{"L", "32"}, {"H", "2"}, {"D", "32"}}},
	};
	Machine machine;
	int exact = 0, all = 0;
	(void)state;
	/* which has no asynchronous copies: the interpreter tells of none */
	gpu_machine(gpu_find("sm_75"), &machine);
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		Arena *arena = arena_new();
		ProgramVec programs = {0};
		Diag diag = {0};
		Error error = {0};
		Rng rng = rng_stream(2, 0, 0);
		if (spec_load(arena, shapes[i].spec, shapes[i].defines,
			shapes[i].n, NUMERICS_DEFAULT, &diag, &error,
			&programs))
			fail_msg("%s%s", buf_text(&diag.text), error.text);
		const Program *p = programs.at[0];
		Space *space = space_new(arena, p, &machine, &error);
		assert_non_null(space);
		for (int k = 0; k < CANDIDATES; k++) {
			Arena *scratch = arena_new();
			Candidate c;
			assert_true(space_sample(space, &rng, &c));
			exact += check_sectors(
			    scratch, p, space, &c, &machine);
			all++;
			arena_free(scratch);
		}
		arena_free(arena);
		diag_free(&diag);
	}
	print_message("# %d of %d exactly\n", exact, all);
	assert_true(exact * 3 >= all * 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_workloads),
	    cmocka_unit_test(test_sectors)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
