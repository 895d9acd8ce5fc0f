/* Devices that run kernels: one face for what OpenCL and CUDA's driver do.
 *
 *     device.c        which drivers there are, and which device is taken
 *     device_json.c   a device in JSON, as records and people have it
 *     device_probe.c  what devices this machine has, asked in a process of its
 *                     own: a driver starts threads, and may crash or hang
 *     device_folder.c where a driver may write to
 *     opencl.c        the ICD loader, found at run time; its devices
 *     opencl_run.c    programs, buffers, launches and their times there
 *     cuda_driver.c   libcuda, found at run time; its devices
 *     cuda_run.c      the same of CUDA's
 *
 *     DeviceDriver opencl                 what a driver can do
 *       Device                            one that is open: its queue
 *         DeviceProgram, DeviceKernel     built for it
 *         DeviceBuffer                    its memory
 *
 * Nothing is opened before `list` or `open`, and then nothing of it may be
 * carried through a fork: processes that measure open their own.  A function
 * that fails fills in an Error and leaves nothing behind.  After STATUS_CRASH the
 * device is lost for this process, which is best ended: errors of a GPU stick. */
#ifndef TUNER_DEVICE_H
#define TUNER_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "lib/arena.h"
#include "lib/status.h"

typedef enum { DEVICE_GPU, DEVICE_CPU, DEVICE_OTHER } DeviceType;

/* Plain bytes: they are sent between processes.  Text is what a driver says, of
 * any bytes; 0 is what is not known. */
typedef struct {
	char platform[64];     /* "Portable Computing Language", "CUDA" */
	char name[128];
	char vendor[64];
	char driver[64];       /* its version: "580.65", "3.1" */
	char version[64];      /* of the interface: "OpenCL 3.0", "CUDA 13.0" */
	char arch[16];         /* "sm_90"; "" */
	DeviceType type;
	bool usable;           /* there, with a compiler, with timers */
	int units;             /* compute units, multiprocessors */
	int warp;              /* threads that run together */
	int float_lanes;       /* preferred vector of f32 */
	int clock_mhz;
	int64_t group_threads; /* work-items of a group, at most */
	int64_t group_size[3]; /* in each direction */
	int64_t local_bytes;   /* that a group shares, its launch asking for
				  them or not */
	bool local_dedicated;  /* or plain memory behind a cache */
	int64_t memory_bytes, buffer_bytes; /* all; the largest buffer */
	int64_t cache_bytes;   /* the last one */
	int align_bytes;       /* of a buffer's first byte */
	double timer_s;        /* resolution of times */
	bool f64, f16;         /* arithmetic */
	bool rounded_divide;   /* f32 division and sqrt can be exact */
} DeviceFacts;

typedef struct Device Device;
typedef struct DeviceProgram DeviceProgram;
typedef struct DeviceKernel DeviceKernel;
typedef struct DeviceBuffer DeviceBuffer;

/* One launch: `grid` groups of `block` threads in each direction. */
typedef struct {
	DeviceKernel *kernel;
	int64_t grid[3], block[3];
} DeviceLaunch;

typedef struct {
	const char *name; /* "opencl", "cuda" */
	/* All devices, usable ones first.  None: STATUS_MISSING, and what to
	 * install. */
	Status (*list)(Arena *arena, DeviceFacts **facts, int *n, Error *error);
	/* The index-th of that list. */
	Status (*open)(int index, Device **out, Error *error);
	void (*close)(Device *device);
	const DeviceFacts *(*facts)(const Device *device);

	/* Source text or what the driver takes else (PTX, a cubin); `options`
	 * as its compiler has them, may be "".  STATUS_INPUT: it does not
	 * build; the text is the compiler's log. */
	Status (*build)(Device *device, const void *code, size_t size,
	    const char *options, DeviceProgram **out, Error *error);
	void (*drop)(Device *device, DeviceProgram *program);
	/* Of that name, for groups of that size, to which its launches give so
	 * many bytes to share beside those that it declares (OpenCL: none);
	 * STATUS_UNSUPPORTED: the device does not run so many threads of it, or
	 * shares less memory.  It lives as long as the program. */
	Status (*kernel)(Device *device, DeviceProgram *program,
	    const char *name, const int64_t block[3], int64_t dynamic_bytes,
	    DeviceKernel **out, Error *error);

	/* STATUS_UNSUPPORTED: the device has less. */
	Status (*alloc)(
	    Device *device, size_t size, DeviceBuffer **out, Error *error);
	void (*free)(Device *device, DeviceBuffer *buffer);
	Status (*write)(Device *device, DeviceBuffer *to, size_t offset,
	    const void *from, size_t size, Error *error);
	Status (*read)(Device *device, DeviceBuffer *from, size_t offset,
	    void *to, size_t size, Error *error);
	Status (*fill)(Device *device, DeviceBuffer *to, unsigned char byte,
	    size_t size, Error *error);

	/* Runs the launches in order, each after the one before has ended, all
	 * with these pointers as their arguments; that so many times.  Waits
	 * for the last.  *seconds (NULL: not wanted): from the beginning of the
	 * first to the end of the last, by the device's clock. */
	Status (*run)(Device *device, const DeviceLaunch *launches, int n,
	    DeviceBuffer *const *args, int nargs, int repeats,
	    double *seconds, Error *error);
} DeviceDriver;

extern const DeviceDriver device_opencl, device_cuda;

/* device.c: all, NULL behind the last; one by its name, or NULL */
extern const DeviceDriver *const device_drivers[];
const DeviceDriver *device_driver(const char *name);
const char *device_type_name(DeviceType type); /* "gpu" */
/* The first usable device of a type, in a list; -1.  `any`: of whatever type. */
int device_choose(
    const DeviceFacts *facts, int n, bool any, DeviceType type);

/* device_json.c: name, driver, version, limits; the caller's. */
json_t *device_json(const DeviceDriver *driver, const DeviceFacts *facts);

/* device_folder.c: a new folder for what a driver and its compiler leave behind;
 * "" where none can be made.  What uses it sets the environment of this process,
 * before the driver is opened; what the user has set stands. */
enum { DEVICE_FOLDER = 64 };
void device_folder_make(char folder[DEVICE_FOLDER]);
void device_folder_use(const char *folder);
void device_folder_remove(const char *folder);

/* device_probe.c: `list` in a process of its own, which gets ten seconds.  To be
 * called before this process has threads. */
Status device_probe(const DeviceDriver *driver, Arena *arena,
    DeviceFacts **facts, int *n, Error *error);

#endif
