/* A device of CUDA's at work: its primary context, one stream, times by events.
 *
 * What a kernel did wrong is told by the next call that waits, and by every call
 * after it: the context is lost, and with it the process (STATUS_CRASH). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/device/cuda_driver.h"

struct Device {
	const Cuda *cuda;
	int id;
	CuContext context; /* NULL: not retained */
	CuStream stream;
	CuEvent start, end;
	DeviceFacts facts;
};

/* In a list, to be released with the program. */
struct DeviceKernel {
	CuFunction function;
	unsigned dynamic_bytes; /* of shared memory, given by its launches */
	DeviceKernel *next;
};

struct DeviceProgram {
	CuModule module;
	DeviceKernel *kernels;
};

static CuPointer pointer_of(DeviceBuffer *buffer)
{
	return (CuPointer)(uintptr_t)buffer;
}

static Status answered(Error *error, int answer, const char *what)
{
	return answer ? cuda_failed(error, answer, what) : STATUS_OK;
}

/* --- opening -------------------------------------------------------------- */

static void device_close(Device *d)
{
	if (!d)
		return;
	if (d->start)
		d->cuda->cuEventDestroy_v2(d->start);
	if (d->end)
		d->cuda->cuEventDestroy_v2(d->end);
	if (d->stream)
		d->cuda->cuStreamDestroy_v2(d->stream);
	if (d->context)
		d->cuda->cuDevicePrimaryCtxRelease_v2(d->id);
	free(d);
}

static Status open_context(Device *d, int index, Error *error)
{
	const Cuda *cuda = d->cuda;
	int answer = cuda->cuDeviceGet(&d->id, index);
	if (answer)
		return cuda_failed(error, answer, "no such device of CUDA's");
	FORWARD_IF_ERROR(cuda_facts(cuda, d->id, &d->facts, error));
	answer = cuda->cuDevicePrimaryCtxRetain(&d->context, d->id);
	if (!answer)
		answer = cuda->cuCtxSetCurrent(d->context);
	if (!answer)
		answer = cuda->cuStreamCreate(&d->stream, CUDA_STREAM_ALONE);
	if (!answer)
		answer = cuda->cuEventCreate(&d->start, 0);
	if (!answer)
		answer = cuda->cuEventCreate(&d->end, 0);
	return answered(error, answer, "no CUDA context");
}

static Status device_open(int index, Device **out, Error *error)
{
	const Cuda *cuda = cuda_library(error);
	if (!cuda)
		return error->status;
	Device *d = must_alloc(sizeof *d);
	*d = (Device){.cuda = cuda};
	Status status = open_context(d, index, error);
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

/* The first lines of the log, as one. */
static Status build_failed(int answer, char *log, Error *error)
{
	for (char *p = log; *p; p++)
		if ((unsigned char)*p < ' ')
			*p = ' ';
	if (!*log)
		return cuda_failed(
		    error, answer, "the program cannot be loaded");
	Status status = cuda_failed(error, answer, "");
	return error_set(
	    error, status, "the program cannot be loaded: %.900s", log);
}

/* PTX ends with a NUL, a cubin says its size itself. */
static Status device_build(Device *d, const void *code, size_t size,
    const char *options, DeviceProgram **out, Error *error)
{
	char log[1024] = "";
	int keys[] = {CUDA_LOAD_ERRORS, CUDA_LOAD_ERRORS_BYTES};
	void *values[] = {log, (void *)(uintptr_t)(sizeof log - 1)};
	char *image = must_alloc(size + 1);
	CuModule module = NULL;
	(void)options;
	memcpy(image, code, size);
	image[size] = 0;
	int answer =
	    d->cuda->cuModuleLoadDataEx(&module, image, 2, keys, values);
	free(image);
	if (answer)
		return build_failed(answer, log, error);
	*out = must_alloc(sizeof **out);
	**out = (DeviceProgram){module, NULL};
	return STATUS_OK;
}

static void device_drop(Device *d, DeviceProgram *p)
{
	if (!p)
		return;
	for (DeviceKernel *k = p->kernels, *next; k; k = next) {
		next = k->next;
		free(k);
	}
	d->cuda->cuModuleUnload(p->module);
	free(p);
}

static Status check_kernel(Device *d, CuFunction f, const char *name,
    const int64_t block[3], int64_t dynamic_bytes, Error *error)
{
	int threads = 0, declared = 0;
	int64_t asked = block[0] * block[1] * block[2];
	d->cuda->cuFuncGetAttribute(&threads, CUDA_KERNEL_THREADS, f);
	d->cuda->cuFuncGetAttribute(&declared, CUDA_KERNEL_SHARED, f);
	int64_t shared = declared + dynamic_bytes;
	if (threads && asked > threads)
		return error_set(error, STATUS_UNSUPPORTED,
		    "%s has blocks of %lld threads; on %s it can have %d", name,
		    (long long)asked, d->facts.name, threads);
	for (int i = 0; i < 3; i++)
		if (d->facts.group_size[i] && block[i] > d->facts.group_size[i])
			return error_set(error, STATUS_UNSUPPORTED,
			    "%s has blocks of %lld threads in direction %d; "
			    "%s can have %lld",
			    name, (long long)block[i], i, d->facts.name,
			    (long long)d->facts.group_size[i]);
	if (d->facts.local_bytes && shared > d->facts.local_bytes)
		return error_set(error, STATUS_UNSUPPORTED,
		    "%s shares %lld bytes in a block; %s has %lld", name,
		    (long long)shared, d->facts.name,
		    (long long)d->facts.local_bytes);
	return STATUS_OK;
}

/* More than a kernel can declare has to be allowed. */
static Status allow(Device *d, CuFunction f, const char *name,
    int64_t dynamic_bytes, Error *error)
{
	int answer = !dynamic_bytes ? 0 : d->cuda->cuFuncSetAttribute(f,
				      CUDA_KERNEL_DYNAMIC_MOST,
				      (int)dynamic_bytes);
	if (!answer)
		return STATUS_OK;
	char what[256];
	snprintf(what, sizeof what, "%s gives %.100s no %lld shared bytes",
	    d->facts.name, name, (long long)dynamic_bytes);
	Status status = cuda_failed(error, answer, what);
	if (status == STATUS_INTERNAL)
		error->status = status = STATUS_UNSUPPORTED;
	return status;
}

static Status device_kernel(Device *d, DeviceProgram *p, const char *name,
    const int64_t block[3], int64_t dynamic_bytes, DeviceKernel **out,
    Error *error)
{
	CuFunction f = NULL;
	int answer = d->cuda->cuModuleGetFunction(&f, p->module, name);
	if (answer) {
		Status status = cuda_failed(error, answer, "kernel");
		return error_set(error, status, "there is no kernel %s", name);
	}
	FORWARD_IF_ERROR(
	    check_kernel(d, f, name, block, dynamic_bytes, error));
	FORWARD_IF_ERROR(allow(d, f, name, dynamic_bytes, error));
	*out = must_alloc(sizeof **out);
	**out = (DeviceKernel){f, (unsigned)dynamic_bytes, p->kernels};
	p->kernels = *out;
	return STATUS_OK;
}

/* --- buffers -------------------------------------------------------------- */

static Status device_alloc(
    Device *d, size_t size, DeviceBuffer **out, Error *error)
{
	CuPointer at = 0;
	int answer = d->cuda->cuMemAlloc_v2(&at, size ? size : 1);
	if (answer)
		return cuda_failed(error, answer, "no buffer on the device");
	*out = (DeviceBuffer *)(uintptr_t)at;
	return STATUS_OK;
}

static void device_free(Device *d, DeviceBuffer *buffer)
{
	if (buffer)
		d->cuda->cuMemFree_v2(pointer_of(buffer));
}

static Status device_write(Device *d, DeviceBuffer *to, size_t offset,
    const void *from, size_t size, Error *error)
{
	int answer = !size ? 0 : d->cuda->cuMemcpyHtoD_v2(
				     pointer_of(to) + offset, from, size);
	return answered(error, answer, "writing to the device");
}

static Status device_read(Device *d, DeviceBuffer *from, size_t offset,
    void *to, size_t size, Error *error)
{
	int answer = !size ? 0 : d->cuda->cuMemcpyDtoH_v2(
				     to, pointer_of(from) + offset, size);
	return answered(error, answer, "reading from the device");
}

static Status device_fill(Device *d, DeviceBuffer *to, unsigned char byte,
    size_t size, Error *error)
{
	int answer = !size
	    ? 0 : d->cuda->cuMemsetD8_v2(pointer_of(to), byte, size);
	return answered(error, answer, "filling a buffer");
}

/* --- launches ------------------------------------------------------------- */

static int launch(Device *d, const DeviceLaunch *l, void **arguments)
{
	return d->cuda->cuLaunchKernel(l->kernel->function,
	    (unsigned)l->grid[0], (unsigned)l->grid[1], (unsigned)l->grid[2],
	    (unsigned)l->block[0], (unsigned)l->block[1],
	    (unsigned)l->block[2], l->kernel->dynamic_bytes, d->stream,
	    arguments, NULL);
}

/* The stream does not wait for copies, which are the context's, so we do.
 * Whatever was launched has ended when it returns. */
static Status launch_all(Device *d, const DeviceLaunch *launches, int n,
    void **arguments, int repeats, Error *error)
{
	int64_t all = (int64_t)repeats * n;
	int answer = d->cuda->cuStreamSynchronize(NULL);
	if (!answer)
		answer = d->cuda->cuEventRecord(d->start, d->stream);
	for (int64_t i = 0; i < all && !answer; i++)
		answer = launch(d, &launches[i % n], arguments);
	Status status = answered(error, answer, "launching a kernel");
	if (!status)
		answer = d->cuda->cuEventRecord(d->end, d->stream);
	int waited = d->cuda->cuStreamSynchronize(d->stream);
	if (status)
		return status;
	return answered(
	    error, answer ? answer : waited, "the kernel failed");
}

static Status device_run(Device *d, const DeviceLaunch *launches, int n,
    DeviceBuffer *const *args, int nargs, int repeats, double *seconds,
    Error *error)
{
	float ms = 0;
	CuPointer *pointers =
	    must_alloc(((size_t)nargs + 1) * sizeof *pointers);
	void **arguments = must_alloc(((size_t)nargs + 1) * sizeof *arguments);
	for (int i = 0; i < nargs; i++) {
		pointers[i] = pointer_of(args[i]);
		arguments[i] = &pointers[i];
	}
	Status status =
	    launch_all(d, launches, n, arguments, repeats, error);
	if (!status && seconds)
		status = answered(error,
		    d->cuda->cuEventElapsedTime(&ms, d->start, d->end),
		    "the time of a kernel");
	if (seconds)
		*seconds = status ? 0 : 1e-3 * (double)ms;
	free(arguments);
	free(pointers);
	return status;
}

const DeviceDriver device_cuda = {
    .name = "cuda",
    .list = cuda_list,
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
