/* What logs of other operators are worth, in the laboratory: of a machine that has
 * something wrong with the analytic model, and of one whose logs are nonsense. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/common_tier.h"
#include "test/lab/lab.h"

enum {
	TASKS = 6,
	TEACHERS = 4,
	BATCH = 12,
	TRIALS = 96,
	SEEDS = 3,
	MANY_SEEDS = 24, /* that say a tenth of the trials from none */
	MACHINES = 3
};
static const char *const layers[TASKS] = {"workloads/conv2d.yaml:resnet18_c1",
    "workloads/conv2d.yaml:resnet18_c2", "workloads/conv2d.yaml:resnet18_c5",
    "workloads/conv2d.yaml:resnet18_c6", "workloads/conv2d.yaml:resnet18_c7",
    "workloads/conv2d.yaml:resnet18_c9"};
static const char *const target = "llvm -mcpu=x86-64-v3 -threads=1";

static Arena *arena;
static Task *tasks[TASKS];

static int setup(void **state)
{
	Error error;
	(void)state;
	arena = arena_new();
	for (int i = 0; i < TASKS; i++)
		if (!(tasks[i] = lab_task(arena, layers[i], layers[i], NULL,
			  target, NULL, &error)))
			fail_msg("%s", error.text);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_free(arena);
	return 0;
}

/* What the analytic model has wrong is for the greater part the same of all. */
static void simulate(uint64_t machine, double correlation)
{
	for (int i = 0; i < TASKS; i++)
		lab_simulate(tasks[i], machine, correlation, 0.9);
}

static Transfer *logs(uint64_t seed, bool shuffled)
{
	Transfer *t = transfer_new(tasks[0]->target);
	for (int i = 0; i < TEACHERS; i++) {
		Past p = lab_log(tasks[i], seed + (uint64_t)i, shuffled);
		transfer_add(t, &p);
	}
	return t;
}

/* A space takes its own candidates as they are, and most of others, as part of which
 * some are illegal. */
static void test_carry(void **state)
{
	(void)state;
	Candidate c;
	int carried = 0, all = 0;
	for (int i = 0; i < TASKS; i++)
		for (int k = 0; k < tasks[i]->all.n; k += 97) {
			const Candidate *from = &tasks[i]->all.items[k];
			assert_true(space_carry(
			    tasks[i]->space, tasks[i]->space, from, &c));
			assert_memory_equal(&c, from, sizeof c);
			const Task *other = tasks[(i + 1) % TASKS];
			all++;
			if (!space_carry(
				other->space, tasks[i]->space, from, &c))
				continue;
			carried++;
			assert_in_range(
			    lab_number(other, &c), 0, other->all.n - 1);
		}
	assert_true(carried > 0.8 * all);
}

static Model *learn(Transfer *t)
{
	Model *model;
	Error error;
	if (transfer_learn(t, 1, &model, &error))
		fail_msg("%s", error.text);
	return model;
}

static char *text_of(Transfer *t)
{
	Buf text = {0};
	Model *model = learn(t);
	transfer_write_model(&text, model, t->target);
	model_free(model);
	transfer_free(t);
	return text.data;
}

/* The same rows give the same bytes, whoever came first. */
static void test_order(void **state)
{
	(void)state;
	char *text[2];
	simulate(1, 0.9);
	for (int turned = 0; turned < 2; turned++) {
		Transfer *t = transfer_new(tasks[0]->target);
		for (int i = 0; i < TEACHERS; i++) {
			int k = turned ? TEACHERS - 1 - i : i;
			Past p = lab_log(tasks[k], 7, false);
			transfer_add(t, &p);
		}
		text[turned] = text_of(t);
	}
	assert_string_equal(text[0], text[1]);
	free(text[0]);
	free(text[1]);
}

/* What cannot be true is left out; the nearest come first, each once. */
static void test_wrong_and_near(void **state)
{
	(void)state;
	Candidate starts[GUIDE_STARTS];
	Transfer *t = transfer_new(tasks[0]->target);
	simulate(1, 0.97);
	for (int i = 0; i < TASKS; i++) {
		Past p = lab_log(tasks[i], 7, false);
		if (!i)
			p.time_s[9] /= 1e6;
		transfer_add(t, &p);
	}
	model_free(learn(t));
	assert_int_equal(t->facts.wrong, 1);
	assert_int_equal(t->facts.records, TASKS * LAB_LOGGED - 1);
	for (int i = 0; i < TASKS; i++) {
		const Past *own = NULL;
		for (int k = 0; k < TASKS; k++)
			if (t->pasts.at[k].program == tasks[i]->program)
				own = &t->pasts.at[k];
		int n = transfer_starts(
			t, own->program, own->space, starts, GUIDE_STARTS),
		    best = 0;
		for (int k = 1; k < own->n; k++)
			if (own->time_s[k] < own->time_s[best])
				best = k;
		assert_in_range(n, 1, GUIDE_STARTS);
		assert_memory_equal(
		    &starts[0], &own->candidates[best], sizeof *starts);
		for (int k = 1; k < n; k++)
			assert_memory_not_equal(
			    &starts[k], &starts[k - 1], sizeof *starts);
	}
	transfer_free(t);
}

typedef struct {
	double first,
	    trials; /* ln: share of the best after a batch; trials to it */
} Figures;

/* Means over tasks and seeds; in the quick tier of the first batch alone. */
static Figures figures(const Transfer *t, const Model *global)
{
	double best_s[TRIALS];
	Figures f = {0, 0};
	uint64_t seeds = tier_is_long() ? MANY_SEEDS : SEEDS;
	int trials = tier_is_long() ? TRIALS : BATCH;
	double runs = (double)seeds * (TASKS - TEACHERS);
	Error error;
	for (int i = TEACHERS; i < TASKS; i++)
		for (uint64_t seed = 1; seed <= seeds; seed++) {
			float curve[TRIALS];
			GuideSettings g = guide_defaults(seed);
			if (t)
				lab_begin_with(t, global, tasks[i], &g);
			if (lab_run(
				tasks[i], &g, BATCH, trials, best_s, &error))
				fail_msg("%s", error.text);
			for (int k = 0; k < trials; k++)
				curve[k] =
				    (float)(tasks[i]->best_s / best_s[k]);
			f.first += log(curve[BATCH - 1]) / runs;
			f.trials +=
			    log(lab_trials_to(curve, trials, 0.95)) / runs;
		}
	return f;
}

static void add(Figures *sum, Figures f)
{
	sum->first += f.first / MACHINES;
	sum->trials += f.trials / MACHINES;
}

/* By logs that say something a search is ahead after its first batch, and needs
 * fewer trials; logs whose times are those of other candidates are seen to teach
 * nothing, and cost no tenth of the trials. */
static void test_trials(void **state)
{
	(void)state;
	Figures none = {0, 0}, useful = {0, 0}, nonsense = {0, 0};
	for (uint64_t machine = 1; machine <= MACHINES; machine++) {
		simulate(machine, 0.8);
		Transfer *good = logs(machine, false),
			 *bad = logs(machine, true);
		Model *model = learn(good), *nothing = learn(bad);
		assert_non_null(model);
		assert_null(nothing);
		assert_true(good->facts.useful && !bad->facts.useful);
		add(&none, figures(NULL, NULL));
		add(&useful, figures(good, model));
		add(&nonsense, figures(bad, NULL));
		model_free(model);
		transfer_free(good);
		transfer_free(bad);
	}
	print_message("of the best after %d: %.3f alone, %.3f by logs, %.3f by "
		      "nonsense\n",
	    BATCH, exp(none.first), exp(useful.first), exp(nonsense.first));
	assert_true(useful.first > none.first + log(1.25));
	if (!tier_is_long())
		return;
	print_message(
	    "trials to 95 %%: %.1f alone, %.1f by logs, %.1f by nonsense\n",
	    exp(none.trials), exp(useful.trials), exp(nonsense.trials));
	assert_true(useful.trials < none.trials + log(0.85));
	assert_true(nonsense.trials < none.trials + log(1.1));
}

int main(void)
{
	const char *build = getenv("BUILD");
	setenv("TUNEC_MODULES", build ? build : "build", 0);
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_carry),
	    cmocka_unit_test(test_order),
	    cmocka_unit_test(test_wrong_and_near),
	    cmocka_unit_test(test_trials),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
