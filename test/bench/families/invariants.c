/* What does not vary inside: what a C programmer would write, who takes it out
 * of the loop. */
#include <math.h>
#include <stddef.h>

void layer_norm_sums(const float *restrict x, const float *restrict g,
    const float *restrict b, float *restrict y, void *workspace)
{
	enum { M = 512, N = 1024 };
	(void)workspace;
	for (int i = 0; i < M; i++, x += N, y += N) {
		float s = 0, q = 0;
		for (int j = 0; j < N; j++)
			s += x[j];
		s /= N;
		for (int j = 0; j < N; j++)
			q += (x[j] - s) * (x[j] - s);
		q = 1 / sqrtf(q / N + 1e-5f);
		for (int j = 0; j < N; j++)
			y[j] = (x[j] - s) * q * g[j] + b[j];
	}
}

void batch_norm(const float *restrict x, const float *restrict mean,
    const float *restrict var, const float *restrict g, const float *restrict b,
    float *restrict out, void *workspace)
{
	enum { B = 4, C = 64, P = 56 * 56 };
	(void)workspace;
	for (int n = 0; n < B; n++)
		for (int c = 0; c < C; c++, x += P, out += P) {
			float a = g[c] / sqrtf(var[c] + 1e-5f);
			float d = b[c] - mean[c] * a;
			for (int k = 0; k < P; k++)
				out[k] = x[k] * a + d;
		}
}

void batch_norm_nhwc(const float *restrict x, const float *restrict mean,
    const float *restrict var, const float *restrict g, const float *restrict b,
    float *restrict out, void *workspace)
{
	enum { C = 64, P = 4 * 56 * 56 };
	float a[C], d[C];
	(void)workspace;
	for (int c = 0; c < C; c++) {
		a[c] = g[c] / sqrtf(var[c] + 1e-5f);
		d[c] = b[c] - mean[c] * a[c];
	}
	for (int k = 0; k < P; k++, x += C, out += C)
		for (int c = 0; c < C; c++)
			out[c] = x[c] * a[c] + d[c];
}

void softmax_rows(const float *restrict x, float *restrict y, void *workspace)
{
	enum { M = 512, N = 1000 };
	(void)workspace;
	for (int i = 0; i < M; i++, x += N, y += N) {
		float m = -INFINITY, s = 0;
		for (int j = 0; j < N; j++)
			m = x[j] > m ? x[j] : m;
		for (int j = 0; j < N; j++) {
			y[j] = expf(x[j] - m);
			s += y[j];
		}
		s = 1 / s;
		for (int j = 0; j < N; j++)
			y[j] *= s;
	}
}

#ifdef HAVE_CBLAS
#include <cblas.h>

void norm_dense(const float *restrict x, const float *restrict g,
    const void *w, float *restrict y, void *workspace)
{
	enum { M = 128, K = 512, N = 512 };
	float *restrict t = workspace;
	for (int i = 0; i < M; i++, x += K) {
		float s = 0, v = 0;
		for (int k = 0; k < K; k++)
			s += x[k];
		s /= K;
		for (int k = 0; k < K; k++)
			v += (x[k] - s) * (x[k] - s);
		v = 1 / sqrtf(v / K + 1e-5f);
		for (int k = 0; k < K; k++)
			t[i * K + k] = (x[k] - s) * v * g[k];
	}
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, M, N, K, 1, t, K,
	    w, N, 0, y, N);
}

void group_norm(const float *restrict x, const float *restrict g,
    const float *restrict b, float *restrict out, void *workspace)
{
	enum { B = 4, G = 8, C = 8, P = 56 * 56, T = C * P };
	(void)workspace;
	for (int n = 0; n < B; n++)
		for (int k = 0; k < G; k++, x += T, out += T) {
			float s = 0, q = 0;
			for (int i = 0; i < T; i++) {
				s += x[i];
				q += x[i] * x[i];
			}
			s /= T;
			q = 1 / sqrtf(q / T - s * s + 1e-5f);
			for (int c = 0; c < C; c++) {
				float a = q * g[k * C + c];
				float d = b[k * C + c] - s * a;
				for (int i = c * P; i < (c + 1) * P; i++)
					out[i] = x[i] * a + d;
			}
		}
}

void scaled_dense(const float *restrict x, const float *restrict m,
    const float *restrict s, const float *restrict w,
    const float *restrict b, float *restrict y, void *workspace)
{
	enum { M = 192, K = 512, N = 384 };
	float *restrict t = workspace;
	for (int i = 0; i < M; i++)
		for (int k = 0; k < K; k++)
			t[i * K + k] = (x[i * K + k] - m[k]) * s[k];
	for (int i = 0; i < M; i++)
		for (int j = 0; j < N; j++)
			y[i * N + j] = b[j];
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, M, N, K, 1, t, K,
	    w, N, 1, y, N);
}

void dequant_dense(const float *restrict x, const unsigned char *restrict w,
    const float *restrict s, const float *restrict z, float *restrict y,
    void *workspace)
{
	enum { M = 128, K = 768, N = 512 };
	float *restrict t = workspace;
	for (int k = 0; k < K; k++)
		for (int j = 0; j < N; j++)
			t[k * N + j] = ((float)w[k * N + j] - z[j]) * s[j];
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, M, N, K, 1, x, K,
	    t, N, 0, y, N);
}
#endif
