/* What the plan says of a candidate is what replaying its trace with numbers
 * says (design: one path for tiles as slots, one for tiles as numbers), on
 * every workload and every layout of test/layouts:
 *   - guards hold exactly where replay accepts;
 *   - features from the plan equal features from the nest with numbers;
 *   - a trace printed, parsed and found again is the same candidate;
 *   - the normal form of a candidate is its own, and makes the same code, or as
 *     much with fewer loops. */
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

#include "codegen/gpu.h"
#include "lib/sanitize.h"
#include "schedule/plan/plan.h"
#include "test/common_program.h"
#include "test/common_tier.h"
#include "tuner/measure/measure_internal.h"

enum {
	CANDIDATES = ADDRESS_SANITIZER ? 10 : 30,
	LONG = 150,
	GPU_CANDIDATES = 3,
	NORMAL = ADDRESS_SANITIZER ? 1 : 3
};
static int nnormal; /* of a program: their code is compared */

static const Machine machines[] = {
    {.threads = 2,
	.vector_bytes = 64,
	.vector_registers = 32,
	.byte_masks = true,
	.fma = true,
	.masked = true,
	.gather = true,
	.broadcast = true,
	.fma_per_cycle = 1,
	.fma_latency = 4,
	.l1_bytes = 32768,
	.l2_bytes = 1 << 20,
	.l3_bytes = 16 << 20,
	.l1_ways = 8,
	.line_bytes = 64},
    {.threads = 1,
	.vector_bytes = 32,
	.vector_registers = 16,
	.fma = true,
	.fma_per_cycle = 2,
	.fma_latency = 4,
	.l1_bytes = 32768,
	.l2_bytes = 1 << 19,
	.l3_bytes = 16 << 20,
	.l1_ways = 8,
	.line_bytes = 64}};

static Candidate random_candidate(Space *space, Rng *rng)
{
	Candidate c = {0};
	c.sketch = (uint16_t)rng_below(rng, (uint64_t)space_nsketches(space));
	for (int p = 0; p < space_nparts(space, c.sketch); p++)
		c.at[p] = (int16_t)rng_below(
		    rng, (uint64_t)space_part_size(space, c.sketch, p));
	return c;
}

static void check_features(Space *space, const Candidate *c, const Nest *nest,
    const Machine *machine, const char *name)
{
	float planned[FEATURES], extracted[FEATURES];
	Plan *plan = plan_record(nest->arena, nest, machine);
	int64_t *values =
	    NEW_N(nest->arena, int64_t, tape_size(plan->tape));
	tape_eval(plan->tape, NULL, values);
	plan_features(plan, machine, values, extracted);
	space_features(space, c, 1, planned);
	for (int i = 0; i < FEATURES; i++) {
		if (planned[i] == extracted[i])
			continue;
		Buf text = {0};
		trace_print(&text, space_trace(nest->arena, space, c));
		fail_msg("%s: feature %d is %g in the plan, %g in the nest\n%s",
		    name, i, (double)planned[i], (double)extracted[i],
		    buf_text(&text));
	}
}

/* What a stage is shown by alone is what a candidate's row has of it. */
static void check_stages(Space *space, const Candidate *c, const char *name)
{
	float row[FEATURES], stages[3][STAGE_FEATURES];
	int n = space_stage_features(space, c, 3, stages[0]);
	space_features(space, c, 1, row);
	if (n < 1 || memcmp(row, stages[0], sizeof stages[0]))
		fail_msg("%s: the heaviest stage is not in the row", name);
	for (int i = 0; i < FEATURES && n > 1; i++) {
		char column[FEATURE_NAME];
		if (!strcmp(feature_name(i, column), "stage2.seconds_ns") &&
		    row[i] != stages[1][0])
			fail_msg("%s: the second stage", name);
	}
}

static void check_found(Arena *arena, Space *space, const Candidate *c,
    const Machine *machine, const char *name)
{
	Buf text = {0};
	Diag diag = {0};
	Candidate found;
	trace_print(&text, space_trace(arena, space, c));
	Source source = {"trace", buf_text(&text), text.size};
	Trace *parsed =
	    trace_parse(arena, &source, (Span){0, text.size}, &diag);
	if (!parsed)
		fail_msg("%s: %s", name, buf_text(&diag.text));
	parsed = trace_resolve_lanes(arena, parsed, machine);
	if (!space_find(space, parsed, &found))
		fail_msg("%s: not found\n%s", name, buf_text(&text));
	/* Sketches may overlap: the trace is what has to be the same. */
	Buf again = {0};
	trace_print(&again, space_trace(arena, space, &found));
	assert_string_equal(buf_text(&text), buf_text(&again));
	buf_free(&text);
	buf_free(&again);
}

/* The hash of what the candidate as it stands makes; 0: it is refused. */
static CodeForm form_of(Arena *arena, const Program *program, Space *space,
    const Candidate *c, const Machine *machine)
{
	CodeForm form = {0};
	Error ignored;
	Nest *nest = schedule_nest(
	    arena, program, machine, space_trace(arena, space, c), &ignored);
	Lowered *lowered =
	    nest ? lower(arena, nest, machine, &ignored) : NULL;
	if (lowered)
		measure_form(lowered, &form);
	return form;
}

/* `raw` as it was drawn, `normal` as it was accepted. */
static void check_normal(Arena *arena, const Program *program, Space *space,
    const Candidate *raw, const Candidate *normal, const Machine *machine)
{
	Refusal why;
	Candidate again = *normal;
	assert_true(space_replays(space, &again, &why));
	assert_memory_equal(&again, normal, sizeof again);
	if (!memcmp(raw, normal, sizeof *raw) || nnormal == NORMAL)
		return;
	nnormal++;
	CodeForm a = form_of(arena, program, space, raw, machine);
	CodeForm b = form_of(arena, program, space, normal, machine);
	/* more of it is constants and whole tiles where loops have no iteration
	 * to spare */
	int64_t most = a.instructions + a.instructions / 20;
	if (!a.hash || a.hash == b.hash ||
	    (b.hash && b.instructions <= most))
		return;
	Buf text = {0};
	trace_print(&text, space_trace(arena, space, raw));
	trace_print(&text, space_trace(arena, space, normal));
	fail_msg("%s: more code in normal form\n%s", program->symbol,
	    buf_text(&text));
}

static int check_candidate(Arena *arena, const Program *program, Space *space,
    Candidate *c, const Machine *machine)
{
	ApplyContext context = {.machine = machine};
	Refusal planned = NULL, replayed = NULL;
	int step;
	Candidate raw = *c;
	bool accepts = space_replays(space, c, &planned);
	Nest *nest = nest_new(arena, program, tape_new(arena));
	Trace *trace = space_trace(arena, space, c);
	bool applies = trace_apply(nest, trace, &context, &step, &replayed) &&
	    !(replayed = nest_guards_hold(nest));
	if (accepts != applies) {
		Buf text = {0};
		trace_print(&text, trace);
		fail_msg("%s: the plan says %s, replay says %s\n%s",
		    program->symbol, accepts ? "yes" : planned,
		    applies ? "yes" : replayed, buf_text(&text));
	}
	if (!accepts)
		return 0;
	check_features(space, c, nest, machine, program->symbol);
	check_stages(space, c, program->symbol);
	check_found(arena, space, c, machine, program->symbol);
	check_normal(arena, program, space, &raw, c, machine);
	return 1;
}

static void check_program(const Program *program, const Machine *machine)
{
	Arena *arena = arena_new();
	Error error = {0};
	Space *space = space_new(arena, program, machine, &error);
	if (!space)
		fail_msg("%s: %s", program->symbol, error.text);
	Rng rng = rng_stream(1, 0, 0);
	int accepted = 0, sampled = 0;
	int candidates = machine->gpu ? GPU_CANDIDATES
	    : tier_is_long()	      ? LONG
				      : CANDIDATES;
	nnormal = 0;
	for (int i = 0; i < candidates; i++) {
		Arena *scratch = arena_new();
		Candidate c = random_candidate(space, &rng);
		accepted += check_candidate(
		    scratch, program, space, &c, machine);
		if (space_sample(space, &rng, &c)) {
			sampled++;
			check_candidate(scratch, program, space, &c, machine);
		}
		arena_free(scratch);
	}
	RefusalCount counts[8];
	if (!sampled) {
		int n = space_refusals(space, counts, 8);
		for (int i = 0; i < n; i++)
			print_message("%s: %lld %s\n", program->symbol,
			    (long long)counts[i].count, counts[i].why);
	}
	print_message("# %s: %d of %d at random accepted, %d sampled, %s "
		      "vectors\n",
	    program->symbol, accepted, candidates, sampled,
	    space_count(arena, space));
	assert_true(sampled > 0);
	arena_free(arena);
}

static int is_spec(const struct dirent *e)
{
	const char *dot = strrchr(e->d_name, '.');
	return dot && !strcmp(dot, ".yaml");
}

static void check_spec(const char *path, const Machine *machine)
{
	Arena *arena = arena_new();
	ProgramVec programs = {0};
	Diag diag = {0};
	Error error = {0};
	if (spec_load(arena, path, NULL, 0, NUMERICS_DEFAULT, &diag, &error,
		&programs))
		fail_msg("%s%s", buf_text(&diag.text), error.text);
	static int turn; /* every third case in the quick tier */
	for (int p = 0; p < programs.n; p++)
		if (tier_is_long() || turn++ % 3 == 0)
			check_program(programs.at[p], machine);
	arena_free(arena);
	diag_free(&diag);
}

static void check_folder(const char *folder, const Machine *machine)
{
	struct dirent **names;
	int n = scandir(folder, &names, is_spec, alphasort);
	assert_true(n > 0);
	for (int i = 0; i < n; i++) {
		char path[512];
		snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
		check_spec(path, machine ? machine : &machines[i % 2]);
		free(names[i]);
	}
	free(names);
}

static void test_workloads(void **state)
{
	(void)state;
	check_folder("workloads", NULL);
	check_folder("test/layouts", NULL);
}

static void test_gpu(void **state)
{
	Machine gpu;
	(void)state;
	gpu_machine(gpu_find("sm_80"), &gpu);
	check_folder("workloads", &gpu);
}

/* The row of a plan with `around` on the stack above whoever makes it. */
static void features_below(const Plan *plan, const int64_t *values,
    double around, float *row)
{
	volatile double stack[4096];
	for (int i = 0; i < 4096; i++)
		stack[i] = around;
	plan_features(plan, &machines[0], values, row);
	assert_true(stack[0] == around);
}

/* Each column has a name of its own. */
static void test_names(void **state)
{
	char a[FEATURE_NAME], b[FEATURE_NAME];
	(void)state;
	for (int i = 0; i < FEATURES; i++)
		for (int k = 0; k < i; k++)
			assert_string_not_equal(
			    feature_name(i, a), feature_name(k, b));
	assert_string_equal(feature_name(STAGE_FEATURES, a),
	    "stage2.seconds_ns");
}

/* Many stages, of which the most are one sum. */
static void test_many_stages(void **state)
{
	Arena *arena = arena_new();
	Error error;
	Program *program = program_doubles(arena, 100, 64);
	program_complete(arena, program);
	Nest *nest =
	    schedule_nest(arena, program, &machines[0], NULL, &error);
	Plan *plan = plan_record(arena, nest, &machines[0]);
	int64_t *values = NEW_N(arena, int64_t, tape_size(plan->tape));
	float small[FEATURES], large[FEATURES];
	(void)state;
	tape_eval(plan->tape, NULL, values);
	features_below(plan, values, 0, small);
	features_below(plan, values, 1e300, large);
	assert_memory_equal(small, large, sizeof small);
	arena_free(arena);
}

/* Names of the greatest length: loops that rules name have longer ones. */
static void test_long_names(void **state)
{
	Arena *arena = arena_new();
	Error error;
	Candidate c;
	RefusalCount counts[64];
	Rng rng = rng_stream(1, 0, 0);
	Program *program = program_matmul(arena, 64, 64, 64);
	Block *block = program->blocks;
	(void)state;
	for (int a = 0; a < block->naxes; a++)
		block->axes[a].name = arena_printf(arena, "a%062d", a);
	block->name = arena_printf(arena, "c%062d", 0);
	program_complete(arena, program);
	Space *space = space_new(arena, program, &machines[0], &error);
	for (int i = 0; i < CANDIDATES; i++)
		assert_true(space_sample(space, &rng, &c));
	for (int i = space_refusals(space, counts, 64) - 1; i >= 0; i--)
		if (strstr(counts[i].why, "there is no loop"))
			fail_msg("%s", counts[i].why);
	arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_names),
	    cmocka_unit_test(test_many_stages),
	    cmocka_unit_test(test_long_names),
	    cmocka_unit_test(test_workloads),
	    cmocka_unit_test(test_gpu)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
