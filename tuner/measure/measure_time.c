/* The timing policy.
 *
 * A first run warms caches and tells how long one takes.  Hopeless against the
 * best so far (more than three times slower, twice in a row): it stops there.
 * Otherwise samples of at least 50 us each are taken until the median is known
 * to half a percent, or to a sixth of what it is slower than the best by, or 32
 * samples, or the budget of time is spent: 40 ms for a candidate that may be the
 * best, 12 ms where it is a few percent slower, 4 ms where it is more than a tenth
 * slower.  Finalists take turns, for MEASURE_FINAL_S seconds each, six rounds at
 * least, or two where time is short.  The median counts; the spread is the median
 * absolute deviation, scaled to a standard deviation.
 * After each sample a probe tells how quiet the machine is. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/sort.h"
#include "tuner/measure/measure_internal.h"

static const double sample_s = 50e-6, tight = 0.005, slow_s = 0.5;
/* What is slower than the best by this part is not to be confused with it. */
static const double slower = 0.03;
/* Seconds, for a time that is up to so many times the best. */
static const struct {
	double ratio, budget_s;
} budgets[] = {{1.04, 40e-3}, {1.1, 12e-3}, {INFINITY, 4e-3}};
enum {
	CALLS_SHORT = 8, /* of what is over before a device has begun */
	SAMPLES_MIN = 3,
	SAMPLES_BEST = 8, /* of which a spread is believed */
	SAMPLES_SLOWER = 5,
	ROUNDS_MIN = 6,
	ROUNDS_LEAST = 2 /* where there is no time for these */
};

double measure_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

Measurement measure_nothing(Outcome outcome)
{
	return (Measurement){.outcome = outcome,
	    .time_s = NAN,
	    .spread_s = NAN,
	    .noise_probe = NAN,
	    .noise_switches = -1};
}

/* What takes long is not called again and again to find out that it is a half
 * slower. */
double measure_hopeless(double best_s)
{
	return best_s > 0.02 ? 1.5 * best_s : 3 * best_s;
}

/* Seconds of one call, over `inner` of them. */
static double sample(const TimedKernel *k, int inner)
{
	if (k->seconds)
		return k->seconds(k->context, inner) / inner;
	if (k->before)
		k->before(k->context);
	double start = measure_now();
	for (int i = 0; i < inner; i++)
		k->call(k->context);
	double seconds = (measure_now() - start) / inner;
	if (k->noise)
		noise_probe(k->noise);
	return seconds;
}

/* Taken again where a probe before or after it says that the machine was not the
 * kernel's alone: two of its CPUs were one core, or the clock was low. */
static double quiet_sample(const TimedKernel *k, int inner)
{
	double seconds = sample(k, inner);
	while (k->noise && noise_again(k->noise, seconds))
		seconds = sample(k, inner);
	return seconds;
}

static double median(double *sorted, int n)
{
	sort_doubles(sorted, n);
	return n % 2 ? sorted[n / 2]
		     : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

void measure_summary(Measurement *out)
{
	double v[MEASURE_RUNS];
	int n = out->nruns;
	memcpy(v, out->runs_s, sizeof *v * (size_t)n);
	out->time_s = median(v, n);
	for (int i = 0; i < n; i++)
		v[i] = fabs(out->runs_s[i] - out->time_s);
	out->spread_s = 1.4826 * median(v, n);
}

static int inner_calls(const TimedKernel *k, double once)
{
	if (k->before || once >= sample_s)
		return 1;
	int calls = (int)(sample_s / (once > 1e-9 ? once : 1e-9)) + 1;
	return k->calls_most && calls > k->calls_most ? k->calls_most : calls;
}

static double budget(const TimedKernel *k, double time_s)
{
	int i = 0;
	if (k->budget_s > 0)
		return k->budget_s;
	while (k->best_s > 0 && time_s > budgets[i].ratio * k->best_s)
		i++;
	return budgets[i].budget_s;
}

/* Is the median known as well as it has to be? */
static bool is_known(const TimedKernel *k, const Measurement *m)
{
	double by = k->best_s > 0 ? m->time_s / k->best_s - 1 : 0;
	double error = m->spread_s * 1.25 / sqrt(m->nruns);
	return m->nruns >= (by > slower ? SAMPLES_SLOWER : SAMPLES_BEST) &&
	    error < fmax(tight, by / 6) * m->time_s;
}

void measure_time(const TimedKernel *k, Measurement *out)
{
	double first = sample(k, 1);
	out->nruns = 0;
	if (first > slow_s) { /* a slow plain nest: once is enough */
		out->runs_s[out->nruns++] = first;
		measure_summary(out);
		return;
	}
	if (k->best_s > 0 && first > measure_hopeless(k->best_s)) {
		double again = sample(k, first < sample_s ? CALLS_SHORT : 1);
		if (again > measure_hopeless(k->best_s)) {
			out->runs_s[out->nruns++] = again;
			measure_summary(out);
			return;
		}
	}
	int inner = inner_calls(k, first);
	if (inner > 1)
		inner = inner_calls(k, sample(k, CALLS_SHORT));
	double start = measure_now();
	while (out->nruns < MEASURE_RUNS) {
		out->runs_s[out->nruns++] = quiet_sample(k, inner);
		if (out->nruns < SAMPLES_MIN)
			continue;
		measure_summary(out);
		if (measure_now() - start > budget(k, out->time_s))
			break;
		if (is_known(k, out))
			break;
	}
	measure_summary(out);
}

/* So many that they fit into the seconds. */
static int rounds_of(double round_s, int n, double seconds)
{
	int rounds = (int)(MEASURE_FINAL_S * n / (round_s + 1e-9));
	rounds = rounds > MEASURE_RUNS ? MEASURE_RUNS
	    : rounds < ROUNDS_MIN      ? ROUNDS_MIN
				       : rounds;
	if (rounds * round_s > seconds)
		rounds = (int)(seconds / (round_s + 1e-9));
	return rounds < ROUNDS_LEAST ? ROUNDS_LEAST : rounds;
}

void measure_time_interleaved(
    const TimedKernel *k, int n, double seconds, Measurement *out)
{
	int *inner = must_alloc(sizeof *inner * (size_t)(n + 1));
	double round_s = 0, end_s = measure_now() + seconds;
	for (int i = 0; i < n; i++) {
		double once = sample(&k[i], 1);
		inner[i] = inner_calls(&k[i], once);
		out[i].nruns = 0;
		round_s += 2 * once * inner[i];
	}
	int rounds = rounds_of(round_s, n, seconds);
	for (int round = 0; round < rounds; round++) {
		if (round >= ROUNDS_LEAST && measure_now() > end_s)
			break; /* others came, and each takes longer */
		for (int j = 0; j < n; j++) {
			int i = round % 2 ? n - 1 - j : j;
			sample(&k[i], inner[i]); /* its own warm caches */
			out[i].runs_s[out[i].nruns++] =
			    quiet_sample(&k[i], inner[i]);
		}
	}
	for (int i = 0; i < n; i++)
		measure_summary(&out[i]);
	free(inner);
}
