/* A libcuda of the tests' own: the device's memory is the host's, a launch is
 * written to $FAKE_CUDA_LOG, and what goes wrong on a device goes wrong here by
 * the name of the kernel:
 *
 *     …sticky…   an illegal address: 700, from then on from every call
 *     …hang…     never ends
 *     …deep…     too many resources: 701
 *     …count…    adds 1 to the first word of its first argument
 *     …mean…     is allowed no more shared memory: 1
 *
 * FAKE_CUDA_DEVICES is how many there are, FAKE_CUDA_CURRENT the one whose
 * context is current; FAKE_CUDA_INIT what cuInit gives. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef unsigned long long Pointer;

enum { DEVICES = 4, SHARED = 49152, SHARED_MOST = 232448 };

typedef struct Kernel {
	char name[256];
	int threads; /* that it can have */
	int shared[DEVICES]; /* bytes that a launch can give it */
	struct Kernel *next; /* all that there ever were */
} Kernel;

static int stuck; /* the error that stays */
static Kernel *kernels;
static double clock_ms;

#define STICKY                                                                 \
	do {                                                                   \
		if (stuck)                                                     \
			return stuck;                                          \
	} while (0)

static void say(const char *text)
{
	const char *path = getenv("FAKE_CUDA_LOG");
	FILE *log = path ? fopen(path, "a") : NULL;
	if (!log)
		return;
	fputs(text, log);
	fclose(log);
}

static int number(const char *name, int otherwise)
{
	const char *text = getenv(name);
	return text ? atoi(text) : otherwise;
}

/* NVIDIA's calls the C library's functions from here on, bind() among them: a
 * program that has one of its own for that has to keep it to itself. */
int cuInit(unsigned flags)
{
	(void)flags;
	if (bind(-1, NULL, 0) != -1)
		return 999;
	return number("FAKE_CUDA_INIT", 0);
}

int cuDriverGetVersion(int *version)
{
	*version = 13000;
	return 0;
}

int cuDeviceGetCount(int *n)
{
	*n = number("FAKE_CUDA_DEVICES", 1);
	return 0;
}

int cuDeviceGet(int *device, int index)
{
	*device = index;
	return index < number("FAKE_CUDA_DEVICES", 1) ? 0 : 101;
}

int cuDeviceGetName(char *name, int size, int device)
{
	snprintf(name, (size_t)size, "Fake %d", device);
	return 0;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
	(void)device;
	*bytes = (size_t)1 << 30;
	return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
	static const struct {
		int attribute, value;
	} known[] = {{1, 1024}, {2, 1024}, {3, 1024}, {4, 64}, {5, 2147483647},
	    {6, 65535}, {7, 65535}, {8, SHARED}, {10, 32}, {12, 65536},
	    {13, 1980000}, {16, 132}, {36, 2619000}, {37, 5120},
	    {38, 52428800}, {39, 2048}, {75, 9}, {76, 0}, {81, 233472},
	    {82, 65536}, {97, SHARED_MOST}, {106, 32}, {111, 1024}};
	(void)device;
	*value = 0;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].attribute == attribute)
			*value = known[i].value;
	return 0;
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
	(void)device;
	*context = &stuck;
	return 0;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
	(void)device;
	return 0;
}

int cuCtxSetCurrent(void *context)
{
	(void)context;
	return 0;
}

int cuCtxSynchronize(void)
{
	return stuck;
}

static int load(void **out, const char *image)
{
	STICKY;
	if (!strstr(image, ".entry"))
		return 218; /* no PTX */
	*out = strdup(image);
	return 0;
}

int cuModuleLoadDataEx(void **module, const void *image, unsigned n,
    int *options, void **values)
{
	for (unsigned i = 0; i < n; i++)
		if (options[i] == 5 && !strstr(image, ".entry"))
			strcpy(values[i], "ptxas fatal: this is no PTX");
	return load(module, image);
}

int cuModuleUnload(void *module)
{
	free(module);
	return stuck;
}

int cuLibraryLoadData(void **library, const void *code, void *options,
    void **values, unsigned n, void *library_options, void **library_values,
    unsigned library_n)
{
	(void)options;
	(void)values;
	(void)n;
	(void)library_options;
	(void)library_values;
	(void)library_n;
	say("load\n");
	return load(library, code);
}

int cuLibraryUnload(void *library)
{
	say("unload\n");
	free(library);
	return 0;
}

int cuModuleGetFunction(void **function, void *module, const char *name)
{
	char entry[300];
	snprintf(entry, sizeof entry, ".entry %s(", name);
	STICKY;
	if (!strstr(module, entry))
		return 500;
	Kernel *k = calloc(1, sizeof *k);
	snprintf(k->name, sizeof k->name, "%s", name);
	k->threads = strstr(name, "deep") ? 64 : 1024;
	for (int i = 0; i < DEVICES; i++)
		k->shared[i] = SHARED;
	k->next = kernels;
	kernels = k;
	*function = k;
	return 0;
}

int cuLibraryGetKernel(void **kernel, void *library, const char *name)
{
	return cuModuleGetFunction(kernel, library, name);
}

int cuFuncGetAttribute(int *value, int attribute, void *function)
{
	Kernel *k = function;
	*value = attribute == 0 ? k->threads : attribute == 4 ? 32 : 0;
	return 0;
}

static int current(void)
{
	return number("FAKE_CUDA_CURRENT", 0) % DEVICES;
}

int cuCtxGetDevice(int *device)
{
	*device = current();
	return stuck;
}

int cuKernelSetAttribute(int attribute, int value, void *kernel, int device)
{
	char line[400];
	Kernel *k = kernel;
	STICKY;
	if (attribute != 8 || value > SHARED_MOST || strstr(k->name, "mean"))
		return 1;
	snprintf(line, sizeof line, "%s may have %d on %d\n", k->name, value,
	    device);
	say(line);
	k->shared[device % DEVICES] = value;
	return 0;
}

int cuFuncSetAttribute(void *function, int attribute, int value)
{
	return cuKernelSetAttribute(attribute, value, function, current());
}

int cuMemAlloc_v2(Pointer *at, size_t size)
{
	STICKY;
	if (size > (size_t)1 << 30)
		return 2;
	*at = (Pointer)(size_t)malloc(size ? size : 1);
	return 0;
}

int cuMemFree_v2(Pointer at)
{
	free((void *)(size_t)at);
	return stuck;
}

int cuMemcpyHtoD_v2(Pointer to, const void *from, size_t size)
{
	STICKY;
	memcpy((void *)(size_t)to, from, size);
	return 0;
}

int cuMemcpyDtoH_v2(void *to, Pointer from, size_t size)
{
	STICKY;
	memcpy(to, (void *)(size_t)from, size);
	return 0;
}

int cuMemsetD8_v2(Pointer to, unsigned char byte, size_t size)
{
	STICKY;
	memset((void *)(size_t)to, byte, size);
	return 0;
}

int cuStreamCreate(void **stream, unsigned flags)
{
	*stream = malloc(1);
	(void)flags;
	return stuck;
}

int cuStreamDestroy_v2(void *stream)
{
	free(stream);
	return stuck;
}

int cuStreamSynchronize(void *stream)
{
	(void)stream;
	return stuck;
}

int cuEventCreate(void **event, unsigned flags)
{
	(void)flags;
	*event = calloc(1, sizeof clock_ms);
	return stuck;
}

int cuEventDestroy_v2(void *event)
{
	free(event);
	return stuck;
}

int cuEventRecord(void *event, void *stream)
{
	(void)stream;
	*(double *)event = clock_ms;
	return stuck;
}

int cuEventSynchronize(void *event)
{
	(void)event;
	return stuck;
}

int cuEventElapsedTime(float *ms, void *start, void *end)
{
	*ms = (float)(*(double *)end - *(double *)start);
	return stuck;
}

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz,
    unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream,
    void **arguments, void **extra)
{
	char line[600];
	Kernel *k = function;
	Pointer first = *(Pointer *)arguments[0];
	(void)stream;
	(void)extra;
	STICKY;
	snprintf(line, sizeof line, "%s grid %u %u %u block %u %u %u shared %u\n",
	    k->name, gx, gy, gz, bx, by, bz, shared);
	say(line);
	clock_ms += 2;
	if (shared > (unsigned)k->shared[current()])
		return 1;
	if (bx * by * bz > (unsigned)k->threads)
		return 701;
	if (strstr(k->name, "sticky"))
		stuck = 700;
	if (strstr(k->name, "hang"))
		pause();
	if (strstr(k->name, "count"))
		++*(int *)(size_t)first;
	return 0;
}

int cuGetErrorName(int result, const char **name)
{
	*name = result == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
	    : result == 2     ? "CUDA_ERROR_OUT_OF_MEMORY"
			      : "CUDA_ERROR";
	return 0;
}

int cuGetErrorString(int result, const char **text)
{
	*text = result == 700 ? "an illegal memory access was encountered"
			      : "something went wrong";
	return 0;
}
