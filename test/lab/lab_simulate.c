/* A machine that no model knows: the analytic model's time, and for each pair of
 * decisions an effect of their two values, from a hash of the seed.  No feature
 * shows these; how large they are together is chosen so that the analytic model
 * is right as often as on a real machine. */
#include <math.h>
#include <stdlib.h>

#include "test/lab/lab.h"

enum { STEPS = 40 };

static double effect(const Candidate *c, int p, int q, uint64_t seed)
{
	uint64_t h = hash_mix(seed + c->sketch);
	h = hash_mix(h ^ ((uint64_t)p << 32 | (uint64_t)(uint16_t)c->at[p]));
	h = hash_mix(h ^ ((uint64_t)q << 32 | (uint64_t)(uint16_t)c->at[q]));
	return (double)(h >> 11) * 0x1p-52 - 1;
}

/* Of all pairs of decisions that are open. */
static double effects(Space *space, const Candidate *c, uint64_t seed)
{
	double sum = 0;
	for (int p = 0; p < space_nparts(space, c->sketch); p++)
		for (int q = 0; q <= p; q++)
			if (space_part_size(space, c->sketch, p) > 1 &&
			    space_part_size(space, c->sketch, q) > 1)
				sum += effect(c, p, q, seed);
	return sum;
}

static void all_times(const double *analytic, const double *effect, double size,
    int n, double *time_s)
{
	for (int i = 0; i < n; i++)
		time_s[i] = analytic[i] * exp(size * effect[i]);
}

/* A sum of features, each with a weight of its own. */
static double shared_effect(Space *space, const Candidate *c, uint64_t seed)
{
	float row[FEATURES];
	double sum = 0;
	space_features(space, c, 1, row);
	for (int i = 0; i < FEATURES; i += 4) {
		uint64_t h = hash_mix(seed + 1000 + (uint64_t)i);
		sum += row[i] * ((double)(h >> 11) * 0x1p-52 - 1);
	}
	return sum;
}

/* In units of its deviation. */
static void normalize(double *x, int n)
{
	double mean = 0, square = 1e-12;
	for (int i = 0; i < n; i++)
		mean += x[i] / n;
	for (int i = 0; i < n; i++)
		square += (x[i] - mean) * (x[i] - mean) / n;
	for (int i = 0; i < n; i++)
		x[i] = (x[i] - mean) / sqrt(square);
}

/* The effects, with what tasks share among them. */
static void add_shared(Task *task, uint64_t seed, double shared, double *effect)
{
	int n = task->all.n;
	double *common = NEW_N(task->arena, double, n);
	for (int i = 0; i < n; i++)
		common[i] =
		    shared_effect(task->space, &task->all.items[i], seed);
	normalize(common, n);
	normalize(effect, n);
	for (int i = 0; i < n; i++)
		effect[i] =
		    sqrt(shared) * common[i] + sqrt(1 - shared) * effect[i];
}

void lab_simulate(Task *task, uint64_t seed, double correlation, double shared)
{
	int n = task->all.n;
	double *analytic = NEW_N(task->arena, double, n);
	double *effect = NEW_N(task->arena, double, n);
	double *time_s = NEW_N(task->arena, double, n);
	double low = 0, high = 4;
	space_analytic(task->space, task->all.items, n, analytic);
	for (int i = 0; i < n; i++)
		effect[i] = effects(task->space, &task->all.items[i], seed);
	if (shared > 0)
		add_shared(task, seed, shared, effect);
	for (int i = 0; i < STEPS; i++) { /* the larger, the less they agree */
		double size = (low + high) / 2;
		all_times(analytic, effect, size, n, time_s);
		if (rank_correlation(analytic, time_s, n) > correlation)
			low = size;
		else
			high = size;
	}
	lab_set_times(task, time_s);
}

double lab_analytic_correlation(const Task *task)
{
	double *analytic = must_alloc(sizeof *analytic * (size_t)task->all.n);
	space_analytic(task->space, task->all.items, task->all.n, analytic);
	double r = rank_correlation(analytic, task->time_s, task->all.n);
	free(analytic);
	return r;
}
