/* How quiet the machine was while something was timed.
 *
 * A probe is a fixed piece of work on registers alone that takes about 15 us:
 * eight independent chains of multiplications, which keep a core's multiplier
 * busy, so that whoever shares the core (a sibling hyper-thread of another
 * machine, say) makes it slower.  It runs on all threads of the kernel at once:
 * two of its CPUs may be one core, which no single thread can see.  The slowest
 * thread counts. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "lib/sort.h"
#include "tuner/measure/measure_internal.h"

enum { STEPS = 6000 };

/* One run of the probe on all threads. */
typedef struct {
	atomic_int arrived;
	volatile uint64_t factor; /* not known to the compiler */
	_Atomic uint64_t product;
	double *seconds; /* of each thread, as they arrive */
} ProbeRound;

static uint64_t multiply(uint64_t x)
{
	uint64_t a = x + 1, b = x + 2, c = x + 3, d = x + 4, e = x + 5,
		 f = x + 6, g = x + 7, h = x + 8, by = x | 5;
	for (int i = 0; i < STEPS; i++) {
		a *= by;
		b *= by;
		c *= by;
		d *= by;
		e *= by;
		f *= by;
		g *= by;
		h *= by;
	}
	return a + b + c + d + e + f + g + h;
}

static void probe_thread(void *context)
{
	ProbeRound *round = context;
	double start = measure_now();
	round->product = multiply(round->factor);
	double end = measure_now();
	round->seconds[atomic_fetch_add(&round->arrived, 1)] = end - start;
}

/* The kernel's own team: OpenMP keeps it, pinned as it is. */
static void run_team(ProbeRound *round, int threads)
{
	measure_team(probe_thread, round, threads);
}

/* Of all threads of this process. */
static void read_usage(int64_t *switches, double *cpu_s)
{
	struct rusage u;
	*switches = -1;
	*cpu_s = 0;
	if (getrusage(RUSAGE_SELF, &u))
		return;
	*switches = u.ru_nivcsw;
	*cpu_s = (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	    1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

void noise_begin(Noise *noise, int threads, double least_s)
{
	*noise = (Noise){.threads = threads,
	    .least_s = least_s > 0 ? least_s : INFINITY};
	noise->thread_s = must_alloc(sizeof *noise->thread_s * (size_t)threads);
	noise_probe(noise);
	read_usage(&noise->switches, &noise->cpu_s);
}

void noise_probe(Noise *noise)
{
	ProbeRound round = {.seconds = noise->thread_s, .factor = 7};
	double slowest = 0;
	run_team(&round, noise->threads);
	for (int i = 0; i < round.arrived; i++) {
		slowest = fmax(slowest, noise->thread_s[i]);
		noise->least_s = fmin(noise->least_s, noise->thread_s[i]);
	}
	if (noise->n == NOISE_PROBES) /* more than enough: the last one goes */
		noise->n--;
	noise->probe_s[noise->n++] = slowest;
}

/* The figures are of two virtual CPUs of an Emerald Rapids; docs/measuring.md
 * has all of them.
 *
 * The upper quartile of the probes lies 0.01 above the least on a machine with
 * nothing else to do, up to 0.20 behind kernels with vectors of 512 bits, which
 * lower the clock; on half a core it must be 1 or more.
 *
 * A thread that has its CPU for itself loses it a few times a second, to the
 * kernel's own threads; one with a rival 200 to 430 times in each second that it
 * had it, however many the rivals are, which is why wall time will not do.  Two
 * are allowed whatever the time: a median bears them. */
static const double most_probe = 0.4, most_switches = 2,
		    most_switches_per_s = 50;

/* Seconds of samples that are taken again, of one measurement. */
static const double again_most_s = 0.1;

static bool is_disturbed(const Noise *noise, int probe)
{
	return noise->probe_s[probe] > (1 + most_probe) * noise->least_s;
}

bool noise_again(Noise *noise, double sample_s)
{
	if (noise->n < 2 || noise->again_s + sample_s > again_most_s ||
	    (!is_disturbed(noise, noise->n - 1) &&
		!is_disturbed(noise, noise->n - 2)))
		return false;
	noise->again_s += sample_s;
	/* the last probe stands before the next sample */
	noise->probe_s[noise->n - 2] = noise->probe_s[noise->n - 1];
	noise->n--;
	return true;
}

void noise_end(Noise *noise, Measurement *out, int n)
{
	int64_t switches;
	double cpu_s;
	read_usage(&switches, &cpu_s);
	sort_doubles(noise->probe_s, noise->n);
	double upper = noise->probe_s[noise->n * 3 / 4];
	for (int i = 0; i < n; i++) {
		out[i].noise_probe = upper / noise->least_s - 1;
		out[i].noise_switches =
		    switches < 0 ? -1 : switches - noise->switches;
		out[i].noise_cpu_s = cpu_s - noise->cpu_s;
		out[i].probe_s = noise->least_s;
	}
	free(noise->thread_s);
}

double noise_level(
    double noise_probe, int64_t noise_switches, double noise_cpu_s)
{
	return fmax(noise_probe / most_probe,
	    (double)noise_switches /
		(most_switches + most_switches_per_s * noise_cpu_s));
}

bool measure_quiet(
    double noise_probe, int64_t noise_switches, double noise_cpu_s)
{
	return noise_level(noise_probe, noise_switches, noise_cpu_s) <= 1;
}
