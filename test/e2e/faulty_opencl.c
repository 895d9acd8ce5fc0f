/* OpenCL's loader with a fault, preloaded by device.sh: FAULT="KIND N" lets what is
 * done the N-th time in a process go wrong: waiting (crash, lost), building
 * (build), allocating (memory), reading (wrong); or waiting once N programs were
 * built (later). */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int32_t Wait(uint32_t n, void *const *events);
typedef int32_t Build(void *program, uint32_t n, void *const *devices,
    const char *options, void *notify, void *user);
typedef void *Allocate(
    void *context, uint64_t flags, size_t size, void *host, int32_t *error);
typedef int32_t Read(void *queue, void *from, uint32_t blocking, size_t offset,
    size_t size, void *to, uint32_t n, void *wait, void *event);

static bool now(const char *kind, int *count)
{
	char have[16] = "";
	int n = 0;
	const char *fault = getenv("FAULT");
	return fault && sscanf(fault, "%15s %d", have, &n) == 2 &&
	    !strcmp(have, kind) && ++*count >= n;
}

static void *real(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

/* What tunec opens is this library, which is linked with the loader: functions
 * that are not here are found there. */
void *dlopen(const char *name, int flags)
{
	void *(*next)(const char *, int);
	*(void **)&next = real("dlopen");
	bool loader = name && !strcmp(name, "libOpenCL.so.1");
	return next(loader ? getenv("LD_PRELOAD") : name, flags);
}

static int programs;

int32_t clWaitForEvents(uint32_t n, void *const *events)
{
	static int count;
	Wait *wait;
	int built = programs - 1;
	if (now("crash", &count) || now("later", &built))
		abort();
	if (now("lost", &count))
		return -14;
	*(void **)&wait = real("clWaitForEvents");
	return wait(n, events);
}

int32_t clBuildProgram(void *program, uint32_t n, void *const *devices,
    const char *options, void *notify, void *user)
{
	static int count;
	Build *build;
	programs++;
	if (now("build", &count))
		return -11;
	*(void **)&build = real("clBuildProgram");
	return build(program, n, devices, options, notify, user);
}

void *clCreateBuffer(
    void *context, uint64_t flags, size_t size, void *host, int32_t *error)
{
	static int count;
	Allocate *allocate;
	if (now("memory", &count)) {
		*error = -4;
		return NULL;
	}
	*(void **)&allocate = real("clCreateBuffer");
	return allocate(context, flags, size, host, error);
}

int32_t clEnqueueReadBuffer(void *queue, void *from, uint32_t blocking,
    size_t offset, size_t size, void *to, uint32_t n, void *wait, void *event)
{
	static int count;
	Read *read;
	*(void **)&read = real("clEnqueueReadBuffer");
	int32_t answer =
	    read(queue, from, blocking, offset, size, to, n, wait, event);
	if (size >= 1024 && now("wrong", &count))
		memset(to, 0x3f, 16);
	return answer;
}
