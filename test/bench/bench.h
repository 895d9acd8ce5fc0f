/* What the measuring programs share: a clock, medians, pinning. */
#ifndef TEST_BENCH_BENCH_H
#define TEST_BENCH_BENCH_H

#include <sched.h>
#include <stdlib.h>
#include <time.h>

static inline double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Of this thread alone: what other processes take does not count. */
static inline double thread_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* v[] is sorted by it. */
static inline double quantile(double *v, int n, double q)
{
	qsort(v, (size_t)n, sizeof *v, by_size);
	return v[(int)(q * (n - 1) + 0.5)];
}

static inline double median(double *v, int n)
{
	return quantile(v, n, 0.5);
}

/* The i-th CPU that this process could run on when it started; modulo. */
static inline int bench_cpu(int i)
{
	static int cpus[1024], n;
	if (!n) {
		cpu_set_t set;
		sched_getaffinity(0, sizeof set, &set);
		for (int c = 0; c < CPU_SETSIZE && n < 1024; c++)
			if (CPU_ISSET(c, &set))
				cpus[n++] = c;
	}
	return cpus[i % n];
}

static inline void bench_pin(int thread, int i)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(bench_cpu(i), &set);
	sched_setaffinity(thread, sizeof set, &set);
}

/* Before OpenBLAS is loaded: the kernels of the widest vectors.  Where it does
 * not know the model of the CPU, Debian 12's takes those for SSE. */
static inline void prepare_openblas(void)
{
#if defined __x86_64__
	if (__builtin_cpu_supports("avx512f"))
		setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
	else if (__builtin_cpu_supports("avx2"))
		setenv("OPENBLAS_CORETYPE", "Haswell", 0);
#endif
}

#endif
