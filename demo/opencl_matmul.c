/* A product on whatever device OpenCL has, by the kernel that tunec made: launched
 * on a queue, checked against plain loops, timed.
 *
 *     tunec build workloads/matmul.yaml:square_512 --target opencl \
 *         -o matmul.c -o matmul.h
 *     cc -O2 -I. demo/opencl_matmul.c matmul.c -l:libOpenCL.so.1 -lm \
 *         -o opencl_matmul
 *
 * OpenCL's entries are declared here; <CL/cl.h> has them too. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "matmul.h"

enum { N = 512, RUNS = 20, READ_WRITE = 1, ALL_DEVICES = -1, WAITS = 1 };

int clGetPlatformIDs(unsigned n, void **platforms, unsigned *found);
int clGetDeviceIDs(void *platform, unsigned long long kinds, unsigned n,
    void **devices, unsigned *found);
void *clCreateContext(const void *properties, unsigned n,
    void *const *devices, void *notify, void *data, int *result);
cl_command_queue clCreateCommandQueue(void *context, void *device,
    unsigned long long properties, int *result);
cl_mem clCreateBuffer(void *context, unsigned long long flags, size_t size,
    void *data, int *result);
int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem to, unsigned waits,
    size_t offset, size_t size, const void *from, unsigned nafter,
    void *const *after, void **event);
int clEnqueueReadBuffer(cl_command_queue queue, cl_mem from, unsigned waits,
    size_t offset, size_t size, void *to, unsigned nafter, void *const *after,
    void **event);
int clFinish(cl_command_queue queue);

static void check(int result, const char *what)
{
	if (!result)
		return;
	fprintf(stderr, "%s gave %d\n", what, result);
	exit(1);
}
#define CHECK(call) check(call, #call)

static void *context;
static cl_command_queue queue;

static void open_device(void)
{
	void *platform, *device;
	int result;
	CHECK(clGetPlatformIDs(1, &platform, NULL));
	CHECK(clGetDeviceIDs(platform, (unsigned long long)ALL_DEVICES, 1,
	    &device, NULL));
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &result);
	check(result, "clCreateContext");
	queue = clCreateCommandQueue(context, device, 0, &result);
	check(result, "clCreateCommandQueue");
}

static float *some(size_t n)
{
	float *x = malloc(n * sizeof *x);
	for (size_t i = 0; i < n; i++)
		x[i] = (float)(rand() % 2001 - 1000) / 1000;
	return x;
}

/* NULL for nothing. */
static cl_mem on_device(const void *data, size_t size)
{
	int result = 0;
	if (!size)
		return NULL;
	cl_mem at = clCreateBuffer(context, READ_WRITE, size, NULL, &result);
	check(result, "clCreateBuffer");
	if (data)
		CHECK(clEnqueueWriteBuffer(
		    queue, at, WAITS, 0, size, data, 0, NULL, NULL));
	return at;
}

static double worst_error(const float *a, const float *b, const float *c)
{
	double worst = 0;
	for (int i = 0; i < N; i += 37)
		for (int j = 0; j < N; j++) {
			double sum = 0;
			for (int k = 0; k < N; k++)
				sum += (double)a[i * N + k] * b[k * N + j];
			worst = fmax(worst, fabs(sum - c[i * N + j]));
		}
	return worst;
}

static double seconds(void)
{
	struct timespec t;
	timespec_get(&t, TIME_UTC);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(void)
{
	size_t bytes = sizeof(float) * N * N;
	float *a = some(N * N), *b = some(N * N), *c = calloc(N, N * sizeof *c);
	void *packed = malloc(MATMUL_SQUARE_512_PACKED_B_BYTES);
	open_device();
	matmul_square_512_pack_b(b, packed); /* once */
	cl_mem at_a = on_device(a, bytes), at_c = on_device(NULL, bytes);
	cl_mem at_b = on_device(packed, MATMUL_SQUARE_512_PACKED_B_BYTES);
	cl_mem workspace = on_device(NULL, MATMUL_SQUARE_512_WORKSPACE_BYTES);
	/* the first call builds the program */
	CHECK(matmul_square_512(at_a, at_b, at_c, workspace, queue));
	CHECK(clEnqueueReadBuffer(
	    queue, at_c, WAITS, 0, bytes, c, 0, NULL, NULL));
	double worst = worst_error(a, b, c), start = seconds();
	for (int i = 0; i < RUNS; i++)
		CHECK(matmul_square_512(at_a, at_b, at_c, workspace, queue));
	CHECK(clFinish(queue));
	double ms = (seconds() - start) / RUNS * 1e3;
	printf("off by %.2g at most; %.3f ms, %.0f GFLOP/s\n", worst, ms,
	    2.0 * N * N * N / (ms * 1e6));
	return worst > 1e-3;
}
