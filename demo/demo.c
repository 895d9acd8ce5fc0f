/* The kernel that tunec made, in a C program: checked against plain loops, and
 * timed beside them, beside the untuned kernel and beside the machine's peak of
 * fused multiply-adds.  Every time is the median of interleaved runs, the peak
 * their best. */
#define _GNU_SOURCE
#include <math.h>
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conv2d.h"
#include "untuned.h"

enum { C = 128, H = 28, W = 28, K = 128, PLAIN = 5, PEAKS = 26, RUNS = 201 };

static double now(void)
{
	return omp_get_wtime();
}

/* A CPU of its own for each thread: left alone, two are often put on one, and
 * then wait for each other's time slice to end. */
static void pin_threads(void)
{
	cpu_set_t all;
	sched_getaffinity(0, sizeof all, &all);
#pragma omp parallel
	{
		cpu_set_t one;
		int skip = omp_get_thread_num() % CPU_COUNT(&all), cpu = 0;
		while (!CPU_ISSET(cpu, &all) || skip-- > 0)
			cpu++;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof one, &one);
	}
}

/* What the spec says, as anyone would write it. */
static void plain(const float *data, const float *weight, const float *bias,
    float *out)
{
#pragma omp parallel for
	for (int o = 0; o < K; o++)
		for (int y = 0; y < H; y++)
			for (int x = 0; x < W; x++) {
				float sum = 0;
				for (int c = 0; c < C; c++)
					for (int r = 0; r < 3; r++)
						for (int s = 0; s < 3; s++) {
							int yy = y + r - 1;
							int xx = x + s - 1;
							if (yy < 0 || yy >= H ||
							    xx < 0 || xx >= W)
								continue;
							sum += data[(c * H +
								   yy) * W +
								   xx] *
							    weight[((o * C +
								c) * 3 + r) *
								    3 + s];
						}
				sum += bias[o];
				out[(o * H + y) * W + x] = sum > 0 ? sum : 0;
			}
}

/* Independent fused multiply-adds on registers, on every thread; written so that
 * no compiler makes less of them. */
#ifdef __FMA__
#define FMA(v)                                                                 \
	__asm__ volatile("vfmadd213ps %2, %1, %0" : "+v"(v) : "v"(x), "v"(y))
#else
#define FMA(v) v = v * x + y
#endif
static double peak_gflops(void)
{
	typedef float V __attribute__((vector_size(
#ifdef __AVX512F__
	    64
#else
	    32
#endif
	    )));
	enum { STEPS = 2000000, CHAINS = 12, LANES = sizeof(V) / 4 };
	double start = now();
	int threads = 1;
#pragma omp parallel
	{
		V x = {0}, y = {0};
		x += 0.999999f;
		y += 1e-7f;
		V a = y, b = a + y, c = b + y, d = c + y, e = d + y, f = e + y;
		V g = f + y, h = g + y, p = h + y, q = p + y, r = q + y;
		V s = r + y;
		for (int i = 0; i < STEPS; i++) {
			FMA(a); FMA(b); FMA(c); FMA(d); FMA(e); FMA(f);
			FMA(g); FMA(h); FMA(p); FMA(q); FMA(r); FMA(s);
		}
		volatile V sink = a + b + c + d + e + f + g + h + p + q + r + s;
		(void)sink;
#pragma omp single
		threads = omp_get_num_threads();
	}
	return 2e-9 * STEPS * CHAINS * LANES * threads / (now() - start);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(double *v, int n)
{
	qsort(v, (size_t)n, sizeof *v, by_size);
	return v[n / 2];
}

static float *random_floats(size_t n)
{
	float *p = aligned_alloc(64, (n * 4 + 63) / 64 * 64);
	for (size_t i = 0; i < n; i++)
		p[i] = (float)rand() / (float)RAND_MAX - 0.5f;
	return p;
}

static void *aligned(size_t bytes)
{
	return aligned_alloc(64, (bytes + 64) / 64 * 64);
}

static float worst(const float *a, const float *b, size_t n)
{
	float most = 0;
	for (size_t i = 0; i < n; i++)
		most = fmaxf(most, fabsf(a[i] - b[i]));
	return most;
}

/* Other work takes from a peak, nothing adds to it. */
static double largest(const double *x, int n)
{
	double most = x[0];
	for (int i = 1; i < n; i++)
		most = fmax(most, x[i]);
	return most;
}

typedef void Conv2d(const float *data, const void *weight, const void *bias,
    float *out, void *workspace);

/* Of the second call: the first brings what it reads into the caches. */
static double seconds(Conv2d *f, const float *data, const void *weight,
    const void *bias, float *out, void *workspace)
{
	f(data, weight, bias, out, workspace);
	double start = now();
	f(data, weight, bias, out, workspace);
	return now() - start;
}

int main(void)
{
	pin_threads();
	float *data = random_floats(C * H * W);
	float *weight = random_floats((size_t)K * C * 9);
	float *bias = random_floats(K);
	size_t n = K * H * W;
	float *want = random_floats(n), *out = random_floats(n);
	float *first = random_floats(n);

	void *w = aligned(CONV2D_RESNET18_C6_PACKED_WEIGHT_BYTES);
	void *b = aligned(CONV2D_RESNET18_C6_PACKED_BIAS_BYTES);
	void *space = aligned(CONV2D_RESNET18_C6_WORKSPACE_BYTES);
	conv2d_resnet18_c6_pack_weight(weight, w);
	conv2d_resnet18_c6_pack_bias(bias, b);

	void *uw = aligned(UNTUNED_RESNET18_C6_PACKED_WEIGHT_BYTES);
	void *ub = aligned(UNTUNED_RESNET18_C6_PACKED_BIAS_BYTES);
	void *uspace = aligned(UNTUNED_RESNET18_C6_WORKSPACE_BYTES);
	untuned_resnet18_c6_pack_weight(weight, uw);
	untuned_resnet18_c6_pack_bias(bias, ub);

	double tp[PLAIN], tu[RUNS], tt[RUNS], peak[PEAKS], t;
	for (int i = 0; i < RUNS; i++) {
		if (i < PLAIN) {
			t = now();
			plain(data, weight, bias, want);
			tp[i] = now() - t;
		}
		for (int k = 0; k < 2; k++) /* each is the first in turn */
			if ((i + k) % 2)
				tu[i] = seconds(untuned_resnet18_c6, data, uw,
				    ub, first, uspace);
			else
				tt[i] = seconds(conv2d_resnet18_c6, data, w, b,
				    out, space);
		if (i % 8 == 0)
			peak[i / 8] = peak_gflops();
	}
	double most = largest(peak, PEAKS);
	float error = fmaxf(worst(out, want, n), worst(first, want, n));
	const struct {
		const char *name;
		double s;
	} rows[] = {{"plain loops, cc -O3", median(tp, PLAIN)},
	    {"untuned (tunec without a record)", median(tu, RUNS)},
	    {"tuned", median(tt, RUNS)}};
	printf("%-34s %10s %9s %12s\n", "conv2d_resnet18_c6", "time", "GFLOP/s",
	    "of the peak");
	for (int i = 0; i < 3; i++) {
		double g = 231.411712e-3 / rows[i].s;
		printf("%-34s %7.3f ms %9.1f %10.1f %%\n", rows[i].name,
		    rows[i].s * 1e3, g, 100 * g / most);
	}
	printf("%-34s %10s %9.1f\n", "FMA peak, all threads", "", most);
	puts("(above 100 %: clocks vary, and products with the padding's zeros "
	     "may be left out)");
	printf("largest difference from the plain loops: %.2g: %s\n",
	    (double)error, error < 1e-3f ? "correct" : "WRONG");
	return error < 1e-3f ? 0 : 1;
}
