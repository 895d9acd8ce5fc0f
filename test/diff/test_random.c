/* Random schedules of random programs, lowered and run by the interpreter of
 * the lowered form with races watched, against the interpreter of programs.
 * Inputs are small integers, for which sums are exact: results are equal. */
#include "codegen/codegen.h"
#include "test/common_schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { QUICK = 2000, LONG = 20000, MOST_STEPS = 16, LEAST_ACCEPTED = 50 };
enum { PADDING = 64, MAX_STEPS = 20000000 };

static const Machine machine = {.threads = 2, .vector_bytes = 32,
    .vector_registers = 16, .fma = true, .masked = true};

static char *printed(Arena *arena, const Trace *trace)
{
	Buf out = {0};
	char *text;

	trace_print(&out, trace);
	text = arena_strdup(arena, buf_text(&out));
	buf_free(&out);
	return text;
}

static void *aligned(Arena *arena, int64_t bytes)
{
	uintptr_t at = (uintptr_t)arena_alloc(
	    arena, (size_t)bytes + 2 * PADDING);

	return (void *)((at + PADDING - 1) / PADDING * PADDING);
}

static void fill(const Buffer *b, void *data, Rng *rng)
{
	for (int64_t i = 0; i < buffer_elements(b); i++) {
		int value = (int)rng_below(rng, 9) - 4;
		switch (b->type) {
		case DT_F32: ((float *)data)[i] = (float)value; break;
		case DT_I8: ((int8_t *)data)[i] = (int8_t)value; break;
		case DT_U8: ((uint8_t *)data)[i] = (uint8_t)(value + 4); break;
		default: fail_msg("a type of the test's programs"); break;
		}
	}
}

static void **make_data(Arena *arena, const Program *p, uint64_t seed)
{
	void **data = NEW_N(arena, void *, p->nbuffers);
	Rng rng = rng_stream(seed, 5, 0);

	for (int i = 0; i < p->nbuffers; i++) {
		data[i] = aligned(arena, buffer_bytes(&p->buffers[i]));
		if (i < p->ninputs)
			fill(&p->buffers[i], data[i], &rng);
	}
	return data;
}

static const char *run(Arena *arena, const LowFunction *f, void **args)
{
	LowRun run = {.check_races = true, .max_steps = MAX_STEPS};

	return low_function_run(f, args, &run)
	    ? NULL : arena_strdup(arena, run.message);
}

/* Runs pack functions and the kernel; outputs[i] is poisoned before. */
static const char *run_all(Arena *arena, const Lowered *lowered, void **data,
    void **outputs)
{
	const Program *p = lowered->program;
	void **args = NEW_N(arena, void *, p->ninputs + p->noutputs + 1);
	const char *why = NULL;
	int packs = 0;

	for (int i = 0; i < p->ninputs && !why; i++) {
		args[i] = data[i];
		if (!p->buffers[i].is_const)
			continue;
		args[i] = aligned(arena, lowered->packed_bytes[packs]);
		memset(args[i], 0xff, (size_t)lowered->packed_bytes[packs]);
		why = run(arena, lowered->packs.at[packs++],
		    (void *[]){data[i], args[i]});
	}
	for (int i = 0; i < p->noutputs; i++)
		args[p->ninputs + i] = outputs[i];
	args[p->ninputs + p->noutputs] =
	    aligned(arena, lowered->workspace_bytes);
	memset(args[p->ninputs + p->noutputs], 0xff,
	    (size_t)lowered->workspace_bytes);
	return why ? why : run(arena, lowered->kernel, args);
}

/* NULL, or what is wrong. */
static const char *compare(Arena *arena, const Lowered *lowered, uint64_t seed)
{
	const Program *p = lowered->program;
	void **data = make_data(arena, p, seed);
	void **outputs = NEW_N(arena, void *, p->noutputs);
	const char *why;

	interp_run(p, data);
	for (int i = 0; i < p->noutputs; i++) {
		size_t bytes = (size_t)buffer_bytes(&p->buffers[p->outputs[i]]);
		outputs[i] = aligned(arena, (int64_t)bytes);
		memset(outputs[i], 0xff, bytes);
	}
	why = run_all(arena, lowered, data, outputs);
	for (int i = 0; i < p->noutputs && !why; i++)
		if (memcmp(outputs[i], data[p->outputs[i]],
			(size_t)buffer_bytes(&p->buffers[p->outputs[i]])))
			why = "the results differ";
	return why;
}

/* Those that only a GPU has. */
static void exclude(Coverage *coverage)
{
	coverage->excluded[PRIMITIVE_bind] = true;
	coverage->excluded[PRIMITIVE_vthread] = true;
}

static void try_seed(int seed, Coverage *coverage, int *lowered_count)
{
	Arena *arena = arena_new();
	Rng rng = rng_stream(2026, 12, (uint64_t)seed);
	Program *program = schedule_random_program(arena, &rng);
	Trace *trace = schedule_random(
	    arena, program, &machine, &rng, MOST_STEPS, coverage);
	Error error;
	Nest *nest = schedule_nest(arena, program, &machine, trace, &error);
	Lowered *lowered = nest ? lower(arena, nest, &machine, &error) : NULL;
	const char *why = nest ? NULL : error.text;

	if (nest && !lowered && error.status != STATUS_UNSUPPORTED)
		why = error.text;
	if (lowered) {
		++*lowered_count;
		why = compare(arena, lowered, (uint64_t)seed);
	}
	if (why)
		fail_msg("seed %d, %s: %s\n%s", seed, program->name, why,
		    printed(arena, trace));
	arena_free(arena);
}

static void test_random(void **state)
{
	const char *tier = getenv("TIER");
	int rounds = tier && !strcmp(tier, "long") ? LONG : QUICK;
	Coverage coverage = {0};
	int lowered = 0;

	(void)state;
	exclude(&coverage);
	for (int i = 0; i < rounds; i++)
		try_seed(i, &coverage, &lowered);
	print_message("%d of %d lowered\n", lowered, rounds);
	assert_true(lowered > rounds / 2);
	for (int i = 0; i < PRIMITIVE_COUNT; i++)
		if (!coverage.excluded[i])
			assert_true(coverage.accepted[i] >= LEAST_ACCEPTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
