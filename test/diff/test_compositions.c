/* Programs of many layers as `build` compiles them without a record, for CPUs and
 * devices: every group has a schedule that applies, none is plain loops, and the
 * whole computes what it says, of small numbers and of inputs half of which are
 * zeros; by the interpreter of the lowered form.
 *
 * Those of test/diff/compositions/, then random ones; their seeds are printed.
 * SEED=n begins there, COMPOSITIONS=n are so many. */
#include "test/common_compose.h"
#include "test/common_lower.h"
#include "test/common_program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <glob.h>
#include <math.h>

#include "ir/spec/spec.h"
#include "schedule/groups.h"
#include "test/common_tier.h"

enum { QUICK = 12, LONG = 1000, TRIES = 200 };

static const double ALLOWED = 1e-3; /* of a result's largest element */

static const char *const targets[] = {"llvm -mcpu=x86-64-v3 -threads=2",
    "cuda -arch=sm_90", "llvm -mcpu=x86-64-v4 -threads=1", "opencl -device=gpu",
    "c", "hip -arch=gfx90a", "cuda -arch=sm_75"};
enum { TARGETS = sizeof targets / sizeof *targets };

static const Numerics numerics[] = {
    NUMERICS_DEFAULT, NUMERICS_FAST, NUMERICS_DEFAULT, NUMERICS_EXACT};
enum { MODES = sizeof numerics / sizeof *numerics };

typedef struct {
	Arena *arena;
	const Program *program;
	const Target *target;
	const char *of;	   /* seed or file, for messages */
	const char *wrong; /* NULL: nothing so far */
} Composed;

/* --- as it is built ------------------------------------------------------------- */

/* Candidate 1 of a group, which has to be carried out; NULL. */
static Trace *first_of(Composed *c, const Program *group)
{
	const Machine *machine = &c->target->machine;
	Error error = {0};
	Candidate first;
	Space *space = space_new(c->arena, group, machine, &error);
	if (!space || !space_first(space, TRIES, &first)) {
		c->wrong = arena_printf(c->arena,
		    "group %s has no candidate 1: %s", group->name, error.text);
		return NULL;
	}
	Trace *trace = space_trace(c->arena, space, &first);
	Nest *nest = schedule_nest(c->arena, group, machine, trace, &error);
	if (!nest || !lower(c->arena, nest, machine, &error)) {
		c->wrong = arena_printf(c->arena, "candidate 1 of group %s: %s",
		    group->name, error.text);
		return NULL;
	}
	return trace;
}

static const Lowered *joined(Composed *c, const Groups *g, Trace **traces)
{
	const Machine *machine = &c->target->machine;
	Error error = {0};
	Trace *trace = groups_join(c->arena, g, traces, &error);
	Nest *nest = trace
	    ? schedule_nest(c->arena, c->program, machine, trace, &error)
	    : NULL;
	Lowered *l = nest ? lower(c->arena, nest, machine, &error) : NULL;
	if (!l)
		c->wrong = arena_printf(c->arena, "the whole: %s", error.text);
	return l;
}

/* NULL: a group would be plain loops. */
static const Lowered *built(Composed *c)
{
	Error error = {0};
	Groups *g = groups_of(c->arena, c->program, NULL);
	Trace **traces = NEW_N(c->arena, Trace *, g->n);
	Trace **firsts = NEW_N(c->arena, Trace *, g->n);
	for (int i = 0; i < g->n; i++) {
		int same = g->groups[i].same_as;
		if (!firsts[same])
			firsts[same] = first_of(c, g->groups[same].program);
		if (!firsts[same])
			return NULL;
		traces[i] = groups_trace(c->arena, g, i, firsts[same], &error);
	}
	return joined(c, g, traces);
}

/* --- what it computes ------------------------------------------------------------ */

static void fill(const Composed *c, void **data, Rng *rng, bool zeros)
{
	const Program *p = c->program;
	for (int b = 0; b < p->ninputs; b++) {
		int64_t n = buffer_elements(&p->buffers[b]);
		if (p->buffers[b].type != DT_F32)
			continue;
		for (int64_t i = 0; i < n; i++)
			((float *)data[b])[i] = zeros && i < n / 2
			    ? 0.0f
			    : (float)(rng_double(rng) - 0.5);
	}
}

/* Elements near 0 among large ones have the error of these. */
static double allowed(const Composed *c, void *const *data)
{
	const Program *p = c->program;
	double largest = 1;
	for (int o = 0; o < p->noutputs; o++) {
		const Buffer *b = &p->buffers[p->outputs[o]];
		const float *at = data[p->outputs[o]];
		for (int64_t i = 0; b->type == DT_F32 && i < buffer_elements(b);
		     i++)
			if (isfinite(at[i]))
				largest = fmax(largest, fabs(at[i]));
	}
	return ALLOWED * largest;
}

/* Prints what is wrong; 1, or 0. */
static int check(Composed *c, int number)
{
	const Lowered *l = built(c);
	Rng rng = rng_stream(2026, 43, (uint64_t)number);
	void **data = lowercheck_data(c->arena, c->program, &rng);
	for (int zeros = 0; zeros < 2 && !c->wrong; zeros++) {
		fill(c, data, &rng, zeros);
		lowercheck_expect(c->program, data);
		c->wrong = lowercheck_run(
		    c->arena, l, data, allowed(c, data), NULL, NULL);
	}
	if (c->wrong)
		print_message(
		    "# %s, %s: %s\n", c->of, c->target->text, c->wrong);
	return c->wrong != NULL;
}

static const Target *target_of(Arena *arena, int i)
{
	Error error = {0};
	const Target *t = target_parse(arena, targets[i % TARGETS], &error);
	if (!t)
		fail_msg("%s", error.text);
	return t;
}

/* --- the tests --------------------------------------------------------------------- */

static void test_known(void **state)
{
	glob_t files;
	int errors = 0;
	(void)state;
	assert_int_equal(
	    glob("test/diff/compositions/*.yaml", 0, NULL, &files), 0);
	for (size_t i = 0; i < files.gl_pathc * TARGETS; i++) {
		Arena *arena = arena_new();
		const char *path = files.gl_pathv[i / TARGETS];
		ProgramVec programs = {0};
		Diag diag = {0};
		Error error = {0};
		if (spec_load(arena, path, NULL, 0, NUMERICS_DEFAULT, &diag,
			&error, &programs))
			fail_msg(
			    "%s: %s%s", path, buf_text(&diag.text), error.text);
		Composed c = {arena, programs.at[0],
		    target_of(arena, (int)(i % TARGETS)), path, NULL};
		errors += check(&c, (int)i);
		diag_free(&diag);
		arena_free(arena);
	}
	globfree(&files);
	assert_int_equal(errors, 0);
}

static int number(const char *variable, int otherwise)
{
	const char *text = getenv(variable);
	return text ? atoi(text) : otherwise;
}

/* Each for one target and in one mode of numerics. */
static void test_random(void **state)
{
	int first = number("SEED", 0),
	    n = number("COMPOSITIONS",
		getenv("SEED")	     ? 1
		    : tier_is_long() ? LONG
				     : QUICK);
	int errors = 0;
	(void)state;
	print_message(
	    "# compositions of seeds %d to %d\n", first, first + n - 1);
	for (int seed = first; seed < first + n; seed++) {
		Arena *arena = arena_new();
		Rng rng = rng_stream(2026, 42, (uint64_t)seed);
		const char *of = arena_printf(arena, "seed %d", seed);
		const char *text = compose(arena, &rng, "composed", 1);
		Composed c = {arena,
		    program_of_text(arena, text, numerics[seed % MODES]),
		    target_of(arena, seed), of, NULL};
		errors += check(&c, seed);
		arena_free(arena);
	}
	assert_int_equal(errors, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_known),
	    cmocka_unit_test(test_random),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
