/* Random schedules: what infers and verifies runs, step by step and with every
 * access and race checked, to what the plain nest gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/rng.h"
#include "test/common_nest.h"
#include "test/common_program.h"
#include "test/common_schedule.h"
#include "test/common_tier.h"

typedef struct {
	Arena *arena;
	Rng rng;
	Nest *nest;
	ApplyContext context;
	Buf trace;
	Buf open; /* the same with every tile size a slot */
	int64_t slots[64];
	int nslots;
	int names;
} Walk;

typedef struct {
	int tried, applied;
} Count;

static Count counts[64];
static int finished, with_slots, stricter;

static int pick(Walk *w, int n)
{
	return (int)rng_below(&w->rng, (uint64_t)n);
}

static const char *some_stage(Walk *w)
{
	int s = w->nest->order.at[pick(w, w->nest->order.n)];
	return w->nest->stages.at[s].name;
}

static const char *some_buffer(Walk *w)
{
	return w->nest->buffers.at[pick(w, w->nest->buffers.n)].name;
}

/* A loop of a live stage, and where it stands. */
static const char *some_loop(Walk *w, const Stage **stage, int *at)
{
	for (;;) {
		int s = w->nest->order.at[pick(w, w->nest->order.n)];
		*stage = &w->nest->stages.at[s];
		if (!(*stage)->nloops)
			continue;
		*at = pick(w, (*stage)->nloops);
		return w->nest->vars.at[(*stage)->loops[*at]].name;
	}
}

static const char *const scopes[] = {"global", "local", "reg"};
static const char *const styles[] = {"peel", "mask", "guard", "pad"};

static char *random_step(Walk *w)
{
	Arena *a = w->arena;
	const Stage *s;
	int at, n = w->names;
	int factor = (int[]){1, 2, 3, 4, 6, 8}[pick(w, 6)];
	const char *loop = some_loop(w, &s, &at);
	const char *next = w->nest->vars.at[s->loops[pick(w, s->nloops)]].name;
	if (at + 1 < s->nloops && pick(w, 2))
		next = w->nest->vars.at[s->loops[at + 1]].name;
	w->names += 2;
	switch (pick(w, 22)) {
	case 0:
	case 1:
	case 2:
	case 3:
		return arena_printf(
		    a, "l%d, l%d = split(%s, [_, %d])", n, n + 1, loop, factor);
	case 4:
		return arena_printf(a, "l%d = fuse(%s, %s)", n, loop, next);
	case 5:
	case 6:
		return arena_printf(a, "reorder(%s, %s)", next, loop);
	case 7:
		return arena_printf(a, "parallel(%s)", loop);
	case 8:
		return arena_printf(a, "vectorize(%s, %d)", loop, factor);
	case 9:
		return arena_printf(a, "unroll(%s)", loop);
	case 10:
	case 11:
	case 12:
		return arena_printf(
		    a, "compute_at(%s, %s)", some_stage(w), loop);
	case 13:
	case 14:
		return arena_printf(
		    a, "reverse_compute_at(%s, %s)", some_stage(w), loop);
	case 15:
		return arena_printf(a, "compute_inline(%s)", some_stage(w));
	case 16:
		return arena_printf(a, "l%d = cache_read(%s, %s, %s)", n,
		    some_stage(w), some_buffer(w), scopes[pick(w, 3)]);
	case 17:
		return arena_printf(a, "l%d = cache_write(%s, %s)", n,
		    some_stage(w), scopes[pick(w, 3)]);
	case 18:
		return arena_printf(a,
		    "transform_layout(%s, [x1//%d, x0, x1%%%d])", some_stage(w),
		    factor, factor);
	case 19:
		return arena_printf(a, "pad(%s, 0)", some_stage(w));
	case 20:
		return arena_printf(
		    a, "tail(%s, %s)", some_stage(w), styles[pick(w, 4)]);
	default:
		if (pick(w, 2))
			return arena_printf(a, "l%d = rfactor(%s)", n, loop);
		return arena_printf(
		    a, "storage_align(%s, 0, %d, 1)", some_stage(w), factor);
	}
}

/* "... [_, 4])" is "... ? in tile([4, 2])" with 4 in a slot. */
static void note_open(Walk *w, const char *text)
{
	const char *bracket = strstr(text, "[_, ");
	if (!bracket) {
		buf_printf(&w->open, "%s\n", text);
		return;
	}
	int factor = atoi(bracket + 4);
	w->slots[w->nslots++] = factor;
	buf_printf(&w->open, "%.*s? in tile([%d, %d]))\n",
	    (int)(bracket - text), text, factor, factor + 1);
}

static void walk(Walk *w, int steps)
{
	for (int i = 0; i < steps; i++) {
		char *text = random_step(w);
		Trace *one = schedule_steps(w->arena, text);
		int primitive = one->steps.at[0].primitive;
		counts[primitive].tried++;
		if (apply_step(w->nest, &one->steps.at[0], &w->context))
			continue;
		counts[primitive].applied++;
		buf_printf(&w->trace, "%s\n", text);
		note_open(w, text);
	}
}

static Program *random_program(Walk *w)
{
	static const int extents[] = {1, 2, 3, 5, 7, 8};
	int e[4];
	for (int i = 0; i < 4; i++)
		e[i] = extents[pick(w, 6)];
	switch (pick(w, 4)) {
	case 0:
		return program_matmul(w->arena, e[0], e[1], e[2]);
	case 1:
		return program_conv(
		    w->arena, e[0], 2 + e[1], e[2], 1 + pick(w, 2));
	case 2:
		return program_quotient(w->arena, 4 + e[0]);
	default:
		return schedule_chain(w->arena);
	}
}

static void fail_walk(Walk *w, int seed, const char *why)
{
	Buf b = {0};
	nest_print(&b, w->nest);
	print_error(
	    "seed %d: %s\n%s%s", seed, why, buf_text(&w->trace), buf_text(&b));
	buf_free(&b);
	fail();
}

static void compare(Walk *w, const Program *program, int seed)
{
	char message[256];
	const char *why;
	Nest *plain = nest_new(w->arena, program, w->nest->tape);
	assert_true(nest_infer(plain, &why) && nest_verify(plain, &why));
	double *want = nest_simulate(plain, 3, message, sizeof message);
	double *got = nest_simulate(w->nest, 3, message, sizeof message);
	if (!got || !want)
		fail_walk(w, seed, message);
	int64_t n = tape_value(
	    w->nest->tape, plain->buffers.at[program->outputs[0]].elements);
	for (int64_t i = 0; i < n; i++)
		if (got[i] != want[i])
			fail_walk(w, seed, "a wrong element");
}

/* 1: the guards of the trace with slots hold, 0: not, -1: not recorded. */
static int guards_with_slots(Walk *w, const Program *program, const char **why)
{
	Nest *nest = nest_new(w->arena, program, tape_new(w->arena));
	ApplyContext context = {.machine = &test_machine, .use_slots = true};
	int step;
	Trace *trace = schedule_steps(w->arena, buf_text(&w->open));
	if (!trace_apply(nest, trace, &context, &step, why))
		return step < 0 ? 0 : -1;
	int64_t *values = NEW_N(w->arena, int64_t, tape_size(nest->tape));
	tape_eval(nest->tape, w->slots, values);
	for (int i = 0; i < nest->guards.n; i++)
		if (values[nest->guards.at[i].value] != 1) {
			*why = nest->guards.at[i].why;
			return 0;
		}
	return 1;
}

/* What slots decide is what numbers decide. */
static void check_slots(
    Walk *w, const Program *program, int seed, bool accepted, const char *why)
{
	const char *other = NULL;
	int hold = guards_with_slots(w, program, &other);
	if (hold < 0)
		return;
	with_slots++;
	if (hold == accepted)
		return;
	if (hold)
		fail_walk(w, seed, why);
	stricter++;
	if (getenv("SHOW"))
		printf("%d %s\n", seed, other);
}

static void one_seed(int seed)
{
	Walk w = {.arena = arena_new(),
	    .rng = rng_stream((uint64_t)seed, 11, 0),
	    .context = {.machine = &test_machine}};
	const char *why = NULL;
	Program *program = random_program(&w);
	w.nest = nest_new(w.arena, program, tape_new(w.arena));
	walk(&w, 2 + pick(&w, 24));
	bool accepted = nest_infer(w.nest, &why) && nest_verify(w.nest, &why) &&
			!nest_guards_hold(w.nest);
	if (accepted) {
		finished++;
		compare(&w, program, seed);
	}
	check_slots(&w, program, seed, accepted, why);
	buf_free(&w.trace);
	buf_free(&w.open);
	arena_free(w.arena);
}

static void random_schedules(void **state)
{
	const char *only = getenv("SEED");
	int n = tier_is_long() ? 200000 : 4000;
	(void)state;
	if (only) {
		one_seed(atoi(only));
		return;
	}
	for (int seed = 0; seed < n; seed++)
		one_seed(seed);
	print_message("%d ran; %d with slots, %d of them stricter\n", finished,
	    with_slots, stricter);
	assert_true(finished > n / 5);
	for (int i = 0; i < 64; i++)
		if (counts[i].tried)
			assert_true(counts[i].applied > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(random_schedules),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
