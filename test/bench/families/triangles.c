/* Triangles and running sums: what a C programmer would write. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>

void cumulative(const float *restrict x, float *restrict y, void *workspace)
{
	enum { M = 512, N = 1024 };
	(void)workspace;
	for (int i = 0; i < M; i++, x += N, y += N) {
		float s = 0;
		for (int j = 0; j < N; j++)
			y[j] = s += x[j];
	}
}

void column_sums(const float *restrict x, float *restrict y, void *workspace)
{
	enum { M = 1024, N = 512 };
	(void)workspace;
	for (int j = 0; j < N; j++)
		y[j] = x[j];
	for (int i = 1; i < M; i++)
		for (int j = 0; j < N; j++)
			y[i * N + j] = y[(i - 1) * N + j] + x[i * N + j];
}

void running_peak(const float *restrict x, float *restrict y, void *workspace)
{
	enum { M = 256, N = 2000 };
	(void)workspace;
	for (int i = 0; i < M; i++, x += N, y += N) {
		float most = -__builtin_inff();
		for (int j = 0; j < N; j++) {
			most = x[j] > most ? x[j] : most;
			y[j] = most - x[j];
		}
	}
}

void triangular_matvec(const float *restrict a, const float *restrict x,
    float *restrict y, void *workspace)
{
	enum { N = 2048 };
	(void)workspace;
	for (int i = 0; i < N; i++) {
		float s = 0;
		for (int k = 0; k <= i; k++)
			s += a[i * N + k] * x[k];
		y[i] = s;
	}
}

#ifdef HAVE_CBLAS
#include <cblas.h>
#include <string.h>

void triangular_product(const float *a, const float *b, float *y,
    void *workspace)
{
	enum { N = 512 };
	(void)workspace;
	memcpy(y, b, sizeof(float) * N * N);
	cblas_strmm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans,
	    CblasNonUnit, N, N, 1, a, N, y, N);
}

/* Blocks of 64 rows; columns that no row of a block sees are left out. */
void causal_extents(const float *q, const float *k, const float *v, float *out,
    void *workspace)
{
	enum { H = 4, L = 512, D = 64, ROWS = 64 };
	float *restrict s = workspace;
	for (int at = 0; at < H * L; at += ROWS) {
		int first = at / L * L, n = at - first + ROWS;
		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, ROWS, n, D,
		    0.125f, q + at * D, D, k + first * D, D, 0, s, n);
		for (int i = 0; i < ROWS; i++) {
			float *restrict row = s + i * n, top = -INFINITY, z = 0;
			int seen = n - ROWS + i + 1;
			for (int j = 0; j < seen; j++)
				top = row[j] > top ? row[j] : top;
			for (int j = 0; j < seen; j++) {
				row[j] = expf(row[j] - top);
				z += row[j];
			}
			for (int j = 0; j < seen; j++)
				row[j] /= z;
			for (int j = seen; j < n; j++)
				row[j] = 0;
		}
		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, ROWS, D,
		    n, 1, s, n, v + first * D, D, 0, out + at * D, D);
	}
}
#endif

void suffix_sums(const float *restrict x, float *restrict y, void *workspace)
{
	enum { M = 500, N = 1000 };
	(void)workspace;
	for (int i = 0; i < M; i++, x += N, y += N) {
		float sum = 0;
		for (int j = N - 1; j >= 0; j--)
			y[j] = sum += x[j];
	}
}

void cumulative_i32(const int32_t *restrict x, int32_t *restrict y,
    void *workspace)
{
	enum { M = 500, N = 1000 };
	(void)workspace;
	for (int i = 0; i < M; i++, x += N, y += N) {
		int32_t sum = 0;
		for (int j = 0; j < N; j++)
			y[j] = sum += x[j];
	}
}
