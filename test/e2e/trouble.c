/* A machine in trouble, preloaded by trouble.sh: TROUBLE="WHO CALL ERROR AFTER
 * TIMES" lets the CALL of the driver, of the measuring server or of its child
 * fail with ERROR, TIMES times, after the server has started AFTER processes. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct {
	atomic_int started, failed;
} Counts;

static Counts *counts; /* shared by all processes */
static enum { DRIVER, SERVER, CHILD } role;
static int who = -1, number, after, times;
static char call[32];

void *__libc_malloc(size_t size);

__attribute__((constructor)) static void set_up(void)
{
	static const struct {
		const char *name;
		int number;
	} errors[] = {{"EAGAIN", EAGAIN}, {"ENOMEM", ENOMEM},
	    {"EMFILE", EMFILE}, {"ENOSPC", ENOSPC}};
	const char *text = getenv("TROUBLE");
	char by[16], error[16];
	if (!text || sscanf(text, "%15s %31s %15s %d %d", by, call, error,
			 &after, &times) != 5)
		return;
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		if (!strcmp(errors[i].name, error))
			number = errors[i].number;
	counts = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (counts == MAP_FAILED || !number)
		abort();
	who = !strcmp(by, "driver") ? DRIVER
	    : !strcmp(by, "server") ? SERVER
				    : CHILD;
}

static int fails(const char *name)
{
	if (who != (int)role || strcmp(call, name) ||
	    atomic_load(&counts->started) < after ||
	    atomic_fetch_add(&counts->failed, 1) >= times)
		return 0;
	errno = number;
	return 1;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

pid_t fork(void)
{
	if (fails("fork"))
		return -1;
	if (role == SERVER && counts)
		atomic_fetch_add(&counts->started, 1);
	pid_t pid = NEXT(fork)();
	if (pid == 0)
		role++;
	return pid;
}

int socketpair(int domain, int type, int protocol, int ends[2])
{
	return fails("socketpair")
	    ? -1
	    : NEXT(socketpair)(domain, type, protocol, ends);
}

void *malloc(size_t size)
{
	return fails("malloc") ? NULL : __libc_malloc(size);
}

void *mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	return fails("mmap")
	    ? MAP_FAILED
	    : NEXT(mmap)(at, size, prot, flags, fd, offset);
}

int mprotect(void *at, size_t size, int prot)
{
	return fails("mprotect") ? -1 : NEXT(mprotect)(at, size, prot);
}

int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *cpus)
{
	return fails("sched_setaffinity")
	    ? -1
	    : NEXT(sched_setaffinity)(pid, size, cpus);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
    void *(*run)(void *), void *context)
{
	return fails("pthread_create")
	    ? number
	    : NEXT(pthread_create)(thread, attr, run, context);
}

ssize_t write(int fd, const void *data, size_t size)
{
	return fails("write") ? -1 : NEXT(write)(fd, data, size);
}
