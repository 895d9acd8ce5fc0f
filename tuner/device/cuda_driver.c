/* libcuda and its devices.
 *
 * The library comes with NVIDIA's kernel module and has its version.  CUDA does
 * not survive a fork: it is opened by processes that measure, and by the one that
 * is asked what there is. */
#include "tuner/device/cuda_driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "lib/vec.h"

/* --- errors --------------------------------------------------------------- */

Status cuda_failed(Error *error, int answer, const char *what)
{
	static const struct {
		int answer;
		Status status;
		const char *name;
	} errors[] = {
#define CU_ERROR(number, name, status) {number, STATUS_##status, "CUDA_ERROR_" #name},
#include "tuner/device/cuda_errors.def"
#undef CU_ERROR
	};
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		if (errors[i].answer == answer)
			return error_set(error, errors[i].status, "%s: %s",
			    what, errors[i].name);
	return error_set(
	    error, STATUS_CRASH, "%s: CUDA error %d", what, answer);
}

/* --- the library ---------------------------------------------------------- */

static const char library_name[] = "libcuda.so.1";

static bool open_library(Cuda *cuda, Error *error)
{
	void *library = dlopen(library_name, RTLD_NOW | RTLD_GLOBAL);
	if (!library) {
		error_set(error, STATUS_MISSING,
		    "no CUDA driver: %.500s; it comes with NVIDIA's driver for "
		    "Linux",
		    dlerror());
		return false;
	}
#define CU_CALL(name, parameters)                                              \
	*(void **)&cuda->name = dlsym(library, #name);                         \
	if (!cuda->name) {                                                     \
		error_set(error, STATUS_MISSING,                               \
		    "%s has no " #name ": the driver is too old",              \
		    library_name);                                             \
		return false;                                                  \
	}
#include "tuner/device/cuda_driver.def"
#undef CU_CALL
	return true;
}

const Cuda *cuda_library(Error *error)
{
	static Cuda cuda;
	static bool found;
	if (found)
		return &cuda;
	if (!open_library(&cuda, error))
		return NULL;
	int answer = cuda.cuInit(0);
	if (answer) {
		cuda_failed(error, answer, "CUDA's driver does not start");
		return NULL;
	}
	found = true;
	return &cuda;
}

/* --- facts ---------------------------------------------------------------- */

/* 0: the driver does not say. */
static int attribute(const Cuda *cuda, int device, int what)
{
	int value = 0;
	return cuda->cuDeviceGetAttribute(&value, what, device) ? 0 : value;
}

/* The first word that is a number: of "NVIDIA UNIX Open Kernel Module for x86_64
 * 580.159.04  Release Build" 580.159.04. */
void cuda_module_version(char *line, char *out, size_t size)
{
	*out = 0;
	for (char *word = strtok(line, " \t\n"); word && !*out;
	     word = strtok(NULL, " \t\n"))
		if (strspn(word, "0123456789.") == strlen(word))
			snprintf(out, size, "%s", word);
}

static void module_version(char *out, size_t size)
{
	char line[256];
	FILE *file = fopen("/proc/driver/nvidia/version", "r");
	*out = 0;
	if (file && fgets(line, sizeof line, file))
		cuda_module_version(line, out, size);
	if (file)
		fclose(file);
}

static void read_limits(const Cuda *cuda, int device, DeviceFacts *f)
{
	size_t bytes = 0;
	f->units = attribute(cuda, device, CUDA_PROCESSORS);
	f->warp = attribute(cuda, device, CUDA_WARP);
	f->clock_mhz = attribute(cuda, device, CUDA_CLOCK_KHZ) / 1000;
	f->group_threads = attribute(cuda, device, CUDA_BLOCK_THREADS);
	for (int i = 0; i < 3; i++)
		f->group_size[i] = attribute(cuda, device, CUDA_BLOCK_X + i);
	f->local_bytes = attribute(cuda, device, CUDA_BLOCK_SHARED_MOST);
	if (!f->local_bytes)
		f->local_bytes = attribute(cuda, device, CUDA_BLOCK_SHARED);
	f->cache_bytes = attribute(cuda, device, CUDA_L2_BYTES);
	if (!cuda->cuDeviceTotalMem_v2(&bytes, device))
		f->memory_bytes = f->buffer_bytes = (int64_t)bytes;
}

/* Events tell times to half a microsecond; what is allocated is aligned to 256
 * bytes. */
Status cuda_facts(
    const Cuda *cuda, int device, DeviceFacts *f, Error *error)
{
	int version = 0;
	memset(f, 0, sizeof *f); /* it is sent as bytes */
	int answer = cuda->cuDeviceGetName(f->name, sizeof f->name, device);
	if (answer)
		return cuda_failed(error, answer, "the name of a device");
	strcpy(f->platform, "CUDA");
	strcpy(f->vendor, "NVIDIA Corporation");
	cuda->cuDriverGetVersion(&version);
	snprintf(f->version, sizeof f->version, "CUDA %d.%d", version / 1000,
	    version % 1000 / 10);
	module_version(f->driver, sizeof f->driver);
	if (!*f->driver)
		snprintf(f->driver, sizeof f->driver, "%d", version);
	snprintf(f->arch, sizeof f->arch, "sm_%d%d",
	    attribute(cuda, device, CUDA_MAJOR) % 100,
	    attribute(cuda, device, CUDA_MINOR) % 10);
	f->type = DEVICE_GPU;
	f->usable = true;
	f->float_lanes = 1;
	f->local_dedicated = true;
	f->align_bytes = 256;
	f->timer_s = 5e-7;
	f->f64 = f->f16 = f->rounded_divide = true;
	read_limits(cuda, device, f);
	return STATUS_OK;
}

Status cuda_list(Arena *arena, DeviceFacts **facts, int *n, Error *error)
{
	const Cuda *cuda = cuda_library(error);
	int count = 0;
	*n = 0;
	if (!cuda)
		return error->status;
	int answer = cuda->cuDeviceGetCount(&count);
	if (answer || !count)
		return cuda_failed(
		    error, answer ? answer : 100, "CUDA has no device");
	*facts = NEW_N(arena, DeviceFacts, count);
	for (int i = 0; i < count; i++) {
		int device;
		answer = cuda->cuDeviceGet(&device, i);
		if (answer)
			return cuda_failed(error, answer, "a device of CUDA's");
		FORWARD_IF_ERROR(
		    cuda_facts(cuda, device, &(*facts)[i], error));
	}
	*n = count;
	return STATUS_OK;
}
