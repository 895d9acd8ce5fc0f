/* The OpenMP threads of a kernel, before it is called: made, and each on a CPU of
 * its own.
 *
 * A thread that is made by the first call begins where the one that made it runs,
 * which then waits for it without giving up the CPU: 5 ms go by until the kernel
 * moves one of them.  Here all give way until each is where it belongs. */
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tuner/measure/measure_internal.h"

typedef struct {
	cpu_set_t cpus;
	int threads;
	atomic_int others, arrived; /* but for the main thread; all */
	atomic_int error; /* of one that could not be pinned */
	double end_s;
} Team;

/* The n-th of the set, and from the first again. */
static int cpu_of(const cpu_set_t *cpus, int n)
{
	int cpu = -1;
	for (int i = 0; i <= n % CPU_COUNT(cpus); i++)
		do
			cpu++;
		while (!CPU_ISSET(cpu, cpus));
	return cpu;
}

/* There may be fewer threads than were asked for: none waits for ever. */
static void join(void *context)
{
	Team *t = context;
	bool is_main = syscall(SYS_gettid) == getpid();
	int number = is_main ? 0 : 1 + atomic_fetch_add(&t->others, 1);
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(cpu_of(&t->cpus, number), &one);
	if (sched_setaffinity(0, sizeof one, &one))
		atomic_store(&t->error, errno);
	atomic_fetch_add(&t->arrived, 1);
	while (atomic_load(&t->arrived) < t->threads &&
	       measure_now() < t->end_s)
		sched_yield();
}

void measure_team(TeamTask *task, void *context, int threads)
{
	typedef void Parallel(TeamTask *task, void *context, unsigned threads,
	    unsigned flags);
	void *found = dlsym(RTLD_DEFAULT, "GOMP_parallel");
	Parallel *parallel;
	memcpy(&parallel, &found, sizeof parallel);
	if (threads > 1 && found)
		parallel(task, context, (unsigned)threads, 0);
	else
		task(context);
}

bool measure_pin_team(int threads)
{
	static Team team;
	static const double patience_s = 0.05;
	if (threads <= team.threads)
		return true;
	if (!team.threads &&
	    sched_getaffinity(0, sizeof team.cpus, &team.cpus))
		return false;
	/* What a thread makes begins with its set. */
	if (sched_setaffinity(0, sizeof team.cpus, &team.cpus))
		return false;
	team.threads = threads;
	team.others = team.arrived = team.error = 0;
	team.end_s = measure_now() + patience_s;
	measure_team(join, &team, threads);
	errno = team.error;
	return !team.error;
}
