/* OpenCL's library and its devices.
 *
 * libOpenCL.so.1 is the loader: each vendor's driver registers with it by a file
 * in /etc/OpenCL/vendors (OCL_ICD_VENDORS names another folder).  A machine
 * without the loader, without a driver or without a device is an ordinary one. */
#include "tuner/device/opencl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/vec.h"

/* --- the library ---------------------------------------------------------- */

static const char library_name[] = "libOpenCL.so.1";

const OpenCl *opencl_library(Error *error)
{
	static OpenCl cl;
	static bool found;
	if (found)
		return &cl;
	void *library = dlopen(library_name, RTLD_NOW);
	if (!library) {
		error_set(error, STATUS_MISSING,
		    "no OpenCL: %.500s; packages ocl-icd-libopencl1 and a "
		    "device's driver have it (pocl-opencl-icd for the CPU)",
		    dlerror());
		return NULL;
	}
#define CL_CALL(result, name, parameters)                                      \
	*(void **)&cl.name = dlsym(library, #name);                            \
	if (!cl.name) {                                                        \
		error_set(error, STATUS_MISSING,                               \
		    "%s has no " #name ": it is older than OpenCL 1.2",        \
		    library_name);                                             \
		return NULL;                                                   \
	}
#include "tuner/device/opencl.def"
#undef CL_CALL
	found = true;
	return &cl;
}

/* --- errors --------------------------------------------------------------- */

Status opencl_failed(Error *error, ClInt answer, const char *what)
{
	static const struct {
		ClInt answer;
		Status status;
		const char *name;
	} errors[] = {
#define CL_ERROR(number, name, status) {number, STATUS_##status, "CL_" #name},
#include "tuner/device/opencl_errors.def"
#undef CL_ERROR
	};
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		if (errors[i].answer == answer)
			return error_set(error, errors[i].status, "%s: %s",
			    what, errors[i].name);
	return error_set(
	    error, STATUS_CRASH, "%s: OpenCL error %d", what, (int)answer);
}

static Status no_devices(Error *error)
{
	return error_set(error, STATUS_MISSING,
	    "OpenCL has no device: no driver is registered in "
	    "/etc/OpenCL/vendors%s%s; package pocl-opencl-icd makes the CPU "
	    "one, a GPU's driver brings its own",
	    getenv("OCL_ICD_VENDORS") ? " but OCL_ICD_VENDORS is " : "",
	    getenv("OCL_ICD_VENDORS") ? getenv("OCL_ICD_VENDORS") : "");
}

/* --- facts ---------------------------------------------------------------- */

/* A number of whatever size a device says it has; 0: it does not say. */
static uint64_t number(const OpenCl *cl, ClDevice d, ClUint what)
{
	unsigned char bytes[8] = {0};
	size_t used = 0;
	uint32_t narrow;
	uint64_t wide;
	if (cl->clGetDeviceInfo(d, what, sizeof bytes, bytes, &used))
		return 0;
	memcpy(&narrow, bytes, sizeof narrow);
	memcpy(&wide, bytes, sizeof wide);
	return used == sizeof narrow ? narrow : wide;
}

/* A text, cut where there is no room. */
static void text(const OpenCl *cl, ClDevice d, ClUint what, char *out,
    size_t size)
{
	char all[4096] = "";
	size_t used = 0;
	if (cl->clGetDeviceInfo(d, what, sizeof all - 1, all, &used))
		all[0] = 0;
	const char *begin = all + strspn(all, " \t\n");
	snprintf(out, size, "%s", begin);
	for (size_t n = strlen(out); n && out[n - 1] <= ' '; n--)
		out[n - 1] = 0;
}

/* A list of words on the heap: some devices have kilobytes of them. */
static bool has_extension(const OpenCl *cl, ClDevice d, const char *word)
{
	size_t used = 0, n = strlen(word);
	if (cl->clGetDeviceInfo(
		d, OPENCL_DEVICE_EXTENSIONS, 0, NULL, &used) ||
	    !used)
		return false;
	char *list = must_alloc(used + 1);
	bool found = false;
	list[used] = 0;
	if (!cl->clGetDeviceInfo(
		d, OPENCL_DEVICE_EXTENSIONS, used, list, NULL))
		for (char *p = strstr(list, word); p && !found;
		     p = strstr(p + 1, word))
			found = (p == list || p[-1] == ' ') &&
			    (!p[n] || p[n] == ' ');
	free(list);
	return found;
}

static void read_limits(const OpenCl *cl, ClDevice d, DeviceFacts *f)
{
	size_t sizes[16] = {0};
	f->group_threads =
	    (int64_t)number(cl, d, OPENCL_DEVICE_GROUP_THREADS);
	if (cl->clGetDeviceInfo(
		d, OPENCL_DEVICE_GROUP_SIZE, sizeof sizes, sizes, NULL))
		memset(sizes, 0, sizeof sizes);
	for (int i = 0; i < 3; i++)
		f->group_size[i] = (int64_t)sizes[i];
	f->local_bytes = (int64_t)number(cl, d, OPENCL_DEVICE_LOCAL_BYTES);
	f->local_dedicated = number(cl, d, OPENCL_DEVICE_LOCAL_TYPE) ==
	    OPENCL_LOCAL_DEDICATED;
	f->memory_bytes = (int64_t)number(cl, d, OPENCL_DEVICE_MEMORY_BYTES);
	f->buffer_bytes = (int64_t)number(cl, d, OPENCL_DEVICE_BUFFER_BYTES);
	f->cache_bytes = (int64_t)number(cl, d, OPENCL_DEVICE_CACHE_BYTES);
	f->align_bytes = (int)(number(cl, d, OPENCL_DEVICE_ALIGN_BITS) / 8);
}

static int warp(const OpenCl *cl, ClDevice d)
{
	int n = (int)number(cl, d, OPENCL_DEVICE_WARP_NV);
	return n ? n : (int)number(cl, d, OPENCL_DEVICE_WARP_AMD);
}

static void read_facts(
    const OpenCl *cl, ClPlatform platform, ClDevice d, DeviceFacts *f)
{
	uint64_t type = number(cl, d, OPENCL_DEVICE_TYPE);
	memset(f, 0, sizeof *f); /* it is sent whole */
	cl->clGetPlatformInfo(platform, OPENCL_PLATFORM_NAME,
	    sizeof f->platform - 1, f->platform, NULL);
	text(cl, d, OPENCL_DEVICE_NAME, f->name, sizeof f->name);
	text(cl, d, OPENCL_DEVICE_VENDOR, f->vendor, sizeof f->vendor);
	text(cl, d, OPENCL_DRIVER_VERSION, f->driver, sizeof f->driver);
	text(cl, d, OPENCL_DEVICE_VERSION, f->version, sizeof f->version);
	f->type = type & OPENCL_TYPE_GPU ? DEVICE_GPU
	    : type & OPENCL_TYPE_CPU	  ? DEVICE_CPU
					  : DEVICE_OTHER;
	f->usable = number(cl, d, OPENCL_DEVICE_AVAILABLE) &&
	    number(cl, d, OPENCL_DEVICE_COMPILER) &&
	    (number(cl, d, OPENCL_DEVICE_QUEUE) & OPENCL_QUEUE_PROFILING);
	f->units = (int)number(cl, d, OPENCL_DEVICE_UNITS);
	f->warp = warp(cl, d);
	f->float_lanes = (int)number(cl, d, OPENCL_DEVICE_FLOAT_LANES);
	f->clock_mhz = (int)number(cl, d, OPENCL_DEVICE_CLOCK_MHZ);
	f->timer_s = 1e-9 * (double)number(cl, d, OPENCL_DEVICE_TIMER_NS);
	f->f64 = number(cl, d, OPENCL_DEVICE_F64) != 0;
	f->f16 = has_extension(cl, d, "cl_khr_fp16");
	f->rounded_divide =
	    (number(cl, d, OPENCL_DEVICE_F32) & OPENCL_ROUNDED_DIVIDE) != 0;
	read_limits(cl, d, f);
}

/* --- the list ------------------------------------------------------------- */

typedef struct {
	ClPlatform platform;
	ClDevice device;
} Found;
typedef VEC(Found) FoundVec;

/* A platform that answers an error has no devices. */
static void find_devices(
    Arena *arena, const OpenCl *cl, ClPlatform platform, FoundVec *found)
{
	ClUint n = 0;
	if (cl->clGetDeviceIDs(platform, OPENCL_TYPE_ALL, 0, NULL, &n))
		return;
	ClDevice *devices = NEW_N(arena, ClDevice, n + 1);
	if (cl->clGetDeviceIDs(platform, OPENCL_TYPE_ALL, n, devices, NULL))
		return;
	for (ClUint i = 0; i < n; i++)
		vec_push(arena, found, ((Found){platform, devices[i]}));
}

/* -1001 is the loader's word for no driver at all. */
static Status find_all(
    Arena *arena, const OpenCl *cl, FoundVec *found, Error *error)
{
	ClUint n = 0;
	ClInt answer = cl->clGetPlatformIDs(0, NULL, &n);
	if (answer == -1001 || (!answer && !n))
		return no_devices(error);
	if (answer)
		return opencl_failed(error, answer, "OpenCL's platforms");
	ClPlatform *platforms = NEW_N(arena, ClPlatform, n);
	answer = cl->clGetPlatformIDs(n, platforms, NULL);
	if (answer)
		return opencl_failed(error, answer, "OpenCL's platforms");
	for (ClUint i = 0; i < n; i++)
		find_devices(arena, cl, platforms[i], found);
	return found->n ? STATUS_OK : no_devices(error);
}

Status opencl_devices(Arena *arena, const OpenCl *cl, ClDevice **devices,
    DeviceFacts **facts, int *n, Error *error)
{
	FoundVec found = {0};
	*n = 0;
	FORWARD_IF_ERROR(find_all(arena, cl, &found, error));
	*devices = NEW_N(arena, ClDevice, found.n);
	*facts = NEW_N(arena, DeviceFacts, found.n);
	for (int usable = 1; usable >= 0; usable--)
		for (int i = 0; i < found.n; i++) {
			DeviceFacts f;
			const Found *d = &found.at[i];
			read_facts(cl, d->platform, d->device, &f);
			if (f.usable != usable)
				continue;
			(*facts)[*n] = f;
			(*devices)[(*n)++] = d->device;
		}
	return STATUS_OK;
}

Status opencl_list(Arena *arena, DeviceFacts **facts, int *n, Error *error)
{
	ClDevice *devices;
	const OpenCl *cl = opencl_library(error);
	*n = 0;
	return cl ? opencl_devices(arena, cl, &devices, facts, n, error)
		  : error->status;
}
