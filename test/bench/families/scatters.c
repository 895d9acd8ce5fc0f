#include <math.h>

void segment_max(const float *restrict x, const int *restrict s,
    float *restrict y, void *workspace)
{
	(void)workspace;
	enum { N = 4000, K = 64, D = 48 };
	for (int i = 0; i < K * D; i++)
		y[i] = -INFINITY;
	for (int n = 0; n < N; n++) {
		int k = s[n] % K;
		float *to = y + (k < 0 ? k + K : k) * D;
		for (int d = 0; d < D; d++)
			to[d] = x[n * D + d] > to[d] ? x[n * D + d] : to[d];
	}
}

void embedding_gradient(const float *restrict g, const int *restrict t,
    float *restrict w, void *workspace)
{
	(void)workspace;
	enum { W = 2000, D = 64, N = 32 * 50 };
	for (int i = 0; i < W * D; i++)
		w[i] = 0;
	for (int n = 0; n < N; n++) {
		int k = t[n] % W;
		float *to = w + (k < 0 ? k + W : k) * D;
		for (int d = 0; d < D; d++)
			to[d] += g[n * D + d];
	}
}

void histogram_2d(const float *restrict x, const float *restrict y,
    int *restrict h, void *workspace)
{
	(void)workspace;
	enum { N = 30000, A = 24, B = 16 };
	for (int i = 0; i < A * B; i++)
		h[i] = 0;
	for (int n = 0; n < N; n++) {
		int a = (int)floorf(x[n] * A), b = (int)floorf(y[n] * B);
		if (a >= 0 && a < A && b >= 0 && b < B)
			h[a * B + b]++;
	}
}

void weighted_counts(const unsigned char *restrict c, const float *restrict w,
    float *restrict y, void *workspace)
{
	(void)workspace;
	enum { N = 20000, K = 10 };
	float s[K] = {0}, m[K] = {0};
	for (int n = 0; n < N; n++) {
		s[c[n] % K] += w[n];
		m[c[n] % K]++;
	}
	for (int k = 0; k < K; k++)
		y[k] = s[k] / (m[k] > 1 ? m[k] : 1);
}

void confusion(const unsigned char *restrict p,
    const unsigned char *restrict t, int *restrict m, void *workspace)
{
	(void)workspace;
	enum { N = 10000, C = 32 };
	for (int i = 0; i < C * C; i++)
		m[i] = 0;
	for (int n = 0; n < N; n++)
		m[p[n] / 8 * C + t[n] / 8]++;
}

void cell_sums(const float *restrict x, const float *restrict v,
    float *restrict y, void *workspace)
{
	(void)workspace;
	enum { N = 3000, G = 20, C = 8 };
	for (int i = 0; i < G * C; i++)
		y[i] = 0;
	for (int n = 0; n < N; n++) {
		int g = (int)floorf(x[n] * G);
		g = g < 0 ? 0 : g > G - 1 ? G - 1 : g;
		for (int c = 0; c < C; c++)
			y[g * C + c] += v[n * C + c] * v[n * C + c];
	}
}

void label_counts(
    const unsigned char *restrict x, int *restrict h, void *workspace)
{
	(void)workspace;
	enum { N = 16, P = 4096, K = 256 };
	for (int i = 0; i < N * K; i++)
		h[i] = 0;
	for (int n = 0; n < N; n++)
		for (int p = 0; p < P; p++)
			h[n * K + x[n * P + p]]++;
}

void few_classes(const unsigned char *restrict c, const float *restrict w,
    float *restrict s, void *workspace)
{
	(void)workspace;
	enum { N = 20000, K = 2 };
	float sum[K] = {0};
	for (int n = 0; n < N; n++)
		sum[c[n] % K] += w[n];
	for (int k = 0; k < K; k++)
		s[k] = sum[k];
}
