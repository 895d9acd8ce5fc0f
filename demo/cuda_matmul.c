/* A product on a GPU, by the kernel that tunec made: launched through CUDA's
 * driver, checked against plain loops, timed by events.
 *
 *     tunec build workloads/matmul.yaml:square_512 --target 'cuda -arch=sm_90' \
 *         -o matmul.c -o matmul.h
 *     cc -O2 -I. demo/cuda_matmul.c matmul.c -lcuda -o cuda_matmul
 *
 * The driver's entries are declared here; <cuda.h> has them too. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "matmul.h"

enum { N = 512, RUNS = 20 };

int cuInit(unsigned flags);
int cuDeviceGet(int *device, int index);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxSetCurrent(void *context);
int cuMemAlloc_v2(CUdeviceptr *at, size_t size);
int cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t size);
int cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t size);
int cuEventCreate(void **event, unsigned flags);
int cuEventRecord(void *event, CUstream stream);
int cuEventSynchronize(void *event);
int cuEventElapsedTime(float *ms, void *start, void *end);

static void check(int result, const char *what)
{
	if (!result)
		return;
	fprintf(stderr, "%s gave %d\n", what, result);
	exit(1);
}
#define CHECK(call) check(call, #call)

static float *some(size_t n)
{
	float *x = malloc(n * sizeof *x);
	for (size_t i = 0; i < n; i++)
		x[i] = (float)(rand() % 2001 - 1000) / 1000;
	return x;
}

static CUdeviceptr on_device(const void *data, size_t size)
{
	CUdeviceptr at = 0;
	if (size)
		CHECK(cuMemAlloc_v2(&at, size));
	if (size && data)
		CHECK(cuMemcpyHtoD_v2(at, data, size));
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

int main(void)
{
	size_t bytes = sizeof(float) * N * N;
	float *a = some(N * N), *b = some(N * N), *c = calloc(N, N * sizeof *c);
	void *context, *start, *end, *packed =
	    malloc(MATMUL_SQUARE_512_PACKED_B_BYTES);
	float ms = 0;
	int device;
	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK(cuCtxSetCurrent(context));
	matmul_square_512_pack_b(b, packed); /* once */
	CUdeviceptr at_a = on_device(a, bytes), at_c = on_device(NULL, bytes);
	CUdeviceptr at_b = on_device(packed, MATMUL_SQUARE_512_PACKED_B_BYTES);
	CUdeviceptr workspace =
	    on_device(NULL, MATMUL_SQUARE_512_WORKSPACE_BYTES);
	CHECK(cuEventCreate(&start, 0));
	CHECK(cuEventCreate(&end, 0));
	CHECK(matmul_square_512(at_a, at_b, at_c, workspace, NULL));
	CHECK(cuMemcpyDtoH_v2(c, at_c, bytes));
	double worst = worst_error(a, b, c);
	CHECK(cuEventRecord(start, NULL));
	for (int i = 0; i < RUNS; i++)
		CHECK(matmul_square_512(at_a, at_b, at_c, workspace, NULL));
	CHECK(cuEventRecord(end, NULL));
	CHECK(cuEventSynchronize(end));
	CHECK(cuEventElapsedTime(&ms, start, end));
	printf("off by %.2g at most; %.3f ms, %.0f GFLOP/s\n", worst, ms / RUNS,
	    2.0 * N * N * N * RUNS / (ms * 1e6));
	return worst > 1e-3;
}
