/* Reductions that the threads of a block share out: schedules by hand, run by the
 * interpreter with races checked, with exchanges between the threads of a warp and
 * without, against what the program says.  And its checker: a barrier or an
 * exchange that is taken out is found. */
#include "test/common_lower.h"
#include "test/common_program.h"
#include "test/common_schedule.h"

#include "codegen/gpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static Arena *arena;

#define ROWS(text) \
	"tunec: 1\nname: rows\ninputs: {x: '" text
#define SUM ROWS("f32[6, 70]'}\ncompute: |\n") \
	"  y[i < 6] = sum[j < 70](x[i, j])\n"
#define SOFTMAX ROWS("f32[5, 100]'}\ncompute: |\n") \
	"  top[i < 5] = max[j < 100](x[i, j])\n" \
	"  e[i < 5, j < 100] = exp(x[i, j] - top[i])\n" \
	"  total[i < 5] = sum[j < 100](e[i, j])\n" \
	"  y[i < 5, j < 100] = e[i, j]/total[i]\n"

/* Rows of y by R in a block, T threads for each; sums in acc. */
#define ACC(axes) \
	"acc = cache_write(y, reg)\nb, r, one = split(y.i, [_, $R, 1])\n" \
	"bind(b, blockIdx.x)\nbind(r, threadIdx.y)\nbind(one, threadIdx.x)\n" \
	"compute_at(acc, b)\n" axes
#define ACC_ROW \
	"j0, j1 = split(acc.j, [_, $T])\nreorder(acc.i, j1, j0)\n" \
	"bind(acc.i, threadIdx.y)\nbind(j1, threadIdx.x)\n"
/* The same for a block of softmax, its reduction or elements shared out alike. */
#define PART(s, at) \
	"compute_at(" s ", b)\nset_scope(" s ", reg)\n" \
	s "0, " s "1 = split(" s ".j, [_, $T])\n" \
	"reorder(" s ".i, " s "1, " s "0)\n" \
	"bind(" s ".i, threadIdx.y)\nbind(" s "1, threadIdx.x)\nunroll(" s "0)\n"

static const struct {
	const char *name, *program, *steps;
	double tolerance;
} cases[] = {
    {"sum", SUM, ACC(ACC_ROW), 0},
    {"unrolled", SUM, ACC(ACC_ROW "unroll(j0)\n"), 0},
    {"lanes", SUM, ACC("j0, j1, jv = split(acc.j, [_, $T, 2])\n"
	"reorder(acc.i, j1, j0, jv)\nbind(acc.i, threadIdx.y)\n"
	"bind(j1, threadIdx.x)\nvectorize(jv, 2)\ntail(acc, mask)\n"), 0},
    {"least", ROWS("i32[6, 70]'}\ncompute: |\n")
	"  y[i < 6] = min[j < 70](x[i, j])\n", ACC(ACC_ROW), 0},
    {"wide", ROWS("f64[6, 70]'}\ncompute: |\n")
	"  y[i < 6] = sum[j < 70](x[i, j])\n", ACC(ACC_ROW), 0},
    {"bytes", ROWS("u8[6, 70]'}\ncompute: |\n")
	"  y[i < 6] = max[j < 70](x[i, j])\n", ACC(ACC_ROW), 0},
    {"bool", ROWS("i32[6, 70]'}\ncompute: |\n")
	"  y[i < 6] = max[j < 70](x[i, j] > 2)\n", ACC(ACC_ROW), 0},
    {"down", ROWS("f32[70, 6]'}\ncompute: |\n")
	"  y[i < 6] = sum[j < 70](x[j, i])\n",
	"acc = cache_write(y, reg)\nb, r, one = split(y.i, [_, $R, 1])\n"
	"bind(b, blockIdx.x)\nbind(r, threadIdx.x)\nbind(one, threadIdx.y)\n"
	"compute_at(acc, b)\nj0, j1 = split(acc.j, [_, $T])\n"
	"reorder(acc.i, j1, j0)\nbind(acc.i, threadIdx.x)\n"
	"bind(j1, threadIdx.y)\n", 0},
    {"both ways", ROWS("f32[6, 9, 40]'}\ncompute: |\n")
	"  y[i < 6] = sum[k < 9, j < 40](x[i, k, j])\n",
	"acc = cache_write(y, reg)\nb, o, one = split(y.i, [_, 1, 1])\n"
	"bind(b, blockIdx.x)\nbind(o, threadIdx.y)\nbind(one, threadIdx.x)\n"
	"compute_at(acc, b)\nj0, j1 = split(acc.j, [_, $T])\n"
	"k0, k1 = split(acc.k, [_, $R])\nreorder(acc.i, k1, j1, k0, j0)\n"
	"bind(k1, threadIdx.y)\nbind(j1, threadIdx.x)\nunroll(acc.i)\n", 0},
    {"several results", ROWS("f32[6, 70]'}\ncompute: |\n")
	"  y[i < 6] = sum[j < 70](x[i, j])\n",
	"acc = cache_write(y, reg)\nb, r, u, one = split(y.i, [_, $R, 2, 1])\n"
	"bind(b, blockIdx.x)\nbind(r, threadIdx.y)\nunroll(u)\n"
	"bind(one, threadIdx.x)\ncompute_at(acc, b)\n"
	"ar, au = split(acc.i, [_, 2])\nj0, j1 = split(acc.j, [_, $T])\n"
	"reorder(ar, j1, au, j0)\nbind(ar, threadIdx.y)\n"
	"bind(j1, threadIdx.x)\nunroll(au)\n", 0},
    {"step by step", SUM, "acc = cache_write(y, reg)\n"
	"b, s, r, one = split(y.i, [_, 2, $R, 1])\nbind(b, blockIdx.x)\n"
	"bind(r, threadIdx.y)\nbind(one, threadIdx.x)\ncompute_at(acc, s)\n"
	ACC_ROW, 0},
    {"softmax", SOFTMAX,
	"b, r = split(y.i, [_, $R])\nj0, j1 = split(y.j, [_, $T])\n"
	"reorder(b, r, j1, j0)\nbind(b, blockIdx.x)\nbind(r, threadIdx.y)\n"
	"bind(j1, threadIdx.x)\nunroll(j0)\ntail(y, mask)\n"
	PART("total", "") PART("e", "") PART("top", ""), 1e-6},
};

/* Threads for a row, rows of a block. */
static const struct {
	const char *t, *r;
} shapes[] = {{"32", "1"}, {"8", "4"}, {"16", "4"}, {"64", "2"}, {"4", "3"},
    {"128", "1"}, {"48", "2"}, {"7", "1"}, {"256", "1"}};

static char *with_shape(const char *steps, const char *t, const char *r)
{
	Buf text = {0};
	for (const char *p = steps; *p; p++) {
		bool shape = *p == '$';
		buf_printf(&text, shape ? "%s" : "%.1s",
		    !shape ? p : p[1] == 'T' ? t : r);
		p += shape;
	}
	char *result = arena_strdup(arena, buf_text(&text));
	buf_free(&text);
	return result;
}

static Machine machine_of(bool exchanges)
{
	Machine machine;
	gpu_machine(gpu_find("sm_80"), &machine);
	machine.exchanges = exchanges ? LOW_WARP : 0;
	return machine;
}

static Program *program_of(const char *text)
{
	return program_of_text(arena, text, NUMERICS_DEFAULT);
}

static Lowered *lowered_of(
    Program *p, const Machine *machine, const char *steps, Error *error)
{
	Nest *nest = schedule_nest(
	    arena, p, machine, schedule_steps(arena, steps), error);
	Lowered *l = nest ? lower(arena, nest, machine, error) : NULL;
	return l && lower_launches(l, machine, error) ? l : NULL;
}

static const char *try_case(size_t i, size_t shape, bool exchanges)
{
	Error error = {0};
	Rng rng = rng_stream(7, (uint64_t)i, (uint64_t)shape);
	Machine machine = machine_of(exchanges);
	Program *p = program_of(cases[i].program);
	void **data = lowercheck_data(arena, p, &rng);
	char *steps = with_shape(
	    cases[i].steps, shapes[shape].t, shapes[shape].r);
	Lowered *l = lowered_of(p, &machine, steps, &error);
	if (!l)
		return arena_strdup(arena, error.text);
	if (l->launches.n != 1)
		return "more than one launch";
	lowercheck_expect(p, data);
	return lowercheck_run(
	    arena, l, data, cases[i].tolerance, NULL, NULL);
}

static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
			for (int exchanges = 0; exchanges < 2; exchanges++) {
				const char *why = try_case(i, k, exchanges);
				if (why)
					fail_msg("%s, %s threads, %s rows%s: %s",
					    cases[i].name, shapes[k].t,
					    shapes[k].r,
					    exchanges ? ", exchanges" : "", why);
			}
}

/* --- what is refused ---------------------------------------------------------- */

static const struct {
	const char *program, *steps, *why;
} refusals[] = {
    {SUM, "bind(y.i, blockIdx.x)\nbind(y.j, threadIdx.x)\n",
	"what threads reduce together is not in registers"},
    {SUM, "acc = cache_write(y, reg)\nb, r = split(y.i, [_, 2])\n"
	  "bind(r, threadIdx.y)\ncompute_at(acc, b)\n"
	  "bind(acc.i, threadIdx.y)\nbind(acc.j, threadIdx.x)\n",
	"does not move a buffer in registers"},
    {SUM, "acc = cache_write(y, reg)\nb, r = split(y.i, [_, 2])\n"
	  "bind(b, blockIdx.x)\nbind(r, threadIdx.y)\ncompute_at(acc, r)\n"
	  "bind(acc.j, threadIdx.x)\nunroll(acc.i)\n",
	"threads reduce together below a thread loop"},
    /* what has threads of its own is read by them at other places */
    {SUM, "acc = cache_write(y, reg)\nb, r = split(y.i, [_, 2])\n"
	  "bind(b, blockIdx.x)\nbind(r, threadIdx.x)\ncompute_at(acc, b)\n"
	  "bind(acc.j, threadIdx.x)\nunroll(acc.i)\n",
	"a thread reads registers of another one"},
};

static void test_refused(void **state)
{
	Machine machine = machine_of(true);
	(void)state;
	for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
		Error error = {0};
		if (lowered_of(program_of(refusals[i].program), &machine,
			refusals[i].steps, &error))
			fail_msg("accepted: %s", refusals[i].steps);
		if (!strstr(error.text, refusals[i].why))
			fail_msg("%s: %s", refusals[i].steps, error.text);
	}
}

/* The order of a sum of floats is kept where it has to be. */
static void test_exact(void **state)
{
	static const char *const texts[] = {SUM,
	    ROWS("i32[6, 70]'}\ncompute: |\n")
	    "  y[i < 6] = sum[j < 70](x[i, j])\n"};
	Machine machine = machine_of(true);
	char *steps = with_shape(cases[0].steps, "32", "1");
	(void)state;
	for (int i = 0; i < 2; i++) {
		Error error = {0};
		Program *p = program_of_text(arena, texts[i], NUMERICS_EXACT);
		bool accepted = lowered_of(p, &machine, steps, &error);
		if (accepted != (i == 1) ||
		    (!i && !strstr(error.text, "exact numerics")))
			fail_msg("%d: %s", i, error.text);
	}
}

/* --- taken out ------------------------------------------------------------------ */

/* Takes out the n-th barrier or exchange; false: there are not so many. */
static bool take_out(LowBody *body, int *n)
{
	for (int i = 0; i < body->n; i++) {
		LowNode *node = body->at[i];
		bool found = node->kind == LOWNODE_OP &&
		    (node->op == LOW_BARRIER || node->op == LOW_WARP_XOR);
		if (found && (*n)-- == 0) {
			if (node->op == LOW_WARP_XOR)
				node->op = LOW_COPY;
			else
				*node = (LowNode){
				    .kind = LOWNODE_COMMENT, .comment = "-"};
			return true;
		}
		if (take_out(&node->body, n) || take_out(&node->other, n))
			return true;
	}
	return false;
}

static int mutants_of(size_t i, const char *t, const char *r, bool exchanges)
{
	Rng rng = rng_stream(7, 0, 0);
	Machine machine = machine_of(exchanges);
	Program *p = program_of(cases[i].program);
	void **data = lowercheck_data(arena, p, &rng);
	lowercheck_expect(p, data);
	for (int number = 0;; number++) {
		Error error = {0};
		int n = number;
		Lowered *l = lowered_of(p, &machine,
		    with_shape(cases[i].steps, t, r), &error);
		assert_non_null(l);
		if (!take_out(&l->launches.at[0].function->body, &n))
			return number;
		if (!lowercheck_run(
			arena, l, data, cases[i].tolerance, NULL, NULL))
			fail_msg("%s: without number %d nothing is found",
			    cases[i].name, number);
	}
}

static size_t case_named(const char *name)
{
	size_t i = 0;
	while (strcmp(cases[i].name, name))
		i++;
	return i;
}

static void test_taken_out(void **state)
{
	(void)state;
	/* 5 of a warp, 2 of its 4; a barrier between */
	assert_int_equal(mutants_of(case_named("sum"), "128", "1", true), 8);
	/* from 128 to 16, to 2, which all combine */
	assert_int_equal(mutants_of(case_named("sum"), "128", "1", false), 3);
	assert_int_equal(
	    mutants_of(case_named("several results"), "8", "4", true), 6);
	/* its parts' memory is used again */
	assert_int_equal(
	    mutants_of(case_named("step by step"), "64", "1", true), 8);
}

static int setup(void **state)
{
	(void)state;
	arena = arena_new();
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
	    cmocka_unit_test_setup_teardown(test_cases, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_exact, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_taken_out, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
