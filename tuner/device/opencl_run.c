/* An OpenCL device at work: one context, one queue in order with times.
 *
 * Times are those of events.  A group's size is part of a launch, checked against
 * what the kernel can have on the device once it is built: more registers a
 * work-item, fewer work-items. */
#include <stdio.h>
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "tuner/device/opencl.h"

struct Device {
	const OpenCl *cl;
	ClDevice id;
	ClContext context;
	ClQueue queue;
	DeviceFacts facts;
};

/* In a list, to be released with the program. */
struct DeviceKernel {
	ClKernel kernel;
	DeviceKernel *next;
};

struct DeviceProgram {
	ClProgram program;
	DeviceKernel *kernels;
};

static ClMemory memory_of(DeviceBuffer *buffer)
{
	return (ClMemory)(void *)buffer;
}

/* --- opening -------------------------------------------------------------- */

static void device_close(Device *d)
{
	if (!d)
		return;
	if (d->queue)
		d->cl->clReleaseCommandQueue(d->queue);
	if (d->context)
		d->cl->clReleaseContext(d->context);
	free(d);
}

static Status open_queue(Device *d, Error *error)
{
	ClInt answer;
	d->context = d->cl->clCreateContext(NULL, 1, &d->id, NULL, NULL, &answer);
	if (!d->context)
		return opencl_failed(error, answer, "no OpenCL context");
	d->queue = d->cl->clCreateCommandQueue(
	    d->context, d->id, OPENCL_QUEUE_PROFILING, &answer);
	if (!d->queue)
		return opencl_failed(error, answer, "no OpenCL queue");
	return STATUS_OK;
}

static Status find_device(Device *d, int index, Error *error)
{
	Arena *arena = arena_new();
	ClDevice *devices;
	DeviceFacts *facts;
	int n;
	Status status =
	    opencl_devices(arena, d->cl, &devices, &facts, &n, error);
	if (!status && (index < 0 || index >= n))
		status = error_set(error, STATUS_MISSING,
		    "OpenCL has %d devices, no number %d", n, index);
	if (!status) {
		d->id = devices[index];
		d->facts = facts[index];
	}
	arena_free(arena);
	return status;
}

static Status device_open(int index, Device **out, Error *error)
{
	const OpenCl *cl = opencl_library(error);
	if (!cl)
		return error->status;
	Device *d = must_alloc(sizeof *d);
	*d = (Device){.cl = cl};
	Status status = find_device(d, index, error);
	if (!status)
		status = open_queue(d, error);
	if (status)
		device_close(d);
	else
		*out = d;
	return status;
}

static const DeviceFacts *device_facts(const Device *d)
{
	return &d->facts;
}

/* --- programs ------------------------------------------------------------- */

/* The log on one line, as far as there is room. */
static Status build_failed(Device *d, ClProgram program, ClInt answer,
    Error *error)
{
	size_t size = 0;
	char *log = NULL;
	Buf line = {0};
	if (!d->cl->clGetProgramBuildInfo(
		program, d->id, OPENCL_PROGRAM_BUILD_LOG, 0, NULL, &size)) {
		log = must_alloc(size + 1);
		log[0] = log[size] = 0;
		d->cl->clGetProgramBuildInfo(program, d->id,
		    OPENCL_PROGRAM_BUILD_LOG, size, log, NULL);
	}
	for (const char *p = log; p && *p; p++)
		if ((unsigned char)*p > ' ')
			buf_putc(&line, *p);
		else if (line.size && line.data[line.size - 1] != ' ')
			buf_putc(&line, ' ');
	Status status = opencl_failed(error, answer, "the program does not build");
	if (line.size)
		status = error_set(error, status,
		    "the program does not build: %.900s", buf_text(&line));
	buf_free(&line);
	free(log);
	return status;
}

static Status device_build(Device *d, const void *code, size_t size,
    const char *options, DeviceProgram **out, Error *error)
{
	const char *text = code;
	ClInt answer;
	ClProgram program = d->cl->clCreateProgramWithSource(
	    d->context, 1, &text, &size, &answer);
	if (!program)
		return opencl_failed(error, answer, "no OpenCL program");
	answer = d->cl->clBuildProgram(program, 1, &d->id, options, NULL, NULL);
	if (answer) {
		Status status = build_failed(d, program, answer, error);
		d->cl->clReleaseProgram(program);
		return status;
	}
	*out = must_alloc(sizeof **out);
	**out = (DeviceProgram){program, NULL};
	return STATUS_OK;
}

static void device_drop(Device *d, DeviceProgram *p)
{
	if (!p)
		return;
	for (DeviceKernel *k = p->kernels, *next; k; k = next) {
		next = k->next;
		d->cl->clReleaseKernel(k->kernel);
		free(k);
	}
	d->cl->clReleaseProgram(p->program);
	free(p);
}

/* 0: the device does not say. */
static int64_t limit_of(Device *d, ClKernel kernel, ClUint what)
{
	uint64_t value = 0;
	if (d->cl->clGetKernelWorkGroupInfo(
		kernel, d->id, what, sizeof value, &value, NULL))
		return 0;
	return (int64_t)value;
}

static Status check_kernel(Device *d, ClKernel kernel, const char *name,
    const int64_t block[3], Error *error)
{
	int64_t threads = block[0] * block[1] * block[2];
	int64_t most = limit_of(d, kernel, OPENCL_KERNEL_GROUP_THREADS);
	int64_t local = limit_of(d, kernel, OPENCL_KERNEL_LOCAL_BYTES);
	if (most && threads > most)
		return error_set(error, STATUS_UNSUPPORTED,
		    "%s has groups of %lld work-items; on %s it can have %lld",
		    name, (long long)threads, d->facts.name, (long long)most);
	for (int i = 0; i < 3; i++)
		if (d->facts.group_size[i] && block[i] > d->facts.group_size[i])
			return error_set(error, STATUS_UNSUPPORTED,
			    "%s has groups of %lld work-items in direction "
			    "%d; %s can have %lld",
			    name, (long long)block[i], i, d->facts.name,
			    (long long)d->facts.group_size[i]);
	if (local > d->facts.local_bytes)
		return error_set(error, STATUS_UNSUPPORTED,
		    "%s shares %lld bytes in a group; %s has %lld", name,
		    (long long)local, d->facts.name,
		    (long long)d->facts.local_bytes);
	return STATUS_OK;
}

static Status device_kernel(Device *d, DeviceProgram *p, const char *name,
    const int64_t block[3], int64_t dynamic_bytes, DeviceKernel **out,
    Error *error)
{
	char what[256];
	ClInt answer;
	assert(!dynamic_bytes);
	(void)dynamic_bytes;
	ClKernel kernel = d->cl->clCreateKernel(p->program, name, &answer);
	snprintf(what, sizeof what, "kernel %s", name);
	if (!kernel)
		return opencl_failed(error, answer, what);
	Status status = check_kernel(d, kernel, name, block, error);
	if (status) {
		d->cl->clReleaseKernel(kernel);
		return status;
	}
	*out = must_alloc(sizeof **out);
	**out = (DeviceKernel){kernel, p->kernels};
	p->kernels = *out;
	return STATUS_OK;
}

/* --- buffers -------------------------------------------------------------- */

/* A driver may grant what it has not, and fail when the buffer is used. */
static Status device_alloc(
    Device *d, size_t size, DeviceBuffer **out, Error *error)
{
	ClInt answer;
	int64_t most = d->facts.buffer_bytes;
	if (most && (int64_t)size > most)
		return error_set(error, STATUS_UNSUPPORTED,
		    "a buffer of %zu bytes; the largest on %s has %lld", size,
		    d->facts.name, (long long)most);
	ClMemory memory = d->cl->clCreateBuffer(d->context,
	    OPENCL_MEMORY_READ_WRITE, size ? size : 1, NULL, &answer);
	if (!memory)
		return opencl_failed(error, answer, "no buffer on the device");
	*out = (DeviceBuffer *)(void *)memory;
	return STATUS_OK;
}

static void device_free(Device *d, DeviceBuffer *buffer)
{
	if (buffer)
		d->cl->clReleaseMemObject(memory_of(buffer));
}

static Status device_write(Device *d, DeviceBuffer *to, size_t offset,
    const void *from, size_t size, Error *error)
{
	ClInt answer = !size ? 0 : d->cl->clEnqueueWriteBuffer(d->queue,
	    memory_of(to), 1, offset, size, from, 0, NULL, NULL);
	return answer ? opencl_failed(error, answer, "writing to the device")
		      : STATUS_OK;
}

static Status device_read(Device *d, DeviceBuffer *from, size_t offset,
    void *to, size_t size, Error *error)
{
	ClInt answer = !size ? 0 : d->cl->clEnqueueReadBuffer(d->queue,
	    memory_of(from), 1, offset, size, to, 0, NULL, NULL);
	return answer ? opencl_failed(error, answer, "reading from the device")
		      : STATUS_OK;
}

/* Drivers write a pattern at a time, so the longest one. */
static Status device_fill(Device *d, DeviceBuffer *to, unsigned char byte,
    size_t size, Error *error)
{
	unsigned char pattern[128];
	ClInt answer = 0;
	size_t bulk = size / sizeof pattern * sizeof pattern;
	memset(pattern, byte, sizeof pattern);
	if (bulk)
		answer = d->cl->clEnqueueFillBuffer(d->queue, memory_of(to),
		    pattern, sizeof pattern, 0, bulk, 0, NULL, NULL);
	if (!answer && size > bulk)
		answer = d->cl->clEnqueueFillBuffer(d->queue, memory_of(to),
		    pattern, 1, bulk, size - bulk, 0, NULL, NULL);
	return answer ? opencl_failed(error, answer, "filling a buffer")
		      : STATUS_OK;
}

/* --- launches ------------------------------------------------------------- */

static Status set_args(Device *d, const DeviceLaunch *l,
    DeviceBuffer *const *args, int nargs, Error *error)
{
	char what[64];
	for (int i = 0; i < nargs; i++) {
		ClMemory memory = memory_of(args[i]);
		ClInt answer = d->cl->clSetKernelArg(l->kernel->kernel,
		    (ClUint)i, sizeof memory, &memory);
		snprintf(what, sizeof what, "argument %d of a kernel", i);
		if (answer)
			return opencl_failed(error, answer, what);
	}
	return STATUS_OK;
}

static Status launch(
    Device *d, const DeviceLaunch *l, ClEvent *event, Error *error)
{
	size_t global[3], local[3];
	for (int i = 0; i < 3; i++) {
		local[i] = (size_t)l->block[i];
		global[i] = (size_t)(l->grid[i] * l->block[i]);
	}
	ClInt answer = d->cl->clEnqueueNDRangeKernel(d->queue,
	    l->kernel->kernel, 3, NULL, global, local, 0, NULL, event);
	return answer ? opencl_failed(error, answer, "launching a kernel")
		      : STATUS_OK;
}

/* The events that the time is taken from; NULL: not launched. */
typedef struct {
	ClEvent first, last;
} Events;

static Status launch_all(Device *d, const DeviceLaunch *launches, int n,
    int repeats, Events *events, Error *error)
{
	int64_t all = (int64_t)repeats * n;
	for (int64_t i = 0; i < all; i++) {
		ClEvent *event = i == all - 1 ? &events->last
		    : i == 0		      ? &events->first
					      : NULL;
		FORWARD_IF_ERROR(launch(d, &launches[i % n], event, error));
	}
	return STATUS_OK;
}

/* Differences of whole nanoseconds: a clock since 1970 has no room in a double. */
static Status take_time(
    Device *d, const Events *events, double *seconds, Error *error)
{
	uint64_t start = 0, end = 0;
	ClEvent first = events->first ? events->first : events->last;
	ClInt answer = d->cl->clGetEventProfilingInfo(
	    first, OPENCL_EVENT_START, sizeof start, &start, NULL);
	if (!answer)
		answer = d->cl->clGetEventProfilingInfo(events->last,
		    OPENCL_EVENT_END, sizeof end, &end, NULL);
	if (answer)
		return opencl_failed(error, answer, "the time of a kernel");
	*seconds = end > start ? 1e-9 * (double)(end - start) : 0;
	return STATUS_OK;
}

/* What a kernel did wrong is told when it is waited for, by some number. */
static Status wait_for(Device *d, const Events *events, Error *error)
{
	ClInt answer = d->cl->clWaitForEvents(1, &events->last);
	if (!answer)
		return STATUS_OK;
	opencl_failed(error, answer, "the kernel failed");
	return error->status = STATUS_CRASH;
}

static Status device_run(Device *d, const DeviceLaunch *launches, int n,
    DeviceBuffer *const *args, int nargs, int repeats, double *seconds,
    Error *error)
{
	Events events = {0};
	Status status = STATUS_OK;
	if (seconds)
		*seconds = 0;
	for (int i = 0; i < n && !status; i++)
		status = set_args(d, &launches[i], args, nargs, error);
	if (!status)
		status = launch_all(d, launches, n, repeats, &events, error);
	if (status)
		d->cl->clFinish(d->queue);
	else if (events.last)
		status = wait_for(d, &events, error);
	if (!status && seconds && events.last)
		status = take_time(d, &events, seconds, error);
	if (events.first)
		d->cl->clReleaseEvent(events.first);
	if (events.last)
		d->cl->clReleaseEvent(events.last);
	return status;
}

const DeviceDriver device_opencl = {
    .name = "opencl",
    .list = opencl_list,
    .open = device_open,
    .close = device_close,
    .facts = device_facts,
    .build = device_build,
    .drop = device_drop,
    .kernel = device_kernel,
    .alloc = device_alloc,
    .free = device_free,
    .write = device_write,
    .read = device_read,
    .fill = device_fill,
    .run = device_run,
};
