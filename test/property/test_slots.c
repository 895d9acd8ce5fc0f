/* Random schedules with their tile sizes as slots: the tape gives what the same
 * steps with numbers give, and the guards hold exactly where those apply. */
#include "test/common_program.h"
#include "test/common_schedule.h"
#include "test/common_tier.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { QUICK = 1000, LONG = 20000, MOST_STEPS = 16, MAX_SLOTS = 64, NFACTORS = 8 };

static const int64_t factors[] = {1, 2, 3, 4, 5, 7, 8, 16};

typedef struct {
	Arena *arena;
	Program *program;
	Rng rng;
	Trace *trace;               /* with numbers */
	Trace *open;                /* its tiles open */
	int nslots;
	int64_t slots[MAX_SLOTS];   /* the numbers of `trace` */
} Trial;

/* Without quotients in indices: their hulls are tighter where a tile is a known
 * multiple of the divisor. */
static Program *random_program(Arena *arena, Rng *rng)
{
	switch (rng_below(rng, 5)) {
	case 0: return program_matmul(arena, 7, 16, 12);
	case 1: return program_conv(arena, 3, 13, 8, 1 + (int)rng_below(rng, 2));
	case 2: return program_matmul(arena, 20, 9, 5);
	case 3: return schedule_stencil(arena, 13);
	default: return schedule_chain(arena);
	}
}

static char *printed(Arena *arena, const Trace *trace)
{
	Buf out = {0};
	char *text;

	trace_print(&out, trace);
	text = arena_strdup(arena, buf_text(&out));
	buf_free(&out);
	return text;
}

/* The factors of a split become an open decision and slots. */
static void open_factors(Trial *t, Step *step)
{
	const TraceValue *list = &step->args[1].value;
	Arg *args = arena_memdup(
	    t->arena, step->args, sizeof *args * (size_t)step->nargs);
	Domain d = {.kind = DOMAIN_TILE, .parts = list->n,
	    .nvalues = NEW_N(t->arena, int, list->n),
	    .values = NEW_N(t->arena, TraceValue *, list->n)};

	d.nvalues[0] = 1;
	d.values[0] = &list->list[0];
	for (int i = 1; i < list->n; i++) {
		d.nvalues[i] = NFACTORS;
		d.values[i] = NEW_N(t->arena, TraceValue, NFACTORS);
		for (int j = 0; j < NFACTORS; j++)
			d.values[i][j] = value_int(factors[j]);
		t->slots[t->nslots++] = list->list[i].i;
	}
	args[1].decision = args[1].open = true;
	args[1].domain = d;
	step->args = args;
}

static void open_tiles(Trial *t)
{
	t->open = NEW(t->arena, Trace);
	for (int i = 0; i < t->trace->steps.n; i++) {
		Step step = t->trace->steps.at[i];
		if (step.primitive == PRIMITIVE_split &&
		    t->nslots + step.args[1].value.n < MAX_SLOTS)
			open_factors(t, &step);
		vec_push(t->arena, &t->open->steps, step);
	}
}

/* The trace with other numbers. */
static Trace *with_numbers(Trial *t, const int64_t *slots)
{
	Trace *out = NEW(t->arena, Trace);
	int slot = 0;

	for (int i = 0; i < t->open->steps.n; i++) {
		Step step = t->trace->steps.at[i];
		Arg *args = arena_memdup(
		    t->arena, step.args, sizeof *args * (size_t)step.nargs);
		int n = step.nargs > 1 ? args[1].value.n : 0;
		if (t->open->steps.at[i].args == step.args) {
			vec_push(t->arena, &out->steps, step);
			continue;
		}
		args[1].value.list = NEW_N(t->arena, TraceValue, n);
		args[1].value.list[0] = value_hole();
		for (int j = 1; j < n; j++)
			args[1].value.list[j] = value_int(slots[slot++]);
		step.args = args;
		vec_push(t->arena, &out->steps, step);
	}
	return out;
}

static bool same(const int64_t *values, Handle a, const Nest *numbers, Handle b)
{
	if (a == HANDLE_NONE || b == HANDLE_NONE)
		return a == b;
	return values[a] == tape_value(numbers->tape, b);
}

static const char *compare_buffers(
    const Nest *a, const int64_t *values, const Nest *b)
{
	for (int i = 0; i < a->buffers.n; i++) {
		const NestBuffer *x = &a->buffers.at[i], *y = &b->buffers.at[i];
		if (!same(values, x->elements, b, y->elements) ||
		    x->alloc != y->alloc || x->nparts != y->nparts)
			return x->name;
		for (int d = 0; d < x->ndim; d++)
			if (!same(values, x->extent[d], b, y->extent[d]))
				return x->name;
		for (int k = 0; k < x->nparts; k++)
			if (!same(values, x->parts[k].stride, b,
				y->parts[k].stride))
				return x->name;
	}
	return NULL;
}

/* What differs; NULL if nothing does. */
static const char *compare_nests(
    const Nest *a, const int64_t *values, const Nest *b)
{
	if (a->vars.n != b->vars.n || a->stages.n != b->stages.n)
		return "the number of variables";
	for (int i = 0; i < a->vars.n; i++)
		if (a->stages.at[a->vars.at[i].stage].live &&
		    a->vars.at[i].name[0] &&
		    !same(values, a->vars.at[i].extent, b,
			b->vars.at[i].extent))
			return a->vars.at[i].name;
	return compare_buffers(a, values, b);
}

static bool guards_hold(const Nest *nest, const int64_t *values)
{
	for (int i = 0; i < nest->guards.n; i++)
		if (values[nest->guards.at[i].value] != 1)
			return false;
	return true;
}

/* One assignment of the slots against the steps with those numbers. */
static const char *check(Trial *t, const Nest *nest, const int64_t *slots)
{
	int64_t *values = NEW_N(t->arena, int64_t, tape_size(nest->tape));
	Error error;
	Trace *trace = with_numbers(t, slots);
	Nest *numbers = schedule_nest(
	    t->arena, t->program, &test_machine, trace, &error);
	const char *what;

	tape_eval(nest->tape, slots, values);
	if (guards_hold(nest, values) != (numbers != NULL))
		return arena_printf(t->arena, "%s with numbers: %s\n%s",
		    numbers ? "accepted" : "refused",
		    numbers ? "" : error.text, printed(t->arena, trace));
	what = numbers ? compare_nests(nest, values, numbers) : NULL;
	return what ? arena_printf(t->arena, "%s differs\n%s", what,
			  printed(t->arena, trace))
		    : NULL;
}

/* What lies below a part of a fused loop that was split again is known closer
 * where quotients by numbers can be worked out. */
static bool splits_fused_loop(const Nest *nest)
{
	for (int i = 0; i < nest->vars.n; i++)
		if (nest->vars.at[i].how == VAR_SPLIT &&
		    nest->vars.at[i].axis < 0)
			return true;
	return false;
}

static void try_seed(int seed, Coverage *coverage, int *recorded, int *held)
{
	Arena *arena = arena_new();
	Trial t = {.arena = arena, .rng = rng_stream(77, 3, (uint64_t)seed)};
	ApplyContext context = {.machine = &test_machine, .use_slots = true};
	int64_t other[MAX_SLOTS];
	const char *why;
	Nest *nest;
	int step;

	t.program = random_program(arena, &t.rng);
	t.trace = schedule_random(
	    arena, t.program, &test_machine, &t.rng, MOST_STEPS, coverage);
	open_tiles(&t);
	nest = nest_new(arena, t.program, tape_new(arena));
	if (trace_apply(nest, t.open, &context, &step, &why) &&
	    !splits_fused_loop(nest)) {
		++*recorded;
		assert_int_equal(context.nslots, t.nslots);
		why = check(&t, nest, t.slots);
		for (int i = 0; i < 4 && !why; i++) {
			for (int j = 0; j < t.nslots; j++)
				other[j] = factors[rng_below(&t.rng, NFACTORS)];
			why = check(&t, nest, other);
		}
		*held += t.nslots > 0;
		if (why)
			fail_msg("seed %d: %s", seed, why);
	}
	arena_free(arena);
}

static void test_slots(void **state)
{
	int rounds = tier_is_long() ? LONG : QUICK;
	int recorded = 0, with_slots = 0;
	Coverage coverage = {0};

	(void)state;
	/* with slots a loop of as many iterations as lanes is split all the
	 * same: one loop more, which runs once */
	coverage.excluded[PRIMITIVE_vectorize] = true;
	for (int i = 0; i < rounds; i++)
		try_seed(i, &coverage, &recorded, &with_slots);
	print_message("%d of %d recorded, %d with slots\n", recorded, rounds,
	    with_slots);
	assert_true(recorded > rounds / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_slots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
