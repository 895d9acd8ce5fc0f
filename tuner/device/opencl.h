/* OpenCL as far as it is called here: our own prototypes, so that nothing of it
 * is needed to build.  test/unit/test_device.c compares the numbers with those of
 * CL/cl.h where that is installed. */
#ifndef TUNER_OPENCL_H
#define TUNER_OPENCL_H

#include "tuner/device/device.h"

typedef int32_t ClInt;
typedef uint32_t ClUint;
typedef uint64_t ClBits;
typedef struct _cl_platform_id *ClPlatform;
typedef struct _cl_device_id *ClDevice;
typedef struct _cl_context *ClContext;
typedef struct _cl_command_queue *ClQueue;
typedef struct _cl_mem *ClMemory;
typedef struct _cl_program *ClProgram;
typedef struct _cl_kernel *ClKernel;
typedef struct _cl_event *ClEvent;
typedef void ClNotify(
    const char *text, const void *data, size_t size, void *user);

enum {
	OPENCL_PLATFORM_NAME = 0x0902,
	OPENCL_DEVICE_TYPE = 0x1000,
	OPENCL_DEVICE_UNITS = 0x1002,
	OPENCL_DEVICE_GROUP_THREADS = 0x1004,
	OPENCL_DEVICE_GROUP_SIZE = 0x1005,
	OPENCL_DEVICE_FLOAT_LANES = 0x100A,
	OPENCL_DEVICE_CLOCK_MHZ = 0x100C,
	OPENCL_DEVICE_BUFFER_BYTES = 0x1010,
	OPENCL_DEVICE_ALIGN_BITS = 0x1019,
	OPENCL_DEVICE_F32 = 0x101B,
	OPENCL_DEVICE_CACHE_BYTES = 0x101E,
	OPENCL_DEVICE_MEMORY_BYTES = 0x101F,
	OPENCL_DEVICE_LOCAL_TYPE = 0x1022,
	OPENCL_DEVICE_LOCAL_BYTES = 0x1023,
	OPENCL_DEVICE_TIMER_NS = 0x1025,
	OPENCL_DEVICE_AVAILABLE = 0x1027,
	OPENCL_DEVICE_COMPILER = 0x1028,
	OPENCL_DEVICE_QUEUE = 0x102A,
	OPENCL_DEVICE_NAME = 0x102B,
	OPENCL_DEVICE_VENDOR = 0x102C,
	OPENCL_DRIVER_VERSION = 0x102D,
	OPENCL_DEVICE_VERSION = 0x102F,
	OPENCL_DEVICE_EXTENSIONS = 0x1030,
	OPENCL_DEVICE_F64 = 0x1032,
	OPENCL_DEVICE_WARP_NV = 0x4003,
	OPENCL_DEVICE_WARP_AMD = 0x4043,
	OPENCL_PROGRAM_BUILD_LOG = 0x1183,
	OPENCL_KERNEL_GROUP_THREADS = 0x11B0,
	OPENCL_KERNEL_LOCAL_BYTES = 0x11B2,
	OPENCL_EVENT_START = 0x1282,
	OPENCL_EVENT_END = 0x1283,
	/* bits and values of these */
	OPENCL_TYPE_CPU = 1 << 1,
	OPENCL_TYPE_GPU = 1 << 2,
	OPENCL_LOCAL_DEDICATED = 1,
	OPENCL_ROUNDED_DIVIDE = 1 << 7,
	OPENCL_QUEUE_PROFILING = 1 << 1,
	OPENCL_MEMORY_READ_WRITE = 1 << 0
};
static const ClBits OPENCL_TYPE_ALL = 0xFFFFFFFF;

/* The library's functions. */
typedef struct {
#define CL_CALL(result, name, parameters) result(*name) parameters;
#include "tuner/device/opencl.def"
#undef CL_CALL
} OpenCl;

/* opencl.c: opened on first use and kept; NULL and what is missing. */
const OpenCl *opencl_library(Error *error);
/* What a call answered, for a person, behind `what`; returns the Status. */
Status opencl_failed(Error *error, ClInt answer, const char *what);
/* All devices of all platforms, usable ones first, and their facts; both in the
 * arena. */
Status opencl_devices(Arena *arena, const OpenCl *cl, ClDevice **devices,
    DeviceFacts **facts, int *n, Error *error);
Status opencl_list(Arena *arena, DeviceFacts **facts, int *n, Error *error);

#endif
