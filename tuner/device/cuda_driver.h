/* CUDA's driver as far as it is called here: our own prototypes, so that nothing
 * of NVIDIA's is needed to build.  test/unit/test_device_cuda.c compares the
 * numbers with those of cuda.h where that is installed. */
#ifndef TUNER_CUDA_DRIVER_H
#define TUNER_CUDA_DRIVER_H

#include "tuner/device/device.h"

typedef unsigned long long CuPointer;
typedef struct CUctx_st *CuContext;
typedef struct CUmod_st *CuModule;
typedef struct CUfunc_st *CuFunction;
typedef struct CUstream_st *CuStream;
typedef struct CUevent_st *CuEvent;

enum {
	CUDA_BLOCK_THREADS = 1,
	CUDA_BLOCK_X = 2, /* y, z follow */
	CUDA_BLOCK_SHARED = 8,
	CUDA_WARP = 10,
	CUDA_CLOCK_KHZ = 13,
	CUDA_PROCESSORS = 16,
	CUDA_L2_BYTES = 38,
	CUDA_MAJOR = 75,
	CUDA_MINOR = 76,
	CUDA_BLOCK_SHARED_MOST = 97, /* where a launch asks for it */
	/* of a kernel */
	CUDA_KERNEL_THREADS = 0,
	CUDA_KERNEL_SHARED = 1,
	CUDA_KERNEL_DYNAMIC_MOST = 8,
	/* of loading */
	CUDA_LOAD_ERRORS = 5,
	CUDA_LOAD_ERRORS_BYTES = 6,
	CUDA_STREAM_ALONE = 1
};

/* The library's functions. */
typedef struct {
#define CU_CALL(name, parameters) int(*name) parameters;
#include "tuner/device/cuda_driver.def"
#undef CU_CALL
} Cuda;

/* cuda_driver.c: opened and initialized on first use and kept, in processes that
 * fork no more; NULL and what is missing. */
const Cuda *cuda_library(Error *error);
/* What a call answered, for a person, behind `what`; returns the Status. */
Status cuda_failed(Error *error, int answer, const char *what);
/* The version in the first line of /proc/driver/nvidia/version, which is cut into
 * words; "" where there is none. */
void cuda_module_version(char *line, char *out, size_t size);
/* What the driver says of a device. */
Status cuda_facts(
    const Cuda *cuda, int device, DeviceFacts *facts, Error *error);
Status cuda_list(Arena *arena, DeviceFacts **facts, int *n, Error *error);

#endif
