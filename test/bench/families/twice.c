/* One buffer read twice: what a C programmer would write. */
#include <math.h>
#include <stddef.h>

#ifdef HAVE_CBLAS
#include <cblas.h>

void squared(const float *a, float *y, void *workspace)
{
	(void)workspace;
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 512, 512, 512, 1,
	    a, 512, a, 512, 0, y, 512);
}

void gram(const float *a, float *y, void *workspace)
{
	(void)workspace;
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, 384, 384, 768, 1,
	    a, 768, a, 768, 0, y, 384);
}

void cosine(const float *x, float *restrict y, void *workspace)
{
	enum { N = 512, K = 256 };
	float *restrict n = workspace;
	for (int i = 0; i < N; i++) {
		float s = 0;
		for (int k = 0; k < K; k++)
			s += x[i * K + k] * x[i * K + k];
		n[i] = 1 / sqrtf(s);
	}
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, N, N, K, 1, x, K,
	    x, K, 0, y, N);
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			y[i * N + j] *= n[i] * n[j];
}
#endif

void distances(const float *restrict x, float *restrict y, void *workspace)
{
	enum { N = 512, D = 64 };
	(void)workspace;
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++) {
			float s = 0;
			for (int d = 0; d < D; d++) {
				float t = x[i * D + d] - x[j * D + d];
				s += t * t;
			}
			y[i * N + j] = sqrtf(s);
		}
}

void nbody(const float *restrict p, const float *restrict m,
    float *restrict acc, void *workspace)
{
	enum { N = 2048 };
	const float *x = p, *y = p + N, *z = p + 2 * N;
	(void)workspace;
	for (int i = 0; i < N; i++) {
		float ax = 0, ay = 0, az = 0;
		for (int j = 0; j < N; j++) {
			float dx = x[j] - x[i], dy = y[j] - y[i];
			float dz = z[j] - z[i];
			float r = 1 / sqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
			float w = m[j] * r * r * r;
			ax += dx * w;
			ay += dy * w;
			az += dz * w;
		}
		acc[i] = ax;
		acc[N + i] = ay;
		acc[2 * N + i] = az;
	}
}

void autocorrelation(const float *restrict x, float *restrict y,
    void *workspace)
{
	enum { T = 16384, L = 256 };
	(void)workspace;
	for (int l = 0; l < L; l++) {
		float s = 0;
		for (int t = 0; t < T; t++)
			s += x[t] * x[t + l];
		y[l] = s;
	}
}

#ifdef HAVE_CBLAS
void covariance(const float *restrict x, float *restrict y, void *workspace)
{
	enum { N = 600, D = 200 };
	float *restrict t = workspace, m[D] = {0};
	for (int n = 0; n < N; n++)
		for (int j = 0; j < D; j++)
			m[j] += x[n * D + j];
	for (int n = 0; n < N; n++)
		for (int j = 0; j < D; j++)
			t[n * D + j] = x[n * D + j] - m[j] / N;
	cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, D, D, N,
	    1.0f / (N - 1), t, D, t, D, 0, y, D);
}

void weighted_gram(const float *restrict x, const float *restrict w,
    float *restrict y, void *workspace)
{
	enum { N = 800, D = 192 };
	float *restrict t = workspace;
	for (int n = 0; n < N; n++)
		for (int j = 0; j < D; j++)
			t[n * D + j] = x[n * D + j] * w[n];
	cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, D, D, N, 1, t, D,
	    x, D, 0, y, D);
}
#endif
