/* Writes larger than the caches: what a C programmer would write. */
#include <stddef.h>
#include <string.h>

void outer_sum(const float *restrict a, const float *restrict b,
    float *restrict y, void *workspace)
{
	enum { M = 4096, N = 4096 };
	(void)workspace;
	for (int i = 0; i < M; i++)
		for (int j = 0; j < N; j++)
			y[(size_t)i * N + j] = a[i] + b[j];
}

void triad(const float *restrict a, const float *restrict b, float *restrict y,
    void *workspace)
{
	(void)workspace;
	for (int i = 0; i < 4000000; i++)
		y[i] = a[i] + 3.0f * b[i];
}

void repeated(const float *restrict x, float *restrict y, void *workspace)
{
	enum { B = 32, N = 262144 };
	(void)workspace;
	for (int b = 0; b < B; b++)
		memcpy(y + (size_t)b * N, x, N * sizeof *x);
}

void bias_relu(const float *restrict x, const float *restrict b,
    float *restrict y, void *workspace)
{
	enum { M = 8192, N = 1024 };
	(void)workspace;
	for (int i = 0; i < M; i++)
		for (int j = 0; j < N; j++) {
			float t = x[(size_t)i * N + j] + b[j];
			y[(size_t)i * N + j] = t > 0 ? t : 0;
		}
}

void kronecker(const float *restrict x, const float *restrict z,
    float *restrict y, void *workspace)
{
	enum { A = 48, B = 40, C = 48, D = 40 };
	(void)workspace;
	for (int a = 0; a < A; a++)
		for (int c = 0; c < C; c++)
			for (int b = 0; b < B; b++, y += D)
				for (int d = 0; d < D; d++)
					y[d] = x[a * B + b] * z[c * D + d];
}
