/* The peak of several cores at once, and threads of libraries on theirs. */
#ifndef TEST_BENCH_CORES_H
#define TEST_BENCH_CORES_H

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>

#include "test/bench/bench.h"
#include "test/bench/peak.h"

enum { MOST_CORES = 64 };

typedef struct {
	int cpu, threads;
	atomic_int *waiting;
	const char *isa;
	double flops, begin, end;
} Core;

static inline void *core_run(void *arg)
{
	Core *c = arg;
	bench_pin(0, c->cpu);
	atomic_fetch_sub(c->waiting, 1);
	while (atomic_load(c->waiting) > 0)
		;
	c->begin = now_s();
	double cpu = thread_s();
	c->flops = c->isa ? chains_of(c->isa) : chains();
	c->end = c->threads > 1 ? now_s() : c->begin + thread_s() - cpu;
	return NULL;
}

/* FLOP/s of `n` threads at once, on a CPU each; of one, on its own clock. */
static inline double cores_peak(const char *isa, int n)
{
	pthread_t thread[MOST_CORES];
	Core core[MOST_CORES];
	n = n < MOST_CORES ? n : MOST_CORES;
	atomic_int waiting = n;
	for (int i = 0; i < n; i++) {
		core[i] = (Core){.cpu = i, .threads = n, .waiting = &waiting,
		    .isa = isa};
		if (pthread_create(&thread[i], NULL, core_run, &core[i]))
			die("peak", "no thread");
	}
	double flops = 0, begin = 0, end = 0;
	for (int i = 0; i < n; i++) {
		pthread_join(thread[i], NULL);
		flops += core[i].flops;
		begin = i && begin < core[i].begin ? begin : core[i].begin;
		end = end > core[i].end ? end : core[i].end;
	}
	return flops / (end - begin);
}

/* Each thread of this process on a CPU of its own, in the order in which they
 * were made: those that a library has made may be on any. */
static inline void cores_pin_tasks(void)
{
	int tasks[1024], n = 0;
	DIR *d = opendir("/proc/self/task");
	for (struct dirent *e; d && (e = readdir(d)) && n < 1024;)
		if (e->d_name[0] != '.')
			tasks[n++] = atoi(e->d_name);
	if (d)
		closedir(d);
	for (int i = 0; i < n; i++) {
		int before = 0;
		for (int k = 0; k < n; k++)
			before += tasks[k] < tasks[i];
		bench_pin(tasks[i], before);
	}
}

#endif
