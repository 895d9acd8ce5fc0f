/* Many tasks, one budget, on the laboratory's simulated machine: schedulers are
 * repeatable, weights count, a task that has converged gets next to nothing. */
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
#include "tuner/tune/tasks.h"

enum {
	TASKS = 5,
	VISIT = 8,
	SEEDS = 3,
	WIDTHS = 4,
	MACHINES = 12,
	/* chains of annealing: enough for so few candidates, and tune's */
	FEW = 12,
	ALL = 32
};

/* Of the simulated machine; make test has time for the first. */
static int seeds(void)
{
	return tier_is_long() ? SEEDS : 1;
}

static const char *const specs[TASKS] = {
    "workloads/conv2d.yaml:resnet18_c2", "workloads/conv2d.yaml:resnet18_c6",
    "workloads/conv2d.yaml:resnet18_c9", "workloads/depthwise.yaml:mobilenet_d3",
    "workloads/softmax.yaml:sfm_256"};

static const char *const target = "llvm -mcpu=x86-64-v3 -threads=1";

static Arena *of_tasks;
static Task *tasks[TASKS];

static int open_tasks(void **state)
{
	(void)state;
	Error error;
	of_tasks = arena_new();
	for (int i = 0; i < TASKS; i++) {
		tasks[i] = lab_task(of_tasks, specs[i], specs[i], NULL, target,
		    NULL, &error);
		if (!tasks[i])
			return -1;
	}
	return 0;
}

static int close_tasks(void **state)
{
	(void)state;
	arena_free(of_tasks);
	return 0;
}

/* --- a run ------------------------------------------------------------------- */

typedef struct {
	Arena *arena;
	Task *tasks[TASKS];
	SearchSpace spaces[TASKS];
	Guide *guides[TASKS];
	TaskState states[TASKS];
	uint64_t hash; /* of all that was tried, in order */
} Lab;

/* As lab_simulate, once for a seed. */
static void simulate(int i, uint64_t seed)
{
	static double *time_s[MACHINES + 1][TASKS];
	if (time_s[seed][i])
		lab_set_times(tasks[i], time_s[seed][i]);
	else
		lab_simulate(tasks[i], seed, 0.75, 0);
	time_s[seed][i] = tasks[i]->time_s;
}

/* What the limit has to do with the best is another matter for each. */
static Lab open_lab(uint64_t seed, int chains)
{
	Lab lab = {.arena = arena_new(), .hash = seed};
	for (int i = 0; i < TASKS; i++) {
		GuideSettings settings = guide_defaults(seed);
		settings.model.kind = "linear";
		settings.how.chains = chains;
		lab.tasks[i] = tasks[i];
		simulate(i, seed);
		lab.spaces[i] = lab_space(tasks[i]);
		lab.guides[i] =
		    guide_new(tasks[i]->space, &lab.spaces[i], &settings);
		lab.states[i] = task_state(1);
		lab.states[i].bound_s =
		    tasks[i]->best_s * (0.5 + 0.4 * (double)i / TASKS);
	}
	return lab;
}

static void close_lab(Lab *lab)
{
	for (int i = 0; i < TASKS; i++)
		guide_free(lab->guides[i]);
	arena_free(lab->arena);
}

static void visit(Lab *lab, int i)
{
	Candidate batch[VISIT];
	Error error;
	int got = guide_next(lab->guides[i], VISIT, batch);
	for (int k = 0; k < got; k++) {
		int at = lab_number(lab->tasks[i], &batch[k]);
		double time_s = lab->tasks[i]->time_s[at];
		double predicted_s = guide_predict(lab->guides[i], &batch[k]);
		guide_tell(lab->guides[i], &batch[k], time_s);
		task_tell(&lab->states[i], lab->arena, time_s, predicted_s);
		lab->hash = hash_mix(lab->hash * 31 + (uint64_t)(at * TASKS + i));
	}
	lab->states[i].visits++;
	lab->states[i].over = got < VISIT;
	assert_false(guide_fit(lab->guides[i], VISIT, &error));
}

static void run(Lab *lab, const char *scheduler, int visits)
{
	const Scheduler *s = scheduler_named(scheduler);
	for (int i = 0; i < visits; i++) {
		int next = s->next(lab->states, TASKS);
		if (next >= 0)
			visit(lab, next);
	}
}

/* A visit of each first, as candidate 1 is measured of each. */
static void begin(Lab *lab)
{
	for (int i = 0; i < TASKS; i++)
		visit(lab, i);
}

/* Of the weighted sum of times, how much it is above that of the tables' bests. */
static double excess(const Lab *lab)
{
	double sum = 0, best = 0;
	for (int i = 0; i < TASKS; i++) {
		sum += lab->states[i].weight * lab->states[i].best_s;
		best += lab->states[i].weight * lab->tasks[i]->best_s;
	}
	return sum / best - 1;
}

/* --- schedulers ---------------------------------------------------------------- */

static void test_repeatable(void **state)
{
	(void)state;
	for (const Scheduler *s = scheduler_all(); s->name; s++) {
		uint64_t hash[2];
		for (int i = 0; i < 2; i++) {
			Lab lab = open_lab(1, FEW);
			begin(&lab);
			run(&lab, s->name, 40);
			hash[i] = lab.hash;
			close_lab(&lab);
		}
		assert_true(hash[0] == hash[1]);
	}
}

static void test_weights(void **state)
{
	(void)state;
	for (int i = 0; i < TASKS; i++) {
		int visits[2];
		for (int k = 0; k < 2; k++) {
			Lab lab = open_lab(2, FEW);
			lab.states[i].weight = k ? 100 : 1;
			begin(&lab);
			run(&lab, "gradient", 30);
			visits[k] = lab.states[i].visits;
			close_lab(&lab);
		}
		assert_true(visits[1] > visits[0]);
	}
}

/* All are of one size then, and each but the one has most of its gain before it. */
static void test_converged(void **state)
{
	(void)state;
	int converged = 0;
	for (int i = 0; i < TASKS; i++) {
		Lab lab = open_lab(3, FEW);
		for (int k = 0; k < 50; k++)
			visit(&lab, i);
		bool has = task_last_gain(&lab.states[i]) < 0.01;
		begin(&lab);
		for (int k = 0; k < TASKS; k++)
			lab.states[k].weight = 1 / lab.tasks[k]->best_s;
		int before = lab.states[i].visits;
		run(&lab, "gradient", has ? 100 : 0);
		assert_true(lab.states[i].visits - before <= 2);
		converged += has;
		close_lab(&lab);
	}
	assert_true(converged >= 3);
}

static void test_better(void **state)
{
	(void)state;
	static const char *const names[] = {"gradient", "round-robin"};
	double sum[2] = {0};
	for (int seed = 1; seed <= seeds(); seed++)
		for (int k = 0; k < 2; k++) {
			Lab lab = open_lab((uint64_t)seed, ALL);
			begin(&lab);
			run(&lab, names[k], 20);
			sum[k] += excess(&lab) / seeds();
			close_lab(&lab);
		}
	for (int k = 0; k < 2; k++)
		printf("%s: %.2f %% above the best\n", names[k], 100 * sum[k]);
	assert_true(sum[0] < sum[1]);
}

/* --- when to stop ----------------------------------------------------------------- */

/* Shares of their limits that operators reach, from low on. */
static double draw_share(Rng *rng, double low, double width)
{
	return low + width * rng_double(rng);
}

/* Of `past` operators and each of the tasks, whose limits are so far from their
 * bests. */
typedef struct {
	Ceilings past;
	double bound_s[TASKS];
	int enough;
} History;

static History draw_past(Lab *lab, uint64_t seed, double width, int past)
{
	Rng rng = rng_stream(seed, 1, 2);
	History p = {0};
	for (int i = 0; i < past; i++) {
		char op[16];
		snprintf(op, sizeof op, "%d", i);
		ceilings_add(&p.past, lab->arena, op, KIND_SUMS,
		    draw_share(&rng, 0.7, width));
	}
	for (int i = 0; i < TASKS; i++)
		p.bound_s[i] =
		    lab->tasks[i]->best_s * draw_share(&rng, 0.7, width);
	return p;
}

/* Runs each task alone; of each of n pasts, when it was enough for it. */
static void run_until(Lab *lab, History *pasts, int n, double *worst)
{
	for (int i = 0; i < TASKS; i++) {
		TaskState *t = &lab->states[i];
		bool is[WIDTHS] = {false};
		for (int k = 0; k < 40 && !t->over; k++) {
			visit(lab, i);
			for (int w = 0; w < n; w++) {
				t->bound_s = pasts[w].bound_s[i];
				if (is[w] || !task_is_enough(
						 t, &pasts[w].past, 0.03))
					continue;
				is[w] = true;
				pasts[w].enough++;
				*worst = fmax(*worst,
				    t->best_s / lab->tasks[i]->best_s - 1);
			}
		}
	}
}

static void test_until(void **state)
{
	(void)state;
	static const double widths[WIDTHS] = {0, 0.02, 0.06, 0.2};
	double worst = 0;
	int enough[WIDTHS] = {0};
	for (uint64_t seed = 1; seed <= (uint64_t)seeds(); seed++) {
		History pasts[WIDTHS];
		Lab lab = open_lab(seed, FEW);
		for (int w = 0; w < WIDTHS; w++)
			pasts[w] = draw_past(&lab, seed, widths[w], 12);
		run_until(&lab, pasts, WIDTHS, &worst);
		for (int w = 0; w < WIDTHS; w++)
			enough[w] += pasts[w].enough;
		close_lab(&lab);
	}
	for (int w = 0; w < WIDTHS; w++)
		printf("spread %.2f: %d of %d are enough\n", widths[w],
		    enough[w], TASKS * seeds());
	printf("at most %.3f above the best\n", worst);
	assert_true(enough[0] > TASKS * seeds() / 2);
	assert_true(worst < 0.05);
}

/* Of what has no past only the limit itself is enough. */
static void test_until_without_past(void **state)
{
	(void)state;
	double worst = 0;
	Lab lab = open_lab(1, FEW);
	History past = draw_past(&lab, 1, 0, 7);
	run_until(&lab, &past, 1, &worst);
	assert_int_equal(past.enough, 0);
	close_lab(&lab);
}

/* What more trials are said to gain is about what they do, on average: five tasks of
 * one machine are too few for one, since a single one of them that gains a half
 * decides their sum. */
static void test_last_gain(void **state)
{
	(void)state;
	double said = 0, gained = 0;
	for (uint64_t machine = 1; machine <= MACHINES; machine++) {
		Lab lab = open_lab(machine, FEW);
		for (int i = 0; i < TASKS; i++) {
			for (int k = 0; k < 6; k++)
				visit(&lab, i);
			double before = lab.states[i].best_s;
			said += task_last_gain(&lab.states[i]);
			for (int k = 0; k < 6; k++)
				visit(&lab, i);
			gained += 1 - lab.states[i].best_s / before;
		}
		close_lab(&lab);
	}
	printf("said %.3f, gained %.3f\n", said / TASKS / MACHINES,
	    gained / TASKS / MACHINES);
	assert_true(gained < 2 * said && said < 2 * gained);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_repeatable),
	    cmocka_unit_test(test_weights),
	    cmocka_unit_test(test_converged),
	    cmocka_unit_test(test_better),
	    cmocka_unit_test(test_until),
	    cmocka_unit_test(test_until_without_past),
	    cmocka_unit_test(test_last_gain),
	};
	return cmocka_run_group_tests(tests, open_tasks, close_tasks);
}
